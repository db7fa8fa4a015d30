/* `gradloom export` from outside: the written files, and the reported errors. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <math.h>
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

/* Two unsupported nodes, one after the other. */
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

/* The model of a run computes the same as the run's graph, and so does the re-imported graph. */
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
  cli_expect (0, NULL, "import", "run.onnx", "-o", "again.xml", "--force");
  cli_expect (0, NULL, "run", "run", "--in", "data.x=x.npy", "--out", "fc=a.npy");
  g_auto (CliResult) again
      = cli ("run", "again.xml", "--weights", "again.safetensors", "--in", "data_x=x.npy", "--out", "fc=b.npy", NULL);
  g_assert_cmpint (again.status, ==, 0);
  g_autoptr (LoomTensor) a = cli_load ("a.npy"), b = cli_load ("b.npy");
  g_assert_cmpint (a->count, ==, 6);
  for (gint64 i = 0; i < a->count; i++)
    g_assert_cmpfloat_with_epsilon (loom_tensor_get (a, i), loom_tensor_get (b, i), 1e-6);

  /* A warning is printed if there are only initial values; the same file has the same bytes. */
  cli_expect (0, "the weights are the initial ones", "export", "mlp.xml", "--to", "onnx", "-o", "one.onnx");
  cli_expect (0, NULL, "export", "mlp.xml", "--to", "onnx", "-o", "two.onnx");
  g_autofree char *one = NULL, *two = NULL;
  gsize n_one, n_two;
  g_assert_true (g_file_get_contents ("one.onnx", &one, &n_one, NULL));
  g_assert_true (g_file_get_contents ("two.onnx", &two, &n_two, NULL));
  g_assert_cmpmem (one, n_one, two, n_two);
}

/* TRUE if the file holds the text. */
static gboolean
file_has (const char *name, const char *text)
{
  g_autofree char *bytes = NULL;
  gsize length;

  g_assert_true (g_file_get_contents (name, &bytes, &length, NULL));
  for (gsize i = 0, n = strlen (text); i + n <= length; i++)
    if (memcmp (bytes + i, text, n) == 0)
      return TRUE;
  return FALSE;
}

/* Lengths of sequences: a layer of ONNX if all sizes are fixed, a loop if one is open, with the same numbers. */
static void
test_lengths (void)
{
  double x[12];

  for (int i = 0; i < 12; i++)
    x[i] = 0.3 * i - 1.5;
  cli_write ("lengths.xml",
             "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
             "  <node id=\"x\" op=\"input\" shape=\"B,T,2\"/>\n"
             "  <node id=\"n\" op=\"input\" shape=\"B\" dtype=\"i64\"/>\n"
             "  <node id=\"lstm\" op=\"lstm\" hidden_size=\"2\" batch_first=\"true\" bidirectional=\"true\"/>\n"
             "  <wire from=\"x\" to=\"lstm.input\"/><wire from=\"n\" to=\"lstm.lengths\"/>\n"
             "</graph>\n");
  cli_save ("x.npy", LOOM_F32, 3, (gint64[]){ 2, 3, 2 }, x);
  cli_save ("n.npy", LOOM_I64, 1, (gint64[]){ 2 }, (double[]){ 3, 1 });
  cli_expect (0, NULL, "run", "lengths.xml", "--in", "x=x.npy", "--in", "n=n.npy", "--out", "lstm.output=a.npy",
              "--save-weights", "lengths.safetensors");
  g_autoptr (LoomTensor) a = cli_load ("a.npy");
  for (guint i = 0; i < 3; i++)
    {
      g_auto (CliResult) r
          = cli ("export", "lengths.xml", "--to", "onnx", "--weights", "lengths.safetensors", "--output", "lstm.output",
                 "--force", i == 0 ? NULL : "--size", "B=2", i == 1 ? NULL : "--size", "T=3", NULL);
      g_assert_cmpint (r.status, ==, 0);
      g_assert_true (file_has ("lengths.onnx", "LSTM") == (i == 2));
      g_auto (CliResult) read = cli ("import", "lengths.onnx", "-o", "again.xml", "--force", NULL);
      g_assert_cmpint (read.status, ==, 0);
      char *name = strstr (read.out, "output ") + strlen ("output ");
      *strchr (name, ':') = 0;
      g_autofree char *out = g_strconcat (name, "=b.npy", NULL);
      cli_expect (0, NULL, "run", "again.xml", "--weights", "again.safetensors", "--in", "x=x.npy", "--in", "n=n.npy",
                  "--out", out);
      g_autoptr (LoomTensor) b = cli_load ("b.npy");
      g_assert_cmpint (a->count, ==, b->count);
      for (gint64 k = 0; k < a->count; k++)
        g_assert_cmpfloat_with_epsilon (loom_tensor_get (a, k), loom_tensor_get (b, k), 1e-6);
    }
}

/* Runtimes differ in how windows beyond counted padding count, so the export contains no such window. */
static void
test_windows (void)
{
  static const char graph[] = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                              "  <node id=\"x\" op=\"input\" shape=\"B,1,%d\"/>\n"
                              "  <node id=\"pool\" op=\"avg_pool1d\" kernel_size=\"3\" stride=\"2\" padding=\"1\" "
                              "ceil_mode=\"true\"/>\n"
                              "  <wire from=\"x\" to=\"pool\"/>\n"
                              "</graph>\n";

  for (int rows = 6; rows <= 7; rows++)
    {
      g_autofree char *text = g_strdup_printf (graph, rows);
      cli_write ("windows.xml", text);
      cli_expect (0, NULL, "export", "windows.xml", "--to", "onnx", "--force");
      g_assert_true (file_has ("windows.onnx", "\"\003Pad") == (rows == 6));
      g_assert_true (file_has ("windows.onnx", "ceil_mode") == (rows == 7));
    }
}

/* OpenVINO passes over the axes of ReduceLogSumExp in this operator set. */
static void
test_log_sum_exp (void)
{
  cli_write ("mlp.xml", mlp);
  cli_write ("lse.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                        "  <node id=\"x\" op=\"input\" shape=\"B,3\"/>\n"
                        "  <node id=\"lse\" op=\"logsumexp\" dim=\"1\"/>\n"
                        "  <wire from=\"x\" to=\"lse\"/>\n"
                        "</graph>\n");
  cli_expect (0, NULL, "export", "lse.xml", "--to", "onnx");
  g_assert_false (file_has ("lse.onnx", "ReduceLogSumExp"));
  cli_expect (0, NULL, "export", "mlp.xml", "--to", "onnx", "--output", "loss", "-o", "loss.onnx");
  g_assert_false (file_has ("loss.onnx", "ReduceLogSumExp"));
}

/* The types of inner values are in the model, as name, type, and sizes or their letters. */
static void
test_inner_types (void)
{
#define F32   "\010\001"
#define DIM_B "\012\003\022\001B"
#define DIM_T "\012\003\022\001T"
#define DIM_3 "\012\002\010\003"
  cli_write ("mlp.xml", mlp);
  cli_expect (0, NULL, "export", "mlp.xml", "--to", "onnx", "-o", "types.onnx");
  g_assert_true (file_has ("types.onnx", "\012\006hidden\022\017\012\015" F32 "\022\011" DIM_B DIM_3));
  g_assert_true (file_has ("types.onnx", "\012\003act\022\017\012\015" F32 "\022\011" DIM_B DIM_3));

  /* Between the product and the sum of a linear there is no port. */
  cli_write ("product.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                            "  <node id=\"x\" op=\"input\" shape=\"B,T,2\"/>\n"
                            "  <node id=\"fc\" op=\"linear\" out_features=\"3\"/>\n"
                            "  <wire from=\"x\" to=\"fc\"/>\n"
                            "</graph>\n");
  cli_expect (0, NULL, "export", "product.xml", "--to", "onnx", "-o", "types.onnx");
  g_assert_true (file_has ("types.onnx", "\012\011fc/MatMul\022\024\012\022" F32 "\022\016" DIM_B DIM_T DIM_3));
}

/* The probability of each class, or each value, that predict prints for row i. */
static double
predicted (char **lines, gint64 i, gint64 k)
{
  g_autoptr (JsonNode) node = json_from_string (lines[i], NULL);
  JsonObject *object = json_node_get_object (node);
  static const char *const members[] = { "values", "probabilities" };

  for (guint m = 0; m < G_N_ELEMENTS (members); m++)
    if (json_object_has_member (object, members[m]))
      return json_array_get_double_element (json_object_get_array_member (object, members[m]), (guint)k);
  JsonArray *classes = json_object_get_array_member (object, "classes");
  for (guint c = 0; c < json_array_get_length (classes); c++)
    {
      JsonObject *class = json_array_get_object_element (classes, c);
      if (json_object_get_int_member (class, "class") == k)
        return json_object_get_double_member (class, "probability");
    }
  g_assert_not_reached ();
}

/* The model, with samples as in their files, returns what predict returns for the files. */
static void
check_as_predict (const char *run, const char *samples, const char *port, const char *const *files)
{
  g_autofree char *model = g_strconcat (run, ".onnx", NULL), *in = g_strconcat ("data_x=", samples, NULL),
                  *out = g_strconcat (port, "=answers.npy", NULL);
  g_autoptr (GPtrArray) words = g_ptr_array_new ();

  for (guint i = 0; i < 5; i++)
    g_ptr_array_add (words, (gpointer)((const char *[]){ "predict", run, "--json", "--top", "9" })[i]);
  for (guint i = 0; files[i] != NULL; i++)
    g_ptr_array_add (words, (gpointer)files[i]);
  g_ptr_array_add (words, NULL);
  g_auto (CliResult) predict = cli_argv ((const char *const *)words->pdata);
  g_auto (GStrv) lines = g_strsplit (predict.out, "\n", -1);
  g_assert_cmpint (predict.status, ==, 0);
  cli_expect (0, NULL, "import", model, "-o", "again.xml", "--force");
  cli_expect (0, NULL, "run", "again.xml", "--weights", "again.safetensors", "--in", in, "--out", out);
  g_autoptr (LoomTensor) answers = cli_load ("answers.npy");
  const gint64 n = answers->dim[1];
  g_assert_cmpint (answers->count, >, 0);
  for (gint64 i = 0; i < answers->count; i++)
    g_assert_cmpfloat_with_epsilon (loom_tensor_get (answers, i), predicted (lines, i / n, i % n), 1e-5);
}

static char *
table_graph (const char *dataset, const char *outputs, const char *loss)
{
  return g_strdup_printf ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"table\">\n"
                          "  <node id=\"data\" op=\"dataset\" source=\"csv\" path=\"table.csv\" %s/>\n"
                          "  <node id=\"fc\" op=\"linear\" out_features=\"%s\"/>\n"
                          "  <node id=\"loss\" op=\"%s\"/>\n"
                          "  <wire from=\"data.x\" to=\"fc\"/>\n"
                          "  <wire from=\"fc\" to=\"loss.input\"/>\n"
                          "  <wire from=\"data.y\" to=\"loss.target\"/>\n"
                          "  <train loss=\"loss\" optimizer=\"adam\" lr=\"0.1\" epochs=\"3\" batch_size=\"8\"/>\n"
                          "</graph>\n",
                          dataset, outputs, loss);
}

/* Columns of other units and with gaps, a class name with a quotation mark. */
static void
test_table (void)
{
  static const char *const rows[] = { "rows.csv", NULL };
  GString *table = g_string_new ("size,weight,price,large,kind\n");
  double values[] = { 100, 0.25, NAN, 0.75, 310, NAN };

  for (int i = 0; i < 40; i++)
    g_string_append_printf (table, "%d,%s,%d,%d,%s\n", i % 2 ? 100 + i : 300 + i,
                            i % 7 == 0 ? ""
                            : i % 2    ? "0.25"
                                       : "0.75",
                            i * 3, i % 2 == 0, i % 2 ? "\"a \"\"small\"\" one\"" : "large");
  cli_write ("table.csv", table->str);
  g_string_free (table, TRUE);
  cli_write ("rows.csv", "weight,size\n0.25,100\n0.75,\n,310\n");
  cli_save ("rows.npy", LOOM_F32, 2, (gint64[]){ 3, 2 }, values);

  g_autofree char *classes = table_graph (
      "target=\"kind\" features=\"size,weight\" normalize=\"standard\" missing=\"mean\"", "2", "cross_entropy");
  cli_write ("classes.xml", classes);
  cli_expect (0, NULL, "train", "classes.xml", "--out", "classes");
  g_auto (CliResult) r = cli ("export", "classes", "--to", "onnx", NULL);
  g_assert_cmpint (r.status, ==, 0);
  g_assert_nonnull (strstr (r.out, "input data.x: B × 2, f32: rows of the table"));
  g_assert_nonnull (strstr (r.out, "output fc: B × 2, f32\noutput probabilities: B × 2"));
  g_assert_true (file_has ("classes.onnx", "[\"a \\\"small\\\" one\",\"large\"]"));
  g_assert_true (file_has ("classes.onnx", "[\"size\",\"weight\"]"));
  check_as_predict ("classes", "rows.npy", "probabilities", rows);

  g_autofree char *price = table_graph (
      "target=\"price\" target_type=\"float\" features=\"size,weight\" normalize=\"minmax\" missing=\"mean\"", "1",
      "mse_loss");
  cli_write ("price.xml", price);
  cli_expect (0, NULL, "train", "price.xml", "--out", "price");
  cli_expect (0, NULL, "export", "price", "--to", "onnx");
  check_as_predict ("price", "rows.npy", "fc", rows);

  g_autofree char *large
      = table_graph ("target=\"large\" target_type=\"float\" features=\"size,weight\" missing=\"mean\"", "1",
                     "binary_cross_entropy_with_logits");
  cli_write ("large.xml", large);
  cli_expect (0, NULL, "train", "large.xml", "--out", "large");
  cli_expect (0, NULL, "export", "large", "--to", "onnx");
  check_as_predict ("large", "rows.npy", "probabilities", rows);

  /* Named ports are the only outputs of the model; --raw is only the net, as for a graph. */
  g_auto (CliResult) named = cli ("export", "classes", "--to", "onnx", "--output", "fc", "--force", NULL);
  g_assert_null (strstr (named.out, "probabilities"));
  g_assert_true (file_has ("classes.onnx", "class_names"));
  cli_expect (0, NULL, "export", "classes", "--to", "onnx", "--raw", "-o", "raw.onnx");
  cli_expect (0, NULL, "export", "classes.xml", "--to", "onnx", "--weights", "classes/weights.safetensors", "-o",
              "graph.onnx");
  for (guint i = 0; i < 2; i++)
    g_assert_false (file_has (i == 0 ? "raw.onnx" : "graph.onnx", "class_names")
                    || file_has (i == 0 ? "raw.onnx" : "graph.onnx", "IsNaN"));
  cli_remove ("table.csv");
  cli_expect (1, "table.csv", "export", "classes", "--to", "onnx", "--force");
  cli_expect (2, "--raw cannot be combined with --to dot", "export", "classes", "--to", "dot", "--raw");
}

/* A second data set has names of its own, and the run's stored files do not belong to it. */
static void
test_two_tables (void)
{
  cli_write ("pair.csv", "p,q,r,k\n1,2,300,x\n2,3,400,y\n3,4,500,x\n4,5,700,y\n");
  cli_write ("pair.xml",
             "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
             "  <node id=\"a\" op=\"dataset\" source=\"csv\" path=\"pair.csv\" target=\"k\" features=\"p,q\"/>\n"
             "  <node id=\"b\" op=\"dataset\" source=\"csv\" path=\"pair.csv\" target=\"k\" features=\"q,r\"/>\n"
             "  <node id=\"fc\" op=\"linear\" out_features=\"2\"/>\n"
             "  <node id=\"more\" op=\"relu\"/>\n"
             "  <node id=\"loss\" op=\"cross_entropy\"/>\n"
             "  <wire from=\"a.x\" to=\"fc\"/><wire from=\"b.x\" to=\"more\"/>\n"
             "  <wire from=\"fc\" to=\"loss.input\"/><wire from=\"a.y\" to=\"loss.target\"/>\n"
             "  <train loss=\"loss\" optimizer=\"adam\" lr=\"0.1\" epochs=\"1\" batch_size=\"4\"/>\n"
             "</graph>\n");
  cli_expect (0, NULL, "train", "pair.xml", "--out", "pair");
  g_auto (CliResult) r = cli ("export", "pair", "--to", "onnx", "--output", "fc", "--output", "more", NULL);
  g_assert_cmpint (r.status, ==, 0);
  g_assert_nonnull (strstr (r.out, "one number for each of feature_names\n"));
  g_assert_nonnull (strstr (r.out, "one number for each of b.feature_names\n"));
  g_assert_true (file_has ("pair.onnx", "\012\015feature_names\022\011[\"p\",\"q\"]"));
  g_assert_true (file_has ("pair.onnx", "\012\017b.feature_names\022\011[\"q\",\"r\"]"));
}

/* Pictures of 0 to 1 go in; mean and std are the model's. */
static void
test_pictures (void)
{
  static const char *const files[] = { "pictures/a/one.pgm", "pictures/b/two.pgm", NULL };

  g_assert_cmpint (g_mkdir_with_parents ("pictures/a", 0755) | g_mkdir_with_parents ("pictures/b", 0755), ==, 0);
  cli_write ("pictures/a/one.pgm", "P2 2 2 255\n0 51 102 255\n");
  cli_write ("pictures/b/two.pgm", "P2 2 2 255\n255 204 0 0\n");
  cli_save ("pictures.npy", LOOM_F32, 4, (gint64[]){ 2, 1, 2, 2 }, (double[]){ 0, 0.2, 0.4, 1, 1, 0.8, 0, 0 });
  cli_write ("pictures.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                             "  <node id=\"data\" op=\"dataset\" source=\"image-folder\" path=\"pictures\" size=\"2\" "
                             "color=\"grey\" mean=\"0.4\" std=\"0.25\"/>\n"
                             "  <node id=\"flat\" op=\"flatten\"/>\n"
                             "  <node id=\"fc\" op=\"linear\" out_features=\"2\"/>\n"
                             "  <node id=\"loss\" op=\"cross_entropy\"/>\n"
                             "  <wire from=\"data.x\" to=\"flat\"/>\n"
                             "  <wire from=\"flat\" to=\"fc\"/>\n"
                             "  <wire from=\"fc\" to=\"loss.input\"/>\n"
                             "  <wire from=\"data.y\" to=\"loss.target\"/>\n"
                             "  <train loss=\"loss\" optimizer=\"adam\" lr=\"0.1\" epochs=\"3\" batch_size=\"2\"/>\n"
                             "</graph>\n");
  cli_expect (0, NULL, "train", "pictures.xml", "--out", "pictures-run");
  cli_expect (0, NULL, "export", "pictures-run", "--to", "onnx");
  g_assert_true (file_has ("pictures-run.onnx", "[\"a\",\"b\"]"));
  check_as_predict ("pictures-run", "pictures.npy", "probabilities", files);
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

  /* A loss is a value like others if it is requested, and then needs its target. */
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
  cli_expect (2, "--to is missing. The targets are onnx", "export", "mlp.xml");
  cli_expect (2, "--to takes onnx", "export", "mlp.xml", "--to", "onxx");
  cli_expect (2, "one GRAPH", "export", "--to", "onnx");
  cli_expect (2, "not “B=x”", "export", "mlp.xml", "--to", "onnx", "--size", "B=x");
  cli_expect (2, "no such dynamic size", "export", "mlp.xml", "--to", "onnx", "--size", "T=4", "--force");
  cli_expect (2, "is the file that is read", "export", "mlp.xml", "--to", "onnx", "-o", "mlp.xml");
  cli_expect (1, "nowhere.xml", "export", "nowhere.xml", "--to", "onnx");
  cli_expect (2, "nothing", "export", "mlp.xml", "--to", "onnx", "--output", "nothing", "--force");
  cli_expect (2, "fc", "export", "mlp.xml", "--to", "onnx", "--output", "fc.inner", "--force");
  cli_expect (1, "w.safetensors", "export", "mlp.xml", "--to", "onnx", "--weights", "w.safetensors", "--force");
  cli_expect (5, "no/such/folder", "export", "mlp.xml", "--to", "onnx", "-o", "no/such/folder/m.onnx");

  /* All at once, with the nodes, and no file. */
  g_auto (CliResult) both = cli ("export", "refused.xml", "--to", "onnx", "--output", "s", "--output", "g", NULL);
  g_assert_cmpint (both.status, ==, 1);
  g_assert_nonnull (strstr (both.err, "node s: scatter cannot be written as ONNX"));
  g_assert_nonnull (strstr (both.err, "node g: gradient cannot be written as ONNX"));
  g_assert_nonnull (strstr (both.err, "no file was written"));
  g_assert_false (g_file_test ("refused.onnx", G_FILE_TEST_EXISTS));
  cli_expect (0, NULL, "export", "refused.xml", "--to", "onnx", "--output", "sum");
}

/* A default export has the batch of its example: shapes in which it is at several positions, and constants. It is open
 * after import, and another batch has the values of the graph. */
static const char any_batch[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                                "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                                "  <node id=\"x\" op=\"input\" shape=\"B,4,6\"/>\n"
                                "  <node id=\"first\" op=\"parameter\" shape=\"1,1,6\"/>\n"
                                "  <node id=\"rows\" op=\"expand\" shape=\"B,1,6\"/>\n"
                                "  <node id=\"join\" op=\"concat\" dim=\"1\"/>\n"
                                "  <node id=\"turn\" op=\"permute\" dims=\"1,0,2\"/>\n"
                                "  <node id=\"heads\" op=\"reshape\" shape=\"5,B*2,3\"/>\n"
                                "  <node id=\"back\" op=\"permute\" dims=\"1,0,2\"/>\n"
                                "  <node id=\"soft\" op=\"softmax\" dim=\"1\"/>\n"
                                "  <node id=\"again\" op=\"permute\" dims=\"1,0,2\"/>\n"
                                "  <node id=\"flat\" op=\"reshape\" shape=\"B*5,6\"/>\n"
                                "  <node id=\"fc\" op=\"linear\" out_features=\"6\"/>\n"
                                "  <node id=\"three\" op=\"reshape\" shape=\"5,B,6\"/>\n"
                                "  <node id=\"order\" op=\"permute\" dims=\"1,0,2\"/>\n"
                                "  <node id=\"all\" op=\"flatten\"/>\n"
                                "  <node id=\"head\" op=\"linear\" out_features=\"2\"/>\n"
                                "  <node id=\"y\" op=\"output\"/>\n"
                                "  <wire from=\"first\" to=\"rows\"/>\n"
                                "  <wire from=\"rows\" to=\"join.0\"/>\n"
                                "  <wire from=\"x\" to=\"join.1\"/>\n"
                                "  <wire from=\"join\" to=\"turn\"/>\n"
                                "  <wire from=\"turn\" to=\"heads\"/>\n"
                                "  <wire from=\"heads\" to=\"back\"/>\n"
                                "  <wire from=\"back\" to=\"soft\"/>\n"
                                "  <wire from=\"soft\" to=\"again\"/>\n"
                                "  <wire from=\"again\" to=\"flat\"/>\n"
                                "  <wire from=\"flat\" to=\"fc\"/>\n"
                                "  <wire from=\"fc\" to=\"three\"/>\n"
                                "  <wire from=\"three\" to=\"order\"/>\n"
                                "  <wire from=\"order\" to=\"all\"/>\n"
                                "  <wire from=\"all\" to=\"head\"/>\n"
                                "  <wire from=\"head\" to=\"y\"/>\n"
                                "</graph>\n";

static void
test_open_batch (void)
{
  static const gint64 dims[] = { 3, 4, 6 };
  double values[72];

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    values[i] = sin (i * 1.7);
  cli_save ("x.npy", LOOM_F32, 3, dims, values);
  cli_write ("any.xml", any_batch);
  cli_expect (0, NULL, "run", "any.xml", "--save-weights", "any.safetensors");
  cli_expect (0, NULL, "run", "any.xml", "--weights", "any.safetensors", "--in", "x=x.npy", "--out", "head=a.npy");
  cli_expect (0, NULL, "export", "any.xml", "--to", "onnx", "--weights", "any.safetensors", "--size", "B=1", "-o",
              "one.onnx");
  cli_expect (0, "the graph takes any batch", "import", "one.onnx", "-o", "one.xml", "--force");
  cli_expect (0, NULL, "run", "one.xml", "--weights", "one.safetensors", "--in", "x=x.npy", "--out", "y=b.npy");
  g_autoptr (LoomTensor) a = cli_load ("a.npy"), b = cli_load ("b.npy");
  g_assert_true (loom_tensor_equal_bits (a, b));
  g_auto (CliResult) fixed = cli ("import", "one.onnx", "-o", "one.xml", "--force", "--batch", "fixed", NULL);
  g_assert_nonnull (strstr (fixed.out, "input x: 1 × 4 × 6"));
  g_auto (CliResult) help = cli ("import", "--help", NULL);
  g_assert_nonnull (strstr (help.out, "known to keep samples apart"));
  /* A sum over samples keeps its batch, as does softmax along it. */
  g_autoptr (GString) soft = g_string_new (any_batch), mixed = g_string_new (any_batch);
  g_string_replace (soft, "op=\"softmax\" dim=\"1\"", "op=\"softmax\" dim=\"0\"", 0);
  cli_write ("soft.xml", soft->str);
  cli_expect (0, NULL, "export", "soft.xml", "--to", "onnx", "--size", "B=1", "-o", "soft.onnx");
  g_auto (CliResult) along = cli ("import", "soft.onnx", "-o", "soft2.xml", NULL);
  g_assert_nonnull (strstr (along.out, "input x: 1 × 4 × 6"));
  g_string_replace (mixed, "id=\"order\" op=\"permute\" dims=\"1,0,2\"",
                    "id=\"order\" op=\"sum\" dim=\"1\" keepdim=\"true\"", 0);
  cli_write ("mixed.xml", mixed->str);
  cli_expect (0, NULL, "export", "mixed.xml", "--to", "onnx", "--size", "B=1", "-o", "mixed.onnx");
  g_auto (CliResult) kept = cli ("import", "mixed.onnx", "-o", "mixed2.xml", NULL);
  g_assert_nonnull (strstr (kept.out, "input x: 1 × 4 × 6"));
  cli_expect (1, "it mixes the samples of a batch", "import", "mixed.onnx", "-o", "mixed3.xml", "--batch", "open");
  cli_expect (2, "--batch takes fixed or open", "import", "mixed.onnx", "--batch", "2");
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/cli/export/run", test_run);
  g_test_add_func ("/cli/export/lengths", test_lengths);
  g_test_add_func ("/cli/export/windows", test_windows);
  g_test_add_func ("/cli/export/log-sum-exp", test_log_sum_exp);
  g_test_add_func ("/cli/export/inner-types", test_inner_types);
  g_test_add_func ("/cli/export/table", test_table);
  g_test_add_func ("/cli/export/two-tables", test_two_tables);
  g_test_add_func ("/cli/export/pictures", test_pictures);
  g_test_add_func ("/cli/export/choices", test_choices);
  g_test_add_func ("/cli/export/refusals", test_refusals);
  g_test_add_func ("/cli/export/open-batch", test_open_batch);
  status = g_test_run ();
  cli_leave ();
  return status;
}
