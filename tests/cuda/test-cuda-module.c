/* Tests the module as a program uses it: it opens, names itself, and reports in one sentence that there is no device; a
 * missing module fails without harm. */
#include <gmodule.h>
#include <string.h>

#include "kernels/backend.h"
#include "tests/test-program.h"

static const LoomBackend *
open_backend (GModule **module)
{
  gpointer entry = NULL;

  *module = g_module_open (CUDA_MODULE, G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL);
  if (*module == NULL)
    g_error ("%s", g_module_error ());
  g_assert_true (g_module_symbol (*module, LOOM_BACKEND_ENTRY, &entry));
  return ((LoomBackendEntry)entry) ();
}

static void
entry_test (void)
{
  GModule *module;
  const LoomBackend *backend = open_backend (&module);

  g_assert_cmpuint (backend->abi, ==, LOOM_BACKEND_ABI);
  g_assert_cmpstr (backend->name, ==, "cuda");
  g_assert_true (backend->device_count != NULL && backend->device_open != NULL && backend->device_close != NULL);
  g_assert_true (backend->device_info != NULL && backend->alloc != NULL && backend->free != NULL);
  g_assert_true (backend->copy != NULL && backend->kernel_new != NULL && backend->stream_sync != NULL);
  g_module_close (module);
}

/* Every name but the entry's is hidden: two back ends may share helpers' names. */
static void
hidden_test (void)
{
  GModule *module;
  gpointer symbol = NULL;

  open_backend (&module);
  g_assert_false (g_module_symbol (module, "cuda_primitives", &symbol));
  g_assert_false (g_module_symbol (module, "cuda_compile", &symbol));
  g_module_close (module);
}

static void
device_test (void)
{
  GModule *module;
  const LoomBackend *backend = open_backend (&module);
  LoomMessage message = { "" };
  LoomDevice *device = (LoomDevice *)&message;
  LoomDeviceInfo info;
  int count = backend->device_count (&message);

  if (count > 0)
    {
      g_assert_cmpint (backend->device_open (0, 0, &device, &message), ==, LOOM_STATUS_OK);
      backend->device_info (device, &info);
      g_test_message ("%d device(s), the first %s", count, info.name);
      g_assert_cmpuint (info.memory_total, >, 0);
      g_assert_false (info.host_memory);
      backend->device_close (device);
      g_assert_cmpint (backend->device_open (count, 0, &device, &message), ==, LOOM_STATUS_DEVICE);
      g_assert_null (device);
      g_module_close (module);
      return;
    }
  g_test_message ("%s", message.text);
  g_assert_cmpuint (strlen (message.text), >, strlen ("no CUDA device: "));
  /* CUDA's own words for a missing driver. */
  g_assert_null (strstr (message.text, "insufficient"));
  memset (&message, 0, sizeof message);
  g_assert_cmpint (backend->device_open (0, 0, &device, &message), ==, LOOM_STATUS_DEVICE);
  g_assert_null (device);
  g_assert_cmpuint (strlen (message.text), >, strlen ("no CUDA device: "));
  /* The message may be NULL. */
  g_assert_cmpint (backend->device_count (NULL), ==, 0);
  g_module_close (module);
}

static void
silent_test (void)
{
  GModule *module;
  const LoomBackend *backend;

  if (g_test_subprocess ())
    {
      backend = open_backend (&module);
      backend->device_count (NULL);
      return;
    }
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stderr ("");
}

/* As on a machine without CUDA's libraries: opening fails with a reason, without further effect. */
static void
missing_test (void)
{
  g_autofree char *path = g_build_filename (g_get_tmp_dir (), "no-such-folder", "loom-cuda.so", NULL);

  g_assert_null (g_module_open (path, G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL));
  g_assert_nonnull (strstr (g_module_error (), "no-such-folder"));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cuda/module/entry", entry_test);
  g_test_add_func ("/cuda/module/hidden", hidden_test);
  g_test_add_func ("/cuda/module/device", device_test);
  g_test_add_func ("/cuda/module/silent", silent_test);
  g_test_add_func ("/cuda/module/missing", missing_test);
  return g_test_run ();
}
