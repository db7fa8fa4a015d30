"""torchvision's networks and ours: the same names and shapes, and from the same weights the same logits. A state_dict
that was saved as safetensors loads without a map.

  torchvision_nets.py --program gradloom            compares, in f64 with small pictures and in f32 with those of 224 × 224
  torchvision_nets.py --record                      writes torchvision/NAME.txt, which test-torchvision reads without PyTorch
"""

import argparse
import os
import re
import sys

import torch
import torchvision

from gradloom_run import difference, run

HERE = os.path.dirname(os.path.abspath(__file__))
GRAPHS = os.path.join(HERE, "..", "..", "graphs", "models")
NETS = ("alexnet", "vgg16", "resnet18", "resnet50")


def make(name):
    """With random statistics and scales, as a trained network has them."""
    torch.manual_seed(1)
    net = getattr(torchvision.models, name)(weights=None).eval()
    for module in net.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 2)
            module.weight.data.uniform_(0.5, 1.5)
            module.bias.data.normal_(0, 0.1)
    return net


def record(name):
    with open(os.path.join(HERE, "torchvision", name + ".txt"), "w", encoding="utf-8") as file:
        for key, value in make(name).state_dict().items():
            file.write(f"{key} {'x'.join(map(str, value.shape)) or 'scalar'}\n")


def compare(program, name, size, f64):
    with open(os.path.join(GRAPHS, name + ".xml"), encoding="utf-8") as file:
        text = file.read()
    out = re.search('from="([^"]*)" to="loss.input"', text)[1]
    net = make(name)
    weights = {key: value.numpy() for key, value in net.state_dict().items()}
    x = torch.randn(2, 3, size, size, dtype=torch.float64 if f64 else torch.float32)
    if f64:
        net.double()
    with torch.no_grad():
        theirs = net(x).numpy()
    ours, _, _ = run(program, text.replace('size="224"', f'size="{size}"'), {"data.x": x.numpy()}, [out], weights=weights,
                     options=["--dtype", "f64"] if f64 else [])
    return difference(ours[out], theirs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program")
    parser.add_argument("--only", default="")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    wrong = 0
    for name in NETS:
        if options.only not in name:
            continue
        if options.record:
            record(name)
            continue
        for size, f64, tolerance in ((64, True, 1e-9), (224, False, 1e-4)):
            far = compare(options.program, name, size, f64)
            wrong += not far <= tolerance
            print(f"{'ok' if far <= tolerance else 'WRONG'}  {name}, {size} × {size}, {'f64' if f64 else 'f32'}: {far:.2g}")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
