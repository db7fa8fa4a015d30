/* Runs single kernels for the tests: a sample describes one call, the harness fills
 * its inputs, runs it on a back end and brings the outputs to plain order.
 *
 * Inputs are drawn in f32 once, whatever type and layout they are then given, so that
 * all back ends see the same numbers. */
#pragma once

#include <glib.h>

#include "kernels/backend.h"
#include "kernels/convert.h"
#include "kernels/shape.h"

#define SAMPLE_MAX_IN  32
#define SAMPLE_MAX_OUT 20

typedef enum
{
  FILL_NORMAL,   /* about N(0, 1) */
  FILL_POSITIVE, /* 0.1 … 2.1 */
  FILL_UNIT,     /* 0 … 1 */
  FILL_SPECIAL,  /* NaN, infinities and zeros among normal numbers */
  FILL_CLASS,    /* whole numbers below limit */
  FILL_WHERE,    /* winners of a max pooling of random numbers */
  FILL_VALUE     /* the constant `value` */
} Fill;

typedef struct
{
  Fill kind;
  double value; /* of FILL_VALUE; of FILL_CLASS the limit */
} FillRule;

typedef union
{
  LoomElementwiseAttrs elementwise;
  LoomReduceAttrs reduce;
  LoomArgReduceAttrs argreduce;
  LoomMatmulAttrs matmul;
  LoomConv2dAttrs conv;
  LoomPool2dAttrs pool;
  LoomSoftmaxAttrs softmax;
  LoomCrossEntropyAttrs entropy;
  LoomNormAttrs norm;
  LoomGatherAttrs gather;
  LoomScatterAttrs scatter;
  LoomSortAttrs sort;
  LoomCumsumAttrs cumsum;
  LoomPermuteAttrs permute;
  LoomSliceAttrs slice;
  LoomPadAttrs pad;
  LoomConcatAttrs concat;
  LoomFillAttrs fill;
  LoomIotaAttrs iota;
  LoomRandomAttrs random;
  LoomRequireAttrs require;
  LoomGradStatsAttrs stats;
  LoomSgdAttrs sgd;
  LoomAdamAttrs adam;
  LoomStepAttrs step;
} SampleAttrs;

typedef struct
{
  char name[160];
  const char *primitive;
  SampleAttrs attrs;
  int n_in, n_out;
  LoomTensorDesc in[SAMPLE_MAX_IN], out[SAMPLE_MAX_OUT];
  FillRule fill[SAMPLE_MAX_IN];
  double tolerance; /* |a - b| ≤ tolerance·(1 + |b|) */
  gboolean nhwc;    /* rank 4 operands may be NHWC as well */
  int in_place;     /* the first so many outputs lie at the inputs alias[o] (optimisers) */
  int alias[SAMPLE_MAX_OUT];
} Sample;

typedef struct
{
  const LoomBackend *backend;
  LoomDevice *device;
  const char *algorithm; /* which option's kernels are run; NULL: the back end's first */
} Machine;

Machine machine_open (const LoomBackend *backend, int threads);
void machine_close (Machine *machine);

/* "f32" and "2,3,4" to a plain description; "" is a scalar. */
LoomTensorDesc desc (LoomDType dtype, const char *dims);

#define F     LOOM_F32
#define TIGHT 4e-6 /* what few operations on f32 may lose */

/* Adds a sample named "PRIMITIVE FORMAT…"; its attributes, operands and results follow. */
Sample *
sample_add (GPtrArray *all, const char *primitive, double tolerance, const char *format, ...) G_GNUC_PRINTF (4, 5);
void sample_in (Sample *s, LoomTensorDesc d, Fill kind, double value);
void sample_out (Sample *s, LoomTensorDesc d);

/* Each family's samples, samples-<family>.c: for every primitive its attributes, broadcasts, sizes 0 and 1, odd sizes
 * that leave remainders in vector loops, and sizes that go to threads. */
void samples_first (GPtrArray *all);
void samples_optim (GPtrArray *all);
void samples_index (GPtrArray *all);

/* All samples of all primitives (kernel-samples.c). */
GPtrArray *samples_new (void);

/* Values of the inputs, each a plain f32 array (integers hold exactly). */
float **sample_inputs (const Sample *sample);
void inputs_free (const Sample *sample, float **inputs);

typedef struct
{
  LoomStatus status;
  LoomMessage message;
  char kernel[80];
  guint32 inplace[LOOM_EW_MAX_OUT];
  double *out[SAMPLE_MAX_OUT]; /* plain order */
} Result;

/* Runs the sample with floats of type `real` and rank 4 tensors in `layout` where
 * the sample allows it. share_with: output 0 lies at that input's address, or -1. */
Result sample_run (const Machine *machine, const Sample *sample, float *const *inputs, LoomDType real,
                   LoomLayout layout, int share_with);
void result_clear (Result *result);
