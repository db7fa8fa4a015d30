/* ONNX's operators on images. */
#include "engine/interop/onnx/onnx-private.h"

const OnnxMap onnx_map_image[] = {
  { NULL },
};
