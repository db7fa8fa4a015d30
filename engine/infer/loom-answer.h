/* The values of a net's answering port, as one record per sample. */
#pragma once

#include "engine/core/loom-tensor.h"
#include "engine/net/loom-net.h"
#include "engine/recipe/loom-train-spec.h"

G_BEGIN_DECLS

typedef enum
{
  LOOM_ANSWER_PROBABILITIES, /* of classes: they add up to 1 */
  LOOM_ANSWER_SCORES,        /* of classes: the largest is meant, but they are no probabilities */
  LOOM_ANSWER_YES,           /* each the probability of a yes */
  LOOM_ANSWER_VALUES
} LoomAnswerKind;

/* The result for one sample. Of classes n_positions × n_classes numbers: one position, but for nets that name a
 * class for each place of a sample. Of values, and of yes and no, 1 × as many as there are. */
typedef struct
{
  LoomAnswerKind kind;
  gint64 n_positions, n_classes;
  double *value;
  LoomShape shape; /* of the port, without the samples */
} LoomAnswer;

LoomAnswerKind loom_answer_kind (LoomOutputKind kind);
/* Of LoomAnswer, one for each of n samples. name is the port's. SHAPE where t is no answer for each of them. */
GPtrArray *loom_answers_new (const LoomTensor *t, const char *name, LoomOutputKind kind, gboolean is_text, guint n,
                             GError **error);

G_END_DECLS
