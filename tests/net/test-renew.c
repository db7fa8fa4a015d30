/* A net that is renewed after an edit is equal to a new one: random edits of every kind that a graph has, on examples
 * and on a graph with what is hard (repeats, modules, mutes, ties, stages, faults). */
#include "engine/net/loom-net.h"
#include "engine/ops/loom-context.h"
#include "tests/graph/graph-test.h"
#include "tests/test-program.h"

#include <string.h>

#define EDITS    1000 /* for each graph */
#define MAX_KEPT 12   /* edits that can be taken back */

static const char *const hard
    = "<graph xmlns='urn:gradloom:graph' version='1' name='hard'>"
      "<module name='block'><arg name='n' type='int' default='4'/><node id='x' op='module_input'/>"
      "<node id='fc' op='linear' out_features='{n}'/><node id='act' op='relu'/><node id='y' op='module_output'/>"
      "<wire from='x' to='fc'/><wire from='fc' to='act'/><wire from='act' to='y'/></module>"
      "<node id='data' op='dataset' source='spirals'/><node id='a' op='linear' out_features='4'/>"
      "<node id='b' op='relu'/><node id='c' op='linear' out_features='4' repeat='2'/><node id='d' op='add'/>"
      "<node id='block' module='block' n='4'/><node id='e' op='tanh' mute='true'/><node id='cat' op='concat'/>"
      "<node id='s' op='split' sections='2'/><node id='f' op='linear' out_features='4' stage='1'/>"
      "<node id='g' op='sigmoid'/><node id='h' op='linear' out_features='2'/><node id='loss' op='cross_entropy'/>"
      "<wire from='data.x' to='a'/><wire from='a' to='b'/><wire from='b' to='c'/><wire from='c' to='d.input'/>"
      "<wire from='b' to='d.other'/><wire from='d' to='e'/><wire from='e' to='cat.0'/><wire from='d' to='cat.1'/>"
      "<wire from='cat' to='s'/><wire from='s.0' to='f'/><wire from='f' to='g'/><wire from='g' to='block'/>"
      "<wire from='block' to='h'/><wire from='h' to='loss.input'/><wire from='data.y' to='loss.target'/>"
      "<train loss='loss' optimizer='adam' lr='0.001' batch_size='8' epochs='1'/></graph>";

/* ---- comparing ------------------------------------------------------------- */

static void
assert_same_faults (const LoomFaults *a, const LoomFaults *b)
{
  g_autofree char *one = faults_as_text (a), *two = faults_as_text (b);

  g_assert_cmpstr (one, ==, two);
  g_assert_cmpuint (loom_faults_length (a), ==, loom_faults_length (b));
  for (guint i = 0; i < loom_faults_length (a); i++)
    {
      const LoomFault *p = loom_faults_get (a, i), *q = loom_faults_get (b, i);

      g_assert_cmpint (p->code, ==, q->code);
      g_assert_cmpint (p->line, ==, q->line);
      g_assert_cmpstr (p->node, ==, q->node);
      g_assert_cmpstr (p->port, ==, q->port);
      g_assert_cmpstr (p->fix_attribute, ==, q->fix_attribute);
      g_assert_cmpstr (p->fix_value, ==, q->fix_value);
      g_assert_true (p->is_warning == q->is_warning && p->is_todo == q->is_todo);
    }
}

static void
assert_same_type (const LoomType *a, const LoomType *b)
{
  g_autofree char *one = loom_shape_to_string (&a->shape), *two = loom_shape_to_string (&b->shape);

  g_assert_cmpint (a->dtype, ==, b->dtype);
  g_assert_cmpstr (one, ==, two);
}

static void
assert_same_infer (const LoomInfer *a, const LoomInfer *b)
{
  g_assert_true (a->specs == b->specs && a->has_fault == b->has_fault && a->own_symbol == b->own_symbol);
  for (guint i = 0; a->specs != NULL && a->specs[i].name != NULL; i++)
    {
      g_assert_cmpstr (a->params[i].text, ==, b->params[i].text);
      g_assert_true (a->params[i].is_good == b->params[i].is_good && a->params[i].is_set == b->params[i].is_set);
    }
  for (guint i = 0; i < a->n_inputs; i++)
    {
      g_assert_true ((a->input[i] == NULL) == (b->input[i] == NULL));
      if (a->input[i] != NULL)
        assert_same_type (a->input[i], b->input[i]);
    }
  g_assert_cmpuint (a->n_declared, ==, b->n_declared);
  for (guint i = 0; i < a->n_declared; i++)
    {
      g_assert_cmpstr (a->declared[i].full_name, ==, b->declared[i].full_name);
      g_assert_cmpuint (a->declared[i].weight, ==, b->declared[i].weight);
      g_assert_cmpint (a->declared[i].input, ==, b->declared[i].input);
    }
}

static void
assert_same_node (const LoomNet *first, const LoomNet *second, guint i)
{
  const LoomNetNode *a = loom_net_node (first, i), *b = loom_net_node (second, i);

  g_assert_cmpstr (a->path, ==, b->path);
  g_assert_true (a->op == b->op && a->element == b->element && a->serial == b->serial && a->line == b->line);
  g_assert_cmpstr (a->device, ==, b->device);
  g_assert_cmpstr (a->summary, ==, b->summary);
  g_assert_true (a->stage == b->stage && a->loop == b->loop && a->own_symbol == b->own_symbol);
  g_assert_true (a->typed == b->typed && a->muted == b->muted && a->outputs_dynamic == b->outputs_dynamic);
  g_assert_true (a->n_inputs == b->n_inputs && a->n_outputs == b->n_outputs);
  g_assert_cmpuint (loom_op_count_ports (a->input_spec), ==, loom_op_count_ports (b->input_spec));
  for (guint k = 0; k < loom_op_count_ports (a->input_spec); k++)
    g_assert_cmpstr (a->input_spec[k].name, ==, b->input_spec[k].name);
  g_assert_true (a->cost.flops == b->cost.flops && a->cost.bytes == b->cost.bytes
                 && a->cost.parameters == b->cost.parameters);
  for (guint k = 0; k < a->n_inputs; k++)
    {
      g_assert_cmpuint (a->input[k].node, ==, b->input[k].node);
      g_assert_cmpuint (a->input[k].output, ==, b->input[k].output);
    }
  for (guint k = 0; k < a->n_outputs; k++)
    {
      g_assert_cmpstr (a->output_spec[k].name, ==, b->output_spec[k].name);
      if (a->typed)
        assert_same_type (&a->output[k], &b->output[k]);
    }
  assert_same_infer (loom_net_infer (first, i), loom_net_infer (second, i));
  g_assert_cmpint (loom_net_find (first, b->path), ==, loom_net_find (second, b->path));
}

static void
assert_same_set (GHashTable *a, GHashTable *b)
{
  GHashTableIter iter;
  gpointer key, value;

  g_assert_cmpuint (g_hash_table_size (a), ==, g_hash_table_size (b));
  g_hash_table_iter_init (&iter, a);
  while (g_hash_table_iter_next (&iter, &key, &value))
    g_assert_true (g_hash_table_contains (b, key) && g_hash_table_lookup (b, key) == value);
}

static void
assert_same_sources (const LoomGraph *graph, const LoomNet *a, const LoomNet *b)
{
  const LoomElement *root = loom_graph_root (graph);

  for (guint i = 0; i < loom_element_n_children (root); i++)
    {
      const guint64 serial = loom_element_serial (loom_element_child (root, i));
      LoomNetSource p = { 0 }, q = { 0 };
      const gboolean found = loom_net_source_of (a, NULL, serial, NULL, &p);

      g_assert_true (found == loom_net_source_of (b, NULL, serial, NULL, &q));
      if (found)
        g_assert_true (p.node == q.node && p.output == q.output);
    }
}

static void
assert_same_net (const LoomGraph *graph, const LoomNet *a, const LoomNet *b)
{
  g_assert_cmpuint (loom_net_n_nodes (a), ==, loom_net_n_nodes (b));
  for (guint i = 0; i < loom_net_n_nodes (a); i++)
    assert_same_node (a, b, i);
  g_assert_cmpuint (loom_net_n_weights (a), ==, loom_net_n_weights (b));
  for (guint i = 0; i < loom_net_n_weights (a); i++)
    {
      const LoomNetWeight *p = loom_net_weight (a, i), *q = loom_net_weight (b, i);

      g_assert_cmpstr (p->name, ==, q->name);
      g_assert_true (loom_shape_equal (&p->shape, &q->shape) && p->node == q->node && p->frozen == q->frozen
                     && p->is_buffer == q->is_buffer && p->dtype == q->dtype && p->split_count == q->split_count);
    }
  assert_same_set (loom_net_recomputed (a), loom_net_recomputed (b));
  assert_same_set (loom_net_dtypes (a), loom_net_dtypes (b));
  assert_same_sources (graph, a, b);
}

/* ---- edits -------------------------------------------------------------------- */

typedef struct
{
  LoomGraph *graph;
  GRand *rand;
  GPtrArray *inverses;
} Hand;

static guint
below (Hand *h, guint n)
{
  return (guint)g_rand_int_range (h->rand, 0, (gint32)n);
}

static void
apply (Hand *h, LoomEdit *edit)
{
  g_ptr_array_add (h->inverses, loom_graph_apply (h->graph, edit));
}

static LoomElement *
some_child (Hand *h, const LoomElement *scope, LoomTag tag)
{
  g_autoptr (GPtrArray) found = g_ptr_array_new ();

  for (guint i = 0; i < loom_element_n_children (scope); i++)
    if (loom_element_tag (loom_element_child (scope, i)) == tag)
      g_ptr_array_add (found, loom_element_child (scope, i));
  return found->len > 0 ? found->pdata[below (h, found->len)] : NULL;
}

static const LoomElement *
some_scope (Hand *h)
{
  const LoomElement *root = loom_graph_root (h->graph), *module = some_child (h, root, LOOM_TAG_MODULE);

  return module != NULL && below (h, 6) == 0 ? module : root;
}

static const char *
some_id (Hand *h, const LoomElement *scope)
{
  const LoomElement *node = some_child (h, scope, LOOM_TAG_NODE);
  const char *id = node != NULL ? loom_element_get (node, "id") : NULL;

  return id != NULL ? id : "nothing";
}

static char *
some_end (Hand *h, const LoomElement *scope, gboolean is_from)
{
  static const char *const ports[] = { "", "", "", "", ".0", ".1", ".input", ".other", ".x", ".weight", ".wrong" };

  (void)is_from;
  return g_strconcat (some_id (h, scope), ports[below (h, G_N_ELEMENTS (ports))], NULL);
}

static void
set_value (Hand *h, const LoomElement *scope)
{
  static const char *const names[] = { "mute",  "frozen",       "repeat", "device", "stage", "dtype", "recompute",
                                       "title", "out_features", "bias",   "dim",    "share", "wrong", "op" };
  static const char *const values[]
      = { "4",    "4",    "8",    "2",      "1",   "0",    "-1",  "true",    "true", "false", "cpu",
          "bf16", "none", "relu", "linear", "add", "scan", "{n}", "{2 + 2}", "",     NULL };
  const LoomElement *node = some_child (h, scope, LOOM_TAG_NODE);
  const char *name = names[below (h, G_N_ELEMENTS (names))];

  if (node == NULL)
    return;
  if (below (h, 2) == 0 && loom_element_n_attributes (node) > 1)
    loom_element_attribute (node, 1 + below (h, loom_element_n_attributes (node) - 1), &name, NULL);
  apply (h, loom_edit_set (node, name, values[below (h, G_N_ELEMENTS (values))]));
}

/* With the ends of its wires, or without. */
static void
rename_node (Hand *h, const LoomElement *scope)
{
  const LoomElement *node = some_child (h, scope, LOOM_TAG_NODE);
  const char *id = node != NULL ? loom_element_get (node, "id") : NULL;
  g_autofree char *old = g_strdup (id), *other = NULL;

  if (id == NULL)
    return;
  other = below (h, 8) == 0 ? g_strdup (some_id (h, scope)) : g_strdup_printf ("n%u", below (h, 1000));
  apply (h, loom_edit_set (node, "id", other));
  for (guint i = 0; below (h, 4) > 0 && i < loom_element_n_children (scope); i++)
    {
      const LoomElement *wire = loom_element_child (scope, i);

      for (guint k = 0; loom_element_tag (wire) == LOOM_TAG_WIRE && k < 2; k++)
        {
          const char *end = loom_element_get (wire, k == 0 ? "from" : "to");
          g_autofree char *to = NULL;

          if (end == NULL || !g_str_has_prefix (end, old) || (end[strlen (old)] != '\0' && end[strlen (old)] != '.'))
            continue;
          to = g_strconcat (other, end + strlen (old), NULL);
          apply (h, loom_edit_set (wire, k == 0 ? "from" : "to", to));
        }
    }
}

static void
remove_some (Hand *h, const LoomElement *scope)
{
  const LoomElement *e = some_child (h, scope, below (h, 3) == 0 ? LOOM_TAG_NODE : LOOM_TAG_WIRE);
  const char *id = e != NULL ? loom_element_get (e, "id") : NULL;

  /* Mostly with its wires, as in an editor. */
  for (guint i = loom_element_n_children (scope); id != NULL && below (h, 40) > 0 && i-- > 0;)
    {
      const LoomElement *wire = loom_element_child (scope, i);
      g_autofree char *from = NULL, *to = NULL;

      if (loom_element_tag (wire) == LOOM_TAG_WIRE
          && ((loom_element_get (wire, "from") != NULL && loom_end_split (loom_element_get (wire, "from"), &from, NULL)
               && g_str_equal (from, id))
              || (loom_element_get (wire, "to") != NULL && loom_end_split (loom_element_get (wire, "to"), &to, NULL)
                  && g_str_equal (to, id))))
        apply (h, loom_edit_remove (wire));
    }
  if (e != NULL)
    apply (h, loom_edit_remove (e));
}

static void
insert_wire (Hand *h, const LoomElement *scope)
{
  g_autofree char *from = some_end (h, scope, TRUE), *to = some_end (h, scope, FALSE);

  apply (h, loom_edit_insert (scope,
                              below (h, 2) == 0 ? loom_element_place_for (scope, LOOM_TAG_WIRE)
                                                : below (h, loom_element_n_children (scope) + 1),
                              loom_element_new (LOOM_TAG_WIRE, "from", from, "to", to, NULL)));
}

static void
move_wire (Hand *h, const LoomElement *scope)
{
  const LoomElement *wire = some_child (h, scope, LOOM_TAG_WIRE);
  g_autofree char *end = some_end (h, scope, TRUE);

  if (wire != NULL)
    apply (h, loom_edit_set (wire, below (h, 2) == 0 ? "from" : "to", end));
}

static void
insert_node (Hand *h, const LoomElement *scope)
{
  static const char *const ops[] = { "relu",    "linear",    "add",    "concat", "input",       "split",
                                     "nonzero", "parameter", "assign", "scan",   "module_input" };
  g_autofree char *id = g_strdup_printf ("new%u", below (h, 1000));
  LoomElement *e = loom_element_new (LOOM_TAG_NODE, "id", id, "op", ops[below (h, G_N_ELEMENTS (ops))], NULL);

  if (below (h, 2) == 0)
    loom_element_set_detached (e, "out_features", "4");
  apply (h, loom_edit_insert (scope,
                              below (h, 2) == 0 ? loom_element_place_for (scope, LOOM_TAG_NODE)
                                                : below (h, loom_element_n_children (scope) + 1),
                              e));
}

static void
set_training (Hand *h, const LoomElement *scope)
{
  const LoomElement *train = loom_element_find (loom_graph_root (h->graph), LOOM_TAG_TRAIN);

  if (train != NULL)
    apply (h, loom_edit_set (train, "lr", below (h, 2) == 0 ? "0.1" : "0.2"));
}

static void
take_back (Hand *h, const LoomElement *scope)
{
  for (guint n = 1 + below (h, 4); n > 0 && h->inverses->len > 0; n--)
    loom_edit_free (loom_graph_apply (h->graph, g_ptr_array_steal_index (h->inverses, h->inverses->len - 1)));
}

static void
edit (Hand *h)
{
  static void (*const edits[]) (Hand * h, const LoomElement *scope)
      = { set_value, set_value, rename_node, remove_some, insert_wire, move_wire, insert_node, set_training };
  const LoomElement *scope = some_scope (h);

  /* Back at once for the most part, so that the graph stays one that computes. */
  if (h->inverses->len > MAX_KEPT || below (h, 2) == 0)
    for (guint n = h->inverses->len > MAX_KEPT ? MAX_KEPT : 1; n > 0; n--)
      take_back (h, scope);
  else
    edits[below (h, G_N_ELEMENTS (edits))](h, scope);
}

/* ---- tests ---------------------------------------------------------------------- */

/* A bound net is that of the graph with these sizes, also if it is made of one with others. */
static void
assert_binds (LoomGraph *graph, LoomNet *net)
{
  g_autoptr (LoomNet) last = NULL;

  for (guint k = 0; k < 3; k++)
    {
      const LoomBinding sizes = { .value['B' - 'A'] = k + 1, .value['T' - 'A'] = 4 + k, .value['H' - 'A'] = 32 };
      g_autoptr (LoomFaults) faults = loom_faults_new (), expected = loom_faults_new ();
      g_autoptr (LoomNet) whole = loom_net_new (graph, &sizes, expected);
      LoomNet *bound = loom_net_bind (last != NULL ? last : net, graph, &sizes, faults);

      assert_same_faults (faults, expected);
      assert_same_net (graph, bound, whole);
      g_clear_pointer (&last, loom_net_free);
      last = bound;
    }
}

/* Returns the number of nodes that were typed, and in *all that of the nodes of all versions. */
static guint
compare_edits (LoomGraph *graph, guint n_edits, guint32 seed, guint *all, guint *partly)
{
  Hand hand = { .graph = graph,
                .rand = g_rand_new_with_seed (seed),
                .inverses = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_edit_free) };
  g_autoptr (LoomFaults) first = loom_faults_new ();
  LoomNet *net = loom_net_new (graph, NULL, first);
  guint typed = 0;

  for (guint i = 0; i < n_edits; i++)
    {
      g_autoptr (LoomFaults) faults = loom_faults_new (), expected = loom_faults_new ();
      g_autoptr (LoomNet) whole = NULL;

      edit (&hand);
      net = loom_net_renew (net, graph, faults);
      whole = loom_net_new (graph, NULL, expected);
      assert_same_faults (faults, expected);
      assert_same_net (graph, net, whole);
      if (i % 10 == 0)
        assert_binds (graph, net);
      typed += loom_net_n_typed (net);
      *partly += loom_net_n_typed (net) < loom_net_n_nodes (net);
      *all += loom_net_n_typed (whole);
    }
  loom_net_free (net);
  g_rand_free (hand.rand);
  g_ptr_array_unref (hand.inverses);
  return typed;
}

static void
test_hard (void)
{
  guint typed = 0, all = 0, partly = 0;

  for (guint32 seed = 1; seed <= 6; seed++)
    {
      g_autoptr (LoomGraph) graph = graph_from_text (hard, NULL);

      typed += compare_edits (graph, EDITS, seed, &all, &partly);
    }
  g_test_message ("typed %u of %u nodes; %u versions in part", typed, all, partly);
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

static void
test_examples (void)
{
  static const char *const folders[] = { "graphs/lessons", "graphs/models" };
  guint typed = 0, all = 0, partly = 0;

  for (guint f = 0; f < G_N_ELEMENTS (folders); f++)
    {
      g_autofree char *folder = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), folders[f], NULL);
      g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
      g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
      const char *name;

      g_assert_nonnull (dir);
      while ((name = g_dir_read_name (dir)) != NULL)
        if (g_str_has_suffix (name, ".xml"))
          g_ptr_array_add (names, g_build_filename (folder, name, NULL));
      g_ptr_array_sort (names, compare_names);
      for (guint i = 0; i < names->len; i++)
        {
          g_autoptr (LoomFaults) faults = loom_faults_new ();
          g_autoptr (LoomGraph) graph = loom_graph_read_file (names->pdata[i], faults, NULL);

          g_test_message ("%s", (const char *)names->pdata[i]);
          typed += compare_edits (graph, 100, i + 1, &all, &partly);
        }
    }
  g_test_message ("typed %u of %u nodes; %u versions in part", typed, all, partly);
}

/* A chain of layers. */
static LoomGraph *
chain (guint n)
{
  g_autoptr (GString) s = g_string_new ("<graph xmlns='urn:gradloom:graph' version='1'>"
                                        "<node id='data' op='dataset' source='spirals'/>"
                                        "<node id='n0' op='linear' out_features='16'/>");

  for (guint i = 1; i <= n; i++)
    g_string_append_printf (
        s, i % 2 == 0 ? "<node id='n%u' op='linear' out_features='16'/>" : "<node id='n%u' op='relu'/>", i);
  g_string_append (s, "<wire from='data.x' to='n0'/>");
  for (guint i = 1; i <= n; i++)
    g_string_append_printf (s, "<wire from='n%u' to='n%u'/>", i - 1, i);
  g_string_append (s, "</graph>");
  return graph_from_text (s->str, NULL);
}

static guint
typed_after (LoomNet **net, LoomGraph *graph, LoomEdit *edit)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();

  loom_edit_free (loom_graph_apply (graph, edit));
  *net = loom_net_renew (*net, graph, faults);
  return loom_net_n_typed (*net);
}

/* An edit types the nodes that it reaches, and no others. */
static void
test_reach (void)
{
  g_autoptr (LoomGraph) graph = chain (400);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomElement *root = loom_graph_root (graph), *node = loom_scope_find_node (root, "n100");
  LoomNet *net = loom_net_new (graph, NULL, faults);

  g_assert_cmpuint (loom_net_n_typed (net), ==, 402);
  /* The data set is read again each time. */
  g_assert_cmpuint (typed_after (&net, graph, loom_edit_set (node, "frozen", "true")), ==, 2);
  g_assert_cmpuint (typed_after (&net, graph, loom_edit_set (node, "out_features", "24")), ==, 4);
  g_assert_cmpuint (typed_after (&net, graph, loom_edit_set (node, "bias", "maybe")), ==, 302);
  g_assert_cmpuint (typed_after (&net, graph, loom_edit_set (node, "bias", "false")), ==, 302);
  g_assert_cmpuint (typed_after (&net, graph, loom_edit_set (root, "name", "other")), ==, 402);
  g_assert_cmpuint (
      typed_after (
          &net, graph,
          loom_edit_insert (root, 1, loom_element_new (LOOM_TAG_NODE, "id", "m", "op", "input", "shape", "B,3", NULL))),
      ==, 2);
  loom_net_free (net);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/renew/reach", test_reach);
  g_test_add_func ("/renew/hard", test_hard);
  g_test_add_func ("/renew/examples", test_examples);
  return g_test_run ();
}
