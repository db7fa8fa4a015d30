/* Hashes of the properties that must be equal on all ranks. */
#include "engine/train/trainer-private.h"

#include "engine/core/loom-hash.h"

#include <string.h>

/* With different cost tables, machines may divide a net into different stages. */
static guint64
hash_stages (const LoomTrainer *t, guint64 hash)
{
  for (guint i = 0; t->model.spec->parallel.stages != NULL && i < loom_net_n_nodes (t->model.net); i++)
    {
      char number[16];

      g_snprintf (number, sizeof number, "%d ",
                  loom_stages_get (t->model.spec->parallel.stages, loom_net_node (t->model.net, i)->path));
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
  g_autofree char *text = loom_graph_write (t->model.graph, NULL);
  g_autofree char *samples = g_strdup_printf ("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT,
                                              loom_dataset_count (t->data.dataset, LOOM_SPLIT_TRAIN),
                                              loom_dataset_count (t->data.dataset, LOOM_SPLIT_TEST));
  g_autofree char *data = g_strdup_printf ("%" G_GUINT64_FORMAT, loom_dataset_digest (t->data.dataset));
  g_autofree char *batch = g_strdup_printf ("%" G_GINT64_FORMAT, t->model.spec->batch_size);
  g_autofree char *step = g_strdup_printf ("%" G_GINT64_FORMAT, t->progress.step);
  g_autofree char *last
      = g_strdup_printf ("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT, t->data.max_steps, t->model.spec->epochs);
  const char *const what[] = { text,
                               t->model.device,
                               batch,
                               samples,
                               data,
                               step,
                               last,
                               t->observers.trace.path != NULL && !t->observers.trace.is_optional ? "given" : "",
                               t->checkpoints.keeps ? "given" : "" };

  for (guint i = 0; i < G_N_ELEMENTS (what); i++)
    part[i] = loom_hash_text (LOOM_HASH_EMPTY, what[i]);
  part[G_N_ELEMENTS (what)] = hash_stages (t, LOOM_HASH_EMPTY);
}
