"""A lecture: three views are made, put in order and presented; spotlight and pen can be used and leave no trace."""
import os
import sys

import studio
from studio import Report, Studio, middle


def titles(g):
    """The titles of the list, from top to bottom."""
    rows = [(r[1], n) for k, n, r in g.widgets if k == "GtkLabel" and n in ("Data", "Middle", "End")]
    return [n for _, n in sorted(rows)]


def run_action(s, words):
    """By its name in the list of all actions."""
    s.command(words)


def make_views(t, s):
    for i, title in enumerate(("Data", "Middle", "End")):
        g = s.look()
        run_action(s, "add the current view")
        s.wait("view", lambda g, n=i + 1: g.number("slides") == n and "Text" in g.state["focus"], 1)
        s.type(title)
        s.wait("title", lambda g, title=title: g.has(title), 1)
        if i == 0:
            s.key("ctrl+0")
        else:
            s.select("loss")
            s.key("ctrl+8")
    t.holds(s, lambda g: titles(g) == ["Data", "Middle", "End"], "three views are made of what is seen")


def order(t, s):
    s.press("End", kind="GtkLabel")
    s.wait("the last is shown", lambda g: g.number("slide") == 2, 1)
    s.key("alt+Up")
    g = t.holds(s, lambda g: titles(g) == ["Data", "End", "Middle"] and g.number("slide") == 1,
                "Alt+Up moves a view, which stays the one that is shown")
    rows = [s.standing("the row", lambda g, n=name: g.find(n, kind="GtkLabel")[0]) for name in ("Middle", "Data")]
    s.drag(*map(middle, rows))
    g = s.wait("a drag moves it", lambda g: titles(g) == ["Middle", "Data", "End"], 1)
    s.key("ctrl+z")
    g = t.holds(s, lambda g: titles(g) == ["Data", "End", "Middle"] and g.number("slides") == 3,
                "a drag does, too, and is taken back by Ctrl+Z")


def present(t, s):
    s.press("Data", kind="GtkLabel")
    s.wait("the first", lambda g: g.number("slide") == 0, 1)
    s.key("F11")
    g = s.wait("presentation", lambda g: g.state["presenting"] == "1" and g.has("1 / 3"), 2)
    before = g.number("zoom")
    s.key("Next")
    g = s.wait("next view", lambda g: g.has("2 / 3") and abs(g.number("zoom") - before) > 0.01, 1)
    t.ok(True, "Page Down walks to the next view, and the canvas goes along")
    s.key("s")
    s.move(*middle(g.canvas))
    s.wait("spotlight", lambda g: g.state["spotlight"] == "1", 1)
    s.key("p")
    x, y = middle(s.look().canvas)
    s.drag((x - 120, y - 60), (x + 120, y + 60))
    g = t.holds(s, lambda g: g.number("strokes") == 1 and g.state["selected"] == "-",
                "the pen draws, and selects nothing")
    s.key("e")
    s.drag((x - 120, y + 60), (x + 120, y - 60))
    s.wait("erased", lambda g: g.number("strokes") == 0, 1)
    s.key("3")
    s.drag((x - 120, y), (x + 120, y))
    s.wait("another", lambda g: g.number("strokes") == 1, 1)
    s.key("Prior")
    g = s.wait("back", lambda g: g.has("1 / 3") and g.number("strokes") == 0, 1)
    t.ok(True, "strokes go with the view that they belong to")
    s.key("Escape")
    g = t.holds(s, lambda g: g.state["tool"] == "0" and g.state["presenting"] == "1", "Escape puts the pen away first")
    s.key("Escape")
    g = t.holds(s, lambda g: g.state["presenting"] == "0" and g.state["spotlight"] == "0",
                "and then leaves, with the light on again")


def body(t):
    with Studio("slides") as s:
        path = s.open("graph.xml", studio.lesson("self-attention"))
        with open(path, "rb") as f:
            text = f.read()
        s.wait("graph", lambda g: "attention" in g.cards, 1)

        s.key("F11")
        s.wait("presentation", lambda g: g.has("1 / 7"), 2)
        s.key("Next", "Next", "Next")
        s.wait("fourth view", lambda g: g.has("4 / 7"), 1)
        s.key("Right")
        s.wait("walk", lambda g: g.state["selected"] != "-", 1)
        s.key("Escape")
        s.wait("window", lambda g: g.state["presenting"] == "0", 1)
        s.key("ctrl+s")
        s.wait("not edited", lambda g: not g.has("Edited"), 2)
        with open(path, "rb") as f:
            t.ok(f.read() == text, "a lecture that was only given leaves the file byte-equal")

    with Studio("slides", os.path.join(studio.SOURCE, "graphs", "lessons", "spirals.xml")) as s:
        s.wait("graph", lambda g: "loss" in g.cards, 1)
        make_views(t, s)
        order(t, s)
        present(t, s)


if __name__ == "__main__":
    sys.exit(Report().run(body))
