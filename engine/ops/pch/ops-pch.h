/* Read once for all operators where headers are precompiled (the option b_pch): most of an operator's file is its
 * headers. */
#include <math.h>
#include <string.h>

#include "engine/ops/op-private.h"
