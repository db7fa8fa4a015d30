/* The labels of the rows and columns of a pin's heat map: the tokens of the sample that it shows. They are requested
 * once per run and sample, because samples never change. */
#pragma once

#include <gio/gio.h>

#include "loom-worker-bus.h"

typedef struct _StudioPinLabels StudioPinLabels;

/* rows, columns: ports of the data set, such as "data.x", or "data.x#*" for all its tokens; NULL: none. changed is
 * called when labels have arrived. */
StudioPinLabels *studio_pin_labels_new (const char *rows, const char *columns, GFunc changed, gpointer data);
gboolean studio_pin_labels_are_of (const StudioPinLabels *labels, const char *rows, const char *columns);
void studio_pin_labels_free (StudioPinLabels *self);
/* Requests the labels of a sample from this worker, unless they were requested before. Call after its run has begun. */
void studio_pin_labels_request (StudioPinLabels *self, LoomBusWorker1 *proxy, gint64 sample);
/* NULL until they are known. */
const char *const *studio_pin_labels_rows (const StudioPinLabels *self);
const char *const *studio_pin_labels_columns (const StudioPinLabels *self);
/* The reason why there are no labels, a sentence; NULL: there are labels, or they are not known yet. */
const char *studio_pin_labels_problem (const StudioPinLabels *self);
