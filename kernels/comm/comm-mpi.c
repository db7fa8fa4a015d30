/* The communicator of ranks that are processes, on one or several machines, over MPI. A module that is opened at run
 * time, so that a machine without MPI runs everything else.
 *
 * MPI transports the numbers and this file sums them: each rank receives the others' values of its shard and reduces
 * them in the order of ranks, so the bits are the same as with ranks that are threads. MPI_Allreduce may take any
 * order. */
#include "kernels/comm/comm-mpi.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL 4096 /* bytes up to which every rank receives all values and reduces them itself, in one exchange */

LoomStatus
mpi_failed (int code, LoomMessage *message)
{
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;

  MPI_Error_string (code, text, &length);
  snprintf (message->text, sizeof message->text, "The exchange between ranks has failed: %.400s", text);
  return LOOM_STATUS_DEVICE;
}

#define TRY(call)                                                                                                      \
  do                                                                                                                   \
    {                                                                                                                  \
      int code_ = (call);                                                                                              \
      if (code_ != MPI_SUCCESS)                                                                                        \
        return mpi_failed (code_, message);                                                                            \
    }                                                                                                                  \
  while (0)

/* Calls a collective of MPI: the blocking one, or with a time-out the nonblocking one. */
#define EXCHANGE(waits, begins, ...)                                                                                   \
  do                                                                                                                   \
    {                                                                                                                  \
      MPI_Request request_;                                                                                            \
      LoomStatus status_;                                                                                              \
                                                                                                                       \
      if (m->base.timeout == 0)                                                                                        \
        {                                                                                                              \
          TRY (waits (__VA_ARGS__, m->comm));                                                                          \
          break;                                                                                                       \
        }                                                                                                              \
      TRY (begins (__VA_ARGS__, m->comm, &request_));                                                                  \
      status_ = mpi_wait (m, &request_, message);                                                                      \
      if (status_ != LOOM_STATUS_OK)                                                                                   \
        return status_;                                                                                                \
    }                                                                                                                  \
  while (0)

static LoomStatus
reserve_buffer (Mpi *m, size_t bytes, LoomMessage *message)
{
  void *buffer;

  if (bytes <= m->buffer_bytes)
    return LOOM_STATUS_OK;
  buffer = realloc (m->buffer, bytes);
  if (buffer == NULL)
    {
      snprintf (message->text, sizeof message->text, "out of memory: %zu bytes for values of other ranks", bytes);
      return LOOM_STATUS_OUT_OF_MEMORY;
    }
  m->buffer = buffer;
  m->buffer_bytes = bytes;
  return LOOM_STATUS_OK;
}

/* The rank's own values are not copied. */
static const void **
parts (Mpi *m, const void *own, size_t stride)
{
  for (int k = 0; k < m->base.size; k++)
    m->part[k] = k == m->base.rank ? own : m->buffer + (size_t)k * stride;
  return m->part;
}

static LoomStatus
reduce_small (Mpi *m, const void *from, void *to, int64_t count, LoomDType dtype, LoomReduceOp op, LoomMessage *message)
{
  size_t bytes = (size_t)count * loom_dtype_size (dtype);
  LoomStatus status = reserve_buffer (m, bytes * (size_t)m->base.size, message);

  if (status != LOOM_STATUS_OK)
    return status;
  EXCHANGE (MPI_Allgather, MPI_Iallgather, from, (int)bytes, MPI_BYTE, m->buffer, (int)bytes, MPI_BYTE);
  loom_comm_reduce (to, parts (m, m->buffer + (size_t)m->base.rank * bytes, bytes), m->base.size, count, dtype, op);
  return LOOM_STATUS_OK;
}

/* Reduces the rank's own shard of `from`, which has counts[rank] elements for each. All bytes fit an int, MPI's type of
 * counts. */
static LoomStatus
scatter_block (Mpi *m, const char *from, char *to, const int64_t *counts, LoomDType dtype, LoomReduceOp op,
               LoomMessage *message)
{
  size_t element = loom_dtype_size (dtype), at = 0, own_at = 0;
  size_t own_bytes = (size_t)counts[m->base.rank] * element;
  LoomStatus status = reserve_buffer (m, own_bytes * (size_t)m->base.size, message);

  if (status != LOOM_STATUS_OK)
    return status;
  for (int k = 0; k < m->base.size; k++)
    {
      size_t bytes = (size_t)counts[k] * element;

      if (k == m->base.rank)
        own_at = at;
      m->n_send[k] = k == m->base.rank ? 0 : (int)bytes;
      m->at_send[k] = (int)at;
      m->n_take[k] = k == m->base.rank ? 0 : (int)own_bytes;
      m->at_take[k] = (int)((size_t)k * own_bytes);
      at += bytes;
    }
  EXCHANGE (MPI_Alltoallv, MPI_Ialltoallv, from, m->n_send, m->at_send, MPI_BYTE, m->buffer, m->n_take, m->at_take,
            MPI_BYTE);
  loom_comm_reduce (to, parts (m, from + own_at, own_bytes), m->base.size, counts[m->base.rank], dtype, op);
  return LOOM_STATUS_OK;
}

/* count is small enough for the bytes to fit an int. */
static LoomStatus
reduce_block (Mpi *m, const char *from, char *to, int64_t count, LoomDType dtype, LoomReduceOp op, LoomMessage *message)
{
  size_t element = loom_dtype_size (dtype);
  LoomCommShard own = loom_comm_shard (count, m->base.rank, m->base.size);
  LoomStatus status;

  for (int k = 0; k < m->base.size; k++)
    m->count[k] = loom_comm_shard (count, k, m->base.size).count;
  status = scatter_block (m, from, to + (size_t)own.first * element, m->count, dtype, op, message);
  if (status != LOOM_STATUS_OK)
    return status;
  for (int k = 0; k < m->base.size; k++)
    {
      LoomCommShard part = loom_comm_shard (count, k, m->base.size);

      m->n_take[k] = (int)((size_t)part.count * element);
      m->at_take[k] = (int)((size_t)part.first * element);
    }
  EXCHANGE (MPI_Allgatherv, MPI_Iallgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, m->n_take, m->at_take, MPI_BYTE);
  return LOOM_STATUS_OK;
}

static LoomStatus
all_reduce (LoomComm *self, const void *from, void *to, int64_t count, LoomDType dtype, LoomReduceOp op,
            LoomMessage *message)
{
  const int64_t most = INT64_C (1) << 27;
  size_t element = loom_dtype_size (dtype);
  LoomStatus arrived = mpi_roll_call ((Mpi *)self, "all_reduce", message);

  if (arrived != LOOM_STATUS_OK)
    return arrived;
  if ((size_t)count * element <= SMALL)
    return reduce_small ((Mpi *)self, from, to, count, dtype, op, message);
  for (int64_t first = 0; first < count; first += most)
    {
      int64_t n = count - first < most ? count - first : most;
      LoomStatus status = reduce_block ((Mpi *)self, (const char *)from + (size_t)first * element,
                                        (char *)to + (size_t)first * element, n, dtype, op, message);

      if (status != LOOM_STATUS_OK)
        return status;
    }
  return LOOM_STATUS_OK;
}

static LoomStatus
too_large (LoomMessage *message)
{
  snprintf (message->text, sizeof message->text, "ranks exchange at most 2 GiB of a value at a time");
  return LOOM_STATUS_UNSUPPORTED;
}

static LoomStatus
reduce_scatter (LoomComm *self, const void *from, void *to, const int64_t *counts, LoomDType dtype, LoomReduceOp op,
                LoomMessage *message)
{
  int64_t all = 0;
  LoomStatus arrived = mpi_roll_call ((Mpi *)self, "reduce_scatter", message);

  if (arrived != LOOM_STATUS_OK)
    return arrived;
  for (int k = 0; k < self->size; k++)
    all += counts[k];
  if (all * (int64_t)loom_dtype_size (dtype) > INT32_MAX)
    return too_large (message);
  return scatter_block ((Mpi *)self, from, to, counts, dtype, op, message);
}

static LoomStatus
all_gather (LoomComm *self, const void *from, void *to, const int64_t *bytes, LoomMessage *message)
{
  Mpi *m = (Mpi *)self;
  int64_t at = 0;
  LoomStatus arrived = mpi_roll_call (m, "all_gather", message);

  if (arrived != LOOM_STATUS_OK)
    return arrived;
  for (int k = 0; k < self->size; at += bytes[k++])
    {
      m->n_take[k] = (int)bytes[k];
      m->at_take[k] = (int)at;
    }
  if (at > INT32_MAX)
    return too_large (message);
  if ((const char *)to + m->at_take[self->rank] == from)
    from = MPI_IN_PLACE;
  EXCHANGE (MPI_Allgatherv, MPI_Iallgatherv, from, (int)bytes[self->rank], MPI_BYTE, to, m->n_take, m->at_take,
            MPI_BYTE);
  return LOOM_STATUS_OK;
}

static LoomStatus
broadcast (LoomComm *self, void *data, int64_t bytes, int root, LoomMessage *message)
{
  Mpi *m = (Mpi *)self;
  LoomStatus arrived = mpi_roll_call (m, "broadcast", message);

  if (arrived != LOOM_STATUS_OK)
    return arrived;
  if (bytes > INT32_MAX)
    return too_large (message);
  EXCHANGE (MPI_Bcast, MPI_Ibcast, data, (int)bytes, MPI_BYTE, root);
  return LOOM_STATUS_OK;
}

/* Frees the messages that have arrived; with `all` it waits for each. */
static LoomStatus
complete_sends (Mpi *m, bool all, LoomMessage *message)
{
  for (PendingSend **at = &m->pending_sends; *at != NULL;)
    {
      PendingSend *pending = *at;
      int done = 1;

      if (all)
        TRY (MPI_Wait (&pending->request, MPI_STATUS_IGNORE));
      else
        TRY (MPI_Test (&pending->request, &done, MPI_STATUS_IGNORE));
      if (!done)
        {
          at = &pending->next;
          continue;
        }
      *at = pending->next;
      free (pending);
    }
  return LOOM_STATUS_OK;
}

static LoomStatus
comm_send (LoomComm *self, const void *data, int64_t bytes, int to, int tag, LoomMessage *message)
{
  Mpi *m = (Mpi *)self;
  PendingSend *pending;

  if (bytes > INT32_MAX)
    return too_large (message);
  pending = malloc (sizeof *pending + (size_t)bytes);
  if (pending == NULL)
    {
      snprintf (message->text, sizeof message->text, "out of memory: %lld bytes for another rank", (long long)bytes);
      return LOOM_STATUS_OUT_OF_MEMORY;
    }
  pending->next = m->pending_sends;
  m->pending_sends = pending;
  pending->request = MPI_REQUEST_NULL;
  if (bytes > 0)
    memcpy (pending->data, data, (size_t)bytes);
  TRY (MPI_Isend (pending->data, (int)bytes, MPI_BYTE, to, tag, m->comm, &pending->request));
  return complete_sends (m, false, message);
}

static LoomStatus
comm_receive (LoomComm *self, void *data, int64_t bytes, int from, int tag, LoomMessage *message)
{
  Mpi *m = (Mpi *)self;
  MPI_Request request;

  if (bytes > INT32_MAX)
    return too_large (message);
  if (self->timeout == 0)
    {
      TRY (MPI_Recv (data, (int)bytes, MPI_BYTE, from, tag, m->comm, MPI_STATUS_IGNORE));
      return LOOM_STATUS_OK;
    }
  TRY (MPI_Irecv (data, (int)bytes, MPI_BYTE, from, tag, m->comm, &request));
  return mpi_wait_for (m, &request, from, message);
}

static LoomStatus
comm_probe (LoomComm *self, int tag, const bool *arrived, int *from, LoomMessage *message)
{
  return mpi_probe ((Mpi *)self, tag, arrived, from, message);
}

static LoomStatus
barrier (LoomComm *self, LoomMessage *message)
{
  Mpi *m = (Mpi *)self;
  LoomStatus arrived = mpi_roll_call (m, "barrier", message);

  /* The roll call is a barrier. */
  if (arrived != LOOM_STATUS_OK || m->base.timeout > 0)
    return arrived;
  TRY (MPI_Barrier (m->comm));
  return LOOM_STATUS_OK;
}

/* Ends the processes of all ranks; the caller has reported the reason. */
static void
comm_abort (LoomComm *self, const char *why)
{
  MPI_Abort (MPI_COMM_WORLD, self->exit_status > 0 ? self->exit_status : 3);
}

static void
mpi_free (Mpi *m)
{
  free (m->buffer);
  free (m->part);
  free (m->count);
  free (m->n_send);
  free (m->request);
  free (m->arrived);
  free (m->number);
  free (m->all);
  free (m);
}

static bool
has_ended (LoomComm *self)
{
  return mpi_has_ended ((Mpi *)self);
}

/* The first communicator finalises MPI, the others were split off it. After a time-out nothing is freed: that would
 * wait for the hanging rank. */
static void
comm_free (LoomComm *self)
{
  Mpi *m = (Mpi *)self;
  LoomMessage message;

  if (m->ended && m->first == NULL)
    mpi_leave (m);
  if (!m->ended && (m->first == NULL || !m->first->ended))
    {
      complete_sends (m, true, &message);
      MPI_Comm_free (&m->roll);
      if (m->first != NULL)
        MPI_Comm_free (&m->comm);
    }
  if (m->first == NULL)
    MPI_Finalize ();
  mpi_free (m);
}

/* Counts the ranks that share this one's processors. Launchers may bind each rank to processors of its own: mpirun by
 * default one of two ranks to one core. */
static int
count_sharing (MPI_Comm local, int size)
{
  cpu_set_t own, *all = calloc ((size_t)size, sizeof *all);
  int n = 0;

  /* If the machine has more processors than the set can hold, all ranks count as cpu_sharers all of them. */
  if (sched_getaffinity (0, sizeof own, &own) != 0)
    memset (&own, 0xff, sizeof own);
  if (all == NULL || MPI_Allgather (&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, local) != MPI_SUCCESS)
    n = size;
  for (int i = 0; all != NULL && i < size && n < size; i++)
    {
      cpu_set_t both;

      CPU_AND (&both, &own, &all[i]);
      n += CPU_COUNT (&both) > 0;
    }
  free (all);
  return n > 0 ? n : 1;
}

static void
find_neighbours (LoomComm *self, MPI_Comm comm)
{
  MPI_Comm local;

  self->local_size = self->cpu_sharers = 1;
  if (MPI_Comm_split_type (comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local) != MPI_SUCCESS)
    return;
  MPI_Comm_size (local, &self->local_size);
  MPI_Comm_rank (local, &self->local_rank);
  self->cpu_sharers = count_sharing (local, self->local_size);
  MPI_Comm_free (&local);
}

static LoomStatus split (LoomComm *self, int color, int key, LoomComm **part, LoomMessage *message);

static bool
has_memory (const Mpi *m)
{
  return m->part != NULL && m->count != NULL && m->n_send != NULL && m->request != NULL && m->arrived != NULL
         && (m->first == NULL || (m->number != NULL && m->all != NULL));
}

/* NULL without memory. */
static Mpi *
mpi_new (MPI_Comm comm, Mpi *first)
{
  Mpi *m = calloc (1, sizeof *m);
  size_t size;

  if (m == NULL)
    return NULL;
  m->comm = comm;
  m->first = first;
  MPI_Comm_set_errhandler (m->comm, MPI_ERRORS_RETURN);
  m->base = (LoomComm){ .name = "mpi",
                        .timeout = first != NULL ? first->base.timeout : 0,
                        .all_reduce = all_reduce,
                        .reduce_scatter = reduce_scatter,
                        .all_gather = all_gather,
                        .broadcast = broadcast,
                        .send = comm_send,
                        .receive = comm_receive,
                        .probe = comm_probe,
                        .barrier = barrier,
                        .split = split,
                        .abort = comm_abort,
                        .has_ended = has_ended,
                        .free = comm_free };
  MPI_Comm_rank (m->comm, &m->base.rank);
  MPI_Comm_size (m->comm, &m->base.size);
  find_neighbours (&m->base, comm);
  size = (size_t)m->base.size;
  m->part = calloc (size, sizeof *m->part);
  m->count = calloc (size, sizeof *m->count);
  m->n_send = calloc (4 * size, sizeof *m->n_send);
  m->request = calloc (2 * size, sizeof *m->request);
  m->arrived = calloc (size, sizeof *m->arrived);
  if (first != NULL)
    {
      m->number = calloc (size, sizeof *m->number);
      m->all = calloc ((size_t)first->base.size, sizeof *m->all);
    }
  if (!has_memory (m) || MPI_Comm_dup (m->comm, &m->roll) != MPI_SUCCESS)
    {
      mpi_free (m);
      return NULL;
    }
  m->at_send = m->n_send + m->base.size;
  m->n_take = m->at_send + m->base.size;
  m->at_take = m->n_take + m->base.size;
  return m;
}

static LoomStatus
no_memory (LoomMessage *message)
{
  snprintf (message->text, sizeof message->text, "out of memory for the communicator");
  return LOOM_STATUS_OUT_OF_MEMORY;
}

static LoomStatus
split (LoomComm *self, int color, int key, LoomComm **part, LoomMessage *message)
{
  Mpi *from = (Mpi *)self, *m;
  Mpi *first = from->first != NULL ? from->first : from;
  LoomStatus status = mpi_roll_call (from, "split", message);
  MPI_Comm comm;

  if (status != LOOM_STATUS_OK)
    return status;
  TRY (MPI_Comm_split (from->comm, color, key, &comm));
  m = mpi_new (comm, first);
  if (m == NULL)
    {
      MPI_Comm_free (&comm);
      return no_memory (message);
    }
  *part = &m->base;
  TRY (MPI_Allgather (&first->base.rank, 1, MPI_INT, m->number, 1, MPI_INT, comm));
  return LOOM_STATUS_OK;
}

/* "Open MPI v4.1.4" of "Open MPI v4.1.4, package: …", "MPICH Version: 5.0.2" of "MPICH Version:      5.0.2\n…". */
static void
name_library (char *name, size_t size)
{
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  size_t n = 0;
  int length;

  MPI_Get_library_version (text, &length);
  for (const char *c = text; *c != '\0' && *c != ',' && *c != '\n' && n + 1 < size; c++)
    {
      const char pending = *c == '\t' ? ' ' : *c;

      if (pending != ' ' || (n > 0 && name[n - 1] != ' '))
        name[n++] = pending;
    }
  name[n] = '\0';
}

LoomStatus loom_comm_mpi_new (LoomComm **comm, LoomMessage *message);

LoomStatus
loom_comm_mpi_new (LoomComm **comm, LoomMessage *message)
{
  int granted;
  Mpi *m;

  if (MPI_Init_thread (NULL, NULL, MPI_THREAD_SERIALIZED, &granted) != MPI_SUCCESS)
    {
      snprintf (message->text, sizeof message->text, "MPI could not be started");
      return LOOM_STATUS_DEVICE;
    }
  if (granted < MPI_THREAD_SERIALIZED)
    {
      MPI_Finalize ();
      snprintf (message->text, sizeof message->text,
                "this MPI accepts calls from its first thread only (MPI_THREAD_SERIALIZED is needed)");
      return LOOM_STATUS_UNSUPPORTED;
    }
  m = mpi_new (MPI_COMM_WORLD, NULL);
  if (m == NULL)
    {
      MPI_Finalize ();
      return no_memory (message);
    }
  name_library (m->base.library, sizeof m->base.library);
  *comm = &m->base;
  return LOOM_STATUS_OK;
}
