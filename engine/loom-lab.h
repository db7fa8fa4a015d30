/* The interface of the engine to the laboratory: that to programs, and the parts whose speed the laboratory measures.
 */
#pragma once

#include "engine/loom-run.h"

#include "engine/data/loom-loader.h"
#include "engine/infer/loom-answer-port.h"
#include "engine/run/loom-eager.h"
#include "engine/run/loom-tune.h"
