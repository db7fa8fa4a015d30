"""Faults of shapes: the list of fixes with previews, a fix accepted by one press, and taken back by one step."""
import sys

import studio
from studio import Report, Studio

SHORTCUT = """<graph xmlns="urn:gradloom:graph" version="1">
<node id="x" op="input" shape="B,16,28,28"/><node id="conv" op="conv2d" out_channels="32" kernel_size="3"/>
<node id="sum" op="add"/><node id="out" op="relu"/>
<wire from="x" to="conv"/><wire from="conv" to="sum.input"/><wire from="x" to="sum.other"/><wire from="sum" to="out"/>
</graph>
"""


def accept(t, s, name):
    s.press("⚠ 1 fault")
    g = s.wait("the fixes", lambda g: g.popover() and g.find(name), 5)
    s.move(*studio.middle(g.find(name)[0]))
    s.wait("the preview", lambda g: g.find(name), 3)
    s.press(name)
    s.key("Escape")


def body(t):
    with Studio("fixes") as s:
        s.open("branch.xml", SHORTCUT.replace('out_channels="32"', 'out_channels="16"'))
        s.wait("the fault", lambda g: g.find("⚠ 1 fault"), 5)
        accept(t, s, "Set padding of conv to 1")
        g = t.holds(s, lambda g: g.find("No faults") and ("conv", "sum", "B × 16 × 28 × 28") in g.wires,
                    "a branch that shrinks gets its padding, and the wires their shapes")
        s.key("ctrl+z")
        s.wait("the fault again", lambda g: g.find("⚠ 1 fault"), 5)
        t.ok(True, "which one step takes back")
        s.open("shortcut.xml", SHORTCUT.replace('kernel_size="3"', 'kernel_size="3" padding="1"'))
        s.wait("the fault", lambda g: g.find("⚠ 1 fault"), 5)
        accept(t, s, "Insert conv2d")
        g = t.holds(s, lambda g: g.find("No faults") and len(g.cards) == 5,
                    "a shortcut of other channels gets a projection of size 1")
        s.key("ctrl+z")
        g = s.wait("the fault again", lambda g: g.find("⚠ 1 fault"), 5)
        t.ok(len(g.cards) == 4 and not s.complaints(), "which one step takes back, too")


if __name__ == "__main__":
    sys.exit(Report().run(body))
