#!/usr/bin/env python3
"""Every operator against PyTorch: results, gradients and buffers, through `gradloom run` as any other program would.

Usage: against-pytorch.py GRADLOOM [--device D] [--dtype f32|f64]

Skipped (status 77, with the reason) where there is no PyTorch. GRADLOOM_TORCH_PYTHON may name an interpreter that has
it. In f64 both sides compute the same formulas, so they must agree to ten digits; in f32 to five.
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
except ImportError as error:
    other = os.environ.get("GRADLOOM_TORCH_PYTHON")
    if other and other != sys.executable:
        os.execv(other, [other] + sys.argv)
    print(f"SKIP: PyTorch is not there ({error}); set GRADLOOM_TORCH_PYTHON to an interpreter that has it.")
    sys.exit(77)

TOLERANCE = {"f64": 1e-10, "f32": 3e-5}
TORCH_TYPE = {"f64": torch.float64, "f32": torch.float32}
SAFETENSORS = {"F64": np.float64, "F32": np.float32, "I64": np.int64}


def load_safetensors(path):
    with open(path, "rb") as f:
        data = f.read()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    return {
        name: np.frombuffer(data[8 + size :][slice(*t["data_offsets"])], SAFETENSORS[t["dtype"]]).reshape(t["shape"])
        for name, t in header.items()
    }


def save_safetensors(tensors, path):
    names = {np.dtype(v): k for k, v in SAFETENSORS.items()}
    header, body = {}, b""
    for name, array in tensors.items():
        raw = np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": names[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [len(body), len(body) + len(raw)],
        }
        body += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + body)


def as_attribute(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value)


class Comparison:
    def __init__(self, arguments, folder):
        self.gradloom, self.device, self.dtype = arguments.gradloom, arguments.device, arguments.dtype
        self.folder = folder
        self.cases, self.failures = 0, 0
        self.random = np.random.default_rng(0)

    def path(self, name):
        return os.path.join(self.folder, name)

    def fail(self, case, sentence):
        self.failures += 1
        print(f"{case}: {sentence}")

    def close(self, case, what, got, want):
        got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
        tolerance = TOLERANCE[self.dtype]
        if got.shape != want.shape:
            self.fail(case, f"{what} has shape {got.shape}, PyTorch {want.shape}")
        elif not np.allclose(got, want, rtol=tolerance, atol=tolerance, equal_nan=True):
            self.fail(case, f"{what} differs by {np.nanmax(np.abs(got - want))}")

    def graph(self, op, parameters, inputs, ports, variadic):
        nodes, wires = "", ""
        for i, array in enumerate(inputs):
            dtype = "f32" if array.dtype.kind == "f" else "i64"
            shape = ",".join(map(str, array.shape))
            nodes += f'<node id="i{i}" op="input" shape="{shape}" dtype="{dtype}"/>'
            wires += f'<wire from="i{i}" to="n.{i if variadic else ports[i]}"/>'
        attributes = " ".join(f'{k}="{as_attribute(v)}"' for k, v in parameters.items())
        nodes += f'<node id="n" op="{op}" {attributes}/>'
        with open(self.path("graph.xml"), "w", encoding="utf-8") as f:
            f.write(f'<graph xmlns="urn:gradloom:graph" version="1" name="one">{nodes}{wires}</graph>')

    def run(self, op, parameters, inputs, function, module=None, mode="eval", ports=("input", "other"), variadic=False,
            outs=("out",)):
        """One case: `function` of the inputs as tensors says what must come out of node n."""
        self.cases += 1
        case = f"{op} {parameters} {[list(a.shape) for a in inputs]} {mode}"
        kind = TORCH_TYPE[self.dtype]
        words = [self.gradloom, "run", self.path("graph.xml"), "--mode", mode, "--dtype", self.dtype]
        self.graph(op, parameters, inputs, ports, variadic)
        tensors = []
        for i, array in enumerate(inputs):
            is_float = array.dtype.kind == "f"
            np.save(self.path(f"i{i}.npy"), array)
            words += ["--in", f"i{i}={self.path(f'i{i}.npy')}"]
            tensors.append(torch.tensor(array, dtype=kind if is_float else torch.int64, requires_grad=is_float))
        if module is not None:
            module.to(kind).train(mode == "train")
        if module is not None and len(module.state_dict()) > 0:
            save_safetensors({"n." + k: v.numpy() for k, v in module.state_dict().items()}, self.path("w.safetensors"))
            words += ["--weights", self.path("w.safetensors"), "--save-weights", self.path("after.safetensors")]
        results = function(*tensors)
        results = results if isinstance(results, tuple) else (results,)
        for out, _ in zip(outs, results):
            words += ["--out", f"n.{out}={self.path(out + '.npy')}"]
        if results[0].requires_grad:
            cotangent = torch.randn(results[0].shape, dtype=kind)
            np.save(self.path("g.npy"), cotangent.numpy())
            results[0].backward(cotangent)
            words += ["--grad", "n.out", "--grad-output", self.path("g.npy"), "--grads", self.path("g.safetensors")]
        if self.device:
            words += ["--device", self.device]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.fail(case, f"status {done.returncode}: {done.stderr.strip()[:300]}")
            return
        for out, want in zip(outs, results):
            self.close(case, out, np.load(self.path(out + ".npy")), want.detach().numpy())
        if results[0].requires_grad:
            self.compare_gradients(case, tensors, module)
        if module is not None and len(module.state_dict()) > 0:
            after = load_safetensors(self.path("after.safetensors"))
            for name, value in module.state_dict().items():
                self.close(case, name, after["n." + name], value.numpy())

    def compare_gradients(self, case, tensors, module):
        grads = load_safetensors(self.path("g.safetensors"))
        for i, t in enumerate(tensors):
            if t.requires_grad:
                got = grads.get(f"input:i{i}.out", grads.get(f"input:i{i}"))
                self.close(case, f"gradient of operand {i}", got, t.grad if t.grad is not None else torch.zeros_like(t))
        for name, parameter in module.named_parameters() if module is not None else ():
            self.close(case, f"gradient of {name}", grads["n." + name], parameter.grad)

    # ---- numbers

    def normal(self, *shape):
        return np.asarray(self.random.standard_normal(shape))

    def positive(self, *shape):
        return np.abs(self.normal(*shape)) + 0.5

    def integers(self, below, *shape):
        return np.asarray(self.random.integers(0, below, shape))


def elementwise(c):
    n, p, i = c.normal, c.positive, c.integers
    unary = dict(relu=F.relu, sigmoid=torch.sigmoid, tanh=torch.tanh, neg=torch.neg, abs=torch.abs, floor=torch.floor,
                 exp=torch.exp, gelu=F.gelu)
    for name, f in unary.items():
        x = n(3, 4)
        x[0, 0] = 0
        for value in (x, n(), n(0, 3)):
            c.run(name, {}, [value], f)
    for name, f in dict(sqrt=torch.sqrt, log=torch.log).items():
        c.run(name, {}, [p(3, 4)], f)
    c.run("gelu", dict(approximate="tanh"), [n(3, 4)], lambda x: F.gelu(x, approximate="tanh"))
    for name, f in dict(add=torch.add, sub=torch.sub, mul=torch.mul, div=torch.div).items():
        for a, b in ((n(2, 3, 4), n(3, 1)), (n(), n(2)), (n(0, 3), n(3)), (i(5, 3) + 1, i(5, 3) + 1), (i(5, 3), p(3))):
            c.run(name, {}, [a, b], f)
        c.run(name, dict(other=2.5), [n(3)], lambda x, f=f: f(x, 2.5))
    for e, x in ((3, n(4)), (2, n(4)), (-0.5, p(4)), (0.5, p(4)), (0, np.array([0.0, 1, 2]))):
        c.run("pow", dict(exponent=e), [x], lambda x, e=e: x**e)
    for a, b in ((p(2, 3), n(3)), (np.array([0.0, 0, 2]), np.array([0.0, 2, 3]))):
        c.run("pow", {}, [a, b], torch.pow, ports=("input", "exponent"))
    for low, high in ((-0.5, 0.5), (1, -1)):
        x = np.array([-1, -0.4, 0, 0.4, 1.0, np.nan])
        c.run("clamp", dict(min=low, max=high), [x], lambda x, a=low, b=high: torch.clamp(x, a, b))


def matrices_and_reductions(c):
    n, i = c.normal, c.integers
    for a, b in (((3, 4), (4, 2)), ((2, 5, 4), (4, 3)), ((2, 5, 3), (2, 3, 5)), ((4, 1, 2, 3), (2, 3, 2)), ((4,), (4,)),
                 ((4,), (4, 3)), ((2, 3, 4), (4,)), ((3,), (2, 3, 2)), ((0, 4), (4, 2)), ((3, 0), (0, 2)),
                 ((2, 3), (5, 3, 4))):
        c.run("matmul", {}, [n(*a), n(*b)], torch.matmul)
    for x in (n(2, 3), i(5, 3), n(), n(0)):
        c.run("sum", {}, [x], torch.sum)
    c.run("sum", dict(dim=(0, -1), keepdim=True), [n(2, 3, 4)], lambda x: x.sum((0, -1), True))
    c.run("sum", dict(dim=1), [n(0, 3)], lambda x: x.sum(1))
    for x in (n(2, 3), n(0)):
        c.run("mean", {}, [x], torch.mean)
    c.run("mean", dict(dim=-2), [n(2, 3, 4)], lambda x: x.mean(-2))
    ties = np.array([[1.0, 3, 3], [2, 2, 0]])
    odd = np.array([[1.0, np.nan, 3], [-np.inf, -np.inf, -np.inf]])
    c.run("max", {}, [ties], torch.max)
    for x in (ties, odd):
        c.run("max", dict(dim=1), [x], lambda x: tuple(torch.max(x, 1)), outs=("out", "indices"))
    c.run("max", dict(dim=0, keepdim=True), [n(3, 4)], lambda x: tuple(torch.max(x, 0, True)), outs=("out", "indices"))
    for d in (-1, 0, 1):
        c.run("softmax", dict(dim=d), [n(3, 4, 2)], lambda x, d=d: F.softmax(x, d))
        c.run("log_softmax", dict(dim=d), [n(3, 4, 2) * 20], lambda x, d=d: F.log_softmax(x, d))
    c.run("softmax", {}, [np.array([[-np.inf, 1, 2.0], [1000, 1001, 1002]])], lambda x: F.softmax(x, -1))


def shapes(c):
    n = c.normal
    c.run("flatten", {}, [n(2, 3, 4)], lambda x: x.flatten(1))
    c.run("flatten", dict(start_dim=0), [n()], lambda x: x.flatten())
    c.run("reshape", dict(shape=(3, 4)), [n(2, 6)], lambda x: x.reshape(3, 4))
    c.run("permute", dict(dims=(2, 0, 1)), [n(2, 3, 4)], lambda x: x.permute(2, 0, 1))
    c.run("transpose", dict(dim0=0, dim1=2), [n(2, 3, 4)], lambda x: x.transpose(0, 2))
    c.run("concat", dict(dim=1), [n(2, 3), n(2, 1), n(2, 2)], lambda *x: torch.cat(x, 1), variadic=True)
    c.run("concat", {}, [n(2, 3), n(0, 3)], lambda *x: torch.cat(x), variadic=True)


def losses(c):
    n, i, ports = c.normal, c.integers, ("input", "target")
    for r in ("mean", "sum", "none"):
        for x, t, ignore in ((n(4, 5), i(5, 4), -100), (n(6, 3), i(3, 6), 1), (n(2, 3, 4, 2), i(3, 2, 4, 2), -100)):
            c.run("cross_entropy", dict(reduction=r, ignore_index=ignore), [x, t],
                  lambda x, t, r=r, k=ignore: F.cross_entropy(x, t, reduction=r, ignore_index=k), ports=ports)
        c.run("mse_loss", dict(reduction=r), [n(4, 5), n(4, 5)], lambda x, t, r=r: F.mse_loss(x, t, reduction=r),
              ports=ports)
    for x, t in ((n(3, 4), np.array([1, -100, 2])), (n(5), np.array(2)), (n(2, 4), np.array([-100, -100]))):
        c.run("cross_entropy", {}, [x, t], F.cross_entropy, ports=ports)


def layers(c):
    n = c.normal
    for shape, bias in (((3, 7), True), ((2, 3, 7), False), ((7,), True), ((0, 7), True)):
        m = nn.Linear(7, 5, bias=bias)
        c.run("linear", dict(out_features=5, bias=bias), [n(*shape)], m, m)
    for shape, k in (
        ((2, 3, 8, 7), dict(out_channels=4, kernel_size=3)),
        ((2, 3, 8, 7), dict(out_channels=4, kernel_size=3, padding=1, stride=2)),
        ((2, 4, 8, 7), dict(out_channels=6, kernel_size=(3, 2), padding=(1, 0), stride=(1, 2), groups=2, bias=False)),
        ((2, 3, 8, 7), dict(out_channels=4, kernel_size=4, padding="same")),
        ((2, 3, 8, 8), dict(out_channels=4, kernel_size=(2, 4), padding="same", dilation=(2, 1))),
        ((2, 3, 9, 9), dict(out_channels=4, kernel_size=3, dilation=2, padding="valid")),
        ((2, 4, 6, 6), dict(out_channels=8, kernel_size=3, groups=4, padding=2)),
        ((1, 1, 1, 1), dict(out_channels=1, kernel_size=1)),
    ):
        m = nn.Conv2d(shape[1], **k)
        c.run("conv2d", k, [n(*shape)], m, m)
    for k in (dict(kernel_size=2), dict(kernel_size=3, stride=2, padding=1), dict(kernel_size=2, ceil_mode=True),
              dict(kernel_size=3, stride=2, padding=1, ceil_mode=True), dict(kernel_size=(2, 3), stride=1)):
        for shape in ((2, 3, 7, 7), (1, 2, 6, 6), (1, 2, 5, 8)):
            c.run("max_pool2d", k, [n(*shape)], nn.MaxPool2d(**k))
            for inside in (True, False):
                q = dict(k, count_include_pad=inside)
                c.run("avg_pool2d", q, [n(*shape)], nn.AvgPool2d(**q))
    c.run("max_pool2d", dict(kernel_size=3, dilation=2, stride=1), [n(2, 3, 7, 7)], nn.MaxPool2d(3, 1, dilation=2))
    c.run("max_pool2d", dict(kernel_size=2), [np.floor(n(2, 2, 6, 6))], nn.MaxPool2d(2))
    c.run("avg_pool2d", dict(kernel_size=3, divisor_override=4), [n(2, 3, 7, 7)], nn.AvgPool2d(3, divisor_override=4))
    m = nn.Embedding(7, 3)
    c.run("embedding", dict(num_embeddings=7, embedding_dim=3), [c.integers(7, 4, 2)], m, m)


def norms(c):
    n = c.normal
    for mode in ("train", "eval"):
        for k in ({}, dict(affine=False), dict(momentum=0.3, eps=0.01), dict(track_running_stats=False)):
            m = nn.BatchNorm2d(3, **k)
            with torch.no_grad():
                for parameter in m.parameters():
                    parameter.normal_()
                if m.running_mean is not None:
                    m.running_mean.normal_()
                    m.running_var.uniform_(0.5, 2)
            c.run("batch_norm2d", k, [n(4, 3, 2, 5)], m, m, mode)
    for k in ({}, dict(elementwise_affine=False), dict(bias=False)):
        m = nn.LayerNorm(6, **k)
        c.run("layer_norm", k, [n(4, 5, 6)], m, m)
    m = nn.LayerNorm((5, 6))
    c.run("layer_norm", dict(normalized_shape=(5, 6)), [n(4, 5, 6)], m, m)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gradloom")
    parser.add_argument("--device")
    parser.add_argument("--dtype", choices=TOLERANCE, default="f64")
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        c = Comparison(parser.parse_args(), folder)
        for group in (elementwise, matrices_and_reductions, shapes, losses, layers, norms):
            group(c)
    print(f"{c.cases} cases against PyTorch {torch.__version__}, {c.failures} differences")
    return 1 if c.failures else 0


if __name__ == "__main__":
    sys.exit(main())
