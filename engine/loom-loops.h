/* The part of the engine's public header for those that look into what loops, branches and trees run. */
#pragma once

#include "engine/graph/loom-modules.h"
#include "engine/loom.h"
#include "engine/ops/loom-loop.h"
