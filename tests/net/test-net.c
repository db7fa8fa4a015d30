/* Nets: modules, arguments, repeats, shared and tied weights, wires across borders, order, ports by path. */
#include "engine/net/loom-net.h"
#include "tests/graph/graph-test.h"
#include "tests/test-program.h"

#include <string.h>

#define HEAD "<graph xmlns='urn:gradloom:graph' version='1'>"

/* A net as text: a line per node with its type and the sources of its inputs, then the weights. */
static char *
describe (const LoomNet *net)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *n = loom_net_node (net, i);

      g_string_append_printf (text, "%s %s(", n->path, n->op->name);
      for (guint k = 0, listed = 0; k < n->n_inputs; k++)
        if (n->input[k].node != G_MAXUINT)
          {
            g_autofree char *name = loom_net_port_name (net, n->input[k].node, n->input[k].output);

            g_assert_true (n->input[k].node < i || loom_net_is_weight (net, n->input + k));
            g_string_append_printf (text, "%s%s", listed++ > 0 ? ", " : "", name);
          }
      g_string_append_c (text, ')');
      for (guint k = 0; n->typed && k < 1 && k < n->n_outputs; k++)
        {
          g_autofree char *shape = loom_shape_to_attribute (&n->output[k].shape);

          g_string_append_printf (text, " %s[%s]", loom_dtype_name (n->output[k].dtype), shape);
        }
      g_string_append (text, n->typed ? "\n" : " untyped\n");
    }
  for (guint i = 0; i < loom_net_n_weights (net); i++)
    {
      const LoomNetWeight *w = loom_net_weight (net, i);
      g_autofree char *shape = loom_shape_to_attribute (&w->shape);

      g_assert_true (loom_net_weight_named (net, w->name) == w);
      g_string_append_printf (text, "%s [%s]%s\n", w->name, shape, w->frozen ? " frozen" : "");
    }
  g_assert_null (loom_net_weight_named (net, "weight"));
  return g_string_free (text, FALSE);
}

static LoomNet *
net_from_body (const char *body, LoomGraph **graph_out, LoomFaults **faults_out)
{
  g_autofree char *text = g_strconcat (HEAD, body, "</graph>", NULL);
  g_autoptr (LoomGraph) graph = graph_from_text (text, NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomNet *net = loom_net_new (graph, NULL, faults);

  if (faults_out != NULL)
    *faults_out = g_steal_pointer (&faults);
  else
    {
      g_autofree char *sentences = faults_as_text (faults);

      g_assert_cmpstr (sentences, ==, "");
    }
  if (graph_out != NULL)
    *graph_out = g_steal_pointer (&graph);
  return net;
}

static void
assert_net (const char *body, const char *expected)
{
  g_autoptr (LoomGraph) graph = NULL;
  g_autoptr (LoomNet) net = net_from_body (body, &graph, NULL);
  g_autofree char *got = describe (net);

  g_assert_cmpstr (got, ==, expected);
}

static void
test_plain (void)
{
  assert_net ("<node id='y' op='relu'/><node id='fc' op='linear' out_features='4'/>"
              "<node id='x' op='input' shape='B,3'/><wire from='x.out' to='fc.input'/><wire from='fc' to='y'/>",
              "x input() f32[B,3]\nfc linear(x) f32[B,4]\ny relu(fc) f32[B,4]\nfc.weight [4,3]\nfc.bias [4]\n");
}

#define BLOCK                                                                                                          \
  "<module name='block'><arg name='n' type='int' default='5'/><node id='x' op='module_input'/>"                        \
  "<node id='fc' op='linear' out_features='{n}' bias='false'/><node id='y' op='module_output'/>"                       \
  "<wire from='x' to='fc'/><wire from='fc' to='y'/></module>"

static void
test_modules (void)
{
  assert_net (BLOCK "<node id='x' op='input' shape='B,3'/><node id='a' module='block'/>"
                    "<node id='b' module='block' n='{3 * 2}' frozen='true'/>"
                    "<wire from='x' to='a.x'/><wire from='a.y' to='b'/>",
              "x input() f32[B,3]\na.fc linear(x) f32[B,5]\nb.fc linear(a.fc) f32[B,6]\n"
              "a.fc.weight [5,3]\nb.fc.weight [6,5] frozen\n");
}

static void
test_repeat (void)
{
  assert_net (BLOCK "<node id='x' op='input' shape='B,5'/><node id='a' module='block' repeat='2'/>"
                    "<node id='one' module='block' repeat='1'/><node id='act' op='relu' repeat='2'/>"
                    "<wire from='x' to='a'/><wire from='a' to='one'/><wire from='one' to='act'/>",
              "x input() f32[B,5]\na.0.fc linear(x) f32[B,5]\na.1.fc linear(a.0.fc) f32[B,5]\n"
              "one.0.fc linear(a.1.fc) f32[B,5]\nact.0 relu(one.0.fc) f32[B,5]\nact.1 relu(act.0) f32[B,5]\n"
              "a.0.fc.weight [5,5]\na.1.fc.weight [5,5]\none.0.fc.weight [5,5]\n");
}

static void
test_share (void)
{
  assert_net (BLOCK "<node id='x' op='input' shape='B,5'/><node id='a' module='block' repeat='2' share='true'/>"
                    "<wire from='x' to='a'/>",
              "x input() f32[B,5]\na.0.fc linear(x) f32[B,5]\na.1.fc linear(a.0.fc) f32[B,5]\na.fc.weight [5,5]\n");
}

/* The first output feeds the first input; other inputs go to every copy; other outputs are the last copy's. */
static void
test_repeat_ports (void)
{
  assert_net ("<module name='m'><node id='h' op='module_input'/><node id='c' op='module_input'/>"
              "<node id='s' op='add'/><node id='r' op='relu'/><node id='next' op='module_output'/>"
              "<node id='side' op='module_output'/><wire from='h' to='s.input'/><wire from='c' to='s.other'/>"
              "<wire from='s' to='next'/><wire from='s' to='r'/><wire from='r' to='side'/></module>"
              "<node id='x' op='input' shape='B,5'/><node id='k' op='input' shape='5'/>"
              "<node id='m' module='m' repeat='2'/><node id='end' op='add'/>"
              "<wire from='x' to='m.h'/><wire from='k' to='m.c'/><wire from='m.next' to='end.input'/>"
              "<wire from='m.side' to='end.other'/>",
              "x input() f32[B,5]\nk input() f32[5]\nm.0.s add(x, k) f32[B,5]\nm.0.r relu(m.0.s) f32[B,5]\n"
              "m.1.s add(m.0.s, k) f32[B,5]\nm.1.r relu(m.1.s) f32[B,5]\nend add(m.1.s, m.1.r) f32[B,5]\n");
}

static void
test_nesting (void)
{
  assert_net (BLOCK "<module name='pair'><arg name='inner' type='module' default='block'/><arg name='w' type='int'/>"
                    "<node id='i' op='module_input'/><node id='two' module='{inner}' n='{w}' repeat='{w // 2}'/>"
                    "<node id='o' op='module_output'/><wire from='i' to='two'/><wire from='two' to='o'/></module>"
                    "<node id='x' op='input' shape='B,4'/><node id='p' module='pair' w='4'/><wire from='x' to='p'/>",
              "x input() f32[B,4]\np.two.0.fc linear(x) f32[B,4]\np.two.1.fc linear(p.two.0.fc) f32[B,4]\n"
              "p.two.0.fc.weight [4,4]\np.two.1.fc.weight [4,4]\n");
}

static void
test_tied (void)
{
  assert_net (
      "<node id='x' op='input' shape='B,4'/><node id='w' op='parameter' shape='4,4'/>"
      "<node id='a' op='linear' out_features='4' bias='false'/>"
      "<node id='b' op='linear' out_features='4' bias='false'/><wire from='x' to='a'/><wire from='a' to='b'/>"
      "<wire from='w' to='a.weight'/><wire from='w' to='b.weight'/>",
      "x input() f32[B,4]\nw parameter() f32[4,4]\na linear(x, w) f32[B,4]\nb linear(a, w) f32[B,4]\nw [4,4]\n");
}

#define LINEAR(id, out) "<node id='" id "' op='linear' out_features='" out "' bias='false'/>"
#define WIRE(from, to)  "<wire from='" from "' to='" to "'/>"
#define X               "<node id='x' op='input' shape='B,4'/>"

/* A layer's own weight as the source of a wire: before or after its reader, through other ties, through module borders.
 */
static void
test_tied_to_layer (void)
{
  /* After, and before: only a slot is read, so nothing runs in a ring. */
  assert_net (X LINEAR ("a", "4") LINEAR ("b", "4") WIRE ("x", "a") WIRE ("a", "b") WIRE ("a.weight", "b.weight"),
              "x input() f32[B,4]\na linear(x) f32[B,4]\nb linear(a, a.weight) f32[B,4]\na.weight [4,4]\n");
  assert_net (X LINEAR ("a", "4") LINEAR ("b", "4") WIRE ("x", "a") WIRE ("a", "b") WIRE ("b.weight", "a.weight"),
              "x input() f32[B,4]\na linear(x, b.weight) f32[B,4]\nb linear(a) f32[B,4]\nb.weight [4,4]\n");
  /* A tied one leads to the weight that it is tied to. */
  assert_net (X LINEAR ("a", "4") LINEAR ("b", "4") LINEAR ("c", "4") WIRE ("x", "a") WIRE ("a", "b") WIRE ("b", "c")
                  WIRE ("b.weight", "a.weight") WIRE ("c.weight", "b.weight"),
              "x input() f32[B,4]\na linear(x, c.weight) f32[B,4]\nb linear(a, c.weight) f32[B,4]\n"
              "c linear(b) f32[B,4]\nc.weight [4,4]\n");
  /* Into any input; such a node needs the type, so it comes after. */
  assert_net (X "<node id='t' op='transpose' dim0='0' dim1='1'/>" LINEAR ("e", "2") LINEAR ("d", "4") WIRE ("x", "e")
                  WIRE ("e", "d") WIRE ("e.weight", "t") WIRE ("t", "d.weight"),
              "x input() f32[B,4]\ne linear(x) f32[B,2]\nt transpose(e.weight) f32[4,2]\nd linear(e, t) f32[B,4]\n"
              "e.weight [2,4]\n");
  /* A copy by its number, the last one without, and modules on the way in and out. */
  assert_net (
      "<module name='m'><node id='x' op='module_input'/><node id='f' op='linear' out_features='4' bias='false' "
      "repeat='2'/><node id='y' op='module_output'/><node id='w' op='module_output'/>" WIRE ("x", "f") WIRE ("f", "y")
          WIRE ("f.0.weight", "w") "</module>" X "<node id='m' module='m' repeat='2'/>" LINEAR ("a", "4")
              LINEAR ("b", "4") LINEAR ("c", "4") WIRE ("x", "m") WIRE ("x", "a") WIRE ("x", "b") WIRE ("x", "c")
                  WIRE ("m.0.f.1.weight", "a.weight") WIRE ("m.f.weight", "b.weight") WIRE ("m.w", "c.weight"),
      "x input() f32[B,4]\nm.0.f.0 linear(x) f32[B,4]\nm.0.f.1 linear(m.0.f.0) f32[B,4]\n"
      "m.1.f.0 linear(m.0.f.1) f32[B,4]\nm.1.f.1 linear(m.1.f.0) f32[B,4]\na linear(x, m.0.f.1.weight) f32[B,4]\n"
      "b linear(x, m.1.f.1.weight) f32[B,4]\nc linear(x, m.1.f.0.weight) f32[B,4]\n"
      "m.0.f.0.weight [4,4]\nm.0.f.1.weight [4,4]\nm.1.f.0.weight [4,4]\nm.1.f.1.weight [4,4]\n");
  /* Buffers too. */
  assert_net ("<node id='x' op='input' shape='B,2,3,3'/><node id='bn' op='batch_norm2d' affine='false'/>"
              "<node id='r' op='neg'/>" WIRE ("x", "bn") WIRE ("bn.running_mean", "r"),
              "x input() f32[B,2,3,3]\nbn batch_norm2d(x) f32[B,2,3,3]\nr neg(bn.running_mean) f32[2]\n"
              "bn.running_mean [2]\nbn.running_var [2]\nbn.num_batches_tracked []\n");
}

/* Wires of different weights of one module may follow each other without being a ring. */
static void
test_tied_by_turns (void)
{
  assert_net ("<module name='m'><node id='x' op='module_input'/><node id='w' op='module_input'/>" LINEAR ("a", "4")
                  LINEAR ("b", "4") "<node id='y' op='module_output'/>" WIRE ("x", "a") WIRE ("a", "b") WIRE ("b", "y")
                      WIRE ("w", "a.weight") "</module>" X "<node id='m' module='m'/>" LINEAR ("h", "4")
                          WIRE ("x", "m.x") WIRE ("m.b.weight", "m.w") WIRE ("m", "h") WIRE ("m.a.weight", "h.weight"),
              "x input() f32[B,4]\nm.a linear(x, m.b.weight) f32[B,4]\nm.b linear(m.a) f32[B,4]\n"
              "h linear(m.b, m.b.weight) f32[B,4]\nm.b.weight [4,4]\n");
}

/* Studio queries a weight's type by the node, others by its path. */
static void
test_weight_as_port (void)
{
  g_autoptr (LoomGraph) graph = NULL;
  g_autoptr (LoomNet) net = net_from_body (X LINEAR ("a", "3") WIRE ("x", "a"), &graph, NULL);
  guint64 serial = loom_element_serial (loom_scope_find_node (loom_graph_root (graph), "a"));
  const LoomType *type = loom_net_type_of (net, "", serial, "weight");
  g_autoptr (GError) error = NULL;
  LoomNetSource source;
  g_autofree char *name = NULL, *shape = NULL;

  g_assert_nonnull (type);
  shape = loom_shape_to_attribute (&type->shape);
  g_assert_cmpstr (shape, ==, "3,4");
  g_assert_null (loom_net_type_of (net, "", serial, "bias"));
  source.node = (guint)loom_net_find_port (net, "a.weight", &source.output, &error);
  g_assert_no_error (error);
  g_assert_true (loom_net_is_weight (net, &source));
  name = loom_net_port_name (net, source.node, source.output);
  g_assert_cmpstr (name, ==, "a.weight");
  g_assert_cmpint (loom_net_find_port (net, "a.bias", NULL, &error), ==, -1);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
}

/* An integer may be divided with / if there is no remainder. */
static void
test_integers (void)
{
  assert_net ("<module name='m'><arg name='c' type='int'/><node id='x' op='module_input'/>"
              "<node id='f' op='linear' out_features='{c / 2}' bias='false' repeat='{c / 4}'/>"
              "<node id='y' op='module_output'/>" WIRE ("x", "f")
                  WIRE ("f", "y") "</module>" X "<node id='m' module='m' c='{16 / 2}'/>" WIRE ("x", "m"),
              "x input() f32[B,4]\nm.f.0 linear(x) f32[B,4]\nm.f.1 linear(m.f.0) f32[B,4]\nm.f.0.weight [4,4]\n"
              "m.f.1.weight [4,4]\n");
}

static void
test_variadic (void)
{
  assert_net ("<node id='x' op='input' shape='B,4'/><node id='y' op='input' shape='B,2'/>"
              "<node id='j' op='concat' dim='1'/><wire from='y' to='j.1'/><wire from='x' to='j.0'/>",
              "x input() f32[B,4]\ny input() f32[B,2]\nj concat(x, y) f32[B,6]\n");
}

static void
test_ports (void)
{
  g_autoptr (LoomGraph) graph = NULL;
  g_autoptr (LoomNet) net
      = net_from_body (BLOCK "<node id='x' op='input' shape='B,5'/><node id='a' module='block' repeat='2'/>"
                             "<wire from='x' to='a'/>",
                       &graph, NULL);
  static const struct
  {
    const char *port, *node;
  } cases[] = { { "x", "x" },        { "x.out", "x" },          { "a", "a.1.fc" },      { "a.y", "a.1.fc" },
                { "a.0", "a.0.fc" }, { "a.0.y", "a.0.fc" },     { "a.0.fc", "a.0.fc" }, { "a.1.x", "a.0.fc" },
                { "a.0.x", "x" },    { "a.1.fc.out", "a.1.fc" } };
  static const char *const wrong[] = { "z", "x.z", "a.2", "a.0.z", "a.x", "" };
  const LoomElement *module = loom_graph_find_module (graph, "block");
  guint64 inner = loom_element_serial (loom_scope_find_node (module, "fc"));
  guint64 border = loom_element_serial (loom_scope_find_node (module, "x"));
  guint64 outer = loom_element_serial (loom_scope_find_node (loom_graph_root (graph), "a"));
  g_autofree char *symbols = loom_net_symbols (net);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      guint output;
      int node = loom_net_find_port (net, cases[i].port, &output, &error);

      g_assert_no_error (error);
      g_assert_cmpstr (loom_net_node (net, node)->path, ==, cases[i].node);
      g_assert_cmpuint (output, ==, 0);
    }
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_cmpint (loom_net_find_port (net, wrong[i], NULL, &error), ==, -1);
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
      g_test_message ("%s", error->message);
    }
  g_assert_cmpint (loom_net_find (net, "a.1.fc"), >=, 0);
  g_assert_cmpint (loom_net_find (net, "a"), ==, -1);
  g_assert_cmpstr (symbols, ==, "B");
  g_assert_nonnull (loom_net_type_of (net, "a.0", inner, NULL));
  g_assert_nonnull (loom_net_type_of (net, "a", inner, "out"));
  g_assert_nonnull (loom_net_type_of (net, "a.1", border, NULL));
  g_assert_nonnull (loom_net_type_of (net, NULL, outer, NULL));
  g_assert_nonnull (loom_net_type_of (net, "", outer, "y"));
  g_assert_null (loom_net_type_of (net, "", outer, "z"));
  g_assert_null (loom_net_type_of (net, "", inner, NULL));
}

/* A node in an instance whose path is longer than any fixed buffer would be. */
static void
test_long_path (void)
{
  g_autofree char *id = g_strnfill (700, 'a');
  g_autofree char *body = g_strdup_printf (BLOCK "<node id='x' op='input' shape='B,5'/><node id='%s' module='block'/>"
                                                 "<wire from='x' to='%s'/>",
                                           id, id);
  g_autoptr (LoomGraph) graph = NULL;
  g_autoptr (LoomNet) net = net_from_body (body, &graph, NULL);
  const LoomElement *module = loom_graph_find_module (graph, "block");

  g_assert_nonnull (loom_net_type_of (net, id, loom_element_serial (loom_scope_find_node (module, "fc")), NULL));
}

static void
test_binding (void)
{
  g_autofree char *text
      = g_strconcat (HEAD, "<node id='x' op='input' shape='B,3'/>",
                     "<node id='fc' op='linear' out_features='4'/><wire from='x' to='fc'/></graph>", NULL);
  g_autoptr (LoomGraph) graph = graph_from_text (text, NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomBinding binding = { { 0 } };
  g_autoptr (LoomNet) net = NULL;
  g_autofree char *got = NULL;

  binding.value['B' - 'A'] = 8;
  net = loom_net_new (graph, &binding, faults);
  got = describe (net);
  g_assert_cmpstr (got, ==, "x input() f32[8,3]\nfc linear(x) f32[8,4]\nfc.weight [4,3]\nfc.bias [4]\n");
  g_assert_cmpfloat (loom_net_node (net, 1)->cost.parameters, ==, 16);
  g_assert_cmpfloat (loom_net_node (net, 1)->cost.bytes, ==, 8 * 4 * 4);
}

/* One mistake, one fault: its consequences are untyped and silent, and copies do not repeat it. */
static void
test_one_sentence (void)
{
  g_autoptr (LoomGraph) graph = NULL;
  g_autoptr (LoomFaults) faults = NULL;
  g_autoptr (LoomNet) net
      = net_from_body (BLOCK "<node id='x' op='input' shape='B,5'/><node id='a' module='block' n='-1' repeat='50'/>"
                             "<node id='r' op='relu'/><wire from='x' to='a'/><wire from='a' to='r'/>",
                       &graph, &faults);

  g_assert_cmpuint (loom_faults_count (faults), ==, 1);
  g_assert_cmpstr (loom_faults_get (faults, 0)->node, ==, "a.0.fc");
  g_assert_false (loom_net_node (net, loom_net_find (net, "r"))->typed);
}

static void
test_limits (void)
{
  g_autoptr (LoomGraph) graph = NULL;
  g_autoptr (LoomFaults) faults = NULL;
  g_autoptr (LoomNet) net = NULL;
  g_autofree char *sentences = NULL;

  net = net_from_body (BLOCK
                       "<module name='m'><node id='x' op='module_input'/><node id='b' module='block' repeat='10000'/>"
                       "<wire from='x' to='b'/></module><node id='x' op='input' shape='B,5'/>"
                       "<node id='m' module='m' repeat='200'/><wire from='x' to='m'/>",
                       &graph, &faults);
  sentences = faults_as_text (faults);
  g_assert_nonnull (strstr (sentences, "200,000"));
}

/* 2,000 nodes: the work of Studio at every edit. Printed, not tested: machines differ. */
static void
test_speed (void)
{
  g_autoptr (GString) text = g_string_new (HEAD "<node id='x' op='input' shape='B,64'/>");
  g_autoptr (LoomGraph) graph = NULL;
  double best = G_MAXDOUBLE;

  for (int i = 0; i < 2000; i++)
    g_string_append_printf (text,
                            i % 2 ? "<node id='n%d' op='relu'/>" : "<node id='n%d' op='linear' out_features='64'/>", i);
  for (int i = 0; i < 2000; i++)
    g_string_append_printf (text, "<wire from='%c%.0d%s' to='n%d'/>", i ? 'n' : 'x', i > 1 ? i - 1 : 0,
                            i == 1 ? "0" : "", i);
  g_string_append (text, "</graph>");
  graph = graph_from_text (text->str, NULL);
  for (int k = 0; k < 10; k++)
    {
      g_autoptr (LoomFaults) faults = loom_faults_new ();
      gint64 start = g_get_monotonic_time ();
      LoomNet *net = loom_net_new (graph, NULL, faults);

      best = MIN (best, (double)(g_get_monotonic_time () - start) / 1000);
      g_assert_cmpuint (loom_faults_length (faults), ==, 0);
      g_assert_cmpuint (loom_net_n_nodes (net), ==, 2001);
      loom_net_free (net);
    }
  g_test_message ("a net of 2,001 nodes and 2,000 wires: %.2f ms (best of 10)", best);
}

/* A net of n nodes of unknown operators, of one word or of a word each: all have the hint. */
static void
check_unknown (guint n, gboolean one_word)
{
  g_autoptr (GString) text = g_string_new (HEAD);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = NULL;

  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "<node id='n%u' op='lineer%u'/>", i, one_word ? 0 : i);
  g_string_append (text, "</graph>");
  graph = graph_from_text (text->str, NULL);
  loom_net_free (loom_net_new (graph, NULL, faults));
  g_assert_cmpuint (loom_faults_count (faults), ==, n);
  for (guint i = 0; i < n; i += one_word ? n - 1 : n)
    {
      g_assert_cmpuint (loom_faults_get (faults, i)->code, ==, LOOM_ERROR_UNKNOWN_OP);
      g_assert_cmpstr (loom_faults_get (faults, i)->fix, ==, loom_faults_get (faults, 0)->fix);
    }
}

static void
test_unknown_words (void)
{
  check_unknown (1000, TRUE);
  check_unknown (1000, FALSE);
}

/* The outputs that a node reads, by path: names with commas. */
static char *
reads (const LoomNet *net, const char *path)
{
  const LoomNetNode *n = loom_net_node (net, (guint)loom_net_find (net, path));
  GString *s = g_string_new (NULL);

  for (guint k = 0; k < n->n_inputs; k++)
    if (n->input[k].node != G_MAXUINT)
      {
        g_autofree char *name = loom_net_port_name (net, n->input[k].node, n->input[k].output);

        g_string_append_printf (s, "%s%s", s->len > 0 ? ", " : "", name);
      }
  return g_string_free (s, FALSE);
}

static void
assert_reads (const LoomNet *net, const char *path, const char *expected)
{
  g_autofree char *now = reads (net, path);

  g_assert_cmpstr (now, ==, expected);
}

/* A muted node is replaced by its first input of the output's type; a module by its first wired input. */
static void
test_muted (void)
{
  static const char block[] = "<module name='block'><node id='x' op='module_input'/>"
                              "<node id='fc' op='linear' out_features='8'/><node id='y' op='module_output'/>"
                              "<wire from='x' to='fc'/><wire from='fc' to='y'/></module>";
  g_autoptr (LoomGraph) graph = NULL;
  g_autoptr (LoomFaults) faults = NULL;
  g_autofree char *body
      = g_strconcat (block,
                     "<node id='x' op='input' shape='B,8'/><node id='w' op='input' shape='8,8'/>"
                     "<node id='act' op='relu' mute='true'/><node id='fc' op='linear' out_features='8' mute='true'/>"
                     "<node id='mm' op='matmul' mute='true'/><node id='b' module='block' repeat='3' mute='true'/>"
                     "<node id='one' op='tanh'/><node id='two' op='tanh'/><node id='three' op='tanh'/>"
                     "<wire from='x' to='act'/><wire from='act' to='fc'/><wire from='fc' to='one'/>"
                     "<wire from='w' to='mm.input'/><wire from='w' to='mm.other'/><wire from='mm' to='two'/>"
                     "<wire from='one' to='b'/><wire from='b' to='three'/>",
                     NULL);
  g_autoptr (LoomNet) net = net_from_body (body, &graph, NULL);
  guint output;
  int found;

  assert_reads (net, "one", "x");
  assert_reads (net, "two", "w");
  assert_reads (net, "three", "one");
  g_assert_cmpfloat (loom_net_node (net, (guint)loom_net_find (net, "fc"))->cost.flops, ==, 0);
  g_assert_cmpfloat (loom_net_node (net, (guint)loom_net_find (net, "b.1.fc"))->cost.flops, ==, 0);
  found = loom_net_find_port (net, "fc", &output, NULL);
  g_assert_cmpstr (loom_net_node (net, (guint)found)->path, ==, "x");
  found = loom_net_find_port (net, "b", &output, NULL);
  g_assert_cmpstr (loom_net_node (net, (guint)found)->path, ==, "one");
}

static void
assert_muted_fault (const char *body, const char *words)
{
  g_autoptr (LoomGraph) graph = NULL;
  g_autoptr (LoomFaults) faults = NULL;
  g_autoptr (LoomNet) net = net_from_body (body, &graph, &faults);
  g_autofree char *sentences = faults_as_text (faults);

  g_assert_cmpuint (loom_faults_count (faults), ==, 1);
  g_assert_nonnull (strstr (sentences, words));
  g_assert_cmpstr (loom_faults_get (faults, 0)->fix_attribute, ==, "mute");
}

static void
test_muted_faults (void)
{
  assert_muted_fault ("<node id='x' op='input' shape='B,8'/><node id='fc' op='linear' out_features='4' mute='true'/>"
                      "<node id='act' op='relu'/><wire from='x' to='fc'/><wire from='fc' to='act'/>",
                      "“fc” is muted, but none of its inputs has the type of its output, f32 B × 4");
  assert_muted_fault ("<module name='m'><node id='x' op='module_input'/><node id='fc' op='linear' out_features='4'/>"
                      "<node id='y' op='module_output'/><wire from='x' to='fc'/><wire from='fc' to='y'/></module>"
                      "<node id='x' op='input' shape='B,8'/><node id='b' module='m' mute='true'/>"
                      "<node id='act' op='relu'/><wire from='x' to='b'/><wire from='b' to='act'/>",
                      "“b” is muted, but none of its inputs has the type of its output, f32 B × 4");
  assert_muted_fault ("<node id='x' op='input' shape='B,8' mute='true'/><node id='act' op='relu'/>"
                      "<wire from='x' to='act'/>",
                      "“x” is muted, but none of its inputs has the type of its output, f32 B × 8");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/net/plain", test_plain);
  g_test_add_func ("/net/modules", test_modules);
  g_test_add_func ("/net/repeat", test_repeat);
  g_test_add_func ("/net/share", test_share);
  g_test_add_func ("/net/repeat-ports", test_repeat_ports);
  g_test_add_func ("/net/nesting", test_nesting);
  g_test_add_func ("/net/tied", test_tied);
  g_test_add_func ("/net/tied-to-layer", test_tied_to_layer);
  g_test_add_func ("/net/tied-by-turns", test_tied_by_turns);
  g_test_add_func ("/net/weight-as-port", test_weight_as_port);
  g_test_add_func ("/net/integers", test_integers);
  g_test_add_func ("/net/variadic", test_variadic);
  g_test_add_func ("/net/ports", test_ports);
  g_test_add_func ("/net/long-path", test_long_path);
  g_test_add_func ("/net/binding", test_binding);
  g_test_add_func ("/net/one-sentence", test_one_sentence);
  g_test_add_func ("/net/limits", test_limits);
  g_test_add_func ("/net/speed", test_speed);
  g_test_add_func ("/net/muted", test_muted);
  g_test_add_func ("/net/muted-faults", test_muted_faults);
  g_test_add_func ("/net/unknown-words", test_unknown_words);
  return g_test_run ();
}
