"""Files that other programs change while Studio has them open: written by another program, deleted, opened twice. Whatever was written or
drawn last must be there in the end, on the canvas or in a file."""
import copy
import os
import queue
import sys

import studio
from closing import GRAPH, answer, begin, edit, question, read, write
from studio import Report, Studio

OTHER = GRAPH.replace('  <node id="act" op="relu"/>\n', "").replace('to="act"/>\n', 'to="loss.input"/>\n').replace(
    '  <wire from="act" to="loss.input"/>\n', "")


def put(path, text):
    """As an editor saves: another file takes the name."""
    with open(path + ".new", "w") as f:
        f.write(text)
    os.rename(path + ".new", path)


def reload(t, s):
    path = write(s)
    begin(s, [path])
    put(path, OTHER)
    t.holds(s, lambda g: g.has("Another program has changed “graph.xml”.") and g.find("Reload") and len(g.cards) == 4,
            "a change on disk is said, and changes nothing by itself")
    s.press("Reload")
    g = t.holds(s, lambda g: len(g.cards) == 3 and not g.find("Reload") and not g.has("Edited"),
                "Reload shows what is in the file")
    s.key("ctrl+z")
    s.wait("undone", lambda g: len(g.cards) == 4 and g.has("Edited"), 1)
    t.ok(read(path) == OTHER, "and can be undone, which leaves the file alone")


def save(t, s):
    path = write(s)
    begin(s, [path])
    edit(s)
    put(path, OTHER)
    s.key("ctrl+s")  # at once: whether the monitor was faster makes no difference
    g = question(s, "“graph.xml” has changed on disk")
    t.ok(read(path) == OTHER, "saving over what another program wrote asks first")
    answer(s, g, "Cancel")
    s.wait("back", lambda g: g.state and g.has("It does not contain your changes"), 1)
    s.key("ctrl+s")
    g = question(s, "has changed on disk")
    answer(s, g, "Save As…")
    mine = os.path.join(s.folder, "mine.xml")
    s.choose_file(mine, "Save")
    g = s.wait("saved", lambda g: g.has("gradloom train") and not g.find("Reload"), 3)
    t.ok(read(path) == OTHER and 'id="fc"' in read(mine), "Save As keeps both")

    put(mine, OTHER)
    edit(s, "fc")
    s.key("ctrl+s")
    answer(s, question(s, "“mine.xml” has changed on disk"), "Overwrite")
    s.wait("saved", lambda g: g.state and not g.has("Edited") and not g.find("Reload"), 2)
    t.ok('id="fc"' not in read(mine), "Overwrite does what it says")


def deleted(t, s):
    path = write(s)
    begin(s, [path])
    os.unlink(path)
    t.holds(s, lambda g: g.has("“graph.xml” was deleted or moved") and g.has("Edited"),
            "a deleted file is said; its graph counts as not saved")
    s.press("Close")
    answer(s, question(s, "Save changes to “Closing”?"), "Cancel")
    g = s.wait("back", lambda g: g.state, 1)
    s.press("Save", kind="Label")
    s.wait("saved", lambda g: not g.has("was deleted") and not g.has("Edited"), 2)
    t.ok('id="act"' in read(path), "Save puts it back")


def second_window(t, s):
    path = write(s)
    begin(s, [path])
    s.key("ctrl+o")
    s.choose_file(path, "Open")
    s.wait("said", lambda g: g.has("“graph.xml” is open here already."), 3)
    s.end()
    s.arguments = [path, path]
    s.launch()  # a toast goes after some seconds, so that nothing else is waited for
    s.wait("one window", lambda g: g.has("“graph.xml” is open here already."), 2)
    t.ok(True, "a file that a window has is shown, not opened twice")


def second_process(t, s):
    path = write(s)
    begin(s, [path])
    first = s.studio_pid()
    other = copy.copy(s)
    other.lines, other.log, other.session = queue.Queue(), [], None
    other.launch()
    try:
        t.holds(other, lambda g: g.has("“graph.xml” is also open in another Studio (process %d)" % first) and len(g.cards) == 4,
                "a second Studio opens the file, and says who else has it")
        edit(other)
        other.key("ctrl+s")
        other.wait("saved", lambda g: g.has("gradloom train"), 2)
        other.press("Dismiss")
        other.wait("dismissed", lambda g: not g.has("also open in another Studio"), 1)
        other.key("ctrl+q")
        other.session.wait(20 * studio.PATIENCE)
    finally:
        other.end()
    t.holds(s, lambda g: g.has("Another program has changed “graph.xml”.") and len(g.cards) == 4 and 'id="act"' not in read(path),
            "and the first one hears of what the second saved")
    os.kill(first, 9)
    s.session.wait()
    g = begin(s, [path])
    t.ok(not g.has("also open"), "a Studio that was killed has nothing open")


def body(t):
    with Studio("disk") as s:
        for part in (reload, save, deleted, second_window, second_process):
            part(t, s)


if __name__ == "__main__":
    sys.exit(Report().run(body))
