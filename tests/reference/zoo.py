"""Public architectures of torchvision, timm and transformers, with random weights, as PyTorch's default exporter writes
them. Each network that PyTorch exports must

  import   with an open batch, in 2 s of processor time and 3 times the file's size of memory above the program's own;
  agree    with PyTorch's output for another batch than the exported one, within 1e-5 of its largest number, or as close
           to the output in f64 as twice PyTorch's own distance from it;
  fit      the original state dict: with its file as the weights the output is the same;
  train    three steps of SGD with PyTorch's losses, from a second export in training mode that keeps batch norm; where
           steps magnify rounding errors, as close to the losses in f64 as twice the largest distance of PyTorch's own, with
           the weights as they are and changed by rounding errors;
  load     into PyTorch: the trained weights, exported as safetensors, by load_state_dict(strict=True), with the output of
           PyTorch's own, or as close to that of f64 in the same way;
  return   as ONNX, with the same output from onnxruntime.

  zoo.py --program gradloom [--only REGEX] [--rows FILE] [--keep FOLDER]

--rows appends a line for each network as soon as it is done, and skips those that are there. --keep leaves the files of
networks that fail. --summary FILE counts the lines of such a file. No weights are downloaded. One thread is used."""

import argparse
import contextlib
import copy
import io
import logging
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import warnings
import xml.etree.ElementTree as ElementTree

import numpy as np
import onnxruntime
import torch
from safetensors.torch import load_file, save_file

import zoo_nets

SPACE = "urn:gradloom:graph"
TOLERANCE = 1e-5
TRAINING_TOLERANCE = 1e-4  # of a loss after steps that magnify rounding errors
LOADED_TOLERANCE = 5e-3  # of the output of a network that has been trained so
CHANGES = 3  # runs of PyTorch with weights that are changed by rounding errors
SECONDS, OWN_MEMORY = 2, 60e6
STAGES = ("import", "agree", "fit", "train", "load", "return")
MEASURE = ("import resource, subprocess, sys; status = subprocess.run(sys.argv[1:]).returncode; "
           "used = resource.getrusage(resource.RUSAGE_CHILDREN); "
           "print('measured', used.ru_utime + used.ru_stime, used.ru_maxrss * 1024); sys.exit(status)")


class Failed(Exception):
    pass


def gradloom(program, *words):
    done = subprocess.run([sys.executable, "-c", MEASURE, program, *words], capture_output=True, text=True, timeout=900)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if ": warning: " not in line]
        raise Failed(f"{words[0]}: {' '.join(lines) or done.returncode}")
    return done.stdout + done.stderr


def without_dropout(net):
    for module in net.modules():
        for field in ("p", "drop_prob", "drop_rate", "dropout", "dropout_rate", "attention_dropout", "activation_dropout", "dropout_prob",
                      "attn_dropout", "resid_dropout", "attn_pdrop", "resid_pdrop"):
            if isinstance(getattr(module, field, None), float):
                setattr(module, field, 0.0)
    return net


def revive(net, x):
    """Replaces zeros that would hide what follows them, and takes the statistics of batch norms from `x`, so that signals
    have the size that they have in a trained network."""
    norms = [m for m in net.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    with torch.no_grad():
        for parameter in net.parameters():
            if parameter.ndim > 0 and not parameter.any():
                parameter.normal_(0, 0.02)
        momenta = [norm.momentum for norm in norms]
        for norm in norms:
            norm.momentum = None
        if norms:
            net.train()
            net(x)
            net.eval()
        for norm, momentum in zip(norms, momenta):
            norm.momentum = momentum
    return net


def first(value):
    """The first tensor that a network returns."""
    if isinstance(value, torch.Tensor):
        return value
    values = value.values() if isinstance(value, dict) else value
    return next(first(v) for v in values if v is not None)


def export(net, x, path, **options):
    """Returns the exported program."""
    shapes = ({0: torch.export.Dim("batch")},)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        return torch.onnx.export(net, (x,), path, dynamo=True, dynamic_shapes=shapes, verbose=False, **options).exported_program


def three_steps(net, x, rate):
    """The losses of three steps of SGD, by which the network is trained."""
    losses, optimiser = [], torch.optim.SGD(net.parameters(), lr=rate)
    for _ in range(3):
        loss = first(net(x)).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def changed(net):
    """A copy whose weights differ by an error of rounding."""
    net = copy.deepcopy(net)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.mul_(1 + torch.finfo(torch.float32).eps * torch.randn_like(parameter))
    return net


def difference(ours, theirs):
    if ours.shape != theirs.shape or not np.isfinite(ours).all():
        return np.inf
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options)


def close(ours, theirs, tolerance=TOLERANCE):
    off = difference(ours, theirs)
    if not off <= tolerance:
        raise Failed(f"off by {off:.1e}")
    return f"{off:.1e}"


class Subject:
    """One network in a folder of its own."""

    def __init__(self, program, name, folder):
        self.program, self.folder, self.ports = program, folder, {}
        make, self.example, self.tokens = zoo_nets.models()[name]
        torch.manual_seed(1)
        self.net = revive(make().eval(), self.example(4))
        self.x = self.example(3)
        with torch.no_grad():
            self.y = first(self.net(self.x)).numpy()
        np.save(self.path("x.npy"), self.x.numpy())

    def path(self, name):
        return os.path.join(self.folder, name)

    def export(self):
        self.program_of = {"m": export(self.net, self.example(2), self.path("m.onnx"))}
        if isinstance(session(self.path("m.onnx")).get_inputs()[0].shape[0], int):
            raise RuntimeError("the exporter fixes the batch")

    def read(self, name):
        """Imports NAME.onnx; keeps the ports and returns what was printed."""
        said = gradloom(self.program, "import", self.path(name + ".onnx"), "-o", self.path(name + ".xml"))
        self.ports[name] = [re.search(rf"^{word} ([^:]*):", said, re.M)[1] for word in ("input", "output")]
        return said

    def import_(self):
        said = self.read("m")
        self.is_folded = "dynamo=True, optimize=False" in said
        seconds, memory = map(float, re.search(r"^measured (\S+) (\S+)$", said, re.M).groups())
        size = sum(os.path.getsize(self.path(f)) for f in ("m.onnx", "m.onnx.data") if os.path.exists(self.path(f)))
        times = max(0, memory - OWN_MEMORY) / size
        what = f"{seconds:.1f} s, {times:.1f} times {size / 1e6:.0f} MB"
        if seconds > SECONDS or times > 3:
            raise Failed(what)
        return what

    def close(self, ours):
        off = difference(ours, self.y)
        if off <= TOLERANCE or not np.isfinite(off):
            return close(ours, self.y)
        with torch.no_grad():
            exact = first(copy.deepcopy(self.net).double()(self.x if self.tokens else self.x.double())).numpy()
        own = difference(self.y, exact)
        return f"{close(ours, exact, max(TOLERANCE, 2 * own))} from f64, PyTorch {own:.1e}"

    def run(self, name, weights):
        source, sink = self.ports[name]
        gradloom(self.program, "run", self.path(name + ".xml"), "--weights", self.path(weights), "--in", f"{source}={self.path('x.npy')}",
                 "--out", f"{sink}={self.path('y.npy')}")
        return self.close(np.load(self.path("y.npy")))

    def calculate(self, name):
        """What onnxruntime computes for x."""
        model = session(self.path(name))
        return model.run(None, {model.get_inputs()[0].name: self.x.numpy()})[0]

    def agree(self):
        try:
            return self.run("m", "m.safetensors")
        except Failed as error:  # the exporter may have changed the network
            raise Failed(f"{error}, onnxruntime by {difference(self.calculate('m.onnx'), self.y):.1e}") from None

    def fit(self):
        """Into the default export, or into the second one if the import says that the first lacks weights with which the
        exporter has computed (batch norm, rows of a table). Tensors that share memory are stored once, with their other
        names in the metadata, as save_model of safetensors does."""
        tensors, seen, aliases = {}, {}, {}
        for name, tensor in self.net.state_dict().items():
            if tensor.data_ptr() not in seen or tensor.numel() == 0:
                tensors[name] = tensor.contiguous()
                seen[tensor.data_ptr()] = name
            else:
                aliases[name] = seen[tensor.data_ptr()]
        save_file(tensors, self.path("original.safetensors"), aliases)
        if self.is_folded:
            self.export_training()
        return self.run("t" if self.is_folded else "m", "original.safetensors")

    def export_training(self):
        """In training mode, if batch norm or folding makes a difference; else training begins with the first export."""
        if "t" in self.ports:
            return
        self.trained = without_dropout(copy.deepcopy(self.net)).train()
        if self.is_folded or any(isinstance(m, torch.nn.modules.batchnorm._BatchNorm) for m in self.net.modules()):
            self.program_of["t"] = export(self.trained, self.example(2), self.path("t.onnx"), optimize=False)
            self.read("t")
            return
        self.program_of["t"], self.ports["t"] = self.program_of["m"], self.ports["m"]
        for suffix in ("xml", "safetensors"):
            shutil.copy(self.path(f"m.{suffix}"), self.path(f"t.{suffix}"))

    def unread(self):
        """The names of weights that no node of the exported program reads."""
        program = self.program_of["t"]
        read = {node.name for node in program.graph.nodes if node.op == "placeholder" and node.users}
        return {spec.target for spec in program.graph_signature.input_specs
                if spec.target in self.trained.state_dict() and spec.arg.name not in read}

    def train(self):
        self.export_training()
        x, rate = self.example(4), 1e-2
        before = copy.deepcopy(self.trained)
        np.save(self.path("t.npy"), x.numpy())
        theirs = three_steps(self.trained, x, rate)
        self.add_training(*self.ports["t"], rate, len(x))
        lines = gradloom(self.program, "train", self.path("t.xml"), "--out", self.path("run"), "--threads=1", "--history=0", "--json")
        ours = [float(v) for v in re.findall(r'"event": *"step".*?"loss": *([^,}]*)', lines)]
        if len(ours) != len(theirs):
            raise Failed(f"{len(ours)} steps")
        off = max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(ours, theirs))
        self.nets = []
        if off <= TRAINING_TOLERANCE:
            return f"{off:.1e}"
        self.nets = [copy.deepcopy(before).double()] + [changed(before) for _ in range(CHANGES)]
        exact, *others = (three_steps(net, x if self.tokens else x.to(next(net.parameters()).dtype), rate) for net in self.nets)
        off, *own = (max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(losses, exact)) for losses in (ours, theirs, *others))
        if not off <= max(TRAINING_TOLERANCE, 2 * max(own)):
            raise Failed(f"losses {ours}, PyTorch's {theirs}, in f64 {exact}, changed {others}")
        return f"{off:.1e} from f64, PyTorch {max(own):.1e}"

    def add_training(self, source, sink, rate, batch):
        """Feeds the graph from an array and adds the mean square of its output as the loss."""
        ElementTree.register_namespace("", SPACE)
        tree = ElementTree.parse(self.path("t.xml"))
        graph = tree.getroot()
        node = next(n for n in graph.iter(f"{{{SPACE}}}node") if n.get("id") == source and n.get("op") == "input")
        node.attrib.clear()
        node.attrib.update(id=source, op="dataset", source="npy", x="t.npy")
        for n in graph.findall(f"{{{SPACE}}}wire"):
            if n.get("from") == source:
                n.set("from", source + ".x")
        wire = next(n for n in graph.findall(f"{{{SPACE}}}wire") if n.get("to") == sink)
        place = list(graph).index(wire)
        for tag, values in (("wire", {"from": wire.get("from"), "to": "loss_square"}), ("wire", {"from": "loss_square", "to": "loss_mean"}),
                            ("node", {"id": "loss_mean", "op": "mean"}), ("node", {"id": "loss_square", "op": "square"})):
            graph.insert(place if tag == "node" else place + 1, ElementTree.Element(f"{{{SPACE}}}{tag}", values))
        for n in graph.findall(f"{{{SPACE}}}train"):
            graph.remove(n)
        place = min([i for i, n in enumerate(graph) if n.tag == f"{{{SPACE}}}layout"] or [len(graph)])
        graph.insert(place, ElementTree.Element(f"{{{SPACE}}}train", {
            "loss": "loss_mean", "optimizer": "sgd", "lr": str(rate), "batch_size": str(batch), "epochs": "3", "weights": "t.safetensors"}))
        tree.write(self.path("t.xml"), encoding="UTF-8", xml_declaration=True)

    def load(self):
        """Only weights may be missing that no node of the program reads, or that the loss does not reach."""
        gradloom(self.program, "export", self.path("run"), "--to", "safetensors", "-o", self.path("back.safetensors"))
        ours, theirs = load_file(self.path("back.safetensors")), self.trained.state_dict()
        net, apart = copy.deepcopy(self.trained), {name for name, p in self.trained.named_parameters() if p.grad is None}
        state = type(theirs)({**{name: theirs[name] for name in self.unread() | apart}, **ours})
        state._metadata = theirs._metadata  # MNASNet asks for its version
        net.load_state_dict(state, strict=True)
        with torch.no_grad():
            y, right, *others = (first(n.eval()(self.x if self.tokens else self.x.to(next(n.parameters()).dtype))).numpy()
                                 for n in (net, self.trained, *self.nets))
            if not others:
                return close(y, right, LOADED_TOLERANCE)
            exact, own = others[0], max(difference(other, others[0]) for other in (right, *others[1:]))
            return f"{close(y, exact, max(LOADED_TOLERANCE, 2 * own))} from f64, PyTorch {own:.1e}"

    def return_(self):
        gradloom(self.program, "export", self.path("m.xml"), "--weights", self.path("m.safetensors"), "--to", "onnx",
                 "-o", self.path("r.onnx"))
        return self.close(self.calculate("r.onnx"))


def check(program, name, keep):
    """Returns a word for each stage; after an import that failed, the others are not tried."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            subject = Subject(program, name, folder)
            subject.export()
        except Exception as error:  # whatever the library raises: such a network is not counted
            return None, " ".join(str(error).split())[:160]
        words = {}
        for stage in STAGES:
            try:
                words[stage] = "ok " + getattr(subject, stage + "_" * (stage in ("import", "return")))()
            except Exception as error:
                words[stage] = "WRONG " + " ".join(str(error).split())[:300]
                if stage == "import" and not "m" in subject.ports:
                    break
        if keep and any(words.get(stage, "")[:2] != "ok" for stage in STAGES):
            shutil.copytree(folder, os.path.join(keep, name), dirs_exist_ok=True)
        return words, ""


def summary(path):
    """Counts what the lines of a file say."""
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    rows = [line[1:] for line in lines if len(line) == len(STAGES) + 1]
    print(f"{len(rows)} networks exported by PyTorch, {len(lines) - len(rows)} not:",
          ", ".join(f"{sum(row[i].startswith('ok') for row in rows)} {stage}" for i, stage in enumerate(STAGES)))
    measured = [tuple(map(float, m)) for row in rows for m in re.findall(r"^\S+ (\S+) s, (\S+) times", row[0])]
    print(f"import takes {statistics.median(m[0] for m in measured)} s, at most {max(m[0] for m in measured)}; "
          f"{statistics.median(m[1] for m in measured)} times the file's size, at most {max(m[1] for m in measured)}")
    off = [float(row[1].split()[1]) for row in rows if row[1].startswith("ok")]
    print(f"off by {statistics.median(off):.1e} in the median")
    for line in lines:
        for stage, word in zip(STAGES, line[1:]):
            if not word.startswith("ok") and word != "-":
                print(f"{line[0]}, {stage}: {word}")


def in_turn(names):
    """One of each library after the other, so that the first rows of a run are of all kinds."""
    groups = [[n for n in names if n.startswith(prefix)] for prefix in dict.fromkeys(n.partition("/")[0] for n in names)]
    return sorted(names, key=lambda n: next(g.index(n) / len(g) for g in groups if n in g))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", help="gradloom")
    parser.add_argument("--only", default="", help="networks whose name has a match of this regular expression")
    parser.add_argument("--rows", default=os.devnull, metavar="FILE")
    parser.add_argument("--keep", metavar="FOLDER")
    parser.add_argument("--summary", metavar="FILE")
    args = parser.parse_args()
    if args.summary:
        summary(args.summary)
        return
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    done = set()
    if os.path.exists(args.rows):
        with open(args.rows, encoding="utf-8") as file:
            done = {line.split("\t")[0] for line in file}
    count, right = 0, dict.fromkeys(STAGES, 0)
    for name in in_turn([n for n in zoo_nets.models() if re.search(args.only, n) and n not in done]):
        words, reason = check(args.program, name, args.keep)
        with open(args.rows, "a", encoding="utf-8") as file:
            print(name, *([words.get(s, "-") for s in STAGES] if words else ["not exported: " + reason]), sep="\t", file=file)
        if not words:
            print(f"{name}: PyTorch does not export it: {reason}", flush=True)
            continue
        count += 1
        for stage in STAGES:
            good = words.get(stage, "").startswith("ok")
            right[stage] += good
            if not good:
                print(f"{name}, {stage}: {words.get(stage, 'not tried')}", flush=True)
    print(f"{count} networks: " + ", ".join(f"{right[stage]} {stage}" for stage in STAGES))
    sys.exit(1 if any(n != count for n in right.values()) else 0)


if __name__ == "__main__":
    main()
