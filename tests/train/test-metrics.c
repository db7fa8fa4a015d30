/* Metrics against their definitions: each metric over batches of unequal size is compared with a plain count over all
 * samples at once, and with numbers computed by hand. */
#include "engine/loom-lab.h"
#include "engine/program/loom-prim.h"
#include "tests/test-program.h"

#include <math.h>

#define N 23 /* samples, in batches of 9, 9 and 5 */
#define C 4

static float scores[N][C], single[N], values[N][2], wanted[N][2];
static gint64 classes[N], flags[N];

/* Pseudo-random numbers with equal logits among them; the same on every machine. Class 3 is neither a target nor
 * predicted in most of them. */
static void
fill (void)
{
  guint32 x = 12345;

  for (int i = 0; i < N; i++)
    {
      for (int k = 0; k < C; k++)
        scores[i][k] = (float)((x = x * 1664525u + 1013904223u) >> 16 & 7) - (k == 3 ? 20 : 0);
      single[i] = (float)((x = x * 1664525u + 1013904223u) >> 16 & 255) / 255.0f;
      classes[i] = (x >> 10) % 3;
      flags[i] = (x >> 20) % 2;
      for (int k = 0; k < 2; k++)
        {
          wanted[i][k] = 1000 + (float)((x = x * 1664525u + 1013904223u) >> 16 & 255) / 64.0f;
          values[i][k] = wanted[i][k] + (float)((x = x * 1664525u + 1013904223u) >> 16 & 255) / 255.0f - 0.5f;
        }
    }
}

typedef struct
{
  const char *type;
  LoomMetricOptions options;
  int rank; /* of the input's samples: 1 with `width` numbers, or 0 */
  gint64 width;
  const float *input;
  const void *target;
  LoomDType dtype;
  int target_rank;
} Case;

/* The value over all batches, and the statistics if requested. */
static double
compute (const Case *c, double *statistics)
{
  static const gint64 batch[] = { 9, 9, 5 };
  const LoomMetric *metric = loom_metric (c->type);
  g_autofree double *total = NULL;
  double weight = 0;
  guint size = 0;
  gint64 at = 0;

  g_assert_nonnull (metric);
  for (guint b = 0; b < G_N_ELEMENTS (batch); b++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomProgram) p = loom_program_new ();
      const gint64 dims[2] = { batch[b], c->width };
      LoomValue x = loom_program_input (p, "x", LOOM_F32, 1 + c->rank, dims);
      LoomValue t = loom_program_input (p, "t", c->dtype, 1 + c->target_rank, dims);
      LoomTensorDesc dx = loom_value_info (p, x)->desc, dt = loom_value_info (p, t)->desc;
      g_autofree char *why = NULL;

      if (!metric->check (&c->options, &dx, &dt, &why))
        g_error ("%s: %s", c->type, why);
      size = loom_metric_size (metric, &dx, &dt);
      if (total == NULL)
        total = g_new0 (double, size);
      loom_program_output (p, "m", metric->emit (p, &c->options, x, t));
      g_autoptr (LoomDevices) devices = loom_devices_new (1);
      g_autoptr (LoomState) state = loom_state_new (devices, "cpu", 0);
      LoomPlan *plan = loom_plan_new (p, devices, &(LoomPlanOptions){ .device = "cpu" }, &error);
      g_assert_no_error (error);
      g_autoptr (LoomExec) exec = loom_exec_new (plan, state, &error);
      g_assert_no_error (error);
      loom_exec_feed (exec, 0, c->input + at * (c->rank ? c->width : 1));
      loom_exec_feed (
          exec, 1, (const char *)c->target + at * (c->target_rank ? c->width : 1) * (gint64)loom_dtype_size (c->dtype));
      g_assert_true (loom_exec_step (exec, &error));
      g_autofree double *got = g_new0 (double, size);
      g_assert_false (loom_exec_numbers (exec, 0, size + 1, got, &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE);
      g_clear_error (&error);
      g_assert_true (loom_exec_numbers (exec, 0, size, got, &error));
      loom_metric_merge (metric, total, &weight, got, (double)metric->count (&dx, &dt), size);
      at += batch[b];
    }
  for (guint i = 0; statistics != NULL && i < size; i++)
    statistics[i] = total[i];
  return loom_metric_value (metric, &c->options, total, size, weight);
}

static Case
of_classes (const char *type)
{
  return (Case){ .type = type,
                 .options = { .k = 2, .threshold = 0.5 },
                 .rank = 1,
                 .width = C,
                 .input = &scores[0][0],
                 .target = classes,
                 .dtype = LOOM_I64 };
}

static int
best (int i)
{
  int found = 0;

  for (int k = 1; k < C; k++)
    if (scores[i][k] > scores[i][found])
      found = k;
  return found;
}

static void
test_classes (void)
{
  double matrix[C][C] = { { 0 } }, got[C * C], right = 0, top = 0, nll = 0;
  double precision = 0, recall = 0, f1 = 0, iou = 0, seen = 0;
  Case c = of_classes ("confusion_matrix");

  for (int i = 0; i < N; i++)
    {
      double sum = 0, own = scores[i][classes[i]];
      int before = 0;
      matrix[classes[i]][best (i)]++;
      right += best (i) == classes[i];
      for (int k = 0; k < C; k++)
        {
          before += scores[i][k] > own || (scores[i][k] == own && k < classes[i]);
          sum += exp (scores[i][k]);
        }
      top += before < 2;
      nll += log (sum) - own;
    }
  g_assert_cmpfloat_with_epsilon (compute (&c, got), right / N, 1e-12);
  for (int k = 0; k < C * C; k++)
    g_assert_cmpfloat (got[k], ==, matrix[k / C][k % C]);
  for (int k = 0; k < C; k++)
    {
      double given = 0, due = 0, both = matrix[k][k];
      for (int j = 0; j < C; j++)
        {
          given += matrix[j][k];
          due += matrix[k][j];
        }
      if (given + due == 0)
        continue;
      seen++;
      precision += given > 0 ? both / given : 0;
      recall += due > 0 ? both / due : 0;
      f1 += 2 * both / (given + due);
      iou += both / (given + due - both);
    }
  g_assert_cmpfloat (seen, <, C); /* else the test does not cover an absent class */
  c = of_classes ("accuracy");
  g_assert_cmpfloat_with_epsilon (compute (&c, NULL), right / N, 1e-12);
  c = of_classes ("top_k_accuracy");
  g_assert_cmpfloat_with_epsilon (compute (&c, NULL), top / N, 1e-12);
  c.options.k = 1;
  g_assert_cmpfloat_with_epsilon (compute (&c, NULL), right / N, 1e-12);
  c = of_classes ("precision");
  g_assert_cmpfloat_with_epsilon (compute (&c, NULL), precision / seen, 1e-12);
  c = of_classes ("recall");
  g_assert_cmpfloat_with_epsilon (compute (&c, NULL), recall / seen, 1e-12);
  c = of_classes ("f1");
  g_assert_cmpfloat_with_epsilon (compute (&c, NULL), f1 / seen, 1e-12);
  c = of_classes ("jaccard_index");
  g_assert_cmpfloat_with_epsilon (compute (&c, NULL), iou / seen, 1e-12);
  c.options.average = LOOM_AVERAGE_MICRO;
  g_assert_cmpfloat_with_epsilon (compute (&c, NULL), right / (2 * N - right), 1e-12);
  static const char *const all[] = { "precision", "recall", "f1" };
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    {
      c = of_classes (all[i]);
      c.options.average = LOOM_AVERAGE_MICRO;
      g_assert_cmpfloat_with_epsilon (compute (&c, NULL), right / N, 1e-12);
    }
  c = of_classes ("perplexity");
  g_assert_cmpfloat_with_epsilon (compute (&c, NULL), exp (nll / N), 1e-4);
}

/* A target below 0 is ignored: in the matrix, in hits and in predictions. */
static void
test_ignored (void)
{
  gint64 old = classes[4];
  double got[C * C], sum = 0, nll = 0, right = 0;
  Case c = of_classes ("confusion_matrix");

  classes[4] = -100;
  compute (&c, got);
  for (int k = 0; k < C * C; k++)
    sum += got[k];
  g_assert_cmpfloat (sum, ==, N - 1);
  c = of_classes ("top_k_accuracy");
  c.options.k = C;
  g_assert_cmpfloat_with_epsilon (compute (&c, NULL), 1, 1e-12);
  for (int i = 0; i < N; i++)
    {
      double all = 0;
      for (int k = 0; i != 4 && k < C; k++)
        all += exp (scores[i][k]);
      nll += i != 4 ? log (all) - scores[i][classes[i]] : 0;
    }
  c = of_classes ("perplexity");
  g_assert_cmpfloat_with_epsilon (compute (&c, NULL), exp (nll / (N - 1)), 1e-4);
  c = of_classes ("accuracy");
  for (int i = 0; i < N; i++)
    right += i != 4 && best (i) == classes[i];
  g_assert_cmpfloat_with_epsilon (compute (&c, NULL), right / (N - 1), 1e-12);
  static const char *const all[] = { "precision", "recall", "f1" };
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    {
      c = of_classes (all[i]);
      c.options.average = LOOM_AVERAGE_MICRO;
      g_assert_cmpfloat_with_epsilon (compute (&c, NULL), right / (N - 1), 1e-12);
    }
  classes[4] = old;
}

/* One score a sample, yes or no. */
static void
test_binary (void)
{
  Case c = { .type = "precision",
             .options = { .average = LOOM_AVERAGE_BINARY, .threshold = 0.25 },
             .input = single,
             .target = flags,
             .dtype = LOOM_I64 };
  double yes = 0, due = 0, both = 0, same = 0;

  for (int i = 0; i < N; i++)
    {
      gboolean said = single[i] > 0.25f;
      yes += said;
      due += flags[i];
      both += said && flags[i];
      same += said == flags[i];
    }
  g_assert_cmpfloat_with_epsilon (compute (&c, NULL), both / yes, 1e-12);
  c.type = "recall";
  g_assert_cmpfloat_with_epsilon (compute (&c, NULL), both / due, 1e-12);
  c.type = "f1";
  g_assert_cmpfloat_with_epsilon (compute (&c, NULL), 2 * both / (yes + due), 1e-12);
  c.type = "accuracy";
  g_assert_cmpfloat_with_epsilon (compute (&c, NULL), same / N, 1e-12);
  /* No positive predictions: 0/0. */
  c.type = "precision";
  c.options.threshold = 2;
  g_assert_cmpfloat (compute (&c, NULL), ==, 0);
}

static void
test_numbers (void)
{
  Case c = { .type = "mean_absolute_error",
             .rank = 1,
             .width = 2,
             .input = &values[0][0],
             .target = wanted,
             .dtype = LOOM_F32,
             .target_rank = 1 };
  double off = 0, square = 0, r2 = 0;

  for (int k = 0; k < 2; k++)
    {
      double mean = 0, rest = 0, all = 0;
      for (int i = 0; i < N; i++)
        mean += (double)wanted[i][k] / N;
      for (int i = 0; i < N; i++)
        {
          double d = (double)values[i][k] - wanted[i][k];
          off += fabs (d);
          rest += d * d;
          all += (wanted[i][k] - mean) * (wanted[i][k] - mean);
        }
      square += rest;
      r2 += (1 - rest / all) / 2;
    }
  g_assert_cmpfloat_with_epsilon (compute (&c, NULL), off / (2 * N), 1e-6);
  c.type = "mae";
  g_assert_cmpfloat_with_epsilon (compute (&c, NULL), off / (2 * N), 1e-6);
  c.type = "mse";
  g_assert_cmpfloat_with_epsilon (compute (&c, NULL), square / (2 * N), 1e-6);
  /* The mean is 1000 times the spread: sums of squares would be off in the first digit. */
  c.type = "r2_score";
  g_assert_cmpfloat_with_epsilon (compute (&c, NULL), r2, 1e-5);
}

/* By hand: classes 0 0 1 1 2, answers 0 1 1 1 0. */
static void
test_by_hand (void)
{
  const double counts[9] = { 1, 2, 0, /* given */ 2, 3, 0, /* due */ 2, 2, 1 };
  const double matrix[9] = { 1, 1, 0, 0, 2, 0, 1, 0, 0 };
  LoomMetricOptions macro = { .average = LOOM_AVERAGE_MACRO };

  g_assert_cmpfloat_with_epsilon (loom_metric_value (loom_metric ("precision"), &macro, counts, 9, 5),
                                  (1.0 / 2 + 2.0 / 3 + 0) / 3, 1e-15);
  g_assert_cmpfloat_with_epsilon (loom_metric_value (loom_metric ("recall"), &macro, counts, 9, 5),
                                  (1.0 / 2 + 1 + 0) / 3, 1e-15);
  g_assert_cmpfloat_with_epsilon (loom_metric_value (loom_metric ("f1"), &macro, counts, 9, 5), (0.5 + 0.8 + 0) / 3,
                                  1e-15);
  g_assert_cmpfloat_with_epsilon (loom_metric_value (loom_metric ("confusion_matrix"), &macro, matrix, 9, 5), 0.6,
                                  1e-15);
}

/* A mismatch is reported with both shapes. */
static void
test_refused (void)
{
  static const struct
  {
    const char *type;
    int rank, target_rank;
    gint64 dim[2], target[2];
    LoomDType dtype;
    LoomMetricOptions options;
    const char *says;
  } cases[] = {
    { "accuracy", 2, 2, { 4, 3 }, { 4, 1 }, LOOM_I64, { 0 }, "*N × C*4 × 3*i64 4 × 1*" },
    { "top_k_accuracy", 2, 1, { 4, 3 }, { 4 }, LOOM_I64, { .k = 5 }, "*k is 5*3 classes*" },
    { "f1", 2, 1, { 4, 3 }, { 4 }, LOOM_I64, { .average = LOOM_AVERAGE_BINARY }, "*two classes*3*" },
    { "confusion_matrix", 2, 1, { 4, 300 }, { 4 }, LOOM_I64, { 0 }, "*256 classes*300*" },
    { "perplexity", 2, 1, { 4, 3 }, { 4 }, LOOM_F32, { 0 }, "*class indices*" },
    { "r2_score", 2, 1, { 4, 1 }, { 4 }, LOOM_F32, { 0 }, "*element by element*" },
    { "mse", 1, 1, { 4 }, { 5 }, LOOM_F32, { 0 }, "*element by element*4*5*" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (LoomProgram) p = loom_program_new ();
      LoomTensorDesc x = loom_value_info (p, loom_program_input (p, "x", LOOM_F32, cases[i].rank, cases[i].dim))->desc;
      LoomTensorDesc t
          = loom_value_info (p, loom_program_input (p, "t", cases[i].dtype, cases[i].target_rank, cases[i].target))
                ->desc;
      g_autofree char *why = NULL;

      g_assert_false (loom_metric (cases[i].type)->check (&cases[i].options, &x, &t, &why));
      if (!g_pattern_match_simple (cases[i].says, why))
        g_error ("%s says “%s”, not “%s”", cases[i].type, why, cases[i].says);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  fill ();
  g_test_add_func ("/metrics/classes", test_classes);
  g_test_add_func ("/metrics/ignored", test_ignored);
  g_test_add_func ("/metrics/binary", test_binary);
  g_test_add_func ("/metrics/numbers", test_numbers);
  g_test_add_func ("/metrics/by-hand", test_by_hand);
  g_test_add_func ("/metrics/refused", test_refused);
  return g_test_run ();
}
