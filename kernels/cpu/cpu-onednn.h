/* Private to cpu-onednn-*.c: a kernel as a short list of oneDNN primitives, the computation itself and the reorders
 * before and after it.
 *
 * Only these files use oneDNN. The differences between 2.x and 3.x (descriptions of memory and of primitives) are in
 * cpu-onednn-v2.c and cpu-onednn-v3.c, of which the build compiles the one for the installed header; the other files
 * are the same for both. Memory objects are made with the kernel and get their addresses when these change. */
#ifndef LOOM_CPU_ONEDNN_H
#define LOOM_CPU_ONEDNN_H

#include <oneapi/dnnl/dnnl.h>

#include "kernels/cpu/cpu.h"

#define ONEDNN_MEMORIES 20
#define ONEDNN_CALLS    6
#define ONEDNN_ARGS     6
#define ONEDNN_BUFFERS  8
#define ONEDNN_DESCS    16

/* The description of a tensor in memory: in 2.x a struct, in 3.x an opaque object; here always used by pointer. */
#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t OnednnDesc;
#else
typedef const dnnl_memory_desc_t *OnednnDesc;
#endif

typedef struct
{
  dnnl_memory_t memory;
  int buffer; /* in…, out…, scratch, kept */
  size_t offset;
} OnednnMemory;

typedef struct
{
  dnnl_primitive_t primitive;
  int n_args;
  dnnl_exec_arg_t arg[ONEDNN_ARGS];
  bool prepares; /* it packs a fixed operand, once */
} OnednnCall;

typedef struct
{
  CpuKernel k;
  int n_memories, n_calls, n_descs;
  OnednnMemory memory[ONEDNN_MEMORIES];
  OnednnCall call[ONEDNN_CALLS];
  OnednnDesc desc[ONEDNN_DESCS]; /* needed while the kernel is made; freed by onednn_finish() */
  void *bound[ONEDNN_BUFFERS];
  LoomScalarOp act; /* applied to output 0 in a separate pass */
  int64_t act_count;
  int summand;    /* the input that result 0 begins as, if it is not there already; 0: none */
  uint64_t fixed; /* LoomKernelSpec.fixed */
  bool alone; /* too little work for several threads, or a part: one thread plans and runs it */
  int team;   /* the number of threads of other calls */
  char *name; /* NULL: none yet */
} Onednn;

dnnl_engine_t onednn_engine (void);
/* Begins a kernel. flops: the work of one run, which decides whether threads share it. Each onednn_new() is followed by
 * one onednn_finish(), which keeps or frees the kernel. */
Onednn *
onednn_new (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, double flops, LoomMessage *message);
LoomStatus onednn_finish (Onednn *self, bool ok, CpuKernel **kernel);

/* Descriptions that the kernel owns until onednn_finish(); NULL on failure. strides: in elements, NULL for plain order.
 */
OnednnDesc
onednn_desc_tag (Onednn *self, int rank, const dnnl_dims_t dims, dnnl_data_type_t type, dnnl_format_tag_t tag);
OnednnDesc
onednn_desc_strides (Onednn *self, int rank, const dnnl_dims_t dims, dnnl_data_type_t type, const dnnl_dims_t strides);
/* A copy of the description that a primitive requires for an argument; it outlives the primitive's description. */
OnednnDesc onednn_desc_wanted (Onednn *self, const_dnnl_primitive_desc_t pd, int arg);
void onednn_descs_free (Onednn *self);

/* A convolution: x [N,C,H,W], w [O,C/groups,kh,kw] or [groups,O/groups,C/groups,kh,kw], y [N,O,H',W'], bias [O] or
 * NULL. */
typedef struct
{
  OnednnDesc x, w, y, bias;       /* as stored outside */
  OnednnDesc any_x, any_w, any_y; /* as oneDNN may choose */
  dnnl_dims_t stride, dilation, pad_from, pad_to;
} OnednnConv;

/* Descriptions of primitives, NULL if oneDNN has none; the caller passes it to onednn_call() or destroys it. The
 * gradients need a forward pass of the same convolution as a hint. */
dnnl_primitive_desc_t onednn_conv_forward (const OnednnConv *c, const_dnnl_primitive_attr_t attr);
dnnl_primitive_desc_t
onednn_conv_input_grad (const OnednnConv *c, const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr);
dnnl_primitive_desc_t
onednn_conv_weight_grad (const OnednnConv *c, const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr);
/* y = a·b + bias, all of one rank; bias may be NULL. */
dnnl_primitive_desc_t
onednn_matmul (OnednnDesc a, OnednnDesc b, OnednnDesc bias, OnednnDesc y, const_dnnl_primitive_attr_t attr);
bool onednn_append_sum (dnnl_post_ops_t ops);
bool onednn_append_eltwise (dnnl_post_ops_t ops, dnnl_alg_kind_t kind, float alpha);

/* A memory object for a buffer at an offset; NULL on failure. */
dnnl_memory_t onednn_memory (Onednn *self, OnednnDesc md, int buffer, size_t offset);
/* Makes primitive desc pd (transfer full) the next call; its scratchpad is added. */
OnednnCall *onednn_call (Onednn *self, dnnl_primitive_desc_t pd);
bool onednn_arg (OnednnCall *call, int arg, dnnl_memory_t memory);
/* Returns memory in the format `wanted` for buffer i of format `given`: the same memory, or scratch that a reorder
 * fills first (input; if it is fixed, kept memory that is filled once), or that onednn_output() copies out. */
dnnl_memory_t onednn_input (Onednn *self, int i, OnednnDesc given, OnednnDesc wanted);
bool onednn_output (Onednn *self, int i, dnnl_memory_t from, OnednnDesc given, OnednnDesc wanted);
dnnl_memory_t onednn_result (Onednn *self, int i, OnednnDesc given, OnednnDesc wanted);
/* Attributes with scratchpad_mode_user; the caller destroys them. */
dnnl_primitive_attr_t onednn_attr (void);
/* Adds what the result's memory holds, if has_sum, and then an activation that keeps NaN: *act becomes LOOM_SCALAR_ID if
 * oneDNN has it, and is left for a separate pass if not. The caller creates the primitive between the two calls below. */
bool onednn_fuse (dnnl_primitive_attr_t attr, bool has_sum, LoomScalarOp *act);
unsigned onednn_denormals_on (void);
void onednn_denormals_restore (unsigned old);
/* f32 and bf16; undefined for other types. */
dnnl_data_type_t onednn_type (LoomDType dtype);
void onednn_describe (Onednn *self, const_dnnl_primitive_desc_t pd);

#endif
