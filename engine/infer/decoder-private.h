/* A net that writes, its plans and the search over what it may write. */
#pragma once

#include "engine/infer/loom-decoder.h"
#include "engine/infer/predictor-private.h"

G_BEGIN_DECLS

struct _LoomDecoder
{
  LoomPredictor *predictor;
  guint beam;
  int shifted;            /* the data set's port y_in */
  gint64 places, classes; /* of y_in, and of the answer [B, classes, places] */
  GArray *border;         /* LoomNetSource: what the decoder takes from the encoder */
  /* of the last batch */
  guint n;
  LoomState *state;
  LoomExec *encode, *decode;                /* encode NULL: the decoder takes nothing */
  LoomTensor *data[LOOM_DATASET_MAX_PORTS]; /* of n · beam samples, a port each */
  GPtrArray *kept;                          /* LoomTensor, as border */
};

/* The answer [n · beam, classes, places] for what stands in y_in now. */
LoomTensor *decoder_step (LoomDecoder *self, GError **error);
/* Writes an answer to each of n samples, whose encoder has run. */
gboolean decoder_search (LoomDecoder *self, guint n, GPtrArray *answers, GError **error);

G_END_DECLS
