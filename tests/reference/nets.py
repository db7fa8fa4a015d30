"""Whole graphs against PyTorch: random nets of every kind of operator, and what modules, repeats and tied weights mean.

A random net draws its operators one by one on whatever tensors are there already, so values are used several times, die
early, are transposed and broadcast, but for operators that jump, where a rounding error is a big one: what fusion, sharing of memory and layouts have to survive. Outputs of inner ports and
all gradients are compared, in f64 on ref and in f32 on the CPU."""

import argparse
import sys

import numpy as np
import torch
import torch.nn.functional as F

import gradloom_run
from gradloom_run import difference, graph, node, wire

# Single rounding errors may add up over a dozen operators in f32.
TOLERANCE = {"f64": 1e-9, "f32": 1e-3}


class Net:
    """Grows a graph and the same computation in PyTorch side by side."""

    def __init__(self, seed, training):
        self.rng = np.random.default_rng(seed)
        self.training = training
        self.text, self.count = "", 0
        self.values = []  # (name, tensor)
        self.inputs, self.weights, self.buffers, self.start_buffers = {}, {}, {}, {}

    def draw(self, *shape):
        return torch.from_numpy(self.rng.standard_normal(shape).astype(np.float32)).double()

    def name(self):
        self.count += 1
        return f"n{self.count}"

    def input(self, *shape):
        name, value = self.name(), self.draw(*shape).requires_grad_()
        self.text += node(name, "input", shape=",".join(map(str, shape)))
        self.inputs[name] = value
        self.values.append((name, value))

    def weight(self, name, *shape):
        value = (self.draw(*shape) * 0.5).requires_grad_()
        self.weights[name] = value
        return value

    def add(self, op, sources, result, ports=None, explicit=False, **params):
        name = self.name()
        self.text += node(name, op, **params)
        ports = ports or ["input"]
        for port, source in zip(ports, sources):
            self.text += wire(source, f"{name}.{port}")
        self.values.append((f"{name}.out" if explicit else name, result(name)))

    def pick(self, rank=None, smallest=0):
        fitting = [v for v in self.values if (rank is None or v[1].dim() in rank) and v[1].dim() >= smallest]
        # Later ones more often, so that nets grow deep.
        return fitting[min(len(fitting) - 1, int(len(fitting) * self.rng.random() ** 0.5))] if fitting else None

    def grow(self):
        kind = self.rng.integers(0, 16)
        x = self.pick()
        name, value = x
        choose = self.rng.choice
        if kind <= 2:
            op = str(choose(["relu", "tanh", "sigmoid", "gelu", "abs", "neg", "detach"], p=[.2, .2, .15, .2, .1, .1, .05]))
            fn = {"relu": F.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "gelu": F.gelu, "abs": torch.abs, "neg": torch.neg,
                  "detach": lambda v: v.detach()}[op]
            self.add(op, [name], lambda _: fn(value))
        elif kind <= 5:
            others = []
            for other in self.values:
                try:
                    shape = torch.broadcast_shapes(other[1].shape, value.shape)
                except RuntimeError:
                    continue
                if np.prod(shape) <= 20000:
                    others.append(other)
            o, v = others[self.rng.integers(len(others))]
            op = str(choose(["add", "sub", "mul"]))
            fn = {"add": torch.add, "sub": torch.sub, "mul": torch.mul}[op]
            self.add(op, [name, o], lambda _: fn(value, v), ["input", "other"])
            self.squeeze()
        elif kind == 6:
            op, number = str(choose(["add", "mul", "div", "pow", "clamp"])), float(choose([0.5, 2, 3]))
            if op == "clamp":
                self.add(op, [name], lambda _: torch.clamp(value, -number, number), min=-number, max=number)
            else:
                if op == "pow":
                    number = 2.0
                fn = {"add": torch.add, "mul": torch.mul, "div": torch.div, "pow": torch.pow}[op]
                self.add(op, [name], lambda _: fn(value, number), **{"exponent" if op == "pow" else "other": number})
                self.squeeze()
        elif kind == 7:
            if value.dim() in (1, 2, 3):
                out, i = int(self.rng.integers(1, 9)), value.shape[-1]
                bias = bool(self.rng.integers(2))
                self.add("linear", [name], lambda n: F.linear(value, self.weight(f"{n}.weight", out, i),
                                                              self.weight(f"{n}.bias", out) if bias else None),
                         out_features=out, bias=bias)
        elif kind == 8:
            if value.dim() == 4:
                out = int(choose([1, 3, 8, 16]))
                bias, stride, c = bool(self.rng.integers(2)), int(self.rng.integers(1, 3)), value.shape[1]
                self.add("conv2d", [name], lambda n: F.conv2d(value, self.weight(f"{n}.weight", out, c, 3, 3),
                                                              self.weight(f"{n}.bias", out) if bias else None, stride, 1),
                         out_channels=out, kernel_size=3, stride=stride, padding=1, bias=bias)
        elif kind == 9:
            if value.dim() == 4 and min(value.shape[2:]) >= 2:
                op = str(choose(["max_pool2d", "avg_pool2d"]))
                fn = F.max_pool2d if op == "max_pool2d" else F.avg_pool2d
                self.add(op, [name], lambda _: fn(value, 2), kernel_size=2)
        elif kind == 10:
            if value.dim() == 4 and value.shape[0] * value.shape[2] * value.shape[3] > 4:
                self.batch_norm(name, value)
            elif value.dim() >= 1 and value.shape[-1] > 2:
                d = value.shape[-1]
                self.add("layer_norm", [name], lambda n: F.layer_norm(value, (d,), self.weight(f"{n}.weight", d),
                                                                      self.weight(f"{n}.bias", d), 0.1), eps=0.1)
        elif kind == 11:
            if value.dim():
                dim = int(self.rng.integers(-value.dim(), value.dim()))
                op = str(choose(["softmax", "log_softmax"]))
                fn = torch.softmax if op == "softmax" else torch.log_softmax
                self.add(op, [name], lambda _: fn(value, dim), dim=dim)
        elif kind == 12:
            if value.dim():
                dim, keep = int(self.rng.integers(0, value.dim())), bool(self.rng.integers(2))
                op = str(choose(["sum", "mean", "max"]))
                if op == "max":
                    self.add("max", [name], lambda _: torch.max(value, dim, keep)[0], dim=dim, keepdim=keep, explicit=True)
                else:
                    fn = torch.sum if op == "sum" else torch.mean
                    self.add(op, [name], lambda _: fn(value, dim, keep), dim=dim, keepdim=keep)
                    self.squeeze()
        elif kind == 13:
            if value.dim() >= 2:
                if self.rng.integers(2):
                    order = [int(v) for v in self.rng.permutation(value.dim())]
                    self.add("permute", [name], lambda _: value.permute(order), dims=order)
                else:
                    start = int(self.rng.integers(0, value.dim() - 1))
                    self.add("flatten", [name], lambda _: value.flatten(start), start_dim=start)
        elif kind == 14:
            if value.dim():
                dim = int(self.rng.integers(0, value.dim()))
                same = [v for v in self.values if v[1].dim() == value.dim() and all(
                    a == b for i, (a, b) in enumerate(zip(v[1].shape, value.shape)) if i != dim)]
                o, v = same[self.rng.integers(len(same))]
                if value.numel() + v.numel() <= 20000:
                    self.add("concat", [name, o], lambda _: torch.cat([value, v], dim), ["0", "1"], dim=dim)
        else:
            if value.dim() >= 2:
                fitting = [v for v in self.values if v[1].dim() == 2 and v[1].shape[0] == value.shape[-1]]
                if fitting:
                    o, v = fitting[self.rng.integers(len(fitting))]
                    self.add("matmul", [name, o], lambda _: value @ v, ["input", "other"])
                    self.squeeze()

    def squeeze(self):
        """Keeps numbers small, so that f32 can be compared."""
        name, value = self.values[-1]
        if value.abs().max() > 8:
            self.add("tanh", [name], lambda _: torch.tanh(value))

    def batch_norm(self, name, value):
        c = value.shape[1]

        # PyTorch moves the statistics in place, so what they were is kept apart.
        mean, var = self.draw(c), self.draw(c).abs() + 0.5

        def result(n):
            self.start_buffers.update({f"{n}.running_mean": mean.numpy().copy(), f"{n}.running_var": var.numpy().copy(),
                                       f"{n}.num_batches_tracked": np.array(3)})
            self.buffers.update({f"{n}.running_mean": mean, f"{n}.running_var": var,
                                 f"{n}.num_batches_tracked": torch.tensor(4 if self.training else 3)})
            return F.batch_norm(value, mean, var, self.weight(f"{n}.weight", c), self.weight(f"{n}.bias", c), self.training, 0.1, 0.1)

        self.add("batch_norm2d", [name], result, eps=0.1)


def random_net(seed):
    net = Net(seed, bool(seed % 2))
    for shape in ([(4, 6), (3, 2, 8, 8)], [(2, 5, 4), (5, 4)], [(2, 3, 9, 9)], [(4, 16, 6, 6), (6,)], [(33, 20), (20, 7)])[seed % 5]:
        net.input(*shape)
    size = int(net.rng.integers(8, 41))
    while net.count < size:
        net.grow()
    return net


def check_net(program, net, dtype):
    """The worst difference and where it is."""
    last, value = net.values[-1]
    rng = np.random.default_rng(5)
    cotangent = None if value.numel() == 1 else rng.standard_normal(tuple(value.shape)).astype(np.float32)
    ports = [name for name, _ in net.values if name not in net.inputs]
    # Some inner values only: what is not asked for may be fused away.
    asked = [last] + [p for p in ports[:-1] if rng.random() < 0.3]
    wanted = {**net.weights, **{f"input:{k}": v for k, v in net.inputs.items()}}
    inner = [(name, v) for name, v in net.values if name in ports and v.requires_grad and rng.random() < 0.2 and name != last]
    wanted.update({f"input:{name}": v for name, v in inner})
    found = [None] * len(wanted)
    if value.requires_grad:
        found = torch.autograd.grad(value, list(wanted.values()), torch.ones_like(value) if cotangent is None
                                    else torch.from_numpy(cotangent).double().reshape(value.shape), allow_unused=True, retain_graph=True)
    weights = {k: v.detach().numpy() for k, v in net.weights.items()}
    weights.update(net.start_buffers)
    outputs, grads, saved = gradloom_run.run(program, graph(net.text), {k: v.detach().numpy() for k, v in net.inputs.items()}, asked, last,
                                     cotangent, [name for name, _ in inner], weights or None,
                                     ["--dtype", dtype, "--mode", "train" if net.training else "eval"], bool(net.start_buffers))
    values = dict(net.values)
    all_found = [(difference(outputs[p], values[p].detach().numpy(), 0.1), p) for p in asked]
    if set(grads) != set(wanted):
        return np.inf, f"gradients are of {sorted(set(grads) ^ set(wanted))}"
    all_found += [(difference(grads[k], (torch.zeros_like(v) if g is None else g).numpy(), 0.1), "gradient of " + k)
                  for (k, v), g in zip(wanted.items(), found)]
    # Running statistics move only where the layer was needed for what was asked.
    for name, buffer in net.buffers.items():
        start = net.start_buffers[name]
        reached = saved[name.rsplit(".", 1)[0] + ".num_batches_tracked"] != 3
        all_found.append((difference(saved[name], buffer.numpy() if reached else start, 0.1), name))
    return max(all_found, key=lambda f: f[0])


# ---- modules, repeats, ties ----

BLOCK = """  <module name="block">
    <arg name="width" type="int" default="5"/>
    <node id="x" op="module_input"/>
    <node id="fc" op="linear" out_features="{width}"/>
    <node id="act" op="tanh"/>
    <node id="y" op="module_output"/>
    <wire from="x" to="fc"/>
    <wire from="fc" to="act"/>
    <wire from="act" to="y"/>
  </module>
"""


def shared(weights, x):
    h = x
    for i in range(3):
        h = torch.tanh(F.linear(h, weights[f"a.{i}.fc.weight"], weights[f"a.{i}.fc.bias"]))
    for _ in range(2):
        h = torch.tanh(F.linear(h, weights["b.fc.weight"], weights["b.fc.bias"]))
    return torch.tanh(F.linear(h, weights["c.fc.weight"], weights["c.fc.bias"]))


def tied(weights, x):
    table = weights["table"]
    return F.linear(torch.tanh(F.embedding(x, table)), table)


def attention(weights, x):
    q, k, v = (x @ weights[n] for n in ("wq", "wk", "wv"))
    return torch.softmax(q @ k.transpose(-2, -1) / 4 ** 0.5, -1) @ v


ATTENTION = (node("x", "input", shape="B,T,4") + "".join(node(f"w{n}", "parameter", shape="4,4") + node(n, "matmul")
             + wire("x", f"{n}.input") + wire(f"w{n}", f"{n}.other") for n in "qkv")
             + node("kt", "transpose") + wire("k", "kt") + node("qk", "matmul") + wire("q", "qk.input") + wire("kt", "qk.other")
             + node("scaled", "div", other=2) + wire("qk", "scaled") + node("a", "softmax", dim=-1) + wire("scaled", "a")
             + node("out", "matmul") + wire("a", "out.input") + wire("v", "out.other"))
FIXED = [
    ("modules", BLOCK + node("x", "input", shape="B,5") + '  <node id="a" module="block" repeat="3"/>\n'
     '  <node id="b" module="block" repeat="2" share="true"/>\n  <node id="c" module="block" width="2"/>\n'
     + wire("x", "a") + wire("a", "b") + wire("b", "c"), "c", shared, torch.randn(4, 5).double(),
     {**{f"a.{i}.fc.{k}": s for i in range(3) for k, s in (("weight", (5, 5)), ("bias", (5,)))},
      "b.fc.weight": (5, 5), "b.fc.bias": (5,), "c.fc.weight": (2, 5), "c.fc.bias": (2,)}),
    ("tied weights", node("x", "input", shape="B", dtype="i64") + node("table", "parameter", shape="6,3")
     + node("emb", "embedding", num_embeddings=6, embedding_dim=3) + node("act", "tanh") + node("head", "linear", out_features=6, bias=False)
     + wire("x", "emb.input") + wire("table", "emb.weight") + wire("emb", "act") + wire("act", "head.input") + wire("table", "head.weight"),
     "head", tied, torch.tensor([1, 5, 1, 0]), {"table": (6, 3)}),
    ("attention", ATTENTION, "out", attention, torch.randn(2, 5, 4).double(), {f"w{n}": (4, 4) for n in "qkv"}),
]


def check_fixed(program, text, port, fn, x, shapes, dtype):
    rng = np.random.default_rng(4)
    weights = {k: torch.from_numpy(rng.standard_normal(s).astype(np.float32)).double().requires_grad_() for k, s in shapes.items()}
    x = x.float().double().requires_grad_() if x.is_floating_point() else x
    y = fn(weights, x)
    cotangent = rng.standard_normal(tuple(y.shape)).astype(np.float32)
    wanted = {**weights, **({"input:x": x} if x.is_floating_point() else {})}
    found = torch.autograd.grad(y, list(wanted.values()), torch.from_numpy(cotangent).double())
    outputs, grads, _ = gradloom_run.run(program, graph(text), {"x": x.detach().numpy()}, [port], port, cotangent, (),
                                 {k: v.detach().numpy() for k, v in weights.items()}, ["--dtype", dtype])
    if set(grads) != set(wanted):
        return np.inf, f"gradients are of {sorted(grads)}"
    return max([(difference(outputs[port], y.detach().numpy()), port)]
               + [(difference(grads[k], g.numpy()), "gradient of " + k) for k, g in zip(wanted, found)], key=lambda f: f[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--nets", type=int, default=100, help="how many random nets")
    parser.add_argument("--seed", type=int, default=0, help="number of the first one")
    args = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    failed, worst, count = 0, {"f64": 0.0, "f32": 0.0}, 0
    work = [(name, lambda d, r=rest: check_fixed(args.program, *r, d)) for name, *rest in FIXED if args.only in name]
    if args.only in "random net":
        work += [(f"random net {i}", lambda d, i=i: check_net(args.program, random_net(i), d))
                 for i in range(args.seed, args.seed + args.nets)]
    for name, check in work:
        for dtype in TOLERANCE:
            try:
                off, where = check(dtype)
            except gradloom_run.Failed as failure:
                off, where = np.inf, str(failure)
            worst[dtype] = max(worst[dtype], off)
            count += 1
            if not off <= TOLERANCE[dtype]:
                failed += 1
                print(f"failed: {name} {dtype}: {where} off by {off:.2g}")
    print(f"{count - failed} of {count} nets pass; worst {worst['f64']:.1e} in f64, {worst['f32']:.1e} in f32")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
