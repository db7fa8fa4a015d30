/* The bar that says what others do to the file: changed, deleted, open in another Studio; and which windows have it. */
#include "ui/window/studio-window-private.h"

/* ---- one file, one window --------------------------------------------------------------- */

/* The file itself, whatever links lead to it. */
static char *
dup_target (const char *path)
{
  g_autofree char *absolute = g_canonicalize_filename (path, NULL), *target = loom_file_target (absolute);
  return g_canonicalize_filename (target, NULL);
}

StudioWindow *
studio_window_for_file (GtkApplication *application, GFile *file)
{
  g_autofree char *path = g_file_get_path (file), *wanted = path != NULL ? dup_target (path) : NULL;
  for (GList *l = gtk_application_get_windows (application); wanted != NULL && l != NULL; l = l->next)
    {
      const char *has
          = STUDIO_IS_WINDOW (l->data) ? studio_document_get_path (((StudioWindow *)l->data)->document) : NULL;
      g_autofree char *target = has != NULL ? dup_target (has) : NULL;
      if (target != NULL && g_str_equal (target, wanted))
        return l->data;
    }
  return NULL;
}

gboolean
studio_window_present_file (GtkApplication *application, GFile *file)
{
  StudioWindow *has = application != NULL ? studio_window_for_file (application, file) : NULL;
  if (has == NULL)
    return FALSE;
  g_autofree char *name = g_file_get_basename (file), *text = g_strdup_printf ("“%s” is open here already.", name);
  gtk_window_present (GTK_WINDOW (has));
  studio_window_toast (has, text);
  return TRUE;
}

/* ---- the bar ---------------------------------------------------------------------------------- */

static char *
dup_sentence (StudioWindow *self, const char *name)
{
  const char *holder = studio_document_get_holder (self->document);
  switch (studio_document_get_disk (self->document))
    {
    case STUDIO_DISK_CHANGED:
      return studio_document_is_edited (self->document)
                 ? g_strdup_printf ("Another program has changed “%s”; your changes are not in it.", name)
                 : g_strdup_printf ("Another program has changed “%s”.", name);
    case STUDIO_DISK_GONE:
      return g_strdup_printf ("“%s” was deleted or moved. What is shown here is in no file now.", name);
    case STUDIO_DISK_SAME:
      break;
    }
  if (holder == NULL || self->holder_dismissed)
    return NULL;
  return g_strdup_printf ("“%s” is also open in another Studio (%s). Who saves last replaces what the other saved.",
                          name, holder);
}

void
studio_window_update_disk (StudioWindow *self)
{
  const char *path = studio_document_get_path (self->document);
  g_autofree char *name = path != NULL ? g_path_get_basename (path) : NULL;
  g_autofree char *text = name != NULL ? dup_sentence (self, name) : NULL;
  StudioDiskState disk = studio_document_get_disk (self->document);
  if (path == NULL || studio_document_get_holder (self->document) == NULL)
    self->holder_dismissed = FALSE;
  gtk_revealer_set_reveal_child (GTK_REVEALER (self->disk_bar), text != NULL);
  if (text == NULL)
    return;
  gtk_label_set_label (GTK_LABEL (self->disk_label), text);
  gtk_widget_set_visible (self->disk_reload, disk == STUDIO_DISK_CHANGED);
  gtk_widget_set_visible (self->disk_save, disk == STUDIO_DISK_GONE);
  gtk_widget_set_visible (self->disk_dismiss, disk == STUDIO_DISK_SAME);
}

void
studio_window_reload (StudioWindow *self)
{
  g_autoptr (GError) error = NULL;
  gboolean edited = studio_document_is_edited (self->document);
  if (!studio_document_reload (self->document, &error))
    studio_window_toast (self, error->message);
  else if (edited)
    studio_window_toast (self, "Reloaded. Undo (Ctrl+Z) brings your changes back.");
  else
    studio_window_toast (self, "Reloaded.");
}

void
studio_window_dismiss_disk (StudioWindow *self)
{
  self->holder_dismissed = TRUE;
  studio_window_update_disk (self);
}

/* ---- saving over what another program wrote ------------------------------------------------------ */

static void
changed_response_cb (AdwMessageDialog *dialog, const char *response, StudioWindow *self)
{
  StudioAfter *after = g_object_steal_data (G_OBJECT (dialog), "after");
  if (g_str_equal (response, "overwrite"))
    {
      studio_window_save_over (self, after);
      return;
    }
  if (g_str_equal (response, "copy"))
    {
      studio_window_save_elsewhere (self, after);
      return;
    }
  if (g_str_equal (response, "reload"))
    studio_window_reload (self);
  studio_window_forget_after (after);
}

void
studio_window_ask_to_overwrite (StudioWindow *self, StudioAfter *after)
{
  g_autofree char *name = g_path_get_basename (studio_document_get_path (self->document));
  g_autofree char *heading = g_strdup_printf ("“%s” has changed on disk", name);
  AdwMessageDialog *dialog = studio_window_new_question (
      self, heading,
      "Another program has written it since it was read here. Overwriting loses what was written; reloading replaces "
      "what is shown here, until it is undone.");
  adw_message_dialog_add_responses (dialog, "overwrite", "_Overwrite", "reload", "_Reload", "copy", "Save _As…", NULL);
  adw_message_dialog_set_response_appearance (dialog, "overwrite", ADW_RESPONSE_DESTRUCTIVE);
  adw_message_dialog_set_response_appearance (dialog, "copy", ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (dialog, "copy");
  g_object_set_data_full (G_OBJECT (dialog), "after", after, studio_window_forget_after);
  g_signal_connect (dialog, "response", G_CALLBACK (changed_response_cb), self);
  gtk_window_present (GTK_WINDOW (dialog));
}

/* A monitor may be blind (a network's folder): whoever comes back to the window looks. */
static void
active_cb (StudioWindow *self)
{
  if (gtk_window_is_active (GTK_WINDOW (self)))
    studio_document_check_disk (self->document);
}

void
studio_window_setup_disk (StudioWindow *self)
{
  g_signal_connect (self, "notify::is-active", G_CALLBACK (active_cb), NULL);
  g_signal_connect_swapped (self->document, "file-changed", G_CALLBACK (studio_window_update_disk), self);
  g_signal_connect_swapped (self->document, "changed", G_CALLBACK (studio_window_update_disk), self);
  studio_window_update_disk (self);
}
