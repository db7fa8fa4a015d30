/* Snapshots: what views see of a run, without touching it.
 *
 * All that views show of a step is from before its update: the loss that the step reports, the values and gradients of
 * the ports, the weights (trainer_seen_of_step()).
 *
 * Ports are computed by a plan of their own, unfused and in evaluation mode, over the same state and on a fixed sample,
 * so the training plan stays fused, nothing is committed and no random number is drawn. One plan computes all ports
 * that were asked for lately, because a view asks ten times a second, and several views may ask between the same two
 * steps.
 */
#include "engine/train/trainer-private.h"

#include <string.h>

#define SAMPLE 32 /* samples of the fixed batch */
#define KEEP   32 /* ports of the plan */
#define STALE  64 /* rounds without a request for a port, after which it is left out */

typedef struct
{
  char *name;        /* "fc", "data.x", "grad:fc.weight" */
  guint64 asked;     /* the round in which it was asked for last */
  LoomTensor *value; /* of the newest run of the plan */
} Port;

struct _TrainerSnapshots
{
  GPtrArray *sample; /* LoomTensor for each port of the data set */
  gint64 n;
  GPtrArray *ports; /* Port, in the order of the plan's outputs */
  LoomNet *net;     /* for a batch of n samples */
  LoomExec *exec;   /* NULL as long as there is no port */
  TrainerSeen *of;  /* what it computes over */
  guint64 round;    /* the requests that wait between the same two steps are one */
  guint64 ran;      /* the round whose values the ports have */
};

static void
port_free (gpointer data)
{
  Port *port = data;

  g_clear_pointer (&port->value, loom_tensor_unref);
  g_free (port->name);
  g_free (port);
}

void
trainer_snapshots_free (TrainerSnapshots *self)
{
  if (self == NULL)
    return;
  loom_exec_free (self->exec);
  loom_net_free (self->net);
  g_clear_pointer (&self->sample, g_ptr_array_unref);
  g_clear_pointer (&self->ports, g_ptr_array_unref);
  g_free (self);
}

LoomExec *
trainer_snapshots_exec (const TrainerSnapshots *self, const TrainerSeen **of)
{
  *of = self != NULL ? self->of : NULL;
  return self != NULL ? self->exec : NULL;
}

static gboolean
read_net (LoomTrainer *t, TrainerSnapshots *self, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomBinding binding = { 0 };

  binding.value['B' - 'A'] = self->n;
  self->net = loom_net_new (t->graph, &binding, faults);
  return loom_faults_to_error (faults, NULL, error);
}

static TrainerSnapshots *
get_snapshots (LoomTrainer *t, GError **error)
{
  if (t->snapshots != NULL)
    return t->snapshots;
  g_autoptr (GPtrArray) sample
      = trainer_dataset_sample (t->dataset, trainer_dataset_watched (t->dataset), SAMPLE, error);
  if (sample == NULL)
    return NULL;
  for (guint i = 0; t->spec->precision == LOOM_F64 && i < sample->len; i++)
    {
      LoomTensor *one = sample->pdata[i];
      if (one->dtype != LOOM_F32)
        continue;
      LoomTensor *wide = loom_tensor_convert (one, LOOM_F64, FALSE, error);
      if (wide == NULL)
        return NULL;
      sample->pdata[i] = wide;
      loom_tensor_unref (one);
    }
  t->snapshots = g_new0 (TrainerSnapshots, 1);
  t->snapshots->round = 1; /* 0 is a round that no plan has run in */
  t->snapshots->n = sample->len > 0 ? ((LoomTensor *)sample->pdata[0])->dim[0] : 1;
  t->snapshots->sample = g_steal_pointer (&sample);
  t->snapshots->ports = g_ptr_array_new_with_free_func (port_free);
  if (!read_net (t, t->snapshots, error))
    g_clear_pointer (&t->snapshots, trainer_snapshots_free);
  return t->snapshots;
}

/* ---- the plan ----------------------------------------------------------- */

static gboolean
is_gradient (const char *port)
{
  return g_str_has_prefix (port, "grad:");
}

/* The name behind "grad:". */
static const char *
name_of (const char *port)
{
  return is_gradient (port) ? port + strlen ("grad:") : port;
}

static LoomValue
gradient (LoomProgram *p, LoomValue loss, LoomValue wrt, const char *name, GError **error)
{
  LoomValue grad = 0;

  if (loom_differentiate (p, loss, 0, 1, &wrt, &grad, error) && grad == 0)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_PORT, "No gradient reaches “%s”.", name);
  return grad;
}

LoomLowerOptions
trainer_lower_options (const LoomTrainer *t, guint n, const LoomNetSource *wanted)
{
  return (LoomLowerOptions){ .float_dtype = t->spec->precision == LOOM_F64 ? LOOM_F64 : LOOM_F32,
                             .n_wanted = n,
                             .wanted = wanted,
                             .seed = t->spec->seed,
                             .direct = t->spec->direct,
                             .tf32 = t->spec->tf32 };
}

/* The values of n ports, and the loss's gradients with respect to those named "grad:PORT" (a weight's name is a port,
 * too), become the program's outputs in their order. Of a port within a loop it is a stack of all steps. */
static LoomProgram *
build_program (LoomTrainer *t, TrainerSnapshots *self, guint n, const char *const *port, GError **error)
{
  g_autofree LoomNetSource *wanted = g_new0 (LoomNetSource, n + 1);
  g_autofree LoomValue *value = g_new0 (LoomValue, n + 1);
  g_autofree LoomValue *probe = g_new0 (LoomValue, n + 1);
  LoomLowerOptions options = trainer_lower_options (t, n, wanted);

  for (guint i = 0; i < n; i++)
    {
      int node = loom_net_find_port (self->net, name_of (port[i]), &wanted[i].output, error);

      if (node < 0)
        return NULL;
      wanted[i].node = (guint)node;
      if (is_gradient (port[i]))
        {
          options.n_wanted = n + 1;
          options.probe_of = probe;
        }
    }
  wanted[n] = t->spec->loss; /* only gradients need it */
  g_autoptr (LoomProgram) p = loom_lower (self->net, &options, value, error);
  if (p == NULL)
    return NULL;
  for (guint i = 0; i < n; i++)
    {
      LoomValue at = probe[i] != 0 ? probe[i] : value[i];
      LoomValue v = is_gradient (port[i]) ? gradient (p, value[n], at, name_of (port[i]), error) : value[i];

      if (v == 0)
        return NULL;
      loom_program_output (p, port[i], v);
    }
  return g_steal_pointer (&p);
}

static LoomExec *
build_exec (LoomTrainer *t, TrainerSnapshots *self, TrainerSeen *of, guint n, const char *const *port, GError **error)
{
  LoomPlanOptions options = { .device = t->device, .no_fusion = TRUE };
  g_autoptr (LoomProgram) program = build_program (t, self, n, port, error);
  LoomState *state = program != NULL ? trainer_seen_state (t, of, error) : NULL;
  LoomPlan *plan = state != NULL ? loom_plan_new (program, t->devices, &options, error) : NULL;
  g_autoptr (LoomExec) exec = plan != NULL ? loom_exec_new (plan, state, error) : NULL;
  g_autofree TrainerFeed *feed = NULL;
  guint n_feeds;

  if (exec == NULL || !trainer_seen_fill (t, of, error) || !trainer_plan_feeds (t, program, &n_feeds, &feed, error))
    return NULL;
  for (guint i = 0; i < n_feeds; i++)
    loom_exec_feed (exec, feed[i].input, ((LoomTensor *)self->sample->pdata[feed[i].port])->data);
  return g_steal_pointer (&exec);
}

/* ---- ports -------------------------------------------------------------- */

static Port *
find_port (const TrainerSnapshots *self, const char *name)
{
  for (guint i = 0; i < self->ports->len; i++)
    {
      Port *port = self->ports->pdata[i];
      if (g_str_equal (port->name, name))
        return port;
    }
  return NULL;
}

static gboolean
is_stale (const TrainerSnapshots *self, const Port *port)
{
  return port->asked + STALE < self->round;
}

static gboolean
has_stale (const TrainerSnapshots *self)
{
  for (guint i = 0; i < self->ports->len; i++)
    if (is_stale (self, self->ports->pdata[i]))
      return TRUE;
  return FALSE;
}

/* Another plan: for the ports that are still asked for, and one more (NULL: none), which is taken. Where planning fails
 * the old plan stays. */
static gboolean
replan (LoomTrainer *t, TrainerSnapshots *self, TrainerSeen *of, Port *more, GError **error)
{
  g_autofree const char **names = g_new0 (const char *, self->ports->len + 2);
  g_autoptr (GPtrArray) ports = g_ptr_array_new (), gone = g_ptr_array_new ();
  LoomExec *exec;

  for (guint i = 0; i < self->ports->len; i++)
    {
      Port *port = self->ports->pdata[i];
      gboolean stays = !is_stale (self, port) && (more == NULL || self->ports->len - i < KEEP);
      g_ptr_array_add (stays ? ports : gone, port);
    }
  if (more != NULL)
    g_ptr_array_add (ports, more);
  for (guint i = 0; i < ports->len; i++)
    names[i] = ((Port *)ports->pdata[i])->name;
  exec = build_exec (t, self, of, ports->len, names, error);
  if (exec == NULL)
    {
      g_clear_pointer (&more, port_free);
      return FALSE;
    }
  g_ptr_array_set_free_func (gone, port_free);
  g_ptr_array_set_free_func (self->ports, NULL);
  g_ptr_array_unref (self->ports);
  g_ptr_array_set_free_func (ports, port_free);
  self->ports = g_steal_pointer (&ports);
  loom_exec_free (self->exec);
  self->exec = exec;
  self->of = of;
  self->ran = 0;
  if (t->inbox.active && t->observer.memory != NULL)
    t->observer.memory (t, t->observer_data);
  return TRUE;
}

static Port *
add_port (LoomTrainer *t, TrainerSnapshots *self, TrainerSeen *of, const char *name, GError **error)
{
  Port *port = g_new0 (Port, 1);

  port->name = g_strdup (name);
  port->asked = self->round;
  return replan (t, self, of, port, error) ? port : NULL;
}

/* Runs the plan, and takes the values of all ports: an executor's outputs are only good until its next step. */
static gboolean
run (TrainerSnapshots *self, GError **error)
{
  if (!loom_exec_run (self->exec, error))
    return FALSE;
  for (guint i = 0; i < self->ports->len; i++)
    {
      Port *port = self->ports->pdata[i];
      g_clear_pointer (&port->value, loom_tensor_unref);
      port->value = loom_exec_output (self->exec, i, error);
      if (port->value == NULL)
        return FALSE;
    }
  self->ran = self->round;
  return TRUE;
}

static LoomTensor *
answer (LoomTrainer *t, TrainerSeen *of, const char *name, GError **error)
{
  for (guint i = 0; i < loom_net_n_weights (t->net); i++)
    if (g_str_equal (loom_net_weight (t->net, i)->name, name) && loom_state_find (t->state, name) >= 0)
      return trainer_seen_get (t, of, name, error);

  if (g_str_equal (name, LOOM_SNAPSHOT_TRACE))
    return trainer_trace_answer (t, error);
  if (g_str_equal (name, LOOM_SNAPSHOT_NODES))
    return trainer_nodes_answer (t, error);
  if (g_str_equal (name, LOOM_SNAPSHOT_LOSSES))
    return trainer_losses_answer (t, error);
  if (g_str_equal (name, LOOM_SNAPSHOT_RANKS))
    return trainer_memory_answer (t, error);
  TrainerSnapshots *self = get_snapshots (t, error);
  if (self == NULL)
    return NULL;
  if (g_str_equal (name, LOOM_SNAPSHOT_TIMES))
    return trainer_measure_times (t, self->net, self->sample, error);
  if (g_str_has_prefix (name, TRAINER_WORDS))
    return trainer_sample_words (t, name + strlen (TRAINER_WORDS), error);
  Port *port = find_port (self, name);
  if (port == NULL)
    port = add_port (t, self, of, name, error);
  if (port == NULL)
    return NULL;
  port->asked = self->round;
  if (self->of != of && !replan (t, self, of, NULL, error))
    return NULL;
  if (has_stale (self))
    replan (t, self, of, NULL, NULL);
  if (self->ran != self->round || port->value == NULL)
    {
      trainer_seen_scalars (t, of);
      if (!run (self, error))
        return NULL;
    }
  return loom_tensor_ref (port->value);
}

void
trainer_snapshot_round (LoomTrainer *t)
{
  if (t->snapshots != NULL)
    t->snapshots->round++;
}

void
trainer_snapshot_answer (LoomTrainer *t, TrainerRequest *request)
{
  const gboolean now = g_str_has_prefix (request->port, TRAINER_NOW);
  const char *port = request->port + (now ? strlen (TRAINER_NOW) : 0);
  TrainerSeen *of = now ? &t->seen : trainer_seen_of_step (t);

  request->result = answer (t, of, port, &request->error);
  if (of == &t->last && g_error_matches (request->error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY))
    {
      /* The state as it is needs no copy. */
      g_clear_error (&request->error);
      g_clear_pointer (&t->last.value, g_hash_table_unref);
      of = &t->seen;
      request->result = answer (t, of, port, &request->error);
    }
  request->step = trainer_seen_step (t, of, request);
}
