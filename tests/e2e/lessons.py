"""Lessons but that of lesson.py, all or those that are named, walked through to their ends by pointer and keys, each page's
goal reached as its hint says."""
import os
import sys

import studio
from studio import Failed, Report, Studio

FOLDER = os.path.join(studio.SOURCE, "graphs", "lessons")
SHOTS = os.environ.get("GRADLOOM_LESSON_SHOTS")


# ---- what a learner does --------------------------------------------------------

def right(g):
    return g.canvas[0] + g.canvas[2]


def answer(text):
    def act(s):
        def entries(g):
            return [r for k, n, r in g.widgets if k == "GtkText" and r[0] + r[2] < g.canvas[0] and r[2] > 0]

        s.fill("the page's entry", lambda g: entries(g)[0], text)
    return act


def within(g, card):
    x, y = studio.middle(g.cards[card])
    return g.canvas[0] < x < right(g) and g.canvas[1] < y < g.canvas[1] + g.canvas[3]


def press_card(s, card):
    """A card beyond the canvas's edge is gone to first, by the search."""
    beyond = not within(s.look(), card)
    if beyond:
        s.key("ctrl+f")
        s.type(card)
        s.wait("found by the search", lambda g: g.find(card, x1=g.canvas[0], kind="GtkLabel"), 2)
        s.key("Return")
        s.wait("in sight", lambda g: within(g, card), 2)
        s.key("Escape")
    s.select(card)
    if beyond:
        s.press("Lesson")  # the search stands where it was
        s.select(card)


def select(card):
    return lambda s: press_card(s, card)


def watch(card, gradient=False):
    def act(s):
        press_card(s, card)
        s.key("ctrl+alt+w" if gradient else "ctrl+shift+w")
    return act


def ranks_label(g):
    """The word Ranks in the run panel; the training settings, right of the canvas, have it, too."""
    return g.find("Ranks", x1=g.right())


def type_ranks(s, n, condition):
    """Types into the entry next to the word, in the run panel, until condition(geometry) holds: the panel is filled again
    while a run begins, and what was typed then is lost."""
    def entry(g):
        at = ranks_label(g)[0]
        return min((r for k, name, r in g.widgets
                    if k == "GtkText" and r[0] > at[0] and abs(studio.middle(r)[1] - studio.middle(at)[1]) < 8), key=lambda r: r[0])

    def typed(g):
        s.fill("the number of ranks", entry, str(n))
        s.key("Return")
        return condition(s.look())
    s.wait("%d ranks" % n, typed, 5)


def ranks(n):
    def act(s):
        s.wait("the run panel", lambda g: ranks_label(g) and g.state["run"] == "paused", 10)
        type_ranks(s, n, lambda g: g.find(str(n), kind="SpinButton"))
    return act


def restart(s):
    s.command("Restart Training")


def full_speed(s):
    """Ends the stretching of short runs to half a minute, during which the script would only wait."""
    def speed(g):
        at = g.find("Speed")[0]
        return next(r for word in ("Watch", "Full speed") for r in g.find(word, kind="Label", x0=at[0])
                    if abs(studio.middle(r)[1] - studio.middle(at)[1]) < 8)

    s.click(s.standing("the speed", speed))
    s.wait("the list of speeds", lambda g: g.popover(), 3)
    s.key("End", "Return")
    s.wait("full speed", lambda g: not g.popover() and g.find("Full speed"), 3)


def traced(words):
    """The timeline has a window of its own, which does not say its geometry; the run's folder has the same step."""
    def has(g):
        path = os.path.join(g.state["folder"], "trace.json")
        if not os.path.exists(path):
            return False
        with open(path, encoding="utf-8") as f:
            return words in f.read(1000)

    def act(s):
        s.wait("a step with " + words, has, 20)
        s.key("ctrl+shift+t")
        s.wait("the timeline", lambda g: g.canvas is None and g.widgets, 5)
        if SHOTS:
            s.screenshot(os.path.join(SHOTS, "timeline-%s.png" % words.replace("/", "-")))
        s.key("Escape")
    return act


def hide_curves(s):
    """What is below them in the lesson's pane is seen again."""
    if ranks_label(s.look()):
        s.key("ctrl+F9")
        s.wait("hidden", lambda g: not ranks_label(g), 3)


def step(s):
    s.press("Step")


def train(s):
    s.press_one("Restart", "Resume", "Train")


def next_to(s, label, kinds, card):
    """The place of the widget next to a label of the right pane, scrolled to; without a card, of the training settings. The
    numbers of a run that trains are above them."""
    def label_place(g):
        return max(g.find(label, x0=right(g)), key=lambda place: place[1])

    def place(g):
        """What is beyond the pane's edges is scrolled into it, again if the pane has become another since."""
        at = label_place(g)
        above = at[1] < g.canvas[1] + 48
        if above or at[1] + at[3] >= g.canvas[1] + g.canvas[3] - 12:
            s.move(right(g) + 60, g.canvas[1] + 120)
            s.look()
            s.screen.click(4 if above else 5)
            return None
        return next((r for k, n, r in g.widgets
                     if k in kinds and r[0] > at[0] and abs(r[1] + r[3] / 2 - at[1] - at[3] / 2) < 8), None)

    if card is not None:
        press_card(s, card)
    else:
        s.select("data")
        s.key("ctrl+shift+a")
        s.wait("nothing selected", lambda g: g.state["selected"] == "-", 3)
    return place


def from_top(g):
    """How far the focus is below the top of the open list."""
    return g.focus[1][1] - g.find("popover")[0][1]


def choose(label, number, word, card=None):
    """Opens the list next to a label and takes the entry of this number, from 0, which is this word."""
    def act(s):
        s.click(s.standing("the list of " + label, next_to(s, label, ("GtkLabel",), card)))
        s.wait("the list", lambda g: g.popover(), 3)
        # The pane scrolls with the focus, and the list with it, below the pointer, which would choose an entry.
        s.move(2, 2)
        s.key("Home")
        for entry in range(1, number + 1):
            before = s.wait("an entry", lambda g: g.popover() and g.focus and g.focus[0] == "GtkListItemWidget", 3)
            s.key("Down")
            s.wait("the next entry", lambda g: g.popover() and g.focus and from_top(g) > from_top(before), 3)
        s.key("Return")
        s.wait("%s of %s" % (word, label), lambda g: not g.popover() and g.find(word, x0=right(g)), 3)
    return act


def field(label, value, card=None):
    def act(s):
        s.fill(label, next_to(s, label, ("GtkText", "GtkEntry"), card), value)
        s.key("Return")
    return act


def type_behind(card, words):
    def act(s):
        s.select(card)
        cards = len(s.look().cards)
        s.type(words)
        s.key("Return")
        s.wait("one card more", lambda g: len(g.cards) > cards, 3)
        s.key("Escape")
    return act


def undo(n):
    return lambda s: s.key(*["ctrl+z"] * n)


def seen(*texts):
    """What stands on screen at the same time."""
    def act(s):
        s.wait("on screen: " + ", ".join(texts), lambda g: all(g.find(text) for text in texts), 5)
    return act


def refused(text, reply):
    """A wrong answer, and what is said of it."""
    def act(s):
        answer(text)(s)
        s.key("Return")
        s.wait(reply, lambda g: g.find(reply), 3)
    return act


def nothing(s):
    pass


# Of each lesson its pages: what is done on it.
LESSONS = [
    ("first-graph", [[nothing], [watch("total"), step], [answer("12")],
                     [watch("result"), field("Value", "5", "a"), train], [type_behind("result", "neg")], [nothing]]),
    ("backpropagation", [[refused("12", "12 is too large."), answer("10")], [answer("1")], [answer("3")],
                         [watch("x", True), watch("product", True), step,
                          seen("x · step 1", "2.000", "gradient of x · step 1", "3.000", "step 1, before its update", "10.00")],
                         [answer("1.7"), step, seen("x · step 2", "1.700", "gradient of x · step 2", "2.800", "8.660")],
                         [nothing]]),
    ("linear-regression", [[answer("2")], [train], [field("Learning rate", "1.2"), train],
                           [field("Learning rate", "0.001"), train], [field("Learning rate", "0.2"), train], [nothing]]),
    ("overfitting", [[train], [field("Samples (n)", "2000", "data"), train],
                     [field("Samples (n)", "60", "data"), field("Weight decay", "0.5"), train],
                     [type_behind("act", "dropout"), train], [nothing]]),
    ("convolution", [[answer("9")], [answer("80")], [watch("act")], [train, full_speed],
                     [field("Kernel size", "5", "conv"), field("Padding", "2", "conv")], [nothing]]),
    ("transformer-block", [[answer("8")], [answer("1024")], [answer("64")], [select("residual1")], [answer("128")], [train, full_speed], [nothing]]),
    ("several-devices", [[answer("16")], [watch("reduce1"), step], [full_speed, train], [field("Value", "0", "sync"), train], [nothing]]),
    ("data-parallel", [[answer("48")], [answer("3")], [answer("9")], [answer("63")], [train], [nothing]]),
    ("self-attention", [[select("q")], [answer("64")], [step], [train], [nothing]]),
    ("linear-scaling", [[answer("0.32")], [answer("1.28")], [answer("45")], [field("Batch size", "1024"), train, full_speed], [nothing]]),
    ("dynamic-static", [[answer("3")], [answer("1")], [answer("13")], [train, full_speed], [nothing]]),
    ("backward-by-hand", [[answer("640")], [answer("1000")], [answer("0")], [train], [field("Value", "1", "keep"), train], [nothing]]),
]
WITH_RANKS = [
    ("pipeline", [[answer("40")], [answer("20")], [step, ranks(4), restart, traced("3/15"), hide_curves, answer("15")],
                  [field("Batch size", "4"), restart, traced("3/7"), hide_curves, answer("7")], [nothing]]),
    ("sharded", [[answer("16")], [answer("2")],
                 [step, ranks(4), choose("Strategy", 1, "zero1"), restart, hide_curves, answer("150")],
                 [choose("Strategy", 3, "zero3"), restart, hide_curves, answer("75.1")], [answer("1.5")], [nothing]]),
    ("split-products", [[answer("64")], [answer("fc2")], [step, ranks(2), restart, hide_curves, answer("fc1")],
                        [field("Split", "row", "fc1"), field("Split", "column", "fc2")], [nothing]]),
    ("parameter-server", [[answer("3")],
                          [step, ranks(4), full_speed, field("Staleness", "0"), restart], [field("Staleness", "8"), restart],
                          [field("Learning rate", "0.3"), restart], [nothing]]),
    ("mesh", [[answer("8")], [answer("5")], [step, ranks(8), restart, traced("1/7"), hide_curves, answer("7")], [nothing]]),
]


def is_done(page):
    """Whether the page's task is done. A run that failed does no more, so its end is an error at once."""
    def holds(g):
        if g.state["run"] in ("failed", "ended"):
            raise Failed("page %d: the run has %s: %s" % (page, g.state["run"], g.state.get("sentence", "")))
        return g.find("Done. Continue with Next.", x1=400)
    return holds


def walk(t, name, pages):
    with Studio("lesson-" + name, os.path.join(FOLDER, name + ".xml")) as s:
        s.wait("the lesson", lambda g: g.find("Next", x1=400) and g.cards, 10)
        for i, acts in enumerate(pages):
            last = i + 1 == len(pages)
            for act in acts:
                act(s)
            if acts != [nothing]:
                s.wait("page %d of %s" % (i + 1, name), is_done(i + 1), 60)
            if SHOTS:
                s.screenshot(os.path.join(SHOTS, "%s-%d.png" % (name, i + 1)))
            if not last:
                s.press("Next", x1=400)
        s.wait("completed", lambda g: g.has("is complete"), 5)
        t.ok(True, "%s: %d pages" % (name, len(pages)))


def body(t):
    for name, pages in LESSONS + WITH_RANKS:
        if name in NAMES or not NAMES:
            walk(t, name, pages)


NAMES = sys.argv[1:]  # all lessons, if none is named

if __name__ == "__main__":
    walked = [name for name, pages in LESSONS + WITH_RANKS]
    if not set(NAMES) <= set(walked):
        sys.exit("lessons that are walked: " + ", ".join(walked))
    parallel = not NAMES or any(name in NAMES for name, pages in WITH_RANKS)
    sys.exit(Report().run(body, *(["mpirun"] if parallel else [])))
