/* Implements studio-start-cover.h. */
#include "ui/page/studio-start-cover.h"

void
studio_start_cover_update (StudioStartCover *self, gboolean presenting)
{
  const gboolean empty = studio_document_is_empty (self->document);
  if (!empty)
    self->is_dismissed = FALSE;
  const gboolean shown = empty && !self->is_dismissed && !presenting;
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
