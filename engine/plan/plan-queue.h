/* Items by a key, the least first; of equal keys the one of least order. A key that changes is pushed again, and
 * whoever pops passes over entries that are out of date. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct
{
  double key;
  guint order, item;
} PlanQueueEntry;

typedef struct
{
  GArray *entries; /* PlanQueueEntry, a binary heap */
  guint64 *n_visited; /* counts comparisons */
} PlanQueue;

void plan_queue_init (PlanQueue *queue, guint64 *n_visited);
void plan_queue_clear (PlanQueue *queue);
void plan_queue_push (PlanQueue *queue, double key, guint order, guint item);
/* FALSE: there is none. */
gboolean plan_queue_pop (PlanQueue *queue, PlanQueueEntry *entry);

G_END_DECLS
