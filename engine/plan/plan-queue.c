/* The priority queue of plan-cost-solver.c, as a binary heap in an array. */
#include "engine/plan/plan-queue.h"

void
plan_queue_init (PlanQueue *queue, guint64 *n_visited)
{
  queue->entries = g_array_new (FALSE, FALSE, sizeof (PlanQueueEntry));
  queue->n_visited = n_visited;
}

void
plan_queue_clear (PlanQueue *queue)
{
  g_clear_pointer (&queue->entries, g_array_unref);
}

static gboolean
is_before (const PlanQueue *queue, const PlanQueueEntry *a, const PlanQueueEntry *b)
{
  ++*queue->n_visited;
  return a->key < b->key || (a->key == b->key && a->order < b->order);
}

void
plan_queue_push (PlanQueue *queue, double key, guint order, guint item)
{
  PlanQueueEntry entry = { key, order, item }, *heap;
  guint at = queue->entries->len;

  g_array_append_val (queue->entries, entry);
  heap = (PlanQueueEntry *)(void *)queue->entries->data;
  for (; at > 0 && is_before (queue, &entry, &heap[(at - 1) / 2]); at = (at - 1) / 2)
    heap[at] = heap[(at - 1) / 2];
  heap[at] = entry;
}

gboolean
plan_queue_pop (PlanQueue *queue, PlanQueueEntry *entry)
{
  PlanQueueEntry *heap = (PlanQueueEntry *)(void *)queue->entries->data, last;
  guint n = queue->entries->len, at = 0;

  if (n == 0)
    return FALSE;
  *entry = heap[0];
  last = heap[--n];
  g_array_set_size (queue->entries, n);
  for (guint child = 1; child < n; child = 2 * at + 1)
    {
      if (child + 1 < n && is_before (queue, &heap[child + 1], &heap[child]))
        child++;
      if (!is_before (queue, &heap[child], &last))
        break;
      heap[at] = heap[child];
      at = child;
    }
  if (n > 0)
    heap[at] = last;
  return TRUE;
}
