#!/bin/sh
# One would guess: torch.onnx.export writes every parameter that a layer computes with, whatever its numbers are. A bias of zeros
# is left out: rules of the optimiser that runs by default (RemoveOptionalBiasFromConv, …ConvTranspose, …Gemm) replace the layer
# by one without a bias, so the file has no tensor for it, under no name. The results stay the same, but a network that begins
# with biases of zeros (timm, transformers, most detectors) and is exported to be trained elsewhere trains without them, and its
# checkpoints, which have them, do not fit. A single number that is not 0 keeps a bias, as does optimize=False; of layers that
# are exported as MatMul and Add, such as Linear on sequences, the bias stays. There is no warning.
# Source: onnxscript 0.7.2, rewriter/rules/common/_remove_optional_bias.py, used by PyTorch 2.15.0's exporter; running it.
# Met by exports of untrained networks, and by comparisons of the names in an export with a state dict.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.15.0 onnx==1.23.2 onnxscript==0.7.2 numpy==2.4.6 >"$folder/log" 2>&1 \
  || { tail -3 "$folder/log"; exit 1; }
"$folder/venv/bin/python" - "$folder" 2>/dev/null <<'PYTHON'
import sys, warnings, onnx, torch
from torch import nn
warnings.simplefilter("ignore")
layers = {"Conv2d": (lambda: nn.Conv2d(3, 4, 3), (2, 3, 5, 5)), "ConvTranspose2d": (lambda: nn.ConvTranspose2d(3, 4, 3), (2, 3, 5, 5)),
          "Linear": (lambda: nn.Linear(3, 4), (2, 3)), "Linear on sequences": (lambda: nn.Linear(3, 4), (2, 5, 3))}
seen = {}
for name, (make, shape) in layers.items():
    for number in (0.0, 1e-30):
        for optimize in (True, False):
            layer = nn.Sequential(make()).eval()
            nn.init.constant_(layer[0].bias, 0)
            layer[0].bias.data[0] = number
            path = f"{sys.argv[1]}/m.onnx"
            torch.onnx.export(layer, (torch.randn(shape),), path, dynamo=True, optimize=optimize, verbose=False)
            seen[name, number, optimize] = "0.bias" in [t.name for t in onnx.load(path).graph.initializer]
            print(f"{name}, first bias {number}, optimize={optimize}: the file has {'a' if seen[name, number, optimize] else 'no'} bias")
lost = {key for key, has in seen.items() if not has}
sys.exit(0 if lost == {(name, 0.0, True) for name in ("Conv2d", "ConvTranspose2d", "Linear")} else 1)
PYTHON
