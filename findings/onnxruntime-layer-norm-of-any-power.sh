#!/bin/sh
# onnxruntime: a norm of another power than the square, such as (x - mean) / sqrt(mean((x - mean)^4) + epsilon).
#
# One would guess that recognising a pattern includes its constants. The optimiser that makes LayerNormalization of
# ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul and Add does not look at the exponent: it makes a square of a fourth
# power, and results are off by more than 1. It does so even where the exponent is an input of the model: its value no
# longer counts. Its sister for norms without a mean (SimplifiedLayerNormalization) compares the exponent with 2 and leaves
# other powers alone. Who meets it: networks with norms of a higher or a learned degree. Without optimisations, or with fewer
# than "extended", the numbers are right.
# onnxruntime 1.32.0, onnx 1.23.2. Source: operators of the optimised file, and the formula in NumPy.
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
x = np.random.default_rng(0).standard_normal((2, 8)).astype(np.float32) * 3
node, value = helper.make_node, helper.make_tensor_value_info


def run(power, centred=True, as_input=False):
    """The greatest difference from the formula, of sessions with default and with basic options, and the default operators."""
    numbers = {"e": np.float32(0.1), "w": np.ones(8, np.float32), "b": np.zeros(8, np.float32), "p": np.float32(power)}
    inputs, feed = [value("x", TensorProto.FLOAT, x.shape)], {"x": x}
    if as_input:
        feed["p"] = np.array(numbers.pop("p"))
        inputs.append(value("p", TensorProto.FLOAT, []))
    what = "d" if centred else "x"
    nodes = [node("ReduceMean", ["x"], ["m"], axes=[-1]), node("Sub", ["x", "m"], ["d"])] if centred else []
    nodes += [node("Pow", [what, "p"], ["q"]), node("ReduceMean", ["q"], ["v"], axes=[-1]), node("Add", ["v", "e"], ["f"]),
              node("Sqrt", ["f"], ["s"]), node("Div", [what, "s"], ["n"])]
    nodes += [node("Mul", ["n", "w"], ["k"]), node("Add", ["k", "b"], ["y"])] if centred else [node("Mul", ["n", "w"], ["y"])]
    graph = helper.make_graph(nodes, "g", inputs, [value("y", TensorProto.FLOAT, x.shape)],
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in numbers.items() if k != "b" or centred])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    d = x - x.mean(1, keepdims=True) if centred else x
    right, off = d / np.sqrt((d ** power).mean(1, keepdims=True) + 0.1), []
    for level in onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level, options.optimized_model_filepath = level, sys.argv[1]
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        off.append(float(abs(session.run(None, feed)[0] - right).max()))
    kinds = [n.op_type for n in onnx.load(sys.argv[1]).graph.node]
    print(f"power {power}{' as an input' if as_input else ''}, {'with' if centred else 'without'} mean: off by {off[0]:.0e} with basic "
          f"options, by {off[1]:.1e} with the default ones: {', '.join(kinds)}")
    return off[0] < 1e-5, off[1] < 1e-5, len(kinds) == 1


seen = [run(2), run(4), run(4, as_input=True), run(2, centred=False), run(4, centred=False)]
sys.exit(seen != [(True, True, True), (True, False, True), (True, False, True), (True, True, True), (True, True, False)])
P
