/* Declares the two contexts that an operator is called with, as the caller (engine/net) fills them in.
 *
 * An operator sees neither struct: it calls the functions of loom-op.h, which read them. Whatever depends on one
 * node alone is plain data here. Host functions exist only for answers that depend on other nodes: reporting faults,
 * the weights of the net, the slots of the program. */
#pragma once

#include "engine/ops/loom-op.h"

/* ---- typing ------------------------------------------------------------ */

/* The value of a parameter, converted as its LoomParamSpec says. */
typedef struct
{
  gboolean is_set, is_good;
  const char *text; /* with expressions evaluated; NULL after a fault */
  gint64 i;         /* of int and bool */
  double d;
  guint n; /* of ints and floats */
  gint64 *ints;
  double *floats;
  LoomShape *shape;
  LoomDType dtype;
} LoomParam;

/* A weight or buffer that infer() declared. */
typedef struct
{
  LoomWeightSpec spec;
  const char *full_name; /* "block.0.conv.weight" */
  int input;             /* the wired port that replaces it (a tied weight); -1: it has a value of its own */
  guint weight;          /* index among the net's weights; G_MAXUINT when tied */
} LoomDeclared;

typedef struct
{
  LoomFault *(*fault) (LoomInfer *ctx, LoomErrorCode code, const char *port, const char *message);
  /* Appends to ctx->declared. */
  void (*weight) (LoomInfer *ctx, const LoomWeightSpec *spec);
  gboolean (*input_is_state) (const LoomInfer *ctx, guint i, const char **name);
  gboolean (*claim_state) (LoomInfer *ctx, const char *name);
  /* The text of an attribute with its expression evaluated; NULL after a fault. */
  const char *(*evaluate) (const LoomInfer *ctx, const char *name, const char *text);
  gpointer (*keep) (LoomInfer *ctx, gsize bytes);
} LoomInferHost;

struct _LoomInfer
{
  const LoomInferHost *host;
  gpointer data; /* the host's */
  const LoomOp *op;
  const LoomElement *element;
  const char *path, *folder;
  const LoomGuard *guard;     /* of data; NULL: there is none */
  const LoomBinding *binding; /* NULL: symbols stay */
  char own_symbol;            /* of an operator with count_size(); 0: the alphabet was used up */
  const LoomParamSpec *specs; /* of this node: the operator's, or its variant's */
  LoomParam *params;          /* in the order of the specs */
  gboolean has_fault;
  guint n_inputs;
  const LoomPortSpec *input_spec;
  const LoomType **input; /* NULL where not wired */
  const LoomPortSpec *output_spec;
  guint n_outputs;
  LoomType *output; /* weights and buffers after the outputs, in the order of loom_op_weight_name() */
  gboolean *output_is_set;
  guint n_declared;
  LoomDeclared *declared;
};

/* NULL if infer() did not declare it. */
const LoomDeclared *loom_infer_find_declared (const LoomInfer *ctx, const char *name);
/* Reports a fault if a tensor has too many elements for 64-bit byte counts. */
void loom_infer_check_size (LoomInfer *ctx, const char *port, const LoomShape *shape);

/* Converts and checks a parameter's text; FALSE with a fault (loom-param.c). */
gboolean loom_param_parse (LoomInfer *ctx, const LoomParamSpec *spec, const char *text, LoomParam *param);

/* ---- lowering ----------------------------------------------------------- */

struct _LoomLower
{
  LoomProgram *program;
  const LoomInfer *infer; /* with every symbol bound */
  gboolean training, direct, effects;
  gboolean is_recomputed;    /* whether recompute="true" of the node, or of a module around it, applies */
  guint64 seed;              /* the slot "seed" */
  const char *rng_step;      /* the i64 slot that makes random numbers differ from step to step */
  const LoomCarry *carry;    /* NULL: no state is carried */
  const LoomValue *input;    /* 0 if not wired */
  LoomValue *output;         /* results of lower() */
  const gboolean *must_copy; /* by output: it is read by others, and must not be the same value as an input */
  GError *error;             /* the first one */
  /* The slot of a declared weight or buffer that is not tied. */
  int (*slot) (LoomLower *ctx, const LoomDeclared *declared);
  gpointer data; /* of slot() */
};

/* context-carry.c, also used by loops, which engine/net lowers. Only in the first may carry be NULL. */
gboolean loom_carry_is_requested (const LoomCarry *carry, const LoomInfer *infer);
LoomValue
loom_carry_begin (LoomProgram *p, const LoomCarry *carry, const char *path, const char *what, LoomValue first);
void loom_carry_end (LoomProgram *p, const LoomCarry *carry, const char *path, const char *what, LoomValue next);
