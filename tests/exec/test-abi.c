/* A module that was built for another version of kernels/backend.h is refused with one sentence, and no further call.
 */
#include "engine/plan/loom-plan.h"

static void
test_old (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autofree char *want
      = g_strdup_printf ("There is no device cuda:0: the cuda module speaks version %d of the back-end interface, this "
                         "program %d. Use device cpu.",
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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_setenv ("GRADLOOM_MODULES", OLD_MODULES, TRUE);
  g_test_add_func ("/abi/old", test_old);
  return g_test_run ();
}
