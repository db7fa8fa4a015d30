"""PyTorch's own samples (OpInfo) as cases: what the arguments of its functions are called among our ports and parameters.

`TABLE` names, for each operator, one or several OpInfos and the names of their positional arguments; keyword arguments are
named by PyTorch. A tensor must land on a port and a number on a parameter of that name. A sample that uses something that the
operator does not have is no case: it is counted, with what it used, and make.py tells. Values are rounded to f32, so that both
precisions are held against one reference."""

import collections
import itertools
import random
import sys
import types
import unittest
import warnings
import zlib

import numpy as np
import torch

# PyTorch's table of samples imports its test helpers, and those a package that only its own golden files need.
sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase))
warnings.filterwarnings("ignore")
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from case import Case  # noqa: E402

INFOS = {info.name + ("." + info.variant_test_name if info.variant_test_name else ""): info for info in op_db}
MOST, MOST_WHOLE = 300, 40  # samples of one OpInfo that are looked at: of f64, and of each other type


class Unsupported(Exception):
    """The arguments of a sample that the operator does not have."""


def same(names, arguments, prefix=""):
    return {name: [(prefix + name, arguments)] for name in names.split()}


def functional(names, arguments):
    return same(names, arguments, "nn.functional.")


REDUCED = "input dim keepdim"
CONV = "input weight bias stride padding dilation groups"
POOL = "input kernel_size stride padding"
TABLE = {
    **same("abs acos acosh asin asinh atan atanh ceil cos cosh erf exp exp2 expm1 floor isinf isnan log log10 log1p log2 logical_not neg "
           "reciprocal rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc trace det inverse nonzero", "input"),
    **functional("relu silu mish selu relu6 hardsigmoid hardswish logsigmoid softsign tanhshrink", "input"),
    **functional("leaky_relu", "input negative_slope"), **functional("elu celu", "input alpha"),
    **functional("softplus", "input beta threshold"), **functional("hardtanh", "input min_val max_val"),
    **functional("hardshrink softshrink", "input lambd"), **functional("threshold", "input threshold value"),
    **functional("glu softmin", "input dim"), **functional("gelu", "input approximate"), **functional("prelu", "input weight"),
    **same("softmax log_softmax cumsum cumprod cummax cummin unsqueeze", "input dim"),
    "squeeze": [("squeeze", "input dim"), ("squeeze.multiple", "input dim")],
    **same("add sub mul maximum minimum remainder fmod atan2 eq ne lt le gt ge logical_and logical_or logical_xor", "input other"),
    "div": [(f"div.{kind}", "input other") for kind in ("no_rounding_mode", "trunc_rounding", "floor_rounding")],
    **same("pow", "input exponent"),
    **same("sum mean prod amax amin argmax argmin logsumexp all any", REDUCED),
    "var": [("var", REDUCED), ("var.unbiased", "input unbiased")], "std": [("std", REDUCED), ("std.unbiased", "input unbiased")],
    "max": [("max.reduction_with_dim", REDUCED), ("max.reduction_no_dim", "input")], **same("median nanmedian", REDUCED),
    **same("quantile nanquantile", "input q dim keepdim interpolation"),
    "min": [("min.reduction_with_dim", REDUCED), ("min.reduction_no_dim", "input")],
    "norm": [("linalg.vector_norm", "input p dim keepdim"), ("norm", "input p dim keepdim")],
    "round": [("round", "input"), ("round.decimals_0", "input"), ("round.decimals_3", "input"), ("round.decimals_neg_3", "input")],
    "clamp": [("clamp", "input min max"), ("clamp_min", "input min"), ("clamp_max", "input max")],
    **same("matmul", "input other"), **same("bmm", "input mat2"), **same("addmm", "input mat1 mat2"), **same("dot", "input tensor"),
    **same("outer", "input vec2"), **same("cross", "input other dim"), **same("einsum", "inputs equation"),
    "solve": [("linalg.solve", "a b")], "solve_triangular": [("linalg.solve_triangular", "a b")],
    "cholesky": [("linalg.cholesky", "input")],
    "det": [("linalg.det", "input")], "inverse": [("linalg.inv", "input")],
    **same("searchsorted", "sorted_sequence input"), **same("where", "input condition other"), **same("masked_fill", "input mask value"),
    **same("masked_select", "input mask"), **same("reshape", "input shape"), "concat": [("cat", "inputs dim")],
    **same("transpose", "input dim0 dim1"), **same("permute flip", "input dims"), **same("movedim", "input source destination"),
    **same("unflatten", "input dim sizes"), **same("flatten", "input start_dim end_dim"), **same("slice", "input dim start end step"),
    **same("select", "input dim index"), **same("narrow", "input dim start length"),
    "split": [("split", "input split_size dim"), ("split.list_args", "input sections dim"), ("split_with_sizes", "input sections dim")],
    **same("chunk", "input chunks dim"), **same("unbind", "input dim"), **same("stack", "inputs dim"), **same("expand", "input shape"),
    **same("tile", "input dims"), **same("repeat_interleave", "input repeats dim"), **same("roll", "input shifts dims"),
    "pad": [(f"nn.functional.pad.{kind}", "input pad mode value") for kind in ("constant", "reflect", "replicate", "replicate_negative", "circular")],
    **same("triu tril diag", "input diagonal"), **same("diagonal", "input offset dim1 dim2"),
    "meshgrid": [("meshgrid.list_of_tensors", "inputs")],
    **same("gather", "input dim index"), **same("scatter", "input dim index src"), **same("scatter_add", "input dim index src"),
    **same("index_select", "input dim index"), **same("index_add", "input dim index source"), **same("take_along_dim", "input indices dim"),
    **functional("one_hot", "input num_classes"), **same("sort argsort", "input dim descending"), **same("topk", "input k dim largest sorted"),
    **same("unique", "input"), **same("linspace", "start end steps"), **same("eye", "n m"), **same("full", "shape fill_value"),
    **same("zeros ones", "shape"),
    "linear": [("nn.functional.linear", "input weight bias")], "bilinear": [("nn.functional.bilinear", "input1 input2 weight bias")],
    "embedding": [("nn.functional.embedding", "weight input")],
    **functional("conv1d conv2d conv3d", CONV),
    **functional("conv_transpose1d conv_transpose2d conv_transpose3d", "input weight bias stride padding output_padding groups dilation"),
    **functional("max_pool1d max_pool2d max_pool3d", POOL + " dilation ceil_mode"),
    **functional("avg_pool1d", POOL + " ceil_mode count_include_pad"), **functional("avg_pool2d avg_pool3d", POOL + " ceil_mode count_include_pad divisor_override"),
    **functional("adaptive_max_pool1d adaptive_max_pool2d adaptive_avg_pool1d adaptive_avg_pool2d", "input output_size return_indices"),
    **{f"batch_norm{n}d": [("nn.functional.batch_norm", "input running_mean running_var weight bias training momentum eps")] for n in (1, 2, 3)},
    **{f"instance_norm{n}d": [("nn.functional.instance_norm", "input running_mean running_var weight bias use_input_stats momentum eps")] for n in (1, 2, 3)},
    **functional("layer_norm", "input normalized_shape weight bias eps"), **functional("group_norm", "input num_groups weight bias eps"),
    **functional("rms_norm", "input normalized_shape weight eps"), **functional("local_response_norm", "input size alpha beta k"),
    **functional("pixel_shuffle", "input upscale_factor"), **functional("pixel_unshuffle", "input downscale_factor"),
    **functional("unfold", "input kernel_size dilation padding stride"),
    "upsample": [(f"nn.functional.interpolate.{kind}", "input size scale_factor mode align_corners") for kind in ("nearest", "linear", "bilinear")],
    **functional("cosine_similarity", "x1 x2 dim eps"), **functional("pairwise_distance", "x1 x2 p eps keepdim"),
    **functional("cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss huber_loss soft_margin_loss hinge_embedding_loss kl_div poisson_nll_loss "
                 "multi_margin_loss", "input target"),
    **functional("binary_cross_entropy binary_cross_entropy_with_logits", "input target weight"),
    **functional("margin_ranking_loss cosine_embedding_loss", "input1 input2 target"), **functional("triplet_margin_loss", "anchor positive negative"),
    **functional("gaussian_nll_loss", "input target var"),
    **functional("dropout dropout2d dropout3d alpha_dropout", "input p"),
    "feature_alpha_dropout": [(f"nn.functional.feature_alpha_dropout.{kind}_train", "input p") for kind in ("with", "without")], **functional("rrelu", "input lower upper"),
}

# Arguments of PyTorch that mean nothing here, with the only value that each may have.
MEANINGLESS = {"inplace": None, "device": None, "requires_grad": None, "layout": None, "pin_memory": None, "out_int32": False, "as_tuple": False,
               "return_indices": None, "non_blocking": None, "max_norm": None, "scale_grad_by_freq": False, "sparse": False, "norm_type": None,
               "size_average": None, "reduce_": None, "antialias": False, "recompute_scale_factor": None, "memory_format": None, "stable_": None}

# A sample in f64 corresponds to the graph's f32: the float type that a run chooses.
DTYPES = {torch.float64: "f32", torch.int64: "i64", torch.int32: "i32", torch.uint8: "u8", torch.bool: "bool"}


# ---- what one operator writes in another way -------------------------------------------------------


def of_conv(op, params, ports, info):
    weight = ports["weight"]
    transposed = "transpose" in op
    if ports["input"].dim() != int(op[-2]) + 2:
        raise Unsupported("an image without a batch")
    if weight.is_complex():
        raise Unsupported("complex numbers")
    params["out_channels"] = weight.shape[1] * int(params.get("groups", 1)) if transposed else weight.shape[0]
    params["kernel_size"] = tuple(weight.shape[2:])
    if "bias" not in ports:
        params["bias"] = False


def of_pool(op, params, ports, info):
    of_range({"divisor_override": 1})(op, params, ports, info)
    if params.get("stride") == ():
        del params["stride"]
    if ports["input"].dim() != int(op[-2]) + 2:
        raise Unsupported("an image without a batch")
    if isinstance(params.get("output_size"), tuple) and None in params["output_size"]:
        raise Unsupported("output_size of None")


def of_norm(op, params, ports, info):
    of_range({"momentum": 0, "eps": 0})(op, params, ports, info)
    rank = ports["input"].dim()
    if not (rank == int(op[-2]) + 2 or (op == "batch_norm1d" and rank == 2)):
        raise Unsupported("another rank, which is another operator")
    if "running_mean" in ports or "running_var" in ports:
        if not ("running_mean" in ports and "running_var" in ports):
            raise Unsupported("one running statistic without the other")
        params["track_running_stats"] = True
    else:
        params["track_running_stats"] = False
    if "weight" in ports and "bias" in ports:
        params["affine"] = True
    elif "weight" in ports or "bias" in ports:
        raise Unsupported("weight without bias")
    else:
        params["affine"] = False
    training = params.pop("training", None) if "batch" in op else params.pop("use_input_stats", True)
    params["mode"] = "train" if training else "eval"
    if not training and not params["track_running_stats"]:
        raise Unsupported("evaluation without statistics")


def of_range(least):
    """A hook that refuses numbers which the operator calls wrong and PyTorch calculates with."""
    def hook(op, params, ports, info):
        for name, low in least.items():
            if isinstance(params.get(name), (int, float)) and params[name] < low:
                raise Unsupported(f"{name} of {params[name]}")
    return hook


def of_type(wanted, words):
    """A hook that refuses a tensor of any other type."""
    def hook(op, params, ports, info):
        if ports["input"].dtype not in wanted:
            raise Unsupported(words)
    return hook


def of_rank(least, words):
    def hook(op, params, ports, info):
        if ports["input"].dim() < least:
            raise Unsupported(words)
    return hook


def of_squeeze(op, params, ports, info):
    if params.get("dim") == ():
        raise Unsupported("no dimension at all")


def of_concat(op, params, ports, info):
    if len({t.dim() for t in ports[""]}) > 1:
        raise Unsupported("the empty tensor that fits everything")


def of_index(op, params, ports, info):
    if ports["index"].dtype != torch.int64:
        raise Unsupported("an index of another type")


def of_classes(op, params, ports, info):
    if ports["input"].dim() == 0 or (ports["input"].dim() == 1 and ports["target"].dim() == 1):
        raise Unsupported("scores without a batch and classes with one")


def of_affine(op, params, ports, info):
    of_range({"eps": 0})(op, params, ports, info)
    key = {"layer_norm": "elementwise_affine", "rms_norm": "elementwise_affine", "group_norm": "affine"}[op]
    if "weight" not in ports and "bias" in ports:
        raise Unsupported("bias without weight")
    if "weight" not in ports:
        params[key] = False
    elif op != "rms_norm" and "bias" not in ports:
        if op == "group_norm":
            raise Unsupported("weight without bias")
        params["bias"] = False


def of_linear(op, params, ports, info):
    params["out_features"] = ports["weight"].shape[0] if ports["weight"].dim() > 1 else None
    if params["out_features"] is None:
        raise Unsupported("a weight without rows")
    if "bias" not in ports:
        params["bias"] = False


def of_embedding(op, params, ports, info):
    params["num_embeddings"], params["embedding_dim"] = ports["weight"].shape


def of_variance(op, params, ports, info):
    unbiased = params.pop("unbiased", None)
    if unbiased is not None:
        params["correction"] = int(unbiased)


def of_flatten(op, params, ports, info):
    params.setdefault("start_dim", 0)


def of_clamp(op, params, ports, info):
    if not params:
        raise Unsupported("no bound")


def of_prelu(op, params, ports, info):
    params["num_parameters"] = ports["weight"].numel()
    if ports["weight"].dim() != 1:
        raise Unsupported("a weight that is a single number")


def of_dropout(op, params, ports, info):
    if op[-1] == "d" and ports["input"].dim() != int(op[-2]) + 2:
        raise Unsupported("an image without a batch")
    if op == "feature_alpha_dropout" and ports["input"].dim() < 2:
        raise Unsupported("a tensor without channels")
    if params.pop("training", True) and params.get("p", 0.5) not in (0, 0.0):
        raise Unsupported("random numbers")


def of_norm_order(op, params, ports, info):
    if isinstance(params.get("p"), str):
        raise Unsupported(f"norm {params['p']}")


HOOKS = {**{f"conv{t}{n}d": of_conv for t in ("", "_transpose") for n in (1, 2, 3)},
         **{f"{kind}_pool{n}d": of_pool for kind in ("max", "avg", "adaptive_max", "adaptive_avg") for n in (1, 2, 3)},
         **{f"{kind}_norm{n}d": of_norm for kind in ("batch", "instance") for n in (1, 2, 3)},
         "layer_norm": of_affine, "group_norm": of_affine, "rms_norm": of_affine, "linear": of_linear, "bilinear": of_linear,
         "embedding": of_embedding, "var": of_variance, "std": of_variance, "flatten": of_flatten, "clamp": of_clamp, "prelu": of_prelu,
         "dropout": of_dropout, "dropout2d": of_dropout, "dropout3d": of_dropout, "alpha_dropout": of_dropout, "feature_alpha_dropout": of_dropout, "rrelu": of_dropout,
         "norm": of_norm_order, "pairwise_distance": of_range({"p": 0}), "one_hot": of_range({"num_classes": 1}),
         "squeeze": of_squeeze, "concat": of_concat, "gather": of_index, "index_select": of_rank(1, "a scalar"),
         "index_add": of_rank(1, "a scalar"), "multi_margin_loss": of_classes,
         **{name: of_type((torch.float64,), "whole numbers that stay whole: activations make floats of them here") for name in ("hardtanh", "threshold")},
         "topk": of_type((torch.float64,), "ties, whose order PyTorch leaves open")}
# Numbered outputs: their count is a parameter, and so is how they are asked for.
PARTS = {"split": "parts", "unbind": "parts", "chunk": None, "meshgrid": None}


def plain(value):
    """A parameter's value as PyTorch's sample has it, or Unsupported."""
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, (list, tuple)):
        return tuple(plain(v) for v in value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, torch.Tensor):
        raise Unsupported("a tensor for a number")
    raise Unsupported(type(value).__name__)


def numbers(tensor):
    if tensor.is_complex():
        raise Unsupported("complex numbers")
    array = tensor.detach().cpu().numpy()
    if array.dtype == np.float64:
        return np.ascontiguousarray(array.astype(np.float32)).reshape(array.shape)
    if array.dtype not in (np.dtype("i8"), np.dtype("i4"), np.dtype("u1"), np.dtype("?"), np.dtype("f4")):
        raise Unsupported(str(array.dtype))
    return np.ascontiguousarray(array).reshape(array.shape)


def place(op, arguments, sample):
    """Ports (a list where they are variadic) and parameters of a sample."""
    ports, params = {}, {}
    names = arguments.split()
    positional = [sample.input, *sample.args]
    if len(positional) > len(names):
        last = positional[len(names) - 1:]
        if all(isinstance(v, int) for v in last):  # permute(x, 0, 1)
            positional = positional[:len(names) - 1] + [tuple(last)]
        else:
            raise Unsupported(f"{len(positional)} arguments")
    known = {p["name"] for p in op["params"]} | {"training", "use_input_stats", "unbiased"}
    inputs = {p["name"] for p in op["inputs"]}
    variadic = bool(op["inputs"]) and op["inputs"][0]["variadic"]
    for name, value in [*zip(names, positional), *sample.kwargs.items()]:
        if name == "reduction" and value == "batchmean" and "reduction" not in known:
            raise Unsupported("batchmean")
        if name == "dtype":
            if value not in DTYPES:
                raise Unsupported(str(value))
            if "dtype" in known:
                params["dtype"] = DTYPES[value]
            elif value != torch.float64:
                raise Unsupported("dtype")
        elif name == "side" and "right" in known:
            params["right"] = value == "right"
        elif isinstance(value, torch.Tensor):
            if name not in inputs and name not in ("running_mean", "running_var"):
                raise Unsupported(f"{name} as a tensor")
            ports[name] = value
        elif variadic and name == "inputs":
            ports[""] = list(value)
        elif name in known:
            if value is not None:
                params[name] = plain(value)
        elif value is None or (name in MEANINGLESS and (MEANINGLESS[name] is None or MEANINGLESS[name] == value)):
            continue
        elif name == "ord":
            params["p"] = plain(value)
        elif name == "alpha" and value == 1:
            continue
        else:
            raise Unsupported(f"{name} of {value}" if isinstance(value, (str, bool)) else name)
    return ports, params


def rebuild(value, tensors):
    """A sample's argument with its tensors taken, in order, from an iterator."""
    if isinstance(value, torch.Tensor):
        return next(tensors)
    if isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
        return [rebuild(v, tensors) for v in value]
    return value


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in flat(v)]
    return []


def to_case(op, info, arguments, sample):
    name = op["name"]
    ports, params = place(op, arguments, sample)
    if name in HOOKS:
        HOOKS[name](name, params, ports, info)
    mode = params.pop("mode", "eval") if name[:5] in ("batch", "insta") else "eval"
    buffers = {k: numbers(ports.pop(k)) for k in ("running_mean", "running_var") if k in ports}
    wired = ports[""] if "" in ports else [ports[p["name"]] if p["name"] in ports else None for p in op["inputs"]]
    while wired and wired[-1] is None:
        wired.pop()
    inputs = [None if t is None else numbers(t) for t in wired]
    if len(inputs) > 8:
        raise Unsupported("more than eight tensors")
    if "running_mean" in buffers:
        buffers["num_batches_tracked"] = np.array(0, np.int64)
    at = {id(t): i for i, t in enumerate(wired) if t is not None}
    everything = flat([sample.input, *sample.args]) + flat(list(sample.kwargs.values()))
    running = [t for t in everything if id(t) not in at]

    def fn(x, w):
        def pick(t):
            if id(t) in at:
                return x[at[id(t)]]
            which = "running_mean" if t is running[0] else "running_var"
            return w[which]

        tensors = iter([pick(t) for t in everything])
        args = [rebuild(v, tensors) for v in (sample.input, *sample.args)]
        kwargs = {k: rebuild(v, tensors) for k, v in sample.kwargs.items()}
        torch.set_default_dtype(torch.float64)  # what whole numbers become where they do not stay whole
        try:
            out = info.op(*args, **kwargs)
        finally:
            torch.set_default_dtype(torch.float32)
        if name in PARTS:
            return {str(i): t.clone() for i, t in enumerate(out)}
        if name == "unique":
            wanted = ["out", *(p for p in ("inverse", "counts") if sample.kwargs.get(f"return_{p}"))]
            return dict(zip(wanted, out)) if len(wanted) > 1 else out
        if isinstance(out, (tuple, list)):
            return {p["name"]: t for p, t in zip(op["outputs"], out)}
        return out * 1 if out.requires_grad or out.is_floating_point() else out

    if name in ("split", "unbind"):
        with torch.no_grad():
            n = len(info.op(sample.input, *sample.args, **sample.kwargs))
        if n < 1:
            raise Unsupported("no parts")
        if "sections" not in params:
            params["parts"] = n
    # A row of one or two becomes what it is normalised to, whatever it was: its gradient is what rounding leaves of nothing.
    n = {"layer_norm": np.prod(params.get("normalized_shape", 9)), "rms_norm": np.prod(params.get("normalized_shape", 9)),
         "group_norm": inputs[0][0].size / params["num_groups"] if name == "group_norm" and inputs[0].size else 9}.get(name, 9)
    return Case(name, params, inputs, fn, buffers=buffers, mode=mode, scale=1000 if n <= 2 else 1)


def samples(info, dtype):
    torch.manual_seed(zlib.crc32((info.name + info.variant_test_name).encode()))
    random.seed(zlib.crc32(info.name.encode()))
    np.random.seed(zlib.crc32(info.name.encode()) % 2**31)
    if dtype not in info.supported_dtypes("cpu"):
        return []
    grad = info.supports_autograd and dtype == torch.float64
    return itertools.islice(info.sample_inputs("cpu", dtype, requires_grad=grad), MOST if dtype == torch.float64 else MOST_WHOLE)


def cases(ops, only=""):
    """All samples that an operator can express, and a count of what others use, by operator."""
    found, left = [], collections.defaultdict(collections.Counter)
    for name, entries in TABLE.items():
        if only not in name or name not in ops:
            continue
        for key, arguments in entries:
            info = INFOS[key]
            for dtype in (torch.float64, torch.int64, torch.bool):
                seen = set()
                for sample in samples(info, dtype):
                    try:
                        made = to_case(ops[name], info, arguments, sample)
                    except Unsupported as what:
                        left[name][str(what)] += 1
                        continue
                    if made.title() in seen:
                        continue
                    seen.add(made.title())
                    made.source = key
                    made.whole = dtype != torch.float64
                    found.append(made)
    return found, left
