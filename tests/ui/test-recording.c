/* Recordings: what a file may not do to Studio, and what a page does while one is made or played. */
#include <adwaita.h>
#include <glib/gstdio.h>

#include "gradloom-icons.h"
#include "gradloom-resources.h"
#include "tests/scratch.h"
#include "tests/test-program.h"
#include "tests/ui/document-test.h"
#include "tests/ui/find-widgets.h"
#include "tests/ui/page-frame.h"
#include "ui/document/studio-document-origin.h"
#include "ui/document/studio-journal.h"
#include "ui/page/recorder.h"
#include "ui/page/replay.h"
#include "ui/page/studio-page-private.h"

static char *folder;

static char *
path_of (const char *name)
{
  return g_build_filename (folder, name, NULL);
}

/* A file of a graph and the lines of its events. (transfer full) */
static char *
write_recording (const char *name, const char *graph, const char *events)
{
  char *path = path_of (name);
  g_autofree char *head = recording_head_line ("t", graph), *text = g_strconcat (head, events, NULL);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  return path;
}

/* A line of an event that sets the graph. (transfer full) */
static char *
graph_event (double at, const char *graph)
{
  return recording_event_line (at, "graph", json_node_init_string (json_node_alloc (), graph));
}

/* ---- pages ------------------------------------------------------------------ */

typedef struct
{
  GtkWindow *window;
  StudioPage *page;
} PageFrame;

static void
page_begin (PageFrame *self)
{
  self->window = g_object_ref (GTK_WINDOW (gtk_window_new ()));
  self->page = studio_page_new ();
  gtk_window_set_child (self->window, GTK_WIDGET (self->page));
}

static void
page_end (PageFrame *self)
{
  gtk_window_destroy (self->window);
  g_object_unref (self->window);
  settle ();
}

static void
play (PageFrame *self, const char *path)
{
  g_autoptr (GError) error = NULL;

  studio_page_open_recording (self->page, path, &error);
  g_assert_no_error (error);
  settle ();
}

/* ---- strangers ---------------------------------------------------------------- */

static const LoomFault *
outside_fault (StudioDocument *document)
{
  LoomFaults *faults = studio_document_get_faults (document);

  for (guint i = 0; i < loom_faults_length (faults); i++)
    if (loom_faults_get (faults, i)->code == LOOM_ERROR_OUTSIDE)
      return loom_faults_get (faults, i);
  return NULL;
}

static void
assert_nothing_read (StudioDocument *document)
{
  g_assert_false (loom_net_node (studio_document_get_net (document), 0)->typed);
  g_assert_nonnull (outside_fault (document));
}

/* A recording is a stranger's: none of its graphs, the first or a later one, reads a file outside the recording's
 * folder before the user agrees, and neither Train nor the recovery of unsaved work agrees for the user. */
static void
test_outside (void)
{
#define TABLE_GRAPH                                                                                                    \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"g\"><node id=\"data\" op=\"dataset\" source=\"csv\" "      \
  "path=\"%s\" target=\"y\" target_type=\"float\"/><node id=\"fc\" op=\"linear\" out_features=\"1\"/>"                 \
  "<node id=\"loss\" op=\"mse_loss\"/><wire from=\"data.x\" to=\"fc\"/><wire from=\"fc\" to=\"loss.input\"/>"          \
  "<wire from=\"data.y\" to=\"loss.target\"/><train loss=\"loss\" optimizer=\"sgd\" lr=\"0.01\" epochs=\"1\" "         \
  "batch_size=\"2\"/></graph>"
  g_autofree char *apart = path_of ("apart"), *table = path_of ("t.csv"), *other = path_of ("o.csv"),
                  *near = path_of ("apart/near.csv"), *journals = path_of ("journals"),
                  *saved = path_of ("apart/g.xml");
  g_autofree char *first = g_strdup_printf (TABLE_GRAPH, table), *second = g_strdup_printf (TABLE_GRAPH, other),
                  *own = g_strdup_printf (TABLE_GRAPH, "near.csv");
  g_autofree char *early = graph_event (1, second), *late = graph_event (2, own),
                  *events = g_strconcat (early, late, NULL);
  g_autoptr (GError) error = NULL;
  PageFrame frame;

  g_assert_cmpint (g_mkdir (apart, 0700), ==, 0);
  g_assert_true (g_file_set_contents (table, "a,y\n1,2\n2,3\n3,4\n4,5\n", -1, NULL));
  g_assert_true (g_file_set_contents (other, "a,b,y\n1,2,3\n2,3,4\n3,4,5\n4,5,6\n", -1, NULL));
  g_assert_true (g_file_set_contents (near, "a,y\n1,2\n2,3\n3,4\n4,5\n", -1, NULL));
  g_autofree char *path = write_recording ("apart/a" RECORDING_SUFFIX, first, events);
  page_begin (&frame);
  play (&frame, path);
  assert_nothing_read (frame.page->document);
  studio_runner_train (frame.page->runner);
  g_assert_true (studio_page_is_asking (frame.page));
  g_assert_cmpint (studio_run_get_state (frame.page->run), ==, STUDIO_RUN_IDLE);
  assert_nothing_read (frame.page->document);
  /* Saving it elsewhere is no agreement. */
  g_assert_true (studio_document_save (frame.page->document, saved, &error));
  assert_nothing_read (frame.page->document);
  page_end (&frame);

  g_autoptr (Recording) recording = recording_read (path, &error);
  g_autoptr (StudioDocument) document = studio_document_new (), again = studio_document_new ();
  g_autoptr (StudioRun) run = studio_run_new ();
  g_assert_no_error (error);
  g_assert_true (studio_document_keep_journal (document, journals, &error));
  g_assert_true (studio_document_open_part (document, recording->graph, path, &error));
  Replay *replay = replay_new (g_steal_pointer (&recording), document, run);
  replay_seek (replay, 2);
  g_assert_null (outside_fault (document));
  g_assert_true (loom_net_node (studio_document_get_net (document), 0)->typed);
  replay_seek (replay, 1);
  assert_nothing_read (document);
  replay_free (replay);
  g_clear_object (&document); /* as a crash leaves the journal */
  g_auto (GStrv) orphans = studio_journal_orphans (journals);
  g_assert_cmpuint (g_strv_length (orphans), ==, 1);
  g_assert_true (studio_document_recover (again, orphans[0], &error));
  assert_nothing_read (again);
}

/* ---- what a replay would overwrite ------------------------------------------------ */

static const char *
state_of (const PageFrame *self)
{
  return studio_recording_bar_get_state (self->page->recording_bar);
}

/* The button of the bar with this icon. */
static GtkButton *
find_button (const PageFrame *self, const char *icon)
{
  g_autoptr (GPtrArray) found = g_ptr_array_new ();

  find_widgets (GTK_WIDGET (self->page->recording_bar), GTK_TYPE_BUTTON, found);
  for (guint i = 0; i < found->len; i++)
    if (g_strcmp0 (gtk_button_get_icon_name (found->pdata[i]), icon) == 0)
      return found->pdata[i];
  g_assert_not_reached ();
}

/* A run that begins is the run's own, and the replay's figures are not added to it. */
static void
test_run_begins (void)
{
  g_autofree char *path = write_recording ("run" RECORDING_SUFFIX, CHAIN, "{\"at\":9,\"note\":\"\"}\n");
  PageFrame frame;

  page_begin (&frame);
  play (&frame, path);
  g_assert_cmpstr (state_of (&frame), ==, "playing");
  studio_run_take_state (frame.page->run, "done", NULL);
  g_assert_cmpstr (state_of (&frame), ==, "playing");
  studio_run_take_state (frame.page->run, "preparing", NULL);
  g_assert_cmpstr (state_of (&frame), ==, "-");
  studio_run_take_state (frame.page->run, "done", NULL);
  page_end (&frame);
}

/* Another document in the page ends the replay, and a page with one is not taken for another document. */
static void
test_other_document (void)
{
  static const char empty[] = GRAPH ("");
  g_autofree char *path = write_recording ("empty" RECORDING_SUFFIX, empty, "{\"at\":9,\"note\":\"\"}\n");
  g_autoptr (GError) error = NULL;
  PageFrame frame;

  page_begin (&frame);
  g_assert_true (studio_page_is_untouched (frame.page));
  play (&frame, path);
  g_assert_false (studio_page_is_untouched (frame.page));
  g_assert_true (studio_page_open_example (frame.page, "lessons/spirals", &error));
  g_assert_cmpstr (state_of (&frame), ==, "-");
  play (&frame, path);
  g_assert_cmpstr (state_of (&frame), ==, "playing");
  studio_page_reset (frame.page);
  g_assert_cmpstr (state_of (&frame), ==, "-");
  g_assert_true (studio_page_is_untouched (frame.page));
  page_end (&frame);
}

/* The bar is still shown for a moment after Stop. */
static void
test_after_stop (void)
{
  g_autofree char *path = write_recording ("stop" RECORDING_SUFFIX, CHAIN, "{\"at\":9,\"note\":\"\"}\n");
  PageFrame frame;

  page_begin (&frame);
  play (&frame, path);
  GtkButton *button = find_button (&frame, "media-playback-pause-symbolic");
  GtkWidget *caption = find_widget (GTK_WIDGET (frame.page->recording_bar), GTK_TYPE_ENTRY);
  g_signal_emit_by_name (button, "clicked");
  g_assert_cmpstr (state_of (&frame), ==, "paused");
  g_signal_emit_by_name (find_button (&frame, "media-playback-stop-symbolic"), "clicked");
  g_assert_cmpstr (state_of (&frame), ==, "-");
  g_signal_emit_by_name (button, "clicked");
  g_signal_emit_by_name (caption, "activate");
  g_assert_cmpstr (state_of (&frame), ==, "-");
  page_end (&frame);
}

/* ---- events -------------------------------------------------------------------- */

static Recording *
read_text (const char *name, const char *events)
{
  g_autofree char *path = write_recording (name, CHAIN, events);
  g_autoptr (GError) error = NULL;
  Recording *recording = recording_read (path, &error);

  g_assert_no_error (error);
  return recording;
}

/* Plays all events on a run. (transfer full) */
static StudioRun *
play_events (const char *events)
{
  StudioRun *run = studio_run_new ();
  g_autoptr (StudioDocument) document = document_load (CHAIN);
  Replay *replay = replay_new (read_text ("events" RECORDING_SUFFIX, events), document, run);

  replay_seek (replay, replay_get_length (replay));
  replay_free (replay);
  return run;
}

/* Members of another type are as if they were not there. */
static void
test_types (void)
{
  static const char *const values[] = { "5", "-1e300", "true", "null", "\"text\"", "[1,[2]]", "{\"a\":{\"b\":1}}" };
  static const char *const members[]
      = { "event", "split", "step", "epoch", "loss", "lr", "total_steps", "epochs", "metrics", "other" };
  static const char *const kinds[] = { "graph", "selection", "note", "command", "state", "run", "other" };
  g_autoptr (GString) events = g_string_new (NULL);

  for (guint v = 0; v < G_N_ELEMENTS (values); v++)
    {
      for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
        if (v != 4 || i > 0) /* of a graph that cannot be read, a message tells */
          g_string_append_printf (events, "{\"at\":0,\"%s\":%s}\n", kinds[i], values[v]);
      for (guint i = 0; i < G_N_ELEMENTS (members); i++)
        for (guint is_eval = 0; is_eval < 2; is_eval++)
          g_string_append_printf (events, "{\"at\":0,\"run\":{\"event\":\"%s\",\"%s\":%s}}\n",
                                  is_eval ? "eval" : "step", members[i], values[v]);
    }
  g_string_append (events, "{\"at\":0,\"run\":{\"event\":\"step\",\"step\":7,\"loss\":0.5,\"metrics\":{\"m\":[]}}}\n");
  g_autoptr (StudioRun) run = play_events (events->str);
  double step, loss;
  g_assert_true (loom_series_last (studio_run_get_train (run, -1), &step, &loss));
  g_assert_cmpfloat (step, ==, 7);
  g_assert_cmpfloat (loss, ==, 0.5);
}

/* JSON-GLib's parser is recursive. */
static void
test_nesting (void)
{
  const gsize deep = 1 << 20;
  g_autofree char *open = g_strnfill (deep, '['), *close = g_strnfill (deep, ']'),
                  *events = g_strconcat ("{\"at\":0,\"other\":", open, close, "}\n{\"at\":1,\"note\":\"\"}\n", NULL);
  g_autofree char *path = write_recording ("deep" RECORDING_SUFFIX, CHAIN, events);
  g_autoptr (GError) error = NULL;

  g_assert_null (recording_read (path, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_PARSE);
  g_assert_cmpstr (error->message, ==, "Line 2: not an event.");
}

/* ---- states and metrics --------------------------------------------------------- */

/* (transfer full) */
static Recording *
read_back (const char *path)
{
  g_autoptr (GError) error = NULL;
  Recording *recording = recording_read (path, &error);

  g_assert_no_error (error);
  return recording;
}

/* States are words of the file and not of the language. */
static void
test_states (void)
{
  g_autofree char *path = path_of ("states" RECORDING_SUFFIX), *text = NULL;
  g_autoptr (StudioDocument) document = document_load (CHAIN);
  g_autoptr (StudioRun) run = studio_run_new ();
  Recorder *recorder = recorder_new (document, run, path, NULL);

  g_assert_nonnull (recorder);
  studio_run_take_state (run, "preparing", NULL);
  studio_run_take_state (run, "running", NULL);
  studio_run_take_state (run, "done", NULL);
  recorder_free (recorder);
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_assert_nonnull (strstr (text, "\"state\":\"starting\""));
  g_assert_nonnull (strstr (text, "\"state\":\"running\""));
  g_assert_nonnull (strstr (text, "\"state\":\"done\""));
  g_autoptr (StudioRun) played = play_events ("{\"at\":0,\"run\":{\"event\":\"step\",\"step\":1,\"loss\":1}}\n"
                                              "{\"at\":1,\"state\":\"starting\"}\n");
  g_assert_cmpuint (loom_series_length (studio_run_get_train (played, -1)), ==, 0);
  g_assert_nonnull (studio_run_get_previous (played, -1));
}

/* A run keeps each metric's curves, so a file cannot name any number of them. */
static void
test_metrics (void)
{
  g_autoptr (GString) events = g_string_new (NULL);

  for (int e = 0; e < 4; e++)
    {
      g_string_append_printf (events, "{\"at\":0,\"run\":{\"event\":\"%s\",\"step\":%d,\"metrics\":{",
                              e % 2 == 0 ? "step" : "eval", e);
      for (int i = 0; i < 40; i++)
        g_string_append_printf (events, "%s\"m%d\":%d", i > 0 ? "," : "", 40 * e + i, i);
      g_string_append (events, "}}}\n");
    }
  g_autoptr (StudioRun) run = play_events (events->str);
  g_assert_cmpuint (studio_run_n_metrics (run), ==, 64);
  g_assert_cmpstr (studio_run_get_metric_name (run, 63), ==, "m63");
}

/* ---- limits --------------------------------------------------------------------- */

/* What is recorded can be read: a recording ends before the reader's limits, with a sentence. */
static void
test_limits (void)
{
  const guint most = 200000;
  g_autofree char *path = path_of ("long" RECORDING_SUFFIX), *large = g_strnfill (33 << 20, 'x'), *text = NULL;
  g_autoptr (StudioDocument) document = document_load (CHAIN);
  g_autoptr (StudioRun) run = studio_run_new ();
  g_autoptr (GError) error = NULL;
  Recorder *recorder = recorder_new (document, run, path, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < most; i++)
    recorder_note (recorder, "a");
  recorder_note (recorder, "b");
  g_assert_cmpstr (recorder_get_fault (recorder), ==, "A recording has at most 64 MB, 200,000 events and 24 hours.");
  recorder_free (recorder);
  g_autoptr (Recording) of_events = read_back (path);
  g_assert_cmpuint (of_events->events->len, ==, most);

  /* One more is refused, rather than left out. */
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_autofree char *longer = g_strconcat (text, "{\"at\":86400,\"note\":\"\"}\n", NULL);
  g_assert_true (g_file_set_contents (path, longer, -1, NULL));
  g_assert_null (recording_read (path, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
  g_clear_error (&error);

  recorder = recorder_new (document, run, path, &error);
  g_assert_no_error (error);
  recorder_note (recorder, large);
  g_assert_null (recorder_get_fault (recorder));
  recorder_note (recorder, large);
  g_assert_nonnull (recorder_get_fault (recorder));
  recorder_free (recorder);
  g_autoptr (Recording) of_bytes = read_back (path);
  g_assert_cmpuint (of_bytes->events->len, >=, 1);

  g_assert_true (recording_fits (0, 0, 24 * 3600, NULL));
  g_assert_false (recording_fits (0, 0, 24 * 3600 + 1, NULL));
  g_assert_true (g_file_set_contents (path, "", 0, NULL));
  g_assert_null (recording_read (path, &error));
  g_assert_cmpstr (error->message, ==, "Line 1: not a recording of version 1.");
}

TEST_FILE (argc, argv)
{
  int status;

  folder = g_dir_make_tmp ("gradloom-recording-XXXXXX", NULL);
  g_setenv ("XDG_STATE_HOME", folder, TRUE);
  g_setenv ("XDG_DATA_HOME", folder, TRUE);
  g_setenv ("GRADLOOM_WORKER", "/nonexistent/gradloom", TRUE);
  g_test_init (&argc, &argv, NULL);
  adw_init ();
  gradloom_register_resource ();
  gradloom_icons_register_resource ();
  g_test_add_func ("/recording/outside", test_outside);
  g_test_add_func ("/recording/run-begins", test_run_begins);
  g_test_add_func ("/recording/other-document", test_other_document);
  g_test_add_func ("/recording/after-stop", test_after_stop);
  g_test_add_func ("/recording/types", test_types);
  g_test_add_func ("/recording/nesting", test_nesting);
  g_test_add_func ("/recording/states", test_states);
  g_test_add_func ("/recording/metrics", test_metrics);
  g_test_add_func ("/recording/limits", test_limits);
  status = g_test_run ();
  remove_tree (folder);
  return status;
}
