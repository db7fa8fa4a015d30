/* Commands on several wires and nodes at once, on the document. No display. */
#include <string.h>

#include "tests/ui/document-test.h"

#define GRAPH(body)                                                                                                    \
  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n" body "</graph>\n"

static const char net[] = GRAPH ("  <node id=\"x\" op=\"input\" shape=\"B,8\"/>\n"
                                 "  <node id=\"fc\" op=\"linear\" out_features=\"4\"/>\n"
                                 "  <node id=\"act\" op=\"relu\"/>\n"
                                 "  <node id=\"head\" op=\"linear\" out_features=\"2\"/>\n"
                                 "  <node id=\"sum\" op=\"add\"/>\n"
                                 "  <node id=\"image\" op=\"input\" shape=\"B,1,28,28\"/>\n"
                                 "  <node id=\"conv\" op=\"conv2d\" out_channels=\"3\" kernel_size=\"3\"/>\n"
                                 "  <wire from=\"x\" to=\"fc\"/>\n"
                                 "  <wire from=\"fc\" to=\"act\"/>\n"
                                 "  <wire from=\"act\" to=\"head\"/>\n"
                                 "  <wire from=\"act\" to=\"sum.input\"/>\n"
                                 "  <wire from=\"fc\" to=\"sum.other\"/>\n"
                                 "  <layout>\n"
                                 "    <route from=\"fc\" to=\"act\" points=\"1,2\"/>\n"
                                 "  </layout>\n");

static void
assert_undone (StudioDocument *document, const char *before)
{
  g_autofree char *after = NULL;

  g_assert_true (studio_document_undo (document));
  after = document_text (document);
  g_assert_cmpstr (after, ==, before);
}

/* "fc>act,x>fc", in the order of the file. */
static char *
wires (StudioDocument *document)
{
  LoomElement *scope = studio_document_get_scope (document);
  GString *s = g_string_new (NULL);

  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      const LoomElement *e = loom_element_child (scope, i);

      if (loom_element_tag (e) == LOOM_TAG_WIRE)
        g_string_append_printf (s, "%s%s>%s", s->len > 0 ? " " : "", loom_element_get (e, "from"),
                                loom_element_get (e, "to"));
    }
  return g_string_free (s, FALSE);
}

static void
assert_wires (StudioDocument *document, const char *expected)
{
  g_autofree char *now = wires (document);

  g_assert_cmpstr (now, ==, expected);
}

static void
test_refusal (void)
{
  g_autoptr (StudioDocument) document = document_load (net);
  guint64 x = document_serial (document, "x"), fc = document_serial (document, "fc");
  guint64 act = document_serial (document, "act"), conv = document_serial (document, "conv");
  g_autofree char *shape = studio_document_dup_refusal (document, act, "out", conv, "input");
  g_autofree char *circle = studio_document_dup_refusal (document, act, "out", fc, "input");
  g_autofree char *itself = studio_document_dup_refusal (document, act, "out", act, "input");
  g_autofree char *fits = studio_document_dup_refusal (document, x, "out", act, "input");
  g_autofree char *text = document_text (document);

  g_assert_nonnull (shape);
  g_assert_nonnull (strstr (shape, "B × 4"));
  g_assert_true (g_str_has_suffix (shape, "."));
  g_assert_nonnull (strstr (circle, "circle"));
  g_assert_nonnull (strstr (itself, "itself"));
  g_assert_null (fits);
  g_assert_nonnull (strstr (text, net + strlen (net) - 40)); /* trying out has changed nothing */
}

static void
test_move_wires (void)
{
  g_autoptr (StudioDocument) document = document_load (net);
  g_autofree char *before = document_text (document);
  g_autoptr (GError) error = NULL;

  g_assert_true (studio_document_move_wires (document, document_serial (document, "fc"), "out",
                                             document_serial (document, "x"), "out", &error));
  g_assert_no_error (error);
  assert_wires (document, "x>fc x>act act>head act>sum.input x>sum.other");
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Move 2 wires to x");
  assert_undone (document, before);
  g_assert_false (studio_document_move_wires (document, document_serial (document, "x"), "out",
                                              document_serial (document, "act"), "out", &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_CYCLE);
  g_assert_null (studio_document_undo_name (document));
  {
    guint64 fc = document_serial (document, "fc"), x = document_serial (document, "x");
    g_autofree char *fits = studio_document_dup_moving_refusal (document, fc, "out", x, "out");
    g_autofree char *circle
        = studio_document_dup_moving_refusal (document, fc, "out", document_serial (document, "head"), "out");
    g_autofree char *unknown
        = studio_document_dup_moving_refusal (document, x, "out", document_serial (document, "conv"), "out");

    /* Both of its readers change at once, so that their shapes agree. */
    g_assert_null (fits);
    g_assert_nonnull (strstr (circle, "circle"));
    g_assert_null (unknown); /* of an output that has no type yet nothing can be said */
  }
}

static void
test_cut_wires (void)
{
  g_autoptr (StudioDocument) document = document_load (net);
  g_autofree char *before = document_text (document), *cut = NULL;
  StudioScene *scene = studio_document_get_scene (document);
  const guint64 both[] = { scene->link[1].serial, scene->link[3].serial };

  studio_document_cut_wires (document, both, G_N_ELEMENTS (both));
  assert_wires (document, "x>fc act>head fc>sum.other");
  cut = document_text (document);
  g_assert_null (strstr (cut, "<route")); /* no route without its wire */
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Cut 2 wires");
  assert_undone (document, before);
}

static void
test_dissolve (void)
{
  g_autoptr (StudioDocument) document = document_load (net);
  g_autofree char *before = document_text (document);
  guint64 both[2];

  studio_document_select_only (document, document_serial (document, "act"));
  studio_document_dissolve_selection (document);
  assert_wires (document, "x>fc fc>head fc>sum.input fc>sum.other");
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Dissolve act");
  assert_undone (document, before);
  /* A row of them. */
  both[0] = document_serial (document, "fc");
  both[1] = document_serial (document, "act");
  studio_document_select (document, both, 2);
  studio_document_dissolve_selection (document);
  assert_wires (document, "x>head x>sum.input x>sum.other");
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Dissolve 2 nodes");
  assert_undone (document, before);
  /* Where nothing feeds it, its wires go. */
  studio_document_select_only (document, document_serial (document, "x"));
  studio_document_dissolve_selection (document);
  assert_wires (document, "fc>act act>head act>sum.input fc>sum.other");
  assert_undone (document, before);
}

/* A neighbour that would refuse what came before keeps no wire. */
static void
test_dissolve_refused (void)
{
  g_autoptr (StudioDocument) document
      = document_load (GRAPH ("  <node id=\"x\" op=\"input\" shape=\"B,1,28,28\"/>\n"
                              "  <node id=\"flat\" op=\"flatten\"/>\n"
                              "  <node id=\"y\" op=\"input\" shape=\"B,784\"/>\n"
                              "  <node id=\"act\" op=\"relu\"/>\n"
                              "  <node id=\"sum\" op=\"matmul\"/>\n"
                              "  <node id=\"conv\" op=\"conv2d\" out_channels=\"2\" kernel_size=\"3\"/>\n"
                              "  <node id=\"wide\" op=\"flatten\"/>\n"
                              "  <node id=\"loss\" op=\"mse_loss\"/>\n"
                              "  <wire from=\"x\" to=\"flat\"/>\n"
                              "  <wire from=\"flat\" to=\"act\"/>\n"
                              "  <wire from=\"flat\" to=\"loss.input\"/>\n"
                              "  <wire from=\"y\" to=\"loss.target\"/>\n"));
  g_autofree char *before = document_text (document);

  studio_document_select_only (document, document_serial (document, "flat"));
  studio_document_dissolve_selection (document);
  assert_wires (document, "x>act y>loss.target");
  assert_undone (document, before);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ui/editing/refusal", test_refusal);
  g_test_add_func ("/ui/editing/move-wires", test_move_wires);
  g_test_add_func ("/ui/editing/cut-wires", test_cut_wires);
  g_test_add_func ("/ui/editing/dissolve", test_dissolve);
  g_test_add_func ("/ui/editing/dissolve-refused", test_dissolve_refused);
  return g_test_run ();
}
