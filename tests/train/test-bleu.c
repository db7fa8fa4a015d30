/* BLEU against counts by hand (Papineni et al., 2002). */
#include "engine/recipe/loom-bleu.h"
#include "tests/test-program.h"

#include <math.h>

#include "engine/recipe/loom-metric.h"
#include "engine/run/loom-exec.h"

/* One token a letter. */
static void
add (LoomBleu *bleu, const char *said, const char *reference)
{
  gint64 a[64], b[64];
  guint n = 0, m = 0;

  for (; said[n] != '\0'; n++)
    a[n] = said[n];
  for (; reference[m] != '\0'; m++)
    b[m] = reference[m];
  loom_bleu_add (bleu, a, n, b, m);
}

/* The example of the paper's section 2.1, "the the the the the the the" with the reference "the cat is on the mat": an
 * n-gram counts at most as often as the reference has it. */
static void
test_clipped (void)
{
  LoomBleu bleu = { 0 };

  add (&bleu, "ttttttt", "tcisotm");
  g_assert_cmpint (bleu.found[0], ==, 2);
  g_assert_cmpint (bleu.said[0], ==, 7);
  g_assert_cmpint (bleu.found[1], ==, 0);
  g_assert_cmpfloat (loom_bleu_value (&bleu), ==, 0);
}

static void
test_corpus (void)
{
  LoomBleu bleu = { 0 };

  /* 5 of 6, 3 of 5, 2 of 4, 1 of 3; then 6 of 6, 5 of 5, 4 of 4, 3 of 3. */
  add (&bleu, "abcdxf", "abcdef");
  add (&bleu, "ghijkl", "ghijkl");
  g_assert_cmpint (bleu.found[0], ==, 11);
  g_assert_cmpint (bleu.found[1], ==, 8);
  g_assert_cmpint (bleu.found[2], ==, 6);
  g_assert_cmpint (bleu.found[3], ==, 4);
  g_assert_cmpint (bleu.said[3], ==, 6);
  g_assert_cmpfloat_with_epsilon (loom_bleu_value (&bleu), pow (11 / 12.0 * 8 / 10 * 6 / 8 * 4 / 6, 0.25), 1e-15);
}

static void
test_brief (void)
{
  LoomBleu bleu = { 0 }, longer = { 0 };

  add (&bleu, "abcde", "abcdefg");
  g_assert_cmpfloat_with_epsilon (loom_bleu_value (&bleu), exp (1 - 7.0 / 5), 1e-15);
  /* Length counts only for the corpus, and too much of it only reduces precision. */
  add (&longer, "abcdefg", "abcde");
  g_assert_cmpfloat_with_epsilon (loom_bleu_value (&longer), pow (5 / 7.0 * 4 / 6 * 3 / 5 * 2 / 4, 0.25), 1e-15);
  add (&bleu, "abcdefghi", "abcdefg");
  g_assert_cmpint (bleu.length, ==, bleu.reference);
  g_assert_cmpfloat_with_epsilon (loom_bleu_value (&bleu), pow (12 / 14.0 * 10 / 12 * 8 / 10 * 6 / 8, 0.25), 1e-15);
}

/* sacrebleu 2.6.0's scores (corpus_score of BLEU (tokenize="none", smooth_method="none")), one letter a word here. */
static void
test_sacrebleu (void)
{
  static const struct
  {
    const char *said[4], *reference[4]; /* end with NULL */
    double score;
  } cases[] = {
    { { "abcdxf", "ghijkl" }, { "abcdef", "ghijkl" }, 77.81581271306608 },
    { { "abcde" }, { "abcdefg" }, 67.03200460356396 },
    { { "aaaab", "cdefgh", "bacd" }, { "aabaab", "cdefhg", "bacda" }, 53.42701923304376 },
    { { "abcdefghijkl", "mnop" }, { "abcdefghi", "mnopq" }, 76.08723998447249 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      LoomBleu bleu = { 0 };

      for (guint k = 0; cases[i].said[k] != NULL; k++)
        add (&bleu, cases[i].said[k], cases[i].reference[k]);
      g_assert_cmpfloat_with_epsilon (100 * loom_bleu_value (&bleu), cases[i].score, 1e-10);
    }
}

static void
test_empty (void)
{
  LoomBleu bleu = { 0 };

  g_assert_cmpfloat (loom_bleu_value (&bleu), ==, 0);
  add (&bleu, "", "abc");
  g_assert_cmpfloat (loom_bleu_value (&bleu), ==, 0);
  add (&bleu, "abcd", "");
  g_assert_cmpfloat (loom_bleu_value (&bleu), ==, 0);
}

#define SENTENCES 7
#define WORDS     4
#define PLACES    9

/* The counts in the metric's program equal those of the sentences, which have the length of their reference. */
static void
test_metric (void)
{
  const LoomMetric *metric = loom_metric ("bleu");
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_autoptr (LoomProgram) p = loom_program_new ();
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomState) state = loom_state_new (devices, "cpu", 0);
  g_autoptr (LoomExec) exec = NULL;
  g_autoptr (GError) error = NULL;
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 3, (const gint64[]){ SENTENCES, WORDS, PLACES });
  LoomValue t = loom_program_input (p, "t", LOOM_I64, 2, (const gint64[]){ SENTENCES, PLACES });
  LoomTensorDesc dx = loom_value_info (p, x)->desc, dt = loom_value_info (p, t)->desc;
  static float scores[SENTENCES][WORDS][PLACES];
  static gint64 said[SENTENCES][PLACES], own[SENTENCES][PLACES];
  double got[2 * LOOM_BLEU_MOST];
  LoomBleu bleu = { 0 };
  LoomPlan *plan;
  char *why = NULL;

  for (guint i = 0; i < SENTENCES; i++)
    {
      guint length = i; /* the first has none, the next are shorter than a run of four */

      for (guint k = 0; k < PLACES; k++)
        {
          said[i][k] = g_rand_int_range (rand, 0, WORDS);
          own[i][k] = k >= length                         ? -100
                      : g_rand_int_range (rand, 0, 5) > 0 ? said[i][k]
                                                          : g_rand_int_range (rand, 0, WORDS);
          scores[i][said[i][k]][k] = 1;
        }
      loom_bleu_add (&bleu, said[i], length, own[i], length);
    }
  g_assert_true (metric->check (&(LoomMetricOptions){ 0 }, &dx, &dt, &why));
  g_assert_cmpuint (loom_metric_size (metric, &dx, &dt), ==, G_N_ELEMENTS (got));
  loom_program_output (p, "m", metric->emit (p, &(LoomMetricOptions){ .threshold = 0.5 }, x, t));
  plan = loom_plan_new (p, devices, &(LoomPlanOptions){ .device = "cpu" }, &error);
  g_assert_no_error (error);
  exec = loom_exec_new (plan, state, &error);
  g_assert_no_error (error);
  loom_exec_feed (exec, 0, scores);
  loom_exec_feed (exec, 1, own);
  g_assert_true (loom_exec_step (exec, &error));
  g_assert_true (loom_exec_numbers (exec, 0, G_N_ELEMENTS (got), got, &error));
  for (guint n = 0; n < LOOM_BLEU_MOST; n++)
    {
      g_assert_cmpfloat (got[n], ==, (double)bleu.found[n]);
      g_assert_cmpfloat (got[LOOM_BLEU_MOST + n], ==, (double)bleu.said[n]);
    }
  g_assert_cmpint (bleu.found[3], >, 0);
  g_assert_cmpfloat_with_epsilon (loom_metric_value (metric, &(LoomMetricOptions){ 0 }, got, G_N_ELEMENTS (got), 1),
                                  loom_bleu_value (&bleu), 1e-12);
  dt.rank = 1;
  g_assert_false (metric->check (&(LoomMetricOptions){ 0 }, &dx, &dt, &why));
  g_free (why);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/bleu/clipped", test_clipped);
  g_test_add_func ("/bleu/corpus", test_corpus);
  g_test_add_func ("/bleu/brief", test_brief);
  g_test_add_func ("/bleu/empty", test_empty);
  g_test_add_func ("/bleu/sacrebleu", test_sacrebleu);
  g_test_add_func ("/bleu/metric", test_metric);
  return g_test_run ();
}
