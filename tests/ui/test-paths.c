/* Node names in slides, pins and pages of a lecture follow grouping, ungrouping and renaming. No display. */
#include <string.h>

#include "tests/test-program.h"
#include "tests/ui/document-test.h"

/* Two modules inside each other, and slides of each depth. */
static const char lecture[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                              "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                              "  <module name=\"pair\">\n"
                              "    <node id=\"in\" op=\"module_input\"/>\n"
                              "    <node id=\"fc\" op=\"linear\" out_features=\"4\"/>\n"
                              "    <node id=\"act\" op=\"relu\"/>\n"
                              "    <node id=\"out\" op=\"module_output\"/>\n"
                              "    <wire from=\"in\" to=\"fc\"/>\n"
                              "    <wire from=\"fc\" to=\"act\"/>\n"
                              "    <wire from=\"act\" to=\"out\"/>\n"
                              "    <layout>\n"
                              "      <place node=\"in\" x=\"0\" y=\"0\"/>\n"
                              "      <place node=\"fc\" x=\"240\" y=\"0\"/>\n"
                              "      <place node=\"act\" x=\"480\" y=\"0\"/>\n"
                              "      <place node=\"out\" x=\"720\" y=\"0\"/>\n"
                              "    </layout>\n"
                              "  </module>\n"
                              "  <node id=\"x\" op=\"input\" shape=\"B,8\"/>\n"
                              "  <node id=\"body\" module=\"pair\" repeat=\"2\"/>\n"
                              "  <node id=\"head\" op=\"linear\" out_features=\"2\"/>\n"
                              "  <node id=\"soft\" op=\"softmax\"/>\n"
                              "  <wire from=\"x\" to=\"body\"/>\n"
                              "  <wire from=\"body\" to=\"head\"/>\n"
                              "  <wire from=\"head\" to=\"soft\"/>\n"
                              "  <lesson>\n"
                              "    <page spotlight=\"x body\">Text.</page>\n"
                              "  </lesson>\n"
                              "  <layout>\n"
                              "    <place node=\"body\" x=\"1200\" y=\"600\"/>\n"
                              "  </layout>\n"
                              "  <view>\n"
                              "    <pin tensor=\"body.1.act\"/>\n"
                              "    <pin tensor=\"grad:head\"/>\n"
                              "    <slide title=\"within\" scope=\"body\" x=\"200\" y=\"-20\" width=\"500\" "
                              "height=\"200\" spotlight=\"fc\" pins=\"body.1.act grad:head\"/>\n"
                              "    <slide title=\"across\" spotlight=\"x head\"/>\n"
                              "    <slide title=\"members\" x=\"1\" y=\"2\" width=\"300\" height=\"200\" "
                              "spotlight=\"head soft\"/>\n"
                              "    <slide title=\"box\" spotlight=\"body\"/>\n"
                              "  </view>\n"
                              "</graph>\n";

/* An attribute of the slide of this title; "" for none. */
static const char *
slide (StudioDocument *document, const char *title, const char *attribute)
{
  const LoomElement *view = loom_element_find (loom_graph_root (studio_document_get_graph (document)), LOOM_TAG_VIEW);

  for (guint i = 0; i < loom_element_n_children (view); i++)
    {
      const LoomElement *e = loom_element_child (view, i);
      const char *value = loom_element_get (e, attribute);

      if (g_strcmp0 (loom_element_get (e, "title"), title) == 0)
        return value != NULL ? value : "";
    }
  g_assert_not_reached ();
}

static void
assert_sound (StudioDocument *document)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GPtrArray) slides = loom_slides_new (studio_document_get_graph (document), faults);

  g_assert_cmpuint (slides->len, ==, 4);
  for (guint i = 0; i < loom_faults_length (faults); i++)
    g_test_message ("%s", loom_faults_get (faults, i)->message);
  g_assert_cmpuint (loom_faults_length (faults), ==, 0);
}

static void
assert_has (StudioDocument *document, const char *what)
{
  g_autofree char *text = document_text (document);

  g_assert_nonnull (strstr (text, what));
}

static void
assert_undone (StudioDocument *document)
{
  g_autofree char *text = NULL;

  g_assert_true (studio_document_undo (document));
  text = document_text (document);
  g_assert_cmpstr (text, ==, lecture);
}

static void
select_two (StudioDocument *document, const char *a, const char *b)
{
  guint64 both[] = { document_serial (document, a), document_serial (document, b) };

  studio_document_select (document, both, 2);
}

static void
test_group (void)
{
  g_autoptr (StudioDocument) document = document_load (lecture);
  g_autoptr (GError) error = NULL;

  select_two (document, "head", "soft");
  g_assert_true (studio_document_group_selection (document, "end", &error));
  assert_sound (document);
  /* A slide with only members of the group shows them in their new scope; another shows the module that contains them.
   */
  g_assert_cmpstr (slide (document, "members", "scope"), ==, "end");
  g_assert_cmpstr (slide (document, "members", "spotlight"), ==, "head soft");
  g_assert_cmpstr (slide (document, "across", "scope"), ==, "");
  g_assert_cmpstr (slide (document, "across", "spotlight"), ==, "x end");
  g_assert_cmpstr (slide (document, "within", "pins"), ==, "body.1.act grad:end.head");
  assert_has (document, "<pin tensor=\"grad:end.head\"/>");
  assert_undone (document);

  select_two (document, "body", "head");
  g_assert_true (studio_document_group_selection (document, "end", &error));
  assert_sound (document);
  g_assert_cmpstr (slide (document, "within", "scope"), ==, "end.body");
  g_assert_cmpstr (slide (document, "within", "pins"), ==, "end.body.1.act grad:end.head");
  g_assert_cmpstr (slide (document, "members", "spotlight"), ==, "end soft");
  assert_has (document, "<page spotlight=\"x end\">");
  assert_undone (document);
}

static void
test_ungroup (void)
{
  g_autoptr (StudioDocument) document = document_load (lecture);
  g_autoptr (GError) error = NULL;
  StudioScene *scene;
  double x, left;

  studio_document_select_only (document, document_serial (document, "body"));
  g_assert_true (studio_document_ungroup_selection (document, &error));
  assert_sound (document);
  g_assert_cmpstr (slide (document, "within", "scope"), ==, "");
  g_assert_cmpstr (slide (document, "within", "spotlight"), ==, "fc");
  g_assert_cmpstr (slide (document, "within", "pins"), ==, "act_2 grad:head");
  g_assert_cmpstr (slide (document, "box", "spotlight"), ==, "fc fc_2 act act_2");
  assert_has (document, "<page spotlight=\"x fc fc_2 act act_2\">");
  /* The slide's region is where its cards are: 40 to the right of its edge, as before. */
  scene = studio_document_get_scene (document);
  x = scene->item[studio_scene_find_id (scene, "fc")].x;
  left = g_ascii_strtod (slide (document, "within", "x"), NULL);
  g_assert_cmpfloat_with_epsilon (x - left, 40, 1e-6);
  assert_undone (document);
}

static void
test_rename (void)
{
  g_autoptr (StudioDocument) document = document_load (lecture);
  g_autoptr (GError) error = NULL;

  g_assert_true (studio_document_rename (document, document_serial (document, "body"), "trunk", &error));
  assert_sound (document);
  g_assert_cmpstr (slide (document, "within", "scope"), ==, "trunk");
  g_assert_cmpstr (slide (document, "within", "pins"), ==, "trunk.1.act grad:head");
  g_assert_cmpstr (slide (document, "box", "spotlight"), ==, "trunk");
  assert_has (document, "<page spotlight=\"x trunk\">");
  assert_has (document, "<place node=\"trunk\"");
  assert_undone (document);

  /* In a module, for all paths through it from the root. */
  g_assert_true (studio_document_enter (document, document_serial (document, "body")));
  g_assert_true (studio_document_rename (document, document_serial (document, "act"), "bend", &error));
  g_assert_true (studio_document_rename (document, document_serial (document, "fc"), "map", &error));
  assert_sound (document);
  g_assert_cmpstr (slide (document, "within", "pins"), ==, "body.1.bend grad:head");
  g_assert_cmpstr (slide (document, "within", "spotlight"), ==, "map");
  assert_has (document, "<pin tensor=\"body.1.bend\"/>");
  g_assert_true (studio_document_undo (document));
  assert_undone (document);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ui/paths/group", test_group);
  g_test_add_func ("/ui/paths/ungroup", test_ungroup);
  g_test_add_func ("/ui/paths/rename", test_rename);
  return g_test_run ();
}
