"""The minimap: a drag in it moves the view; it is there only where the graph does not fit, and goes by its menu item."""
import os
import sys

import studio
from studio import Report, Studio, inside

RESNET = os.path.join(studio.SOURCE, "graphs", "models", "fashion-resnet.xml")


def corner(g):
    """A point on the map's lower part, wherever its upper edge is."""
    x, y, w, h = g.canvas
    return x + w - 12 - 92, y + h - 12 - 24


def moved(before, after):
    card = next(iter(before.cards))
    return after.cards[card][0] - before.cards[card][0]


def body(t):
    with Studio("minimap", RESNET) as s:
        g = s.wait("all in sight", lambda g: g.cards and all(inside(r, g.canvas) for r in g.cards.values()), 3)
        x, y = corner(g)
        s.drag((x, y), (x - 40, y))
        after = s.look()
        t.ok(moved(g, after) == 0, "where all of the graph is seen there is no map")
        s.key("Escape")
        for _ in range(4):
            s.key("ctrl+plus")
        before = s.wait("larger", lambda g: any(not inside(r, g.canvas) for r in g.cards.values()), 2)
        s.drag((x, y), (x - 40, y))
        after = s.wait("panned", lambda g: moved(before, g) > 60, 2)
        t.ok(True, "a drag to the left on the map shows what is to the left: %.0f pixels" % moved(before, after))
        card = next(iter(before.cards))
        t.ok(after.cards[card][2:] == before.cards[card][2:], "at the same zoom")
        s.drag((x - 40, y), (x + 20, y))
        back = t.holds(s, lambda g: moved(after, g) < -60, "and back to the right")
        s.press([n for k, n, r in back.widgets if n.endswith(" %") and r[1] > 700][0])
        s.wait("the menu", lambda g: g.popover(), 2)
        s.key("m")
        before = s.still("the menu's end", lambda g: not g.popover())
        s.drag((x, y), (x - 40, y))
        t.ok(moved(before, s.look()) == 0, "without the map the same drag moves nothing")


if __name__ == "__main__":
    sys.exit(Report().run(body))
