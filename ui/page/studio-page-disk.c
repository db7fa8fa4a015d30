/* The bar that says what others do to the file: changed, deleted, open in another Studio. */
#include "ui/page/studio-page-private.h"

#include <glib/gi18n.h>

static char *
dup_sentence (StudioPage *self, const char *name)
{
  const char *holder = studio_document_get_holder (self->document);
  switch (studio_document_get_disk (self->document))
    {
    case STUDIO_DISK_CHANGED:
      return studio_document_is_edited (self->document)
                 ? g_strdup_printf (_ ("Another program has changed “%s”. It does not contain your changes."), name)
                 : g_strdup_printf (_ ("Another program has changed “%s”."), name);
    case STUDIO_DISK_GONE:
      return g_strdup_printf (_ ("“%s” was deleted or moved. This graph is no longer saved in a file."), name);
    case STUDIO_DISK_SAME:
      break;
    }
  if (holder == NULL || self->holder_dismissed)
    return NULL;
  return g_strdup_printf (
      _ ("“%s” is also open in another Studio (%s). Saving in one overwrites the changes of the other."), name, holder);
}

static void
update_disk (StudioPage *self)
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
studio_page_reload (StudioPage *self)
{
  g_autoptr (GError) error = NULL;
  gboolean edited = studio_document_is_edited (self->document);
  if (!studio_document_reload (self->document, &error))
    studio_page_toast (self, error->message);
  else if (edited)
    studio_page_toast (self, _ ("Reloaded. Undo (Ctrl+Z) brings your changes back."));
  else
    studio_page_toast (self, _ ("Reloaded."));
}

void
studio_page_dismiss_disk (StudioPage *self)
{
  self->holder_dismissed = TRUE;
  update_disk (self);
}

/* ---- saving over what another program wrote ------------------------------------------------------ */

static void
changed_response_cb (AdwMessageDialog *dialog, const char *response, StudioPage *self)
{
  StudioAfter *after = g_object_steal_data (G_OBJECT (dialog), "after");
  if (g_str_equal (response, "overwrite"))
    {
      studio_page_save_over (self, after);
      return;
    }
  if (g_str_equal (response, "copy"))
    {
      studio_page_save_elsewhere (self, after);
      return;
    }
  if (g_str_equal (response, "reload"))
    studio_page_reload (self);
  studio_after_cancel (after);
}

void
studio_page_ask_to_overwrite (StudioPage *self, StudioAfter *after)
{
  g_autofree char *name = g_path_get_basename (studio_document_get_path (self->document));
  g_autofree char *heading = g_strdup_printf (_ ("“%s” has changed on disk"), name);
  AdwMessageDialog *dialog
      = studio_page_new_question (self, heading,
                                  _ ("Another program has changed the file since it was opened. Overwriting discards "
                                     "its changes. Reloading replaces your graph, which you can undo."));
  adw_message_dialog_add_responses (dialog, "overwrite", _ ("_Overwrite"), "reload", _ ("_Reload"), "copy",
                                    _ ("Save _As…"), NULL);
  adw_message_dialog_set_response_appearance (dialog, "overwrite", ADW_RESPONSE_DESTRUCTIVE);
  adw_message_dialog_set_response_appearance (dialog, "copy", ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (dialog, "copy");
  g_object_set_data_full (G_OBJECT (dialog), "after", after, studio_after_cancel);
  g_signal_connect_object (dialog, "response", G_CALLBACK (changed_response_cb), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

/* A monitor may be blind (a network's folder), so the file is also checked when the page or its window is shown
 * again. */
static void
active_cb (StudioPage *self)
{
  GtkStateFlags flags = gtk_widget_get_state_flags (GTK_WIDGET (self));
  if (gtk_widget_get_mapped (GTK_WIDGET (self)) && (flags & GTK_STATE_FLAG_BACKDROP) == 0)
    studio_document_check_disk (self->document);
}

void
studio_page_setup_disk (StudioPage *self)
{
  g_signal_connect (self, "map", G_CALLBACK (active_cb), NULL);
  g_signal_connect (self, "state-flags-changed", G_CALLBACK (active_cb), NULL);
  g_signal_connect_swapped (self->document, "file-changed", G_CALLBACK (update_disk), self);
  g_signal_connect_swapped (self->document, "changed", G_CALLBACK (update_disk), self);
  update_disk (self);
}
