/* A card, drawn with Cairo in canvas units, its upper left corner at (0, 0). */
#pragma once

#include <pango/pango.h>

#include "ui/scene/studio-geometry.h"
#include "ui/drawing/studio-theme.h"

G_BEGIN_DECLS

/* A filled and bordered box with round corners; the border lies inside. fill and border may be NULL. */
void studio_draw_box (cairo_t *cr, double x, double y, double width, double height, double radius,
                      const StudioColor *fill, double line, const StudioColor *border);

/* Puts an icon of 16 × 16 at (0, 0); FALSE when there is none of this name. */
typedef gboolean (*StudioDrawIcon) (cairo_t *cr, const char *name, const StudioColor *color, gpointer data);

typedef struct
{
  gboolean selected, ports;
  StudioDrawIcon icon;
  gpointer icon_data;
} StudioFrameLook;

/* Where a card's name stands: the strip behind it has the category's colour. */
typedef struct
{
  double icon_y, height;
} StudioCardHead;

/* Everything that cards of one kind have in common: border, bar, head, icon, figure, ports. */
void studio_draw_card_frame (cairo_t *cr, const StudioItem *item, const StudioTheme *theme, StudioCardHead head,
                             const StudioFrameLook *look);
/* Whether the card's fault is about this port. */
gboolean studio_item_blames (const StudioItem *item, const StudioPort *port, gboolean is_output);
const StudioColor *
studio_port_color (const StudioItem *item, const StudioPort *port, gboolean is_output, const StudioTheme *theme);

/* The texts of a card, laid out once for every zoom. */
typedef struct
{
  PangoLayout *name, *summary; /* the others are NULL where there is nothing to say */
  PangoLayout *badge, *figure, *fault, *fix;
  gboolean live; /* the summary is a value of a run */
} StudioCardTexts;

/* live: what a run says in the summary's place, or NULL. larger: see studio_geometry_text_scale(). */
StudioCardTexts *studio_card_texts_new (PangoContext *context, const StudioItem *item, const char *live, double larger);
void studio_card_texts_free (StudioCardTexts *texts);
StudioCardHead studio_card_texts_head (const StudioCardTexts *texts, const StudioItem *item);
typedef void (*StudioPutText) (PangoLayout *layout, double x, double y, const StudioColor *color, gpointer data);
/* Name, badge, summary and what is written beside a figure; the fault has its own. */
void studio_card_texts_put (const StudioCardTexts *texts, const StudioItem *item, const StudioTheme *theme,
                            StudioPutText put, gpointer data);
/* Where the sign of frozen weights stands, a square of STUDIO_FROZEN_SIZE. */
void studio_card_texts_frozen_at (const StudioCardTexts *texts, const StudioItem *item, double *x, double *y);

#define STUDIO_FROZEN_SIZE 12.0
/* Says that there is more to a card than is shown, or (up) that a frame can be collapsed to one. */
void studio_draw_chevron (cairo_t *cr, double x, double y, gboolean up, const StudioColor *color);
/* A snowflake at (0, 0): six arms with a fork each. */
void studio_draw_frozen (cairo_t *cr, const StudioColor *color);
/* Small texts of the canvas: names of ports, shapes of wires. */
PangoLayout *studio_small_text_new (PangoContext *context, const char *text);
/* How many times as large as the font that cards are made for, 10 pt at 96 dots an inch, the context's is; at least 1.
 */
double studio_text_enlargement (PangoContext *context);

G_END_DECLS
