/* The curves of a run (run-curves.h). */
#include "ui/run/run-curves.h"

#include <math.h>

static void
curve_clear (gpointer data)
{
  RunCurve *c = data;
  g_clear_pointer (&c->train, loom_series_unref);
  g_clear_pointer (&c->validation, loom_series_unref);
  g_clear_pointer (&c->previous, loom_series_unref);
}

static void
mark_free (gpointer data)
{
  StudioRunMark *m = data;
  g_free (m->label);
  g_free (m->name);
  g_free (m);
}

static RunCurve
new_curve (void)
{
  return (RunCurve){ .train = loom_series_new (LOOM_SERIES_MOST), .validation = loom_series_new (LOOM_SERIES_MOST) };
}

void
run_curves_init (RunCurves *curves)
{
  *curves = (RunCurves){ .loss = new_curve (),
                         .names = g_ptr_array_new_with_free_func (g_free),
                         .values = g_array_new (FALSE, TRUE, sizeof (double)),
                         .metrics = g_array_new (FALSE, TRUE, sizeof (RunCurve)),
                         .marks = g_ptr_array_new_with_free_func (mark_free) };
  g_array_set_clear_func (curves->metrics, curve_clear);
}

void
run_curves_finish (RunCurves *curves)
{
  curve_clear (&curves->loss);
  g_array_unref (curves->metrics);
  g_array_unref (curves->values);
  g_ptr_array_unref (curves->names);
  g_ptr_array_unref (curves->marks);
  g_free (curves->split);
}

static void
begin_curve (RunCurve *c)
{
  if (loom_series_length (c->train) > 0)
    {
      g_clear_pointer (&c->previous, loom_series_unref);
      c->previous = c->train;
      c->train = loom_series_new (LOOM_SERIES_MOST);
    }
  loom_series_unref (c->validation);
  c->validation = loom_series_new (LOOM_SERIES_MOST);
}

void
run_curves_begin (RunCurves *curves)
{
  begin_curve (&curves->loss);
  for (guint i = 0; i < curves->metrics->len; i++)
    {
      begin_curve (&g_array_index (curves->metrics, RunCurve, i));
      g_array_index (curves->values, double, i) = NAN;
    }
  g_ptr_array_set_size (curves->marks, 0);
  g_clear_pointer (&curves->split, g_free);
}

void
run_curves_forget_previous (RunCurves *curves)
{
  g_clear_pointer (&curves->loss.previous, loom_series_unref);
  g_array_set_size (curves->metrics, 0);
  g_array_set_size (curves->values, 0);
  g_ptr_array_set_size (curves->names, 0);
}

guint
run_curves_metric (RunCurves *curves, const char *name)
{
  const double nothing = NAN;
  RunCurve c;
  guint i;

  if (g_ptr_array_find_with_equal_func (curves->names, name, g_str_equal, &i))
    return i;
  g_ptr_array_add (curves->names, g_strdup (name));
  g_array_append_val (curves->values, nothing);
  c = new_curve ();
  g_array_append_val (curves->metrics, c);
  return curves->names->len - 1;
}

RunCurve *
run_curves_get (RunCurves *curves, int metric)
{
  return metric < 0 ? &curves->loss : &g_array_index (curves->metrics, RunCurve, (guint)metric);
}

void
run_curves_add_evaluation (RunCurves *curves, const char *split, gint64 step, double loss, const char *const *names,
                           const double *values, gsize n)
{
  g_free (curves->split);
  curves->split = g_strdup (split);
  loom_series_append (curves->loss.validation, (double)step, loss);
  for (guint i = 0; names[i] != NULL && i < n; i++)
    {
      int metric = (int)run_curves_metric (curves, names[i]);
      loom_series_append (run_curves_get (curves, metric)->validation, (double)step, values[i]);
    }
}

void
run_curves_add_mark (RunCurves *curves, double step, const char *label)
{
  StudioRunMark *m = g_new0 (StudioRunMark, 1);
  m->step = step;
  m->label = g_strdup (label);
  g_ptr_array_add (curves->marks, m);
}

void
run_curves_add_change (RunCurves *curves, double step, const char *name, double value)
{
  g_autofree char *label = g_strdup_printf ("%s %g", name, value);
  StudioRunMark *m;

  run_curves_add_mark (curves, step, label);
  m = curves->marks->pdata[curves->marks->len - 1];
  m->name = g_strdup (name);
  m->value = value;
}

void
run_curves_forget_marks_after (RunCurves *curves, double step)
{
  for (guint i = curves->marks->len; i > 0; i--)
    if (((const StudioRunMark *)curves->marks->pdata[i - 1])->step > step)
      g_ptr_array_remove_index (curves->marks, i - 1);
}
