/* Makes the schedule of a pipeline: the order of the micro-batches' passes on each stage.
 *
 * Each stage has a list of passes. A pass begins in the first slot in which its stage is free and the stage before it
 * (in the backward pass: the stage after it) has finished the same micro-batch. */
#include "engine/program/loom-pipeline.h"

/* The k-th pass of a stage. Backward passes are in the order of micro-batches, so that sums have the same bits for
 * every schedule. */
static LoomPipelineEvent
pass_of (LoomPipelineKind kind, int stages, int micros, gboolean training, int stage, int k)
{
  /* `ahead` forward passes come first, then backward and forward passes alternate. */
  int ahead = kind == LOOM_PIPELINE_GPIPE || !training ? micros : MIN (stages - 1 - stage, micros);
  int left = micros - ahead;
  LoomPipelineEvent e = { .stage = stage };

  if (k < ahead)
    e.micro = k;
  else if (k < ahead + 2 * left)
    {
      e.backward = (k - ahead) % 2 == 1;
      e.micro = (k - ahead) / 2 + (e.backward ? 0 : ahead);
    }
  else
    {
      e.backward = TRUE;
      e.micro = k - micros;
    }
  return e;
}

static int
compare_events (gconstpointer a, gconstpointer b)
{
  const LoomPipelineEvent *x = a, *y = b;

  return x->slot != y->slot ? x->slot - y->slot : x->stage - y->stage;
}

GArray *
loom_pipeline_schedule (LoomPipelineKind kind, int stages, int micros, gboolean training)
{
  GArray *events = g_array_new (FALSE, FALSE, sizeof (LoomPipelineEvent));
  int n = micros * (training ? 2 : 1);
  g_autofree int *next = g_new0 (int, (gsize)stages + 1), *free_at = g_new0 (int, (gsize)stages + 1);
  /* The slot in which each pass ends, by stage, direction and micro-batch; 0: not scheduled yet. */
  g_autofree int *end = g_new0 (int, (gsize)stages * 2 * (gsize)micros + 1);
  gboolean moved = TRUE;

  while (moved)
    {
      moved = FALSE;
      for (int s = 0; s < stages; s++)
        while (next[s] < n)
          {
            LoomPipelineEvent e = pass_of (kind, stages, micros, training, s, next[s]);
            gboolean is_end = s == (e.backward ? stages - 1 : 0);
            int other = is_end ? s : e.backward ? s + 1 : s - 1;
            /* The last stage can begin the backward pass of a micro-batch after its own forward pass. */
            int ready = !is_end      ? end[(other * 2 + e.backward) * micros + e.micro]
                        : e.backward ? end[(s * 2) * micros + e.micro]
                                     : -1;

            if (ready == 0)
              break;
            e.slot = MAX (free_at[s], MAX (ready, 0));
            free_at[s] = end[(s * 2 + e.backward) * micros + e.micro] = e.slot + 1;
            next[s]++;
            g_array_append_val (events, e);
            moved = TRUE;
          }
    }
  g_array_sort (events, compare_events);
  return events;
}

double
loom_pipeline_bubble (const GArray *schedule, int stages)
{
  int slots = schedule->len > 0 ? g_array_index (schedule, LoomPipelineEvent, schedule->len - 1).slot + 1 : 0;

  return slots > 0 ? 1 - (double)schedule->len / ((double)stages * slots) : 0;
}

int
loom_pipeline_in_flight (const GArray *schedule, int stage)
{
  int now = 0, most = 0;

  for (guint i = 0; i < schedule->len; i++)
    {
      const LoomPipelineEvent *e = &g_array_index (schedule, LoomPipelineEvent, i);

      if (e->stage != stage)
        continue;
      now += e->backward ? -1 : 1;
      most = MAX (most, now);
    }
  return most;
}
