/* The pieces that were found equal to their steps, of one plan or several: an evaluation of one holds for all that are
 * alike. */
#pragma once

#include "engine/check/check-piece.h"
#include "engine/check/loom-check.h"

G_BEGIN_DECLS

/* Keeps the pieces of a plan, to which the following functions refer. */
void check_equals_take_plan (LoomCheckEquals *equals, CheckPieces *pieces);
gboolean check_equals_have (const LoomCheckEquals *equals, const CheckPieces *pieces, const CheckPiece *piece);
/* Adds a piece that was evaluated and found equal. (transfer full) */
void check_equals_take (LoomCheckEquals *equals, const CheckPieces *pieces, CheckPiece *piece);

G_END_DECLS
