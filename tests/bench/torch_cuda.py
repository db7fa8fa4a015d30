"""PyTorch's side of the race on a GPU: eager, the eager step recorded as a CUDA graph, and compiled.

All three take a step like Gradloom's: the batch is copied from page-locked memory to where the network reads it, then
forward, loss, backward, optimiser. They run as PyTorch runs well: fused optimiser, cuDNN's own search for convolutions.
Images lie in plain order in f32 and channels last where tensor cores read them (TF32, bf16).
"""

import gc
import time

import torch
from torch import nn

from workloads import loss_of


class TorchCuda:
    def __init__(self, model, work, x, y, how="eager", precision="f32", tf32=False):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.allow_tf32 = tf32
        torch.backends.cudnn.benchmark = True
        image = any(isinstance(m, nn.Conv2d) for m in model.modules())
        last = {"memory_format": torch.channels_last} if image and (tf32 or precision != "f32") else {}
        self.model = model.to("cuda", **last)
        options = {"capturable": True} if how != "eager" and work["optimizer"] == "adam" else {}
        kind = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}[work["optimizer"]]
        self.optimizer = kind(self.model.parameters(), lr=work["lr"], fused=True, **options)
        self.cast = precision == "bf16"
        loss = loss_of(work)
        self.forward = lambda a, t: loss(self.model, a, t)
        b = work["batch"]
        self.batches = [(torch.from_numpy(x[i:i + b].copy()).contiguous(**last).pin_memory(),
                         torch.from_numpy(y[i:i + b].copy()).pin_memory()) for i in range(0, len(x) - b + 1, b)]
        self.x, self.y = (t.cuda() for t in self.batches[0])
        self.next = 0
        self.how = how
        self.work = self.train
        if how == "compile":
            self.forward = torch.compile(self.forward, mode="reduce-overhead")
        elif how == "CUDA graph":
            self.work = self.recorded()

    def train(self):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=self.cast, cache_enabled=False):
            loss = self.forward(self.x, self.y)
        loss.backward()
        self.optimizer.step()
        return loss

    def recorded(self):
        """The step as a graph. Its warm-up moves the weights, so they are put back, where they lie."""
        kept = {key: value.clone() for key, value in self.model.state_dict().items()}
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.train()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = self.train()
        with torch.no_grad():
            for key, value in self.model.state_dict().items():
                value.copy_(kept[key])
            for state in self.optimizer.state.values():
                for value in state.values():
                    if torch.is_tensor(value):
                        value.zero_()

        def replay():
            graph.replay()
            return loss

        return replay

    def step(self):
        x, y = self.batches[self.next % len(self.batches)]
        self.next += 1
        self.x.copy_(x, non_blocking=True)
        self.y.copy_(y, non_blocking=True)
        if self.how == "compile":
            torch.compiler.cudagraph_mark_step_begin()
        return self.work()

    def window(self, n):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(n):
            loss = self.step()
        value = float(loss.detach())
        return time.perf_counter() - start, value

    def losses(self, n):
        return [float(self.step().detach()) for _ in range(n)]


def cuda_tensor_peak(model, work, x, y, precision, tf32):
    """Bytes of tensors on the card that eager training holds at its peak."""
    gc.collect()  # the garbage of an earlier runner would be freed meanwhile
    before = torch.cuda.memory_allocated()
    runner = TorchCuda(model, work, x, y, precision=precision, tf32=tf32)
    runner.losses(1)
    torch.cuda.reset_peak_memory_stats()
    runner.losses(2)
    return torch.cuda.max_memory_allocated() - before
