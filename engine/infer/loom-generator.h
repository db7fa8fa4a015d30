/* A net that says which token comes next, asked token by token.
 *
 * Where each place looks at those before it only by attention that is causal, by recurrent layers or by loops, the
 * keys, values and states of earlier places are kept, and a token costs as much as one place. Else the whole context is
 * computed for each token. */
#pragma once

#include "engine/infer/loom-predictor.h"

G_BEGIN_DECLS

typedef struct _LoomGenerator LoomGenerator;

/* predictor reads texts (loom_predictor_reads_text()), gives probabilities of tokens, and lives longer. With keep FALSE
 * nothing is kept; the answers are the same up to rounding. Errors: those of planning. */
LoomGenerator *loom_generator_new (LoomPredictor *predictor, gboolean keep, GError **error);
void loom_generator_free (LoomGenerator *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomGenerator, loom_generator_free)

/* Why nothing is kept although it should be, as a sentence; NULL where it is, or where it should not. */
const char *loom_generator_why (const LoomGenerator *self);

/* Reads n ≥ 1 further tokens. Returns n_classes probabilities of the next token, valid until the next call. A net
 * with attention or position encodings sees at most as many tokens as its context: if it is full, the net continues
 * with the last half of the context as if this were the whole text (read at once). A net of recurrent layers alone has
 * seen everything. A net of which nothing can be kept sees the last tokens, as many as its context. */
const LoomAnswer *loom_generator_read (LoomGenerator *self, const gint64 *tokens, guint n, GError **error);

G_END_DECLS
