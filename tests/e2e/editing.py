"""Wires and cards by the hand: reasons for refused ports, cutting, moving all wires of a port, dissolving, context menus."""
import sys

from studio import Report, Studio, inside, middle

GRAPH = """<?xml version="1.0" encoding="UTF-8"?>
<graph xmlns="urn:gradloom:graph" version="1">
  <node id="x" op="input" shape="B,8"/>
  <node id="fc" op="linear" out_features="4"/>
  <node id="act" op="relu"/>
  <node id="sum" op="add"/>
  <node id="image" op="input" shape="B,1,28,28"/>
  <node id="conv" op="conv2d" out_channels="3" kernel_size="3"/>
  <wire from="x" to="fc"/>
  <wire from="fc" to="act"/>
  <wire from="act" to="sum.input"/>
  <wire from="fc" to="sum.other"/>
  <layout>
    <place node="x" x="0" y="0"/>
    <place node="fc" x="240" y="0"/>
    <place node="act" x="480" y="0"/>
    <place node="sum" x="720" y="0"/>
    <place node="image" x="0" y="192"/>
    <place node="conv" x="240" y="192"/>
  </layout>
</graph>
"""


def stroke(s, start, end, keys=(), button=1):
    """A drag with keys held."""
    s.move(*start)
    s.hold(*keys)
    s.drag(start, end, 6, button)
    s.release(*keys)


def pairs(g):
    return sorted((a, b) for a, b, _ in g.wires)


def expect(t, s, what, wanted):
    return t.holds(s, lambda g: pairs(g) == sorted(wanted), what)


START = [("x", "fc"), ("fc", "act"), ("act", "sum"), ("fc", "sum")]


def undo(s):
    s.key("ctrl+z")
    return s.wait("undone", lambda g: pairs(g) == sorted(START) and not g.has("Edited"), 2)


def reasons(t, s, g):
    stroke(s, middle(g.outputs["act.out"]), middle(g.inputs["conv.input"]))
    g = t.holds(s, lambda g: g.has("B × 4") and pairs(g) == sorted(START), "a port that refuses a wire says why")


def cutting(t, s, g):
    between = ((middle(g.outputs["x.out"])[0] + middle(g.inputs["fc.input"])[0]) / 2, middle(g.outputs["x.out"])[1])
    s.move(*between)
    s.hold("alt")
    s.click(between)
    s.release("alt")
    expect(t, s, "Alt and a click cut the wire there", START[1:])
    g = undo(s)
    x = (middle(g.outputs["act.out"])[0] + middle(g.inputs["sum.input"])[0]) / 2
    top, bottom = g.cards["act"][1] - 40, g.cards["act"][1] + g.cards["act"][3] + 90
    for keys, button in ((("ctrl",), 3), (("shift", "alt"), 1)):
        stroke(s, (x, top), (x, bottom), keys, button)
        expect(t, s, "a line drawn with %s cuts all wires that it crosses" % "+".join(keys), START[:2])
        g = undo(s)


def moving(t, s, g):
    stroke(s, middle(g.outputs["fc.out"]), middle(g.outputs["x.out"]), ("ctrl",))
    expect(t, s, "Ctrl moves all wires of an output", [("x", "fc"), ("x", "act"), ("act", "sum"), ("x", "sum")])
    undo(s)


def dissolving(t, s, g):
    s.select("act")
    s.key("ctrl+x")
    g = expect(t, s, "Ctrl+X reconnects the neighbours of what it cuts", [("x", "fc"), ("fc", "sum"), ("fc", "sum")])
    t.ok("act" not in g.cards, "and takes the card")
    undo(s)


def choose(s, n):
    """An entry of an open menu: 0 is the first, -1 the last, which one comes to upwards."""
    s.wait("the menu", lambda g: g.popover(), 2)
    s.key(*["Down" if n > 0 else "Up"] * abs(n))
    s.key("Return")
    s.wait("the menu's end", lambda g: not g.popover(), 2)


def menus(t, s, g):
    s.move((middle(g.outputs["x.out"])[0] + middle(g.inputs["fc.input"])[0]) / 2, middle(g.outputs["x.out"])[1])
    s.look()
    s.screen.click(3)
    choose(s, -1)
    expect(t, s, "the menu of a wire cuts it", START[1:])
    g = undo(s)
    s.move(*middle(g.outputs["fc.out"]))
    s.look()
    s.screen.click(3)
    choose(s, -1)
    expect(t, s, "the menu of a port takes its wires away", [START[0], START[2]])
    g = undo(s)
    s.select("act")
    s.move(2, 2)  # a menu that opens below the pointer begins at that entry
    s.key("Menu")
    choose(s, 0)
    g = t.holds(s, lambda g: g.state["focus"] == "GtkText" and g.state["selected"] == "act",
                "the Menu key opens the menu of the card that has the focus")
    s.key("Escape")
    s.click((g.canvas[0] + 20, g.canvas[1] + 20))
    s.key("ctrl+plus", "ctrl+plus", "ctrl+plus", "ctrl+plus")
    s.wait("closer", lambda g: not all(inside(r, g.canvas) for r in g.cards.values()), 2)
    s.move(2, 2)
    s.key("shift+F10")
    choose(s, -1)
    g = t.holds(s, lambda g: all(inside(r, g.canvas) for r in g.cards.values()) and len(g.cards) == 6,
                "and Shift+F10 that of the canvas, which fits everything")


def grouping(t, s, g):
    s.select("fc")
    s.hold("shift")
    s.press_card("act")
    s.release("shift")
    s.key("ctrl+g")
    g = t.holds(s, lambda g: "block" in g.cards and "fc" not in g.cards
                and pairs(g) == [("block", "sum"), ("block", "sum"), ("x", "block")], "Ctrl+G makes a module of the selection")
    s.key("Tab")
    g = t.holds(s, lambda g: "block.fc" in g.cards and "sum" not in g.cards, "Tab enters it")
    s.key("ctrl+Up")
    s.wait("outside", lambda g: "block" in g.cards, 2)
    s.key("ctrl+shift+g")
    g = expect(t, s, "Ctrl+Shift+G puts it apart", START)
    s.key("ctrl+z")
    s.wait("module again", lambda g: "block" in g.cards, 2)
    undo(s)


def muting(t, s, g):
    s.select("act")
    s.key("ctrl+shift+m")
    g = t.holds(s, lambda g: g.has("Edited") and len(g.faults) == 1, "a muted layer is passed by without a fault")
    g = undo(s)
    s.select("act")
    s.key("alt+s")
    s.wait("the search", lambda g: g.popover(), 2)
    s.type("gelu")
    s.key("Return")
    g = t.holds(s, lambda g: g.has("Edited") and pairs(g) == sorted(START), "Alt+S swaps a layer and keeps its wires")
    undo(s)


def numbers(t, s, g):
    s.select("fc")
    x, y = middle(s.standing("the field", lambda g: g.value_place("Out features")))
    s.move(x, y)
    s.look()
    s.down()
    s.move_along((x, y), (x + 40, y), 5)
    g = t.holds(s, lambda g: g.has("B × 9") and g.has("36 → 81") and not g.has("Edited"),
                "a drag across a number says what would change")
    s.up()
    g = t.holds(s, lambda g: ("fc", "act", "B × 9") in g.wires and g.has("Edited") and not g.has("36 → 81"),
                "and its end sets the number")
    undo(s)
    s.click((g.canvas[0] + 20, g.canvas[1] + 20))
    s.key("ctrl+a")
    g = t.holds(s, lambda g: g.has("6 selected") and g.has("Common Parameters"),
                "of several cards the fields that all have are shown")


def body(t):
    with Studio("editing") as s:
        s.open("net.xml", GRAPH)
        g = s.wait("graph", lambda g: len(g.cards) == 6 and all(inside(r, g.canvas) for r in g.cards.values()), 2)
        for part in (reasons, cutting, moving, dissolving, menus, grouping, muting, numbers):
            part(t, s, s.look())


if __name__ == "__main__":
    sys.exit(Report().run(body))
