/* Every sample of every operator, and every shipped graph, is exported as an ONNX model, imported again, and has the
 * same numbers. Each is written twice, with dynamic and with fixed sizes; the second must be importable. The lists
 * below name all refused ones. GRADLOOM_EXPORT_FOLDER=DIR keeps each model with its inputs and expected outputs, for
 * tests/reference/onnx_models.py, which runs them with onnxruntime. GRADLOOM_EXPORT_ONLY='conv*' selects a few. */
#include "engine/ops/loom-loop.h"
#include "engine/interop/loom-npy.h"
#include "engine/onnx/loom-onnx.h"
#include "tests/examples.h"
#include "tests/ops/op-sample.h"
#include "tests/program/eval.h"
#include "tests/test-program.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

/* Samples that are refused, by name, and the reason. */
typedef struct
{
  const char *pattern, *reason;
  gboolean met;
} Refusal;

static Refusal refused[] = {
  { "gradient *", "it computes a gradient" },          { "scatter *reduce=amax*", "operator set 18" },
  { "scatter *reduce=amin*", "operator set 18" },      { "scatter_nd *reduction=max*", "operator set 18" },
  { "scatter_nd *reduction=min*", "operator set 18" },
};
/* Only with dynamic sizes: no other part of these samples has the symbol, or its number determines the computation. */
static Refusal sized[] = {
  { "* shape=B*", "no input of the model determines" },
  { "chunk *", "" },
  { "unflatten *", "is not valid for every size" },
  { "positional_encoding kind=learned*", "is not valid for every size" },
};

static guint n_models, n_dynamic;

static void
expect_refusal (Refusal *list, guint n, const char *what, const char *why)
{
  for (guint i = 0; i < n; i++)
    if (g_pattern_match_simple (list[i].pattern, what) && strstr (why, list[i].reason) != NULL)
      {
        list[i].met = TRUE;
        return;
      }
  g_test_message ("%s is refused, and not expected to be: %s", what, why);
  g_test_fail ();
}

static void
check_met (const Refusal *list, guint n)
{
  for (guint i = 0; i < n; i++)
    if (!list[i].met)
      {
        g_test_message ("“%s” is no longer refused: %s", list[i].pattern, list[i].reason);
        g_test_fail ();
      }
}

/* ---- values ------------------------------------------------------------- */

typedef struct
{
  GHashTable *inputs, *weights; /* name → LoomTensor */
  GPtrArray *outputs;           /* LoomTensor */
  GPtrArray *names;             /* of outputs */
  gboolean is_random;           /* ONNX draws other numbers */
} Values;

static void
values_clear (Values *v)
{
  g_clear_pointer (&v->inputs, g_hash_table_unref);
  g_clear_pointer (&v->weights, g_hash_table_unref);
  g_clear_pointer (&v->outputs, g_ptr_array_unref);
  g_clear_pointer (&v->names, g_ptr_array_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Values, values_clear)

static GHashTable *
table_new (void)
{
  return g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)loom_tensor_unref);
}

static void
values_init (Values *v)
{
  v->inputs = table_new ();
  v->weights = table_new ();
  v->outputs = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  v->names = g_ptr_array_new_with_free_func (g_free);
}

/* A statistic is no zero and no one, so that a layer that forgets it shows. */
static void
fill_slot (LoomTensor *t, const LoomSlot *slot, GRand *rand)
{
  if (slot->kind == LOOM_SLOT_SCALAR)
    {
      for (gint64 i = 0; i < t->count; i++)
        loom_tensor_set (t, i, slot->init.kind == LOOM_INIT_CONSTANT ? slot->init.a : 0);
      return;
    }
  eval_fill (t, g_str_has_suffix (slot->name, "running_var") ? "positive" : NULL, rand);
}

/* Gives every input and slot of a program its numbers: those that are kept under its name, else new ones, which are
 * then kept. */
static void
feed (Eval *e, Values *v, const char *range, GRand *rand)
{
  for (LoomValue k = 1; k <= loom_program_n_values (e->p); k++)
    {
      const LoomValueInfo *info = loom_value_info (e->p, k);
      const LoomSlot *slot = info->slot >= 0 ? loom_program_get_slot (e->p, (guint)info->slot) : NULL;
      const char *name = slot != NULL       ? slot->name
                         : info->input >= 0 ? loom_program_get_input (e->p, info->input)->name
                                            : NULL;
      GHashTable *table = slot != NULL ? v->weights : v->inputs;
      LoomTensor *t = eval_tensor (e, k), *kept = name != NULL ? g_hash_table_lookup (table, name) : NULL;

      if (name == NULL)
        continue;
      if (kept != NULL)
        {
          g_assert_cmpint (kept->count, ==, t->count);
          for (gint64 i = 0; i < t->count; i++)
            loom_tensor_set (t, i, loom_tensor_get (kept, i));
          continue;
        }
      g_assert_nonnull (rand);
      if (slot != NULL)
        fill_slot (t, slot, rand);
      else
        eval_fill (t, range, rand);
      g_hash_table_insert (table, g_strdup (name), loom_tensor_convert (t, t->dtype, FALSE, NULL));
    }
}

/* Computes ports of a graph, after counting data-dependent sizes. */
static void
evaluate (const LoomGraph *graph, const LoomBinding *sizes, guint n, const char *const *ports, Values *v,
          const char *range, GRand *rand)
{
  LoomBinding binding = *sizes;

  for (;;)
    {
      g_autoptr (LoomFaults) faults = loom_faults_new ();
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomNet) net = loom_net_new (graph, &binding, faults);
      g_autofree LoomNetSource *wanted = g_new0 (LoomNetSource, n);
      g_autofree LoomValue *value = g_new0 (LoomValue, n);
      LoomLowerOptions options = { .float_dtype = LOOM_F32, .n_wanted = n, .wanted = wanted };
      LoomValue size;
      int dynamic;

      for (guint i = 0; i < n; i++)
        {
          wanted[i].node = (guint)loom_net_find_port (net, ports[i], &wanted[i].output, &error);
          g_assert_no_error (error);
        }
      dynamic = loom_net_dynamic_size (net, &options);
      g_autoptr (LoomProgram) p = dynamic >= 0 ? loom_lower_size (net, &options, (guint)dynamic, &size, &error)
                                               : loom_lower (net, &options, value, &error);
      g_assert_no_error (error);
      g_autoptr (Eval) e = eval_new (p);
      for (guint i = 0; i < loom_program_n_instrs (p); i++)
        v->is_random = v->is_random || loom_program_instr (p, i)->prim->flags & LOOM_PRIM_RANDOM;
      feed (e, v, range, rand);
      eval_run (e);
      if (dynamic >= 0)
        {
          gint64 count = (gint64)eval_scalar (e, size);
          binding.value[loom_net_node (net, (guint)dynamic)->own_symbol - 'A'] = count > 0 ? count : LOOM_BOUND_TO_ZERO;
          continue;
        }
      for (guint i = 0; i < n; i++)
        g_ptr_array_add (v->outputs, loom_tensor_ref (eval_tensor (e, value[i])));
      return;
    }
}

static void
compare (const LoomTensor *is, const LoomTensor *should, const char *what, const char *port)
{
  LoomShape a = loom_tensor_shape (is), b = loom_tensor_shape (should);
  double scale = 1;

  if (!loom_shape_equal (&a, &b) || is->dtype != should->dtype)
    {
      g_autofree char *sa = loom_shape_to_string (&a), *sb = loom_shape_to_string (&b);
      g_test_message ("%s, %s: %s %s, not %s %s", what, port, loom_dtype_name (is->dtype), sa,
                      loom_dtype_name (should->dtype), sb);
      g_test_fail ();
      return;
    }
  for (gint64 i = 0; i < should->count; i++)
    if (isfinite (loom_tensor_get (should, i)))
      scale = MAX (scale, fabs (loom_tensor_get (should, i)));
  for (gint64 i = 0; i < is->count; i++)
    {
      double x = loom_tensor_get (is, i), y = loom_tensor_get (should, i);
      if (isfinite (y) ? fabs (x - y) <= 1e-5 * scale : isnan (y) ? isnan (x) : x == y)
        continue;
      g_test_message ("%s, %s: element %" G_GINT64_FORMAT " is %.9g, not %.9g", what, port, i, x, y);
      g_test_fail ();
      return;
    }
}

/* ---- the bytes of a model --------------------------------------------------- */

/* A message of protobuf, or a piece of text, within a model. */
typedef struct
{
  const guint8 *p;
  gsize n;
} Part;

static guint64
read_number (Part *from)
{
  guint64 value = 0;

  for (guint shift = 0; from->n > 0; shift += 7)
    {
      guint8 byte = *from->p++;
      from->n--;
      value |= (guint64)(byte & 0x7f) << shift;
      if (byte < 0x80)
        break;
    }
  return value;
}

/* The next field; its number, or 0 at the end. Of numbers `value` is empty. */
static guint
next_field (Part *from, Part *value)
{
  guint64 key = from->n > 0 ? read_number (from) : 0;
  gsize n = 0;

  if (key == 0)
    return 0;
  if ((key & 7) == 0)
    read_number (from);
  else
    n = (key & 7) == 2 ? (gsize)read_number (from) : (key & 7) == 1 ? 8 : 4;
  g_assert_cmpuint (n, <=, from->n);
  *value = (Part){ from->p, (key & 7) == 2 ? n : 0 };
  from->p += n;
  from->n -= n;
  return (guint)(key >> 3);
}

/* Strings in field `number` of a message, added to a set. */
static void
add_texts (Part message, guint number, GHashTable *to)
{
  Part value;

  for (guint field; (field = next_field (&message, &value)) != 0;)
    if (field == number)
      g_hash_table_add (to, g_strndup ((const char *)value.p, value.n));
}

/* Fields of GraphProto, NodeProto and AttributeProto. */
enum
{
  GRAPH_NODE = 1,
  GRAPH_NUMBERS = 5,
  GRAPH_INPUT = 11,
  NODE_INPUT = 1,
  NODE_OUTPUT = 2,
  NODE_OP = 4,
  NODE_ATTRIBUTE = 5,
  ATTRIBUTE_GRAPH = 6,
  MODEL_GRAPH = 7
};

/* What the nodes of a Scan's body read is its own, in `own` once it is made, or a number of the model. */
static void
check_reads (Part graph, GHashTable *numbers, GHashTable *own, gboolean is_body, const char *what)
{
  Part node, value, inner;
  guint field;

  for (Part rest = graph; (field = next_field (&rest, &value)) != 0;)
    if (field == GRAPH_INPUT)
      add_texts (value, 1, own);
  for (Part rest = graph; (field = next_field (&rest, &node)) != 0;)
    {
      g_autoptr (GHashTable) reads = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
      g_autoptr (GHashTable) op = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
      GHashTableIter iter;
      gpointer name;

      if (field != GRAPH_NODE)
        continue;
      add_texts (node, NODE_INPUT, reads);
      add_texts (node, NODE_OP, op);
      g_hash_table_iter_init (&iter, reads);
      while (is_body && g_hash_table_iter_next (&iter, &name, NULL))
        if (*(const char *)name && !g_hash_table_contains (own, name) && !g_hash_table_contains (numbers, name))
          {
            g_test_message ("%s: the body of a Scan reads “%s” of outside", what, (const char *)name);
            g_test_fail ();
          }
      for (Part fields = node; (field = next_field (&fields, &value)) != 0;)
        while (field == NODE_ATTRIBUTE && value.n > 0)
          if (next_field (&value, &inner) == ATTRIBUTE_GRAPH)
            {
              g_autoptr (GHashTable) fresh = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
              const gboolean is_scan = g_hash_table_contains (op, "Scan");

              check_reads (inner, numbers, is_scan ? fresh : own, is_scan || is_body, what);
            }
      add_texts (node, NODE_OUTPUT, own);
    }
}

static void
check_bodies (GBytes *bytes, const char *what)
{
  g_autoptr (GHashTable) numbers = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) own = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Part model = { g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes) }, graph = { 0 }, value;
  guint field;

  while ((field = next_field (&model, &value)) != 0)
    if (field == MODEL_GRAPH)
      graph = value;
  for (Part rest = graph; (field = next_field (&rest, &value)) != 0;)
    if (field == GRAPH_NUMBERS)
      add_texts (value, 8, numbers); /* a tensor's name */
  check_reads (graph, numbers, own, FALSE, what);
}

/* ---- round trips ---------------------------------------------------------- */

static void
keep (const char *kind, GBytes *bytes, const Values *v, const char *what)
{
  const char *folder = g_getenv ("GRADLOOM_EXPORT_FOLDER");
  g_autofree char *at = NULL, *model = NULL, *text = NULL;
  g_autoptr (GError) error = NULL;
  GHashTableIter iter;
  gpointer name, tensor;

  if (folder == NULL)
    return;
  at = g_strdup_printf ("%s/%04u-%s", folder, n_models, kind);
  g_assert_cmpint (g_mkdir_with_parents (at, 0755), ==, 0);
  model = g_build_filename (at, "model.onnx", NULL);
  text = g_build_filename (at, "what.txt", NULL);
  g_assert_true (g_file_set_contents (model, g_bytes_get_data (bytes, NULL), (gssize)g_bytes_get_size (bytes), NULL));
  g_assert_true (g_file_set_contents (text, what, -1, NULL));
  g_hash_table_iter_init (&iter, v->inputs);
  while (g_hash_table_iter_next (&iter, &name, &tensor))
    {
      g_autofree char *path = g_strdup_printf ("%s/in-%s.npy", at, (char *)name);
      loom_npy_save (path, tensor, &error);
      g_assert_no_error (error);
    }
  for (guint i = 0; i < v->outputs->len; i++)
    {
      g_autofree char *path = g_strdup_printf ("%s/%s-%u.npy", at, v->is_random ? "random" : "out", i);
      loom_npy_save (path, v->outputs->pdata[i], &error);
      g_assert_no_error (error);
    }
}

/* FALSE with the reasons in a message if it is refused. */
static GBytes *
write_model (const LoomGraph *graph, const LoomBinding *sizes, const Values *v, const char *what, char **why)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) ports = g_ptr_array_new ();
  LoomOnnxWriteOptions options = { .sizes = *sizes };

  for (guint i = 0; i < v->names->len; i++)
    g_ptr_array_add (ports, v->names->pdata[i]);
  g_ptr_array_add (ports, NULL);
  options.outputs = (const char *const *)ports->pdata;
  g_autoptr (LoomOnnxWriter) writer = loom_onnx_writer_new (graph, &options, v->weights, faults, &error);
  if (writer == NULL && error == NULL)
    loom_faults_to_error (faults, NULL, &error);
  *why = error ? g_strdup (error->message) : NULL;
  return writer ? loom_onnx_writer_bytes (writer, NULL) : NULL;
}

/* Outputs of the model by the same names. */
static void
read_and_run (GBytes *bytes, const LoomBinding *sizes, const Values *first, const char *what)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomOnnx) model
      = loom_onnx_read_data (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), "model", NULL, faults, &error);
  g_auto (Values) v = { 0 };
  g_autoptr (GPtrArray) ports = g_ptr_array_new ();

  if (model == NULL && error == NULL)
    loom_faults_to_error (faults, NULL, &error);
  if (model == NULL)
    {
      g_test_message ("%s: cannot be read again: %s", what, error->message);
      g_test_fail ();
      return;
    }
  if (first->is_random)
    return; /* other numbers are drawn there */
  values_init (&v);
  for (guint i = 0; i < model->weights->len; i++)
    {
      const LoomNamedTensor *weight = model->weights->pdata[i];
      g_hash_table_insert (v.weights, g_strdup (weight->name), loom_tensor_ref (weight->tensor));
    }
  for (guint i = 0; i < model->inputs->len; i++)
    {
      const LoomOnnxPort *port = model->inputs->pdata[i];
      LoomTensor *t = g_hash_table_lookup (first->inputs, port->name);
      if (port->node != NULL && t != NULL)
        g_hash_table_insert (v.inputs, g_strdup (port->node), loom_tensor_ref (t));
    }
  g_assert_cmpuint (model->outputs->len, ==, first->outputs->len);
  for (guint i = 0; i < model->outputs->len; i++)
    g_ptr_array_add (ports, ((LoomOnnxPort *)model->outputs->pdata[i])->node);
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  evaluate (model->graph, sizes, ports->len, (const char *const *)ports->pdata, &v, NULL, rand);
  for (guint i = 0; i < ports->len; i++)
    compare (v.outputs->pdata[i], first->outputs->pdata[i], what, first->names->pdata[i]);
}

/* A model with dynamic sizes must be right for sizes other than the sample's, too; onnxruntime checks it. */
static void
keep_other_size (GBytes *bytes, const LoomGraph *graph, const Values *first, const LoomSample *sample, const char *what)
{
  static const LoomBinding other = { .value = { ['B' - 'A'] = 6, ['T' - 'A'] = 7 } };
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_new (graph, &other, faults);
  g_autoptr (GRand) rand = g_rand_new_with_seed (12);
  g_auto (Values) v = { 0 };

  if (g_getenv ("GRADLOOM_EXPORT_FOLDER") == NULL || loom_faults_count (faults) > 0)
    return;
  values_init (&v);
  g_hash_table_unref (v.weights);
  v.weights = g_hash_table_ref (first->weights);
  evaluate (graph, &other, first->names->len, (const char *const *)first->names->pdata, &v, sample->range, rand);
  keep ("other", bytes, &v, what);
}

static void
check_sample (const LoomOp *op, const LoomSample *sample, const char *what)
{
  static const LoomBinding dynamic = { 0 };
  const char *only = g_getenv ("GRADLOOM_EXPORT_ONLY");
  g_autofree char *text = NULL, *why = NULL, *why_dynamic = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);
  g_auto (Values) v = { 0 };

  if (only != NULL && !g_pattern_match_simple (only, op->name))
    return;
  g_test_message ("%s", what);
  text = op_sample_graph (op, sample);
  g_autoptr (LoomGraph) graph = loom_graph_read_data (text, strlen (text), "sample", faults, NULL);
  g_autoptr (LoomNet) net = loom_net_new (graph, &op_sample_binding, faults);
  guint node = (guint)loom_net_find (net, "n");
  values_init (&v);
  for (guint i = 0; i < loom_net_node (net, node)->n_outputs; i++)
    g_ptr_array_add (v.names, loom_net_port_name (net, node, i));
  evaluate (graph, &op_sample_binding, v.names->len, (const char *const *)v.names->pdata, &v, sample->range, rand);

  g_autoptr (GBytes) fixed_model = write_model (graph, &op_sample_binding, &v, what, &why);
  g_autoptr (GBytes) dynamic_model = write_model (graph, &dynamic, &v, what, &why_dynamic);
  n_models++;
  n_dynamic += dynamic_model != NULL;
  if (fixed_model == NULL)
    {
      g_assert_null (dynamic_model);
      expect_refusal (refused, G_N_ELEMENTS (refused), what, why);
      return;
    }
  if (dynamic_model == NULL)
    expect_refusal (sized, G_N_ELEMENTS (sized), what, why_dynamic);
  check_bodies (fixed_model, what);
  keep ("fixed", fixed_model, &v, what);
  if (dynamic_model)
    {
      keep ("open", dynamic_model, &v, what);
      keep_other_size (dynamic_model, graph, &v, sample, what);
    }
  if (v.is_random)
    g_test_message ("%s draws its numbers: onnxruntime is asked for its shape only", what);
  read_and_run (fixed_model, &op_sample_binding, &v, what);
}

static void
test_samples (void)
{
  op_sample_for_each (check_sample);
  if (g_getenv ("GRADLOOM_EXPORT_ONLY") == NULL)
    {
      check_met (refused, G_N_ELEMENTS (refused));
      check_met (sized, G_N_ELEMENTS (sized));
    }
  g_test_message ("%u samples, %u of them with dynamic sizes", n_models, n_dynamic);
}

/* ---- the graphs that are shipped -------------------------------------------- */

/* Random weights under the graph's names, statistics included. */
static void
make_weights (const LoomNet *net, Values *v, GRand *rand)
{
  for (guint i = 0; i < loom_net_n_weights (net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (net, i);
      LoomSlot slot = { .name = weight->name, .kind = LOOM_SLOT_PARAMETER };
      gint64 dims[LOOM_SHAPE_MAX_RANK];
      loom_shape_get (&weight->shape, dims);
      LoomTensor *t = loom_tensor_new (weight->dtype, weight->shape.rank, dims, NULL);
      fill_slot (t, &slot, rand);
      g_hash_table_insert (v->weights, g_strdup (weight->name), t);
    }
}

/* Branches and trees are not written yet. */
/* A random index would select nothing here: onnxruntime gets the data set's own. */
static gboolean
chooses_modules (const LoomNet *net)
{
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomLoop *loop = loom_op_loop (loom_net_node (net, i)->op);

      if (loop != NULL && loop->kind != LOOM_LOOP_SCAN && loom_net_find (net, "data") >= 0)
        return TRUE;
    }
  return FALSE;
}

static void
check_graph (const char *path, const char *name)
{
  static const LoomBinding dynamic = { 0 }, three = { .value = { ['B' - 'A'] = 3 } };
  g_autoptr (LoomFaults) faults = loom_faults_new (), refusals = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, &error);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_autoptr (GRand) rand = g_rand_new_with_seed (13);
  LoomOnnxWriteOptions options = { .sizes = dynamic };
  g_auto (Values) v = { 0 };

  g_test_message ("%s", name);
  for (guint i = 0; i < loom_faults_length (faults); i++)
    if (loom_faults_get (faults, i)->code == LOOM_ERROR_DATA)
      {
        g_test_message ("%s is left out, its data are not here: %s", name, loom_faults_get (faults, i)->message);
        return;
      }
  if (example_is_large (net))
    {
      g_test_message ("%s is left out, it is large", name);
      return;
    }
  values_init (&v);
  make_weights (net, &v, rand);
  g_autoptr (LoomOnnxWriter) writer = loom_onnx_writer_new (graph, &options, v.weights, refusals, &error);
  if (writer == NULL && error == NULL)
    loom_faults_to_error (refusals, name, &error);
  /* If a batch is cut into pieces its size must be fixed, as the error says. */
  if (error != NULL && strstr (error->message, "--size B=") != NULL)
    {
      g_clear_error (&error);
      options.sizes = three;
      writer = loom_onnx_writer_new (graph, &options, v.weights, faults, &error);
    }
  g_assert_no_error (error);
  g_assert_nonnull (writer);
  g_autoptr (GBytes) bytes = loom_onnx_writer_bytes (writer, &error);
  g_assert_no_error (error);
  check_bodies (bytes, name);
  if (chooses_modules (net))
    {
      g_test_message ("%s is left to onnxruntime", name);
      return;
    }
  for (guint i = 0; i < loom_onnx_writer_n_ports (writer, TRUE); i++)
    {
      const char *port;
      const LoomType *type;
      loom_onnx_writer_port (writer, TRUE, i, &port, &type);
      g_ptr_array_add (v.names, g_strdup (port));
    }
  g_assert_cmpuint (v.names->len, >, 0);
  evaluate (graph, &three, v.names->len, (const char *const *)v.names->pdata, &v, NULL, rand);
  if (v.is_random)
    g_test_message ("%s draws its numbers: onnxruntime is asked for its shapes only", name);
  else
    read_and_run (bytes, &three, &v, name);
}

#define CHOICES(of_x, index)                                                                                           \
  "<graph xmlns='urn:gradloom:graph' version='1'><module name='bent'><node id='x' op='module_input'/>"                 \
  "<node id='z' op='module_input'/><node id='f' op='tanh'/><node id='y' op='module_output'/><wire from='x' to='f'/>"   \
  "<wire from='f' to='y'/></module><module name='layer'><node id='x' op='module_input'/>"                              \
  "<node id='z' op='module_input'/><node id='f' op='linear' out_features='3'/><node id='sum' op='add'/>"               \
  "<node id='y' op='module_output'/><wire from='x' to='f'/><wire from='f' to='sum.input'/>"                            \
  "<wire from='z' to='sum.other'/><wire from='sum' to='y'/></module><node id='x' op='input' shape='B,3'/>"             \
  "<node id='z' op='input' shape='B,3'/>" of_x "<node id='which' op='argmax' dim='" index "'/>"                        \
  "<node id='choice' op='switch' bodies='bent,layer,layer'/><wire from='x' to='choice.x'/>"                            \
  "<wire from='z' to='choice.z'/><wire from='which' to='choice.index'/></graph>"

/* One of three modules, for each sample and for all: the export computes the same when it is imported again. */
static void
test_choices (void)
{
  static const char *const graphs[] = {
    CHOICES ("<wire from='x' to='which'/>", "1"),
    CHOICES ("<node id='all' op='sum' dim='0'/><wire from='x' to='all'/><wire from='all' to='which'/>", "0"),
  };

  for (guint i = 0; i < G_N_ELEMENTS (graphs); i++)
    {
      g_autofree char *folder = g_dir_make_tmp ("onnx-XXXXXX", NULL), *path = g_build_filename (folder, "g.xml", NULL);

      g_assert_true (g_file_set_contents (path, graphs[i], -1, NULL));
      check_graph (path, i == 0 ? "a choice for each sample" : "a choice for all");
      g_unlink (path);
      g_rmdir (folder);
    }
}

static void
test_graphs (void)
{
  static const char *const folders[] = { "lessons", "models" };
  guint n = 0;

  for (guint f = 0; f < G_N_ELEMENTS (folders); f++)
    {
      g_autofree char *folder = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", folders[f], NULL);
      g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
      const char *name;
      while (dir && (name = g_dir_read_name (dir)))
        if (g_str_has_suffix (name, ".xml"))
          {
            g_autofree char *path = g_build_filename (folder, name, NULL);
            check_graph (path, name);
            n++;
          }
    }
  g_assert_cmpuint (n, >=, 15);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/onnx-export/samples", test_samples);
  g_test_add_func ("/onnx-export/graphs", test_graphs);
  g_test_add_func ("/onnx-export/choices", test_choices);
  return g_test_run ();
}
