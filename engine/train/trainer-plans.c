/* Planned steps, cached by batch size.
 *
 * A run needs few of them (the full batch and the last short one, for training and for evaluation), so a scan over an
 * array finds one; nothing is looked up by name once it exists. */
#include "engine/program/loom-partition.h"
#include "engine/train/trainer-private.h"

const void *
trainer_feed_data (const TrainerFeed *feed, const LoomTensor *tensor)
{
  if (feed->wide == NULL)
    return tensor->data;
  for (gint64 i = 0; i < tensor->count; i++)
    ((double *)feed->wide->data)[i] = ((const float *)tensor->data)[i];
  return feed->wide->data;
}

static gboolean
widen_feeds (TrainerPlan *plan, GError **error)
{
  LoomProgram *p = plan->step->program;

  for (guint i = 0; i < plan->n_feeds; i++)
    {
      const LoomTensorDesc *desc = &loom_value_info (p, loom_program_get_input (p, plan->feed[i].input)->value)->desc;
      gint64 count = loom_desc_count (desc);
      if (desc->dtype != LOOM_F64)
        continue;
      plan->feed[i].wide = loom_tensor_new (LOOM_F64, 1, &count, error);
      if (plan->feed[i].wide == NULL)
        return FALSE;
    }
  return TRUE;
}

void
trainer_plan_free (TrainerPlan *plan)
{
  if (plan == NULL)
    return;
  for (guint i = 0; i < plan->n_feeds; i++)
    g_clear_pointer (&plan->feed[i].wide, loom_tensor_unref);
  loom_exec_free (plan->exec);
  loom_step_free (plan->step);
  g_free (plan->term_sum);
  g_free (plan->term_count);
  g_free (plan->metric);
  g_free (plan->feed);
  g_free (plan);
}

gboolean
trainer_plan_feeds (LoomTrainer *t, LoomProgram *program, guint *n_feeds, TrainerFeed **feeds, GError **error)
{
  guint n = loom_program_n_inputs (program);
  g_autofree TrainerFeed *feed = g_new0 (TrainerFeed, MAX (n, 1));

  for (guint i = 0; i < n; i++)
    {
      const char *name = loom_program_get_input (program, i)->name;
      guint port = 0;
      guint n_ports = loom_dataset_info (t->dataset)->n_ports;
      while (port < n_ports && g_strcmp0 (t->port_name[port], name) != 0)
        port++;
      if (port == n_ports)
        {
          g_set_error (
              error, LOOM_ERROR, LOOM_ERROR_PORT,
              "The loss needs “%s”, which no data set provides. Wire a dataset node to it, or make it a parameter or "
              "a constant.",
              name);
          return FALSE;
        }
      feed[i] = (TrainerFeed){ .input = i, .port = port };
    }
  *n_feeds = n;
  *feeds = g_steal_pointer (&feed);
  return TRUE;
}

static guint
find_output (LoomExec *exec, const char *name)
{
  int i = loom_exec_find_output (exec, name);
  g_assert (i >= 0);
  return i;
}

gboolean
trainer_has_averages (LoomTrainer *t)
{
  return t->spec->ema > 0 && loom_state_get_scalar (t->state, "step") > 0;
}

static gboolean
has_slot (gpointer state, const char *slot)
{
  return loom_state_find (state, slot) >= 0;
}

void
trainer_use_averages (LoomTrainer *t, LoomProgram *program)
{
  loom_step_use_averages (program, has_slot, t->state);
}

/* Of a parameter server ranks tell their losses as they push. */
static gboolean
tells_own (const LoomTrainer *t)
{
  return t->server == NULL && (t->look.on & TRAINER_LOOK_LOSSES) != 0;
}

static TrainerPlan *
plan_new (LoomTrainer *t, gint64 batch, gboolean training, gboolean averaged, GError **error)
{
  TrainerPlan *plan = g_new0 (TrainerPlan, 1);
  gboolean alone = training && t->server != NULL; /* its gradients are pushed */
  LoomPlanOptions options = { .device = t->device,
                              .mesh = alone ? NULL : trainer_mesh (t),
                              .strict_devices = loom_graph_strict_devices (t->graph) };

  plan->step = loom_step_new (t->graph, t->spec, batch, training, error);
  if (plan->step == NULL)
    goto fail;
  plan->averaged = averaged;
  plan->tells = plan->step->tells = training && tells_own (t);
  if (averaged)
    trainer_use_averages (t, plan->step->program);
  if (!alone && !trainer_divide_step (t, plan->step, error))
    goto fail;
  LoomPlan *p = loom_plan_new (plan->step->program, t->devices, &options, error);
  if (p == NULL)
    goto fail;
  plan->exec = loom_exec_new (p, t->state, error);
  if (plan->exec == NULL)
    goto fail;
  if (!trainer_plan_feeds (t, plan->step->program, &plan->n_feeds, &plan->feed, error) || !widen_feeds (plan, error))
    goto fail;

  plan->loss = find_output (plan->exec, "loss");
  plan->own = plan->tells ? loom_exec_find_output (plan->exec, LOOM_PARTITION_LOCAL) : -1;
  if (training)
    {
      plan->finite = find_output (plan->exec, "finite");
      plan->grad_norm = find_output (plan->exec, "grad_norm");
    }
  plan->term_sum = g_new0 (guint, MAX (1, plan->step->n_terms));
  plan->term_count = g_new0 (guint, MAX (1, plan->step->n_terms));
  for (guint i = 0; i < plan->step->n_terms; i++)
    {
      g_autofree char *sum = g_strdup_printf (LOOM_STEP_SUM "%u", i),
                      *count = g_strdup_printf (LOOM_STEP_COUNT "%u", i);
      plan->term_sum[i] = find_output (plan->exec, sum);
      plan->term_count[i] = plan->step->is_counted[i] ? find_output (plan->exec, count) : 0;
    }
  plan->metric = g_new0 (guint, MAX (1, plan->step->n_metrics));
  for (guint i = 0; i < plan->step->n_metrics; i++)
    {
      const LoomMetricSpec *m = t->spec->metrics->pdata[i];
      g_autofree char *name = g_strdup_printf ("metric.%s", m->name);
      plan->metric[i] = find_output (plan->exec, name);
    }
  return plan;

fail:
  trainer_plan_free (plan);
  return NULL;
}

/* To the observer; before there is one, to the trainer's notes. */
static void
tell_note (LoomTrainer *t, const char *note)
{
  if (t->observer.note != NULL)
    t->observer.note (t, note, t->observer_data);
  else
    trainer_note (t, "%s", note);
}

static void
take_notes (LoomTrainer *t)
{
  g_autofree char *note = loom_cost_table_take_note (loom_devices_costs (t->devices));

  if (note != NULL)
    tell_note (t, note);
}

void
trainer_tell_link (LoomTrainer *t, const TrainerPlan *plan)
{
  const char *why = loom_plan_why_via_host (loom_exec_plan (plan->exec));

  t->link_told = TRUE;
  if (why == NULL)
    return;
  g_autofree char *note
      = g_strdup_printf ("Stages exchange values through host memory, which is slower than from GPU to GPU: %s.", why);
  tell_note (t, note);
}

static TrainerPlan *
find (const LoomTrainer *t, gint64 batch, gboolean training, gboolean averaged)
{
  const GPtrArray *plans = training ? t->plans : t->eval_plans;
  const gboolean tells = training && tells_own (t);

  for (guint i = 0; i < plans->len; i++)
    {
      TrainerPlan *plan = plans->pdata[i];
      if (plan->step->batch == batch && plan->averaged == averaged && plan->tells == tells)
        return plan;
    }
  return NULL;
}

gboolean
trainer_plan_exists (const LoomTrainer *t, gint64 batch)
{
  return find (t, batch, TRUE, FALSE) != NULL;
}

/* The batch that a user chose: that of the first plan, which may be this one. */
static gint64
usual_batch (const LoomTrainer *t, gint64 batch)
{
  return t->plans->len > 0 ? ((TrainerPlan *)t->plans->pdata[0])->step->batch : batch;
}

TrainerPlan *
trainer_plan_get (LoomTrainer *t, gint64 batch, gboolean training, GError **error)
{
  GPtrArray *plans = training ? t->plans : t->eval_plans;
  gboolean averaged = !training && trainer_has_averages (t);
  TrainerPlan *plan = find (t, batch, training, averaged);

  if (plan != NULL)
    return plan;
  plan = plan_new (t, batch, training, averaged, error);
  take_notes (t);
  if (plan == NULL)
    trainer_explain_room (t, usual_batch (t, batch), error);
  if (plan != NULL)
    {
      g_ptr_array_add (plans, plan);
      trainer_memory_ask (t);
      if (t->observer.memory != NULL)
        t->observer.memory (t, t->observer_data);
    }
  return plan;
}

gboolean
trainer_plan_update (LoomTrainer *t, GError **error)
{
  LoomPlanOptions options = { .device = t->device,
                              .mesh = t->server != NULL ? NULL : trainer_mesh (t),
                              .strict_devices = loom_graph_strict_devices (t->graph) };

  t->weight_slot = loom_state_find (t->state, "accumulate_weight");
  t->first_slot = loom_state_find (t->state, "accumulate_first");
  t->rng_slot = loom_state_find (t->state, LOOM_STEP_RNG);
  /* Of a parameter server, states of the optimiser are on rank 0 alone. */
  if ((t->spec->accumulate == 1 && !t->spec->gathers) || (t->server != NULL && t->comm->rank > 0))
    return TRUE;
  LoomPlan *plan = loom_plan_new (((TrainerPlan *)t->plans->pdata[0])->step->update, t->devices, &options, error);
  take_notes (t);
  t->update = plan != NULL ? loom_exec_new (plan, t->state, error) : NULL;
  if (t->update == NULL)
    {
      trainer_explain_room (t, usual_batch (t, 0), error);
      return FALSE;
    }
  trainer_memory_ask (t);
  t->update_norm = find_output (t->update, "grad_norm");
  t->rollback = trainer_rollback_new (((TrainerPlan *)t->plans->pdata[0])->step->program, t->place.metrics);
  return TRUE;
}
