"""What an agent proposes for an open graph, by `gradloom mcp`: the file and the canvas stay as they are until the user asks; then the
proposal is one step, marked on the canvas, which is accepted or refused."""
import json
import os
import subprocess
import sys

from closing import GRAPH, begin, read, write
from studio import BUILD, Report, Studio

NORM = GRAPH.replace('  <node id="act"', '  <node id="norm" op="batch_norm1d"/>\n  <node id="act"').replace(
    '<wire from="fc" to="act"/>', '<wire from="fc" to="norm"/>\n  <wire from="norm" to="act"/>')
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


def propose(s, xml, title="Normalise before the activation"):
    gradloom = os.path.join(BUILD, "app", "gradloom")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"_meta": META, "name": "propose",
                       "arguments": {"graph": "graph.xml", "xml": xml, "title": title, "reason": "Its inputs have other scales."}}}
    done = subprocess.run([gradloom, "mcp", "--root", s.folder], input=json.dumps(call) + "\n", stdout=subprocess.PIPE, text=True,
                          check=True)
    assert "Proposed" in done.stdout, done.stdout


def offered(g):
    return g.has("An agent proposes: “Normalise before the activation”.") and g.has("Its inputs have other scales.")


def picture(s, name):
    folder = os.environ.get("GRADLOOM_PICTURES")
    if folder:
        s.screenshot(os.path.join(folder, name + ".png"))


def accept(t, s, path):
    propose(s, NORM)
    g = t.holds(s, lambda g: offered(g) and len(g.cards) == 4 and not g.has("Edited"), "a proposal is offered, and changes nothing")
    picture(s, "proposal-offered")
    s.press("Show Proposal")
    g = t.holds(s, lambda g: "norm" in g.cards and g.has("Compared with the graph before the proposal") and g.find("Accept")
                and g.has("Edited"), "Show makes it the graph, with its differences")
    picture(s, "proposal-shown")
    t.ok(read(path) == GRAPH, "the file is as it was")
    s.press("Accept")
    t.holds(s, lambda g: "norm" in g.cards and not g.find("Accept") and not g.has("Compared with"), "Accept keeps it")
    t.ok(read(path) == GRAPH and not os.path.exists(path + ".proposal"), "the file is still as it was, and the proposal is gone")
    s.key("ctrl+z")
    t.holds(s, lambda g: len(g.cards) == 4 and not g.has("Edited"), "one step undoes it")


def refuse(t, s, path):
    propose(s, NORM)
    s.wait("offered", offered, 5)
    s.press("Show Proposal")
    s.wait("shown", lambda g: "norm" in g.cards and g.find("Refuse"), 5)
    s.press("Refuse")
    t.holds(s, lambda g: len(g.cards) == 4 and not g.find("Refuse") and not g.has("Edited"), "Refuse undoes it")
    t.ok(not os.path.exists(path + ".proposal"), "and removes the proposal")
    propose(s, NORM)
    s.wait("offered", offered, 5)
    s.press("Show Proposal")
    s.wait("shown", lambda g: "norm" in g.cards and g.find("Accept"), 5)
    s.key("ctrl+z")
    t.holds(s, lambda g: len(g.cards) == 4 and g.find("Show Proposal"), "a proposal that is undone is offered again")
    s.press("Refuse")
    s.wait("refused", lambda g: not g.find("Refuse") and not os.path.exists(path + ".proposal"), 5)


def other(t, s, path):
    """The user has edited since; a file that is no proposal; a proposal that was there before the graph was opened."""
    propose(s, NORM)
    s.wait("offered", offered, 5)
    s.select("act")
    s.key("Delete")
    s.wait("edited", lambda g: "act" not in g.cards, 2)
    s.press("Show Proposal")
    t.holds(s, lambda g: g.has("The graph is not the one for which this was proposed.") and len(g.cards) == 3,
            "edits of the user are not replaced")
    s.key("ctrl+z")
    s.wait("undone", lambda g: len(g.cards) == 4, 2)
    with open(path + ".proposal", "w", encoding="utf-8") as f:
        f.write("{\"graph\":7}")
    t.holds(s, lambda g: not g.find("Show Proposal"), "a file that is no proposal is not offered")
    propose(s, NORM)
    begin(s, [path])
    t.holds(s, offered, "a proposal that was made before is offered")


def body(t):
    with Studio("proposal") as s:
        path = write(s)
        begin(s, [path])
        for part in (accept, refuse, other):
            part(t, s, path)


if __name__ == "__main__":
    sys.exit(Report().run(body))
