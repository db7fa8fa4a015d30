/* Shared by the tests of the command line: calling it, and arrays in files. */
#pragma once

#include "engine/loom-lab.h"

typedef struct
{
  int status; /* exit status; -1 when a signal ended it */
  char *out, *err;
} CliResult;

/* Runs gradloom with these words (NULL-terminated) in the test's scratch folder. */
CliResult cli (const char *word, ...) G_GNUC_NULL_TERMINATED;
CliResult cli_argv (const char *const *words);
void cli_clear (CliResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (CliResult, cli_clear)

/* Asserts status and that standard error holds `part` (NULL: anything). */
#define cli_expect(status_, part_, ...)                                                                                \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    g_auto (CliResult) r_ = cli (__VA_ARGS__, NULL);                                                                   \
    if (r_.status != (status_) || ((part_) && !strstr (r_.err, (part_) ? (part_) : "")))                               \
      g_error ("status %d, expected %d; standard error: %s", r_.status, (status_), r_.err);                            \
  }                                                                                                                    \
  G_STMT_END

gboolean cli_has_mpi (void);        /* whether ranks can be started; else the test is skipped with the reason */
void cli_enter (void);              /* makes the scratch folder and changes to it */
void cli_leave (void);              /* removes it */
void cli_remove (const char *path); /* a file, or a folder with all that is in it */
/* "graphs/lessons/spirals.xml" in the source tree. */
char *cli_example (const char *name);
void cli_write (const char *name, const char *text);

/* Arrays in the scratch folder. */
void cli_save (const char *name, LoomDType dtype, int rank, const gint64 *dims, const double *values);
LoomTensor *cli_load (const char *name);
/* A tensor of a safetensors file; NULL when there is none of that name. */
LoomTensor *cli_weight (const char *file, const char *name);
