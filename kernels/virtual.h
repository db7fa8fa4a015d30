/* Virtual devices: one processor that counts as several, each with memory of its own, so that placement on more than
 * one device can be taught, run and tested anywhere. */
#ifndef LOOM_VIRTUAL_H
#define LOOM_VIRTUAL_H

#include <stdlib.h>

#define LOOM_MAX_VIRTUAL_DEVICES 64

/* The number of devices that GRADLOOM_CPU_DEVICES asks for: 1 to 64. */
static inline int
loom_virtual_devices (void)
{
  const char *wanted = getenv ("GRADLOOM_CPU_DEVICES");
  int n = wanted != NULL ? atoi (wanted) : 1;

  return n < 1 ? 1 : n > LOOM_MAX_VIRTUAL_DEVICES ? LOOM_MAX_VIRTUAL_DEVICES : n;
}

#endif
