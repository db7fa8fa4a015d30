"""Where a step's time goes on a GPU, kernel by kernel: Gradloom's under Nsight Compute, PyTorch's by its own profiler.

Both train the workloads of the race (race.py), f32 without TF32 or bf16; PyTorch's step is the recorded one (CUDA graph).
Nsight Compute runs each kernel alone, so its sum is less than a step's time by the gaps between kernels.

usage: kernels.py --program bench-race [--only PATTERN] [--precision bf16] [--tf32] [--top N] [--theirs-only | --ours-only]
"""

import argparse
import csv
import io
import re
import subprocess
import sys
import tempfile
from collections import OrderedDict

import torch

from torch_cuda import TorchCuda
from workloads import WORKLOADS, make_case


def short(name):
    """A kernel's name without its arguments; of a template, the beginning."""
    name = re.sub(r"^void ", "", name)
    name = re.sub(r"\((anonymous namespace|int|bool|unsigned int|long)\)", "", name)
    name = name.split("(")[0]
    return name[:88]


def add(table, name, microseconds):
    n, sum_of = table.get(name, (0, 0.0))
    table[name] = (n + 1, sum_of + microseconds)


def period(names):
    """How many launches the last step has: the shortest row that stands twice at the end."""
    for n in range(1, len(names) // 2 + 1):
        if names[-n:] == names[-2 * n:-n]:
            return n
    return len(names)


def ours(args, graph, folder, work):
    command = ["ncu", "--target-processes", "all", "--clock-control", "none", "--graph-profiling", "node", "--metrics",
               "gpu__time_duration.sum", "--csv", "--page", "raw", "--print-units", "base",
               args.program, graph, str(work["batch"]), f"{folder}/x.npy", f"{folder}/y.npy", f"{folder}/weights.safetensors",
               "4", "cuda:0"] + (["tf32"] if args.tf32 else [])
    try:
        done = subprocess.run(command, input="step 1\nstep 2\n", capture_output=True, text=True, timeout=args.limit, check=False)
    except subprocess.TimeoutExpired:
        return None, f"Nsight Compute did not end within {args.limit} s"
    lines = done.stdout.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return None, (done.stdout + done.stderr)[-800:]
    rows = list(csv.DictReader(io.StringIO("\n".join(line for line in lines[start:] if line.startswith('"')))))
    rows = [(row["Kernel Name"], row["gpu__time_duration.sum"]) for row in rows if row.get("ID")]
    names = [name for name, _ in rows]
    n = period(names)
    table = OrderedDict()
    for name, value in rows[-n:]:
        add(table, short(name), float(value.replace(",", "")) / 1000)
    if args.sequence:
        print(f"  in their order: {len(rows)} launches in all, {n} in the last step")
        for name, value in rows[-n:]:
            print(f"    {float(value.replace(',', '')) / 1000:8.1f} {short(name)}")
    return table, f"{n} kernels a step"


def theirs(args, model, work, x, y):
    from torch.profiler import ProfilerActivity, profile

    runner = TorchCuda(model, work, x, y, "CUDA graph", args.precision, args.tf32)
    runner.losses(3)
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        for _ in range(5):
            runner.step()
        torch.cuda.synchronize()
    table = OrderedDict()
    for event in p.events():
        if str(event.device_type).endswith("CUDA"):
            add(table, short(event.name), event.device_time if hasattr(event, "device_time") else event.cuda_time)
    return OrderedDict((name, (n / 5, t / 5)) for name, (n, t) in table.items()), ""


def show(title, table, note, top):
    if table is None:
        print(f"  {title}: {note}")
        return
    print(f"  {title}: {sum(t for _, t in table.values()):.0f} µs in kernels; {note}")
    for name, (n, t) in sorted(table.items(), key=lambda e: -e[1][1])[:top]:
        print(f"    {t:8.1f} µs {n:6.1f} × {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="the built bench-race")
    parser.add_argument("--only", default="", help="a pattern of workloads")
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--tf32", action="store_true")
    parser.add_argument("--top", type=int, default=14)
    parser.add_argument("--limit", type=float, default=40, help="seconds for Nsight Compute")
    parser.add_argument("--ours-only", action="store_true")
    parser.add_argument("--theirs-only", action="store_true")
    parser.add_argument("--sequence", action="store_true", help="our kernels in their order as well")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no CUDA device")
    for name, work in WORKLOADS.items():
        if not re.search(args.only, name):
            continue
        with tempfile.TemporaryDirectory() as folder:
            graph, x, y, model = make_case(name, work, folder, args.precision)
            print(f"{name}, {args.precision}{', TF32' if args.tf32 else ''}", flush=True)
            if not args.theirs_only:
                show("Gradloom", *ours(args, graph, folder, work), args.top)
            if not args.ours_only:
                show("PyTorch", *theirs(args, model, work, x, y), args.top)


if __name__ == "__main__":
    main()
