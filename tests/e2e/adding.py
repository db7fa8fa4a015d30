"""Adding by keyboard and by dragging: a chain of layers after a data set, counted in keys; the wire into the void; a layer
that is dropped on a wire; and the search at the pointer."""
import os
import sys

from drawing import found_row, search
from studio import Report, Studio, inside, middle

MOST_KEYS = 25

GRAPH = """<?xml version="1.0" encoding="UTF-8"?>
<graph xmlns="urn:gradloom:graph" version="1">
  <node id="data" op="dataset" source="spirals"/>
  <layout>
    <place node="data" x="0" y="0"/>
  </layout>
</graph>
"""


class Keys:
    """Counts what the hand presses: a chord is as many keys as it holds."""

    def __init__(self, s):
        self.s, self.n = s, 0

    def press(self, *chords):
        for chord in chords:
            self.n += len(chord.split("+"))
            self.s.key(chord)

    def type(self, text):
        self.n += len(text)
        self.s.type(text)


def whole_graph(s):
    s.key("ctrl+9")
    return s.wait("whole graph", lambda g: all(inside(r, g.canvas) for r in g.cards.values()), 2)


def apart(g):
    """No two cards overlap."""
    rects = list(g.cards.values())
    return all(a[0] + a[2] <= b[0] or b[0] + b[2] <= a[0] or a[1] + a[3] <= b[1] or b[1] + b[3] <= a[1]
               for i, a in enumerate(rects) for b in rects[i + 1:])


def chain(t, s):
    g = whole_graph(s)
    s.select("data")
    keys = Keys(s)
    keys.type("fl")
    keys.press("ctrl+Return")
    keys.type("li")
    keys.press("ctrl+Return", "ctrl+Return")
    keys.type("re")
    keys.press("ctrl+Return")
    keys.type("li")
    keys.press("ctrl+Return")
    keys.type("2")
    keys.press("ctrl+Return")
    keys.type("cr")
    keys.press("Return")
    names = [("data", "flatten"), ("flatten", "linear"), ("linear", "relu"), ("relu", "linear_2"),
             ("linear_2", "cross_entropy"), ("data", "cross_entropy")]
    t.holds(s, lambda g: sorted(w[:2] for w in g.wires) == sorted(names) and len(g.cards) == 6,
            "the layers are wired one after the other, and the target too")
    t.holds(s, lambda g: g.number("faults") == 0, "and nothing is missing")
    t.holds(s, lambda g: ("linear_2", "cross_entropy", "B × 2") in g.wires, "with the number of scores that was typed")
    t.ok(keys.n <= MOST_KEYS, "in %d keys, of at most %d" % (keys.n, MOST_KEYS))
    t.holds(s, apart, "no card lies on another")
    t.holds(s, lambda g: g.state["selected"] == "cross_entropy", "the last one is selected")
    for n in range(5, 0, -1):
        s.key("ctrl+z")
        g = s.wait("undone", lambda g: len(g.cards) == n, 2)
    t.holds(s, lambda g: len(g.wires) == 0 and not g.has("Edited"), "each layer with its wires and its value is one step back")
    g = whole_graph(s)
    s.select("data")
    s.type("tanh")
    s.key("ctrl+Return")
    s.wait("tanh", lambda g: "tanh" in g.cards, 2)
    s.key("BackSpace", "Escape")  # on a card, which has the focus where the search has ended, the first deletes
    g = t.holds(s, lambda g: not g.popover() and "tanh" in g.cards, "Ctrl+Enter leaves the search open")
    s.key("ctrl+z")
    s.wait("undone", lambda g: len(g.cards) == 1, 2)


def at_the_pointer(t, s):
    g = whole_graph(s)
    empty = (g.canvas[0] + 120, g.canvas[1] + 160)
    s.click(empty)
    s.key("shift+a")
    s.type("relu")
    s.key("Return")
    t.holds(s, lambda g: all(abs(middle(g.cards["relu"])[i] - empty[i]) < 40 for i in (0, 1)) and len(g.wires) == 0,
            "Shift+A adds at the pointer where nothing is selected, and wires nothing")
    s.key("ctrl+z")
    s.wait("undone", lambda g: len(g.cards) == 1, 2)
    s.select("data")
    s.type("cross")
    s.key("Return")
    s.wait("card", lambda g: "cross_entropy" in g.cards and g.state["selected"] == "cross_entropy", 2)
    t.ok(True, "a letter typed on a card goes to the search, C too, and cross means the cross-entropy")
    s.key("ctrl+z")
    s.wait("undone", lambda g: len(g.cards) == 1, 2)


def on_a_wire(t, s):
    """A card that is dropped on a wire goes into it, from the canvas and from the palette."""
    g = whole_graph(s)
    s.select("data")
    s.type("li 8")
    s.key("ctrl+Return")
    s.type("li 2")
    s.key("Return")
    g = s.wait("two layers", lambda g: len(g.cards) == 3 and len(g.wires) == 2, 2)
    s.click((g.canvas[0] + 60, g.canvas[1] + g.canvas[3] - 40))
    s.key("shift+a")
    s.type("relu")
    s.key("Return")
    s.wait("relu", lambda g: "relu" in g.cards, 2)
    g = whole_graph(s)
    ends = middle(g.outputs["linear.out"]), middle(g.inputs["linear_2.input"])
    wire = ((ends[0][0] + ends[1][0]) / 2, (ends[0][1] + ends[1][1]) / 2)
    before = sorted(g.wires)
    s.drag(middle(g.cards["relu"]), wire)
    names = [("data", "linear"), ("linear", "relu"), ("relu", "linear_2")]
    t.holds(s, lambda g: sorted(w[:2] for w in g.wires) == names, "a card that is dropped on a wire goes into it")
    s.key("ctrl+z")
    g = s.wait("undone", lambda g: sorted(g.wires) == before, 2)
    t.ok(True, "in one step, with where it lies")
    s.key("Delete")
    g = whole_graph(s)
    ends = middle(g.outputs["linear.out"]), middle(g.inputs["linear_2.input"])
    wire = ((ends[0][0] + ends[1][0]) / 2, (ends[0][1] + ends[1][1]) / 2)
    s.drag(middle(s.standing("the row", lambda g: g.find("ReLU", x1=g.canvas[0])[0])), wire)
    g = t.holds(s, lambda g: sorted(w[:2] for w in g.wires) == names,
                "so does a layer that comes from the palette")
    s.key("ctrl+z")
    g = t.holds(s, lambda g: sorted(g.wires) == before and len(g.cards) == 3, "in one step")
    library(t, s, wire)
    s.key("ctrl+z", "ctrl+z")


def library(t, s, wire):
    """A module of the library is searched, dragged and typed like a layer."""
    g = s.look()
    before, cards = sorted(g.wires), set(g.cards)
    search(s, "residual")
    row = found_row(s, "Residual block")
    s.drag(middle(row), wire)
    names = [("data", "linear"), ("linear", "residual_block"), ("residual_block", "linear_2")]
    t.holds(s, lambda g: sorted(w[:2] for w in g.wires) == names, "a module of the library is dragged into a wire")
    s.key("ctrl+z")
    s.wait("undone", lambda g: sorted(g.wires) == before, 2)
    s.select("data")
    s.type("residual block")
    s.key("Return")
    g = t.holds(s, lambda g: set(g.cards) == cards | {"residual_block"},
                "and is found by typing on the canvas")
    s.key("ctrl+z")
    s.wait("undone", lambda g: set(g.cards) == cards, 2)


SHAPES = GRAPH.replace('source="spirals"', 'source="shapes" shapes="1" target_type="class"')


def in_one_line(t, path):
    """A layer with its values in one line, a number that is left by typing the next layer's name, and undo's selection."""
    with open(path, "w") as f:
        f.write(SHAPES)
    with Studio("one-line", path) as s:
        s.wait("graph", lambda g: len(g.cards) == 1, 2)
        s.select("data")
        s.type("conv 6 5x5 pad 2")
        s.key("ctrl+Return")
        g = s.wait("the convolution", lambda g: ("data", "conv2d", "B × 3 × 32 × 32") in g.wires, 3)
        s.type("relu 3")
        s.key("Return")
        g = t.holds(s, lambda g: g.find("ReLU takes no further number: “3”.") and len(g.cards) == 2
                    and g.typing() == "relu 3", "a value too many is refused in a sentence, and can be corrected")
        s.key("BackSpace", "BackSpace")
        s.wait("the list", lambda g: g.find("ReLU", x0=g.canvas[0]), 2)
        s.key("ctrl+Return")
        g = s.wait("relu", lambda g: ("conv2d", "relu", "B × 6 × 32 × 32") in g.wires, 2)
        t.ok(True, "“conv 6 5x5 pad 2” is a convolution of six channels, that keeps the size")
        s.type("flatten")
        s.key("ctrl+Return")
        s.type("linear")
        s.key("Return")
        s.wait("the number's field", lambda g: g.typing() == "64", 2)
        s.type("tanh")
        g = s.wait("the next search", lambda g: g.find("Add after “linear”") and g.typing() == "tanh", 2)
        s.key("ctrl+Return")
        s.type("linear 10")
        s.key("ctrl+Return")
        s.type("cross")
        s.key("Return")
        g = t.holds(s, lambda g: len(g.wires) == 8 and not g.popover() and ("linear", "tanh", "B × 64") in g.wires,
                    "a letter in a number's field begins the next layer, the value stays")
        g = t.holds(s, lambda g: ("data", "cross_entropy", "B") in g.wires and g.number("faults") == 0,
                    "and the target is wired to what it can be")
        for card in ("linear_2", "tanh", "linear"):
            s.key("ctrl+z")
            s.wait("%s selected after undo" % card, lambda g: g.state["selected"] == card, 2)
        t.ok(True, "undo selects the card that was selected before")
        s.type("gelu")
        s.key("Return")
        s.wait("gelu", lambda g: ("linear", "gelu", "B × 64") in g.wires, 2)
        s.key("Delete")
        s.wait("deleted", lambda g: "gelu" not in g.cards, 2)
        s.key("ctrl+z")
        g = t.holds(s, lambda g: "gelu" in g.cards and g.state["selected"] == "gelu",
                    "and typing goes on from there; what undo brings back is selected")


FAULTY = """<?xml version="1.0" encoding="UTF-8"?>
<graph xmlns="urn:gradloom:graph" version="1">
  <node id="x" op="input" shape="B,1,28,28"/>
  <node id="fc" op="linear" out_features="10"/>
  <node id="data" op="dataset"/>
  <wire from="x" to="fc"/>
  <layout>
    <place node="x" x="0" y="0"/>
    <place node="fc" x="480" y="0"/>
    <place node="data" x="0" y="240"/>
  </layout>
</graph>
"""


def quick_fix(t, path):
    """The button of a card and the list of all faults do what they say."""
    with open(path, "w") as f:
        f.write(FAULTY)
    with Studio("fixing", path) as s:
        g = s.still("hint", lambda g: "fc" in g.faults)
        s.select("fc")
        s.wait("selected", lambda g: g.state["selected"] == "fc", 2)
        s.key("ctrl+period")
        g = t.holds(s, lambda g: ("flatten", "fc", "B × 784") in g.wires and "fc" not in g.faults,
                    "a hint's button inserts what is missing")
        s.key("ctrl+z")
        g = s.wait("undone", lambda g: "flatten" not in g.cards, 2)
        s.press("1 to do")
        s.wait("the list of faults", lambda g: g.popover(), 2)
        s.key("Tab", "Return")  # the row, and the first of its buttons
        s.wait("the list of data", lambda g: g.popover() and g.typing() is not None, 2)
        s.type("xor")
        s.key("Return")
        g = t.holds(s, lambda g: "data" not in g.faults and g.number("faults") == 0,
                    "the list's button asks which data, at its card")
        s.key("ctrl+z")
        s.wait("undone", lambda g: "data" in g.faults, 2)


def body(t):
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), "gradloom-adding-%d.xml" % os.getpid())
    with open(path, "w") as f:
        f.write(GRAPH)
    try:
        with Studio("adding", path) as s:
            s.wait("graph", lambda g: len(g.cards) == 1, 2)
            chain(t, s)
            at_the_pointer(t, s)
            on_a_wire(t, s)
        in_one_line(t, path)
        quick_fix(t, path)
    finally:
        os.remove(path)


if __name__ == "__main__":
    sys.exit(Report().run(body))
