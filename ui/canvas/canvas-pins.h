/* Widgets that hang at cards (pins), by the path of their node. */
#pragma once

#include <gtk/gtk.h>

#include "ui/scene/studio-geometry.h"

typedef struct _CanvasPins CanvasPins;

/* parent: the widget that pins become children of; it must outlive this. */
CanvasPins *canvas_pins_new (GtkWidget *parent);
void canvas_pins_free (CanvasPins *self);

/* The pins of this node; NULL: none. */
GtkWidget *canvas_pins_get (const CanvasPins *self, const char *path);
/* NULL removes the pin of this node. Returns whether anything changed. */
gboolean canvas_pins_set (CanvasPins *self, const char *path, GtkWidget *pin);
/* Places the pins of a scene that are visible, and hides the others. */
void canvas_pins_allocate (CanvasPins *self, const StudioScene *scene, const StudioView *view);
