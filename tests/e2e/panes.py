"""Side panes folded by key and button, drawers in a small window, and the list of all actions."""
import os
import sys

import studio
from studio import Report, Studio


def resize(s, width, height):
    """Resizes the window as a window manager does when its edge is dragged."""
    s.resize(width, height)


def kept(s):
    """What Studio has written of the panes."""
    with open(os.path.join(s.env["XDG_STATE_HOME"], "gradloom", "window.ini"), encoding="utf-8") as f:
        settings = dict(line.strip().split("=", 1) for line in f if "=" in line)
    return {name: settings.get(name) for name in ("left-pane", "right-pane")}


def fold(t, s):
    g = s.wait("graph", lambda g: len(g.cards) == 8 and g.find("Search layers") and g.find("Optimizer"), 2)
    both = g.canvas[2]
    s.key("F9")
    g = s.wait("folded", lambda g: not g.find("Search layers") and g.canvas[2] > both + 150, 1)
    left = g.canvas[2]
    s.key("shift+F9")
    g = s.wait("folded", lambda g: not g.find("Optimizer") and g.canvas[2] > left + 200, 1)
    t.ok(True, "F9 and Shift+F9 fold the panes: the canvas goes from %.0f to %.0f pixels" % (both, g.canvas[2]))
    s.press("Parameters and training (Shift+F9)")
    g = s.wait("unfolded", lambda g: g.find("Optimizer") and g.canvas[2] == left, 1)
    t.ok(True, "the header's button unfolds one again")
    s.wait("what is kept", lambda g: kept(s) == {"left-pane": "false", "right-pane": "true"}, 2)
    s.end()
    s.launch()
    t.holds(s, lambda g: len(g.cards) == 8 and g.find("Optimizer") and not g.find("Search layers"), "what was folded is folded at the next start")
    s.key("ctrl+f")
    g = s.wait("search", lambda g: g.find("fc1", x1=g.canvas[0] - 1), 1)
    t.ok(True, "and Ctrl+F unfolds the outline it searches")


def actions(t, s):
    def zoom(g):
        return g.number("zoom")

    s.select("act")
    s.key("ctrl+9")
    before = zoom(s.still("fitted", lambda g: True))
    s.key("ctrl+plus", "ctrl+plus", "ctrl+plus")
    s.wait("zoomed", lambda g: zoom(g) != before, 1)
    s.key("ctrl+shift+p")
    s.wait("list", lambda g: g.find("Arrange the Graph") or g.find("New Graph"), 1)
    s.type("fit")
    s.wait("found", lambda g: g.find("Zoom to Fit") and not g.find("New Graph", kind="Label"), 1)
    s.key("Return")
    g = t.holds(s, lambda g: zoom(g) == before and not g.find("Zoom to Fit") and g.state["selected"] == "act"
                and g.state["focus"] == "StudioNode",
                "“fit” and Enter in the list of actions fit the graph, and the keyboard is back on the card")
    s.key("ctrl+shift+p")
    s.wait("list", lambda g: g.find("New Graph"), 1)
    s.type("undo")
    s.wait("found", lambda g: g.find("Undo", kind="Label"), 1)
    s.key("Escape")
    s.wait("closed", lambda g: not g.find("Undo", kind="Label") and g.state["focus"] == "StudioNode", 1)
    t.ok(True, "Escape closes it")


def drawers(t, s):
    # As if dragged: the header lets go of what it has no room for on the way.
    resize(s, 800, 480)
    s.wait("smaller", lambda g: not g.find("Step"), 2)
    resize(s, 640, 480)
    g = t.holds(s, lambda g: 600 < g.canvas[2] <= 640 and all(r[0] + r[2] <= 641 and r[1] + r[3] <= 481 for _, _, r in g.widgets)
                and g.find("Train") and not g.find("Step"), "640 × 480 are enough, and the header has what fits")
    whole = g.canvas
    s.key("F9")
    g = t.holds(s, lambda g: g.find("block1.conv") and g.canvas == whole, "F9 opens a drawer over the canvas")
    s.click((600, 240))
    s.wait("closed", lambda g: not g.find("block1.conv"), 1)
    t.ok(True, "a press outside it closes it")
    s.press("Parameters and training (Shift+F9)")
    s.wait("drawer", lambda g: g.find("Parameters"), 1)
    s.key("Escape")
    s.wait("closed", lambda g: not g.find("Parameters"), 1)
    t.ok(True, "and so does Escape")


def body(t):
    with Studio("panes", os.path.join(studio.SOURCE, "graphs", "models", "fashion-lenet.xml")) as s:
        fold(t, s)
        actions(t, s)
        drawers(t, s)


if __name__ == "__main__":
    sys.exit(Report().run(body))
