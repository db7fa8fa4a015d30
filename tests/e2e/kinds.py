"""Pins of every kind: a digit shows it, with the values of the step, and its cells are read by keys."""
import re
import sys

from studio import Report, Studio

GRAPH = """<?xml version="1.0" encoding="UTF-8"?>
<graph xmlns="urn:gradloom:graph" version="1">
%s
  <train loss="loss" optimizer="sgd" lr="0.01" batch_size="8" epochs="2000" seed="1"/>
  <view>
%s
  </view>
</graph>
"""
PICTURES = """  <node id="data" op="dataset" source="shapes" target_type="class" shapes="1" size="16"/>
  <node id="conv" op="conv2d" out_channels="4" kernel_size="3"/>
  <node id="flat" op="flatten"/>
  <node id="scores" op="linear" out_features="12"/>
  <node id="loss" op="cross_entropy"/>
  <wire from="data.x" to="conv"/><wire from="conv" to="flat"/><wire from="flat" to="scores"/>
  <wire from="scores" to="loss.input"/><wire from="data.y" to="loss.target"/>"""
POINTS = """  <node id="data" op="dataset" source="spirals"/>
  <node id="fc" op="linear" out_features="9"/><node id="act" op="tanh"/>
  <node id="more" op="linear" out_features="4"/>
  <node id="scores" op="linear" out_features="2"/><node id="loss" op="cross_entropy"/>
  <wire from="data.x" to="fc"/><wire from="fc" to="act"/><wire from="act" to="more"/><wire from="more" to="scores"/>
  <wire from="scores" to="loss.input"/><wire from="data.y" to="loss.target"/>"""
TOKENS = """  <node id="data" op="dataset" source="text" path="/usr/share/common-licenses/GPL-3" context="8" stride="64"/>
  <node id="letters" op="embedding" num_embeddings="76" embedding_dim="6"/>
  <node id="attn" op="multihead_attention" num_heads="2" is_causal="true" batch_first="true"/>
  <node id="head" op="linear" out_features="76"/>
  <node id="classes" op="transpose" dim0="1" dim1="2"/><node id="loss" op="cross_entropy"/>
  <wire from="data.x" to="letters"/><wire from="letters" to="attn.query"/><wire from="letters" to="attn.key"/>
  <wire from="letters" to="attn.value"/><wire from="attn" to="head"/><wire from="head" to="classes"/>
  <wire from="classes" to="loss.input"/><wire from="data.y" to="loss.target"/>"""
# By graph and tensor: kinds by digit, each with what is said of its first cell; None: it has no cells.
TABLE = (
    (PICTURES, {
        "conv": {1: ("montage", "channel 1, row 1, column 1"), 2: ("heatmap", "row 1, column 1"),
                 3: ("histogram", "values near")},
        "conv.weight": {1: ("kernels", "filter 1, channel 1, row 1, column 1"), 4: ("norms", "step 1: norm")},
        "scores": {1: ("bars", "feature 1: ")}}),
    (POINTS, {
        "loss": {1: ("scalar", "step 1: ")},
        "more.weight": {1: ("weights", "unit 1, input 1"), 5: ("components", "unit 1: ")},
        "scores": {2: ("surface", r"\(.+, .+\): class [01], \d+ % · scores"), 3: ("scatter", "sample 1")}}),
    (TOKENS, {
        "data.x": {1: ("text", "")},
        "attn.weights": {1: ("attention", "target “.+”, source “.+”"), 2: ("threads", "target “.+”, source “.+”"),
                         3: ("arcs", "target “.+”, source “.+”")}}),
)


def shows(t, s, tensor, digit, kind, words):
    pin = lambda g: g.pinned.get(tensor, {})  # noqa: E731
    s.key(str(digit))
    g = s.wait(kind, lambda g: pin(g).get("kind") == kind and pin(g)["step"] == "1" and pin(g)["focus"] == "1"
               and "step 1" in pin(g)["caption"], 5)
    if words is not None:
        s.move(2, 2)
        s.wait("no cell", lambda g: pin(g)["cell"] == "-", 5)
        s.key("shift+Right")
        g = s.wait("a cell", lambda g: re.search(words, pin(g)["cell"]) and pin(g)["cell"] != "-", 5)
    t.ok(True, "%s as %s: %s: %s" % (tensor, kind, pin(g)["caption"], pin(g)["cell"]))


def derivative(t, s):
    """The chain rule for the number under the cursor of a pin."""
    s.click(s.standing("the pin", lambda g: g.pins["scores"]))
    s.wait("focus", lambda g: g.pinned["scores"]["focus"] == "1", 5)
    shows(t, s, "scores", 4, "heatmap", "sample 1, feature 1: ")
    s.key("shift+Right")
    s.wait("the second cell", lambda g: "sample 1, feature 2: " in g.pinned["scores"]["cell"], 5)
    s.key("ctrl+alt+Right")
    s.wait("a step", lambda g: g.find("Forward 1 of", exact=False), 5)
    s.press("Backward")
    s.wait("gradients", lambda g: any(k == "chip" and n.startswith("scores") and "gradient" in n for k, n, _ in g.widgets), 5)
    s.key("ctrl+alt+d")
    g = t.holds(s, lambda g: g.dialog() and g.find("The gradient of scores[1] is ", exact=False)
                and g.find("loss[0]: local derivative", exact=False),
                "the chain rule begins at the cell of the pin")
    s.key("Escape")
    s.wait("closed", lambda g: g.canvas is not None, 3)


def body(t):
    for graph, tensors in TABLE:
        with Studio("kinds") as s:
            s.open("pinned.xml", GRAPH % (graph, "\n".join(
                '    <pin tensor="%s" kind="norms" width="176" height="112"/>' % n for n in tensors)))
            s.wait("graph", lambda g, all=tensors: all.keys() <= g.pins.keys() and g.number("faults") == 0, 5)
            s.press("Step")
            s.wait("one batch", lambda g: g.state["run"] == "paused"
                   and all(p.get("step") == "1" for p in g.pinned.values()), 10)
            for tensor, kinds in tensors.items():
                s.click(s.standing("the pin", lambda g, n=tensor: g.pins[n]))
                s.wait("focus", lambda g, n=tensor: g.pinned[n]["focus"] == "1", 5)
                for digit, (kind, words) in kinds.items():
                    shows(t, s, tensor, digit, kind, words)
            if graph is POINTS:
                derivative(t, s)


if __name__ == "__main__":
    sys.exit(Report().run(body))
