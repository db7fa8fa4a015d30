/* Declarations shared by the files of the CUDA back end: the device, how a kernel is built and how faults are reported.
 *
 * The header is read by C (host code) and by CUDA C++ (own kernels), so it holds plain structs and functions only. Each
 * primitive has one constructor, all of one type, found through the table in cuda-table.c. A constructor checks the
 * spec, does all work that can be done before the first step and returns a struct whose first member is a LoomKernel.
 */
#ifndef LOOM_CUDA_INTERNAL_H
#define LOOM_CUDA_INTERNAL_H

#include <cuda_runtime_api.h>
#include <pthread.h>

#include "kernels/backend.h"

#ifdef __cplusplus
extern "C"
{
#endif

  /* The fault that a kernel found in its data. */
  typedef enum
  {
    CUDA_FAULT_NONE,
    CUDA_FAULT_INDEX,
    CUDA_FAULT_ROW,
    CUDA_FAULT_CLASS,
    CUDA_FAULT_REQUIREMENT,
    CUDA_FAULT_NOT_FINITE
  } CudaFaultKind;

  /* The first fault, in page-locked memory that the device writes and the host reads. */
  typedef struct
  {
    int kind; /* written last */
    long long value, limit, site, step;
    const struct CudaRequirement *of; /* on the host: the requirement that fails at element `value` */
  } CudaReport;

#define CUDA_MOST_OTHERS 15

  /* A stream's flag, in device memory, where the update's gate reads it. Several threads may find faults at once; any
   * one of them raises the flag and reports. `others` are reports of other devices' streams, which close the gate as
   * well: the device reads them directly in page-locked memory. */
  typedef struct
  {
    int raised;
    long long step;
    CudaReport *report;
    int n_others;
    const CudaReport *others[CUDA_MOST_OTHERS];
  } CudaFlag;

  /* The argument of a kernel that may raise the flag. The device copies `of` to the report and never dereferences it.
   */
  typedef struct
  {
    CudaFlag *flag;
    long long site;
    const struct CudaRequirement *of; /* on the host */
  } CudaRaise;

  /* The sentence of `require` and the shape of its condition; or another function that fills the message, given that
   * shape and an element's number in it. */
  struct CudaRequirement
  {
    LoomRequireAttrs attrs;
    LoomTensorDesc ok;
    LoomStatus (*tell) (LoomMessage *message, const LoomTensorDesc *of, int64_t place);
  };

  typedef struct CudaModuleCache CudaModuleCache;
  typedef struct CudaComm CudaComm;

  /* The state that a thread needs for launches: two runs share nothing of it. */
  struct LoomStream
  {
    cudaStream_t handle;
    CudaFlag *flag;                                      /* on the device */
    volatile CudaReport *report;                         /* on the host */
    const volatile CudaReport *others[CUDA_MOST_OTHERS]; /* copies of the flag's `others` on the host */
    int n_others;
    void *cudnn;  /* cudnnHandle_t for this stream, made by its first call of cuDNN */
    void *solver; /* handles of cuSOLVER and cuBLAS (cuda-solver.c), likewise */
  };

  struct LoomDevice
  {
    int index;
    int architecture; /* 90 for compute capability 9.0 */
    char uuid[16];
    int processors;   /* streaming multiprocessors */
    uint64_t reaches; /* bit i: the path to device i was opened, or is known to be missing; with the lock held */
    char name[256];
    LoomStream *stream;   /* used for NULL streams */
    pthread_mutex_t lock; /* of the handles below: plans may be made by several threads */
    void *blas;           /* cublasLtHandle_t, made at the first product; several threads may use it */
    void *cudnn;          /* cudnnHandle_t for queries, with the lock held; made by the first one */
    void *solver;         /* handles of cuSOLVER for queries, with the lock held */
    void *attention;      /* cuDNN's plans of attention, the newest first, with the lock held */
    void *convolutions;   /* cuDNN's answers for convolution graphs, likewise */
    CudaModuleCache *modules;
    CudaComm *comms; /* communicators of this device, the newest first */
    /* Devices that this one sends to or receives from, by their index: waiting for this one includes waiting for them.
     */
    struct LoomDevice *peers[CUDA_MOST_OTHERS + 1];
  };

  struct LoomEvent
  {
    cudaEvent_t handle;
  };

  typedef LoomStatus (*CudaConstructor) (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel,
                                         LoomMessage *message);

  /* An algorithm that computes a call. */
  typedef struct
  {
    const char *name; /* valid as long as the back end */
    size_t scratch;   /* as far as it is known before the kernel is made */
    double moved;     /* bytes that it reads and writes in addition to its operands and results */
  } CudaAlgorithm;

  typedef struct
  {
    const char *name;
    CudaConstructor make;
    /* Lists the algorithms that compute a call in its layouts, the best first, at most max; *n is 0 if there is none. A
     * status other than OK means that a device or library failed. make() then gets one of the names in the spec. NULL:
     * the only algorithm is "own". */
    LoomStatus (*algorithms) (LoomDevice *device, const LoomKernelSpec *spec, CudaAlgorithm *algorithms, int max,
                              int *n, LoomMessage *message);
    /* TRUE if "own" takes a call; for primitives whose kernel would compile something or take device memory if it were
     * made to find out. NULL: the kernel is made. */
    bool (*takes) (const LoomKernelSpec *spec);
  } CudaPrimitive;

  /* Ends at an entry with a NULL name. */
  extern const CudaPrimitive cuda_primitives[];

  const LoomBackend *loom_backend_entry (void);
  int cuda_options (LoomDevice *, const LoomKernelSpec *, const LoomCosts *, LoomKernelOption *option, int max,
                    LoomMessage *);
  LoomStatus cuda_kernel_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);

  /* A copy of the text that is valid as long as the back end; NULL without memory. */
  const char *cuda_name_keep (const char *text);

  /* ---- messages and launches -------------------------------------------- */

  /* Fills the message as printf does and returns the status; the message may be NULL. */
  LoomStatus
  cuda_fail (LoomMessage *message, LoomStatus status, const char *format, ...) __attribute__ ((format (printf, 3, 4)));

  /* Our status for an error of CUDA's runtime (or driver, whose numbers are the same), of cuBLAS, of cuDNN (including
   * the sub-codes of version 9) and of cuSOLVER. */
  LoomStatus cuda_status (int error);
  LoomStatus cuda_status_of_blas (int status);
  LoomStatus cuda_status_of_dnn (int status);
  LoomStatus cuda_status_of_solver (int status);

  /* LOOM_STATUS_OK for cudaSuccess, else a sentence that begins with the attempted operation. */
  LoomStatus cuda_check (cudaError_t error, const char *what, LoomMessage *message);

  /* The same for a library, whose own text is `text`. If a library reports a failure of the device and the runtime has
   * an error, the runtime's error is reported, because it shows whether the device is lost. */
  LoomStatus cuda_library_check (LoomStatus status, const char *what, const char *text, LoomMessage *message);

  /* The reason why the device cannot be used any more in this process: CUDA has reported it lost; else cudaSuccess. A
   * process never gets a lost device back. */
  cudaError_t cuda_lost (int index);

  /* The status of the kernel launch just made, without waiting for it. */
  LoomStatus cuda_launched (const char *what, LoomMessage *message);

  static inline cudaStream_t
  cuda_stream (LoomDevice *device, LoomStream *stream)
  {
    return (stream != NULL ? stream : device->stream)->handle;
  }

  /* The argument by which a kernel raises the stream's flag; `of` is NULL if the kind of the fault is sufficient. */
  static inline CudaRaise
  cuda_raise (LoomDevice *device, LoomStream *stream, const LoomKernel *kernel, const struct CudaRequirement *of)
  {
    CudaRaise raise = { (stream != NULL ? stream : device->stream)->flag, kernel->site, of };

    return raise;
  }

  /* Makes the device current on this thread: run() may be called by any thread. */
  void cuda_use (LoomDevice *device);

  /* Device memory that a kernel keeps for tables of addresses. Freed by cudaFree(). */
  LoomStatus cuda_table_new (LoomDevice *device, size_t bytes, void **table, LoomMessage *message);

  /* ---- tensor descriptions ---------------------------------------------- */

  /* Element strides of each logical axis in the tensor's layout. */
  void cuda_strides (const LoomTensorDesc *desc, int64_t strides[LOOM_MAX_RANK]);

  /* Every operand is plain and has this dtype. */
  bool cuda_all_plain (const LoomKernelSpec *spec);
  bool cuda_same_shape (const LoomTensorDesc *a, const LoomTensorDesc *b);

  /* Product of dim[from … to-1]. */
  int64_t cuda_extent (const LoomTensorDesc *desc, int from, int to);

  /* ---- constructors ------------------------------------------------------ */

  bool cuda_takes_elementwise (const LoomKernelSpec *);
  LoomStatus cuda_elementwise_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus
  cuda_matmul_algorithms (LoomDevice *, const LoomKernelSpec *, CudaAlgorithm *, int max, int *n, LoomMessage *);
  LoomStatus cuda_matmul_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_reduce_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_argreduce_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_softmax_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_softmax_grad_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_attention_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_attention_grad_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_attention_cached_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_cross_entropy_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_cross_entropy_grad_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_layer_norm_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_layer_norm_grad_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_batch_norm_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_batch_norm_grad_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_batch_norm_apply_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_gather_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_scatter_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_sort_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_cumsum_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_gather_rows_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_scatter_add_rows_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_permute_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_copy_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_expand_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_slice_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_pad_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_concat_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_move_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_fill_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_iota_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_require_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_random_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_grad_stats_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_update_gate_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_sgd_step_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_sgd_step_logged_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_undo_step_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_adam_step_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_rmsprop_step_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_adagrad_step_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_adadelta_step_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_nadam_step_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_adamax_step_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_radam_step_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_lion_step_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_lamb_step_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_lars_step_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_cholesky_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_triangular_solve_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_solve_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_det_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_cofactor_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_max_pool2d_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_max_pool2d_grad_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_avg_pool2d_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_avg_pool2d_grad_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  /* y = act (y [+ bias]) in place, the part that a product or a convolution leaves: buffers are y, [bias], y. bias
   * broadcasts to y. *kernel is NULL if nothing is left. */
  /* Convolutions computed as something simpler (cuda-conv-rewrite.c). */
  bool cuda_conv_product_takes (const LoomKernelSpec *);
  LoomStatus cuda_conv_product_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  bool cuda_conv_flipped_takes (const LoomKernelSpec *);
  LoomStatus cuda_conv_flipped_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  /* Convolutions with asymmetric padding, by cuDNN with the image padded before (cuda-conv-padded.c). */
  bool cuda_conv_padded_takes (const LoomKernelSpec *);
  LoomStatus cuda_conv_padded_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  /* The filter w [K,C,R,S], plain, as [C,K,R,S] with each [R,S] rotated by 180°: the filter of an input gradient. */
  LoomStatus cuda_flip_filter_new (LoomDevice *, const LoomTensorDesc *w, LoomKernel **, LoomMessage *);
  LoomStatus cuda_tail_new (LoomDevice *, const LoomTensorDesc *y, const LoomTensorDesc *bias, LoomScalarOp act,
                            LoomKernel **, LoomMessage *);
  /* Σ g over all axes but the second of g [N,K,P,Q]; the result [1,K,1,1] has the bytes of [K]. */
  LoomStatus cuda_channel_sum_new (LoomDevice *, const LoomTensorDesc *g, LoomKernel **, LoomMessage *);

  bool cuda_direct_takes (const LoomKernelSpec *);
  LoomStatus cuda_direct_conv2d_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_direct_input_grad_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  LoomStatus cuda_direct_weight_grad_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  /* scratch: bytes that the kernel will need. */
  bool cuda_gemm_weight_grad_takes (LoomDevice *, const LoomKernelSpec *, size_t *scratch);
  LoomStatus cuda_gemm_weight_grad_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  /* Σ g over all axes but the second of g [N,K,P,Q], into db [K]; buffers are g, db, scratch. */
  LoomStatus
  cuda_bias_grad_new (LoomDevice *, const LoomTensorDesc *g, const LoomTensorDesc *db, LoomKernel **, LoomMessage *);
#ifdef LOOM_HAVE_CUDNN
  /* Algorithms of the convolution and both its gradients, by the spec's primitive. */
  LoomStatus
  cuda_conv2d_algorithms (LoomDevice *, const LoomKernelSpec *, CudaAlgorithm *, int max, int *n, LoomMessage *);
  LoomStatus cuda_conv2d_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  /* Algorithms of the convolution with a bias or an activation as one graph (cuda-conv-graph.c), the best first; names
   * begin with the prefix and a colon. */
#define CUDA_CONV_GRAPH "cudnn-graph"
  LoomStatus
  cuda_conv_graph_algorithms (LoomDevice *, const LoomKernelSpec *, CudaAlgorithm *, int max, int *n, LoomMessage *);
  LoomStatus cuda_conv_graph_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
  /* Algorithms of attention and its gradient: cuDNN's, and the own ones (cuda-attention-dnn.c). */
  LoomStatus
  cuda_attention_algorithms (LoomDevice *, const LoomKernelSpec *, CudaAlgorithm *, int max, int *n, LoomMessage *);
  LoomStatus cuda_attention_dnn_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
#endif

#ifdef LOOM_HAVE_CUSOLVER
  /* Algorithms of cholesky, solve, det and triangular_solve: cuSOLVER's or cuBLAS's, and the own ones (cuda-solver.c).
   */
  LoomStatus
  cuda_linalg_algorithms (LoomDevice *, const LoomKernelSpec *, CudaAlgorithm *, int max, int *n, LoomMessage *);
  LoomStatus cuda_linalg_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);
#endif

  /* Converts n 16-bit floats from and to f32, after the work already on the stream (kernels/upcast.h). */
  LoomStatus cuda_upcast (LoomDevice *, LoomStream *, float *to, const void *from, LoomDType, int64_t n, LoomMessage *);
  LoomStatus
  cuda_downcast (LoomDevice *, LoomStream *, void *to, LoomDType, const float *from, int64_t n, LoomMessage *);
  /* LoomBackend.can_send, send and fault_join (cuda-peer.c). */
  bool cuda_can_send (LoomDevice *, LoomDevice *to);
  /* Must be called before the device is closed; the other devices stay open. */
  void cuda_forget_peers (LoomDevice *);
  LoomStatus cuda_send (LoomDevice *, LoomStream *, LoomDevice *to_device, void *to, const void *from, size_t bytes,
                        LoomMessage *);
  LoomStatus cuda_fault_join (LoomDevice *, LoomStream *, LoomDevice *other, LoomStream *of, LoomMessage *);
  /* Enqueues the number of the step that follows on the stream. */
  LoomStatus cuda_step_begin (LoomStream *stream, int64_t step, LoomMessage *message);

  /* Fetches the driver's functions that load run-time compiled kernels. */
  LoomStatus cuda_modules_open (LoomDevice *device, LoomMessage *message);

  /* Called when the device closes; each does nothing if its handle was never made. */
  void cuda_matmul_close (LoomDevice *device);
  void cuda_modules_close (LoomDevice *device);
#ifdef LOOM_HAVE_CUDNN
  void cuda_dnn_close (void *handle);
  void cuda_attention_close (LoomDevice *device);
  void cuda_conv_graph_close (LoomDevice *device);
#endif
#ifdef LOOM_HAVE_CUSOLVER
  void cuda_solver_close (void *handles);
#endif

#ifdef __cplusplus
}
#endif

#endif
