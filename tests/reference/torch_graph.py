"""A graph file as a PyTorch module: its layers are torch.nn's, under the names of the graph's nodes.

So `load_state_dict(strict=True)` says whether a graph's weights have the names and shapes that PyTorch gives them, and a forward
whether they mean the same. A layer is built from the node's attributes alone; only what a node infers, such as in_features, is
read from the weight's shape. To teach it an operator, add it to LAYERS (those with weights) or to FUNCTIONS. What comes from
outside, data and random numbers, is given to `forward` by port."""

import math
import re
import xml.etree.ElementTree as ElementTree

import torch
import torch.nn.functional as F
from torch import nn

NAMESPACE = "{urn:gradloom:graph}"
OUTSIDE = {"dataset", "input", "bernoulli", "normal", "uniform", "rand", "randn", "randint", "randperm", "exponential", "multinomial"}


class Unknown(Exception):
    """An operator that is in neither table."""


# ---- the file ----


def convert(text, kind):
    """An attribute as the value of its type: several numbers are a tuple, "none" is None. A padding is a word or numbers."""
    if kind == "bool":
        return text == "true"
    if text in ("", "none"):
        return None
    try:
        numbers = tuple(float(v) if kind.startswith("float") or not re.fullmatch(r" *[-+]?[0-9]+ *", v) else int(v) for v in text.split(","))
    except ValueError:
        return text
    return numbers[0] if len(numbers) == 1 and kind != "shape" else numbers


class Node:
    """One node of a scope: its attributes with expressions evaluated, and its wires as {port: source}."""

    def __init__(self, element, arguments):
        def evaluate(match):
            value = eval(match[1], {}, arguments)  # noqa: S307
            return str(int(value)) if isinstance(value, float) and value == int(value) else str(value)

        self.given = {k: re.sub(r"\{(.*?)\}", evaluate, v) for k, v in element.attrib.items()}
        self.id, self.op, self.module = self.given["id"], self.given.get("op"), self.given.get("module")
        self.wires = {}

    def params(self, op):
        """All parameters of the operator, those that are not given with their defaults."""
        return {p["name"]: convert(self.given.get(p["name"], p.get("default") or ""), p["type"]) for p in op["params"]}


class File:
    def __init__(self, path, ops, symbols=None):
        self.root, self.ops, self.symbols = ElementTree.parse(path).getroot(), ops, symbols or {}
        self.modules = {m.get("name"): m for m in self.root.findall(NAMESPACE + "module")}

    def nodes(self, scope, arguments):
        """The nodes of the graph or of one of its modules, by id."""
        found = {e.get("id"): Node(e, arguments) for e in scope.findall(NAMESPACE + "node")}
        for element in scope.findall(NAMESPACE + "wire"):
            target, _, port = element.get("to").partition(".")
            node = found[target]
            node.wires[port or self.first_input(node)] = element.get("from")
        return found

    def draws(self, op, module):
        """Whether what a node says comes from outside: data, or random numbers, also inside of a module."""
        if module is None:
            return op in OUTSIDE
        return any(self.draws(e.get("op"), e.get("module")) for e in self.modules[module].findall(NAMESPACE + "node"))

    def sized(self, text):
        """A shape with letters: “B,16”."""
        return tuple(int(d) if re.fullmatch(r"-?[0-9]+", d.strip()) else self.symbols[d.strip()] for d in text.split(","))

    def ports_of(self, name, kind):
        return [e.get("id") for e in self.modules[name].findall(NAMESPACE + "node") if e.get("op") == kind]

    def first_input(self, node):
        if node.module or node.op in RUNS:
            return self.ports_of(names_of(node)[0], "module_input")[0]
        inputs = self.ops[node.op]["inputs"]
        return "0" if inputs and inputs[0]["variadic"] else inputs[0]["name"] if inputs else "input"

    def arguments(self, node, name):
        """What a module's arguments are where this node stands."""
        given = {}
        for arg in self.modules[name].findall(NAMESPACE + "arg"):
            text = node.given.get(arg.get("name"), arg.get("default"))
            given[arg.get("name")] = convert(text, arg.get("type", "int"))
        return given


# What runs modules, and the modules.
RUNS = ("scan", "switch", "recurse")


def names_of(node):
    return [n.strip() for n in (node.module or node.given.get("body") or node.given["bodies"]).split(",")]


# ---- operators ----

TYPES = {"f32": torch.float32, "f64": torch.float64, "i64": torch.int64, "i32": torch.int32, "u8": torch.uint8, "bool": torch.bool, None: torch.float32}


def convolution(cls, transposed):
    def make(p, w):
        inside = w["weight"].shape[0] if transposed else w["weight"].shape[1] * p["groups"]
        more = {"output_padding": p["output_padding"]} if transposed else {"padding_mode": p.get("padding_mode") or "zeros"}
        return cls(inside, p["out_channels"], p["kernel_size"], stride=p["stride"], padding=p["padding"],
                   dilation=p["dilation"], groups=p["groups"], bias=p["bias"], **more)
    return make


def batch_norm(cls):
    def make(p, w):
        return cls(len(w["running_mean"] if "running_mean" in w else w["weight"]), eps=p["eps"], momentum=p["momentum"], affine=p["affine"],
                   track_running_stats=p["track_running_stats"])
    return make


def recurrent(cls):
    def make(p, w):
        width = w["weight_ih_l0"].shape[1]
        known = ("num_layers", "bias", "batch_first", "dropout", "bidirectional") + (("proj_size",) if cls is nn.LSTM else ()) + (
            ("nonlinearity",) if cls is nn.RNN else ())
        return cls(width, p["hidden_size"], **{k: p[k] for k in known if p.get(k) is not None})
    return make


def attention(p, w):
    features = w["out_proj.weight"].shape[0]
    kdim, vdim = ((w[f"{k}_proj_weight"].shape[1] if f"{k}_proj_weight" in w else features) for k in "kv")
    return nn.MultiheadAttention(features, p["num_heads"], dropout=p["dropout"], bias=p["bias"], batch_first=p["batch_first"], kdim=kdim, vdim=vdim)


class PositionalEncoding(nn.Module):
    """PyTorch has none: Vaswani et al. 2017, section 3.5, or a table that is learnt, or turned pairs (Su et al. 2021)."""

    def __init__(self, p, w):
        super().__init__()
        self.kind, self.base = p["kind"], p["base"]
        if self.kind == "learned":
            self.weight = nn.Parameter(torch.zeros(p["max_len"], w["weight"].shape[1]))

    def forward(self, x):
        places, features = x.shape[-2:]
        if self.kind == "learned":
            return x + self.weight[:places]
        at = torch.arange(places, dtype=x.dtype)[:, None] * self.base ** (-torch.arange(0, features, 2, dtype=x.dtype) / features)
        if self.kind == "sinusoidal":
            return x + torch.stack((at.sin(), at.cos()), -1).flatten(-2)[:, :features]
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack((even * at.cos() - odd * at.sin(), even * at.sin() + odd * at.cos()), -1).flatten(-2)


def normalized(p, w):
    shape = p.get("normalized_shape") or tuple(w["weight"].shape)
    return shape if isinstance(shape, tuple) else (shape,)


LAYERS = {
    "linear": lambda p, w: nn.Linear(w["weight"].shape[1], p["out_features"], bias=p["bias"]),
    "embedding": lambda p, w: nn.Embedding(p["num_embeddings"], p["embedding_dim"], padding_idx=p.get("padding_idx")),
    "layer_norm": lambda p, w: nn.LayerNorm(normalized(p, w), eps=p["eps"], bias="bias" in w),
    "rms_norm": lambda p, w: nn.RMSNorm(normalized(p, w), eps=p["eps"]),
    "group_norm": lambda p, w: nn.GroupNorm(p["num_groups"], len(w["weight"]), eps=p["eps"]),
    "prelu": lambda p, w: nn.PReLU(len(w["weight"])),
    "multihead_attention": attention, "positional_encoding": PositionalEncoding,
    "rnn": recurrent(nn.RNN), "lstm": recurrent(nn.LSTM), "gru": recurrent(nn.GRU),
    **{f"conv{d}d": convolution(getattr(nn, f"Conv{d}d"), False) for d in (1, 2, 3)},
    **{f"conv_transpose{d}d": convolution(getattr(nn, f"ConvTranspose{d}d"), True) for d in (1, 2, 3)},
    **{f"batch_norm{d}d": batch_norm(getattr(nn, f"BatchNorm{d}d")) for d in (1, 2, 3)},
}


def other(fn):
    return lambda p, x, y=None: fn(x, p["other"] if y is None else y)


def over(fn):
    return lambda p, x: fn(x, dim=p["dim"], keepdim=p["keepdim"]) if p["dim"] is not None else fn(x)


def pool(fn, average=False):
    return lambda p, x: fn(x, p["kernel_size"], p["stride"], p["padding"], ceil_mode=bool(p.get("ceil_mode")))


def loss(fn, *names):
    return lambda p, x, target, *rest: fn(x, target, reduction=p["reduction"], **{n: p[n] for n in names if p.get(n) is not None})


def size_of(p):
    return {k: p[k] for k in ("size", "scale_factor") if p.get(k) is not None}


def constant(p):
    value = torch.tensor(p["value"], dtype=TYPES[p["dtype"]])
    return value if p["shape"] is None else value.expand(p["shape"])


FUNCTIONS = {
    **{name: (lambda fn: lambda p, x: fn(x))(getattr(torch, name)) for name in
       "relu tanh sigmoid neg exp log sqrt square abs sin cos detach".split()},
    **{name: (lambda fn: lambda p, x: fn(x))(getattr(F, name)) for name in "silu mish relu6 hardswish softsign logsigmoid".split()},
    "gelu": lambda p, x: F.gelu(x, approximate=p["approximate"] or "none"), "leaky_relu": lambda p, x: F.leaky_relu(x, p["negative_slope"]),
    **{name: (lambda fn: lambda p, x: fn(x, dim=p["dim"]))(getattr(torch, name)) for name in ("softmax", "log_softmax")},
    "add": other(torch.add), "sub": other(torch.sub), "mul": other(torch.mul), "div": other(torch.div),
    **{name: other(getattr(torch, name)) for name in "eq ne lt le gt ge maximum minimum".split()},
    "pow": lambda p, x, y=None: x ** (p["exponent"] if y is None else y), "matmul": lambda p, x, y: x @ y,
    "sum": over(torch.sum), "mean": over(torch.mean),
    "flatten": lambda p, x: x.flatten(p["start_dim"], p["end_dim"]), "transpose": lambda p, x: x.transpose(p["dim0"], p["dim1"]),
    "reshape": lambda p, x: x.reshape(p["shape"]), "unflatten": lambda p, x: x.unflatten(p["dim"], p["sizes"]),
    "permute": lambda p, x: x.permute(p["dims"]), "movedim": lambda p, x: x.movedim(p["source"], p["destination"]),
    "unsqueeze": lambda p, x: x.unsqueeze(p["dim"]), "squeeze": lambda p, x: x.squeeze(p["dim"]) if p["dim"] is not None else x.squeeze(),
    "concat": lambda p, *x: torch.cat(x, p["dim"]), "stack": lambda p, *x: torch.stack(x, p["dim"]),
    "chunk": lambda p, x: x.chunk(p["chunks"], p["dim"]), "select": lambda p, x: x.select(p["dim"], p["index"]),
    "narrow": lambda p, x: x.narrow(p["dim"], p["start"], p["length"]), "index_select": lambda p, x, i: x.index_select(p["dim"], i),
    "gather": lambda p, x, i: x.gather(p["dim"], i),
    "identity": lambda p, x: x, "output": lambda p, x: x, "cast": lambda p, x: x.to(TYPES[p["dtype"]]),
    **{name: lambda p, x: x for name in "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout".split()},
    **{f"max_pool{d}d": pool(getattr(F, f"max_pool{d}d")) for d in (1, 2)}, **{f"avg_pool{d}d": pool(getattr(F, f"avg_pool{d}d")) for d in (1, 2)},
    "adaptive_avg_pool2d": lambda p, x: F.adaptive_avg_pool2d(x, p["output_size"]),
    "upsample": lambda p, x: F.interpolate(x, mode=p.get("mode") or "nearest", **size_of(p)),
    "constant": constant, "l2_penalty": lambda p, *x: p["lambda"] * sum(w.square().sum() for w in x),
    "where": lambda p, c, x, y: torch.where(c, x, y), "logical_not": lambda p, x: ~x,
    "logical_and": lambda p, x, y: x & y, "logical_or": lambda p, x, y: x | y,
    "full": lambda p, like=None: torch.full(p["shape"] if like is None else like.shape, p["fill_value"], dtype=TYPES[p["dtype"]]),
    "ones": lambda p, like=None: torch.ones(p["shape"] if like is None else like.shape),
    "zeros": lambda p, like=None: torch.zeros(p["shape"] if like is None else like.shape),
    "expand": lambda p, x: x.expand(p["shape"]), "roll": lambda p, x: x.roll(p["shifts"], p["dims"]),
    "split": lambda p, x: x.split(p["split_size"], p["dim"]), "solve": lambda p, a, b: torch.linalg.solve(a, b),
    "cosine_similarity": lambda p, x, y: F.cosine_similarity(x, y, p["dim"], p["eps"]),
    "cross_entropy": loss(F.cross_entropy, "ignore_index", "label_smoothing"), "mse_loss": loss(F.mse_loss), "l1_loss": loss(F.l1_loss),
    "nll_loss": loss(F.nll_loss, "ignore_index"), "multi_margin_loss": loss(F.multi_margin_loss, "p", "margin"),
    "binary_cross_entropy_with_logits": loss(F.binary_cross_entropy_with_logits), "binary_cross_entropy": loss(F.binary_cross_entropy),
}
# What formulas call; a number in one is a tensor to PyTorch's functions.
FORMULA = {name: (lambda fn: lambda *x: fn(*map(torch.as_tensor, x)))(fn) for name, fn in (
    *((name, getattr(torch, name)) for name in "exp log sqrt sin cos tanh sigmoid relu abs sign maximum minimum erf where".split()),
    ("softplus", F.softplus), ("gelu", F.gelu), ("silu", F.silu))} | {"pi": math.pi, "e": math.e, "__builtins__": {}}


# ---- the module ----


class Scope(nn.Module):
    """The graph, or a module at one place: `values` gives what ports have."""

    def __init__(self, file, element, weights, arguments=None):
        super().__init__()
        self.file, self.nodes = file, file.nodes(element, arguments or {})
        for node in self.nodes.values():
            own = {k[len(node.id) + 1:]: v for k, v in weights.items() if k.startswith(node.id + ".")}
            if node.op == "switch":
                self.add_module(node.id, nn.ModuleList(
                    Scope(file, file.modules[name], {k[len(str(i)) + 1:]: v for k, v in own.items() if k.startswith(f"{i}.")},
                          file.arguments(node, name)) for i, name in enumerate(names_of(node))))
            elif node.module or node.op in RUNS:
                self.add_module(node.id, self.instance(node, own))
            elif node.op == "parameter":
                self.register_parameter(node.id, nn.Parameter(torch.zeros_like(weights[node.id])))
            elif node.op in LAYERS:
                tied = [p for p in node.wires if any(i["name"] == p and i.get("weight") for i in file.ops[node.op]["inputs"])]
                layer = LAYERS[node.op](node.params(file.ops[node.op]), own | {p: weights[node.wires[p]] for p in tied})
                for port in tied:
                    del layer._parameters[port]
                self.add_module(node.id, layer)

    def instance(self, node, own):
        name = names_of(node)[0]
        element, arguments = self.file.modules[name], self.file.arguments(node, name)
        if node.given.get("repeat") is None or node.given.get("share") == "true":
            return Scope(self.file, element, own, arguments)
        return nn.ModuleList(Scope(self.file, element, {k[len(str(i)) + 1:]: v for k, v in own.items() if k.startswith(f"{i}.")}, arguments)
                             for i in range(int(node.given["repeat"])))

    def values(self, wanted, given):
        """The values of ports (“node” or “node.port”), where those in `given` are known."""
        known = dict(given)

        def value(source):
            if source not in known:
                id, _, port = source.partition(".")
                node = self.nodes[id]
                x = {p: value(s) for p, s in node.wires.items()}
                weight = self.weight(node, port)
                made = weight or self.compute(node, x)
                known.update({f"{id}.{k}": v for k, v in made.items()})
                if not weight:
                    known.setdefault(id, next(iter(made.values())))
                if source not in known:
                    raise Unknown(f"{node.op}, port {port}")
            return known[source]

        return {w: value(w) for w in wanted}

    def weight(self, node, port):
        """A layer's weight that another node reads."""
        layer = getattr(self, node.id) if node.op in LAYERS else None
        return {port: layer.get_parameter(port)} if layer is not None and port in dict(layer.named_parameters()) else None

    def compute(self, node, x):
        if node.op in RUNS:
            return getattr(self, node.op)(node, x)
        if node.module:
            inside = getattr(self, node.id)
            outputs = self.file.ports_of(node.module, "module_output")
            for copy in inside if isinstance(inside, nn.ModuleList) else [inside] * int(node.given.get("repeat", 1)):
                found = copy.values([copy.nodes[o].wires["input"] for o in outputs], x)
                made = {o: found[copy.nodes[o].wires["input"]] for o in outputs}
                x = {next(iter(x)): next(iter(made.values()))}
            return made
        if node.op == "expression":
            return {"out": eval(node.given["formula"], FORMULA, x)}  # noqa: S307
        if node.op == "custom_function":
            names = dict(x)
            for statement in node.given["forward"].split(";"):
                name, formula = statement.split("=", 1)
                names[name.strip()] = result = eval(formula.strip(), FORMULA, names)  # noqa: S307
            return {"out": result}
        if node.op == "parameter":
            return {"out": getattr(self, node.id)}
        if node.op == "gradient":
            return {"out": torch.autograd.grad(x["of"], x["wrt"], retain_graph=True)[0]}
        op = self.file.ops[node.op]
        p = node.params(op)
        if isinstance(p.get("shape"), str):
            p["shape"] = self.file.sized(p["shape"])
        if node.op in LAYERS:
            return self.layer(getattr(self, node.id), node.op, p, x, [o["name"] for o in op["outputs"]])
        if node.op not in FUNCTIONS:
            raise Unknown(node.op)
        order = sorted(x) if op["inputs"] and op["inputs"][0]["variadic"] else [i["name"] for i in op["inputs"] if i["name"] in x]
        made = FUNCTIONS[node.op](p, *(x[i] for i in order))
        return {str(i): v for i, v in enumerate(made)} if isinstance(made, tuple) else {"out": made}

    @staticmethod
    def layer(layer, op, p, x, outputs):
        ties = {k: x.pop(k) for k in list(x) if k not in ("input", "query", "key", "value", "attn_mask", "key_padding_mask", "h_0", "c_0", "lengths")}
        for name, value in ties.items():
            object.__setattr__(layer, name, value)
        if op in ("rnn", "lstm", "gru"):
            state = (x["h_0"], x["c_0"]) if "c_0" in x else x.get("h_0")
            given, first = x["input"], p["batch_first"]
            if "lengths" in x:
                given = nn.utils.rnn.pack_padded_sequence(given, x["lengths"].cpu(), batch_first=first, enforce_sorted=False)
            out, last = layer(given, state)
            if "lengths" in x:
                out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=first, total_length=x["input"].shape[1 if first else 0])
            return dict(zip(outputs, (out, *last) if op == "lstm" else (out, last)))
        if op == "multihead_attention":
            q = x["query"]
            k = x.get("key", q)
            axis = 1 if p["batch_first"] and q.dim() == 3 else 0
            mask = x.get("attn_mask")
            if p["is_causal"]:
                mask = torch.ones(q.shape[axis], k.shape[axis], dtype=torch.bool).triu(1)
            return dict(zip(outputs, layer(q, k, x.get("value", k), key_padding_mask=x.get("key_padding_mask"), attn_mask=mask,
                                           average_attn_weights=p["average_attn_weights"])))
        return {"out": layer(x["input"])}

    def switch(self, node, x):
        bodies, index = getattr(self, node.id), x.pop("index")
        outputs = self.file.ports_of(names_of(node)[0], "module_output")

        def run(body, given):
            found = body.values([body.nodes[o].wires["input"] for o in outputs], given)
            return [found[body.nodes[o].wires["input"]] for o in outputs]

        if index.dim() == 0:
            return dict(zip(outputs, run(bodies[int(index)], x)))
        rows = [run(bodies[int(i)], {k: v[b:b + 1] for k, v in x.items()}) for b, i in enumerate(index)]
        return {o: torch.cat([r[k] for r in rows]) for k, o in enumerate(outputs)}

    def recurse(self, node, x):
        body, parents, arity = getattr(self, node.id), x.pop("parent"), int(node.given.get("arity", 0))
        outputs = {o: body.nodes[o] for o in self.file.ports_of(names_of(node)[0], "module_output")}
        carried = {o: n.given["carry"] for o, n in outputs.items() if "carry" in n.given}

        def zeros(h):
            given = body.nodes[h + ("0" if arity else "")].given
            return torch.zeros([1, *(int(d) for d in given["shape"].split(",")[1:])])

        made = {o: [] for o in outputs}
        for b, parent in enumerate(parents.tolist()):
            below = [{h: [] for h in carried.values()} for _ in parent]
            for n, to in enumerate(parent):
                given = {k: v[b:b + 1, n] for k, v in x.items()}
                for h, children in below[n].items():
                    if arity:
                        given.update({f"{h}{k}": children[k] if k < len(children) else zeros(h) for k in range(arity)})
                    else:
                        given[h] = sum(children, zeros(h))
                found = body.values([o.wires["input"] for o in outputs.values()], given)
                for o in outputs:
                    made[o].append(found[outputs[o].wires["input"]])
                    if o in carried and to >= 0:
                        below[to][carried[o]].append(made[o][-1])
        return {o: torch.cat(rows).unflatten(0, parents.shape) for o, rows in made.items()}

    def scan(self, node, x):
        body, name = getattr(self, node.id), node.given["body"]
        axis, backwards = int(node.given.get("axis", 0)), node.given.get("reverse") == "true"
        outputs = {o: body.nodes[o] for o in self.file.ports_of(name, "module_output")}
        carried = {o: n.given["carry"] for o, n in outputs.items() if "carry" in n.given}
        inputs = [i for i in self.file.ports_of(name, "module_input") if i not in carried.values()]
        cut = [s for s in node.given.get("sequence", inputs[0]).split(",") if s]
        if "lengths" in x:
            raise Unknown("scan with lengths")
        state = {h: x[h] if h in x else torch.zeros([x[cut[0]].shape[1 - min(axis, 1)] if d == "B" else int(d)
                                                     for d in body.nodes[h].given["shape"].split(",")], dtype=x[cut[0]].dtype)
                 for h in carried.values()}
        steps, stacked = x[cut[0]].shape[axis], {o: [] for o in outputs if o not in carried}
        for t in reversed(range(steps)) if backwards else range(steps):
            given = {**x, **state, **{s: x[s].select(axis, t) for s in cut}}
            found = body.values([n.wires["input"] for n in outputs.values()], given)
            state = {h: found[outputs[o].wires["input"]] for o, h in carried.items()}
            for o in stacked:
                stacked[o].insert(0 if backwards else steps, found[outputs[o].wires["input"]])
        return {o: torch.stack(stacked[o], axis) if o in stacked else state[carried[o]] for o in outputs}


def module_of(file, weights):
    """The graph as a module whose weights are still to be loaded."""
    return Scope(file, file.root, weights)
