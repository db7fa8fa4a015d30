/* The samples of `gradloom predict`, and how their predictions are printed (predict-print.c). */
#pragma once

#include "app/commands.h"
#include "app/predict-masks.h"

typedef struct
{
  char *file;
  gint64 row;
  LoomTensor *tensor;
  char *note;
  GBytes *bytes; /* of a picture, if masks are written */
  LoomPictureFrame frame;
} PredictSample;

typedef struct
{
  const Command *command;
  LoomPredictor *predictor;
  LoomDecoder *decoder; /* of a net that generates text; else NULL */
  LoomSampleReader *reader;
  GPtrArray *waiting; /* PredictSample */
  int top, batch, width;
  gboolean json, standard_input_is_read;
  PredictMasks masks;
  int status;
} Predict;

#define PREDICT_LEAST_SCORE 0.5 /* of a detection that is printed */

/* TRUE if the predictions are boxes. */
gboolean predict_detects (const Predict *p, const LoomAnswer *a);
/* Print a prediction, as a line or as JSON. mask: the file that was written, or NULL. */
void predict_print_text (const Predict *p, const PredictSample *s, const LoomAnswer *a, const char *mask);
void predict_print_json (const Predict *p, const PredictSample *s, const LoomAnswer *a, const char *mask);
/* Prints the text that a net has generated. */
void predict_print_written (const Predict *p, const PredictSample *s, const LoomWritten *written);
