#!/bin/sh
# One would guess: a model that torch.onnx.export writes has each parameter of the network as an initializer of its own name.
# It has not: the exporter's optimiser stores tensors with equal elements once. Two fresh LayerNorms (ones, zeros) become one
# weight and one bias under the names of the first, and the zero biases of MultiheadAttention are one tensor for all layers. A
# program that trains the exported model thereby ties layers that were separate, and finds no parameter under the others'
# names. The graph's signature in the metadata still lists all parameters. With optimize=False they stay separate.
# Source: PyTorch 2.15.0 with onnxscript 0.5 or later, exporter of torch.export (the default). Met by programs that fine-tune, edit
# or load a checkpoint into an exported model of an untrained or partly trained network.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.15.0 onnx==1.23.2 onnxscript numpy >"$folder/log" 2>&1 || { tail -3 "$folder/log"; exit 1; }
"$folder/venv/bin/python" - "$folder" 2>/dev/null <<'PYTHON'
import sys, warnings, torch, onnx
warnings.simplefilter("ignore")
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 4), torch.nn.LayerNorm(4)).eval()
names = {}
for optimize in (True, False):
    path = f"{sys.argv[1]}/{optimize}.onnx"
    torch.onnx.export(net, (torch.randn(2, 4),), path, dynamo=True, optimize=optimize, verbose=False, external_data=False)
    graph = onnx.load(path).graph
    names[optimize] = {i.name for i in graph.initializer}
    norms = [list(n.input[1:]) for n in graph.node if n.op_type == "LayerNormalization"]
    print(f"optimize={optimize}: weights of the two norms are {norms}")
state = set(net.state_dict())
print("parameters of the network that are no initializers:", sorted(state - names[True]), "and without optimisation", sorted(state - names[False]))
sys.exit(0 if {"3.weight", "3.bias"} <= state - names[True] and not state - names[False] else 1)
PYTHON
