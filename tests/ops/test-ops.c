/* Generic tests over the whole operator table: descriptors, shapes, gradients, modes. */
#include "engine/net/loom-net.h"
#include "tests/ops/op-sample.h"
#include "tests/program/eval.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

/* A sample as a net. */
typedef struct
{
  LoomGraph *graph;
  LoomNet *net;
  LoomFaults *faults;
  int node;
} Sample;

static void
sample_clear (Sample *s)
{
  g_clear_pointer (&s->net, loom_net_free);
  g_clear_pointer (&s->faults, loom_faults_free);
  g_clear_pointer (&s->graph, loom_graph_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Sample, sample_clear)

static void
sample_open (Sample *s, const LoomOp *op, const LoomSample *sample, const LoomBinding *binding)
{
  g_autofree char *xml = op_sample_graph (op, sample);
  g_autoptr (GError) error = NULL;

  memset (s, 0, sizeof *s);
  s->faults = loom_faults_new ();
  s->graph = loom_graph_read_data (xml, strlen (xml), "sample", s->faults, &error);
  g_assert_no_error (error);
  s->net = loom_net_new (s->graph, binding, s->faults);
  s->node = loom_net_find (s->net, "n");
  for (guint i = 0; i < loom_faults_length (s->faults); i++)
    {
      g_autofree char *text = loom_fault_to_string (loom_faults_get (s->faults, i));

      /* A warning is allowed: shapes that broadcast are worth a sample and a sentence. */
      g_test_message ("%s%s", xml, text);
      if (!loom_faults_get (s->faults, i)->is_warning)
        g_test_fail ();
    }
}

/* ---- descriptors ------------------------------------------------------ */

static gboolean
is_text (const char *s)
{
  return s != NULL && *s != '\0' && g_utf8_validate (s, -1, NULL);
}

static void
check_ports (const LoomPortSpec *ports)
{
  gboolean documents_weights = FALSE;

  /* Of many weights that are alike, the first has a text. */
  for (guint i = 0; ports != NULL && ports[i].name != NULL; i++)
    {
      g_assert_true (is_text (ports[i].doc)
                     || (ports[i].doc == NULL && (ports[i].flags & LOOM_PORT_WEIGHT) && documents_weights));
      documents_weights |= (ports[i].flags & LOOM_PORT_WEIGHT) != 0;
    }
}

static void
check_params (const LoomParamSpec *params)
{
  static const char *const reserved[]
      = { "id", "op", "module", "repeat", "share", "device", "recompute", "frozen", "mute", "title", NULL };

  for (const LoomParamSpec *spec = params; spec != NULL && spec->name != NULL; spec++)
    {
      g_assert_true (is_text (spec->doc) && g_str_has_suffix (spec->doc, "."));
      g_assert_true (spec->minimum <= spec->maximum);
      g_assert_true (spec->type != LOOM_PARAM_ENUM || g_strv_contains (spec->choices, spec->def));
      g_assert_false (g_strv_contains (reserved, spec->name));
    }
}

static void
test_descriptors (void)
{
  LoomCategory last = 0;
  const char *root = g_getenv ("GRADLOOM_SOURCE_ROOT");

  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    {
      const LoomOp *o = *op;
      g_autofree char *file = g_strdup_printf ("%s.svg", o->icon);
      g_autofree char *icon = g_build_filename (root != NULL ? root : ".", "data", "icons", file, NULL);

      g_test_message ("%s", o->name);
      g_assert_true (loom_op (o->name) == o);
      g_assert_true (is_text (o->title) && is_text (o->doc) && is_text (o->details) && is_text (o->formula));
      g_assert_true (is_text (o->reference));
      g_assert_true (o->source == NULL || is_text (o->source));
      g_assert_true (g_str_has_suffix (o->doc, ".") && g_str_has_suffix (o->details, "."));
      g_assert_true (g_file_test (icon, G_FILE_TEST_IS_REGULAR));
      /* Palette order: categories are contiguous. */
      g_assert_cmpint (o->category, >=, last);
      last = o->category;
      g_assert_nonnull (o->infer);
      /* A loop has its module's ports. */
      g_assert_true (o->outputs != NULL || o->role == LOOM_ROLE_LOOP);
      g_assert_true (o->lower != NULL || o->category == LOOM_CATEGORY_DATA);
      g_assert_true (o->samples != NULL || o->category == LOOM_CATEGORY_DATA || o->role == LOOM_ROLE_LOOP);
      check_ports (o->inputs);
      check_ports (o->outputs);
      check_params (o->params);
      for (const LoomOpVariant *v = o->variants != NULL ? o->variants () : NULL; v != NULL && v->value != NULL; v++)
        {
          g_assert_true (is_text (v->title) && is_text (v->doc));
          g_assert_true (g_strv_contains (o->params->choices, v->value));
          check_params (v->params);
        }
    }
  g_assert_null (loom_op ("lineal"));
}

/* ---- shapes ----------------------------------------------------------- */

/* One program of a sample with all its outputs wanted. */
static LoomProgram *
lower_sample (const Sample *s, gboolean training, LoomDType dtype, LoomValue *value, guint *n_out)
{
  const LoomNetNode *n = loom_net_node (s->net, s->node);
  LoomNetSource wanted[4];
  LoomLowerOptions options = { .training = training, .float_dtype = dtype, .n_wanted = n->n_outputs, .wanted = wanted };
  g_autoptr (GError) error = NULL;
  LoomProgram *p;

  for (guint i = 0; i < n->n_outputs; i++)
    wanted[i] = (LoomNetSource){ (guint)s->node, i };
  p = loom_lower (s->net, &options, value, &error);
  g_assert_no_error (error);
  *n_out = n->n_outputs;
  return p;
}

/* An operator is found by its name elsewhere; a word of several operators finds none. */
static void
test_other_names (void)
{
  static const char *const cases[][2] = {
    { "dense", "linear" },   { "FC", "linear" },
    { "clip", "clamp" },     { "BCEWithLogitsLoss", "binary_cross_entropy_with_logits" },
    { "swish", "silu" },     { "cat", "concat" },
    { "rectifier", "relu" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const LoomOp *found = loom_op_by_synonym (cases[i][0]);

      g_assert_nonnull (found);
      g_assert_cmpstr (found->name, ==, cases[i][1]);
    }
  g_assert_null (loom_op_by_synonym ("bn"));
  g_assert_null (loom_op_by_synonym ("relus"));
}

static void
check_shapes (const LoomOp *op, const LoomSample *sample, const char *what)
{
  g_auto (Sample) s = { 0 };
  const LoomNetNode *n;

  g_test_message ("%s", what);
  sample_open (&s, op, sample, &op_sample_binding);
  n = loom_net_node (s.net, s.node);
  g_assert_true (n->typed);
  if (op->count_size != NULL)
    {
      g_test_message ("%s is as large as the data says: test-sizes runs it", op->name);
      return;
    }
  for (int mode = 0; mode < 4; mode++)
    {
      LoomValue value[4];
      guint n_out;
      LoomDType dtype = mode & 1 ? LOOM_F64 : LOOM_F32;
      g_autoptr (LoomProgram) p = lower_sample (&s, mode & 2, dtype, value, &n_out);
      g_autoptr (GRand) rand = g_rand_new_with_seed (5);
      g_autoptr (Eval) e = eval_new (p);

      eval_fill_all (e, sample->range, rand);
      eval_run (e);
      for (guint i = 0; i < n_out; i++)
        {
          LoomTensor *t = eval_tensor (e, value[i]);
          LoomShape shape = loom_tensor_shape (t);
          LoomDType want = n->output[i].dtype == LOOM_F32 ? dtype : n->output[i].dtype;

          g_assert_true (loom_shape_equal (&shape, &n->output[i].shape));
          g_assert_cmpstr (loom_dtype_name (t->dtype), ==, loom_dtype_name (want));
        }
    }
}

static void
test_shapes (void)
{
  op_sample_for_each (check_shapes);
}

/* Without a binding inference must get through too, and agree once the symbols are bound. */
static void
check_symbolic (const LoomOp *op, const LoomSample *sample, const char *what)
{
  g_auto (Sample) symbolic = { 0 }, concrete = { 0 };
  const LoomNetNode *a, *b;

  g_test_message ("%s", what);
  sample_open (&symbolic, op, sample, NULL);
  sample_open (&concrete, op, sample, &op_sample_binding);
  a = loom_net_node (symbolic.net, symbolic.node);
  b = loom_net_node (concrete.net, concrete.node);
  g_assert_true (a->typed && b->typed);
  g_assert_cmpuint (a->n_outputs, ==, b->n_outputs);
  for (guint i = 0; i < a->n_outputs; i++)
    {
      LoomShape shape = loom_shape_bind (&a->output[i].shape, &op_sample_binding);

      g_assert_true (loom_shape_compatible (&shape, &b->output[i].shape));
      g_assert_cmpint (a->output[i].dtype, ==, b->output[i].dtype);
    }
  g_assert_cmpfloat (b->cost.flops, >=, 0);
  g_assert_nonnull (b->summary);
}

static void
test_symbolic (void)
{
  op_sample_for_each (check_symbolic);
}

/* ---- gradients -------------------------------------------------------- */

static gboolean
has_magnitudes (const LoomSample *sample)
{
  return sample->params != NULL && strstr (sample->params, "use_dora") != NULL;
}

/* Norms of DoRA depend on the weight and its factors, but have no gradient: tests/reference/adapters.py compares that
 * with PEFT. Gradients of the input, of magnitudes and of the bias are those of differences. */
static gboolean
is_detached (const LoomSample *sample, const LoomProgram *p, int slot)
{
  const char *name = slot >= 0 ? loom_program_get_slot (p, slot)->name : "";

  return has_magnitudes (sample) && slot >= 0 && !g_str_has_suffix (name, LOOM_LORA_MAGNITUDE)
         && !g_str_has_suffix (name, "bias");
}

static void
check_gradient (const LoomOp *op, const LoomSample *sample, gboolean training, const char *what)
{
  g_auto (Sample) s = { 0 };
  LoomValue value[4], wrt[16], grads[16], loss;
  guint n_out, n = 0;
  g_autoptr (LoomProgram) p = NULL;
  g_autoptr (GRand) rand = g_rand_new_with_seed (9);
  g_autoptr (Eval) e = NULL;
  g_autoptr (GError) error = NULL;

  sample_open (&s, op, sample, &op_sample_binding);
  p = lower_sample (&s, training, LOOM_F64, value, &n_out);
  loss = eval_contract (p, n_out, value, rand);
  if (loss == 0)
    return;
  for (LoomValue v = 1; v <= loom_program_n_values (p) && n < G_N_ELEMENTS (wrt); v++)
    {
      const LoomValueInfo *info = loom_value_info (p, v);

      if (loom_dtype_is_float (info->desc.dtype)
          && (info->input >= 0 || (info->slot >= 0 && loom_program_get_slot (p, info->slot)->trainable))
          && !is_detached (sample, p, info->slot))
        wrt[n++] = v;
    }
  g_assert_true (n >= 2 || !has_magnitudes (sample));
  loom_differentiate (p, loss, 0, n, wrt, grads, &error);
  g_assert_no_error (error);
  e = eval_new (p);
  eval_fill_all (e, sample->range, rand);
  eval_check_gradients (e, loss, n, wrt, grads, what);
}

static void
check_gradients (const LoomOp *op, const LoomSample *sample, const char *what)
{
  /* Its purpose: the difference exists and the gradient does not. */
  if (g_str_equal (op->name, "detach"))
    return;
  if (op->count_size != NULL)
    {
      g_test_message ("%s is as large as the data says: test-sizes takes its gradient", op->name);
      return;
    }
  g_test_message ("%s", what);
  check_gradient (op, sample, TRUE, what);
  check_gradient (op, sample, FALSE, what);
}

static void
test_gradients (void)
{
  op_sample_for_each (check_gradients);
}

/* In mixed precision a product is a matrix of 16 bits, of which decompositions are computed in f32, as torch.autocast
 * does; the cotangents of weights are f32 again. */
static void
test_reduced_matrices (void)
{
  static const struct
  {
    const char *op, *inputs[3];
  } cases[] = { { "cholesky", { "input" } },
                { "det", { "input" } },
                { "inverse", { "input" } },
                { "solve", { "a", "b" } },
                { "solve_triangular", { "a", "b" } } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      GString *text = g_string_new ("<graph xmlns='urn:gradloom:graph' version='1' name='g'>"
                                    "<node id='w' op='parameter' shape='3,3'/>"
                                    "<node id='square' op='einsum' equation='ij,kj-&gt;ik'/>"
                                    "<wire from='w' to='square.0'/><wire from='w' to='square.1'/>");
      g_autofree char *xml = NULL;
      g_autoptr (LoomFaults) faults = loom_faults_new ();
      g_autoptr (LoomGraph) graph = NULL;
      g_autoptr (LoomNet) net = NULL;
      g_autoptr (LoomProgram) lowered = NULL;
      g_autoptr (LoomProgram) p = NULL;
      g_autoptr (GError) error = NULL;
      LoomNetSource wanted = { 0 };
      LoomLowerOptions options = { .training = TRUE, .float_dtype = LOOM_F32, .n_wanted = 1, .wanted = &wanted };
      LoomValue value, w, grad;

      g_string_append_printf (text, "<node id='n' op='%s'%s/>", cases[i].op,
                              strcmp (cases[i].op, "solve_triangular") == 0 ? " upper='true'" : "");
      for (guint k = 0; cases[i].inputs[k] != NULL; k++)
        g_string_append_printf (text, "<wire from='square' to='n.%s'/>", cases[i].inputs[k]);
      g_string_append (text, "</graph>");
      xml = g_string_free (text, FALSE);
      graph = loom_graph_read_data (xml, strlen (xml), "g", faults, &error);
      g_assert_no_error (error);
      net = loom_net_new (graph, NULL, faults);
      g_assert_cmpuint (loom_faults_count (faults), ==, 0);
      wanted.node = (guint)loom_net_find (net, "n");
      lowered = loom_lower (net, &options, &value, &error);
      g_assert_no_error (error);
      p = loom_program_autocast (lowered, LOOM_BF16, NULL, 1, &value);
      w = loom_program_get_slot (p, (guint)loom_program_find_slot (p, "w"))->read;
      loom_differentiate (p, loom_sum_all (p, value), 0, 1, &w, &grad, &error);
      g_assert_no_error (error);
      g_assert_cmpint (loom_value_info (p, grad)->desc.dtype, ==, LOOM_F32);
    }
}

/* ---- modes ------------------------------------------------------------ */

static void
run_sample (const char *name, const char *params, const char *input, gboolean training,
            void (*check) (Eval *e, LoomProgram *p, const LoomValue *value))
{
  LoomSample sample = { .params = params, .inputs = { input } };
  g_auto (Sample) s = { 0 };
  LoomValue value[4];
  guint n_out;
  g_autoptr (LoomProgram) p = NULL;
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);
  g_autoptr (Eval) e = NULL;

  sample_open (&s, loom_op (name), &sample, &op_sample_binding);
  p = lower_sample (&s, training, LOOM_F64, value, &n_out);
  e = eval_new (p);
  eval_fill_all (e, NULL, rand);
  eval_run (e);
  check (e, p, value);
}

static void
check_dropped (Eval *e, LoomProgram *p, const LoomValue *value)
{
  LoomTensor *x = eval_tensor (e, loom_program_get_input (p, 0)->value), *y = eval_tensor (e, value[0]);
  LoomTensor *mask = eval_tensor (e, value[1]);
  double kept = 0;

  for (gint64 i = 0; i < y->count; i++)
    {
      double m = loom_tensor_get (mask, i);

      g_assert_true (m == 0 || m == 1);
      g_assert_cmpfloat_with_epsilon (loom_tensor_get (y, i), m * loom_tensor_get (x, i) / 0.75, 1e-12);
      kept += m;
    }
  /* 4000 draws: 0.75 within five deviations. */
  g_assert_cmpfloat_with_epsilon (kept / (double)y->count, 0.75, 0.035);
}

static void
check_passed (Eval *e, LoomProgram *p, const LoomValue *value)
{
  LoomTensor *x = eval_tensor (e, loom_program_get_input (p, 0)->value);

  g_assert_true (loom_tensor_equal_bits (x, eval_tensor (e, value[0])));
}

static void
check_all_dropped (Eval *e, LoomProgram *p, const LoomValue *value)
{
  LoomTensor *y = eval_tensor (e, value[0]);

  for (gint64 i = 0; i < y->count; i++)
    g_assert_cmpfloat (loom_tensor_get (y, i), ==, 0);
}

/* x is [4,500,2,3]: one number of the mask for each channel of each sample. */
static void
check_channels_dropped (Eval *e, LoomProgram *p, const LoomValue *value)
{
  LoomTensor *x = eval_tensor (e, loom_program_get_input (p, 0)->value), *y = eval_tensor (e, value[0]);
  LoomTensor *mask = eval_tensor (e, value[1]);
  double kept = 0;

  g_assert_cmpint (mask->count, ==, 2000);
  for (gint64 i = 0; i < y->count; i++)
    g_assert_cmpfloat_with_epsilon (loom_tensor_get (y, i),
                                    loom_tensor_get (mask, i / 6) * loom_tensor_get (x, i) / 0.75, 1e-12);
  for (gint64 i = 0; i < mask->count; i++)
    kept += loom_tensor_get (mask, i);
  /* 2000 draws: 0.75 within five deviations. */
  g_assert_cmpfloat_with_epsilon (kept / (double)mask->count, 0.75, 0.05);
}

/* Mean and variance of normal numbers are preserved: 4000 of them within five deviations, wide ones for the fourth
 * moment. */
static void
check_alpha (Eval *e, LoomProgram *p, const LoomValue *value)
{
  LoomTensor *x = eval_tensor (e, loom_program_get_input (p, 0)->value), *y = eval_tensor (e, value[0]);
  LoomTensor *mask = eval_tensor (e, value[1]);
  const double v = -1.7580993408473766, a = 1 / sqrt (0.75 * (1 + 0.25 * v * v)), b = -a * 0.25 * v;
  double sum = 0, squares = 0, n = (double)y->count;

  for (gint64 i = 0; i < y->count; i++)
    {
      double in = loom_tensor_get (mask, i) != 0 ? loom_tensor_get (x, i) : v, out = loom_tensor_get (y, i);

      g_assert_cmpfloat_with_epsilon (out, a * in + b, 1e-12);
      sum += out;
      squares += out * out;
    }
  g_assert_cmpfloat_with_epsilon (sum / n, 0, 0.1);
  g_assert_cmpfloat_with_epsilon (squares / n, 1, 0.2);
}

static void
test_dropout_modes (void)
{
  run_sample ("dropout2d", "p=0.25", "f32:B,500,2,3", TRUE, check_channels_dropped);
  run_sample ("dropout2d", "p=0.25", "f32:B,5,2,3", FALSE, check_passed);
  run_sample ("dropout1d", "p=1", "f32:B,10,3", TRUE, check_all_dropped);
  run_sample ("alpha_dropout", "p=0.25", "f32:B,1000", TRUE, check_alpha);
  run_sample ("alpha_dropout", "p=1", "f32:B,10", TRUE, check_all_dropped);
  run_sample ("dropout", "p=0.25", "f32:B,1000", TRUE, check_dropped);
  run_sample ("dropout", "p=0.25", "f32:B,1000", FALSE, check_passed);
  run_sample ("dropout", "p=0", "f32:B,10", TRUE, check_passed);
  run_sample ("dropout", "p=1", "f32:B,10", TRUE, check_all_dropped);
}

static double
committed (Eval *e, LoomProgram *p, const char *name, gint64 i)
{
  const LoomSlot *slot = loom_program_get_slot (p, loom_program_find_slot (p, name));

  g_assert_cmpuint (slot->commit, !=, 0);
  return loom_tensor_get (eval_tensor (e, slot->commit), i);
}

/* x is [4,2,3,1]: 12 values a channel. Running values begin at 0 and 1 and move by momentum 0.1. */
static void
check_tracked (Eval *e, LoomProgram *p, const LoomValue *value)
{
  LoomTensor *x = eval_tensor (e, loom_program_get_input (p, 0)->value);

  for (int c = 0; c < 2; c++)
    {
      double sum = 0, squares = 0;

      for (int n = 0; n < 4; n++)
        for (int h = 0; h < 3; h++)
          {
            double v = loom_tensor_get (x, (n * 2 + c) * 3 + h);

            sum += v;
            squares += v * v;
          }
      g_assert_cmpfloat_with_epsilon (committed (e, p, "n.running_mean", c), 0.1 * sum / 12, 1e-12);
      g_assert_cmpfloat_with_epsilon (committed (e, p, "n.running_var", c), 0.9 + 0.1 * (squares - sum * sum / 12) / 11,
                                      1e-12);
    }
  g_assert_cmpfloat (committed (e, p, "n.num_batches_tracked", 0), ==, 1);
}

/* With running mean 0 and variance 1 evaluation divides by √(1 + eps). */
static void
check_untouched (Eval *e, LoomProgram *p, const LoomValue *value)
{
  LoomTensor *x = eval_tensor (e, loom_program_get_input (p, 0)->value), *y = eval_tensor (e, value[0]);

  for (guint i = 0; i < loom_program_n_slots (p); i++)
    g_assert_cmpuint (loom_program_get_slot (p, i)->commit, ==, 0);
  for (gint64 i = 0; i < x->count; i++)
    g_assert_cmpfloat_with_epsilon (loom_tensor_get (y, i), loom_tensor_get (x, i) / sqrt (1 + 1e-5), 1e-12);
}

static void
test_batch_norm_modes (void)
{
  run_sample ("batch_norm2d", "affine=false", "f32:B,2,3,1", TRUE, check_tracked);
  run_sample ("batch_norm2d", "affine=false", "f32:B,2,3,1", FALSE, check_untouched);
}

/* ---- weights ---------------------------------------------------------- */

static const LoomNetWeight *
find_weight (const Sample *s, const char *name)
{
  for (guint i = 0; i < loom_net_n_weights (s->net); i++)
    {
      if (g_str_equal (loom_net_weight (s->net, i)->name, name))
        return loom_net_weight (s->net, i);
    }
  g_test_message ("no weight %s", name);
  g_test_fail ();
  return NULL;
}

static void
check_init (const char *op, const char *params, const char *input, const char *weight, LoomInitKind kind, double a,
            double b)
{
  LoomSample sample = { .params = params, .inputs = { input } };
  g_auto (Sample) s = { 0 };
  const LoomNetWeight *w;

  sample_open (&s, loom_op (op), &sample, &op_sample_binding);
  w = find_weight (&s, weight);
  g_assert_nonnull (w);
  g_assert_cmpint (w->init.kind, ==, kind);
  g_assert_cmpfloat_with_epsilon (w->init.a, a, 1e-12);
  g_assert_cmpfloat_with_epsilon (w->init.b, b, 1e-12);
}

/* PyTorch's defaults: kaiming_uniform with a = √5 is uniform in ±1/√fan_in. */
static void
test_initial_values (void)
{
  check_init ("linear", "out_features=5", "f32:B,16", "n.weight", LOOM_INIT_UNIFORM, -0.25, 0.25);
  check_init ("linear", "out_features=5", "f32:B,16", "n.bias", LOOM_INIT_UNIFORM, -0.25, 0.25);
  check_init ("conv2d", "out_channels=4 kernel_size=2 groups=2", "f32:B,8,5,5", "n.weight", LOOM_INIT_UNIFORM, -0.25,
              0.25);
  check_init ("embedding", "num_embeddings=7 embedding_dim=3", "i64:B", "n.weight", LOOM_INIT_NORMAL, 0, 1);
  check_init ("batch_norm2d", NULL, "f32:B,2,3,3", "n.weight", LOOM_INIT_CONSTANT, 1, 0);
  check_init ("batch_norm2d", NULL, "f32:B,2,3,3", "n.running_var", LOOM_INIT_CONSTANT, 1, 0);
  check_init ("batch_norm2d", NULL, "f32:B,2,3,3", "n.num_batches_tracked", LOOM_INIT_ZEROS, 0, 0);
  check_init ("layer_norm", NULL, "f32:B,6", "n.bias", LOOM_INIT_ZEROS, 0, 0);
  check_init ("conv1d", "out_channels=4 kernel_size=4", "f32:B,4,5", "n.weight", LOOM_INIT_UNIFORM, -0.25, 0.25);
  check_init ("conv3d", "out_channels=4 kernel_size=2", "f32:B,2,5,5,5", "n.bias", LOOM_INIT_UNIFORM, -0.25, 0.25);
  /* A transposed one counts the outputs that each input reaches, as PyTorch does: 8/2·2·2. */
  check_init ("conv_transpose2d", "out_channels=8 kernel_size=2 groups=2", "f32:B,2,5,5", "n.weight", LOOM_INIT_UNIFORM,
              -0.25, 0.25);
  check_init ("parameter", "shape=2,3 init=uniform low=-2 high=2", NULL, "n", LOOM_INIT_UNIFORM, -2, 2);
  /* Those that a node chooses. torch.nn.init counts the outputs of [8,4,2] as 8·2, of [4,8], transposed, as 8. */
  check_init ("linear", "out_features=5 weight_init=zeros bias_init=normal(mean=1,std=2)", "f32:B,16", "n.bias",
              LOOM_INIT_NORMAL, 1, 2);
  check_init ("conv1d", "out_channels=8 kernel_size=2 weight_init=kaiming_normal(mode=fan_out,nonlinearity=relu)",
              "f32:B,4,5", "n.weight", LOOM_INIT_NORMAL, 0, sqrt (2.0 / 16));
  check_init ("conv1d", "out_channels=8 kernel_size=2 weight_init=kaiming_uniform(a=2)", "f32:B,4,5", "n.weight",
              LOOM_INIT_UNIFORM, -sqrt (3 * 0.4 / 8), sqrt (3 * 0.4 / 8));
  check_init ("linear",
              "out_features=8 weight_layout=in_out weight_init=kaiming_normal(mode=fan_out,nonlinearity=tanh)",
              "f32:B,4", "n.weight", LOOM_INIT_NORMAL, 0, 5.0 / 3 / sqrt (8));
  check_init ("linear", "out_features=5 weight_init=xavier_normal(gain=2)", "f32:B,3", "n.weight", LOOM_INIT_NORMAL, 0,
              2 * sqrt (2.0 / 8));
  check_init ("prelu", "init=0.5 weight_init=constant(val=0.75)", "f32:B,3", "n.weight", LOOM_INIT_CONSTANT, 0.75, 0);
  check_init ("parameter", "shape=2,3 weight_init=orthogonal(gain=3)", NULL, "n", LOOM_INIT_ORTHOGONAL, 3, 0);
  check_init ("batch_norm2d", "weight_init=zeros", "f32:B,2,3,3", "n.running_var", LOOM_INIT_CONSTANT, 1, 0);
}

/* By the rules of `gradloom check`: no fault, and no advice either. The operator is in it, and something is wired to
 * it. */
static void
check_example (const LoomOp *op)
{
  g_autoptr (LoomGraph) graph = loom_op_example (op);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autofree char *text = NULL;
  g_autoptr (LoomNet) net = NULL;
  gboolean there = FALSE;

  g_test_message ("%s", op->name);
  g_assert_nonnull (graph);
  text = loom_graph_write (graph, NULL);
  net = loom_net_new (graph, NULL, faults);
  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      g_autofree char *fault = loom_fault_to_string (loom_faults_get (faults, i));

      g_test_message ("%s\n%s", fault, text);
      g_test_fail ();
    }
  for (guint i = 0; net != NULL && i < loom_net_n_nodes (net); i++)
    there = there || loom_net_node (net, i)->op == op;
  if (!there && op->category != LOOM_CATEGORY_HIDDEN)
    {
      g_test_message ("%s is not in its example", op->name);
      g_test_fail ();
    }
  if (strstr (text, "<wire") == NULL)
    {
      g_test_message ("%s stands alone in its example", op->name);
      g_test_fail ();
    }
}

static void
test_examples (void)
{
  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    check_example (*op);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ops/descriptors", test_descriptors);
  g_test_add_func ("/ops/other-names", test_other_names);
  g_test_add_func ("/ops/shapes", test_shapes);
  g_test_add_func ("/ops/symbolic", test_symbolic);
  g_test_add_func ("/ops/gradients", test_gradients);
  g_test_add_func ("/ops/reduced-matrices", test_reduced_matrices);
  g_test_add_func ("/ops/dropout-modes", test_dropout_modes);
  g_test_add_func ("/ops/batch-norm-modes", test_batch_norm_modes);
  g_test_add_func ("/ops/initial-values", test_initial_values);
  g_test_add_func ("/ops/examples", test_examples);
  return g_test_run ();
}
