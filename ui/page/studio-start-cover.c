/* Implements studio-start-cover.h. */
#include "ui/page/studio-start-cover.h"

#include "ui/run/run-folder.h"

/* Of the list of runs without a window, while the page is shown: a lock that a window has left changes no file. */
#define LIST_SECONDS 1

/* A list that is like the one before changes nothing. */
static gboolean
list_cb (gpointer data)
{
  StudioStartCover *self = data;
  g_auto (GStrv) folders = run_folder_list_attachable ();
  g_autoptr (GPtrArray) texts = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; folders[i] != NULL; i++)
    g_ptr_array_add (texts, run_folder_dup_title (folders[i]));
  studio_start_page_set_runs (self->page, (const char *const *)folders, (const char *const *)texts->pdata);
  return G_SOURCE_CONTINUE;
}

void
studio_start_cover_clear (StudioStartCover *self)
{
  g_clear_handle_id (&self->timer, g_source_remove);
}

void
studio_start_cover_update (StudioStartCover *self, gboolean presenting)
{
  const gboolean empty = studio_document_is_empty (self->document);
  if (!empty)
    self->is_dismissed = FALSE;
  const gboolean shown = empty && !self->is_dismissed && !presenting;
  if (!shown)
    studio_start_cover_clear (self);
  else if (self->timer == 0)
    {
      list_cb (self);
      self->timer = g_timeout_add_seconds (LIST_SECONDS, list_cb, self);
    }
  gtk_widget_set_visible (GTK_WIDGET (self->page), shown);
  studio_canvas_set_bare (self->canvas, shown);
}

void
studio_start_cover_dismiss (StudioStartCover *self)
{
  self->is_dismissed = TRUE;
  studio_start_cover_update (self, FALSE);
  gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
}
