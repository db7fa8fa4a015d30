#!/bin/sh
# PyTorch 2.15.0 on a CPU: the gradient of ctc_loss with respect to its input log_probs. One would guess that it is the
# derivative of the loss, as of every other operator. In fact softmax of the input is added to it: what comes back is the
# gradient of logits that a log_softmax would have turned into log_probs. After a log_softmax the additional term is
# cancelled exactly, because the gradient of each step then sums to 0. Any other way to log_probs, such as the logarithm of
# a mean of two models' probabilities or a temperature applied to them, gets another gradient than that of the function
# which the forward pass computes, without a word. Who meets it: gradient checks of ctc_loss, distillation and ensembles
# of speech models, and engines that compare gradients with PyTorch's.
# Source: central differences of the forward pass in f64.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-cache-dir torch==2.15.0
"$folder/venv/bin/python" - <<'P' 2> /dev/null
import sys
import torch
from torch.nn.functional import ctc_loss

torch.manual_seed(0)
labels, steps, count = torch.tensor([[1, 2]]), torch.tensor([5]), torch.tensor([2])
x = torch.randn(5, 1, 3, dtype=torch.float64).log_softmax(2).requires_grad_()


def loss(v):
    return ctc_loss(v, labels, steps, count, reduction="sum")


loss(x).backward()
numeric = torch.zeros_like(x)
for i in range(x.numel()):
    step = torch.zeros_like(x)
    step.view(-1)[i] = 1e-6
    numeric.view(-1)[i] = (loss(x.detach() + step) - loss(x.detach() - step)) / 2e-6
off = (x.grad - numeric).abs().max().item()
term = (x.grad - numeric - x.detach().exp()).abs().max().item()
print(f"gradient of the first step {[round(v, 4) for v in x.grad[0, 0].tolist()]}, derivative "
      f"{[round(v, 4) for v in numeric[0, 0].tolist()]}; they differ by up to {off:.3f}, and by softmax to {term:.0e}")
sys.exit(not (off > 0.5 and term < 1e-8))
P
