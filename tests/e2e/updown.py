"""A graph from top to bottom: arranged by the list of actions, walked with the arrow keys, added to, wired and folded; each step back."""
import sys

from arranging import NET
from studio import Report, Studio, inside, middle


def command(s, words):
    s.command(words)


def runs_down(g):
    return all(g.cards[p][1] + g.cards[p][3] < g.cards[q][1] for p, q in (("x", "fc"), ("fc", "act"), ("act", "sum"), ("w", "sum")))


def arranging(t, s):
    t.holds(s, lambda g: g.cards["x"][0] + g.cards["x"][2] < g.cards["fc"][0], "a graph that says nothing runs to the right")
    command(s, "arrange top")
    a = s.still("arranged", lambda m: "fc" in m.cards and runs_down(m))
    a = t.holds(s, lambda a: all(inside(r, a.canvas) for r in a.cards.values()), "from top to bottom it fits the canvas")
    x, y = middle(a.outputs["fc.out"])
    t.ok(abs(x - middle(a.cards["fc"])[0]) < 2 and abs(y - a.cards["fc"][1] - a.cards["fc"][3]) < 8, "outputs are at the lower edge")
    x, y = middle(a.inputs["sum.other"])
    t.ok(abs(y - a.cards["sum"][1]) < 8 and x > middle(a.inputs["sum.input"])[0] + 10, "inputs are at the upper edge, in order")
    s.key("ctrl+z", "ctrl+9")
    s.still("back", lambda m: not runs_down(m))
    s.key("ctrl+y", "ctrl+9")
    return s.still("again", runs_down)


def walking(t, s, g):
    s.select("x")
    for name in ("fc", "act", "sum"):
        s.key("Down")
        s.wait("at " + name, lambda m, name=name: m.state.get("selected") == name or m.state.get("focus") == name, 2)
    s.key("Up")
    s.wait("back at act", lambda m: "act" in (m.state.get("selected"), m.state.get("focus")), 2)
    t.ok(True, "the keys Down and Up follow wires")


def adding(t, s, g):
    s.select("x")
    s.type("relu")
    s.key("Return")
    a = s.still("added", lambda m: "relu" in m.cards)
    t.ok(abs(middle(a.cards["relu"])[1] - middle(a.cards["x"])[1]) > 20 or a.cards["relu"][1] > a.cards["x"][1] + a.cards["x"][3],
         "what is typed comes below the selected card")
    t.ok(("x.out", "relu.input") in [w[:2] for w in a.wires] or len(a.wires) == 5, "and is wired to it")
    s.key("Escape")
    s.key("ctrl+z")
    s.still("taken back", lambda m: "relu" not in m.cards)


def wiring(t, s, g):
    g = s.look()
    s.drag(middle(g.outputs["x.out"]), middle(g.inputs["act.input"]))
    a = t.holds(s, lambda m: sorted(m.wires) != sorted(g.wires) and len(m.wires) == len(g.wires),
                "a wire drawn from a lower edge to an upper one takes the old one's place")
    s.key("ctrl+z")
    s.wait("back", lambda m: sorted(m.wires) == sorted(g.wires), 2)


def folding(t, s, g):
    g = s.look()
    s.select("fc")
    s.key("alt+h")
    a = s.still("folded", lambda m: m.cards["fc"][3] < g.cards["fc"][3] - 5)
    t.ok(abs(a.cards["act"][3] - g.cards["act"][3]) < 1, "a card is folded to its title, the others are not")
    s.key("alt+h")
    s.still("opened", lambda m: abs(m.cards["fc"][3] - g.cards["fc"][3]) < 1)
    s.key("ctrl+z")
    s.key("ctrl+z")
    s.still("back", lambda m: abs(m.cards["fc"][3] - g.cards["fc"][3]) < 1)
    t.ok(True, "each is one step back")


def body(t):
    with Studio("updown") as s:
        s.open("net.xml", NET % "")
        s.wait("graph", lambda g: len(g.cards) == 5 and all(inside(r, g.canvas) for r in g.cards.values()), 2)
        g = arranging(t, s)
        for part in (walking, adding, wiring, folding):
            part(t, s, g)


if __name__ == "__main__":
    sys.exit(Report().run(body))
