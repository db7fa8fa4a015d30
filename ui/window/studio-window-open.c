/* New, Open, examples and recent files: opened in the current page if it is untouched, else in a new tab. */
#include "ui/start/studio-files.h"

#include <glib/gi18n.h>

#include "ui/document/studio-example.h"
#include "ui/page/open-documents.h"
#include "ui/window/studio-window-private.h"

static StudioWindow *
window_of (StudioPage *page)
{
  return STUDIO_WINDOW (gtk_widget_get_root (GTK_WIDGET (page)));
}

static StudioPage *
find_in (StudioWindow *window, StudioDocument *document)
{
  for (guint i = 0; i < studio_window_n_pages (window); i++)
    if (studio_page_get_document (studio_window_get_nth_page (window, i)) == document)
      return studio_window_get_nth_page (window, i);
  return NULL;
}

StudioPage *
studio_window_find_page (GFile *file)
{
  GApplication *application = g_application_get_default ();
  StudioDocument *document = open_documents_find (file);
  StudioPage *found = NULL;
  if (document == NULL || !GTK_IS_APPLICATION (application))
    return NULL;
  for (GList *l = gtk_application_get_windows (GTK_APPLICATION (application)); l != NULL && found == NULL; l = l->next)
    if (STUDIO_IS_WINDOW (l->data))
      found = find_in (l->data, document);
  return found;
}

/* If a page of any window already has this file, shows it and returns TRUE. */
static gboolean
present_file (GFile *file)
{
  StudioPage *has = studio_window_find_page (file);
  if (has == NULL)
    return FALSE;
  g_autofree char *name = g_file_get_basename (file), *text = g_strdup_printf (_ ("“%s” is open here already."), name);
  studio_window_show_page (window_of (has), has);
  gtk_window_present (GTK_WINDOW (window_of (has)));
  studio_page_toast (has, text);
  return TRUE;
}

/* A new tab is added only after the graph was read; errors are shown in the current page. */
void
studio_window_open_file (StudioWindow *self, GFile *file)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (StudioPage) page = NULL;
  if (present_file (file))
    return;
  gboolean here = studio_page_is_untouched (self->page);
  page = here ? g_object_ref (self->page) : g_object_ref_sink (studio_page_new ());
  if (!studio_page_open_file (page, file, &error))
    {
      g_autofree char *name = g_file_get_basename (file);
      g_autofree char *heading = g_strdup_printf (_ ("“%s” cannot be opened"), name);
      studio_page_toast_lasting (self->page, heading, error->message);
    }
  else if (!here)
    studio_window_insert_page (self, page);
}

void
studio_window_new_graph (StudioWindow *self)
{
  studio_page_reset (studio_window_get_free_page (self));
}

void
studio_window_open_example (StudioWindow *self, const char *name)
{
  g_autoptr (GError) error = NULL;
  if (!studio_page_open_example (studio_window_get_free_page (self), name, &error))
    studio_window_toast (self, error->message);
}

void
studio_window_open_example_of (StudioWindow *self, const char *name)
{
  const LoomOp *op = loom_op (name);
  g_autofree char *text = op != NULL ? studio_example_text (op) : NULL;
  g_autoptr (GError) error = NULL;
  if (text != NULL && !studio_page_open_text (studio_window_get_free_page (self), text, -1, &error))
    studio_window_toast (self, error->message);
}

static void
response_cb (GtkNativeDialog *dialog, int response, StudioWindow *self)
{
  if (response != GTK_RESPONSE_ACCEPT)
    return;
  g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
  if (file != NULL)
    studio_window_take_file (self, file);
}

void
studio_window_choose_file (StudioWindow *self)
{
  g_clear_object (&self->chooser);
  self->chooser
      = studio_files_new_chooser (GTK_WINDOW (self), _ ("Open a File"), GTK_FILE_CHOOSER_ACTION_OPEN, _ ("_Open"), TRUE,
                                  studio_document_get_path (studio_page_get_document (self->page)));
  g_signal_connect (self->chooser, "response", G_CALLBACK (response_cb), self);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (self->chooser));
}
