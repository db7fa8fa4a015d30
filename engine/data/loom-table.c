/* Data sets in memory.
 *
 * Almost every source is one: a tensor of all samples for each port, and for each split the list of its rows. Pictures
 * stay bytes and become floats batch by batch, which takes a quarter of the memory and of the traffic. */
#include <string.h>

#include "engine/core/loom-clones.h"
#include "engine/data/loom-dataset-private.h"

typedef struct
{
  LoomTensor *data[LOOM_DATASET_MAX_PORTS];
  guint32 *rows; /* NULL: row i is sample i */
} TableSplit;

typedef struct
{
  LoomDataset base;
  TableSplit split[LOOM_N_SPLITS];
} Table;

LoomDataset *
loom_table_new (const LoomDatasetClass *klass, const LoomDatasetInfo *info)
{
  Table *self = g_new0 (Table, 1);

  self->base.klass = klass;
  self->base.info = *info;
  for (int s = 0; s < LOOM_N_SPLITS; s++)
    self->base.info.n[s] = 0;
  return &self->base;
}

void
loom_table_set_split (LoomDataset *base, LoomSplit split, LoomTensor *const data[], guint32 *rows, gint64 n)
{
  Table *self = (Table *)base;

  for (guint p = 0; p < base->info.n_ports; p++)
    {
      g_assert (data[p]->rank == base->info.port[p].type.shape.rank && n <= data[p]->dim[0]);
      loom_tensor_unref (self->split[split].data[p]);
      self->split[split].data[p] = loom_tensor_ref (data[p]);
    }
  g_free (self->split[split].rows);
  self->split[split].rows = rows;
  base->info.n[split] = n;
}

const guint32 *
loom_table_rows (const LoomDataset *base, LoomSplit split, gint64 *n)
{
  *n = base->info.n[split];
  return ((const Table *)base)->split[split].rows;
}

typedef guint8 Bytes __attribute__ ((vector_size (LOOM_N_FLOATS), aligned (1), may_alias));

/* The quotients by 255 of PyTorch's ToTensor, without a division, which takes ten times as long. 1/255 is the sum of
 * all 2^-8k; the product with its first two terms is exact, so only the sum is rounded, as the quotient is. */
LOOM_VECTOR_CLONES static void
bytes_to_floats (const guint8 *restrict from, float *restrict to, gsize n)
{
  gsize i = 0;

  for (; i + LOOM_N_FLOATS <= n; i += LOOM_N_FLOATS)
    {
      const LoomFloats value = __builtin_convertvector (*(const Bytes *)(from + i), LoomFloats);

      *(LoomFloats *)(to + i) = value * 0x1.01p-8f + value * 0x1.0101p-24f;
    }
  for (; i < n; i++)
    to[i] = (float)from[i] * 0x1.01p-8f + (float)from[i] * 0x1.0101p-24f;
}

static void
bytes_to_integers (const guint8 *from, gint64 *to, gsize n)
{
  for (gsize i = 0; i < n; i++)
    to[i] = from[i];
}

static inline void
fetch_row (const LoomTensor *data, gint64 row, gsize stride)
{
  const guint8 *from = (const guint8 *)data->data + row * stride;

  for (gsize k = 0; k < MIN (stride, 1024); k += 64)
    __builtin_prefetch (from + k);
}

gboolean
loom_table_read (const LoomDataset *base, LoomSplit split, const gint64 *indices, guint n, LoomTensor *const out[],
                 GError **error)
{
  const TableSplit *table = &((const Table *)base)->split[split];

  /* Further ports are made from those of the table (loom-mixup.c). */
  for (guint p = 0; p < base->info.n_ports && table->data[p] != NULL; p++)
    {
      const LoomTensor *data = table->data[p];
      LoomDType dtype = base->info.port[p].type.dtype;
      gsize per_sample = data->dim[0] > 0 ? data->count / data->dim[0] : 0;
      gsize stride = per_sample * loom_dtype_size (data->dtype), out_stride = per_sample * loom_dtype_size (dtype);

      g_assert (out[p]->dtype == dtype && n * out_stride <= out[p]->bytes);
      for (guint i = 0; i < n; i++)
        {
          gint64 row = table->rows != NULL ? table->rows[indices[i]] : indices[i];
          const guint8 *from = (const guint8 *)data->data + row * stride;
          guint8 *to = (guint8 *)out[p]->data + i * out_stride;

          /* Shuffled rows are spread over memory, so the next one is fetched while this one is converted. */
          if (i + 1 < n)
            fetch_row (data, table->rows != NULL ? table->rows[indices[i + 1]] : indices[i + 1], stride);
          if (data->dtype == dtype)
            memcpy (to, from, stride);
          else if (dtype == LOOM_F32)
            bytes_to_floats (from, (float *)to, per_sample);
          else
            bytes_to_integers (from, (gint64 *)to, per_sample);
        }
    }
  return TRUE;
}

guint64
loom_table_digest (const LoomDataset *base, guint64 hash)
{
  const Table *self = (const Table *)base;

  for (int s = 0; s < LOOM_N_SPLITS; s++)
    for (guint p = 0; p < base->info.n_ports; p++)
      {
        const LoomTensor *data = self->split[s].data[p];

        /* Splits of one file share its tensors. */
        for (int other = 0; other < s; other++)
          data = data == self->split[other].data[p] ? NULL : data;
        if (data != NULL)
          hash = loom_digest_bytes (hash, data->data, data->bytes);
      }
  return hash;
}

void
loom_table_free (LoomDataset *base)
{
  Table *self = (Table *)base;

  for (int s = 0; s < LOOM_N_SPLITS; s++)
    {
      for (int p = 0; p < LOOM_DATASET_MAX_PORTS; p++)
        loom_tensor_unref (self->split[s].data[p]);
      g_free (self->split[s].rows);
    }
  g_free (self);
}

void
loom_info_set_generated (LoomDatasetInfo *info, const LoomDatasetClass *klass, const LoomDatasetOptions *options)
{
  info->n[LOOM_SPLIT_TRAIN] = loom_option_int (klass, options, "n");
  info->n[LOOM_SPLIT_VAL] = 0;
  info->n[LOOM_SPLIT_TEST] = loom_option_int (klass, options, "n_test");
}

const char *const loom_target_types[] = { "class", "float", NULL };

gboolean
loom_info_set_points (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info,
                      GError **error)
{
  const gint64 two = 2, one = 1;
  gboolean is_class = g_str_equal (loom_option_string (klass, options, "target_type"), "class");

  loom_info_add_port (info, "x", LOOM_F32, 1, &two);
  loom_info_add_port (info, "y", is_class ? LOOM_I64 : LOOM_F32, is_class ? 0 : 1, &one);
  loom_info_set_generated (info, klass, options);
  info->n_classes = 2;
  return TRUE;
}

/* The arguments of generate_split(). */
typedef struct
{
  const LoomDatasetInfo *info;
  guint64 seed;
  guint32 stream;
  LoomGenerateSample make;
  gconstpointer data;
} Generator;

static gboolean
generate_split (LoomDataset *self, LoomSplit split, const Generator *generator, GError **error)
{
  const LoomDatasetInfo *info = generator->info;
  LoomTensor *data[LOOM_DATASET_MAX_PORTS] = { NULL };
  gboolean complete = TRUE;

  for (guint p = 0; p < info->n_ports && complete; p++)
    {
      LoomBinding binding = { { 0 } };
      LoomShape shape;
      gint64 dims[LOOM_SHAPE_MAX_RANK];

      binding.value['B' - 'A'] = info->n[split];
      shape = loom_shape_bind (&info->port[p].type.shape, &binding);
      loom_shape_get (&shape, dims);
      data[p] = loom_tensor_new (info->port[p].type.dtype, shape.rank, dims, error);
      complete = data[p] != NULL;
    }
  if (complete)
    {
      for (gint64 i = 0; i < info->n[split]; i++)
        {
          LoomSampleRandom random = loom_sample_random (generator->seed, generator->stream, split, i);

          generator->make (generator->data, &random, i, data);
        }
      loom_table_set_split (self, split, data, NULL, info->n[split]);
    }
  for (guint p = 0; p < info->n_ports; p++)
    loom_tensor_unref (data[p]);
  return complete;
}

LoomDataset *
loom_table_generate (const LoomDatasetClass *klass, const LoomDatasetOptions *options, guint32 stream,
                     LoomGenerateSample make, gconstpointer data, GError **error)
{
  LoomDatasetInfo info = { 0 };
  const Generator generator = { &info, (guint64)loom_option_int (klass, options, "seed"), stream, make, data };
  g_autoptr (LoomDataset) self = NULL;

  if (!klass->describe (klass, options, &info, error))
    return NULL;
  self = loom_table_new (klass, &info);
  if (!generate_split (self, LOOM_SPLIT_TRAIN, &generator, error)
      || !generate_split (self, LOOM_SPLIT_TEST, &generator, error))
    return NULL;
  return g_steal_pointer (&self);
}
