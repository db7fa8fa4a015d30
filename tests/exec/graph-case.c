/* One random graph as the tests run it; see the header. */
#include "tests/exec/graph-case.h"

#include <math.h>
#include <string.h>

#include "engine/program/loom-optimizer.h"
#include "engine/infer/loom-sizes.h"
#include "engine/train/loom-step.h"
#include "tests/plan/check-passes.h"
#include "tests/plan/poison.h"

gboolean
case_end (Case *c, const char *name, guint seed, gboolean as_it_is)
{
  gboolean right = c->wrong->len == 0;

  if (!right)
    {
      g_autofree char *text
          = as_it_is && c->graph != NULL ? loom_graph_write (c->graph, NULL) : random_graph_text (c->source);
      g_autofree char *file = g_strdup_printf ("gradloom-%s-%u.xml", name, seed);
      g_autofree char *path = g_build_filename (g_get_tmp_dir (), file, NULL);

      g_file_set_contents (path, text, -1, NULL);
      g_test_message ("seed %u (%s):\n%s", seed, path, c->wrong->str);
    }
  g_clear_pointer (&c->graph, loom_graph_unref);
  g_string_free (c->wrong, TRUE);
  return right;
}

void
case_complain (Case *c, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_string_append_vprintf (c->wrong, format, args);
  va_end (args);
  g_string_append_c (c->wrong, '\n');
}

/* ---- programs --------------------------------------------------------- */

/* Unread values, and every fifth intermediate value. */
static GArray *
wanted_of (const LoomNet *net, guint32 seed)
{
  GArray *wanted = g_array_new (FALSE, FALSE, sizeof (LoomNetSource));
  g_autoptr (GHashTable) read = g_hash_table_new (NULL, NULL);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed ^ 77);

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    for (guint k = 0; k < loom_net_node (net, i)->n_inputs; k++)
      {
        const LoomNetSource *s = &loom_net_node (net, i)->input[k];

        if (s->node != G_MAXUINT)
          g_hash_table_add (read, GUINT_TO_POINTER (s->node * 64 + s->output));
      }
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    for (guint o = 0; o < loom_net_node (net, i)->n_outputs; o++)
      {
        LoomNetSource s = { i, o };

        if (strcmp (loom_net_node (net, i)->op->name, "input") != 0 && loom_net_node (net, i)->loop == G_MAXUINT
            && (!g_hash_table_contains (read, GUINT_TO_POINTER (i * 64 + o)) || g_rand_double (rand) < 0.2))
          g_array_append_val (wanted, s);
      }
  return wanted;
}

LoomNet *
case_net (Case *c)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomNet *net = loom_net_new (c->graph, &c->binding, faults);

  for (guint i = 0; i < loom_faults_length (faults); i++)
    if (!loom_faults_get (faults, i)->is_warning)
      case_complain (c, "%s", loom_faults_get (faults, i)->message);
  return net;
}

/* The mean of the requested values, each element with a weight from outside, all summed. */
static LoomValue
loss_of (LoomProgram *p, guint n, const LoomValue *value)
{
  LoomValue loss = 0;

  loom_program_set_origin (p, "loss", NULL);
  for (guint i = 0; i < n; i++)
    {
      const LoomTensorDesc d = loom_value_info (p, value[i])->desc;
      g_autofree char *name = g_strdup_printf ("weight.%u", i);
      LoomValue w, term;

      if (!loom_dtype_is_float (d.dtype) || loom_desc_count (&d) == 0)
        continue;
      w = loom_program_input (p, name, d.dtype, d.rank, d.dim);
      term = loom_mean_all (p, loom_binary (p, LOOM_SCALAR_MUL, value[i], w));
      loss = loss == 0 ? term : loom_binary (p, LOOM_SCALAR_ADD, loss, term);
    }
  return loss;
}

/* Forward, backward with respect to weights and float inputs, and a step of sgd with momentum if there are weights.
 * Outputs are the requested ports, the loss, and every gradient. NULL with a message if it cannot be built. */
LoomProgram *
case_program (Case *c, LoomDType dtype, gboolean recompute)
{
  g_autoptr (LoomNet) net = case_net (c);
  g_autoptr (GArray) wanted = wanted_of (net, c->seed);
  g_autofree LoomValue *value = g_new0 (LoomValue, wanted->len + 1), *grads = NULL;
  g_autoptr (GArray) wrt = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  g_autoptr (GArray) slots = g_array_new (FALSE, FALSE, sizeof (int));
  g_autoptr (GArray) slot_grads = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  LoomLowerOptions options = { .training = c->training,
                               .effects = c->training,
                               .float_dtype = dtype,
                               .n_wanted = wanted->len,
                               .wanted = (const LoomNetSource *)wanted->data,
                               .seed = c->seed };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomProgram) p = loom_lower (net, &options, value, &error);
  LoomValue loss;

  if (p == NULL)
    {
      case_complain (c, "lowering: %s", error->message);
      return NULL;
    }
  for (guint i = 0; i < wanted->len; i++)
    {
      const LoomNetSource *s = &g_array_index (wanted, LoomNetSource, i);
      g_autofree char *port = loom_net_port_name (net, s->node, s->output);

      loom_program_output (p, port, value[i]);
    }
  loss = loss_of (p, wanted->len, value);
  if (loss == 0)
    return g_steal_pointer (&p);
  loom_program_output (p, "the loss", loss);
  for (LoomValue v = 1; v <= loom_program_n_values (p); v++)
    {
      const LoomValueInfo *info = loom_value_info (p, v);

      if (loom_dtype_is_float (info->desc.dtype)
          && (info->input >= 0 || (info->slot >= 0 && loom_program_get_slot (p, (guint)info->slot)->trainable)))
        g_array_append_val (wrt, v);
    }
  grads = g_new0 (LoomValue, wrt->len + 1);
  if (!loom_differentiate (p, loss, 0, wrt->len, (const LoomValue *)wrt->data, grads, &error))
    {
      case_complain (c, "differentiating: %s", error->message);
      return NULL;
    }
  for (guint i = 0; i < wrt->len; i++)
    {
      const LoomValueInfo *info = loom_value_info (p, g_array_index (wrt, LoomValue, i));
      const char *of = info->slot >= 0 ? loom_program_get_slot (p, (guint)info->slot)->name
                                       : loom_program_get_input (p, (guint)info->input)->name;
      g_autofree char *name = g_strdup_printf ("gradient of %s", of);

      if (grads[i] == 0)
        continue;
      loom_program_output (p, name, grads[i]);
      if (info->slot < 0 || loom_program_get_slot (p, (guint)info->slot)->commit != 0)
        continue;
      g_array_append_val (slots, info->slot);
      g_array_append_val (slot_grads, grads[i]);
    }
  if (c->update && slots->len > 0)
    {
      const LoomOptimizer *sgd = loom_optimizer ("sgd");
      double hyper[16];
      LoomUpdateOptions update = { .optimizer = "sgd", .hyper = hyper, .loss = loss };

      for (guint i = 0; sgd->hyper[i].name != NULL; i++)
        hyper[i] = sgd->hyper[i].value;
      hyper[loom_optimizer_find (sgd, "lr")] = 0.01;
      hyper[loom_optimizer_find (sgd, "momentum")] = 0.9;
      loom_program_set_region (p, LOOM_REGION_UPDATE);
      if (!loom_emit_update (p, &update, slots->len, (const int *)slots->data, (const LoomValue *)slot_grads->data,
                             &error))
        case_complain (c, "updating: %s", error->message);
    }
  if (recompute)
    return loom_program_recompute (p, loom_net_recomputed (net));
  return g_steal_pointer (&p);
}

/* ---- feeding ---------------------------------------------------------- */

static LoomTensor *
tensor_for (Case *c, const LoomProgram *p, guint input)
{
  const LoomProgramInput *in = loom_program_get_input (p, input);
  const LoomTensorDesc *d = &loom_value_info (p, in->value)->desc;
  LoomTensor *t = loom_tensor_new (d->dtype, d->rank, d->dim, NULL);

  random_graph_fill (c->source, in->name, t);
  return t;
}

GPtrArray *
case_tensors (Case *c, const LoomProgram *p)
{
  GPtrArray *all = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);

  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    g_ptr_array_add (all, tensor_for (c, p, i));
  return all;
}

typedef struct
{
  Case *c;
  GPtrArray *tensors; /* of the program that counts, alive until it has run */
} SizesData;

static gboolean
feed_sizes (LoomProgram *program, LoomExec *exec, gpointer data, GError **error)
{
  SizesData *self = data;

  g_clear_pointer (&self->tensors, g_ptr_array_unref);
  self->tensors = case_tensors (self->c, program);
  for (guint i = 0; i < self->tensors->len; i++)
    loom_exec_feed (exec, i, ((LoomTensor *)g_ptr_array_index (self->tensors, i))->data);
  return TRUE;
}

/* Counts data-dependent sizes, and binds them. */
gboolean
case_bind_sizes (Case *c)
{
  g_autoptr (LoomNet) net = case_net (c);
  g_autoptr (GArray) wanted = wanted_of (net, c->seed);
  g_autoptr (LoomState) state = loom_state_new (c->devices, "ref", c->seed);
  LoomLowerOptions options = { .training = c->training,
                               .float_dtype = LOOM_F64,
                               .n_wanted = wanted->len,
                               .wanted = (const LoomNetSource *)wanted->data,
                               .seed = c->seed };
  LoomPlanOptions plan = { .device = "ref" };
  g_autoptr (LoomSizes) sizes = NULL;
  SizesData data = { c, NULL };
  g_autoptr (GError) error = NULL;

  if (loom_net_dynamic_size (net, &options) < 0)
    return TRUE;
  sizes = loom_sizes_new (c->graph, &options, &plan, c->devices, state);
  if (!loom_sizes_resolve (sizes, &c->binding, feed_sizes, &data, &error))
    case_complain (c, "counting: %s", error->message);
  g_clear_pointer (&data.tensors, g_ptr_array_unref);
  return error == NULL;
}

/* ---- running ---------------------------------------------------------- */

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

/* The names of a program's slots in their order. Devices change the order in which a program declares them. */
static GPtrArray *
slot_names (const LoomProgram *p)
{
  GPtrArray *names = g_ptr_array_new ();

  for (guint i = 0; i < loom_program_n_slots (p); i++)
    g_ptr_array_add (names, loom_program_get_slot (p, i)->name);
  g_ptr_array_sort (names, compare_names);
  return names;
}

GPtrArray *
case_collect_state (LoomState *state, const LoomProgram *p, GPtrArray *results)
{
  g_autoptr (GPtrArray) names = slot_names (p);

  for (guint i = 0; i < names->len; i++)
    {
      g_autoptr (GError) error = NULL;

      g_ptr_array_add (results, loom_state_get (state, g_ptr_array_index (names, i), &error));
      g_assert_no_error (error);
    }
  return results;
}

GPtrArray *
case_run_eager (Case *c, LoomProgram *p, const char *device)
{
  g_autoptr (LoomState) state = loom_state_new (c->devices, device, c->seed);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomEager) eager = loom_eager_new (p, state, c->devices, device, &error);
  g_autoptr (GPtrArray) tensors = case_tensors (c, p);
  GPtrArray *results = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);

  for (guint i = 0; eager != NULL && i < tensors->len; i++)
    loom_eager_feed (eager, i, ((LoomTensor *)g_ptr_array_index (tensors, i))->data);
  for (int step = 0; step < 2 && error == NULL; step++)
    loom_eager_run (eager, TRUE, NULL, NULL, &error);
  if (error != NULL)
    {
      case_complain (c, "eager on %s: %s", device, error->message);
      g_ptr_array_unref (results);
      return NULL;
    }
  for (guint o = 0; o < loom_program_n_outputs (p); o++)
    g_ptr_array_add (results, loom_eager_output (eager, o, NULL));
  return case_collect_state (state, p, results);
}

GPtrArray *
case_run_plan (Case *c, LoomProgram *p, const LoomPlanOptions *options)
{
  g_autoptr (LoomState) state = loom_state_new (c->devices, options->device, c->seed);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomExec) exec = NULL;
  g_autoptr (GPtrArray) tensors = case_tensors (c, p);
  GPtrArray *results = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  LoomPlan *plan = loom_plan_new (p, c->devices, options, &error);

  exec = plan != NULL ? loom_exec_new (plan, state, &error) : NULL;
  if (plan != NULL)
    {
      g_autofree char *wrong = check_passes (p, c->devices, options);

      if (wrong != NULL)
        case_complain (c, "plan on %s: %s", options->device, wrong);
    }
  for (guint i = 0; exec != NULL && i < tensors->len; i++)
    loom_exec_feed (exec, i, ((LoomTensor *)g_ptr_array_index (tensors, i))->data);
  for (int step = 0; step < 2 && error == NULL; step++)
    loom_exec_step (exec, &error);
  for (guint o = 0; error == NULL && o < loom_program_n_outputs (p); o++)
    g_ptr_array_add (results, loom_exec_output (exec, o, &error));
  if (error != NULL)
    {
      case_complain (c, "plan on %s: %s", options->device, error->message);
      g_ptr_array_unref (results);
      return NULL;
    }
  return case_collect_state (state, p, results);
}

GPtrArray *
case_run_poisoned (Case *c, LoomProgram *p, const LoomPlanOptions *options)
{
  g_autoptr (LoomState) state = loom_state_new (c->devices, options->device, c->seed);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomPlan) plan = loom_plan_new (p, c->devices, options, &error);
  g_autoptr (GPtrArray) tensors = case_tensors (c, p);
  g_autofree const void **data = g_new0 (const void *, tensors->len + 1);
  GPtrArray *results;

  for (guint i = 0; i < tensors->len; i++)
    data[i] = ((LoomTensor *)g_ptr_array_index (tensors, i))->data;
  results = poison_run (plan, state, data, 2, &error);
  if (results == NULL)
    {
      case_complain (c, "over poisoned memory: %s", error->message);
      return NULL;
    }
  return case_collect_state (state, p, results);
}

/* ---- comparing -------------------------------------------------------- */

/* The name of result i: outputs come first, then the slots. */
static const char *
name_of (const LoomProgram *p, guint i)
{
  guint n = loom_program_n_outputs (p);
  g_autoptr (GPtrArray) names = slot_names (p);

  if (i < n)
    return loom_program_get_output (p, i)->name;
  return i - n < names->len ? g_ptr_array_index (names, i - n) : "?";
}

static double
distance (double a, double b)
{
  return a == b || (isnan (a) && isnan (b)) ? 0 : fabs (a - b);
}

/* The largest finite absolute value, and the largest distance from another tensor at finite elements. */
void
case_measure (const LoomTensor *x, const LoomTensor *y, double *scale, double *far)
{
  *scale = *far = 0;
  for (gint64 k = 0; k < x->count; k++)
    {
      double u = loom_tensor_get (x, k), v = loom_tensor_get (y, k);

      if (isfinite (u))
        *scale = MAX (*scale, fabs (u));
      if (isfinite (u) && isfinite (v))
        *far = MAX (*far, fabs (u - v));
    }
}

/* Compares got with truth: the distance may be `factor` times that of `like` (the same in f32, node by node), plus
 * `least` of the size. If `like` is not finite, any value is right. */
void
case_compare (Case *c, const LoomProgram *p, const char *what, GPtrArray *truth, GPtrArray *like, GPtrArray *got,
              double factor, double least)
{
  for (guint i = 0; i < truth->len; i++)
    {
      LoomTensor *t = g_ptr_array_index (truth, i), *l = g_ptr_array_index (like, i), *g = g_ptr_array_index (got, i);
      double scale, noise, tolerance;

      if (t->count != g->count)
        {
          case_complain (c, "%s: %s has %d elements instead of %d", what, name_of (p, i), (int)g->count, (int)t->count);
          continue;
        }
      case_measure (t, l, &scale, &noise);
      tolerance = loom_dtype_is_float (t->dtype) ? factor * noise + least * (1 + scale) : 0;
      for (gint64 k = 0; k < t->count; k++)
        {
          double u = loom_tensor_get (t, k), v = loom_tensor_get (g, k);

          if (!isfinite (loom_tensor_get (l, k)) || distance (u, v) <= tolerance)
            continue;
          case_complain (c, "%s: %s[%d] is %.12g instead of %.12g (size %.3g, noise %.3g)", what, name_of (p, i),
                         (int)k, v, u, scale, noise);
          break;
        }
    }
}

void
case_compare_bits (Case *c, const LoomProgram *p, const char *what, GPtrArray *a, GPtrArray *b)
{
  for (guint i = 0; a != NULL && b != NULL && i < a->len; i++)
    if (!loom_tensor_equal_bits (g_ptr_array_index (a, i), g_ptr_array_index (b, i)))
      case_complain (c, "%s: %s differs", what, name_of (p, i));
}

/* ---- reading ---------------------------------------------------------- */

void
case_read (Case *c, const char *text)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  gsize n, m;
  g_autofree char *once = NULL, *twice = NULL;
  g_autoptr (LoomGraph) again = NULL;

  c->graph = loom_graph_read_data (text, strlen (text), "random", faults, &error);
  g_assert_no_error (error);
  once = loom_graph_write (c->graph, &n);
  again = loom_graph_read_data (once, n, "random", faults, &error);
  g_assert_no_error (error);
  twice = loom_graph_write (again, &m);
  if (n != m || memcmp (once, twice, n) != 0)
    case_complain (c, "writing what was read gives other bytes");
  if (loom_faults_length (faults) > 0)
    case_complain (c, "reading: %s", loom_faults_get (faults, 0)->message);
  /* The test continues with the graph that was written and read. */
  loom_graph_unref (c->graph);
  c->graph = g_steal_pointer (&again);
}
