"""Documents in tabs, by a pointer and keys: opened, ordered by dragging, closed by a middle click, moved to a window of their
own, and one that trains while another is edited."""
import os
import sys

from closing import GRAPH, alive, question
from studio import Report, Studio, middle

HEADER = 46  # pixels, less than its height


def write(s, name):
    path = os.path.join(s.folder, name + ".xml")
    with open(path, "w") as f:
        f.write(GRAPH.replace('name="Closing"', 'name="%s"' % name).replace('lr="0.01"', 'lr="0.0%d"' % len(name)))
    return path


def tab(g, name):
    """The label of a tab: below the header, above the canvas."""
    return [r for r in g.find(name, "GtkLabel") if HEADER < r[1] < g.canvas[1]][0]


def order(g, names):
    return sorted(names, key=lambda n: tab(g, n)[0])


def opened(t, s):
    names = ["first", "second", "third"]
    t.holds(s, lambda g: g.state["tabs"] == g.state["tab"] == "3" and len(g.find("third")) == 2 and order(g, names) == names,
            "three files of the command line are three tabs, the last seen")
    s.key("alt+1")
    s.wait("first", lambda g: g.state["tab"] == "1", 1)
    s.key("ctrl+Next")
    s.wait("second", lambda g: g.state["tab"] == "2", 1)
    s.key("ctrl+Prior", "ctrl+Prior")
    s.wait("third", lambda g: g.state["tab"] == "3", 1)
    t.ok(True, "Alt+1, Ctrl+Page Down and Ctrl+Page Up go from tab to tab, and round")
    return names


def ordered(t, s, names):
    x, y = middle(s.standing("the tab", lambda g: tab(g, "third")))
    s.drag((x, y), (20, y), 40)
    t.holds(s, lambda g: order(g, names) == ["third", "first", "second"] and g.state["tab"] == "1",
            "a tab that is dragged to the front stands there")
    s.key("ctrl+shift+Next", "ctrl+shift+Next")
    s.wait("moved back", lambda g: order(g, names) == names, 2)
    t.ok(True, "Ctrl+Shift+Page Down takes it back")


def trains(t, s):
    """Each has its run, undo and selection."""
    s.key("alt+1")
    s.wait("first", lambda g: g.state["tab"] == "1", 1)
    s.key("ctrl+Return")
    g = s.wait("trains", lambda g: g.state["run"] == "training" and g.number("points") > 3, 3)
    pid, step = g.state["pid"], g.number("step")
    s.key("alt+2")
    g = t.holds(s, lambda g: g.state["tab"] == "2" and g.state["run"] != "training" and g.state["points"] == "0"
                and g.find("Train"), "another tab does not train")
    s.select("act")
    s.key("Delete")
    s.wait("edited", lambda g: "act" not in g.cards and g.has("Edited"), 1)
    t.ok(alive(pid), "it is edited while the first one trains")
    s.key("alt+1")
    g = t.holds(s, lambda g: g.state["tab"] == "1" and g.number("step") > step and "act" in g.cards
                and not g.has("Edited") and g.state["run"] == "training", "which has gone on, and is not edited")
    s.key("ctrl+z")
    t.ok("act" in s.look().cards, "there is nothing to undo in it")


def closed(t, s):
    s.move(*middle(s.standing("the tab", lambda g: tab(g, "third"))))
    s.look()
    s.screen.click(2)
    s.wait("closed", lambda g: g.state["tabs"] == "2", 2)
    t.ok(True, "a middle click closes a tab that would lose nothing")
    s.move(*middle(s.standing("the tab", lambda g: tab(g, "second"))))
    s.look()
    s.screen.click(2)
    question(s, "Save changes to “second”?")
    s.press("Cancel")
    g = t.holds(s, lambda g: g.state and g.state["tab"] == "2" and g.state["tabs"] == "2",
                "one that was edited asks, and is seen meanwhile")


def detached(t, s):
    """Dropped on the header: what is dropped on the view goes back among its tabs."""
    x, y = middle(s.standing("the tab", lambda g: tab(g, "second")))
    s.move(x, y)
    s.look()
    s.down()
    for start, end in (((x, y), (x, y + 60)), ((x, y + 60), (x - 150, y + 60)), ((500, y + 60), (500, y - 60))):
        s.move_along(start, end, 15)
    s.up()
    g = s.wait("window", lambda g: g.state["tabs"] == "1" and "act" not in g.cards and g.has("Edited"), 3)
    t.ok(True, "a tab that is dragged out becomes a window, as it was")
    s.key("ctrl+z")
    s.wait("undone", lambda g: "act" in g.cards and not g.has("Edited"), 2)
    t.ok(True, "with its history")
    s.key("ctrl+w")
    g = s.wait("first window", lambda g: g.state["tabs"] == "1" and g.state["run"] == "training", 2)
    t.ok(True, "Ctrl+W closes its one tab and with it the window; the other has gone on training")


def body(t):
    with Studio("tabs") as s:
        s.end()
        s.arguments = [write(s, name) for name in ("first", "second", "third")]
        s.launch()
        names = opened(t, s)
        ordered(t, s, names)
        trains(t, s)
        closed(t, s)
        detached(t, s)


if __name__ == "__main__":
    sys.exit(Report().run(body))
