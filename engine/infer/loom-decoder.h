/* Nets that write an answer token by token: an encoder and a decoder, or a picture and its caption.
 *
 * Training gives the decoder the right beginning (the data set's port y_in, which is y one place later). Here it is
 * given what it has written itself: the likeliest token each time, or the likeliest of several beginnings that are kept
 * side by side (beam search; Graves 2012, Sutskever, Vinyals and Le 2014). */
#pragma once

#include "engine/data/loom-samples.h"
#include "engine/recipe/loom-bleu.h"
#include "engine/infer/loom-predictor.h"

G_BEGIN_DECLS

typedef struct _LoomDecoder LoomDecoder;

/* predictor must write (loom_predictor_writes()) and live longer. beam: how many beginnings are kept; 1 is greedy. PORT
 * where its answer is not one class a place of y_in. */
LoomDecoder *loom_decoder_new (LoomPredictor *predictor, guint beam, GError **error);
void loom_decoder_free (LoomDecoder *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomDecoder, loom_decoder_free)

typedef struct
{
  guint n;
  gint64 *token; /* without the one that ends it */
  double score;  /* log probability, by length as beams are compared */
} LoomWritten;

/* Writes an answer to each of n samples of x. One that is a sequence may be shorter than the net reads: it is filled
 * up, and its length is what the port `length` gets. (transfer full), of LoomWritten, in order. */
GPtrArray *loom_decoder_run (LoomDecoder *self, LoomTensor *const samples[], guint n, GError **error);

typedef struct
{
  LoomBleu bleu;
  gint64 sentences, exact; /* all, and those that are the reference, token by token */
} LoomTranslation;

/* Writes answers to all samples of a split (test, else validation) in batches, and compares them with y up to the token
 * that ends it. DATA where there are none. */
gboolean loom_decoder_evaluate (LoomDecoder *self, gint64 batch, LoomTranslation *result, GError **error);
/* The tokens as a text: (transfer full). */
char *loom_decoder_text (const LoomDecoder *self, const LoomWritten *written);

G_END_DECLS
