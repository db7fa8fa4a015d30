/* Implements studio-runs-tab.h. */
#include "ui/page/studio-runs-tab.h"

#include <glib/gi18n.h>
#include <stdlib.h>
#include <string.h>

#include "ui/run/run-folder.h"
#include "ui/run/run-followers.h"
#include "ui/runs/studio-runs-pane.h"
#include "ui/shell/studio-toasts.h"
#include "ui/start/studio-files.h"

#define PAGE            "runs"
#define REFRESH_SECONDS 2  /* while a run trains and the page is visible */
#define LABEL_LENGTH    18 /* characters of a curve's label in the chart */

struct _StudioRunsTab
{
  GObject parent_instance;
  StudioRunsTabParts parts;
  StudioRuns *runs;
  RunFollowers *followers;
  StudioRunQueue *queue;
  GtkWidget *pane; /* NULL: it is not there */
  GtkFileChooserNative *chooser;
  guint refresh_timer, start_idle;
  gboolean was_live;
  LoomQueuedRun *queued; /* the run that trains, if it was taken from the queue; NULL */
  gboolean has_notes;    /* in the folder of this run */
  gboolean has_run;      /* its worker has begun to train */
  GHashTable *deleting;  /* folder → the toast whose button keeps the run */
};

G_DEFINE_FINAL_TYPE (StudioRunsTab, studio_runs_tab, G_TYPE_OBJECT)

/* ---- the list ------------------------------------------------------------------------------ */

static void
read_runs (StudioRunsTab *self)
{
  LoomGraph *graph = studio_document_get_graph (self->parts.document);
  const char *path = studio_document_get_path (self->parts.document);
  const char *name = loom_element_get (loom_graph_root (graph), "name");
  g_autofree char *folder = path != NULL ? g_path_get_dirname (path) : NULL, *kept = run_folder_of_all ();

  studio_runs_set_graph (self->runs, kept, folder, name != NULL ? name : "");
}

static gboolean
refresh_cb (gpointer data)
{
  StudioRunsTab *self = data;

  /* The name and the file of the graph may have changed. */
  if (studio_panes_is_page_visible (self->parts.panes, PAGE))
    read_runs (self);
  return G_SOURCE_CONTINUE;
}

/* Of another window, or without one. */
static gboolean
any_trains (StudioRunsTab *self)
{
  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (self->runs)); i++)
    {
      g_autoptr (StudioRunEntry) entry = g_list_model_get_item (G_LIST_MODEL (self->runs), i);

      if (studio_run_entry_get (entry)->log.is_training)
        return TRUE;
    }
  return FALSE;
}

/* The curves of runs on hosts are those of their mirrors. */
static void
follow_hosts (StudioRunsTab *self)
{
  g_autoptr (GPtrArray) folders = g_ptr_array_new ();

  for (guint i = 0; self->pane != NULL && i < g_list_model_get_n_items (G_LIST_MODEL (self->runs)); i++)
    {
      g_autoptr (StudioRunEntry) entry = g_list_model_get_item (G_LIST_MODEL (self->runs), i);
      const LoomRunSummary *run = studio_run_entry_get (entry);

      if (run->host != NULL && run->log.is_training)
        g_ptr_array_add (folders, run->folder);
    }
  g_ptr_array_add (folders, NULL);
  run_followers_set (self->followers, (const char *const *)folders->pdata);
}

static void
watch_run (StudioRunsTab *self)
{
  const gboolean wanted = self->pane != NULL && (studio_run_is_live (self->parts.run) || any_trains (self));

  follow_hosts (self);

  if (wanted && self->refresh_timer == 0)
    self->refresh_timer = g_timeout_add_seconds (REFRESH_SECONDS, refresh_cb, self);
  else if (!wanted)
    g_clear_handle_id (&self->refresh_timer, g_source_remove);
}

/* The chosen runs in the chart of the loss. The run that the panel shows has a curve of its own. */
static void
chosen_cb (StudioRunsTab *self)
{
  g_autoptr (GPtrArray) chosen = studio_runs_dup_chosen (self->runs, FALSE);
  StudioPlot *overlays = studio_run_panel_get_overlays (self->parts.panel);
  const char *own = studio_run_get_folder (self->parts.run);
  const guint before = overlays->curves->len;

  studio_plot_clear (overlays);
  for (guint i = 0; i < chosen->len; i++)
    {
      StudioRunEntry *entry = chosen->pdata[i];
      const LoomRunSummary *run = studio_run_entry_get (entry);
      g_autofree char *label = loom_text_printable (loom_run_summary_name (run), TRUE, LABEL_LENGTH);

      if (g_strcmp0 (own, run->folder) == 0 && loom_series_length (studio_run_get_train (self->parts.run, -1)) > 0)
        continue;
      studio_plot_add_curve (overlays, label, STUDIO_PLOT_CURVE_RANK + (guint)studio_run_entry_get_colour (entry),
                             studio_run_entry_get_series (entry));
      if (run->log.split == NULL || !studio_runs_get_validation (self->runs))
        continue;
      /* Translators: name of a run, and “val” or “test”. */
      g_autofree char *evaluated = g_strdup_printf (_ ("%1$s, %2$s"), label, studio_plot_translate (run->log.split));
      studio_plot_add_curve (overlays, evaluated,
                             STUDIO_PLOT_CURVE_RANK_VALIDATION + (guint)studio_run_entry_get_colour (entry),
                             studio_run_entry_get_validation (entry));
    }
  studio_run_panel_update (self->parts.panel);
  /* Only new curves are a reason to open what the user has closed. */
  if (overlays->curves->len > before)
    studio_panel_split_show (self->parts.split);
}

/* ---- deleting ------------------------------------------------------------------------------- */

/* A process trains in this folder, or is about to. */
static gboolean
is_training (StudioRunsTab *self, const char *folder)
{
  return run_folder_is_live (folder)
         || (studio_run_is_live (self->parts.run) && g_strcmp0 (studio_run_get_folder (self->parts.run), folder) == 0);
}

/* TRUE if path is in the folder, also by symbolic links. */
static gboolean
is_inside (const char *path, const char *folder)
{
  g_autofree char *real = realpath (path, NULL), *within = realpath (folder, NULL);
  const gsize n = within != NULL ? strlen (within) : 0;

  return real != NULL && n > 0 && strncmp (real, within, n) == 0 && real[n] == '/';
}

/* Why the run's folder must not go to the trash, as a sentence; NULL: it may. */
static char *
dup_objection (StudioRunsTab *self, const LoomRunSummary *run)
{
  g_autofree char *name = loom_text_printable (loom_run_summary_name (run), TRUE, 40);
  const char *path = studio_document_get_path (self->parts.document);

  if (is_training (self, run->folder))
    return g_strdup_printf (_ ("“%s” is training. Stop it before you delete it."), name);
  if (path != NULL && is_inside (path, run->folder))
    return g_strdup_printf (_ ("The folder of “%s” contains the open graph. Save the graph in another folder first."),
                            name);
  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (self->runs)); i++)
    {
      g_autoptr (StudioRunEntry) entry = g_list_model_get_item (G_LIST_MODEL (self->runs), i);
      const LoomRunSummary *other = studio_run_entry_get (entry);

      if (is_inside (other->folder, run->folder))
        {
          g_autofree char *inner = loom_text_printable (loom_run_summary_name (other), TRUE, 40);
          return g_strdup_printf (_ ("The folder of “%1$s” contains another run, “%2$s”. Delete that one first."), name,
                                  inner);
        }
    }
  return NULL;
}

typedef struct
{
  GWeakRef tab;
  char *folder;
} Trashing;

static void
trashed_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Trashing *trashing = data;
  g_autoptr (StudioRunsTab) self = g_weak_ref_get (&trashing->tab);
  g_autoptr (GError) error = NULL;
  const gboolean is_gone = g_file_trash_finish (G_FILE (source), result, &error)
                           || g_error_matches (error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND);

  if (self != NULL && self->runs != NULL)
    {
      studio_runs_hide (self->runs, trashing->folder, FALSE);
      if (!is_gone)
        {
          g_autofree char *text
              = g_strdup_printf (_ ("The run cannot be moved to the trash: %1$s. Delete its folder: %2$s"),
                                 error->message, trashing->folder);
          studio_toasts_say (self->parts.toasts, text);
        }
    }
  g_weak_ref_clear (&trashing->tab);
  g_free (trashing->folder);
  g_free (trashing);
}

static void
trash (StudioRunsTab *self, const char *folder)
{
  g_autoptr (GFile) file = g_file_new_for_path (folder);
  Trashing *trashing = g_new0 (Trashing, 1);

  g_weak_ref_init (&trashing->tab, self);
  trashing->folder = g_strdup (folder);
  g_file_trash_async (file, G_PRIORITY_DEFAULT, NULL, trashed_cb, trashing);
}

static void
keep_cb (AdwToast *toast, StudioRunsTab *self)
{
  const char *folder = g_object_get_data (G_OBJECT (toast), "folder");

  if (g_hash_table_remove (self->deleting, folder))
    studio_runs_hide (self->runs, folder, FALSE);
}

/* The run may have been continued meanwhile. */
static void
dismissed_cb (AdwToast *toast, StudioRunsTab *self)
{
  const char *folder = g_object_get_data (G_OBJECT (toast), "folder");

  if (!g_hash_table_remove (self->deleting, folder))
    return;
  if (!is_training (self, folder))
    {
      trash (self, folder);
      return;
    }
  g_autofree char *leaf = g_path_get_basename (folder), *name = loom_text_printable (leaf, TRUE, 40);
  g_autofree char *text = g_strdup_printf (_ ("“%s” is training again and was not deleted."), name);

  studio_runs_hide (self->runs, folder, FALSE);
  studio_toasts_say (self->parts.toasts, text);
}

static void
delete_cb (StudioRunsTab *self, StudioRunEntry *entry)
{
  const LoomRunSummary *run = studio_run_entry_get (entry);
  g_autofree char *name = loom_text_printable (loom_run_summary_name (run), TRUE, 40), *title = NULL, *folder = NULL;
  g_autofree char *objection = dup_objection (self, run);
  AdwToast *toast;

  if (objection != NULL)
    {
      studio_toasts_say (self->parts.toasts, objection);
      return;
    }
  folder = g_strdup (run->folder);
  title = g_strdup_printf (_ ("“%s” goes to the trash"), name);
  g_autofree char *escaped = g_markup_escape_text (title, -1);
  toast = adw_toast_new (escaped);
  adw_toast_set_button_label (toast, _ ("_Undo"));
  /* A sentence must not send the button away. */
  adw_toast_set_priority (toast, ADW_TOAST_PRIORITY_HIGH);
  g_object_set_data_full (G_OBJECT (toast), "folder", g_strdup (folder), g_free);
  g_hash_table_add (self->deleting, g_strdup (folder));
  g_signal_connect_object (toast, "button-clicked", G_CALLBACK (keep_cb), self, 0);
  g_signal_connect_object (toast, "dismissed", G_CALLBACK (dismissed_cb), self, 0);
  studio_runs_hide (self->runs, folder, TRUE);
  studio_toasts_add (self->parts.toasts, toast);
}

/* ---- other signals of the page ---------------------------------------------------------------- */

static void
compare_cb (StudioRunsTab *self, StudioRunEntry *entry)
{
  const LoomRunSummary *run = studio_run_entry_get (entry);

  if (run->graph == NULL)
    studio_toasts_say (self->parts.toasts, run->error);
  else
    studio_comparing_with_graph (self->parts.comparing, loom_graph_copy (run->graph), loom_run_summary_name (run));
}

static void
attach_cb (StudioRunsTab *self, StudioRunEntry *entry)
{
  if (studio_run_is_live (self->parts.run))
    studio_toasts_say (self->parts.toasts,
                       _ ("This window trains already. Attach the run in another tab, or stop this one first."));
  else
    studio_runner_attach_to (self->parts.runner, studio_run_entry_get (entry)->folder);
}

static void
say_cb (StudioRunsTab *self, const char *sentence)
{
  studio_toasts_say (self->parts.toasts, sentence);
}

static void
folder_response_cb (GtkNativeDialog *dialog, int response, StudioRunsTab *self)
{
  g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;

  gtk_native_dialog_hide (dialog);
  if (response == GTK_RESPONSE_ACCEPT && path != NULL)
    studio_runs_set_only (self->runs, path);
}

static void
folder_cb (StudioRunsTab *self)
{
  GtkFileChooserNative *chooser = studio_files_new_chooser (
      GTK_WINDOW (gtk_widget_get_root (self->parts.toasts)), _ ("Runs of a Folder"),
      GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER, _ ("_Show"), FALSE, studio_document_get_path (self->parts.document));

  g_set_object (&self->chooser, chooser);
  g_object_unref (chooser);
  g_signal_connect_object (chooser, "response", G_CALLBACK (folder_response_cb), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (chooser));
}

static void
show (StudioRunsTab *self)
{
  studio_panes_want (self->parts.panes);
  if (self->pane == NULL)
    {
      self->pane = studio_runs_pane_new (self->runs, self->queue);
      g_signal_connect_object (self->pane, "delete", G_CALLBACK (delete_cb), self, G_CONNECT_SWAPPED);
      g_signal_connect_object (self->pane, "compare", G_CALLBACK (compare_cb), self, G_CONNECT_SWAPPED);
      g_signal_connect_object (self->pane, "attach", G_CALLBACK (attach_cb), self, G_CONNECT_SWAPPED);
      g_signal_connect_object (self->pane, "say", G_CALLBACK (say_cb), self, G_CONNECT_SWAPPED);
      g_signal_connect_object (self->pane, "folder", G_CALLBACK (folder_cb), self, G_CONNECT_SWAPPED);
      studio_panes_add_page (self->parts.panes, STUDIO_PANE_END, self->pane, PAGE, _ ("Runs"));
    }
  studio_panes_show_page (self->parts.panes, PAGE);
  read_runs (self);
  watch_run (self);
}

void
studio_runs_tab_toggle (StudioRunsTab *self)
{
  if (!studio_panes_is_page_visible (self->parts.panes, PAGE))
    {
      show (self);
      studio_runs_pane_focus (STUDIO_RUNS_PANE (self->pane));
      return;
    }
  self->pane = NULL;
  studio_panes_remove_page (self->parts.panes, PAGE);
  watch_run (self);
  gtk_widget_grab_focus (GTK_WIDGET (self->parts.canvas));
}

/* ---- the queue ------------------------------------------------------------------------------------ */

/* The run from the queue has ended. One that was never trained, because its worker could not start, waits again. */
static void
end_queued (StudioRunsTab *self, StudioRunState state)
{
  g_autoptr (LoomQueuedRun) run = g_steal_pointer (&self->queued);

  if (run != NULL && !self->has_run && (state == STUDIO_RUN_FAILED || state == STUDIO_RUN_LOST))
    studio_run_queue_put_back (self->queue, g_steal_pointer (&run));
}

void
studio_runs_tab_start (StudioRunsTab *self)
{
  const LoomQueuedRun *next;

  if (studio_run_is_live (self->parts.run) || studio_run_queue_n (self->queue) == 0)
    return;
  g_clear_pointer (&self->queued, loom_queued_run_free);
  self->queued = studio_run_queue_take (self->queue);
  self->has_notes = self->has_run = FALSE;
  next = self->queued;
  if (next == NULL) /* another Studio has taken them all */
    return;
  studio_runner_train_other (self->parts.runner, next->xml, next->folder, next->title);
  /* Its folder could not be made. */
  if (!studio_run_is_live (self->parts.run))
    end_queued (self, STUDIO_RUN_FAILED);
}

StudioRunQueue *
studio_runs_tab_get_queue (StudioRunsTab *self)
{
  return self->queue;
}

void
studio_runs_tab_queue (StudioRunsTab *self)
{
  g_autofree char *title = NULL;

  if (!studio_runner_check (self->parts.runner))
    return;
  title = studio_document_dup_title (self->parts.document);
  studio_run_queue_add (self->queue, studio_document_get_graph (self->parts.document), title, NULL, NULL);
  show (self);
  studio_runs_tab_start (self);
}

void
studio_runs_tab_sweep (StudioRunsTab *self, const char *attribute, const char *const *values)
{
  studio_runs_tab_sweep_node (self, 0, attribute, values);
}

void
studio_runs_tab_sweep_node (StudioRunsTab *self, guint64 serial, const char *attribute, const char *const *values)
{
  const guint n = g_strv_length ((char **)values);
  g_autofree char *title = NULL, *text = NULL;

  if (!studio_runner_check (self->parts.runner))
    return;
  title = studio_document_dup_title (self->parts.document);
  studio_run_queue_add_sweep (self->queue, studio_document_get_graph (self->parts.document), title, serial, attribute,
                              values);
  text = g_strdup_printf (
      ngettext ("%1$u run with another %2$s is in the queue.", "%1$u runs with different %2$s are in the queue.", n), n,
      attribute);
  studio_toasts_say (self->parts.toasts, text);
  show (self);
  studio_runs_tab_start (self);
}

static gboolean
start_cb (gpointer data)
{
  StudioRunsTab *self = data;

  self->start_idle = 0;
  studio_runs_tab_start (self);
  return G_SOURCE_REMOVE;
}

/* The folder has a graph as soon as the worker has begun; before that it must be empty. */
static void
write_notes (StudioRunsTab *self)
{
  const char *folder = studio_run_get_folder (self->parts.run);
  g_autofree char *graph = folder != NULL ? g_build_filename (folder, LOOM_RUN_GRAPH, NULL) : NULL;
  g_autoptr (GError) error = NULL;

  if (self->queued == NULL || self->queued->name == NULL || self->has_notes || graph == NULL
      || !g_file_test (graph, G_FILE_TEST_EXISTS))
    return;
  if (!loom_run_notes_write (folder, &(LoomRunNotes){ .name = self->queued->name, .sweep = self->queued->sweep },
                             &error))
    studio_toasts_say (self->parts.toasts, error->message);
  self->has_notes = TRUE;
}

/* A run that was stopped, or lost its worker, waits for the user, and so does the queue. A run that failed
 * while it trained, as one of a sweep does whose rate is too high, does not hold up the others. */
static void
state_cb (StudioRunsTab *self)
{
  const StudioRunState state = studio_run_get_state (self->parts.run);
  const gboolean live = studio_run_is_live (self->parts.run);

  if (state != STUDIO_RUN_STARTING)
    write_notes (self);
  self->has_run = self->has_run || state == STUDIO_RUN_RUNNING || state == STUDIO_RUN_PAUSED;
  studio_runs_set_paused (self->runs, state == STUDIO_RUN_PAUSED ? studio_run_get_folder (self->parts.run) : NULL);
  if (self->pane != NULL && (self->was_live != live || state == STUDIO_RUN_RUNNING))
    read_runs (self);
  if (self->was_live && !live)
    {
      end_queued (self, state);
      if ((state == STUDIO_RUN_DONE || (state == STUDIO_RUN_FAILED && self->has_run)) && self->start_idle == 0)
        self->start_idle = g_idle_add (start_cb, self);
      self->has_run = FALSE;
    }
  self->was_live = live;
  watch_run (self);
}

static void
file_cb (StudioRunsTab *self)
{
  studio_run_queue_set_document (self->queue, studio_document_get_path (self->parts.document));
}

/* ---- object ------------------------------------------------------------------------------------------ */

char *
studio_runs_tab_dump (StudioRunsTab *self)
{
  return self->pane != NULL ? studio_runs_pane_dump (STUDIO_RUNS_PANE (self->pane)) : NULL;
}

static void
runs_tab_dispose (GObject *object)
{
  StudioRunsTab *self = STUDIO_RUNS_TAB (object);
  GHashTableIter iter;
  gpointer folder;

  g_clear_handle_id (&self->refresh_timer, g_source_remove);
  g_clear_handle_id (&self->start_idle, g_source_remove);
  g_hash_table_iter_init (&iter, self->deleting);
  /* Not in a thread, which the end of the program would interrupt. */
  while (g_hash_table_iter_next (&iter, &folder, NULL))
    {
      g_autoptr (GFile) file = g_file_new_for_path (folder);
      g_autoptr (GError) error = NULL;

      if (!run_folder_is_live (folder) && !g_file_trash (file, NULL, &error)
          && !g_error_matches (error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND))
        g_message ("The run cannot be moved to the trash: %s", error->message);
    }
  g_hash_table_remove_all (self->deleting);
  g_clear_object (&self->chooser);
  g_clear_object (&self->runs);
  g_clear_object (&self->queue);
  G_OBJECT_CLASS (studio_runs_tab_parent_class)->dispose (object);
}

static void
runs_tab_finalize (GObject *object)
{
  StudioRunsTab *self = STUDIO_RUNS_TAB (object);

  g_hash_table_unref (self->deleting);
  run_followers_free (self->followers);
  g_clear_pointer (&self->queued, loom_queued_run_free);
  G_OBJECT_CLASS (studio_runs_tab_parent_class)->finalize (object);
}

static void
studio_runs_tab_class_init (StudioRunsTabClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = runs_tab_dispose;
  G_OBJECT_CLASS (klass)->finalize = runs_tab_finalize;
}

static void
studio_runs_tab_init (StudioRunsTab *self)
{
  g_autofree char *queue = g_build_filename (g_get_user_state_dir (), "gradloom", "queue", NULL);

  self->runs = studio_runs_new ();
  self->queue = studio_run_queue_new (queue);
  self->followers = run_followers_new ();
  self->deleting = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

StudioRunsTab *
studio_runs_tab_new (const StudioRunsTabParts *parts)
{
  StudioRunsTab *self = g_object_new (STUDIO_TYPE_RUNS_TAB, NULL);

  self->parts = *parts;
  g_signal_connect_object (parts->run, "state-changed", G_CALLBACK (state_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->runs, "read", G_CALLBACK (watch_run), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (parts->document, "file-changed", G_CALLBACK (file_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->queue, "problem", G_CALLBACK (studio_toasts_say), parts->toasts, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->runs, "chosen-changed", G_CALLBACK (chosen_cb), self, G_CONNECT_SWAPPED);
  return self;
}
