/* Shared by batch norm and layer norm: a call's description, rows of bf16, and the sums of chunks of rows. */
#ifndef LOOM_CPU_NORM_H
#define LOOM_CPU_NORM_H

#include <math.h>
#include <string.h>

#include "kernels/cpu/cpu-sum.h"
#include "kernels/cpu/cpu.h"
#include "kernels/norm.h"

#define CHUNK_ROWS 128
#define BF16_MAX   8192 /* elements of a bf16 row that is converted on the stack */

typedef struct
{
  CpuKernel k;
  double eps;
  bool affine, relu, residual, columns; /* columns: channels are contiguous */
  bool bf16;                            /* x, g and y or dx are bf16; columns and layer norm only */
  int64_t N, C, area, chunks;           /* columns: area is 1, N counts rows. Layer norm: N rows of C */
  double ns;
} Norm;

typedef struct
{
  const Norm *self;
  const float *x, *g;                            /* [N, C, area] or [N, C]; bf16 if self->bf16 */
  const float *mean_in, *var_in, *weight, *bias; /* [C]; of layer norm mean and 1/deviation are [N] */
  const float *added, *open, *other;             /* with a residual, as x: r; of a gradient y, and h or NULL; of layer
                                                    norm's what goes around it, or NULL */
  float *dr;                                     /* as x */
  float *y;                                      /* as x; dx of a gradient */
  float *mean, *var, *dweight, *dbias;           /* [C]; of layer norm mean and var (1/deviation) are [N] */
  float *partial;                                /* [chunks, 2, C] */
  float *scale, *shift, *slope;                  /* [C] each, for the writing pass */
  float *relu_scale, *threshold;                 /* [C] each: the ReLU is active where x·relu_scale + threshold > 0 */
} Call;

/* Row r of x or g in f32: in place, or converted into the buffer. */
static inline const float *
row (const Call *call, const float *base, int64_t r, float *buffer)
{
  int64_t C = call->self->C;

  if (!call->self->bf16)
    return base + r * C;
  call->self->k.device->widen (buffer, (const uint16_t *)(const void *)base + r * C, LOOM_BF16, C);
  return buffer;
}

static inline void
put_row (const Call *call, int64_t r, const float *buffer)
{
  int64_t C = call->self->C;

  if (call->self->bf16)
    call->self->k.device->narrow ((uint16_t *)(void *)call->y + r * C, LOOM_BF16, buffer, C);
}

/* The sums of all chunks for channel c. */
static inline void
chunk_totals (const Call *call, int64_t c, double *first, double *second)
{
  int64_t C = call->self->C;

  *first = *second = 0;
  for (int64_t q = 0; q < call->self->chunks; q++)
    {
      *first += (double)call->partial[q * 2 * C + c];
      *second += (double)call->partial[q * 2 * C + C + c];
    }
}

static inline bool
norm_has_residual (const LoomKernelSpec *spec)
{
  const LoomNormAttrs *a = spec->attrs;

  return loom_norm_has_residual (spec->primitive, a->affine, spec->n_in, spec->n_out);
}

/* True if x, [g], the result and the operands of a residual are bf16, rows fit on the stack, and statistics and scale
 * are f32. */
static inline bool
norm_is_bf16 (const LoomKernelSpec *spec, bool grad, int64_t row)
{
  const LoomNormAttrs *a = spec->attrs;
  bool residual = norm_has_residual (spec);
  /* Number of operands before those of a residual. */
  int images = residual ? loom_norm_operands (spec->primitive, a->affine) : spec->n_in;

  if (spec->in[grad].dtype != LOOM_BF16 || spec->in[0].dtype != LOOM_BF16 || spec->out[0].dtype != LOOM_BF16
      || row > BF16_MAX)
    return false;
  for (int i = 1 + grad; i < spec->n_in; i++)
    if (spec->in[i].dtype != (i < images ? LOOM_F32 : LOOM_BF16) && spec->in[i].dtype != LOOM_N_DTYPES)
      return false;
  for (int i = 1; i < spec->n_out; i++)
    if (spec->out[i].dtype != (grad && residual && i == spec->n_out - 1 ? LOOM_BF16 : LOOM_F32)
        && spec->out[i].dtype != LOOM_N_DTYPES)
      return false;
  return true;
}

/* Makes the kernel, with its type and attributes; the caller sets the shapes. */
static inline LoomStatus
norm_create (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuWork work, bool bf16, Norm **norm,
             LoomMessage *message)
{
  const LoomNormAttrs *a = spec->attrs;

  if (!cpu_all_f32 (spec) && !bf16)
    return LOOM_STATUS_UNSUPPORTED;
  *norm = cpu_kernel_new (sizeof **norm, device, spec, attrs_size, work, message);
  if (*norm == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  (*norm)->bf16 = bf16;
  (*norm)->eps = a->eps;
  (*norm)->affine = a->affine;
  (*norm)->relu = a->act == LOOM_SCALAR_RELU;
  (*norm)->residual = norm_has_residual (spec);
  return LOOM_STATUS_OK;
}

#endif
