"""Runs as things: the list of a folder's runs by keys, names, notes and stars, curves of several in one chart, what differs,
the trash and back, and a sweep from values that are typed into a field."""
import json
import os
import subprocess
import sys
import tempfile

import studio
from studio import Report, Studio

GRADLOOM = os.path.join(studio.BUILD, "app", "gradloom")


def of(name):
    return lambda g: int(g.runs.get(name, -1))


def train(folder, name, *options):
    subprocess.run([GRADLOOM, "train", "spirals.xml", "--out", name, "--epochs", "2", *options], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_runs(folder):
    text = studio.lesson("spirals")
    start, end = text.index("<lesson"), text.rindex("</lesson>") + len("</lesson>")
    with open(os.path.join(folder, "spirals.xml"), "w", encoding="utf-8") as f:
        f.write(text[:start] + text[end:])
    train(folder, "first")
    train(folder, "second", "--lr", "0.1")
    os.makedirs(os.path.join(folder, "broken"))
    with open(os.path.join(folder, "broken", "run.json"), "w", encoding="utf-8") as f:
        f.write("{}")


def notes(folder, run):
    path = os.path.join(folder, run, "notes.json")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def listed(t, s):
    s.key("ctrl+shift+j")
    g = t.holds(s, lambda g: of("runs")(g) == 3 and g.runs["reading"] == "0" and g.runs["selected"] == "second",
                "the newest run is first", 8)
    g = t.holds(s, lambda g: g.has("lr 0.03 → 0.1") and g.has("first run"),
                "each says what changed since the one before")
    g = t.holds(s, lambda g: g.has("it has no graph.xml"), "a damaged folder is one sentence")


def charts(t, s):
    s.wait("the keyboard in the list", lambda g: g.state["focus"] not in ("-", "GtkToggleButton", "GtkDropDown"), 4)
    s.key("space")
    s.wait("one run in the chart", lambda g: of("chosen")(g) == 1, 3)
    s.key("Down", "space")
    g = t.holds(s, lambda g: of("chosen")(g) == 2 and g.find("loss"),
                "Space shows runs in the panel's chart, without a run of this Studio")
    g = t.holds(s, lambda g: g.runs["selected"] == "first", "arrow keys go through the list")


def names(t, s, folder):
    s.key("F2")
    s.wait("the field of the name", lambda g: g.state["focus"] == "GtkText", 3)
    s.type("baseline")
    s.key("Return")
    s.wait("named", lambda g: g.runs["selected"] == "baseline" and notes(folder, "first").get("name") == "baseline", 3)
    t.ok(True, "F2, a name and Enter name a run, in its folder")
    s.key("asterisk")
    s.wait("starred", lambda g: notes(folder, "first").get("star") is True, 3)
    t.ok(True, "* stars it")


def view(s, title, name):
    def opened(g):
        s.click(s.standing("the choice of views", lambda g: (g.find("View", "GtkDropDown") or [None])[0]))
        return s.look().popover()
    s.wait("the list of views", opened, 4, quiet=True)
    s.press(title, kind="GtkLabel", x0=s.look().right())
    s.wait(name, lambda g: g.runs.get("view") == name and not g.popover(), 4)


def differences(t, s):
    view(s, "Differences", "table")
    g = t.holds(s, lambda g: g.has("1 setting differs") and g.find("lr") and g.find("0.1") and g.find("baseline"),
                "the settings that differ are columns")
    view(s, "Small Charts", "multiples")
    s.wait("charts", lambda g: g.runs["view"] == "multiples", 3)
    view(s, "Loss and Cost", "pareto")
    g = s.wait("a point's words", lambda g: g.has("no other is both better and cheaper"), 4)
    t.ok(True, "the front of loss and time is read in words")
    view(s, "List", "list")


def delete(t, s, folder):
    s.key("Delete")
    s.wait("out of the list", lambda g: of("runs")(g) == 2 and g.find("Undo"), 4)
    s.press("Undo")
    s.wait("back again", lambda g: of("runs")(g) == 3, 4)
    t.ok(os.path.isdir(os.path.join(folder, "first")), "a deletion can be undone")
    s.wait("the toast's end", lambda g: not g.find("Undo"), 8)
    s.press("baseline", kind="GtkLabel", x0=s.look().right())
    s.wait("selected", lambda g: g.runs["selected"] == "baseline", 3)
    s.key("space")
    s.wait("in the chart again", lambda g: of("chosen")(g) == 2, 3)


def compare(t, s):
    s.press("Compare With the Graph")
    s.wait("the comparison", lambda g: g.has("Compared with"), 4)
    t.ok(True, "a run is compared with the graph on the canvas")
    s.command("End the Comparison")
    s.wait("its end", lambda g: not g.has("Compared with"), 4)
    s.press("Runs", x0=s.look().right())
    s.wait("the list", lambda g: g.find("broken", kind="GtkLabel"), 4)


def trash(t, s, folder):
    s.press("broken", kind="GtkLabel", x0=s.look().right())
    s.wait("selected", lambda g: g.runs["selected"] == "broken", 3)
    s.press("Delete the Run")
    s.wait("out of the list", lambda g: of("runs")(g) == 2 and g.find("Undo"), 4)
    s.move(2, 2)
    s.wait("out of the folder", lambda g: not os.path.exists(os.path.join(folder, "broken")), 20)
    t.ok(os.path.exists(os.path.join(s.folder, "home", "data", "Trash", "files", "broken")), "a deleted run is in the trash")


def sweep(t, s):
    s.command("Train at Full Speed")
    s.press("Parameters", x0=s.look().right())
    s.wait("the settings", lambda g: g.value_place("Epochs"), 4)
    s.fill("the epochs", lambda g: g.value_place("Epochs"), "1")
    s.key("Return")
    s.fill("the seed", lambda g: g.value_place("Seed"), "2, 3")
    s.key("Return")
    g = s.wait("both have run", lambda g: of("queue")(g) == 0 and g.state["run"] == "done" and of("runs")(g) == 4, 30)
    kept = os.path.join(s.folder, "home", "state", "gradloom", "runs")
    g = s.wait("their notes", lambda g: sorted(notes(kept, r).get("name", "") for r in os.listdir(kept)) == ["seed 2", "seed 3"], 8)
    t.ok(all(notes(kept, r)["sweep"] == "seed 2, 3" for r in os.listdir(kept)), "both are named by what differs")
    t.holds(s, lambda g: g.state["changes"] == "1", "the panel says that the graph differs from the run by its seed")


def sweep_layer(t, s):
    """The field of a card's number takes several values, too."""
    s.select("hidden")
    s.press("Parameters", x0=s.look().right())
    s.fill("the width", lambda g: g.value_place("Out features"), "4, 8")
    s.key("Return")
    kept = os.path.join(s.folder, "home", "state", "gradloom", "runs")
    s.wait("both have run", lambda g: of("queue")(g) == 0 and g.state["run"] == "done" and
           {"hidden.out_features 4", "hidden.out_features 8"} <= {notes(kept, r).get("name") for r in os.listdir(kept)}, 30)
    t.holds(s, lambda g: g.number("changes") == 1, "the graph keeps its width")


def queue(t, s):
    """Runs that wait for one that is paused."""
    runs = of("runs")(s.look())
    s.key("ctrl+shift+Return")
    s.wait("a paused run", lambda g: g.state["run"] == "paused" and g.number("step") == 1, 10)
    for n in (1, 2):
        s.key("ctrl+alt+q")
        s.wait("%d wait" % n, lambda g: of("queue")(g) == n, 5)
    s.press("Resume")
    t.holds(s, lambda g: of("queue")(g) == 0 and g.state["run"] == "done" and of("runs")(g) == runs + 3,
            "two runs that were added to the queue are trained after the present one", 30)


def body(t):
    with tempfile.TemporaryDirectory(prefix="gradloom-runs-") as folder:
        make_runs(folder)
        with Studio("runs", os.path.join(folder, "spirals.xml")) as s:
            s.wait("graph", lambda g: "hidden" in g.cards, 5)
            listed(t, s)
            charts(t, s)
            names(t, s, folder)
            delete(t, s, folder)
            differences(t, s)
            compare(t, s)
            trash(t, s, folder)
            sweep(t, s)
            sweep_layer(t, s)
            queue(t, s)


if __name__ == "__main__":
    sys.exit(Report().run(body))
