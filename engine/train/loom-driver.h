/* Optimisers that run the program from outside, because one step evaluates the loss many times: lbfgs and newton.
 *
 * The program of such a step ends with the gradients ("gradient.PARAMETER") and updates nothing; a driver runs it any
 * number of times and writes the parameters itself. Its state is stored in the state's slots like any optimiser's, so
 * that checkpoints contain it. Its arithmetic is in f64, over all parameters as one vector. */
#pragma once

#include "engine/recipe/loom-train-spec.h"
#include "engine/run/loom-exec.h"

typedef struct
{
  LoomExec *exec;
  LoomState *state;
  const LoomTrainSpec *spec;
  const double *hyper; /* current values, in the order of spec->optimizer->hyper */
} LoomDriverCall;

typedef struct
{
  const char *optimizer;
  /* Appends what the driver needs to a program that has the gradients: state slots, further outputs. */
  gboolean (*extend) (LoomProgram *p, const LoomTrainSpec *spec, guint n, const int *slot, const LoomValue *grad,
                      GError **error);
  /* Takes one step, after the loss and its gradients were evaluated once at the current weights. */
  gboolean (*advance) (const LoomDriverCall *call, GError **error);
} LoomDriver;

extern const LoomDriver loom_driver_lbfgs, loom_driver_newton;

/* NULL if the optimiser is part of the program. */
const LoomDriver *loom_driver (const char *optimizer);
/* Takes one step with the hyper-parameters of the state. */
gboolean loom_driver_advance (const LoomDriver *driver, LoomExec *exec, LoomState *state, const LoomTrainSpec *spec,
                              GError **error);

/* ---- shared by drivers ------------------------------------------------- */

/* All trained parameters as one vector, in the order of the program's outputs. */
typedef struct
{
  const LoomDriverCall *call;
  guint n_tensors;
  guint *output;      /* of each tensor's gradient */
  const char **name;  /* the parameters' */
  gsize *count;       /* elements of each */
  gsize n;            /* of all together */
  guint loss, finite; /* outputs */
} LoomDriverSpace;

LoomDriverSpace *loom_driver_space_new (const LoomDriverCall *call);
void loom_driver_space_free (LoomDriverSpace *space);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomDriverSpace, loom_driver_space_free)

gboolean loom_driver_get_weights (const LoomDriverSpace *space, double *x, GError **error);
gboolean loom_driver_set_weights (const LoomDriverSpace *space, const double *x, GError **error);
/* The last evaluation's loss and, if prefix is "gradient", gradients: outputs PREFIX.PARAMETER. */
double loom_driver_loss (const LoomDriverSpace *space);
gboolean loom_driver_gather (const LoomDriverSpace *space, const char *prefix, double *g, GError **error);
/* Computes loss and gradients at x, and stores x in the state. A loss that is not finite becomes +∞, with gradients 0.
 */
gboolean loom_driver_evaluate (const LoomDriverSpace *space, const double *x, double *loss, double *g, GError **error);
double loom_driver_hyper (const LoomDriverCall *call, const char *name);

/* A driver's state: an f64 slot "optimizer.KIND.all". */
void loom_driver_slot (LoomProgram *p, const char *kind, int rank, const gint64 *dims);
gboolean loom_driver_load (const LoomDriverCall *call, const char *kind, LoomTensor **tensor, GError **error);
gboolean loom_driver_save (const LoomDriverCall *call, const char *kind, const LoomTensor *tensor, GError **error);
