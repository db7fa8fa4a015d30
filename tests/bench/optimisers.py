"""Optimisers alone against PyTorch, in turns: one tensor of a million elements, and a hundred of ten thousand.

Both sides update f32 tensors from gradients in memory; in rows marked “written” both write the gradients again in
front of each step, as a backward pass does, and the time is that of both. Gradloom's update is the one that training has:
with the gradients' norm and the test for a NaN, which PyTorch's step leaves out.
"""

import argparse
import os
import statistics
import subprocess
import time

import torch

KINDS = {
    "adam": (lambda p, **how: torch.optim.Adam(p, **how), False),
    "adamw": (lambda p, **how: torch.optim.AdamW(p, **how), False),
    "sgd": (lambda p, **how: torch.optim.SGD(p, lr=0.001, **how), False),
    "sgd, written": (lambda p, **how: torch.optim.SGD(p, lr=0.001, **how), True),
}
HOW = {"default": {}, "foreach": {"foreach": True}, "fused": {"fused": True}}
SHAPES = ((1, 1_000_000, 200), (100, 10_000, 200), (100, 100, 3000))


def spread(values):
    return f"{min(values):.3g} / {statistics.median(values):.3g} / {max(values):.3g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="the built bench-optim")
    parser.add_argument("--windows", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.set_flush_denormal(True)
    print(f"PyTorch {torch.__version__}, {args.threads} threads each, {args.windows} windows in turns; "
          "ratio of steps/s min / median / max")
    for kind, (make, written) in KINDS.items():
        for tensors, elements, steps in SHAPES:
            ours = subprocess.Popen([args.program, kind.split(",")[0], str(tensors), str(elements), str(args.threads)] +
                                    (["written"] if written else []),
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                    env={**os.environ, "GOMP_SPINCOUNT": os.environ.get("GOMP_SPINCOUNT", "10000")})
            ours.stdout.readline()

            def own(n):
                ours.stdin.write(f"step {n}\n")
                ours.stdin.flush()
                return n / float(ours.stdout.readline().split()[1])

            others = {}
            for how, options in HOW.items():
                p = [torch.randn(elements, requires_grad=True) for _ in range(tensors)]
                for v in p:
                    v.grad = torch.rand(elements) - 0.5
                others[how] = make(p, **options), [v.grad for v in p], [torch.rand(elements) - 0.5 for _ in p]

            def theirs(other, n):
                optimizer, grads, sources = other
                start = time.perf_counter()
                for _ in range(n):
                    if written:
                        torch._foreach_copy_(grads, sources)
                    optimizer.step()
                return n / (time.perf_counter() - start)

            own(steps // 2)
            ratios = {how: [] for how in others}
            for other in others.values():
                theirs(other, steps // 4)
            for _ in range(args.windows):
                for how, other in others.items():
                    ratios[how].append(own(steps) / theirs(other, max(10, steps // 4)))
            print(f"{kind:12} {tensors:4} x {elements:8}: " +
                  ", ".join(f"to {how} {spread(r)}" for how, r in ratios.items()), flush=True)
            ours.stdin.close()
            ours.wait()


if __name__ == "__main__":
    main()
