/* The direction of a graph: from left to right, or from top to bottom.
 *
 * A graph that runs down is one that runs right, mirrored at its diagonal: x and y are swapped, and width and height.
 * So routing and layout handle one direction only, and their inputs and outputs are mirrored. */
#pragma once

#include "ui/scene/studio-geometry.h"

const char *studio_flow_name (StudioFlow flow); /* as in <layout direction>: "right", "down" */
/* FALSE: not a direction. */
gboolean studio_flow_parse (const char *name, StudioFlow *flow);
/* The direction in the scope's <layout>, by default to the right. stated (may be NULL): whether it is set. */
StudioFlow studio_flow_of (const LoomElement *scope, gboolean *stated);

/* Sets a card's size from its ports, figure and folding. */
void studio_item_resize (StudioItem *item);
/* Turns the cards of a scene to another direction without moving them. */
void studio_scene_set_flow (StudioScene *scene, StudioFlow flow);

StudioRect studio_rect_mirrored (StudioRect r);
StudioCurve studio_curve_mirrored (StudioCurve c);
/* studio_geometry_curve for a wire of this direction. */
StudioCurve studio_flow_curve (StudioFlow flow, double x0, double y0, double x1, double y1);
/* The coordinate or size across the direction: y, or x if the graph runs down. */
double studio_flow_across (StudioFlow flow, double x, double y);
/* The direction in which wires run, and its opposite. */
StudioDirection studio_flow_ahead (StudioFlow flow);
StudioDirection studio_flow_back (StudioFlow flow);

/* A copy of a scene's cards, frames and notes that can be moved and turned (links are shared with the scene, which must
 * outlive the copy). mirrored: at the diagonal, so that a graph that runs down runs right; the width of a card then
 * includes its pins. */
StudioScene *studio_scene_copy_places (const StudioScene *scene, gboolean mirrored);
void studio_scene_free_places (StudioScene *scene);
