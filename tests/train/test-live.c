/* Numbers and the batch size change while a run trains: it is repeated, resumed, branched from and gone back to with
 * the same bits, and values outside their limits are refused with a sentence. */
#include "tests/scratch.h"
#include "tests/test-program.h"
#include "tests/train/rank-run.h"
#include "tests/train/train-test.h"

#include "engine/infer/loom-run-files.h"

/* 160 samples; batches of 16. */
#define NET(TRAIN)                                                                                                     \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"160\" "   \
  "n_test=\"32\"/><node id=\"hidden\" op=\"linear\" out_features=\"16\"/><node id=\"act\" op=\"tanh\"/>"               \
  "<node id=\"drop\" op=\"dropout\" p=\"0.1\"/><node id=\"scores\" op=\"linear\" out_features=\"2\"/>"                 \
  "<node id=\"loss\" op=\"cross_entropy\"/><wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"act\"/>"    \
  "<wire from=\"act\" to=\"drop\"/><wire from=\"drop\" to=\"scores\"/><wire from=\"scores\" to=\"loss.input\"/>"       \
  "<wire from=\"data.y\" to=\"loss.target\"/><train loss=\"loss\" batch_size=\"16\" epochs=\"4\" seed=\"3\" " TRAIN    \
  "</train></graph>"

static const char *const graphs[]
    = { NET ("optimizer=\"adam\" lr=\"0.01\"><schedule type=\"cosine\"/>"),
        NET ("optimizer=\"sgd\" lr=\"0.1\" momentum=\"0.9\" accumulate=\"2\" ema=\"0.9\">"),
        NET ("optimizer=\"sgd\" lr=\"0.1\" momentum=\"0.9\" drop_last=\"true\"><clip norm=\"1\"/>") };

/* In the middle of the first epoch, at the end of one, and to sizes that divide nothing. */
static const struct
{
  gint64 step;
  const char *name;
  double value;
} changes[] = { { 2, "batch_size", 24 },  { 5, "batch_size", 7 }, { 9, "drop.p", 0.4 },
                { 9, "batch_size", 100 }, { 12, "lr", 0.02 },     { 14, "batch_size", 10 } };

typedef struct
{
  gboolean changes;
  double loss[300], lr[300];
  gint64 total[300];
} Watch;

static void
step_cb (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  Watch *watch = data;

  watch->loss[step->step] = step->loss;
  watch->lr[step->step] = step->lr;
  watch->total[step->step] = step->total_steps;
  for (guint i = 0; watch->changes && i < G_N_ELEMENTS (changes); i++)
    if (changes[i].step == step->step)
      loom_trainer_post (trainer, LOOM_COMMAND_SET_HYPER, changes[i].name, changes[i].value);
}

static const LoomTrainerObserver observer = { .step = step_cb };

/* (transfer full) */
static LoomTrainer *
run (const char *xml, LoomTrainerOptions options, Watch *watch)
{
  LoomTrainer *trainer = train_test_new (xml, options);
  g_autoptr (GError) error = NULL;

  loom_trainer_set_observer (trainer, &observer, watch);
  loom_trainer_run (trainer, &error);
  g_assert_no_error (error);
  return trainer;
}

/* Sums of gradients are begun by each step. */
static void
expect_same (LoomTrainer *a, LoomTrainer *b)
{
  LoomState *state = loom_trainer_state (a);

  g_assert_cmpint (loom_trainer_steps (a), ==, loom_trainer_steps (b));
  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      const char *name;
      g_autoptr (LoomTensor) one = NULL, two = NULL;

      loom_state_slot (state, i, &name, NULL, NULL);
      one = loom_state_get (state, name, NULL);
      two = loom_state_get (loom_trainer_state (b), name, NULL);
      if (strstr (name, "accumulate") == NULL && !loom_tensor_equal_bits (one, two))
        g_error ("%s differs after step %d", name, (int)loom_trainer_steps (a));
    }
}

static void
test_bits (void)
{
  for (guint g = 0; g < G_N_ELEMENTS (graphs); g++)
    {
      g_autofree char *top = g_dir_make_tmp ("live-XXXXXX", NULL), *path = g_build_filename (top, "run", NULL);
      g_autofree char *cut = g_build_filename (top, "cut", NULL), *branch = g_build_filename (top, "branch", NULL);
      Watch changed = { .changes = TRUE }, again = { 0 }, plain = { 0 }, halves = { .changes = TRUE }, child = { 0 };
      g_autoptr (LoomTrainer) trainer = run (graphs[g], (LoomTrainerOptions){ .out = path }, &changed);
      const gint64 last = loom_trainer_steps (trainer), at[] = { 3, 1, 8, last - 1, 10, MIN (17, last) };
      g_autoptr (LoomTrainer) unchanged = run (graphs[g], (LoomTrainerOptions){ .steps = 8 }, &plain);
      g_autoptr (LoomTrainer) repeated = run (graphs[g], (LoomTrainerOptions){ .replay = path }, &again);
      g_autoptr (GError) error = NULL;

      g_assert_cmpfloat (changed.loss[8], !=, plain.loss[8]);
      expect_same (trainer, repeated);
      for (gint64 i = 1; i <= last; i++)
        g_assert_cmpfloat (changed.loss[i], ==, again.loss[i]);
      /* Resumed before, between and after changes. */
      for (gint64 stop = 1; stop <= 16; stop += 5)
        {
          g_autofree char *folder = g_strdup_printf ("%s-%d", cut, (int)stop);
          LoomTrainer *first = run (graphs[g], (LoomTrainerOptions){ .out = folder, .steps = stop }, &halves);
          g_autoptr (LoomTrainer) second = NULL;

          loom_trainer_free (first);
          second = run (NULL, (LoomTrainerOptions){ .resume = folder }, &halves);
          expect_same (trainer, second);
        }
      for (guint i = 0; i < G_N_ELEMENTS (at); i++)
        {
          g_autoptr (LoomTrainer) other
              = run (graphs[g], (LoomTrainerOptions){ .replay = path, .steps = at[i] }, &again);

          g_assert_true (loom_trainer_travel (trainer, at[i], NULL, &error));
          g_assert_no_error (error);
          expect_same (trainer, other);
        }
      g_assert_true (loom_trainer_travel (trainer, -1, NULL, &error));
      expect_same (trainer, repeated);
      /* A branch between two changes has those before it. */
      g_autoptr (LoomTrainer) from
          = run (NULL, (LoomTrainerOptions){ .branch = path, .branch_step = 7, .out = branch, .steps = 9 }, &child);
      for (gint64 i = 8; i <= 9; i++)
        g_assert_cmpfloat (child.loss[i], ==, changed.loss[i]);
      remove_tree (top);
    }
}

/* Every sample of an epoch is read once, and a schedule keeps its length in samples. */
static void
test_counts (void)
{
  Watch watch = { .changes = TRUE };
  g_autoptr (LoomTrainer) trainer = run (graphs[0], (LoomTrainerOptions){ 0 }, &watch);

  /* 2 steps of 16, 3 of 24, 4 of 7 make 132, and a rest of 28; then 100, 60; 100; then tens. */
  g_assert_cmpint (watch.total[1], ==, 40);
  g_assert_cmpint (watch.total[3], ==, 2 + 6 + 3 * 7);
  g_assert_cmpint (watch.total[6], ==, 5 + 8 + 3 * 23);
  g_assert_cmpint (watch.total[10], ==, 9 + 1 + 3 * 2);
  g_assert_cmpint (loom_trainer_total_steps (trainer), ==, loom_trainer_steps (trainer));
  g_assert_cmpint (loom_trainer_steps (trainer), ==, 10 + 2 + 2 + 16);
  for (gint64 i = 2; i <= loom_trainer_steps (trainer); i++)
    g_assert_cmpfloat (watch.lr[i], <=, i == 13 ? 0.02 : watch.lr[i - 1]);
  g_assert_cmpfloat (watch.lr[30], <, 0.002);
}

static void
expect_refused (LoomTrainer *trainer, const char *name, double value, const char *says)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (loom_trainer_check_hyper (trainer, name, value, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
  if (strstr (error->message, says) == NULL)
    g_error ("“%s” is not in “%s”", says, error->message);
}

static void
test_limits (void)
{
  g_autoptr (LoomTrainer) trainer = train_test_new (graphs[2], (LoomTrainerOptions){ 0 });
  g_autoptr (GError) error = NULL;
  static const struct
  {
    const char *name;
    double value;
  } good[] = { { "lr", 0 },           { "lr", 1e6 },         { "momentum", 1 }, { "weight_decay", 0.5 },
               { "clip_norm", 1e-3 }, { "batch_size", 160 }, { "drop.p", 0 },   { "batch_size", 16 } };

  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_assert_true (loom_trainer_check_hyper (trainer, good[i].name, good[i].value, &error));
      g_assert_no_error (error);
    }
  expect_refused (trainer, "lr", -0.1, "“lr” must be a number from 0 to 1000000, not -0.1.");
  expect_refused (trainer, "lr", NAN, "lr");
  expect_refused (trainer, "momentum", 1.5, "from 0 to 1");
  expect_refused (trainer, "drop.p", 2, "from 0 to 1");
  expect_refused (trainer, "clip_norm", 0, "above 0");
  expect_refused (trainer, "batch_size", 0, "from 1 to 160");
  expect_refused (trainer, "batch_size", 2.5, "whole number");
  expect_refused (trainer, "batch_size", 161, "not 161");
  expect_refused (trainer, "beta1", 0.5, "no number “beta1”");
}

/* A size with which an epoch ends with one sample, that a norm has no variance of: the run goes on as it was. */
static GString *noted;

static void
keep_note (LoomTrainer *trainer, const char *text, gpointer data)
{
  g_string_append (noted, text);
}

static void
ask_for_lone (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  if (step->step == 3)
    loom_trainer_post (trainer, LOOM_COMMAND_SET_HYPER, "batch_size", 53);
}

static void
test_refused (void)
{
  static const char *const xml
      = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"spirals\" "
        "n=\"160\"/>"
        "<node id=\"hidden\" op=\"linear\" out_features=\"8\"/><node id=\"norm\" op=\"batch_norm1d\"/>"
        "<node id=\"scores\" op=\"linear\" out_features=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"
        "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"norm\"/><wire from=\"norm\" to=\"scores\"/>"
        "<wire from=\"scores\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"
        "<train loss=\"loss\" batch_size=\"16\" epochs=\"2\" drop_last=\"false\" optimizer=\"sgd\" "
        "lr=\"0.1\"/></graph>";
  const LoomTrainerObserver asking = { .step = ask_for_lone, .note = keep_note };
  g_autoptr (LoomTrainer) trainer = train_test_new (xml, (LoomTrainerOptions){ 0 });

  noted = g_string_new (NULL);
  loom_trainer_set_observer (trainer, &asking, NULL);
  train_test_run (trainer);
  g_assert_cmpint (loom_trainer_steps (trainer), ==, 20);
  g_assert_nonnull (strstr (noted->str, "With batch_size 53 the last batch of an epoch is a single sample"));
  g_string_free (noted, TRUE);
}

/* Ranks change it together; its value is that of a rank. */
static void
ask_all (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  const gint64 size = GPOINTER_TO_INT (data);

  if (step->step == 3)
    loom_trainer_post (trainer, LOOM_COMMAND_SET_HYPER, "batch_size", (double)size);
}

static gpointer
run_asking (gpointer data)
{
  static const LoomTrainerObserver all = { .step = ask_all };
  static const LoomTrainerObserver other = { 0 };
  Rank *rank = data;
  const LoomComm *comm = rank->options.comm;
  g_autoptr (GError) error = NULL;

  rank->trainer = train_test_new (rank->xml, rank->options);
  loom_trainer_set_observer (rank->trainer, comm == NULL || comm->rank == 0 ? &all : &other,
                             GINT_TO_POINTER (comm == NULL ? 40 : 20));
  loom_trainer_run (rank->trainer, &error);
  g_assert_no_error (error);
  return NULL;
}

static void
test_ranks (void)
{
  static const char *const xml = NET ("optimizer=\"sgd\" lr=\"0.1\" momentum=\"0.9\">");
  Rank alone = { .xml = xml, .options = { .device = "ref", .batch_size = 32 } }, ranks[2];

  run_asking (&alone);
  run_ranks_by (run_asking, ranks, 2, xml, (LoomTrainerOptions){ .device = "ref", .batch_size = 16 });
  g_assert_cmpint (loom_trainer_steps (alone.trainer), ==, 3 + 2 + 3 * 4);
  for (int k = 0; k < 2; k++)
    {
      g_autoptr (LoomTensor) one = loom_state_get (loom_trainer_state (alone.trainer), "hidden.weight", NULL);
      g_autoptr (LoomTensor) two = loom_state_get (loom_trainer_state (ranks[k].trainer), "hidden.weight", NULL);

      g_assert_cmpint (loom_trainer_steps (ranks[k].trainer), ==, loom_trainer_steps (alone.trainer));
      for (gint64 i = 0; i < one->count; i++)
        g_assert_cmpfloat_with_epsilon (loom_tensor_get (one, i), loom_tensor_get (two, i), 1e-5);
      loom_trainer_free (ranks[k].trainer);
    }
  loom_trainer_free (alone.trainer);
}

/* 160 samples in 2 epochs, by steps of 16, from step 3 on of 32: the first epoch ends after 3 + ⌈112 / 32⌉ steps, the
 * second after 5 more. */
typedef struct
{
  gint64 end[4], evaluated[4], total[16];
  guint n_ends, n_evaluated;
  double items[16], eta[16];
} Ends;

static void
note_ends (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  Ends *ends = data;

  g_assert_cmpint (step->step, <, 16);
  ends->total[step->step] = step->total_steps;
  ends->items[step->step] = step->items_per_second;
  ends->eta[step->step] = step->eta_seconds;
  if (step->ends_epoch && ends->n_ends < 4)
    ends->end[ends->n_ends++] = step->step;
  if (step->step == 3)
    loom_trainer_post (trainer, LOOM_COMMAND_SET_HYPER, "batch_size", 32);
}

static void
note_evaluation (LoomTrainer *trainer, const LoomTrainerEval *eval, gpointer data)
{
  Ends *ends = data;

  if (ends->n_evaluated < 4)
    ends->evaluated[ends->n_evaluated++] = eval->step;
}

static void
test_ends (void)
{
  static const double left[] = { 320, 304, 288, 272, 240, 208, 176, 160, 128, 96, 64, 32, 0 };
  static const LoomTrainerObserver noting = { .step = note_ends, .eval = note_evaluation };
  static const char xml[]
      = TRAIN_TEST_SPIRALS ("n=\"160\" n_test=\"32\"", "8") "<train loss=\"loss\" batch_size=\"16\" epochs=\"2\" "
                                                            "seed=\"3\" optimizer=\"sgd\" lr=\"0.1\"/></graph>";
  g_autofree char *top = g_dir_make_tmp ("live-XXXXXX", NULL), *path = g_build_filename (top, "run", NULL);
  g_autofree char *events = g_build_filename (path, LOOM_RUN_EVENTS, NULL), *text = NULL;
  LoomTrainer *trainer = train_test_new (xml, (LoomTrainerOptions){ .out = path });
  Ends ends = { 0 };

  loom_trainer_set_observer (trainer, &noting, &ends);
  train_test_run (trainer);
  loom_trainer_free (trainer);
  g_assert_cmpuint (ends.n_ends, ==, 2);
  g_assert_cmpint (ends.end[0], ==, 7);
  g_assert_cmpint (ends.end[1], ==, 12);
  g_assert_cmpuint (ends.n_evaluated, ==, 2);
  g_assert_cmpint (ends.evaluated[0], ==, 7);
  g_assert_cmpint (ends.evaluated[1], ==, 12);
  g_assert_cmpint (ends.total[3], ==, 20);
  for (gint64 step = 4; step <= 12; step++)
    g_assert_cmpint (ends.total[step], ==, 12);
  /* The clock is read now and then, so a step shows what was left after it, or after one of those before. */
  for (gint64 step = 1; step <= 12; step++)
    {
      const double shown = ends.eta[step] * ends.items[step];
      gboolean is_left = ends.items[step] == 0;

      for (gint64 k = 1; k <= step; k++)
        is_left = is_left || fabs (shown - left[k]) < 0.01;
      if (!is_left)
        g_error ("After step %d, %g samples are left.", (int)step, shown);
    }
  g_assert_true (g_file_get_contents (events, &text, NULL, NULL));
  g_assert_nonnull (strstr (text, "{\"event\":\"epoch\",\"epoch\":1,\"step\":7,"));
  g_assert_nonnull (strstr (text, "{\"event\":\"epoch\",\"epoch\":2,\"step\":12,"));
  remove_tree (top);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/live/bits", test_bits);
  g_test_add_func ("/live/counts", test_counts);
  g_test_add_func ("/live/limits", test_limits);
  g_test_add_func ("/live/refused", test_refused);
  g_test_add_func ("/live/ranks", test_ranks);
  g_test_add_func ("/live/ends", test_ends);
  return g_test_run ();
}
