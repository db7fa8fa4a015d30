"""A session is recorded into a file, and Studio replays it: graph, selection, curve and captions, at any speed, forward and
back."""
import json
import os
import sys

import studio
from studio import Report, Studio

GRAPH = os.path.join(studio.SOURCE, "graphs", "lessons", "spirals.xml")
SHOTS = os.environ.get("GRADLOOM_SHOTS")
NOTE = "Four folds are too few."


def record(t, s, path):
    s.wait("the graph", lambda g: len(g.cards) == 6, 10)
    s.command("record the session")
    s.choose_file(path, "Record")
    s.wait("recording", lambda g: g.state["recording"] == "recording", 5)
    s.select("hidden")
    s.fill("the number of units", lambda g: g.value_place("Out features"), "4")
    s.key("Return")
    s.wait("set", lambda g: ("hidden", "act", "B × 4") in g.wires, 3)
    s.fill("the caption", lambda g: g.find("Caption, then Enter")[0] if g.find("Caption, then Enter") else g.find(NOTE)[0], NOTE)
    s.key("Return")
    s.press_one("Train", "Restart")
    s.wait("a curve", lambda g: g.number("points") > 100, 30)
    if SHOTS:
        s.screenshot(os.path.join(SHOTS, "recording.png"))
    s.command("record the session")
    s.wait("the end", lambda g: g.state["recording"] == "-", 5)
    s.command("stop training")
    with open(path, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    t.ok(lines[0]["recording"] == 1 and "<graph" in lines[0]["graph"], "the file begins with the graph")
    kinds = [next(k for k in line if k != "at") for line in lines[1:]]
    t.ok({"graph", "selection", "note", "command", "state", "run"} <= set(kinds), "and has events: %s" % sorted(set(kinds)))
    times = [line["at"] for line in lines[1:]]
    t.ok(times == sorted(times), "in the order of time")
    return lines


def at(lines, kind, value):
    return next(line["at"] for line in lines[1:] if line.get(kind) == value)


def replay(t, path, lines):
    """The recording as it was made, with times that are known."""
    events = [dict(line, at=float(i)) for i, line in enumerate(lines[1:])]
    copy = path.replace("made", "even")
    with open(copy, "w", encoding="utf-8") as f:
        for line in [lines[0]] + events:
            f.write(json.dumps(line) + "\n")
        f.write('{"at": 1e5, "cut off')
    steps = [e["run"]["step"] for e in events if e.get("run", {}).get("event") == "step"]
    last = events[-1]["at"]
    with Studio("replay", copy) as s:
        g = t.holds(s, lambda g: g.state["recording"] == "playing" and len(g.cards) == 6, "a recording plays when it is opened", 10)
        s.press("Pause")
        s.wait("paused", lambda g: g.state["recording"] == "paused", 5)
        s.key("Tab")  # from the button to the slider
        s.key("End")
        g = t.holds(s, lambda g: g.number("recorded") == last and g.number("step") == steps[-1]
                    and ("hidden", "act", "B × 4") in g.wires, "End shows the last graph and the whole curve")
        t.ok(g.number("points") == len(steps), "with the points that were recorded: %d" % len(steps))
        note = at([None] + events, "note", NOTE)
        s.key("Home")
        t.holds(s, lambda g: g.number("recorded") == 0 and g.number("points") == 0
                and ("hidden", "act", "B × 32") in g.wires, "Home shows the beginning")
        for _ in range(int(note)):
            s.key("Right")
        g = t.holds(s, lambda g: g.number("recorded") == note and g.state["caption"] == NOTE, "and seconds later the caption")
        t.ok(g.has(NOTE) and g.state["selected"] == "hidden", "below the canvas, with the card that was selected")
        if SHOTS:
            s.screenshot(os.path.join(SHOTS, "replay.png"))
        s.key("Home")
        s.press("1 ×")
        s.wait("the speeds", lambda g: g.popover(), 3)
        s.key("End", "Up", "Return")
        s.wait("64 times", lambda g: g.find("64 ×") and not g.popover(), 3)
        s.press("Play")
        t.holds(s, lambda g: g.state["recording"] == "paused" and g.number("recorded") == last
                and g.number("points") == len(steps), "at 64 times the speed it plays to its end", 20)


def refused(t, folder):
    path = os.path.join(folder, "no.recording")
    with open(path, "w", encoding="utf-8") as f:
        f.write('{"recording": 1, "title": "", "graph": "<graph/>"}\n{"at": 2, "note": ""}\n{"at": 1, "note": ""}\n')
    with Studio("no-recording", path) as s:
        t.holds(s, lambda g: g.has("Line 3: not an event."), "an event that is earlier than the one before is refused", 10)


def body(t):
    with Studio("recording", GRAPH) as s:
        path = os.path.join(s.folder, "made.recording")
        lines = record(t, s, path)
        replay(t, path, lines)
        refused(t, s.folder)


if __name__ == "__main__":
    sys.exit(Report().run(body))
