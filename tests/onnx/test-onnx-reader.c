/* The ONNX reader against bytes that lie. */
#include "engine/interop/onnx/loom-onnx.h"

#include <string.h>

static void
test_no_model (void)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;

  g_assert_null (loom_onnx_read_data ("", 0, "empty.onnx", NULL, faults, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/onnx-reader/no-model", test_no_model);
  return g_test_run ();
}
