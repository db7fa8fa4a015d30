"""The timeline below the canvas: it follows the newest step of two ranks, holds while a box is selected, and says what it costs."""
import re
import sys

from studio import Report, Studio

NET = """<graph xmlns="urn:gradloom:graph" version="1">
<node id="data" op="dataset" source="spirals" n="640"/>
<node id="hidden" op="linear" out_features="16"/><node id="act" op="tanh"/>
<node id="scores" op="linear" out_features="2"/><node id="loss" op="cross_entropy"/>
<wire from="data.x" to="hidden"/><wire from="hidden" to="act"/><wire from="act" to="scores"/>
<wire from="scores" to="loss.input"/><wire from="data.y" to="loss.target"/>
<train loss="loss" optimizer="adam" lr="0.01" batch_size="64" epochs="200000" seed="3" device="cpu"/>
</graph>
"""


def recorded(g):
    """The step of the shown timeline; -1: none is shown."""
    for _, words, _ in g.widgets:
        found = re.match(r"step ([\d,]+)", words)
        if found:
            return int(found.group(1).replace(",", ""))
    return -1


def lanes(g):
    return next((r for k, _, r in g.widgets if k == "StudioTimeline"), None)


def body(t):
    with Studio("dock") as s:
        s.open("net.xml", NET)
        s.wait("graph", lambda g: len(g.cards) == 5 and g.number("faults") == 0, 5)
        s.key("F8")
        s.wait("an empty dock", lambda g: g.has("No Step Recorded"), 5)
        t.ok(True, "before the first Train the dock says what it is for")
        s.press("Train")
        g = s.wait("a step", lambda g: recorded(g) > 0, 20)
        first = recorded(g)
        s.wait("a later step", lambda g: recorded(g) > first, 20)
        t.ok(True, "it follows the newest step")
        s.wait("its cost", lambda g: g.has("Recording a step costs the run") and g.has(" times"), 20)
        t.ok(True, "and says what recording costs")
        x, y, width, height = s.standing("the lanes", lanes)
        s.click((x + width * 0.5, y + 38))
        g = s.wait("held", lambda g: g.has("held while the pointer"), 10)
        held = recorded(g)
        step = g.number("step")
        s.wait("more steps", lambda g: g.number("step") > step + 50, 20)
        t.ok(recorded(s.look()) == held, "a pointer on the lanes holds the step")
        s.move(600, 300)
        s.key("Escape")
        s.wait("following again", lambda g: recorded(g) > held, 20)
        t.ok(True, "Escape and a pointer elsewhere follow again")
        s.key("F8")
        s.wait("closed", lambda g: lanes(g) is None and g.cards, 5)
        t.ok(True, "F8 closes it")


sys.exit(Report().run(body))
