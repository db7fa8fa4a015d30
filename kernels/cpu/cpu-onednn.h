/* Private to cpu-onednn-*.c: a kernel as a short list of oneDNN 2.x primitives, the
 * work itself and the reorders before and after it.
 *
 * Nothing outside this file family names oneDNN; 3.x, which creates primitives
 * differently, would be a second family. Memory objects are made with the kernel and
 * get their addresses when these change. */
#ifndef LOOM_CPU_ONEDNN_H
#define LOOM_CPU_ONEDNN_H

#include <oneapi/dnnl/dnnl.h>

#include "kernels/cpu/cpu.h"

#define ONEDNN_MEMORIES 20
#define ONEDNN_CALLS    6
#define ONEDNN_ARGS     6
#define ONEDNN_BUFFERS  6

typedef struct
{
  dnnl_memory_t memory;
  int buffer; /* in…, out…, scratch */
  size_t offset;
} OnednnMemory;

typedef struct
{
  dnnl_primitive_t primitive;
  int n_args;
  dnnl_exec_arg_t arg[ONEDNN_ARGS];
} OnednnCall;

typedef struct
{
  CpuKernel k;
  int n_memories, n_calls;
  OnednnMemory memory[ONEDNN_MEMORIES];
  OnednnCall call[ONEDNN_CALLS];
  void *bound[ONEDNN_BUFFERS];
  LoomScalarOp act; /* applied in own loops to output 0 afterwards */
  int64_t act_count;
  bool alone; /* too little work to share: one thread plans and runs it */
  char name[80];
} Onednn;

dnnl_engine_t onednn_engine (void);
LoomStatus onednn_work (CpuKernel *k, void *const *b, LoomMessage *message);
/* flops: the work of one run, which decides whether threads share it. Each
 * onednn_new() is followed by one onednn_finish(), which keeps or frees the kernel. */
Onednn *
onednn_new (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, double flops, LoomMessage *message);
LoomStatus onednn_finish (Onednn *self, bool ok, CpuKernel **kernel);

/* A memory over a buffer at an offset, NULL on failure. */
dnnl_memory_t onednn_memory (Onednn *self, const dnnl_memory_desc_t *md, int buffer, size_t offset);
/* A memory of its own in the scratch. */
dnnl_memory_t onednn_scratch (Onednn *self, const dnnl_memory_desc_t *md);
/* Makes primitive desc pd (taken over) the next call; its scratchpad is added. */
OnednnCall *onednn_call (Onednn *self, dnnl_primitive_desc_t pd);
bool onednn_arg (OnednnCall *call, int arg, dnnl_memory_t memory);
/* Memory in the format `wanted` for buffer i, which lies as `given`: the same memory, or
 * a scratch that a reorder fills first (input), or that onednn_output() empties. */
dnnl_memory_t onednn_input (Onednn *self, int i, const dnnl_memory_desc_t *given, const dnnl_memory_desc_t *wanted);
bool onednn_output (Onednn *self, int i, dnnl_memory_t from, const dnnl_memory_desc_t *given,
                    const dnnl_memory_desc_t *wanted);
dnnl_memory_t onednn_result (Onednn *self, int i, const dnnl_memory_desc_t *given, const dnnl_memory_desc_t *wanted);
/* Attributes with scratchpad_mode_user; the caller destroys them. */
dnnl_primitive_attr_t onednn_attr (void);
/* A relu behind the primitive that keeps NaN. Whoever uses it creates the primitive between the two calls below. */
bool onednn_fuse_relu (dnnl_primitive_attr_t attr);
unsigned onednn_denormals_on (void);
void onednn_denormals_restore (unsigned old);
/* f32 and bf16; undefined for all else. */
dnnl_data_type_t onednn_type (LoomDType dtype);
void onednn_describe (Onednn *self, const_dnnl_primitive_desc_t pd);

#endif
