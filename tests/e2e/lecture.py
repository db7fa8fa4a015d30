"""A lecture: its stops are tabs, and a presentation walks from the last view of one to the next, and back."""
import os
import sys

import studio
from studio import Report, Studio

LIST = os.path.join(studio.SOURCE, "graphs", "attention.lecture")


def body(t):
    with Studio("lecture", LIST) as s:
        g = t.holds(s, lambda g: g.number("tabs") == 8 and g.number("tab") == 1 and "decoder" in g.cards,
                    "the first stop is shown")
        s.key("F11")
        g = s.wait("presentation", lambda g: g.state["presenting"] == "1", 2)
        while g.number("tab") == 1:
            before = g.number("slide")
            s.key("Next")
            g = s.wait("the next view", lambda g, before=before: g.number("tab") == 2 or g.number("slide") > before, 2, quiet=True)
        g = t.holds(s, lambda g: g.number("tab") == 2 and "attention" in g.cards and g.state["presenting"] == "1",
                    "Page Down after the last view presents the next stop")
        s.wait("its first view", lambda g: g.has("1 / 7"), 2)
        s.key("Prior")
        g = t.holds(s, lambda g: g.number("tab") == 1 and g.state["presenting"] == "1",
                    "Page Up before the first view leads back")
        s.key("Escape")
        s.wait("window", lambda g: g.state["presenting"] == "0", 2)
    with Studio("built-in") as s:
        s.wait("the start page names it", lambda g: g.has("Model parallel, data parallel, both"), 4)
        s.command("lecture on parallel")
        t.holds(s, lambda g: g.number("tabs") == 8 and g.number("tab") == 1 and g.cards, "a built-in lecture opens its stops")


if __name__ == "__main__":
    sys.exit(Report().run(body))
