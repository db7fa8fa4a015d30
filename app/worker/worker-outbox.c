/* The worker's bounded queue of messages.
 *
 * Signals that Studio does not read stay in this process's memory, and a stopped Studio must not make it grow: a batch
 * of signals is sent, and the next one only after the last has been written. Until then points are thinned out evenly,
 * and for other signals the newest replaces older ones.
 *
 * All pending messages are one batch under one lock. The serve thread exchanges it for an empty one and sends it
 * without the lock, so the compute thread never waits for a message to be built, and a client that receives "done" has
 * received everything before it. */
#include "app/worker/worker.h"

#include <math.h>
#include <string.h>

#define MAX_POINTS 8192 /* points to be sent to Studio */
#define MAX_LIST   256  /* evaluations and problems to be sent */

typedef struct
{
  char *state, *message;
} State;

typedef struct
{
  char *split;
  gint64 step, epoch;
  double loss, metric[WORKER_MAX_METRICS];
} Eval;

typedef struct
{
  char *code, *node, *port, *message;
} Problem;

/* The pending messages. */
typedef struct
{
  /* The last point of every `stride` steps, less than MAX_POINTS; always includes the newest. */
  WorkerPoint *point;
  guint n_points;
  gint64 stride;
  GQueue states, evals, problems;
  char *memory_device; /* NULL: no new figures of memory */
  gsize memory[LOOM_N_OWNERS];
  LoomTrainerDeviceMemory driver;
  LoomTrainerWaits waits;
  gboolean has_waits;
  double base_lr;        /* NaN: not changed */
  char *checkpoint_path; /* NULL: likewise */
  gint64 checkpoint_step;
} Batch;

/* Set by the run that makes points. */
typedef struct
{
  char **metric_name;
  guint n_metrics;
  gint64 total_steps, epochs;
} Run;

struct _WorkerOutbox
{
  LoomBusWorker1 *bus;
  GDBusConnection *connection;
  gboolean in_flight; /* of the serve thread, as is `sent` */
  Batch sent;

  GMutex lock; /* for all below */
  Batch waiting;
  Run run;
};

static void
state_free (State *s)
{
  g_free (s->state);
  g_free (s->message);
  g_free (s);
}

static void
eval_free (Eval *e)
{
  g_free (e->split);
  g_free (e);
}

static void
problem_free (Problem *p)
{
  g_free (p->code);
  g_free (p->node);
  g_free (p->port);
  g_free (p->message);
  g_free (p);
}

static void
batch_init (Batch *b)
{
  *b = (Batch){ .point = g_new (WorkerPoint, MAX_POINTS), .stride = 1, .base_lr = NAN };
  g_queue_init (&b->states);
  g_queue_init (&b->evals);
  g_queue_init (&b->problems);
}

static void
batch_forget_points (Batch *b)
{
  b->n_points = 0;
  b->stride = 1;
}

static void
batch_clear (Batch *b)
{
  g_free (b->point);
  g_queue_clear_full (&b->states, (GDestroyNotify)state_free);
  g_queue_clear_full (&b->evals, (GDestroyNotify)eval_free);
  g_queue_clear_full (&b->problems, (GDestroyNotify)problem_free);
  g_free (b->memory_device);
  g_free (b->checkpoint_path);
}

static gboolean
batch_is_empty (const Batch *b)
{
  return b->n_points == 0 && b->states.length == 0 && b->evals.length == 0 && b->problems.length == 0
         && b->memory_device == NULL && isnan (b->base_lr) && b->checkpoint_path == NULL;
}

static void
keep_point (Batch *b, const WorkerPoint *point)
{
  WorkerPoint *last = b->n_points > 0 ? &b->point[b->n_points - 1] : NULL;

  if (last != NULL && last->step / b->stride == point->step / b->stride)
    *last = *point;
  else
    b->point[b->n_points++] = *point;
}

static void
batch_add_point (Batch *b, const WorkerPoint *point)
{
  keep_point (b, point);
  /* All points have one stride: repeatedly halving only the old points would make them ever sparser. */
  while (b->n_points == MAX_POINTS)
    {
      b->stride *= 2;
      b->n_points = 1;
      for (guint i = 1; i < MAX_POINTS; i++)
        keep_point (b, &b->point[i]);
    }
}

WorkerOutbox *
worker_outbox_new (LoomBusWorker1 *bus, GDBusConnection *connection)
{
  WorkerOutbox *o = g_new0 (WorkerOutbox, 1);

  o->bus = g_object_ref (bus);
  o->connection = g_object_ref (connection);
  batch_init (&o->sent);
  batch_init (&o->waiting);
  o->run.metric_name = g_new0 (char *, 1);
  g_mutex_init (&o->lock);
  return o;
}

void
worker_outbox_free (WorkerOutbox *o)
{
  g_object_unref (o->bus);
  g_object_unref (o->connection);
  batch_clear (&o->sent);
  batch_clear (&o->waiting);
  g_strfreev (o->run.metric_name);
  g_mutex_clear (&o->lock);
  g_free (o);
}

void
worker_outbox_begin (WorkerOutbox *o, const char *const *metric_name, guint n_metrics, gint64 total_steps,
                     gint64 epochs)
{
  Run *run = &o->run;

  g_mutex_lock (&o->lock);
  batch_forget_points (&o->waiting);
  g_queue_clear_full (&o->waiting.evals, (GDestroyNotify)eval_free);
  g_strfreev (run->metric_name);
  run->n_metrics = MIN (n_metrics, WORKER_MAX_METRICS);
  run->metric_name = g_new0 (char *, run->n_metrics + 1);
  for (guint i = 0; i < run->n_metrics; i++)
    run->metric_name[i] = g_strdup (metric_name[i]);
  run->total_steps = total_steps;
  run->epochs = epochs;
  g_mutex_unlock (&o->lock);
}

void
worker_outbox_point (WorkerOutbox *o, const WorkerPoint *point)
{
  g_mutex_lock (&o->lock);
  batch_add_point (&o->waiting, point);
  g_mutex_unlock (&o->lock);
}

static gboolean
send_idle (gpointer data)
{
  worker_outbox_send (data);
  return G_SOURCE_REMOVE;
}

void
worker_outbox_state (WorkerOutbox *o, const char *state, const char *message)
{
  State *s = g_new0 (State, 1);
  s->state = g_strdup (state);
  s->message = g_strdup (message != NULL ? message : "");

  g_mutex_lock (&o->lock);
  if (o->waiting.states.length == MAX_LIST)
    state_free (g_queue_pop_head (&o->waiting.states));
  g_queue_push_tail (&o->waiting.states, s);
  g_mutex_unlock (&o->lock);
  g_idle_add (send_idle, o); /* a pause is sent at once */
}

void
worker_outbox_eval (WorkerOutbox *o, const LoomTrainerEval *eval)
{
  Eval *e = g_new0 (Eval, 1);

  e->split = g_strdup (eval->split);
  e->step = eval->step;
  e->epoch = eval->epoch;
  e->loss = eval->loss;
  memcpy (e->metric, eval->metric, MIN (eval->n_metrics, WORKER_MAX_METRICS) * sizeof (double));
  g_mutex_lock (&o->lock);
  if (o->waiting.evals.length == MAX_LIST)
    eval_free (g_queue_pop_head (&o->waiting.evals));
  g_queue_push_tail (&o->waiting.evals, e);
  g_mutex_unlock (&o->lock);
}

void
worker_outbox_problem (WorkerOutbox *o, const char *code, const char *node, const char *port, const char *message)
{
  Problem *p = g_new0 (Problem, 1);

  p->code = g_strdup (code);
  p->node = g_strdup (node != NULL ? node : "");
  p->port = g_strdup (port != NULL ? port : "");
  p->message = g_strdup (message);
  g_mutex_lock (&o->lock);
  if (o->waiting.problems.length == MAX_LIST)
    problem_free (g_queue_pop_head (&o->waiting.problems));
  g_queue_push_tail (&o->waiting.problems, p);
  g_mutex_unlock (&o->lock);
}

void
worker_outbox_waits (WorkerOutbox *o, const LoomTrainerWaits *waits)
{
  g_mutex_lock (&o->lock);
  o->waiting.waits = *waits;
  o->waiting.has_waits = TRUE;
  g_mutex_unlock (&o->lock);
}

void
worker_outbox_memory (WorkerOutbox *o, const char *device, const gsize bytes[LOOM_N_OWNERS],
                      const LoomTrainerDeviceMemory *driver)
{
  Batch *b = &o->waiting;

  g_mutex_lock (&o->lock);
  g_free (b->memory_device);
  b->memory_device = g_strdup (device);
  memcpy (b->memory, bytes, sizeof b->memory);
  b->driver = *driver;
  g_mutex_unlock (&o->lock);
}

void
worker_outbox_base_lr (WorkerOutbox *o, double lr)
{
  g_mutex_lock (&o->lock);
  o->waiting.base_lr = lr;
  g_mutex_unlock (&o->lock);
}

void
worker_outbox_checkpoint (WorkerOutbox *o, gint64 step, const char *path)
{
  g_mutex_lock (&o->lock);
  g_free (o->waiting.checkpoint_path);
  o->waiting.checkpoint_path = g_strdup (path);
  o->waiting.checkpoint_step = step;
  g_mutex_unlock (&o->lock);
}

/* ---- sending ---------------------------------------------------------- */

/* Adds the figures that the driver knows. */
static void
add_driver (GVariantBuilder *b, const LoomTrainerDeviceMemory *m)
{
  const struct
  {
    const char *name;
    guint64 bytes;
  } all[] = {
    { "used", m->used },     { "total", m->total }, { "peak", m->peak },
    { "before", m->before }, { "first", m->first }, { "last", m->last },
  };

  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    if (all[i].bytes > 0)
      g_variant_builder_add (b, "{st}", all[i].name, all[i].bytes);
}

static void
send_points (LoomBusWorker1 *bus, Batch *b, const Run *run)
{
  const WorkerPoint *last;
  GVariantBuilder points;

  if (b->n_points == 0)
    return;
  last = &b->point[b->n_points - 1];
  g_variant_builder_init (&points, G_VARIANT_TYPE ("a(xxddad)"));
  for (guint i = 0; i < b->n_points; i++)
    {
      const WorkerPoint *p = &b->point[i];
      GVariant *metrics = g_variant_new_fixed_array (G_VARIANT_TYPE_DOUBLE, p->metric, run->n_metrics, sizeof (double));

      g_variant_builder_add (&points, "(xxdd@ad)", p->step, p->epoch, p->loss, p->lr, metrics);
    }
  loom_bus_worker1_emit_metrics (bus, (const char *const *)run->metric_name, g_variant_builder_end (&points),
                                 last->recent_steps);
  loom_bus_worker1_emit_progress (bus, last->step, run->total_steps, last->epoch, run->epochs, last->items_per_second,
                                  last->eta_seconds);
  if (b->has_waits)
    loom_bus_worker1_emit_waits (bus, b->waits.data, b->waits.compute, b->waits.rest, b->waits.threads);
  b->has_waits = FALSE;
  batch_forget_points (b);
}

static void
send_memory (LoomBusWorker1 *bus, Batch *b)
{
  GVariantBuilder bytes;

  if (b->memory_device == NULL)
    return;
  g_variant_builder_init (&bytes, G_VARIANT_TYPE ("a{st}"));
  for (guint i = 0; i < LOOM_N_OWNERS; i++)
    g_variant_builder_add (&bytes, "{st}", loom_owner_name (i), (guint64)b->memory[i]);
  add_driver (&bytes, &b->driver);
  loom_bus_worker1_emit_memory (bus, b->memory_device, g_variant_builder_end (&bytes));
  g_clear_pointer (&b->memory_device, g_free);
}

static void
send_rest (LoomBusWorker1 *bus, Batch *b, const Run *run)
{
  Eval *e;
  Problem *p;
  State *s;

  while ((e = g_queue_pop_head (&b->evals)))
    {
      loom_bus_worker1_emit_evaluated (
          bus, e->split, e->step, e->epoch, e->loss, (const char *const *)run->metric_name,
          g_variant_new_fixed_array (G_VARIANT_TYPE_DOUBLE, e->metric, run->n_metrics, sizeof (double)));
      eval_free (e);
    }
  send_memory (bus, b);
  if (!isnan (b->base_lr))
    loom_bus_worker1_emit_hyper (bus, "lr", b->base_lr);
  b->base_lr = NAN;
  if (b->checkpoint_path != NULL)
    loom_bus_worker1_emit_checkpoint_written (bus, b->checkpoint_step, b->checkpoint_path);
  g_clear_pointer (&b->checkpoint_path, g_free);
  while ((p = g_queue_pop_head (&b->problems)))
    {
      loom_bus_worker1_emit_problem (bus, p->code, p->node, p->port, p->message);
      problem_free (p);
    }
  /* States last: a client that receives "done" has received everything before it. */
  while ((s = g_queue_pop_head (&b->states)))
    {
      loom_bus_worker1_emit_state_changed (bus, s->state, s->message);
      state_free (s);
    }
}

static void
flushed_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  WorkerOutbox *o = data;
  g_dbus_connection_flush_finish (G_DBUS_CONNECTION (source), result, NULL);
  o->in_flight = FALSE;
}

/* Exchanges the pending batch with the empty one. FALSE: nothing is pending. run: a copy, which owns the names. */
static gboolean
take_batch (WorkerOutbox *o, Run *run)
{
  const Batch empty = o->sent;
  gboolean any;

  g_mutex_lock (&o->lock);
  any = !batch_is_empty (&o->waiting);
  if (any)
    {
      o->sent = o->waiting;
      o->waiting = empty;
      /* Stalls are sent with points. */
      o->waiting.waits = o->sent.waits;
      o->waiting.has_waits = o->sent.has_waits && o->sent.n_points == 0;
      *run = o->run;
      run->metric_name = g_strdupv (o->run.metric_name);
    }
  g_mutex_unlock (&o->lock);
  return any;
}

void
worker_outbox_send (WorkerOutbox *o)
{
  Run run;

  if (o->in_flight || g_dbus_connection_is_closed (o->connection) || !take_batch (o, &run))
    return;
  send_points (o->bus, &o->sent, &run);
  send_rest (o->bus, &o->sent, &run);
  o->sent.has_waits = FALSE;
  g_strfreev (run.metric_name);
  o->in_flight = TRUE;
  g_dbus_connection_flush (o->connection, NULL, flushed_cb, o);
}
