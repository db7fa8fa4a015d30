/* `gradloom train --ranks N`: the numbers of one rank with the whole batch, written once, and resumed with any number
 * of ranks. Skipped if there is no mpirun or the build has no MPI. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* The losses of all events, in their order. */
static GArray *
losses (const char *out)
{
  g_auto (GStrv) line = g_strsplit (out, "\n", -1);
  GArray *loss = g_array_new (FALSE, FALSE, sizeof (double));

  for (guint i = 0; line[i] != NULL && line[i][0] != '\0'; i++)
    {
      g_autoptr (JsonParser) parser = json_parser_new ();
      JsonObject *event;
      double x;

      g_assert_true (json_parser_load_from_data (parser, line[i], -1, NULL));
      event = json_node_get_object (json_parser_get_root (parser));
      if (!json_object_has_member (event, "loss"))
        continue;
      x = json_object_get_double_member (event, "loss");
      g_array_append_val (loss, x);
    }
  return loss;
}

#define F64 "--device", "ref", "--precision", "f64"

static void
compare_losses (const char *one, const char *several)
{
  g_autoptr (GArray) a = losses (one), b = losses (several);

  g_assert_cmpuint (a->len, >, 4);
  g_assert_cmpuint (a->len, ==, b->len);
  for (guint i = 0; i < a->len; i++)
    g_assert_cmpfloat (fabs (g_array_index (a, double, i) - g_array_index (b, double, i)), <=, 1e-10);
}

/* 30 samples a rank, so that the last batch of an epoch (of 400 samples: 20, or 40) is shorter and is divided unevenly.
 */
static void
test_equal (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml");

  if (!cli_has_mpi ())
    return;
  g_auto (CliResult) one = cli ("train", path, F64, "--json", "--epochs", "2", "--batch-size", "90", NULL);
  g_auto (CliResult) three
      = cli ("train", path, F64, "--json", "--epochs", "2", "--batch-size", "30", "--ranks", "3", NULL);

  g_assert_cmpint (one.status, ==, 0);
  if (three.status != 0)
    g_error ("status %d: %s", three.status, three.err);
  compare_losses (one.out, three.out);
  g_auto (CliResult) served = cli ("train", path, F64, "--json", "--epochs", "2", "--batch-size", "30", "--ranks", "4",
                                   "--strategy", "server", NULL);
  if (served.status != 0)
    g_error ("status %d: %s", served.status, served.err);
  compare_losses (one.out, served.out);
  g_assert_nonnull (strstr (served.out, "\"staleness_most\":0"));
}

static void
compare_weights (const char *a, const char *b)
{
  static const char *const names[] = { "hidden.weight", "scores.weight", "scores.bias" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (LoomTensor) x = cli_weight (a, names[i]), y = cli_weight (b, names[i]);

      if (x == NULL)
        continue;
      for (gint64 k = 0; k < x->count; k++)
        g_assert_cmpfloat (fabs (loom_tensor_get (x, k) - loom_tensor_get (y, k)), <=, 1e-10);
    }
}

/* The global batch is the same for any number of ranks. */
static void
test_resume (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml");

  if (!cli_has_mpi ())
    return;
  cli_expect (0, NULL, "train", path, F64, "--epochs", "2", "--batch-size", "100", "--out", "whole");
  cli_expect (0, NULL, "train", path, F64, "--epochs", "2", "--batch-size", "50", "--ranks", "2", "--steps", "3",
              "--out", "parts");
  cli_expect (0, NULL, "train", "--resume", "parts");
  /* The checkpoint is complete, and no rank waits for another one that has finished. */
  cli_expect (0, NULL, "train", "--resume", "parts", "--ranks", "2", "--timeout", "600");
  compare_weights ("whole/weights.safetensors", "parts/weights.safetensors");
}

/* A run of two ranks, whose rate was changed, is repeated by two ranks. */
static void
test_replay (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml"), *first = NULL, *again = NULL;
  gsize n, m;

  if (!cli_has_mpi ())
    return;
  cli_expect (0, NULL, "train", path, "--batch-size", "50", "--ranks", "2", "--steps", "3", "--out", "changed");
  cli_expect (0, NULL, "train", "--resume", "changed", "--ranks", "2", "--lr", "0.5", "--steps", "7");
  cli_expect (0, NULL, "train", "--replay", "changed", "--out", "repeated");
  g_assert_true (g_file_get_contents ("changed/weights.safetensors", &first, &n, NULL));
  g_assert_true (g_file_get_contents ("repeated/weights.safetensors", &again, &m, NULL));
  g_assert_cmpmem (first, n, again, m);
  g_clear_pointer (&first, g_free);
  g_clear_pointer (&again, g_free);
  g_assert_true (g_file_get_contents ("changed/events.jsonl", &first, &n, NULL));
  g_assert_true (g_file_get_contents ("repeated/events.jsonl", &again, &m, NULL));
  g_assert_nonnull (strstr (first, "\"hyper\""));
  g_assert_cmpmem (first, n, again, m);
}

/* Ranks with shards of all state write whole tensors, from which any number of ranks resumes, with other shards. */
static void
test_divided (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml");

  if (!cli_has_mpi ())
    return;
  cli_expect (0, NULL, "train", path, F64, "--epochs", "2", "--batch-size", "90", "--out", "undivided");
  cli_expect (0, NULL, "train", path, F64, "--epochs", "2", "--batch-size", "30", "--ranks", "3", "--strategy", "zero3",
              "--steps", "2", "--out", "divided");
  cli_expect (0, NULL, "train", "--resume", "divided", "--ranks", "2", "--strategy", "zero1", "--steps", "6");
  cli_expect (0, NULL, "train", "--resume", "divided");
  cli_expect (0, NULL, "train", "--resume", "divided", "--ranks", "3", "--strategy", "zero3", "--timeout", "600");
  compare_weights ("undivided/weights.safetensors", "divided/weights.safetensors");
}

/* Stages on ranks: messages between them exceed a transport's buffers, 200 × 500 numbers, in both directions. A run
 * resumes with another schedule, and prints its measured bubble next to the predicted one. */
static void
test_stages (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml"), *trace = NULL;

#define WIDE F64, "--epochs", "1", "--batch-size", "200", "--set", "hidden.out_features=500"
  if (!cli_has_mpi ())
    return;
  cli_expect (0, NULL, "train", path, WIDE, "--out", "uncut");
  cli_expect (2, "--strategy is data, zero1", "train", path, "--ranks", "2", "--strategy", "nonsense");
  cli_expect (0, NULL, "train", path, WIDE, "--ranks", "2", "--strategy", "gpipe", "--set",
              "train.parallel.microbatches=2", "--steps", "2", "--out", "cut");
  cli_expect (0, NULL, "train", "--resume", "cut", "--ranks", "2", "--strategy", "1f1b", "--trace", "stages.json");
  compare_weights ("uncut/weights.safetensors", "cut/weights.safetensors");
  g_assert_true (g_file_get_contents ("stages.json", &trace, NULL, NULL));
  g_assert_nonnull (strstr (trace, "ideal (K-1)/(M+K-1) = 1/3 = 33.3 %"));
  g_assert_nonnull (strstr (trace, "F2 "));
}

/* Ranks in a mesh, with shards of weights and of batches: the numbers of one rank, and files that any mesh resumes
 * from. */
static void
test_mesh (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml"), *text = NULL;

  if (!cli_has_mpi ())
    return;
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_auto (GStrv) halves = g_strsplit (text, "</train>", 2);
  g_autofree char *split
      = g_strconcat (halves[0], "<parallel tensor=\"2\" split=\"hidden=column,scores=row\"/></train>", halves[1], NULL);

  g_assert_true (g_file_set_contents ("split.xml", split, -1, NULL));
  cli_expect (0, NULL, "train", "split.xml", F64, "--epochs", "2", "--batch-size", "90", "--out", "alone");
  cli_expect (0, NULL, "train", "split.xml", F64, "--epochs", "2", "--batch-size", "45", "--ranks", "4", "--strategy",
              "zero3", "--steps", "2", "--out", "mesh");
  cli_expect (0, NULL, "train", "--resume", "mesh", "--ranks", "2", "--strategy", "tensor", "--steps", "6");
  cli_expect (0, NULL, "train", "--resume", "mesh");
  compare_weights ("alone/weights.safetensors", "mesh/weights.safetensors");
  g_auto (CliResult) wrong = cli ("train", "split.xml", "--ranks", "3", NULL);

  g_assert_cmpint (wrong.status, ==, 2);
  g_assert_nonnull (strstr (wrong.err, "--ranks 2"));
}

/* An error is printed once, with the status of a run with one rank. */
static void
test_wrong (void)
{
  g_autofree char *path = cli_example ("lessons/linear-regression.xml"), *spirals = cli_example ("lessons/spirals.xml");
  if (!cli_has_mpi ())
    return;
  g_auto (CliResult) missing = cli ("train", "nowhere.xml", "--ranks", "2", NULL);
  g_auto (CliResult) nan = cli ("train", path, "--ranks", "2", "--lr", "1000", "--strategy", "zero3", NULL);
  g_auto (CliResult) served = cli ("train", path, "--ranks", "3", "--lr", "1000", "--strategy", "server", "--set",
                                   "train.parallel.staleness=1", NULL);

  g_auto (CliResult) wide
      = cli ("train", spirals, F64, "--steps", "1", "--ranks", "2", "--set", "train.parallel.reduce_dtype=bf16", NULL);
  const char *warns = strstr (wide.err, "reduce_dtype=\"bf16\" has no effect");

  g_assert_cmpint (wide.status, ==, 0);
  g_assert_nonnull (warns);
  g_assert_null (strstr (warns + 1, "reduce_dtype"));
  g_assert_cmpint (missing.status, ==, 1);
  g_assert_nonnull (strstr (missing.err, "nowhere.xml"));
  g_assert_null (strstr (strstr (missing.err, "nowhere.xml") + 1, "nowhere.xml"));
  g_assert_cmpint (nan.status, ==, 4);
  g_assert_nonnull (strstr (nan.err, "first appeared at node"));
  g_assert_cmpint (served.status, ==, 4);
  g_assert_nonnull (strstr (served.err, "first appeared at node"));
  g_assert_null (strstr (strstr (served.err, "first appeared") + 1, "first appeared"));
}

/* The collectives between three ranks: each with its two sizes, the barrier once, and rates that follow from times. */
static void
check_collectives (const char *over)
{
  g_auto (CliResult) r = cli ("bench", "comm", "--ranks", "3", "--over", over, "--sizes", "8,4k", "--windows", "1",
                              "--seconds", "0.001", "--json", NULL);
  g_auto (GStrv) line = g_strsplit (r.out, "\n", -1);
  guint n = 0, rates = 0;

  g_assert_cmpint (r.status, ==, 0);
  for (guint i = 0; line[i] != NULL && line[i][0] != '\0'; i++)
    {
      g_autoptr (JsonParser) parser = json_parser_new ();
      JsonObject *event;

      g_assert_true (json_parser_load_from_data (parser, line[i], -1, NULL));
      event = json_node_get_object (json_parser_get_root (parser));
      g_assert_cmpstr (json_object_get_string_member (event, "over"), ==, over);
      g_assert_cmpint (json_object_get_int_member (event, "ranks"), ==, 3);
      if (!g_str_equal (json_object_get_string_member (event, "event"), "collective"))
        continue;
      n++;
      if (!g_str_equal (json_object_get_string_member (event, "collective"), "all_reduce"))
        continue;
      rates++;
      g_assert_cmpfloat_with_epsilon (json_object_get_double_member (event, "bus_bytes_per_second")
                                          * json_object_get_double_member (event, "seconds")
                                          / (double)json_object_get_int_member (event, "bytes"),
                                      4.0 / 3, 1e-4);
    }
  g_assert_cmpuint (n, ==, 9);
  g_assert_cmpuint (rates, ==, 2);
}

/* One batch on one device, on two replicas and on two ranks: the first two have the loss of the same weights. */
static void
check_replicas (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml");
  g_auto (CliResult) r = cli ("bench", path, "--replicas", "2", "--windows", "1", "--seconds", "0.01", "--json", NULL);
  g_auto (GStrv) line = g_strsplit (r.out, "\n", -1);
  double loss[2] = { 0 };

  g_assert_cmpint (r.status, ==, 0);
  g_assert_cmpuint (g_strv_length (line), ==, 4);
  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (JsonParser) parser = json_parser_new ();
      JsonObject *event;

      g_assert_true (json_parser_load_from_data (parser, line[i], -1, NULL));
      event = json_node_get_object (json_parser_get_root (parser));
      g_assert_cmpint (json_object_get_int_member (event, "copies") > 4, ==, i == 1);
      if (i < 2)
        loss[i] = json_object_get_double_member (event, "loss");
    }
  g_assert_cmpfloat (fabs (loss[0] - loss[1]), <, 1e-6);
  cli_expect (2, "from 2 to 64", "bench", path, "--replicas", "1");
}

/* Strategies of ranks: each has the memory of its plan; ZeRO-3 has the least, and so the largest batch. */
static void
check_strategies (void)
{
  g_autofree char *path = cli_example ("models/fashion-mlp.xml");
  g_auto (CliResult) r = cli ("bench", path, "--ranks", "2", "--strategies", "data,zero3", "--batch-size", "8",
                              "--windows", "1", "--seconds", "0.01", "--json", NULL);
  g_auto (GStrv) line = g_strsplit (r.out, "\n", -1);
  double held[2];
  gint64 largest[2];

  g_assert_cmpint (r.status, ==, 0);
  g_assert_cmpuint (g_strv_length (line), ==, 3);
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (JsonParser) parser = json_parser_new ();
      JsonObject *event;

      g_assert_true (json_parser_load_from_data (parser, line[i], -1, NULL));
      event = json_node_get_object (json_parser_get_root (parser));
      held[i] = json_object_get_double_member (event, "held_bytes");
      largest[i] = json_object_get_int_member (event, "largest_batch");
      g_assert_cmpfloat (fabs (held[i] - json_object_get_double_member (event, "planned_bytes")), <=, 0.01 * held[i]);
      g_assert_cmpfloat (json_object_get_double_member (event, "steps_per_second"), >, 0);
    }
  g_assert_cmpfloat (held[1], <, held[0]);
  g_assert_cmpint (largest[0], >=, 8);
  g_assert_cmpint (largest[1], >, largest[0]);
  cli_expect (2, "from 2 to 64", "bench", path, "--ranks", "1");
  cli_expect (2, "list of data", "bench", path, "--ranks", "2", "--strategies", "pipeline");
  cli_expect (2, "as 512M", "bench", path, "--ranks", "2", "--memory", "much");
  cli_expect (2, "need a GRAPH and --ranks", "bench", path, "--memory", "1G");
}

static void
test_collectives (void)
{
  static const char *const wrong[][3] = { { "--sizes", "10", "multiples of 4" },
                                          { "--over", "tcp", "threads or mpi" },
                                          { "--ranks", "1", "from 2 to 1024" },
                                          { "--threads", "2", "comm takes" } };

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    cli_expect (2, wrong[i][2], "bench", "comm", wrong[i][0], wrong[i][1]);
  check_replicas ();
  check_strategies ();
  cli_expect (2, "of gradloom bench comm", "bench", "x.xml", "--over", "mpi");
  check_collectives ("threads");
  if (cli_has_mpi ())
    check_collectives ("mpi");
}

/* The threads of a run's ranks under a launcher of the user, which binds them to processors, and the printed warnings.
 * (transfer full) */
static char *
run_bound (const char *out, const char *ranks, int processors, int *threads)
{
  g_autofree char *program = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL);
  g_autofree char *path = cli_example ("lessons/spirals.xml"), *map = g_strdup_printf ("slot:PE=%d", processors);
  g_autofree char *record = g_build_filename (out, "run.json", NULL);
  const char *words[] = { "mpirun",
                          "--allow-run-as-root",
                          "--use-hwthread-cpus",
                          "--map-by",
                          map,
                          "-np",
                          ranks,
                          program,
                          "train",
                          path,
                          "--epochs",
                          "1",
                          "--out",
                          out,
                          NULL };
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GError) error = NULL;
  char *said = NULL;
  int status;

  g_spawn_sync (NULL, (char **)words, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, &said,
                &status, &error);
  g_assert_no_error (error);
  g_assert_cmpint (status, ==, 0);
  json_parser_load_from_file (parser, record, &error);
  g_assert_no_error (error);
  *threads = (int)json_object_get_int_member (json_node_get_object (json_parser_get_root (parser)), "threads");
  return said;
}

/* Ranks divide a machine's processors, or those to which they are bound; idle processors are reported. */
static void
test_processors (void)
{
  int n = loom_processors (), threads;

  if (!cli_has_mpi ())
    return;
  g_autofree char *few = run_bound ("few", "1", 1, &threads);
  g_assert_cmpint (threads, ==, 1);
  g_assert_true ((strstr (few, "mpirun has bound each rank to 1 of") != NULL) == (n > 1));
  if (n < 2)
    return;
  g_autofree char *all = run_bound ("all", "2", n / 2, &threads);
  g_assert_cmpint (threads, ==, n / 2);
  g_assert_true (n % 2 != 0 || strstr (all, "mpirun has bound") == NULL);
}

/* Runs two ranks with separate command lines: their output, and the status of both. (transfer full) */
static char *
run_unlike (const char *const *first, const char *const *second, int *status)
{
  g_autofree char *program = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL);
  g_autoptr (GPtrArray) words = g_ptr_array_new ();
  g_autoptr (GError) error = NULL;
  char *said = NULL;

  g_ptr_array_add (words, (char *)"mpirun");
  g_ptr_array_add (words, (char *)"--allow-run-as-root");
  g_ptr_array_add (words, (char *)"--oversubscribe");
  for (int k = 0; k < 2; k++)
    {
      if (k > 0)
        g_ptr_array_add (words, (char *)":");
      g_ptr_array_add (words, (char *)"-np");
      g_ptr_array_add (words, (char *)"1");
      g_ptr_array_add (words, program);
      g_ptr_array_add (words, (char *)"train");
      for (const char *const *word = k > 0 ? second : first; *word != NULL; word++)
        g_ptr_array_add (words, (char *)*word);
    }
  g_ptr_array_add (words, NULL);
  g_spawn_sync (NULL, (char **)words->pdata, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL,
                &said, status, &error);
  g_assert_no_error (error);
  *status = WEXITSTATUS (*status);
  return said;
}

/* FALSE: this mpirun crashes if it is given two programs, as that of Open MPI 5.0.7 does. */
static gboolean
starts_two_programs (void)
{
  const char *words[]
      = { "mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "1", "true", ":", "-np", "1", "true", NULL };
  int status;

  return g_spawn_sync (NULL, (char **)words, NULL,
                       G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL,
                       NULL, &status, NULL)
         && g_spawn_check_wait_status (status, NULL);
}

/* A difference in one rank's options or files is reported before the first step; a timeout of one rank alone ends
 * before. */
static void
test_unlike (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml");
  int status;

  if (!cli_has_mpi ())
    return;
  if (!starts_two_programs ())
    {
      g_test_skip ("This mpirun cannot start two programs.");
      return;
    }
  g_autofree char *patience
      = run_unlike ((const char *[]){ path, "--timeout", "0.01", NULL }, (const char *[]){ path, NULL }, &status);

  g_assert_cmpint (status, ==, 3);
  g_assert_nonnull (strstr (patience, "Rank 1 would not train the same as rank 0. Different: --timeout."));

  static const char graph[]
      = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"csv\" "
        "path=\"d.csv\" target=\"y\" target_type=\"float\"/><node id=\"fit\" op=\"linear\" out_features=\"1\"/>"
        "<node id=\"loss\" op=\"mse_loss\"/><wire from=\"data.x\" to=\"fit\"/><wire from=\"fit\" to=\"loss.input\"/>"
        "<wire from=\"data.y\" to=\"loss.target\"/><train loss=\"loss\" optimizer=\"sgd\" lr=\"0.01\" batch_size=\"2\" "
        "epochs=\"1\"/></graph>";
  g_mkdir ("one", 0700);
  g_mkdir ("two", 0700);
  g_assert_true (g_file_set_contents ("one/d.csv", "x,y\n1,2\n2,4\n3,6\n4,8\n5,10\n6,12\n", -1, NULL));
  g_assert_true (g_file_set_contents ("two/d.csv", "x,y\n1,2\n2,4\n3,6\n4,8\n5,11\n6,12\n", -1, NULL));
  g_assert_true (g_file_set_contents ("one/g.xml", graph, -1, NULL));
  g_assert_true (g_file_set_contents ("two/g.xml", graph, -1, NULL));
  g_autofree char *data
      = run_unlike ((const char *[]){ "one/g.xml", NULL }, (const char *[]){ "two/g.xml", NULL }, &status);
  g_assert_cmpint (status, ==, 3);
  if (strstr (data, "Rank 1 would not train the same as rank 0. Different: content of the data.") == NULL)
    g_error ("%s", data);
}

/* Magnitudes of DoRA begin with the norms of weights that ranks have shards of, when all have read their files: one
 * that lacks its file is named. */
static void
test_magnitudes (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml");
#define DORA "--lora", "2", "--dora", "--steps", "4", "--timeout", "60"
  int status;

  if (!cli_has_mpi ())
    return;
  cli_expect (0, NULL, "train", path, F64, "--epochs", "0", "--out", "begun");
  cli_expect (0, NULL, "train", path, F64, "--weights", "begun/weights.safetensors", "--batch-size", "32", DORA,
              "--out", "dora-alone");
  cli_expect (0, NULL, "train", path, F64, "--weights", "begun/weights.safetensors", "--batch-size", "16", DORA,
              "--ranks", "2", "--strategy", "zero3", "--out", "dora-shards");
  compare_weights ("dora-alone/weights.safetensors", "dora-shards/weights.safetensors");
  g_autofree char *said = run_unlike (
      (const char *[]){ path, "--weights", "begun/weights.safetensors", "--strategy", "zero3", DORA, NULL },
      (const char *[]){ path, "--weights", "absent.safetensors", "--strategy", "zero3", DORA, NULL }, &status);
  g_assert_cmpint (status, ==, 1);
  if (strstr (said, "absent.safetensors") == NULL || strstr (said, "Rank 1") == NULL)
    g_error ("%s", said);
#undef DORA
}

/* Words are of `gradloom`, `environment` is "NAME=VALUE …". */
static void
with_environment (const char *environment, int status, const char *says, const char *command, const char *option)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml");
  g_auto (GStrv) pair = g_strsplit (environment, " ", -1);

  for (guint i = 0; pair[i] != NULL; i++)
    {
      char *value = strchr (pair[i], '=');

      *value = '\0';
      g_setenv (pair[i], value + 1, TRUE);
    }
  cli_expect (status, says, command, path, "--epochs", "1", option);
  for (guint i = 0; pair[i] != NULL; i++)
    g_unsetenv (pair[i]);
}

/* Processes that would each train alone are refused, on every rank; a single process runs. */
static void
test_launchers (void)
{
  static const char *const apart[]
      = { "RANK=0 WORLD_SIZE=2", "RANK=1 WORLD_SIZE=2 MASTER_ADDR=10.0.0.1", "SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2" };

  for (guint i = 0; i < G_N_ELEMENTS (apart); i++)
    {
      with_environment (apart[i], 2, "has started 2 processes (", "train", NULL);
      with_environment (apart[i], 2, "with --ranks 2, or with mpirun -np 2 or srun --mpi=pmix -n 2", "train", "--json");
      with_environment (apart[i], 2, "has started several processes", "sweep", NULL);
    }
  with_environment ("RANK=0 WORLD_SIZE=1", 0, "1 rank, started by torchrun", "train", NULL);
  /* A shell of srun --pty, and a batch script. */
  with_environment ("PMIX_RANK=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1", 0, "1 rank, started by srun", "train", NULL);
  with_environment ("WORLD_SIZE=2 SLURM_PROCID=0 SLURM_NTASKS=2", 0, NULL, "train", NULL);
  with_environment ("PMI_RANK=1 PMI_SIZE=2", 2, "Start it without MPICH's mpirun", "sweep", NULL);
  with_environment ("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2", 2, "Open MPI's mpirun has started them already",
                    "train", "--hosts=a,b");
  /* One rank prints the error for all. */
  g_setenv ("OMPI_COMM_WORLD_RANK", "1", TRUE);
  g_setenv ("OMPI_COMM_WORLD_SIZE", "2", TRUE);
  g_auto (CliResult) other = cli ("train", "x.xml", "--hosts=a,b", NULL);
  g_assert_cmpstr (other.err, ==, "");
  g_assert_cmpstr (other.out, ==, "");
  g_unsetenv ("OMPI_COMM_WORLD_RANK");
  g_unsetenv ("OMPI_COMM_WORLD_SIZE");
  cli_expect (2, "a,b:2", "train", "x.xml", "--hosts", "a b");
  cli_expect (2, "a,b:2", "train", "x.xml", "--hosts", "a:0");
  if (!cli_has_mpi ())
    return;
  /* As a launcher of another MPI starts them: this one finds a single process. */
  with_environment ("PMI_RANK=0 PMI_SIZE=2", 3, "has started 2 processes (PMI_SIZE), but MPI, ", "train", NULL);
  with_environment ("PMIX_RANK=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1", 0, "2 ranks on 1 machine over ", "train",
                    "--ranks=2");
  with_environment ("PMIX_RANK=1", 3, "has started process 1 (PMIX_RANK), but ", "train", NULL);
  with_environment ("PMIX_RANK=0 SLURM_STEP_NUM_TASKS=4", 3, ", finds 1: ", "train", NULL);
  with_environment ("PMI_RANK=0 PMI_SIZE=1", 0, "1 rank on 1 machine over ", "train", NULL);
  with_environment ("PMI_RANK=0 PMI_SIZE=1", 2, "--ranks is 3, but the launcher has started 1", "train", "--ranks=3");
}

/* With a library of the standard ABI, which is used if the launcher's MPI is probably not that of the build. */
static void
test_standard (void)
{
  g_autofree char *old = g_strdup (g_getenv ("LD_LIBRARY_PATH"));
  g_autofree char *folder = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "tests", "cli", NULL);
  g_autofree char *path = g_strconcat (folder, ":", old, NULL);
  g_autofree char *spirals = cli_example ("lessons/spirals.xml");
  g_autofree char *archive = g_strdup_printf ("dlname='libmpi_abi.so.1'\nlibdir='%s'\ninstalled=yes\n", folder);

  /* An archive of libtool in the working directory names no library. */
  g_unsetenv ("LD_LIBRARY_PATH");
  cli_write ("libmpi_abi.so.1.la", archive);
  g_setenv ("PMI_RANK", "1", TRUE);
  g_setenv ("PMI_SIZE", "2", TRUE);
  g_auto (CliResult) without = cli ("train", spirals, NULL);
  g_assert_cmpint (without.status, ==, 3);
  g_assert_null (strstr (without.err, "Alone"));
  g_unsetenv ("PMI_RANK");
  g_unsetenv ("PMI_SIZE");
  g_setenv ("LD_LIBRARY_PATH", path, TRUE);
  with_environment ("PMI_RANK=0 PMI_SIZE=1", 0, "1 rank on 1 machine over Alone 1.0\n", "train", NULL);
  with_environment ("PMI_RANK=1 PMI_SIZE=2", 3, "(PMI_SIZE), but MPI, Alone 1.0, finds 1: ", "train", NULL);
  if (old != NULL)
    g_setenv ("LD_LIBRARY_PATH", old, TRUE);
  else
    g_unsetenv ("LD_LIBRARY_PATH");
}

/* A launcher of this test: what the program prints for it, and how it handles its exit. */
static void
test_mpirun (void)
{
  static const struct
  {
    const char *status, *says;
    int is;
  } ends[]
      = { { "0", NULL, 0 },
          { "2", NULL, 2 },
          { "9", "A rank was ended by signal 9 (Killed), and the run has ended on all ranks. Nothing was saved", 3 },
          { "137", "A rank was lost", 3 },
          { "127", "No rank could be started on a:2,b; see mpirun's message above.", 3 },
          { "255", "No rank could be started on a:2,b; see mpirun's message above.", 3 } };
  g_autofree char *old = g_strdup (g_getenv ("PATH")), *here = g_get_current_dir ();
  g_autofree char *path = g_strconcat (here, "/bin:", old, NULL), *said = NULL;

  g_mkdir ("bin", 0700);
  cli_write (
      "bin/mpirun",
      "#!/bin/sh\n"
      "echo \"$1 $2 $3 $4 $OMPI_MCA_mca_base_env_list $HWLOC_COMPONENTS $OMPI_MCA_hwloc_base_binding_policy\" \\\n"
      "  \"$PRTE_MCA_hwloc_default_binding_policy $PRTE_MCA_rmaps_default_mapping_policy\" > said\n"
      "exit $STATUS\n");
  g_assert_cmpint (g_chmod ("bin/mpirun", 0700), ==, 0);
  g_setenv ("PATH", path, TRUE);
  g_setenv ("OMPI_MCA_mca_base_env_list", "OWN;GRADLOOM_BUILD_ROOT", TRUE);
  g_setenv ("PRTE_MCA_hwloc_default_binding_policy", "core", TRUE);
  g_unsetenv ("HWLOC_COMPONENTS");
  for (guint i = 0; i < G_N_ELEMENTS (ends); i++)
    {
      g_setenv ("STATUS", ends[i].status, TRUE);
      cli_expect (ends[i].is, ends[i].says, "train", "x.xml", "--hosts", "a:2,b");
    }
  g_assert_true (g_file_get_contents ("said", &said, NULL, NULL));
  /* The user's own settings stay. */
  g_assert_true (g_str_has_prefix (said, "--host a:2,b -np 3 OWN;GRADLOOM_BUILD_ROOT;"));
  g_assert_cmpstr (strstr (said, "GRADLOOM_BUILD_ROOT"), ==, g_strrstr (said, "GRADLOOM_BUILD_ROOT"));
  g_assert_nonnull (strstr (said, ";GRADLOOM_LAUNCHED"));
  g_assert_true (g_str_has_suffix (said, " -gl none core slot:oversubscribe\n"));
  g_setenv ("PATH", old, TRUE);
  g_unsetenv ("OMPI_MCA_mca_base_env_list");
  g_unsetenv ("PRTE_MCA_hwloc_default_binding_policy");
  g_unsetenv ("STATUS");
}

/* What one rank copies between its devices is exchanged, not computed. */
static void
test_trace_copies (void)
{
  g_autofree char *path = cli_example ("lessons/several-devices.xml"), *title = NULL;
  g_autoptr (GArray) spans = NULL;
  guint copies = 0;

  g_setenv ("GRADLOOM_CPU_DEVICES", "2", TRUE);
  cli_expect (0, NULL, "train", path, "--steps", "7", "--trace", "copies.json");
  g_unsetenv ("GRADLOOM_CPU_DEVICES");
  spans = loom_trace_read ("copies.json", &title, NULL);
  g_assert_nonnull (spans);
  for (guint i = 0; i < spans->len; i++)
    {
      const LoomTraceSpan *span = &g_array_index (spans, LoomTraceSpan, i);

      if (strstr (span->label, "→") == NULL)
        continue;
      g_assert_cmpint (span->kind, ==, LOOM_TRACE_EXCHANGE);
      copies++;
    }
  g_assert_cmpuint (copies, >, 1);
}

/* A step of one rank is forward, then backward, then the update, and the file says which. */
static void
test_trace_phases (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml"), *title = NULL;
  g_autoptr (GArray) spans = NULL;
  guint n[LOOM_N_TRACE_PHASES] = { 0 };
  int phase = LOOM_TRACE_FORWARD;

  cli_expect (0, NULL, "train", path, "--steps", "7", "--trace", "phases.json");
  spans = loom_trace_read ("phases.json", &title, NULL);
  g_assert_nonnull (spans);
  for (guint i = 0; i < spans->len; i++)
    {
      const LoomTraceSpan *span = &g_array_index (spans, LoomTraceSpan, i);

      n[span->phase]++;
      g_assert_true ((span->kind == LOOM_TRACE_WAIT) == (span->phase == LOOM_TRACE_NO_PHASE));
      if (span->kind == LOOM_TRACE_WAIT)
        continue;
      g_assert_cmpint (span->phase, >=, phase);
      phase = span->phase;
    }
  for (int p = LOOM_TRACE_FORWARD; p < LOOM_N_TRACE_PHASES; p++)
    g_assert_cmpuint (n[p], >, 2);
}

/* Lanes of two ranks: both compute and exchange, no span ends before it begins, and those of a lane follow one another.
 */
static void
test_trace (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml"), *title = NULL;
  g_autoptr (GArray) spans = NULL;
  guint n[2][LOOM_N_TRACE_KINDS] = { 0 };

  if (!cli_has_mpi ())
    return;
  g_auto (CliResult) run = cli ("train", path, "--ranks", "2", "--epochs", "3", "--trace", "lanes.json", NULL);
  g_assert_cmpint (run.status, ==, 0);
  g_assert_nonnull (strstr (run.out, "exchange overlapped with computation, step 6: rank 0 "));
  g_assert_nonnull (strstr (run.out, ", rank 1 "));
  cli_expect (2, "the folder of this file does not exist", "train", path, "--trace", "nowhere/lanes.json");
  spans = loom_trace_read ("lanes.json", &title, NULL);
  g_assert_nonnull (spans);
  g_assert_cmpstr (title, ==, "step 6");
  for (guint i = 0; i < spans->len; i++)
    {
      const LoomTraceSpan *span = &g_array_index (spans, LoomTraceSpan, i);

      g_assert_cmpint (span->rank, <, 2);
      g_assert_cmpint (span->begin, <=, span->end);
      n[span->rank][span->kind]++;
      /* Times are written to the nanosecond, read as doubles. */
      if (i > 0 && span[-1].rank == span->rank && g_str_equal (span[-1].lane, span->lane))
        g_assert_cmpint (span[-1].end, <=, span->begin + 2);
    }
  for (guint r = 0; r < 2; r++)
    {
      g_assert_cmpuint (n[r][LOOM_TRACE_COMPUTE], >, 4);
      g_assert_cmpuint (n[r][LOOM_TRACE_EXCHANGE], >, 0);
      g_assert_cmpuint (n[r][LOOM_TRACE_EXCHANGE], ==, n[1 - r][LOOM_TRACE_EXCHANGE]);
    }
  g_assert_cmpuint (n[0][LOOM_TRACE_WAIT] + n[1][LOOM_TRACE_WAIT], >, 2);
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/cli/ranks/equal", test_equal);
  g_test_add_func ("/cli/ranks/resume", test_resume);
  g_test_add_func ("/cli/ranks/replay", test_replay);
  g_test_add_func ("/cli/ranks/stages", test_stages);
  g_test_add_func ("/cli/ranks/divided", test_divided);
  g_test_add_func ("/cli/ranks/mesh", test_mesh);
  g_test_add_func ("/cli/ranks/wrong", test_wrong);
  g_test_add_func ("/cli/ranks/collectives", test_collectives);
  g_test_add_func ("/cli/ranks/trace", test_trace);
  g_test_add_func ("/cli/ranks/trace-copies", test_trace_copies);
  g_test_add_func ("/cli/ranks/trace-phases", test_trace_phases);
  g_test_add_func ("/cli/ranks/launchers", test_launchers);
  g_test_add_func ("/cli/ranks/standard", test_standard);
  g_test_add_func ("/cli/ranks/mpirun", test_mpirun);
  g_test_add_func ("/cli/ranks/unlike", test_unlike);
  g_test_add_func ("/cli/ranks/magnitudes", test_magnitudes);
  g_test_add_func ("/cli/ranks/processors", test_processors);
  status = g_test_run ();
  cli_leave ();
  return status;
}
