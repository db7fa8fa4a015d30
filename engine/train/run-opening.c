/* Opens the folder of a run; see the header. */
#include "engine/train/run-opening.h"

#include "engine/core/loom-refuse.h"
#include "engine/infer/loom-run-files.h"

#include <math.h>

/* A run that continues with another number than before: graph.xml has only the new one, so the event has both. */
static gboolean
note_change (const RunOpening *self, const char *name, double value, double before, GError **error)
{
  LoomJson *json;

  if (value == before)
    return TRUE;
  learning_rates_change (self->rates, self->progress, name, value);
  json = run_event_new ("hyper");
  loom_json_int (json, "step", self->progress->step);
  loom_json_string (json, "name", name);
  loom_json_exact (json, "value", value);
  loom_json_exact (json, "before", before);
  return run_folder_add_event (self->folder, json, error);
}

/* The checkpoint's schedule extends over the epochs of that time. */
static gboolean
note_epochs (const RunOpening *self, GError **error)
{
  return note_change (self, LEARNING_RATES_EPOCHS, (double)self->model->spec->epochs, (double)self->progress->epochs,
                      error);
}

/* A branch whose process was killed before its checkpoint was written has only events of its parent. */
static gboolean
check_branch (LoomFolder *run, GError **error)
{
  static const char line[] = "{\"event\":\"branch\",";
  g_autoptr (GMappedFile) events = loom_folder_map (run, LOOM_RUN_EVENTS, NULL);

  if (events == NULL || g_mapped_file_get_length (events) == 0
      || g_strstr_len (g_mapped_file_get_contents (events), (gssize)g_mapped_file_get_length (events), line) == NULL)
    return TRUE;
  return loom_refuse (
      error, LOOM_ERROR_DATA,
      "The branch in %s has no checkpoint, so it cannot be continued. Remove the folder, and branch again.",
      loom_folder_path (run));
}

/* A run cannot end before a step that it has already taken. */
static gboolean
check_end (const RunOpening *self, const LoomTrainerOptions *options, GError **error)
{
  const TrainProgress *progress = self->progress;
  const gint64 epochs = progress->epoch + (progress->batch > 0);

  if (options->epochs > 0 && options->epochs < epochs)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                 "The run in %s has already begun epoch %" G_GINT64_FORMAT ", so it cannot end after %" G_GINT64_FORMAT
                 ": use --epochs with at least %" G_GINT64_FORMAT ".",
                 options->resume, epochs, options->epochs, epochs);
  else if (options->steps > 0 && options->steps < progress->step)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                 "The run in %s has already taken %" G_GINT64_FORMAT " steps, so it cannot end after %" G_GINT64_FORMAT
                 ": use --steps with at least %" G_GINT64_FORMAT ".",
                 options->resume, progress->step, options->steps, progress->step);
  else
    return TRUE;
  return FALSE;
}

static gboolean
resume (const RunOpening *self, const LoomTrainerOptions *options, const RunFolderContents *run, GError **error)
{
  const gboolean is_changed = options->epochs > 0 || !isnan (options->lr) || options->device != NULL
                              || options->threads > 0 || options->strategy != NULL;

  if (!run_state_restore (&self->checkpoints->run, options->resume, options->resume_step, self->progress,
                          &self->folder->events_length, self->notes, error)
      || !check_end (self, options, error))
    return FALSE;
  self->checkpoints->saved_step = self->progress->step;
  learning_rates_forget (self->rates);
  if (!train_data_divide (self->data, self->model, &self->progress->division, self->progress->epoch, error))
    return FALSE;
  if (self->folder->events_length == 0)
    {
      g_autoptr (LoomFolder) folder = loom_folder_open (options->resume, error);

      if (folder == NULL || !check_branch (folder, error))
        return FALSE;
    }
  /* Later checkpoints go first: with events that are cut already, one of them would continue a history with a gap. */
  if (rank_group_is_first (self->group)
      && (!run_folder_lock (self->folder, options->resume, error)
          || (options->resume_step > 0 && !checkpoints_remove_after (options->resume, self->progress->step, error))
          || !run_folder_open (self->folder, is_changed ? run : NULL, error)))
    return FALSE;
  if ((!options->no_epochs && !note_epochs (self, error))
      || (!isnan (options->lr)
          && !note_change (self, "lr", learning_rates_of_spec (self->model->spec), self->progress->base_lr, error)))
    return FALSE;
  if (options->epochs > 0 && self->progress->epoch < self->model->spec->epochs)
    self->progress->watch.patience_exhausted = FALSE; /* the caller requests more epochs */
  return TRUE;
}

/* A run that ends writes a checkpoint: it had no step after the newest one. */
static gboolean
check_step (LoomFolder *run, gint64 step, GError **error)
{
  g_autoptr (LoomFolder) checkpoints = loom_folder_enter (run, LOOM_RUN_CHECKPOINTS, FALSE, NULL);
  g_autoptr (LoomFolder) history = loom_folder_enter (run, LOOM_RUN_HISTORY, FALSE, NULL);
  g_autoptr (GArray) written = loom_run_checkpoint_steps (checkpoints, error);
  g_autoptr (GArray) kept = written != NULL ? loom_run_checkpoint_steps (history, error) : NULL;
  gint64 last;

  if (kept == NULL)
    return FALSE;
  last = MAX (written->len > 0 ? g_array_index (written, gint64, 0) : 0,
              kept->len > 0 ? g_array_index (kept, gint64, 0) : 0);
  if (step >= 0 && step <= last)
    return TRUE;
  return loom_refuse (error, LOOM_ERROR_USAGE,
                      "There is no such step: the run in %s has the steps 0 to %" G_GINT64_FORMAT ".",
                      loom_folder_path (run), last);
}

/* The newest state of a branch is that after a step of its parent, and its events begin with the parent's. */
static gboolean
open_branch (const RunOpening *self, const LoomTrainerOptions *options, const RunFolderContents *run, GError **error)
{
  g_autoptr (LoomFolder) parent = loom_folder_open (options->branch, error);
  LoomJson *json;

  if (parent == NULL || !check_step (parent, options->branch_step, error)
      || !time_machine_load (self->machine, parent, options->branch_step, TRUE, error))
    return FALSE;
  g_free (self->progress->parent);
  self->progress->parent = g_canonicalize_filename (options->branch, NULL);
  self->progress->parent_step = options->branch_step;
  if (options->out == NULL)
    return TRUE;
  if (!run_folder_create (self->folder, options->out, run, error)
      || !run_folder_copy_events (self->folder, parent, options->branch_step, error)
      || !time_machine_change (self->machine, parent, options->branch_step, error) || !note_epochs (self, error))
    return FALSE;
  json = run_event_new ("branch");
  loom_json_int (json, "step", options->branch_step);
  loom_json_string (json, "parent", self->progress->parent);
  return run_folder_add_event (self->folder, json, error)
         && checkpoints_write (self->checkpoints, self->progress, error);
}

static gboolean
read_replay (const RunOpening *self, const char *path, GError **error)
{
  g_autoptr (LoomFolder) folder = loom_folder_open (path, error);

  if (folder == NULL || !live_changes_read (self->replay, folder, error))
    return FALSE;
  for (guint i = 0; i < self->replay->list->len; i++)
    {
      const LiveChange *change = &g_array_index (self->replay->list, LiveChange, i);

      if (g_str_equal (change->name, LEARNING_RATES_EPOCHS) || run_control_has_value (self->control, change->name))
        continue;
      return loom_refuse (error, LOOM_ERROR_DATA,
                          "The run in %s changed “%s” at step %" G_GINT64_FORMAT
                          ", which its graph does not have. Replay it with its own graph.",
                          path, change->name, change->step);
    }
  return TRUE;
}

gboolean
run_opening_do (const RunOpening *self, const LoomTrainerOptions *options, GError **error)
{
  const RunFolderContents run = { self->model, self->data->dataset, self->ranks };
  LoomJson *json;

  if ((options->resume != NULL && !resume (self, options, &run, error))
      || (options->replay != NULL && !read_replay (self, options->replay, error)))
    return FALSE;
  /* A run that was killed before its first checkpoint begins again, including the weights. */
  if (self->folder->events_length == 0 && self->progress->step == 0
      && !initial_weights_load (self->model, self->notes, self->transfer, self->begins, error))
    return FALSE;
  /* Evaluation before the run computes with these; several ranks must first agree. */
  if (self->group->comm == NULL && !initial_weights_begin (self->model, self->begins, error))
    return FALSE;
  if (options->branch != NULL)
    {
      g_array_set_size (self->begins, 0); /* the parent's state has all */
      return open_branch (self, options, &run, error);
    }
  if (options->resume == NULL && options->out != NULL && rank_group_is_first (self->group)
      && !run_folder_create (self->folder, options->out, &run, error))
    return FALSE;
  if (*self->transfer == NULL)
    return TRUE;
  json = run_event_new ("weights");
  loom_transfer_add_json (*self->transfer, json);
  return run_folder_add_event (self->folder, json, error);
}
