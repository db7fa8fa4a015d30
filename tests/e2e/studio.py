"""Drives Studio as a person does: a virtual screen, a pointer and a keyboard.

Nothing is called inside the program. The signal SIGUSR2 makes the active window print its geometry to standard error, also
while a menu or a dialog is open; everything that is done with it is done by the screen's pointer and keys (screen.py). Each
Studio has a screen, a session bus, a home and a runtime folder of its own, so that scripts can run next to each other.

No step depends on time. Input is followed by a wait for a state of the window, and a wait ends only when the state holds or
the whole script is out of time. GTK's animations are off, so that a state is complete with the frame that shows it. A failed
step leaves a screenshot, whose path is printed.
"""
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import screen

SOURCE = os.environ.get("GRADLOOM_SOURCE_ROOT", os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")))
BUILD = os.environ.get("GRADLOOM_BUILD_ROOT", "")
WIDTH, HEIGHT = 1280, 800
# How many of a step's seconds it may take until it counts as failed. A step that passes ends as soon as its state holds.
PATIENCE = float(os.environ.get("GRADLOOM_TEST_PATIENCE", "40"))
# The seed of random stalls of Studio, of its worker and of the script, and of random delays of what arrives at Studio
# (stutter.c), as on a machine that is busy with other programs; empty: none.
STALLS = os.environ.get("GRADLOOM_TEST_STALLS", "")


class Failed(Exception):
    pass


class Skipped(Exception):
    """Before the first result: what this machine lacks."""


def missing_tools(also):
    return [t for t in ("Xvfb", "dbus-daemon", "import") + also if shutil.which(t) is None] + screen.missing()


class Geometry:
    """One answer to SIGUSR2."""

    def __init__(self, lines):
        self.cards, self.inputs, self.outputs, self.widgets, self.wires, self.faults = {}, {}, {}, [], [], {}
        self.state, self.evaluation, self.runs, self.canvas, self.focus = {}, {}, {}, None, None
        self.pins, self.pinned = {}, {}
        for line in lines:
            kind, _, rest = line.partition("\t")
            if kind in ("state", "present", "health"):
                self.state.update(f.split("=", 1) for f in rest.split("\t"))
                continue
            if kind == "runs":
                self.runs.update(f.split("=", 1) for f in rest.split("\t"))
                continue
            if kind == "evaluate":
                self.evaluation.update(f.split("=", 1) for f in rest.split("\t"))
                continue
            fields = rest.split("\t")
            if kind == "wire":
                self.wires.append(tuple(fields))
                continue
            if kind == "fault":
                self.faults[fields[0]] = fields[1]
                continue
            if kind == "pinned":
                self.pinned[fields[0]] = dict(f.split("=", 1) for f in fields[1:])
                continue
            name, rect = fields[0], tuple(float(v) for v in fields[1:5])
            if kind == "canvas":
                self.canvas = rect
            elif kind == "focus":
                self.focus = name, rect
            elif kind in ("card", "input", "output", "pin"):
                {"card": self.cards, "input": self.inputs, "output": self.outputs, "pin": self.pins}[kind][name] = rect
            else:
                self.widgets.append((kind, name, rect))

    def number(self, name):
        return float(self.state[name])

    def find(self, text, kind=None, x0=-1e9, x1=1e9, exact=True):
        """Rectangles of widgets with these words."""
        return [r for k, n, r in self.widgets
                if (n == text if exact else text in n) and (kind is None or kind in k) and x0 <= r[0] <= x1]

    def has(self, text):
        return bool(self.find(text, exact=False))

    def right(self):
        """Where the pane at the right of the canvas begins."""
        return self.canvas[0] + self.canvas[2]

    def value_place(self, label):
        """The place of the value next to a label of the right pane."""
        return self.right() + 204, middle(self.find(label, x0=self.right())[0])[1], 0, 0

    def typing(self, rect=None):
        """The text of the field that has the focus, if it is around the middle of a rectangle; None: there is none. A field of
        several lines does not say its text."""
        if self.focus is None or "Text" not in self.focus[0]:
            return None
        name, (left, top, width, height) = self.focus
        x, y = middle(rect or self.focus[1])
        if not (left - 12 <= x <= left + width + 12 and top - 12 <= y <= top + height + 12):
            return None
        return next((n for k, n, r in self.widgets if k == name and r == self.focus[1]), "")

    def popover(self):
        """A menu or a list is open."""
        return bool(self.find("popover"))

    def covered(self, rect):
        """A toast lies over the middle of a rectangle that is not one of its own."""
        x, y = middle(rect)
        return any(name == "toast" and t[0] <= x <= t[0] + t[2] and t[1] <= y <= t[1] + t[3]
                   and all(r != rect for _, _, r in self.widgets[i:]) for i, (_, name, t) in enumerate(self.widgets))

    def dialog(self, button=None):
        """A window of its own has the keyboard: a question, or the desktop's dialog for files."""
        return self.canvas is None and bool(self.widgets) and (button is None or bool(self.find(button)))


def middle(rect):
    return rect[0] + rect[2] / 2, rect[1] + rect[3] / 2


def lesson(name, endless=False):
    """The text of a lesson's graph; endless: its run does not end before a script does, however slow the machine is."""
    with open(os.path.join(SOURCE, "graphs", "lessons", name + ".xml"), encoding="utf-8") as f:
        text = f.read()
    return re.sub(r'epochs="\d+"', 'epochs="200000"', text) if endless else text


def members(session):
    """A Studio and the workers that it has started; not mpirun, which would pass a SIGCONT on."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/comm" % pid, encoding="utf-8") as name:
                if os.getsid(int(pid)) == session and name.read().startswith("gradloom"):
                    found.append(int(pid))
        except OSError:
            pass  # it has ended
    return found


class Studio:
    def __init__(self, name, *arguments, env=None):
        self.name, self.arguments, self.extra = name, list(arguments), env or {}
        self.folder = tempfile.mkdtemp(prefix="gradloom-e2e-")
        self.lines, self.log = queue.Queue(), []
        self.xvfb = self.bus = self.screen = self.session = None
        self.answers = False
        self.dice = random.Random(name + STALLS)
        self.lock, self.halted = threading.Lock(), set()

    # ---- life ----

    def __enter__(self):
        read, write = os.pipe()
        self.xvfb = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "%dx%dx24" % (WIDTH, HEIGHT), "-noreset",
                                      "-nolisten", "tcp"], pass_fds=[write], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as answer:
            display = answer.readline().strip()
        if not display:
            raise Failed("Xvfb did not start")
        home = os.path.join(self.folder, "home")
        settings = os.path.join(home, "config", "gtk-4.0")
        os.makedirs(settings)
        os.makedirs(os.path.join(self.folder, "tmp"))
        with open(os.path.join(settings, "settings.ini"), "w", encoding="utf-8") as f:
            f.write("[Settings]\ngtk-enable-animations=false\ngtk-cursor-blink=false\n")
        self.env = dict(os.environ, DISPLAY=":" + display, HOME=home, GDK_BACKEND="x11", GSK_RENDERER="cairo",
                        GDK_DEBUG="gl-disable", GSETTINGS_BACKEND="memory", GIO_USE_VFS="local", GTK_A11Y="none", LC_ALL="C.UTF-8",
                        XDG_STATE_HOME=os.path.join(home, "state"), XDG_DATA_HOME=os.path.join(home, "data"),
                        XDG_CONFIG_HOME=os.path.join(home, "config"), XDG_CACHE_HOME=os.path.join(home, "cache"),
                        XDG_RUNTIME_DIR=self.folder,
                        # Simultaneous launchers of ranks do not share a folder, which the last of them removes.
                        TMPDIR=os.path.join(self.folder, "tmp"))
        # A complaint of GLib about wrong use is a fault here; a warning about the machine's set-up is not.
        self.env["G_DEBUG"] = "fatal-criticals"
        preloaded = ["backtrace"] + (["stutter"] if STALLS else [])
        self.env["LD_PRELOAD"] = ":".join(os.path.join(BUILD, "tests", "e2e", name + ".so") for name in preloaded)
        self.env.pop("WAYLAND_DISPLAY", None)
        self.env.update(self.extra)
        self.screen = screen.Screen(self.env["DISPLAY"])
        self.begin_session()
        # The pointer starts outside, so that no tooltip covers what is looked at.
        self.move(2, 2)
        self.launch()
        return self

    def begin_session(self):
        """The bus that Studio finds, of its own."""
        read, write = os.pipe()
        self.bus = subprocess.Popen(["dbus-daemon", "--session", "--nofork", "--nosyslog", "--print-address=%d" % write],
                                    env=dict(self.env, LD_PRELOAD=""), pass_fds=[write], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as answer:
            self.env["DBUS_SESSION_BUS_ADDRESS"] = answer.readline().strip()

    def launch(self):
        program = os.path.join(BUILD, "app", "gradloom-studio", "gradloom-studio")
        self.answers = False
        self.session = subprocess.Popen([program] + self.arguments, env=self.env, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
        threading.Thread(target=self.read, args=(self.session.stderr,), daemon=True).start()
        if STALLS:
            threading.Thread(target=self.stall, args=(self.session, random.Random(self.dice.random())), daemon=True).start()

    def stall(self, session, dice):
        """Stops and continues Studio and the programs that it has started, each by itself, until Studio ends. Most stalls are
        short; some of Studio's are longer than any of its timeouts that the next input may meet."""
        stalled = {}
        while session.poll() is None:
            time.sleep(min([dice.expovariate(3)] + [max(end - time.monotonic(), 0) for end in stalled.values()]))
            now = time.monotonic()
            for pid in [pid for pid, end in stalled.items() if end <= now]:
                del stalled[pid]
                self.signal_one(pid, signal.SIGCONT)
            if dice.random() < 0.7:
                pid = dice.choice(sorted(members(session.pid)) or [session.pid])
                if pid not in stalled and self.signal_one(pid, signal.SIGSTOP):
                    long = pid == session.pid and dice.random() < 0.03
                    stalled[pid] = now + (1.3 if long else dice.choice((0.02, 0.05, 0.15, 0.4)))
        for pid in stalled:
            self.signal_one(pid, signal.SIGCONT)

    def signal_one(self, pid, number):
        """Whether a process was there, and is not one that the script has halted."""
        with self.lock:
            try:
                if pid not in self.halted:
                    os.kill(pid, number)
                    return True
            except ProcessLookupError:
                pass
        return False

    def halt(self, pid):
        """Stops a process until it is resumed; one that hangs."""
        with self.lock:
            self.halted.add(int(pid))
            os.kill(int(pid), signal.SIGSTOP)

    def resume(self, pid):
        with self.lock:
            self.halted.discard(int(pid))
            os.kill(int(pid), signal.SIGCONT)

    def dawdle(self):
        """Where stalls are asked for, the script pauses before some inputs."""
        if STALLS and self.dice.random() < 0.1:
            time.sleep(self.dice.choice((0.05, 0.2, 0.5, 1.2)))

    def open(self, name, text):
        """Starts again with a file of this text in the folder; gives its path."""
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        self.end()
        self.arguments = [path]
        self.launch()
        return path

    def read(self, stream):
        for line in stream:
            self.log.append(line)
            self.lines.put(line.rstrip("\n"))

    def studio_pid(self):
        if self.session.poll() is not None:
            raise Failed("Studio is not running")
        return self.session.pid

    def end(self):
        if self.session is not None and self.session.poll() is None:
            os.killpg(self.session.pid, signal.SIGTERM)
            try:
                self.session.wait(5 * PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(self.session.pid, signal.SIGKILL)
                self.session.wait()

    def __exit__(self, kind, value, trace):
        if kind is not None:
            path = os.path.join(tempfile.gettempdir(), "gradloom-e2e-%s.png" % self.name)
            self.screenshot(path)
            print("# screenshot: " + path)
            for line in self.log[-80:] if "backtrace:\n" in self.log else self.log[-15:]:
                if not line.startswith("geometry"):
                    print("# " + line.rstrip())
        self.end()
        self.screen.close()
        for process in (self.bus, self.xvfb):
            if process is not None:
                process.terminate()
                process.wait()
        if kind is None and self.complaints():
            raise Failed("GTK complains: " + self.complaints()[0].strip())
        if kind is None:
            shutil.rmtree(self.folder, ignore_errors=True)
        return False

    def complaints(self):
        """GTK's warnings about wrong use; those about the machine's set-up (no portal, no theme) are left out."""
        return [line for line in self.log if "-CRITICAL **" in line or "Gtk-WARNING" in line
                and any(w in line for w in ("accounting", "allocation", "snapshot", "Finalizing", "measure", "focus"))]

    # ---- hands ----

    def resize(self, width, height):
        """As a window manager does when the edge of the window is dragged."""
        self.screen.resize(width, height)

    def hold(self, *keys):
        for key in keys:
            self.screen.hold(key, True)

    def release(self, *keys):
        for key in keys:
            self.screen.hold(key, False)

    def down(self, button=1):
        self.dawdle()
        self.screen.button(button, True)

    def up(self, button=1):
        self.dawdle()
        self.screen.button(button, False)

    def move(self, x, y):
        self.screen.move(x, y)

    def click(self, at, count=1, button=1):
        """The window sees the pointer arrive before it is pressed: what comes up under a pointer changes what a press means."""
        x, y = middle(at) if len(at) == 4 else at
        self.move(x, y)
        self.look()
        self.dawdle()
        self.screen.click(button, count)

    def press(self, name, **where):
        """Clicks the widget of this text once it stands still: a click on what moves would miss it."""
        x, y = middle(self.standing("“%s” to press" % name, lambda g: (g.find(name, **where) or [None])[0]))
        if not (0 <= x < WIDTH and 0 <= y < HEIGHT):
            raise Failed("“%s” lies beyond the screen, at %d, %d: it must be scrolled to first" % (name, x, y))
        self.click((x, y))

    def press_one(self, *names, **where):
        """Clicks the first of these widgets that is there, also if it becomes another one of them before that."""
        place = lambda g: next((r for n in names for r in g.find(n, **where)), None)  # noqa: E731
        self.click(self.standing("one of “%s” to press" % "”, “".join(names), place))

    def press_card(self, name):
        """Clicks a card once it stands still: panel and bars that come and go leave the cards another place."""
        self.click(self.standing("the card “%s” to press" % name, lambda g: g.cards.get(name)))

    def select(self, name):
        """Clicks a card until it is selected: a bar that comes just then moves it from under the pointer, and a menu that
        closes gives the pointer back only some time later."""
        def clicked(g):
            self.press_card(name)
            return self.look().state["selected"] == name
        self.wait("%s selected" % name, clicked, 5, quiet=True)

    def enter(self, what, place):
        """Clicks the field at place(geometry) until it has the focus: one that moves just before the click is missed."""
        def focused(g):
            at = self.standing(what, place)
            self.click(at)
            return self.look().typing(at) is not None
        self.wait("the focus in " + what, focused, 5, quiet=True)

    def fill(self, what, place, text):
        """Types a text over that of the field at place(geometry). A field that is filled again meanwhile, as when a run begins,
        loses the text, and is typed into again."""
        def filled(g):
            self.enter(what, place)
            self.key("ctrl+a")
            self.type(text)
            return self.look().typing() == text
        self.wait("“%s” in %s" % (text, what), filled, 5, quiet=True)

    def standing(self, what, place):
        """The rectangle place(geometry), once it is the same in two frames, one after the other, and no toast lies over it. A
        toast stays for as long as the pointer is on it."""
        seen = []

        def same(g):
            seen.append(place(g))
            if isinstance(seen[-1], tuple) and g.covered(seen[-1]):
                self.move(2, 2)
                return False
            return seen[-1] is not None and seen[-2:-1] == seen[-1:]
        self.wait(what, same, 5, quiet=True)
        return seen[-1]

    def move_along(self, start, end, steps=6):
        """Each motion is handled, and what it leads to is painted, before the next: motions that pile up are made one."""
        (x0, y0), (x1, y1) = start, end
        for i in range(1, steps + 1):
            self.move(x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps)
            self.look()

    def drag(self, start, end, steps=6, button=1):
        self.move(*start)
        self.look()
        self.down(button)
        self.move_along(start, end, steps)
        self.look()
        self.up(button)
        self.look()

    def key(self, *keys):
        """Each once the window shows what the input before it has led to, as a person presses them."""
        for k in keys:
            self.look()
            self.dawdle()
            self.screen.key(k)

    def type(self, text):
        self.look()
        self.dawdle()
        self.screen.type(text)

    def command(self, words):
        """By its name in the list of all actions, which filters with each letter."""
        self.key("ctrl+shift+p")
        self.wait("the list of actions", lambda g: g.find("New Graph", kind="Label"), 2)
        self.type(words)
        self.wait("“%s” in the list of actions" % words, lambda g: not g.find("New Graph", kind="Label"), 2)
        self.key("Return")

    def choose_file(self, path, button):
        """Types a path into the desktop's dialog for files, whose button is this, once it has the keyboard."""
        self.wait("the dialog for files", lambda g: g.dialog(button), 3)
        self.key("ctrl+a")
        self.type(path)
        self.wait("the path in the dialog", lambda g: g.find(path, kind="GtkText"), 3)
        self.key("Return")
        self.wait("the dialog's end", lambda g: not g.dialog(button), 3)

    # ---- eyes ----

    def screenshot(self, path):
        subprocess.run(["import", "-window", "root", path], env=dict(self.env, LD_PRELOAD=""), stderr=subprocess.DEVNULL)

    def listens(self):
        """Before Studio has a handler, the signal would end it."""
        if not self.answers:
            with open("/proc/%d/status" % self.session.pid) as f:
                caught = next((line for line in f if line.startswith("SigCgt")), "SigCgt: 0")
            self.answers = bool(int(caught.split()[1], 16) >> (signal.SIGUSR2 - 1) & 1)
        return self.answers

    def look(self, seconds=10):
        """The present geometry, after all input that was made."""
        end = time.monotonic() + seconds * PATIENCE
        while not self.listens():
            self.alive()
            if time.monotonic() > end:
                raise Failed("Studio does not start")
            time.sleep(0.02)
        while not self.lines.empty():
            self.lines.get()
        try:
            os.kill(self.session.pid, signal.SIGUSR2)
        except ProcessLookupError:
            self.alive()
        lines = []
        while time.monotonic() < end:
            try:
                line = self.lines.get(timeout=0.2)
            except queue.Empty:
                self.alive()
                continue
            if line == "geometry end":
                return Geometry(lines)
            if line.startswith("geometry "):
                lines.append(line[len("geometry "):])
        raise Failed("the window does not answer")

    def alive(self):
        if self.session.poll() is not None:
            raise Failed("Studio ended with status %s" % self.session.poll())

    def wait(self, what, condition, seconds, quiet=False):
        """Looks until condition(geometry) holds. seconds is the script's; PATIENCE times that is allowed. A condition that
        asks for what a window or the disk does not have yet, such as the state of a run while a dialog is open, does not hold.

        The condition includes all that is read of the geometry afterwards: the parts of a state arrive one after the other."""
        begin, pause, lacks = time.monotonic(), 0 if STALLS else 0.02, ""
        while True:
            g = self.look()
            try:
                holds = condition(g)
            except (LookupError, TypeError, ValueError, StopIteration, FileNotFoundError) as lacking:
                holds, lacks = False, "; %r" % lacking
            if holds:
                if not quiet:
                    print("# %s after %.1f s (script: %g s)" % (what, time.monotonic() - begin, seconds))
                return g
            if time.monotonic() - begin > max(seconds, 1) * PATIENCE:
                raise Failed("%s: not within %g s%s; state %s" % (what, seconds * PATIENCE, lacks, g.state))
            # To look costs the window a frame, so what takes seconds is looked at less often.
            time.sleep(pause)
            pause = min(2 * pause, 0.16)

    def still(self, what, condition):
        """The geometry once condition(geometry) holds and no card moves any more."""
        self.wait(what, condition, 2)
        before = None
        while True:
            g = self.look()
            if g.cards == before:
                return g
            before = g.cards


class Report:
    """TAP on standard output."""

    def __init__(self):
        self.n, self.failed = 0, False

    def ok(self, condition, what):
        self.n += 1
        print("%s %d - %s" % ("ok" if condition else "not ok", self.n, what), flush=True)
        if not condition:
            self.failed = True
            raise Failed(what)

    def holds(self, s, condition, what, seconds=5):
        """Waits until condition(geometry) holds, and reports that in these words. Gives the geometry. In place of `ok` for what
        was read just before, which may have been a frame too early."""
        g = s.wait(what, condition, seconds, quiet=True)
        self.ok(True, what)
        return g

    def run(self, body, *also):
        """also: programs that this script needs in addition to those of all."""
        lacking = missing_tools(also)
        if lacking:
            print("1..0 # SKIP not installed: " + ", ".join(lacking))
            return 0
        try:
            body(self)
        except Skipped as lacking:
            print("1..0 # SKIP %s" % lacking)
            return 0
        except (Failed, subprocess.SubprocessError, OSError) as failure:
            if not self.failed:
                self.n += 1
                print("not ok %d - %s" % (self.n, failure))
            print("1..%d" % self.n)
            return 1
        print("1..%d" % self.n)
        return 0


def inside(rect, frame):
    return (rect[0] >= frame[0] - 1 and rect[1] >= frame[1] - 1 and rect[0] + rect[2] <= frame[0] + frame[2] + 1
            and rect[1] + rect[3] <= frame[1] + frame[3] + 1)
