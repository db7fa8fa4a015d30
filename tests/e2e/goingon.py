"""A run that does not train now: stopped, lost, left by an earlier Studio, or at work in another
tab. It goes on where the tab says, from where it was, with what had been seen of it."""
import os
import signal
import sys

from closing import answer, begin, close, edit, ended, question, train, write
from studio import Report, Studio
from trouble import LENET


def stop(s):
    s.key("ctrl+shift+period")
    return s.wait("stopped", lambda g: g.state["run"] == "stopped" and g.find("Continue"), 2)


def stopped(t, s, path):
    begin(s, [path])
    train(s)
    stop(s)
    step = t.holds(s, lambda g: g.number("step") == g.number("checkpoint") and g.has("Stopped at step"),
                   "a run that was stopped can go on").number("step")
    s.press("Step")
    g = t.holds(s, lambda g: g.state["run"] == "paused" and g.number("step") == step + 1,
                "Step takes the next batch of it, not the first of another")
    s.press("Resume")
    g = t.holds(s, lambda g: g.state["run"] == "training" and g.number("step") > step + 5
                and g.number("previous") == 0, "and it is the same run still")
    stop(s)


def elsewhere(t, s):
    """On another device than it began on."""
    before = s.look()
    s.press("CPU · ", exact=False)
    s.wait("the list of devices", lambda g: g.popover(), 2)
    s.key("Up", "Up", "Return")  # the last device: the plain loops of ref, or a card; after it comes the popover
    s.wait("chosen", lambda g: not g.find("CPU · ", exact=False), 2)
    s.press("Continue")
    g = t.holds(s, lambda g: g.state["run"] == "training" and g.number("step") > before.number("step")
                and before.state["device"] == "cpu" and g.state["device"] not in ("cpu", "")
                and g.state["folder"] == before.state["folder"],
                "a run that is continued trains on the device that the window shows")
    g = t.holds(s, lambda g: not g.has("earlier version"), "and is no earlier version for that")


def shown(t, s):
    """The run's own graph in a tab next to the one that trains it."""
    edit(s)
    s.wait("older", lambda g: g.has("Training an earlier version"), 2)
    s.press("Show")
    s.press("Open it")
    g = t.holds(s, lambda g: g.has("trained version") and g.has("still training in another tab") and len(g.cards) == 4
                and not g.has("ended early") and not g.find("Continue"),
                "a second tab with the run's graph says that it is the run's, and that it still trains")
    s.key("ctrl+w")
    g = s.wait("first tab", lambda g: len(g.cards) == 3, 2)
    s.key("ctrl+z")
    s.wait("undone", lambda g: len(g.cards) == 4, 2)


def left(t, s, path):
    # The panel's field: the label gives it the focus.
    s.click(s.standing("the label of the rate", lambda g: g.find("Learning rate")[-1]))
    s.key("ctrl+shift+r")
    s.wait("the field", lambda g: g.typing() is not None, 2)
    s.type("0.5")
    s.key("Return")
    g = s.wait("rate", lambda g: g.number("marks") > 0 and g.find("0.5"), 2)
    s.key("ctrl+s")
    s.wait("saved", lambda g: not g.has("Edited"), 2)
    folder = s.look().state["folder"]
    close(s)
    answer(s, question(s, "Stop the run and close?"), "Stop and Close")
    t.ok(ended(s) and s.session.returncode == 0 and not s.complaints(), "Stop and Close ends Studio without a complaint")
    g = begin(s, [path])
    g = t.holds(s, lambda g: g.find("Continue") and g.state["run"] == "stopped" and g.has("was stopped at step")
                and not g.has("ended early"),
                "the next start offers to go on, and does not call what was wanted an end too early")
    # The panel slides in under the offer, and has its fields when it is wide.
    g = t.holds(s, lambda g: g.has("Learning rate of this run") and g.state["folder"] == folder
                and g.number("points") > 10 and g.number("step") == g.number("checkpoint") and g.find("0.5"),
                "with the curve, the figures and the learning rate that it had")
    points = g.number("points")
    s.press("Continue")
    g = t.holds(s, lambda g: g.state["run"] == "training" and g.number("points") > points
                and g.number("step") >= points and g.find("0.5"), "Continue adds to them")


def again(t, s):
    """A run that is lost before its first checkpoint begins again, with any number of clicks."""
    s.end()
    begin(s, [LENET])
    s.key("ctrl+Return")
    g = s.wait("trains", lambda g: g.state["run"] == "training" and g.number("points") > 2, 10)
    os.kill(int(g.state["pid"]), signal.SIGKILL)
    s.click(s.standing("Start Again", lambda g: g.find("Start Again")[0]), 2)
    # The bar stays, insensitive, until a second click is over; a fast run has points before that.
    g = s.wait("trains again", lambda g: g.state["run"] == "training" and g.number("points") > 2
               and not g.find("Start Again"), 10)
    pid, step = g.state["pid"], g.number("step")
    g = t.holds(s, lambda g: g.number("step") > step and g.state["run"] == "training" and g.state["pid"] == pid,
                "a double click on Start Again starts one run")


def body(t):
    with Studio("goingon") as s:
        path = write(s)
        stopped(t, s, path)
        elsewhere(t, s)
        shown(t, s)
        left(t, s, path)
        again(t, s)


if __name__ == "__main__":
    sys.exit(Report().run(body))
