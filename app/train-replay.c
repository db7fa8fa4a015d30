/* Implements train-replay.h. */
#include "app/train-replay.h"

gboolean
train_replay_read (TrainReplay *self, const char *run, LoomTrainerOptions *options, GError **error)
{
  g_autoptr (LoomFolder) folder = loom_folder_open (run, error), checkpoints = NULL;
  g_autoptr (GArray) steps = NULL;

  self->graph = folder != NULL ? loom_run_read (run, &self->settings, error) : NULL;
  if (self->graph == NULL)
    return FALSE;
  checkpoints = loom_folder_enter (folder, LOOM_RUN_CHECKPOINTS, FALSE, NULL);
  steps = loom_run_checkpoint_steps (checkpoints, error);
  if (steps == NULL)
    return FALSE;
  options->replay = options->costs_of = run;
  if (options->device == NULL)
    options->device = self->settings.device;
  if (options->threads == 0)
    options->threads = self->settings.threads;
  if (options->steps == 0 && steps->len > 0)
    options->steps = g_array_index (steps, gint64, 0);
  return TRUE;
}

void
train_replay_clear (TrainReplay *self)
{
  g_clear_pointer (&self->graph, loom_graph_unref);
  g_clear_pointer (&self->settings.device, g_free);
}
