/* The parts of a canvas, for the controllers and popovers that act on several of them: pointer, keys, commands, menu,
 * quick-add. Each part has its own fields and knows no other that is not named in its header; none knows the board.
 *
 * The board belongs to a widget, which is the parent of the cards and the target of actions. */
#pragma once

#include "ui/canvas/canvas-cards.h"
#include "ui/canvas/canvas-glide.h"
#include "ui/canvas/canvas-landing.h"
#include "ui/canvas/canvas-options.h"
#include "ui/canvas/canvas-pins.h"
#include "ui/canvas/canvas-points.h"
#include "ui/canvas/canvas-popover.h"
#include "ui/canvas/canvas-shift.h"
#include "ui/canvas/canvas-sync.h"
#include "ui/canvas/canvas-tooltip.h"
#include "ui/canvas/canvas-wire-cache.h"

/* What the board reports to the widget. */
typedef struct
{
  void (*say) (const char *sentence, gpointer data);  /* a sentence worth a toast */
  void (*inspect) (gpointer data);                    /* the user asks for the parameters of the selection */
  void (*describe) (const char *path, gpointer data); /* a tooltip needs the numbers of this node */
  void (*view_changed) (gpointer data);
  void (*changed) (gpointer data); /* which commands are possible may have changed */
  gpointer data;
} CanvasBoardOwner;

typedef struct
{
  GtkWidget *widget;
  StudioDocument *document; /* NULL after canvas_board_close() */
  CanvasBoardOwner owner;
  CanvasPictures *pictures;
  CanvasWireCache *wires;
  CanvasView *view;
  CanvasGlide *glide;
  CardValues *values;
  CanvasOptions *options;
  StudioSceneSpotlight *spotlight;
  CanvasMarks *marks;
  CanvasShift *shift;
  CanvasPoints *points;
  CanvasPorts *ports;
  CanvasLanding *landing;
  CanvasPins *pins;
  CanvasPopover *popover;
  CanvasTooltip *tooltip;
  CanvasCards *cards;
  CanvasSync *sync;
  StudioGesture gesture; /* of the pointer */
  CanvasHover hover;
  CardContext context;
  char *sick, *complaint; /* the path of the sickest card, and its sentence; NULL: none */
  gboolean is_bare;       /* without dots */
  gboolean shows_types;   /* in a legend */
  gboolean is_allocating; /* just now */
  gboolean is_space_held; /* a drag pans */
} CanvasBoard;

/* The widget may be of any type; it lives until canvas_board_close(). Call canvas_sync_now() when the owner can be
 * called. */
CanvasBoard *canvas_board_new (GtkWidget *widget, StudioDocument *document, CanvasBoardOwner owner);
/* The widget is disposed of: ends everything that goes on, unparents its children and releases the document. */
void canvas_board_close (CanvasBoard *self);
void canvas_board_free (CanvasBoard *self); /* after canvas_board_close() */
/* The board of a widget, for class actions; NULL: it is closed. */
CanvasBoard *canvas_board_of (GtkWidget *widget);

/* The scene as it is drawn now; the cards agree with it. Valid until the document changes. */
StudioScene *canvas_board_scene (CanvasBoard *self);
const StudioView *canvas_board_view (const CanvasBoard *self);
const StudioTheme *canvas_board_theme (const CanvasBoard *self);
void canvas_board_say (CanvasBoard *self, const char *sentence);

/* ---- drawing ---- */

void canvas_board_redraw_wires (CanvasBoard *self);
/* Style, measure or times changed; texts: also the font. */
void canvas_board_restyle (CanvasBoard *self, gboolean texts);
/* The spotlight changed, or the scene is a new one. */
void canvas_board_light (CanvasBoard *self);
/* Whether an element is selected; data is the board. */
gboolean canvas_board_is_selected_cb (guint64 serial, gpointer data);

/* ---- the view ---- */

void canvas_board_fit (CanvasBoard *self);
void canvas_board_fit_readable (CanvasBoard *self);
void canvas_board_fit_again (CanvasBoard *self);
/* What is selected as large as it fits, at most life-size; everything if nothing is selected. */
void canvas_board_fit_selection (CanvasBoard *self);

/* ---- gestures ---- */

/* Displaces what a drag moves, or the waypoint that it bends; 0, 0 takes it back. */
void canvas_board_shift (CanvasBoard *self, double dx, double dy);
void canvas_board_bend (CanvasBoard *self, double dx, double dy);
/* Ends the gesture without effect. */
void canvas_board_end_gesture (CanvasBoard *self);
/* Makes this the waypoint that the keyboard acts on; STUDIO_NO_ITEM: none. */
void canvas_board_set_point (CanvasBoard *self, guint64 wire, guint point);

/* ---- the keyboard's position ---- */

/* The item that a key acts on; STUDIO_NO_ITEM. */
guint canvas_board_current (CanvasBoard *self);
/* Brings the card of an item into view and gives it the focus. */
void canvas_board_focus_item (CanvasBoard *self, guint item, gboolean select);
/* Likewise for a frame or note; the canvas itself if there is no such one. */
void canvas_board_focus_annotation (CanvasBoard *self, guint index);
/* Gives the first of the selected nodes the focus, if it has a card. */
void canvas_board_focus_selected (CanvasBoard *self);
/* Focuses the card of this path, entering modules as needed; FALSE: there is none. */
gboolean canvas_board_focus_path (CanvasBoard *self, const char *path);
/* The item of this path or id; STUDIO_NO_ITEM. */
guint canvas_board_find_path (CanvasBoard *self, const char *path);

/* ---- where things are added ---- */

/* The pointer if it is over the canvas, else a point in the upper middle; in pixels. */
void canvas_board_where_to_add (CanvasBoard *self, double *x, double *y);
/* Where a new node belongs: after the current card, in the selected wire, else at this point of the graph. */
void canvas_board_add_place (CanvasBoard *self, double x, double y, StudioAddPlace *place);
