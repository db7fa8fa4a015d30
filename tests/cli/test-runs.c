/* `gradloom runs`: the table and the lines of a folder of runs, and notes about one of them. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <json-glib/json-glib.h>
#include <string.h>

static void
test_table (void)
{
  g_auto (CliResult) table = cli ("runs", "runs", NULL);
  g_auto (CliResult) sorted = cli ("runs", "runs", "--sort", "name", NULL);

  g_assert_cmpint (table.status, ==, 0);
  g_assert_nonnull (strstr (table.out, "lr 0.01 → 0.1"));
  g_assert_nonnull (strstr (table.out, "accuracy"));
  /* A damaged folder is one sentence in its place. */
  g_assert_nonnull (strstr (table.out, "it has no graph.xml"));
  g_assert_cmpint (sorted.status, ==, 0);
  g_assert_true (strstr (sorted.out, "broken") > strstr (sorted.out, "a "));
}

static void
test_notes (void)
{
  cli_expect (0, NULL, "runs", "runs/a", "--name", "baseline", "--note", "as\x1b[31m printed", "--star");
  g_auto (CliResult) r = cli ("runs", "runs", NULL);
  g_assert_nonnull (strstr (r.out, "★ baseline"));
  g_assert_nonnull (strstr (r.out, "as\\u001b[31m printed"));
  cli_expect (0, NULL, "runs", "runs/a", "--no-star", "--note", "");
  g_auto (CliResult) again = cli ("runs", "runs", NULL);
  g_assert_nonnull (strstr (again.out, "  baseline"));
  g_assert_null (strstr (again.out, "printed"));
  /* Other commands ignore the notes. */
  cli_expect (0, NULL, "eval", "runs/a");
  cli_expect (0, NULL, "train", "--resume", "runs/a", "--epochs", "2");
}

static void
test_json (void)
{
  g_auto (CliResult) r = cli ("runs", "runs", "--json", NULL);
  g_auto (GStrv) lines = g_strsplit (g_strchomp (r.out), "\n", -1);
  g_autoptr (JsonParser) parser = json_parser_new ();
  guint with_curve = 0, has_rate = 0;

  g_assert_cmpuint (g_strv_length (lines), ==, 3);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_assert_true (json_parser_load_from_data (parser, lines[i], -1, NULL));
      JsonObject *run = json_node_get_object (json_parser_get_root (parser));
      if (!json_object_get_null_member (run, "error"))
        continue;
      has_rate += strstr (lines[i], "{\"name\":\"lr\",\"value\":") != NULL;
      with_curve += json_array_get_length (json_object_get_array_member (run, "curve")) > 0;
      g_assert_cmpfloat (json_object_get_double_member (run, "parameters"), >, 0);
      g_assert_cmpint (json_object_get_int_member (run, "step"), ==, json_object_get_int_member (run, "epochs") * 4);
    }
  g_assert_cmpuint (with_curve, ==, 2);
  g_assert_cmpuint (has_rate, ==, 2);
}

static double
member_of (const char *run, const char *name)
{
  g_auto (CliResult) r = cli ("runs", run, "--json", NULL);
  g_autoptr (JsonParser) parser = json_parser_new ();

  g_assert_true (json_parser_load_from_data (parser, r.out, -1, NULL));
  return json_object_get_double_member (json_node_get_object (json_parser_get_root (parser)), name);
}

/* Times are those of training, also in a copy, and without the time between two sessions. */
static void
test_times (void)
{
  const char *const copy[] = { "cp", "-r", "times", "copied", NULL };
  double begun, seconds, resumed;
  int status;

  cli_expect (0, NULL, "train", "g.xml", "--out", "times");
  begun = member_of ("times", "begun");
  seconds = member_of ("times", "seconds");
  g_assert_cmpfloat (begun, >, 1e9);
  g_usleep (1100000);
  g_assert_true (g_spawn_sync (NULL, (char **)copy, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, &status, NULL));
  g_assert_cmpint (status, ==, 0);
  g_assert_cmpfloat (member_of ("copied", "begun"), ==, begun);
  g_assert_cmpfloat (member_of ("copied", "seconds"), ==, seconds);
  cli_expect (0, NULL, "train", "--resume", "copied", "--epochs", "2");
  resumed = member_of ("copied", "seconds");
  g_assert_cmpfloat (member_of ("copied", "begun"), ==, begun);
  g_assert_cmpfloat (resumed, >, seconds);
  g_assert_cmpfloat (member_of ("copied", "step"), ==, 8);
}

/* Of a long run every second step is in the events; the last one is known nevertheless. */
static void
test_last_step (void)
{
  cli_expect (0, NULL, "train", "g.xml", "--epochs", "10000", "--steps", "41", "--out", "sparse");
  g_assert_cmpfloat (member_of ("sparse", "step"), ==, 41);
}

/* A step whose numbers are not finite ends the run, and is named. */
static void
test_nan (void)
{
  g_auto (CliResult) table = { 0 };

  cli_expect (4, "no longer finite", "train", "diverging.xml", "--out", "nan");
  table = cli ("runs", "nan", NULL);
  g_assert_nonnull (strstr (table.out, "NaN at step "));
  g_assert_cmpfloat (member_of ("nan", "nan_step"), ==, member_of ("nan", "step") + 1);
}

/* The queue of Studio, by the command line. */
static void
test_queue (void)
{
  g_autofree char *state = g_canonicalize_filename ("state", NULL);
  g_auto (CliResult) listed = { 0 }, json = { 0 }, runs = { 0 };

  g_setenv ("XDG_STATE_HOME", state, TRUE);
  cli_expect (1, "No run waits", "queue", "--run");
  cli_expect (0, NULL, "queue", "g.xml", "--set", "train.lr=0.02", "--name", "slow");
  cli_expect (0, NULL, "queue", "diverging.xml");
  cli_expect (0, NULL, "queue", "g.xml");
  cli_expect (0, NULL, "queue", "g.xml", "--name", "never");
  cli_expect (2, "lr is -1", "queue", "g.xml", "--set", "train.lr=-1");
  cli_expect (2, "--out is for --run", "queue", "--out", "x");
  cli_expect (1, "There is no run 9", "queue", "--remove", "9");
  cli_expect (1, "There is no run 0: 4 wait.", "queue", "--remove", "0");
  cli_expect (2, "It takes one GRAPH", "queue", "--remove", "0", "--run");
  cli_expect (0, NULL, "queue", "--remove", "4");
  listed = cli ("queue", NULL);
  g_assert_nonnull (strstr (listed.out, "   1  slow  ("));
  g_assert_null (strstr (listed.out, "never"));
  json = cli ("queue", "--json", NULL);
  g_assert_nonnull (strstr (json.out, "{\"event\":\"queued\",\"number\":3,\"name\":null,\"title\":\"g\""));
  /* The second one fails, and the third is trained. */
  cli_expect (4, "no longer finite", "queue", "--run", "--out", "queued");
  cli_expect (1, "No run waits", "queue", "--run");
  runs = cli ("runs", "queued", NULL);
  g_assert_nonnull (strstr (runs.out, "slow"));
  g_assert_nonnull (strstr (runs.out, "diverging-0001"));
  g_assert_nonnull (strstr (runs.out, "NaN at step "));
  g_assert_nonnull (strstr (runs.out, "g-0002"));
  /* A run that cannot begin waits again. */
  cli_expect (0, NULL, "queue", "g.xml");
  cli_write ("file", "");
  cli_expect (5, NULL, "queue", "--run", "--out", "file/below");
  cli_clear (&listed);
  listed = cli ("queue", NULL);
  g_assert_nonnull (strstr (listed.out, "   1  g  ("));
  cli_expect (0, NULL, "queue", "--remove", "1");
  g_unsetenv ("XDG_STATE_HOME");
}

static void
test_wrong (void)
{
  cli_expect (1, "There are no runs in empty", "runs", "empty");
  cli_expect (5, "nowhere", "runs", "nowhere");
  cli_expect (2, "--sort takes", "runs", "runs", "--sort", "size");
  cli_expect (1, "it has no graph.xml", "runs", "runs/broken", "--star");
  cli_expect (2, "one FOLDER", "runs");
}

static void
make_runs (void)
{
  cli_write ("g.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"s\">\n"
                      "<node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"64\" n_test=\"16\"/>\n"
                      "<node id=\"fc\" op=\"linear\" out_features=\"2\"/>\n<node id=\"loss\" op=\"cross_entropy\"/>\n"
                      "<wire from=\"data.x\" to=\"fc\"/>\n<wire from=\"fc\" to=\"loss.input\"/>\n"
                      "<wire from=\"data.y\" to=\"loss.target\"/>\n"
                      "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.01\" batch_size=\"16\" epochs=\"1\">\n"
                      "<metric type=\"accuracy\" input=\"fc\" target=\"data.y\"/>\n</train>\n</graph>\n");
  cli_write ("diverging.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" "
                              "source=\"linear\"/><node id=\"fc\" op=\"linear\" out_features=\"1\"/>"
                              "<node id=\"loss\" op=\"mse_loss\"/><wire from=\"data.x\" to=\"fc\"/>"
                              "<wire from=\"fc\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"
                              "<train loss=\"loss\" optimizer=\"sgd\" lr=\"1000\" epochs=\"100\"/></graph>");
  g_mkdir_with_parents ("runs/broken", 0755);
  g_mkdir_with_parents ("empty", 0755);
  cli_write ("runs/broken/run.json", "{}");
  cli_expect (0, NULL, "train", "g.xml", "--out", "runs/a");
  cli_expect (0, NULL, "train", "g.xml", "--lr", "0.1", "--out", "runs/b");
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  make_runs ();
  g_test_add_func ("/runs/table", test_table);
  g_test_add_func ("/runs/notes", test_notes);
  g_test_add_func ("/runs/json", test_json);
  g_test_add_func ("/runs/wrong", test_wrong);
  g_test_add_func ("/runs/times", test_times);
  g_test_add_func ("/runs/last-step", test_last_step);
  g_test_add_func ("/runs/nan", test_nan);
  g_test_add_func ("/runs/queue", test_queue);
  status = g_test_run ();
  cli_leave ();
  return status;
}
