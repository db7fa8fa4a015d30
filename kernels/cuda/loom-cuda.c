/* The CUDA back end's vtable: devices, memory, streams, events and graphs.
 *
 * It is built as a module that is opened at run time, because Gradloom must run on machines without CUDA's libraries.
 * The driver library is never linked: the module could not be opened without a driver, whereas the runtime library
 * returns cudaErrorInsufficientDriver, which becomes a plain sentence. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cublasLt.h>
#ifdef LOOM_HAVE_CUDNN
#include <cudnn.h>
#endif

#ifdef LOOM_HAVE_NCCL
#include "kernels/cuda/cuda-comm.h"
#endif
#include "kernels/cuda/cuda-internal.h"
#include "kernels/cuda/cuda-tools.h"
#include "kernels/shape.h"

/* The runtime returns cudaErrorInsufficientDriver also if there is no driver. */
static void
say_driver (LoomMessage *message)
{
  int driver = 0, needed = 0;

  cudaDriverGetVersion (&driver);
  cudaRuntimeGetVersion (&needed);
  if (driver == 0)
    cuda_fail (message, LOOM_STATUS_DEVICE, "no NVIDIA driver is installed");
  else
    cuda_fail (message, LOOM_STATUS_DEVICE, "the NVIDIA driver supports CUDA up to %d.%d, but this build needs %d.%d",
               driver / 1000, driver / 10 % 100, needed / 1000, needed / 10 % 100);
}

/* CUDA itself reads CUDA_VISIBLE_DEVICES, as with PyTorch; here it only explains why devices are missing. */
static int
device_count (LoomMessage *message)
{
  const char *visible = getenv ("CUDA_VISIBLE_DEVICES");
  /* The runtime does not write it if there is no driver. */
  int count = 0;
  cudaError_t error = cudaGetDeviceCount (&count);

  if (error != cudaSuccess)
    {
      cudaGetLastError ();
      count = 0;
    }
  if (error == cudaErrorInsufficientDriver)
    say_driver (message);
  else if (visible != NULL && (count > 0 || error == cudaSuccess || error == cudaErrorNoDevice))
    cuda_fail (message, LOOM_STATUS_DEVICE, "%sCUDA_VISIBLE_DEVICES is “%s”",
               count > 0 ? "" : "no CUDA device: ", visible);
  else if (error != cudaSuccess)
    cuda_fail (message, LOOM_STATUS_DEVICE, "no CUDA device: %s", cudaGetErrorString (error));
  else if (count == 0)
    cuda_fail (message, LOOM_STATUS_DEVICE, "no CUDA device: the driver lists none");
  return count;
}

/* ---- streams ------------------------------------------------------------- */

static void
stream_free (LoomDevice *device, LoomStream *stream)
{
  if (stream == NULL)
    return;
  cuda_use (device);
#ifdef LOOM_HAVE_CUDNN
  cuda_dnn_close (stream->cudnn);
#endif
#ifdef LOOM_HAVE_CUSOLVER
  cuda_solver_close (stream->solver);
#endif
  if (stream->handle != NULL)
    cudaStreamDestroy (stream->handle);
  if (stream->flag != NULL)
    cudaFree (stream->flag);
  if (stream->report != NULL)
    cudaFreeHost ((void *)stream->report);
  free (stream);
}

/* The flag is in device memory, where kernels read it fast; the report is in page-locked memory, which the host and the
 * gates of other devices (fault_join()) read directly. */
static LoomStatus
make_flag (LoomStream *self, LoomMessage *message)
{
  CudaFlag flag = { 0 };
  void *report = NULL;
  LoomStatus status
      = cuda_check (cudaHostAlloc (&report, sizeof (CudaReport), cudaHostAllocMapped | cudaHostAllocPortable),
                    "allocating page-locked memory for fault reports", message);

  if (status != LOOM_STATUS_OK)
    return status;
  memset (report, 0, sizeof (CudaReport));
  self->report = report;
  status = cuda_check (cudaHostGetDevicePointer ((void **)&flag.report, report, 0), "mapping fault reports", message);
  if (status == LOOM_STATUS_OK)
    status = cuda_check (cudaMalloc ((void **)&self->flag, sizeof flag), "allocating the fault flag", message);
  if (status == LOOM_STATUS_OK)
    status = cuda_check (cudaMemcpyAsync (self->flag, &flag, sizeof flag, cudaMemcpyHostToDevice, self->handle),
                         "clearing the fault flag", message);
  if (status == LOOM_STATUS_OK)
    status = cuda_check (cudaStreamSynchronize (self->handle), "clearing the fault flag", message);
  return status;
}

static LoomStatus
stream_new (LoomDevice *device, LoomStream **stream, LoomMessage *message)
{
  LoomStream *self = calloc (1, sizeof *self);
  LoomStatus status;

  *stream = NULL;
  if (self == NULL)
    return cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a CUDA stream");
  cuda_use (device);
  status
      = cuda_check (cudaStreamCreateWithFlags (&self->handle, cudaStreamNonBlocking), "making a CUDA stream", message);
  if (status == LOOM_STATUS_OK)
    status = make_flag (self, message);
  if (status != LOOM_STATUS_OK)
    {
      stream_free (device, self);
      return status;
    }
  *stream = self;
  return LOOM_STATUS_OK;
}

#ifdef LOOM_HAVE_NCCL
static cudaError_t
query_stream (void *of)
{
  return cudaStreamQuery (of);
}

static cudaError_t
query_event (void *of)
{
  return cudaEventQuery (of);
}
#endif

/* Without a stream it waits for all work of the device; no thread may be recording a graph then. */
static LoomStatus
stream_sync (LoomDevice *device, LoomStream *stream, LoomMessage *message)
{
  cuda_use (device);
#ifdef LOOM_HAVE_NCCL
  if (stream != NULL && cuda_comm_may_block (device))
    return cuda_comm_wait (device, query_stream, stream->handle, message);
#endif
  return cuda_check (stream != NULL ? cudaStreamSynchronize (stream->handle) : cudaDeviceSynchronize (),
                     "waiting for the CUDA device", message);
}

/* ---- faults ---------------------------------------------------------------- */

static LoomStatus
step_begin (LoomDevice *device, LoomStream *stream, int64_t step, LoomMessage *message)
{
  cuda_use (device);
  return cuda_step_begin (stream != NULL ? stream : device->stream, step, message);
}

static void
fault_get (LoomDevice *device, LoomStream *stream, LoomDeviceFault *fault, LoomMessage *message)
{
  static const char *const picked[]
      = { [CUDA_FAULT_INDEX] = "the index", [CUDA_FAULT_ROW] = "the row", [CUDA_FAULT_CLASS] = "the target class" };
  const volatile CudaReport *report = (stream != NULL ? stream : device->stream)->report;
  /* The device writes the kind last, and the host may read meanwhile: fields read after the kind belong to it. */
  const int kind = __atomic_load_n (&report->kind, __ATOMIC_ACQUIRE);
  const struct CudaRequirement *of = report->of;
  char place[LOOM_INDEX_TEXT];

  *fault = (LoomDeviceFault){ .status = LOOM_STATUS_OK, .site = report->site, .step = report->step };
  switch (kind)
    {
    case CUDA_FAULT_NONE:
      return;
    case CUDA_FAULT_NOT_FINITE:
      fault->status = cuda_fail (message, LOOM_STATUS_NOT_FINITE, LOOM_NOT_FINITE_TEXT);
      return;
    case CUDA_FAULT_REQUIREMENT:
      if (of->tell != NULL)
        fault->status = of->tell (message, &of->ok, report->value);
      else
        fault->status = cuda_fail (message, LOOM_STATUS_NO_RESULT, "%s%s", of->attrs.what,
                                   loom_index_text (place, of->ok.rank, of->ok.dim, report->value));
      return;
    default:
      fault->status = cuda_fail (message, LOOM_STATUS_INDEX, "%s %lld is outside 0 … %lld", picked[kind], report->value,
                                 report->limit - 1);
    }
}

static LoomStatus
fault_clear (LoomDevice *device, LoomStream *stream, LoomMessage *message)
{
  LoomStream *self = stream != NULL ? stream : device->stream;

  cuda_use (device);
  memset ((void *)self->report, 0, sizeof (CudaReport));
  return cuda_check (cudaMemsetAsync (&self->flag->raised, 0, sizeof self->flag->raised, self->handle),
                     "clearing the fault flag", message);
}

/* ---- devices ---------------------------------------------------------------- */

static void
device_close (LoomDevice *device)
{
  if (device == NULL)
    return;
  cuda_use (device);
  /* Does not wait for the whole GPU: that would break a graph that another thread records on it. Other streams were
   * waited for when they were freed. */
  if (device->stream != NULL)
    cudaStreamSynchronize (device->stream->handle);
  cuda_matmul_close (device);
#ifdef LOOM_HAVE_CUDNN
  cuda_attention_close (device);
  cuda_conv_graph_close (device);
  cuda_dnn_close (device->cudnn);
#endif
#ifdef LOOM_HAVE_CUSOLVER
  cuda_solver_close (device->solver);
#endif
  cuda_modules_close (device);
  cuda_forget_peers (device);
  stream_free (device, device->stream);
  pthread_mutex_destroy (&device->lock);
  free (device);
}

static LoomStatus
device_open (int index, int threads, LoomDevice **out, LoomMessage *message)
{
  struct cudaDeviceProp properties;
  LoomDevice *device;
  LoomStatus status;
  int count = device_count (message);

  *out = NULL;
  if (count == 0)
    return LOOM_STATUS_DEVICE;
  if (message != NULL)
    message->text[0] = '\0';
  if (index < 0 || index >= count)
    return cuda_fail (message, LOOM_STATUS_DEVICE, "there is no device cuda:%d; this machine has %d, counted from 0",
                      index, count);
  if (cuda_lost (index) != cudaSuccess)
    return cuda_check (cuda_lost (index), "opening the CUDA device again", message);
  device = calloc (1, sizeof *device);
  if (device == NULL)
    return cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left to open cuda:%d", index);
  device->index = index;
  pthread_mutex_init (&device->lock, NULL);

  status = cuda_check (cudaSetDevice (index), "opening the CUDA device", message);
  if (status == LOOM_STATUS_OK)
    status = cuda_check (cudaGetDeviceProperties (&properties, index), "reading the CUDA device's properties", message);
  if (status == LOOM_STATUS_OK)
    {
      device->architecture = properties.major * 10 + properties.minor;
      device->processors = properties.multiProcessorCount;
      memcpy (device->uuid, properties.uuid.bytes, sizeof device->uuid);
      snprintf (device->name, sizeof device->name, "%s", properties.name);
      status = stream_new (device, &device->stream, message);
    }
  if (status == LOOM_STATUS_OK)
    status = cuda_modules_open (device, message);
  if (status != LOOM_STATUS_OK)
    {
      device_close (device);
      return status;
    }
  *out = device;
  return LOOM_STATUS_OK;
}

/* "cuBLASLt 130100, cuDNN 91900, sm_90": the versions that decide how a kernel computes, in addition to the GPU. */
static void
write_libraries (const LoomDevice *device, char *text, size_t size)
{
  int n = snprintf (text, size, "cuBLASLt %zu, ", cublasLtGetVersion ());

#ifdef LOOM_HAVE_CUDNN
  n += snprintf (text + n, size - (size_t)n, "cuDNN %zu, ", cudnnGetVersion ());
#endif
  snprintf (text + n, size - (size_t)n, "sm_%d", device->architecture);
}

static void
device_info (LoomDevice *device, LoomDeviceInfo *info)
{
  size_t memory_free = 0, memory_total = 0;

  cuda_use (device);
  memset (info, 0, sizeof *info);
  if (cudaMemGetInfo (&memory_free, &memory_total) != cudaSuccess)
    cudaGetLastError ();
  snprintf (info->name, sizeof info->name, "%s", device->name);
  write_libraries (device, info->libraries, sizeof info->libraries);
  info->memory_total = memory_total;
  info->memory_free = memory_free;
}

/* ---- memory ------------------------------------------------------------ */

static LoomStatus
device_alloc (LoomDevice *device, size_t bytes, void **memory, LoomMessage *message)
{
  cudaError_t error;

  cuda_use (device);
  *memory = NULL;
  error = cudaMalloc (memory, bytes != 0 ? bytes : 1);
  if (error == cudaSuccess)
    return LOOM_STATUS_OK;
  cudaGetLastError ();
  *memory = NULL;
  if (cuda_status (error) != LOOM_STATUS_OUT_OF_MEMORY)
    return cuda_check (error, "allocating memory on the CUDA device", message);
  return cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "the GPU is out of memory");
}

static void
device_free (LoomDevice *device, void *memory)
{
  if (memory == NULL)
    return;
  cuda_use (device);
  cudaFree (memory);
}

static LoomStatus
alloc_host (LoomDevice *device, size_t bytes, void **memory, LoomMessage *message)
{
  cudaError_t error;

  cuda_use (device);
  *memory = NULL;
  error = cudaHostAlloc (memory, bytes != 0 ? bytes : 1, cudaHostAllocPortable);
  if (error == cudaSuccess)
    return LOOM_STATUS_OK;
  *memory = NULL;
  return cuda_check (error, "allocating page-locked memory", message);
}

static void
free_host (LoomDevice *device, void *memory)
{
  if (memory == NULL)
    return;
  cuda_use (device);
  cudaFreeHost (memory);
}

/* ---- events ---------------------------------------------------------------- */

static LoomStatus
any_event_new (LoomDevice *device, unsigned int flags, LoomEvent **event, LoomMessage *message)
{
  LoomEvent *self = calloc (1, sizeof *self);
  LoomStatus status;

  *event = NULL;
  if (self == NULL)
    return cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a CUDA event");
  cuda_use (device);
  status = cuda_check (cudaEventCreateWithFlags (&self->handle, flags), "making a CUDA event", message);
  if (status != LOOM_STATUS_OK)
    {
      free (self);
      return status;
    }
  *event = self;
  return LOOM_STATUS_OK;
}

static LoomStatus
event_new (LoomDevice *device, LoomEvent **event, LoomMessage *message)
{
  return any_event_new (device, cudaEventDisableTiming, event, message);
}

static LoomStatus
timed_event_new (LoomDevice *device, LoomEvent **event, LoomMessage *message)
{
  return any_event_new (device, cudaEventDefault, event, message);
}

static void
event_free (LoomDevice *device, LoomEvent *event)
{
  if (event == NULL)
    return;
  cuda_use (device);
  cudaEventDestroy (event->handle);
  free (event);
}

static LoomStatus
event_record (LoomDevice *device, LoomEvent *event, LoomStream *stream, LoomMessage *message)
{
  cuda_use (device);
  return cuda_check (cudaEventRecord (event->handle, cuda_stream (device, stream)), "recording a CUDA event", message);
}

static LoomStatus
event_wait (LoomDevice *device, LoomStream *stream, LoomEvent *event, LoomMessage *message)
{
  cuda_use (device);
  return cuda_check (cudaStreamWaitEvent (cuda_stream (device, stream), event->handle, 0), "waiting for a CUDA event",
                     message);
}

static LoomStatus
event_sync (LoomDevice *device, LoomEvent *event, LoomMessage *message)
{
  cuda_use (device);
#ifdef LOOM_HAVE_NCCL
  if (cuda_comm_may_block (device))
    return cuda_comm_wait (device, query_event, event->handle, message);
#endif
  return cuda_check (cudaEventSynchronize (event->handle), "waiting for a CUDA event", message);
}

static LoomStatus
event_seconds (LoomDevice *device, LoomEvent *from, LoomEvent *to, double *seconds, LoomMessage *message)
{
  float milliseconds = 0;
  LoomStatus status;

  cuda_use (device);
  status = cuda_check (cudaEventElapsedTime (&milliseconds, from->handle, to->handle), "reading a CUDA event's time",
                       message);
  *seconds = (double)milliseconds * 1e-3;
  return status;
}

/* Without a stream the caller cannot order the copy, so a copy from or to the host waits for all work launched before
 * it, and is complete on return. */
static LoomStatus
device_copy (LoomDevice *device, LoomStream *stream, void *to, const void *from, size_t bytes, LoomCopyKind kind,
             LoomMessage *message)
{
  static const enum cudaMemcpyKind kinds[] = {
    [LOOM_COPY_HOST_TO_DEVICE] = cudaMemcpyHostToDevice,
    [LOOM_COPY_DEVICE_TO_HOST] = cudaMemcpyDeviceToHost,
    [LOOM_COPY_WITHIN] = cudaMemcpyDeviceToDevice,
  };
  LoomStatus status;

  if (bytes == 0)
    return LOOM_STATUS_OK;
  cuda_use (device);
  if (stream == NULL && kind != LOOM_COPY_WITHIN && (status = stream_sync (device, NULL, message)) != LOOM_STATUS_OK)
    return status;
  status = cuda_check (cudaMemcpyAsync (to, from, bytes, kinds[kind], cuda_stream (device, stream)),
                       "copying to or from the CUDA device", message);
  if (status != LOOM_STATUS_OK || stream != NULL || kind == LOOM_COPY_WITHIN)
    return status;
  return stream_sync (device, NULL, message);
}

/* ---- graphs --------------------------------------------------------------- */

static LoomStatus
capture_begin (LoomDevice *device, LoomStream *stream, LoomMessage *message)
{
  cuda_use (device);
  /* Thread-local, so that another thread that loads data may continue to allocate. */
  return cuda_check (cudaStreamBeginCapture (cuda_stream (device, stream), cudaStreamCaptureModeThreadLocal),
                     "beginning to record a CUDA graph", message);
}

static LoomStatus
capture_end (LoomDevice *device, LoomStream *stream, void **graph, LoomMessage *message)
{
  cudaGraph_t recorded = NULL;
  cudaGraphExec_t executable = NULL;
  LoomStatus status;

  *graph = NULL;
  cuda_use (device);
  status
      = cuda_check (cudaStreamEndCapture (cuda_stream (device, stream), &recorded), "recording a CUDA graph", message);
  if (status == LOOM_STATUS_OK)
    status = cuda_check (cudaGraphInstantiate (&executable, recorded, 0), "preparing a CUDA graph", message);
  if (recorded != NULL)
    cudaGraphDestroy (recorded);
  *graph = executable;
  return status;
}

static LoomStatus
graph_launch (LoomDevice *device, void *graph, LoomStream *stream, LoomMessage *message)
{
  cuda_use (device);
  return cuda_check (cudaGraphLaunch ((cudaGraphExec_t)graph, cuda_stream (device, stream)), "launching a CUDA graph",
                     message);
}

static void
graph_free (LoomDevice *device, void *graph)
{
  if (graph == NULL)
    return;
  cuda_use (device);
  cudaGraphExecDestroy ((cudaGraphExec_t)graph);
}

static const LoomBackend backend = {
  .abi = LOOM_BACKEND_ABI,
  .name = "cuda",
  .device_count = device_count,
  .device_open = device_open,
  .device_close = device_close,
  .device_info = device_info,
  .alloc = device_alloc,
  .free = device_free,
  .alloc_host = alloc_host,
  .free_host = free_host,
  .stream_new = stream_new,
  .stream_free = stream_free,
  .stream_sync = stream_sync,
  .event_new = event_new,
  .event_free = event_free,
  .event_record = event_record,
  .event_wait = event_wait,
  .event_sync = event_sync,
  .step_begin = step_begin,
  .fault_get = fault_get,
  .fault_clear = fault_clear,
  .copy = device_copy,
  .can_send = cuda_can_send,
  .send = cuda_send,
  .fault_join = cuda_fault_join,
  .options = cuda_options,
  .kernel_new = cuda_kernel_new,
  .capture_begin = capture_begin,
  .capture_end = capture_end,
  .graph_launch = graph_launch,
  .graph_free = graph_free,
};

static const LoomBackendTools tools = {
  .abi = LOOM_TOOLS_ABI,
  .kernel_source = cuda_kernel_source,
  .timed_event_new = timed_event_new,
  .event_seconds = event_seconds,
#ifdef LOOM_HAVE_NVTX
  .has_profiler = cuda_has_profiler,
  .range_push = cuda_range_push,
  .range_pop = cuda_range_pop,
#endif
};

/* Named by LOOM_BACKEND_ENTRY, LOOM_TOOLS_ENTRY and LOOM_DEVICE_COMM_ENTRY; the only symbols that the module exports.
 */
__attribute__ ((visibility ("default"))) const LoomBackend *
loom_backend_entry (void)
{
  return &backend;
}

__attribute__ ((visibility ("default"))) const LoomBackendTools *
loom_backend_tools (void)
{
  return &tools;
}

#ifdef LOOM_HAVE_NCCL
LoomStatus
loom_device_comm_new (LoomDevice *device, LoomStream *stream, LoomComm *ranks, LoomComm **comm, LoomMessage *message);

__attribute__ ((visibility ("default"))) LoomStatus
loom_device_comm_new (LoomDevice *device, LoomStream *stream, LoomComm *ranks, LoomComm **comm, LoomMessage *message)
{
  return cuda_comm_new (device, stream, ranks, comm, message);
}
#endif
