/* Commands and requests of other threads, handled between steps, and whether the run is paused.
 *
 * Posting one sets an atomic flag, which is all that a step reads. inbox_poll() reads the queues, and waits while the
 * run is paused. The owner provides functions for commands and requests. */
#pragma once

#include "engine/core/loom-tensor.h"
#include "engine/train/loom-train-commands.h"

typedef struct
{
  LoomCommandKind kind;
  char *name;
  double value;
} TrainCommand;

/* Queries a port's value, or, with samples, the net's values for them, or, with wants_weights, all weights. */
typedef struct
{
  const char *port;
  const LoomTensor *samples;
  const GPtrArray *others; /* with samples: values of further ports, LoomNamedTensor, or NULL */
  gboolean wants_weights;
  GPtrArray *weights; /* the result of wants_weights: LoomNamedTensor */
  /* Not NULL: is called on the computing thread between two steps, and port and samples are NULL. */
  gboolean (*call) (gpointer data, GError **error);
  gpointer call_data;
  gboolean call_needs_state;     /* values of the state, as in train_request_needs_state() */
  gboolean between_steps;        /* not within an evaluation, which goes on first if the run is paused in it */
  void (*later) (gpointer data); /* likewise, but nothing waits for it, and the request is freed after the call */
  LoomTensor *result;
  gint64 step, epoch;
  double seconds;   /* during which the run was paused; for samples */
  gboolean is_past; /* weights of an earlier step that is shown */
  GError *error;
  gboolean done;
} TrainRequest;

typedef enum
{
  TRAIN_CONTINUE,
  TRAIN_STOP,
  TRAIN_INTERRUPT
} TrainAction;

/* Functions of the owner. Those that compute are called without the lock held. */
typedef struct
{
  /* A checkpoint or a changed value. */
  gboolean (*obey) (const TrainCommand *command, gpointer data, GError **error);
  /* Serves a request. fresh: the run may have changed since the last one. Returns the value of fresh for the next one.
   */
  gboolean (*serve) (TrainRequest *request, gboolean fresh, gpointer data);
  /* Returns FALSE if the request must wait for the next step; called with the lock held. */
  gboolean (*can_serve) (const TrainRequest *request, gpointer data);
  /* Returns FALSE if a command that pauses or stops the run must wait for the next step. */
  gboolean (*can_stand) (gboolean stops, gpointer data);
  /* The run is paused from now on. */
  gboolean (*pause) (gpointer data, GError **error);
  /* The run may have been paused until now. */
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
  gboolean over;   /* there is no next step, so waiting requests are served */
  gboolean paused;
  gboolean single; /* one step is to be computed during the pause */
  gboolean taken;  /* the step in progress is such a step */
  GThread *thread; /* the computing thread while a `later` is called; else NULL */
  gboolean fresh;  /* for its next request */
} Inbox;

void inbox_init (Inbox *self, const InboxOwner *owner);
void inbox_clear (Inbox *self);
/* On any thread. */
void inbox_post (Inbox *self, LoomCommandKind kind, const char *name, double value);
/* On any thread: queues a request and waits until it is served; returns its result (transfer full), or NULL with its
 * error. In a call of inbox_later() it is served at once. */
LoomTensor *inbox_ask (Inbox *self, TrainRequest *request, GError **error);
/* On any thread: calls a function on the computing thread between two steps, or at once if none computes. */
void inbox_later (Inbox *self, void (*later) (gpointer data), gpointer data);

/* The run begins, and has ended: all waiting requests are served. */
void inbox_begin (Inbox *self);
void inbox_end (Inbox *self);
/* TRUE if a command or request is waiting. */
gboolean inbox_is_pending (Inbox *self);
/* Reads both queues, and waits while the run is paused. FALSE on an error of the owner. action reports a command that
 * ends the run; if it evaluates, it stays in the queue, for the caller that gives way and the one that ends. A
 * requested single step stays set until inbox_take_single(). */
gboolean inbox_poll (Inbox *self, gboolean evaluates, TrainAction *action, GError **error);
/* Pauses the run before the next step; on the computing thread. */
void inbox_pause (Inbox *self);
/* TRUE once for each requested single step. */
gboolean inbox_take_single (Inbox *self);
/* The step in progress has failed, and is repeated. */
void inbox_repeat (Inbox *self);
/* TRUE if a waiting command ends the run, so that an evaluation gives way. Serves requests; if it evaluates, none that
 * waits for the end of an evaluation. */
gboolean inbox_must_end (Inbox *self, gboolean evaluates);
/* TRUE if a waiting request needs the state, or the run is paused or will be. */
gboolean inbox_needs_state (Inbox *self);
/* TRUE if a command waits for the next step, after which the run is paused, or a request for its updates. */
gboolean inbox_will_stand (Inbox *self);
/* TRUE if no step is computed now and none will be before the next command. */
gboolean inbox_pauses (const Inbox *self);
/* TRUE if the request needs values of the state. Other requests need none, or get them from all ranks in another way.
 */
gboolean train_request_needs_state (const TrainRequest *request);
/* TRUE for a weight's update, which the next step provides. */
gboolean train_request_is_update (const TrainRequest *request);

/* Prefix of a port: the current state, also during a pause. */
#define TRAIN_PORT_NOW "now:"
/* Prefix of a weight: its change by the last step. */
#define TRAIN_PORT_UPDATE "update:"
