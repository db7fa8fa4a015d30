/* The one popover that may be open over the canvas: opening another closes it. */
#pragma once

#include <gtk/gtk.h>

typedef struct _CanvasPopover CanvasPopover;

/* parent: the widget that popovers become children of; it must outlive this. */
CanvasPopover *canvas_popover_new (GtkWidget *parent);
void canvas_popover_free (CanvasPopover *self);

/* NULL: none is open. */
GtkWidget *canvas_popover_get (const CanvasPopover *self);
/* Closes the one that is open. */
void canvas_popover_close (CanvasPopover *self);
/* Closes the one that is open and makes this one (transfer full) a child of the parent. It is unparented when it has
 * been closed, after its own handlers of "closed". */
void canvas_popover_take (CanvasPopover *self, GtkWidget *popover);
/* For a handler of "closed" that acts on what was entered: FALSE if the popover was not the open one, because the
 * parent goes. After it none is open. */
gboolean canvas_popover_release (CanvasPopover *self, GtkWidget *popover);
/* Points it at a position in the parent's pixels, or at the nearest one inside the parent. */
void canvas_popover_point_at (const CanvasPopover *self, GtkWidget *popover, double x, double y);
/* The parent goes: what is open has nothing more to do. */
void canvas_popover_forget (CanvasPopover *self);
/* From the parent's allocation. */
void canvas_popover_present (const CanvasPopover *self);
