/* Structural rules: pieces that need no evaluation, because they are the program's instructions. */
#pragma once

#include "engine/check/check-piece.h"

/* TRUE if the piece's call is the program's by its primitive, attributes and operands. What the kernel makes of the
 * call is left to the tests of kernels. */
gboolean check_rule_holds (const CheckPieces *pieces, const CheckPiece *piece);
