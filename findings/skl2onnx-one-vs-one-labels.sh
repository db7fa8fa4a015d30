#!/bin/sh
# skl2onnx 1.20.0 with scikit-learn 1.9.1: a OneVsOneClassifier whose classes are not called 0, 1, 2, …
#
# One would guess that the label of the converted model is what predict() returns, as of the other classifiers of this converter:
# LogisticRegression, OneVsRestClassifier and SVC translate the index of the winner into its class. Here the label is the index
# itself, as a matrix of one column: classes 10, 20 and 30 come back as 0, 1 and 2, in silence, and where classes are strings the
# file cannot be loaded. Classes 1, 2, 3 look right and are all one too low, which reads as a bad model. Who meets it: a user who
# serves digits 1 to 9, ratings, or the -1 and 1 of a support vector machine.
# Source: skl2onnx/operator_converters/one_vs_one_classifier.py ends with an ArgMax; running it with onnxruntime 1.32.0.
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q skl2onnx==1.20.0 scikit-learn==1.9.1 onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'P' 2> /dev/null
import sys

import numpy as np
import onnxruntime
from skl2onnx import to_onnx
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

rng = np.random.default_rng(0)
x = rng.standard_normal((200, 4)).astype(np.float32)
index = (x[:, 0] > 0).astype(int) + (x[:, 1] > 0)


def right(wrap, classes):
    """How many of 200 labels are those of predict(), and the first labels of both."""
    model = wrap(LogisticRegression()).fit(x, np.array(classes)[index])
    content = to_onnx(model, x[:1], target_opset={"": 20, "ai.onnx.ml": 3}).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    label = session.run(None, {session.get_inputs()[0].name: x})[0]
    return int((label.ravel() == model.predict(x)).sum()), label.ravel()[:5].tolist(), model.predict(x)[:5].tolist(), label.shape


as_described = True
for classes in (0, 1, 2), (1, 2, 3), (10, 20, 30):
    rest, one = right(OneVsRestClassifier, classes), right(OneVsOneClassifier, classes)
    print(f"classes {classes}: one versus rest: {rest[0]} of 200 right; one versus one: {one[0]} right, {one[1]} for {one[2]}, "
          f"shape {one[3]}")
    counted = one[0] == 200 if classes[0] == 0 else one[1] == [classes.index(v) for v in one[2]]
    as_described = as_described and rest[0] == 200 and counted and (classes[0] != 10 or one[0] == 0)
sys.exit(not as_described)
P
