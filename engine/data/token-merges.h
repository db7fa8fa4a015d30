/* The merges of a byte-pair encoding: which two adjacent tokens become one, and in which order. */
#pragma once

#include <glib.h>

typedef struct _TokenMerges TokenMerges;

TokenMerges *token_merges_new (void);
void token_merges_free (TokenMerges *self);
/* Adds a merge of a higher rank than all before it. A pair that is added again has the later rank. */
void token_merges_add (TokenMerges *self, guint32 left, guint32 right, guint32 both);
/* Merges the pair of the lowest rank in a list of tokens (guint32) until no pair of it can be merged. */
void token_merges_apply (const TokenMerges *self, GArray *ids);
