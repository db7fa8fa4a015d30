/* The parts of a run that have plans of their own. */
#include "engine/train/run-parts.h"

#include "engine/train/step-division.h"

/* FALSE if the run ends before an epoch does: then it does not evaluate, and has no incomplete last batch. */
static gboolean
ends_epoch (const TrainData *data)
{
  return data->max_steps == 0 || data->max_steps >= data->steps_per_epoch;
}

static void
add_part (RunPart *parts, guint *n, const char *name, gint64 batch, gboolean training)
{
  for (guint i = 0; i < *n; i++)
    if (parts[i].batch == batch && parts[i].training == training)
      return;
  if (batch > 0)
    parts[(*n)++] = (RunPart){ name, batch, training };
}

static void
add_evaluation (const TrainData *data, const LoomTrainSpec *spec, LoomSplit split, gint64 batch, RunPart *parts,
                guint *n)
{
  const gint64 samples = loom_dataset_count (data->dataset, split);

  if (spec->stateful)
    batch = 1; /* the text is read as one stream */
  if (samples >= batch)
    add_part (parts, n, "An evaluation", batch, FALSE);
  add_part (parts, n, "An evaluation’s last batch", samples % batch, FALSE);
}

guint
run_parts_find (const TrainData *data, const LoomTrainSpec *spec, gint64 batch, RunPart parts[RUN_MAX_PARTS])
{
  const LoomSplit split = data->dataset != NULL ? train_data_validation (data) : LOOM_N_SPLITS;
  const gint64 samples = data->loader != NULL ? loom_loader_n_samples (data->loader) : batch;
  guint n = 0;

  add_part (parts, &n, "A step", batch, TRUE);
  if (!ends_epoch (data))
    return n;
  if (spec->drop_last != LOOM_DROP_LAST_TRUE && !spec->stateful)
    add_part (parts, &n, "An epoch’s last batch", samples % batch, TRUE);
  if (split != LOOM_N_SPLITS)
    add_evaluation (data, spec, split, batch, parts, &n);
  if (split == LOOM_SPLIT_VAL && loom_dataset_count (data->dataset, LOOM_SPLIT_TEST) > 0)
    add_evaluation (data, spec, LOOM_SPLIT_TEST, batch, parts, &n);
  return n;
}

static gboolean
try_part (const TrainModel *model, const RankGroup *group, const RunPart *part, GError **error)
{
  g_autoptr (LoomStep) step = loom_step_new (model->spec, part->batch, part->training, error);

  return step != NULL && step_divide (step, model, group, error);
}

gboolean
run_parts_try_stages (const TrainData *data, const TrainModel *model, const RankGroup *group, gint64 batch,
                      GError **error)
{
  RunPart parts[RUN_MAX_PARTS];
  const guint n = run_parts_find (data, model->spec, batch, parts);

  if (!rank_group_has_several (group) || model->spec->parallel.pipeline < 2 || model->spec->epochs == 0)
    return TRUE;
  for (guint i = 1; i < n; i++)
    /* A last batch that is dropped is no step. */
    if (!(parts[i].training && data->left_out > 0) && !try_part (model, group, &parts[i], error))
      return FALSE;
  return TRUE;
}
