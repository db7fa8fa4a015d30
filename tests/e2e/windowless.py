"""A run that goes on without its window: closed, found again and attached, with its curve whole and the bits of a run that
was never left; also when Studio or the worker is killed."""
import json
import os
import shutil
import signal
import subprocess
import sys

import studio
from closing import GRAPH, answer, begin, close, edit, ended, question, train, wait_dead
from studio import Report, Studio
from trouble import alive

GRADLOOM = os.path.join(studio.BUILD, "app", "gradloom")
GO_ON = "Go On Without the Window"
WITHOUT = "This graph is training without a window."
MANY = 20000000  # epochs, of runs that do not end before the script does, however slow it is
PIDS = []


def write(s, name, epochs):
    path = os.path.join(s.folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(GRAPH.replace('epochs="200000"', 'epochs="%d" seed="3"' % epochs))
    return path


def events(folder):
    """The steps in the run's log, as far as they are written."""
    with open(os.path.join(folder, "events.jsonl"), encoding="utf-8") as f:
        lines = f.read().split("\n")[:-1]
    return [e["step"] for e in map(json.loads, lines) if e["event"] == "step"]


def two_events(s, folder):
    """The same, once there are two; a long run does not log every step."""
    s.wait("two steps in the log", lambda g: len(events(folder)) > 1, 5)
    return events(folder)


def leave(s):
    PIDS.append(s.look().state["pid"])
    close(s)
    answer(s, question(s, "Stop the run and close?"), GO_ON)
    return ended(s)


def attach(s, path):
    begin(s, [path])
    s.wait("offer", lambda g: g.has(WITHOUT) and g.find("Attach"), 5)
    s.press("Attach")
    return s.wait("attached", lambda g: g.state["run"] == "training" and g.number("points") > 0, 5)


def stop_and_close(s, pid):
    close(s)
    answer(s, question(s, "Stop the run and close?"), "Stop and Close")
    return ended(s) and wait_dead(pid)


def attached(t, s):
    path = write(s, "graph.xml", MANY)
    begin(s, [path])
    before = train(s)
    pid = before.state["pid"]
    t.ok(leave(s) and alive(pid) and not s.complaints(), "a run goes on after its window is closed")
    live = os.path.join(s.folder, "home", "state", "gradloom", "live")
    sockets = [name for name in os.listdir(live) if name.endswith(".socket")]
    t.ok(len(sockets) == 1 and os.stat(os.path.join(live, sockets[0])).st_mode & 0o777 == 0o600
         and os.stat(live).st_mode & 0o777 == 0o700, "with a socket for this user only")
    attach(s, path)
    g = t.holds(s, lambda g: g.state["pid"] == pid and g.state["folder"] == before.state["folder"]
                and g.number("step") > before.number("step"), "the next window attaches to the same process")
    steps = two_events(s, g.state["folder"])
    g = t.holds(s, lambda g: g.number("points") >= len(steps) and steps[0] == steps[1] - steps[0]
                and g.number("previous") == 0 and g.number("changes") == 0, "with its curve from the beginning")

    s.key("ctrl+Return")
    g = s.wait("paused", lambda g: g.state["run"] == "paused", 3)
    step = g.number("step")
    s.press("Step")
    g = t.holds(s, lambda g: g.state["run"] == "paused" and g.number("step") == step + 1 and g.state["pid"] == pid,
                "it can be paused, and takes single steps")
    t.ok(leave(s) and alive(pid), "a paused run can be left as well")
    g = attach(s, path)
    s.wait("goes on", lambda g: g.number("step") > step + 1, 3)
    t.ok(True, "and does not wait for a window that is not there")

    copy = write(s, "copy.xml", MANY)
    s.key("ctrl+o")
    s.choose_file(copy, "Open")
    s.wait("offer", lambda g: g.state["tabs"] == "2" and g.find("Attach"), 5)
    s.press("Attach")
    s.wait("refused", lambda g: g.has("The run is shown in another window."), 5)
    t.ok(alive(pid), "a second window is refused in a sentence")
    s.key("ctrl+w")
    s.wait("one tab", lambda g: g.state["tabs"] == "1" and g.state["run"] == "training", 3)

    # It was told that it may go on without a window, so it does.
    os.kill(s.studio_pid(), signal.SIGKILL)
    s.session.wait()
    t.ok(alive(pid), "a Studio that is killed does not end a run that may go on")
    attach(s, path)
    edit(s)
    close(s)
    g = question(s, "Save changes")
    s.press("The run goes on without the window")
    answer(s, g, "Discard")
    t.ok(ended(s) and alive(pid), "with unsaved changes, the same question asks about the run")
    g = attach(s, path)
    folder = g.state["folder"]
    t.ok(stop_and_close(s, pid) and not os.listdir(live), "Stop and Close ends an attached run, and its socket is gone")
    g = begin(s, [path])
    g = t.holds(s, lambda g: g.find("Continue") and g.state["run"] == "stopped" and g.state["folder"] == folder
                and g.number("step") == g.number("checkpoint"), "and it can be continued, as any run that was stopped")


def killed(t, s):
    path = write(s, "killed.xml", MANY + 1)
    begin(s, [path])
    pid = train(s).state["pid"]
    leave(s)
    attach(s, path)
    s.wait("checkpoint", lambda g: g.number("checkpoint") > 0, 40)
    leave(s)
    os.kill(int(pid), signal.SIGKILL)
    wait_dead(pid)
    begin(s, [path])
    g = t.holds(s, lambda g: g.find("Continue") and g.has("ended early") and not g.find("Attach"),
                "a worker that was killed without a window is a run that ended early")


def refused(t, s):
    """The worker cannot make its socket, because a file is in the place of the folder of sockets."""
    path = write(s, "refused.xml", MANY + 2)
    begin(s, [path])
    pid = train(s).state["pid"]
    PIDS.append(pid)
    live = os.path.join(s.folder, "home", "state", "gradloom", "live")
    shutil.rmtree(live, ignore_errors=True)
    with open(live, "w", encoding="utf-8"):
        pass
    close(s)
    answer(s, question(s, "Stop the run and close?"), GO_ON)
    g = question(s, "The run cannot go on without the window")
    t.ok(g.has("gradloom/live"), "a run that cannot go on without its window says why")
    answer(s, g, "Cancel")
    g = t.holds(s, lambda g: g.state["run"] == "training" and g.state["pid"] == pid and alive(pid),
                "and it trains on in its window")
    os.remove(live)
    t.ok(leave(s) and alive(pid), "which can be closed once the obstacle is gone")
    attach(s, path)
    t.ok(stop_and_close(s, pid), "and shows it again")


def whole(t, s):
    """Left after its first step, and over before the next window."""
    path = write(s, "short.xml", 40)
    begin(s, [path])
    s.press("Step")
    g = s.wait("one batch", lambda g: g.state["run"] == "paused" and g.number("step") == 1, 10)
    pid, folder = g.state["pid"], g.state["folder"]
    leave(s)
    t.ok(wait_dead(pid, 20), "a run without a window ends with its last step")
    g = begin(s, [path])
    last = events(folder)[-1]
    t.ok(events(folder) == list(range(1, last + 1)), "whose log is whole")
    t.holds(s, lambda g: g.state["run"] == "done" and g.number("points") == last == g.number("step"),
            "and the next window shows its whole curve")
    undisturbed = os.path.join(s.folder, "undisturbed")
    subprocess.run([GRADLOOM, "train", path, "--out", undisturbed], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, env=dict(s.env, LD_PRELOAD=""))
    weights = []
    for run in (folder, undisturbed):
        with open(os.path.join(run, "weights.safetensors"), "rb") as f:
            weights.append(f.read())
    t.ok(weights[0] == weights[1], "with the bits of a run that was never left")


def body(t):
    with Studio("windowless") as s:
        try:
            for part in (attached, killed, refused, whole):
                part(t, s)
        finally:
            # Of a part that has failed.
            for pid in filter(alive, PIDS):
                os.kill(int(pid), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(Report().run(body))
