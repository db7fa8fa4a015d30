"""PyTorch's own samples of layers and losses (ModuleInfo) as cases: parameters are what the constructor is called with.

A module's parameters and buffers are the node's weights, under the same names; train and evaluation are two samples. As in
opinfo.py, what a sample uses and the operator does not have is counted by name."""

import collections
import inspect
import itertools
import re
import zlib

import numpy as np
import torch

from case import Case
from opinfo import Unsupported, numbers, plain

from torch.testing._internal.common_modules import module_db

NAMES = {"BCELoss": "binary_cross_entropy", "BCEWithLogitsLoss": "binary_cross_entropy_with_logits", "KLDivLoss": "kl_div",
         "CrossEntropyLoss": "cross_entropy", "LeakyReLU": "leaky_relu", "GaussianNLLLoss": "gaussian_nll_loss", "PoissonNLLLoss": "poisson_nll_loss",
         "NLLLoss": "nll_loss", "MSELoss": "mse_loss", "L1Loss": "l1_loss", "SmoothL1Loss": "smooth_l1_loss", "LogSigmoid": "logsigmoid", "RMSNorm": "rms_norm"}
# Arguments of constructors that a node infers by itself.
SEEN = {"in_channels", "in_features", "num_features", "num_channels", "in1_features", "in2_features", "device", "dtype", "size_average", "reduce",
        "inplace", "_weight", "_freeze", "return_indices"}
ACTIVATIONS = ("elu", "celu", "gelu", "glu", "mish", "prelu", "relu", "relu6", "selu", "silu")
MOST = 60


class Untouched(Exception):
    """Training and evaluation are the same, and one of them is enough."""


def operator(name):
    """BatchNorm2d is batch_norm2d, ELU is elu."""
    if name.lower() in ACTIVATIONS:
        return name.lower()
    return NAMES.get(name, re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())


def parameters(op, cls, call):
    known = {p["name"] for p in op["params"]}
    ports = {p["name"] for p in op["inputs"]}
    signature = inspect.signature(cls.__init__)
    params, wired = {}, {}
    for name, value in signature.bind(None, *call.args, **call.kwargs).arguments.items():
        if name == "self" or name in SEEN or isinstance(value, dict):
            continue
        if isinstance(value, torch.Tensor):
            if name not in ports:
                raise Unsupported(f"{name} as a tensor")
            wired[name] = value
        elif name in known:
            if value is not None:
                params[name] = plain(value)
            elif name == "momentum":
                params[name] = "none"
        elif value != signature.parameters[name].default:
            raise Unsupported(name)
    return params, wired


def to_case(op, cls, sample, training):
    params, wired = parameters(op, cls, sample.constructor_input)
    if sample.forward_input is None:
        raise Unsupported("no input")
    module = cls(*sample.constructor_input.args, **sample.constructor_input.kwargs).double().train(training)
    given = list(sample.forward_input.args) + list(sample.forward_input.kwargs.values())
    if not all(isinstance(t, torch.Tensor) for t in given):
        raise Unsupported("what is no tensor")
    rank = re.search(r"([123])d$", op["name"])
    if rank and given[0].dim() != int(rank[1]) + 2 and not (op["name"] == "batch_norm1d" and given[0].dim() == 2):
        raise Unsupported("another rank, such as an image without a batch")
    if op["name"].startswith(("dropout", "alpha_dropout")) and training:
        raise Unsupported("random numbers")
    names = [p["name"] for p in op["inputs"]]
    free = [n for n in names if n not in wired and n not in dict(module.named_parameters())]
    if len(given) > len(free):
        raise Unsupported(f"{len(given)} inputs")
    ports = dict(zip(free, given)) | wired
    order = [ports.get(n) for n in names]
    while order and order[-1] is None:
        order.pop()
    if training and not list(module.named_buffers()):
        raise Untouched
    buffers = {k: v.numpy().copy() for k, v in module.named_buffers() if k not in wired}
    buffers = {k: v.astype(np.float32) if v.dtype == np.float64 else v for k, v in buffers.items()}
    places = [i for i, n in enumerate(names[:len(order)]) if n in free[:len(given)]]

    def fn(x, w):
        layer = cls(*sample.constructor_input.args, **sample.constructor_input.kwargs).double().train(training)
        state = {k: w[k] for k in [*dict(layer.named_parameters()), *buffers]}
        state |= {k: x[names.index(k)] for k in wired}
        out = torch.func.functional_call(layer, state, tuple(x[i] for i in places))
        for k in buffers:
            w[k] = state[k]
        return out * 1 if isinstance(out, torch.Tensor) else {p["name"]: t for p, t in zip(op["outputs"], out)}

    return Case(op["name"], params, [None if t is None else numbers(t) for t in order], fn,
                weights={k: v.detach().numpy().astype(np.float32) for k, v in module.named_parameters()}, buffers=buffers,
                mode="train" if training else "eval", after=tuple(buffers), grad=not wired)


def cases(ops, only=""):
    """As opinfo.cases(): samples, and a count of what others use, by operator."""
    found, left = [], collections.defaultdict(collections.Counter)
    for info in module_db:
        cls = info.module_cls
        name = operator(cls.__name__)
        if name not in ops or only not in name:
            continue
        for training in (True, False):
            torch.manual_seed(zlib.crc32(cls.__name__.encode()))
            seen = set()
            for sample in itertools.islice(info.module_inputs_func(info, "cpu", torch.float64, True, training), MOST):
                try:
                    made = to_case(ops[name], cls, sample, training)
                except Unsupported as what:
                    left[name][str(what)] += 1
                    continue
                except Untouched:
                    continue
                if made.title() not in seen:
                    seen.add(made.title())
                    made.whole = False
                    made.source = f"nn.{cls.__name__}"
                    found.append(made)
    return found, left
