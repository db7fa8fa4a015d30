"""ONNX's recurrent layers, loops, branches and attention with all of their attributes, and integers, images and signals in
forms that ONNX's own cases leave out, imported and run: `gradloom import`
and `gradloom run` must give the numbers of onnxruntime (of onnx's own evaluation for what onnxruntime does otherwise) within
1e-5.

With --store FOLDER a few of them are kept there in the form of ONNX's own test cases, which tests/onnx/test-onnx-exports.c
repeats without Python: onnx_layers.py --store tests/onnx/exports."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

TOLERANCE = 1e-5
STORED = ("if-data", "lstm-peepholes-reverse-lengths", "gru-before-clip", "rnn-both-activations", "scan-axes-directions", "loop-tied-weight", "loop-counts",
          "loop-grows", "loop-until", "loop-until-rows", "loop-asked-first", "attention-past-causal", "attention-cap-scores", "loop-while", "quantize-types",
          "quantize-zeros", "integer-sums", "integer-conv", "resize-10", "resize-corners", "dft-inverse-onesided", "lp-norm-zeros", "open-image",
          "open-shape", "pad-infinity", "half", "integers", "resize-moves", "sums-before", "compare-6", "set-28", "positions")
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64, np.dtype(np.int32): TensorProto.INT32,
         np.dtype(bool): TensorProto.BOOL, np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.int8): TensorProto.INT8, np.dtype(np.uint32): TensorProto.UINT32,
         np.dtype(np.float16): TensorProto.FLOAT16}


class Case:
    """A model in the making: numbers become inputs or, with weight(), initialisers."""

    def __init__(self, opset=17, seed=1):
        self.rng, self.opset = np.random.default_rng(seed), opset
        self.nodes, self.inputs, self.weights, self.outputs = [], {}, {}, []
        self.by_reference, self.open, self.fixed = False, {}, set()

    def draw(self, *shape):
        return self.rng.uniform(-1, 1, shape).astype(np.float32)

    def input(self, name, value, **open_sizes):
        self.inputs[name] = np.asarray(value)
        self.open[name] = {int(axis[1:]): symbol for axis, symbol in open_sizes.items()}
        return name

    def weight(self, name, value):
        self.weights[name] = np.asarray(value)
        return name

    def node(self, op, inputs, outputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs, name=outputs[0] + "_" + op, **attributes))
        return outputs[0]

    def model(self):
        def info(name, value):
            shape = [self.open.get(name, {}).get(i, n) for i, n in enumerate(value.shape)]
            return helper.make_tensor_value_info(name, TYPES[value.dtype], shape)

        graph = helper.make_graph(self.nodes, "case", [info(*i) for i in self.inputs.items()],
                                  [helper.make_tensor_value_info(n, t, None) for n, t in self.outputs],
                                  [numpy_helper.from_array(v, n) for n, v in self.weights.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset),
                                                       helper.make_opsetid("com.microsoft", 1)], ir_version=10)

    def expect(self, model):
        names = [n for n, _ in self.outputs]
        if self.by_reference:
            return ReferenceEvaluator(model).run(names, self.inputs)
        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(names, self.inputs)


FLOAT, INT, BYTE = TensorProto.FLOAT, TensorProto.INT64, TensorProto.UINT8
CASES = {}


def case(name):
    def add(make):
        CASES[name] = make
        return make
    return add


# ---- recurrent layers ----------------------------------------------------------------------------------------------------


def recurrent(op, directions=1, lengths=False, states=False, peepholes=False, bias=True, wired=False, steps=5, **attributes):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]

    def make():
        c = Case()
        put = c.input if wired else c.weight
        h, b, x = 3, 4, 2
        sizes = {} if lengths else {"_0": "steps", "_1": "batch"}
        names = [c.input("X", c.draw(steps, b, x), **sizes),
                 put("W", c.draw(directions, gates * h, x)), put("R", c.draw(directions, gates * h, h)),
                 put("B", c.draw(directions, 2 * gates * h)) if bias else ""]
        names.append(c.input("L", np.array([steps, 2, 1, steps - 1], np.int32)) if lengths else "")
        for state in ("H", "C")[: 2 if op == "LSTM" else 1]:
            names.append(c.input(state, c.draw(directions, b, h), **({"_1": "batch"} if sizes else {})) if states else "")
        if peepholes:
            names.append(put("P", c.draw(directions, 3 * h)))
        c.outputs = [(n, FLOAT) for n in ("Y", "Yh", "Yc")[: 3 if op == "LSTM" else 2]]
        c.node(op, names, [n for n, _ in c.outputs], hidden_size=h, **attributes)
        return c
    return make


for name, make in {
    "lstm": recurrent("LSTM"),
    "lstm-both": recurrent("LSTM", 2, states=True, direction="bidirectional"),
    "lstm-reverse": recurrent("LSTM", states=True, direction="reverse"),
    "lstm-reverse-lengths": recurrent("LSTM", lengths=True, states=True, direction="reverse"),
    "lstm-lengths": recurrent("LSTM", 2, lengths=True, states=True, direction="bidirectional"),
    "lstm-peepholes": recurrent("LSTM", 2, peepholes=True, states=True, direction="bidirectional"),
    "lstm-peepholes-reverse-lengths": recurrent("LSTM", peepholes=True, lengths=True, states=True, direction="reverse"),
    "lstm-coupled": recurrent("LSTM", input_forget=1),
    "lstm-clip": recurrent("LSTM", clip=0.2, states=True),
    "lstm-activations": recurrent("LSTM", activations=["HardSigmoid", "ScaledTanh", "Softsign"], activation_alpha=[0.3, 1.2],
                                  activation_beta=[0.4, 0.8]),
    "lstm-wired": recurrent("LSTM", 2, wired=True, states=True, direction="bidirectional"),
    "lstm-wired-peepholes": recurrent("LSTM", wired=True, peepholes=True),
    "gru-after": recurrent("GRU", states=True, linear_before_reset=1),
    "gru-after-both": recurrent("GRU", 2, linear_before_reset=1, bias=False, direction="bidirectional"),
    "gru-before": recurrent("GRU", 2, states=True, direction="bidirectional"),
    "gru-before-reverse": recurrent("GRU", lengths=True, direction="reverse"),
    "gru-before-clip": recurrent("GRU", states=True, clip=0.3),
    "gru-after-clip": recurrent("GRU", states=True, clip=0.3, linear_before_reset=1),
    "gru-activations": recurrent("GRU", activations=["Sigmoid", "LeakyRelu"], activation_alpha=[0.2]),
    "gru-wired": recurrent("GRU", wired=True),
    "gru-wired-after": recurrent("GRU", wired=True, linear_before_reset=1),
    "rnn": recurrent("RNN", states=True),
    "rnn-relu-reverse": recurrent("RNN", activations=["Relu"], direction="reverse"),
    "rnn-both-activations": recurrent("RNN", 2, lengths=True, direction="bidirectional", activations=["Affine", "Elu"],
                                      activation_alpha=[0.9, 0.7], activation_beta=[0.1]),
    "rnn-thresholded": recurrent("RNN", activations=["ThresholdedRelu"], activation_alpha=[0.2], bias=False),
    "rnn-clip": recurrent("RNN", clip=0.4),
    "rnn-one-step": recurrent("RNN", 2, steps=1, direction="bidirectional"),
}.items():
    CASES[name] = make


# ---- Scan, Loop, If --------------------------------------------------------------------------------------------------------


def value(name, kind=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def scan(c, body, inputs, outputs, **attributes):
    c.node("Scan", inputs, outputs, body=body, **attributes)


@case("scan-axes-directions")
def _():
    """Two sequences cut along different axes, one backwards; two results, one backwards and along another axis."""
    c = Case()
    body = helper.make_graph(
        [helper.make_node("Mul", ["s", "w"], ["sw"]), helper.make_node("Add", ["sw", "a"], ["sa"]),
         helper.make_node("Sub", ["sa", "b"], ["s1"]), helper.make_node("Tanh", ["s1"], ["t"]),
         helper.make_node("MatMul", ["t", "m"], ["u"])],
        "body", [value("s", shape=[3]), value("a", shape=[3]), value("b", shape=[3])], [value("s1"), value("t"), value("u")])
    c.weight("w", c.draw(3))
    c.weight("m", c.draw(3, 2))
    scan(c, body, [c.input("S", c.draw(3)), c.input("A", c.draw(4, 3)), c.input("B", c.draw(3, 4))], ["z", "p", "q"],
         num_scan_inputs=2, scan_input_axes=[0, -1], scan_input_directions=[0, 1], scan_output_axes=[0, 1],
         scan_output_directions=[1, 0])
    c.outputs = [("z", FLOAT), ("p", FLOAT), ("q", FLOAT)]
    return c


@case("scan-reverse")
def _():
    c = Case()
    body = helper.make_graph([helper.make_node("Add", ["s", "a"], ["s1"]), helper.make_node("Exp", ["a"], ["e"])], "body",
                             [value("s", shape=[2]), value("a", shape=[2])], [value("s1"), value("e")])
    scan(c, body, [c.input("S", c.draw(2)), c.input("A", c.draw(5, 2), _0="steps")], ["z", "p"], num_scan_inputs=1,
         scan_input_directions=[1])
    c.outputs = [("z", FLOAT), ("p", FLOAT)]
    return c


@case("scan-nested")
def _():
    """A loop in a loop, whose body reads what is two graphs outside of it."""
    c = Case()
    inner = helper.make_graph([helper.make_node("Mul", ["x", "W"], ["xw"]), helper.make_node("Add", ["u", "xw"], ["u1"])], "inner",
                              [value("u", shape=[]), value("x", shape=[])], [value("u1")])
    outer = helper.make_graph([helper.make_node("Scan", ["s", "row"], ["s1"], body=inner, num_scan_inputs=1),
                               helper.make_node("Identity", ["s1"], ["o"])], "outer",
                              [value("s", shape=[]), value("row", shape=[3])], [value("s1"), value("o")])
    c.input("W", np.float32(0.7))
    scan(c, outer, [c.input("S", np.float32(0.5)), c.input("X", c.draw(4, 3))], ["z", "p"], num_scan_inputs=1)
    c.outputs = [("z", FLOAT), ("p", FLOAT)]
    return c


def loop(c, nodes, carried, outputs, trip, condition="", tensors=(), more=(), stacked=()):
    """carried: (name within, its first value, the name after a step)."""
    body = helper.make_graph(
        nodes, "body", [value("i", INT, []), value("going", TensorProto.BOOL, [])] + [value(n, *t) for n, _, _, *t in carried],
        [value("on", TensorProto.BOOL, [])] + [value(n, *t[:1]) for _, _, n, *t in carried] + [value(n) for n in stacked],
        [numpy_helper.from_array(np.asarray(v), n) for n, v in tensors])
    c.node("Loop", [trip, condition] + [first for _, first, _, *_ in carried], outputs, body=body)


def yes(name="on"):
    return helper.make_node("Identity", ["going"], [name])


@case("loop-tied-weight")
def _():
    """A layer in the body, whose weight is read outside as well."""
    c = Case()
    c.weight("W", c.draw(3, 3))
    c.weight("V", c.draw(3, 3))
    c.weight("n", np.int64(4))
    x = c.input("X", c.draw(2, 3), _0="batch")
    c.node("MatMul", [x, "W"], ["y"])
    loop(c, [yes(), helper.make_node("MatMul", ["h", "W"], ["hw"]), helper.make_node("MatMul", ["hw", "V"], ["hv"]),
             helper.make_node("Add", ["hv", "y"], ["s"]), helper.make_node("Tanh", ["s"], ["h1"])],
         [("h", "X", "h1", FLOAT, [None, 3])], ["z", "all"], "n", stacked=["s"])
    c.outputs = [("z", FLOAT), ("all", FLOAT)]
    return c


@case("loop-counts")
def _():
    """As many steps as an input has rows, each taken by its number."""
    c = Case()
    x = c.input("X", c.draw(5, 3), _0="steps")
    c.weight("zero", np.array(0, np.int64))
    c.weight("start", np.zeros(3, np.float32))
    c.node("Shape", [x], ["shape"])
    c.node("Gather", ["shape", "zero"], ["n"], axis=0)
    loop(c, [yes(), helper.make_node("Gather", ["X", "i"], ["row"], axis=0), helper.make_node("Add", ["h", "row"], ["h1"]),
             helper.make_node("Sin", ["h1"], ["y"])],
         [("h", "start", "h1", FLOAT, [3])], ["z", "all"], "n", stacked=["y"])
    c.outputs = [("z", FLOAT), ("all", FLOAT)]
    return c


@case("loop-grows")
def _():
    """What is carried becomes longer at each step, so that the steps are drawn."""
    c = Case()
    x = c.input("X", c.draw(1, 2))
    c.weight("n", np.array(3, np.int64))
    c.weight("W", c.draw(2, 2))
    loop(c, [yes(), helper.make_node("MatMul", ["h", "W"], ["hw"]), helper.make_node("Concat", ["h", "hw"], ["h1"], axis=0)],
         [("h", x, "h1", FLOAT, [None, 2])], ["z"], "n")
    c.outputs = [("z", FLOAT)]
    return c


@case("loop-once")
def _():
    c = Case()
    x = c.input("X", c.draw(3))
    loop(c, [helper.make_node("Neg", ["h"], ["h1"]), helper.make_node("Identity", ["no"], ["on"])],
         [("h", x, "h1", FLOAT, [3])], ["z"], "", tensors=[("no", False)])
    c.outputs = [("z", FLOAT)]
    return c


@case("loop-never")
def _():
    c = Case()
    x = c.input("X", c.draw(3))
    c.weight("n", np.array(0, np.int64))
    loop(c, [yes(), helper.make_node("Neg", ["h"], ["h1"])], [("h", x, "h1", FLOAT, [3])], ["z"], "n")
    c.outputs = [("z", FLOAT)]
    return c


def until(c, limit, condition):
    """Doubles what is carried until its sum is above three, at most so often."""
    x = c.input("X", np.array([0.1, 0.25, -0.05], np.float32))
    c.weight("n", np.array(limit, np.int64))
    loop(c, [helper.make_node("Add", ["h", "h"], ["h1"]), helper.make_node("ReduceSum", ["h1"], ["sum"], keepdims=0),
             helper.make_node("Less", ["sum", "three"], ["on"]), helper.make_node("Cast", ["i"], ["f"], to=FLOAT),
             helper.make_node("Add", ["f", "one"], ["t1"])],
         [("h", x, "h1", FLOAT, [3]), ("t", c.input("T", np.float32(0)), "t1", FLOAT, [])], ["z", "steps"], "n", condition,
         tensors=[("three", np.float32(3)), ("one", np.float32(1))])
    c.outputs = [("z", FLOAT), ("steps", FLOAT)]
    return c


@case("loop-until")
def _():
    """The data say when it ends; a number bounds it."""
    return until(Case(), 20, "")


@case("loop-until-bound")
def _():
    """The data would go on; the bound ends it."""
    return until(Case(), 2, "")


@case("loop-until-rows")
def _():
    """Rows are taken by a carried place and by the step's number until there are no more; the bound is larger."""
    c = Case()
    c.input("X", c.draw(3, 2))
    c.weight("n", np.array(7, np.int64))
    loop(c, [helper.make_node("Gather", ["X", "at"], ["a"], axis=0), helper.make_node("Gather", ["X", "i"], ["b"], axis=0),
             helper.make_node("Mul", ["a", "b"], ["ab"]), helper.make_node("Add", ["h", "ab"], ["h1"]),
             helper.make_node("Add", ["at", "one"], ["at1"]), helper.make_node("Less", ["at1", "three"], ["on"])],
         [("h", c.input("H", c.draw(2)), "h1", FLOAT, [2]), ("at", c.input("AT", np.array(0, np.int64)), "at1", INT, [])], ["z", "end"], "n",
         tensors=[("three", np.array(3, np.int64)), ("one", np.array(1, np.int64))])
    c.outputs = [("z", FLOAT), ("end", INT)]
    return c


@case("loop-asked-first")
def _():
    """The data say that it does not run at all."""
    c = Case()
    c.input("go", np.array(False))
    return until(c, 4, "go")


@case("if-size")
def _():
    """The branch follows from a size, as exporters write a squeeze."""
    c = Case()
    x = c.input("X", c.draw(2, 1, 3))
    c.weight("one", np.array(1, np.int64))
    c.weight("axes", np.array([1], np.int64))
    c.node("Shape", [x], ["shape"])
    c.node("Gather", ["shape", "one"], ["n"], axis=0)
    c.node("Equal", ["n", "one"], ["is_one"])
    c.node("If", ["is_one"], ["y"],
           then_branch=helper.make_graph([helper.make_node("Squeeze", ["X", "axes"], ["t"])], "then", [], [value("t")]),
           else_branch=helper.make_graph([helper.make_node("Identity", ["X"], ["e"])], "else", [], [value("e")]))
    c.outputs = [("y", FLOAT)]
    return c


@case("if-data")
def _():
    """Each branch reads what is outside; an input says which it is."""
    c = Case()
    x = c.input("X", c.draw(2, 3), _0="batch")
    c.weight("W", c.draw(3, 3))
    c.node("If", [c.input("cond", np.array([False]))], ["y", "z"],
           then_branch=helper.make_graph([helper.make_node("Neg", ["X"], ["t"]), helper.make_node("Exp", ["t"], ["u"])], "then", [],
                                         [value("t"), value("u")]),
           else_branch=helper.make_graph([helper.make_node("MatMul", ["X", "W"], ["e"]), helper.make_node("Tanh", ["e"], ["f"])],
                                         "else", [], [value("e"), value("f")]))
    c.outputs = [("y", FLOAT), ("z", FLOAT)]
    return c


# ---- Attention ---------------------------------------------------------------------------------------------------------------


def attention(flat=False, heads=4, groups=4, mask=None, past=0, keys=5, queries=5, scores=None, opset=23, present=False, lengths=False,
              **attributes):
    def make():
        c = Case(opset)
        c.by_reference = True
        b, e, d = 2, 3, 2
        fresh = keys - past
        sizes = {} if mask == "none" or lengths or isinstance(mask, tuple) and len(mask) == 4 else {"_0": "batch"}

        def tensor(name, n, places, width):
            if flat:
                return c.input(name, c.draw(b, places, n * width), **sizes)
            return c.input(name, c.draw(b, n, places, width), **sizes)

        names = [tensor("Q", heads, queries, e), tensor("K", groups, fresh, e), tensor("V", groups, fresh, d)]
        if mask == "bool":
            names.append(c.input("M", c.rng.uniform(size=(queries, keys)) < 0.6))
        elif mask == "none":
            names.append(c.input("M", np.zeros((b, 1, queries, keys), bool)))
        else:
            names.append(c.input("M", c.draw(*mask)) if mask else "")
        if past:
            names += [c.input("PK", c.draw(b, groups, past, e), **sizes), c.input("PV", c.draw(b, groups, past, d), **sizes)]
        elif lengths:
            names += ["", "", c.input("L", np.array([keys, 2], np.int64))]
        c.outputs = [("Y", FLOAT)]
        outs = ["Y", "", "", ""]
        if past or present:
            outs[1:3] = ["NK", "NV"]
        if scores is not None:
            outs[3] = "S"
            attributes["qk_matmul_output_mode"] = scores
        c.outputs = [(n, FLOAT) for n in outs if n]
        while not outs[-1]:
            outs.pop()
        if flat:
            attributes.update(q_num_heads=heads, kv_num_heads=groups)
        c.node("Attention", names, outs, **attributes)
        return c
    return make


for name, make in {
    "attention": attention(),
    "attention-flat-causal": attention(flat=True, is_causal=1),
    "attention-groups": attention(groups=2, scale=0.3, mask="bool"),
    "attention-flat-groups": attention(flat=True, groups=1, queries=3),
    "attention-mask-heads": attention(mask=(4, 5, 5), is_causal=1),
    "attention-nothing": attention(mask="none"),
    "attention-past-causal": attention(past=2, queries=3, is_causal=1, mask="bool"),
    "attention-past-flat": attention(flat=True, groups=2, past=3, queries=2, scores=3),
    "attention-scores": attention(scores=0, mask=(5, 5), groups=2),
    "attention-scores-masked": attention(scores=2, mask="bool", is_causal=1),
    "attention-cap": attention(softcap=0.8, mask=(2, 1, 5, 5)),
    "attention-cap-scores": attention(softcap=0.5, scores=1, is_causal=1),
    "attention-cap-nothing": attention(softcap=0.5, mask="none"),
    "attention-lengths": attention(opset=24, lengths=True, queries=2),
    "attention-lengths-causal": attention(opset=24, lengths=True, queries=2, is_causal=1),
    "attention-window": attention(opset=25, left_window_size=1, right_window_size=1),
}.items():
    CASES[name] = make


# ---- running -------------------------------------------------------------------------------------------------------------------


def gradloom(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"gradloom {words[0]}: {done.stderr.strip()}")
    return done.stdout


# ---- a loop that its body ends ---------------------------------------------------------------------------------------------


@case("loop-while")
def _():
    c = Case()
    one, three, go = c.weight("one", np.int64(1)), c.weight("three", np.int64(3)), c.weight("go", np.array(True))
    body = helper.make_graph(
        [helper.make_node("Add", ["n", one], ["n_next"]), helper.make_node("Mul", ["x_in", "x"], ["x_out"]),
         helper.make_node("Less", ["n_next", three], ["again"])], "body",
        [value("i", INT, []), value("c", TensorProto.BOOL, []), value("n", INT, []), value("x_in")],
        [value("again", TensorProto.BOOL, []), value("n_next", INT, []), value("x_out")])
    x, zero = c.input("x", c.draw(2, 3)), c.weight("zero", np.int64(0))
    c.outputs = [("y", FLOAT)]
    c.node("Loop", ["", go, zero, x], ["n_last", "y"], body=body)
    return c


# ---- integers --------------------------------------------------------------------------------------------------------------

INT32 = TensorProto.INT32


@case("quantize-types")
def _():
    c = Case(opset=21)
    x = c.input("x", 200 * c.draw(2, 3, 4), _0="batch")
    scale = c.weight("scale", np.array([0.001, 0.0005, 2], np.float32))
    for kind in ("uint8", "int8", "uint16", "int16"):
        zero = c.weight("zero_" + kind, np.array([np.iinfo(kind).min + 7, 3, np.iinfo(kind).max - 9], kind))
        q = c.node("QuantizeLinear", [x, scale, zero], ["q_" + kind], axis=1)
        c.node("DequantizeLinear", [q, scale, zero], ["d_" + kind], axis=1)
        t = c.node("QuantizeLinear", [x, scale], ["t_" + kind], axis=1, output_dtype=getattr(TensorProto, kind.upper()))
        c.node("Cast", [t], ["n_" + kind], to=INT32)
        c.outputs += [("d_" + kind, FLOAT), ("n_" + kind, INT32)]
    return c


@case("quantize-zeros")
def _():
    c = Case()
    x = c.input("x", np.zeros((2, 3), np.float32))
    c.node("DynamicQuantizeLinear", [x], ["y", "scale", "zero"])
    c.outputs = [("y", TensorProto.UINT8), ("scale", FLOAT), ("zero", TensorProto.UINT8)]
    return c


@case("integer-sums")
def _():
    c = Case()
    for n in (250, 3000, 9000):
        a = c.input(f"a{n}", c.rng.integers(200, 256, (2, n)).astype(np.uint8))
        b = c.weight(f"b{n}", c.rng.integers(-128, -100, (n, 2)).astype(np.int8))
        c.node("MatMulInteger", [a, b, c.weight(f"za{n}", np.uint8(1)), c.weight(f"zb{n}", np.array([120, 127], np.int8))],
               [f"y{n}"])
        c.outputs.append((f"y{n}", INT32))
    one = c.weight("one", np.float32(1))
    zero, fine = c.weight("zero", np.uint8(0)), c.weight("fine", np.float32(1 / 4096))
    a, b = c.input("a", c.rng.integers(0, 4, (2, 3000)).astype(np.uint8)), c.weight("b", c.rng.integers(0, 256, (3000, 2)).astype(np.uint8))
    c.node("QLinearMatMul", [a, one, zero, b, fine, zero, one, zero], ["y"])
    c.outputs.append(("y", TensorProto.UINT8))
    return c


@case("integer-conv")
def _():
    c = Case()
    x = c.input("x", c.rng.integers(200, 256, (1, 64, 4, 4)).astype(np.uint8))
    w = c.weight("w", c.rng.integers(200, 256, (2, 64, 3, 3)).astype(np.uint8))
    zx, zw = c.weight("zx", np.uint8(3)), c.weight("zw", np.uint8(2))
    c.node("ConvInteger", [x, w, zx, zw], ["y"], pads=[1, 1, 0, 0], kernel_shape=[3, 3])
    scale, out = c.weight("scale", np.array([1, 0.5], np.float32)), c.weight("out", np.float32(200000))
    one, bias = c.weight("one", np.float32(1)), c.weight("bias", np.array([1 << 24, -7], np.int32))
    c.node("QLinearConv", [x, one, zx, w, scale, zw, out, zx, bias], ["z"], kernel_shape=[3, 3])
    c.outputs = [("y", INT32), ("z", TensorProto.UINT8)]
    return c


@case("integers")
def _():
    c = Case(opset=14)
    x = c.input("x", np.array([-70000, -3, 200, 2**31 + 5]))
    for kind in ("int8", "int16", "uint16", "uint32"):
        c.node("Cast", [c.node("Cast", [x], [kind], to=getattr(TensorProto, kind.upper()))], ["y_" + kind], to=INT)
        c.outputs.append(("y_" + kind, INT))
    c.node("Cast", [c.node("Add", ["int8", c.weight("hundred", np.int8(100))], ["over"])], ["y_over"], to=INT)
    c.node("Cast", [c.node("BitShift", ["uint32", c.weight("two", np.array([1, 2, 3, 4], np.uint32))], ["left"], direction="LEFT")],
           ["y_left"], to=INT)
    c.node("Add", [x, c.weight("large", np.array([2**25 + 2, 2**30, 2**31 + 2**20, 2**40]))], ["y_large"])
    c.outputs += [("y_over", INT), ("y_left", INT), ("y_large", INT)]
    return c


@case("sums-before")
def _():
    c = Case(opset=14)
    x, axis = c.input("x", np.array([[1, np.inf, 2], [1, 2, 3]], np.float32)), c.weight("axis", np.int64(1))
    for reverse in (0, 1):
        c.node("CumSum", [x, axis], [f"y{reverse}"], exclusive=1, reverse=reverse)
        c.outputs.append((f"y{reverse}", FLOAT))
    return c


@case("set-28")
def _():
    c = Case(opset=28)
    c.by_reference = True
    a, b = c.input("a", c.draw(2, 3)), c.input("b", c.draw(2, 3))
    axis = c.weight("axis", np.int64(1))
    for alpha in (1.0, 1.7):
        c.outputs.append((c.node("SwiGLU", [a, b], [f"swiglu{alpha:.0f}"], alpha=alpha), FLOAT))
    for exclusive in (0, 1):
        for reverse in (0, 1):
            c.outputs.append((c.node("CumProd", [a, axis], [f"product{exclusive}{reverse}"], exclusive=exclusive, reverse=reverse), FLOAT))
    c.outputs.append((c.node("Mod", [a, b], ["rest"]), FLOAT))
    c.outputs.append((c.node("SpaceToDepth", [c.input("image", c.draw(1, 2, 4, 4))], ["depth"], blocksize=2, mode="CRD"), FLOAT))
    x, n = c.input("x", np.array([5, -5, 5, -5, 5, -5, 1])), c.input("n", np.array([1, 1, 64, 64, -1, -1, 63]))
    for direction in ("LEFT", "RIGHT"):
        c.outputs.append((c.node("BitShift", [x, n], [direction.lower()], direction=direction), INT))
    return c


@case("compare-6")
def _():
    c = Case(opset=6)
    a, b = c.input("a", c.draw(2, 3, 2)), c.input("b", c.draw(3))
    c.node("Cast", [c.node("Greater", [a, b], ["more"], broadcast=1, axis=1)], ["y"], to=FLOAT)
    c.outputs = [("y", FLOAT)]
    c.expect = lambda model: [(c.inputs["a"] > c.inputs["b"][:, None]).astype(np.float32)]  # onnxruntime begins at set 7
    return c


# ---- images and signals ------------------------------------------------------------------------------------------------------


@case("resize-10")
def _():
    c = Case(opset=10)
    x = c.input("x", c.draw(1, 2, 5, 10))
    for i, (mode, factors) in enumerate([("nearest", (0.6, 0.75)), ("nearest", (0.6, 1.7)), ("nearest", (2, 3)), ("linear", (0.6, 1.7))]):
        c.node("Resize", [x, c.weight(f"s{i}", np.array([1, 1, *factors], np.float32))], [f"y{i}"], mode=mode)
        c.outputs.append((f"y{i}", FLOAT))
    return c


@case("resize-corners")
def _():
    c = Case(opset=19)
    x = c.input("x", c.draw(1, 2, 5, 7))
    for i, (mode, where, factors) in enumerate([("linear", "align_corners", (1.7, 0.6)), ("cubic", "align_corners", (1.7, 2.3)),
                                                ("nearest", "align_corners", (0.7, 1.5)), ("linear", "half_pixel_symmetric", (1.7, 0.6))]):
        c.node("Resize", [x, "", c.weight(f"s{i}", np.array([1, 1, *factors], np.float32))], [f"y{i}"], mode=mode,
               coordinate_transformation_mode=where)
        c.outputs.append((f"y{i}", FLOAT))
    return c


@case("resize-moves")
def _():
    c = Case(opset=13)
    x = c.input("x", c.draw(1, 2, 7, 9))
    for i, (mode, where, how, factors) in enumerate([("linear", "half_pixel", "floor", (1.07, 0.5)), ("cubic", "asymmetric", "floor", (1.07, 1.6)),
                                                     ("cubic", "asymmetric", "floor", (1.07, 1.05)),
                                                     ("nearest", "half_pixel", "round_prefer_ceil", (0.6, 1.7)),
                                                     ("nearest", "asymmetric", "floor", (1.07, 1.7))]):
        c.node("Resize", [x, "", c.weight(f"s{i}", np.array([1, 1, *factors], np.float32))], [f"y{i}"], mode=mode,
               coordinate_transformation_mode=where, nearest_mode=how)
        c.outputs.append((f"y{i}", FLOAT))
    return c


@case("dft-inverse-onesided")
def _():
    c = Case(opset=20)
    x, axis = c.input("x", c.draw(2, 5, 2)), c.weight("axis", np.int64(1))
    for n in (0, 8, 9):
        c.node("DFT", [x, c.weight("n9", np.int64(9)) if n == 9 else c.weight("n8", np.int64(8)) if n else "", axis], [f"y{n}"],
               inverse=1, onesided=1)
        c.outputs.append((f"y{n}", FLOAT))
    return c


@case("open-image")
def _():
    c = Case()
    x = c.input("x", c.draw(1, 3, 9, 7), _2="height", _3="width")
    w, v = c.weight("w", c.draw(4, 3, 3, 3)), c.weight("v", c.draw(4, 3, 3, 3))
    a = c.node("Conv", [x, w], ["a"], strides=[2, 2], pads=[1, 1, 1, 1])
    b = c.node("Conv", [x, v], ["b"], strides=[2, 2], pads=[1, 1, 1, 1])
    s = c.node("Mul", [a, c.node("Sigmoid", [a], ["s"])], ["silu"])
    c.node("Concat", [c.node("Add", [s, b], ["sum"]), b], ["y"], axis=1)
    c.outputs = [("y", FLOAT)]
    return c


@case("open-shape")
def _():
    c = Case()
    x, end = c.input("x", c.draw(3, 2, 3), _0="batch"), c.weight("end", np.array([1], np.int64))
    c.node("Shape", [x], ["shape"])
    c.node("Cast", ["shape"], ["narrow"], to=INT32)
    c.node("Slice", ["narrow", c.weight("start", np.array([0], np.int64)), end], ["batch"])
    c.node("Concat", ["batch", c.weight("rest", np.array([-1], np.int32))], ["sizes"], axis=0)
    c.node("Cast", ["sizes"], ["wide"], to=INT)
    c.node("Reshape", [x, "wide"], ["y"])
    c.outputs = [("y", FLOAT)]
    return c


@case("pad-infinity")
def _():
    c = Case()
    x = c.input("x", c.draw(2, 3), _0="batch")
    for sign in (-1, 1):
        v = c.weight(f"v{sign}", np.float32(sign * np.inf))
        c.node("Pad", [x, c.weight(f"p{sign}", np.array([0, 1, 0, 2], np.int64)), v], [f"y{sign}"])
        c.outputs.append((f"y{sign}", FLOAT))
    return c


@case("half")
def _():
    c = Case()

    def quarters(*shape):  # whose sums of products float16 holds exactly
        return (np.round(8 * c.draw(*shape)) / 4).astype(np.float16)

    x, w, b = c.input("x", quarters(2, 4)), c.weight("w", quarters(4, 3)), c.weight("b", quarters(3))
    y = c.node("Gemm", [x, w, b], ["y"])
    wide = c.node("Cast", [y], ["wide"], to=FLOAT)
    c.node("Cast", [c.node("Mul", [wide, c.weight("factor", np.float32(12345))], ["big"])], ["over"], to=TensorProto.FLOAT16)
    c.node("Cast", ["over"], ["rounded"], to=FLOAT)
    c.outputs = [("y", TensorProto.FLOAT16), ("rounded", FLOAT)]
    return c


@case("lp-norm-zeros")
def _():
    c = Case()
    x = c.input("x", np.array([[0, 0, 0], [3, -4, 0]], np.float32))
    for p in (1, 2):
        c.node("LpNormalization", [x], [f"y{p}"], p=p, axis=1)
        c.outputs.append((f"y{p}", FLOAT))
    return c


@case("positions")
def _():
    """Pixels by position: grids of images and volumes, windows summed into an image, means and norms of windows with gaps."""
    c = Case(opset=20)
    x, volume = c.input("x", c.draw(2, 3, 6, 5)), c.input("v", c.draw(1, 2, 3, 4, 3))
    grid, deep = c.input("g", 1.5 * c.draw(2, 4, 3, 2)), c.input("d", 1.5 * c.draw(1, 2, 3, 2, 3))
    for i, mode in enumerate(("linear", "nearest", "cubic")):
        for k, padding in enumerate(("zeros", "border", "reflection")):
            c.outputs.append((c.node("GridSample", [x, grid], [f"s{i}{k}"], mode=mode, padding_mode=padding, align_corners=k % 2), FLOAT))
    c.outputs.append((c.node("GridSample", [volume, deep], ["deep"], mode="linear", padding_mode="border"), FLOAT))
    size = c.weight("size", np.array([2, 3, 4, 5], np.int64))
    c.outputs.append((c.node("AffineGrid", [c.input("theta", c.draw(2, 2, 3)), size], ["affine"], align_corners=1), FLOAT))
    columns, image = c.input("columns", c.draw(1, 8, 12)), c.weight("image", np.array([3, 4], np.int64))
    c.outputs.append((c.node("Col2Im", [columns, image, c.weight("block", np.array([2, 2], np.int64))], ["folded"], pads=[0, 1, 1, 0]), FLOAT))
    c.outputs.append((c.node("LpPool", [x], ["norms"], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 0, 1], p=3), FLOAT))
    c.outputs.append((c.node("GlobalLpPool", [x], ["norm"], p=2), FLOAT))
    c.outputs.append((c.node("AveragePool", [x], ["gaps"], kernel_shape=[2, 3], dilations=[2, 1], pads=[1, 1, 0, 1]), FLOAT))
    return c


def difference(ours, theirs):
    """Largest difference, relative to the largest number where that is above 1; infinite for another shape."""
    if ours.shape != theirs.shape:
        return np.inf
    if theirs.dtype == bool:
        ours, theirs = ours.astype(int), theirs.astype(int)
    finite = np.isfinite(theirs)
    if not np.array_equal(ours[~finite], theirs[~finite], equal_nan=True):
        return np.inf
    return float(np.abs(ours[finite] - theirs[finite]).max(initial=0) / max(1.0, np.abs(theirs[finite]).max(initial=0)))


def check(program, c):
    model = c.model()
    expected = c.expect(model)
    with tempfile.TemporaryDirectory() as folder:
        path, graph, weights = (os.path.join(folder, f) for f in ("m.onnx", "m.xml", "m.safetensors"))
        onnx.save(model, path)
        said = gradloom(program, "import", path, "-o", graph)
        if os.environ.get("VERBOSE"):
            print(said, open(graph).read().split("<layout>")[0])
        words = ["--weights", weights] if os.path.exists(weights) else []
        for port in re.findall(r"^input ([^:]*):", said, re.M):
            np.save(f"{folder}/{port}.npy", c.inputs[port])
            words += ["--in", f"{port}={folder}/{port}.npy"]
        outs = re.findall(r"^output ([^:]*):", said, re.M)
        for i, port in enumerate(outs):
            words += ["--out", f"{port}={folder}/out-{i}.npy"]
        gradloom(program, "run", graph, *words)
        return max(difference(np.load(f"{folder}/out-{i}.npy"), v) for i, v in enumerate(expected))


def store(c, folder):
    model = c.model()
    data = os.path.join(folder, "test_data_set_0")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(data)
    onnx.save(model, os.path.join(folder, "model.onnx"))
    for kind, values in (("input", c.inputs.items()), ("output", zip([n for n, _ in c.outputs], c.expect(model)))):
        for i, (port, v) in enumerate(values):
            with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as file:
                file.write(numpy_helper.from_array(np.asarray(v), port).SerializeToString())


def main(cases, stored):
    """cases: name → function that returns a Case; stored: names of those that --store keeps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", help="gradloom")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--store", metavar="FOLDER", help="keep cases there instead")
    args = parser.parse_args()
    if not args.program and not args.store:
        parser.error("--program or --store is needed")
    wrong, count, worst = 0, 0, 0.0
    for name, build in cases.items():
        if args.only not in name:
            continue
        if args.store:
            if name in stored:
                store(build(), os.path.join(args.store, name))
            continue
        count += 1
        try:
            off = check(args.program, build())
            what = f"off by {off:.2e}"
        except Exception as error:  # a model that is refused is a finding like another
            off, what = np.inf, " ".join(str(error).split())[:300]
        if off <= TOLERANCE:
            worst = max(worst, off)
        else:
            wrong += 1
            print(f"  {name}: {what}")
    if not args.store:
        print(f"ONNX's operators: {count - wrong} of {count} models agree, worst {worst:.1e}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(CASES, STORED)
