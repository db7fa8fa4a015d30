"""The time machine: a drag along the loss curve shows an earlier step, also in a pin; Escape returns; a branch continues from there."""
import json
import os
import sys

from studio import Report, Studio

NET = """<graph xmlns="urn:gradloom:graph" version="1">
<node id="data" op="dataset" source="spirals" n="640"/>
<node id="hidden" op="linear" out_features="16"/><node id="act" op="tanh"/>
<node id="scores" op="linear" out_features="2"/><node id="loss" op="cross_entropy"/>
<wire from="data.x" to="hidden"/><wire from="hidden" to="act"/><wire from="act" to="scores"/>
<wire from="scores" to="loss.input"/><wire from="data.y" to="loss.target"/>
<train loss="loss" optimizer="adam" lr="0.01" batch_size="64" epochs="30" seed="3" device="cpu"/>
<view><pin tensor="hidden.weight" kind="heatmap" width="112" height="112"/></view>
</graph>
"""


def along(rect, share):
    x, y, width, height = rect
    return x + width * share, y + height * 0.5


def events_of(folder):
    with open(os.path.join(folder, "events.jsonl")) as events:
        return [json.loads(line) for line in events if line.endswith("\n")]  # the last one may be half written


def away(t, s):
    g = t.holds(s, lambda g: g.state["run"] == "done" and g.number("map_step") == 300 and g.number("step") == 300,
                "the run has ended", 30)
    chart = s.standing("the chart", lambda g: g.find("loss chart")[0])
    s.drag(along(chart, 0.8), along(chart, 0.4))
    g = t.holds(s, lambda g: 30 < g.number("step") < 200 and g.number("map_step") == g.number("step")
                and g.find("of 300 is shown", exact=False), "a caption says the step", 20)
    losses = {line["step"]: line["loss"] for line in events_of(g.state["folder"]) if line["event"] == "step"}
    return t.holds(s, lambda g: abs(g.number("loss") - losses[g.number("step")]) < 1e-6, "the loss shown is that of the step")


def evaluated(t, s):
    """The step that is shown is evaluated when asked for, and takes its place among the others."""
    figure = lambda g, name: float(g.evaluation.get(name, -1))  # noqa: E731
    s.key("ctrl+e")
    records = figure(s.wait("the newest evaluated", lambda g: figure(g, "step") == 300 and figure(g, "busy") == 0, 20), "records")
    step = away(t, s).number("step")
    # The last of these words is the button's, the first the tab's.
    s.click(s.standing("the button", lambda g: (g.find("Evaluate", x0=g.right()) or [None])[-1]))
    g = s.wait("evaluated", lambda g: figure(g, "step") == step and figure(g, "busy") == 0
               and figure(g, "records") == records + 1, 20)
    t.ok(True, "an earlier step is evaluated, and later evaluations stay: %d" % (records + 1))
    s.press("Back to Now")
    s.wait("now", lambda g: g.number("step") == 300, 20)


def back(t, s):
    s.key("Escape")
    g = t.holds(s, lambda g: g.number("step") == 300 and g.number("map_step") == 300
                and not g.find("is shown", exact=False), "Escape returns to now", 20)


def branch(t, s):
    g = away(t, s)
    step, parent = g.number("step"), g.state["folder"]
    s.press("Continue from Here")
    g = s.wait("a branch", lambda g: g.state["folder"] not in ("-", parent) and g.state["run"] == "done"
               and g.number("step") == 300, 30)
    made = [line for line in events_of(g.state["folder"]) if line["event"] == "branch"]
    t.ok([(line["step"], line["parent"]) for line in made] == [(step, parent)], "the branch names its parent and its step")
    with open(os.path.join(parent, "weights.safetensors"), "rb") as a, \
            open(os.path.join(g.state["folder"], "weights.safetensors"), "rb") as b:
        t.ok(a.read() == b.read(), "without a change it ends with the same bits")


def body(t):
    with Studio("timemachine") as s:
        s.open("spirals.xml", NET)
        s.wait("graph", lambda g: len(g.cards) == 5 and g.number("faults") == 0, 5)
        s.key("ctrl+Return")
        away(t, s)
        back(t, s)
        evaluated(t, s)
        branch(t, s)


if __name__ == "__main__":
    sys.exit(Report().run(body))
