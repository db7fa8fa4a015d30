"""A formula, typed: an expression's ports follow what is written in it, a wire to a name that is gone is reported and not
lost, a mistake is said, and undo brings all of it back. Then rows of the training settings: another method, a group."""
import os
import sys

from drawing import drop, set_parameter, wire
from studio import Report, Studio, middle

GRAPH = """<?xml version="1.0" encoding="UTF-8"?>
<graph xmlns="urn:gradloom:graph" version="1" name="formula">
  <node id="data" op="dataset" source="spirals"/>
  <node id="fc" op="linear" out_features="2"/>
  <node id="beta" op="parameter" shape="2" init="ones"/>
  <node id="loss" op="cross_entropy"/>
  <wire from="data.x" to="fc"/>
  <wire from="data.y" to="loss.target"/>
  <train loss="loss" optimizer="adam" lr="0.01" epochs="2000" seed="1"/>
  <layout>
    <place node="data" x="40" y="200"/>
    <place node="fc" x="264" y="40"/>
    <place node="beta" x="264" y="200"/>
    <place node="loss" x="712" y="200"/>
  </layout>
</graph>
"""


def type_formula(s, card, label, text):
    """The field of a formula stands below its name."""
    g = s.look()
    s.select(card)
    right = g.canvas[0] + g.canvas[2]
    g = s.wait("field of " + label, lambda g: g.find(label, x0=right) and g.state["selected"] == card, 2)

    def below(g):
        x, y, w, h = g.find(label, x0=right)[0]
        return x + 100, y + h + 18, 0, 0
    s.enter(label, below)
    s.key("ctrl+a")
    s.type(text)


def inputs(g, card):
    return sorted(name.split(".")[1] for name in g.inputs if name.startswith(card + "."))


def body(t):
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), "gradloom-e2e-formula-%d.xml" % os.getpid())
    with open(path, "w") as f:
        f.write(GRAPH)
    with Studio("formula", path) as s:
        g = s.wait("graph", lambda g: len(g.cards) == 4, 3)
        card = drop(s, "Expression", 440, 200)
        t.holds(s, lambda g: inputs(g, card) == ["x"], "a new expression has one input, x")
        type_formula(s, card, "Formula", "x * sigmoid(beta * x)")
        g = s.wait("port beta", lambda g: inputs(g, card) == ["beta", "x"], 2)
        t.ok(True, "the name beta in the formula is a port on the card")
        wire(s, "fc.out", card + ".x")
        wire(s, "beta.out", card + ".beta")
        wire(s, card + ".out", "loss.input")
        g = t.holds(s, lambda g: g.number("faults") == 0 and ("beta", card, "2") in g.wires,
                    "wired, with shapes and without a fault")

        type_formula(s, card, "Formula", "x * sigmoid(scale * x)")
        g = s.wait("fault", lambda g: "beta" in g.faults[card] and len(g.wires) == 5, 2)
        t.ok(True, "a wire to the name that is gone is kept and reported: " + g.faults[card])
        s.select(card)
        s.key("ctrl+period")
        g = t.holds(s, lambda g: g.number("faults") == 0 and inputs(g, card) == ["scale", "x"]
                    and ("beta", card, "2") in g.wires, "the fix wires it to the new name")
        s.key("ctrl+z")
        s.wait("fault again", lambda g: card in g.faults, 2)
        s.key("ctrl+z")
        g = s.wait("undone", lambda g: g.number("faults") == 0 and inputs(g, card) == ["beta", "x"], 2)
        t.ok(True, "one undo takes the typing back, and the ports with it")

        type_formula(s, card, "Formula", "x * sigmoid(beta * x) + * beta")
        g = s.wait("fault", lambda g: "at position 25" in g.faults[card], 2)
        t.ok(True, "a mistake is said with its place: " + g.faults[card])
        type_formula(s, card, "Formula", "x * sigmoid(beta * x)")
        s.wait("fixed", lambda g: g.number("faults") == 0, 2)

        s.key("Escape")
        set_parameter(s, None, "Batch size", "100")
        s.click(s.standing("the method", lambda g: (g.right() + 265, middle(g.find("Method", x0=g.right())[0])[1], 0, 0)))
        s.wait("the list of methods", lambda g: g.popover(), 2)
        s.key("Down", "Return")
        s.wait("the list's end", lambda g: not g.popover() and g.state["focus"] == "GtkToggleButton", 2)
        s.type("zz")
        t.holds(s, lambda g: g.state["focus"] == "GtkToggleButton" and g.number("faults") == 0,
                "the focus stays at the method that was chosen")
        s.key("ctrl+z")
        set_parameter(s, None, "Loss", "zz")
        s.wait("fault of the training", lambda g: g.number("faults") == 1, 2)
        t.ok(True, "a loss that there is not is a fault like any other")
        set_parameter(s, None, "Loss", "loss")
        g = t.holds(s, lambda g: g.number("faults") == 0 and g.find("Groups of weights"),
                    "the training settings list groups and metrics")
        s.press("Train")
        g = s.wait("loss falls", lambda g: g.number("points") > 20 and g.number("loss") < 0.69, 8)
        t.ok(True, "it trains through the formula: loss %.3f" % g.number("loss"))
    os.unlink(path)


if __name__ == "__main__":
    sys.exit(Report().run(body))
