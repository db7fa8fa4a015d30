/* Communicators: collectives and messages between the ranks of a run. Plan and run see this interface as they see back
 * ends.
 *
 * A rank, as in MPI, is one of `size` runs of the same step: of the same program on shards of the same batch, or of
 * stages of the program. Every rank calls the same collectives in the same order, from one thread at a time; send() and
 * receive() concern two ranks only. Buffers are in host memory. Sums are made in the order of ranks, each element by
 * one rank (a reduce-scatter and an all-gather over the same shards), so their bits depend neither on the transport nor
 * on the order in which ranks arrive.
 *
 * Once a rank has called abort(), calls fail on all ranks with that rank's sentence; they never wait for a rank that
 * has ended. A rank that hangs is waited for until `timeout`: then the call, and every call after it, fails on all
 * others with a sentence that names the call and the missing ranks. */
#ifndef LOOM_COMM_H
#define LOOM_COMM_H

#include "kernels/backend.h"

/* The shard [first, first + count) of `total` items that belongs to a rank. Sizes of shards differ by at most one item.
 */
typedef struct
{
  int64_t first, count;
} LoomCommShard;

static inline LoomCommShard
loom_comm_shard (int64_t total, int rank, int size)
{
  int64_t first = total / size * rank + total % size * rank / size;
  int64_t end = total / size * (rank + 1) + total % size * (rank + 1) / size;

  return (LoomCommShard){ first, end - first };
}

#define LOOM_COMM_TAGS 32768 /* every MPI has as many */

typedef struct LoomComm LoomComm;
struct LoomComm
{
  int rank, size;
  int local_rank, local_size; /* among those on this machine */
  int cpu_sharers;  /* the number of ranks on this machine, this one included, that may use the same processors */
  const char *name; /* "threads", "mpi" */
  char library[64]; /* "Open MPI v4.1.4" of "mpi"; else empty */
  double timeout;   /* seconds that a call waits for the other ranks, the same on all; 0: without limit */
  int exit_status;  /* of processes that abort() ends, if ranks are processes; 0: 3 */
  bool timed_out;   /* a call of this rank timed out, and rank 0, which would report it, is missing */

  /* to[i] = op over all ranks of from[i]; to may be from. Types are f64, f32, f16, bf16, i64 and i32; 16-bit floats are
   * reduced in f32 and rounded once. */
  LoomStatus (*all_reduce) (LoomComm *self, const void *from, void *to, int64_t count, LoomDType dtype, LoomReduceOp op,
                            LoomMessage *message);
  /* from contains the shards of all ranks in order, of counts[rank] elements, the same list on every rank; to receives
   * the reduction of this rank's shard, with the same bits as all_reduce. to may be that shard of from. */
  LoomStatus (*reduce_scatter) (LoomComm *self, const void *from, void *to, const int64_t *counts, LoomDType dtype,
                                LoomReduceOp op, LoomMessage *message);
  /* to receives the ranks' shards in order; bytes[rank] is the size of each, the same list on every rank. from may be
   * the rank's own shard of to. */
  LoomStatus (*all_gather) (LoomComm *self, const void *from, void *to, const int64_t *bytes, LoomMessage *message);
  /* Copies the data of `root` to all ranks. */
  LoomStatus (*broadcast) (LoomComm *self, void *data, int64_t bytes, int root, LoomMessage *message);
  /* Sends bytes to another rank, which receives them by receive() with the same tag, 0 … LOOM_COMM_TAGS - 1. Returns as
   * soon as data may be overwritten and never waits for the other rank: there is no deadlock if every receive() comes
   * later than its send(), however large the messages are. */
  LoomStatus (*send) (LoomComm *self, const void *data, int64_t bytes, int to, int tag, LoomMessage *message);
  /* Waits for a message from a rank with this tag; the first of several. */
  LoomStatus (*receive) (LoomComm *self, void *data, int64_t bytes, int from, int tag, LoomMessage *message);
  /* Waits for a message with this tag from any rank: *from is the rank of the first one, which receive() then takes
   * (MPI_Probe with any source). arrived[rank]: the rank is not waited for, so a time-out does not name it. */
  LoomStatus (*probe) (LoomComm *self, int tag, const bool *arrived, int *from, LoomMessage *message);
  /* Optional: the calls between group (true) and group (false) are issued together. */
  LoomStatus (*group) (LoomComm *self, bool begins, LoomMessage *message);
  /* Returns after every rank has called it. */
  LoomStatus (*barrier) (LoomComm *self, LoomMessage *message);
  /* A communicator of the ranks with the same colour, ordered by key, then by rank, as by MPI_Comm_split; all ranks
   * call it together. It has this one's time-out and must be freed before this one. An end of one communicator ends all
   * that were split from the same first one, and messages name ranks by their numbers in the first one. */
  LoomStatus (*split) (LoomComm *self, int color, int key, LoomComm **part, LoomMessage *message);
  /* Ends every call of every rank, including calls that already wait, with this sentence. May be called from any
   * thread. */
  void (*abort) (LoomComm *self, const char *why);
  /* Whether every later call fails, on every rank: one has aborted or timed out. A call that failed while this is false
   * has failed on this rank alone. May be called from any thread. */
  bool (*has_ended) (LoomComm *self);
  void (*free) (LoomComm *self);
};

/* The other symbol of a back end's module, if it has one: makes a communicator of the same ranks for device memory
 * (NCCL's). Its calls are enqueued on its stream, and sums are made in the library's order; it has no probe and no
 * split. A send waits on its stream until the other rank reaches its receive, which takes the next message of that
 * rank, whatever the tag. So the calls of all ranks must fit one order, except those of one group, whose order does not
 * matter. All ranks call it together, each with a device of its own. UNSUPPORTED, on all of them, if one has no such
 * library or two have the same device. It is used while `ranks` exists, and freed before the device closes. A lost rank
 * shows when the host waits for the device or, without a time-out, in the first send or receive of a pair, when NCCL
 * connects the two. */
typedef LoomStatus (*LoomDeviceCommEntry) (LoomDevice *device, LoomStream *stream, LoomComm *ranks, LoomComm **comm,
                                           LoomMessage *message);
#define LOOM_DEVICE_COMM_ENTRY "loom_device_comm_new"

/* The only symbol of the MPI module: makes the communicator of the ranks that mpirun or srun has started, of which this
 * process is one. */
typedef LoomStatus (*LoomCommEntry) (LoomComm **comm, LoomMessage *message);
#define LOOM_COMM_ENTRY "loom_comm_mpi_new"

/* Makes the ranks of one process, one per thread: fills comm[0 … size-1], which belong to the threads that use them.
 * Freeing the last one frees the shared state. */
LoomStatus loom_comm_threads_new (int size, LoomComm **comm, LoomMessage *message);

/* What the ranks along an axis of a mesh divide: samples, layers, or weights. Ranks that differ only in the last axis
 * are neighbours, since those exchange most. */
typedef enum
{
  LOOM_MESH_DATA,
  LOOM_MESH_PIPELINE,
  LOOM_MESH_TENSOR,
  LOOM_MESH_AXES
} LoomMeshAxis;

/* Writes the sentence of a call that has timed out; arrived[rank]: the rank has arrived. */
void loom_comm_set_missing (LoomMessage *message, const char *call, const bool *arrived, int size, double timeout);

/* to[i] = op over k of from[k][i], in the order of k. to may be one of from. For implementations of communicators. */
void loom_comm_reduce (void *to, const void *const *from, int n, int64_t count, LoomDType dtype, LoomReduceOp op);

#endif
