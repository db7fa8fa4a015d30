"""Several ranks in Studio: the loss of each and what each holds of the memory, asked for by looking; one that is killed, and
the run that continues; and the lanes of a simulation, opened as a file."""
import os
import re
import signal
import subprocess
import sys

import studio
from lessons import ranks, ranks_label, type_ranks
from studio import Report, Studio

SHOTS = os.environ.get("GRADLOOM_RANKS_SHOTS")


def words(g, text):
    return [n for _, n, _ in g.widgets if text in n]


def processes(s):
    """The numbers of the run's ranks, by rank, as the table of the memory says them."""
    g = s.wait("what each rank has taken", lambda g: g.has("Rank 1, in the run") and len(words(g, " · +")) > 1, 10)
    return [int(n.split(" ")[0]) for n in words(g, " · +")]


def losses(t, s):
    s.key("ctrl+shift+t")
    s.press("Loss of Each Rank")

    def is_mean(g):
        all_, first, second = map(float, re.findall(r"(?:all|rank \d) ([\d.]+(?:e[-+]\d+)?)", words(g, "rank 1 ")[0]))
        return abs((first + second) / 2 - all_) < 0.01 * max(all_, 0.1)
    g = t.holds(s, is_mean, "the loss is the mean of the ranks'", 10)
    step = re.search(r"Step ([\d,. \u202f]+):", words(g, "rank 1 ")[0]).group(1)
    s.wait("the next ones", lambda g: words(g, "rank 1 ") and step not in words(g, "rank 1 ")[0], 5)
    s.key("Escape")


def memory(t, s):
    s.key("ctrl+shift+y")
    s.wait("what is planned", lambda g: g.find("Rank 1, planned") and g.find("Rank 0, planned"), 10)
    pids = processes(s)
    t.ok(len(set(pids)) == 2, "each rank has a line, and a process: %s" % pids)
    s.key("Escape")
    return pids


def killed(t, s, pid):
    g = s.wait("a checkpoint", lambda g: g.number("checkpoint") > 0, 45)
    kept = g.number("checkpoint")
    points = s.look().number("points")
    os.kill(pid, signal.SIGKILL)
    g = t.holds(s, lambda g: g.state.get("run") == "ended" and g.has("Rank 1 was ended by signal 9") and g.cards
                and g.number("points") >= points, "a rank is killed: one sentence names it, and the curves stay", 10)
    before = g.number("step")
    s.press("Continue")
    g = s.wait("goes on", lambda g: g.state.get("run") == "training" and g.number("step") > before, 30)
    t.ok(True, "and the run goes on from step %d" % kept)


def hangs(t, s, pid):
    """A rank that is stopped, as one that waits for ever: Studio says so, and Stop ends the run at the second time."""
    s.wait("a checkpoint", lambda g: g.number("checkpoint") > 0, 45)
    s.halt(pid)
    g = s.wait("said", lambda g: g.has("a rank may hang") and not g.has("items/s") and not g.has(" left"), 40)
    t.ok(True, "a rank hangs: %s" % words(g, "a rank may hang")[0])
    s.wait("the bar begins a sentence", lambda g: g.has("No step for "), 5)
    s.press("Pause")
    s.wait("Pause says that it waits", lambda g: g.has("Pause waits for the step to end"), 5)
    s.key("ctrl+shift+period")
    g = s.wait("Stop says that it waits", lambda g: g.has("press Stop again to force it"), 8)
    if SHOTS:
        s.screenshot(os.path.join(SHOTS, "hangs.png"))
    s.key("ctrl+shift+period")
    s.wait("ended", lambda g: g.state["run"] == "stopped" and g.has("Stopped by force"), 5)
    if SHOTS:
        s.screenshot(os.path.join(SHOTS, "forced.png"))
    s.wait("the end of the rank", lambda g: not os.path.exists("/proc/%d" % pid), 20)
    t.ok(True, "Pause and Stop say that they wait, and Stop again ends the ranks")
    s.press("Continue")
    s.wait("goes on", lambda g: g.state["run"] == "training", 30)


def over(t, s):
    """What each rank took is still there when the run has ended, for a window that was not open before."""
    s.key("ctrl+shift+period")
    s.wait("stopped", lambda g: g.state["run"] == "stopped", 20)
    s.key("ctrl+shift+y")
    g = s.wait("what each rank took", lambda g: g.has("Rank 1, in the run") and g.has("The run has ended. These are its last"), 10)
    if SHOTS:
        s.screenshot(os.path.join(SHOTS, "over.png"))
    t.holds(s, lambda g: len(words(g, " · +")) == 2, "what each rank took outlasts the run")
    s.key("Escape")


def lanes(t, s):
    path = os.path.join(s.folder, "lanes.json")
    program = os.path.join(studio.BUILD, "app", "gradloom")
    graph = os.path.join(studio.SOURCE, "graphs", "lessons", "spirals.xml")
    subprocess.run([program, "simulate", graph, "--gpus", "4", "--card", "a100", "--link", "nvlink3,100g", "--trace", path],
                   check=True, stdout=subprocess.DEVNULL, env=s.env)
    s.key("ctrl+o")
    s.choose_file(path, "Open")
    g = s.wait("lanes", lambda g: words(g, "computing "), 10)
    t.ok(True, "the lanes of a simulation: %s" % words(g, "computing ")[0])
    s.key("Escape")


def wanted(t, s):
    """The graph's own number of ranks stands in the field, and one that cannot be is refused there."""
    graph = re.sub(r"<lesson.*</lesson>", "", studio.lesson("spirals"), flags=re.S)
    s.open("two.xml", re.sub(r"(<train[^>]*>)", r'\1<parallel data="2"/>', graph))
    s.wait("graph", lambda g: g.cards, 5)
    s.press("Step")
    s.wait("two ranks", lambda g: g.state["run"] == "paused" and ranks_label(g) and g.find("2", kind="SpinButton"), 15)
    type_ranks(s, 3, lambda g: g.has("<parallel> needs 2 ranks"))
    g = s.wait("two again", lambda g: g.find("2", kind="SpinButton") and g.has("<parallel> needs 2 ranks"), 3)
    if SHOTS:
        s.screenshot(os.path.join(SHOTS, "wanted.png"))
    said = words(g, "<parallel> needs 2 ranks")[0]
    t.ok("set “Ranks” to 2" in said and "--" not in said, "a number that does not fit is refused: %s" % said)


def stands(t, s):
    """A breakpoint that a rank meets opens the step, on the samples of that rank; its update needs those of both."""
    def place(g):
        return next((n for k, n, _ in g.widgets if k == "current"), "")
    s.select("act")
    s.key("ctrl+F8")
    s.wait("the dialog", lambda g: g.dialog("Stop Here"), 3)
    s.press("A value or gradient is NaN or infinite")
    s.press("The norm of the gradient is above")
    s.wait("the condition", lambda g: g.dialog("Stop Here") and not g.popover(), 3)
    s.fill("the number", lambda g: next((r for k, n, r in g.widgets if "Text" in k), None), "0")
    s.press("Stop Here")
    before = s.wait("the graph", lambda g: g.canvas is not None, 3).number("step")
    s.key("ctrl+Return")
    g = s.wait("the run stands", lambda g: g.state["run"] == "paused" and "act · samples of rank 0" in place(g)
               and g.number("step") <= before + 1, 20)
    t.ok(True, "a breakpoint met by a rank opens the step: " + place(g))
    if SHOTS:
        s.screenshot(os.path.join(SHOTS, "stands.png"))
    s.press("Backward")
    s.wait("the end of the pass", lambda g: place(g).startswith("Backward") and "act" not in place(g), 10)
    s.key("ctrl+alt+Right")
    s.wait("refused", lambda g: g.has("averages the gradients of all ranks") and place(g).startswith("Backward"), 10)
    t.ok(True, "and goes up to the update, which needs the gradients of all")


def body(t):
    with Studio("ranks") as s:
        s.open("spirals.xml", studio.lesson("spirals", endless=True))
        s.wait("graph", lambda g: g.cards, 5)
        s.press("Step")
        ranks(2)(s)
        s.wait("the other number is said", lambda g: g.has("an earlier version · 1 change"), 3)
        s.press("Restart")
        g = t.holds(s, lambda g: g.state["run"] == "training" and g.number("step") > 5
                    and not g.has("earlier version"),
                    "another number of ranks is a change, and Restart begins with it", 15)
        losses(t, s)
        pids = memory(t, s)
        hangs(t, s, pids[1])
        killed(t, s, memory(t, s)[1])
        s.wait("what the ranks took", lambda g: g.state["rank_memory"] == "1", 20)
        over(t, s)
        lanes(t, s)
        wanted(t, s)
        stands(t, s)
        t.ok(not s.complaints(), "nothing was complained about")


if __name__ == "__main__":
    sys.exit(Report().run(body, "mpirun"))
