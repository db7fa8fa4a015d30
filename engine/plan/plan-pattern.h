/* Fusion patterns as data. A pattern names a root instruction, an instruction next to it, and a function that changes
 * the root's call so that it also does the work of the other one. One engine matches, queries the device for the changed
 * call, and then changes the graph; if there is no such kernel, the graph stays untouched. */
#pragma once

#include "engine/plan/plan-private.h"

/* The call that a pattern requests: that of the root, which plan_rewrite_begin() copies and the pattern changes. */
typedef struct
{
  PlanGraph *g;
  GHashTable **updaters;  /* graph_find_updaters(), when it is first needed */
  PlanNode *root, *other; /* other: the instruction that the pattern found next to the root; NULL: none */
  guint at;               /* the operand or result of the root at which it was found */
  const LoomPrim *prim;
  gpointer attrs;
  GArray *steps;     /* PlanStep; NULL: not element-wise */
  GArray *in, *out;  /* guint */
  GPtrArray *gone;   /* PlanNode that are erased */
  GString *label;    /* of the changed root */
  gsize max_scratch; /* the kernel must need less; 0: any number of bytes */
} PlanRewrite;

/* Which instructions a pattern matches: unfused calls of some primitives, or, without names, element-wise ones. */
typedef struct
{
  const char *name[3];
  enum
  {
    PATTERN_N_STEPS, /* element-wise with any number of steps */
    PATTERN_ONE_STEP,
    PATTERN_ONE_OP /* a single step with this operation */
  } steps;
  LoomScalarOp op;
} PlanNodePattern;

#define PATTERN_CALL(...)                                                                                              \
  {                                                                                                                    \
    .name = { __VA_ARGS__ }                                                                                            \
  }
#define PATTERN_STEP(operation)                                                                                        \
  {                                                                                                                    \
    .steps = PATTERN_ONE_OP, .op = operation                                                                           \
  }

typedef enum
{
  PATTERN_KEEPS_OTHER = 1 << 0,    /* the other instruction stays, since it may have more readers */
  PATTERN_ACROSS_DEVICES = 1 << 1, /* the other instruction may be on another device */
  PATTERN_MOVES_OTHER = 1 << 2     /* the root reads the other's operands, so nothing may overwrite them before it */
} PlanPatternFlags;

#define PATTERN_EACH G_MAXUINT

struct _PlanPattern
{
  PlanNodePattern root, other;
  /* Finds the other instruction at operand or result k of the root. NULL: the pattern has only a root. */
  PlanNode *(*find) (PlanGraph *g, const PlanNode *root, guint k);
  guint last; /* the last k; PATTERN_EACH: all */
  PlanPatternFlags flags;
  /* Tests the remaining conditions and changes the call. */
  gboolean (*rewrite) (PlanRewrite *r);
  /* Completes a rewrite in the changed graph; may be NULL. */
  void (*applied) (PlanRewrite *r);
};

/* Applies a list of patterns that ends with an entry without `rewrite`: one pattern after the other, each to all
 * instructions in order, and to each instruction as often as it matches. */
void graph_apply_patterns (PlanGraph *g, const PlanPattern *patterns);

/* ---- the patterns, each in the file of its name, in the order of the table of passes ---- */
extern const PlanPattern patterns_of_transposes[];
extern const PlanPattern patterns_of_masks[];
extern const PlanPattern patterns_of_activations[];
extern const PlanPattern patterns_of_attention[];
extern const PlanPattern patterns_of_pooled_convolutions[];
extern const PlanPattern patterns_of_epilogues[];
extern const PlanPattern patterns_of_norms[];
extern const PlanPattern patterns_of_operand_casts[];
extern const PlanPattern patterns_of_f32_results[];
extern const PlanPattern patterns_of_sum_casts[];
extern const PlanPattern patterns_of_bias_gradients[];
extern const PlanPattern patterns_of_elementwise[];
extern const PlanPattern patterns_of_derivatives[];

/* ---- finding the other instruction ---------------------------------------- */
/* The producer of operand k; with views: of its bytes. */
PlanNode *pattern_producer (PlanGraph *g, const PlanNode *root, guint k);
PlanNode *pattern_producer_of_bytes (PlanGraph *g, const PlanNode *root, guint k);
/* The only reader of result k; with views: of it or its views. */
PlanNode *pattern_reader (PlanGraph *g, const PlanNode *root, guint k);
PlanNode *pattern_reader_of_bytes (PlanGraph *g, const PlanNode *root, guint k);

/* ---- changing the call ------------------------------------------------------ */
/* Copies the root's call. */
void plan_rewrite_begin (PlanRewrite *r, PlanGraph *g, PlanNode *root);
void plan_rewrite_clear (PlanRewrite *r);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PlanRewrite, plan_rewrite_clear)
/* TRUE if the root's device has the call. */
gboolean plan_rewrite_has_kernel (const PlanRewrite *r);
/* TRUE if no instruction overwrites v before the root; an optimizer's step overwrites the parameters that it updates.
 */
gboolean plan_rewrite_can_read (const PlanRewrite *r, guint v);
/* Changes the graph. */
void plan_rewrite_apply (PlanRewrite *r);

/* Makes it a call of another instruction: its primitive, attributes and operands, with the root's results. */
void plan_rewrite_as (PlanRewrite *r, const PlanNode *like);

static inline guint
rewrite_in (const PlanRewrite *r, guint k)
{
  return g_array_index (r->in, guint, k);
}

static inline guint
rewrite_out (const PlanRewrite *r, guint o)
{
  return g_array_index (r->out, guint, o);
}

static inline void
rewrite_set_in (PlanRewrite *r, guint k, guint v)
{
  if (k >= r->in->len)
    g_array_set_size (r->in, k + 1);
  g_array_index (r->in, guint, k) = v;
}

static inline void
rewrite_add_in (PlanRewrite *r, guint v)
{
  g_array_append_val (r->in, v);
}

static inline void
rewrite_set_out (PlanRewrite *r, guint o, guint v)
{
  if (o >= r->out->len)
    g_array_set_size (r->out, o + 1);
  g_array_index (r->out, guint, o) = v;
}
