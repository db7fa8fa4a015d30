/* Draws a whole scope of a graph to a file or an image. */
#pragma once

#include "ui/drawing/studio-theme.h"
#include "ui/scene/studio-geometry.h"
#include "ui/scene/studio-scene-spotlight.h"

/* The scene of a graph's outermost scope, or of a module by name, with its faults. */
StudioScene *studio_picture_scene (const LoomGraph *graph, const char *module, GError **error);
typedef struct
{
  gboolean dark, transparent;
  double scale;           /* of the size at zoom 1; 0: 1, and of a PNG 2 */
  int pixels;             /* of the longer side of a PNG, instead of a scale; 0: none are given */
  const StudioRect *area; /* the part of the canvas to draw, in its units; NULL: everything, with a margin */
  const StudioSceneSpotlight *spotlight; /* of the scene, whose wires are marked; NULL: every card is lit */
  /* Draws over the cards, in the units of the canvas, from any thread; NULL: nothing is. */
  void (*draw_more) (cairo_t *cr, gpointer data);
  gpointer data;
} StudioPictureOptions;

/* Writes .svg, .pdf or .png by extension, completely or not at all. Errors: USAGE for another extension or too many
 * pixels, DATA for an empty scene, IO. */
gboolean
studio_picture_write (const StudioScene *scene, const char *path, const StudioPictureOptions *options, GError **error);

/* The extent of the picture in the units of the canvas, and its drawing there. The scene has cards. */
StudioRect studio_picture_bounds (const StudioScene *scene, const StudioPictureOptions *options);
void studio_picture_draw (const StudioScene *scene, const StudioPictureOptions *options, const StudioRect *bounds,
                          cairo_t *cr);

/* The picture scaled to fit into width × height pixels, an image surface (transfer full); NULL: empty scene. */
cairo_surface_t *studio_picture_thumbnail (const StudioScene *scene, int width, int height, gboolean dark);
