"""Convolution, pooling, normalisation and the other layers, over sequences, images and volumes."""

from case import *


def weights_of(shape, out, params, transposed=False):
    kernel = params["kernel_size"]
    n = len(shape) - 2
    kernel = kernel if isinstance(kernel, tuple) else (kernel,) * n
    groups = params.get("groups", 1)
    pair = (shape[1], out // groups) if transposed else (out, shape[1] // groups)
    weights = {"weight": normal(*pair, *kernel)}
    if params.get("bias", True):
        weights["bias"] = normal(out)
    return weights


def module(kind, i, out, params):
    made = getattr(torch.nn, kind)(i, out, **params)
    return made.double()


def conv(op, kind, shape, out, params, **more):
    weights = weights_of(shape, out, params, "Transpose" in kind)

    def fn(x, w):
        return torch.func.functional_call(module(kind, shape[1], out, params), dict(w), (x[0],))

    case(op, {"out_channels": out, **params}, [normal(*shape)], fn, weights=weights, **more)


# ---- convolutions ----

for shape, out, params in (
        ((4, 3, 6), 4, dict(kernel_size=3)), ((2, 2, 7), 4, dict(kernel_size=3, padding=1, stride=2, bias=False)),
        ((2, 4, 5), 4, dict(kernel_size=2, dilation=2, groups=2, padding="same")), ((2, 4, 9), 8, dict(kernel_size=3, groups=4)),
        ((1, 1, 1), 3, dict(kernel_size=1)), ((0, 2, 3), 3, dict(kernel_size=1)), ((3, 16, 33), 32, dict(kernel_size=5, padding=2)),
        ((2, 1, 28), 6, dict(kernel_size=5)), ((2, 6, 10), 6, dict(kernel_size=4, groups=6, padding="same")),
        ((2, 3, 8), 2, dict(kernel_size=3, padding="valid", dilation=3))):
    conv("conv1d", "Conv1d", shape, out, params)
for mode in ("reflect", "replicate", "circular"):
    for shape, params in (((2, 3, 6), dict(kernel_size=3, padding=2)), ((2, 2, 5), dict(kernel_size=4, padding="same")),
                          ((1, 2, 4), dict(kernel_size=3, padding=3, stride=2))):
        conv("conv1d", "Conv1d", shape, 4, dict(params, padding_mode=mode))
    for shape, params in (((2, 3, 6, 5), dict(kernel_size=3, padding=(2, 1))), ((2, 2, 5, 4), dict(kernel_size=(4, 2), padding="same")),
                          ((1, 2, 4, 5), dict(kernel_size=3, padding=3, stride=2, groups=2)), ((2, 2, 3, 3), dict(kernel_size=2, padding=(0, 2)))):
        conv("conv2d", "Conv2d", shape, 4, dict(params, padding_mode=mode))
    conv("conv3d", "Conv3d", (2, 2, 4, 3, 5), 4, dict(kernel_size=3, padding=(2, 1, 2), padding_mode=mode))
for shape, out, params in (
        ((2, 2, 3, 3, 4), 2, dict(kernel_size=2)), ((1, 2, 4, 3, 3), 4, dict(kernel_size=(3, 1, 2), stride=(2, 1, 1), padding=(1, 0, 1), groups=2)),
        ((1, 1, 3, 2, 3), 1, dict(kernel_size=2, padding="same", dilation=(2, 1, 1), bias=False)), ((1, 1, 1, 1, 1), 3, dict(kernel_size=1)),
        ((0, 2, 3, 2, 2), 3, dict(kernel_size=1)), ((2, 8, 5, 6, 7), 16, dict(kernel_size=3, padding=1)),
        ((2, 4, 5, 5, 5), 4, dict(kernel_size=3, groups=4, stride=2)), ((1, 3, 7, 4, 4), 2, dict(kernel_size=(3, 2, 2), dilation=(2, 1, 2), stride=(2, 1, 1))),
        ((3, 2, 4, 4, 4), 5, dict(kernel_size=(1, 3, 3), padding=(0, 1, 1)))):
    conv("conv3d", "Conv3d", shape, out, params)

TRANSPOSED = [dict(kernel_size=3), dict(kernel_size=3, stride=2, padding=1, output_padding=1), dict(kernel_size=2, stride=2, bias=False),
              dict(kernel_size=2, dilation=3, output_padding=2), dict(kernel_size=3, stride=2, groups=2, padding=1),
              dict(kernel_size=4, stride=3, dilation=2, padding=2, output_padding=1), dict(kernel_size=1), dict(kernel_size=2, padding=1),
              dict(kernel_size=3, stride=4)]
for n, size in ((1, (5,)), (2, (3, 4)), (3, (3, 2, 4))):
    for params in TRANSPOSED:
        conv(f"conv_transpose{n}d", f"ConvTranspose{n}d", (2, 4, *size), 6, params)
    conv(f"conv_transpose{n}d", f"ConvTranspose{n}d", (0, 2, *size), 3, dict(kernel_size=2))
    conv(f"conv_transpose{n}d", f"ConvTranspose{n}d", (1, 1, *(1,) * n), 1, dict(kernel_size=2))
conv("conv_transpose2d", "ConvTranspose2d", (2, 4, 3, 5), 6, dict(kernel_size=(3, 2), stride=(2, 1), padding=(1, 0), output_padding=(1, 0)))
conv("conv_transpose2d", "ConvTranspose2d", (2, 16, 8, 8), 8, dict(kernel_size=4, stride=2, padding=1))
conv("conv_transpose2d", "ConvTranspose2d", (2, 8, 7, 7), 8, dict(kernel_size=3, groups=8, stride=2))
conv("conv_transpose3d", "ConvTranspose3d", (1, 4, 3, 3, 2), 2, dict(kernel_size=(3, 2, 1), stride=(2, 1, 2), padding=(1, 1, 0), output_padding=(1, 0, 1), groups=2))
case("conv_transpose2d", {"out_channels": 2, "kernel_size": 3}, [normal(2, 3, 4, 4), normal(3, 2, 3, 3), normal(2)],
     lambda x, w: F.conv_transpose2d(*x))
case("conv1d", {"out_channels": 2, "kernel_size": 3}, [normal(4, 3, 6)], lambda x, w: F.conv1d(x[0], w["weight"], w["bias"]),
     weights={"weight": normal(2, 3, 3), "bias": normal(2)}, shapes=["B,3,6"])

# ---- pooling ----

POOLS = [dict(kernel_size=2), dict(kernel_size=3, stride=2, padding=1), dict(kernel_size=2, stride=2, ceil_mode=True),
         dict(kernel_size=3, stride=2, ceil_mode=True), dict(kernel_size=3, stride=2, padding=1, ceil_mode=True), dict(kernel_size=1),
         dict(kernel_size=3, stride=1), dict(kernel_size=4, stride=3, padding=2, ceil_mode=True)]
for n, sizes in ((1, [(6,), (7,), (5,)]), (3, [(4, 4, 6), (5, 4, 7), (4, 5, 5)])):
    for size in sizes:
        for params in POOLS:
            case(f"max_pool{n}d", params, [normal(2, 3, *size)],
                 lambda x, w, n=n, p=params: largest(x[0], n, **p))
            for extra in ({}, {"count_include_pad": False}) + (({"divisor_override": 3},) if n == 3 else ()):
                both = {**params, **extra}
                case(f"avg_pool{n}d", both, [normal(2, 3, *size)],
                     lambda x, w, f=getattr(F, f"avg_pool{n}d"), p=both: f(x[0], **p))


def largest(x, n, **params):
    f = getattr(F, f"max_pool{n}d")
    if n == 3:
        return f(x, **params)
    out, indices = f(x, return_indices=True, **params)
    return {"out": out, "indices": indices}


for n, size in ((1, (9,)), (2, (9, 8)), (3, (6, 5, 7))):
    case(f"max_pool{n}d", dict(kernel_size=3, stride=2, dilation=2, padding=1, ceil_mode=True), [normal(2, 2, *size)],
         lambda x, w, n=n: largest(x[0], n, kernel_size=3, stride=2, dilation=2, padding=1, ceil_mode=True))
    case(f"max_pool{n}d", dict(kernel_size=2), [np.ones((1, 2, *size), np.float32)], lambda x, w, n=n: largest(x[0], n, kernel_size=2))
    case(f"max_pool{n}d", dict(kernel_size=3, stride=1, padding=1), [np.maximum(normal(2, 2, *size), 0)],
         lambda x, w, n=n: largest(x[0], n, kernel_size=3, stride=1, padding=1))
    case(f"max_pool{n}d", dict(kernel_size=2), [normal(0, 2, *size)], lambda x, w, n=n: largest(x[0], n, kernel_size=2))
    case(f"avg_pool{n}d", dict(kernel_size=2), [normal(0, 2, *size)], lambda x, w, f=getattr(F, f"avg_pool{n}d"): f(x[0], 2))
case("max_pool2d", dict(kernel_size=(3, 2), stride=(2, 3), padding=(1, 0), dilation=(1, 2)), [normal(2, 3, 7, 9)],
     lambda x, w: largest(x[0], 2, kernel_size=(3, 2), stride=(2, 3), padding=(1, 0), dilation=(1, 2)))
case("max_pool3d", dict(kernel_size=(2, 3, 1), stride=(1, 2, 1), padding=(1, 0, 0), dilation=(2, 1, 1)), [normal(2, 3, 5, 7, 3)],
     lambda x, w: F.max_pool3d(x[0], (2, 3, 1), (1, 2, 1), (1, 0, 0), (2, 1, 1)))
case("avg_pool3d", dict(kernel_size=(2, 3, 1), stride=(1, 2, 1), padding=(1, 0, 0)), [normal(2, 3, 5, 7, 3)],
     lambda x, w: F.avg_pool3d(x[0], (2, 3, 1), (1, 2, 1), (1, 0, 0)))
case("max_pool1d", dict(kernel_size=2), [np.array([[[1, nan, 2, 3, inf, -inf]]], np.float32)], lambda x, w: F.max_pool1d(x[0], 2), grad=False)

for n, pairs in ((1, (((6,), (2,)), ((7,), (3,)), ((5,), (1,)), ((3,), (5,)), ((8,), (8,)), ((10,), (7,)))),
                 (2, (((6, 4), (2, 2)), ((7, 5), (3, 3)), ((5, 3), (1, 1)), ((3, 4), (5, 2)), ((7, 7), (7, 7)), ((8, 10), (7, 4)), ((1, 1), (2, 3))))):
    for size, to in pairs:
        for kind in ("max", "avg"):
            f = getattr(F, f"adaptive_{kind}_pool{n}d")
            case(f"adaptive_{kind}_pool{n}d", {"output_size": to if len(set(to)) > 1 else to[0]}, [normal(2, 3, *size)],
                 lambda x, w, f=f, to=to: f(x[0], to))
    for kind in ("max", "avg"):
        f = getattr(F, f"adaptive_{kind}_pool{n}d")
        case(f"adaptive_{kind}_pool{n}d", {"output_size": 3}, [np.maximum(normal(2, 3, *(7,) * n), 0)], lambda x, w, f=f: f(x[0], 3))
        case(f"adaptive_{kind}_pool{n}d", {"output_size": 3}, [normal(2, 3, *(7,) * n)], lambda x, w, f=f: f(x[0], 3),
             shapes=["B,3" + ",7" * n])

# ---- normalisation ----


def norm(kind, shape, params, mode, scale=1):
    c = shape[1]
    name = {"BatchNorm": "batch_norm", "InstanceNorm": "instance_norm"}[kind[:-2]] + kind[-2:].lower()
    default = kind.startswith("Batch")
    weights = {"weight": normal(c), "bias": normal(c)} if params.get("affine", default) else {}
    tracked = params.get("track_running_stats", default)
    buffers = {"running_mean": normal(c), "running_var": positive(c), "num_batches_tracked": np.array(3, np.int64)} if tracked else {}
    theirs = {k: None if v == "none" else v for k, v in params.items()}

    def fn(x, w):
        layer = getattr(torch.nn, kind)(c, **theirs).double().train(mode == "train")
        own = dict(layer.named_buffers())
        out = torch.func.functional_call(layer, {k: v for k, v in w.items() if k in weights} | {
            k: w[k] for k in own}, (x[0],))
        return out

    case(name, params, [normal(*shape) * 2 + 1], fn, weights=weights, buffers=buffers, mode=mode, after=tuple(buffers), scale=scale)


for mode in ("eval", "train"):
    for kind, shapes in (("BatchNorm1d", [(4, 3), (4, 3, 5), (2, 1, 3), (33, 16)]), ("BatchNorm2d", [(4, 3, 2, 3)]),
                         ("BatchNorm3d", [(2, 3, 2, 3, 2), (1, 2, 2, 2, 2)])):
        for shape in shapes:
            for params in ({}, {"affine": False}, {"momentum": 0.3, "eps": 0.001}, {"track_running_stats": False}, {"momentum": "none"}):
                norm(kind, shape, params, mode)
    for kind, shapes in (("InstanceNorm1d", [(4, 3, 5), (1, 2, 3)]), ("InstanceNorm2d", [(4, 3, 2, 3), (2, 16, 5, 5)]),
                         ("InstanceNorm3d", [(2, 3, 2, 3, 2)])):
        for shape in shapes:
            for params in ({}, {"affine": True}, {"affine": True, "track_running_stats": True}, {"eps": 0.01},
                           {"track_running_stats": True, "momentum": 0.3}, {"track_running_stats": True, "momentum": "none"}):
                norm(kind, shape, params, mode)

for n, shape in ((1, (4, 8, 5)), (2, (4, 8, 3, 2)), (3, (2, 3, 2, 2, 2))):
    for p in (None, 0.25, 0, 1):
        case(f"dropout{n}d", {} if p is None else {"p": p}, [normal(*shape)], lambda x, w: x[0] * 1)

for shape, groups in (((4, 4, 3), 2), ((2, 3, 2, 2), 1), ((2, 6), 3), ((2, 4, 2, 1, 3), 4), ((1, 32, 7, 5), 8)):
    for params in ({}, {"affine": False}, {"eps": 0.01}):
        weights = {"weight": normal(shape[1]), "bias": normal(shape[1])} if params.get("affine", True) else {}
        case("group_norm", {"num_groups": groups, **params}, [normal(*shape) + 1],
             lambda x, w, g=groups, e=params.get("eps", 1e-5): F.group_norm(x[0], g, w.get("weight"), w.get("bias"), e),
             # Two elements become 1 and -1 whatever they are: their gradient is what rounding leaves of nothing.
             weights=weights, scale=1 if np.prod(shape[1:]) > 2 * groups else 1000)
case("group_norm", {"num_groups": 2}, [normal(4, 4, 3)], lambda x, w: F.group_norm(x[0], 2, w["weight"], w["bias"]),
     weights={"weight": normal(4), "bias": normal(4)}, shapes=["B,4,3"])
for shape, normalized in (((4, 6), None), ((2, 3, 4), (3, 4)), ((4, 5, 4), None), ((5,), None), ((33, 65), (65,)), ((2, 3), None), ((0, 3), None)):
    features = normalized or shape[-1:]
    for params in ({}, {"elementwise_affine": False, "eps": 0.001}, {"eps": 0.1}):
        weights = {"weight": normal(*features)} if params.get("elementwise_affine", True) else {}
        case("rms_norm", {**({"normalized_shape": normalized} if normalized else {}), **params}, [normal(*shape)],
             lambda x, w, f=features, e=params.get("eps"): F.rms_norm(x[0], f, w.get("weight"), e), weights=weights)
for shape, params in (((4, 5, 2, 3), dict(size=3)), ((2, 4, 3), dict(size=2, alpha=0.5, beta=0.5, k=2)), ((2, 3, 2, 1, 2), dict(size=5, alpha=1)),
                      ((2, 8, 4, 4), dict(size=1, alpha=2, beta=1.5)), ((2, 16, 4, 4), dict(size=5, alpha=1e-4, beta=0.75, k=2))):
    case("local_response_norm", params, [normal(*shape)], lambda x, w, p=params: F.local_response_norm(x[0], **p))

# ---- rows, pairs, places ----

for shape, n, d, padding in (((4, 5), 10, 3, 0), ((4,), 4, 2, -1), ((), 3, 2, 1), ((2, 3, 4), 5, 8, 4)):
    case("embedding", {"num_embeddings": n, "embedding_dim": d, "padding_idx": padding}, [whole(n, *shape)],
         lambda x, w, p=padding: F.embedding(x[0], w["weight"], p), weights={"weight": normal(n, d)})
case("embedding", {"num_embeddings": 3, "embedding_dim": 2, "padding_idx": 1}, [np.array([1, 1, 0, 2, 1])],
     lambda x, w: F.embedding(x[0], w["weight"], 1), weights={"weight": normal(3, 2)})
for lead, i, j, out in (((4,), 2, 4, 3), ((4, 5), 3, 1, 2), ((), 3, 2, 2), ((0,), 3, 2, 2), ((33,), 17, 9, 12)):
    for bias in (True, False):
        weights = {"weight": normal(out, i, j), **({"bias": normal(out)} if bias else {})}
        case("bilinear", {"out_features": out, "bias": bias}, [normal(*lead, i), normal(*lead, j)],
             lambda x, w: F.bilinear(x[0], x[1], w["weight"], w.get("bias")), weights=weights)
for shape in SHAPES:
    case("identity", {}, [normal(*shape)], lambda x, w: x[0] * 1)
case("identity", {}, [whole(9, 3)], lambda x, w: x[0] * 1)
# Of an empty batch PyTorch's own gradient has the wrong shape.
for shape, r in (((4, 8, 2, 3), 2), ((1, 2, 2), 1), ((2, 1, 18, 1, 2), 3), ((0, 4, 1, 1), 2), ((2, 16, 5, 4), 4)):
    case("pixel_shuffle", {"upscale_factor": r}, [normal(*shape)], lambda x, w, r=r: F.pixel_shuffle(x[0], r), grad=shape[0] > 0)
for shape, r in (((4, 2, 4, 6), 2), ((1, 2, 2), 1), ((2, 1, 2, 3, 3), 3), ((2, 3, 8, 12), 4)):
    case("pixel_unshuffle", {"downscale_factor": r}, [normal(*shape)], lambda x, w, r=r: F.pixel_unshuffle(x[0], r))
# PyTorch leaves an empty one as it is.
case("pixel_unshuffle", {"downscale_factor": 2}, [normal(0, 1, 2, 2)], lambda x, w: x[0].reshape(0, 4, 1, 1))
case("pixel_shuffle", {"upscale_factor": 2}, [whole(9, 2, 4, 1, 2)], lambda x, w: F.pixel_shuffle(x[0], 2))


def enlarge(params):
    theirs = {k: (list(v) if isinstance(v, tuple) else v) for k, v in params.items()}
    return lambda x, w: F.interpolate(x[0], **theirs)


SIZES = {1: [dict(size=7), dict(size=3), dict(scale_factor=2), dict(scale_factor=1.5), dict(size=5), dict(scale_factor=1.3), dict(scale_factor=0.5), dict(size=1)],
         2: [dict(size=7), dict(size=(3, 8)), dict(scale_factor=2), dict(scale_factor=(1.5, 2)), dict(scale_factor=(3, 0.6)), dict(size=(4, 5)), dict(size=1)],
         3: [dict(size=4), dict(size=(3, 5, 2)), dict(scale_factor=2), dict(scale_factor=(1.5, 2, 1))]}
for n, shape in ((1, (2, 3, 5)), (2, (2, 3, 4, 5)), (3, (2, 2, 2, 3, 4))):
    for params in SIZES[n]:
        for mode in ("nearest", "nearest-exact"):
            case("upsample", {**params, "mode": mode}, [normal(*shape)], enlarge({**params, "mode": mode}))
        for mode in {1: ("linear",), 2: ("bilinear", "bicubic"), 3: ("trilinear",)}[n]:
            for align in (False, True):
                both = {**params, "mode": mode, "align_corners": align}
                case("upsample", both, [normal(*shape)], enlarge(both))
case("upsample", {"scale_factor": 2}, [normal(4, 3, 2, 2)], enlarge({"scale_factor": 2}), shapes=["B,3,2,2"])
case("upsample", {"scale_factor": 2, "mode": "bilinear", "align_corners": True}, [normal(2, 4, 33, 31)],
     enlarge({"scale_factor": 2, "mode": "bilinear", "align_corners": True}))
case("upsample", {"size": (64, 37), "mode": "bicubic"}, [normal(1, 2, 19, 23)], enlarge({"size": (64, 37), "mode": "bicubic"}))
case("upsample", {"size": (64, 37)}, [normal(1, 2, 19, 23)], enlarge({"size": (64, 37)}))
case("upsample", {"size": 4}, [normal(0, 2, 2, 2)], lambda x, w: x[0].reshape(0, 2, 1, 4).expand(0, 2, 4, 4))
case("upsample", {"scale_factor": 2}, [np.array([[[nan, 1, inf, -inf]]], np.float32)], enlarge({"scale_factor": 2}), grad=False)
for p in (None, 0.25, 0, 1):
    case("alpha_dropout", {} if p is None else {"p": p}, [normal(4, 8)], lambda x, w: x[0] * 1)
for shape, params in (((4, 2, 3, 4), dict(kernel_size=2)), ((1, 2, 4, 5), dict(kernel_size=(3, 2), padding=(1, 0), stride=(2, 1), dilation=(1, 2))),
                      ((0, 1, 2, 2), dict(kernel_size=1)), ((2, 3, 8, 8), dict(kernel_size=4, stride=4)), ((2, 3, 5, 5), dict(kernel_size=3, padding=3))):
    case("unfold", params, [normal(*shape)], lambda x, w, p=params: F.unfold(x[0], **p))
