"""Gradloom against PyTorch on the CPU, or with --device cuda:0 on a GPU, in turns.

Both sides hold the same batches in memory, start from the same weights and take whole training steps: forward,
loss, backward, optimiser. Windows alternate, so that both meet the same noise; a ratio is taken pair by pair, and the
median and the spread of the ratios are what counts. Before the race, twenty losses of both sides are compared.

PyTorch runs as well as it is known to: fused optimiser, channels_last for convolutions, flushed denormals, the same
threads. --compile adds torch.compile as a third runner; its warm-up is not counted. On a GPU the recorded step (CUDA
graph) takes part as well, and both sides copy each batch from page-locked memory (torch_cuda.py); f32 is exact on both
sides, or TF32 on both with --tf32. --warm only compiles, in processes of their own, so that a race after it finds the kernels in
TORCHINDUCTOR_CACHE_DIR. --emulated compares losses with PyTorch's on the CPU and times nothing.
"""

import argparse
import copy
import json
import multiprocessing
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn

from torch_cuda import TorchCuda, cuda_tensor_peak
from workloads import WORKLOADS, loss_of, make_case


class Torch:
    """PyTorch's side: eager, or compiled as a whole step."""

    def __init__(self, model, work, x, y, compiled=False, precision="f32"):
        image = any(isinstance(m, nn.Conv2d) for m in model.modules())
        self.model = model.to(memory_format=torch.channels_last) if image else model
        kind = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}[work["optimizer"]]
        self.optimizer = kind(self.model.parameters(), lr=work["lr"], fused=True)
        self.loss = loss_of(work)
        b = work["batch"]
        self.batches = []
        for i in range(len(x) // b):
            xb = torch.from_numpy(x[i * b:(i + 1) * b].copy())
            if image:
                xb = xb.contiguous(memory_format=torch.channels_last)
            self.batches.append((xb, xb if y is x else torch.from_numpy(y[i * b:(i + 1) * b].copy())))
        self.next = 0
        self.cast = precision == "bf16"
        self.forward = torch.compile(lambda a, t: self.loss(self.model, a, t)) if compiled else (
            lambda a, t: self.loss(self.model, a, t))

    def step(self):
        x, y = self.batches[self.next % len(self.batches)]
        self.next += 1
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.cast):
            loss = self.forward(x, y)
        loss.backward()
        self.optimizer.step()
        return loss

    def window(self, n):
        start = time.perf_counter()
        for _ in range(n):
            loss = self.step()
        return time.perf_counter() - start, float(loss.detach())

    def losses(self, n):
        return [float(self.step().detach()) for _ in range(n)]


class Gradloom:
    def __init__(self, program, graph, folder, batch, args):
        self.process = subprocess.Popen(
            [program, graph, str(batch), os.path.join(folder, "x.npy"), os.path.join(folder, "y.npy"),
             os.path.join(folder, "weights.safetensors"), str(args.threads), args.device] + (["tf32"] if args.tf32 else []),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            # As the gradloom program sets for itself: OpenMP's threads spin shortly, then sleep.
            env={**os.environ, "GOMP_SPINCOUNT": os.environ.get("GOMP_SPINCOUNT", "10000")})
        self.ready = float(self.process.stdout.readline().split()[1])

    def ask(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().split()

    def window(self, n):
        answer = self.ask(f"step {n}")
        return float(answer[1]), float(answer[3])

    def losses(self, n):
        return [float(v) for v in self.ask(f"losses {n}")]

    def memory(self):
        a = self.ask("memory")
        return {"arena": int(a[1]), "state": int(a[3]), "rss": int(a[5])}

    def limit(self):
        """Operations of a step's products, and those a second that a large product reaches."""
        a = self.ask("limit")
        return float(a[1]), float(a[3])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def eager_tensor_peak(model, work, x, y, precision):
    """Bytes of tensors that eager training holds at its peak, by PyTorch's own profiler of allocations."""
    from torch.profiler import ProfilerActivity, profile

    runner = Torch(model, work, x, y, precision=precision)
    runner.step()
    held = sum(p.numel() * p.element_size() for p in runner.model.parameters())
    held += sum(v.numel() * v.element_size() for s in runner.optimizer.state.values() for v in s.values()
                if torch.is_tensor(v))
    runner.optimizer.zero_grad(set_to_none=True)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as p:
        runner.step()
    current = peak = 0
    for event in p.profiler.kineto_results.events():
        if event.name() == "[memory]":
            current += event.nbytes()
            peak = max(peak, current)
    batch = runner.batches[0]
    return held + peak + sum(t.numel() * t.element_size() for t in batch)


def spread(values):
    return f"{min(values):.3g} / {statistics.median(values):.3g} / {max(values):.3g}"


def race(name, work, args):
    with tempfile.TemporaryDirectory() as folder:
        graph, x, y, model = make_case(name, work, folder, args.precision)
        ours = Gradloom(args.program, graph, folder, work["batch"], args)
        cuda = args.device.startswith("cuda") and not args.emulated
        if cuda:
            theirs = {how: TorchCuda(copy.deepcopy(model), work, x, y, how, args.precision, args.tf32)
                      for how in ("eager", "CUDA graph") + (("compile",) if args.compile else ())}
        else:
            theirs = {"eager": Torch(copy.deepcopy(model), work, x, y, precision=args.precision)}
            if args.compile:
                theirs["compile"] = Torch(copy.deepcopy(model), work, x, y, True, args.precision)
        if args.precision != "f32":
            other = os.path.join(folder, "f32")
            os.mkdir(other)
            theirs["own f32"] = Gradloom(args.program, make_case(name, work, other)[0], other, work["batch"], args)
        n_losses = min(work.get("losses", 20), args.losses)
        a = ours.losses(n_losses)
        result = {"workload": name, "ready_seconds": ours.ready}
        for key, runner in list(theirs.items()):
            try:
                b = runner.losses(n_losses)
            except Exception as error:  # a machine without a C++ compiler cannot compile
                if key != "compile":
                    raise
                print(f"{name}: compile is left out: {str(error).splitlines()[0]}")
                del theirs[key]
                continue
            worst = max(abs(p - q) / abs(q) for p, q in zip(a, b))
            result[f"loss_difference_{key}"] = worst
            if worst > max(work.get("loose", 1e-3), 0 if args.precision == "f32" else 5e-2):
                print(f"{name}: the losses differ from PyTorch's ({key}) by {worst:.2g}: no race", file=sys.stderr)
                print(a, b, file=sys.stderr)
                return None
        if args.emulated:
            print(f"{name}, emulated: {n_losses} losses agree with PyTorch's on the CPU within "
                  f"{result['loss_difference_eager']:.1g}; nothing is timed")
            ours.close()
            return result
        steps = max(2, int(work["steps"] * args.scale))
        ours.window(steps // 4 + 1)
        for runner in theirs.values():
            runner.window(steps // 8 + 1)
        own, other = [], {key: [] for key in theirs}
        for _ in range(args.windows):
            seconds, _ = ours.window(steps)
            own.append(steps / seconds)
            time.sleep(0.05)
            for key, runner in theirs.items():
                n = max(2, steps // 4)
                seconds, _ = runner.window(n)
                other[key].append(n / seconds)
                time.sleep(0.05)
        memory = ours.memory()
        if cuda:
            peak = cuda_tensor_peak(copy.deepcopy(model), work, x, y, args.precision, args.tf32)
        else:
            peak = eager_tensor_peak(copy.deepcopy(model), work, x, y, args.precision)
        batch_bytes = x[:work["batch"]].nbytes + y[:work["batch"]].nbytes
        ours_bytes = memory["arena"] + memory["state"] + batch_bytes
        print(f"{name}: losses agree within {max(v for k, v in result.items() if k.startswith('loss_')):.1g}; "
              f"planned and ready in {ours.ready * 1000:.0f} ms")
        print(f"  steps/s min / median / max    gradloom   {spread(own)}")
        result["gradloom_steps"] = own
        products, rate = ours.limit()
        result["share_of_limit"] = statistics.median(own) * products / rate
        print(f"  products                      {products / 1e9:.3g} GFLOP a step, {result['share_of_limit'] * 100:.0f} % of the "
              f"{rate / 1e9:.0f} GFLOP/s of a large product (convolutions count as direct ones)")
        for key, values in other.items():
            ratios = [p / q for p, q in zip(own, values)]
            result[f"{key}_steps"] = values
            result[f"ratio_{key}"] = ratios
            target = {"eager": "target", "compile": "compiled"}.get(key) if args.precision == "f32" and not cuda else None
            goal = f", target {work[target]:g}" if target else ""
            print(f"                                {key:10} {spread(values)}   ratio {spread(ratios)}{goal}")
        print(f"  tensor bytes at the peak      gradloom {ours_bytes / 1e6:.3f} MB, eager {peak / 1e6:.3f} MB "
              f"({abs(1 - ours_bytes / peak) * 100:.0f} % {'below' if ours_bytes < peak else 'above'}); processes {memory['rss'] / 1e6:.0f} MB and "
              f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB")
        result["bytes"], result["eager_bytes"] = ours_bytes, peak
        ours.close()
        if "own f32" in theirs:
            theirs["own f32"].close()
        return result


def warm(name, work, args):
    """One compiled step; the forward and backward kernels are what is kept."""
    with tempfile.TemporaryDirectory() as folder:
        _, x, y, model = make_case(name, work, folder, args.precision)
        start = time.perf_counter()
        if args.device.startswith("cuda"):
            runner = TorchCuda(model, work, x, y, "compile", args.precision, args.tf32)
        else:
            runner = Torch(model, work, x, y, True, args.precision)
        runner.losses(2)
        print(f"{name}: compiled in {time.perf_counter() - start:.0f} s", flush=True)


def warm_all(names, args):
    """All at once: a compilation is one thread's work for most of its time."""
    processes = [multiprocessing.get_context("spawn").Process(target=warm, args=(n, WORKLOADS[n], args)) for n in names]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return all(process.exitcode == 0 for process in processes)


def arguments(words=None):
    """The options, and the names of the networks that they ask for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="the built bench-race")
    parser.add_argument("--windows", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the steps of a window")
    parser.add_argument("--only", default="", help="a pattern of workloads")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--warm", action="store_true", help="compile, and leave the race to another call")
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32",
                        help="bf16: mixed precision on both sides (autocast), and against our own f32")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda:0 for a race on a GPU")
    parser.add_argument("--tf32", action="store_true", help="on a GPU: products of f32 in TF32, on both sides")
    parser.add_argument("--emulated", action="store_true", help="cuda:0 is the emulated card: losses only, no times")
    parser.add_argument("--losses", type=int, default=20, help="how many losses are compared before a race")
    parser.add_argument("--json", help="write the figures there")
    args = parser.parse_args(words)
    names = [n for n, w in WORKLOADS.items()
             if re.search(args.only, n) and (args.device.startswith("cuda") or not w.get("card"))]
    if not names:
        parser.error(f"no network has a name like {args.only}")
    return args, names


def main():
    args, names = arguments()
    torch.set_num_threads(args.threads)
    torch.set_flush_denormal(True)
    where = f"{args.threads} threads each"
    if args.emulated:
        where = "the card is emulated, PyTorch runs on the CPU"
    elif args.device.startswith("cuda"):
        if not torch.cuda.is_available():
            sys.exit("PyTorch finds no CUDA device")
        where = (f"{torch.cuda.get_device_name()}, {'TF32' if args.tf32 else 'no TF32'} on both sides, cuDNN "
                 f"{torch.backends.cudnn.version()}, compile mode reduce-overhead; Gradloom records its step as a CUDA graph")
    print(f"PyTorch {torch.__version__}, {where}, {args.windows} windows in turns")
    if args.warm:
        sys.exit(0 if warm_all(names, args) else 1)
    results = [race(n, WORKLOADS[n], args) for n in names]
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(results, f, indent=1)
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
