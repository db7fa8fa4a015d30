"""Every example graph's weights in PyTorch: they load by name, strictly, and the numbers that come out are the same.

For each graph `gradloom run --save-weights` writes its weights and its first batch. A module with the graph's layers
(torch_graph.py) and, where there is one, the class in twins.py load them with `load_state_dict(strict=True)` and compute the same
batch; the value of every node that the loss needs is compared (without a loss: of every node that an end of the graph needs). Where an operator is
not known there, the names and shapes of the weights still have to be those of PyTorch's layers."""

import argparse
import inspect
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from safetensors.torch import load_file

import torch_graph
from compare import ports_of
from gradloom_run import difference
from twins import TWINS, Attributes

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "graphs")
# Batches are cut to this many samples; a convolution, a product and a normalisation after another round in f32.
SAMPLES, TOLERANCE = 4, 2e-5
# Its activations are gigabytes, and gpt2.py compares a small one with the library that it comes from.
ELSEWHERE = ("gpt2.xml",)


def gradloom(program, *arguments):
    done = subprocess.run([program, "run", *arguments, "--device", "cpu", "--threads", "1"], capture_output=True, text=True,
                          env={**os.environ, "GRADLOOM_CPU_DEVICES": "2"})
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())


def wanted_of(file, nodes):
    """Ports of the graph: what is compared, beginning with the prediction of the loss, and the inputs."""
    train = file.root.find(torch_graph.NAMESPACE + "train")
    if train is not None:
        loss_port = train.get("loss")
        wires = nodes[loss_port.partition(".")[0]].wires
        wanted = ([wires["input"]] if "input" in wires else []) + [loss_port]
    else:
        read = {s.partition(".")[0] for n in nodes.values() for s in n.wires.values()}
        wanted = [n.id for n in nodes.values() if n.id not in read and n.op != "assign"]
    def outside(source):
        node = nodes[source.partition(".")[0]]
        return file.draws(node.op, node.module)

    reached, waiting = [], list(wanted)
    while waiting:
        source = waiting.pop()
        if source not in reached:
            reached.append(source)
            if not outside(source):
                waiting += nodes[source.partition(".")[0]].wires.values()
    return wanted + [s for s in reached if s not in wanted and not outside(s)], [s for s in reached if outside(s)]


def values(node):
    """Numbers for an input of the graph; its letters are SAMPLES."""
    shape = [int(d) if d.strip().isdigit() else SAMPLES for d in node.given.get("shape", "").split(",") if d.strip()]
    if node.given.get("dtype", "f32") != "f32":
        raise torch_graph.Unknown(f"an input of {node.given['dtype']}")
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def check(program, path, ops, folder):
    """A line that says what was compared; raises where something differs."""
    file = torch_graph.File(path, ops, {"B": SAMPLES})
    nodes = file.nodes(file.root, {})
    wanted, outside = wanted_of(file, nodes)

    def at(name):
        return os.path.join(folder, name)

    # The batch as Gradloom makes it, of which a few samples are given back to it.
    made = [(i, port) for i, port in enumerate(outside) if nodes[port.partition(".")[0]].op != "input"]
    first = [a for i, port in made for a in ("--out", f"{port}={at(f'in{i}.npy')}")]
    gradloom(program, path, *first, "--save-weights", at("weights.safetensors"))
    weights = load_file(at("weights.safetensors"))
    given = {}
    for i, port in enumerate(outside):
        node = nodes[port.partition(".")[0]]
        if node.op == "input":
            given[port] = values(node)
        else:
            given[port] = np.load(at(f"in{i}.npy"))[:SAMPLES]
        np.save(at(f"in{i}.npy"), given[port])
    feed = [a for i, port in enumerate(outside) for a in ("--in", f"{port}={at(f'in{i}.npy')}")]
    asked = [a for i, port in enumerate(wanted) for a in ("--out", f"{port}={at(f'out{i}.npy')}")]
    gradloom(program, path, *feed, *asked, "--weights", at("weights.safetensors"))
    ours = {port: np.load(at(f"out{i}.npy")) for i, port in enumerate(wanted)}
    given = {k: torch.from_numpy(v) for k, v in given.items()}

    net = torch_graph.module_of(file, weights)
    net.load_state_dict(weights, strict=True)
    said = f"{len(weights)} weights load"
    try:
        theirs = net.eval().values(wanted, given)
        worst, port = max((difference(ours[p], theirs[p].detach().numpy()), p) for p in wanted)
        if not worst <= TOLERANCE:
            raise ValueError(f"{port} off by {worst:.2g}")
        said += f", {len(wanted)} values within {worst:.1e}"
    except torch_graph.Unknown as what:
        said += f"; not computed, for want of {what}"
    name = os.path.splitext(os.path.basename(path))[0]
    if name in TWINS:
        twin = TWINS[name](Attributes(path)).eval()
        twin.load_state_dict(weights, strict=True)
        data = {port.partition(".")[2]: v for port, v in given.items() if nodes[port.partition(".")[0]].op == "dataset"}
        known = inspect.signature(twin.forward).parameters
        worst = difference(ours[wanted[0]], twin(**{k: v for k, v in data.items() if k in known}).detach().numpy())
        if not worst <= TOLERANCE:
            raise ValueError(f"{TWINS[name].__name__} is off by {worst:.2g}")
        said += f"; {TWINS[name].__name__} loads them, too, {worst:.1e}"
    return said


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--only", default="", help="graphs whose name contains this")
    args = parser.parse_args()
    torch.set_num_threads(1)
    ops = ports_of(args.program)
    paths = [os.path.join(ROOT, kind, name) for kind in ("lessons", "models") for name in sorted(os.listdir(os.path.join(ROOT, kind)))]
    failed = count = 0
    for path in paths:
        name = os.path.basename(path)
        if not name.endswith(".xml") or args.only not in name or name in ELSEWHERE:
            continue
        count += 1
        with tempfile.TemporaryDirectory() as folder:
            try:
                print(f"{name[:-4]:24}", check(args.program, path, ops, folder), flush=True)
            except Exception as error:  # one graph's fault does not hide the others'
                failed += 1
                print(f"{name[:-4]:24} failed: {type(error).__name__}: {error}", flush=True)
    print(f"weights in PyTorch: {count - failed} graphs agree, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
