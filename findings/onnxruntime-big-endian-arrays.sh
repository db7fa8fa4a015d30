#!/bin/sh
# onnxruntime's Python interface and arrays of the other byte order, as np.frombuffer(…, ">f4") and readers of big-endian
# formats return them (IDX of MNIST, FITS, classic netCDF, HDF5 files that were written so).
#
# One would guess that such an array is converted or refused, because its dtype says how the bytes lie, and NumPy computes with
# it as with any other; PyTorch refuses it with a sentence. onnxruntime checks the type's number alone, which is the same for
# both orders, and takes the bytes as they are: of 0, 1, 2, 3 the model sees 0, 4.6e-41, 9e-44, 2.3e-41, and of whole numbers
# 16777216 for 1. There is neither an error nor a warning, and results look like those of an untrained network. An
# OrtValue made from the array does the same. x.astype(x.dtype.newbyteorder("=")) helps.
# onnxruntime 1.32.0. Source: its type check compares with "tensor(float)" only; what an Identity returns.
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'P'
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

as_described = True
for dtype, kind in (np.float32, TensorProto.FLOAT), (np.int32, TensorProto.INT32):
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", kind, [4])],
                              [helper.make_tensor_value_info("y", kind, [4])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8).SerializeToString()
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    native = np.arange(4, dtype=dtype)
    other = np.frombuffer(native.astype(native.dtype.newbyteorder(">")).tobytes(), native.dtype.newbyteorder(">"))
    assert np.array_equal(native, other)  # to NumPy they are equal
    seen = session.run(None, {"x": other})[0]
    value = onnxruntime.OrtValue.ortvalue_from_numpy(other).numpy()
    corrected = session.run(None, {"x": other.astype(dtype)})[0]
    print(f"{other.dtype}: the model sees {seen} for {other}; an OrtValue holds {value}; in this machine's order {corrected}")
    swapped = np.array_equal(seen, native.byteswap()) and np.array_equal(value, native.byteswap())
    as_described = as_described and swapped and np.array_equal(corrected, native)
sys.exit(not as_described)
P
