/* `gradloom sweep`: every setting with every seed and fold, the same numbers as single runs, draws that a seed repeats,
 * and runs that fail without ending the others. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* The objects of one event. (transfer full) */
static GPtrArray *
events (const CliResult *r, const char *what)
{
  g_auto (GStrv) line = g_strsplit (r->out, "\n", -1);
  GPtrArray *all = g_ptr_array_new_with_free_func ((GDestroyNotify)json_object_unref);

  for (guint i = 0; line[i] != NULL && line[i][0] != '\0'; i++)
    {
      g_autoptr (JsonParser) parser = json_parser_new ();
      JsonObject *event;

      g_assert_true (json_parser_load_from_data (parser, line[i], -1, NULL));
      event = json_node_get_object (json_parser_get_root (parser));
      if (g_str_equal (json_object_get_string_member (event, "event"), what))
        g_ptr_array_add (all, json_object_ref (event));
    }
  return all;
}

static double
last_loss (const CliResult *r)
{
  g_autoptr (GPtrArray) evals = events (r, "eval");

  g_assert_cmpuint (evals->len, >, 0);
  return json_object_get_double_member (evals->pdata[evals->len - 1], "loss");
}

static void
test_grid (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml"), *csv = NULL;
  g_auto (CliResult) r = cli ("sweep", path, "--grid", "train.lr=0.001,0.01", "--grid", "hidden.out_features=4,8",
                              "--seeds", "1,2", "--epochs", "1", "--json", "--csv", "runs.csv", NULL);
  g_auto (CliResult) a = cli ("train", path, "--set", "train.lr=0.01", "--set", "hidden.out_features=4", "--seed", "1",
                              "--epochs", "1", "--json", NULL);
  g_auto (CliResult) b = cli ("train", path, "--set", "train.lr=0.01", "--set", "hidden.out_features=4", "--seed", "2",
                              "--epochs", "1", "--json", NULL);
  g_autoptr (GPtrArray) runs = events (&r, "run"), points = events (&r, "sweep");
  double mean = (last_loss (&a) + last_loss (&b)) / 2, spread = fabs (last_loss (&a) - last_loss (&b)) / sqrt (2);

  g_assert_cmpint (r.status, ==, 0);
  g_assert_cmpuint (runs->len, ==, 8);
  g_assert_cmpuint (points->len, ==, 4);
  g_assert_cmpstr (
      json_object_get_string_member (json_object_get_object_member (points->pdata[1], "settings"), "train.lr"), ==,
      "0.01");
  g_assert_cmpint (json_object_get_int_member (points->pdata[1], "runs"), ==, 2);
  /* Runs of a sweep may have other threads, which sum in another order. */
  g_assert_cmpfloat (fabs (json_object_get_double_member (points->pdata[1], "loss") - mean), <, 1e-3);
  g_assert_cmpfloat (fabs (json_object_get_double_member (points->pdata[1], "loss_spread") - spread), <, 1e-3);
  g_assert_true (g_file_get_contents ("runs.csv", &csv, NULL, NULL));
  g_assert_true (g_str_has_prefix (
      csv, "train.lr,hidden.out_features,seed,step,parameters,train_loss,loss,accuracy,failure\n0.001,4,1,"));
}

/* Cases are several settings under one name. With equal updates a setting of larger batches has more epochs, and one
 * that has as many updates is not trained again. */
static void
test_cases (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml"), *csv = NULL, *svg = NULL;
  g_auto (CliResult) r = cli ("sweep", path, "--case", "plain:", "--case",
                              "scaled: train.lr_batch_size=100 train.schedule.warmup_steps=2", "--grid",
                              "train.batch_size=100,250", "--epochs", "2", "--equal", "both", "--json", "--csv",
                              "cases.csv", "--plot", "cases.svg", "--x", "train.batch_size", NULL);
  g_autoptr (GPtrArray) runs = events (&r, "run"), points = events (&r, "sweep");

  g_assert_cmpint (r.status, ==, 0);
  g_assert_cmpuint (runs->len, ==, 4 + 2);
  g_assert_cmpuint (points->len, ==, 8);
  for (guint i = 0; i < 8; i++)
    {
      double steps = json_object_get_double_member (points->pdata[i], "steps");
      gboolean small = strcmp (json_object_get_string_member (
                                   json_object_get_object_member (points->pdata[i], "settings"), "train.batch_size"),
                               "100")
                       == 0;

      g_assert_cmpstr (json_object_get_string_member (points->pdata[i], "case"), ==,
                       i / 2 % 2 == 0 ? "plain" : "scaled");
      g_assert_cmpint (json_object_has_member (points->pdata[i], "by"), ==, i >= 4);
      g_assert_cmpfloat (steps, ==, i >= 4 || small ? 20 : 8);
      g_assert_cmpfloat (json_object_get_double_member (points->pdata[i], "parameters"), ==, 162);
    }
  g_assert_true (g_file_get_contents ("cases.csv", &csv, NULL, NULL));
  g_assert_true (g_str_has_prefix (csv, "case,train.batch_size,by,seed,step,parameters,"));
  g_assert_true (g_file_get_contents ("cases.svg", &svg, NULL, NULL));
  g_assert_nonnull (strstr (svg, ">scaled</text>"));
  cli_expect (2, "takes a name", "sweep", path, "--case", "train.lr=1");
  cli_expect (2, "loss, error or metric", "sweep", path, "--plot", "a.svg", "--x", "train.lr", "--y", "speed");
  cli_expect (2, "needs --x NAME", "sweep", path, "--plot", "a.svg");
  cli_expect (2, "epochs or both", "sweep", path, "--equal", "steps");
  cli_expect (0, NULL, "sweep", path, "--grid", "train.epochs=0,2", "--equal", "both"); /* no updates to make equal */
}

static guint
count_of (const char *text, const char *part)
{
  guint n = 0;

  for (const char *at = strstr (text, part); at != NULL; at = strstr (at + 1, part))
    n++;
  return n;
}

/* An error has a linear axis in percent, bars of two standard deviations, and no power law. A setting whose runs all
 * failed is a cross and no point. */
static void
test_error_plot (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml"), *svg = NULL;
  g_auto (CliResult) r
      = cli ("sweep", path, "--grid", "train.lr=0.01,0.03,0.1,1e30", "--set", "train.optimizer=sgd", "--seeds", "1,2",
             "--epochs", "2", "--plot", "error.svg", "--x", "train.lr", "--y", "error", NULL);

  g_assert_cmpint (r.status, ==, 0);
  g_assert_null (strstr (r.out, "≈"));
  g_assert_true (g_file_get_contents ("error.svg", &svg, NULL, NULL));
  g_assert_nonnull (strstr (svg, ">error, %</text>"));
  g_assert_nonnull (
      strstr (svg, "Bars: two standard deviations of the runs in both directions. Crosses: all runs failed."));
  g_assert_cmpuint (count_of (svg, "<circle"), ==, 3);
  g_assert_null (strstr (svg, "stroke-dasharray"));
}

static void
test_random (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml");
  static const char *const range[] = { "train.lr=1e-4..1e-1:log", "hidden.out_features=4..6:int" };
  g_auto (CliResult) a = cli ("sweep", path, "--random", "4", "--range", range[0], "--range", range[1], "--steps", "1",
                              "--jobs", "1", "--json", NULL);
  g_auto (CliResult) b = cli ("sweep", path, "--random", "4", "--range", range[0], "--range", range[1], "--steps", "1",
                              "--jobs", "1", "--json", NULL);
  g_autoptr (GPtrArray) points = events (&a, "sweep");

  g_assert_cmpint (a.status, ==, 0);
  g_assert_cmpstr (a.out, ==, b.out);
  g_assert_cmpuint (points->len, ==, 4);
  for (guint i = 0; i < 4; i++)
    {
      JsonObject *settings = json_object_get_object_member (points->pdata[i], "settings");
      double lr = g_ascii_strtod (json_object_get_string_member (settings, "train.lr"), NULL);
      double n = g_ascii_strtod (json_object_get_string_member (settings, "hidden.out_features"), NULL);

      g_assert_true (lr >= 1e-4 && lr <= 1e-1 && n >= 4 && n <= 6 && n == floor (n));
    }
}

/* Every fold once, all of different samples: their losses differ, and the mean and the spread are theirs. */
static void
test_folds (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml"), *csv = NULL;
  g_auto (CliResult) r
      = cli ("sweep", path, "--folds", "3", "--epochs", "1", "--json", "--csv", "folds.csv", "--out", "folds", NULL);
  g_autoptr (GPtrArray) runs = events (&r, "run"), points = events (&r, "sweep");
  double loss[3] = { 0 }, mean = 0, squares = 0;

  g_assert_cmpint (r.status, ==, 0);
  g_assert_cmpuint (runs->len, ==, 3);
  for (guint i = 0; i < 3; i++)
    {
      gint64 fold = json_object_get_int_member (runs->pdata[i], "fold");

      g_assert_true (fold >= 1 && fold <= 3 && loss[fold - 1] == 0);
      loss[fold - 1] = json_object_get_double_member (runs->pdata[i], "loss");
      mean += loss[fold - 1] / 3;
    }
  for (guint i = 0; i < 3; i++)
    squares += (loss[i] - mean) * (loss[i] - mean);
  g_assert_cmpfloat (loss[0], !=, loss[1]);
  g_assert_cmpfloat (fabs (json_object_get_double_member (points->pdata[0], "loss") - mean), <, 1e-6);
  g_assert_cmpfloat (fabs (json_object_get_double_member (points->pdata[0], "loss_spread") - sqrt (squares / 2)), <,
                     1e-6);
  g_assert_true (g_file_get_contents ("folds.csv", &csv, NULL, NULL));
  g_assert_true (g_str_has_prefix (csv, "seed,fold,step,parameters,train_loss,loss,accuracy,failure\n,1,"));
  cli_expect (0, NULL, "train", "--resume", "folds/0001", "--epochs", "2");
  cli_expect (2, "2 or more", "sweep", path, "--folds", "1");
  cli_expect (2, "more than 100000 runs", "sweep", path, "--folds", "1000000000");
  cli_expect (2, "folds is 3", "train", path, "--set", "train.folds=3", "--set", "train.fold=4");
  cli_expect (2, "Set folds", "train", path, "--set", "train.fold=2");
  cli_expect (1, "into 100000 folds", "train", path, "--set", "train.folds=100000");
}

static void
test_wrong (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml");
  g_auto (CliResult) some = cli ("sweep", path, "--grid", "hidden.out_features=4,-4", "--steps", "1", NULL);

  g_assert_cmpint (some.status, ==, 0);
  g_assert_nonnull (strstr (some.out, "1 failed: "));
  cli_expect (1, NULL, "sweep", path, "--grid", "train.nope=1,2", "--steps", "1");
  cli_expect (2, "such as train.lr=", "sweep", path, "--grid", "lr=1");
  cli_expect (2, "--range", "sweep", path, "--random", "2");
  cli_expect (2, "is not a range", "sweep", path, "--random", "2", "--range", "train.lr=2..1");
  cli_expect (2, "--seeds takes", "sweep", path, "--seeds", "x");
  cli_expect (2, "positive", "sweep", path, "--jobs", "0");
  cli_expect (1, "nowhere.xml", "sweep", "nowhere.xml");
}

/* An untrusted folder of runs cannot redirect a run elsewhere. */
static void
test_linked (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml");

  g_assert_cmpint (g_mkdir ("linked", 0777), ==, 0);
  g_assert_cmpint (g_mkdir ("elsewhere", 0777), ==, 0);
  g_assert_cmpint (symlink ("../elsewhere", "linked/0001"), ==, 0);
  g_auto (CliResult) r = cli ("sweep", path, "--seeds", "1", "--steps", "1", "--out", "linked", NULL);
  g_assert_cmpint (r.status, ==, 1);
  g_assert_nonnull (strstr (r.out, "is a symbolic link"));
  g_assert_false (g_file_test ("elsewhere/graph.xml", G_FILE_TEST_EXISTS));
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/cli/sweep/grid", test_grid);
  g_test_add_func ("/cli/sweep/cases", test_cases);
  g_test_add_func ("/cli/sweep/error-plot", test_error_plot);
  g_test_add_func ("/cli/sweep/random", test_random);
  g_test_add_func ("/cli/sweep/folds", test_folds);
  g_test_add_func ("/cli/sweep/wrong", test_wrong);
  g_test_add_func ("/cli/sweep/linked", test_linked);
  status = g_test_run ();
  cli_leave ();
  return status;
}
