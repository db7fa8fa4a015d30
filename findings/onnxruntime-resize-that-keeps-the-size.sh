#!/bin/sh
# onnxruntime: a Resize whose scales change no size returns its input.
#
# One would guess that a scale of 1.05 over 6 pixels (6.3, so 6) moves what is read, as ONNX's formula says: output i is
# read at (i + 0.5) / 1.05 - 0.5. onnxruntime does so only if another size changes in the same node; if all sizes stay,
# linear and cubic alike return the input, bit for bit, and onnx's reference evaluator does not. Two runtimes then differ
# on an exported model in which interpolate() has a scale near 1.
# onnxruntime 1.31.1, onnx 1.23.2. Source: the text of ONNX's operator Resize, and running it.
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q onnxruntime==1.31.1 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'P'
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

x = np.array([[[[0, 1, 4, 9, 16, 25], [1, 3, 5, 7, 9, 11], [2, 7, 1, 8, 2, 8]]]], np.float32)


def model(mode, scales):
    graph = helper.make_graph(
        [helper.make_node("Resize", ["x", "", "scales"], ["y"], mode=mode)], "resize",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.array(scales, np.float32), "scales")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def run(m):
    return onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


as_described = True
for mode in "linear", "cubic":
    alone, also = model(mode, (1, 1, 1, 1.05)), model(mode, (1, 1, 2, 1.05))
    copies = np.array_equal(run(alone), x)
    formula = ReferenceEvaluator(alone).run(None, {"x": x})[0]
    moves = abs(run(also) - ReferenceEvaluator(also).run(None, {"x": x})[0]).max() < 1e-4
    print(f"{mode}, scales 1 and 1.05: onnxruntime returns the input: {copies}; the formula differs from that by {abs(formula - x).max():.3f}")
    print(f"{mode}, scales 2 and 1.05: onnxruntime follows the formula: {moves}")
    as_described = as_described and copies and moves and abs(formula - x).max() > 0.1
sys.exit(not as_described)
P
