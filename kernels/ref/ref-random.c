/* random: Philox numbers, uniform, normal, exponential, masks or integers (kernels/philox.h). Normal and exponential
 * numbers are those of kernels/draw.h in f32; in f64 they are computed with libm, as a reference for the former. */
#include "kernels/ref/ref.h"
#include "kernels/draw.h"

#include <math.h>

/* Element i of f32, from the words of its block. */
static float
draw (LoomRandomKind kind, const uint32_t word[4], int64_t i)
{
  float y[2];

  if (kind == LOOM_RANDOM_EXPONENTIAL)
    return loom_draw_exponential (word[i & 3]);
  if (kind != LOOM_RANDOM_NORMAL)
    return loom_philox_uniform (word[i & 3]);
  loom_draw_normals (word[i & 2], word[(i & 2) + 1], &y[0], &y[1]);
  return y[i & 1];
}

/* The number of element `at` of y, by the positions b[2] if there are any. */
static int64_t
number_of (const RefKernel *k, void *const *b, int64_t at)
{
  const bool has_rows = loom_random_has_rows (k->in, k->n_in);
  int64_t row = has_rows ? loom_dim_product (&k->out[0], k->in[2].rank, k->out[0].rank) : 1;

  return has_rows ? ((const int64_t *)b[2])[at / row] * row + at % row : at;
}

/* b: seed and step, scalars, [row_index], [least]; y [count]. */
static LoomStatus
random_numbers (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomRandomAttrs *a = k->attrs;
  uint64_t seed = (uint64_t) * (const int64_t *)b[0], step = (uint64_t) * (const int64_t *)b[1];

  for (int64_t at = 0; at < loom_desc_count (&k->out[0]); at++)
    {
      int64_t i = number_of (k, b, at);
      uint32_t word[4];
      double value;

      loom_philox (seed, a->stream, step, (uint64_t)i / 4, word);
      if (k->out[0].dtype == LOOM_BOOL)
        value = loom_philox_uniform (word[i & 3]) >= loom_load_double (b[3], 0, k->in[3].dtype);
      else if (k->out[0].dtype == LOOM_F32)
        value = draw (a->kind, word, i);
      else if (a->kind == LOOM_RANDOM_NORMAL)
        {
          double u = loom_philox_uniform (word[i & 2]), v = loom_philox_uniform (word[(i & 2) + 1]);
          double radius = sqrt (-2 * log (1 - u)), angle = 2 * 3.14159265358979323846 * v;

          value = radius * (i & 1 ? sin (angle) : cos (angle));
        }
      else if (a->kind == LOOM_RANDOM_EXPONENTIAL)
        value = -log (loom_philox_open (word[i & 3]));
      else
        value = loom_philox_uniform (word[i & 3]);
      loom_store_double (b[k->n_in], at, k->out[0].dtype, value);
    }
  return LOOM_STATUS_OK;
}

/* b: seed and step, scalars; y [count]. */
static LoomStatus
random_ints (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomRandomAttrs *a = k->attrs;
  uint64_t seed = (uint64_t) * (const int64_t *)b[0], step = (uint64_t) * (const int64_t *)b[1];

  for (int64_t i = 0; i < loom_desc_count (&k->out[0]); i++)
    {
      uint32_t word[4];

      loom_philox (seed, a->stream, step, (uint64_t)i / 2, word);
      ((int64_t *)b[2])[i] = loom_philox_int (word[2 * (i & 1)], word[2 * (i & 1) + 1]);
    }
  return LOOM_STATUS_OK;
}

static RefWork
choose (const LoomKernelSpec *spec)
{
  const LoomRandomAttrs *a = spec->attrs;
  const bool has_rows = loom_random_has_rows (spec->in, spec->n_in);

  for (int i = 0; i < (has_rows ? 3 : 2); i++)
    if (spec->in[i].dtype != LOOM_I64)
      return NULL;
  if (a->kind == LOOM_RANDOM_MASK)
    return spec->n_in == 4 && loom_dtype_is_float (spec->in[3].dtype) && spec->out[0].dtype == LOOM_BOOL
               ? random_numbers
               : NULL;
  if (spec->out[0].dtype == LOOM_I64)
    return spec->n_in == 2 ? random_ints : NULL;
  return spec->out[0].dtype == LOOM_F32 || spec->out[0].dtype == LOOM_F64 ? random_numbers : NULL;
}

const RefPrimitive ref_random = { .name = "random", .attrs_size = sizeof (LoomRandomAttrs), .choose = choose };
