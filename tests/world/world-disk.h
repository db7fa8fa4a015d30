/* A disk, and the calls that fail on it: the simulated operating system of the tests of reliability.
 *
 * The disk is in memory that a process shares with its children. A child is one life of the program: it is killed by
 * _exit() in the middle of a call, as a real one by a signal, and what it had written stays. Paths under WORLD_ROOT are
 * on this disk, all others on the real one.
 *
 * What a loss of power leaves is what POSIX promises, and no more. Of a file, what was written before its last fsync()
 * is there; of each sector written since, the old or the new content, and the length is one of those in between, where
 * sectors that were not written are zeros. Of a folder, changes since its last fsync() are kept or lost one by one,
 * each whole. An fsync() that fails has lost what it should have written, and the next one succeeds, as on Linux. */
#pragma once

#include "engine/core/loom-os.h"

#define WORLD_ROOT "/world"

typedef enum
{
  WORLD_KILL,  /* the process ends in this call */
  WORLD_POWER, /* and the machine with it */
  WORLD_EIO,
  WORLD_ENOSPC,
  WORLD_EMFILE,
  WORLD_EINTR,
  WORLD_SHORT, /* a part is read or written */
  WORLD_FULL,  /* the disk is full during the next calls */
  WORLD_JUMP,  /* the clocks jump */
  WORLD_HANG,  /* the process stops until the other ranks have timed out, and then continues */
  /* Of other calls than those of files (world-machine.h), which are counted by themselves. */
  WORLD_MEMORY, /* an allocation fails */
  WORLD_DEVICE, /* a kernel, a copy, or an allocation of the device fails */
  WORLD_LOST,   /* the device is lost, with all later calls */
  WORLD_LATE,   /* a rank comes late to a call of the exchange */
  WORLD_STALL,  /* it does not come, so that the others time out */
  WORLD_DIE,    /* it is killed, and the others go on */
  WORLD_BREAK,  /* the call fails on it alone */
  WORLD_LOSE,   /* its message is lost: it goes on, and the others time out */
  WORLD_REPEAT, /* its message to a server, or of one, arrives twice */
  WORLD_STOP,   /* a signal interrupts the run in this step */
  WORLD_N_FAULTS
} WorldFaultKind;

typedef enum
{
  WORLD_CALL_FILE,
  WORLD_CALL_MEMORY,
  WORLD_CALL_DEVICE,
  WORLD_CALL_EXCHANGE,
  WORLD_CALL_STEP,
  WORLD_N_CALLS
} WorldCall;

typedef struct
{
  int life, call; /* the nth call of the nth process */
  WorldFaultKind kind;
} WorldFault;

#define WORLD_MOST_RANKS  8      /* those of a run, and as many of a second start of it */
#define WORLD_RANK_CALLS  100000 /* the first call of a rank is its number times this */
#define WORLD_MOST_FAULTS 64
#define WORLD_MOST_STEPS  64
#define WORLD_EXIT_KILL   77
#define WORLD_EXIT_POWER  78

/* What lives report to the process that starts them. */
typedef struct
{
  int calls[WORLD_N_CALLS]; /* of this life, on the first rank */
  int n_met;                /* faults of this life that had an effect */
  gint64 acknowledged;      /* the newest step whose checkpoint was reported */
  gint64 second;            /* likewise, of the run that follows the first one of a session */
  gint64 steps;             /* at which this life began */
  gint64 clock;             /* monotonic, ns */
  gint64 wall;              /* µs */
  int error_code;           /* of LoomError; -1: another domain */
  char error[1024];
  /* Of the undisturbed run, after each step: its checkpoint and its weights. */
  guint64 hash[WORLD_MOST_STEPS], value[WORLD_MOST_STEPS];
  char line[WORLD_MOST_STEPS][160];
} WorldReport;

WorldReport *world_report (void);
/* Allocates the disk, once, before any child. */
void world_init (void);
/* An empty disk. */
void world_format (guint64 seed);
/* The disk as it is, with the report of acknowledged steps; and that again. */
void world_keep (void);
void world_put_back (void);
/* In a child: which life it is, with these faults. Makes loom_os that of the world. */
void world_begin_life (int life, const WorldFault *faults, int n);
/* Of this thread. meets: not only calls of files fail on it. */
void world_be_rank (int rank, gboolean meets);
/* In the parent: what the disk holds after a kill, or after a loss of power. */
void world_reboot (gboolean power);
/* Outside of lives: no call fails, and none is counted. */
void world_look (void);

/* Counts a call that is none of files, on a thread that is a rank; the fault that it meets; -1: none. */
int world_meet (WorldCall call);
WorldCall world_fault_call (WorldFaultKind kind);
guint64 world_hash (guint64 a, guint64 b, guint64 c);
const char *world_fault_name (WorldFaultKind kind);
