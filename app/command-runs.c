/* `gradloom runs`: lists the runs of a folder with what changed from one to the next, and names, notes and stars them.
 * Studio's Runs pane shows the same list. */
#include "app/commands.h"
#include "engine/runs/loom-runs.h"

#include <math.h>

#define CURVE_POINTS 200 /* of the curve of --json */
#define MOST_CHANGES 3   /* of a line of the table */

typedef struct
{
  char *name, *note, *sort;
  gboolean json, star, no_star;
} RunsOptions;

static void
options_clear (RunsOptions *o)
{
  g_free (o->name);
  g_free (o->note);
  g_free (o->sort);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (RunsOptions, options_clear)

/* ---- order ---------------------------------------------------------------------------- */

static int
compare_numbers (double a, double b)
{
  return isnan (a) || isnan (b) ? isnan (a) - isnan (b) : (a > b) - (a < b);
}

static int
by_loss (gconstpointer a, gconstpointer b)
{
  return compare_numbers (loom_run_summary_loss (*(LoomRunSummary *const *)a),
                          loom_run_summary_loss (*(LoomRunSummary *const *)b));
}

static int
by_time (gconstpointer a, gconstpointer b)
{
  return compare_numbers (loom_run_summary_seconds (*(LoomRunSummary *const *)a),
                          loom_run_summary_seconds (*(LoomRunSummary *const *)b));
}

static int
by_name (gconstpointer a, gconstpointer b)
{
  return g_utf8_collate (loom_run_summary_name (*(LoomRunSummary *const *)a),
                         loom_run_summary_name (*(LoomRunSummary *const *)b));
}

static const struct
{
  const char *name;
  GCompareFunc compare;
} orders[] = { { "begun", loom_run_summary_compare }, { "loss", by_loss }, { "time", by_time }, { "name", by_name } };

/* NULL: there is no order of this name. */
static GCompareFunc
find_order (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (orders); i++)
    if (g_str_equal (orders[i].name, name))
      return orders[i].compare;
  return NULL;
}

/* ---- table ------------------------------------------------------------------------------ */

/* The changes of each run to the one before, by the run's folder; order of begin. (transfer full) */
static GHashTable *
find_changes (const GPtrArray *runs)
{
  GHashTable *changes = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);

  for (guint i = 0; i < runs->len; i++)
    {
      LoomRunSummary *run = runs->pdata[i];
      const LoomRunSummary *before = loom_run_before (runs, i);

      if (before != NULL)
        g_hash_table_insert (changes, run->folder, loom_run_change (before, run, MOST_CHANGES, command_printable));
    }
  return changes;
}

static const char *
number_text (double value, char *to, gsize n)
{
  g_snprintf (to, (gulong)n, "%.4g", value);
  return isnan (value) ? "–" : to;
}

static int
name_width (const GPtrArray *runs)
{
  glong width = 4;

  for (guint i = 0; i < runs->len; i++)
    {
      g_autofree char *name = command_printable (loom_run_summary_name (runs->pdata[i]));

      width = MAX (width, g_utf8_strlen (name, -1));
    }
  return (int)MIN (width, 40);
}

/* What a user must know of an end that was not planned. */
static void
print_end (const LoomRunLog *log)
{
  if (log->nan_step > 0)
    printf ("NaN at step %" G_GINT64_FORMAT "  ", log->nan_step);
  else if (log->end == LOOM_RUN_END_FAILED)
    printf ("failed  ");
  else if (log->was_killed)
    printf ("killed  ");
}

static void
print_line (int width, const char *text)
{
  g_autofree char *shown = command_printable (text);

  printf ("  %*s  %s\n", width, "", shown);
}

static void
print_row (const LoomRunSummary *run, int width, const char *change)
{
  g_autofree char *name = command_printable (loom_run_summary_name (run));
  g_autofree char *time = command_duration (loom_run_summary_seconds (run));
  g_autofree char *metric = run->log.metric != NULL ? command_printable (run->log.metric) : NULL;
  char loss[32], value[32];

  printf ("%s %s%*s  ", run->notes.star ? "★" : " ", name, MAX (0, width - (int)g_utf8_strlen (name, -1)), "");
  if (run->error != NULL)
    {
      g_autofree char *sentence = command_sentence (run->error);

      printf ("%s\n", sentence);
      return;
    }
  printf ("%9s %8" G_GINT64_FORMAT " %8s  ", number_text (loom_run_summary_loss (run), loss, sizeof loss),
          run->log.step, time);
  if (run->log.is_training && run->host != NULL)
    printf ("training on %s  ", run->host);
  else if (run->log.is_training)
    printf (run->is_attachable ? "training in the background  " : "training  ");
  print_end (&run->log);
  if (metric != NULL)
    printf ("%s %s  ", metric, number_text (run->log.value, value, sizeof value));
  printf ("%s\n", change == NULL ? "" : *change == '\0' ? "no change" : change);
  if (run->log.end == LOOM_RUN_END_FAILED && run->log.nan_step == 0 && run->log.sentence != NULL)
    print_line (width, run->log.sentence);
  if (run->notes.note != NULL)
    print_line (width, run->notes.note);
}

static void
print_table (const GPtrArray *runs, GHashTable *changes)
{
  const int width = name_width (runs);

  printf ("  %-*s  %9s %8s %8s  %s\n", width, "name", "loss", "step", "time", "result and change");
  for (guint i = 0; i < runs->len; i++)
    print_row (runs->pdata[i], width, g_hash_table_lookup (changes, ((LoomRunSummary *)runs->pdata[i])->folder));
  command_flush ();
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void
add_results (LoomJson *json, const LoomRunSummary *run)
{
  loom_json_string (json, "graph", run->title);
  loom_json_string (json, "device", run->device);
  loom_json_bool (json, "training", run->log.is_training);
  loom_json_bool (json, "attachable", run->is_attachable);
  loom_json_string (json, "end", loom_run_summary_end (run));
  loom_json_string (json, "message", run->log.sentence);
  if (run->log.nan_step > 0)
    loom_json_int (json, "nan_step", run->log.nan_step);
  else
    loom_json_null (json, "nan_step");
  loom_json_fixed (json, "begun", run->log.begun, 3);
  loom_json_fixed (json, "seconds", loom_run_summary_seconds (run), 3);
  loom_json_int (json, "step", run->log.step);
  loom_json_int (json, "epoch", run->log.epoch);
  loom_json_int (json, "epochs", run->epochs);
  loom_json_number (json, "parameters", run->parameters);
  loom_json_exact (json, "train_loss", run->log.loss);
  loom_json_exact (json, "loss", loom_run_summary_loss (run));
  loom_json_string (json, "split", run->log.split);
  loom_json_string (json, "metric", run->log.metric);
  loom_json_exact (json, "value", run->log.value);
}

/* The run's own values of the settings in which the listed runs differ. Names are escaped, because members of JSON are
 * constants and these are not. */
static void
add_settings (LoomJson *json, const LoomRunTable *table, guint row)
{
  loom_json_begin_array (json, "settings");
  for (guint c = 0; c < table->columns->len; c++)
    {
      loom_json_begin_object (json, NULL);
      loom_json_string (json, "name", table->columns->pdata[c]);
      loom_json_string (json, "value", loom_run_table_get (table, row, c));
      loom_json_end_object (json);
    }
  loom_json_end_array (json);
}

static void
add_curve (LoomJson *json, const LoomSeries *curve)
{
  loom_json_begin_array (json, "curve");
  for (gsize i = 0; i < loom_series_length (curve); i++)
    {
      double step;

      loom_series_get (curve, i, &step, NULL);
      loom_json_begin_array (json, NULL);
      loom_json_number (json, NULL, step);
      loom_json_number (json, NULL, loom_series_mean (curve, i));
      loom_json_end_array (json);
    }
  loom_json_end_array (json);
}

static void
print_json (const GPtrArray *runs, GHashTable *changes)
{
  g_autoptr (LoomRunTable) table = loom_run_table_new (runs);

  for (guint i = 0; i < runs->len; i++)
    {
      const LoomRunSummary *run = runs->pdata[i];
      LoomJson *json = command_event_new ("run");

      loom_json_string (json, "folder", run->folder);
      loom_json_string (json, "name", loom_run_summary_name (run));
      loom_json_string (json, "note", run->notes.note);
      loom_json_bool (json, "star", run->notes.star);
      loom_json_string (json, "sweep", run->notes.sweep);
      loom_json_string (json, "error", run->error);
      if (run->error == NULL)
        {
          add_results (json, run);
          loom_json_string (json, "change", g_hash_table_lookup (changes, run->folder));
          add_settings (json, table, i);
          add_curve (json, run->log.curve);
        }
      command_event_print (json);
    }
}

/* ---- the command --------------------------------------------------------------------------- */

/* Changes the notes of one run. */
static int
write_notes (const Command *command, const char *folder, const RunsOptions *o)
{
  g_autoptr (LoomRunSummary) run = loom_run_summary_new (folder, 2);
  g_autoptr (GError) error = NULL;
  LoomRunNotes *notes = &run->notes;

  if (run->error != NULL)
    return command_fail (command, g_error_new_literal (LOOM_ERROR, LOOM_ERROR_DATA, run->error));
  if (o->name != NULL)
    {
      g_free (notes->name);
      notes->name = g_strdup (o->name);
    }
  if (o->note != NULL)
    {
      g_free (notes->note);
      notes->note = g_strdup (o->note);
    }
  notes->star = (notes->star || o->star) && !o->no_star;
  if (!loom_run_notes_write (folder, notes, &error))
    return command_fail (command, g_steal_pointer (&error));
  return 0;
}

static int
list_runs (const Command *command, const char *folder, const RunsOptions *o)
{
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) folders = loom_run_list (folder, &error);
  g_autoptr (GPtrArray) runs = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_run_summary_unref);

  if (folders == NULL)
    return command_fail (command, g_steal_pointer (&error));
  if (folders[0] == NULL)
    return command_fail (command,
                         g_error_new (LOOM_ERROR, LOOM_ERROR_DATA,
                                      "There are no runs in %s. Runs are made with: gradloom train GRAPH --out "
                                      "FOLDER/NAME",
                                      folder));
  for (guint i = 0; folders[i] != NULL; i++)
    g_ptr_array_add (runs, loom_run_summary_new (folders[i], CURVE_POINTS));
  g_ptr_array_sort (runs, loom_run_summary_compare);
  g_autoptr (GHashTable) changes = find_changes (runs);
  if (o->sort != NULL)
    g_ptr_array_sort (runs, find_order (o->sort));
  if (o->json)
    print_json (runs, changes);
  else
    print_table (runs, changes);
  return 0;
}

static int
run_runs (const Command *command, int argc, char **argv)
{
  g_auto (RunsOptions) o = { NULL };
  const GOptionEntry entries[] = {
    { "sort", 0, 0, G_OPTION_ARG_STRING, &o.sort, "Order by begun, loss, time or name (begun)", "WHAT" },
    { "name", 0, 0, G_OPTION_ARG_STRING, &o.name, "Name the run in this folder; an empty name removes it", "TEXT" },
    { "note", 0, 0, G_OPTION_ARG_STRING, &o.note, "Write a note about the run; an empty note removes it", "TEXT" },
    { "star", 0, 0, G_OPTION_ARG_NONE, &o.star, "Mark the run with a star", NULL },
    { "no-star", 0, 0, G_OPTION_ARG_NONE, &o.no_star, "Remove the star", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o.json, "Print JSON objects, one run a line, with curves", NULL },
    { NULL },
  };

  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 2)
    return command_usage (command, "It takes one FOLDER.");
  if (o.sort != NULL && find_order (o.sort) == NULL)
    return command_usage (command, "--sort takes begun, loss, time or name, not “%s”.", o.sort);
  if (o.star && o.no_star)
    return command_usage (command, "--star and --no-star exclude each other.");
  if (o.name != NULL || o.note != NULL || o.star || o.no_star)
    return write_notes (command, argv[1], &o);
  return list_runs (command, argv[1], &o);
}

const Command command_runs = {
  .name = "runs",
  .arguments = "FOLDER",
  .summary = "list the runs of a folder: results, and what changed from one to the next",
  .details
  = "FOLDER contains folders of runs, or is one. The loss is that of the last evaluation (validation, else "
    "test), else of\n"
    "the last step; the time is that of training, with pauses. A run whose numbers became NaN, that failed, or\n"
    "whose process was killed is marked. A change compares a run with the one before it of the same graph name, "
    "by\n"
    "meaning, as gradloom diff does. --name, --note, --star and --no-star change notes.json in the folder of "
    "one run. gradloom attach shows and stops a run that trains in the background.\n\n"
    "  gradloom sweep graphs/lessons/spirals.xml --grid train.lr=0.001,0.01 --out runs\n"
    "  gradloom runs runs --sort loss\n"
    "  gradloom runs runs/0001 --name baseline --note \"as in the lecture\" --star\n",
  .run = run_runs,
};
