"""Random operators where nothing is left to chance, and medians and quantiles. What is random is tested by its distribution
(tests/ops/test-random.c)."""

from case import *

# ---- drawn ----

for op in ("rand", "randn", "exponential"):
    case(op, {"shape": (0, 3)}, [], lambda x, w: torch.zeros(0, 3, dtype=torch.float64), grad=False)
for op in ("rand", "randn"):
    case(op, {}, [normal(0, 2)], lambda x, w: torch.zeros(0, 2, dtype=torch.float64), grad=False)
for low in (-3, 0, 4_000_000_000_000):
    case("randint", {"low": low, "high": low + 1, "shape": (2, 3)}, [], lambda x, w, n=low: torch.full((2, 3), n))
case("randint", {"high": 1, "dtype": "f32"}, [normal(3)], lambda x, w: torch.zeros(3, dtype=torch.float64), grad=False)
for n in (0, 1):
    case("randperm", {"n": n}, [], lambda x, w, n=n: torch.arange(n))
case("randperm", {"dim": 1}, [normal(2, 1)], lambda x, w: torch.zeros(1, dtype=torch.int64), grad=False)
case("bernoulli", {}, [values(0, 1, 1, 0)], lambda x, w: torch.bernoulli(x[0]), grad=False)
for p in (0, 1):
    case("bernoulli", {"p": p, "shape": (2, 3)}, [], lambda x, w, p=p: torch.full((2, 3), p, dtype=torch.float64), grad=False)
    case("bernoulli", {"p": p, "dtype": "bool"}, [None, normal(3)], lambda x, w, p=p: torch.full((3,), p == 1), grad=False)
# The gradient of a number that was drawn is one of means; to a deviation of 0 it is the noise itself.
for mean, shape in (((2, 3), None), ((3,), (2, 3)), ((), None), ((0, 3), None)):
    case("normal", {"std": 0, **({"shape": shape} if shape else {})}, [normal(*mean)],
         lambda x, w, s=shape: x[0].expand(s) + 0 if s else x[0] * 1)
case("normal", {"std": 0, "mean": -2.5}, [None, None, normal(4)], lambda x, w: torch.full((4,), -2.5, dtype=torch.float64), grad=False)
a = normal(2, 3)
case("uniform", {}, [a, a], lambda x, w: x[0] * 1, grad=False)
case("uniform", {"low": 2, "high": 2, "shape": (3,)}, [], lambda x, w: torch.full((3,), 2.0, dtype=torch.float64), grad=False)
for replacement in (True, False):
    case("multinomial", {"num_samples": 1, "replacement": replacement}, [values(0, 0, 2, 0)], lambda x, w: torch.multinomial(x[0], 1), grad=False)
    case("multinomial", {"num_samples": 1, "replacement": replacement}, [np.eye(4, dtype=np.float32)[[2, 0, 3]]],
         lambda x, w: torch.multinomial(x[0], 1), grad=False)
case("multinomial", {"num_samples": 3, "replacement": True}, [values(0, 1)], lambda x, w: torch.multinomial(x[0], 3, replacement=True), grad=False)
case("gumbel_softmax", {"hard": True}, [values(0, 1e6, 0)], lambda x, w: F.gumbel_softmax(x[0], hard=True), grad=False)
case("gumbel_softmax", {"dim": 0}, [normal(1, 3)], lambda x, w: F.gumbel_softmax(x[0], dim=0), grad=False)
case("gumbel_softmax", {}, [normal(0, 3)], lambda x, w: F.gumbel_softmax(x[0]), grad=False)
for params in ({}, {"lower": 0.1, "upper": 0.6}):
    case("rrelu", params, [np.concatenate([normal(6), EDGES])], lambda x, w, p=params: F.rrelu(x[0], **p))
case("rrelu", {"lower": 0.2, "upper": 0.2}, [normal(3, 4)], lambda x, w: F.rrelu(x[0], 0.2, 0.2, training=True), mode="train")
for p in (None, 0.25, 1):
    case("feature_alpha_dropout", {} if p is None else {"p": p}, [normal(2, 3, 4)], lambda x, w: x[0] * 1)
case("feature_alpha_dropout", {"p": 0}, [normal(2, 3)], lambda x, w: F.feature_alpha_dropout(x[0], 0, True), mode="train")
case("feature_alpha_dropout", {"p": 1}, [normal(2, 3)], lambda x, w: torch.zeros(2, 3, dtype=torch.float64), mode="train", grad=False)

# ---- medians and quantiles ----


def distinct(*shape):
    n = int(np.prod(shape))
    return (rng.permutation(n).reshape(shape) * 0.25 - n / 9).astype(np.float32)


def holed(*shape):
    x = distinct(*shape)
    x[rng.random(shape) < 0.3] = nan
    x[..., 0] = 0.1  # of nothing but NaN PyTorch tells any position
    return x


for op, fn in (("median", torch.median), ("nanmedian", torch.nanmedian)):
    for shape in ((), (1,), (2, 3, 4), (9,), (33, 65)):
        case(op, {}, [distinct(*shape)], lambda x, w, f=fn: f(x[0]))
    for shape, dim in (((7,), 0), ((2, 3, 4), 1), ((2, 3, 4), -1), ((0, 3), 1), ((65, 6), 0)):
        for keep in (False, True):
            case(op, {"dim": dim, "keepdim": keep}, [distinct(*shape)],
                 lambda x, w, f=fn, d=dim, k=keep: dict(zip(("out", "indices"), f(x[0], dim=d, keepdim=k))))
    case(op, {}, [values(2, 2, 1, 3, 2, 2)], lambda x, w, f=fn: f(x[0]))
    case(op, {}, [values(1, inf, -inf, 0)], lambda x, w, f=fn: f(x[0]))
    case(op, {"dim": 1}, [holed(5, 4)], lambda x, w, f=fn: {"out": f(x[0], 1).values})
    case(op, {}, [rng.permutation(9)], lambda x, w, f=fn: f(x[0]))
    case(op, {"dim": 0}, [rng.permutation(12).reshape(4, 3).astype(np.int32)],
         lambda x, w, f=fn: dict(zip(("out", "indices"), f(x[0], dim=0))))
case("median", {}, [values(1, nan, 2)], lambda x, w: torch.median(x[0]))
case("nanmedian", {}, [holed(3, 5)], lambda x, w: torch.nanmedian(x[0]))
case("nanmedian", {}, [values(nan, nan)], lambda x, w: torch.nanmedian(x[0]), grad=False)
for op, fn in (("quantile", torch.quantile), ("nanquantile", torch.nanquantile)):
    for how in ("linear", "lower", "higher", "midpoint", "nearest"):
        for q in (0, 0.3, (0.25, 0.5, 0.9), (1, 0)):
            for shape, params in (((7,), {}), ((2, 3, 4), {"dim": 1}), ((2, 3, 4), {"dim": -1, "keepdim": True}), ((2, 5), {"keepdim": True})):
                case(op, {"q": q, "interpolation": how, **params}, [distinct(*shape)],
                     lambda x, w, f=fn, q=q, h=how, p=params: f(x[0], torch.tensor(q, dtype=x[0].dtype), interpolation=h, **p))
    case(op, {"q": 0.5}, [distinct()], lambda x, w, f=fn: f(x[0], 0.5))
case("quantile", {"q": (0.2, 1), "dim": 0}, [holed(6, 3)], lambda x, w: torch.quantile(x[0], torch.tensor([0.2, 1], dtype=x[0].dtype), dim=0), grad=False)
for how in ("linear", "lower", "nearest"):
    case("nanquantile", {"q": (0.2, 0.75), "dim": 1, "interpolation": how}, [holed(4, 9)],
         lambda x, w, h=how: torch.nanquantile(x[0], torch.tensor([0.2, 0.75], dtype=x[0].dtype), dim=1, interpolation=h))
case("nanquantile", {"q": 0.5, "dim": 1}, [np.array([[nan, nan], [1, nan]], np.float32)], lambda x, w: torch.nanquantile(x[0], 0.5, dim=1), grad=False)
