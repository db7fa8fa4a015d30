"""Operators that cut, join, repeat and make tensors."""

from case import *


def parts(tensors):
    """Numbered outputs; gradients are taken of the first one."""
    return {str(i): t for i, t in enumerate(tensors)}


# ---- parts ----

INDEX = slice
for shape, params, cut in (
        ((5,), {}, INDEX(None)), ((5,), dict(start=1), INDEX(1, None)), ((5,), dict(start=-2), INDEX(-2, None)),
        ((5,), dict(end=-1), INDEX(None, -1)), ((5,), dict(start=1, end=99, step=2), INDEX(1, 99, 2)),
        ((5,), dict(start=-99, end=3), INDEX(-99, 3)), ((5,), dict(start=3, end=1), INDEX(3, 1)), ((7, 3), dict(step=3), INDEX(0, None, 3)),
        ((0, 3), dict(start=1), INDEX(1, None)), ((1, 3), dict(start=0, end=1), INDEX(0, 1))):
    case("slice", params, [normal(*shape)], lambda x, w, c=cut: x[0][c] * 1)
case("slice", dict(dim=1, start=1, end=3), [normal(4, 4, 2)], lambda x, w: x[0][:, 1:3], shapes=["B,4,2"])
case("slice", dict(dim="1,-1", start="0,1", end="3,9", step=2), [normal(4, 4, 5)], lambda x, w: x[0][:, 0:3:2, 1:9:2])
case("slice", dict(dim="0,1,2,3", start="1,0,2,1", end="9,2,-1,3"), [normal(3, 3, 5, 4)], lambda x, w: x[0][1:9, 0:2, 2:-1, 1:3])
case("slice", dict(dim=-1, step=-1), [normal(4, 5)], lambda x, w: x[0].flip(1))
case("slice", dict(dim=1, start=-1, end=-99, step=-2), [normal(3, 6)], lambda x, w: x[0][:, [5, 3, 1]])
case("slice", dict(dim="0,1", start="4,1", end="1,-99", step="-2,-1"), [normal(6, 3)], lambda x, w: x[0][[4, 2]][:, [1, 0]])
case("slice", dict(start=1, end=3), [whole(9, 4, 2)], lambda x, w: x[0][1:3])
case("slice", dict(dim=1, start=1, step=2), [normal(33, 65)], lambda x, w: x[0][:, 1::2])
for shape, dim, index in (((4, 5, 3), 1, 0), ((4, 3), -1, -1), ((3,), 0, 2), ((0, 2), 1, 1), ((2, 3, 4, 5), 2, -4)):
    case("select", dict(dim=dim, index=index), [normal(*shape)], lambda x, w, d=dim, i=index: x[0].select(d, i))
case("select", dict(index=1), [whole(9, 3, 2)], lambda x, w: x[0][1])
case("select", dict(dim=1, index=-1), [normal(4, 5, 3)], lambda x, w: x[0][:, -1], shapes=["B,T,3"])
for shape, dim, start, length in (((4, 4, 2), 1, 1, 2), ((5,), 0, -2, 2), ((3, 2), 0, 3, 0), ((3, 2), 0, 0, 3), ((2, 3, 4), -1, 1, 3)):
    case("narrow", dict(dim=dim, start=start, length=length), [normal(*shape)],
         lambda x, w, d=dim, s=start, n=length: x[0].narrow(d, s, n))

for shape, params, fn in (
        ((4, 4), dict(split_size=2, dim=1), lambda x: x.split(2, 1)), ((2, 5), dict(split_size=2, parts=3, dim=-1), lambda x: x.split(2, 1)),
        ((6, 2), dict(sections="1,2,3"), lambda x: x.split([1, 2, 3])), ((4, 2), dict(sections="1,0,3"), lambda x: x.split([1, 0, 3])),
        ((2, 3, 9), dict(split_size=3, parts=3, dim=2), lambda x: x.split(3, 2)), ((0, 2), dict(sections="0,0"), lambda x: x.split([0, 0])),
        ((4, 2), dict(split_size=2), lambda x: x.split(2))):
    case("split", params, [normal(*shape)], lambda x, w, fn=fn: parts(fn(x[0])))
for shape, params, fn in (
        ((4, 4), dict(dim=1), lambda x: x.chunk(2, 1)), ((2, 8), dict(chunks=3, dim=-1), lambda x: x.chunk(3, -1)),
        ((5,), dict(chunks=2), lambda x: x.chunk(2)), ((4, 3), dict(chunks=4), lambda x: x.chunk(4)), ((2, 6, 3), dict(chunks=3, dim=1), lambda x: x.chunk(3, 1))):
    case("chunk", params, [normal(*shape)], lambda x, w, fn=fn: parts(fn(x[0])))
for shape, params, fn in (
        ((4, 3, 2), dict(parts=3, dim=1), lambda x: x.unbind(1)), ((2,), {}, lambda x: x.unbind()), ((3, 4), dict(parts=4, dim=-1), lambda x: x.unbind(-1))):
    case("unbind", params, [normal(*shape)], lambda x, w, fn=fn: parts(fn(x[0])))

# ---- joining and repeating ----

for dim, shape, n in ((0, (4, 3), 2), (1, (4, 3), 3), (-1, (2, 3), 2), (0, (), 2), (0, (0, 3), 2), (-2, (2, 3, 4), 2), (2, (2, 3), 4), (0, (3,), 1)):
    case("stack", dict(dim=dim), [normal(*shape) for _ in range(n)], lambda x, w, d=dim: torch.stack(x, d))
case("stack", dict(dim=1), [whole(9, 3), whole(9, 3)], lambda x, w: torch.stack(x, 1))
for shape, to in (((4, 1, 4), (4, 3, 4)), ((3, 4), (2, -1, -1)), ((), (2, 3)), ((1, 3), (4, -1)), ((1, 3), (0, 3)), ((3,), (-1,)),
                  ((2, 1, 3, 1), (2, 4, 3, 5)), ((1, 1), (33, 65))):
    case("expand", dict(shape=to), [normal(*shape)], lambda x, w, t=to: x[0].expand(t))
case("expand", dict(shape="B,3,-1"), [normal(4, 1, 2)], lambda x, w: x[0].expand(4, 3, 2), shapes=["B,1,2"])
for shape, dims in (((4, 2), (1, 3)), ((2, 3), (2,)), ((2, 3), (2, 1, 3)), ((), (2, 2)), ((2, 3), (0, 2)), ((2, 1, 3), (3, 2, 2)), ((5,), (3,)), ((5,), (1,))):
    case("tile", dict(dims=dims), [normal(*shape)], lambda x, w, d=dims: x[0].tile(d))
case("tile", dict(dims=(2, 1)), [whole(9, 2, 3)], lambda x, w: x[0].tile(2, 1))
for shape, n, dim in (((4, 3, 2), 2, 1), ((2, 2), 3, None), ((4, 3), 2, -1), ((2, 3), 0, 0), ((), 2, None), ((3,), 4, 0), ((2, 3, 4), 1, 2)):
    case("repeat_interleave", dict(repeats=n, **({} if dim is None else dict(dim=dim))), [normal(*shape)],
         lambda x, w, n=n, d=dim: x[0].repeat_interleave(n, d))
for shape, dims in (((4, 3, 2), (1,)), ((2, 3, 2), (0, -1)), ((5,), (0,)), ((0, 3), (1,)), ((1, 3), (0,)), ((2, 3, 4, 5), (1, 2)),
                    ((2, 3, 4, 5), (0, 1, 2, 3)), ((33, 65), (1,)), ((33, 65), (0,)), ((2, 16, 9, 9), (1,)), ((2, 16, 9, 9), (3,))):
    case("flip", dict(dims=dims), [normal(*shape)], lambda x, w, d=dims: x[0].flip(d))
case("flip", dict(dims=0), [whole(9, 4, 3)], lambda x, w: x[0].flip(0))
for shape, shifts, dims in (((4, 3, 2), 1, 1), ((2, 3, 4), (-1, 5), (0, -1)), ((2, 3), 2, None), ((0, 3), 1, 0), ((3,), 3, 0), ((5,), -7, 0),
                            ((2, 3), -4, None), ((2, 3, 4), (1, 1), (2, 2)), ((33, 65), (10, -20), (0, 1))):
    case("roll", dict(shifts=shifts, **({} if dims is None else dict(dims=dims))), [normal(*shape)],
         lambda x, w, s=shifts, d=dims: x[0].roll(s, d))

PADS = [((4, 3), (1, 2)), ((2, 3, 4), (1, 0, 0, 2)), ((2, 3, 4), (1, 1, 2, 2, 0, 1)), ((3, 4), (-1, 2, 1, -1)), ((3, 4), (-2, -1)), ((2,), (0, 0)),
        ((0,), (1, 1)), ((2, 3, 5, 5), (2, 1, 1, 2))]
for shape, pad in PADS:
    for value in (None, -1.5):
        case("pad", dict(pad=pad, **({} if value is None else dict(value=value))), [normal(*shape)],
             lambda x, w, p=pad, v=value: F.pad(x[0], p, value=v))
for mode in ("reflect", "replicate", "circular"):
    for shape, pad in (((2, 3, 5), (2, 1)), ((3, 5), (1, 4)), ((2, 3, 5, 6), (2, 1, 3, 0)), ((1, 2, 3, 4, 5), (1, 2, 2, 1, 1, 0)), ((2, 3, 5), (0, 0)),
                       ((2, 2, 7, 7), (3, 3, 3, 3)), ((2, 3, 4), (3, 3))):
        case("pad", dict(pad=pad, mode=mode), [normal(*shape)], lambda x, w, p=pad, m=mode: F.pad(x[0], p, m))
case("pad", dict(pad="2,2", mode="replicate"), [normal(2, 3, 1)], lambda x, w: F.pad(x[0], (2, 2), "replicate"))
case("pad", dict(pad="-1,2", mode="replicate"), [normal(2, 3, 4)], lambda x, w: F.pad(x[0], (-1, 2), "replicate"))
case("pad", dict(pad="1,0,0,1", value=7), [whole(9, 2, 3)], lambda x, w: F.pad(x[0], (1, 0, 0, 1), value=7))
case("pad", dict(pad="1,1"), [whole(2, 3).astype(bool)], lambda x, w: F.pad(x[0], (1, 1)))

# ---- shapes ----

for shape, dim in (((4, 1, 3), 1), ((1, 3, 1), (0, -1)), ((4, 3), 1), ((1, 2, 1, 3), None), ((), None), ((1,), 0), ((1, 1), None), ((0, 1), 1)):
    case("squeeze", {} if dim is None else dict(dim=dim), [normal(*shape)],
         lambda x, w, d=dim: (x[0].squeeze() if d is None else x[0].squeeze(d)) * 1)
for shape, dim in (((4, 3), 1), ((4, 3), -1), ((), 0), ((4, 3), 0), ((2, 3, 4), -3)):
    case("unsqueeze", dict(dim=dim), [normal(*shape)], lambda x, w, d=dim: x[0].unsqueeze(d))
case("unsqueeze", dict(dim="0,3"), [normal(2, 3)], lambda x, w: x[0].reshape(1, 2, 3, 1))
for shape, a, b in (((4, 2, 3, 4), -1, 1), ((2, 3, 4), (0, 1), (-1, 0)), ((3,), 0, 0), ((0, 3), 1, 0), ((2, 3, 4, 5), (3, 0), (0, 2))):
    case("movedim", dict(source=a, destination=b), [normal(*shape)], lambda x, w, a=a, b=b: x[0].movedim(a, b) * 1)
for shape, dim, sizes in (((4, 6), 1, (2, 3)), ((4, 2, 6), -1, (-1, 3)), ((5,), 0, (5, 1)), ((3, 4), 0, (3,)), ((2, 12), 1, (2, -1, 3)), ((0, 4), 1, (2, 2))):
    case("unflatten", dict(dim=dim, sizes=sizes), [normal(*shape)], lambda x, w, d=dim, s=sizes: x[0].unflatten(d, s) * 1)
for shape, to, text, symbols in (((4, 3, 4), (4, 12), "B,-1", "B,3,4"), ((4, 3, 4), (12, 4), "-1,4", "B,3,4"), ((), (1,), "-1", None),
                                 ((0, 5), (0, 5), "-1,5", None), ((2, 3, 4), (2, 2, 6), "2,-1,6", None)):
    case("reshape", dict(shape=text), [normal(*shape)], lambda x, w, t=to: x[0].reshape(t), shapes=[symbols] if symbols else None)
for shape in SHAPES:
    case("shape", {}, [normal(*shape)], lambda x, w: torch.tensor(x[0].shape, dtype=torch.int64))
    case("numel", {}, [normal(*shape)], lambda x, w: torch.tensor(x[0].numel()))
TORCH = {"f32": torch.float64, "f64": torch.float64, "i64": torch.int64, "i32": torch.int32, "u8": torch.uint8, "bool": torch.bool}
for dtype in ("f32", "i64", "i32", "bool"):
    for value in (normal(4, 3) * 3, whole(9, 3, 2), whole(2, 4).astype(bool), values(0, -0.0, 0.5, -0.5, 1.9, -1.9), normal(), normal(0, 2),
                  whole(200, 5).astype(np.int32), whole(200, 5).astype(np.uint8)):
        case("cast", dict(dtype=dtype), [value], lambda x, w, d=dtype: x[0].to(TORCH[d]) * (True if d == "bool" else 1))
case("cast", dict(dtype="u8"), [positive(4, 3) * 100], lambda x, w: x[0].to(torch.uint8))

# ---- matrices ----

for op, fn in (("triu", torch.triu), ("tril", torch.tril)):
    for shape, k in (((3, 4), None), ((4, 3, 3), 1), ((4, 3), -2), ((2, 2), 9), ((0, 3), None), ((2, 2), -9), ((2, 3, 4, 5), 2), ((33, 65), 3)):
        case(op, {} if k is None else dict(diagonal=k), [normal(*shape)], lambda x, w, fn=fn, k=k or 0: fn(x[0], k))
    case(op, {}, [whole(9, 3, 3)], lambda x, w, fn=fn: fn(x[0]))
    case(op, {}, [np.array([[nan, inf], [inf, nan]], np.float32)], lambda x, w, fn=fn: fn(x[0]), grad=False)
for shape, params in (((3, 4), {}), ((4, 3, 3), dict(offset=1, dim1=-2, dim2=-1)), ((2, 3, 4), dict(offset=-1, dim1=2, dim2=0)), ((2, 3), dict(offset=7)),
                      ((5, 2), dict(offset=-3)), ((2, 3, 4, 5), dict(dim1=1, dim2=3)), ((0, 3), {}), ((1, 1), {})):
    case("diagonal", params, [normal(*shape)], lambda x, w, p=params: torch.diagonal(x[0], **p) * 1)
for shape, k in (((3,), 0), ((3,), 1), ((2,), -2), ((3, 4), 1), ((3, 3), -1), ((1,), 0), ((0,), 1), ((4, 3), 0), ((2, 2), 5)):
    case("diag", dict(diagonal=k), [normal(*shape)], lambda x, w, k=k: torch.diag(x[0], k) * 1)
for shape in ((3, 3), (2, 4), (1, 1), (0, 3), (33, 65)):
    case("trace", {}, [normal(*shape)], lambda x, w: torch.trace(x[0]))
case("trace", {}, [whole(9, 3, 4)], lambda x, w: torch.trace(x[0]))
for inputs, order in ((((3,), (4,)), "ij"), (((3,), (2,), (4,)), "xy"), (((3,), (4,)), "xy"), (((3,),), "ij"), (((3,),), "xy"), (((), (2,)), "ij")):
    case("meshgrid", dict(indexing=order), [normal(*s) for s in inputs],
         lambda x, w, o=order: parts([t * 1 for t in torch.meshgrid(*x, indexing=o)]))

# ---- tensors of nothing ----

DTYPES = (("f32", torch.float64), ("i64", torch.int64), ("bool", torch.bool), ("i32", torch.int32), ("u8", torch.uint8))
for name, number in (("zeros", 0), ("ones", 1), ("full", 2.5)):
    value = {"fill_value": number} if name == "full" else {}
    for shape in ((), (3,), (2, 0), (2, 3, 4)):
        case(name, {**value, "shape": shape}, [], lambda x, w, s=shape, n=number: torch.full(s, float(n), dtype=torch.float64))
    case(name, value, [normal(4, 3)], lambda x, w, n=number: torch.full((4, 3), float(n), dtype=torch.float64), shapes=["B,3"])
    case(name, {**value, "dtype": "f32"}, [whole(9, 3)], lambda x, w, n=number: torch.full((3,), float(n), dtype=torch.float64))
    for text, dtype in DTYPES:
        case(name, {**value, "shape": (2, 2), "dtype": text}, [], lambda x, w, d=dtype, n=number: torch.full((2, 2), n).to(d))
case("full", dict(fill_value=3), [whole(9, 3)], lambda x, w: torch.full((3,), 3))
for params in (dict(n=3), dict(n=2, m=4), dict(n=4, m=1), dict(n=0), dict(n=0, m=3)):
    for text, dtype in DTYPES:
        case("eye", {**params, "dtype": text}, [], lambda x, w, p=params, d=dtype: torch.eye(p["n"], p.get("m", p["n"]), dtype=d))
for params, args in ((dict(end=5), (5,)), (dict(start=2, end=9, step=3), (2, 9, 3)), (dict(start=5, end=0, step=-2), (5, 0, -2)), (dict(start=3, end=3), (3, 3))):
    case("arange", params, [], lambda x, w, a=args: torch.arange(*a))
    case("arange", {**params, "dtype": "f32"}, [], lambda x, w, a=args: torch.arange(*a, dtype=torch.float64))
for args in ((0, 1, 0.25), (1, 0, -0.3), (-1, 1.05, 0.1), (0.5, 3, 1)):
    case("arange", dict(start=args[0], end=args[1], step=args[2]), [], lambda x, w, a=args: torch.arange(*a, dtype=torch.float64))
case("arange", dict(dim=1), [whole(9, 4, 5)], lambda x, w: torch.arange(5), shapes=["B,T"])
case("arange", dict(start=1), [normal(4, 3)], lambda x, w: torch.arange(1, 4))
case("arange", dict(dim=0, step=0.5), [normal(4, 3)], lambda x, w: torch.arange(0, 2, 0.5, dtype=torch.float64))
for args in ((0, 1, 5), (2, -2, 1), (0, 1, 0), (-3, 7, 2), (0, 1, 1000)):
    case("linspace", dict(start=args[0], end=args[1], steps=args[2]), [], lambda x, w, a=args: torch.linspace(*a, dtype=torch.float64))
case("constant", dict(value="1,0,1", dtype="bool"), [], lambda x, w: torch.tensor([True, False, True]))
case("constant", dict(value="-1,300,7", dtype="i32"), [], lambda x, w: torch.tensor([-1, 300, 7], dtype=torch.int32))
case("constant", dict(value="9007199254740991,-5", dtype="i64"), [], lambda x, w: torch.tensor([9007199254740991, -5]))
case("constant", dict(value=",".join(map(str, range(4096))), dtype="i64"), [], lambda x, w: torch.arange(4096))
table = rng.standard_normal(1000)
case("constant", dict(value=",".join(map(repr, table.tolist())), shape="10,100"), [], lambda x, w: torch.from_numpy(table).reshape(10, 100))
case("constant", dict(value="3,3,3,1,2,3,4,4,6,8,9,-1", dtype="i32"), [], lambda x, w: torch.tensor([3, 3, 3, 1, 2, 3, 4, 4, 6, 8, 9, -1], dtype=torch.int32))
case("constant", dict(value="0.1,0.2,0.3,0.4,0.5,2.5,4.5,6.5"), [],
     lambda x, w: torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5, 2.5, 4.5, 6.5], dtype=torch.float64))
