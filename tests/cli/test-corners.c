/* Corner cases of `gradloom run` that the lessons do not reach: sizes that one input determines for another, empty
 * batches, element types other than f32, outputs that are inputs, modules and ties, and numbers that are not finite. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#define HEAD "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"corner\">\n"
#define TAIL "</graph>\n"

static const double ones[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

#define DIMS(...)                                                                                                      \
  (const gint64[])                                                                                                     \
  {                                                                                                                    \
    __VA_ARGS__                                                                                                        \
  }

static void
test_missing (void)
{
  cli_write ("g.xml", HEAD "<node id=\"x\" op=\"input\" shape=\"B,3\"/>\n<node id=\"r\" op=\"relu\"/>\n"
                           "<wire from=\"x\" to=\"r\"/>\n" TAIL);
  cli_expect (1, "--in x=FILE.npy", "run", "g.xml", "--out", "r=o.npy");
  cli_expect (2, NULL, "run", "g.xml", "--out", "r=o.npy", "--threads", "-1");
  cli_save ("x.npy", LOOM_F32, 2, DIMS (2, 3), ones);
  cli_expect (5, NULL, "run", "g.xml", "--in", "x=x.npy", "--out", "r=nowhere/o.npy");
  cli_expect (2, "twice", "run", "g.xml", "--in", "x=x.npy", "--in", "x.out=x.npy", "--out", "r=o.npy");
}

/* If two inputs disagree, the error names the source of each size. */
static void
test_disagreement (void)
{
  cli_write (
      "g.xml",
      HEAD "<node id=\"a\" op=\"input\" shape=\"B,3\"/>\n<node id=\"b\" op=\"input\" shape=\"B,3\"/>\n"
           "<node id=\"s\" op=\"add\"/>\n<wire from=\"a\" to=\"s.input\"/>\n<wire from=\"b\" to=\"s.other\"/>\n" TAIL);
  cli_save ("a.npy", LOOM_F32, 2, DIMS (2, 3), ones);
  cli_save ("b.npy", LOOM_F32, 2, DIMS (4, 3), ones);
  cli_expect (1, "B × 3 where B is 2 by --in a, but b.npy is 4 × 3", "run", "g.xml", "--in", "a=a.npy", "--in",
              "b=b.npy", "--out", "s=o.npy");
}

/* A file without end is not read to its end. */
static void
test_endless (void)
{
  cli_write ("g.xml", HEAD "<node id=\"x\" op=\"input\" shape=\"B,3\"/>\n" TAIL);
  cli_write ("d.xml", HEAD "<node id=\"d\" op=\"dataset\" source=\"csv\" target=\"y\" path=\"/dev/zero\"/>\n" TAIL);
  cli_expect (1, "larger than 64 MB", "check", "/dev/zero");
  cli_expect (1, "not an npy file", "run", "g.xml", "--in", "x=/dev/zero", "--out", "x=o.npy");
  cli_expect (1, "device or a pipe", "check", "d.xml");
}

/* The number of outputs follows from the shape, and each has the right value. */
static void
test_parts (void)
{
  cli_write ("g.xml",
             HEAD "<node id=\"x\" op=\"input\" shape=\"B,4\"/>\n<node id=\"u\" op=\"unbind\" dim=\"1\"/>\n"
                  "<node id=\"s\" op=\"split\" split_size=\"3\" dim=\"1\"/>\n<node id=\"r\" op=\"neg\"/>\n"
                  "<wire from=\"x\" to=\"u\"/>\n<wire from=\"x\" to=\"s\"/>\n<wire from=\"u.3\" to=\"r\"/>\n" TAIL);
  cli_save ("x.npy", LOOM_F32, 2, DIMS (2, 4), (double[]){ 0, 1, 2, 3, 4, 5, 6, 7 });
  cli_expect (0, NULL, "run", "g.xml", "--in", "x=x.npy", "--out", "r=r.npy", "--out", "u.1=u.npy", "--out",
              "s.1=s.npy");
  g_autoptr (LoomTensor) r = cli_load ("r.npy"), u = cli_load ("u.npy"), s = cli_load ("s.npy");
  g_assert_cmpfloat (loom_tensor_get (r, 0), ==, -3);
  g_assert_cmpfloat (loom_tensor_get (u, 1), ==, 5);
  g_assert_cmpint (s->dim[1], ==, 1);
  g_assert_cmpfloat (loom_tensor_get (s, 1), ==, 7);
}

/* B·T alone determines neither; with B it determines T, in either order. */
static void
test_symbols (void)
{
  cli_write ("g.xml", HEAD "<node id=\"x\" op=\"input\" shape=\"B,T,2\"/>\n<node id=\"z\" op=\"input\" shape=\"B\"/>\n"
                           "<node id=\"flat\" op=\"flatten\" start_dim=\"0\" end_dim=\"1\"/>\n"
                           "<node id=\"r\" op=\"relu\"/>\n<wire from=\"x\" to=\"flat\"/>\n"
                           "<wire from=\"flat\" to=\"r\"/>\n" TAIL);
  cli_save ("flat.npy", LOOM_F32, 2, DIMS (6, 2), ones);
  cli_save ("z.npy", LOOM_F32, 1, DIMS (3), ones);
  cli_save ("odd.npy", LOOM_F32, 1, DIMS (4), ones);
  cli_expect (1, "The shape of x is 1 × T × 2, but the size T is not known. Set it to a number", "plan", "g.xml");
  cli_expect (1, "flat.npy", "run", "g.xml", "--in", "flat=flat.npy", "--out", "r=o.npy");
  cli_expect (0, NULL, "run", "g.xml", "--in", "flat=flat.npy", "--in", "z=z.npy", "--out", "r=o.npy");
  cli_expect (0, NULL, "run", "g.xml", "--in", "z=z.npy", "--in", "flat=flat.npy", "--out", "r=o.npy");
  cli_expect (1, "B·T", "run", "g.xml", "--in", "z=odd.npy", "--in", "flat=flat.npy", "--out", "r=o.npy");
}

static void
test_empty (void)
{
  cli_write ("g.xml",
             HEAD "<node id=\"x\" op=\"input\" shape=\"B,2,4,4\"/>\n"
                  "<node id=\"c\" op=\"conv2d\" out_channels=\"3\" kernel_size=\"3\"/>\n"
                  "<node id=\"r\" op=\"relu\"/>\n<wire from=\"x\" to=\"c\"/>\n<wire from=\"c\" to=\"r\"/>\n" TAIL);
  cli_save ("x.npy", LOOM_F32, 4, DIMS (0, 2, 4, 4), ones);
  cli_save ("c.npy", LOOM_F32, 4, DIMS (0, 3, 2, 2), ones);
  cli_expect (0, NULL, "run", "g.xml", "--in", "x=x.npy", "--out", "r=o.npy", "--grad", "r", "--grad-output", "c.npy",
              "--grads", "g.st");
  g_autoptr (LoomTensor) o = cli_load ("o.npy"), weight = cli_weight ("g.st", "c.weight");
  g_assert_cmpint (o->rank, ==, 4);
  g_assert_cmpint (o->dim[0], ==, 0);
  g_assert_cmpint (weight->count, ==, 54);
  for (gint64 i = 0; i < weight->count; i++)
    g_assert_cmpfloat (loom_tensor_get (weight, i), ==, 0);
}

/* A port is written in its own type, bf16 as f4; --dtype is about f32. */
static void
test_types (void)
{
  static const struct
  {
    const char *name;
    LoomDType out;
  } types[] = { { "f16", LOOM_F16 }, { "bf16", LOOM_F32 }, { "f64", LOOM_F64 }, { "f32", LOOM_F32 } };

  cli_save ("x.npy", LOOM_F32, 1, DIMS (2), (double[]){ 0.5, -3 });
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    {
      g_autofree char *text
          = g_strdup_printf (HEAD "<node id=\"x\" op=\"input\" shape=\"2\" dtype=\"%s\"/>\n" TAIL, types[i].name);
      cli_write ("g.xml", text);
      cli_expect (0, NULL, "run", "g.xml", "--in", "x=x.npy", "--out", "x=o.npy");
      g_autoptr (LoomTensor) o = cli_load ("o.npy");
      g_assert_cmpint (o->dtype, ==, types[i].out);
      g_assert_cmpfloat (loom_tensor_get (o, 1), ==, -3);
    }
}

/* Dropout in evaluation returns its input, but the gradient of its port includes only its successors. */
static void
test_passing_on (void)
{
  cli_write ("g.xml",
             HEAD "<node id=\"x\" op=\"input\" shape=\"3\" />\n<node id=\"h\" op=\"mul\" other=\"2\"/>\n"
                  "<node id=\"d\" op=\"dropout\"/>\n<node id=\"sum\" op=\"add\"/>\n<wire from=\"x\" to=\"h\"/>\n"
                  "<wire from=\"h\" to=\"d\"/>\n<wire from=\"d\" to=\"sum.input\"/>\n"
                  "<wire from=\"h\" to=\"sum.other\"/>\n" TAIL);
  cli_save ("x.npy", LOOM_F32, 1, DIMS (3), ones);
  cli_expect (0, NULL, "run", "g.xml", "--in", "x=x.npy", "--grad", "sum", "--grad-output", "x.npy", "--wrt", "d",
              "--wrt", "h", "--grads", "g.st");
  g_autoptr (LoomTensor) d = cli_weight ("g.st", "input:d"), h = cli_weight ("g.st", "input:h");
  g_autoptr (LoomTensor) x = cli_weight ("g.st", "input:x");
  g_assert_cmpfloat (loom_tensor_get (d, 0), ==, 1);
  g_assert_cmpfloat (loom_tensor_get (h, 0), ==, 2);
  g_assert_cmpfloat (loom_tensor_get (x, 0), ==, 4);
}

/* f64 runs on ref, even if a node names another device, which need not exist. */
static void
test_double (void)
{
  cli_write ("g.xml", HEAD "<node id=\"x\" op=\"input\" shape=\"B,3\"/>\n"
                           "<node id=\"fc\" op=\"linear\" out_features=\"2\" device=\"cpu:7\"/>\n"
                           "<wire from=\"x\" to=\"fc\"/>\n" TAIL);
  cli_save ("x.npy", LOOM_F32, 2, DIMS (2, 3), ones);
  cli_expect (3, "cpu:7", "run", "g.xml", "--in", "x=x.npy", "--out", "fc=o.npy");
  cli_expect (0, NULL, "run", "g.xml", "--in", "x=x.npy", "--out", "fc=o.npy", "--dtype", "f64");
  g_autoptr (LoomTensor) o = cli_load ("o.npy");
  g_assert_cmpint (o->dtype, ==, LOOM_F64);
  cli_expect (2, "ref", "run", "g.xml", "--in", "x=x.npy", "--out", "fc=o.npy", "--dtype", "f64", "--device", "cpu");
  g_setenv ("GRADLOOM_CPU_DEVICES", "2", TRUE);
  cli_expect (0, NULL, "run", "g.xml", "--in", "x=x.npy", "--out", "fc=o.npy", "--dtype", "f64", "--device", "ref:1");
  g_unsetenv ("GRADLOOM_CPU_DEVICES");
}

/* Names of weights of repeated, shared and tied layers. */
static void
test_names (void)
{
  static const char *const there[] = { "a.0.fc.weight", "a.1.fc.weight", "one.0.fc.weight", "s.fc.weight", "table" };
  static const char *const absent[] = { "a.fc.weight", "s.0.fc.weight", "head.weight", "table.out", "one.fc.weight" };

  cli_write ("g.xml",
             HEAD "<module name=\"block\">\n<node id=\"x\" op=\"module_input\"/>\n"
                  "<node id=\"fc\" op=\"linear\" out_features=\"3\"/>\n<node id=\"y\" op=\"module_output\"/>\n"
                  "<wire from=\"x\" to=\"fc\"/>\n<wire from=\"fc\" to=\"y\"/>\n</module>\n"
                  "<node id=\"x\" op=\"input\" shape=\"B,3\"/>\n<node id=\"a\" module=\"block\" repeat=\"2\"/>\n"
                  "<node id=\"one\" module=\"block\" repeat=\"1\"/>\n"
                  "<node id=\"s\" module=\"block\" repeat=\"2\" share=\"true\"/>\n"
                  "<node id=\"table\" op=\"parameter\" shape=\"5,3\"/>\n"
                  "<node id=\"head\" op=\"linear\" out_features=\"5\" bias=\"false\"/>\n"
                  "<wire from=\"x\" to=\"a\"/>\n<wire from=\"a\" to=\"one\"/>\n<wire from=\"one\" to=\"s\"/>\n"
                  "<wire from=\"s\" to=\"head.input\"/>\n<wire from=\"table\" to=\"head.weight\"/>\n" TAIL);
  cli_expect (0, NULL, "run", "g.xml", "--save-weights", "w.st");
  for (guint i = 0; i < G_N_ELEMENTS (there); i++)
    {
      g_autoptr (LoomTensor) t = cli_weight ("w.st", there[i]);
      g_assert_nonnull (t);
    }
  for (guint i = 0; i < G_N_ELEMENTS (absent); i++)
    g_assert_null (cli_weight ("w.st", absent[i]));
  cli_save ("x.npy", LOOM_F32, 2, DIMS (2, 3), ones);
  cli_expect (0, NULL, "run", "g.xml", "--in", "x=x.npy", "--out", "a.1.fc=p.npy", "--out", "a.y=q.npy", "--out",
              "a=r.npy");
  g_autoptr (LoomTensor) p = cli_load ("p.npy"), q = cli_load ("q.npy"), r = cli_load ("r.npy");
  g_assert_true (loom_tensor_equal_bits (p, q));
  g_assert_true (loom_tensor_equal_bits (p, r));
  cli_expect (2, NULL, "run", "g.xml", "--in", "x=x.npy", "--out", "a.fc=p.npy");
  cli_expect (2, NULL, "run", "g.xml", "--in", "x=x.npy", "--out", "a.2.fc=p.npy");
}

/* A running sum as a loop over a module: its numbers, its shapes, and unsupported requests. */
static void
test_loop (void)
{
  static const double lengths[] = { 3, 1 };
  double rows[6];

  cli_write (
      "g.xml", HEAD
      "<module name=\"sum\">\n<node id=\"x\" op=\"module_input\"/>\n"
      "<node id=\"h\" op=\"module_input\" shape=\"2\"/>\n<node id=\"add\" op=\"add\"/>\n"
      "<node id=\"y\" op=\"module_output\"/>\n<node id=\"h1\" op=\"module_output\" carry=\"h\"/>\n"
      "<wire from=\"x\" to=\"add.input\"/>\n<wire from=\"h\" to=\"add.other\"/>\n"
      "<wire from=\"add\" to=\"y\"/>\n<wire from=\"add\" to=\"h1\"/>\n</module>\n"
      "<node id=\"x\" op=\"input\" shape=\"T,2\"/>\n<node id=\"n\" op=\"input\" shape=\"2\" dtype=\"i64\"/>\n"
      "<node id=\"s\" op=\"scan\" body=\"sum\"/>\n<node id=\"short\" op=\"scan\" body=\"sum\"/>\n"
      "<wire from=\"x\" to=\"s\"/>\n<wire from=\"x\" to=\"short.x\"/>\n<wire from=\"n\" to=\"short.lengths\"/>\n" TAIL);
  for (guint i = 0; i < 6; i++)
    rows[i] = i + 1;
  cli_save ("x.npy", LOOM_F32, 2, DIMS (3, 2), rows);
  cli_save ("n.npy", LOOM_I64, 1, DIMS (2), lengths);
  cli_expect (0, NULL, "run", "g.xml", "--in", "x=x.npy", "--in", "n=n.npy", "--out", "s.y=y.npy", "--out",
              "short.y=z.npy", "--out", "short.h1=h.npy");
  g_autoptr (LoomTensor) y = cli_load ("y.npy"), z = cli_load ("z.npy"), h = cli_load ("h.npy");
  g_assert_cmpfloat (loom_tensor_get (y, 4), ==, 1 + 3 + 5);
  g_assert_cmpfloat (loom_tensor_get (z, 4), ==, 1 + 3 + 5);
  g_assert_cmpfloat (loom_tensor_get (z, 3), ==, 0);
  g_assert_cmpfloat (loom_tensor_get (h, 1), ==, 2);
  g_auto (CliResult) table = cli ("check", "g.xml", NULL), lines = cli ("check", "g.xml", "--json", NULL);
  g_assert_nonnull (strstr (table.out, "2 a step"));
  g_assert_nonnull (strstr (lines.out, "\"loop\":\"s\""));
  cli_expect (0, NULL, "run", "g.xml", "--in", "x=x.npy", "--out", "s.add=o.npy");
  g_autoptr (LoomTensor) inner = cli_load ("o.npy");
  g_assert_cmpint (inner->count, ==, 6);
  g_assert_cmpfloat (loom_tensor_get (inner, 4), ==, 1 + 3 + 5);
  cli_expect (0, NULL, "export", "g.xml", "--to", "onnx", "-o", "m.onnx", "--output", "short.y");
  cli_expect (0, NULL, "import", "m.onnx", "-o", "again.xml");
  cli_expect (0, NULL, "run", "again.xml", "--in", "x=x.npy", "--in", "n=n.npy", "--out", "short_y=w.npy");
  g_autoptr (LoomTensor) w = cli_load ("w.npy");
  for (guint i = 0; i < 6; i++)
    g_assert_cmpfloat (loom_tensor_get (w, i), ==, loom_tensor_get (z, i));
}

/* A head that reads its embedding's own weight is the same network as both with one parameter. */
static void
test_tied_layers (void)
{
  static const char layers[] = "<node id=\"x\" op=\"input\" shape=\"B\" dtype=\"i64\"/>\n"
                               "<node id=\"emb\" op=\"embedding\" num_embeddings=\"4\" embedding_dim=\"3\"/>\n"
                               "<node id=\"fc\" op=\"linear\" out_features=\"3\"/>\n<node id=\"t\" op=\"tanh\"/>\n"
                               "<node id=\"head\" op=\"linear\" out_features=\"4\"/>\n"
                               "<wire from=\"x\" to=\"emb\"/>\n<wire from=\"emb\" to=\"fc\"/>\n"
                               "<wire from=\"fc\" to=\"t\"/>\n<wire from=\"t\" to=\"head\"/>\n";
  g_autofree char *tied = g_strconcat (HEAD, layers, "<wire from=\"emb.weight\" to=\"head.weight\"/>\n" TAIL, NULL);
  g_autofree char *twin = g_strconcat (HEAD "<node id=\"w\" op=\"parameter\" shape=\"4,3\"/>\n", layers,
                                       "<wire from=\"w\" to=\"emb.weight\"/>\n"
                                       "<wire from=\"w\" to=\"head.weight\"/>\n" TAIL,
                                       NULL);

  cli_write ("tied.xml", tied);
  cli_write ("twin.xml", twin);
  cli_save ("x.npy", LOOM_I64, 1, DIMS (3), (double[]){ 2, 0, 2 });
  cli_save ("c.npy", LOOM_F32, 2, DIMS (3, 4), (double[]){ 1, -2, 3, 0.5, 1, 1, -1, 2, 0, 3, 1, -1 });
  cli_expect (0, NULL, "run", "tied.xml", "--in", "x=x.npy", "--out", "head=a.npy", "--out", "emb.weight=w.npy",
              "--grad", "head", "--grad-output", "c.npy", "--grads", "a.st", "--save-weights", "w.st");
  cli_expect (0, NULL, "run", "twin.xml", "--in", "x=x.npy", "--in", "w=w.npy", "--weights", "w.st", "--partial",
              "--out", "head=b.npy", "--grad", "head", "--grad-output", "c.npy", "--grads", "b.st");
  g_autoptr (LoomTensor) a = cli_load ("a.npy"), b = cli_load ("b.npy"), w = cli_load ("w.npy");
  g_autoptr (LoomTensor) saved = cli_weight ("w.st", "emb.weight"), ga = cli_weight ("a.st", "emb.weight");
  g_autoptr (LoomTensor) gb = cli_weight ("b.st", "input:w");
  g_assert_true (loom_tensor_equal_bits (a, b));
  g_assert_true (loom_tensor_equal_bits (w, saved));
  g_assert_null (cli_weight ("w.st", "head.weight"));
  g_assert_null (cli_weight ("a.st", "head.weight"));
  g_assert_cmpint (ga->count, ==, 12);
  for (gint64 i = 0; i < 12; i++)
    g_assert_cmpfloat_with_epsilon (loom_tensor_get (ga, i), loom_tensor_get (gb, i), 1e-5);
  /* Row 2 is used twice and row 3 never; the head gives every row a gradient. */
  g_assert_cmpfloat (loom_tensor_get (ga, 9), !=, 0);
  /* A tied name reads the weight that it is tied to; a weight is loaded, not an input. */
  cli_expect (0, NULL, "run", "tied.xml", "--out", "head.weight=h.npy");
  g_autoptr (LoomTensor) h = cli_load ("h.npy");
  g_assert_true (loom_tensor_equal_bits (h, w));
  cli_expect (2, "--weights", "run", "tied.xml", "--in", "emb.weight=w.npy", "--out", "head.weight=h.npy");
  cli_expect (0, NULL, "program", "tied.xml");
}

/* Where PyTorch takes something, so does the graph: rows of images in a linear layer, with a warning, and a bound
 * between integers. */
static void
test_as_pytorch (void)
{
  cli_write ("g.xml", HEAD "<node id=\"x\" op=\"input\" shape=\"B,1,2,2\"/>\n"
                           "<node id=\"fc\" op=\"linear\" out_features=\"3\"/>\n"
                           "<wire from=\"x\" to=\"fc\"/>\n" TAIL);
  cli_save ("x.npy", LOOM_F32, 4, DIMS (2, 1, 2, 2), ones);
  cli_expect (0, NULL, "run", "g.xml", "--in", "x=x.npy", "--out", "fc=o.npy");
  g_autoptr (LoomTensor) o = cli_load ("o.npy");
  g_assert_cmpint (o->rank, ==, 4);
  g_assert_cmpint (o->dim[3], ==, 3);
  g_auto (CliResult) r = cli ("check", "g.xml", NULL);
  g_assert_cmpint (r.status, ==, 0);
  g_assert_true (strstr (r.err, "put a flatten before it") != NULL
                 || strstr (r.out, "put a flatten before it") != NULL);

  /* Images that a permute has arranged, as patches, need no flatten. */
  cli_write ("p.xml", HEAD "<node id=\"x\" op=\"input\" shape=\"B,3,2,2\"/>\n"
                           "<node id=\"p\" op=\"permute\" dims=\"0,2,3,1\"/>\n<node id=\"act\" op=\"relu\"/>\n"
                           "<node id=\"fc\" op=\"linear\" out_features=\"4\"/>\n"
                           "<node id=\"fc2\" op=\"linear\" out_features=\"5\"/>\n"
                           "<wire from=\"x\" to=\"p\"/>\n<wire from=\"p\" to=\"act\"/>\n"
                           "<wire from=\"act\" to=\"fc\"/>\n<wire from=\"fc\" to=\"fc2\"/>\n" TAIL);
  g_auto (CliResult) patches = cli ("check", "p.xml", NULL);
  g_assert_cmpint (patches.status, ==, 0);
  g_assert_cmpstr (patches.err, ==, "");

  cli_write ("c.xml", HEAD "<node id=\"x\" op=\"input\" shape=\"4\" dtype=\"i64\"/>\n"
                           "<node id=\"c\" op=\"clamp\" min=\"0.5\" max=\"2\"/>\n"
                           "<node id=\"w\" op=\"clamp\" min=\"1\" max=\"2\"/>\n"
                           "<wire from=\"x\" to=\"c\"/>\n<wire from=\"x\" to=\"w\"/>\n" TAIL);
  cli_save ("i.npy", LOOM_I64, 1, DIMS (4), (double[]){ -3, 0, 1, 7 });
  cli_expect (0, NULL, "run", "c.xml", "--in", "x=i.npy", "--out", "c=c.npy", "--out", "w=w.npy");
  g_autoptr (LoomTensor) c = cli_load ("c.npy"), w = cli_load ("w.npy");
  g_assert_cmpint (c->dtype, ==, LOOM_F32);
  g_assert_cmpint (w->dtype, ==, LOOM_I64);
  for (guint i = 0; i < 4; i++)
    {
      g_assert_cmpfloat (loom_tensor_get (c, i), ==, ((double[]){ 0.5, 0.5, 1, 2 })[i]);
      g_assert_cmpfloat (loom_tensor_get (w, i), ==, ((double[]){ 1, 1, 1, 2 })[i]);
    }
}

/* A loss that is not a number is null in JSON, and the status is 4; in `run` it is a number like any other. */
static void
test_not_finite (void)
{
  cli_save ("x.npy", LOOM_F32, 2, DIMS (4, 2), (double[8]){ -1, -1, -1, -1, -1, -1, -1, -1 });
  cli_write ("g.xml", HEAD "<node id=\"d\" op=\"dataset\" source=\"npy\" x=\"x.npy\"/>\n"
                           "<node id=\"p\" op=\"parameter\" shape=\"1\" init=\"ones\"/>\n<node id=\"m\" op=\"mul\"/>\n"
                           "<node id=\"l\" op=\"log\"/>\n<node id=\"loss\" op=\"mean\"/>\n"
                           "<wire from=\"d.x\" to=\"m.input\"/>\n<wire from=\"p\" to=\"m.other\"/>\n"
                           "<wire from=\"m\" to=\"l\"/>\n<wire from=\"l\" to=\"loss\"/>\n"
                           "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"4\" epochs=\"1\"/>\n" TAIL);
  g_auto (CliResult) r = cli ("train", "g.xml", "--json", "--out", "run", NULL);
  g_assert_cmpint (r.status, ==, 4);
  g_assert_nonnull (strstr (r.out, "\"loss\":null"));
  g_assert_nonnull (strstr (r.err, "node l"));
  cli_expect (0, NULL, "run", "g.xml", "--out", "loss=o.npy");
  g_autoptr (LoomTensor) o = cli_load ("o.npy");
  g_assert_true (isnan (loom_tensor_get (o, 0)));
}

/* Output for people: nan without a sign, a remedy for a class that is none, the program's name in a list of processes.
 */
static void
test_sentences (void)
{
  static const char *const nan_graph
      = HEAD "<node id=\"d\" op=\"dataset\" source=\"npy\" x=\"x.npy\"/>\n"
             "<node id=\"p\" op=\"parameter\" shape=\"1\" init=\"ones\"/>\n<node id=\"m\" op=\"mul\"/>\n"
             "<node id=\"l\" op=\"log\"/>\n<node id=\"loss\" op=\"mean\"/>\n"
             "<wire from=\"d.x\" to=\"m.input\"/>\n<wire from=\"p\" to=\"m.other\"/>\n"
             "<wire from=\"m\" to=\"l\"/>\n<wire from=\"l\" to=\"loss\"/>\n"
             "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"4\" epochs=\"1\"/>\n" TAIL;
  cli_save ("x.npy", LOOM_F32, 2, DIMS (4, 2), (double[8]){ -1, -1, -1, -1, -1, -1, -1, -1 });
  cli_write ("g.xml", nan_graph);
  g_auto (CliResult) r = cli ("train", "g.xml", NULL);
  g_assert_cmpint (r.status, ==, 4);
  g_assert_nonnull (strstr (r.out, "loss nan"));
  g_assert_null (strstr (r.out, "-nan"));

  cli_save ("y.npy", LOOM_I64, 1, DIMS (4), (double[]){ 0, 1, 2, 7 });
  cli_write ("k.xml", HEAD "<node id=\"d\" op=\"dataset\" source=\"npy\" x=\"x.npy\" y=\"y.npy\"/>\n"
                           "<node id=\"fc\" op=\"linear\" out_features=\"3\"/>\n"
                           "<node id=\"loss\" op=\"cross_entropy\"/>\n<wire from=\"d.x\" to=\"fc\"/>\n"
                           "<wire from=\"fc\" to=\"loss.input\"/>\n<wire from=\"d.y\" to=\"loss.target\"/>\n"
                           "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"4\" epochs=\"1\"/>\n" TAIL);
  cli_expect (1, "Check the class numbers or indices in the data", "train", "k.xml", "--device", "cpu");
  cli_expect (1, "Check the class numbers or indices in the data", "train", "k.xml", "--device", "ref");

  /* The program starts itself once more when it is loaded. */
  const char *shell
      = "unset OMP_WAIT_POLICY GOMP_SPINCOUNT; \"$GRADLOOM_BUILD_ROOT/app/gradloom\" train \"$0\" --epochs "
        "100000 >log 2>&1 & p=$!; until grep -q epoch log; do sleep 0.1; done; cat /proc/$p/comm; kill $p; wait $p "
        "2>/dev/null; true";
  g_autofree char *spirals = cli_example ("lessons/spirals.xml");
  const char *argv[] = { "sh", "-c", shell, spirals, NULL };
  g_autofree char *out = NULL;
  g_autoptr (GError) error = NULL;
  g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (out, ==, "gradloom\n");
}

#define FITS                                                                                                           \
  "<node id=\"data\" op=\"dataset\" source=\"spirals\"/>\n<node id=\"fc\" op=\"linear\" out_features=\"2\"/>\n"        \
  "<node id=\"loss\" op=\"cross_entropy\"/>\n<wire from=\"data.x\" to=\"fc\"/>\n"                                      \
  "<wire from=\"fc\" to=\"loss.input\"/>\n<wire from=\"data.y\" to=\"loss.target\"/>\n"

/* `check` reports faults of train, with the line of <train>; and a table is no number in an epoch's line. */
static void
test_check_trains (void)
{
  cli_write ("f.xml", HEAD FITS "<train loss=\"loss\"><group match=\"fc\" frozen=\"true\"/></train>\n" TAIL);
  g_auto (CliResult) frozen = cli ("check", "f.xml", NULL);
  g_assert_cmpint (frozen.status, ==, 1);
  g_assert_nonnull (strstr (frozen.err, "f.xml: line "));
  g_assert_nonnull (strstr (frozen.err, "<train>: The loss depends on no trainable weight"));

  cli_write ("t.xml", HEAD FITS "<train loss=\"loss\" epochs=\"1\">"
                                "<metric type=\"confusion_matrix\" input=\"fc\" target=\"data.y\"/>"
                                "<metric type=\"accuracy\" input=\"fc\" target=\"data.y\"/></train>\n" TAIL);
  g_auto (CliResult) r = cli ("train", "t.xml", NULL);
  g_assert_cmpint (r.status, ==, 0);
  g_assert_nonnull (strstr (r.out, "  accuracy "));
  g_assert_null (strstr (r.out, "confusion_matrix"));
}

/* A resumed run refuses impossible options before it reads anything. */
static void
test_resume_words (void)
{
  cli_expect (2, "--resume", "train", "--resume", "nowhere", "--batch-size", "3");
  cli_expect (2, "--resume", "train", "--resume", "nowhere", "--seed", "3");
  cli_expect (2, "--resume", "train", "--resume", "nowhere", "--set", "a.b=3");
  cli_expect (1, "no run in", "train", "--resume", "nowhere", "--epochs", "3");
}

/* One object per line, each of them valid JSON. */
static void
test_json_lines (void)
{
  g_auto (CliResult) r = cli ("ops", "--json", NULL);
  g_auto (GStrv) lines = g_strsplit (g_strchomp (r.out), "\n", -1);

  g_assert_cmpuint (g_strv_length (lines), >, 40);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (JsonNode) node = json_from_string (lines[i], &error);
      g_assert_no_error (error);
      g_assert_true (JSON_NODE_HOLDS_OBJECT (node));
      /* json-glib reads 1e+30.0, which is none. */
      g_assert_false (g_regex_match_simple ("e[+-]?[0-9]+\\.", lines[i], 0, 0));
    }
}

/* A value crosses devices by a copy; strict_devices makes it an error that names both, in every command that plans. */
static void
test_strict_devices (void)
{
  static const char nodes[]
      = "<node id=\"d\" op=\"dataset\" source=\"xor\"/>\n"
        "<node id=\"a\" op=\"linear\" out_features=\"4\"/>\n"
        "<node id=\"b\" op=\"linear\" out_features=\"2\" device=\"ref\"/>\n<node id=\"l\" op=\"cross_entropy\"/>\n"
        "<wire from=\"d.x\" to=\"a\"/>\n<wire from=\"a\" to=\"b\"/>\n<wire from=\"b\" to=\"l.input\"/>\n"
        "<wire from=\"d.y\" to=\"l.target\"/>\n"
        "<train loss=\"l\" optimizer=\"sgd\" lr=\"0.1\" epochs=\"1\" batch_size=\"100\"/>\n";
  g_autofree char *loose = g_strconcat (HEAD, nodes, TAIL, NULL);
  g_autofree char *strict
      = g_strconcat ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\" strict_devices=\"true\">", nodes, TAIL, NULL);

  cli_write ("loose.xml", loose);
  cli_write ("strict.xml", strict);
  cli_expect (0, NULL, "run", "loose.xml", "--out", "b=o.npy");
  cli_expect (0, NULL, "plan", "loose.xml");
  cli_expect (0, NULL, "train", "loose.xml", "--out", "loose");
  cli_expect (3, "node a is on cpu and is needed on ref", "run", "strict.xml", "--out", "b=o.npy");
  cli_expect (3, "node a is on cpu and is needed on ref", "plan", "strict.xml");
  cli_expect (3, "node a is on cpu and is needed on ref", "train", "strict.xml", "--out", "strict");
}

/* A user's backward formula is right, wrong, or infinite; nodes that no random numbers suit are skipped. */
static void
test_gradcheck (void)
{
  static const struct
  {
    const char *node, *port;
    int status;
    const char *says;
  } cases[] = {
    { "<node id=\"n\" op=\"custom_function\" forward=\"y = x*x\" backward=\"x = grad*2*x\"/>", "n.x", 0, "agrees" },
    { "<node id=\"n\" op=\"custom_function\" forward=\"y = x*x\" backward=\"x = grad*x\"/>", "n.x", 1,
      "differs from finite differences" },
    { "<node id=\"n\" op=\"custom_function\" forward=\"y = x*x\" backward=\"x = grad*log(-1 - x*x)\"/>", "n.x", 1,
      "inf  differs" },
    { "<node id=\"n\" op=\"log\"/>", "n", 0, "agrees" },
    { "<node id=\"n\" op=\"cholesky\"/>", "n", 0, "not checked: Node n" },
    { "<node id=\"n\" op=\"acosh\"/>", "n", 0, "not checked: it has no finite value for random inputs" },
    /* A random operator is constant between two evaluations: its numbers depend on seed, path and step. */
    { "<node id=\"n\" op=\"normal\"/>", "n.mean", 0, "agrees" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = g_strdup_printf (HEAD "<node id=\"x\" op=\"input\" shape=\"3,3\"/>\n%s\n"
                                                    "<wire from=\"x\" to=\"%s\"/>\n</graph>\n",
                                               cases[i].node, cases[i].port);
      cli_write ("check.xml", text);
      g_auto (CliResult) r = cli ("check", "check.xml", "--gradcheck", NULL);
      g_assert_cmpint (r.status, ==, cases[i].status);
      g_assert_nonnull (strstr (r.out, cases[i].says));
    }
  cli_expect (2, "no node “m” with inputs", "check", "check.xml", "--gradcheck", "m");

  /* Several nodes, and all of a module, with a line for each input and weight. */
  g_autofree char *lenet = cli_example ("models/fashion-lenet.xml");
  g_auto (CliResult) some = cli ("check", lenet, "--gradcheck", "fc2", "block1", "--batch-size", "2", NULL);
  g_assert_cmpint (some.status, ==, 0);
  g_assert_nonnull (strstr (some.out, "\n  fc2.weight "));
  g_assert_nonnull (strstr (some.out, "block1.pool "));
  g_assert_null (strstr (some.out, "block2.conv"));
  g_assert_nonnull (strstr (some.out, "agrees, 24 of its elements compared\n"));
}

/* The report names input, index and both numbers for given points: |x| as 2x for x > 0 is right only there. */
static void
test_gradcheck_points (void)
{
  static const double good[] = { 0.5, 0.5, 0.5, 0.5, 0.5, 0.5 }, bad[] = { 0.5, 0.5, 0.5, 0.5, -2, 0.5 };
  static const gint64 dims[] = { 3, 2 };

  cli_write ("points.xml",
             HEAD "<node id=\"a\" op=\"input\" shape=\"B,2\"/>\n"
                  "<node id=\"n\" op=\"custom_function\" forward=\"y = w * x*x\" backward=\"x = grad*w*2*abs(x); w = "
                  "grad*x*x\"/>\n"
                  "<node id=\"b\" op=\"input\" shape=\"B,2\"/>\n<wire from=\"a\" to=\"n.x\"/>\n"
                  "<wire from=\"b\" to=\"n.w\"/>\n</graph>\n");
  cli_save ("good.npy", LOOM_F64, 2, dims, good);
  cli_save ("bad.npy", LOOM_F64, 2, dims, bad);
  cli_expect (0, NULL, "check", "points.xml", "--gradcheck", "--in", "a=good.npy");
  g_auto (CliResult) r = cli ("check", "points.xml", "--gradcheck", "--in", "a=bad.npy", "--in", "b=good.npy", NULL);
  g_assert_cmpint (r.status, ==, 1);
  g_assert_nonnull (strstr (r.out, "differs from finite differences: x at [2, 0] has the gradient "));
  g_auto (CliResult) json
      = cli ("check", "points.xml", "--gradcheck", "--json", "--in", "a=bad.npy", "--in", "b=good.npy", NULL);
  g_assert_nonnull (strstr (json.out, "\"input\":\"x\",\"place\":[2,0],\"gradient\":"));
  cli_expect (2, "--in sets values for --gradcheck", "check", "points.xml", "--in", "a=good.npy");
  cli_expect (2, "There is no node or port", "check", "points.xml", "--gradcheck", "--in", "c=good.npy");
}

/* A computation without a result ends a run with the node, the kernel and the index instead of a number. */
static void
test_refusals (void)
{
  static const struct
  {
    const char *shape, *dtype, *node, *port;
    double values[8];
    const char *says;
  } cases[] = {
    { "2,2",
      "i64",
      "<node id=\"n\" op=\"div\" rounding_mode=\"floor\"/>",
      "other",
      { 1, 2, 0, 4 },
      "Node n (require on %s): integers cannot be divided by 0, and the divisor is 0 at [1, 0]" },
    { "2,2", "i64", "<node id=\"n\" op=\"remainder\"/>", "other", { 1, 2, 3, 0 }, "the divisor is 0 at [1, 1]" },
    { "4", "i32", "<node id=\"n\" op=\"fmod\"/>", "other", { 0, 2, 3, 4 }, "the divisor is 0 at [0]" },
    { "2,2,2",
      "f32",
      "<node id=\"n\" op=\"inverse\"/>",
      "input",
      { 1, 2, 3, 4, 1, 2, 2, 4 },
      "Node n (solve on %s): the matrix at [1] is singular" },
    { "2,2", "f32", "<node id=\"n\" op=\"inverse\"/>", "input", { 1, 2, 2, 4 }, "the matrix is singular" },
    { "2,2,2",
      "f32",
      "<node id=\"n\" op=\"cholesky\"/>",
      "input",
      { 1, 2, 2, 1, 1, 0, 0, 1 },
      "Node n (cholesky on %s): the matrix at [0] is not positive definite" },
    { "4",
      "f32",
      "<node id=\"n\" op=\"bernoulli\"/>",
      "input",
      { 0, 1, 1.5, 0 },
      "a probability is not between 0 and 1 at [2]" },
    { "2,2",
      "f32",
      "<node id=\"n\" op=\"multinomial\" num_samples=\"1\"/>",
      "input",
      { 0, 1, -1, 3 },
      "a weight is negative, infinite or NaN at [1, 0]" },
    { "2,2",
      "f32",
      "<node id=\"n\" op=\"multinomial\" num_samples=\"1\" replacement=\"true\"/>",
      "input",
      { 0, 1, 0, 0 },
      "all weights are 0 at [1" },
    { "2,2",
      "f32",
      "<node id=\"n\" op=\"multinomial\" num_samples=\"2\"/>",
      "input",
      { 1, 1, 0, 1 },
      "fewer weights are above 0 than indices are to be drawn at [1" },
    { "3", "f32", "<node id=\"n\" op=\"normal\"/>", "std", { 1, 0, -1 }, "a standard deviation is negative at [2]" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (int d = 0; d < 2; d++)
      {
        const char *device = d ? "ref" : "cpu", *other = g_str_equal (cases[i].port, "other") ? "n.input" : NULL;
        g_autofree char *wire
            = other != NULL ? g_strdup_printf ("<wire from=\"x\" to=\"%s\"/>\n", other) : g_strdup ("");
        g_autofree char *text = g_strdup_printf (HEAD "<node id=\"x\" op=\"input\" shape=\"%s\" dtype=\"%s\"/>\n%s\n"
                                                      "<wire from=\"x\" to=\"n.%s\"/>\n%s</graph>\n",
                                                 cases[i].shape, cases[i].dtype, cases[i].node, cases[i].port, wire);
        g_auto (GStrv) sizes = g_strsplit (cases[i].shape, ",", -1);
        g_autofree char *says = g_strdup_printf (cases[i].says, device);
        gint64 dims[3];

        for (guint k = 0; sizes[k] != NULL; k++)
          dims[k] = g_ascii_strtoll (sizes[k], NULL, 10);
        cli_write ("refused.xml", text);
        cli_save ("x.npy", cases[i].dtype[0] == 'i' ? LOOM_I64 : LOOM_F32, (int)g_strv_length (sizes), dims,
                  cases[i].values);
        cli_expect (1, says, "run", "refused.xml", "--in", "x=x.npy", "--out", "n=n.npy", "--device", device);
      }
  /* A divisor of 0 as an attribute is a fault of the graph. */
  cli_write ("zero.xml",
             HEAD "<node id=\"x\" op=\"input\" shape=\"3\" dtype=\"i64\"/>\n"
                  "<node id=\"n\" op=\"remainder\" other=\"0\"/>\n<wire from=\"x\" to=\"n.input\"/>\n</graph>\n");
  cli_expect (1, "Integers cannot be divided by 0", "check", "zero.xml");
}

/* Drawn numbers are the same on every device and with any number of threads, and others with another seed. */
static void
test_same_numbers (void)
{
  static const char *const nodes[] = { "rand\" shape=\"700,30",
                                       "randn\" shape=\"700,30",
                                       "exponential\" shape=\"700,30",
                                       "bernoulli\" shape=\"700,30",
                                       "randint\" high=\"1000\" shape=\"700,30",
                                       "randperm\" n=\"3000",
                                       "normal\" std=\"2\" shape=\"9000",
                                       "uniform\" low=\"-3\" shape=\"9000" };
  static const struct
  {
    const char *device, *threads, *seed;
  } ways[] = { { "cpu", "1", "4" }, { "cpu", "2", "4" }, { "ref", "1", "4" }, { "cpu", "1", "5" } };

  for (guint i = 0; i < G_N_ELEMENTS (nodes); i++)
    {
      g_autofree char *text = g_strdup_printf (HEAD "<node id=\"n\" op=\"%s\"/>\n</graph>\n", nodes[i]);
      g_autoptr (LoomTensor) first = NULL;

      cli_write ("drawn.xml", text);
      for (guint w = 0; w < G_N_ELEMENTS (ways); w++)
        {
          cli_expect (0, NULL, "run", "drawn.xml", "--out", "n=n.npy", "--device", ways[w].device, "--threads",
                      ways[w].threads, "--seed", ways[w].seed);
          g_autoptr (LoomTensor) t = cli_load ("n.npy");
          if (w == 0)
            first = loom_tensor_ref (t);
          else
            g_assert_cmpint (loom_tensor_equal_bits (first, t), ==, w < 3);
        }
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/corners/missing", test_missing);
  g_test_add_func ("/corners/disagreement", test_disagreement);
  g_test_add_func ("/corners/endless", test_endless);
  g_test_add_func ("/corners/parts", test_parts);
  g_test_add_func ("/corners/symbols", test_symbols);
  g_test_add_func ("/corners/empty", test_empty);
  g_test_add_func ("/corners/types", test_types);
  g_test_add_func ("/corners/passing-on", test_passing_on);
  g_test_add_func ("/corners/double", test_double);
  g_test_add_func ("/corners/names", test_names);
  g_test_add_func ("/corners/loop", test_loop);
  g_test_add_func ("/corners/tied-layers", test_tied_layers);
  g_test_add_func ("/corners/as-pytorch", test_as_pytorch);
  g_test_add_func ("/corners/not-finite", test_not_finite);
  g_test_add_func ("/corners/sentences", test_sentences);
  g_test_add_func ("/corners/resume-words", test_resume_words);
  g_test_add_func ("/corners/check-trains", test_check_trains);
  g_test_add_func ("/corners/json-lines", test_json_lines);
  g_test_add_func ("/corners/strict-devices", test_strict_devices);
  g_test_add_func ("/corners/gradcheck", test_gradcheck);
  g_test_add_func ("/corners/gradcheck-points", test_gradcheck_points);
  g_test_add_func ("/corners/refusals", test_refusals);
  g_test_add_func ("/corners/same-numbers", test_same_numbers);
  int status = g_test_run ();
  cli_leave ();
  return status;
}
