"""Parameters and memory: what moves to another device, what each node takes before and during a run, and what cards show of
stages, devices and split weights."""
import colorsys
import sys

import studio
from studio import Report, Studio


def row(g, text):
    """The words of the table's row that begins with these, from the left."""
    at = g.find(text, kind="Label")[-1]
    return [n for k, n, r in sorted(g.widgets, key=lambda w: w[2][0]) if "Label" in k and abs(r[1] - at[1]) < 6]


def band(s, name):
    """The hue of the band at a card's upper edge, in twelfths: its strongest colour, since where a card begins between two
    pixels the band's own edges are mixed with their neighbours."""
    x, y, width, _ = s.look().cards[name]
    pixels = s.screen.pixels(x + width / 2, y - 2, 1, 8)
    strongest = max((colorsys.rgb_to_hsv(*(c / 255 for c in p)) for p in pixels), key=lambda hsv: hsv[1] * hsv[2])
    return round(strongest[0] * 12) % 12


def parts(t, s):
    s.open("pipeline.xml", studio.lesson("pipeline"))
    s.wait("graph", lambda g: "fc1" in g.cards, 5)

    def differ(g):
        hues = [band(s, n) for n in ("fc1", "act1", "fc3", "fc5", "act7")]
        return hues[0] == hues[1] and len(set(hues)) == 4
    t.holds(s, differ, "each stage has a colour of its own")


LARGE = """<graph xmlns="urn:gradloom:graph" version="1">
<node id="data" op="dataset" source="spirals" n="400000"/><node id="hidden" op="linear" out_features="40000"/>
<node id="act" op="relu"/><node id="scores" op="linear" out_features="2"/><node id="loss" op="cross_entropy"/>
<wire from="data.x" to="hidden"/><wire from="hidden" to="act"/><wire from="act" to="scores"/>
<wire from="scores" to="loss.input"/><wire from="data.y" to="loss.target"/>
<train loss="loss" optimizer="sgd" lr="0.1" batch_size="400000" epochs="3" device="cpu"/></graph>
"""


def too_large(t, s):
    """A run that would not fit is said so while the graph is edited, with a batch that fits."""
    s.open("large.xml", LARGE)
    g = t.holds(s, lambda g: g.has(" planned, ") and g.find("Use Batch ", exact=False)
                and g.state["run"] == "not started", "before it is started, with one figure of each and a button", 8)
    g = t.holds(s, lambda g: g.find(" GB of ", exact=False),
                "the gauge next to the device says what is needed and what there is")
    s.press("CPU", exact=False)
    s.wait("the menu", lambda g: g.popover() and g.find("Use Batch ", exact=False), 3)
    t.ok(True, "and its menu has the batch that fits")
    s.key("Escape")
    s.wait("closed", lambda g: not g.popover(), 3)
    s.open("small.xml", LARGE.replace('batch_size="400000"', 'batch_size="40"'))
    t.holds(s, lambda g: len(g.cards) == 5 and (g.find(" MB of ", exact=False) or g.find(" kB of ", exact=False))
            and not g.find("Use Batch ", exact=False), "a run that fits has none", 8)
    s.select("hidden")
    s.key("ctrl+x")
    s.wait("the gauge after an edit", lambda g: g.find(" kB of ", exact=False), 8)
    t.ok(True, "and the gauge follows edits")


def body(t):
    with Studio("inventory") as s:
        s.open("spirals.xml", studio.lesson("spirals", endless=True).replace('<train ', '<train device="cpu:1" '))
        s.wait("graph", lambda g: g.cards, 5)
        s.key("ctrl+shift+b")
        name = "hidden.weight"
        t.holds(s, lambda g: row(g, name)[0] == name and row(g, name)[-2:] == ["cpu", "cpu:1"] and "×" in row(g, name)[1],
                "a parameter moves")
        t.holds(s, lambda g: not g.has("None are moved") and g.has(" moved."), "the sentence counts them")
        s.press("Name")
        first = s.wait("sorted", lambda g: g.find(name), 2)
        s.press("Name")
        t.holds(s, lambda g: g.find(name) and g.find(name) != first.find(name), "a click on a heading sorts")

        s.press("Memory")
        # What is planned is said by a program of its own, which a loaded machine lets wait.
        node = name.rsplit(".", 1)[0]
        g = t.holds(s, lambda g: row(g, node)[0] == node and row(g, node)[2].endswith("B") and row(g, node)[3] == "–",
                    "memory is planned, and not taken yet", 8)
        planned = row(g, node)[2]
        s.press(node, kind="Label")
        s.key("Escape")
        s.wait("selected", lambda g: g.state.get("selected") == node, 3)
        t.ok(True, "a row that is chosen selects its card")

        s.key("ctrl+Return")
        s.wait("training", lambda g: g.state["run"] == "training" and g.number("step") > 2, 8)
        s.key("ctrl+shift+y")
        g = s.wait("taken", lambda g: row(g, node)[0] == node and row(g, node)[3] == planned, 8)
        t.ok(True, "the memory that the run has allocated is next to it: %s" % row(g, node))
        s.key("Escape")
        s.wait("the tables closed", lambda g: not g.find("Memory"), 3)
        s.key("ctrl+Return")
        s.wait("paused", lambda g: g.state["run"] == "paused", 5)
        parts(t, s)
        too_large(t, s)
        t.ok(not s.complaints(), "nothing was complained about")


if __name__ == "__main__":
    sys.exit(Report().run(body))
