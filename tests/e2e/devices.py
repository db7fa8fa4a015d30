"""Devices and ranks before the first Train: what each rank will hold, the forecast of a step, and what cannot be."""
import sys

from studio import Report, Studio

NET = """<graph xmlns="urn:gradloom:graph" version="1">
<node id="data" op="dataset" source="spirals" n="640"/>
<node id="hidden" op="linear" out_features="16"/><node id="act" op="tanh"/>
<node id="scores" op="linear" out_features="2"/><node id="loss" op="cross_entropy"/>
<wire from="data.x" to="hidden"/><wire from="hidden" to="act"/><wire from="act" to="scores"/>
<wire from="scores" to="loss.input"/><wire from="data.y" to="loss.target"/>
<train loss="loss" optimizer="adam" lr="0.01" batch_size="64" epochs="3" seed="3" device="cpu"/>
</graph>
"""


def opened(s):
    s.key("ctrl+shift+v")
    return s.wait("the popover", lambda g: g.find("Devices of the Next Run"), 5)


def ranks_shown(g):
    return sum(bool(g.find("Rank %d" % i)) for i in range(8))


def body(t):
    with Studio("devices") as s:
        s.open("net.xml", NET)
        s.wait("graph", lambda g: len(g.cards) == 5 and g.number("faults") == 0, 5)
        opened(s)
        t.holds(s, lambda g: g.find("Devices of the Next Run")[0][1] > g.find("Train")[0][1] + g.find("Train")[0][3],
                "the popover covers no button of the header")
        s.wait("one rank", lambda g: ranks_shown(g) == 1 and g.find("Total"), 20)
        t.ok(True, "before the first Train the popover says what the rank will hold")
        s.key("Tab")
        s.wait("the field of ranks", lambda g: g.focus is not None and "Text" in g.focus[0], 5)
        s.key("ctrl+a")
        s.type("2")
        s.key("Tab")
        s.wait("two ranks", lambda g: ranks_shown(g) == 2, 20)
        t.ok(True, "two ranks, typed, have a row each")
        s.press("Forecast the Time of a Step")
        g = t.holds(s, lambda g: g.find("Time of a step") and g.find("× 1.00") and len(g.find("×", exact=False)) >= 3,
                    "and how long a step will take with more ranks", 60)
        s.key("Escape")
        s.wait("closed", lambda g: not g.find("Devices of the Next Run"), 5)
        s.open("net.xml", NET.replace('device="cpu"', 'device="cuda:7"'))
        s.wait("another graph", lambda g: len(g.cards) == 5, 5)
        opened(s)
        s.wait("what is missing", lambda g: g.find("The device “cuda:7” is not on this machine. Choose another one."), 10)
        t.ok(True, "a device that is missing has one sentence")


sys.exit(Report().run(body))
