#include "engine/program/prim-private.h"
const LoomPrim *const loom_prims_pool[] = { NULL };
