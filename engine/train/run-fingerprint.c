/* Hashes of the properties that must be equal on all ranks. */
#include "engine/train/run-fingerprint.h"

#include "engine/core/loom-hash.h"

/* With different cost tables, machines may divide a net into different stages. */
static guint64
hash_stages (const TrainModel *model, guint64 hash)
{
  for (guint i = 0; model->spec->parallel.stages != NULL && i < loom_net_n_nodes (model->net); i++)
    {
      char number[16];

      g_snprintf (number, sizeof number, "%d ",
                  loom_stages_get (model->spec->parallel.stages, loom_net_node (model->net, i)->path));
      hash = loom_hash_text (hash, number);
    }
  return hash;
}

const char *const loom_trainer_parts[LOOM_TRAINER_N_PARTS] = {
  "graph",           "device",  "batch size", "number of samples", "content of the data", "step to begin at",
  "number of steps", "--trace", "--out",      "cut into stages",
};

void
run_fingerprint (const TrainModel *model, const TrainData *data, const TrainProgress *progress, gboolean is_traced,
                 gboolean is_kept, guint64 part[LOOM_TRAINER_N_PARTS])
{
  g_autofree char *text = loom_graph_write (model->graph, NULL);
  g_autofree char *samples = g_strdup_printf ("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT,
                                              loom_dataset_count (data->dataset, LOOM_SPLIT_TRAIN),
                                              loom_dataset_count (data->dataset, LOOM_SPLIT_TEST));
  g_autofree char *content = g_strdup_printf ("%" G_GUINT64_FORMAT, loom_dataset_digest (data->dataset));
  g_autofree char *batch = g_strdup_printf ("%" G_GINT64_FORMAT, model->spec->batch_size);
  g_autofree char *step = g_strdup_printf ("%" G_GINT64_FORMAT, progress->step);
  g_autofree char *last
      = g_strdup_printf ("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT, data->max_steps, model->spec->epochs);
  const char *const what[] = { text,
                               model->device,
                               batch,
                               samples,
                               content,
                               step,
                               last,
                               is_traced ? "given" : "",
                               is_kept ? "given" : "" };

  for (guint i = 0; i < G_N_ELEMENTS (what); i++)
    part[i] = loom_hash_text (LOOM_HASH_EMPTY, what[i]);
  part[G_N_ELEMENTS (what)] = hash_stages (model, LOOM_HASH_EMPTY);
}
