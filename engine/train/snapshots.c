/* Values and gradients of ports, for observers. */
#include "engine/train/snapshots.h"

#include "engine/core/loom-error.h"

#include <string.h>

#define SAMPLE 32 /* number of samples in the fixed batch */
#define KEEP   32 /* maximum number of ports in the plan */
#define STALE  64 /* rounds without a request for a port, after which it is dropped */

typedef struct
{
  char *name;        /* "fc", "data.x", "grad:fc.weight" */
  guint64 queried;   /* the round of the last request */
  LoomTensor *value; /* of the newest run of the plan */
} Port;

struct _Snapshots
{
  SnapshotOwner owner;
  GPtrArray *sample; /* LoomTensor for each port of the data set */
  gint64 n;
  GPtrArray *ports; /* Port, in the order of the plan's outputs */
  LoomNet *net;     /* for a batch of n samples */
  LoomExec *exec;   /* NULL if there is no port */
  StateCopy *of;    /* the state that it reads */
  guint64 round;    /* requests between the same two steps are one round */
  guint64 ran;      /* the round of the current values */
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
snapshots_free (Snapshots *self)
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
snapshots_exec (const Snapshots *self, const StateCopy **of)
{
  *of = self != NULL ? self->of : NULL;
  return self != NULL ? self->exec : NULL;
}

const LoomNet *
snapshots_net (const Snapshots *self)
{
  return self->net;
}

const GPtrArray *
snapshots_sample (const Snapshots *self)
{
  return self->sample;
}

gint64
snapshots_n_samples (const Snapshots *self)
{
  return self->sample->len > 0 ? self->n : 0;
}

static gboolean
read_net (Snapshots *self, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomBinding binding = { 0 };

  binding.value['B' - 'A'] = self->n;
  self->net = loom_net_bind (self->owner.model->net, self->owner.model->graph, &binding, faults);
  return loom_faults_to_error (faults, NULL, error);
}

Snapshots *
snapshots_new (const SnapshotOwner *owner, GError **error)
{
  g_autoptr (Snapshots) self = g_new0 (Snapshots, 1);

  self->owner = *owner;
  self->round = 1; /* 0 is a round before the plan's first run */
  self->sample = train_data_sample (owner->data, SAMPLE, error);
  if (self->sample == NULL || !train_data_convert (self->sample, owner->model->spec, error))
    return NULL;
  self->n = self->sample->len > 0 ? ((LoomTensor *)self->sample->pdata[0])->dim[0] : 1;
  self->ports = g_ptr_array_new_with_free_func (port_free);
  return read_net (self, error) ? g_steal_pointer (&self) : NULL;
}

/* ---- the plan ----------------------------------------------------------- */

static gboolean
is_gradient (const char *port)
{
  return g_str_has_prefix (port, "grad:");
}

/* The name after "grad:". */
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

/* Makes program outputs of the values of n ports, and of the loss's gradients with respect to those named "grad:PORT"
 * (a weight's name is a port, too), in their order. A port within a loop is stacked over all iterations. */
static LoomProgram *
build_program (Snapshots *self, guint n, const char *const *port, GError **error)
{
  g_autofree LoomNetSource *wanted = g_new0 (LoomNetSource, n + 1);
  g_autofree LoomValue *value = g_new0 (LoomValue, n + 1);
  g_autofree LoomValue *probe = g_new0 (LoomValue, n + 1);
  LoomLowerOptions options = train_model_lower_options (self->owner.model, n, wanted);

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
  wanted[n] = self->owner.model->spec->loss; /* only gradients need it */
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

LoomExec *
snapshot_exec_new (const SnapshotOwner *owner, LoomProgram *program, const GPtrArray *sample, StateCopy *of,
                   GError **error)
{
  const TrainModel *model = owner->model;
  LoomPlanOptions options = { .device = model->device, .no_fusion = TRUE };
  LoomState *state = watched_state_get (owner->watched, of, error);
  LoomPlan *plan = state != NULL ? loom_plan_new (program, model->devices, &options, error) : NULL;
  g_autoptr (LoomExec) exec = plan != NULL ? loom_exec_new (plan, state, error) : NULL;
  g_autofree StepInput *input = NULL;
  guint n_inputs;

  if (exec == NULL || !watched_state_fill (owner->watched, of, error))
    return NULL;
  input = step_inputs_new (owner->data, program, &n_inputs, error);
  if (input == NULL)
    return NULL;
  for (guint i = 0; i < n_inputs; i++)
    loom_exec_feed (exec, input[i].input, ((LoomTensor *)sample->pdata[input[i].port])->data);
  return g_steal_pointer (&exec);
}

static LoomExec *
build_exec (Snapshots *self, StateCopy *of, guint n, const char *const *port, GError **error)
{
  g_autoptr (LoomProgram) program = build_program (self, n, port, error);

  return program != NULL ? snapshot_exec_new (&self->owner, program, self->sample, of, error) : NULL;
}

/* ---- ports -------------------------------------------------------------- */

static Port *
find_port (const Snapshots *self, const char *name)
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
is_stale (const Snapshots *self, const Port *port)
{
  return port->queried + STALE < self->round;
}

static gboolean
has_stale (const Snapshots *self)
{
  for (guint i = 0; i < self->ports->len; i++)
    if (is_stale (self, self->ports->pdata[i]))
      return TRUE;
  return FALSE;
}

/* Replans for the ports that are still requested, and one more (NULL: none), which is consumed. If planning fails, the
 * old plan stays. */
static gboolean
replan (Snapshots *self, StateCopy *of, Port *more, GError **error)
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
  exec = build_exec (self, of, ports->len, names, error);
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
  if (self->owner.made != NULL)
    self->owner.made (self->owner.made_data);
  return TRUE;
}

static Port *
add_port (Snapshots *self, StateCopy *of, const char *name, GError **error)
{
  Port *port = g_new0 (Port, 1);

  port->name = g_strdup (name);
  port->queried = self->round;
  return replan (self, of, port, error) ? port : NULL;
}

/* Runs the plan, and copies the values of all ports, because an executor's outputs are only valid until its next step.
 */
static gboolean
run (Snapshots *self, GError **error)
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

LoomTensor *
snapshots_value (Snapshots *self, StateCopy *of, const char *name, GError **error)
{
  Port *port = find_port (self, name);

  if (port == NULL)
    port = add_port (self, of, name, error);
  if (port == NULL)
    return NULL;
  port->queried = self->round;
  if (self->of != of && !replan (self, of, NULL, error))
    return NULL;
  if (has_stale (self))
    replan (self, of, NULL, NULL);
  if ((self->ran != self->round || port->value == NULL)
      && (!watched_state_fill_scalars (self->owner.watched, of, error) || !run (self, error)))
    return NULL;
  return loom_tensor_ref (port->value);
}

void
snapshots_begin_round (Snapshots *self)
{
  if (self != NULL)
    self->round++;
}
