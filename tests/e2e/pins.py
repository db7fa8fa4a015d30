"""Pins: another kind by a digit and by the menu, what is shown by arrow keys, cells by the pointer and by keys, size, place and
files; what is chosen stays in the file."""
import os
import re
import sys

import studio
from studio import Report, Studio

# A small convolution on pictures that every machine has, with pins of an output and of its weights' gradient.
GRAPH = """<?xml version="1.0" encoding="UTF-8"?>
<graph xmlns="urn:gradloom:graph" version="1">
  <node id="data" op="dataset" source="shapes" target_type="class" shapes="1" size="16"/>
  <node id="conv" op="conv2d" out_channels="4" kernel_size="3"/>
  <node id="flat" op="flatten"/>
  <node id="scores" op="linear" out_features="12"/>
  <node id="loss" op="cross_entropy"/>
  <wire from="data.x" to="conv"/>
  <wire from="conv" to="flat"/>
  <wire from="flat" to="scores"/>
  <wire from="scores" to="loss.input"/>
  <wire from="data.y" to="loss.target"/>
  <train loss="loss" optimizer="sgd" lr="0.01" batch_size="32" epochs="2000" seed="1"/>
  <view>
    <pin tensor="conv" kind="montage" width="176" height="176"/>
  </view>
</graph>
"""


def pin(g, name="conv"):
    return g.pinned.get(name, {})


def focus(s):
    s.click(s.standing("the pin", lambda g: g.pins["conv"]))
    s.wait("focus", lambda g: pin(g)["focus"] == "1", 5)


def body(t):
    with Studio("pins") as s:
        path = s.open("pinned.xml", GRAPH)
        g = t.holds(s, lambda g: "conv" in g.cards and "conv" in g.pins and g.number("faults") == 0
                    and pin(g)["kind"] == "montage" and pin(g)["caption"] == "conv",
                    "the pin stands empty under its card")

        s.press("Step")
        g = s.wait("one batch", lambda g: g.state["run"] == "paused" and pin(g).get("step") == "1"
                   and "sample 1 of" in pin(g)["caption"] and "step 1" in pin(g)["caption"], 10)
        t.ok(True, "the caption: " + pin(g)["caption"])

        focus(s)
        s.key("Right")
        g = s.wait("another sample", lambda g: "sample 2 of" in pin(g)["caption"] and pin(g)["step"] == "1", 5)
        t.ok(True, "Right shows the next sample, also while the run stands")
        s.key("2")
        g = s.wait("the second kind", lambda g: pin(g)["kind"] == "heatmap" and "channel 1 of 4" in pin(g)["caption"]
                   and pin(g)["step"] == "1", 5)
        s.key("Right")
        g = s.wait("channel", lambda g: "channel 2 of 4 · sample 2" in pin(g)["caption"], 5)
        t.ok(True, "a digit changes the kind; arrows choose channel and sample: " + pin(g)["caption"])
        s.key("Down")
        g = s.wait("sample", lambda g: "channel 2 of 4 · sample 3" in pin(g)["caption"], 5)

        s.move(g.canvas[0] + 4, g.canvas[1] + g.canvas[3] - 4)
        s.wait("no cell", lambda g: pin(g)["cell"] == "-", 5)
        s.key("shift+Right")
        s.key("shift+Down")
        g = s.wait("a cell", lambda g: re.search(r"row 2, column 1:.*conv\[2, 1, 1, 0\]", pin(g)["cell"]), 5)
        t.ok(True, "the cell under the cursor says where it comes from: " + pin(g)["cell"])
        s.move(*studio.middle(s.standing("the pin", lambda g: g.pins["conv"])))
        g = s.wait("hovered", lambda g: re.search("row \\d+, column \\d+: .*conv\\[2, 1,", pin(g)["cell"])
                   and "row 2, column 1:" not in pin(g)["cell"], 5)
        t.ok(True, "so does the cell under the pointer: " + pin(g)["cell"])

        for suffix in ("svg", "png", "csv"):
            s.key("shift+F10")
            s.wait("menu", lambda g: g.has("Save as"), 5)
            s.press_one("Save as")
            s.wait("suffixes", lambda g: g.find(suffix.upper()), 5)
            s.press_one(suffix.upper())
            s.wait("file", lambda g, suffix=suffix: [n for n in os.listdir(s.folder) if n.endswith("." + suffix)
                                                     and os.path.getsize(os.path.join(s.folder, n)) > 100], 5)
        t.ok(True, "saved: %s" % sorted(n for n in os.listdir(s.folder) if "conv" in n))

        before = s.look().pins["conv"]
        s.key("Return")
        g = s.wait("enlarged", lambda g: g.pins["conv"][2] > 2 * before[2] and pin(g)["focus"] == "1", 5)
        t.ok(True, "Enter fills the canvas")
        s.key("Escape")
        s.wait("small", lambda g: g.pins["conv"][2] < 1.5 * before[2], 5)
        before = s.standing("the pin", lambda g: g.pins["conv"])
        corner = before[0] + before[2] - 5, before[1] + before[3] - 5
        s.drag(corner, (corner[0] + 60, corner[1] + 40))
        g = s.wait("larger", lambda g: g.pins["conv"][2] > before[2] + 30, 5)
        t.ok(True, "its corner is dragged to size")

        focus(s)
        s.key("shift+F10")
        s.wait("menu", lambda g: g.has("Dock at the Side"), 5)
        s.press_one("Dock at the Side")
        g = s.wait("docked", lambda g: g.pins.get("conv", (0,))[0] >= g.right(), 5)
        t.ok(True, "the menu docks it at the side")

        s.key("ctrl+s")
        s.wait("saved", lambda g: 'look:index="2,1,' in open(path, encoding="utf-8").read(), 5)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        t.ok('xmlns:look="urn:gradloom:look"' in text and 'look:docked="true"' in text and 'kind="heatmap"' in text,
             "and the file says all of it")

        focus(s)
        s.key("Delete")
        s.wait("closed", lambda g: not g.pinned and "conv" in g.cards, 5)
        s.key("ctrl+z")
        s.wait("back", lambda g: pin(g).get("kind") == "heatmap", 5)
        t.ok(True, "Delete closes the pin, not its card; undo brings it back")


if __name__ == "__main__":
    sys.exit(Report().run(body))
