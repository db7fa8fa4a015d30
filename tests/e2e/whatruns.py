"""What runs: the steps of the plan next to the graph, linked with the cards both ways, the memory along a step, and gradients checked."""
import os
import shutil
import sys
import tempfile

import studio
from studio import Report, Studio


def reopen(s):
    """The list of all steps, with the keyboard in its search."""
    s.key("ctrl+shift+x")
    s.wait("no list", lambda g: not g.find("forward"), 3)
    s.key("ctrl+shift+x")
    s.wait("the whole list", lambda g: g.find("forward") and g.state["focus"] == "GtkText", 3)


def steps(t, s):
    s.key("ctrl+shift+x")
    g = t.holds(s, lambda g: g.find("forward") and g.find("hidden", exact=False) and g.has("estimates")
                and g.state["run"] == "not started",
                "the steps are listed without a run, with estimates that say so", 10)
    s.select("act")
    s.wait("its step", lambda g: g.find("2  hidden + act"), 3)
    t.ok(True, "selecting a card scrolls to its step")
    reopen(s)
    s.type("cross_entropy")
    s.wait("the search", lambda g: g.find("cross_entropy · ", exact=False) and not g.find("forward"), 5)
    row = s.standing("the row", lambda g: (g.find("4  loss") or [None])[0])
    s.click((row[0] + 20, row[1] + row[3] / 2))
    s.wait("selected", lambda g: g.state["selected"] == "loss", 3)
    t.ok(True, "a search leaves the steps that match, and a click on one selects its card")


def memory(t, s):
    reopen(s)
    s.key("Tab")
    s.wait("past the search", lambda g: g.state["focus"] != "GtkText", 3)
    s.key("Tab", "Left")
    g = s.wait("the peak", lambda g: g.find("Step ", exact=False) and g.has(" alive. Largest: "), 5)
    first = [n for k, n, r in g.widgets if " alive. Largest: " in n]
    s.key("Right", "Right", "Right", "Right")
    s.wait("another moment", lambda g: g.has(" alive. Largest: ") and [n for k, n, r in g.widgets if " alive. Largest: " in n] != first, 3)
    s.key("Escape")
    s.wait("no moment", lambda g: not g.has(" alive. Largest: "), 3)
    t.ok(True, "the arrow keys go through the moments of a step, and each says what is alive")


def times(t, s):
    s.key("ctrl+Return")
    s.wait("a recorded step", lambda g: g.has("those of a recorded step"), 10)
    t.ok(True, "while the graph trains, the times are those of a recorded step")
    s.press("Pause")
    s.wait("pause", lambda g: g.state["run"] == "paused", 5)


def gradients(t, s):
    s.select("hidden")
    s.key("ctrl+shift+f")
    g = t.holds(s, lambda g: g.has("agrees with finite differences") and g.find("hidden agrees, to ", exact=False)
                and g.find("hidden.weight [", exact=False),
                "the gradients of the selected card are checked, with a line for each input and weight", 10)
    s.select("act")
    s.key("shift+F10")
    s.wait("the menu", lambda g: g.popover(), 3)
    s.press("Check Gradients")
    s.wait("another layer", lambda g: g.find("act agrees, to ", exact=False) and g.has("agrees with finite differences"), 10)
    t.ok(True, "and so they are from a card's menu")


def body(t):
    with tempfile.TemporaryDirectory(prefix="gradloom-whatruns-") as folder:
        path = os.path.join(folder, "spirals.xml")
        shutil.copy(os.path.join(studio.SOURCE, "graphs", "lessons", "spirals.xml"), path)
        with Studio("whatruns", path) as s:
            s.wait("graph", lambda g: "hidden" in g.cards and "act" in g.cards, 3)
            steps(t, s)
            memory(t, s)
            times(t, s)
            gradients(t, s)
            t.ok(not s.complaints(), "nothing was complained about")


if __name__ == "__main__":
    sys.exit(Report().run(body))
