"""Writes trajectories/NET.safetensors: what PyTorch's training (CPU, f64) does from given weights, for test-trajectory.c.

`mlp` and `cnn` are a hundred steps of every optimiser on a perceptron and on a convolutional net with batch normalisation: losses.
`wide` is twenty steps on convolutions with enough channels and tiles that a CPU takes Winograd's algorithm for one of them.
`lstm`, `seq2seq`, `transformer` and `gpt` are a hundred steps of examples for sequences (sequences.py), from weights and at rates where
rounding stays rounding: f64 from weights that are moved by what f32 rounds to ends where it did, and no relu changes sides. Else
f32 is off by chance, PyTorch's own too.
`states` is ten steps of every optimiser with each of its options, with the weights and all of its states at the end; `rates` is
every schedule: learning rates and losses. `lora` is ten steps of factors added to frozen linear layers, as PEFT does. A file holds the batch (x, y), the weights it starts from (start.NAME), and for run I
its description under the key "I", as JSON, with I/losses, I/rates and I/end.NAME. The batch is the whole data set, so that the
order of samples means nothing. How far PyTorch's own f32 is from its f64 is stored with each run as a measure."""

import json
import os

import numpy as np
import torch
from torch import nn

import optimisers
import sequences
from gradloom_run import graph, node, wire
from optimisers import Lamb, Lars, Lion, attributes
from training import CNN, MLP, chain

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "trajectories")
O = torch.optim
LONG = [
    ("sgd", O.SGD, dict(lr=0.1)),
    ("sgd", O.SGD, dict(lr=0.05, momentum=0.9)),
    ("sgd", O.SGD, dict(lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.001)),
    ("adam", O.Adam, dict(lr=0.003)),
    ("adam", O.Adam, dict(lr=0.003, amsgrad=True)),
    ("adamw", O.AdamW, dict(lr=0.003, weight_decay=0.05)),
    ("rmsprop", O.RMSprop, dict(lr=0.001)),
    ("rmsprop", O.RMSprop, dict(lr=0.0002, momentum=0.9, centered=True)),
    ("adagrad", O.Adagrad, dict(lr=0.02)),
    ("adadelta", O.Adadelta, dict(lr=0.3)),
    ("nadam", O.NAdam, dict(lr=0.002)),
    ("adamax", O.Adamax, dict(lr=0.003)),
    ("radam", O.RAdam, dict(lr=0.003)),
    ("lamb", Lamb, dict(lr=0.005, eps=1e-6)),
    ("lars", Lars, dict(lr=0.05, momentum=0.9, trust_coefficient=0.01)),
    ("lion", Lion, dict(lr=0.0005, betas=(0.9, 0.99))),
    ("lbfgs", O.LBFGS, dict(lr=0.02, max_iter=2)),
]
SMALL = ([("a", "linear", {"out_features": optimisers.HIDDEN}), ("t", "tanh", {}), ("b", "linear", {"out_features": optimisers.CLASSES})],
         lambda: nn.Sequential(nn.Linear(optimisers.SHAPE[1], optimisers.HIDDEN), nn.Tanh(), nn.Linear(optimisers.HIDDEN, optimisers.CLASSES)),
         {"0": "a", "2": "b"}, optimisers.SHAPE, optimisers.CLASSES)


class Lora(nn.Linear):
    """nn.Linear that is frozen, plus alpha / r · B A x, named and initialised as in PEFT."""

    def __init__(self, inputs, outputs, r, alpha):
        super().__init__(inputs, outputs)
        self.requires_grad_(False)
        self.lora_A, self.lora_B = nn.Linear(inputs, r, bias=False), nn.Linear(r, outputs, bias=False)
        nn.init.kaiming_uniform_(self.lora_A.weight, a=5**0.5)
        nn.init.zeros_(self.lora_B.weight)
        self.scale = alpha / r

    def forward(self, x):
        return super().forward(x) + self.scale * self.lora_B(self.lora_A(x))


LORA = ([("a", "linear", {"out_features": optimisers.HIDDEN, "lora_rank": 2, "lora_alpha": 3}), ("t", "tanh", {}),
         ("b", "linear", {"out_features": optimisers.CLASSES, "lora_rank": 1})],
        lambda: nn.Sequential(Lora(optimisers.SHAPE[1], optimisers.HIDDEN, 2, 3), nn.Tanh(), Lora(optimisers.HIDDEN, optimisers.CLASSES, 1, 8)),
        {"0": "a", "2": "b"}, optimisers.SHAPE, optimisers.CLASSES)
WIDE = ([("c1", "conv2d", {"out_channels": 32, "kernel_size": 3, "padding": 1}), ("r1", "relu", {}),
         ("c2", "conv2d", {"out_channels": 32, "kernel_size": 3, "padding": 1}), ("r2", "relu", {}),
         ("pool", "avg_pool2d", {"kernel_size": 8}), ("flat", "flatten", {}), ("fc", "linear", {"out_features": 4})],
        lambda: nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.AvgPool2d(8),
                              nn.Flatten(), nn.Linear(128, 4)),
        {"0": "c1", "2": "c2", "6": "fc"}, (4, 1, 16, 16), 4)
SEQUENCES = {
    "lstm": ("adam", O.Adam, dict(lr=0.001)),
    "seq2seq": ("adam", O.Adam, dict(lr=0.003)),
    "transformer": ("adam", O.Adam, dict(lr=0.001)),
    "gpt": ("adamw", O.AdamW, dict(lr=0.0005, weight_decay=0.05)),
}
ROUNDING, STEADY = 3e-8, 3e-6


class Newton(O.Optimizer):
    """θ ← θ − lr (H + damping)⁻¹ ∇, with the whole Hessian; damping is large enough for no other rule to be needed."""

    def __init__(self, params, lr, damping):
        super().__init__(params, dict(lr=lr, damping=damping))

    def step(self, closure):
        group = self.param_groups[0]
        params, loss = group["params"], closure(backward=False)
        flat = torch.cat([g.reshape(-1) for g in torch.autograd.grad(loss, params, create_graph=True)])
        rows = [torch.cat([r.reshape(-1) for r in torch.autograd.grad(g, params, retain_graph=True)]) for g in flat]
        step = torch.linalg.solve(torch.stack(rows) + group["damping"] * torch.eye(len(flat)), flat.detach())
        with torch.no_grad():
            for p, part in zip(params, step.split([p.numel() for p in params])):
                p.sub_(group["lr"] * part.reshape(p.shape))
        return loss


class Setting:
    """A net, its batch and the weights it starts from: PyTorch's own."""

    def __init__(self, network, batch):
        layers, self.make, self.names, shape, classes = network
        rng = np.random.default_rng(11)
        self.x = rng.standard_normal((batch, *shape[1:])).astype(np.float32)
        self.y = rng.integers(0, classes, batch, dtype=np.int64)
        text, last = chain(layers)
        self.nodes = node("data", "dataset", source="npy", x="x.npy", y="y.npy") + text + node("loss", "cross_entropy") + wire(
            last, "loss.input") + wire("data.y", "loss.target")
        torch.manual_seed(3)
        self.start = {k: v.clone() for k, v in self.make().state_dict().items()}

    def name(self, key):
        layer, rest = key.split(".", 1)
        return f"{self.names[layer]}.{rest}"

    def loss(self, model, x, y):
        return nn.functional.cross_entropy(model(x), y)


def train(setting, make, options, steps, dtype, scheduler=None):
    """Losses, rates, the model and the optimiser after n steps."""
    torch.set_default_dtype(dtype)  # nadam keeps a number in it
    model = setting.make().to(dtype)
    model.load_state_dict(setting.start)  # rounds to the model's type
    model.train()
    x, y = torch.from_numpy(setting.x), torch.from_numpy(setting.y)
    x = x.to(dtype) if x.is_floating_point() else x
    optimizer = make(model.parameters(), **options)
    schedule = scheduler(optimizer, steps) if scheduler else None
    losses, rates = [], []

    def closure(backward=True):
        optimizer.zero_grad()
        loss = setting.loss(model, x, y)
        if backward:
            loss.backward()
        return loss

    for _ in range(steps):
        rates.append(float(optimizer.param_groups[0]["lr"]))
        if isinstance(optimizer, (O.LBFGS, Newton)):
            loss = optimizer.step(closure)
        else:
            loss = closure()
            optimizer.step()
        losses.append(float(loss.detach()))
        if isinstance(schedule, O.lr_scheduler.ReduceLROnPlateau):
            schedule.step(losses[-1])
        elif schedule:
            schedule.step()
    torch.set_default_dtype(torch.float32)
    return np.array(losses), np.array(rates), model, optimizer


def assert_steady(setting, make, options, steps, losses, narrow):
    """That weights moved by a rounding of f32 give the same losses within STEADY, and so does PyTorch's own f32."""
    start, rng = setting.start, np.random.default_rng(5)
    setting.start = {k: v.double() * torch.from_numpy(1 + ROUNDING * rng.standard_normal(tuple(v.shape))) for k, v in start.items()}
    moved = train(setting, make, options, steps, torch.float64)[0]
    setting.start = start
    off = max(np.max(np.abs(other - losses) / losses) for other in (moved, narrow))
    if off > STEADY:
        raise RuntimeError(f"The losses move by {off:.1g} with the last bits of the weights: start from others, or at a lower rate.")


def states(setting, model, optimizer):
    """Weights and what the optimiser keeps of them, by the names of slots."""
    found = {}
    for key, p in model.named_parameters():
        found[setting.name(key)] = p.detach().numpy()
        for kind, value in optimizer.state.get(p, {}).items():
            if optimisers.is_state(kind, value, p) and not isinstance(optimizer, O.LBFGS):
                found[f"optimizer.{kind}.{setting.name(key)}"] = value.numpy()
    return found


def write(save, name, setting, runs):
    """runs: (optimiser, its maker, options, steps, what is inside <train>, scheduler, whether states are kept)."""
    tensors = {"x": setting.x, "y": setting.y}
    tensors.update({"start." + setting.name(k): v.numpy() for k, v in setting.start.items()})
    metadata = {"torch": torch.__version__.split("+")[0], "nodes": setting.nodes}
    for number, (kind, make, options, steps, inner, scheduler, keep) in enumerate(runs):
        losses, rates, model, optimizer = train(setting, make, options, steps, torch.float64, scheduler)
        narrow = train(setting, make, options, steps, torch.float32, scheduler)[0]
        spread = float(np.max(np.abs(narrow - losses) / np.abs(losses)))
        metadata[str(number)] = json.dumps(
            {"title": f"{kind}{attributes(options)}{' ' + inner if inner else ''}", "optimizer": kind, "attributes": attributes(options),
             "inner": inner, "steps": steps, "spread": float(f"{spread:.1e}")}, separators=(",", ":"))
        tensors[f"{number}/losses"] = losses
        if scheduler:
            tensors[f"{number}/rates"] = rates
        if isinstance(setting, sequences.Sequence):
            assert_steady(setting, make, options, steps, losses, narrow)
        if keep:
            tensors.update({f"{number}/end.{k}": v for k, v in states(setting, model, optimizer).items()})
    return save(os.path.join(FOLDER, name + ".safetensors"), tensors, metadata)


def main(save):
    os.makedirs(FOLDER, exist_ok=True)
    long = [(kind, make, options, 100, "", None, False) for kind, make, options in LONG]
    ten = [(kind, make, options, 10, "", None, True) for kind, make, every in optimisers.CASES for options in every]
    ten += [("newton", Newton, dict(lr=0.5, damping=d), 10, "", None, True) for d in (1.0, 2.0)]
    rates = [("sgd", O.SGD, dict(lr=0.1, momentum=0.9), n, f'<schedule type="{kind}"{attributes(options)}' + (f">{inside[0]}</schedule>" if inside else "/>"), make, False)
             for kind, options, make, *inside in optimisers.SCHEDULES for n in (10, 100)]
    twenty = [("sgd", O.SGD, dict(lr=0.05, momentum=0.9), 20, "", None, False), ("adam", O.Adam, dict(lr=0.003), 20, "", None, False)]
    factors = [("sgd", O.SGD, dict(lr=0.1, momentum=0.9), 10, "", None, True), ("adamw", O.AdamW, dict(lr=0.01, weight_decay=0.05), 10, "", None, True)]
    size = write(save, "wide", Setting(WIDE, 4), twenty) + write(save, "lora", Setting(LORA, 24), factors)
    size += write(save, "mlp", Setting(MLP, 32), long) + write(save, "cnn", Setting(CNN, 12), long)
    size += write(save, "states", Setting(SMALL, 24), ten) + write(save, "rates", Setting(SMALL, 24), rates)
    for short, run in SEQUENCES.items():
        size += write(save, short, sequences.Sequence(short), [(*run, 100, "", None, False)])
    return len(SEQUENCES) + len(twenty) + len(factors) + 2 * len(long) + len(ten) + len(rates), size
