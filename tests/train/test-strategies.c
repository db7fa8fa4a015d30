/* Runs of several ranks, as threads of this process: 20 steps in f64 end with the weights, averages and losses of one
 * rank with the whole batch, within 1e-10, with every strategy; and all strategies have the same bits, except with
 * accumulated gradients, which are summed over ranks first or last. The runs clip by the norm, accumulate, keep
 * averages and end an epoch with an incomplete batch. With GRADLOOM_TEST_DEVICE=cuda each rank has a GPU, and they
 * communicate by NCCL, in f32. Steps are then read one step late, and a common fault is reported to all ranks at the
 * same point, so that they search for its cause together. */
#include "engine/train/trainer-private.h"
#include "tests/test-program.h"
#include "tests/train/rank-run.h"

static double
farthest (const LoomTensor *x, const LoomTensor *y)
{
  double most = 0;

  for (gint64 k = 0; k < x->count; k++)
    most = MAX (most, fabs (loom_tensor_get (x, k) - loom_tensor_get (y, k)));
  return most;
}

static const struct
{
  const char *name, *train, *inside, *loss; /* loss: more attributes of its node; NULL: none */
  guint same;                               /* the number of strategies with the same bits */
  double tolerance;                         /* against one rank */
} cases[] = {
  { "adam", "optimizer=\"adam\" lr=\"0.01\" ema=\"0.9\" precision=\"f64\"",
    "<clip norm=\"0.05\" value=\"0.03\"/><parallel bucket_mb=\"0.0001\"/>", NULL, 4, 1e-10 },
  { "accumulate", "optimizer=\"nadam\" lr=\"0.01\" accumulate=\"3\" ema=\"0.9\" precision=\"f64\"",
    "<clip norm=\"0.05\"/><parallel bucket_mb=\"0.0001\"/>", NULL, 2, 1e-10 },
  /* Batches and ranks differ in how many targets count. */
  { "counted", "optimizer=\"nadam\" lr=\"0.01\" accumulate=\"3\" precision=\"f64\"", "<parallel bucket_mb=\"0.0001\"/>",
    "ignore_index=\"1\" weight=\"0.5,2\"", 2, 1e-10 },
  { "sgd", "optimizer=\"sgd\" lr=\"0.1\" precision=\"f64\"",
    "<group match=\"hidden.*\" lr=\"0.05\"/><parallel bucket_mb=\"0\"/>", NULL, 4, 1e-10 },
  /* The length of a step is that of the tensor's norm. */
  { "lamb", "optimizer=\"lamb\" lr=\"0.01\" weight_decay=\"0.1\" precision=\"f64\"", "<parallel bucket_mb=\"0.0001\"/>",
    NULL, 4, 1e-10 },
  { "lars", "optimizer=\"lars\" lr=\"0.1\" weight_decay=\"0.1\" momentum=\"0.9\" precision=\"f64\"",
    "<clip norm=\"0.05\"/>", NULL, 4, 1e-10 },
  /* The step of a matrix needs all of it. */
  { "muon", "optimizer=\"muon\" lr=\"0.01\" precision=\"f64\"", "<clip norm=\"0.05\"/><parallel bucket_mb=\"0.0001\"/>",
    NULL, 4, 1e-10 },
  { "adafactor", "optimizer=\"adafactor\" lr=\"0.1\" weight_decay=\"0.1\" ema=\"0.9\" precision=\"f64\"",
    "<clip norm=\"0.05\"/><parallel bucket_mb=\"0.0001\"/>", NULL, 4, 1e-10 },
  { "rprop", "optimizer=\"rprop\" lr=\"0.01\" precision=\"f64\"", "<parallel bucket_mb=\"0.0001\"/>", NULL, 4, 1e-10 },
  { "asgd", "optimizer=\"asgd\" lr=\"0.1\" t0=\"5\" weight_decay=\"0.1\" precision=\"f64\"",
    "<group match=\"hidden.*\" lr=\"0.05\"/>", NULL, 4, 1e-10 },
  { "muon-accumulate", "optimizer=\"muon\" lr=\"0.01\" accumulate=\"3\" precision=\"f64\"",
    "<group match=\"hidden\" adamw=\"true\"/><parallel bucket_mb=\"0.0001\"/>", NULL, 2, 1e-10 },
  /* bf16 has 8 bits of a gradient, of which 20 steps take a tenth each. */
  { "bf16", "optimizer=\"sgd\" lr=\"0.1\"", "<parallel reduce_dtype=\"bf16\"/>", NULL, 4, 2e-3 },
  /* Copies of weights are shards of 16 bits, next to biases of 32. */
  { "bf16-weights", "optimizer=\"sgd\" lr=\"0.1\" precision=\"bf16\"", "<parallel reduce_dtype=\"bf16\"/>", NULL, 4,
    1e-2 },
};

static void
test_case (gconstpointer data)
{
  static const char *const strategy[] = { "data", "zero1", "zero2", "zero3" };
  guint c = GPOINTER_TO_UINT (data);
  /* GPUs have no f64. */
  g_auto (GStrv) train = g_strsplit (cases[c].train, on_card () ? " precision=\"f64\"" : "\n", -1);
  const double tolerance = on_card () ? MAX (cases[c].tolerance, 1e-5) : cases[c].tolerance;
  const int most = on_card () ? 2 : 3;
  g_auto (GStrv) net = g_strsplit (TRAIN_TEST_SPIRALS ("n=\"300\"", "5"), "op=\"cross_entropy\"", -1);
  g_autofree char *xml = g_strdup_printf (
      "%sop=\"cross_entropy\" %s%s<train loss=\"loss\" %s epochs=\"50\" seed=\"3\">%s</train></graph>", net[0],
      cases[c].loss != NULL ? cases[c].loss : "", net[1], train[0], cases[c].inside);
  Rank alone = { 0 };

  run_alone (&alone, xml);
  for (int ranks = 2; ranks <= most; ranks++)
    {
      Rank first[3] = { 0 };

      for (guint s = 0; s < G_N_ELEMENTS (strategy); s++)
        {
          g_autofree char *what = g_strdup_printf ("%s, %d ranks, %s", cases[c].name, ranks, strategy[s]);
          Rank rank[3] = { 0 };

          run_together (s == 0 ? first : rank, ranks, ranks, xml, strategy[s]);
          for (int k = 0; k < ranks; k++)
            if (s == 0)
              {
                compare (&alone, &first[k], tolerance, what);
                /* Only gradients are rounded for communication: before the first update the losses are the same. */
                g_assert_cmpfloat (
                    fabs (g_array_index (alone.loss, double, 0) - g_array_index (first[k].loss, double, 0)), <, 1e-6);
                /* Gradients that were rounded leave a trace. */
                if (cases[c].tolerance > 1e-4)
                  g_assert_cmpfloat (farthest (alone.value->pdata[0], first[k].value->pdata[0]), >, 1e-6);
              }
            else
              compare (&first[0], &rank[k], s < cases[c].same ? 0 : MAX (tolerance / 100, 1e-12), what);
          for (int k = 0; k < ranks && s > 0; k++)
            rank_clear (&rank[k]);
        }
      for (int k = 0; k < ranks; k++)
        rank_clear (&first[k]);
    }
  rank_clear (&alone);
}

/* Statistics over all ranks of values of 16 bits are sums in f32, as those of one rank are. */
static void
test_synchronised (gconstpointer precision)
{
  g_autofree char *xml = g_strdup_printf (
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"spirals\" "
      "n=\"300\"/><node id=\"hidden\" op=\"linear\" out_features=\"5\"/><node id=\"norm\" op=\"batch_norm1d\"/>"
      "<node id=\"act\" op=\"tanh\"/><node id=\"scores\" op=\"linear\" out_features=\"2\"/>"
      "<node id=\"loss\" op=\"cross_entropy\"/>"
      "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"norm\"/><wire from=\"norm\" to=\"act\"/>"
      "<wire from=\"act\" to=\"scores\"/><wire from=\"scores\" to=\"loss.input\"/>"
      "<wire from=\"data.y\" to=\"loss.target\"/>"
      "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" precision=\"%s\" epochs=\"50\" seed=\"3\">"
      "<parallel sync_batch_norm=\"true\"/></train></graph>",
      (const char *)precision);
  Rank alone = { 0 }, rank[2] = { 0 };

  run_alone (&alone, xml);
  run_together (rank, 2, 2, xml, "data");
  for (int k = 0; k < 2; k++)
    {
      compare (&alone, &rank[k], 2e-2, precision);
      rank_clear (&rank[k]);
    }
  rank_clear (&alone);
}

/* A parameter server without staleness, whose ranks count different numbers of targets. */
static void
test_served (void)
{
  static const char *const xml
      = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"spirals\" "
        "n=\"300\"/>"
        "<node id=\"hidden\" op=\"linear\" out_features=\"5\"/><node id=\"act\" op=\"tanh\"/>"
        "<node id=\"scores\" op=\"linear\" out_features=\"2\"/>"
        "<node id=\"loss\" op=\"cross_entropy\" ignore_index=\"1\"/>"
        "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"act\"/><wire from=\"act\" to=\"scores\"/>"
        "<wire from=\"scores\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"
        "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" precision=\"f64\" epochs=\"50\" seed=\"3\"/></graph>";
  Rank alone = { 0 }, rank[3] = { 0 };

  run_alone (&alone, xml);
  run_together (rank, 3, 2, xml, "server");
  g_assert_cmpuint (rank[0].loss->len, ==, alone.loss->len);
  for (guint i = 0; i < alone.loss->len; i++)
    g_assert_cmpfloat_with_epsilon (g_array_index (alone.loss, double, i), g_array_index (rank[0].loss, double, i),
                                    1e-10);
  for (int k = 0; k < 3; k++)
    rank_clear (&rank[k]);
  rank_clear (&alone);
}

/* The second rank alone reads each step at once, so that all do. */
static gboolean reads_at_once;

/* Updates throw the weights so far that a later step overflows. */
static gpointer
run_until_overflow (gpointer data)
{
  static const LoomTrainerObserver observer = { .step = note_loss };
  Rank *rank = data;
  g_autoptr (GError) error = NULL;

  rank->value = g_ptr_array_new ();
  rank->name = g_ptr_array_new ();
  rank->loss = g_array_new (FALSE, FALSE, sizeof (double));
  rank->trainer = train_test_new (rank->xml, rank->options);
  g_assert_cmpint (rank->trainer->loop.depth, ==, on_card ());
  if (reads_at_once && rank->options.comm->rank == 1)
    rank->trainer->loop.depth = 0;
  loom_trainer_set_observer (rank->trainer, &observer, rank);
  g_assert_cmpint (loom_trainer_run (rank->trainer, &error), ==, LOOM_TRAINER_FAILED);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_NAN);
  g_assert_cmpint (loom_trainer_steps (rank->trainer), >, 0);
  g_assert_cmpint (rank->trainer->loop.depth, ==, on_card () && !reads_at_once);
  return NULL;
}

static void
test_overflow (gconstpointer strategy)
{
  const LoomTrainerOptions options
      = { .device = "ref", .batch_size = RANK_RUN_BATCH / 2, .steps = RANK_RUN_STEPS, .strategy = strategy };
  Rank rank[2] = { 0 }, at_once[2] = { 0 };
  static const char *const xml
      = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"spirals\"/>"
        "<node id=\"hidden\" op=\"linear\" out_features=\"5\"/><node id=\"power\" op=\"exp\"/>"
        "<node id=\"scores\" op=\"linear\" out_features=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"
        "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"power\"/>"
        "<wire from=\"power\" to=\"scores\"/><wire from=\"scores\" to=\"loss.input\"/>"
        "<wire from=\"data.y\" to=\"loss.target\"/>"
        "<train loss=\"loss\" optimizer=\"sgd\" lr=\"1000000\" epochs=\"50\" seed=\"3\"/></graph>";

  run_ranks_by (run_until_overflow, rank, 2, xml, options);
  reads_at_once = TRUE;
  run_ranks_by (run_until_overflow, at_once, 2, xml, options);
  reads_at_once = FALSE;
  for (int k = 0; k < 2; k++)
    {
      g_assert_cmpint (loom_trainer_steps (rank[k].trainer), ==, loom_trainer_steps (rank[0].trainer));
      g_assert_cmpint (loom_trainer_steps (rank[k].trainer), ==, loom_trainer_steps (at_once[k].trainer));
      g_assert_cmpuint (rank[k].loss->len, ==, rank[0].loss->len);
      g_assert_cmpmem (rank[k].loss->data, rank[k].loss->len * sizeof (double), at_once[k].loss->data,
                       at_once[k].loss->len * sizeof (double));
    }
  for (int k = 0; k < 2; k++)
    {
      rank_clear (&rank[k]);
      rank_clear (&at_once[k]);
    }
}

/* Ranks report their losses of all steps but the first, before which there was no request. */
static gpointer
run_reporting (gpointer data)
{
  static const LoomTrainerObserver observer = { .step = note_loss };
  Rank *rank = data;
  LoomTrainer *t;
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensor) nothing = NULL;

  rank->value = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  rank->name = g_ptr_array_new ();
  rank->loss = g_array_new (FALSE, FALSE, sizeof (double));
  rank->trainer = t = train_test_new (rank->xml, rank->options);
  loom_trainer_set_observer (t, &observer, rank);
  if (reads_at_once && rank->options.comm->rank == 1)
    t->loop.depth = 0;
  if (rank->options.comm->rank == 0)
    {
      nothing = loom_trainer_snapshot (t, LOOM_SNAPSHOT_LOSSES, NULL, NULL);
      t->observers.reports.queried = G_MAXINT64 / 2; /* however long the run takes */
    }
  loom_trainer_run (t, &error);
  g_assert_no_error (error);
  if (rank->options.comm->rank == 0)
    g_ptr_array_add (rank->value, loom_trainer_snapshot (t, LOOM_SNAPSHOT_LOSSES, NULL, NULL));
  return NULL;
}

/* They are the same when steps are read late. */
static void
test_reported (gconstpointer strategy)
{
  const LoomTrainerOptions options
      = { .device = "ref", .batch_size = RANK_RUN_BATCH / 2, .steps = RANK_RUN_STEPS, .strategy = strategy };
  static const char *const xml = TRAIN_TEST_SPIRALS (
      "n=\"300\"", "5") "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" epochs=\"50\" seed=\"3\"/></graph>";
  Rank rank[2] = { 0 }, at_once[2] = { 0 };
  const LoomTensor *text;

  run_ranks_by (run_reporting, rank, 2, xml, options);
  reads_at_once = TRUE;
  run_ranks_by (run_reporting, at_once, 2, xml, options);
  reads_at_once = FALSE;
  text = rank[0].value->pdata[0];
  g_assert_nonnull (g_strstr_len (text->data, (gssize)text->count, "{\"step\":20,"));
  g_assert_true (loom_tensor_equal_bits (text, at_once[0].value->pdata[0]));
  for (int k = 0; k < 2; k++)
    {
      g_assert_cmpmem (rank[k].loss->data, rank[k].loss->len * sizeof (double), at_once[k].loss->data,
                       at_once[k].loss->len * sizeof (double));
      rank_clear (&rank[k]);
      rank_clear (&at_once[k]);
    }
}

/* An error of --strategy names the option as typed, not the attribute that it sets. */
static void
test_refused (void)
{
  static const struct
  {
    const char *train, *strategy, *says;
  } refused[] = {
    { "optimizer=\"adam\"><parallel sync_batch_norm=\"true\"/>", "pipeline", "With --strategy pipeline: line " },
    { "optimizer=\"adam\"><parallel sync_batch_norm=\"true\"/>", "gpipe", "With --strategy gpipe: line " },
    { "optimizer=\"lbfgs\">", "1f1b", "--strategy 1f1b: <parallel>: “lbfgs” needs all weights" },
    { "optimizer=\"lbfgs\">", "zero2", "--strategy zero2: <parallel>: strategy is “zero2”" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (refused); i++)
    {
      g_autofree char *xml = g_strconcat (TRAIN_TEST_SPIRALS ("", "4") "<train loss=\"loss\" lr=\"0.1\" ",
                                          refused[i].train, "</train></graph>", NULL);
      g_autoptr (LoomFaults) faults = loom_faults_new ();
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), NULL, faults, &error);
      LoomComm *comm[2];
      LoomMessage message;

      g_assert_no_error (error);
      g_assert_cmpint (loom_comm_threads_new (2, comm, &message), ==, LOOM_STATUS_OK);
      LoomTrainerOptions options = { .lr = NAN, .seed = -1, .strategy = refused[i].strategy, .comm = comm[0] };
      g_autoptr (LoomTrainer) trainer = loom_trainer_new (graph, &options, &error);

      g_assert_null (trainer);
      if (!g_str_has_prefix (error->message, refused[i].says))
        g_error ("“%s” does not begin with “%s”", error->message, refused[i].says);
      for (int k = 0; k < 2; k++)
        comm[k]->free (comm[k]);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint c = 0; c < G_N_ELEMENTS (cases); c++)
    {
      g_autofree char *name = g_strconcat ("/strategies/", cases[c].name, NULL);

      g_test_add_data_func (name, GUINT_TO_POINTER (c), test_case);
    }
  g_test_add_data_func ("/strategies/overflow/data", "data", test_overflow);
  g_test_add_data_func ("/strategies/overflow/zero3", "zero3", test_overflow);
  g_test_add_data_func ("/strategies/reported/data", "data", test_reported);
  g_test_add_data_func ("/strategies/reported/1f1b", "1f1b", test_reported);
  g_test_add_data_func ("/strategies/overflow/1f1b", "1f1b", test_overflow);
  g_test_add_data_func ("/strategies/overflow/gpipe", "gpipe", test_overflow);
  g_test_add_func ("/strategies/refused", test_refused);
  if (!on_card ())
    {
      g_test_add_data_func ("/strategies/synchronised/bf16", "bf16", test_synchronised);
      g_test_add_data_func ("/strategies/synchronised/f16", "f16", test_synchronised);
      g_test_add_func ("/strategies/served", test_served);
    }
  return g_test_run ();
}
