/* Reads the samples that cards of data sets show, each on a thread when a graph first shows it: a data set may be
 * large, on a slow disk, or missing. */
#pragma once

#include "ui/scene/studio-figure.h"
#include "ui/scene/studio-scene.h"

typedef struct _CanvasSamples CanvasSamples;
/* On the main thread, when a sample has been read. */
typedef void (*CanvasSampleRead) (const char *key, StudioFigure *figure, gpointer data);

CanvasSamples *canvas_samples_new (CanvasSampleRead read, gpointer data);
/* Jobs that are running end without a call of read. */
void canvas_samples_free (CanvasSamples *self);

/* Starts to read what the items of a scene of this graph lack; each key only once at a time. */
void canvas_samples_read (CanvasSamples *self, const StudioScene *scene, LoomGraph *graph);
/* The number of samples that are being read. */
guint canvas_samples_n_reading (const CanvasSamples *self);
