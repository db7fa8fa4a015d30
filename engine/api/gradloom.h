/* Gradloom's library: graphs, training and prediction for C programs, and for languages that call C.
 *
 * A graph file is loaded, trained for any number of steps, evaluated, and used for predictions; the values of its ports
 * can be read, and its weights saved. Objects belong to one thread at a time. Functions that can fail take a GError, in
 * the domain GRADLOOM_ERROR with a sentence for the user, and return FALSE or NULL; texts are UTF-8. The caller owns
 * returned objects unless the comment says that they are borrowed.
 *
 * The interface may change while the version begins with 0; then a release stays compatible with compiled programs:
 * functions are only added, and structs grow only at their ends. */
#ifndef GRADLOOM_H
#define GRADLOOM_H

#include <glib.h>

G_BEGIN_DECLS

/* "0.1.0", of the library that the program runs with. Borrowed. */
const char *gradloom_version (void);

/* ---- errors ------------------------------------------------------------------------- */

#define GRADLOOM_ERROR (gradloom_error_quark ())
GQuark gradloom_error_quark (void);

typedef enum
{
  GRADLOOM_ERROR_PARSE,         /* the file is not XML */
  GRADLOOM_ERROR_SCHEMA,        /* elements or attributes are wrong */
  GRADLOOM_ERROR_UNKNOWN_OP,    /* unknown operator */
  GRADLOOM_ERROR_PORT,          /* unknown node, port or weight */
  GRADLOOM_ERROR_SHAPE,         /* incompatible shapes */
  GRADLOOM_ERROR_DTYPE,         /* incompatible types */
  GRADLOOM_ERROR_CYCLE,         /* wires form a cycle */
  GRADLOOM_ERROR_NO_KERNEL,     /* the device cannot compute this */
  GRADLOOM_ERROR_OUT_OF_MEMORY, /* of the host or of the device */
  GRADLOOM_ERROR_DEVICE,        /* unknown device, or it has failed */
  GRADLOOM_ERROR_DATA,          /* data or weights are damaged or do not match */
  GRADLOOM_ERROR_IO,            /* a file cannot be read or written */
  GRADLOOM_ERROR_DIST,          /* communication between ranks failed */
  GRADLOOM_ERROR_CANCELLED,
  GRADLOOM_ERROR_NAN,    /* loss or gradients are not finite; the weights are those before the step */
  GRADLOOM_ERROR_USAGE,  /* an option or argument is wrong */
  GRADLOOM_ERROR_OUTSIDE /* data outside the graph's folder */
} GradloomError;

/* ---- tensors ------------------------------------------------------------------------ */

typedef enum
{
  GRADLOOM_F64,
  GRADLOOM_F32,
  GRADLOOM_F16,
  GRADLOOM_BF16,
  GRADLOOM_I64,
  GRADLOOM_I32,
  GRADLOOM_U8,
  GRADLOOM_BOOL /* one byte, 0 or 1 */
} GradloomType;

#define GRADLOOM_MAX_RANK 8

/* Numbers on the host: dense, in row-major order, counted by references. */
typedef struct _GradloomTensor GradloomTensor;

/* A tensor of rank dimensions (0 to GRADLOOM_MAX_RANK) with a copy of data, or with zeros if data is NULL.
 * OUT_OF_MEMORY; USAGE for a rank or a size that is not possible. */
GradloomTensor *gradloom_tensor_new (GradloomType type, int rank, const gint64 *dims, const void *data, GError **error);
GradloomTensor *gradloom_tensor_ref (GradloomTensor *tensor);
void gradloom_tensor_unref (GradloomTensor *tensor);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradloomTensor, gradloom_tensor_unref)
GradloomType gradloom_tensor_type (const GradloomTensor *tensor);
int gradloom_tensor_rank (const GradloomTensor *tensor);
/* The size of dimension axis, from 0. */
gint64 gradloom_tensor_dim (const GradloomTensor *tensor, int axis);
/* The number of elements. */
gint64 gradloom_tensor_count (const GradloomTensor *tensor);
/* The elements, in the tensor's type. Borrowed. */
void *gradloom_tensor_data (GradloomTensor *tensor);
/* Element i of the row-major order, of any type, as a double. */
double gradloom_tensor_get (const GradloomTensor *tensor, gint64 i);

/* ---- graphs ------------------------------------------------------------------------- */

/* A graph: nodes, wires, and training settings. Immutable. */
typedef struct _GradloomGraph GradloomGraph;

/* Loads a graph file, or the folder of a run. All grammar faults are one error with a line for each. */
GradloomGraph *gradloom_graph_load (const char *path, GError **error);
/* The same for text; length in bytes, -1: zero-terminated. Relative paths of data refer to folder. */
GradloomGraph *gradloom_graph_parse (const char *text, gssize length, const char *folder, GError **error);
void gradloom_graph_free (GradloomGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradloomGraph, gradloom_graph_free)
/* Checks shapes, types, wires and <train>; all faults are one error with a line for each. Reads no samples, and needs
 * no device. */
gboolean gradloom_graph_check (const GradloomGraph *graph, GError **error);

/* ---- training ----------------------------------------------------------------------- */

/* The training of a graph: its weights, optimiser, data and progress. */
typedef struct _GradloomTrainer GradloomTrainer;

typedef struct
{
  gint64 step;        /* the number of finished steps */
  gint64 total_steps; /* of the whole training */
  gint64 epoch;       /* from 1 */
  gint64 steps_per_epoch;
  double loss;          /* of this step's batch */
  double learning_rate; /* of this step */
} GradloomStep;
/* Called after each step. Return FALSE to end gradloom_trainer_train(). Must not call functions of the trainer. */
typedef gboolean (*GradloomStepFunc) (const GradloomStep *step, gpointer data);

/* Opens data and devices, plans, and initialises the weights. options: NULL, or "NAME=VALUE" texts that end with NULL,
 * with the names below; other settings are those of the graph. USAGE for an unknown name or an invalid value; the
 * graph's faults as from gradloom_graph_check(); DATA, DEVICE, NO_KERNEL, OUT_OF_MEMORY.
 *
 *   device      "cpu", "cuda:0", …
 *   threads     of the CPU, 1 or more
 *   epochs, batch_size, seed, lr, precision
 *   weights     a safetensors file to begin with
 *   out         a new folder for events, checkpoints and weights; without it nothing is written
 *   set         "NODE.PARAM=VALUE" for the graph, as `gradloom train --set`; may be repeated */
GradloomTrainer *gradloom_trainer_new (const GradloomGraph *graph, const char *const *options, GError **error);
void gradloom_trainer_free (GradloomTrainer *trainer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradloomTrainer, gradloom_trainer_free)
/* Takes n more steps, or all remaining ones if n is 0; several calls have the same result as one, bit by bit. func may
 * be NULL. TRUE also if func or the graph's patience ended training earlier, or if no step is left. With the option out
 * each call ends with a checkpoint. USAGE for a negative n; NAN; other errors as above. */
gboolean
gradloom_trainer_train (GradloomTrainer *trainer, gint64 n, GradloomStepFunc func, gpointer data, GError **error);
/* The number of finished steps. */
gint64 gradloom_trainer_step (const GradloomTrainer *trainer);
/* TRUE if no step is left. */
gboolean gradloom_trainer_is_over (const GradloomTrainer *trainer);
/* Computes the loss of the samples of a split, "val" or "test", with the current weights; metric (may be NULL) is
 * called for each metric of the graph. If the data have no samples of that split, the other split is used, as by
 * `gradloom eval`; DATA if there are none of either, USAGE for another name. */
typedef void (*GradloomMetricFunc) (const char *name, double value, gpointer data);
gboolean gradloom_trainer_evaluate (GradloomTrainer *trainer, const char *split, double *loss,
                                    GradloomMetricFunc metric, gpointer data, GError **error);
/* Predictions with the current weights, as gradloom_predict(), for samples [n, …] with the shape of the input port. */
GradloomTensor *gradloom_trainer_predict (GradloomTrainer *trainer, const GradloomTensor *samples, GError **error);

/* Names of weights and buffers, "fc.weight", in the order of the graph, ended by NULL; free it with g_strfreev(). */
char **gradloom_trainer_weights (GradloomTrainer *trainer);
/* A copy of a weight or buffer, in its shape. PORT for an unknown name. */
GradloomTensor *gradloom_trainer_get_weight (GradloomTrainer *trainer, const char *name, GError **error);
/* Sets it, for the next step. PORT; SHAPE unless the shapes are the same. Floats are converted. */
gboolean
gradloom_trainer_set_weight (GradloomTrainer *trainer, const char *name, const GradloomTensor *value, GError **error);
/* The value of a port, "conv1" or "split.1", or of a gradient, "grad:conv1", for a fixed batch of training samples
 * [batch, …], with the current weights. Does not affect training. USAGE for an unknown name. */
GradloomTensor *gradloom_trainer_read (GradloomTrainer *trainer, const char *port, GError **error);
/* Writes all weights and buffers to a safetensors file with PyTorch's names, replacing an existing file. */
gboolean gradloom_trainer_save (GradloomTrainer *trainer, const char *path, GError **error);

/* ---- prediction --------------------------------------------------------------------- */

/* The meaning of a prediction's numbers, determined by the loss or metric that reads the port. */
typedef enum
{
  GRADLOOM_PROBABILITIES, /* of classes: they sum to 1 */
  GRADLOOM_LOGITS,        /* of classes: the largest is the prediction */
  GRADLOOM_YES,           /* each is the probability of "yes" */
  GRADLOOM_VALUES
} GradloomAnswer;

/* A graph with trained weights that computes the port that its loss reads. */
typedef struct _GradloomPredictor GradloomPredictor;

/* weights: a safetensors file, which the first gradloom_predict() reads; NULL: the initial weights, or those of the
 * graph's run. device: NULL is "cpu"; threads: 0 is all. USAGE if the input or the prediction is ambiguous. */
GradloomPredictor *gradloom_predictor_new (const GradloomGraph *graph, const char *weights, const char *device,
                                           int threads, GError **error);
void gradloom_predictor_free (GradloomPredictor *predictor);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradloomPredictor, gradloom_predictor_free)
/* Predictions for samples [n, …], converted to the type of the input port: f64 [n, positions, classes]. A classifier of
 * whole samples has 1 position; for values, and for yes or no, positions is 1, too, and the last size is their number.
 * kind may be NULL. SHAPE for samples of another shape; DATA if the weights do not match. */
GradloomTensor *
gradloom_predict (GradloomPredictor *predictor, const GradloomTensor *samples, GradloomAnswer *kind, GError **error);
/* The name of one of n classes, from the data set; NULL if it has none. Borrowed. */
const char *gradloom_predictor_class_name (const GradloomPredictor *predictor, gint64 n, gint64 class_index);

G_END_DECLS

#endif
