#!/bin/sh
# PyTorch 2.15.0: SGD with momentum and fused=True, and a parameter whose first gradient comes after the first step, as in gradual
# unfreezing, in a branch that the first batches do not take, or with an expert that gets no sample at first.
#
# One would guess that fused=True changes speed alone, so that a buffer of momentum is begun when it is needed. foreach and the
# plain loop do so and agree. The fused form begins buffers only in a step where no parameter has one: later it ends with
# TypeError, "expected Tensor as element 1 in argument 2, but got NoneType", in the step where the parameter joins, maybe hours
# into a run. Adam and AdamW with fused=True begin their state anyway. A parameter group for each stage does not suffer.
# Source: torch/optim/sgd.py, _fused_sgd: is_first_step is all() over the buffers of a group.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-cache-dir torch==2.15.0
"$folder/venv/bin/python" - <<'P' 2> /dev/null
import sys

import torch


def train(make, groups=False):
    """Four steps; the second parameter gets gradients from the third on. The steps that went well, and the parameters."""
    first, second = torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(3))
    optimizer = make([{"params": [first]}, {"params": [second]}] if groups else [first, second])
    for step in range(4):
        first.grad = torch.full((3,), 0.5)
        second.grad = torch.full((3,), 0.25) if step >= 2 else None
        try:
            optimizer.step()
        except TypeError as error:
            return step, str(error)
    return 4, [round(p[0].item(), 6) for p in (first, second)]


def sgd(**how):
    return lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, **how)


found = {"plain": train(sgd(foreach=False)), "foreach": train(sgd(foreach=True)), "fused": train(sgd(fused=True)),
         "fused, two groups": train(sgd(fused=True), groups=True),
         "fused Adam": train(lambda parameters: torch.optim.Adam(parameters, lr=0.1, fused=True))}
for name, (steps, what) in found.items():
    print(f"{name}: {steps} steps of 4, {what}")
sys.exit(not (found["plain"] == found["foreach"] == found["fused, two groups"] and found["plain"][0] == 4
              and found["fused"][0] == 2 and "NoneType" in found["fused"][1] and found["fused Adam"][0] == 4))
P
