/* A frame or a note of the layout: behind the cards, one focusable widget without children that draws itself. */
#pragma once

#include <gtk/gtk.h>

#include "ui/scene/studio-geometry.h"

G_BEGIN_DECLS

typedef struct _StudioCanvas StudioCanvas;

#define STUDIO_TYPE_ANNOTATION_VIEW (studio_annotation_view_get_type ())
G_DECLARE_FINAL_TYPE (StudioAnnotationView, studio_annotation_view, STUDIO, ANNOTATION_VIEW, GtkWidget)

StudioAnnotationView *studio_annotation_view_new (StudioCanvas *canvas, guint64 serial);
const guint64 *studio_annotation_view_peek_serial (StudioAnnotationView *self);
guint studio_annotation_view_get_index (StudioAnnotationView *self);
/* Where in the scene it is now; tells the screen reader, and redraws. */
void
studio_annotation_view_update (StudioAnnotationView *self, const StudioScene *scene, guint index, gboolean selected);

G_END_DECLS
