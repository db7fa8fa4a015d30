/* Communicators: how the ranks of a run exchange numbers. Plan and run see this interface as they see back ends.
 *
 * A rank is one of `size` runs of the same step, named as MPI names it: of the same program on parts of the same batch,
 * or of parts of the program. Every rank calls the same collectives in the same order, from one thread at a time; what
 * one rank sends to another is between these two. Buffers lie in host memory. Sums are made in the
 * order of ranks, each element by one rank (a reduce-scatter and an all-gather over the same parts), so their bits
 * depend neither on the transport nor on which rank comes first.
 *
 * A call fails on all ranks once one of them has called abort(), with that rank's sentence; it never waits for a rank
 * that has ended. One that hangs is waited for until `timeout`: then the call fails on all others, with a sentence that
 * names the call and the ranks that have not come, and so does every call behind it. */
#ifndef LOOM_COMM_H
#define LOOM_COMM_H

#include "kernels/backend.h"

/* The part [first, first + count) of `total` things that is a rank's. Parts differ by one thing at most. */
typedef struct
{
  int64_t first, count;
} LoomCommPart;

static inline LoomCommPart
loom_comm_part (int64_t total, int rank, int size)
{
  int64_t first = total / size * rank + total % size * rank / size;
  int64_t end = total / size * (rank + 1) + total % size * (rank + 1) / size;

  return (LoomCommPart){ first, end - first };
}

#define LOOM_COMM_TAGS 32768 /* what every MPI has */

typedef struct LoomComm LoomComm;
struct LoomComm
{
  int rank, size;
  int local_rank, local_size; /* among those on this machine */
  int sharing;      /* of those on this machine, so many may use processors that this one may use, itself included */
  const char *name; /* "threads", "mpi" */
  char library[64]; /* "Open MPI v4.1.4" of "mpi"; else empty */
  double timeout;   /* seconds that a call waits for the other ranks; 0: for ever. The same on all of them */
  int exit_status;  /* that processes have which abort() ends, where ranks are processes; 0: 3 */
  bool timed_out;   /* a call of this rank has ended so, and rank 0, which would say it, is not there */

  /* to[i] = op over all ranks of from[i]; to may be from. Types are f64, f32, f16, bf16, i64 and i32; 16-bit floats are
   * reduced in f32 and rounded once. */
  LoomStatus (*all_reduce) (LoomComm *self, const void *from, void *to, int64_t count, LoomDType dtype, LoomReduceOp op,
                            LoomMessage *message);
  /* from has a part for each rank, one behind the other, of counts[rank] elements, the same list on every rank; to
   * receives the reduction of this rank's part, with the bits that all_reduce gives it. to may be that part of from. */
  LoomStatus (*reduce_scatter) (LoomComm *self, const void *from, void *to, const int64_t *counts, LoomDType dtype,
                                LoomReduceOp op, LoomMessage *message);
  /* to receives the ranks' parts one behind the other; bytes[rank] is the size of each rank's, the same list on every
   * rank. from may be the rank's own part of to. */
  LoomStatus (*all_gather) (LoomComm *self, const void *from, void *to, const int64_t *bytes, LoomMessage *message);
  /* What `root` has reaches all. */
  LoomStatus (*broadcast) (LoomComm *self, void *data, int64_t bytes, int root, LoomMessage *message);
  /* Gives bytes to another rank, which takes them by receive() with the same tag, 0 … LOOM_COMM_TAGS - 1. Returns as
   * soon as data may be overwritten and never waits for the other rank: an order of calls in which every receive()
   * comes after its send() in time has no deadlock, however large the messages are. */
  LoomStatus (*send) (LoomComm *self, const void *data, int64_t bytes, int to, int tag, LoomMessage *message);
  /* Waits for what a rank sends with this tag; of several messages, for the first one. */
  LoomStatus (*receive) (LoomComm *self, void *data, int64_t bytes, int from, int tag, LoomMessage *message);
  /* Waits for a message with this tag, whosever it is: *from is the rank of the one that came first, which receive()
   * then takes. come[rank] says of whom none is waited for, as a time-out's sentence wants to know. */
  LoomStatus (*await) (LoomComm *self, int tag, const bool *come, int *from, LoomMessage *message);
  /* Optional: what is called between group (true) and group (false) goes as one. */
  LoomStatus (*group) (LoomComm *self, bool begins, LoomMessage *message);
  /* Returns when every rank has called it. */
  LoomStatus (*barrier) (LoomComm *self, LoomMessage *message);
  /* A communicator of the ranks that give the same colour, ordered by key, then by rank, as MPI_Comm_split makes one;
   * all ranks call it together. It has this one's time-out, and is to be freed before this one; what ends one of them
   * ends all that came of one another, and names ranks by their numbers in the first one. */
  LoomStatus (*split) (LoomComm *self, int color, int key, LoomComm **part, LoomMessage *message);
  /* Ends every call of every rank, those that wait already among them, with this sentence. May be called from any
   * thread. */
  void (*abort) (LoomComm *self, const char *why);
  /* Whether every call fails from here on, on every rank: one has aborted, or has not come in time. A call that failed
   * without that has failed on this rank alone. May be called from any thread. */
  bool (*has_ended) (LoomComm *self);
  void (*free) (LoomComm *self);
};

/* The other symbol of a back end's module, where it has one: makes the communicator of the same ranks for what lies in
 * a device's memory (NCCL's). Its calls are enqueued on its stream, and sums are made in the library's order; it has no
 * await and split. A send waits on its stream until the other rank has come to its receive, which takes what that rank
 * sends next, whatever the tag; so the calls of all ranks have to be parts of one order, but for those of one group,
 * within which order does not matter. All ranks call it together, each with a device of its own: UNSUPPORTED, on all of
 * them, where one has no such library or two have the same device. It is used while `ranks` lives, and freed before the
 * device closes; a rank that is gone shows where the host waits for the device, or, with
 * no time-out, in the first send or receive of a pair, where NCCL connects the two. */
typedef LoomStatus (*LoomDeviceCommEntry) (LoomDevice *device, LoomStream *stream, LoomComm *ranks, LoomComm **comm,
                                           LoomMessage *message);
#define LOOM_DEVICE_COMM_ENTRY "loom_device_comm_new"

/* The one symbol of the module that has MPI: the ranks that mpirun or srun has started, of which this process is one.
 */
typedef LoomStatus (*LoomCommEntry) (LoomComm **comm, LoomMessage *message);
#define LOOM_COMM_ENTRY "loom_comm_mpi_new"

/* The ranks of one process, a thread each: fills comm[0 … size-1], which belong to the threads that use them. The last
 * one that is freed frees what they share. */
LoomStatus loom_comm_threads_new (int size, LoomComm **comm, LoomMessage *message);

/* What the ranks along an axis of a mesh have parts of: samples, layers, or weights. Ranks that differ in the last axis
 * alone are neighbours, since those exchange most. */
typedef enum
{
  LOOM_MESH_DATA,
  LOOM_MESH_PIPELINE,
  LOOM_MESH_TENSOR,
  LOOM_MESH_AXES
} LoomMeshAxis;

/* The sentence of a call that has timed out: come[rank] says who has come. */
void loom_comm_say_missing (LoomMessage *message, const char *call, const bool *come, int size, double timeout);

/* to[i] = op over k of from[k][i], in the order of k. to may be one of from. For communicators. */
void loom_comm_reduce (void *to, const void *const *from, int n, int64_t count, LoomDType dtype, LoomReduceOp op);

#endif
