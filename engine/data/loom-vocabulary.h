/* Tokens: what a text is cut into, and the numbers that stand for them. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Tokens that are no part of a text, first in every vocabulary that has them. */
typedef enum
{
  LOOM_TOKEN_PADDING, /* fills short sequences up */
  LOOM_TOKEN_START,
  LOOM_TOKEN_END,
  LOOM_TOKEN_UNKNOWN, /* stands for whatever the vocabulary lacks */
  LOOM_N_TOKENS
} LoomToken;

extern const char *const loom_token_names[LOOM_N_TOKENS]; /* "<pad>", … */

G_END_DECLS
