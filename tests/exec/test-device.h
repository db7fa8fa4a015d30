/* The device under test: the same programs hold cpu, an emulated card and a real one against ref. */
#pragma once

#include "engine/plan/loom-plan.h"

/* GRADLOOM_TEST_DEVICE, else `otherwise`. */
static inline const char *
test_device (const char *otherwise)
{
  const char *asked = g_getenv ("GRADLOOM_TEST_DEVICE");

  return asked != NULL ? asked : otherwise;
}

/* TRUE if there is such a device; otherwise prints the reason as TAP, and the program exits with status 77. */
static inline gboolean
test_device_is_there (LoomDevices *devices, const char *name)
{
  g_autoptr (GError) error = NULL;

  if (loom_devices_get (devices, name, &error) != NULL)
    return TRUE;
  g_print ("1..0 # SKIP %s\n", error->message);
  return FALSE;
}
