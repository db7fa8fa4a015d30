/* `gradloom sweep`: one graph trained many times, with other settings, seeds and parts of the data, and what came of it
 * as a table with means and spreads. */
#include "app/sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of one figure over the repetitions of a point. */
typedef struct
{
  guint n;
  double mean, spread; /* the sample's standard deviation; NaN of one run */
} Figure;

static Figure
figure_of (const Sweep *sweep, guint point, double (*get) (const SweepRun *run))
{
  Figure f = { 0 };
  double sum = 0, squares = 0;

  for (guint i = 0; i < sweep->runs->len; i++)
    {
      const SweepRun *run = &g_array_index (sweep->runs, SweepRun, i);

      if (run->point == point && run->failure == NULL && !isnan (get (run)))
        {
          f.n++;
          sum += get (run);
        }
    }
  f.mean = f.n > 0 ? sum / f.n : NAN;
  for (guint i = 0; i < sweep->runs->len; i++)
    {
      const SweepRun *run = &g_array_index (sweep->runs, SweepRun, i);

      if (run->point == point && run->failure == NULL && !isnan (get (run)))
        squares += (get (run) - f.mean) * (get (run) - f.mean);
    }
  f.spread = f.n > 1 ? sqrt (squares / (f.n - 1)) : NAN;
  return f;
}

static double
loss_of (const SweepRun *run)
{
  return isnan (run->loss) ? run->train_loss : run->loss;
}

static double
metric_of (const SweepRun *run)
{
  return run->metric;
}

static guint
count_failures (const Sweep *sweep, guint point, const char **why)
{
  guint n = 0;

  for (guint i = 0; i < sweep->runs->len; i++)
    {
      const SweepRun *run = &g_array_index (sweep->runs, SweepRun, i);

      if (run->point != point || run->failure == NULL)
        continue;
      if (n++ == 0)
        *why = run->failure;
    }
  return n;
}

/* ---- what is printed ------------------------------------------------------------------- */

static void
format_figure (const Figure *f, char *to, gsize size)
{
  if (f->n == 0)
    g_snprintf (to, size, "–");
  else if (isnan (f->spread))
    g_snprintf (to, size, "%.5g", f->mean);
  else
    g_snprintf (to, size, "%.5g ± %.2g", f->mean, f->spread);
}

static void
print_table (const Sweep *sweep)
{
  guint best = G_MAXUINT;
  double least = INFINITY;
  int width = 8;

  for (guint p = 0; p < sweep->points->len; p++)
    {
      g_autofree char *words = sweep_point_words (sweep->points->pdata[p]);
      Figure loss = figure_of (sweep, p, loss_of);

      width = MAX (width, (int)g_utf8_strlen (words, -1));
      if (loss.n > 0 && loss.mean < least)
        {
          least = loss.mean;
          best = p;
        }
    }
  printf ("%-*s %5s  %-18s  %s\n", width, "settings", "runs", "loss",
          sweep->metric_name != NULL ? sweep->metric_name : "");
  for (guint p = 0; p < sweep->points->len; p++)
    {
      g_autofree char *words = sweep_point_words (sweep->points->pdata[p]);
      Figure loss = figure_of (sweep, p, loss_of), metric = figure_of (sweep, p, metric_of);
      const char *why = NULL;
      guint failed = count_failures (sweep, p, &why);
      char a[64], b[64];

      format_figure (&loss, a, sizeof a);
      format_figure (&metric, b, sizeof b);
      printf ("%s%*s %5u  %s%*s  %s%s\n", words, width - (int)g_utf8_strlen (words, -1), "", loss.n, a,
              MAX (0, 18 - (int)g_utf8_strlen (a, -1)), "", sweep->metric_name != NULL ? b : "",
              p == best && sweep->points->len > 1 ? "  least loss" : "");
      if (failed > 0)
        printf ("  %u failed: %s\n", failed, why);
    }
  command_flush ();
}

static void
add_settings (LoomJson *json, const SweepPoint *point)
{
  loom_json_begin_object (json, "settings");
  for (guint i = 0; i < point->set->len; i++)
    {
      g_auto (GStrv) part = g_strsplit (point->set->pdata[i], "=", 2);

      loom_json_string (json, part[0], part[1]);
    }
  loom_json_end_object (json);
}

static void
print_json (const Sweep *sweep)
{
  for (guint p = 0; p < sweep->points->len; p++)
    {
      Figure loss = figure_of (sweep, p, loss_of), metric = figure_of (sweep, p, metric_of);
      const char *why = NULL;
      LoomJson *json = command_event_new ("sweep");

      add_settings (json, sweep->points->pdata[p]);
      loom_json_int (json, "runs", loss.n);
      loom_json_int (json, "failed", count_failures (sweep, p, &why));
      loom_json_number (json, "loss", loss.mean);
      loom_json_number (json, "loss_spread", loss.spread);
      loom_json_string (json, "metric", sweep->metric_name);
      loom_json_number (json, "value", metric.mean);
      loom_json_number (json, "value_spread", metric.spread);
      command_event_print (json);
    }
}

static void
tell_json (const Sweep *sweep, const SweepRun *run, gpointer data)
{
  LoomJson *json = command_event_new ("run");

  add_settings (json, sweep->points->pdata[run->point]);
  if (run->seed >= 0)
    loom_json_int (json, "seed", run->seed);
  if (run->fold > 0)
    loom_json_int (json, "fold", run->fold);
  loom_json_int (json, "step", run->step);
  loom_json_number (json, "train_loss", run->train_loss);
  loom_json_number (json, "loss", loss_of (run));
  loom_json_number (json, "value", run->metric);
  loom_json_string (json, "failure", run->failure);
  command_event_print (json);
}

static void
tell_progress (const Sweep *sweep, const SweepRun *run, gpointer data)
{
  guint *done = data;

  ++*done;
  if (!isatty (STDERR_FILENO))
    return;
  fprintf (stderr, "\r%u of %u runs%s", *done, sweep->runs->len, *done == sweep->runs->len ? "\n" : "");
}

/* A text of CSV: in quotes where it needs them. */
static void
append_field (GString *s, const char *text)
{
  if (strpbrk (text, ",\"\n") == NULL)
    {
      g_string_append (s, text);
      return;
    }
  g_string_append_c (s, '"');
  for (const char *c = text; *c != '\0'; c++)
    g_string_append_printf (s, "%s%c", *c == '"' ? "\"" : "", *c);
  g_string_append_c (s, '"');
}

/* A row a run, a column a setting. */
static gboolean
write_csv (const Sweep *sweep, const char *path, GError **error)
{
  g_autoptr (GString) s = g_string_new (NULL);
  const SweepPoint *first = sweep->points->pdata[0];

  for (guint i = 0; i < first->set->len; i++)
    {
      g_auto (GStrv) part = g_strsplit (first->set->pdata[i], "=", 2);

      append_field (s, part[0]);
      g_string_append_c (s, ',');
    }
  g_string_append_printf (s, "seed,%sstep,train_loss,loss,%s,failure\n", sweep->folds > 0 ? "fold," : "",
                          sweep->metric_name != NULL ? sweep->metric_name : "metric");
  for (guint r = 0; r < sweep->runs->len; r++)
    {
      const SweepRun *run = &g_array_index (sweep->runs, SweepRun, r);
      const SweepPoint *point = sweep->points->pdata[run->point];
      const double value[] = { run->train_loss, loss_of (run), run->metric };

      for (guint i = 0; i < point->set->len; i++)
        {
          append_field (s, strchr (point->set->pdata[i], '=') + 1);
          g_string_append_c (s, ',');
        }
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
      append_field (s, run->failure != NULL ? run->failure : "");
      g_string_append_c (s, '\n');
    }
  return loom_file_replace (path, s->str, s->len, error);
}

/* ---- the command -------------------------------------------------------------------------- */

/* "1,2,3"; FALSE where these are no seeds. */
static gboolean
read_seeds (const char *text, GArray *seeds)
{
  g_auto (GStrv) word = g_strsplit (text, ",", -1);

  for (guint i = 0; word[i] != NULL; i++)
    {
      gint64 n;

      if (!g_ascii_string_to_signed (g_strstrip (word[i]), 10, 0, G_MAXINT64, &n, NULL))
        return FALSE;
      g_array_append_val (seeds, n);
    }
  return seeds->len > 0;
}

static void
make_runs (Sweep *sweep, const GArray *seeds)
{
  for (guint p = 0; p < sweep->points->len; p++)
    for (guint s = 0; s < MAX (seeds->len, 1); s++)
      for (gint64 fold = sweep->folds > 0 ? 1 : 0; fold <= sweep->folds; fold++)
        {
          SweepRun run = { .point = p,
                           .seed = seeds->len > 0 ? g_array_index (seeds, gint64, s) : -1,
                           .fold = fold,
                           .loss = NAN,
                           .metric = NAN,
                           .train_loss = NAN };

          g_array_append_val (sweep->runs, run);
        }
}

static void
run_clear (gpointer data)
{
  g_free (((SweepRun *)data)->failure);
}

static int
run_sweep (const Command *command, int argc, char **argv)
{
  g_auto (GStrv) grid = NULL, range = NULL, set = NULL;
  g_autofree char *seeds_text = NULL, *csv = NULL, *out = NULL, *metric = NULL, *device = NULL;
  gint64 random = 0, seed = 1, epochs = 0, steps = 0, folds = 0;
  int jobs = 0;
  gboolean json = FALSE;
  const GOptionEntry entries[] = {
    { "grid", 0, 0, G_OPTION_ARG_STRING_ARRAY, &grid, "Each of these values, with each of the others'",
      "NODE.PARAM=V,…" },
    { "range", 0, 0, G_OPTION_ARG_STRING_ARRAY, &range, "Drawn for each of --random: 1e-4..1e-1:log, 16..64:int, a,b",
      "NODE.PARAM=A..B" },
    { "random", 0, 0, G_OPTION_ARG_INT64, &random, "So many draws", "N" },
    { "seed", 0, 0, G_OPTION_ARG_INT64, &seed, "Of the draws (1)", "N" },
    { "seeds", 0, 0, G_OPTION_ARG_STRING, &seeds_text, "Every setting once with each seed", "N,…" },
    { "folds", 0, 0, G_OPTION_ARG_INT64, &folds,
      "Cross-validation: once for each of so many parts of the training samples", "K" },
    { "set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &set, "Change one attribute of the graph in all runs",
      "NODE.PARAM=VALUE" },
    { "epochs", 0, 0, G_OPTION_ARG_INT64, &epochs, "Epochs of a run (default: the graph's)", "N" },
    { "steps", 0, 0, G_OPTION_ARG_INT64, &steps, "End a run after so many steps", "N" },
    { "device", 0, 0, G_OPTION_ARG_STRING, &device, "Device (default: the graph's)", "D" },
    { "jobs", 0, 0, G_OPTION_ARG_INT, &jobs,
      "So many runs at a time, which share the processors (default: one a processor)", "N" },
    { "metric", 0, 0, G_OPTION_ARG_STRING, &metric, "The metric of the table (default: the first)", "NAME" },
    { "out", 0, 0, G_OPTION_ARG_FILENAME, &out, "Keep the runs' folders in this one", "DIR" },
    { "csv", 0, 0, G_OPTION_ARG_FILENAME, &csv, "A row for each run", "F.csv" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Objects on standard output: each run, then each setting", NULL },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 2)
    return command_usage (command, "It takes one GRAPH.");
  if ((range != NULL) != (random > 0))
    return command_usage (command, range != NULL ? "--range is drawn from so often as --random N says."
                                                 : "--random N draws from --range NODE.PARAM=A..B.");
  if (jobs < 0 || random < 0)
    return command_usage (command, "--jobs and --random take positive numbers.");
  if (folds < 0 || folds == 1)
    return command_usage (command, "--folds takes 2 or more.");
  if (random > SWEEP_MOST)
    return command_usage (command, "--random takes at most %d.", SWEEP_MOST);
  if (!command_can_write (csv))
    return command_usage (command, "--csv %s: there is no folder for this file, or nothing may be written there.", csv);

  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) pass = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) points = g_ptr_array_new_with_free_func (sweep_point_free);
  g_autoptr (GArray) runs = g_array_new (FALSE, FALSE, sizeof (SweepRun)),
                     seeds = g_array_new (FALSE, FALSE, sizeof (gint64));
  g_autoptr (LoomGraph) graph = command_read_graph (argv[1], &error);
  Sweep sweep = { .graph = argv[1], .folds = folds, .out = out, .metric = metric, .points = points, .runs = runs };
  SweepPoint *plain = g_new0 (SweepPoint, 1);
  guint done = 0;

  plain->set = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (points, plain);
  g_array_set_clear_func (runs, run_clear);
  if (graph == NULL)
    return command_fail (command, g_steal_pointer (&error));
  if (seeds_text != NULL && !read_seeds (seeds_text, seeds))
    return command_usage (command, "--seeds takes numbers that are not negative: 1,2,3, not “%s”.", seeds_text);
  if (!sweep_grid ((const char *const *)grid, points, &error)
      || (random > 0 && !sweep_random ((const char *const *)range, random, (guint64)seed, points, &error)))
    return command_fail (command, g_steal_pointer (&error));
  for (guint i = 0; set != NULL && set[i] != NULL; i++)
    {
      g_ptr_array_add (pass, g_strdup ("--set"));
      g_ptr_array_add (pass, g_strdup (set[i]));
    }
  if (epochs > 0)
    g_ptr_array_add (pass, g_strdup_printf ("--epochs=%" G_GINT64_FORMAT, epochs));
  if (steps > 0)
    g_ptr_array_add (pass, g_strdup_printf ("--steps=%" G_GINT64_FORMAT, steps));
  if (device != NULL)
    g_ptr_array_add (pass, g_strdup_printf ("--device=%s", device));
  g_ptr_array_add (pass, NULL);
  sweep.pass = (const char *const *)pass->pdata;
  make_runs (&sweep, seeds);
  sweep.jobs = jobs > 0 ? jobs : loom_processors ();
  sweep.threads = MAX (1, loom_processors () / sweep.jobs);
  if (!sweep_run_all (&sweep, json ? tell_json : tell_progress, &done, &error))
    return command_fail (command, g_steal_pointer (&error));
  if (json)
    print_json (&sweep);
  else
    print_table (&sweep);
  g_autofree char *found = sweep.metric_name;
  guint failed = 0;
  if (metric != NULL && found == NULL)
    command_warn (command, "No run has a metric “%s”.", metric);
  for (guint i = 0; i < runs->len; i++)
    failed += g_array_index (runs, SweepRun, i).failure != NULL;
  if (csv != NULL && !write_csv (&sweep, csv, &error))
    return command_fail (command, g_steal_pointer (&error));
  return failed == runs->len ? 1 : 0;
}

const Command command_sweep = {
  .name = "sweep",
  .arguments = "GRAPH",
  .summary = "train a graph with many settings, seeds or folds, and compare them in a table",
  .details
  = "Runs are processes of their own, --jobs at a time. The table has a row for each setting: the mean of the "
    "last evaluation's\n"
    "loss and metric over seeds and folds (validation, else test, else the last step's loss), and the standard "
    "deviation\n"
    "between runs. --folds K deals the training samples into K parts by the seed: each validates once the net "
    "that the\n"
    "others have trained. A run that fails is counted and its sentence shown; the others go on. Values with commas are "
    "divided by semicolons:\n"
    "--grid 'train.betas=0.9,0.99;0.9,0.999'.\n\n"
    "  gradloom sweep graphs/models/fashion-mlp.xml --grid train.lr=0.01,0.05,0.1 --grid "
    "fc1.out_features=64,256 --seeds 1,2,3\n"
    "  gradloom sweep graphs/lessons/spirals.xml --random 20 --range train.lr=1e-4..1e-1:log --range "
    "hidden.out_features=4..64:int --csv runs.csv\n"
    "  gradloom sweep graphs/lessons/spirals.xml --grid hidden.out_features=4,16 --folds 5",
  .run = run_sweep,
};
