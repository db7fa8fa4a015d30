/* Measures the health of the net; see the header. */
#include "engine/train/health-report.h"

#include "engine/infer/loom-curve.h"
#include "engine/net/loom-axes.h"
#include "engine/train/loom-health.h"
#include "engine/train/loom-step.h"

#include <math.h>
#include <string.h>

#define LEAST 32 /* samples */
#define MOST  256
#define AGAIN 16 /* requests after which a reduced report is extended again if possible */

/* What one output of the plan is about. */
typedef enum
{
  MEASURE_WEIGHT, /* sums of squares */
  MEASURE_GRADIENT,
  MEASURE_UPDATE,
  MEASURE_WIRE,
  MEASURE_UNITS, /* f32 [units]: the largest |output| of each unit */
  MEASURE_SATURATED
} MeasureKind;

typedef struct
{
  MeasureKind kind;
  guint node;
  guint port; /* of WIRE */
} Measure;

/* What a plan contains; reduced if it cannot be made or run. */
typedef struct
{
  gboolean ports, update;
} Extent;

struct _HealthReport
{
  SnapshotOwner owner;
  LoomNet *net;      /* for a batch of the samples */
  GPtrArray *sample; /* LoomTensor for each port of the data set */
  GArray *measures;  /* Measure, in the order of the plan's outputs */
  LoomExec *exec;    /* NULL: none yet */
  StateCopy *of;     /* the state that it reads */
  Extent extent;
  guint reduced; /* requests since the plan was reduced */
};

static gboolean
read_sample (HealthReport *self, GError **error)
{
  const TrainModel *model = self->owner.model;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomBinding binding = { 0 };

  self->sample = train_data_spread (self->owner.data, CLAMP (model->spec->batch_size, LEAST, MOST), error);
  if (self->sample == NULL || !train_data_convert (self->sample, model->spec, error))
    return FALSE;
  binding.value['B' - 'A'] = self->sample->len > 0 ? ((LoomTensor *)self->sample->pdata[0])->dim[0] : 1;
  self->net = loom_net_bind (model->net, model->graph, &binding, faults);
  return loom_faults_to_error (faults, NULL, error);
}

HealthReport *
health_report_new (const SnapshotOwner *owner, GError **error)
{
  g_autoptr (HealthReport) self = g_new0 (HealthReport, 1);

  self->owner = *owner;
  self->measures = g_array_new (FALSE, FALSE, sizeof (Measure));
  return read_sample (self, error) ? g_steal_pointer (&self) : NULL;
}

void
health_report_free (HealthReport *self)
{
  if (self == NULL)
    return;
  loom_exec_free (self->exec);
  loom_net_free (self->net);
  g_clear_pointer (&self->sample, g_ptr_array_unref);
  g_array_unref (self->measures);
  g_free (self);
}

/* ---- the program ---------------------------------------------------------- */

typedef struct
{
  HealthReport *report;
  LoomProgram *p;
  GArray *source;  /* LoomNetSource: the ports; the last one is the loss */
  LoomValue *port; /* their values */
  GArray *slot;    /* int: the trained parameters */
  GArray *node;    /* guint: the node of each of them */
  LoomValue *grad; /* of the ports, then of the parameters; 0: none */
} Build;

static void
add (Build *b, MeasureKind kind, guint node, guint port, LoomValue value)
{
  const Measure measure = { kind, node, port };
  g_autofree char *name = g_strdup_printf ("%u", b->report->measures->len);

  loom_program_output (b->p, name, value);
  g_array_append_val (b->report->measures, measure);
}

static LoomValue
sum_of_squares (LoomProgram *p, LoomValue value)
{
  LoomValue x = loom_cast (p, value, loom_program_get_float (p));

  return loom_sum_all (p, loom_unary (p, LOOM_SCALAR_SQUARE, x));
}

/* The outputs that the loss depends on and that can have a gradient. */
static GArray *
list_ports (const HealthReport *self)
{
  const LoomNetSource *loss = &self->owner.model->spec->loss;
  g_autofree gboolean *needed = loom_net_needed_for (self->net, loss);
  GArray *list = g_array_new (FALSE, FALSE, sizeof (LoomNetSource));

  for (guint i = 0; self->extent.ports && i < loom_net_n_nodes (self->net); i++)
    {
      const LoomNetNode *node = loom_net_node (self->net, i);

      for (guint k = 0; needed[i] && !node->muted && node->loop == G_MAXUINT && k < node->n_outputs; k++)
        {
          const LoomNetSource source = { i, k };

          if (loom_dtype_is_float (node->output[k].dtype) && (i != loss->node || k != loss->output))
            g_array_append_val (list, source);
        }
    }
  return list;
}

static void
list_parameters (Build *b)
{
  const LoomNet *net = b->report->net;
  const LoomTrainSpec *spec = b->report->owner.model->spec;

  for (guint i = 0; i < loom_net_n_weights (net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (net, i);
      const int slot = loom_program_find_slot (b->p, weight->name);

      /* A parameter that the graph assigns to is not updated by the optimizer. */
      if (slot < 0 || !loom_step_trains (b->p, slot, spec) || loom_program_get_slot (b->p, (guint)slot)->commit != 0)
        continue;
      g_array_append_val (b->slot, slot);
      g_array_append_val (b->node, weight->node);
    }
}

static gboolean
differentiate (Build *b, GError **error)
{
  const guint n_ports = b->source->len - 1, n = n_ports + b->slot->len;
  g_autofree LoomValue *wrt = g_new0 (LoomValue, n + 1);

  b->grad = g_new0 (LoomValue, n + 1);
  memcpy (wrt, b->port, n_ports * sizeof *wrt);
  for (guint i = 0; i < b->slot->len; i++)
    wrt[n_ports + i] = loom_program_read (b->p, g_array_index (b->slot, int, i));
  return loom_differentiate (b->p, b->port[n_ports], 0, n, wrt, b->grad, error);
}

/* The numbers between which a function's values stay; a bound that is infinite is none. */
typedef struct
{
  double low, high;
  gboolean is_off; /* 0 below some number near 0, so that a unit can be switched off */
} Limits;

/* The ends of the operator's own curve, so that a new activation needs no entry anywhere. FALSE: it has none. */
static gboolean
limits_of (const LoomNetNode *node, Limits *limits)
{
  static const float x[] = { -1e5f, -1e4f, -3, 1e4f, 1e5f };
  g_autoptr (LoomTensor) y = NULL;
  double v[G_N_ELEMENTS (x)];

  if (node->op == NULL || node->op->category != LOOM_CATEGORY_ACTIVATIONS || node->n_outputs != 1)
    return FALSE;
  y = loom_curve_evaluate (node->op, node->element, x, G_N_ELEMENTS (x));
  if (y == NULL)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (x); i++)
    v[i] = loom_tensor_get (y, i);
  const gboolean left = fabs (v[0] - v[1]) < LOOM_HEALTH_SATURATED_WITHIN,
                 right = fabs (v[4] - v[3]) < LOOM_HEALTH_SATURATED_WITHIN;
  *limits = (Limits){ .low = left ? v[0] : -INFINITY, .high = right ? v[4] : INFINITY };
  limits->is_off = left && v[0] == 0 && (v[2] == 0 || !right);
  return limits->is_off || (left && right && v[0] != v[4]);
}

/* The axis along which units are counted; -1: a single unit. */
static int
unit_axis (const LoomNetAxes *axes, int rank)
{
  for (int d = 0; d < rank; d++)
    if (axes->name[d] == 'C')
      return d;
  return rank < 2 ? -1 : rank < 4 ? rank - 1 : 1;
}

static LoomValue
largest_by_unit (LoomProgram *p, LoomValue value, const LoomNetAxes *axes)
{
  const int rank = loom_value_info (p, value)->desc.rank, axis = unit_axis (axes, rank);
  const guint32 all = (1u << rank) - 1;

  return loom_reduce (p, LOOM_REDUCE_MAX, loom_unary (p, LOOM_SCALAR_ABS, value), axis < 0 ? all : all & ~(1u << axis),
                      FALSE);
}

/* The share of elements near a limit; one that switches a unit off counts as dead instead. */
static LoomValue
share_at_limits (LoomProgram *p, LoomValue value, const Limits *limits)
{
  const LoomDType dtype = loom_value_info (p, value)->desc.dtype;
  const double within = LOOM_HEALTH_SATURATED_WITHIN * (limits->high - limits->low);
  LoomValue high = loom_binary (p, LOOM_SCALAR_GT, value, loom_const (p, dtype, limits->high - within));
  LoomValue low = loom_binary (p, LOOM_SCALAR_LT, value, loom_const (p, dtype, limits->low + within));
  LoomValue at = limits->is_off ? high : loom_binary (p, LOOM_SCALAR_OR, high, low);

  return loom_mean_all (p, loom_cast (p, at, loom_program_get_float (p)));
}

static void
measure_ports (Build *b)
{
  g_autofree LoomNetAxes **axes = loom_net_name_axes (b->report->net);

  for (guint i = 0; i + 1 < b->source->len; i++)
    {
      const LoomNetSource *source = &g_array_index (b->source, LoomNetSource, i);
      const LoomNetNode *node = loom_net_node (b->report->net, source->node);
      Limits limits;

      loom_program_set_origin (b->p, node->path, node->device);
      if (b->grad[i] != 0)
        add (b, MEASURE_WIRE, source->node, source->output, sum_of_squares (b->p, b->grad[i]));
      if (!limits_of (node, &limits))
        continue;
      if (limits.is_off)
        add (b, MEASURE_UNITS, source->node, 0,
             largest_by_unit (b->p, b->port[i], axes[source->node] + source->output));
      if (isfinite (limits.low) && isfinite (limits.high))
        add (b, MEASURE_SATURATED, source->node, 0, share_at_limits (b->p, b->port[i], &limits));
    }
  loom_program_set_origin (b->p, NULL, NULL);
}

static void
measure_weights (Build *b)
{
  const LoomValue *grad = b->grad + b->source->len - 1;

  for (guint i = 0; i < b->slot->len; i++)
    {
      const guint node = g_array_index (b->node, guint, i);

      add (b, MEASURE_WEIGHT, node, 0,
           sum_of_squares (b->p, loom_program_read (b->p, g_array_index (b->slot, int, i))));
      if (grad[i] != 0)
        add (b, MEASURE_GRADIENT, node, 0, sum_of_squares (b->p, grad[i]));
    }
}

/* The changes that the optimizer would commit. */
static gboolean
measure_update (Build *b, GError **error)
{
  const LoomValue *grad = b->grad + b->source->len - 1;

  if (!loom_step_emit_update (b->p, b->report->owner.model->spec, b->port[b->source->len - 1], b->slot->len,
                              (const int *)b->slot->data, grad, error))
    return FALSE;
  for (guint i = 0; i < b->slot->len; i++)
    {
      const int slot = g_array_index (b->slot, int, i);
      const LoomValue next = loom_program_get_slot (b->p, (guint)slot)->commit;

      if (next != 0)
        add (b, MEASURE_UPDATE, g_array_index (b->node, guint, i), 0,
             sum_of_squares (b->p, loom_binary (b->p, LOOM_SCALAR_SUB, next, loom_program_read (b->p, slot))));
    }
  loom_program_drop_commits (b->p);
  return TRUE;
}

static LoomProgram *
build_program (HealthReport *self, GError **error)
{
  g_autoptr (GArray) source = list_ports (self), slot = g_array_new (FALSE, FALSE, sizeof (int)),
                     node = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autofree LoomValue *value = NULL;
  g_autoptr (LoomProgram) p = NULL;
  Build build = { .report = self, .source = source, .slot = slot, .node = node };
  LoomLowerOptions options;
  gboolean ok;

  g_array_set_size (self->measures, 0);
  g_array_append_val (source, self->owner.model->spec->loss);
  value = g_new0 (LoomValue, source->len);
  options = train_model_lower_options (self->owner.model, source->len, (const LoomNetSource *)source->data);
  options.effects = TRUE; /* for list_parameters() */
  p = loom_lower (self->net, &options, value, error);
  if (p == NULL)
    return NULL;
  build.p = p;
  build.port = value;
  list_parameters (&build);
  loom_program_drop_commits (p);
  ok = differentiate (&build, error);
  if (ok)
    {
      measure_ports (&build);
      measure_weights (&build);
      ok = !self->extent.update || measure_update (&build, error);
    }
  g_free (build.grad);
  return ok ? g_steal_pointer (&p) : NULL;
}

/* ---- the plan ------------------------------------------------------------- */

static LoomExec *
build_exec (HealthReport *self, StateCopy *of, GError **error)
{
  g_autoptr (LoomProgram) program = build_program (self, error);

  return program != NULL ? snapshot_exec_new (&self->owner, program, self->sample, of, error) : NULL;
}

/* The optimizer's states must be whole and part of the state. */
static gboolean
can_update (const HealthReport *self, const StateCopy *of)
{
  const LoomOptimizer *optimizer = self->owner.model->spec->optimizer;

  return optimizer->emit != NULL && !optimizer->takes_no_gradients && of == &self->owner.watched->now
         && !loom_state_is_divided (self->owner.model->state);
}

static gboolean
prepare (HealthReport *self, StateCopy *of, Extent extent, GError **error)
{
  g_clear_pointer (&self->exec, loom_exec_free);
  self->extent = extent;
  self->exec = build_exec (self, of, error);
  self->of = of;
  if (self->exec != NULL && self->owner.made != NULL)
    self->owner.made (self->owner.made_data);
  return self->exec != NULL;
}

static gboolean
compute (HealthReport *self, GError **error)
{
  return watched_state_fill_scalars (self->owner.watched, self->of, error) && loom_exec_run (self->exec, error);
}

/* A port of the data may have no gradient though the weights have one, and an update from numbers that are not finite
 * is a fault: the report is then without these. */
static gboolean
run (HealthReport *self, StateCopy *of, GError **error)
{
  const Extent all = { TRUE, can_update (self, of) }, less[] = { { TRUE, FALSE }, { FALSE, FALSE } };
  const gboolean is_reduced = self->extent.ports != all.ports || self->extent.update != all.update;

  if (self->exec != NULL && self->of == of && !(is_reduced && ++self->reduced >= AGAIN) && compute (self, NULL))
    return TRUE;
  self->reduced = 0;
  if (prepare (self, of, all, NULL) && compute (self, NULL))
    return TRUE;
  if (prepare (self, of, less[0], NULL) && compute (self, NULL))
    return TRUE;
  return prepare (self, of, less[1], error) && compute (self, error);
}

/* ---- the report ----------------------------------------------------------- */

/* A norm that is NaN is infinite, because NaN stands for an unknown one. */
static double
add_norm (double norm, double squares)
{
  const double sum = (isnan (norm) ? 0 : norm * norm) + squares;

  return isnan (sum) ? INFINITY : sqrt (sum);
}

static void
count_units (LoomHealthNode *node, const LoomTensor *largest)
{
  node->units = largest->count;
  node->dead = 0;
  for (gint64 i = 0; i < largest->count; i++)
    node->dead += loom_tensor_get (largest, i) == 0;
}

static void
read_measure (const HealthReport *self, const Measure *measure, LoomHealthNode *node, const LoomTensor *value)
{
  const double number = value->count > 0 ? loom_tensor_get (value, 0) : 0;
  double *const norm[]
      = { [MEASURE_WEIGHT] = &node->weight, [MEASURE_GRADIENT] = &node->gradient, [MEASURE_UPDATE] = &node->update };

  if (measure->kind < G_N_ELEMENTS (norm))
    *norm[measure->kind] = add_norm (*norm[measure->kind], number);
  else if (measure->kind == MEASURE_UNITS)
    count_units (node, value);
  else if (measure->kind == MEASURE_SATURATED)
    node->saturated = number;
  else
    {
      LoomHealthWire wire = { loom_net_port_name (self->net, measure->node, measure->port), add_norm (0, number) };

      g_array_append_val (node->wires, wire);
    }
}

/* LoomHealthNode, in the order of the net, of those with a measure. */
static GPtrArray *
read_all (HealthReport *self, GError **error)
{
  g_autoptr (GPtrArray) list = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_health_node_free);
  g_autofree LoomHealthNode **node = g_new0 (LoomHealthNode *, loom_net_n_nodes (self->net) + 1);

  for (guint i = 0; i < self->measures->len; i++)
    {
      const guint n = g_array_index (self->measures, Measure, i).node;

      if (node[n] == NULL)
        node[n] = loom_health_node_new (loom_net_node (self->net, n)->path);
    }
  for (guint n = 0; n < loom_net_n_nodes (self->net); n++)
    if (node[n] != NULL)
      g_ptr_array_add (list, node[n]);
  for (guint i = 0; i < self->measures->len; i++)
    {
      const Measure *measure = &g_array_index (self->measures, Measure, i);
      g_autofree char *name = g_strdup_printf ("%u", i);
      const int output = loom_exec_find_output (self->exec, name);
      g_autoptr (LoomTensor) value = loom_exec_output (self->exec, (guint)output, error);

      if (value == NULL)
        return NULL;
      read_measure (self, measure, node[measure->node], value);
    }
  loom_health_apply_rules (list);
  return g_steal_pointer (&list);
}

char *
health_report_text (HealthReport *self, StateCopy *of, GError **error)
{
  g_autoptr (GPtrArray) nodes = run (self, of, error) ? read_all (self, error) : NULL;

  return nodes != NULL ? loom_health_to_text (nodes) : NULL;
}
