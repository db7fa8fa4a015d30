/* Wires and their shapes, drawn with Cairo. */
#pragma once

#include <pango/pango.h>

#include "ui/scene/studio-routes.h"
#include "ui/drawing/studio-theme.h"

G_BEGIN_DECLS

typedef gboolean (*StudioIsSelected) (guint64 serial, gpointer data);

/* The curve as the path, in screen pixels. */
void studio_curve_path (cairo_t *cr, const StudioCurve *curve, const StudioView *view);
void studio_route_path (cairo_t *cr, const StudioRoute *route, const StudioView *view);
/* Strokes the path, and lets go of it. */
void studio_stroke_line (cairo_t *cr, StudioLine line, const StudioColor *color, const StudioColor *background,
                         double width);
/* Wires that cross the view. hidden: one whose end is being dragged, or 0. is_selected may be NULL. */
void studio_draw_wires (cairo_t *cr, const StudioScene *scene, const StudioView *view, const StudioTheme *theme,
                        guint64 hidden, StudioIsSelected is_selected, gpointer data);
/* A point that a wire is led through; marked: the one that keys mean. */
void studio_draw_point (cairo_t *cr, const StudioPoint *point, const StudioView *view, const StudioTheme *theme,
                        const StudioColor *color, gboolean marked);
/* Their shapes, each where it covers no other. named: the item whose ports are named, which stand where the shapes of
 * its wires would; or STUDIO_NO_ITEM. layouts caches texts (char * → PangoLayout) between calls. */
void studio_draw_pills (cairo_t *cr, const StudioScene *scene, const StudioView *view, const StudioTheme *theme,
                        guint named, PangoContext *context, GHashTable *layouts);
/* The shape of one wire above a place in pixels, where it has none of its own, or always: of the wire under the
 * pointer. */
void
studio_draw_pill_beside (cairo_t *cr, const StudioScene *scene, const StudioView *view, const StudioTheme *theme,
                         guint link, double sx, double sy, gboolean always, PangoContext *context, GHashTable *layouts);

G_END_DECLS
