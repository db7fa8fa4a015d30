/* Machines on which somebody else, as torchrun, has started processes: joined, so that mpirun can start ranks there
 * without ssh.
 *
 * The first process listens, those of other machines connect to it and wait. mpirun is run with an agent in the place
 * of ssh, which hands the first process what is to be started on a machine; the process there starts it. Each machine
 * so runs what the one that it was told of (MASTER_ADDR) says, as torchrun's own store has it; within the run a number
 * that only this process and its children know tells its agent from anybody else. */
#pragma once

#include "engine/core/loom-error.h"

G_BEGIN_DECLS

/* "PORT TOKEN", in the environment of the first process's children alone: no command line may show it. */
#define LOOM_JOIN_VARIABLE "GRADLOOM_JOIN"

typedef struct _LoomJoin LoomJoin;

/* Listens at this port of all addresses, of IPv4 and IPv6, until `ranks` ranks are there: `own` of this machine, and
 * those that others bring. Sets the environment by which mpirun finds its agent: `program` with "worker --pass-on".
 * DIST where the port is taken, and where somebody has not come in so many seconds. */
LoomJoin *loom_join_open (guint16 port, int ranks, int own, double seconds, const char *program, GError **error);
/* "10.0.0.1:2,10.0.0.2:2", for mpirun's --host, in the order of their processes' ranks: the addresses from which they
 * have reached this machine, and by which they did; of IPv6 "fd00--2:2", and this machine's name. */
const char *loom_join_hosts (const LoomJoin *join);
/* Lets the others leave, with the run's status. */
void loom_join_close (LoomJoin *join, int status);

/* The side of the others: tells the process at address that this machine takes so many ranks from `rank` on, starts
 * what it is told to, and returns the run's status; 3 with DIST where there is nobody in so many seconds, or the first
 * process has gone. */
int loom_join_wait (const char *address, guint16 port, int rank, int ranks, double seconds, GError **error);

/* The agent: has the command started on that host. Returns its status; 255, as ssh does, with an error where nobody
 * could be asked. */
int loom_join_pass_on (const char *host, const char *command, GError **error);

G_END_DECLS
