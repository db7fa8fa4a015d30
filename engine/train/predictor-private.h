/* Functions shared by all that computes answers: a predictor of its own weights, a trainer that is asked while it
 * trains, and the description of what a graph is to learn. */
#pragma once

#include "engine/recipe/loom-train-spec.h"
#include "engine/run/loom-exec.h"
#include "engine/train/loom-predictor.h"

G_BEGIN_DECLS

/* The net for samples of one length, with the exec for the batch that was run last. */
struct _LoomPredictor
{
  LoomGraph *graph;
  LoomNet *net; /* symbolic */
  LoomDataset *dataset;
  char *no_dataset; /* why there is none */
  const LoomElement *dataset_node;
  LoomNetSource input, output;
  char *input_name, *output_name;
  LoomOutputKind output_kind;
  LoomDevices *devices;
  char *device, *weights;
  guint64 seed;
  gboolean direct; /* <train> forbids Winograd's algorithm */
  gboolean tf32;   /* <train> allows TF32 */
  gboolean is_text, writes;
  /* of the last run */
  gint64 n, length;
  LoomGraph *bound_graph;
  LoomNet *bound; /* initial values may be borrowed from it */
  LoomState *state;
  LoomExec *exec;
};

/* The net for n samples; of a text, with so many tokens. What it was made of stays in self->bound_graph. */
LoomNet *predictor_net (LoomPredictor *self, gint64 n, gint64 length, GError **error);
/* In evaluation mode, with the run's arithmetic. */
LoomLowerOptions predictor_lower_options (const LoomPredictor *self, guint n, const LoomNetSource *wanted);
/* The program over a state, into which the weights are read where the program brings new slots. */
LoomExec *predictor_exec (LoomPredictor *self, LoomState *state, LoomProgram *p, GError **error);

/* The port that answers: `wanted` by name, else the only output node's input, else what the loss judges, else what the
 * first metric looks at. spec may be NULL. PORT where that is not clear. */
gboolean predictor_find_output (const LoomNet *net, const LoomTrainSpec *spec, const char *wanted,
                                LoomNetSource *output, GError **error);
/* What a decoder reads while it learns, one place later than what it is to say. */
#define PREDICTOR_SHIFTED "y_in"

/* The port of a data set, or the input node, that the answer depends on. PORT where it is not one alone; but where one
 * is the data set's PREDICTOR_SHIFTED, *writes (which may be NULL) becomes TRUE, and input is the data set's first. */
gboolean predictor_find_reading (const LoomNet *net, const LoomNetSource *output, LoomNetSource *input,
                                 gboolean *writes, GError **error);

LoomAnswerKind predictor_answer_kind (LoomOutputKind kind);
/* Of LoomAnswer, one for each of n samples. name is the port's. SHAPE where t is no answer for each of them. */
GPtrArray *predictor_answers (const LoomTensor *t, const char *name, LoomOutputKind kind, gboolean is_text, guint n,
                              GError **error);

G_END_DECLS
