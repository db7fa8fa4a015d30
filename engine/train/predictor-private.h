/* Functions shared by all that computes answers: a predictor of its own weights, a trainer that is asked while it
 * trains, and the description of what a graph is to learn. */
#pragma once

#include "engine/recipe/loom-train-spec.h"
#include "engine/train/loom-predictor.h"

G_BEGIN_DECLS

/* The port that answers: `wanted` by name, else the only output node's input, else what the loss judges, else what the
 * first metric looks at. spec may be NULL. PORT where that is not clear. */
gboolean predictor_find_output (const LoomNet *net, const LoomTrainSpec *spec, const char *wanted,
                                LoomNetSource *output, GError **error);
/* The meaning of the answering port's numbers. */
LoomOutputKind predictor_output_kind (const LoomNet *net, const LoomTrainSpec *spec, const LoomNetSource *output);
/* The port of a data set, or the input node, that the answer depends on. PORT where it is not one alone. */
gboolean predictor_find_reading (const LoomNet *net, const LoomNetSource *output, LoomNetSource *input, GError **error);

LoomAnswerKind predictor_answer_kind (LoomOutputKind kind);
/* Of LoomAnswer, one for each of n samples. name is the port's. SHAPE where t is no answer for each of them. */
GPtrArray *predictor_answers (const LoomTensor *t, const char *name, LoomOutputKind kind, gboolean is_text, guint n,
                              GError **error);

G_END_DECLS
