"""A graph that trains on a card: the emulated one, which is called so where the device is named."""
import sys

import studio
from studio import Report, Studio


def body(t):
    with Studio("card") as s:
        s.open("self-attention.xml", studio.lesson("self-attention", endless=True).replace("<train ", '<train device="cuda:0" '))
        # Where the header has no room for both, the device's name stands alone.
        g = s.wait("graph", lambda g: "attention" in g.cards and (g.find("CUDA:0 · emulated") or g.find("CUDA:0")), 2)
        t.ok(True, "the chip names the device, and says where there is room that it is emulated")

        # Opening the list takes the window's focus, and asks for the card's memory: the answer must not close what is open.
        s.press("CUDA:0", exact=False)
        s.wait("the list", lambda g: g.popover(), 3)
        s.key("Home", "Return")
        s.wait("the processor", lambda g: g.find("CPU", exact=False), 3)
        s.key("ctrl+z")
        s.wait("the card again", lambda g: g.find("CUDA:0", exact=False), 3)
        t.ok(True, "the list of devices stays open, and another can be chosen")

        s.key("ctrl+Return")
        s.wait("training", lambda g: g.state["run"] == "training" and g.number("map_step") > 3 and g.has("cuda:0"), 5)
        t.ok(True, "it trains there, and the attention map follows")
        s.press("Pause")
        g = s.wait("pause", lambda g: g.state["run"] == "paused", 2)
        t.ok(g.number("loss") < 2.1 and not s.complaints(), "the loss is a loss, and nothing was complained about")

    with Studio("card-missing") as s:
        s.open("self-attention.xml", studio.lesson("self-attention").replace("<train ", '<train device="cuda:3" '))
        s.wait("graph", lambda g: "attention" in g.cards and g.find("CUDA:3", exact=False), 2)
        s.key("ctrl+Return")
        g = t.holds(s, lambda g: g.state["run"] == "failed" and g.has("There is no device cuda:3")
                    and g.number("points") == 0,
                    "a card that is not there is what the run panel says, and not another device")


if __name__ == "__main__":
    sys.exit(Report().run(body))
