"""A graph from nothing, with the mouse: cards from the palette, wires by dragging, Train, a curve that moves, pause, go
on, stop."""
import sys

from studio import Report, Studio, middle


# What the palette shows while nothing is searched for.
EVERYWHERE = ("Input", "Dataset")


def search(s, text):
    """Types into the palette's search."""
    s.fill("the search", lambda g: next(r for k, n, r in g.widgets if "Search" in k and r[0] < g.canvas[0]), text)


def drop(s, title, x, y):
    """Searches the palette for a layer and drags it to a point of the canvas."""
    g = s.look()
    before = set(g.cards)
    search(s, title)
    s.drag(middle(found_row(s, title)), (g.canvas[0] + x, g.canvas[1] + y))
    g = s.wait("card of " + title, lambda g: len(g.cards) == len(before) + 1, 2)
    return (set(g.cards) - before).pop()


def found_row(s, title):
    """The palette's row of this title, once the search, which waits for the end of typing, has left out the others."""
    def row(g):
        rows = [(n, r) for k, n, r in g.widgets if k == "GtkLabel" and r[0] < g.canvas[0] and r[1] > g.canvas[1]]
        found = [r for n, r in rows if n == title]
        others = [n for n, r in rows if n in EVERYWHERE and n.split(" ")[0] != title.split(" ")[0]]
        return found[0] if found and not others else None
    return s.standing("the row of " + title, row)


def wire(s, output, target):
    g = s.look()
    n = len(g.wires)
    s.drag(middle(g.outputs[output]), middle(g.inputs[target]))
    return s.wait("wire %s to %s" % (output, target), lambda g: len(g.wires) == n + 1, 2)


def set_parameter(s, card, label, value):
    """Types a parameter into the inspector of a card (or, without one, a training setting): the entry stands right of
    its label."""
    g = s.look()
    if card:
        s.select(card)
    else:
        s.click((g.canvas[0] + g.canvas[2] - 30, g.canvas[1] + 30))
    right = g.canvas[0] + g.canvas[2]
    g = s.wait("settings of " + (card or "the training"),
               lambda g: g.find(label, x0=right) and g.state["selected"] == (card or "-"), 2)
    s.fill(label, lambda g: g.value_place(label), value)
    s.key("Return")
    s.wait("%s of %s" % (value, label), lambda g: g.find(value, x0=right), 2)


def body(t):
    with Studio("drawing") as s:
        s.wait("empty state", lambda g: g.has("Start with data"), 1)
        data = drop(s, "Dataset", 120, 300)
        linear = drop(s, "Linear", 340, 120)
        act = drop(s, "ReLU", 560, 120)
        loss = drop(s, "Cross-entropy", 560, 300)
        t.ok(True, "four cards dragged from the palette: %s" % ", ".join((data, linear, act, loss)))
        t.holds(s, lambda g: g.number("faults") > 0, "what is not wired yet is said on the cards")

        set_parameter(s, data, "Source", "spirals")
        set_parameter(s, linear, "Out features", "2")
        wire(s, data + ".x", linear + ".input")
        wire(s, linear + ".out", act + ".input")
        wire(s, act + ".out", loss + ".input")
        g = wire(s, data + ".y", loss + ".target")
        g = s.wait("no fault", lambda g: g.number("faults") == 0 and all(w[2] for w in g.wires), 2)
        t.ok(True, "four wires by dragging, each with its shape: %s" % [w[2] for w in g.wires])

        set_parameter(s, None, "Epochs", "3000000")
        t.holds(s, lambda g: g.number("faults") == 0, "training settings without a card selected: 3,000,000 epochs")
        s.press("Train")
        g = s.wait("first point", lambda g: g.number("points") >= 1, 2)
        first = g.number("points")
        g = s.wait("curve", lambda g: g.number("points") > first, 2)
        t.ok(True, "Train, and the curve moves: %d points" % g.number("points"))

        s.press("Pause")
        g = s.wait("paused", lambda g: g.state["run"] == "paused", 1)
        still = g.state["step"]
        for _ in range(10):
            g = s.look()
        t.ok(g.state["step"] == still, "a pause holds step " + still)
        s.press("Resume")
        g = s.wait("goes on", lambda g: g.number("step") > float(still), 2)
        s.key("ctrl+shift+period")
        g = s.wait("stopped", lambda g: g.state["run"] == "stopped", 2)
        t.ok(g.number("step") < 3000000 * 16, "the run stops when asked, at step " + g.state["step"])

        s.key(*["ctrl+z"] * 40)
        g = t.holds(s, lambda g: not g.cards and g.has("Start with data"),
                    "undone to the beginning, the canvas is empty again")
        s.key(*["ctrl+shift+z"] * 40)
        g = t.holds(s, lambda g: len(g.cards) == 4 and len(g.wires) == 4 and g.number("faults") == 0, "and redone")


if __name__ == "__main__":
    sys.exit(Report().run(body))
