/* Draws a whole scope of a graph to a file or an image. */
#pragma once

#include "ui/drawing/studio-theme.h"

G_BEGIN_DECLS

/* The scene of a graph's outermost scope, or of a module by name, with its faults. */
StudioScene *studio_picture_scene (const LoomGraph *graph, const char *module, GError **error);
/* Writes .svg, .pdf or .png by extension, completely or not at all. background: FALSE leaves it transparent. Errors:
 * USAGE for another extension or an empty scene, IO. */
gboolean
studio_picture_write (const StudioScene *scene, const char *path, gboolean dark, gboolean background, GError **error);

/* The picture scaled to fit into width × height pixels, an image surface (transfer full); NULL: empty scene. */
cairo_surface_t *studio_picture_thumbnail (const StudioScene *scene, int width, int height, gboolean dark);

G_END_DECLS
