/* Shared by all oneDNN kernels: engine, memories, reorders, execution. */
#include "kernels/cpu/cpu-onednn.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

/* Operations per nanosecond of one core for shapes of medium size; only the order of magnitude matters. */
#define FLOPS_PER_NS 100.0
/* Threads share more work than this. */
#define SHARED_NS 20000.0

/* Of a separate activation: nanoseconds of an element, and elements that one thread does at least. */
#define ACT_NS 0.3
#define BLOCK  1024

static pthread_once_t once = PTHREAD_ONCE_INIT;
static dnnl_engine_t engine;
static pthread_key_t stream_key;

static void
stream_end (void *stream)
{
  dnnl_stream_destroy (stream);
}

static void
start (void)
{
  if (pthread_key_create (&stream_key, stream_end) != 0 || dnnl_engine_create (&engine, dnnl_cpu, 0) != dnnl_success)
    engine = NULL;
}

static char version[48];

static void
write_version (void)
{
  const dnnl_version_t *v = dnnl_version ();

  snprintf (version, sizeof version, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
}

const char *
cpu_onednn_version (void)
{
  static pthread_once_t written = PTHREAD_ONCE_INIT;

  pthread_once (&written, write_version);
  return version;
}

dnnl_engine_t
onednn_engine (void)
{
  pthread_once (&once, start);
  return engine;
}

/* The calling thread's stream; runs on two threads share none. NULL if it cannot be made. */
static dnnl_stream_t
own_stream (void)
{
  dnnl_stream_t stream = pthread_getspecific (stream_key);

  if (stream != NULL)
    return stream;
  if (dnnl_stream_create (&stream, engine, dnnl_stream_default_flags) != dnnl_success)
    return NULL;
  pthread_setspecific (stream_key, stream);
  return stream;
}

/* Buffers that are there: in…, out…, then scratch and kept memory if the kernel has any. */
static int
n_buffers (const Onednn *self)
{
  return self->k.n_in + self->k.n_out + (self->k.base.kept_bytes > 0 ? 2 : self->k.base.scratch_bytes > 0);
}

static bool
bind_buffers (Onednn *self, void *const *b)
{
  for (int i = 0; i < self->n_memories; i++)
    if (dnnl_memory_set_data_handle (self->memory[i].memory, (char *)b[self->memory[i].buffer] + self->memory[i].offset)
        != dnnl_success)
      return false;
  memcpy (self->bound, b, (size_t)n_buffers (self) * sizeof *b);
  return true;
}

/* Executes the calls that pack fixed operands, or all others. */
static bool
execute (Onednn *self, void *const *b, bool prepares)
{
  dnnl_stream_t stream = own_stream ();
  bool ok = stream != NULL;

  if (memcmp (self->bound, b, (size_t)n_buffers (self) * sizeof *b) != 0)
    ok = ok && bind_buffers (self, b);
  if (self->alone)
    cpu_thread_limit (1);
  for (int i = 0; ok && i < self->n_calls; i++)
    if (self->call[i].prepares == prepares)
      ok = dnnl_primitive_execute (self->call[i].primitive, stream, self->call[i].n_args, self->call[i].arg)
           == dnnl_success;
  ok = ok
       /* a oneDNN that is built with SYCL returns before the work is done */
       && dnnl_stream_wait (stream) == dnnl_success;
  if (self->alone)
    cpu_thread_limit (self->team);
  return ok;
}

static LoomStatus
failed (const CpuKernel *k, LoomMessage *message)
{
  snprintf (message->text, sizeof message->text, "oneDNN failed in %s", k->base.name);
  return LOOM_STATUS_DEVICE;
}

typedef struct
{
  const Onednn *self;
  float *y;
} Activation;

/* Blocks of BLOCK elements of y [act_count]. */
static void
apply_act (void *context, int64_t first, int64_t end)
{
  const Activation *a = context;
  const int64_t from = first * BLOCK, to = end * BLOCK < a->self->act_count ? end * BLOCK : a->self->act_count;

  a->self->k.device->apply (a->self->act, a->y + from, to - from);
}

typedef struct
{
  const float *from;
  float *to;
} Copy;

static void
copy_part (void *context, int64_t from, int64_t to)
{
  const Copy *copy = context;

  memcpy (copy->to + from, copy->from + from, (size_t)(to - from) * sizeof (float));
}

static LoomStatus
run_calls (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Onednn *self = (Onednn *)k;

  if (self->summand > 0 && b[self->summand] != b[k->n_in])
    cpu_share (k, ACT_NS * (double)self->act_count, self->act_count, copy_part,
               &(Copy){ b[self->summand], b[k->n_in] });
  if (!execute (self, b, false))
    return failed (k, message);
  if (self->act != LOOM_SCALAR_ID)
    cpu_share (k, ACT_NS * (double)self->act_count, (self->act_count + BLOCK - 1) / BLOCK, apply_act,
               &(Activation){ self, b[k->n_in] });
  return LOOM_STATUS_OK;
}

static LoomStatus
prepare (LoomKernel *kernel, LoomStream *stream, void *const *b, LoomMessage *message)
{
  CpuKernel *k = (CpuKernel *)kernel;

  cpu_thread_prepare (k->device);
  return execute ((Onednn *)k, b, true) ? LOOM_STATUS_OK : failed (k, message);
}

static void
destroy (CpuKernel *k)
{
  Onednn *self = (Onednn *)k;

  for (int i = 0; i < self->n_calls; i++)
    dnnl_primitive_destroy (self->call[i].primitive);
  for (int i = 0; i < self->n_memories; i++)
    dnnl_memory_destroy (self->memory[i].memory);
  free (self->name);
}

Onednn *
onednn_new (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, double flops, LoomMessage *message)
{
  Onednn *self;

  if (onednn_engine () == NULL)
    {
      snprintf (message->text, sizeof message->text, "oneDNN has no CPU engine");
      return NULL;
    }
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, run_calls, message);
  if (self != NULL)
    {
      self->k.destroy = destroy;
      self->act = LOOM_SCALAR_ID;
      self->act_count = loom_desc_count (&spec->out[0]);
      self->fixed = spec->fixed;
      self->team = device->team > 0 ? device->team : device->threads;
      self->alone = device->team > 1 || (device->threads > 1 && flops / FLOPS_PER_NS < SHARED_NS);
      if (self->alone)
        cpu_thread_limit (1);
    }
  return self;
}

LoomStatus
onednn_finish (Onednn *self, bool ok, CpuKernel **kernel)
{
  if (self->alone)
    cpu_thread_limit (self->team);
  onednn_descs_free (self);
  if (!ok)
    {
      self->k.base.free (&self->k.base);
      return LOOM_STATUS_UNSUPPORTED;
    }
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

dnnl_memory_t
onednn_memory (Onednn *self, OnednnDesc md, int buffer, size_t offset)
{
  OnednnMemory *m = &self->memory[self->n_memories];

  if (md == NULL || self->n_memories == ONEDNN_MEMORIES
      || dnnl_memory_create (&m->memory, md, onednn_engine (), DNNL_MEMORY_NONE) != dnnl_success)
    return NULL;
  m->buffer = buffer;
  m->offset = offset;
  self->n_memories++;
  return m->memory;
}

/* A memory in the scratch, or in what the kernel keeps. */
static dnnl_memory_t
own_memory (Onednn *self, OnednnDesc md, bool is_kept)
{
  size_t *bytes = is_kept ? &self->k.base.kept_bytes : &self->k.base.scratch_bytes, offset = *bytes;

  if (md == NULL)
    return NULL;
  *bytes += (dnnl_memory_desc_get_size (md) + 63) & ~(size_t)63;
  return onednn_memory (self, md, self->k.n_in + self->k.n_out + is_kept, offset);
}

bool
onednn_arg (OnednnCall *call, int arg, dnnl_memory_t memory)
{
  if (memory == NULL || call->n_args == ONEDNN_ARGS)
    return false;
  call->arg[call->n_args++] = (dnnl_exec_arg_t){ arg, memory };
  return true;
}

static OnednnCall *
add_call (Onednn *self, dnnl_primitive_desc_t pd, bool prepares)
{
  OnednnCall *call = &self->call[self->n_calls];
  OnednnDesc md;
  bool ok = self->n_calls < ONEDNN_CALLS && dnnl_primitive_create (&call->primitive, pd) == dnnl_success;

  if (ok)
    {
      self->n_calls++;
      call->prepares = prepares;
      md = dnnl_primitive_desc_query_md (pd, dnnl_query_scratchpad_md, 0);
      if (md != NULL && dnnl_memory_desc_get_size (md) > 0)
        ok = onednn_arg (call, DNNL_ARG_SCRATCHPAD, own_memory (self, md, prepares));
    }
  dnnl_primitive_desc_destroy (pd);
  return ok ? call : NULL;
}

OnednnCall *
onednn_call (Onednn *self, dnnl_primitive_desc_t pd)
{
  return add_call (self, pd, false);
}

static bool
reorder (Onednn *self, OnednnDesc from_md, dnnl_memory_t from, OnednnDesc to_md, dnnl_memory_t to, bool prepares)
{
  dnnl_primitive_attr_t attr = onednn_attr ();
  dnnl_primitive_desc_t pd;
  OnednnCall *call;
  bool ok = from != NULL && to != NULL
            && dnnl_reorder_primitive_desc_create (&pd, from_md, onednn_engine (), to_md, onednn_engine (), attr)
                   == dnnl_success;

  dnnl_primitive_attr_destroy (attr);
  if (!ok)
    return false;
  call = add_call (self, pd, prepares);
  return call != NULL && onednn_arg (call, DNNL_ARG_FROM, from) && onednn_arg (call, DNNL_ARG_TO, to);
}

dnnl_memory_t
onednn_input (Onednn *self, int i, OnednnDesc given, OnednnDesc wanted)
{
  const bool is_fixed = (self->fixed >> i) & 1;
  dnnl_memory_t memory = onednn_memory (self, given, i, 0), other;

  if (memory == NULL || dnnl_memory_desc_equal (given, wanted))
    return memory;
  other = own_memory (self, wanted, is_fixed);
  if (is_fixed)
    self->k.base.prepare = prepare;
  return reorder (self, given, memory, wanted, other, is_fixed) ? other : NULL;
}

dnnl_memory_t
onednn_result (Onednn *self, int i, OnednnDesc given, OnednnDesc wanted)
{
  return dnnl_memory_desc_equal (given, wanted) ? onednn_memory (self, given, i, 0) : own_memory (self, wanted, false);
}

bool
onednn_output (Onednn *self, int i, dnnl_memory_t from, OnednnDesc given, OnednnDesc wanted)
{
  if (dnnl_memory_desc_equal (given, wanted))
    return true;
  return reorder (self, wanted, from, given, onednn_memory (self, given, i, 0), false);
}

dnnl_primitive_attr_t
onednn_attr (void)
{
  dnnl_primitive_attr_t attr = NULL;

  if (dnnl_primitive_attr_create (&attr) == dnnl_success)
    dnnl_primitive_attr_set_scratchpad_mode (attr, dnnl_scratchpad_mode_user);
  return attr;
}

void
onednn_describe (Onednn *self, const_dnnl_primitive_desc_t pd)
{
  const char *implementation = "";

  dnnl_primitive_desc_query (pd, dnnl_query_impl_info_str, 0, (void *)&implementation);
  free (self->name);
  if (asprintf (&self->name, "onednn %s", implementation) < 0)
    self->name = NULL;
  self->k.base.name = self->name != NULL ? self->name : "onednn";
}

/* ReLU as a post-operation: leaky with the smallest denormal as its negative slope, because with slope 0 oneDNN turns
 * NaN into 0, which would hide a diverged network. Denormals are flushed in computations (cpu-backend.c), so the slope
 * is 0 when it is multiplied. It must not be 0 when oneDNN reads it, so primitives with it are created with flushing
 * off. */
#define RELU_SLOPE 1.4e-45f

unsigned
onednn_denormals_on (void)
{
#ifdef __SSE__
  unsigned old = _mm_getcsr ();

  _mm_setcsr (old & ~0x8040u);
  return old;
#else
  return 0;
#endif
}

void
onednn_denormals_restore (unsigned old)
{
#ifdef __SSE__
  _mm_setcsr (old);
#endif
}

bool
onednn_fuse (dnnl_primitive_attr_t attr, bool has_sum, LoomScalarOp *act)
{
  const dnnl_alg_kind_t kind = *act == LOOM_SCALAR_RELU        ? dnnl_eltwise_relu
                               : *act == LOOM_SCALAR_SILU      ? dnnl_eltwise_swish
                               : *act == LOOM_SCALAR_HARDSWISH ? dnnl_eltwise_hardswish
                                                               : dnnl_alg_kind_undef;
  dnnl_post_ops_t ops;
  bool ok = dnnl_post_ops_create (&ops) == dnnl_success;

  if (!ok)
    return false;
  ok = !has_sum || onednn_append_sum (ops);
  if (ok && kind != dnnl_alg_kind_undef && onednn_append_eltwise (ops, kind, *act == LOOM_SCALAR_RELU ? RELU_SLOPE : 1))
    *act = LOOM_SCALAR_ID;
  ok = ok && dnnl_primitive_attr_set_post_ops (attr, ops) == dnnl_success;
  dnnl_post_ops_destroy (ops);
  return ok;
}

dnnl_data_type_t
onednn_type (LoomDType dtype)
{
  return dtype == LOOM_BF16 ? dnnl_bf16 : dtype == LOOM_F32 ? dnnl_f32 : dnnl_data_type_undef;
}
