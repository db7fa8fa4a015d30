/* Divides a plan into pieces, each with the instructions of the program that it stands for.
 *
 * A plan value with the number of a program value claims to be that value (its own values follow those numbers). A
 * piece is a maximal group of plan instructions that are connected by values without a claim: padded, packed, reordered
 * or converted ones. So a piece reads and makes only values that claim to be the program's. If each piece computes the
 * claims of its results from the claims of its operands, the plan computes the program. */
#pragma once

#include "engine/plan/loom-plan.h"

/* A value that cannot be what it is taken for: it has another type, or it is another input or slot. */
typedef struct
{
  guint value;
  LoomValue meant;
} CheckRefusal;

typedef struct
{
  const LoomPlan *plan;
  const LoomProgram *program;
  LoomValue *number;  /* by program value: the first value with the same expression */
  gboolean *constant; /* by program value: it depends on no input and no slot */
  GArray **claims;    /* by plan value that is a root: LoomValue; NULL: none */
  gboolean *is_kept;  /* by root: the caller or a slot takes it */
  GArray **readers;   /* by root: guint, the instructions that read it; NULL: none */
  guint *producer;    /* by root: the instruction that makes it, G_MAXUINT: none */
  guint *piece_of;    /* by plan instruction */
  GPtrArray *pieces;  /* GArray of guint: plan instructions, ascending */
  GArray *refused;    /* CheckRefusal */
  guint8 *mark;       /* by program value, and */
  gboolean *is_step;  /* by program instruction: of check-steps.c, clear between its calls */
} CheckPieces;

CheckPieces *check_pieces_new (const LoomPlan *plan);
void check_pieces_free (CheckPieces *pieces);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CheckPieces, check_pieces_free)

/* The root of operand or result k of an instruction; G_MAXUINT: absent. */
guint check_operand_root (const LoomPlan *plan, const LoomPlanInstr *instr, guint k);
/* The value whose bytes v has in the program, through views. */
LoomValue check_program_root (const CheckPieces *pieces, LoomValue v);
