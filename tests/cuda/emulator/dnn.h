/* State of fake cuDNN in the library's opaque handles, and its operation graphs. */
#ifndef EMULATOR_DNN_H
#define EMULATOR_DNN_H

#include <cudnn.h>
#include <map>
#include <memory>
#include <stdint.h>
#include <string>
#include <thread>
#include <vector>

struct cudnnContext
{
  cudaStream_t stream;
  std::thread::id thread; /* that set the stream */
};

namespace emulated
{
/* The content of a descriptor of the backend API; it keeps the nodes that it links to alive. */
struct Node;
typedef std::shared_ptr<Node> NodeRef;

struct Node
{
  cudnnBackendDescriptorType_t type;
  bool finalised = false;
  std::map<int, std::vector<char> > values; /* by attribute */
  std::map<int, std::vector<NodeRef> > links;

  template <typename T>
  T
  value (int name, T none) const
  {
    auto at = values.find (name);

    return at != values.end () && at->second.size () >= sizeof (T) ? *(const T *)at->second.data () : none;
  }
  std::vector<int64_t>
  numbers (int name) const
  {
    auto at = values.find (name);
    std::vector<int64_t> to;

    if (at != values.end ())
      to.assign ((const int64_t *)at->second.data (), (const int64_t *)(at->second.data () + at->second.size ()));
    return to;
  }
  Node *
  link (int name) const
  {
    auto at = links.find (name);

    return at != links.end () && !at->second.empty () ? at->second[0].get () : NULL;
  }
};

/* A tensor of a graph, with four axes. */
struct Tensor
{
  int64_t id, dim[4], stride[4], alignment;
  cudnnDataType_t type;
  bool is_virtual, is_value;
  int64_t
  count () const
  {
    return dim[0] * dim[1] * dim[2] * dim[3];
  }
  /* From its first element to its last one; there may be gaps. */
  size_t
  bytes () const
  {
    int64_t last = 0;

    for (int i = 0; i < 4; i++)
      last += (dim[i] - 1) * stride[i];
    return (size_t)(last + 1) * (type == CUDNN_DATA_FLOAT ? 4 : 2);
  }
};

/* An operation: "convolve", "matmul", "reshape", "max", "sum", "row", "column", "ge", "select" or the name of a scalar
 * function. Its operands and result are indices in Graph::tensors; below 0 for none. */
struct Operation
{
  std::string kind;
  int in[3], out;
  std::vector<int64_t> window; /* of "convolve": stride, padding before and after, dilation, each of H and W */
};

struct Graph
{
  std::vector<Tensor> tensors;
  std::vector<Operation> operations;
};

/* One way to compute a graph. */
struct Engine
{
  int64_t number, workspace;
  std::vector<int> notes;
  std::vector<std::pair<int, int64_t> > knobs; /* number and value of each */
  bool hidden;                                 /* heuristics do not propose it */
};

/* The engines for a graph, the best first; none if cuDNN's documentation does not list it as fused flash attention, or
 * if the shape is not supported. */
std::vector<Engine> attention_engines (const Graph &graph);
/* The same for a convolution with a bias and ReLU. */
std::vector<Engine> convolution_engines (const Graph &graph);

/* y of an operation "convolve"; images' elements are in the order [n,c,h,w]. */
void convolve (const Operation &of, const Tensor &x, const std::vector<float> &image, const Tensor &w,
               const std::vector<float> &filter, const Tensor &y, std::vector<float> *to);

/* Computes the graph, one operation after the other; `at` has the address of each tensor, NULL for virtual ones. */
void compute (const Graph &graph, const std::vector<void *> &at);
}

#endif
