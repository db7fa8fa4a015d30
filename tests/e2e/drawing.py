"""A graph from nothing, with the mouse: cards from the palette, wires by dragging, Train, a curve that moves, pause, go
on, stop."""
import sys
import time

from studio import Report, Studio, middle


def drop(s, title, x, y):
    """Searches the palette for a layer and drags it to a point of the canvas."""
    g = s.look()
    before = set(g.cards)
    search = [r for k, n, r in g.widgets if "Search" in k and r[0] < g.canvas[0]]
    s.click(search[0], 3)
    s.key("ctrl+a", "BackSpace")
    s.type(title)
    g = s.wait("palette row", lambda g: g.find(title, kind="Label", x1=g.canvas[0]), 1)
    row = g.find(title, kind="Label", x1=g.canvas[0])[0]
    s.drag(middle(row), (g.canvas[0] + x, g.canvas[1] + y))
    g = s.wait("card of " + title, lambda g: len(g.cards) == len(before) + 1, 2)
    return (set(g.cards) - before).pop()


def wire(s, output, target):
    g = s.look()
    n = len(g.wires)
    s.drag(middle(g.outputs[output]), middle(g.inputs[target]))
    return s.wait("wire %s to %s" % (output, target), lambda g: len(g.wires) == n + 1, 2)


def set_parameter(s, card, old, new):
    """Types a parameter into the inspector of a card."""
    g = s.look()
    s.click(g.cards[card])
    g = s.wait("inspector of " + card, lambda g: g.find(old, x0=g.canvas[0] + g.canvas[2]), 2)
    s.click(g.find(old, x0=g.canvas[0] + g.canvas[2])[0], 3)
    s.key("ctrl+a")
    s.type(new)
    s.key("Return")


def body(t):
    with Studio("drawing") as s:
        s.wait("empty state", lambda g: g.has("Start with data"), 1)
        data = drop(s, "Dataset", 120, 300)
        linear = drop(s, "Linear", 340, 120)
        act = drop(s, "ReLU", 560, 120)
        loss = drop(s, "Cross-entropy", 560, 300)
        t.ok(True, "four cards dragged from the palette: %s" % ", ".join((data, linear, act, loss)))
        g = s.look()
        t.ok(g.number("faults") > 0, "what is not wired yet is said on the cards: %d" % g.number("faults"))

        wire(s, data + ".x", linear + ".input")
        wire(s, linear + ".out", act + ".input")
        wire(s, act + ".out", loss + ".input")
        g = wire(s, data + ".y", loss + ".target")
        g = s.wait("no fault", lambda g: g.number("faults") == 0, 2)
        t.ok(all(w[2] for w in g.wires), "four wires by dragging, each with its shape: %s" % [w[2] for w in g.wires])

        s.click(g.find("Train")[0])
        g = s.wait("first point", lambda g: g.number("points") >= 1, 2)
        first = g.number("points")
        g = s.wait("curve", lambda g: g.number("points") > first, 2)
        t.ok(True, "Train, and the curve moves: %d points" % g.number("points"))

        if g.state["run"] == "training":
            s.key("ctrl+Return")
            g = s.wait("paused", lambda g: g.state["run"] in ("paused", "done"), 1)
            still = g.state["step"]
            time.sleep(0.5)
            t.ok(s.look().state["step"] == still, "a pause holds step " + still)
            s.key("ctrl+Return")
            g = s.wait("goes on", lambda g: g.state["run"] == "done" or g.number("step") > float(still), 2)
        if g.state["run"] == "training":
            s.key("ctrl+shift+period")
            g = s.wait("stopped", lambda g: g.state["run"] in ("stopped", "done"), 2)
        t.ok(g.state["run"] in ("stopped", "done"), "the run " + g.state["run"])

        s.key(*["ctrl+z"] * 40)
        g = s.wait("empty again", lambda g: not g.cards, 2)
        t.ok(g.has("Start with data"), "undone to the beginning, the canvas is empty again")
        s.key(*["ctrl+shift+z"] * 40)
        g = s.wait("redone", lambda g: len(g.cards) == 4 and len(g.wires) == 4, 2)
        t.ok(g.number("faults") == 0, "and redone")


if __name__ == "__main__":
    sys.exit(Report().run(body))
