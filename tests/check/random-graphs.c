/* Plans and checks whole random graphs, and shrinks those that are wrong.
 *
 *   check-random-graphs --seeds 0:100000 --state graphs.state --jobs 2
 *   check-random-graphs --shrink 4711
 *
 * The first form continues from the file after an interruption; the last line counts. Seeds that crash the planner or
 * the checker count as wrong. The second form prints the smallest graph that is wrong by the same rule, and its
 * sentence. */
#include "tests/check/random-model.h"
#include "tests/check/seed-runner.h"
#include "tests/check/shrink-graph.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

typedef struct
{
  CheckOptions check;
  const char *rule;
} Same;

static gboolean
is_wrong_alike (const LoomGraph *graph, gpointer data)
{
  const Same *self = data;
  CheckResult result = { 0 };
  gboolean same;

  seed_check_apart (graph, &self->check, &result);
  same = result.outcome == CHECK_WRONG && strcmp (result.rule, self->rule) == 0;
  check_result_clear (&result);
  return same;
}

static LoomGraph *
read_text (const char *text)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();

  return loom_graph_read_data (text, strlen (text), "model", faults, NULL);
}

/* The graph of a seed that is checked: that of the first try that is not refused. */
static LoomGraph *
graph_of_seed (guint32 seed, const CheckOptions *options, CheckResult *result)
{
  CheckOptions own = *options;

  own.seed = seed;
  for (guint attempt = 0; attempt < SEED_TRIES; attempt++)
    {
      g_autofree char *text = random_model_text (seed, attempt);
      g_autoptr (LoomGraph) graph = read_text (text);

      if (graph == NULL)
        continue;
      seed_check_apart (graph, &own, result);
      if (result->outcome != CHECK_REFUSED)
        return g_steal_pointer (&graph);
    }
  return NULL;
}

static int
shrink (guint32 seed, const CheckOptions *options, int most)
{
  CheckResult result = { 0 };
  g_autoptr (LoomGraph) graph = graph_of_seed (seed, options, &result), small = NULL;
  Same same = { .check = *options };
  g_autofree char *rule = NULL, *text = NULL;
  guint n;

  if (graph == NULL || result.outcome != CHECK_WRONG)
    {
      printf ("seed %u is %s.\n", seed, graph == NULL ? "refused" : "sound");
      check_result_clear (&result);
      return graph == NULL || most > 0;
    }
  same.check.seed = seed;
  same.rule = rule = g_strdup (result.rule);
  small = shrink_graph (graph, is_wrong_alike, &same);
  seed_check_apart (small, &same.check, &result);
  text = loom_graph_write (small, NULL);
  n = shrink_count_nodes (small);
  printf ("%s%s: %s\n%u nodes, of %u\n", text, result.rule, result.text, n, shrink_count_nodes (graph));
  check_result_clear (&result);
  return most > 0 && n > (guint)most;
}

/* A graph of a file, as if it were that of a seed. */
static int
check_file (const char *path, const CheckOptions *options)
{
  CheckOptions own = *options;
  CheckResult result = { 0 };
  g_autofree char *text = NULL;
  g_autoptr (LoomGraph) graph = NULL;
  int status;

  own.seed = 1;
  if (g_file_get_contents (path, &text, NULL, NULL))
    graph = read_text (text);
  if (graph == NULL)
    {
      printf ("%s is no graph.\n", path);
      return 2;
    }
  seed_check_apart (graph, &own, &result);
  status = result.outcome != CHECK_SOUND;
  printf ("%s%s%s%s%u plans checked\n", result.rule != NULL ? result.rule : "", result.rule != NULL ? ": " : "",
          result.text != NULL ? result.text : "", result.text != NULL ? "\n" : "", result.n_plans);
  check_result_clear (&result);
  return status;
}

static int
compare_operators (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

/* The number of graphs with each operator. Returns the number of operators that none has. */
static guint
print_operators (const SeedState *state, gboolean all)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  guint missing = 0;

  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    g_ptr_array_add (names, (gpointer)(*op)->name);
  g_ptr_array_sort (names, compare_operators);
  for (guint i = 0; i < names->len; i++)
    {
      const char *name = g_ptr_array_index (names, i);
      const guint n = GPOINTER_TO_UINT (g_hash_table_lookup (state->operators, name));

      missing += n == 0;
      if (all)
        printf ("%8u %s\n", n, name);
      else if (n == 0)
        printf ("no graph has %s\n", name);
    }
  return missing;
}

int
main (int argc, char **argv)
{
  g_autofree char *seeds = NULL, *state_file = NULL, *shrunk = NULL, *shown = NULL, *file = NULL;
  int n_jobs = 1, most = 0;
  gint64 crash = -1;
  gboolean no_meaning = FALSE, inject = FALSE, verbose = FALSE, table = FALSE, complete = FALSE;
  const GOptionEntry entries[] = {
    { "seeds", 0, 0, G_OPTION_ARG_STRING, &seeds, "The seeds to check", "FROM:COUNT" },
    { "state", 0, 0, G_OPTION_ARG_FILENAME, &state_file, "Keeps the count, to resume", "FILE" },
    { "jobs", 0, 0, G_OPTION_ARG_INT, &n_jobs, "Processes (1)", "N" },
    { "shrink", 0, 0, G_OPTION_ARG_STRING, &shrunk, "Prints the smallest graph that is wrong like this one", "SEED" },
    { "most", 0, 0, G_OPTION_ARG_INT, &most, "Fails unless it is wrong and that has at most N nodes", "N" },
    { "graph", 0, 0, G_OPTION_ARG_FILENAME, &file, "Checks the graph of a file", "FILE" },
    { "show", 0, 0, G_OPTION_ARG_STRING, &shown, "Prints the graph of a seed", "SEED" },
    { "operators", 0, 0, G_OPTION_ARG_NONE, &table, "Prints how many graphs have each operator", NULL },
    { "complete", 0, 0, G_OPTION_ARG_NONE, &complete, "Fails if an operator is in no graph", NULL },
    { "no-meaning", 0, 0, G_OPTION_ARG_NONE, &no_meaning, "Does not evaluate pieces of plans", NULL },
    { "inject", 0, 0, G_OPTION_ARG_NONE, &inject, "Moves a value of each plan with a product: all are wrong", NULL },
    { "crash", 0, 0, G_OPTION_ARG_INT64, &crash, "Ends the process that checks this seed", "SEED" },
    { "verbose", 0, 0, G_OPTION_ARG_NONE, &verbose, "Prints each seed that is wrong or refused", NULL },
    { NULL },
  };
  g_autoptr (GOptionContext) context = g_option_context_new ("- checks the plans of random graphs");
  g_autoptr (GError) error = NULL;
  CheckOptions check;
  SeedOptions options;
  SeedState state;
  guint64 first, count;
  guint missing;
  char *colon;
  gboolean ok;

  setlocale (LC_ALL, "C.UTF-8");
  g_setenv ("GRADLOOM_CPU_DEVICES", "2", TRUE);
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    {
      fprintf (stderr, "%s\n", error->message);
      return 2;
    }
  check = (CheckOptions){ .meaning = !no_meaning, .inject = inject };
  if (shrunk != NULL)
    return shrink ((guint32)g_ascii_strtoull (shrunk, NULL, 10), &check, most);
  if (file != NULL)
    return check_file (file, &check);
  if (shown != NULL)
    {
      CheckResult result = { 0 };
      g_autoptr (LoomGraph) graph = graph_of_seed ((guint32)g_ascii_strtoull (shown, NULL, 10), &check, &result);
      g_autofree char *text = graph != NULL ? loom_graph_write (graph, NULL) : NULL;

      printf ("%s", text != NULL ? text : "refused\n");
      check_result_clear (&result);
      return graph == NULL;
    }
  colon = seeds != NULL ? strchr (seeds, ':') : NULL;
  if (colon == NULL)
    {
      fprintf (stderr, "It takes --seeds FROM:COUNT or --shrink SEED.\n");
      return 2;
    }
  first = g_ascii_strtoull (seeds, NULL, 10);
  count = g_ascii_strtoull (colon + 1, NULL, 10);
  options = (SeedOptions){ .check = check,
                           .n_jobs = (guint)MAX (n_jobs, 1),
                           .state_file = state_file,
                           .verbose = verbose,
                           .crash = crash >= 0 ? (guint64)crash : G_MAXUINT64 };
  seed_state_init (&state, first);
  ok = (state_file == NULL || seed_state_read (&state, state_file, &error))
       && seeds_run (&state, first + count, &options, &error);
  if (!ok)
    {
      fprintf (stderr, "%s\n", error->message);
      return 2;
    }
  for (guint i = 0; i < state.wrong->len; i++)
    {
      const WrongSeed *wrong = g_ptr_array_index (state.wrong, i);

      printf ("seed %u: %s: %s\n", wrong->seed, wrong->rule, wrong->text);
    }
  missing = print_operators (&state, table);
  if (state.n_refused > 0)
    printf ("%" G_GUINT64_FORMAT " seeds gave no graph that the engine accepts\n", state.n_refused);
  if (check.meaning)
    printf ("%" G_GUINT64_FORMAT " pieces: %" G_GUINT64_FORMAT " equal by rule, %" G_GUINT64_FORMAT
            " by evaluation, %" G_GUINT64_FORMAT " too large, %" G_GUINT64_FORMAT " not evaluated\n",
            state.pieces.all, state.pieces.by_rule, state.pieces.evaluated, state.pieces.too_large,
            state.pieces.unchecked);
  printf ("%" G_GUINT64_FORMAT " graphs, %" G_GUINT64_FORMAT " plans checked, %u wrong, operators covered %u of %u\n",
          state.n_graphs, state.n_plans, state.wrong->len, g_strv_length ((char **)loom_ops ()) - missing,
          g_strv_length ((char **)loom_ops ()));
  ok = state.wrong->len == 0 && (missing == 0 || !complete);
  seed_state_clear (&state);
  return !ok;
}
