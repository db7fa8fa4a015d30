/* Collectives on GPU memory by NCCL, with one NCCL communicator for each device and communicator of the ranks.
 *
 * A reduce-scatter or an all-gather of NCCL has equal shards. If the ranks' shards differ, each is a reduction to or a
 * broadcast from its rank, all in one group, which NCCL launches at once. */
#include "kernels/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/cuda/cuda-comm.h"
#include "kernels/cuda/cuda-nccl.h"

struct CudaComm
{
  LoomComm base;
  LoomDevice *device;
  LoomStream *stream;
  LoomComm *ranks; /* the communicator on the host */
  const CudaNccl *nccl;
  ncclComm_t handle;
  char name[32];
  CudaComm *next; /* of the same device */
};

static LoomStatus
check (const CudaNccl *nccl, ncclResult_t result, const char *what, LoomMessage *message)
{
  if (result == ncclSuccess || result == ncclInProgress)
    return LOOM_STATUS_OK;
  return cuda_library_check (result == ncclUnhandledCudaError ? LOOM_STATUS_DEVICE_LOST : LOOM_STATUS_DEVICE, what,
                             nccl->error_string (result), message);
}

/* After an abort NCCL must not be called. */
static LoomStatus
fail_aborted (LoomMessage *message)
{
  return cuda_fail (message, LOOM_STATUS_DEVICE, "the ranks' exchanges have been aborted");
}

static bool
type_of (LoomDType dtype, ncclDataType_t *type)
{
  switch (dtype)
    {
    case LOOM_F64:
      *type = ncclFloat64;
      return true;
    case LOOM_F32:
      *type = ncclFloat32;
      return true;
    case LOOM_F16:
      *type = ncclFloat16;
      return true;
    case LOOM_BF16:
      *type = ncclBfloat16;
      return true;
    case LOOM_I64:
      *type = ncclInt64;
      return true;
    case LOOM_I32:
      *type = ncclInt32;
      return true;
    default:
      return false;
    }
}

static ncclRedOp_t
op_of (LoomReduceOp op)
{
  switch (op)
    {
    case LOOM_REDUCE_MAX:
      return ncclMax;
    case LOOM_REDUCE_MIN:
      return ncclMin;
    case LOOM_REDUCE_PROD:
      return ncclProd;
    case LOOM_REDUCE_SUM:
    default:
      return ncclSum;
    }
}

static LoomStatus
no_type (LoomDType dtype, LoomMessage *message)
{
  return cuda_fail (message, LOOM_STATUS_UNSUPPORTED, "NCCL does not reduce %s", loom_dtype_name (dtype));
}

static LoomStatus
all_reduce (LoomComm *self, const void *from, void *to, int64_t count, LoomDType dtype, LoomReduceOp op,
            LoomMessage *message)
{
  CudaComm *c = (CudaComm *)self;
  ncclDataType_t type;

  if (c->handle == NULL)
    return fail_aborted (message);
  if (!type_of (dtype, &type))
    return no_type (dtype, message);
  cuda_use (c->device);
  return check (
      c->nccl,
      c->nccl->all_reduce (from, to, (size_t)count, type, op_of (op), c->handle, cuda_stream (c->device, c->stream)),
      "an all-reduce of the ranks", message);
}

static bool
all_equal (const CudaComm *c, const int64_t *n)
{
  for (int r = 1; r < c->ranks->size; r++)
    if (n[r] != n[0])
      return false;
  return true;
}

static LoomStatus
reduce_scatter (LoomComm *self, const void *from, void *to, const int64_t *counts, LoomDType dtype, LoomReduceOp op,
                LoomMessage *message)
{
  CudaComm *c = (CudaComm *)self;
  cudaStream_t handle = cuda_stream (c->device, c->stream);
  const char *part = from;
  ncclDataType_t type;
  ncclResult_t result;

  if (c->handle == NULL)
    return fail_aborted (message);
  if (!type_of (dtype, &type))
    return no_type (dtype, message);
  cuda_use (c->device);
  if (all_equal (c, counts))
    result = c->nccl->reduce_scatter (from, to, (size_t)counts[0], type, op_of (op), c->handle, handle);
  else
    {
      ncclResult_t over;

      result = c->nccl->group_start ();
      for (int r = 0; r < c->ranks->size && result == ncclSuccess;
           part += (size_t)counts[r] * loom_dtype_size (dtype), r++)
        if (counts[r] > 0)
          result = c->nccl->reduce (part, r == c->ranks->rank ? to : NULL, (size_t)counts[r], type, op_of (op), r,
                                    c->handle, handle);
      over = c->nccl->group_end ();
      result = result == ncclSuccess ? over : result;
    }
  return check (c->nccl, result, "a reduce-scatter of the ranks", message);
}

static LoomStatus
all_gather (LoomComm *self, const void *from, void *to, const int64_t *bytes, LoomMessage *message)
{
  CudaComm *c = (CudaComm *)self;
  cudaStream_t handle = cuda_stream (c->device, c->stream);
  char *part = to;
  ncclResult_t result;

  if (c->handle == NULL)
    return fail_aborted (message);
  cuda_use (c->device);
  if (all_equal (c, bytes))
    result = c->nccl->all_gather (from, to, (size_t)bytes[0], ncclUint8, c->handle, handle);
  else
    {
      ncclResult_t over;

      result = c->nccl->group_start ();
      for (int r = 0; r < c->ranks->size && result == ncclSuccess; part += bytes[r], r++)
        if (bytes[r] > 0)
          result = c->nccl->broadcast (r == c->ranks->rank ? from : part, part, (size_t)bytes[r], ncclUint8, r,
                                       c->handle, handle);
      over = c->nccl->group_end ();
      result = result == ncclSuccess ? over : result;
    }
  return check (c->nccl, result, "an all-gather of the ranks", message);
}

static LoomStatus
broadcast (LoomComm *self, void *data, int64_t bytes, int root, LoomMessage *message)
{
  CudaComm *c = (CudaComm *)self;

  if (c->handle == NULL)
    return fail_aborted (message);
  cuda_use (c->device);
  return check (
      c->nccl,
      c->nccl->broadcast (data, data, (size_t)bytes, ncclUint8, root, c->handle, cuda_stream (c->device, c->stream)),
      "a broadcast of the ranks", message);
}

static LoomStatus
send_to (LoomComm *self, const void *data, int64_t bytes, int to, int tag, LoomMessage *message)
{
  CudaComm *c = (CudaComm *)self;

  (void)tag;
  if (c->handle == NULL)
    return fail_aborted (message);
  cuda_use (c->device);
  return check (c->nccl,
                c->nccl->send (data, (size_t)bytes, ncclUint8, to, c->handle, cuda_stream (c->device, c->stream)),
                "sending to another rank", message);
}

static LoomStatus
receive_from (LoomComm *self, void *data, int64_t bytes, int from, int tag, LoomMessage *message)
{
  CudaComm *c = (CudaComm *)self;

  (void)tag;
  if (c->handle == NULL)
    return fail_aborted (message);
  cuda_use (c->device);
  return check (c->nccl,
                c->nccl->receive (data, (size_t)bytes, ncclUint8, from, c->handle, cuda_stream (c->device, c->stream)),
                "receiving from another rank", message);
}

static LoomStatus
group (LoomComm *self, bool begins, LoomMessage *message)
{
  CudaComm *c = (CudaComm *)self;

  return check (c->nccl, begins ? c->nccl->group_start () : c->nccl->group_end (), "an exchange of the ranks", message);
}

static LoomStatus
barrier (LoomComm *self, LoomMessage *message)
{
  CudaComm *c = (CudaComm *)self;

  return c->ranks->barrier (c->ranks, message);
}

static void
end_all (LoomComm *self, const char *why)
{
  CudaComm *c = (CudaComm *)self;

  c->ranks->abort (c->ranks, why);
}

static bool
has_ended (LoomComm *self)
{
  CudaComm *c = (CudaComm *)self;

  return c->ranks->has_ended (c->ranks);
}

/* Aborts the work in progress: another rank may never reach it. */
static void
abort_one (CudaComm *c)
{
  if (c->handle != NULL)
    c->nccl->abort (c->handle);
  c->handle = NULL;
}

static void
comm_free (LoomComm *self)
{
  CudaComm *c = (CudaComm *)self;

  pthread_mutex_lock (&c->device->lock);
  for (CudaComm **at = &c->device->comms; *at != NULL; at = &(*at)->next)
    if (*at == c)
      {
        *at = c->next;
        break;
      }
  pthread_mutex_unlock (&c->device->lock);
  cuda_use (c->device);
  if (c->handle != NULL)
    c->nccl->destroy (c->handle);
  free (c);
}

/* ---- waiting ---------------------------------------------------------------- */

static double
now (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Checks for an error since the last call of NCCL: a rank or a link is lost, or a rank has aborted, for which the
 * host's communicator has the sentence. */
static LoomStatus
check_errors (CudaComm *c, LoomMessage *message)
{
  ncclResult_t error = ncclSuccess;
  LoomStatus status;

  if (c->ranks->has_ended (c->ranks))
    return c->ranks->barrier (c->ranks, message);
  status = check (c->nccl, c->nccl->async_error (c->handle, &error), "an exchange of the ranks", message);
  return status == LOOM_STATUS_OK ? check (c->nccl, error, "an exchange of the ranks", message) : status;
}

/* Checks a device that has been waited for `seconds`, which include its own computation. */
static LoomStatus
check_timeout (CudaComm *c, double seconds, LoomMessage *message)
{
  double most = c->ranks->timeout;
  LoomStatus status = check_errors (c, message);

  if (status == LOOM_STATUS_OK && most > 0 && seconds > most)
    status = cuda_fail (message, LOOM_STATUS_DEVICE,
                        "the ranks' exchange by NCCL has not ended within %g seconds: a rank hangs or is lost, or a "
                        "step takes longer",
                        most);
  return status;
}

/* The device, then those that it exchanges bytes with; NULL if there is none with this number. */
static LoomDevice *
peer_or_self (LoomDevice *device, int i)
{
  return i == 0 ? device : device->peers[i - 1];
}

#define N_WAITED (CUDA_MOST_OTHERS + 2)

bool
cuda_comm_may_block (LoomDevice *device)
{
  for (int i = 0; i < N_WAITED; i++)
    if (peer_or_self (device, i) != NULL && peer_or_self (device, i)->comms != NULL)
      return true;
  return false;
}

static LoomStatus
check_all (LoomDevice *device, double seconds, LoomMessage *message)
{
  LoomStatus status = LOOM_STATUS_OK;

  pthread_mutex_lock (&device->lock);
  for (CudaComm *c = device->comms; c != NULL && status == LOOM_STATUS_OK; c = c->next)
    if (c->handle != NULL)
      status = check_timeout (c, seconds, message);
  pthread_mutex_unlock (&device->lock);
  return status;
}

/* Each line of a mesh has a communicator of its own. */
static void
abort_all (LoomDevice *device)
{
  pthread_mutex_lock (&device->lock);
  for (CudaComm *c = device->comms; c != NULL; c = c->next)
    abort_one (c);
  pthread_mutex_unlock (&device->lock);
}

LoomStatus
cuda_comm_wait (LoomDevice *device, cudaError_t (*query) (void *of), void *of, LoomMessage *message)
{
  const struct timespec rest = { .tv_nsec = 20000 };
  double begin = now ();
  cudaError_t error;

  while ((error = query (of)) == cudaErrorNotReady)
    {
      LoomStatus status = LOOM_STATUS_OK;

      for (int i = 0; i < N_WAITED && status == LOOM_STATUS_OK; i++)
        if (peer_or_self (device, i) != NULL)
          status = check_all (peer_or_self (device, i), now () - begin, message);
      for (int i = 0; i < N_WAITED && status != LOOM_STATUS_OK; i++)
        if (peer_or_self (device, i) != NULL)
          abort_all (peer_or_self (device, i));
      if (status != LOOM_STATUS_OK)
        return status;
      nanosleep (&rest, NULL);
    }
  return cuda_check (error, "waiting for the CUDA device", message);
}

/* ---- making a communicator --------------------------------------------------- */

/* Sends rank 0's id of the new communicator to the others through the host's communicator. A failure to make the id is
 * sent as well, so that no rank waits for it. */
static LoomStatus
share_id (const CudaNccl *nccl, LoomComm *ranks, ncclUniqueId *id, LoomMessage *message)
{
  struct
  {
    int made;
    ncclUniqueId id;
  } letter = { 0 };
  LoomStatus status = LOOM_STATUS_OK;

  if (ranks->rank == 0)
    {
      ncclResult_t result = nccl->get_unique_id (&letter.id);

      letter.made = result == ncclSuccess;
      status = check (nccl, result, "beginning to exchange values by NCCL", message);
    }
  if (status == LOOM_STATUS_OK || ranks->rank == 0)
    {
      LoomStatus sent = ranks->broadcast (ranks, &letter, sizeof letter, 0, message);

      status = status == LOOM_STATUS_OK ? sent : status;
    }
  if (status == LOOM_STATUS_OK && !letter.made)
    status = cuda_fail (message, LOOM_STATUS_DEVICE, "rank 0 cannot initialise NCCL");
  *id = letter.id;
  return status;
}

static LoomStatus
refuse_shared (LoomMessage *message)
{
  return cuda_fail (message, LOOM_STATUS_UNSUPPORTED,
                    "NCCL refuses the ranks, because two of them have the same GPU. Start at most as many ranks on a "
                    "machine as it has GPUs");
}

/* Checks that each rank has a GPU of its own: NCCL reports a shared one only to the two ranks that share it. uuids and
 * bytes have an element for each rank. */
static LoomStatus
compare_gpus (const LoomDevice *device, LoomComm *ranks, char (*uuids)[sizeof device->uuid], int64_t *bytes,
              LoomMessage *message)
{
  LoomStatus status;

  for (int k = 0; k < ranks->size; k++)
    bytes[k] = sizeof device->uuid;
  status = ranks->all_gather (ranks, device->uuid, uuids, bytes, message);
  for (int k = 0; k < ranks->size && status == LOOM_STATUS_OK; k++)
    for (int other = 0; other < k && status == LOOM_STATUS_OK; other++)
      if (memcmp (uuids[k], uuids[other], sizeof device->uuid) == 0)
        status = refuse_shared (message);
  return status;
}

/* Checks that all ranks have NCCL, and GPUs of their own: ranks that have it must not wait for one without it. A rank
 * without NCCL keeps its own sentence with the reason. */
static LoomStatus
agree (const LoomDevice *device, LoomComm *ranks, bool have, bool room, LoomMessage *message)
{
  char (*uuids)[sizeof device->uuid] = calloc ((size_t)ranks->size, sizeof *uuids);
  int64_t *bytes = calloc ((size_t)ranks->size, sizeof *bytes);
  const bool has_room = room && uuids != NULL && bytes != NULL;
  int32_t all = have && has_room;
  LoomMessage other = { "" };
  LoomStatus status = ranks->all_reduce (ranks, &all, &all, 1, LOOM_I32, LOOM_REDUCE_MIN, have ? message : &other);

  if (!have)
    status = LOOM_STATUS_UNSUPPORTED;
  else if (!has_room)
    status = cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a communicator");
  else if (status == LOOM_STATUS_OK && !all)
    status = cuda_fail (message, LOOM_STATUS_UNSUPPORTED, "another rank lacks NCCL or memory for it");
  else if (status == LOOM_STATUS_OK)
    status = compare_gpus (device, ranks, uuids, bytes, message);
  free (uuids);
  free (bytes);
  return status;
}

LoomStatus
cuda_comm_new (LoomDevice *device, LoomStream *stream, LoomComm *ranks, LoomComm **comm, LoomMessage *message)
{
  const CudaNccl *nccl = cuda_nccl (message);
  CudaComm *c = calloc (1, sizeof *c);
  LoomStatus status = agree (device, ranks, nccl != NULL, c != NULL, message);
  ncclUniqueId id;
  int version = 0;

  *comm = NULL;
  if (status != LOOM_STATUS_OK)
    {
      free (c);
      return status;
    }
  status = share_id (nccl, ranks, &id, message);
  cuda_use (device);
  if (status == LOOM_STATUS_OK)
    {
      ncclResult_t result = nccl->init_rank (&c->handle, ranks->size, id, ranks->rank);

      status = check (nccl, result, "beginning to exchange values by NCCL", message);
      if (result == ncclInvalidUsage)
        status = refuse_shared (message);
    }
  if (status != LOOM_STATUS_OK)
    {
      free (c);
      return status;
    }
  nccl->get_version (&version);
  snprintf (c->name, sizeof c->name, "NCCL %d.%d.%d", version / 10000, version / 100 % 100, version % 100);
  c->base = (LoomComm){ .rank = ranks->rank,
                        .size = ranks->size,
                        .local_rank = ranks->local_rank,
                        .local_size = ranks->local_size,
                        .cpu_sharers = ranks->cpu_sharers,
                        .name = c->name,
                        .timeout = ranks->timeout,
                        .all_reduce = all_reduce,
                        .reduce_scatter = reduce_scatter,
                        .all_gather = all_gather,
                        .broadcast = broadcast,
                        .send = send_to,
                        .receive = receive_from,
                        .group = group,
                        .barrier = barrier,
                        .abort = end_all,
                        .has_ended = has_ended,
                        .free = comm_free };
  c->device = device;
  c->stream = stream;
  c->ranks = ranks;
  c->nccl = nccl;
  pthread_mutex_lock (&device->lock);
  c->next = device->comms;
  device->comms = c;
  pthread_mutex_unlock (&device->lock);
  *comm = &c->base;
  return LOOM_STATUS_OK;
}
