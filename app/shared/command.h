/* A command of `gradloom`: one descriptor and one function, in a file of its own.
 *
 * main() finds the descriptor by name and passes the arguments after it; help, usage and the list of commands derive
 * from the descriptors. A command returns its exit status (see loom_error_exit_status()). `gradloom` and `gradloom-lab`
 * each have a table of such descriptors. */
#pragma once

#include <stdio.h>

#include "engine/loom-run.h"

typedef struct _Command Command;

struct _Command
{
  const char *name;
  const char *arguments; /* "GRAPH" */
  const char *summary;   /* one line, for the list; NULL: a part of another command, not listed */
  const char *details;   /* paragraphs after the options in --help; may be NULL */
  /* argv[0] is the command's name. */
  int (*run) (const Command *command, int argc, char **argv);
  /* The options of a command that another program describes and runs; NULL: run() parses its own. Ends with a NULL
   * name. */
  const GOptionEntry *options;
};

/* Call at the beginning of main(): restarts the program once with the settings of OpenMP's threads, handles files that
 * are too large or truncated, sets the locale (except for numbers, which use C), and has plans checked if
 * GRADLOOM_CHECK is set. */
void command_prepare (char **argv);
/* Prints "  NAME SUMMARY" for each command that is listed. */
void command_print_list (FILE *to, const Command *const *commands, guint n);
/* Returns NULL if no command has this name. */
const Command *command_find (const char *name, const Command *const *commands, guint n);

/* Parses options (entries end with a NULL name) and leaves the other arguments in argv[1 …]. FALSE after printing an
 * error; the status is then 2. Counts such as --epochs and --threads must be positive and a --seed not negative, if
 * they are given; otherwise the variables keep their values. --help prints and exits. */
gboolean command_parse (const Command *command, const GOptionEntry *entries, int *argc, char ***argv);
/* Passes a command's options to a callback instead of running it: for the manual and the completions. */
typedef void (*CommandOptionsFunc) (const Command *command, const GOptionEntry *entries, gpointer data);
void command_describe (const Command *command, CommandOptionsFunc func, gpointer data);
/* Explains the exit statuses, for --help and the manual. */
extern const char command_statuses[];
/* Prints a usage error with a hint at --help; returns 2. */
int command_usage (const Command *command, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Parses "1,2,3": at least one gint64, each from least to most; NULL if the text is anything else. (transfer full) */
GArray *command_numbers (const char *text, gint64 least, gint64 most);
/* TRUE if --strategy is known or not given; else prints an error, and the command ends with status 2. */
gboolean command_knows_strategy (const Command *command, const char *strategy);
/* The help text of --strategy; never freed. */
const char *command_strategy_help (void);
/* Prints "gradloom COMMAND: sentence" and returns the error's exit status; frees the error. */
int command_fail (const Command *command, GError *error);
/* TRUE if this file (NULL: none) could be written; to be checked before hours of work. */
gboolean command_can_write (const char *path);
/* Where a graph that is made from a file is written: "dir/model.onnx" → "model.xml" in the working folder, because the
 * file's folder may be read-only. (transfer full) */
char *command_default_graph (const char *path);
/* Flushes what was printed. FALSE: standard output cannot be written, so more output is useless. */
gboolean command_flush (void);
/* Closes standard output; call once, at a command's end. Returns the exit status, which is 5 if output was lost and
 * there was no other error; a pipe whose reader has exited is no error. */
int command_finish (int status);
void command_warn (const Command *command, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Prints a note if more threads were requested than the device has processors. */
void command_warn_of_threads (const Command *command, int threads);
/* Returns FALSE, with *status 2, if a launcher has started this process as one of several, which would all do the same
 * work. */
gboolean command_runs_alone (const Command *command, int *status);
/* Prints the notes from opening devices and planning, for example that the user's cost table was not used. */
void command_warn_of_costs (const Command *command, LoomDevices *devices);
/* Call before opening a device: if path is a run's folder, the run's choices of kernels apply. */
void command_take_costs (const Command *command, const char *path, LoomDevices *devices);

/* Reads the GRAPH argument: a file, the folder of a run, or "-" for standard input, with data relative to the working
 * folder. All grammar faults become one error. An unreadable graph is a fault of the graph (status 1), not of the disk.
 */
LoomGraph *command_read_graph (const char *path, GError **error);
/* The same with the faults as a list; NULL if the file is not a graph. */
LoomGraph *command_load_graph (const char *path, LoomFaults *faults, GError **error);
/* Returns the faults of a graph with changed <train> options as an error; FALSE if there are any. The error names the
 * file if the graph has faults without the changes. Otherwise it names `options` ("--precision f13") and is USAGE. */
gboolean command_option_faults (const LoomFaults *faults, const char *path, const char *options, GError **error);
/* " --precision P --tf32 --device D", of the options that are given. (transfer full) */
char *command_train_options (const char *precision, gboolean tf32, const char *device);
/* FALSE with IO if it cannot be found out. */
gboolean command_is_folder (const char *path, gboolean *is_folder, GError **error);
/* If path is the folder of a run and *weights is NULL (no --weights), *weights receives the path of the run's newest;
 * FALSE if it has none yet. */
gboolean command_run_weights (const char *path, char **weights, GError **error);
/* Makes a predictor of the graph or run in a path, with these options. weights: as above; a graph without any is USAGE.
 * adapter: as in command_merge_adapter(), or NULL. Returns 0, or the exit status after a message. */
int command_open_predictor (const Command *command, const char *path, char **weights, const char *adapter,
                            LoomPredictorOptions *options, LoomPredictor **predictor);

/* Makes foreign text safe for a terminal: control characters are escaped (\u001b), because they could control the
 * terminal. command_printable() is for text within a line: it escapes line ends, too, and cuts after 200 characters;
 * command_sentence() keeps line ends. (transfer full) */
char *command_printable (const char *text);
char *command_sentence (const char *text);

/* A line of --json: new with its event; print also frees it. */
LoomJson *command_event_new (const char *event);
void command_event_print (LoomJson *json);
/* "61,706", "1:05". (transfer full) */
char *command_count (double n);
char *command_duration (double seconds);
/* Reads a finite number in the C locale. FALSE if the text is anything else; *value is then undefined. */
gboolean command_float (const char *text, double *value);
