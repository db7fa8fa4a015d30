/* Rounds with a parameter server; see the header. */
#include "engine/train/server-rounds.h"

#include "engine/core/loom-error.h"

RankServer *
server_rounds_open (TrainModel *model, const RankGroup *group, StepTrace *trace, GError **error)
{
  RankServer *server;

  if (!group->has_server)
    return NULL;
  if (trace->is_optional)
    g_clear_pointer (&trace->path, g_free);
  server = rank_server_new (model, group, error);
  model->spec->gathers = TRUE;
  if (server == NULL || trace->path == NULL)
    return server;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
               "--trace records a step that all ranks take together; with strategy=\"server\" each rank takes "
               "its own steps. Leave --trace out.");
  rank_server_free (server);
  return NULL;
}

static gboolean
must_end (gpointer data)
{
  return inbox_must_end (((ServerRounds *)data)->inbox, FALSE);
}

static gboolean
is_called (gpointer data)
{
  const ServerRounds *self = data;

  return self->checkpoints->is_due || inbox_is_pending (self->inbox);
}

static void
note_served (double loss, const double *own, gpointer data)
{
  const ServerRounds *self = data;

  rank_reports_served (self->reports, self->progress->step, loss, own);
}

gboolean
server_rounds_take (ServerRounds *self, gint64 steps, GError **error)
{
  const RankServerOwner owner
      = { self->data, self->plans, self->rates, self->log, self->failure, must_end, is_called, note_served, self };

  if (!rank_server_round (self->server, &owner, steps, error)
      || (self->checkpoints->is_due && !checkpoints_write (self->checkpoints, self->progress, error)))
    return FALSE;
  self->checkpoints->is_due = FALSE;
  return rank_reports_round (self->reports, error);
}
