/* The printed schema: it is valid itself, the build's file is the same text, it accepts what the writer writes and
 * refuses what the tables do not have. Texts for people and programs: every operator is in them. */
#include "engine/recipe/loom-schema.h"
#include "engine/recipe/loom-train-spec.h"
#include "tests/graph/graph-test.h"
#include "tests/test-program.h"

#include <libxml/relaxng.h>
#include <string.h>

static void
collect_cb (void *data, xmlErrorPtr error)
{
  g_string_append_printf (data, "line %d: %s", error->line, error->message);
}

static xmlRelaxNGPtr
load_schema (void)
{
  g_autofree char *text = loom_schema ();
  g_autoptr (GString) complaints = g_string_new (NULL);
  xmlRelaxNGParserCtxtPtr parser = xmlRelaxNGNewMemParserCtxt (text, (int)strlen (text));
  xmlRelaxNGPtr schema;

  xmlRelaxNGSetParserStructuredErrors (parser, (xmlStructuredErrorFunc)collect_cb, complaints);
  schema = xmlRelaxNGParse (parser);
  xmlRelaxNGFreeParserCtxt (parser);
  g_assert_cmpstr (complaints->str, ==, "");
  g_assert_nonnull (schema);
  return schema;
}

static gboolean
accepts (xmlRelaxNGPtr schema, const char *text, GString *complaints)
{
  xmlDocPtr doc = xmlReadMemory (text, (int)strlen (text), "graph.xml", NULL, XML_PARSE_NONET);
  xmlRelaxNGValidCtxtPtr context = xmlRelaxNGNewValidCtxt (schema);
  int status;

  g_assert_nonnull (doc);
  xmlRelaxNGSetValidStructuredErrors (context, (xmlStructuredErrorFunc)collect_cb, complaints);
  status = xmlRelaxNGValidateDoc (context, doc);
  xmlRelaxNGFreeValidCtxt (context);
  xmlFreeDoc (doc);
  return status == 0;
}

static void
test_copy (void)
{
  g_autofree char *text = loom_schema (), *built = NULL;
  g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom.rng", NULL);
  g_autoptr (GError) error = NULL;

  g_file_get_contents (path, &built, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (built, ==, text);
}

static void
test_accepts (void)
{
  static const char *const more[] = {
    "<node id='a' op='linear' out_features='2' weight_init='normal(std=0.1)' bias_init='zeros'/>",
    "<train loss='a'><schedule type='sequential' milestones='2'><schedule type='chained'><schedule/></schedule>"
    "<schedule type='lambda' formula='1 / (1 + step)'/></schedule></train>",
    "<train loss='a' optimizer='muon' ns_coefficients='3,-4,2'><group match='a' adamw='true'/></train>",
    "<train loss='a' optimizer='adafactor' eps='0.1,0.2' eps1='0.1'/>",
  };
  xmlRelaxNGPtr schema = load_schema ();
  g_autoptr (GString) complaints = g_string_new (NULL);

  if (!accepts (schema, example_graph, complaints))
    g_error ("the schema refuses the example: %s", complaints->str);
  for (guint i = 0; i < G_N_ELEMENTS (more); i++)
    {
      g_autofree char *text = g_strconcat ("<graph xmlns='urn:gradloom:graph' version='1'>", more[i], "</graph>", NULL);

      if (!accepts (schema, text, complaints))
        g_error ("the schema refuses %s: %s", more[i], complaints->str);
    }
  xmlRelaxNGFree (schema);
}

static void
test_refuses (void)
{
  static const char *const bodies[] = {
    "<node id='a' op='no_such_op'/>",
    "<node id='a b' op='relu'/>",
    "<node op='relu'/>",
    "<node id='a' op='linear'/>",
    "<node id='a' op='linear' out_features='ten'/>",
    "<node id='a' op='linear' out_features='10' bias='maybe'/>",
    "<node id='a' op='relu' nonsense='1'/>",
    "<node id='a' op='dataset' source='spirals' nosie='5'/>",
    "<node id='a' op='dataset' source='xor' delimiter=';'/>",
    "<node id='a' op='dataset' source='spiral'/>",
    "<wire from='a'/>",
    "<nod id='a' op='relu'/>",
    "<train/>",
    "<train loss='a' epoch='3'/>",
    "<train loss='a' epochs='many'/>",
    "<train loss='a' optimizer='sdg'/>",
    "<train loss='a' optimizer='adam' momentum='0.9'/>",
    "<train loss='a' rho='0.9'/>",
    "<train loss='a' tf32='yes'/>",
    "<train loss='a'><schedule type='cosine' gamma='0.1'/></train>",
    "<train loss='a'><schedule milestones='1,2'/></train>",
    "<train loss='a'><schedule type='lambda'/></train>",
    "<train loss='a' optimizer='rprop' eps='0.1'/>",
    "<train loss='a'><clip length='1'/></train>",
    "<train loss='a'><group match='fc' momentum='0.9'/></train>",
    "<train loss='a'><group lr='1'/></train>",
    "<train loss='a'><metric type='accuracy' input='a' target='b' k='2'/></train>",
    "<train loss='a'><metric type='accurate' input='a' target='b'/></train>",
  };
  xmlRelaxNGPtr schema = load_schema ();

  for (guint i = 0; i < G_N_ELEMENTS (bodies); i++)
    {
      g_autofree char *text
          = g_strconcat ("<graph xmlns='urn:gradloom:graph' version='1'>", bodies[i], "</graph>", NULL);
      g_autoptr (GString) complaints = g_string_new (NULL);

      if (accepts (schema, text, complaints))
        g_error ("the schema takes %s", bodies[i]);
    }
  xmlRelaxNGFree (schema);
}

/* Every graph that is shipped is canonical, free of faults of grammar, and fits the schema. */
static void
check_folder (const char *folder, xmlRelaxNGPtr schema, guint *n)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;

  g_assert_nonnull (dir);
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);
      g_autofree char *before = NULL, *after = NULL, *sentences = NULL;
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomFaults) faults = loom_faults_new ();
      g_autoptr (LoomGraph) graph = NULL;
      g_autoptr (LoomNet) net = NULL;
      g_autoptr (GString) complaints = g_string_new (NULL);

      if (g_file_test (path, G_FILE_TEST_IS_DIR))
        {
          check_folder (path, schema, n);
          continue;
        }
      if (!g_str_has_suffix (name, ".xml"))
        continue;
      ++*n;
      g_file_get_contents (path, &before, NULL, &error);
      g_assert_no_error (error);
      graph = loom_graph_read_file (path, faults, &error);
      g_assert_no_error (error);
      after = loom_graph_write (graph, NULL);
      g_test_message ("%s", path);
      g_assert_cmpstr (after, ==, before);
      if (!accepts (schema, after, complaints))
        g_error ("the schema refuses %s: %s", path, complaints->str);
      net = loom_net_new (graph, NULL, faults);
      sentences = faults_as_text (faults);
      /* A data set that is not on this machine is no fault of the graph. */
      for (guint i = 0; i < loom_faults_length (faults); i++)
        if (loom_faults_get (faults, i)->code != LOOM_ERROR_DATA && loom_faults_get (faults, i)->code != LOOM_ERROR_IO)
          g_error ("%s: %s", path, sentences);
    }
}

static void
test_shipped (void)
{
  g_autofree char *folder = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", NULL);
  xmlRelaxNGPtr schema = load_schema ();
  guint n = 0;

  check_folder (folder, schema, &n);
  g_test_message ("%u graphs", n);
  g_assert_cmpuint (n, >, 0);
  xmlRelaxNGFree (schema);
}

static void
test_texts (void)
{
  g_autofree char *markdown = loom_ops_markdown ();
  const LoomOp *const *ops = loom_ops ();

  for (guint i = 0; ops[i] != NULL; i++)
    {
      g_autofree char *json = loom_op_json (ops[i]), *in_json = g_strdup_printf ("{\"name\":\"%s\"", ops[i]->name);
      g_autofree char *in_markdown = g_strdup_printf ("(`%s`)", ops[i]->name);
      g_autofree char *help = loom_op_help (ops[i]);

      g_assert_true (g_utf8_validate (json, -1, NULL));
      g_assert_true (g_str_has_prefix (json, in_json));
      g_assert_null (strchr (json, '\n'));
      g_assert_nonnull (strstr (markdown, in_markdown));
      g_assert_true (g_str_has_prefix (help, ops[i]->name));
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/schema/copy", test_copy);
  g_test_add_func ("/schema/accepts", test_accepts);
  g_test_add_func ("/schema/refuses", test_refuses);
  g_test_add_func ("/schema/shipped-graphs", test_shipped);
  g_test_add_func ("/schema/texts", test_texts);
  return g_test_run ();
}
