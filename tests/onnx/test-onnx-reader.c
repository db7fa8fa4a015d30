/* The ONNX reader: what a graph looks like that was a model, and what is said of files that are none.
 *
 * Models are put together here byte by byte, so that they can also lie: about lengths, sizes, depth and names. At the
 * end thousands of damaged copies must each give a graph or a sentence, and never anything else. */
#include "engine/onnx/loom-onnx.h"
#include "engine/net/loom-net.h"
#include "tests/onnx/onnx-bytes.h"
#include "tests/test-program.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

/* Flatten, Gemm and Relu over images [batch, 1, 2, 2]; weight sizes and a node may be others. */
static GByteArray *
classifier (const gint64 *weight_dims, const char *last)
{
  static const gint64 image[] = { -1, 1, 2, 2 }, scores[] = { -1, 3 }, bias[] = { 3 };
  GByteArray *g = g_byte_array_new (), *gemm = node ("Gemm", "/fc/Gemm", "flat w b", "y");

  put_attribute (gemm, "transB", 1);
  put_part (g, 1, node ("Flatten", "", "image", "flat"));
  put_part (g, 1, gemm);
  put_part (g, 1, node (last, "/act", "y", "scores"));
  put_text (g, 2, "classifier");
  put_part (g, 5, tensor ("w", 2, weight_dims, 12, 0.5f));
  put_part (g, 5, tensor ("b", 1, bias, 3, 0));
  put_part (g, 11, port ("image", 4, image));
  put_part (g, 12, port ("scores", 2, scores));
  return g;
}

static const gint64 good_dims[] = { 3, 4 };

/* ---- reading ---------------------------------------------------------- */

/* The sentences that come of these bytes, or NULL where they are a model. Takes the bytes. */
static char *
sentence (GByteArray *bytes)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomOnnx) read = loom_onnx_read_data (bytes->data, bytes->len, "m.onnx", NULL, faults, &error);

  g_byte_array_unref (bytes);
  if (read)
    return NULL;
  if (error == NULL)
    loom_faults_to_error (faults, NULL, &error);
  g_assert_nonnull (error);
  return g_strdup (error->message);
}

static void
expect (GByteArray *bytes, const char *part)
{
  g_autofree char *said = sentence (bytes);

  g_assert_nonnull (said);
  if (strstr (said, part) == NULL)
    g_error ("“%s” does not say “%s”", said, part);
}

/* The graph that these bytes become, as it is written. Takes the bytes. */
static char *
written (GByteArray *bytes)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomOnnx) read = loom_onnx_read_data (bytes->data, bytes->len, "m.onnx", NULL, faults, &error);

  g_byte_array_unref (bytes);
  if (read == NULL && error == NULL)
    loom_faults_to_error (faults, NULL, &error);
  g_assert_no_error (error);
  return loom_graph_write (read->graph, NULL);
}

enum
{
  UINT8 = 2,
  INT8 = 3,
  INT32 = 6,
  INT64 = 7,
  BOOL = 9,
  UINT32 = 12
};

/* A weight becomes the layer's own, a named size a symbol, a name an id. */
static void
test_graph (void)
{
  g_autoptr (GByteArray) bytes = model (classifier (good_dims, "Relu"), 13);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomOnnx) read = loom_onnx_read_data (bytes->data, bytes->len, "m.onnx", NULL, faults, &error);

  g_assert_no_error (error);
  g_assert_nonnull (read);
  g_autofree char *xml = loom_graph_write (read->graph, NULL);
  static const char *const lines[] = { "<node id=\"image\" op=\"input\" shape=\"B,1,2,2\"/>",
                                       "<node id=\"flatten\" op=\"flatten\"/>",
                                       "<node id=\"fc\" op=\"linear\" out_features=\"3\"/>",
                                       "<node id=\"relu\" op=\"relu\"/>",
                                       "<wire from=\"flatten\" to=\"fc\"/>",
                                       "<place node=\"scores\"" };
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    if (strstr (xml, lines[i]) == NULL)
      g_error ("no %s in\n%s", lines[i], xml);
  g_assert_cmpuint (read->weights->len, ==, 2);
  g_assert_cmpstr (((LoomNamedTensor *)read->weights->pdata[0])->name, ==, "fc.weight");

  /* The whole is a graph without faults, with the same weights. */
  g_autoptr (LoomNet) net = loom_net_new (read->graph, NULL, faults);
  g_assert_cmpuint (loom_faults_count (faults), ==, 0);
  g_assert_cmpuint (loom_net_n_weights (net), ==, 2);
}

/* Exporters write this for x.view(x.size(0), -1): the dynamic batch stays a symbol all the way. */
static void
test_dynamic_sizes (void)
{
  static const gint64 image[] = { -1, 2, 3 }, flat[] = { -1, 6 }, zero = 0, rest = -1;
  GByteArray *g = g_byte_array_new (), *gather = node ("Gather", "", "shape zero", "batch");
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;

  put_part (g, 5, numbers ("zero", 0, 1, &zero));
  put_part (g, 5, numbers ("axes", 1, 1, &zero));
  put_part (g, 5, numbers ("rest", 1, 1, &rest));
  put_part (g, 11, port ("x", 3, image));
  put_part (g, 1, node ("Shape", "", "x", "shape"));
  put_part (g, 1, gather);
  put_part (g, 1, node ("Unsqueeze", "", "batch axes", "first"));
  GByteArray *concat = node ("Concat", "", "first rest", "sizes");
  put_attribute (concat, "axis", 0);
  put_part (g, 1, concat);
  put_part (g, 1, node ("Reshape", "view", "x sizes", "y"));
  put_part (g, 12, port ("y", 2, flat));
  g_autoptr (GByteArray) bytes = model (g, 13);
  g_autoptr (LoomOnnx) read = loom_onnx_read_data (bytes->data, bytes->len, "m.onnx", NULL, faults, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (loom_faults_count (faults), ==, 0);
  g_assert_nonnull (read);
  g_autofree char *xml = loom_graph_write (read->graph, NULL);
  g_assert_nonnull (strstr (xml, "<node id=\"view\" op=\"reshape\" shape=\"B,6\"/>"));
  g_assert_null (strstr (xml, "constant"));
}

/* x · the sum of table[0 : length of x : 2]: the length has to be known. */
static GByteArray *
cut_table (void)
{
  static const gint64 x[] = { -1, 3 }, table[] = { 8, 3 }, zero = 0, two = 2;
  GByteArray *g = g_byte_array_new (), *gather = node ("Gather", "", "shape zero", "length");

  put_part (g, 5, numbers ("zero", 1, 1, &zero));
  put_part (g, 5, numbers ("axis", 1, 1, &zero));
  put_part (g, 5, numbers ("step", 1, 1, &two));
  put_part (g, 5, tensor ("table", 2, table, 24, 0.5f));
  put_part (g, 11, port ("x", 2, x));
  put_part (g, 1, node ("Shape", "", "x", "shape"));
  put_part (g, 1, gather);
  put_part (g, 1, node ("Slice", "cut", "table zero length axis step", "rows"));
  put_part (g, 1, node ("ReduceSum", "", "rows axis", "sum"));
  put_part (g, 1, node ("Mul", "", "x sum", "y"));
  put_part (g, 12, port ("y", 2, x));
  return model (g, 13);
}

static char *
read_with (const LoomOnnxInputs *inputs)
{
  g_autoptr (GByteArray) bytes = cut_table ();
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomOnnx) read = loom_onnx_read_data (bytes->data, bytes->len, "m.onnx", inputs, faults, &error);

  if (read != NULL)
    return loom_graph_write (read->graph, NULL);
  if (error == NULL)
    loom_faults_to_error (faults, NULL, &error);
  return g_strdup (error->message);
}

/* A size that a number is computed from is named, and can be fixed by its name or by its input's shape. */
static void
test_fixed_sizes (void)
{
  static const struct
  {
    const char *size, *shape, *part;
  } rows[] = {
    { NULL, NULL, "open sizes: batch. If numbers are computed from a size, fix it: gradloom import --size NAME=N." },
    { "batch=5", NULL, "shape=\"5,3\"" },
    { NULL, "x=4,3", "shape=\"4,3\"" },
    { "rows=5", NULL, "no open size “rows”; they have batch." },
    { "batch=none", NULL, "--size takes NAME=N" },
    { NULL, "x=4", "“x” has 2 dimensions, not 1" },
    { NULL, "x=4,2", "dimension 1 is fixed to 3 in the model, so it cannot be 2" },
    { NULL, "z=4,3", "no input “z”" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const char *sizes[] = { rows[i].size, NULL }, *shapes[] = { rows[i].shape, NULL };
      g_autofree char *result = read_with (&(LoomOnnxInputs){ .sizes = sizes, .shapes = shapes });

      if (strstr (result, rows[i].part) == NULL)
        g_error ("“%s” does not contain “%s”", result, rows[i].part);
    }
}

/* A product with weights and the sum after it are one layer; a product that is also read without the sum is not. */
static void
test_linear (void)
{
  static const gint64 in[] = { -1, 4 }, out[] = { -1, 3 }, weight[] = { 4, 3 }, bias[] = { 3 };

  for (int shared = 0; shared < 2; shared++)
    {
      GByteArray *g = g_byte_array_new ();
      g_autoptr (LoomFaults) faults = loom_faults_new ();
      g_autoptr (GError) error = NULL;

      put_part (g, 5, tensor ("w", 2, weight, 12, 0));
      put_part (g, 5, tensor ("b", 1, bias, 3, 7));
      put_part (g, 11, port ("x", 2, in));
      put_part (g, 1, node ("MatMul", "dense", "x w", "p"));
      put_part (g, 1, node ("Add", "plus", "b p", "y"));
      put_part (g, 12, port ("y", 2, out));
      if (shared)
        put_part (g, 12, port ("p", 2, out));
      g_autoptr (GByteArray) bytes = model (g, 13);
      g_autoptr (LoomOnnx) read = loom_onnx_read_data (bytes->data, bytes->len, "m.onnx", NULL, faults, &error);
      g_assert_no_error (error);
      g_assert_nonnull (read);
      g_autofree char *xml = loom_graph_write (read->graph, NULL);
      g_assert_true ((strstr (xml, "op=\"add\"") != NULL) == shared);
      g_assert_nonnull (strstr (xml, shared ? "op=\"linear\" out_features=\"3\" bias=\"false\"/>"
                                            : "op=\"linear\" out_features=\"3\"/>"));
      const LoomNamedTensor *first = read->weights->pdata[0], *second = read->weights->pdata[1];
      const LoomNamedTensor *w = g_str_equal (first->name, "dense.weight") ? first : second;
      g_assert_cmpstr (w->name, ==, "dense.weight");
      /* [in, out] was 0 1 2, 3 4 5, …; a row of [out, in] is a column of it. */
      g_assert_cmpfloat (loom_tensor_get (w->tensor, 1), ==, 3);
      g_assert_cmpint (w->tensor->dim[0], ==, 3);
      g_autoptr (LoomNet) net = loom_net_new (read->graph, NULL, faults);
      g_assert_cmpuint (loom_faults_count (faults), ==, 0);
      g_assert_cmpuint (loom_net_n_weights (net), ==, 2);
    }
}

/* All at once, each with its node. */
static void
test_unsupported (void)
{
  static const gint64 dims[] = { 2 };
  GByteArray *g = g_byte_array_new ();

  put_part (g, 1, node ("Blur", "first", "x", "a"));
  put_part (g, 1, node ("Sharpen", "second", "x", "b"));
  put_part (g, 1, node ("Add", "", "a b", "c"));
  put_part (g, 11, port ("x", 1, dims));
  put_part (g, 12, port ("c", 1, dims));
  g_autofree char *said = sentence (model (g, 13));
  g_assert_nonnull (said);
  g_assert_nonnull (strstr (said, "node first: Blur"));
  g_assert_nonnull (strstr (said, "node second: Sharpen"));
  g_assert_null (strstr (said, "Add"));
}

/* A graph of one node whose inputs are images, as it goes into a model. */
static GByteArray *
single (GByteArray *n)
{
  static const gint64 dims[] = { 1, 4, 4, 4 };
  GByteArray *g = g_byte_array_new ();

  put_part (g, 1, n);
  put_part (g, 11, port ("x", 4, dims));
  put_part (g, 12, port ("y", 4, dims));
  return g;
}

/* A word or an attribute that is not known would change what is computed. */
static void
test_words (void)
{
  static const struct
  {
    const char *op, *inputs, *attribute, *word, *says;
  } rows[] = {
    { "AveragePool", "x", "auto_pad", "SAME", "can be “NOTSET”, “SAME_UPPER”, “SAME_LOWER” or “VALID”" },
    { "Conv", "x x", "auto_pad", "same_upper", "can be “NOTSET”" },
    { "ConvTranspose", "x x", "auto_pad", "SAME", "can be “NOTSET”" },
    { "BitShift", "x x", "direction", "UP", "can be “LEFT” or “RIGHT”" },
    { "DepthToSpace", "x", "mode", "RCD", "can be “DCR” or “CRD”" },
    { "Gelu", "x", "approximate", "erf", "can be “none” or “tanh”" },
    { "GridSample", "x x", "mode", "area", "can be “bilinear”, “nearest” or “bicubic”" },
    { "GridSample", "x x", "padding_mode", "wrap", "can be “zeros”, “border” or “reflection”" },
    { "NegativeLogLikelihoodLoss", "x x", "reduction", "total", "can be “mean”, “sum” or “none”" },
    { "Pad", "x", "mode", "mirror", "can be “constant”, “reflect”, “edge” or “wrap”" },
    { "Resize", "x", "coordinate_transformation_mode", "half", "can be “half_pixel”" },
    { "Resize", "x", "nearest_mode", "round", "can be “round_prefer_floor”" },
    { "Resize", "x", "mode", "area", "can be “nearest”, “linear” or “cubic”" },
    { "Resize", "x", "keep_aspect_ratio_policy", "wider", "can be “stretch”, “not_larger” or “not_smaller”" },
    { "ScatterElements", "x x x", "reduction", "sub", "can be “none”, “add”, “mul”, “max” or “min”" },
    { "ScatterND", "x x x", "reduction", "sub", "can be “none”" },
    { "Relu", "x", "slope", "steep", "its attribute “slope” is not supported" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      GByteArray *n = node (rows[i].op, "odd", rows[i].inputs, "y");
      g_autofree char *word = g_strdup_printf ("“%s” is “%s”", rows[i].attribute, rows[i].word), *said = NULL;

      put_attribute_text (n, rows[i].attribute, rows[i].word);
      said = sentence (model (single (n), 17));
      if (said == NULL || strstr (said, "node odd") == NULL || strstr (said, rows[i].says) == NULL
          || (!g_str_equal (rows[i].op, "Relu") && strstr (said, word) == NULL))
        g_error ("%s: “%s” says not “%s”", rows[i].op, said, rows[i].says);
    }
}

/* What is not read is called by its name, with the way out. */
static void
test_remedies (void)
{
  GByteArray *n = node ("SparseAttention", "fused", "x x", "y");

  put_text (n, 7, "com.microsoft");
  expect (model (single (n), 17), "import the model before optimisation");
  n = node ("QuantizeLinear", "wide", "x x", "y");
  put_attribute (n, "output_dtype", 6);
  expect (model (single (n), 21),
          "its output type is int32; only integers of 2 to 16 bits and floats of 4 and 8 bits are supported");
  n = node ("RoiAlign", "adaptive", "x x x", "y");
  put_attribute_text (n, "mode", "max");
  expect (model (single (n), 17), "Export the model with a fixed number");
  expect (model (single (node ("ConcatFromSequence", "list", "x", "y")), 17),
          "must be a sequence whose elements are known during the import");
  n = node ("SequenceConstruct", "list", "x x", "y");
  expect (model (single (n), 17), "its input “y” is a sequence of tensors, but it needs one tensor");
}

/* A function of the model; inputs and outputs are words. */
static GByteArray *
function (const char *name, const char *inputs, const char *outputs, GByteArray *n)
{
  GByteArray *f = g_byte_array_new ();
  g_auto (GStrv) in = g_strsplit (inputs, " ", -1), out = g_strsplit (outputs, " ", -1);

  put_text (f, 1, name);
  for (guint i = 0; in[i] != NULL; i++)
    put_text (f, 4, in[i]);
  for (guint i = 0; out[i] != NULL; i++)
    put_text (f, 5, out[i]);
  put_part (f, 7, n);
  put_text (f, 10, "mine");
  return f;
}

static GByteArray *
call (const char *op, const char *inputs, const char *outputs)
{
  GByteArray *n = node (op, "call", inputs, outputs);

  put_text (n, 7, "mine");
  return n;
}

/* Functions that call themselves, calls without a value that the function reads, and more outputs than it has. */
static void
test_functions (void)
{
  GByteArray *bytes = model (single (call ("Again", "x", "y")), 17);

  put_part (bytes, 25, function ("Again", "a", "b", call ("Again", "a", "b")));
  expect (bytes, "its functions call each other more than 64 deep");
  bytes = model (single (call ("Both", "x", "y")), 17);
  put_part (bytes, 25, function ("Both", "a b", "c", node ("Add", "", "a b", "c")));
  expect (bytes, "its input number 2 is missing");
  bytes = model (single (call ("One", "x", "other y")), 17);
  put_part (bytes, 25, function ("One", "a", "b", node ("Relu", "", "a", "b")));
  expect (bytes, "its output number 2 is not supported");
}

/* A call with an overload runs the function of that overload. */
static void
test_overloads (void)
{
  for (guint i = 0; i < 2; i++)
    {
      GByteArray *n = call ("Act", "x", "y"), *f = function ("Act", "a", "b", node ("Neg", "", "a", "b")), *bytes;
      g_autofree char *xml = NULL;

      if (i == 1)
        put_text (n, 8, "negative");
      put_text (f, 13, "negative");
      bytes = model (single (n), 17);
      put_part (bytes, 25, f);
      put_part (bytes, 25, function ("Act", "a", "b", node ("Relu", "", "a", "b")));
      xml = written (bytes);
      if (strstr (xml, i == 1 ? "op=\"neg\"" : "op=\"relu\"") == NULL)
        g_error ("call %u runs another function:\n%s", i, xml);
    }
}

/* Each call copies the function; 17 copies of 16 MB are too many. */
static void
test_large_functions (void)
{
  g_autofree char *text = g_strnfill (1 << 24, 'x');
  GByteArray *g = single (call ("Long", "a16", "y")), *n = node ("Relu", "", "a", "b"), *bytes;

  put_part (g, 1, node ("Relu", "", "x", "a0"));
  for (guint i = 0; i < 16; i++)
    {
      g_autofree char *in = g_strdup_printf ("a%u", i), *out = g_strdup_printf ("a%u", i + 1);
      put_part (g, 1, call ("Long", in, out));
    }
  put_text (n, 6, text);
  bytes = model (g, 17);
  put_part (bytes, 25, function ("Long", "a", "b", n));
  expect (bytes, "the copies of its functions are larger than 256 MB");
}

static void
put_list (GByteArray *n, const char *name, const gint64 *values, guint count, const char *text)
{
  GByteArray *a = g_byte_array_new ();

  put_text (a, 1, name);
  for (guint i = 0; i < count; i++)
    if (text != NULL)
      put_text (a, 9, text);
    else
      put_int (a, 8, values[i]);
  put_int (a, 20, text != NULL ? 8 : 7);
  put_part (n, 5, a);
}

/* Two comparisons whose children are these nodes. */
static GByteArray *
tree (const gint64 *yes, const gint64 *no, gint64 column)
{
  static const gint64 dims[] = { 3, 2 }, zeros[] = { 0, 0 }, numbers[] = { 0, 1 };
  const gint64 columns[] = { 0, column };
  GByteArray *g = g_byte_array_new (), *n = node ("TreeEnsembleRegressor", "forest", "x", "y");
  GByteArray *values = g_byte_array_new ();

  put_text (n, 7, "ai.onnx.ml");
  put_list (n, "nodes_treeids", zeros, 2, NULL);
  put_list (n, "nodes_nodeids", numbers, 2, NULL);
  put_list (n, "nodes_featureids", columns, 2, NULL);
  put_list (n, "nodes_modes", NULL, 2, "BRANCH_LEQ");
  put_list (n, "nodes_truenodeids", yes, 2, NULL);
  put_list (n, "nodes_falsenodeids", no, 2, NULL);
  put_text (values, 1, "nodes_values_as_tensor");
  put_part (values, 5, tensor ("v", 1, (gint64[]){ 2 }, 2, 0));
  put_int (values, 20, 4);
  put_part (n, 5, values);
  put_part (g, 1, n);
  put_part (g, 11, port ("x", 2, dims));
  put_part (g, 12, port ("y", 2, dims));
  return model (g, 17);
}

/* Lists of nodes that are not trees end with a sentence. */
static void
test_trees (void)
{
  static const gint64 both[] = { 1, 0 }, down[] = { 1, 1 }, own[] = { 0, 1 }, far[] = { 7, 1 };

  expect (tree (both, both, 0), "it has no tree");
  expect (tree (down, down, 0), "one has several parents");
  expect (tree (own, own, 0), "it has no tree");
  expect (tree (far, down, 0), "tree 0 has no node 7");
  expect (tree (down, own, 9), "it reads column 9 of 2");
  GByteArray *n = node ("LabelEncoder", "names", "x", "y");
  put_text (n, 7, "ai.onnx.ml");
  expect (model (single (n), 17), "it translates text, and graphs carry numbers only");
}

/* A table of [nodes, targets] that a short file would make large. */
static void
test_large_trees (void)
{
  enum
  {
    N = 1100
  };
  g_autofree gint64 *zeros = g_new0 (gint64, N), *ids = g_new (gint64, N);
  GByteArray *n = node ("TreeEnsembleRegressor", "forest", "x", "y");

  for (gint64 i = 0; i < N; i++)
    ids[i] = i;
  put_text (n, 7, "ai.onnx.ml");
  put_list (n, "nodes_treeids", zeros, N, NULL);
  put_list (n, "nodes_nodeids", ids, N, NULL);
  put_attribute (n, "n_targets", 65536);
  expect (model (single (n), 17), "it has 1100 nodes and 65536 targets");
}

/* A tensor of bytes, which are 1. */
static GByteArray *
bytes_of (const char *name, gint64 count)
{
  g_autofree char *data = g_strnfill ((gsize)count, 1);
  GByteArray *t = g_byte_array_new ();

  put_int (t, 1, count);
  put_int (t, 2, UINT8);
  put_text (t, 8, name);
  put_bytes (t, 9, data, (gsize)count);
  return t;
}

/* Blocks whose sizes in bytes wrap around to those of the tensor, or that do not fill whole bytes. */
static void
test_packed_blocks (void)
{
  static const struct
  {
    gint64 block, bits, columns, bytes;
  } rows[] = { { (G_GINT64_CONSTANT (1) << 61) + 16, 8, 1000000, 16 }, { 9, 4, 9, 4 }, { 131072, 8, 16, 131072 } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      GByteArray *n = node ("MatMulNBits", "packed", "x w s", "y"), *g;

      put_text (n, 7, "com.microsoft");
      put_attribute (n, "N", 1);
      put_attribute (n, "K", rows[i].columns);
      put_attribute (n, "bits", rows[i].bits);
      put_attribute (n, "block_size", rows[i].block);
      g = single (n);
      put_part (g, 5, bytes_of ("w", rows[i].bytes));
      put_part (g, 5, tensor ("s", 1, (gint64[]){ 1 }, 1, 1));
      expect (model (g, 17), "powers of two from 8 to 65536 are supported");
    }
}

/* Tables whose sizes are announced by a short file. */
static void
test_large_regions (void)
{
  static const gint64 offset[] = { 1, 18, 60000, 60000 }, weight[] = { 4, 4, 3, 3 };
  GByteArray *n = node ("RoiAlign", "regions", "x x x", "y"), *g;

  put_attribute (n, "output_height", 65536);
  put_attribute (n, "sampling_ratio", 65536);
  expect (model (single (n), 16), "its regions have 4294967296 samples along a side");
  g = single (node ("DeformConv", "deform", "x w offset", "y"));
  put_part (g, 5, tensor ("w", 4, weight, 144, 0));
  put_part (g, 11, port ("offset", 4, offset));
  expect (model (g, 19), "its kernel and its offsets make more than 16777216 positions");
}

/* Empty parts are elements, too, and sizes must fill the dimension. */
static void
test_split_to_sequence (void)
{
  static const struct
  {
    gint64 split[3];
    const char *length; /* NULL: a fault */
  } rows[] = { { { 4, 0, 0 }, "3" },  { { 0, 4, 0 }, "3" },   { { 1, 2, 1 }, "3" }, { { 4, 7, 0 }, NULL },
               { { 5, 0, 0 }, NULL }, { { -1, 5, 0 }, NULL }, { { 1, 1, 1 }, NULL } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      GByteArray *g = g_byte_array_new (), *split = node ("SplitToSequence", "cut", "x s", "list");

      put_attribute (split, "axis", 1);
      put_attribute (split, "keepdims", 0); /* without effect if there are sizes */
      put_part (g, 1, split);
      put_part (g, 1, node ("SequenceLength", "", "list", "y"));
      put_part (g, 5, numbers ("s", 1, 3, rows[i].split));
      put_part (g, 11, port ("x", 2, (gint64[]){ 2, 4 }));
      put_part (g, 12, typed_port ("y", INT64, 0, NULL));
      if (rows[i].length == NULL)
        {
          expect (model (g, 17), "its parts do not fit 4 positions");
          continue;
        }
      g_autofree char *xml = written (model (g, 17)), *value = g_strdup_printf ("value=\"%s\"", rows[i].length);
      if (strstr (xml, value) == NULL)
        g_error ("row %u: no %s in\n%s", i, value, xml);
    }
}

/* Nodes in any order are read; one that needs itself is not. */
static void
test_order (void)
{
  for (guint ring = 0; ring < 2; ring++)
    {
      GByteArray *g = single (node ("Relu", "third", "b", "y"));
      g_autofree char *said = NULL;

      put_part (g, 1, node ("Add", "second", ring ? "a y" : "a x", "b"));
      put_part (g, 1, node ("Neg", "first", "x", "a"));
      said = sentence (model (g, 17));
      if (ring)
        g_assert_nonnull (strstr (said, "no earlier node computes its input “y”"));
      else
        g_assert_cmpstr (said, ==, NULL);
    }
  expect (model (single (node ("Relu", "self", "y", "y")), 17), "no earlier node computes its input “y”");
}

/* Convolutions with biases may hide a batch norm, which is said; where there is one, or no bias, nothing is. */
static void
test_folded (void)
{
  static const gint64 filter[] = { 4, 4, 1, 1 }, line[] = { 4 };

  for (guint i = 0; i < 3; i++)
    {
      GByteArray *g = single (node ("Conv", "", i == 1 ? "x w" : "x w b", i == 2 ? "z" : "y"));
      g_autoptr (LoomFaults) faults = loom_faults_new ();
      g_autoptr (GError) error = NULL;

      put_part (g, 5, tensor ("w", 4, filter, 16, 0));
      put_part (g, 5, tensor ("b", 1, line, 4, 1));
      if (i == 2)
        put_part (g, 1, node ("BatchNormalization", "", "z b b b b", "y"));
      g_autoptr (GByteArray) bytes = model (g, 17);
      put_text (bytes, 2, "pytorch");
      g_autoptr (LoomOnnx) read = loom_onnx_read_data (bytes->data, bytes->len, "m.onnx", NULL, faults, &error);
      g_assert_no_error (error);
      g_assert_nonnull (read);
      g_assert_cmpuint (read->notes->len, ==, i == 0);
      if (i == 0)
        g_assert_nonnull (strstr (read->notes->pdata[0], "torch.onnx.export (…, dynamo=True, optimize=False)"));
    }
}

static void
test_lies (void)
{
  static const gint64 other[] = { 4, 3 }, more[] = { 3, 5 }, huge[] = { G_MAXINT32, G_MAXINT32 },
                      negative[] = { -3, -4 };

  expect (g_byte_array_new (), "contains no ONNX model");
  expect (model (classifier (other, "Relu"), 13), "does not work");
  expect (model (classifier (more, "Relu"), 13), "should have 15 numbers");
  expect (model (classifier (huge, "Relu"), 13), "impossible sizes");
  expect (model (classifier (negative, "Relu"), 13), "impossible sizes");
  expect (model (classifier (good_dims, "Relu"), 99), "operator set 99");

  /* External numbers. */
  GByteArray *g = classifier (good_dims, "Add"), *t = g_byte_array_new (), *entry = g_byte_array_new ();
  put_text (entry, 1, "location");
  put_text (entry, 2, "/etc/passwd");
  put_int (t, 2, 1);
  put_text (t, 8, "elsewhere");
  put_part (t, 13, entry);
  put_int (t, 14, 1);
  put_part (g, 5, t);
  expect (model (g, 13), "not in a folder");

  /* An input that nothing makes. */
  g = classifier (good_dims, "Relu");
  put_part (g, 1, node ("Relu", "late", "ghost", "seen"));
  put_part (g, 12, port ("seen", 1, good_dims));
  expect (model (g, 13), "“ghost”");

  /* A graph in a graph in a graph … */
  g = g_byte_array_new ();
  for (guint i = 0; i < 200; i++)
    {
      GByteArray *a = g_byte_array_new (), *n = g_byte_array_new (), *around = g_byte_array_new ();
      put_part (a, 6, g);
      put_part (n, 5, a);
      put_part (around, 1, n);
      g = around;
    }
  expect (model (g, 13), "nested too deeply");
}

/* ---- numbers in external data files ----------------------------------- */

/* Three floats in another file; a NULL entry is left out. */
static GByteArray *
external (const char *name, const char *location, const char *offset, const char *length)
{
  const char *const entries[] = { "location", location, "offset", offset, "length", length };
  GByteArray *t = g_byte_array_new ();

  put_int (t, 1, 3);
  put_int (t, 2, 1);
  put_text (t, 8, name);
  for (guint i = 0; i < G_N_ELEMENTS (entries); i += 2)
    if (entries[i + 1] != NULL)
      {
        GByteArray *entry = g_byte_array_new ();
        put_text (entry, 1, entries[i]);
        put_text (entry, 2, entries[i + 1]);
        put_part (t, 13, entry);
      }
  put_int (t, 14, 1);
  return t;
}

/* Writes a model that adds two such tensors to its input, and reads it; takes them. The sentence, or NULL. */
static char *
read_external (const char *folder, GByteArray *w, GByteArray *v)
{
  static const gint64 dims[] = { 3 };
  g_autofree char *path = g_build_filename (folder, "model.onnx", NULL);
  GByteArray *g = g_byte_array_new ();
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;

  put_part (g, 5, w);
  put_part (g, 5, v);
  put_part (g, 1, node ("Add", "first", "x w", "a"));
  put_part (g, 1, node ("Add", "second", "a v", "y"));
  put_part (g, 11, port ("x", 1, dims));
  put_part (g, 12, port ("y", 1, dims));
  g_autoptr (GByteArray) bytes = model (g, 13);
  g_assert_true (g_file_set_contents (path, (const char *)bytes->data, bytes->len, NULL));
  g_autoptr (LoomOnnx) read = loom_onnx_read_file (path, NULL, faults, &error);
  if (read == NULL)
    {
      g_assert_no_error (error);
      loom_faults_to_error (faults, NULL, &error);
      g_assert_nonnull (error);
      return g_strdup (error->message);
    }
  for (guint i = 0; i < read->weights->len; i++)
    {
      const LoomNamedTensor *t = read->weights->pdata[i];
      for (gint64 k = 0; k < 3; k++)
        g_assert_cmpfloat (loom_tensor_get (t->tensor, k), ==, (double)k + 1 + (g_str_equal (t->name, "v") ? 3 : 0));
    }
  g_assert_cmpuint (read->weights->len, ==, 2);
  return NULL;
}

static void
test_external (void)
{
  static const float six[] = { 1, 2, 3, 4, 5, 6 };
  static const struct
  {
    const char *location, *offset, *length, *says; /* of the first; the second lies at 12 and is right */
  } rows[] = {
    { "d", "0", "12", NULL },
    { "d", NULL, "12", NULL },
    { "./d", "0", "12", NULL },
    { "near", "0", "12", NULL },
    { "nowhere", "0", "12", "does not exist" },
    { NULL, "0", "12", "only files in the model's folder" },
    { "", "0", "12", "only files in the model's folder" },
    { "..", "0", "12", "only files in the model's folder" },
    { "../d", "0", "12", "only files in the model's folder" },
    { "folder/d", "0", "12", NULL },
    { "./folder/d", "0", "12", NULL },
    { "folder/../d", "0", "12", "only files in the model's folder" },
    { "folder//d", "0", "12", "only files in the model's folder" },
    { "sub/d", "0", "12", "does not exist" },
    { "away/d", "0", "12", "cannot be read" },
    { "folder/far", "0", "12", "a link out of the model's folder" },
    { "/etc/passwd", "0", "12", "only files in the model's folder" },
    { "far", "0", "12", "a link out of the model's folder" },
    { "folder", "0", "12", "not a regular file" },
    { "pipe", "0", "12", "not a regular file" },
    { "d", "0", "8", "needs 12 bytes" },
    { "d", "0", NULL, "needs 12 bytes" },
    { "d", "0", "9223372036854775807", "needs 12 bytes" },
    { "d", "-4", "12", "is not a number" },
    { "d", "0", "99999999999999999999", "is not a number" },
    { "d", "0x0", "12", "is not a number" },
    { "d", "16", "12", "truncated" },
    { "d", "9223372036854775807", "12", "truncated" },
    { "d", "4", "12", "shares bytes" },
    { "empty", "0", "12", "truncated" },
  };
  g_autofree char *folder = g_dir_make_tmp ("gradloom-onnx-XXXXXX", NULL), *data = g_build_filename (folder, "d", NULL);
  g_autofree char *near = g_build_filename (folder, "near", NULL), *far = g_build_filename (folder, "far", NULL);
  g_autofree char *sub = g_build_filename (folder, "folder", NULL), *pipe = g_build_filename (folder, "pipe", NULL);
  g_autofree char *empty = g_build_filename (folder, "empty", NULL), *m = g_build_filename (folder, "model.onnx", NULL);
  g_autofree char *below = g_build_filename (sub, "d", NULL), *beyond = g_build_filename (sub, "far", NULL);
  g_autofree char *away = g_build_filename (folder, "away", NULL);
  const char *const made[] = { m, data, near, far, below, beyond, away, sub, pipe, empty, folder };

  g_assert_true (g_file_set_contents (data, (const char *)six, sizeof six, NULL));
  g_assert_true (g_file_set_contents (empty, "", 0, NULL));
  g_assert_cmpint (symlink ("d", near), ==, 0);
  g_assert_cmpint (symlink ("/etc/passwd", far), ==, 0);
  g_assert_cmpint (g_mkdir (sub, 0700), ==, 0);
  g_assert_true (g_file_set_contents (below, (const char *)six, sizeof six / 2, NULL));
  g_assert_cmpint (symlink ("../d", beyond), ==, 0);
  g_assert_cmpint (symlink ("folder", away), ==, 0);
  g_assert_cmpint (mkfifo (pipe, 0600), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *said = read_external (folder, external ("w", rows[i].location, rows[i].offset, rows[i].length),
                                             external ("v", "d", "12", "12"));
      if (rows[i].says != NULL ? said == NULL || strstr (said, rows[i].says) == NULL : said != NULL)
        g_error ("row %u says “%s”", i, said != NULL ? said : "(nothing)");
    }
  /* A file that is missing is reported once. */
  g_autofree char *once = read_external (folder, external ("w", "gone", "0", "12"), external ("v", "gone", "12", "12"));
  g_assert_nonnull (strstr (once, "does not exist"));
  g_assert_null (strstr (strstr (once, "does not exist") + 1, "does not exist"));
  for (guint i = 0; i < G_N_ELEMENTS (made); i++)
    g_remove (made[i]);
}

/* Sizes that are none, where a size is asked for: a sentence, and no assertion (which would end this program). */
static void
test_negative_sizes (void)
{
  static const gint64 dims[] = { -1, 3 }, shape[] = { -1, 3 }, less[] = { -7, 3 }, one[] = { 1, 1 };
  static const struct
  {
    const char *op;
    const gint64 *sizes;
  } rows[] = { { "Expand", shape }, { "Expand", less }, { "ConstantOfShape", less }, { "Reshape", less } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      GByteArray *g = g_byte_array_new ();
      put_part (g, 5, numbers ("sizes", 1, 2, rows[i].sizes));
      put_part (g, 11, port ("x", 2, dims));
      put_part (g, 1, node (rows[i].op, "n", g_str_equal (rows[i].op, "ConstantOfShape") ? "sizes" : "x sizes", "y"));
      put_part (g, 12, port ("y", 2, dims));
      g_free (sentence (model (g, 13)));
    }

  /* The older exporter writes this for expand(x.shape[0], -1): Equal of a dynamic size and -1. */
  GByteArray *g = g_byte_array_new ();
  put_part (g, 5, numbers ("rest", 1, 2, (gint64[]){ -1, -1 }));
  put_part (g, 5, numbers ("ones", 1, 2, one));
  put_part (g, 5, numbers ("zero", 1, 1, (gint64[]){ 0 }));
  put_part (g, 5, numbers ("keep", 1, 1, (gint64[]){ -1 }));
  put_part (g, 11, port ("x", 2, dims));
  put_part (g, 1, node ("Shape", "", "x", "whole"));
  put_part (g, 1, node ("Gather", "", "whole zero", "batch"));
  GByteArray *concat = node ("Concat", "", "batch keep", "s");
  put_attribute (concat, "axis", 0);
  put_part (g, 1, concat);
  put_part (g, 1, node ("Equal", "", "s rest", "q"));
  put_part (g, 1, node ("Where", "", "q ones s", "t"));
  put_part (g, 1, node ("Expand", "n", "x t", "y"));
  put_part (g, 12, port ("y", 2, dims));
  g_autofree char *said = sentence (model (g, 13));
  g_assert_cmpstr (said, ==, NULL);
}

/* The error for a model of this node and the numbers that it reads, which are taken; NULL where it is right. */
static char *
image_sentence (GByteArray *n, const gint64 *in, const gint64 *out, GByteArray *constant, gint64 opset)
{
  GByteArray *g = g_byte_array_new ();

  if (constant != NULL)
    put_part (g, 5, constant);
  put_part (g, 11, port ("x", 4, in));
  put_part (g, 1, n);
  put_part (g, 12, port ("y", 4, out));
  return sentence (model (g, opset));
}

/* A batch that has no number is no obstacle to what leaves it alone, and one to what does not. */
static void
test_dynamic_images (void)
{
  static const gint64 in[] = { -1, 8, 4, 6 }, deep[] = { -1, 32, 2, 3 }, wide[] = { -1, 2, 8, 12 },
                      big[] = { -1, 8, 8, 12 }, four[] = { 4 };

  for (int crd = 0; crd < 2; crd++)
    {
      GByteArray *n = node ("DepthToSpace", "", "x", "y");
      put_attribute (n, "blocksize", 2);
      put_attribute_text (n, "mode", crd ? "CRD" : "DCR");
      g_assert_cmpstr (image_sentence (n, in, wide, NULL, 13), ==, NULL);
    }
  GByteArray *n = node ("SpaceToDepth", "", "x", "y");
  put_attribute (n, "blocksize", 2);
  g_assert_cmpstr (image_sentence (n, in, deep, NULL, 13), ==, NULL);
  n = node ("SpaceToDepth", "", "x", "y");
  put_attribute (n, "blocksize", 4);
  g_autofree char *block = image_sentence (n, in, deep, NULL, 13);
  g_assert_true (block != NULL && strstr (block, "block size does not fit") != NULL);

  /* Scales of 1, 2, 3, 4 leave the batch alone; those of 2, 3, 4, 5 do not. */
  for (guint i = 0; i < 2; i++)
    {
      gint64 opset = i ? 18 : 9;
      const char *op = i ? "Resize" : "Upsample", *reads = i ? "x  s" : "x s";
      g_assert_cmpstr (image_sentence (node (op, "", reads, "y"), in, big, tensor ("s", 1, four, 4, 1), opset), ==,
                       NULL);
      g_autofree char *said = image_sentence (node (op, "", reads, "y"), in, big, tensor ("s", 1, four, 4, 2), opset);
      g_assert_true (said != NULL && strstr (said, "needs to know dimension 0") != NULL);
    }
  for (guint i = 0; i < 2; i++)
    {
      n = node ("Resize", "", "x  s", "y");
      put_attribute_text (n, "keep_aspect_ratio_policy", i ? "not_larger" : "stretch");
      g_autofree char *said = image_sentence (n, in, big, tensor ("s", 1, four, 4, 1), 18);
      g_assert_cmpstr (said, ==, NULL); /* it is about sizes */
    }
}

/* Integers value, value + 1, … of this shape. */
static GByteArray *
shaped_numbers (const char *name, guint rank, const gint64 *dims, gint64 value)
{
  GByteArray *t = g_byte_array_new ();
  gint64 n = 1;

  for (guint i = 0; i < rank; i++)
    {
      put_int (t, 1, dims[i]);
      n *= dims[i];
    }
  put_int (t, 2, 7);
  for (gint64 i = 0; i < n; i++)
    put_int (t, 7, value + i);
  put_text (t, 8, name);
  return t;
}

/* Integers of a quantised LSTM become its weights, turned: row i of W [4, features] is column i of the integers. */
static void
test_quantized_lstm (void)
{
  static const gint64 x[] = { 5, 2, 3 }, y[] = { 5, 1, 2, 1 };
  GByteArray *g = g_byte_array_new (), *n = node ("DynamicQuantizeLSTM", "", "x w r      ws wz rs rz", "y");
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  guint found = 0;

  put_text (n, 7, "com.microsoft");
  put_attribute (n, "hidden_size", 1);
  put_part (g, 5, shaped_numbers ("w", 3, (gint64[]){ 1, 3, 4 }, 1));
  put_part (g, 5, shaped_numbers ("r", 3, (gint64[]){ 1, 1, 4 }, 1));
  put_part (g, 5, tensor ("ws", 1, (gint64[]){ 1 }, 1, 2));
  put_part (g, 5, numbers ("wz", 1, 1, (gint64[]){ 5 }));
  put_part (g, 5, tensor ("rs", 2, (gint64[]){ 1, 4 }, 4, 1));
  put_part (g, 5, numbers ("rz", 1, 4, (gint64[]){ 0, 1, 0, 1 }));
  put_part (g, 11, port ("x", 3, x));
  put_part (g, 12, port ("y", 4, y));
  put_part (g, 1, n);
  g_autoptr (GByteArray) bytes = model (g, 17);
  g_autoptr (LoomOnnx) read = loom_onnx_read_data (bytes->data, bytes->len, "m.onnx", NULL, faults, NULL);

  g_autofree char *why = loom_faults_length (faults) > 0 ? loom_fault_to_string (loom_faults_get (faults, 0)) : NULL;
  g_assert_cmpstr (why, ==, NULL);
  g_assert_nonnull (read);
  g_assert_cmpuint (read->notes->len, >=, 1);
  for (guint i = 0; i < read->weights->len; i++)
    {
      const LoomNamedTensor *weight = read->weights->pdata[i];
      /* Gates i o f c are i f c o in PyTorch's order. */
      static const double input[] = { -8, 0, 8, -4, 4, 12, -2, 6, 14, -6, 2, 10 }, state[] = { 1, 9, 12, 2 };

      if (g_str_has_suffix (weight->name, "weight_ih_l0"))
        for (guint k = 0; k < G_N_ELEMENTS (input); k++)
          g_assert_cmpfloat (loom_tensor_get (weight->tensor, k), ==, input[k]);
      if (g_str_has_suffix (weight->name, "weight_hh_l0"))
        for (guint k = 0; k < G_N_ELEMENTS (state); k++)
          g_assert_cmpfloat (loom_tensor_get (weight->tensor, k), ==, state[k]);
      found += g_str_has_suffix (weight->name, "h_l0");
    }
  g_assert_cmpuint (found, ==, 2);
}

/* Slices of constants, seen in the shape that a Reshape makes of them. */
static void
test_folded_slices (void)
{
  static const struct
  {
    gint64 start[2], end[2], axis[2], step[2];
    const char *shape; /* by the table 2 3, 4 1; NULL: the slice is none */
  } rows[] = {
    { { 0, 0 }, { 2, 2 }, { 0, 1 }, { 1, 1 }, "2,3,4,1" },
    { { -1, 0 }, { G_MININT64, 2 }, { 0, 1 }, { -1, 1 }, "4,1,2,3" },
    { { -1, -1 }, { G_MININT64, G_MININT64 }, { 0, 1 }, { -1, -1 }, "1,4,3,2" },
    { { 9, 9 }, { -9, -9 }, { -2, -1 }, { -1, -1 }, "1,4,3,2" },
    { { 0, 0 }, { G_MAXINT64, G_MAXINT64 }, { 1, 0 }, { 1, 1 }, "2,3,4,1" },
    { { -1, -1 }, { G_MININT64, G_MININT64 }, { 0, 0 }, { -1, -1 }, NULL },
    { { 0, 0 }, { 2, 2 }, { 0, 2 }, { 1, 1 }, NULL },
    { { 0, 0 }, { 2, 2 }, { 0, 1 }, { 0, 1 }, NULL },
    { { 0, 0 }, { 2, 2 }, { 0, 1 }, { G_MININT64, G_MININT64 }, NULL },
  };
  static const gint64 x[] = { 24 }, y[] = { -1 };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      GByteArray *g = g_byte_array_new ();
      g_autoptr (LoomFaults) faults = loom_faults_new ();
      put_part (g, 5, numbers ("flat", 1, 4, (gint64[]){ 2, 3, 4, 1 }));
      put_part (g, 5, numbers ("square", 1, 2, (gint64[]){ 2, 2 }));
      put_part (g, 5, numbers ("rest", 1, 1, (gint64[]){ -1 }));
      put_part (g, 5, numbers ("start", 1, 2, rows[i].start));
      put_part (g, 5, numbers ("end", 1, 2, rows[i].end));
      put_part (g, 5, numbers ("axes", 1, 2, rows[i].axis));
      put_part (g, 5, numbers ("steps", 1, 2, rows[i].step));
      put_part (g, 11, port ("x", 1, x));
      put_part (g, 1, node ("Reshape", "", "flat square", "table"));
      put_part (g, 1, node ("Slice", "", "table start end axes steps", "part"));
      put_part (g, 1, node ("Reshape", "", "part rest", "sizes"));
      put_part (g, 1, node ("Reshape", "view", "x sizes", "y"));
      put_part (g, 12, port ("y", 1, y));
      g_autoptr (GByteArray) bytes = model (g, 13);
      g_autoptr (LoomOnnx) read = loom_onnx_read_data (bytes->data, bytes->len, "m.onnx", NULL, faults, NULL);
      g_autofree char *xml = read ? loom_graph_write (read->graph, NULL) : NULL;
      g_autofree char *want
          = g_strdup_printf ("op=\"reshape\" shape=\"%s\"", rows[i].shape != NULL ? rows[i].shape : "");
      if (rows[i].shape != NULL ? xml == NULL || strstr (xml, want) == NULL : xml != NULL)
        g_error ("row %u: no %s in\n%s", i, want, xml != NULL ? xml : "(nothing)");
    }
}

static void
test_truncated (void)
{
  g_autoptr (GByteArray) whole = model (classifier (good_dims, "Relu"), 13);

  for (guint n = 0; n < whole->len; n++)
    {
      GByteArray *part = g_byte_array_new ();
      g_byte_array_append (part, whole->data, n);
      /* A field that is cut off at the very end may have a default. */
      g_free (sentence (part));
    }
}

static void
damage (const guint8 *data, gsize length, GRand *rand, guint times)
{
  for (guint i = 0; i < times; i++)
    {
      GByteArray *copy = g_byte_array_new ();
      g_byte_array_append (copy, data, (guint)length);
      for (guint k = (guint)g_rand_int_range (rand, 1, 4); k > 0; k--)
        {
          static const guint8 likely[] = { 0, 1, 2, 0x7f, 0x80, 0xff, 8, 10 };
          guint at = (guint)g_rand_int_range (rand, 0, (gint32)copy->len);
          copy->data[at] = g_rand_boolean (rand) ? likely[g_rand_int_range (rand, 0, G_N_ELEMENTS (likely))]
                                                 : (guint8)g_rand_int_range (rand, 0, 256);
        }
      g_free (sentence (copy));
    }
}

static void
test_damaged (void)
{
  g_autoptr (GByteArray) whole = model (classifier (good_dims, "Relu"), 13);
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);
  const char *folder = "/usr/share/libonnx-testdata/data";
  static const char *const groups[] = { "node", "pytorch-converted", "pytorch-operator", "simple" };
  const char *more = g_getenv ("GRADLOOM_FUZZ");
  guint times = more != NULL ? (guint)g_ascii_strtoull (more, NULL, 10) : 1;

  damage (whole->data, whole->len, rand, 2000 * times);
  for (guint i = 0; i < G_N_ELEMENTS (groups); i++)
    {
      g_autofree char *group = g_build_filename (folder, groups[i], NULL);
      g_autoptr (GDir) dir = g_dir_open (group, 0, NULL);
      const char *name;
      while (dir && (name = g_dir_read_name (dir)))
        {
          g_autofree char *path = g_build_filename (group, name, "model.onnx", NULL), *data = NULL;
          gsize length;
          if (g_file_get_contents (path, &data, &length, NULL) && length < 20000)
            damage ((const guint8 *)data, length, rand, 3 * times);
        }
    }
}

/* What is computed while reading is cut to its type, as what is computed later. */
static void
test_folded_integers (void)
{
  static const struct
  {
    const char *op;
    gint64 value; /* of both operands, and cast to the type first */
    int type;
    const char *result;
  } rows[] = {
    { "Add", 100, INT8, "-56" },       { "Sub", 300, INT8, "0" },
    { "Mul", 100, INT8, "16" },        { "Add", 300, INT8, "88" },
    { "Add", 200, UINT8, "144" },      { "Add", 3000000000, UINT32, "1705032704" },
    { "Neg", -128, INT8, "-128" },     { "Add", 2147483647, INT32, "-2" },
    { "Max", 4294967301, INT32, "5" }, { "Add", 4000000001, INT64, "8000000002" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      GByteArray *g = g_byte_array_new (), *cast = node ("Cast", "", "wide", "a");
      g_autofree char *xml = NULL, *value = g_strdup_printf ("value=\"%s\"", rows[i].result);

      put_part (g, 5, numbers ("wide", 0, 1, &rows[i].value));
      put_attribute (cast, "to", rows[i].type);
      put_part (g, 1, cast);
      put_part (g, 1, node (rows[i].op, "", g_str_equal (rows[i].op, "Neg") ? "a" : "a a", "y"));
      put_part (g, 12, typed_port ("y", rows[i].type, 0, NULL));
      xml = written (model (g, 17));
      if (strstr (xml, value) == NULL)
        g_error ("%s of %" G_GINT64_FORMAT ": no %s in\n%s", rows[i].op, rows[i].value, value, xml);
    }
}

/* What may leave its type's range while the model runs is brought back into it. */
static void
test_small_integers (void)
{
  static const struct
  {
    const char *op;
    int type;
  } rows[] = { { "Neg", INT8 },
               { "Abs", INT8 },
               { "Div", INT8 },
               { "Add", INT8 },
               { "ReduceSum", UINT32 },
               { "ReduceProd", UINT32 },
               { "ReduceSumSquare", UINT32 },
               { "CumSum", UINT32 } };
  static const gint64 two[] = { 2 }, zero = 0;

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const gboolean is_sum = g_str_equal (rows[i].op, "CumSum");
      const gboolean is_pair = g_str_equal (rows[i].op, "Div") || g_str_equal (rows[i].op, "Add");
      GByteArray *g = g_byte_array_new ();
      g_autofree char *xml = NULL;

      put_part (g, 5, numbers ("axis", 0, 1, &zero));
      put_part (g, 1, node (rows[i].op, "", is_sum ? "x axis" : is_pair ? "x x" : "x", "y"));
      put_part (g, 11, typed_port ("x", rows[i].type, 1, two));
      put_part (g, 12, typed_port ("y", rows[i].type, 1, two));
      xml = written (model (g, 17));
      if (strstr (xml, "op=\"remainder\"") == NULL)
        g_error ("%s: no remainder in\n%s", rows[i].op, xml);
    }
}

/* A port that says its name alone. */
static GByteArray *
named (const char *name)
{
  GByteArray *info = g_byte_array_new ();

  put_text (info, 1, name);
  return info;
}

/* A body's state has a type that its body or its first value tells, and so has a number of outside; what is added goes
 * round at that type's end. */
static void
test_loop_types (void)
{
  static const gint64 two[] = { 2 }, steps = 3, hundred = 100;

  for (guint i = 0; i < 6; i++)
    {
      const gboolean says = i % 2 == 0, is_scan = i >= 4;
      GByteArray *g = g_byte_array_new (), *body = g_byte_array_new (), *cast = node ("Cast", "", "wide", "k");
      GByteArray *loop = is_scan ? node ("Scan", "", "x rows", "y") : node ("Loop", "", "steps  x", "y");
      g_autofree char *xml = NULL;

      put_part (g, 5, numbers ("steps", 0, 1, &steps));
      put_part (g, 5, numbers ("wide", 0, 1, &hundred));
      put_attribute (cast, "to", INT8);
      put_part (g, 1, cast);
      put_part (body, 1, node ("Where", "", "c s s", "t"));
      put_part (body, 1, node ("Add", "", i == 2 || i == 3 ? "k t" : "t t", "u"));
      if (is_scan)
        {
          put_part (body, 1, node ("Greater", "", "s s", "c"));
          put_part (body, 11, says ? typed_port ("s", INT8, 1, two) : named ("s"));
          put_part (body, 11, named ("row"));
          put_attribute (loop, "num_scan_inputs", 1);
          put_part (g, 11, typed_port ("rows", 1, 2, (gint64[]){ 3, 1 }));
        }
      else
        {
          put_part (body, 11, typed_port ("i", INT64, 0, NULL));
          put_part (body, 11, typed_port ("c", BOOL, 0, NULL));
          put_part (body, 11, says ? typed_port ("s", INT8, 1, two) : named ("s"));
          put_part (body, 12, typed_port ("c", BOOL, 0, NULL));
        }
      put_part (body, 12, typed_port ("u", INT8, 1, two));
      put_attribute_graph (loop, "body", body);
      put_part (g, 1, loop);
      put_part (g, 1, node ("Add", "after", "y y", "z"));
      put_part (g, 11, typed_port ("x", INT8, 1, two));
      put_part (g, 12, typed_port ("z", INT8, 1, two));
      xml = written (model (g, 17));
      char *first = strstr (xml, "op=\"remainder\"");
      if (first == NULL || strstr (first + 1, "op=\"remainder\"") == NULL)
        g_error ("%u: not two remainders in\n%s", i, xml);
    }
}

static void
test_many_attributes (void)
{
  for (guint n = 64; n <= 65; n++)
    {
      GByteArray *relu = node ("Relu", "odd", "x", "y");

      for (guint i = 0; i + 1 < n; i++)
        put_attribute (relu, "seed", 1);
      put_attribute (relu, n == 64 ? "seed" : "slope", 1);
      if (n == 64)
        g_free (written (model (single (relu), 17)));
      else
        expect (model (single (relu), 17), "node odd: Relu: it has 65 attributes; the limit is 64");
    }
}

/* The sentences that come of opening the batch of a model, or NULL where it is open. Takes the graph. */
static char *
opened (GByteArray *graph)
{
  static const LoomOnnxInputs open = { .batch = LOOM_ONNX_BATCH_OPEN };
  g_autoptr (GByteArray) bytes = model (graph, 14);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomOnnx) read = loom_onnx_read_data (bytes->data, bytes->len, "m.onnx", &open, faults, &error);

  if (read == NULL && error == NULL)
    loom_faults_to_error (faults, NULL, &error);
  g_assert_true ((read == NULL) == (error != NULL));
  return read == NULL ? g_strdup (error->message) : NULL;
}

/* Products of sizes that do not fit 64 bits are no position of a batch, and a first size of 2⁶² is none. */
static void
test_large_batch (void)
{
  static const gint64 shapes[][2] = { { G_GINT64_CONSTANT (1) << 19, G_GINT64_CONSTANT (1) << 45 },
                                      { G_GINT64_CONSTANT (1) << 62, 4 },
                                      { 1000001, 8 } };
  static const gint64 eight[] = { 8 };

  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
    {
      GByteArray *g = g_byte_array_new ();

      put_part (g, 5, numbers ("s", 1, 1, eight));
      put_part (g, 11, port ("x", 2, shapes[i]));
      put_part (g, 1, node ("Transpose", "", "x", "t"));
      put_part (g, 1, node ("Reshape", "r", "t s", "y"));
      put_part (g, 12, port ("y", 1, eight));
      g_autofree char *said = opened (g);
      g_assert_nonnull (said);
      if (strstr (said, i == 0 ? "Reshape" : "no fixed batch in common") == NULL)
        g_error ("%u: %s", i, said);
    }
}

/* The same for one node, which reads x [3, 4, 5] and integers k, along an axis. */
static gboolean
opens (const char *op, gboolean reads_k, const char *attribute, gint64 axis, gint64 k)
{
  static const gint64 in[] = { 3, 4, 5 }, zero[] = { 0, 0, 0 };
  GByteArray *g = g_byte_array_new (), *n = node (op, "", reads_k ? "x k" : "x", "y");

  if (attribute != NULL)
    put_attribute (n, attribute, axis);
  put_part (g, 5, g_str_equal (op, "Gather") ? numbers ("k", 1, 3, zero) : numbers ("k", 1, 1, &k));
  put_part (g, 11, port ("x", 3, in));
  put_part (g, 1, n);
  put_part (g, 12, port ("y", 3, in));
  g_autofree char *said = opened (g);
  return said == NULL;
}

/* Operators that work along the batch mix its samples, even where sizes stay; along another axis they do not. */
static void
test_mixed_samples (void)
{
  static const struct
  {
    const char *op;
    gboolean reads_k;
    const char *attribute;
  } rows[] = {
    { "Softmax", FALSE, "axis" },         { "LogSoftmax", FALSE, "axis" }, { "Hardmax", FALSE, "axis" },
    { "ArgMax", FALSE, "axis" },          { "TopK", TRUE, "axis" },        { "Gather", TRUE, "axis" },
    { "LpNormalization", FALSE, "axis" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    for (gint64 axis = -3; axis < 3; axis++)
      if (opens (rows[i].op, rows[i].reads_k, rows[i].attribute, axis, 3) != (axis % 3 != 0))
        g_error ("%s along %d", rows[i].op, (int)axis);
  for (gint64 axis = -3; axis < 3; axis++)
    g_assert_true (opens ("CumSum", TRUE, NULL, 0, axis) == (axis % 3 != 0));
  g_assert_true (opens ("Relu", FALSE, NULL, 0, 0));
  g_assert_false (opens ("NonZero", FALSE, NULL, 0, 0));
}

/* [rows, 4, 5] through these nodes, with integers that they read. */
static GByteArray *
batch_graph (GByteArray *first, GByteArray *second, GByteArray *third)
{
  static const gint64 in[] = { 3, 4, 5 };
  GByteArray *g = g_byte_array_new ();

  put_part (g, 5, numbers ("zero", 1, 1, (gint64[]){ 0 }));
  put_part (g, 5, numbers ("last", 1, 1, (gint64[]){ -1 }));
  put_part (g, 5, numbers ("before", 1, 1, (gint64[]){ -100 }));
  put_part (g, 5, numbers ("flat", 1, 1, (gint64[]){ 60 }));
  put_part (g, 5, numbers ("turned", 1, 3, (gint64[]){ 5, 4, 3 }));
  put_part (g, 5, numbers ("same", 1, 3, in));
  put_part (g, 5, tensor ("w", 3, (gint64[]){ 1, 2, 5 }, 10, 0));
  put_part (g, 5, tensor ("r", 3, (gint64[]){ 1, 2, 2 }, 4, 0));
  put_part (g, 5, tensor ("five", 2, (gint64[]){ 5, 5 }, 25, 0));
  put_part (g, 11, port ("x", 3, in));
  put_part (g, 1, first);
  if (second != NULL)
    put_part (g, 1, second);
  if (third != NULL)
    put_part (g, 1, third);
  put_part (g, 12, port ("y", 3, in));
  return g;
}

static void
expect_mixed (GByteArray *graph)
{
  g_autofree char *said = opened (graph);

  g_assert_nonnull (said);
  if (strstr (said, "mixes the samples") == NULL)
    g_error ("%s", said);
}

static void
expect_open (GByteArray *graph)
{
  g_autofree char *said = opened (graph);

  g_assert_cmpstr (said, ==, NULL);
}

/* The batch of a sequence is its second dimension, or with a layout of 1 its first; concatenation, reversal and
 * products differ in their axes. */
static void
test_batch_axes (void)
{
  for (gint64 layout = 0; layout < 2; layout++)
    {
      GByteArray *n = node ("RNN", "", "x w r", "y");

      put_attribute (n, "hidden_size", 2);
      put_attribute (n, "layout", layout);
      (layout == 0 ? expect_mixed : expect_open) (batch_graph (n, NULL, NULL));
    }
  for (gint64 axis = 0; axis < 2; axis++)
    {
      GByteArray *n = node ("Concat", "", "x x", "y");

      put_attribute (n, "axis", axis);
      (axis == 0 ? expect_mixed : expect_open) (batch_graph (n, NULL, NULL));
    }
  expect_mixed (batch_graph (node ("Slice", "", "x last before zero last", "y"), NULL, NULL));
  expect_open (batch_graph (node ("Slice", "", "x last before last last", "y"), NULL, NULL));
  expect_open (batch_graph (node ("MatMul", "", "x five", "y"), NULL, NULL));
}

/* Elements of [B, 4, 5] in a row are not those of [5, 4, B] in a row, and Flatten keeps their order. */
static void
test_batch_order (void)
{
  GByteArray *g = batch_graph (node ("Transpose", "", "x", "t"), node ("Reshape", "", "t flat", "u"),
                               node ("Reshape", "", "x flat", "v"));

  put_part (g, 1, node ("Add", "", "u v", "z"));
  put_part (g, 1, node ("Reshape", "", "z same", "y"));
  expect_mixed (g);
  expect_mixed (batch_graph (node ("Transpose", "", "x", "t"), node ("Reshape", "", "t flat", "y"), NULL));
  expect_open (batch_graph (node ("Reshape", "", "x flat", "y"), NULL, NULL));
  g = batch_graph (node ("Transpose", "", "x", "t"), node ("Flatten", "", "t", "u"),
                   node ("Reshape", "", "u turned", "v"));
  put_part (g, 1, node ("Transpose", "", "v", "y"));
  expect_open (g);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/onnx-reader/graph", test_graph);
  g_test_add_func ("/onnx-reader/dynamic-sizes", test_dynamic_sizes);
  g_test_add_func ("/onnx-reader/fixed-sizes", test_fixed_sizes);
  g_test_add_func ("/onnx-reader/linear", test_linear);
  g_test_add_func ("/onnx-reader/unsupported", test_unsupported);
  g_test_add_func ("/onnx-reader/words", test_words);
  g_test_add_func ("/onnx-reader/remedies", test_remedies);
  g_test_add_func ("/onnx-reader/functions", test_functions);
  g_test_add_func ("/onnx-reader/overloads", test_overloads);
  g_test_add_func ("/onnx-reader/large-functions", test_large_functions);
  g_test_add_func ("/onnx-reader/trees", test_trees);
  g_test_add_func ("/onnx-reader/large-trees", test_large_trees);
  g_test_add_func ("/onnx-reader/packed-blocks", test_packed_blocks);
  g_test_add_func ("/onnx-reader/large-regions", test_large_regions);
  g_test_add_func ("/onnx-reader/split-to-sequence", test_split_to_sequence);
  g_test_add_func ("/onnx-reader/order", test_order);
  g_test_add_func ("/onnx-reader/folded", test_folded);
  g_test_add_func ("/onnx-reader/lies", test_lies);
  g_test_add_func ("/onnx-reader/external", test_external);
  g_test_add_func ("/onnx-reader/negative-sizes", test_negative_sizes);
  g_test_add_func ("/onnx-reader/dynamic-images", test_dynamic_images);
  g_test_add_func ("/onnx-reader/quantized-lstm", test_quantized_lstm);
  g_test_add_func ("/onnx-reader/folded-slices", test_folded_slices);
  g_test_add_func ("/onnx-reader/folded-integers", test_folded_integers);
  g_test_add_func ("/onnx-reader/small-integers", test_small_integers);
  g_test_add_func ("/onnx-reader/loop-types", test_loop_types);
  g_test_add_func ("/onnx-reader/many-attributes", test_many_attributes);
  g_test_add_func ("/onnx-reader/large-batch", test_large_batch);
  g_test_add_func ("/onnx-reader/mixed-samples", test_mixed_samples);
  g_test_add_func ("/onnx-reader/batch-axes", test_batch_axes);
  g_test_add_func ("/onnx-reader/batch-order", test_batch_order);
  g_test_add_func ("/onnx-reader/truncated", test_truncated);
  g_test_add_func ("/onnx-reader/damaged", test_damaged);
  return g_test_run ();
}
