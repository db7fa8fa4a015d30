/* Starts the runs of a sweep: processes of `gradloom train --json`, a fixed number at a time, whose last lines are the
 * results. A failed run is reported in its row; the others continue. */
#include "app/lab/sweep.h"
#include "app/shared/sibling.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>


typedef struct
{
  Sweep *sweep;
  SweepRunFunc tell;
  gpointer data;
  char *program;
  GMutex lock;
} Crew;

/* ---- the events of a run ------------------------------------------------------------------ */

static double
number (JsonObject *object, const char *name)
{
  JsonNode *node = object != NULL ? json_object_get_member (object, name) : NULL;

  return node != NULL && JSON_NODE_HOLDS_VALUE (node) ? json_node_get_double (node) : NAN;
}

/* The first metric that is a number, or --metric. */
static void
take_metric (Crew *crew, SweepRun *run, JsonObject *metrics)
{
  g_autoptr (GList) names = metrics != NULL ? json_object_get_members (metrics) : NULL;

  for (GList *l = names; l != NULL; l = l->next)
    {
      const char *name = l->data;

      if ((crew->sweep->metric != NULL && !g_str_equal (crew->sweep->metric, name)) || isnan (number (metrics, name)))
        continue;
      run->metric = number (metrics, name);
      g_mutex_lock (&crew->lock);
      if (crew->sweep->metric_found == NULL)
        crew->sweep->metric_found = g_intern_string (name);
      g_mutex_unlock (&crew->lock);
      return;
    }
}

/* The validation set is used if there is one, such as a fold, else the test set. */
static void
take_line (Crew *crew, SweepRun *run, const char *line, gboolean *has_val)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonObject *event;
  const char *what;

  if (!json_parser_load_from_data (parser, line, -1, NULL) || json_parser_get_root (parser) == NULL
      || !JSON_NODE_HOLDS_OBJECT (json_parser_get_root (parser)))
    return;
  event = json_node_get_object (json_parser_get_root (parser));
  what = json_object_has_member (event, "event") ? json_object_get_string_member (event, "event") : "";
  if (g_str_equal (what, "step"))
    run->train_loss = number (event, "loss");
  else if (g_str_equal (what, "done"))
    {
      run->step = json_object_get_int_member (event, "step");
      run->parameters = number (event, "parameters");
    }
  else if (g_str_equal (what, "eval"))
    {
      gboolean is_val = g_str_equal (json_object_get_string_member (event, "split"), "val");

      if (*has_val && !is_val)
        return;
      *has_val = is_val;
      run->loss = number (event, "loss");
      take_metric (crew, run,
                   json_object_has_member (event, "metrics") ? json_object_get_object_member (event, "metrics") : NULL);
    }
}

static void
take_output (Crew *crew, SweepRun *run, const char *out)
{
  g_auto (GStrv) line = g_strsplit (out, "\n", -1);
  gboolean has_val = FALSE;

  for (guint i = 0; line[i] != NULL; i++)
    if (line[i][0] != '\0')
      take_line (crew, run, line[i], &has_val);
}

/* ---- one run --------------------------------------------------------------------------- */

/* (transfer full) */
static char *
folder_of (const Sweep *sweep, const SweepRun *run, guint index)
{
  return g_strdup_printf ("%s/%04u%s", sweep->out, index + 1, run->by == SWEEP_BY_UPDATES ? "-updates" : "");
}

static GPtrArray *
words_of (const Crew *crew, const SweepRun *run, guint index)
{
  const Sweep *sweep = crew->sweep;
  const SweepPoint *point = sweep->points->pdata[run->point];
  GPtrArray *words = g_ptr_array_new_with_free_func (g_free);

  g_ptr_array_add (words, g_strdup (crew->program));
  g_ptr_array_add (words, g_strdup ("train"));
  g_ptr_array_add (words, g_strdup (sweep->graph));
  g_ptr_array_add (words, g_strdup ("--json"));
  /* No checkpoints to go back by, since a sweep has many runs. */
  g_ptr_array_add (words, g_strdup ("--history=0"));
  for (guint i = 0; sweep->pass[i] != NULL; i++)
    g_ptr_array_add (words, g_strdup (sweep->pass[i]));
  for (guint i = 0; i < point->set->len; i++)
    {
      g_ptr_array_add (words, g_strdup ("--set"));
      g_ptr_array_add (words, g_strdup (point->set->pdata[i]));
    }
  if (run->seed >= 0)
    {
      g_ptr_array_add (words, g_strdup ("--seed"));
      g_ptr_array_add (words, g_strdup_printf ("%" G_GINT64_FORMAT, run->seed));
    }
  if (run->fold > 0)
    {
      g_ptr_array_add (words, g_strdup ("--set"));
      g_ptr_array_add (words, g_strdup_printf ("train.folds=%" G_GINT64_FORMAT, sweep->folds));
      g_ptr_array_add (words, g_strdup ("--set"));
      g_ptr_array_add (words, g_strdup_printf ("train.fold=%" G_GINT64_FORMAT, run->fold));
    }
  if (run->steps > 0)
    {
      g_ptr_array_add (words, g_strdup_printf ("--epochs=%" G_GINT64_FORMAT, run->epochs));
      g_ptr_array_add (words, g_strdup_printf ("--steps=%" G_GINT64_FORMAT, run->steps));
    }
  g_ptr_array_add (words, g_strdup ("--threads"));
  g_ptr_array_add (words, g_strdup_printf ("%d", sweep->threads));
  if (sweep->out != NULL)
    {
      g_ptr_array_add (words, g_strdup ("--out"));
      g_ptr_array_add (words, folder_of (sweep, run, index));
    }
  g_ptr_array_add (words, NULL);
  return words;
}

/* The last line that a failed run printed, without the program's name. */
static char *
last_words (const char *err, int status)
{
  g_auto (GStrv) line = g_strsplit (err != NULL ? err : "", "\n", -1);
  const char *last = NULL;

  for (guint i = 0; line[i] != NULL; i++)
    if (g_str_has_prefix (line[i], "gradloom train: "))
      last = line[i] + strlen ("gradloom train: ");
  return last != NULL ? command_printable (last) : g_strdup_printf ("The run ended with status %d.", status);
}

static void
do_run (gpointer item, gpointer data)
{
  Crew *crew = data;
  guint index = GPOINTER_TO_UINT (item) - 1;
  SweepRun *run = &g_array_index (crew->sweep->runs, SweepRun, index);
  g_autoptr (GPtrArray) words = words_of (crew, run, index);
  g_autofree char *out = NULL, *err = NULL;
  g_autoptr (GError) error = NULL;
  int status = 0;

  /* A run resolves links in its path, but the user did not type the resolved name. */
  g_autofree char *folder = crew->sweep->out != NULL ? folder_of (crew->sweep, run, index) : NULL;
  if (folder != NULL && loom_path_is_link (folder))
    run->failure
        = g_strdup_printf ("%s is a symbolic link, but runs are written only to real folders. Remove it.", folder);
  else if (!g_spawn_sync (NULL, (char **)words->pdata, NULL, G_SPAWN_DEFAULT, NULL, NULL, &out, &err, &status, &error))
    run->failure = g_strdup (error->message);
  else if (!WIFEXITED (status) || WEXITSTATUS (status) != 0)
    run->failure = last_words (err, WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status));
  if (out != NULL)
    take_output (crew, run, out);
  g_mutex_lock (&crew->lock);
  if (crew->tell)
    crew->tell (crew->sweep, run, crew->data);
  g_mutex_unlock (&crew->lock);
}

gboolean
sweep_run_all (Sweep *sweep, SweepRunFunc tell, gpointer data, GError **error)
{
  /* The folders of a build, of a relocated installation, and of the configured installation. */
  static const char *const folders[] = { "..", "../../bin", GRADLOOM_DIR, NULL };
  Crew crew = { .sweep = sweep, .tell = tell, .data = data, .program = sibling_find ("gradloom", folders, error) };
  GThreadPool *pool;

  if (crew.program == NULL)
    return FALSE;
  if (sweep->out != NULL && !loom_path_make_folder (sweep->out, 0777))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "The folder %s cannot be made.", sweep->out);
      g_free (crew.program);
      return FALSE;
    }
  g_mutex_init (&crew.lock);
  pool = g_thread_pool_new (do_run, &crew, sweep->jobs, TRUE, error);
  for (guint i = 0; pool != NULL && i < sweep->runs->len; i++)
    if (!g_array_index (sweep->runs, SweepRun, i).known)
      g_thread_pool_push (pool, GUINT_TO_POINTER (i + 1), NULL);
  if (pool != NULL)
    g_thread_pool_free (pool, FALSE, TRUE);
  g_mutex_clear (&crew.lock);
  g_free (crew.program);
  return pool != NULL;
}
