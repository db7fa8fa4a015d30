/* Initial values of slots, which depend on the seed and the name alone. */
#include "engine/run/run-private.h"

#include "engine/core/loom-hash.h"
#include "kernels/philox.h"

#include <math.h>

/* The four random numbers that one call of the generator returns for consecutive elements. */
typedef struct
{
  gint64 block; /* element / 4; -1: none yet */
  double element[4];
} Drawn;

static double
random_element (Drawn *drawn, guint64 seed, guint64 stream, gint64 i, gboolean normal)
{
  guint32 word[4];

  if (drawn->block == i / 4)
    return drawn->element[i % 4];
  drawn->block = i / 4;
  loom_philox (seed, stream, 0, (guint64)i / 4, word);
  for (int k = 0; k < 4; k++)
    drawn->element[k] = loom_philox_uniform (word[k]);
  for (int k = 0; k < 4 && normal; k += 2)
    {
      const double angle = 2 * G_PI * drawn->element[k + 1], r = sqrt (-2.0 * log (1.0 - drawn->element[k]));

      drawn->element[k] = r * cos (angle);
      drawn->element[k + 1] = r * sin (angle);
    }
  return drawn->element[i % 4];
}

void
loom_state_fill_initial (LoomTensor *t, const StatePart *part, gint64 first, const LoomInit *init, guint64 seed,
                         const char *name)
{
  guint64 stream = loom_hash_name (name);
  Drawn drawn = { .block = -1 };

  for (gint64 i = 0; i < t->count; i++)
    {
      gint64 place = state_part_place (part, first + i);

      switch (init->kind)
        {
        case LOOM_INIT_CONSTANT:
          loom_tensor_set (t, i, init->a);
          break;
        case LOOM_INIT_UNIFORM:
          loom_tensor_set (t, i, init->a + (init->b - init->a) * random_element (&drawn, seed, stream, place, FALSE));
          break;
        case LOOM_INIT_NORMAL:
          loom_tensor_set (t, i, init->a + init->b * random_element (&drawn, seed, stream, place, TRUE));
          break;
        case LOOM_INIT_DATA:
          loom_tensor_set (t, i, init->data[place]);
          break;
        case LOOM_INIT_ZEROS:
        default:
          return; /* a new tensor is zero */
        }
      if (place >= init->zero_from && place < init->zero_from + init->zero_count)
        loom_tensor_set (t, i, 0);
    }
}
