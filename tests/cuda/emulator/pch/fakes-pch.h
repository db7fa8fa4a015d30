/* Precompiled for the fakes of CUDA's libraries: reading these headers takes more than half of the time of each. */
#include <algorithm>
#include <map>
#include <math.h>
#include <mutex>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <string.h>

#include "tests/cuda/emulator/stream.h"
