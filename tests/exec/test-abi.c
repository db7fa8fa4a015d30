/* A module that was built for another version of kernels/backend.h is refused with one sentence, and no further call.
 */
#include "engine/plan/loom-plan.h"
#include "tests/test-program.h"

#include <glib/gstdio.h>
#include <string.h>

static void
test_old (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autofree char *want
      = g_strdup_printf ("There is no device cuda:0: the cuda module has version %d of the back-end interface, but "
                         "this program needs %d. Use device cpu.",
                         LOOM_BACKEND_ABI - 1, LOOM_BACKEND_ABI);

  for (int again = 0; again < 2; again++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (loom_devices_get (devices, "cuda:0", &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DEVICE);
      g_assert_cmpstr (error->message, ==, want);
    }
  g_assert_nonnull (loom_devices_get (devices, "cpu", NULL));
}

/* Nor is one opened that another user may have put there. */
static void
test_of_others (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-modules-XXXXXX", NULL);
  g_autofree char *file = g_build_filename (folder, "loom-cuda.so", NULL);
  static const struct
  {
    int folder, file;
    gboolean opened;
  } cases[] = { { 0777, 0644, FALSE }, { 0755, 0666, FALSE }, { 0755, 0644, TRUE } };

  g_assert_true (g_file_set_contents (file, "no module", -1, NULL));
  g_setenv ("GRADLOOM_MODULES", folder, TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (LoomDevices) devices = loom_devices_new (1);
      g_autoptr (GError) error = NULL;

      g_assert_cmpint (g_chmod (folder, cases[i].folder), ==, 0);
      g_assert_cmpint (g_chmod (file, cases[i].file), ==, 0);
      g_assert_null (loom_devices_get (devices, "cuda:0", &error));
      if ((strstr (error->message, "is not loaded, because users other than you") == NULL) != cases[i].opened
          || (strstr (error->message, "could not be loaded") != NULL) != cases[i].opened)
        g_error ("case %u: %s", i, error->message);
    }
  g_remove (file);
  g_rmdir (folder);
  g_setenv ("GRADLOOM_MODULES", OLD_MODULES, TRUE);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_setenv ("GRADLOOM_MODULES", OLD_MODULES, TRUE);
  g_test_add_func ("/abi/old", test_old);
  g_test_add_func ("/abi/of-others", test_of_others);
  return g_test_run ();
}
