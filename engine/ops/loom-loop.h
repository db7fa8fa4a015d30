/* Declares the operators that run modules (LOOM_ROLE_LOOP) and how each of them does. */
#pragma once

#include "engine/ops/loom-op.h"

/* The attribute of an operator that names several modules, separated by commas, in place of LOOM_BODY. */
#define LOOM_BODIES "bodies"

typedef enum
{
  LOOM_LOOP_SCAN,   /* once for each step of a sequence */
  LOOM_LOOP_SWITCH, /* one of several modules */
  LOOM_LOOP_TREE    /* once for each level of trees */
} LoomLoopKind;

typedef struct
{
  const LoomOp *op;
  LoomLoopKind kind;
  const char *attribute; /* LOOM_BODY or LOOM_BODIES */
  const char *port;      /* the input in addition to those of the module */
  const char *port_doc;
  gboolean port_is_optional;
} LoomLoop;

/* NULL for other operators (op may be NULL); and the operator of a kind. */
const LoomLoop *loom_op_loop (const LoomOp *op);
const LoomLoop *loom_loop_of_kind (LoomLoopKind kind);
