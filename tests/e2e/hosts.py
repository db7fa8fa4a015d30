"""Training on another machine from the window: the host is typed, the curve is live, a connection that is lost is no run that is
lost, and a run that goes on there is found again."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

import studio
from closing import answer, begin, close, ended, question, wait_dead, write
from far import Far, end, workers
from studio import Report, Studio
from timemachine import along
from windowless import events, two_events

GRADLOOM = os.path.join(studio.BUILD, "app", "gradloom")
PICTURES = os.environ.get("GRADLOOM_TEST_PICTURES")
GAUGE = re.compile(r"[\d.,]+ \w*B of [\d.,]+ \w*B$")
LOST = "The connection to box is lost, and the run goes on there."


def picture(s, name):
    if PICTURES:
        s.screenshot(os.path.join(PICTURES, name + ".png"))


def field(g):
    """The field next to its label; its text changes while it is typed."""
    label = g.find("Host")
    return label and next((r for k, n, r in g.widgets if "Text" in k and r[0] > label[0][0] and r[1] < label[0][1] + 30
                           and r[1] + r[3] > label[0][1]), None)


def choose(s, host, ranks=None):
    s.key("ctrl+shift+v")
    s.wait("the popover", lambda g: g.find("Devices of the Next Run"), 5)
    if ranks is not None:
        s.key("Tab")
        s.wait("the field of ranks", lambda g: g.focus is not None and "Text" in g.focus[0], 5)
        s.key("ctrl+a")
        s.type("%d" % ranks)
        s.key("Tab")
        s.wait("the ranks", lambda g: g.find("Rank %d" % (ranks - 1)) and not g.find("Rank %d" % ranks), 20)
    s.fill("the host", field, host)
    picture(s, "popover")
    s.key("Escape")
    return s.wait("closed", lambda g: not g.find("Devices of the Next Run"), 5)


def training(s):
    return s.wait("trains", lambda g: g.state["run"] == "training" and g.number("points") > 5, 20)


def refused(t, s, far, path):
    begin(s, [path])
    s.key("ctrl+shift+v")
    s.wait("the popover", lambda g: g.find("Devices of the Next Run"), 5)
    s.fill("the host", field, "-oProxyCommand=x")
    s.wait("refused", lambda g: g.has("“-oProxyCommand=x” is not a host."), 5)
    t.ok(True, "an option of ssh is no host")
    s.key("Escape")
    s.wait("closed", lambda g: not g.find("Devices of the Next Run") and g.find("trains on this machine.", exact=False), 5)
    s.key("ctrl+shift+v")
    s.wait("kept", lambda g: g.find("Devices of the Next Run") and g.has("“-oProxyCommand=x” is not a host."), 5)
    t.ok(True, "closed with it, the popover says that this machine trains, and it can be corrected")
    s.key("Escape")
    s.wait("closed", lambda g: not g.find("Devices of the Next Run"), 5)
    far.set_down(True)
    choose(s, "box")
    s.key("ctrl+Return")
    g = t.holds(s, lambda g: g.state["run"] == "failed"
                and g.has("box cannot be reached by ssh (ssh: connect to host box port 22: Network is unreachable).")
                and far.runs() == [], "a host that cannot be reached is named, with what to do", 20)
    far.set_down(False)


def device(t, s, far, path):
    """A device that only the host has: its memory is that of the gauge, and ranks are planned without it."""
    far.install("""[ "$2" != devices ] || { '%s' remote devices | sed 's/"ref"/"cuda:0"/'; exit; }""" % GRADLOOM)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    with open(path, "w", encoding="utf-8") as f:
        f.write(text.replace("<train ", '<train device="cuda:0" '))
    begin(s, [path])
    s.key("ctrl+shift+v")
    s.wait("not here", lambda g: g.has("The device “cuda:0” is not on this machine."), 10)
    s.fill("the host", field, "box")
    g = t.holds(s, lambda g: g.find("cuda:0 · ", exact=False) and g.find("Rank 0") and not g.has("is not on"),
                "the devices of a host are those to choose from", 20)
    s.key("Escape")
    g = t.holds(s, lambda g: not g.find("Devices of the Next Run") and any(GAUGE.match(n) for _, n, _ in g.widgets), "and its memory is in the gauge", 20)
    picture(s, "gauge")
    far.install()
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    begin(s, [path])
    choose(s, "box")


def lost(t, s, far, path):
    s.key("ctrl+Return")
    g = training(s)
    folder, there = g.state["folder"], far.runs()
    picture(s, "training")
    t.ok(len(there) == 1 and not os.path.exists(os.path.join(folder, "checkpoints")), "the run is on the host")
    far.set_down(True)
    far.lose()
    g = t.holds(s, lambda g: g.has(LOST) and g.find("Reconnect") and g.state["run"] == "ended" and not g.find("Continue")
                and not g.find("Start Again"), "a connection that is lost says so", 20)
    picture(s, "lost")
    step = g.number("step")
    s.press("Reconnect")
    s.wait("still lost", lambda g: g.state["run"] == "ended" and g.has(far.down), 20)
    t.ok(True, "and as long as the host cannot be reached, that")
    far.set_down(False)
    s.press("Reconnect")
    g = s.wait("reconnected", lambda g: g.state["run"] == "training" and g.number("step") > step, 20)
    steps = two_events(s, folder)
    g = t.holds(s, lambda g: g.number("points") >= len(steps) and steps[0] == steps[1] - steps[0]
                and g.state["folder"] == folder and g.number("previous") == 0,
                "reconnected, the curve is whole, from its first step")
    return folder


def found(t, s, far, path, folder):
    close(s)
    answer(s, question(s, "Stop the run and close?"), "Go On Without the Window")
    t.ok(ended(s), "its window can be closed")
    g = begin(s, [path])
    s.wait("offer", lambda g: g.has("This graph is training on box.") and g.find("Attach"), 5)
    s.key("ctrl+shift+j")
    g = s.wait("listed", lambda g: g.find("· on box", exact=False), 5)
    picture(s, "found")
    t.ok(True, "the next Studio finds it by its graph, and lists it with its host")
    s.key("ctrl+shift+j")
    s.wait("list closed", lambda g: not g.find("· on box", exact=False), 5)
    s.press("Attach")
    training(s)
    steps = events(folder)
    t.holds(s, lambda g: g.number("points") >= len(steps) and g.state["folder"] == folder,
            "and attaches it, with its whole curve")
    s.key("ctrl+Return")
    g = s.wait("paused", lambda g: g.state["run"] == "paused", 5)
    step = g.number("step")
    s.press("Step")
    s.wait("one batch", lambda g: g.state["run"] == "paused" and g.number("step") == step + 1, 5)
    t.ok(True, "it can be paused, and takes single steps")
    s.press("Resume")
    s.wait("goes on", lambda g: g.state["run"] == "training" and g.number("step") > step + 1, 5)
    s.key("ctrl+shift+period")
    s.wait("stopped", lambda g: g.state["run"] == "stopped", 5)
    close(s)
    ended(s)
    g = begin(s, [path])
    g = t.holds(s, lambda g: g.state["run"] == "stopped" and g.has("The run on box was stopped at step")
                and g.state["folder"] == folder and g.number("points") > 5
                and os.path.exists(os.path.join(folder, "weights.safetensors")), "stopped, its curve and its weights are here", 10)


def continued(t, s, far, path, folder):
    """The run that was stopped; then an earlier step of it, and a branch from there."""
    before, runs = s.look(), far.runs()
    step = before.number("step")
    s.press("Continue")
    s.wait("continues", lambda g: g.state["run"] == "training" and g.number("step") > step, 20)
    steps = len(two_events(s, folder))
    t.holds(s, lambda g: g.state["folder"] == folder and far.runs() == runs and g.number("points") >= steps
            and g.number("previous") == 0, "a run that was stopped continues on its host, with its whole curve", 20)
    s.press("Pause")
    s.wait("paused", lambda g: g.state["run"] == "paused", 20)
    chart = s.standing("the chart", lambda g: g.find("loss chart")[0])
    s.drag(along(chart, 0.8), along(chart, 0.4))
    g = s.wait("an earlier step", lambda g: g.find(" is shown", exact=False) and g.find("Continue from Here"), 20)
    newest = lines(folder)[-1]["step"]
    picture(s, "earlier")
    s.press("Continue from Here")
    g = s.wait("a branch", lambda g: g.state["folder"] not in ("-", folder) and g.state["run"] == "training" and g.number("points") > 5, 30)

    def is_branch(_):
        steps = [line["step"] for line in lines(g.state["folder"]) if line["event"] == "branch"]
        return len(far.runs()) == len(runs) + 1 and len(steps) == 1 and 0 < steps[0] < newest
    t.holds(s, is_branch, "an earlier step of it is shown, and a branch from there trains on the host", 20)
    names = [re.sub(r"-\d{8}-\d{6}(-\d+)?$", "", os.path.basename(f)) for f in (folder, g.state["folder"])]
    t.ok(names[0] == names[1], "with the name of its parent: %s, %s" % tuple(names))
    return g.state["folder"]


def lines(folder):
    with open(os.path.join(folder, "events.jsonl"), encoding="utf-8") as f:
        return [json.loads(line) for line in f.read().split("\n")[:-1]]


def size(folder):
    return os.path.getsize(os.path.join(folder, "events.jsonl"))


def listed(t, s, far, path, folder):
    """In the list of runs its curve grows; from the start page it is attached."""
    s.key("ctrl+shift+j")
    s.wait("listed", lambda g: g.find("· on box", exact=False), 5)
    before = size(folder)
    s.wait("grows", lambda g: size(folder) > before, 10)
    picture(s, "listed")
    t.ok(True, "while the list shows a run of a host, its curve here grows")
    s.key("ctrl+shift+j")
    close(s)
    answer(s, question(s, "Stop the run and close?"), "Go On Without the Window")
    ended(s)
    name = os.path.basename(folder)
    begin(s)
    s.wait("on the start page", lambda g: g.find("Attach %s · on box" % name), 5)
    picture(s, "start")
    s.press("Attach %s · on box" % name)
    t.holds(s, lambda g: g.state["run"] == "training" and g.number("points") > 5 and g.state["folder"] == folder and g.cards, "the start page lists it, and one click attaches it with its graph", 20)
    s.key("ctrl+shift+period")
    s.wait("stopped", lambda g: g.state["run"] == "stopped", 5)
    close(s)
    ended(s)
    begin(s, [path])


def killed(t, s, far, path):
    choose(s, "box")
    s.key("ctrl+Return")
    training(s)
    there = far.runs()[-1]
    told = subprocess.run([GRADLOOM, "runs", there, "--json"], stdout=subprocess.PIPE, text=True, check=True).stdout
    t.ok('"training":true' in told, "another run begins there")
    for pid in workers(there):
        os.kill(pid, signal.SIGKILL)
        wait_dead(str(pid))
    g = t.holds(s, lambda g: g.has("was killed") and g.state["run"] == "failed" and not g.find("Reconnect"),
                "a worker that was killed there is no clean stop", 20)


def body(t):
    with tempfile.TemporaryDirectory(prefix="gradloom-far-") as folder:
        far = Far(folder, GRADLOOM)
        try:
            with Studio("hosts", env={"PATH": far.path}) as s:
                path = write(s)
                refused(t, s, far, path)
                device(t, s, far, path)
                here = lost(t, s, far, path)
                found(t, s, far, path, here)
                branch = continued(t, s, far, path, here)
                listed(t, s, far, path, branch)
                killed(t, s, far, path)
        finally:
            end(far.runs())


if __name__ == "__main__":
    sys.exit(Report().run(body))
