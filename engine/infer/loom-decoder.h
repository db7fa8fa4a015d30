/* Nets that generate a sequence token by token: an encoder and a decoder, or image captioning.
 *
 * In training the decoder reads the right prefix (the data set's port y_in, which is y shifted by one position). Here
 * it reads the tokens that it has generated: the likeliest token each time, or the likeliest of several prefixes (beam
 * search; Graves 2012, Sutskever, Vinyals and Le 2014). */
#pragma once

#include "engine/data/loom-samples.h"
#include "engine/recipe/loom-bleu.h"
#include "engine/infer/loom-predictor.h"

typedef struct _LoomDecoder LoomDecoder;

/* predictor must generate (loom_predictor_writes()) and outlive the decoder. beam: the number of prefixes that are
 * kept; 1 is greedy. PORT if its prediction is not one class per position of y_in. */
LoomDecoder *loom_decoder_new (LoomPredictor *predictor, guint beam, GError **error);
void loom_decoder_free (LoomDecoder *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomDecoder, loom_decoder_free)

typedef struct
{
  guint n;
  gint64 *token; /* without the end token */
  double score;  /* log probability, normalised by length as in beam search */
} LoomWritten;

/* Generates a sequence for each of n samples of x. A sample that is a sequence may be shorter than the net's input: it
 * is padded, and the port `length` gets its length. (transfer full), of LoomWritten, in order. */
GPtrArray *loom_decoder_run (LoomDecoder *self, LoomTensor *const samples[], guint n, GError **error);

typedef struct
{
  LoomBleu bleu;
  gint64 sentences, exact; /* all sentences, and those equal to the reference */
} LoomTranslation;

/* Generates a sequence for each sample of a split (test, else validation) in batches, and compares it with y up to the
 * end token. DATA if there are no samples. */
gboolean loom_decoder_evaluate (LoomDecoder *self, gint64 batch, LoomTranslation *result, GError **error);
/* A sample of the data as texts: x (NULL if it is no text), y (NULL if it has no classes) and what is generated for x.
 */
typedef struct
{
  char *source, *target, *written;
} LoomDecoderExample;

/* Generates a sequence for each of n samples of a split, in one batch. DATA if there is no such sample. (transfer
 * full), of LoomDecoderExample, in order. */
GPtrArray *loom_decoder_examples (LoomDecoder *self, LoomSplit split, const gint64 *index, guint n, GError **error);
/* The tokens as text. (transfer full) */
char *loom_decoder_text (const LoomDecoder *self, const LoomWritten *written);
