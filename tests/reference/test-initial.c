/* Initial weights: PyTorch's distributions, for every operator that has weights.
 *
 * At a fixed seed the numbers are always the same, so nothing here fails by chance; the limits are those that one in a
 * thousand honest samples would pass (Kolmogorov and Smirnov), and four standard errors for mean and deviation. A
 * weight depends on the seed and on its own name alone: neither the rest of the graph nor the order of nodes changes
 * it. */
#include "engine/loom-lab.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

typedef enum
{
  UNIFORM, /* from a to b */
  NORMAL,  /* mean a, deviation b */
  ALL      /* a */
} Kind;

typedef struct
{
  const char *op, *params; /* of node n */
  const char *inputs;      /* shapes, separated by spaces */
  const char *weight;      /* its name; "n" is the node's own */
  Kind kind;
  double a, b;
} Row;

/* Bounds are 1/√(numbers that one output is summed from); of a transposed convolution PyTorch counts its outputs. */
#define BOUND(n) -1 / sqrt (n), 1 / sqrt (n)

static LoomTensor *
initial (const char *nodes, guint64 seed, const char *name)
{
  g_autofree char *xml = g_strconcat ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\">", nodes, "</graph>", NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), "test", faults, &error);
  g_assert_no_error (error);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  loom_faults_to_error (faults, "test", &error);
  g_assert_no_error (error);
  g_autoptr (LoomProgram) program = loom_program_new ();
  for (guint i = 0; i < loom_net_n_weights (net); i++)
    {
      const LoomNetWeight *w = loom_net_weight (net, i);
      gint64 dims[LOOM_SHAPE_MAX_RANK];
      loom_shape_get (&w->shape, dims);
      loom_program_slot (program, w->name, w->is_buffer ? LOOM_SLOT_BUFFER : LOOM_SLOT_PARAMETER, w->dtype,
                         w->shape.rank, dims, &w->init, !w->is_buffer);
    }
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomState) state = loom_state_new (devices, "cpu", seed);
  g_assert_true (loom_state_add_slots (state, program, &error));
  g_assert_no_error (error);
  LoomTensor *t = loom_state_get (state, name, &error);
  g_assert_no_error (error);
  return t;
}

static char *
graph_of (const Row *row, const char *id)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_auto (GStrv) shapes = g_strsplit (row->inputs, " ", -1);
  const LoomOp *op = loom_op (row->op);

  for (guint i = 0; shapes[i] != NULL && *shapes[i]; i++)
    {
      g_string_append_printf (text, "<node id=\"x%u\" op=\"input\" shape=\"%s\"%s/>", i, shapes[i],
                              g_str_has_prefix (row->op, "embedding") ? " dtype=\"i64\"" : "");
      g_string_append_printf (text, "<wire from=\"x%u\" to=\"%s.%s\"/>", i, id, op->inputs[i].name);
    }
  g_string_append_printf (text, "<node id=\"%s\" op=\"%s\" %s/>", id, row->op, row->params);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static int
by_value (gconstpointer a, gconstpointer b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

static double *
sorted (const LoomTensor *t)
{
  double *x = g_new (double, t->count + 1);

  for (gint64 i = 0; i < t->count; i++)
    x[i] = loom_tensor_get (t, i);
  qsort (x, (gsize)t->count, sizeof *x, by_value);
  return x;
}

/* The fraction of the distribution below x. */
static double
below (const Row *row, double x)
{
  if (row->kind == UNIFORM)
    return CLAMP ((x - row->a) / (row->b - row->a), 0, 1);
  return erfc ((row->a - x) / (row->b * G_SQRT2)) / 2;
}

static void
check_all (const LoomTensor *t, double value)
{
  for (gint64 i = 0; i < t->count; i++)
    g_assert_cmpfloat (loom_tensor_get (t, i), ==, value);
}

static void
check_distribution (const Row *row, const LoomTensor *t)
{
  g_autofree double *x = sorted (t);
  double n = (double)t->count, sum = 0, squares = 0, farthest = 0;
  double mean = row->kind == UNIFORM ? (row->a + row->b) / 2 : row->a;
  double deviation = row->kind == UNIFORM ? (row->b - row->a) / sqrt (12) : row->b;
  /* Of the fourth moment: 9/5 of a uniform distribution, 3 of a normal one. */
  double kurtosis = row->kind == UNIFORM ? 1.8 : 3;

  for (gint64 i = 0; i < t->count; i++)
    {
      double p = below (row, x[i]);
      sum += x[i];
      squares += (x[i] - mean) * (x[i] - mean);
      farthest = fmax (farthest, fmax (fabs (p - (double)i / n), fabs (p - (double)(i + 1) / n)));
    }
  g_test_message ("%s %s %s: %.0f numbers, farthest %.4f of %.4f allowed, mean %.5f, deviation %.5f", row->op,
                  row->params, row->weight, n, farthest, 1.949 / sqrt (n), sum / n, sqrt (squares / n));
  g_assert_cmpfloat (n, >=, 100);
  if (row->kind == UNIFORM)
    {
      /* As f32 numbers. */
      g_assert_cmpfloat (x[0], >=, (float)row->a);
      g_assert_cmpfloat (x[t->count - 1], <=, (float)row->b);
    }
  g_assert_cmpfloat (farthest * sqrt (n), <, 1.949);
  g_assert_cmpfloat (fabs (sum / n - mean), <, 4 * deviation / sqrt (n));
  g_assert_cmpfloat (fabs (squares / n / (deviation * deviation) - 1), <, 4 * sqrt ((kurtosis - 1) / n));
}

static void
test_distributions (void)
{
  /* Each has a seed of its own, so that they are independent samples. */
  const Row rows[] = {
    { "linear", "out_features=\"60\"", "4,200", "n.weight", UNIFORM, BOUND (200.0) },
    { "linear", "out_features=\"900\"", "4,50", "n.bias", UNIFORM, BOUND (50.0) },
    { "bilinear", "out_features=\"40\"", "4,20 4,30", "n.weight", UNIFORM, BOUND (20.0) },
    { "bilinear", "out_features=\"800\"", "4,20 4,3", "n.bias", UNIFORM, BOUND (20.0) },
    { "conv1d", "out_channels=\"64\" kernel_size=\"5\"", "1,24,9", "n.weight", UNIFORM, BOUND (120.0) },
    { "conv1d", "out_channels=\"900\" kernel_size=\"5\"", "1,4,9", "n.bias", UNIFORM, BOUND (20.0) },
    { "conv2d", "out_channels=\"64\" kernel_size=\"3\" groups=\"2\"", "1,32,9,9", "n.weight", UNIFORM, BOUND (144.0) },
    { "conv2d", "out_channels=\"900\" kernel_size=\"3,2\"", "1,4,9,9", "n.bias", UNIFORM, BOUND (24.0) },
    { "conv3d", "out_channels=\"32\" kernel_size=\"3,2,1\"", "1,16,4,4,4", "n.weight", UNIFORM, BOUND (96.0) },
    { "conv3d", "out_channels=\"900\" kernel_size=\"2\"", "1,2,4,4,4", "n.bias", UNIFORM, BOUND (16.0) },
    { "conv_transpose1d", "out_channels=\"24\" kernel_size=\"5\"", "1,64,9", "n.weight", UNIFORM, BOUND (120.0) },
    { "conv_transpose2d", "out_channels=\"32\" kernel_size=\"3\" groups=\"2\"", "1,64,9,9", "n.weight", UNIFORM,
      BOUND (144.0) },
    { "conv_transpose2d", "out_channels=\"900\" kernel_size=\"2\"", "1,4,3,3", "n.bias", UNIFORM, BOUND (3600.0) },
    { "conv_transpose3d", "out_channels=\"16\" kernel_size=\"3,2,1\"", "1,32,4,4,4", "n.weight", UNIFORM,
      BOUND (96.0) },
    { "embedding", "num_embeddings=\"200\" embedding_dim=\"40\"", "5", "n.weight", NORMAL, 0, 1 },
    { "embedding_bag", "num_embeddings=\"200\" embedding_dim=\"40\"", "2,5", "n.weight", NORMAL, 0, 1 },
    { "rnn_cell", "hidden_size=\"64\"", "2,40", "n.weight_ih", UNIFORM, BOUND (64.0) },
    { "rnn_cell", "hidden_size=\"64\"", "2,40", "n.weight_hh", UNIFORM, BOUND (64.0) },
    { "lstm_cell", "hidden_size=\"50\"", "2,40", "n.weight_ih", UNIFORM, BOUND (50.0) },
    { "lstm_cell", "hidden_size=\"300\"", "2,4", "n.bias_ih", UNIFORM, BOUND (300.0) },
    { "gru_cell", "hidden_size=\"64\"", "2,40", "n.weight_hh", UNIFORM, BOUND (64.0) },
    { "gru_cell", "hidden_size=\"300\"", "2,4", "n.bias_hh", UNIFORM, BOUND (300.0) },
    { "rnn", "hidden_size=\"64\"", "3,2,40", "n.weight_ih_l0", UNIFORM, BOUND (64.0) },
    { "lstm", "hidden_size=\"50\" num_layers=\"2\"", "3,2,4", "n.weight_hh_l1", UNIFORM, BOUND (50.0) },
    { "lstm", "hidden_size=\"90\" proj_size=\"40\"", "3,2,4", "n.weight_hr_l0", UNIFORM, BOUND (90.0) },
    { "gru", "hidden_size=\"300\" bidirectional=\"true\"", "3,2,4", "n.bias_hh_l0_reverse", UNIFORM, BOUND (300.0) },
    { "multihead_attention", "num_heads=\"2\"", "3,2,40", "n.in_proj_weight", UNIFORM, BOUND (160.0 / 6) },
    { "multihead_attention", "num_heads=\"2\"", "3,2,40 3,2,60 3,2,20", "n.q_proj_weight", UNIFORM, BOUND (80.0 / 6) },
    { "multihead_attention", "num_heads=\"2\"", "3,2,40 3,2,60 3,2,20", "n.k_proj_weight", UNIFORM, BOUND (100.0 / 6) },
    { "multihead_attention", "num_heads=\"2\"", "3,2,40 3,2,60 3,2,20", "n.v_proj_weight", UNIFORM, BOUND (60.0 / 6) },
    { "multihead_attention", "num_heads=\"2\"", "3,2,40", "n.in_proj_bias", ALL, 0 },
    { "multihead_attention", "num_heads=\"2\"", "3,2,40", "n.out_proj.weight", UNIFORM, BOUND (40.0) },
    { "multihead_attention", "num_heads=\"2\"", "3,2,40", "n.out_proj.bias", ALL, 0 },
    { "positional_encoding", "kind=\"learned\" max_len=\"100\"", "3,60", "n.weight", NORMAL, 0, 0.02 },
    { "parameter", "shape=\"90,90\"", "", "n", NORMAL, 0, 1 },
    { "parameter", "shape=\"90,90\" mean=\"3\" std=\"0.25\"", "", "n", NORMAL, 3, 0.25 },
    { "parameter", "shape=\"90,90\" init=\"uniform\" low=\"-2\" high=\"0.5\"", "", "n", UNIFORM, -2, 0.5 },
    { "parameter", "shape=\"9\" init=\"zeros\"", "", "n", ALL, 0 },
    { "parameter", "shape=\"9\" init=\"ones\"", "", "n", ALL, 1 },
    { "parameter", "shape=\"9\" init=\"constant\" value=\"0.375\"", "", "n", ALL, 0.375 },
    { "prelu", "num_parameters=\"5\"", "4,5", "n.weight", ALL, 0.25 },
    { "prelu", "num_parameters=\"5\" init=\"0.5\"", "4,5", "n.weight", ALL, 0.5 },
    { "batch_norm1d", "", "4,7", "n.weight", ALL, 1 },
    { "batch_norm2d", "", "4,7,2,2", "n.weight", ALL, 1 },
    { "batch_norm2d", "", "4,7,2,2", "n.bias", ALL, 0 },
    { "batch_norm2d", "", "4,7,2,2", "n.running_mean", ALL, 0 },
    { "batch_norm2d", "", "4,7,2,2", "n.running_var", ALL, 1 },
    { "batch_norm2d", "", "4,7,2,2", "n.num_batches_tracked", ALL, 0 },
    { "batch_norm3d", "", "4,7,2,2,2", "n.running_var", ALL, 1 },
    { "instance_norm1d", "affine=\"true\"", "4,7,3", "n.weight", ALL, 1 },
    { "instance_norm2d", "affine=\"true\"", "4,7,2,2", "n.bias", ALL, 0 },
    { "instance_norm3d", "track_running_stats=\"true\"", "4,7,2,2,2", "n.running_var", ALL, 1 },
    { "layer_norm", "", "4,7", "n.weight", ALL, 1 },
    { "layer_norm", "", "4,7", "n.bias", ALL, 0 },
    { "group_norm", "num_groups=\"2\"", "4,6,3", "n.weight", ALL, 1 },
    { "group_norm", "num_groups=\"2\"", "4,6,3", "n.bias", ALL, 0 },
    { "rms_norm", "", "4,7", "n.weight", ALL, 1 },
  };
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *graph = graph_of (&rows[i], "n");
      g_autoptr (LoomTensor) t = initial (graph, 100 + i, rows[i].weight);
      g_hash_table_add (seen, (gpointer)rows[i].op);
      if (rows[i].kind == ALL)
        check_all (t, rows[i].a);
      else
        check_distribution (&rows[i], t);
    }
  /* An operator with weights of its own that is missing here. */
  for (guint i = 0; loom_ops ()[i] != NULL; i++)
    {
      const LoomOp *op = loom_ops ()[i];
      for (const LoomPortSpec *port = op->inputs; port != NULL && port->name != NULL; port++)
        if ((port->flags & LOOM_PORT_WEIGHT) && !g_hash_table_contains (seen, op->name))
          g_error ("%s begins with “%s”, which no row of this test has", op->name, port->name);
    }
}

/* The row of padding_idx is zeros; all others are as ever. */
static void
test_padding (void)
{
  const Row row
      = { "embedding", "num_embeddings=\"9\" embedding_dim=\"4\" padding_idx=\"2\"", "5", "n.weight", NORMAL, 0, 1 };
  g_autofree char *graph = graph_of (&row, "n");
  g_autoptr (LoomTensor) t = initial (graph, 5, "n.weight");

  for (gint64 i = 0; i < t->count; i++)
    g_assert_true ((loom_tensor_get (t, i) == 0) == (i / 4 == 2));
}

static double
correlation (const LoomTensor *a, const LoomTensor *b)
{
  double ab = 0, aa = 0, bb = 0;

  for (gint64 i = 0; i < a->count; i++)
    {
      double x = loom_tensor_get (a, i), y = loom_tensor_get (b, i);
      ab += x * y;
      aa += x * x;
      bb += y * y;
    }
  return ab / sqrt (aa * bb);
}

static void
test_independence (void)
{
  const Row row = { "linear", "out_features=\"60\"", "4,200", "", UNIFORM, 0, 0 };
  g_autofree char *n = graph_of (&row, "n"), *m = graph_of (&row, "m");
  g_autofree char *crowd = g_strconcat ("<node id=\"p\" op=\"parameter\" shape=\"77\"/>", n,
                                        "<node id=\"q\" op=\"parameter\" shape=\"3,5\"/>", NULL);
  g_autoptr (LoomTensor) first = initial (n, 5, "n.weight"), again = initial (n, 5, "n.weight");
  g_autoptr (LoomTensor) crowded = initial (crowd, 5, "n.weight");
  g_autoptr (LoomTensor) renamed = initial (m, 5, "m.weight"), reseeded = initial (n, 6, "n.weight");
  double limit = 4 / sqrt ((double)first->count);

  g_assert_true (loom_tensor_equal_bits (first, again));
  g_assert_true (loom_tensor_equal_bits (first, crowded));
  g_assert_cmpfloat (fabs (correlation (first, renamed)), <, limit);
  g_assert_cmpfloat (fabs (correlation (first, reseeded)), <, limit);
  g_assert_cmpfloat (fabs (correlation (renamed, reseeded)), <, limit);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/initial/distributions", test_distributions);
  g_test_add_func ("/initial/padding", test_padding);
  g_test_add_func ("/initial/independence", test_independence);
  return g_test_run ();
}
