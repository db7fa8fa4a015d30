"""A training step drawn by hand: gradients as values of the graph, and state that gets a new value."""

from case import *


def gradient(of, x, seed=None):
    return torch.autograd.grad(of, x, seed, create_graph=True)[0]


# Of one number, of a tensor with grad_output, of what does not depend on it, and of a gradient again.
for shape in ((), (3,), (2, 3, 4), (0, 3)):
    case("gradient", {}, [normal(*shape)], lambda x, w: gradient((torch.tanh(x[0]) * x[0]).sum(), x[0]),
         nodes=[("t", "tanh", {}), ("m", "mul", {}), ("s", "sum", {})],
         wires=[("a", "t"), ("t", "m.input"), ("a", "m.other"), ("m", "s"), ("s", "n.of"), ("a", "n.wrt")])
    case("gradient", {}, [normal(*shape), normal(*shape)], lambda x, w: gradient(torch.sin(x[0]), x[0], x[1]),
         nodes=[("t", "sin", {})], wires=[("a", "t"), ("t", "n.of"), ("a", "n.wrt"), ("b", "n.grad_output")])
case("gradient", {}, [normal(3), normal(2)], lambda x, w: torch.zeros(2, dtype=torch.float64), grad=False,
     nodes=[("s", "sum", {})], wires=[("a", "s"), ("s", "n.of"), ("b", "n.wrt")])
case("gradient", {}, [normal(4)], lambda x, w: gradient(gradient(torch.exp(x[0]).prod(), x[0]).square().sum(), x[0]),
     nodes=[("e", "exp", {}), ("p", "prod", {}), ("g", "gradient", {}), ("q", "square", {}), ("s", "sum", {})],
     wires=[("a", "e"), ("e", "p"), ("p", "g.of"), ("a", "g.wrt"), ("g", "q"), ("q", "s"), ("s", "n.of"), ("a", "n.wrt")])
# Of a loss with respect to a layer's weight, and of the length of that gradient.
for port in ("weight", "bias"):
    case("gradient", {}, [normal(5, 3), normal(5, 2)],
         lambda x, w, p=port: gradient(F.mse_loss(F.linear(x[0], w["l.weight"], w["l.bias"]), x[1]), w[f"l.{p}"]),
         weights={"l.weight": normal(2, 3), "l.bias": normal(2)},
         nodes=[("l", "linear", {"out_features": 2}), ("m", "mse_loss", {})],
         wires=[("a", "l"), ("l", "m.input"), ("b", "m.target"), ("m", "n.of"), (f"l.{port}", "n.wrt")])


def assign(w, name, value):
    w[name] = value
    return value * 1


for shape in ((), (3,), (2, 3)):
    for mode in ("eval", "train"):
        case("assign", {}, [normal(*shape)], lambda x, w, m=mode: assign(w if m == "train" else {}, "p", x[0]), mode=mode,
             weights={"p": normal(*shape)}, nodes=[("p", "parameter", {"shape": shape})], wires=[("p", "n.target"), ("a", "n.value")], after=("p",))
# The step that everybody writes first: w ← w − 0.1 · ∂loss/∂w. Everything in a step sees the old weight.
case("assign", {}, [normal(5, 3), normal(5, 2)], mode="train", after=("l.weight", "l.bias"),
     fn=lambda x, w: assign(w, "l.weight", w["l.weight"] - 0.1 * gradient(F.mse_loss(F.linear(x[0], w["l.weight"], w["l.bias"]), x[1]), w["l.weight"])),
     weights={"l.weight": normal(2, 3), "l.bias": normal(2)},
     nodes=[("l", "linear", {"out_features": 2}), ("m", "mse_loss", {}), ("g", "gradient", {}), ("h", "mul", {"other": -0.1}), ("s", "add", {})],
     wires=[("a", "l"), ("l", "m.input"), ("b", "m.target"), ("m", "g.of"), ("l.weight", "g.wrt"), ("g", "h.input"), ("h", "s.input"),
            ("l.weight", "s.other"), ("l.weight", "n.target"), ("s", "n.value")])
