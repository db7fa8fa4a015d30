/* Commands and requests of other threads, handled between steps, and whether the run is paused.
 *
 * Posting one sets an atomic flag, which is all that a step reads. The queues are read by inbox_poll(), which waits
 * while the run is paused. What commands and requests mean is the owner's: it gives functions. */
#pragma once

#include "engine/core/loom-tensor.h"
#include "engine/train/loom-train-commands.h"

G_BEGIN_DECLS

typedef struct
{
  LoomCommandKind kind;
  char *name;
  double value;
} TrainCommand;

/* Queries a port's value, or, with samples, the net's values for them. */
typedef struct
{
  const char *port;
  const LoomTensor *samples;
  LoomTensor *result;
  gint64 step, epoch;
  double seconds; /* for which the run stood still; of samples */
  GError *error;
  gboolean done;
} TrainRequest;

typedef enum
{
  TRAIN_CONTINUE,
  TRAIN_STOP,
  TRAIN_INTERRUPT
} TrainAction;

/* Functions of the owner. Those that compute are called without the lock. */
typedef struct
{
  /* A checkpoint or a changed value. */
  gboolean (*obey) (const TrainCommand *command, gpointer data, GError **error);
  /* Serves a request. fresh: the run may have changed since the last one. Returns whether the next one is fresh, too.
   */
  gboolean (*serve) (TrainRequest *request, gboolean fresh, gpointer data);
  /* FALSE: the request waits until the next step, with the lock held. */
  gboolean (*can_serve) (const TrainRequest *request, gpointer data);
  /* FALSE: a command that pauses, or stops, the run waits for the next step. */
  gboolean (*can_stand) (gboolean stops, gpointer data);
  /* The run stands still from here on. */
  gboolean (*pause) (gpointer data, GError **error);
  /* It may have stood still until here. */
  void (*resume) (gpointer data);
  gpointer data;
} InboxOwner;

typedef struct
{
  InboxOwner owner;
  GMutex lock;
  GCond wake, served;
  gint pending;    /* atomic: the queues are not empty, or the run is paused */
  GQueue commands; /* TrainCommand */
  GQueue requests; /* TrainRequest */
  gboolean active; /* a thread computes */
  gboolean over;   /* there is no other step, and what still waits is served */
  gboolean paused;
  gboolean single; /* one step is to be computed while it is paused */
} Inbox;

void inbox_init (Inbox *self, const InboxOwner *owner);
void inbox_clear (Inbox *self);
/* From any thread. */
void inbox_post (Inbox *self, LoomCommandKind kind, const char *name, double value);
/* From any thread: queues a request and waits until it is served; its result (transfer full), or NULL with its error.
 */
LoomTensor *inbox_ask (Inbox *self, TrainRequest *request, GError **error);

/* A run begins, and has ended: all that waits is served. */
void inbox_begin (Inbox *self);
void inbox_end (Inbox *self);
/* TRUE if there is something to poll. */
gboolean inbox_is_pending (Inbox *self);
/* Reads both queues, and waits while the run is paused. FALSE on an error of the owner. If a command ends the run,
 * action says so; with leave_ending the command stays in the queue, for the caller that gives way and the one that
 * ends. A single step stays asked for until inbox_take_single(). */
gboolean inbox_poll (Inbox *self, gboolean leave_ending, TrainAction *action, GError **error);
/* TRUE once for each single step that was asked for. */
gboolean inbox_take_single (Inbox *self);
/* TRUE if a command waits that ends the run; evaluation then gives way. Serves requests. */
gboolean inbox_must_end (Inbox *self);
/* TRUE if a request waits that needs the state, or the run is paused or will be. */
gboolean inbox_needs_state (Inbox *self);
/* TRUE if a command waits for the next step, after which the run stands still. */
gboolean inbox_will_stand (Inbox *self);
/* TRUE if no step is computed now and none will be before the next command. */
gboolean inbox_stands (const Inbox *self);
/* TRUE if the request needs values of the state. Others need none, or get them from all ranks in another way. */
gboolean train_request_needs_state (const TrainRequest *request);

/* Before a port: the state as it is, also while the run stands still. */
#define TRAIN_PORT_NOW "now:"

G_END_DECLS
