/* A language model that predicts the next token, run token by token.
 *
 * If positions read earlier ones only through causal attention, recurrent layers or loops, the keys, values and states
 * of earlier positions are cached, and a token costs as much as one position. Otherwise the whole context is computed
 * for each token. */
#pragma once

#include "engine/infer/loom-predictor.h"

typedef struct _LoomGenerator LoomGenerator;

/* predictor must read texts (loom_predictor_reads_text()), predict probabilities of tokens, and outlive the generator.
 * keep FALSE disables the cache; the results are the same up to rounding. Errors: those of planning. */
LoomGenerator *loom_generator_new (LoomPredictor *predictor, gboolean keep, GError **error);
void loom_generator_free (LoomGenerator *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomGenerator, loom_generator_free)

/* The reason why there is no cache although it was requested, as a sentence; else NULL. */
const char *loom_generator_why (const LoomGenerator *self);

/* Reads n ≥ 1 more tokens. Returns n_classes probabilities of the next token, valid until the next call. A net with
 * attention or position encodings sees at most as many tokens as its context: if it is full, the net continues with the
 * last half of the context as if this were the whole text (read at once). A net with recurrent layers only sees the
 * whole text. A net without a cache sees the last tokens, as many as its context. */
const LoomAnswer *loom_generator_read (LoomGenerator *self, const gint64 *tokens, guint n, GError **error);
