/* The engine's public header: all that app/ and ui/ may include. */
#pragma once

#include "engine/core/loom-dim.h"
#include "engine/core/loom-error.h"
#include "engine/core/loom-fault.h"
#include "engine/core/loom-tensor.h"
#include "engine/data/loom-loader.h"
#include "engine/graph/loom-expr.h"
#include "engine/graph/loom-graph.h"
#include "engine/interop/loom-npy.h"
#include "engine/interop/loom-safetensors.h"
#include "engine/ops/loom-net.h"
#include "engine/ops/loom-op.h"
#include "engine/ops/loom-train-spec.h"
#include "engine/plan/loom-plan.h"
#include "engine/run/loom-exec.h"
#include "engine/train/loom-step.h"
#include "engine/train/loom-trainer.h"
