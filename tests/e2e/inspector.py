"""The right pane: the wheel scrolls it wherever the pointer is and changes nothing, it never ends on emptiness, a long name
does not widen it, and a data set's own options are in it."""
import os
import shutil
import sys

import studio
from studio import Report, Studio, inside, middle

LESSON = os.path.join(studio.SOURCE, "graphs", "lessons", "self-attention.xml")
LONG = "a_module_with_a_name_" * 8


def wheel(s, at, clicks=3, button=5):
    s.move(*at)
    s.look()
    s.screen.click(button, clicks)
    s.standing("the end of scrolling", lambda g: [r for k, n, r in g.widgets if r[0] >= pane(g)[0]])


def pane(g):
    """The pane next to the canvas, as far down as the canvas goes."""
    left = g.canvas[0] + g.canvas[2]
    return left, g.canvas[1], 1280 - left, g.canvas[3]


def fields(g, kind):
    """Fields of a kind that are in sight in the pane."""
    return [r for k, n, r in g.widgets if k == kind and r[2] > 0 and inside(r, pane(g))]


def label_y(g, text):
    return g.find(text, x0=pane(g)[0])[0][1]


def wheel_over_fields(t, s, mark):
    """mark: a label that goes up when the pane scrolls down."""
    for kind in ("GtkEntry", "GtkDropDown", "GtkSwitch", "GtkMenuButton", "GtkLabel"):
        g = s.look()
        wheel(s, (pane(g)[0] + 20, pane(g)[1] + 200), 40, 4)
        g = s.look()
        there = fields(g, kind)
        if not there:
            continue
        before = label_y(g, mark)
        wheel(s, middle(there[-1]))
        g = s.wait("scrolled over a " + kind, lambda g: label_y(g, mark) < before - 40, 1)
    t.ok(not g.has("Edited"), "the wheel scrolls over every kind of field, and changes no value")


def end_of_pane(t, s, last):
    def rect(g):
        return g.find(last, x0=pane(g)[0])[0]

    g = s.wait("all of the pane", rect, 2)  # it is filled bit by bit
    wheel(s, (pane(g)[0] + 20, pane(g)[1] + 200), 60)
    t.holds(s, lambda g: inside(rect(g), pane(g)), "the end of the pane can be seen: %s" % last)
    t.holds(s, lambda g: pane(g)[1] + pane(g)[3] - rect(g)[1] - rect(g)[3] < 60, "and nothing is empty below it")


def choose(t, s, folder):
    with open(os.path.join(folder, "table.csv"), "w") as f:
        f.write("a,b,label\n1,2,0\n2,1,1\n")
    def buttons(g):
        return [r for k, n, r in g.widgets if k == "GtkButton" and n == "Choose a file" and inside(r, pane(g))]

    t.holds(s, lambda g: len(buttons(g)) == 1, "a path has a button that chooses a file, and nothing else has")
    s.click(s.standing("the button", lambda g: buttons(g)[0]))
    s.choose_file(os.path.join(folder, "table.csv"), "Choose")
    s.wait("chosen", lambda g: g.find("table.csv", x0=pane(g)[0]), 3)
    t.ok(True, "and writes it from the graph's folder on: table.csv")


CONV = """<?xml version="1.0" encoding="UTF-8"?>
<graph xmlns="urn:gradloom:graph" version="1">
  <node id="x" op="input" shape="B,3,32,32"/>
  <node id="conv" op="conv2d" out_channels="4" kernel_size="3"/>
  <wire from="x" to="conv"/>
</graph>
"""


def drag_default(t, s):
    """A value that is the operator's own is dragged like one that was typed."""
    s.open("conv.xml", CONV)
    s.wait("graph", lambda g: len(g.cards) == 2, 3)
    s.select("conv")
    s.wait("parameters", lambda g: g.find("Stride", x0=pane(g)[0]), 3)
    for label, shape in (("Stride", "6 × 6"), ("Padding", "8 × 8")):
        x, y = middle(s.standing(label, lambda g: g.value_place(label)))
        s.drag((x, y), (x + 34, y), steps=8)
        s.wait("%s dragged" % label, lambda g: g.has(shape), 3)
    t.ok(True, "a drag changes defaults: stride 1 to 5, padding 0 to 4")
    s.key("ctrl+z", "ctrl+z")
    s.wait("undone", lambda g: not g.has("Edited"), 2)
    t.ok(True, "each drag is one step")


def body(t):
    with Studio("inspector", LESSON) as s:
        g = s.wait("graph", lambda g: len(g.cards) > 0 and g.find("Training", x0=pane(g)[0]), 2)
        wheel_over_fields(t, s, "Training")
        end_of_pane(t, s, "Add Metric")

        card = "root_d"
        g = s.look()
        s.select(card)
        s.wait("parameters", lambda g: g.state["selected"] == card and inside(g.find("Name", x0=pane(g)[0])[0], pane(g)), 2)
        t.ok(True, "a card's parameters begin at the top")
        wheel_over_fields(t, s, "Name")
        end_of_pane(t, s, "Documentation")
        other = next(c for c in sorted(g.cards) if c != card)
        s.select(other)
        s.wait("another card", lambda g: g.state["selected"] == other and inside(g.find("Name", x0=pane(g)[0])[0], pane(g)), 2)
        t.ok(True, "and the next card's begin at the top again")

    folder = os.path.join(os.path.dirname(s.folder), os.path.basename(s.folder) + "-graphs")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "long.xml")
    with open(path, "w") as f:
        f.write('<?xml version="1.0" encoding="UTF-8"?>\n<graph xmlns="urn:gradloom:graph" version="1" name="%s">\n' % LONG
                + '<module name="%s"><node id="a" op="module_input"/><node id="b" op="module_output"/>' % LONG
                + '<wire from="a" to="b"/></module>\n'
                '<node id="data" op="dataset" source="csv" path="none.csv"/>\n'
                '<node id="long" module="%s"/>\n<wire from="data.x" to="long"/>\n</graph>\n' % LONG)
    with Studio("inspector-long", path) as s:
        g = s.still("graph", lambda g: len(g.cards) == 2)
        width = g.canvas[2]
        s.select("long")
        s.wait("its fields", lambda g: g.state["selected"] == "long" and g.find("Name", x0=pane(g)[0]), 2)
        t.holds(s, lambda g: g.canvas[2] == width, "a name of %d letters leaves the pane as wide as it was" % len(LONG))
        s.select("data")
        t.holds(s, lambda g: all(g.find(o, x0=pane(g)[0]) for o in ("Delimiter", "Path", "Target", "Features", "Val fraction")),
                "a data set's own options are in the inspector")
        t.holds(s, lambda g: g.canvas[2] == width, "which is still as wide as it was")
        choose(t, s, folder)
        drag_default(t, s)
    shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(Report().run(body))
