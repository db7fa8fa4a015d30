/* Memory, device and exchange with faults; see the header. */
#include "tests/world/world-machine.h"

#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- memory ------------------------------------------------------------- */

/* Only threads that are ranks meet faults, so that a session does not depend on others. */
static gboolean
has_memory (void)
{
  void *frame[40];

  if (world_meet (WORLD_CALL_MEMORY) < 0)
    return TRUE;
  if (g_getenv ("WORLD_TRACE") != NULL)
    backtrace_symbols_fd (frame, backtrace (frame, G_N_ELEMENTS (frame)), STDOUT_FILENO);
  return FALSE;
}

#define WRAP(RESULT, NAME, PARAMETERS, ARGUMENTS)                                                                      \
  RESULT __real_##NAME PARAMETERS;                                                                                     \
  RESULT __wrap_##NAME PARAMETERS;                                                                                     \
  RESULT __wrap_##NAME PARAMETERS                                                                                      \
  {                                                                                                                    \
    return has_memory () ? __real_##NAME ARGUMENTS : NULL;                                                             \
  }

WRAP (void *, malloc, (gsize n), (n))
WRAP (void *, calloc, (gsize n, gsize size), (n, size))
WRAP (void *, aligned_alloc, (gsize alignment, gsize n), (alignment, n))
WRAP (gpointer, g_try_malloc, (gsize n), (n))
WRAP (gpointer, g_try_malloc0, (gsize n), (n))
WRAP (gpointer, g_try_realloc, (gpointer data, gsize n), (data, n))
WRAP (gpointer, g_try_malloc_n, (gsize n, gsize size), (n, size))
WRAP (gpointer, g_try_malloc0_n, (gsize n, gsize size), (n, size))

/* ---- the device --------------------------------------------------------- */

typedef struct
{
  LoomKernel base;
  LoomKernel *inner;
} Kernel;

const LoomBackend *__real_loom_backend_cpu (void);
const LoomBackend *__wrap_loom_backend_cpu (void);

static __thread gboolean is_lost; /* of this rank: each life begins with new ones */

static LoomStatus
meet_device (LoomMessage *message)
{
  const int met = world_meet (WORLD_CALL_DEVICE);

  is_lost = is_lost || met == WORLD_LOST;
  if (is_lost)
    {
      g_strlcpy (message->text, "the device has fallen off the bus", sizeof message->text);
      return LOOM_STATUS_DEVICE_LOST;
    }
  if (met != WORLD_DEVICE)
    return LOOM_STATUS_OK;
  g_strlcpy (message->text, "the device has failed", sizeof message->text);
  return LOOM_STATUS_DEVICE;
}

static LoomStatus
kernel_run (LoomKernel *kernel, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Kernel *self = (Kernel *)kernel;
  const LoomStatus status = meet_device (message);

  self->inner->site = kernel->site;
  return status == LOOM_STATUS_OK ? self->inner->run (self->inner, stream, buffers, message) : status;
}

static LoomStatus
kernel_bind (LoomKernel *kernel, void *const *buffers, LoomMessage *message)
{
  Kernel *self = (Kernel *)kernel;

  return self->inner->bind (self->inner, buffers, message);
}

static void
kernel_free (LoomKernel *kernel)
{
  Kernel *self = (Kernel *)kernel;

  self->inner->free (self->inner);
  g_free (self);
}

static LoomStatus
device_kernel_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  LoomKernel *inner;
  const LoomStatus status = __real_loom_backend_cpu ()->kernel_new (device, spec, &inner, message);
  Kernel *self;

  if (status != LOOM_STATUS_OK)
    return status;
  self = g_new0 (Kernel, 1);
  self->base = *inner;
  self->base.run = kernel_run;
  self->base.bind = inner->bind != NULL ? kernel_bind : NULL;
  self->base.free = kernel_free;
  self->inner = inner;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

static LoomStatus
device_alloc (LoomDevice *device, size_t bytes, void **memory, LoomMessage *message)
{
  const LoomStatus status = meet_device (message);

  return status == LOOM_STATUS_OK ? __real_loom_backend_cpu ()->alloc (device, bytes, memory, message) : status;
}

static LoomStatus
device_copy (LoomDevice *device, LoomStream *stream, void *to, const void *from, size_t bytes, LoomCopyKind kind,
             LoomMessage *message)
{
  const LoomStatus status = meet_device (message);

  return status == LOOM_STATUS_OK ? __real_loom_backend_cpu ()->copy (device, stream, to, from, bytes, kind, message)
                                  : status;
}

const LoomBackend *
__wrap_loom_backend_cpu (void)
{
  static LoomBackend world;
  static gsize made;

  if (g_once_init_enter (&made))
    {
      world = *__real_loom_backend_cpu ();
      world.kernel_new = device_kernel_new;
      world.alloc = device_alloc;
      world.copy = device_copy;
      g_once_init_leave (&made, 1);
    }
  return &world;
}

/* ---- the exchange ------------------------------------------------------- */

typedef struct
{
  LoomComm base;
  LoomComm *inner;
  gboolean has_server;
} Exchange;

/* The other ranks wait for this one until their time is over. */
static void
stall (const Exchange *self, const char *call)
{
  bool *arrived = g_new (bool, (gsize)self->base.size);
  LoomMessage why = { "" };

  for (int k = 0; k < self->base.size; k++)
    arrived[k] = k != self->base.rank;
  loom_comm_set_missing (&why, call, arrived, self->base.size, 60);
  self->inner->abort (self->inner, why.text);
  g_free (arrived);
}

static __thread LoomComm *own_comm;

void
world_machine_be (LoomComm *comm)
{
  own_comm = comm;
}

gboolean
world_machine_hang (void)
{
  if (own_comm == NULL)
    return FALSE;
  stall ((const Exchange *)own_comm, "all_reduce");
  return TRUE;
}

/* The launcher notices, and tells the others. The thread leaves everything as it is, and never comes back. */
static void
die (const Exchange *self)
{
  g_autofree char *why = g_strdup_printf ("rank %d has been killed", self->base.rank);

  self->inner->abort (self->inner, why);
  g_thread_exit (NULL);
}

static LoomStatus
meet (const Exchange *self, int met, const char *call, LoomMessage *message)
{
  switch (met)
    {
    case WORLD_LATE:
      g_usleep (1000);
      return LOOM_STATUS_OK;
    case WORLD_STALL:
      stall (self, call);
      return LOOM_STATUS_OK;
    case WORLD_LOSE:
      stall (self, call);
      return LOOM_STATUS_OK;
    case WORLD_DIE:
      die (self);
      return LOOM_STATUS_OK;
    case WORLD_BREAK:
      g_strlcpy (message->text, "the network card has failed", sizeof message->text);
      return LOOM_STATUS_DEVICE;
    default:
      return LOOM_STATUS_OK;
    }
}

static LoomStatus
meet_exchange (const Exchange *self, const char *call, LoomMessage *message)
{
  return meet (self, world_meet (WORLD_CALL_EXCHANGE), call, message);
}

#define EXCHANGE(NAME, PARAMETERS, ...)                                                                                \
  static LoomStatus exchange_##NAME PARAMETERS                                                                         \
  {                                                                                                                    \
    Exchange *own = (Exchange *)self;                                                                                  \
    const LoomStatus status = meet_exchange (own, #NAME, message);                                                     \
                                                                                                                       \
    return status == LOOM_STATUS_OK ? own->inner->NAME (own->inner, __VA_ARGS__) : status;                             \
  }

EXCHANGE (all_reduce,
          (LoomComm * self, const void *from, void *to, int64_t count, LoomDType dtype, LoomReduceOp op,
           LoomMessage *message),
          from, to, count, dtype, op, message)
EXCHANGE (reduce_scatter,
          (LoomComm * self, const void *from, void *to, const int64_t *counts, LoomDType dtype, LoomReduceOp op,
           LoomMessage *message),
          from, to, counts, dtype, op, message)
EXCHANGE (all_gather, (LoomComm * self, const void *from, void *to, const int64_t *bytes, LoomMessage *message), from,
          to, bytes, message)
EXCHANGE (broadcast, (LoomComm * self, void *data, int64_t bytes, int root, LoomMessage *message), data, bytes, root,
          message)

/* A rank does not learn that its message is lost. Transports keep messages from arriving twice, but a rank that is
 * started again may send one twice: the server's protocol detects it by numbers, which no other messages have. */
static LoomStatus
exchange_send (LoomComm *self, const void *data, int64_t bytes, int to, int tag, LoomMessage *message)
{
  Exchange *own = (Exchange *)self;
  const int met = world_meet (WORLD_CALL_EXCHANGE);
  LoomStatus status = meet (own, met, "send", message);

  if (met == WORLD_LOSE || status != LOOM_STATUS_OK)
    return status;
  status = own->inner->send (own->inner, data, bytes, to, tag, message);
  if (met == WORLD_REPEAT && own->has_server && status == LOOM_STATUS_OK)
    status = own->inner->send (own->inner, data, bytes, to, tag, message);
  return status;
}

EXCHANGE (receive, (LoomComm * self, void *data, int64_t bytes, int from, int tag, LoomMessage *message), data, bytes,
          from, tag, message)
EXCHANGE (probe, (LoomComm * self, int tag, const bool *arrived, int *from, LoomMessage *message), tag, arrived, from,
          message)
EXCHANGE (barrier, (LoomComm * self, LoomMessage *message), message)

static LoomStatus
exchange_split (LoomComm *self, int color, int key, LoomComm **part, LoomMessage *message)
{
  Exchange *own = (Exchange *)self;
  LoomStatus status = meet_exchange (own, "split", message);

  if (status == LOOM_STATUS_OK)
    status = own->inner->split (own->inner, color, key, part, message);
  if (status == LOOM_STATUS_OK)
    *part = world_comm_new (*part, own->has_server);
  return status;
}

static void
exchange_abort (LoomComm *self, const char *why)
{
  Exchange *own = (Exchange *)self;

  own->inner->abort (own->inner, why);
}

static bool
exchange_has_ended (LoomComm *self)
{
  Exchange *own = (Exchange *)self;

  return own->inner->has_ended (own->inner);
}

static void
exchange_free (LoomComm *self)
{
  Exchange *own = (Exchange *)self;

  own->inner->free (own->inner);
  g_free (own);
}

LoomComm *
world_comm_new (LoomComm *inner, gboolean has_server)
{
  Exchange *self = g_new (Exchange, 1);

  g_assert_null (inner->group);
  self->inner = inner;
  self->has_server = has_server;
  self->base = *inner;
  self->base.all_reduce = exchange_all_reduce;
  self->base.reduce_scatter = exchange_reduce_scatter;
  self->base.all_gather = exchange_all_gather;
  self->base.broadcast = exchange_broadcast;
  self->base.send = exchange_send;
  self->base.receive = exchange_receive;
  self->base.probe = exchange_probe;
  self->base.barrier = exchange_barrier;
  self->base.split = exchange_split;
  self->base.abort = exchange_abort;
  self->base.has_ended = exchange_has_ended;
  self->base.free = exchange_free;
  return &self->base;
}
