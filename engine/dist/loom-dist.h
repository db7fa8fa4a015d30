/* Ranks as processes: joining those that a launcher has started, and starting them. */
#pragma once

#include <glib.h>

#include "engine/core/loom-error.h"
#include "kernels/comm.h"

G_BEGIN_DECLS

/* TRUE if a launcher of MPI (mpirun, srun) has started this process as one of its ranks. */
gboolean loom_dist_is_rank (void);

/* TRUE, with USAGE, if a launcher that does not know MPI (torchrun, srun without PMIx) has started this process as one
 * of several, each of which would run alone. */
gboolean loom_dist_is_apart (GError **error);

/* The communicator of this process among them, for all of the process's life; freed by its free(). DIST if there is no
 * MPI, or if it does not find as many processes as the launcher has started. */
LoomComm *loom_dist_join (GError **error);

/* What ranks send to one another from their first step on: which calls they make, in which order, of how many bytes
 * with which meaning, here, in engine/train, engine/plan, engine/run and app/worker. Another number where one of them
 * changes, since two builds of a version would otherwise wait for each other, or read what was not meant. */
#define LOOM_DIST_PROTOCOL 3

/* First of all, before this rank reads anything: whether all ranks are the same version, follow the same protocol and
 * wait equally long for one another, `timeout` seconds, 0: for ever. From then on comm waits so long; the call itself
 * waits without an end, because a rank that would not wait long knows nothing yet of one that takes its time. This
 * exchange is that of every version. FALSE with DIST where one differs; *speaks says whether this rank is the one to
 * say so. */
gboolean loom_dist_greet (LoomComm *comm, double timeout, gboolean *speaks, GError **error);

#define LOOM_DIST_MOST_PARTS 16

/* Before the first step: whether every rank is ready, and about to do the same. why_not is why this one is not; NULL:
 * it is, and n numbers of `what`, LOOM_DIST_MOST_PARTS at most, say what it would do; names are the words for them.
 * FALSE where one is not ready, with its reason on those that are, or where one would do something else, with what is
 * different there; *speaks says whether this rank is the one to say why. */
gboolean loom_dist_agree (LoomComm *comm, const GError *why_not, const guint64 *what, const char *const *names, guint n,
                          gboolean *speaks, GError **error);

/* The warning where mpirun, unasked, lets this rank use so few processors that others of the machine lie idle; else
 * NULL. (transfer full) */
char *loom_dist_binding_warning (const LoomComm *comm);

/* TRUE if all ranks fail with this error alike, so that none has to end the others. */
gboolean loom_dist_is_shared (const GError *error);

#define LOOM_DIST_SLOW 10
#define LOOM_DIST_HUNG (128 + 3) /* with what ranks end that have said who hangs, as kernels/comm ends them */

/* In the environment of ranks that such a launch has started: the process that launched them says how they ended. */
#define LOOM_DIST_LAUNCHED "GRADLOOM_LAUNCHED"

typedef struct
{
  int ranks;
  const char *hosts; /* "a,b:2", as mpirun's --host takes them; NULL: this machine, or what a scheduler has given */
  /* Called once where the ranks were asked to end by this signal and have not after LOOM_DIST_SLOW seconds. stopped:
   * "Rank 1 (process 4711) is stopped", where that is known to be so; else NULL. May be NULL. */
  void (*is_slow) (int number, const char *stopped, gpointer data);
  gpointer data;
} LoomDistLaunch;

/* Whether mpirun starts all ranks on this machine: neither hosts nor a scheduler names others. */
gboolean loom_dist_is_here (const char *hosts);

/* How a launch has ended. */
typedef struct
{
  int asked_by;        /* the signal that asked for the end; 0: none */
  gboolean twice;      /* so did a second one, at once */
  gboolean before;     /* it came before all ranks were started, which then end without a step */
  gboolean lost;       /* a rank was killed or hung, and did not end by itself */
  gboolean said;       /* a rank has said why: it has waited for one that hung */
  gboolean has_remedy; /* … and how to continue */
  int rank, number;    /* which one was killed by which signal; -1: not known (MPICH names no rank) */
  int launcher_died;   /* the signal that ended the launcher itself; 0: none */
  gboolean unstarted;  /* it could not start the ranks, on hosts that cannot be reached, for instance */
} LoomDistEnd;

/* Whether Open MPI's mpirun says in this text that a rank was ended by a signal, and which ones. */
gboolean loom_dist_parse_lost (const char *text, int *rank, int *number);

/* "Rank 1 was ended by signal 9 (Killed)", or as much of it as is known. (transfer full) */
char *loom_dist_say_lost (const LoomDistEnd *end);

/* Runs `mpirun -np RANKS argv…` and returns its exit status: 3 where a rank was lost, 128 and the signal where this
 * process was asked to end, which then reaches every rank as SIGUSR1. On other hosts the program is the file of this
 * name. DIST where there is no mpirun. */
int loom_dist_launch (const LoomDistLaunch *launch, char *const *argv, LoomDistEnd *end, GError **error);

/* The environment in which mpirun, whichever MPI it is of, starts several ranks on a processor and binds none. What the
 * user has set stays. (transfer full) */
char **loom_dist_launch_environment (void);

/* The program that starts ranks of this one, mpirun; NULL where it is missing, or MPI's module is, as that program
 * finds it. (transfer full) */
char *loom_dist_find_launcher (void);

/* How many ranks "a,b:2" are; 0 where it is no list of hosts. */
int loom_dist_count_hosts (const char *hosts);

G_END_DECLS
