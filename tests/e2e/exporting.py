"""The export dialog by keys and pointer: pictures, a report, an existing file, a folder that cannot be written, and a cancel."""
import os
import stat
import sys

from studio import Report, Studio

NET = """<graph xmlns="urn:gradloom:graph" version="1" name="exported">
<node id="data" op="dataset" source="spirals" n="640"/>
<node id="hidden" op="linear" out_features="16"/><node id="act" op="tanh"/>
<node id="scores" op="linear" out_features="2"/><node id="loss" op="cross_entropy"/>
<wire from="data.x" to="hidden"/><wire from="hidden" to="act"/><wire from="act" to="scores"/>
<wire from="scores" to="loss.input"/><wire from="data.y" to="loss.target"/>
<train loss="loss" optimizer="adam" lr="0.01" batch_size="64" epochs="3" seed="3" device="cpu"/>
<view><pin tensor="hidden.weight" kind="heatmap" width="112" height="112"/></view>
</graph>
"""

# An export that reports half of its work, writes half of a file, and goes on until it is told to end.
SLOW = """#!/bin/sh
if [ "$1" = export ]; then
  echo '{"event":"progress","done":0.5}'
  while [ "$1" != -o ]; do shift; done
  echo half > "$2"
  exec sleep 600
fi
exec %s "$@"
"""


def dialog(s):
    s.key("ctrl+shift+o")
    return s.wait("the dialog", lambda g: g.dialog("Format"), 5)


def choose(s, old, new):
    """Another entry of a list by its present one."""
    s.press(old, kind="GtkLabel")
    s.wait("the list", lambda g: g.find(new, kind="GtkLabel"), 4, quiet=True)
    s.press(new, kind="GtkLabel")
    s.wait(new, lambda g: g.find(new) and not g.popover(), 4)


def export(s):
    """The button at the right of the title, which has the same word."""
    s.press("Export", x0=350)


def gone(s):
    return s.wait("the dialog's end", lambda g: g.canvas is not None, 20)


def png_size(path):
    with open(path, "rb") as f:
        head = f.read(24)
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


def files(s):
    return sorted(n for n in os.listdir(s.folder) if "net" in n or "gradloom-export" in n)


def pictures(t, s):
    dialog(s)
    t.holds(s, lambda g: g.find("SVG Picture"), "the first format is a picture")
    export(s)
    gone(s)
    path = os.path.join(s.folder, "net.svg")
    t.ok(open(path, "rb").read().startswith(b"<?xml"), "a picture is written next to the graph")
    before = os.stat(path).st_mtime_ns
    dialog(s)
    export(s)
    s.wait("the question", lambda g: g.dialog("Replace"), 5)
    s.key("Escape")
    s.wait("the dialog again", lambda g: g.dialog("Format"), 5)
    t.ok(os.stat(path).st_mtime_ns == before, "an existing file is asked about, and kept")
    export(s)
    s.wait("the question again", lambda g: g.dialog("Replace"), 5)
    s.press("Replace")
    gone(s)
    t.ok(os.stat(path).st_mtime_ns != before, "or replaced")


def selection(t, s):
    dialog(s)
    choose(s, "SVG Picture", "PNG Picture")
    export(s)
    gone(s)
    path = os.path.join(s.folder, "net.png")
    whole = png_size(path)
    s.select("act")
    dialog(s)
    s.wait("the selection", lambda g: g.find("Selection"), 4)
    os.remove(path)
    export(s)
    gone(s)
    part = png_size(path)
    t.ok(part[0] < whole[0] and part[1] < whole[1], "a selection makes a smaller picture: %s of %s" % (part, whole))


def faults(t, s):
    dialog(s)
    choose(s, "PNG Picture", "Report of the Run")
    g = t.holds(s, lambda g: g.has("Train the graph first") and g.find("HTML"),
                "a report is HTML or PDF, and needs a run")
    s.key("Escape")
    gone(s)
    dialog(s)
    choose(s, "Report of the Run", "SVG Picture")
    s.fill("the name", lambda g: (g.find(os.path.join(s.folder, "net.svg")) or [None])[0], "/proc/net.svg")
    s.key("Return")
    g = t.holds(s, lambda g: g.has("cannot be written") and g.find("Choose another folder.", exact=False),
                "a folder that cannot be written has one sentence")
    s.key("Escape")
    gone(s)


def report(t, s):
    s.press("Train")
    s.wait("done", lambda g: g.state["run"] == "done", 20)
    dialog(s)
    choose(s, "SVG Picture", "Report of the Run")
    export(s)
    gone(s)
    with open(os.path.join(s.folder, "net.html"), encoding="utf-8") as f:
        text = f.read()
    t.ok("<h2>Predictions</h2>" in text and "Confusion matrix" in text, "the run has a report")
    dialog(s)
    choose(s, "Report of the Run", "SVG Picture")
    os.remove(os.path.join(s.folder, "net.svg"))
    t.holds(s, lambda g: g.find("Pins With Their Values"), "pins can be in the picture")
    export(s)
    gone(s)
    t.ok(os.path.getsize(os.path.join(s.folder, "net.svg")) > 1000, "with their values")


def cancel(t, s):
    dialog(s)
    choose(s, "SVG Picture", "Report of the Run")
    before = files(s)
    s.fill("the name", lambda g: (g.find(os.path.join(s.folder, "net.html")) or [None])[0],
           os.path.join(s.folder, "net-2.html"))
    s.key("Return")
    s.wait("the program's half", lambda g: len(files(s)) > len(before), 10)
    s.key("Escape")
    g = s.wait("the end", lambda g: g.find("Cancelled. No file was written."), 5)
    s.wait("a clean folder", lambda g: files(s) == before, 10)
    t.ok(g.dialog("Format"), "a cancelled export leaves nothing and the form stays")
    s.key("Escape")
    gone(s)


def body(t):
    with Studio("exporting") as s:
        s.open("net.xml", NET)
        s.wait("graph", lambda g: len(g.cards) == 5 and g.number("faults") == 0, 5)
        pictures(t, s)
        selection(t, s)
        faults(t, s)
        report(t, s)
    with Studio("exporting") as s:
        slow = os.path.join(s.folder, "slow")
        with open(slow, "w") as f:
            f.write(SLOW % os.path.join(os.environ["GRADLOOM_BUILD_ROOT"], "app", "gradloom"))
        os.chmod(slow, stat.S_IRWXU)
        s.env["GRADLOOM_WORKER"] = slow
        s.open("net.xml", NET)
        s.wait("graph", lambda g: len(g.cards) == 5 and g.number("faults") == 0, 5)
        s.press("Train")
        s.wait("done", lambda g: g.state["run"] == "done", 20)
        cancel(t, s)


sys.exit(Report().run(body))
