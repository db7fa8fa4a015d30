/* The worker's bounded queue of messages.
 *
 * Signals that Studio does not read stay in this process's memory, and a stopped Studio must not make it grow: a batch
 * of signals is sent, and the next one only after the last has been written. Until then points are thinned out evenly,
 * and for other signals the newest replaces older ones.
 *
 * The serve thread may also be late: during a run of tiny steps with a thread on each core it gets little time. A full
 * ring does not drop new points, which would leave a gap in the curve and lose the last points of a run; instead the
 * compute thread thins out points itself until the serve thread has read the ring. */
#include "app/worker/worker.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define RING     4096 /* points between two calls of the serve thread; a power of two */
#define MAX_KEPT 8192 /* points to be sent to Studio */
#define MAX_LIST 256  /* evaluations and problems to be sent */

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

/* At most `room` points of a run: the last point of every `stride` steps, and always the newest. */
typedef struct
{
  WorkerPoint *point;
  guint n, room;
  gint64 stride;
} Thinned;

struct _WorkerOutbox
{
  LoomBusWorker1 *bus;
  GDBusConnection *connection;
  gboolean in_flight;

  guint run; /* of the compute thread: the run of new points */

  /* Written by the compute thread at head, read by the serve thread at tail. */
  WorkerPoint ring[RING];
  atomic_uint head, tail;

  /* Points that did not fit into the ring, all newer than those in the ring: while there are any, no point is added to
   * the ring. The serve thread holds held_lock only to copy. */
  GMutex held_lock;
  Thinned held;
  atomic_uint n_held;

  Thinned points; /* serve thread: drained, not yet sent */

  GMutex lock;     /* for all below */
  guint shown_run; /* points of other runs are dropped */
  char **metric_name;
  guint n_metrics;
  gint64 total_steps, epochs;
  GQueue states, evals, problems;
  char *memory_device;
  gsize memory[LOOM_N_OWNERS];
  LoomTrainerDeviceMemory driver;
  gboolean memory_fresh;
  LoomTrainerWaits waits;
  gboolean waits_fresh;
  double base_lr; /* NaN: reported already */
  gint64 checkpoint_step;
  char *checkpoint_path;
};

static void
thinned_init (Thinned *t, guint room)
{
  *t = (Thinned){ g_new (WorkerPoint, room), 0, room, 1 };
}

static void
thinned_clear (Thinned *t)
{
  t->n = 0;
  t->stride = 1;
}

static void
thinned_put (Thinned *t, const WorkerPoint *point)
{
  WorkerPoint *last = t->n > 0 ? &t->point[t->n - 1] : NULL;

  if (last != NULL && last->run == point->run && last->step / t->stride == point->step / t->stride)
    *last = *point;
  else
    t->point[t->n++] = *point;
  /* All points have one stride: repeatedly halving only the old points would make them ever sparser. */
  while (t->n == t->room)
    {
      guint n = t->n;
      t->stride *= 2;
      t->n = 1;
      for (guint i = 1; i < n; i++)
        {
          WorkerPoint *kept = &t->point[t->n - 1];
          if (kept->run == t->point[i].run && kept->step / t->stride == t->point[i].step / t->stride)
            *kept = t->point[i];
          else
            t->point[t->n++] = t->point[i];
        }
    }
}

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

WorkerOutbox *
worker_outbox_new (LoomBusWorker1 *bus, GDBusConnection *connection)
{
  WorkerOutbox *o = g_new0 (WorkerOutbox, 1);

  o->bus = g_object_ref (bus);
  o->connection = g_object_ref (connection);
  o->base_lr = NAN;
  thinned_init (&o->held, RING);
  thinned_init (&o->points, MAX_KEPT);
  g_mutex_init (&o->held_lock);
  g_mutex_init (&o->lock);
  g_queue_init (&o->states);
  g_queue_init (&o->evals);
  g_queue_init (&o->problems);
  return o;
}

void
worker_outbox_free (WorkerOutbox *o)
{
  g_object_unref (o->bus);
  g_object_unref (o->connection);
  g_free (o->held.point);
  g_free (o->points.point);
  g_strfreev (o->metric_name);
  g_queue_clear_full (&o->states, (GDestroyNotify)state_free);
  g_queue_clear_full (&o->evals, (GDestroyNotify)eval_free);
  g_queue_clear_full (&o->problems, (GDestroyNotify)problem_free);
  g_free (o->memory_device);
  g_free (o->checkpoint_path);
  g_mutex_clear (&o->held_lock);
  g_mutex_clear (&o->lock);
  g_free (o);
}

void
worker_outbox_begin (WorkerOutbox *o, const char *const *metric_name, guint n_metrics, gint64 total_steps,
                     gint64 epochs)
{
  g_mutex_lock (&o->lock);
  o->shown_run = ++o->run;
  g_queue_clear_full (&o->evals, (GDestroyNotify)eval_free);
  g_strfreev (o->metric_name);
  o->n_metrics = MIN (n_metrics, WORKER_MAX_METRICS);
  o->metric_name = g_new0 (char *, o->n_metrics + 1);
  for (guint i = 0; i < o->n_metrics; i++)
    o->metric_name[i] = g_strdup (metric_name[i]);
  o->total_steps = total_steps;
  o->epochs = epochs;
  g_mutex_unlock (&o->lock);
}

void
worker_outbox_point (WorkerOutbox *o, const WorkerPoint *point)
{
  unsigned head = atomic_load_explicit (&o->head, memory_order_relaxed);
  unsigned tail = atomic_load_explicit (&o->tail, memory_order_acquire);
  WorkerPoint stamped = *point;

  stamped.run = o->run;
  /* Only this thread sets n_held to another value than zero, so if it reads zero, it stays zero. */
  if (head - tail < RING && atomic_load_explicit (&o->n_held, memory_order_acquire) == 0)
    {
      o->ring[head % RING] = stamped;
      atomic_store_explicit (&o->head, head + 1, memory_order_release);
      return;
    }
  g_mutex_lock (&o->held_lock);
  thinned_put (&o->held, &stamped);
  atomic_store_explicit (&o->n_held, o->held.n, memory_order_release);
  g_mutex_unlock (&o->held_lock);
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
  if (o->states.length == MAX_LIST)
    state_free (g_queue_pop_head (&o->states));
  g_queue_push_tail (&o->states, s);
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
  if (o->evals.length == MAX_LIST)
    eval_free (g_queue_pop_head (&o->evals));
  g_queue_push_tail (&o->evals, e);
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
  if (o->problems.length == MAX_LIST)
    problem_free (g_queue_pop_head (&o->problems));
  g_queue_push_tail (&o->problems, p);
  g_mutex_unlock (&o->lock);
}

void
worker_outbox_waits (WorkerOutbox *o, const LoomTrainerWaits *waits)
{
  g_mutex_lock (&o->lock);
  o->waits = *waits;
  o->waits_fresh = TRUE;
  g_mutex_unlock (&o->lock);
}

/* What is known of it. */
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

void
worker_outbox_memory (WorkerOutbox *o, const char *device, const gsize bytes[LOOM_N_OWNERS],
                      const LoomTrainerDeviceMemory *driver)
{
  g_mutex_lock (&o->lock);
  g_free (o->memory_device);
  o->memory_device = g_strdup (device);
  memcpy (o->memory, bytes, sizeof o->memory);
  o->driver = *driver;
  o->memory_fresh = TRUE;
  g_mutex_unlock (&o->lock);
}

void
worker_outbox_base_lr (WorkerOutbox *o, double lr)
{
  g_mutex_lock (&o->lock);
  o->base_lr = lr;
  g_mutex_unlock (&o->lock);
}

void
worker_outbox_checkpoint (WorkerOutbox *o, gint64 step, const char *path)
{
  g_mutex_lock (&o->lock);
  g_free (o->checkpoint_path);
  o->checkpoint_path = g_strdup (path);
  o->checkpoint_step = step;
  g_mutex_unlock (&o->lock);
}

/* ---- sending ---------------------------------------------------------- */

static void
drain (WorkerOutbox *o)
{
  g_mutex_lock (&o->held_lock);
  unsigned tail = atomic_load_explicit (&o->tail, memory_order_relaxed);
  unsigned head = atomic_load_explicit (&o->head, memory_order_acquire);

  for (; tail != head; tail++)
    thinned_put (&o->points, &o->ring[tail % RING]);
  atomic_store_explicit (&o->tail, tail, memory_order_release);
  for (guint i = 0; i < o->held.n; i++)
    thinned_put (&o->points, &o->held.point[i]);
  thinned_clear (&o->held);
  atomic_store_explicit (&o->n_held, 0, memory_order_release);
  g_mutex_unlock (&o->held_lock);
}

static void
forget_older_runs (WorkerOutbox *o)
{
  guint old = 0;

  while (old < o->points.n && o->points.point[old].run != o->shown_run)
    old++;
  if (old == 0)
    return;
  o->points.n -= old;
  memmove (o->points.point, o->points.point + old, o->points.n * sizeof (WorkerPoint));
}

static void
send_points (WorkerOutbox *o)
{
  GVariantBuilder points;

  if (o->points.n == 0)
    return;
  g_variant_builder_init (&points, G_VARIANT_TYPE ("a(xxddad)"));
  for (guint i = 0; i < o->points.n; i++)
    {
      const WorkerPoint *p = &o->points.point[i];
      GVariant *metrics = g_variant_new_fixed_array (G_VARIANT_TYPE_DOUBLE, p->metric, o->n_metrics, sizeof (double));
      g_variant_builder_add (&points, "(xxdd@ad)", p->step, p->epoch, p->loss, p->lr, metrics);
    }

  const WorkerPoint *last = &o->points.point[o->points.n - 1];
  loom_bus_worker1_emit_metrics (o->bus, (const char *const *)o->metric_name, g_variant_builder_end (&points),
                                 last->recent_steps);
  loom_bus_worker1_emit_progress (o->bus, last->step, o->total_steps, last->epoch, o->epochs, last->items_per_second,
                                  last->eta_seconds);
  if (o->waits_fresh)
    loom_bus_worker1_emit_waits (o->bus, o->waits.data, o->waits.compute, o->waits.rest, o->waits.threads);
  o->waits_fresh = FALSE;
  thinned_clear (&o->points);
}

static void
send_rest (WorkerOutbox *o)
{
  Eval *e;
  Problem *p;
  State *s;

  while ((e = g_queue_pop_head (&o->evals)))
    {
      loom_bus_worker1_emit_evaluated (
          o->bus, e->split, e->step, e->epoch, e->loss, (const char *const *)o->metric_name,
          g_variant_new_fixed_array (G_VARIANT_TYPE_DOUBLE, e->metric, o->n_metrics, sizeof (double)));
      eval_free (e);
    }
  if (o->memory_fresh)
    {
      GVariantBuilder b;
      g_variant_builder_init (&b, G_VARIANT_TYPE ("a{st}"));
      for (guint i = 0; i < LOOM_N_OWNERS; i++)
        g_variant_builder_add (&b, "{st}", loom_owner_name (i), (guint64)o->memory[i]);
      add_driver (&b, &o->driver);
      loom_bus_worker1_emit_memory (o->bus, o->memory_device, g_variant_builder_end (&b));
      o->memory_fresh = FALSE;
    }
  if (!isnan (o->base_lr))
    {
      loom_bus_worker1_emit_hyper (o->bus, "lr", o->base_lr);
      o->base_lr = NAN;
    }
  if (o->checkpoint_path != NULL)
    {
      loom_bus_worker1_emit_checkpoint_written (o->bus, o->checkpoint_step, o->checkpoint_path);
      g_clear_pointer (&o->checkpoint_path, g_free);
    }
  while ((p = g_queue_pop_head (&o->problems)))
    {
      loom_bus_worker1_emit_problem (o->bus, p->code, p->node, p->port, p->message);
      problem_free (p);
    }
  /* States last: a client that receives "done" has received everything before it. */
  while ((s = g_queue_pop_head (&o->states)))
    {
      loom_bus_worker1_emit_state_changed (o->bus, s->state, s->message);
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

void
worker_outbox_send (WorkerOutbox *o)
{
  /* Holds the lock, so that no state is sent before its points: "done" follows the last numbers. */
  g_mutex_lock (&o->lock);
  drain (o);
  forget_older_runs (o);
  if (o->in_flight || g_dbus_connection_is_closed (o->connection))
    {
      g_mutex_unlock (&o->lock);
      return;
    }
  gboolean any = o->points.n > 0 || !g_queue_is_empty (&o->states) || !g_queue_is_empty (&o->evals)
                 || !g_queue_is_empty (&o->problems) || o->memory_fresh || !isnan (o->base_lr)
                 || o->checkpoint_path != NULL;
  if (any && o->metric_name == NULL)
    o->metric_name = g_new0 (char *, 1);
  if (any)
    {
      send_points (o);
      send_rest (o);
    }
  g_mutex_unlock (&o->lock);
  if (any)
    {
      o->in_flight = TRUE;
      g_dbus_connection_flush (o->connection, NULL, flushed_cb, o);
    }
}
