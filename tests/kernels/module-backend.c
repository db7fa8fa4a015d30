/* Back ends that are modules, opened as the engine opens them. */
#include "tests/kernels/kernel-harness.h"

#include <gmodule.h>
#include <stdio.h>
#include <stdlib.h>

const LoomBackend *
module_backend (const char *path)
{
  GModule *module = g_module_open (path, G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL);
  gpointer entry = NULL;
  const LoomBackend *backend;

  if (module == NULL || !g_module_symbol (module, LOOM_BACKEND_ENTRY, &entry))
    {
      fprintf (stderr, "%s\n", g_module_error ());
      exit (1);
    }
  backend = ((LoomBackendEntry)entry) ();
  g_assert_cmpuint (backend->abi, ==, LOOM_BACKEND_ABI);
  return backend;
}
