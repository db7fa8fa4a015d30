"""The networks of the race, each as a graph file and as a PyTorch module with weights of the same names."""

import os
import sys

import numpy as np
import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
import sequences  # noqa: E402

GRAPH = """<?xml version="1.0" encoding="UTF-8"?>
<graph xmlns="urn:gradloom:graph" version="1" name="{name}">
{inner}
  <train loss="loss" optimizer="{optimizer}" lr="{lr}" batch_size="{batch}" epochs="1" seed="1" precision="{precision}"/>
</graph>
"""
CHAIN = """  <node id="data" op="dataset" source="npy" x="x.npy" y="y.npy"/>
{nodes}
  <node id="loss" op="{loss}"/>
{wires}
  <wire from="{last}" to="loss.input"/>
  <wire from="data.y" to="loss.target"/>"""


def node(name, op, **attributes):
    text = "".join(f' {k}="{v}"' for k, v in attributes.items())
    return f'  <node id="{name}" op="{op}"{text}/>\n'


def wire(a, b):
    return f'  <wire from="{a}" to="{b}"/>\n'


# ---- chains of layers ----


def linear(i, o):
    return ("linear", {"out_features": o}, lambda: nn.Linear(i, o))


def conv(i, o, k, p):
    return ("conv2d", {"out_channels": o, "kernel_size": k, "padding": p}, lambda: nn.Conv2d(i, o, k, padding=p))


def turned(i, o, k, **attributes):
    return ("conv_transpose2d", {"out_channels": o, "kernel_size": k, **attributes}, lambda: nn.ConvTranspose2d(i, o, k, **attributes))


def half(i, o):
    return ("conv2d", {"out_channels": o, "kernel_size": 3, "stride": 2, "padding": 1}, lambda: nn.Conv2d(i, o, 3, stride=2, padding=1))


def norm(c):
    return ("batch_norm2d", {}, lambda: nn.BatchNorm2d(c))


RELU = ("relu", {}, nn.ReLU)
SIGMOID = ("sigmoid", {}, nn.Sigmoid)
POOL = ("max_pool2d", {"kernel_size": 2}, lambda: nn.MaxPool2d(2))
FLAT = ("flatten", {}, nn.Flatten)


def vgg16():
    """VGG-16 (Simonyan and Zisserman 2014, configuration D) for images of 32 x 32: 13 convolutions, 3 linear layers."""
    layers, i = [], 3
    for o in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
        if o == 0:
            layers.append(POOL)
        else:
            layers += [conv(i, o, 3, 1), RELU]
            i = o
    return layers + [FLAT, linear(512, 512), RELU, linear(512, 512), RELU, linear(512, 10)]


def chain(layers):
    """The text of nodes and wires, the last node, and the module."""
    text, last, modules = "", "data.x", []
    for i, (op, attributes, make) in enumerate(layers):
        text += node(f"l{i}", op, **attributes) + wire(last, f"l{i}")
        last = f"l{i}"
        modules.append(make())
    model = nn.Sequential(*modules)
    names = {key: f"l{key}" for key in model.state_dict()}
    return text, last, model, names


# ---- ResNet-18 for images of 32 x 32 (He et al. 2015, with a first layer of 3 x 3 and no pooling after it) ----


class Block(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(i, o, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(o)
        self.conv2 = nn.Conv2d(o, o, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(o)
        self.cut = stride != 1 or i != o
        if self.cut:
            self.conv3 = nn.Conv2d(i, o, 1, stride, bias=False)
            self.bn3 = nn.BatchNorm2d(o)

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (self.bn3(self.conv3(x)) if self.cut else x))


class ResNet18(nn.Module):
    WIDTHS = ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1))

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        self.bn = nn.BatchNorm2d(64)
        widths = [64] + [w for w, _ in self.WIDTHS]
        self.blocks = nn.ModuleList(Block(i, o, s) for i, (o, s) in zip(widths, self.WIDTHS))
        self.fc = nn.Linear(512, 10)

    def forward(self, x):
        x = F.relu(self.bn(self.conv(x)))
        for block in self.blocks:
            x = block(x)
        return self.fc(x.mean((2, 3)))


def resnet18():
    model, text = ResNet18(), ""

    def add(name, op, *sources, **attributes):
        nonlocal text
        text += node(name, op, **attributes)
        for port, source in zip(("input", "other"), sources):
            text += wire(source, f"{name}.{port}")
        return name

    def conv_norm(name, k, source, o, kernel, stride):
        x = add(f"{name}conv{k}", "conv2d", source, out_channels=o, kernel_size=kernel, stride=stride,
                padding=kernel // 2, bias="false")
        return add(f"{name}bn{k}", "batch_norm2d", x)

    x = add("relu", "relu", conv_norm("", "", "data.x", 64, 3, 1))
    for i, (block, (o, stride)) in enumerate(zip(model.blocks, ResNet18.WIDTHS)):
        name = f"b{i}_"
        y = add(f"{name}relu1", "relu", conv_norm(name, 1, x, o, 3, stride))
        y = conv_norm(name, 2, y, o, 3, 1)
        x = add(f"{name}relu2", "relu", add(f"{name}add", "add", y,
                                            conv_norm(name, 3, x, o, 1, stride) if block.cut else x))
    add("fc", "linear", add("mean", "mean", x, dim="2,3"), out_features=10)
    return text, "fc", model, {key: key.replace("blocks.", "b").replace(".conv", "_conv").replace(".bn", "_bn")
                               if key.startswith("blocks.") else key for key in model.state_dict()}


# ---- sequences of characters: the next one is to be said at every place ----


class CharRecurrent(nn.Module):
    def __init__(self, op, characters, width, hidden, layers, both):
        super().__init__()
        self.embed = nn.Embedding(characters, width)
        self.memory = getattr(nn, op.upper())(width, hidden, num_layers=layers, bidirectional=both, batch_first=True)
        self.head = nn.Linear(2 * hidden if both else hidden, characters)

    def forward(self, x):
        return self.head(self.memory(self.embed(x))[0]).transpose(1, 2)


def recurrent(op, layers=1, both=False, characters=65, width=128, hidden=128):
    model = CharRecurrent(op, characters, width, hidden, layers, both)
    text = node("embed", "embedding", num_embeddings=characters, embedding_dim=width) + wire("data.x", "embed")
    text += node("memory", op, hidden_size=hidden, num_layers=layers, bidirectional="true" if both else "false",
                 batch_first="true") + wire("embed", "memory.input")
    text += node("head", "linear", out_features=characters) + wire("memory.output", "head")
    text += node("classes", "transpose", dim0=1, dim1=2) + wire("head", "classes")
    return text, "classes", model, {key: key for key in model.state_dict()}


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.attn_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.c_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = (part.view(n, t, self.heads, c // self.heads).transpose(1, 2)
                   for part in self.c_attn(self.ln_1(x)).split(c, 2))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attn_proj(y.transpose(1, 2).reshape(n, t, c))
        return x + self.c_proj(nn.functional.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class CharGpt(nn.Module):
    def __init__(self, characters, context, width, heads, layers):
        super().__init__()
        self.letters, self.places = nn.Embedding(characters, width), nn.Parameter(0.02 * torch.randn(context, width))
        self.blocks = nn.ModuleList(GptBlock(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, characters, bias=False)

    def forward(self, x):
        x = self.letters(x) + self.places
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)).transpose(1, 2)


def char_gpt(characters=65, context=256, width=384, heads=6, layers=6):
    model = CharGpt(characters, context, width, heads, layers)
    text = node("letters", "embedding", num_embeddings=characters, embedding_dim=width) + wire("data.x", "letters")
    text += node("places", "positional_encoding", kind="learned", max_len=context) + wire("letters", "places")
    last, names = "places", {"places": "places.weight", "letters.weight": "letters.weight"}
    for i in range(layers):
        b = f"b{i}_"
        for op, ident, attributes, source in (
                ("layer_norm", "ln_1", {}, last),
                ("multihead_attention", "attn", {"num_heads": heads, "batch_first": "true", "is_causal": "true"}, b + "ln_1"),
                ("add", "sum1", {}, None), ("layer_norm", "ln_2", {}, b + "sum1"),
                ("linear", "c_fc", {"out_features": 4 * width}, b + "ln_2"),
                ("gelu", "act", {"approximate": "tanh"}, b + "c_fc"),
                ("linear", "c_proj", {"out_features": width}, b + "act"), ("add", "sum2", {}, None)):
            text += node(b + ident, op, **attributes)
            if source is not None:
                text += wire(source, b + ident + (".query" if ident == "attn" else ""))
        text += wire(last, b + "sum1.input") + wire(b + "attn", b + "sum1.other")
        text += wire(b + "sum1", b + "sum2.input") + wire(b + "c_proj", b + "sum2.other")
        last = b + "sum2"
        for own, ours in (("c_attn.weight", "attn.in_proj_weight"), ("c_attn.bias", "attn.in_proj_bias"),
                          ("attn_proj.weight", "attn.out_proj.weight"), ("attn_proj.bias", "attn.out_proj.bias")):
            names[f"blocks.{i}.{own}"] = b + ours
        for layer in ("ln_1", "ln_2", "c_fc", "c_proj"):
            for kind in ("weight", "bias"):
                names[f"blocks.{i}.{layer}.{kind}"] = f"{b}{layer}.{kind}"
    text += node("norm", "layer_norm") + wire(last, "norm")
    text += node("head", "linear", out_features=characters, bias="false") + wire("norm", "head")
    text += node("classes", "transpose", dim0=1, dim1=2) + wire("head", "classes")
    names.update({key: key for key in ("norm.weight", "norm.bias", "head.weight")})
    return text, "classes", model, names


# ---- sentences: the example that translates dates, its module taken from its file ----


def translation():
    """graphs/models/dates-attention.xml: an encoder of both directions, a decoder that looks back at each step."""
    name = "dates-attention"
    text = sequences.nodes(name, {}, SENTENCES["written"])
    return text, sequences.twin(text, name)


SENTENCES = dict(words=88, longest=12, digits=14, written=11)


# ---- the table ----

CIFAR_LAYERS = [conv(3, 32, 3, 1), norm(32), RELU, POOL, conv(32, 64, 3, 1), norm(64), RELU, POOL,
                conv(64, 128, 3, 1), norm(128), RELU, POOL, FLAT, linear(2048, 10)]

WORKLOADS = {
    # Rows of the table of targets: input, classes, batch, optimiser, layers, wanted ratios to eager and to compile. `loose`:
    # PyTorch's own f32 leaves its f64 by that much where batch norm is.
    "iris-mlp-b16": dict(x=(4,), classes=3, batch=16, optimizer="adam", lr=0.001, target=25.0, compiled=5.0, steps=4000,
                         layers=[linear(4, 16), RELU, linear(16, 16), RELU, linear(16, 3)]),
    "mlp-784-128-10-b32": dict(x=(1, 28, 28), classes=10, batch=32, optimizer="adam", lr=0.001, target=2.0, compiled=1.5,
                               steps=1500, layers=[FLAT, linear(784, 128), RELU, linear(128, 10)]),
    "mlp-784-128-10-b128": dict(x=(1, 28, 28), classes=10, batch=128, optimizer="adam", lr=0.001, target=1.5, compiled=1.0,
                                steps=800, layers=[FLAT, linear(784, 128), RELU, linear(128, 10)]),
    "lenet5-b64": dict(x=(1, 28, 28), classes=10, batch=64, optimizer="adam", lr=0.001, target=2.3, compiled=1.8, steps=200,
                       layers=[conv(1, 6, 5, 2), RELU, POOL, conv(6, 16, 5, 0), RELU, POOL, FLAT, linear(400, 120), RELU,
                               linear(120, 84), RELU, linear(84, 10)]),
    "cifar-conv-bn-b64": dict(x=(3, 32, 32), classes=10, batch=64, optimizer="adam", lr=0.001, target=2.5, compiled=2.3,
                              steps=40, loose=5e-3,
                              layers=CIFAR_LAYERS),
    "resnet18-b128": dict(x=(3, 32, 32), classes=10, batch=128, optimizer="sgd", lr=0.01, target=1.6, compiled=1.5, steps=4,
                          batches=2, losses=4, loose=5e-3, build=resnet18),
    # x: whole numbers below `tokens`, a class for each.
    "char-lstm-h128-t64-b32": dict(x=(64,), tokens=65, classes=65, batch=32, optimizer="adam", lr=0.001, target=2.0,
                                   compiled=1.2, steps=60, build=lambda: recurrent("lstm")),
    "char-gru-h128-t64-b32": dict(x=(64,), tokens=65, classes=65, batch=32, optimizer="adam", lr=0.001, target=1.4,
                                  compiled=1.2, steps=60, build=lambda: recurrent("gru")),
    "char-lstm-2-bidirectional": dict(x=(64,), tokens=65, classes=65, batch=32, optimizer="adam", lr=0.001, target=1.4,
                                      compiled=1.2, steps=20, build=lambda: recurrent("lstm", 2, True)),
    "char-gpt-l6-c384-t256-b12": dict(x=(256,), tokens=65, classes=65, batch=12, optimizer="adam", lr=0.0003, target=1.4,
                                      compiled=1.2, steps=3, batches=2, losses=4, loose=1e-4, build=char_gpt),
    # graphs/models/conv-autoencoder.xml, whose target is the picture itself.
    "conv-autoencoder-b64": dict(x=(1, 28, 28), batch=64, optimizer="adam", lr=0.001, target=1.4, compiled=1.1, steps=60, loss="mse_loss",
                                 layers=[half(1, 16), RELU, half(16, 32), RELU, conv(32, 64, 7, 0), turned(64, 32, 7), RELU,
                                         turned(32, 16, 3, stride=2, padding=1, output_padding=1), RELU,
                                         turned(16, 1, 3, stride=2, padding=1, output_padding=1), SIGMOID]),
    "seq2seq-attention-b64": dict(batch=64, optimizer="adam", lr=0.003, target=1.4, compiled=1.1, steps=40, example="dates-attention",
                                  build=translation),
    "vgg16-b64": dict(x=(3, 32, 32), classes=10, batch=64, optimizer="sgd", lr=0.01, target=2.0, compiled=1.8, steps=8,
                      batches=4, losses=20, layers=vgg16()),
    # For a GPU alone: row 4 as it is trained there, and GPT-2's size with a head of its own.
    "cifar-conv-bn-b512": dict(x=(3, 32, 32), classes=10, batch=512, optimizer="adam", lr=0.001, steps=40, loose=5e-3, card=True,
                               batches=4, layers=CIFAR_LAYERS),
    "gpt2-t1024-b8": dict(x=(1024,), tokens=50257, classes=50257, batch=8, optimizer="adam", lr=0.0001, steps=4, batches=2, losses=4,
                          loose=1e-3, card=True, build=lambda: char_gpt(50257, 1024, 768, 12, 12)),
}


def loss_of(work):
    """The loss of a model on a batch."""
    if "example" in work:
        return lambda model, x, y: F.cross_entropy(*sequences.forward(work["example"], model, x, y))
    if work.get("classes", 0) > 1000:
        # In rows of classes, where PyTorch's kernel is at its best.
        return lambda model, x, y: F.cross_entropy(model(x).transpose(1, 2).flatten(0, 1), y.flatten())
    loss = F.mse_loss if work.get("loss") == "mse_loss" else F.cross_entropy
    return lambda model, x, y: loss(model(x), y)


def make_data(work, rng):
    n = work["batch"] * work.get("batches", 16)
    if "example" in work:
        return sequences.batch(work["example"], rng, n, **SENTENCES)
    if "tokens" in work:
        return (rng.integers(0, work["tokens"], (n, *work["x"]), dtype=np.int64), rng.integers(0, work["classes"], (n, *work["x"]), dtype=np.int64))
    if work.get("loss") == "mse_loss":
        x = rng.random((n, *work["x"]), dtype=np.float32)
        return x, x
    return rng.standard_normal((n, *work["x"]), dtype=np.float32), rng.integers(0, work["classes"], n, dtype=np.int64)


def make_case(name, work, folder, precision="f32"):
    x, y = make_data(work, np.random.default_rng(1))
    np.save(os.path.join(folder, "x.npy"), x)
    np.save(os.path.join(folder, "y.npy"), y)
    torch.manual_seed(1)
    if "example" in work:
        inner, model = work["build"]()
        names = {key: key for key in model.state_dict()}
    else:
        text, last, model, names = work["build"]() if "build" in work else chain(work["layers"])
        lines = text.splitlines(keepends=True)
        inner = CHAIN.format(nodes="".join(v for v in lines if "<node" in v).rstrip("\n"), loss=work.get("loss", "cross_entropy"),
                             wires="".join(v for v in lines if "<wire" in v).rstrip("\n"), last=last)
    save_file({names[key]: value.contiguous() for key, value in model.state_dict().items()},
              os.path.join(folder, "weights.safetensors"))
    graph = os.path.join(folder, "graph.xml")
    with open(graph, "w", encoding="utf-8") as f:
        f.write(GRAPH.format(name=name, inner=inner, optimizer=work["optimizer"], lr=work["lr"], batch=work["batch"], precision=precision))
    return graph, x, y, model
