/* Faults of wrongly used operators: the sentence, its location, and the fix. */
#include "engine/net/loom-net.h"
#include "tests/test-program.h"

#include <string.h>

typedef struct
{
  const char *nodes; /* of the graph, wires included */
  LoomErrorCode code;
  const char *node, *port; /* port may be NULL */
  const char *says[3];     /* parts of the sentence */
  gboolean is_warning;     /* the node works all the same */
} Fault;

#define X(shape)      "<node id='x' op='input' shape='" shape "'/>"
#define I(shape)      "<node id='i' op='input' shape='" shape "' dtype='i64'/>"
#define ONE(op)       "<node id='n' op='" op "/><wire from='x' to='n'/>"
#define TWO(op, a, b) "<node id='n' op='" op "/><wire from='x' to='n." a "'/><wire from='i' to='n." b "'/>"
#define OTHER(shape)  "<node id='i' op='input' shape='" shape "'/>"

static const Fault faults[] = {
  { X ("B,16,5,5") ONE ("linear' out_features='10'"),
    LOOM_ERROR_SHAPE,
    "n",
    "input",
    { "last dimension, 5, only", "B × 16 × 5 × 5 put a flatten before it", "the 16 channels at each position" },
    .is_warning = TRUE },
  { X ("B,T") ONE ("linear' out_features='10'"), LOOM_ERROR_SHAPE, "n", "input", { "fixed number", "it is T" } },
  { I ("B,3") "<node id='n' op='linear' out_features='2'/><wire from='i' to='n'/>",
    LOOM_ERROR_DTYPE,
    "n",
    "input",
    { "needs floats", "i64" } },
  { X ("B,784") ONE ("conv2d' out_channels='4' kernel_size='3'"),
    LOOM_ERROR_SHAPE,
    "n",
    "input",
    { "conv2d needs images", "B × 784", "reshape" } },
  { X ("B,1,4,4") ONE ("conv2d' out_channels='4' kernel_size='5'"),
    LOOM_ERROR_SHAPE,
    "n",
    "kernel_size",
    { "5 × 5 does not fit", "B × 1 × 4 × 4" } },
  { X ("B,1,4,4") ONE ("conv2d' out_channels='4' kernel_size='3' padding='some'"),
    LOOM_ERROR_SCHEMA,
    "n",
    "padding",
    { "“some”", "“same”" } },
  { X ("B,1,4,4") ONE ("conv2d' out_channels='4' kernel_size='3' padding='same' stride='2'"),
    LOOM_ERROR_SHAPE,
    "n",
    "padding",
    { "stride 1" } },
  { X ("B,3,4,4") ONE ("conv2d' out_channels='4' kernel_size='3' groups='2'"),
    LOOM_ERROR_SHAPE,
    "n",
    "groups",
    { "3 input and 4 output", "2 groups" } },
  { X ("B,1,2,2") ONE ("max_pool2d' kernel_size='3'"), LOOM_ERROR_SHAPE, "n", "kernel_size", { "3 × 3 does not fit" } },
  { X ("B,1,8,8") ONE ("avg_pool2d' kernel_size='2' padding='2'"), LOOM_ERROR_SHAPE, "n", "padding", { "half" } },
  { X ("B,1,4,4") ONE ("conv1d' out_channels='4' kernel_size='3'"),
    LOOM_ERROR_SHAPE,
    "n",
    "input",
    { "conv1d needs sequences", "B × 1 × 4 × 4" } },
  { X ("B,1,3,4") ONE ("conv2d' out_channels='4' kernel_size='3' padding='3' padding_mode='reflect'"),
    LOOM_ERROR_SHAPE,
    "n",
    "padding",
    { "“reflect” by 3", "B × 1 × 3 × 4" } },
  { X ("B,2,4,4") ONE ("conv_transpose2d' out_channels='4' kernel_size='3' stride='2' output_padding='2'"),
    LOOM_ERROR_SHAPE,
    "n",
    "output_padding",
    { "less than the stride" } },
  { X ("B,2,1") ONE ("conv_transpose1d' out_channels='4' kernel_size='2' padding='1'"),
    LOOM_ERROR_SHAPE,
    "n",
    "padding",
    { "Nothing remains" } },
  { X ("B,2,0") ONE ("adaptive_avg_pool1d' output_size='2'"), LOOM_ERROR_SHAPE, "n", "input", { "non-empty input" } },
  { X ("B,2,4,4") ONE ("batch_norm1d'"), LOOM_ERROR_SHAPE, "n", "input", { "batch_norm1d needs", "batch_norm2d" } },
  { X ("B,2,4,4") ONE ("batch_norm2d' momentum='2'"), LOOM_ERROR_SCHEMA, "n", "momentum", { "“2”", "none" } },
  { X ("B,5,4") ONE ("group_norm' num_groups='2'"), LOOM_ERROR_SHAPE, "n", "num_groups", { "5 channels", "2 equal" } },
  { X ("B,5,4,4") ONE ("pixel_shuffle' upscale_factor='2'"),
    LOOM_ERROR_SHAPE,
    "n",
    "upscale_factor",
    { "squared, 4" } },
  { X ("B,1,4,4") ONE ("upsample'"), LOOM_ERROR_SCHEMA, "n", "size", { "either size or scale_factor" } },
  { X ("B,1,4,4") ONE ("upsample' size='3' mode='linear'"), LOOM_ERROR_SHAPE, "n", "mode", { "“linear”" } },
  { I ("B") "<node id='n' op='embedding' num_embeddings='4' embedding_dim='2' padding_idx='4'/><wire from='i' to='n'/>",
    LOOM_ERROR_SHAPE,
    "n",
    "padding_idx",
    { "no row 4", "4 rows" } },
  { X ("B,3") OTHER ("B,4") TWO ("add'", "input", "other"),
    LOOM_ERROR_SHAPE,
    "n",
    "other",
    { "B × 3", "B × 4", "counted from the right" } },
  { X ("B,3") ONE ("mul'"), LOOM_ERROR_PORT, "n", "other", { "second operand is missing" } },
  { X ("B,3") OTHER ("3") TWO ("mul' other='2'", "input", "other"), LOOM_ERROR_PORT, "n", "other", { "only one" } },
  { X ("2,3") OTHER ("5,3") TWO ("matmul'", "input", "other"),
    LOOM_ERROR_SHAPE,
    "n",
    "other",
    { "2 × 3 and 5 × 3 cannot be multiplied", "Put a transpose" } },
  { X ("B,5") I ("B,2") TWO ("cross_entropy'", "input", "target"),
    LOOM_ERROR_SHAPE,
    "n",
    "target",
    { "B × 5", "B × 2" } },
  { X ("B,5") OTHER ("B") TWO ("cross_entropy'", "input", "target"),
    LOOM_ERROR_DTYPE,
    "n",
    "target",
    { "class indices", "mse_loss" } },
  { X ("B,3") OTHER ("B,4") TWO ("mse_loss'", "input", "target"),
    LOOM_ERROR_SHAPE,
    "n",
    "target",
    { "B × 3", "B × 4" } },
  { X ("B,12") ONE ("reshape' shape='B,5'"), LOOM_ERROR_SHAPE, "n", "shape", { "B × 12 cannot be reshaped to B × 5" } },
  { X ("B,3") ONE ("permute' dims='0,0'"), LOOM_ERROR_SHAPE, "n", "dims", { "named twice" } },
  { X ("B,3") ONE ("sum' dim='2'"), LOOM_ERROR_SHAPE, "n", "dim", { "no dimension 2", "-2 to 1" } },
  { X ("B,3") ONE ("embedding' num_embeddings='3' embedding_dim='2'"),
    LOOM_ERROR_DTYPE,
    "n",
    "input",
    { "needs integers", "f32" } },
  { X ("4,3,2") I ("5,2,1") TWO ("gather_nd' batch_dims='1'", "input", "indices"),
    LOOM_ERROR_SHAPE,
    "n",
    "indices",
    { "the same sizes as the input", "5 × 2 × 1", "4 × 3 × 2" } },
  { X ("B,3") ONE ("clamp'"), LOOM_ERROR_SCHEMA, "n", "min", { "needs a bound" } },
  { X ("B,6") ONE ("layer_norm' normalized_shape='5'"),
    LOOM_ERROR_SHAPE,
    "n",
    "normalized_shape",
    { "has 5", "has 6" } },
  { "<node id='n' op='parameter' shape='B,3'/>", LOOM_ERROR_SHAPE, "n", "shape", { "plain numbers", "B × 3" } },
  { "<node id='n' op='constant' value='1,2,3' shape='2,2'/>",
    LOOM_ERROR_SHAPE,
    "n",
    "value",
    { "3 numbers", "2 × 2" } },
  { "<node id='n' op='dataset' source='fashion-mnits'/>", LOOM_ERROR_SCHEMA, "n", "source", { "fashion-mnist" } },
};

static void
check_fault (const Fault *fault)
{
  g_autofree char *xml
      = g_strdup_printf ("<graph xmlns='urn:gradloom:graph' version='1' name='fault'>%s</graph>", fault->nodes);
  g_autoptr (LoomFaults) list = loom_faults_new ();
  g_autoptr (LoomGraph) graph = NULL;
  g_autoptr (LoomNet) net = NULL;
  g_autoptr (GError) error = NULL;
  const LoomFault *found;

  graph = loom_graph_read_data (xml, strlen (xml), "fault", list, &error);
  g_assert_no_error (error);
  net = loom_net_new (graph, NULL, list);
  g_test_message ("%s", fault->nodes);
  for (guint i = 0; i < loom_faults_length (list); i++)
    g_test_message ("  says: %s", loom_faults_get (list, i)->message);
  /* One mistake makes one sentence. */
  g_assert_cmpuint (loom_faults_length (list), ==, 1);
  found = loom_faults_get (list, 0);
  g_assert_cmpint (found->code, ==, fault->code);
  g_assert_cmpint (found->is_warning, ==, fault->is_warning);
  if (loom_net_find (net, fault->node) >= 0)
    g_assert_cmpint (loom_net_node (net, loom_net_find (net, fault->node))->typed, ==, fault->is_warning);
  g_assert_cmpstr (found->node, ==, fault->node);
  g_assert_cmpstr (found->port, ==, fault->port);
  for (guint i = 0; i < G_N_ELEMENTS (fault->says) && fault->says[i] != NULL; i++)
    {
      g_autofree char *text = g_strconcat (found->message, " ", found->fix, NULL);

      g_assert_nonnull (strstr (text, fault->says[i]));
    }
}

static void
test_faults (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (faults); i++)
    check_fault (&faults[i]);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ops/faults", test_faults);
  return g_test_run ();
}
