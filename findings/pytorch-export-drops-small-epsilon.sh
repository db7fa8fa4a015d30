#!/bin/sh
# One would guess: torch.onnx.export writes the ε of a norm as it is. An ε of 1e-8 or less is dropped: the optimiser that runs by
# default replaces x + 0 by x, and its pattern matches constants with an absolute tolerance of 1e-8, so that 1e-8 is 0. A norm
# x / √(mean (x²) + 1e-8) then gives NaN for a row of zeros (padding) in any runtime, where PyTorch gives 0, and small rows are
# off by more than rounding. There is no warning. An ε of 2e-8 is kept, and with optimize=False any is.
# Source: onnxscript 0.7.2, rewriter/_matcher.py (math.isclose with abs_tol), used by PyTorch 2.15.0's exporter; running it.
# Met by exports of networks with such an ε, as Helium of transformers has, and StyleGAN's pixel norm.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.15.0 onnx==1.23.2 onnxscript==0.7.2 onnxruntime==1.32.0 numpy==2.4.6 >"$folder/log" 2>&1 \
  || { tail -3 "$folder/log"; exit 1; }
"$folder/venv/bin/python" - "$folder" 2>/dev/null <<'PYTHON'
import sys, warnings, numpy as np, onnx, onnxruntime, torch
warnings.simplefilter("ignore")
class Norm(torch.nn.Module):
    def __init__(self, epsilon):
        super().__init__()
        self.epsilon = epsilon
    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.epsilon)
x, seen = torch.tensor([[0.0, 0, 0, 0], [0, 1, 2, 3]]), {}
for epsilon in (1e-8, 2e-8):
    for optimize in (True, False):
        path = f"{sys.argv[1]}/m.onnx"
        torch.onnx.export(Norm(epsilon).eval(), (x,), path, dynamo=True, optimize=optimize, verbose=False)
        session = onnxruntime.InferenceSession(path)
        y = session.run(None, {session.get_inputs()[0].name: x.numpy()})[0]
        has_sum = "Add" in [node.op_type for node in onnx.load(path).graph.node]
        seen[epsilon, optimize] = has_sum and bool(np.isfinite(y).all())
        print(f"epsilon {epsilon}, optimize={optimize}: {'has' if has_sum else 'no'} Add; a row of zeros becomes {y[0].tolist()}, "
              f"in PyTorch {Norm(epsilon)(x)[0].tolist()}")
sys.exit(0 if seen == {(1e-8, True): False, (1e-8, False): True, (2e-8, True): True, (2e-8, False): True} else 1)
PYTHON
