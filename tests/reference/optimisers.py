"""Ten steps of every optimiser against torch.optim, with every option: losses, weights and all states; then schedules.

In f64 on `ref` both must agree to 1e-9, in f32 on `cpu` to 2e-5 of the largest element: a hyper-parameter is then an
f32 number, and 1 - 0.999f is 1.3e-5 off 0.001, which second moments show. muon is compared twice: with the formula in the run's own type, rounded to bf16 where torch.optim.Muon
rounds, as above; and with torch.optim.Muon, whose sums of bf16 products have another order, within 2e-3. In f32 a line search takes another branch
sooner or later, so that of lbfgs the loss after the first steps is compared alone. lion, lamb and lars are in no
release of torch.optim: they are restated below from their papers, in a few lines each. Schedules are compared by the
learning rates that the run's events name."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from safetensors.numpy import load_file
from torch import nn

from gradloom_run import graph, node, wire

STEPS = 10
SHAPE, HIDDEN, CLASSES = (24, 8), 6, 4


class Own(torch.optim.Optimizer):
    """An optimiser in a few lines: update(p, g, state, group) changes p and state."""

    def __init__(self, params, **defaults):
        super().__init__(params, dict(lr=0.01, weight_decay=0.0, maximize=False, betas=(0.9, 0.999), eps=1e-8) | defaults)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    state = self.state[p]
                    state["step"] = state.get("step", 0) + 1
                    self.update(p, -p.grad if group["maximize"] else p.grad, state, group)


class Lion(Own):  # Chen et al. 2023, program 1
    def update(self, p, g, s, o):
        m = s.setdefault("exp_avg", torch.zeros_like(p))
        b1, b2 = o["betas"]
        u = torch.sign(b1 * m + (1 - b1) * g)
        p.sub_(o["lr"] * (u + o["weight_decay"] * p))
        m.mul_(b2).add_((1 - b2) * g)


class Lamb(Own):  # You et al. 2020, algorithm 2
    def update(self, p, g, s, o):
        m, v = s.setdefault("exp_avg", torch.zeros_like(p)), s.setdefault("exp_avg_sq", torch.zeros_like(p))
        b1, b2 = o["betas"]
        m.mul_(b1).add_((1 - b1) * g)
        v.mul_(b2).add_((1 - b2) * g * g)
        r = (m / (1 - b1 ** s["step"])) / ((v / (1 - b2 ** s["step"])).sqrt() + o["eps"]) + o["weight_decay"] * p
        ratio = p.norm() / r.norm() if p.norm() > 0 and r.norm() > 0 else 1.0
        p.sub_(o["lr"] * ratio * r)


class Lars(Own):  # You, Gitman and Ginsburg 2017, algorithm 1
    def update(self, p, g, s, o):
        v = s.setdefault("momentum_buffer", torch.zeros_like(p))
        w, n = p.norm(), g.norm()
        local = o["trust_coefficient"] * w / (n + o["weight_decay"] * w + o["eps"]) if w > 0 and n > 0 else 1.0
        v.mul_(o["momentum"]).add_(o["lr"] * local * (g + o["weight_decay"] * p))
        p.sub_(v)


O = torch.optim


class Muon(O.Optimizer):
    """torch.optim.Muon for matrices, AdamW for other weights. exact: iterations in the type of the weights, rounded to bf16 where
    torch.optim.Muon rounds."""

    def __init__(self, params, exact=False, betas=(0.9, 0.999), adamw=False, **options):
        super().__init__(params, dict(adamw=adamw))
        params = [p for group in self.param_groups for p in group["params"]]
        matrices = [p for p in params if p.ndim == 2 and not adamw]
        others = [p for p in params if not any(p is m for m in matrices)]
        decay = {k: options[k] for k in ("lr", "weight_decay") if k in options}
        self.parts = [O.AdamW(others, betas=betas, **({"weight_decay": 0.1} | decay))] + ([O.Muon(matrices, **options)] if matrices else [])
        self.param_groups = [group for part in self.parts for group in part.param_groups]
        self.exact = exact

    def step(self):
        original = torch.optim._muon._zeropower_via_newtonschulz
        if self.exact:
            torch.optim._muon._zeropower_via_newtonschulz = orthogonal
        for part in self.parts:
            part.step()
            self.state.update(part.state)
        torch.optim._muon._zeropower_via_newtonschulz = original


def orthogonal(x, coefficients, steps, eps):
    def rounded(x):
        return x.bfloat16().to(x.dtype)

    a, b, c = coefficients
    tall = x.shape[0] > x.shape[1]
    x = rounded(x.T if tall else x)
    x = rounded(x / rounded(x.norm()).clamp(min=eps))
    for _ in range(steps):
        gram = rounded(x @ x.T)
        x = rounded(a * x + rounded(b * gram + c * (gram @ gram)) @ x)
    return x.T if tall else x


def exact_muon(params, **options):
    return Muon(params, exact=True, **options)


MUON = [dict(lr=0.02), dict(lr=0.02, momentum=0.4, nesterov=False, weight_decay=0.3), dict(lr=0.05, adjust_lr_fn="match_rms_adamw", betas=(0.8, 0.95)),
        dict(lr=0.01, adjust_lr_fn="spectral_unclamped", ns_coefficients=(3.0, -3.2, 1.2), ns_steps=3, eps=0.5), dict(lr=0.02, adamw=True)]
CASES = [
    ("sgd", O.SGD, [dict(lr=0.1), dict(lr=0.1, momentum=0.9), dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.02),
                    dict(lr=0.1, momentum=0.8, dampening=0.3), dict(lr=0.1, momentum=0.8, maximize=True)]),
    ("adam", O.Adam, [dict(lr=0.02), dict(lr=0.02, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1), dict(lr=0.02, amsgrad=True),
                      dict(lr=0.02, maximize=True)]),
    ("adamw", O.AdamW, [dict(lr=0.02), dict(lr=0.02, weight_decay=0.3, amsgrad=True)]),
    ("rmsprop", O.RMSprop, [dict(), dict(lr=0.005, alpha=0.8, eps=1e-5, weight_decay=0.1), dict(momentum=0.7), dict(centered=True),
                            dict(momentum=0.5, centered=True, alpha=0.9), dict(maximize=True)]),
    ("adagrad", O.Adagrad, [dict(), dict(lr=0.1, lr_decay=0.2, weight_decay=0.05, initial_accumulator_value=0.3, eps=1e-6), dict(maximize=True)]),
    ("adadelta", O.Adadelta, [dict(), dict(lr=0.5, rho=0.7, eps=1e-4, weight_decay=0.1), dict(maximize=True)]),
    ("nadam", O.NAdam, [dict(), dict(lr=0.01, betas=(0.8, 0.9), eps=1e-6, weight_decay=0.1, momentum_decay=0.02),
                        dict(weight_decay=0.2, decoupled_weight_decay=True), dict(maximize=True)]),
    ("adamax", O.Adamax, [dict(), dict(lr=0.01, betas=(0.8, 0.9), eps=1e-5, weight_decay=0.1), dict(maximize=True)]),
    ("radam", O.RAdam, [dict(), dict(lr=0.01, betas=(0.8, 0.9), eps=1e-6, weight_decay=0.1),
                        dict(weight_decay=0.2, decoupled_weight_decay=True), dict(maximize=True)]),
    ("lion", Lion, [dict(lr=0.001, betas=(0.9, 0.99)), dict(lr=0.01, betas=(0.7, 0.9), weight_decay=0.3), dict(lr=0.01, betas=(0.9, 0.99), maximize=True)]),
    ("lamb", Lamb, [dict(lr=0.01, eps=1e-6), dict(lr=0.02, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.2), dict(lr=0.01, eps=1e-6, maximize=True)]),
    ("lars", Lars, [dict(lr=0.5, momentum=0.9, trust_coefficient=0.01), dict(lr=0.5, momentum=0.5, trust_coefficient=0.02, weight_decay=0.1, eps=1e-3),
                    dict(lr=0.2, momentum=0.9, trust_coefficient=0.01, maximize=True)]),
    ("muon", exact_muon, MUON),
    ("adafactor", O.Adafactor, [dict(), dict(lr=0.5, beta2_decay=-0.5, eps=(1e-4, 0.2), d=1.5, weight_decay=0.1), dict(maximize=True)]),
    ("rprop", O.Rprop, [dict(), dict(lr=0.05, etas=(0.3, 1.5), step_sizes=(0.01, 0.06)), dict(maximize=True)]),
    ("asgd", O.ASGD, [dict(lr=0.1), dict(lr=0.2, lambd=0.05, alpha=0.6, t0=3, weight_decay=0.1), dict(lr=0.1, maximize=True)]),
    ("lbfgs", O.LBFGS, [dict(lr=0.2, max_iter=4), dict(line_search_fn="strong_wolfe", max_iter=5),
                        dict(lr=0.5, max_iter=6, history_size=3, line_search_fn="strong_wolfe", tolerance_grad=1e-5),
                        dict(lr=0.1, max_iter=4, max_eval=3, tolerance_change=1e-5)]),
]


def attribute(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (tuple, list)):
        return ",".join(repr(v) for v in value)
    return str(value)


def attributes(options):
    return "".join(f' {k}="{attribute(v)}"' for k, v in options.items())


class Run:
    """One training of the small net, here and in PyTorch from the same weights."""

    def __init__(self, program, folder, optimizer, options, f64, inner="", steps=STEPS, extra="", loss="cross_entropy",
                 batch=SHAPE[0]):
        rng = np.random.default_rng(7)
        x = rng.standard_normal(SHAPE).astype(np.float32)
        y = rng.integers(0, CLASSES, SHAPE[0], dtype=np.int64)
        np.save(os.path.join(folder, "x.npy"), x)
        np.save(os.path.join(folder, "y.npy"), y)
        text = node("data", "dataset", source="npy", x="x.npy", y="y.npy") + node("a", "linear", out_features=HIDDEN) + node("t", "tanh")
        text += node("b", "linear", out_features=CLASSES) + node("loss", loss)
        text += wire("data.x", "a") + wire("a", "t") + wire("t", "b") + wire("b", "loss.input") + wire("data.y", "loss.target")
        device = ' device="ref" precision="f64"' if f64 else ""
        text += (f'  <train loss="loss" optimizer="{optimizer}" epochs="{steps}" batch_size="{batch}" seed="5"{device}'
                 f'{attributes(options)}{extra}>{inner}</train>\n')
        self.path = os.path.join(folder, "graph.xml")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(graph(text))
        torch.set_default_dtype(torch.float64 if f64 else torch.float32)  # nadam keeps a number in it
        self.dtype = torch.float64 if f64 else torch.float32
        self.x, self.y = torch.from_numpy(x).to(self.dtype), torch.from_numpy(y)
        start = os.path.join(folder, "start.safetensors")
        subprocess.run([program, "run", self.path, "--save-weights", start] + (["--dtype", "f64", "--device", "ref"] if f64 else []), check=True)
        self.out = os.path.join(folder, "out")
        done = subprocess.run([program, "train", self.path, "--out", self.out, "--json", "--threads", "1"], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"status {done.returncode}: {done.stderr.strip()}")
        with open(os.path.join(self.out, "events.jsonl"), encoding="utf-8") as file:
            events = [json.loads(line) for line in file]
        steps_told = [e for e in events if "lr" in e]
        self.losses, self.rates = [e["loss"] for e in steps_told], [e["lr"] for e in steps_told]
        checkpoint = os.path.join(self.out, "checkpoints", str(steps))
        self.weights = load_file(os.path.join(checkpoint, "weights.safetensors"))
        self.states = load_file(os.path.join(checkpoint, "optimizer.safetensors"))
        self.a, self.b = nn.Linear(SHAPE[1], HIDDEN).to(self.dtype), nn.Linear(HIDDEN, CLASSES).to(self.dtype)
        self.names = {"a.weight": self.a.weight, "a.bias": self.a.bias, "b.weight": self.b.weight, "b.bias": self.b.bias}
        first = load_file(start)
        with torch.no_grad():
            for name, p in self.names.items():
                p.copy_(torch.from_numpy(first[name]).to(self.dtype))

    def loss(self):
        return nn.functional.cross_entropy(self.b(torch.tanh(self.a(self.x))), self.y)


def apart(a, b):
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if a.shape != b.shape:
        return float("inf")
    return float(np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-30)) if a.size else 0.0


def written(ours, theirs):
    """Events have nine digits of a number in f32, so a unit in the ninth is no difference."""
    difference = apart(ours, theirs)
    return 0.0 if difference <= 5e-9 else difference


def is_state(kind, value, p):
    """A state that is stored for each weight, in its shape or factorised."""
    return kind in ("row_var", "col_var") or (kind not in ("step", "mu_product") and torch.is_tensor(value) and value.shape == p.shape)


def compare(run, optimizer, losses):
    worst = {"loss": written(run.losses, losses)}
    if isinstance(optimizer, O.LBFGS) and run.dtype == torch.float32:
        return written(run.losses[:3], losses[:3]), "loss"
    for name, p in run.names.items():
        worst[name] = apart(run.weights[name], p.detach().numpy())
        for kind, value in optimizer.state.get(p, {}).items():
            if not is_state(kind, value, p) or isinstance(optimizer, O.LBFGS):
                continue
            ours = run.states.get(f"optimizer.{kind}.{name}", run.states.get(f"{kind}.{name}"))
            worst[f"{kind} of {name}"] = apart(ours, value.numpy()) if ours is not None else float("inf")
        if "mu_product" in optimizer.state.get(p, {}):
            ours = run.states.get("optimizer.mu_product.all")
            worst["mu_product"] = apart(ours, optimizer.state[p]["mu_product"].numpy()) if ours is not None else float("inf")
    place = max(worst, key=worst.get)
    return worst[place], place


def follow(program, name, make, options, f64):
    with tempfile.TemporaryDirectory() as folder:
        run = Run(program, folder, name, options, f64)
        optimizer = make(run.names.values(), **options)
        losses = []
        for _ in range(STEPS):
            def closure():
                optimizer.zero_grad()
                loss = run.loss()
                loss.backward()
                return loss
            if name == "lbfgs":
                loss = optimizer.step(closure)
            else:
                loss = closure()
                optimizer.step()
            losses.append(float(loss.detach()))
        return compare(run, optimizer, losses)


# ---- groups and clipping ------------------------------------------------------------------------


def groups(program, f64, clip):
    inner = '<group match="a" lr="0.3" weight_decay="0.05"/><group match="*.bias" frozen="true"/>' if not clip else ""
    inner += {None: "", "norm": '<clip norm="0.05"/>', "value": '<clip value="0.01"/>', "both": '<clip norm="0.05" value="0.02"/>'}[clip]
    with tempfile.TemporaryDirectory() as folder:
        run = Run(program, folder, "sgd", dict(lr=0.1, momentum=0.9), f64, inner)
        parts = [run.names.values()] if clip else [
            {"params": [run.a.weight, run.a.bias], "lr": 0.3, "weight_decay": 0.05}, {"params": [run.b.weight]}]
        run.b.bias.requires_grad_(bool(clip))
        optimizer = O.SGD(parts if not clip else run.names.values(), lr=0.1, momentum=0.9)
        losses = []
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = run.loss()
            loss.backward()
            if clip in ("value", "both"):
                nn.utils.clip_grad_value_(run.names.values(), {"value": 0.01, "both": 0.02}[clip])
            if clip in ("norm", "both"):
                nn.utils.clip_grad_norm_(run.names.values(), 0.05)
            optimizer.step()
            losses.append(float(loss.detach()))
        return compare(run, optimizer, losses)


# ---- newton -------------------------------------------------------------------------------------


def newton(program, damping):
    """Damping large enough for the Hessian to be positive definite, so that no rule of ours raises it."""
    with tempfile.TemporaryDirectory() as folder:
        run = Run(program, folder, "newton", dict(lr=0.5, damping=damping), True)
        params = list(run.names.values())
        losses = []
        for _ in range(STEPS):
            loss = run.loss()
            flat = torch.cat([g.reshape(-1) for g in torch.autograd.grad(loss, params, create_graph=True)])
            hessian = torch.stack([torch.cat([r.reshape(-1) for r in torch.autograd.grad(g, params, retain_graph=True)]) for g in flat])
            step = torch.linalg.solve(hessian + damping * torch.eye(len(flat), dtype=torch.float64), flat.detach())
            losses.append(float(loss.detach()))
            at = 0
            with torch.no_grad():
                for p in params:
                    p.sub_(0.5 * step[at:at + p.numel()].reshape(p.shape))
                    at += p.numel()
        return compare(run, torch.optim.SGD(params), losses)


# ---- schedules ----------------------------------------------------------------------------------

S = torch.optim.lr_scheduler
SCHEDULES = [
    ("constant", dict(factor=0.25, total_iters=7), lambda o, n: S.ConstantLR(o, 0.25, 7)),
    ("step", dict(step_size=7, gamma=0.6), lambda o, n: S.StepLR(o, 7, 0.6)),
    ("multistep", dict(milestones=(3, 8, 8, 40), gamma=0.5), lambda o, n: S.MultiStepLR(o, [3, 8, 8, 40], 0.5)),
    ("exponential", dict(gamma=0.93), lambda o, n: S.ExponentialLR(o, 0.93)),
    ("linear", dict(start_factor=0.25, end_factor=0.8, total_iters=30), lambda o, n: S.LinearLR(o, 0.25, 0.8, 30)),
    ("linear", dict(end_factor=0.1), lambda o, n: S.LinearLR(o, 1.0, 0.1, n)),
    ("polynomial", dict(total_iters=60, power=2.5), lambda o, n: S.PolynomialLR(o, 60, 2.5)),
    ("cosine", dict(T_max=30, eta_min=0.01), lambda o, n: S.CosineAnnealingLR(o, 30, 0.01)),
    ("cosine", dict(), lambda o, n: S.CosineAnnealingLR(o, n)),
    ("cosine_warm_restarts", dict(T_0=9, T_mult=2, eta_min=0.003), lambda o, n: S.CosineAnnealingWarmRestarts(o, 9, 2, 0.003)),
    ("cosine_warm_restarts", dict(T_0=6), lambda o, n: S.CosineAnnealingWarmRestarts(o, 6)),
    ("one_cycle", dict(max_lr=0.3), lambda o, n: S.OneCycleLR(o, 0.3, n)),
    ("one_cycle", dict(max_lr=0.3, pct_start=0.4, anneal_strategy="linear", div_factor=10, final_div_factor=50, three_phase=True,
                       base_momentum=0.7, max_momentum=0.9), lambda o, n: S.OneCycleLR(
        o, 0.3, n, pct_start=0.4, anneal_strategy="linear", div_factor=10, final_div_factor=50, three_phase=True, base_momentum=0.7, max_momentum=0.9)),
    ("cyclic", dict(max_lr=0.4, step_size_up=7, step_size_down=5), lambda o, n: S.CyclicLR(o, 0.1, 0.4, 7, 5)),
    ("cyclic", dict(base_lr=0.05, max_lr=0.4, step_size_up=6, mode="triangular2", cycle_momentum=False),
     lambda o, n: S.CyclicLR(o, 0.05, 0.4, 6, mode="triangular2", cycle_momentum=False)),
    ("cyclic", dict(max_lr=0.4, step_size_up=6, mode="exp_range", gamma=0.98), lambda o, n: S.CyclicLR(o, 0.1, 0.4, 6, mode="exp_range", gamma=0.98)),
    ("sequential", dict(milestones=(4, 9)), lambda o, n: S.SequentialLR(
        o, [S.LinearLR(o, 0.1, 1.0, 4), S.ConstantLR(o, 1.0, 0), S.CosineAnnealingLR(o, 20, 0.01)], [4, 9]),
     '<schedule type="linear" start_factor="0.1" end_factor="1" total_iters="4"/><schedule type="constant"/>'
     '<schedule type="cosine" T_max="20" eta_min="0.01"/>'),
    ("chained", dict(), lambda o, n: S.ChainedScheduler([S.LinearLR(o, 0.2, 1.0, 6), S.ExponentialLR(o, 0.95), S.StepLR(o, 7, 0.5)], o),
     '<schedule type="linear" start_factor="0.2" end_factor="1" total_iters="6"/><schedule type="exponential" gamma="0.95"/>'
     '<schedule type="step" step_size="7" gamma="0.5"/>'),
    ("sequential", dict(milestones=(5,)), lambda o, n: S.SequentialLR(
        o, [S.ExponentialLR(o, 0.9), S.LambdaLR(o, lambda t: 1 / (1 + t))], [5]),
     '<schedule type="exponential" gamma="0.9"/><schedule type="lambda" formula="1 / (1 + step)"/>'),
    ("lambda", dict(formula="min((step + 1)**-0.5, (step + 1) * 5**-1.5)"), lambda o, n: S.LambdaLR(
        o, lambda t: min((t + 1) ** -0.5, (t + 1) * 5 ** -1.5))),
    ("lambda", dict(formula="step / 5 if step &lt; 5 else (1 + cos(pi * (step - 5) / (steps - 5))) / 2 + epoch // 7 % 2"), lambda o, n: S.LambdaLR(
        o, lambda t: t / 5 if t < 5 else (1 + np.cos(np.pi * (t - 5) / (n - 5))) / 2 + t // 7 % 2)),
    ("plateau", dict(factor=0.5, patience=1, threshold=0.02, cooldown=2, min_lr=0.004), lambda o, n: S.ReduceLROnPlateau(
        o, factor=0.5, patience=1, threshold=0.02, cooldown=2, min_lr=0.004)),
    ("plateau", dict(mode="max", factor=0.5, patience=3, threshold=0.01, threshold_mode="abs"), lambda o, n: S.ReduceLROnPlateau(
        o, mode="max", factor=0.5, patience=3, threshold=0.01, threshold_mode="abs")),
]


def schedule(program, kind, options, make, steps, inside=""):
    """Rates, and through the losses also momentum: an epoch is one step here, so plateau sees each step's loss."""
    with tempfile.TemporaryDirectory() as folder:
        run = Run(program, folder, "sgd", dict(lr=0.1, momentum=0.9), True, f'<schedule type="{kind}"{attributes(options)}>{inside}</schedule>', steps)
        optimizer = O.SGD(run.names.values(), lr=0.1, momentum=0.9)
        scheduler = make(optimizer, steps)
        losses, rates = [], []
        for _ in range(steps):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.zero_grad()
            loss = run.loss()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
            scheduler.step(*([losses[-1]] if kind == "plateau" else []))
        return max(written(run.rates, rates), compare(run, optimizer, losses)[0]), "rates"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    torch.set_num_threads(1)
    jobs = []
    for f64 in (True, False):
        for name, make, all_options in CASES:
            jobs += [(f"{name}{attributes(o)} {'f64' if f64 else 'f32'}", 1e-9 if f64 else 2e-5,
                      lambda n=name, m=make, o=o, f=f64: follow(args.program, n, m, o, f)) for o in all_options]
        for clip in (None, "norm", "value", "both"):
            jobs.append((f"{'clip by ' + clip if clip else 'groups'} {'f64' if f64 else 'f32'}", 1e-9 if f64 else 2e-5,
                         lambda c=clip, f=f64: groups(args.program, f, c)))
    jobs += [(f"newton damping {d}", 1e-9, lambda d=d: newton(args.program, d)) for d in (1.0, 2.0)]
    jobs += [(f"torch.optim.Muon{attributes(o)} {'f64' if f else 'f32'}", 2e-3, lambda o=o, f=f: follow(args.program, "muon", Muon, o, f))
             for o in MUON for f in (True, False)]
    for kind, options, make, *inside in SCHEDULES:
        jobs += [(f"schedule {kind}{attributes(options)} {n}", 1e-9,
                  lambda k=kind, o=options, m=make, n=n, i=inside: schedule(args.program, k, o, m, n, *i)) for n in (10, 100)]
    failed = 0
    for name, tolerance, job in jobs:
        if args.only not in name:
            continue
        try:
            worst, place = job()
            why = "" if worst <= tolerance else f"failed at {place}"
        except (RuntimeError, KeyError, subprocess.CalledProcessError) as error:
            worst, why = float("inf"), f"failed: {error}"
        failed += bool(why)
        print(f"{name[:110]:110} {worst:9.1e} {why}")
    print(f"optimisers: {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
