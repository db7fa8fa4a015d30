/* What `gradloom plan --check` prints of wrong plans: the number of faults with the plan's name, the first of them, the
 * number of the others, and the same as JSON. */
#include "app/shared/plan-check.h"
#include "engine/plan/plan-private.h"
#include "tests/test-program.h"

#include <sys/resource.h>
#include <unistd.h>

#define N 20 /* the most results that are moved, each a fault */

static LoomDevices *devices;

static LoomProgram *
make_program (void)
{
  LoomProgram *p = loom_program_new ();
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ 8, 32 });

  for (int i = 0; i < N + 2; i++)
    {
      g_autofree char *name = g_strdup_printf ("y%d", i);

      loom_program_output (p, name, loom_sum_all (p, loom_unary (p, LOOM_SCALAR_TANH, x)));
      x = loom_reshape (p, x, 2, (gint64[]){ i % 2 != 0 ? 8 : 16, i % 2 != 0 ? 32 : 16 });
      x = loom_unary (p, LOOM_SCALAR_SIN, x);
    }
  return p;
}

/* Moves the first n results past the end of their arena. */
static void
damage (LoomPlan *plan, guint n)
{
  for (guint v = 0; v < plan->values->len && n > 0; v++)
    {
      LoomPlanValue *value = &g_array_index (plan->values, LoomPlanValue, v);

      if (value->location.kind != LOOM_LOCATION_ARENA || value->root != v || loom_desc_count (&value->desc) > 1)
        continue;
      value->location.offset += (gsize)1 << 40;
      n--;
    }
  g_assert_cmpuint (n, ==, 0);
}

static void
add (GArray *plans, const char *name, guint n_damaged)
{
  const LoomPlanOptions options = { .no_fusion = TRUE, .no_reuse = TRUE };
  g_autoptr (LoomProgram) program = make_program ();
  g_autoptr (GError) error = NULL;
  LoomPlan *plan = loom_plan_new (program, devices, &options, &error);

  g_assert_no_error (error);
  damage (plan, n_damaged);
  plan_check_take (plans, plan, &options, name);
}

/* Checks the plans of three ranks in a process of its own. */
static void
check_apart (guint first, guint second, guint third, gboolean json)
{
  g_autoptr (GArray) steps = plan_check_list_new (), updates = plan_check_list_new ();
  g_autoptr (GError) error = NULL;
  gboolean ok;

  add (steps, "rank 0's training step", first);
  add (steps, "rank 1's training step", second);
  add (updates, "rank 1's update", third);
  g_assert_true (plan_check (steps, updates, devices, TRUE, json, &ok, &error));
  g_assert_no_error (error);
  g_assert_cmpint (ok, ==, first + second + third == 0);
}

static void
test_right (void)
{
  if (g_test_subprocess ())
    {
      check_apart (0, 0, 0, FALSE);
      return;
    }
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stdout ("*plan checked: *in 3 plans*");
  g_test_trap_assert_stdout_unmatched ("*check: *");
}

static void
test_wrong (void)
{
  if (g_test_subprocess ())
    {
      check_apart (0, 1, N, FALSE);
      return;
    }
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stdout ("*fault* in rank 1's training step:\ncheck: memory: *"
                             "* faults in rank 1's update:\ncheck: memory: *"
                             "\ncheck: … and * more.\n*faults in all.\n*");
  g_test_trap_assert_stdout_unmatched ("*rank 0*");
}

static void
test_json (void)
{
  if (g_test_subprocess ())
    {
      check_apart (1, 0, 0, TRUE);
      return;
    }
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stdout ("*\"check_fault\",\"plan\":\"rank 0's training step\",\"rule\":\"memory\"*"
                             "\"check\",\"ok\":false,\"faults\":*");
}

/* One line more than are printed is printed too, since a line with its number would be no shorter. */
static void
test_number (void)
{
  for (guint n = 1; n <= N; n++)
    {
      g_autoptr (LoomCheckReport) report = loom_check_report_new (), more = loom_check_report_new ();
      g_autoptr (LoomProgram) program = make_program ();
      g_autoptr (LoomPlan) plan
          = loom_plan_new (program, devices, &(LoomPlanOptions){ .no_fusion = TRUE, .no_reuse = TRUE }, NULL);
      g_autofree char *text = NULL;
      guint lines = 0;

      damage (plan, n);
      loom_check_plan (plan, NULL, more);
      loom_check_report_add (report, more);
      g_assert_cmpuint (more->faults->len, ==, 0);
      g_assert_cmpuint (report->faults->len, >=, n);
      text = loom_check_report_print (report);
      for (const char *c = text; *c != '\0'; c++)
        lines += *c == '\n';
      g_assert_cmpuint (lines, ==, MIN (report->faults->len, 13));
      g_assert_cmpint (strstr (text, "more.") != NULL, ==, report->faults->len > 13);
    }
}

/* Limits the addresses of this process to a few more than it has. */
static void
limit_memory (gsize more)
{
  g_autofree char *text = NULL;
  struct rlimit limit;

  g_assert_true (g_file_get_contents ("/proc/self/statm", &text, NULL, NULL));
  getrlimit (RLIMIT_AS, &limit);
  limit.rlim_cur = g_ascii_strtoull (text, NULL, 10) * (rlim_t)sysconf (_SC_PAGESIZE) + more;
  g_assert_cmpint (setrlimit (RLIMIT_AS, &limit), ==, 0);
}

/* A piece that no rule proves, and whose evaluation needs about 300 MB. */
static void
test_no_memory (void)
{
#ifdef __SANITIZE_ADDRESS__
  g_test_skip ("AddressSanitizer reserves addresses without limit");
#else
  if (g_test_subprocess ())
    {
      g_autoptr (GArray) steps = plan_check_list_new (), updates = plan_check_list_new ();
      g_autoptr (LoomProgram) p = loom_program_new ();
      const gint64 dims[2] = { 3000, 3000 }, start[2] = { 1, 0 }, step[2] = { 1, 1 }, to[2] = { 2900, 3000 };
      LoomValue x = loom_program_input (p, "x", LOOM_F32, 2, dims);
      g_autoptr (GError) error = NULL;
      gboolean ok;

      x = loom_permute (p, loom_slice (p, x, start, step, to), (int[]){ 1, 0 });
      loom_program_output (p, "y", x);
      g_assert_true (plan_check_add (steps, p, devices, &(LoomPlanOptions){ .device = "cpu" }, "the plan", &error));
      limit_memory (100 << 20);
      g_assert_false (plan_check (steps, updates, devices, TRUE, FALSE, &ok, &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY);
      g_printerr ("%s", error->message);
      return;
    }
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stderr ("There is not enough memory to compare instruction * with the program. *");
#endif
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  devices = loom_devices_new (1);
  g_test_add_func ("/check/listed/right", test_right);
  g_test_add_func ("/check/listed/wrong", test_wrong);
  g_test_add_func ("/check/listed/json", test_json);
  g_test_add_func ("/check/listed/number", test_number);
  g_test_add_func ("/check/listed/no-memory", test_no_memory);
  return g_test_run ();
}
