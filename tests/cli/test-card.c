/* The command line with --device cuda:0, on the emulated GPU: compared with the same command on the CPU, and with
 * failures of the GPU. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include "tests/exec/test-device.h"

#include <math.h>
#include <string.h>

/* A convolution, a norm, dropout and a short last batch: 12 samples in batches of 5. */
#define NET(options)                                                                                                   \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"card\">\n"                                                 \
  "<node id=\"data\" op=\"dataset\" source=\"random\" n=\"12\" n_test=\"6\" in_features=\"64\" out_features=\"4\"/>\n" \
  "<node id=\"image\" op=\"reshape\" shape=\"B,1,8,8\"/>\n"                                                            \
  "<node id=\"conv\" op=\"conv2d\" out_channels=\"4\" kernel_size=\"3\" padding=\"1\" bias=\"false\"/>\n"              \
  "<node id=\"norm\" op=\"batch_norm2d\"/>\n<node id=\"act\" op=\"relu\"/>\n"                                          \
  "<node id=\"pool\" op=\"max_pool2d\" kernel_size=\"2\"/>\n<node id=\"flat\" op=\"flatten\"/>\n"                      \
  "<node id=\"drop\" op=\"dropout\" p=\"0.2\"/>\n<node id=\"fc\" op=\"linear\" out_features=\"4\" " options "/>\n"     \
  "<node id=\"loss\" op=\"mse_loss\"/>\n"                                                                              \
  "<wire from=\"data.x\" to=\"image\"/>\n<wire from=\"image\" to=\"conv\"/>\n<wire from=\"conv\" to=\"norm\"/>\n"      \
  "<wire from=\"norm\" to=\"act\"/>\n<wire from=\"act\" to=\"pool\"/>\n<wire from=\"pool\" to=\"flat\"/>\n"            \
  "<wire from=\"flat\" to=\"drop\"/>\n<wire from=\"drop\" to=\"fc\"/>\n<wire from=\"fc\" to=\"loss.input\"/>\n"        \
  "<wire from=\"data.y\" to=\"loss.target\"/>\n"                                                                       \
  "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" batch_size=\"5\" epochs=\"2\" seed=\"1\"/>\n</graph>\n"

/* The norm of the difference of a weight of two runs, and that of the first. */
static double
distance (const char *a, const char *b, const char *name, double *norm)
{
  g_autoptr (LoomTensor) x = cli_weight (a, name);
  g_autoptr (LoomTensor) y = cli_weight (b, name);
  double far = 0, size = 0;

  g_assert_true (x != NULL && y != NULL);
  for (gint64 k = 0; k < x->count; k++)
    {
      far += pow (loom_tensor_get (x, k) - loom_tensor_get (y, k), 2);
      size += pow (loom_tensor_get (x, k), 2);
    }
  *norm = sqrt (size);
  return sqrt (far);
}

/* All tensors of two files of weights, by name and in norm. */
static void
assert_near_weights (const char *a, const char *b)
{
  static const char *const names[]
      = { "conv.weight", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var", "fc.weight", "fc.bias" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      double norm, far = distance (a, b, names[i], &norm);

      if (!(far <= 1e-5 * (norm + 0.1)))
        g_error ("%s of %s and %s: %g away in norm of %g", names[i], a, b, far, norm);
    }
}

/* Removes the only line that contains a text. */
static void
drop_line (const char *path, const char *text)
{
  g_autofree char *content = NULL;
  char *found, *begin, *end;

  g_assert_true (g_file_get_contents (path, &content, NULL, NULL));
  found = strstr (content, text);
  g_assert_nonnull (found);
  for (begin = found; begin > content && begin[-1] != '\n';)
    begin--;
  end = strchr (found, '\n') + 1;
  memmove (begin, end, strlen (end) + 1);
  g_assert_true (g_file_set_contents (path, content, -1, NULL));
}

static void
assert_same_file (const char *a, const char *b)
{
  g_autofree char *x = NULL, *y = NULL;
  gsize n, m;

  g_assert_true (g_file_get_contents (a, &x, &n, NULL));
  g_assert_true (g_file_get_contents (b, &y, &m, NULL));
  if (n != m || memcmp (x, y, n) != 0)
    g_error ("%s and %s differ", a, b);
}

/* ---- queries -------------------------------------------------------------- */

static void
test_queries (void)
{
  cli_write ("g.xml", NET (""));
  g_auto (CliResult) devices = cli ("devices", NULL);
  g_assert_nonnull (strstr (devices.out, "cuda:0   emulated"));
  g_auto (CliResult) check = cli ("check", "g.xml", "--device", "cuda:0", NULL);
  g_assert_cmpint (check.status, ==, 0);
  g_assert_nonnull (strstr (check.out, "conv2d        cuda:0"));
  g_auto (CliResult) plan = cli ("plan", "g.xml", "--device", "cuda:0", NULL);
  g_assert_cmpint (plan.status, ==, 0);
  g_assert_nonnull (strstr (plan.out, "memory on cuda:0"));
  cli_expect (0, NULL, "program", "g.xml");
  cli_expect (3, "this machine has 1 of that kind. The devices of this machine are cpu, ref, cuda:0.", "train", "g.xml",
              "--device", "cuda:1");
  /* An emulated GPU's speed has no meaning. */
  cli_expect (3, "The device cuda:0 is emulated, so its speed has no meaning", "bench", "g.xml", "--device", "cuda:0");
  cli_expect (3, "The device cuda:0 is emulated", "bench", "devices", "--device", "cuda:0");
  cli_write ("mixed.xml", NET ("device=\"cuda:0\""));
  cli_expect (3, "Nodes of the graph are on the device cuda:0, which is emulated", "bench", "mixed.xml", "--seconds",
              "0.01");
  cli_expect (3, "which is emulated", "bench", "mixed.xml", "--tune", "--seconds", "0.01");
}

/* ---- runs ------------------------------------------------------------------- */

static double
test_loss (const char *text)
{
  const char *words = strstr (text, "test loss ");

  g_assert_nonnull (words);
  return g_ascii_strtod (words + strlen ("test loss "), NULL);
}

/* A run that begins on the CPU, resumes on the GPU and returns learns the same as one that stayed. */
static void
test_across (void)
{
  cli_write ("g.xml", NET (""));
  cli_expect (0, NULL, "train", "g.xml", "--epochs", "3", "--out", "stayed");
  cli_expect (0, NULL, "train", "g.xml", "--epochs", "1", "--out", "moved");
  cli_expect (0, "continues on cuda:0, not on cpu as before", "train", "--resume", "moved", "--epochs", "2", "--device",
              "cuda:0");
  cli_expect (0, "continues on cpu, not on cuda:0 as before", "train", "--resume", "moved", "--epochs", "3", "--device",
              "cpu");
  assert_near_weights ("stayed/weights.safetensors", "moved/weights.safetensors");
  /* Resuming names no device: the run stays on its own. */
  cli_expect (0, NULL, "train", "g.xml", "--epochs", "1", "--out", "card", "--device", "cuda:0");
  g_auto (CliResult) on = cli ("train", "--resume", "card", "--epochs", "3", NULL);
  g_assert_cmpint (on.status, ==, 0);
  g_assert_null (strstr (on.err, "warning"));
  assert_near_weights ("stayed/weights.safetensors", "card/weights.safetensors");
  /* A run that was trained there is evaluated, exported and begun from like any other. */
  for (guint i = 0; i < 2; i++)
    {
      g_auto (CliResult) r = cli ("eval", "card", "--device", i == 0 ? "cuda:0" : "cpu", NULL);
      g_auto (CliResult) s = cli ("eval", "stayed", NULL);

      g_assert_cmpint (r.status, ==, 0);
      g_assert_cmpfloat_with_epsilon (test_loss (r.out), test_loss (s.out), 2e-4);
    }
  cli_expect (0, NULL, "train", "g.xml", "--weights", "card/weights.safetensors", "--device", "cuda:0");
}

/* One layer on the GPU and the others on the CPU, and the reverse. */
static void
test_mixed (void)
{
  cli_write ("g.xml", NET (""));
  cli_expect (0, NULL, "train", "g.xml", "--out", "one");
  cli_write ("mixed.xml", NET ("device=\"cuda:0\""));
  cli_expect (0, NULL, "train", "mixed.xml", "--out", "mixed");
  assert_near_weights ("one/weights.safetensors", "mixed/weights.safetensors");
  cli_write ("back.xml", NET ("device=\"ref\""));
  cli_expect (0, NULL, "train", "back.xml", "--device", "cuda:0", "--out", "back");
  assert_near_weights ("one/weights.safetensors", "back/weights.safetensors");
  /* Stopped and gone on with, to the byte. */
  cli_expect (0, NULL, "train", "mixed.xml", "--out", "half", "--epochs", "1");
  cli_expect (0, NULL, "train", "--resume", "half", "--epochs", "2");
  assert_same_file ("mixed/weights.safetensors", "half/weights.safetensors");
  drop_line ("half/events.jsonl", "\"name\":\"epochs\"");
  assert_same_file ("mixed/events.jsonl", "half/events.jsonl");
}

/* TF32 is a setting of the run: the GPU rounds both operands of products and convolutions if the run permits it, the
 * run's graph records it, and the CPU computes as always. */
static void
test_tf32 (void)
{
  /* One product, one convolution: a weight of either has a gradient that only its own rounding can change. */
  static const char *const nets[][2] = {
    { "fc.weight", "<node id=\"fc\" op=\"linear\" out_features=\"4\"/><wire from=\"data.x\" to=\"fc\"/>" },
    { "conv.weight", "<node id=\"image\" op=\"reshape\" shape=\"B,1,8,8\"/>"
                     "<node id=\"conv\" op=\"conv2d\" out_channels=\"4\" kernel_size=\"8\"/>"
                     "<node id=\"fc\" op=\"flatten\"/><wire from=\"data.x\" to=\"image\"/>"
                     "<wire from=\"image\" to=\"conv\"/><wire from=\"conv\" to=\"fc\"/>" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (nets); i++)
    {
      g_autofree char *net = g_strconcat (
          "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"tf32\">"
          "<node id=\"data\" op=\"dataset\" source=\"random\" n=\"12\" in_features=\"64\" out_features=\"4\"/>"
          "<node id=\"loss\" op=\"mse_loss\"/><wire from=\"fc\" to=\"loss.input\"/>"
          "<wire from=\"data.y\" to=\"loss.target\"/>",
          nets[i][1], "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"12\" epochs=\"1\"/></graph>",
          NULL);
      g_autofree char *graph = NULL, *exact = g_strdup_printf ("exact%u", i),
                      *rounded = g_strdup_printf ("rounded%u", i), *host = g_strdup_printf ("host%u", i),
                      *plain = g_strdup_printf ("plain%u", i);
      double norm, far;

      cli_write ("tf32.xml", net);
      cli_expect (0, NULL, "train", "tf32.xml", "--device", "cuda:0", "--out", exact);
      cli_expect (0, NULL, "train", "tf32.xml", "--device", "cuda:0", "--tf32", "--out", rounded);
      cli_expect (0, NULL, "train", "tf32.xml", "--tf32", "--out", host);
      cli_expect (0, NULL, "train", "tf32.xml", "--out", plain);
      g_autofree char *a = g_build_filename (exact, "weights.safetensors", NULL);
      g_autofree char *b = g_build_filename (rounded, "weights.safetensors", NULL);
      g_autofree char *c = g_build_filename (host, "weights.safetensors", NULL);
      g_autofree char *d = g_build_filename (plain, "weights.safetensors", NULL);
      g_autofree char *written = g_build_filename (rounded, "graph.xml", NULL);

      far = distance (a, b, nets[i][0], &norm);
      g_assert_cmpfloat (far, >, 1e-7 * norm);
      g_assert_cmpfloat (far, <, 1e-3 * norm);
      assert_same_file (c, d);
      g_assert_true (g_file_get_contents (written, &graph, NULL, NULL));
      g_assert_nonnull (strstr (graph, "tf32=\"true\""));
    }
  /* A resumed run has it from its graph. */
  cli_expect (2, "--tf32", "train", "--resume", "rounded0", "--tf32");
}

/* Bits do not depend on whether kernels are launched one by one. */
static void
test_launched (void)
{
  cli_write ("g.xml", NET (""));
  cli_expect (0, NULL, "train", "g.xml", "--device", "cuda:0", "--out", "recorded");
  g_setenv ("GRADLOOM_CUDA_GRAPHS", "0", TRUE);
  cli_expect (0, NULL, "train", "g.xml", "--device", "cuda:0", "--out", "single");
  g_unsetenv ("GRADLOOM_CUDA_GRAPHS");
  assert_same_file ("recorded/weights.safetensors", "single/weights.safetensors");
  assert_same_file ("recorded/events.jsonl", "single/events.jsonl");
}

/* Ranks that are processes, each with a GPU: cuda is the GPU of the rank's index on its machine, and they communicate
 * by NCCL; runs that cannot begin report the reason. */
static void
test_ranks (void)
{
  static const char *const run[] = { "two", "staged" };

  if (!cli_has_mpi ())
    return;
  cli_write ("ranks.xml", NET (""));
  g_setenv ("GRADLOOM_EMULATED_GPUS", "2", TRUE);
  cli_expect (0, NULL, "train", "ranks.xml", "--device", "cuda", "--ranks", "2", "--out", "two");
  g_setenv ("GRADLOOM_EMULATOR_FAIL", "nccl-missing:1", TRUE);
  cli_expect (3, "NCCL is not installed", "train", "ranks.xml", "--device", "cuda", "--ranks", "2");
  g_setenv ("GRADLOOM_EMULATOR_FAIL", "nccl:1", TRUE);
  cli_expect (3, "beginning to exchange values by NCCL failed", "train", "ranks.xml", "--device", "cuda", "--ranks",
              "2");
  g_unsetenv ("GRADLOOM_EMULATOR_FAIL");
  cli_expect (3, "two of them have the same GPU", "train", "ranks.xml", "--device", "cuda:0", "--ranks", "2");
  /* Stages need no link: they go through host memory. */
  cli_expect (0, "through host memory", "train", "ranks.xml", "--device", "cuda:0", "--ranks", "2", "--strategy",
              "1f1b", "--out", "shared");
  g_setenv ("GRADLOOM_EMULATOR_FAIL", "nccl-missing:1", TRUE);
  cli_expect (0, "NCCL is not installed", "train", "ranks.xml", "--device", "cuda", "--ranks", "2", "--strategy",
              "1f1b", "--out", "by-host");
  g_unsetenv ("GRADLOOM_EMULATOR_FAIL");
  cli_expect (0, NULL, "train", "ranks.xml", "--device", "cuda", "--ranks", "2", "--strategy", "1f1b", "--out",
              "staged");
  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *other = g_build_filename (i == 0 ? "shared" : "by-host", "weights.safetensors", NULL);

      assert_same_file ("staged/weights.safetensors", other);
    }
  g_unsetenv ("GRADLOOM_EMULATED_GPUS");
  cli_expect (0, NULL, "train", "ranks.xml", "--ranks", "2", "--out", "two-cpus");
  cli_expect (0, NULL, "train", "ranks.xml", "--ranks", "2", "--strategy", "1f1b", "--out", "staged-cpus");
  for (guint i = 0; i < G_N_ELEMENTS (run); i++)
    {
      g_autofree char *a = g_build_filename (run[i], "weights.safetensors", NULL);
      g_autofree char *cpus = g_strconcat (run[i], "-cpus", NULL);
      g_autofree char *b = g_build_filename (cpus, "weights.safetensors", NULL);
      double norm, far = distance (a, b, "fc.weight", &norm);

      g_assert_cmpfloat (far, <, 1e-5 * norm);
    }
}

/* ---- ports ----------------------------------------------------------------- */

static void
assert_near_files (const char *a, const char *b)
{
  g_autoptr (LoomTensor) x = cli_load (a);
  g_autoptr (LoomTensor) y = cli_load (b);

  g_assert_cmpint (x->count, ==, y->count);
  for (gint64 k = 0; k < x->count; k++)
    if (!(fabs (loom_tensor_get (x, k) - loom_tensor_get (y, k)) <= 1e-5 * (1 + fabs (loom_tensor_get (x, k)))))
      g_error ("%s[%d] is %g, %s has %g", b, (int)k, loom_tensor_get (y, k), a, loom_tensor_get (x, k));
}

static void
test_ports (void)
{
  static const char *const modes[] = { "eval", "train" };
  const gint64 dims[] = { 3, 64 }, target_dims[] = { 3, 4 };
  double values[3 * 64];

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    values[i] = (double)(i * 37 % 101) / 50 - 1;
  cli_write ("g.xml", NET (""));
  cli_save ("x.npy", LOOM_F32, 2, dims, values);
  cli_save ("y.npy", LOOM_F32, 2, target_dims, values);
  cli_expect (0, NULL, "train", "g.xml", "--out", "run");
  for (guint m = 0; m < 2; m++)
    {
      static const char *const on[] = { "cpu", "cuda:0" };
      static const char *const files[2][3]
          = { { "fc=a.npy", "act=c.npy", "a.safetensors" }, { "fc=b.npy", "act=d.npy", "b.safetensors" } };

      for (guint d = 0; d < 2; d++)
        cli_expect (0, NULL, "run", "run", "--mode", modes[m], "--device", on[d], "--in", "data.x=x.npy", "--in",
                    "data.y=y.npy", "--out", files[d][0], "--out", files[d][1], "--grad", "loss", "--grads",
                    files[d][2], "--wrt", "image");
      assert_near_files ("a.npy", "b.npy");
      assert_near_files ("c.npy", "d.npy");
    }
  g_auto (CliResult) cpu = cli ("predict", "run", "x.npy", "--device", "cpu", NULL);
  g_auto (CliResult) card = cli ("predict", "run", "x.npy", "--device", "cuda:0", NULL);
  g_assert_cmpint (cpu.status, ==, 0);
  g_assert_cmpint (card.status, ==, 0);
  g_auto (GStrv) a = g_strsplit_set (cpu.out, " \n", -1);
  g_auto (GStrv) b = g_strsplit_set (card.out, " \n", -1);
  g_assert_cmpuint (g_strv_length (a), ==, g_strv_length (b));
  for (guint i = 0; a[i] != NULL; i++)
    g_assert_cmpfloat_with_epsilon (g_ascii_strtod (a[i], NULL), g_ascii_strtod (b[i], NULL), 1e-5);
}

/* ---- errors ------------------------------------------------------------------- */

/* Exit status and error, without the output before the run begins. */
static char *
verdict (const char *graph, const char *device)
{
  g_auto (CliResult) r = cli ("train", graph, "--device", device, NULL);
  const char *says = strstr (r.err, "gradloom train:");

  return g_strdup_printf ("%d %s", r.status, says != NULL ? says : "");
}

/* Numbers that are not finite end a run on the card with the sentence that they end it with on the processor. */
static void
test_nan (void)
{
  static const struct
  {
    const char *graph, *part;
  } cases[] = {
    { "<node id=\"data\" op=\"dataset\" source=\"npy\" x=\"nan.npy\" y=\"y.npy\"/><node id=\"line\" op=\"linear\" "
      "out_features=\"4\"/><node id=\"loss\" op=\"mse_loss\"/><wire from=\"line\" to=\"loss.input\"/>"
      "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"2\"/>",
      "in port data.x, sample 4" },
    { "<node id=\"data\" op=\"dataset\" source=\"npy\" x=\"x.npy\" y=\"y.npy\"/><node id=\"line\" op=\"linear\" "
      "out_features=\"4\"/><node id=\"culprit\" op=\"log\"/><node id=\"loss\" op=\"mse_loss\"/>"
      "<wire from=\"line\" to=\"culprit\"/><wire from=\"culprit\" to=\"loss.input\"/>"
      "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"2\"/>",
      "It first appeared at node culprit (" },
    { "<node id=\"data\" op=\"dataset\" source=\"npy\" x=\"x.npy\" y=\"y.npy\"/><node id=\"line\" op=\"linear\" "
      "out_features=\"4\"/><node id=\"loss\" op=\"mse_loss\"/><wire from=\"line\" to=\"loss.input\"/>"
      "<train loss=\"loss\" optimizer=\"sgd\" lr=\"1000000\" batch_size=\"2\" epochs=\"50\"/>",
      "It first appeared at node loss (" },
    { "<node id=\"data\" op=\"dataset\" source=\"npy\" x=\"x.npy\" y=\"y.npy\"/><node id=\"line\" op=\"linear\" "
      "out_features=\"4\"/><node id=\"zero\" op=\"sub\"/><node id=\"square\" op=\"square\"/>"
      "<node id=\"culprit\" op=\"sqrt\"/><node id=\"loss\" op=\"mse_loss\"/>"
      "<wire from=\"line\" to=\"zero.input\"/><wire from=\"line\" to=\"zero.other\"/><wire from=\"zero\" "
      "to=\"square\"/><wire from=\"square\" to=\"culprit\"/>"
      "<wire from=\"culprit\" to=\"loss.input\"/><train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"2\"/>",
      "backward pass)" },
  };
  const gint64 dims[] = { 8, 4 };
  double values[8 * 4];

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    values[i] = (double)(i * 37 % 23) / 10 - 1;
  cli_save ("x.npy", LOOM_F32, 2, dims, values);
  cli_save ("y.npy", LOOM_F32, 2, dims, values);
  values[4 * 4 + 1] = NAN;
  cli_save ("nan.npy", LOOM_F32, 2, dims, values);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *graph = g_strconcat ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"nan\">",
                                            cases[i].graph, "</graph>", NULL);
      g_auto (GStrv) parts = g_strsplit (graph, "<wire", 2);
      g_autofree char *whole = g_strconcat (parts[0],
                                            "<wire from=\"data.x\" to=\"line\"/><wire from=\"data.y\" "
                                            "to=\"loss.target\"/><wire",
                                            parts[1], NULL);
      g_autofree char *cpu = NULL, *card = NULL;

      cli_write ("nan.xml", whole);
      cpu = verdict ("nan.xml", "cpu");
      card = verdict ("nan.xml", "cuda:0");
      g_assert_cmpstr (cpu, ==, card);
      if (!g_str_has_prefix (cpu, "4 ") || strstr (cpu, cases[i].part) == NULL)
        g_error ("no status 4 and “%s” in: %s", cases[i].part, cpu);
    }
}

/* One sentence, and nothing half written. */
static void
assert_clean_failure (const CliResult *r, const char *what, int n)
{
  const char *says = strstr (r->err, "gradloom train: ");
  g_autoptr (GDir) dir = g_dir_open ("out/checkpoints", 0, NULL);
  const char *name;

  if (strstr (r->err, "(none)") != NULL || strstr (r->err, "another device") == NULL)
    g_error ("%s %d names no place or no remedy: %s", what, n, r->err);
  if (r->status != 3 || says == NULL || strstr (says + 1, "gradloom train: ") != NULL)
    g_error ("%s %d: status %d: %s", what, n, r->status, r->err);
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    if (!g_ascii_isdigit (name[0]))
      g_error ("%s %d: out/checkpoints/%s is left", what, n, name);
}

/* Fails at the n-th allocation, for every n in a small training: an error that names the purpose, status 3, and a run
 * that can be resumed when there is memory. */
static void
test_no_memory (void)
{
  int n;

  cli_write ("g.xml", NET (""));
  cli_expect (0, NULL, "train", "g.xml", "--device", "cuda:0", "--out", "whole");
  for (n = 1; n < 100; n++)
    {
      g_autofree char *failure = g_strdup_printf ("alloc:%d", n);
      gboolean begun;

      g_setenv ("GRADLOOM_EMULATOR_FAIL", failure, TRUE);
      g_auto (CliResult) r = cli ("train", "g.xml", "--device", "cuda:0", "--out", "out", NULL);
      g_unsetenv ("GRADLOOM_EMULATOR_FAIL");
      if (r.status == 0)
        break;
      assert_clean_failure (&r, "allocation", n);
      if (strstr (r.err, "memory") == NULL)
        g_error ("allocation %d: %s", n, r.err);
      /* Finished steps are not lost with the evaluation after them. */
      if (strstr (r.err, "Evaluation after step 3") != NULL)
        {
          g_assert_true (g_file_test ("out/checkpoints/3/state.json", G_FILE_TEST_EXISTS));
          g_assert_nonnull (strstr (r.err, "Continue with: gradloom train --resume out"));
        }
      begun = g_file_test ("out/graph.xml", G_FILE_TEST_EXISTS);
      if (begun)
        {
          cli_expect (0, NULL, "train", "--resume", "out");
          assert_same_file ("whole/weights.safetensors", "out/weights.safetensors");
          assert_same_file ("whole/events.jsonl", "out/events.jsonl");
        }
      cli_remove ("out");
    }
  g_test_message ("%d allocations", n - 1);
  assert_same_file ("whole/weights.safetensors", "out/weights.safetensors");
  cli_remove ("out");
  cli_remove ("whole");
  g_assert_cmpint (n, >, 5);
  g_assert_cmpint (n, <, 100);
}

/* Fails at the n-th launch. Where that was while a step was being recorded, the step is launched kernel by kernel, and
 * the run ends with the same bits. */
static void
test_no_launch (void)
{
  static const int launches[] = { 1, 2, 7, 20, 33, 45, 71, 83, 102, 140, 161, 211, 100000 };

  cli_write ("g.xml", NET (""));
  cli_expect (0, NULL, "train", "g.xml", "--device", "cuda:0", "--out", "whole");
  for (guint i = 0; i < G_N_ELEMENTS (launches); i++)
    {
      g_autofree char *failure = g_strdup_printf ("launch:%d", launches[i]);

      g_setenv ("GRADLOOM_EMULATOR_FAIL", failure, TRUE);
      g_auto (CliResult) r = cli ("train", "g.xml", "--device", "cuda:0", "--out", "out", NULL);
      g_unsetenv ("GRADLOOM_EMULATOR_FAIL");
      g_test_message ("launch %d: status %d: %s", launches[i], r.status, r.err);
      if (r.status == 0)
        assert_same_file ("whole/weights.safetensors", "out/weights.safetensors");
      else
        assert_clean_failure (&r, "launch", launches[i]);
      cli_remove ("out");
    }
  cli_remove ("whole");
}

TEST_FILE (argc, argv)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  int status = 77;

  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/card/looking", test_queries);
  g_test_add_func ("/card/across", test_across);
  g_test_add_func ("/card/mixed", test_mixed);
  g_test_add_func ("/card/tf32", test_tf32);
  g_test_add_func ("/card/launched", test_launched);
  g_test_add_func ("/card/ranks", test_ranks);
  g_test_add_func ("/card/ports", test_ports);
  g_test_add_func ("/card/nan", test_nan);
  g_test_add_func ("/card/no-memory", test_no_memory);
  g_test_add_func ("/card/no-launch", test_no_launch);
  if (test_device_is_there (devices, "cuda:0"))
    status = g_test_run ();
  cli_leave ();
  return status;
}
