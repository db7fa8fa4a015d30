/* Draws cards with Cairo, in canvas units with the upper left corner at (0, 0). */
#pragma once

#include <pango/pango.h>

#include "ui/scene/studio-geometry.h"
#include "ui/drawing/studio-theme.h"

/* Draws a filled and bordered box with round corners; the border is inside. fill and border may be NULL. */
void studio_draw_box (cairo_t *cr, double x, double y, double width, double height, double radius,
                      const StudioColor *fill, double line, const StudioColor *border);

/* Draws an icon of 16 × 16 at (0, 0); FALSE if the name is unknown. */
typedef gboolean (*StudioDrawIcon) (cairo_t *cr, const char *name, const StudioColor *color, gpointer data);

typedef struct
{
  gboolean selected, ports;
  StudioDrawIcon icon;
  gpointer icon_data;
} StudioFrameStyle;

/* The position of a card's name; the strip under it has the category's colour. */
typedef struct
{
  double icon_y, height;
} StudioCardHead;

/* Draws what cards with the same look share: border, bar, head, icon, figure, ports. */
void studio_draw_card_frame (cairo_t *cr, const StudioItem *item, const StudioTheme *theme, StudioCardHead head,
                             const StudioFrameStyle *look);
/* TRUE if the card's fault is about this port. */
gboolean studio_item_blames (const StudioItem *item, const StudioPort *port, gboolean is_output);
const StudioColor *
studio_port_color (const StudioItem *item, const StudioPort *port, gboolean is_output, const StudioTheme *theme);

/* The text layouts of a card, valid for every zoom. */
typedef struct
{
  PangoLayout *name, *summary; /* the others: NULL if empty */
  PangoLayout *badge, *figure, *fault, *fix;
  gboolean live; /* the summary is a value of a run */
} StudioCardTexts;

/* live: a value of a run shown instead of the summary, or NULL. larger: see studio_geometry_text_scale(). */
StudioCardTexts *studio_card_texts_new (PangoContext *context, const StudioItem *item, const char *live, double larger);
void studio_card_texts_free (StudioCardTexts *texts);
StudioCardHead studio_card_texts_head (const StudioCardTexts *texts, const StudioItem *item);
typedef void (*StudioPutText) (PangoLayout *layout, double x, double y, const StudioColor *color, gpointer data);
/* Puts name, badge, summary and the figure's label; the fault is separate. */
void studio_card_texts_put (const StudioCardTexts *texts, const StudioItem *item, const StudioTheme *theme,
                            StudioPutText put, gpointer data);
/* The position of the icon for frozen weights, a square of STUDIO_FROZEN_SIZE. */
void studio_card_texts_frozen_at (const StudioCardTexts *texts, const StudioItem *item, double *x, double *y);

#define STUDIO_FROZEN_SIZE 12.0
/* Draws the arrow that unfolds a card, or (up) that collapses a frame. */
void studio_draw_chevron (cairo_t *cr, double x, double y, gboolean up, const StudioColor *color);
/* Draws the snowflake icon of frozen weights at (0, 0). */
void studio_draw_frozen (cairo_t *cr, const StudioColor *color);
/* A layout for small text: port names and shape labels. */
#define STUDIO_SMALL_TEXT 0.82 /* of the font's size */
PangoLayout *studio_small_text_new (PangoContext *context, const char *text);
/* The context's font size relative to the size that cards are made for, in pixels; at least 1. */
#define STUDIO_USUAL_TEXT (10 * 96 / 72.0)
double studio_text_enlargement (PangoContext *context);
