"""Networks for sequences whose training is recorded: example graphs made small, and their twins in PyTorch (twins.py).

The data set becomes one of arrays, x and y. Where the example's has more ports, the graph makes them of the two: y holds what is
read, y_in, and one place later what is to be said; a word 0 of x is padding, which gives the lengths."""

import os
import tempfile
import xml.etree.ElementTree as ElementTree

import numpy as np
import torch

import gradloom_run
from twins import NAMESPACE, TWINS, Attributes

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "graphs", "models")
LETTERS, PLACES, SAMPLES = 11, 24, 8
# Of sentences: words, places of x, digits, places of y.
WORDS, LONGEST, DIGITS, WRITTEN = 17, 9, 7, 6
NAMES = {"lstm": "char-lstm", "seq2seq": "dates-attention", "transformer": "dates-transformer", "gpt": "char-gpt"}
SMALL = {
    "char-lstm": {"letters": dict(num_embeddings=LETTERS, embedding_dim=16), "memory": dict(hidden_size=24), "head": dict(out_features=LETTERS)},
    "dates-attention": {"words": dict(num_embeddings=WORDS, embedding_dim=12), "encoder": dict(hidden_size=10),
                        "written": dict(num_embeddings=DIGITS, embedding_dim=8), "head": dict(out_features=DIGITS),
                        "decoder_step/attention": dict(width=12), "decoder_step/cell": dict(width=20)},
    "dates-transformer": {"words": dict(num_embeddings=WORDS, embedding_dim=16), "written": dict(num_embeddings=DIGITS, embedding_dim=16),
                          **{n: dict(width=16, heads=2, hidden=24, dropout=0) for n in ("encoder", "decoder1", "decoder2")},
                          "head": dict(out_features=DIGITS)},
    "char-gpt": {"letters": dict(num_embeddings=LETTERS, embedding_dim=16), "places": dict(max_len=PLACES),
                 "blocks": dict(width=16, heads=2, dropout=0, repeat=2), "head": dict(out_features=LETTERS)},
}
PAIRS = ("dates-attention", "dates-transformer")


def line(element, inside=""):
    attributes = "".join(f' {k}="{v}"' for k, v in element.attrib.items())
    tag = element.tag.removeprefix(NAMESPACE)
    return f"<{tag}{attributes}>{inside}</{tag}>" if inside else f"<{tag}{attributes}/>"


def ports_from_y(longest):
    """y_in, y and length of a data set that has x and y alone."""
    node, wire = gradloom_run.node, gradloom_run.wire
    text = node("y_in", "narrow", dim=1, start=0, length=longest) + node("y_out", "narrow", dim=1, start=1, length=longest)
    text += node("word", "ne", other=0) + node("counted", "cast", dtype="i64") + node("length", "sum", dim=1)
    return text, wire("data.y", "y_in") + wire("data.y", "y_out") + wire("data.x", "word") + wire("word", "counted") + wire("counted", "length")


def nodes(name, changes, longest=WRITTEN):
    """The example's modules, nodes and wires with other sizes and arrays for data: what stands inside of <graph>."""
    root = ElementTree.parse(os.path.join(MODELS, name + ".xml")).getroot()
    scopes = {"": root} | {m.get("name"): m for m in root.findall(NAMESPACE + "module")}
    for place, attributes in changes.items():
        scope, _, node = place.rpartition("/")
        found = next(e for e in scopes[scope].findall(NAMESPACE + "node") if e.get("id") == node)
        found.attrib.update({k: str(v) for k, v in attributes.items()})
    data = next(e for e in root.findall(NAMESPACE + "node") if e.get("op") == "dataset")
    data.attrib = {"id": "data", "op": "dataset", "source": "npy", "x": "x.npy", "y": "y.npy"}
    before = after = ""
    if name in PAIRS:
        before, after = ports_from_y(longest)
        new = {"data.y_in": "y_in", "data.y": "y_out", "data.length": "length"}
        for wire in root.findall(NAMESPACE + "wire"):
            wire.set("from", new.get(wire.get("from"), wire.get("from")))
    kinds = {k: [e for e in root if e.tag == NAMESPACE + k] for k in ("module", "node", "wire")}
    inner = {m: "".join(line(e) for e in m if e.tag.removeprefix(NAMESPACE) in ("arg", "node", "wire")) for m in kinds["module"]}
    return "".join(line(m, inner[m]) for m in kinds["module"]) + "".join(map(line, kinds["node"])) + before + "".join(map(line, kinds["wire"])) + after


def twin(text, name):
    """The module, made from the small graph itself."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph.xml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(gradloom_run.graph(text))
        return TWINS[name](Attributes(path))


def forward(name, model, x, y):
    """Scores and what is to be said, of x and y as the files have them."""
    if name not in PAIRS:
        return model(x), y
    more = {"length": (x != 0).sum(1)} if name == "dates-attention" else {}
    return model(x, y_in=y[:, :-1], **more), y[:, 1:]


def batch(name, rng, samples=SAMPLES, words=WORDS, longest=LONGEST, digits=DIGITS, written=WRITTEN):
    """x and y of random letters, or of random sentences, whose lengths differ, with what is written for them."""
    if name not in PAIRS:
        text = rng.integers(0, LETTERS, (samples, PLACES + 1), dtype=np.int64)
        return text[:, :-1].copy(), text[:, 1:].copy()
    x = rng.integers(1, words, (samples, longest), dtype=np.int64)
    for row, length in zip(x, rng.integers(2, longest + 1, samples)):
        row[length:] = 0
    return x, rng.integers(0, digits, (samples, written + 1), dtype=np.int64)


class Sequence:
    """One of them as trajectories.Setting is: its data, its nodes, the weights that it starts from."""

    def __init__(self, short):
        self.name_of_model = NAMES[short]
        self.x, self.y = batch(self.name_of_model, np.random.default_rng(11))
        self.nodes = nodes(self.name_of_model, SMALL[self.name_of_model])
        torch.manual_seed(3)
        self.start = {k: v.clone() for k, v in self.make().state_dict().items()}

    def make(self):
        return twin(self.nodes, self.name_of_model)

    def name(self, key):
        return key

    def loss(self, model, x, y):
        return torch.nn.functional.cross_entropy(*forward(self.name_of_model, model, x, y))
