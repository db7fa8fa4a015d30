/* The parts of a run that have plans of their own, known before its first step: so it can be tried beforehand whether
 * all of them find room, and whether a pipeline can do them. */
#include "engine/train/trainer-private.h"

/* FALSE where a run is over before an epoch is: it evaluates nothing then, and meets no short last batch. */
static gboolean
ends_epoch (const LoomTrainer *t)
{
  return t->max_steps == 0 || t->max_steps >= t->steps_per_epoch;
}

static void
add_part (TrainerPart *parts, guint *n, const char *name, gint64 batch, gboolean training)
{
  for (guint i = 0; i < *n; i++)
    if (parts[i].batch == batch && parts[i].training == training)
      return;
  if (batch > 0)
    parts[(*n)++] = (TrainerPart){ name, batch, training };
}

static void
add_evaluation (const LoomTrainer *t, LoomSplit split, gint64 batch, TrainerPart *parts, guint *n)
{
  const gint64 samples = loom_dataset_count (t->dataset, split);

  if (t->spec->stateful)
    batch = 1; /* the text is read as one stream */
  if (samples >= batch)
    add_part (parts, n, "An evaluation", batch, FALSE);
  add_part (parts, n, "An evaluation’s last batch", samples % batch, FALSE);
}

guint
trainer_find_parts (const LoomTrainer *t, gint64 batch, TrainerPart parts[TRAINER_MAX_PARTS])
{
  const LoomSplit split = t->dataset != NULL ? trainer_dataset_validation (t->dataset) : LOOM_N_SPLITS;
  const gint64 samples = t->loader != NULL ? loom_loader_n_samples (t->loader) : batch;
  guint n = 0;

  add_part (parts, &n, "A step", batch, TRUE);
  if (!ends_epoch (t))
    return n;
  if (t->spec->drop_last != LOOM_DROP_LAST_TRUE && !t->spec->stateful)
    add_part (parts, &n, "An epoch’s last batch", samples % batch, TRUE);
  if (split != LOOM_N_SPLITS)
    add_evaluation (t, split, batch, parts, &n);
  if (split == LOOM_SPLIT_VAL && loom_dataset_count (t->dataset, LOOM_SPLIT_TEST) > 0)
    add_evaluation (t, LOOM_SPLIT_TEST, batch, parts, &n);
  return n;
}
