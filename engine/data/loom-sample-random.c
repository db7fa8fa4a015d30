/* Random numbers for generated samples, and the order of samples.
 *
 * Everything is a pure function of its arguments by Philox: no generator state is kept, so samples can be made in any
 * order and by any thread. */
#include <math.h>

#include "engine/data/loom-dataset-private.h"
#include "kernels/philox.h"

/* These streams differ from those of the engine's draws with the same seed. */
#define DATA_STREAM    0x64617461u /* "data" */
#define SHUFFLE_STREAM 0x73687566u /* "shuf" */
#define WEIGHT_STREAM  0x77656967u /* "weig" */

LoomSampleRandom
loom_sample_random (guint64 seed, guint32 stream, LoomSplit split, gint64 sample)
{
  LoomSampleRandom random = {
    .seed = seed,
    .stream = ((guint64)DATA_STREAM << 32) ^ ((guint64)stream << 8) ^ split,
    .sample = (guint64)sample,
    .used = 4,
  };

  return random;
}

static guint32
next_word (LoomSampleRandom *self)
{
  if (self->used == 4)
    {
      loom_philox (self->seed, self->stream, self->sample, self->block++, self->word);
      self->used = 0;
    }
  return self->word[self->used++];
}

float
loom_sample_uniform (LoomSampleRandom *self)
{
  return loom_philox_uniform (next_word (self));
}

/* Box and Muller, "A note on the generation of random normal deviates" (1958). */
float
loom_sample_normal (LoomSampleRandom *self)
{
  float u = loom_sample_uniform (self), v = loom_sample_uniform (self);

  return sqrtf (-2.0f * logf (1.0f - u)) * cosf ((float)(2 * G_PI) * v);
}

guint32
loom_sample_below (LoomSampleRandom *self, guint32 n)
{
  return (guint32)((guint64)next_word (self) * n >> 32);
}

void
loom_dataset_permutation (guint64 seed, guint64 epoch, guint32 n, guint32 *out)
{
  guint32 word[4];

  for (guint32 i = 0; i < n; i++)
    out[i] = i;
  for (guint32 i = 1; i < n; i++)
    {
      guint32 j;

      if ((i - 1) % 4 == 0)
        loom_philox (seed, SHUFFLE_STREAM, epoch, (i - 1) / 4, word);
      /* The upper half of the product is uniform in 0 … i except for 2^-32 times i, far too little to affect a run. */
      j = (guint32)((guint64)word[(i - 1) % 4] * (i + 1) >> 32);
      {
        guint32 moved = out[i];

        out[i] = out[j];
        out[j] = moved;
      }
    }
}

/* The first number with a cumulative sum above x, so never one of weight 0. */
static guint32
find_sum (const double *sums, guint32 n, double x)
{
  guint32 low = 0, high = n - 1;

  while (low < high)
    {
      const guint32 middle = low + (high - low) / 2;

      if (sums[middle] > x)
        high = middle;
      else
        low = middle + 1;
    }
  return low;
}

void
loom_dataset_draw (guint64 seed, guint64 epoch, guint32 n, const double *sums, guint32 *out)
{
  guint32 word[4], last = n - 1;

  /* Rounding may increase a draw to the whole sum, which then belongs to the last number with a weight above 0. */
  while (last > 0 && sums[last - 1] == sums[n - 1])
    last--;
  for (guint32 i = 0; i < n; i++)
    {
      double x;

      if (i % 2 == 0)
        loom_philox (seed, WEIGHT_STREAM, epoch, i / 2, word);
      x = ((double)(word[2 * (i % 2)] >> 5) * 67108864.0 + (double)(word[2 * (i % 2) + 1] >> 6)) / 9007199254740992.0;
      out[i] = MIN (find_sum (sums, n, x * sums[n - 1]), last);
    }
}
