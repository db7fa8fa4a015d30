/* cuDNN's backend API as kernels/cuda calls it: descriptors with attributes, of which operation graphs, engines and
 * plans are made. Only the graphs of dnn-attention.cc and dnn-convolution.cc have engines, and descriptors of other
 * kinds return "not supported". */
#include <string.h>

#include "tests/cuda/emulator/dnn.h"
#include "tests/cuda/emulator/fakes.h"

using emulated::Engine;
using emulated::Graph;
using emulated::Node;
using emulated::NodeRef;
using emulated::Operation;
using emulated::Tensor;

namespace
{
/* A descriptor: its node stays alive while others refer to it. */
struct Handle
{
  NodeRef node;
};

#define OF(descriptor) (((Handle *)(descriptor))->node)

const size_t *
bytes_of (cudnnBackendAttributeType_t type)
{
  static const size_t one = sizeof (bool), four = sizeof (int), eight = sizeof (int64_t);

  switch (type)
    {
    case CUDNN_TYPE_BOOLEAN:
      return &one;
    case CUDNN_TYPE_DATA_TYPE:
    case CUDNN_TYPE_POINTWISE_MODE:
    case CUDNN_TYPE_REDUCTION_OPERATOR_TYPE:
    case CUDNN_TYPE_HEUR_MODE:
    case CUDNN_TYPE_CONVOLUTION_MODE:
    case CUDNN_TYPE_KNOB_TYPE:
    case CUDNN_TYPE_NUMERICAL_NOTE:
    case CUDNN_TYPE_FLOAT:
      return &four;
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return &eight;
    default:
      return NULL;
    }
}

/* ---- graphs ------------------------------------------------------------------------------------ */

bool
read_tensor (const Node *of, Tensor *to)
{
  const std::vector<int64_t> dim = of->numbers (CUDNN_ATTR_TENSOR_DIMENSIONS);
  const std::vector<int64_t> stride = of->numbers (CUDNN_ATTR_TENSOR_STRIDES);

  if (dim.size () != 4 || stride.size () != 4 || of->values.count (CUDNN_ATTR_TENSOR_UNIQUE_ID) == 0
      || of->values.count (CUDNN_ATTR_TENSOR_DATA_TYPE) == 0
      || of->values.count (CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) == 0)
    return false;
  for (int i = 0; i < 4; i++)
    {
      to->dim[i] = dim[i];
      to->stride[i] = stride[i];
      if (dim[i] < 1 || stride[i] < 1)
        return false;
    }
  to->id = of->value<int64_t> (CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
  /* cuDNN 9.23 and newer take -1 as "no tensor", without an error. */
  if (to->id == -1)
    return false;
  to->alignment = of->value<int64_t> (CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 0);
  to->type = of->value<cudnnDataType_t> (CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
  to->is_virtual = of->value<bool> (CUDNN_ATTR_TENSOR_IS_VIRTUAL, false);
  to->is_value = of->value<bool> (CUDNN_ATTR_TENSOR_IS_BY_VALUE, false);
  return true;
}

/* The tensor's index in the graph; below 0 for none. Two with one id are one tensor and must be equal. */
int
place_of (Graph *graph, const Node *of)
{
  Tensor t = {};

  if (of == NULL || !read_tensor (of, &t))
    return -1;
  for (size_t i = 0; i < graph->tensors.size (); i++)
    if (graph->tensors[i].id == t.id)
      return (int)i;
  graph->tensors.push_back (t);
  return (int)graph->tensors.size () - 1;
}

/* A convolution's stride, padding before and after, and dilation, each of H and W. */
std::vector<int64_t>
window_of (const Node *how)
{
  std::vector<int64_t> all;

  for (int name : { CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS,
                    CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_ATTR_CONVOLUTION_DILATIONS })
    for (int64_t one : how->numbers (name))
      all.push_back (one);
  return all;
}

/* The kind of an operation and its descriptors, or "" if the fake does not know it. */
std::string
kind_of (const Node *op)
{
  static const std::map<int, std::string> pointwise = {
    { CUDNN_POINTWISE_MUL, "mul" },   { CUDNN_POINTWISE_ADD, "add" },
    { CUDNN_POINTWISE_SUB, "sub" },   { CUDNN_POINTWISE_DIV, "div" },
    { CUDNN_POINTWISE_EXP, "exp" },   { CUDNN_POINTWISE_LOG, "log" },
    { CUDNN_POINTWISE_CMP_GE, "ge" }, { CUDNN_POINTWISE_BINARY_SELECT, "select" },
    { CUDNN_POINTWISE_RELU_FWD, "relu" },
  };
  const Node *how;

  switch (op->type)
    {
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      how = op->link (CUDNN_ATTR_OPERATION_MATMUL_DESC);
      return how != NULL && how->value (CUDNN_ATTR_MATMUL_COMP_TYPE, -1) == CUDNN_DATA_FLOAT ? "matmul" : "";
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      how = op->link (CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
      return how != NULL && how->value (CUDNN_ATTR_CONVOLUTION_COMP_TYPE, -1) == CUDNN_DATA_FLOAT
                     && how->value (CUDNN_ATTR_CONVOLUTION_CONV_MODE, -1) == CUDNN_CROSS_CORRELATION
                     && how->value<int64_t> (CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0) == 2
                     && op->value (CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 0.0f) == 1
                     && op->value (CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 1.0f) == 0
                     && window_of (how).size () == 8
                 ? "convolve"
                 : "";
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      return "reshape";
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      how = op->link (CUDNN_ATTR_OPERATION_REDUCTION_DESC);
      if (how == NULL || how->value (CUDNN_ATTR_REDUCTION_COMP_TYPE, -1) != CUDNN_DATA_FLOAT)
        return "";
      return how->value (CUDNN_ATTR_REDUCTION_OPERATOR, -1) == CUDNN_REDUCE_TENSOR_MAX   ? "max"
             : how->value (CUDNN_ATTR_REDUCTION_OPERATOR, -1) == CUDNN_REDUCE_TENSOR_ADD ? "sum"
                                                                                         : "";
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      {
        how = op->link (CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
        if (how == NULL)
          return "";

        const int mode = how->value (CUDNN_ATTR_POINTWISE_MODE, -1),
                  type = how->value (CUDNN_ATTR_POINTWISE_MATH_PREC, -1);
        const int64_t axis = how->value<int64_t> (CUDNN_ATTR_POINTWISE_AXIS, -1);

        if (mode == CUDNN_POINTWISE_GEN_INDEX)
          return type != CUDNN_DATA_INT32 ? "" : axis == 2 ? "row" : axis == 3 ? "column" : "";
        if (pointwise.count (mode) == 0
            || type != (mode == CUDNN_POINTWISE_CMP_GE ? CUDNN_DATA_BOOLEAN : CUDNN_DATA_FLOAT))
          return "";
        return pointwise.at (mode);
      }
    default:
      return "";
    }
}

bool
read_operation (Graph *graph, const Node *op)
{
  static const struct
  {
    cudnnBackendDescriptorType_t type;
    int in[3], out; /* attributes; 0 for none */
  } attributes[] = {
    { CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
      { CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, 0 },
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y },
    { CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
      { CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_ATTR_OPERATION_MATMUL_BDESC, 0 },
      CUDNN_ATTR_OPERATION_MATMUL_CDESC },
    { CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR,
      { CUDNN_ATTR_OPERATION_RESHAPE_XDESC, 0, 0 },
      CUDNN_ATTR_OPERATION_RESHAPE_YDESC },
    { CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
      { CUDNN_ATTR_OPERATION_REDUCTION_XDESC, 0, 0 },
      CUDNN_ATTR_OPERATION_REDUCTION_YDESC },
    { CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
      { CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
        CUDNN_ATTR_OPERATION_POINTWISE_TDESC },
      CUDNN_ATTR_OPERATION_POINTWISE_YDESC },
  };
  Operation to = { kind_of (op), { -1, -1, -1 }, -1, {} };

  if (to.kind == "convolve")
    to.window = window_of (op->link (CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC));

  for (auto &one : attributes)
    if (one.type == op->type)
      {
        for (int k = 0; k < 3; k++)
          if (one.in[k] != 0)
            to.in[k] = place_of (graph, op->link (one.in[k]));
        to.out = place_of (graph, op->link (one.out));
      }
  graph->operations.push_back (to);
  return !to.kind.empty () && to.in[0] >= 0 && to.out >= 0;
}

/* The graph of a descriptor; without operations if the fake does not know one of them. */
Graph
read_graph (const Node *of)
{
  Graph graph;
  auto ops = of->links.find (CUDNN_ATTR_OPERATIONGRAPH_OPS);

  if (ops != of->links.end ())
    for (const NodeRef &op : ops->second)
      if (!read_operation (&graph, op.get ()))
        return {};
  return graph;
}

/* ---- engines ----------------------------------------------------------------------------------- */

std::vector<Engine>
engines_of (const Node *of)
{
  const Graph graph = read_graph (of);
  const std::vector<Engine> found = emulated::attention_engines (graph);

  return found.empty () ? emulated::convolution_engines (graph) : found;
}

bool
has_note (const Node *engine, int note)
{
  auto at = engine->values.find (CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);

  if (at != engine->values.end ())
    for (size_t i = 0; i < at->second.size (); i += sizeof note)
      if (memcmp (&at->second[i], &note, sizeof note) == 0)
        return true;
  return false;
}

template <typename T>
void
put (Node *to, int name, const std::vector<T> &values)
{
  if (!values.empty ())
    to->values[name].assign ((const char *)values.data (), (const char *)(values.data () + values.size ()));
}

/* A configuration is filled by the heuristic; it links to its engine, which links to the graph. */
void
fill (Node *configuration, const NodeRef &graph, const Engine &engine)
{
  NodeRef as = std::make_shared<Node> ();

  as->type = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
  put<int64_t> (as.get (), CUDNN_ATTR_ENGINE_GLOBAL_INDEX, { engine.number });
  put (as.get (), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, engine.notes);
  as->links[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] = { graph };
  as->finalised = true;
  configuration->links[CUDNN_ATTR_ENGINECFG_ENGINE] = { as };
  configuration->links[CUDNN_ATTR_ENGINECFG_KNOB_CHOICES] = {};
  for (auto &one : engine.knobs)
    {
      NodeRef knob = std::make_shared<Node> ();

      knob->type = CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR;
      put<int> (knob.get (), CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, { one.first });
      put<int64_t> (knob.get (), CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, { one.second });
      knob->finalised = true;
      configuration->links[CUDNN_ATTR_ENGINECFG_KNOB_CHOICES].push_back (knob);
    }
  put<int64_t> (configuration, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, { engine.workspace });
  configuration->finalised = true;
}

cudnnStatus_t
propose (const Node *heuristics, int64_t room, int64_t *n, void **to)
{
  const NodeRef graph = heuristics->links.at (CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)[0];
  const std::vector<Engine> engines = engines_of (graph.get ());

  *n = 0;
  if (emulated::fails ("heuristics"))
    return CUDNN_STATUS_INTERNAL_ERROR;
  for (const Engine &engine : engines)
    if (*n < room && !engine.hidden)
      fill (OF (to[(*n)++]).get (), graph, engine);
  return CUDNN_STATUS_SUCCESS;
}

/* Completes an engine requested by its number, or its configuration by its knobs; NOT_SUPPORTED if there is none. */
cudnnStatus_t
complete (Node *of)
{
  const bool is_engine = of->type == CUDNN_BACKEND_ENGINE_DESCRIPTOR;
  const Node *engine = is_engine ? of : of->link (CUDNN_ATTR_ENGINECFG_ENGINE);
  const Node *graph = engine != NULL ? engine->link (CUDNN_ATTR_ENGINE_OPERATION_GRAPH) : NULL;

  if (graph == NULL)
    return CUDNN_STATUS_BAD_PARAM;
  for (const Engine &one : engines_of (graph))
    {
      std::vector<std::pair<int, int64_t> > knobs;

      if (one.number != engine->value<int64_t> (CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1))
        continue;
      if (is_engine)
        {
          put (of, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, one.notes);
          return CUDNN_STATUS_SUCCESS;
        }
      for (const NodeRef &knob : of->links[CUDNN_ATTR_ENGINECFG_KNOB_CHOICES])
        knobs.push_back ({ knob->value<int> (CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, -1),
                           knob->value<int64_t> (CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, -1) });
      if (knobs != one.knobs)
        continue;
      put<int64_t> (of, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, { one.workspace });
      return CUDNN_STATUS_SUCCESS;
    }
  return CUDNN_STATUS_NOT_SUPPORTED;
}

/* Whether a descriptor may be finalised; BAD_PARAM if an attribute is missing. */
bool
is_whole (const Node *of)
{
  Tensor t;

  switch (of->type)
    {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return read_tensor (of, &t);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return of->links.count (CUDNN_ATTR_OPERATIONGRAPH_OPS) != 0
             && of->values.count (CUDNN_ATTR_OPERATIONGRAPH_HANDLE) != 0;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return of->link (CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH) != NULL
             && of->values.count (CUDNN_ATTR_ENGINEHEUR_MODE) != 0;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return of->link (CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG) != NULL
             && of->values.count (CUDNN_ATTR_EXECUTION_PLAN_HANDLE) != 0;
    default:
      return true;
    }
}
}

/* ---- the API ----------------------------------------------------------------------------------- */

#define REFUSE_UNLESS(x)                                                                                               \
  if (!(x))                                                                                                            \
  return CUDNN_STATUS_BAD_PARAM

namespace
{
/* The bytes that the elements take, from the first one on. */
std::vector<bool>
footprint (const Tensor &t)
{
  const int64_t size = t.type == CUDNN_DATA_FLOAT ? 4 : 2;
  std::vector<bool> taken (t.bytes ());

  for (int64_t i = 0; i < t.count (); i++)
    {
      int64_t rest = i, place = 0;

      for (int k = 3; k >= 0; k--)
        {
          place += rest % t.dim[k] * t.stride[k];
          rest /= t.dim[k];
        }
      for (int64_t k = 0; k < size; k++)
        taken[place * size + k] = true;
    }
  return taken;
}

/* Whether two tensors share a byte: rows of one may be between those of the other. */
bool
meet (const Tensor &t, const char *at, const Tensor &other, const char *there)
{
  if (t.count () == 0 || other.count () == 0 || there >= at + t.bytes () || at >= there + other.bytes ())
    return false;

  const std::vector<bool> one = footprint (t), two = footprint (other);

  for (size_t i = 0; i < one.size (); i++)
    if (one[i] && at + i >= there && at + i < there + two.size () && two[at + i - there])
      return true;
  return false;
}
}

extern "C"
{
  cudnnStatus_t
  cudnnBackendCreateDescriptor (cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *to)
  {
    switch (type)
      {
      case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      case CUDNN_BACKEND_MATMUL_DESCRIPTOR:
      case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
      case CUDNN_BACKEND_REDUCTION_DESCRIPTOR:
      case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      case CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR:
      case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
        break;
      default:
        emulated::lacks ("cudnnBackendCreateDescriptor of kind %d", (int)type);
        return CUDNN_STATUS_NOT_SUPPORTED;
      }
    NodeRef node = std::make_shared<Node> ();
    node->type = type;
    *to = new Handle{ node };
    return CUDNN_STATUS_SUCCESS;
  }

  cudnnStatus_t
  cudnnBackendDestroyDescriptor (cudnnBackendDescriptor_t descriptor)
  {
    delete (Handle *)descriptor;
    return CUDNN_STATUS_SUCCESS;
  }

  cudnnStatus_t
  cudnnBackendSetAttribute (cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type, int64_t n, const void *from)
  {
    const size_t *bytes = bytes_of (type);
    Node *to = OF (descriptor).get ();

    REFUSE_UNLESS (n > 0 && from != NULL);
    if (to->finalised)
      return CUDNN_STATUS_NOT_INITIALIZED;
    if (bytes == NULL)
      {
        emulated::lacks ("cudnnBackendSetAttribute of type %d", (int)type);
        return CUDNN_STATUS_NOT_SUPPORTED;
      }
    if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR)
      {
        to->values[name].assign ((const char *)from, (const char *)from + n * *bytes);
        return CUDNN_STATUS_SUCCESS;
      }
    to->links[name].clear ();
    for (int64_t i = 0; i < n; i++)
      {
        const NodeRef &one = OF (((const cudnnBackendDescriptor_t *)from)[i]);

        REFUSE_UNLESS (one->finalised);
        to->links[name].push_back (one);
      }
    return CUDNN_STATUS_SUCCESS;
  }

  cudnnStatus_t
  cudnnBackendGetAttribute (cudnnBackendDescriptor_t const descriptor, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type, int64_t room, int64_t *n, void *to)
  {
    const Node *of = OF (descriptor).get ();
    auto value = of->values.find (name);
    auto links = of->links.find (name);
    const size_t *bytes = bytes_of (type);

    if (!of->finalised || bytes == NULL)
      return CUDNN_STATUS_NOT_INITIALIZED;
    if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS)
      return propose (of, room, n, (void **)to);
    *n = 0;
    if (links != of->links.end ())
      for (; *n < room && *n < (int64_t)links->second.size (); ++*n)
        OF (((cudnnBackendDescriptor_t *)to)[*n]) = links->second[*n];
    else if (value != of->values.end ())
      {
        *n = (int64_t)(value->second.size () / *bytes);
        memcpy (to, value->second.data (), (size_t)(*n < room ? *n : room) * *bytes);
      }
    return CUDNN_STATUS_SUCCESS;
  }

  cudnnStatus_t
  cudnnBackendFinalize (cudnnBackendDescriptor_t descriptor)
  {
    Node *of = OF (descriptor).get ();
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;

    REFUSE_UNLESS (is_whole (of));
    if (of->type == CUDNN_BACKEND_ENGINE_DESCRIPTOR || of->type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
      status = complete (of);
    if (of->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
      of->values[CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE]
          = of->link (CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)->values[CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE];
    of->finalised = status == CUDNN_STATUS_SUCCESS;
    return status;
  }

  cudnnStatus_t
  cudnnBackendExecute (cudnnHandle_t handle, cudnnBackendDescriptor_t plan_of, cudnnBackendDescriptor_t pack_of)
  {
    static const char name[] = "cudnnBackendExecute";
    const Node *plan = OF (plan_of).get (), *pack = OF (pack_of).get ();

    REFUSE_UNLESS (plan->finalised && pack->finalised);
    if (emulated::standing () != cudaSuccess)
      return CUDNN_STATUS_EXECUTION_FAILED;

    const Node *configuration = plan->link (CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    const Node *engine = configuration->link (CUDNN_ATTR_ENGINECFG_ENGINE);
    const Graph graph = read_graph (engine->link (CUDNN_ATTR_ENGINE_OPERATION_GRAPH));
    const size_t bytes = (size_t)configuration->value<int64_t> (CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, 0);
    const std::vector<int64_t> ids = pack->numbers (CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const std::vector<int64_t> addresses = pack->numbers (CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    void *const workspace = pack->value<void *> (CUDNN_ATTR_VARIANT_PACK_WORKSPACE, NULL);
    auto scalars = std::make_shared<std::vector<float> > (graph.tensors.size ());
    std::vector<void *> at (graph.tensors.size ());
    std::vector<const void *> uses;
    std::vector<bool> written (graph.tensors.size ());

    if (has_note (engine, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC))
      emulated::found ("%s was given engine %lld, whose sums have no order", name,
                       (long long)engine->value<int64_t> (CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1));
    REFUSE_UNLESS (ids.size () == addresses.size ());
    for (const Operation &op : graph.operations)
      written[op.out] = true;
    for (size_t i = 0; i < graph.tensors.size (); i++)
      {
        const Tensor &t = graph.tensors[i];
        const size_t size = t.bytes ();

        if (t.is_virtual)
          continue;
        for (size_t k = 0; k < ids.size (); k++)
          if (ids[k] == t.id)
            at[i] = (void *)addresses[k];
        REFUSE_UNLESS (at[i] != NULL);
        if (t.is_value)
          {
            /* Scalars are read during the call. */
            (*scalars)[i] = *(const float *)at[i];
            at[i] = &(*scalars)[i];
            continue;
          }
        if (!emulated::device_sees (at[i], size))
          emulated::found ("%s's tensor %lld at %p has %zu bytes, which are not in one piece of the GPU's memory", name,
                           (long long)t.id, at[i], size);
        if ((uintptr_t)at[i] % (uintptr_t)t.alignment != 0)
          emulated::found ("%s was given %p as tensor %lld, which was promised at a multiple of %lld", name, at[i],
                           (long long)t.id, (long long)t.alignment);
        for (size_t k = 0; k < i; k++)
          {
            const Tensor &other = graph.tensors[k];

            if (!other.is_virtual && !other.is_value && (written[i] || written[k]) && other.id != t.id
                && meet (t, (const char *)at[i], other, (const char *)at[k]))
              emulated::found ("%s has tensors %lld and %lld over each other, one of them a result", name,
                               (long long)other.id, (long long)t.id);
          }
        uses.push_back (at[i]);
      }
    if (bytes != 0 && (workspace == NULL || !emulated::device_sees (workspace, bytes)))
      emulated::found ("%s's workspace at %p has not %zu bytes in one piece of memory", name, workspace, bytes);
    if (bytes != 0)
      uses.push_back (workspace);
    return emulated::enqueue (handle->stream, { name,
                                                [=] {
                                                  if (bytes != 0)
                                                    memset (workspace, 0xff, bytes);
                                                  emulated::compute (graph, at);
                                                  (void)scalars; /* lives until here */
                                                },
                                                uses })
                   == cudaSuccess
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_EXECUTION_FAILED;
  }
}
