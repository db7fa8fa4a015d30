/* Opens the first device of a back end's module, for tests that call it without an engine. */
#pragma once

#include <gmodule.h>

#include "kernels/backend.h"

/* Ends the program if there is none. */
static inline const LoomBackend *
module_device (const char *path, LoomDevice **device)
{
  GModule *module = g_module_open (path, G_MODULE_BIND_LOCAL);
  const LoomBackend *backend;
  LoomMessage message = { "" };
  gpointer entry = NULL;

  if (module == NULL)
    g_error ("%s", g_module_error ());
  if (!g_module_symbol (module, LOOM_BACKEND_ENTRY, &entry))
    g_error ("%s is no back end", path);
  backend = ((LoomBackendEntry)entry) ();
  if (backend->device_open (0, 0, device, &message) != LOOM_STATUS_OK)
    g_error ("%s", message.text);
  return backend;
}
