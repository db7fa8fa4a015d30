/* A priority queue of numbered items: the smallest key first, and of equal keys the smallest order. To change a key,
 * the caller pushes the item again and skips the outdated entry when it is popped. */
#pragma once

#include <glib.h>

typedef struct
{
  double key;
  guint order, item;
} PlanQueueEntry;

typedef struct
{
  GArray *entries;    /* PlanQueueEntry, a binary heap */
  guint64 *n_visited; /* counts comparisons */
} PlanQueue;

void plan_queue_init (PlanQueue *queue, guint64 *n_visited);
void plan_queue_clear (PlanQueue *queue);
void plan_queue_push (PlanQueue *queue, double key, guint order, guint item);
/* Takes the first entry. FALSE if the queue is empty. */
gboolean plan_queue_pop (PlanQueue *queue, PlanQueueEntry *entry);
