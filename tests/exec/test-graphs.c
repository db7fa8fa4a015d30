/* Random graphs of all operators: they check without a fault, survive being written and read, and their plans on ref
 * and cpu have the numbers of a walk node by node, forward, backward and after an update.
 *
 * The truth is the eager walk in f64. How far f32 may be from it is measured, not guessed: by the eager walk in f32 on
 * ref, which rounds like any other but computes the same; a plan on cpu may be some times as far, and a little for each
 * node on the longest way. Seeds are fixed, so a failure repeats; GRADLOOM_GRAPH_SEEDS="5000" asks for more of them and
 * "812-812" for one. A graph that fails is written to the temporary folder. */
#include <math.h>
#include <string.h>

#include "engine/program/loom-optimizer.h"
#include "engine/train/loom-sizes.h"
#include "engine/train/loom-step.h"
#include "tests/exec/random-graph.h"
#include "tests/plan/poison.h"

#define DEFAULT_SEEDS 300 /* more than there are operators: each begins a graph */

typedef struct
{
  guint32 seed;
  RandomGraph *source;
  LoomGraph *graph;
  LoomBinding binding;
  gboolean training, update;
  LoomDevices *devices;
  GString *wrong; /* what was found, a line each */
} Case;

static void G_GNUC_PRINTF (2, 3) complain (Case *c, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_string_append_vprintf (c->wrong, format, args);
  va_end (args);
  g_string_append_c (c->wrong, '\n');
}

/* ---- programs --------------------------------------------------------- */

/* What nothing reads, and every fifth value on the way. */
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

        if (strcmp (loom_net_node (net, i)->op->name, "input") != 0
            && (!g_hash_table_contains (read, GUINT_TO_POINTER (i * 64 + o)) || g_rand_double (rand) < 0.2))
          g_array_append_val (wanted, s);
      }
  return wanted;
}

static LoomNet *
net_of (Case *c)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomNet *net = loom_net_new (c->graph, &c->binding, faults);

  for (guint i = 0; i < loom_faults_length (faults); i++)
    if (!loom_faults_get (faults, i)->is_warning)
      complain (c, "%s", loom_faults_get (faults, i)->message);
  return net;
}

/* The mean of what is wanted, each element with a weight from outside, all added up. */
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

/* Forward, backward with respect to weights and float inputs, and a step of sgd with momentum where there is one.
 * Outputs are what is wanted, the loss, and every gradient. NULL, and a complaint, where it cannot be built. */
static LoomProgram *
program_of (Case *c, LoomDType dtype, gboolean recompute)
{
  g_autoptr (LoomNet) net = net_of (c);
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
      complain (c, "lowering: %s", error->message);
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
      complain (c, "differentiating: %s", error->message);
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
        complain (c, "updating: %s", error->message);
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

static GPtrArray *
tensors_for (Case *c, const LoomProgram *p)
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
  self->tensors = tensors_for (self->c, program);
  for (guint i = 0; i < self->tensors->len; i++)
    loom_exec_feed (exec, i, ((LoomTensor *)g_ptr_array_index (self->tensors, i))->data);
  return TRUE;
}

/* Counts what only the data sizes, and binds it. */
static gboolean
bind_sizes (Case *c)
{
  g_autoptr (LoomNet) net = net_of (c);
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

  if (loom_net_open_size (net, &options) < 0)
    return TRUE;
  sizes = loom_sizes_new (c->graph, &options, &plan, c->devices, state);
  if (!loom_sizes_resolve (sizes, &c->binding, feed_sizes, &data, &error))
    complain (c, "counting: %s", error->message);
  g_clear_pointer (&data.tensors, g_ptr_array_unref);
  return error == NULL;
}

/* ---- running ---------------------------------------------------------- */

/* Outputs after two steps, then every slot of the state. NULL, and a complaint, where it does not run. */
static GPtrArray *
collect_state (LoomState *state, GPtrArray *results)
{
  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      const char *name;

      loom_state_slot (state, i, &name, NULL, NULL);
      g_ptr_array_add (results, loom_state_get (state, name, NULL));
    }
  return results;
}

static GPtrArray *
run_eager (Case *c, LoomProgram *p, const char *device)
{
  g_autoptr (LoomState) state = loom_state_new (c->devices, device, c->seed);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomEager) eager = loom_eager_new (p, state, c->devices, device, &error);
  g_autoptr (GPtrArray) tensors = tensors_for (c, p);
  GPtrArray *results = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);

  for (guint i = 0; eager != NULL && i < tensors->len; i++)
    loom_eager_feed (eager, i, ((LoomTensor *)g_ptr_array_index (tensors, i))->data);
  for (int step = 0; step < 2 && error == NULL; step++)
    loom_eager_run (eager, TRUE, NULL, NULL, &error);
  if (error != NULL)
    {
      complain (c, "eager on %s: %s", device, error->message);
      g_ptr_array_unref (results);
      return NULL;
    }
  for (guint o = 0; o < loom_program_n_outputs (p); o++)
    g_ptr_array_add (results, loom_eager_output (eager, o, NULL));
  return collect_state (state, results);
}

static GPtrArray *
run_plan (Case *c, LoomProgram *p, const LoomPlanOptions *options)
{
  g_autoptr (LoomState) state = loom_state_new (c->devices, options->device, c->seed);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomExec) exec = NULL;
  g_autoptr (GPtrArray) tensors = tensors_for (c, p);
  GPtrArray *results = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  LoomPlan *plan = loom_plan_new (p, c->devices, options, &error);

  exec = plan != NULL ? loom_exec_new (plan, state, &error) : NULL;
  for (guint i = 0; exec != NULL && i < tensors->len; i++)
    loom_exec_feed (exec, i, ((LoomTensor *)g_ptr_array_index (tensors, i))->data);
  for (int step = 0; step < 2 && error == NULL; step++)
    loom_exec_step (exec, &error);
  for (guint o = 0; error == NULL && o < loom_program_n_outputs (p); o++)
    g_ptr_array_add (results, loom_exec_output (exec, o, &error));
  if (error != NULL)
    {
      complain (c, "plan on %s: %s", options->device, error->message);
      g_ptr_array_unref (results);
      return NULL;
    }
  return collect_state (state, results);
}

static GPtrArray *
run_poisoned (Case *c, LoomProgram *p, const LoomPlanOptions *options)
{
  g_autoptr (LoomState) state = loom_state_new (c->devices, options->device, c->seed);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomPlan) plan = loom_plan_new (p, c->devices, options, &error);
  g_autoptr (GPtrArray) tensors = tensors_for (c, p);
  g_autofree const void **data = g_new0 (const void *, tensors->len + 1);
  GPtrArray *results;

  for (guint i = 0; i < tensors->len; i++)
    data[i] = ((LoomTensor *)g_ptr_array_index (tensors, i))->data;
  results = poison_run (plan, state, data, 2, &error);
  if (results == NULL)
    {
      complain (c, "over poisoned memory: %s", error->message);
      return NULL;
    }
  return collect_state (state, results);
}

/* ---- comparing -------------------------------------------------------- */

/* What result i is: outputs come first, then the slots in the order in which the program declares them. */
static const char *
name_of (const LoomProgram *p, guint i)
{
  guint n = loom_program_n_outputs (p);

  if (i < n)
    return loom_program_get_output (p, i)->name;
  return i - n < loom_program_n_slots (p) ? loom_program_get_slot (p, i - n)->name : "?";
}

static double
distance (double a, double b)
{
  return a == b || (isnan (a) && isnan (b)) ? 0 : fabs (a - b);
}

/* Largest absolute value of what is finite, and largest distance from another tensor there. */
static void
measure (const LoomTensor *x, const LoomTensor *y, double *scale, double *far)
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

/* got against truth, within `factor` times what `like` (the same in f32, node by node) is away, and `least` of the
 * size. Where `like` has no number any other value is right. */
static void
compare (Case *c, const LoomProgram *p, const char *what, GPtrArray *truth, GPtrArray *like, GPtrArray *got,
         double factor, double least)
{
  for (guint i = 0; i < truth->len; i++)
    {
      LoomTensor *t = g_ptr_array_index (truth, i), *l = g_ptr_array_index (like, i), *g = g_ptr_array_index (got, i);
      double scale, noise, tolerance;

      if (t->count != g->count)
        {
          complain (c, "%s: %s has %d elements instead of %d", what, name_of (p, i), (int)g->count, (int)t->count);
          continue;
        }
      measure (t, l, &scale, &noise);
      tolerance = loom_dtype_is_float (t->dtype) ? factor * noise + least * (1 + scale) : 0;
      for (gint64 k = 0; k < t->count; k++)
        {
          double u = loom_tensor_get (t, k), v = loom_tensor_get (g, k);

          if (!isfinite (loom_tensor_get (l, k)) || distance (u, v) <= tolerance)
            continue;
          complain (c, "%s: %s[%d] is %.12g instead of %.12g (size %.3g, noise %.3g)", what, name_of (p, i), (int)k, v,
                    u, scale, noise);
          break;
        }
    }
}

static void
compare_bits (Case *c, const LoomProgram *p, const char *what, GPtrArray *a, GPtrArray *b)
{
  for (guint i = 0; a != NULL && b != NULL && i < a->len; i++)
    if (!loom_tensor_equal_bits (g_ptr_array_index (a, i), g_ptr_array_index (b, i)))
      complain (c, "%s: %s differs", what, name_of (p, i));
}

/* ---- plans ------------------------------------------------------------ */

static void
check_memory (Case *c, LoomProgram *p, const char *device)
{
  LoomPlanOptions options = { .device = device };
  g_autoptr (LoomPlan) plan = loom_plan_new (p, c->devices, &options, NULL);
  LoomPlanMemory memory;

  if (plan == NULL)
    return;
  loom_plan_memory (plan, 0, &memory);
  if ((double)memory.arena > 1.1 * (double)memory.lower_bound + 512)
    complain (c, "%s: the arena has %" G_GSIZE_FORMAT " bytes where %" G_GSIZE_FORMAT " are alive at once", device,
              memory.arena, memory.lower_bound);
  for (guint a = 1; a < loom_plan_n_values (plan); a++)
    for (guint b = a + 1; b < loom_plan_n_values (plan); b++)
      {
        const LoomPlanValue *x = loom_plan_value (plan, a), *y = loom_plan_value (plan, b);

        if (x->place.kind != LOOM_PLACE_ARENA || y->place.kind != LOOM_PLACE_ARENA || x->last < y->first
            || y->last < x->first || x->place.offset == y->place.offset)
          continue;
        if (x->place.offset + loom_desc_bytes (&x->desc) > y->place.offset
            && y->place.offset + loom_desc_bytes (&y->desc) > x->place.offset)
          complain (c, "%s: values %u (%s) and %u (%s) share bytes", device, a, x->origin, b, y->origin);
      }
}

static void
check_text (Case *c, const char *text)
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
    complain (c, "writing what was read gives other bytes");
  if (loom_faults_length (faults) > 0)
    complain (c, "reading: %s", loom_faults_get (faults, 0)->message);
  /* The graph that goes on is the one that was written and read. */
  loom_graph_unref (c->graph);
  c->graph = g_steal_pointer (&again);
}

typedef struct
{
  guint n, noisy, nodes, differentiated;
  GHashTable *operators;
} Tally;

static void
run_case (Case *c, Tally *tally)
{
  g_autofree char *text = random_graph_text (c->source);
  g_autoptr (LoomProgram) exact = NULL;
  g_autoptr (LoomProgram) fast = NULL;
  g_autoptr (GPtrArray) truth = NULL;
  g_autoptr (GPtrArray) like = NULL;
  g_autoptr (GPtrArray) ref = NULL;
  g_autoptr (GPtrArray) cpu = NULL;
  double depth = random_graph_depth (c->source);
  LoomPlanOptions on_ref = { .device = "ref" }, on_cpu = { .device = "cpu" };

  if (random_graph_fault (c->source) != NULL)
    {
      complain (c, "%s", random_graph_fault (c->source));
      return;
    }
  check_text (c, text);
  if (!bind_sizes (c) || c->wrong->len > 0)
    return;
  exact = program_of (c, LOOM_F64, FALSE);
  fast = program_of (c, LOOM_F32, FALSE);
  if (exact == NULL || fast == NULL)
    return;
  truth = run_eager (c, exact, "ref");
  like = run_eager (c, fast, "ref");
  ref = run_plan (c, exact, &on_ref);
  cpu = run_plan (c, fast, &on_cpu);
  if (truth == NULL || like == NULL || ref == NULL || cpu == NULL)
    return;
  compare (c, exact, "plan on ref in f64", truth, like, ref, 1e-6, 1e-13 * (8 + depth));
  compare (c, fast, "plan on cpu in f32", truth, like, cpu, 64, 1e-6 * (8 + depth));
  check_memory (c, fast, "cpu");
  check_memory (c, exact, "ref");
  {
    LoomPlanOptions apart = { .device = "cpu", .no_reuse = TRUE };
    g_autoptr (GPtrArray) second = run_plan (c, fast, &on_cpu);
    g_autoptr (GPtrArray) poisoned = run_poisoned (c, fast, &on_cpu);
    g_autoptr (GPtrArray) no_reuse = run_plan (c, fast, &apart);
    g_autoptr (LoomProgram) again = program_of (c, LOOM_F32, TRUE);
    g_autoptr (GPtrArray) recomputed = again != NULL ? run_plan (c, again, &on_cpu) : NULL;

    compare_bits (c, fast, "run twice", cpu, second);
    compare_bits (c, fast, "every value with bytes of its own", cpu, no_reuse);
    compare_bits (c, fast, "poisoned memory", cpu, poisoned);
    compare_bits (c, fast, "recomputed", cpu, recomputed);
  }
  tally->n++;
  tally->nodes += random_graph_n_nodes (c->source);
  tally->differentiated += loom_program_find_output (exact, "the loss") != 0;
  for (guint i = 0; i < truth->len; i++)
    {
      double scale, noise;

      measure (g_ptr_array_index (truth, i), g_ptr_array_index (like, i), &scale, &noise);
      if (noise > 1e-3 * (1 + scale))
        {
          tally->noisy++;
          break;
        }
    }
}

static gboolean
run_seed (guint32 seed, LoomDevices *devices, Tally *tally)
{
  g_autoptr (RandomGraph) source = random_graph_new (seed, 12 + (seed * 7) % 37);
  Case c = { .seed = seed,
             .source = source,
             .training = seed % 4 != 0,
             .update = seed % 3 == 0 && seed % 4 != 0,
             .devices = devices,
             .wrong = g_string_new (NULL) };
  gboolean right;

  random_graph_add_operators (source, tally->operators);
  run_case (&c, tally);
  right = c.wrong->len == 0;
  if (!right)
    {
      g_autofree char *text = random_graph_text (source);
      g_autofree char *file = g_strdup_printf ("gradloom-graph-%u.xml", seed);
      g_autofree char *path = g_build_filename (g_get_tmp_dir (), file, NULL);

      g_file_set_contents (path, text, -1, NULL);
      g_test_message ("seed %u (%s):\n%s", seed, path, c.wrong->str);
    }
  g_clear_pointer (&c.graph, loom_graph_unref);
  g_string_free (c.wrong, TRUE);
  return right;
}

static void
test_graphs (void)
{
  const char *asked = g_getenv ("GRADLOOM_GRAPH_SEEDS");
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  Tally tally = { .operators = g_hash_table_new (g_str_hash, g_str_equal) };
  guint first = 0, last = DEFAULT_SEEDS - 1, wrong = 0;

  if (asked != NULL && strchr (asked, '-') != NULL)
    {
      first = (guint)g_ascii_strtoull (asked, NULL, 10);
      last = (guint)g_ascii_strtoull (strchr (asked, '-') + 1, NULL, 10);
    }
  else if (asked != NULL)
    last = (guint)g_ascii_strtoull (asked, NULL, 10) - 1;
  for (guint seed = first; seed <= last && wrong < 100; seed++)
    wrong += !run_seed (seed, devices, &tally);
  g_test_message ("%u graphs of %.1f nodes, %u with a backward pass, %u where f32 alone is off by a thousandth, %u "
                  "operators, %u wrong",
                  tally.n, tally.n > 0 ? (double)tally.nodes / tally.n : 0, tally.differentiated, tally.noisy,
                  g_hash_table_size (tally.operators), wrong);
  g_assert_cmpuint (wrong, ==, 0);
  /* Graphs in which rounding alone decides prove nothing, so they must be few. */
  g_assert_cmpuint (tally.noisy * 20, <=, tally.n + 20);
  for (const LoomOp *const *op = loom_ops (); *op != NULL && first == 0 && last + 1 >= DEFAULT_SEEDS; op++)
    if ((*op)->category != LOOM_CATEGORY_HIDDEN && strcmp ((*op)->name, "dataset") != 0
        && !g_hash_table_contains (tally.operators, (*op)->name))
      {
        g_test_message ("no graph has %s", (*op)->name);
        g_test_fail ();
      }
  g_hash_table_unref (tally.operators);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/run/random-graphs", test_graphs);
  return g_test_run ();
}
