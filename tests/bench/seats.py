#!/usr/bin/env python3
"""How much memory a class of Studios takes on one machine, each of which trains the lesson of the two spirals.

  tests/bench/seats.py BUILD [SEATS]     BUILD is a build folder with -Dtests=true; 8 seats by default

Each Studio has a screen, a bus and a home of its own, as people who log in have. Printed are the proportional shares (PSS: what
several processes map counts once) and the resident sizes of Studio and of its worker, and the loss that each has reached, which
shows that all train.
"""
import os
import statistics
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ["GRADLOOM_BUILD_ROOT"] = os.path.abspath(sys.argv[1])
os.environ.setdefault("GRADLOOM_DATA", os.path.join(os.environ["GRADLOOM_BUILD_ROOT"], "tests", "datasets"))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))

from studio import Studio  # noqa: E402

SEATS = int(sys.argv[2]) if len(sys.argv) > 2 else 8
LESSON = os.path.join(ROOT, "graphs", "lessons", "spirals.xml")


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        for child in map(int, f.read().split()):
            yield child
            yield from children(child)


def memory(pid):
    """PSS and RSS in MB."""
    with open("/proc/%d/smaps_rollup" % pid) as f:
        fields = dict(line.split(":") for line in f.readlines()[1:])
    return [int(fields[name].split()[0]) / 1000 for name in ("Pss", "Rss")]


def main():
    seats = []
    try:
        for i in range(SEATS):
            s = Studio("seat-%d" % i, LESSON)
            seats.append(s.__enter__())
            s.wait("the lesson", lambda g: len(g.cards) > 4, 10)
            s.press("Train")
        studios, workers = [], []
        losses = [s.wait("a trained net", lambda g: g.number("step") > 1000 and g.number("loss") > 0, 100).number("loss") for s in seats]
        for s in seats:
            workers.append([sum(m) for m in zip(*map(memory, children(s.session.pid)))] or [0, 0])
            studios.append(memory(s.session.pid))
    finally:
        for s in reversed(seats):
            s.__exit__(None, None, None)
    print("%d seats; losses %s" % (SEATS, " ".join("%.3g" % x for x in losses)))
    for name, values in (("Studio", studios), ("worker", workers), ("both", [[a + b for a, b in zip(x, y)] for x, y in zip(studios, workers)])):
        for kind, of in zip(("PSS", "RSS"), zip(*values)):
            print("  %-6s %s: median %.0f MB, most %.0f MB" % (name, kind, statistics.median(of), max(of)))


main()
