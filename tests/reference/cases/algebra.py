"""Linear algebra, formulas of the user's own, and gradients inside a graph."""

from case import *


def spread(*shape):
    """Matrices far from singular."""
    return (normal(*shape) * 0.3 + 2 * np.eye(shape[-1])).astype(np.float32)


def covariance(*shape):
    a = normal(*shape)
    return (a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])).astype(np.float32)


# ---- einsum ----

EINSUM = [("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("ij->ji", (3, 4)), ("ij->", (3, 4)), ("ij->i", (3, 0)), ("ii->i", (4, 4)),
          ("ii", (3, 3)), ("bii->b", (2, 3, 3)), ("iii->i", (2, 2, 2)), ("i,j->ij", (3,), (4,)), ("i,i->", (5,), (5,)),
          ("ij,ij->ij", (2, 3), (2, 3)), ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)), ("...ij,...jk", (2, 3, 4), (4, 2)),
          ("i...->...", (3, 2, 2)), ("bi,io,bo->b", (2, 3), (3, 4), (2, 4)), ("ab,cd->db", (2, 3), (4, 5)),
          ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)), ("ijk,ilm,njm,nlk,abc->", (2, 3, 2), (2, 3, 2), (2, 3, 2), (2, 3, 2),
                                                            (2, 2, 2)),
          ("ij,jk", (3, 4), (4, 5)), ("ba,cb", (3, 4), (5, 3)), ("BA", (2, 3)), ("ijj,jk->ik", (2, 3, 3), (3, 4)),
          ("ij,j->i", (1, 4), (4,)), ("ij,jk->ik", (3, 1), (1, 4)), (" ij , jk -> ik ", (3, 2), (2, 4))]
for equation, *shapes in EINSUM:
    case("einsum", {"equation": equation}, [normal(*s) for s in shapes],
         lambda x, w, e=equation: torch.einsum(e, *x))
case("einsum", {"equation": "bi,bo->io"}, [normal(4, 3), normal(4, 2)], lambda x, w: torch.einsum("bi,bo->io", *x),
     shapes=["B,3", "B,2"])

# ---- products ----

for a, b in (((2, 3, 4), (2, 4, 5)), ((1, 1, 1), (1, 1, 1)), ((0, 2, 3), (0, 3, 2)), ((2, 3, 0), (2, 0, 4))):
    case("bmm", {}, [normal(*a), normal(*b)], lambda x, w: torch.bmm(x[0], x[1]))
for beta, alpha in ((1, 1), (0.5, -2), (0, 3), (2, 0)):
    for c in ((3, 5), (5,), (), (1, 1), (3, 1)):
        case("addmm", {"beta": beta, "alpha": alpha}, [normal(*c), normal(3, 4), normal(4, 5)],
             lambda x, w, b=beta, a=alpha: torch.addmm(x[0], x[1], x[2], beta=b, alpha=a))
case("addmm", {"beta": 0}, [values(nan), normal(2, 3), normal(3, 2)],
     lambda x, w: torch.addmm(x[0], x[1], x[2], beta=0), grad=False)
for n in (0, 1, 7):
    case("dot", {}, [normal(n), normal(n)], lambda x, w: torch.dot(x[0], x[1]))
    case("outer", {}, [normal(n), normal(3)], lambda x, w: torch.outer(x[0], x[1]))
case("dot", {}, [whole(9, 5), whole(9, 5)], lambda x, w: torch.dot(x[0], x[1]))
for dim, a, b in ((-1, (4, 3), (4, 3)), (-1, (3,), (3,)), (0, (3, 2), (3, 2)), (1, (2, 3, 4), (1, 3, 4))):
    case("cross", {"dim": dim}, [normal(*a), normal(*b)], lambda x, w, d=dim: torch.linalg.cross(x[0], x[1], dim=d))

# ---- systems ----

for a, b in (((3, 3), (3, 2)), ((3, 3), (3,)), ((4, 2, 2), (4, 2, 3)), ((4, 2, 2), (4, 2)), ((2, 1, 3, 3), (5, 3, 2)),
             ((1, 1), (1, 1)), ((0, 2, 2), (0, 2, 2)), ((12, 12), (12, 3))):
    case("solve", {}, [spread(*a), normal(*b)], lambda x, w: torch.linalg.solve(x[0], x[1]))
case("solve", {}, [values(0, 2, 1, 3).reshape(2, 2), normal(2, 2)], lambda x, w: torch.linalg.solve(x[0], x[1]))
for shape in ((3, 3), (4, 2, 2), (1, 1), (2, 0, 0), (9, 9)):
    case("inverse", {}, [spread(*shape)], lambda x, w: torch.linalg.inv(x[0]))
    case("det", {}, [spread(*shape)], lambda x, w: torch.linalg.det(x[0]))


class Cofactors(torch.autograd.Function):
    """The determinant with the gradient that PyTorch gives under create_graph."""

    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return torch.linalg.det(a)

    @staticmethod
    def backward(ctx, g):
        a = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            return torch.autograd.grad(torch.linalg.det(a), a, g, create_graph=True)[0].detach()


for matrix in ([[1, 2], [2, 4]], [[0, 0], [0, 0]], [[1, 0, 0], [0, 0, 0], [0, 0, 0]], [[1, 0, 0], [0, 1, 0], [0, 0, 0]], [[0]],
               [[2, 1, 1], [4, 2, 2], [0, 1, 5]], [[0, 1, 2, 3], [0, 4, 5, 6], [0, 7, 8, 1], [0, 2, 1, 1]]):
    case("det", {}, [np.array(matrix, np.float32)], lambda x, w: Cofactors.apply(x[0]))
for shape in ((3, 3), (4, 2, 2), (1, 1), (0, 0), (8, 8)):
    for upper in (False, True):
        # PyTorch reads one half; a symmetric argument makes its gradient the same as ours.
        case("cholesky", {"upper": upper}, [covariance(*shape)],
             lambda x, w, u=upper: torch.linalg.cholesky((x[0] + x[0].mT) / 2, upper=u))
for upper in (False, True):
    for left in (True, False):
        for unit in (False, True):
            for a, b in (((3, 3), (3, 3)), ((4, 2, 2), (4, 2, 2)), ((2, 2), (5, 2, 2)), ((1, 1), (1, 1))):
                case("solve_triangular", {"upper": upper, "left": left, "unitriangular": unit}, [spread(*a), normal(*b)],
                     lambda x, w, u=upper, l=left, n=unit: torch.linalg.solve_triangular(
                         x[0].triu() if u else x[0].tril(), x[1], upper=u, left=l, unitriangular=n))

# ---- formulas ----

ONE = {
    "x * sigmoid(x)": lambda x: x * torch.sigmoid(x), "exp(-x**2) / 2": lambda x: torch.exp(-x**2) / 2,
    "sin(x) + cos(2*x) * tanh(x)": lambda x: torch.sin(x) + torch.cos(2 * x) * torch.tanh(x),
    "gelu(x) - silu(x) + softplus(x)": lambda x: F.gelu(x) - F.silu(x) + F.softplus(x),
    "relu(x - 0.1) + abs(x)": lambda x: F.relu(x - 0.1) + x.abs(), "erf(x) + mish(x)": lambda x: torch.erf(x) + F.mish(x),
    "where(x &gt; 0.1, x, 0.5 * x)": lambda x: torch.where(x > 0.1, x, 0.5 * x),
    "x if x &gt; 0.3 else -x": lambda x: torch.where(x > 0.3, x, -x),
    "clamp(x, -0.5, 0.7)": lambda x: x.clamp(-0.5, 0.7), "elu(x) + selu(x)": lambda x: F.elu(x) + F.selu(x),
    "hardswish(x) + leaky_relu(x)": lambda x: F.hardswish(x) + F.leaky_relu(x),
    "max(x, 0.2) + min(x, -0.1, 0.3)": lambda x: x.clamp(min=0.2) + x.clamp(max=-0.1),
    "-x**2 + 2**-1": lambda x: -x**2 + 0.5, "x % 0.7": lambda x: torch.remainder(x, 0.7), "x // 0.4": lambda x: (x / 0.4).floor(),
    "(x &gt; 0) + (x &gt; 0.5)": lambda x: (x > 0).double() + (x > 0.5).double() + 0 * x,
    "x * (x &gt; 0 and not x &gt; 1 or x &lt; -1)": lambda x: x * (((x > 0) & ~(x > 1)) | (x < -1)),
    "pi * x + e": lambda x: torch.pi * x + np.e, "log1p(exp(x)) * expm1(x)": lambda x: torch.log1p(torch.exp(x)) * torch.expm1(x),
}
for formula, fn in ONE.items():
    for shape in ((), (7,), (0, 3), (2, 3, 4)):
        case("expression", {"formula": formula}, [normal(*shape)], lambda x, w, fn=fn: fn(x[0]), ports=["x"])
for a, b in (((2, 3), (2, 3)), ((4, 1, 3), (2, 1)), ((), (3,)), ((0, 3), (1,))):
    case("expression", {"formula": "a * sigmoid(b * a)"}, [normal(*a), normal(*b)],
         lambda x, w: x[0] * torch.sigmoid(x[1] * x[0]), ports=["a", "b"])
    case("expression", {"formula": "log(a) / b ** a"}, [positive(*a), positive(*b)],
         lambda x, w: torch.log(x[0]) / x[1] ** x[0], ports=["a", "b"])
case("expression", {"formula": "n / 2 + x"}, [whole(9, 3), normal(3)], lambda x, w: x[0] / 2 + x[1], ports=["n", "x"])


class Product(torch.autograd.Function):
    """Scales its second gradient by ten, so that it cannot be mistaken for the true one."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, 10 * g * a


for shape in ((), (5,), (2, 3), (0, 2)):
    case("custom_function", {"forward": "y = a * b", "backward": "a = grad * b; b = 10 * grad_y * a"},
         [normal(*shape), normal(*shape)], lambda x, w: Product.apply(x[0], x[1]), ports=["a", "b"])
    case("custom_function", {"forward": "t = exp(x); y = log(1 + t)", "backward": "s = t / (1 + t); x = grad * s"},
         [normal(*shape)], lambda x, w: F.softplus(x[0]), ports=["x"])
