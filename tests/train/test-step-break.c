/* Breakpoints: where a step stops, alone and with several ranks. */
#include <math.h>
#include <string.h>

#include "tests/test-program.h"
#include "tests/train/step-graphs.h"
#include "tests/train/train-test.h"

typedef struct
{
  gint64 hits, at, stood; /* the step of the last hit; steps that were finished when the run stood */
  const char *node;
  char *port;
  double figure;
  gboolean is_gradient;
  LoomCommandKind then;
  gboolean is_single;   /* single steps until the first hit */
  gint64 steps, failed; /* the last finite step; the number of reports of steps that are not */
} Stand;

static void
breakpoint_cb (LoomTrainer *trainer, const LoomBreakHit *hit, gpointer data)
{
  Stand *s = data;

  s->hits++;
  s->at = hit->step;
  s->node = hit->node;
  g_free (s->port);
  s->port = g_strdup (hit->port);
  s->figure = hit->figure;
  s->is_gradient = hit->is_gradient;
}

static void
stand_step_cb (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  Stand *s = data;

  if (isfinite (step->loss))
    s->steps = step->step;
  else
    s->failed++;
}

static void
stand_state_cb (LoomTrainer *trainer, const char *state, gpointer data)
{
  Stand *s = data;

  if (!g_str_equal (state, "paused"))
    return;
  s->stood = loom_trainer_steps (trainer);
  loom_trainer_post (trainer, s->is_single && s->hits == 0 ? LOOM_COMMAND_STEP : s->then, NULL, 0);
}

static const LoomTrainerObserver standing
    = { .step = stand_step_cb, .state = stand_state_cb, .breakpoint = breakpoint_cb };

static LoomTrainerEnd
run_with (LoomTrainer *trainer, const char *node, const char *kind, double limit, Stand *s, GError **error)
{
  const LoomBreakpoint b = { (char *)node, loom_break_kind (kind), limit };

  g_assert_nonnull (b.kind);
  loom_trainer_set_observer (trainer, &standing, s);
  loom_trainer_set_breakpoints (trainer, &b, 1);
  return loom_trainer_run (trainer, error);
}

/* The run stands before the step, and the rest of it has the same bits. */
static void
test_break (void)
{
  g_autoptr (LoomTrainer) plain = on_ref (GRAPH), stopped = on_ref (GRAPH);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensor) before = NULL, after = NULL;
  Stand s = { .then = LOOM_COMMAND_RESUME };

  before = loom_state_get (loom_trainer_state (stopped), "hidden.weight", NULL);
  g_assert_cmpint (run_with (stopped, "act", "gradient_above", 0, &s, &error), ==, LOOM_TRAINER_DONE);
  g_assert_no_error (error);
  g_assert_cmpint (s.hits, ==, loom_trainer_total_steps (plain));
  g_assert_cmpint (s.at, ==, s.hits);
  g_assert_cmpint (s.stood, ==, s.hits - 1);
  g_assert_cmpstr (s.port, ==, "act");
  g_assert_true (s.is_gradient);
  g_assert_cmpfloat (s.figure, >, 0);
  run_to (plain, loom_trainer_total_steps (plain));
  g_autoptr (GPtrArray) a = weights_of (plain), b = weights_of (stopped);
  assert_same_bits (a, b);
  g_free (s.port);

  /* A condition that is never met. */
  g_autoptr (LoomTrainer) never = on_ref (GRAPH);
  s = (Stand){ .then = LOOM_COMMAND_RESUME };
  run_with (never, "act", "dead_above", 0.99, &s, &error);
  g_assert_no_error (error);
  g_assert_cmpint (s.hits, ==, 0);
  g_autoptr (GPtrArray) c = weights_of (never);
  assert_same_bits (a, c);
}

/* In a loop, and a value that occurs: the padding of one iteration. */
static void
test_break_inside (void)
{
  g_autoptr (LoomTrainer) trainer = on_ref (NESTED);
  g_autoptr (GError) error = NULL;
  Stand s = { .then = LOOM_COMMAND_STOP };

  g_assert_cmpint (run_with (trainer, "loop.u", "gradient_above", 0, &s, &error), ==, LOOM_TRAINER_STOPPED);
  g_assert_no_error (error);
  g_assert_cmpint (s.hits, ==, 1);
  g_assert_cmpint (s.stood, ==, 0);
  g_free (s.port);
  g_autoptr (LoomTrainer) equal = on_ref (NESTED);
  s = (Stand){ .then = LOOM_COMMAND_STOP };
  run_with (equal, "mid.0.act", "equals", 0, &s, &error);
  g_assert_no_error (error);
  g_assert_cmpint (s.hits, ==, 1);
  g_free (s.port);
  /* A token, which is a whole number. */
  g_autoptr (LoomTrainer) token = on_ref (NESTED);
  s = (Stand){ .then = LOOM_COMMAND_STOP };
  run_with (token, "data", "equals", 3, &s, &error);
  g_assert_no_error (error);
  g_assert_cmpint (s.hits, ==, 1);
  g_assert_cmpstr (s.port, ==, "data.y");
  g_free (s.port);
}

/* A module stands for each node in it; the hit says which. */
static void
test_break_module (void)
{
  static const struct
  {
    const char *module, *kind, *node, *port;
    double limit;
  } cases[] = { { "mid", "gradient_above", "mid.0.fc", "mid.0.fc", 0 },
                { "mid.1", "equals", "mid.1.act", "mid.1.act", 0 },
                { "mid.1", "gradient_above", "mid.1.fc", "mid.1.fc", 0 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (LoomTrainer) trainer = on_ref (NESTED);
      g_autoptr (GError) error = NULL;
      Stand s = { .then = LOOM_COMMAND_STOP };

      g_assert_cmpint (run_with (trainer, cases[i].module, cases[i].kind, cases[i].limit, &s, &error), ==,
                       LOOM_TRAINER_STOPPED);
      g_assert_no_error (error);
      g_assert_cmpint (s.hits, ==, 1);
      g_assert_cmpstr (s.node, ==, cases[i].node);
      g_assert_cmpstr (s.port, ==, cases[i].port);
      g_free (s.port);
    }
}

typedef struct
{
  const char *graph, *kind;
  LoomComm *comm;
  gboolean with_breakpoint;
  double limit;
  LoomTrainerEnd end;
  Stand stand;
  int hit_rank;
  guint walked[2]; /* steps that were walked on the samples of each rank */
  GArray *figures; /* double: of all hits */
  LoomTrainer *trainer;
  GPtrArray *weights;
} Together;

static void
hit_cb (LoomTrainer *trainer, const LoomBreakHit *hit, gpointer data)
{
  Together *t = data;

  t->hit_rank = hit->rank;
  g_array_append_val (t->figures, hit->figure);
  breakpoint_cb (trainer, hit, &t->stand);
}

/* The step at which training stands is walked on the samples of the rank that met the condition: they have the figure
 * that it has reported. There is no update, which would need the gradients of both. */
static void
walk_hit (LoomTrainer *trainer, Together *t)
{
  g_auto (LoomStepperPlace) place = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensor) g = NULL;
  LoomSummary summary;
  double scale;
  gint64 step;

  command (trainer, &(LoomWalkCommand){ LOOM_WALK_BEGIN }, &place);
  g_assert_cmpint (loom_trainer_walk_rank (trainer), ==, MAX (t->hit_rank, 0));
  command (trainer, &(LoomWalkCommand){ .kind = LOOM_WALK_FINISH, .region = LOOM_REGION_BACKWARD }, &place);
  g = loom_trainer_walk_port (trainer, LOOM_PORT_GRADIENT "act", &scale, &error);
  g_assert_no_error (error);
  loom_summary_of (g, scale, &summary);
  g_assert_cmpfloat (summary.norm, ==, t->stand.figure);
  t->walked[MAX (t->hit_rank, 0)]++;
  g_assert_false (loom_trainer_walk (
      trainer, &(LoomWalkCommand){ .kind = LOOM_WALK_FINISH, .region = LOOM_REGION_UPDATE }, &place, &step, &error));
  g_assert_nonnull (strstr (error->message, "Take the step"));
  loom_trainer_end_walk (trainer);
}

/* As an observer on another thread does, while the run stands. */
static gpointer
walk_and_resume (gpointer data)
{
  Together *t = data;

  walk_hit (t->trainer, t);
  loom_trainer_post (t->trainer, LOOM_COMMAND_RESUME, NULL, 0);
  return NULL;
}

static void
paused_cb (LoomTrainer *trainer, const char *state, gpointer data)
{
  Together *t = data;

  t->trainer = trainer;
  if (g_str_equal (state, "paused") && t->stand.hits > 0 && g_str_equal (t->kind, "gradient_above"))
    {
      t->stand.stood = loom_trainer_steps (trainer);
      g_thread_unref (g_thread_new ("walk", walk_and_resume, t));
    }
  else
    stand_state_cb (trainer, state, &t->stand);
}

static gpointer
run_together (gpointer data)
{
  static const LoomTrainerObserver observer = { .state = paused_cb, .breakpoint = hit_cb };
  Together *t = data;
  g_autoptr (GError) error = NULL;
  const LoomBreakpoint b = { (char *)"act", loom_break_kind (t->kind), t->limit };
  g_autoptr (LoomTrainer) trainer
      = train_test_new (t->graph, (LoomTrainerOptions){ .device = (char *)"ref", .comm = t->comm });

  loom_trainer_set_observer (trainer, &observer, t);
  if (t->with_breakpoint && t->comm->rank == 0)
    loom_trainer_set_breakpoints (trainer, &b, 1);
  t->end = loom_trainer_run (trainer, &error);
  t->weights = weights_of (trainer);
  return NULL;
}

static void
run_two (Together t[2], const char *graph, const char *kind, gboolean with_breakpoint, double limit)
{
  LoomComm *comm[2];
  GThread *thread[2];
  LoomMessage message;

  g_assert_cmpint (loom_comm_threads_new (2, comm, &message), ==, LOOM_STATUS_OK);
  for (int k = 0; k < 2; k++)
    {
      t[k] = (Together){ .graph = graph,
                         .kind = kind,
                         .comm = comm[k],
                         .with_breakpoint = with_breakpoint,
                         .limit = limit,
                         .figures = g_array_new (FALSE, FALSE, sizeof (double)) };
      t[k].stand.then = LOOM_COMMAND_RESUME;
      thread[k] = g_thread_new ("rank", run_together, &t[k]);
    }
  for (int k = 0; k < 2; k++)
    g_thread_join (thread[k]);
  for (int k = 0; k < 2; k++)
    comm[k]->free (comm[k]);
}

static void
clear_two (Together t[2])
{
  for (int k = 0; k < 2; k++)
    {
      g_ptr_array_unref (t[k].weights);
      g_array_unref (t[k].figures);
      g_free (t[k].stand.port);
    }
}

static int
compare_figures (gconstpointer a, gconstpointer b)
{
  return *(const double *)a < *(const double *)b ? -1 : 1;
}

/* Two ranks stand before each step together, and the run has the same bits as without it. */
static void
test_break_ranks (void)
{
  g_auto (GStrv) part = g_strsplit (GRAPH, "<node id=\"drop\" op=\"dropout\" p=\"0.2\"/>", 2);
  g_autofree char *graph = g_strjoinv ("<node id=\"drop\" op=\"relu\"/>", part), *negative = NULL;
  Together plain[2], stopped[2];
  double median;

  run_two (plain, graph, "gradient_above", FALSE, 0);
  run_two (stopped, graph, "gradient_above", TRUE, 0);
  for (int k = 0; k < 2; k++)
    {
      g_assert_cmpint (stopped[k].end, ==, LOOM_TRAINER_DONE);
      assert_same_bits (plain[k].weights, stopped[k].weights);
    }
  g_assert_cmpint (stopped[0].stand.hits, >, 1);
  g_assert_cmpint (stopped[0].stand.at, ==, stopped[0].stand.hits);
  g_assert_cmpint (stopped[0].stand.stood, ==, stopped[0].stand.hits - 1);
  g_assert_cmpint (stopped[0].hit_rank, ==, 0);
  g_assert_cmpint (stopped[1].stand.hits, ==, 0);
  /* Half of the steps of the first rank are under the limit: in some of them the other one is above it. */
  g_array_sort (stopped[0].figures, compare_figures);
  median = g_array_index (stopped[0].figures, double, stopped[0].figures->len / 2);
  clear_two (stopped);
  run_two (stopped, graph, "gradient_above", TRUE, median);
  for (int k = 0; k < 2; k++)
    {
      g_assert_cmpuint (stopped[0].walked[k], >, 0);
      assert_same_bits (plain[k].weights, stopped[k].weights);
    }
  clear_two (plain);
  clear_two (stopped);

  /* A step that is not finite is repeated by both, and both stand before its update. */
  negative = without_finite_values ();
  run_two (stopped, negative, "not_finite", TRUE, 0);
  for (int k = 0; k < 2; k++)
    g_assert_cmpint (stopped[k].end, ==, LOOM_TRAINER_FAILED);
  g_assert_cmpint (stopped[0].stand.hits, ==, 1);
  g_assert_cmpint (stopped[0].stand.stood, ==, stopped[0].stand.at - 1);
  clear_two (stopped);
}

/* The graph, divided among ranks. (transfer full) */
static char *
divided (const char *graph, const char *parallel)
{
  g_autoptr (GString) xml = g_string_new (graph);
  g_autofree char *element = g_strdup_printf ("<parallel %s/>", parallel);

  g_string_insert (xml, strstr (xml->str, "<metric") - xml->str, element);
  if (strstr (parallel, "tensor") != NULL)
    {
      g_string_replace (xml, "features=\"16\"", "features=\"16\" split=\"column\"", 1);
      g_string_replace (xml, "features=\"2\"", "features=\"2\" split=\"row\"", 1);
    }
  return g_strdup (xml->str);
}

/* Ranks with parts of the weights, or of their updates, stand before each step together, at the values of one rank. */
static void
test_break_divided (gconstpointer parallel)
{
  const gboolean of_samples = strstr (parallel, "zero") != NULL;
  g_auto (GStrv) part = g_strsplit (GRAPH, "<node id=\"drop\" op=\"dropout\" p=\"0.2\"/>", 2);
  g_autofree char *whole = g_strjoinv ("<node id=\"drop\" op=\"relu\"/>", part), *graph = divided (whole, parallel);
  g_auto (GStrv) around = g_strsplit (whole, "tanh", 2);
  g_autofree char *without = g_strjoinv ("log", around), *negative = divided (without, parallel);
  Together plain[2], stopped[2], wanted[2];

  run_two (plain, graph, "gradient_above", FALSE, 0);
  run_two (stopped, graph, "gradient_above", TRUE, 0);
  for (int k = 0; k < 2; k++)
    {
      g_assert_cmpint (stopped[k].end, ==, LOOM_TRAINER_DONE);
      assert_same_bits (plain[k].weights, stopped[k].weights);
    }
  g_assert_cmpint (stopped[0].stand.hits, >, 1);
  g_assert_cmpint (stopped[0].stand.hits, ==, stopped[0].stand.at);
  g_assert_cmpint (stopped[0].stand.stood, ==, stopped[0].stand.hits - 1);
  g_assert_cmpint (stopped[0].hit_rank, ==, of_samples ? 0 : -1);
  g_assert_cmpint (stopped[1].stand.hits, ==, 0);
  if (of_samples)
    {
      double median;

      /* The gradients are those of ranks with whole weights. */
      run_two (wanted, whole, "gradient_above", TRUE, 0);
      g_assert_cmpuint (wanted[0].figures->len, ==, stopped[0].figures->len);
      for (guint i = 0; i < wanted[0].figures->len; i++)
        g_assert_cmpfloat_with_epsilon (g_array_index (stopped[0].figures, double, i),
                                        g_array_index (wanted[0].figures, double, i), 1e-5);
      clear_two (wanted);
      g_array_sort (stopped[0].figures, compare_figures);
      median = g_array_index (stopped[0].figures, double, stopped[0].figures->len / 2);
      clear_two (stopped);
      run_two (stopped, graph, "gradient_above", TRUE, median);
      for (int k = 0; k < 2; k++)
        {
          g_assert_cmpuint (stopped[0].walked[k], >, 0);
          assert_same_bits (plain[k].weights, stopped[k].weights);
        }
    }
  clear_two (plain);
  clear_two (stopped);
  run_two (stopped, negative, "not_finite", TRUE, 0);
  for (int k = 0; k < 2; k++)
    g_assert_cmpint (stopped[k].end, ==, LOOM_TRAINER_FAILED);
  g_assert_cmpint (stopped[0].stand.hits, ==, 1);
  g_assert_cmpint (stopped[0].stand.stood, ==, stopped[0].stand.at - 1);
  clear_two (stopped);
}

/* A step that is not finite stops the run before its update; resumed, it fails as it does without a breakpoint. */
static void
test_break_nan (void)
{
  g_autofree char *negative = without_finite_values ();
  g_autoptr (LoomTrainer) trainer = on_ref (negative);
  g_autoptr (GError) error = NULL;
  Stand s = { .then = LOOM_COMMAND_RESUME };

  g_assert_cmpint (run_with (trainer, "scores", "not_finite", 0, &s, &error), ==, LOOM_TRAINER_FAILED);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_NAN);
  g_assert_cmpint (s.hits, ==, 1);
  g_assert_cmpint (s.stood, ==, s.at - 1);
  g_assert_cmpint (s.steps, ==, s.at - 1);
  g_assert_cmpint (s.failed, ==, 1);
  g_free (s.port);
}

/* A single step that is not finite is repeated in the same pause. A run that is then stopped has no failed node. */
static void
test_break_single (void)
{
  g_autofree char *negative = without_finite_values ();
  g_autoptr (LoomTrainer) trainer = on_ref (negative);
  g_autoptr (GError) error = NULL;
  const char *port;
  Stand s = { .then = LOOM_COMMAND_STOP, .is_single = TRUE };

  loom_trainer_post (trainer, LOOM_COMMAND_PAUSE, NULL, 0);
  g_assert_cmpint (run_with (trainer, "scores", "not_finite", 0, &s, &error), ==, LOOM_TRAINER_STOPPED);
  g_assert_no_error (error);
  g_assert_cmpint (s.hits, ==, 1);
  g_assert_cmpint (s.stood, ==, 0);
  g_assert_null (loom_trainer_get_failed_node (trainer, &port));
  g_free (s.port);
}

TEST_FILE (argc, argv)
{
  static const char *const divisions[] = { "strategy=\"zero1\"", "strategy=\"zero2\"", "strategy=\"zero3\"",
                                           "tensor=\"2\"", "pipeline=\"2\" microbatches=\"2\"" };
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/step-walk/break", test_break);
  g_test_add_func ("/step-walk/break/inside", test_break_inside);
  g_test_add_func ("/step-walk/break/module", test_break_module);
  g_test_add_func ("/step-walk/break/ranks", test_break_ranks);
  for (guint i = 0; i < G_N_ELEMENTS (divisions); i++)
    {
      g_autofree char *path = g_strdup_printf ("/step-walk/break-divided/%u", i);
      g_test_add_data_func (path, divisions[i], test_break_divided);
    }
  g_test_add_func ("/step-walk/break/nan", test_break_nan);
  g_test_add_func ("/step-walk/break/single", test_break_single);
  return g_test_run ();
}
