"""Numbers of a run that trains are changed in their fields: each change is a mark on the curve and a line of the log, the graph keeps
its own, and the run is repeated from its folder bit for bit."""
import json
import os
import subprocess
import sys

import studio
from closing import begin
from studio import Report, Studio

GRADLOOM = os.path.join(studio.BUILD, "app", "gradloom")
NET = """<graph xmlns="urn:gradloom:graph" version="1">
<node id="data" op="dataset" source="spirals" n="640"/>
<node id="hidden" op="linear" out_features="16"/><node id="act" op="tanh"/><node id="drop" op="dropout" p="0.1"/>
<node id="scores" op="linear" out_features="2"/><node id="loss" op="cross_entropy"/>
<wire from="data.x" to="hidden"/><wire from="hidden" to="act"/><wire from="act" to="drop"/><wire from="drop" to="scores"/>
<wire from="scores" to="loss.input"/><wire from="data.y" to="loss.target"/>
<train loss="loss" optimizer="sgd" lr="0.1" momentum="0.9" weight_decay="0.001" batch_size="64" epochs="20000" seed="3" device="cpu">
<clip norm="1"/></train>
</graph>
"""
CHANGES = (("Learning rate", "lr", "0.05"), ("Momentum", "momentum", "0.7"), ("Weight decay", "weight_decay", "0.02"),
           ("drop.p", "drop.p", "0.3"), ("Clip norm", "clip_norm", "0.5"), ("Batch size", "batch_size", "32"))


def field(label):
    """The field of this run next to its label; the graph's own comes after it."""
    def place(g):
        _, y, _, height = g.find(label, kind="GtkLabel", x0=g.right())[0]
        return next((r for k, _, r in g.widgets if k == "GtkText" and r[0] > g.right() and y - 12 < r[1] < y + height), None)
    return place


def changed(t, s):
    for i, (label, _, value) in enumerate(CHANGES):
        s.fill(label, field(label), value)
        s.key("Return")
        step = s.wait("its mark", lambda g: g.number("marks") == i + 1, 10).number("step")
        s.press("Step")
        s.wait("the next step", lambda g: g.state["run"] == "paused" and g.number("step") == step + 1, 10)
    t.ok(True, "each change is marked on the curve")
    t.holds(s, lambda g: g.number("changes") == 0, "and the graph keeps its numbers")


def events(folder):
    with open(os.path.join(folder, "events.jsonl"), encoding="utf-8") as f:
        return [line for line in map(json.loads, f.read().split("\n")[:-1]) if line["event"] == "hyper"]


def weights(folder):
    checkpoints = os.path.join(folder, "checkpoints")
    newest = max(os.listdir(checkpoints), key=int)
    with open(os.path.join(checkpoints, newest, "weights.safetensors"), "rb") as f:
        return newest, f.read()


def body(t):
    with Studio("live") as s:
        path = os.path.join(s.folder, "net.xml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(NET)
        begin(s, [path])
        s.key("ctrl+Return")
        s.wait("trains", lambda g: g.state["run"] == "training" and g.number("points") > 2, 10)
        s.press("Pause")
        s.wait("paused", lambda g: g.state["run"] == "paused" and g.find("This Run"), 5)
        changed(t, s)
        folder = s.look().state["folder"]
        s.key("ctrl+shift+period")
        s.wait("stopped", lambda g: g.state["run"] == "stopped", 10)
        t.ok([(e["name"], "%g" % e["value"]) for e in events(folder)] == [(n, v) for _, n, v in CHANGES], "each is a line of the log")
        again = os.path.join(s.folder, "again")
        subprocess.run([GRADLOOM, "train", "--replay", folder, "--out", again], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, env=dict(s.env, LD_PRELOAD=""))
        t.ok(weights(again) == weights(folder) and events(again) == events(folder), "the run is repeated bit for bit")


if __name__ == "__main__":
    sys.exit(Report().run(body))
