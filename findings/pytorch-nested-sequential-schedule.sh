#!/bin/sh
# PyTorch 2.15.0: a SequentialLR as a later schedule of another SequentialLR. One would guess that schedules nest, because
# SequentialLR takes any list of schedules, and the constructor accepts this one without a word. In fact the run ends with
# NotImplementedError, without a text, at the milestone where the inner one should begin: there SequentialLR calls
# _update_lr(0) of the next schedule, which needs a get_lr() that SequentialLR itself does not define. Training goes well
# until then, maybe for hours. Who meets it: a warm-up in front of a plan that itself has phases, and programs that write
# such plans. A flat list with summed milestones says the same and works.
# Source: torch/optim/lr_scheduler.py, SequentialLR.step and LRScheduler.get_lr.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-cache-dir torch==2.15.0
"$folder/venv/bin/python" - <<'P' 2> /dev/null
import sys
import torch
from torch.optim.lr_scheduler import ConstantLR, ExponentialLR, LinearLR, SequentialLR


def rates(make):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 0.1)
    schedule, found = make(optimizer), []
    for _ in range(12):
        found.append(round(optimizer.param_groups[0]["lr"], 6))
        optimizer.step()
        try:
            schedule.step()
        except NotImplementedError as error:
            return found, repr(error)
    return found, ""


nested, error = rates(lambda o: SequentialLR(
    o, [ExponentialLR(o, 0.9), SequentialLR(o, [LinearLR(o, 0.2, 1, 4), ConstantLR(o, 0.5, 4)], [4])], [6]))
flat, none = rates(lambda o: SequentialLR(
    o, [ExponentialLR(o, 0.9), LinearLR(o, 0.2, 1, 4), ConstantLR(o, 0.5, 4)], [6, 10]))
print(f"nested: {len(nested)} steps, then {error or 'no error'}; in one list: {len(flat)} steps, {none or 'no error'}")
sys.exit(not (len(nested) == 6 and error.startswith("NotImplementedError") and len(flat) == 12 and none == ""))
P
