"""Every operator against PyTorch, through `gradloom run`: outputs and all gradients, in f64 on ref and in f32 on the CPU.

Inputs and weights are f32 numbers, so that both precisions are held against one reference in f64. Each case of cases.py is a
graph file of its own. A line for each operator says how many comparisons passed and how far the worst of them is off."""

import argparse
import collections
import concurrent.futures
import json
import subprocess
import sys

import numpy as np
import torch

import gradloom_run
from cases import CASES
from gradloom_run import Failed, difference, graph, node, wire

# Relative to the largest number of the tensor. f64 leaves room for another order of summation, not for another formula.
TOLERANCE = {"f64": 1e-9, "f32": 1e-5}
# Operators that only make sense inside something else are compared in nets.py: what a module's ports and a data set deliver.
# What a scheduled number is at each step says tests/train/test-stateful.c.
ELSEWHERE = {"dataset", "module_input", "module_output", "input", "recurse", "scan", "scheduled", "switch"}


def ports_of(program):
    lines = subprocess.run([program, "ops", "--json"], capture_output=True, text=True, check=True).stdout.splitlines()
    return {op["name"]: op for op in map(json.loads, lines)}


def write_graph(case, op):
    """One node for each input, named a, b, …, and the operator itself, named n."""
    names, text = [], ""
    variadic = op["inputs"] and op["inputs"][0]["variadic"]
    wires = ""
    for i, value in enumerate(case.inputs):
        name = "abcdefgh"[i]
        names.append(name if value is not None else None)
        if value is None:
            continue
        shape = case.shapes[i] if case.shapes else ",".join(map(str, value.shape))
        text += node(name, "input", shape=shape, dtype=gradloom_run.NAMES[value.dtype])
        if not case.nodes:
            port = case.ports[i] if case.ports else i if variadic else op["inputs"][i]["name"]
            wires += wire(name, f"n.{port}")
    text += "".join(node(name, kind, **params) for name, kind, params in case.nodes)
    wires += "".join(wire(*w) for w in case.wires)
    return graph(text + node("n", case.op, **case.params) + wires), names


def reference(case, names, cotangent_rng):
    """PyTorch's outputs, gradients by the names of docs/using-models.md, and cotangent (None for a single number)."""
    inputs = [None if v is None else torch.from_numpy(np.array(v)) for v in case.inputs]
    inputs = [v.double().requires_grad_(case.grad) if v is not None and v.is_floating_point() else v for v in inputs]
    weights = {k: torch.from_numpy(np.array(v)).double().requires_grad_(case.grad) for k, v in case.weights.items()}
    buffers = {k: torch.from_numpy(np.array(v)) for k, v in case.buffers.items()}
    buffers = {k: v.double() if v.is_floating_point() else v for k, v in buffers.items()}
    everything = {**weights, **buffers}
    outputs = case.fn(inputs, everything)
    outputs = outputs if isinstance(outputs, dict) else {"out": outputs}
    first = next(iter(outputs.values()))
    grads, cotangent = {}, None
    if case.grad and first.is_floating_point():
        cotangent = None if first.numel() == 1 else torch.from_numpy(
            cotangent_rng.standard_normal(tuple(first.shape)).astype(np.float32)).double()
        wanted = {case.weight_name(k): v for k, v in weights.items()}
        wanted.update({f"input:{name}": v for name, v in zip(names, inputs)
                       if v is not None and v.is_floating_point()})
        if first.requires_grad and wanted:
            found = torch.autograd.grad(first, list(wanted.values()), cotangent if cotangent is not None
                                        else torch.ones_like(first), allow_unused=True)
        else:
            found = [None] * len(wanted)
        grads = {k: (torch.zeros_like(v) if g is None else g).detach().numpy() for (k, v), g in zip(wanted.items(), found)}
    return ({k: v.detach().numpy() for k, v in outputs.items()}, grads,
            cotangent.numpy() if cotangent is not None else None,
            {k: everything[k].detach().numpy() for k in case.after})


def check(program, case, op, dtype):
    """A list of (what, difference or a sentence); empty differences pass."""
    text, names = write_graph(case, op)
    outputs, grads, cotangent, after = reference(case, names, np.random.default_rng(3))
    wants_grad = case.grad and np.issubdtype(next(iter(outputs.values())).dtype, np.floating)
    ports = {k: "n" if len(outputs) == 1 else f"n.{k}" for k in outputs}
    options = ["--dtype", dtype, "--mode", case.mode, "--threads", "1"]
    weights = {case.weight_name(k): v for k, v in {**case.weights, **case.buffers}.items()}
    try:
        ours, our_grads, saved = gradloom_run.run(
            program, text, {n: v for n, v in zip(names, case.inputs) if n}, list(ports.values()),
            next(iter(ports.values())) if wants_grad else None, cotangent, (), weights or None, options, bool(after))
    except Failed as failure:
        return [("run", str(failure))]
    found = []
    for port, expected in outputs.items():
        got = ours[ports[port]]
        kind = expected.dtype if not np.issubdtype(expected.dtype, np.floating) else np.dtype("f8" if dtype == "f64" else "f4")
        if got.dtype != kind:
            found.append((port, f"is {got.dtype}, not {kind}"))
        if got.shape != expected.shape:
            found.append((port, f"has shape {got.shape}, not {expected.shape}"))
        found.append((port, difference(got, expected)))
    if wants_grad:
        if set(our_grads) != set(grads):
            found.append(("grads", f"are of {sorted(our_grads)}, not of {sorted(grads)}"))
        for name in set(grads) & set(our_grads):
            found.append((f"gradient of {name}", difference(our_grads[name], grads[name])))
    for name, expected in after.items():
        got = saved[case.weight_name(name)]
        if (got.dtype == np.int64) != (expected.dtype == np.int64):
            found.append((name, f"is saved as {got.dtype}"))
        found.append((name, difference(got, expected)))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--only", default="", help="operators whose name contains this")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    ops = ports_of(args.program)
    work = [(case, dtype) for case in CASES if args.only in case.op for dtype in TOLERANCE]
    table = collections.defaultdict(lambda: {"passed": 0, "failed": 0, "f64": 0.0, "f32": 0.0})
    failures = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for (case, dtype), found in zip(work, pool.map(lambda w: check(args.program, w[0], ops[w[0].op], w[1]), work)):
            row = table[case.op]
            wrong = [(what, d) for what, d in found if isinstance(d, str) or not d <= TOLERANCE[dtype] * case.scale]
            row["failed" if wrong else "passed"] += 1
            for _, d in found:
                if not isinstance(d, str):
                    row[dtype] = max(row[dtype], d)
            if wrong:
                failures.append(f"{case.title()} {dtype}: " + "; ".join(
                    f"{what} {d}" if isinstance(d, str) else f"{what} off by {d:.2g}" for what, d in wrong))
    missing = [name for name in ops if args.only in name and name not in table and name not in ELSEWHERE]
    print(f"{'operator':16} {'passed':>7} {'failed':>7} {'worst f64':>10} {'worst f32':>10}")
    for name in [name for name in ops if name in table]:
        row = table[name]
        print(f"{name:16} {row['passed']:7} {row['failed']:7} {row['f64']:10.1e} {row['f32']:10.1e}")
    print(f"{'all':16} {sum(r['passed'] for r in table.values()):7} {sum(r['failed'] for r in table.values()):7}")
    for line in failures:
        print("failed:", line)
    for name in missing:
        print("failed: no case compares", name)
    return 1 if failures or missing else 0


if __name__ == "__main__":
    sys.exit(main())
