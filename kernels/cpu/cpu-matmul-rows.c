/* matmul "rows": up to four rows of a times weights [n, depth], the product of generation token by token.
 *
 * Each weight is read once and used at most four times, so the kernel is memory-bound. The number of streams that its
 * prefetchers follow limits the cache lines in flight of one core. Weights are therefore read in four streams, a
 * quarter of a thread's columns from each other, each without gaps. On two cores, with weights that exceed all caches,
 * this reads 15 to 17 GB/s a core; one stream reads 9, and oneDNN's gemm 7 to 12.
 *
 * A sum has one order whatever the numbers of streams and threads: lane l of 16 adds the elements l, l + 16, … of a
 * row, the lanes are added in order, and the remainder of the row last. */
#include "kernels/cpu/cpu.h"
#include "kernels/product.h"

#define LANES    16
#define STREAMS  4
#define MOST     4    /* maximum number of rows of a */
#define BYTES_NS 15.0 /* bytes that a core reads in a nanosecond */

/* Two of them are the 16 lanes; GCC keeps arrays of vectors in memory if these exceed a register. */
typedef float V __attribute__ ((vector_size (32), aligned (4), may_alias));

typedef struct
{
  CpuKernel k;
  int64_t m, n, depth;
  bool has_bias;
  LoomScalarOp act;
} Rows;

typedef struct
{
  const Rows *self;
  const float *a, *b, *bias; /* [m, depth], [n, depth], [n] or NULL */
  float *y;                  /* [m, n] */
} Call;

/* Computes y [M, n] at S columns, the first of which is j, with a distance of `apart`. M and S are constants after
 * inlining, so the sums are in registers. */
static inline __attribute__ ((always_inline)) void
columns (const Call *call, int64_t j, int64_t apart, int M, int S)
{
  int64_t depth = call->self->depth, n = call->self->n, whole = depth / LANES * LANES;
  V low[MOST][STREAMS], high[MOST][STREAMS];

  for (int m = 0; m < M; m++)
    for (int s = 0; s < S; s++)
      low[m][s] = high[m][s] = (V){ 0 };
  for (int64_t d = 0; d < whole; d += LANES)
#pragma GCC unroll 4
    for (int s = 0; s < S; s++)
      {
        const float *w = call->b + (j + s * apart) * depth + d;

#pragma GCC unroll 4
        for (int m = 0; m < M; m++)
          {
            const float *a = call->a + m * depth + d;

            low[m][s] += *(const V *)w * *(const V *)a;
            high[m][s] += *(const V *)(w + LANES / 2) * *(const V *)(a + LANES / 2);
          }
      }
  for (int m = 0; m < M; m++)
    for (int s = 0; s < S; s++)
      {
        const float *a = call->a + m * depth, *w = call->b + (j + s * apart) * depth;
        float y = 0;

        for (int l = 0; l < LANES; l++)
          y += l < LANES / 2 ? low[m][s][l] : high[m][s][l - LANES / 2];
        for (int64_t d = whole; d < depth; d++)
          y += a[d] * w[d];
        call->y[m * n + j + s * apart] = call->bias == NULL ? y : y + call->bias[j + s * apart];
      }
}

/* Columns from … to - 1, in STREAMS streams and a remainder. */
static inline __attribute__ ((always_inline)) void
share (const Call *call, int64_t from, int64_t to, int M)
{
  int64_t apart = (to - from) / STREAMS;

  for (int64_t j = from; j < from + apart; j++)
    columns (call, j, apart, M, STREAMS);
  for (int64_t j = from + apart * STREAMS; j < to; j++)
    columns (call, j, 0, M, 1);
}

static void
part (void *context, int64_t from, int64_t to)
{
  const Call *call = context;

  switch (call->self->m)
    {
    case 1:
      share (call, from, to, 1);
      break;
    case 2:
      share (call, from, to, 2);
      break;
    case 3:
      share (call, from, to, 3);
      break;
    default:
      share (call, from, to, 4);
    }
}

static LoomStatus
work (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Rows *self = (Rows *)k;
  Call call = { self, b[0], b[1], self->has_bias ? b[2] : NULL, b[k->n_in] };

  cpu_share (k, (double)(self->n * self->depth) * sizeof (float) / BYTES_NS, self->n, part, &call);
  ISA (cpu_apply) (self->act, call.y, self->m * self->n);
  return LOOM_STATUS_OK;
}

/* True for contiguous rows of a and one matrix b, transposed. */
static bool
takes (const LoomKernelSpec *spec)
{
  const LoomMatmulAttrs *at = spec->attrs;
  const LoomTensorDesc *a = &spec->in[0], *b = &spec->in[1], *y = &spec->out[0];
  int64_t n, depth;

  if (at->trans_a || !at->trans_b || !cpu_all_f32 (spec) || !cpu_all_layout (spec, LOOM_LAYOUT_PLAIN) || a->rank < 2
      || b->rank < 2 || y->rank < 2 || loom_product_is_fused (spec))
    return false;
  n = y->dim[y->rank - 1];
  depth = a->dim[a->rank - 1];
  return n > 0 && depth > 0 && loom_desc_count (b) == n * depth && loom_desc_count (y) <= MOST * n
         && loom_desc_count (y) > 0 && loom_desc_count (a) * n == loom_desc_count (y) * depth;
}

LoomStatus
ISA (cpu_matmul_rows) (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                       LoomMessage *message)
{
  const LoomMatmulAttrs *at = spec->attrs;
  const LoomTensorDesc *y = &spec->out[0];
  Rows *self;

  if (!takes (spec))
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, work, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->n = y->dim[y->rank - 1];
  self->m = loom_desc_count (y) / self->n;
  self->depth = spec->in[0].dim[spec->in[0].rank - 1];
  self->has_bias = at->has_bias;
  self->act = at->act;
  self->k.base.name = "own product of few rows";
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}
