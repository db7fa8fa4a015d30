/* Graphs as files for PyTorch: which line is about which node, what becomes an argument of a class, what is refused,
 * and that a text of a graph stays a comment or a literal. Whether Python computes the same,
 * tests/reference/pytorch_export.py says. */
#include "engine/pytorch/pytorch-private.h"
#include "tests/graph/graph-test.h"
#include "tests/test-program.h"

#include <string.h>

static LoomPytorch *
write_text (LoomGraph *graph)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomPytorch *self = loom_pytorch_new (graph, "samples.safetensors", faults);
  g_autofree char *text = faults_as_text (faults);

  g_assert_cmpstr (text, ==, "");
  g_assert_nonnull (self);
  return self;
}

/* The serials of the lines that have this text. */
static void
assert_line (const LoomPytorch *self, const char *text, guint64 serial)
{
  g_auto (GStrv) lines = g_strsplit (loom_pytorch_text (self), "\n", -1);
  gboolean found = FALSE;

  for (guint i = 0; i < loom_pytorch_n_lines (self); i++)
    if (strcmp (lines[i] + strspn (lines[i], " "), text) == 0)
      {
        found = TRUE;
        g_assert_cmpuint (loom_pytorch_line_serial (self, i), ==, serial);
      }
  g_assert_true (found);
}

static guint64
serial_of (const LoomGraph *graph, const char *path)
{
  return loom_element_serial (loom_graph_find_path (graph, path, NULL));
}

static const char *const blocks
    = "<graph xmlns='urn:gradloom:graph' version='1' name='blocks'>"
      "<module name='block'><arg name='width' type='int' default='8'/><node id='x' op='module_input'/>"
      "<node id='fc' op='linear' out_features='{width}'/><node id='act' op='relu'/><node id='y' op='module_output'/>"
      "<wire from='x' to='fc'/><wire from='fc' to='act'/><wire from='act' to='y'/></module>"
      "<node id='data' op='dataset' source='spirals'/><node id='wide' module='block' width='16'/>"
      "<node id='body' module='block' width='16' repeat='3'/><node id='head' op='linear' out_features='2'/>"
      "<node id='loss' op='cross_entropy'/><wire from='data.x' to='wide'/><wire from='wide' to='body'/>"
      "<wire from='body' to='head'/><wire from='head' to='loss.input'/><wire from='data.y' to='loss.target'/>"
      "<train loss='loss' optimizer='adam' lr='0.01' batch_size='50' epochs='2'/></graph>";

static void
test_lines (void)
{
  g_autoptr (LoomGraph) graph = graph_from_text (blocks, NULL);
  g_autoptr (LoomPytorch) self = write_text (graph);
  guint newlines = 0;

  for (const char *c = loom_pytorch_text (self); *c != 0; c++)
    newlines += *c == '\n';
  g_assert_cmpuint (newlines, ==, loom_pytorch_n_lines (self));
  assert_line (self, "self.head = nn.Linear(16, 2)", serial_of (graph, "head"));
  assert_line (self, "head = self.head(body)", serial_of (graph, "head"));
  assert_line (self, "for layer in self.body:", serial_of (graph, "body"));
  assert_line (self, "act = self.act(fc)", serial_of (graph, "wide.act"));
  assert_line (self, "optimizer.step()",
               loom_element_serial (loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN)));
}

/* What differs between the uses of a module is an argument of its one class; what does not is a number in it. */
static void
test_classes (void)
{
  g_autoptr (LoomGraph) graph = graph_from_text (blocks, NULL);
  g_autoptr (LoomPytorch) self = write_text (graph);
  const char *text = loom_pytorch_text (self);

  g_assert_nonnull (strstr (text, "def __init__(self, fc_in_features):"));
  g_assert_nonnull (strstr (text, "self.fc = nn.Linear(fc_in_features, 16)"));
  g_assert_nonnull (strstr (text, "self.wide = Block(fc_in_features=2)"));
  g_assert_nonnull (strstr (text, "self.body = nn.ModuleList(Block(fc_in_features=16) for _ in range(3))"));
  g_assert_null (strstr (text, "Block2"));
}

/* The file has classes and constants of its own. */
static void
test_class_names (void)
{
  static const char *const names[] = { "lion", "own", "LOSS" };
  static const char *const classes[]
      = { "class Lion2(nn.Module):", "class Own2(nn.Module):", "class LOSS2(nn.Module):" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_auto (GStrv) parts = g_strsplit (blocks, "block'", -1);
      g_autofree char *quoted = g_strconcat (names[i], "'", NULL), *xml = g_strjoinv (quoted, parts);
      g_autoptr (LoomGraph) graph = graph_from_text (xml, NULL);
      g_autoptr (LoomPytorch) self = write_text (graph);

      g_assert_nonnull (strstr (loom_pytorch_text (self), classes[i]));
    }
}

static void
test_refuses (void)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph
      = graph_from_text ("<graph xmlns='urn:gradloom:graph' version='1' name='g'>"
                         "<node id='x' op='input' shape='4,3'/><node id='i' op='input' shape='2,1' dtype='i64'/>"
                         "<node id='u' op='input' shape='2,3'/><node id='pick' op='scatter_nd' reduction='max'/>"
                         "<wire from='x' to='pick.input'/><wire from='i' to='pick.indices'/>"
                         "<wire from='u' to='pick.updates'/></graph>",
                         NULL);

  g_assert_null (loom_pytorch_new (graph, "samples", faults));
  g_assert_cmpuint (loom_faults_length (faults), ==, 1);
  g_assert_cmpstr (loom_faults_get (faults, 0)->message, ==,
                   "“pick” cannot be written for PyTorch: PyTorch has no such function for this reduction.");
  g_assert_cmpstr (loom_faults_get (faults, 0)->node, ==, "pick");
}

/* Attributes of <train>, <parallel> and of a node: each is written, or named in a note, or refused. */
static void
test_train (void)
{
  static const struct
  {
    const char *train, *schedule, *node;
    const char *line, *note; /* a text of the file; the only note */
    const char *refusal;
  } cases[] = {
    { "", "<schedule type='plateau' factor='0.5' patience='3' cooldown='2'/>", "",
      "ReduceLROnPlateau(optimizer, mode=\"min\", factor=0.5, patience=3, threshold=0.0001, threshold_mode=\"rel\", "
      "cooldown=2, min_lr=0.0, eps=1e-08)" },
    { "", "<schedule type='plateau' warmup_steps='4'/>", "", "group[\"lr\"] *= min((step + 1) / 4, 1)" },
    { "optimizer='rprop' etas='0.4,1.3'", "", "",
      "torch.optim.Rprop(groups, lr=0.01, etas=(0.4, 1.3), step_sizes=(1e-06, 50.0))" },
    { "optimizer='adafactor'", "", "",
      "torch.optim.Adafactor(groups, lr=0.01, beta2_decay=-0.8, eps=(None, 0.001), d=1.0, weight_decay=0.0)" },
    { "optimizer='asgd'", "", "",
      "torch.optim.ASGD(groups, lr=0.01, lambd=0.0001, alpha=0.75, t0=1000000.0, weight_decay=0.0)" },
    { "optimizer='muon' nesterov='false'", "", "",
      "Muon(groups, lr=0.001, weight_decay=0.1, momentum=0.95, nesterov=False, ns_coefficients=(3.4445, -4.775, "
      "2.0315), "
      "eps=1e-07, ns_steps=5, adjust_lr_fn=\"original\", betas=(0.9, 0.999))" },
    { "", "<schedule type='lambda' formula='min(sqrt(step), epoch + pi)'/>", "",
      "return min(math.sqrt(step), epoch + math.pi)" },
    { "", "<schedule type='sequential' milestones='4'><schedule/><schedule type='exponential' gamma='0.5'/></schedule>",
      "", "starts, parts = [0, 4], [part0, part1]" },
    { "", "<schedule type='chained'><schedule/><schedule type='exponential' gamma='0.5'/></schedule>", "",
      "return part0(t, total) * part1(t, total)" },
    { "", "", "weight_init='kaiming_normal(mode=fan_out, nonlinearity=relu)'",
      "nn.init.kaiming_normal_(self.fc.weight, mode=\"fan_out\", nonlinearity=\"relu\")" },
    { "", "", "weight_init='orthogonal' bias_init='constant'", "nn.init.constant_(self.fc.bias, val=0.0)" },
    { "patience='5' min_delta='0.5'", "", "", "if waited >= 5:" },
    { "patience='5' min_delta='0.5'", "", "", "(math.isnan(best) or gain > 0.5)" },
    { "monitor='accuracy'", "<metric type='accuracy' input='head' target='data.y'/>", "", "WATCHED = \"accuracy\"" },
    { "accumulate='2'", "", "", "return (batch[\"y\"] != -100).sum().item()" },
    { "drop_last='auto'", "", "", "if n > 1 and n % batch_size == 1 and norms:  # one sample has no variance" },
    { "tf32='true'", "", "", "torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True" },
    { "", "<parallel bucket_mb='3'/>", "", "bucket_cap_mb=3.0" },
    { "sample_weights='balanced'", "", "", NULL, "sample_weights=\"balanced\": an epoch has each sample once" },
    { "folds='3'", "", "", NULL,
      "folds=\"3\": all training samples train, and the data set's own other samples validate" },
    { "offload='optimizer'", "", "", NULL,
      "offload=\"optimizer\": states of the optimiser are stored with the weights" },
    { "device='cpu'", "", "", NULL, "device=\"cpu\": --device selects the device" },
    { "algorithm='direct'", "", "", NULL, "algorithm=\"direct\": PyTorch selects the algorithms of convolutions" },
    { "", "<parallel strategy='server'/>", "", NULL,
      "strategy=\"server\": each rank has all weights and states, and ranks divide the batch" },
    { "", "<parallel pipeline='2'/>", "", NULL, "pipeline=\"2\": ranks divide the batch" },
    { "", "<parallel reduce_dtype='bf16'/>", "", NULL,
      "reduce_dtype=\"bf16\": gradients are exchanged in their own type" },
    { "", "<parallel min_ranks='2'/>", "", NULL, "min_ranks=\"2\": torchrun's --max-restarts starts again" },
    { "", "", "dtype='bf16'", NULL, "dtype=\"bf16\" of fc: the node computes in the type of the graph" },
    { "", "", "device='cpu'", NULL, "device=\"cpu\" of fc: all nodes compute on one device" },
    { "weights='w.pth'", "", "", NULL, "weights=\"w.pth\": only .safetensors files are read" },
    { "", "<schedule type='cyclic' base_lr='0.01' max_lr='0.1' step_size_up='7' mode='exp_range' gamma='0.5'/>", "",
      "height *= (1.0, 2.0 ** (1 - cycle), 0.5 ** t)[2]" },
    { "", "<schedule type='cyclic' max_lr='0.1' warmup_steps='3'/>", "",
      "now = momentum(max(step - 3, 0), max(total - 3, 1))" },
    { "", "<schedule type='cyclic' max_lr='0.1' cycle_momentum='false'/>", "", "down = up" },
    { "", "<schedule type='lambda' formula='frac(step / 3)'/>", "", NULL, NULL,
      "The schedule “lambda” cannot be written for PyTorch." },
    { "",
      "<schedule type='sequential' milestones='4'><schedule/><schedule type='one_cycle'/></schedule>", "",
      "def part0(t, total):\n        return None" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = g_strdup_printf (
          "<graph xmlns='urn:gradloom:graph' version='1' name='g'><node id='data' op='dataset' source='spirals'/>"
          "<node id='fc' op='linear' out_features='4' %s/><node id='head' op='linear' out_features='2'/>"
          "<node id='loss' op='cross_entropy'/><wire from='data.x' to='fc'/><wire from='fc' to='head'/>"
          "<wire from='head' to='loss.input'/><wire from='data.y' to='loss.target'/>"
          "<train loss='loss' %s>%s</train></graph>",
          cases[i].node, cases[i].train, cases[i].schedule);
      g_autoptr (LoomGraph) graph = graph_from_text (text, NULL);
      g_autoptr (LoomFaults) faults = loom_faults_new ();
      g_autoptr (LoomPytorch) self = loom_pytorch_new (graph, "samples", faults);
      g_autofree char *line
          = cases[i].note != NULL ? g_strdup_printf ("# Not exported:\n# - %s\n", cases[i].note) : NULL;

      g_test_message ("%s %s %s", cases[i].train, cases[i].schedule, cases[i].node);
      if (cases[i].refusal != NULL)
        {
          g_assert_null (self);
          g_assert_cmpstr (loom_faults_get (faults, 0)->message, ==, cases[i].refusal);
          continue;
        }
      g_assert_nonnull (self);
      g_assert_cmpuint (loom_pytorch_n_notes (self), ==, cases[i].note != NULL ? 1 : 0);
      if (cases[i].note != NULL)
        g_assert_cmpstr (loom_pytorch_note (self, 0), ==, cases[i].note);
      g_assert_nonnull (strstr (loom_pytorch_text (self), cases[i].note != NULL ? line : cases[i].line));
    }
}

static void
test_literals (void)
{
  static const char *const quoted[][2] = { { "plain", "\"plain\"" },
                                           { "a\"b\\", "\"a\\\"b\\\\\"" },
                                           { "\n\t", "\"\\U0000000a\\U00000009\"" },
                                           { "é", "\"\\U000000e9\"" },
                                           { "\xff", "\"\\xff\"" } };

  for (guint i = 0; i < G_N_ELEMENTS (quoted); i++)
    {
      g_autofree char *text = loom_pytorch_quote (quoted[i][0]);
      g_assert_cmpstr (text, ==, quoted[i][1]);
    }
  g_autofree char *comment = loom_pytorch_comment ("a\nimport os\r\f\v\xe2\x80\xa8"
                                                   "b");
  g_assert_cmpstr (comment, ==, "a import os    b");
}

/* Python reads an encoding from a comment of the first two lines, and decodes the rest of the file by it. */
static void
test_title (void)
{
  static const char name[] = "name='coding: unicode_escape \\u000aprint(1337)'";
  g_auto (GStrv) parts = g_strsplit (blocks, "name='blocks'", 2), lines = NULL;
  g_autofree char *xml = g_strjoin (name, parts[0], parts[1], NULL);
  g_autoptr (LoomGraph) graph = graph_from_text (xml, NULL);
  g_autoptr (LoomPytorch) self = write_text (graph);

  lines = g_strsplit (loom_pytorch_text (self), "\n", -1);
  g_assert_cmpstr (lines[0], ==, "# -*- coding: utf-8 -*-");
  g_assert_null (strstr (lines[1], "1337"));
  g_assert_cmpstr (lines[2], ==, "# coding: unicode_escape \\u000aprint(1337)");
}

static void
test_formulas (void)
{
  static const struct
  {
    const char *text, *python; /* NULL: refused */
  } cases[] = {
    { "x * sigmoid(b * x)", "x * torch.sigmoid(b * x)" },
    { "-x**2 // 3 % 2", "-x ** 2 // 3 % 2" },
    { "a - (b - c)", NULL },
    { "x - (b - x)", "x - (b - x)" },
    { "(x + b) * x", "(x + b) * x" },
    { "x if x > 0 and not b < 1 else 0.5", "torch.where(torch.as_tensor(torch.logical_and(torch.as_tensor((x > 0)), "
                                           "torch.as_tensor(torch.logical_not(torch.as_tensor((b < 1)))))), x, 0.5)" },
    { "max(x, b, 0)", "torch.maximum(torch.maximum(x, b), torch.tensor(0))" },
    { "(x > 0) + 1", "((x > 0) * 1.0) + 1" },
    { "exp(x", NULL },
    { "__import__(x)", NULL },
    { "x; import os", NULL },
    { "x.b", NULL },
  };
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);

  g_hash_table_insert (names, (gpointer) "x", (gpointer) "x");
  g_hash_table_insert (names, (gpointer) "b", (gpointer) "b");
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *why = NULL, *python = loom_pytorch_formula (cases[i].text, names, &why);

      g_assert_cmpstr (python, ==, cases[i].python);
      g_assert_true ((python == NULL) == (why != NULL));
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pytorch/lines", test_lines);
  g_test_add_func ("/pytorch/classes", test_classes);
  g_test_add_func ("/pytorch/refuses", test_refuses);
  g_test_add_func ("/pytorch/train", test_train);
  g_test_add_func ("/pytorch/literals", test_literals);
  g_test_add_func ("/pytorch/class-names", test_class_names);
  g_test_add_func ("/pytorch/title", test_title);
  g_test_add_func ("/pytorch/formulas", test_formulas);
  return g_test_run ();
}
