/* Read once for all files of the boxes that stand on nets, where headers are precompiled (the option b_pch): see
 * pch-engine.h. */
#include <math.h>
#include <string.h>

#include "engine/core/loom-error.h"
#include "engine/net/loom-net.h"
