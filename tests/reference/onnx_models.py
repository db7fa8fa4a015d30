"""Exported models in onnxruntime: every operator's samples and every graph of graphs/, within 1e-5 of our own numbers.

Each model passes onnx.checker with full_check first. The samples come from the test onnx-export, which keeps its models
with inputs and outputs in a folder: with their sizes fixed, open, and open at other sizes. The graphs go through
`gradloom export` and `gradloom run`, with random statistics in batch norms, at two batch sizes."""

import argparse
import collections
import glob
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from safetensors.numpy import load_file, save_file

TOLERANCE = 1e-5
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def open_model(path):
    onnx.checker.check_model(path, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def difference(ours, theirs):
    """Largest difference, relative to the largest number where that is above 1; infinite for another shape or type."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return np.inf
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    finite = np.isfinite(a)
    if not np.array_equal(np.isfinite(b), finite) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return np.inf
    return 0.0 if not finite.any() else float(np.abs(a[finite] - b[finite]).max() / max(1.0, np.abs(a[finite]).max()))


def check_sample(folder):
    session = open_model(os.path.join(folder, "model.onnx"))
    inputs = {i.name: np.load(os.path.join(folder, f"in-{i.name}.npy")) for i in session.get_inputs()}
    outputs = session.run(None, inputs)
    worst = 0.0
    for k, value in enumerate(outputs):
        drawn = os.path.join(folder, f"random-{k}.npy")
        if os.path.exists(drawn):  # another generator's numbers: only how many there are can be compared
            worst = max(worst, 0.0 if np.load(drawn).shape == value.shape else np.inf)
        else:
            worst = max(worst, difference(np.load(os.path.join(folder, f"out-{k}.npy")), value))
    return worst


def gradloom(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "GRADLOOM_CPU_DEVICES": "2"})
    if done.returncode != 0:
        raise RuntimeError(f"gradloom {words[0]}: {done.stderr.strip()}")


def weights_of(program, graph, session, folder, inputs):
    """Initial weights, and statistics that are neither 0 nor 1."""
    path = os.path.join(folder, "weights.safetensors")
    words = [w for name in inputs for w in ("--in", f"{name}={folder}/{name}.npy")]
    gradloom(program, "run", graph, "--save-weights", path, *words)
    weights, rng = load_file(path), np.random.default_rng(5)
    for name, value in weights.items():
        if name.endswith("running_mean"):
            weights[name] = rng.standard_normal(value.shape).astype(value.dtype)
        elif name.endswith("running_var"):
            weights[name] = rng.uniform(0.5, 2, value.shape).astype(value.dtype)
    save_file(weights, path)
    return path


def check_graph(program, graph, external):
    worst, rng = 0.0, np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model.onnx")
        words = ["--to", "onnx", "-o", model] + (["--external-data"] if external else [])
        gradloom(program, "export", graph, *words)
        session, weights = open_model(model), None
        drawn = any(node.op_type.startswith("Random") for node in onnx.load(model, load_external_data=False).graph.node)
        for batch in (2, 4) if "several-devices" in graph else (1, 3):  # that one cuts its batches in two
            inputs = {}
            for i in session.get_inputs():
                shape = [batch if isinstance(n, str) else n for n in i.shape]
                # Every vocabulary has two words.
                inputs[i.name] = rng.integers(0, 2, shape) if "int64" in i.type else rng.standard_normal(shape).astype(np.float32)
                np.save(os.path.join(folder, f"{i.name}.npy"), inputs[i.name])
            if weights is None:
                weights = weights_of(program, graph, session, folder, inputs)
                gradloom(program, "export", graph, *words, "--weights", weights)
                session = open_model(model)
            outputs = session.run(None, inputs)
            ports = [w for name in inputs for w in ("--in", f"{name}={folder}/{name}.npy")]
            for output in session.get_outputs():
                ports += ["--out", f"{output.name}={folder}/out-{output.name}.npy"]
            gradloom(program, "run", graph, "--weights", weights, "--partial", *ports)
            for output, value in zip(session.get_outputs(), outputs):
                ours = np.load(f"{folder}/out-{output.name}.npy")
                worst = max(worst, difference(ours, ours if drawn and ours.shape == value.shape else value))
    return worst


def report(title, found):
    """found: (name, difference or a sentence) of each."""
    wrong = [(name, what) for name, what in found if isinstance(what, str) or not what <= TOLERANCE]
    worst = max((what for _, what in found if not isinstance(what, str)), default=0.0)
    for name, what in wrong:
        print(f"  {name}: {what if isinstance(what, str) else f'off by {what:.2e}'}")
    print(f"{title}: {len(found) - len(wrong)} of {len(found)} models agree with onnxruntime, worst {worst:.1e}")
    return len(wrong)


def attempt(check, *words):
    try:
        return check(*words)
    except Exception as error:  # a model that is refused is a finding like another
        return " ".join(str(error).split())[:300]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--samples", help="tests/test-onnx of a build")
    parser.add_argument("--only", default="", help="operators and graphs whose name contains this")
    args = parser.parse_args()
    wrong = 0
    if args.samples and os.path.exists(args.samples):
        with tempfile.TemporaryDirectory() as folder:
            words = dict(os.environ, GRADLOOM_EXPORT_FOLDER=folder, GRADLOOM_EXPORT_ONLY=f"*{args.only}*",
                         GRADLOOM_SOURCE_ROOT=ROOT)
            subprocess.run([args.samples, "onnx-export"], env=words, check=True, stdout=subprocess.DEVNULL)
            groups = collections.defaultdict(list)
            for case in sorted(glob.glob(os.path.join(folder, "*"))):
                with open(os.path.join(case, "what.txt"), encoding="utf-8") as file:
                    groups[case.rsplit("-", 1)[1]].append((file.read(), attempt(check_sample, case)))
            for kind, found in groups.items():
                wrong += report(f"samples, sizes {kind}", found)
    else:
        print("The samples are left out: there is no tests/test-onnx (it is built where tests and ONNX are).")
    graphs = [g for g in sorted(glob.glob(os.path.join(ROOT, "graphs", "*", "*.xml"))) if args.only in g]
    wrong += report("graphs", [(os.path.relpath(g, ROOT), attempt(check_graph, args.program, g, False)) for g in graphs])
    wrong += report("graphs with external data",
                    [(os.path.relpath(g, ROOT), attempt(check_graph, args.program, g, True)) for g in graphs[:3]])
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
