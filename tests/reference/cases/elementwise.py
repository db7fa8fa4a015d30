"""Comparisons, element-wise mathematics, reductions and activations."""

from case import *

# ---- one input, element by element ----


def unit(*shape):
    return (rng.random(shape) * 1.9 - 0.95).astype(np.float32)


def above1(*shape):
    return (rng.random(shape) * 3 + 1.05).astype(np.float32)


# PyTorch's own has the slope 1/6 in f32 even where everything else is f64.
def hardsigmoid(x):
    return F.relu6(x + 3) / 6


UNARY = {
    "ceil": (torch.ceil, normal), "trunc": (torch.trunc, normal), "sign": (torch.sign, normal), "round": (torch.round, normal),
    "reciprocal": (torch.reciprocal, normal), "rsqrt": (torch.rsqrt, positive), "square": (torch.square, normal),
    "exp2": (torch.exp2, normal), "expm1": (torch.expm1, normal), "log2": (torch.log2, positive),
    "log10": (torch.log10, positive), "log1p": (torch.log1p, positive), "sin": (torch.sin, normal), "cos": (torch.cos, normal),
    "tan": (torch.tan, unit), "asin": (torch.asin, unit), "acos": (torch.acos, unit), "atan": (torch.atan, normal),
    "sinh": (torch.sinh, normal), "cosh": (torch.cosh, normal), "asinh": (torch.asinh, normal), "acosh": (torch.acosh, above1),
    "atanh": (torch.atanh, unit), "erf": (torch.erf, normal), "silu": (F.silu, normal), "selu": (F.selu, normal),
    "softsign": (F.softsign, normal), "hardsigmoid": (hardsigmoid, lambda *s: normal(*s) * 3),
    "hardswish": (F.hardswish, lambda *s: normal(*s) * 3), "relu6": (F.relu6, lambda *s: normal(*s) * 5),
    "mish": (F.mish, normal), "logsigmoid": (F.logsigmoid, normal), "tanhshrink": (F.tanhshrink, normal),
}
# Where a function ends, PyTorch's own slopes are infinite or NaN.
ENDS = {"reciprocal", "rsqrt", "log2", "log10", "log1p", "asin", "acos", "acosh", "atanh"}
# So large that f32 and f64 differ by overflow.
OVERFLOW = {"exp2", "expm1", "sinh", "cosh", "tan"}
for op, (fn, make) in UNARY.items():
    call = lambda x, w, fn=fn: fn(x[0])
    for shape in SHAPES:
        case(op, {}, [make(*shape)], call)
    case(op, {}, [make(4, 5)], call, shapes=["B,5"])
    case(op, {}, [EDGES[:6] if op in OVERFLOW else EDGES], call, grad=op not in ENDS)
    case(op, {}, [values(nan, inf, -inf, 2.0)], call, grad=False)
for op in ("ceil", "trunc", "sign", "square", "round"):
    case(op, {}, [whole(9, 3, 2) - 4], lambda x, w, fn=UNARY[op][0]: fn(x[0]))
for op in ("exp2", "sin", "atan", "erf", "cosh", "expm1", "asinh"):
    case(op, {}, [whole(5, 3, 2)], lambda x, w, fn=UNARY[op][0]: fn(x[0].double()))
case("round", {}, [values(0.5, 1.5, 2.5, -0.5, -1.5, 2.4999)], lambda x, w: torch.round(x[0]))
for decimals in (1, 3, -1, -2):
    case("round", {"decimals": decimals}, [normal(4, 5) * 100], lambda x, w, d=decimals: torch.round(x[0], decimals=d))
for op in ("expm1", "log1p", "asinh", "atanh", "sinh", "tan", "asin", "atan", "erf"):
    case(op, {}, [values(1e-7, -3e-7, 1e-5, 1e-4)], lambda x, w, fn=UNARY[op][0]: fn(x[0]))
for op in ("hardsigmoid", "hardswish", "relu6", "hardtanh"):
    fn = UNARY[op][0] if op in UNARY else F.hardtanh
    case(op, {}, [values(-3, 3, 0, 6, -1, 1, -3.0001, 2.9999)], lambda x, w, fn=fn: fn(x[0]))

# ---- activations with parameters ----

PARAMETERS = {
    "elu": (F.elu, [{}, {"alpha": 0.5}, {"alpha": 2.0}]), "celu": (F.celu, [{}, {"alpha": 0.5}, {"alpha": 2.0}]),
    "leaky_relu": (F.leaky_relu, [{}, {"negative_slope": 0.2}, {"negative_slope": -1.0}]),
    "softplus": (F.softplus, [{}, {"beta": 2.0}, {"beta": 0.5, "threshold": 3.0}, {"threshold": 0.5}]),
    "hardtanh": (F.hardtanh, [{}, {"min_val": -0.5, "max_val": 2.0}]),
    "threshold": (F.threshold, [{"threshold": 0.1, "value": 20.0}, {"threshold": -1.0, "value": -5.0}]),
    "hardshrink": (F.hardshrink, [{}, {"lambd": 1.0}]), "softshrink": (F.softshrink, [{}, {"lambd": 1.0}]),
}
for op, (fn, several) in PARAMETERS.items():
    for params in several:
        call = lambda x, w, fn=fn, p=params: fn(x[0], **p)
        for shape in SHAPES:
            case(op, params, [normal(*shape) * 2], call)
        case(op, params, [EDGES], call)
        case(op, params, [values(nan, inf, -inf, 2.0)], call, grad=False)
case("hardshrink", {}, [values(0.5, -0.5, 0.5001, 0)], lambda x, w: F.hardshrink(x[0]))
case("softshrink", {}, [values(0.5, -0.5, 0.5001, 0)], lambda x, w: F.softshrink(x[0]))
for shape, dim in (((4, 5), None), ((4, 3, 4), 1), ((3, 2), 0), ((2, 1), -1), ((0, 3), -1), ((), -1), ((33, 65), 1)):
    case("softmin", {} if dim is None else {"dim": dim}, [normal(*shape) * 3],
         lambda x, w, d=dim: F.softmin(x[0], -1 if d is None else d))
for shape, dim in (((4, 6), None), ((4, 6, 3), 1), ((2,), 0), ((0, 4), -1), ((3, 0), 1), ((6, 5), -2), ((32, 66), 1)):
    case("glu", {} if dim is None else {"dim": dim}, [normal(*shape)], lambda x, w, d=dim: F.glu(x[0], -1 if d is None else d))
case("glu", {}, [normal(4, 6)], lambda x, w: F.glu(x[0]), shapes=["B,6"])
case("glu", {"dim": 0}, [normal(4, 6)], lambda x, w: F.glu(x[0], 0), shapes=["2B,6"])
for shape, n in (((4, 3), 1), ((4, 3), 3), ((2, 3, 4, 5), 3), ((2, 3, 4), 1), ((), 1), ((5,), 1), ((0, 3), 3), ((33, 65), 65)):
    case("prelu", {"num_parameters": n}, [normal(*shape)], lambda x, w: F.prelu(x[0], w["weight"]), weights={"weight": normal(n)})
case("prelu", {"num_parameters": 3}, [normal(4, 3), normal(3)], lambda x, w: F.prelu(x[0], x[1]))
case("prelu", {}, [EDGES], lambda x, w: F.prelu(x[0], w["weight"]), weights={"weight": normal(1)})

# ---- two inputs ----

PAIRS = [((2, 3, 4), (2, 3, 4)), ((2, 3, 1), (4,)), ((3, 4), (2, 1, 1)), ((), (2, 3)), ((2, 3), ()), ((0, 3), (3,)), ((), ()),
         ((4, 1, 3), (1, 2, 1)), ((2, 1, 3, 1, 2), (3, 1, 4, 1)), ((64, 33), (64, 1))]
BINARY = {"maximum": torch.maximum, "minimum": torch.minimum, "remainder": torch.remainder, "fmod": torch.fmod,
          "atan2": torch.atan2}
for op, fn in BINARY.items():
    call = lambda x, w, fn=fn: fn(x[0], x[1])
    for a, b in PAIRS:
        case(op, {}, [normal(*a) * 3, normal(*b)], call)
    case(op, {}, [normal(4, 3), normal(4, 3)], call, shapes=["B,3", "B,3"])
    case(op, {}, [values(nan, 1, inf, -inf, 3, -3), values(1, nan, 2, -inf, -inf, inf)], call, grad=False)
    case(op, {}, [values(-7, 7, -7, 7, 0, 5.5), values(3, -3, -3, 3, 2, 0.5)], call)
for op in ("maximum", "minimum"):
    case(op, {}, [values(1, 2, 3), values(1, 1, 4)], lambda x, w, fn=BINARY[op]: fn(x[0], x[1]))
    case(op, {}, [whole(9, 3, 2), whole(9, 3, 2)], lambda x, w, fn=BINARY[op]: fn(x[0], x[1]))
    case(op, {"other": 0.5}, [normal(3, 2)], lambda x, w, fn=BINARY[op]: fn(x[0], torch.tensor(0.5).double()))
    case(op, {}, [whole(9, 3, 2), normal(3, 2)], lambda x, w, fn=BINARY[op]: fn(x[0].double(), x[1]))
for op in ("remainder", "fmod"):
    for number in (2.5, -3, 3, 0.7):
        case(op, {"other": number}, [normal(4, 3) * 9], lambda x, w, fn=BINARY[op], n=number: fn(x[0], n))
    for number in (3, -3, -1):
        case(op, {"other": number}, [whole(19, 4, 3) - 9], lambda x, w, fn=BINARY[op], n=number: fn(x[0], n))
    case(op, {"other": 2.5}, [whole(19, 4, 3) - 9], lambda x, w, fn=BINARY[op]: fn(x[0].double(), 2.5))
    case(op, {}, [whole(19, 4, 3) - 9, whole(5, 3) + 1], lambda x, w, fn=BINARY[op]: fn(x[0], x[1]))
    case(op, {}, [whole(19, 4, 3) - 9, -1 - whole(5, 3)], lambda x, w, fn=BINARY[op]: fn(x[0], x[1]))
    case(op, {}, [values(1, -1, 0), values(0, 0, 0)], lambda x, w, fn=BINARY[op]: fn(x[0], x[1]), grad=False)
case("atan2", {}, [values(0, 0, -0.0, 1, -1), values(1, -1, -1, 0, 0)], lambda x, w: torch.atan2(x[0], x[1]))
case("atan2", {}, [values(0, -0.0, 0), values(0, 0, -0.0)], lambda x, w: torch.atan2(x[0], x[1]))
for mode in ("floor", "trunc"):
    case("div", {"rounding_mode": mode}, [values(1, -1, 7, -7, 6, 2.5, inf, -3, 0, 1, -1, nan), values(0.5, 0.5, 2, 2, -3, 0, 2, inf, -1, 0.25, -inf, 1)],
         lambda x, w, m=mode: torch.div(x[0], x[1], rounding_mode=m))
case("div", {"rounding_mode": "floor", "other": 0.1}, [values(1, 0.3, 0.7, -0.6, 5.5)], lambda x, w: torch.div(x[0], 0.1, rounding_mode="floor"), grad=False)
case("remainder", {}, [values(0.5, 3, -3, 1, 5), values(-inf, inf, inf, -0.25, 2)], lambda x, w: torch.remainder(x[0], x[1]))
case("atan2", {}, [whole(9, 3) - 4, whole(9, 3) + 1], lambda x, w: torch.atan2(x[0].double(), x[1].double()))
for mode in ("trunc", "floor"):
    for a, b in PAIRS:
        case("div", {"rounding_mode": mode}, [normal(*a) * 9, normal(*b)],
             lambda x, w, m=mode: torch.div(x[0], x[1], rounding_mode=m))
    case("div", {"rounding_mode": mode}, [whole(19, 4, 3) - 9, whole(4, 3) + 1],
         lambda x, w, m=mode: torch.div(x[0], x[1], rounding_mode=m))
    case("div", {"rounding_mode": mode, "other": -3}, [whole(19, 4, 3) - 9],
         lambda x, w, m=mode: torch.div(x[0], -3, rounding_mode=m))
    case("div", {"rounding_mode": mode, "other": 0.5}, [whole(19, 4, 3) - 9],
         lambda x, w, m=mode: torch.div(x[0].double(), 0.5, rounding_mode=m))
for number in (0, 1, 2, 3, 7):
    case("pow", {"exponent": number}, [whole(9, 4, 3) - 4], lambda x, w, n=number: torch.pow(x[0], n))
case("pow", {}, [whole(9, 4, 3) - 4, whole(6, 3)], lambda x, w: torch.pow(x[0], x[1]))
case("pow", {"exponent": 0.5}, [whole(9, 4, 3)], lambda x, w: torch.pow(x[0].double(), 0.5))

# ---- true and false ----


def flags(*shape):
    return rng.random(shape) < 0.5


COMPARE = {"eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge,
           "logical_and": torch.logical_and, "logical_or": torch.logical_or, "logical_xor": torch.logical_xor}
for op, fn in COMPARE.items():
    call = lambda x, w, fn=fn: fn(x[0], x[1])
    for a, b in PAIRS:
        case(op, {}, [np.round(normal(*a)), np.round(normal(*b))], call)
        case(op, {}, [whole(3, *a), whole(3, *b)], call)
    case(op, {}, [whole(3, 4, 3), np.round(normal(3))], call)
    case(op, {}, [flags(4, 3), flags(4, 3)], call)
    case(op, {}, [flags(4, 3), whole(3, 3)], call)
    case(op, {}, [values(nan, 1, nan, inf, -inf, 0.0), values(nan, nan, 0, inf, inf, -0.0)], call)
    case(op, {}, [whole(3, 4, 3) + 2**53, whole(3, 4, 3) + 2**53], call)
    if not op.startswith("logical"):
        for number in (1, 0.5, -2):
            for x in (np.round(normal(4, 3)), whole(3, 4, 3), normal(), flags(3)):
                case(op, {"other": number}, [x], lambda x, w, fn=fn, n=number: fn(x[0], n))
for op, fn in (("logical_not", torch.logical_not), ("isnan", torch.isnan), ("isinf", torch.isinf)):
    for shape in SHAPES:
        case(op, {}, [np.round(normal(*shape))], lambda x, w, fn=fn: fn(x[0]))
    case(op, {}, [values(nan, inf, -inf, 0, -0.0, 1)], lambda x, w, fn=fn: fn(x[0]))
    case(op, {}, [whole(3, 4, 3)], lambda x, w, fn=fn: fn(x[0]))
    case(op, {}, [flags(4, 3)], lambda x, w, fn=fn: fn(x[0]))
for a, b in PAIRS:
    case("where", {}, [flags(*a), normal(*a), normal(*b)], lambda x, w: torch.where(x[0], x[1], x[2]))
case("where", {}, [flags(4), normal(2, 3, 1), normal(3, 4)], lambda x, w: torch.where(x[0], x[1], x[2]))
case("where", {}, [flags(2, 3, 4), normal(), normal(3, 1)], lambda x, w: torch.where(x[0], x[1], x[2]))
case("where", {}, [flags(4, 3), whole(9, 3), whole(9, 4, 3)], lambda x, w: torch.where(x[0], x[1], x[2]))
case("where", {}, [flags(4, 3), whole(9, 3), normal(4, 3)], lambda x, w: torch.where(x[0], x[1].double(), x[2]))
case("where", {"other": -1.5}, [flags(4, 3), normal(4, 3), None], lambda x, w: torch.where(x[0], x[1], -1.5))

case("where", {"input": 2}, [flags(4, 3), None, whole(9, 3)], lambda x, w: torch.where(x[0], 2, x[2]))
case("where", {"input": 0.5}, [flags(4, 3), None, normal(3)], lambda x, w: torch.where(x[0], 0.5, x[2]))
case("where", {}, [flags(4), values(nan, 1, 2, inf), values(0, nan, -inf, 1)], lambda x, w: torch.where(x[0], x[1], x[2]))

# ---- reductions ----

WHOLE = [(), (1,), (5,), (4, 3, 2), (33, 65), (2, 3, 4, 5)]
ALONG = [((4, 3, 2), 1), ((4, 3, 2), -1), ((4, 3, 2), (0, -1)), ((4, 3, 2), (0, 1, 2)), ((2, 3, 4), -2), ((5,), 0),
         ((2, 3, 4, 5), (1, 3)), ((2, 3, 4, 5), (0, 2, 3)), ((33, 65), 0), ((33, 65), 1)]


def over_all(shape):
    return tuple(range(len(shape)))


def reduction(op, fn, make=normal, params=({},), dims=True, grad=True, empty=((0, 3), 1)):
    """fn(x, dim, keepdim, **params) with dim as a tuple."""
    for p in params:
        for shape in WHOLE:
            case(op, p, [make(*shape)], lambda x, w, p=p, s=shape: fn(x[0], over_all(s), False, **p), grad=grad)
        for shape, dim in ALONG + ([empty] if empty else []):
            if not dims and isinstance(dim, tuple):
                continue
            for keepdim in (False, True):
                case(op, {**p, "dim": dim, "keepdim": keepdim}, [make(*shape)],
                     lambda x, w, p=p, d=dim, k=keepdim: fn(x[0], d if isinstance(d, tuple) else (d,), k, **p), grad=grad)


def product(x, dim, keepdim):
    for d in sorted((d % max(x.dim(), 1) for d in dim), reverse=True):
        x = torch.prod(x, d, keepdim)
    return x


reduction("prod", product, lambda *s: np.sign(normal(*s)) * positive(*s) if s != (33, 65) else (1 + 0.01 * normal(*s)).astype(np.float32))
case("prod", {"dim": 0}, [normal(0, 3)], lambda x, w: torch.prod(x[0], 0))
case("prod", {}, [values(2, 0, 3)], lambda x, w: torch.prod(x[0]))
case("prod", {}, [values(2, 0, 3, 0)], lambda x, w: torch.prod(x[0]))
case("prod", {"dim": 1}, [np.array([[0, 2], [0, 0], [3, 4]], np.float32)], lambda x, w: torch.prod(x[0], 1))
case("prod", {}, [whole(9, 3, 2) + 1], lambda x, w: torch.prod(x[0]))
case("prod", {"dim": 1}, [flags(3, 2)], lambda x, w: torch.prod(x[0], 1))
SPREAD = ({}, {"correction": 0}, {"correction": 1.5})
several = lambda *s: normal(*s) + 3
for op, fn in (("var", torch.var), ("std", torch.std)):
    for p in SPREAD:
        c = p.get("correction", 1)
        for shape in ((5,), (4, 3, 2), (33, 65), (2, 3, 4, 5)):
            case(op, p, [several(*shape)], lambda x, w, fn=fn, c=c: fn(x[0], dim=None, correction=c))
        for shape, dim in ALONG + [((0, 3), 1)]:
            for keepdim in (False, True):
                case(op, {**p, "dim": dim, "keepdim": keepdim}, [several(*shape)],
                     lambda x, w, fn=fn, d=dim, k=keepdim, c=c: fn(x[0], dim=d, correction=c, keepdim=k))
    case(op, {}, [normal(1)], lambda x, w, fn=fn: fn(x[0]), grad=False)
    case(op, {"dim": 0}, [normal(0, 3)], lambda x, w, fn=fn: fn(x[0], 0), grad=False)
    case(op, {}, [values(2, 2, 2)], lambda x, w, fn=fn: fn(x[0]))
    case(op, {}, [normal(4, 3) * 1e-3 + 1000], lambda x, w, fn=fn: fn(x[0]), scale=1e3)
vector_norm = lambda x, dim, keepdim, p=2.0: torch.linalg.vector_norm(x, float(p), dim, keepdim)
reduction("norm", vector_norm, params=({}, {"p": 1}, {"p": 3}, {"p": 1.5}, {"p": 0.5}, {"p": 0}, {"p": -1}, {"p": -2.5}))
reduction("norm", vector_norm, params=({"p": "inf"}, {"p": "-inf"}), empty=None)
for p in (2, 1, 3, 1.5, 0.5, 0):
    case("norm", {"p": p, "dim": 1}, [np.array([[0, 0, 0], [0, 3, -4]], np.float32)],
         lambda x, w, p=p: torch.linalg.vector_norm(x[0], p, 1))
case("norm", {"p": "inf"}, [values(3, -3, 1, 3)], lambda x, w: torch.linalg.vector_norm(x[0], inf))
case("norm", {}, [values(nan, 1)], lambda x, w: torch.linalg.vector_norm(x[0]), grad=False)
case("norm", {}, [values(inf, 1)], lambda x, w: torch.linalg.vector_norm(x[0]), grad=False)
reduction("logsumexp", torch.logsumexp, lambda *s: normal(*s) * 3)
case("logsumexp", {}, [values(1000, 1001, -1000)], lambda x, w: torch.logsumexp(x[0], 0))
case("logsumexp", {}, [values(-inf, 1, 2)], lambda x, w: torch.logsumexp(x[0], 0), grad=False)
case("logsumexp", {}, [values(-inf, -inf)], lambda x, w: torch.logsumexp(x[0], 0), grad=False)
case("logsumexp", {}, [values(inf, 1)], lambda x, w: torch.logsumexp(x[0], 0), grad=False)
case("logsumexp", {"dim": 0}, [normal(0, 3)], lambda x, w: torch.logsumexp(x[0], 0), grad=False)
case("logsumexp", {}, [whole(9, 3, 2)], lambda x, w: torch.logsumexp(x[0].double(), (0, 1)))
for op, fn in (("amax", torch.amax), ("amin", torch.amin)):
    reduction(op, fn)
    case(op, {}, [values(3, 1, 3, 1)], lambda x, w, fn=fn: fn(x[0], ()))
    case(op, {"dim": 1}, [whole(5, 4, 6)], lambda x, w, fn=fn: fn(x[0], 1))
    case(op, {"dim": 1}, [flags(4, 3)], lambda x, w, fn=fn: fn(x[0], 1))
    case(op, {"dim": 1}, [np.array([[1, nan, 3], [inf, -inf, 0]], np.float32)], lambda x, w, fn=fn: fn(x[0], 1), grad=False)
for op, fn in (("any", torch.any), ("all", torch.all)):
    for make in (flags, lambda *s: whole(2, *s), lambda *s: np.round(normal(*s) * 0.4)):
        reduction(op, lambda x, dim, k, fn=fn: fn(x, dim, k) if dim else fn(x), make)
    for shape in ((0,), (0, 3)):
        case(op, {}, [flags(*shape)], lambda x, w, fn=fn: fn(x[0]))
        case(op, {"dim": 0}, [normal(*shape)], lambda x, w, fn=fn: fn(x[0], 0))
    case(op, {}, [values(nan, 0)], lambda x, w, fn=fn: fn(x[0]))
for op, fn in (("argmax", torch.argmax), ("argmin", torch.argmin)):
    for shape in WHOLE:
        case(op, {}, [normal(*shape)], lambda x, w, fn=fn: fn(x[0]))
        case(op, {"keepdim": True}, [normal(*shape)], lambda x, w, fn=fn: fn(x[0], keepdim=True))
    for shape, dim in ALONG + [((0, 3), 1), ((), 0), ((), -1)]:
        for keepdim in (False, True):
            if not isinstance(dim, tuple):
                case(op, {"dim": dim, "keepdim": keepdim}, [normal(*shape)], lambda x, w, fn=fn, d=dim, k=keepdim: fn(x[0], d, k))
    case(op, {"dim": 1}, [np.array([[1, 3, 3, 1], [5, 5, 1, 1]], np.float32)], lambda x, w, fn=fn: fn(x[0], 1))
    case(op, {"dim": 1}, [np.array([[1, nan, 3, nan], [inf, -inf, 0, inf]], np.float32)], lambda x, w, fn=fn: fn(x[0], 1))
    case(op, {"dim": 1}, [whole(99, 4, 6)], lambda x, w, fn=fn: fn(x[0], 1))


def smallest(x, dim, keepdim):
    y, where = torch.min(x, dim, keepdim)
    return {"out": y, "indices": where}


for shape in WHOLE:
    case("min", {}, [normal(*shape)], lambda x, w: torch.min(x[0]))
case("min", {}, [values(1, 3, 1, 2, 3)], lambda x, w: torch.min(x[0]))
case("min", {}, [whole(50, 4, 3)], lambda x, w: torch.min(x[0]))
for shape, dim in (((4, 3, 2), 1), ((4, 3, 2), -1), ((4, 3), 0), ((1,), 0), ((0, 3), 1), ((), 0), ((), -1), ((33, 65), 1)):
    for keepdim in (False, True):
        case("min", {"dim": dim, "keepdim": keepdim}, [normal(*shape)], lambda x, w, d=dim, k=keepdim: smallest(x[0], d, k))
case("min", {"dim": 1}, [np.array([[1, 3, 1], [5, 5, 8]], np.float32)], lambda x, w: smallest(x[0], 1, False))
case("min", {"dim": 1}, [np.array([[1, nan, 3], [-inf, -inf, -inf], [inf, 1, inf]], np.float32)],
     lambda x, w: smallest(x[0], 1, False), grad=False)
case("min", {"dim": 0}, [whole(90, 6, 3)], lambda x, w: smallest(x[0], 0, False))

# ---- penalty ----

penalty = lambda factor: lambda x, w: factor * sum((v * v).sum() for v in x)
for factor in (None, 0.1, 0.0):
    params = {} if factor is None else {"lambda": factor}
    for shapes in ([(3, 4)], [(3, 4), (3,), ()], [(0,)], [(33, 65), (65,)]):
        case("l2_penalty", params, [normal(*s) for s in shapes], penalty(0.0005 if factor is None else factor))
