/* Attributes that depend on each other: options follow their source, and a button fixes a misspelt name. */
#include "tests/test-program.h"
#include "tests/ui/document-test.h"

static const char two_sources[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                                  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"sources\">\n"
                                  "  <module name=\"block\">\n"
                                  "    <arg name=\"width\" type=\"int\" default=\"8\"/>\n"
                                  "    <node id=\"in\" op=\"module_input\"/>\n"
                                  "    <node id=\"fc\" op=\"linear\" out_features=\"{width}\"/>\n"
                                  "    <node id=\"out\" op=\"module_output\"/>\n"
                                  "    <wire from=\"in\" to=\"fc\"/>\n"
                                  "    <wire from=\"fc\" to=\"out\"/>\n"
                                  "  </module>\n"
                                  "  <node id=\"data\" op=\"dataset\" source=\"spirals\" noise=\"0.1\" turns=\"2\" "
                                  "seed=\"7\" title=\"Points\"/>\n"
                                  "  <node id=\"odd\" op=\"dataset\" source=\"spirals\" nois=\"0.2\"/>\n"
                                  "  <node id=\"sorce\" op=\"dataset\" sorce=\"spirals\"/>\n"
                                  "  <node id=\"twice\" op=\"dataset\" source=\"spirals\" noise=\"0.1\" "
                                  "nois=\"0.2\"/>\n"
                                  "  <node id=\"fc\" op=\"linear\" out_feature=\"2\"/>\n"
                                  "  <node id=\"b\" module=\"block\" widht=\"3\"/>\n"
                                  "  <wire from=\"data.x\" to=\"fc\"/>\n"
                                  "  <wire from=\"odd.x\" to=\"b\"/>\n"
                                  "</graph>\n";

static const char *
attribute_of (StudioDocument *document, const char *id, const char *name)
{
  return loom_element_get (loom_graph_by_serial (studio_document_get_graph (document), document_serial (document, id)),
                           name);
}

/* A data set from elsewhere has the options of its source, and one step brings back those of the one before. */
static void
test_source (void)
{
  g_autoptr (StudioDocument) document = document_load (two_sources);
  g_autofree char *before = document_text (document), *after = NULL;
  guint64 data = document_serial (document, "data");
  guint steps = studio_document_n_steps (document);

  studio_document_set_attribute (document, data, "source", "random");
  g_assert_cmpstr (attribute_of (document, "data", "source"), ==, "random");
  g_assert_null (attribute_of (document, "data", "noise"));
  g_assert_null (attribute_of (document, "data", "turns"));
  g_assert_cmpstr (attribute_of (document, "data", "seed"), ==, "7"); /* both have it */
  g_assert_cmpstr (attribute_of (document, "data", "title"), ==, "Points");
  g_assert_cmpuint (studio_document_n_steps (document), ==, steps + 1);
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Set source of data");
  g_assert_true (studio_document_undo (document));
  after = document_text (document);
  g_assert_cmpstr (after, ==, before);

  /* Typed: on the way there is no such source, and nothing is known of its options. */
  studio_document_set_attribute (document, data, "source", "cs");
  g_assert_cmpstr (attribute_of (document, "data", "noise"), ==, "0.1");
  studio_document_set_attribute (document, data, "source", "csv");
  g_assert_null (attribute_of (document, "data", "noise"));
  g_assert_cmpstr (attribute_of (document, "data", "seed"), ==, "7");
  /* An option that no source has is none that a change would drop. */
  studio_document_set_attribute (document, document_serial (document, "odd"), "source", "xor");
  g_assert_cmpstr (attribute_of (document, "odd", "nois"), ==, "0.2");
}

static void
check_rename (const char *id, const char *label, const char *old, const char *name, const char *value)
{
  g_autoptr (StudioDocument) document = document_load (two_sources);
  g_autofree char *before = document_text (document), *after = NULL, *offered = NULL;
  guint64 serial = document_serial (document, id);
  guint steps;

  studio_document_get_net (document);
  steps = studio_document_n_steps (document);
  offered = studio_document_dup_fix_label (document, serial);
  g_assert_cmpstr (offered, ==, label);
  g_assert_true (studio_document_apply_fix (document, serial));
  g_assert_cmpuint (studio_document_n_steps (document), ==, steps + 1);
  g_assert_cmpstr (studio_document_undo_name (document), ==, label);
  g_assert_null (attribute_of (document, id, old));
  g_assert_cmpstr (attribute_of (document, id, name), ==, value);
  g_assert_true (studio_document_undo (document));
  after = document_text (document);
  g_assert_cmpstr (after, ==, before);
}

/* "Did you mean" is a button: of data sets, of operators, of modules, and of the source's own name. */
static void
test_misspelt (void)
{
  g_autoptr (StudioDocument) document = document_load (two_sources);
  g_autofree char *offered = NULL;

  check_rename ("odd", "Rename nois to noise", "nois", "noise", "0.2");
  check_rename ("sorce", "Rename sorce to source", "sorce", "source", "spirals");
  check_rename ("fc", "Rename out_feature to out_features", "out_feature", "out_features", "2");
  check_rename ("b", "Rename widht to width", "widht", "width", "3");
  /* An attribute with the right name next to the misspelt one is kept. */
  studio_document_get_net (document);
  offered = studio_document_dup_fix_label (document, document_serial (document, "twice"));
  g_assert_cmpstr (offered, ==, "Remove nois");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ui/attributes/source", test_source);
  g_test_add_func ("/ui/attributes/misspelt", test_misspelt);
  return g_test_run ();
}
