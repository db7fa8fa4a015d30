"""The lecturer's minute: the projector, the mouse left alone."""
import os
import signal
import sys
import time

import studio
from studio import Report, Studio

# Steps of the lesson's run, and the seconds that it takes at least.
STEPS, SECONDS = 1512, 30


def body(t):
    with Studio("lecturer") as s:
        path = s.open("self-attention.xml", studio.lesson("self-attention"))
        with open(path, "rb") as f:
            text = f.read()
        g = t.holds(s, lambda g: "attention" in g.cards and g.state["map_step"] == "-1" and g.number("faults") == 0,
                    "the graph stands there with an empty map")

        s.key("F11")
        g = t.holds(s, lambda g: g.state["presenting"] == "1" and not g.find("Train") and g.has("learning rate"),
                    "panes are gone, keys are shown")

        walked = [g.state["selected"]]
        for _ in range(3):
            s.key("Right")
            walked.append(s.wait("a step", lambda g: g.state["selected"] != walked[-1], 2).state["selected"])
        t.ok(walked[1:] == ["data", "q", "k"], "Right walks in the order of the computation: " + ", ".join(walked))
        t.holds(s, lambda g: g.has("k = data.x · wk"), "and says what is computed by the names on the canvas")

        def is_free(g):
            caption = g.find("×", kind="Label", exact=False)[0]
            keys = g.find("learning rate", kind="Label", exact=False)[0]
            return all(c[1] > caption[1] + caption[3] and c[1] + c[3] < keys[1] for c in g.cards.values())
        t.holds(s, is_free, "the caption has formula and shape, and neither it nor the keys lie over a card")

        s.key("space")
        g = t.holds(s, lambda g: g.state["run"] == "paused" and g.number("map_step") == 1 and g.number("step") == 1
                    and g.number("map_high") < 0.6, "one batch; the map is near uniform")

        begin = time.monotonic()
        s.key("ctrl+Return")
        g = s.wait("map moves", lambda g: g.number("map_step") > 5, 2)
        seen = set()
        g = s.wait("five pictures", lambda g: seen.add(g.state["map_step"]) or len(seen) >= 5, 2)
        t.ok(True, "the map follows: %d pictures" % len(seen))
        most = 10 + 1.1 * (time.monotonic() - begin) * STEPS / SECONDS
        t.ok(g.number("step") < most, "a short run is stretched, so that it still trains while one speaks: step %s, of at most %.0f"
             % (g.state["step"], most))
        s.key("Escape")
        s.wait("window", lambda g: g.state["presenting"] == "0", 1)
        with open(path, "rb") as f:
            t.ok(f.read() == text, "the file is byte-equal")

        path = s.open("endless.xml", studio.lesson("self-attention", endless=True))
        with open(path, "rb") as f:
            text = f.read()
        s.wait("graph", lambda g: "attention" in g.cards, 1)
        s.key("F11")
        s.wait("presentation", lambda g: g.state["presenting"] == "1", 1)
        s.key("ctrl+Return")
        s.wait("map moves", lambda g: g.state["run"] == "training" and g.number("map_step") > 5, 2)
        s.key("l")
        s.wait("the field", lambda g: "Text" in g.state["focus"], 2)
        s.type("0.01")
        s.key("Return")
        g = s.wait("mark", lambda g: g.number("marks") == 1, 1)
        t.ok(True, "the new learning rate is marked on the curve")

        s.key("space")
        # Studio measures itself how long the worker took to pause; on a machine that others use the time proves nothing.
        t.holds(s, lambda g: g.state["run"] == "paused" and g.number("pause_ms") >= 0, "a pause takes hold")
        g = s.wait("frozen", lambda g: g.state["map_step"] == g.state["step"], 1)
        frozen = g.state["map_step"]
        t.ok(s.look().state["map_step"] == frozen, "the picture freezes on step " + frozen)

        s.wait("checkpoint", lambda g: g.number("checkpoint") >= 0, 2)
        os.kill(int(g.state["pid"]), signal.SIGKILL)
        g = t.holds(s, lambda g: g.state["run"] == "ended" and "attention" in g.cards
                    and g.state["map_step"] == frozen, "canvas and last map stay")
        g = s.wait("bar", lambda g: g.has("signal 9") and g.find("Continue") and "Button" in g.state["focus"], 1)
        t.ok(True, "one sentence, and Continue, which Enter presses")

        s.key("Return")
        g = s.wait("continued", lambda g: g.state["run"] == "training" and g.number("step") > float(frozen), 3)
        t.ok(True, "Enter goes on from the checkpoint")
        s.key("space")
        s.wait("pause", lambda g: g.state["run"] == "paused", 1)

        s.key("ctrl+shift+e")
        def pictures():
            return [n for n in os.listdir(s.folder) if n.endswith(".svg")]

        s.wait("picture", lambda g: pictures(), 5)
        t.ok(True, "the map is saved: %s" % pictures())
        s.key("Escape")
        s.wait("window", lambda g: g.state["presenting"] == "0", 1)
        with open(path, "rb") as f:
            t.ok(f.read() == text, "the file is byte-equal")


if __name__ == "__main__":
    sys.exit(Report().run(body))
