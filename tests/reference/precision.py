"""Gradients in bf16 compared with PyTorch's autocast: both against PyTorch in f64 on the same weights and the same batch.

The batch is rounded to bf16 first, so that what is measured is the computation and not the input. One step of plain
gradient descent at rate 1 leaves the gradient as the difference of two weight files. Ours may be off at most 1.5 times
as far as PyTorch's, tensor by tensor taken together; the loss likewise, above a floor of what one rounding costs."""

import argparse
import copy
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from safetensors.numpy import load_file
from torch import nn

import training
from gradloom_run import graph, node, wire

ALLOWED = 1.5

WIDE = ([("flat", "flatten", {}), ("a", "linear", {"out_features": 256}), ("act", "gelu", {}), ("b", "linear", {"out_features": 128}),
         ("act2", "sigmoid", {}), ("c", "linear", {"out_features": 10})],
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(300, 256), nn.GELU(), nn.Linear(256, 128), nn.Sigmoid(), nn.Linear(128, 10)),
        {"1": "a", "3": "b", "5": "c"}, (64, 300), 10)
LENET = ([("conv1", "conv2d", {"out_channels": 16, "kernel_size": 3, "padding": 1}), ("r1", "relu", {}), ("p1", "max_pool2d", {"kernel_size": 2}),
          ("conv2", "conv2d", {"out_channels": 32, "kernel_size": 3, "padding": 1}), ("r2", "relu", {}), ("p2", "max_pool2d", {"kernel_size": 2}),
          ("flat", "flatten", {}), ("fc1", "linear", {"out_features": 128}), ("r3", "relu", {}), ("fc2", "linear", {"out_features": 10})],
         lambda: nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                               nn.Flatten(), nn.Linear(1568, 128), nn.ReLU(), nn.Linear(128, 10)),
         {"0": "conv1", "3": "conv2", "7": "fc1", "9": "fc2"}, (32, 1, 28, 28), 10)

NETS = [("mlp", training.MLP), ("wide", WIDE), ("lenet", LENET), ("conv and batch norm", training.CNN), ("layer norm", training.NORM)]


def batch(shape, classes):
    rng = np.random.default_rng(4)
    x = torch.from_numpy(rng.standard_normal(shape).astype(np.float32)).bfloat16().float()
    return x, torch.from_numpy(rng.integers(0, classes, shape[0], dtype=np.int64))


def ours(program, network, x, y, folder, device):
    """Loss, gradients by PyTorch's names, and the weights that they were taken at."""
    layers, _, names, shape, _ = network
    np.save(os.path.join(folder, "x.npy"), x.numpy())
    np.save(os.path.join(folder, "y.npy"), y.numpy())
    text, last = training.chain(layers)
    text = node("data", "dataset", source="npy", x="x.npy", y="y.npy") + text + node("loss", "cross_entropy")
    text += wire(last, "loss.input") + wire("data.y", "loss.target")
    text += f'  <train loss="loss" optimizer="sgd" lr="1" epochs="1" batch_size="{shape[0]}" seed="5" precision="bf16" device="{device}"/>\n'
    path, start, out = (os.path.join(folder, name) for name in ("graph.xml", "start.safetensors", "out"))
    with open(path, "w", encoding="utf-8") as file:
        file.write(graph(text))
    subprocess.run([program, "run", path, "--save-weights", start], check=True)
    done = subprocess.run([program, "train", path, "--out", out, "--json", "--threads", "1"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    before = training.torch_state(load_file(start), names)
    after = training.torch_state(load_file(os.path.join(out, "weights.safetensors")), names)
    return {key: before[key].double() - after[key].double() for key in before}, before


def theirs(model, x, y, short):
    model = copy.deepcopy(model).train()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=short):
        loss = nn.functional.cross_entropy(model(x if short else x.double()), y)
    loss.backward()
    return {key: p.grad.double() for key, p in model.named_parameters()}


def distance(a, b):
    return sum(float((a[key] - b[key]).square().sum()) for key in b) ** 0.5 / sum(float(b[key].square().sum()) for key in b) ** 0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    failed = count = 0
    for name, network in NETS:
        for device in ("cpu", "ref"):
            if options.only not in f"precision {name} {device}":
                continue
            count += 1
            x, y = batch(network[3], network[4])
            with tempfile.TemporaryDirectory() as folder:
                gradient, weights = ours(options.program, network, x, y, folder, device)
            model = network[1]()
            model.load_state_dict(weights)
            short = theirs(model, x, y, True)
            exact = theirs(copy.deepcopy(model).double(), x, y, False)
            here, there = distance(gradient, exact), distance(short, exact)
            good = here <= ALLOWED * there
            failed += not good
            print(f"{'ok' if good else 'FAILED':7} {name:22} bf16 on {device}: off by {here:.2e}, PyTorch by {there:.2e}, ratio {here / there:.2f}")
    print(f"precision: {count - failed} agreed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
