/* Which way a graph runs: from left to right, or from top to bottom.
 *
 * A graph that runs down is one that runs right, mirrored at its diagonal: x and y change their roles, width and height
 * do, and the arithmetic of wires and layouts stays as it is. So those who lead wires or place cards know one direction
 * alone, and mirror what they are given and what they give back. */
#pragma once

#include "ui/scene/studio-geometry.h"

G_BEGIN_DECLS

const char *studio_flow_name (StudioFlow flow); /* as <layout direction> has it: "right", "down" */
/* FALSE where it names none. */
gboolean studio_flow_parse (const char *name, StudioFlow *flow);
/* The direction that the scope's <layout> states, else to the right. stated (may be NULL): whether it states one. */
StudioFlow studio_flow_of (const LoomElement *scope, gboolean *stated);

/* Makes a card as large as its ports, its figure and its folding want. */
void studio_item_resize (StudioItem *item);
/* Turns the cards of a scene to another direction; nothing moves. */
void studio_scene_set_flow (StudioScene *scene, StudioFlow flow);

StudioRect studio_rect_mirrored (StudioRect r);
StudioCurve studio_curve_mirrored (StudioCurve c);
/* studio_geometry_curve for a wire of this direction. */
StudioCurve studio_flow_curve (StudioFlow flow, double x0, double y0, double x1, double y1);
/* Of a place or a size what lies across the direction: y, or x where the graph runs down. */
double studio_flow_across (StudioFlow flow, double x, double y);
/* The direction in which wires lead on, and the one against it. */
StudioDirection studio_flow_ahead (StudioFlow flow);
StudioDirection studio_flow_back (StudioFlow flow);

/* Cards, frames and notes of a scene by themselves, which can be moved and turned without it (links are shared with it,
 * and must outlive this). mirrored: at the diagonal, so that what runs down runs right; a card is then as wide as what
 * hangs beside it wants, and what hangs below it is as high as that is wide. */
StudioScene *studio_scene_copy_places (const StudioScene *scene, gboolean mirrored);
void studio_scene_free_places (StudioScene *scene);

G_END_DECLS
