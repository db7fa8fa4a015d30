/* NCCL between emulated GPUs, of one process or of several.
 *
 * Ranks share a piece of memory that the id of their communicator names, with a slot for each rank, and a letterbox for
 * each pair. A send passes its data through a letterbox in chunks and completes when all of it has been taken: a send
 * without a receive blocks its stream, so an order of calls that deadlocks in NCCL deadlocks here. Sends and receives
 * of a group are one piece of work, in which all progress together. A collective runs in chunks: each rank fills its
 * slot, all meet, each reads what it needs, and all meet again. It is work on a stream like any other; a rank that
 * waits in it releases the GPU, since the other may be a thread of this process. Sums are in the order of ranks. Like
 * NCCL, it refuses two ranks on one GPU. */
#include <algorithm>
#include <atomic>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

#include "kernels/cuda/cuda-nccl.h"
extern "C"
{
#include "kernels/comm.h"
}
#include "tests/cuda/emulator/fakes.h"
#include "tests/cuda/emulator/stream.h"

#define CHUNK   (256 * 1024) /* bytes of a slot */
#define LETTER  (32 * 1024)  /* bytes of a letterbox */
#define MOST    64           /* ranks */
#define SLOTS   4096         /* offset of the first one */
#define VERSION 22809

namespace
{
/* From one rank to another: bytes of the chunk in it, plus 1; 0: it is free. */
struct Letterbox
{
  std::atomic<uint32_t> full;
  char chunk[LETTER];
};

struct Shared
{
  std::atomic<uint32_t> come, meeting, gone;
  std::atomic<int32_t> gpu[MOST]; /* of each rank, from 1 on */
};
static_assert (sizeof (Shared) <= SLOTS);
}

struct ncclComm
{
  int rank, size;
  Shared *shared;
  size_t bytes;
  std::atomic<bool> over;
  std::thread goes_on;
  int gpu;
};

namespace emulated
{
extern Turn device;
int current_gpu (void);

namespace
{
thread_local int groups;

/* A send or a receive, and the number of bytes done. */
struct Transfer
{
  ncclComm *c;
  cudaStream_t stream;
  bool sends;
  char *data;
  size_t bytes, done;
  int peer;
  bool begun, over;
};
thread_local std::vector<Transfer> together; /* of the open group */

char *
slot (const ncclComm *c, int rank)
{
  return (char *)c->shared + SLOTS + (size_t)rank * CHUNK;
}

Letterbox *
letterbox (const ncclComm *c, int from, int to)
{
  return (Letterbox *)((char *)c->shared + SLOTS + (size_t)c->size * CHUNK) + from * c->size + to;
}

/* FALSE once a rank has aborted. `holds`: this thread has the GPU. */
bool
meet (ncclComm *c, bool holds)
{
  Shared *s = c->shared;
  const uint32_t meeting = s->meeting;

  if (s->come.fetch_add (1) + 1 == (uint32_t)c->size)
    {
      s->come = 0;
      s->meeting++;
      return s->gone == 0;
    }
  const unsigned depth = holds ? device.leave () : 0;

  while (s->meeting == meeting && s->gone == 0)
    rest ();
  if (holds)
    device.take (depth);
  return s->gone == 0;
}

bool
type_of (ncclDataType_t from, LoomDType *to)
{
  switch (from)
    {
    case ncclFloat64:
      *to = LOOM_F64;
      return true;
    case ncclFloat32:
      *to = LOOM_F32;
      return true;
    case ncclFloat16:
      *to = LOOM_F16;
      return true;
    case ncclBfloat16:
      *to = LOOM_BF16;
      return true;
    case ncclInt64:
      *to = LOOM_I64;
      return true;
    case ncclInt32:
      *to = LOOM_I32;
      return true;
    case ncclUint8:
      *to = LOOM_U8;
      return true;
    default:
      return false;
    }
}

LoomReduceOp
op_of (ncclRedOp_t op)
{
  return op == ncclSum    ? LOOM_REDUCE_SUM
         : op == ncclProd ? LOOM_REDUCE_PROD
         : op == ncclMax  ? LOOM_REDUCE_MAX
                          : LOOM_REDUCE_MIN;
}

/* to = op over all ranks of from, on the ranks with a `to`. */
void
reduce_all (ncclComm *c, const char *from, char *to, size_t count, LoomDType dtype, LoomReduceOp op)
{
  const size_t element = loom_dtype_size (dtype), most = CHUNK / element;
  const void *slots[MOST];

  for (int r = 0; r < c->size; r++)
    slots[r] = slot (c, r);
  for (size_t done = 0; done < count; done += most)
    {
      const size_t n = count - done < most ? count - done : most;

      memcpy (slot (c, c->rank), from + done * element, n * element);
      if (!meet (c, true))
        return;
      if (to != NULL)
        loom_comm_reduce (to + done * element, slots, c->size, (int64_t)n, dtype, op);
      if (!meet (c, true))
        return;
    }
}

void
broadcast_all (ncclComm *c, const char *from, char *to, size_t bytes, int root)
{
  for (size_t done = 0; done < bytes; done += CHUNK)
    {
      const size_t n = bytes - done < CHUNK ? bytes - done : CHUNK;

      if (c->rank == root)
        memcpy (slot (c, root), from + done, n);
      if (!meet (c, true))
        return;
      memcpy (to + done, slot (c, root), n);
      if (!meet (c, true))
        return;
    }
}

ncclResult_t
put (cudaStream_t stream, const char *name, const void *from, size_t from_bytes, void *to, size_t to_bytes,
     std::function<void ()> run)
{
  if ((from_bytes > 0 && !device_sees (from, from_bytes)) || (to_bytes > 0 && !device_sees (to, to_bytes)))
    {
      found ("%s was given memory that is not the GPU's, or not as much as it reads or writes", name);
      return ncclInvalidArgument;
    }
  return enqueue (stream, { name, std::move (run), { from, to }, true }) == cudaSuccess ? ncclSuccess
                                                                                        : ncclUnhandledCudaError;
}

/* ---- communicators --------------------------------------------------------- */

ncclResult_t
get_version (int *version)
{
  *version = VERSION;
  return ncclSuccess;
}

ncclResult_t
get_unique_id (ncclUniqueId *id)
{
  static std::atomic<unsigned> n;

  memset (id, 0, sizeof *id);
  snprintf (id->internal, sizeof id->internal, "/gradloom-nccl-%d-%u", (int)getpid (), n++);
  return ncclSuccess;
}

/* A GPU works while its host waits for something else. Without this thread a rank's host would have to wait for its
 * stream before the others' collectives could complete. */
void
keep_going (ncclComm *c, int gpu)
{
  while (!c->over)
    if (!go_on (gpu))
      rest ();
}

ncclResult_t
init_rank (ncclComm_t *comm, int size, ncclUniqueId id, int rank)
{
  const size_t bytes = SLOTS + (size_t)size * CHUNK + (size_t)size * (size_t)size * sizeof (Letterbox);
  int file;
  void *memory;

  *comm = NULL;
  if (fails ("nccl"))
    return ncclSystemError;
  if (size > MOST || rank < 0 || rank >= size)
    return ncclInvalidArgument;
  file = shm_open (id.internal, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return ncclSystemError;
  memory = ftruncate (file, (off_t)bytes) == 0 ? mmap (NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                                               : MAP_FAILED;
  close (file);
  if (memory == MAP_FAILED)
    return ncclSystemError;
  ncclComm *c = new ncclComm{ rank, size, (Shared *)memory, bytes, { false }, {}, 0 };
  const bool goes_on = (c->shared->gpu[rank] = visible ()[(size_t)current_gpu ()] + 1, meet (c, false));
  bool twice = false;

  for (int r = 0; r < size; r++)
    twice |= r != rank && c->shared->gpu[r] == c->shared->gpu[rank];
  if (rank == 0)
    shm_unlink (id.internal);
  if (!goes_on || twice)
    {
      munmap (memory, bytes);
      delete c;
      return twice ? ncclInvalidUsage : ncclRemoteError;
    }
  if (at_random ())
    {
      c->gpu = current_gpu ();
      keepers (c->gpu)++;
      c->goes_on = std::thread (keep_going, c, c->gpu);
    }
  *comm = c;
  return ncclSuccess;
}

ncclResult_t
async_error (ncclComm_t comm, ncclResult_t *error)
{
  *error = comm->shared->gone != 0 ? ncclRemoteError : ncclSuccess;
  return ncclSuccess;
}

void
stop (ncclComm_t comm)
{
  comm->over = true;
  if (!comm->goes_on.joinable ())
    return;
  comm->goes_on.join ();
  keepers (comm->gpu)--;
}

ncclResult_t
destroy (ncclComm_t comm)
{
  stop (comm);
  munmap (comm->shared, comm->bytes);
  delete comm;
  return ncclSuccess;
}

ncclResult_t
abort (ncclComm_t comm)
{
  comm->shared->gone = 1;
  /* Work that is still on streams reads the flag, and does nothing. */
  stop (comm);
  return ncclSuccess;
}

const char *
error_string (ncclResult_t result)
{
  switch (result)
    {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "internal error";
    }
}

/* ---- from one rank to another ----------------------------------------------- */

/* One step of a transfer; FALSE if it waits for the other rank. */
bool
send_some (Transfer *t)
{
  Letterbox *box = letterbox (t->c, t->c->rank, t->peer);
  const size_t n = std::min (t->bytes - t->done, (size_t)LETTER);

  if (box->full != 0)
    return false;
  if (t->begun && t->done == t->bytes)
    {
      t->over = true; /* the last chunk has been taken */
      return true;
    }
  if (n > 0)
    memcpy (box->chunk, t->data + t->done, n);
  t->begun = true;
  t->done += n;
  box->full = (uint32_t)n + 1;
  return true;
}

bool
receive_some (Transfer *t)
{
  Letterbox *box = letterbox (t->c, t->peer, t->c->rank);
  const uint32_t full = box->full;

  if (full == 0)
    return false;
  if (full - 1 > t->bytes - t->done || (full - 1 == 0 && t->bytes > 0))
    found ("ncclRecv of rank %d takes %zu bytes, and rank %d sends another number of them", t->c->rank, t->bytes,
           t->peer);
  if (full > 1)
    memcpy (t->data + t->done, box->chunk, full - 1);
  t->done += full - 1;
  box->full = 0;
  t->over = t->done == t->bytes;
  return true;
}

/* Transfers of a pair of ranks run in the order of their calls; different pairs do not wait for each other. */
void
transfer_all (std::vector<Transfer> all)
{
  for (;;)
    {
      bool over = true, moved = false;

      for (size_t i = 0; i < all.size (); i++)
        {
          bool first = !all[i].over;

          for (size_t k = 0; k < i && first; k++)
            first = all[k].over || all[k].sends != all[i].sends || all[k].peer != all[i].peer;
          if (first)
            moved |= all[i].sends ? send_some (&all[i]) : receive_some (&all[i]);
          over &= all[i].over;
        }
      if (over || all[0].c->shared->gone != 0)
        return;
      if (moved)
        continue;
      const unsigned depth = device.leave ();

      rest ();
      device.take (depth);
    }
}

/* Enqueues the transfers of the group as one piece of work of its communicator and stream. */
ncclResult_t
begin_transfers (void)
{
  std::vector<Transfer> all;

  all.swap (together);
  while (!all.empty ())
    {
      const Transfer first = all[0];
      std::vector<Transfer> own;
      std::vector<const void *> uses;

      for (size_t i = 0; i < all.size ();)
        if (all[i].c == first.c && all[i].stream == first.stream)
          {
            own.push_back (all[i]);
            uses.push_back (all[i].data);
            all.erase (all.begin () + (long)i);
          }
        else
          i++;
      if (enqueue (first.stream, { first.sends ? "ncclSend" : "ncclRecv", [own] { transfer_all (own); }, uses, true })
          != cudaSuccess)
        return ncclUnhandledCudaError;
    }
  return ncclSuccess;
}

ncclResult_t
transfer (ncclComm *c, cudaStream_t stream, bool sends, const void *data, size_t count, ncclDataType_t type, int peer)
{
  LoomDType dtype;

  if (!type_of (type, &dtype) || peer < 0 || peer >= c->size || peer == c->rank)
    return ncclInvalidArgument;
  const size_t bytes = count * loom_dtype_size (dtype);

  if (bytes > 0 && !device_sees (data, bytes))
    {
      found ("%s was given memory that is not the GPU's, or not as much as it reads or writes",
             sends ? "ncclSend" : "ncclRecv");
      return ncclInvalidArgument;
    }
  together.push_back ({ c, stream, sends, (char *)data, bytes, 0, peer, false, false });
  return groups > 0 ? ncclSuccess : begin_transfers ();
}

ncclResult_t
send (const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t c, cudaStream_t stream)
{
  return transfer (c, stream, true, from, count, type, peer);
}

ncclResult_t
receive (void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t c, cudaStream_t stream)
{
  return transfer (c, stream, false, to, count, type, peer);
}

ncclResult_t
group_start (void)
{
  groups++;
  return ncclSuccess;
}

ncclResult_t
group_end (void)
{
  if (groups == 0)
    return ncclInvalidUsage;
  groups--;
  return groups == 0 ? begin_transfers () : ncclSuccess;
}

/* ---- collectives ----------------------------------------------------------- */

ncclResult_t
all_reduce (const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t c,
            cudaStream_t stream)
{
  LoomDType dtype;

  if (!type_of (type, &dtype))
    return ncclInvalidArgument;
  return put (stream, "ncclAllReduce", from, count * loom_dtype_size (dtype), to, count * loom_dtype_size (dtype),
              [=] { reduce_all (c, (const char *)from, (char *)to, count, dtype, op_of (op)); });
}

ncclResult_t
reduce (const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t c,
        cudaStream_t stream)
{
  LoomDType dtype;

  if (!type_of (type, &dtype) || root < 0 || root >= c->size)
    return ncclInvalidArgument;
  to = c->rank == root ? to : NULL;
  return put (stream, "ncclReduce", from, count * loom_dtype_size (dtype), to,
              to != NULL ? count * loom_dtype_size (dtype) : 0,
              [=] { reduce_all (c, (const char *)from, (char *)to, count, dtype, op_of (op)); });
}

ncclResult_t
reduce_scatter (const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t c,
                cudaStream_t stream)
{
  LoomDType dtype;

  if (!type_of (type, &dtype))
    return ncclInvalidArgument;
  const size_t part = count * loom_dtype_size (dtype);

  return put (stream, "ncclReduceScatter", from, part * (size_t)c->size, to, part, [=] {
    for (int r = 0; r < c->size; r++)
      reduce_all (c, (const char *)from + part * (size_t)r, r == c->rank ? (char *)to : NULL, count, dtype, op_of (op));
  });
}

ncclResult_t
broadcast (const void *from, void *to, size_t count, ncclDataType_t type, int root, ncclComm_t c, cudaStream_t stream)
{
  LoomDType dtype;

  if (!type_of (type, &dtype) || root < 0 || root >= c->size)
    return ncclInvalidArgument;
  const size_t bytes = count * loom_dtype_size (dtype);

  return put (stream, "ncclBroadcast", c->rank == root ? from : to, bytes, to, bytes,
              [=] { broadcast_all (c, (const char *)from, (char *)to, bytes, root); });
}

ncclResult_t
all_gather (const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t c, cudaStream_t stream)
{
  LoomDType dtype;

  if (!type_of (type, &dtype))
    return ncclInvalidArgument;
  const size_t part = count * loom_dtype_size (dtype);

  return put (stream, "ncclAllGather", from, part, to, part * (size_t)c->size, [=] {
    for (int r = 0; r < c->size; r++)
      broadcast_all (c, (const char *)from, (char *)to + part * (size_t)r, part, r);
  });
}

const CudaNccl functions = {
  .get_version = get_version,
  .get_unique_id = get_unique_id,
  .init_rank = init_rank,
  .async_error = async_error,
  .abort = abort,
  .destroy = destroy,
  .error_string = error_string,
  .group_start = group_start,
  .group_end = group_end,
  .all_reduce = all_reduce,
  .reduce_scatter = reduce_scatter,
  .all_gather = all_gather,
  .reduce = reduce,
  .broadcast = broadcast,
  .send = send,
  .receive = receive,
};
}
}

/* Replaces cuda-nccl.c. GRADLOOM_EMULATOR_FAIL=nccl-missing:1 makes the library absent. */
extern "C" const CudaNccl *
cuda_nccl (LoomMessage *message)
{
  static const bool missing = emulated::fails ("nccl-missing");

  if (!missing)
    return &emulated::functions;
  snprintf (message->text, sizeof message->text, "NCCL is not installed");
  return NULL;
}
