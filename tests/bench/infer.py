"""Races inference against onnxruntime on the CPU: networks of torchvision and timm with random weights, in batches of 1 and 16.

The network is exported to ONNX; `gradloom import` makes a graph of it, which `bench-infer` computes through the predictor.
Both sides have the same threads, input and weights; results are compared first, and windows alternate."""

import argparse
import os
import re
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnxruntime
import timm
import torch
import torchvision

NETS = {
    "resnet18": torchvision.models.resnet18,
    "resnet50": torchvision.models.resnet50,
    "mobilenetv3-small": torchvision.models.mobilenet_v3_small,
    "efficientnet-b0": torchvision.models.efficientnet_b0,
    "vit-tiny": lambda: timm.create_model("vit_tiny_patch16_224"),
}


class Gradloom:
    def __init__(self, bench, stem, threads):
        self.process = subprocess.Popen([bench, stem + ".xml", stem + ".safetensors", stem + ".npy", str(threads)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "GOMP_SPINCOUNT": os.environ.get("GOMP_SPINCOUNT", "10000")})
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit("bench-infer failed")

    def ask(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().split()

    def window(self, n):
        return float(self.ask(f"run {n}")[1]) / n

    def limit(self):
        """Operations of a prediction's products, and those a second that a large product reaches."""
        a = self.ask("limit")
        return float(a[1]), float(a[3])

    def result(self, path):
        self.ask("save " + path)
        return np.load(path)


def prepare(args, name, batch, folder):
    """The network in both forms, and its input; kept in the folder."""
    stem = os.path.join(folder, f"{name}-b{batch}")
    if not os.path.exists(stem + ".safetensors"):
        torch.manual_seed(1)
        x = torch.randn(batch, 3, 224, 224)
        torch.onnx.export(NETS[name]().eval(), (x,), stem + ".onnx", input_names=["x"], output_names=["y"], dynamo=False)
        np.save(stem + ".npy", x.numpy())
        subprocess.run([args.program, "import", stem + ".onnx", "-o", stem + ".xml"], check=True, stdout=subprocess.DEVNULL)
    return stem


def race(args, name, batch, folder):
    stem = prepare(args, name, batch, folder)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = args.threads
    # Threads that spin after their work would take the processors from the other side's window.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    session = onnxruntime.InferenceSession(stem + ".onnx", options, providers=["CPUExecutionProvider"])
    x = np.load(stem + ".npy")
    ours = Gradloom(args.bench, stem, args.threads)
    a, b = ours.result(stem + "-y.npy"), session.run(None, {"x": x})[0]
    difference = float(np.abs(a - b).max() / np.abs(b).max())
    if not difference < 1e-3:
        raise SystemExit(f"{name}: results differ by {difference:.1g}")

    def theirs(n):
        start = time.perf_counter()
        for _ in range(n):
            session.run(None, {"x": x})
        return (time.perf_counter() - start) / n

    n = max(1, int(args.seconds / ours.window(2)))
    theirs(2)
    pairs = []
    for _ in range(args.windows):
        pairs.append((ours.window(n), theirs(n)))
    ratios = sorted(t / o for o, t in pairs)
    own = statistics.median(o for o, _ in pairs)
    products, rate = ours.limit()
    print(f"{name} b{batch}: {own * 1e3:.2f} ms, onnxruntime {statistics.median(t for _, t in pairs) * 1e3:.2f} ms; "
          f"{ratios[0]:.2f} / {statistics.median(ratios):.2f} / {ratios[-1]:.2f}; {products / own / rate * 100:.0f} % of the "
          f"{rate / 1e9:.0f} GFLOP/s of a large product (convolutions count as direct ones); results agree within {difference:.0e}",
          flush=True)
    ours.process.stdin.close()
    ours.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="gradloom")
    parser.add_argument("--bench", required=True, help="bench-infer")
    parser.add_argument("--only", default="", help="a pattern of names, as in mobilenet.*b1$")
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.2, help="of a window")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--keep", help="a folder for the networks; else a temporary one")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in NETS:
            for batch in (1, 16):
                if re.search(args.only, f"{name}-b{batch}"):
                    race(args, name, batch, args.keep or folder)


if __name__ == "__main__":
    main()
