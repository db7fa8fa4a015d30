/* The text of a checkpoint's state.json. */
#include "engine/train/run-state.h"

#include "engine/recipe/loom-attributes.h"

#include <json-glib/json-glib.h>
#include <math.h>

static void
add_int (JsonBuilder *b, const char *name, gint64 value)
{
  json_builder_set_member_name (b, name);
  json_builder_add_int_value (b, value);
}

static void
add_double (JsonBuilder *b, const char *name, double value)
{
  json_builder_set_member_name (b, name);
  if (isfinite (value))
    json_builder_add_double_value (b, value);
  else
    json_builder_add_null_value (b); /* JSON has no NaN */
}

static void
add_string (JsonBuilder *b, const char *name, const char *value)
{
  json_builder_set_member_name (b, name);
  json_builder_add_string_value (b, value);
}

/* The division of the epoch, after the batch size has changed. */
static void
add_division (JsonBuilder *b, const RunState *self, const TrainProgress *progress)
{
  const EpochDivision *d = &progress->division;

  if (d->batch_size == self->model->spec->batch_size && d->sample == 0
      && d->first_step == progress->epoch * self->rates->steps_per_epoch)
    return;
  json_builder_set_member_name (b, "division");
  json_builder_begin_object (b);
  add_int (b, "batch_size", d->batch_size);
  add_int (b, "first_step", d->first_step);
  add_int (b, "place", d->batch);
  add_int (b, "sample", d->sample);
  json_builder_end_object (b);
}

static void
add_schedule (JsonBuilder *b, const LoomSchedule *s, const LoomPlateau *plateau)
{
  json_builder_set_member_name (b, "schedule");
  json_builder_begin_object (b);
  add_string (b, "type", s->klass != NULL ? s->klass->name : loom_attribute (LOOM_TAG_SCHEDULE, "type")->spec.def);
  add_int (b, "warmup_steps", s->warmup_steps);
  for (guint i = 0; s->klass != NULL && s->klass->param[i].name != NULL; i++)
    add_double (b, s->klass->param[i].name, s->param[i]);
  if (s->text != NULL)
    add_string (b, "formula", s->text);
  json_builder_end_object (b);
  if (s->klass == NULL || !s->klass->watches_loss)
    return;
  json_builder_set_member_name (b, "plateau");
  json_builder_begin_object (b);
  add_double (b, "best", plateau->best);
  add_int (b, "bad", plateau->bad);
  add_int (b, "cooldown", plateau->cooldown);
  add_int (b, "reductions", plateau->reductions);
  json_builder_end_object (b);
}

static void
add_watch (JsonBuilder *b, const LoomTrainerWatch *watch)
{
  json_builder_set_member_name (b, "early_stopping");
  json_builder_begin_object (b);
  add_double (b, "best", watch->best);
  add_int (b, "best_epoch", watch->best_epoch);
  add_int (b, "bad", watch->epochs_since_best);
  add_int (b, "over", watch->patience_exhausted);
  json_builder_end_object (b);
}

/* "sum" if there is one statistic, else a list. */
static void
add_metrics (JsonBuilder *b, const MetricSums *m)
{
  json_builder_set_member_name (b, "metrics");
  json_builder_begin_array (b);
  for (guint i = 0; i < m->n; i++)
    {
      json_builder_begin_object (b);
      add_string (b, "name", ((const LoomMetricSpec *)m->spec->metrics->pdata[i])->name);
      if (m->size[i] == 1)
        add_double (b, "sum", m->total[m->at[i]]);
      else
        {
          json_builder_set_member_name (b, "statistics");
          json_builder_begin_array (b);
          for (guint k = 0; k < m->size[i]; k++)
            {
              double value = m->total[m->at[i] + k];
              if (isfinite (value))
                json_builder_add_double_value (b, value);
              else
                json_builder_add_null_value (b);
            }
          json_builder_end_array (b);
        }
      add_double (b, "weight", m->weight[i]);
      json_builder_end_object (b);
    }
  json_builder_end_array (b);
}

/* Every float scalar slot is a current hyper-parameter. */
static gboolean
add_hyper (JsonBuilder *b, const RunState *self, const TrainProgress *progress, GError **error)
{
  LoomState *state = self->model->state;

  json_builder_set_member_name (b, "hyper");
  json_builder_begin_object (b);
  add_double (b, "base_lr", progress->base_lr);
  for (guint i = 0; i < self->rates->n_groups; i++)
    {
      g_autofree char *base = g_strconcat ("base_", self->rates->group[i].slot_name, NULL);
      add_double (b, base, progress->group_lr[i]);
    }
  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      const char *name;
      LoomSlotKind kind;
      LoomTensorDesc desc;
      double value;

      loom_state_slot (state, i, &name, &kind, &desc);
      if (kind != LOOM_SLOT_SCALAR || !loom_dtype_is_float (desc.dtype))
        continue;
      if (!loom_state_get_scalar (state, name, &value, error))
        return FALSE;
      add_double (b, name, value);
    }
  json_builder_end_object (b);
  return TRUE;
}

/* The kernels that the full batch's plan chose: with others, a resumed run may differ in the last bits. */
static void
add_algorithms (JsonBuilder *b, const LoomPlan *plan)
{
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);

  json_builder_set_member_name (b, "algorithms");
  json_builder_begin_array (b);
  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    {
      const LoomKernel *kernel = loom_plan_instr (plan, i)->kernel;

      if (kernel != NULL && kernel->name != NULL && g_hash_table_add (names, (gpointer)kernel->name))
        json_builder_add_string_value (b, kernel->name);
    }
  json_builder_end_array (b);
}

/* The model, threads and libraries of each device, which its name does not include. */
static void
add_devices (JsonBuilder *b, const LoomPlan *plan)
{
  json_builder_set_member_name (b, "devices");
  json_builder_begin_object (b);
  for (guint i = 0; i < loom_plan_n_devices (plan); i++)
    add_string (b, loom_plan_device (plan, i)->name, loom_plan_device (plan, i)->cost_key);
  json_builder_end_object (b);
}

char *
run_state_to_text (const RunState *self, const TrainProgress *progress, gint64 events_length, GError **error)
{
  const TrainModel *model = self->model;
  const LoomTrainSpec *spec = model->spec;
  g_autoptr (JsonBuilder) b = json_builder_new ();

  json_builder_begin_object (b);
  add_int (b, "version", RUN_STATE_VERSION);
  add_int (b, "step", progress->step);
  add_int (b, "epoch", progress->epoch);
  add_int (b, "place", progress->batch);
  add_int (b, "epochs", progress->epochs);
  add_int (b, "batch_size", spec->batch_size);
  add_division (b, self, progress);
  add_int (b, "accumulate", spec->accumulate);
  if (self->data->left_out > 0)
    add_int (b, "left_out", self->data->left_out);
  add_int (b, "seed", (gint64)spec->seed);
  add_string (b, "device", model->device);
  add_int (b, "threads", model->threads);
  add_devices (b, loom_exec_plan (self->plan->exec));
  add_string (b, "cost_table", loom_cost_table_hash (loom_devices_costs (model->devices)));
  add_double (b, "loss_scale", 1);
  add_schedule (b, &spec->schedule, &progress->plateau);
  if (!add_hyper (b, self, progress, error))
    return NULL;
  add_double (b, "loss_sum", progress->loss_sum);
  add_double (b, "sample_sum", progress->sample_sum);
  add_metrics (b, progress->metrics);
  if (spec->keep_best)
    add_watch (b, &progress->watch);
  add_algorithms (b, loom_exec_plan (self->plan->exec));
  if (progress->parent != NULL)
    {
      add_string (b, "parent", progress->parent);
      add_int (b, "parent_step", progress->parent_step);
    }
  add_int (b, "events_length", events_length);
  json_builder_end_object (b);

  g_autoptr (JsonNode) root = json_builder_get_root (b);
  g_autofree char *written = json_to_string (root, TRUE);
  /* json-glib writes 1e-08 as 1e-08.0, which no parser accepts, including its own. */
  g_autoptr (GRegex) wrong = g_regex_new ("(: -?[0-9]+e[-+]?[0-9]+)\\.0(?=[,\n])", 0, 0, NULL);
  return g_regex_replace (wrong, written, -1, 0, "\\1", 0, NULL);
}
