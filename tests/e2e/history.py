"""History, comparison, the graph in PyTorch, and values by hand: entries are clicked, a graph is compared with what it was, a number is dragged,
and a formula is typed."""
import os
import shutil
import sys
import tempfile

import studio
from studio import Report, Studio, middle


def field(g, text):
    """The entry in the right pane has this text."""
    return any(k in ("GtkText", "GtkEntry") and n == text and r[0] > g.right() for k, n, r in g.widgets)


def say_value(s, text):
    s.fill("the number of units", lambda g: g.value_place("Out features"), text)


def values(t, s):
    s.select("hidden")
    say_value(s, "2^4")
    g = t.holds(s, lambda g: g.find("= 16", x0=g.right(), exact=False) and ("hidden", "act", "B × 32") in g.wires,
                "a formula says what it comes to and would change, and has not changed it")
    s.key("Return")
    g = t.holds(s, lambda g: ("hidden", "act", "B × 16") in g.wires and field(g, "16"),
                "Enter sets it, as the number that it is")
    say_value(s, "2 parsecs")
    g = t.holds(s, lambda g: g.find("is not a known unit", x0=g.right(), exact=False) and field(g, "2 parsecs")
                and ("hidden", "act", "B × 16") in g.wires, "an invalid value is reported, and stays to be corrected")
    s.key("Escape")
    s.wait("put back", lambda g: field(g, "16"), 2)
    s.select("act")
    s.wait("another card's fields", lambda g: not g.find("Out features"), 2)
    s.select("hidden")
    x, y = middle(s.standing("the number", lambda g: g.value_place("Out features") if field(g, "16") else None))
    s.drag((x, y), (x + 40, y))
    s.wait("dragged", lambda g: not field(g, "16") and ("hidden", "act", "B × 16") not in g.wires, 2)
    t.ok(True, "a drag across the field changes the number")
    s.key("ctrl+z")
    s.wait("undone", lambda g: ("hidden", "act", "B × 16") in g.wires, 2)
    t.ok(True, "and is one step")


def history(t, s):
    s.select("act")
    s.key("Delete")
    s.wait("deleted", lambda g: "act" not in g.cards, 2)
    s.key("ctrl+shift+h")
    g = t.holds(s, lambda g: g.find("Open spirals.xml") and g.find("Delete act") and g.find("saved", x0=g.right()),
                "the history lists what was done since the file was opened, which is what was saved")
    s.press("Open spirals.xml")
    g = t.holds(s, lambda g: "act" in g.cards and ("hidden", "act", "B × 32") in g.wires and not g.has("Edited"),
                "a click goes back to the start at once")
    s.press("Delete act")
    g = t.holds(s, lambda g: "act" not in g.cards and g.has("Edited"), "and another on again")


def compare(t, s):
    s.press("Compare with the current graph")
    g = t.holds(s, lambda g: g.has("Compared with") and g.find("node act (relu)") and g.has("out_features 32 → 16"),
                "what differs is listed in the words of gradloom diff")
    s.press("node hidden (linear): out_features 32 → 16")
    g = s.wait("revealed", lambda g: g.state["selected"] == "hidden", 2)
    t.ok(True, "a click on a line goes to its card")
    s.key("ctrl+z")
    g = t.holds(s, lambda g: not g.find("node act (relu)") and g.has("out_features 32 → 16"),
                "editing goes on, and the list follows")
    s.select("hidden")
    s.key("Escape", "Escape")
    s.wait("closed", lambda g: not g.has("Compared with"), 3)
    t.ok(True, "Escape ends the comparison")


def listing(t, s):
    s.key("ctrl+shift+k")
    s.wait("the graph in PyTorch", lambda g: g.find("class Model(nn.Module):"), 5)
    t.ok(True, "the graph is shown as a file for PyTorch")
    s.select("hidden")
    g = t.holds(s, lambda g: g.find("        self.hidden = nn.Linear(2, ", exact=False)
                and g.find("        self.scores = nn.Linear(", exact=False),
                "the lines of the selected card are in sight")
    x, y, _, height = s.standing("the line", lambda g: (g.find("        self.scores = nn.Linear(", exact=False) or [None])[0])
    s.click((x + 60, y + height / 2))  # a row is as long as the longest line
    s.wait("selected", lambda g: g.state["selected"] == "scores", 3)
    t.ok(True, "a click on a line selects its card")
    s.key("ctrl+shift+k")
    s.wait("closed", lambda g: not g.find("class Model(nn.Module):"), 3)


def body(t):
    with tempfile.TemporaryDirectory(prefix="gradloom-history-") as folder:
        path = os.path.join(folder, "spirals.xml")
        shutil.copy(os.path.join(studio.SOURCE, "graphs", "lessons", "spirals.xml"), path)
        with Studio("history", path) as s:
            s.wait("graph", lambda g: "hidden" in g.cards and "act" in g.cards, 3)
            values(t, s)
            history(t, s)
            compare(t, s)
            listing(t, s)


if __name__ == "__main__":
    sys.exit(Report().run(body))
