"""PyTorch's own exports, imported and run: the networks of onnx_nets.py as both of its exporters write them, with a
fixed and an open batch. `gradloom import` and `gradloom run` must give PyTorch's numbers within 1e-5.

With --store FOLDER a few of them are kept there in the form of ONNX's own test cases, which tests/onnx/test-onnx-exports.c
repeats without PyTorch: onnx_exports.py --store tests/onnx/exports."""

import argparse
import contextlib
import io
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import torch

import onnx_nets

TOLERANCE = 1e-5
# What the importer reads; the rest is about the machine and the program that exported.
NAMES = ("pkg.torch.onnx.name_scopes", "pkg.torch.onnx.class_hierarchy", "pkg.torch.onnx.fx_node",
         "pkg.torch.export.ExportedProgram.graph_signature")
STORED = ("blocks", "gpt", "mlp", "super-resolution", "unet", "lstm", "gru")
STORED_NEW = ("fresh", "names", "norms", "packed", "padded", "twice")
STORED_PLAIN = ("dropped", "mobilenet", "names", "norms", "masked", "tied", "indexed", "twice")
STORED_FIXED = ("twice",)  # with a batch that the import opens
# Name, whether it is the present one, and its options: from set 23 on attention and root-mean-square norms are operators;
# without optimisation batch norm stays, and constants are computed by nodes.
EXPORTERS = (("dynamo", True, {}), ("dynamo-23", True, {"opset_version": 23}), ("plain", True, {"optimize": False}),
             ("script", False, {}))


def make(name, dynamo, open_batch, folder, options):
    """Writes model.onnx, and model.onnx.data where the exporter does; returns the input and PyTorch's outputs for it. An
    open batch is run at another size than it was exported with."""
    network, example = onnx_nets.MODELS[name]
    model = onnx_nets.build(network)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        onnx_nets.export(model, example, os.path.join(folder, "model.onnx"), dynamo, open_batch, **options)
    torch.manual_seed(3)
    x = example(3)
    with torch.no_grad():
        y = model(x)
    return x.numpy(), [v.numpy() for v in (y if isinstance(y, tuple) else (y,))]


def gradloom(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"gradloom {words[0]}: {done.stderr.strip()}")
    return done.stdout


def difference(ours, theirs):
    """Largest difference, relative to the largest number where that is above 1; infinite for another shape."""
    if ours.shape != theirs.shape or not np.isfinite(ours).all():
        return np.inf
    return float(np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max()))


def check(program, name, dynamo, open_batch, options):
    with tempfile.TemporaryDirectory() as folder:
        x, y = make(name, dynamo, open_batch, folder, options)
        graph, weights, given = (os.path.join(folder, f) for f in ("m.xml", "m.safetensors", "in.npy"))
        np.save(given, x)
        said = gradloom(program, "import", os.path.join(folder, "model.onnx"), "-o", graph)
        (into,), out = (re.findall(rf"^{word} ([^:]*):", said, re.M) for word in ("input", "output"))
        words = ["--weights", weights] if os.path.exists(weights) else []
        for i, port in enumerate(out):
            words += ["--out", f"{port}={folder}/out-{i}.npy"]
        gradloom(program, "run", graph, "--in", f"{into}={given}", *words)
        if len(out) != len(y):
            return np.inf
        return max(difference(np.load(f"{folder}/out-{i}.npy"), value) for i, value in enumerate(y))


def store(name, dynamo, options, folder):
    """One case, without what the exporter notes about the machine that it ran on."""
    data = os.path.join(folder, "test_data_set_0")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(data)
    x, y = make(name, dynamo, name not in STORED_FIXED, folder, options)
    path = os.path.join(folder, "model.onnx")
    model = onnx.load(path, load_external_data=False)
    graph = model.graph
    del graph.value_info[:]
    for part in (model, graph, *graph.node, *graph.input, *graph.output, *graph.initializer):
        kept = [p for p in part.metadata_props if p.key in NAMES]
        del part.metadata_props[:]
        part.metadata_props.extend(kept)
        part.ClearField("doc_string")
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    for kind, ports, values in (("input", graph.input, [x]), ("output", graph.output, y)):
        for i, (port, value) in enumerate(zip(ports, values)):
            with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as file:
                file.write(onnx.numpy_helper.from_array(value, port.name).SerializeToString())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", help="gradloom")
    parser.add_argument("--only", default="", help="networks whose name contains this")
    parser.add_argument("--store", metavar="FOLDER", help="keep cases there instead")
    args = parser.parse_args()
    if not args.program and not args.store:
        parser.error("--program or --store is needed")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    names = [name for name in onnx_nets.MODELS if args.only in name]
    wrong, count, worst = 0, 0, 0.0
    for name in names:
        for exporter, dynamo, given in EXPORTERS:
            if not dynamo and name in onnx_nets.NEW_EXPORTER:
                continue
            stored = STORED_PLAIN if exporter == "plain" else STORED + (STORED_NEW if dynamo else ())
            if args.store and name in stored and "opset_version" not in given:
                store(name, dynamo, given, os.path.join(args.store, f"{name}-{exporter}"))
            for open_batch in (False, True) if not args.store else ():
                count += 1
                try:
                    off = check(args.program, name, dynamo, open_batch, given)
                    what = f"off by {off:.2e}"
                except Exception as error:  # a model that is refused is a finding like another
                    off, what = np.inf, " ".join(str(error).split())[:300]
                if off <= TOLERANCE:
                    worst = max(worst, off)
                else:
                    wrong += 1
                    print(f"  {name}, {exporter}, batch {'open' if open_batch else 'fixed'}: {what}")
    if not args.store:
        print(f"PyTorch's exports: {count - wrong} of {count} models agree with PyTorch, worst {worst:.1e}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
