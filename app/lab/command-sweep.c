/* `gradloom sweep`: trains one graph many times, with different settings, seeds and folds, and prints a table of means
 * and spreads. */
#include "app/lab/commands.h"
#include "app/lab/sweep.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct
{
  char **grid, **range, **cases, **set;
  char *seeds, *csv, *out, *metric, *device, *equal, *plot, *x, *y;
  gint64 random, seed, epochs, steps, folds;
  int jobs, ranks;
  gboolean json;
} SweepOptions;

static void
print_progress (const Sweep *sweep, const SweepRun *run, gpointer data)
{
  guint *done = data, n = sweep->runs->len;

  /* Skips runs with known results. */
  for (guint i = 0; i < sweep->runs->len; i++)
    n -= g_array_index (sweep->runs, SweepRun, i).known;
  ++*done;
  if (!isatty (STDERR_FILENO))
    return;
  fprintf (stderr, "\r%u of %u runs%s", *done, n, *done == n ? "\n" : "");
}

static void
make_runs (Sweep *sweep, const GArray *seeds)
{
  const guint n_seeds = seeds != NULL ? seeds->len : 0;

  for (guint p = 0; p < sweep->points->len; p++)
    for (guint s = 0; s < MAX (n_seeds, 1); s++)
      for (gint64 fold = sweep->folds > 0 ? 1 : 0; fold <= sweep->folds; fold++)
        {
          SweepRun run = { .point = p,
                           .seed = n_seeds > 0 ? g_array_index (seeds, gint64, s) : -1,
                           .fold = fold,
                           .loss = NAN,
                           .metric = NAN,
                           .parameters = NAN,
                           .train_loss = NAN };

          g_array_append_val (sweep->runs, run);
        }
}

static void
run_clear (gpointer data)
{
  g_free (((SweepRun *)data)->failure);
}

/* The largest number of steps of any successful run, or 0. */
static gint64
most_steps (const Sweep *sweep)
{
  gint64 most = 0;

  for (guint i = 0; i < sweep->runs->len; i++)
    {
      const SweepRun *run = &g_array_index (sweep->runs, SweepRun, i);

      if (run->failure == NULL)
        most = MAX (most, run->step);
    }
  return most;
}

/* The number of epochs of a run, from --epochs, its setting, --set, or the graph. */
static gint64
epochs_of (const SweepOptions *o, const SweepPoint *point, const LoomGraph *graph)
{
  const LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  const char *text = sweep_point_get (point, "train.epochs");

  if (o->epochs > 0)
    return o->epochs;
  for (guint i = 0; text == NULL && o->set != NULL && o->set[i] != NULL; i++)
    if (g_str_has_prefix (o->set[i], "train.epochs="))
      text = o->set[i] + strlen ("train.epochs=");
  if (text == NULL && train != NULL)
    text = loom_element_get (train, "epochs");
  return text != NULL ? MAX (1, g_ascii_strtoll (text, NULL, 10)) : 1;
}

/* Adds the same runs with an equal number of updates: runs with fewer steps get more epochs. Runs that already have
 * that number are known. */
static void
add_equal_runs (Sweep *sweep, const SweepOptions *o, const LoomGraph *graph)
{
  guint n = sweep->runs->len;
  gint64 most = most_steps (sweep);

  for (guint i = 0; i < n; i++)
    {
      SweepRun *run = &g_array_index (sweep->runs, SweepRun, i), again;

      run->known = TRUE;
      again = *run;
      again.by = SWEEP_BY_UPDATES;
      again.failure = g_strdup (run->failure);
      again.known = run->failure != NULL || run->step == 0 || run->step == most;
      if (!again.known)
        {
          again.steps = most;
          again.epochs = (most * epochs_of (o, sweep->points->pdata[run->point], graph) + run->step - 1) / run->step;
          again.loss = again.metric = again.train_loss = NAN;
        }
      g_array_append_val (sweep->runs, again);
    }
}

static void
print_results (const Sweep *sweep, gboolean json, gboolean both)
{
  for (SweepBy by = SWEEP_BY_EPOCHS; by <= (both ? SWEEP_BY_UPDATES : SWEEP_BY_EPOCHS); by++)
    {
      if (both && !json)
        printf ("%s%s\n", by == SWEEP_BY_UPDATES ? "\n" : "",
                by == SWEEP_BY_UPDATES ? "by equal updates:" : "by equal epochs:");
      if (json)
        sweep_print_json (sweep, by);
      else
        sweep_print_table (sweep, by);
    }
}

/* What --y names; NULL if it is unknown. */
static const SweepQuantity *
quantity (const char *y)
{
  static const struct
  {
    const char *name;
    SweepQuantity quantity;
  } all[] = { { "loss", { "loss", sweep_loss, 1, 0, INFINITY, TRUE } },
              { "error", { "error, %", sweep_error, 100, 0, 100, FALSE } },
              { "metric", { "metric", sweep_metric, 1, -INFINITY, INFINITY, FALSE } } };

  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    if (y == NULL || g_str_equal (all[i].name, y))
      return &all[i].quantity;
  return NULL;
}

/* Writes the plot to a file, and prints its power laws. */
static gboolean
plot (const Sweep *sweep, const char *x, const char *y, const char *path, SweepBy by, gboolean json, GError **error)
{
  g_autoptr (GPtrArray) lines = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *svg = sweep_plot (sweep, x, quantity (y), by, lines, error);

  if (svg == NULL || !loom_file_replace (path, svg, strlen (svg), error))
    return FALSE;
  for (guint i = 0; i < lines->len && !json; i++)
    printf ("%s\n", (const char *)lines->pdata[i]);
  return TRUE;
}

static void
options_clear (SweepOptions *o)
{
  char **list[] = { o->grid, o->range, o->cases, o->set };
  char *text[] = { o->seeds, o->csv, o->out, o->metric, o->device, o->equal, o->plot, o->x, o->y };

  for (guint i = 0; i < G_N_ELEMENTS (list); i++)
    g_strfreev (list[i]);
  for (guint i = 0; i < G_N_ELEMENTS (text); i++)
    g_free (text[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SweepOptions, options_clear)

/* Checks the options; returns 0 or the exit status. */
static int
check_options (const Command *command, const SweepOptions *o)
{
  if ((o->range != NULL) != (o->random > 0))
    return command_usage (command, o->range != NULL ? "--range needs --random N, the number of draws."
                                                    : "--random N needs --range NODE.PARAM=A..B.");
  if (o->jobs < 0 || o->random < 0)
    return command_usage (command, "--jobs and --random take positive numbers.");
  if (o->folds < 0 || o->folds == 1)
    return command_usage (command, "--folds takes 2 or more.");
  if (o->random > SWEEP_MOST)
    return command_usage (command, "--random takes at most %d.", SWEEP_MOST);
  if (o->equal != NULL && !g_str_equal (o->equal, "epochs") && !g_str_equal (o->equal, "both"))
    return command_usage (command, "--equal takes epochs or both, not “%s”.", o->equal);
  if (o->equal != NULL && g_str_equal (o->equal, "both") && o->steps > 0)
    return command_usage (command, "--equal both sets the number of updates, so it cannot be combined with --steps.");
  if ((o->plot != NULL) != (o->x != NULL))
    return command_usage (command, "--plot F.svg needs --x NAME, the setting on the axis (NODE.PARAM or "
                                   "“parameters”), and --x needs --plot.");
  if (quantity (o->y) == NULL || (o->y != NULL && o->plot == NULL))
    return command_usage (command, "--y takes loss, error or metric, with --plot, not “%s”.", o->y);
  if (!command_can_write (o->csv))
    return command_usage (command, "--csv %s: the folder of this file does not exist or is not writable.", o->csv);
  if (!command_can_write (o->plot))
    return command_usage (command, "--plot %s: the folder of this file does not exist or is not writable.", o->plot);
  return 0;
}

/* The arguments that every run gets. (transfer full) */
static GPtrArray *
pass_on (const SweepOptions *o)
{
  GPtrArray *pass = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; o->set != NULL && o->set[i] != NULL; i++)
    {
      g_ptr_array_add (pass, g_strdup ("--set"));
      g_ptr_array_add (pass, g_strdup (o->set[i]));
    }
  if (o->epochs > 0)
    g_ptr_array_add (pass, g_strdup_printf ("--epochs=%" G_GINT64_FORMAT, o->epochs));
  if (o->steps > 0)
    g_ptr_array_add (pass, g_strdup_printf ("--steps=%" G_GINT64_FORMAT, o->steps));
  if (o->device != NULL)
    g_ptr_array_add (pass, g_strdup_printf ("--device=%s", o->device));
  if (o->ranks > 0)
    g_ptr_array_add (pass, g_strdup_printf ("--ranks=%d", o->ranks));
  g_ptr_array_add (pass, NULL);
  return pass;
}

static int
run_sweep (const Command *command, int argc, char **argv)
{
  g_auto (SweepOptions) o = { .seed = 1 };
  const GOptionEntry entries[] = {
    { "grid", 0, 0, G_OPTION_ARG_STRING_ARRAY, &o.grid,
      "Try each of these values, combined with those of other options", "NODE.PARAM=V,…" },
    { "case", 0, 0, G_OPTION_ARG_STRING_ARRAY, &o.cases,
      "A named group of settings, combined with those of other options", "NAME: NODE.PARAM=V …" },
    { "range", 0, 0, G_OPTION_ARG_STRING_ARRAY, &o.range,
      "The range of each random draw: 1e-4..1e-1:log, 16..64:int, a,b", "NODE.PARAM=A..B" },
    { "random", 0, 0, G_OPTION_ARG_INT64, &o.random, "The number of random draws", "N" },
    { "seed", 0, 0, G_OPTION_ARG_INT64, &o.seed, "Of the draws (1)", "N" },
    { "seeds", 0, 0, G_OPTION_ARG_STRING, &o.seeds, "Run each setting once with each seed", "N,…" },
    { "folds", 0, 0, G_OPTION_ARG_INT64, &o.folds, "Cross-validation: run each setting once for each of K folds", "K" },
    { "set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &o.set, "Change one attribute of the graph in all runs",
      "NODE.PARAM=VALUE" },
    { "epochs", 0, 0, G_OPTION_ARG_INT64, &o.epochs, "Epochs of a run (default: the graph's)", "N" },
    { "steps", 0, 0, G_OPTION_ARG_INT64, &o.steps, "End a run after N steps", "N" },
    { "equal", 0, 0, G_OPTION_ARG_STRING, &o.equal,
      "Compare after equal epochs, or (both) also after equal numbers of updates (epochs)", "WHAT" },
    { "device", 0, 0, G_OPTION_ARG_STRING, &o.device, "Device (default: the graph's)", "D" },
    { "ranks", 0, 0, G_OPTION_ARG_INT, &o.ranks, "Ranks of each run", "N" },
    { "jobs", 0, 0, G_OPTION_ARG_INT, &o.jobs,
      "The number of parallel runs, which share the processors (default: one per processor)", "N" },
    { "metric", 0, 0, G_OPTION_ARG_STRING, &o.metric, "The metric of the table (default: the first)", "NAME" },
    { "out", 0, 0, G_OPTION_ARG_FILENAME, &o.out, "Keep the runs' folders in this folder", "DIR" },
    { "csv", 0, 0, G_OPTION_ARG_FILENAME, &o.csv, "Write a CSV file with a row for each run", "F.csv" },
    { "plot", 0, 0, G_OPTION_ARG_FILENAME, &o.plot, "Plot --y over --x, with bars of two standard deviations",
      "F.svg" },
    { "x", 0, 0, G_OPTION_ARG_STRING, &o.x, "With --plot: a setting (NODE.PARAM), or “parameters”", "NAME" },
    { "y", 0, 0, G_OPTION_ARG_STRING, &o.y,
      "With --plot: loss (default, with power laws), error (1 − the metric, in percent), or metric", "WHAT" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o.json, "Print JSON objects: each run, then each setting", NULL },
    { NULL },
  };
  int status;

  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (!command_runs_alone (command, &status))
    return status;
  if (argc != 2)
    return command_usage (command, "It takes one GRAPH.");
  if (g_str_equal (argv[1], "-"))
    return command_usage (command,
                          "Each run reads the graph again, so it cannot be standard input. Save it in a file.");
  if (check_options (command, &o) != 0)
    return 2;

  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) pass = pass_on (&o);
  g_autoptr (GPtrArray) points = g_ptr_array_new_with_free_func (sweep_point_free);
  g_autoptr (GArray) runs = g_array_new (FALSE, FALSE, sizeof (SweepRun)), seeds = NULL;
  g_autoptr (LoomGraph) graph = command_read_graph (argv[1], &error);
  gboolean both = g_strcmp0 (o.equal, "both") == 0;
  Sweep sweep
      = { .graph = argv[1], .folds = o.folds, .out = o.out, .metric = o.metric, .points = points, .runs = runs };
  SweepPoint *plain = g_new0 (SweepPoint, 1);
  guint done = 0, failed = 0;

  plain->set = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (points, plain);
  g_array_set_clear_func (runs, run_clear);
  if (graph == NULL)
    return command_fail (command, g_steal_pointer (&error));
  if (o.seeds != NULL)
    seeds = command_numbers (o.seeds, 0, G_MAXINT64);
  if (o.seeds != NULL && seeds == NULL)
    return command_usage (command, "--seeds takes whole numbers that are not negative, such as 1,2,3, not “%s”.",
                          o.seeds);
  if (!sweep_grid ((const char *const *)o.grid, points, &error)
      || (o.random > 0 && !sweep_random ((const char *const *)o.range, o.random, (guint64)o.seed, points, &error))
      || !sweep_cases ((const char *const *)o.cases, points, &error))
    return command_fail (command, g_steal_pointer (&error));
  if ((double)points->len * (seeds != NULL ? seeds->len : 1) * MAX (o.folds, 1) > SWEEP_MOST)
    return command_usage (command, "Settings, seeds and folds make more than %d runs. Use fewer.", SWEEP_MOST);
  sweep.pass = (const char *const *)pass->pdata;
  make_runs (&sweep, seeds);
  sweep.jobs = o.jobs > 0 ? o.jobs : MAX (1, loom_processors () / MAX (1, o.ranks));
  sweep.threads = MAX (1, loom_processors () / (sweep.jobs * MAX (1, o.ranks)));
  if (!sweep_run_all (&sweep, o.json ? sweep_print_run : print_progress, &done, &error))
    return command_fail (command, g_steal_pointer (&error));
  if (both)
    {
      add_equal_runs (&sweep, &o, graph);
      done = 0;
    }
  if (both && !sweep_run_all (&sweep, o.json ? sweep_print_run : print_progress, &done, &error))
    return command_fail (command, g_steal_pointer (&error));
  print_results (&sweep, o.json, both);
  if (o.metric != NULL && sweep.metric_found == NULL)
    command_warn (command, "No run has the metric “%s”.", o.metric);
  for (guint i = 0; i < runs->len; i++)
    failed += g_array_index (runs, SweepRun, i).failure != NULL;
  if ((o.csv != NULL && !sweep_write_csv (&sweep, o.csv, &error))
      || (o.plot != NULL && failed < runs->len
          && !plot (&sweep, o.x, o.y, o.plot, both ? SWEEP_BY_UPDATES : SWEEP_BY_EPOCHS, o.json, &error)))
    return command_fail (command, g_steal_pointer (&error));
  return failed == runs->len ? 1 : 0;
}

const Command command_sweep = {
  .name = "sweep",
  .arguments = "GRAPH",
  .summary = "train a graph with many settings, seeds or folds, and compare them in a table",
  .details
  = "Runs are separate processes, --jobs at a time. The table has a row for each setting: the mean of the last\n"
    "evaluation's loss and metric over seeds and folds (validation, else test, else the last step's loss), and the\n"
    "standard deviation of runs. --folds K divides the training samples into K folds by the seed; each fold\n"
    "validates the net that is trained on the others. A failed run is counted, and its error is printed; the others\n"
    "continue. Separate values that contain commas by semicolons:\n"
    "--grid 'train.betas=0.9,0.99;0.9,0.999'.\n\n"
    "  gradloom sweep graphs/models/fashion-mlp.xml --grid train.lr=0.01,0.05,0.1 --grid fc1.out_features=64,256 "
    "--seeds 1,2,3\n"
    "  gradloom sweep graphs/lessons/spirals.xml --random 20 --range train.lr=1e-4..1e-1:log --range "
    "hidden.out_features=4..64:int --csv runs.csv\n"
    "  gradloom sweep graphs/lessons/spirals.xml --grid hidden.out_features=4,16 --folds 5\n"
    "  gradloom sweep graphs/models/fashion-mlp.xml --set train.lr=0.02 --grid train.batch_size=64,256,1024 --seeds "
    "1,2,3 "
    "--case 'same rate:'\n"
    "      --case 'scaled: train.lr_batch_size=64' --plot batches.svg --x train.batch_size --y error\n"
    "  gradloom sweep graphs/models/fashion-mlp.xml --grid fc1.out_features=4,16,64,256 --seeds 1,2 --plot sizes.svg "
    "--x parameters",
  .run = run_sweep,
};
