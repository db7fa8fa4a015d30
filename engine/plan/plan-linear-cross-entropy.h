/* Finds the linear heads with cross-entropy of a program. Such a head is the product that makes a logit for each row (a
 * sample or token) and class, the loss of the logits, and their gradients. The axes of all these values are found too.
 *
 * It changes nothing. plan-pad-logits.c rewrites such a head along its classes, plan-head-chunks.c along its rows. */
#pragma once

#include "engine/plan/plan-private.h"

typedef struct
{
  PlanGraph *g;
  const char *device_name;
  gint64 rows, classes; /* classes is 0 if the loss has logits of another size */
  GHashTable *roots;    /* of the values that have rows × classes elements: logits, and values of their size */
  GHashTable *members;  /* PlanNode that make or read such values */
  GPtrArray *instrs;    /* `members` in program order */
} PlanHead;

/* An operand or a result. */
typedef struct
{
  guint value;        /* 0: absent */
  gboolean is_logits; /* rows × classes, so neither of the following */
  int rows;           /* 0: the rows are its first axis; −1: it has none; 1: they are elsewhere */
  int classes;        /* the axis of the classes; −1: none */
} PlanHeadPort;

/* Calls func for the head of each loss that is still there. */
void plan_heads_each (PlanGraph *g, void (*func) (PlanHead *h, PlanNode *loss));
/* Finds the instructions of a head. FALSE if the caller, a slot or another device uses its logits. */
gboolean plan_head_find (PlanHead *h, const PlanNode *loss);
/* TRUE if v has n numbers for each row, in row order; the rows may have any shape. */
gboolean plan_head_is_rows_by (const PlanHead *h, guint v, gint64 n);
/* TRUE if the instruction is one of a head: element-wise, a product of matrices without an epilogue, a sum over rows, a
 * loss or its gradient, or an argmax. All its operands and results have axes then. */
gboolean plan_head_knows (const PlanHead *h, const PlanNode *instr);
PlanHeadPort plan_head_operand (const PlanHead *h, const PlanNode *instr, guint k);
PlanHeadPort plan_head_result (const PlanHead *h, const PlanNode *instr, guint o);
