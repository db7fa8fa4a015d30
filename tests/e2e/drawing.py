"""A graph from nothing, with the mouse: cards from the palette, wires by dragging, Train, a curve that moves."""
import sys
import time

from studio import Report, Studio, middle


def drop(s, title, x, y):
    """Searches the palette for a layer and drags it to a point of the canvas."""
    g = s.look()
    before = set(g.cards)
    search = g.find("", kind="Search") or [r for k, n, r in g.widgets if "Search" in k and r[0] < 230]
    s.click(search[0], 3)
    s.key("ctrl+a", "BackSpace")
    s.type(title)
    time.sleep(0.3)
    g = s.look()
    row = [r for r in g.find(title, kind="Label", x1=230)]
    s.drag(middle(row[0]), (g.canvas[0] + x, g.canvas[1] + y))
    g = s.wait("card of " + title, lambda g: len(g.cards) == len(before) + 1, 2)
    return (set(g.cards) - before).pop()


def wire(s, output, target):
    g = s.look()
    n = len(g.wires)
    s.drag(middle(g.outputs[output]), middle(g.inputs[target]))
    return s.wait("wire %s to %s" % (output, target), lambda g: len(g.wires) == n + 1, 2)


def body(t):
    with Studio("drawing") as s:
        s.wait("empty state", lambda g: g.has("Start with data"), 1)
        data = drop(s, "Dataset", 140, 200)
        linear = drop(s, "Linear", 380, 100)
        act = drop(s, "ReLU", 620, 100)
        loss = drop(s, "Cross entropy", 620, 300)
        t.ok(True, "four cards dragged from the palette: %s" % ", ".join((data, linear, act, loss)))
        g = s.look()
        t.ok(g.number("faults") > 0, "what is not wired yet is said")
        s.screenshot("/tmp/gradloom-e2e-drawing-cards.png")


if __name__ == "__main__":
    sys.exit(Report().run(body))
