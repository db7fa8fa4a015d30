/* Comparing a document with an older graph: which cards and wires of the scope are marked, and where removed ones were.
 * No display. */
#include <string.h>

#include "tests/test-program.h"
#include "tests/ui/document-test.h"
#include "ui/document/studio-comparison.h"
#include "ui/document/studio-document-history.h"
#include "ui/scene/studio-geometry.h"

static const char before_text[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                                  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"block\">\n"
                                  "  <module name=\"block\">\n"
                                  "    <node id=\"in\" op=\"module_input\"/>\n"
                                  "    <node id=\"fc\" op=\"linear\" out_features=\"8\"/>\n"
                                  "    <node id=\"out\" op=\"module_output\"/>\n"
                                  "    <wire from=\"in\" to=\"fc\"/>\n"
                                  "    <wire from=\"fc\" to=\"out\"/>\n"
                                  "  </module>\n"
                                  "  <module name=\"outer\">\n"
                                  "    <node id=\"in\" op=\"module_input\"/>\n"
                                  "    <node id=\"b\" module=\"block\" repeat=\"2\"/>\n"
                                  "    <node id=\"out\" op=\"module_output\"/>\n"
                                  "    <wire from=\"in\" to=\"b\"/>\n"
                                  "    <wire from=\"b\" to=\"out\"/>\n"
                                  "  </module>\n"
                                  "  <node id=\"x\" op=\"input\" shape=\"B,8\"/>\n"
                                  "  <node id=\"fc\" op=\"linear\" out_features=\"8\"/>\n"
                                  "  <node id=\"act\" op=\"relu\"/>\n"
                                  "  <node id=\"m\" module=\"outer\"/>\n"
                                  "  <wire from=\"x\" to=\"fc\"/>\n"
                                  "  <wire from=\"fc\" to=\"act\"/>\n"
                                  "  <wire from=\"act\" to=\"m\"/>\n"
                                  "  <layout>\n"
                                  "    <place node=\"act\" x=\"600\" y=\"300\"/>\n"
                                  "    <place node=\"fc\" x=\"300\" y=\"300\"/>\n"
                                  "    <place node=\"m\" x=\"900\" y=\"300\"/>\n"
                                  "    <place node=\"x\" x=\"0\" y=\"300\"/>\n"
                                  "  </layout>\n"
                                  "</graph>\n";

static StudioComparison *
compare_with_start (StudioDocument *document)
{
  return studio_comparison_new (document, studio_document_graph_at (document, 0), "the start");
}

static void
test_marks (void)
{
  g_autoptr (StudioDocument) document = document_load (before_text);
  g_autoptr (StudioComparison) comparison = compare_with_start (document);
  const StudioChange *change;
  const StudioScene *ghosts;
  const gboolean *gone;
  double x, y;
  guint n;

  g_assert_cmpuint (studio_comparison_get_differences (comparison)->len, ==, 0);
  g_assert_null (studio_comparison_card (comparison, "fc"));

  studio_document_set_attribute (document, document_serial (document, "fc"), "out_features", "16");
  change = studio_comparison_card (comparison, "fc");
  g_assert_nonnull (change);
  g_assert_cmpint (change->kind, ==, LOOM_DIFFERENCE_CHANGED);
  g_assert_cmpstr (change->words, ==, "out_features 8 → 16");
  g_assert_null (studio_comparison_card (comparison, "m"));

  studio_document_select_only (document, document_serial (document, "act"));
  studio_document_delete_selection (document);
  studio_document_add_node (document, "gelu", 600, 600);
  g_assert_cmpint (studio_comparison_card (comparison, "gelu")->kind, ==, LOOM_DIFFERENCE_ADDED);
  ghosts = studio_comparison_get_ghosts (comparison, &gone);
  for (guint i = 0; i < ghosts->n_items; i++)
    g_assert_cmpint (gone[i], ==, strcmp (ghosts->item[i].id, "act") == 0);
  g_assert_true (studio_comparison_find_ghost (comparison, "act", &x, &y));
  g_assert_cmpfloat (x, ==, 600 + STUDIO_CARD_WIDTH / 2);
  g_assert_cmpfloat (y, ==, 300 + STUDIO_CARD_HEIGHT / 2);
  g_assert_false (studio_comparison_find_ghost (comparison, "fc", &x, &y));
  studio_comparison_get_lost_wires (comparison, &n);
  g_assert_cmpuint (n, ==, 2); /* fc → act, act → m */

  while (studio_document_undo (document))
    ;
  g_assert_cmpuint (studio_comparison_get_differences (comparison)->len, ==, 0);
  g_assert_null (studio_comparison_card (comparison, "fc"));
  g_assert_false (studio_comparison_find_ghost (comparison, "act", &x, &y));
}

static void
test_wires (void)
{
  g_autoptr (StudioDocument) document = document_load (before_text);
  g_autoptr (StudioComparison) comparison = compare_with_start (document);
  StudioScene *scene = studio_document_get_scene (document);
  guint64 x = document_serial (document, "x"), act = document_serial (document, "act"), wire;
  guint marked = 0, n;
  const StudioLostWire *lost;
  double px, py;

  wire = studio_document_connect (document, x, "out", act, "input", NULL);
  g_assert_cmpuint (wire, !=, 0);
  g_assert_cmpint (studio_comparison_wire (comparison, wire)->kind, ==, LOOM_DIFFERENCE_CHANGED);
  scene = studio_document_get_scene (document);
  for (guint l = 0; l < scene->n_links; l++)
    marked += studio_comparison_wire (comparison, scene->link[l].serial) != NULL;
  g_assert_cmpuint (marked, ==, 1);
  /* The removed wire starts at the current output of fc. */
  lost = studio_comparison_get_lost_wires (comparison, &n);
  g_assert_cmpuint (n, ==, 1);
  studio_geometry_port (&scene->item[studio_scene_find_id (scene, "fc")], TRUE, 0, &px, &py);
  g_assert_cmpfloat (lost->x0, ==, px);
  g_assert_cmpfloat (lost->y0, ==, py);
}

/* A difference inside a module is marked at every card of the module, and leads into it. */
static void
test_modules (void)
{
  g_autoptr (StudioDocument) document = document_load (before_text);
  g_autoptr (StudioComparison) comparison = compare_with_start (document);
  const GPtrArray *differences;

  g_assert_true (studio_document_reveal (document, "m.b.0.fc"));
  studio_document_set_attribute (document, document_serial (document, "fc"), "bias", "false");
  g_assert_cmpstr (studio_comparison_card (comparison, "fc")->words, ==, "bias true (default) → false");
  studio_document_leave_to (document, 0);
  g_assert_cmpint (studio_comparison_card (comparison, "m")->kind, ==, LOOM_DIFFERENCE_CHANGED);
  /* The graph is called as the module is: its own fc is another. */
  g_assert_null (studio_comparison_card (comparison, "fc"));
  differences = studio_comparison_get_differences (comparison);
  g_assert_cmpuint (differences->len, ==, 1);
  g_assert_true (studio_comparison_reveal (comparison, differences->pdata[0]));
  g_assert_cmpstr (studio_document_get_scope_path (document), ==, "m.b.0");
  g_assert_cmpuint (studio_document_get_selected (document, 0), ==, document_serial (document, "fc"));
}

static void
test_renamed (void)
{
  g_autoptr (StudioDocument) document = document_load (before_text);
  g_autoptr (StudioComparison) comparison = compare_with_start (document);
  const gboolean *gone;
  const StudioScene *ghosts;

  g_assert_true (studio_document_rename (document, document_serial (document, "act"), "gate", NULL));
  g_assert_cmpint (studio_comparison_card (comparison, "gate")->kind, ==, LOOM_DIFFERENCE_RENAMED);
  g_assert_cmpstr (studio_comparison_card (comparison, "gate")->words, ==, "act → gate");
  ghosts = studio_comparison_get_ghosts (comparison, &gone);
  for (guint i = 0; i < ghosts->n_items; i++)
    g_assert_false (gone[i]);
}

/* Whatever is edited, the comparison with the start agrees with what the engine finds, and every ghost was a card. */
static void
test_random (void)
{
  g_autoptr (StudioDocument) document = document_load (before_text);
  g_autoptr (StudioComparison) comparison = compare_with_start (document);
  g_autoptr (LoomGraph) start = studio_document_graph_at (document, 0);
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);

  for (guint i = 0; i < 300; i++)
    {
      g_autoptr (GPtrArray) expected = NULL;
      const GPtrArray *list;
      const StudioScene *scene;
      guint marked = 0, nodes = 0;

      if (i % 40 == 39)
        studio_document_jump (document, (guint)g_rand_int_range (rand, 0, (int)studio_document_n_history (document)));
      else
        document_random_edit (document, rand);
      expected = loom_graph_diff (start, studio_document_get_graph (document), FALSE);
      list = studio_comparison_get_differences (comparison);
      g_assert_cmpuint (list->len, ==, expected->len);
      scene = studio_document_get_scene (document);
      for (guint k = 0; k < scene->n_items; k++)
        marked += studio_comparison_card (comparison, scene->item[k].id) != NULL;
      for (guint k = 0; k < list->len; k++)
        {
          const LoomDifference *d = list->pdata[k];
          double x, y;

          if (strcmp (d->what, "node") != 0 || d->scope != NULL)
            continue;
          nodes += d->kind != LOOM_DIFFERENCE_REMOVED;
          g_assert_cmpint (studio_comparison_find_ghost (comparison, d->name, &x, &y), ==,
                           d->kind == LOOM_DIFFERENCE_REMOVED);
        }
      g_assert_cmpuint (marked, ==, nodes);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/comparison/marks", test_marks);
  g_test_add_func ("/comparison/wires", test_wires);
  g_test_add_func ("/comparison/modules", test_modules);
  g_test_add_func ("/comparison/renamed", test_renamed);
  g_test_add_func ("/comparison/random", test_random);
  return g_test_run ();
}
