/* The whole of a graph's scope as the canvas draws it, for files. */
#pragma once

#include "ui/drawing/studio-theme.h"

G_BEGIN_DECLS

/* The picture of a graph: its outermost scope, or a module by its name, with the faults that it has. */
StudioScene *studio_picture_scene (const LoomGraph *graph, const char *module, GError **error);
/* Writes .svg, .pdf or .png by the path's suffix, whole or not at all. background: whether it is painted; without it a
 * picture lies on any page. Errors: USAGE for another suffix or an empty scene, IO. */
gboolean
studio_picture_write (const StudioScene *scene, const char *path, gboolean dark, gboolean background, GError **error);

/* The picture scaled to fit into so many pixels, an image surface (transfer full); NULL of an empty scene. */
cairo_surface_t *studio_picture_thumbnail (const StudioScene *scene, int width, int height, gboolean dark);

G_END_DECLS
