/* Pieces that are alike: an evaluation of one holds for all. */
#pragma once

#include "engine/check/check-piece.h"

/* TRUE if both have the same calls on values of the same types, layouts and places in each other's bytes, stand for the
 * same steps of the program, and have the same operands and results, in the same order; only the numbers of values and
 * the streams of random numbers are others, or the plans, such as those of two ranks. Pieces with bodies are never
 * alike. */
gboolean check_pieces_are_alike (const CheckPiece *a, const CheckPiece *b);
/* TRUE if the attributes of two calls of a kernel are equal. */
gboolean check_same_attrs (const char *primitive, const void *a, const void *b);
/* Equal for pieces that are alike. */
guint check_piece_hash (const CheckPiece *piece);
