/* Functions by which a worker registers itself in the list of exiting workers (studio-worker-exiting.c). */
#pragma once

#include "ui/worker/studio-worker.h"

void studio_worker_note_exiting (StudioWorker *worker);
void studio_worker_note_exited (StudioWorker *worker);
