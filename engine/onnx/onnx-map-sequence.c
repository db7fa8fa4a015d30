/* Refuses, by name, operators of sequences and optional values, which graphs do not have. */
#include "engine/onnx/onnx-private.h"

static void
map_sequence (OnnxCtx *c)
{
  onnx_fail (c, "it needs a sequence of tensors, but graphs have only single tensors.");
}

static void
map_optional (OnnxCtx *c)
{
  onnx_fail (c, "it needs an optional value, but graphs have only tensors.");
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
