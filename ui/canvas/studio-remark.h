/* A frame or a note of the layout: behind the cards, one focusable widget without children that draws itself. */
#pragma once

#include <gtk/gtk.h>

#include "ui/scene/studio-geometry.h"

G_BEGIN_DECLS

typedef struct _StudioCanvas StudioCanvas;

#define STUDIO_TYPE_REMARK_VIEW (studio_remark_view_get_type ())
G_DECLARE_FINAL_TYPE (StudioRemarkView, studio_remark_view, STUDIO, REMARK_VIEW, GtkWidget)

StudioRemarkView *studio_remark_view_new (StudioCanvas *canvas, guint64 serial);
const guint64 *studio_remark_view_peek_serial (StudioRemarkView *self);
guint studio_remark_view_get_index (StudioRemarkView *self);
/* Where in the scene it is now; tells the screen reader, and redraws. */
void studio_remark_view_update (StudioRemarkView *self, const StudioScene *scene, guint index, gboolean selected);

G_END_DECLS
