#!/bin/sh
# torch.onnx.export of a network together with its loss, as for training or evaluation outside PyTorch.
#
# One would guess that CrossEntropyLoss(label_smoothing=0.1) is exported with its smoothing, or refused: ONNX's own loss operator
# has no such attribute, but the formula is a few other operators. It becomes SoftmaxCrossEntropyLoss without smoothing, without
# a warning: for any degree the file computes the loss of degree 0, and its gradients. If the program is decomposed first (with
# torch.export.export(…).run_decompositions(), then exported), the loss is right. Who meets it: image classifiers, many of
# which are trained with 0.1, and comparisons of losses between PyTorch and another engine.
# Source: PyTorch 2.15.0 with onnxscript 0.7.2, function_libs/torch_lib/ops/nn.py, aten_cross_entropy_loss; onnxruntime 1.32.0.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-cache-dir torch==2.15.0 onnx==1.23.2 onnxscript==0.7.2 onnxruntime==1.32.0 numpy==2.4.6 >"$folder/log" 2>&1 \
  || { tail -3 "$folder/log"; exit 1; }
"$folder/venv/bin/python" - 2>/dev/null <<'P'
import sys
import warnings

import onnxruntime
import torch

warnings.simplefilter("ignore")
torch.manual_seed(0)
x, target = torch.randn(4, 6), torch.tensor([1, 5, 2, 0])


def exported(what, args):
    program = torch.onnx.export(what, args, dynamo=True, verbose=False)
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    return float(session.run(None, dict(zip(names, (x.numpy(), target.numpy()))))[0])


as_described = True
plain = torch.nn.functional.cross_entropy(x, target).item()
for degree in 0.0, 0.1, 0.5:
    class Loss(torch.nn.Module):
        def forward(self, scores, labels):
            return torch.nn.functional.cross_entropy(scores, labels, label_smoothing=degree)

    loss = Loss()(x, target).item()
    direct = exported(Loss(), (x, target))
    decomposed = exported(torch.export.export(Loss(), (x, target)).run_decompositions(), ())
    print(f"label_smoothing={degree}: PyTorch {loss:.4f}, exported {direct:.4f}, exported after decompositions {decomposed:.4f}")
    as_described = as_described and abs(direct - plain) < 1e-5 and abs(decomposed - loss) < 1e-5 and (degree == 0) == (abs(loss - plain) < 1e-3)
sys.exit(not as_described)
P
