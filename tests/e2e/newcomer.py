"""The newcomer's minute: empty settings, an example, Train, a change, Restart, a mistake that
is fixed, undo, save, and the same curve on the command line."""
import json
import os
import shlex
import subprocess
import sys

import studio
from studio import Report, Studio, inside


def losses(path):
    with open(path) as f:
        events = [json.loads(line) for line in f]
    return [e["loss"] for e in events if e.get("event") == "step"]


def body(t):
    with Studio("newcomer") as s:
        g = t.holds(s, lambda g: g.has("Start with data") and g.has("or type the name of a layer")
                    and g.find("Empty graph"), "an empty canvas says how to begin")

        s.press("Two spirals")
        g = t.holds(s, lambda g: len(g.cards) == 6 and len(g.wires) == 6
                    and all(inside(r, g.canvas) for r in g.cards.values()), "the example fits the canvas")
        g = t.holds(s, lambda g: g.number("faults") == 0 and all(w[2] for w in g.wires),
                    "shapes stand on every wire, and no fault")

        s.press("Train")
        g = t.holds(s, lambda g: g.number("points") >= 1 and g.find("step") and g.find("epoch"),
                    "the run panel rose")
        guessing = 0.6931  # ln 2, the loss of who cannot tell two classes apart; the run may be past it before one looks
        g = s.wait("loss falls", lambda g: g.number("loss") < 0.95 * guessing, 7)
        t.ok(True, "the loss falls: %.3f to %.3f" % (guessing, g.number("loss")))

        s.select("hidden")
        g = s.wait("inspector", lambda g: g.find("32", x0=g.canvas[0] + g.canvas[2]), 2)
        s.fill("the number of units", lambda g: g.value_place("Out features"), "16")
        s.key("Return")
        g = s.wait("shape on the wire", lambda g: ("hidden", "act", "B × 16") in g.wires, 1)
        g = t.holds(s, lambda g: g.has("an earlier version · 1 change") and g.number("changes") == 1,
                    "the run is known to be an earlier version")

        s.press("Restart")
        g = t.holds(s, lambda g: g.number("previous") > 0 and g.number("points") > 20 and g.number("changes") == 0,
                    "the second curve is drawn over the first, greyed")
        folder = g.state["folder"]

        before = (sorted(g.cards), sorted(g.wires))
        s.select("act")
        s.key("Delete")
        g = s.wait("fault", lambda g: "act" not in g.cards and g.number("faults") > 0 and g.faults, 1)
        t.ok(True, "a card says what is missing: %s" % list(g.faults.values())[:1])
        s.select(next(iter(g.faults)))
        s.key("ctrl+period")
        g = t.holds(s, lambda g: g.number("faults") == 0 and ("hidden", "scores", "B × 16") in g.wires,
                    "Reconnect fixes it in one step")
        s.key("ctrl+z", "ctrl+z")
        g = t.holds(s, lambda g: (sorted(g.cards), sorted(g.wires)) == before and g.number("changes") == 0,
                    "undone twice, the graph is what it was")

        path = os.path.join(s.folder, "spirals.xml")
        s.key("ctrl+s")
        s.choose_file(path, "Save")
        g = t.holds(s, lambda g: g.has("gradloom train") and os.path.exists(path) and g.find("Copy"),
                    "the toast shows the line, with Copy")

        said = next(n for k, n, r in g.widgets if "gradloom train" in n)
        line = shlex.split(said[said.index("gradloom train"):])
        t.ok(line[2] == path, "the line names the file: " + " ".join(line))
        s.wait("enough steps", lambda g: g.number("step") >= 60 or g.state["run"] == "done", 10)
        # The line as it stands there, where the program is in the path; only what it computes is kept, to be compared.
        out = os.path.join(s.folder, "again")
        env = dict(s.env, PATH=os.path.join(studio.BUILD, "app") + ":" + os.environ["PATH"])
        done = subprocess.run(line + ["--out", out], capture_output=True, text=True, env=env)
        t.ok(done.returncode == 0, "the line runs headless %s" % done.stderr[-200:])
        s.key("ctrl+shift+period")
        s.wait("stopped", lambda g: g.state["run"] in ("stopped", "done"), 3)
        seen, again = losses(os.path.join(folder, "events.jsonl")), losses(os.path.join(out, "events.jsonl"))
        n = min(len(seen), len(again))
        t.ok(n >= 50 and seen[:n] == again[:n], "and repeats the curve bit for bit (%d steps)" % n)


if __name__ == "__main__":
    sys.exit(Report().run(body))
