/* `gradloom export` from outside: what is written where, and what is said to what cannot be. */
#include "tests/cli/cli.h"

#include <glib/gstdio.h>
#include <string.h>

static const char mlp[]
    = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"mlp\">\n"
      "  <node id=\"data\" op=\"dataset\" source=\"xor\"/>\n"
      "  <node id=\"hidden\" op=\"linear\" out_features=\"3\"/>\n"
      "  <node id=\"act\" op=\"tanh\"/>\n"
      "  <node id=\"fc\" op=\"linear\" out_features=\"2\"/>\n"
      "  <node id=\"loss\" op=\"cross_entropy\"/>\n"
      "  <wire from=\"data.x\" to=\"hidden\"/>\n"
      "  <wire from=\"hidden\" to=\"act\"/>\n"
      "  <wire from=\"act\" to=\"fc\"/>\n"
      "  <wire from=\"fc\" to=\"loss.input\"/>\n"
      "  <wire from=\"data.y\" to=\"loss.target\"/>\n"
      "  <train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" epochs=\"2\" batch_size=\"16\" seed=\"3\"/>\n"
      "</graph>\n";

/* Two nodes that are refused, one of them behind the other's back. */
static const char refused[]
    = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"refused\">\n"
      "  <node id=\"x\" op=\"input\" shape=\"B,3\"/>\n"
      "  <node id=\"i\" op=\"input\" shape=\"B,3\" dtype=\"i64\"/>\n"
      "  <node id=\"s\" op=\"scatter\" dim=\"1\" reduce=\"amax\"/>\n"
      "  <node id=\"sum\" op=\"sum\"/>\n"
      "  <node id=\"g\" op=\"gradient\"/>\n"
      "  <wire from=\"x\" to=\"s.input\"/><wire from=\"i\" to=\"s.index\"/><wire from=\"x\" to=\"s.src\"/>\n"
      "  <wire from=\"x\" to=\"sum\"/><wire from=\"sum\" to=\"g.of\"/><wire from=\"x\" to=\"g.wrt\"/>\n"
      "</graph>\n";

/* The model of a run computes what the run's graph computes, and so does what is read from it again. */
static void
test_run (void)
{
  cli_write ("mlp.xml", mlp);
  cli_expect (0, NULL, "train", "mlp.xml", "--out", "run");
  g_auto (CliResult) r = cli ("export", "run", "--to", "onnx", NULL);
  g_assert_cmpint (r.status, ==, 0);
  g_assert_cmpstr (r.err, ==, "");
  g_assert_nonnull (strstr (r.out, "linear → Gemm (2)"));
  g_assert_nonnull (strstr (r.out, "input data.x: B × 2"));
  g_assert_nonnull (strstr (r.out, "output fc: B × 2"));
  g_assert_true (g_file_test ("run.onnx", G_FILE_TEST_EXISTS));

  cli_save ("x.npy", LOOM_F32, 2, (gint64[]){ 3, 2 }, (double[]){ 0.5, -1, 2, 0.25, -0.75, 1.5 });
  cli_expect (0, NULL, "import", "run.onnx", "-o", "again.xml");
  cli_expect (0, NULL, "run", "run", "--in", "data.x=x.npy", "--out", "fc=a.npy");
  g_auto (CliResult) again
      = cli ("run", "again.xml", "--weights", "again.safetensors", "--in", "data_x=x.npy", "--out", "fc=b.npy", NULL);
  g_assert_cmpint (again.status, ==, 0);
  g_autoptr (LoomTensor) a = cli_load ("a.npy"), b = cli_load ("b.npy");
  g_assert_cmpint (a->count, ==, 6);
  for (gint64 i = 0; i < a->count; i++)
    g_assert_cmpfloat_with_epsilon (loom_tensor_get (a, i), loom_tensor_get (b, i), 1e-6);

  /* Training's values are warned of where there are no others; the same file gives the same bytes. */
  cli_expect (0, "no --weights", "export", "mlp.xml", "--to", "onnx", "-o", "one.onnx");
  cli_expect (0, NULL, "export", "mlp.xml", "--to", "onnx", "-o", "two.onnx");
  g_autofree char *one = NULL, *two = NULL;
  gsize n_one, n_two;
  g_assert_true (g_file_get_contents ("one.onnx", &one, &n_one, NULL));
  g_assert_true (g_file_get_contents ("two.onnx", &two, &n_two, NULL));
  g_assert_cmpmem (one, n_one, two, n_two);
}

static void
test_choices (void)
{
  cli_write ("mlp.xml", mlp);
  g_auto (CliResult) inner = cli ("export", "mlp.xml", "--to", "onnx", "--output", "act", "--output", "fc", "--input",
                                  "hidden", "--size", "B=1", NULL);
  g_assert_cmpint (inner.status, ==, 0);
  g_assert_nonnull (strstr (inner.out, "input hidden: 1 × 3"));
  g_assert_nonnull (strstr (inner.out, "output act: 1 × 3"));
  g_assert_nonnull (strstr (inner.out, "output fc: 1 × 2"));
  g_assert_null (strstr (inner.out, "data.x"));
  g_assert_true (g_file_test ("mlp.onnx", G_FILE_TEST_EXISTS));

  /* A loss is a value like others where it is asked for, and then needs its target. */
  g_auto (CliResult) loss = cli ("export", "mlp.xml", "--to", "onnx", "--output", "loss", "--force", NULL);
  g_assert_cmpint (loss.status, ==, 0);
  g_assert_nonnull (strstr (loss.out, "input data.y: B, i64"));

  g_auto (CliResult) wide = cli ("export", "mlp.xml", "--to", "onnx", "-o", "wide.onnx", "--external-data", NULL);
  g_assert_cmpint (wide.status, ==, 0);
}

static void
test_refusals (void)
{
  cli_write ("mlp.xml", mlp);
  cli_write ("refused.xml", refused);
  cli_expect (2, "--to is missing: it can write onnx", "export", "mlp.xml");
  cli_expect (2, "it can write onnx", "export", "mlp.xml", "--to", "onxx");
  cli_expect (2, "one GRAPH", "export", "--to", "onnx");
  cli_expect (2, "--size B=x", "export", "mlp.xml", "--to", "onnx", "--size", "B=x");
  cli_expect (2, "no such dynamic size", "export", "mlp.xml", "--to", "onnx", "--size", "T=4", "--force");
  cli_expect (2, "is what is read", "export", "mlp.xml", "--to", "onnx", "-o", "mlp.xml");
  cli_expect (1, "nowhere.xml", "export", "nowhere.xml", "--to", "onnx");
  cli_expect (1, "nothing", "export", "mlp.xml", "--to", "onnx", "--output", "nothing", "--force");
  cli_expect (1, "fc", "export", "mlp.xml", "--to", "onnx", "--output", "fc.inner", "--force");
  cli_expect (1, "w.safetensors", "export", "mlp.xml", "--to", "onnx", "--weights", "w.safetensors", "--force");
  cli_expect (5, "no/such/folder", "export", "mlp.xml", "--to", "onnx", "-o", "no/such/folder/m.onnx");

  /* All at once, with the nodes, and no file. */
  g_auto (CliResult) both = cli ("export", "refused.xml", "--to", "onnx", "--output", "s", "--output", "g", NULL);
  g_assert_cmpint (both.status, ==, 1);
  g_assert_nonnull (strstr (both.err, "node s: scatter cannot be written as ONNX"));
  g_assert_nonnull (strstr (both.err, "node g: gradient cannot be written as ONNX"));
  g_assert_nonnull (strstr (both.err, "no file was made"));
  g_assert_false (g_file_test ("refused.onnx", G_FILE_TEST_EXISTS));
  cli_expect (0, NULL, "export", "refused.xml", "--to", "onnx", "--output", "sum");
}

int
main (int argc, char **argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/cli/export/run", test_run);
  g_test_add_func ("/cli/export/choices", test_choices);
  g_test_add_func ("/cli/export/refusals", test_refusals);
  status = g_test_run ();
  cli_leave ();
  return status;
}
