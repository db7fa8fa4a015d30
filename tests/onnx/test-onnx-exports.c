/* Models of PyTorch's two exporters, imported and run: exports/ has models with a dynamic batch, in the form of ONNX's
 * own cases, with a batch of another size and PyTorch's outputs. "dynamo" is the current exporter, which stores numbers
 * in model.onnx.data; "script" the older one, which writes paddings and sizes as little programs.
 * tests/reference/onnx_exports.py makes them. Models without an exporter's name are recurrent layers, loops, attention,
 * integers, images, signals and onnxruntime's own operators in forms that neither ONNX's cases nor PyTorch have, with
 * onnxruntime's outputs; onnx_layers.py, onnx_contrib.py, onnx_recent.py and onnx_sklearn.py next to it make them. */
#include "tests/onnx/onnx-case.h"
#include "tests/test-program.h"

#include "engine/onnx/loom-onnx.h"

#include <glib/gstdio.h>
#include <string.h>

static void
test_export (gconstpointer folder)
{
  g_autofree char *why = NULL;
  g_autoptr (LoomDevices) devices = loom_devices_new (1);

  if (case_run (devices, folder, &why) != CASE_PASSED)
    g_error ("%s: %s", (const char *)folder, why);
}

static char *
path_to (const char *name)
{
  return g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "onnx", "exports", name, NULL);
}

static LoomOnnx *
read_model (const char *name)
{
  g_autofree char *folder = path_to (name), *file = g_build_filename (folder, "model.onnx", NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  LoomOnnx *read = loom_onnx_read_file (file, NULL, faults, &error);

  g_assert_no_error (error);
  g_assert_nonnull (read);
  return read;
}

static gboolean
has_weight (const LoomOnnx *read, const char *name)
{
  for (guint i = 0; i < read->weights->len; i++)
    if (g_str_equal (((LoomNamedTensor *)read->weights->pdata[i])->name, name))
      return TRUE;
  return FALSE;
}

/* The current exporter stores a transposed copy of the embedding, the older one transposes it. */
static void
test_tied (void)
{
  static const char *const names[] = { "gpt-dynamo", "gpt-script" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (LoomOnnx) read = read_model (names[i]);
      g_autofree char *xml = loom_graph_write (read->graph, NULL);

      if (strstr (xml, "<wire from=\"words.weight\" to=\"linear.weight\"/>") == NULL)
        g_error ("%s is not tied:\n%s", names[i], xml);
    }
}

/* Without optimisation batch norm stays, and what the exporter computes by nodes (bounds, biases of zeros) is constant.
 */
static void
test_plain (void)
{
  static const char *const parts[]
      = { " op=\"batch_norm2d\"", "padding=\"1\" bias=\"false\"", " op=\"clamp\" min=\"0\" max=\"6\"" };
  g_autoptr (LoomOnnx) read = read_model ("mobilenet-plain");
  g_autofree char *xml = loom_graph_write (read->graph, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    if (strstr (xml, parts[i]) == NULL)
      g_error ("no %s in\n%s", parts[i], xml);
  g_assert_null (strstr (xml, " op=\"expand\""));
}

/* The network's modules, its repeated blocks, its names of weights and its buffer; decomposed operators are whole
 * again, and the biases of equal layers, which the model stores once, are separate. */
static void
test_modules (void)
{
  static const char *const parts[]
      = { "<module name=\"MultiheadAttention\">",
          "<node id=\"blocks\" module=\"Block\" repeat=\"3\"/>",
          "<node id=\"scale\" op=\"parameter\" shape=\"6\" init=\"zeros\" frozen=\"true\"/>",
          "<node id=\"1\" op=\"gelu\" approximate=\"tanh\"/>",
          "<node id=\"act_2\" op=\"silu\"/>",
          "<node id=\"scaled_dot_product_attention\" op=\"scaled_dot_product_attention\"/>" };
  static const char *const names[] = { "conv.0.weight",
                                       "scale",
                                       "blocks.0.ln1.weight",
                                       "blocks.2.ln1.weight",
                                       "blocks.2.mlp.0.bias",
                                       "head.bias",
                                       "blocks.0.attn.in_proj_weight",
                                       "blocks.2.attn.in_proj_bias",
                                       "blocks.1.attn.out_proj.weight" };
  g_autoptr (LoomOnnx) read = read_model ("blocks-dynamo");
  g_autofree char *xml = loom_graph_write (read->graph, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    if (strstr (xml, parts[i]) == NULL)
      g_error ("no %s in\n%s", parts[i], xml);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      guint found = 0;

      for (guint k = 0; k < read->weights->len; k++)
        found += g_str_equal (((LoomNamedTensor *)read->weights->pdata[k])->name, names[i]);
      if (found != 1)
        g_error ("%u weights are named %s", found, names[i]);
    }
}

/* Norms without weights get none, which would be trained; group norm, which is decomposed in this operator set, is
 * whole, and a row of padding is one. Exports of both kinds are the same graph. */
static void
test_norms (void)
{
  static const char *const exports[] = { "norms-dynamo", "norms-plain" };
  static const char *const parts[] = { "<node id=\"words\" op=\"embedding\" num_embeddings=\"9\" embedding_dim=\"4\" "
                                       "padding_idx=\"2\"/>",
                                       "op=\"layer_norm\" normalized_shape=\"4\" elementwise_affine=\"false\"/>",
                                       "op=\"group_norm\" num_groups=\"3\" affine=\"false\"/>",
                                       "op=\"batch_norm1d\" affine=\"false\"/>",
                                       "op=\"group_norm\" num_groups=\"6\" affine=\"false\"/>",
                                       "<node id=\"groups\" op=\"group_norm\" num_groups=\"2\"/>" };
  static const char *const names[] = { "words.weight",
                                       "groups.weight",
                                       "groups.bias",
                                       "plain.2.running_mean",
                                       "plain.2.running_var",
                                       "plain.2.num_batches_tracked",
                                       NULL };

  for (guint e = 0; e < G_N_ELEMENTS (exports); e++)
    {
      g_autoptr (LoomOnnx) read = read_model (exports[e]);
      g_autofree char *xml = loom_graph_write (read->graph, NULL);

      for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
        if (strstr (xml, parts[i]) == NULL)
          g_error ("%s: no %s in\n%s", exports[e], parts[i], xml);
      for (guint k = 0; k < read->weights->len; k++)
        if (!g_strv_contains (names, ((LoomNamedTensor *)read->weights->pdata[k])->name))
          g_error ("%s has %s", exports[e], ((LoomNamedTensor *)read->weights->pdata[k])->name);
      g_assert_cmpuint (read->weights->len, ==, G_N_ELEMENTS (names) - 1);
    }
}

/* Another tool may put numbers into norms that have no weights by PyTorch's call: they are read. */
static void
test_scaled_norms (void)
{
  static const char one[] = { 0, 0, (char)0x80, 0x3f, 0, 0, (char)0x80, 0x3f };
  g_autofree char *from = path_to ("norms-dynamo"), *folder = g_dir_make_tmp ("gradloom-norms-XXXXXX", NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  guint n = 0;

  for (guint i = 0; i < 2; i++)
    {
      const char *name = i == 0 ? "model.onnx" : "model.onnx.data";
      g_autofree char *source = g_build_filename (from, name, NULL), *to = g_build_filename (folder, name, NULL);
      g_autofree char *bytes = NULL;
      gsize length;

      g_assert_true (g_file_get_contents (source, &bytes, &length, NULL));
      /* Each 1 that is followed by another one, or by a 2 that was one, becomes 2. */
      for (gsize k = length - sizeof one; i == 0 && k > 0; k--)
        if (memcmp (bytes + k, one, 4) == 0
            && (memcmp (bytes + k + 4, one, 4) == 0 || memcmp (bytes + k + 4, "\0\0\0@", 4) == 0))
          {
            memcpy (bytes + k, "\0\0\0@", 4);
            n++;
          }
      g_assert_true (g_file_set_contents (to, bytes, (gssize)length, NULL));
    }
  g_assert_cmpuint (n, >, 10);
  {
    g_autofree char *file = g_build_filename (folder, "model.onnx", NULL);
    g_autoptr (LoomOnnx) read = loom_onnx_read_file (file, NULL, faults, &error);
    g_autofree char *xml = NULL;

    g_assert_no_error (error);
    xml = loom_graph_write (read->graph, NULL);
    if (strstr (xml, "affine=\"false\"") != NULL || strstr (xml, "<node id=\"groups\" op=\"group_norm\"") != NULL)
      g_error ("numbers are lost:\n%s", xml);
  }
  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *to = g_build_filename (folder, i == 0 ? "model.onnx" : "model.onnx.data", NULL);

      g_remove (to);
    }
  g_rmdir (folder);
}

/* Scores that are −∞ where a mask says so are attention with that mask; a very low number and another mask that is
 * added are one mask. */
static void
test_masked (void)
{
  g_autoptr (LoomOnnx) read = read_model ("masked-plain");
  g_autofree char *xml = loom_graph_write (read->graph, NULL);
  guint n = 0;

  for (const char *at = xml; (at = strstr (at, " op=\"scaled_dot_product_attention\"")) != NULL; at++)
    n++;
  if (n != 3 || strstr (xml, " op=\"softmax\"") != NULL || strstr (xml, " op=\"tril\"") != NULL)
    g_error ("%u of 3 are attention:\n%s", n, xml);
}

/* A causal mask that is the same for all samples, in thirty nodes, is one of attention, and the layers, which no longer
 * read it, are a repeat; another mask is a constant. What differs between samples stays, even if it does not for a few.
 */
static void
test_packed (void)
{
  g_autoptr (LoomOnnx) read = read_model ("packed-dynamo");
  g_autofree char *xml = loom_graph_write (read->graph, NULL);

  if (strstr (xml, "<node id=\"layers\" module=\"Layer\" repeat=\"3\"/>") == NULL
      || strstr (xml, " is_causal=\"true\"") == NULL || strstr (xml, " op=\"gather_nd\"") != NULL
      || strstr (xml, " shape=\"1,1,5,5\"") == NULL || strstr (xml, " op=\"lt\"") == NULL)
    g_error ("the mask is not folded, or too much is:\n%s", xml);
}

/* What an export in training mode drops, of elements, channels or samples, is dropped in training only. */
static void
test_dropped (void)
{
  g_autoptr (LoomOnnx) read = read_model ("dropped-plain");
  g_autofree char *xml = loom_graph_write (read->graph, NULL);
  guint n = 0;

  for (const char *at = xml; (at = strstr (at, " op=\"dropout\"")) != NULL; at++)
    n++;
  if (n != 4 || strstr (xml, " op=\"rand\"") != NULL)
    g_error ("%u of 4 are dropout:\n%s", n, xml);
  g_assert_cmpuint (read->notes->len, ==, 1);
  g_assert_nonnull (strstr (read->notes->pdata[0], "was exported in training mode"));
}

/* PyTorch's names and the order of outputs stay. Numbers that are parameters are trained. */
static void
test_names (void)
{
  static const char *const names[] = { "conv.weight",
                                       "bn.weight",
                                       "bn.bias",
                                       "bn.running_mean",
                                       "bn.running_var",
                                       "bn.num_batches_tracked",
                                       "stage.block1-0.weight",
                                       "stage.block1-0.bias",
                                       "star.scale",
                                       "star.bias",
                                       "part.weight",
                                       "part.bias",
                                       "gamma_1",
                                       "gamma_2" };
  g_autoptr (LoomOnnx) read = read_model ("names-plain");
  g_autofree char *xml = loom_graph_write (read->graph, NULL);
  const char *first = NULL, *second = NULL;

  g_assert_cmpuint (read->weights->len, ==, G_N_ELEMENTS (names));
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (!has_weight (read, names[i]))
      g_error ("no weight is named %s:\n%s", names[i], xml);
  for (guint i = 0; i < 2; i++)
    {
      const LoomOnnxPort *port = read->outputs->pdata[i];
      g_autofree char *node = g_strdup_printf ("<node id=\"%s\" op=\"output\"/>", port->node);

      *(i == 0 ? &first : &second) = strstr (xml, node);
    }
  g_assert_true (first != NULL && second != NULL && first < second);
}

/* Layers of one GRU are nodes of one call, and their weights have its names. */
static void
test_recurrent (void)
{
  static const char *const parts[] = { "weight_ih", "weight_hh", "bias_ih", "bias_hh" };
  g_autoptr (LoomOnnx) read = read_model ("gru-dynamo");

  g_assert_cmpuint (read->weights->len, ==, 2 * 8 + 2);
  for (guint i = 0; i < 16; i++)
    {
      g_autofree char *name = g_strdup_printf ("rnn.%s_l%u%s", parts[i % 4], i / 8, i / 4 % 2 == 1 ? "_reverse" : "");

      if (!has_weight (read, name))
        g_error ("no weight is named %s", name);
    }
}

/* Biases of zeros, which the exporter leaves out, are trained, and are in checkpoints. */
static void
test_fresh (void)
{
  static const char *const names[] = { "conv.weight", "conv.bias",    "up.weight",  "up.bias", "head.weight",
                                       "head.bias",   "again.weight", "again.bias", "_means" };
  g_autoptr (LoomOnnx) read = read_model ("fresh-dynamo");
  g_autofree char *xml = loom_graph_write (read->graph, NULL);

  g_assert_cmpuint (read->weights->len, ==, G_N_ELEMENTS (names));
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (!has_weight (read, names[i]))
      g_error ("no weight is named %s", names[i]);
  /* Each call of a layer has the bias. */
  g_assert_null (strstr (xml, "bias=\"false\""));
}

/* Layers that are called twice have one weight of each name. Without optimisation nodes turn the order of gates, and
 * cut the zeros of the first state for the samples of the example, which the batch is opened for. */
static void
test_twice (void)
{
  static const char *const exports[] = { "twice-dynamo", "twice-plain" };
  static const LoomOnnxInputs open = { .batch = LOOM_ONNX_BATCH_OPEN };

  for (guint i = 0; i < G_N_ELEMENTS (exports); i++)
    {
      g_autofree char *folder = path_to (exports[i]), *file = g_build_filename (folder, "model.onnx", NULL);
      g_autoptr (LoomFaults) faults = loom_faults_new ();
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomOnnx) read = loom_onnx_read_file (file, &open, faults, &error);
      g_autofree char *xml = NULL;

      g_assert_no_error (error);
      xml = loom_graph_write (read->graph, NULL);
      for (guint k = 0; k < read->weights->len; k++)
        {
          const char *name = ((LoomNamedTensor *)read->weights->pdata[k])->name;

          if (!g_str_has_prefix (name, "gru.") && !g_str_has_prefix (name, "lstm."))
            g_error ("%s has %s:\n%s", exports[i], name, xml);
        }
      if (read->weights->len != 8 || strstr (xml, " shape=\"B,6,4\"") == NULL || strstr (xml, " op=\"slice\"") != NULL)
        g_error ("%s has %u weights:\n%s", exports[i], read->weights->len, xml);
    }
}

/* What all layers compute from the same input, and the first one has in the model, is computed before them; a mask that
 * hides nothing is none. */
static void
test_padded (void)
{
  g_autoptr (LoomOnnx) read = read_model ("padded-dynamo");
  g_autofree char *xml = loom_graph_write (read->graph, NULL);
  guint n = 0;

  for (const char *at = xml; (at = strstr (at, ".attn_mask\"")) != NULL; at++)
    n++;
  if (n != 1 || strstr (xml, "<node id=\"layers\" module=\"Layer\" repeat=\"3\"/>") == NULL
      || strstr (xml, "<node id=\"open\" module=\"Layer_2\" repeat=\"2\"/>") == NULL)
    g_error ("%u masks, or no repeats:\n%s", n, xml);
}

/* A table of the state dict is loaded and saved, although all that is computed from it could be a constant. */
static void
test_indexed (void)
{
  g_autoptr (LoomOnnx) read = read_model ("indexed-plain");

  g_assert_true (has_weight (read, "apart"));
}

/* The default export folds batch norm, although the calls of nodes still name its weights. */
static void
test_folded_norm (void)
{
  g_autoptr (LoomOnnx) read = read_model ("names-dynamo");

  g_assert_cmpuint (read->notes->len, ==, 1);
  g_assert_true (g_str_has_prefix (read->notes->pdata[0], "The exporter folded 1 batch norm "));
}

/* A first size without a name is the batch. */
static void
test_unnamed_batch (void)
{
  g_autoptr (LoomOnnx) read = read_model ("sklearn-logistic");
  const LoomOnnxPort *port = read->inputs->pdata[0];

  g_assert_true (loom_dim_equal (port->type.shape.dim[0], loom_dim_symbol ('B')));
}

/* Weights that a model stores as integers are said to be floats. */
static void
test_dequantized (void)
{
  g_autoptr (LoomOnnx) read = read_model ("weights-narrow");
  gboolean found = FALSE;

  for (guint i = 0; i < read->notes->len; i++)
    found = found || strstr (read->notes->pdata[i], " quantised weights became floats") != NULL;
  g_assert_true (found);
}

static void
add (const char *name)
{
  g_autofree char *path = g_strconcat ("/onnx-exports/", name, NULL);

  g_test_add_data_func_full (path, path_to (name), test_export, g_free);
}

TEST_FILE (argc, argv)
{
  static const char *const names[] = { "blocks", "gpt", "mlp", "super-resolution", "unet", "lstm", "gru" };
  static const char *const exporters[] = { "dynamo", "script" };
  static const char *const layers[] = { "lstm-peepholes-reverse-lengths",
                                        "gru-before-clip",
                                        "rnn-both-activations",
                                        "scan-axes-directions",
                                        "loop-tied-weight",
                                        "loop-counts",
                                        "if-data",
                                        "loop-grows",
                                        "loop-until",
                                        "loop-until-rows",
                                        "loop-asked-first",
                                        "attention-past-causal",
                                        "attention-cap-scores",
                                        "loop-while",
                                        "quantize-types",
                                        "quantize-zeros",
                                        "integer-sums",
                                        "integer-conv",
                                        "resize-10",
                                        "resize-corners",
                                        "dft-inverse-onesided",
                                        "lp-norm-zeros",
                                        "positions",
                                        "open-image",
                                        "open-shape",
                                        "pad-infinity",
                                        "half",
                                        "integers",
                                        "resize-moves",
                                        "sums-before",
                                        "compare-6",
                                        "set-28",
                                        "contrib-fused",
                                        "contrib-norm",
                                        "contrib-attention",
                                        "contrib-quantised",
                                        "rotary",
                                        "slice-to-length",
                                        "counted-index",
                                        "open-resize",
                                        "open-tile",
                                        "weights-narrow",
                                        "weights-packed",
                                        "quantized-blocks",
                                        "casts-narrow",
                                        "functions",
                                        "sequences",
                                        "sequence-loop",
                                        "boxes",
                                        "regions",
                                        "deformed",
                                        "resize-antialias",
                                        "states",
                                        "bits",
                                        "mobilenet-plain",
                                        "dropped-plain",
                                        "names-plain",
                                        "norms-dynamo",
                                        "norms-plain",
                                        "names-dynamo",
                                        "masked-plain",
                                        "packed-dynamo",
                                        "indexed-plain",
                                        "padded-dynamo",
                                        "tied-plain",
                                        "fresh-dynamo",
                                        "twice-dynamo",
                                        "twice-plain",
                                        "sklearn-logistic",
                                        "sklearn-logistic-binary",
                                        "sklearn-forest",
                                        "sklearn-boost",
                                        "sklearn-boost-binary",
                                        "sklearn-bins" };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    for (guint k = 0; k < G_N_ELEMENTS (exporters); k++)
      {
        g_autofree char *name = g_strconcat (names[i], "-", exporters[k], NULL);
        add (name);
      }
  for (guint i = 0; i < G_N_ELEMENTS (layers); i++)
    add (layers[i]);
  g_test_add_func ("/onnx-exports/plain", test_plain);
  g_test_add_func ("/onnx-exports/modules", test_modules);
  g_test_add_func ("/onnx-exports/norms", test_norms);
  g_test_add_func ("/onnx-exports/norms/scaled", test_scaled_norms);
  g_test_add_func ("/onnx-exports/masked", test_masked);
  g_test_add_func ("/onnx-exports/packed", test_packed);
  g_test_add_func ("/onnx-exports/dropped", test_dropped);
  g_test_add_func ("/onnx-exports/padded", test_padded);
  g_test_add_func ("/onnx-exports/indexed", test_indexed);
  g_test_add_func ("/onnx-exports/names", test_names);
  g_test_add_func ("/onnx-exports/recurrent", test_recurrent);
  g_test_add_func ("/onnx-exports/fresh", test_fresh);
  g_test_add_func ("/onnx-exports/twice", test_twice);
  g_test_add_func ("/onnx-exports/unnamed-batch", test_unnamed_batch);
  g_test_add_func ("/onnx-exports/dequantized", test_dequantized);
  g_test_add_func ("/onnx-exports/folded-norm", test_folded_norm);
  g_test_add_func ("/onnx-exports/tied", test_tied);
  return g_test_run ();
}
