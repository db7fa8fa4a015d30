/* Shared by the files of engine/run: the arena of a run on a device, and the executor's struct.
 *
 * The executors over one state run one at a time, so they share a stream and an arena on each device, as large as the
 * largest of them needs. An executor binds addresses in the arena; after the arena has moved they are bound again
 * before the next step. Results of setup instructions are stored in memory of the executor's own. */
#pragma once

#include "engine/run/loom-exec.h"

G_BEGIN_DECLS

/* ---- arenas ----------------------------------------------------------- */

typedef struct
{
  LoomPlanDevice *device;
  LoomStream *stream;        /* NULL on a synchronous device */
  LoomStream *uploads;       /* for uploads during a step; NULL as stream is */
  LoomStream *sends;         /* for copies to other devices; NULL before the first one */
  LoomEvent *done[2];        /* after the newest step and the one before it, by the step's last bit */
  gint64 step;               /* of any executor on this device; counted from 1 */
  gint64 ended;              /* the newest step whose end was enqueued and that has waited for the one before it */
  double *numbers;           /* page-locked, of two halves: what the host sets between steps; NULL: none was set */
  gint64 numbers_step;       /* the step after which those of the newer half were set */
  guint n_numbers;           /* in that half */
  void *memory;              /* NULL if there is none, or none could be allocated */
  gsize bytes;               /* the wanted size */
  guint moves;               /* the number of times that it has moved */
  gsize peak[LOOM_N_OWNERS]; /* of the largest plan */
  gsize once[LOOM_N_OWNERS]; /* what executors keep in addition to it */
  const LoomExec *user;      /* whose step wrote here last */
} LoomArena;

/* The state's arena on a device, made when it is first asked for. */
LoomArena *loom_state_arena (LoomState *state, LoomPlanDevice *device, GError **error);
/* Makes it at least as large as a plan needs; addresses in it may be others then. OUT_OF_MEMORY leaves it as it was. */
gboolean loom_arena_reserve (LoomArena *arena, const LoomPlanMemory *memory, GError **error);
/* Allocates the memory where a failed loom_arena_reserve() has left none. */
gboolean loom_arena_reacquire (LoomArena *arena, GError **error);
gboolean loom_arena_sync (LoomArena *arena, LoomMessage *message, LoomStatus *status);
/* Makes the stream for what goes to other devices where there is none yet. */
LoomStatus loom_arena_sends (LoomArena *arena, LoomMessage *message);
/* Copies 8 bytes at most to memory of the device, after the steps that were begun and before the next, and mostly
 * waits for nothing. `from` may change when it returns. */
LoomStatus loom_arena_put (LoomArena *arena, void *to, const void *from, gsize bytes, LoomMessage *message);

/* The part of a state that its executors share (loom-arena.c). */
typedef struct
{
  GPtrArray *arenas; /* LoomArena, one a device */
  GArray *sites;     /* whose instruction a number is */
  gint64 n_sites;
  gint64 step; /* of any executor, whichever devices it has: faults and results of all devices quote it; from 1 on */
} LoomShared;

void loom_shared_init (LoomShared *shared);
void loom_shared_clear (LoomShared *shared);
LoomShared *loom_state_shared (LoomState *state);

/* Numbers of instructions over all executors of a state, which faults quote: n for this one, and whose one is. */
gint64 loom_state_add_sites (LoomState *state, LoomExec *exec, guint n);
void loom_state_remove_sites (LoomState *state, const LoomExec *exec);
LoomExec *loom_state_find_site (LoomState *state, gint64 site, guint *row);

/* ---- state (loom-state.c, state-init.c) --------------------------------- */

LoomType state_type_of (const LoomTensorDesc *d);
/* A part of a tensor as the runs of elements that lie together in both: element i of the part is element
 * state_part_place() of the tensor. own: the shape of the part. */
typedef struct
{
  gint64 run;    /* elements */
  int index, of; /* as in LoomSlotPart; 0: all of it */
} StatePart;

StatePart state_part (const LoomSlotPart *part, const LoomTensorDesc *own);
gint64 state_part_place (const StatePart *part, gint64 i);
/* Between the tensor and the part of one rank, `count` elements of `size` bytes. */
void state_part_take (const StatePart *part, void *own, const void *whole, gint64 count, gsize bytes);
void state_part_put (const StatePart *part, void *whole, const void *own, gint64 count, gsize bytes);

/* A new tensor gets the initial value of the slot of this name, or of its part, or a list that of the elements from
 * `first` on of either. */
void loom_state_fill_initial (LoomTensor *t, const StatePart *part, gint64 first, const LoomInit *init, guint64 seed,
                              const char *name);

/* ---- the walker (loom-eager.c) ------------------------------------------- */

typedef struct _LoomEager LoomEager;
/* A walk through a body of instruction `index`, on the device of that and over the same state. */
LoomEager *loom_eager_new_inside (LoomEager *around, guint index, LoomProgram *body, GError **error);

/* ---- the executor ------------------------------------------------------ */

/* A copy that two devices make without the host. */
typedef struct
{
  guint from, to; /* devices of the plan */
  gsize bytes;
  LoomEvent *over; /* after it, of the source device */
} LoomExecSend;

typedef struct
{
  LoomKernel *kernel;
  /* NULL: a copy between devices, who waits for one, or the gate of an update in a plan for several devices. */
  LoomStatus (*run) (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message);
  LoomStream *stream;
  void **buffers;
  const LoomPlanInstr *instr;
  LoomExecSend *send; /* owned; NULL: it is no such copy */
} LoomExecRow;

typedef struct
{
  void *fed;        /* what the caller gave last */
  GPtrArray *patch; /* void**: places in rows that hold its address */
  void *place;      /* its place in the arena, when it is copied there */
  guint device;
  gsize bytes;
  gboolean used;
} LoomExecFeed;

/* What goes up to a device and comes down from it, by page-locked memory of two halves: while one half is on its way,
 * the other one is filled or read (exec-upload.c). */
typedef struct
{
  gsize up_bytes, down_bytes; /* of a half */
  char *up, *down;
  LoomEvent *lifted[2]; /* after the last copy out of each half */
  LoomEvent *taken;     /* after the copies from the staging area into the arena */
  guint half;           /* that went up last */
  gboolean is_up;       /* the newest inputs are on their way, and no step has taken them */
  guint down_half;      /* to which results came down last */
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
  const void *at; /* NULL where the caller feeds it, and where it is empty */
} LoomExecOutput;

/* One device of the plan. */
typedef struct
{
  LoomArena *arena;   /* the state's */
  guint moves;        /* of the arena when its addresses were bound */
  void *once;         /* what setup instructions made, and the staging area */
  LoomEvent *mark;    /* where its stream has come to, of a plan for several devices */
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
  LoomExecOutput *outputs; /* of the program */
  void *bounce;            /* host memory for copies between two devices that have none, nor a way of their own */
  GArray *last_sends;      /* LoomExecSend: of each pair of devices the last of a step */
  void *graph;             /* a captured step */
  guint n_steps;           /* since addresses were bound */
  gint64 fault_step;       /* of the fault that the last call was told of; 0: of none */
  gboolean may_capture;
  gboolean is_watched;      /* one of the three below: rows go by exec-watch.c */
  GArray *spans;            /* LoomExecSpan: the caller's, who wants to know what each instruction takes; else NULL */
  gboolean is_blocking;     /* each row is waited for */
  gboolean has_ranges;      /* rows are named for a profiler */
  GPtrArray *range_names;   /* by row */
  GPtrArray *timers;        /* LoomEvent: before each row, after each, and after all of each device */
  gboolean has_results;     /* the small results of the step that is read come down, or are there */
  gboolean is_read;         /* that step was waited for */
  gboolean is_asynchronous; /* a device of the plan works while its caller continues */
  gboolean all_gates_follow; /* each has a stream, and all gates close for faults of every device */
  gboolean is_ahead;        /* all do, none waits for the host within a step, and all inputs come from staging areas */
  gboolean exchanges;       /* with other ranks, in every step */
  LoomMessage message;      /* of a call that fails; empty when a step begins, so that no call has to empty it */
};

/* exec-upload.c: memory and events of a device's transit; inputs uploaded, and taken by a step; small results
 * downloaded after it. */
gboolean loom_exec_transit_new (LoomExec *exec, guint device, GError **error);
void loom_exec_transit_free (LoomExec *exec, guint device);
/* After these and loom_exec_sends_new(): whether the host goes on while steps are computed. */
void loom_exec_find_ahead (LoomExec *exec);
gboolean loom_exec_take_feeds (LoomExec *exec, GError **error);
gboolean loom_exec_fetch_results (LoomExec *exec, GError **error);
/* Where a result of the last step lies in host memory, which that step has reached; NULL where it is none that comes
 * down. */
const void *loom_exec_result_at (const LoomExec *exec, const LoomPlanValue *value);

/* exec-send.c. Streams and events of copies that devices make by themselves. */
gboolean loom_exec_sends_new (LoomExec *exec, GError **error);
void loom_exec_sends_free (LoomExec *exec);
/* Waits for all of several devices: one alone may have been told to go on by another, whose flag is cleared or whose
 * memory is given back next. */
void loom_exec_sends_settle (LoomExec *exec);
/* TRUE if a step can become one graph, which all of its devices take part in. */
gboolean loom_exec_may_capture (const LoomExec *exec);
/* The row's stream waits for the copies that the row reads, or that read what it updates; that of a copy also for what
 * both devices compute in front of it. */
LoomStatus loom_exec_await_sent (LoomExec *exec, const LoomExecRow *row);
LoomStatus loom_exec_send (LoomExec *exec, const LoomExecRow *row);
/* The device's stream waits for those of all others, and theirs for its own; nothing where it is the only one. */
LoomStatus loom_exec_wait_for_others (LoomExec *exec, guint device);
LoomStatus loom_exec_release_others (LoomExec *exec, guint device);
/* The streams of all devices wait for each other; nothing where one hears not of all faults, and the host waits at
 * gates instead. */
LoomStatus loom_exec_join_streams (LoomExec *exec);
/* The streams of devices wait for all copies of the step, so that waiting for one of them includes its copies.
 */
LoomStatus loom_exec_end_sends (LoomExec *exec);

/* exec-watch.c: before and after a row that is timed, and the device's times for the rows of a step. */
void loom_exec_watch_init (LoomExec *exec);
void loom_exec_watch_clear (LoomExec *exec);
gboolean loom_exec_watch_begin (LoomExec *exec, const LoomExecRow *row, gint64 *begin, GError **error);
/* The row has waited for what it needs, and is enqueued next. */
LoomStatus loom_exec_watch_start (LoomExec *exec, const LoomExecRow *row);
gboolean loom_exec_watch_end (LoomExec *exec, const LoomExecRow *row, gint64 begin, LoomStatus *status, GError **error);
gboolean loom_exec_watch_step (LoomExec *exec, GError **error);

/* exec-fault.c. The end of a step waits for the step before it, which has run while this one was enqueued, and reads
 * its faults: the device always has work, and the caller learns of a fault one step late at most. */
gboolean loom_exec_begin (LoomExec *exec, GError **error);
gboolean loom_exec_end (LoomExec *exec, GError **error);
/* A fault of a step before this one that a device has reported by now becomes the error, that of the earliest step
 * where there are several; TRUE: none. */
gboolean loom_exec_poll_fault (LoomExec *exec, gint64 before, GError **error);

/* Sets the error that a status of this instruction is (NULL: of the whole step), in the words of exec->message, and
 * empties those; FALSE. */
gboolean loom_exec_status_error (LoomExec *exec, const LoomPlanInstr *instr, LoomStatus status, GError **error);

G_END_DECLS
