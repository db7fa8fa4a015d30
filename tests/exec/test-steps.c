/* Every example in graphs/ on the device under test: ten training steps (two for slow ones) at batch 4, each begun from
 * the state of ref in f64, and an evaluation; compares loss, metrics, every gradient, and every slot of the state after
 * the step. The truth is a plan on ref in f64. The allowed distance of a 16-bit type is measured: by the same step on
 * ref in that type, which rounds as often but runs plain loops. A tensor may be some times as far, in norm, because
 * sums that cancel have single elements without correct digits; plus a small fraction of itself and of its summands.
 * GRADLOOM_TEST_DEVICE names another device than cuda:0. If there is no such device, the test prints the reason and is
 * skipped. All failures are listed, the worst tensor of each step first. Of large examples (tests/examples.h) the
 * device only plans a step, because the truth would take minutes to compute. */
#include <math.h>
#include <string.h>

#include "engine/train/loom-driver.h"
#include "engine/train/loom-step.h"
#include "tests/example-data.h"
#include "tests/examples.h"
#include "tests/exec/step-batches.h"
#include "tests/exec/test-device.h"
#include "tests/scalar-of.h"
#include "tests/test-program.h"

#define STEPS 10

/* The tolerance: `factor` times the distance of ref in that type from the truth, plus `least` of the size. With 16-bit
 * types a library may round once more than ref, and a ReLU, a maximum or an argmax within that rounding differs: on an
 * H100 by up to 1.5 % of a gradient's norm in a batch of four. The kernels' samples check kernels to their roundings.
 */
static const struct
{
  LoomDType dtype;
  const char *name;
  double factor, least;
} types[] = {
  { LOOM_F32, "f32", 8, 2e-6 },
  { LOOM_BF16, "bf16", 3, 2e-2 },
  { LOOM_F16, "f16", 3, 2e-2 },
};

/* f16's scale of the loss at the beginning: no gradient of an example overflows with it. */
#define LOSS_SCALE 256

static LoomDevices *devices;
static const char *device;

/* ---- a step on one device ------------------------------------------------ */

typedef struct
{
  LoomTrainSpec *spec; /* NULL: a graph without <train> */
  LoomStep *step;
  LoomProgram *program;
  LoomState *state;
  LoomExec *exec;
  GPtrArray *outputs; /* LoomTensor by output, of the last step */
} Side;

static void
side_free (Side *side)
{
  g_clear_pointer (&side->outputs, g_ptr_array_unref);
  g_clear_pointer (&side->exec, loom_exec_free);
  g_clear_pointer (&side->state, loom_state_unref);
  g_clear_pointer (&side->program, loom_program_unref);
  g_clear_pointer (&side->step, loom_step_free);
  g_clear_pointer (&side->spec, loom_train_spec_free);
  g_free (side);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Side, side_free)

/* A graph without <train>: every port is an output, and so are the gradients of all elements' sum. */
static LoomProgram *
lower_all (const LoomNet *net, LoomDType dtype, GError **error)
{
  g_autoptr (GArray) wanted = g_array_new (FALSE, FALSE, sizeof (LoomNetSource));
  LoomLowerOptions options = { .float_dtype = dtype == LOOM_F64 ? LOOM_F64 : LOOM_F32 };
  g_autofree LoomValue *value = NULL;
  g_autoptr (GArray) wrt = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  g_autofree LoomValue *grad = NULL;
  g_autoptr (LoomProgram) p = NULL;
  LoomValue sum = 0;

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    for (guint o = 0; loom_net_node (net, i)->loop == G_MAXUINT && o < loom_net_node (net, i)->n_outputs; o++)
      {
        LoomNetSource s = { i, o };

        g_array_append_val (wanted, s);
      }
  options.n_wanted = wanted->len;
  options.wanted = (const LoomNetSource *)wanted->data;
  value = g_new0 (LoomValue, wanted->len + 1);
  p = loom_lower (net, &options, value, error);
  if (p == NULL)
    return NULL;
  for (guint i = 0; i < wanted->len; i++)
    {
      const LoomNetSource *s = &options.wanted[i];
      g_autofree char *name = loom_net_port_name (net, s->node, s->output);

      loom_program_output (p, name, value[i]);
      if (loom_dtype_is_float (loom_value_info (p, value[i])->desc.dtype))
        {
          LoomValue one = loom_sum_all (p, value[i]);

          sum = sum == 0 ? one : loom_binary (p, LOOM_SCALAR_ADD, sum, one);
        }
    }
  for (LoomValue v = 1; v <= loom_program_n_values (p); v++)
    if (loom_value_info (p, v)->input >= 0 || loom_value_info (p, v)->slot >= 0)
      g_array_append_val (wrt, v);
  grad = g_new0 (LoomValue, wrt->len + 1);
  if (!loom_differentiate (p, sum, 0, wrt->len, (const LoomValue *)wrt->data, grad, error))
    return NULL;
  for (guint i = 0; i < wrt->len; i++)
    if (grad[i] != 0)
      {
        g_autofree char *name = g_strdup_printf ("gradient %u", i);

        loom_program_output (p, name, grad[i]);
      }
  return g_steal_pointer (&p);
}

static gboolean
is_in (const LoomValue *values, guint n, LoomValue v)
{
  for (guint k = 0; k < n; k++)
    if (values[k] == v)
      return TRUE;
  return FALSE;
}

/* The gradients of an optimiser's step are outputs too: after its n parameters it has n gradients, and one of these may
 * be a parameter, too. */
static void
show_gradients (LoomProgram *p)
{
  guint n_instrs = loom_program_n_instrs (p);

  for (guint i = 0; i < n_instrs; i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);
      guint n = 0;

      if (!g_str_has_suffix (instr->prim->name, "_step"))
        continue;
      while (n < instr->n_in && instr->in[n] != 0 && !is_in (instr->in, n, instr->in[n])
             && loom_value_info (p, instr->in[n])->slot >= 0
             && loom_program_get_slot (p, (guint)loom_value_info (p, instr->in[n])->slot)->kind == LOOM_SLOT_PARAMETER)
        n++;
      for (guint k = 0; k < n; k++)
        {
          const LoomSlot *slot = loom_program_get_slot (p, (guint)loom_value_info (p, instr->in[k])->slot);
          g_autofree char *name = g_strconcat ("gradient.", slot->name, NULL);

          loom_program_output (p, name, instr->in[n + k]);
        }
    }
}

static Side *
side_new (const LoomGraph *graph, const char *on, LoomDType dtype, gboolean training, GError **error)
{
  g_autoptr (Side) side = g_new0 (Side, 1);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  LoomPlanOptions options = { .device = on };
  LoomPlan *plan;

  side->spec = loom_train_spec_new (graph, net, faults);
  if (side->spec != NULL)
    {
      side->spec->precision = dtype;
      side->step = loom_step_new (side->spec, BATCH, training, error);
      side->program = side->step != NULL ? loom_program_ref (side->step->program) : NULL;
    }
  else
    side->program = lower_all (net, dtype, error);
  if (side->program == NULL)
    return NULL;
  if (training)
    show_gradients (side->program);
  side->state = loom_state_new (devices, on, side->spec != NULL ? side->spec->seed : 1);
  plan = loom_plan_new (side->program, devices, &options, error);
  side->exec = plan != NULL ? loom_exec_new (plan, side->state, error) : NULL;
  if (side->exec == NULL)
    return NULL;
  loom_state_set_scalar (side->state, "loss_scale", LOSS_SCALE);
  return g_steal_pointer (&side);
}

/* Copies from `from` if it has the slot; floats are rounded to the slot's type. */
static void
begin_from (Side *side, LoomState *from)
{
  for (guint i = 0; i < loom_state_n_slots (side->state); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomTensor) value = NULL;
      const char *name;

      loom_state_slot (side->state, i, &name, NULL, NULL);
      if (loom_state_find (from, name) < 0)
        continue;
      value = loom_state_get (from, name, &error);
      g_assert_no_error (error);
      loom_state_set (side->state, name, value, &error);
      g_assert_no_error (error);
    }
}

static gboolean
side_step (Side *side, GPtrArray *batch, gboolean training, GError **error)
{
  const LoomDriver *driver = side->spec != NULL && training ? loom_driver (side->spec->optimizer->name) : NULL;
  g_autoptr (GPtrArray) fed = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);

  for (guint i = 0; i < loom_program_n_inputs (side->program); i++)
    {
      LoomDType dtype = loom_value_info (side->program, loom_program_get_input (side->program, i)->value)->desc.dtype;
      LoomTensor *t = loom_tensor_convert (batch->pdata[i], dtype, FALSE, error);

      if (t == NULL)
        return FALSE;
      g_ptr_array_add (fed, t);
      loom_exec_feed (side->exec, i, t->data);
    }
  if (!loom_exec_step (side->exec, error) || !loom_exec_sync (side->exec, error))
    return FALSE;
  g_clear_pointer (&side->outputs, g_ptr_array_unref);
  side->outputs = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  for (guint i = 0; i < loom_program_n_outputs (side->program); i++)
    {
      g_autoptr (LoomTensor) t = loom_exec_output (side->exec, i, error);
      LoomTensor *copy = t != NULL ? loom_tensor_convert (t, t->dtype, FALSE, error) : NULL;

      if (copy == NULL)
        return FALSE;
      g_ptr_array_add (side->outputs, copy);
    }
  return driver == NULL || loom_driver_advance (driver, side->exec, side->state, side->spec, error);
}

static LoomTensor *
output_of (const Side *side, const char *name)
{
  for (guint i = 0; i < loom_program_n_outputs (side->program); i++)
    if (strcmp (loom_program_get_output (side->program, i)->name, name) == 0)
      return side->outputs->pdata[i];
  return NULL;
}

/* ---- comparing ------------------------------------------------------------- */

typedef struct
{
  const char *graph, *what;
  int step;
  guint type;
  double all; /* the norm of all gradients, for the tolerance of their sums */
  guint n, wrong;
  double worst; /* largest distance as a fraction of the tolerance, over the whole run */
  char *worst_name;
  GString *report;
} Comparison;

/* Element k; most are of these two types, and a call for each takes as long as a step. */
static inline double
element (const LoomTensor *t, gint64 k)
{
  return t->dtype == LOOM_F32   ? (double)((const float *)t->data)[k]
         : t->dtype == LOOM_F64 ? ((const double *)t->data)[k]
                                : loom_tensor_get (t, k);
}

static double
norm_of (const LoomTensor *a, const LoomTensor *b)
{
  double sum = 0;

  for (gint64 k = 0; k < a->count; k++)
    {
      double d = element (a, k) - (b != NULL ? element (b, k) : 0);

      sum += d * d;
    }
  return sqrt (sum);
}

/* How far a tensor may be from the truth, in norm. */
static double
allowed_of (const Comparison *j, const char *name, const LoomTensor *truth, const LoomTensor *like)
{
  double size = norm_of (truth, NULL), noise = norm_of (like, truth);

  if (!loom_dtype_is_float (truth->dtype))
    return noise;
  /* Of a hundred tokens one or two. */
  if (g_str_has_prefix (name, "metric") && types[j->type].dtype != LOOM_F32)
    return noise + 0.05 * size;
  return types[j->type].factor * noise
         + types[j->type].least * (size + (g_str_has_prefix (name, "gradient") ? j->all : 0)) + 1e-12;
}

/* `give` is added to the tolerance. */
static void
compare_tensor (Comparison *j, const char *name, const LoomTensor *truth, const LoomTensor *like, const LoomTensor *got,
                double give)
{
  double size, noise, far, allowed;
  gint64 at = 0;
  double most = -1;

  j->n++;
  if (truth->count != got->count)
    {
      g_string_append_printf (j->report, "%s, %s, %s: %d elements instead of %d\n", j->graph, j->what, name,
                              (int)got->count, (int)truth->count);
      j->wrong++;
      return;
    }
  size = norm_of (truth, NULL);
  noise = norm_of (like, truth);
  far = norm_of (got, truth);
  allowed = allowed_of (j, name, truth, like) + give;
  if (allowed > 0 && far / allowed > j->worst)
    {
      j->worst = far / allowed;
      g_free (j->worst_name);
      j->worst_name = g_strdup_printf ("%s, step %d: %g away, %g allowed, norm %g, noise %g", name, j->step, far,
                                       allowed, size, noise);
    }
  if (far <= allowed)
    return;
  for (gint64 k = 0; k < truth->count; k++)
    {
      double d = fabs (element (got, k) - element (truth, k));

      if (!(d <= most))
        {
          most = d;
          at = k;
        }
    }
  g_string_append_printf (j->report,
                          "%s, %s, step %d, %s: %g away in norm of %g (ref in %s: %g); worst is [%d], %.9g instead of "
                          "%.9g\n",
                          j->graph, j->what, j->step, name, far, size, types[j->type].name, noise, (int)at,
                          loom_tensor_get (got, at), loom_tensor_get (truth, at));
  j->wrong++;
}

/* Adam and its variants divide a gradient by its own size, so that an element without correct digits moves its weight
 * by the rate to either side: the norm of that, for the parameter of this name. 0 for every other slot. */
static double
undecided (const Comparison *j, const Side *truth, const Side *like, const char *parameter)
{
  g_autofree char *squares = g_strconcat ("optimizer.exp_avg_sq.", parameter, NULL);
  g_autofree char *name = g_strconcat ("gradient.", parameter, NULL);
  const LoomTensor *g = output_of (truth, name), *l = output_of (like, name);
  double limit, n = 0;

  if (g == NULL || l == NULL || loom_state_find (truth->state, squares) < 0)
    return 0;
  limit = 4 * allowed_of (j, name, g, l) / sqrt ((double)g->count);
  for (gint64 k = 0; k < g->count; k++)
    n += fabs (element (g, k)) <= limit;
  return 2 * scalar_of (truth->state, "lr") * sqrt (n);
}

/* An average of gradients is as far from the truth as the gradient of this step, which has a tolerance of its own: that
 * distance, for a slot with such an average. 0 for every other slot. */
static double
handed_on (const Side *truth, const Side *got, const char *slot)
{
  static const char *const averages[] = { "optimizer.exp_avg.", "optimizer.momentum_buffer." };

  for (guint i = 0; i < G_N_ELEMENTS (averages); i++)
    if (g_str_has_prefix (slot, averages[i]))
      {
        g_autofree char *name = g_strconcat ("gradient.", slot + strlen (averages[i]), NULL);
        const LoomTensor *t = output_of (truth, name), *g = output_of (got, name);

        return t != NULL && g != NULL && t->count == g->count ? norm_of (g, t) : 0;
      }
  return 0;
}

static void
compare_step (Comparison *j, const Side *truth, const Side *like, const Side *got)
{
  const LoomTensor *grad_norm = output_of (truth, "grad_norm");

  j->all = grad_norm != NULL ? loom_tensor_get (grad_norm, 0) : 0;
  for (guint i = 0; i < loom_program_n_outputs (got->program); i++)
    {
      const char *name = loom_program_get_output (got->program, i)->name;
      LoomTensor *t = output_of (truth, name), *l = output_of (like, name);

      if (t != NULL && l != NULL)
        compare_tensor (j, name, t, l, got->outputs->pdata[i], 0);
    }
  for (guint i = 0; i < loom_state_n_slots (got->state); i++)
    {
      g_autoptr (GError) error = NULL;
      const char *name;
      g_autoptr (LoomTensor) t = NULL;
      g_autoptr (LoomTensor) l = NULL;
      g_autoptr (LoomTensor) g = NULL;

      loom_state_slot (got->state, i, &name, NULL, NULL);
      if (loom_state_find (truth->state, name) < 0)
        continue;
      t = loom_state_get (truth->state, name, &error);
      g_assert_no_error (error);
      l = loom_state_get (like->state, name, &error);
      g_assert_no_error (error);
      g = loom_state_get (got->state, name, &error);
      g_assert_no_error (error);
      compare_tensor (j, name, t, l, g, undecided (j, truth, like, name) + handed_on (truth, got, name));
    }
}

/* ---- one example ----------------------------------------------------------- */

#define MOST_ASIDE  4
#define QUICK_FLOPS 2e5 /* of a sample, forward: up to that an emulated card takes ten steps in a second or two */

/* The emulated GPU is a hundred times slower than a CPU, and compiles each kernel at its first use: slow examples take
 * two steps, */
static gboolean
is_quick (const LoomGraph *graph)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);

  return example_flops (net) <= QUICK_FLOPS;
}

/* and none in f16, which the quick ones and every kernel's samples have. A GPU takes all of them. */
static guint
count_types (const LoomGraph *graph)
{
  gboolean emulated = g_str_equal (loom_devices_get (devices, device, NULL)->info.name, "emulated");

  return emulated && !is_quick (graph) ? G_N_ELEMENTS (types) - 1 : G_N_ELEMENTS (types);
}

/* trained is the state after training, with which the evaluation begins. */
static gboolean
run_example (Comparison *j, const LoomGraph *graph, guint type, gboolean training, LoomState **trained, GError **error)
{
  LoomDType dtype = types[type].dtype;
  g_autoptr (Side) truth = side_new (graph, "ref", LOOM_F64, training, error);
  g_autoptr (Side) like = truth != NULL ? side_new (graph, "ref", dtype, training, error) : NULL;
  g_autoptr (Side) got = like != NULL ? side_new (graph, device, dtype, training, error) : NULL;
  g_auto (Source) source = { 0 };
  double first = 0, last = 0;
  int n_steps = is_quick (graph) ? STEPS : 2;
  int aside = 0;

  if (got == NULL)
    return FALSE;
  source_open (&source, graph, j->graph);
  if (*trained != NULL)
    begin_from (truth, *trained);
  for (j->step = 1; j->step <= (training ? n_steps : 2); j->step++)
    {
      g_autoptr (GPtrArray) batch = draw_batch (&source, got->program);
      const gsize said = j->report->len;
      const guint wrong = j->wrong;

      /* Both begin from the exact values rounded to f32. */
      begin_from (like, truth->state);
      begin_from (truth, like->state);
      begin_from (got, like->state);
      if (!side_step (truth, batch, training, error) || !side_step (like, batch, training, error)
          || !side_step (got, batch, training, error))
        return FALSE;
      compare_step (j, truth, like, got);
      /* A ReLU whose operand is within a rounding of 0 may flip, which in a batch of four affects every gradient before
       * it. So in a 16-bit type a few steps may differ, and are replaced by others; a wrong kernel differs in all of
       * them. */
      if (j->wrong > wrong && dtype != LOOM_F32 && training && aside < MOST_ASIDE)
        {
          g_test_message ("put aside, and another step taken: %s", j->report->str + said);
          g_string_truncate (j->report, said);
          j->wrong = wrong;
          aside++;
          n_steps++;
        }
      last = loom_tensor_get (got->outputs->pdata[0], 0);
      first = j->step == 1 ? last : first;
    }
  if (*trained == NULL)
    *trained = loom_state_ref (truth->state);
  g_test_message ("%s, %s: %u tensors, %u too far; loss %.6g … %.6g; nearest to its limit: %s (%.2f)", j->graph,
                  j->what, j->n, j->wrong, first, last, j->worst_name != NULL ? j->worst_name : "none", j->worst);
  return TRUE;
}

/* With all nodes on the device under test, also those that name another one. */
static LoomGraph *
read_example (const char *path)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  LoomGraph *graph = loom_graph_read_file (path, faults, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < loom_element_n_children (loom_graph_root (graph)); i++)
    {
      LoomElement *node = loom_element_child (loom_graph_root (graph), i);

      if (loom_element_get (node, "device") != NULL)
        loom_edit_free (loom_graph_apply (graph, loom_edit_set (node, "device", NULL)));
    }
  return graph;
}

/* For a large example: plans its training step and its evaluation in every type. */
static gboolean
plan_large (const LoomGraph *graph, const char *name)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  const LoomPlanOptions options = { .device = device };

  if (!example_is_large (net))
    return FALSE;
  for (guint type = 0; type < G_N_ELEMENTS (types); type++)
    for (int training = 0; training < 2; training++)
      {
        g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
        g_autoptr (LoomStep) step = NULL;
        g_autoptr (GError) error = NULL;
        LoomPlan *plan;

        if (spec == NULL)
          continue;
        spec->precision = types[type].dtype;
        step = loom_step_new (spec, EXAMPLE_REDUCED_BATCH, training, &error);
        g_assert_no_error (error);
        plan = loom_plan_new (step->program, devices, &options, &error);
        g_assert_no_error (error);
        loom_plan_free (plan);
      }
  g_test_message ("%s is large: it was planned, and no step taken", name);
  return TRUE;
}

static void
test_example (gconstpointer data)
{
  const char *path = data;
  g_autofree char *name = g_path_get_basename (path);
  g_autoptr (LoomGraph) graph = read_example (path);

  if (plan_large (graph, name))
    return;
  for (guint type = 0; type < count_types (graph); type++)
    {
      LoomState *trained = NULL;

      for (int training = 1; training >= 0; training--)
        {
          g_autoptr (GError) local = NULL;
          g_autofree char *what = g_strdup_printf ("%s, %s", types[type].name, training ? "training" : "evaluation");
          Comparison j = { .graph = name, .what = what, .type = type, .report = g_string_new (NULL) };

          if (!run_example (&j, graph, type, training, &trained, &local))
            g_string_append_printf (j.report, "%s, %s: %s", name, what, local->message);
          if (j.report->len > 0)
            {
              g_test_message ("%s", j.report->str);
              g_test_fail ();
            }
          g_string_free (j.report, TRUE);
          g_free (j.worst_name);
        }
      g_clear_pointer (&trained, loom_state_unref);
    }
}

/* ---- captured and launched -------------------------------------------------- */

static guint n_replays;
static LoomStatus (*real_graph_launch) (LoomDevice *device, void *graph, LoomStream *stream, LoomMessage *message);

static LoomStatus
counting_graph_launch (LoomDevice *on, void *graph, LoomStream *stream, LoomMessage *message)
{
  n_replays++;
  return real_graph_launch (on, graph, stream, message);
}

/* Outputs of n steps, and the state after them. */
static GPtrArray *
run_steps (const LoomGraph *graph, const char *name, guint n_steps, GError **error)
{
  g_autoptr (Side) side = side_new (graph, device, LOOM_F32, TRUE, error);
  g_autoptr (GPtrArray) results = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  g_auto (Source) source = { 0 };

  if (side == NULL)
    return NULL;
  source_open (&source, graph, name);
  for (guint step = 0; step < n_steps; step++)
    {
      g_autoptr (GPtrArray) batch = draw_batch (&source, side->program);

      if (!side_step (side, batch, TRUE, error))
        return NULL;
      for (guint i = 0; i < side->outputs->len; i++)
        g_ptr_array_add (results, loom_tensor_ref (side->outputs->pdata[i]));
    }
  for (guint i = 0; i < loom_state_n_slots (side->state); i++)
    {
      const char *slot;

      loom_state_slot (side->state, i, &slot, NULL, NULL);
      g_ptr_array_add (results, loom_state_get (side->state, slot, error));
    }
  return g_steal_pointer (&results);
}

/* A recorded step that is replayed has the bits of launched kernels, with batches at other addresses each time. */
static void
test_captured (gconstpointer data)
{
  const char *path = data;
  g_autofree char *name = g_path_get_basename (path);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = read_example (path);
  LoomPlanDevice *d = loom_devices_get (devices, device, NULL);
  const LoomBackend *backend = d->backend;
  LoomBackend counting = *backend;
  g_autoptr (GPtrArray) captured = NULL;
  g_autoptr (GPtrArray) launched = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  const guint n_steps = is_quick (graph) ? 4 : 2;

  if (example_is_large (net) || example_chooses (net))
    {
      g_test_message ("%s %s", name,
                      example_is_large (net) ? "is large: no step is taken"
                                             : "has modules that the data choose: its step is not recorded");
      return;
    }
  if (backend->graph_launch == NULL)
    {
      g_test_skip ("this device records no steps as graphs; a CUDA device does");
      return;
    }
  real_graph_launch = backend->graph_launch;
  counting.graph_launch = counting_graph_launch;
  d->backend = &counting;
  n_replays = 0;
  captured = run_steps (graph, name, n_steps, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (n_replays, >=, n_steps - 1);
  g_setenv ("GRADLOOM_CUDA_GRAPHS", "0", TRUE);
  n_replays = 0;
  launched = run_steps (graph, name, n_steps, &error);
  g_unsetenv ("GRADLOOM_CUDA_GRAPHS");
  d->backend = backend;
  g_assert_no_error (error);
  g_assert_cmpuint (n_replays, ==, 0);
  g_assert_cmpuint (captured->len, ==, launched->len);
  for (guint i = 0; i < captured->len; i++)
    if (!loom_tensor_equal_bits (captured->pdata[i], launched->pdata[i]))
      {
        g_test_message ("%s: result %u of %u differs between a recorded step and a launched one", name, i,
                        captured->len);
        g_test_fail ();
      }
}

static void
add_test (const char *group, const char *name, const char *path, GTestDataFunc func)
{
  g_autofree char *test = g_strdup_printf ("/run/%s/%s", group, name);

  g_test_add_data_func_full (test, g_strdup (path), example_lacks_data (path) ? example_skip : func, g_free);
}

static void
add_folder (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);

      if (g_file_test (path, G_FILE_TEST_IS_DIR))
        add_folder (path);
      else if (g_str_has_suffix (name, ".xml"))
        {
          add_test ("steps", name, path, test_example);
          add_test ("captured", name, path, test_captured);
        }
    }
}

TEST_FILE (argc, argv)
{
  const char *root = g_getenv ("GRADLOOM_SOURCE_ROOT");
  g_autofree char *folder = g_build_filename (root != NULL ? root : ".", "graphs", NULL);
  int status = 77;

  g_test_init (&argc, &argv, NULL);
  device = test_device ("cuda:0");
  devices = loom_devices_new (0);
  add_folder (folder);
  if (test_device_is_there (devices, device))
    status = g_test_run ();
  source_forget_datasets ();
  loom_devices_unref (devices);
  return status;
}
