#!/bin/sh
# AveragePool with ceil_mode=1 and count_include_pad=1, whose last window reaches beyond the padding. One would guess that
# only elements of the operand and its padding count, as onnxruntime and ONNX's reference evaluator have it. OpenVINO
# 2026.4.1 divides by the whole window: of ones it makes 1/3 where the others make 1/2, without a warning. Zeros by a Pad
# node, and padding at the end that does not count, return the same in both runtimes. Models that average in ceil mode
# with padding meet it.
# Source: measured with the pinned packages; needs python3 with venv.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q numpy==2.4.6 onnx==1.23.2 onnxruntime==1.32.0 openvino==2026.4.1
cd "$folder"
"$folder/venv/bin/python" - <<'P'
import sys
import numpy as np
import onnx
import onnxruntime
import openvino
from onnx import TensorProto, helper

x = np.ones((1, 1, 6), np.float32)
core = openvino.Core()

def run(nodes, numbers=()):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 6])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 4])], list(numbers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "model.onnx")
    theirs = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    compiled = core.compile_model("model.onnx", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return theirs.ravel(), np.asarray(compiled({"x": x})[0]).ravel()

pool = dict(kernel_shape=[3], strides=[2])
plain = run([helper.make_node("AveragePool", ["x"], ["y"], pads=[1, 1], ceil_mode=1, count_include_pad=1, **pool)])
padded = run([helper.make_node("Pad", ["x", "pads"], ["p"]), helper.make_node("AveragePool", ["p"], ["y"], pads=[0, 1], **pool)],
             [helper.make_tensor("pads", TensorProto.INT64, [6], [0, 0, 1, 0, 0, 1])])
print("ceil_mode:    onnxruntime", plain[0], "OpenVINO", plain[1])
print("Pad and rest: onnxruntime", padded[0], "OpenVINO", padded[1])
right = np.array([2 / 3, 1, 1, 1 / 2])
good = np.allclose(plain[0], right) and np.allclose(plain[1], [2 / 3, 1, 1, 1 / 3]) and np.allclose(padded, [right, right])
print("as described" if good else "NOT as described")
sys.exit(not good)
P
