/* The widgets of a scene: a card for each item, and frames and notes. They are kept through changes, selections and
 * scopes, and placed in screen pixels.
 *
 * Cards are never under a scaling transform: picking and redrawing one of 2,000 then touches that one. Cards out of
 * sight are not child-visible. */
#pragma once

#include "ui/scene/studio-scene-spotlight.h"
#include "ui/canvas/studio-annotation.h"
#include "ui/canvas/studio-node.h"

typedef struct _CanvasCards CanvasCards;

/* parent: the widget that cards become children of. All three must outlive this. */
CanvasCards *canvas_cards_new (GtkWidget *parent, const CardContext *context, const StudioSceneSpotlight *spotlight);
void canvas_cards_free (CanvasCards *self);
/* The parent goes, and unparents the widgets. */
void canvas_cards_forget (CanvasCards *self);

StudioNode *canvas_cards_find (const CanvasCards *self, guint64 serial);                      /* NULL: none */
StudioAnnotationView *canvas_cards_find_annotation (const CanvasCards *self, guint64 serial); /* NULL: none */

/* ---- agreement with a scene ---- */

/* Makes the cards that a scene lacks, updates the others, and removes those that it does not have. Cards out of sight
 * are described to screen readers within the next frames. */
void canvas_cards_sync (CanvasCards *self, const StudioScene *scene);
/* Likewise for frames and notes. */
void canvas_cards_sync_annotations (CanvasCards *self, const StudioScene *scene);
/* The selection changed, and nothing else. */
void canvas_cards_select (CanvasCards *self);
/* The item has other content. */
void canvas_cards_update (CanvasCards *self, const StudioScene *scene, guint item);
/* Cards have moved: places the bubbles of faults again, which avoid other cards. */
void canvas_cards_place_faults (CanvasCards *self, StudioScene *scene);
/* The marks of a comparison changed, which screen readers read. */
void canvas_cards_describe (CanvasCards *self, const StudioScene *scene);
/* The spotlight changed. */
void canvas_cards_light (CanvasCards *self, const StudioScene *scene);

/* ---- drawing ---- */

/* Places what is visible in the view. held: the serial of the card or annotation that a drag began on, 0: none; GTK
 * would take the pointer from a widget that is no longer shown, and the drag would never end. */
void canvas_cards_allocate (CanvasCards *self, const StudioScene *scene, const StudioView *view, guint64 held);
/* Draws frames and notes, and then everything else that is a child of the parent. */
void canvas_cards_snapshot_annotations (const CanvasCards *self, const StudioScene *scene, GtkSnapshot *snapshot);
void canvas_cards_snapshot (const CanvasCards *self, GtkSnapshot *snapshot);
/* The zoom changed. */
void canvas_cards_redraw (CanvasCards *self);
/* The lit ports changed. */
void canvas_cards_redraw_visible (CanvasCards *self);
/* The style changed; texts: also the font. */
void canvas_cards_restyle (CanvasCards *self, gboolean texts);

/* ---- focus ---- */

/* The card with the keyboard focus; NULL: none has it. */
StudioNode *canvas_cards_get_focused (const CanvasCards *self);
/* The serial of the card that had the focus last; 0: none. */
guint64 canvas_cards_get_last_focus (const CanvasCards *self);
void canvas_cards_set_last_focus (CanvasCards *self, guint64 serial);
/* The item that a key acts on: that of the focused card, else the only selected one; STUDIO_NO_ITEM. */
guint canvas_cards_get_current (const CanvasCards *self, const StudioScene *scene);
/* The frame or note that a key acts on; STUDIO_NO_ITEM. */
guint canvas_cards_get_current_annotation (const CanvasCards *self, const StudioScene *scene);
