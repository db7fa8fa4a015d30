/* Prints the results of a sweep: means and spreads over the repetitions of a setting, as a table, as JSON and as a
 * file. */
#include "app/lab/sweep.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static gboolean
is_of (const SweepRun *run, guint point, SweepBy by)
{
  return run->point == point && run->by == by;
}

SweepFigure
sweep_figure (const Sweep *sweep, guint point, SweepBy by, double (*get) (const SweepRun *run))
{
  SweepFigure f = { 0 };
  double sum = 0, squares = 0;

  for (guint i = 0; i < sweep->runs->len; i++)
    {
      const SweepRun *run = &g_array_index (sweep->runs, SweepRun, i);

      if (is_of (run, point, by) && run->failure == NULL && !isnan (get (run)))
        {
          f.n++;
          sum += get (run);
        }
    }
  f.mean = f.n > 0 ? sum / f.n : NAN;
  for (guint i = 0; i < sweep->runs->len; i++)
    {
      const SweepRun *run = &g_array_index (sweep->runs, SweepRun, i);

      if (is_of (run, point, by) && run->failure == NULL && !isnan (get (run)))
        squares += (get (run) - f.mean) * (get (run) - f.mean);
    }
  f.spread = f.n > 1 ? sqrt (squares / (f.n - 1)) : NAN;
  return f;
}

double
sweep_loss (const SweepRun *run)
{
  return isnan (run->loss) ? run->train_loss : run->loss;
}

double
sweep_metric (const SweepRun *run)
{
  return run->metric;
}

double
sweep_error (const SweepRun *run)
{
  return 1 - run->metric;
}

double
sweep_parameters (const SweepRun *run)
{
  return run->parameters;
}

static double
steps_of (const SweepRun *run)
{
  return (double)run->step;
}

static guint
count_failures (const Sweep *sweep, guint point, SweepBy by, const char **why)
{
  guint n = 0;

  for (guint i = 0; i < sweep->runs->len; i++)
    {
      const SweepRun *run = &g_array_index (sweep->runs, SweepRun, i);

      if (!is_of (run, point, by) || run->failure == NULL)
        continue;
      if (n++ == 0)
        *why = run->failure;
    }
  return n;
}

/* ---- output ------------------------------------------------------------------- */

static void
format_figure (const SweepFigure *f, char *to, gsize size)
{
  if (f->n == 0)
    g_snprintf (to, size, "–");
  else if (isnan (f->spread))
    g_snprintf (to, size, "%.5g", f->mean);
  else
    g_snprintf (to, size, f->spread < 99.5 ? "%.5g ± %.2g" : "%.5g ± %.0f", f->mean, f->spread);
}

void
sweep_print_table (const Sweep *sweep, SweepBy by)
{
  guint best = G_MAXUINT;
  double least = INFINITY;
  int width = 8;

  for (guint p = 0; p < sweep->points->len; p++)
    {
      g_autofree char *words = sweep_point_words (sweep->points->pdata[p]);
      SweepFigure loss = sweep_figure (sweep, p, by, sweep_loss);

      width = MAX (width, (int)g_utf8_strlen (words, -1));
      if (loss.n > 0 && loss.mean < least)
        {
          least = loss.mean;
          best = p;
        }
    }
  printf ("%-*s %5s %8s  %-18s  %s\n", width, "settings", "runs", "steps", "loss",
          sweep->metric_found != NULL ? sweep->metric_found : "");
  for (guint p = 0; p < sweep->points->len; p++)
    {
      g_autofree char *words = sweep_point_words (sweep->points->pdata[p]);
      SweepFigure loss = sweep_figure (sweep, p, by, sweep_loss), metric = sweep_figure (sweep, p, by, sweep_metric);
      const char *why = NULL;
      guint failed = count_failures (sweep, p, by, &why);
      char a[64], b[64];

      format_figure (&loss, a, sizeof a);
      format_figure (&metric, b, sizeof b);
      printf ("%s%*s %5u %8.0f  %s%*s  %s%s\n", words, width - (int)g_utf8_strlen (words, -1), "", loss.n,
              loss.n > 0 ? sweep_figure (sweep, p, by, steps_of).mean : 0, a, MAX (0, 18 - (int)g_utf8_strlen (a, -1)),
              "", sweep->metric_found != NULL ? b : "", p == best && sweep->points->len > 1 ? "  least loss" : "");
      if (failed > 0)
        printf ("  %u failed: %s\n", failed, why);
    }
  command_flush ();
}

static void
add_settings (LoomJson *json, const SweepPoint *point, SweepBy by)
{
  if (point->name != NULL)
    loom_json_string (json, "case", point->name);
  if (by == SWEEP_BY_UPDATES)
    loom_json_string (json, "by", "updates");
  loom_json_begin_object (json, "settings");
  for (guint i = 0; i < point->set->len; i++)
    {
      g_auto (GStrv) part = g_strsplit (point->set->pdata[i], "=", 2);

      /* If a case and a grid set the same attribute, the last one applies, and each name occurs once in an object. */
      if (sweep_point_get (point, part[0]) == (const char *)point->set->pdata[i] + strlen (part[0]) + 1)
        loom_json_string (json, part[0], part[1]);
    }
  loom_json_end_object (json);
}

void
sweep_print_json (const Sweep *sweep, SweepBy by)
{
  for (guint p = 0; p < sweep->points->len; p++)
    {
      SweepFigure loss = sweep_figure (sweep, p, by, sweep_loss), metric = sweep_figure (sweep, p, by, sweep_metric);
      const char *why = NULL;
      LoomJson *json = command_event_new ("sweep");

      add_settings (json, sweep->points->pdata[p], by);
      loom_json_int (json, "runs", loss.n);
      loom_json_number (json, "steps", sweep_figure (sweep, p, by, steps_of).mean);
      loom_json_number (json, "parameters", sweep_figure (sweep, p, by, sweep_parameters).mean);
      loom_json_int (json, "failed", count_failures (sweep, p, by, &why));
      loom_json_exact (json, "loss", loss.mean);
      loom_json_exact (json, "loss_spread", loss.spread);
      loom_json_string (json, "metric", sweep->metric_found);
      loom_json_exact (json, "value", metric.mean);
      loom_json_exact (json, "value_spread", metric.spread);
      command_event_print (json);
    }
}

void
sweep_print_run (const Sweep *sweep, const SweepRun *run, gpointer data)
{
  LoomJson *json = command_event_new ("run");

  add_settings (json, sweep->points->pdata[run->point], run->by);
  if (run->seed >= 0)
    loom_json_int (json, "seed", run->seed);
  if (run->fold > 0)
    loom_json_int (json, "fold", run->fold);
  loom_json_int (json, "step", run->step);
  loom_json_exact (json, "train_loss", run->train_loss);
  loom_json_exact (json, "loss", sweep_loss (run));
  loom_json_exact (json, "value", run->metric);
  loom_json_string (json, "failure", run->failure);
  command_event_print (json);
}

/* One row per run, one column per setting. */
gboolean
sweep_write_csv (const Sweep *sweep, const char *path, GError **error)
{
  g_autoptr (GString) s = g_string_new (NULL);
  const SweepPoint *first = sweep->points->pdata[0];
  gboolean by = FALSE;

  for (guint r = 0; r < sweep->runs->len; r++)
    by = by || g_array_index (sweep->runs, SweepRun, r).by != SWEEP_BY_EPOCHS;
  g_string_append (s, first->name != NULL ? "case," : "");
  for (guint i = first->n_case; i < first->set->len; i++)
    {
      g_auto (GStrv) part = g_strsplit (first->set->pdata[i], "=", 2);

      loom_text_append_csv (s, part[0]);
      g_string_append_c (s, ',');
    }
  g_string_append_printf (s, "%sseed,%sstep,parameters,train_loss,loss,", by ? "by," : "",
                          sweep->folds > 0 ? "fold," : "");
  loom_text_append_csv (s, sweep->metric_found != NULL ? sweep->metric_found : "metric");
  g_string_append (s, ",failure\n");
  for (guint r = 0; r < sweep->runs->len; r++)
    {
      const SweepRun *run = &g_array_index (sweep->runs, SweepRun, r);
      const SweepPoint *point = sweep->points->pdata[run->point];
      const double value[] = { run->parameters, run->train_loss, sweep_loss (run), run->metric };

      if (point->name != NULL)
        {
          loom_text_append_csv (s, point->name);
          g_string_append_c (s, ',');
        }
      for (guint i = point->n_case; i < point->set->len; i++)
        {
          loom_text_append_csv (s, strchr (point->set->pdata[i], '=') + 1);
          g_string_append_c (s, ',');
        }
      if (by)
        g_string_append (s, run->by == SWEEP_BY_UPDATES ? "updates," : "epochs,");
      if (run->seed >= 0)
        g_string_append_printf (s, "%" G_GINT64_FORMAT, run->seed);
      g_string_append_c (s, ',');
      if (sweep->folds > 0)
        g_string_append_printf (s, "%" G_GINT64_FORMAT ",", run->fold);
      g_string_append_printf (s, "%" G_GINT64_FORMAT ",", run->step);
      for (guint i = 0; i < G_N_ELEMENTS (value); i++)
        {
          char digits[G_ASCII_DTOSTR_BUF_SIZE];

          g_string_append (s, isnan (value[i]) ? "" : g_ascii_formatd (digits, sizeof digits, "%.9g", value[i]));
          g_string_append_c (s, ',');
        }
      loom_text_append_csv (s, run->failure != NULL ? run->failure : "");
      g_string_append_c (s, '\n');
    }
  return loom_file_replace (path, s->str, s->len, error);
}
