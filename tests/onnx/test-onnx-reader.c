/* The ONNX reader: what a graph looks like that was a model, and what cannot be one. */
#include <string.h>
#include <unistd.h>

#include "engine/net/loom-net.h"
#include "engine/onnx/loom-onnx.h"
#include "tests/onnx/onnx-bytes.h"
#include "tests/onnx/onnx-reading.h"
#include "tests/test-program.h"

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

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/onnx-reader/graph", test_graph);
  g_test_add_func ("/onnx-reader/linear", test_linear);
  g_test_add_func ("/onnx-reader/unsupported", test_unsupported);
  g_test_add_func ("/onnx-reader/words", test_words);
  g_test_add_func ("/onnx-reader/remedies", test_remedies);
  g_test_add_func ("/onnx-reader/functions", test_functions);
  g_test_add_func ("/onnx-reader/overloads", test_overloads);
  g_test_add_func ("/onnx-reader/large-functions", test_large_functions);
  g_test_add_func ("/onnx-reader/order", test_order);
  return g_test_run ();
}
