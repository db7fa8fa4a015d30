/* Whether a graph differs from its file: after random edits and undo as the two texts have it, and mostly without
 * comparing them. */
#include "tests/test-program.h"
#include "tests/ui/document-chain.h"
#include "ui/document/edit-reach.h"
#include "ui/document/saved-content.h"

#include <string.h>

typedef struct
{
  LoomGraph *graph;
  SavedContent *saved;
  GPtrArray *undo; /* LoomEdit */
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();

  f->graph = loom_graph_read_data (chain, strlen (chain), "chain", faults, NULL);
  f->saved = saved_content_new ();
  f->undo = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_edit_free);
  saved_content_set (f->saved, loom_graph_write (f->graph, NULL));
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  g_ptr_array_unref (f->undo);
  saved_content_free (f->saved);
  loom_graph_unref (f->graph);
}

static LoomElement *
node (Fixture *f, const char *id)
{
  return loom_scope_find_node (loom_graph_root (f->graph), id);
}

static EditReach
apply (Fixture *f, LoomEdit *edit)
{
  LoomEdit *inverse = loom_graph_apply (f->graph, edit);

  saved_content_note (f->saved, f->graph, inverse);
  g_ptr_array_add (f->undo, inverse);
  return edit_reach_of (f->graph, loom_graph_root (f->graph), inverse);
}

static void
undo (Fixture *f)
{
  LoomEdit *again = loom_graph_apply (f->graph, g_ptr_array_steal_index (f->undo, f->undo->len - 1));

  saved_content_note (f->saved, f->graph, again);
  loom_edit_free (again);
}

/* As the texts have it; known: no text was needed. */
static void
expect (Fixture *f, gboolean differs, gboolean known)
{
  g_assert_true (saved_content_is_known (f->saved) == known);
  g_assert_true (saved_content_differs (f->saved, f->graph) == differs);
}

static void
test_values (Fixture *f, gconstpointer data)
{
  expect (f, FALSE, TRUE);
  apply (f, loom_edit_set (node (f, "fc"), "out_features", "5"));
  expect (f, TRUE, TRUE);
  apply (f, loom_edit_set (node (f, "fc"), "out_features", "4"));
  expect (f, FALSE, TRUE);
  undo (f);
  expect (f, TRUE, TRUE);
  undo (f);
  expect (f, FALSE, TRUE);
  /* An attribute that comes and goes may stand elsewhere. */
  apply (f, loom_edit_set (node (f, "b2"), "width", NULL));
  expect (f, TRUE, TRUE);
  apply (f, loom_edit_set (node (f, "b2"), "repeat", "2"));
  apply (f, loom_edit_set (node (f, "b2"), "width", "3"));
  apply (f, loom_edit_set (node (f, "b2"), "repeat", NULL));
  expect (f, FALSE, FALSE);
}

static void
test_elements (Fixture *f, gconstpointer data)
{
  LoomElement *root = loom_graph_root (f->graph);
  guint n = loom_element_n_children (root);
  guint64 wire = loom_element_serial (loom_element_child (root, n - 1));

  apply (f, loom_edit_insert (root, n, loom_element_new (LOOM_TAG_WIRE, "from", "x", "to", "act", NULL)));
  expect (f, TRUE, TRUE);
  /* One comes and another goes: only the texts tell. */
  apply (f, loom_edit_remove (loom_graph_by_serial (f->graph, wire)));
  expect (f, TRUE, FALSE);
  undo (f);
  undo (f);
  expect (f, FALSE, TRUE);
  apply (f, loom_edit_remove (loom_graph_by_serial (f->graph, wire)));
  apply (f, loom_edit_insert (root, n - 1, loom_element_new (LOOM_TAG_WIRE, "from", "b1", "to", "b2", NULL)));
  expect (f, FALSE, FALSE);
  undo (f);
  undo (f);
  /* Values of an element that came do not count once it is gone. */
  apply (f, loom_edit_insert (root, n, loom_element_new (LOOM_TAG_WIRE, "from", "x", "to", "act", NULL)));
  apply (f, loom_edit_set (loom_element_child (root, n), "to", "fc"));
  apply (f, loom_edit_remove (loom_element_child (root, n)));
  expect (f, FALSE, TRUE);
}

static void
test_earlier (Fixture *f, gconstpointer data)
{
  char *text = loom_graph_write (f->graph, NULL);

  apply (f, loom_edit_set (node (f, "fc"), "out_features", "5"));
  saved_content_set_earlier (f->saved, text);
  expect (f, TRUE, FALSE);
  undo (f);
  expect (f, FALSE, FALSE);
}

static void
test_random (Fixture *f, gconstpointer data)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  g_autofree char *saved = loom_graph_write (f->graph, NULL);
  guint n_known = 0;

  for (guint i = 0; i < 3000; i++)
    {
      LoomElement *root = loom_graph_root (f->graph);
      const guint n = loom_element_n_children (root);
      LoomElement *child = n > 0 ? loom_element_child (root, g_rand_int_range (rand, 0, n)) : NULL;
      g_autofree char *value = g_strdup_printf ("%d", g_rand_int_range (rand, 3, 5)), *text = NULL;
      const int what = g_rand_int_range (rand, 0, 10);

      if (what < 5 && f->undo->len > 0)
        undo (f);
      else if (what < 7 && child != NULL)
        apply (f, loom_edit_set (child, what == 5 ? "out_features" : "width", i % 3 == 0 ? NULL : value));
      else if (what == 7 && child != NULL)
        apply (f, loom_edit_remove (child));
      else
        apply (f, loom_edit_insert (root, g_rand_int_range (rand, 0, n + 1),
                                    loom_element_new (LOOM_TAG_WIRE, "from", "x", "to", value, NULL)));
      if (g_rand_int_range (rand, 0, 100) == 0)
        {
          g_free (saved);
          saved = loom_graph_write (f->graph, NULL);
          saved_content_set (f->saved, g_strdup (saved));
        }
      text = loom_graph_write (f->graph, NULL);
      n_known += saved_content_is_known (f->saved);
      g_assert_true (saved_content_differs (f->saved, f->graph) == (strcmp (text, saved) != 0));
    }
  g_assert_cmpuint (n_known, >, 1500);
}

/* Which edits only move things. */
static void
test_reach (Fixture *f, gconstpointer data)
{
  LoomElement *root = loom_graph_root (f->graph), *layout;
  const guint n = loom_element_n_children (root);

  g_assert_cmpint (apply (f, loom_edit_insert (root, n, loom_element_new (LOOM_TAG_LAYOUT, NULL))), ==,
                   EDIT_REACH_POSITIONS);
  layout = loom_element_child (root, n);
  g_assert_cmpint (apply (f, loom_edit_insert (
                                 layout, 0, loom_element_new (LOOM_TAG_PLACE, "node", "fc", "x", "1", "y", "2", NULL))),
                   ==, EDIT_REACH_POSITIONS);
  g_assert_cmpint (apply (f, loom_edit_set (loom_element_child (layout, 0), "x", "7")), ==, EDIT_REACH_POSITIONS);
  g_assert_cmpint (apply (f, loom_edit_set (loom_element_child (layout, 0), "collapsed", "true")), ==, EDIT_REACH_ALL);
  g_assert_cmpint (apply (f, loom_edit_remove (loom_element_child (layout, 0))), ==, EDIT_REACH_ALL);
  g_assert_cmpint (apply (f, loom_edit_set (layout, "direction", "down")), ==, EDIT_REACH_ALL);
  g_assert_cmpint (apply (f, loom_edit_insert (layout, 0, loom_element_new (LOOM_TAG_NOTE, "text", "a", NULL))), ==,
                   EDIT_REACH_ALL);
  g_assert_cmpint (apply (f, loom_edit_set (loom_element_child (layout, 0), "y", "3")), ==, EDIT_REACH_POSITIONS);
  g_assert_cmpint (apply (f, loom_edit_set (loom_element_child (layout, 0), "text", "b")), ==, EDIT_REACH_ALL);
  g_assert_cmpint (apply (f, loom_edit_set (node (f, "fc"), "out_features", "5")), ==, EDIT_REACH_ALL);

  /* What moves inside a module changes the picture of it on a card. */
  LoomElement *module = loom_element_find (root, LOOM_TAG_MODULE);
  LoomEdit *inverse = loom_graph_apply (
      f->graph, loom_edit_insert (module, loom_element_n_children (module), loom_element_new (LOOM_TAG_LAYOUT, NULL)));
  g_assert_cmpint (edit_reach_of (f->graph, root, inverse), ==, EDIT_REACH_ALL);
  g_assert_cmpint (edit_reach_of (f->graph, module, inverse), ==, EDIT_REACH_POSITIONS);
  loom_edit_free (inverse);
}

/* An empty text is written as none is. */
static void
test_text (Fixture *f, gconstpointer data)
{
  LoomElement *root = loom_graph_root (f->graph);
  guint64 serial;

  apply (f, loom_edit_insert (root, 0, loom_element_new (LOOM_TAG_DOC, NULL)));
  serial = loom_element_serial (loom_element_child (root, 0));
  saved_content_set (f->saved, loom_graph_write (f->graph, NULL));
  apply (f, loom_edit_set_text (loom_graph_by_serial (f->graph, serial), "a"));
  expect (f, TRUE, TRUE);
  apply (f, loom_edit_set_text (loom_graph_by_serial (f->graph, serial), ""));
  expect (f, FALSE, TRUE);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/saved-content/values", Fixture, NULL, set_up, test_values, tear_down);
  g_test_add ("/saved-content/elements", Fixture, NULL, set_up, test_elements, tear_down);
  g_test_add ("/saved-content/earlier", Fixture, NULL, set_up, test_earlier, tear_down);
  g_test_add ("/saved-content/random", Fixture, NULL, set_up, test_random, tear_down);
  g_test_add ("/saved-content/text", Fixture, NULL, set_up, test_text, tear_down);
  g_test_add ("/saved-content/reach", Fixture, NULL, set_up, test_reach, tear_down);
  return g_test_run ();
}
