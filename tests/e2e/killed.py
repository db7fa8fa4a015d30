"""kill -9 of Studio, and of its worker, at random moments. What is recovered is the graph as it was after one of its edits,
none older than the last that was on screen, and no file changes without being saved.

A reference run makes the same edits without a kill and saves after each: those texts are the states that a graph can be
recovered in. GRADLOOM_TEST_KILLS (6) is how often, GRADLOOM_TEST_SEED what is drawn from; both are printed."""
import os
import random
import signal
import sys
import threading
import time

import studio
from closing import GRAPH, begin, read, train
from studio import Failed, Report, Studio
from trouble import alive

KILLS = int(os.environ.get("GRADLOOM_TEST_KILLS", "6"))
SEED = int(os.environ.get("GRADLOOM_TEST_SEED", "") or random.SystemRandom().randrange(100000))
EDITS = 16
# So long after its first edit a Studio lives at most, in seconds.
LIFE = 4
EXAMPLES = ("two-layer-relu", "spirals")


class Example:
    """A graph, the keys that edit it, and the text of its file after each number of the edits."""

    def __init__(self, s, dice, name):
        self.path = os.path.join(s.folder, name + ".xml")
        with open(os.path.join(studio.SOURCE, "graphs", "lessons", name + ".xml")) as f:
            self.states = [f.read()]
        self.edits = draw_edits(dice)

    def reset(self):
        with open(self.path, "w") as f:
            f.write(self.states[0])
        self.sent = self.seen = 0

    def found(self):
        """After how many edits the graph is as in the file. Undo comes to earlier states again, so these can be several."""
        text = read(self.path)
        return [i for i, state in enumerate(self.states) if state == text]


def draw_edits(dice):
    """Each as keys that lead to the same wherever the focus is. Moves in a row may be one step of undo, by the time between
    them, so that only what never joins another is undone."""
    edits, kind = [], None
    for _ in range(EDITS):
        kinds = ["copy", "copy", "move", "delete"] + (["undo", "undo"] if kind in ("copy", "delete") else [])
        kind = dice.choice(kinds)
        there = ["Home"] + ["ctrl+Right"] * dice.randrange(4)
        edits.append({"copy": there + ["ctrl+d"], "delete": there + ["Delete"], "undo": ["ctrl+z"],
                      "move": there + [dice.choice(("alt+Down", "alt+Right"))]}[kind])
    return edits


def send(s, *keys):
    for key in keys:
        s.screen.key(key)


def show(s, i, tabs):
    if tabs > 1:
        send(s, "alt+%d" % (i + 1))


def save(s):
    """The shown graph, also over a file that was saved as Studio was killed, which the journal had no time to hear of."""
    send(s, "ctrl+s")
    begin = time.monotonic()
    while time.monotonic() - begin < 3 * studio.PATIENCE:
        g = s.look()
        if g.find("Overwrite"):
            s.press("Overwrite")
        elif g.state and not g.has("Edited"):
            return
        time.sleep(0.05)
    raise Failed("the graph is not saved")


def refer(s, example):
    """The reference: every edit is saved."""
    example.reset()
    begin(s, [example.path])
    for keys in example.edits:
        send(s, *keys, "ctrl+s")
        # While one save is at work, Studio begins no other.
        s.wait("+".join(keys), lambda g: read(example.path) != example.states[-1] and not g.has("Edited"), 2, quiet=True)
        example.states.append(read(example.path))


def look(s):
    """The geometry; None when Studio is no more."""
    try:
        return s.look()
    except Failed:
        return None


def edit_until_killed(s, dice, examples, saves):
    """Edits at a random pace. What was sent before Studio was asked, and answered, has been done."""
    timer, at = None, 0
    show(s, at, len(examples))
    while s.session.poll() is None:
        if dice.random() < 0.4:
            at = dice.randrange(len(examples))
            show(s, at, len(examples))
        example = examples[at]
        if example.sent < EDITS:
            send(s, *example.edits[example.sent])
            example.sent += 1
        if saves and dice.random() < 0.2:
            send(s, "ctrl+s")
        if timer is None or dice.random() < 0.4:
            if look(s) is not None:
                for e in examples:
                    e.seen = e.sent
                if timer is None:
                    timer = threading.Timer(dice.uniform(0, LIFE), os.kill, (s.studio_pid(), signal.SIGKILL))
                    timer.start()
        time.sleep(dice.choice((0, 0.05, 0.2, 0.6)) * dice.random())


def recover(s):
    """Takes what the next start offers, if anything."""
    s.arguments = []
    s.launch()
    s.wait("next start", lambda g: "run" in g.state, 3)
    for button in ("Recover All", "Recover"):
        if s.look().find(button):
            s.press(button)
            break


def save_all(s):
    g = s.wait("recovered", lambda g: g.state and not g.find("Recover"), 3)
    n = int(g.state["tabs"])
    for i in range(n):
        show(s, i, n)
        if g.cards or n > 1:
            save(s)
    s.end()


def kill_studio(t, s, dice, n, examples):
    saves, twice = n % 3 == 2, n % 3 == 1
    for e in examples:
        e.reset()
    g = begin(s, [e.path for e in examples])
    t.ok(not g.find("Recover"), "kill %d: nothing is offered that was saved" % (n + 1))
    if len(examples) > 1:
        s.wait("tabs", lambda g: g.state.get("tabs") == str(len(examples)), 2)
    edit_until_killed(s, dice, examples, saves)
    files = [e.found() for e in examples]
    recover(s)
    if twice:
        # What was recovered is not saved yet either.
        time.sleep(dice.uniform(0, 0.5))
        os.kill(s.studio_pid(), signal.SIGKILL)
        s.session.wait()
        recover(s)
    save_all(s)
    for e, file in zip(examples, files):
        name, found = os.path.basename(e.path), e.found()
        print("# %s: %d edits sent, %d seen, in the file %s, recovered %s" % (name, e.sent, e.seen, file, found))
        t.ok(0 in file or saves and file and file[0] <= e.sent, "%s is as it was%s" % (name, " saved" if saves else ""))
        t.ok(any(e.seen <= i <= e.sent for i in found), "its graph is recovered whole, with all that was seen of it")


def kill_worker(t, s, dice, n):
    path = os.path.join(s.folder, "training-%d.xml" % n)
    with open(path, "w") as f:
        f.write(GRAPH)
    begin(s, [path])
    train(s)
    if n % 2 == 0:
        s.wait("checkpoint", lambda g: g.number("checkpoint") > 0, 10)
    time.sleep(dice.uniform(0, 2))
    pid = s.look().state["pid"]
    os.kill(int(pid), signal.SIGKILL)
    g = t.holds(s, lambda g: g.state["run"] == "ended" and len(g.cards) == 4 and not alive(pid)
                and len({name for _, name, _ in g.widgets if "signal 9" in name}) == 1,
                "kill of worker %d: Studio stays with its graph, and says one sentence" % (n + 1))
    checkpoint = g.number("checkpoint")
    s.press_one("Continue", "Start Again")
    g = s.wait("goes on", lambda g: g.state.get("run") == "training" and g.number("points") > 0
               and g.state["pid"] not in ("-", pid) and g.number("step") >= checkpoint, 5)
    t.ok(True, "and it goes on from step %g" % max(checkpoint, 0))
    os.kill(s.studio_pid(), signal.SIGKILL)
    s.session.wait()
    t.ok(read(path) == GRAPH, "the file of the graph is as it was")


def body(t):
    print("# GRADLOOM_TEST_SEED=%d GRADLOOM_TEST_KILLS=%d" % (SEED, KILLS), flush=True)
    dice = random.Random(SEED)
    with Studio("killed") as s:
        examples = [Example(s, dice, name) for name in EXAMPLES]
        for e in examples:
            refer(s, e)
        for n in range(KILLS - KILLS // 3):
            kill_studio(t, s, dice, n, examples if n % 2 else examples[n // 2 % 2:][:1])
        for n in range(KILLS // 3):
            kill_worker(t, s, dice, n)


if __name__ == "__main__":
    sys.exit(Report().run(body))
