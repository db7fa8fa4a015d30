"""A lesson walked through to its end by pointer and keys: pages, ticks that come by themselves, and the way back."""
import os
import re
import sys

import studio
from studio import Report, Studio
from timemachine import events_of

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


def whole(t):
    with Studio("lesson", GRAPH) as s:
        g = t.holds(s, lambda g: at(g, "Two spirals") and len(g.cards) == 6 and at(g, "Next")
                    and g.number("faults") == 0, "the lesson opens with its graph", 10)
        shot(s, "lesson-1")
        train(s)
        g = s.wait("the first page's tick", done, 30)
        # A run of 200 epochs takes half a minute at this speed: the border closes in the first third of it.
        closes = next(e["step"] for e in events_of(g.state["folder"])
                      if e["event"] == "eval" and e["metrics"]["accuracy"] > 0.95)
        t.ok(closes < 200 / 3 * 16, "the border closes in ten seconds: at step %d" % closes)
        shot(s, "lesson-2")

        next_page(s, "Without an activation")
        s.select("act")
        s.key("ctrl+x")
        s.wait("the ReLU gone, its neighbours joined", lambda g: "act" not in g.cards and g.number("faults") == 0, 5)
        train(s)
        s.wait("the second page's tick", done, 60)
        t.ok(True, "taking the ReLU out and training again ticks the second page")
        shot(s, "lesson-3")

        next_page(s, "Count the folds")
        s.key("ctrl+z")
        s.wait("the ReLU back", lambda g: "act" in g.cards, 3)
        set_units(s, "4")
        train(s)
        s.wait("the third page's tick", done, 60)
        t.ok(True, "few units tick the third page")
        next_page(s, "As many as needed")
        set_units(s, "20")
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
        g = t.holds(s, lambda g: at(g, "Two spirals") and not done(g), "starting again goes back to the first page")
        s.select("hidden")
        s.wait("32 units", lambda g: g.find("32", x0=g.canvas[0] + g.canvas[2]), 3)
        t.ok(True, "and the graph to what it was")


TWO_RUNS = """<lesson title="Twice">
    <page title="First" goal="step above 20">Train.</page>
    <page title="Second" goal="step above 20, no neg">Train again.</page>
  </lesson>"""


def earlier(t):
    """What was trained before a page was shown does not tick it."""
    with Studio("lesson-earlier") as s:
        s.open("twice.xml", re.sub(r"<lesson .*</lesson>", TWO_RUNS, studio.lesson("spirals", True), flags=re.S))
        s.wait("the lesson", lambda g: at(g, "First") and len(g.cards) == 6, 10)
        train(s)
        s.wait("the first page's tick", done, 30)
        s.key("space")
        s.wait("paused", lambda g: g.state["run"] == "paused", 5)
        g = next_page(s, "Second")
        t.ok(g.number("step") > 20 and not done(g), "an earlier run does not tick a page")
        s.press("Step")
        s.wait("the second page's tick", lambda g: at(g, "Well done: that was the last page."), 10)
        t.ok(True, "a step that is made on it does")


def body(t):
    whole(t)
    earlier(t)


if __name__ == "__main__":
    sys.exit(Report().run(body))
