/* `gradloom transfer`: measures transfer learning from another network's weights, as a table.
 *
 * Each GRAPH has a task of its own, similar to the task of the weights or not. It is trained for the same number of
 * steps on few or many samples in four ways: from scratch, the head alone on frozen features, the last block as well,
 * and everything (Yosinski et al., "How transferable are features in deep neural networks?", 2014). The figures of a
 * row differ only in the weights that are trained. */
#include "app/lab/commands.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct
{
  const char *weights, *head, *last;
  gint64 steps, seed;
  double lr;
  int threads;
  gboolean json;
} TransferOptions;

/* The columns: which weights are trained. */
typedef enum
{
  WAY_SCRATCH,
  WAY_HEAD,
  WAY_LAST,
  WAY_ALL,
  N_WAYS
} Way;

static const char *const ways[] = { "scratch", "head", "last", "all" };

/* The result of an evaluation. */
typedef struct
{
  double loss, metric;
  char *name; /* of the metric; NULL: none */
} Figure;

/* ---- trained weights ---------------------------------------------------------- */

static LoomElement *
find_node (const LoomGraph *graph, const char *id)
{
  for (guint i = 0; i < loom_element_n_children (loom_graph_root (graph)); i++)
    {
      LoomElement *e = loom_element_child (loom_graph_root (graph), i);

      if (loom_element_tag (e) == LOOM_TAG_NODE && g_strcmp0 (loom_element_get (e, "id"), id) == 0)
        return e;
    }
  return NULL;
}

static void
set (LoomGraph *graph, LoomElement *element, const char *attribute, const char *value)
{
  loom_edit_free (loom_graph_apply (graph, loom_edit_set (element, attribute, value)));
}

static gboolean
learns (const TransferOptions *o, Way way, const char *id)
{
  return way == WAY_SCRATCH || way == WAY_ALL || g_strcmp0 (id, o->head) == 0
         || (way == WAY_LAST && g_strcmp0 (id, o->last) == 0);
}

/* The column's choice of frozen weights replaces the graph's. */
static void
freeze (LoomGraph *graph, const TransferOptions *o, Way way)
{
  LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);

  for (guint i = 0; train != NULL && i < loom_element_n_children (train); i++)
    {
      LoomElement *e = loom_element_child (train, i);

      if (loom_element_tag (e) == LOOM_TAG_GROUP && loom_element_get (e, "frozen") != NULL)
        set (graph, e, "frozen", NULL);
    }
  for (guint i = 0; i < loom_element_n_children (loom_graph_root (graph)); i++)
    {
      LoomElement *e = loom_element_child (loom_graph_root (graph), i);

      if (loom_element_tag (e) == LOOM_TAG_NODE && !loom_op_has_role (e, LOOM_ROLE_DATASET))
        set (graph, e, "frozen", learns (o, way, loom_element_get (e, "id")) ? NULL : "true");
    }
}

static gboolean
check_nodes (const LoomGraph *graph, const char *path, const TransferOptions *o, GError **error)
{
  const char *const names[] = { o->head, o->last };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (names[i] != NULL && find_node (graph, names[i]) == NULL)
      {
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                     "%s has no node “%s” for --%s. Name a node or module of the outermost scope.", path, names[i],
                     i == 0 ? "head" : "last");
        return FALSE;
      }
  return TRUE;
}

/* ---- a figure ------------------------------------------------------------------ */

static void
eval_cb (LoomTrainer *trainer, const LoomTrainerEval *eval, gpointer data)
{
  Figure *figure = data;

  figure->loss = eval->loss;
  if (eval->n_metrics == 0)
    return;
  figure->metric = eval->metric[0];
  g_free (figure->name);
  figure->name = g_strdup (eval->metric_name[0]);
}

/* Trains in one way, and evaluates on the test samples. samples 0: all. */
static gboolean
measure (const char *path, const TransferOptions *o, gint64 samples, Way way, Figure *figure, GError **error)
{
  static const LoomTrainerObserver observer = { .eval = eval_cb };
  g_autoptr (LoomGraph) graph = command_read_graph (path, error);
  const LoomTrainerOptions options = {
    .threads = o->threads,
    .epochs = o->steps, /* more than can be reached */
    .steps = o->steps,
    .lr = o->lr,
    .seed = o->seed,
    .samples = samples,
    .weights = way == WAY_SCRATCH ? "" : o->weights,
  };

  if (graph == NULL)
    return FALSE;
  freeze (graph, o, way);
  g_autoptr (LoomTrainer) trainer = loom_trainer_new (graph, &options, error);
  if (trainer == NULL)
    return FALSE;
  LoomTrainerEnd end = loom_trainer_run (trainer, error);
  if (end != LOOM_TRAINER_DONE && end != LOOM_TRAINER_STOPPED)
    return FALSE;
  loom_trainer_set_observer (trainer, &observer, figure);
  return loom_trainer_evaluate (trainer, "test", error);
}

/* ---- the table ----------------------------------------------------------------- */

static void
print_json (const char *path, const TransferOptions *o, gint64 samples, Way way, const Figure *figure)
{
  LoomJson *json = command_event_new ("transfer");

  loom_json_string (json, "graph", path);
  if (samples > 0)
    loom_json_int (json, "samples", samples);
  else
    loom_json_null (json, "samples");
  loom_json_string (json, "trained", ways[way]);
  loom_json_int (json, "steps", o->steps);
  loom_json_exact (json, "loss", figure->loss);
  if (figure->name != NULL)
    {
      loom_json_string (json, "metric", figure->name);
      loom_json_exact (json, "value", figure->metric);
    }
  command_event_print (json);
}

static void
print_head (const TransferOptions *o, int width)
{
  printf ("%" G_GINT64_FORMAT " steps each, on the test samples; head: %s", o->steps, o->head);
  if (o->last != NULL)
    printf ("; last: %s and %s", o->last, o->head);
  printf ("\n%-*s  %8s", width, "graph", "samples");
  for (int way = 0; way < N_WAYS; way++)
    if (way != WAY_LAST || o->last != NULL)
      printf ("  %8s", ways[way]);
  printf ("\n");
  fflush (stdout);
}

static gboolean
print_row (const char *path, const TransferOptions *o, gint64 samples, int width, GError **error)
{
  g_autofree char *count = samples > 0 ? g_strdup_printf ("%" G_GINT64_FORMAT, samples) : g_strdup ("all"),
                  *name = NULL;

  if (!o->json)
    printf ("%-*s  %8s", width, path, count);
  for (int way = 0; way < N_WAYS; way++)
    {
      Figure figure = { NAN, NAN, NULL };

      if (way == WAY_LAST && o->last == NULL)
        continue;
      if (!measure (path, o, samples, way, &figure, error))
        {
          g_free (figure.name);
          printf (o->json ? "" : "\n");
          return FALSE;
        }
      if (o->json)
        print_json (path, o, samples, way, &figure);
      else
        printf ("  %8.4g", figure.name != NULL ? figure.metric : figure.loss);
      fflush (stdout);
      g_free (name);
      name = g_steal_pointer (&figure.name);
    }
  if (!o->json)
    printf ("  %s\n", name != NULL ? name : "loss");
  return TRUE;
}

/* Finds errors before anything is trained. */
static gboolean
check (const TransferOptions *o, int n, char **paths, GError **error)
{
  for (int i = 0; i < n; i++)
    {
      g_autoptr (LoomGraph) graph = command_read_graph (paths[i], error);

      if (graph == NULL || !check_nodes (graph, paths[i], o, error))
        return FALSE;
      if (loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN) == NULL)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA, "%s has no <train> with a loss, so it cannot be trained.",
                       paths[i]);
          return FALSE;
        }
    }
  const char *set;
  g_autofree char *file = loom_file_of_set (o->weights, &set);
  if (loom_path_exists (file))
    return TRUE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "There is no file “%s”.", o->weights);
  return FALSE;
}

/* ---- the command --------------------------------------------------------------- */

/* "100,all" as numbers, 0 for all. NULL if it is not valid. */
static GArray *
read_samples (const char *text)
{
  g_autoptr (GArray) samples = g_array_new (FALSE, FALSE, sizeof (gint64));
  g_auto (GStrv) word = g_strsplit (text, ",", -1);

  for (guint i = 0; word[i] != NULL; i++)
    {
      gint64 n = 0;

      if (strcmp (g_strstrip (word[i]), "all") != 0 && !g_ascii_string_to_signed (word[i], 10, 1, G_MAXINT32, &n, NULL))
        return NULL;
      g_array_append_val (samples, n);
    }
  return g_steal_pointer (&samples);
}

static int
run_transfer (const Command *command, int argc, char **argv)
{
  g_autofree char *weights = NULL, *head = NULL, *last = NULL, *samples = NULL, *lr = NULL;
  TransferOptions o = { .seed = -1, .lr = NAN };
  const GOptionEntry entries[] = {
    { "weights", 0, 0, G_OPTION_ARG_FILENAME, &weights, "The other network's weights", "FILE[#NAME]" },
    { "head", 0, 0, G_OPTION_ARG_STRING, &head, "The new node, which is always trained", "NODE" },
    { "last", 0, 0, G_OPTION_ARG_STRING, &last, "The last block of the loaded weights: adds a column", "NODE" },
    { "samples", 0, 0, G_OPTION_ARG_STRING, &samples, "Numbers of training samples, one row each (100,all)", "N,…" },
    { "steps", 0, 0, G_OPTION_ARG_INT64, &o.steps, "Steps of each training (300)", "N" },
    { "lr", 0, 0, G_OPTION_ARG_STRING, &lr, "Learning rate (default: the graph's)", "X" },
    { "seed", 0, 0, G_OPTION_ARG_INT64, &o.seed, "Seed of weights and of the choice of samples (default: the graph's)",
      "N" },
    { "threads", 0, 0, G_OPTION_ARG_INT, &o.threads, "Threads of the CPU device (default: all)", "N" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o.json, "Print one JSON object for each figure", NULL },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  g_autoptr (GArray) counts = read_samples (samples != NULL ? samples : "100,all");
  g_autoptr (GError) fault = NULL;
  int width = 5, status;

  if (!command_runs_alone (command, &status))
    return status;
  if (argc < 2)
    return command_usage (command, "GRAPH is missing. It takes one GRAPH for each task, such as a near and a far one.");
  if (weights == NULL || head == NULL)
    return command_usage (command, "It needs --%s.", weights == NULL ? "weights F.safetensors" : "head NODE");
  if (counts == NULL)
    return command_usage (command, "--samples takes numbers or the word all, separated by commas, not “%s”.", samples);
  if (lr != NULL && (!command_float (lr, &o.lr) || o.lr < 0))
    return command_usage (command, "--lr takes 0 or a positive number, not “%s”.", lr);
  command_warn_of_threads (command, o.threads);
  o.weights = weights;
  o.head = head;
  o.last = last;
  if (o.steps == 0)
    o.steps = 300;
  if (!check (&o, argc - 1, argv + 1, &fault))
    return command_fail (command, g_steal_pointer (&fault));
  for (int i = 1; i < argc; i++)
    width = MAX (width, (int)g_utf8_strlen (argv[i], -1));
  if (!o.json)
    print_head (&o, width);
  for (int i = 1; i < argc; i++)
    for (guint k = 0; k < counts->len; k++)
      {
        g_autoptr (GError) error = NULL;

        if (!print_row (argv[i], &o, g_array_index (counts, gint64, k), width, &error))
          return command_fail (command, g_steal_pointer (&error));
      }
  return 0;
}

const Command command_transfer = {
  .name = "transfer",
  .arguments = "GRAPH…",
  .summary = "measure what another network's weights are worth: with few or many samples, on near or far tasks",
  .details
  = "Each GRAPH is a task with its data set; a task may be near to the one of the weights, or far from it. A row\n"
    "for each number of training samples has the first metric on the test samples (without metrics the loss) after\n"
    "--steps steps: trained from scratch; with only the head trained on frozen features; with the last block\n"
    "trained too; and with all layers trained. The seed selects the samples. Groups that the graphs freeze "
    "are\ntrained.\n\n"
    "  gradloom train graphs/models/fashion-lenet.xml --epochs 1 --out donor\n"
    "  gradloom transfer graphs/lessons/transfer-learning.xml graphs/lessons/transfer-far.xml \\\n"
    "    --weights donor/weights.safetensors --head head --last fc1",
  .run = run_transfer,
};
