/* What programs may use of the engine that train, predict and show plans: the commands, the worker and the library. */
#pragma once

#include "engine/loom.h"

#include "engine/check/loom-check.h"
#include "engine/dist/loom-launcher.h"
#include "engine/infer/loom-decoder.h"
#include "engine/infer/loom-continuation.h"
#include "engine/infer/loom-evaluation.h"
#include "engine/infer/loom-instant.h"
#include "engine/infer/loom-predictor.h"
#include "engine/infer/loom-sizes.h"
#include "engine/interop/loom-npy.h"
#include "engine/interop/loom-weights.h"
#include "engine/plan/loom-node-memory.h"
#include "engine/plan/loom-plan.h"
#include "engine/program/loom-partition.h"
#include "engine/program/loom-pipeline.h"
#include "engine/recipe/loom-schema.h"
#include "engine/run/loom-exec.h"
#include "engine/train/loom-stages.h"
#include "engine/train/loom-step.h"
#include "engine/train/loom-trainer.h"
