/* Operations between several GPUs of one process on their streams: copies, and gates that read the faults of another
 * device.
 *
 * The host waits for neither. Copies are the runtime's between devices, which need no access to each other's memory and
 * are recorded in graphs like kernels. A gate reads the reports of the other streams in the same memory as the host, so
 * clearing a fault clears it for all. */
#include "kernels/cuda/cuda-internal.h"

static void
add_peer (LoomDevice *device, LoomDevice *peer)
{
  pthread_mutex_lock (&device->lock);
  if (peer->index <= CUDA_MOST_OTHERS)
    device->peers[peer->index] = peer;
  pthread_mutex_unlock (&device->lock);
}

void
cuda_forget_peers (LoomDevice *device)
{
  for (int i = 0; i <= CUDA_MOST_OTHERS; i++)
    {
      LoomDevice *peer = device->peers[i];

      if (peer == NULL || device->index > CUDA_MOST_OTHERS)
        continue;
      pthread_mutex_lock (&peer->lock);
      if (peer->peers[device->index] == device)
        peer->peers[device->index] = NULL;
      pthread_mutex_unlock (&peer->lock);
    }
}

/* The runtime copies between any two of its devices: directly, after peer access was enabled, if the devices support
 * it; otherwise the driver copies through the host, on the stream as well. */
bool
cuda_can_send (LoomDevice *device, LoomDevice *to)
{
  const uint64_t bit = to->index < 64 ? (uint64_t)1 << to->index : 0;
  int reaches = 0;

  pthread_mutex_lock (&device->lock);
  cuda_use (device);
  /* Access that is enabled already, for instance by another library, is fine; without access the copy takes a longer
   * path. */
  if (device->index != to->index && (device->reaches & bit) == 0
      && cudaDeviceCanAccessPeer (&reaches, device->index, to->index) == cudaSuccess && reaches)
    cudaDeviceEnablePeerAccess (to->index, 0);
  cudaGetLastError ();
  device->reaches |= bit;
  pthread_mutex_unlock (&device->lock);
  add_peer (device, to);
  add_peer (to, device);
  return true;
}

LoomStatus
cuda_send (LoomDevice *device, LoomStream *stream, LoomDevice *to_device, void *to, const void *from, size_t bytes,
           LoomMessage *message)
{
  if (bytes == 0)
    return LOOM_STATUS_OK;
  cuda_use (device);
  return cuda_check (
      cudaMemcpyPeerAsync (to, to_device->index, from, device->index, bytes, cuda_stream (device, stream)),
      "copying from one CUDA device to another", message);
}

LoomStatus
cuda_fault_join (LoomDevice *device, LoomStream *stream, LoomDevice *other, LoomStream *of, LoomMessage *message)
{
  LoomStream *self = stream != NULL ? stream : device->stream;
  CudaReport *report = (CudaReport *)(of != NULL ? of : other->stream)->report;
  void *there = NULL;
  int n = self->n_others;
  LoomStatus status;

  for (int i = 0; i < n; i++)
    if (self->others[i] == report)
      return LOOM_STATUS_OK;
  if (n == CUDA_MOST_OTHERS)
    return cuda_fail (message, LOOM_STATUS_UNSUPPORTED, "a step has at most %d CUDA devices", CUDA_MOST_OTHERS + 1);
  cuda_use (device);
  status = cuda_check (cudaHostGetDevicePointer (&there, report, 0), "mapping fault reports", message);
  if (status == LOOM_STATUS_OK)
    status = cuda_check (
        cudaMemcpyAsync (&self->flag->others[n], &there, sizeof there, cudaMemcpyHostToDevice, self->handle),
        "joining fault flags", message);
  n++;
  if (status == LOOM_STATUS_OK)
    status = cuda_check (cudaMemcpyAsync (&self->flag->n_others, &n, sizeof n, cudaMemcpyHostToDevice, self->handle),
                         "joining fault flags", message);
  if (status == LOOM_STATUS_OK)
    status = cuda_check (cudaStreamSynchronize (self->handle), "joining fault flags", message);
  if (status == LOOM_STATUS_OK)
    self->others[self->n_others++] = report;
  return status;
}
