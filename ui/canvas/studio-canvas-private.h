/* The canvas's insides, for its files and for its cards. */
#pragma once

#include "ui/canvas/canvas-gesture.h"
#include "ui/canvas/canvas-style.h"
#include "ui/canvas/canvas-wires.h"
#include "ui/canvas/studio-canvas.h"
#include "ui/canvas/studio-chooser.h"
#include "ui/canvas/studio-node.h"
#include "ui/canvas/studio-annotation.h"
#include "ui/scene/studio-measure.h"
#include "ui/document/studio-document-add.h"

G_BEGIN_DECLS

typedef struct _StudioLanding StudioLanding; /* studio-canvas-landing.c */

struct _StudioCanvas
{
  GtkWidget parent_instance;

  StudioDocument *document;
  StudioView view;
  StudioTheme theme;
  gboolean theme_valid;
  gboolean fit_pending; /* until there is a size */
  gboolean fits_all;    /* however small: it was asked for */
  gboolean fitted;      /* nothing was moved since the graph, or the part that is kept, was fitted */
  gboolean part_kept;   /* what is fitted is this part, and not all of the graph */
  StudioRect part;
  struct
  {
    guint tick; /* 0: the view rests */
    gint64 start;
    StudioView from, to, last; /* last: as the flight left it */
    gboolean keeps, keeps_part;
  } flight;
  gboolean presentation;
  gboolean right_angles;        /* of wires */
  StudioShapes shapes;          /* how they are written on wires */
  gboolean types_legend;        /* shown at the lower left */
  char **devices;               /* of this machine; NULL: not known yet */
  gboolean bare;                /* no dots */
  GHashTable *stages;           /* as studio_scene_set_stages() takes them; NULL: nodes name them, or there are none */
  GHashTable *times;            /* path → double *, seconds; NULL where nothing was measured */
  char *numbers, *numbers_path; /* below the formula in the tooltip of the card with this path; NULL: none */
  StudioMeasure measure, last_measure; /* of the costs on cards; what the key brings back */
  StudioComparison *comparison;        /* NULL: with nothing */
  char **spotlight;                    /* ids of the cards that are not dimmed; NULL: none is */
  char *spotlight_scope;               /* path of the scope whose ids these are; of any other none is dimmed */

  gboolean allocating;     /* just now */
  guint sync_tick;         /* before the next frame */
  gboolean stale;          /* the document changed since the last sync */
  GHashTable *nodes;       /* &node->serial → StudioNode */
  GHashTable *annotations; /* serial → StudioAnnotationView */
  GHashTable *icons;       /* name → GtkIconPaintable, or NULL */
  GHashTable *texts;       /* pills */
  GHashTable *sprites;     /* look → cairo_surface_t of cards' frames at this zoom */
  PangoLayout *far_text;   /* for names of cards from afar */
  GHashTable *reading;     /* keys of samples that are being read */
  GskRenderNode *wires, *pills;
  gint64 quiet_until;                          /* no tooltip before */
  gboolean *moving_items, *moving_annotations; /* what a drag moves; NULL while there is none */
  double shift_dx, shift_dy;                   /* what the scene's selected cards are moved by while a drag goes on */

  GArray *glides; /* cards on their way to where they are; NULL: all are there */
  guint glide_tick;
  gint64 glide_start;

  StudioGesture gesture;
  gboolean *lit; /* while wiring: per input or output port, see lit_first */
  guint *lit_first;
  guint n_lit;
  char *refusal; /* why the port under the pointer takes no wire; NULL: it does, or there is none */
  guint refused_item, refused_port;
  StudioLanding *landing; /* of what is being dragged; NULL: nothing */
  gboolean space_held;
  double drag_x, drag_y;   /* where a drag's pointer is, in pixels */
  gboolean awaits_release; /* GTK has cancelled a drag whose release is still in the queue */
  gboolean has_press;      /* a press that the next one may make a double click */
  guint32 press_time;      /* ms, of the display */
  double press_x, press_y;
  guint pan_tick; /* while it is at the canvas's edge */
  gint64 pan_time;
  double pointer_x, pointer_y;
  guint hover; /* item */
  guint hover_link;
  double zoom_start; /* pinch */
  double scroll_x, scroll_y;

  GHashTable *pins, *live; /* path → widget, text */
  GHashTable *progress;    /* path → double * */
  GtkWidget *popover;      /* quick-add or connect */
  guint64 last_focus;      /* serial */
  guint64 point_wire;      /* the wire whose point was pressed last; 0: none was */
  guint point;
  const StudioScene *bent; /* while a drag of a point goes on: the scene in which it is drawn aside */
  struct
  {
    StudioHitKind kind;
    guint64 serial;        /* of the card, wire, frame or note; 0: the canvas */
    const char *port;      /* interned; NULL: none */
    double x, y;           /* canvas */
  } menu;                  /* what the context menu was opened for */
  double paste_x, paste_y; /* where what is being read from the clipboard goes; NAN: beside the original */
  char *scope_path;        /* that the view belongs to */
  GHashTable *views;       /* scope path → StudioView */
  GHashTable *disabled;    /* names of actions that would do nothing now */
  guint synced_scene;      /* the id of the scene that the cards were made from; 0: of none */
  gboolean reselect;       /* the selection changed while the cards were those of an earlier graph */
};

extern guint studio_canvas_signals[];
enum
{
  STUDIO_CANVAS_INSPECT,
  STUDIO_CANVAS_VIEW_CHANGED,
  STUDIO_CANVAS_STATUS,
  STUDIO_CANVAS_DESCRIBE,
  STUDIO_CANVAS_N_SIGNALS
};

/* Dims the card of an item of the scene, or does not. */
void studio_canvas_light_card (StudioCanvas *self, GtkWidget *node, const StudioScene *scene, guint item);
/* Dims wires with their cards, and draws all of them anew. */
void studio_canvas_light_wires (StudioCanvas *self);

/* The scene as it is drawn now; nodes and scene agree after it. */
/* Opens the collapsed frame whose card this item is; the focus stays on the frame. */
void studio_canvas_open_frame (StudioCanvas *self, guint item);
StudioScene *studio_canvas_scene (StudioCanvas *self);
void studio_canvas_view_changed (StudioCanvas *self);
/* Somebody is working: no tooltip over it for a moment. */
void studio_canvas_quiet (StudioCanvas *self);
void studio_canvas_redraw_wires (StudioCanvas *self);
const StudioTheme *studio_canvas_theme (StudioCanvas *self);
GdkPaintable *studio_canvas_icon (StudioCanvas *self, const char *name);
StudioNode *studio_canvas_node (StudioCanvas *self, guint64 serial);
StudioNode *studio_canvas_focused (StudioCanvas *self); /* NULL when no card has the focus */
/* The item that a key means: the focused card's, else the only selected one. */
guint studio_canvas_current (StudioCanvas *self);
void studio_canvas_focus_item (StudioCanvas *self, guint item, gboolean select);
void studio_canvas_focus_annotation (StudioCanvas *self, guint index);
/* The frame or note that a key means; STUDIO_NO_ITEM. */
guint studio_canvas_current_annotation (StudioCanvas *self);
void studio_canvas_say (StudioCanvas *self, const char *sentence);
gboolean studio_canvas_port_is_lit (StudioCanvas *self, guint item, gboolean is_output, guint port);
gboolean studio_canvas_is_wiring (StudioCanvas *self);
void studio_canvas_shift (StudioCanvas *self, double dx, double dy);
/* Places the bubbles of faults again: a card that is moved under the bubble of another one drives it away. */
void studio_canvas_place_faults (StudioCanvas *self, StudioScene *scene);

void studio_canvas_zoomed (StudioCanvas *self, double before);
void studio_canvas_forget_moving (StudioCanvas *self);
/* Where the cards are, and letting them glide from there to where they are now (transfer full). */
GArray *studio_canvas_note_places (StudioCanvas *self);
void studio_canvas_glide (StudioCanvas *self, GArray *before);
void studio_canvas_finish_glide (StudioCanvas *self); /* at once */
void studio_canvas_drop_glide (StudioCanvas *self);   /* the scene has changed: there is nothing to finish */
void studio_canvas_place_again (StudioCanvas *self);
void studio_canvas_drop_flight (StudioCanvas *self); /* the view stays where it has come to */
void studio_canvas_restyle (StudioCanvas *self, gboolean texts);
/* Whether the element is selected; data is the canvas. */
gboolean studio_canvas_is_selected_cb (guint64 serial, gpointer data);
/* Keeps cards and scene as the document has them, from now on. */
void studio_canvas_follow_document (StudioCanvas *self);

/* A layout in the font of cards, for one drawing. */
PangoLayout *studio_canvas_far_text (StudioCanvas *self);
/* Reads the samples that the scene's data sets wait for, each on a thread. */
void studio_canvas_read_samples (StudioCanvas *self, const StudioScene *scene);

/* Virtual functions of the widget that stand in another file. */
void studio_canvas_snapshot (GtkWidget *widget, GtkSnapshot *snapshot);
/* The hints of a gesture over the cards: studio-canvas-hints.c. */
void studio_canvas_snapshot_hints (StudioCanvas *self, GtkSnapshot *snapshot);
void studio_canvas_size_allocate (GtkWidget *widget, int width, int height, int baseline);
gboolean studio_canvas_focus_vfunc (GtkWidget *widget, GtkDirectionType direction);
gboolean studio_canvas_query_tooltip (GtkWidget *widget, int x, int y, gboolean keyboard, GtkTooltip *tooltip);

/* Nodes that are gone are drawn below the cards, marks of differences over them: studio-canvas-compare.c. */
void studio_canvas_snapshot_ghosts (StudioCanvas *self, GtkSnapshot *snapshot);
void studio_canvas_snapshot_marks (StudioCanvas *self, GtkSnapshot *snapshot);
/* "added", "changed: …" for who does not see the mark; NULL: there is none (transfer full). */
char *studio_canvas_dup_mark (StudioCanvas *self, const char *id);
/* Where a drag will land: the wire that a moved card goes into, the ghost of what comes from the palette. */
void studio_canvas_init_landing (StudioCanvas *self);
void studio_canvas_aim (StudioCanvas *self);
/* Puts the moved card into the wire that is aimed at; FALSE where there is none. */
gboolean studio_canvas_land (StudioCanvas *self, double dx, double dy);
void studio_canvas_forget_landing (StudioCanvas *self);
void studio_canvas_snapshot_landing (StudioCanvas *self, GtkSnapshot *snapshot);
/* Shows on the graph what the button below this card would do; 0: nothing. */
void studio_canvas_preview_fix (StudioCanvas *self, guint64 serial);
/* Does what that button says. */
void studio_canvas_fix (StudioCanvas *self, guint64 serial);
void studio_canvas_init_input (StudioCanvas *self);
void studio_canvas_init_keys (StudioCanvas *self);
void studio_canvas_init_menu (StudioCanvas *self);
void studio_canvas_class_init_menu (GtkWidgetClass *klass);
/* The context menu of what has the focus. */
void studio_canvas_menu (StudioCanvas *self);
/* In canvas units; NAN: beside the original. */
void studio_canvas_paste_at (StudioCanvas *self, double x, double y);
void studio_canvas_end_gesture (StudioCanvas *self);
void studio_canvas_class_init_actions (GtkWidgetClass *klass);
void studio_canvas_update_actions (StudioCanvas *self);

/* Operators that could follow a dropped wire: a chosen one is wired at once. */
typedef struct
{
  guint64 serial;
  gboolean from_output;
  const char *port; /* interned */
} StudioLoose;

/* Edits the text of a frame or note of the scene in place. */
void studio_annotation_edit (StudioCanvas *canvas, guint index);
void studio_canvas_add_note (StudioCanvas *self, double x, double y);
void studio_canvas_add_frame (StudioCanvas *self);

/* The point of a wire that keys mean: the one that was pressed last, while its wire alone is selected. */
gboolean studio_canvas_current_point (StudioCanvas *self, guint *link, guint *point);
void studio_canvas_set_point (StudioCanvas *self, guint64 wire, guint point);
void studio_canvas_add_point_at (StudioCanvas *self, guint64 wire, double x, double y);
void studio_canvas_add_point (StudioCanvas *self);
/* FALSE when there is no such point. */
gboolean studio_canvas_remove_point (StudioCanvas *self);
/* Draws the point that the gesture has taken aside by this much; 0, 0 puts it back. */
void studio_canvas_bend (StudioCanvas *self, double dx, double dy);
gboolean studio_canvas_move_point_by (StudioCanvas *self, double dx, double dy);

/* Popovers. at: the point that is pointed at, in pixels; text begins the search. Without a loose wire the place is
 * studio_canvas_add_place()'s. */
void studio_quick_add_popup (StudioCanvas *self, const char *text, double at_x, double at_y, const StudioLoose *loose);
/* The pointer, in pixels, where it is over the canvas. */
void studio_canvas_where_to_add (StudioCanvas *self, double *x, double *y);
/* Asks for a parameter of a card; FALSE when it has none of this name. */
gboolean studio_quick_add_ask (StudioCanvas *self, guint64 serial, const char *param);
/* Rows for everything that can be added there. */
void studio_quick_add_layers (StudioChooser *chooser, const StudioAddPlace *place, gboolean is_second);
/* Where something new belongs: behind the selected card, in the selected wire, else at this point of the graph. */
void studio_canvas_add_place (StudioCanvas *self, double x, double y, StudioAddPlace *place);
/* The library of modules. */
void studio_canvas_add_from_library (StudioCanvas *self);
void studio_canvas_save_to_library (StudioCanvas *self);
void studio_swap_popup (StudioCanvas *self);
void studio_connect_popup (StudioCanvas *self, guint item);

G_END_DECLS
