"""Data parallel training of two ranks: Gradloom over MPI against PyTorch's DistributedDataParallel over gloo.

Each rank has one thread and half of the workload's batch. Both sides start from the same weights and take the same
steps. A window is a run of processes of its own: its steps are timed from the first quarter on, so that the start does
not count. Windows alternate with those of the other side and with one rank of two threads and the whole batch, which is
the same work without communication: how many steps a second two ranks keep of that is their efficiency. Memory is
what rank 0's process has held at most, above what it held when the model was made, with DDP and with FSDP (`fully_shard`); ours is `gradloom plan --ranks 2`.
"""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from race import Torch, spread
from workloads import WORKLOADS, make_case

RANKS = 2
TARGETS = {"mlp-784-128-10-b128": 4.0, "cifar-conv-bn-b64": 1.8}


def held():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def one_rank(rank, how, name, folder, steps, port, answer):
    """A process of PyTorch's side: its half of the batches, a window of steps."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message="Grad strides")
    torch.set_flush_denormal(True)
    work = half(WORKLOADS[name])
    _, x, y, model = make_case(name, work, os.path.join(folder, str(rank)))
    before = held()
    if how == "fsdp":
        from torch.distributed.fsdp import fully_shard
        fully_shard(model)
    else:
        model = torch.nn.parallel.DistributedDataParallel(model)
    runner = Torch(model, work, x, y)
    runner.next = rank
    for _ in range(steps // 4):
        runner.step()
        runner.next += RANKS - 1
    dist.barrier()
    start = time.perf_counter()
    for _ in range(steps - steps // 4):
        runner.step()
        runner.next += RANKS - 1
    dist.barrier()
    if rank == 0:
        answer.put(((steps - steps // 4) / (time.perf_counter() - start), held() - before))
    dist.destroy_process_group()


def torch_window(how, name, steps, port):
    context = mp.get_context("spawn")
    answer = context.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        for rank in range(RANKS):
            os.mkdir(os.path.join(folder, str(rank)))
        mp.spawn(one_rank, (how, name, folder, steps, port, answer), nprocs=RANKS)
    return answer.get()


def half(work):
    return dict(work, batch=work["batch"] // RANKS)


def our_window(program, graph, folder, steps, batch, ranks):
    """Steps a second from the first quarter on, by the times that the steps' events have."""
    done = subprocess.run([program, "train", graph, "--batch-size", str(batch), "--ranks", str(ranks), "--threads", str(RANKS), "--steps", str(steps),
                           "--epochs", "1000000", "--json", "--out", os.path.join(folder, "run")], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"gradloom train: {done.stderr.strip()}")
    times = {e["step"]: e["time"] for e in map(json.loads, done.stdout.splitlines()) if e["event"] == "step"}
    first = min(s for s in times if s >= steps // 4)
    subprocess.run(["rm", "-rf", os.path.join(folder, "run")], check=True)
    return (max(times) - first) / (times[max(times)] - times[first])


def race(program, name, windows):
    work = WORKLOADS[name]
    steps = work["steps"]
    with tempfile.TemporaryDirectory() as folder:
        graph = make_case(name, work, folder)[0]
        text = open(graph, encoding="utf-8").read()
        with open(graph, "w", encoding="utf-8") as file:
            file.write(re.sub(r' x="x.npy" y="y.npy"', f' x="{folder}/x.npy" y="{folder}/y.npy"', text))
        ours, alone, theirs = [], [], []
        for i in range(windows):
            ours.append(our_window(program, graph, folder, steps, work["batch"] // RANKS, RANKS))
            theirs.append(torch_window("ddp", name, max(8, steps // 4), 29500 + 2 * i)[0])
            alone.append(our_window(program, graph, folder, steps, work["batch"], 1))
        ratios = [a / b for a, b in zip(ours, theirs)]
        print(f"{name}, {RANKS} ranks of one thread:")
        print(f"  steps/s min / median / max    gradloom {spread(ours)}   DDP, gloo {spread(theirs)}")
        print(f"  ratio {spread(ratios)}, target {TARGETS[name]:g}; efficiency compared with one rank of {RANKS} threads "
              f"{spread([a / b for a, b in zip(ours, alone)])}")
    return statistics.median(ratios)


def memory(name):
    for how in ("ddp", "fsdp"):
        print(f"{name}, {how}: rank 0's process took {torch_window(how, name, 8, 29600 + len(how))[1] / 1e6:.1f} MB more than before")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="gradloom, with its MPI module")
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--memory", action="store_true", help="PyTorch's processes with DDP and with FSDP instead")
    args = parser.parse_args()
    if args.memory:
        memory("char-gpt-l6-c384-t256-b12")
    for name in TARGETS:
        if args.only in name and not args.memory:
            race(args.program, name, args.windows)


if __name__ == "__main__":
    main()
