/* Precompiled for the translated kernels, which include it first in any case. */
#include "tests/cuda/emulator/emulator.h"
