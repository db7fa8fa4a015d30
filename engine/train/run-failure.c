/* Saves the finished steps of a failed run, and explains how to resume it. */
#include "engine/train/run-failure.h"

#include "engine/core/loom-error.h"

#include <string.h>

/* TRUE if the state is that of no step. The rank that serves weights runs updates by itself. */
static gboolean
is_between (const RunFailure *self)
{
  const LoomExec *update = self->loop->plans->update;

  return self->loop->is_between || (update != NULL && loom_exec_is_between (update));
}

/* TRUE if a checkpoint is useful: an evaluation has failed, or a step that has written nothing. Not if a file could not
 * be written, because another write would fail, too; nor if the weights make the next batch overflow with any learning
 * rate, because the resumed run would fail again. */
void
run_failure_save (const RunFailure *self, const GError *failure)
{
  const gboolean is_divided = loom_state_is_divided (self->model->state);
  g_autoptr (GError) error = NULL;

  /* Ranks with shards of the state write together, so only if all have failed alike. */
  if ((is_divided && failure->code != LOOM_ERROR_NAN) || !checkpoints_takes_part (self->checkpoints)
      || is_between (self) || self->progress->step == self->checkpoints->saved_step || failure->domain != LOOM_ERROR
      || failure->code == LOOM_ERROR_IO || self->place->weights_overflow)
    return;
  /* The others wait for this rank's shard, which it cannot send. */
  if (!checkpoints_write (self->checkpoints, self->progress, &error) && is_divided)
    self->group->comm->abort (self->group->comm, error->message);
}

/* A failed step is the one after the finished ones. */
static gint64
nan_step (const RunFailure *self, const GError *failure)
{
  return g_error_matches (failure, LOOM_ERROR, LOOM_ERROR_NAN) ? self->progress->step + 1 : 0;
}

void
run_failure_note (const RunFailure *self, const GError *failure)
{
  LoomJson *json;

  run_folder_end_session (self->folder, LOOM_RUN_END_FAILED, nan_step (self, failure), failure->message);
  if (g_error_matches (failure, LOOM_ERROR, LOOM_ERROR_IO))
    return;
  json = run_event_new ("failed");
  loom_json_int (json, "step", self->progress->step);
  loom_json_string (json, "message", failure->message);
  run_folder_add_event (self->folder, json, NULL);
}

/* "Step 3 (epoch 1)" or "Evaluation after step 3"; not "a step on cuda:0". */
static gboolean
names_step (const char *message)
{
  const char *at = message;

  while ((at = strstr (at, "tep ")) && !g_ascii_isdigit (at[4]))
    at += 4;
  return at != NULL;
}

/* How to resume the run. If the weights overflow, from the newest checkpoint, with a smaller learning rate. */
static char *
resume_hint (const RunFailure *self, const char *message)
{
  g_autofree char *words = rank_group_resume_words (self->group, self->folder->path);
  const gint64 saved = self->checkpoints->saved_step;
  char lr[G_ASCII_DTOSTR_BUF_SIZE];

  if (!self->place->weights_overflow || !(self->progress->base_lr > 0))
    return g_strdup_printf ("%s %s with: %s", g_str_has_suffix (message, ".") ? "" : ".",
                            saved > 0 ? "Continue" : "No step is saved yet; begin again", words);
  g_ascii_formatd (lr, sizeof lr, "%.4g", self->progress->base_lr / 10);
  return saved > 0 ? g_strdup_printf (" Continue from step %" G_GINT64_FORMAT " with: %s --lr %s", saved, words, lr)
                   : g_strdup_printf (" No step is saved yet; begin again with: %s --lr %s", words, lr);
}

void
run_failure_explain (const RunFailure *self, GError *failure)
{
  const gint64 step = self->progress->step;
  g_autofree char *when = NULL, *hint = NULL;
  char *message;

  if (g_error_matches (failure, LOOM_ERROR, LOOM_ERROR_IO))
    return;
  if (!names_step (failure->message))
    when = g_strdup_printf ("After %" G_GINT64_FORMAT " step%s: ", step, step == 1 ? "" : "s");
  if (self->folder->path != NULL && strstr (failure->message, "--resume") == NULL)
    hint = resume_hint (self, failure->message);
  message = g_strconcat (when != NULL ? when : "", failure->message, hint, NULL);
  g_free (failure->message);
  failure->message = message;
}

void
run_failure_interrupted (const RankGroup *group, const RunFolder *folder, gint64 step, GError **error)
{
  g_autofree char *words = folder->path != NULL ? rank_group_resume_words (group, folder->path) : NULL;

  if (words != NULL)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_CANCELLED,
                 "Interrupted after step %" G_GINT64_FORMAT ". Continue with: %s", step, words);
  else
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_CANCELLED,
                 "Interrupted after step %" G_GINT64_FORMAT ". Nothing was kept, because no --out was given.", step);
}
