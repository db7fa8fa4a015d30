/* How many threads there are, and how they wait. */
#include <glib.h>
#include <glib/gstdio.h>

#include "kernels/cpu/cpu.h"
#include "tests/scratch.h"
#include "tests/test-program.h"

static void
write_file (const char *root, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (root, name, NULL), *folder = g_path_get_dirname (path);
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (g_mkdir_with_parents (folder, 0700), ==, 0);
  g_file_set_contents (path, text, -1, &error);
  g_assert_no_error (error);
}

static void
test_quota (void)
{
  static const struct
  {
    const char *membership, *file, *text, *other_file, *other_text;
    int processors;
  } cases[] = {
    { "0::/a/b\n", "a/b/cpu.max", "150000 100000\n", NULL, NULL, 2 },
    { "0::/a/b\n", "a/b/cpu.max", "max 100000\n", NULL, NULL, 0 },
    { "0::/a/b\n", "a/b/cpu.max", "max 100000\n", "a/cpu.max", "400000 100000\n", 4 },
    { "0::/a/b\n", "a/b/cpu.max", "800000 100000\n", "a/cpu.max", "300000 100000\n", 3 },
    { "0::/\n", "cpu.max", "10000 100000\n", NULL, NULL, 1 },
    { "4:cpu,cpuacct:/x\n0::/\n", "cpu/x/cpu.cfs_quota_us", "200000\n", "cpu/x/cpu.cfs_period_us", "100000\n", 2 },
    { "4:cpu:/x\n3:cpuset:/y\n", "cpu/x/cpu.cfs_quota_us", "-1\n", "cpu/x/cpu.cfs_period_us", "100000\n", 0 },
    { "3:cpuset:/y\n", "cpu/y/cpu.cfs_quota_us", "100000\n", "cpu/y/cpu.cfs_period_us", "100000\n", 0 },
    { "0::/a\n", "a/cpu.max", "", NULL, NULL, 0 },
    { "", "cpu.max", "100000 100000\n", NULL, NULL, 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *root = g_dir_make_tmp ("gradloom-quota-XXXXXX", NULL);
      g_autofree char *membership = g_build_filename (root, "membership", NULL);

      write_file (root, "membership", cases[i].membership);
      write_file (root, cases[i].file, cases[i].text);
      if (cases[i].other_file != NULL)
        write_file (root, cases[i].other_file, cases[i].other_text);
      g_assert_cmpint (cpu_quota (root, membership), ==, cases[i].processors);
      g_unlink (membership);
      for (int k = 0; k < 2; k++)
        {
          const char *file = k == 0 ? cases[i].file : cases[i].other_file;
          g_autofree char *path = file != NULL ? g_build_filename (root, file, NULL) : NULL;

          if (path != NULL)
            g_unlink (path);
        }
      for (const char *const *f = (const char *const[]){ "a/b", "a", "cpu/x", "cpu/y", "cpu", "", NULL }; *f != NULL;
           f++)
        {
          g_autofree char *path = g_build_filename (root, *f, NULL);

          g_rmdir (path);
        }
      g_assert_false (g_file_test (root, G_FILE_TEST_EXISTS));
    }
  g_assert_cmpint (cpu_quota ("/nowhere", "/nowhere/membership"), ==, 0);
  g_assert_cmpint (cpu_processors (), >=, 1);
  g_assert_cmpint (cpu_processors (), <=, (int)g_get_num_processors ());
}

/* Groups of containers in containers have long paths; none is cut. */
static void
test_deep_group (void)
{
  g_autofree char *root = g_dir_make_tmp ("gradloom-quota-XXXXXX", NULL), *name = g_strnfill (200, 'g');
  g_autofree char *group = g_strdup_printf ("%s/%s/%s/%s", name, name, name, name);
  g_autofree char *line = g_strdup_printf ("0::/%s\n", group), *file = g_build_filename (group, "cpu.max", NULL);
  g_autofree char *membership = g_build_filename (root, "membership", NULL);

  write_file (root, "membership", line);
  write_file (root, file, "300000 100000\n");
  g_assert_cmpint (cpu_quota (root, membership), ==, 3);
  remove_tree (root);
}

/* With any requested number, a device has no more threads than there are processors. */
static void
test_cap (void)
{
  const LoomBackend *backend = loom_backend_cpu ();

  for (int threads = 0; threads <= 100000; threads = threads == 0 ? 1 : threads * 10)
    {
      LoomDevice *device;
      LoomDeviceInfo info;
      LoomMessage message = { "" };

      g_assert_cmpint (backend->device_open (0, threads, &device, &message), ==, LOOM_STATUS_OK);
      backend->device_info (device, &info);
      g_assert_cmpint (info.threads, ==, threads == 0 ? cpu_processors () : MIN (threads, cpu_processors ()));
      backend->device_close (device);
    }
}

static void
test_decision (void)
{
  g_assert_false (cpu_is_kept_waiting (false, 0.1, 1));
  g_assert_true (cpu_is_kept_waiting (false, 0.9, 1));
  g_assert_true (cpu_is_kept_waiting (true, 0.3, 1)); /* between the two it stays as it was */
  g_assert_false (cpu_is_kept_waiting (false, 0.3, 1));
  g_assert_false (cpu_is_kept_waiting (true, 0.1, 1));
  g_assert_false (cpu_is_kept_waiting (true, 0.9, 20)); /* now and then spinning is tried again */
}

static guint
count_tasks (void)
{
  g_autoptr (GDir) dir = g_dir_open ("/proc/self/task", 0, NULL);
  guint n = 0;

  while (dir != NULL && g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

static void
wait_for_tasks (guint n)
{
  for (int i = 0; i < 600 && count_tasks () != n; i++)
    g_usleep (100000);
  g_assert_cmpuint (count_tasks (), ==, n);
}

static void
add_up (void *context, int64_t from, int64_t to)
{
  for (int64_t i = from; i < to; i++)
    ((int *)context)[i]++;
}

/* Threads that make libgomp count more threads than processors start and end, with requests in any order. */
static void
test_asleep (void)
{
  const guint more = g_get_num_processors () == 1 ? 2 : g_get_num_processors ();
  int counted[1000] = { 0 };
  guint before;

  if (count_tasks () == 0)
    {
      g_test_skip ("/proc/self/task is not there");
      return;
    }
  cpu_parallel (2, 1000, add_up, counted);
  before = count_tasks ();
  for (int round = 1; round <= 3; round++)
    {
      cpu_wait_asleep (true, 2);
      cpu_wait_asleep (true, 2);
      wait_for_tasks (before + more);
      cpu_parallel (2, 1000, add_up, counted);
      cpu_wait_asleep (false, 2);
      g_usleep (1000);
      g_assert_cmpuint (count_tasks (), ==, before + more);
      cpu_wait_asleep (false, 2);
      wait_for_tasks (before);
    }
  for (int i = 0; i < 1000; i++)
    g_assert_cmpint (counted[i], ==, 4);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/kernels/threads/quota", test_quota);
  g_test_add_func ("/kernels/threads/deep-group", test_deep_group);
  g_test_add_func ("/kernels/threads/cap", test_cap);
  g_test_add_func ("/kernels/threads/decision", test_decision);
  g_test_add_func ("/kernels/threads/asleep", test_asleep);
  return g_test_run ();
}
