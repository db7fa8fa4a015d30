/* Read once for all files that stand on the whole engine, those of the program and of the tests, where headers are
 * precompiled (the option b_pch): half of what their files take is this header. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/loom-lab.h"
