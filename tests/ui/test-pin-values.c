/* Values of pins without a widget: which kind a tensor gets, tokens, origin, tables, history, principal components. */
#include <adwaita.h>
#include <math.h>
#include <string.h>

#include "tests/test-program.h"
#include "tests/ui/pin-sample.h"
#include "ui/pins/pin-components.h"
#include "ui/pins/pin-tokens.h"
#include "ui/scene/studio-tensors.h"

static void
test_choice (void)
{
  static const struct
  {
    const char *first;
    PinSubject subject;
  } cases[] = {
    { "scalar", { .is_typed = TRUE } },
    { "scalar", { .is_typed = TRUE, .rank = 2, .dims = { 1, 1 }, .is_weight = TRUE } },
    { "heatmap", { .is_typed = FALSE } },
    { "heatmap", { .is_typed = TRUE, .rank = 1, .dims = { 0 }, .n_loops = 1 } },
    { "montage", { .is_typed = TRUE, .rank = 4, .dims = { 0, 16, 8, 8 } } },
    { "kernels", { .is_typed = TRUE, .rank = 4, .dims = { 16, 6, 5, 5 }, .is_weight = TRUE } },
    { "kernels", { .is_typed = TRUE, .rank = 4, .dims = { 16, 6, 5, 5 }, .is_weight = TRUE, .is_update = TRUE } },
    { "weights", { .is_typed = TRUE, .rank = 2, .dims = { 10, 784 }, .is_weight = TRUE } },
    { "attention", { .is_typed = TRUE, .rank = 4, .dims = { 0, 4, 9, 9 }, .is_attention = TRUE } },
    { "bars", { .is_typed = TRUE, .rank = 2, .dims = { 0, 10 }, .is_prediction = TRUE } },
    { "surface", { .is_typed = TRUE, .rank = 2, .dims = { 0, 3 }, .is_prediction = FALSE, .has_plane = FALSE } },
    { "text", { .is_typed = TRUE, .rank = 2, .dims = { 0, 12 }, .is_integer = TRUE } },
    { "components", { .is_typed = TRUE, .rank = 2, .dims = { 65, 64 }, .is_weight = TRUE, .is_embedding = TRUE } },
    { "histogram", { .is_typed = TRUE, .rank = 2, .dims = { 10, 20 }, .is_weight = TRUE } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GPtrArray) kinds = studio_pin_kinds_for (&cases[i].subject);
      const StudioPinKind *best = kinds->pdata[0];

      /* A surface needs a prediction over a plane. */
      if (g_str_equal (cases[i].first, "surface"))
        g_assert_cmpstr (best->name, !=, "surface");
      else
        g_assert_cmpstr (best->name, ==, cases[i].first);
      for (guint k = 1; k < kinds->len; k++)
        g_assert_cmpint (((const StudioPinKind *)kinds->pdata[k - 1])->fits (&cases[i].subject), >=,
                         ((const StudioPinKind *)kinds->pdata[k])->fits (&cases[i].subject));
    }
  g_assert_cmpstr (studio_pin_kind_find ("from a later version")->name, ==, "heatmap");
  g_assert_cmpstr (studio_pin_kind_find (NULL)->name, ==, "heatmap");
}

#define LENET                                                                                                          \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"spirals\"/>"            \
  "<node id=\"x\" op=\"input\" shape=\"B,1,28,28\"/><node id=\"conv\" op=\"conv2d\" out_channels=\"6\" "               \
  "kernel_size=\"5\"/><node id=\"h\" op=\"linear\" out_features=\"3\"/><node id=\"l\" op=\"cross_entropy\"/>"          \
  "<wire from=\"x\" to=\"conv\"/><wire from=\"data.x\" to=\"h\"/><wire from=\"h\" to=\"l.input\"/>"                    \
  "<wire from=\"data.y\" to=\"l.target\"/></graph>"

/* Names of axes and tensors of a graph. */
static void
test_subject (void)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (LENET, strlen (LENET), "test", faults, NULL);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_auto (GStrv) tensors = studio_tensors_of_node (net, "conv");
  g_autofree char *all = g_strjoinv (" ", tensors), *title = pin_tensor_title ("update:conv.weight");
  g_autofree char *node = pin_tensor_node (net, "grad:conv.weight");
  PinSubject s;

  g_assert_cmpstr (all, ==, "conv conv.weight conv.bias");
  g_assert_cmpstr (title, ==, "update of conv.weight");
  g_assert_cmpstr (node, ==, "conv");
  pin_subject_init (&s, net, "conv");
  g_assert_cmpuint (s.rank, ==, 4);
  g_assert_cmpstr (pin_subject_axis (&s, 0), ==, "sample");
  g_assert_cmpstr (pin_subject_axis (&s, 1), ==, "channel");
  g_assert_cmpstr (pin_subject_axis (&s, 3), ==, "column");
  pin_subject_init (&s, net, "update:conv.weight");
  g_assert_true (s.is_weight && s.is_update && !s.is_gradient);
  g_assert_cmpint (s.dims[0], ==, 6);
  g_assert_cmpstr (pin_subject_axis (&s, 0), ==, "filter");
  pin_subject_init (&s, net, "h");
  g_assert_true (s.is_prediction);
  pin_subject_init (&s, net, "grad:conv");
  g_assert_true (s.is_gradient && !s.is_weight && !s.is_prediction);
  pin_subject_init (&s, net, "nothing");
  g_assert_false (s.is_typed);
}

/* Axes of tokens are found from the graph: both of attention, one of an embedding's output, and none of a weight's. */
static void
test_tokens (void)
{
  static const char *const text
      = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"text\" "
        "path=\"/usr/share/common-licenses/GPL-3\" context=\"8\"/><node id=\"letters\" op=\"embedding\" "
        "num_embeddings=\"80\" embedding_dim=\"8\"/><node id=\"attn\" op=\"multihead_attention\" num_heads=\"2\" "
        "batch_first=\"true\"/><wire from=\"data.x\" to=\"letters\"/><wire from=\"letters\" "
        "to=\"attn.query\"/></graph>";
  static const struct
  {
    const char *tensor, *rows, *columns;
  } cases[] = { { "attn.weights", "data.x", "data.x" },
                { "grad:attn.weights", "data.x", "data.x" },
                { "letters", "data.x", NULL },
                { "attn", "data.x", NULL },
                { "across", NULL, NULL },
                { "letters.weight", NULL, NULL },
                { "nothing", NULL, NULL } };
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (text, strlen (text), "test", faults, NULL);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *rows = NULL, *columns = NULL;
      PinSubject s;

      pin_subject_init (&s, net, cases[i].tensor);
      rows = pin_tokens_port (net, cases[i].tensor, &s, 1);
      columns = pin_tokens_port (net, cases[i].tensor, &s, 0);
      g_assert_cmpstr (rows, ==, cases[i].rows);
      g_assert_cmpstr (columns, ==, cases[i].columns);
      if (rows == NULL)
        continue;
      /* Another number of rows than tokens. */
      s.dims[s.rank - 2] = 5;
      g_free (rows);
      rows = pin_tokens_port (net, cases[i].tensor, &s, 1);
      g_assert_null (rows);
    }
}

/* For pins of attention, ports that are found from the graph are those that the examples name: also for attention that
 * is computed with operators, out of a scan, and inside it, where each iteration has one row. */
static void
test_example_tokens (void)
{
  static const struct
  {
    const char *file, *tensor, *rows, *columns;
  } cases[] = { { "models/dates-attention.xml", "decoder.weights", "data.y", "data.x" },
                { "models/french-attention.xml", "grad:decoder.weights", "data.y", "data.x" },
                { "models/french-attention.xml", "decoder.attention.shares", NULL, "data.x" },
                { "models/dates-transformer.xml", "decoder2.multihead_attn.weights", "data.y", "data.x" },
                { "models/char-gpt.xml", "blocks.0.attn.weights", "data.x", "data.x" },
                { "lessons/transformer-block.xml", "attention.weights", "data.x", "data.x" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", cases[i].file, NULL);
      g_autoptr (LoomFaults) faults = loom_faults_new ();
      g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, NULL);
      g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
      PinSubject s;

      pin_subject_init (&s, net, cases[i].tensor);
      g_assert_true (s.is_attention);
      g_assert_cmpstr (pin_subject_axis (&s, s.rank - 1), ==, "source");
      g_assert_cmpstr (pin_subject_axis (&s, s.rank - 2), ==, "target");
      g_autofree char *rows = pin_tokens_port (net, cases[i].tensor, &s, 1);
      g_autofree char *columns = pin_tokens_port (net, cases[i].tensor, &s, 0);
      g_assert_cmpstr (rows, ==, cases[i].rows);
      g_assert_cmpstr (columns, ==, cases[i].columns);
    }
}

/* A softmax whose result mixes nothing is no attention. */
static void
test_no_attention (void)
{
  static const struct
  {
    const char *file, *tensor;
  } cases[] = { { "lessons/next-token.xml", "p" }, { "models/dates-attention.xml", "decoder.y" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", cases[i].file, NULL);
      g_autoptr (LoomFaults) faults = loom_faults_new ();
      g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, NULL);
      g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
      PinSubject s;

      pin_subject_init (&s, net, cases[i].tensor);
      g_assert_true (s.is_typed && !s.is_attention);
    }
}

/* A file of points has those that are drawn, not the columns that they were computed from; one of bins names them. */
static void
test_csv_of_points (void)
{
  static const gint64 dims[] = { 4, 3 };
  g_autoptr (PinValue) value = pin_sample_new (1, 2, dims);
  g_autofree double *point = pin_components_compute (value->values, 4, 3);
  PangoContext *context = pango_font_map_create_context (pango_cairo_font_map_get_default ());
  const PinDrawing d = { .value = value, .context = context, .scale = 1, .cell = -1, .room = { 0, 0, 200, 200 } };
  g_autofree char *text = studio_pin_kind_find ("components")->to_csv (&d);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  PinHistory *history = pin_history_new ();

  g_object_unref (context);
  g_assert_cmpstr (lines[0], ==, "sample,x,y");
  g_assert_cmpuint (g_strv_length (lines), ==, 6);
  for (guint i = 0; i < 4; i++)
    {
      g_auto (GStrv) fields = g_strsplit (lines[i + 1], ",", -1);

      g_assert_cmpuint (g_strv_length (fields), ==, 3);
      g_assert_cmpint (atoi (fields[0]), ==, (int)i + 1);
      g_assert_cmpfloat_with_epsilon (g_ascii_strtod (fields[1], NULL), point[2 * i], 1e-7);
      g_assert_cmpfloat_with_epsilon (g_ascii_strtod (fields[2], NULL), point[2 * i + 1], 1e-7);
    }
  pin_history_add (history, value);
  g_autofree char *bins = pin_history_to_csv (history, studio_pin_kind_find ("histogram")->columns);
  g_assert_true (g_str_has_prefix (bins, "step,least,greatest,bin 1,bin 2,"));
  pin_history_free (history);
}

/* A reduced value names the range of elements that a cell is the mean of, and a chosen row its place. */
static void
test_origin (void)
{
  static const gint64 dims[] = { 2, 3 };
  g_autoptr (PinValue) value = pin_sample_new (3, 2, dims);

  value->full_rank = 4;
  memcpy (value->full, ((const gint64[]){ 8, 16, 4, 3 }), 4 * sizeof (gint64));
  memcpy (value->index, ((const gint64[]){ 1, 5, 0, 0 }), 4 * sizeof (gint64));
  g_autofree char *mean = pin_value_origin (value, 4);
  g_assert_cmpstr (mean, ==, "block.1.conv[1, 5, 2–3, 1]");
  g_assert_cmpint (pin_value_element (value, 4), ==, ((1 * 16 + 5) * 4 + 2) * 3 + 1);
  value->index[2] = 3;
  pin_value_choose_row (value);
  g_assert_cmpuint (value->n_values, ==, 3);
  g_assert_cmpfloat (value->values[0], ==, 3 - 2);
  g_autofree char *one = pin_value_origin (value, 2);
  g_assert_cmpstr (one, ==, "block.1.conv[1, 5, 3, 2]");
  g_assert_cmpint (pin_value_element (value, 2), ==, ((1 * 16 + 5) * 4 + 3) * 3 + 2);
}

static void
test_csv (void)
{
  static const gint64 dims[] = { 2, 2 }, deep[] = { 2, 1, 2 };
  g_autoptr (PinValue) value = pin_sample_new (3, 2, dims), more = pin_sample_new (3, 3, deep);

  value->row_labels = g_strdupv ((char *[]){ (char *)"=1", (char *)"b", NULL });
  value->column_labels = g_strdupv ((char *[]){ (char *)"x,y", (char *)"z", NULL });
  value->values[3] = 0.1f;
  g_autofree char *text = pin_value_to_csv (value), *tiles = pin_value_to_csv (more);
  g_assert_true (g_str_has_prefix (text, ",\"x,y\",z\n"));
  g_assert_null (strstr (text, "\n=1"));
  g_assert_nonnull (strstr (text, "0.100000001\n"));
  g_assert_true (g_str_has_prefix (tiles, "0,0,"));
  g_assert_nonnull (strstr (tiles, "\n1,0,"));
}

/* Thinned evenly; a step again replaces itself; an earlier step begins again. */
static void
test_history (void)
{
  PinHistory *history = pin_history_new ();

  for (gint64 step = 1; step <= 3000; step++)
    {
      g_autoptr (PinValue) value = pin_sample_new (step, 0, NULL);
      value->values[0] = (float)step;
      pin_history_add (history, value);
      pin_history_add (history, value);
    }
  g_assert_cmpuint (history->step->len, <=, PIN_HISTORY);
  g_assert_cmpint (pin_history_step (history, 0), ==, 1);
  g_assert_cmpint (pin_history_step (history, history->step->len - 1), ==, 3000);
  for (gsize i = 0; i < history->step->len; i++)
    g_assert_cmpfloat (pin_history_get (history, i)[0], ==, pin_history_step (history, i));
  g_autoptr (PinValue) earlier = pin_sample_new (7, 0, NULL);
  pin_history_add (history, earlier);
  g_assert_cmpuint (history->step->len, ==, 1);
  pin_history_free (history);
}

/* Points in a plane of a space of five dimensions, longer in one direction: the coordinates have the distances of the
 * points, and the first one the larger variance. */
static void
test_components (void)
{
  enum
  {
    N = 40,
    COLUMNS = 5
  };
  static const double u[COLUMNS] = { 0.6, 0, 0.8, 0, 0 }, v[COLUMNS] = { 0, 0.6, 0, 0, -0.8 };
  float values[N * COLUMNS];
  double a[N], b[N], variance[2] = { 0 };

  for (int i = 0; i < N; i++)
    {
      a[i] = 3 * cos (i);
      b[i] = sin (2.3 * i);
      for (int c = 0; c < COLUMNS; c++)
        values[i * COLUMNS + c] = (float)(10 + a[i] * u[c] + b[i] * v[c]);
    }
  g_autofree double *point = pin_components_compute (values, N, COLUMNS);
  g_autofree double *again = pin_components_compute (values, N, COLUMNS);
  g_assert_cmpmem (point, 2 * N * sizeof *point, again, 2 * N * sizeof *again);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      g_assert_cmpfloat_with_epsilon (hypot (point[2 * i] - point[2 * j], point[2 * i + 1] - point[2 * j + 1]),
                                      hypot (a[i] - a[j], b[i] - b[j]), 1e-4);
  for (int i = 0; i < 2 * N; i++)
    variance[i % 2] += point[i] * point[i];
  g_assert_cmpfloat (variance[0], >, 3 * variance[1]);
  values[7] = NAN;
  g_autofree double *holed = pin_components_compute (values, N, COLUMNS);
  g_assert_true (isnan (holed[2]) && isfinite (holed[0]) && isfinite (holed[4]));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pins/choice", test_choice);
  g_test_add_func ("/pins/subject", test_subject);
  g_test_add_func ("/pins/tokens", test_tokens);
  g_test_add_func ("/pins/example-tokens", test_example_tokens);
  g_test_add_func ("/pins/no-attention", test_no_attention);
  g_test_add_func ("/pins/origin", test_origin);
  g_test_add_func ("/pins/csv", test_csv);
  g_test_add_func ("/pins/csv-of-points", test_csv_of_points);
  g_test_add_func ("/pins/history", test_history);
  g_test_add_func ("/pins/components", test_components);
  return g_test_run ();
}
