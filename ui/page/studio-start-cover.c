/* Implements studio-start-cover.h. */
#include "ui/page/studio-start-cover.h"

#include "ui/run/run-folder.h"

static void
list_runs (StudioStartCover *self)
{
  g_auto (GStrv) folders = run_folder_list_attachable ();
  g_autoptr (GPtrArray) texts = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; folders[i] != NULL; i++)
    g_ptr_array_add (texts, run_folder_dup_title (folders[i]));
  studio_start_page_set_runs (self->page, (const char *const *)folders, (const char *const *)texts->pdata);
}

void
studio_start_cover_clear (StudioStartCover *self)
{
  for (guint i = 0; i < G_N_ELEMENTS (self->monitors); i++)
    {
      if (self->monitors[i] != NULL)
        g_signal_handlers_disconnect_by_data (self->monitors[i], self);
      g_clear_object (&self->monitors[i]);
    }
}

static void
watch_runs (StudioStartCover *self)
{
  static const char *const names[] = { "live", "hosts" };

  for (guint i = 0; i < G_N_ELEMENTS (self->monitors); i++)
    {
      g_autoptr (GFile) folder = g_file_new_build_filename (g_get_user_state_dir (), "gradloom", names[i], NULL);

      self->monitors[i] = g_file_monitor_directory (folder, G_FILE_MONITOR_NONE, NULL, NULL);
      if (self->monitors[i] != NULL)
        g_signal_connect_swapped (self->monitors[i], "changed", G_CALLBACK (list_runs), self);
    }
  list_runs (self);
}

void
studio_start_cover_update (StudioStartCover *self, gboolean presenting)
{
  const gboolean empty = studio_document_is_empty (self->document);
  if (!empty)
    self->is_dismissed = FALSE;
  const gboolean shown = empty && !self->is_dismissed && !presenting;
  if (shown && self->monitors[0] == NULL)
    watch_runs (self);
  else if (!shown)
    studio_start_cover_clear (self);
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
