"""The operators of LeNet, the perceptrons and the first lessons."""

from case import *

# ---- one input, element by element ----

UNARY = {
    "relu": F.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "exp": torch.exp, "abs": torch.abs, "neg": torch.neg,
    "floor": torch.floor, "sqrt": torch.sqrt, "log": torch.log, "detach": lambda x: x.detach() + 0 * x,
}
for op, fn in UNARY.items():
    make = positive if op in ("sqrt", "log") else normal
    for shape in SHAPES:
        case(op, {}, [make(*shape)], lambda x, w, fn=fn: fn(x[0]))
    edges = np.abs(EDGES) if op in ("sqrt", "log") else EDGES
    case(op, {}, [edges], lambda x, w, fn=fn: fn(x[0]))
    if op != "detach":
        case(op, {}, [values(nan, inf, -inf, 2.0)], lambda x, w, fn=fn: fn(x[0]), grad=False)
    case(op, {}, [make(4, 5)], lambda x, w, fn=fn: fn(x[0]), shapes=["B,5"])
for op in ("exp", "sigmoid", "tanh"):
    case(op, {}, [whole(5, 3, 2)], lambda x, w, fn=UNARY[op]: fn(x[0].double()))
for op in ("abs", "neg", "relu"):
    case(op, {}, [whole(9, 3, 2) - 4], lambda x, w, fn=UNARY[op]: fn(x[0]))
for approximate in ("none", "tanh"):
    for shape in SHAPES:
        case("gelu", {"approximate": approximate}, [normal(*shape)],
             lambda x, w, a=approximate: F.gelu(x[0], approximate=a))
    case("gelu", {"approximate": approximate}, [EDGES], lambda x, w, a=approximate: F.gelu(x[0], approximate=a))
case("relu", {}, [normal(0, 5)], lambda x, w: F.relu(x[0]), shapes=["B,5"])
case("gelu", {}, [normal(3, 4)], lambda x, w: F.gelu(x[0]))
for low, high in ((-0.5, 0.5), (0.1, None), (None, 0.2), (1.0, -1.0), (0, 6)):
    params = {k: v for k, v in (("min", low), ("max", high)) if v is not None}
    for shape in SHAPES:
        case("clamp", params, [normal(*shape) * 3], lambda x, w, a=low, b=high: torch.clamp(x[0], a, b))
    # PyTorch passes the gradient on at a bound.
    case("clamp", params, [values(-0.5, 0.5, 0.0, 6.0, 1.0, -1.0)], lambda x, w, a=low, b=high: torch.clamp(x[0], a, b))
    case("clamp", params, [values(nan, inf, -inf)], lambda x, w, a=low, b=high: torch.clamp(x[0], a, b), grad=False)

# ---- two inputs ----

BROADCASTS = [((2, 3, 4), (2, 3, 4)), ((2, 3, 1), (4,)), ((3, 4), (2, 1, 1)), ((), (2, 3)), ((2, 3), ()), ((0, 3), (3,)),
              ((1,), (5,)), ((4, 1, 3), (1, 2, 1)), ((5, 1), (1, 1)), ((2, 1, 3, 1, 2), (3, 1, 4, 1)), ((), ()),
              ((64, 33), (64, 1)), ((2, 8, 5, 5), (8, 1, 1))]
BINARY = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "pow": torch.pow}
for op, fn in BINARY.items():
    make = positive if op in ("div", "pow") else normal
    for a, b in BROADCASTS:
        case(op, {}, [make(*a), make(*b)], lambda x, w, fn=fn: fn(x[0], x[1]))
    name = "exponent" if op == "pow" else "other"
    for number in (2.5, -1, 0, 1, 2, 3, 0.5, -0.5, -2):
        if op == "div" and number == 0:
            continue
        for shape in ((4, 3), (), (0,)):
            case(op, {name: number}, [make(*shape)], lambda x, w, fn=fn, n=number: fn(x[0], n))
    case(op, {}, [make(4, 3), make(4, 3)], lambda x, w, fn=fn: fn(x[0], x[1]), shapes=["B,3", "B,3"])
for op in ("add", "sub", "mul"):
    case(op, {}, [whole(9, 3, 2), whole(9, 3, 2)], lambda x, w, fn=BINARY[op]: fn(x[0], x[1]))
    case(op, {"other": 3}, [whole(9, 3, 2)], lambda x, w, fn=BINARY[op]: fn(x[0], 3))
for op in ("add", "sub", "mul", "div"):
    case(op, {}, [whole(9, 3, 2) + 1, normal(3, 2)], lambda x, w, fn=BINARY[op]: fn(x[0].double(), x[1]))
case("div", {}, [whole(9, 3, 2), whole(9, 3, 2) + 1], lambda x, w: x[0].double() / x[1].double())
case("div", {}, [values(1, -1, 0, 2), values(0, 0, 0, inf)], lambda x, w: x[0] / x[1], grad=False)
for number in (2, 3, 1, 0):
    case("pow", {"exponent": number}, [values(0, -1.5, 2, -0.0)], lambda x, w, n=number: torch.pow(x[0], n))
case("pow", {"exponent": 0.5}, [values(-1, 4, 0)], lambda x, w: torch.pow(x[0], 0.5), grad=False)
case("pow", {}, [values(-2, -2, -3, 0, 0), values(2, 3, 0, 2, 0)], lambda x, w: torch.pow(x[0], x[1]), grad=False)
case("pow", {}, [values(0, 0, 3, 2), values(2, 3, 0, 1)], lambda x, w: torch.pow(x[0], x[1]))

MATMULS = [((3, 4), (4, 2)), ((2, 5, 4), (4, 3)), ((4, 5, 3), (4, 3, 5)), ((4, 1, 2, 3), (2, 3, 2)), ((4,), (4,)),
           ((4,), (4, 3)), ((4, 2, 4), (4,)), ((3,), (4, 3, 2)), ((0, 4), (4, 2)), ((1, 1), (1, 1)), ((3, 0), (0, 2)),
           ((2, 3), (5, 3, 4)), ((1, 3, 4), (5, 4, 2)), ((3,), (2, 2, 3, 4)), ((64, 33), (33, 17)), ((2, 3, 4), (2, 4, 1)),
           ((2, 2, 2, 3), (2, 1, 3, 2)), ((3, 4), (4,)), ((65, 128), (128, 96))]
for a, b in MATMULS:
    case("matmul", {}, [normal(*a), normal(*b)], lambda x, w: torch.matmul(x[0], x[1]))

# ---- reductions ----

for op, fn in (("sum", torch.sum), ("mean", torch.mean)):
    for shape in ((), (1,), (5,), (4, 3, 2), (0, 3), (33, 65), (2, 3, 4, 5)):
        if op == "mean" and 0 in shape:
            continue
        case(op, {}, [normal(*shape)], lambda x, w, fn=fn: fn(x[0]))
    for shape, dim in (((4, 3, 2), 1), ((4, 3, 2), -1), ((4, 3, 2), (0, -1)), ((4, 3, 2), (0, 1, 2)), ((2, 1, 4), -2),
                       ((0, 3), 1), ((5,), 0), ((2, 3, 4, 5), (1, 3)), ((2, 3, 4, 5), (0, 2, 3)), ((33, 65), 0),
                       ((2, 3, 4, 5), (-1, 0))):
        for keepdim in (False, True):
            case(op, {"dim": dim, "keepdim": keepdim}, [normal(*shape)],
                 lambda x, w, fn=fn, d=dim, k=keepdim: fn(x[0], dim=d, keepdim=k))
case("sum", {}, [whole(9, 3, 2)], lambda x, w: torch.sum(x[0]))
case("sum", {"dim": 0}, [whole(9, 3, 2)], lambda x, w: torch.sum(x[0], 0))
case("sum", {"dim": 0}, [normal(0, 3)], lambda x, w: torch.sum(x[0], 0))
case("mean", {"dim": 0}, [normal(0, 3)], lambda x, w: torch.mean(x[0], 0))


def largest(x, dim, keepdim):
    y, where = torch.max(x, dim, keepdim)
    return {"out": y, "indices": where}


for shape in ((), (1,), (5,), (4, 3, 2), (33, 65)):
    case("max", {}, [normal(*shape)], lambda x, w: torch.max(x[0]))
case("max", {}, [values(1, 3, 3, 2, 3)], lambda x, w: torch.max(x[0]))
case("max", {}, [whole(50, 4, 3)], lambda x, w: torch.max(x[0]))
for shape, dim in (((4, 3, 2), 1), ((4, 3, 2), -1), ((4, 3), 0), ((1,), 0), ((0, 3), 1), ((), 0), ((), -1), ((33, 65), 1)):
    for keepdim in (False, True):
        case("max", {"dim": dim, "keepdim": keepdim}, [normal(*shape)],
             lambda x, w, d=dim, k=keepdim: largest(x[0], d, k))
case("max", {"dim": 1}, [np.array([[1, 3, 3], [5, 5, 1]], np.float32)], lambda x, w: largest(x[0], 1, False))
case("max", {"dim": 1}, [np.array([[1, nan, 3], [-inf, -inf, -inf], [inf, 1, inf]], np.float32)],
     lambda x, w: largest(x[0], 1, False), grad=False)
case("max", {"dim": 0}, [whole(90, 6, 3)], lambda x, w: largest(x[0], 0, False))

for op, fn in (("softmax", torch.softmax), ("log_softmax", torch.log_softmax)):
    for shape, dim in (((4, 5), None), ((4, 3, 4), 1), ((3, 2), 0), ((2, 1), -1), ((0, 3), -1), ((), -1), ((2, 3, 4, 5), -3),
                       ((5,), 0), ((33, 65), 1), ((2, 3, 4, 5), 2), ((3, 1000), -1)):
        case(op, {} if dim is None else {"dim": dim}, [normal(*shape) * 3],
             lambda x, w, fn=fn, d=dim: fn(x[0], -1 if d is None else d))
    case(op, {}, [values(1000, 1001, -1000)], lambda x, w, fn=fn: fn(x[0], -1))
    case(op, {}, [values(-inf, 1, 2)], lambda x, w, fn=fn: fn(x[0], -1), grad=False)

# ---- shapes ----

for shape, start, end in (((4, 3, 2, 2), 1, -1), ((4, 3), 1, -1), ((2, 3, 4), 0, -1), ((4, 2, 3, 4), -3, -2), ((0, 3, 2), 1, -1),
                          ((2, 3, 4), 1, 1), ((5,), 0, 0), ((2, 3, 4), 0, 1)):
    case("flatten", {"start_dim": start, "end_dim": end}, [normal(*shape)],
         lambda x, w, s=start, e=end: torch.flatten(x[0], s, e))
case("flatten", {"start_dim": 0}, [normal()], lambda x, w: torch.flatten(x[0], 0))
case("flatten", {}, [normal(4, 3, 5)], lambda x, w: torch.flatten(x[0], 1), shapes=["B,C,5"])
for shape, to, text, symbols in (((4, 12), (4, 1, 3, 4), "B,1,3,4", "B,12"), ((4, 12), (8, 6), "2B,6", "B,12"),
                                 ((2, 3), (6,), "6", None), ((0, 3), (0, 5), "0,5", None), ((), (1, 1), "1,1", None),
                                 ((1, 1), (), "", None), ((2, 3, 4), (4, 3, 2), "4,3,2", None)):
    case("reshape", {"shape": text}, [normal(*shape)], lambda x, w, t=to: torch.reshape(x[0], t),
         shapes=[symbols] if symbols else None)
for shape, dims in (((4, 5, 3), (0, 2, 1)), ((2, 3, 4, 5), (3, 0, -2, 1)), ((0, 3), (1, 0)), ((3,), (0,)),
                    ((2, 3, 4, 5), (0, 2, 3, 1)), ((2, 3, 1, 2, 2), (4, 3, 2, 1, 0))):
    case("permute", {"dims": dims}, [normal(*shape)], lambda x, w, d=dims: x[0].permute(d))
for shape, a, b in (((4, 5, 3), -2, -1), ((3, 4), 0, 1), ((2, 3, 4, 1), 1, -1), ((0, 3), 0, 1), ((2, 3), 1, 1)):
    case("transpose", {"dim0": a, "dim1": b}, [normal(*shape)], lambda x, w, a=a, b=b: x[0].transpose(a, b))
case("transpose", {}, [normal(4, 5, 3)], lambda x, w: x[0].transpose(-2, -1))
for dim, shapes in ((1, [(4, 3), (4, 2), (4, 1)]), (0, [(2, 3), (1, 3)]), (-1, [(2, 0), (2, 3)]), (1, [(1, 2, 3, 3), (1, 1, 3, 3)]),
                    (0, [(2,)]), (-2, [(2, 3, 4), (2, 5, 4)]), (0, [(1,)] * 5), (1, [(2, 8, 3, 3), (2, 16, 3, 3)]),
                    (2, [(2, 8, 3, 3), (2, 8, 2, 3)])):
    case("concat", {"dim": dim}, [normal(*s) for s in shapes], lambda x, w, d=dim: torch.cat(x, d))
case("concat", {}, [normal(2, 3), normal(1, 3)], lambda x, w: torch.cat(x))
case("concat", {"dim": 1}, [whole(9, 2, 3), whole(9, 2, 1)], lambda x, w: torch.cat(x, 1))

# ---- layers ----

for shape, out in (((4, 3), 5), ((4, 5, 3), 2), ((1,), 1), ((7,), 3), ((0, 3), 4), ((33, 65), 17), ((64, 784), 128)):
    i = shape[-1]  # more than three dimensions are refused: a flatten was forgotten
    case("linear", {"out_features": out}, [normal(*shape)], lambda x, w: F.linear(x[0], w["weight"], w["bias"]),
         weights={"weight": normal(out, i), "bias": normal(out)})
    case("linear", {"out_features": out, "bias": False}, [normal(*shape)], lambda x, w: F.linear(x[0], w["weight"]),
         weights={"weight": normal(out, i)})
case("linear", {"out_features": 2}, [normal(4, 3), normal(2, 3), normal(2)], lambda x, w: F.linear(*x))
case("linear", {"out_features": 2}, [normal(4, 3), normal(2, 3), None], lambda x, w: F.linear(x[0], x[1], w["bias"]),
     weights={"bias": normal(2)})
case("linear", {"out_features": 2}, [normal(4, 3), None, normal(2)], lambda x, w: F.linear(x[0], w["weight"], x[2]),
     weights={"weight": normal(2, 3)})

CONVS = [((4, 3, 6, 5), 4, dict(kernel_size=3)), ((2, 2, 5, 5), 4, dict(kernel_size=3, padding=1, bias=False)),
         ((2, 2, 6, 5), 2, dict(kernel_size=(3, 2), stride=(2, 1), padding=(1, 0))),
         ((1, 1, 5, 6), 2, dict(kernel_size=4, padding="same")), ((2, 3, 7, 6), 2, dict(kernel_size=(2, 5), padding="same")),
         ((1, 2, 9, 9), 2, dict(kernel_size=(3, 4), padding="same", dilation=2)),
         ((2, 4, 5, 5), 4, dict(kernel_size=2, dilation=2, groups=2, padding="valid")),
         ((2, 4, 6, 6), 8, dict(kernel_size=3, groups=4, padding=1)), ((2, 6, 6, 6), 6, dict(kernel_size=3, groups=6)),
         ((1, 1, 1, 1), 3, dict(kernel_size=1)), ((0, 2, 3, 3), 3, dict(kernel_size=1)), ((0, 1, 5, 5), 6, dict(kernel_size=3, padding=1)), ((2, 3, 8, 8), 5, dict(kernel_size=3, stride=2)),
         ((2, 3, 7, 7), 5, dict(kernel_size=3, stride=3, padding=2)), ((2, 16, 9, 9), 32, dict(kernel_size=3, padding=1)),
         ((3, 32, 8, 8), 16, dict(kernel_size=1)), ((2, 1, 28, 28), 6, dict(kernel_size=5, padding=2)),
         ((2, 2, 3, 3), 2, dict(kernel_size=3, padding=3)), ((2, 2, 9, 7), 3, dict(kernel_size=(1, 3), stride=(1, 2), dilation=(1, 2))),
         ((2, 8, 10, 10), 8, dict(kernel_size=3, stride=2, padding=1, dilation=2, groups=2)),
         ((1, 3, 32, 32), 16, dict(kernel_size=7, stride=2, padding=3)), ((2, 16, 6, 6), 16, dict(kernel_size=1, stride=2))]
for shape, out, params in CONVS:
    kernel = params["kernel_size"]
    kernel = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    rest = {k: v for k, v in params.items() if k not in ("kernel_size", "bias")}
    weights = {"weight": normal(out, shape[1] // params.get("groups", 1), *kernel)}
    if params.get("bias", True):
        weights["bias"] = normal(out)
    case("conv2d", {"out_channels": out, **params}, [normal(*shape)],
         lambda x, w, rest=rest: F.conv2d(x[0], w["weight"], w.get("bias"), **rest), weights=weights)
case("conv2d", {"out_channels": 2, "kernel_size": 3}, [normal(2, 3, 6, 6), normal(2, 3, 3, 3), normal(2)],
     lambda x, w: F.conv2d(*x))

POOLS = [((2, 3, 6, 4), dict(kernel_size=2)), ((2, 2, 5, 6), dict(kernel_size=3, stride=2, padding=1)),
         ((1, 2, 5, 5), dict(kernel_size=2, stride=2, ceil_mode=True)), ((2, 3, 7, 7), dict(kernel_size=3, stride=2, ceil_mode=True)),
         ((1, 2, 6, 6), dict(kernel_size=3, stride=2, padding=1, ceil_mode=True)), ((1, 2, 4, 3), dict(kernel_size=(2, 1))),
         ((1, 1, 1, 1), dict(kernel_size=1)), ((2, 8, 9, 9), dict(kernel_size=3, stride=1)), ((2, 16, 8, 8), dict(kernel_size=2, stride=2)),
         ((2, 3, 8, 9), dict(kernel_size=(3, 2), stride=(1, 2), padding=(1, 0))), ((1, 1, 4, 4), dict(kernel_size=3, stride=4, padding=1, ceil_mode=True)),
         ((2, 2, 7, 5), dict(kernel_size=2, stride=3, ceil_mode=True)), ((0, 2, 4, 4), dict(kernel_size=2)),
         ((2, 2, 5, 5), dict(kernel_size=4, stride=3, padding=2, ceil_mode=True))]
for shape, params in POOLS:
    case("max_pool2d", params, [normal(*shape)], lambda x, w, p=params: F.max_pool2d(x[0], **p))
    for extra in ({}, {"count_include_pad": False}, {"divisor_override": 3}, {"count_include_pad": True}):
        both = {**params, **extra}
        case("avg_pool2d", both, [normal(*shape)], lambda x, w, p=both: F.avg_pool2d(x[0], **p))
case("max_pool2d", dict(kernel_size=(2, 3), stride=1, dilation=(2, 1)), [normal(1, 2, 5, 5)],
     lambda x, w: F.max_pool2d(x[0], (2, 3), 1, dilation=(2, 1)))
case("max_pool2d", dict(kernel_size=3, stride=2, dilation=2, padding=1, ceil_mode=True), [normal(2, 2, 9, 8)],
     lambda x, w: F.max_pool2d(x[0], 3, 2, 1, 2, True))
case("max_pool2d", dict(kernel_size=2), [np.ones((1, 2, 4, 4), np.float32)], lambda x, w: F.max_pool2d(x[0], 2))
case("max_pool2d", dict(kernel_size=3, stride=1, padding=1), [-positive(2, 2, 4, 4)], lambda x, w: F.max_pool2d(x[0], 3, 1, 1))
case("max_pool2d", dict(kernel_size=3, stride=1, padding=1), [np.maximum(normal(2, 2, 6, 6), 0)],
     lambda x, w: F.max_pool2d(x[0], 3, 1, 1))
bad = normal(1, 1, 4, 4)
bad[0, 0, 1, 2] = nan
bad[0, 0, 3, 0] = -inf
case("max_pool2d", dict(kernel_size=2), [bad], lambda x, w: F.max_pool2d(x[0], 2), grad=False)


def batch_norm(x, w, training, momentum, eps):
    y = F.batch_norm(x, w.get("running_mean"), w.get("running_var"), w.get("weight"), w.get("bias"), training, momentum, eps)
    if training and "num_batches_tracked" in w:
        w["num_batches_tracked"] += 1
    return y


for mode in ("eval", "train"):
    for shape in ((4, 3, 4, 4), (3, 2, 2, 1), (2, 1, 3, 3), (2, 16, 5, 5), (1, 2, 3, 3), (5, 3, 1, 1)):
        for params in ({}, {"affine": False}, {"momentum": 0.3, "eps": 0.001}, {"track_running_stats": False},
                       {"affine": False, "track_running_stats": False}, {"momentum": 1}, {"momentum": 0}):
            c = shape[1]
            tracked = params.get("track_running_stats", True)
            weights = {"weight": normal(c), "bias": normal(c)} if params.get("affine", True) else {}
            buffers = {"running_mean": normal(c), "running_var": positive(c),
                       "num_batches_tracked": np.array(41, np.int64)} if tracked else {}
            case("batch_norm2d", params, [normal(*shape) * 2 + 1],
                 lambda x, w, t=mode == "train" or not tracked, m=params.get("momentum", 0.1), e=params.get("eps", 1e-5):
                 batch_norm(x[0], w, t, m, e), weights=weights, buffers=buffers, mode=mode, after=tuple(buffers))
case("batch_norm2d", {}, [normal(4, 3, 2, 2) + 300], lambda x, w: batch_norm(x[0], w, True, 0.1, 1e-5), mode="train",
     weights={"weight": normal(3), "bias": normal(3)}, after=("running_mean", "running_var", "num_batches_tracked"), scale=100,
     buffers={"running_mean": normal(3), "running_var": positive(3), "num_batches_tracked": np.array(0, np.int64)})

for shape, normalized in (((4, 6), None), ((2, 3, 4), (3, 4)), ((4, 5, 4), None), ((5,), None), ((2, 3, 4), (2, 3, 4)), ((33, 65), (65,)),
                          ((2, 3, 4, 5), (4, 5)), ((0, 3), None), ((3, 1), None), ((2, 3, 5), (5,))):
    features = normalized or shape[-1:]
    for params in ({}, {"elementwise_affine": False, "eps": 0.001}, {"bias": False}):
        weights = {} if "eps" in params else {"weight": normal(*features)}
        if not params:
            weights["bias"] = normal(*features)
        more = {"normalized_shape": normalized} if normalized else {}
        case("layer_norm", {**more, **params}, [normal(*shape)],
             lambda x, w, f=features, e=params.get("eps", 1e-5): F.layer_norm(x[0], f, w.get("weight"), w.get("bias"), e),
             # The deviation of a single feature is 0 and is divided by √eps: rounding is all there is.
             weights=weights, scale=1000 if features == (1,) else 1)

for shape, n, d in (((4, 5), 10, 3), ((4,), 4, 1), ((), 5, 2), ((0,), 5, 2), ((2, 3, 4), 7, 16), ((64, 3), 5, 33)):
    case("embedding", {"num_embeddings": n, "embedding_dim": d}, [whole(n, *shape)], lambda x, w: F.embedding(x[0], w["weight"]),
         weights={"weight": normal(n, d)})
case("embedding", {"num_embeddings": 6, "embedding_dim": 2}, [whole(6, 4).astype(np.int32)],
     lambda x, w: F.embedding(x[0], w["weight"]), weights={"weight": normal(6, 2)})
case("embedding", {"num_embeddings": 6, "embedding_dim": 2}, [whole(6, 4), normal(6, 2)], lambda x, w: F.embedding(x[0], x[1]))

for p in (None, 0.25, 0, 1):
    case("dropout", {} if p is None else {"p": p}, [normal(4, 8)], lambda x, w: x[0] * 1)

# ---- losses ----

CLASSES = [((4, 5), (4,)), ((2, 3, 5), (2, 5)), ((2, 3, 4, 5), (2, 4, 5)), ((4,), ()), ((1, 1), (1,)), ((64, 10), (64,)), ((2, 1000), (2,))]
for scores, classes in CLASSES:
    n = scores[0] if len(scores) == 1 else scores[1]
    for reduction in ("mean", "sum", "none"):
        for ignore in (None, 0, n - 1):
            if ignore is not None and (n == 1 or len(scores) == 1):
                continue
            target = whole(n, *classes)
            if target.ndim and n > 1:
                target.flat[0] = 0 if ignore else 1  # at least one counts
            params = {"reduction": reduction, **({"ignore_index": ignore} if ignore is not None else {})}
            case("cross_entropy", params, [normal(*scores) * 2, target],
                 lambda x, w, p=params: F.cross_entropy(x[0], x[1], **p))
case("cross_entropy", {}, [normal(4, 3), np.array([1, -100, 2, -100])], lambda x, w: F.cross_entropy(x[0], x[1]))
case("cross_entropy", {}, [normal(2, 3), np.array([-100, -100])], lambda x, w: F.cross_entropy(x[0], x[1]), grad=False)
case("cross_entropy", {"reduction": "sum"}, [normal(0, 4), whole(4, 0)], lambda x, w: F.cross_entropy(x[0], x[1], reduction="sum"))
case("cross_entropy", {}, [normal(3, 4) * 500, whole(4, 3)], lambda x, w: F.cross_entropy(x[0], x[1]))
case("cross_entropy", {}, [normal(4, 3), whole(3, 4)], lambda x, w: F.cross_entropy(x[0], x[1]), shapes=["B,3", "B"])

for a, b in (((4, 3), (4, 3)), ((), ()), ((5,), (5,)), ((2, 3, 4), (2, 3, 4)), ((33, 65), (33, 65))):
    for reduction in (None, "mean", "sum", "none"):
        params = {"reduction": reduction} if reduction else {}
        case("mse_loss", params, [normal(*a), normal(*b)], lambda x, w, p=params: F.mse_loss(x[0], x[1], **p))
case("mse_loss", {"reduction": "none"}, [normal(4, 3), normal(4, 1)],
     lambda x, w: (x[0] - x[1]) ** 2)
case("mse_loss", {}, [normal(4, 3), normal(1, 3)], lambda x, w: ((x[0] - x[1]) ** 2).mean())
case("mse_loss", {"reduction": "sum"}, [normal(0, 2), normal(0, 2)], lambda x, w: ((x[0] - x[1]) ** 2).sum())

# ---- data ----

for shape in ((), (3,), (2, 0), (2, 3, 4)):
    case("parameter", {"shape": shape}, [], lambda x, w: w[""] * 1, weights={"": normal(*shape)})
case("constant", {"value": 2.5}, [], lambda x, w: torch.tensor(2.5, dtype=torch.float64))
case("constant", {"value": "1,0,0,1", "shape": "2,2"}, [], lambda x, w: torch.tensor([[1.0, 0], [0, 1]], dtype=torch.float64))
case("constant", {"value": "1,2,3"}, [], lambda x, w: torch.tensor([1.0, 2, 3], dtype=torch.float64))
case("constant", {"value": 3, "shape": 2, "dtype": "i64"}, [], lambda x, w: torch.tensor([3, 3]))
for shape in ((), (3,), (0, 2), (2, 3, 4)):
    case("output", {}, [normal(*shape)], lambda x, w: x[0] * 1)
case("output", {}, [whole(9, 3)], lambda x, w: x[0] * 1)

# ---- weights that lie as in GPT-2 ----

for shape, out in (((4, 3), 5), ((4, 5, 3), 2), ((33, 65), 17)):
    case("linear", {"out_features": out, "weight_layout": "in_out"}, [normal(*shape)], lambda x, w: x[0] @ w["weight"] + w["bias"],
         weights={"weight": normal(shape[-1], out), "bias": normal(out)})
case("linear", {"out_features": 2, "weight_layout": "in_out"}, [normal(4, 3), normal(3, 2), normal(2)], lambda x, w: torch.addmm(x[2], x[0], x[1]))
