"""Health: a rate of 50 kills the units of a net with ReLUs; the sentence says since when, and one click goes back."""
import os
import shutil
import struct
import sys
import zlib

from studio import Report, Studio

NET = """<graph xmlns="urn:gradloom:graph" version="1">
<node id="data" op="dataset" source="spirals" n="600"/>
<node id="hidden" op="linear" out_features="32"/><node id="act" op="relu"/>
<node id="scores" op="linear" out_features="2"/><node id="loss" op="cross_entropy"/>
<wire from="data.x" to="hidden"/><wire from="hidden" to="act"/><wire from="act" to="scores"/>
<wire from="scores" to="loss.input"/><wire from="data.y" to="loss.target"/>
<train loss="loss" optimizer="sgd" lr="0.1" batch_size="64" epochs="200000" seed="3" device="cpu"/>
</graph>
"""


FOLDER = """<graph xmlns="urn:gradloom:graph" version="1">
<node id="data" op="dataset" source="image-folder" path="pictures" size="8" keep="files"/>
<node id="flat" op="flatten"/><node id="scores" op="linear" out_features="2"/><node id="loss" op="cross_entropy"/>
<wire from="data.x" to="flat"/><wire from="flat" to="scores"/>
<wire from="scores" to="loss.input"/><wire from="data.y" to="loss.target"/>
<train loss="loss" optimizer="sgd" lr="0.1" batch_size="4" epochs="200000" seed="3" device="cpu"/>
</graph>
"""


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write_pictures(folder):
    for i in range(32):
        os.makedirs(os.path.join(folder, "ab"[i % 2]), exist_ok=True)
        rows = b"".join(b"\0" + bytes([i * 8 % 256] * 8) for _ in range(8))
        with open(os.path.join(folder, "ab"[i % 2], "%d.png" % i), "wb") as f:
            f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0))
                    + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def unreadable(t, s):
    """The pictures are gone when health reads its samples; once they are back, it is measured."""
    pictures = os.path.join(s.folder, "pictures")
    write_pictures(pictures)
    s.open("folder.xml", FOLDER)
    s.wait("graph", lambda g: len(g.cards) == 4 and g.number("faults") == 0, 5)
    s.key("ctrl+Return")
    s.wait("trains", lambda g: g.state["run"] == "training" and g.number("step") > 5, 10)
    s.key("ctrl+Return")
    s.wait("paused", lambda g: g.state["run"] == "paused", 5)
    shutil.move(pictures, pictures + "-gone")
    s.key("F7")
    g = s.wait("a sentence", lambda g: "Health is not measured: " in g.state["complaint"]
               and "pictures" in g.state["complaint"] and "off and on" in g.state["complaint"]
               and g.has(g.state["complaint"]), 10)
    t.ok(True, "a failure has a sentence with its place and a remedy: " + g.state["complaint"])
    shutil.move(pictures + "-gone", pictures)
    s.key("F7")
    s.wait("off", lambda g: g.state["complaint"] == "-", 3)
    s.key("F7")
    g = t.holds(s, lambda g: g.number("reports") > 0 and "not measured" not in g.state["complaint"],
                "once the files are back, health is measured", 10)


def rate(s, value):
    """By the command of the projector, which asks for a number anywhere."""
    s.key("ctrl+shift+r")
    s.wait("the rate is asked for", lambda g: g.typing() is not None, 3)
    s.key("ctrl+a")
    s.type(value)
    s.key("Return")


def off(t, s):
    """Nothing is asked for while the mode is off."""
    s.key("ctrl+Return")
    g = t.holds(s, lambda g: g.state["run"] == "training" and g.number("step") > 200 and g.number("checkpoint") > 0
                and g.number("reports") == 0, "the worker of a run without observers reports no health", 10)


def on(t, s):
    s.key("F7")
    g = t.holds(s, lambda g: g.number("reports") >= 2 and g.state["sick"] == "-"
                and not g.find("Go Back", exact=False), "F7 shows health; the net is well", 10)


def sick(t, s):
    # At a pause the step at which the rate changes is the one that Studio shows.
    s.key("ctrl+Return")
    s.wait("paused", lambda g: g.state["run"] == "paused", 5)
    rate(s, "50")
    s.key("ctrl+Return")
    g = s.wait("sick", lambda g: g.state["sick"] == "act" and "the rate became 50" in g.state["complaint"]
               and "of 32 units are dead since the rate became 50." in g.state["complaint"], 20)
    t.ok(True, "the sentence: " + g.state["complaint"])
    g = t.holds(s, lambda g: g.has(g.state["complaint"]), "and it stands in the status line")
    g = t.holds(s, lambda g: 0 < g.number("back") <= g.number("step"), "there is a checkpoint of before")
    return g


def nowhere(t, s, g):
    """Without a checkpoint of before, the sentence says what to do instead."""
    checkpoints = os.path.join(g.state["folder"], "checkpoints")
    aside = checkpoints + "-aside"
    os.mkdir(aside)
    for name in os.listdir(checkpoints):
        if name.isdigit() and int(name) <= g.number("back"):
            os.rename(os.path.join(checkpoints, name), os.path.join(aside, name))
    g = s.wait("no way back", lambda g: "lower the rate and restart" in g.state["complaint"]
               and not g.find("Go Back", exact=False), 10)
    t.ok(True, "no checkpoint, no button: " + g.state["complaint"])
    for name in os.listdir(aside):
        os.rename(os.path.join(aside, name), os.path.join(checkpoints, name))
    return s.wait("a way back", lambda g: g.number("back") > 0, 10)


def back(t, s, g):
    step = g.number("back")
    s.press("Go Back to Step ", exact=False)
    g = t.holds(s, lambda g: g.state["run"] == "training" and g.state["sick"] == "-" and g.number("reports") > 0
                and g.number("step") > step and not g.find("Go Back", exact=False),
                "one click goes back to before, and the net is well", 20)
    g = t.holds(s, lambda g: g.state["folder"] != "-" and g.number("changes") == 0, "it is the same run")
    s.key("F7")
    g = s.wait("off", lambda g: g.number("reports") >= 0, 3)
    n = g.number("reports")
    at = g.number("step")
    g = t.holds(s, lambda g: g.number("step") > at + 500 and g.number("reports") <= n + 1,
                "switched off, it asks no more", 20)


def body(t):
    with Studio("health") as s:
        s.open("relu.xml", NET)
        s.wait("graph", lambda g: len(g.cards) == 5, 5)
        off(t, s)
        on(t, s)
        back(t, s, nowhere(t, s, sick(t, s)))
        unreadable(t, s)


if __name__ == "__main__":
    sys.exit(Report().run(body))
