/* The constructors of attention and its gradient, which use the kernels of cuda-attention-single.cu and, for 16-bit
 * floats, of cuda-attention-half.cu, and the sums Σ g·y of a gradient. */
/* clang-format would split the brackets of launches. */
/* clang-format off */
#include <limits.h>

#include "kernels/cuda/cuda-attention.cuh"

#define ROWS ATTENTION_ROWS

/* sums [N,H,T] = Σ g·y of each query, in f32; g and y [N,H,T,D]. Eight lanes for each query, one block for 64 queries
 * of a head. */
template <typename T>
__global__ void
__launch_bounds__ (ATTENTION_THREADS) sums_kernel (float *sums, const T *g, const T *y, AttentionSizes s)
{
  const int tiles = (s.queries + ROWS - 1) / ROWS, first = (int)(blockIdx.x % tiles) * ROWS, lane = threadIdx.x % 8;
  const AttentionHead head = attention_head_of (s, blockIdx.x / tiles);
  const T *gradients = g + attention_rows (s.g, head), *results = y + attention_rows (s.y, head);

  for (int i = 0; i < ROWS * 8 / ATTENTION_THREADS; i++)
    {
      const int row = first + i * ATTENTION_THREADS / 8 + threadIdx.x / 8;
      const T *a = gradients + row * s.g.row, *b = results + row * s.y.row;
      const int length = row < s.queries ? s.depth : 0;
      float sum = 0;

      if (s.aligned)
        for (int at = lane * 8; at < length; at += 64)
          {
            float x[8], z[8];

            load_pack<8> (x, a + at);
            load_pack<8> (z, b + at);
            UNROLL
            for (int k = 0; k < 8; k++)
              sum += x[k] * z[k];
          }
      else /* the same elements in the same order */
        for (int at = lane * 8; at < length; at += 64)
          for (int k = 0; k < 8 && at + k < length; k++)
            sum += load (a[at + k]) * load (b[at + k]);
      sum = shuffle_join<Sum, 4, 1> (sum);
      if (lane == 0 && row < s.queries)
        sums[head.queries + row] = sum;
    }
}

/* ---- host --------------------------------------------------------------------------- */

template <typename T>
static void
launch_sums (const AttentionSizes *sizes, cudaStream_t stream, float *sums, const void *g, const void *y)
{
  const unsigned int blocks = (unsigned int)(sizes->n * sizes->heads) * blocks_for (sizes->queries, ROWS);

  if (blocks > 0)
    sums_kernel<T><<<blocks, ATTENTION_THREADS, 0, stream>>> (sums, (const T *)g, (const T *)y, *sizes);
}

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  AttentionSizes sizes; /* aligned: as far as it follows from the sizes */
  int n_in, n_out;
  int numbers; /* the operand number of seed, which step and head_index follow */
  bool has_delta;
  AttentionLaunch launch;
  void (*launch_sums) (const AttentionSizes *sizes, cudaStream_t stream, float *sums, const void *g, const void *y);
} AttentionKernel;

static bool
is_aligned (const void *a, const void *b, const void *c, const void *d)
{
  return (((uintptr_t)a | (uintptr_t)b | (uintptr_t)c | (uintptr_t)d) & 15) == 0;
}

/* The sizes of this call, with the alignment of its addresses. */
static AttentionSizes
sizes_now (const AttentionKernel *self, void *const *b)
{
  AttentionSizes sizes = self->sizes;

  if (self->numbers > 0)
    {
      sizes.seed = (const long long *)b[self->numbers];
      sizes.step = (const long long *)b[self->numbers + 1];
      sizes.head_index = (const long long *)b[self->numbers + 2];
    }
  return sizes;
}

static bool
is_nothing (const AttentionSizes &s)
{
  return s.n * s.heads * s.queries == 0 && s.n * s.groups * s.keys == 0;
}

static LoomStatus
forward_run (LoomKernel *base, LoomStream *stream, void *const *b, LoomMessage *message)
{
  const AttentionKernel *self = (const AttentionKernel *)base;
  AttentionSizes sizes = sizes_now (self, b);
  AttentionBuffers at = { .q = b[0], .k = b[1], .v = b[2] };

  if (is_nothing (sizes))
    return LOOM_STATUS_OK;
  at.mask = sizes.has_mask ? b[3] : NULL;
  at.y = b[self->n_in];
  at.lse = (float *)b[self->n_in + 1];
  sizes.aligned = sizes.aligned && is_aligned (at.q, at.k, at.v, at.y);
  cuda_use (self->device);
  self->launch (&sizes, cuda_stream (self->device, stream), &at);
  return cuda_launched (base->name, message);
}

static LoomStatus
backward_run (LoomKernel *base, LoomStream *stream, void *const *b, LoomMessage *message)
{
  const AttentionKernel *self = (const AttentionKernel *)base;
  AttentionSizes sizes = sizes_now (self, b);
  AttentionBuffers at = { .q = b[1], .k = b[2], .v = b[3], .g = b[0] };
  void *const *out = b + self->n_in;

  if (is_nothing (sizes))
    return LOOM_STATUS_OK;
  at.mask = sizes.has_mask ? b[6] : NULL;
  at.lse = (float *)b[4];
  at.delta = (const float *)(self->has_delta ? b[5] : out[self->n_out]);
  at.dq = out[0];
  at.dk = out[loom_attention_result (self->n_out, 1)];
  at.dv = out[loom_attention_result (self->n_out, 2)];
  sizes.aligned = sizes.aligned && is_aligned (at.q, at.k, at.v, at.g) && is_aligned (at.dq, at.dk, at.dv, self->has_delta ? NULL : b[7]);
  cuda_use (self->device);
  if (!self->has_delta)
    self->launch_sums (&sizes, cuda_stream (self->device, stream), (float *)out[self->n_out], at.g, b[7]);
  self->launch (&sizes, cuda_stream (self->device, stream), &at);
  return cuda_launched (base->name, message);
}

/* TRUE if rows begin at multiples of eight elements. */
static bool
rows_are_aligned (const LoomAttentionRows *rows)
{
  return ((rows->start | rows->sample | rows->head | rows->row) & 7) == 0;
}

/* q, k and v begin at operand `at`; the optional mask is operand `mask_at`. */
static LoomStatus
attention_new (LoomDevice *device, const LoomKernelSpec *spec, int at, int mask_at, LoomKernel **kernel, LoomMessage *message)
{
  const LoomAttentionAttrs *a = (const LoomAttentionAttrs *)spec->attrs;
  const bool gradient = at == 1, has_delta = gradient && loom_attention_has_delta (spec->in);
  const LoomTensorDesc *mask = a->has_mask ? &spec->in[mask_at] : NULL;
  const LoomDType type = spec->in[at].dtype;
  LoomAttentionRows rows[LOOM_ATTENTION_N_OPERANDS];
  const LoomAttentionSizes of = loom_attention_strides (a, spec->in, at, rows);
  const int64_t features = of.width > of.depth ? of.width : of.depth;
  AttentionKernel *self;

  if (!cuda_all_plain (spec) || features > ATTENTION_WIDTH || of.queries > INT_MAX / 2 || of.keys > INT_MAX / 2)
    return LOOM_STATUS_UNSUPPORTED;
  /* lse and delta are f32; all else has the queries' type. */
  if (!all_of_dtype (spec->in, at + 3, type) || !all_of_dtype (spec->out, gradient ? spec->n_out : 1, type)
      || (gradient ? spec->in[4].dtype : spec->out[1].dtype) != LOOM_F32
      || (gradient && (has_delta ? spec->in[5].dtype != LOOM_F32 : spec->in[7].dtype != type)))
    return LOOM_STATUS_UNSUPPORTED;
  if (mask != NULL && mask->dtype != type && mask->dtype != LOOM_BOOL)
    return LOOM_STATUS_UNSUPPORTED;
  AttentionLaunch launch = cuda_attention_single (gradient);
  if (type == LOOM_BF16 || type == LOOM_F16)
    launch = cuda_attention_half (device, type, (int)features, gradient);
  else if (type != LOOM_F32)
    launch = NULL;
  if (launch == NULL)
    return LOOM_STATUS_UNSUPPORTED;
  self = kernel_struct<AttentionKernel> (device, gradient ? "own attention_grad" : "own attention",
                                         gradient ? backward_run : forward_run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->launch = launch;
  self->launch_sums = type == LOOM_F32 ? launch_sums<float> : type == LOOM_BF16 ? launch_sums<Bf16> : launch_sums<F16>;
  self->n_in = spec->n_in;
  self->n_out = spec->n_out;
  self->has_delta = has_delta;
  if (gradient && !has_delta)
    self->base.scratch_bytes = (size_t)(of.n * of.heads * of.queries) * sizeof (float);
  self->sizes.q = rows[LOOM_ATTENTION_Q];
  self->sizes.k = rows[LOOM_ATTENTION_K];
  self->sizes.v = rows[LOOM_ATTENTION_V];
  self->sizes.y = rows[LOOM_ATTENTION_Y];
  self->sizes.g = rows[LOOM_ATTENTION_G];
  self->sizes.dq = rows[LOOM_ATTENTION_DQ];
  self->sizes.dk = rows[LOOM_ATTENTION_DK];
  self->sizes.dv = rows[LOOM_ATTENTION_DV];
  self->sizes.n = of.n;
  self->sizes.heads = of.heads;
  self->sizes.groups = of.groups;
  self->sizes.shared_by = attention_shared_by (of.heads, of.groups);
  self->sizes.queries = (int)of.queries;
  self->sizes.keys = (int)of.keys;
  self->sizes.width = (int)of.width;
  self->sizes.depth = (int)of.depth;
  self->sizes.aligned = of.width % 8 == 0 && of.depth % 8 == 0;
  for (int i = 0; i < LOOM_ATTENTION_N_OPERANDS; i++)
    self->sizes.aligned = self->sizes.aligned && rows_are_aligned (&rows[i]);
  self->sizes.scale = (float)a->scale;
  self->sizes.scale_2 = (float)(a->scale * M_LOG2E);
  self->numbers = a->dropout > 0 ? mask_at + (gradient ? 2 : 1) : 0;
  self->sizes.left = (float)(1 / (1 - a->dropout));
  self->sizes.below = loom_philox_below ((float)a->dropout);
  self->sizes.stream = a->stream;
  self->sizes.causal = a->causal;
  self->sizes.has_mask = a->has_mask;
  if (mask != NULL)
    {
      long long stride = of.keys;

      self->sizes.mask_is_bool = mask->dtype == LOOM_BOOL;
      for (int i = 2; i >= 0; i--)
        {
          self->sizes.mask_stride[i] = mask->dim[i] > 1 ? stride : 0;
          stride *= mask->dim[i];
        }
    }
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_attention_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  return attention_new (device, spec, 0, 3, kernel, message);
}

LoomStatus
cuda_attention_grad_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  return attention_new (device, spec, 1, 6, kernel, message);
}
