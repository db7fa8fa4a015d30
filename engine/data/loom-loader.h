/* A loader divides a split into the batches of an epoch, in an order that depends on
 * seed and epoch alone, so that a run can be resumed from any batch.
 *
 * Large batches are prepared ahead by threads in a ring of buffers allocated once;
 * small ones cost less to read than to pass between threads, and are read in next(). */
#pragma once

#include "engine/data/loom-dataset.h"

G_BEGIN_DECLS

typedef struct
{
  LoomTensor *tensors[LOOM_DATASET_MAX_PORTS]; /* in port order; the first dimension is n_own */
  guint n_tensors;
  gint64 n;              /* samples: the batch size, less in the last batch */
  gint64 n_own;          /* of these in the tensors: all, but for a loader that is shared among ranks */
  gint64 index;          /* of the batch in its epoch */
  const gint64 *samples; /* indices of the own ones in the split */
} LoomBatch;

typedef enum
{
  LOOM_LOADER_AUTO, /* depends on the size of a batch and the number of processors */
  LOOM_LOADER_DIRECT,
  LOOM_LOADER_THREAD,
  LOOM_LOADER_THREADS /* as many as there are ever */
} LoomLoaderMode;

typedef struct _LoomLoader LoomLoader;

/* Where the order is shuffled, samples are read as for training (loom_dataset_read_augmented()). dataset must outlive
 * the loader. Errors: DATA when the split is empty; OUT_OF_MEMORY. */
LoomLoader *loom_loader_new (const LoomDataset *dataset, LoomSplit split, gint64 batch_size, gboolean shuffle,
                             guint64 seed, GError **error);
LoomLoader *loom_loader_new_with_mode (const LoomDataset *dataset, LoomSplit split, gint64 batch_size, gboolean shuffle,
                                       guint64 seed, LoomLoaderMode mode, GError **error);
void loom_loader_free (LoomLoader *self);

/* Leaves out the last n samples of each epoch's order, n less than their number. Before start() only. In a shuffled
 * order these are other samples in each epoch. */
void loom_loader_leave_out (LoomLoader *self, gint64 n);

/* Batches are those of all ranks together, and this loader reads the shard of one (loom_comm_shard()). A batch of fewer
 * samples than ranks is read whole by every rank. Before start() only. */
void loom_loader_share (LoomLoader *self, int rank, int ranks);

/* Instead of at random, an epoch goes through the split in batch_size streams side by side: sample b of a batch is the
 * one after sample b of the batch before. The last incomplete batch is left out.
 * Before start() only. */
void loom_loader_read_streams (LoomLoader *self);

/* Samples are drawn with replacement, each as often as its weight says: one from 0 for each of the split, not all of
 * them 0. An epoch has as many as before. Before start() and where the order is shuffled only. */
void loom_loader_set_weights (LoomLoader *self, const double *weights);

/* A batch then stays valid until the second call of next() after its own. Before start() only. OUT_OF_MEMORY. */
gboolean loom_loader_keep_two (LoomLoader *self, GError **error);

guint loom_loader_n_threads (const LoomLoader *self);  /* that prepare batches ahead; 0: next() reads them */
gint64 loom_loader_n_batches (const LoomLoader *self); /* of an epoch, the short one included */
gint64 loom_loader_n_samples (const LoomLoader *self); /* of an epoch, without those left out */

/* Begins an epoch at one of its batches; what was prepared before is dropped. */
void loom_loader_start (LoomLoader *self, gint64 epoch, gint64 first_batch);

/* The next batch, valid until the next call on this loader (but see keep_two()); NULL without error at the
 * end of the epoch, NULL with error when reading failed, in any thread. */
const LoomBatch *loom_loader_next (LoomLoader *self, GError **error);

/* Stops the threads and drops the epoch; start() begins again. */
void loom_loader_reset (LoomLoader *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomLoader, loom_loader_free)

G_END_DECLS
