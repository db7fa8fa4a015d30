"""Drags that end where drags were not meant to end: a card over the edge of the canvas, a wire in the void, the header, the
window's border."""
import os
import sys

import studio
from studio import Report, Studio, inside, middle

LESSON = os.path.join(studio.SOURCE, "graphs", "lessons", "self-attention.xml")


def hold(s, start, end, condition):
    """A drag that lets go at its end once condition(geometry) holds."""
    s.move(*start)
    s.look()
    s.down()
    s.move_along(start, end)
    g = s.wait("moved on", condition, 2)
    s.up()
    return g


def whole_graph(s):
    s.key("ctrl+9")
    return s.still("whole graph", lambda g: all(inside(r, g.canvas) for r in g.cards.values()))


def over_the_edge(t, s):
    for name, place in (("inspector", lambda g: (1200, g.canvas[1] + 300)), ("palette", lambda g: (60, g.canvas[1] + 300)),
                        ("status line", lambda g: (g.canvas[0] + 300, 790)), ("header", lambda g: (640, 12))):
        g = whole_graph(s)
        card = min(g.cards, key=lambda c: abs(g.cards[c][0] - g.canvas[0] - g.canvas[2] / 2))
        others = {c: r for c, r in g.cards.items() if c != card}
        during = hold(s, middle(g.cards[card]), place(g), lambda g: any(g.cards[c] != r for c, r in others.items()))
        t.ok(inside(during.cards[card], g.canvas), "a card that is dragged over the %s stays in sight" % name)
        g = s.still("dropped", lambda g: g.has("Edited"))
        t.ok(inside(g.cards[card], g.canvas), "and ends where one sees it")
        s.key("ctrl+z")
        s.wait("undone", lambda g: not g.has("Edited"), 2)


def into_the_void(t, s):
    g = whole_graph(s)
    cards, wires = len(g.cards), len(g.wires)
    output = next(iter(g.outputs))
    for place in ((g.canvas[0] + 40, g.canvas[1] + g.canvas[3] - 30), (1200, g.canvas[1] + 300)):
        g = whole_graph(s)
        s.drag(middle(g.outputs[output]), place)
        s.type("tanh")
        s.key("Return")
        g = s.wait("new card", lambda g: len(g.cards) == cards + 1 and len(g.wires) == wires + 1, 2)
        new = g.state["selected"]
        t.ok(inside(g.cards[new], g.canvas), "a wire into the void makes a card in sight, wired: " + new)
        s.key("ctrl+z")
        g = t.holds(s, lambda g: len(g.cards) == cards and len(g.wires) == wires and not g.has("Edited"),
                    "which is one step back")
        s.key("ctrl+shift+z")
        g = s.wait("redone", lambda g: len(g.cards) == cards + 1 and len(g.wires) == wires + 1, 2)
        s.key("ctrl+z")
        s.wait("undone", lambda g: len(g.cards) == cards, 2)


def between_outputs(t, s):
    g = whole_graph(s)
    cards, wires = len(g.cards), len(g.wires)
    one, other = list(g.outputs)[0], list(g.outputs)[-1]
    s.drag(middle(g.outputs[one]), middle(g.outputs[other]))
    g = t.holds(s, lambda g: g.has("That is also an output") and len(g.cards) == cards and len(g.wires) == wires,
                "a wire from one output to another is told why it is none")


def stray(t, s):
    """GTK loses count of pressed buttons when one is released where it does not hear of it; every click says so then."""
    g = s.look()
    x, y, w, h = g.canvas
    for start, end in (((640, 12), (640, 300)), ((640, 30), (700, 200)), ((2, 400), (60, 400)), ((1278, 400), (1100, 400)),
                       ((640, 798), (640, 600)), ((60, 300), (1200, 300)), ((1200, 300), (x + 50, y + 50)),
                       ((60, 790), (x + 50, y + 50)), (middle(list(g.outputs.values())[0]), (60, 300))):
        s.drag(start, end, 10)
        s.key("Escape")
        s.click((x + w - 20, y + 20))
    t.ok(not s.complaints(), "after stray drags GTK has nothing to complain of")


def body(t):
    with Studio("dragging", LESSON) as s:
        s.wait("graph", lambda g: len(g.cards) > 0, 2)
        into_the_void(t, s)
        over_the_edge(t, s)
        between_outputs(t, s)
        stray(t, s)


if __name__ == "__main__":
    sys.exit(Report().run(body))
