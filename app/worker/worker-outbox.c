/* The worker's bounded queue of messages.
 *
 * Signals that Studio does not read stay in this process's memory, and a stopped Studio must not make it grow: a batch
 * of signals is sent, and the next one only after the last has been written. Until then points are merged evenly, and
 * for other signals the newest replaces older ones.
 *
 * What a client that attaches later must know of the run is kept: its merged curve, and the newest of each figure.
 *
 * All pending messages are one batch under one lock. The serve thread exchanges it for an empty one and sends it
 * without the lock, so the compute thread never waits for a message to be built, and a client that receives "done" has
 * received everything before it. */
#include "app/worker/worker-curve.h"

#include <math.h>
#include <string.h>

#define MAX_POINTS 8192 /* of the curve that a client receives when it attaches */
#define MAX_BATCH  128  /* points of a batch: a fast run has thousands, more than a chart shows */
#define MAX_EVALS  8    /* evaluations of a batch on a split: each is a message */
#define MAX_LIST   256  /* problems and states to be sent */

typedef struct
{
  char *state, *message;
} State;

typedef struct
{
  char *code, *node, *port, *message;
} Problem;

/* The pending messages. */
typedef struct
{
  WorkerCurve curve, evals[LOOM_N_SPLITS];
  LoomTrainerStep newest; /* of the curve, without metrics */
  GQueue states, problems;
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

/* The run so far. */
typedef struct
{
  WorkerCurve curve;
  LoomTrainerStep newest; /* likewise */
  State *state;           /* NULL: none yet */
  char *memory_device;    /* NULL: likewise */
  gsize memory[LOOM_N_OWNERS];
  LoomTrainerDeviceMemory driver;
  double base_lr; /* NaN: unknown */
  char *checkpoint_path;
  gint64 checkpoint_step;
} Known;

struct _WorkerOutbox
{
  LoomBusWorker1 *bus;
  GDBusConnection *connection; /* NULL: no client */
  gboolean in_flight;          /* of the serve thread, as is `sent` */
  Batch sent;

  GMutex lock; /* for all below */
  Batch waiting;
  Known known;
  Run run;
};

static State *
state_new (const char *state, const char *message)
{
  State *s = g_new0 (State, 1);

  s->state = g_strdup (state);
  s->message = g_strdup (message != NULL ? message : "");
  return s;
}

static void
state_free (State *s)
{
  g_free (s->state);
  g_free (s->message);
  g_free (s);
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
  *b = (Batch){ .base_lr = NAN };
  worker_curve_init (&b->curve, MAX_BATCH);
  for (guint i = 0; i < LOOM_N_SPLITS; i++)
    worker_curve_init (&b->evals[i], MAX_EVALS);
  g_queue_init (&b->states);
  g_queue_init (&b->problems);
}

static void
batch_clear (Batch *b)
{
  worker_curve_clear (&b->curve);
  for (guint i = 0; i < LOOM_N_SPLITS; i++)
    worker_curve_clear (&b->evals[i]);
  g_queue_clear_full (&b->states, (GDestroyNotify)state_free);
  g_queue_clear_full (&b->problems, (GDestroyNotify)problem_free);
  g_free (b->memory_device);
  g_free (b->checkpoint_path);
}

/* The points and evaluations. */
static void
batch_forget (Batch *b)
{
  worker_curve_forget (&b->curve, MAX_BATCH);
  for (guint i = 0; i < LOOM_N_SPLITS; i++)
    worker_curve_forget (&b->evals[i], MAX_EVALS);
}

static gboolean
batch_is_empty (const Batch *b)
{
  guint n = worker_curve_length (&b->curve);

  for (guint i = 0; i < LOOM_N_SPLITS; i++)
    n += worker_curve_length (&b->evals[i]);
  return n == 0 && b->states.length == 0 && b->problems.length == 0 && b->memory_device == NULL && isnan (b->base_lr)
         && b->checkpoint_path == NULL;
}

WorkerOutbox *
worker_outbox_new (LoomBusWorker1 *bus, GDBusConnection *connection)
{
  WorkerOutbox *o = g_new0 (WorkerOutbox, 1);

  o->bus = g_object_ref (bus);
  o->connection = g_object_ref (connection);
  batch_init (&o->sent);
  batch_init (&o->waiting);
  worker_curve_init (&o->known.curve, MAX_POINTS);
  o->known.base_lr = NAN;
  o->run.metric_name = g_new0 (char *, 1);
  g_mutex_init (&o->lock);
  return o;
}

void
worker_outbox_free (WorkerOutbox *o)
{
  g_object_unref (o->bus);
  g_clear_object (&o->connection);
  batch_clear (&o->sent);
  batch_clear (&o->waiting);
  worker_curve_clear (&o->known.curve);
  g_clear_pointer (&o->known.state, state_free);
  g_free (o->known.memory_device);
  g_free (o->known.checkpoint_path);
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
  batch_forget (&o->waiting);
  worker_curve_forget (&o->known.curve, MAX_POINTS);
  g_clear_pointer (&o->known.checkpoint_path, g_free);
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
worker_outbox_step (WorkerOutbox *o, const LoomTrainerStep *step)
{
  double figure[WORKER_N_FIGURES] = { (double)step->epoch, step->loss, step->lr };

  for (guint i = 0; i < MIN (step->n_metrics, WORKER_MAX_METRICS); i++)
    figure[WORKER_METRICS + i] = step->metric[i];
  g_mutex_lock (&o->lock);
  worker_curve_add (&o->waiting.curve, step->step, figure);
  worker_curve_add (&o->known.curve, step->step, figure);
  o->waiting.newest = o->known.newest = *step;
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
  State *s = state_new (state, message);

  g_mutex_lock (&o->lock);
  g_clear_pointer (&o->known.state, state_free);
  o->known.state = state_new (state, message);
  if (o->waiting.states.length == MAX_LIST)
    state_free (g_queue_pop_head (&o->waiting.states));
  g_queue_push_tail (&o->waiting.states, s);
  g_mutex_unlock (&o->lock);
  g_idle_add (send_idle, o); /* a pause is sent at once */
}

void
worker_outbox_eval (WorkerOutbox *o, const LoomTrainerEval *eval)
{
  double figure[WORKER_N_FIGURES] = { (double)eval->epoch, eval->loss };
  LoomSplit split = 0;

  while (!g_str_equal (loom_split_name (split), eval->split))
    split++;
  for (guint i = 0; i < MIN (eval->n_metrics, WORKER_MAX_METRICS); i++)
    figure[WORKER_METRICS + i] = eval->metric[i];
  g_mutex_lock (&o->lock);
  worker_curve_add (&o->waiting.evals[split], eval->step, figure);
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

/* With the lock held. */
static void
queue_memory (WorkerOutbox *o)
{
  Batch *b = &o->waiting;

  g_free (b->memory_device);
  b->memory_device = g_strdup (o->known.memory_device);
  memcpy (b->memory, o->known.memory, sizeof b->memory);
  b->driver = o->known.driver;
}

void
worker_outbox_memory (WorkerOutbox *o, const char *device, const gsize bytes[LOOM_N_OWNERS],
                      const LoomTrainerDeviceMemory *driver)
{
  Known *known = &o->known;

  g_mutex_lock (&o->lock);
  g_free (known->memory_device);
  known->memory_device = g_strdup (device);
  memcpy (known->memory, bytes, sizeof known->memory);
  known->driver = *driver;
  queue_memory (o);
  g_mutex_unlock (&o->lock);
}

void
worker_outbox_base_lr (WorkerOutbox *o, double lr)
{
  g_mutex_lock (&o->lock);
  o->waiting.base_lr = o->known.base_lr = lr;
  g_mutex_unlock (&o->lock);
}

/* With the lock held. */
static void
queue_checkpoint (WorkerOutbox *o)
{
  g_free (o->waiting.checkpoint_path);
  o->waiting.checkpoint_path = g_strdup (o->known.checkpoint_path);
  o->waiting.checkpoint_step = o->known.checkpoint_step;
}

void
worker_outbox_checkpoint (WorkerOutbox *o, gint64 step, const char *path)
{
  g_mutex_lock (&o->lock);
  g_free (o->known.checkpoint_path);
  o->known.checkpoint_path = g_strdup (path);
  o->known.checkpoint_step = step;
  queue_checkpoint (o);
  g_mutex_unlock (&o->lock);
}

/* ---- clients ---------------------------------------------------------- */

char *
worker_outbox_dup_state (WorkerOutbox *o, char **message)
{
  char *state;

  g_mutex_lock (&o->lock);
  state = o->known.state != NULL ? g_strdup (o->known.state->state) : NULL;
  if (message != NULL)
    *message = o->known.state != NULL ? g_strdup (o->known.state->message) : NULL;
  g_mutex_unlock (&o->lock);
  return state;
}

/* Replaces what waits by all that is known, so that nothing is sent twice. Evaluations and problems since the client
 * before has left wait as they are. */
static void
queue_known (WorkerOutbox *o)
{
  Batch *b = &o->waiting;

  g_mutex_lock (&o->lock);
  worker_curve_set (&b->curve, &o->known.curve);
  b->newest = o->known.newest;
  g_queue_clear_full (&b->states, (GDestroyNotify)state_free);
  if (o->known.state != NULL)
    g_queue_push_tail (&b->states, state_new (o->known.state->state, o->known.state->message));
  if (o->known.memory_device != NULL)
    queue_memory (o);
  if (o->known.checkpoint_path != NULL)
    queue_checkpoint (o);
  b->base_lr = o->known.base_lr;
  g_mutex_unlock (&o->lock);
}

void
worker_outbox_connect (WorkerOutbox *o, GDBusConnection *connection)
{
  g_set_object (&o->connection, connection);
  o->in_flight = FALSE;
  if (connection == NULL)
    return;
  queue_known (o);
  worker_outbox_send (o);
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

static GVariant *
metrics_of (const double *figure, const Run *run)
{
  return g_variant_new_fixed_array (G_VARIANT_TYPE_DOUBLE, figure + WORKER_METRICS, run->n_metrics, sizeof (double));
}

static void
send_points (LoomBusWorker1 *bus, Batch *b, const Run *run)
{
  const LoomTrainerStep *last = &b->newest;
  const guint n = worker_curve_length (&b->curve);
  GVariantBuilder points;

  if (n == 0)
    return;
  g_variant_builder_init (&points, G_VARIANT_TYPE ("a(xxddad)"));
  for (guint i = 0; i < n; i++)
    {
      double figure[WORKER_N_FIGURES];
      const gint64 step = worker_curve_get (&b->curve, i, figure);

      g_variant_builder_add (&points, "(xxdd@ad)", step, (gint64)figure[WORKER_EPOCH], figure[WORKER_LOSS],
                             figure[WORKER_LR], metrics_of (figure, run));
    }
  loom_bus_worker1_emit_metrics (bus, (const char *const *)run->metric_name, g_variant_builder_end (&points),
                                 last->recent_steps);
  loom_bus_worker1_emit_progress (bus, last->step, last->total_steps > 0 ? last->total_steps : run->total_steps,
                                  last->epoch, run->epochs, last->items_per_second, last->eta_seconds);
  if (b->has_waits)
    loom_bus_worker1_emit_waits (bus, b->waits.data, b->waits.compute, b->waits.rest, b->waits.threads);
  b->has_waits = FALSE;
}

/* In the order of their steps. */
static void
send_evaluations (LoomBusWorker1 *bus, const Batch *b, const Run *run)
{
  guint sent[LOOM_N_SPLITS] = { 0 };
  double figure[WORKER_N_FIGURES], next[WORKER_N_FIGURES];

  for (;;)
    {
      LoomSplit split = LOOM_N_SPLITS;
      gint64 step = G_MAXINT64;

      for (LoomSplit i = 0; i < LOOM_N_SPLITS; i++)
        if (sent[i] < worker_curve_length (&b->evals[i]) && worker_curve_get (&b->evals[i], sent[i], next) < step)
          {
            step = worker_curve_get (&b->evals[i], sent[i], figure);
            split = i;
          }
      if (split == LOOM_N_SPLITS)
        return;
      sent[split]++;
      loom_bus_worker1_emit_evaluated (bus, loom_split_name (split), step, (gint64)figure[WORKER_EPOCH],
                                       figure[WORKER_LOSS], (const char *const *)run->metric_name,
                                       metrics_of (figure, run));
    }
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
  Problem *p;
  State *s;

  send_evaluations (bus, b, run);
  batch_forget (b);
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
  gboolean has_state;

  g_dbus_connection_flush_finish (G_DBUS_CONNECTION (source), result, NULL);
  /* Not of a client that has left. */
  if (G_DBUS_CONNECTION (source) != o->connection)
    return;
  o->in_flight = FALSE;
  /* A state that came meanwhile, as the pause after a short step, does not wait for the timer. */
  g_mutex_lock (&o->lock);
  has_state = o->waiting.states.length > 0;
  g_mutex_unlock (&o->lock);
  if (has_state)
    worker_outbox_send (o);
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
      o->waiting.has_waits = o->sent.has_waits && worker_curve_length (&o->sent.curve) == 0;
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

  if (o->connection == NULL || o->in_flight || g_dbus_connection_is_closed (o->connection) || !take_batch (o, &run))
    return;
  send_points (o->bus, &o->sent, &run);
  send_rest (o->bus, &o->sent, &run);
  o->sent.has_waits = FALSE;
  g_strfreev (run.metric_name);
  o->in_flight = TRUE;
  g_dbus_connection_flush (o->connection, NULL, flushed_cb, o);
}

void
worker_outbox_finish (WorkerOutbox *o)
{
  if (o->connection == NULL || g_dbus_connection_is_closed (o->connection))
    return;
  worker_outbox_send (o);
  g_dbus_connection_flush_sync (o->connection, NULL, NULL);
}
