/* Everything that observes a run: the traced step, reports of ranks, timings, memory, and the values of requests. */
#pragma once

#include "engine/train/device-memory.h"
#include "engine/train/health-report.h"
#include "engine/train/inbox.h"
#include "engine/train/rank-reports.h"
#include "engine/train/sample-answers.h"
#include "engine/train/snapshots.h"
#include "engine/train/step-plans.h"
#include "engine/train/step-timings.h"
#include "engine/train/step-trace.h"
#include "engine/train/view-costs.h"

typedef struct
{
  const TrainModel *model;
  const TrainData *data;
  const StepPlans *plans;
  /* The run's memory has changed; may be NULL. */
  void (*made) (gpointer data);
  gpointer made_data;
  const gboolean *is_past; /* whether an earlier step is shown */

  StepTrace trace;
  RankReports reports;
  StepTimings timings;
  DeviceMemory memory;
  WatchedState watched;
  Snapshots *snapshots;   /* NULL: no request so far */
  SampleAnswers *answers; /* likewise */
  HealthReport *health;   /* likewise */
  ViewCosts costs;
} TrainObservers;

/* The caller sets the fields before `trace`. */
void train_observers_init (TrainObservers *self, const RankGroup *group, const TrainProgress *progress);
void train_observers_clear (TrainObservers *self);
/* Serves a request: values of the net for its samples, or the value of its port. fresh: the run may have changed since
 * the last one. is_paused: it is paused, and shows its last step. Returns the value of fresh for the next request. */
gboolean train_observers_serve (TrainObservers *self, TrainRequest *request, gboolean fresh, gboolean is_paused);
/* Bytes by owner on the run's devices: the state, and the arenas of all current plans. */
void train_observers_bytes (const TrainObservers *self, gsize bytes[LOOM_N_OWNERS]);
