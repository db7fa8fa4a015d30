/* The canvas: the current scope of a document as cards and wires that can be edited.
 *
 * Each card is one focusable widget without children. Every command is a
 * class action, so keys, menus, tests and screen readers run the same code. */
#pragma once

#include <gtk/gtk.h>

#include "ui/canvas/canvas-commands.h"
#include "ui/canvas/studio-drag-op.h"
#include "ui/document/studio-comparison.h"
#include "ui/document/studio-document.h"
#include "ui/document/studio-quick-fix.h"
#include "ui/scene/studio-scene.h"

#define STUDIO_TYPE_CANVAS (studio_canvas_get_type ())
G_DECLARE_FINAL_TYPE (StudioCanvas, studio_canvas, STUDIO, CANVAS, GtkWidget)

/* Class actions: the table of canvas-commands.c and, as "canvas.ID", the document's (studio-edit-command.h); also
 * canvas.show-cost and node.focus("PATH").
 *
 * Signals: "inspect" when Enter is pressed for the inspector; "view-changed" when zoom or position changed;
 * "status"(const char *sentence) for a sentence worth a toast. */
StudioCanvas *studio_canvas_new (StudioDocument *document);

/* Whether the action of this name would do anything now. */
gboolean studio_canvas_can (StudioCanvas *self, const char *name);

StudioDocument *studio_canvas_get_document (StudioCanvas *self);

double studio_canvas_get_zoom (StudioCanvas *self);
/* Keeps the point under (x, y), in the widget's pixels, where it is; limits 0.1 to 4. */
void studio_canvas_zoom_at (StudioCanvas *self, double zoom, double x, double y);
/* All of the graph, however small it becomes. */
void studio_canvas_zoom_to_fit (StudioCanvas *self);
/* Chips around cards, in canvas units, which are zoomed to as well; NULL: there are none. */
void studio_canvas_set_chips (StudioCanvas *self, const graphene_rect_t *bounds);
/* Closes the popover over the canvas; a note or title that is being edited takes its text. */
void studio_canvas_end_editing (StudioCanvas *self);
/* The selected cards, frames and notes as large as they fit, at most life-size; everything if nothing is selected. */
void studio_canvas_zoom_to_selection (StudioCanvas *self);
/* Goes to this part of the canvas, in its units, as large as it fits, in a short flight where animations are on; NULL:
 * to everything. With keep it is fitted again when the canvas gets another size, until the user moves the view. */
void studio_canvas_show_part (StudioCanvas *self, const graphene_rect_t *part, gboolean keep);
/* Fits the part that is kept, else everything, at once. */
void studio_canvas_fit_again (StudioCanvas *self);
/* The canvas coordinates of the widget's corner, and the zoom: for drawing over the canvas. */
void studio_canvas_get_view (StudioCanvas *self, double *x, double *y, double *zoom);
/* Adds after the selected card, wired to it, or in the selected wire, or with the card's middle at the view's middle, a
 * step aside if something is there; focuses it. */
void studio_canvas_add (StudioCanvas *self, const char *name, gboolean is_module);
/* Applies a quick fix, or prompts for the value that it needs. */
void studio_canvas_apply_fix (StudioCanvas *self, const LoomFix *fix);
/* Draws the card that a fix would insert, on its wire; NULL: nothing. */
void studio_canvas_preview_fix (StudioCanvas *self, const LoomFix *fix);
/* Focuses the card of this path, entering modules as needed, and brings it into view. */
gboolean studio_canvas_focus_path (StudioCanvas *self, const char *path);
/* Scrolls the card of a node into sight without moving the focus. It stays there, whatever size the canvas gets, until
 * the user moves the view. */
void studio_canvas_keep_in_sight (StudioCanvas *self, const char *path);
/* Without dots: while a page with text covers the canvas. */
void studio_canvas_set_bare (StudioCanvas *self, gboolean bare);
/* Dims all cards of a scope ("" the graph, else an instance's path) but those with these ids (NULL: none is dimmed):
 * the subject of a lesson or a slide. */
void studio_canvas_set_spotlight (StudioCanvas *self, const char *scope, const char *const *ids);
/* Marks differences from another graph and shows the nodes that are gone; NULL ends it. */
void studio_canvas_set_comparison (StudioCanvas *self, StudioComparison *comparison);
/* Brings a point, in canvas units, into the view's middle. */
void studio_canvas_look_at (StudioCanvas *self, double x, double y);
/* Wires in right angles; else curved if nothing is in their way. */
void studio_canvas_set_right_angles (StudioCanvas *self, gboolean on);
gboolean studio_canvas_get_right_angles (StudioCanvas *self);
/* How shapes are written on wires. */
void studio_canvas_set_shapes (StudioCanvas *self, StudioShapes shapes);
/* The devices of this machine, NULL-terminated; NULL: they are not known yet. */
void studio_canvas_set_devices (StudioCanvas *self, const char *const *devices);
/* Whether a legend shows how wires of each type are drawn. */
void studio_canvas_set_types_legend (StudioCanvas *self, gboolean on);
/* In a presentation, Fit may enlarge up to 1.6 times, for the back row. */
void studio_canvas_set_presentation (StudioCanvas *self, gboolean on);

/* Hangs a widget of at least the card's width under the card (a pin); NULL removes it. It is visible while its node is.
 */
void studio_canvas_set_pin_widget (StudioCanvas *self, const char *node_path, GtkWidget *widget);
/* A live value on the card instead of its second row ("loss 0.342"); NULL removes it. The caller checks that the node
 * is as the run knows it. */
void studio_canvas_set_live (StudioCanvas *self, const char *node_path, const char *text);
/* Words that a screen reader adds to the description of a card; NULL removes them. TRUE if they have changed: call
 * studio_canvas_describe() after the last card. */
gboolean studio_canvas_set_words (StudioCanvas *self, const char *node_path, const char *words);
void studio_canvas_describe (StudioCanvas *self);
/* Lines below the formula in the tooltip of the card, while the pointer is on it; NULL removes them. The signal
 * "describe" (path) requests them when such a tooltip is made. */
void studio_canvas_set_numbers (StudioCanvas *self, const char *node_path, const char *text);
/* The measured time of each node: seconds (double *) by path, kept by the canvas; NULL removes them. */
void studio_canvas_set_times (StudioCanvas *self, GHashTable *seconds);
/* The health of each node, LoomHealthNode, kept by the canvas; NULL removes it. path, sentence: the sickest node, and
 * what it has; NULL: none. */
void studio_canvas_set_health (StudioCanvas *self, GPtrArray *nodes, const char *path, const char *sentence);
/* Stages of a pipeline that no node names: path → GINT_TO_POINTER (stage + 1), kept by the canvas; NULL: there are
 * none. */
void studio_canvas_set_stages (StudioCanvas *self, GHashTable *stages);
/* A slim accent bar at the card's top edge: 0 to 1, negative for none. */
void studio_canvas_set_progress (StudioCanvas *self, const char *node_path, double fraction);

/* The card of a path in the canvas widget's pixels; FALSE: it is not in the current scope. For tests. */
gboolean studio_canvas_get_card_rect (StudioCanvas *self, const char *node_path, graphene_rect_t *rect);
/* The card under a point in pixels; FALSE: there is none. */
gboolean studio_canvas_get_card_at (StudioCanvas *self, double x, double y, graphene_rect_t *rect);
gboolean studio_canvas_get_port_point (StudioCanvas *self, const char *node_path, gboolean output, const char *port,
                                       graphene_point_t *point);
/* A waypoint of a wire of the current scope in pixels; STUDIO_NO_ITEM: the wire's middle. For tests. */
void studio_canvas_get_wire_point (StudioCanvas *self, guint link, guint index, graphene_point_t *point);

/* The breadcrumb bar over the canvas, "conv_block · 3 uses · Make unique"; hidden at the root. */
GtkWidget *studio_canvas_breadcrumb_new (StudioCanvas *self);
