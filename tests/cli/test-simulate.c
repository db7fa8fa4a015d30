/* `gradloom simulate`: schedules against their formulas, strategies against one another, ranks of this machine compared
 * with their prediction, and the trace that it writes. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

/* The objects of standard output. (transfer full) */
static GPtrArray *
events (const CliResult *r)
{
  g_auto (GStrv) line = g_strsplit (r->out, "\n", -1);
  GPtrArray *all = g_ptr_array_new_with_free_func ((GDestroyNotify)json_object_unref);

  g_assert_cmpint (r->status, ==, 0);
  for (guint i = 0; line[i] != NULL && line[i][0] != '\0'; i++)
    {
      g_autoptr (JsonParser) parser = json_parser_new ();

      g_assert_true (json_parser_load_from_data (parser, line[i], -1, NULL));
      g_ptr_array_add (all, json_object_ref (json_node_get_object (json_parser_get_root (parser))));
    }
  return all;
}

static double
number (const GPtrArray *all, guint i, const char *name)
{
  return json_object_get_double_member (all->pdata[i], name);
}

/* Bubbles are those of the formula; the rest has the errors that the table prints, and no worse ones. */
static void
test_published (void)
{
  g_auto (CliResult) r = cli ("simulate", "--published", "--json", NULL), text = cli ("simulate", "--published", NULL);
  g_autoptr (GPtrArray) all = events (&r);
  guint bubbles = 0;

  g_assert_cmpuint (all->len, ==, 29);
  for (guint i = 0; i < all->len; i++)
    {
      const char *what = json_object_get_string_member (all->pdata[i], "what");

      g_assert_cmpfloat (fabs (number (all, i, "error")), <, 0.5);
      if (strstr (what, "bubble") == NULL)
        continue;
      bubbles++;
      g_assert_cmpfloat (fabs (number (all, i, "error")), <, 1e-9);
    }
  g_assert_cmpuint (bubbles, ==, 6);
  g_assert_nonnull (strstr (text.out, "WP-08608"));
}

/* A card computes in the types that it has: f16, which this processor lacks, and twice as fast as bf16 on none. */
static void
test_precision (void)
{
  g_autofree char *path = cli_example ("models/fashion-mlp.xml");
  g_auto (CliResult) slow = cli ("simulate", path, "--card", "v100", "--link", "25g", "--gpus", "1", "--batch-size",
                                 "4096", "--json", NULL);
  g_auto (CliResult) fast = cli ("simulate", path, "--card", "v100", "--link", "25g", "--gpus", "1", "--batch-size",
                                 "4096", "--precision", "f16", "--json", NULL);
  g_autoptr (GPtrArray) f32 = events (&slow), f16 = events (&fast);

  g_assert_cmpfloat (number (f16, 0, "step_seconds"), <, 0.7 * number (f32, 0, "step_seconds"));
}

#define CARD "--card", "v100", "--link", "nvlink2,100g", "--json"

static void
test_strategies (void)
{
  g_autofree char *path = cli_example ("models/fashion-mlp.xml");
  g_auto (CliResult) data = cli ("simulate", path, CARD, "--gpus", "1,2,16", NULL);
  g_auto (CliResult) three = cli ("simulate", path, CARD, "--gpus", "1,2,16", "--strategy", "zero3", NULL);
  g_auto (CliResult) stages = cli ("simulate", path, CARD, "--gpus", "1,4", "--strategy", "pipeline", "--microbatches",
                                   "8", "--trace", "lanes.json", NULL);
  g_autoptr (GPtrArray) a = events (&data), b = events (&three), c = events (&stages);
  g_autoptr (GArray) spans = NULL;
  g_autofree char *title = NULL;
  gint32 last = 0;

  g_assert_cmpfloat_with_epsilon (number (a, 0, "efficiency"), 1, 1e-9);
  for (guint i = 1; i < 3; i++)
    {
      g_assert_cmpfloat (number (a, i, "efficiency"), <, number (a, i - 1, "efficiency"));
      /* ZeRO-3 has less memory and exchanges more. */
      g_assert_cmpfloat (number (b, i, "memory_bytes"), <, number (a, i, "memory_bytes"));
      g_assert_cmpfloat (number (b, i, "exchange_seconds"), >, number (a, i, "exchange_seconds"));
      g_assert_cmpfloat (number (a, i, "exposed_seconds"), <=, number (a, i, "exchange_seconds"));
    }
  g_assert_cmpfloat (number (c, 1, "bubble"), >=, 3.0 / 11);
  spans = loom_trace_read ("lanes.json", &title, NULL);
  g_assert_nonnull (spans);
  g_assert_nonnull (strstr (title, "on 4 GPUs, simulated"));
  for (guint i = 0; i < spans->len; i++)
    last = MAX (last, g_array_index (spans, LoomTraceSpan, i).rank);
  g_assert_cmpint (last, ==, 3);
}

/* The communication of ranks along the tensor axis or of a pipeline is counted and drawn; a graph's <parallel> applies
 * unless an option overrides it. */
static void
test_parts (void)
{
  g_autofree char *path = cli_example ("models/fashion-mlp.xml"), *text = NULL;
  g_auto (CliResult) tensor
      = cli ("simulate", path, CARD, "--gpus", "4", "--strategy", "tensor", "--trace", "tensor.json", NULL);
  g_auto (CliResult) both = cli ("simulate", path, CARD, "--gpus", "4", "--tensor", "2", "--pipeline", "2",
                                 "--microbatches", "4", "--trace", "both.json", NULL);
  g_autoptr (GPtrArray) a = events (&tensor), b = events (&both);
  static const char *const traces[] = { "tensor.json", "both.json" };

  g_assert_cmpfloat (number (a, 0, "exposed_seconds"), >, 0);
  g_assert_cmpfloat_with_epsilon (number (a, 0, "exchange_seconds"), number (a, 0, "exposed_seconds"), 1e-9);
  g_assert_cmpfloat (number (b, 0, "exchange_seconds"), >, 0);
  for (guint i = 0; i < G_N_ELEMENTS (traces); i++)
    {
      g_autofree char *title = NULL;
      g_autoptr (GArray) spans = loom_trace_read (traces[i], &title, NULL);
      guint n = 0;

      for (guint k = 0; k < spans->len; k++)
        n += g_array_index (spans, LoomTraceSpan, k).kind == LOOM_TRACE_EXCHANGE;
      g_assert_cmpuint (n, >, 0);
    }
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_auto (GStrv) halves = g_strsplit (text, "</train>", 2);
  g_autofree char *piped = g_strconcat (
      halves[0], "<parallel pipeline=\"2\" microbatches=\"4\" schedule=\"1f1b\"/></train>", halves[1], NULL);
  cli_write ("piped.xml", piped);
  g_auto (CliResult) said = cli ("simulate", path, CARD, "--gpus", "2,4", "--pipeline", "2", "--microbatches", "4",
                                 "--schedule", "1f1b", NULL);
  g_auto (CliResult) taken = cli ("simulate", "piped.xml", CARD, "--gpus", "2,4", NULL);

  g_assert_cmpint (taken.status, ==, 0);
  g_assert_cmpstr (taken.out, ==, said.out);
}

static void
add_span (GArray *spans, int rank, LoomTraceKind kind, gint64 begin, gint64 end)
{
  const LoomTraceSpan span = { .rank = rank, .kind = kind, .begin = begin, .end = end };

  loom_trace_add (spans, &span, kind == LOOM_TRACE_COMPUTE ? "cpu" : "exchange", "", "");
}

/* Moments count once, however many lanes have them; a rank that exchanges nothing is left out. */
static void
test_overlap (void)
{
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (LoomTraceSpan));
  g_autoptr (GArray) all = NULL;
  g_autofree char *text = NULL;
  const LoomTraceOverlap *o;

  add_span (spans, 0, LOOM_TRACE_EXCHANGE, 5000000, 20000000);
  add_span (spans, 0, LOOM_TRACE_EXCHANGE, 0, 10000000);
  add_span (spans, 0, LOOM_TRACE_COMPUTE, 8000000, 12000000);
  add_span (spans, 0, LOOM_TRACE_COMPUTE, 15000000, 30000000);
  add_span (spans, 0, LOOM_TRACE_COMPUTE, 16000000, 17000000);
  add_span (spans, 0, LOOM_TRACE_WAIT, 0, 8000000);
  add_span (spans, 1, LOOM_TRACE_COMPUTE, 0, 8000000);
  add_span (spans, 2, LOOM_TRACE_EXCHANGE, 0, 4000000);
  all = loom_trace_overlap (spans);
  g_assert_cmpuint (all->len, ==, 2);
  o = &g_array_index (all, LoomTraceOverlap, 0);
  g_assert_cmpint (o->rank, ==, 0);
  g_assert_cmpfloat_with_epsilon (o->exchange, 0.020, 1e-9);
  g_assert_cmpfloat_with_epsilon (o->overlapped, 0.009, 1e-9);
  text = loom_trace_describe_overlap (spans);
  g_assert_cmpstr (text, ==, "rank 0 9 of 20 ms (45 %), rank 2 0 of 4 ms (0 %)");
}

/* For one rank the kernels' sum is the step: at least half of it, however busy the machine is. */
static void
test_here (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml");
  g_auto (CliResult) r = cli ("simulate", path, "--gpus", "1,2", "--json", NULL);
  g_autoptr (GPtrArray) all = events (&r);

  g_assert_cmpuint (all->len, ==, 2);
  for (guint i = 0; i < 2; i++)
    {
      double step = number (all, i, "step_seconds"), measured = number (all, i, "measured_seconds");

      g_assert_cmpfloat (step, >, 0);
      g_assert_cmpfloat_with_epsilon (number (all, i, "error"), step / measured - 1, 1e-6);
    }
  g_assert_cmpfloat (number (all, 1, "exchange_seconds"), >, 0);
}

static void
test_wrong (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml"), *none = cli_example ("lessons/xyz-sum.xml");
  static const char *const wrong[][3] = {
    { "--card", "k81", "--card knows k80, p100" },      { "--link", "string", "--link knows nvlink1" },
    { "--card", "v100", "--card needs --link" },        { "--gpus", "two", "--gpus takes numbers" },
    { "--strategy", "magic", "--strategy takes data" }, { "--schedule", "late", "gpipe or 1f1b" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    cli_expect (2, wrong[i][2], "simulate", path, wrong[i][0], wrong[i][1]);
  cli_expect (2, "does not compute products in bf16. Use --precision f32 or f16.", "simulate", path, "--card", "v100",
              "--link", "25g", "--precision", "bf16");
  cli_expect (2, "Use --precision bf16.", "simulate", path, "--card", "tpuv3", "--link", "25g");
  cli_expect (2, "not a multiple", "simulate", path, "--card", "v100", "--link", "25g", "--gpus", "3", "--pipeline",
              "2");
  cli_expect (2, "cannot be divided into 4096 micro-batches", "simulate", path, "--card", "v100", "--link", "25g",
              "--gpus", "2", "--pipeline", "2", "--microbatches", "4096");
  g_auto (CliResult) headless
      = cli ("simulate", path, "--card", "v100", "--link", "25g", "--gpus", "4,3", "--pipeline", "2", NULL);
  g_assert_cmpstr (headless.out, ==, "");
  cli_expect (2, "as many nodes", "simulate", path, "--card", "v100", "--link", "25g", "--gpus", "64", "--strategy",
              "pipeline");
  cli_expect (2, "It takes one GRAPH", "simulate");
  cli_expect (1, "no <train>", "simulate", none, "--card", "v100", "--link", "25g");
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/cli/simulate/published", test_published);
  g_test_add_func ("/cli/simulate/precision", test_precision);
  g_test_add_func ("/cli/simulate/strategies", test_strategies);
  g_test_add_func ("/cli/simulate/parts", test_parts);
  g_test_add_func ("/cli/simulate/overlap", test_overlap);
  g_test_add_func ("/cli/simulate/here", test_here);
  g_test_add_func ("/cli/simulate/wrong", test_wrong);
  status = g_test_run ();
  cli_leave ();
  return status;
}
