/* Sizes of a model: fixed ones, those that depend on the batch, and operators that keep samples apart. */
#include <string.h>
#include <unistd.h>

#include "engine/onnx/loom-onnx.h"
#include "tests/onnx/onnx-bytes.h"
#include "tests/onnx/onnx-reading.h"
#include "tests/test-program.h"

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
  put_part (g, 5, numbers ("state", 1, 3, (gint64[]){ 3, 1, 2 }));
  put_part (g, 5, numbers ("wider", 1, 3, (gint64[]){ 3, 4, 10 }));
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

static char *
refused (GByteArray *graph)
{
  char *said = opened (graph);

  g_assert_nonnull (said);
  return said;
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
  /* A state of zeros is that of any batch. */
  GByteArray *zeros = node ("RNN", "", "x w r   h", "y");
  put_attribute (zeros, "hidden_size", 2);
  put_attribute (zeros, "layout", 1);
  expect_open (batch_graph (node ("ConstantOfShape", "", "state", "h"), zeros, NULL));
  for (gint64 axis = 0; axis < 2; axis++)
    {
      GByteArray *n = node ("Concat", "", "x x", "y");

      put_attribute (n, "axis", axis);
      (axis == 0 ? expect_mixed : expect_open) (batch_graph (n, NULL, NULL));
    }
  /* A size that names the batch of the model is that of any batch, another one is not. */
  expect_open (batch_graph (node ("Resize", "", "x   same", "y"), NULL, NULL));
  expect_open (batch_graph (node ("Resize", "", "x   wider", "y"), NULL, NULL));
  g_free (refused (batch_graph (node ("Resize", "", "x   turned", "y"), NULL, NULL)));
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
  g_test_add_func ("/onnx-reader/dynamic-sizes", test_dynamic_sizes);
  g_test_add_func ("/onnx-reader/fixed-sizes", test_fixed_sizes);
  g_test_add_func ("/onnx-reader/negative-sizes", test_negative_sizes);
  g_test_add_func ("/onnx-reader/dynamic-images", test_dynamic_images);
  g_test_add_func ("/onnx-reader/large-batch", test_large_batch);
  g_test_add_func ("/onnx-reader/mixed-samples", test_mixed_samples);
  g_test_add_func ("/onnx-reader/batch-axes", test_batch_axes);
  g_test_add_func ("/onnx-reader/batch-order", test_batch_order);
  return g_test_run ();
}
