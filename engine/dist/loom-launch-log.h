/* Reads what a launcher of ranks writes to standard error.
 *
 * Only mpirun knows which rank was lost and by which signal. It reports that in a block between two lines of dashes,
 * without a remedy for the user. So the launcher's standard error goes through this process: output of ranks is passed
 * on byte by byte, and blocks about ended ranks are removed and parsed. */
#pragma once

#include <glib.h>
#include <signal.h>

typedef struct
{
  GString *held;      /* a block, or the beginning of one */
  gboolean in_block;  /* its first line is complete */
  int rank, number;   /* the first rank that was lost, and the signal; -1: not known */
  gboolean unstarted; /* mpirun could not start its helpers on all hosts, and so no rank */
} LoomLaunchFilter;

void loom_launch_filter_init (LoomLaunchFilter *filter);
void loom_launch_filter_clear (LoomLaunchFilter *filter);
/* Appends to `out` the part of these bytes and of the held ones that is passed on. */
void loom_launch_filter_push (LoomLaunchFilter *filter, const char *bytes, gsize n, GString *out);
/* Does the same for the held bytes alone, if no more bytes follow soon. */
void loom_launch_filter_flush (LoomLaunchFilter *filter, GString *out);

typedef struct _LoomLaunchLog LoomLaunchLog;

/* Reads from this end of a pipe, which it closes, in a thread: if standard error is blocked for a while, such as by a
 * halted terminal, neither signals nor the wait for the launcher are delayed. */
LoomLaunchLog *loom_launch_log_new (int from);
/* Called when the launcher has ended: passes on the rest and frees the log. A signal of `watched` ends the wait for a
 * blocked standard error. *rank, *number and *unstarted are as in LoomLaunchFilter; *has_remedy: a rank has reported
 * how to resume. */
void loom_launch_log_finish (LoomLaunchLog *log, const sigset_t *watched, int *rank, int *number, gboolean *has_remedy,
                             gboolean *unstarted);
