/* Reads <parallel>: how a step is partitioned among ranks, and which combinations are impossible. recipe-split.c reads
 * which weights are sharded, and forms the mesh of ranks. */
#include "engine/recipe/recipe-private.h"

#include <inttypes.h>

/* A line search needs the complete gradient. */
static void
check_shards (RecipeReading *r, const LoomElement *e, const LoomTrainSpec *spec)
{
  if (spec->parallel.shards == LOOM_SHARDS_NONE || spec->optimizer == NULL || spec->optimizer->emit != NULL)
    return;
  loom_fault_set_fix (recipe_complain (r, e, LOOM_ERROR_SCHEMA, "strategy",
                                       "strategy is “%s”, which shards the weights, but “%s” needs all of them on "
                                       "each rank.",
                                       loom_element_get (e, "strategy"), spec->optimizer->name),
                      "strategy", "data", "Set it to data, or use another optimizer.");
}

static void
check_pipeline (RecipeReading *r, const LoomElement *e, const LoomTrainSpec *spec)
{
  if (spec->parallel.pipeline < 2)
    return;
  if (spec->parallel.sync_batch_norm)
    loom_fault_set_fix (recipe_complain (r, e, LOOM_ERROR_SCHEMA, "sync_batch_norm",
                                         "With sync_batch_norm each micro-batch waits for the last one, so the stages "
                                         "of a pipeline cannot overlap."),
                        "sync_batch_norm", "false", "Set it to false.");
  if (spec->optimizer != NULL && spec->optimizer->emit == NULL)
    recipe_complain (r, e, LOOM_ERROR_SCHEMA, "pipeline",
                     "“%s” needs all weights at once, but each stage of a pipeline has only its own. Use another "
                     "optimizer.",
                     spec->optimizer->name);
}

void
recipe_read_parallel (RecipeReading *r, const LoomElement *e, LoomTrainSpec *spec)
{
  g_autoptr (GPtrArray) known = recipe_names (LOOM_TAG_PARALLEL, 0);

  recipe_check_names (r, e, known, NULL);
  spec->parallel.shards = (LoomShards)recipe_choice (r, e, "strategy");
  spec->parallel.server = spec->parallel.shards > LOOM_SHARDS_PARAMETERS;
  if (spec->parallel.server)
    spec->parallel.shards = LOOM_SHARDS_NONE;
  spec->parallel.staleness = (gint64)recipe_number (r, e, "staleness");
  if (spec->parallel.staleness > 0 && !spec->parallel.server)
    loom_fault_set_fix (
        recipe_complain (r, e, LOOM_ERROR_SCHEMA, "staleness",
                         "staleness is for a parameter server, but the strategy is “%s”, with which all ranks wait "
                         "for each other.",
                         loom_element_get (e, "strategy") != NULL ? loom_element_get (e, "strategy") : "data"),
        "strategy", "server", "Set strategy to server, or remove staleness.");
  check_shards (r, e, spec);
  spec->parallel.data = (gint64)recipe_number (r, e, "data");
  spec->parallel.tensor = (gint64)recipe_number (r, e, "tensor");
  spec->parallel.bucket_mb = recipe_number (r, e, "bucket_mb");
  spec->parallel.reduce_bf16 = recipe_choice (r, e, "reduce_dtype") == 1;
  spec->parallel.sync_batch_norm = recipe_flag (r, e, "sync_batch_norm");
  spec->parallel.pipeline = (int)recipe_number (r, e, "pipeline");
  spec->parallel.microbatches = (int)recipe_number (r, e, "microbatches");
  spec->parallel.schedule = recipe_choice (r, e, "schedule") == 0 ? LOOM_PIPELINE_GPIPE : LOOM_PIPELINE_1F1B;
  check_pipeline (r, e, spec);
}

gint64
loom_parallel_least (const LoomParallel *parallel)
{
  return MAX (parallel->data, 1) * MAX (parallel->pipeline, 1) * MAX (parallel->tensor, 1) + (parallel->server ? 1 : 0);
}

/* The number of ranks that <parallel> requires; 0: any. */
static gint64
ranks_of (const LoomParallel *parallel)
{
  /* Ranks that are not along the data axis shard the weights. */
  const gboolean divides = !parallel->server && parallel->tensor == 0 && parallel->splits->len > 0;

  return parallel->data == 0 || divides ? 0 : loom_parallel_least (parallel);
}

void
recipe_check_parallel (RecipeReading *r, const LoomTrainSpec *spec)
{
  const LoomElement *e = loom_element_find (r->element, LOOM_TAG_PARALLEL);
  const gint64 ranks = e != NULL ? ranks_of (&spec->parallel) : 0;
  gint64 least;

  if (e == NULL)
    return;
  /* app/shared/train-launch.c uses it. */
  least = (gint64)recipe_number (r, e, "min_ranks");
  if (ranks > 0 && least > ranks)
    {
      g_autofree char *most = g_strdup_printf ("%" G_GINT64_FORMAT, ranks);

      loom_fault_set_fix (recipe_complain (r, e, LOOM_ERROR_SCHEMA, "min_ranks",
                                           "min_ranks is %" PRId64 ", but the run has only %s ranks.", least, most),
                          "min_ranks", most, "Set it to %s or less.", most);
    }
}
