/* cuDNN's handles and operation graphs.
 *
 * A graph is described by operations and tensors, and cuDNN looks for an engine that computes it in one kernel or a
 * few. The engine is chosen when a call is planned; none is run for a trial. Names of the heuristic's modes and of
 * attributes are those of the cuDNN backend API. */
#include "kernels/cuda/cuda-dnn.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHOICES 8 /* engines that are considered */

#if CUDNN_VERSION < 90200
/* Before 9.2 the library does not know this attribute, and then no engine is chosen. */
#define CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE ((cudnnBackendAttributeName_t)303)
#endif

/* ---- handles ----------------------------------------------------------------------------------- */

LoomStatus
cuda_dnn_check (cudnnStatus_t result, const char *what, LoomMessage *message)
{
  if (result == CUDNN_STATUS_SUCCESS)
    return LOOM_STATUS_OK;
  return cuda_library_check (cuda_status_of_dnn ((int)result), what, cudnnGetErrorString (result), message);
}

void
cuda_dnn_close (void *handle)
{
  if (handle != NULL)
    cudnnDestroy (handle);
}

LoomStatus
cuda_dnn_stream_handle (LoomDevice *device, LoomStream *stream, cudnnHandle_t *handle, LoomMessage *message)
{
  LoomStream *of = stream != NULL ? stream : device->stream;
  LoomStatus status = LOOM_STATUS_OK;

  cuda_use (device);
  if (of->cudnn == NULL)
    {
      status = cuda_dnn_check (cudnnCreate (handle), "opening cuDNN", message);
      if (status == LOOM_STATUS_OK)
        status = cuda_dnn_check (cudnnSetStream (*handle, of->handle), "setting cuDNN's stream", message);
      if (status == LOOM_STATUS_OK)
        of->cudnn = *handle;
      else
        cuda_dnn_close (*handle);
    }
  *handle = of->cudnn;
  return status;
}

LoomStatus
cuda_dnn_query_handle (LoomDevice *device, cudnnHandle_t *handle, LoomMessage *message)
{
  LoomStatus status = LOOM_STATUS_OK;

  if (device->cudnn == NULL)
    {
      *handle = NULL;
      status = cuda_dnn_check (cudnnCreate (handle), "opening cuDNN", message);
      device->cudnn = *handle;
    }
  *handle = device->cudnn;
  return status;
}

/* ---- descriptors ------------------------------------------------------------------------------- */

static cudnnBackendDescriptor_t
begin (CudaDnnGraph *g, cudnnBackendDescriptorType_t type)
{
  cudnnBackendDescriptor_t made = NULL;

  if (g->status == CUDNN_STATUS_SUCCESS)
    g->status = g->n_made < CUDA_DNN_MADE ? cudnnBackendCreateDescriptor (type, &made) : CUDNN_STATUS_NOT_SUPPORTED;
  if (g->status != CUDNN_STATUS_SUCCESS)
    return NULL;
  g->made[g->n_made++] = made;
  return made;
}

static void
set (CudaDnnGraph *g, cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
     int64_t n, const void *value)
{
  if (g->status == CUDNN_STATUS_SUCCESS)
    g->status = cudnnBackendSetAttribute (of, name, type, n, value);
}

static void
set_one (CudaDnnGraph *g, cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t value)
{
  set (g, of, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static void
end (CudaDnnGraph *g, cudnnBackendDescriptor_t of)
{
  if (g->status == CUDNN_STATUS_SUCCESS)
    g->status = cudnnBackendFinalize (of);
}

static void
end_op (CudaDnnGraph *g, cudnnBackendDescriptor_t op)
{
  end (g, op);
  if (g->status == CUDNN_STATUS_SUCCESS && g->n_ops == CUDA_DNN_OPS)
    g->status = CUDNN_STATUS_NOT_SUPPORTED;
  if (g->status == CUDNN_STATUS_SUCCESS)
    g->ops[g->n_ops++] = op;
}

static CudaDnnTensor
tensor (CudaDnnGraph *g, int64_t id, cudnnDataType_t type, const int64_t dim[4], const int64_t stride[4],
        bool is_virtual, bool is_value)
{
  cudnnBackendDescriptor_t to = begin (g, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const int64_t alignment = is_value ? 4 : 16;

  set (g, to, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
  set (g, to, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  set (g, to, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dim);
  set (g, to, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, stride);
  set (g, to, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
  set (g, to, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
  set (g, to, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &is_value);
  end (g, to);
  return to;
}

CudaDnnTensor
cuda_dnn_tensor (CudaDnnGraph *g, int64_t id, cudnnDataType_t type, const int64_t dim[4], const int64_t stride[4])
{
  return tensor (g, id, type, dim, stride, false, false);
}

CudaDnnTensor
cuda_dnn_scalar (CudaDnnGraph *g, int64_t id)
{
  static const int64_t one[4] = { 1, 1, 1, 1 };

  return tensor (g, id, CUDNN_DATA_FLOAT, one, one, false, true);
}

CudaDnnTensor
cuda_dnn_inner (CudaDnnGraph *g, cudnnDataType_t type, const int64_t dim[4], const int64_t stride[4])
{
  /* From 9.23 on, cuDNN takes the id -1 as "no tensor". */
  return tensor (g, -2 - g->n_inner++, type, dim, stride, true, false);
}

/* ---- operations -------------------------------------------------------------------------------- */

void
cuda_dnn_convolve (CudaDnnGraph *g, const int64_t stride[2], const int64_t before[2], const int64_t after[2],
                   const int64_t dilation[2], CudaDnnTensor x, CudaDnnTensor w, CudaDnnTensor y)
{
  cudnnBackendDescriptor_t how = begin (g, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR), op;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  const cudnnDataType_t sums = CUDNN_DATA_FLOAT;
  const int64_t axes = 2;
  const float one = 1, zero = 0;

  set (g, how, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums);
  set (g, how, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  set (g, how, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &axes);
  set (g, how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, stride);
  set (g, how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, before);
  set (g, how, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, after);
  set (g, how, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, dilation);
  end (g, how);
  op = begin (g, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  set_one (g, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, how);
  set_one (g, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
  set_one (g, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w);
  set_one (g, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
  set (g, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, &one);
  set (g, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, &zero);
  end_op (g, op);
}

void
cuda_dnn_matmul (CudaDnnGraph *g, CudaDnnTensor a, CudaDnnTensor b, CudaDnnTensor c)
{
  cudnnBackendDescriptor_t how = begin (g, CUDNN_BACKEND_MATMUL_DESCRIPTOR), op;
  const cudnnDataType_t sums = CUDNN_DATA_FLOAT;

  set (g, how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums);
  end (g, how);
  op = begin (g, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  set_one (g, op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
  set_one (g, op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
  set_one (g, op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
  set_one (g, op, CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
  end_op (g, op);
}

/* `axis` is below 0 if the mode has none. */
static void
pointwise (CudaDnnGraph *g, cudnnPointwiseMode_t mode, cudnnDataType_t type, int64_t axis, CudaDnnTensor x,
           CudaDnnTensor b, CudaDnnTensor t, CudaDnnTensor y)
{
  cudnnBackendDescriptor_t how = begin (g, CUDNN_BACKEND_POINTWISE_DESCRIPTOR), op;

  set (g, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  set (g, how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type);
  if (axis >= 0)
    set (g, how, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis);
  end (g, how);
  op = begin (g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  set_one (g, op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
  set_one (g, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  if (b != NULL)
    set_one (g, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
  if (t != NULL)
    set_one (g, op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, t);
  set_one (g, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  end_op (g, op);
}

void
cuda_dnn_pointwise (CudaDnnGraph *g, cudnnPointwiseMode_t mode, cudnnDataType_t type, CudaDnnTensor x, CudaDnnTensor b,
                    CudaDnnTensor y)
{
  pointwise (g, mode, type, -1, x, b, NULL, y);
}

void
cuda_dnn_index (CudaDnnGraph *g, int64_t axis, CudaDnnTensor x, CudaDnnTensor y)
{
  pointwise (g, CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, axis, x, NULL, NULL, y);
}

void
cuda_dnn_select (CudaDnnGraph *g, CudaDnnTensor x, CudaDnnTensor b, CudaDnnTensor keep, CudaDnnTensor y)
{
  pointwise (g, CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, -1, x, b, keep, y);
}

void
cuda_dnn_reduce (CudaDnnGraph *g, cudnnReduceTensorOp_t of, CudaDnnTensor x, CudaDnnTensor y)
{
  cudnnBackendDescriptor_t how = begin (g, CUDNN_BACKEND_REDUCTION_DESCRIPTOR), op;
  const cudnnDataType_t sums = CUDNN_DATA_FLOAT;

  set (g, how, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &of);
  set (g, how, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums);
  end (g, how);
  op = begin (g, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  set_one (g, op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
  set_one (g, op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
  set_one (g, op, CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
  end_op (g, op);
}

void
cuda_dnn_reshape (CudaDnnGraph *g, CudaDnnTensor x, CudaDnnTensor y)
{
  cudnnBackendDescriptor_t op = begin (g, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);

  set_one (g, op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
  set_one (g, op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
  end_op (g, op);
}

/* ---- engines ----------------------------------------------------------------------------------- */

/* TRUE if an engine has one of these notes, or does not report its notes. */
static bool
has_note (cudnnBackendDescriptor_t engine, unsigned refused)
{
  cudnnBackendNumericalNote_t note[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  int64_t n = 0;

  if (cudnnBackendGetAttribute (engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &n, note)
      != CUDNN_STATUS_SUCCESS)
    return true;
  for (int64_t i = 0; i < n && i < CUDNN_NUMERICAL_NOTE_TYPE_COUNT; i++)
    if ((refused >> note[i]) & 1)
      return true;
  return false;
}

/* TRUE if a proposed configuration needs at most `room` bytes and its engine has none of these notes. `engine` is an
 * unfilled descriptor. */
static bool
is_wanted (cudnnBackendDescriptor_t proposed, cudnnBackendDescriptor_t engine, size_t room, unsigned refused,
           size_t *workspace)
{
  int64_t n = 0, bytes = 0;

  if (engine == NULL
      || cudnnBackendGetAttribute (proposed, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &n, &bytes)
             != CUDNN_STATUS_SUCCESS
      || bytes < 0 || (uint64_t)bytes > room
      || cudnnBackendGetAttribute (proposed, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n, &engine)
             != CUDNN_STATUS_SUCCESS)
    return false;
  *workspace = (size_t)bytes;
  return !has_note (engine, refused);
}

/* The plan of a configuration; NULL with cuDNN's status in the graph if cuDNN does not build it. */
static cudnnBackendDescriptor_t
plan_of (CudaDnnGraph *g, cudnnHandle_t handle, cudnnBackendDescriptor_t configuration)
{
  cudnnBackendDescriptor_t plan = begin (g, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);

  set (g, plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  set_one (g, plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  end (g, plan);
  return g->status == CUDNN_STATUS_SUCCESS ? plan : NULL;
}

/* The graph of all operations. */
static cudnnBackendDescriptor_t
whole (CudaDnnGraph *g, cudnnHandle_t handle)
{
  cudnnBackendDescriptor_t graph = begin (g, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);

  set (g, graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  set (g, graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, g->n_ops, g->ops);
  end (g, graph);
  return graph;
}

/* The configurations that cuDNN proposes for the graph, the best first. Returns their number. */
static int64_t
propose (CudaDnnGraph *g, cudnnHandle_t handle, cudnnBackendDescriptor_t to[CHOICES])
{
  const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  cudnnBackendDescriptor_t graph = whole (g, handle), heuristics;
  int64_t n = 0;

  heuristics = begin (g, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set_one (g, heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  set (g, heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  end (g, heuristics);
  for (int i = 0; i < CHOICES; i++)
    to[i] = begin (g, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  if (g->status == CUDNN_STATUS_SUCCESS)
    g->status = cudnnBackendGetAttribute (heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                          CHOICES, &n, to);
  return g->status == CUDNN_STATUS_SUCCESS ? n < CHOICES ? n : CHOICES : 0;
}

LoomStatus
cuda_dnn_choose (LoomDevice *device, CudaDnnGraph *g, size_t room, size_t *workspace, cudnnBackendDescriptor_t *plan,
                 LoomMessage *message)
{
  cudnnBackendDescriptor_t proposed[CHOICES], made = NULL;
  cudnnHandle_t handle = NULL;
  LoomStatus status;
  int64_t n = 0;
  bool found = false;

  pthread_mutex_lock (&device->lock);
  status = cuda_dnn_query_handle (device, &handle, message);
  if (status == LOOM_STATUS_OK)
    n = propose (g, handle, proposed);
  if (status == LOOM_STATUS_OK)
    status = cuda_dnn_check (g->status, "asking cuDNN for an engine", message);
  for (int64_t i = 0; i < n && !found; i++)
    {
      if (!is_wanted (proposed[i], begin (g, CUDNN_BACKEND_ENGINE_DESCRIPTOR), room, CUDA_DNN_NOTE (NONDETERMINISTIC),
                      workspace))
        continue;
      found = plan == NULL || (made = plan_of (g, handle, proposed[i])) != NULL;
      /* An engine that cannot be compiled is no failure while there is another one. */
      if (!found)
        g->status = CUDNN_STATUS_SUCCESS;
    }
  pthread_mutex_unlock (&device->lock);
  if (status == LOOM_STATUS_OK && !found)
    status = LOOM_STATUS_UNSUPPORTED;
  if (status != LOOM_STATUS_OK)
    return status;
  if (plan != NULL)
    *plan = made;
  return LOOM_STATUS_OK;
}

/* ---- engines by name --------------------------------------------------------------------------- */

/* Writes the name of a configuration; false if a name cannot hold all of its knobs. */
static bool
name_engine (cudnnBackendDescriptor_t configuration, cudnnBackendDescriptor_t engine, char name[CUDA_DNN_NAME])
{
  CudaDnnGraph knobs = { .status = CUDNN_STATUS_SUCCESS };
  int64_t count = 0, number = 0, n = 0;
  int used;

  for (int i = 0; i < CUDNN_KNOB_TYPE_COUNTS; i++)
    begin (&knobs, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
  if (knobs.status == CUDNN_STATUS_SUCCESS)
    knobs.status
        = cudnnBackendGetAttribute (engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count, &number);
  if (knobs.status == CUDNN_STATUS_SUCCESS)
    knobs.status = cudnnBackendGetAttribute (configuration, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                             CUDNN_TYPE_BACKEND_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS, &n, knobs.made);
  used = snprintf (name, CUDA_DNN_NAME, "eng%" PRId64, number);
  for (int64_t i = 0; i < n && knobs.status == CUDNN_STATUS_SUCCESS && used < CUDA_DNN_NAME; i++)
    {
      cudnnBackendKnobType_t knob = 0;
      int64_t value = 0;

      knobs.status = cudnnBackendGetAttribute (knobs.made[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1,
                                               &count, &knob);
      if (knobs.status == CUDNN_STATUS_SUCCESS)
        knobs.status = cudnnBackendGetAttribute (knobs.made[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1,
                                                 &count, &value);
      used += snprintf (name + used, (size_t)(CUDA_DNN_NAME - used), "k%d-%" PRId64, (int)knob, value);
    }
  n = knobs.status;
  cuda_dnn_graph_clear (&knobs);
  return n == CUDNN_STATUS_SUCCESS && used < CUDA_DNN_NAME;
}

LoomStatus
cuda_dnn_engines (LoomDevice *device, CudaDnnGraph *g, size_t room, unsigned refused, CudaDnnEngine *found, int max,
                  int *n_found, LoomMessage *message)
{
  cudnnBackendDescriptor_t proposed[CHOICES];
  cudnnHandle_t handle = NULL;
  LoomStatus status;
  int64_t n = 0;

  *n_found = 0;
  pthread_mutex_lock (&device->lock);
  status = cuda_dnn_query_handle (device, &handle, message);
  if (status == LOOM_STATUS_OK)
    n = propose (g, handle, proposed);
  if (status == LOOM_STATUS_OK)
    status = cuda_dnn_check (g->status, "asking cuDNN for an engine", message);
  for (int64_t i = 0; i < n && *n_found < max; i++)
    {
      cudnnBackendDescriptor_t engine = begin (g, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
      CudaDnnEngine *to = &found[*n_found];

      if (is_wanted (proposed[i], engine, room, refused, &to->workspace) && name_engine (proposed[i], engine, to->name))
        ++*n_found;
    }
  pthread_mutex_unlock (&device->lock);
  return status;
}

/* The configuration of a name: the engine with its knobs. NULL, with a status in the graph, if the name is invalid or
 * cuDNN does not have the engine. */
static cudnnBackendDescriptor_t
engine_named (CudaDnnGraph *g, cudnnHandle_t handle, const char *name, unsigned refused)
{
  cudnnBackendDescriptor_t graph = whole (g, handle), knobs[CUDNN_KNOB_TYPE_COUNTS], engine, configuration;
  int64_t number = -1, n = 0;
  char *rest = (char *)name;

  if (strncmp (name, "eng", 3) == 0)
    number = strtoll (name + 3, &rest, 10);
  engine = begin (g, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  set_one (g, engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
  set (g, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &number);
  end (g, engine);
  for (; *rest == 'k' && n < CUDNN_KNOB_TYPE_COUNTS; n++)
    {
      const cudnnBackendKnobType_t knob = (cudnnBackendKnobType_t)strtol (rest + 1, &rest, 10);
      const int64_t value = *rest == '-' ? strtoll (rest + 1, &rest, 10) : 0;

      knobs[n] = begin (g, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
      set (g, knobs[n], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &knob);
      set (g, knobs[n], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &value);
      end (g, knobs[n]);
    }
  if (g->status == CUDNN_STATUS_SUCCESS && (number < 0 || *rest != '\0' || has_note (engine, refused)))
    g->status = CUDNN_STATUS_NOT_SUPPORTED;
  configuration = begin (g, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  set_one (g, configuration, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  if (n > 0)
    set (g, configuration, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, n, knobs);
  end (g, configuration);
  return g->status == CUDNN_STATUS_SUCCESS ? configuration : NULL;
}

LoomStatus
cuda_dnn_plan (LoomDevice *device, CudaDnnGraph *g, const char *name, unsigned refused, size_t *workspace,
               cudnnBackendDescriptor_t *plan, LoomMessage *message)
{
  cudnnBackendDescriptor_t configuration;
  cudnnHandle_t handle = NULL;
  int64_t n = 0, bytes = 0;
  LoomStatus status;

  pthread_mutex_lock (&device->lock);
  status = cuda_dnn_query_handle (device, &handle, message);
  if (status == LOOM_STATUS_OK)
    {
      configuration = engine_named (g, handle, name, refused);
      *plan = configuration != NULL ? plan_of (g, handle, configuration) : NULL;
      if (*plan != NULL)
        g->status = cudnnBackendGetAttribute (*plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &n,
                                              &bytes);
      status = cuda_dnn_check (g->status, "asking cuDNN for an engine", message);
    }
  pthread_mutex_unlock (&device->lock);
  *workspace = (size_t)bytes;
  /* In another version the engine may be missing or have other knobs. */
  return status == LOOM_STATUS_INVALID ? LOOM_STATUS_UNSUPPORTED : status;
}

LoomStatus
cuda_dnn_run (LoomDevice *device, LoomStream *stream, cudnnBackendDescriptor_t plan, int n, const int64_t *id,
              void *const *at, void *workspace, const char *what, LoomMessage *message)
{
  CudaDnnGraph pack = { .status = CUDNN_STATUS_SUCCESS };
  cudnnBackendDescriptor_t variant;
  cudnnHandle_t handle = NULL;
  LoomStatus status = cuda_dnn_stream_handle (device, stream, &handle, message);

  if (status != LOOM_STATUS_OK)
    return status;
  variant = begin (&pack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  set (&pack, variant, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, n, id);
  set (&pack, variant, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, n, at);
  set (&pack, variant, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  end (&pack, variant);
  if (pack.status == CUDNN_STATUS_SUCCESS)
    pack.status = cudnnBackendExecute (handle, plan, variant);
  status = cuda_dnn_check (pack.status, what, message);
  cuda_dnn_graph_clear (&pack);
  return status;
}

void
cuda_dnn_graph_clear (CudaDnnGraph *g)
{
  /* In reverse, because later descriptors refer to earlier ones. */
  for (int i = g->n_made - 1; i >= 0; i--)
    cudnnBackendDestroyDescriptor (g->made[i]);
  memset (g, 0, sizeof *g);
}
