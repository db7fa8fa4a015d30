/* The canvas: the document's present scope as cards and wires, to be looked at and edited.
 *
 * Each card is one focusable widget without children. Every command is a
 * class action, so keys, menus, tests and screen readers run the same code. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-comparison.h"
#include "ui/document/studio-document.h"
#include "ui/document/studio-mend.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_CANVAS (studio_canvas_get_type ())
G_DECLARE_FINAL_TYPE (StudioCanvas, studio_canvas, STUDIO, CANVAS, GtkWidget)

/* The content of a drag from the palette: a boxed operator or module name. */
#define STUDIO_TYPE_DRAG_OP (studio_drag_op_get_type ())
typedef struct
{
  char *name;
  gboolean is_module;
} StudioDragOp;
GType studio_drag_op_get_type (void);
StudioDragOp *studio_drag_op_new (const char *name, gboolean is_module);

/* Class actions: the table of studio-canvas-actions.c and, as "canvas.ID", the document's (studio-edit-command.h); also
 * canvas.show-cost and node.focus("PATH").
 *
 * Signals: "inspect" when Enter asks for the inspector; "view-changed" when zoom or place changed;
 * "status"(const char *sentence) for a sentence worth a toast. */
StudioCanvas *studio_canvas_new (StudioDocument *document);

/* The table of those actions, for lists of all that can be done. */
typedef struct
{
  const char *name;          /* of the class action, "canvas.delete" */
  const char *group, *title; /* NULL where the window has an action of its own for it */
  const char *key;           /* its first accelerator; NULL: it has none */
} StudioCanvasCommand;
guint studio_canvas_n_commands (void);
StudioCanvasCommand studio_canvas_get_command (guint i);
/* Whether the action of this name would do anything now. */
gboolean studio_canvas_can (StudioCanvas *self, const char *name);

StudioDocument *studio_canvas_get_document (StudioCanvas *self);

double studio_canvas_get_zoom (StudioCanvas *self);
/* Keeps the point under (x, y), in the widget's pixels, where it is; limits 0.1 to 4. */
void studio_canvas_zoom_at (StudioCanvas *self, double zoom, double x, double y);
/* All of the graph, however small it becomes. */
void studio_canvas_zoom_to_fit (StudioCanvas *self);
/* The same, or its beginning where all of it would be too small to read. */
void studio_canvas_fit_readable (StudioCanvas *self);
/* Closes what is open over the canvas; a note or title that is being written takes its text. */
void studio_canvas_end_editing (StudioCanvas *self);
/* The selected cards, frames and notes as large as they fit, at most life-size; everything where nothing is selected.
 */
void studio_canvas_zoom_to_selection (StudioCanvas *self);
/* Goes to this part of the canvas, in its units, as large as it fits, in a short flight where animations are on; NULL:
 * to everything. With keep it is fitted again whenever the canvas gets another size, until somebody moves the view. */
void studio_canvas_show_part (StudioCanvas *self, const graphene_rect_t *part, gboolean keep);
/* Fits the part that is kept, else everything, at once. */
void studio_canvas_fit_again (StudioCanvas *self);
/* The canvas coordinates of the widget's corner, and the zoom: for what is drawn over the canvas. */
void studio_canvas_get_view (StudioCanvas *self, double *x, double *y, double *zoom);
/* The canvas coordinates in the middle of what is seen: where the palette adds. */
void studio_canvas_get_centre (StudioCanvas *self, double *x, double *y);
/* Adds behind the selected card, wired to it, or in the selected wire, or with the card's middle at the middle of what
 * is seen, a step aside when something is there; focuses it. */
void studio_canvas_add (StudioCanvas *self, const char *name, gboolean is_module);
/* Applies a remedy, or asks for the value that it needs. */
void studio_canvas_apply_mend (StudioCanvas *self, const StudioMend *mend);
/* Focuses the card of this path, entering modules as needed, and brings it into view. */
gboolean studio_canvas_focus_path (StudioCanvas *self, const char *path);
/* Without dots: while a page with words lies over the canvas. */
void studio_canvas_set_bare (StudioCanvas *self, gboolean bare);
/* Dims all cards of a scope ("" the graph, else an instance's path) but those with these ids (NULL: none is dimmed):
 * what a lesson or a slide talks about. */
void studio_canvas_set_spotlight (StudioCanvas *self, const char *scope, const char *const *ids);
/* Marks what differs and shows what is gone, while it is compared with another graph; NULL: it is not. */
void studio_canvas_set_comparison (StudioCanvas *self, StudioComparison *comparison);
/* Brings a point into the middle of what is seen, in canvas units. */
void studio_canvas_look_at (StudioCanvas *self, double x, double y);
/* Wires in right angles; else curved where nothing is in their way. */
void studio_canvas_set_right_angles (StudioCanvas *self, gboolean on);
gboolean studio_canvas_get_right_angles (StudioCanvas *self);
/* How shapes are written on wires. */
void studio_canvas_set_shapes (StudioCanvas *self, StudioShapes shapes);
/* The devices of this machine, NULL-terminated; NULL: they are not known yet. */
void studio_canvas_set_devices (StudioCanvas *self, const char *const *devices);
/* Whether a legend says how wires of each type are drawn. */
void studio_canvas_set_types_legend (StudioCanvas *self, gboolean on);
/* In a presentation, Fit may enlarge up to 1.6 times, for the back row. */
void studio_canvas_set_presentation (StudioCanvas *self, gboolean on);

/* Hangs a widget of the card's width under the card (a pin); NULL takes it away. It is shown while its node is. */
void studio_canvas_set_pin_widget (StudioCanvas *self, const char *node_path, GtkWidget *widget);
/* A live value on the card in place of its second row ("loss 0.342"); NULL takes it away. Stands only while the node
 * is as the run knows it, which the caller checks. */
void studio_canvas_set_live (StudioCanvas *self, const char *node_path, const char *text);
/* Lines below the formula in the tooltip of the card, while the pointer is on it; NULL takes them away. The signal
 * "describe" (path) asks for them when such a tooltip is made. */
void studio_canvas_set_numbers (StudioCanvas *self, const char *node_path, const char *text);
/* The measured time of each node: seconds (double *) by path, kept by the canvas; NULL takes them away. */
void studio_canvas_set_times (StudioCanvas *self, GHashTable *seconds);
/* Stages of a pipeline that no node names: path → GINT_TO_POINTER (stage + 1), kept by the canvas; NULL: there are
 * none. */
void studio_canvas_set_stages (StudioCanvas *self, GHashTable *stages);
/* A slim accent bar at the card's top edge: 0 to 1, negative for none. */
void studio_canvas_set_progress (StudioCanvas *self, const char *node_path, double fraction);

/* Where the card of a path is, in the canvas widget's pixels; FALSE when it is not in the present scope. For tests. */
gboolean studio_canvas_get_card_rect (StudioCanvas *self, const char *node_path, graphene_rect_t *rect);
/* The card under a point in pixels; FALSE where there is none. */
gboolean studio_canvas_get_card_at (StudioCanvas *self, double x, double y, graphene_rect_t *rect);
gboolean studio_canvas_get_port_point (StudioCanvas *self, const char *node_path, gboolean output, const char *port,
                                       graphene_point_t *point);
/* Where a point is that a wire of the present scope is led through; STUDIO_NO_ITEM: the wire's middle. For tests. */
void studio_canvas_get_wire_point (StudioCanvas *self, guint link, guint index, graphene_point_t *point);

/* The breadcrumb bar over the canvas, "conv_block · 3 uses · Make unique"; hidden at the root. */
GtkWidget *studio_canvas_breadcrumb_new (StudioCanvas *self);

G_END_DECLS
