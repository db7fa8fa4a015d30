/* Divides a plan into pieces, each with the instructions of the program that it stands for.
 *
 * A plan value with the number of a program value claims to be that value (its own values follow those numbers). A
 * piece is a maximal group of plan instructions that are connected by values without a claim: padded, packed, reordered
 * or converted ones. So a piece reads and makes only values that claim to be the program's. If each piece computes the
 * claims of its results from the claims of its operands, the plan computes the program. */
#pragma once

#include "engine/plan/loom-plan.h"

G_BEGIN_DECLS

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
  LoomValue *number;    /* by program value: the first value with the same expression */
  gboolean *constant;   /* by program value: it depends on no input and no slot */
  GArray **claims;      /* by plan value that is a root: LoomValue; NULL: none */
  gboolean *is_kept;    /* by root: the caller or a slot takes it */
  GArray **readers;     /* by root: guint, the instructions that read it; NULL: none */
  guint *producer;      /* by root: the instruction that makes it, G_MAXUINT: none */
  guint *piece_of;      /* by plan instruction */
  GPtrArray *pieces;    /* GArray of guint: plan instructions, ascending */
  GArray *refused;      /* CheckRefusal */
} CheckPieces;

CheckPieces *check_pieces_new (const LoomPlan *plan);
void check_pieces_free (CheckPieces *pieces);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CheckPieces, check_pieces_free)

/* Plan instructions with what they read and make, and the instructions of the program between the two. */
typedef struct
{
  GArray *instrs;  /* guint: of the plan, ascending */
  GArray *inputs;  /* guint: roots that are read and not made here */
  GArray *outputs; /* guint: roots with a claim that are made here and compared */
  GArray *steps;   /* guint: of the program, ascending */
  GArray *sources; /* LoomValue: claims of inputs that the steps do not compute */
  GArray *missing; /* LoomValue: inputs and slots that the steps read and the plan's instructions do not */
  gboolean *is_given; /* by program value, as in CheckPieces.number: a claim of an input */
} CheckPiece;

/* is_grown: claims of values that only these instructions read are not compared. */
CheckPiece *check_piece_new (const CheckPieces *pieces, const GArray *instrs, gboolean is_grown);
void check_piece_free (CheckPiece *piece);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CheckPiece, check_piece_free)

/* The same instructions with those of the pieces that make the operands: of all, or of those whose steps are among these
 * too. NULL: there are no others. */
GArray *check_piece_with_producers (const CheckPieces *pieces, const CheckPiece *piece, gboolean related_only);
/* The same instructions with those of the pieces that read this root, which then is an inner one. NULL: the caller or a
 * slot reads it, or there are no others. */
GArray *check_piece_with_readers (const CheckPieces *pieces, const CheckPiece *piece, guint root);

/* Scalar operations of the steps, and the largest number of operations for one element of a result. */
double check_piece_operations (const CheckPieces *pieces, const CheckPiece *piece, double *depth);
/* The root of operand or result k of an instruction; G_MAXUINT: absent. */
guint check_operand_root (const LoomPlan *plan, const LoomPlanInstr *instr, guint k);

G_END_DECLS
