/* Operators that run modules (LOOM_ROLE_LOOP): how each does. */
#pragma once

#include "engine/ops/loom-op.h"

G_BEGIN_DECLS

/* The attribute of one that names several modules, with commas between, in the place of LOOM_BODY. */
#define LOOM_BODIES "bodies"

typedef enum
{
  LOOM_LOOP_SCAN,   /* one for each step of a sequence */
  LOOM_LOOP_SWITCH, /* one of several */
  LOOM_LOOP_TREE    /* one for each level of trees */
} LoomLoopKind;

typedef struct
{
  const LoomOp *op;
  LoomLoopKind kind;
  const char *attribute; /* LOOM_BODY or LOOM_BODIES */
  const char *port;      /* the input beside those of the module */
  const char *port_doc;
  gboolean port_is_optional;
} LoomLoop;

/* NULL for an operator that is none (op may be NULL), and the one of a kind. */
const LoomLoop *loom_op_loop (const LoomOp *op);
const LoomLoop *loom_loop_of_kind (LoomLoopKind kind);

G_END_DECLS
