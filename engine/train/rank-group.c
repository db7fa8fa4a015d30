/* The ranks of a run. */
#include "engine/train/rank-group.h"

#include "engine/core/loom-error.h"
#include "engine/core/loom-text.h"

#define TAG_WAKE (LOOM_COMM_TAGS - 1) /* different from the tags of rank-server.c and of pipelines */

gboolean
rank_group_check (LoomStatus status, const LoomMessage *message, GError **error)
{
  return status == LOOM_STATUS_OK || loom_error_of_ranks (message->text, error);
}

/* The settings of <parallel> that have no effect because there is a single rank. */
static void
note_parallel (const LoomParallel *parallel, TrainNotes *notes)
{
  const gint64 least = loom_parallel_least (parallel);

  if (parallel->server)
    train_notes_add (notes,
                     "strategy=\"server\" has no effect, because the run has only one rank. Start a server and at "
                     "least one other rank with --ranks.");
  else if (parallel->pipeline > 1)
    train_notes_add (notes,
                     "<parallel> divides the net into %d stages, but the run has only one rank, which computes all of "
                     "them. Start others with --ranks %" G_GINT64_FORMAT ".",
                     parallel->pipeline, least);
  else if (parallel->data > 1)
    train_notes_add (notes,
                     "<parallel> divides a batch among %" G_GINT64_FORMAT " ranks, but the run has only one, which "
                     "trains with its part of that batch. Start others with --ranks %" G_GINT64_FORMAT ".",
                     parallel->data, least);
}

gboolean
rank_group_open (RankGroup *group, LoomComm *comm, const LoomTrainSpec *spec, gboolean begins, TrainNotes *notes,
                 GError **error)
{
  int size[LOOM_MESH_AXES];

  group->comm = comm;
  if (comm == NULL)
    {
      if (begins)
        note_parallel (&spec->parallel, notes);
      return TRUE;
    }
  if (!loom_train_spec_mesh (spec, comm->size, size, error))
    return FALSE;
  group->mesh = loom_mesh_open (comm, size);
  group->has_server = spec->parallel.server;
  if (begins && spec->parallel.reduce_bf16 && spec->precision == LOOM_F64)
    train_notes_add (notes, "reduce_dtype=\"bf16\" has no effect, because the gradients of this run are f64.");
  return TRUE;
}

void
rank_group_close (RankGroup *group)
{
  loom_mesh_close (&group->mesh);
}

void
rank_group_note_fewer (const RankGroup *group, const LoomTrainSpec *spec, int before, TrainNotes *notes)
{
  if (group->comm == NULL && before > 1 && loom_parallel_least (&spec->parallel) < 2)
    train_notes_add (notes, "This run had %d ranks, and continues with one. Use --ranks %d to start as many as before.",
                     before, before);
}

gboolean
rank_group_join (RankGroup *group, GError **error)
{
  LoomMessage message = { "" };

  return group->comm == NULL || rank_group_check (loom_mesh_join (&group->mesh, &message), &message, error);
}

const LoomMesh *
rank_group_mesh (const RankGroup *group)
{
  return group->comm != NULL ? &group->mesh : NULL;
}

gboolean
rank_group_has_several (const RankGroup *group)
{
  return group->comm != NULL && group->comm->size > 1;
}

gboolean
rank_group_is_first (const RankGroup *group)
{
  return group->comm == NULL || group->comm->rank == 0;
}

void
rank_group_shard (const RankGroup *group, int *rank, int *n)
{
  /* Every stage reads whole batches: the first one the inputs, the last one the targets. */
  *rank = group->comm == NULL ? 0 : group->has_server ? MAX (0, group->comm->rank - 1) : group->mesh.at[LOOM_MESH_DATA];
  *n = group->comm == NULL ? 1 : group->has_server ? group->comm->size - 1 : group->mesh.size[LOOM_MESH_DATA];
}

gboolean
rank_group_updates (const RankGroup *group)
{
  return !group->has_server || group->comm->rank == 0;
}

char *
rank_group_resume_words (const RankGroup *group, const char *folder)
{
  g_autofree char *word = loom_text_shell_word (folder);

  /* Only the launcher knows the hosts of a run on several machines. */
  if (!rank_group_has_several (group) || group->comm->local_size != group->comm->size)
    return g_strdup_printf ("gradloom train --resume %s", word);
  return g_strdup_printf ("gradloom train --resume %s --ranks %d", word, group->comm->size);
}

/* ---- exchanges -------------------------------------------------------- */

gboolean
rank_group_max (const RankGroup *group, const gint64 *own, gint64 *most, gint64 n, GError **error)
{
  LoomMessage message = { "" };

  return rank_group_check (group->comm->all_reduce (group->comm, own, most, n, LOOM_I64, LOOM_REDUCE_MAX, &message),
                           &message, error);
}

gboolean
rank_group_broadcast (const RankGroup *group, void *data, gsize bytes, GError **error)
{
  LoomMessage message = { "" };

  return rank_group_check (group->comm->broadcast (group->comm, data, (gint64)bytes, 0, &message), &message, error);
}

gboolean
rank_group_gather (const RankGroup *group, const void *own, gsize bytes, void *all, GError **error)
{
  g_autofree int64_t *each = g_new (int64_t, (gsize)group->comm->size);
  LoomMessage message = { "" };

  for (int k = 0; k < group->comm->size; k++)
    each[k] = (int64_t)bytes;
  return rank_group_check (group->comm->all_gather (group->comm, own, all, each, &message), &message, error);
}

gboolean
rank_group_wait_for_first (const RankGroup *group, GError **error)
{
  LoomComm *comm = group->comm;
  LoomMessage message = { "" };
  LoomStatus status = LOOM_STATUS_OK;
  char word = 0;

  if (comm->rank == 0)
    for (int k = 1; k < comm->size && status == LOOM_STATUS_OK; k++)
      status = comm->send (comm, &word, sizeof word, k, TAG_WAKE, &message);
  else
    {
      g_autofree bool *done = g_new (bool, (gsize)comm->size);
      int from;

      for (int k = 0; k < comm->size; k++)
        done[k] = k > 0;
      status = comm->probe (comm, TAG_WAKE, done, &from, &message);
      if (status == LOOM_STATUS_OK)
        status = comm->receive (comm, &word, sizeof word, from, TAG_WAKE, &message);
    }
  return rank_group_check (status, &message, error);
}

gboolean
rank_group_first_says (const RankGroup *group, const LoomState *state, gboolean yes, GError **error)
{
  gint32 word = yes;

  if (!loom_state_is_divided (state))
    return yes;
  return rank_group_broadcast (group, &word, sizeof word, error) && word != 0;
}

gboolean
rank_group_any_says (const RankGroup *group, gboolean yes)
{
  gint64 own = yes, most = yes;

  if (rank_group_has_several (group) && !group->has_server)
    rank_group_max (group, &own, &most, 1, NULL);
  return most != 0;
}

LoomState *
rank_group_whole_state (const TrainModel *model, const LoomProgram *program, GError **error)
{
  g_autoptr (LoomState) whole = loom_state_new (model->devices, model->device, model->spec->seed);

  if (!loom_state_add_slots (whole, program, error))
    return NULL;
  for (guint i = 0; i < loom_state_n_slots (model->state); i++)
    {
      g_autoptr (LoomTensor) value = NULL;
      const char *name;

      loom_state_slot (model->state, i, &name, NULL, NULL);
      if (loom_state_find (whole, name) < 0)
        continue;
      value = loom_state_get (model->state, name, error);
      if (value == NULL || !loom_state_set (whole, name, value, error))
        return NULL;
    }
  return g_steal_pointer (&whole);
}
