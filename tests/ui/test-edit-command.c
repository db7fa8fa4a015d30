/* The table of editing commands: complete rows, and each command on a document without a view. */
#include "tests/test-program.h"
#include "tests/ui/document-chain.h"
#include "tests/ui/document-test.h"
#include "ui/document/studio-edit-command.h"

#include <string.h>

static void
test_rows (void)
{
  g_autoptr (GHashTable) ids = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GHashTable) keys = g_hash_table_new (g_str_hash, g_str_equal);

  g_assert_cmpuint (studio_edit_command_n (), >, 20);
  for (guint i = 0; i < studio_edit_command_n (); i++)
    {
      const StudioEditCommand *command = studio_edit_command_get (i);

      g_test_message ("%s", command->id);
      g_assert_true (g_hash_table_add (ids, (gpointer)command->id));
      g_assert_true (studio_edit_command_find (command->id) == command);
      g_assert_nonnull (command->run);
      g_assert_true ((command->group != NULL) == (command->title != NULL));
      for (guint k = 0; k < STUDIO_EDIT_COMMAND_KEYS && command->keys[k] != NULL; k++)
        g_assert_true (g_hash_table_add (keys, (gpointer)command->keys[k]));
    }
  g_assert_null (studio_edit_command_get (studio_edit_command_n ()));
  g_assert_null (studio_edit_command_find ("no-such-command"));
}

/* Selects the first n nodes of the shown scope. */
static void
select_first (StudioDocument *document, guint n)
{
  StudioScene *scene = studio_document_get_scene (document);
  guint64 serials[4];

  g_assert_cmpuint (n, <=, G_N_ELEMENTS (serials));
  for (guint i = 0; i < n; i++)
    serials[i] = scene->item[i].serial;
  studio_document_select (document, serials, n);
}

/* Each command on nothing, one, two and four cards: it is done, or says in a sentence why not, and one undo takes its
 * edits back. */
static void
test_run (void)
{
  for (guint i = 0; i < studio_edit_command_n (); i++)
    for (guint n = 0; n <= 4; n += n < 2 ? 1 : 2)
      {
        const StudioEditCommand *command = studio_edit_command_get (i);
        g_autoptr (StudioDocument) document = document_load (chain);
        g_autofree char *before = document_text (document), *after = NULL, *back = NULL;
        g_autoptr (GError) error = NULL;
        guint steps;
        gboolean done;

        select_first (document, n);
        g_test_message ("%s, %u selected", command->id, n);
        done = command->run (document, &error);
        g_assert_true (done == (error == NULL));
        if (!done)
          g_assert_true (g_str_has_suffix (error->message, "."));
        after = document_text (document);
        steps = studio_document_n_steps (document);
        g_assert_cmpuint (steps, <=, 1);
        g_assert_true (steps == 1 || strcmp (before, after) == 0);
        /* What is not possible changes nothing. */
        if (!done)
          g_assert_cmpuint (steps, ==, 0);
        if (steps == 1)
          g_assert_true (studio_document_undo (document));
        back = document_text (document);
        g_assert_cmpstr (before, ==, back);
      }
}

static gboolean
is_possible (StudioDocument *document, const char *id)
{
  return studio_edit_command_is_possible (studio_edit_command_find (id), document);
}

static void
test_possible (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);

  g_assert_false (is_possible (document, "undo"));
  g_assert_false (is_possible (document, "redo"));
  g_assert_false (is_possible (document, "delete"));
  g_assert_false (is_possible (document, "leave"));
  g_assert_false (is_possible (document, "make-unique"));
  g_assert_true (is_possible (document, "select-all"));
  select_first (document, 1);
  g_assert_true (is_possible (document, "delete"));
  g_assert_false (is_possible (document, "align-left"));
  select_first (document, 2);
  g_assert_true (is_possible (document, "align-left"));
  g_assert_false (is_possible (document, "distribute-vertically"));
  select_first (document, 3);
  g_assert_true (is_possible (document, "distribute-vertically"));
  studio_document_delete_selection (document);
  g_assert_true (is_possible (document, "undo"));
  studio_document_undo (document);
  g_assert_true (is_possible (document, "redo"));
  g_assert_true (studio_document_enter (document, document_serial (document, "b1")));
  g_assert_true (is_possible (document, "leave"));
  g_assert_true (is_possible (document, "make-unique"));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/edit-command/rows", test_rows);
  g_test_add_func ("/edit-command/run", test_run);
  g_test_add_func ("/edit-command/possible", test_possible);
  return g_test_run ();
}
