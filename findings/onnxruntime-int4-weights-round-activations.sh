#!/bin/sh
# onnxruntime: weights of 4 bits make it round the activations to 8 bits as well.
#
# One would guess that DequantizeLinear of int4 weights before a MatMul costs no accuracy beyond that of the weights: both
# are defined in floats, and optimising keeps what a model computes to the last digits. With its default options
# onnxruntime replaces the pair by MatMulNBits with accuracy level 4, which quantises the other operand, too: results are
# off by half a percent of the largest, ten thousand times more than without optimisations. The session option
# session.qdq_matmulnbits_accuracy_level = "0" keeps floats. So an optimised session is no reference for models of 4 bits.
# onnxruntime 1.32.0, onnx 1.23.2. Source: running it; the formula of ONNX's operators.
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6 ml_dtypes==0.6.0
"$folder/venv/bin/python" - <<'P'
import sys

import numpy as np
import onnxruntime
from ml_dtypes import int4
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(0)
x = rng.standard_normal((8, 256)).astype(np.float32)
weight, scale = rng.integers(-8, 8, (256, 64)).astype(int4), rng.uniform(0.5, 1, 64).astype(np.float32)
graph = helper.make_graph(
    [helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=1), helper.make_node("MatMul", ["x", "d"], ["y"])], "int4",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(scale, "s")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()
right = x.astype(np.float64) @ (weight.astype(np.float64) * scale)


def off(plain=False, level=None):
    options = onnxruntime.SessionOptions()
    if plain:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if level is not None:
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", level)
    y = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    return float(abs(y - right).max() / abs(right).max())


default, plain, floats = off(), off(plain=True), off(level="0")
print(f"default options: off by {default:.1e} of the largest result")
print(f"without optimisations: {plain:.1e}; with session.qdq_matmulnbits_accuracy_level 0: {floats:.1e}")
sys.exit(not (default > 1e-3 and plain < 1e-5 and floats < 1e-5))
P
