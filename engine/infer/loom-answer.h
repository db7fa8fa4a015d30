/* The values of a net's prediction, as one record per sample. */
#pragma once

#include "engine/core/loom-tensor.h"
#include "engine/net/loom-net.h"
#include "engine/recipe/loom-train-spec.h"

G_BEGIN_DECLS

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

LoomAnswerKind loom_answer_kind (LoomOutputKind kind);
/* Returns a LoomAnswer for each of n samples. name: the port's. SHAPE if t does not have one prediction per sample. */
GPtrArray *loom_answers_new (const LoomTensor *t, const char *name, LoomOutputKind kind, gboolean is_text, guint n,
                             GError **error);

G_END_DECLS
