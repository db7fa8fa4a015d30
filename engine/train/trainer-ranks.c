/* A run of several ranks: each step is divided among them, and what only one of them hears of, a command or a signal,
 * all agree on before the next step. */
#include "engine/train/trainer-private.h"

#include "engine/core/loom-hash.h"
#include "engine/program/loom-partition.h"

#include <string.h>

void
trainer_divide_step (LoomTrainer *t, LoomStep *step)
{
  LoomProgram *divided;
  LoomPartition partition;

  /* A batch of fewer samples than ranks is computed whole by each of them. */
  if (t->comm == NULL || t->comm->size == 1 || step->batch < t->comm->size)
    return;
  partition = (LoomPartition){ .samples = step->batch,
                               .rank = t->comm->rank,
                               .ranks = t->comm->size,
                               .bucket = (gsize)(t->spec->parallel.bucket_mb * 1e6),
                               .sync_batch_norm = t->spec->parallel.sync_batch_norm };
  divided = loom_program_partition (step->program, &partition);
  loom_program_unref (step->program);
  step->program = divided;
}

/* ---- agreeing ----------------------------------------------------------------- */

#define NAME_BYTES 112

/* What rank 0 tells the others: an action, or one value that was set. */
typedef struct
{
  gint32 action;
  gint32 more; /* another one follows */
  double value;
  char name[NAME_BYTES]; /* "": none was set */
} Word;

void
trainer_note_hyper (LoomTrainer *t, const char *name, double value)
{
  Word word = { .value = value };

  if (t->comm == NULL || t->comm->rank != 0)
    return;
  if (t->set_since == NULL)
    t->set_since = g_array_new (FALSE, FALSE, sizeof (Word));
  g_strlcpy (word.name, name, sizeof word.name);
  g_array_append_val (t->set_since, word);
}

static gboolean
fail (LoomStatus status, const LoomMessage *message, GError **error)
{
  if (status == LOOM_STATUS_OK)
    return TRUE;
  g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_DIST, message->text);
  return FALSE;
}

/* Rank 0 tells what it was asked for, the others do it. */
static gboolean
pass_on (LoomTrainer *t, TrainerAction *action, GError **error)
{
  Word word = { 0 };

  do
    {
      LoomMessage message = { "" };

      if (t->comm->rank == 0)
        {
          guint waiting = t->set_since != NULL ? t->set_since->len : 0;

          word = waiting > 0 ? g_array_index (t->set_since, Word, 0) : (Word){ 0 };
          if (waiting > 0)
            g_array_remove_index (t->set_since, 0);
          word.action = *action;
          word.more = waiting > 1;
        }
      if (!fail (t->comm->broadcast (t->comm, &word, sizeof word, 0, &message), &message, error))
        return FALSE;
      if (t->comm->rank != 0 && word.name[0] != '\0' && !trainer_set_hyper (t, word.name, word.value, error))
        return FALSE;
    }
  while (word.more);
  *action = word.action;
  return TRUE;
}

gboolean
trainer_agree (LoomTrainer *t, TrainerAction *action, GError **error)
{
  TrainerAction own = TRAINER_CONTINUE;
  gint64 wanted = 0, most = 0;
  LoomMessage message = { "" };

  if (g_atomic_int_get (&t->inbox.pending))
    wanted = 1;
  /* Of the others only a request to end counts: it may be a signal that reached one of them alone. */
  if (t->comm->rank != 0)
    wanted = trainer_must_end (t) ? 2 : 0;
  if (!fail (t->comm->all_reduce (t->comm, &wanted, &most, 1, LOOM_I64, LOOM_REDUCE_MAX, &message), &message, error))
    return FALSE;
  *action = TRAINER_CONTINUE;
  if (most == 0)
    return TRUE;
  if (t->comm->rank == 0 && wanted > 0 && !trainer_poll (t, FALSE, &own, error))
    return FALSE;
  if (!pass_on (t, &own, error))
    return FALSE;
  *action = most == 2 ? TRAINER_INTERRUPT : own;
  return TRUE;
}

guint64
loom_trainer_fingerprint (const LoomTrainer *t)
{
  g_autofree char *text = loom_graph_write (t->graph, NULL);
  g_autofree char *rest = g_strdup_printf (
      "%s %s %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT, LOOM_VERSION, t->device,
      t->spec->batch_size, loom_dataset_count (t->dataset, LOOM_SPLIT_TRAIN),
      loom_dataset_count (t->dataset, LOOM_SPLIT_TEST), t->place.step);

  return loom_hash_text (loom_hash_text (LOOM_HASH_EMPTY, text), rest);
}
