/* The history of a document: the list model, jumping to an entry, and the graph at an entry. No display. */
#include <string.h>

#include "tests/scratch.h"
#include "tests/test-program.h"
#include "tests/ui/document-test.h"
#include "ui/document/studio-history.h"

static const char chain[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                            "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"chain\">\n"
                            "  <node id=\"x\" op=\"input\" shape=\"B,8\"/>\n"
                            "  <node id=\"fc\" op=\"linear\" out_features=\"4\"/>\n"
                            "  <node id=\"act\" op=\"relu\"/>\n"
                            "  <wire from=\"x\" to=\"fc\"/>\n"
                            "  <wire from=\"fc\" to=\"act\"/>\n"
                            "</graph>\n";

/* ---- the list ----------------------------------------------------------- */

/* The names as one knows them who listens to the model's signals alone. */
typedef struct
{
  GPtrArray *names;
  guint marks;
} Listener;

static void
items_changed_cb (GListModel *model, guint position, guint removed, guint added, StudioDocument *document)
{
  Listener *listener = g_object_get_data (G_OBJECT (model), "listener");

  g_assert_cmpuint (position + removed, <=, listener->names->len);
  for (guint i = 0; i < removed; i++)
    g_ptr_array_remove_index (listener->names, position);
  for (guint i = 0; i < added; i++)
    g_ptr_array_insert (listener->names, (int)(position + i),
                        g_strdup (studio_document_history_entry (document, position + i).name));
}

static void
marks_changed_cb (Listener *listener)
{
  listener->marks++;
}

static void
check_listener (StudioDocument *document, GListModel *model, const Listener *listener)
{
  g_assert_cmpuint (g_list_model_get_n_items (model), ==, studio_document_n_history (document));
  g_assert_cmpuint (listener->names->len, ==, studio_document_n_history (document));
  for (guint i = 0; i < listener->names->len; i++)
    g_assert_cmpstr (listener->names->pdata[i], ==, studio_document_history_entry (document, i).name);
}

static void
test_list_follows (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  g_autoptr (StudioHistory) history = studio_history_new (document);
  Listener listener = { g_ptr_array_new_with_free_func (g_free), 0 };
  guint64 fc = document_serial (document, "fc"), act = document_serial (document, "act");

  g_object_set_data (G_OBJECT (history), "listener", &listener);
  g_ptr_array_add (listener.names, g_strdup (studio_document_history_entry (document, 0).name));
  g_signal_connect (history, "items-changed", G_CALLBACK (items_changed_cb), document);
  g_signal_connect_swapped (history, "marks-changed", G_CALLBACK (marks_changed_cb), &listener);
  g_assert_cmpstr (listener.names->pdata[0], ==, "Begin");

  studio_document_set_attribute (document, fc, "out_features", "6");
  check_listener (document, G_LIST_MODEL (history), &listener);
  studio_document_set_attribute (document, fc, "out_features", "64"); /* joined */
  check_listener (document, G_LIST_MODEL (history), &listener);
  g_assert_cmpuint (listener.names->len, ==, 2);
  studio_document_rename (document, act, "gate", NULL);
  studio_document_select_only (document, act);
  studio_document_delete_selection (document);
  check_listener (document, G_LIST_MODEL (history), &listener);
  g_assert_cmpuint (studio_document_history_position (document), ==, 3);

  studio_document_undo (document);
  studio_document_undo (document);
  check_listener (document, G_LIST_MODEL (history), &listener);
  g_assert_cmpuint (studio_document_history_position (document), ==, 1);
  g_assert_cmpuint (listener.names->len, ==, 4);
  g_assert_cmpuint (listener.marks, >=, 3);
  /* Another future. */
  studio_document_add_node (document, "relu", 0, 0);
  check_listener (document, G_LIST_MODEL (history), &listener);
  g_assert_cmpuint (listener.names->len, ==, 3);
  studio_document_add_node (document, "relu", 0, 0);
  studio_document_add_node (document, "relu", 0, 0);
  studio_document_fold (document, 2);
  check_listener (document, G_LIST_MODEL (history), &listener);
  g_assert_cmpuint (listener.names->len, ==, 4);
  studio_document_reset (document);
  check_listener (document, G_LIST_MODEL (history), &listener);
  g_assert_cmpuint (listener.names->len, ==, 1);
  g_ptr_array_unref (listener.names);
}

static void
test_saved_is_marked (void)
{
  g_autofree char *folder = g_dir_make_tmp ("history-XXXXXX", NULL), *path = g_build_filename (folder, "g.xml", NULL);
  g_autoptr (StudioDocument) document = document_load (chain);
  g_autoptr (GError) error = NULL;
  guint64 fc = document_serial (document, "fc");

  g_assert_false (studio_document_history_entry (document, 0).is_saved);
  studio_document_set_attribute (document, fc, "out_features", "6");
  g_assert_true (studio_document_save (document, path, &error));
  g_assert_no_error (error);
  /* Typing after a save is another step, so the saved state is kept. */
  studio_document_set_attribute (document, fc, "out_features", "64");
  g_assert_cmpuint (studio_document_n_history (document), ==, 3);
  g_assert_false (studio_document_history_entry (document, 0).is_saved);
  g_assert_true (studio_document_history_entry (document, 1).is_saved);
  g_assert_false (studio_document_history_entry (document, 2).is_saved);
  g_assert_true (studio_document_is_edited (document));
  g_assert_true (studio_document_jump (document, 1));
  g_assert_false (studio_document_is_edited (document));
  g_assert_true (studio_document_history_entry (document, 1).is_saved);

  g_assert_true (studio_document_open (document, path, &error));
  g_assert_cmpstr (studio_document_history_entry (document, 0).name, ==, "Open g.xml");
  g_assert_true (studio_document_history_entry (document, 0).is_saved);
  g_assert_cmpint (studio_document_history_entry (document, 0).time, >, 0);
  remove_tree (folder);
}

static void
count_cb (guint *n)
{
  ++*n;
}

static void
test_jump_notifies_once (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  guint changed = 0, inferred = 0;

  for (guint i = 0; i < 20; i++)
    studio_document_add_node (document, "relu", 10.0 * i, 0);
  studio_document_get_net (document);
  g_signal_connect_swapped (document, "changed", G_CALLBACK (count_cb), &changed);
  g_signal_connect_swapped (document, "net-changed", G_CALLBACK (count_cb), &inferred);
  g_assert_true (studio_document_jump (document, 3));
  while (g_main_context_iteration (NULL, FALSE))
    ;
  g_assert_cmpuint (changed, ==, 1);
  g_assert_cmpuint (inferred, ==, 1);
  g_assert_cmpuint (studio_document_history_position (document), ==, 3);
  g_assert_false (studio_document_jump (document, 3));
  g_assert_false (studio_document_jump (document, 21));
  g_assert_true (studio_document_jump (document, 20));
  studio_document_begin (document, "Open");
  g_assert_false (studio_document_jump (document, 0));
  studio_document_end (document);
}

/* ---- many edits ----------------------------------------------------------- */

#define EDITS 10000
#define JUMPS 400

/* A graph that is kept small changes as often as a large one, and is written faster. */
static void
thin_out (StudioDocument *document)
{
  StudioScene *scene = studio_document_get_scene (document);
  g_autofree guint64 *some = g_new (guint64, scene->n_items);
  guint n = 0;

  for (guint i = 0; i < scene->n_items; i += 2)
    some[n++] = scene->item[i].serial;
  studio_document_select (document, some, n);
  studio_document_delete_selection (document);
}

static void
free_text (gpointer text)
{
  g_free (text);
}

static void
test_random_jumps (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);
  g_autoptr (GPtrArray) text = g_ptr_array_new_with_free_func (free_text);
  g_autofree char *last = NULL;

  /* The text at each entry; typing that is joined into an entry replaces its text. */
  g_ptr_array_add (text, document_text (document));
  for (guint i = 0; i < EDITS; i++)
    {
      guint position;

      if (studio_document_get_scene (document)->n_items > 24)
        thin_out (document);
      else
        document_random_edit (document, rand);
      position = studio_document_history_position (document);
      if (position >= text->len)
        g_ptr_array_set_size (text, (int)position + 1);
      g_free (text->pdata[position]);
      text->pdata[position] = document_text (document);
    }
  last = document_text (document);
  g_test_message ("%d edits are %u steps", EDITS, text->len - 1);
  g_assert_cmpuint (text->len, >, EDITS / 2);
  for (guint i = 0; i < JUMPS; i++)
    {
      guint position = (guint)g_rand_int_range (rand, 0, (int)text->len);
      g_autofree char *now = NULL;

      studio_document_jump (document, position);
      g_assert_cmpuint (studio_document_history_position (document), ==, position);
      now = document_text (document);
      g_assert_cmpstr (now, ==, text->pdata[position]);
      if (i % 20 == 0)
        {
          guint other = (guint)g_rand_int_range (rand, 0, (int)text->len);
          g_autoptr (LoomGraph) graph = studio_document_graph_at (document, other);
          g_autofree char *then = loom_graph_write (graph, NULL), *still = document_text (document);

          g_assert_cmpstr (then, ==, text->pdata[other]);
          g_assert_cmpstr (still, ==, now);
        }
    }
  studio_document_jump (document, 0);
  g_assert_false (studio_document_is_edited (document));
  studio_document_jump (document, text->len - 1);
  {
    g_autofree char *again = document_text (document);
    gint64 start = g_get_monotonic_time ();

    g_assert_cmpstr (again, ==, last);
    studio_document_jump (document, 0);
    g_test_message ("a jump over %u steps took %.1f ms", text->len - 1,
                    (double)(g_get_monotonic_time () - start) / 1000);
  }
}

/* A run's comparison stays right over jumps. */
static void
test_jump_with_run (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  guint64 fc = document_serial (document, "fc");

  for (guint i = 0; i < 300; i++)
    {
      g_autofree char *value = g_strdup_printf ("%u", 10 + i);

      studio_document_begin (document, "Set");
      studio_document_set_attribute (document, fc, "out_features", value);
      studio_document_end (document);
    }
  studio_document_mark_run (document);
  studio_document_jump (document, 297);
  g_assert_cmpuint (studio_document_run_changes (document), ==, 3);
  studio_document_jump (document, 300);
  g_assert_cmpuint (studio_document_run_changes (document), ==, 0);
  studio_document_jump (document, 0);
  g_assert_cmpuint (studio_document_run_changes (document), ==, 300);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/history/list-follows", test_list_follows);
  g_test_add_func ("/history/saved-is-marked", test_saved_is_marked);
  g_test_add_func ("/history/jump-tells-once", test_jump_notifies_once);
  g_test_add_func ("/history/random-jumps", test_random_jumps);
  g_test_add_func ("/history/jump-with-run", test_jump_with_run);
  return g_test_run ();
}
