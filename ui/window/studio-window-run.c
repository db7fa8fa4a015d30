/* Training from the window: the one button, devices, and what belongs to the run that is shown. */
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#include "ui/charts/studio-text-scale.h"
#include "ui/training/studio-training-settings.h"
#include "ui/window/studio-window-private.h"

/* ---- starting ------------------------------------------------------------------------------- */

static gboolean
is_sound (StudioWindow *self)
{
  LoomFaults *faults = studio_document_get_faults (self->document);
  if (loom_faults_count (faults) == 0)
    return TRUE;
  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      const LoomFault *fault = loom_faults_get (faults, i);
      if (fault->is_warning)
        continue;
      g_autofree char *text
          = fault->node != NULL ? g_strdup_printf ("%s: %s", fault->node, fault->message) : g_strdup (fault->message);
      studio_window_toast (self, text);
      break;
    }
  studio_window_show_faults (self);
  return FALSE;
}

static void
start (StudioWindow *self, gboolean paused)
{
  g_autoptr (GError) error = NULL;
  /* A fault of the last run does not forbid another run. */
  studio_document_set_run_fault (self->document, NULL, NULL, NULL, NULL);
  if (!is_sound (self))
    return;
  if (!studio_training_ensure (self->document, &error))
    {
      studio_window_toast (self, error->message);
      return;
    }
  if (!is_sound (self))
    return;
  LoomGraph *graph = studio_document_get_graph (self->document);
  g_autofree char *xml = loom_graph_write (graph, NULL);
  g_autofree char *name = studio_document_dup_title (self->document);
  StudioRunOptions options = STUDIO_RUN_OPTIONS_INIT;
  options.paused = paused;
  studio_document_mark_run (self->document);
  studio_run_start (self->run, xml, loom_graph_get_folder (graph), name, &options);
  g_autofree char *hash = loom_graph_hash (graph);
  studio_run_remember (self->run, hash);
  if (paused)
    studio_run_step (self->run);
  studio_window_show_panel (self);
}

void
studio_window_train (StudioWindow *self)
{
  switch (studio_run_get_state (self->run))
    {
    case STUDIO_RUN_RUNNING:
      studio_run_pause (self->run);
      break;
    case STUDIO_RUN_PAUSED:
      studio_run_resume (self->run);
      break;
    case STUDIO_RUN_STARTING:
      if (studio_run_is_pause_wanted (self->run))
        studio_run_resume (self->run);
      else
        studio_run_pause (self->run);
      break;
    case STUDIO_RUN_IDLE:
    case STUDIO_RUN_DONE:
    case STUDIO_RUN_STOPPED:
    case STUDIO_RUN_FAILED:
    case STUDIO_RUN_LOST:
      start (self, FALSE);
      break;
    }
}

/* ---- going on ------------------------------------------------------------------------------- */

/* What <train> may say anew for a run that goes on: where it trains, and how long. The learning rate is the run's. */
static const char *const may_change[] = { "device", "epochs" };

static LoomElement *
train_of (LoomGraph *graph)
{
  return loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
}

/* The run's own graph; NULL before the first run. */
static LoomGraph *
read_run_graph (StudioWindow *self)
{
  const char *xml = studio_run_get_graph (self->run);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  return xml != NULL ? loom_graph_read_data (xml, strlen (xml), "run", faults, NULL) : NULL;
}

/* TRUE when the run, gone on with as the document now says, is of the document's version. Changes run. */
static gboolean
is_of_this_version (StudioWindow *self, LoomGraph *run)
{
  LoomGraph *document = studio_document_get_graph (self->document);
  LoomElement *here = train_of (document), *there = run != NULL ? train_of (run) : NULL;
  if (here == NULL || there == NULL)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (may_change); i++)
    {
      const char *value = loom_element_get (here, may_change[i]);
      g_autoptr (LoomEdit) inverse = loom_graph_apply (run, loom_edit_set (there, may_change[i], value));
    }
  g_autofree char *a = loom_graph_hash (document), *b = loom_graph_hash (run);
  return g_str_equal (a, b);
}

static void
go_on (StudioWindow *self, double lr, gboolean paused)
{
  StudioRunOptions changes = STUDIO_RUN_OPTIONS_INIT;
  LoomGraph *document = studio_document_get_graph (self->document);
  g_autoptr (LoomGraph) run = read_run_graph (self);
  LoomElement *here = train_of (document), *there = run != NULL ? train_of (run) : NULL;
  const char *device = here != NULL ? loom_element_get (here, "device") : NULL;
  const char *epochs = here != NULL ? loom_element_get (here, "epochs") : NULL;
  changes.device = device != NULL || self->devices == NULL ? device : self->devices[0];
  if (there != NULL && epochs != NULL && g_strcmp0 (epochs, loom_element_get (there, "epochs")) != 0)
    changes.epochs = g_ascii_strtoll (epochs, NULL, 10);
  changes.lr = lr;
  changes.paused = paused;
  studio_document_set_run_fault (self->document, NULL, NULL, NULL, NULL);
  studio_run_continue (self->run, &changes);
  if (is_of_this_version (self, run))
    {
      g_autofree char *hash = loom_graph_hash (document);
      studio_document_mark_run (self->document);
      studio_run_remember (self->run, hash);
      studio_run_bars_update_version (self->run_bars);
    }
  if (paused)
    studio_run_step (self->run);
}

void
studio_window_continue (StudioWindow *self)
{
  go_on (self, NAN, FALSE);
}

void
studio_window_continue_slower (StudioWindow *self)
{
  go_on (self, studio_run_get_base_lr (self->run) / 10, FALSE);
}

void
studio_window_step (StudioWindow *self)
{
  if (studio_run_get_state (self->run) == STUDIO_RUN_RUNNING)
    studio_run_pause (self->run);
  else if (studio_run_is_live (self->run))
    studio_run_step (self->run);
  else
    {
      g_autoptr (LoomGraph) run = studio_run_can_go_on (self->run) ? read_run_graph (self) : NULL;
      if (is_of_this_version (self, run))
        go_on (self, NAN, TRUE);
      else
        start (self, TRUE);
    }
}

void
studio_window_restart (StudioWindow *self)
{
  start (self, FALSE);
}

/* The graph as the run has it, in a window of its own. */
void
studio_window_show_run (StudioWindow *self)
{
  const char *folder = studio_run_get_folder (self->run);
  g_autoptr (GFile) file = folder != NULL ? g_file_new_build_filename (folder, "graph.xml", NULL) : NULL;
  if (file == NULL || !g_file_query_exists (file, NULL))
    {
      studio_window_toast (self, "The run has not written its graph yet.");
      return;
    }
  if (studio_window_present_file (gtk_window_get_application (GTK_WINDOW (self)), file))
    return;
  StudioWindow *other = studio_window_new (ADW_APPLICATION (gtk_window_get_application (GTK_WINDOW (self))));
  gtk_window_present (GTK_WINDOW (other));
  studio_window_open_file (other, file);
}

/* ---- how fast ------------------------------------------------------------------------------- */

#define WATCH_SECONDS 30

/* Remembered while the program runs: a window that is opened later begins as the last one was set. */
static gboolean full_speed;

void
studio_window_set_speed (StudioWindow *self, const char *speed)
{
  full_speed = g_str_equal (speed, "full");
  studio_run_set_pace (self->run, full_speed ? 0 : WATCH_SECONDS);
  studio_run_panel_set_speed (self->run_panel, speed);
}

const char *
studio_window_get_speed (void)
{
  return full_speed ? "full" : "watch";
}

/* ---- the run's news --------------------------------------------------------------------------- */

static void
state_cb (StudioRun *run, StudioWindow *self)
{
  StudioRunState state = studio_run_get_state (run);
  gboolean pausing = state == STUDIO_RUN_STARTING && studio_run_is_pause_wanted (run);
  gboolean running = state == STUDIO_RUN_RUNNING || (state == STUDIO_RUN_STARTING && !pausing);
  gboolean paused = state == STUDIO_RUN_PAUSED || pausing;
  gtk_button_set_label (GTK_BUTTON (self->train_button), running ? "Pause" : paused ? "Resume" : "Train");
  gtk_widget_set_tooltip_text (self->train_button, running  ? "Pause (Ctrl+Enter)"
                                                   : paused ? "Go on (Ctrl+Enter)"
                                                            : "Train (Ctrl+Enter)");
  if (running)
    gtk_widget_remove_css_class (self->train_button, "suggested-action");
  else
    gtk_widget_add_css_class (self->train_button, "suggested-action");
  if (state == STUDIO_RUN_STARTING || state == STUDIO_RUN_RUNNING)
    studio_document_set_run_fault (self->document, NULL, NULL, NULL, NULL);
  studio_window_update_actions (self);
}

static void
problem_cb (StudioRun *run, const char *code, const char *node, const char *port, const char *sentence,
            StudioWindow *self)
{
  /* The card says it; where no card does, the bar of a run that failed; what is no failure, a toast. */
  if (node != NULL && *node != '\0' && studio_document_run_has (self->document, node))
    {
      studio_document_set_run_fault (self->document, code, node, port, sentence);
      return;
    }
  if (!g_str_equal (code, "NOTE") && !g_str_equal (code, "REFUSED"))
    return;
  g_autofree char *text
      = node != NULL && *node != '\0' ? g_strdup_printf ("%s: %s", node, sentence) : g_strdup (sentence);
  studio_window_toast (self, text);
}

static void
memory_cb (StudioRun *run, StudioWindow *self)
{
  studio_window_update_title (self);
}

/* A worker that this window has just let go of is soon done; what trains longer than this trains elsewhere. */
#define ELSEWHERE_MS 700

/* What an earlier Studio left of this graph. */
static gboolean
find_cut_off (StudioWindow *self, const char *hash)
{
  LoomGraph *graph = studio_document_get_graph (self->document);
  if (!studio_run_find_cut_off (self->run, hash, loom_graph_get_folder (graph)))
    return FALSE;
  studio_document_mark_run (self->document);
  studio_window_show_panel (self);
  return TRUE;
}

/* A graph that trains in another window is no run that ended early; once it is over there, it is looked for again. */
static gboolean
elsewhere_cb (gpointer data)
{
  StudioWindow *self = data;
  g_autofree char *hash = loom_graph_hash (studio_document_get_graph (self->document));
  gboolean idle = studio_run_get_state (self->run) == STUDIO_RUN_IDLE;
  gboolean elsewhere = idle && studio_run_is_elsewhere (hash);
  studio_run_say_elsewhere (self->run, elsewhere);
  if (elsewhere)
    return G_SOURCE_CONTINUE;
  self->elsewhere_timer = 0;
  if (idle)
    find_cut_off (self, hash);
  return G_SOURCE_REMOVE;
}

static void
look_for_run (StudioWindow *self)
{
  g_clear_handle_id (&self->elsewhere_timer, g_source_remove);
  if (studio_document_get_path (self->document) == NULL)
    return;
  g_autofree char *hash = loom_graph_hash (studio_document_get_graph (self->document));
  if (!find_cut_off (self, hash) && studio_run_is_elsewhere (hash))
    self->elsewhere_timer = g_timeout_add (ELSEWHERE_MS, elsewhere_cb, self);
}

/* A document that was opened has no run yet: what is shown of an earlier one would be another graph's. */
void
studio_window_setup_run (StudioWindow *self)
{
  if (!g_object_get_data (G_OBJECT (self->run), "wired"))
    {
      g_signal_connect (self->run, "state-changed", G_CALLBACK (state_cb), self);
      g_signal_connect (self->run, "problem", G_CALLBACK (problem_cb), self);
      g_signal_connect (self->run, "memory-changed", G_CALLBACK (memory_cb), self);
      g_object_set_data (G_OBJECT (self->run), "wired", self);
    }
  else
    {
      studio_run_reset (self->run);
      self->panel_shown = FALSE;
      studio_document_unmark_run (self->document);
    }
  look_for_run (self);
  state_cb (self->run, self);
  studio_window_open_lesson (self);
}

/* ---- devices ------------------------------------------------------------------------------------- */

/* "cpu · 2 threads", "cuda:0 · emulated": the name, and what stands behind it. */
static char *
describe_device (StudioWindow *self, const char *name)
{
  const char *detail = self->device_details != NULL ? g_hash_table_lookup (self->device_details, name) : NULL;
  return detail != NULL ? g_strdup_printf ("%s · %s", name, detail) : g_strdup (name);
}

static void
show_device (StudioWindow *self)
{
  LoomElement *train = loom_element_find (loom_graph_root (studio_document_get_graph (self->document)), LOOM_TAG_TRAIN);
  const char *device = train != NULL ? loom_element_get (train, "device") : NULL;
  if (device == NULL)
    device = self->devices != NULL ? self->devices[0] : NULL;
  g_autofree char *text = device != NULL ? describe_device (self, device) : g_strdup ("Device");
  for (char *p = text; device != NULL && *p != '\0' && *p != ':' && *p != ' '; p++)
    *p = g_ascii_toupper (*p);
  g_autofree char *tooltip = g_strdup_printf ("Where it trains: %s", text);
  gtk_widget_set_tooltip_text (self->device_chip, tooltip);
  /* In large text there is room for the device's name alone. */
  g_autofree char *name = g_strndup (text, strcspn (text, " "));
  gtk_label_set_text (GTK_LABEL (self->device_label), studio_text_scale (self->device_chip) < 1.5 ? text : name);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->device_chip), GTK_ACCESSIBLE_PROPERTY_LABEL, text, -1);
}

void
studio_window_set_device (StudioWindow *self, const char *device)
{
  studio_training_set (self->document, "device", device);
}

/* Takes names. */
static void
set_devices (StudioWindow *self, char **names)
{
  g_autoptr (GMenu) menu = g_menu_new ();
  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autofree char *label = describe_device (self, names[i]);
      g_autoptr (GMenuItem) item = g_menu_item_new (label, NULL);
      g_menu_item_set_action_and_target (item, "win.device", "s", names[i]);
      g_menu_append_item (menu, item);
    }
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (self->device_chip), G_MENU_MODEL (menu));
  studio_window_hide_tooltip_behind (self->device_chip);
  studio_window_update_menu (self);
  studio_run_panel_set_devices (self->run_panel, (const char *const *)names);
  studio_inspector_set_devices (self->inspector, (const char *const *)names);
  g_strfreev (self->devices);
  self->devices = names;
  show_device (self);
}

/* The processor says how many threads it computes with, a card what it is called. */
static char *
device_detail (JsonObject *object)
{
  gint64 threads = json_object_get_int_member_with_default (object, "threads", 0);
  if (threads > 0)
    return g_strdup_printf ("%" G_GINT64_FORMAT " %s", threads, threads == 1 ? "thread" : "threads");
  return g_strdup (json_object_get_string_member_with_default (object, "title", NULL));
}

/* One JSON object a line: {"event":"device","name":"cpu",…}; other events are devices that are not there. */
static void
devices_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioWindow) self = data;
  g_autofree char *text = NULL;
  if (!g_subprocess_communicate_utf8_finish (G_SUBPROCESS (source), result, &text, NULL, NULL) || text == NULL
      || self->run_panel == NULL || self->device_details == NULL)
    return;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_autoptr (JsonNode) node = *lines[i] == '{' ? json_from_string (lines[i], NULL) : NULL;
      if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node))
        continue;
      JsonObject *object = json_node_get_object (node);
      const char *event = json_object_get_string_member_with_default (object, "event", "");
      const char *name = json_object_get_string_member_with_default (object, "name", NULL);
      if (!g_str_equal (event, "device") || name == NULL)
        continue;
      g_ptr_array_add (names, g_strdup (name));
      char *detail = device_detail (object);
      if (detail != NULL)
        g_hash_table_insert (self->device_details, g_strdup (name), detail);
    }
  if (names->len == 0)
    return;
  g_ptr_array_add (names, NULL);
  set_devices (self, (char **)g_ptr_array_steal (names, NULL));
}

void
studio_window_find_devices (StudioWindow *self)
{
  self->device_details = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  show_device (self);
  g_signal_connect_swapped (self->document, "changed", G_CALLBACK (show_device), self);
  g_autofree char *program = studio_worker_find_program (NULL);
  if (program == NULL)
    return;
  g_autoptr (GSubprocess) process = g_subprocess_new (
      G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_SILENCE, NULL, program, "devices", "--json", NULL);
  if (process != NULL)
    g_subprocess_communicate_utf8_async (process, NULL, NULL, devices_cb, g_object_ref (self));
}
