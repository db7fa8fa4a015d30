/* Reads <schedule>: its class, that class's parameters, and the common ones. */
#include "engine/recipe/recipe-private.h"

#include "engine/ops/formula.h"

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
read_formula (RecipeReading *r, const LoomElement *e, LoomSchedule *schedule)
{
  static const char *const names[] = { LOOM_SCHEDULE_NAMES };
  const double first[G_N_ELEMENTS (names)] = { 0, 0, 1, 1 };
  const char *text = loom_element_get (e, "formula");
  g_auto (FormulaScope) scope = { 0 };
  g_auto (FormulaFault) fault = { 0 };
  LoomFormula *formula = schedule->formula = g_new0 (LoomFormula, 1);
  LoomFault *reported;
  double factor;
  int reg;

  if (text == NULL)
    {
      recipe_complain (r, e, LOOM_ERROR_SCHEMA, "formula",
                       "the schedule “%s” needs a formula, such as “min((step + 1) / 100, 1)”.", schedule->klass->name);
      return;
    }
  schedule->text = g_strdup (text);
  formula_scope_init (&scope);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    formula_scope_add (&scope, names[i], (guint8)i);
  formula->n_in = G_N_ELEMENTS (names);
  reg = formula_parse (text, &scope, formula, &fault);
  if (reg < 0)
    {
      reported = recipe_complain (r, e, LOOM_ERROR_SCHEMA, "formula",
                                  "%s A schedule knows step, epoch, steps and epochs.", fault.message);
      if (fault.fix != NULL)
        loom_fault_set_fix (reported, fault.text != NULL ? "formula" : NULL, fault.text, "%s", fault.fix);
      return;
    }
  formula->n_out = 1;
  formula->out[0] = (guint8)reg;
  factor = loom_formula_value (formula, first);
  if (!isfinite (factor))
    recipe_complain (r, e, LOOM_ERROR_SCHEMA, "formula", "“%s” is not a finite number at the first step.", text);
  else if (factor < 0)
    recipe_complain (r, e, LOOM_ERROR_SCHEMA, "formula", "“%s” is negative at the first step.", text);
}

static void read_one (RecipeReading *r, const LoomElement *e, LoomTrainSpec *spec, LoomSchedule *schedule);

/* A chained schedule is a product, and no schedule inside another counts steps of its own warm-up or watches the loss.
 */
static void
check_part (RecipeReading *r, const LoomElement *e, const LoomSchedule *whole, const LoomSchedule *part)
{
  const char *const own[] = { "warmup_steps", "interval" };
  gboolean offset = FALSE;

  if (part->klass == NULL)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (own); i++)
    if (loom_element_get (e, own[i]) != NULL)
      recipe_complain (r, e, LOOM_ERROR_SCHEMA, own[i], "set %s in the outer <schedule>.", own[i]);
  if (part->klass->watches_loss)
    recipe_complain (r, e, LOOM_ERROR_SCHEMA, "type", "“%s” cannot be part of another schedule.", part->klass->name);
  for (guint k = 0; part->klass->param[k].name != NULL; k++)
    offset = offset || (strcmp (part->klass->param[k].name, "eta_min") == 0 && part->param[k] != 0);
  if (whole->klass->multiplies && (!part->klass->multiplies || offset))
    recipe_complain (
        r, e, LOOM_ERROR_SCHEMA, "type",
        "“%s”%s computes the rate itself, but a chained schedule multiplies factors. Use type=\"sequential\", "
        "or a formula.",
        part->klass->name, offset ? " with eta_min" : "");
}

static void
read_parts (RecipeReading *r, const LoomElement *e, LoomTrainSpec *spec, LoomSchedule *schedule)
{
  schedule->part = g_new0 (LoomSchedule, loom_element_n_children (e) + 1);
  for (guint i = 0; i < loom_element_n_children (e); i++)
    {
      const LoomElement *inner = loom_element_child (e, i);
      LoomSchedule *part = &schedule->part[schedule->n_parts];

      if (loom_element_tag (inner) != LOOM_TAG_SCHEDULE)
        continue;
      schedule->n_parts++;
      if (!schedule->klass->has_parts)
        {
          recipe_complain (r, inner, LOOM_ERROR_SCHEMA, NULL,
                           "“%s” has no schedules inside; set type to sequential or chained.", schedule->klass->name);
          return;
        }
      read_one (r, inner, spec, part);
      check_part (r, inner, schedule, part);
    }
  if (schedule->klass->has_parts && schedule->n_parts == 0)
    recipe_complain (r, e, LOOM_ERROR_SCHEMA, NULL, "the schedule “%s” needs a <schedule> inside.",
                     schedule->klass->name);
  else if (schedule->klass->has_parts && schedule->klass->has_milestones && schedule->n_milestones > 0
           && schedule->n_milestones + 1 != schedule->n_parts)
    recipe_complain (r, e, LOOM_ERROR_SCHEMA, "milestones",
                     "%u schedules need %u milestones between them, but there are %u.", schedule->n_parts,
                     schedule->n_parts - 1, schedule->n_milestones);
}

static void
forget_unless (GPtrArray *known, gboolean has, const char *name)
{
  guint at;

  if (!has && g_ptr_array_find_with_equal_func (known, name, g_str_equal, &at))
    g_ptr_array_remove_index (known, at);
}

static void
check_attributes (RecipeReading *r, const LoomElement *e, const LoomScheduleClass *klass)
{
  g_autoptr (GPtrArray) known = recipe_names (LOOM_TAG_SCHEDULE, 0);

  forget_unless (known, klass->has_milestones, "milestones");
  forget_unless (known, klass->has_formula, "formula");
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

static void
read_one (RecipeReading *r, const LoomElement *e, LoomTrainSpec *spec, LoomSchedule *schedule)
{
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
  if (schedule->klass->has_formula)
    read_formula (r, e, schedule);
  read_parts (r, e, spec, schedule);
}

void
recipe_read_schedule (RecipeReading *r, const LoomElement *e, LoomTrainSpec *spec)
{
  const gboolean failed = r->failed;

  r->failed = FALSE;
  read_one (r, e, spec, &spec->schedule);
  /* A schedule with faults has no values. */
  if (!r->failed)
    begin_momentum (spec);
  r->failed = r->failed || failed;
}
