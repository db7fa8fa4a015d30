/* Events inside an evaluation: a pause, a single step, an end; and the memory of plans that are made later. */
#include "engine/loom-lab.h"
#include "tests/scratch.h"
#include "tests/test-program.h"
#include "tests/train/train-test.h"

#include <math.h>
#include <string.h>

/* 1000 samples in batches of 96; the 1000 test samples are evaluated in eleven batches. */
static const char *const GRAPH = TRAIN_TEST_SPIRALS (
    "", "16") "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" batch_size=\"96\" epochs=\"2\" seed=\"3\"/></graph>";

typedef struct
{
  LoomCommandKind then; /* posted when the pause is there */
  gboolean paused_in_evaluation, resumed;
  gint64 pauses, evals, steps, step_at_second_pause;
  guint memories;
  gsize most;
  double eval_loss;
} Seen;

static gsize
memory (LoomTrainer *trainer)
{
  gsize bytes[LOOM_N_OWNERS], sum = 0;
  loom_trainer_memory (trainer, bytes);
  for (guint i = 0; i < LOOM_N_OWNERS; i++)
    sum += bytes[i];
  return sum;
}

static void
step_cb (LoomTrainer *trainer, const LoomTrainerStep *s, gpointer data)
{
  Seen *seen = data;
  seen->steps = s->step;
  if (s->step == 11 && seen->then != LOOM_COMMAND_CHECKPOINT)
    loom_trainer_post (trainer, LOOM_COMMAND_PAUSE, NULL, 0);
}

static void
eval_cb (LoomTrainer *trainer, const LoomTrainerEval *e, gpointer data)
{
  Seen *seen = data;
  seen->evals++;
  seen->eval_loss = e->loss;
}

static void
state_cb (LoomTrainer *trainer, const char *state, gpointer data)
{
  Seen *seen = data;

  if (!g_str_equal (state, "paused"))
    return;
  seen->pauses++;
  if (seen->pauses == 1)
    {
      seen->paused_in_evaluation = seen->steps == 11 && seen->evals == 0;
      loom_trainer_post (trainer, seen->then, NULL, 0);
      return;
    }
  seen->step_at_second_pause = seen->steps;
  loom_trainer_post (trainer, LOOM_COMMAND_RESUME, NULL, 0);
}

static void
memory_cb (LoomTrainer *trainer, gpointer data)
{
  Seen *seen = data;
  gsize now = memory (trainer);
  /* Plans share an arena, and each has its own setup results. */
  g_assert_cmpuint (now, >=, seen->most);
  seen->most = now;
  seen->memories++;
}

static const LoomTrainerObserver observer
    = { .step = step_cb, .eval = eval_cb, .state = state_cb, .memory = memory_cb };

static LoomTensor *
run (LoomCommandKind then, Seen *seen, LoomTrainerEnd expected)
{
  g_autoptr (LoomTrainer) trainer = train_test_new (GRAPH, (LoomTrainerOptions){ 0 });
  g_autoptr (GError) error = NULL;

  *seen = (Seen){ .then = then, .most = memory (trainer) };
  loom_trainer_set_observer (trainer, &observer, seen);
  g_assert_cmpint (loom_trainer_run (trainer, &error), ==, expected);
  return loom_state_get (loom_trainer_state (trainer), "hidden.weight", NULL);
}

static void
test_pause (void)
{
  Seen plain, paused, stepped, stopped;
  g_autoptr (LoomTensor) a = run (LOOM_COMMAND_CHECKPOINT, &plain, LOOM_TRAINER_DONE);
  g_autoptr (LoomTensor) b = run (LOOM_COMMAND_RESUME, &paused, LOOM_TRAINER_DONE);
  g_autoptr (LoomTensor) c = run (LOOM_COMMAND_STEP, &stepped, LOOM_TRAINER_DONE);
  g_autoptr (LoomTensor) d = run (LOOM_COMMAND_STOP, &stopped, LOOM_TRAINER_STOPPED);

  g_assert_cmpint (plain.pauses, ==, 0);
  g_assert_cmpint (paused.pauses, ==, 1);
  g_assert_true (paused.paused_in_evaluation);
  g_assert_cmpint (paused.evals, ==, 2);
  g_assert_cmpfloat (paused.eval_loss, ==, plain.eval_loss);
  g_assert_true (loom_tensor_equal_bits (a, b));

  /* A single step, requested inside the evaluation, is one training step. */
  g_assert_cmpint (stepped.pauses, ==, 2);
  g_assert_cmpint (stepped.step_at_second_pause, ==, 12);
  g_assert_true (loom_tensor_equal_bits (a, c));

  g_assert_true (stopped.paused_in_evaluation);
  g_assert_cmpint (stopped.steps, ==, 11);
  g_assert_cmpint (stopped.evals, ==, 0);
}

typedef struct
{
  Seen seen;
  GThread *thread;
  gint64 evals; /* when the other step was there */
} Away;

static gpointer
go_back (gpointer data)
{
  LoomTrainer *trainer = data;
  g_autoptr (GError) error = NULL;
  LoomTrainerMoment moment;

  loom_trainer_travel (trainer, 5, &moment, &error);
  g_assert_no_error (error);
  g_assert_cmpint (moment.step, ==, 5);
  loom_trainer_post (trainer, LOOM_COMMAND_RESUME, NULL, 0);
  return NULL;
}

static void
away_step_cb (LoomTrainer *trainer, const LoomTrainerStep *s, gpointer data)
{
  if (s->step == 4)
    loom_trainer_post (trainer, LOOM_COMMAND_CHECKPOINT, NULL, 0);
  step_cb (trainer, s, data);
}

static void
away_cb (LoomTrainer *trainer, const char *state, gpointer data)
{
  Away *away = data;

  if (g_str_equal (state, "paused") && away->thread == NULL)
    {
      away->seen.paused_in_evaluation = away->seen.steps == 11 && away->seen.evals == 0;
      away->thread = g_thread_new ("back", go_back, trainer);
    }
  else if (g_str_equal (state, "running") && away->thread != NULL && away->evals == 0)
    away->evals = away->seen.evals;
}

/* A run that is paused in an evaluation ends that first when it is asked for another step, and comes back from there
 * with the bits of a run that went on. */
static void
test_away (void)
{
  static const LoomTrainerObserver watching = { .step = away_step_cb, .eval = eval_cb, .state = away_cb };
  g_autofree char *top = g_dir_make_tmp ("pause-XXXXXX", NULL), *path = g_build_filename (top, "run", NULL);
  g_autoptr (GError) error = NULL;
  Away away = { .seen.then = LOOM_COMMAND_RESUME };
  Seen plain;
  g_autoptr (LoomTensor) a = run (LOOM_COMMAND_CHECKPOINT, &plain, LOOM_TRAINER_DONE);
  {
    g_autoptr (LoomTrainer) trainer = train_test_new (GRAPH, (LoomTrainerOptions){ .out = path, .history = -1 });
    g_autoptr (LoomTensor) b = NULL;

    loom_trainer_set_observer (trainer, &watching, &away);
    g_assert_cmpint (loom_trainer_run (trainer, &error), ==, LOOM_TRAINER_DONE);
    g_assert_no_error (error);
    g_thread_join (away.thread);
    b = loom_state_get (loom_trainer_state (trainer), "hidden.weight", NULL);
    g_assert_true (loom_tensor_equal_bits (a, b));
  }
  g_assert_true (away.seen.paused_in_evaluation);
  g_assert_cmpint (away.evals, ==, 1);
  remove_tree (top);
}

/* Training's full batch is planned first; the incomplete batch, and evaluation's two, are planned later and share its
 * arena. */
static void
test_memory (void)
{
  Seen seen;
  g_autoptr (LoomTensor) weight = run (LOOM_COMMAND_CHECKPOINT, &seen, LOOM_TRAINER_DONE);
  g_assert_cmpuint (seen.memories, ==, 3);

  g_autoptr (LoomTrainer) trainer = train_test_new (GRAPH, (LoomTrainerOptions){ 0 });
  gsize before = memory (trainer);
  g_autoptr (LoomTensor) act = loom_trainer_snapshot (trainer, "act", NULL, NULL);
  g_assert_nonnull (act);
  /* A snapshot's plan uses training's arena, which is larger. */
  g_assert_cmpuint (memory (trainer), >=, before);
  g_assert_cmpuint (memory (trainer), <, before + 1024);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pause/in-evaluation", test_pause);
  g_test_add_func ("/pause/away", test_away);
  g_test_add_func ("/pause/memory", test_memory);
  return g_test_run ();
}
