/* The chips of a document without data, which are computed at once when it is opened and after each edit, by a worker
 * of its own. A graph with data, or with values from outside, has none. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/stepper/step-chips.h"
#include "ui/worker/studio-worker.h"

#define STUDIO_TYPE_INSTANT (studio_instant_get_type ())
G_DECLARE_FINAL_TYPE (StudioInstant, studio_instant, STUDIO, INSTANT, GObject)

/* Signal "changed". */
StudioInstant *studio_instant_new (StudioDocument *document);
/* step-chips.h; empty: none. */
GHashTable *studio_instant_get_chips (StudioInstant *self);
/* Of the worker that has computed them; NULL: there are none. */
LoomBusWorker1 *studio_instant_get_proxy (StudioInstant *self);
