/* Initial values of state, which depend on the seed and the name alone. */
#include "engine/run/run-private.h"

#include "engine/core/loom-hash.h"
#include "kernels/philox.h"

#include <math.h>

static double
random_element (guint64 seed, guint64 stream, gint64 i, gboolean normal)
{
  guint32 word[4];

  loom_philox (seed, stream, 0, (guint64)i / 4, word);
  if (!normal)
    return loom_philox_uniform (word[i % 4]);
  {
    double u = loom_philox_uniform (word[i % 4 / 2 * 2]), v = loom_philox_uniform (word[i % 4 / 2 * 2 + 1]);
    double r = sqrt (-2.0 * log (1.0 - u));

    return i % 2 == 0 ? r * cos (2 * G_PI * v) : r * sin (2 * G_PI * v);
  }
}

void
loom_state_fill_initial (LoomTensor *t, const StatePart *part, gint64 first, const LoomInit *init, guint64 seed,
                         const char *name)
{
  guint64 stream = loom_hash_name (name);

  for (gint64 i = 0; i < t->count; i++)
    {
      gint64 place = state_part_place (part, first + i);

      switch (init->kind)
        {
        case LOOM_INIT_CONSTANT:
          loom_tensor_set (t, i, init->a);
          break;
        case LOOM_INIT_UNIFORM:
          loom_tensor_set (t, i, init->a + (init->b - init->a) * random_element (seed, stream, place, FALSE));
          break;
        case LOOM_INIT_NORMAL:
          loom_tensor_set (t, i, init->a + init->b * random_element (seed, stream, place, TRUE));
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
