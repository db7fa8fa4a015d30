/* Writes a checkpoint's state.json: the place between two steps, and all that is in no slot of the state. */
#include "engine/train/trainer-private.h"

#include <json-glib/json-glib.h>

#include "engine/core/loom-atomic-file.h"
#include "engine/recipe/loom-attributes.h"

#include <math.h>
#include <string.h>

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
    json_builder_add_null_value (b); /* JSON has no other word for it */
}

static void
add_string (JsonBuilder *b, const char *name, const char *value)
{
  json_builder_set_member_name (b, name);
  json_builder_add_string_value (b, value);
}

static void
add_schedule (JsonBuilder *b, const LoomSchedule *s, const LoomPlateau *seen)
{
  json_builder_set_member_name (b, "schedule");
  json_builder_begin_object (b);
  add_string (b, "type", s->klass != NULL ? s->klass->name : loom_attribute (LOOM_TAG_SCHEDULE, "type")->spec.def);
  add_int (b, "warmup_steps", s->warmup_steps);
  for (guint i = 0; s->klass != NULL && s->klass->param[i].name != NULL; i++)
    add_double (b, s->klass->param[i].name, s->param[i]);
  json_builder_end_object (b);
  if (s->klass == NULL || !s->klass->watches_loss)
    return;
  json_builder_set_member_name (b, "plateau");
  json_builder_begin_object (b);
  add_double (b, "best", seen->best);
  add_int (b, "bad", seen->bad);
  add_int (b, "cooldown", seen->cooldown);
  add_int (b, "reductions", seen->reductions);
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

/* "sum" where there is one statistic, a list of all where there are more. */
static void
add_metrics (JsonBuilder *b, LoomTrainer *t)
{
  const TrainerMetrics *m = t->place.metrics;

  json_builder_set_member_name (b, "metrics");
  json_builder_begin_array (b);
  for (guint i = 0; i < m->n; i++)
    {
      json_builder_begin_object (b);
      add_string (b, "name", t->metric_name[i]);
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

/* Every float scalar slot is a hyper-parameter in force. */
static void
add_hyper (JsonBuilder *b, LoomTrainer *t)
{
  json_builder_set_member_name (b, "hyper");
  json_builder_begin_object (b);
  add_double (b, "base_lr", t->place.base_lr);
  for (guint i = 0; i < t->rates.n_groups; i++)
    {
      g_autofree char *base = g_strconcat ("base_", t->rates.group[i].slot_name, NULL);
      add_double (b, base, t->place.group_lr[i]);
    }
  for (guint i = 0; i < loom_state_n_slots (t->state); i++)
    {
      const char *name;
      LoomSlotKind kind;
      LoomTensorDesc desc;
      loom_state_slot (t->state, i, &name, &kind, &desc);
      if (kind == LOOM_SLOT_SCALAR && loom_dtype_is_float (desc.dtype))
        add_double (b, name, loom_state_get_scalar (t->state, name));
    }
  json_builder_end_object (b);
}

/* The kernels that the full batch's plan chose: a resumed run with others may differ in the last bits. */
static void
add_algorithms (JsonBuilder *b, LoomTrainer *t)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  json_builder_set_member_name (b, "algorithms");
  json_builder_begin_array (b);
  if (t->plans->len > 0)
    {
      const LoomPlan *plan = loom_exec_plan (((TrainerPlan *)t->plans->pdata[0])->exec);
      for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
        {
          const LoomKernel *kernel = loom_plan_instr (plan, i)->kernel;
          if (kernel != NULL && kernel->name != NULL && g_hash_table_add (seen, (gpointer)kernel->name))
            json_builder_add_string_value (b, kernel->name);
        }
    }
  json_builder_end_array (b);
}

/* Model, threads and libraries of each device: its name alone does not say them. */
static void
add_devices (JsonBuilder *b, LoomTrainer *t)
{
  json_builder_set_member_name (b, "devices");
  json_builder_begin_object (b);
  if (t->plans->len > 0)
    {
      const LoomPlan *plan = loom_exec_plan (((TrainerPlan *)t->plans->pdata[0])->exec);
      for (guint i = 0; i < loom_plan_n_devices (plan); i++)
        add_string (b, loom_plan_device (plan, i)->name, loom_plan_device (plan, i)->cost_key);
    }
  json_builder_end_object (b);
}

gboolean
trainer_state_write (LoomTrainer *t, LoomFolder *folder, const char *name, GError **error)
{
  g_autoptr (JsonBuilder) b = json_builder_new ();

  json_builder_begin_object (b);
  add_int (b, "version", 1);
  add_int (b, "step", t->place.step);
  add_int (b, "epoch", t->place.epoch);
  add_int (b, "place", t->place.batch);
  add_int (b, "batch_size", t->spec->batch_size);
  add_int (b, "accumulate", t->spec->accumulate);
  if (t->left_out > 0)
    add_int (b, "left_out", t->left_out);
  add_int (b, "seed", (gint64)t->spec->seed);
  add_string (b, "device", t->device);
  add_int (b, "threads", t->threads);
  add_devices (b, t);
  add_string (b, "cost_table", loom_cost_table_hash (loom_devices_costs (t->devices)));
  add_double (b, "loss_scale", 1);
  add_schedule (b, &t->spec->schedule, &t->place.plateau);
  add_hyper (b, t);
  add_double (b, "loss_sum", t->place.loss_sum);
  add_double (b, "sample_sum", t->place.sample_sum);
  add_metrics (b, t);
  if (t->spec->keep_best)
    add_watch (b, &t->place.watch);
  add_algorithms (b, t);
  add_int (b, "events_length", t->place.events_length);
  json_builder_end_object (b);

  g_autoptr (JsonNode) root = json_builder_get_root (b);
  g_autofree char *written = json_to_string (root, TRUE);
  /* json-glib writes 1e-08 as 1e-08.0, which no parser accepts, its own included. */
  g_autoptr (GRegex) wrong = g_regex_new ("(: -?[0-9]+e[-+]?[0-9]+)\\.0(?=[,\n])", 0, 0, NULL);
  g_autofree char *text = g_regex_replace (wrong, written, -1, 0, "\\1", 0, NULL);
  return loom_folder_replace (folder, name, text, strlen (text), error);
}
