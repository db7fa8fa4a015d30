"""Picking and putting by position, order, running sums, and results whose size the data decides."""

from case import *


def distinct(*shape):
    count = int(np.prod(shape))
    return (rng.permutation(count).reshape(shape) * 0.37 - 2).astype(np.float32)


ROWS = [((4, 3, 2), 1), ((4, 3, 2), -1), ((4, 3, 2), 0), ((5,), 0), ((0, 3), 1), ((3, 0), 1), ((), 0), ((33, 65), 1), ((65, 33), 0),
        ((1,), -1), ((2, 70, 19), 1), ((700,), 0), ((2, 1, 3), 1)]
ODD = np.array([[1, nan, -0.0, 0.0, inf, nan, 2, -1], [-inf, inf, 3, 3, 3, nan, -inf, 0]], np.float32)

# ---- gather, scatter ----

PLACES = [((4, 5), (4, 3), 1), ((4, 5), (7, 5), 0), ((4, 5), (2, 3), 0), ((2, 4, 3), (2, 7, 3), -2), ((2, 4, 3), (1, 2, 9), 2),
          ((5,), (0,), 0), ((5,), (8,), 0), ((), (), 0), ((0, 3), (0, 2), 1), ((33, 65), (20, 130), 1), ((300, 17), (500, 17), 0),
          ((2, 3, 4, 5), (2, 2, 9, 5), 2)]
for shape, index, dim in PLACES:
    n = shape[dim] if shape else 1
    case("gather", {"dim": dim}, [normal(*shape), whole(n, *index)], lambda x, w, d=dim: torch.gather(x[0], d, x[1]))
    case("scatter_add", {"dim": dim}, [normal(*shape), whole(n, *index), normal(*index)],
         lambda x, w, d=dim: torch.scatter_add(x[0], d, x[1], x[2]))
    case("scatter", {"dim": dim, "reduce": "add"}, [normal(*shape), whole(n, *index), normal(*index)],
         lambda x, w, d=dim: torch.scatter(x[0], d, x[1], x[2], reduce="add"), grad=False)
    case("scatter", {"dim": dim, "value": 1.5}, [normal(*shape), whole(n, *index)],
         lambda x, w, d=dim: torch.scatter(x[0], d, x[1], 1.5))
    case("scatter", {"dim": dim, "reduce": "multiply"}, [normal(*shape), whole(n, *index), normal(*index)],
         lambda x, w, d=dim: torch.scatter(x[0], d, x[1], x[2], reduce="multiply"), grad=False, scale=10)
    for reduce in ("amax", "amin"):
        case("scatter", {"dim": dim, "reduce": reduce}, [normal(*shape), whole(n, *index), normal(*index)],
             lambda x, w, d=dim, r=reduce: torch.scatter_reduce(x[0], d, x[1], x[2], r))
    if shape and index[dim] <= n:  # each place once: PyTorch leaves open which of several stays
        once = np.argsort(rng.random(index[:dim % len(shape)] + (n,) + index[dim % len(shape) + 1:]), dim)
        once = np.take(once, range(index[dim]), dim).astype(np.int64)
        case("scatter", {"dim": dim}, [normal(*shape), once, normal(*index)],
             lambda x, w, d=dim: torch.scatter(x[0], d, x[1], x[2]))
case("gather", {"dim": 1}, [whole(9, 4, 5), whole(5, 4, 3)], lambda x, w: torch.gather(x[0], 1, x[1]))
case("gather", {"dim": 1}, [normal(4, 5), whole(5, 4, 3)], lambda x, w: torch.gather(x[0], 1, x[1]), shapes=["B,5", "B,3"])
case("gather", {"dim": 0}, [values(nan, inf, -inf, 1), np.array([0, 2, 1, 0])], lambda x, w: torch.gather(x[0], 0, x[1]))
case("scatter_add", {"dim": 1}, [whole(9, 4, 5), whole(5, 4, 3), whole(9, 4, 6)],
     lambda x, w: torch.scatter_add(x[0], 1, x[1], x[2]))
case("scatter", {"dim": 0}, [np.zeros(4, np.float32), np.array([1, 1, 3]), values(5, 6, 7)],
     lambda x, w: torch.zeros(4).double().index_put((torch.tensor([1, 3]),), x[2][1:]), grad=False)

for shape, n, dim in (((5, 3), 7, 0), ((4, 5, 2), 7, 1), ((2, 3, 4), 3, -1), ((5,), 0, 0), ((2, 5), 0, 1), ((300, 40), 90, 1), ((6, 1, 2), 4, 1)):
    case("index_select", {"dim": dim}, [normal(*shape), whole(shape[dim], n)],
         lambda x, w, d=dim: torch.index_select(x[0], d, x[1]))
case("index_select", {"dim": 0}, [normal(5, 2), np.array(3)], lambda x, w: torch.index_select(x[0], 0, x[1]))
case("index_select", {"dim": 1}, [whole(9, 5, 4), whole(4, 6)], lambda x, w: torch.index_select(x[0], 1, x[1]))
case("index_select", {"dim": 1}, [whole(9, 5, 4), whole(4, 6).astype(np.int32)], lambda x, w: torch.index_select(x[0], 1, x[1]))
for shape, index, dim in (((4, 5), (4, 3), 1), ((3, 5), (1, 2), 1), ((1, 4, 3), (2, 7, 1), -2), ((5,), (0,), 0), ((5,), (9,), 0)):
    case("take_along_dim", {"dim": dim}, [normal(*shape), whole(shape[dim], *index)],
         lambda x, w, d=dim: torch.take_along_dim(x[0], x[1], d))
case("take_along_dim", {}, [normal(2, 3), whole(6, 2, 2)], lambda x, w: torch.take_along_dim(x[0], x[1]))
for shape, n in (((4,), 5), ((4, 5), 3), ((), 1), ((0,), 4), ((2, 3, 4), 70)):
    case("one_hot", {"num_classes": n}, [whole(n, *shape)], lambda x, w, n=n: F.one_hot(x[0], n))

# ---- order ----


def ordered(result):
    return {"out": result[0], "indices": result[1]}


for shape, dim in ROWS:
    for descending in (False, True):
        params = {"dim": dim, "descending": descending}
        case("sort", params, [distinct(*shape)], lambda x, w, d=dim, k=descending: ordered(torch.sort(x[0], d, k)))
        case("sort", {**params, "stable": True}, [whole(4, *shape)],
             lambda x, w, d=dim, k=descending: ordered(torch.sort(x[0], dim=d, descending=k, stable=True)))
        case("argsort", {**params, "stable": True}, [np.round(normal(*shape))],
             lambda x, w, d=dim, k=descending: torch.argsort(x[0], dim=d, descending=k, stable=True))
    n = shape[dim] if shape else 1
    for k in {0, 1, n // 2, n} if shape and n > 0 else {1} if n > 0 else {0}:
        for largest in (True, False):
            case("topk", {"k": k, "dim": dim, "largest": largest}, [distinct(*shape)],
                 lambda x, w, d=dim, k=k, l=largest: ordered(torch.topk(x[0], k, d, l)))
case("sort", {}, [distinct(4, 5)], lambda x, w: ordered(torch.sort(x[0])), shapes=["B,5"])
case("argsort", {}, [distinct(4, 5)], lambda x, w: torch.argsort(x[0]))
case("topk", {"k": 2}, [distinct(4, 5)], lambda x, w: ordered(torch.topk(x[0], 2)), shapes=["B,5"])
case("topk", {"k": 2, "sorted": False}, [rng.permutation(20)], lambda x, w: ordered(torch.topk(x[0], 2)))
for descending in (False, True):
    case("sort", {"dim": 1, "descending": descending}, [ODD],
         lambda x, w, k=descending: ordered(torch.sort(x[0], dim=1, descending=k, stable=True)), grad=False)
    case("sort", {"descending": descending}, [np.array([5, -7, 0, 2**62, -2**62, 5, 1])],
         lambda x, w, k=descending: ordered(torch.sort(x[0], descending=k, stable=True)))
    case("sort", {"descending": descending}, [np.array([True, False, True, False])],
         lambda x, w, k=descending: ordered(torch.sort(x[0], descending=k, stable=True)))
for n in (1, 5, 7, 100):
    case("searchsorted", {"right": n % 2 == 0}, [np.sort(normal(n)), normal(4, 3)],
         lambda x, w, n=n: torch.searchsorted(x[0], x[1], right=n % 2 == 0))
    case("searchsorted", {"right": n % 2 == 1}, [np.sort(whole(5, 3, n)), whole(5, 3, 6)],
         lambda x, w, n=n: torch.searchsorted(x[0], x[1], right=n % 2 == 1))
for right in (False, True):
    case("searchsorted", {"right": right}, [values(1, 2, 2, 3), values(nan, 2, 0, 9, -inf, inf, 3)],
         lambda x, w, r=right: torch.searchsorted(x[0], x[1], right=r))
    case("searchsorted", {"right": right}, [values(1, 2, 2, 3), np.array(2, np.float32)],
         lambda x, w, r=right: torch.searchsorted(x[0], x[1], right=r))

# ---- running along a dimension ----

for shape, dim in ROWS:
    case("cumsum", {"dim": dim}, [normal(*shape)], lambda x, w, d=dim: torch.cumsum(x[0], d))
    case("cumsum", {"dim": dim}, [whole(9, *shape)], lambda x, w, d=dim: torch.cumsum(x[0], d))
    case("cumprod", {"dim": dim}, [positive(*shape) if 700 not in shape else 1 + normal(*shape) * np.float32(0.01)],
         lambda x, w, d=dim: torch.cumprod(x[0], d), scale=3)
    case("cumprod", {"dim": dim}, [whole(3, *shape) + 1], lambda x, w, d=dim: torch.cumprod(x[0], d))
    for op, fn in (("cummax", torch.cummax), ("cummin", torch.cummin)):
        case(op, {"dim": dim}, [normal(*shape)], lambda x, w, f=fn, d=dim: ordered(f(x[0], d)))
        case(op, {"dim": dim}, [whole(4, *shape)], lambda x, w, f=fn, d=dim: ordered(f(x[0], d)))
for op, fn in (("cummax", torch.cummax), ("cummin", torch.cummin)):
    case(op, {"dim": 1}, [ODD], lambda x, w, f=fn: ordered(f(x[0], 1)), grad=False)
case("cumsum", {"dim": 0}, [values(1, inf, 2, -inf, nan)], lambda x, w: torch.cumsum(x[0], 0), grad=False)
case("cumsum", {"dim": 0}, [np.array([True, False, True])], lambda x, w: torch.cumsum(x[0], 0))
case("cumprod", {"dim": 0}, [values(2, 0, 3, 4, 0, 5)], lambda x, w: torch.cumprod(x[0], 0))
case("cumprod", {"dim": 0}, [values(2, -1, 3, 0, 4)], lambda x, w: torch.cumprod(x[0], 0))
case("cumprod", {"dim": 0}, [values(2, inf, 3, nan, 4)], lambda x, w: torch.cumprod(x[0], 0), grad=False)
case("cumsum", {"dim": 1, "exclusive": True}, [normal(4, 5)], lambda x, w: torch.cumsum(x[0], 1) - x[0])
case("cumsum", {"dim": 1, "reverse": True}, [normal(4, 5)], lambda x, w: x[0].flip(1).cumsum(1).flip(1))
case("cumsum", {"dim": 0, "reverse": True, "exclusive": True}, [normal(4, 5)],
     lambda x, w: x[0].flip(0).cumsum(0).flip(0) - x[0])

# ---- masks ----


def mask(*shape):
    return rng.random(shape) < 0.5


for a, b in (((4, 5), (4, 5)), ((4, 5), (5,)), ((1, 3), (2, 1)), ((), ()), ((0,), (0,)), ((3,), ()), ((2, 1, 3), (4, 1))):
    for value in (-1.5, 0, inf, -inf):
        case("masked_fill", {"value": value}, [normal(*a), mask(*b)],
             lambda x, w, v=value: torch.masked_fill(x[0], x[1], v))
case("masked_fill", {"value": 7}, [whole(9, 4, 5), mask(4, 5)], lambda x, w: torch.masked_fill(x[0], x[1], 7))

# ---- sizes that the data decides ----

for a, b in (((4, 5), (4, 5)), ((2, 3), (3,)), ((1, 3), (2, 1)), ((0,), (0,)), ((), ()), ((33, 65), (33, 65)), ((5,), ())):
    case("masked_select", {}, [normal(*a), mask(*b)], lambda x, w: torch.masked_select(x[0], x[1]))
    case("masked_select", {}, [normal(*a), np.zeros(b, bool)], lambda x, w: torch.masked_select(x[0], x[1]))
    case("masked_select", {}, [normal(*a), np.ones(b, bool)], lambda x, w: torch.masked_select(x[0], x[1]))
case("masked_select", {}, [whole(9, 4, 5), mask(4, 5)], lambda x, w: torch.masked_select(x[0], x[1]), shapes=["B,5", "B,5"])
for shape in ((5,), (4, 3), (2, 3, 4), (0,), (2, 0), (), (1,), (33, 65)):
    case("nonzero", {}, [whole(3, *shape)], lambda x, w: torch.nonzero(x[0]))
    case("nonzero", {}, [np.round(normal(*shape))], lambda x, w: torch.nonzero(x[0]))
    case("nonzero", {}, [mask(*shape)], lambda x, w: torch.nonzero(x[0]))
    case("nonzero", {}, [np.zeros(shape, np.float32)], lambda x, w: torch.nonzero(x[0]))
case("nonzero", {}, [values(nan, 0, -0.0, inf)], lambda x, w: torch.nonzero(x[0]))


def different(x, inverse, counts):
    y, i, c = torch.unique(x, return_inverse=True, return_counts=True)
    return {"out": y, **({"inverse": i} if inverse else {}), **({"counts": c} if counts else {})}


for shape in ((7,), (4, 5), (), (1,), (0,), (2, 3, 4), (33, 65)):
    for high in (1, 3, 1000):
        for inverse, counts in ((False, False), (True, False), (False, True), (True, True)):
            case("unique", {"return_inverse": inverse, "return_counts": counts}, [whole(high, *shape)],
                 lambda x, w, i=inverse, c=counts: different(x[0], i, c), grad=False)
            case("unique", {"return_inverse": inverse, "return_counts": counts}, [np.round(normal(*shape) * 2)],
                 lambda x, w, i=inverse, c=counts: different(x[0], i, c), grad=False)
case("unique", {"return_inverse": True, "return_counts": True}, [values(1, nan, inf, 2, nan, 1, -inf)],
     lambda x, w: different(x[0], True, True), grad=False)
case("unique", {"return_inverse": True, "return_counts": True}, [mask(9)], lambda x, w: different(x[0], True, True))

# ---- coordinates ----


def at(indices, batch=0):
    """The list of index tensors that names the places of ONNX's GatherND."""
    lead = [torch.arange(n).reshape([-1 if k == j else 1 for k in range(indices.dim() - 1)])
            for j, n in enumerate(indices.shape[:batch])]
    return tuple(lead) + tuple(indices[..., k] for k in range(indices.shape[-1]))


for shape, index, batch in (((4, 3), (5, 2), 0), ((4, 3, 2), (6, 5, 1), 0), ((4, 3, 2), (2, 1, 2), 0), ((4, 3, 2), (7, 3), 0),
                            ((4, 3, 2), (4, 5, 1), 1), ((2, 3, 3), (2, 2), 1), ((2, 3, 4, 5), (2, 3, 6, 1), 2), ((4,), (0, 1), 0)):
    indices = np.stack([rng.integers(-n, n, index[:-1]) for n in shape[batch:batch + index[-1]]], -1)
    case("gather_nd", {"batch_dims": batch}, [normal(*shape), indices], lambda x, w, b=batch: x[0][at(x[1], b)])
    if batch == 0:
        updates = normal(*index[:-1], *shape[index[-1]:])
        case("scatter_nd", {"reduction": "add"}, [normal(*shape), indices, updates],
             lambda x, w: x[0].index_put(at(x[1]), x[2], accumulate=True))
once = np.array([[2, 1], [-4, 0], [3, 2]])
case("scatter_nd", {}, [normal(4, 3), once, normal(3)], lambda x, w: x[0].index_put(at(x[1]), x[2]))
case("scatter_nd", {}, [normal(4, 3, 2), once[:, :1], normal(3, 3, 2)], lambda x, w: x[0].index_put(at(x[1]), x[2]))
for reduction, name in (("mul", "prod"), ("max", "amax"), ("min", "amin")):
    case("scatter_nd", {"reduction": reduction}, [normal(4, 2), np.array([[1], [3], [1]]), normal(3, 2)],
         lambda x, w, n=name: torch.scatter_reduce(x[0], 0, x[1].expand(3, 2), x[2], n), grad=name != "prod")
for shape, n, dim in (((5, 3), 7, 0), ((4, 5, 2), 7, 1), ((2, 3, 4), 3, -1), ((5,), 0, 0), ((300, 40), 90, 1)):
    slices = list(shape)
    slices[dim] = n
    for alpha in (1, -0.5):
        case("index_add", {"dim": dim, "alpha": alpha}, [normal(*shape), whole(shape[dim], n), normal(*slices)],
             lambda x, w, d=dim, a=alpha: torch.index_add(x[0], d, x[1], x[2], alpha=a))
case("index_add", {"dim": 1}, [whole(9, 2, 4), whole(4, 3), whole(9, 2, 3)], lambda x, w: torch.index_add(x[0], 1, x[1], x[2]))
