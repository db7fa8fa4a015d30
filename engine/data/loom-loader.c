/* Batches of an epoch, read directly or prepared in advance.
 *
 * A ring of slots is allocated once. Each thread takes the next batch that no other thread has taken and fills slot
 * (index mod slots) while the caller uses another one; counters under one lock record the progress. The caller holds
 * one slot between two calls of next(), and there are AHEAD more slots than threads. Nothing is allocated per batch,
 * and the content of a batch does not depend on the thread that fills it.
 *
 * On a machine with many processors one thread may be too slow to decode or rotate pictures; there are up to
 * AUTO_THREADS, one per four processors.
 *
 * Passing a batch between threads costs some ten microseconds and takes the processor from the computation when all
 * cores are busy; DIRECT_BYTES is about what is converted in that time. Measured with 64 pictures of Fashion-MNIST a
 * batch (201 KB), two processors and an epoch of `gradloom train`: the MLP takes 0.5 s read directly and 0.75 s through
 * the thread, LeNet 3.9 s and 4.2 s; with one computing thread and an idle processor the two differ by less than
 * repetitions do. */
#include "engine/data/loom-loader.h"

#include "engine/core/loom-refuse.h"
#include "kernels/comm.h"

#define AUTO_THREADS 4
#define AHEAD        3
#define MAX_SLOTS    (LOOM_LOADER_THREADS + AHEAD + 1)
#define DIRECT_BYTES (256 * 1024)

typedef struct
{
  LoomBatch batch;
  gint64 *samples;
  GError *error;
  gint64 filled; /* the batch in the slot; −1: none */
} Slot;

struct _LoomLoader
{
  const LoomDataset *dataset;
  LoomSplit split;
  gint64 batch_size, n_batches; /* n_batches: of the epoch that was begun last */
  gint64 capacity;              /* samples in the tensors of a slot */
  gint64 n_samples, n_split;    /* samples of an epoch; of the split, including those that are left out */
  /* In this epoch the current batch size begins with this batch, at this sample; −1: in none. */
  gint64 changed_epoch, changed_batch, changed_sample;
  gboolean shuffle, streams;
  guint64 seed;
  int rank, ranks;

  gint64 epoch;   /* the epoch of `order`; −1: none yet */
  guint32 *order; /* NULL: the order of the file */
  double *sums;   /* cumulative sums of the samples' weights; NULL: every sample once */
  gint64 next_batch;
  gboolean started;
  Slot slot[MAX_SLOTS];
  guint n_slots;
  gint64 n_kept; /* the number of batches before the newest that the caller still reads */

  GThread *thread[LOOM_LOADER_THREADS];
  guint n_threads; /* 0: batches are read directly */
  GMutex lock;
  GCond work, done; /* there is a slot to fill, or the thread has to end; a slot is filled, or a thread is idle */
  gint64 taken;     /* batches below this are filled or being filled */
  gint64 held;      /* batches below this were released */
  guint n_busy;     /* threads that fill a slot */
  gboolean running, quit;
};

static void
set_batch_size (LoomBatch *batch, gint64 n)
{
  if (batch->n_own == n)
    return;
  batch->n_own = n;
  for (guint p = 0; p < batch->n_tensors; p++)
    {
      LoomTensor *t = batch->tensors[p];

      t->count = t->dim[0] > 0 ? t->count / t->dim[0] * n : 0;
      t->dim[0] = n;
      t->bytes = t->count * loom_dtype_size (t->dtype);
    }
}

/* The sample in the epoch's order with which a batch of the epoch begins. */
static gint64
first_sample (const LoomLoader *self, gint64 epoch, gint64 index)
{
  return epoch >= 0 && epoch == self->changed_epoch
             ? self->changed_sample + (index - self->changed_batch) * self->batch_size
             : index * self->batch_size;
}

static gint64
count_batches (const LoomLoader *self, gint64 epoch)
{
  const gboolean is_changed = epoch >= 0 && epoch == self->changed_epoch;
  const gint64 left = self->n_samples - (is_changed ? self->changed_sample : 0);

  return (is_changed ? self->changed_batch : 0) + (MAX (left, 0) + self->batch_size - 1) / self->batch_size;
}

static void
fill_slot (LoomLoader *self, Slot *slot, gint64 index)
{
  const gint64 begin = first_sample (self, self->epoch, index);
  gint64 first = begin, all = MIN (self->batch_size, self->n_samples - first), n = all;

  if (all >= self->ranks)
    {
      LoomCommShard own = loom_comm_shard (all, self->rank, self->ranks);

      first += own.first;
      n = own.count;
    }
  set_batch_size (&slot->batch, n);
  slot->batch.n = all;
  slot->batch.index = index;
  for (gint64 i = 0; i < n; i++)
    slot->samples[i] = self->streams         ? (first - begin + i) * self->n_batches + index
                       : self->order != NULL ? (gint64)self->order[first + i]
                                             : first + i;
  g_clear_error (&slot->error);
  if (self->shuffle)
    loom_dataset_read_augmented (self->dataset, self->split, self->seed, (guint64)self->epoch, slot->samples, (guint)n,
                                 slot->batch.tensors, &slot->error);
  else
    loom_dataset_read (self->dataset, self->split, slot->samples, (guint)n, slot->batch.tensors, &slot->error);
}

static gboolean
may_fill (const LoomLoader *self)
{
  return self->running && self->taken < self->n_batches && self->taken - self->held < self->n_slots;
}

static gpointer
prepare (gpointer data)
{
  LoomLoader *self = data;

  g_mutex_lock (&self->lock);
  while (!self->quit)
    {
      const gint64 index = self->taken;
      Slot *slot = &self->slot[index % self->n_slots];

      if (!may_fill (self))
        {
          g_cond_wait (&self->work, &self->lock);
          continue;
        }
      self->taken = index + 1;
      self->n_busy++;
      g_mutex_unlock (&self->lock);
      fill_slot (self, slot, index);
      g_mutex_lock (&self->lock);
      self->n_busy--;
      slot->filled = index;
      g_cond_signal (&self->done);
    }
  g_mutex_unlock (&self->lock);
  return NULL;
}

/* Bytes of a batch's tensors. */
static gsize
batch_bytes (const LoomDatasetInfo *info, gint64 batch_size)
{
  gsize bytes = 0;

  for (guint p = 0; p < info->n_ports; p++)
    {
      LoomBinding binding = { { 0 } };
      LoomDim count = loom_shape_count (&info->port[p].type.shape);

      binding.value['B' - 'A'] = batch_size;
      bytes += (gsize)loom_dim_value (count, &binding) * loom_dtype_size (info->port[p].type.dtype);
    }
  return bytes;
}

static gboolean
init_slot (Slot *slot, const LoomDatasetInfo *info, gint64 batch_size, GError **error)
{
  LoomBinding binding = { { 0 } };

  binding.value['B' - 'A'] = batch_size;
  slot->samples = g_new0 (gint64, batch_size);
  slot->batch.samples = slot->samples;
  slot->batch.n = slot->batch.n_own = batch_size;
  slot->batch.n_tensors = info->n_ports;
  for (guint p = 0; p < info->n_ports; p++)
    {
      LoomShape shape = loom_shape_bind (&info->port[p].type.shape, &binding);
      gint64 dims[LOOM_SHAPE_MAX_RANK];

      loom_shape_get (&shape, dims);
      slot->batch.tensors[p] = loom_tensor_new (info->port[p].type.dtype, shape.rank, dims, error);
      if (slot->batch.tensors[p] == NULL)
        return FALSE;
    }
  return TRUE;
}

LoomLoader *
loom_loader_new (const LoomDataset *dataset, LoomSplit split, gint64 batch_size, gboolean shuffle, guint64 seed,
                 GError **error)
{
  return loom_loader_new_with_threads (dataset, split, batch_size, shuffle, seed, LOOM_LOADER_AUTO, error);
}

LoomLoader *
loom_loader_new_with_threads (const LoomDataset *dataset, LoomSplit split, gint64 batch_size, gboolean shuffle,
                              guint64 seed, int n_threads, GError **error)
{
  g_autoptr (LoomLoader) self = NULL;
  const LoomDatasetInfo *info;

  g_return_val_if_fail (dataset != NULL && split < LOOM_N_SPLITS && batch_size > 0, NULL);
  g_return_val_if_fail (n_threads >= LOOM_LOADER_AUTO && n_threads <= LOOM_LOADER_THREADS, NULL);

  info = loom_dataset_info (dataset);
  if (info->n[split] <= 0 || info->n[split] > G_MAXUINT32)
    return loom_refuse_null (error, LOOM_ERROR_DATA, "The split “%s” of the data set has no samples.",
                             loom_split_name (split));
  self = g_new0 (LoomLoader, 1);
  g_mutex_init (&self->lock);
  g_cond_init (&self->work);
  g_cond_init (&self->done);
  self->dataset = dataset;
  self->split = split;
  self->n_samples = self->n_split = info->n[split];
  self->batch_size = self->capacity = MIN (batch_size, self->n_samples);
  self->changed_epoch = -1;
  self->n_batches = count_batches (self, -1);
  self->shuffle = shuffle;
  self->seed = seed;
  self->epoch = -1;
  self->ranks = 1;
  if (n_threads == LOOM_LOADER_AUTO)
    n_threads = batch_bytes (info, self->batch_size) > DIRECT_BYTES
                    ? CLAMP ((int)g_get_num_processors () / 4, 1, AUTO_THREADS)
                    : 0;
  self->n_threads = (guint)n_threads;
  self->n_slots = n_threads > 0 ? self->n_threads + AHEAD : 1;
  for (guint i = 0; i < self->n_slots; i++)
    {
      if (!init_slot (&self->slot[i], info, self->batch_size, error))
        return NULL;
    }
  if (shuffle)
    self->order = g_new (guint32, self->n_samples);
  for (guint i = 0; i < self->n_threads; i++)
    self->thread[i] = g_thread_new ("loom-loader", prepare, self);
  return g_steal_pointer (&self);
}

static void
clear_slot (Slot *slot)
{
  for (guint p = 0; p < LOOM_DATASET_MAX_PORTS; p++)
    g_clear_pointer (&slot->batch.tensors[p], loom_tensor_unref);
  g_clear_pointer (&slot->samples, g_free);
  g_clear_error (&slot->error);
}

void
loom_loader_free (LoomLoader *self)
{
  if (self == NULL)
    return;
  g_mutex_lock (&self->lock);
  self->quit = TRUE;
  g_cond_broadcast (&self->work);
  g_mutex_unlock (&self->lock);
  for (guint i = 0; i < self->n_threads && self->thread[i] != NULL; i++)
    g_thread_join (self->thread[i]);
  for (guint i = 0; i < MAX_SLOTS; i++)
    clear_slot (&self->slot[i]);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->work);
  g_cond_clear (&self->done);
  g_free (self->order);
  g_free (self->sums);
  g_free (self);
}

void
loom_loader_leave_out (LoomLoader *self, gint64 n)
{
  g_return_if_fail (!self->started && n >= 0 && n < self->n_split);

  self->n_samples = self->n_split - n;
  self->n_batches = count_batches (self, -1);
}

void
loom_loader_share (LoomLoader *self, int rank, int ranks)
{
  g_return_if_fail (!self->started && rank >= 0 && rank < ranks);

  self->rank = rank;
  self->ranks = ranks;
}

void
loom_loader_set_weights (LoomLoader *self, const double *weights)
{
  double sum = 0;

  g_return_if_fail (!self->started && self->shuffle && self->sums == NULL);

  self->sums = g_new (double, self->n_split);
  for (gint64 i = 0; i < self->n_split; i++)
    self->sums[i] = sum += weights[i];
  g_return_if_fail (sum > 0);
}

gboolean
loom_loader_keep_two (LoomLoader *self, GError **error)
{
  g_return_val_if_fail (!self->started, FALSE);

  if (self->n_kept > 0)
    return TRUE;
  if (!init_slot (&self->slot[self->n_slots], loom_dataset_info (self->dataset), self->capacity, error))
    return FALSE;
  /* Threads read this when they get an epoch. */
  g_mutex_lock (&self->lock);
  self->n_slots++;
  self->n_kept = 1;
  g_mutex_unlock (&self->lock);
  return TRUE;
}

guint
loom_loader_n_threads (const LoomLoader *self)
{
  return self->n_threads;
}

void
loom_loader_read_streams (LoomLoader *self)
{
  g_return_if_fail (!self->started);

  loom_loader_leave_out (self, self->n_split % self->batch_size);
  self->streams = TRUE;
}

gint64
loom_loader_n_batches (const LoomLoader *self)
{
  return self->n_batches;
}

gint64
loom_loader_n_samples (const LoomLoader *self)
{
  return self->n_samples;
}

void
loom_loader_reset (LoomLoader *self)
{
  self->started = FALSE;
  if (self->n_threads == 0)
    return;
  g_mutex_lock (&self->lock);
  self->running = FALSE;
  while (self->n_busy > 0)
    g_cond_wait (&self->done, &self->lock);
  g_mutex_unlock (&self->lock);
}

/* The threads are idle. */
static gboolean
enlarge_slots (LoomLoader *self, gint64 capacity, GError **error)
{
  Slot slot[MAX_SLOTS] = { { { { NULL } } } };

  for (guint i = 0; i < self->n_slots; i++)
    if (!init_slot (&slot[i], loom_dataset_info (self->dataset), capacity, error))
      {
        for (guint k = 0; k <= i; k++)
          clear_slot (&slot[k]);
        return FALSE;
      }
  for (guint i = 0; i < self->n_slots; i++)
    {
      clear_slot (&self->slot[i]);
      self->slot[i] = slot[i];
    }
  self->capacity = capacity;
  return TRUE;
}

gboolean
loom_loader_set_batch_size (LoomLoader *self, gint64 batch_size, gint64 epoch, gint64 batch, gint64 sample,
                            gint64 left_out, GError **error)
{
  g_return_val_if_fail (!self->streams && batch_size > 0 && left_out >= 0 && left_out < self->n_split, FALSE);
  g_return_val_if_fail (epoch >= 0 && batch >= 0 && sample >= 0 && sample <= self->n_split, FALSE);

  loom_loader_reset (self);
  batch_size = MIN (batch_size, self->n_split);
  if (batch_size > self->capacity && !enlarge_slots (self, batch_size, error))
    return FALSE;
  self->batch_size = batch_size;
  self->changed_epoch = epoch;
  self->changed_batch = batch;
  self->changed_sample = sample;
  self->n_samples = self->n_split - left_out;
  self->n_batches = count_batches (self, epoch);
  return TRUE;
}

void
loom_loader_start (LoomLoader *self, gint64 epoch, gint64 first_batch)
{
  g_return_if_fail (self != NULL && epoch >= 0 && first_batch >= 0);

  /* Threads must be idle, because they read the order. */
  loom_loader_reset (self);
  if (self->sums != NULL && self->epoch != epoch)
    loom_dataset_draw (self->seed, (guint64)epoch, (guint32)self->n_split, self->sums, self->order);
  else if (self->shuffle && self->epoch != epoch)
    loom_dataset_permutation (self->seed, (guint64)epoch, (guint32)self->n_split, self->order);
  self->epoch = epoch;
  self->n_batches = count_batches (self, epoch);
  self->next_batch = first_batch;
  self->started = TRUE;
  if (self->n_threads == 0)
    return;
  g_mutex_lock (&self->lock);
  for (guint i = 0; i < self->n_slots; i++)
    self->slot[i].filled = -1;
  self->taken = first_batch;
  self->held = first_batch;
  self->running = TRUE;
  g_cond_broadcast (&self->work);
  g_mutex_unlock (&self->lock);
}

const LoomBatch *
loom_loader_next (LoomLoader *self, GError **error)
{
  gint64 index = self->next_batch;
  Slot *slot;

  g_return_val_if_fail (self->started, NULL);

  if (index >= self->n_batches)
    return NULL;
  slot = &self->slot[index % self->n_slots];
  if (self->n_threads == 0)
    fill_slot (self, slot, index);
  else
    {
      g_mutex_lock (&self->lock);
      /* Releases the batch before this one, or before those that the caller keeps. */
      if (self->held < index - self->n_kept)
        {
          self->held = index - self->n_kept;
          g_cond_signal (&self->work);
        }
      while (slot->filled != index)
        g_cond_wait (&self->done, &self->lock);
      g_mutex_unlock (&self->lock);
    }
  self->next_batch = index + 1;
  if (slot->error != NULL)
    {
      g_propagate_error (error, g_error_copy (slot->error));
      return NULL;
    }
  return &slot->batch;
}
