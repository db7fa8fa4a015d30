/* Tells the two modules apart: compiled once for each. */
#include "tests/cuda/emulator/emulator.h"

namespace emulated
{
const bool checked = EMULATOR_CHECKED;
}
