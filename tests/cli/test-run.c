/* `gradloom run`: docs/using-models.md sentence by sentence, and gradients against differences of its answers. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

static char *xyz;

static const double X[12] = { 0.5, -1, 2, 0.25, 3, -0.75, 1.5, -2, 0.125, 4, -0.5, 1 };
static const gint64 XY[2] = { 3, 4 };

static void
test_values (void)
{
  cli_save ("x.npy", LOOM_F64, 2, XY, X);
  g_auto (CliResult) r = cli ("run", xyz, "--in", "x=x.npy", "--out", "s=s.npy", "--out", "product.out=p.npy", "--grad",
                              "s", "--grads", "g.st", "--save-weights", "w.st", NULL);
  g_assert_cmpstr (r.err, ==, "");
  g_assert_cmpstr (r.out, ==, ""); /* nothing on success */
  g_assert_cmpint (r.status, ==, 0);

  g_autoptr (LoomTensor) s = cli_load ("s.npy"), p = cli_load ("p.npy");
  g_autoptr (LoomTensor) y = cli_weight ("w.st", "y"), z = cli_weight ("w.st", "z");
  g_autoptr (LoomTensor) gx = cli_weight ("g.st", "input:x"), gy = cli_weight ("g.st", "y");
  g_autoptr (LoomTensor) gz = cli_weight ("g.st", "z");
  double sum = 0;
  g_assert_cmpint (s->rank, ==, 0);
  g_assert_cmpint (s->dtype, ==, LOOM_F32);
  for (int i = 0; i < 12; i++)
    {
      sum += X[i] * loom_tensor_get (y, i) + loom_tensor_get (z, i);
      g_assert_cmpfloat_with_epsilon (loom_tensor_get (p, i), X[i] * loom_tensor_get (y, i), 1e-5);
      g_assert_cmpfloat_with_epsilon (loom_tensor_get (gx, i), loom_tensor_get (y, i), 1e-6);
      g_assert_cmpfloat_with_epsilon (loom_tensor_get (gy, i), X[i], 1e-6);
      g_assert_cmpfloat (loom_tensor_get (gz, i), ==, 1);
    }
  g_assert_cmpfloat_with_epsilon (loom_tensor_get (s, 0), sum, 1e-4);

  g_auto (CliResult) json = cli ("run", xyz, "--in", "x=x.npy", "--out", "product=p.npy", "--json", NULL);
  g_assert_cmpstr (
      json.out, ==,
      "{\"event\":\"output\",\"port\":\"product\",\"shape\":[3,4],\"dtype\":\"f32\",\"file\":\"p.npy\"}\n");
  g_auto (CliResult) wide = cli ("run", xyz, "--in", "x=x.npy", "--out", "product=p.npy", "--dtype", "f64", NULL);
  g_assert_cmpint (wide.status, ==, 0);
  g_autoptr (LoomTensor) p64 = cli_load ("p.npy");
  g_assert_cmpint (p64->dtype, ==, LOOM_F64);
}

/* A matrix as numbers with commas and as a heat map: of an attention map, a triangle. */
static void
test_maps (void)
{
  g_autofree char *path = cli_example ("lessons/causal-mask.xml"), *csv = NULL, *svg = NULL, *png = NULL;
  gsize length;
  g_auto (CliResult) r = cli ("run", path, "--out", "mask=mask.csv", "--out", "attention=map.svg", "--out",
                              "attention.out=map.png", NULL);

  g_assert_cmpint (r.status, ==, 0);
  g_assert_true (g_file_get_contents ("mask.csv", &csv, NULL, NULL));
  g_assert_true (g_str_has_prefix (csv, "1,0,0,0,0,0,0,0\n1,1,0,0,0,0,0,0\n"));
  g_assert_true (g_file_get_contents ("map.svg", &svg, NULL, NULL));
  g_assert_nonnull (strstr (svg, "attention: white 0, dark 1"));
  g_assert_nonnull (strstr (svg, ">0.729</text>"));
  g_assert_true (g_file_get_contents ("map.png", &png, &length, NULL));
  g_assert_cmpmem (png + 1, 3, "PNG", 3);
  g_assert_cmpuint ((guint8)png[19], ==, 8 * 16); /* its width */
}

/* Values without a file: given as numbers, printed as numbers; gradients with --grads -. */
static void
test_print (void)
{
  static const char small[] = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
                              "<node id=\"x\" op=\"input\" shape=\"B,2\"/><node id=\"big\" op=\"input\" shape=\"N\"/>"
                              "<node id=\"double\" op=\"add\"/><node id=\"sum\" op=\"sum\"/>"
                              "<wire from=\"x\" to=\"double.input\"/><wire from=\"x\" to=\"double.other\"/>"
                              "<wire from=\"double\" to=\"sum\"/></graph>";
  g_autoptr (GString) many = g_string_new ("big=[0");

  cli_write ("small.xml", small);
  g_auto (CliResult) r = cli ("run", "small.xml", "--in", "x=[[1, -2.5], [1e-9, 4]]", "--print", "double", "--print",
                              "sum", "--grad", "sum", "--grads", "-", NULL);
  g_assert_cmpstr (r.err, ==, "");
  g_assert_cmpstr (r.out, ==,
                   "double (f32 2 × 2)\n"
                   "  [[ 2.0000e+00, -5.0000e+00],\n"
                   "   [ 2.0000e-09,  8.0000e+00]]\n"
                   "sum (f32 scalar)\n"
                   "  5.0000\n"
                   "gradient of input:x (f32 2 × 2)\n"
                   "  [[2.0000, 2.0000],\n"
                   "   [2.0000, 2.0000]]\n");
  g_auto (CliResult) json = cli ("run", "small.xml", "--in", "x=[[1,2]]", "--print", "double", "--json", NULL);
  g_assert_cmpstr (json.out, ==,
                   "{\"event\":\"output\",\"port\":\"double\",\"shape\":[1,2],\"dtype\":\"f32\",\"values\":[2,4]}\n");
  for (int i = 1; i < 1001; i++)
    g_string_append_printf (many, ",%d", i);
  g_string_append_c (many, ']');
  g_auto (CliResult) big = cli ("run", "small.xml", "--in", many->str, "--print", "big", NULL);
  g_assert_cmpstr (big.out, ==,
                   "big (f32 1001)\n  [   0.0000,    1.0000,    2.0000, …,  998.0000,  999.0000, 1000.0000]\n");
  cli_write ("ids.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"ids\" op=\"input\" shape=\"N\" "
                        "dtype=\"i64\"/></graph>");
  g_auto (CliResult) ids = cli ("run", "ids.xml", "--in", "ids=[9007199254740993, -1]", "--print", "ids", NULL);
  g_assert_cmpstr (ids.out, ==, "ids (i64 2)\n  [9007199254740993,               -1]\n");
  cli_expect (1, "“[[1],[2,3]]” is neither a number nor a list", "run", "small.xml", "--in", "x=[[1],[2,3]]", "--print",
              "sum");
  cli_expect (1, "“1x” cannot be read", "run", "small.xml", "--in", "x=1x", "--print", "sum");
  cli_expect (1, "is 1 × 3", "run", "small.xml", "--in", "x=[[1,2,3]]", "--print", "sum");
  cli_expect (2, "--grads - prints text", "run", "small.xml", "--grad", "sum", "--grads", "-", "--json");
}

/* One of two files cannot be written: then neither is there, and an old one is as it was. */
static void
test_all_or_none (void)
{
  g_autofree char *text = NULL;

  cli_save ("x.npy", LOOM_F64, 2, XY, X);
  cli_write ("old.npy", "old");
  cli_expect (5, "“nowhere/s.npy” could not be written", "run", xyz, "--in", "x=x.npy", "--out", "product=new.npy",
              "--out", "s=nowhere/s.npy");
  cli_expect (5, "“nowhere/g.st” could not be written", "run", xyz, "--in", "x=x.npy", "--out", "product=new.npy",
              "--out", "s=old.npy", "--grad", "s", "--grads", "nowhere/g.st");
  g_assert_false (g_file_test ("new.npy", G_FILE_TEST_EXISTS));
  g_assert_true (g_file_get_contents ("old.npy", &text, NULL, NULL));
  g_assert_cmpstr (text, ==, "old");
  g_autoptr (GDir) dir = g_dir_open (".", 0, NULL);
  for (const char *name; (name = g_dir_read_name (dir));)
    g_assert_false (g_str_has_suffix (name, ".part"));
  cli_expect (0, NULL, "run", xyz, "--in", "x=x.npy", "--out", "product=new.npy", "--out", "s=old.npy");
  g_autoptr (LoomTensor) s = cli_load ("old.npy"), p = cli_load ("new.npy");
  g_assert_cmpint (s->rank, ==, 0);
  g_assert_cmpint (p->rank, ==, 2);
}

static void
test_usage (void)
{
  cli_expect (2, "No output is requested", "run", xyz);
  cli_expect (2, "No output is requested", "run", xyz, "--in", "x=x.npy");
  cli_expect (2, "--grad", "run", xyz, "--in", "x=x.npy", "--out", "s=s.npy", "--grads", "g.st");
  cli_expect (2, "FILE.npy", "run", xyz, "--in", "x", "--out", "s=s.npy");
  cli_expect (2, "eval or train", "run", xyz, "--out", "s=s.npy", "--mode", "test");
  cli_expect (2, "f32 or f64", "run", xyz, "--out", "s=s.npy", "--dtype", "f16");
  cli_expect (2, "ref", "run", xyz, "--in", "x=x.npy", "--out", "s=s.npy", "--dtype", "f64", "--device", "cpu");
  cli_expect (2, "one GRAPH", "run", "--out", "s=s.npy");
  cli_expect (2, "--grad-output", "run", xyz, "--in", "x=x.npy", "--grad", "product", "--grads", "g.st");
  cli_expect (2, "twice", "run", xyz, "--in", "x=x.npy", "--in", "x.out=x.npy", "--out", "s=s.npy");
}

static void
test_bad_inputs (void)
{
  static const gint64 other[2] = { 4, 3 };
  double ints[12], halves[12];

  for (int i = 0; i < 12; i++)
    {
      ints[i] = i - 6;
      halves[i] = i + 0.5;
    }
  cli_save ("x.npy", LOOM_F32, 2, XY, X);
  cli_save ("turned.npy", LOOM_F32, 2, other, X);
  cli_save ("ints.npy", LOOM_I64, 2, XY, ints);
  cli_save ("flags.npy", LOOM_BOOL, 2, XY, (double[12]){ 1, 0, 1 });
  cli_save ("halves.npy", LOOM_F16, 2, XY, halves);
  cli_expect (1, "x", "run", xyz, "--out", "s=s.npy"); /* a missing input */
  cli_expect (1, "3 × 4", "run", xyz, "--in", "x=turned.npy", "--out", "s=s.npy");
  cli_expect (1, "nowhere.npy", "run", xyz, "--in", "x=nowhere.npy", "--out", "s=s.npy");
  cli_expect (2, "missing", "run", xyz, "--in", "missing=x.npy", "--out", "s=s.npy");
  cli_expect (2, "missing", "run", xyz, "--in", "x=x.npy", "--out", "missing=s.npy");
  cli_expect (5, NULL, "run", xyz, "--in", "x=x.npy", "--out", "s=no/such/folder/s.npy");
  cli_expect (3, "cuda", "run", xyz, "--in", "x=x.npy", "--out", "s=s.npy", "--device", "cuda:99");

  /* Integers and other floats convert. */
  cli_expect (0, NULL, "run", xyz, "--in", "x=ints.npy", "--out", "x=back.npy");
  g_autoptr (LoomTensor) back = cli_load ("back.npy");
  g_assert_cmpint (back->dtype, ==, LOOM_F32);
  g_assert_cmpfloat (loom_tensor_get (back, 0), ==, -6);
  cli_expect (0, NULL, "run", xyz, "--in", "x=halves.npy", "--out", "x=back.npy");
  cli_expect (0, NULL, "run", xyz, "--in", "x=flags.npy", "--out", "x=back.npy");
  /* 2²⁴ + 1 has no f32. */
  ints[3] = 16777217;
  cli_save ("large.npy", LOOM_I64, 2, XY, ints);
  cli_expect (1, NULL, "run", xyz, "--in", "x=large.npy", "--out", "s=s.npy");
  cli_expect (0, NULL, "run", xyz, "--in", "x=large.npy", "--out", "s=s.npy", "--dtype", "f64");

  g_autofree char *spirals = cli_example ("lessons/spirals.xml");
  static const gint64 five[1] = { 5 };
  cli_save ("y.npy", LOOM_F32, 1, five, X);
  cli_expect (1, "i64", "run", spirals, "--in", "data.y=y.npy", "--out", "loss=s.npy");
  cli_save ("y.npy", LOOM_I32, 1, five, (double[5]){ 0, 1, 2, 0, 0 }); /* there is no class 2 */
  cli_expect (1, NULL, "run", spirals, "--in", "data.y=y.npy", "--out", "loss=s.npy");
}

static void
test_inner_ports (void)
{
  g_autofree char *spirals = cli_example ("lessons/spirals.xml");
  static const gint64 dims[2] = { 5, 2 };
  static const gint64 y_dims[1] = { 5 };

  /* Without data the first batch of the test samples, in file order; B comes from <train>. */
  cli_expect (0, NULL, "run", spirals, "--out", "data.x=x.npy", "--out", "data.y=y.npy", "--out", "scores=o.npy");
  g_autoptr (LoomTensor) all = cli_load ("o.npy"), y = cli_load ("y.npy");
  g_assert_cmpint (all->dim[0], ==, 64);
  g_assert_cmpint (y->dtype, ==, LOOM_I64);
  /* Given back by hand it is the same. */
  cli_expect (0, NULL, "run", spirals, "--in", "data.x=x.npy", "--out", "scores=o2.npy");
  g_autoptr (LoomTensor) again = cli_load ("o2.npy");
  g_assert_true (loom_tensor_equal_bits (all, again));

  /* With an inner port set, only its successors are computed, and B is its 5. */
  cli_save ("scores.npy", LOOM_F32, 2, dims, X);
  cli_save ("five.npy", LOOM_I64, 1, y_dims, (double[5]){ 0, 1, 0, 1, 1 });
  cli_expect (0, NULL, "run", spirals, "--in", "scores=scores.npy", "--in", "data.y=five.npy", "--out", "loss=l.npy",
              "--grad", "loss", "--grads", "g.st");
  g_autoptr (LoomTensor) loss = cli_load ("l.npy");
  double expected = 0;
  for (int i = 0; i < 5; i++)
    {
      int target = (int[]){ 0, 1, 0, 1, 1 }[i];
      double a = X[2 * i], b = X[2 * i + 1];
      expected -= (target ? b : a) - log (exp (a) + exp (b));
    }
  g_assert_cmpfloat_with_epsilon (loom_tensor_get (loss, 0), expected / 5, 1e-5);
  /* Weights that are not reached are there, as zeros; so is no gradient of integers. */
  g_autoptr (LoomTensor) zero = cli_weight ("g.st", "hidden.weight"), gs = cli_weight ("g.st", "input:scores");
  g_assert_nonnull (zero);
  g_assert_nonnull (gs);
  for (gint64 i = 0; i < zero->count; i++)
    g_assert_cmpfloat (loom_tensor_get (zero, i), ==, 0);
  g_assert_null (cli_weight ("g.st", "input:data.y"));
}

static void
test_weights (void)
{
  g_autofree char *spirals = cli_example ("lessons/spirals.xml");

  cli_expect (0, NULL, "run", spirals, "--save-weights", "a.st", "--seed", "5");
  cli_expect (0, NULL, "run", spirals, "--save-weights", "b.st", "--seed", "5", "--out", "scores=o.npy");
  g_autoptr (LoomTensor) a = cli_weight ("a.st", "hidden.weight"), b = cli_weight ("b.st", "hidden.weight");
  g_assert_true (loom_tensor_equal_bits (a, b)); /* seed and name alone */
  g_assert_cmpint (a->dim[0], ==, 32);           /* PyTorch's [out, in] */
  g_assert_cmpint (a->dim[1], ==, 2);
  cli_expect (2, "--shard-size takes bytes", "run", spirals, "--save-weights", "p.safetensors", "--shard-size", "x");
  cli_expect (0, NULL, "run", spirals, "--save-weights", "p.safetensors", "--seed", "5", "--shard-size", "200");
  cli_expect (0, NULL, "run", spirals, "--weights", "p.safetensors.index.json", "--save-weights", "p.st");
  g_autoptr (LoomTensor) joined = cli_weight ("p.st", "hidden.weight");
  g_assert_true (loom_tensor_equal_bits (a, joined));
  cli_expect (0, NULL, "run", spirals, "--save-weights", "c.st", "--seed", "6");
  g_autoptr (LoomTensor) c = cli_weight ("c.st", "hidden.weight");
  g_assert_false (loom_tensor_equal_bits (a, c));

  cli_expect (0, NULL, "run", spirals, "--weights", "a.st", "--save-weights", "d.st", "--seed", "6");
  g_autoptr (LoomTensor) d = cli_weight ("d.st", "hidden.weight");
  g_assert_true (loom_tensor_equal_bits (a, d));

  g_autofree char *other = cli_example ("lessons/self-attention.xml");
  cli_expect (1, "w_q is missing", "run", other, "--weights", "a.st", "--out", "y=y.npy");
  cli_expect (1, "--partial", "run", other, "--weights", "a.st", "--out", "y=y.npy");
  cli_expect (0, "no weight “hidden.weight”", "run", other, "--weights", "a.st", "--partial", "--out", "y=y.npy");
  cli_expect (1, NULL, "run", spirals, "--weights", "nowhere.st", "--out", "scores=y.npy");
  cli_write ("broken.st", "not a safetensors");
  cli_expect (1, NULL, "run", spirals, "--weights", "broken.st", "--out", "scores=y.npy");
}

/* Dropout, and one update of running statistics, in training mode. */
static void
test_mode_train (void)
{
  static const gint64 dims[4] = { 2, 3, 2, 2 };
  double x[24];

  for (int i = 0; i < 24; i++)
    x[i] = sin (i * 1.7) + i % 3;
  cli_save ("x.npy", LOOM_F32, 4, dims, x);
  cli_write ("norm.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
                         "<node id=\"x\" op=\"input\" shape=\"B,3,2,2\"/><node id=\"norm\" op=\"batch_norm2d\"/>"
                         "<node id=\"drop\" op=\"dropout\" p=\"0.5\"/>"
                         "<wire from=\"x\" to=\"norm\"/><wire from=\"norm\" to=\"drop\"/></graph>");
  cli_expect (0, NULL, "run", "norm.xml", "--in", "x=x.npy", "--out", "drop.out=o.npy", "--out", "norm=n.npy", "--out",
              "drop.mask=m.npy", "--mode", "train", "--save-weights", "w.st");
  g_autoptr (LoomTensor) o = cli_load ("o.npy"), n = cli_load ("n.npy"), m = cli_load ("m.npy");
  int kept = 0;
  for (int i = 0; i < 24; i++)
    {
      double mask = loom_tensor_get (m, i);
      g_assert_true (mask == 0 || mask == 1);
      kept += mask == 1;
      g_assert_cmpfloat_with_epsilon (loom_tensor_get (o, i), mask * 2 * loom_tensor_get (n, i), 1e-6);
    }
  g_assert_cmpint (kept, >, 4);
  g_assert_cmpint (kept, <, 20);

  g_autoptr (LoomTensor) tracked = cli_weight ("w.st", "norm.num_batches_tracked");
  g_autoptr (LoomTensor) mean = cli_weight ("w.st", "norm.running_mean");
  g_assert_cmpint (tracked->dtype, ==, LOOM_I64);
  g_assert_cmpfloat (loom_tensor_get (tracked, 0), ==, 1);
  for (int c = 0; c < 3; c++)
    {
      double sum = 0;
      for (int b = 0; b < 2; b++)
        for (int k = 0; k < 4; k++)
          sum += x[b * 12 + c * 4 + k];
      g_assert_cmpfloat_with_epsilon (loom_tensor_get (mean, c), 0.1 * sum / 8, 1e-5);
    }
  /* Evaluation updates nothing and drops nothing. */
  cli_expect (0, NULL, "run", "norm.xml", "--in", "x=x.npy", "--out", "drop.out=o.npy", "--out", "norm=n.npy",
              "--save-weights", "w.st");
  g_autoptr (LoomTensor) o2 = cli_load ("o.npy"), n2 = cli_load ("n.npy");
  g_assert_true (loom_tensor_equal_bits (o2, n2));
  g_autoptr (LoomTensor) tracked2 = cli_weight ("w.st", "norm.num_batches_tracked");
  g_assert_cmpfloat (loom_tensor_get (tracked2, 0), ==, 0);
}

/* ---- gradients -------------------------------------------------------- */

/* One number: the cotangent's product with the port, at the weights in a file. */
static double
contract (const char *graph, const char *port, const char *in, const LoomTensor *cotangent)
{
  cli_expect (0, NULL, "run", graph, "--in", in, "--weights", "moved.st", "--out", port, "--dtype", "f64", "--mode",
              "train");
  g_autoptr (LoomTensor) t = cli_load ("fd.npy");
  double sum = 0;
  for (gint64 i = 0; i < t->count; i++)
    sum += loom_tensor_get (t, i) * loom_tensor_get (cotangent, i);
  return sum;
}

/* Central differences with a random cotangent: the direction is one element of one weight at a time. */
static void
test_differences (void)
{
  static const gint64 dims[4] = { 3, 2, 6, 6 }, out_dims[2] = { 3, 5 };
  const double eps = 1e-6;
  double x[216], g[15];

  for (int i = 0; i < 216; i++)
    x[i] = sin (i * 0.37) * 2;
  for (int i = 0; i < 15; i++)
    g[i] = cos (i * 2.3);
  cli_save ("x.npy", LOOM_F64, 4, dims, x);
  cli_save ("go.npy", LOOM_F64, 2, out_dims, g);
  cli_write (
      "net.xml",
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
      "<module name=\"block\"><arg name=\"c\" type=\"int\"/><node id=\"x\" op=\"module_input\"/>"
      "<node id=\"conv\" op=\"conv2d\" out_channels=\"{c * 2}\" kernel_size=\"3\" padding=\"1\"/>"
      "<node id=\"norm\" op=\"batch_norm2d\"/><node id=\"act\" op=\"gelu\"/><node id=\"y\" op=\"module_output\"/>"
      "<wire from=\"x\" to=\"conv\"/><wire from=\"conv\" to=\"norm\"/><wire from=\"norm\" to=\"act\"/>"
      "<wire from=\"act\" to=\"y\"/></module>"
      "<node id=\"x\" op=\"input\" shape=\"B,2,6,6\"/><node id=\"b\" module=\"block\" c=\"2\" repeat=\"2\"/>"
      "<node id=\"pool\" op=\"avg_pool2d\" kernel_size=\"2\"/><node id=\"flat\" op=\"flatten\"/>"
      "<node id=\"fc\" op=\"linear\" out_features=\"5\"/><node id=\"p\" op=\"softmax\" dim=\"1\"/>"
      "<wire from=\"x\" to=\"b\"/><wire from=\"b\" to=\"pool\"/><wire from=\"pool\" to=\"flat\"/>"
      "<wire from=\"flat\" to=\"fc\"/><wire from=\"fc\" to=\"p\"/></graph>");
  cli_expect (0, NULL, "run", "net.xml", "--in", "x=x.npy", "--grad", "p", "--grad-output", "go.npy", "--grads", "g.st",
              "--wrt", "b", "--save-weights", "w.st", "--dtype", "f64", "--mode", "train", "--seed", "11");

  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensorFile) grads = loom_safetensors_open ("g.st", &error);
  g_assert_no_error (error);
  g_autoptr (LoomTensor) cotangent = cli_load ("go.npy");
  guint checked = 0;
  for (guint k = 0; k < loom_tensor_file_count (grads); k++)
    {
      const char *name = loom_tensor_file_name (grads, k);
      if (g_str_has_prefix (name, "input:"))
        continue;
      g_autoptr (LoomTensor) grad = loom_tensor_file_tensor (grads, k, NULL);
      gint64 at = grad->count * 2 / 3;
      double value[2];
      for (int side = 0; side < 2; side++)
        {
          g_autoptr (LoomTensorFile) weights = loom_safetensors_open ("w.st", &error);
          g_autoptr (GPtrArray) moved = loom_named_tensors_new ();
          for (guint i = 0; i < loom_tensor_file_count (weights); i++)
            {
              g_autoptr (LoomTensor) t = loom_tensor_file_tensor (weights, i, &error);
              g_autoptr (LoomTensor) copy = loom_tensor_convert (t, t->dtype, FALSE, &error);
              g_autoptr (LoomTensor) own = loom_tensor_new (copy->dtype, copy->rank, copy->dim, &error);
              memcpy (own->data, copy->data, copy->bytes);
              if (g_str_equal (loom_tensor_file_name (weights, i), name))
                loom_tensor_set (own, at, loom_tensor_get (own, at) + (side ? eps : -eps));
              g_ptr_array_add (moved, loom_named_tensor_new (loom_tensor_file_name (weights, i), own));
            }
          loom_safetensors_save ("moved.st", moved, NULL, &error);
          g_assert_no_error (error);
          value[side] = contract ("net.xml", "p=fd.npy", "x=x.npy", cotangent);
        }
      double difference = (value[1] - value[0]) / (2 * eps);
      g_test_message ("%s[%d]: %.9g, differences %.9g", name, (int)at, loom_tensor_get (grad, at), difference);
      g_assert_cmpfloat_with_epsilon (loom_tensor_get (grad, at), difference, 1e-7 + 1e-6 * fabs (difference));
      checked++;
    }
  g_assert_cmpuint (checked, ==, 10); /* two blocks of conv and norm with two weights each, and fc */
  g_autoptr (LoomTensor) of_x = cli_weight ("g.st", "input:x"), of_b = cli_weight ("g.st", "input:b");
  g_assert_nonnull (of_x);
  g_assert_nonnull (of_b);
}

/* A file with this header, and n floats 1, 2, … */
static void
write_weights (const char *path, const char *header, int n)
{
  const guint64 length = GUINT64_TO_LE (strlen (header));
  g_autoptr (GByteArray) bytes = g_byte_array_new ();

  g_byte_array_append (bytes, (const guint8 *)&length, 8);
  g_byte_array_append (bytes, (const guint8 *)header, (guint)strlen (header));
  for (int i = 1; i <= n; i++)
    {
      const float x = (float)i;
      g_byte_array_append (bytes, (const guint8 *)&x, 4);
    }
  g_assert_true (g_file_set_contents (path, (const char *)bytes->data, bytes->len, NULL));
}

/* Weights as others write them: tied ones under one name, next to types that cannot be read, as one of several shards.
 */
static void
test_foreign_weights (void)
{
#define WTE "\"head.weight\":{\"dtype\":\"F32\",\"shape\":[5,3],\"data_offsets\":[0,60]}"
#define TIED                                                                                                           \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"d\" op=\"dataset\" source=\"copy\" n=\"16\" "          \
  "values=\"3\" "                                                                                                      \
  "length=\"3\"/><node id=\"wte\" op=\"embedding\" num_embeddings=\"5\" embedding_dim=\"3\"/>"                         \
  "<node id=\"head\" op=\"linear\" out_features=\"5\" bias=\"false\"/><node id=\"turn\" op=\"permute\" "               \
  "dims=\"0,2,1\"/>"                                                                                                   \
  "<node id=\"loss\" op=\"cross_entropy\"/><wire from=\"d.x\" to=\"wte\"/><wire from=\"wte\" to=\"head\"/>"            \
  "<wire from=\"wte.weight\" to=\"head.weight\"/><wire from=\"head\" to=\"turn\"/><wire from=\"turn\" "                \
  "to=\"loss.input\"/>"                                                                                                \
  "<wire from=\"d.y\" to=\"loss.target\"/><train loss=\"loss\" optimizer=\"sgd\" lr=\"0\" batch_size=\"16\" "          \
  "epochs=\"1\"/>"                                                                                                     \
  "</graph>"
  cli_write ("tied.xml", TIED);
  write_weights ("tied.st", "{\"__metadata__\":{\"wte.weight\":\"head.weight\"}," WTE "}", 15);
  cli_expect (0, "1 loaded, 0 missing, 0 unused", "train", "tied.xml", "--weights", "tied.st", "--out", "tied");
  cli_expect (0, NULL, "run", "tied.xml", "--weights", "tied.st", "--save-weights", "again.st");
  static const char *const files[] = { "again.st", "tied/weights.safetensors" };
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autoptr (LoomTensor) t = cli_weight (files[i], "wte.weight");

      g_assert_nonnull (t);
      for (gint64 k = 0; k < t->count; k++)
        g_assert_cmpfloat (loom_tensor_get (t, k), ==, (double)(k + 1));
    }
  /* A tensor of such a type is named if it is not needed, and refused if it is. */
  write_weights ("odd.st",
                 "{\"__metadata__\":{\"wte.weight\":\"head.weight\"}," WTE
                 ",\"freqs\":{\"dtype\":\"C128\",\"shape\":[1],\"data_offsets\":[60,68]}}",
                 17);
  cli_expect (0, "no weight “freqs”", "run", "tied.xml", "--weights", "odd.st", "--save-weights", "again.st");
  cli_expect (0, "unused: freqs 1", "train", "tied.xml", "--weights", "odd.st");
  write_weights ("small.st", "{\"wte.weight\":{\"dtype\":\"I4\",\"shape\":[5,3],\"data_offsets\":[0,16]}}", 4);
  cli_expect (1, "of the unsupported type “I4” in the file; convert it to F32, F16 or BF16", "run", "tied.xml",
              "--weights", "small.st", "--save-weights", "again.st");
  cli_expect (1, "has the tensor “wte.weight” of the unsupported type “I4”", "train", "tied.xml", "--weights",
              "small.st");
  /* Evaluation and export read names with a prefix, and shards, too. */
  write_weights ("prefix.st", "{\"module.wte.weight\":{\"dtype\":\"F32\",\"shape\":[5,3],\"data_offsets\":[0,60]}}",
                 15);
  cli_expect (0, "with “module.” before each name", "eval", "tied.xml", "--weights", "prefix.st");
  cli_expect (0, "with “module.” before each name", "export", "tied.xml", "--to", "onnx", "--weights", "prefix.st");
  write_weights ("w-00001-of-00002.safetensors", "{\"other\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
                 1);
  cli_expect (1, "Its name is that of shard 1 of 2", "run", "tied.xml", "--weights", "w-00001-of-00002.safetensors",
              "--save-weights", "again.st");
  /* A folder with one file of weights, such as a run's, stands for it. */
  cli_expect (0, "1 loaded, 0 missing", "train", "tied.xml", "--weights", "tied");
  cli_expect (1, "is a folder with no file of weights", "train", "tied.xml", "--weights", "/");
#undef TIED
#undef WTE
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  xyz = cli_example ("lessons/xyz-sum.xml");
  g_test_add_func ("/run/values", test_values);
  g_test_add_func ("/run/print", test_print);
  g_test_add_func ("/run/maps", test_maps);
  g_test_add_func ("/run/all-or-none", test_all_or_none);
  g_test_add_func ("/run/foreign-weights", test_foreign_weights);
  g_test_add_func ("/run/usage", test_usage);
  g_test_add_func ("/run/bad-inputs", test_bad_inputs);
  g_test_add_func ("/run/inner-ports", test_inner_ports);
  g_test_add_func ("/run/weights", test_weights);
  g_test_add_func ("/run/mode-train", test_mode_train);
  g_test_add_func ("/run/differences", test_differences);
  int status = g_test_run ();
  g_free (xyz);
  cli_leave ();
  return status;
}
