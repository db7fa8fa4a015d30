/* A loader divides a split into the batches of an epoch, in an order that depends only on seed and epoch, so that a run
 * can be resumed from any batch.
 *
 * Threads prepare large batches in advance, in a ring of buffers that is allocated once. Small batches take less time
 * to read than to pass between threads, so next() reads them. */
#pragma once

#include "engine/data/loom-dataset.h"

typedef struct
{
  LoomTensor *tensors[LOOM_DATASET_MAX_PORTS]; /* by port; the first dimension is n_own */
  guint n_tensors;
  gint64 n;              /* number of samples: the batch size, fewer in the last batch */
  gint64 n_own;          /* number of samples in the tensors: all, except if ranks share the loader */
  gint64 index;          /* index of the batch in its epoch */
  const gint64 *samples; /* indices, in the split, of the samples in the tensors */
} LoomBatch;

/* Numbers of threads that prepare batches ahead, as num_workers of torch's DataLoader. */
enum
{
  LOOM_LOADER_AUTO = -1, /* depends on the size of a batch and the number of processors */
  LOOM_LOADER_DIRECT = 0,
  LOOM_LOADER_THREAD = 1,
  LOOM_LOADER_THREADS = 8 /* the maximum */
};

typedef struct _LoomLoader LoomLoader;

/* Makes a loader. If the order is shuffled, samples are read as for training (loom_dataset_read_augmented()). dataset
 * must outlive the loader. Errors: DATA if the split is empty; OUT_OF_MEMORY. */
LoomLoader *loom_loader_new (const LoomDataset *dataset, LoomSplit split, gint64 batch_size, gboolean shuffle,
                             guint64 seed, GError **error);
LoomLoader *loom_loader_new_with_threads (const LoomDataset *dataset, LoomSplit split, gint64 batch_size,
                                          gboolean shuffle, guint64 seed, int n_threads, GError **error);
void loom_loader_free (LoomLoader *self);

/* Leaves out the last n samples of each epoch's order; n is less than their number. If the order is shuffled, other
 * samples are left out in each epoch. Only before start(). */
void loom_loader_leave_out (LoomLoader *self, gint64 n);

/* Divides each batch among ranks: this loader reads the shard of one (loom_comm_shard()). A batch of fewer samples than
 * ranks is read whole by every rank. Only before start(). */
void loom_loader_share (LoomLoader *self, int rank, int ranks);

/* Reads the split as batch_size parallel streams instead of at random: sample b of a batch follows sample b of the
 * batch before. An incomplete last batch is left out. Only before start(). */
void loom_loader_read_streams (LoomLoader *self);

/* Draws samples with replacement, in proportion to their weights, one for each sample of the split, at least 0, not all
 * 0. The length of an epoch does not change. Only before start() and if the order is shuffled. */
void loom_loader_set_weights (LoomLoader *self, const double *weights);

/* Makes a batch valid until the second call of next() after its own. Only before start(). OUT_OF_MEMORY. */
gboolean loom_loader_keep_two (LoomLoader *self, GError **error);

/* the threads that prepare batches in advance; 0: next() reads them */
guint loom_loader_n_threads (const LoomLoader *self);
gint64 loom_loader_n_batches (const LoomLoader *self); /* in an epoch, including an incomplete last one */
gint64 loom_loader_n_samples (const LoomLoader *self); /* in an epoch, without those left out */

/* Changes the batch size: batch `batch` of this epoch, and of no other, begins with sample `sample` of its order, and
 * the others follow; the batches before it must not be read again. left_out: as of loom_loader_leave_out(). Ends the
 * epoch that was begun. Not for parallel streams. OUT_OF_MEMORY, and then nothing has changed. */
gboolean loom_loader_set_batch_size (LoomLoader *self, gint64 batch_size, gint64 epoch, gint64 batch, gint64 sample,
                                     gint64 left_out, GError **error);

/* Begins an epoch at one of its batches; batches prepared before are discarded. */
void loom_loader_start (LoomLoader *self, gint64 epoch, gint64 first_batch);

/* Returns the next batch, valid until the next call of the loader (but see keep_two()). NULL without error at the end
 * of the epoch, NULL with error if reading failed in any thread. */
const LoomBatch *loom_loader_next (LoomLoader *self, GError **error);

/* Stops the threads and ends the epoch; start() begins another one. */
void loom_loader_reset (LoomLoader *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomLoader, loom_loader_free)
