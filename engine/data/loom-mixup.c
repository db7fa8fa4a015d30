/* Mixup (Zhang, Cissé, Dauphin and Lopez-Paz, "mixup: beyond empirical risk minimization", 2018): x = λ xᵢ + (1 - λ) xⱼ
 * and likewise the target as a probability for each class, where λ is from Beta(α, α).
 *
 * The other sample is any of the training samples, so that the result for one does not depend on its batch. */
#include "engine/data/loom-mixup.h"

#include <math.h>
#include <string.h>

#include "engine/core/loom-error.h"

#define STREAM           11
#define BLOCKS_PER_EPOCH 64 /* of four random words each */
#define TRIES            120

enum
{
  X,
  Y,
  Y_MIX
};

gboolean
loom_mixup_describe (double alpha, const char *name, LoomDatasetInfo *info, GError **error)
{
  if (alpha == 0)
    return TRUE;
  if (info->n_ports != Y_MIX || info->port[Y].type.dtype != LOOM_I64 || info->port[Y].type.shape.rank != 1
      || info->n_classes <= 0)
    {
      g_set_error (
          error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
          "mixup needs samples with one class each and a number of classes that is known before the data are read, "
          "which the data set %s does not have. Remove mixup.",
          name);
      return FALSE;
    }
  loom_info_add_port (info, LOOM_MIXUP_PORT, LOOM_F32, 1, &info->n_classes);
  return TRUE;
}

/* Draws from Beta(α, α) for α from 0 to 1 by Jöhnk's method: of two powers of uniform numbers, the first divided by
 * their sum, accepted if the sum is at most 1, which has a probability of at least 1/2. */
static double
draw_beta (LoomSampleRandom *random, double alpha)
{
  double u = 0, v = 0;

  for (guint i = 0; i < TRIES; i++)
    {
      u = pow (1 - loom_sample_uniform (random), 1 / alpha);
      v = pow (1 - loom_sample_uniform (random), 1 / alpha);
      if (u + v <= 1 && u + v > 0)
        return u / (u + v);
    }
  return u > v ? 1 : 0;
}

/* Tensors for the samples with which n samples are blended. (transfer full) */
static GPtrArray *
new_tensors (LoomTensor *const like[], guint n, GError **error)
{
  g_autoptr (GPtrArray) tensors = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);

  for (guint p = 0; p < Y_MIX; p++)
    {
      gint64 dims[LOOM_SHAPE_MAX_RANK];
      LoomTensor *tensor;

      memcpy (dims, like[p]->dim, (gsize)like[p]->rank * sizeof *dims);
      dims[0] = n;
      tensor = loom_tensor_new (like[p]->dtype, like[p]->rank, dims, error);
      if (tensor == NULL)
        return NULL;
      g_ptr_array_add (tensors, tensor);
    }
  return g_steal_pointer (&tensors);
}

static void
add_share (LoomTensor *mix, guint sample, gint64 class, double share)
{
  const gint64 n = mix->count / mix->dim[0];

  if (class >= 0 && class < n)
    ((float *)mix->data)[sample * n + class] += (float)share;
}

gboolean
loom_mixup_apply (const LoomDataset *dataset, guint64 seed, const guint64 *epoch, const gint64 *indices, guint n,
                  LoomMixupRead read, gconstpointer data, LoomTensor *const out[], GError **error)
{
  const gint64 *y = out[Y]->data;
  const gsize size = (gsize)(out[X]->count / MAX (out[X]->dim[0], 1));
  float *x = out[X]->data, *mix = out[Y_MIX]->data;
  g_autofree gint64 *partner = g_new (gint64, n + 1);
  g_autofree double *lambda = g_new (double, n + 1);
  g_autoptr (GPtrArray) others = NULL;

  memset (mix, 0, n * (gsize)(out[Y_MIX]->count / MAX (out[Y_MIX]->dim[0], 1)) * sizeof *mix);
  for (guint i = 0; i < n; i++)
    {
      LoomSampleRandom random = loom_sample_random (seed, STREAM, LOOM_SPLIT_TRAIN, indices[i]);

      random.block = epoch != NULL ? *epoch * BLOCKS_PER_EPOCH : 0;
      partner[i] = loom_sample_below (&random, (guint32)dataset->info.n[LOOM_SPLIT_TRAIN]);
      lambda[i] = epoch != NULL ? draw_beta (&random, dataset->mixup) : 1;
      add_share (out[Y_MIX], i, y[i], lambda[i]);
    }
  if (epoch == NULL)
    return TRUE;
  others = new_tensors (out, n, error);
  if (others == NULL || !read (data, partner, n, (LoomTensor *const *)others->pdata, error))
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      const float l = (float)lambda[i], *other = (const float *)((LoomTensor *)others->pdata[X])->data + i * size;

      for (gsize k = 0; k < size; k++)
        x[i * size + k] = l * x[i * size + k] + (1 - l) * other[k];
      add_share (out[Y_MIX], i, ((const gint64 *)((LoomTensor *)others->pdata[Y])->data)[i], 1 - lambda[i]);
    }
  return TRUE;
}
