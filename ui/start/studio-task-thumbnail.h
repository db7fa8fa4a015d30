/* A small picture of what a graph learns: its samples, as the task view shows them, with the answers of the net, or the
 * map of a tensor in it; it is trained for it in a thread. The picture moves from the untrained net to the trained one.
 */
#pragma once

#include <gtk/gtk.h>

#include "ui/scene/studio-scene.h"

/* Reads the samples in a thread and shows them in the picture, which stays as it is where the task has no picture or
 * its data cannot be read; then trains and plays once. map: the tensor that is shown instead of the answers; NULL:
 * none. Pixels. */
void studio_task_thumbnail_show (GtkPicture *picture, const LoomGraph *graph, const LoomNet *net, const char *map,
                                 int width, int height, gboolean dark);
/* Plays it again, if it has been trained. Where animations are off the last picture stays. */
void studio_task_thumbnail_play (GtkPicture *picture);
/* The number of pictures of the loop, and which one is shown; 0: not trained. For tests. */
guint studio_task_thumbnail_n_frames (GtkPicture *picture, guint *at);
