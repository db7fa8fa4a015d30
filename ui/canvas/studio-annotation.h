/* A frame or a note of the layout: below the cards, one focusable widget without children that draws itself. */
#pragma once

#include <gtk/gtk.h>

#include "ui/canvas/card-context.h"

#define STUDIO_TYPE_ANNOTATION_VIEW (studio_annotation_view_get_type ())
G_DECLARE_FINAL_TYPE (StudioAnnotationView, studio_annotation_view, STUDIO, ANNOTATION_VIEW, GtkWidget)

/* context must outlive the widget. */
StudioAnnotationView *studio_annotation_view_new (const CardContext *context, guint64 serial);
const guint64 *studio_annotation_view_peek_serial (StudioAnnotationView *self);
/* The index in the scene. */
guint studio_annotation_view_get_index (StudioAnnotationView *self);
/* Sets the index in the scene and the words for screen readers, and redraws. */
void
studio_annotation_view_update (StudioAnnotationView *self, const StudioScene *scene, guint index, gboolean selected);
