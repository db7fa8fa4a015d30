/* The parts of a document, each without a document: undo log, selection, path of scopes, version of a run. */
#include "tests/test-program.h"
#include "tests/ui/document-chain.h"
#include "ui/document/run-version.h"
#include "ui/document/scope-path.h"
#include "ui/document/selection.h"
#include "ui/document/undo-log.h"

#include <string.h>

typedef struct
{
  LoomGraph *graph;
  UndoLog *log;
  guint n_applied;
} Fixture;

static LoomEdit *
apply_cb (LoomEdit *edit, gpointer data)
{
  Fixture *f = data;

  f->n_applied++;
  return loom_graph_apply (f->graph, edit);
}

static void
set_up (Fixture *f, gconstpointer data)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();

  f->graph = loom_graph_read_data (chain, strlen (chain), "chain", faults, NULL);
  f->log = undo_log_new (apply_cb, f);
  undo_log_reset (f->log, "Open");
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  undo_log_free (f->log);
  loom_graph_unref (f->graph);
}

static LoomElement *
node (Fixture *f, const char *id)
{
  return loom_scope_find_node (loom_graph_root (f->graph), id);
}

/* One transaction that sets an attribute of "fc"; the id of its step. */
static guint64
set (Fixture *f, const char *name, const char *value, const char *key)
{
  UndoLogChange change;

  undo_log_begin (f->log, name);
  undo_log_edit (f->log, loom_edit_set (node (f, "fc"), "out_features", value));
  if (key != NULL)
    undo_log_merge (f->log, key, FALSE);
  g_assert_true (undo_log_end (f->log, &change));
  return change.step;
}

static void
expect (Fixture *f, const char *value, guint done, guint undone)
{
  g_assert_cmpstr (loom_element_get (node (f, "fc"), "out_features"), ==, value);
  g_assert_cmpuint (undo_log_n_done (f->log), ==, done);
  g_assert_cmpuint (undo_log_n_undone (f->log), ==, undone);
}

/* ---- undo log -------------------------------------------------------------- */

static void
test_undo (Fixture *f, gconstpointer data)
{
  guint64 first, second;

  g_assert_cmpuint (undo_log_last_step (f->log), ==, 0);
  g_assert_cmpuint (undo_log_undo (f->log), ==, 0);
  first = set (f, "One", "5", NULL);
  second = set (f, "Two", "6", NULL);
  g_assert_cmpuint (first, !=, second);
  g_assert_cmpuint (undo_log_last_step (f->log), ==, second);
  g_assert_cmpstr (undo_log_undo_name (f->log), ==, "Two");
  g_assert_null (undo_log_redo_name (f->log));
  g_assert_cmpuint (undo_log_undo (f->log), ==, second);
  expect (f, "5", 1, 1);
  g_assert_cmpuint (undo_log_redo (f->log), ==, second);
  expect (f, "6", 2, 0);
  undo_log_undo (f->log);
  undo_log_undo (f->log);
  expect (f, "4", 0, 2);
  /* A new step forgets those that were undone. */
  set (f, "Three", "7", NULL);
  expect (f, "7", 1, 0);
  g_assert_cmpuint (f->n_applied, ==, 7);
}

static void
test_nesting (Fixture *f, gconstpointer data)
{
  UndoLogChange change;

  undo_log_begin (f->log, "Outer");
  undo_log_begin (f->log, "Inner");
  g_assert_cmpuint (undo_log_depth (f->log), ==, 2);
  undo_log_edit (f->log, loom_edit_set (node (f, "fc"), "out_features", "5"));
  g_assert_false (undo_log_end (f->log, &change));
  g_assert_cmpstr (undo_log_name (f->log), ==, "Outer");
  /* No step is taken back while one is open. */
  g_assert_cmpuint (undo_log_undo (f->log), ==, 0);
  g_assert_true (undo_log_end (f->log, &change));
  g_assert_cmpuint (change.position, ==, 1);
  g_assert_cmpuint (change.n_added, ==, 1);
  g_assert_cmpuint (change.n_removed, ==, 0);
  expect (f, "5", 1, 0);
  /* Without an edit it leaves no trace. */
  undo_log_begin (f->log, "Nothing");
  g_assert_true (undo_log_end (f->log, &change));
  g_assert_cmpuint (change.step, ==, 0);
  expect (f, "5", 1, 0);
  undo_log_begin (f->log, "Outer");
  undo_log_begin (f->log, "Inner");
  undo_log_edit (f->log, loom_edit_set (node (f, "fc"), "out_features", "9"));
  undo_log_cancel (f->log);
  g_assert_cmpuint (undo_log_depth (f->log), ==, 0);
  expect (f, "5", 1, 0);
}

static void
test_merge (Fixture *f, gconstpointer data)
{
  const guint64 first = set (f, "One", "5", "key");

  g_assert_cmpuint (set (f, "Two", "6", "key"), ==, first);
  expect (f, "6", 1, 0);
  g_assert_cmpstr (undo_log_undo_name (f->log), ==, "One");
  g_assert_cmpuint (set (f, "Three", "7", "other"), !=, first);
  undo_log_end_merge (f->log);
  set (f, "Four", "8", "other");
  expect (f, "8", 3, 0);
  undo_log_undo (f->log);
  undo_log_undo (f->log);
  undo_log_undo (f->log);
  expect (f, "4", 0, 3);
}

static void
folded_cb (guint64 gone, guint64 into, gpointer data)
{
  guint64 *sum = data;

  g_assert_cmpuint (into, <, gone);
  *sum += gone;
}

static void
test_fold (Fixture *f, gconstpointer data)
{
  const guint64 first = set (f, "One", "5", NULL), second = set (f, "Two", "6", NULL),
                third = set (f, "Three", "7", NULL);
  guint64 sum = 0;

  g_assert_false (undo_log_fold (f->log, 2, folded_cb, &sum));
  g_assert_true (undo_log_fold (f->log, 0, folded_cb, &sum));
  g_assert_cmpuint (sum, ==, second + third);
  expect (f, "7", 1, 0);
  g_assert_cmpuint (undo_log_undo (f->log), ==, first);
  expect (f, "4", 0, 1);
}

static void
test_history (Fixture *f, gconstpointer data)
{
  static const char *const values[] = { "4", "5", "6" };

  set (f, "One", "5", NULL);
  set (f, "Two", "6", NULL);
  undo_log_undo (f->log);
  g_assert_cmpstr (undo_log_entry (f->log, 0).name, ==, "Open");
  g_assert_cmpstr (undo_log_entry (f->log, 1).name, ==, "One");
  g_assert_cmpstr (undo_log_entry (f->log, 2).name, ==, "Two");
  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    {
      g_autoptr (LoomGraph) then = undo_log_graph_at (f->log, f->graph, i);
      const LoomElement *fc = loom_scope_find_node (loom_graph_root (then), "fc");

      g_assert_cmpstr (loom_element_get (fc, "out_features"), ==, values[i]);
    }
  expect (f, "5", 1, 1);
  g_assert_cmpuint (undo_log_reset (f->log, "Again"), ==, 3);
  expect (f, "5", 0, 0);
}

/* ---- selection ------------------------------------------------------------- */

static void
test_selection (Fixture *f, gconstpointer data)
{
  Selection *selection = selection_new ();
  const guint64 fc = loom_element_serial (node (f, "fc")), act = loom_element_serial (node (f, "act"));
  const guint64 both[] = { act, fc };

  g_assert_false (selection_set (selection, NULL, 0));
  g_assert_true (selection_set (selection, both, 2));
  g_assert_false (selection_set (selection, both, 2));
  g_assert_cmpuint (selection_get (selection, 0), ==, act);
  g_assert_cmpuint (selection_get (selection, 2), ==, 0);
  g_assert_false (selection_put (selection, fc, TRUE));
  g_assert_true (selection_put (selection, act, FALSE));
  g_assert_false (selection_has (selection, act));
  g_assert_cmpuint (selection_n (selection), ==, 1);
  g_assert_false (selection_prune (selection, f->graph));
  loom_edit_free (loom_graph_apply (f->graph, loom_edit_remove (node (f, "fc"))));
  g_assert_true (selection_prune (selection, f->graph));
  g_assert_cmpuint (selection_n (selection), ==, 0);
  g_assert_false (selection_has (selection, fc));
  selection_free (selection);
}

/* ---- path of scopes -------------------------------------------------------- */

static void
test_scope (Fixture *f, gconstpointer data)
{
  g_autoptr (ScopePath) path = scope_path_new (), other = scope_path_new ();
  LoomElement *block = loom_graph_find_module (f->graph, "block");
  const guint64 module = loom_element_serial (block), b1 = loom_element_serial (node (f, "b1"));

  g_assert_true (scope_path_element (path, f->graph) == loom_graph_root (f->graph));
  g_assert_cmpstr (scope_path_text (path), ==, "");
  scope_path_enter (path, module, b1, "b1");
  g_assert_true (scope_path_element (path, f->graph) == block);
  g_assert_cmpstr (scope_path_text (path), ==, "b1");
  g_assert_cmpuint (scope_path_level (path, 0).instance, ==, b1);
  g_assert_false (scope_path_equal (path, other));
  scope_path_enter (other, module, loom_element_serial (node (f, "b2")), "b2");
  g_assert_false (scope_path_equal (path, other));
  g_assert_false (scope_path_prune (path, f->graph));
  loom_edit_free (loom_graph_apply (f->graph, loom_edit_remove (node (f, "b1"))));
  g_assert_true (scope_path_prune (path, f->graph));
  g_assert_cmpuint (scope_path_depth (path), ==, 0);
  g_assert_false (scope_path_prune (other, f->graph));
  scope_path_leave_to (other, 0);
  g_assert_true (scope_path_equal (path, other));
}

/* ---- version of a run ------------------------------------------------------ */

static void
test_run (Fixture *f, gconstpointer data)
{
  g_autofree char *hash = loom_graph_hash (f->graph), *now = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  RunVersion *run;
  guint64 step;

  set (f, "Before", "4", NULL);
  run = run_version_new (f->graph, hash, f->log);
  g_assert_cmpuint (run_version_n_changes (run, hash, f->log), ==, 0);
  g_assert_true (run_version_has (run, f->graph, "fc"));
  g_assert_false (run_version_has (run, f->graph, "no_such_node"));
  run_version_set_fault (run, LOOM_ERROR_DATA, "fc", "", "It failed.");
  step = set (f, "After", "5", NULL);
  run_version_note_step (run, step, TRUE);
  now = loom_graph_hash (f->graph);
  g_assert_cmpuint (run_version_n_changes (run, now, f->log), ==, 1);
  g_assert_false (run_version_has (run, f->graph, "fc"));
  g_assert_true (run_version_has (run, f->graph, "act"));
  run_version_add_fault (run, f->graph, faults);
  g_assert_cmpuint (loom_faults_length (faults), ==, 0);
  /* A step that changed no meaning does not count. */
  run_version_note_step (run, set (f, "Layout", "5", NULL), FALSE);
  g_assert_cmpuint (run_version_n_changes (run, now, f->log), ==, 1);
  g_assert_true (run_version_has_step (run, step));
  undo_log_undo (f->log);
  undo_log_undo (f->log);
  g_assert_true (run_version_has (run, f->graph, "fc"));
  run_version_add_fault (run, f->graph, faults);
  g_assert_cmpuint (loom_faults_length (faults), ==, 1);
  g_assert_null (loom_faults_get (faults, 0)->port);
  run_version_set_fault (run, LOOM_ERROR_DATA, NULL, NULL, NULL);
  g_assert_false (run_version_has_fault (run));
  run_version_free (run);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/document-parts/undo", Fixture, NULL, set_up, test_undo, tear_down);
  g_test_add ("/document-parts/nesting", Fixture, NULL, set_up, test_nesting, tear_down);
  g_test_add ("/document-parts/merge", Fixture, NULL, set_up, test_merge, tear_down);
  g_test_add ("/document-parts/fold", Fixture, NULL, set_up, test_fold, tear_down);
  g_test_add ("/document-parts/history", Fixture, NULL, set_up, test_history, tear_down);
  g_test_add ("/document-parts/selection", Fixture, NULL, set_up, test_selection, tear_down);
  g_test_add ("/document-parts/scope", Fixture, NULL, set_up, test_scope, tear_down);
  g_test_add ("/document-parts/run", Fixture, NULL, set_up, test_run, tear_down);
  return g_test_run ();
}
