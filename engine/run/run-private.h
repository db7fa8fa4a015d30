/* Shared by the files of engine/run: the arena of a run on a device, and the executor's struct.
 *
 * The executors over one state run one at a time, so they share a stream and an arena on each device, as large as the
 * largest of them needs. An executor binds addresses in the arena; after the arena has moved, they are bound again
 * before the next step. Results of setup instructions are in memory of the executor's own. */
#pragma once

#include "engine/run/loom-exec.h"

/* ---- arenas ----------------------------------------------------------- */

typedef struct
{
  LoomPlanDevice *device;
  LoomStream *stream;        /* NULL on a synchronous device */
  LoomStream *uploads;       /* for uploads during a step; NULL as stream is */
  LoomStream *sends;         /* for copies to other devices; NULL before the first one */
  LoomEvent *done[2];        /* after the newest step and the one before it, by the parity of the step */
  gint64 step;               /* of any executor on this device; counted from 1 */
  gint64 ended;              /* the newest step whose end was enqueued and that has waited for the one before it */
  double *numbers;           /* page-locked, in two halves: values that the host sets between steps; NULL: none yet */
  gint64 numbers_step;       /* the step after which the values of the newer half were set */
  guint n_numbers;           /* in that half */
  void *memory;              /* NULL if there is none, or none could be allocated */
  gsize bytes;               /* the wanted size */
  guint moves;               /* how often the memory has moved */
  gsize peak[LOOM_N_OWNERS]; /* of the largest plan */
  gsize once[LOOM_N_OWNERS]; /* bytes that executors allocate in addition */
  const LoomExec *user;      /* the executor whose step wrote here last */
} LoomArena;

/* Returns the state's arena on a device, made at the first call. */
LoomArena *loom_state_arena (LoomState *state, LoomPlanDevice *device, GError **error);
/* Makes it at least as large as a plan needs; its address may change. OUT_OF_MEMORY leaves it as it was. */
gboolean loom_arena_reserve (LoomArena *arena, const LoomPlanMemory *memory, GError **error);
/* Allocates the memory if a failed loom_arena_reserve() has left none. */
gboolean loom_arena_reacquire (LoomArena *arena, GError **error);
gboolean loom_arena_sync (LoomArena *arena, LoomMessage *message, LoomStatus *status);
/* Makes the stream for copies to other devices if there is none yet. */
LoomStatus loom_arena_sends (LoomArena *arena, LoomMessage *message);
/* Copies at most 8 bytes to memory of the device, after the steps that have begun and before the next, mostly without
 * waiting. `from` may change after it returns. */
LoomStatus loom_arena_put (LoomArena *arena, void *to, const void *from, gsize bytes, LoomMessage *message);

/* The part of a state that its executors share (loom-arena.c). */
typedef struct
{
  GPtrArray *arenas; /* LoomArena, one per device */
  GArray *sites;     /* the executor and instruction of each number */
  gint64 n_sites;
  gint64 step; /* of any executor on any devices, from 1: faults and results refer to it */
} LoomShared;

void loom_shared_init (LoomShared *shared);
void loom_shared_clear (LoomShared *shared);
LoomShared *loom_state_shared (LoomState *state);

/* Numbers of instructions over all executors of a state, which faults contain: reserves n for this executor, and looks
 * up the owner of one. */
gint64 loom_state_add_sites (LoomState *state, LoomExec *exec, guint n);
void loom_state_remove_sites (LoomState *state, const LoomExec *exec);
LoomExec *loom_state_find_site (LoomState *state, gint64 site, guint *row);

/* ---- state (loom-state.c, state-init.c) --------------------------------- */

LoomType state_type_of (const LoomTensorDesc *d);
/* A shard of a tensor as runs of elements that are contiguous in both: element i of the shard is element
 * state_part_place() of the tensor. own: the shape of the shard. */
typedef struct
{
  gint64 run;    /* elements */
  int index, of; /* as in LoomSlotPart; 0: the whole tensor */
} StatePart;

StatePart state_part (const LoomSlotPart *part, const LoomTensorDesc *own);
gint64 state_part_place (const StatePart *part, gint64 i);
/* Copies between the tensor and the shard of one rank, `count` elements of `size` bytes. */
void state_part_take (const StatePart *part, void *own, const void *whole, gint64 count, gsize bytes);
void state_part_put (const StatePart *part, void *whole, const void *own, gint64 count, gsize bytes);

/* Fills a new tensor with the initial value of the slot of this name, or of its shard; or a list with the elements of
 * either from `first` on. */
void loom_state_fill_initial (LoomTensor *t, const StatePart *part, gint64 first, const LoomInit *init, guint64 seed,
                              const char *name);

/* Makes n vectors of m ≥ n numbers, one after another in v, orthonormal: the Q of QR with a positive diagonal of R, as
 * torch.nn.init takes it. */
void loom_orthonormalise (double *v, gint64 n, gint64 m);

/* ---- the walker (loom-eager.c) ------------------------------------------- */

typedef struct _LoomEager LoomEager;
/* An eager executor of the body of instruction `index`, on the same device and over the same state. */
LoomEager *loom_eager_new_inside (LoomEager *around, guint index, LoomProgram *body, GError **error);

/* ---- the executor ------------------------------------------------------ */

/* A copy that two devices make without the host. */
typedef struct
{
  guint from, to; /* device numbers in the plan */
  gsize bytes;
  LoomEvent *over; /* after the copy, on the source device */
} LoomExecSend;

typedef struct
{
  LoomKernel *kernel;
  /* A row that is no kernel alone: a copy between devices, a wait for one, or the gate of an update in a plan for
   * several devices. */
  LoomStatus (*run) (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message);
  LoomStream *stream;
  void **buffers;
  const LoomPlanInstr *instr;
  LoomExecSend *send; /* owned; NULL: no copy */
} LoomExecRow;

typedef struct
{
  void *fed;        /* the address that the caller set last */
  GPtrArray *patch; /* void**: addresses in rows to patch with it */
  void *place;      /* its address in the arena, if it is copied there */
  guint device;
  gsize bytes;
  gboolean used;
} LoomExecFeed;

/* The uploads and downloads of a device, through page-locked memory of two halves: while one half is being transferred,
 * the other is filled or read (exec-upload.c). */
typedef struct
{
  gsize up_bytes, down_bytes; /* of a half */
  char *up, *down;
  LoomEvent *lifted[2]; /* after the last copy out of each half */
  LoomEvent *taken;     /* after the copies from the staging area into the arena */
  guint half;           /* that was uploaded last */
  gboolean is_up;       /* the newest inputs are being uploaded, and no step has consumed them */
  guint down_half;      /* to which results were downloaded last */
  guint read_half;      /* of the step whose outputs are read */
  gint64 down_step[2];  /* the step whose results each half has */
} LoomExecTransit;

typedef struct
{
  void *to;
  const void *from;
  gsize bytes;
  guint device, value;
} LoomExecCommit;

typedef struct
{
  const LoomPlanValue *value;
  const void *at; /* NULL for inputs of the caller, and for empty values */
} LoomExecOutput;

/* One device of the plan. */
typedef struct
{
  LoomArena *arena;          /* the state's */
  guint moves;               /* of the arena when its addresses were bound */
  void *once;                /* results of setup instructions, and the staging area */
  LoomEvent *mark;           /* the current end of its stream, in a plan for several devices */
  gboolean gates_follow_all; /* its gates close for faults of every device */
  LoomExecTransit transit;
} LoomExecDevice;

struct _LoomExec
{
  LoomPlan *plan;
  LoomState *state;
  LoomExecDevice *devices;
  LoomExecRow *rows;
  guint n_rows;
  void **all_buffers;
  LoomExecFeed *feeds;
  guint n_feeds;
  GArray *commits;         /* LoomExecCommit */
  LoomExecOutput *outputs; /* outputs of the program */
  void *bounce;            /* host memory for copies between two devices that have none, and cannot copy directly */
  GArray *last_sends;      /* LoomExecSend: the last of a step for each pair of devices */
  void *graph;             /* a captured step */
  guint n_steps;           /* since addresses were bound */
  gint64 fault_step;       /* of the fault that the last call reported; 0: none */
  gboolean is_enqueuing;   /* rows of the newest step have been enqueued, and the call has not ended */
  gboolean is_between;     /* the newest step, or a call after it, failed after the gate of a step */
  gboolean may_capture;
  gboolean is_watched;       /* one of the next three: rows are run by exec-watch.c */
  GArray *spans;             /* LoomExecSpan: the caller's array; NULL: not timed */
  gboolean is_blocking;      /* the device is synchronised after each row */
  gboolean has_ranges;       /* rows are named for a profiler */
  GPtrArray *range_names;    /* by row */
  GPtrArray *timers;         /* LoomEvent: before each row, after each, and after all rows of each device */
  gboolean has_results;      /* the small results of the selected step are being downloaded, or are available */
  gboolean is_read;          /* the step was synchronised */
  gboolean is_asynchronous;  /* a device of the plan is asynchronous */
  gboolean all_gates_follow; /* each device has a stream, and all gates close for faults of every device */
  gboolean is_ahead;  /* so do all, none waits for the host within a step, and all inputs come from staging areas */
  gboolean exchanges; /* communicates with other ranks in every step */
  struct _LoomEager *eager; /* walks the program in place of the plan; NULL: the plan runs */
  LoomMessage message;      /* of a failed call; empty when a step begins, so that calls need not clear it */
};

/* exec-upload.c: memory and events for transfers of a device; uploads inputs, consumes them in a step; downloads small
 * results after it. */
gboolean loom_exec_transit_new (LoomExec *exec, guint device, GError **error);
void loom_exec_transit_free (LoomExec *exec, guint device);
/* Call after these and loom_exec_sends_new(): determines whether the host continues while steps are computed. */
void loom_exec_find_ahead (LoomExec *exec);
gboolean loom_exec_take_feeds (LoomExec *exec, GError **error);
gboolean loom_exec_fetch_results (LoomExec *exec, GError **error);
/* The address of a result of the last step in host memory, after synchronising that step; NULL if it is not downloaded.
 */
const void *loom_exec_result_at (const LoomExec *exec, const LoomPlanValue *value);

/* exec-send.c: streams and events of copies that devices make without the host. */
gboolean loom_exec_sends_new (LoomExec *exec, GError **error);
void loom_exec_sends_free (LoomExec *exec);
/* Synchronises all of several devices: a device may still wait for another one whose flag is cleared or whose memory is
 * freed next. */
void loom_exec_sends_settle (LoomExec *exec);
/* TRUE if a step can be captured as one graph of all its devices. */
gboolean loom_exec_may_capture (const LoomExec *exec);
/* Makes the row's stream wait for the copies that the row reads, or that read a value that it updates; a copy's stream
 * also waits for earlier work of both devices. */
LoomStatus loom_exec_await_sent (LoomExec *exec, const LoomExecRow *row);
LoomStatus loom_exec_send (LoomExec *exec, const LoomExecRow *row);
/* Makes the device's stream wait for all others, and all others for it; does nothing if there is only one device. */
LoomStatus loom_exec_wait_for_others (LoomExec *exec, guint device);
LoomStatus loom_exec_release_others (LoomExec *exec, guint device);
/* Makes the streams of all devices wait for each other; does nothing if one is not notified of all faults, and the host
 * waits at gates instead. */
LoomStatus loom_exec_join_streams (LoomExec *exec);
/* The streams of devices wait for all copies of the step, so that waiting for one of them includes its copies.
 */
LoomStatus loom_exec_end_sends (LoomExec *exec);

/* exec-watch.c: before and after a row that is timed, and the device's times for the rows of a step. */
void loom_exec_watch_init (LoomExec *exec);
void loom_exec_watch_clear (LoomExec *exec);
gboolean loom_exec_watch_begin (LoomExec *exec, const LoomExecRow *row, gint64 *begin, GError **error);
/* Call after the row has waited for its operands, before it is enqueued. */
LoomStatus loom_exec_watch_start (LoomExec *exec, const LoomExecRow *row);
gboolean loom_exec_watch_end (LoomExec *exec, const LoomExecRow *row, gint64 begin, LoomStatus *status, GError **error);
gboolean loom_exec_watch_step (LoomExec *exec, GError **error);

/* exec-eager.c: a step by the walker, and a result of it. */
gboolean loom_exec_eager_step (LoomExec *exec, GError **error);
double loom_exec_eager_scalar (LoomExec *exec, guint output);

/* exec-fault.c: the end of a step waits for the step before it, which has run while this one was enqueued, and reads
 * its faults: the device always has work, and the caller learns of a fault at most one step late. */
gboolean loom_exec_begin (LoomExec *exec, GError **error);
gboolean loom_exec_end (LoomExec *exec, GError **error);
/* Sets the error if a device has reported a fault of an earlier step, that of the earliest step if there are several;
 * TRUE: none. */
gboolean loom_exec_poll_fault (LoomExec *exec, gint64 before, GError **error);

/* Sets the error for a status of this instruction (NULL: of the whole step) with the text of exec->message, which is
 * cleared; FALSE. */
gboolean loom_exec_status_error (LoomExec *exec, const LoomPlanInstr *instr, LoomStatus status, GError **error);
