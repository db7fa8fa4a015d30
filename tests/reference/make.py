"""Writes data/OPERATOR.safetensors: what PyTorch (CPU, f64) computes for samples of every operator, with gradients.

Samples are the cases in cases/ and PyTorch's own, of functions (opinfo.py) and of modules (modules.py). test-reference.c repeats them without Python. Only small ones are
kept, and of each operator at most as many as its different settings need; the live comparison (run) has all. A file's metadata
describes sample I under the key "I", as JSON: the graph's nodes and wires, values of symbols, the mode, which outputs are
compared. Tensors are I/in.PORT, I/weight.NAME, I/out.PORT, I/cotangent, I/grad.NAME (of the first output) and I/after.NAME. A
second run writes the same bytes. trajectories.py writes what training does."""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import sys

import numpy as np
import torch

import compare
import gradloom_run
import modules
import opinfo
import trajectories
from cases import CASES

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
MOST_BYTES, MOST_CASES, MOST_SAMPLES, MOST_WHOLE, MOST_MODULES = 5000, 14, 10, 6, 6
TYPES = {"f4": "F32", "f8": "F64", "i8": "I64", "i4": "I32", "u1": "U8", "b1": "BOOL"}


def save(path, tensors, metadata):
    """Whole and in a fixed order; the package's own writer shuffles metadata."""
    order = sorted(tensors, key=lambda k: (-tensors[k].dtype.itemsize, k))
    header, at = {"__metadata__": metadata}, 0
    for name in order:
        t = tensors[name]
        header[name] = {"dtype": TYPES[t.dtype.str[1:]], "shape": list(t.shape), "data_offsets": [at, at + t.nbytes]}
        at += t.nbytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            file.write(np.ascontiguousarray(tensors[name]).tobytes())
    return 8 + len(text) + at


def symbols(case):
    """The values of the letters in the inputs' shapes: {"B": 4}. A dimension "2B" of 8 says B = 4."""
    found = {}
    for text, value in zip(case.shapes or [], case.inputs):
        for part, size in zip(text.split(","), value.shape if value is not None else ()):
            match = re.fullmatch(r"(\d*)([A-Z])", part.strip())
            if match:
                found[match[2]] = size // int(match[1] or 1)
    return found


def describe(case, op):
    """(JSON, tensors), or None where there is nothing to compare."""
    text, names = compare.write_graph(case, op)
    outputs, grads, cotangent, after = compare.reference(case, names, np.random.default_rng(3))
    ports = {k: "n" if len(outputs) == 1 else f"n.{k}" for k in outputs}
    tensors = {f"in.{n}": np.asarray(v) for n, v in zip(names, case.inputs) if n}
    tensors.update({"weight." + case.weight_name(k): np.asarray(v) for k, v in {**case.weights, **case.buffers}.items()})
    tensors.update({f"out.{ports[k]}": v for k, v in outputs.items()})
    tensors.update({f"grad.{k}": v for k, v in grads.items()})
    tensors.update({"after." + case.weight_name(k): v for k, v in after.items()})
    if getattr(case, "source", "cases") != "cases" and all(np.isfinite(v).all() for v in outputs.values()):
        # PyTorch's own gradient is no number where its result is one: a branch that is not taken still says 0 · ∞.
        tensors = {k: v for k, v in tensors.items() if not (k.startswith("grad.") and np.isnan(v).any())}
    if cotangent is not None:
        tensors["cotangent"] = cotangent.astype(np.float32)
    head, tail = compare.graph("\0").split("\0")
    about = {"title": case.title().strip(), "source": getattr(case, "source", "cases"),
             "graph": text.removeprefix(head).removesuffix(tail), "mode": case.mode, "out": list(ports.values())}
    wants_grad = case.grad and np.issubdtype(next(iter(outputs.values())).dtype, np.floating)
    if wants_grad:
        about["grad"] = about["out"][0]
    if symbols(case):
        about["symbols"] = symbols(case)
    if case.scale != 1:
        about["scale"] = case.scale
    return about, tensors


def size(made):
    return sum(t.nbytes for t in made[1].values())


def choose(cases, most):
    """The cases whose settings were not seen before, then the others, then back in their order."""
    seen, fresh, rest = set(), [], []
    for i, case in enumerate(cases):
        key = json.dumps([sorted((k, str(v)) for k, v in case.params.items()), case.mode, [None if x is None else x.dtype.str for x in case.inputs]])
        ranks = key + str([None if x is None else x.ndim for x in case.inputs])
        (fresh if ranks not in seen else rest).append(i)
        seen.add(ranks)
    take = fresh if len(fresh) <= most else [fresh[i * len(fresh) // most] for i in range(most)]
    take += [rest[i * len(rest) // (most - len(take))] for i in range(min(len(rest), most - len(take)))] if len(take) < most and rest else []
    return [cases[i] for i in sorted(set(take))]


def refused(program, cases, ops):
    """Which samples our operators refuse, with the sentence (None: they do not); each is tried."""
    def attempt(case):
        text, names = compare.write_graph(case, ops[case.op])
        try:
            gradloom_run.run(program, text, {n: v for n, v in zip(names, case.inputs) if n}, ["n.0" if case.op in opinfo.PARTS else "n.out"],
                     weights={case.weight_name(k): v for k, v in {**case.weights, **case.buffers}.items()} or None, options=["--threads", "1", "--device", "ref"])
        except gradloom_run.Failed as failure:
            if not str(failure).startswith("status 1:"):
                return None  # no refusal: a crash is kept, to be seen
            return re.sub(r".*node n, (\w+: )?", "", str(failure).splitlines()[-1])[:70]
        return None

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(attempt, cases))


def small(cases):
    return [c for c in cases if sum(x.size for x in c.inputs if x is not None) + sum(np.size(w) for w in c.weights.values()) <= 300]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="gradloom, which tells the operators' ports")
    parser.add_argument("--only", default="", help="operators whose name contains this")
    args = parser.parse_args()
    torch.set_num_threads(1)
    ops = compare.ports_of(args.program)
    os.makedirs(FOLDER, exist_ok=True)
    own = collections.defaultdict(list)
    for case in CASES:
        own[case.op].append(case)
    theirs, left = opinfo.cases(ops, args.only)
    info = collections.defaultdict(list)
    for case in theirs:
        info[case.op].append(case)
    layers = collections.defaultdict(list)
    of_modules, left_of_modules = modules.cases(ops, args.only)
    for case in of_modules:
        layers[case.op].append(case)
    for name, counts in left_of_modules.items():
        left[name].update(counts)
    theirs += of_modules
    total = written = 0
    without = []
    for name, op in ops.items():
        if args.only not in name or name in compare.ELSEWHERE:
            continue
        tried = choose(small([c for c in info[name] if c.whole]), MOST_WHOLE) + choose(small(layers[name]), MOST_MODULES)
        kept = []
        for case, why in zip(tried, refused(args.program, tried, ops)):
            if why:
                left[name][("whole numbers: " if case.whole else "") + why] += 1
            else:
                kept.append(case)
        picked = choose(small(own[name]), MOST_CASES) + choose(small([c for c in info[name] if not c.whole]), MOST_SAMPLES) + kept
        tensors, metadata = {}, {"operator": name, "torch": torch.__version__.split("+")[0]}
        for case in picked:
            try:
                made = describe(case, op)
            except (RuntimeError, NotImplementedError):  # PyTorch has no gradient of this, most often of the target
                case.grad = False
                made = describe(case, op)
            if size(made) > MOST_BYTES:
                continue
            number = str(len(metadata) - 2)
            metadata[number] = json.dumps(made[0], separators=(",", ":"), ensure_ascii=False)
            tensors.update({f"{number}/{k}": v for k, v in made[1].items()})
        if len(metadata) == 2:
            without.append(name)
            continue
        total += len(metadata) - 2
        written += save(os.path.join(FOLDER, name + ".safetensors"), tensors, metadata)
    print(f"{total} samples, {written} bytes; {len(theirs)} of PyTorch's own can be expressed, {sum(sum(c.values()) for c in left.values())} cannot")
    lines = [f"{name}: " + ", ".join(f"{n} × {what}" for what, n in sorted(left[name].items())) + "\n" for name in sorted(left)]
    if not args.only:
        with open(os.path.join(FOLDER, "left-out.txt"), "w", encoding="utf-8") as file:
            file.write("Samples of PyTorch's own that are not compared, by operator, with what they use and it does not have.\n\n")
            file.writelines(lines)
    print("".join(lines), end="")
    for name in without:
        print("no samples:", name)
    if not args.only:
        print("{} runs of training, {} bytes".format(*trajectories.main(save)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
