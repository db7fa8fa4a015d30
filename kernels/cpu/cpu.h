/* Private to kernels/cpu: the struct of a CPU kernel, its algorithms, devices and threads.
 *
 * The loops are compiled once for each instruction set (x86-64, -v3, -v4) from the same files; ISA(name) gives each
 * copy its own symbols, and cpu-backend.c chooses one table of primitives when a device is opened. Only cpu_parallel()
 * starts threads. Floats are f32, and bf16 too in products, convolutions, pooling, normalisations and element-wise
 * kernels; data movement supports every type. */
#ifndef LOOM_CPU_H
#define LOOM_CPU_H

#include "kernels/backend.h"
#include "kernels/convert.h"
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
  void (*destroy) (CpuKernel *k); /* frees memory outside of the block; may be NULL */
  LoomDevice *device;
  int threads;
  int n_in, n_out;
  LoomTensorDesc *in, *out;
  const void *attrs;
};

typedef LoomStatus (*CpuCreate) (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                                 LoomMessage *message);

/* One of several algorithms of a primitive: an option of its calls. */
typedef struct
{
  const char *name;
  CpuCreate create;
  /* True if it supports a call, for kernels that are expensive to make. NULL: the kernel is made to find out. */
  bool (*takes) (const LoomKernelSpec *spec);
  /* The operations that are executed, including padding. NULL: loom_spec_flops(). */
  double (*flops) (const LoomKernelSpec *spec);
} CpuAlgorithm;

typedef struct
{
  const char *name;
  size_t attrs_size;
  CpuCreate create;               /* the only algorithm, "own" */
  const CpuAlgorithm *algorithms; /* several algorithms instead; ends with an entry without a name */
} CpuPrimitive;

struct LoomDevice
{
  int index, threads;
  int team;                              /* of a part: the threads of the whole device; else 0 */
  const CpuPrimitive *const *primitives; /* NULL-terminated, of one instruction set */
  const char *isa;                       /* for `gradloom plan` */
  /* y = act (y) over n elements, in the device's instruction set. */
  void (*apply) (LoomScalarOp act, float *y, int64_t n);
  /* Converts runs of bf16 and f16 from and to f32, in the device's instruction set. */
  void (*widen) (float *to, const void *from, LoomDType type, int64_t n);
  void (*narrow) (void *to, LoomDType type, const float *from, int64_t n);
};

/* A zeroed kernel of `size` bytes, of which CpuKernel is the first member, with
 * copies of the spec's descriptions and attributes in the same block. */
void *cpu_kernel_new (size_t size, LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuWork work,
                      LoomMessage *message);

/* Calls part for contiguous ranges of 0 … n-1, on up to `threads` threads. */
typedef void (*CpuPart) (void *context, int64_t from, int64_t to);
void cpu_parallel (int threads, int64_t n, CpuPart part, void *context);

/* Divides the work if it is estimated to last longer than a fork and a join of waiting threads, with the work that they
 * then save. */
#define CPU_PARALLEL_NS 8000.0
static inline void
cpu_share (const CpuKernel *k, double ns, int64_t n, CpuPart part, void *context)
{
  if (k->threads > 1 && ns > CPU_PARALLEL_NS && n > 1)
    cpu_parallel (k->threads, n, part, context);
  else
    part (context, 0, n);
}

LoomStatus cpu_index_fault (LoomMessage *message, const char *what, int64_t index, int64_t limit);

/* True if every floating operand is f32. */
bool cpu_all_f32 (const LoomKernelSpec *spec);
/* True if every operand of rank 4 has this layout. */
bool cpu_all_layout (const LoomKernelSpec *spec, LoomLayout layout);

/* Lists the options of a call, and makes the kernel of one of them (cpu-options.c). */
int cpu_options (LoomDevice *device, const LoomKernelSpec *spec, const LoomCosts *costs, LoomKernelOption *option,
                 int max, LoomMessage *message);
LoomStatus
cpu_kernel_create (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message);

/* oneDNN's part: cpu-onednn-*.c. UNSUPPORTED if oneDNN declines. */
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
/* Called before all work of this thread, does nothing for a part: its team gets the device's number of threads, they
 * flush denormals, and they wait in the way that suits the load of the machine. */
void cpu_thread_prepare (const LoomDevice *device);
/* Sets the number of threads of this thread's next parallel regions, which oneDNN queries. */
void cpu_thread_limit (int threads);
/* Begins (or ends) a time in which waiting threads sleep at once. Called in pairs, by a thread with a team of
 * `threads`. */
void cpu_wait_asleep (bool asleep, int threads);
/* True if a team counts as waiting for processors. so_far: the state before; share: the fraction of the last sample's
 * time for which its threads together had no processor; samples: the number of that sample. */
bool cpu_is_kept_waiting (bool so_far, double share, unsigned samples);
/* The number of processors that this process may use at once: those of its affinity mask, or fewer if a control group
 * limits its time. */
int cpu_processors (void);
/* The limit by control groups, at least 1; 0: no limit. root is "/sys/fs/cgroup", membership "/proc/self/cgroup" (both
 * versions of control groups, see Linux's Documentation/admin-guide/cgroup-v2.rst). */
int cpu_quota (const char *root, const char *membership);

#ifdef LOOM_ISA
/* Convert between the element types, with a stride of the loaded elements, 0 to repeat one. NULL if there is no such
 * type. */
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
