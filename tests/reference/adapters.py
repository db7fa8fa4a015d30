"""Adapters of LoRA and DoRA, written and read by Gradloom and by PEFT.

  adapters.py --program PATH

A network is trained with factors, and PEFT loads the adapter on the same base; PEFT's adapters are merged by `gradloom
export`, attached to a run, and written again. Outputs agree within 1e-6, tensors that are written again are the same,
and those of three steps of SGD agree within 1e-5.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import torch
from peft import LoraConfig, PeftModel, get_peft_model, get_peft_model_state_dict
from safetensors.torch import load_file

GRAPH = """<?xml version="1.0" encoding="UTF-8"?>
<graph xmlns="urn:gradloom:graph" version="1">
  <module name="layer"><node id="x" op="module_input"/><node id="fc" op="linear" out_features="8"/>
    <node id="act" op="tanh"/><node id="y" op="module_output"/>
    <wire from="x" to="fc"/><wire from="fc" to="act"/><wire from="act" to="y"/></module>
  <module name="again"><node id="x" op="module_input"/><node id="fc" op="linear" out_features="8"/>
    <node id="act" op="tanh"/><node id="y" op="module_output"/>
    <wire from="x" to="fc"/><wire from="fc" to="act"/><wire from="act" to="y"/></module>
  <node id="data" op="dataset" source="spirals" n="300"/>
  <node id="first" op="linear" out_features="8"/><node id="body" module="layer" repeat="2"/>
  <node id="twice" module="again" repeat="2" share="true"/>
  <node id="here" op="linear" out_features="8"/><node id="there" op="linear" out_features="8"/>
  <node id="head" op="linear" out_features="2"/><node id="loss" op="cross_entropy"/>
  <wire from="data.x" to="first"/><wire from="first" to="body"/><wire from="body" to="twice"/>
  <wire from="twice" to="here"/><wire from="here" to="there.input"/><wire from="here.weight" to="there.weight"/>
  <wire from="there" to="head"/><wire from="head" to="loss.input"/><wire from="data.y" to="loss.target"/>
  <train loss="loss" optimizer="adam" lr="0.02" epochs="2" batch_size="20" seed="1">%s</train>
</graph>"""
TIE = '<wire from="here.weight" to="there.weight"/>'

# Options of gradloom train, and the groups that are trained with factors.
OURS = [("", ["--lora", "2"]), ('<group match="head"/>', ["--lora", "3", "--lora-alpha", "5", "--lora-layers", "body.*.fc"]),
        ('<group match="head.bias"/><group match="first.bias"/>', ["--lora", "2", "--lora-layers", "first,body.*.fc"]),
        ("", ["--lora", "2", "--lora-layers", "here,there,twice.*.fc"]), ("", ["--lora", "2", "--lora-layers", "there"]),
        ("", ["--lora", "2", "--dora"]), ('<group match="head"/>', ["--lora", "3", "--dora", "--lora-layers", "body.1.fc,first"])]
THEIRS = {"plain": {"r": 3, "lora_alpha": 7, "target_modules": ["first", "fc"]},
          "head": {"r": 2, "target_modules": ["fc"], "modules_to_save": ["head"]},
          "biases": {"r": 2, "target_modules": ["fc"], "bias": "lora_only"},
          "all layers": {"r": 2, "target_modules": "all-linear"},
          "patterns": {"r": 2, "target_modules": ["fc", "head"], "rank_pattern": {"head": 4}, "alpha_pattern": {"head": 3}},
          "one of a tie": {"r": 2, "target_modules": ["there"]}, "one copy": {"r": 2, "target_modules": ["body.1.fc"]},
          "rsLoRA": {"r": 4, "target_modules": ["fc"], "use_rslora": True},
          "DoRA": {"r": 2, "lora_alpha": 5, "target_modules": ["first", "fc"], "use_dora": True},
          "DoRA of one copy": {"r": 2, "target_modules": ["body.1.fc"], "use_dora": True}}
TRAINED = {"LoRA": {"r": 2, "target_modules": ["first", "fc"]}, "DoRA": {"r": 2, "lora_alpha": 5, "target_modules": ["first", "fc"], "use_dora": True}}


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(8, 8)

    def forward(self, x):
        return torch.tanh(self.fc(x))


class Net(torch.nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.first, self.head = torch.nn.Linear(2, 8), torch.nn.Linear(8, 2)
        self.body, self.twice = torch.nn.ModuleList([Layer(), Layer()]), Layer()
        self.here, self.there = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)
        self.there.weight = self.here.weight
        state = load_file(weights)
        self.load_state_dict({"there.weight": state["here.weight"], **state})

    def forward(self, x):
        for layer in [self.first, *self.body, self.twice, self.twice, self.here, self.there, self.head]:
            x = layer(x)
        return x


def run(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)


def outputs(program, graph, weights):
    run(program, "run", graph, "--weights", weights, "--in", "data.x=x.npy", "--out", "head=y.npy")
    return torch.from_numpy(np.load("y.npy"))


def distance(a, b):  # relative to numbers above 1
    return (a - b).abs().max().item() / max(1, b.abs().max().item())


def check_ours(program, x, i, group, options):
    with open(f"g{i}.xml", "w") as file:
        file.write(GRAPH % group)
    run(program, "train", f"g{i}.xml", "--weights", "base/weights.safetensors", *options, "--out", f"run{i}")
    theirs = PeftModel.from_pretrained(Net("base/weights.safetensors"), f"run{i}/adapter").eval()(x)
    return distance(theirs, outputs(program, f"run{i}/graph.xml", f"run{i}/weights.safetensors")), 0.0


def peft(folder, options):
    """A network with an adapter of random numbers, which is saved."""
    model = get_peft_model(Net("base/weights.safetensors"), LoraConfig(init_lora_weights=False, **options)).eval()
    with torch.no_grad():
        for parameter in (p for p in model.parameters() if p.requires_grad):
            parameter.add_(0.1 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    return model


def merged(program, want, folder):
    run(program, "export", "graph.xml", "--weights", "base/weights.safetensors", "--adapter", folder, "--to", "safetensors",
        "-o", folder + ".safetensors")
    return distance(want, outputs(program, "untied.xml", folder + ".safetensors"))


def check_trained(program, x, name, options):
    folder, y = name + "-trained", torch.arange(len(x)) % 2
    model = peft(folder, options)
    np.save("y.npy", y.numpy())
    text = (GRAPH % "").replace('source="spirals" n="300"', 'source="npy" x="x.npy" y="y.npy"')
    with open("few.xml", "w") as file:
        file.write(re.sub("<train.*</train>", f'<train loss="loss" optimizer="sgd" lr="0.1" epochs="3" batch_size="{len(x)}"/>', text))
    run(program, "train", "few.xml", "--weights", "base/weights.safetensors", "--adapter", folder, "--out", folder + "-run")
    optimiser = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for _ in range(3):
        optimiser.zero_grad()
        with torch.enable_grad():
            torch.nn.functional.cross_entropy(model(x), y).backward()
        optimiser.step()
    ours, theirs = load_file(folder + "-run/adapter/adapter_model.safetensors"), get_peft_model_state_dict(model)
    before = load_file(folder + "/adapter_model.safetensors")
    assert ours.keys() == theirs.keys() and all(distance(theirs[k], before[k]) > 1e-4 for k in theirs)
    return max(distance(ours[k], theirs[k]) for k in theirs) / 10, 0.0


def check_theirs(program, x, name, options):
    folder = name.replace(" ", "-")
    want = peft(folder, options)(x)
    run(program, "train", "graph.xml", "--weights", "base/weights.safetensors", "--adapter", folder, "--epochs", "0", "--out",
        folder + "-run")
    off = distance(want, outputs(program, folder + "-run/graph.xml", folder + "-run/weights.safetensors"))
    off = max(off, merged(program, want, folder))
    again = PeftModel.from_pretrained(Net("base/weights.safetensors"), folder + "-run/adapter").eval()
    return off, distance(want, again(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    program, failed = os.path.abspath(args.program), 0
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        os.chdir(folder)
        x = torch.randn(9, 2)
        np.save("x.npy", x.numpy())
        for name, text in {"graph.xml": GRAPH % "", "untied.xml": (GRAPH % "").replace(TIE, "")}.items():
            with open(name, "w") as file:
                file.write(text)
        run(program, "train", "graph.xml", "--out", "base")
        jobs = [(" ".join([*options, group]), check_ours, (i, group, options)) for i, (group, options) in enumerate(OURS)]
        jobs += [(name, check_theirs, (name, options)) for name, options in THEIRS.items()]
        jobs += [(name + ", trained", check_trained, (name, options)) for name, options in TRAINED.items()]
        for name, check, arguments in jobs:
            if args.only not in name:
                continue
            off, again = check(program, x, *arguments)
            good = off < 1e-6 and again < 1e-6
            failed += not good
            print(f"{'agrees' if good else 'DIFFERS'}  {name}: {off:.1e}, written again {again:.1e}", flush=True)
    print(f"adapters: {failed} differ")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
