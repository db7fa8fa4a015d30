/* What the rows and columns of a pin's map stand for: the words of the sample that is watched, asked of the worker once
 * a run, because that sample stays the same. */
#pragma once

#include <gio/gio.h>

#include "loom-worker-bus.h"

G_BEGIN_DECLS

typedef struct _StudioPinWords StudioPinWords;

/* rows, columns: ports of the data set, as "data.x"; NULL: nothing. changed is called when words have come. */
StudioPinWords *studio_pin_words_new (const char *rows, const char *columns, GFunc changed, gpointer data);
void studio_pin_words_free (StudioPinWords *self);
gboolean studio_pin_words_are (const StudioPinWords *self, const char *rows, const char *columns);
/* Asks this worker, whose run has begun, if it has not been asked yet. */
void studio_pin_words_ask (StudioPinWords *self, LoomBusWorker1 *proxy);
/* NULL as long as they are not known. */
const char *const *studio_pin_words_rows (const StudioPinWords *self);
const char *const *studio_pin_words_columns (const StudioPinWords *self);
/* Why there are none, in a sentence; NULL: there are, or nobody knows yet. */
const char *studio_pin_words_problem (const StudioPinWords *self);

G_END_DECLS
