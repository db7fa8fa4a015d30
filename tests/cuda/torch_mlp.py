"""The yardstick: one training step of a 784-128-10 network in PyTorch on a GPU.

The whole step is timed (loss, backward, Adam) with the data resident and f32 kept exact.
Three contenders: eager with the fused optimiser, torch.compile, and the eager step
recorded as a CUDA graph. They take turns; each turn is a window of steps between two
synchronisations. Prints one JSON object: microseconds a step, as minimum, median and
maximum over the windows; compilation is stated apart.

    python3 tests/cuda/torch_mlp.py [--batch 128] [--hidden 128] [--steps 2000]
"""

import argparse
import json
import statistics
import time

import torch
from torch import nn


def network(hidden):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(784, hidden), nn.ReLU(), nn.Linear(hidden, 10)).cuda()


def stepper(hidden, x, y, forward=lambda net: net):
    net = network(hidden)
    run = forward(net)
    adam = torch.optim.Adam(net.parameters(), lr=1e-3, fused=True, capturable=True)

    def step():
        adam.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(run(x), y)
        loss.backward()
        adam.step()
        return loss

    return step


def recorded(step):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(5):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def window(step, steps):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / steps * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--windows", type=int, default=7)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("PyTorch finds no CUDA device")
    torch.backends.cuda.matmul.allow_tf32 = False

    x = torch.rand(options.batch, 784, device="cuda")
    y = torch.randint(0, 10, (options.batch,), device="cuda")
    contenders = {"eager": stepper(options.hidden, x, y)}
    contenders["cuda graph"] = recorded(stepper(options.hidden, x, y))
    start = time.perf_counter()
    try:
        compiled = stepper(options.hidden, x, y, lambda net: torch.compile(net, mode="max-autotune"))
        for _ in range(5):
            compiled()
        contenders["compile"] = compiled
    except Exception as error:  # a machine without a C++ compiler cannot compile
        print(f"torch.compile left out: {error}".splitlines()[0])
    torch.cuda.synchronize()
    compile_seconds = time.perf_counter() - start

    times = {name: [] for name in contenders}
    for step in contenders.values():
        window(step, 50)
    for _ in range(options.windows):
        for name, step in contenders.items():
            times[name].append(window(step, options.steps))
    print(json.dumps({
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(),
        "batch": options.batch,
        "hidden": options.hidden,
        "compile_seconds": round(compile_seconds, 1),
        "microseconds_per_step": {
            name: {"min": min(t), "median": statistics.median(t), "max": max(t)} for name, t in times.items()
        },
    }, indent=2))


if __name__ == "__main__":
    main()
