/* Operators that cannot be exported, each with its reason: the end of “OP cannot be written as ONNX: …”. */
#include "engine/onnx/onnx-export-private.h"

const OnnxWriter onnx_write_other[] = {
  { "gradient", .refusal = "it differentiates, which is a step of training and no part of a model. Export what stands "
                           "before it with --output." },
  { "assign", .refusal = "it changes a weight, which is a step of training and no part of a model. Export what stands "
                         "before it with --output." },
  { NULL },
};
