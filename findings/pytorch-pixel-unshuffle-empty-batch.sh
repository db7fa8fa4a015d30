#!/bin/sh
# PyTorch 2.15.0 on a CPU: pixel_unshuffle of a batch without samples. One would guess that sizes follow from sizes, so
# that [0, 4, 6, 6] by a factor of 2 is [0, 16, 3, 3], as pixel_shuffle of an empty batch is [0, 1, 4, 4] for [0, 4, 2, 2].
# In fact pixel_unshuffle returns the sizes of its input unchanged. The meta device, and so fake tensors, torch.compile and
# torch.export, compute the sizes that one guesses: a model that sees an empty part of a batch has other sizes run than
# compiled, and a layer after it, which expects 16 channels, refuses 4. Who meets it: sharded or filtered batches in
# super-resolution, and programs that compare their sizes with PyTorch's.
# Source: the sizes that eager execution and the meta device report.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-cache-dir torch==2.15.0
"$folder/venv/bin/python" - <<'P' 2> /dev/null
import sys
import torch
from torch.nn.functional import pixel_shuffle, pixel_unshuffle

eager, meta = (tuple(pixel_unshuffle(torch.zeros(0, 4, 6, 6, device=d), 2).shape) for d in ("cpu", "meta"))
one = tuple(pixel_unshuffle(torch.zeros(1, 4, 6, 6), 2).shape)
shuffle = tuple(pixel_shuffle(torch.zeros(0, 4, 2, 2), 2).shape)
print(f"pixel_unshuffle by 2 of (1, 4, 6, 6): {one}; of (0, 4, 6, 6): {eager}, on the meta device {meta}; "
      f"pixel_shuffle of (0, 4, 2, 2): {shuffle}")
sys.exit((one, eager, meta, shuffle) != ((1, 16, 3, 3), (0, 4, 6, 6), (0, 16, 3, 3), (0, 1, 4, 4)))
P
