/* Random graphs of all operators: they have no faults, are unchanged by writing and reading, and their plans on ref and
 * on the device under test (GRADLOOM_TEST_DEVICE, else cpu) have the numbers of the eager executor, forward, backward
 * and after an update. The truth is the eager executor in f64. The tolerance of f32 is measured: by the eager executor
 * in f32 on ref, which rounds as usual and computes the same; a plan on the device may be some times as far, plus a
 * little for each node on the longest path. Seeds are fixed, so a failure repeats; GRADLOOM_GRAPH_SEEDS="5000" sets
 * their number and "812-812" a range. A graph that fails is written to the temporary folder. */
#include <string.h>

#include "tests/exec/graph-case.h"
#include "tests/exec/test-device.h"
#include "tests/test-program.h"

#define DEFAULT_SEEDS 300 /* more than there are operators: each begins a graph */

static LoomDevices *devices;
static const char *device;

/* ---- plans ------------------------------------------------------------ */

static void
check_memory (Case *c, LoomProgram *p, const char *on)
{
  LoomPlanOptions options = { .device = on };
  g_autoptr (LoomPlan) plan = loom_plan_new (p, c->devices, &options, NULL);
  LoomPlanMemory memory;

  if (plan == NULL)
    return;
  loom_plan_memory (plan, 0, &memory);
  if ((double)memory.arena > 1.1 * (double)memory.lower_bound + 512)
    case_complain (c, "%s: the arena has %" G_GSIZE_FORMAT " bytes where %" G_GSIZE_FORMAT " are alive at once", on,
                   memory.arena, memory.lower_bound);
  for (guint a = 1; a < loom_plan_n_values (plan); a++)
    for (guint b = a + 1; b < loom_plan_n_values (plan); b++)
      {
        const LoomPlanValue *x = loom_plan_value (plan, a), *y = loom_plan_value (plan, b);

        if (x->location.kind != LOOM_LOCATION_ARENA || y->location.kind != LOOM_LOCATION_ARENA || x->last < y->first
            || y->last < x->first || x->location.offset == y->location.offset)
          continue;
        if (x->location.offset + loom_desc_bytes (&x->desc) > y->location.offset
            && y->location.offset + loom_desc_bytes (&y->desc) > x->location.offset)
          case_complain (c, "%s: values %u (%s) and %u (%s) share bytes", on, a, x->origin, b, y->origin);
      }
}

typedef struct
{
  guint n, noisy, unbounded, nodes, differentiated;
  GHashTable *operators;
} Report;

static void
run_case (Case *c, Report *report)
{
  g_autofree char *text = random_graph_text (c->source);
  g_autoptr (LoomProgram) exact = NULL;
  g_autoptr (LoomProgram) fast = NULL;
  g_autoptr (GPtrArray) truth = NULL;
  g_autoptr (GPtrArray) like = NULL;
  g_autoptr (GPtrArray) ref = NULL;
  g_autoptr (GPtrArray) got = NULL;
  double depth = random_graph_depth (c->source);
  LoomPlanOptions on_ref = { .device = "ref" }, on_device = { .device = device };

  if (random_graph_fault (c->source) != NULL)
    {
      case_complain (c, "%s", random_graph_fault (c->source));
      return;
    }
  case_read (c, text);
  if (!case_bind_sizes (c) || c->wrong->len > 0)
    return;
  exact = case_program (c, LOOM_F64, FALSE);
  fast = case_program (c, LOOM_F32, FALSE);
  if (exact == NULL || fast == NULL)
    return;
  truth = case_run_eager (c, exact, "ref");
  /* A loss that is no number in f64 either (0 to the power of -1): there is nothing to compare. */
  if (truth == NULL && strstr (c->wrong->str, "is not finite") != NULL)
    {
      g_string_truncate (c->wrong, 0);
      report->unbounded++;
      return;
    }
  like = case_run_eager (c, fast, "ref");
  ref = case_run_plan (c, exact, &on_ref);
  got = case_run_plan (c, fast, &on_device);
  if (truth == NULL || like == NULL || ref == NULL || got == NULL)
    return;
  case_compare (c, exact, "plan on ref in f64", truth, like, ref, 1e-6, 1e-13 * (8 + depth));
  case_compare (c, fast, "plan on the device in f32", truth, like, got, 64, 1e-6 * (8 + depth));
  check_memory (c, fast, device);
  check_memory (c, exact, "ref");
  {
    LoomPlanOptions apart = { .device = device, .no_reuse = TRUE };
    g_autoptr (GPtrArray) second = case_run_plan (c, fast, &on_device);
    g_autoptr (GPtrArray) poisoned = case_run_poisoned (c, fast, &on_device);
    g_autoptr (GPtrArray) no_reuse = case_run_plan (c, fast, &apart);
    g_autoptr (LoomProgram) again = case_program (c, LOOM_F32, TRUE);
    g_autoptr (GPtrArray) recomputed = again != NULL ? case_run_plan (c, again, &on_device) : NULL;

    case_compare_bits (c, fast, "run twice", got, second);
    case_compare_bits (c, fast, "every value with bytes of its own", got, no_reuse);
    case_compare_bits (c, fast, "poisoned memory", got, poisoned);
    case_compare_bits (c, fast, "recomputed", got, recomputed);
  }
  report->n++;
  report->nodes += random_graph_n_nodes (c->source);
  report->differentiated += loom_program_find_output (exact, "the loss") != 0;
  for (guint i = 0; i < truth->len; i++)
    {
      double scale, noise;

      case_measure (g_ptr_array_index (truth, i), g_ptr_array_index (like, i), &scale, &noise);
      if (noise > 1e-3 * (1 + scale))
        {
          report->noisy++;
          break;
        }
    }
}

static gboolean
run_seed (guint32 seed, Report *report)
{
  g_autoptr (RandomGraph) source = random_graph_new (seed, 12 + (seed * 7) % 37);
  Case c = { .seed = seed,
             .source = source,
             .training = seed % 4 != 0,
             .update = seed % 3 == 0 && seed % 4 != 0,
             .devices = devices,
             .wrong = g_string_new (NULL) };

  random_graph_add_operators (source, report->operators);
  run_case (&c, report);
  return case_end (&c, "graph", seed, FALSE);
}

static void
test_graphs (void)
{
  const char *asked = g_getenv ("GRADLOOM_GRAPH_SEEDS");
  Report report = { .operators = g_hash_table_new (g_str_hash, g_str_equal) };
  guint first = 0, last = DEFAULT_SEEDS - 1, wrong = 0;

  if (asked != NULL && strchr (asked, '-') != NULL)
    {
      first = (guint)g_ascii_strtoull (asked, NULL, 10);
      last = (guint)g_ascii_strtoull (strchr (asked, '-') + 1, NULL, 10);
    }
  else if (asked != NULL)
    last = (guint)g_ascii_strtoull (asked, NULL, 10) - 1;
  for (guint seed = first; seed <= last && wrong < 100; seed++)
    wrong += !run_seed (seed, &report);
  g_test_message ("%u graphs of %.1f nodes, %u with a backward pass, %u where f32 alone is off by a thousandth, %u "
                  "operators, %u wrong",
                  report.n, report.n > 0 ? (double)report.nodes / report.n : 0, report.differentiated, report.noisy,
                  g_hash_table_size (report.operators), wrong);
  g_assert_cmpuint (wrong, ==, 0);
  /* Graphs in which rounding alone decides prove nothing, so they must be few. */
  g_assert_cmpuint (report.noisy * 20, <=, report.n + 20);
  g_assert_cmpuint (report.unbounded * 50, <=, report.n + 50);
  for (const LoomOp *const *op = loom_ops (); *op != NULL && first == 0 && last + 1 >= DEFAULT_SEEDS; op++)
    if ((*op)->category != LOOM_CATEGORY_HIDDEN && strcmp ((*op)->name, "dataset") != 0
        && !g_hash_table_contains (report.operators, (*op)->name))
      {
        g_test_message ("no graph has %s", (*op)->name);
        g_test_fail ();
      }
  g_hash_table_unref (report.operators);
}

TEST_FILE (argc, argv)
{
  int status = 77;

  g_test_init (&argc, &argv, NULL);
  device = test_device ("cpu");
  devices = loom_devices_new (1);
  g_test_add_func ("/run/random-graphs", test_graphs);
  if (test_device_is_there (devices, device))
    status = g_test_run ();
  loom_devices_unref (devices);
  return status;
}
