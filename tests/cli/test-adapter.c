/* Factors of LoRA and frozen weights by the options of gradloom train: what is trained, the adapter in the run's
 * folder, and that it gives the same result when it is loaded, merged or continued. */
#include "tests/cli/cli.h"
#include "engine/interop/loom-safetensors.h"
#include "tests/test-program.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

/* A repeated module, GPT-2's layout, a tied layer, and a head. */
#define GRAPH(train)                                                                                                   \
  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"                                                                       \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"                                                               \
  "  <module name=\"layer\"><node id=\"x\" op=\"module_input\"/><node id=\"fc\" op=\"linear\" out_features=\"8\"/>\n"  \
  "    <node id=\"act\" op=\"tanh\"/><node id=\"y\" op=\"module_output\"/>\n"                                          \
  "    <wire from=\"x\" to=\"fc\"/><wire from=\"fc\" to=\"act\"/><wire from=\"act\" to=\"y\"/></module>\n"             \
  "  <node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"300\"/>\n"                                                \
  "  <node id=\"in\" op=\"linear\" out_features=\"8\" weight_layout=\"in_out\"/>\n"                                    \
  "  <node id=\"body\" module=\"layer\" repeat=\"2\"/>\n"                                                              \
  "  <node id=\"first\" op=\"linear\" out_features=\"8\"/>\n"                                                          \
  "  <node id=\"same\" op=\"linear\" out_features=\"8\"/>\n"                                                           \
  "  <node id=\"head\" op=\"linear\" out_features=\"2\"/>\n"                                                           \
  "  <node id=\"loss\" op=\"cross_entropy\"/>\n"                                                                       \
  "  <wire from=\"data.x\" to=\"in\"/><wire from=\"in\" to=\"body\"/><wire from=\"body\" to=\"first\"/>\n"             \
  "  <wire from=\"first\" to=\"same.input\"/><wire from=\"first.weight\" to=\"same.weight\"/><wire from=\"same\" "     \
  "to=\"head\"/>\n"                                                                                                    \
  "  <wire from=\"head\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>\n"                              \
  "  <train loss=\"loss\" optimizer=\"adam\" lr=\"0.02\" epochs=\"3\" batch_size=\"20\" seed=\"1\">" train             \
  "</train>\n"                                                                                                         \
  "</graph>\n"

/* A module whose layers are named as factors are, next to a layer. */
#define BY_HAND                                                                                                        \
  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"                                                                       \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"                                                               \
  "  <module name=\"low\"><node id=\"x\" op=\"module_input\"/>\n"                                                      \
  "    <node id=\"lora_A\" op=\"linear\" out_features=\"1\" bias=\"false\"/>\n"                                        \
  "    <node id=\"lora_B\" op=\"linear\" out_features=\"2\" bias=\"false\"/><node id=\"y\" op=\"module_output\"/>\n"   \
  "    <wire from=\"x\" to=\"lora_A\"/><wire from=\"lora_A\" to=\"lora_B\"/><wire from=\"lora_B\" "                    \
  "to=\"y\"/></module>\n"                                                                                              \
  "  <node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"300\"/>\n"                                                \
  "  <node id=\"fc\" op=\"linear\" out_features=\"2\"/><node id=\"own\" module=\"low\"/>\n"                            \
  "  <node id=\"sum\" op=\"add\"/><node id=\"loss\" op=\"cross_entropy\"/>\n"                                          \
  "  <wire from=\"data.x\" to=\"fc\"/><wire from=\"data.x\" to=\"own\"/>\n"                                            \
  "  <wire from=\"fc\" to=\"sum.input\"/><wire from=\"own\" to=\"sum.other\"/>\n"                                      \
  "  <wire from=\"sum\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>\n"                               \
  "  <train loss=\"loss\" optimizer=\"adam\" lr=\"0.02\" epochs=\"1\" batch_size=\"20\" seed=\"1\"/>\n"                \
  "</graph>\n"

static double
test_loss (const char *const *words)
{
  g_auto (CliResult) result = cli_argv (words);
  const char *at = strstr (result.out, "\"loss\":");

  if (result.status != 0 || at == NULL)
    g_error ("status %d: %s%s", result.status, result.out, result.err);
  return g_ascii_strtod (at + strlen ("\"loss\":"), NULL);
}

#define LOSS(...) test_loss ((const char *const[]){ "eval", __VA_ARGS__, "--json", NULL })

static void
assert_same (const char *file, const char *other, const char *name, gboolean same)
{
  g_autoptr (LoomTensor) a = cli_weight (file, name), b = cli_weight (other, name);

  if (a == NULL || b == NULL || loom_tensor_equal_bits (a, b) != same)
    g_error ("%s of %s and %s", name, file, other);
}

static void
assert_optimiser (const char *run, const char *word, gboolean has)
{
  g_auto (CliResult) runs = { 0 };
  g_autoptr (GDir) steps = NULL;
  g_autofree char *folder = g_strdup_printf ("%s/checkpoints", run);

  steps = g_dir_open (folder, 0, NULL);
  for (const char *step = g_dir_read_name (steps); step != NULL; step = g_dir_read_name (steps))
    {
      g_autofree char *path = g_strdup_printf ("%s/%s/optimizer.safetensors", folder, step);
      g_autoptr (LoomTensorFile) file = loom_tensor_file_open (path, NULL);
      gboolean found = FALSE;

      g_assert_nonnull (file);
      for (guint i = 0; i < loom_tensor_file_count (file); i++)
        found |= strstr (loom_tensor_file_name (file, i), word) != NULL;
      g_assert_cmpint (found, ==, has);
    }
}

static void
test_freeze (void)
{
  cli_write ("graph.xml", GRAPH (""));
  cli_expect (0, NULL, "train", "graph.xml", "--epochs", "0", "--out", "start");
  cli_expect (0, NULL, "train", "graph.xml", "--freeze", "body.*.fc", "--freeze", "**.bias", "--out", "frozen");
  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *name = g_strdup_printf ("body.%u.fc.weight", i);
      assert_same ("start/weights.safetensors", "frozen/weights.safetensors", name, TRUE);
    }
  assert_same ("start/weights.safetensors", "frozen/weights.safetensors", "head.bias", TRUE);
  assert_same ("start/weights.safetensors", "frozen/weights.safetensors", "head.weight", FALSE);
  assert_optimiser ("frozen", "body", FALSE);
  assert_optimiser ("frozen", "head.weight", TRUE);
  cli_expect (2, "--freeze hed matches no weight", "train", "graph.xml", "--freeze", "hed");
  cli_expect (2, "--freeze", "train", "--resume", "frozen", "--freeze", "head");
}

static void
test_lora (void)
{
  cli_write ("graph.xml", GRAPH (""));
  cli_write ("head.xml", GRAPH ("<group match=\"head\"/>"));
  cli_expect (0, NULL, "train", "graph.xml", "--out", "base");
  cli_expect (0, NULL, "train", "head.xml", "--weights", "base/weights.safetensors", "--lora", "2", "--lora-alpha", "3",
              "--lora-layers", "in,body.*.fc", "--out", "run");
  assert_same ("base/weights.safetensors", "run/weights.safetensors", "in.weight", TRUE);
  assert_same ("base/weights.safetensors", "run/weights.safetensors", "body.1.fc.bias", TRUE);
  assert_same ("base/weights.safetensors", "run/weights.safetensors", "head.weight", FALSE);
  assert_optimiser ("run", "fc.weight", FALSE);

  /* The adapter has what was trained, and no more, with PEFT's names. */
  g_autoptr (LoomTensorFile) file = loom_tensor_file_open ("run/adapter/adapter_model.safetensors", NULL);
  g_autoptr (LoomTensor) a
      = cli_weight ("run/adapter/adapter_model.safetensors", "base_model.model.body.1.fc.lora_A.weight");
  g_autoptr (LoomTensor) b = cli_weight ("run/adapter/adapter_model.safetensors", "base_model.model.in.lora_B.weight");
  g_assert_cmpint (loom_tensor_file_count (file), ==, 2 * 3 + 2);
  g_assert_true (a->rank == 2 && a->dim[0] == 2 && a->dim[1] == 8);
  g_assert_true (b->rank == 2 && b->dim[0] == 8 && b->dim[1] == 2);
  g_assert_cmpint (loom_tensor_file_find (file, "base_model.model.head.weight"), >=, 0);
  g_autofree char *config = NULL;
  g_assert_true (g_file_get_contents ("run/adapter/adapter_config.json", &config, NULL, NULL));
  g_assert_nonnull (strstr (config, "\"r\":2,\"lora_alpha\":3"));
  g_assert_nonnull (strstr (config, "\"target_modules\":[\"in\",\"body.0.fc\",\"body.1.fc\"]"));
  g_assert_nonnull (strstr (config, "\"modules_to_save\":[\"head\"]"));

  /* The run itself; its adapter on the base; the merged weights; and those of ONNX. */
  const double is = LOSS ("run");
  g_assert_cmpfloat (fabs (LOSS ("base") - is), >, 1e-3);
  const double loaded = LOSS ("graph.xml", "--weights", "base/weights.safetensors", "--adapter", "run/adapter");
  g_assert_cmpfloat_with_epsilon (loaded, is, 2e-6);
  cli_expect (0, NULL, "export", "run", "--to", "safetensors", "-o", "merged.safetensors");
  g_autoptr (LoomTensor) none = cli_weight ("merged.safetensors", "in.lora_A.weight");
  g_assert_null (none);
  g_assert_cmpfloat_with_epsilon (LOSS ("graph.xml", "--weights", "merged.safetensors"), is, 2e-6);
  /* The tied weight has both names. */
  g_autoptr (LoomTensor) tied = cli_weight ("merged.safetensors", "same.weight");
  g_autoptr (LoomTensor) source = cli_weight ("base/weights.safetensors", "first.weight");
  g_assert_nonnull (tied);
  g_assert_true (loom_tensor_equal_bits (tied, source));

  /* Training resumes with the adapter as it was. */
  cli_expect (0, NULL, "train", "graph.xml", "--weights", "base/weights.safetensors", "--adapter",
              "run/adapter/adapter_model.safetensors", "--epochs", "0", "--out", "again");
  g_assert_cmpfloat_with_epsilon (LOSS ("again"), is, 2e-6);
  g_autofree char *graph = NULL;
  g_assert_true (g_file_get_contents ("again/graph.xml", &graph, NULL, NULL));
  g_assert_nonnull (strstr (graph, "lora_rank=\"2\" lora_alpha=\"3\""));

  /* What was trained with the factors belongs to the adapter again. */
  g_assert_nonnull (strstr (graph, "<group match=\"head.weight\"/>"));
  assert_same ("run/adapter/adapter_model.safetensors", "again/adapter/adapter_model.safetensors",
               "base_model.model.head.weight", TRUE);
}

/* A graph with a tie, or with another end of a line. (transfer full) */
static char *
replaced (const char *from, const char *to)
{
  g_autoptr (GString) text = g_string_new (GRAPH (""));

  g_assert_cmpint (g_string_replace (text, from, to, 0), ==, 1);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* Layers that share a weight have factors of their own; merged, they share it no longer. */
static void
test_tied (void)
{
  static const char *const layers[] = { "first,same", "first", "same" };
  g_autofree char *untied = replaced ("<wire from=\"first.weight\" to=\"same.weight\"/>", "");

  cli_write ("graph.xml", GRAPH (""));
  cli_write ("untied.xml", untied);
  cli_expect (0, NULL, "train", "graph.xml", "--epochs", "1", "--out", "tied-base");
  for (guint i = 0; i < G_N_ELEMENTS (layers); i++)
    {
      g_autofree char *run = g_strdup_printf ("tied-%u", i), *adapter = g_build_filename (run, "adapter", NULL);
      g_autofree char *merged = g_strconcat (run, ".safetensors", NULL);

      cli_expect (0, NULL, "train", "graph.xml", "--weights", "tied-base/weights.safetensors", "--lora", "2",
                  "--lora-layers", layers[i], "--out", run);
      const double is = LOSS (run);
      g_assert_cmpfloat (fabs (LOSS ("tied-base") - is), >, 1e-4);
      g_assert_cmpfloat_with_epsilon (
          LOSS ("graph.xml", "--weights", "tied-base/weights.safetensors", "--adapter", adapter), is, 2e-6);
      cli_expect (0, NULL, "export", run, "--to", "safetensors", "-o", merged);
      g_assert_cmpfloat_with_epsilon (LOSS ("untied.xml", "--weights", merged), is, 2e-6);
      g_autoptr (LoomTensor) base = cli_weight ("tied-base/weights.safetensors", "first.weight");
      g_autoptr (LoomTensor) first = cli_weight (merged, "first.weight"), same = cli_weight (merged, "same.weight");
      g_assert_cmpint (loom_tensor_equal_bits (base, first), ==, i == 2);
      g_assert_cmpint (loom_tensor_equal_bits (base, same), ==, i == 1);
    }
}

/* Copies with one weight are one layer, with the name that PyTorch gives it. */
static void
test_shared (void)
{
  g_autofree char *shared = replaced ("repeat=\"2\"", "repeat=\"2\" share=\"true\"");

  cli_write ("shared.xml", shared);
  cli_expect (0, NULL, "train", "shared.xml", "--epochs", "1", "--out", "shared-base");
  cli_expect (0, NULL, "train", "shared.xml", "--weights", "shared-base/weights.safetensors", "--lora", "2",
              "--lora-layers", "body.*.fc", "--out", "shared");
  g_autoptr (LoomTensor) a
      = cli_weight ("shared/adapter/adapter_model.safetensors", "base_model.model.body.fc.lora_A.weight");
  g_assert_nonnull (a);
  const double is = LOSS ("shared");
  g_assert_cmpfloat (fabs (LOSS ("shared-base") - is), >, 1e-4);
  g_assert_cmpfloat_with_epsilon (
      LOSS ("shared.xml", "--weights", "shared-base/weights.safetensors", "--adapter", "shared/adapter"), is, 2e-6);
  cli_expect (0, NULL, "export", "shared", "--to", "safetensors", "-o", "shared.safetensors");
  g_assert_cmpfloat_with_epsilon (LOSS ("shared.xml", "--weights", "shared.safetensors"), is, 2e-6);
}

/* Writes a safetensors file of zeros, [2, 2] each. names: separated by spaces. */
static void
write_zeros (const char *path, const char *names)
{
  g_autoptr (GString) header = g_string_new ("{");
  g_auto (GStrv) list = g_strsplit (names, " ", -1);
  g_autoptr (GByteArray) file = g_byte_array_new ();
  const guint n = g_strv_length (list);
  const guint8 zeros[16] = { 0 };
  guint64 size;

  for (guint i = 0; i < n; i++)
    g_string_append_printf (header, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[%u,%u]}",
                            i > 0 ? "," : "", list[i], 16 * i, 16 * (i + 1));
  g_string_append_c (header, '}');
  size = GUINT64_TO_LE (header->len);
  g_byte_array_append (file, (const guint8 *)&size, sizeof size);
  g_byte_array_append (file, (const guint8 *)header->str, (guint)header->len);
  for (guint i = 0; i < n; i++)
    g_byte_array_append (file, zeros, sizeof zeros);
  g_assert_true (g_file_set_contents (path, (const char *)file->data, file->len, NULL));
}

#define FC_A "base_model.model.fc.lora_A.weight"
#define FC_B "base_model.model.fc.lora_B.weight"

/* What the graph lacks is refused with its name, whatever reads the adapter. */
static void
test_unknown (void)
{
  static const char *const unknown[] = { "fc.lora_embedding_A", "fc.vera_lambda_b", "fc.lora_B.bias",
                                         "classifier.weight", "own.lora_A.lora_B.weight" };

  cli_write ("hand.xml", BY_HAND);
  cli_expect (0, NULL, "train", "hand.xml", "--epochs", "0", "--out", "known");
  write_zeros ("good.safetensors", FC_A " " FC_B);
  cli_expect (0, NULL, "eval", "hand.xml", "--weights", "known/weights.safetensors", "--adapter", "good.safetensors");
  for (guint i = 0; i < G_N_ELEMENTS (unknown); i++)
    {
      g_autofree char *names = g_strdup_printf (FC_A " " FC_B " base_model.model.%s", unknown[i]);
      g_autofree char *words = g_strdup_printf ("has “%s”, but the graph has no such weight.", unknown[i]);

      write_zeros ("odd.safetensors", names);
      cli_expect (1, words, "eval", "hand.xml", "--weights", "known/weights.safetensors", "--adapter",
                  "odd.safetensors");
      cli_expect (1, words, "export", "hand.xml", "--weights", "known/weights.safetensors", "--adapter",
                  "odd.safetensors", "--to", "safetensors", "-o", "odd-merged.safetensors");
      cli_expect (1, words, "train", "hand.xml", "--adapter", "odd.safetensors");
    }
  write_zeros ("half.safetensors", FC_A);
  cli_expect (1, "has “fc.lora_A.weight” without “fc.lora_B.weight”.", "train", "hand.xml", "--adapter",
              "half.safetensors");
}

static void
add_tensor (GPtrArray *tensors, const char *name, int rank, const gint64 *dims, double value)
{
  g_autoptr (LoomTensor) t = loom_tensor_new (LOOM_F32, rank, dims, NULL);

  for (gint64 i = 0; i < t->count; i++)
    loom_tensor_set (t, i, value);
  g_ptr_array_add (tensors, loom_named_tensor_new (name, t));
}

static double
norm_of_row (const LoomTensor *weight, gint64 row)
{
  double square = 0;

  for (gint64 i = 0; i < weight->dim[1]; i++)
    square += pow (loom_tensor_get (weight, row * weight->dim[1] + i), 2);
  return sqrt (square);
}

/* Training begins with the norms of the rows of weights, so with the same outputs, and changes magnitudes; a run begins
 * with the magnitudes of an adapter, and merges them. */
static void
test_trained_magnitudes (void)
{
  cli_write ("graph.xml", GRAPH (""));
  cli_expect (2, "--dora need it", "train", "graph.xml", "--dora");
  cli_expect (0, NULL, "train", "graph.xml", "--epochs", "0", "--out", "dora-plain");
  cli_expect (0, NULL, "train", "graph.xml", "--weights", "dora-plain/weights.safetensors", "--lora", "2", "--dora",
              "--epochs", "0", "--out", "dora-begun");
  g_autoptr (LoomTensor) weight = cli_weight ("dora-plain/weights.safetensors", "body.1.fc.weight");
  g_autoptr (LoomTensor) norms
      = cli_weight ("dora-begun/adapter/adapter_model.safetensors", "base_model.model.body.1.fc.lora_magnitude_vector");
  for (gint64 o = 0; o < norms->count; o++)
    g_assert_cmpfloat_with_epsilon (loom_tensor_get (norms, o), norm_of_row (weight, o), 1e-6);
  cli_expect (0, NULL, "train", "graph.xml", "--weights", "dora-plain/weights.safetensors", "--lora", "2", "--dora",
              "--out", "dora-trained");
  g_autoptr (LoomTensor) trained = cli_weight ("dora-trained/weights.safetensors", "body.1.fc.lora_magnitude_vector");
  g_assert_cmpfloat (fabs (loom_tensor_get (trained, 0) - loom_tensor_get (norms, 0)), >, 1e-6);
  cli_expect (0, NULL, "train", "graph.xml", "--weights", "dora-plain/weights.safetensors", "--adapter",
              "dora-trained/adapter", "--epochs", "0", "--out", "dora-again");
  assert_same ("dora-trained/weights.safetensors", "dora-again/weights.safetensors", "body.1.fc.lora_magnitude_vector",
               TRUE);
  cli_expect (0, NULL, "export", "dora-trained", "--to", "safetensors", "-o", "dora-whole.safetensors");
  g_autoptr (LoomTensor) merged = cli_weight ("dora-whole.safetensors", "body.1.fc.weight");
  for (gint64 o = 0; o < norms->count; o++)
    g_assert_cmpfloat_with_epsilon (norm_of_row (merged, o), fabs (loom_tensor_get (trained, o)), 1e-6);
}

/* Factors of DoRA for one of two copies of a layer: W' = m (W + B A) / ‖W + B A‖ row by row (Liu et al. 2024), as PEFT
 * has it (tests/reference/adapters.py). */
static void
test_magnitudes (void)
{
  static const char *const names[] = { "lora_A.weight", "lora_B.weight", "lora_magnitude_vector" };
  static const gint64 dims[][2] = { { 1, 8 }, { 8, 1 }, { 8, 0 } };
  static const double values[] = { 0.5, 0.25, 2 };
  g_autoptr (GPtrArray) tensors = loom_named_tensors_new ();
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *name = g_strconcat ("base_model.model.body.1.fc.", names[i], NULL);

      add_tensor (tensors, name, i < 2 ? 2 : 1, dims[i], values[i]);
    }
  loom_safetensors_save ("dora.safetensors", tensors, NULL, &error);
  g_assert_no_error (error);
  cli_write ("graph.xml", GRAPH (""));
  cli_expect (0, NULL, "train", "graph.xml", "--epochs", "0", "--out", "dora-base");
  cli_expect (0, NULL, "export", "graph.xml", "--weights", "dora-base/weights.safetensors", "--adapter",
              "dora.safetensors", "--to", "safetensors", "-o", "dora-merged.safetensors");
  assert_same ("dora-base/weights.safetensors", "dora-merged.safetensors", "body.0.fc.weight", TRUE);

  g_autoptr (LoomTensor) before = cli_weight ("dora-base/weights.safetensors", "body.1.fc.weight");
  g_autoptr (LoomTensor) after = cli_weight ("dora-merged.safetensors", "body.1.fc.weight");
  for (gint64 o = 0; o < 8; o++)
    {
      double square = 0;

      for (gint64 i = 0; i < 8; i++)
        square += pow (loom_tensor_get (before, o * 8 + i) + 0.125, 2);
      for (gint64 i = 0; i < 8; i++)
        g_assert_cmpfloat_with_epsilon (loom_tensor_get (after, o * 8 + i),
                                        2 * (loom_tensor_get (before, o * 8 + i) + 0.125) / sqrt (square), 1e-6);
    }
  g_ptr_array_remove_range (tensors, 0, 2);
  loom_safetensors_save ("half-dora.safetensors", tensors, NULL, &error);
  cli_expect (1, "has “body.1.fc.lora_magnitude_vector” without “body.1.fc.lora_A.weight”", "export", "graph.xml",
              "--weights", "dora-base/weights.safetensors", "--adapter", "half-dora.safetensors", "--to", "safetensors",
              "-o", "half-dora-merged.safetensors");
}

/* An adapter for one of two copies of a layer, or a pattern that matches one, trains the factors of that copy, and is
 * written with them alone. */
static void
test_one_copy (void)
{
  static const gint64 dims[][2] = { { 1, 8 }, { 8, 1 } };
  g_autoptr (GPtrArray) tensors = loom_named_tensors_new ();
  g_autoptr (GError) error = NULL;
  g_autofree char *config = NULL;

  add_tensor (tensors, "base_model.model.body.1.fc.lora_A.weight", 2, dims[0], 0.5);
  add_tensor (tensors, "base_model.model.body.1.fc.lora_B.weight", 2, dims[1], 0.25);
  loom_safetensors_save ("one.safetensors", tensors, NULL, &error);
  g_assert_no_error (error);
  cli_write ("graph.xml", GRAPH (""));
  cli_expect (0, NULL, "train", "graph.xml", "--epochs", "0", "--out", "one-base");
  cli_expect (0, NULL, "train", "graph.xml", "--weights", "one-base/weights.safetensors", "--adapter",
              "one.safetensors", "--out", "one");

  g_autoptr (LoomTensorFile) file = loom_tensor_file_open ("one/adapter/adapter_model.safetensors", NULL);
  g_assert_cmpint (loom_tensor_file_count (file), ==, 2);
  assert_same ("one.safetensors", "one/adapter/adapter_model.safetensors", "base_model.model.body.1.fc.lora_B.weight",
               FALSE);
  g_assert_true (g_file_get_contents ("one/adapter/adapter_config.json", &config, NULL, NULL));
  g_assert_nonnull (strstr (config, "\"target_modules\":[\"body.1.fc\"]"));
  g_assert_cmpfloat_with_epsilon (
      LOSS ("graph.xml", "--weights", "one-base/weights.safetensors", "--adapter", "one/adapter"), LOSS ("one"), 2e-6);
  cli_expect (0, NULL, "export", "one", "--to", "safetensors", "-o", "one-merged.safetensors");
  assert_same ("one-base/weights.safetensors", "one-merged.safetensors", "body.0.fc.weight", TRUE);
  assert_same ("one-base/weights.safetensors", "one-merged.safetensors", "body.1.fc.weight", FALSE);

  cli_expect (0, NULL, "train", "graph.xml", "--weights", "one-base/weights.safetensors", "--lora", "2",
              "--lora-layers", "body.0.fc", "--out", "other");
  g_autoptr (LoomTensorFile) other = loom_tensor_file_open ("other/adapter/adapter_model.safetensors", NULL);
  g_assert_cmpint (loom_tensor_file_count (other), ==, 2);
  g_assert_cmpfloat_with_epsilon (
      LOSS ("graph.xml", "--weights", "one-base/weights.safetensors", "--adapter", "other/adapter"), LOSS ("other"),
      2e-6);

  add_tensor (tensors, "base_model.model.body.0.fc.lora_A.weight", 2, (gint64[]){ 2, 8 }, 0.5);
  add_tensor (tensors, "base_model.model.body.0.fc.lora_B.weight", 2, (gint64[]){ 8, 2 }, 0.25);
  loom_safetensors_save ("mixed.safetensors", tensors, NULL, &error);
  g_assert_no_error (error);
  cli_expect (1, "factors of different ranks", "train", "graph.xml", "--adapter", "mixed.safetensors");
}

static void
write_config (const char *alphas)
{
  g_autofree char *text = g_strdup_printf ("{\"lora_alpha\":16,\"alpha_pattern\":%s}", alphas);

  g_assert_cmpint (g_mkdir_with_parents ("pattern", 0700), ==, 0);
  write_zeros ("pattern/adapter_model.safetensors", FC_A " " FC_B);
  g_assert_true (g_file_set_contents ("pattern/adapter_config.json", text, -1, NULL));
}

/* Keys of alpha_pattern are regular expressions for a layer's path, or its end after a point. */
static void
test_patterns (void)
{
  static const struct
  {
    const char *alphas, *alpha;
  } good[] = { { "{}", "16" },
               { "{\"f.\":5}", "5" },
               { "{\"(down|fc)\":6.5}", "6.5" },
               { "{\"c\":5}", "16" },
               { "{\"f\":5}", "16" },
               { "{\"f.\":5,\"fc\":7}", "7" },
               { "{\"^fc\":4}", "4" },
               { "{\"f.\":5,\"[fc]*\":7}", "5" } };

  cli_write ("hand.xml", BY_HAND);
  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_autofree char *out = g_strdup_printf ("pattern-%u", i), *path = g_build_filename (out, "graph.xml", NULL);
      g_autofree char *want = g_strdup_printf ("lora_rank=\"2\" lora_alpha=\"%s\"", good[i].alpha), *graph = NULL;

      write_config (good[i].alphas);
      cli_expect (0, NULL, "train", "hand.xml", "--adapter", "pattern", "--epochs", "0", "--out", out);
      g_assert_true (g_file_get_contents (path, &graph, NULL, NULL));
      if (strstr (graph, want) == NULL)
        g_error ("%s: %s", good[i].alphas, graph);
    }
  /* rsLoRA scales by alpha / √r. */
  write_config ("{},\"use_rslora\":true");
  cli_expect (0, NULL, "train", "hand.xml", "--adapter", "pattern", "--epochs", "0", "--out", "pattern-rs");
  g_autofree char *stabilised = NULL;
  g_assert_true (g_file_get_contents ("pattern-rs/graph.xml", &stabilised, NULL, NULL));
  g_assert_nonnull (strstr (stabilised, "lora_rank=\"2\" lora_alpha=\"22.62741"));
  write_config ("{\"fc\":\"five\"}");
  cli_expect (1, "“fc” is not a number", "train", "hand.xml", "--adapter", "pattern");
  write_config ("{\"f(\":5}");
  cli_expect (1, "“f(” of alpha_pattern is not a regular expression", "train", "hand.xml", "--adapter", "pattern");
  write_config ("{\"a)|(fc\":5}");
  cli_expect (1, "“a)|(fc” of alpha_pattern is not a regular expression", "train", "hand.xml", "--adapter", "pattern");
}

/* Two layers, of which one's path ends with the other's. */
#define ENDS(low, high)                                                                                                \
  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"                                                                       \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"                                                               \
  "  <module name=\"layer\"><node id=\"x\" op=\"module_input\"/><node id=\"fc\" op=\"linear\" out_features=\"8\"" low  \
  "/>\n"                                                                                                               \
  "    <node id=\"y\" op=\"module_output\"/><wire from=\"x\" to=\"fc\"/><wire from=\"fc\" to=\"y\"/></module>\n"       \
  "  <node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"300\"/>\n"                                                \
  "  <node id=\"body\" module=\"layer\"/><node id=\"act\" op=\"tanh\"/>\n"                                             \
  "  <node id=\"fc\" op=\"linear\" out_features=\"2\"" high "/><node id=\"loss\" op=\"cross_entropy\"/>\n"             \
  "  <wire from=\"data.x\" to=\"body\"/><wire from=\"body\" to=\"act\"/><wire from=\"act\" to=\"fc\"/>\n"              \
  "  <wire from=\"fc\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>\n"                                \
  "  <train loss=\"loss\" optimizer=\"adam\" lr=\"0.02\" epochs=\"1\" batch_size=\"20\" seed=\"1\"/>\n"                \
  "</graph>\n"

#define LOW  " lora_rank=\"2\" lora_alpha=\"8\""
#define HIGH " lora_rank=\"1\" lora_alpha=\"16\""

/* An adapter reads back as it was written. */
static void
test_ends (void)
{
  g_autofree char *config = NULL, *graph = NULL;

  cli_write ("ends.xml", ENDS ("", ""));
  cli_write ("ends-lora.xml", ENDS (LOW, HIGH));
  cli_expect (0, NULL, "train", "ends-lora.xml", "--out", "ends");
  g_assert_true (g_file_get_contents ("ends/adapter/adapter_config.json", &config, NULL, NULL));
  g_assert_nonnull (strstr (config, "\"rank_pattern\":{\"^body\\\\.fc\":2,\"^fc\":1}"));
  g_assert_nonnull (strstr (config, "\"alpha_pattern\":{\"^body\\\\.fc\":8,\"^fc\":16}"));
  cli_expect (0, NULL, "train", "ends.xml", "--weights", "ends/weights.safetensors", "--adapter", "ends/adapter",
              "--epochs", "0", "--out", "ends-again");
  g_assert_true (g_file_get_contents ("ends-again/graph.xml", &graph, NULL, NULL));
  g_assert_nonnull (strstr (graph, "out_features=\"8\"" LOW));
  g_assert_nonnull (strstr (graph, "out_features=\"2\"" HIGH));
  g_assert_cmpfloat_with_epsilon (LOSS ("ends-again"), LOSS ("ends"), 2e-6);
}

/* A bias that is trained with factors is of that layer, which PEFT does not save as a whole. */
static void
test_biases (void)
{
  g_autofree char *config = NULL;

  cli_write ("graph.xml", GRAPH (""));
  cli_write ("biases.xml", GRAPH ("<group match=\"**.bias\"/>"));
  cli_expect (0, NULL, "train", "graph.xml", "--epochs", "1", "--out", "biases-base");
  cli_expect (0, NULL, "train", "biases.xml", "--weights", "biases-base/weights.safetensors", "--lora", "2",
              "--lora-layers", "in,body.*.fc", "--out", "biases");
  g_assert_true (g_file_get_contents ("biases/adapter/adapter_config.json", &config, NULL, NULL));
  g_assert_nonnull (strstr (config, "\"bias\":\"lora_only\""));
  g_assert_nonnull (strstr (config, "\"target_modules\":[\"in\",\"body.0.fc\",\"body.1.fc\"]"));
  g_assert_nonnull (strstr (config, "\"modules_to_save\":[\"first\",\"same\",\"head\"]"));
  g_autoptr (LoomTensor) bias
      = cli_weight ("biases/adapter/adapter_model.safetensors", "base_model.model.in.base_layer.bias");
  g_assert_nonnull (bias);
  /* Of a module to save, PEFT needs all weights. */
  g_autoptr (LoomTensor) whole
      = cli_weight ("biases/adapter/adapter_model.safetensors", "base_model.model.head.weight");
  g_assert_nonnull (whole);
  assert_same ("biases-base/weights.safetensors", "biases/weights.safetensors", "in.bias", FALSE);
  const double loaded
      = LOSS ("graph.xml", "--weights", "biases-base/weights.safetensors", "--adapter", "biases/adapter");
  g_assert_cmpfloat_with_epsilon (loaded, LOSS ("biases"), 2e-6);
}

/* Layers with the names of factors are layers: they are trained with the others, frozen next to factors, and exported.
 */
static void
test_by_hand (void)
{
  cli_write ("hand.xml", BY_HAND);
  cli_expect (0, NULL, "train", "hand.xml", "--epochs", "0", "--out", "hand-start");
  cli_expect (0, NULL, "train", "hand.xml", "--out", "hand");
  g_assert_false (g_file_test ("hand/adapter", G_FILE_TEST_EXISTS));
  assert_same ("hand-start/weights.safetensors", "hand/weights.safetensors", "fc.weight", FALSE);
  assert_same ("hand-start/weights.safetensors", "hand/weights.safetensors", "own.lora_A.weight", FALSE);
  cli_expect (0, NULL, "export", "hand", "--to", "safetensors", "-o", "hand.safetensors");
  assert_same ("hand.safetensors", "hand/weights.safetensors", "own.lora_A.weight", TRUE);

  cli_expect (0, NULL, "train", "hand.xml", "--weights", "hand/weights.safetensors", "--lora", "1", "--lora-layers",
              "fc,own.lora_B", "--out", "hand-lora");
  assert_same ("hand/weights.safetensors", "hand-lora/weights.safetensors", "own.lora_A.weight", TRUE);
  cli_expect (0, NULL, "export", "hand-lora", "--to", "safetensors", "-o", "hand-merged.safetensors");
  assert_same ("hand-merged.safetensors", "hand/weights.safetensors", "own.lora_A.weight", TRUE);
  assert_same ("hand-merged.safetensors", "hand/weights.safetensors", "own.lora_B.weight", FALSE);
  g_assert_cmpfloat_with_epsilon (LOSS ("hand.xml", "--weights", "hand-merged.safetensors"), LOSS ("hand-lora"), 2e-6);
  g_assert_cmpfloat_with_epsilon (
      LOSS ("hand.xml", "--weights", "hand/weights.safetensors", "--adapter", "hand-lora/adapter"), LOSS ("hand-lora"),
      2e-6);
}

static void
test_refused (void)
{
  cli_write ("graph.xml", GRAPH (""));
  cli_expect (0, NULL, "train", "graph.xml", "--epochs", "0", "--lora", "1", "--out", "lora");
  cli_expect (2, "matches no linear layer", "train", "graph.xml", "--lora", "1", "--lora-layers", "hed");
  cli_expect (2, "--lora-alpha", "train", "graph.xml", "--lora-alpha", "3");
  cli_expect (0, NULL, "train", "graph.xml", "--epochs", "0", "--out", "plain");
  cli_expect (1, "is not an adapter", "eval", "graph.xml", "--weights", "lora/weights.safetensors", "--adapter",
              "plain/weights.safetensors");
  cli_write ("other.xml", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                          "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                          "  <node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"300\"/>\n"
                          "  <node id=\"fc\" op=\"linear\" out_features=\"2\"/>\n"
                          "  <node id=\"loss\" op=\"cross_entropy\"/>\n"
                          "  <wire from=\"data.x\" to=\"fc\"/><wire from=\"fc\" to=\"loss.input\"/>\n"
                          "  <wire from=\"data.y\" to=\"loss.target\"/>\n"
                          "  <train loss=\"loss\" optimizer=\"adam\" lr=\"0.02\" epochs=\"1\" batch_size=\"20\"/>\n"
                          "</graph>\n");
  cli_expect (1, "but the graph has no linear layer of this name", "train", "other.xml", "--adapter", "lora/adapter");
  cli_write ("faulty.xml", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                           "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                           "  <node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"300\"/>\n"
                           "  <node id=\"in\" op=\"linear\" out_features=\"0\"/>\n"
                           "  <wire from=\"data.x\" to=\"in\"/>\n"
                           "  <train loss=\"in\" optimizer=\"sgd\" lr=\"0.1\" epochs=\"1\" batch_size=\"20\"/>\n"
                           "</graph>\n");
  cli_expect (1, "out_features", "train", "faulty.xml", "--adapter", "lora/adapter");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/cli/adapter/freeze", test_freeze);
  g_test_add_func ("/cli/adapter/lora", test_lora);
  g_test_add_func ("/cli/adapter/tied", test_tied);
  g_test_add_func ("/cli/adapter/shared", test_shared);
  g_test_add_func ("/cli/adapter/by-hand", test_by_hand);
  g_test_add_func ("/cli/adapter/unknown", test_unknown);
  g_test_add_func ("/cli/adapter/magnitudes", test_magnitudes);
  g_test_add_func ("/cli/adapter/trained-magnitudes", test_trained_magnitudes);
  g_test_add_func ("/cli/adapter/one-copy", test_one_copy);
  g_test_add_func ("/cli/adapter/patterns", test_patterns);
  g_test_add_func ("/cli/adapter/ends", test_ends);
  g_test_add_func ("/cli/adapter/biases", test_biases);
  g_test_add_func ("/cli/adapter/refused", test_refused);
  int status = g_test_run ();
  cli_leave ();
  return status;
}
