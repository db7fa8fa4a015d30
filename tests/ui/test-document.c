/* The document: random edits and undo, journal and recovery, paste, reconnecting, runs, modules. No display. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "ui/document/studio-loops.h"
#include "ui/scene/studio-geometry.h"
#include "ui/document/studio-clipboard.h"
#include "tests/ui/document-test.h"
#include "ui/document/studio-document-arrange.h"
#include "ui/inspector/studio-inspector-params.h"
#include "ui/document/studio-journal.h"
#include "tests/scratch.h"

static const char chain[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                            "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"chain\">\n"
                            "  <module name=\"block\">\n"
                            "    <arg name=\"width\" type=\"int\" default=\"8\"/>\n"
                            "    <node id=\"in\" op=\"module_input\"/>\n"
                            "    <node id=\"fc\" op=\"linear\" out_features=\"{width}\"/>\n"
                            "    <node id=\"out\" op=\"module_output\"/>\n"
                            "    <wire from=\"in\" to=\"fc\"/>\n"
                            "    <wire from=\"fc\" to=\"out\"/>\n"
                            "  </module>\n"
                            "  <node id=\"x\" op=\"input\" shape=\"B,8\"/>\n"
                            "  <node id=\"fc\" op=\"linear\" out_features=\"4\"/>\n"
                            "  <node id=\"act\" op=\"relu\"/>\n"
                            "  <node id=\"b1\" module=\"block\"/>\n"
                            "  <node id=\"b2\" module=\"block\" width=\"3\"/>\n"
                            "  <wire from=\"x\" to=\"fc\"/>\n"
                            "  <wire from=\"fc\" to=\"act\"/>\n"
                            "  <wire from=\"act\" to=\"b1\"/>\n"
                            "  <wire from=\"b1\" to=\"b2\"/>\n"
                            "</graph>\n";

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

/* Whatever one does, no wire may hang in the air: what is written reads back without a fault of grammar. */
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
  g_assert_true (studio_document_loop_selection (document));
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Run b once");
  once = document_text (document);
  g_assert_nonnull (strstr (once, "<node id=\"b\" module=\"cell\" frozen=\"true\"/>"));
  g_assert_true (studio_document_loop_selection (document));
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Run b over a sequence");
  over = document_text (document);
  g_assert_nonnull (strstr (over, "<node id=\"b\" op=\"scan\" body=\"cell\" frozen=\"true\"/>"));
  studio_document_select_only (document, document_serial (document, "act"));
  g_assert_false (studio_document_loop_selection (document));
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

/* A switch has several modules, each of which can be entered; a single one is exchanged where it becomes unique. */
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
  /* Undone, the definition that one stood in is no more: one stands outside. */
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
  g_assert_cmpuint (studio_document_run_changes (document), ==, 0); /* a place is no meaning */
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

/* ---- journal ------------------------------------------------------------ */

static void
test_journal (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-journal-XXXXXX", NULL), *lost = NULL, *found = NULL, *base = NULL;
  g_autoptr (StudioDocument) document = document_load (chain), next = NULL;
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) orphans = NULL;
  g_autofree char *torn = NULL;
  FILE *file;

  base = document_text (document);
  g_assert_true (studio_document_keep_journal (document, folder, &error));
  for (guint i = 0; i < 80; i++)
    document_random_edit (document, rand);
  studio_document_undo (document);
  studio_document_undo (document);
  studio_document_redo (document);
  lost = document_text (document);
  orphans = studio_journal_orphans (folder);
  g_assert_cmpuint (g_strv_length (orphans), ==, 0); /* its writer lives */
  g_clear_object (&document);                        /* without closing: a crash */

  g_strfreev (orphans);
  orphans = studio_journal_orphans (folder);
  g_assert_cmpuint (g_strv_length (orphans), ==, 1);
  /* The crash tore the last transaction, and its last line. */
  file = fopen (orphans[0], "a");
  fputs ("e a whole line without an end\ne half an ed", file);
  fclose (file);

  next = studio_document_new ();
  g_assert_true (studio_document_keep_journal (next, folder, &error));
  g_assert_true (studio_document_recover (next, orphans[0], &error));
  g_assert_no_error (error);
  found = document_text (next);
  g_assert_cmpstr (found, ==, lost);
  g_assert_cmpstr (studio_document_undo_name (next), ==, "Recover unsaved work");
  g_assert_true (studio_document_undo (next));
  g_free (found);
  found = document_text (next);
  g_assert_cmpstr (found, ==, base);
  studio_document_redo (next);
  g_assert_false (g_file_test (orphans[0], G_FILE_TEST_EXISTS)); /* the new journal took it over */
  studio_document_close (next);
  g_strfreev (orphans);
  orphans = studio_journal_orphans (folder);
  g_assert_cmpuint (g_strv_length (orphans), ==, 0);

  torn = g_build_filename (folder, "9.journal", NULL);
  g_assert_true (g_file_set_contents (torn, "gradloom-journal 1\npath -\nbase 999\nshort", -1, NULL));
  g_assert_null (studio_journal_read (torn, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_PARSE);
  g_clear_error (&error);
  remove_tree (folder);
}

static void
test_save (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-save-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "net.xml", NULL), *title = NULL;
  g_autoptr (StudioDocument) document = document_load (chain), again = NULL;
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) orphans = NULL;

  g_assert_true (studio_document_keep_journal (document, folder, &error));
  studio_document_add_node (document, "relu", 0, 300);
  g_assert_true (studio_document_is_edited (document));
  g_assert_true (studio_document_save (document, path, &error));
  g_assert_false (studio_document_is_edited (document));
  studio_document_undo (document);
  g_assert_true (studio_document_is_edited (document));
  studio_document_redo (document);
  g_assert_false (studio_document_is_edited (document)); /* the same content, not the same count */
  g_assert_true (studio_document_save (document, NULL, &error));
  g_clear_object (&document);
  orphans = studio_journal_orphans (folder);
  g_assert_cmpuint (g_strv_length (orphans), ==, 0); /* nothing was lost with it */
  again = studio_document_new ();
  g_assert_true (studio_document_open (again, path, &error));
  g_assert_cmpuint (document_serial (again, "relu"), !=, 0);
  title = studio_document_dup_title (again);
  g_assert_cmpstr (title, ==, "chain");
  g_assert_false (studio_document_open (again, "/nowhere/at/all.xml", &error));
  g_assert_nonnull (error);
  g_assert_cmpuint (document_serial (again, "relu"), !=, 0); /* what was open stays */
  remove_tree (folder);
}

/* Paths of a run's graph.xml start where they did in the graph that was trained: before and after it is saved there,
 * and beside itself once it is saved elsewhere. */
static void
test_run_graph (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-run-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "graph.xml", NULL);
  g_autofree char *other = g_build_filename (folder, "other.xml", NULL);
  g_autofree char *settings = g_build_filename (folder, "run.json", NULL);
  g_autoptr (StudioDocument) document = document_load (chain), run = studio_document_new ();
  g_autoptr (GError) error = NULL;

  g_assert_true (studio_document_save (document, path, &error));
  g_assert_true (g_file_set_contents (settings, "{\"data_folder\":\"/where/data/lie\"}", -1, &error));
  g_assert_true (studio_document_open (run, path, &error));
  g_assert_cmpstr (loom_graph_get_folder (studio_document_get_graph (run)), ==, "/where/data/lie");
  studio_document_add_node (run, "relu", 0, 300);
  g_assert_true (studio_document_save (run, NULL, &error));
  g_assert_cmpstr (loom_graph_get_folder (studio_document_get_graph (run)), ==, "/where/data/lie");
  g_assert_true (studio_document_save (run, other, &error));
  g_assert_cmpstr (loom_graph_get_folder (studio_document_get_graph (run)), ==, folder);
  remove_tree (folder);
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

/* Frames and notes are added, moved with what they hold, deleted, and all of it is undone to the letter. */
static void
test_annotations (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  g_autofree char *before = document_text (document), *after = NULL, *hash = NULL, *hash_after = NULL;
  guint64 nodes[2] = { document_serial (document, "fc"), document_serial (document, "act") }, frame, note;
  StudioScene *scene = studio_document_get_scene (document);
  guint fc = studio_scene_find_id (scene, "fc"), x = studio_scene_find_id (scene, "x"), f;
  double fc_x = scene->item[fc].x, fc_y = scene->item[fc].y, x_x = scene->item[x].x;

  hash = loom_graph_hash (studio_document_get_graph (document));
  studio_document_select (document, nodes, 2);
  frame = studio_document_add_frame (document, "Pair", 0, 0);
  scene = studio_document_get_scene (document);
  g_assert_cmpuint (scene->n_annotations, ==, 1);
  f = studio_scene_find_annotation (scene, frame);
  g_assert_cmpuint (f, ==, 0);
  g_assert_true (
      studio_geometry_is_within (&scene->annotation[f], fc_x, fc_y, scene->item[fc].width, scene->item[fc].height));
  studio_document_move (document, &frame, 1, 48, 24);
  scene = studio_document_get_scene (document);
  g_assert_cmpfloat (scene->item[fc].x, ==, fc_x + 48);
  g_assert_cmpfloat (scene->item[fc].y, ==, fc_y + 24);
  g_assert_cmpfloat (scene->item[x].x, ==, x_x);
  note = studio_document_add_note (document, "one\ntwo", 0, 500);
  scene = studio_document_get_scene (document);
  g_assert_cmpuint (scene->n_annotations, ==, 2);
  g_assert_true (scene->annotation[1].serial == note && scene->annotation[1].is_note);
  g_assert_cmpstr (scene->annotation[1].text, ==, "one\ntwo");
  hash_after = loom_graph_hash (studio_document_get_graph (document));
  g_assert_cmpstr (hash, ==, hash_after); /* no meaning */
  studio_document_delete_selection (document);
  g_assert_cmpuint (studio_document_get_scene (document)->n_annotations, ==, 1);
  while (studio_document_undo (document))
    ;
  after = document_text (document);
  g_assert_cmpstr (before, ==, after);
}

/* Points that a wire is led through: named steps in the file's <route>, which go with the two cards of their wire, with
 * its copy, and with its end. */
static void
test_points (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  g_autofree char *before = document_text (document), *with = NULL, *after = NULL, *text = NULL;
  StudioScene *scene = studio_document_get_scene (document);
  guint64 wire = scene->link[1].serial,
          both[2] = { document_serial (document, "fc"), document_serial (document, "act") };
  g_autofree char *hash = loom_graph_hash (studio_document_get_graph (document)), *hash_after = NULL;
  g_autoptr (GError) error = NULL;
  const StudioLink *link;

  g_assert_cmpuint (studio_document_add_point (document, wire, 100.2, 300), ==, 0);
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Add reroute point");
  scene = studio_document_get_scene (document);
  /* Behind the first, for it lies nearer to the end of the wire. */
  g_assert_cmpuint (studio_document_add_point (document, wire, scene->item[scene->link[1].to].x, 310), ==, 1);
  studio_document_move_point (document, wire, 0, 96, 288);
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Move reroute point");
  link = &studio_document_get_scene (document)->link[1];
  g_assert_cmpuint (link->n_points, ==, 2);
  g_assert_cmpfloat (link->point[0].x, ==, 96);
  g_assert_cmpfloat (link->point[0].y, ==, 288);
  with = document_text (document);
  g_assert_nonnull (strstr (with, "<route from=\"fc\" to=\"act\" points=\"96,288 "));
  hash_after = loom_graph_hash (studio_document_get_graph (document));
  g_assert_cmpstr (hash, ==, hash_after); /* no meaning */

  /* They stay where one card moves, and go along where both do. */
  studio_document_move (document, both, 1, 24, 48);
  g_assert_cmpfloat (studio_document_get_scene (document)->link[1].point[0].x, ==, 96);
  studio_document_move (document, both, 2, 24, 48);
  g_assert_cmpfloat (studio_document_get_scene (document)->link[1].point[0].x, ==, 120);
  g_assert_cmpfloat (studio_document_get_scene (document)->link[1].point[0].y, ==, 336);
  studio_document_select (document, both, 2);
  text = studio_clipboard_copy (document);
  g_assert_true (studio_clipboard_paste (document, text, NAN, NAN, &error));
  g_assert_no_error (error);
  scene = studio_document_get_scene (document);
  g_assert_cmpuint (scene->link[scene->n_links - 1].n_points, ==, 2);
  g_assert_cmpfloat (scene->link[scene->n_links - 1].point[0].x - 120, ==,
                     scene->item[scene->link[scene->n_links - 1].from].x - scene->item[scene->link[1].from].x);

  g_assert_true (studio_document_rename (document, both[0], "dense", &error));
  g_assert_cmpuint (studio_document_get_scene (document)->link[1].n_points, ==, 2);
  studio_document_remove_point (document, wire, 1);
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Remove reroute point");
  g_assert_cmpuint (studio_document_get_scene (document)->link[1].n_points, ==, 1);
  studio_document_remove_points (document, wire);
  g_clear_pointer (&text, g_free);
  text = document_text (document);
  g_assert_null (strstr (text, "from=\"dense\" to=\"act\" points"));
  while (studio_document_undo (document))
    ;
  after = document_text (document);
  g_assert_cmpstr (before, ==, after);
}

/* A text that is no point is left out, and the others stay. */
static void
test_point_texts (void)
{
  guint n;
  g_autofree StudioPoint *point = studio_points_parse ("12,40 x,3  7 96.5,-40 1e9,0 nan,3", &n);
  g_autofree char *text = studio_points_format (point, n);

  g_assert_cmpuint (n, ==, 2);
  g_assert_cmpstr (text, ==, "12,40 96.5,-40");
}

/* Elements that the reader refused are counted until they are lost, or safe in another file. */
static void
test_dropped (void)
{
  static const char broken[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                               "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                               "  <node id=\"x\" op=\"input\" shape=\"B,8\" odd=\"1\"/>\n"
                               "  <nod id=\"y\" op=\"relu\"><doc>inside</doc></nod>\n"
                               "  <node op=\"relu\"/>\n"
                               "  stray\n"
                               "</graph>\n";
  g_autofree char *folder = g_dir_make_tmp ("gradloom-dropped-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "net.xml", NULL),
                  *copy = g_build_filename (folder, "copy.xml", NULL);
  g_autofree char *text = NULL;
  g_autoptr (StudioDocument) document = document_load (chain);
  g_autoptr (GError) error = NULL;

  g_assert_cmpuint (studio_document_dropped_parts (document), ==, 0);
  g_assert_true (g_file_set_contents (path, broken, -1, &error));
  g_assert_true (studio_document_open (document, path, &error));
  g_assert_cmpuint (studio_document_dropped_parts (document), ==, 3);
  studio_document_add_node (document, "relu", 0, 300);
  g_assert_cmpuint (studio_document_dropped_parts (document), ==, 3);
  g_assert_true (studio_document_save (document, copy, &error));
  g_assert_cmpuint (studio_document_dropped_parts (document), ==, 0);
  g_assert_true (g_file_get_contents (path, &text, NULL, &error));
  g_assert_cmpstr (text, ==, broken);
  remove_tree (folder);
}

static void
test_params (void)
{
  static const LoomParamSpec width = { .name = "width", .type = LOOM_PARAM_INT, .minimum = 1, .maximum = 64 };
  static const LoomParamSpec kernel = { .name = "kernel", .type = LOOM_PARAM_INTS, .length = 2, .def = "3" };
  static const LoomParamSpec shape = { .name = "shape", .type = LOOM_PARAM_SHAPE };
  static const struct
  {
    const LoomParamSpec *spec;
    const char *text;
    gboolean good;
  } cases[] = { { &width, "8", TRUE },       { &width, "0", FALSE },        { &width, "65", FALSE },
                { &width, "", FALSE },       { &width, "8x", FALSE },       { &width, "{n}", TRUE },
                { &kernel, "", TRUE },       { &kernel, "3,5", TRUE },      { &kernel, "3", TRUE },
                { &kernel, "1,2,3", FALSE }, { &shape, "B,1,28,28", TRUE }, { &shape, "-1", FALSE } };
  g_autofree char *title = studio_param_title ("out_features"), *count = studio_count_text (61706);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *wrong = studio_param_check (cases[i].spec, cases[i].text);

      g_test_message ("%s = “%s”: %s", cases[i].spec->name, cases[i].text, wrong != NULL ? wrong : "good");
      g_assert_true ((wrong == NULL) == cases[i].good);
    }
  g_assert_cmpstr (title, ==, "Out features");
  g_assert_cmpstr (count, ==, "61,706");
}

/* A command of two halves, the second of which asks inference about the first, is one step. */
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

/* Arranging and aligning what is selected is one step each, and leaves the rest alone. */
static void
test_arrange (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  g_autofree char *before = document_text (document), *after = NULL;
  guint64 two[2] = { document_serial (document, "b1"), document_serial (document, "b2") };
  StudioScene *scene = studio_document_get_scene (document);
  guint x = studio_scene_find_id (scene, "x"), b1 = studio_scene_find_id (scene, "b1");
  guint b2 = studio_scene_find_id (scene, "b2");
  double x_x = scene->item[x].x;

  g_assert_true (studio_document_arrange (document, 2000, 300, STUDIO_LAYOUT_AUTOMATIC));
  scene = studio_document_get_scene (document);
  g_assert_cmpfloat (scene->item[b2].y, ==, scene->item[x].y); /* all in one row */
  studio_document_move (document, two, 2, 24, 240);
  studio_document_select (document, two, 2);
  studio_document_align (document, STUDIO_ALIGN_LEFT);
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Align left");
  scene = studio_document_get_scene (document);
  g_assert_cmpfloat (scene->item[b1].x, ==, scene->item[b2].x);
  g_assert_cmpfloat (scene->item[b2].y, >=, scene->item[b1].y + scene->item[b1].height);
  g_assert_false (studio_document_arrange (document, 2000, 300, STUDIO_LAYOUT_AUTOMATIC));
  scene = studio_document_get_scene (document);
  g_assert_cmpfloat (scene->item[b1].y, ==, scene->item[b2].y);
  g_assert_cmpfloat (scene->item[b1].x, <, scene->item[b2].x);
  g_assert_cmpfloat (scene->item[x].x, ==, x_x);
  for (guint i = 0; i < 4; i++)
    g_assert_true (studio_document_undo (document));
  g_assert_false (studio_document_undo (document));
  after = document_text (document);
  g_assert_cmpstr (before, ==, after);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ui/document/arrange", test_arrange);
  g_test_add_func ("/ui/document/undo-all", test_undo_all);
  g_test_add_func ("/ui/document/no-torn-wires", test_no_torn_wires);
  g_test_add_func ("/ui/document/names-and-merging", test_names_and_merging);
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
  g_test_add_func ("/ui/document/journal", test_journal);
  g_test_add_func ("/ui/document/save", test_save);
  g_test_add_func ("/ui/document/run-graph", test_run_graph);
  g_test_add_func ("/ui/document/ties", test_ties);
  g_test_add_func ("/ui/document/annotations", test_annotations);
  g_test_add_func ("/ui/document/points", test_points);
  g_test_add_func ("/ui/document/point-texts", test_point_texts);
  g_test_add_func ("/ui/document/dropped", test_dropped);
  g_test_add_func ("/ui/document/params", test_params);
  g_test_add_func ("/ui/document/fold", test_fold);
  return g_test_run ();
}
