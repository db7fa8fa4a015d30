#!/bin/sh
# torch.onnx.export of scatter_reduce with reduce="mean", the mean over neighbours of graph networks.
#
# One would guess that an operation that ONNX lacks is refused, as index_reduce of the same exporter is, or made from others:
# a mean is a sum by a count. The exporter writes ScatterElements with reduction "none": each place holds one of the values that
# were to be averaged, the last one in onnxruntime, while ONNX leaves open which one, as it forbids repeated indices there.
# Shapes and types are right, nothing is reported, and with one value for each place the numbers are right as well. "sum",
# "prod", "amin" and "amax" are exported as they are. Who meets it: exports of graph and point-cloud networks.
# Source: PyTorch 2.15.0 with onnxscript 0.7.2, function_libs/torch_lib/ops/core.py, aten_scatter_reduce; onnxruntime 1.32.0.
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
start, values, target = torch.zeros(3), torch.tensor([1.0, 3, 8, 5]), torch.tensor([0, 0, 0, 2])
seen = {}
for reduce in "mean", "sum", "prod", "amin", "amax":
    class Gather(torch.nn.Module):
        def forward(self, a, i, v):
            return a.scatter_reduce(0, i, v, reduce, include_self=reduce == "mean")

    program = torch.onnx.export(Gather(), (start, target, values), dynamo=True, verbose=False)
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    y = session.run(None, dict(zip(names, (t.numpy() for t in (start, target, values)))))[0].tolist()
    reference = Gather()(start, target, values).tolist()
    seen[reduce] = y == reference
    print(f"{reduce} of 1, 3, 8 at place 0 and 5 at place 2: PyTorch {reference}, exported {y}")
    if reduce == "mean":
        last = y == [8.0, 0.0, 5.0]
sys.exit(not (last and seen == {"mean": False, "sum": True, "prod": True, "amin": True, "amax": True}))
P
