/* Ranks that are processes: joining those that a launcher has started, and starting them. */
#pragma once

#include <glib.h>

#include "engine/core/loom-error.h"
#include "kernels/comm.h"

/* TRUE if a launcher of MPI (mpirun, srun) has started this process as one of its ranks. */
gboolean loom_dist_is_rank (void);

/* TRUE, with USAGE, if a launcher that does not know MPI (torchrun, srun without PMIx) has started this process as one
 * of several, each of which would run alone. */
gboolean loom_dist_lacks_mpi (GError **error);

/* The communicator of this process, for the life of the process; freed by its free(). DIST if there is no MPI, or if it
 * finds another number of processes than the launcher has started. */
LoomComm *loom_dist_join (GError **error);

/* The version of everything that ranks exchange from their first step on: the calls, their order, sizes and meaning, in
 * engine/dist, engine/train, engine/plan, engine/run and app/worker. It must increase when one of them changes, since
 * two builds of one version would otherwise wait for each other or misread each other's data. */
#define LOOM_DIST_PROTOCOL 4

/* Checks, before this rank reads anything else, that all ranks have the same version, protocol and time-out: `timeout`
 * seconds, 0: without limit. Later calls of comm have that time-out; this call has none, because a rank with a short
 * time-out does not know yet which ranks are slow. This exchange must stay the same in every version. FALSE with DIST
 * if one differs; *speaks: this rank reports it. */
gboolean loom_dist_check_versions (LoomComm *comm, double timeout, gboolean *speaks, GError **error);

#define LOOM_DIST_MAX_ITEMS 16

/* Checks, before the first step, that every rank is ready and about to do the same. why_not is the reason why this rank
 * is not ready; NULL: it is, and n numbers of `what`, at most LOOM_DIST_MAX_ITEMS, describe what it would do, in the
 * words of names. FALSE if one is not ready, with its reason on the others, or if one would do something else, with the
 * difference; *speaks: this rank reports it. */
gboolean loom_dist_agree (LoomComm *comm, const GError *why_not, const guint64 *what, const char *const *names, guint n,
                          gboolean *speaks, GError **error);

/* The warning if mpirun's default binding gives this rank so few processors that others of the machine are idle; else
 * NULL. (transfer full) */
char *loom_dist_binding_warning (const LoomComm *comm);

/* TRUE if all ranks fail with this error alike, so none has to end the others. */
gboolean loom_dist_is_collective_error (const GError *error);

#define LOOM_DIST_SLOW_SECONDS 10
#define LOOM_DIST_EXIT_HUNG    (128 + 3) /* exit status of ranks that have reported a hanging rank */

/* Set in the environment of ranks that loom_dist_launch() has started: the launching process reports how they ended. */
#define LOOM_DIST_LAUNCHED "GRADLOOM_LAUNCHED"

typedef struct
{
  int ranks;
  const char *hosts; /* "a,b:2", as in mpirun's --host; NULL: this machine, or the hosts of a scheduler */
  /* Called once if the ranks were asked to end by this signal and have not after LOOM_DIST_SLOW_SECONDS seconds.
   * stopped: "Rank 1 (process 4711) is stopped" if that is known; else NULL. May be NULL. */
  void (*is_slow) (int number, const char *stopped, gpointer data);
  gpointer data;
} LoomDistLaunch;

/* Whether mpirun starts all ranks on this machine: neither hosts nor a scheduler names others. */
gboolean loom_dist_is_local (const char *hosts);

/* How a launch ended. */
typedef struct
{
  int asked_by;        /* the signal that asked for the end; 0: none */
  gboolean twice;      /* a second signal asked for an end at once */
  gboolean before;     /* the signal came before all ranks were started, which then end without a step */
  gboolean lost;       /* a rank was killed or hung, and did not end by itself */
  gboolean said;       /* a rank has reported the reason: it has waited for one that hung */
  gboolean has_remedy; /* … and how to resume */
  int rank, number;    /* the rank that was killed, and the signal; -1: not known (MPICH names no rank) */
  int launcher_died;   /* the signal that ended the launcher itself; 0: none */
  gboolean unstarted;  /* the launcher could not start the ranks, for instance on hosts that cannot be reached */
} LoomDistEnd;

/* Whether Open MPI's mpirun reports in this text that a rank was ended by a signal, and which ones. */
gboolean loom_dist_parse_lost (const char *text, int *rank, int *number);

/* "Rank 1 was ended by signal 9 (Killed)", or the known part of it. (transfer full) */
char *loom_dist_lost_text (const LoomDistEnd *end);

/* Runs `mpirun -np RANKS argv…` and returns its exit status: 3 if a rank was lost, 128 plus the signal if this process
 * was asked to end, which then reaches every rank as SIGUSR1. On other hosts the program is the file of this name. DIST
 * if there is no mpirun. */
int loom_dist_launch (const LoomDistLaunch *launch, char *const *argv, LoomDistEnd *end, GError **error);

/* The environment in which mpirun of any MPI starts several ranks on one processor and binds none. Variables that the
 * user has set are kept. (transfer full) */
char **loom_dist_launch_environment (void);

/* The program that starts ranks of this one, mpirun; NULL if it or MPI's module is missing. (transfer full) */
char *loom_dist_find_launcher (void);

/* The number of ranks of "a,b:2"; 0 if it is no list of hosts. */
int loom_dist_count_hosts (const char *hosts);
