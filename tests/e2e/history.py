"""History, comparison and values by hand: entries are clicked, a graph is compared with what it was, a number is dragged,
and a formula is typed."""
import os
import shutil
import sys
import tempfile

import studio
from studio import Report, Studio, middle


def right(g):
    return g.canvas[0] + g.canvas[2]


def field(g, text):
    """The entry in the right pane with this text."""
    found = [r for k, n, r in g.widgets if k in ("GtkText", "GtkEntry") and n == text and r[0] > right(g)]
    return found[0] if found else None


def open_field(s, card, text):
    s.press_card(card)
    g = s.wait("the field of " + card, lambda g: field(g, text), 3)
    return field(g, text)


def say_value(s, text):
    s.key("ctrl+a")
    s.type(text)


def values(t, s):
    at = open_field(s, "hidden", "4")
    s.click(at, 2)
    say_value(s, "2^4")
    g = s.wait("preview", lambda g: g.find("= 16", x0=right(g), exact=False), 2)
    t.ok(("hidden", "act", "B × 4") in g.wires, "a formula says what it comes to and would change, and has not changed it")
    s.key("Return")
    g = s.wait("16 features", lambda g: ("hidden", "act", "B × 16") in g.wires, 2)
    t.ok(field(g, "16"), "Enter sets it, as the number that it is")
    at = open_field(s, "hidden", "16")
    s.click(at, 2)
    say_value(s, "2 parsecs")
    g = s.wait("a sentence", lambda g: g.find("is not a known unit", x0=right(g), exact=False), 2)
    t.ok(field(g, "2 parsecs") and ("hidden", "act", "B × 16") in g.wires, "an invalid value is reported, and stays to be corrected")
    s.key("Escape")
    g = s.wait("put back", lambda g: field(g, "16"), 2)
    x, y = middle(open_field(s, "hidden", "16"))
    s.press_card("act")
    open_field(s, "hidden", "16")
    s.drag((x, y), (x + 40, y))
    g = s.wait("dragged", lambda g: not field(g, "16") and ("hidden", "act", "B × 16") not in g.wires, 2)
    t.ok(True, "a drag across the field changes the number")
    s.key("ctrl+z")
    s.wait("undone", lambda g: ("hidden", "act", "B × 16") in g.wires, 2)
    t.ok(True, "and is one step")


def history(t, s):
    s.press_card("act")
    s.key("Delete")
    s.wait("deleted", lambda g: "act" not in g.cards, 2)
    s.key("ctrl+shift+h")
    g = s.wait("the history", lambda g: g.find("Open spirals.xml") and g.find("Delete act"), 3)
    t.ok(g.find("saved", x0=right(g)), "the history lists what was done since the file was opened, which is what was saved")
    s.click(g.find("Open spirals.xml")[0])
    g = s.wait("the start", lambda g: "act" in g.cards and ("hidden", "act", "B × 4") in g.wires, 3)
    t.ok(not g.has("Edited"), "a click goes back to the start at once")
    s.click(g.find("Delete act")[0])
    g = s.wait("the end", lambda g: "act" not in g.cards, 3)
    t.ok(g.has("Edited"), "and another on again")


def compare(t, s):
    g = s.look()
    button = g.find("Compare with the current graph")
    s.click(button[0])
    g = s.wait("the comparison", lambda g: g.has("Compared with"), 3)
    t.ok(g.find("node act (relu)") and g.has("out_features 4 → 16"), "what differs is listed in the words of gradloom diff")
    s.click(g.find("node hidden (linear): out_features 4 → 16")[0])
    g = s.wait("revealed", lambda g: g.state["selected"] == "hidden", 2)
    t.ok(True, "a click on a line goes to its card")
    s.key("ctrl+z")
    g = s.wait("follows", lambda g: not g.find("node act (relu)"), 3)
    t.ok(g.has("out_features 4 → 16"), "editing goes on, and the list follows")
    s.press_card("hidden")
    s.key("Escape", "Escape")
    s.wait("closed", lambda g: not g.has("Compared with"), 3)
    t.ok(True, "Escape ends the comparison")


def body(t):
    with tempfile.TemporaryDirectory(prefix="gradloom-history-") as folder:
        path = os.path.join(folder, "spirals.xml")
        shutil.copy(os.path.join(studio.SOURCE, "graphs", "lessons", "spirals.xml"), path)
        with Studio("history", path) as s:
            s.wait("graph", lambda g: "hidden" in g.cards and "act" in g.cards, 3)
            values(t, s)
            history(t, s)
            compare(t, s)


if __name__ == "__main__":
    sys.exit(Report().run(body))
