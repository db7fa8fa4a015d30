/* Draws wires and their shape labels with Cairo. */
#pragma once

#include <pango/pango.h>

#include "ui/scene/studio-routes.h"
#include "ui/drawing/studio-theme.h"

typedef gboolean (*StudioIsSelected) (guint64 serial, gpointer data);

/* Sets the curve as the path, in screen pixels. */
void studio_curve_path (cairo_t *cr, const StudioCurve *curve, const StudioView *view);
void studio_route_path (cairo_t *cr, const StudioRoute *route, const StudioView *view);
/* Strokes and clears the path. */
void studio_stroke_line (cairo_t *cr, StudioLine line, const StudioColor *color, const StudioColor *background,
                         double width);
/* Draws the wires that cross the view. hidden: a wire whose end is being dragged, or 0. is_selected may be NULL. */
void studio_draw_wires (cairo_t *cr, const StudioScene *scene, const StudioView *view, const StudioTheme *theme,
                        guint64 hidden, StudioIsSelected is_selected, gpointer data);
/* Draws a waypoint of a wire; marked: the one that the keyboard acts on. */
void studio_draw_point (cairo_t *cr, const StudioPoint *point, const StudioView *view, const StudioTheme *theme,
                        const StudioColor *color, gboolean marked);
/* Draws the shape labels where they cover no other. named: an item whose ports are named instead, or STUDIO_NO_ITEM.
 * layouts caches text (char * → PangoLayout) between calls. */
void studio_draw_shape_labels (cairo_t *cr, const StudioScene *scene, const StudioView *view, const StudioTheme *theme,
                               guint named, PangoContext *context, GHashTable *layouts);
/* The places of the shape labels with this context. */
const StudioShapeLabel *
studio_drawn_shape_labels (const StudioScene *scene, PangoContext *context, GHashTable *layouts);
/* Draws the shape label of the wire under the pointer above a point in pixels, if it has none of its own or always is
 * set. */
void studio_draw_shape_label_above (cairo_t *cr, const StudioScene *scene, const StudioView *view,
                                    const StudioTheme *theme, guint link, double sx, double sy, gboolean always,
                                    PangoContext *context, GHashTable *layouts);
