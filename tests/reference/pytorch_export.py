"""Every example graph written by `gradloom export --to pytorch`: the file compiles, loads our weights strictly, and computes the
same outputs, gradients and three losses of training from the same weights and the same batch.

The batch is the first one of Gradloom's. Random numbers of the graph (rand, normal …) are drawn once and given to both. For the
three steps of training the data set is replaced by constants in Gradloom, so that one batch is an epoch, and dropout is off."""

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

try:
    import numpy as np
    import torch
    from safetensors.numpy import load_file, save_file
except ImportError as missing:
    print(f"skipped: {missing}; tests/reference/run installs it")
    sys.exit(77)

from gradloom_run import difference

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "graphs")
NAMESPACE = "{urn:gradloom:graph}"
RANDOM = {"rand", "randn", "randint", "randperm", "bernoulli", "normal", "uniform", "exponential", "multinomial"}
DROPOUT = {"dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"}
SAMPLES, TOLERANCE, TOLERANCE_OF_LOSSES, TOLERANCE_OF_F64 = 4, 2e-5, 2e-5, 1e-9
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
        self.program, self.folder = program, folder
        self.root = ElementTree.parse(path).getroot()
        for element in self.root.iter(NAMESPACE + "node"):
            if element.get("op") == "dataset" and int(element.get("size", 0)) > 64:
                element.set("size", "64")  # pictures of 224 pixels take minutes in f64
        ElementTree.register_namespace("", NAMESPACE[1:-1])
        self.path = os.path.join(folder, "graph.xml")
        ElementTree.ElementTree(self.root).write(self.path, encoding="utf-8", xml_declaration=True)
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

    def typed(self, value, exact):
        """An array as a tensor, floats as f64 if exact."""
        tensor = torch.from_numpy(value)
        return tensor.double() if exact and tensor.is_floating_point() else tensor

    def values(self, module, values, exact):
        """The differences of outputs and gradients, in f64 on `ref` if exact."""
        model = module.make_model(self.at("weights.safetensors")).eval()
        model = model.double() if exact else model
        module.GIVEN.update({p: self.typed(values[p], exact) for p in self.random_nodes()})
        out = model(**{name: self.typed(values[port], exact) for name, port in module.PORTS.items()})
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
        gradloom(self.program, "run", self.path, *feed, *wanted, "--weights", self.at("weights.safetensors"), "--threads", "1",
                 *(("--dtype", "f64", "--device", "ref") if exact else ()))
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
        return worst

    def fixed(self, values, exact):
        """The graph with its data set replaced by frozen parameters, and with dropout off."""
        self.root = ElementTree.parse(self.path).getroot()
        self.train = self.root.find(NAMESPACE + "train")
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
                           ("match", None), ("patience", None), ("monitor", None), ("folds", None), ("drop_last", None), ("batch_size", str(size)),
                           *((("precision", "f64"), ("device", "ref")) if exact else ())):
            self.train.attrib.pop(key, None)
            if value is not None:
                self.train.set(key, value)
        ElementTree.ElementTree(self.root).write(self.at("fixed.xml"), encoding="utf-8", xml_declaration=True)
        save_file({**load_file(self.at("weights.safetensors")), **weights}, self.at("start.safetensors"))
        return size

    def losses(self, module, values, exact):
        """The worst relative difference of the losses of three steps, in f64 on `ref` if exact."""
        size = self.fixed(values, exact)
        run = self.at("exact" if exact else "run")
        gradloom(self.program, "train", self.at("fixed.xml"), "--weights", self.at("start.safetensors"), "--out", run,
                 "--json", "--threads", "1")
        with open(os.path.join(run, "events.jsonl"), encoding="utf-8") as file:
            events = [json.loads(line) for line in file]
        ours = [e["loss"] for e in events if "lr" in e and "loss" in e][:3]
        model = module.make_model(self.at("weights.safetensors"))
        model = model.double() if exact else model
        for part in model.modules():
            if isinstance(part, (torch.nn.modules.dropout._DropoutNd)):
                part.p = 0.0
            if isinstance(part, torch.nn.MultiheadAttention):
                part.dropout = 0.0
        samples = {port: self.typed(v, exact) for port, v in values.items() if port in module.PORTS.values()}
        module.batches = lambda data, *_, **__: iter([{name: data[port] for name, port in module.PORTS.items()}])
        theirs = module.train(model, samples, epochs=3, batch_size=size, report=lambda *_: None)
        evaluated = module.evaluate(model, samples, size)
        if not all(np.isfinite(v).all() for v in evaluated.values()):
            raise ValueError(f"evaluation is {evaluated}")
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
    f32 = compared(lambda exact: max(this.values(module, values, exact).items(), key=lambda item: item[1], default=("nothing", 0.0)))
    if this.train is None:
        return f32
    if this.random_nodes():
        return f32 + "; random numbers differ from step to step"
    return f32 + "; " + compared(lambda exact: ("three losses", this.losses(module, values, exact)), TOLERANCE_OF_LOSSES)


def compared(difference_of, tolerance=TOLERANCE):
    """In words. In deep nets a value near a kink is on another side in f32, in PyTorch's own too: then f64 decides."""
    place, off = difference_of(False)
    if off <= tolerance:
        return f"{place} within {off:.1e}"
    torch.set_default_dtype(torch.float64)
    try:
        exact_place, exact = difference_of(True)
    finally:
        torch.set_default_dtype(torch.float32)
    if not exact <= TOLERANCE_OF_F64:
        raise ValueError(f"{place} is off by {off:.2g} in f32, {exact_place} by {exact:.2g} in f64")
    return f"{exact_place} within {exact:.1e} in f64 ({off:.1e} in f32)"


SCHEDULED = """<graph xmlns="urn:gradloom:graph" version="1" name="scheduled">
<node id="data" op="dataset" source="spirals" n="64" n_test="1"/><node id="fc" op="linear" out_features="2"/>
<node id="loss" op="cross_entropy"/><wire from="data.x" to="fc"/><wire from="fc" to="loss.input"/><wire from="data.y" to="loss.target"/>
<train loss="loss" optimizer="sgd" lr="0.02" momentum="0.9" batch_size="8" epochs="3" seed="1">%s</train></graph>"""
CYCLIC = '<schedule type="cyclic" base_lr="0.01" max_lr="0.1" step_size_up="5" step_size_down="3" %s/>'
ONE_CYCLE = '<schedule type="one_cycle" max_lr="0.1" %s/>'
CONSTANT = '<schedule type="constant" factor="0.5" total_iters="3"/>'
SEQUENTIAL = '<schedule type="sequential" milestones="6,14">%s</schedule>'
# A schedule, and what PyTorch's own scheduler of that optimiser is for it; None: it has none with these parts.
SCHEDULES = [
    (CYCLIC % "", lambda o: torch.optim.lr_scheduler.CyclicLR(o, 0.01, 0.1, 5, 3)),
    (CYCLIC % 'mode="triangular2"', lambda o: torch.optim.lr_scheduler.CyclicLR(o, 0.01, 0.1, 5, 3, mode="triangular2")),
    (CYCLIC % 'mode="exp_range" gamma="0.9" cycle_momentum="false"',
     lambda o: torch.optim.lr_scheduler.CyclicLR(o, 0.01, 0.1, 5, 3, mode="exp_range", gamma=0.9, cycle_momentum=False)),
    ('<schedule type="cyclic" max_lr="0.1" step_size_up="4"/>', lambda o: torch.optim.lr_scheduler.CyclicLR(o, 0.02, 0.1, 4)),
    (ONE_CYCLE % "", lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=24)),
    (ONE_CYCLE % 'three_phase="true" anneal_strategy="linear"',
     lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=24, three_phase=True, anneal_strategy="linear")),
    (SEQUENTIAL % (CONSTANT + ONE_CYCLE % "" + CYCLIC % ""), None),
    (SEQUENTIAL % (CYCLIC % "" + CONSTANT + ONE_CYCLE % 'cycle_momentum="false"'), None),
]


def schedule(program, number, folder):
    """Rates of the exported file are those of a run, and both, with momenta, those of PyTorch's scheduler."""
    text, scheduler = SCHEDULES[number]
    path = os.path.join(folder, "scheduled.xml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SCHEDULED % text)
    gradloom(program, "train", path, "--out", os.path.join(folder, "run"), "--threads", "1")
    with open(os.path.join(folder, "run", "events.jsonl"), encoding="utf-8") as file:
        ours = [e["lr"] for e in map(json.loads, file) if e["event"] == "step"]
    exported = os.path.join(folder, "exported.py")
    with open(exported, "w", encoding="utf-8") as file:
        file.write(export(program, path, exported))
    module = load(exported)
    optimizers = [torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.02, momentum=0.9) for _ in range(2)]
    steps = scheduler(optimizers[1]) if scheduler else None
    worst = 0.0
    for step, lr in enumerate(ours):
        module.set_rates(optimizers[0], step, len(ours), 8)
        here, there = (o.param_groups[0] for o in optimizers)
        worst = max(worst, abs(here["lr"] - lr) / max(lr, 1e-12))
        if steps:
            worst = max(worst, abs(here["lr"] - there["lr"]) / there["lr"], abs(here["momentum"] - there["momentum"]))
            optimizers[1].step()
            steps.step()
    if len(ours) != 24 or worst > 1e-6:
        raise ValueError(f"{len(ours)} rates, off by {worst:.2g}")
    return f"24 rates within {worst:.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--only", default="", help="graphs whose name contains this")
    parser.add_argument("--without", default="", help="names of graphs to leave out, separated by commas")
    args = parser.parse_args()
    torch.set_num_threads(1)
    without = args.without.split(",")
    paths = [os.path.join(ROOT, kind, name) for kind in ("lessons", "models") for name in sorted(os.listdir(os.path.join(ROOT, kind)))
             if name.endswith(".xml") and args.only in name and name[:-4] not in without]
    failed = 0
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            try:
                print(f"{os.path.basename(path)[:-4]:24}", check(args.program, path, folder), flush=True)
            except Exception as error:  # one graph's fault does not hide the others'
                failed += 1
                print(f"{os.path.basename(path)[:-4]:24} failed: {type(error).__name__}: {error}", flush=True)
    for number in range(len(SCHEDULES)) if args.only in "schedules" else ():
        with tempfile.TemporaryDirectory() as folder:
            try:
                print(f"schedule {number:<15}", schedule(args.program, number, folder), flush=True)
            except Exception as error:
                failed += 1
                print(f"schedule {number:<15} failed: {type(error).__name__}: {error}", flush=True)
    number = len(paths) + (len(SCHEDULES) if args.only in "schedules" else 0)
    print(f"exported to PyTorch: {number - failed} graphs and schedules agree, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
