/* Random programs: arithmetic, products, shapes, sums and constants over small matrices. */
#pragma once

#include "engine/program/loom-program.h"

/* n instructions over two inputs and two slots; a few values are outputs, one slot is committed. Inputs have at most 36
 * elements. dtype: of all floats. (transfer full) */
LoomProgram *random_program_new (guint32 seed, guint n, LoomDType dtype);
