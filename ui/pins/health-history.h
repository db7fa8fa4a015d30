/* The history of health reports: which node is sick, since when, and what was changed then. Plain C. */
#pragma once

#include "engine/loom.h"

typedef struct _HealthHistory HealthHistory;

HealthHistory *health_history_new (void);
void health_history_free (HealthHistory *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (HealthHistory, health_history_free)
/* The run is another one. */
void health_history_clear (HealthHistory *self);
/* Adds a report, LoomHealthNode with verdicts. A step before that of the last report begins a part of the run
 * that is computed again: later observations are forgotten. */
void health_history_add (HealthHistory *self, gint64 step, const GPtrArray *nodes);
/* A hyper-parameter has this value from this step on. The caller adds all changes of the run, in order, after
 * health_history_clear_changes(). */
void health_history_clear_changes (HealthHistory *self);
void health_history_add_change (HealthHistory *self, gint64 step, const char *name, double value);

typedef struct
{
  const LoomHealthNode *node; /* of the newest report: the sickest; NULL: all are well */
  gint64 well;                /* the last step at which it was well; -1: none was seen */
  gint64 since;               /* the first step at which it was not; -1: it never was well */
  const char *changed;        /* the hyper-parameter that was changed then; NULL: none */
  double value;
  gint64 change; /* the step of that change */
} HealthDiagnosis;

/* Pointers are valid until the next call that is not const. */
HealthDiagnosis health_history_diagnose (const HealthHistory *self, const GPtrArray *nodes);
