/* Files: open, save, examples, recent ones, recovery. */
#include <glib/gstdio.h>

#include "ui/document/studio-journal.h"
#include "ui/window/studio-window-private.h"

/* ---- open ------------------------------------------------------------------------------------ */

void
studio_window_new_file (StudioWindow *self)
{
  studio_document_reset (self->document);
  self->start_empty = FALSE;
  studio_window_setup_run (self);
  studio_window_update_layout (self);
  studio_window_update_title (self);
}

static void
open_then (StudioWindow *self, gpointer data)
{
  studio_window_open_file (self, data);
}

void
studio_window_open_asking (StudioWindow *self, GFile *file)
{
  if (studio_window_present_file (gtk_window_get_application (GTK_WINDOW (self)), file))
    return;
  studio_window_guard (self, FALSE, open_then, g_object_ref (file), g_object_unref);
}

static GtkFileFilter *
graph_filter (void)
{
  GtkFileFilter *filter = gtk_file_filter_new ();
  gtk_file_filter_set_name (filter, "Graphs");
  gtk_file_filter_add_pattern (filter, "*.xml");
  return filter;
}

static GtkFileChooserNative *
new_chooser (StudioWindow *self, const char *title, GtkFileChooserAction action, const char *accept)
{
  g_clear_object (&self->chooser);
  self->chooser = gtk_file_chooser_native_new (title, GTK_WINDOW (self), action, accept, "_Cancel");
  g_autoptr (GtkFileFilter) filter = graph_filter ();
  gtk_file_chooser_add_filter (GTK_FILE_CHOOSER (self->chooser), filter);
  const char *path = studio_document_get_path (self->document);
  if (path != NULL)
    {
      g_autofree char *name = g_path_get_dirname (path);
      g_autoptr (GFile) folder = g_file_new_for_path (name);
      gtk_file_chooser_set_current_folder (GTK_FILE_CHOOSER (self->chooser), folder, NULL);
    }
  return self->chooser;
}

static void
open_response_cb (GtkNativeDialog *dialog, int response, StudioWindow *self)
{
  if (response != GTK_RESPONSE_ACCEPT)
    return;
  g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
  if (file != NULL)
    studio_window_open_asking (self, file);
}

void
studio_window_choose_file (StudioWindow *self)
{
  GtkFileChooserNative *chooser = new_chooser (self, "Open a Graph", GTK_FILE_CHOOSER_ACTION_OPEN, "_Open");
  g_signal_connect (chooser, "response", G_CALLBACK (open_response_cb), self);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (chooser));
}

void
studio_window_open_example (StudioWindow *self, const char *name)
{
  g_autofree char *resource = g_strdup_printf ("/org/gradloom/Studio/examples/%s.xml", name);
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = g_resources_lookup_data (resource, G_RESOURCE_LOOKUP_FLAGS_NONE, &error);
  gsize length = 0;
  const char *text = bytes != NULL ? g_bytes_get_data (bytes, &length) : NULL;
  if (text == NULL || !studio_document_open_text (self->document, text, (gssize)length, NULL, &error))
    {
      studio_window_toast (self, error->message);
      return;
    }
  studio_window_setup_run (self);
  studio_document_select_only (self->document, 0);
  studio_window_update_layout (self);
  studio_window_update_title (self);
  studio_window_fit_soon (self);
  gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
}

/* ---- save -------------------------------------------------------------------------------------- */

/* A word of the toast's line as a shell takes it: quoted only where it must be. */
static char *
shell_word (const char *word)
{
  for (const char *p = word; *p != '\0'; p++)
    if (!g_ascii_isalnum (*p) && strchr ("/._-+:@%", *p) == NULL)
      return g_shell_quote (word);
  return g_strdup (word);
}

static void
copy_cb (AdwToast *toast, StudioWindow *self)
{
  gdk_clipboard_set_text (gtk_widget_get_clipboard (GTK_WIDGET (self)), g_object_get_data (G_OBJECT (toast), "line"));
}

static void
say_saved (StudioWindow *self)
{
  g_autofree char *word = shell_word (studio_document_get_path (self->document));
  char *line = g_strdup_printf ("gradloom train %s", word);
  g_autofree char *text = g_markup_printf_escaped ("Saved · %s", line);
  AdwToast *toast = adw_toast_new (text);
  g_object_set_data_full (G_OBJECT (toast), "line", line, g_free);
  adw_toast_set_button_label (toast, "Copy");
  adw_toast_set_timeout (toast, 8);
  g_signal_connect (toast, "button-clicked", G_CALLBACK (copy_cb), self);
  adw_toast_overlay_add_toast (ADW_TOAST_OVERLAY (self->toasts), toast);
}

static void save_asking (StudioWindow *self, const char *path, StudioAfter *after);

void
studio_window_save_then (StudioWindow *self, StudioAfter *after)
{
  if (studio_document_get_path (self->document) == NULL)
    studio_window_save_elsewhere (self, after);
  else
    save_asking (self, NULL, after);
}

void
studio_window_save (StudioWindow *self)
{
  studio_window_save_then (self, NULL);
}

void
studio_window_forget_after (gpointer after)
{
  if (after != NULL)
    studio_after_free (after);
}

static void
remember_recent (StudioWindow *self)
{
  g_autoptr (GFile) file = g_file_new_for_path (studio_document_get_path (self->document));
  g_autofree char *uri = g_file_get_uri (file);
  gtk_recent_manager_add_item (gtk_recent_manager_get_default (), uri);
}

typedef struct
{
  StudioWindow *window;
  StudioAfter *after;
  GApplication
      *application; /* held, so that the last window's closing does not end the program before the file is written */
} Saving;

/* A window that was closed meanwhile has no document any more, and its file is written nevertheless; one that shows
 * another graph by now says nothing but what went wrong. */
static void
saved_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Saving *saving = data;
  g_autoptr (StudioWindow) self = saving->window;
  g_autoptr (GApplication) application = saving->application;
  g_autoptr (GError) error = NULL;
  StudioAfter *after = saving->after;
  const gboolean same = self->document != NULL && studio_document_is_saving_by (self->document, result);
  g_free (saving);
  if (!(self->document != NULL ? studio_document_save_finish (self->document, result, &error)
                               : g_task_propagate_boolean (G_TASK (result), &error)))
    {
      if (self->document != NULL)
        studio_window_toast (self, error->message);
      else
        g_printerr ("gradloom-studio: %s\n", error->message);
    }
  else if (same)
    {
      remember_recent (self);
      if (after == NULL)
        say_saved (self);
      else if (!studio_document_is_edited (self->document))
        after->then (self, after->data);
      else
        studio_window_toast (self, "The graph was changed while it was saved: save it again first.");
    }
  studio_window_forget_after (after);
  if (application != NULL)
    g_application_release (application);
}

/* Takes after, which may be NULL. */
static void
finish_save (StudioWindow *self, const char *path, StudioAfter *after)
{
  if (studio_document_is_saving (self->document))
    {
      studio_window_toast (self, "The graph is still being saved.");
      studio_window_forget_after (after);
      return;
    }
  GtkApplication *application = gtk_window_get_application (GTK_WINDOW (self));
  Saving *saving = g_new0 (Saving, 1);
  *saving
      = (Saving){ g_object_ref (self), after, application != NULL ? g_object_ref (G_APPLICATION (application)) : NULL };
  if (application != NULL)
    g_application_hold (G_APPLICATION (application));
  studio_document_save_async (self->document, path, saved_cb, saving);
}

static void
overwrite_response_cb (AdwMessageDialog *dialog, const char *response, StudioWindow *self)
{
  StudioAfter *after = g_object_steal_data (G_OBJECT (dialog), "after");
  if (g_str_equal (response, "overwrite"))
    finish_save (self, NULL, after);
  else if (g_str_equal (response, "copy"))
    studio_window_save_elsewhere (self, after);
  else
    studio_window_forget_after (after);
}

/* Elements that the reader did not understand are not in the graph, so writing over that very file would lose it: that
 * is asked first. */
void
studio_window_save_over (StudioWindow *self, StudioAfter *after)
{
  guint n = studio_document_dropped_parts (self->document);
  if (n == 0)
    {
      finish_save (self, NULL, after);
      return;
    }
  g_autofree char *name = g_path_get_basename (studio_document_get_path (self->document));
  g_autofree char *heading = g_strdup_printf ("Overwrite “%s”?", name);
  g_autofree char *body = n == 1 ? g_strdup ("One part of this file was not understood and would be lost.")
                                 : g_strdup_printf ("%u parts of this file were not understood and would be lost.", n);
  AdwMessageDialog *dialog = studio_window_new_question (self, heading, body);
  adw_message_dialog_add_responses (dialog, "overwrite", "_Overwrite", "copy", "_Save a Copy…", NULL);
  adw_message_dialog_set_response_appearance (dialog, "overwrite", ADW_RESPONSE_DESTRUCTIVE);
  adw_message_dialog_set_response_appearance (dialog, "copy", ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (dialog, "copy");
  g_object_set_data_full (G_OBJECT (dialog), "after", after, studio_window_forget_after);
  g_signal_connect (dialog, "response", G_CALLBACK (overwrite_response_cb), self);
  gtk_window_present (GTK_WINDOW (dialog));
}

/* Saves to path, NULL for where the document came from. */
static void
save_asking (StudioWindow *self, const char *path, StudioAfter *after)
{
  const char *own = studio_document_get_path (self->document);
  g_autoptr (GFile) file = g_file_new_for_path (path != NULL ? path : own);
  StudioWindow *has = studio_window_for_file (gtk_window_get_application (GTK_WINDOW (self)), file);
  if (has != NULL && has != self)
    {
      /* Two windows with one file would each take the other's save for a stranger's. */
      g_autofree char *name = g_file_get_basename (file);
      g_autofree char *text = g_strdup_printf ("“%s” is open in another window. Save under another name.", name);
      studio_window_toast (self, text);
      studio_window_forget_after (after);
    }
  else if (path != NULL && has == NULL)
    finish_save (self, path, after);
  else if (studio_document_check_disk (self->document) == STUDIO_DISK_CHANGED)
    studio_window_ask_to_overwrite (self, after);
  else
    studio_window_save_over (self, after);
}

static void
save_response_cb (GtkNativeDialog *dialog, int response, StudioWindow *self)
{
  StudioAfter *after = g_object_steal_data (G_OBJECT (dialog), "after");
  if (response == GTK_RESPONSE_ACCEPT)
    {
      g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
      g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;
      if (path == NULL)
        studio_window_toast (self, "Only a folder of this computer can take the graph.");
      else
        {
          save_asking (self, path, after);
          return;
        }
    }
  studio_window_forget_after (after);
}

void
studio_window_save_elsewhere (StudioWindow *self, StudioAfter *after)
{
  GtkFileChooserNative *chooser = new_chooser (self, "Save the Graph", GTK_FILE_CHOOSER_ACTION_SAVE, "_Save");
  const char *path = studio_document_get_path (self->document);
  g_autofree char *title = studio_document_dup_title (self->document);
  g_autofree char *name = path != NULL ? g_path_get_basename (path) : g_strconcat (title, ".xml", NULL);
  if (path == NULL)
    {
      for (char *p = name; *p != '\0'; p++)
        if (*p == ' ' || *p == '/')
          *p = '-';
        else
          *p = g_ascii_tolower (*p);
    }
  gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (chooser), name);
  g_object_set_data_full (G_OBJECT (chooser), "after", after, studio_window_forget_after);
  g_signal_connect (chooser, "response", G_CALLBACK (save_response_cb), self);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (chooser));
}

void
studio_window_save_as (StudioWindow *self)
{
  studio_window_save_elsewhere (self, NULL);
}

/* ---- recent ---------------------------------------------------------------------------------------- */

#define N_RECENT 8

static gint
newer_first (gconstpointer a, gconstpointer b)
{
  return g_date_time_compare (gtk_recent_info_get_modified ((GtkRecentInfo *)b),
                              gtk_recent_info_get_modified ((GtkRecentInfo *)a));
}

static gboolean
is_graph (GtkRecentInfo *info)
{
  return g_str_has_suffix (gtk_recent_info_get_uri (info), ".xml") && gtk_recent_info_is_local (info)
         && gtk_recent_info_has_application (info, g_get_application_name ()) && gtk_recent_info_exists (info);
}

void
studio_window_fill_recent (StudioWindow *self)
{
  GtkRecentManager *manager = gtk_recent_manager_get_default ();
  if (adw_split_button_get_menu_model (ADW_SPLIT_BUTTON (self->open_button)) == NULL)
    g_signal_connect_object (manager, "changed", G_CALLBACK (studio_window_fill_recent), self, G_CONNECT_SWAPPED);
  GList *items = g_list_sort (gtk_recent_manager_get_items (manager), newer_first);
  g_autoptr (GMenu) menu = g_menu_new ();
  int n = 0;
  for (GList *l = items; l != NULL && n < N_RECENT; l = l->next)
    {
      if (!is_graph (l->data))
        continue;
      const char *uri = gtk_recent_info_get_uri (l->data);
      g_autoptr (GMenuItem) item = g_menu_item_new (gtk_recent_info_get_display_name (l->data), NULL);
      g_menu_item_set_action_and_target (item, "win.open-recent", "s", uri);
      g_menu_append_item (menu, item);
      n++;
    }
  if (n == 0)
    g_menu_append (menu, "No recent graphs", "win.none");
  g_list_free_full (items, (GDestroyNotify)gtk_recent_info_unref);
  adw_split_button_set_menu_model (ADW_SPLIT_BUTTON (self->open_button), G_MENU_MODEL (menu));
  studio_window_update_menu (self);
}

/* ---- recovery ------------------------------------------------------------------------------------------ */

void
studio_window_offer_recovery (StudioWindow *self)
{
  g_autofree char *folder = studio_journal_default_folder ();
  g_clear_pointer (&self->orphans, g_strfreev);
  self->orphans = studio_journal_orphans (folder);
  g_autoptr (StudioJournalContent) content
      = self->orphans[0] != NULL ? studio_journal_read (self->orphans[0], NULL) : NULL;
  gtk_revealer_set_reveal_child (GTK_REVEALER (self->recover_bar), content != NULL);
  if (content == NULL)
    return;
  g_autofree char *name = content->path != NULL ? g_path_get_basename (content->path) : g_strdup ("an unsaved graph");
  g_autofree char *text = g_strdup_printf ("Studio ended before %u %s to %s %s saved.", content->n_transactions,
                                           content->n_transactions == 1 ? "change" : "changes", name,
                                           content->n_transactions == 1 ? "was" : "were");
  gtk_label_set_label (GTK_LABEL (self->recover_label), text);
}

/* One journal less: every window offers the next one, or nothing. */
static void
offer_the_next (StudioWindow *self)
{
  for (GList *l = gtk_application_get_windows (gtk_window_get_application (GTK_WINDOW (self))); l != NULL; l = l->next)
    if (STUDIO_IS_WINDOW (l->data))
      studio_window_offer_recovery (l->data);
}

static void
recover_then (StudioWindow *self, gpointer data)
{
  g_autoptr (GError) error = NULL;
  if (self->orphans == NULL || self->orphans[0] == NULL)
    return;
  /* A journal that cannot be read whole is kept, and not offered again before the next start. */
  if (studio_document_recover (self->document, self->orphans[0], &error))
    offer_the_next (self);
  else
    {
      gtk_revealer_set_reveal_child (GTK_REVEALER (self->recover_bar), FALSE);
      studio_window_toast (self, error->message);
    }
  studio_window_setup_run (self);
  studio_window_update_layout (self);
  studio_window_fit_soon (self);
}

void
studio_window_recover (StudioWindow *self)
{
  studio_window_guard (self, FALSE, recover_then, NULL, NULL);
}

void
studio_window_discard_recovery (StudioWindow *self)
{
  if (self->orphans != NULL && self->orphans[0] != NULL)
    g_unlink (self->orphans[0]);
  offer_the_next (self);
}

/* ---- pictures ---------------------------------------------------------------------------------------------- */

/* Beside the graph, else among the user's pictures: no dialog, because a lecturer's hands are full. */
static char *
picture_path (StudioWindow *self, const char *what, const char *suffix)
{
  const char *path = studio_document_get_path (self->document);
  g_autofree char *folder = NULL, *stem = NULL;
  if (path != NULL)
    {
      folder = g_path_get_dirname (path);
      stem = g_path_get_basename (path);
      char *dot = strrchr (stem, '.');
      if (dot != NULL)
        *dot = '\0';
    }
  if (folder == NULL || g_access (folder, W_OK) != 0)
    {
      const char *pictures = g_get_user_special_dir (G_USER_DIRECTORY_PICTURES);
      g_free (folder);
      folder = g_strdup (pictures != NULL ? pictures : g_get_home_dir ());
    }
  g_autofree char *name = g_strdup_printf ("%s-%s.%s", stem != NULL ? stem : "gradloom", what, suffix);
  return g_build_filename (folder, name, NULL);
}

static void
say_written (StudioWindow *self, const char *path)
{
  g_autofree char *text = g_strdup_printf ("Saved %s", path);
  studio_window_toast (self, text);
}

void
studio_window_export_map (StudioWindow *self)
{
  g_autofree char *node = studio_window_dup_selected_path (self);
  const char *tensor;
  StudioHeatMap *map = studio_pins_get_map (self->pins, node, &tensor);
  if (map == NULL)
    {
      studio_window_toast (self, "No map is pinned: select a layer and watch it (Ctrl+Shift+W).");
      return;
    }
  g_autofree char *what = g_strdup_printf ("%s-step-%" G_GINT64_FORMAT, tensor, studio_heat_map_get_step (map));
  g_autofree char *path = picture_path (self, what, "svg");
  g_autoptr (GError) error = NULL;
  if (studio_heat_map_export (map, path, &error))
    say_written (self, path);
  else
    studio_window_toast (self, error->message);
}

/* what: "loss.svg", "metric.csv". */
void
studio_window_export_chart (StudioWindow *self, const char *what)
{
  const char *dot = strrchr (what, '.');
  g_return_if_fail (dot != NULL);
  StudioChart *chart = studio_run_panel_get_chart (self->run_panel, g_str_has_prefix (what, "metric"));
  const StudioPlot *plot = studio_chart_get_plot (chart);
  g_autofree char *path = picture_path (self, plot->title, dot + 1);
  g_autoptr (GError) error = NULL;
  if (studio_plot_export (plot, path, &error))
    say_written (self, path);
  else
    studio_window_toast (self, error->message);
}
