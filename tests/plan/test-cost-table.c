/* Tests cost tables: choices that are stored, a user's table that is broken or from another machine, and concurrent
 * measurements. */
#include <glib/gstdio.h>
#include <string.h>

#include "engine/plan/loom-plan.h"
#include "tests/test-program.h"

/* ---- stored choices -------------------------------------------------------------- */

static LoomProgram *
two_products (void)
{
  LoomProgram *p = loom_program_new ();
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ 4, 8 });
  LoomValue y = loom_program_input (p, "y", LOOM_F32, 2, (gint64[]){ 8, 256 });

  loom_program_output (p, "z", loom_matmul (p, loom_matmul (p, x, y, FALSE, FALSE), y, FALSE, TRUE));
  return p;
}

static void
prefer (const LoomPlanDevice *device, const LoomKernelSpec *spec, const char *attributes,
        const LoomKernelOption *option, guint n, gpointer data)
{
  g_autofree char *call = loom_cost_call_key (spec, attributes);
  gpointer *job = data;

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = loom_cost_option_key (spec, &option[i]);

      loom_cost_table_set_measured (job[0], device->cost_key, call, name,
                                    g_str_equal (option[i].algorithm, job[1]) ? 1e-6 : 1e-3);
    }
}

static void
assert_algorithm (LoomProgram *p, LoomDevices *devices, const char *algorithm)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomPlan) plan = loom_plan_new (p, devices, &(LoomPlanOptions){ .device = "cpu" }, &error);
  g_autofree char *text = NULL;

  g_assert_no_error (error);
  g_assert_cmpuint (loom_plan_n_instrs (plan), ==, 2);
  for (guint i = 0; i < 2; i++)
    g_assert_cmpstr (loom_plan_instr (plan, i)->algorithm, ==, algorithm);
  text = loom_plan_print (plan);
  g_assert_nonnull (strstr (text, algorithm));
}

/* A different table changes a plan, but not one that was made before, here or through the text of another table. */
static void
test_kept_choices (void)
{
  g_autoptr (LoomProgram) p = two_products ();
  static const char *const algorithms[] = { "own", "onednn" };
  g_autofree char *kept = NULL;

  for (guint a = 0; a < 2; a++)
    {
      g_autoptr (LoomCostTable) table = loom_cost_table_new (), again = NULL;
      g_autoptr (LoomDevices) devices = loom_devices_new (1), later = loom_devices_new (1);
      gpointer job[] = { table, (gpointer)algorithms[a] }, other[] = { NULL, (gpointer)algorithms[1 - a] };
      LoomPlanOptions visit = { .device = "cpu", .visit = prefer, .visit_data = job };
      g_autofree char *hash = g_strdup (loom_cost_table_hash (table)), *text = NULL;
      g_autoptr (GError) error = NULL;

      loom_devices_set_costs (devices, table);
      loom_plan_free (loom_plan_new (p, devices, &visit, &error));
      g_assert_cmpstr (hash, !=, loom_cost_table_hash (table));
      loom_cost_table_drop_choices (table);
      assert_algorithm (p, devices, algorithms[a]);

      /* The checkpoint's table, with measurements that would change the choice. */
      text = loom_cost_table_to_text (table, TRUE);
      again = loom_cost_table_new_from_text (text, "a checkpoint", &error);
      g_assert_no_error (error);
      g_assert_cmpstr (loom_cost_table_hash (again), ==, loom_cost_table_hash (table));
      loom_devices_set_costs (later, again);
      other[0] = again;
      visit.visit_data = other;
      loom_plan_free (loom_plan_new (p, later, &visit, &error));
      assert_algorithm (p, later, algorithms[a]);
      loom_cost_table_drop_choices (again);
      assert_algorithm (p, later, algorithms[1 - a]);
    }
}

/* ---- the user's table ---------------------------------------------------------------- */

static void
assert_note (const char *text, const char *says)
{
  g_autofree char *path = loom_cost_table_user_file (), *folder = g_path_get_dirname (path), *note = NULL;
  g_autoptr (LoomCostTable) table = NULL, shipped = loom_cost_table_new ();

  g_assert_cmpint (g_mkdir_with_parents (folder, 0700), ==, 0);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  table = loom_cost_table_new_default ();
  note = loom_cost_table_take_note (table);
  g_unlink (path);
  g_assert_nonnull (note);
  g_test_message ("%s", note);
  g_assert_nonnull (strstr (note, says));
  g_assert_null (strchr (note, '\n'));
  g_assert_cmpstr (loom_cost_table_hash (table), ==, loom_cost_table_hash (shipped));
}

static void
test_broken_tables (void)
{
  g_autoptr (LoomCostTable) table = loom_cost_table_new (), read = NULL;
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL, *edited = NULL, *path = loom_cost_table_user_file (), *note = NULL;
  char *digit;

  g_unlink (path);
  loom_cost_table_set_measured (table, "cpu: an abacus, wood", "matmul f32 1x1, f32 1x1, to f32 1x1", "own plain", 0.5);
  text = loom_cost_table_to_text (table, FALSE);
  g_assert_nonnull (strstr (text, "5.000e-01"));
  g_assert_null (strstr (text, "[cpu]")); /* rates are built in */

  assert_note ("not a table at all", "is not a valid cost table");
  assert_note ("[gradloom costs]\nversion=7\n", "of version 1");
  edited = g_strdup (text);
  digit = strstr (edited, "5.000e-01");
  *digit = '4';
  assert_note (edited, "checksum is wrong");
  *strstr (edited, "[measured") = '\0';
  assert_note (edited, "checksum is wrong");

  /* A valid table of another machine. */
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  read = loom_devices_costs (devices) != NULL ? loom_cost_table_ref (loom_devices_costs (devices)) : NULL;
  g_assert_cmpfloat (
      loom_cost_table_measured (read, "cpu: an abacus, wood", "matmul f32 1x1, f32 1x1, to f32 1x1", "own plain"), ==,
      0.5);
  g_assert_nonnull (loom_devices_get (devices, "cpu", &error));
  note = loom_cost_table_take_note (read);
  g_assert_nonnull (note);
  g_test_message ("%s", note);
  g_assert_nonnull (strstr (note, "other devices"));
  {
    /* A resumed run that has such a table gets no note. */
    g_autofree char *whole = loom_cost_table_to_text (read, TRUE), *none = NULL;
    g_autoptr (LoomCostTable) kept = loom_cost_table_new_from_text (whole, "a checkpoint", &error);
    g_autoptr (LoomDevices) resumed = loom_devices_new (1);

    g_assert_no_error (error);
    loom_devices_set_costs (resumed, kept);
    g_assert_nonnull (loom_devices_get (resumed, "cpu", &error));
    none = loom_cost_table_take_note (kept);
    g_assert_null (none);
  }
  g_assert_nonnull (loom_devices_get (devices, "ref", &error)); /* there are no measurements for that back end at all */
  g_assert_null (loom_cost_table_take_note (read));
  g_unlink (path);
}

/* ---- concurrent measurements ------------------------------------------------------ */

#define WRITERS 6
#define ROUNDS  4

static char *
call_of (guint writer, guint round)
{
  return g_strdup_printf ("matmul f32 %ux%u, f32 1x1, to f32 1x1", writer + 1, round + 1);
}

static gpointer
save_often (gpointer data)
{
  guint writer = GPOINTER_TO_UINT (data);

  for (guint i = 0; i < ROUNDS; i++)
    {
      g_autoptr (LoomCostTable) measured = loom_cost_table_new (), now = NULL;
      g_autoptr (GError) error = NULL;
      g_autofree char *call = call_of (writer, i);

      loom_cost_table_set_measured (measured, "cpu: an abacus, wood", call, "own plain", writer + 1);
      now = loom_cost_table_save_measured (measured, &error);
      g_assert_no_error (error);
      g_assert_cmpfloat (loom_cost_table_measured (now, "cpu: an abacus, wood", call, "own plain"), ==, writer + 1);
    }
  return NULL;
}

/* Concurrent writers lose no measurements, and a repeated measurement replaces the earlier one. */
static void
test_many_writers (void)
{
  GThread *thread[WRITERS];
  g_autofree char *path = loom_cost_table_user_file (), *note = NULL;
  g_autoptr (LoomCostTable) table = NULL;

  g_unlink (path);
  for (guint w = 0; w < WRITERS; w++)
    thread[w] = g_thread_new (NULL, save_often, GUINT_TO_POINTER (w));
  for (guint w = 0; w < WRITERS; w++)
    g_thread_join (thread[w]);
  save_often (GUINT_TO_POINTER (0));
  table = loom_cost_table_new_default ();
  note = loom_cost_table_take_note (table);
  g_assert_null (note);
  for (guint w = 0; w < WRITERS; w++)
    for (guint i = 0; i < ROUNDS; i++)
      {
        g_autofree char *call = call_of (w, i);

        g_assert_cmpfloat (loom_cost_table_measured (table, "cpu: an abacus, wood", call, "own plain"), ==, w + 1);
      }
  g_unlink (path);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  g_test_add_func ("/plan/cost-table/kept", test_kept_choices);
  g_test_add_func ("/plan/cost-table/broken-tables", test_broken_tables);
  g_test_add_func ("/plan/cost-table/many-writers", test_many_writers);
  return g_test_run ();
}
