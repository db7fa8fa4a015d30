/* Operators that cannot be exported, each with its reason: the end of “OP cannot be written as ONNX: …”. */
#include "engine/onnx/onnx-export-private.h"

const OnnxWriter onnx_write_other[] = {
  { "gradient", .refusal = "it computes a gradient, which is part of training and not of a model. Export a node "
                           "before it with --output." },
  { "assign", .refusal = "it changes a weight, which is part of training and not of a model. Export a node before it "
                         "with --output." },
  { NULL },
};
