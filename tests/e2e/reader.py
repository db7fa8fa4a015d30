"""Studio as a screen reader knows it: what the accessibility bus says, the name, the description and the states of what has
the focus, as Orca would speak them. A script that imports this runs again in a session with such a bus.
"""
import os
import re
import subprocess
import sys
import tempfile
import time

import studio
from studio import Failed, Studio

SYSTEM_PYTHON = "/usr/bin/python3"


def enter():
    """The bindings of the accessibility bus belong to the system's Python, and the bus to a session: runs the script there.
    What the session's own programs print goes to standard error, because standard output is TAP, and warnings of the bus
    while Studio starts are no fault of this script."""
    if "GRADLOOM_TEST_READER" in os.environ:
        os.dup2(int(os.environ["GRADLOOM_TEST_READER"]), 1)
        return
    tap = os.dup(1)
    os.set_inheritable(tap, True)
    os.dup2(2, 1)
    os.environ["GRADLOOM_TEST_READER"] = str(tap)
    os.environ.pop("G_DEBUG", None)
    # The socket of the accessibility bus is there: one of each script, since several run at once.
    os.environ["XDG_RUNTIME_DIR"] = tempfile.mkdtemp(prefix="gradloom-reader-")
    os.execvp("dbus-run-session", ["dbus-run-session", "--", SYSTEM_PYTHON, os.path.abspath(sys.argv[0])] + sys.argv[1:])


def lacking():
    asked = "import gi; gi.require_version('Atspi', '2.0'); from gi.repository import Atspi"
    try:
        return subprocess.run([SYSTEM_PYTHON, "-c", asked], capture_output=True).returncode != 0
    except OSError:
        return True


if lacking():
    print("1..0 # SKIP not installed: python3-gi and gir1.2-atspi-2.0")
    sys.exit(0)
enter()

import gi  # noqa: E402

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib  # noqa: E402

# By default an answer that takes 0.8 s is given up, and with it everything that was heard before: milliseconds, also for a
# program that is just starting.
Atspi.set_timeout(60000, 60000)


class Heard:
    """One accessible object as a screen reader would speak it."""

    def __init__(self, source):
        self.role, self.name, self.description = source.get_role_name(), source.get_name() or "", source.get_description() or ""
        self.states = [s.value_nick for s in source.get_state_set().get_states()]

    def __repr__(self):
        return "%s “%s” (%s) %s" % (self.role, self.name, self.description, " ".join(self.states))


class Reader(Studio):
    """Studio in the session that this script runs in, with its accessibility bus."""

    def __init__(self, name, *arguments):
        super().__init__(name, *arguments, env={"GTK_A11Y": "atspi"})
        self.focus, self.changes, self.listener = None, 0, None

    def __enter__(self):
        self.listener = Atspi.EventListener.new(self.focused)
        self.listener.register("object:state-changed:focused")
        return super().__enter__()

    def __exit__(self, *what):
        self.listener.deregister("object:state-changed:focused")
        return super().__exit__(*what)

    def begin_session(self):
        """This script is in the session already."""

    def focused(self, event):
        try:
            if event.detail1:
                self.focus, self.changes = event.source, self.changes + 1
        except GLib.Error:
            pass  # it was gone before it could be asked

    def listen(self, seconds=0.05):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            while GLib.MainContext.default().iteration(False):
                pass
            time.sleep(0.01)
        if self.session.poll() is not None:
            raise Failed("Studio ended with status %s" % self.session.poll())

    def heard(self):
        try:
            return Heard(self.focus) if self.focus is not None else None
        except GLib.Error:
            return None

    def until(self, what, condition, seconds):
        """Listens until condition() holds."""
        end = time.monotonic() + seconds * studio.PATIENCE
        while time.monotonic() < end:
            self.listen()
            try:
                found = condition()
            except GLib.Error:
                found = None
            if found:
                return found
        raise Failed("%s: not heard; the focus is on %s" % (what, self.heard()))

    def hear(self, what, condition, seconds=2):
        def fits():
            h = self.heard()
            return h if h is not None and condition(h) else None
        return self.until(what, fits, seconds)

    def window(self):
        desktop = Atspi.get_desktop(0)
        for i in range(desktop.get_child_count()):
            application = desktop.get_child_at_index(i)
            if application is not None and application.get_child_count() > 0:
                return application.get_child_at_index(0)
        return None

    def everything(self, condition, thorough=False):
        """Objects under the window that condition holds for; those in the long list of layers only if it is thorough, since
        each takes several calls over the bus."""
        found, left = [], [self.window()]
        while left:
            at = left.pop()
            if at is None:
                continue
            h = Heard(at)
            if condition(h):
                found.append(h)
            if h.role == "list" and h.name == "Layers" and not thorough:
                continue
            left.extend(at.get_child_at_index(i) for i in reversed(range(at.get_child_count())))
        return found

    def tab_to(self, name):
        for _ in range(30):
            before = self.changes
            self.key("Tab")
            self.until("another focus", lambda: self.changes > before, 2)
            h = self.heard()
            if h is not None and h.name == name:
                return h
        raise Failed("Tab does not lead to “%s”; the focus is on %s" % (name, self.heard()))

    def figures(self):
        """The numbers that stand below words in the run's panel, by word."""
        texts = [h.name for h in self.everything(lambda h: h.role == "label" and "visible" in h.states)]
        return {word: float(number.replace(",", "")) for word, number in reversed(list(zip(texts, texts[1:])))
                if re.fullmatch(r"[0-9.,]+(e-?[0-9]+)?", number)}
