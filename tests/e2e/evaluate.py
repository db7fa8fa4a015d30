"""What a net gets wrong: the confusion matrix by keys and pointer, its samples, mistakes, classes and calibration, a digit that
is drawn, samples of the data; and a text that a language model continues."""
import os
import sys

from studio import SOURCE, Report, Studio

LENET = os.path.join(SOURCE, "graphs", "models", "fashion-lenet.xml")
SPIRALS = os.path.join(SOURCE, "graphs", "lessons", "spirals.xml")
CHARS = os.path.join(SOURCE, "graphs", "models", "char-rnn.xml")
DATES = os.path.join(SOURCE, "graphs", "models", "dates-attention.xml")
TREES = os.path.join(SOURCE, "graphs", "models", "tree-recursion.xml")
CAPTIONS = os.path.join(SOURCE, "graphs", "models", "shapes-captions.xml")
SENTENCE = "the first of may nineteen ninety two"
FASHION = "/usr/share/datasets/fashion-mnist"


TABLE = """<graph xmlns="urn:gradloom:graph" version="1">
<node id="data" op="dataset" source="csv" path="rare.csv" target="kind" test_fraction="0.5"/>
<node id="scores" op="linear" out_features="2"/><node id="loss" op="cross_entropy"/>
<wire from="data.x" to="scores"/><wire from="scores" to="loss.input"/><wire from="data.y" to="loss.target"/>
<train loss="loss" optimizer="sgd" lr="0.1" batch_size="16" epochs="200000" seed="3" device="cpu"/>
</graph>
"""


def of(name):
    """A figure of the page, or 0."""
    return lambda g: float(g.evaluation.get(name, 0))


def evaluated(g):
    return of("n")(g) > 0 and of("busy")(g) == 0


def rect(g, kind):
    return next((r for k, _, r in g.widgets if k == kind), None)


def words(g, kind):
    return next((n for k, n, _ in g.widgets if k == kind), "")


def view(s, title, name):
    """Chooses a view of the page by its title."""
    def opened(g):
        """A list that just closed takes the next click."""
        s.click(s.standing("the choice of views", lambda g: (g.find("View", "GtkDropDown") or [None])[0]))
        return s.look().popover()
    s.wait("the list of views", opened, 4, quiet=True)
    s.press(title, kind="GtkLabel", x0=s.look().right())
    s.wait(name, lambda g: g.evaluation.get("view") == name and not g.popover(), 4)


def train(s, steps):
    s.press("Train")
    s.wait("%d steps" % steps, lambda g: g.number("step") >= steps, 20)
    s.key("ctrl+Return")
    s.wait("paused", lambda g: g.state["run"] == "paused", 8)


def first_cell(s):
    s.key(*["Left"] * 9, *["Up"] * 9)
    s.wait("the first cell", lambda g: "correct" in g.evaluation["cursor"], 4)


def matrix(t, s):
    s.key("ctrl+e")
    s.wait("nothing to evaluate", lambda g: g.has("Train the graph first"), 4)
    t.ok(True, "an untrained graph has one sentence in place of a matrix")
    view(s, "Your Own Input", "own")
    t.holds(s, lambda g: g.has("Train the graph first"), "and in place of answers")
    view(s, "Confusion Matrix", "confusion")
    train(s, 20)
    t.holds(s, lambda g: evaluated(g) and of("step")(g) >= 20 and of("n")(g) == 10000,
            "a pause evaluates all test samples with the current weights", 30)
    t.holds(s, lambda g: "10 classes, accuracy" in words(g, "StudioConfusion"), "the matrix is read aloud")
    x, y, width, height = s.standing("the matrix", lambda g: rect(g, "StudioConfusion"))
    s.click((x + width * 0.62, y + height * 0.3))
    g = s.wait("the samples of a cell", lambda g: g.evaluation["cursor"] != "-", 4)
    first_cell(s)
    s.key("Return")
    g = s.wait("its samples", lambda g: of("cell")(g) == 20 and g.has("predicted correctly"), 6)
    t.ok(True, "arrow keys and Enter open a cell: " + g.evaluation["cursor"])
    s.wait("their pictures", lambda g: "images with their classes" in words(g, "StudioTaskView"), 6)


def epochs(t, s):
    """Each evaluation has its own samples, also that of an earlier epoch."""
    step = of("step")(s.look())
    s.key("ctrl+Return")
    s.wait("more steps", lambda g: g.number("step") >= step + 20, 20)
    s.key("ctrl+Return")
    g = s.wait("a second evaluation", lambda g: g.state["run"] == "paused" and of("records")(g) >= 2 and of("step")(g) > step and evaluated(g), 30)
    g = t.holds(s, lambda g: of("cell")(g) > 0 and g.has("Evaluation 2 of 2") and g.has("predicted correctly"),
                "a cell that is open stays open when a new evaluation arrives", 6)
    s.click(s.standing("the matrix", lambda g: rect(g, "StudioConfusion")))
    first_cell(s)
    s.key("Return")
    g = s.wait("samples of the newest", lambda g: of("cell")(g) > 0 and g.find("predicted correctly:", exact=False), 6)
    newest = next(n for k, n, _ in g.widgets if "predicted correctly:" in n)
    s.key("Tab", "Tab")
    s.wait("the slider", lambda g: "Scale" in g.focus[0], 4)
    s.key("Left")
    g = s.wait("samples of the first", lambda g: g.has("Evaluation 1 of 2") and of("cell")(g) > 0
               and g.find("predicted correctly:", exact=False) and not g.has(newest), 6)
    t.ok(True, "the slider shows the samples of the cell as they were: " + next(n for k, n, _ in g.widgets if "correctly:" in n))
    record = os.path.join(g.state["folder"], "evaluated")
    for name in os.listdir(record):
        os.remove(os.path.join(record, name))
    s.key("Right", "Left")
    s.wait("no samples", lambda g: g.has("Evaluation 1 of 2") and g.has("The samples of this evaluation are not there."), 6)
    t.ok(True, "where they are gone, a sentence says which are kept")
    s.key("Right")
    s.wait("the newest", lambda g: g.has("Evaluation 2 of 2") and of("cell")(g) > 0, 6)


def other_views(t, s):
    view(s, "Mistakes", "mistakes")
    g = t.holds(s, lambda g: g.has("mistakes, the highest loss first") and g.has("predicted"),
                "mistakes are listed with their predictions")
    view(s, "Classes", "classes")
    g = t.holds(s, lambda g: "highest:" in words(g, "StudioEvalChart") and not g.has("not balanced: “"),
                "balanced classes bring no warning")
    view(s, "Calibration", "calibration")
    g = s.wait("bins", lambda g: "expected calibration error" in words(g, "StudioEvalChart"), 4)
    t.ok(True, words(g, "StudioEvalChart"))


def own(t, s):
    view(s, "Your Own Input", "own")
    def drawn(before, start, end):
        """Draws until the prediction is another one: the list that just closed takes a press."""
        def condition(g):
            if g.evaluation["answer"] not in ("-", before):
                return True
            x, y, width, height = s.standing("the pad", lambda g: rect(g, "StudioDrawingPad"))
            s.drag(*((x + width * a, y + height * b) for a, b in (start, end)))
            return False
        return condition
    g = s.wait("a prediction", drawn("-", (0.5, 0.25), (0.5, 0.75)), 6, quiet=True)
    first = g.evaluation["answer"]
    t.ok(first.endswith("%"), "a stroke is predicted: " + first)
    s.wait("another prediction", drawn(first, (0.25, 0.5), (0.75, 0.5)), 6, quiet=True)
    t.ok(True, "the prediction follows the drawing")


def plane(t, s):
    """A point of the plane, dragged and by keys; the prediction follows."""
    train(s, 5)
    s.command("Your Own Input")
    g = s.wait("the plane", lambda g: g.evaluation.get("view") == "own" and "point at (" in words(g, "StudioTaskView")
               and "Predicted" in words(g, "StudioTaskView"), 10)
    first = words(g, "StudioTaskView").split(". ")[0]
    x, y, width, height = s.standing("the plane", lambda g: rect(g, "StudioTaskView"))
    s.drag((x + width * 0.4, y + height * 0.5), (x + width * 0.75, y + height * 0.3))
    g = s.wait("another point", lambda g: words(g, "StudioTaskView").split(". ")[0] not in ("", first)
               and "Predicted" in words(g, "StudioTaskView") and g.evaluation["answer"] != "-", 6)
    dragged = words(g, "StudioTaskView").split(". ")[0]
    t.ok(g.evaluation["answer"].endswith("%"), "a point is dragged, and predicted: %s, %s" % (dragged, g.evaluation["answer"]))
    s.key("Left", "Up")
    g = s.wait("moved by keys", lambda g: words(g, "StudioTaskView").split(". ")[0] not in (first, dragged)
               and "Predicted" in words(g, "StudioTaskView"), 6)
    t.ok(True, "arrow keys move it: " + words(g, "StudioTaskView").split(". ")[0])


def samples(t, s):
    view(s, "Samples of the Data", "data")
    t.holds(s, lambda g: g.has("Samples 1 to") and g.has("values from") and rect(g, "StudioTaskView"),
            "a page of samples with the range of their values", 6)


def unbalanced(t, s):
    """Of twenty rows one is of the other class."""
    with open(os.path.join(s.folder, "rare.csv"), "w") as f:
        f.write("a,b,kind\n" + "".join("%d,%d,%s\n" % (i % 7, i % 5, "rare" if i % 20 == 0 else "common") for i in range(400)))
    s.open("rare.xml", TABLE)
    s.wait("graph", lambda g: len(g.cards) == 3 and g.number("faults") == 0, 5)
    train(s, 5)
    s.key("ctrl+e")
    s.wait("evaluated", evaluated, 10)
    view(s, "Classes", "classes")
    s.wait("the warning", lambda g: g.find("The classes are not balanced: “common”", exact=False), 4)
    t.ok(True, "data with a rare class bring a warning")


def generate(t, s):
    train(s, 5)
    s.command("Generate Text")
    s.wait("the page", lambda g: g.evaluation.get("view") == "generate", 4)
    s.press("Generate", kind="GtkLabel")
    g = s.wait("a text", lambda g: of("generated")(g) >= 200 and g.has("Generate"), 30)
    t.ok(True, "a text of %d characters" % of("generated")(g))


def translate(t, s):
    """A net with a decoder writes what belongs to a sentence of one's own, here and as the continuation of a prompt."""
    train(s, 60)
    s.command("Your Own Input")
    s.wait("the page", lambda g: g.evaluation.get("view") == "own", 4)
    field = lambda g: next((r for k, n, r in g.widgets if k == "GtkText" and r[0] >= g.right()), None)  # noqa: E731
    s.fill("the sentence", field, SENTENCE)
    answer = s.wait("a translation", lambda g: g.evaluation["answer"] != "-", 10).evaluation["answer"]
    s.command("Generate Text")
    s.wait("the page", lambda g: g.evaluation.get("view") == "generate", 4)
    s.fill("the sentence", field, SENTENCE)
    s.key("Return")
    g = s.wait("the same translation", lambda g: of("generated")(g) >= 4
               and of("generated")(g) == len(answer.encode()) + 1, 10)
    t.ok(True, "a sentence is translated to a date: " + answer)
    view(s, "Mistakes", "mistakes")
    t.holds(s, lambda g: evaluated(g) and g.has("mistakes, the highest loss first")
            and all(g.find(word, exact=False) for word in ("Source: ", "Target: ", "Written: ")),
            "the worst sentences stand with source, target and what was written", 20)


def several(t, s):
    """A tree has three inputs: the symbols, the parents of the nodes, and how many nodes there are."""
    train(s, 5)
    s.command("Your Own Input")
    g = t.holds(s, lambda g: g.evaluation.get("view") == "own" and g.evaluation["answer"] != "-" and g.has("Begin with Sample")
                and g.find("parent") and g.find("length"), "each input has a field, and begins as in the data", 10)
    first = g.evaluation["answer"]
    length = lambda g: [r for k, n, r in g.widgets if k == "GtkText" and r[0] >= g.right()][-1]  # noqa: E731
    s.fill("the length", length, "one")
    s.wait("a sentence", lambda g: g.has("“one” is not a number, as “length” needs."), 4)
    s.fill("the length", length, "1")
    s.wait("another prediction", lambda g: g.evaluation["answer"] not in ("-", first) and not g.has("is not a number"), 6)
    t.ok(True, "another value of one of them is another prediction")
    view(s, "Confusion Matrix", "confusion")
    g = s.wait("a matrix", lambda g: evaluated(g) and "10 classes, accuracy" in words(g, "StudioConfusion")
               and of("n")(g) == 1000, 10)
    t.ok(True, "and all test samples are evaluated: " + words(g, "StudioConfusion"))


def caption(t, s):
    """A picture of one's own for a net that writes captions."""
    train(s, 5)
    s.command("Your Own Input")
    s.wait("the pad", lambda g: g.evaluation.get("view") == "own" and rect(g, "StudioDrawingPad"), 10)
    def drawn(g):
        if g.evaluation["answer"] != "-":
            return True
        x, y, width, height = s.standing("the pad", lambda g: rect(g, "StudioDrawingPad"))
        s.drag((x + width * 0.5, y + height * 0.25), (x + width * 0.5, y + height * 0.75))
        return False
    g = s.wait("a caption", drawn, 10, quiet=True)
    t.ok(not g.evaluation["answer"].endswith("%"), "a drawing is described: " + g.evaluation["answer"])


def body(t):
    if os.path.isdir(FASHION):
        with Studio("evaluate", LENET) as s:
            matrix(t, s)
            epochs(t, s)
            other_views(t, s)
            own(t, s)
            samples(t, s)
    else:
        print("# Fashion-MNIST is not on this machine: the matrix was not looked at")
    with Studio("evaluate", SPIRALS) as s:
        plane(t, s)
    with Studio("evaluate") as s:
        unbalanced(t, s)
    with Studio("evaluate", DATES) as s:
        translate(t, s)
    with Studio("evaluate", TREES) as s:
        several(t, s)
    with Studio("evaluate", CAPTIONS) as s:
        caption(t, s)
    with Studio("evaluate", CHARS) as s:
        generate(t, s)


if __name__ == "__main__":
    sys.exit(Report().run(body))
