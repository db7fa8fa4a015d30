/* Devices and threads at the command line: the number of threads, the devices, and what check and plan report about
 * them. */
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#include "tests/cli/cli.h"
#include "tests/processor.h"
#include "tests/test-program.h"

#define TAIL "</graph>\n"

/* ---- threads ---------------------------------------------------------- */

/* More threads than processors cause a note, and the run uses that number. */
static void
test_threads (void)
{
  int processors = loom_processors ();
  g_autofree char *says = g_strdup_printf ("5000 threads are more than the %d processor", processors);
  g_autofree char *has = g_strdup_printf ("\"threads\" : %d", processors);
  g_autofree char *spirals = cli_example ("lessons/spirals.xml"), *run = NULL,
                  *few = g_strdup_printf ("%d", processors);
  g_autoptr (GError) error = NULL;

  cli_expect (0, says, "train", spirals, "--epochs", "1", "--out", "r", "--threads", "5000");
  cli_expect (0, says, "eval", "r", "--threads", "5000");
  cli_expect (0, says, "plan", spirals, "--threads", "5000");
  cli_expect (0, says, "bench", spirals, "--windows", "1", "--seconds", "1", "--threads", "5000");
  g_file_get_contents ("r/run.json", &run, NULL, &error);
  g_assert_no_error (error);
  if (strstr (run, has) == NULL)
    g_error ("no %s in %s", has, run);
  g_auto (CliResult) r = cli ("plan", spirals, "--threads", few, NULL);
  g_assert_cmpint (r.status, ==, 0);
  g_assert_cmpstr (r.err, ==, "");
}

/* ---- check ------------------------------------------------------------ */

#define NET(strict, fc, act)                                                                                           \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"devices\"" strict ">\n"                                    \
  "<node id=\"data\" op=\"dataset\" source=\"spirals\"/>\n<node id=\"fc\" op=\"linear\" out_features=\"8\"" fc "/>\n"  \
  "<node id=\"act\" op=\"relu\"" act "/>\n<node id=\"out\" op=\"linear\" out_features=\"2\"/>\n"                       \
  "<node id=\"loss\" op=\"cross_entropy\"/>\n<wire from=\"data.x\" to=\"fc\"/>\n<wire from=\"fc\" to=\"act\"/>\n"      \
  "<wire from=\"act\" to=\"out\"/>\n<wire from=\"out\" to=\"loss.input\"/>\n<wire from=\"data.y\" "                    \
  "to=\"loss.target\"/>\n"
#define TRAIN(attributes)                                                                                              \
  "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" batch_size=\"16\" epochs=\"1\"" attributes "/>\n" TAIL

/* `check` refuses the devices that train or run refuse, with line, node and hint; and no others. */
static void
test_refused (void)
{
  static const struct
  {
    const char *graph;
    const char *check; /* NULL: all is well */
    const char *train; /* part of train's error; NULL: it trains */
  } cases[] = {
    { NET ("", " device=\"gpu\"", "") TRAIN (""),
      "g.xml: line 3: node fc, device: “gpu” is not a device. The devices of this machine are cpu",
      "“gpu” is not a device" },
    { NET ("", "", " device=\"cpu:9\"") TRAIN (""),
      "g.xml: line 4: node act, device: There is no device cpu:9: this machine has 2 of that kind. The devices of this "
      "machine are "
      "cpu, cpu:1, ref, ref:1",
      "There is no device cpu:9" },
    { NET (" strict_devices=\"true\"", "", " device=\"cpu:1\"") TRAIN (""),
      "g.xml: line 4: node act, device: Expected all tensors to be on the same device, but found at least two "
      "devices, cpu and cpu:1! The value of node fc is on cpu and is needed on cpu:1. Set the same device on both "
      "nodes",
      "Expected all tensors to be on the same device, but found at least two devices, cpu and cpu:1! The value" },
    { NET (" strict_devices=\"true\"", "", " device=\"cpu:1\"") TRAIN (""),
      "node fc, device: Expected all tensors to be on the same device, but found at least two devices, cpu:1 and cpu! "
      "The gradient from node act is on cpu:1 and is needed on cpu.",
      "Expected all tensors to be on the same device" },
    { NET ("", " device=\"cpu:9\"", " device=\"cpu:9\"") TRAIN (""),
      "g.xml: line 3: 2 nodes, device: There is no device cpu:9", "There is no device cpu:9" },
    { NET ("", "", " device=\"cpu:1\"") TRAIN (""), NULL, NULL },
    { NET (" strict_devices=\"true\"", " device=\"cpu\"", "") TRAIN (""), NULL, NULL },
    { NET ("", "", "") TRAIN (" device=\"cpu:7\""), "g.xml: line 12: device: <train>: There is no device cpu:7",
      "There is no device cpu:7" },
    { NET ("", "", "") TRAIN (" precision=\"f16\""),
      "g.xml: line 3: 2 nodes, device: The device cpu cannot compute matmul", "The device cpu cannot compute matmul" },
    { NET ("", "", " device=\"cpu:9\"") TAIL, "g.xml: line 4: node act, device: There is no device cpu:9", NULL },
  };

  g_setenv ("GRADLOOM_CPU_DEVICES", "2", TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      cli_write ("g.xml", cases[i].graph);
      g_auto (CliResult) r = cli ("check", "g.xml", NULL);

      g_assert_cmpint (r.status, ==, cases[i].check != NULL);
      if (cases[i].check != NULL && strstr (r.err, cases[i].check) == NULL)
        g_error ("no “%s” in: %s", cases[i].check, r.err);
      if (strstr (cases[i].graph, "<train") == NULL)
        continue;
      g_auto (CliResult) t = cli ("train", "g.xml", NULL);

      if (cases[i].train == NULL)
        g_assert_cmpint (t.status, ==, 0);
      else if (t.status == 0 || strstr (t.err, cases[i].train) == NULL)
        g_error ("no “%s” in: %s", cases[i].train, t.err);
    }
  /* All of them at once, each once. */
  cli_write ("g.xml", NET (" strict_devices=\"true\"", " device=\"gpu\"", " device=\"cpu:1\"") TRAIN (""));
  g_auto (CliResult) all = cli ("check", "g.xml", NULL);
  g_assert_nonnull (strstr (all.err, "node fc, device: “gpu”"));
  g_assert_nonnull (strstr (all.err, "node act, device: Expected"));
  g_assert_null (strstr (strstr (all.err, "gpu") + 1, "gpu"));
  /* A device other than the graph's can be queried. */
  cli_write ("g.xml", NET ("", "", "") TRAIN (" device=\"cpu:7\""));
  cli_expect (0, NULL, "check", "g.xml", "--device", "ref:1");
  g_unsetenv ("GRADLOOM_CPU_DEVICES");
}

/* An invalid device name is a usage error, or a fault of the file; the error lists the existing ones. */
static void
test_names (void)
{
  static const char *const words[][5] = {
    { "train", "g.xml" },
    { "check", "g.xml" },
    { "plan", "g.xml" },
    { "bench", "g.xml" },
    { "run", "g.xml", "--out", "loss=x.npy" },
    { "eval", "g.xml" },
    { "predict", "run", "x.csv" },
  };
  g_auto (CliResult) devices = cli ("devices", NULL);
  gboolean has_card = strstr (devices.out, "cuda:0") != NULL;
  g_autofree char *says = g_strdup_printf (
      "--device: “gpu” is not a device. The devices of this machine are cpu, ref%s", has_card ? ", cuda:0" : ".\n");

  cli_write ("g.xml", NET ("", "", "") TRAIN (""));
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    {
      g_autoptr (GPtrArray) argv = g_ptr_array_new ();

      for (guint k = 0; words[i][k] != NULL; k++)
        g_ptr_array_add (argv, (gpointer)words[i][k]);
      g_ptr_array_add (argv, (gpointer) "--device");
      g_ptr_array_add (argv, (gpointer) "gpu");
      g_ptr_array_add (argv, NULL);
      g_auto (CliResult) r = cli_argv ((const char *const *)argv->pdata);
      if (r.status != 2 || strstr (r.err, says) == NULL)
        g_error ("%s: status %d: %s", words[i][0], r.status, r.err);
    }
  cli_expect (2, "“cpu:” is not a device", "train", "g.xml", "--device", "cpu:");
  cli_expect (3, "There is no device cpu:1: this machine has 1 of that kind. The devices of this machine are cpu, ref",
              "train", "g.xml", "--device", "cpu:1");
  cli_write ("g.xml", NET ("", "", "") TRAIN (" device=\"gpu\""));
  cli_expect (1, "g.xml: line 12: device: <train>: “gpu” is not a device. The devices of this machine are", "train",
              "g.xml");
  /* CUDA's own words for no driver at all. */
  g_assert_null (strstr (devices.out, "insufficient"));
}

/* ---- memory ----------------------------------------------------------- */

static GPtrArray *
lines_of (const char *text)
{
  GPtrArray *objects = g_ptr_array_new_with_free_func ((GDestroyNotify)json_node_unref);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; lines[i] != NULL && lines[i][0] != '\0'; i++)
    {
      g_autoptr (GError) error = NULL;

      g_ptr_array_add (objects, json_from_string (lines[i], &error));
      g_assert_no_error (error);
    }
  return objects;
}

static JsonObject *
find_line (GPtrArray *lines, const char *event, const char *member, const char *value)
{
  for (guint i = 0; i < lines->len; i++)
    {
      JsonObject *o = json_node_get_object (lines->pdata[i]);

      if (g_str_equal (json_object_get_string_member (o, "event"), event)
          && (member == NULL || g_strcmp0 (json_object_get_string_member_with_default (o, member, NULL), value) == 0))
        return o;
    }
  return NULL;
}

/* Weights and Adam's two averages of them are in the memory of check and of plan, on their device. */
static void
test_memory (void)
{
  static const char *const words[][3] = { { "check", "g.xml", "--json" }, { "plan", "g.xml", "--json" } };
  const gint64 fc = 64 + 64, out = 64 + 64; /* 8×2 and 8, 2×8 and 2 floats, each rounded up to 64 bytes */

  g_setenv ("GRADLOOM_CPU_DEVICES", "2", TRUE);
  cli_write ("g.xml", NET ("", " device=\"cpu:1\"", "") TRAIN (""));
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    {
      g_auto (CliResult) r = cli (words[i][0], words[i][1], words[i][2], NULL);
      g_autoptr (GPtrArray) lines = NULL;
      JsonObject *cpu, *far;

      g_assert_cmpint (r.status, ==, 0);
      lines = lines_of (r.out);
      cpu = find_line (lines, "memory", "device", "cpu");
      far = find_line (lines, "memory", "device", "cpu:1");
      g_assert_cmpint (json_object_get_int_member (cpu, "parameters"), ==, out);
      g_assert_cmpint (json_object_get_int_member (cpu, "optimizer"), ==, 2 * out);
      g_assert_cmpint (json_object_get_int_member (far, "parameters"), ==, fc);
      g_assert_cmpint (json_object_get_int_member (far, "optimizer"), ==, 2 * fc);
      g_assert_cmpint (json_object_get_int_member (far, "gradients"), >, 0);
      g_assert_cmpint (json_object_get_int_member (cpu, "data"), >, 0);
      g_assert_cmpint (json_object_get_int_member (cpu, "total"), >, 3 * out);
    }
  g_auto (CliResult) table = cli ("check", "g.xml", NULL);
  g_assert_nonnull (strstr (table.out, "memory of a training step with B = 16"));
  g_assert_nonnull (strstr (table.out, "fc     linear         cpu:1"));
  g_auto (CliResult) plan = cli ("plan", "g.xml", NULL);
  g_assert_nonnull (strstr (plan.out, "(parameters 128 B, "));
  g_assert_nonnull (strstr (plan.out, "optimizer 256 B"));
  g_unsetenv ("GRADLOOM_CPU_DEVICES");
}

/* ---- algorithms --------------------------------------------------------- */

/* Writes wide.xml, a layer of 32 to 32 channels, with these attributes inserted. */
static void
write_convolution (const char *node, const char *train)
{
  g_autofree char *text = g_strdup_printf (
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
      "  <node id=\"data\" op=\"dataset\" source=\"npy\" x=\"images.npy\" y=\"classes.npy\"/>\n"
      "  <node id=\"a\" op=\"conv2d\" out_channels=\"32\" kernel_size=\"1\"/>\n"
      "  <node id=\"b\" op=\"conv2d\" out_channels=\"32\" kernel_size=\"3\" padding=\"1\" %s/>\n"
      "  <node id=\"loss\" op=\"mean\"/>\n"
      "  <wire from=\"data.x\" to=\"a\"/>\n  <wire from=\"a\" to=\"b\"/>\n  <wire from=\"b\" to=\"loss\"/>\n"
      "  <train loss=\"loss\" batch_size=\"16\" %s/>\n" TAIL,
      node, train);

  cli_write ("wide.xml", text);
}

static gboolean
has_winograd (void)
{
  if (processor_lacks_avx2 () == NULL)
    return TRUE;
  g_test_skip (processor_lacks_avx2 ());
  return FALSE;
}

static void
save_images (void)
{
  g_autofree double *x = g_new (double, 32 * 16 * 16);
  double y[32] = { 0 };

  for (int i = 0; i < 32 * 16 * 16; i++)
    x[i] = sin (i);
  cli_save ("images.npy", LOOM_F32, 4, (gint64[]){ 32, 1, 16, 16 }, x);
  cli_save ("classes.npy", LOOM_I64, 1, (gint64[]){ 32 }, y);
}

static guint
count_of (const char *text, const char *word)
{
  guint n = 0;

  for (const char *at = text; (at = strstr (at, word)) != NULL; at += strlen (word))
    n++;
  return n;
}

/* Winograd's algorithm is taken for all three kernels of a layer, or for none. */
static void
test_algorithm (void)
{
  static const struct
  {
    const char *node, *train;
    guint n;
  } cases[] = { { "", "", 3 },
                { "algorithm=\"auto\"", "algorithm=\"auto\"", 3 },
                { "algorithm=\"direct\"", "", 0 },
                { "", "algorithm=\"direct\"", 0 } };

  if (!has_winograd ())
    return;
  save_images ();
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      write_convolution (cases[i].node, cases[i].train);
      g_auto (CliResult) r = cli ("plan", "wide.xml", NULL);
      g_assert_cmpstr (r.err, ==, "");
      g_assert_cmpuint (count_of (r.out, "own winograd"), ==, cases[i].n);
      g_auto (CliResult) program = cli ("program", "wide.xml", NULL);
      g_assert_cmpint (strstr (program.out, "algorithm=direct") != NULL, ==, cases[i].n == 0);
    }
}

/* <train algorithm="direct"> is followed by run and by predict as the layer's own word is, to the bit. */
static void
test_algorithm_elsewhere (void)
{
  static const char *const words[3][2] = { { "", "" }, { "algorithm=\"direct\"", "" }, { "", "algorithm=\"direct\"" } };
  char *output[3], *prediction[3];
  gsize bytes[3];

  if (!has_winograd ())
    return;
  save_images ();
  for (int i = 0; i < 3; i++)
    {
      g_autofree char *folder = g_strdup_printf ("direct%d", i);

      write_convolution (words[i][0], words[i][1]);
      g_auto (CliResult) run = cli ("run", "wide.xml", "--in", "data.x=images.npy", "--out", "b=b.npy", NULL);
      g_assert_cmpstr (run.err, ==, "");
      g_assert_true (g_file_get_contents ("b.npy", &output[i], &bytes[i], NULL));
      g_auto (CliResult) train = cli ("train", "wide.xml", "--epochs", "1", "--out", folder, NULL);
      g_assert_cmpint (train.status, ==, 0);
      g_auto (CliResult) predict = cli ("predict", folder, "images.npy", "--output", "b", "--json", NULL);
      g_assert_cmpstr (predict.err, ==, "");
      prediction[i] = g_steal_pointer (&predict.out);
    }
  g_assert_cmpmem (output[1], bytes[1], output[2], bytes[2]);
  g_assert_true (memcmp (output[0], output[1], bytes[0]) != 0);
  g_assert_cmpstr (prediction[1], ==, prediction[2]);
  g_assert_cmpstr (prediction[0], !=, prediction[1]);
  for (int i = 0; i < 3; i++)
    {
      g_free (output[i]);
      g_free (prediction[i]);
    }
}

/* ---- JSON ------------------------------------------------------------- */

/* Every number that an instruction, an input or an output names is a value that is described. */
static void
assert_values (GPtrArray *lines, gboolean plan)
{
  g_autoptr (GHashTable) values = g_hash_table_new (NULL, NULL);
  guint n_instructions = 0;

  for (guint i = 0; i < lines->len; i++)
    {
      JsonObject *o = json_node_get_object (lines->pdata[i]);

      if (!g_str_equal (json_object_get_string_member (o, "event"), "value"))
        continue;
      g_hash_table_add (values, GINT_TO_POINTER ((int)json_object_get_int_member (o, "value")));
      g_assert_nonnull (json_object_get_string_member (o, "dtype"));
      g_assert_nonnull (json_object_get_array_member (o, "shape"));
      if (!plan)
        continue;
      g_assert_nonnull (json_object_get_string_member (o, "layout"));
      g_assert_nonnull (json_object_get_string_member (o, "owner"));
      const char *place = json_object_get_string_member (o, "place");

      if (g_str_equal (place, "arena") || g_str_equal (place, "once"))
        g_assert_cmpint (json_object_get_int_member (o, "offset"), >=, 0);
      else
        g_assert_nonnull (json_object_get_string_member (o, "name"));
    }
  for (guint i = 0; i < lines->len; i++)
    {
      JsonObject *o = json_node_get_object (lines->pdata[i]);
      const char *event = json_object_get_string_member (o, "event");

      if (g_str_equal (event, "output"))
        g_assert_true (g_hash_table_contains (values, GINT_TO_POINTER ((int)json_object_get_int_member (o, "value"))));
      if (!g_str_equal (event, "instruction"))
        continue;
      g_assert_cmpint (json_object_get_int_member (o, "index"), ==, n_instructions++);
      for (int k = 0; k < 2; k++)
        {
          JsonArray *list = json_object_get_array_member (o, k == 0 ? "in" : "out");

          for (guint v = 0; v < json_array_get_length (list); v++)
            if (!json_array_get_null_element (list, v))
              g_assert_true (
                  g_hash_table_contains (values, GINT_TO_POINTER ((int)json_array_get_int_element (list, v))));
        }
    }
  g_assert_cmpint (
      json_object_get_int_member (find_line (lines, plan ? "plan" : "program", NULL, NULL), "instructions"), ==,
      n_instructions);
}

static void
test_json (void)
{
  g_autofree char *lenet = cli_example ("models/fashion-lenet.xml");
  g_autoptr (GPtrArray) program = NULL;
  g_autoptr (GPtrArray) plan = NULL;
  JsonObject *found;

  g_auto (CliResult) a = cli ("program", lenet, "--json", NULL);
  g_assert_cmpint (a.status, ==, 0);
  program = lines_of (a.out);
  assert_values (program, FALSE);
  found = find_line (program, "slot", "name", "fc1.weight");
  g_assert_true (json_object_get_boolean_member (found, "trainable"));
  g_assert_cmpint (json_array_get_int_element (json_object_get_array_member (found, "shape"), 0), ==, 128);
  g_assert_nonnull (find_line (program, "instruction", "primitive", "conv2d"));
  g_assert_nonnull (find_line (program, "output", "name", "loss"));

  g_auto (CliResult) b = cli ("plan", lenet, "--json", NULL);
  g_assert_cmpint (b.status, ==, 0);
  plan = lines_of (b.out);
  assert_values (plan, TRUE);
  found = find_line (plan, "instruction", "node", "block1.conv");
  g_assert_cmpstr (json_object_get_string_member (found, "device"), ==, "cpu");
  g_assert_cmpfloat (json_object_get_double_member (found, "flops"), >, 1e6);
  found = find_line (plan, "memory", "device", "cpu");
  g_assert_cmpint (json_object_get_int_member (found, "arena"), >=, json_object_get_int_member (found, "lower_bound"));
  g_assert_nonnull (find_line (plan, "value", "layout", "nhwc"));
}

/* --passes names every pass and its result, first those of the program; the last result is what plan prints. */
static void
test_passes (void)
{
  g_autofree char *lenet = cli_example ("models/fashion-lenet.xml");
  g_autoptr (GPtrArray) passes = NULL;
  g_autoptr (GPtrArray) plan = NULL;
  JsonObject *last;

  g_auto (CliResult) a = cli ("plan", lenet, "--passes", "--json", "--precision", "bf16", NULL);
  g_auto (CliResult) b = cli ("plan", lenet, "--json", "--precision", "bf16", NULL);
  g_assert_cmpint (a.status, ==, 0);
  passes = lines_of (a.out);
  plan = lines_of (b.out);
  g_assert_cmpstr (json_object_get_string_member (json_node_get_object (passes->pdata[0]), "name"), ==,
                   "mixed precision");
  for (guint i = 0; i < passes->len; i++)
    g_assert_cmpstr (json_object_get_string_member (json_node_get_object (passes->pdata[i]), "event"), ==, "pass");
  last = json_node_get_object (passes->pdata[passes->len - 1]);
  g_assert_cmpint (json_object_get_int_member (last, "instructions"), ==,
                   json_object_get_int_member (find_line (plan, "plan", NULL, NULL), "instructions"));
  g_assert_cmpint (json_object_get_int_member (last, "bytes"), ==,
                   json_object_get_int_member (find_line (plan, "memory", "device", "cpu"), "arena"));

  g_auto (CliResult) text = cli ("plan", lenet, "--passes", NULL);
  g_assert_cmpint (text.status, ==, 0);
  g_assert_nonnull (strstr (text.out, "common subexpressions"));
  g_assert_null (strstr (text.out, "left out"));
  g_auto (CliResult) plain = cli ("plan", lenet, "--passes", "--no-fusion", NULL);
  g_assert_nonnull (strstr (plain.out, "left out"));
  /* f64 has one device, which the option may name as well as the graph. */
  g_auto (CliResult) wide = cli ("plan", lenet, "--device", "ref", "--precision", "f64", NULL);
  g_assert_cmpint (wide.status, ==, 0);
  g_assert_nonnull (strstr (wide.out, "f64["));
  cli_expect (2, "needs the device “ref”, but the device is “cpu”", "plan", lenet, "--device", "cpu", "--precision",
              "f64");
}

/* The kernel of a sum begins with the sum, and the launch covers all elements. Needs the module, but no GPU. */
static void
test_source (void)
{
  g_autofree char *path = cli_example ("lessons/vector-add.xml"), *svg = NULL;
  g_auto (CliResult) r = cli ("plan", path, "--source", "c", "--device", "cuda:0", "--picture", "threads.svg", NULL);

  cli_expect (2, "Name a node with --source", "plan", path, "--picture", "threads.svg");
  if (strstr (r.err, "no cuda module") != NULL)
    {
      g_test_skip ("this build has no cuda module");
      return;
    }
  g_assert_cmpint (r.status, ==, 0);
  g_assert_nonnull (strstr (r.out, "r2 = a + b;"));
  g_assert_null (strstr (r.out, "#define"));
  g_assert_nonnull (strstr (r.out, "10 blocks of 256 threads for 10000 elements"));
  g_assert_true (g_file_get_contents ("threads.svg", &svg, NULL, NULL));
  g_assert_nonnull (strstr (svg, ">9227</text>"));
  g_assert_nonnull (strstr (svg, ">thread 255: none</text>"));
}

/* ---- modules ---------------------------------------------------------- */

/* A program that was copied elsewhere takes no module from the folders next to it, which any user may have made. */
static void
test_modules_nearby (void)
{
  g_autofree char *source = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL);
  g_autofree char *here = g_get_current_dir (), *copy = g_build_filename (here, "app", "gradloom", NULL), *out = NULL;
  g_autoptr (GFile) from = g_file_new_for_path (source), to = g_file_new_for_path (copy);
  char *words[] = { copy, (char *)"devices", NULL };
  int status;

  g_assert_cmpint (g_mkdir_with_parents ("app", 0755), ==, 0);
  g_assert_cmpint (g_mkdir_with_parents ("kernels/cuda", 0755), ==, 0);
  cli_write ("kernels/cuda/loom-cuda.so", "no module");
  g_assert_true (g_file_copy (from, to, G_FILE_COPY_NONE, NULL, NULL, NULL, NULL));
  g_assert_true (g_spawn_sync (NULL, words, NULL, G_SPAWN_DEFAULT, NULL, NULL, &out, NULL, &status, NULL));
  if (strstr (out, "could not be loaded") != NULL)
    g_error ("%s", out);
  g_assert_nonnull (strstr (out, "cpu"));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/cli/devices/modules-nearby", test_modules_nearby);
  g_test_add_func ("/cli/devices/source", test_source);
  g_test_add_func ("/devices/threads", test_threads);
  g_test_add_func ("/devices/passes", test_passes);
  g_test_add_func ("/devices/refused", test_refused);
  g_test_add_func ("/devices/names", test_names);
  g_test_add_func ("/devices/memory", test_memory);
  g_test_add_func ("/devices/algorithm", test_algorithm);
  g_test_add_func ("/devices/algorithm-elsewhere", test_algorithm_elsewhere);
  g_test_add_func ("/devices/json", test_json);
  int status = g_test_run ();
  cli_leave ();
  return status;
}
