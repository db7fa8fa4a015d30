"""Every element-wise operator, loss and activation at special points against PyTorch: zeros of both signs, infinities, NaN, borders.

Values and gradients in f64 (ref) and f32 (cpu), element by element: NaN must be NaN, an infinity the same infinity, and a number
the same number. What is not so for a reason stands in STATED, with the reason; the script fails for anything else."""

import argparse
import sys

import numpy as np
import torch
import torch.nn.functional as F

import gradloom_run
from compare import ports_of
from gradloom_run import graph, node, wire

inf, nan = float("inf"), float("nan")
POINTS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 6.0, 1e-6, -1e-6, 20.0, -20.0, 87.0, 1e4, -1e4, inf, -inf, nan]
PAIRS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, inf, -inf, nan]
UNIT = [0.0, 1.0, 0.5, 1e-6, 1 - 2.0**-20]

UNARY = {name: getattr(torch, name) for name in """abs neg floor ceil round trunc sign sqrt rsqrt reciprocal exp exp2 expm1 log log2 log10 log1p erf sin cos tan asin acos
    atan sinh cosh asinh acosh atanh sigmoid tanh square isnan isinf logical_not relu""".split()}
UNARY |= {name: getattr(F, name) for name in """gelu elu selu celu silu mish softplus hardtanh relu6 hardsigmoid hardswish logsigmoid softsign tanhshrink hardshrink
    softshrink leaky_relu rrelu""".split()}
BINARY = {name: getattr(torch, name) for name in """add sub mul div maximum minimum remainder fmod atan2 pow eq ne lt le gt ge logical_and logical_or logical_xor""".split()}
PARAMS = {("round", "decimals=2"): lambda x: torch.round(x, decimals=2), ("gelu", "approximate=tanh"): lambda x: F.gelu(x, approximate="tanh"),
          ("clamp", "min=-0.5 max=2"): lambda x: x.clamp(-0.5, 2), ("threshold", "threshold=0.5 value=7"): lambda x: F.threshold(x, 0.5, 7),
          ("div", "other=0"): lambda x: x / 0, ("div", "other=2 rounding_mode=floor"): lambda x: torch.div(x, 2, rounding_mode="floor"),
          ("div", "other=2 rounding_mode=trunc"): lambda x: torch.div(x, 2, rounding_mode="trunc"), ("softplus", "beta=2 threshold=6"): lambda x: F.softplus(x, 2, 6),
          **{("pow", f"exponent={e}"): lambda x, e=e: x ** e for e in (0, 0.5, 1, 2, 3, -1, -0.5, 2.5)},
          **{(op, ""): lambda x, op=op: getattr(torch, op)(x) for op in ("sum", "prod", "mean", "amax", "amin", "max", "min", "median", "nanmedian", "var", "std")},
          **{(op, "dim=0"): lambda x, f=f: f(x, dim=0) for op, f in (("softmax", F.softmax), ("log_softmax", F.log_softmax), ("softmin", F.softmin),
                                                                    ("logsumexp", torch.logsumexp), ("cumsum", torch.cumsum), ("cumprod", torch.cumprod))},
          **{("norm", f"p={p}"): lambda x, p=p: torch.linalg.vector_norm(x, p) for p in (1, 2, 3)}}
LOSSES = {name: getattr(F, name) for name in "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy_with_logits soft_margin_loss poisson_nll_loss".split()}

# (operator, perhaps with parameters; what): why. `what` is out, a or b.
STATED = {
    ("hardsigmoid", "a"): "PyTorch's one sixth is the f32 number next to it, in f64 too",
    ("pow exponent=-0.5", "a"): "it is rsqrt, whose slope at minus zero has the other sign than that of the power in PyTorch",
    ("prod", "a"): "with a zero no other factor has a gradient, an infinite one included; PyTorch says 0 · ∞",
    ("cumprod", "a"): "nothing is divided here, so an infinite factor leaves the others their slopes",
    ("gelu", "out"): "PyTorch's vectorised f32 gelu of infinity is NaN, its f64 one infinity",
    ("binary_cross_entropy_with_logits", "out"): "a score of minus infinity for a yes costs infinitely much; PyTorch says 0 · ∞",
    ("soft_margin_loss", "out"): "computed so that no exponential overflows", ("soft_margin_loss", "a"): "computed so that no exponential overflows",
}


def same(ours, theirs, tolerance):
    """Which elements agree."""
    with np.errstate(all="ignore"):
        near = np.abs(ours - theirs) <= tolerance * np.maximum(1, np.abs(theirs))
    return (np.isnan(ours) & np.isnan(theirs)) | (ours == theirs) | (np.isfinite(theirs) & near)


def compare(program, op, ports, params, arrays, fn, dtype):
    """Lines that differ: (what, arguments, ours, PyTorch's)."""
    kind = torch.float64 if dtype == "f64" else torch.float32
    x = [torch.tensor(np.float32(a).astype("f8"), dtype=kind, requires_grad=True) for a in arrays]
    y = fn(*x)
    names = "ab"[:len(x)]
    text = "".join(node(n, "input", shape=len(a)) for n, a in zip(names, arrays)) + node("n", op, **params)
    text += "".join(wire(n, f"n.{p}") for n, p in zip(names, ports))
    real = y.is_floating_point() and y.requires_grad
    cotangent = np.ones(tuple(y.shape), np.float32) if real and y.numel() != 1 else None
    port = "n.out" if op in ("max", "min") else "n"
    out, grads, _ = gradloom_run.run(program, graph(text), {n: np.asarray(a, np.float32) for n, a in zip(names, arrays)}, [port], port if real else None,
                             cotangent, options=["--dtype", dtype, "--threads", "1"])
    found = []
    pairs = [("out", out[port], y.detach().numpy())]
    if real:
        theirs = torch.autograd.grad(y, x, torch.ones_like(y), allow_unused=True)
        pairs += [(n, grads[f"input:{n}"], np.zeros(len(x[0])) if g is None else g.numpy()) for n, g in zip(names, theirs)]
    for what, a, b in pairs:
        # Where the result is NaN, its gradient is no number that anything is done with: training stops there.
        if what != "out" and np.isnan(np.atleast_1d(out[port])).any() and len(np.atleast_1d(out[port])) != len(arrays[0]):
            continue
        a, b = np.atleast_1d(a).astype(np.float64), np.atleast_1d(b).astype(np.float64)
        agree = same(a, b, 1e-9 if dtype == "f64" else 2e-5)
        if what != "out" and len(a) == len(np.atleast_1d(out[port])):
            agree |= np.isnan(np.atleast_1d(out[port]).astype(np.float64))
        for i in np.flatnonzero(~agree):
            arguments = tuple(np.float32(v[i]).item() for v in arrays) if len(a) == len(arrays[0]) else "all"
            found.append((what, arguments, a[i], b[i]))
    return found


def work():
    for name, fn in UNARY.items():
        yield name, {}, [POINTS], fn
    for (name, params), fn in PARAMS.items():
        given = dict(p.split("=") for p in params.split())
        for points in ([POINTS] if name in ("round", "gelu", "clamp", "threshold", "div", "softplus", "pow") else
                       ([0.0, 0.0, 1.0], [1.0, nan, 2.0], [inf, 1.0, 0.0], [-inf, 1.0, 2.0], [inf, -inf, 1.0], [-inf, -inf, -inf], [inf, inf, 1.0], [0.0, 0.0, 0.0], [2.0, 2.0, 1.0])):
            yield name, given, [points], fn
    for name, fn in BINARY.items():
        yield name, {}, [np.repeat(PAIRS, len(PAIRS)).tolist(), PAIRS * len(PAIRS)], fn
    for name, fn in LOSSES.items():
        target = [-1.0, 1.0] if name == "soft_margin_loss" else [0.0, 1.0, 0.5, 3.0]
        yield name, {"reduction": "none"}, [np.repeat(POINTS, len(target)).tolist(), target * len(POINTS)], lambda x, t, f=fn: f(x, t.detach(), reduction="none")
    yield ("binary_cross_entropy", {"reduction": "none"}, [np.repeat(UNIT, 3).tolist(), [0.0, 1.0, 0.25] * len(UNIT)],
           lambda x, t: F.binary_cross_entropy(x, t.detach(), reduction="none"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--only", default="", help="operators whose name contains this")
    args = parser.parse_args()
    torch.set_num_threads(1)
    ops = ports_of(args.program)
    count = failed = 0
    stated = set()
    for op, params, arrays, fn in work():
        if args.only not in op:
            continue
        ports = [p["name"] for p in ops[op]["inputs"]]
        for dtype in ("f64", "f32"):
            count += 1
            for what, arguments, ours, theirs in compare(args.program, op, ports, params, arrays, fn, dtype):
                if what == "b" and op in {**LOSSES, "binary_cross_entropy": 1}:
                    continue  # of the target; STATED says it once for all
                words = " ".join(f"{k}={v}" for k, v in params.items())
                reason = next((k for k in ((op, what), (f"{op} {words}", what)) if k in STATED), None)
                if reason:
                    stated.add(reason)
                    continue
                failed += 1
                print(f"failed: {op} {words} {dtype} {what} at {arguments if arguments != 'all' else arrays}: {ours:g}, PyTorch {theirs:g}")
    for op, what in sorted(stated):
        print(f"differs, for a reason: {op} {what}: {STATED[op, what]}")
    print(f"{count} comparisons, {failed} numbers differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
