"""What newer models contain: weights of 2 to 8 bits, local functions, sequences, detectors, states of decoding, bits. Models
of several nodes, of which `gradloom import` and `gradloom run` must give onnxruntime's numbers within 1e-5, or those of onnx's own
evaluation where onnxruntime has no such operator. Options are those of onnx_layers.py:
onnx_recent.py --store tests/onnx/exports."""

import ml_dtypes
import numpy as np
from onnx import AttributeProto, TensorProto, helper

from onnx_layers import FLOAT, INT, Case, main

MICROSOFT = "com.microsoft"
BOOL = TensorProto.BOOL
CASES = {}


class Recent(Case):
    """With functions, and constants of types that NumPy has no attribute for."""

    def __init__(self, by_reference=False, **given):
        super().__init__(**given)
        self.by_reference, self.functions = by_reference, []

    def model(self):
        model = super().model()
        model.functions.extend(self.functions)
        model.opset_import.extend([helper.make_opsetid(d, 1) for d in sorted({f.domain for f in self.functions})])
        return model


def case(name, **given):
    def register(fill):
        def build():
            c = Recent(**given)
            fill(c, lambda op, inputs, kind=FLOAT, **attributes: c.outputs.append(
                (c.node(op, inputs, [f"y{len(c.outputs)}"], **attributes), kind)))
            return c

        CASES[name] = build
    return register


# ---- weights of a few bits ------------------------------------------------------------------------------------------


@case("weights-narrow", opset=21)
def _(c, out):
    x = c.input("x", c.draw(3, 6), d0="batch")
    ints = c.weight("ints", c.rng.integers(-8, 8, (6, 5)).astype(ml_dtypes.int4))
    scale, zero = c.weight("scale", c.rng.uniform(0.1, 1, (3, 5)).astype(np.float32)), c.rng.integers(-3, 4, (3, 5))
    c.node("DequantizeLinear", [ints, scale, c.weight("zero", zero.astype(ml_dtypes.int4))], ["blocked"], axis=0, block_size=2)
    out("MatMul", [x, "blocked"])
    eights = c.weight("eights", (4 * c.draw(6, 5)).astype(ml_dtypes.float8_e4m3fn))
    c.node("DequantizeLinear", [eights, c.weight("line", c.draw(5))], ["columns"], axis=1)
    out("MatMul", [x, "columns"])
    bytes_ = c.weight("bytes", c.rng.integers(0, 256, (7, 6)).astype(np.uint8))
    ragged = c.weight("ragged", c.draw(3, 6))
    c.node("DequantizeLinear", [bytes_, ragged, c.weight("middle", np.full((3, 6), 128, np.uint8))], ["rows"], axis=0, block_size=3)
    out("Gather", ["rows", c.input("ids", np.array([6, 0, 3]))])


@case("weights-packed", opset=21)
def _(c, out):
    x = c.input("x", c.draw(2, 3, 40), d0="batch")
    for bits, zeros, name in ((4, True, "a"), (4, False, "b"), (8, True, "c")):
        n, k, block = 5, 40, 16
        blocks = -(-k // block)
        data = c.weight(name, c.rng.integers(0, 256, (n, blocks, block * bits // 8)).astype(np.uint8))
        inputs = [x, data, c.weight(name + "s", c.draw(n, blocks))]
        if zeros:
            inputs.append(c.weight(name + "z", c.rng.integers(0, 256, (n, -(-blocks * bits // 8))).astype(np.uint8)))
        out("MatMulNBits", inputs, domain=MICROSOFT, N=n, K=k, bits=bits, block_size=block)


@case("quantized-blocks", opset=21)
def _(c, out):
    x, scale = c.input("x", c.draw(4, 7)), c.input("scale", c.rng.uniform(0.01, 0.1, (4, 3)).astype(np.float32))
    zero = c.input("zero", c.rng.integers(-9, 9, (4, 3)).astype(np.int8))
    c.node("QuantizeLinear", [x, scale, zero], ["q"], axis=1, block_size=3)
    out("DequantizeLinear", ["q", scale, zero], axis=1, block_size=3)


@case("casts-narrow", opset=25, by_reference=True)
def _(c, out):
    grid = np.concatenate([c.draw(40) * 2.0**k for k in (-16, -8, -3, 0, 4, 8, 15)] + [[0, 448, 464, 0.0625, 1.0625]])
    x = c.input("x", grid.astype(np.float32))
    for kind in (TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2FNUZ,
                 TensorProto.FLOAT4E2M1):
        c.node("Cast", [x], [f"n{kind}"], to=kind)
        out("Cast", [f"n{kind}"], to=FLOAT)
    c.node("Cast", [x], ["lost"], to=TensorProto.FLOAT8E4M3FN, saturate=0)
    out("Cast", ["lost"], to=FLOAT)


# ---- functions and sequences ----------------------------------------------------------------------------------------


def function(name, inputs, outputs, nodes, **more):
    return helper.make_function("my", name, inputs, outputs, nodes, [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)],
                                **more)


def refers(node, name, kind):
    node.attribute.add(name=name, ref_attr_name=name, type=kind)
    return node


@case("functions")
def _(c, out):
    leak = function("Leak", ["x"], ["y"], [refers(helper.make_node("LeakyRelu", ["x"], ["y"]), "alpha", AttributeProto.FLOAT)],
                    attribute_protos=[helper.make_attribute("alpha", 0.3)])
    twice = function("Twice", ["x"], ["y"], [helper.make_node("Leak", ["x"], ["t"], domain="my", alpha=0.5),
                                             helper.make_node("Leak", ["t"], ["y"], domain="my")])
    # An optional input, a name that the caller uses too, and a branch that reads them.
    branch = [helper.make_graph([helper.make_node(op, ["x", "t"], ["z"])], op, [], [helper.make_tensor_value_info("z", FLOAT, None)])
              for op in ("Add", "Sub")]
    bound = function("Bound", ["x", "low", "high"], ["y", "t"], [
        helper.make_node("Clip", ["x", "low", "high"], ["t"]),
        helper.make_node("ReduceSum", ["t"], ["s"], keepdims=0),
        helper.make_node("Sub", ["s", "s"], ["zero"]),
        helper.make_node("Less", ["s", "zero"], ["negative"]),
        helper.make_node("If", ["negative"], ["y"], then_branch=branch[0], else_branch=branch[1])])
    c.functions += [twice, bound, leak]
    x, t = c.input("x", c.draw(3, 4), d0="batch"), c.input("t", c.draw(3, 4), d0="batch")
    low = c.weight("low", np.array(-0.2, np.float32))
    out("Twice", [x], domain="my")
    c.outputs += [("b", FLOAT), ("bt", FLOAT)]
    c.node("Bound", [t, low], ["b", "bt"], domain="my")
    c.outputs += [("d", FLOAT), ("dt", FLOAT)]
    c.node("Bound", [x, "", low], ["d", "dt"], domain="my")
    w = c.weight("w", c.draw(4, 4))
    c.functions.append(function("Layer", ["a", "w"], ["y"], [helper.make_node("MatMul", ["a", "w"], ["y"])]))
    c.node("Layer", [x, w], ["one"], domain="my")
    out("Layer", ["one", w], domain="my")


@case("sequences")
def _(c, out):
    x, number = c.input("x", c.draw(6, 4), d1="width"), lambda n, v: c.weight(n, np.array(v))
    c.node("SplitToSequence", [x, number("sizes", [1, 2, 3])], ["parts"], axis=0)
    c.node("SequenceAt", ["parts", number("last", -1)], ["three"])
    out("Relu", ["three"])
    c.node("SequenceErase", ["parts", number("first", 0)], ["fewer"])
    c.node("Neg", ["three"], ["four"])
    c.node("SequenceInsert", ["fewer", "four", number("front", 0)], ["more"])
    out("ConcatFromSequence", ["more"], axis=0)
    out("SequenceLength", ["more"], kind=INT)
    c.node("SplitToSequence", [x], ["rows"], axis=0, keepdims=0)
    out("ConcatFromSequence", ["rows"], axis=-1, new_axis=1)
    c.node("SequenceConstruct", [x, x], ["pair"])
    c.node("SequenceInsert", ["pair", x], ["triple"])
    out("ConcatFromSequence", ["triple"], axis=1)
    c.node("Optional", [x], ["some"])
    out("OptionalGetElement", ["some"])
    out("OptionalHasElement", ["some"], kind=BOOL)


@case("sequence-loop")
def _(c, out):
    """A list that a loop fills, as the older exporter writes it."""
    x = c.input("x", c.draw(3, 4), d0="batch")
    info = lambda n, t, s: helper.make_tensor_value_info(n, t, s)
    listed = helper.make_tensor_sequence_value_info
    body = helper.make_graph(
        [helper.make_node("Identity", ["going"], ["still"]), helper.make_node("Cast", ["i"], ["f"], to=FLOAT),
         helper.make_node("Mul", ["now", "f"], ["next"]), helper.make_node("SequenceInsert", ["list", "next"], ["longer"])],
        "body", [info("i", INT, []), info("going", BOOL, []), info("now", FLOAT, None), listed("list", FLOAT, None)],
        [info("still", BOOL, []), info("next", FLOAT, None), listed("longer", FLOAT, None)])
    c.node("SequenceEmpty", [], ["none"])
    c.node("Loop", [c.weight("three", np.array(3)), c.weight("yes", np.array(True)), x, "none"], ["end", "all"], body=body)
    out("ConcatFromSequence", ["all"], axis=0, new_axis=1)


# ---- detectors ------------------------------------------------------------------------------------------------------


@case("boxes", opset=17)
def _(c, out):
    corner, size = c.rng.uniform(0, 10, (2, 30, 2)), c.rng.uniform(2, 5, (2, 30, 2))
    boxes = c.input("boxes", np.concatenate([corner, corner + size], 2).astype(np.float32))
    centred = c.input("centred", np.concatenate([corner, size], 2).astype(np.float32))
    scores = c.input("scores", c.rng.uniform(0, 1, (2, 3, 30)).astype(np.float32))
    most, overlap, least = (c.weight(n, np.array(v)) for n, v in (("most", [7]), ("overlap", np.float32([0.4])), ("least", np.float32([0.3]))))
    out("NonMaxSuppression", [boxes, scores, most, overlap, least], kind=INT)
    # As PyTorch's exporter writes torchvision.ops.nms: the boxes alone, in a line.
    c.node("Slice", ["y0", c.weight("box", np.array([2])), c.weight("end", np.array([3])), c.weight("last", np.array([1]))], ["column"])
    out("Reshape", ["column", c.weight("line", np.array([-1]))], kind=INT)
    out("NonMaxSuppression", [centred, scores, c.weight("many", np.array([1000])), overlap], kind=INT, center_point_box=1)
    out("NonMaxSuppression", [boxes, scores, c.weight("none", np.array([0]))], kind=INT)


@case("regions", opset=17)
def _(c, out):
    corner, size = c.rng.uniform(-2, 20, (5, 2)), c.rng.uniform(0.5, 20, (5, 2))
    x = c.input("x", c.draw(2, 3, 8, 9))
    rois = c.input("rois", np.concatenate([corner, corner + size], 1).astype(np.float32), d0="regions")
    which = c.input("which", np.array([0, 1, 1, 0, 1]), d0="regions")
    for more in ({}, {"mode": "max"}, {"coordinate_transformation_mode": "output_half_pixel"}):
        out("RoiAlign", [x, rois, which], output_height=3, output_width=4, sampling_ratio=2, spatial_scale=0.5, **more)
    small = np.float32([[0, 1, 3, 9], [-1, 2, 7, 4], [2, 2, 2.5, 8], [1, 0, 12, 13], [4, 4, 4, 4]])
    out("RoiAlign", [x, c.weight("small", small), c.weight("images", np.array([0, 1, 1, 0, 1]))],
        output_height=3, output_width=2)
    out("RoiAlign", [c.input("one", c.draw(1, 2, 6, 6)), rois, c.weight("zeros", np.zeros(5, np.int64))], output_height=2,
        output_width=2, sampling_ratio=3, spatial_scale=0.25)


@case("deformed", opset=19, by_reference=True)
def _(c, out):
    x, w, b = c.input("x", c.draw(2, 4, 6, 7)), c.weight("w", c.draw(6, 2, 3, 3)), c.weight("b", c.draw(6))
    offset, mask = c.input("offset", 3 * c.draw(2, 2 * 2 * 9, 3, 4)), c.input("mask", c.draw(2, 2 * 9, 3, 4))
    out("DeformConv", [x, w, offset, b, mask], group=2, offset_group=2, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    out("DeformConv", [x, c.weight("v", c.draw(3, 4, 2, 3)), c.input("moves", c.draw(2, 12, 5, 3))], kernel_shape=[2, 3],
        dilations=[1, 2])


@case("resize-antialias", opset=18)
def _(c, out):
    x = c.input("x", c.draw(1, 2, 9, 11))
    for mode, sizes in (("linear", [1, 2, 4, 5]), ("linear", [1, 2, 4, 20]), ("cubic", [1, 2, 5, 6])):
        out("Resize", [x, "", "", c.weight(f"s{len(c.outputs)}", np.array(sizes))], mode=mode, antialias=1)
    for policy in ("not_larger", "not_smaller"):
        out("Resize", [x, "", "", c.weight(policy, np.array([5, 30]))], mode="linear", axes=[2, 3], keep_aspect_ratio_policy=policy)


# ---- decoding and bits ----------------------------------------------------------------------------------------------


@case("states", opset=28, by_reference=True)
def _(c, out):
    b, t, heads, keys, width, values = 2, 4, 4, 2, 3, 5
    q, k, v = c.input("q", c.draw(b, t, heads * width), d0="b", d1="t"), c.input("k", c.draw(b, t, keys * width), d0="b", d1="t"), \
        c.input("v", c.draw(b, t, keys * values), d0="b", d1="t")
    state, decay = c.input("state", c.draw(b, keys, width, values), d0="b"), c.input("decay", -abs(c.draw(b, t, keys * width)), d0="b", d1="t")
    beta = c.input("beta", abs(c.draw(b, t, keys)), d0="b", d1="t")
    c.outputs += [("y", FLOAT), ("s", FLOAT)]
    c.node("LinearAttention", [q, k, v, state, decay, beta], ["y", "s"], q_num_heads=heads, kv_num_heads=keys)
    out("LinearAttention", [q, k, v], q_num_heads=heads, kv_num_heads=keys, update_rule="linear", scale=0.5)
    x, past = c.input("x", c.draw(b, 3, 6), d0="b"), c.input("past", c.draw(b, 3, 2), d0="b")
    w = c.weight("w", c.draw(3, 1, 3))
    c.outputs += [("conv", FLOAT), ("last", FLOAT)]
    c.node("CausalConvWithState", [x, w, c.weight("bias", c.draw(3)), past], ["conv", "last"], activation="silu")
    out("CausalConvWithState", [x, w])
    cache, update = c.input("cache", c.draw(b, 2, 7, 3), d0="b"), c.input("update", c.draw(b, 2, 3, 3), d0="b")
    out("TensorScatter", [cache, update, c.input("at", np.array([1, 4]), d0="b")])
    out("TensorScatter", [cache, update, c.input("around", np.array([6, 2]), d0="b")], mode="circular")


@case("bits", opset=18)
def _(c, out):
    x, y = c.input("x", c.rng.integers(-2**62, 2**62, (3, 5))), c.input("y", c.rng.integers(-2**62, 2**62, 5))
    small, other = c.input("small", c.rng.integers(0, 256, (3, 5)).astype(np.uint8)), c.input("other", c.rng.integers(0, 256, (3, 5)).astype(np.uint8))
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        out(op, [x, y], kind=INT)
        out(op, [small, other], kind=TensorProto.UINT8)
    out("BitwiseNot", [x], kind=INT)
    out("BitwiseNot", [small], kind=TensorProto.UINT8)
    # PyTorch's x >> n: bits of a negative number are followed by ones.
    n = c.input("n", np.array([0, 1, 7, 62, 63], np.int64))
    for name, value in (("unsigned", x), ("places", n)):
        c.node("Cast", [value], [name], to=TensorProto.UINT64)
    ones = c.node("BitShift", [c.weight("ones", np.array(2**64 - 1, np.uint64)), "places"], ["ones_shifted"], direction="RIGHT")
    shifted = c.node("BitShift", ["unsigned", "places"], ["shifted"], direction="RIGHT")
    c.node("BitwiseOr", [shifted, c.node("BitwiseNot", [ones], ["upper"])], ["filled"])
    for name in ("shifted", "filled"):
        c.node("Cast", [name], [name + "_signed"], to=INT)
    out("Where", [c.node("Less", [x, c.weight("zero", np.array(0))], ["is_negative"]), "filled_signed", "shifted_signed"], kind=INT)
    c.node("BitwiseAnd", ["unsigned", c.weight("mask", np.array(2**63 + 5, np.uint64))], ["masked"])
    out("Cast", ["masked"], kind=INT, to=INT)


if __name__ == "__main__":
    main(CASES, CASES)
