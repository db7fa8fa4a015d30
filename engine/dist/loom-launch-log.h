/* What a launcher of ranks writes to standard error.
 *
 * mpirun alone knows which rank was lost and by which signal, and says so in a block between two lines of dashes, with
 * nothing of what a user can do. The launcher's standard error therefore goes through this process: what ranks say is
 * passed on as it comes, byte by byte, and blocks about ranks that have ended are taken out and read. */
#pragma once

#include <glib.h>
#include <signal.h>

G_BEGIN_DECLS

typedef struct
{
  GString *held;      /* a block, or the beginning of one */
  gboolean in_block;  /* its first line is whole */
  int rank, number;   /* the first rank that was lost, and by which signal; -1: not known */
  gboolean unstarted; /* mpirun could not start its helpers on all hosts, and so no rank */
} LoomLaunchFilter;

void loom_launch_filter_init (LoomLaunchFilter *filter);
void loom_launch_filter_clear (LoomLaunchFilter *filter);
/* Appends to `out` what is to be passed on of these bytes and of those that were held. */
void loom_launch_filter_take (LoomLaunchFilter *filter, const char *bytes, gsize n, GString *out);
/* Likewise of those held alone, where no more bytes follow soon. */
void loom_launch_filter_flush (LoomLaunchFilter *filter, GString *out);

typedef struct _LoomLaunchLog LoomLaunchLog;

/* Reads from this end of a pipe, which it closes, in a thread: a standard error that takes nothing for a while, such as
 * a terminal that is halted, holds up neither signals nor the wait for the launcher. */
LoomLaunchLog *loom_launch_log_new (int from);
/* The launcher has ended: passes on the rest and frees the log. A signal of `watched` ends the wait for a standard
 * error that takes nothing. *rank and *number are as in LoomLaunchFilter; *has_remedy: a rank has said how to continue;
 * *unstarted as in LoomLaunchFilter. */
void loom_launch_log_finish (LoomLaunchLog *log, const sigset_t *watched, int *rank, int *number, gboolean *has_remedy,
                             gboolean *unstarted);

G_END_DECLS
