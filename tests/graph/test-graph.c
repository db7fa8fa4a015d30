/* The graph as a tree and as a file: round trips, edits and their inverses, look-ups, hash. */
#include "engine/graph/loom-digest.h"
#include "tests/graph/graph-test.h"
#include "tests/test-program.h"

#include <glib/gstdio.h>
#include <unistd.h>
#include <string.h>

static char *
text_of (const LoomGraph *graph)
{
  return loom_graph_write (graph, NULL);
}

static void
test_round_trip (void)
{
  g_autoptr (LoomGraph) graph = graph_from_text (example_graph, NULL);
  g_autofree char *text = text_of (graph);

  g_assert_cmpstr (text, ==, example_graph);
  g_assert_cmpstr (loom_element_get (loom_scope_find_node (loom_graph_root (graph), "fc"), "title"), ==, "a\nb\tc");
  g_assert_cmpint (loom_element_line (loom_scope_find_node (loom_graph_root (graph), "data")), ==, 20);
}

/* A file that is not canonical becomes so at the first writing, and stays so. */
static void
test_canonical (void)
{
  static const char *const texts[] = {
    "<g:graph xmlns:g='urn:gradloom:graph' name='n' version='1'><g:node op='relu' p='\xC3\xA9' id='a'/></g:graph>",
    "<graph xmlns='urn:gradloom:graph' version='1' xmlns:q='urn:q'><!----><node op='relu' q:hint='1' id='a'/>\n"
    "<q:r><s>]]&gt;<!-- c --><?pi x?></s></q:r></graph><!-- after -->",
    "<graph xmlns='urn:gradloom:graph' version='1'><doc> <![CDATA[<b>&amp;]]>\r\n </doc><lesson "
    "title='l'><page goal='x'>text\n  and</page></lesson></graph>",
    "<graph xmlns='urn:gradloom:graph' version='1'/>",
    "\xEF\xBB\xBF<graph xmlns='urn:gradloom:graph' version='1'><module name='m'/><doc/></graph>",
  };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (LoomFaults) faults = NULL;
      g_autoptr (LoomGraph) first = graph_from_text (texts[i], &faults);
      g_autofree char *once = text_of (first);
      g_autoptr (LoomGraph) second = graph_from_text (once, NULL);
      g_autofree char *twice = text_of (second);

      g_assert_cmpuint (loom_faults_count (faults), ==, 0);
      g_assert_cmpstr (once, ==, twice);
    }
}

static void
test_unstorable_text (void)
{
  g_autoptr (LoomGraph) graph = loom_graph_new ("a\001b\xff\xef\xbf\xbf");
  LoomElement *comment = loom_element_new (LOOM_TAG_COMMENT, NULL);
  g_autofree char *text = NULL, *again = NULL;
  g_autoptr (LoomGraph) read = NULL;

  loom_edit_free (loom_graph_apply (graph, loom_edit_insert (loom_graph_root (graph), 0, comment)));
  loom_edit_free (loom_graph_apply (graph, loom_edit_set_text (comment, "a--b---")));
  text = text_of (graph);
  read = graph_from_text (text, NULL);
  again = text_of (read);
  g_assert_cmpstr (text, ==, again);
  g_assert_cmpstr (loom_element_get (loom_graph_root (graph), "name"), ==, "a\uFFFDb\uFFFD\uFFFD");
}

static void
test_read_errors (void)
{
  static const struct
  {
    const char *text, *says;
  } cases[] = {
    { "", "*empty*" },
    { "hello", "*line 1*" },
    { "<svg xmlns='http://www.w3.org/2000/svg'/>", "*<svg>*" },
    { "<graph version='1'/>", "*<graph>*" },
    { "<graph xmlns='urn:gradloom:graph' version='1'>\n<node id='a'\n</graph>", "*line 3*" },
    { "<!-- c -->\n<!DOCTYPE graph [<!ENTITY a 'b'>]>\n<graph xmlns='urn:gradloom:graph' version='1'/>",
      "*line 2*DOCTYPE*" },
    { "<graph xmlns='urn:gradloom:graph' version='1'><node id='&a;'/></graph>", "*line 1*" },
    { "<graph xmlns='urn:gradloom:graph' version='1' name='\xff'/>", "*UTF-8*" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (LoomFaults) faults = loom_faults_new ();
      g_autoptr (GError) error = NULL;

      g_assert_null (loom_graph_read_data (cases[i].text, strlen (cases[i].text), "f.xml", faults, &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_PARSE);
      if (!g_pattern_match_simple (cases[i].says, error->message))
        g_error ("case %u: “%s” does not match “%s”", i, error->message, cases[i].says);
    }
}

static char *
repeated (const char *before, const char *unit, guint n, const char *after)
{
  GString *text = g_string_new (before);

  for (guint i = 0; i < n; i++)
    g_string_append (text, unit);
  g_string_append (text, after);
  return g_string_free (text, FALSE);
}

static void
test_limits (void)
{
  g_autofree char *deep = repeated ("<graph xmlns='urn:gradloom:graph' version='1'>", "<a xmlns='urn:a'>", 70, "");
  g_autofree char *wide
      = repeated ("<graph xmlns='urn:gradloom:graph' version='1'>", "<wire from='a' to='b'/>", 1000001, "</graph>");
  g_autofree char *fat
      = repeated ("<graph xmlns='urn:gradloom:graph' version='1' name='", "0123456789abcdef", 65537, "'/>");
  g_autoptr (GString) many = g_string_new ("<graph xmlns='urn:gradloom:graph' version='1'><node id='a' n='>'");
  const char *texts[] = { deep, wide, fat, NULL };

  /* The parser alone would take minutes over these attributes. */
  for (guint i = 0; i < 200000; i++)
    g_string_append_printf (many, " a%u='%u'", i, i);
  g_string_append (many, "/></graph>");
  texts[3] = many->str;
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (LoomFaults) faults = loom_faults_new ();
      g_autoptr (GError) error = NULL;

      g_assert_null (loom_graph_read_data (texts[i], strlen (texts[i]), "f.xml", faults, &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_PARSE);
      g_test_message ("%s", error->message);
      g_assert_true (strstr (error->message, "1,000,000") != NULL || strstr (error->message, "64") != NULL
                     || strstr (error->message, "1 MB") != NULL
                     || strstr (error->message, "200002 attributes") != NULL);
    }
}

static void
test_file (void)
{
  g_autofree char *folder = g_dir_make_tmp ("loom-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "g.xml", NULL);
  g_autofree char *link_path = g_build_filename (folder, "link.xml", NULL);
  g_autofree char *nowhere = g_build_filename (folder, "no", "g.xml", NULL);
  g_autoptr (LoomGraph) graph = graph_from_text (example_graph, NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) read = NULL;

  g_assert_true (loom_graph_write_file (graph, path, &error));
  g_assert_no_error (error);
  read = loom_graph_read_file (path, faults, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (loom_graph_get_folder (read), ==, folder);

  /* A link stays a link: its target is replaced. */
  g_assert_cmpint (symlink ("g.xml", link_path), ==, 0);
  g_assert_true (loom_graph_write_file (graph, link_path, &error));
  g_assert_no_error (error);
  g_assert_true (g_file_test (link_path, G_FILE_TEST_IS_SYMLINK));
  g_assert_cmpint (g_remove (link_path), ==, 0);

  g_assert_false (loom_graph_write_file (graph, nowhere, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_IO);
  g_clear_error (&error);
  g_assert_null (loom_graph_read_file (nowhere, faults, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_IO);
  g_assert_cmpint (g_remove (path) | g_rmdir (folder), ==, 0);
}

/* ---- edits ------------------------------------------------------------- */

static LoomElement *
random_element (LoomGraph *graph, GRand *rand)
{
  LoomElement *e = loom_graph_root (graph);

  while (loom_element_n_children (e) > 0 && g_rand_int_range (rand, 0, 4) > 0)
    e = loom_element_child (e, g_rand_int_range (rand, 0, loom_element_n_children (e)));
  return e;
}

/* Any edit whose result is still a file that can be read. */
static LoomEdit *
random_edit (LoomGraph *graph, GRand *rand)
{
  LoomElement *e = random_element (graph, rand), *root = loom_graph_root (graph);
  LoomElement *scope = loom_element_tag (e) == LOOM_TAG_MODULE ? e : root;
  LoomTag tag = loom_element_tag (e);
  g_autofree char *id = g_strdup_printf ("n%d", g_rand_int_range (rand, 0, 6));

  switch (g_rand_int_range (rand, 0, 6))
    {
    case 0:
      if (e != root)
        return loom_edit_remove (e);
      G_GNUC_FALLTHROUGH;
    case 1:
      return loom_edit_insert (scope, loom_element_place_for (scope, LOOM_TAG_NODE),
                               loom_element_new (LOOM_TAG_NODE, "id", id, "op", "relu", NULL));
    case 2:
      if (tag == LOOM_TAG_NODE)
        return loom_edit_set (e, "id", id); /* duplicates on purpose */
      G_GNUC_FALLTHROUGH;
    case 3:
      if (tag == LOOM_TAG_NODE)
        return loom_edit_set (e, g_rand_boolean (rand) ? "p" : "q", g_rand_boolean (rand) ? "1\t<&\n" : NULL);
      G_GNUC_FALLTHROUGH;
    case 4:
      if (tag == LOOM_TAG_DOC || tag == LOOM_TAG_COMMENT)
        return loom_edit_set_text (e, g_rand_boolean (rand) ? "new\ttext" : NULL);
      if (tag == LOOM_TAG_PLACE)
        return loom_edit_set (e, g_rand_boolean (rand) ? "node" : "x", "7");
      G_GNUC_FALLTHROUGH;
    default:
      if (tag == LOOM_TAG_LAYOUT)
        return loom_edit_insert (e, 0, loom_element_new (LOOM_TAG_PLACE, "node", id, "x", "1", "y", "2", NULL));
      return loom_edit_insert (scope, loom_element_place_for (scope, LOOM_TAG_WIRE),
                               loom_element_new (LOOM_TAG_WIRE, "from", id, "to", "fc", NULL));
    }
}

/* The tables must agree with a linear search. */
static void
assert_tables (LoomElement *scope)
{
  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      LoomElement *e = loom_element_child (scope, i);

      g_assert_cmpuint (loom_element_index (e), ==, i);
      if (loom_element_tag (e) == LOOM_TAG_NODE)
        {
          LoomElement *found = loom_scope_find_node (scope, loom_element_get (e, "id"));

          g_assert_nonnull (found);
          g_assert_true (loom_element_parent (found) == scope);
          g_assert_cmpstr (loom_element_get (found, "id"), ==, loom_element_get (e, "id"));
        }
      if (loom_element_tag (e) == LOOM_TAG_MODULE)
        assert_tables (e);
    }
  for (int k = 0; k < 6; k++)
    {
      g_autofree char *id = g_strdup_printf ("n%d", k);
      gboolean there = FALSE;

      for (guint i = 0; i < loom_element_n_children (scope); i++)
        there |= loom_element_tag (loom_element_child (scope, i)) == LOOM_TAG_NODE
                 && g_strcmp0 (loom_element_get (loom_element_child (scope, i), "id"), id) == 0;
      g_assert_cmpint (loom_scope_find_node (scope, id) != NULL, ==, there);
    }
}

/* The digest that elements keep must be that of the same graph, read from its file, and follow the hash. digests: by
 * hash. */
static void
assert_digest (const LoomGraph *graph, GHashTable *digests)
{
  g_autofree char *text = text_of (graph), *hash = loom_graph_hash (graph), *digest = loom_graph_digest (graph);
  g_autoptr (LoomFaults) faults = NULL;
  g_autoptr (LoomGraph) read = graph_from_text (text, &faults), frozen = loom_graph_freeze (graph);
  g_autofree char *again = loom_graph_digest (read), *copied = loom_graph_digest (frozen);
  const char *other = g_hash_table_lookup (digests, hash);

  g_assert_cmpstr (digest, ==, again);
  g_assert_cmpstr (digest, ==, copied);
  if (other != NULL)
    g_assert_cmpstr (digest, ==, other);
  else
    g_hash_table_insert (digests, g_steal_pointer (&hash), g_strdup (digest));
}

static void
test_edits (void)
{
  g_autoptr (GHashTable) digests = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr (GHashTable) different = g_hash_table_new (g_str_hash, g_str_equal);
  GHashTableIter iter;
  gpointer digest;

  for (guint seed = 0; seed < 40; seed++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      g_autoptr (LoomGraph) graph = graph_from_text (example_graph, NULL);
      g_autoptr (LoomGraph) replay = graph_from_text (example_graph, NULL);
      g_autoptr (GPtrArray) undo = g_ptr_array_new (), redo = g_ptr_array_new ();
      g_autofree char *before = text_of (graph), *after = NULL, *undone = NULL, *redone = NULL, *replayed = NULL;

      for (int k = 0; k < 60; k++)
        {
          LoomEdit *edit = random_edit (graph, rand);
          g_autofree char *line = loom_edit_to_line (graph, edit);
          g_autoptr (GError) error = NULL;
          LoomEdit *copy = loom_edit_from_line (replay, line, &error);

          g_assert_no_error (error);
          g_assert_null (strchr (line, '\n'));
          loom_edit_free (loom_graph_apply (replay, copy));
          g_ptr_array_add (undo, loom_graph_apply (graph, edit));
          assert_tables (loom_graph_root (graph));
          assert_digest (graph, digests);
        }
      after = text_of (graph);
      replayed = text_of (replay);
      g_assert_cmpstr (replayed, ==, after);

      while (undo->len > 0)
        {
          g_ptr_array_add (redo, loom_graph_apply (graph, g_ptr_array_steal_index (undo, undo->len - 1)));
          assert_tables (loom_graph_root (graph));
          assert_digest (graph, digests);
        }
      undone = text_of (graph);
      g_assert_cmpstr (undone, ==, before);
      while (redo->len > 0)
        loom_edit_free (loom_graph_apply (graph, g_ptr_array_steal_index (redo, redo->len - 1)));
      redone = text_of (graph);
      g_assert_cmpstr (redone, ==, after);
    }
  g_hash_table_iter_init (&iter, digests);
  while (g_hash_table_iter_next (&iter, NULL, &digest))
    g_assert_true (g_hash_table_add (different, digest));
  g_assert_cmpuint (g_hash_table_size (different), >, 1000);
}

static void
test_damaged_lines (void)
{
  g_autoptr (LoomGraph) graph = graph_from_text (example_graph, NULL);
  static const char *const lines[] = {
    "",
    "insert",
    "insert\t.\t0\tnode",
    "insert\t.\t0\tnode\t-\t99999\t0\tid\ta",
    "insert\t.\t0\tgraph\t-\t0\t0",
    "remove\t.",
    "remove\t99",
    "remove\t0.5",
    "set\t0",
    "set\t0\t1\t\t=v",
    "text\t0\tx",
    "insert\t.\t0\tnode\t-\t0\t0\tmore",
  };

  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (loom_edit_from_line (graph, lines[i], &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_PARSE);
    }
}

static void
test_serials (void)
{
  g_autoptr (LoomGraph) graph = graph_from_text (example_graph, NULL);
  LoomElement *fc = loom_scope_find_node (loom_graph_root (graph), "fc");
  guint64 serial = loom_element_serial (fc), version = loom_graph_version (graph);
  LoomEdit *undo = loom_graph_apply (graph, loom_edit_remove (fc));
  g_autoptr (LoomGraph) frozen = loom_graph_freeze (graph);

  g_assert_null (loom_graph_by_serial (graph, serial));
  g_assert_cmpuint (loom_graph_version (graph), ==, version + 1);
  loom_edit_free (loom_graph_apply (graph, undo));
  g_assert_true (loom_graph_by_serial (graph, serial) == fc);
  g_assert_true (loom_scope_find_node (loom_graph_root (graph), "fc") == fc);

  g_assert_true (loom_graph_is_frozen (frozen));
  g_assert_null (loom_scope_find_node (loom_graph_root (frozen), "fc"));
  g_assert_null (loom_graph_by_serial (frozen, serial));
}

static void
test_ids (void)
{
  g_autoptr (LoomGraph) graph = graph_from_text (example_graph, NULL);
  LoomElement *root = loom_graph_root (graph);
  static const struct
  {
    const char *wanted, *got;
  } cases[] = { { "linear", "linear" }, { "fc", "fc_2" }, { "a b", "a_b" }, { "a-b", "a-b" }, { "-b", "_b" }, { "", "node" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *id = loom_scope_free_id (root, cases[i].wanted);

      g_assert_cmpstr (id, ==, cases[i].got);
    }
  g_assert_true (loom_id_is_valid ("0_aZ"));
  g_assert_true (loom_id_is_valid ("block1-0"));
  g_assert_false (loom_id_is_valid ("-0"));
  g_assert_false (loom_name_is_valid ("block1-0"));
  g_assert_false (loom_id_is_valid ("a.b"));
  g_assert_false (loom_id_is_valid ("\xC3\xA9"));
  g_assert_false (loom_end_split (".x", NULL, NULL));
  g_assert_false (loom_end_split ("x.", NULL, NULL));
}

static void
test_paths (void)
{
  static const char *const text = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                                  "  <module name=\"block\">\n"
                                  "    <node id=\"act\" op=\"relu\"/>\n"
                                  "    <node id=\"0\" op=\"tanh\"/>\n"
                                  "  </module>\n"
                                  "  <node id=\"one\" module=\"block\"/>\n"
                                  "  <node id=\"many\" module=\"block\" repeat=\"3\"/>\n"
                                  "</graph>\n";
  /* The operator or module of the node, and whether something is inside. */
  static const struct
  {
    const char *path, *name;
    gboolean inside;
  } cases[] = {
    { "one", "block", TRUE },        { "one.act", "relu", FALSE }, { "one.0", "tanh", FALSE },
    { "many", "block", TRUE },       { "many.2", "block", TRUE },  { "many.act", "relu", FALSE },
    { "many.2.act", "relu", FALSE }, { "", NULL, TRUE },           { "one.act.x", NULL, FALSE },
    { "one.1.act", NULL, FALSE },    { "none", NULL, FALSE },      { "one.", NULL, FALSE },
  };
  g_autoptr (LoomGraph) graph = graph_from_text (text, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      LoomElement *inside, *node = loom_graph_find_path (graph, cases[i].path, &inside);
      const char *op = node != NULL ? loom_element_get (node, "op") : NULL;

      g_test_message ("%s", cases[i].path);
      g_assert_cmpstr (node == NULL || op != NULL ? op : loom_element_get (node, "module"), ==, cases[i].name);
      g_assert_cmpint (inside != NULL, ==, cases[i].inside);
      g_assert_true (loom_graph_find_path (graph, cases[i].path, NULL) == node);
    }
}

static void
test_hash (void)
{
  g_autoptr (LoomGraph) graph = graph_from_text (example_graph, NULL);
  LoomElement *root = loom_graph_root (graph), *fc = loom_scope_find_node (root, "fc");
  g_autofree char *before = loom_graph_hash (graph), *moved = NULL, *changed = NULL;

  g_assert_cmpuint (strlen (before), ==, 64);
  loom_edit_free (loom_graph_apply (graph, loom_edit_set (loom_scope_find_place (root, "fc"), "x", "0")));
  loom_edit_free (loom_graph_apply (graph, loom_edit_remove (loom_element_find (root, LOOM_TAG_DOC))));
  loom_edit_free (loom_graph_apply (graph, loom_edit_remove (loom_element_find (root, LOOM_TAG_COMMENT))));
  moved = loom_graph_hash (graph);
  g_assert_cmpstr (moved, ==, before);
  loom_edit_free (loom_graph_apply (graph, loom_edit_set (fc, "out_features", "11")));
  changed = loom_graph_hash (graph);
  g_assert_cmpstr (changed, !=, before);
}

/* The first module of a name, by a plain search. */
static const LoomElement *
search_module (const LoomGraph *graph, const char *name)
{
  const LoomElement *root = loom_graph_root (graph);

  for (guint i = 0; i < loom_element_n_children (root); i++)
    if (loom_element_tag (loom_element_child (root, i)) == LOOM_TAG_MODULE
        && g_strcmp0 (loom_element_get (loom_element_child (root, i), "name"), name) == 0)
      return loom_element_child (root, i);
  return NULL;
}

/* Modules are found by a table, also while names are duplicated, removed and restored. */
static void
test_modules (void)
{
  static const char *const names[] = { "a", "b", "c", "d" };
  g_autoptr (LoomGraph) graph = graph_from_text (
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><module name=\"a\"/><module name=\"b\"/></graph>", NULL);
  LoomElement *root = loom_graph_root (graph);
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  g_autoptr (GPtrArray) undo = g_ptr_array_new ();

  for (guint k = 0; k < 3000; k++)
    {
      const char *name = names[g_rand_int_range (rand, 0, G_N_ELEMENTS (names))];
      const guint n = loom_element_n_children (root), at = n > 0 ? g_rand_int_range (rand, 0, (int)n) : 0;
      const int what = g_rand_int_range (rand, 0, 4);

      if (what == 3 && undo->len > 0)
        loom_edit_free (loom_graph_apply (graph, g_ptr_array_steal_index (undo, undo->len - 1)));
      else if (what == 0 || n == 0)
        g_ptr_array_add (
            undo, loom_graph_apply (
                      graph, loom_edit_insert (root, at, loom_element_new (LOOM_TAG_MODULE, "name", name, NULL))));
      else if (what == 1)
        g_ptr_array_add (undo, loom_graph_apply (graph, loom_edit_remove (loom_element_child (root, at))));
      else
        g_ptr_array_add (undo, loom_graph_apply (graph, loom_edit_set (loom_element_child (root, at), "name", name)));
      for (guint i = 0; i < G_N_ELEMENTS (names); i++)
        g_assert_true (loom_graph_find_module (graph, names[i]) == search_module (graph, names[i]));
      g_autoptr (LoomGraph) copy = loom_graph_copy (graph);
      for (guint i = 0; i < G_N_ELEMENTS (names); i++)
        g_assert_true (loom_graph_find_module (copy, names[i]) == search_module (copy, names[i]));
    }
  while (undo->len > 0)
    loom_edit_free (g_ptr_array_steal_index (undo, undo->len - 1));
}

static void
test_place_for (void)
{
  g_autoptr (LoomGraph) graph = graph_from_text (example_graph, NULL);
  LoomElement *root = loom_graph_root (graph);
  guint wire = loom_element_place_for (root, LOOM_TAG_WIRE);

  g_assert_cmpint (loom_element_tag (loom_element_child (root, wire - 1)), ==, LOOM_TAG_WIRE);
  g_assert_cmpint (loom_element_tag (loom_element_child (root, wire)), ==, LOOM_TAG_TRAIN);
}

static gpointer
read_often (gpointer data)
{
  for (int i = 0; i < 4000; i++)
    {
      g_autoptr (LoomGraph) graph = graph_from_text (data, NULL);

      g_assert_cmpuint (loom_element_n_children (loom_graph_root (graph)), ==, 1);
    }
  return NULL;
}

/* Graphs whose attributes have the same names are read and freed at the same time. */
static void
test_threads (void)
{
  static char text[] = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><module name=\"a\"/></graph>";
  GThread *threads[4];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("reader", read_often, text);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/graph/round-trip", test_round_trip);
  g_test_add_func ("/graph/canonical", test_canonical);
  g_test_add_func ("/graph/unstorable-text", test_unstorable_text);
  g_test_add_func ("/graph/read-errors", test_read_errors);
  g_test_add_func ("/graph/limits", test_limits);
  g_test_add_func ("/graph/file", test_file);
  g_test_add_func ("/graph/edits", test_edits);
  g_test_add_func ("/graph/damaged-lines", test_damaged_lines);
  g_test_add_func ("/graph/serials", test_serials);
  g_test_add_func ("/graph/ids", test_ids);
  g_test_add_func ("/graph/paths", test_paths);
  g_test_add_func ("/graph/hash", test_hash);
  g_test_add_func ("/graph/place-for", test_place_for);
  g_test_add_func ("/graph/modules", test_modules);
  g_test_add_func ("/graph/threads", test_threads);
  return g_test_run ();
}
