"""Settings that shape a run in addition to its optimiser, against PyTorch: batches that are accumulated against one large batch, and
weights' moving averages against torch.optim.swa_utils.AveragedModel. Then every metric of `gradloom eval` against its
formula in NumPy, over batches that the samples do not fill.

An epoch is one step over all samples here, so that the order of samples does not matter."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from gradloom_run import graph, node, wire
from optimisers import STEPS, Run, apart, compare, written

O = torch.optim


def accumulate(program, f64, batch, parts, make, name, options, clip):
    """24 samples: 4 × 7 and 5 × 5 leave a short batch."""
    inner = f'<clip norm="{clip}"/>' if clip else ""
    with tempfile.TemporaryDirectory() as folder:
        run = Run(program, folder, name, options, f64, inner, batch=batch, extra=f' accumulate="{parts}"')
        optimizer = make(run.names.values(), **options)
        losses = []
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = run.loss()
            loss.backward()
            if clip:
                nn.utils.clip_grad_norm_(run.names.values(), clip)
            optimizer.step()
            losses.append(float(loss.detach()))
        return compare(run, optimizer, losses)


def average(program, f64, decay, parts):
    with tempfile.TemporaryDirectory() as folder:
        run = Run(program, folder, "adam", dict(lr=0.05), f64, batch=24 // parts, extra=f' accumulate="{parts}" ema="{decay}"')
        model = nn.ModuleList([run.a, run.b])
        averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay))
        optimizer = O.Adam(model.parameters(), lr=0.05)
        for _ in range(STEPS):
            optimizer.zero_grad()
            run.loss().backward()
            optimizer.step()
            averaged.update_parameters(model)
        from safetensors.numpy import load_file
        ours = load_file(os.path.join(run.out, "weights-ema.safetensors"))
        theirs = dict(zip(["a.weight", "a.bias", "b.weight", "b.bias"], averaged.module.parameters()))
        worst = {name: apart(ours[name], p.detach().numpy()) for name, p in theirs.items()}
        worst |= {f"slot of {name}": apart(run.states[f"optimizer.ema.{name}"], p.detach().numpy()) for name, p in theirs.items()}
        # The evaluation of validation, there being one split: the last evaluation is of the averages.
        with open(os.path.join(run.out, "events.jsonl"), encoding="utf-8") as file:
            evals = [json.loads(line) for line in file if '"eval"' in line]
        if evals:
            a, b = averaged.module
            loss = nn.functional.cross_entropy(b(torch.tanh(a(run.x))), run.y)
            worst["evaluation"] = written([evals[-1]["loss"]], [float(loss.detach())])
        place = max(worst, key=worst.get)
        return worst[place], place


# ---- metrics ----------------------------------------------------------------------------------


def classes(scores, y, n):
    """NumPy's own formulas; precision, recall and F1 leave out classes that neither occur nor are given."""
    given = scores.argmax(1) if scores.ndim > 1 else (scores > 0.5).astype(int)
    m = np.zeros((n, n))
    np.add.at(m, (y, given), 1)
    right, due, said = np.diag(m), m.sum(1), m.sum(0)

    def over(a, b):
        return np.divide(a, b, out=np.zeros_like(a), where=b > 0)

    seen = due + said > 0
    per_class = {"precision": over(right, said), "recall": over(right, due), "f1": over(2 * right, said + due),
                 "mean_iou": over(right, said + due - right)}
    return m, {k: v[seen].mean() for k, v in per_class.items()}, {k: v[-1] for k, v in per_class.items()}, right.sum() / m.sum()


def evaluate(program, folder, body, metrics, batch):
    text = node("data", "dataset", source="npy", x="x.npy", y="y.npy", test_x="x.npy", test_y="y.npy") + body
    inner = "".join(f'<metric {m}/>' for m in metrics)
    text += f'  <train loss="loss" optimizer="sgd" batch_size="{batch}">{inner}</train>\n'
    path = os.path.join(folder, "graph.xml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(graph(text))
    done = subprocess.run([program, "eval", path, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"status {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)["metrics"]


def metrics_of_classes(program, n, samples, batch):
    """Logits come from the data; there is a layer only because a loss needs a weight."""
    rng = np.random.default_rng(n)
    scores = rng.standard_normal((samples, n)).astype(np.float32)
    y = rng.integers(0, max(2, n - 1), samples, dtype=np.int64)  # the last class is never due
    with tempfile.TemporaryDirectory() as folder:
        np.save(os.path.join(folder, "x.npy"), scores)
        np.save(os.path.join(folder, "y.npy"), y)
        body = node("fc", "linear", out_features=n) + node("loss", "cross_entropy") + wire("data.x", "fc")
        body += wire("fc", "loss.input") + wire("data.y", "loss.target")
        ports = 'input="data.x" target="data.y"'
        names = ["accuracy", "precision", "recall", "f1", "mean_iou", "confusion_matrix", "perplexity"]
        wanted = [f'type="{name}" {ports}' for name in names]
        wanted += [f'type="{name}" average="micro" name="micro {name}" {ports}' for name in ("precision", "recall", "f1", "mean_iou")]
        wanted += [f'type="top_k_accuracy" k="{k}" name="top {k}" {ports}' for k in {1, 2, n}]
        if n == 2:
            wanted += [f'type="{name}" average="binary" name="binary {name}" {ports}' for name in ("precision", "recall", "f1", "mean_iou")]
        ours = evaluate(program, folder, body, wanted, batch)
    m, macro, binary, accuracy = classes(scores, y, n)
    wide = scores.astype(np.float64)
    nll = np.log(np.exp(wide).sum(1)) - wide[np.arange(samples), y]
    order = np.argsort(-wide, axis=1, kind="stable")
    theirs = {"accuracy": accuracy, "perplexity": np.exp(nll.mean())} | macro
    theirs |= {f"micro {k}": accuracy for k in macro} | {"micro mean_iou": accuracy / (2 - accuracy)}
    theirs |= {f"top {k}": (order[:, :k] == y[:, None]).any(1).mean() for k in {1, 2, n}}
    if n == 2:
        theirs |= {f"binary {k}": v for k, v in binary.items()}
    worst = {k: abs(ours[k] - v) / (max(1.0, abs(v)) * (1e2 if k == "perplexity" else 1)) for k, v in theirs.items()}
    worst["confusion_matrix"] = apart(ours["confusion_matrix"], m)
    place = max(worst, key=worst.get)
    return worst[place], place


def metrics_of_numbers(program, columns, samples, batch, mean):
    rng = np.random.default_rng(columns)
    x = (rng.standard_normal((samples, columns)) + mean).astype(np.float32)
    y = (x + 0.5 * rng.standard_normal((samples, columns))).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        np.save(os.path.join(folder, "x.npy"), x)
        np.save(os.path.join(folder, "y.npy"), y)
        body = node("fc", "linear", out_features=columns) + node("loss", "mse_loss") + wire("data.x", "fc")
        body += wire("fc", "loss.input") + wire("data.y", "loss.target")
        ports = 'input="data.x" target="data.y"'
        names = ["mean_absolute_error", "mean_squared_error", "r2_score"]
        ours = evaluate(program, folder, body, [f'type="{name}" {ports}' for name in names], batch)
    a, b = x.astype(np.float64), y.astype(np.float64)
    theirs = {"mean_absolute_error": np.abs(a - b).mean(), "mean_squared_error": ((a - b) ** 2).mean(),
              "r2_score": (1 - ((a - b) ** 2).sum(0) / ((b - b.mean(0)) ** 2).sum(0)).mean()}
    # These are sums of f32: a part in a million.
    worst = {k: abs(ours[k] - v) / max(1.0, abs(v)) / 1e3 for k, v in theirs.items()}
    place = max(worst, key=worst.get)
    return worst[place], place


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    torch.set_num_threads(1)
    jobs = []
    sgd, adam = ("sgd", O.SGD, dict(lr=0.1, momentum=0.9)), ("adam", O.Adam, dict(lr=0.02, weight_decay=0.1))
    for f64 in (True, False):
        kind, tolerance = ("f64", 1e-9) if f64 else ("f32", 2e-5)
        for batch, parts in ((6, 4), (7, 4), (5, 5), (24, 3)):
            for name, make, options in (sgd, adam):
                for clip in (None, 0.05):
                    jobs.append((f"accumulate {parts} of {batch} {name}{' clipped' if clip else ''} {kind}", tolerance,
                                 lambda f=f64, b=batch, p=parts, m=make, n=name, o=options, c=clip: accumulate(args.program, f, b, p, m, n, o, c)))
        for decay in (0.999, 0.9, 0.4):
            for parts in (1, 3):
                jobs.append((f"ema {decay} parts {parts} {kind}", tolerance, lambda f=f64, d=decay, p=parts: average(args.program, f, d, p)))
    for n in (2, 3, 10, 100):
        for samples, batch in ((97, 10), (64, 64), (33, 32)):
            jobs.append((f"metrics of {n} classes {samples} by {batch}", 5e-9,
                         lambda n=n, s=samples, b=batch: metrics_of_classes(args.program, n, s, b)))
    for columns, mean in ((1, 0), (3, 0), (2, 1000)):
        jobs.append((f"metrics of {columns} columns around {mean}", 5e-9, lambda c=columns, m=mean: metrics_of_numbers(args.program, c, 97, 10, m)))
    failed = ran = 0
    for name, tolerance, job in jobs:
        if args.only not in name:
            continue
        try:
            worst, place = job()
            why = "" if worst <= tolerance else f"failed at {place}"
        except (RuntimeError, KeyError, subprocess.CalledProcessError) as error:
            worst, why = float("inf"), f"failed: {error}"
        failed += bool(why)
        ran += 1
        print(f"{name:56} {worst:9.2e} {why}")
    print(f"{ran} cases of a run's course compared, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
