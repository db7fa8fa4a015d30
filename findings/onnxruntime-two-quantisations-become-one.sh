#!/bin/sh
# onnxruntime: a value that is quantised twice in a row, finely and coarsely, as where two parts of a quantised model meet, or
# where a simulation of a device's output follows a quantised layer.
#
# One would guess that optimising keeps the coarse grid: the model says that results are multiples of the second scale, and a
# device after it, or a table with 2^8 entries, relies on it. With its default options onnxruntime keeps one pair of
# QuantizeLinear and DequantizeLinear, with the finer scale of the two: after scales 0.1 and 0.5 results are -0.3, 0.2 and 0.7
# where the model, and onnxruntime without optimisations, gives -0.5, 0 and 0.5. It happens at the basic level already, whose
# description speaks of rewriting that keeps semantics.
# onnxruntime 1.32.0, onnx 1.23.2. Source: the optimiser DoubleQDQPairsRemover, named in what the optimised file contains.
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - "$folder/optimised.onnx" <<'P'
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

onnxruntime.set_default_logger_severity(3)
x = np.array([-3.04, -0.26, 0.2, 0.74, 3.3], np.float32)
LEVELS = onnxruntime.GraphOptimizationLevel


def run(scales, level):
    """What comes out of quantisations in a row, and the names of the optimised file's numbers."""
    nodes, numbers, name = [], [], "x"
    for i, scale in enumerate(scales):
        numbers += [numpy_helper.from_array(np.array(scale, np.float32), f"s{i}"), numpy_helper.from_array(np.array(0, np.int8), f"z{i}")]
        result = "y" if i + 1 == len(scales) else f"d{i}"
        nodes += [helper.make_node("QuantizeLinear", [name, f"s{i}", f"z{i}"], [f"q{i}"]),
                  helper.make_node("DequantizeLinear", [f"q{i}", f"s{i}", f"z{i}"], [result])]
        name = result
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, x.shape)], numbers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.optimized_model_filepath = level, sys.argv[1]
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0], [i.name for i in onnx.load(sys.argv[1]).graph.initializer]


as_described = True
for scales in (0.1, 0.5), (0.5, 0.1):
    plain, _ = run(scales, LEVELS.ORT_DISABLE_ALL)
    basic, _ = run(scales, LEVELS.ORT_ENABLE_BASIC)
    default, names = run(scales, LEVELS.ORT_ENABLE_ALL)
    coarse = bool(np.allclose(np.round(default / 0.5) * 0.5, default))
    print(f"scales {scales[0]}, then {scales[1]}: without optimisations {plain}, basic {basic}, default {default}; "
          f"numbers of the optimised file: {', '.join(names)}")
    as_described = as_described and np.array_equal(basic, default) and not coarse and any("DoubleQDQ" in n for n in names) \
        and np.allclose(plain, [-3, -0.5, 0, 0.5, 3.5]) and np.allclose(default, [-3, -0.3, 0.2, 0.7, 3.3])
sys.exit(not as_described)
P
