"""Every example graph written by `gradloom export --to pytorch`: the file compiles, loads our weights strictly, and computes the
same outputs, gradients and three losses of training from the same weights and the same batch.

The batch is the first one of Gradloom's. Random numbers of the graph (rand, normal …) are drawn once and given to both. For the
three steps of training the data set is replaced by constants in Gradloom, so that one batch is an epoch, and dropout is off."""

import argparse
import copy
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "graphs")
NAMESPACE = "{urn:gradloom:graph}"
RANDOM = {"rand", "randn", "randint", "randperm", "bernoulli", "normal", "uniform", "exponential", "multinomial"}
DROPOUT = {"dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"}
SAMPLES, TOLERANCE, TOLERANCE_OF_LOSSES = 4, 2e-5, 2e-4
# Gigabytes; gpt2.py compares a small one with the library that it comes from.
LARGE = ("gpt2",)


def gradloom(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, env={**os.environ, "GRADLOOM_CPU_DEVICES": "2"})
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or done.stdout.strip())
    return done.stdout


def export(program, path, to):
    text = gradloom(program, "export", path, "--to", "pytorch", "-o", "-")
    compile(text, to, "exec")
    return text


def load(path):
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shape_of(text, symbols):
    return [int(d) if re.fullmatch(r"-?\d+", d.strip()) else symbols[d.strip()] for d in text.split(",") if d.strip()]


class Check:
    """One graph."""

    def __init__(self, program, path, folder):
        self.program, self.path, self.folder = program, path, folder
        self.root = ElementTree.parse(path).getroot()
        self.nodes = {e.get("id"): e for e in self.root.findall(NAMESPACE + "node")}
        self.train = self.root.find(NAMESPACE + "train")

    def at(self, name):
        return os.path.join(self.folder, name)

    def random_nodes(self):
        return [i for i, e in self.nodes.items() if e.get("op") in RANDOM]

    def has_random_bodies(self):
        return any(e.get("op") in RANDOM for m in self.root.findall(NAMESPACE + "module") for e in m.iter(NAMESPACE + "node"))

    def make(self):
        """Writes and loads the file, with random nodes of the graph given from outside."""
        text = export(self.program, self.path, self.at("exported.py"))
        for name in self.random_nodes():
            text, n = re.subn(rf"(?m)^(\s+){name} = .*$", rf'\1{name} = GIVEN["{name}"]', text)
            assert n == 1, name
        with open(self.at("given.py"), "w", encoding="utf-8") as file:
            file.write("GIVEN = {}\n" + text)
        return load(self.at("given.py"))

    def batch(self, module):
        """Our first batch and random numbers, cut to a few samples; saves our weights."""
        ports = list(module.PORTS.values())
        made = [p for p in [*ports, *self.random_nodes()] if self.nodes[p.partition(".")[0]].get("op") != "input"]
        wanted = [a for i, p in enumerate(made) for a in ("--out", f"{p}={self.at(f'first{i}.npy')}")]
        gradloom(self.program, "run", self.path, *wanted, "--save-weights", self.at("weights.safetensors"))
        values = {p: np.load(self.at(f"first{i}.npy")) for i, p in enumerate(made)}
        size = len(values[ports[0]]) if ports and ports[0] in values else None
        values = {p: v[:SAMPLES] if v.ndim and len(v) == size else v for p, v in values.items()}
        for p in ports:
            node = self.nodes[p.partition(".")[0]]
            if node.get("op") == "input":
                shape = shape_of(node.get("shape", ""), dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZ", SAMPLES))
                values[p] = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        return values

    def values(self, module, values):
        """The worst difference of outputs and gradients."""
        model = module.make_model(self.at("weights.safetensors")).eval()
        module.GIVEN.update({p: torch.from_numpy(values[p]) for p in self.random_nodes()})
        out = model(**{name: torch.from_numpy(values[port]) for name, port in module.PORTS.items()})
        feed, wanted, worst = [], [], {}
        for i, (port, value) in enumerate(values.items()):
            np.save(self.at(f"in{i}.npy"), value)
            feed += ["--in", f"{port}={self.at(f'in{i}.npy')}"]
        asked = [p for p in out if p not in values]
        for i, port in enumerate(asked):
            wanted += ["--out", f"{port}={self.at(f'out{i}.npy')}"]
        loss = module.LOSS if self.train is not None else None
        if loss:
            wanted += ["--grad", loss, "--grads", self.at("grads.safetensors")]
        gradloom(self.program, "run", self.path, *feed, *wanted, "--weights", self.at("weights.safetensors"), "--threads", "1")
        exact = copy.deepcopy(model).double()
        module.GIVEN.update({p: g.double() if g.is_floating_point() else g for p, g in module.GIVEN.items()})
        for i, port in enumerate(asked):
            worst[port] = difference(np.load(self.at(f"out{i}.npy")), out[port].detach().numpy())
        if loss:
            trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
            found = torch.autograd.grad(out[loss], list(trained.values()), allow_unused=True)
            theirs = {n: torch.zeros_like(p) if g is None else g for (n, p), g in zip(trained.items(), found)}
            ours = {n: g for n, g in load_file(self.at("grads.safetensors")).items() if ":" not in n}
            scale = max((float(np.abs(g).max()) for g in ours.values() if g.size), default=1.0)
            for name, g in theirs.items():
                if name in ours:
                    worst[f"gradient of {name}"] = difference(ours[name], g.numpy(), floor=max(1e-2 * scale, 1e-6))
            if max(worst.values()) > TOLERANCE:
                self.forgive(module, exact, values, theirs, ours, worst, scale)
        return worst

    def forgive(self, module, exact, values, theirs, ours, worst, scale):
        """In deep nets a value near a kink is on another side in f32: PyTorch's own f32 is then as far from its f64."""
        torch.set_default_dtype(torch.float64)
        try:
            given = {name: torch.from_numpy(values[port]) for name, port in module.PORTS.items()}
            out = exact(**{k: v.double() if v.is_floating_point() else v for k, v in given.items()})
            names = list(theirs)
            found = torch.autograd.grad(out[module.LOSS], [exact.get_parameter(n) for n in names], allow_unused=True)
        finally:
            torch.set_default_dtype(torch.float32)
        floor = max(1e-2 * scale, 1e-6)
        own = max(difference(theirs[n].numpy(), g.numpy(), floor=floor) for n, g in zip(names, found) if g is not None)
        for n, g in zip(names, found):
            if g is not None and n in ours and difference(ours[n], g.numpy(), floor=floor) <= 4 * own:
                worst[f"gradient of {n}"] = 0.0

    def fixed(self, values):
        """The graph with its data set replaced by frozen parameters, and with dropout off."""
        size = next((len(v) for p, v in values.items() if "." in p), SAMPLES)
        weights, wires = {}, {}
        for element in self.root.iter(NAMESPACE + "node"):
            for key in ("shape",):
                if element.get(key) and "{" not in element.get(key) and element.get("op") != "input":
                    element.set(key, re.sub(r"\bB\b", str(size), element.get(key)))
            if element.get("op") in DROPOUT:
                element.set("p", "0")
            if element.get("op") == "multihead_attention" and element.get("dropout"):
                element.set("dropout", "0")
            if element.get("stateful"):
                element.set("stateful", "false")
        place = [i for i, e in enumerate(self.root) if e.tag == NAMESPACE + "node"][0]
        for port, value in values.items():
            name = "given_" + port.replace(".", "_")
            node = ElementTree.Element(NAMESPACE + "node", id=name, op="parameter", frozen="true",
                                       shape=",".join(map(str, value.shape)))
            self.root.insert(place, node)
            weights[name], wires[port] = value.astype(np.float32), name
            if value.dtype != np.float32:
                kind = {"int64": "i64", "int32": "i32", "uint8": "u8", "bool": "bool"}[str(value.dtype)]
                self.root.insert(place, ElementTree.Element(NAMESPACE + "node", id=name + "_cast", op="cast", dtype=kind))
                first = [i for i, e in enumerate(self.root) if e.tag == NAMESPACE + "wire"][0]
                self.root.insert(first, ElementTree.Element(NAMESPACE + "wire", {"from": name, "to": name + "_cast"}))
                wires[port] = name + "_cast"
        outside = {p.partition(".")[0] for p in values}
        for element in list(self.root):
            if element.tag == NAMESPACE + "node" and element.get("id") in outside:
                self.root.remove(element)
            if element.tag == NAMESPACE + "wire" and element.get("to").partition(".")[0] in outside:
                self.root.remove(element)
            elif element.tag == NAMESPACE + "wire":
                element.set("from", wires.get(element.get("from"), element.get("from")))
            if element.tag in (NAMESPACE + "layout", NAMESPACE + "view", NAMESPACE + "lesson"):
                self.root.remove(element)
        for element in list(self.train):
            if element.tag in (NAMESPACE + "metric", NAMESPACE + "parallel"):
                self.train.remove(element)
        for key, value in (("epochs", "3"), ("accumulate", "1"), ("sample_weights", None), ("lr_batch_size", None), ("weights", None),
                           ("match", None), ("patience", None), ("monitor", None), ("folds", None), ("drop_last", None), ("batch_size", str(size))):
            self.train.attrib.pop(key, None)
            if value is not None:
                self.train.set(key, value)
        ElementTree.register_namespace("", NAMESPACE[1:-1])
        ElementTree.ElementTree(self.root).write(self.at("fixed.xml"), encoding="utf-8", xml_declaration=True)
        save_file({**load_file(self.at("weights.safetensors")), **weights}, self.at("start.safetensors"))
        return size

    def losses(self, module, values):
        """The worst relative difference of the losses of three steps."""
        size = self.fixed(values)
        gradloom(self.program, "train", self.at("fixed.xml"), "--weights", self.at("start.safetensors"), "--out", self.at("run"),
                 "--json", "--threads", "1")
        with open(self.at("run/events.jsonl"), encoding="utf-8") as file:
            events = [json.loads(line) for line in file]
        ours = [e["loss"] for e in events if "lr" in e and "loss" in e][:3]
        model = module.make_model(self.at("weights.safetensors"))
        for part in model.modules():
            if isinstance(part, (torch.nn.modules.dropout._DropoutNd)):
                part.p = 0.0
            if isinstance(part, torch.nn.MultiheadAttention):
                part.dropout = 0.0
        samples = {port: torch.from_numpy(v) for port, v in values.items() if port in module.PORTS.values()}
        module.batches = lambda data, *_, **__: iter([{name: data[port] for name, port in module.PORTS.items()}])
        theirs = module.train(model, samples, epochs=3, batch_size=size, report=lambda *_: None)
        values = module.evaluate(model, samples, size)
        if not all(np.isfinite(v).all() for v in values.values()):
            raise ValueError(f"evaluation is {values}")
        if len(ours) != 3 or len(theirs) != 3:
            raise ValueError(f"{len(ours)} and {len(theirs)} losses")
        return max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(ours, theirs))


def check(program, path, folder):
    this = Check(program, path, folder)
    module = this.make()
    if os.path.basename(path)[:-4] in LARGE:
        return "compiles; too large for this test"
    values = this.batch(module)
    if this.has_random_bodies():
        module.make_model(this.at("weights.safetensors"))
        return "weights load; random numbers in a loop differ"
    worst = this.values(module, values)
    place = max(worst, key=worst.get, default=None)
    if place is not None and not worst[place] <= TOLERANCE:
        raise ValueError(f"{place} is off by {worst[place]:.2g}")
    said = f"{len(worst)} values within {worst[place]:.1e}" if place else "weights load"
    if this.train is None:
        return said
    if this.random_nodes():
        return said + "; random numbers differ from step to step"
    off = this.losses(module, values)
    if not off <= TOLERANCE_OF_LOSSES:
        raise ValueError(f"{said}; losses are off by {off:.2g}")
    return said + f", three losses {off:.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--only", default="", help="graphs whose name contains this")
    args = parser.parse_args()
    torch.set_num_threads(1)
    paths = [os.path.join(ROOT, kind, name) for kind in ("lessons", "models") for name in sorted(os.listdir(os.path.join(ROOT, kind)))
             if name.endswith(".xml") and args.only in name]
    failed = 0
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            try:
                print(f"{os.path.basename(path)[:-4]:24}", check(args.program, path, folder), flush=True)
            except Exception as error:  # one graph's fault does not hide the others'
                failed += 1
                print(f"{os.path.basename(path)[:-4]:24} failed: {type(error).__name__}: {error}", flush=True)
    print(f"exported to PyTorch: {len(paths) - failed} graphs agree, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        import numpy as np
        import torch
    except ImportError as missing:
        print(f"skipped: {missing}; tests/reference/run installs it")
        sys.exit(77)
    from safetensors.numpy import load_file, save_file

    from gradloom_run import difference
    sys.exit(main())
