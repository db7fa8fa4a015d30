/* Answers of a trained net for samples of one's own.
 *
 * A graph is drawn for training: it ends in a loss. A predictor finds the loss's input, takes the weights of a run,
 * computes that port alone, in evaluation mode, and says what its numbers mean: this follows from the loss or metric
 * that reads them.
 */
#pragma once

#include "engine/graph/loom-graph.h"
#include "engine/infer/loom-answer.h"

G_BEGIN_DECLS

typedef struct
{
  const char *weights; /* safetensors; NULL: those that training begins with */
  const char *output;  /* a port; NULL: the loss's input */
  const char *device;  /* NULL: "cpu" */
  int threads;         /* 0: all */
  const char *run;     /* a run folder whose cost table, vocabulary and normalisation are taken; NULL: the user's table,
                        * and what the data set's files say now */
} LoomPredictorOptions;

typedef struct _LoomPredictor LoomPredictor;

/* The graph is copied. Errors: those of the graph; PORT where it is not clear what to read or to compute; DATA where
 * the weights do not fit. */
LoomPredictor *loom_predictor_new (const LoomGraph *graph, const LoomPredictorOptions *options, GError **error);
void loom_predictor_free (LoomPredictor *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomPredictor, loom_predictor_free)

/* The inputs of the net, for a batch. */
const LoomType *loom_predictor_input (const LoomPredictor *self);
/* NULL where it reads from an input node, or where the data are not there; *why then says why not, or is NULL. */
const LoomDataset *loom_predictor_dataset (const LoomPredictor *self, const char **why);
/* TRUE where its samples are pieces of a text. */
gboolean loom_predictor_reads_text (const LoomPredictor *self);
/* TRUE where the answer depends on a data set's port y_in as well: such a net writes token by token, and loom-decoder.h
 * asks it. loom_predictor_run() then answers nothing. */
gboolean loom_predictor_writes (const LoomPredictor *self);
/* Names of the classes; NULL where they have none. */
const char *const *loom_predictor_class_names (const LoomPredictor *self, gint64 n_classes);

/* Notes for the user since the last call, as sentences; NULL: none. (transfer full) */
char *loom_predictor_take_note (LoomPredictor *self);

/* Computes n samples of one shape. A text may be shorter than its data set's context where the net allows it; of texts
 * the answer is the one for the last character. (transfer full), of LoomAnswer, in order. */
GPtrArray *loom_predictor_run (LoomPredictor *self, LoomTensor *const samples[], guint n, GError **error);

G_END_DECLS
