/* The labels of the rows and columns of a pin's heat map: the tokens of the sample that pins show. They are requested
 * once per run, because that sample never changes. */
#pragma once

#include <gio/gio.h>

#include "loom-worker-bus.h"

G_BEGIN_DECLS

typedef struct _StudioPinWords StudioPinWords;

/* rows, columns: ports of the data set, such as "data.x"; NULL: none. changed is called when labels have arrived. */
StudioPinWords *studio_pin_words_new (const char *rows, const char *columns, GFunc changed, gpointer data);
void studio_pin_words_free (StudioPinWords *self);
gboolean studio_pin_words_are (const StudioPinWords *self, const char *rows, const char *columns);
/* Requests the labels from this worker, unless it was asked before. Call after its run has begun. */
void studio_pin_words_ask (StudioPinWords *self, LoomBusWorker1 *proxy);
/* NULL until they are known. */
const char *const *studio_pin_words_rows (const StudioPinWords *self);
const char *const *studio_pin_words_columns (const StudioPinWords *self);
/* A sentence why there are no labels; NULL: there are, or they are not known yet. */
const char *studio_pin_words_problem (const StudioPinWords *self);

G_END_DECLS
