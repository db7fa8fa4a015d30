"""A lesson walked through to its end by pointer and keys: pages, ticks that come by themselves, and the way back."""
import os
import sys

import studio
from studio import Report, Studio

GRAPH = os.path.join(studio.SOURCE, "graphs", "lessons", "spirals.xml")
SHOTS = os.environ.get("GRADLOOM_LESSON_SHOTS")


def at(g, title):
    return g.find(title, x1=400)


def done(g):
    return at(g, "Done. Continue with Next.")


def shot(s, name):
    if SHOTS:
        s.screenshot(os.path.join(SHOTS, name + ".png"))


def next_page(s, title):
    s.press("Next", x1=400)
    return s.wait("page “%s”" % title, lambda g: at(g, title), 3)


def train(s):
    # A run of the graph as it was is reported as soon as that is compared.
    s.press_one("Restart", "Train")


def set_units(s, units):
    s.select("hidden")
    s.fill("the number of units", lambda g: g.value_place("Out features"), units)
    s.key("Return")
    s.wait("set", lambda g: ("hidden", "act", "B × " + units) in g.wires, 3)


def body(t):
    with Studio("lesson", GRAPH) as s:
        g = s.wait("the lesson next to the canvas", lambda g: at(g, "Two spirals") and len(g.cards) == 6, 10)
        t.ok(at(g, "Next") and g.number("faults") == 0, "the lesson opens with its graph")
        shot(s, "lesson-1")
        next_page(s, "Too few folds")
        train(s)
        g = s.wait("the second page's tick", done, 30)
        t.ok(g.number("step") > 100, "a run ticks the second page")
        shot(s, "lesson-2")

        next_page(s, "Without an activation")
        s.select("act")
        s.key("ctrl+x")
        s.wait("the ReLU gone, its neighbours joined", lambda g: "act" not in g.cards and g.number("faults") == 0, 5)
        train(s)
        s.wait("the third page's tick", done, 30)
        t.ok(True, "taking the ReLU out and training again ticks the third page")
        shot(s, "lesson-3")

        next_page(s, "More folds")
        s.key("ctrl+z")
        s.wait("the ReLU back", lambda g: "act" in g.cards, 3)
        set_units(s, "32")
        train(s)
        s.wait("the fourth page's tick", done, 60)
        t.ok(True, "more units and a loss below 0.2 tick the fourth page")
        next_page(s, "What you have seen")
        g = s.wait("completed", lambda g: g.has("is complete"), 3)
        t.ok(True, "the last page completes the lesson")
        shot(s, "lesson-4")

        s.press("Lesson menu", x1=400)
        s.wait("the menu", lambda g: g.popover(), 2)
        s.key("Home", "Return")
        g = s.wait("the first page", lambda g: at(g, "Two spirals"), 3)
        t.ok(not done(g), "starting again goes back to the first page")
        s.select("hidden")
        s.wait("four units", lambda g: g.find("4", x0=g.canvas[0] + g.canvas[2]), 3)
        t.ok(True, "and the graph to what it was")


if __name__ == "__main__":
    sys.exit(Report().run(body))
