/* Predictions of a trained net for given samples.
 *
 * A graph is drawn for training: it ends in a loss. A predictor finds the loss's input, loads the weights of a run,
 * computes only that port, in evaluation mode, and determines the meaning of its numbers from the loss or metric that
 * reads them. */
#pragma once

#include "engine/graph/loom-graph.h"
#include "engine/infer/loom-answer.h"
#include "engine/interop/loom-safetensors.h"

typedef struct
{
  const char *weights; /* safetensors; NULL: the initial weights */
  GPtrArray *values;   /* LoomNamedTensor, used in place of `weights`; NULL: none. The predictor adds a reference */
  const char *output;  /* a port; NULL: the loss's input */
  const char *device;  /* NULL: "cpu" */
  int threads;         /* 0: all */
  const char *run; /* a run folder with the cost table, vocabulary and normalisation to use; NULL: the user's table, and
                      the data set's current files */
} LoomPredictorOptions;

typedef struct _LoomPredictor LoomPredictor;

/* Copies the graph. Errors: those of the graph; PORT if the input or the prediction is ambiguous; DATA if the weights
 * do not match. */
LoomPredictor *loom_predictor_new (const LoomGraph *graph, const LoomPredictorOptions *options, GError **error);
void loom_predictor_free (LoomPredictor *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomPredictor, loom_predictor_free)

/* The inputs of the net, as a batch. */
const LoomType *loom_predictor_input (const LoomPredictor *self);
/* NULL if the net reads from an input node, or if the data are missing; *why then is the reason, or NULL. */
const LoomDataset *loom_predictor_dataset (const LoomPredictor *self, const char **why);
/* TRUE if its samples are pieces of a text. */
gboolean loom_predictor_reads_text (const LoomPredictor *self);
/* TRUE if the prediction also depends on a data set's port y_in: such a net generates token by token, with
 * loom-decoder.h, and loom_predictor_run() must not be called. */
gboolean loom_predictor_writes (const LoomPredictor *self);
/* TRUE if answers are sequences of labels, a position each, as ctc_loss teaches them; there may be none. */
gboolean loom_predictor_aligns (const LoomPredictor *self);
/* Names of the classes, or NULL. */
const char *const *loom_predictor_class_names (const LoomPredictor *self, gint64 n_classes);

/* Notes for the user since the last call, as sentences; NULL: none. (transfer full) */
char *loom_predictor_take_note (LoomPredictor *self);

/* Computes n samples of one shape. USAGE if the prediction depends on more ports of the data set than its first: only
 * loom_evaluation_run(), which reads all of them, then computes it. A text may be shorter than its data set's context
 * if the net permits it; for texts, the prediction is that of the last character. (transfer full), of LoomAnswer, in
 * order. */
GPtrArray *loom_predictor_run (LoomPredictor *self, LoomTensor *const samples[], guint n, GError **error);
/* The port's numbers for samples in one tensor [n, …], as they are. (transfer full) */
LoomTensor *loom_predictor_compute (LoomPredictor *self, const LoomTensor *batch, GError **error);
