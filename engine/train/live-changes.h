/* Numbers that were changed while a run trained: learning rate, momentum, weight decay, clipping, values of operators.
 *
 * events.jsonl has a line for each, with the number of finished steps, so that a run can be repeated, or a part of it
 * computed again, with the same changes at the same steps. */
#pragma once

#include "engine/core/loom-folder.h"

typedef struct
{
  gint64 step; /* the number of finished steps at the change */
  char *name;  /* of the scalar: "lr", "momentum", "drop.p" */
  double value;
  gboolean is_initial; /* the value with which the run began, which its graph.xml may no longer have */
} LiveChange;

typedef struct
{
  GArray *list; /* LiveChange, in the order of their steps; NULL: none */
  guint next;
} LiveChanges;

/* Reads those of the run in a folder. DATA, with the line, if one cannot be read; IO. */
gboolean live_changes_read (LiveChanges *self, LoomFolder *run, GError **error);
void live_changes_clear (LiveChanges *self);
/* The state is that after `step` steps: changes at that step and later ones follow. */
void live_changes_seek (LiveChanges *self, gint64 step);
/* The next change at or before this step, once each; NULL: none. */
const LiveChange *live_changes_next (LiveChanges *self, gint64 step);
gboolean live_changes_are_due (const LiveChanges *self, gint64 step);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LiveChanges, live_changes_clear)
