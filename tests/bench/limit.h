/* The limit that races print their share of. */
#pragma once

#include "engine/plan/loom-devices.h"
#include "engine/program/loom-program.h"

/* Operations of a program's products, convolutions (as direct ones) and attention. */
double operations_of (const LoomProgram *p);
/* Operations a second of a product of 1024 x 1024 matrices: the best of several windows. Ends the process on an error.
 */
double product_rate (LoomDevices *devices, const char *device, LoomDType dtype);
