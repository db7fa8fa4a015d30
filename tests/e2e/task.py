"""The picture of the task, by a pointer: points with the surface of answers, a fitted line, images with predictions. Each
moves while it trains, stays after Stop and undo, and belongs to its tab."""
import os
import sys

from studio import SOURCE, Report, Studio

SPIRALS = os.path.join(SOURCE, "graphs", "lessons", "spirals.xml")
CONVOLUTION = os.path.join(SOURCE, "graphs", "lessons", "convolution.xml")


def view(g):
    """The picture's description and place; None where none is seen."""
    return next(((name, rect) for kind, name, rect in g.widgets if kind == "StudioTaskView"), None)


def says(words):
    return lambda g: view(g) is not None and all(w in view(g)[0] for w in words)


def pixels(s):
    """What is seen in the picture."""
    x, y, width, height = view(s.look())[1]
    return s.screen.pixels(x, y, width, height)


def difference(a, b):
    """The share of pixels that are not the same."""
    if len(a) != len(b):
        return 1.0
    return sum(p != q for p, q in zip(a, b)) / max(len(a), 1)


def differs(s, before, least, most=1.0):
    return s.wait("another picture", lambda g: least < difference(before, pixels(s)) <= most, 4)


def stop(s):
    if s.look().state["run"] == "training":
        s.key("ctrl+shift+period")
    s.wait("stopped", lambda g: g.state["run"] in ("stopped", "done"), 4)


def plane(t, s):
    """The lesson brings its picture along; keys close and open it."""
    s.wait("the lesson's picture", says(["points in a plane", "nothing is predicted yet"]), 4)
    s.key("ctrl+shift+i")
    g = t.holds(s, lambda g: view(g) is None and g.has("Learning rate"),
                "Ctrl+Shift+I closes the picture, and the pane shows its first page again")
    s.key("ctrl+shift+i")
    s.wait("open", says(["points in a plane"]), 2)
    before = pixels(s)
    s.key("ctrl+Return")
    s.wait("answers", says(["points in a plane", "step"]), 4)
    differs(s, before, 0.3)
    first = pixels(s)
    t.ok(True, "the surface of answers lies below the points")
    s.wait("goes on", lambda g: g.number("step") > 500 or g.state["run"] == "done", 10)
    differs(s, first, 0.2)
    t.ok(True, "the surface changes while it trains")
    stop(s)
    t.holds(s, lambda g: difference(first, pixels(s)) > 0.2 and "step" in view(g)[0], "the surface stays after Stop")


def undone(t, s):
    """A layer that goes and comes back leaves the samples where they are, and no answers of a net that there is not."""
    s.select("act")
    s.key("Delete")
    s.wait("deleted", lambda g: "act" not in g.cards, 2)
    s.key("ctrl+z")
    s.wait("undone", lambda g: "act" in g.cards, 2)
    s.key("Escape")
    s.press("Picture")
    s.wait("still there", says(["points in a plane", "step"]), 3)
    t.ok(True, "the picture survives a layer that is deleted and brought back")


def line(t, s):
    s.key("ctrl+n")
    s.wait("the start page", lambda g: g.has("Fitting a line"), 4)

    def opened(g):
        """While thumbnails are drawn a click may miss what the row above it has moved."""
        row = g.find("Fitting a line", "GtkLabel", x0=230)
        if row:
            s.click(row[0])
        return not s.look().find("Fitting a line", "GtkLabel", x0=230)
    s.wait("opened", opened, 4)
    s.wait("the line's picture", says(["the fitted curve", "nothing is predicted yet"]), 5)
    before = pixels(s)
    s.press("Train")
    s.wait("fitted", lambda g: says(["the fitted curve", "mean error", "step"])(g) and g.state["run"] in ("done", "training"), 4)
    s.wait("done", lambda g: g.state["run"] == "done", 8)
    differs(s, before, 0.002, 0.6)
    t.ok(True, "the fitted line lies in the points: %.1f %% of the pixels moved" % (100 * difference(before, pixels(s))))
    t.holds(s, lambda g: float(view(g)[0].split("shown samples ")[1].split(",")[0]) < 0.2, "and is near them by its mean error")


def tabs(t, s):
    s.key("alt+1")
    s.wait("spirals", says(["points in a plane", "step"]), 3)
    s.key("alt+2")
    s.wait("line", says(["the fitted curve", "step"]), 3)
    t.ok(True, "each tab has its own picture")


def images(t, s):
    s.wait("cards", lambda g: "conv" in g.cards, 5)
    if view(s.look()) is None:
        s.key("ctrl+shift+i")
    g = s.wait("images", lambda g: view(g) is not None or g.has("are missing"), 5)
    if view(g) is None:
        print("# the images are not on this machine: their predictions were not looked at")
        return
    before = pixels(s)
    s.press("Train")
    s.wait("predictions", says(["images with their classes", "accuracy on shown samples", "step"]), 8)
    differs(s, before, 0.01)
    t.ok(True, "predictions stand below the images")
    stop(s)


def body(t):
    with Studio("task", SPIRALS) as s:
        plane(t, s)
        undone(t, s)
        line(t, s)
        tabs(t, s)
    with Studio("task", CONVOLUTION) as s:
        images(t, s)


if __name__ == "__main__":
    sys.exit(Report().run(body))
