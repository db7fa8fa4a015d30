/* `gradloom queue`: lists, adds, removes and trains the runs that wait, which are those of Studio's Runs pane, too.
 *
 * A run is taken by removing its file, as in Studio, so that no run is trained twice. */
#include "app/commands.h"
#include "app/shared/train-signals.h"
#include "app/train-view.h"
#include "engine/runs/loom-runs.h"

#include <math.h>
#include <string.h>

typedef struct
{
  char *name, *out;
  char **set;
  int remove;
  gboolean trains, json;
} QueueOptions;

static void
options_clear (QueueOptions *o)
{
  g_free (o->name);
  g_free (o->out);
  g_strfreev (o->set);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (QueueOptions, options_clear)

/* Where Studio keeps the queue ("queue") and its runs ("runs"). */
/* --remove is not given. */
#define NONE G_MININT

static char *
state_folder (const char *leaf)
{
  return g_build_filename (g_get_user_state_dir (), "gradloom", leaf, NULL);
}

static const char *
name_of (const LoomQueuedRun *run)
{
  return run->name != NULL ? run->name : run->title;
}

/* ---- list ------------------------------------------------------------------------------ */

static void
print_event (const LoomQueuedRun *run, guint number)
{
  LoomJson *json = command_event_new ("queued");

  loom_json_int (json, "number", number);
  loom_json_string (json, "name", run->name);
  loom_json_string (json, "title", run->title);
  loom_json_string (json, "document", run->document);
  loom_json_string (json, "sweep", run->sweep);
  command_event_print (json);
}

static int
list_runs (const GPtrArray *runs, gboolean as_json)
{
  for (guint i = 0; i < runs->len; i++)
    {
      const LoomQueuedRun *run = runs->pdata[i];
      g_autofree char *name = command_printable (name_of (run)), *document = command_printable (run->document);

      if (as_json)
        print_event (run, i + 1);
      else
        printf ("%4u  %s  (%s)\n", i + 1, name, document);
    }
  if (runs->len == 0 && !as_json)
    printf ("No run waits. Add one with: gradloom queue GRAPH\n");
  command_flush ();
  return 0;
}

/* ---- add and remove ---------------------------------------------------------------------- */

/* The title of a document in Studio: its file without folder and suffix. */
static char *
title_of (const char *path)
{
  char *title = g_path_get_basename (path);

  if (g_str_has_suffix (title, ".xml"))
    title[strlen (title) - strlen (".xml")] = '\0';
  return title;
}

/* Opens the graph as for training, so that no run waits that cannot be trained. */
static int
add_run (const Command *command, const char *folder, const char *path, const QueueOptions *o)
{
  const LoomTrainerOptions options = { .set = (const char *const *)o->set, .lr = NAN, .seed = -1, .history = -1 };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = command_read_graph (path, &error);
  g_autoptr (LoomTrainer) trainer = graph != NULL ? loom_trainer_new (graph, &options, &error) : NULL;
  g_autoptr (LoomQueuedRun) run = g_new0 (LoomQueuedRun, 1);

  if (trainer == NULL)
    return command_fail (command, g_steal_pointer (&error));
  run->document = g_canonicalize_filename (path, NULL);
  run->xml = loom_graph_write (loom_trainer_graph (trainer), NULL);
  run->folder
      = g_canonicalize_filename (loom_graph_get_folder (graph) != NULL ? loom_graph_get_folder (graph) : ".", NULL);
  run->title = title_of (path);
  run->name = g_strdup (o->name);
  if (!loom_run_queue_add (folder, run, &error))
    return command_fail (command, g_steal_pointer (&error));
  g_autofree char *name = command_printable (name_of (run));
  g_autoptr (GPtrArray) runs = loom_run_queue_read (folder, NULL);
  if (o->json)
    print_event (run, runs->len);
  else
    printf ("%s waits. Train the queue with: gradloom queue --run\n", name);
  return 0;
}

static int
remove_run (const Command *command, const char *folder, const GPtrArray *runs, int number)
{
  if (number < 1 || (guint)number > runs->len)
    return command_fail (command, g_error_new (LOOM_ERROR, LOOM_ERROR_DATA,
                                               runs->len == 0 ? "No run waits." : "There is no run %d: %u wait.",
                                               number, runs->len));
  if (!loom_run_queue_remove (folder, runs->pdata[number - 1]))
    return command_fail (command, g_error_new_literal (LOOM_ERROR, LOOM_ERROR_DATA,
                                                       "The run no longer waits: another program has taken it."));
  return 0;
}

/* ---- train ------------------------------------------------------------------------------- */

/* Ends the claim. *was_begun: FALSE if the run could not begin, and waits. Returns the exit status. */
static int
train (const Command *command, const char *folder, const LoomQueuedRun *run, int claim, const char *out,
       TrainSignals *signals, gboolean as_json, gboolean *was_begun)
{
  const LoomTrainerOptions options = { .out = out, .lr = NAN, .seed = -1 };
  const LoomRunNotes notes = { .name = run->name, .sweep = run->sweep };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph
      = loom_graph_read_data (run->xml, (gssize)strlen (run->xml), run->document, faults, &error);
  g_autoptr (LoomTrainer) trainer = NULL;
  TrainView view = { .json = as_json };
  LoomTrainerEnd end;
  int signal;

  if (graph != NULL)
    {
      loom_graph_set_folder (graph, run->folder);
      trainer = loom_trainer_new (graph, &options, &error);
    }
  *was_begun = trainer != NULL;
  loom_run_queue_finish (folder, run, claim, *was_begun);
  if (trainer == NULL || ((run->name != NULL || run->sweep != NULL) && !loom_run_notes_write (out, &notes, &error)))
    return command_fail (command, g_steal_pointer (&error));
  train_view_begin (&view, command, trainer);
  if (loom_trainer_notes (trainer) != NULL)
    command_warn (command, "%s", loom_trainer_notes (trainer));
  train_signals_begin (signals, trainer, out, TRUE);
  end = loom_trainer_run (trainer, &error);
  signal = train_signals_end (signals);
  train_view_end (&view, trainer, end, out);
  if (error == NULL)
    return 0;
  const int status = command_fail (command, g_steal_pointer (&error));
  return end == LOOM_TRAINER_INTERRUPTED ? 128 + (signal != 0 ? signal : SIGTERM) : status;
}

/* The first run that still waits, which is claimed; NULL: none. (transfer full) */
static LoomQueuedRun *
take (const char *folder, int *claim)
{
  g_autoptr (GPtrArray) runs = loom_run_queue_read (folder, NULL);

  g_ptr_array_set_free_func (runs, NULL);
  LoomQueuedRun *taken = NULL;
  for (guint i = 0; i < runs->len; i++)
    if (taken == NULL && (*claim = loom_run_queue_claim (folder, runs->pdata[i])) >= 0)
      taken = runs->pdata[i];
    else
      loom_queued_run_free (runs->pdata[i]);
  return taken;
}

/* A run that fails while it trains, as one of a sweep does whose rate is too high, does not hold up the others. */
static int
train_all (const Command *command, const char *folder, const QueueOptions *o)
{
  g_autofree char *kept = state_folder ("runs");
  const char *in = o->out != NULL ? o->out : kept;
  TrainSignals signals = { 0 };
  LoomQueuedRun *run;
  int status = 0, claim = -1;
  guint n = 0;

  train_signals_block (&signals);
  for (; status < 128 && (run = take (folder, &claim)) != NULL; n++)
    {
      g_autoptr (LoomQueuedRun) owned = run;
      g_autofree char *out = loom_run_folder_new (in, run->title), *name = command_printable (name_of (run));
      gboolean was_begun;
      int ended;

      if (!o->json)
        printf ("%s, in %s:\n", name, out);
      ended = train (command, folder, run, claim, out, &signals, o->json, &was_begun);
      status = ended != 0 ? ended : status;
      if (!was_begun)
        return status;
    }
  if (n == 0)
    return command_fail (
        command, g_error_new_literal (LOOM_ERROR, LOOM_ERROR_DATA, "No run waits. Add one with: gradloom queue GRAPH"));
  return status;
}

/* ---- the command --------------------------------------------------------------------------- */

static int
run_queue (const Command *command, int argc, char **argv)
{
  g_auto (QueueOptions) o = { .remove = NONE };
  const GOptionEntry entries[] = {
    { "set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &o.set, "Change one attribute of the graph that is added",
      "NODE.PARAM=VALUE" },
    { "name", 0, 0, G_OPTION_ARG_STRING, &o.name, "Name of the run that is added", "TEXT" },
    { "remove", 0, 0, G_OPTION_ARG_INT, &o.remove, "Remove the run of this number in the list", "N" },
    { "run", 0, 0, G_OPTION_ARG_NONE, &o.trains, "Train the runs, one after the other", NULL },
    { "out", 0, 0, G_OPTION_ARG_FILENAME, &o.out, "With --run: make the runs in this folder (default: Studio's)",
      "FOLDER" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o.json, "Print events as JSON, one object per line", NULL },
    { NULL },
  };
  g_autofree char *folder = state_folder ("queue");

  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc > 2 || (argc == 2) + (o.remove != NONE) + o.trains > 1)
    return command_usage (command, "It takes one GRAPH, or --remove N, or --run.");
  if (argc < 2 && (o.set != NULL || o.name != NULL))
    return command_usage (command, "--set and --name are for a GRAPH that is added.");
  if (o.out != NULL && !o.trains)
    return command_usage (command, "--out is for --run.");
  if (argc == 2 && g_str_equal (argv[1], "-"))
    return command_usage (command, "A run in the queue belongs to a file, so the graph cannot be standard input.");
  if (argc == 2)
    return add_run (command, folder, argv[1], &o);
  if (o.trains)
    return train_all (command, folder, &o);
  g_autoptr (GPtrArray) runs = loom_run_queue_read (folder, NULL);
  return o.remove != NONE ? remove_run (command, folder, runs, o.remove) : list_runs (runs, o.json);
}

const Command command_queue = {
  .name = "queue",
  .arguments = "[GRAPH | --remove N | --run]",
  .summary = "list the runs that wait, add one, or train them one after the other",
  .details
  = "The queue is that of Studio's Runs pane: each run waits in a file of its own with its graph, which later\n"
    "changes of the file do not change. A run that fails while it trains does not stop the others; Ctrl-C\n"
    "does, and they still wait.\n\n"
    "  gradloom queue graphs/lessons/spirals.xml --set train.lr=0.03 --name \"rate 0.03\"\n"
    "  gradloom queue\n"
    "  gradloom queue --run --out runs\n",
  .run = run_queue,
};
