/* What the laboratory may use of the engine: all that programs may, and the parts whose speed it measures. */
#pragma once

#include "engine/loom-run.h"

#include "engine/data/loom-loader.h"
#include "engine/run/loom-eager.h"
#include "engine/run/loom-tune.h"
