/* Private to kernels/cpu: what a CPU kernel is made of.
 *
 * The loops are compiled once for each instruction set (x86-64, -v3, -v4) from the
 * same files; ISA(name) gives each copy its own symbols and cpu-backend.c picks one
 * table of primitives when a device is opened. Only cpu_parallel() starts threads.
 * Floats are f32, and bf16 too in products, convolutions, pooling, normalisations and
 * element-wise work; data movement takes every type. */
#ifndef LOOM_CPU_H
#define LOOM_CPU_H

#include "kernels/backend.h"
#include "kernels/convert.h"
#include "kernels/primitives.h"
#include "kernels/shape.h"

#define ISA_PASTE2(a, b) a##_##b
#define ISA_PASTE(a, b)  ISA_PASTE2 (a, b)
#ifdef LOOM_ISA
#define ISA(name) ISA_PASTE (name, LOOM_ISA)
#endif

typedef struct CpuKernel CpuKernel;

/* b: buffers in…, out…, scratch as LoomKernel.run gets them. */
typedef LoomStatus (*CpuWork) (CpuKernel *k, void *const *b, LoomMessage *message);

struct CpuKernel
{
  LoomKernel base;
  CpuWork work;
  void (*destroy) (CpuKernel *k); /* frees what lies outside the block; may be NULL */
  LoomDevice *device;
  int threads;
  int n_in, n_out;
  LoomTensorDesc *in, *out;
  const void *attrs;
};

typedef LoomStatus (*CpuCreate) (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                                 LoomMessage *message);

/* One of several ways of computing a primitive: an option of its calls. */
typedef struct
{
  const char *name;
  CpuCreate create;
  /* true if it takes a call, where making the kernel to find out would not be cheap; else NULL, and it is made. */
  bool (*takes) (const LoomKernelSpec *spec);
  /* The operations that it makes, padding included; NULL: loom_spec_flops(). */
  double (*flops) (const LoomKernelSpec *spec);
} CpuAlgorithm;

typedef struct
{
  const char *name;
  size_t attrs_size;
  CpuCreate create;               /* the one algorithm, "own" */
  const CpuAlgorithm *algorithms; /* instead, where there are several; ends at an entry without a name */
} CpuPrimitive;

struct LoomDevice
{
  int index, threads;
  const CpuPrimitive *const *primitives; /* NULL-terminated, of one instruction set */
  const char *isa;                       /* for `gradloom plan` */
  /* y = act (y) over n elements, in that instruction set. */
  void (*apply) (LoomScalarOp act, float *y, int64_t n);
  /* Runs of bf16 and f16 from and to f32, likewise. */
  void (*widen) (float *to, const void *from, LoomDType type, int64_t n);
  void (*narrow) (void *to, LoomDType type, const float *from, int64_t n);
};

/* A zeroed kernel of `size` bytes, of which CpuKernel is the first member, with
 * copies of the spec's descriptions and attributes in the same block. */
void *cpu_kernel_new (size_t size, LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuWork work,
                      LoomMessage *message);

/* Calls part for contiguous shares of 0 … n-1, on as many threads as there are. */
typedef void (*CpuPart) (void *context, int64_t from, int64_t to);
void cpu_parallel (int threads, int64_t n, CpuPart part, void *context);

/* Splits the work when it is estimated to last long enough to pay for a fork and a
 * join, about 20 microseconds. */
#define CPU_PARALLEL_NS 20000.0
static inline void
cpu_share (const CpuKernel *k, double ns, int64_t n, CpuPart part, void *context)
{
  if (k->threads > 1 && ns > CPU_PARALLEL_NS && n > 1)
    cpu_parallel (k->threads, n, part, context);
  else
    part (context, 0, n);
}

LoomStatus cpu_index_fault (LoomMessage *message, const char *what, int64_t index, int64_t limit);

/* True when every floating operand is f32. */
bool cpu_all_f32 (const LoomKernelSpec *spec);
/* True when every operand of rank 4 has this layout. */
bool cpu_all_layout (const LoomKernelSpec *spec, LoomLayout layout);

/* In which ways a call can be computed (cpu-options.c), and the kernel of one of them. */
int cpu_options (LoomDevice *device, const LoomKernelSpec *spec, const LoomCosts *costs, LoomKernelOption *option,
                 int max, LoomMessage *message);
LoomStatus
cpu_kernel_create (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message);

/* oneDNN's part: cpu-onednn-*.c. UNSUPPORTED when oneDNN declines. */
const char *cpu_onednn_version (void); /* "oneDNN 2.6.3" */
bool cpu_onednn_takes_matmul (const LoomKernelSpec *spec);
bool cpu_onednn_takes_conv (const LoomKernelSpec *spec); /* conv2d and both gradients */
double cpu_onednn_conv_flops (const LoomKernelSpec *spec);
LoomStatus cpu_onednn_matmul (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                              LoomMessage *message);
LoomStatus cpu_onednn_conv2d (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                              LoomMessage *message);
LoomStatus cpu_onednn_conv2d_input_grad (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size,
                                         CpuKernel **kernel, LoomMessage *message);
LoomStatus cpu_onednn_conv2d_weight_grad (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size,
                                          CpuKernel **kernel, LoomMessage *message);
/* In front of all work of this thread: its team has the device's threads, they flush denormals, and they wait in the
 * way that the machine's other work allows. */
void cpu_thread_prepare (const LoomDevice *device);
/* How many threads the next parallel regions of this thread take: oneDNN asks that. */
void cpu_thread_limit (int threads);
/* Begins (or ends) the time in which waiting threads sleep at once; to be called in pairs, by a thread with a team of
 * `threads`. */
void cpu_wait_asleep (bool asleep, int threads);
/* true if a team counts as kept waiting, given whether it did so far, the share of the last sample's time for which
 * its threads together had no processor, and the number of that sample. */
bool cpu_is_kept_waiting (bool so_far, double share, unsigned samples);
/* How many processors this process may use at once: those of its affinity mask, or fewer where a control group allows
 * it less time. */
int cpu_processors (void);
/* The second part of that, at least 1, and 0 where nothing is limited: root is "/sys/fs/cgroup", membership
 * "/proc/self/cgroup" (both versions of control groups, see Linux's Documentation/admin-guide/cgroup-v2.rst). */
int cpu_quota (const char *root, const char *membership);

#ifdef LOOM_ISA
/* Declared here and put in the table by cpu-table.c. */
#define CPU_DECLARE(name) extern const CpuPrimitive ISA (cpu_##name);
LOOM_PRIMITIVES (CPU_DECLARE)
#undef CPU_DECLARE

/* Copies between the element types; elements stride apart on the loading side, 0 to
 * repeat one. NULL where there is no such type. */
typedef void (*CpuLoadF32) (float *to, const void *from, int64_t at, int64_t stride, int64_t n);
typedef void (*CpuStoreF32) (void *to, int64_t at, const float *from, int64_t n);
CpuLoadF32 ISA (cpu_load_f32) (LoomDType dtype);
CpuStoreF32 ISA (cpu_store_f32) (LoomDType dtype);
LoomStatus ISA (cpu_matmul_rows) (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                                  LoomMessage *message);
void ISA (cpu_apply) (LoomScalarOp act, float *y, int64_t n);
void ISA (cpu_widen) (float *to, const void *from, LoomDType type, int64_t n);
void ISA (cpu_narrow) (void *to, LoomDType type, const float *from, int64_t n);
#endif

#endif
