/* Read once for all files of a large box of the engine where headers are precompiled (the option b_pch), which saves a
 * quarter of what a short file takes. What all of these files read is here, and nothing more: to load a precompiled
 * header takes its time as well, so GIO, which few files need, is not. */
#include <math.h>
#include <string.h>

#include "engine/core/loom-error.h"
#include "engine/program/loom-program.h"
