/* A small picture of what a graph learns from: its samples, as the task view shows them. */
#pragma once

#include <gtk/gtk.h>

#include "ui/scene/studio-scene.h"

G_BEGIN_DECLS

/* Reads the samples in a thread and shows them in the picture, which stays as it is where the task has no picture or
 * its data cannot be read. Pixels. */
void studio_task_thumbnail_show (GtkPicture *picture, const LoomGraph *graph, const LoomNet *net, int width, int height,
                                 gboolean dark);

G_END_DECLS
