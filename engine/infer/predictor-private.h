/* A predictor's net, weights and plan, which the decoder and the generator share. */
#pragma once

#include "engine/recipe/loom-train-spec.h"
#include "engine/run/loom-exec.h"
#include "engine/infer/loom-predictor.h"

/* The net for samples of one length, with the exec for the batch that was run last. */
struct _LoomPredictor
{
  LoomGraph *graph;
  LoomNet *net; /* symbolic */
  LoomDataset *dataset;
  char *no_dataset; /* the reason why there is no dataset */
  const LoomElement *dataset_node;
  LoomNetSource input, output;
  char *input_name, *output_name;
  LoomOutputKind output_kind;
  gint64 blank; /* of ctc_loss, whose labels are the prediction; -1: another one */
  LoomDevices *devices;
  char *device, *weights;
  GPtrArray *values; /* LoomNamedTensor, in place of the file of weights; NULL: none */
  guint64 seed;
  gboolean direct; /* <train> forbids Winograd's algorithm */
  gboolean tf32;   /* <train> allows TF32 */
  gboolean is_text, writes;
  char *needs;      /* why the first port of the data set alone is not enough; NULL: it is */
  GPtrArray *ports; /* the tensors of all its ports, during predictor_run_ports(); else NULL */
  /* of the last run */
  gint64 n, length;
  LoomGraph *bound_graph;
  LoomNet *bound; /* initial values may be borrowed from it */
  LoomState *state;
  LoomExec *exec;
};

/* As loom_predictor_run(), for a batch of n samples of all ports of the data set, on several of which a prediction may
 * depend, and with an answer for each position of a text. x: the port that is the input. (transfer full) */
GPtrArray *predictor_run_ports (LoomPredictor *self, GPtrArray *ports, guint x, guint n, GError **error);
/* The net for n samples; for a text, with `length` tokens. Its graph stays in self->bound_graph. */
LoomNet *predictor_net (LoomPredictor *self, gint64 n, gint64 length, GError **error);
/* In evaluation mode, with the run's arithmetic. */
LoomLowerOptions predictor_lower_options (const LoomPredictor *self, guint n, const LoomNetSource *wanted);
/* Plans the program over a state, and loads the weights of new slots. */
LoomExec *predictor_exec (LoomPredictor *self, LoomState *state, LoomProgram *p, GError **error);
