/* Continues a text with a language model: reads a prompt, draws tokens one by one, and collects the text. */
#pragma once

#include "engine/infer/loom-generator.h"

typedef struct
{
  double temperature; /* logits are divided by it; 0: always the likeliest token */
  guint top_k;        /* draws only from the k likeliest tokens; 0: from all */
  guint32 seed;
  gboolean no_cache; /* computes all positions for each token */
} LoomContinuationOptions;

typedef struct _LoomContinuation LoomContinuation;

/* Reads the prompt, which is not empty, as the net's data set reads texts. predictor must outlive the object. Errors:
 * DATA if the net reads no text or its data are missing, or the prompt has unknown characters; those of
 * loom_generator_new(). */
LoomContinuation *loom_continuation_new (LoomPredictor *predictor, const char *prompt,
                                         const LoomContinuationOptions *options, GError **error);
void loom_continuation_free (LoomContinuation *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomContinuation, loom_continuation_free)
/* Draws one more token and appends it to the text. Errors: SHAPE if the net does not predict the next token, NAN if its
 * probabilities are not finite, and those of loom_generator_read(). */
gboolean loom_continuation_step (LoomContinuation *self, GError **error);
/* The generated text without the prompt; it can end within a character. May be cut with g_string_truncate(). */
GString *loom_continuation_text (LoomContinuation *self);
/* The reason why nothing is cached, as a sentence; NULL: there is a cache, or none was requested. */
const char *loom_continuation_why (const LoomContinuation *self);
