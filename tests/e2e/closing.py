"""The close button, pressed with a pointer: on an empty, a clean, an edited and a training window; and what New and Open
do to a run that goes on. Nothing may be lost without a question, and nothing that cannot be lost may ask one."""
import os
import signal
import subprocess
import sys
import time

import studio
from studio import Report, Studio
from trouble import alive

GRAPH = """<?xml version="1.0" encoding="UTF-8"?>
<graph xmlns="urn:gradloom:graph" version="1" name="Closing">
  <node id="data" op="dataset" source="spirals"/>
  <node id="fc" op="linear" out_features="2"/>
  <node id="act" op="relu"/>
  <node id="loss" op="cross_entropy"/>
  <wire from="data.x" to="fc"/>
  <wire from="fc" to="act"/>
  <wire from="act" to="loss.input"/>
  <wire from="data.y" to="loss.target"/>
  <train loss="loss" optimizer="adam" lr="0.01" epochs="200000"/>
</graph>
"""


def begin(s, arguments=()):
    """A Studio that nothing was asked of yet."""
    s.end()
    s.arguments = list(arguments)
    s.launch()
    return s.wait("window", lambda g: "run" in g.state and (g.cards or not arguments), 2)


def write(s, name="graph.xml"):
    path = os.path.join(s.folder, name)
    with open(path, "w") as f:
        f.write(GRAPH)
    return path


def read(path):
    with open(path) as f:
        return f.read()


def close(s, g=None):
    s.press("Close")


def ended(s, seconds=3):
    try:
        s.session.wait(seconds * studio.PATIENCE)
    except subprocess.TimeoutExpired:
        return False
    return True


def question(s, words):
    """The dialog that asks with these words, once it has its size."""
    s.standing("question “%s”" % words, lambda g: g.find(words, exact=False)[0] if g.dialog() and g.has(words) else None)
    return s.look()


def answer(s, g, button):
    s.press(button)


def edit(s, card="act"):
    s.select(card)
    s.key("Delete")
    return s.wait("edited", lambda g: card not in g.cards and g.has("Edited"), 1)


def train(s):
    s.key("ctrl+Return")
    return s.wait("trains", lambda g: g.state["run"] == "training" and g.number("points") > 5, 3)


def wait_dead(pid, seconds=3):
    deadline = time.monotonic() + seconds * studio.PATIENCE
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not alive(pid)


def empty(t, s):
    begin(s)
    close(s)
    t.ok(ended(s), "the close button of an empty window closes it at the first click")


def clean(t, s):
    path = write(s)
    begin(s, [path])
    close(s)
    t.ok(ended(s) and read(path) == GRAPH, "so does that of a graph that is as in its file")


def edited(t, s):
    path = write(s)
    begin(s, [path])
    close(s, edit(s))
    g = question(s, "Save changes to “Closing”?")
    t.ok(all(g.find(b) for b in ("Cancel", "Discard", "Save")), "an edited window asks: Cancel, Discard, Save")
    answer(s, g, "Cancel")
    g = s.wait("still there", lambda g: len(g.cards) == 3 and g.has("Edited"), 1)
    close(s, g)
    question(s, "Save changes")
    s.key("ctrl+q", "Escape")
    g = s.wait("still there", lambda g: len(g.cards) == 3 and g.has("Edited"), 1)
    t.ok(True, "Cancel and Escape keep the window as it was")
    close(s, g)
    answer(s, question(s, "Save changes"), "Discard")
    t.ok(ended(s) and read(path) == GRAPH, "Discard closes and leaves the file alone")
    g = begin(s)
    t.ok(not g.find("Recover"), "what was discarded is not offered again")

    begin(s, [path])
    close(s, edit(s))
    answer(s, question(s, "Save changes"), "Save")
    t.ok(ended(s) and 'id="act"' not in read(path) and 'id="fc"' in read(path), "Save saves and closes")


def cancelled_then_killed(t, s):
    """Whatever was answered before, the journal is kept until the window goes."""
    path = write(s)
    begin(s, [path])
    close(s)
    if not ended(s):
        t.ok(False, "a clean window closes")
    begin(s, [path])
    close(s, edit(s))
    answer(s, question(s, "Save changes"), "Cancel")
    s.wait("back", lambda g: g.state, 1)
    edit(s, "fc")
    os.kill(s.studio_pid(), signal.SIGKILL)
    s.session.wait()
    s.arguments = []
    s.launch()
    g = s.wait("offer", lambda g: g.find("Recover"), 2)
    s.press("Recover")
    s.wait("recovered", lambda g: len(g.cards) == 2, 2)
    t.ok(True, "a Studio that is killed after a question was cancelled offers all that was edited")


def several(t, s):
    """Two Studios that were killed: what both had not saved is offered, one after the other."""
    for name in ("first.xml", "second.xml"):
        begin(s, [write(s, name)])
        edit(s)
        os.kill(s.studio_pid(), signal.SIGKILL)
        s.session.wait()
    s.arguments = []
    s.launch()
    g = s.wait("offer", lambda g: g.has("change to second.xml was saved") or g.has("changes to second.xml were saved"), 2)
    s.press("Discard")
    g = s.wait("next", lambda g: g.has("to first.xml") and g.find("Recover"), 2)
    s.press("Recover")
    s.wait("recovered", lambda g: len(g.cards) == 3 and not g.has("to first.xml"), 2)
    t.ok(True, "what is discarded gives way to the next that was not saved")


def training(t, s):
    path = write(s)
    begin(s, [path])
    g = train(s)
    pid, folder = g.state["pid"], g.state["folder"]
    close(s, g)
    g = question(s, "Stop the run and close?")
    t.ok(g.has("“Closing” is training, at step") and g.has("write a checkpoint"), "a training window says what will be")
    answer(s, g, "Cancel")
    g = s.wait("goes on", lambda g: g.state.get("run") == "training", 1)
    step = g.number("step")
    s.wait("goes on", lambda g: g.number("step") > step, 2)
    t.ok(alive(pid), "Cancel keeps the run going")
    close(s, edit(s))
    answer(s, question(s, "Save changes"), "Cancel")
    s.wait("back", lambda g: g.state, 1)
    t.ok(alive(pid), "edited after that it asks about the changes, and closes nothing")
    s.key("ctrl+z")
    g = s.wait("undone", lambda g: len(g.cards) == 4 and not g.has("Edited"), 1)
    close(s, g)
    answer(s, question(s, "Stop the run"), "Stop and Close")
    t.ok(ended(s) and wait_dead(pid), "Stop and Close ends both")
    t.ok(os.listdir(os.path.join(folder, "checkpoints")), "and the run has written a checkpoint")
    g = begin(s, [path])
    s.wait("offer", lambda g: g.find("Continue"), 2)
    t.ok(True, "which the next start offers to continue with")

    g = train(s)
    pid = g.state["pid"]
    g = edit(s)
    close(s, g)
    g = question(s, "Save changes")
    t.ok(g.has("The run will finish its step and write a checkpoint"), "edited and training, one question speaks of both")
    answer(s, g, "Discard")
    t.ok(ended(s) and wait_dead(pid), "and one answer closes")


def hung(t, s):
    """A worker that never ends its step keeps Studio for some seconds, and then as long as somebody wants to wait."""
    path = write(s)
    begin(s, [path])
    g = train(s)
    pid = g.state["pid"]
    s.halt(pid)
    close(s, g)
    answer(s, question(s, "Stop the run and close?"), "Stop and Close")
    t.ok(s.session.poll() is None and alive(pid), "a worker that hangs is waited for")
    g = question(s, "The run has not ended yet")
    t.ok(g.find("Wait") and g.find("Force Quit"), "and after some seconds Studio asks how much longer")
    s.press("Force Quit")
    t.ok(ended(s) and wait_dead(pid), "Force Quit ends both")


def room(t, s):
    """New and Open during a run: the run continues, and they get tabs of their own."""
    path = write(s)
    begin(s, [path])
    g = train(s)
    pid, step = g.state["pid"], g.number("step")
    s.press("New graph (Ctrl+N)")
    s.wait("second tab", lambda g: g.has("Start with data") and g.state["tabs"] == "2", 2)
    t.ok(alive(pid), "a new graph opens in another tab, and the run continues")
    other = write(s, "other.xml")
    s.key("ctrl+o")
    s.choose_file(other, "Open")
    g = t.holds(s, lambda g: len(g.cards) == 4 and g.state["run"] != "training" and alive(pid)
                and g.state["tabs"] == "2", "Open takes the place of the graph that nothing was done in")
    s.key("alt+1")
    g = s.wait("first tab", lambda g: g.state.get("run") == "training" and g.number("step") > step, 2)
    s.key("ctrl+w")
    g = question(s, "Stop the run and close?")
    answer(s, g, "Stop and Close")
    g = s.wait("closed", lambda g: g.state.get("tabs") == "1", 2)
    t.ok(wait_dead(pid), "closing the tab of a run asks, and ends the run when told so")
    g = edit(s)
    s.key("ctrl+t")
    s.wait("new tab", lambda g: g.has("Start with data") and g.state["tabs"] == "2", 2)
    s.key("Return", "ctrl+Next")
    close(s, s.wait("edited tab", lambda g: len(g.cards) == 3, 2))
    answer(s, question(s, "Save changes to “Closing”?"), "Discard")
    t.ok(ended(s), "closing a window asks about the one tab that was edited")


def body(t):
    with Studio("closing") as s:
        for part in (empty, clean, edited, cancelled_then_killed, several, training, hung, room):
            part(t, s)


if __name__ == "__main__":
    sys.exit(Report().run(body))
