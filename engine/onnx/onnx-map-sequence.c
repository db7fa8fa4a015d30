/* Refuses operators of sequences and optional values, which graphs do not have, by name. */
#include "engine/onnx/onnx-private.h"

static void
map_sequence (OnnxCtx *c)
{
  onnx_fail (c, "it is about a sequence of tensors, and graphs carry single tensors only.");
}

static void
map_optional (OnnxCtx *c)
{
  onnx_fail (c, "it is about an optional value, and graphs carry tensors only.");
}

const OnnxMap onnx_map_sequence[] = {
  { "SequenceConstruct", NULL, map_sequence },
  { "SequenceEmpty", NULL, map_sequence },
  { "SequenceInsert", NULL, map_sequence },
  { "SequenceErase", NULL, map_sequence },
  { "SequenceAt", NULL, map_sequence },
  { "SequenceLength", NULL, map_sequence },
  { "SequenceMap", NULL, map_sequence },
  { "SplitToSequence", NULL, map_sequence },
  { "ConcatFromSequence", NULL, map_sequence },
  { "Optional", NULL, map_optional },
  { "OptionalGetElement", NULL, map_optional },
  { "OptionalHasElement", NULL, map_optional },
  { NULL },
};
