"""Cards put in order by hand and by command: snapping to others, Alt for any place, Arrange, aligning; each one step back."""
import sys

from studio import Report, Studio, inside, middle

NET = """<?xml version="1.0" encoding="UTF-8"?>
<graph xmlns="urn:gradloom:graph" version="1">
  <node id="x" op="input" shape="B,8"/>
  <node id="fc" op="linear" out_features="4"/>
  <node id="act" op="tanh"/>
  <node id="sum" op="add"/>
  <node id="w" op="parameter" shape="4"/>
  <wire from="x" to="fc"/>
  <wire from="fc" to="act"/>
  <wire from="act" to="sum.input"/>
  <wire from="w" to="sum.other"/>
%s</graph>
"""
PLACED = NET % """  <layout>
    <place node="x" x="500" y="300"/>
    <place node="fc" x="24" y="24"/>
    <place node="act" x="264" y="312"/>
    <place node="sum" x="24" y="192"/>
    <place node="w" x="500" y="72"/>
  </layout>
"""


def snapping(t, s, g):
    zoom = g.cards["x"][2] / 176
    x, y = middle(g.cards["sum"])
    # The lower part of a card: its head may lie under a port. Four pixels from the left edge of act, well below it.
    s.drag((x, y), (x + g.cards["act"][0] - g.cards["sum"][0] + 4, y + 10))
    moved = t.holds(s, lambda m: abs(m.cards["sum"][0] - g.cards["sum"][0]) > 50
                    and abs(m.cards["sum"][0] - m.cards["act"][0]) < 0.6, "a card jumps onto the edge of another")
    s.key("ctrl+z")
    s.wait("back", lambda b: b.cards == g.cards, 2)
    s.hold("alt")
    s.drag((x, y), (x + g.cards["act"][0] - g.cards["sum"][0] + 4, y + 10))
    s.release("alt")
    moved = t.holds(s, lambda m: abs(m.cards["sum"][0] - g.cards["sum"][0]) > 50
                    and abs(m.cards["sum"][0] - m.cards["act"][0] - 4) < 1.5 / zoom, "with Alt it goes anywhere")
    s.key("ctrl+z")
    s.wait("back", lambda b: b.cards == g.cards, 2)


def arranging(t, s, g):
    s.key("ctrl+shift+l")
    a = s.still("arranged", lambda m: m.cards["x"][0] < m.cards["fc"][0])
    t.holds(s, lambda a: all(inside(r, a.canvas) for r in a.cards.values()) and a.cards["x"][2] >= 0.7 * 176 - 1,
            "Arrange fits the canvas, to be read")
    t.ok(all(a.cards[p][0] + a.cards[p][2] < a.cards[q][0] for p, q in (("x", "fc"), ("act", "sum"), ("w", "sum"))),
         "wires lead to the right")
    s.key("ctrl+z")
    s.key("ctrl+9")
    t.holds(s, lambda b: b.cards["x"][0] > b.cards["fc"][0]
            and abs(b.cards["act"][0] - b.cards["fc"][0] - (g.cards["act"][0] - g.cards["fc"][0])) < 2, "and is one step back")


def aligning(t, s, g):
    s.select("x")
    s.hold("shift")
    s.press_card("fc")
    s.press_card("sum")
    s.release("shift")
    s.command("align left")
    t.holds(s, lambda m: all(abs(m.cards[c][0] - m.cards["fc"][0]) < 1 for c in ("x", "sum")),
            "three cards are aligned by the list of actions")
    s.key("ctrl+z")
    s.still("back", lambda m: abs(m.cards["x"][0] - g.cards["x"][0]) < 1)


LONG = """<?xml version="1.0" encoding="UTF-8"?>
<graph xmlns="urn:gradloom:graph" version="1">
  <node id="n0" op="input" shape="B,8"/>
%s  <layout>
%s  </layout>
</graph>
""" % ("".join('  <node id="n%d" op="tanh"/>\n  <wire from="n%d" to="n%d"/>\n' % (i, i - 1, i) for i in range(1, 12)),
       "".join('    <place node="n%d" x="%d" y="0"/>\n' % (i, 240 * i) for i in range(12)))


def fitting(t, s):
    """Zoom to Fit shows everything, however small; an opened graph begins where it can be read."""
    s.open("long.xml", LONG)
    g = s.still("the long graph", lambda g: len(g.cards) == 12)
    t.holds(s, lambda g: g.number("zoom") > 0.5 and inside(g.cards["n0"], g.canvas) and not inside(g.cards["n11"], g.canvas),
            "a long graph opens at its beginning, to be read")
    s.key("ctrl+9")
    g = t.holds(s, lambda g: all(inside(r, g.canvas) for r in g.cards.values()) and g.number("zoom") < 0.5,
                "Zoom to Fit shows all of it")
    s.key("F9")
    t.holds(s, lambda n: n.canvas[2] > g.canvas[2] and all(inside(r, n.canvas) for r in n.cards.values())
            and n.number("zoom") > g.number("zoom"), "and goes on doing so when the canvas changes")
    s.key("F9")
    pinned = len(s.look().cards)
    s.select("n3")
    s.key("ctrl+shift+w")
    s.wait("watched", lambda n: n.has("Edited"), 2)
    s.key("ctrl+z")
    g = t.holds(s, lambda n: not n.has("Edited") and len(n.cards) == pinned and n.state["selected"] == "n3",
                "watching, with the room that it makes, is one step")


def body(t):
    with Studio("arranging") as s:
        s.open("net.xml", PLACED)
        s.wait("graph", lambda g: len(g.cards) == 5 and all(inside(r, g.canvas) for r in g.cards.values()), 2)
        for part in (snapping, arranging, aligning):
            part(t, s, s.look())
        fitting(t, s)


if __name__ == "__main__":
    sys.exit(Report().run(body))
