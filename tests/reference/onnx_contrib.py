"""Operators of the domain com.microsoft, which onnxruntime's optimiser writes, rotary embeddings, and sizes that stay open: models
of several nodes, of which `gradloom import` and `gradloom run` must give onnxruntime's numbers within 1e-5. Options are those of
onnx_layers.py: onnx_contrib.py --store tests/onnx/exports."""

import numpy as np

from onnx_layers import BYTE, FLOAT, Case, main

MICROSOFT = "com.microsoft"
CASES = {}


def case(name, **given):
    def register(fill):
        def build():
            c = Case(**given)
            fill(c, lambda op, inputs, domain=MICROSOFT, kind=FLOAT, **attributes: c.outputs.append(
                (c.node(op, inputs, [f"y{len(c.outputs)}"], domain=domain, **attributes), kind)))
            return c

        CASES[name] = build
    return register


@case("contrib-fused")
def _(c, out):
    x, w, b = c.input("x", c.draw(2, 3, 7, 7)), c.weight("w", c.draw(4, 3, 3, 3)), c.weight("b", c.draw(4))
    z, flat, bias = c.input("z", c.draw(2, 4, 7, 7)), c.input("flat", c.draw(4, 8)), c.weight("bias", c.draw(8))
    out("FusedConv", [x, w, b, z], activation="LeakyRelu", activation_params=[0.2], pads=[1, 1, 1, 1], kernel_shape=[3, 3])
    out("FusedConv", [x, w], activation="Clip", activation_params=[-0.5, 0.7], strides=[2, 2])
    out("FusedGemm", [flat, c.weight("v", c.draw(5, 8)), c.weight("u", c.draw(5))], activation="Relu", transB=1)
    out("FusedMatMul", [c.input("p", c.draw(2, 4, 3)), c.input("q", c.draw(2, 5, 4))], transA=1, transB=1, alpha=0.5)
    out("FusedMatMul", [c.input("r", c.draw(3, 2, 4)), c.input("s", c.draw(5, 2, 4))], transBatchA=1, transBatchB=1, transB=1)
    out("Gelu", [flat])
    out("BiasGelu", [flat, bias])
    out("FastGelu", [flat, bias])
    out("QuickGelu", [flat])


@case("contrib-norm")
def _(c, out):
    x, skip, w = c.input("x", c.draw(2, 5, 8)), c.input("skip", c.draw(2, 5, 8)), c.weight("w", c.draw(8))
    b, a = c.weight("b", c.draw(8)), c.weight("a", c.draw(8))
    c.outputs += [(n, FLOAT) for n in ("n", "sum")]
    c.node("SkipLayerNormalization", [x, skip, w, b, a], ["n", "", "", "sum"], domain=MICROSOFT, epsilon=1e-5)
    out("SkipSimplifiedLayerNormalization", [x, skip, w], epsilon=1e-6)
    out("SimplifiedLayerNormalization", [x, w], domain="", axis=-1, epsilon=1e-6, stash_type=1)
    ids = c.input("ids", c.rng.integers(0, 9, (2, 5)).astype(np.int32))
    segment = c.input("segment", c.rng.integers(0, 2, (2, 5)).astype(np.int32))
    tables = [c.weight(n, c.draw(rows, 8)) for n, rows in (("word", 9), ("place", 6), ("kind", 2))]
    c.outputs.append((c.node("EmbedLayerNormalization", [ids, segment, *tables, w, b], ["e", "mask"], domain=MICROSOFT), FLOAT))


@case("contrib-attention")
def _(c, out):
    x, w, b = c.input("x", c.draw(2, 5, 8)), c.weight("w", c.draw(8, 24)), c.weight("b", c.draw(24))
    mask = c.input("mask", np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], np.int32))
    out("Attention", [x, w, b, mask], num_heads=2)
    out("Attention", [x, w, b], num_heads=2, unidirectional=1)
    out("MultiHeadAttention", [c.input("q", c.draw(2, 4, 8)), c.input("k", c.draw(2, 5, 8)), c.input("v", c.draw(2, 5, 8)), b, mask],
        num_heads=2)


@case("contrib-quantised")
def _(c, out):
    byte = lambda *shape: c.rng.integers(0, 256, shape).astype(np.uint8)
    a, b, image = c.input("a", byte(4, 6)), c.input("b", byte(4, 6)), c.input("image", byte(2, 3, 4, 4))
    scale = lambda n, v: c.weight(n, np.array(v, np.float32))
    zero = lambda n, v: c.weight(n, np.array(v, np.uint8))
    of_a, of_b, of_y = ([scale(n + "s", s), zero(n + "z", z)] for n, s, z in (("a", .02, 120), ("b", .03, 99), ("y", .05, 128)))
    w, row = c.weight("w", c.rng.integers(-128, 128, (5, 6)).astype(np.int8)), c.weight("row", np.arange(-300, 300, 120).astype(np.int32))
    of_w = [scale("ws", .01), c.weight("wz", np.array(3, np.int8))]
    turned = c.weight("turned", c.rng.integers(-128, 128, (6, 5)).astype(np.int8))
    out("QGemm", [a, *of_a, w, *of_w, row, *of_y], kind=BYTE, transB=1)
    of_columns = [c.weight("cs", np.linspace(.01, .02, 5, dtype=np.float32)), c.weight("cz", np.arange(5, dtype=np.int8))]
    out("QGemm", [a, *of_a, w, *of_columns, row], transB=1)
    out("QLinearAdd", [a, *of_a, b, *of_b, *of_y], kind=BYTE)
    out("QLinearMul", [a, *of_a, b, *of_b, *of_y], kind=BYTE)
    out("QLinearSigmoid", [a, *of_a, scale("unit", 1 / 256), zero("none", 0)], kind=BYTE)
    out("QLinearLeakyRelu", [a, *of_a, *of_y], kind=BYTE, alpha=0.1)
    out("QLinearGlobalAveragePool", [image, *of_a, *of_y], kind=BYTE)
    out("QLinearConcat", [*of_y, a, *of_a, b, *of_b], kind=BYTE, axis=1)
    out("DynamicQuantizeMatMul", [c.input("x", c.draw(4, 6)), turned, *of_w, c.weight("bias", c.draw(5))])
    out("MatMulIntegerToFloat", [a, turned, of_a[0], of_w[0], of_a[1], of_w[1]])


@case("rotary", opset=23)
def _(c, out):
    angles = np.outer(np.arange(12), 1 / 10 ** (np.arange(4) / 2)).astype(np.float32)
    cos, sin = c.weight("cos", np.cos(angles)), c.weight("sin", np.sin(angles))
    few = [c.weight("few" + n, t[:, :2]) for n, t in (("cos", np.cos(angles)), ("sin", np.sin(angles)))]
    at = c.input("at", np.array([[0, 1, 2, 3, 4], [3, 4, 5, 6, 11]], np.int64))
    heads, flat = c.input("heads", c.draw(2, 2, 5, 8)), c.input("flat", c.draw(2, 5, 16))
    for interleaved in (0, 1):
        out("RotaryEmbedding", [heads, cos, sin, at], domain="", interleaved=interleaved)
        out("RotaryEmbedding", [flat, cos, sin, at], domain="", interleaved=interleaved, num_heads=2)
        out("RotaryEmbedding", [heads, at, cos, sin], interleaved=interleaved)
        out("RotaryEmbedding", [flat, at, cos, sin], interleaved=interleaved)
    out("RotaryEmbedding", [heads, *few, at], domain="", rotary_embedding_dim=4, num_heads=2)


@case("slice-to-length", opset=20)
def _(c, out):
    ids = c.input("ids", np.array([[1, 4, 0], [2, 8, 5]], np.int64), d1="t")
    number = lambda n, *v: c.weight(n, np.array(v, np.int64))
    c.node("Shape", [ids], ["n"], start=1, end=2)
    c.node("Slice", [c.weight("all", np.arange(9)[None]), number("zero", 0), "n", number("one", 1), "one"], ["at"])
    c.node("Gather", [c.weight("places", c.draw(9, 4)), "at"], ["place"])
    c.node("Gather", [c.weight("words", c.draw(9, 4)), ids], ["word"])
    out("Add", ["word", "place"], domain="")


@case("counted-index", opset=20)
def _(c, out):
    x, scalar = c.input("x", c.draw(3, 4), d0="b"), lambda n, v: c.weight(n, np.array(v, np.int64))
    c.node("Shape", [x], ["n"], start=0, end=1)
    c.node("Squeeze", ["n"], ["size"])
    c.node("Range", [scalar("zero", 0), "size", scalar("one", 1)], ["row"])
    c.node("Mul", ["row", scalar("four", 4)], ["first"])
    c.node("Unsqueeze", ["first", c.weight("axis", np.array([1]))], ["column"])
    c.node("Add", ["column", c.weight("steps", np.array([[0, 1, 2]]))], ["at"])
    c.node("Reshape", [x, c.weight("line", np.array([-1]))], ["flat"])
    out("Gather", ["flat", "at"], domain="")


@case("open-tile", opset=17)
def _(c, out):
    x, one = c.input("x", c.draw(3, 2), d0="b"), c.weight("one", np.array([1], np.int64))
    c.node("Shape", [x], ["n"], start=0, end=1)
    c.node("Concat", ["n", one, c.weight("two", np.array([2], np.int64))], ["times"], axis=0)
    out("Tile", [c.weight("slopes", c.draw(4, 1, 5)), "times"], domain="")


@case("open-resize", opset=17)
def _(c, out):
    x = c.input("x", c.draw(2, 3, 4, 6), d0="b", d2="h", d3="w")
    factors = c.weight("factors", np.array([1, 1, 2, 3], np.float32))
    out("Resize", [x, "", factors], domain="", mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    fixed = c.input("fixed", c.draw(2, 3, 4, 6), d2="h")
    out("Resize", [fixed, "", c.weight("wider", np.array([1, 1, 1, 2], np.float32))], domain="", mode="nearest",
        coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    out("Resize", [x, "", factors], domain="", mode="linear", coordinate_transformation_mode="half_pixel")
    c.node("Shape", [x], ["shape"])
    c.node("Mul", ["shape", c.weight("twice", np.array([1, 1, 2, 2]))], ["sizes"])
    out("Resize", [x, "", "", "sizes"], domain="", mode="cubic", coordinate_transformation_mode="pytorch_half_pixel")


if __name__ == "__main__":
    main(CASES, CASES)
