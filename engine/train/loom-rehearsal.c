/* Implements loom-rehearsal.h. */
#include "engine/train/loom-rehearsal.h"

#include "engine/core/loom-refuse.h"
#include "engine/train/loom-trainer.h"

#include <math.h>
#include <time.h>

static double
processor_seconds (void)
{
  struct timespec t;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Before anything is allocated. */
static gboolean
is_small (const LoomGraph *graph, GError **error)
{
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, NULL);
  gint64 parameters = 0;

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    parameters += (gint64)loom_net_node (net, i)->cost.parameters;
  if (parameters <= LOOM_REHEARSAL_MOST_PARAMETERS
      && loom_element_find (loom_graph_root (graph), LOOM_TAG_PARALLEL) == NULL)
    return TRUE;
  return loom_refuse (error, LOOM_ERROR_USAGE,
                      "The graph is too large to be trained for a picture: %" G_GINT64_FORMAT
                      " parameters, at most %d.",
                      parameters, LOOM_REHEARSAL_MOST_PARAMETERS);
}

/* More frames at the beginning, where most changes. */
static gint64
step_of (guint frame, guint frames, gint64 steps)
{
  const double t = (double)frame / (double)(frames - 1);

  return (gint64)llround (t * t * (double)steps);
}

static gboolean
show (LoomTrainer *trainer, const LoomTensor *samples, const char *port, LoomRehearsalFrame frame, gpointer data,
      gboolean *wanted, GError **error)
{
  LoomTrainerMoment moment = { .step = loom_trainer_steps (trainer) };
  g_autoptr (LoomTensor) value = port != NULL ? loom_trainer_snapshot (trainer, port, NULL, error) : NULL;
  g_autoptr (GPtrArray) answers = port == NULL ? loom_trainer_predict (trainer, samples, NULL, &moment, error) : NULL;

  *wanted = (value != NULL || answers != NULL) && frame (answers, value, moment.step, moment.epoch, data);
  return value != NULL || answers != NULL;
}

/* To this step; FALSE: it failed. */
static gboolean
train_to (LoomTrainer *trainer, gint64 step, GError **error)
{
  if (step <= loom_trainer_steps (trainer) || loom_trainer_is_over (trainer))
    return TRUE;
  loom_trainer_set_last_step (trainer, step);
  const LoomTrainerEnd end = loom_trainer_run (trainer, error);
  return end == LOOM_TRAINER_DONE || end == LOOM_TRAINER_STOPPED;
}

gboolean
loom_rehearsal_run (const LoomGraph *graph, const LoomTensor *samples, const char *port, guint frames, double seconds,
                    LoomRehearsalFrame frame, gpointer data, GError **error)
{
  const LoomTrainerOptions options = { .device = "cpu", .threads = 1, .num_workers = -1, .lr = NAN, .seed = -1 };
  const double begin = processor_seconds ();
  gboolean wanted = TRUE;

  g_return_val_if_fail (frames >= 2, FALSE);
  if (!is_small (graph, error))
    return FALSE;
  g_autoptr (LoomTrainer) trainer = loom_trainer_new (graph, &options, error);
  if (trainer == NULL)
    return FALSE;
  const gint64 steps = loom_trainer_total_steps (trainer);
  for (guint i = 0; i < frames && wanted && processor_seconds () - begin < seconds; i++)
    if (!train_to (trainer, step_of (i, frames, steps), error)
        || !show (trainer, samples, port, frame, data, &wanted, error))
      return FALSE;
  return TRUE;
}
