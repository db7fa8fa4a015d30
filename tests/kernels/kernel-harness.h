/* Runs single kernels for the tests: a sample describes one call; the harness fills its inputs, runs it on a back end
 * and converts the outputs to plain order. Inputs are drawn in f32 once, for any type and layout, so that all back ends
 * get the same numbers. Buffers are exactly as long as their tensors and begin full of NaN; those of a device are
 * filled and read only by copies. */
#pragma once

#include <glib.h>

#include "kernels/backend.h"
#include "kernels/convert.h"
#include "kernels/move.h"
#include "kernels/shape.h"

#define SAMPLE_MAX_IN  32
#define SAMPLE_MAX_OUT 20

typedef enum
{
  FILL_NORMAL,   /* about N(0, 1) */
  FILL_POSITIVE, /* 0.1 … 2.1 */
  FILL_UNIT,     /* 0 … 1 */
  FILL_SPECIAL,  /* NaN of both signs, infinities and zeros among normal numbers */
  FILL_TIES,     /* small integers with zeros of both signs, whose sums are often equal; NaN of a probability */
  FILL_ZEROS,    /* zeros, a tenth of them negative */
  FILL_CLASS,    /* integers below limit */
  FILL_INDICES,  /* winners of a max pooling of random numbers */
  FILL_DEFINITE, /* matrices that are symmetric and positive definite */
  FILL_DOMINANT, /* diagonally dominant matrices: they have an inverse, and their triangles too */
  FILL_VALUE     /* the constant `value` */
} Fill;

typedef struct
{
  Fill kind;
  double value; /* of FILL_VALUE; of FILL_CLASS the limit, of FILL_TIES the probability of NaN */
} FillRule;

/* The attributes of a sample's primitive. */
typedef struct
{
  _Alignas(double) char bytes[2048];
} SampleAttrs;

#define SAMPLE_ATTRS(sample, Type)                                                                                     \
  (*(Type *)(G_STATIC_ASSERT_EXPR (sizeof (Type) <= sizeof (SampleAttrs)), (void *)&(sample)->attrs))

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
  gboolean joined;  /* only the planner makes the call, and a back end may lack it */
  guint32 wide;     /* operands, then results, that are f32 if the others have a 16-bit type, one bit each */
  gboolean mixed;   /* only operands with as many elements as the first take a 16-bit type; statistics stay f32 */
  int in_place;     /* the number of outputs, from the first, that are stored in the inputs alias[o] (optimisers) */
  int alias[SAMPLE_MAX_OUT];
} Sample;

/* Whether operand i, or after the operands result i, is f32 among 16-bit ones. Only the first 32 can be. */
static inline gboolean
sample_is_wide (const Sample *sample, int i)
{
  return i < 32 && (sample->wide >> i & 1) != 0;
}

typedef struct
{
  const LoomBackend *backend;
  LoomDevice *device;
  const char *algorithm; /* which option's kernels are run; NULL: the back end's first */
  const guint64 *nhwc;   /* which operands and results are NHWC, as in options; NULL: as in the run's layout */
  gboolean host;         /* buffers are the host's memory */
  gboolean fixed;        /* all operands are fixed, so that a kernel may keep packed ones */
} Machine;

/* The back end of a module, or the end of the program. */
const LoomBackend *module_backend (const char *path);

Machine machine_open (const LoomBackend *backend, int threads);
void machine_close (Machine *machine);

/* "f32" and "2,3,4" to a plain description; "" is a scalar. */
LoomTensorDesc desc (LoomDType dtype, const char *dims);

#define F     LOOM_F32
#define TIGHT 4e-6 /* the error of few operations in f32 */

/* Adds a sample named "PRIMITIVE FORMAT…"; its attributes, operands and results follow. */
Sample *
sample_add (GPtrArray *all, const char *primitive, double tolerance, const char *format, ...) G_GNUC_PRINTF (4, 5);
void sample_in (Sample *s, LoomTensorDesc d, Fill kind, double value);
void sample_out (Sample *s, LoomTensorDesc d);

/* Each family's samples, samples-<family>.c: for every primitive its attributes, broadcasts, sizes 0 and 1, odd sizes
 * that leave remainders in vector loops, and sizes that go to threads or are cut into pieces. */
void samples_elementwise (GPtrArray *all);
void samples_products (GPtrArray *all);
void samples_norms (GPtrArray *all);
void samples_attention (GPtrArray *all);
void samples_move (GPtrArray *all);
void samples_optim (GPtrArray *all);
void samples_index (GPtrArray *all);
void samples_linalg (GPtrArray *all);

/* All samples of all primitives (kernel-samples.c). */
GPtrArray *samples_new (void);

/* TRUE if both request the same of the same inputs; types, layouts and tolerances are not compared. */
gboolean sample_is_same (const Sample *a, const Sample *b);

/* Values of the inputs, each a plain f32 array (integers hold exactly). */
float **sample_inputs (const Sample *sample);
void inputs_free (const Sample *sample, float **inputs);

/* Rounds those that are floats to a 16-bit type, so that its kernels and the reference see the same numbers. */
void inputs_round (const Sample *sample, float **inputs, LoomDType real);

typedef struct
{
  LoomStatus status;
  LoomMessage message;
  char kernel[80];
  guint32 inplace[LOOM_EW_MAX_OUT];
  gsize kept_bytes;
  double *out[SAMPLE_MAX_OUT]; /* plain order */
} Result;

/* Makes the sample's kernels, in each layout, and frees them: a back end that compiles at run time
 * (tests/cuda/emulator) may then compile those of many samples together. */
void sample_prepare (const Machine *machine, const Sample *sample, LoomDType real);

/* Runs the sample with floats of type `real` and rank 4 tensors in `layout` if the sample permits it. share_with:
 * output 0 has that input's address, or -1. A kernel that writes to read-only memory returns LOOM_STATUS_INVALID. */
Result sample_run (const Machine *machine, const Sample *sample, float *const *inputs, LoomDType real,
                   LoomLayout layout, int share_with);
void result_clear (Result *result);

/* ---- agreement with the reference (kernel-check.c) ------------------------------------ */

typedef struct
{
  guint runs;
  GPtrArray *failures; /* (element-type utf8) a sentence each */
  GPtrArray *declined; /* (element-type utf8) runs in a layout that the back end does not take */
} Report;

Report *report_new (void);
void report_free (Report *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Report, report_free)

/* Notes every result that is not the wanted one within the sample's tolerance, which grows by a rounding of `real`. */
void report_compare (Report *report, const Sample *s, const Result *got, const Result *want, LoomDType real,
                     const char *how);

/* Records every result whose bits differ. */
void report_same_bits (Report *report, const Sample *s, const Result *a, const Result *b, const char *how);

/* Follows the name of a declined sample that is `joined`. */
#define SAMPLE_JOINED " as one call"

/* Runs the sample on the machine with floats of type `real`, in each layout, and compares with the reference in f64.
 * thorough: a second run and in-place runs, if the kernel supports them, have the same bits. The reference's results
 * for the last sample and type are cached, for the next machines. */
void sample_check (Report *report, const Machine *ref, const Machine *machine, const Sample *s, LoomDType real,
                   gboolean thorough);

/* Invalidates one operand of the sample (an index out of range, a singular matrix, a requirement that does not hold),
 * if its primitive has such data, and records every machine whose run does not refuse it with an error. */
void sample_check_refusals (Report *report, const Machine *machine, const Sample *s, LoomDType real);

/* Prints the records; the running GLib test fails if there are failures. */
void report_print (const Report *report);
