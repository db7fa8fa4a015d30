"""Where a graph begins: from a data set, and from a table of one's own, until the first loss."""
import os
import sys

from studio import Report, Studio

FLOWERS = "id;length;width;kind\n" + "".join(
    "%d;%.1f;%s;%s\n" % (i + 1, 1 + i % 5 + (3 if i % 2 else 0), "" if i % 9 == 4 else "%.1f" % (i % 7), "rose" if i % 2 else "tulip")
    for i in range(60))


def pictures(s, name):
    """Where BEGIN_PICTURES names a folder, what is seen is kept there."""
    folder = os.environ.get("BEGIN_PICTURES")
    if folder:
        s.screenshot(os.path.join(folder, name + ".png"))


def train(s, t, what):
    s.press("Train")
    s.wait("first loss", lambda g: g.number("points") >= 1, 3)
    t.ok(True, "a graph from %s trains at once" % what)
    s.key("ctrl+shift+period")
    s.wait("stopped", lambda g: g.state["run"] in ("stopped", "done"), 3)


def body(t):
    with Studio("begin") as s:
        groups = ("See it learn", "Build", "Inside", "Many machines", "Ready to train")
        t.holds(s, lambda g: g.has("From data…") and all(g.find(group, kind="GtkLabel") for group in groups),
                "examples are grouped by what one sees")
        s.press("From data…")
        g = t.holds(s, lambda g: g.has("Choose Data") and g.has("1,000 to train on") and g.typing() is not None
                    and g.has("Fashion-MNIST") and g.has("CSV table"), "the list has every data set")
        pictures(s, "list")
        s.type("spiral")
        s.wait("what is asked for", lambda g: not g.has("Fashion-MNIST"), 2)
        s.key("Escape")
        s.wait("the whole list", lambda g: g.has("Choose Data") and g.has("Fashion-MNIST"), 2)
        s.key("Escape")
        s.wait("the start page", lambda g: g.has("From data…") and not g.has("Choose Data"), 2)
        t.ok(True, "Escape empties the search, and then leaves")
        s.press("From data…")
        s.wait("the list", lambda g: g.has("Choose Data") and g.typing() is not None, 3)
        s.type("spiral")
        s.wait("what is asked for", lambda g: not g.has("Fashion-MNIST"), 2)
        s.press("Two spirals", kind="GtkLabel")
        s.wait("its page", lambda g: g.has("One linear layer") and g.find("Create"), 2)
        pictures(s, "spirals")
        s.press("Create")
        g = t.holds(s, lambda g: len(g.cards) == 5 and g.number("faults") == 0 and len(g.wires) == 5,
                    "a network with loss stands on the canvas, without a fault")
        pictures(s, "spirals-graph")
        train(s, t, "a data set")

        path = os.path.join(s.folder, "flowers.csv")
        with open(path, "w", encoding="utf-8") as f:
            f.write(FLOWERS)
        s.key("ctrl+alt+n")
        s.wait("the list", lambda g: g.has("Choose Data") and g.typing() is not None, 3)
        s.type("csv")
        s.wait("what is asked for", lambda g: not g.has("Two spirals"), 2)
        s.press("CSV table")
        g = s.wait("the page of tables", lambda g: g.has("Choose a table"), 2)
        pictures(s, "csv-empty")
        s.fill("the table's path", lambda g: next(r for k, n, r in g.widgets if k == "GtkText"), path)
        g = t.holds(s, lambda g: g.has("Predicts which of 2 classes “kind” is") and g.has("from 2 columns"),
                    "the number of the row is no feature, and the separator was found")
        pictures(s, "csv")
        s.press("Create")
        g = s.wait("the graph", lambda g: g.state.get("tabs") == "2" and len(g.cards) == 5 and g.number("faults") == 0, 3)
        t.ok(True, "it stands in a tab of its own")
        train(s, t, "a table")


if __name__ == "__main__":
    sys.exit(Report().run(body))
