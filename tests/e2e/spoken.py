"""Lessons done to their ends by keys and by what a screen reader says, all or those that are named. What is heard on the way
is held against tests/e2e/spoken/NAME.txt, line by line; GRADLOOM_UPDATE=1 writes it again.

No line depends on time: a key is pressed when the one before is answered, and a line is what is heard once it is the
expected one. Figures of a run differ from processor to processor, so they are “#”.
"""
import os
import re
import sys

import studio
from reader import Atspi, GLib, Reader
from studio import Failed, Report

FOLDER = os.path.join(studio.SOURCE, "graphs", "lessons")
HERE = os.path.dirname(os.path.abspath(__file__))
UPDATE = "GRADLOOM_UPDATE" in os.environ
DONE = ("Done. Continue with Next.", "Well done: that was the last page.")


class Learner(Reader):
    """A reader that remembers what it has heard."""

    def __init__(self, name):
        super().__init__("spoken-" + name, os.path.join(FOLDER, name + ".xml"))
        self.transcript = []

    def __enter__(self):
        super().__enter__()
        self.until("a window", self.window, 10)
        return self

    def note(self, h, figures=False):
        words = "%s, %s%s%s" % (h.name, h.role, ": " if h.description else "", h.description)
        words = re.sub(r"; value [^;]*", "", words)  # what a card has computed comes and goes with runs
        self.transcript.append(re.sub(r"−?\d[\d,]*(\.\d+)?(e[-+]\d+)?( ?%)?", "#", words) if figures else words)

    def go(self, *names, roles=()):
        """Tab to what has one of these names and roles, from pane to pane at most."""
        for _ in range(90):
            h = self.heard()
            if h is not None and h.name in names and "focused" in h.states and (not roles or h.role in roles):
                return h
            # A link in a text is another focus to the keyboard alone, so there is no event to wait for. What Studio says of
            # its place comes after all events of the frame.
            self.key("Tab")
            self.look()
            try:
                self.focus.get_extents(Atspi.CoordType.WINDOW)
            except GLib.Error:
                pass  # what had the focus is gone
            self.listen()
        raise Failed("Tab does not lead to “%s”; the focus is on %s" % ("” or “".join(names), self.heard()))

    def pane(self, *names):
        """F6 to the pane whose first part has one of these names."""
        for _ in range(6):
            before = self.changes
            self.key("F6")
            self.until("another pane", lambda: self.changes > before, 2)
            h = self.heard()
            if h is not None and (h.name in names or (h.role in names and not h.name.startswith("Layers"))):
                return h
        raise Failed("F6 does not lead to %s; the focus is on %s" % (names, self.heard()))

    def lesson(self):
        """To the lesson's pane, which is shown again if another is in its place."""
        self.pane("Layers")
        if "selected" not in self.go("Lesson").states:
            self.key("space")
            self.hear("the lesson", lambda h: h.name == "Lesson" and "selected" in h.states)


# ---- what a learner does ----------------------------------------------------------


def answer(text):
    def act(s):
        s.note(s.go("Your answer"))
        s.type(text)
        s.key("Return")
    return act


def refused(text, reply):
    def act(s):
        answer(text)(s)
        s.note(s.hear(reply, lambda h: h.description == reply))
        s.key("ctrl+a")
    return act


def card(name):
    """Finds a card by its name, and says what is heard of it."""
    def act(s):
        s.key("ctrl+f")
        s.hear("the search", lambda h: h.role == "entry")
        s.key("ctrl+a")
        s.type(name)
        s.key("Return")
        s.note(s.hear(name, lambda h: h.role == "list item" and h.name.startswith(name + ",") and "selected" in h.states), True)
    return act


def on(name, *keys):
    def act(s):
        card(name)(s)
        s.key(*keys)
    return act


def train(s):
    s.key("ctrl+Return")


def step(s):
    s.key("ctrl+shift+Return")


def restart(s):
    """Until another run than the one before has begun, whose end would be taken for that of this one."""
    before = s.look().state["folder"]
    s.command("Restart Training")
    s.wait("another run", lambda g: g.state["folder"] not in (before, "-"), 60, quiet=True)


def ended(s):
    s.wait("the end of the run", lambda g: g.state["run"] in ("done", "paused", "failed"), 60, quiet=True)


def type_in(s, label, value):
    s.note(s.go(label, roles=("text", "spin button")))
    s.key("ctrl+a")
    s.type(value)
    s.key("Return")


def parameter(name, label, value):
    """Enter leads from a card to its parameters."""
    def act(s):
        on(name, "Return")(s)
        s.hear("the inspector", lambda h: h.role in ("text", "spin button", "push button", "check box"))
        type_in(s, label, value)
    return act


def setting(label, value):
    def act(s):
        s.key("ctrl+shift+a")
        if s.pane("Loss", "Parameters").name == "Parameters":
            s.key("space")  # the tab, when a picture is in its place
            s.hear("the tab", lambda h: "selected" in h.states)
        type_in(s, label, value)
    return act


def failure(button):
    """Tab leads to the bar of a run that has failed: its buttons, and before them why."""
    def act(s):
        ended(s)
        s.note(s.go(button), True)
        s.key("shift+Tab")
        s.note(s.hear("the sentence", lambda h: h.role == "label"), True)
    return act


def curve(name):
    """The chart of a run that has ended, its extremes by Down and Up."""
    def act(s):
        ended(s)
        s.pane("Epochs")
        s.note(s.go(name), True)
        for key in ("Down", "Up"):
            s.key(key)
            s.note(s.hear("an extreme", lambda h: h.description.startswith("step ")), True)
    return act


def after(name, words):
    def act(s):
        card(name)(s)
        s.type(words)
        s.key("Return")
        s.note(s.hear("the new card", lambda h: h.role == "list item" and h.name.startswith(words + ",")), True)
    return act


def follow(name):
    """Right leads along the wire to the next card."""
    def act(s):
        s.key("Right")
        s.note(s.hear(name, lambda h: h.name.startswith(name + ",") and "selected" in h.states))
    return act


def undo(s):
    s.key("ctrl+z")


# Of each lesson its pages: what is done on it.
LESSONS = {
    "first-graph": [[], [on("total", "ctrl+shift+w"), step], [answer("12")],
                    [on("result", "ctrl+shift+w"), parameter("a", "Value", "5"), restart], [after("result", "neg")], []],
    "backpropagation": [[refused("12", "12 is too large."), answer("10")], [answer("1")], [answer("3")],
                        [on("x", "ctrl+alt+w"), on("product", "ctrl+alt+w"), step], [answer("1.7"), step], []],
    "linear-regression": [[answer("2")], [train, ended], [setting("Learning rate", "1.2"), restart, failure("Continue at Learning Rate 0.12")],
                          [setting("Learning rate", "0.001"), restart, ended],
                          [setting("Learning rate", "0.2"), restart, curve("loss chart")], []],
    "overfitting": [[train, curve("loss chart")], [parameter("data", "Samples (n)", "2000"), restart, ended],
                    [parameter("data", "Samples (n)", "60"), setting("Weight decay", "0.5"), restart, ended],
                    [after("act", "dropout"), restart, ended], []],
    "spirals": [[train], [on("act", "ctrl+x"), restart], [undo, parameter("hidden", "Out features", "4"), restart],
                [parameter("hidden", "Out features", "20"), restart], []],
    "self-attention": [[card("w_q"), follow("q")], [answer("64")], [step], [train], []],
    "backward-by-hand": [[answer("640")], [answer("1000")], [answer("0")], [train], [parameter("keep", "Value", "1"), restart], []],
    "data-parallel": [[answer("48")], [answer("3")], [answer("9")], [answer("63")], [train, curve("loss chart")], []],
}


def walk(s, pages):
    s.lesson()
    for i, acts in enumerate(pages):
        for act in acts:
            act(s)
        if acts:
            s.lesson()
        if i + 1 < len(pages):
            s.go("Next")
            if acts:
                s.note(s.hear("page %d done" % (i + 1), lambda h: h.description in DONE, 60))
            s.key("Return")
            s.note(s.hear("the next page", lambda h: h.role in ("grouping", "panel")))
    # The toast says so for a few seconds only; the buttons of the pages keep it.
    last = "Page %d: " % len(pages)
    done = s.until("completed", lambda: s.everything(lambda h: h.name.startswith(last) and h.name.endswith(", done")), 5)
    s.transcript.append(done[0].name)


def held(name, transcript):
    path = os.path.join(HERE, "spoken", name + ".txt")
    text = "\n".join(transcript) + "\n"
    if UPDATE:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    with open(path, encoding="utf-8") as f:
        expected = f.read()
    for e, h in zip(expected.split("\n"), text.split("\n")):
        if e != h:
            print("# expected: %s\n# heard:    %s" % (e, h))
    return expected == text


def body(t):
    for name in NAMES or LESSONS:
        with Learner(name) as s:
            walk(s, LESSONS[name])
        t.ok(held(name, s.transcript), "%s: %d pages, %d lines as before" % (name, len(LESSONS[name]), len(s.transcript)))


NAMES = sys.argv[1:]

if __name__ == "__main__":
    if not set(NAMES) <= set(LESSONS):
        sys.exit("lessons: " + ", ".join(LESSONS))
    sys.exit(Report().run(body))
