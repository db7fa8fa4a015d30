/* Reads <schedule>: its class, that class's parameters, and the common ones. */
#include "engine/recipe/recipe-private.h"

#include <math.h>
#include <string.h>

static void
read_milestones (RecipeReading *r, const LoomElement *e, LoomSchedule *schedule)
{
  const char *text = loom_element_get (e, "milestones");
  g_auto (GStrv) parts = g_strsplit (text != NULL ? text : "", ",", -1);
  guint n = g_strv_length (parts);
  gint64 last = 0;

  schedule->milestone = g_new0 (gint64, n + 1);
  for (guint i = 0; i < n; i++)
    {
      guint64 value;

      if (!g_ascii_string_to_unsigned (g_strstrip (parts[i]), 10, 0, G_MAXINT64, &value, NULL) || (gint64)value < last)
        {
          n = 0;
          break;
        }
      last = schedule->milestone[i] = (gint64)value;
    }
  schedule->n_milestones = n;
  if (n == 0)
    recipe_complain (r, e, LOOM_ERROR_SCHEMA, "milestones",
                     "the schedule “%s” needs milestones, whole numbers in ascending order, such as “30,80”.",
                     schedule->klass->name);
}

static void
check_attributes (RecipeReading *r, const LoomElement *e, const LoomScheduleClass *klass)
{
  g_autoptr (GPtrArray) known = recipe_names (LOOM_TAG_SCHEDULE, 0);
  guint milestones;

  if (!klass->has_milestones && g_ptr_array_find_with_equal_func (known, "milestones", g_str_equal, &milestones))
    g_ptr_array_remove_index (known, milestones);
  for (guint i = 0; klass->param[i].name != NULL; i++)
    {
      g_ptr_array_add (known, (gpointer)klass->param[i].name);
      if (klass->param[i].alias != NULL)
        g_ptr_array_add (known, (gpointer)klass->param[i].alias);
    }
  recipe_check_names (r, e, known, NULL);
}

static double
read_param (RecipeReading *r, const LoomElement *e, const LoomScheduleClass *klass, const LoomScheduleParam *param,
            double lr)
{
  const char *name = param->name;
  double value;

  if (loom_element_get (e, name) == NULL && param->alias != NULL && loom_element_get (e, param->alias) != NULL)
    name = param->alias;
  if (loom_element_get (e, name) == NULL)
    {
      if (param->required)
        recipe_complain (r, e, LOOM_ERROR_SCHEMA, name, "the schedule “%s” needs %s: %s.", klass->name, name,
                         param->doc);
      return param->value;
    }
  if (param->choices != NULL)
    return recipe_choice_or (r, e, name, (guint)param->value, param->choices);
  value = recipe_number_in (r, e, name, param->value, param->minimum, param->maximum, param->whole);
  if (!param->of_lr)
    return value;
  if (!(lr > 0))
    recipe_complain (r, e, LOOM_ERROR_SCHEMA, name, "%s needs a learning rate above 0 in <train>: set lr.", name);
  return lr > 0 ? value / lr : value;
}

/* A schedule of momentum sets it at the first step, too, so that the optimiser allocates the state that momentum needs.
 */
static void
begin_momentum (LoomTrainSpec *spec)
{
  const char *const names[] = { "momentum", "beta1" };
  double first = loom_schedule_momentum (&spec->schedule, 0, G_MAXINT32);

  for (guint i = 0; i < G_N_ELEMENTS (names) && !isnan (first); i++)
    {
      int k = spec->optimizer != NULL ? loom_optimizer_find (spec->optimizer, names[i]) : -1;

      if (k >= 0)
        {
          spec->hyper[k] = first;
          return;
        }
    }
}

void
recipe_read_schedule (RecipeReading *r, const LoomElement *e, LoomTrainSpec *spec)
{
  LoomSchedule *schedule = &spec->schedule;
  const char *type = loom_element_get (e, "type");
  int lr = spec->optimizer != NULL ? loom_optimizer_find (spec->optimizer, "lr") : -1;

  schedule->klass = loom_schedule (type != NULL ? type : loom_attribute (LOOM_TAG_SCHEDULE, "type")->spec.def);
  if (schedule->klass == NULL)
    {
      recipe_complain_name (r, e, "type", "schedule");
      return;
    }
  check_attributes (r, e, schedule->klass);
  schedule->warmup_steps = (gint64)recipe_number (r, e, "warmup_steps");
  schedule->by_epoch = recipe_choice (r, e, "interval") == 1 || schedule->klass->watches_loss;
  for (guint i = 0; schedule->klass->param[i].name != NULL; i++)
    schedule->param[i] = read_param (r, e, schedule->klass, &schedule->klass->param[i], lr >= 0 ? spec->hyper[lr] : 1);
  if (schedule->klass->has_milestones)
    read_milestones (r, e, schedule);
  begin_momentum (spec);
}
