/* Builds the program of one step from a graph and its <train>.
 *
 * The order is fixed, because all later code prints or measures it: forward, metrics, backward, update. Metrics come
 * before the backward pass so that they read the same logits and the planner can free these early. */
#include "engine/train/loom-step.h"

#include "engine/core/loom-refuse.h"
#include "engine/net/loom-net-since.h"
#include "engine/program/loom-optimizer.h"
#include "engine/program/loom-slot-names.h"
#include "engine/train/loom-driver.h"
#include "engine/program/loom-loss-terms.h"

void
loom_step_free (LoomStep *step)
{
  if (step == NULL)
    return;
  g_clear_pointer (&step->program, loom_program_unref); /* NULL if lowering failed */
  g_clear_pointer (&step->update, loom_program_unref);
  loom_net_free (step->net);
  g_free (step->is_counted);
  g_free (step->metric_count);
  g_free (step->metric_size);
  g_free (step);
}

static gboolean
gathers (const LoomTrainSpec *spec)
{
  return spec->accumulate > 1 || spec->gathers;
}

gboolean
loom_step_trains (const LoomProgram *p, int slot, const LoomTrainSpec *spec)
{
  const LoomSlot *s = loom_program_get_slot (p, (guint)slot);

  return s->kind == LOOM_SLOT_PARAMETER && s->trainable && s->read != 0 && !loom_train_spec_freezes (spec, s->name);
}

gboolean
loom_step_parameter_gradients (LoomProgram *p, LoomValue of, LoomValue seed, const LoomTrainSpec *spec, GArray **slots,
                               GArray **grads, GError **error)
{
  g_autoptr (GArray) slot_of = g_array_new (FALSE, FALSE, sizeof (int));
  g_autoptr (GArray) wrt = g_array_new (FALSE, FALSE, sizeof (LoomValue));

  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      if (!loom_step_trains (p, (int)i, spec))
        continue;
      int index = i;
      LoomValue value = loom_program_get_slot (p, i)->read;
      g_array_append_val (slot_of, index);
      g_array_append_val (wrt, value);
    }

  g_autoptr (GArray) result = g_array_sized_new (FALSE, TRUE, sizeof (LoomValue), wrt->len);
  g_array_set_size (result, wrt->len);
  if (wrt->len > 0
      && !loom_differentiate (p, of, seed, wrt->len, (const LoomValue *)wrt->data, (LoomValue *)result->data, error))
    return FALSE;
  *slots = g_steal_pointer (&slot_of);
  *grads = g_steal_pointer (&result);
  return TRUE;
}

gboolean
loom_step_emit_update (LoomProgram *p, const LoomTrainSpec *spec, LoomValue loss, guint n, const int *slot,
                       const LoomValue *grad, GError **error)
{
  g_autofree guint *group_of = g_new0 (guint, n + 1);
  g_autofree LoomUpdateGroup *groups = g_new0 (LoomUpdateGroup, spec->groups->len + 1);

  for (guint i = 0; i < n; i++)
    group_of[i] = loom_train_spec_group_of (spec, loom_program_get_slot (p, (guint)slot[i])->name);
  for (guint i = 0; i < spec->groups->len; i++)
    {
      const LoomTrainGroup *group = spec->groups->pdata[i];
      groups[i] = (LoomUpdateGroup){ .prefix = group->prefix, .own = group->own, .hyper = group->hyper };
    }
  LoomUpdateOptions options = {
    .optimizer = spec->optimizer->name,
    .hyper = spec->hyper,
    .clip_norm = spec->clip_norm,
    .clip_value = spec->clip_value,
    .groups = groups,
    .group_of = group_of,
    .loss = loss,
    .state_device = spec->offload ? spec->precision == LOOM_F64 ? "ref" : "cpu" : NULL,
  };
  loom_program_set_region (p, LOOM_REGION_UPDATE);
  if (spec->precision == LOOM_F16)
    loom_loss_scale (p); /* tells the update that an overflow is no fault */
  if (!loom_emit_update (p, &options, n, slot, grad, error))
    return FALSE;
  if (spec->precision == LOOM_F16)
    loom_loss_scale_update (p, loom_program_find_output (p, "finite"),
                            loom_program_find_output (p, LOOM_OUTPUT_NO_FAULT));
  if (spec->ema > 0)
    loom_emit_average (p, spec->ema);
  return TRUE;
}

/* The gradients of a term with respect to all updated parameters; none is 0. */
static gboolean
trained_gradients (LoomProgram *p, const LoomTrainSpec *spec, LoomValue of, GArray *slots, GArray *grads,
                   GError **error)
{
  gboolean scaled = spec->precision == LOOM_F16;
  g_autoptr (GArray) all_slots = NULL, all_grads = NULL;

  if (spec->optimizer->takes_no_gradients)
    return TRUE;
  if (!loom_step_parameter_gradients (p, of, scaled ? loom_loss_scale (p) : 0, spec, &all_slots, &all_grads, error))
    return FALSE;
  for (guint i = 0; i < all_grads->len; i++)
    /* A parameter that the graph assigns to is not updated by the optimiser. */
    if (g_array_index (all_grads, LoomValue, i) != 0
        && loom_program_get_slot (p, (guint)g_array_index (all_slots, int, i))->commit == 0)
      {
        int slot = g_array_index (all_slots, int, i);
        g_array_append_val (slots, slot);
        LoomValue grad = g_array_index (all_grads, LoomValue, i);
        if (scaled)
          grad = loom_loss_unscale (p, grad);
        g_array_append_val (grads, grad);
      }
  return TRUE;
}

static gboolean
depends_on_nothing (GError **error)
{
  return loom_refuse (
      error, LOOM_ERROR_SHAPE,
      "The loss depends on no trainable weight. Wire a layer with weights between the data and the loss.");
}

/* Each term with a count of its own has a separate backward pass and sums, because the counts of the step's other
 * batches are not known yet. */
static gboolean
append_accumulate (LoomProgram *p, const LoomTrainSpec *spec, LoomValue loss, const GArray *terms, GError **error)
{
  const LoomLossTerm whole = { .sum = loss };
  const guint n = terms != NULL ? terms->len : 1;
  g_autoptr (GPtrArray) arrays = g_ptr_array_new_with_free_func ((GDestroyNotify)g_array_unref);
  g_autofree LoomAccumulate *of = g_new0 (LoomAccumulate, n);
  guint n_grads = 0;
  LoomValue all = 0;

  for (guint t = 0; t < n; t++)
    {
      const LoomLossTerm *term = terms != NULL ? &g_array_index (terms, LoomLossTerm, t) : &whole;
      GArray *slots = g_array_new (FALSE, FALSE, sizeof (int)), *grads = g_array_new (FALSE, FALSE, sizeof (LoomValue));

      g_ptr_array_add (arrays, slots);
      g_ptr_array_add (arrays, grads);
      if (!trained_gradients (p, spec, term->sum, slots, grads, error))
        return FALSE;
      of[t] = (LoomAccumulate){ slots->len, (const int *)slots->data, (const LoomValue *)grads->data, term->count };
      n_grads += slots->len;
      all = t == 0 ? term->sum : loom_binary (p, LOOM_SCALAR_ADD, all, term->sum);
    }
  if (n_grads == 0)
    return depends_on_nothing (error);
  loom_emit_accumulate (p, all, n, of);
  return TRUE;
}

static gboolean
append_update (LoomProgram *p, const LoomTrainSpec *spec, LoomValue loss, const GArray *terms, GError **error)
{
  const LoomDriver *driver = loom_driver (spec->optimizer->name);
  g_autoptr (GArray) slots = g_array_new (FALSE, FALSE, sizeof (int));
  g_autoptr (GArray) grads = g_array_new (FALSE, FALSE, sizeof (LoomValue));

  if (driver == NULL && gathers (spec))
    return append_accumulate (p, spec, loss, terms, error);
  if (!trained_gradients (p, spec, loss, slots, grads, error))
    return FALSE;
  if (slots->len == 0 && !spec->optimizer->takes_no_gradients)
    return depends_on_nothing (error);

  const int *slot = (const int *)slots->data;
  const LoomValue *grad = (const LoomValue *)grads->data;
  if (driver == NULL)
    return loom_step_emit_update (p, spec, loss, slots->len, slot, grad, error);
  loom_emit_gradients (p, spec->optimizer, spec->hyper, loss, slots->len, slot, grad);
  return driver->extend (p, spec, slots->len, slot, grad, error);
}

/* The update of a step that accumulates; it does not depend on the size of its batches. */
static LoomProgram *
update_program (const LoomStep *step, const LoomTrainSpec *spec, GError **error)
{
  const LoomProgram *from = step->program;
  g_autoptr (LoomProgram) p = loom_program_new ();
  g_autoptr (GArray) slots = g_array_new (FALSE, FALSE, sizeof (int));
  g_autoptr (GArray) grads = g_array_new (FALSE, FALSE, sizeof (LoomValue));

  loom_program_set_float (p, loom_program_get_float (from));
  loom_program_set_tf32 (p, loom_program_get_tf32 (from));
  loom_accumulated_gradients (p, from, slots, grads);
  if (!loom_step_emit_update (p, spec, 0, slots->len, (const int *)slots->data, (const LoomValue *)grads->data, error))
    return NULL;
  return g_steal_pointer (&p);
}

void
loom_step_use_averages (LoomProgram *p, gboolean (*has) (gpointer data, const char *slot), gpointer data)
{
  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);
      g_autofree char *average = g_strconcat (LOOM_SLOT_EMA, slot->name, NULL);
      if (slot->kind == LOOM_SLOT_PARAMETER && has (data, average))
        loom_program_rename_slot (p, (int)i, average);
    }
}

static gboolean
append_metrics (LoomStep *step, const LoomTrainSpec *spec, const LoomValue *value, GError **error)
{
  LoomProgram *p = step->program;

  step->n_metrics = spec->metrics->len;
  step->metric_count = g_new0 (gint64, MAX (1, step->n_metrics));
  step->metric_size = g_new0 (guint, MAX (1, step->n_metrics));
  for (guint i = 0; i < spec->metrics->len; i++)
    {
      const LoomMetricSpec *m = spec->metrics->pdata[i];
      const LoomMetric *metric = m->metric;
      g_autofree char *why = NULL;
      LoomTensorDesc input = loom_value_info (p, value[2 * i])->desc;
      LoomTensorDesc target = loom_value_info (p, value[2 * i + 1])->desc;
      if (!metric->check (&m->options, &input, &target, &why))
        return loom_refuse (error, LOOM_ERROR_SHAPE, "Metric “%s” cannot be computed: %s.", m->name, why);
      step->metric_count[i] = metric->count (&input, &target);
      step->metric_size[i] = loom_metric_size (metric, &input, &target);
      g_autofree char *name = g_strdup_printf ("metric.%s", m->name);
      loom_program_output (p, name, metric->emit (p, &m->options, value[2 * i], value[2 * i + 1]));
    }
  return TRUE;
}

/* Batches of a program are combined: those of an evaluation, and of a step that has several. With staleness each push
 * is a step, independent of other ranks' counts. */
static gboolean
joins_batches (const LoomTrainSpec *spec, gboolean training)
{
  return !training || (gathers (spec) && spec->parallel.staleness == 0);
}

static void
output_terms (LoomStep *step, const GArray *terms)
{
  step->n_terms = terms != NULL ? terms->len : 0;
  step->is_counted = g_new0 (gboolean, MAX (1, step->n_terms));
  for (guint t = 0; t < step->n_terms; t++)
    {
      const LoomLossTerm *term = &g_array_index (terms, LoomLossTerm, t);
      g_autofree char *sum = g_strdup_printf (LOOM_STEP_SUM "%u", t),
                      *count = g_strdup_printf (LOOM_STEP_COUNT "%u", t);

      loom_program_output (step->program, sum, term->sum);
      step->is_counted[t] = term->count != 0;
      if (term->count != 0)
        loom_program_output (step->program, count, term->count);
    }
}

static void
replace_program (LoomStep *step, LoomProgram *program)
{
  loom_program_unref (step->program);
  step->program = program;
}

int
loom_step_microbatches (const LoomTrainSpec *spec, gint64 batch, int replicas)
{
  int wanted = spec->parallel.microbatches;

  /* Also for replicas whose shards differ by a sample: they make the same passes, in the same order. A batch with fewer
   * samples than replicas is computed whole by each of them. */
  return (int)CLAMP (wanted > 0 ? wanted : 4 * spec->parallel.pipeline, 1,
                     batch >= replicas ? batch / replicas : batch);
}

/* Replaces both programs by a stage's part. */
static gboolean
divide_stages (LoomStep *step, const LoomTrainSpec *spec, const LoomMesh *mesh, GError **error)
{
  const LoomParallel *parallel = &spec->parallel;
  const int replicas = mesh->size[LOOM_MESH_DATA];
  LoomPipeline pipeline
      = { .samples = step->batch < replicas ? step->batch
                                            : loom_comm_shard (step->batch, mesh->at[LOOM_MESH_DATA], replicas).count,
          .micros = loom_step_microbatches (spec, step->batch, replicas),
          .stage = mesh->at[LOOM_MESH_PIPELINE],
          .kind = parallel->schedule,
          .stages = parallel->stages };
  LoomProgram *p = loom_program_pipeline (step->program, &pipeline, error), *update;

  if (p == NULL)
    return FALSE;
  replace_program (step, p);
  if (step->update == NULL)
    return TRUE;
  update = loom_program_pipeline (step->update, &pipeline, error);
  if (update == NULL)
    return FALSE;
  loom_program_unref (step->update);
  step->update = update;
  return TRUE;
}

static void
divide (LoomStep *step, const LoomPartition *partition)
{
  if (partition->ranks == 1)
    return;
  replace_program (step, loom_program_partition (step->program, partition));
  if (step->update == NULL)
    return;
  LoomProgram *update = loom_program_partition (step->update, partition);
  loom_program_unref (step->update);
  step->update = update;
}

gboolean
loom_step_divide (LoomStep *step, const LoomTrainSpec *spec, const LoomMesh *mesh, GError **error)
{
  const LoomParallel *parallel = &spec->parallel;
  g_autofree LoomSplitWeight *splits = g_new0 (LoomSplitWeight, parallel->splits->len + 1);
  LoomPartition weights = { .along = LOOM_MESH_TENSOR,
                            .rank = mesh->at[LOOM_MESH_TENSOR],
                            .ranks = mesh->size[LOOM_MESH_TENSOR],
                            .splits = splits,
                            .n_splits = parallel->splits->len,
                            .bucket = (gsize)(parallel->bucket_mb * 1e6) };
  LoomPartition samples = { .along = LOOM_MESH_DATA,
                            .samples = step->batch,
                            .rank = mesh->at[LOOM_MESH_DATA],
                            .ranks = mesh->size[LOOM_MESH_DATA],
                            .shards = parallel->shards,
                            .bucket = (gsize)(parallel->bucket_mb * 1e6),
                            .bf16 = parallel->reduce_bf16,
                            .sync_batch_norm = parallel->sync_batch_norm,
                            /* A stage of a pipeline would broadcast it to all others. */
                            .local_output = step->reports_own && mesh->size[LOOM_MESH_PIPELINE] == 1 ? "loss" : NULL };

  for (guint i = 0; i < parallel->splits->len; i++)
    splits[i] = ((const LoomTrainSplit *)parallel->splits->pdata[i])->split;
  if (mesh->size[LOOM_MESH_PIPELINE] > 1
      && !(loom_stages_assign_slots (parallel->stages, step->program, error)
           && (step->update == NULL || loom_stages_assign_slots (parallel->stages, step->update, error))))
    return FALSE;
  divide (step, &weights);
  divide (step, &samples);
  return mesh->size[LOOM_MESH_PIPELINE] == 1 || divide_stages (step, spec, mesh, error);
}

/* The ports of the loss, then of input and target of each metric. (transfer full) */
static LoomNetSource *
wanted_of (const LoomTrainSpec *spec, guint *n)
{
  LoomNetSource *wanted = g_new0 (LoomNetSource, 1 + 2 * spec->metrics->len);

  *n = 1 + 2 * spec->metrics->len;
  wanted[0] = spec->loss;
  for (guint i = 0; i < spec->metrics->len; i++)
    {
      const LoomMetricSpec *m = spec->metrics->pdata[i];
      wanted[1 + 2 * i] = m->input;
      wanted[2 + 2 * i] = m->target;
    }
  return wanted;
}

/* The net of the spec for batches of this size. NULL: the graph has changed since the spec was read, which counts its
 * nodes. */
static LoomNet *
bind_net (const LoomTrainSpec *spec, gint64 batch, LoomFaults *faults)
{
  LoomBinding binding = { 0 };

  binding.value['B' - 'A'] = batch;
  return loom_net_graph_version (spec->net) == loom_graph_version (spec->graph)
             ? loom_net_bind (spec->net, spec->graph, &binding, faults)
             : NULL;
}

char *
loom_step_lone (const LoomTrainSpec *spec, gint64 batch)
{
  LoomLowerOptions options = { .training = TRUE, .effects = TRUE };
  g_autofree LoomNetSource *wanted = wanted_of (spec, &options.n_wanted);

  options.wanted = wanted;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = bind_net (spec, batch, faults);
  int node = net != NULL ? loom_net_find_untrainable (net, &options) : -1;
  return node < 0 ? NULL : g_strdup (loom_net_node (net, (guint)node)->path);
}

LoomStep *
loom_step_new (const LoomTrainSpec *spec, gint64 batch, gboolean training, GError **error)
{
  g_autoptr (LoomStep) step = g_new0 (LoomStep, 1);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  guint n_wanted;
  g_autofree LoomNetSource *wanted = wanted_of (spec, &n_wanted);
  g_autofree LoomValue *value = g_new0 (LoomValue, n_wanted);

  step->batch = batch;
  step->net = bind_net (spec, batch, faults);
  if (step->net == NULL)
    return loom_refuse_null (error, LOOM_ERROR_USAGE,
                             "The graph has changed since its recipe was read. Read the recipe again.");
  if (!loom_faults_to_error (faults, NULL, error))
    return NULL;

  LoomLowerOptions options = {
    .training = training,
    .effects = training,
    .float_dtype = spec->precision == LOOM_F64 ? LOOM_F64 : LOOM_F32,
    .n_wanted = n_wanted,
    .wanted = wanted,
    .seed = spec->seed,
    .carry = { .prefix = !spec->stateful ? NULL
                         : training      ? LOOM_SLOT_CARRY
                                         : LOOM_SLOT_CARRY_EVALUATE },
    .allow_untrainable = spec->epochs == 0,
    .keep_all = spec->keep_all,
    .direct = spec->direct,
    .tf32 = spec->tf32,
    .rng_step = training && gathers (spec) ? LOOM_STEP_RNG : NULL,
  };
  step->program = loom_lower (step->net, &options, value, error);
  if (step->program == NULL)
    return NULL;

  /* f64 is for close examination, so everything is computed in it. */
  if (spec->precision != LOOM_F64
      && (spec->precision != LOOM_F32 || g_hash_table_size (loom_net_dtypes (step->net)) > 0))
    replace_program (
        step, loom_program_autocast (step->program, spec->precision, loom_net_dtypes (step->net), n_wanted, value));
  /* After mixed precision: a weight's 16-bit copy leaves the loop, too. */
  replace_program (step, loom_program_hoist (step->program, n_wanted, value));
  LoomProgram *p = step->program;
  loom_program_set_origin (p, NULL, NULL);
  LoomTensorDesc desc = loom_value_info (p, value[0])->desc;
  if (loom_desc_count (&desc) != 1)
    return loom_refuse_null (error, LOOM_ERROR_SHAPE,
                             "The loss must be a scalar, but it has %" G_GINT64_FORMAT
                             " elements. Put a “mean” or a “sum” "
                             "after it.",
                             (gint64)loom_desc_count (&desc));
  LoomValue loss = desc.rank == 0 ? value[0] : loom_reshape (p, value[0], 0, NULL);
  loom_program_output (p, "loss", loss);
  g_autoptr (GArray) terms = joins_batches (spec, training) ? loom_loss_terms_new (p, loss) : NULL;
  output_terms (step, terms);
  if (!append_metrics (step, spec, value + 1, error))
    return NULL;
  if (training && !append_update (p, spec, loss, terms, error))
    return NULL;
  if (training && !spec->keep_all && g_hash_table_size (loom_net_recomputed (step->net)) > 0)
    replace_program (step, loom_program_recompute (p, loom_net_recomputed (step->net)));
  if (training && gathers (spec))
    {
      step->update = update_program (step, spec, error);
      if (step->update == NULL)
        return NULL;
    }
  return g_steal_pointer (&step);
}
