/* Forecasts whether a run fits into memory; see the header.
 *
 * Ranks differ by their stage of a pipeline, and by at most one sample or element of their shards, so the first and the
 * last rank of each stage are planned, and the others count as the first, which has the largest shards. */
#include "engine/train/loom-forecast.h"

#include "engine/train/memory-budget.h"
#include "engine/train/read-model.h"

typedef struct
{
  TrainModel model;
  TrainData data;
  TrainNotes notes;
  LoomComm *const *comm; /* of `ranks` ranks; NULL: a single rank */
  int ranks;
  gsize available;        /* of another machine; 0: this one's */
  GArray *groups, *kinds; /* RankGroup and MemoryBudget of the ranks that are planned */
} Parts;

static void
parts_clear (Parts *parts)
{
  train_data_clear (&parts->data);
  train_model_clear (&parts->model);
  for (guint g = 0; parts->groups != NULL && g < parts->groups->len; g++)
    rank_group_close (&g_array_index (parts->groups, RankGroup, g));
  g_clear_pointer (&parts->groups, g_array_unref);
  g_clear_pointer (&parts->kinds, g_array_unref);
  train_notes_clear (&parts->notes);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Parts, parts_clear)

/* Adds a rank, for which `alike` ranks count. */
static gboolean
add_kind (Parts *self, int rank, int alike, GError **error)
{
  RankGroup group = { NULL };

  if (!rank_group_open (&group, self->comm != NULL ? self->comm[rank] : NULL, self->model.spec, rank == 0, &self->notes,
                        error))
    return FALSE;
  g_array_append_val (self->groups, group);
  g_array_append_val (self->kinds, ((MemoryBudget){ .rank = (guint)rank, .alike = alike }));
  return TRUE;
}

/* The ranks of each stage; of a parameter server, the server and its workers. */
static gboolean
add_kinds (Parts *self, GError **error)
{
  const LoomTrainSpec *spec = self->model.spec;
  const RankGroup *first;
  int stages, each, tensor;

  self->groups = g_array_new (FALSE, TRUE, sizeof (RankGroup));
  self->kinds = g_array_new (FALSE, TRUE, sizeof (MemoryBudget));
  if (!add_kind (self, 0, 1, error))
    return FALSE;
  if (self->comm == NULL)
    return TRUE;
  if (spec->parallel.server)
    return add_kind (self, 1, self->ranks - 1, error);
  first = &g_array_index (self->groups, RankGroup, 0);
  stages = first->mesh.size[LOOM_MESH_PIPELINE];
  tensor = first->mesh.size[LOOM_MESH_TENSOR];
  each = self->ranks / stages; /* ranks of a stage */
  for (int s = 0; s < stages; s++)
    {
      const int last = self->ranks - (stages - 1 - s) * tensor - 1;

      if (s > 0 && !add_kind (self, s * tensor, 1, error))
        return FALSE;
      g_array_index (self->kinds, MemoryBudget, self->kinds->len - 1).alike = MAX (each - 1, 1);
      if (each > 1 && !add_kind (self, last, 1, error))
        return FALSE;
    }
  return TRUE;
}

/* As for a run, but without a plan. */
static gboolean
open_parts (Parts *self, const LoomGraph *graph, const LoomTrainerOptions *options, GError **error)
{
  TrainModel *model = &self->model;
  LoomTrainerOptions own = *options;
  const RankGroup *group;
  int rank, shards;

  model->threads = options->threads;
  own.comm = self->comm != NULL ? self->comm[0] : NULL;
  if (!read_model_graph (model, graph, &own, &self->notes, error) || !add_kinds (self, error))
    return FALSE;
  group = &g_array_index (self->groups, RankGroup, 0);
  rank_group_shard (group, &rank, &shards);
  model->spec->gathers = group->has_server;
  model->spec->batch_size *= shards;
  model->device = g_strdup (options->device != NULL ? options->device : model->spec->device);
  if (!train_data_open (&self->data, model, group, options->samples, &self->notes, error))
    return FALSE;
  model->spec->schedule.steps_per_epoch = self->data.steps_per_epoch;
  if (!read_model_device (model, &own, &self->notes, error))
    return FALSE;
  model->state = loom_state_new (model->devices, model->device, model->spec->seed);
  for (guint k = 0; k < self->kinds->len; k++)
    {
      MemoryBudget *kind = &g_array_index (self->kinds, MemoryBudget, k);

      kind->model = model;
      kind->data = &self->data;
      kind->group = &g_array_index (self->groups, RankGroup, k);
      kind->shards = shards;
      kind->available = self->available;
    }
  return TRUE;
}

gboolean
loom_forecast (const LoomGraph *graph, const LoomTrainerOptions *options, LoomComm *const *comm, int ranks,
               gsize available, LoomForecast *forecast, GError **error)
{
  static const char *const strategies[]
      = { [LOOM_SHARDS_OPTIMIZER] = "zero1", [LOOM_SHARDS_GRADIENTS] = "zero2", [LOOM_SHARDS_PARAMETERS] = "zero3" };
  g_auto (Parts) parts = { .comm = ranks > 1 ? comm : NULL, .ranks = ranks, .available = available };
  const MemoryBudget *kinds;
  MemoryForecast found;
  gint64 all, one;

  *forecast = (LoomForecast){ NULL };
  if (!open_parts (&parts, graph, options, error))
    return FALSE;
  kinds = (const MemoryBudget *)parts.kinds->data;
  all = parts.model.spec->batch_size;
  one = all / MAX (kinds->shards, 1);
  if (!memory_budget_forecast (kinds, parts.kinds->len, kinds->group->has_server ? one : all, &found, error))
    return FALSE;
  *forecast = (LoomForecast){ .devices = found.names,
                              .needed = found.needed,
                              .available = found.available,
                              .ranks = MAX (parts.ranks, 1),
                              .worst = (int)found.worst,
                              .most = found.most,
                              .batch = one,
                              .largest = found.largest,
                              .strategy = strategies[found.shards] };
  return TRUE;
}

void
loom_forecast_clear (LoomForecast *forecast)
{
  g_clear_pointer (&forecast->devices, g_free);
}
