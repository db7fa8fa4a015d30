"""A step taken apart: forward through a loop and a module and back, run to a card, backward, update; a breakpoint stops
training before the weights change."""
import os
import sys

from studio import Report, Studio

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graph xmlns="urn:gradloom:graph" version="1" name="%s">
"""
NESTED = HEAD % "nested" + """  <module name="cell">
    <node id="x" op="module_input"/>
    <node id="h" op="module_input" shape="B,5"/>
    <node id="w" op="linear" out_features="5"/>
    <node id="u" op="linear" out_features="5"/>
    <node id="sum" op="add"/>
    <node id="state" op="tanh"/>
    <node id="y" op="module_output"/>
    <node id="h1" op="module_output" carry="h"/>
    <wire from="x" to="w"/>
    <wire from="h" to="u"/>
    <wire from="w" to="sum.input"/>
    <wire from="u" to="sum.other"/>
    <wire from="sum" to="state"/>
    <wire from="state" to="y"/>
    <wire from="state" to="h1"/>
  </module>
  <module name="block">
    <node id="x" op="module_input"/>
    <node id="fc" op="linear" out_features="6"/>
    <node id="act" op="relu"/>
    <node id="y" op="module_output"/>
    <wire from="x" to="fc"/>
    <wire from="fc" to="act"/>
    <wire from="act" to="y"/>
  </module>
  <node id="data" op="dataset" source="tokens" task="previous" length="8" values="7"/>
  <node id="loop" op="scan" body="cell" axis="1"/>
  <node id="mid" module="block"/>
  <node id="head" op="linear" out_features="7"/>
  <node id="classes" op="transpose" dim0="1" dim1="2"/>
  <node id="loss" op="cross_entropy"/>
  <wire from="data.x" to="loop.x"/>
  <wire from="loop.y" to="mid"/>
  <wire from="mid" to="head"/>
  <wire from="head" to="classes"/>
  <wire from="classes" to="loss.input"/>
  <wire from="data.y" to="loss.target"/>
  <train loss="loss" optimizer="sgd" lr="0.1" batch_size="16" epochs="200000" seed="1"/>
</graph>
"""
# The logarithm of a negative number is NaN in the first step.
NOT_FINITE = HEAD % "not finite" + """  <node id="data" op="dataset" source="spirals"/>
  <node id="fc" op="linear" out_features="8"/>
  <node id="act" op="log"/>
  <node id="out" op="linear" out_features="2"/>
  <node id="loss" op="cross_entropy"/>
  <wire from="data.x" to="fc"/>
  <wire from="fc" to="act"/>
  <wire from="act" to="out"/>
  <wire from="out" to="loss.input"/>
  <wire from="data.y" to="loss.target"/>
  <train loss="loss" optimizer="adam" lr="0.01" epochs="2000" seed="1"/>
</graph>
"""
# No data: f is the sum of tanh (a · b).
NUMBERS = HEAD % "numbers" + """  <node id="a" op="constant" value="2"/>
  <node id="b" op="parameter" shape="3,4" init="ones"/>
  <node id="u" op="mul"/>
  <node id="f" op="sum"/>
  <wire from="a" to="u.input"/>
  <wire from="b" to="u.other"/>
  <wire from="u" to="f"/>
</graph>
"""
NEXT, BACK, INTO, OUT = "ctrl+alt+Right", "ctrl+alt+Left", "ctrl+alt+Down", "ctrl+alt+Up"


def place(g):
    """Where the step stands, as its bar says it: "Forward 3 of 9: conv1 · iteration 2 of 5 · value 0.1"."""
    return next((n for k, n, _ in g.widgets if k == "current"), "")


def chips(g):
    """Words and rectangles by port."""
    return {n.split(" ", 1)[0]: (n.split(" ", 1)[1], r) for k, n, r in g.widgets if k == "chip"}


def go(s, keys, begins):
    """One key, and the place after it with the chip of its card."""
    s.key(keys)
    return s.wait(begins, lambda g: place(g).startswith(begins) and ("value" in place(g) or ": " not in begins), 5)


def inside(r, frame):
    return (r[0] >= frame[0] and r[1] >= frame[1] and r[0] + r[2] <= frame[0] + frame[2]
            and r[1] + r[3] <= frame[1] + frame[3])


def overlaps(a, b):
    return a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]


def walk(t, path):
    with Studio("stepper", path) as s:
        s.wait("graph", lambda g: len(g.cards) == 6, 3)
        go(s, NEXT, "Forward 1 of 5: loop")
        t.ok(True, "the first key begins a paused run and computes the first card")
        go(s, NEXT, "Forward 2 of 5: mid")
        t.holds(s, lambda g: "loop.y" in chips(g) and "head.out" not in chips(g), "chips stand at what is computed")
        t.holds(s, lambda g: g.state["run"] == "paused" and g.number("step") == 0 and not g.has("no points yet"),
                "the run has taken no step, and its empty panel leaves the space to the canvas")
        go(s, INTO, "Forward 1 of 2: mid.fc")
        t.holds(s, lambda g: "mid.fc" in g.cards, "into the module: its cards are shown")
        go(s, NEXT, "Forward 2 of 2: mid.act")
        before = chips(s.wait("its value", lambda g: "mid.act.out" in chips(g), 5))["mid.act.out"][0]
        go(s, OUT, "Forward 2 of 5: mid")
        go(s, BACK, "Forward 1 of 5: loop")
        s.key(INTO)
        g = s.wait("the first iteration", lambda g: "iteration 1 of 8" in place(g) and "value" in place(g)
                   and "loop.state" in g.cards, 5)
        t.ok(True, "into the loop: " + place(g))
        while "iteration 1 of 8" in place(g):
            s.key(NEXT)
            g = s.wait("the next card", lambda n, before=place(g): place(n) != before and "value" in place(n), 5, quiet=True)
        t.ok("iteration 2 of 8" in place(g), "the second iteration follows")
        go(s, OUT, "Forward 1 of 5: loop")
        go(s, NEXT, "Forward 2 of 5: mid")
        go(s, INTO, "Forward 1 of 2: mid.fc")
        go(s, NEXT, "Forward 2 of 2: mid.act")
        t.holds(s, lambda g: chips(g)["mid.act.out"][0] == before, "computed again, the value is the same: " + before)
        go(s, OUT, "Forward 2 of 5: mid")

        s.select("classes")
        g = go(s, "ctrl+F10", "Forward 4 of 5: classes")
        t.ok("loss.out" not in chips(g), "runs to the selected card, and no further")
        s.press("Backward")
        g = s.wait("backward", lambda g: place(g).startswith("Backward")
                   and "gradient" in chips(g).get("loop.y", [""])[0] and "gradient 1" in chips(g)["loss.out"][0], 5)
        t.ok(True, "gradients stand below the values: " + chips(g)["loop.y"][0])
        t.holds(s, lambda g: not any(overlaps(r, c) for _, r in chips(g).values() for c in g.cards.values()),
                "no chip lies on a card")
        t.holds(s, lambda g: not any(overlaps(a[1], b[1]) for m, a in chips(g).items() for n, b in chips(g).items() if m < n),
                "no chip lies on another")
        s.select("mid")
        s.key("ctrl+alt+d")
        s.wait("a module's output", lambda g: g.dialog() and g.find("The gradient of mid.act[0] is ", exact=False), 5)
        s.key("Escape")
        s.wait("closed", lambda g: g.canvas is not None, 3)
        s.key("ctrl+shift+a")
        s.wait("nothing selected", lambda g: g.state["selected"] == "-", 3)
        s.key("ctrl+alt+d")
        s.wait("that where the step stands", lambda g: g.dialog() and g.find("Product", exact=False), 5)
        s.key("Escape")
        s.wait("closed", lambda g: g.canvas is not None, 3)
        s.select("classes")
        s.key("ctrl+alt+d")
        t.holds(s, lambda g: g.dialog() and g.find("Product of the local derivatives", exact=False)
                and "the sum over" in next(n for _, n, _ in g.widgets if n.startswith("The gradient of "))
                and g.find(" %)", exact=False), "the chain of local derivatives of a number, with its sums over paths")
        s.key("Escape")
        s.wait("closed", lambda g: g.canvas is not None, 3)
        s.select("head")
        s.key("ctrl+alt+d")
        s.wait("its output", lambda g: g.dialog() and g.find("The gradient of head[0] is ", exact=False), 5)
        s.press("head")
        s.wait("its tensors", lambda g: g.popover() and g.find("head.weight"), 3)
        s.press("head.weight")
        t.holds(s, lambda g: g.find("The gradient of head.weight[0] is ", exact=False) and g.find("head[", exact=False),
                "the chain begins at a weight, too")
        s.key("alt+b")
        s.wait("back", lambda g: g.find("The gradient of head[0] is ", exact=False), 5)
        s.key("Escape")
        s.wait("closed", lambda g: g.canvas is not None, 3)
        s.press("Update")
        g = t.holds(s, lambda g: g.number("step") == 1 and place(g).startswith("Forward 0 of 5")
                    and g.state["run"] == "paused", "Update takes the step, and the next one begins")
        go(s, NEXT, "Forward 1 of 5: loop")
        go(s, NEXT, "Forward 2 of 5: mid")
        worker = int(s.look().state["pid"])
        s.halt(worker)
        s.key(NEXT)
        s.press("Close the step (training stays as it is)")
        s.wait("closed", lambda g: not place(g), 5)
        s.key(NEXT)
        s.resume(worker)
        s.wait("the first card", lambda g: place(g).startswith("Forward 1 of 5: loop"), 5)
        t.ok(True, "the answer to a step that is closed does not open it again: the next one begins at its first card")
        s.press("Close the step (training stays as it is)")
        s.wait("closed", lambda g: not place(g) and not chips(g), 5)
        t.ok(True, "closed, nothing of it is left")

        s.key("ctrl+0")
        for _ in range(4):
            s.key("ctrl+plus")
        s.wait("larger", lambda g: g.number("zoom") > 1.2, 3)
        for card, begins in (("loop", "Forward 1 of 5: loop"), ("mid", "Forward 2 of 5: mid"), ("head", "Forward 3 of 5: head"),
                             ("classes", "Forward 4 of 5: classes"), ("loss", "Forward 5 of 5: loss")):
            focus = s.look().focus
            go(s, NEXT, begins)
            t.holds(s, lambda g: g.focus[0] == focus[0] and inside(g.cards[card], g.canvas),
                    "the card of the step comes into sight, the focus stays: " + card)


def stop(t, path):
    with Studio("stepper", path) as s:
        s.wait("graph", lambda g: len(g.cards) == 5, 3)
        s.select("act")
        s.key("ctrl+F8")
        s.wait("dialog", lambda g: g.dialog("Stop Here"), 3)
        s.press("Stop Here")
        g = t.holds(s, lambda g: g.canvas is not None and g.number("faults") == 0, "a breakpoint is no fault")
        s.key("ctrl+Return")
        g = t.holds(s, lambda g: g.state["run"] == "paused" and "act" in place(g) and "act.out" in chips(g)
                    and g.number("step") == 0, "training stands before the weights change", 10)
        t.holds(s, lambda g: "not finite" in chips(g)["act.out"][0], "the step stands at the card: " + place(g))
        s.key("ctrl+s")
        s.wait("saved", lambda g: 'when="not_finite"' in open(path, encoding="utf-8").read(), 5)
        t.ok('kind="breakpoint" node="act"' in open(path, encoding="utf-8").read(), "the file keeps it in <view>")


def at_once(t, path):
    with Studio("stepper", path) as s:
        g = s.wait("chips", lambda g: chips(g)["f.out"][0].startswith("value 24"), 10)
        t.ok(True, "a graph without data computes at once: " + chips(g)["f.out"][0])
        t.holds(s, lambda g: "gradient 2" in chips(g)["b.out"][0] and g.state["run"] == "not started",
                "and has gradients, without a run")
        s.select("b")
        s.key("ctrl+alt+d")
        t.holds(s, lambda g: g.dialog() and g.find("The gradient of b[0] is 2", exact=False)
                and g.find("Product of the local derivatives", exact=False), "and the chain of local derivatives of a number")
        s.key("Escape")
        s.wait("closed", lambda g: g.canvas is not None, 3)
        s.select("f")
        s.key("Delete")
        s.wait("edited", lambda g: "f.out" not in chips(g), 5)
        s.key("ctrl+z")
        s.wait("computed again", lambda g: "f.out" in chips(g), 5)
        t.ok(True, "after each edit again")


def body(t):
    folder = os.environ.get("TMPDIR", "/tmp")
    for name, graph, part in (("nested", NESTED, walk), ("not-finite", NOT_FINITE, stop),
                              ("numbers", NUMBERS, at_once)):
        path = os.path.join(folder, "gradloom-e2e-stepper-%s-%d.xml" % (name, os.getpid()))
        with open(path, "w", encoding="utf-8") as f:
            f.write(graph)
        try:
            part(t, path)
        finally:
            os.unlink(path)


sys.exit(Report().run(body))
