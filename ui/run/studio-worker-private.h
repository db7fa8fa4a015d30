/* What the process of a worker tells the list of those that are leaving. */
#pragma once

#include "ui/run/studio-worker.h"

G_BEGIN_DECLS

void studio_worker_note_leaving (StudioWorker *worker);
void studio_worker_note_left (StudioWorker *worker);

G_END_DECLS
