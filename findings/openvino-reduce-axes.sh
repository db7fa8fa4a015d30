#!/bin/sh
# ReduceLogSumExp, ReduceLogSum and ReduceL1 of ONNX below operator set 18, where `axes` is an attribute. One would guess
# that OpenVINO, which reads the attribute of ReduceL2, ReduceMean and the others, reads it here as well. OpenVINO
# 2026.4.1 passes over it: it reduces along all dimensions and returns a single number, without an error or a warning,
# although the model declares a result of another shape. From set 18 on, where axes are an input, it is right. A model
# that an exporter wrote with set 17 or older meets it, log-probabilities and losses above all.
# Source: measured with the pinned packages, onnxruntime as the other opinion; needs python3 with venv.
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

x = np.log(np.array([[2, 3, 4], [5, 6, 7]], np.float32))
core = openvino.Core()

def run(op, opset):
    """Along axis 1: what onnxruntime returns, and OpenVINO."""
    as_input = opset >= 18
    node = helper.make_node(op, ["x", "axes"] if as_input else ["x"], ["y"], keepdims=0, **({} if as_input else {"axes": [1]}))
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
                              [helper.make_tensor("axes", TensorProto.INT64, [1], [1])] if as_input else [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "model.onnx")
    theirs = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    compiled = core.compile_model("model.onnx", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return theirs, np.asarray(compiled({"x": x})[0])

good = True
for op in "ReduceLogSumExp", "ReduceLogSum", "ReduceL1", "ReduceL2", "ReduceMean":
    for opset in 17, 18:
        theirs, ours = run(op, opset)
        wrong = op in ("ReduceLogSumExp", "ReduceLogSum", "ReduceL1") and opset == 17
        good = good and theirs.shape == (2,) and ours.shape == (() if wrong else (2,)) and (wrong or np.allclose(theirs, ours))
        print(f"{op}, set {opset}: onnxruntime {theirs}, OpenVINO {ours}")
print("as described" if good else "NOT as described")
sys.exit(not good)
P
