"""Every operator as `gradloom export --to pytorch` writes it, against `gradloom run`, on the inputs of the cases of compare.py."""

import argparse
import collections
import os
import sys
import tempfile

import numpy as np
import torch
from safetensors.numpy import save_file

import pytorch_export
from cases import CASES
from compare import ports_of, write_graph
from gradloom_run import difference

TOLERANCE = 2e-5
# A step by hand, which pytorch_export.py compares in whole graphs.
ELSEWHERE = {"assign"}
# Of the largest element: f32 in both, and PyTorch computes max(-x, 0) with another rounding.
TOLERANCE_OF = {"binary_cross_entropy_with_logits": 5e-5}


# Both are f32 here, and each rounds.
def check(program, case, op, folder):
    """What differs, in words."""
    def at(name):
        return os.path.join(folder, name)

    text, names = write_graph(case, op)
    with open(at("graph.xml"), "w", encoding="utf-8") as file:
        file.write(text)
    save_file({case.weight_name(k): np.array(v, order="C") for k, v in {**case.weights, **case.buffers}.items()}, at("weights.safetensors"))
    try:
        exported = pytorch_export.export(program, at("graph.xml"), at("exported.py"))
    except RuntimeError as refusal:
        if "cannot be written for PyTorch" in str(refusal):
            return "refused"
        raise
    with open(at("exported.py"), "w", encoding="utf-8") as file:
        file.write(exported)
    module = pytorch_export.load(at("exported.py"))
    model = module.make_model(at("weights.safetensors")).train(case.mode == "train")
    given = {n: np.array(v) for n, v in zip(names, case.inputs) if n}
    inputs = {k: torch.from_numpy(given[port]) for k, port in module.PORTS.items()}
    out = model(**inputs)
    feed, asked = [], []
    for name, value in given.items():
        np.save(at(f"{name}.npy"), value)
        feed += ["--in", f"{name}={at(name)}.npy"]
    for i, port in enumerate(out):
        asked += ["--out", f"{port}={at(f'out{i}')}.npy"]
    pytorch_export.gradloom(program, "run", at("graph.xml"), *feed, *asked, "--weights", at("weights.safetensors"), "--mode", case.mode, "--threads", "1")
    for i, (port, value) in enumerate(out.items()):
        ours, theirs = np.load(at(f"out{i}.npy")), value.detach().numpy()
        off = difference(ours, theirs)
        if ours.dtype != theirs.dtype or not off <= TOLERANCE_OF.get(case.op, TOLERANCE) * case.scale:
            return f"{port} is off by {off:.2g}, {ours.dtype} {ours.shape} and {theirs.dtype} {theirs.shape}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--only", default="", help="operators whose name contains this")
    args = parser.parse_args()
    torch.set_num_threads(1)
    ops, counts, failures = ports_of(args.program), collections.Counter(), []
    for case in CASES:
        # PyTorch's pixel_unshuffle does not change the shape of an empty batch.
        empty = case.op == "pixel_unshuffle" and any(v is not None and v.size == 0 for v in case.inputs)
        if args.only not in case.op or case.op in ELSEWHERE or empty:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                said = check(args.program, case, ops[case.op], folder)
            except Exception as error:  # one case's fault does not hide the others'
                said = f"{type(error).__name__}: {error}"
        counts["refused" if said == "refused" else "failed" if said else "passed"] += 1
        if said and said != "refused":
            failures.append(f"{case.title()}: {said}")
    for line in failures:
        print("failed:", line)
    print(f"operators in PyTorch: {counts['passed']} cases agree, {counts['refused']} are refused, {counts['failed']} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
