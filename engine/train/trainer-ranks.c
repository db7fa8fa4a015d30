/* A run of several ranks: each step is divided among them, and what only one of them hears of, a command or a signal,
 * all agree on before the next step. */
#include "engine/train/trainer-private.h"

#include "engine/core/loom-hash.h"
#include "engine/train/loom-stages.h"

#include <string.h>

gboolean
trainer_ok (LoomStatus status, const LoomMessage *message, GError **error)
{
  return status == LOOM_STATUS_OK || loom_error_of_ranks (message->text, error);
}

/* Once for the whole run, by its first step, which is one of training. */
static gboolean
choose_stages (LoomTrainer *t, const LoomStep *step, GError **error)
{
  LoomParallel *parallel = &t->spec->parallel;

  if (parallel->pipeline < 2 || parallel->stages != NULL)
    return TRUE;
  parallel->stages = loom_stages_choose (step, parallel->pipeline, t->devices, t->device, NULL, error);
  return parallel->stages != NULL;
}

gboolean
trainer_divide_step (LoomTrainer *t, LoomStep *step, GError **error)
{
  if (t->comm == NULL || t->comm->size < 2)
    return TRUE;
  return choose_stages (t, step, error) && loom_step_divide (step, t->spec, &t->mesh, error);
}

static gboolean
try_part (LoomTrainer *t, const TrainerPart *part, GError **error)
{
  g_autoptr (LoomStep) step = loom_step_new (t->graph, t->spec, part->batch, part->training, error);

  return step != NULL && trainer_divide_step (t, step, error);
}

gboolean
trainer_try_stages (LoomTrainer *t, GError **error)
{
  const TrainerPlan *first = t->plans->pdata[0];
  TrainerPart parts[TRAINER_MAX_PARTS];
  const guint n = trainer_find_parts (t, first->step->batch, parts);

  if (t->comm == NULL || t->comm->size < 2 || t->spec->parallel.pipeline < 2 || t->spec->epochs == 0)
    return TRUE;
  for (guint i = 1; i < n; i++)
    /* A last batch that is left out is no step. */
    if (!(parts[i].training && t->left_out > 0) && !try_part (t, &parts[i], error))
      return FALSE;
  return TRUE;
}

char *
loom_trainer_resume_words (const LoomTrainer *t)
{
  g_autofree char *folder = loom_text_shell_word (t->folder);

  /* Which hosts they were on is known to whoever started them. */
  if (t->comm == NULL || t->comm->size == 1 || t->comm->local_size != t->comm->size)
    return g_strdup_printf ("gradloom train --resume %s", folder);
  return g_strdup_printf ("gradloom train --resume %s --ranks %d", folder, t->comm->size);
}

void
trainer_note_ranks (LoomTrainer *t, int before)
{
  if (t->comm == NULL && before > 1 && loom_parallel_least (&t->spec->parallel) < 2)
    trainer_note (t, "This run had %d ranks, and continues with one. Use --ranks %d to start as many as before.",
                  before, before);
}

/* What <parallel> says of ranks, where there is one alone. */
static void
note_parallel (LoomTrainer *t)
{
  const LoomParallel *parallel = &t->spec->parallel;
  const gint64 least = loom_parallel_least (parallel);

  if (parallel->server)
    trainer_note (t,
                  "strategy=\"server\" has no effect, because the run has only one rank. Start a server and at least "
                  "one other rank with --ranks.");
  else if (parallel->pipeline > 1)
    trainer_note (t,
                  "<parallel> divides the net into %d stages, but the run has only one rank, which computes all of "
                  "them. Start others with --ranks %" G_GINT64_FORMAT ".",
                  parallel->pipeline, least);
  else if (parallel->data > 1)
    trainer_note (t,
                  "<parallel> divides a batch among %" G_GINT64_FORMAT " ranks, but the run has only one, which "
                  "trains with its part of that batch. Start others with --ranks %" G_GINT64_FORMAT ".",
                  parallel->data, least);
}

gboolean
trainer_open_mesh (LoomTrainer *t, gboolean begins, GError **error)
{
  int size[LOOM_MESH_AXES];

  if (t->comm == NULL)
    {
      if (begins)
        note_parallel (t);
      return TRUE;
    }
  if (!loom_train_spec_mesh (t->spec, t->comm->size, size, error))
    return FALSE;
  t->mesh = loom_mesh_open (t->comm, size);
  if (begins && t->spec->parallel.reduce_bf16 && t->spec->precision == LOOM_F64)
    trainer_note (t, "reduce_dtype=\"bf16\" has no effect, because the gradients of this run are f64.");
  return TRUE;
}

gboolean
trainer_join_mesh (LoomTrainer *t, GError **error)
{
  LoomMessage message = { "" };

  return t->comm == NULL || trainer_ok (loom_mesh_join (&t->mesh, &message), &message, error);
}

const LoomMesh *
trainer_mesh (const LoomTrainer *t)
{
  return t->comm != NULL ? &t->mesh : NULL;
}

gboolean
trainer_takes_part (const LoomTrainer *t)
{
  return t->folder != NULL || (t->keeps && loom_state_is_divided (t->state));
}

gboolean
trainer_rank_0_says (LoomTrainer *t, gboolean yes, GError **error)
{
  gint32 word = yes;
  LoomMessage message = { "" };

  if (!loom_state_is_divided (t->state))
    return yes;
  return trainer_ok (t->comm->broadcast (t->comm, &word, sizeof word, 0, &message), &message, error) && word != 0;
}

gboolean
trainer_any_rank (LoomTrainer *t, gboolean yes)
{
  gint64 own = yes, most = yes;
  LoomMessage message;

  if (loom_state_is_divided (t->state))
    t->comm->all_reduce (t->comm, &own, &most, 1, LOOM_I64, LOOM_REDUCE_MAX, &message);
  return most != 0;
}

LoomState *
trainer_whole_state (LoomTrainer *t, const LoomProgram *program, GError **error)
{
  g_autoptr (LoomState) whole = loom_state_new (t->devices, t->device, t->spec->seed);

  if (!loom_state_add_slots (whole, program, error))
    return NULL;
  for (guint i = 0; i < loom_state_n_slots (t->state); i++)
    {
      g_autoptr (LoomTensor) value = NULL;
      const char *name;

      loom_state_slot (t->state, i, &name, NULL, NULL);
      if (loom_state_find (whole, name) < 0)
        continue;
      value = loom_state_get (t->state, name, error);
      if (value == NULL || !loom_state_set (whole, name, value, error))
        return NULL;
    }
  return g_steal_pointer (&whole);
}

/* ---- agreeing ----------------------------------------------------------------- */

#define NAME_BYTES 112
#define TAG_WORD   (LOOM_COMM_TAGS - 1) /* beside those of trainer-server.c and of pipelines */

/* What rank 0 tells the others: an action, or one value that was set. */
typedef struct
{
  gint32 action;
  gint32 more;  /* another one follows */
  gint32 trace; /* the next step is recorded */
  gint32 look;  /* what steps tell: TRAINER_LOOK_… */
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
          word.trace = t->trace.wanted;
          word.look = trainer_look_wanted (t);
          word.more = waiting > 1;
        }
      if (!trainer_ok (t->comm->broadcast (t->comm, &word, sizeof word, 0, &message), &message, error))
        return FALSE;
      if (t->comm->rank != 0 && word.name[0] != '\0' && !trainer_set_hyper (t, word.name, word.value, error))
        return FALSE;
    }
  while (word.more);
  *action = word.action;
  t->trace.wanted = word.trace;
  t->look.on = word.look;
  return TRUE;
}

/* The first rank may have been paused, for as long as somebody likes. The others sleep meanwhile, where MPI's broadcast
 * would keep a processor busy. */
static gboolean
wait_for_first (LoomTrainer *t, GError **error)
{
  LoomComm *comm = t->comm;
  LoomMessage message = { "" };
  LoomStatus status = LOOM_STATUS_OK;
  char word = 0;

  if (comm->rank == 0)
    for (int k = 1; k < comm->size && status == LOOM_STATUS_OK; k++)
      status = comm->send (comm, &word, sizeof word, k, TAG_WORD, &message);
  else
    {
      g_autofree bool *come = g_new (bool, (gsize)comm->size);
      int from;

      for (int k = 0; k < comm->size; k++)
        come[k] = k > 0;
      status = comm->probe (comm, TAG_WORD, come, &from, &message);
      if (status == LOOM_STATUS_OK)
        status = comm->receive (comm, &word, sizeof word, from, TAG_WORD, &message);
    }
  return trainer_ok (status, &message, error);
}

gboolean
trainer_agree (LoomTrainer *t, TrainerAction *action, GError **error)
{
  TrainerAction own = TRAINER_CONTINUE;
  gint64 wanted[3] = { 0 }, most[3];
  LoomMessage message = { "" };

  if (g_atomic_int_get (&t->inbox.pending) || t->trace.wanted || trainer_look_wanted (t) != t->look.on)
    wanted[0] = 1;
  /* Of the others only a request to end counts: it may be a signal that reached one of them alone. */
  if (t->comm->rank != 0)
    wanted[0] = trainer_must_end (t) ? 2 : 0;
  else
    wanted[2] = trainer_seen_is_wanted (t);
  wanted[1] = t->checkpoint_due;
  if (!trainer_ok (t->comm->all_reduce (t->comm, wanted, most, 3, LOOM_I64, LOOM_REDUCE_MAX, &message), &message,
                   error))
    return FALSE;
  *action = TRAINER_CONTINUE;
  if (most[0] == 0 && most[1] == 0)
    return TRUE;
  t->checkpoint_due = FALSE;
  /* On all ranks alike: what follows sees a state that agrees with the run's place. Reading it may make the next
   * checkpoint due. */
  if (!trainer_late_finish (t, error))
    return FALSE;
  if (most[1] != 0 && !trainer_checkpoint_write (t, NULL, error))
    return FALSE;
  if (most[2] != 0 && !trainer_seen_gather (t, error))
    return FALSE;
  if (most[0] == 0)
    return TRUE;
  if (t->comm->rank == 0 && wanted[0] > 0 && !trainer_poll (t, FALSE, &own, error))
    return FALSE;
  if (!wait_for_first (t, error) || !pass_on (t, &own, error))
    return FALSE;
  *action = most[0] == 2 ? TRAINER_INTERRUPT : own;
  return TRUE;
}

/* Machines whose cost tables differ may cut a net at different places. */
static guint64
hash_stages (const LoomTrainer *t, guint64 hash)
{
  for (guint i = 0; t->spec->parallel.stages != NULL && i < loom_net_n_nodes (t->net); i++)
    {
      char number[16];

      g_snprintf (number, sizeof number, "%d ",
                  loom_stages_get (t->spec->parallel.stages, loom_net_node (t->net, i)->path));
      hash = loom_hash_text (hash, number);
    }
  return hash;
}

const char *const loom_trainer_parts[LOOM_TRAINER_N_PARTS] = {
  "graph",           "device",  "batch size", "number of samples", "content of the data", "step to begin at",
  "number of steps", "--trace", "--out",      "cut into stages",
};

void
loom_trainer_fingerprint (const LoomTrainer *t, guint64 part[LOOM_TRAINER_N_PARTS])
{
  memset (part, 0, LOOM_TRAINER_N_PARTS * sizeof *part);
  if (t == NULL)
    return;
  g_autofree char *text = loom_graph_write (t->graph, NULL);
  g_autofree char *samples
      = g_strdup_printf ("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT, loom_dataset_count (t->dataset, LOOM_SPLIT_TRAIN),
                         loom_dataset_count (t->dataset, LOOM_SPLIT_TEST));
  g_autofree char *data = g_strdup_printf ("%" G_GUINT64_FORMAT, loom_dataset_digest (t->dataset));
  g_autofree char *batch = g_strdup_printf ("%" G_GINT64_FORMAT, t->spec->batch_size);
  g_autofree char *step = g_strdup_printf ("%" G_GINT64_FORMAT, t->place.step);
  g_autofree char *last = g_strdup_printf ("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT, t->max_steps, t->spec->epochs);
  const char *const what[] = { text,
                               t->device,
                               batch,
                               samples,
                               data,
                               step,
                               last,
                               t->trace.path != NULL && !t->trace.is_optional ? "given" : "",
                               t->keeps ? "given" : "" };

  for (guint i = 0; i < G_N_ELEMENTS (what); i++)
    part[i] = loom_hash_text (LOOM_HASH_EMPTY, what[i]);
  part[G_N_ELEMENTS (what)] = hash_stages (t, LOOM_HASH_EMPTY);
}
