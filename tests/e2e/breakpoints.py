"""Breakpoints of every kind, on layers, on a layer inside a module, and on whole modules: each stops training before the
weights change, says where, and the step stands at the layer."""
import sys

from studio import Report, Studio

GRAPH = """<?xml version="1.0" encoding="UTF-8"?>
<graph xmlns="urn:gradloom:graph" version="1">
  <module name="block">
    <node id="x" op="module_input"/>
    <node id="fc" op="linear" out_features="6"/>
    <node id="act" op="relu"/>
    <node id="y" op="module_output"/>
    <wire from="x" to="fc"/>
    <wire from="fc" to="act"/>
    <wire from="act" to="y"/>
  </module>
  <node id="data" op="dataset" source="spirals"/>
  <node id="mid" module="block"/>
  <node id="out" op="linear" out_features="2"/>
  <node id="loss" op="cross_entropy"/>
  <wire from="data.x" to="mid"/>
  <wire from="mid" to="out"/>
  <wire from="out" to="loss.input"/>
  <wire from="data.y" to="loss.target"/>
  <train loss="loss" optimizer="sgd" lr="0.01" batch_size="32" epochs="200000" seed="1"/>
</graph>
"""
# The logarithm of a negative number is NaN in the first step.
NAN = GRAPH.replace('op="relu"', 'op="log"')
FINITE, GRADIENT, DEAD, EQUAL = ("A value or gradient is NaN or infinite", "The norm of the gradient is above",
                                 "The share of dead units is above", "A value is equal to")
# By graph: card and, in its module, a card; condition and number; the place where the step stands.
CASES = (
    (GRAPH, (("out", None, GRADIENT, "0", "Backward", "out"),
             ("data", None, EQUAL, "1", "Forward", ": mid"),  # the values of data are there before the first node
             ("mid", None, GRADIENT, "0", "Backward", "mid."),
             ("mid", None, DEAD, "-1", "Forward", "mid."),
             ("mid", "mid.act", EQUAL, "0", "Forward", "mid.act"))),
    (NAN, (("mid", None, FINITE, None, "Forward", "mid."),)),
)


def place(g):
    return next((n for k, n, _ in g.widgets if k == "current"), "")


def breakpoints(g):
    return [n for k, n, _ in g.widgets if k == "breakpoint"]


def set_breakpoint(s, condition, number):
    s.key("ctrl+F8")
    s.wait("the dialog", lambda g: g.dialog("Stop Here"), 3)
    if condition != FINITE:
        s.press(FINITE)
        s.press(condition)
        s.wait("the condition", lambda g: g.dialog("Stop Here") and not g.popover(), 3)
        s.fill("the number", lambda g: next((r for k, n, r in g.widgets if "Text" in k), None), number)
    s.press("Stop Here")
    s.wait("a breakpoint", lambda g: len(breakpoints(g)) == 1, 5)


def stands(t, s, case):
    card, inner, condition, number, phase, node = case
    s.select(card)
    if inner is not None:
        s.click(s.standing("the module", lambda g: g.cards[card]), count=2)
        s.wait("inside", lambda g: inner in g.cards, 5)
        s.select(inner)
    set_breakpoint(s, condition, number)
    before = s.look().number("step")
    s.key("ctrl+Return")
    g = s.wait("the run stands", lambda g: g.state["run"] == "paused" and place(g).startswith(phase)
               and node in place(g) and "value" in place(g), 10)
    t.ok(condition == FINITE or g.number("step") <= before + 1, "training stands before the weights change, at %s, if %s %s: %s"
         % (inner or card, condition, number or "", place(g)))
    if "out" not in g.cards:
        s.key("ctrl+alt+Up")
        s.wait("outside", lambda g: "out" in g.cards, 5)
    s.press("Close the step (training stays as it is)")
    s.wait("closed", lambda g: not place(g), 5)
    s.key("ctrl+z")
    s.wait("removed", lambda g: not breakpoints(g), 5)


def body(t):
    for graph, cases in CASES:
        with Studio("breakpoints") as s:
            s.open("stop.xml", graph)
            s.wait("graph", lambda g: "mid" in g.cards and g.number("faults") == 0, 5)
            for case in cases:
                stands(t, s, case)


if __name__ == "__main__":
    sys.exit(Report().run(body))
