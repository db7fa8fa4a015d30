/* The note in a run's folder by which Studio finds the run again when its graph is opened.
 *
 * The first line is the hash of the graph. The second, if there is one, is how the run has ended, and the third a
 * sentence about it. Studio removes the note when a run is done in a window, or is replaced. */
#pragma once

#include <glib.h>

#define LOOM_RUN_UNFINISHED "studio-unfinished"
/* What the process of a run without a window prints. */
#define LOOM_RUN_LOG "worker.log"

typedef enum
{
  LOOM_RUN_END_NONE,    /* the run goes on, or its process was ended from outside */
  LOOM_RUN_END_STOPPED, /* the user has ended it */
  LOOM_RUN_END_DONE,    /* without a window, which has not shown it yet */
  LOOM_RUN_END_FAILED
} LoomRunEnd;

typedef struct
{
  char *hash;
  LoomRunEnd end;
  char *sentence; /* NULL: none */
} LoomRunUnfinished;

void loom_run_unfinished_clear (LoomRunUnfinished *note);
/* Functions do nothing without the folder. FALSE: there is no note. */
gboolean loom_run_unfinished_read (const char *folder, LoomRunUnfinished *note);
void loom_run_unfinished_write (const char *folder, const LoomRunUnfinished *note);
/* Writes how the run has ended into its note, if it has one. */
void loom_run_unfinished_end (const char *folder, LoomRunEnd end, const char *sentence);
void loom_run_unfinished_remove (const char *folder);

/* The last line of the log, within its last 64 KiB, as text that can be shown; NULL if there is none. (transfer full)
 */
char *loom_run_log_dup_last (const char *folder);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LoomRunUnfinished, loom_run_unfinished_clear)
