"""Masks: the samples of the data with their target masks, those with the most mistakes with both masks, and the classes."""
import sys

from evaluate import evaluated, train, view, words
from studio import Report, Studio

GRAPH = """<graph xmlns="urn:gradloom:graph" version="1">
<node id="data" op="dataset" source="shapes" target_type="mask" size="16" shapes="2" n="256" n_test="32" flip="0.5"/>
<node id="conv" op="conv2d" out_channels="8" kernel_size="3" padding="1"/><node id="act" op="relu"/>
<node id="classes" op="conv2d" out_channels="4" kernel_size="3" padding="1"/><node id="loss" op="cross_entropy"/>
<wire from="data.x" to="conv"/><wire from="conv" to="act"/><wire from="act" to="classes"/>
<wire from="classes" to="loss.input"/><wire from="data.y" to="loss.target"/>
<train loss="loss" optimizer="adam" lr="0.01" batch_size="16" epochs="200000" seed="3" device="cpu">
<metric type="mean_iou" input="classes" target="data.y"/></train>
</graph>
"""
MAP = "images with a class at each pixel"


def body(t):
    with Studio("masks") as s:
        s.open("masks.xml", GRAPH)
        s.wait("graph", lambda g: len(g.cards) == 5 and g.number("faults") == 0, 8)
        train(s, 20)
        s.key("ctrl+e")
        s.wait("evaluated", evaluated, 20)
        view(s, "Samples of the Data", "data")
        g = s.wait("samples with their masks", lambda g: MAP in words(g, "StudioTaskView"), 8)
        t.ok("accuracy" not in words(g, "StudioTaskView"), "the data have target masks alone: " + words(g, "StudioTaskView"))
        view(s, "Mistakes", "mistakes")
        g = s.wait("predicted masks", lambda g: MAP in words(g, "StudioTaskView") and "accuracy on shown samples" in words(g, "StudioTaskView"), 12)
        t.ok(True, "the samples with the highest loss have predicted masks: " + words(g, "StudioTaskView"))
        first = words(g, "StudioTaskView")

        def turned(g):
            """The list that just closed takes the next click; there are two pages."""
            s.press("Next samples")
            said = words(s.look(), "StudioTaskView")
            return said != first and "accuracy on shown samples" in said

        s.wait("masks of the next page", turned, 12)
        for button in ("Previous samples", "Next samples", "Previous samples"):
            s.press(button)
        t.holds(s, lambda g: words(g, "StudioTaskView") == first, "pages that are turned at once end with the masks of the last", 12)


if __name__ == "__main__":
    sys.exit(Report().run(body))
