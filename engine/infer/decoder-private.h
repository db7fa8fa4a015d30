/* A net that generates token by token, with its plans. */
#pragma once

#include "engine/infer/loom-decoder.h"
#include "engine/infer/predictor-private.h"

struct _LoomDecoder
{
  LoomPredictor *predictor;
  guint beam;
  int shifted;            /* the data set's port y_in */
  gint64 places, classes; /* of y_in, and of the output [B, classes, places] */
  GArray *border;         /* LoomNetSource: values of the encoder that the decoder reads */
  /* of the last batch */
  guint n;
  LoomState *state;
  LoomExec *encode, *decode;                /* encode NULL: the decoder reads no encoder's values */
  LoomTensor *data[LOOM_DATASET_MAX_PORTS]; /* one tensor per port, of n · beam samples */
  GPtrArray *kept;                          /* LoomTensor, in the order of border */
};

/* The index of a port of the data set; -1: there is none. */
int decoder_find_port (const LoomDecoder *self, const char *name);
/* Computes the logits [n · beam, classes, places] for the current content of y_in. */
LoomTensor *decoder_step (LoomDecoder *self, GError **error);
/* Generates a sequence for each of n samples, after their encoder has run. */
gboolean decoder_search (LoomDecoder *self, guint n, GPtrArray *answers, GError **error);
