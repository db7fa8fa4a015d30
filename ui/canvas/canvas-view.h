/* The visible part of the canvas: zooming, fitting, showing a part, and the view of each scope.
 *
 * What was fitted is fitted again when the canvas gets another size, until the user moves the view or the graph
 * changes. */
#pragma once

#include <gtk/gtk.h>

#include "ui/scene/studio-geometry.h"

typedef struct _CanvasView CanvasView;
/* The view was moved; zoomed: its zoom changed, so that everything has to be redrawn. */
typedef void (*CanvasViewChanged) (gboolean zoomed, gpointer data);

/* widget: the source of text size, settings and frames; it must outlive the view. */
CanvasView *canvas_view_new (GtkWidget *widget, CanvasViewChanged changed, gpointer data);
void canvas_view_free (CanvasView *self);

/* Zoom, corner and size: valid as long as the view, and always current. */
const StudioView *canvas_view_get (const CanvasView *self);
/* From the widget's allocation: returns whether the size changed, which is not reported as a change. */
gboolean canvas_view_set_size (CanvasView *self, double width, double height);

/* By pixels. */
void canvas_view_pan (CanvasView *self, double dx, double dy);
/* The corner, in canvas units. */
void canvas_view_move_to (CanvasView *self, double x, double y);
/* The middle, in canvas units. */
void canvas_view_center (CanvasView *self, double x, double y);
void canvas_view_get_center (const CanvasView *self, double *x, double *y);
/* Scrolls as little as possible. */
void canvas_view_reveal (CanvasView *self, const StudioRect *rect);
/* The same, and again when the size changes, until the view is moved. */
void canvas_view_keep_in_sight (CanvasView *self, const StudioRect *rect);
/* Keeps the point under (x, y) in pixels fixed; limits 0.1 to 4. */
void canvas_view_zoom_at (CanvasView *self, double zoom, double x, double y);

/* Height in pixels of the legends at the lower edge, above which everything is fitted. */
void canvas_view_set_legend (CanvasView *self, double height);
/* What is drawn next to cards is part of everything; width 0: nothing is. */
void canvas_view_set_chips (CanvasView *self, const StudioRect *bounds);
/* Fits everything, however small it becomes; before the first allocation later. */
void canvas_view_fit (CanvasView *self, const StudioScene *scene);
/* The same, but starts at the first card if everything would be too small to read. */
void canvas_view_fit_readable (CanvasView *self, const StudioScene *scene);
/* Fits these bounds, at most life-size. */
void canvas_view_fit_bounds (CanvasView *self, const StudioRect *bounds);
/* Whether something waits to be fitted. */
gboolean canvas_view_needs_fit (const CanvasView *self);
/* Fits the part that is kept, else everything. */
void canvas_view_fit_again (CanvasView *self, const StudioScene *scene);
/* Shows this part, or everything if it is NULL, as large as it fits, in a short flight if animations are on. keep: it
 * is fitted again when the size changes. */
void canvas_view_show_part (CanvasView *self, const graphene_rect_t *part, gboolean keep, const StudioScene *scene);
/* The graph has changed: nothing is fitted any more. */
void canvas_view_forget_fit (CanvasView *self);
/* The view stays where a flight has come to. */
void canvas_view_stop (CanvasView *self);

/* In a presentation, Fit may enlarge up to 1.6 times, for the back row. Returns whether this is a change. */
gboolean canvas_view_set_presented (CanvasView *self, gboolean presented);
gboolean canvas_view_is_presented (const CanvasView *self);

/* Stores the view of the scope that was shown and goes to that of another; FALSE: that has none yet. */
gboolean canvas_view_enter_scope (CanvasView *self, const char *path);
