/* The document: random edits and undo, pasting, reconnecting, runs, modules. No display. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "ui/document/studio-loops.h"
#include "ui/scene/studio-geometry.h"
#include "ui/document/studio-clipboard.h"
#include "tests/test-program.h"
#include "tests/ui/document-chain.h"
#include "tests/ui/document-test.h"
#include "tests/scratch.h"

static void
test_undo_all (void)
{
  for (guint seed = 1; seed <= 8; seed++)
    {
      g_autoptr (StudioDocument) document = document_load (chain);
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      g_autofree char *before = document_text (document), *edited = NULL, *undone = NULL, *redone = NULL;

      for (guint i = 0; i < 120; i++)
        document_random_edit (document, rand);
      edited = document_text (document);
      g_assert_cmpstr (edited, !=, before);
      g_assert_true (studio_document_is_edited (document));
      while (studio_document_undo (document))
        ;
      undone = document_text (document);
      g_assert_cmpstr (undone, ==, before);
      g_assert_false (studio_document_is_edited (document));
      while (studio_document_redo (document))
        ;
      redone = document_text (document);
      g_assert_cmpstr (redone, ==, edited);
    }
}

/* After any edit no wire has a missing end: the written graph reads back without faults of grammar. */
static void
test_no_torn_wires (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);

  for (guint i = 0; i < 200; i++)
    {
      StudioScene *scene;
      LoomElement *root;
      guint wires = 0;

      document_random_edit (document, rand);
      scene = studio_document_get_scene (document);
      root = loom_graph_root (studio_document_get_graph (document));
      for (guint c = 0; c < loom_element_n_children (root); c++)
        wires += loom_element_tag (loom_element_child (root, c)) == LOOM_TAG_WIRE;
      g_assert_cmpuint (scene->n_links, ==, wires);
    }
}

static void
test_names_and_merging (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  guint64 fc = document_serial (document, "fc");
  g_autofree char *before = document_text (document), *after = NULL;

  g_assert_null (studio_document_undo_name (document));
  studio_document_set_attribute (document, fc, "out_features", "3");
  studio_document_set_attribute (document, fc, "out_features", "32");
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Set out_features of fc");
  g_assert_true (studio_document_undo (document));
  after = document_text (document);
  g_assert_cmpstr (after, ==, before); /* typing two digits is one step */
  g_assert_cmpstr (studio_document_redo_name (document), ==, "Set out_features of fc");
  studio_document_begin (document, "Nothing");
  studio_document_end (document);
  g_assert_cmpstr (studio_document_redo_name (document), ==, "Set out_features of fc");
}

static gboolean
end_cb (gpointer data)
{
  *(gboolean *)data = TRUE;
  return G_SOURCE_REMOVE;
}

/* A pause in typing begins another step; a stall, during which the main loop does not run, does not. */
static void
test_pauses (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  const guint64 fc = document_serial (document, "fc");
  const guint steps = studio_document_n_steps (document);
  gboolean over = FALSE;

  studio_document_set_attribute (document, fc, "out_features", "3");
  g_usleep (1200 * 1000);
  studio_document_set_attribute (document, fc, "out_features", "32");
  g_assert_cmpuint (studio_document_n_steps (document), ==, steps + 1);
  /* It comes after the timeout of the document, which is shorter and of higher priority. */
  g_timeout_add_full (G_PRIORITY_LOW, 1100, end_cb, &over, NULL);
  while (!over)
    g_main_context_iteration (NULL, TRUE);
  studio_document_set_attribute (document, fc, "out_features", "321");
  g_assert_cmpuint (studio_document_n_steps (document), ==, steps + 2);
}

static void
test_shapes_follow (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  StudioScene *scene;

  studio_document_set_attribute (document, document_serial (document, "fc"), "out_features", "32");
  studio_document_get_net (document);
  scene = studio_document_get_scene (document);
  g_assert_cmpstr (scene->link[1].label, ==, "B × 32");
  g_assert_cmpstr (scene->link[3].label, ==, "B × 8"); /* out of a module */
}

static void
test_reconnect (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  StudioScene *scene;
  guint64 b1;
  g_autofree char *label = NULL, *before = document_text (document), *after = NULL;
  guint i;

  studio_document_select_only (document, document_serial (document, "act"));
  studio_document_delete_selection (document);
  g_assert_cmpuint (studio_document_n_selected (document), ==, 0);
  studio_document_get_net (document);
  b1 = document_serial (document, "b1");
  scene = studio_document_get_scene (document);
  i = studio_scene_find (scene, b1);
  g_assert_nonnull (scene->item[i].fault);
  label = studio_document_dup_fix_label (document, b1);
  g_assert_cmpstr (label, ==, "Reconnect");
  g_assert_true (studio_document_apply_fix (document, b1));
  studio_document_get_net (document);
  scene = studio_document_get_scene (document);
  i = studio_scene_find (scene, b1);
  g_assert_null (scene->item[i].fault);
  g_assert_cmpuint (scene->link[scene->item[i].input[0].link].from, ==, studio_scene_find_id (scene, "fc"));
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Reconnect");
  g_assert_true (studio_document_undo (document));
  g_assert_true (studio_document_undo (document));
  after = document_text (document);
  g_assert_cmpstr (after, ==, before);
}

static void
test_connect_rules (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  g_autoptr (GError) error = NULL;
  guint64 wire;

  g_assert_cmpuint (studio_document_connect (document, document_serial (document, "b2"), "out",
                                             document_serial (document, "fc"), "input", &error),
                    ==, 0);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_CYCLE);
  g_clear_error (&error);
  g_assert_cmpuint (studio_document_connect (document, document_serial (document, "fc"), "nothing",
                                             document_serial (document, "b2"), "in", &error),
                    ==, 0);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_PORT);
  /* An input takes one wire: the new one replaces the old in one step. */
  wire = studio_document_connect (document, document_serial (document, "x"), NULL, document_serial (document, "act"),
                                  NULL, NULL);
  g_assert_cmpuint (wire, !=, 0);
  g_assert_cmpuint (studio_document_get_scene (document)->n_links, ==, 4);
  wire = studio_document_reconnect (document, wire, document_serial (document, "b2"), "in", NULL);
  g_assert_cmpuint (wire, !=, 0);
  g_assert_cmpuint (studio_document_get_scene (document)->n_links, ==, 3);
  g_assert_true (studio_document_undo (document));
  g_assert_cmpuint (studio_document_get_scene (document)->n_links, ==, 4);
}

static void
test_variadic (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  guint64 join = studio_document_add_node (document, "concat", 0, 400);
  StudioScene *scene;
  guint i;

  for (guint k = 0; k < 3; k++)
    {
      static const char *const from[] = { "x", "fc", "act" };
      g_autofree char *port = g_strdup_printf ("%u", k);

      g_assert_cmpuint (studio_document_connect (document, document_serial (document, from[k]), NULL, join, port, NULL),
                        !=, 0);
    }
  scene = studio_document_get_scene (document);
  i = studio_scene_find (scene, join);
  g_assert_cmpuint (scene->item[i].n_inputs, ==, 4); /* one is always free */
  studio_document_disconnect (document, scene->link[scene->item[i].input[1].link].serial);
  scene = studio_document_get_scene (document);
  i = studio_scene_find (scene, join);
  g_assert_cmpuint (scene->item[i].n_inputs, ==, 3);
  g_assert_cmpuint (scene->item[i].input[1].n_links, ==, 1);
  g_assert_cmpstr (scene->item[i].input[1].name, ==, "1"); /* no gap */
  g_assert_cmpuint (scene->link[scene->item[i].input[1].link].from, ==, studio_scene_find_id (scene, "act"));
}

static void
test_rename (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  g_autoptr (GError) error = NULL;

  g_assert_false (studio_document_rename (document, document_serial (document, "fc"), "a b", &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA);
  g_clear_error (&error);
  g_assert_false (studio_document_rename (document, document_serial (document, "fc"), "act", &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA);
  g_assert_true (studio_document_rename (document, document_serial (document, "fc"), "hidden", NULL));
  g_assert_cmpuint (studio_document_get_scene (document)->n_links, ==, 4);
  g_assert_cmpuint (loom_faults_count (studio_document_get_faults (document)), ==, 0);
  /* A module's port: wires outside follow. */
  g_assert_true (studio_document_enter (document, document_serial (document, "b1")));
  g_assert_true (studio_document_rename (document, document_serial (document, "in"), "value", NULL));
  studio_document_leave (document);
  g_assert_cmpuint (loom_faults_count (studio_document_get_faults (document)), ==, 0);
}

/* A loop over a module that is one step. */
static const char loop[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                           "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"loop\">\n"
                           "  <module name=\"cell\">\n"
                           "    <node id=\"x\" op=\"module_input\"/>\n"
                           "    <node id=\"h\" op=\"module_input\" shape=\"B,3\"/>\n"
                           "    <node id=\"fc\" op=\"linear\" out_features=\"3\"/>\n"
                           "    <node id=\"sum\" op=\"add\"/>\n"
                           "    <node id=\"y\" op=\"module_output\"/>\n"
                           "    <node id=\"h1\" op=\"module_output\" carry=\"h\"/>\n"
                           "    <wire from=\"x\" to=\"fc\"/>\n"
                           "    <wire from=\"fc\" to=\"sum.input\"/>\n"
                           "    <wire from=\"h\" to=\"sum.other\"/>\n"
                           "    <wire from=\"sum\" to=\"y\"/>\n"
                           "    <wire from=\"sum\" to=\"h1\"/>\n"
                           "  </module>\n"
                           "  <node id=\"x\" op=\"input\" shape=\"T,B,2\"/>\n"
                           "  <node id=\"a\" op=\"scan\" body=\"cell\" sequence=\"x\"/>\n"
                           "  <node id=\"b\" op=\"scan\" body=\"cell\"/>\n"
                           "  <node id=\"act\" op=\"relu\"/>\n"
                           "  <wire from=\"x\" to=\"a.x\"/>\n"
                           "  <wire from=\"a.y\" to=\"b.x\"/>\n"
                           "  <wire from=\"b.h1\" to=\"act\"/>\n"
                           "</graph>\n";

/* A loop's card is that of its module: it has its ports, is entered, and follows what is done inside. */
static void
test_loop (void)
{
  g_autoptr (StudioDocument) document = document_load (loop);
  LoomGraph *graph = studio_document_get_graph (document);
  LoomElement *root = loom_graph_root (graph), *cell;
  StudioScene *scene;
  const StudioItem *item;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL, *alone = NULL, *once = NULL, *over = NULL;

  studio_document_get_net (document);
  scene = studio_document_get_scene (document);
  item = &scene->item[studio_scene_find_id (scene, "a")];
  g_assert_true (item->is_module);
  g_assert_null (item->fault);
  g_assert_cmpstr (item->kind, ==, "cell");
  g_assert_cmpuint (item->n_inputs, ==, 3);
  g_assert_true (item->input[0].required);
  g_assert_false (item->input[1].required);
  g_assert_cmpstr (item->input[2].name, ==, "lengths");
  g_assert_cmpstr (scene->link[1].label, ==, "T × B × 3");
  g_assert_cmpstr (scene->link[2].label, ==, "B × 3");
  g_assert_cmpuint (studio_document_module_uses (document, "cell"), ==, 2);

  studio_document_select_only (document, document_serial (document, "a"));
  alone = studio_clipboard_copy (document);
  g_assert_nonnull (strstr (alone, "<module name=\"cell\""));
  g_assert_false (studio_document_ungroup_selection (document, &error));
  g_clear_error (&error);

  /* Inside there are the shapes of one step. */
  g_assert_true (studio_document_enter (document, document_serial (document, "a")));
  studio_document_get_net (document);
  scene = studio_document_get_scene (document);
  g_assert_cmpstr (scene->link[0].label, ==, "B × 2");
  g_assert_cmpstr (scene->link[3].label, ==, "B × 3");
  g_assert_false (studio_clipboard_paste (document, alone, 0, 0, &error));
  g_clear_error (&error);

  g_assert_true (studio_document_rename (document, document_serial (document, "h"), "state", &error));
  g_assert_true (studio_document_rename (document, document_serial (document, "x"), "row", &error));
  g_assert_no_error (error);
  cell = loom_graph_find_module (graph, "cell");
  g_assert_cmpstr (loom_element_get (loom_scope_find_node (cell, "h1"), "carry"), ==, "state");
  g_assert_cmpstr (loom_element_get (loom_scope_find_node (root, "a"), "sequence"), ==, "row");
  text = document_text (document);
  g_assert_nonnull (strstr (text, "to=\"a.row\""));
  g_assert_nonnull (strstr (text, "to=\"b.row\""));

  g_assert_true (studio_document_make_unique (document));
  g_assert_cmpstr (loom_element_get (loom_scope_find_node (root, "a"), "body"), ==, "cell_2");

  /* Once, and over a sequence again. */
  studio_document_leave (document);
  studio_document_set_attribute (document, document_serial (document, "b"), "frozen", "true");
  studio_document_select_only (document, document_serial (document, "b"));
  g_assert_true (studio_document_run_selection (document, LOOM_LOOP_SCAN));
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Run b once");
  once = document_text (document);
  g_assert_nonnull (strstr (once, "<node id=\"b\" module=\"cell\" frozen=\"true\"/>"));
  g_assert_true (studio_document_run_selection (document, LOOM_LOOP_SCAN));
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Run b over a sequence");
  over = document_text (document);
  g_assert_nonnull (strstr (over, "<node id=\"b\" op=\"scan\" body=\"cell\" frozen=\"true\"/>"));
  studio_document_select_only (document, document_serial (document, "act"));
  g_assert_false (studio_document_run_selection (document, LOOM_LOOP_SCAN));
  g_assert_cmpstr (loom_element_get (loom_scope_find_node (root, "b"), "body"), ==, "cell");
}

static const char branches[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                               "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"branches\">\n"
                               "  <module name=\"bent\">\n"
                               "    <node id=\"x\" op=\"module_input\"/>\n"
                               "    <node id=\"f\" op=\"tanh\"/>\n"
                               "    <node id=\"y\" op=\"module_output\"/>\n"
                               "    <wire from=\"x\" to=\"f\"/>\n"
                               "    <wire from=\"f\" to=\"y\"/>\n"
                               "  </module>\n"
                               "  <module name=\"layer\">\n"
                               "    <node id=\"x\" op=\"module_input\"/>\n"
                               "    <node id=\"f\" op=\"linear\" out_features=\"3\"/>\n"
                               "    <node id=\"y\" op=\"module_output\"/>\n"
                               "    <wire from=\"x\" to=\"f\"/>\n"
                               "    <wire from=\"f\" to=\"y\"/>\n"
                               "  </module>\n"
                               "  <node id=\"x\" op=\"input\" shape=\"B,3\"/>\n"
                               "  <node id=\"i\" op=\"input\" shape=\"B\" dtype=\"i64\"/>\n"
                               "  <node id=\"s\" op=\"switch\" bodies=\"bent,layer,layer\"/>\n"
                               "  <node id=\"m\" module=\"bent\"/>\n"
                               "  <wire from=\"x\" to=\"s.x\"/>\n"
                               "  <wire from=\"i\" to=\"s.index\"/>\n"
                               "  <wire from=\"s\" to=\"m\"/>\n"
                               "</graph>\n";

/* A switch has several modules, each of which can be entered; making one unique replaces only that. */
static void
test_switch (void)
{
  g_autoptr (StudioDocument) document = document_load (branches);
  LoomGraph *graph = studio_document_get_graph (document);
  LoomElement *root = loom_graph_root (graph);
  g_autofree char *alone = NULL, *tree = NULL;
  const StudioItem *item;

  studio_document_get_net (document);
  item = &studio_document_get_scene (document)->item[studio_scene_find_id (studio_document_get_scene (document), "s")];
  g_assert_true (item->is_module);
  g_assert_null (item->fault);
  g_assert_cmpuint (item->n_inputs, ==, 2);
  g_assert_cmpstr (item->input[1].name, ==, "index");
  g_assert_true (item->input[1].required);
  g_assert_cmpuint (studio_document_module_uses (document, "layer"), ==, 1);
  studio_document_select_only (document, document_serial (document, "s"));
  alone = studio_clipboard_copy (document);
  g_assert_nonnull (strstr (alone, "<module name=\"bent\""));
  g_assert_nonnull (strstr (alone, "<module name=\"layer\""));

  g_assert_false (studio_document_enter_body (document, document_serial (document, "s"), 3));
  g_assert_true (studio_document_enter (document, document_serial (document, "s")));
  g_assert_cmpstr (studio_document_get_scope_path (document), ==, "s.0");
  g_assert_true (studio_document_make_unique (document));
  g_assert_cmpstr (loom_element_get (loom_scope_find_node (root, "s"), "bodies"), ==, "bent_2,layer,layer");
  studio_document_leave (document);
  g_assert_true (studio_document_enter_body (document, document_serial (document, "s"), 2));
  g_assert_cmpstr (studio_document_get_scope_path (document), ==, "s.2");
  g_assert_cmpstr (loom_element_get (studio_document_get_scope (document), "name"), ==, "layer");
  studio_document_leave (document);

  studio_document_select_only (document, document_serial (document, "m"));
  g_assert_true (studio_document_run_selection (document, LOOM_LOOP_TREE));
  tree = document_text (document);
  g_assert_nonnull (strstr (tree, "<node id=\"m\" op=\"recurse\" body=\"bent\"/>"));
  g_assert_true (studio_document_run_selection (document, LOOM_LOOP_SWITCH));
  g_assert_true (studio_document_run_selection (document, LOOM_LOOP_SWITCH));
  g_assert_cmpstr (loom_element_get (loom_scope_find_node (root, "m"), "bodies"), ==, "bent");
}

static void
test_paste (void)
{
  g_autoptr (StudioDocument) document = document_load (chain), other = document_load (chain);
  g_autofree char *text = NULL, *alone = NULL;
  g_autoptr (GError) error = NULL;
  LoomGraph *graph = studio_document_get_graph (document);
  guint64 pair[2] = { document_serial (document, "act"), document_serial (document, "b1") };

  g_assert_null (studio_clipboard_copy (document));
  studio_document_select (document, pair, 2);
  text = studio_clipboard_copy (document);
  g_assert_true (studio_clipboard_paste (document, text, NAN, NAN, &error));
  g_assert_no_error (error);
  /* The same definition is shared, names are new, and the wire between the two came along. */
  g_assert_cmpuint (studio_document_n_selected (document), ==, 2);
  g_assert_cmpuint (document_serial (document, "act_2"), !=, 0);
  g_assert_cmpuint (document_serial (document, "b1_2"), !=, 0);
  g_assert_null (loom_graph_find_module (graph, "block_2"));
  g_assert_cmpuint (studio_document_get_scene (document)->n_links, ==, 5);

  /* A definition that differs comes under another name. */
  g_assert_true (studio_document_enter (other, document_serial (other, "b1")));
  studio_document_set_attribute (other, document_serial (other, "fc"), "out_features", "77");
  studio_document_leave (other);
  g_assert_true (studio_clipboard_paste (other, text, 0, 0, &error));
  g_assert_no_error (error);
  g_assert_nonnull (loom_graph_find_module (studio_document_get_graph (other), "block_2"));
  g_assert_cmpstr (
      loom_element_get (loom_graph_by_serial (studio_document_get_graph (other), document_serial (other, "b1_2")),
                        "module"),
      ==, "block_2");
  g_assert_true (studio_document_undo (other));
  g_assert_null (loom_graph_find_module (studio_document_get_graph (other), "block_2"));

  /* A module does not go into itself. */
  studio_document_select_only (document, document_serial (document, "b1"));
  alone = studio_clipboard_copy (document);
  g_assert_true (studio_document_enter (document, document_serial (document, "b1")));
  g_assert_false (studio_clipboard_paste (document, alone, 0, 0, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_CYCLE);
  g_clear_error (&error);
  g_assert_false (studio_clipboard_paste (document, "not XML at all", 0, 0, &error));
  g_assert_nonnull (error);
}

static void
test_scopes (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  g_autofree char *path = NULL;

  g_assert_false (studio_document_enter (document, document_serial (document, "fc")));
  g_assert_true (studio_document_enter (document, document_serial (document, "b2")));
  g_assert_cmpstr (studio_document_get_scope_path (document), ==, "b2");
  path = studio_document_dup_node_path (document, document_serial (document, "fc"));
  g_assert_cmpstr (path, ==, "b2.fc");
  g_assert_cmpuint (studio_document_module_uses (document, "block"), ==, 2);
  g_assert_true (studio_document_make_unique (document));
  g_assert_cmpuint (studio_document_module_uses (document, "block"), ==, 1);
  g_assert_cmpuint (studio_document_module_uses (document, "block_2"), ==, 1);
  g_assert_cmpuint (loom_faults_count (studio_document_get_faults (document)), ==, 0);
  /* Undoing removes the definition that is shown, so the document shows the scope outside it. */
  g_assert_true (studio_document_undo (document));
  g_assert_cmpuint (studio_document_scope_depth (document), ==, 0);
  g_assert_true (studio_document_reveal (document, "b1.fc"));
  g_assert_cmpstr (studio_document_get_scope_path (document), ==, "b1");
  g_assert_cmpuint (studio_document_n_selected (document), ==, 1);
  g_assert_false (studio_document_reveal (document, "b1.none"));
}

static void
test_run (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  guint64 fc = document_serial (document, "fc"), act = document_serial (document, "act");

  studio_document_set_attribute (document, fc, "out_features", "5");
  studio_document_mark_run (document);
  g_assert_cmpuint (studio_document_run_changes (document), ==, 0);
  studio_document_move (document, &act, 1, 24, 24);
  g_assert_cmpuint (studio_document_run_changes (document), ==, 0); /* positions have no meaning */
  studio_document_set_attribute (document, fc, "out_features", "32");
  g_assert_cmpuint (studio_document_run_changes (document), ==, 1);
  g_assert_false (studio_document_run_has (document, "fc"));
  g_assert_true (studio_document_run_has (document, "act"));
  studio_document_add_node (document, "relu", 0, 0);
  g_assert_cmpuint (studio_document_run_changes (document), ==, 2);
  g_assert_true (studio_document_undo (document));
  g_assert_true (studio_document_undo (document));
  g_assert_cmpuint (studio_document_run_changes (document), ==, 0);
  g_assert_true (studio_document_undo (document)); /* the move */
  g_assert_true (studio_document_undo (document)); /* what stood before the run */
  g_assert_cmpuint (studio_document_run_changes (document), ==, 1);
}

static void
test_compatible (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  guint64 wide, sum;
  StudioScene *scene;
  g_autofree guint *first = NULL;
  g_autofree gboolean *lit = NULL;
  guint n = 0, i;

  wide = studio_document_add_node (document, "linear", 900, 0);
  studio_document_set_attribute (document, wide, "out_features", "5");
  studio_document_connect (document, document_serial (document, "x"), NULL, wide, "input", NULL);
  sum = studio_document_add_node (document, "add", 900, 200);
  studio_document_connect (document, document_serial (document, "fc"), NULL, sum, "input", NULL);
  studio_document_get_net (document);
  scene = studio_document_get_scene (document);
  first = g_new (guint, scene->n_items + 1);
  for (i = 0; i < scene->n_items; i++)
    {
      first[i] = n;
      n += scene->item[i].n_inputs;
    }
  first[i] = n;
  lit = g_new0 (gboolean, n + 1);
  /* Five features do not add to four, but may replace them; a circle is never lit. */
  studio_document_compatible_ports (document, wide, TRUE, 0, lit, first);
  scene = studio_document_get_scene (document);
  i = studio_scene_find (scene, sum);
  g_assert_false (lit[first[i] + 1]);
  g_assert_false (lit[first[studio_scene_find (scene, wide)]]);
  g_assert_true (lit[first[studio_scene_find_id (scene, "act")]]);
}

/* A tensor of a weight's shape can be wired to it; one of another shape, or to a weight that the layer lacks, not. */
static void
test_ties (void)
{
  static const char text[] = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
                             "<node id=\"x\" op=\"input\" shape=\"B,4\"/>"
                             "<node id=\"w\" op=\"parameter\" shape=\"4,4\"/>"
                             "<node id=\"b\" op=\"parameter\" shape=\"4\"/>"
                             "<node id=\"fc\" op=\"linear\" out_features=\"4\"/>"
                             "<node id=\"plain\" op=\"linear\" out_features=\"4\" bias=\"false\"/>"
                             "<wire from=\"x\" to=\"fc\"/><wire from=\"x\" to=\"plain\"/></graph>";
  g_autoptr (StudioDocument) document = document_load (text);
  StudioScene *scene;
  guint first[6] = { 0 };
  gboolean lit[64];
  g_autoptr (GError) error = NULL;
  guint64 wire;

  for (guint turn = 0; turn < 2; turn++)
    {
      guint fc, plain;

      studio_document_get_net (document);
      scene = studio_document_get_scene (document);
      fc = studio_scene_find_id (scene, "fc");
      plain = studio_scene_find_id (scene, "plain");
      g_assert_cmpuint (scene->item[fc].n_inputs, ==, 1);
      g_assert_cmpuint (scene->item[fc].n_offered, ==, 3);
      for (guint i = 0; i < scene->n_items; i++)
        first[i + 1] = first[i] + scene->item[i].n_offered;
      memset (lit, 0, sizeof lit);
      studio_document_compatible_ports (document, document_serial (document, turn == 0 ? "w" : "b"), TRUE, 0, lit,
                                        first);
      g_assert_true (lit[first[fc] + 1] == (turn == 0));
      g_assert_true (lit[first[fc] + 2] == (turn == 1));
      g_assert_true (lit[first[plain] + 1] == (turn == 0));
      g_assert_false (lit[first[plain] + 2]);
    }
  wire = studio_document_connect (document, document_serial (document, "w"), "out", document_serial (document, "fc"),
                                  "weight", &error);
  g_assert_no_error (error);
  g_assert_cmpuint (wire, !=, 0);
  g_assert_cmpuint (loom_faults_count (studio_document_get_faults (document)), ==, 0);
  scene = studio_document_get_scene (document);
  {
    const StudioItem *item = &scene->item[studio_scene_find_id (scene, "fc")];

    /* The tied weight is an input like others now. */
    g_assert_cmpuint (item->n_inputs, ==, 2);
    g_assert_cmpuint (item->n_offered, ==, 3);
    g_assert_cmpstr (item->input[1].name, ==, "weight");
    g_assert_true (item->input[1].weight && item->input[1].n_links == 1);
  }
}

/* A command of two edits, where the second needs type inference after the first, is one undo step. */
static void
test_fold (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  g_autofree char *before = document_text (document), *after = NULL, *again = NULL;
  guint steps;
  guint64 made;

  studio_document_add_node (document, "tanh", 0, 400);
  studio_document_undo (document);
  studio_document_add_node (document, "tanh", 0, 400);
  studio_document_undo (document);
  steps = studio_document_n_steps (document);
  made = studio_document_add_node (document, "relu", 0, 400);
  g_assert_cmpuint (studio_document_connect (document, document_serial (document, "b2"), "out", made, "input", NULL),
                    !=, 0);
  g_assert_cmpuint (studio_document_n_steps (document), ==, steps + 2);
  studio_document_fold (document, steps);
  g_assert_cmpuint (studio_document_n_steps (document), ==, steps + 1);
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Add relu");
  after = document_text (document);
  g_assert_true (studio_document_undo (document));
  {
    g_autofree char *now = document_text (document);

    g_assert_cmpstr (now, ==, before);
  }
  g_assert_true (studio_document_redo (document));
  again = document_text (document);
  g_assert_cmpstr (again, ==, after);
  studio_document_fold (document, steps);
  g_assert_cmpuint (studio_document_n_steps (document), ==, steps + 1);
}

/* The card of a parameter shows its value, and no attribute names. */
static void
test_parameters (void)
{
  static const char *const cards[][2] = {
    { "shape='' init='constant' value='2'", "= 2" },
    { "shape='2' init='constant' value='0.25'", "= 0.25, 0.25" },
    { "shape='3,4' init='ones'", "3×4 · all 1" },
    { "shape='1' init='zeros'", "= 0" },
    { "shape='5' init='uniform' low='-0.5' high='0.5'", "5 · -0.5 to 0.5" },
    { "shape='3,4'", "3×4 · normal 0 ± 1" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cards); i++)
    {
      g_autofree char *text = g_strdup_printf (
          "<graph xmlns='urn:gradloom:graph' version='1'><node id='x' op='parameter' %s/></graph>", cards[i][0]);
      g_autoptr (StudioDocument) document = document_load (text);

      studio_document_get_net (document);
      g_assert_cmpstr (studio_document_get_scene (document)->item[0].summary, ==, cards[i][1]);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ui/document/undo-all", test_undo_all);
  g_test_add_func ("/ui/document/no-torn-wires", test_no_torn_wires);
  g_test_add_func ("/ui/document/names-and-merging", test_names_and_merging);
  g_test_add_func ("/ui/document/pauses", test_pauses);
  g_test_add_func ("/ui/document/shapes-follow", test_shapes_follow);
  g_test_add_func ("/ui/document/reconnect", test_reconnect);
  g_test_add_func ("/ui/document/connect-rules", test_connect_rules);
  g_test_add_func ("/ui/document/variadic", test_variadic);
  g_test_add_func ("/ui/document/rename", test_rename);
  g_test_add_func ("/ui/document/loop", test_loop);
  g_test_add_func ("/ui/document/switch", test_switch);
  g_test_add_func ("/ui/document/paste", test_paste);
  g_test_add_func ("/ui/document/scopes", test_scopes);
  g_test_add_func ("/ui/document/run", test_run);
  g_test_add_func ("/ui/document/compatible", test_compatible);
  g_test_add_func ("/ui/document/ties", test_ties);
  g_test_add_func ("/ui/document/fold", test_fold);
  g_test_add_func ("/document/parameters", test_parameters);
  return g_test_run ();
}
