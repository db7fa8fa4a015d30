"""One comparison with PyTorch, and how the files in cases/ make their inputs."""

import numpy as np
import torch
import torch.nn.functional as F

CASES = []
rng = np.random.default_rng(7)


class Case:
    """fn(inputs, weights) gives the output, or a dictionary of outputs by port; gradients are taken of the first.

    `weights` are trainable, `buffers` are not; `after` names what fn left in the dictionary of weights and buffers that the
    `gradloom run` must save alike. Where the operator needs others around it, `nodes` are those, as (name, operator, parameters), and
    `wires` all wires, as (from, to); weights then go by their whole names."""

    def __init__(self, op, params, inputs, fn, weights=None, buffers=None, mode="eval", shapes=None, after=(), scale=1.0,
                 grad=True, only=None, ports=None, nodes=(), wires=()):
        self.op, self.params, self.inputs, self.fn = op, params, inputs, fn
        self.weights, self.buffers = weights or {}, buffers or {}
        self.mode, self.shapes, self.after, self.scale, self.grad, self.only = mode, shapes, after, scale, grad, only
        self.ports = ports  # of operators whose inputs depend on a parameter
        self.nodes, self.wires = nodes, wires

    def weight_name(self, name):
        """The name of a weight or buffer for `gradloom run`."""
        return name if self.nodes else f"n.{name}" if name else "n"

    def title(self):
        params = " ".join(f"{k}={v}" for k, v in self.params.items())
        shapes = " ".join(str(tuple(x.shape)) if x is not None else "-" for x in self.inputs)
        return f"{self.op} {params} {shapes} {'' if self.mode == 'eval' else self.mode}".replace("  ", " ")


def case(*args, **kwargs):
    CASES.append(Case(*args, **kwargs))


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def positive(*shape):
    return (rng.random(shape) + 0.5).astype(np.float32)


def whole(high, *shape):
    return rng.integers(0, high, shape, dtype=np.int64)


def values(*numbers):
    return np.array(numbers, dtype=np.float32)


inf, nan = float("inf"), float("nan")
SHAPES = [(), (1,), (7,), (0, 3), (2, 3, 4), (3, 1, 2, 5), (1, 2, 1, 3, 2), (33, 65)]
EDGES = values(0.0, -0.0, 1.0, -1.0, 1e-6, -1e-6, 20.0, -20.0, 80.0, -80.0)
