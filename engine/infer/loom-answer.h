/* The values of a net's prediction, as one record per sample. */
#pragma once

#include "engine/core/loom-tensor.h"
#include "engine/net/loom-net.h"
#include "engine/recipe/loom-train-spec.h"

typedef enum
{
  LOOM_ANSWER_PROBABILITIES, /* of classes: they sum to 1 */
  LOOM_ANSWER_LOGITS,        /* logits of classes: the largest is the predicted class */
  LOOM_ANSWER_YES,           /* each is the probability of "yes" */
  LOOM_ANSWER_VALUES
} LoomAnswerKind;

/* The prediction for one sample. Of classes n_positions × n_classes numbers; n_positions is 1 unless a net predicts a
 * class for each position. Of values, and of yes or no, 1 × their number. */
typedef struct
{
  LoomAnswerKind kind;
  gint64 n_positions, n_classes;
  double *value;
  LoomShape shape; /* of the port, without the dimension of samples */
} LoomAnswer;

/* TRUE for a class at every pixel: the port is [B, classes, H, W]. */
gboolean loom_answer_is_map (const LoomAnswer *self);
/* TRUE for K detections, rows of x1, y1, x2, y2 in pixels of the input, score and class: the port is [B,K,6]. Only of a
 * data set with boxes they are such. */
gboolean loom_answer_are_detections (const LoomAnswer *self);
#define LOOM_DETECTION_NUMBERS 6
/* TRUE if a detection is a box: its numbers are finite, and its class is a number of 32 bits. */
gboolean loom_answer_is_box (const double detection[LOOM_DETECTION_NUMBERS]);
/* The class of every pixel, [H, W], the largest value's, for a map of at most 255 classes, or yes and no at every pixel
 * (classes 1 and 0). (transfer full) NULL for anything else. */
guint8 *loom_answer_mask (const LoomAnswer *self, int *height, int *width);

LoomAnswerKind loom_answer_kind (LoomOutputKind kind);
/* Returns a LoomAnswer for each of n samples. name: the port's. SHAPE if t does not have one prediction per sample. */
GPtrArray *loom_answers_new (const LoomTensor *t, const char *name, LoomOutputKind kind, gboolean is_text, guint n,
                             GError **error);
