/* Tells the two modules apart: compiled once for each. */
#include "tests/cuda/emulator/fakes.h"

namespace emulated
{
const bool checked = EMULATOR_CHECKED;
}
