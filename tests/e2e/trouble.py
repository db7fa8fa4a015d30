"""Trouble around a run: a worker that prints, a Studio that is stopped, a worker that dies or is not there, a
Studio that is killed with unsaved work."""
import os
import signal
import sys
import time

import studio
from studio import Report, Studio

GRADLOOM = os.path.join(studio.BUILD, "app", "gradloom")
LESSON = os.path.join(studio.SOURCE, "graphs", "lessons", "self-attention.xml")
LENET = os.path.join(studio.SOURCE, "graphs", "models", "fashion-lenet.xml")


def script(folder, text):
    path = os.path.join(folder, "worker.sh")
    with open(path, "w") as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


def resident(pid):
    with open("/proc/%s/status" % pid) as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024


def cpu_seconds(pid):
    with open("/proc/%s/stat" % pid) as f:
        return sum(int(n) for n in f.read().rsplit(")", 1)[1].split()[11:13]) / os.sysconf("SC_CLK_TCK")


def alive(pid):
    try:
        with open("/proc/%s/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def endless(s):
    path = os.path.join(s.folder, "self-attention.xml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(studio.lesson("self-attention", endless=True))
    return path


def restart(s, worker=None, arguments=None):
    s.end()
    if worker is not None:
        s.env["GRADLOOM_WORKER"] = worker
    else:
        s.env.pop("GRADLOOM_WORKER", None)
    s.arguments = arguments or [endless(s)]
    s.launch()
    before = s.wait("graph", lambda g: len(g.cards) > 0, 2)
    # A panel that comes up with the graph leaves the cards another place.
    return s.wait("settled", lambda g: settled(before, g), 2)


def settled(before, g):
    same = before.cards == g.cards
    before.cards = g.cards
    return same


def noise(t, s):
    restart(s, script(s.folder, "[ \"$1\" = worker ] && echo 'a library says hello' && printf 'and once more'\n"
                      "exec '%s' \"$@\"\n" % GRADLOOM))
    s.key("ctrl+Return")
    g = t.holds(s, lambda g: g.number("points") > 10 and g.state["run"] == "training",
                "a stray print before the magic line does no harm")


def flood(t, s):
    restart(s, script(s.folder, "[ \"$1\" = worker ] && exec yes\nexec '%s' \"$@\"\n" % GRADLOOM))
    s.key("ctrl+Return")
    g = t.holds(s, lambda g: g.state["run"] == "ended" and g.has("64 KiB"),
                "a program that only prints is given up with a sentence")


def stopped_studio(t, s):
    restart(s)
    s.key("ctrl+Return")
    g = s.wait("points", lambda g: g.number("points") > 10, 3)
    worker, before = g.state["pid"], resident(g.state["pid"])
    pid = s.studio_pid()
    s.halt(pid)
    # It continues to compute, and its reports are not read.
    deadline, enough = time.monotonic() + 10 * studio.PATIENCE, cpu_seconds(worker) + 1
    while cpu_seconds(worker) < enough and time.monotonic() < deadline:
        time.sleep(0.1)
    t.ok(cpu_seconds(worker) >= enough, "with Studio stopped the worker computes for another second")
    during = resident(worker)
    s.resume(pid)
    t.ok(during < before + 40, "with Studio stopped the worker stays small: %.0f to %.0f MB" % (before, during))
    step = g.number("step")
    g = s.wait("goes on", lambda g: g.number("step") > step, 3)
    t.ok(alive(worker), "and the run goes on when Studio does")


def killed_worker(t, s):
    g = s.look()
    os.kill(int(g.state["pid"]), signal.SIGSEGV)
    g = t.holds(s, lambda g: g.state["run"] == "ended" and g.has("signal 11") and len(g.cards) == 16,
                "a crash of the worker leaves the canvas, and says its signal")
    s.press("Train")
    g = t.holds(s, lambda g: g.state["run"] == "training" and g.number("points") > 5 and g.number("previous") > 0,
                "Train works again, over the old curve in grey")


def closed_studio(t, s):
    g = s.look()
    worker, folder = g.state["pid"], g.state["folder"]
    s.key("ctrl+q")
    g = s.wait("question", lambda g: g.find("Stop and Close"), 2)
    s.press("Stop and Close")
    deadline = time.monotonic() + 10 * studio.PATIENCE
    while alive(worker) and time.monotonic() < deadline:
        time.sleep(0.1)
    t.ok(not alive(worker), "a closed Studio takes its worker along")
    t.ok(os.listdir(os.path.join(folder, "checkpoints")), "which wrote a checkpoint first")
    g = restart(s)
    g = s.wait("offer", lambda g: g.find("Continue") and g.has("was stopped at step"), 2)
    begin = g.number("checkpoint")
    s.press("Continue")
    g = t.holds(s, lambda g: g.state["run"] == "training" and g.number("step") > begin > 0
                and g.state["folder"] == folder, "the next start offers to continue, and does")


def missing_worker(t, s):
    restart(s, os.path.join(s.folder, "nothing-here"))
    s.key("ctrl+Return")
    g = t.holds(s, lambda g: g.state["run"] in ("ended", "failed") and g.has("nothing-here") and len(g.cards) == 16,
                "a worker that is not there is named")


def killed_early(t, s):
    """Before the first checkpoint: there is nothing to resume, and the folder belongs to the run that was lost."""
    restart(s, None, [LENET])
    s.key("ctrl+Return")
    g = s.wait("points", lambda g: g.state["run"] == "training" and g.number("points") > 2, 10)
    first = g.state["folder"]
    os.kill(int(g.state["pid"]), signal.SIGKILL)
    g = s.wait("ended", lambda g: g.state["run"] == "ended" and g.find("Start Again"), 3)
    s.press("Start Again")
    g = t.holds(s, lambda g: g.state["run"] == "training" and g.state["folder"] != first, "Start Again begins in a folder of its own", 10)
    g = t.holds(s, lambda g: not g.has("--resume"), "and nothing on screen speaks of options of a command line")


def recovery(t, s):
    path = os.path.join(s.folder, "graph.xml")
    with open(LESSON) as f:
        text = f.read()
    with open(path, "w") as f:
        f.write(text)
    g = restart(s, None, [path])
    s.select("root_d")
    s.key("Delete")
    s.wait("deleted", lambda g: "root_d" not in g.cards, 1)
    os.kill(s.studio_pid(), signal.SIGKILL)
    s.session.wait()
    s.arguments = []
    s.launch()
    g = s.wait("offer", lambda g: g.find("Recover"), 2)
    s.press("Recover")
    g = t.holds(s, lambda g: len(g.cards) == 15 and "root_d" not in g.cards,
                "what a killed Studio had not saved is offered and comes back")
    s.key("ctrl+z")
    g = s.wait("undone", lambda g: len(g.cards) == 16, 1)
    with open(path) as f:
        t.ok(f.read() == text, "the recovery can be undone, and the file was never written")


def body(t):
    with Studio("trouble", LESSON) as s:
        for part in (noise, flood, stopped_studio, killed_worker, closed_studio, missing_worker, killed_early, recovery):
            part(t, s)


if __name__ == "__main__":
    sys.exit(Report().run(body))
