/* Operators of ONNX that become several nodes, another one, or a constant. */
#include <string.h>
#include <unistd.h>

#include "engine/onnx/loom-onnx.h"
#include "tests/onnx/onnx-bytes.h"
#include "tests/onnx/onnx-reading.h"
#include "tests/test-program.h"

enum
{
  FLOAT = 1,
  UINT8 = 2,
  INT8 = 3,
  INT32 = 6,
  INT64 = 7,
  BOOL = 9,
  FLOAT16 = 10,
  UINT32 = 12,
  BFLOAT16 = 16
};

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

/* A band of 1100 positions, repeated for every sample, is computed for one sample. */
static void
test_folded_band (void)
{
  enum
  {
    N = 1100
  };
  static const gint64 row[] = { 1, 1, N, 1 }, column[] = { 1, 1, 1, N }, x[] = { -1, 1, N, N }, zero = 0, far = 7;
  GByteArray *g = g_byte_array_new (), *shape = node ("Shape", "", "x", "batch"),
             *sizes = node ("Concat", "", "batch one", "sizes");

  put_part (g, 5, shaped_numbers ("rows", 4, row, 0));
  put_part (g, 5, shaped_numbers ("columns", 4, column, 0));
  put_part (g, 5, numbers ("one", 1, 3, row + 1));
  put_part (g, 5, numbers ("zero", 0, 1, &zero));
  put_part (g, 5, numbers ("far", 0, 1, &far));
  put_part (g, 5, tensor ("none", 0, NULL, 1, 0));
  put_attribute (shape, "end", 1);
  put_attribute (sizes, "axis", 0);
  put_part (g, 1, shape);
  put_part (g, 1, sizes);
  put_part (g, 1, node ("Expand", "", "rows sizes", "places"));
  put_part (g, 1, node ("Sub", "", "places columns", "apart"));
  put_part (g, 1, node ("GreaterOrEqual", "", "apart zero", "after"));
  put_part (g, 1, node ("LessOrEqual", "", "apart far", "near"));
  put_part (g, 1, node ("And", "", "after near", "both"));
  put_part (g, 1, node ("Where", "", "both x none", "y"));
  put_part (g, 11, port ("x", 4, x));
  put_part (g, 12, port ("y", 4, x));
  g_autofree char *xml = written (model (g, 17));
  if (strstr (xml, "shape=\"1,1,1100,1100\" dtype=\"bool\"") == NULL || strstr (xml, "op=\"le\"") != NULL)
    g_error ("the band is not folded:\n%s", xml);
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

/* y is x where a comparison of position `index` of 0 … batch − 1, plus `added`, is true: in the model as written. */
static char *
compared (const char *op, gint64 index, gint64 added, int type, gint64 with)
{
  static const gint64 x[] = { -1, 4 }, first = 0, zero = 0, one = 1;
  GByteArray *g = g_byte_array_new (), *left = node ("Cast", "", "sum", "a"), *right = node ("Cast", "", "with", "b");
  GByteArray *at = g_byte_array_new ();

  put_int (at, 1, 1);
  put_int (at, 1, 1);
  put_int (at, 2, INT64);
  put_int (at, 7, index);
  put_text (at, 8, "at");
  put_part (g, 5, at);
  put_part (g, 5, numbers ("first", 0, 1, &first));
  put_part (g, 5, numbers ("zero", 0, 1, &zero));
  put_part (g, 5, numbers ("one", 0, 1, &one));
  put_part (g, 5, numbers ("added", 0, 1, &added));
  put_part (g, 5, numbers ("with", 0, 1, &with));
  put_part (g, 1, node ("Shape", "", "x", "sizes"));
  put_part (g, 1, node ("Gather", "", "sizes first", "n"));
  put_part (g, 1, node ("Range", "", "zero n one", "positions"));
  put_part (g, 1, node ("GatherND", "", "positions at", "picked"));
  put_part (g, 1, node ("Add", "", "picked added", "sum"));
  put_attribute (left, "to", type);
  put_attribute (right, "to", type);
  put_part (g, 1, left);
  put_part (g, 1, right);
  put_part (g, 1, node (op, "", "a b", "c"));
  put_part (g, 1, node ("Not", "", "c", "d"));
  put_part (g, 1, node ("And", "", "d c", "e"));
  put_part (g, 1, node ("Or", "", "e c", "f"));
  put_part (g, 1, node ("Neg", "", "x", "minus"));
  put_part (g, 1, node ("Where", "", "f x minus", "y"));
  put_part (g, 11, port ("x", 2, x));
  put_part (g, 12, port ("y", 2, x));
  return written (model (g, 17));
}

/* A comparison is folded if it is the same at any size, and if no type has rounded its operands: 257 is 256 in bf16. */
static void
test_folded_comparisons (void)
{
  static const struct
  {
    const char *op;
    gint64 index, added, with;
    int type;
    gboolean is_folded;
  } rows[] = {
    { "Greater", 1, 0, 512, INT64, TRUE },      { "Greater", -1, 0, 512, INT64, FALSE },
    { "Greater", -2, 0, 512, FLOAT, FALSE },    { "Equal", 1, 256, 512, FLOAT, TRUE },
    { "Equal", 1, 255, 256, BFLOAT16, TRUE },   { "Equal", 1, 256, 256, BFLOAT16, FALSE },
    { "Equal", 1, 2047, 2048, FLOAT16, TRUE },  { "Equal", 1, 2048, 2048, FLOAT16, FALSE },
    { "Equal", 1, 16777215, 512, FLOAT, TRUE }, { "Equal", 1, 16777216, 16777216, FLOAT, FALSE },
    { "Equal", -1, 0, 1, BOOL, FALSE },         { "Equal", 1, 0, 1, BOOL, TRUE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *xml = compared (rows[i].op, rows[i].index, rows[i].added, rows[i].type, rows[i].with);

      if ((strstr (xml, " op=\"arange\"") == NULL) != rows[i].is_folded)
        g_error ("row %u is %sfolded:\n%s", i, rows[i].is_folded ? "not " : "", xml);
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

/* x / ½ · ⌊draws + ½⌋ is dropout; of other draws that are rounded down nothing is. */
static void
test_random_depth (void)
{
  static const gint64 dims[] = { 3, 2 };

  for (guint i = 0; i < 2; i++)
    {
      GByteArray *g = g_byte_array_new ();

      put_part (g, 5, tensor ("half", 0, dims, 1, 0.5f));
      put_part (g, 11, port ("x", 2, dims));
      put_part (g, 1, node ("RandomUniformLike", "", "x", "r"));
      put_part (g, 1, node (i == 0 ? "Add" : "Mul", "", "r half", "s"));
      put_part (g, 1, node ("Floor", "", "s", "f"));
      put_part (g, 1, node ("Div", "", "x half", "d"));
      put_part (g, 1, node ("Mul", "", "d f", "y"));
      put_part (g, 12, port ("y", 2, dims));
      g_autofree char *xml = written (model (g, 17));
      if ((strstr (xml, "op=\"dropout\"") != NULL) != (i == 0) || (strstr (xml, "op=\"rand\"") != NULL) != (i == 1))
        g_error ("%u:\n%s", i, xml);
    }
}

/* Two readers of a mask have one dropout; one that reads the mask in another way is refused. */
static void
test_shared_mask (void)
{
  static const gint64 dims[] = { 3, 2 };

  for (guint i = 0; i < 2; i++)
    {
      GByteArray *g = g_byte_array_new ();

      put_part (g, 5, tensor ("half", 0, dims, 1, 0.5f));
      put_part (g, 11, port ("x", 2, dims));
      put_part (g, 1, node ("RandomUniformLike", "", "x", "r"));
      put_part (g, 1, node ("Add", "", "r half", "s"));
      put_part (g, 1, node ("Floor", "", "s", "f"));
      put_part (g, 1, node ("Div", "", "x half", "d"));
      put_part (g, 1, node ("Mul", "", "d f", "a"));
      put_part (g, 1, node ("Tanh", "", "x", "t"));
      put_part (g, 1, node ("Div", "", "t half", "u"));
      put_part (g, 1, node ("Mul", "", i == 0 ? "u f" : "t f", "b"));
      put_part (g, 1, node ("Add", "", "a b", "y"));
      put_part (g, 12, port ("y", 2, dims));
      if (i == 1)
        {
          expect (model (g, 17), "something else reads them, too");
          continue;
        }
      g_autofree char *xml = written (model (g, 17));
      const char *first = strstr (xml, "op=\"dropout\"");
      if (first == NULL || strstr (first + 1, "op=\"dropout\"") != NULL || strstr (xml, "op=\"rand\"") != NULL)
        g_error ("no single dropout:\n%s", xml);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/onnx-reader/trees", test_trees);
  g_test_add_func ("/onnx-reader/packed-blocks", test_packed_blocks);
  g_test_add_func ("/onnx-reader/split-to-sequence", test_split_to_sequence);
  g_test_add_func ("/onnx-reader/folded", test_folded);
  g_test_add_func ("/onnx-reader/quantized-lstm", test_quantized_lstm);
  g_test_add_func ("/onnx-reader/folded-slices", test_folded_slices);
  g_test_add_func ("/onnx-reader/folded-integers", test_folded_integers);
  g_test_add_func ("/onnx-reader/folded-comparisons", test_folded_comparisons);
  g_test_add_func ("/onnx-reader/folded-band", test_folded_band);
  g_test_add_func ("/onnx-reader/small-integers", test_small_integers);
  g_test_add_func ("/onnx-reader/loop-types", test_loop_types);
  g_test_add_func ("/onnx-reader/random-depth", test_random_depth);
  g_test_add_func ("/onnx-reader/shared-mask", test_shared_mask);
  return g_test_run ();
}
