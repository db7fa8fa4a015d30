#!/bin/sh
# onnx 1.23.2: version_converter from operator set 13 to 12, as needed for a runtime or a device that takes 12 at most.
#
# One would guess that a model converted without an error computes the same. Up to set 12 Softmax and LogSoftmax normalise over
# all dimensions from `axis` on, from 13 on over `axis` alone. On the way up the converter makes up for this by a Flatten and a
# Reshape. On the way down it has an adapter for just this step, but that keeps the axis: of any axis other than the last other
# numbers come out, for a softmax over the channels of an image one that sums to 1 over all pixels together. There is no
# warning, shapes stay, and both files run. Hardmax is changed on the way up, because it has no adapter there. Who meets it:
# exporters that write 13 or later and convert for a runtime that takes 12 at most.
# Source: onnx/version_converter/adapters/softmax_13_12.h and convert.h, and running it with onnxruntime 1.32.0.
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'P'
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, version_converter

x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)


def both(node, before=13, after=12):
    """Results of one operator before and after the conversion."""
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, x.shape)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", before)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    converted = version_converter.convert_version(model, after)
    assert converted.opset_import[0].version == after
    return [onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
            for m in (model, converted)]


last, also_last = both(helper.make_node("Softmax", ["x"], ["y"], axis=2))
up, changed = both(helper.make_node("Hardmax", ["x"], ["y"], axis=1), 12, 13)
middle, other = both(helper.make_node("Softmax", ["x"], ["y"], axis=1))
sums = [sorted({round(float(v), 3) for v in r.sum(1).ravel()}) for r in (middle, other)]
print(f"last axis: differs by {abs(last - also_last).max():.1e}")
print(f"axis 1 of 3: differs by {abs(middle - other).max():.2f}; sums along it {sums[0]} in set 13, {sums[1][0]} to {sums[1][-1]} in set 12")
print(f"Hardmax, axis 1, from 12 to 13: {int(up.sum())} ones before, {int(changed.sum())} after")
sys.exit(not (abs(last - also_last).max() < 1e-6 and abs(middle - other).max() > 0.1 and sums[0] == [1.0] and sums[1][-1] < 0.9
              and up.sum() == 2 and changed.sum() == 8))
P
