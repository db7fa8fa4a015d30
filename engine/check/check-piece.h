/* A piece of a plan: instructions, and the instructions of the program that they stand for. */
#pragma once

#include "engine/check/check-pieces.h"

/* Plan instructions with what they read and make, and the instructions of the program between the two. */
typedef struct
{
  const CheckPieces *of;
  GArray *instrs;  /* guint: of the plan, ascending */
  GArray *inputs;  /* guint: roots that are read and not made here */
  GArray *outputs; /* guint: roots with a claim that are made here and compared */
  GArray *steps;   /* guint: of the program, ascending */
  GArray *sources; /* LoomValue: claims of inputs that the steps do not compute */
  GArray *missing; /* LoomValue: inputs and slots that the steps read and the plan's instructions do not */
  GArray *given;   /* LoomValue, as in CheckPieces.number: the claims of inputs that are no constants */
} CheckPiece;

/* is_grown: claims of values that only these instructions read are not compared. */
CheckPiece *check_piece_new (const CheckPieces *pieces, const GArray *instrs, gboolean is_grown);
void check_piece_free (CheckPiece *piece);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CheckPiece, check_piece_free)

gboolean check_piece_is_given (const CheckPiece *piece, LoomValue v);

/* The same instructions with those of the pieces that make the operands: of all, or of those whose steps are among
 * these too. NULL: there are no others. */
GArray *check_piece_with_producers (const CheckPieces *pieces, const CheckPiece *piece, gboolean related_only);
/* The same instructions with those of the pieces that read this root, which then is an inner one. NULL: the caller, a
 * slot or a step of an optimizer reads it, or there are no others. */
GArray *check_piece_with_readers (const CheckPieces *pieces, const CheckPiece *piece, guint root);

/* Scalar operations of the steps, and the largest number of operations for one element of a result. */
double check_piece_operations (const CheckPieces *pieces, const CheckPiece *piece, double *depth);
/* Elements of all operands and results of the steps. */
double check_piece_elements (const CheckPieces *pieces, const CheckPiece *piece);
/* check-steps.c: walks the program from the results' claims back to those of the operands. */
void check_piece_find_steps (const CheckPieces *pieces, CheckPiece *piece);
