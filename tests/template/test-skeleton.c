/* Graphs guessed from weights: every layer's weights fit by name and shape, widths determine wires, and everything that
 * cannot be guessed is left out with a sentence. */
#include <string.h>

#include "engine/net/loom-net.h"
#include "engine/template/loom-skeleton.h"
#include "engine/template/loom-weights-match.h"
#include "tests/scratch.h"
#include "tests/test-program.h"

static char *folder;

/* Tensors as "name:2,3", NULL-terminated, in a file. */
static LoomTensorFile *
write_weights (const char *const *tensors)
{
  g_autofree char *path = g_build_filename (folder, "w.safetensors", NULL);
  g_autoptr (GPtrArray) list = loom_named_tensors_new ();
  g_autoptr (GError) error = NULL;
  LoomTensorFile *file;

  for (; *tensors != NULL; tensors++)
    {
      g_auto (GStrv) half = g_strsplit (*tensors, ":", 2), size = g_strsplit (half[1], ",", -1);
      const int rank = (int)g_strv_length (size);
      gint64 dims[LOOM_SHAPE_MAX_RANK];

      for (int i = 0; i < rank; i++)
        dims[i] = g_ascii_strtoll (size[i], NULL, 10);
      g_autoptr (LoomTensor) t = loom_tensor_new (LOOM_F32, rank, dims, &error);
      g_assert_no_error (error);
      g_ptr_array_add (list, loom_named_tensor_new (half[0], t));
    }
  loom_safetensors_save (path, list, NULL, &error);
  g_assert_no_error (error);
  file = loom_safetensors_open (path, &error);
  g_assert_no_error (error);
  return file;
}

/* The skeleton; its graph has no error, and takes all tensors but n_left. */
static LoomSkeleton *
guess (const char *const *tensors, guint n_left, guint n_layers, guint n_chains)
{
  g_autoptr (LoomTensorFile) file = write_weights (tensors);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomSkeleton *skeleton = loom_skeleton_new (file, "w.safetensors", "test", &error);

  g_assert_no_error (error);
  g_autofree char *text = loom_graph_write (skeleton->graph, NULL);
  g_test_message ("%s", text);
  for (guint i = 0; i < skeleton->left_out->len; i++)
    g_test_message ("%s", (char *)skeleton->left_out->pdata[i]);
  g_autoptr (LoomNet) net = loom_net_new (skeleton->graph, NULL, faults);
  g_autoptr (LoomWeightsMatch) match = loom_weights_match_new (file, net);
  for (guint i = 0; i < loom_faults_length (faults); i++)
    g_test_message ("%s", loom_faults_get (faults, i)->message);
  g_assert_cmpuint (loom_faults_length (faults), ==, 0);
  g_assert_cmpuint (match->n_fit, ==, loom_net_n_weights (net) - match->missing->len);
  g_assert_cmpuint (match->differs->len, ==, 0);
  g_assert_cmpuint (match->n_fit, ==, loom_tensor_file_count (file) - n_left);
  g_assert_cmpuint (skeleton->n_layers, ==, n_layers);
  g_assert_cmpuint (skeleton->n_chains, ==, n_chains);
  return skeleton;
}

#define TENSORS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static gboolean
is_wired (const LoomSkeleton *skeleton, const char *module, const char *from, const char *to)
{
  LoomElement *scope
      = module != NULL ? loom_graph_find_module (skeleton->graph, module) : loom_graph_root (skeleton->graph);

  g_assert_nonnull (scope);
  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      LoomElement *e = loom_element_child (scope, i);

      if (loom_element_tag (e) == LOOM_TAG_WIRE && strcmp (loom_element_get (e, "from"), from) == 0
          && strcmp (loom_element_get (e, "to"), to) == 0)
        return TRUE;
    }
  return FALSE;
}

/* An image is pooled to the side that the linear layer's width requires. */
static void
test_lenet (void)
{
  g_autoptr (LoomSkeleton) s
      = guess (TENSORS ("conv1.weight:6,1,5,5", "conv1.bias:6", "conv2.weight:16,6,5,5", "conv2.bias:16",
                        "fc1.weight:120,400", "fc1.bias:120", "fc2.weight:10,120", "fc2.bias:10"),
               0, 4, 1);
  LoomElement *root = loom_graph_root (s->graph), *pool = loom_scope_find_node (root, "pool");

  g_assert_cmpstr (loom_element_get (pool, "output_size"), ==, "5");
  g_assert_true (is_wired (s, NULL, "conv2", "pool"));
  g_assert_true (is_wired (s, NULL, "flat", "fc1"));
  g_assert_true (is_wired (s, NULL, "fc1", "fc2"));
  g_assert_cmpstr (loom_element_get (loom_scope_find_node (root, "input"), "shape"), ==, "B,1,H,W");
  g_assert_cmpstr (loom_element_get (loom_element_find (root, LOOM_TAG_TRAIN), "weights"), ==, "w.safetensors");
}

/* By name norms come before convolutions and fc before layer1; equal blocks are one module. */
static void
test_residual (void)
{
#define NORM(name, n) name ".weight:" n, name ".bias:" n, name ".running_mean:" n, name ".running_var:" n
  g_autoptr (LoomSkeleton) s = guess (
      TENSORS (NORM ("bn1", "8"), "conv1.weight:8,3,7,7", "fc.weight:10,16", "fc.bias:10", NORM ("layer1.0.bn1", "8"),
               NORM ("layer1.0.bn2", "8"), "layer1.0.conv1.weight:8,8,3,3", "layer1.0.conv2.weight:8,8,3,3",
               NORM ("layer1.1.bn1", "8"), NORM ("layer1.1.bn2", "8"), "layer1.1.conv1.weight:8,8,3,3",
               "layer1.1.conv2.weight:8,8,3,3", NORM ("layer2.0.bn1", "16"), NORM ("layer2.0.bn2", "16"),
               "layer2.0.conv1.weight:16,8,3,3", "layer2.0.conv2.weight:16,16,3,3", "layer2.0.down.0.weight:16,8,1,1",
               NORM ("layer2.0.down.1", "16")),
      0, 17, 1);

  g_assert_true (is_wired (s, NULL, "conv1", "bn1"));
  g_assert_true (is_wired (s, NULL, "bn1", "layer1.x"));
  g_assert_true (is_wired (s, NULL, "layer1.y", "layer2.x"));
  g_assert_true (is_wired (s, NULL, "flat", "fc"));
  g_assert_true (is_wired (s, "layer1_0", "conv1", "bn1"));
  g_assert_true (is_wired (s, "layer1_0", "bn1", "conv2"));
  g_assert_null (loom_graph_find_module (s->graph, "layer1_1"));
  /* A branch reads the block's input, and the block's main path is its first output. */
  g_assert_true (is_wired (s, "layer2_0", "x", "down.x"));
  g_assert_true (is_wired (s, "layer2_0", "bn2", "y"));
}

/* Numbers order siblings: in a file 10 comes before 2. */
static void
test_numbers (void)
{
  g_autoptr (LoomSkeleton) s = guess (TENSORS ("net.0.weight:4,2", "net.0.bias:4", "net.10.weight:4,3", "net.10.bias:4",
                                               "net.2.weight:3,4", "net.2.bias:3"),
                                      0, 3, 1);

  g_assert_true (is_wired (s, "net", "0", "2"));
  g_assert_true (is_wired (s, "net", "2", "10"));
}

/* A block of a transformer maps the stream's width to the stream's width, for any order of names. */
static void
test_transformer (void)
{
#define BLOCK(b)                                                                                                       \
  "h." b ".attn.proj.weight:8,8", "h." b ".attn.qkv.weight:24,8", "h." b ".ln_1.weight:8", "h." b ".ln_1.bias:8",      \
      "h." b ".ln_2.weight:8", "h." b ".ln_2.bias:8", "h." b ".mlp.fc.weight:32,8", "h." b ".mlp.proj.weight:8,32"
  g_autoptr (LoomSkeleton) s = guess (
      TENSORS (BLOCK ("0"), BLOCK ("1"), "ln_f.weight:8", "ln_f.bias:8", "lm_head.weight:50,8", "wte.weight:50,8"), 0,
      15, 1);

  g_assert_true (is_wired (s, NULL, "wte", "h.x"));
  g_assert_true (is_wired (s, NULL, "h.y", "ln_f"));
  g_assert_true (is_wired (s, NULL, "ln_f", "lm_head"));
  g_assert_true (is_wired (s, "h", "0.y", "1.x"));
}

static void
test_kinds (void)
{
  static const struct
  {
    const char *op, *attribute, *value, *tensors[7];
  } cases[] = {
    { "linear", "bias", "false", { "a.weight:3,4" } },
    { "conv1d", "kernel_size", "5", { "a.weight:3,4,5", "a.bias:3" } },
    { "conv3d", "padding", "1,1,1", { "a.weight:3,4,3,3,3" } },
    { "conv_transpose2d", "out_channels", "3", { "a.weight:8,3,4,4", "a.bias:3" } },
    { "batch_norm1d", NULL, NULL, { "a.weight:5", "a.bias:5", "a.running_mean:5", "a.running_var:5" } },
    { "layer_norm", NULL, NULL, { "a.weight:5", "a.bias:5" } },
    { "embedding", "num_embeddings", "9", { "embed.weight:9,5" } },
    { "rms_norm", NULL, NULL, { "norm.weight:5" } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (LoomSkeleton) s = guess (cases[i].tensors, 0, 1, 1);
      g_autofree char *id = g_strndup (cases[i].tensors[0], strcspn (cases[i].tensors[0], "."));
      LoomElement *node = loom_scope_find_node (loom_graph_root (s->graph), id);

      g_assert_cmpstr (loom_element_get (node, "op"), ==, cases[i].op);
      if (cases[i].attribute != NULL)
        g_assert_cmpstr (loom_element_get (node, cases[i].attribute), ==, cases[i].value);
    }
}

/* One input channel instead of eight. */
static void
test_depthwise (void)
{
  g_autoptr (LoomSkeleton) s
      = guess (TENSORS ("body.0.weight:8,3,3,3", "body.1.weight:8,1,3,3", "body.2.weight:4,8,1,1"), 0, 3, 1);
  LoomElement *node = loom_scope_find_node (loom_graph_find_module (s->graph, "body"), "1");

  g_assert_cmpstr (loom_element_get (node, "groups"), ==, "8");
}

static gboolean
is_noted (const LoomSkeleton *skeleton, const char *words)
{
  for (guint i = 0; i < skeleton->left_out->len; i++)
    if (strstr (skeleton->left_out->pdata[i], words) != NULL)
      return TRUE;
  return FALSE;
}

/* Names may be from elsewhere: thousands of parts would be thousands of calls, and a terminal would obey an escape. */
static void
test_odd_names (void)
{
  g_autoptr (GString) deep = g_string_new (NULL);

  for (guint i = 0; i < 100000; i++)
    g_string_append (deep, "a.");
  g_string_append (deep, "weight:3,3");
  g_autoptr (LoomSkeleton) s = guess (TENSORS ("fc.weight:3,4", deep->str, "\033[31m.weight:3,3"), 2, 1, 1);

  g_assert_true (is_noted (s, "has 100001 parts"));
  g_assert_true (is_noted (s, "“\\u001b[31m.weight” is not a valid name"));
  for (guint i = 0; i < s->left_out->len; i++)
    g_assert_cmpuint (strlen (s->left_out->pdata[i]), <, 300);
}

static void
test_left_out (void)
{
  g_autoptr (LoomSkeleton) s
      = guess (TENSORS ("fc.weight:3,4", "fc.bias:3", "rnn.weight_ih_l0:8,3", "rnn.weight_hh_l0:8,2", "pos:1,5",
                        "a b.weight:3,3", "conv.weight:3,1,3,3", "ln.weight:3", "ln.bias:3"),
               6, 2, 2);
  LoomElement *root = loom_graph_root (s->graph);

  g_assert_cmpuint (s->left_out->len, ==, 4);
  g_assert_true (is_noted (s, "“rnn” has tensors that no known layer has: weight_hh_l0 8 × 2"));
  g_assert_true (is_noted (s, "“pos” belongs to no layer."));
  g_assert_true (is_noted (s, "“a b.weight” is not a valid name"));
  g_assert_true (is_noted (s, "“ln” next to convolutions may be a group norm"));
  g_assert_null (loom_scope_find_node (root, "rnn"));
  g_assert_nonnull (strstr (loom_element_text (loom_element_find (root, LOOM_TAG_DOC)), "“rnn”"));
}

static void
test_nothing (void)
{
  g_autoptr (LoomTensorFile) file = write_weights (TENSORS ("pos:1,5"));
  g_autoptr (GError) error = NULL;

  g_assert_null (loom_skeleton_new (file, NULL, "test", &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
  g_assert_nonnull (strstr (error->message, "No layer can be guessed from this file: “pos”"));
}

/* Tensors that fit are counted, and each of the others is named. */
static void
test_match (void)
{
  g_autoptr (LoomTensorFile) file
      = write_weights (TENSORS ("a.weight:3,4", "a.bias:3", "b.weight:2,9", "old.weight:5"));
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  static const char text[]
      = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"x\" op=\"input\" shape=\"B,4\"/>"
        "<node id=\"a\" op=\"linear\" out_features=\"3\"/><node id=\"b\" op=\"linear\" out_features=\"2\"/>"
        "<wire from=\"x\" to=\"a\"/><wire from=\"a\" to=\"b\"/></graph>";
  g_autoptr (LoomGraph) graph = loom_graph_read_data (text, sizeof text - 1, "test", faults, NULL);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_autoptr (LoomWeightsMatch) match = loom_weights_match_new (file, net);

  g_assert_cmpuint (match->n_fit, ==, 2);
  g_assert_cmpint (match->n_numbers, ==, 15);
  g_assert_cmpuint (match->differs->len, ==, 1);
  g_assert_cmpstr (match->differs->pdata[0], ==, "b.weight is 2 × 3 here, 2 × 9 in the file");
  g_assert_cmpuint (match->missing->len, ==, 1);
  g_assert_cmpstr (match->missing->pdata[0], ==, "b.bias is missing (2)");
  g_assert_cmpuint (match->unused->len, ==, 1);
  g_assert_cmpstr (match->unused->pdata[0], ==, "old.weight");
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  folder = g_dir_make_tmp ("skeleton-XXXXXX", NULL);
  g_test_add_func ("/skeleton/odd-names", test_odd_names);
  g_test_add_func ("/skeleton/lenet", test_lenet);
  g_test_add_func ("/skeleton/residual", test_residual);
  g_test_add_func ("/skeleton/numbers", test_numbers);
  g_test_add_func ("/skeleton/transformer", test_transformer);
  g_test_add_func ("/skeleton/kinds", test_kinds);
  g_test_add_func ("/skeleton/depthwise", test_depthwise);
  g_test_add_func ("/skeleton/left-out", test_left_out);
  g_test_add_func ("/skeleton/nothing", test_nothing);
  g_test_add_func ("/skeleton/match", test_match);
  status = g_test_run ();
  remove_tree (folder);
  g_free (folder);
  return status;
}
