"""Twenty steps of training against PyTorch, from the same weights: losses, final weights, running statistics.

The data set is one batch, so that the order of samples does not matter; the weights that a seed gives are asked from
`gradloom run --save-weights` and loaded into PyTorch. Then the distributions of initial weights."""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from safetensors.numpy import load_file
from torch import nn

import gradloom_run
from gradloom_run import graph, node, wire

STEPS = 20
TOLERANCE = 1e-4


def chain(layers, first="data.x"):
    text, last = "", first
    for name, op, params in layers:
        text += node(name, op, **params) + wire(last, name)
        last = name
    return text, last


MLP = ([("flat", "flatten", {}), ("a", "linear", {"out_features": 16}), ("act", "relu", {}), ("b", "linear", {"out_features": 12}),
        ("act2", "tanh", {}), ("c", "linear", {"out_features": 5})],
       lambda: nn.Sequential(nn.Flatten(), nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 12), nn.Tanh(), nn.Linear(12, 5)),
       {"1": "a", "3": "b", "5": "c"}, (64, 8), 5)
# No bias before a normalisation: its gradient is rounding, which adam makes whole steps of.
CNN = ([("conv1", "conv2d", {"out_channels": 6, "kernel_size": 3, "padding": 1, "bias": False}), ("bn1", "batch_norm2d", {}), ("r1", "relu", {}),
        ("pool", "max_pool2d", {"kernel_size": 2}), ("conv2", "conv2d", {"out_channels": 8, "kernel_size": 3, "bias": False}),
        ("bn2", "batch_norm2d", {"momentum": 0.3}), ("r2", "gelu", {}), ("avg", "avg_pool2d", {"kernel_size": 2}),
        ("flat", "flatten", {}), ("fc", "linear", {"out_features": 4})],
       lambda: nn.Sequential(nn.Conv2d(2, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 8, 3, bias=False),
                             nn.BatchNorm2d(8, momentum=0.3), nn.GELU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(32, 4)),
       {"0": "conv1", "1": "bn1", "4": "conv2", "5": "bn2", "9": "fc"}, (32, 2, 12, 12), 4)
NORM = ([("a", "linear", {"out_features": 16}), ("n", "layer_norm", {}), ("g", "gelu", {"approximate": "tanh"}),
         ("c", "linear", {"out_features": 5})],
        lambda: nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU("tanh"), nn.Linear(16, 5)),
        {"0": "a", "1": "n", "3": "c"}, (64, 8), 5)


def sgd(**options):
    return "sgd", options, lambda p: torch.optim.SGD(p, **options)


def adam(kind="adam", **options):
    make = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[kind]
    return kind, options, lambda p: make(p, **options)


def factor(kind, options):
    """The learning rate's factor at each step, written from docs/file-format.md and PyTorch's own formulas."""
    warm = options.get("warmup_steps", 0)
    left = STEPS - warm

    def at(step, lr):
        if step < warm:
            return (step + 1) / warm
        s = step - warm
        if kind == "cosine":
            low = options.get("min_lr", 0) / lr
            return low + (1 - low) * (1 + math.cos(math.pi * s / left)) / 2
        if kind == "linear":
            return 1 + (options["end_factor"] - 1) * s / left
        if kind == "step":
            return options["gamma"] ** (s // options["step_size"])
        return 1
    return at


RUNS = [
    ("mlp sgd", MLP, sgd(lr=0.1), None, None),
    ("mlp sgd momentum", MLP, sgd(lr=0.1, momentum=0.9), None, None),
    ("mlp sgd nesterov", MLP, sgd(lr=0.05, momentum=0.9, nesterov=True), None, None),
    ("mlp sgd nesterov weight decay", MLP, sgd(lr=0.05, momentum=0.8, nesterov=True, weight_decay=0.01), None, None),
    ("mlp sgd dampening", MLP, sgd(lr=0.05, momentum=0.8, dampening=0.3, weight_decay=0.01), None, None),
    ("mlp adam", MLP, adam(lr=0.01), None, None),
    ("mlp adam betas eps weight decay", MLP, adam(lr=0.01, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.02), None, None),
    ("mlp adam amsgrad", MLP, adam(lr=0.02, amsgrad=True), None, None),
    ("mlp adamw", MLP, adam("adamw", lr=0.01), None, None),
    ("mlp adamw weight decay", MLP, adam("adamw", lr=0.01, weight_decay=0.2), None, None),
    ("mlp sgd clip", MLP, sgd(lr=0.5, momentum=0.9), 0.1, None),
    ("mlp adam clip", MLP, adam(lr=0.01), 0.05, None),
    ("mlp adam cosine warm-up", MLP, adam(lr=0.02), None, ("cosine", dict(warmup_steps=5, min_lr=0.001))),
    ("mlp sgd cosine", MLP, sgd(lr=0.2), None, ("cosine", {})),
    ("mlp sgd linear", MLP, sgd(lr=0.2), None, ("linear", dict(end_factor=0.1))),
    ("mlp sgd step warm-up", MLP, sgd(lr=0.2), None, ("step", dict(step_size=4, gamma=0.5, warmup_steps=3))),
    ("mlp sgd constant warm-up", MLP, sgd(lr=0.2), None, ("constant", dict(warmup_steps=7))),
    ("cnn sgd", CNN, sgd(lr=0.05, momentum=0.9), None, None),
    ("cnn adam", CNN, adam(lr=0.003), None, None),
    ("cnn adamw clip", CNN, adam("adamw", lr=0.003, weight_decay=0.1), 0.5, None),
    ("layer norm adam", NORM, adam(lr=0.01), None, None),
]


def write(folder, network, optimizer, clip, schedule, device):
    layers, _, _, shape, classes = network
    rng = np.random.default_rng(2)
    x = rng.standard_normal(shape).astype(np.float32)
    y = rng.integers(0, classes, shape[0], dtype=np.int64)
    np.save(os.path.join(folder, "x.npy"), x)
    np.save(os.path.join(folder, "y.npy"), y)
    text, last = chain(layers)
    kind, options, _ = optimizer
    attributes = node("train", kind, **options).split(" ", 5)[5].rsplit("/>", 1)[0]
    inner = f'<clip max_norm="{clip}"/>' if clip else ""
    if schedule:
        inner += node("s", "s", type=schedule[0], **schedule[1]).replace('  <node id="s" op="s"', "<schedule")
    text = node("data", "dataset", source="npy", x="x.npy", y="y.npy") + text + node("loss", "cross_entropy")
    text += wire(last, "loss.input") + wire("data.y", "loss.target")
    text += f'  <train loss="loss" optimizer="{kind}" {attributes} epochs="{STEPS}" batch_size="{shape[0]}" seed="5" device="{device}">{inner}</train>\n'
    path = os.path.join(folder, "graph.xml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(graph(text))
    return path, torch.from_numpy(x), torch.from_numpy(y)


def torch_state(weights, names):
    return {f"{ours}.{rest}": torch.from_numpy(np.array(weights[f"{theirs}.{rest}"]))
            for ours, theirs in names.items() for rest in
            [k[len(theirs) + 1:] for k in weights if k.startswith(theirs + ".")]}


def follow(program, run, device):
    name, network, optimizer, clip, schedule = run
    with tempfile.TemporaryDirectory() as folder:
        path, x, y = write(folder, network, optimizer, clip, schedule, device)
        start = os.path.join(folder, "start.safetensors")
        subprocess.run([program, "run", path, "--save-weights", start], check=True)
        out = os.path.join(folder, "out")
        done = subprocess.run([program, "train", path, "--out", out, "--json", "--threads", "1"], capture_output=True, text=True)
        if done.returncode != 0:
            return f"status {done.returncode}: {done.stderr.strip()}", 0, 0
        events = [json.loads(line) for line in done.stdout.splitlines()]
        ours = [e["loss"] for e in events if e["event"] == "step"]
        if len(ours) != STEPS:
            return f"{len(ours)} steps were reported, not {STEPS}", 0, 0
        model = network[1]()
        model.load_state_dict(torch_state(load_file(start), network[2]))
        model.train()
        step = optimizer[2](model.parameters())
        lr = optimizer[1]["lr"]
        theirs = []
        for i in range(STEPS):
            if schedule:
                for group in step.param_groups:
                    group["lr"] = lr * factor(*schedule)(i, lr)
            step.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            if clip:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            step.step()
            theirs.append(float(loss.detach()))
        worst = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs))
        ended = torch_state(load_file(os.path.join(out, "weights.safetensors")), network[2])
        apart = 0.0
        for key, value in model.state_dict().items():
            apart = max(apart, gradloom_run.difference(ended[key].numpy(), value.numpy()))
        return None, worst, apart


def schedules_agree():
    """The formulas above against PyTorch's schedulers, so that one mistake is not compared with itself."""
    worst = 0.0
    for kind, options, make in (
            ("cosine", dict(min_lr=0.001), lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, STEPS, 0.001)),
            ("linear", dict(end_factor=0.1), lambda o: torch.optim.lr_scheduler.LinearLR(o, 1.0, 0.1, STEPS)),
            ("step", dict(step_size=4, gamma=0.5), lambda o: torch.optim.lr_scheduler.StepLR(o, 4, 0.5))):
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.2)
        scheduler = make(optimizer)
        for i in range(STEPS):
            worst = max(worst, abs(optimizer.param_groups[0]["lr"] - 0.2 * factor(kind, options)(i, 0.2)))
            optimizer.step()
            scheduler.step()
    return worst


# A layer, what it takes, and PyTorch's; large, so that mean and deviation say something.
LAYERS = {
    "conv1": ("conv1d", dict(out_channels=128, kernel_size=5), "1,64,9", nn.Conv1d(64, 128, 5)),
    "conv2": ("conv2d", dict(out_channels=256, kernel_size=3, groups=2), "1,64,8,8", nn.Conv2d(64, 256, 3, groups=2)),
    "conv3": ("conv3d", dict(out_channels=64, kernel_size=(3, 2, 2)), "1,16,4,4,4", nn.Conv3d(16, 64, (3, 2, 2))),
    "turn1": ("conv_transpose1d", dict(out_channels=64, kernel_size=5), "1,128,9", nn.ConvTranspose1d(128, 64, 5)),
    "turn2": ("conv_transpose2d", dict(out_channels=64, kernel_size=3, groups=2), "1,128,4,4", nn.ConvTranspose2d(128, 64, 3, groups=2)),
    "turn3": ("conv_transpose3d", dict(out_channels=16, kernel_size=2), "1,64,3,3,3", nn.ConvTranspose3d(64, 16, 2)),
    "fc": ("linear", dict(out_features=300), "1,400", nn.Linear(400, 300)),
    "both": ("bilinear", dict(out_features=100), "1,40 1,30", nn.Bilinear(40, 30, 100)),
    "emb": ("embedding", dict(num_embeddings=500, embedding_dim=64), "2", nn.Embedding(500, 64)),
    "act": ("prelu", dict(num_parameters=8), "1,8", nn.PReLU(8)),
    "bn": ("batch_norm2d", {}, "1,8,3,3", nn.BatchNorm2d(8)),
    "inst": ("instance_norm2d", dict(affine=True, track_running_stats=True), "1,8,3,3", nn.InstanceNorm2d(8, affine=True, track_running_stats=True)),
    "ln": ("layer_norm", {}, "1,8", nn.LayerNorm(8)),
    "gn": ("group_norm", dict(num_groups=2), "1,8,3", nn.GroupNorm(2, 8)),
    "rms": ("rms_norm", {}, "1,8", nn.RMSNorm(8)),
}


def initial(program):
    """Names, shapes, means, deviations and largest of initial weights, compared with those that PyTorch's own modules begin with."""
    text = node("p", "parameter", shape="300,300")
    for name, (op, params, shapes, _) in LAYERS.items():
        for i, shape in enumerate(shapes.split()):
            text += node(f"{name}_{i}", "input", shape=shape, dtype="i64" if op == "embedding" else "f32")
            text += wire(f"{name}_{i}", name if " " not in shapes else f"{name}.input{i + 1}")
        text += node(name, op, **params)
    saved = gradloom_run.run(program, graph(text), save=True, options=["--seed", "3"])[2]
    failures = []
    expected = {f"{k}.{n}": v.numpy() for k, (*_, m) in LAYERS.items() for n, v in m.state_dict().items()}
    expected["p"] = np.random.default_rng(1).standard_normal((300, 300)).astype(np.float32)
    if set(saved) != set(expected):
        failures.append(f"names are {sorted(saved)}, PyTorch's are {sorted(expected)}")
    for name in sorted(set(saved) & set(expected)):
        a, b = saved[name].astype(np.float64), expected[name].astype(np.float64)
        if a.shape != b.shape:
            failures.append(f"{name} is {a.shape}, PyTorch's {b.shape}")
            continue
        spread, n = b.std(), a.size
        # Five standard errors of the mean and of the deviation, of two samples; of the largest, where there is a bound.
        mean_off, std_off = abs(a.mean() - (0 if spread else b.mean())), abs(a.std() - spread) / (spread or 1)
        if mean_off > 5 * spread / math.sqrt(n) or std_off > 8 / math.sqrt(n):
            failures.append(f"{name}: mean {a.mean():.4g}, deviation {a.std():.4g}; PyTorch's {b.mean():.4g}, {spread:.4g}")
        if not name.startswith("emb") and name != "p" and spread:
            most, theirs = np.abs(a).max(), np.abs(b).max()
            if abs(most - theirs) > 20 / n * theirs:
                failures.append(f"{name}: the largest is {most:.5g}, PyTorch's {theirs:.5g}")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    torch.set_num_threads(1)
    failed = 0
    print(f"{'training':40} {'losses':>10} {'weights':>10}")
    for device in ("cpu", "ref"):
        for run in RUNS:
            if args.only not in run[0]:
                continue
            why, worst, apart = follow(args.program, run, device)
            bad = why or not worst <= TOLERANCE or not apart <= 5e-3
            failed += bool(bad)
            print(f"{run[0] + ' on ' + device:40} {worst:10.1e} {apart:10.1e} {'failed ' + (why or '') if bad else ''}")
    worst = schedules_agree()
    print(f"{'schedules':40} {worst:10.1e}")
    failures = initial(args.program)
    for line in failures:
        print("failed: initial weights:", line)
    print(f"initial weights: {'as PyTorch' if not failures else 'differ'}")
    return 1 if failed or failures or worst > 1e-12 else 0


if __name__ == "__main__":
    sys.exit(main())
