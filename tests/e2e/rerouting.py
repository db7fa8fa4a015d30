"""Wires by the hand: they go round cards, double click gives one a point, which is dragged and deleted; right angles."""
import sys

from studio import Report, Studio

GRAPH = """<?xml version="1.0" encoding="UTF-8"?>
<graph xmlns="urn:gradloom:graph" version="1">
  <node id="x" op="input" shape="B,8"/>
  <node id="fc" op="linear" out_features="4"/>
  <node id="act" op="relu"/>
  <node id="sum" op="add"/>
  <wire from="x" to="fc"/>
  <wire from="fc" to="act"/>
  <wire from="act" to="sum.input"/>
  <wire from="fc" to="sum.other"/>
  <layout>
    <place node="x" x="0" y="0"/>
    <place node="fc" x="260" y="0"/>
    <place node="act" x="520" y="0"/>
    <place node="sum" x="780" y="0"/>
  </layout>
</graph>
"""


def middle(g, wire):
    return g.find(wire, kind="middle")[0][:2]


def place(s, wire):
    """The same once it stands still."""
    return s.standing("the wire " + wire, lambda g: g.find(wire, kind="middle")[0])


def points(g, wire):
    return [r[:2] for r in g.find(wire, kind="point")]


def round_cards(t, s):
    def goes_round(g):
        (x, y, w, h), (mx, my) = g.cards["act"], middle(g, "fc → sum")
        return x < mx < x + w and not y < my < y + h
    t.holds(s, goes_round, "a wire goes round the card that lies between its ends")
    s.click(place(s, "fc → sum"))
    s.key("Delete")
    g = t.holds(s, lambda g: len(g.wires) == 3 and ("fc", "sum") not in [w[:2] for w in g.wires],
                "and is taken hold of where it is drawn")
    s.key("ctrl+z")
    s.wait("back", lambda g: len(g.wires) == 4, 2)


def a_point(t, s):
    s.click(place(s, "x → fc"), 2)
    g = t.holds(s, lambda g: len(points(g, "x → fc")) == 1 and len(g.wires) == 4,
                "double click on a wire gives it a point")
    x, y = points(g, "x → fc")[0]
    s.drag((x, y), (x + 4, y + 120))
    g = t.holds(s, lambda g: points(g, "x → fc")[0][1] > y + 60 and middle(g, "x → fc")[1] > y + 60,
                "which is dragged, and the wire goes along")
    x, y = points(g, "x → fc")[0]
    s.key("alt+Down")
    g = t.holds(s, lambda g: points(g, "x → fc")[0][1] > y and points(g, "x → fc")[0][0] == x,
                "Alt and an arrow move it")
    s.key("Delete")
    g = t.holds(s, lambda g: not points(g, "x → fc") and len(g.wires) == 4,
                "Delete removes the point, and the wire stays")
    for _ in range(4):
        s.key("ctrl+z")
    g = t.holds(s, lambda g: not points(g, "x → fc") and not g.has("Edited") and len(g.wires) == 4,
                "all of which is undone step by step")


def by_name(t, s):
    s.click(place(s, "act → sum"))
    s.command("reroute")
    g = s.wait("point", lambda g: len(points(g, "act → sum")) == 1, 2)
    t.ok(True, "the list of actions adds one to the wire that is selected, too")
    s.key("ctrl+z")
    s.wait("undone", lambda g: not points(g, "act → sum"), 2)


def body(t):
    with Studio("rerouting") as s:
        s.open("wires.xml", GRAPH)
        round_cards(t, s)
        a_point(t, s)
        by_name(t, s)


if __name__ == "__main__":
    sys.exit(Report().run(body))
