/* A command of `gradloom`: one descriptor and one function, in a file of its own.
 *
 * main() finds the descriptor by name and passes on the words after it; help, usage and the list of commands derive
 * from the descriptors. A command returns its exit status (see loom_error_exit_status()). `gradloom` and `gradloom-lab`
 * each have a table of such descriptors. */
#pragma once

#include <stdio.h>

#include "engine/loom-run.h"

G_BEGIN_DECLS

typedef struct _Command Command;

struct _Command
{
  const char *name;
  const char *arguments; /* "GRAPH" */
  const char *summary;   /* one line, for the list; NULL: it is a part of another command, and is not listed */
  const char *details;   /* paragraphs after the options in --help; may be NULL */
  /* argv[0] is the command's name. */
  int (*run) (const Command *command, int argc, char **argv);
  /* Of a command that another program runs and has described; NULL: run() parses its own. Ends with a NULL name. */
  const GOptionEntry *options;
};

/* At the beginning of main(): restarts the program once with the settings of OpenMP's threads, handles files that are
 * too large or truncated, sets the locale (numbers keep that of C), and has plans checked if GRADLOOM_CHECK is set. */
void command_prepare (char **argv);
/* Prints "  NAME SUMMARY" for each command that is listed. */
void command_print_list (FILE *to, const Command *const *commands, guint n);
/* NULL: none of them has this name. */
const Command *command_find (const char *name, const Command *const *commands, guint n);

/* Parses options (entries end with a NULL name) and leaves the other words in argv[1 …]. FALSE after having said on
 * standard error what is wrong: the status is then 2. Counts such as --epochs and --threads must be positive and a
 * --seed not negative where they are given; the variables keep their values where they are not. --help prints and
 * leaves the program. */
gboolean command_parse (const Command *command, const GOptionEntry *entries, int *argc, char ***argv);
/* Hands a command's options over instead of running it: for the manual and the completions. */
typedef void (*CommandOptionsFunc) (const Command *command, const GOptionEntry *entries, gpointer data);
void command_describe (const Command *command, CommandOptionsFunc func, gpointer data);
/* The meaning of exit statuses, for --help and the manual. */
extern const char command_statuses[];
/* Says that the command was used wrongly, with a hint at --help; returns 2. */
int command_usage (const Command *command, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* "1,2,3": gint64 from least to most, one at least; NULL where the text has anything else. (transfer full) */
GArray *command_numbers (const char *text, gint64 least, gint64 most);
/* TRUE if --strategy is known or not given; else prints an error, and the command ends with status 2. */
gboolean command_knows_strategy (const Command *command, const char *strategy);
/* The help text of --strategy; never freed. */
const char *command_strategy_help (void);
/* Prints "gradloom COMMAND: sentence" and returns the error's exit status; frees the error. */
int command_fail (const Command *command, GError *error);
/* Before hours of work: whether this file (NULL: none) could be written at their end. */
gboolean command_can_write (const char *path);
/* Flushes what was printed. FALSE: standard output cannot be written, so more output is useless. */
gboolean command_flush (void);
/* At a command's end, once: closes standard output. Returns the exit status, which is 5 where output was lost and
 * nothing else went wrong; a pipe whose reader has left is no loss. */
int command_finish (int status);
void command_warn (const Command *command, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Prints a note if more threads were requested than the device has processors. */
void command_warn_of_threads (const Command *command, int threads);
/* FALSE, *status is 2: a launcher has started this process as one of several, which would all do the same work. */
gboolean command_runs_alone (const Command *command, int *status);
/* Says what was noted while devices were opened and plans made: why the user's cost table was not used, for one. */
void command_warn_of_costs (const Command *command, LoomDevices *devices);
/* Before a device is opened: where path is a run's folder, kernels are chosen as the run chose them. */
void command_take_costs (const Command *command, const char *path, LoomDevices *devices);

/* The one GRAPH argument, which may be the folder of a run or "-" for standard input, whose data lie where the command
 * runs, read; every fault of grammar is one error. A graph that cannot be read is the graph's fault (status 1), not the
 * disk's. */
LoomGraph *command_read_graph (const char *path, GError **error);
/* The same with the faults as a list; NULL if the file is not a graph. */
LoomGraph *command_load_graph (const char *path, LoomFaults *faults, GError **error);
/* The faults of a graph whose <train> options have changed, as an error; FALSE: there are some. Faults that the graph
 * of the file has alone are the file's. Others are those of the options, which `options` lists ("--precision f13"), and
 * the error is USAGE. */
gboolean command_option_faults (const LoomFaults *faults, const char *path, const char *options, GError **error);
/* " --precision P --tf32 --device D" of those that are given. (transfer full) */
char *command_train_options (const char *precision, gboolean tf32, const char *device);
/* Where path is the folder of a run and *weights is NULL (no --weights), *weights becomes the run's newest; FALSE where
 * it has none yet. */
gboolean command_run_weights (const char *path, char **weights, GError **error);

/* Text of a file from elsewhere, for a terminal: control characters are written out (\u001b), for they could give it
 * orders. command_printable() is for a place within a line: line ends are written out, too, and what is longer than 200
 * characters is cut; command_sentence() keeps line ends. (transfer full) */
char *command_printable (const char *text);
char *command_sentence (const char *text);

/* A line of --json: begun with its event, printed and freed. */
LoomJson *command_event_new (const char *event);
void command_event_print (LoomJson *json);
/* "61,706", "1:05". (transfer full) */
char *command_count (double n);
char *command_duration (double seconds);
/* Reads a finite number in the C locale. FALSE if the text is anything else; *value is then undefined. */
gboolean command_float (const char *text, double *value);

G_END_DECLS
