"""A network built and trained with the keyboard alone, by what a screen reader is told.

Nothing is read off the screen, and what the window says of itself only paces the keys: every step waits for what the
accessibility bus says.
"""
import re
import sys

from reader import Reader
from studio import Report


# What is typed, and what is heard then: the name of what has the focus, and words of its description.
CHAIN = [
    ("dataset", "Add a layer", "Dataset"), ("Return", "Source", "Two spirals"), ("Return", "dataset, Dataset", "B × 2"),
    ("linear", "Add a layer", "Linear, Layers"), ("ctrl+Return", "Out features", "“linear”"), ("32", "Out features", "“linear”"),
    ("ctrl+Return", "Add a layer", ""), ("relu", "Add a layer", "ReLU, Activations"), ("ctrl+Return", "Add a layer", ""),
    ("linear", "Add a layer", "Linear, Layers"), ("ctrl+Return", "Out features", "“linear_2”"),
    ("2", "Out features", "“linear_2”"), ("ctrl+Return", "Add a layer", ""), ("cross", "Add a layer", "Cross-entropy, Loss"),
    ("Return", "cross_entropy, Cross-entropy", "scalar; from linear_2, dataset"),
]

# The walk back along the wires.
WALK = [
    ("linear_2, Linear", "B × 2; from relu; to cross_entropy"), ("relu, ReLU", "B × 32; from linear; to linear_2"),
    ("linear, Linear", "B × 32; from dataset; to relu"), ("dataset, Dataset", "B × 2, B; to linear, cross_entropy"),
]


def is_key(word):
    return "+" in word or word[0].isupper()


def build(t, s):
    s.until("a window", s.window, 10)
    s.tab_to("Empty graph")
    s.key("Return")
    s.hear("the canvas", lambda h: h.role == "list" and h.description == "0 nodes, 0 wires")
    t.ok(True, "the canvas is a list and says that it is empty")
    s.type("xyzzy")
    s.hear("nothing found", lambda h: h.description == "No layer of this name")
    t.ok(True, "a search that finds nothing says so")
    s.key("Escape")
    s.hear("the canvas again", lambda h: h.role == "list")
    for word, name, description in CHAIN:
        s.key(word) if is_key(word) else s.type(word)
        s.hear("“%s” after %s" % (name, word), lambda h: h.name == name and description in h.description)
    t.ok(True, "a chain of layers is typed, and each step says what Enter will add")


def walk(t, s):
    for name, description in WALK:
        s.key("Left")
        # The focus is reported before the state of the card that has it.
        h = s.hear(name, lambda h: h.name == name and h.description == description and "selected" in h.states)
        t.ok(True, "%s: %s" % (name, h.description))
    s.key("Right")
    s.hear("linear", lambda h: h.name == "linear, Linear")


def mistake(t, s):
    s.key("Delete")
    s.until("two things to do", lambda: s.everything(lambda h: h.name.startswith("relu") and "not wired" in h.description), 3)
    t.ok(True, "where a layer is gone, the next one says what it lacks")
    s.key("ctrl+z")
    s.until("whole again", lambda: s.everything(lambda h: h.description == "5 nodes, 5 wires"), 3)
    t.ok(not s.everything(lambda h: "not wired" in h.description), "and undo brings it back")


def change(t, s):
    s.until("the card has the focus", lambda: s.heard().role in ("list", "list item"), 2)
    s.key("Home")
    s.hear("dataset", lambda h: h.name == "dataset, Dataset")
    s.key("Right")
    s.hear("linear", lambda h: h.name == "linear, Linear")
    s.key("Return")
    s.hear("the inspector", lambda h: h.role in ("text", "spin button"))
    h = s.heard() if "Out features" in s.heard().name else s.tab_to("Out features")
    t.ok("editable" in h.states, "Enter leads from a card to its parameters, each with its name: %s" % h.name)
    s.key("ctrl+a")
    s.type("16")
    s.key("Return")
    s.until("the new shape", lambda: s.everything(lambda h: h.name == "relu, ReLU" and "B × 16" in h.description), 3)
    t.ok(True, "and what is typed there changes the shape that the next layer tells")


def train(t, s):
    s.key("ctrl+Return")
    s.until("the end of the run", lambda: s.everything(lambda h: h.role == "label" and h.name == "done"), 20)

    def trained():
        end = s.figures()
        return end.get("step", 0) > 10 and end.get("accuracy", 0) > 0.5 and end.get("loss", 1) < 0.75
    s.until("the last figures", trained, 3)
    t.ok(True, "it trains")
    s.until("the curve", lambda: s.everything(lambda h: h.name == "loss chart" and "train 0." in h.description), 3)
    t.ok(True, "and a curve says where its lines end")


def curve(t, s):
    # A value that is entered gives the focus back to the canvas: two panes on.
    s.key("F6", "F6")
    s.hear("the panel", lambda h: h.name == "Epochs")
    s.tab_to("loss chart")
    h = s.hear("all of it", lambda h: "train between 0." in h.description and "falling" in h.description)
    t.ok(True, "with extremes and trend: " + h.description)
    s.key("Home")
    s.hear("its first point", lambda h: h.description.startswith("step 1 · train 0."))
    s.key("Right")
    s.hear("another point", lambda h: re.match(r"step [2-9] · train 0\.", h.description))
    s.key("End")
    h = s.hear("its last point", lambda h: h.description.startswith("step ") and not h.description.startswith("step 2 "))
    t.ok(True, "arrow keys lead along the curve: " + h.description)


def maps(t, s):
    s.key("ctrl+e")
    s.until("a matrix", lambda: s.everything(lambda h: h.name == "Confusion matrix" and "classes, accuracy" in h.description), 20)
    s.hear("the choice of a view", lambda h: h.name == "View: Confusion Matrix")
    s.key("Tab")
    s.hear("the choice of samples", lambda h: h.name == "Evaluated samples: Test or validation")
    s.tab_to("Confusion matrix")
    s.key("Right", "Down", "Right")
    h = s.hear("a cell of the matrix", lambda h: h.description.startswith("1: ") and "correct" in h.description
               and ("most often confused" in h.description or "accuracy" in h.description))
    t.ok(True, "a cell of the matrix: " + h.description)


# A view of the evaluation, how far down it is in the list, its picture, what is heard of that, and then of its first item.
CHARTS = [
    ("Classes", 2, "Accuracy of each class", "highest: ", "accuracy "),
    ("Calibration", 1, "Calibration", "expected calibration error ", "confidence 0 to "),
]


def charts(t, s):
    for view, down, picture, all_of_it, item in CHARTS:
        while not s.heard().name.startswith("View: "):
            before = s.changes
            s.key("shift+Tab")
            s.until("another focus", lambda n=before: s.changes > n, 2)
            s.hear("a name", lambda h: h.name)
        s.key("space")
        s.hear("the list of views", lambda h: not h.name.startswith("View: "))
        s.key(*["Down"] * down)
        s.key("Return")
        s.hear("the view", lambda h, v=view: h.name == "View: " + v)
        s.tab_to(picture)
        h = s.hear("all of it", lambda h, a=all_of_it: h.description.startswith(a))
        t.ok(True, "a chart with its extremes: %s, %s" % (h.name, h.description))
        s.key("Right")
        h = s.hear("its first item", lambda h, i=item, a=all_of_it: i in h.description and a in h.description
                   and not h.description.startswith(a))
        t.ok(True, "and its items by arrow keys: " + h.description)


# The digit of a kind of pin, what is heard of it, and then of a cell.
KINDS = [
    ("1", "16 bars, greatest", "feature 2: "), ("2", "32 rows, 16 columns, from ", "sample 1, feature 2: "),
    ("4", "most values near", "step "), ("5", "norm ", "step "),
]


def pin(t, s):
    s.key("F6")
    s.hear("the panel", lambda h: h.name == "Epochs")
    s.key("F6")
    s.hear("the side pane", lambda h: h.name == "Layers")
    s.key("F6")
    s.hear("a card", lambda h: h.role == "list item" and h.name == "linear, Linear")
    s.key("ctrl+shift+w")
    s.until("a pin", lambda: s.everything(lambda h: h.role == "image" and h.name.startswith("linear")), 10)
    s.key("Tab")
    s.hear("the pin", lambda h: h.role == "image" and "sample 1 of 32 fixed samples · step 48" in h.name)
    for digit, picture, cell in KINDS:
        s.key(digit)
        s.hear("kind %s" % digit, lambda h: picture in h.description and not h.description.startswith(cell + "-"))
        s.key("shift+Right", "shift+Right")
        h = s.hear("a cell of it", lambda h: h.description.startswith(cell) and h.description.count(picture) >= 1)
        t.ok(True, "a pin, and a cell of it: %s, %s" % (h.name, h.description))


def body(t):
    with Reader("screenreader") as s:
        build(t, s)
        walk(t, s)
        mistake(t, s)
        change(t, s)
        train(t, s)
        curve(t, s)
        maps(t, s)
        charts(t, s)
        pin(t, s)
        roles = ("list item", "text", "entry", "spin button", "check box", "combo box", "page tab")
        fields = s.everything(lambda h: h.role in roles, thorough=True)
        unnamed = [h for h in fields if "focusable" in h.states and h.name in ("", h.role)]
        t.ok(len(fields) > 20 and not unnamed, "no field and no row is without a name: %s" % unnamed)
        # A name that is missing is that of the type.
        nameless = s.everything(lambda h: h.name == "GtkExpander" or (h.role == "image" and "focusable" in h.states
                                                                      and h.name.startswith(("Gtk", "Studio"))))
        t.ok(not nameless, "every picture that takes the focus, and every part that unfolds, has a name: %s" % nameless)
        doubled = [h for h in fields if h.name and h.name[:len(h.name) // 2 + 1] == h.name[len(h.name) // 2 + 1:] + " "]
        t.ok(not doubled, "and none says its name twice: %s" % doubled)


if __name__ == "__main__":
    sys.exit(Report().run(body))
