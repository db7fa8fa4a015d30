"""Drives Studio as a person does: a virtual screen, a pointer and a keyboard.

Nothing is called inside the program. Where things are is asked by a key (Ctrl+Alt+Shift+D), which makes the window print
its geometry to standard error; everything that is done with it goes through xdotool. A failed step leaves a screenshot,
whose path is printed.
"""
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

SOURCE = os.environ.get("GRADLOOM_SOURCE_ROOT", os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")))
BUILD = os.environ.get("GRADLOOM_BUILD_ROOT", "")
WIDTH, HEIGHT = 1280, 800
# A loaded machine is slower than the script's seconds; the true time of each step is printed beside it.
PATIENCE = float(os.environ.get("GRADLOOM_TEST_PATIENCE", "6"))


class Failed(Exception):
    pass


def missing_tools(also):
    return [t for t in ("Xvfb", "xdotool", "dbus-run-session", "import") + also if shutil.which(t) is None]


class Geometry:
    """One answer to Ctrl+Alt+Shift+D."""

    def __init__(self, lines):
        self.cards, self.inputs, self.outputs, self.widgets, self.wires, self.faults = {}, {}, {}, [], [], {}
        self.state, self.canvas = {}, None
        for line in lines:
            kind, _, rest = line.partition("\t")
            if kind in ("state", "present"):
                self.state.update(f.split("=", 1) for f in rest.split("\t"))
                continue
            fields = rest.split("\t")
            if kind == "wire":
                self.wires.append(tuple(fields))
                continue
            if kind == "fault":
                self.faults[fields[0]] = fields[1]
                continue
            name, rect = fields[0], tuple(float(v) for v in fields[1:5])
            if kind == "canvas":
                self.canvas = rect
            elif kind in ("card", "input", "output"):
                {"card": self.cards, "input": self.inputs, "output": self.outputs}[kind][name] = rect
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


def middle(rect):
    return rect[0] + rect[2] / 2, rect[1] + rect[3] / 2


def lesson(name):
    """The text of a lesson's graph."""
    with open(os.path.join(SOURCE, "graphs", "lessons", name + ".xml"), encoding="utf-8") as f:
        return f.read()


class Studio:
    def __init__(self, name, *arguments, env=None):
        self.name, self.arguments, self.extra = name, list(arguments), env or {}
        self.folder = tempfile.mkdtemp(prefix="gradloom-e2e-")
        self.lines, self.log = queue.Queue(), []
        self.xvfb = self.session = None
        self.started = None

    # ---- life ----

    def __enter__(self):
        read, write = os.pipe()
        self.xvfb = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "%dx%dx24" % (WIDTH, HEIGHT), "-noreset"], pass_fds=[write],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as answer:
            display = answer.readline().strip()
        if not display:
            raise Failed("Xvfb did not start")
        home = os.path.join(self.folder, "home")
        os.makedirs(home)
        self.env = dict(os.environ, DISPLAY=":" + display, HOME=home, GDK_BACKEND="x11", GSK_RENDERER="cairo",
                        GDK_DEBUG="gl-disable", GSETTINGS_BACKEND="memory", LC_ALL="C.UTF-8",
                        XDG_STATE_HOME=os.path.join(home, "state"), XDG_DATA_HOME=os.path.join(home, "data"),
                        XDG_CONFIG_HOME=os.path.join(home, "config"), XDG_CACHE_HOME=os.path.join(home, "cache"),
                        XDG_RUNTIME_DIR=self.folder, NO_AT_BRIDGE="1")
        # A complaint of GLib about wrong use is a fault here; a warning about the machine's set-up is not.
        self.env["G_DEBUG"] = "fatal-criticals"
        self.env["LD_PRELOAD"] = os.path.join(BUILD, "tests", "e2e", "backtrace.so")
        self.env.pop("WAYLAND_DISPLAY", None)
        self.env.update(self.extra)
        # The pointer starts outside, so that no tooltip covers what is looked at.
        self.move(2, 2)
        self.launch()
        return self

    def launch(self):
        program = os.path.join(BUILD, "app", "gradloom-studio", "gradloom-studio")
        self.started = time.monotonic()
        self.session = subprocess.Popen(["dbus-run-session", "--", program] + self.arguments, env=self.env,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                        errors="replace", start_new_session=True)
        threading.Thread(target=self.read, args=(self.session.stderr,), daemon=True).start()

    def open(self, name, text):
        """Starts anew with a file of this text in the folder; gives its path."""
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
        out = subprocess.run(["pgrep", "-s", str(self.session.pid), "-f", "gradloom-studio/gradloom-studio"],
                             capture_output=True, text=True).stdout.split()
        for pid in out:
            with open("/proc/%s/comm" % pid) as f:
                if f.read().startswith("gradloom-studi"):
                    return int(pid)
        raise Failed("Studio is not running")

    def end(self):
        if self.session is not None and self.session.poll() is None:
            os.killpg(self.session.pid, signal.SIGTERM)
            try:
                self.session.wait(5)
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
        self.xvfb.terminate()
        self.xvfb.wait()
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

    def xdotool(self, *words):
        subprocess.run(["xdotool"] + [str(w) for w in words], env=self.env, check=True, stdout=subprocess.DEVNULL)

    def find_window(self):
        """The X window that is seen; for what only a window manager does."""
        found = subprocess.run(["xdotool", "search", "--onlyvisible", "--name", "."], env=self.env, capture_output=True, text=True)
        return found.stdout.split()[-1]

    def move(self, x, y):
        self.xdotool("mousemove", round(x), round(y))

    def click(self, at, count=1):
        x, y = middle(at) if len(at) == 4 else at
        self.move(x, y)
        time.sleep(0.06)
        self.xdotool("click", "--repeat", count, "--delay", 60, 1)
        time.sleep(0.1)

    def press(self, name, **where):
        """Clicks the widget of this text once it stands still: a click on what slides in would miss it."""
        before, end = None, time.monotonic() + 6 * PATIENCE
        while time.monotonic() < end:
            found = self.look().find(name, **where)
            if found and found[0] == before:
                break
            before = found[0] if found else None
            time.sleep(0.15)
        if before is None:
            raise Failed("there is no “%s” to press" % name)
        x, y = middle(before)
        if not (0 <= x < WIDTH and 0 <= y < HEIGHT):
            raise Failed("“%s” lies beyond the screen, at %d, %d: it must be scrolled to first" % (name, x, y))
        self.click(before)

    def press_card(self, name):
        """Clicks a card once it stands still: panel and bars that come and go leave the cards another place."""
        before, end = None, time.monotonic() + 6 * PATIENCE
        while time.monotonic() < end:
            found = self.look().cards.get(name)
            if found is not None and found == before:
                break
            before = found
            time.sleep(0.15)
        if before is None:
            raise Failed("there is no card “%s” to press" % name)
        self.click(before)

    def drag(self, start, end, steps=30):
        (x0, y0), (x1, y1) = start, end
        self.move(x0, y0)
        time.sleep(0.1)
        self.xdotool("mousedown", 1)
        for i in range(1, steps + 1):
            self.move(x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps)
            time.sleep(0.012)
        time.sleep(0.15)
        self.xdotool("mouseup", 1)
        time.sleep(0.15)

    def key(self, *keys):
        for k in keys:
            self.xdotool("key", k)
            time.sleep(0.05)

    def type(self, text):
        self.xdotool("type", "--delay", 15, text)
        time.sleep(0.1)

    # ---- eyes ----

    def screenshot(self, path):
        subprocess.run(["import", "-window", "root", path], env=self.env, stderr=subprocess.DEVNULL)

    def look(self):
        """The present geometry."""
        for _ in range(8):
            g = self.ask()
            if g is not None:
                return g
        raise Failed("the window does not answer")

    def ask(self):
        """The present geometry; None when the window does not answer within 0.7 s (a dialog has the keyboard)."""
        while not self.lines.empty():
            self.lines.get()
        self.xdotool("key", "ctrl+alt+shift+d")
        lines, end = [], time.monotonic() + 0.7
        while time.monotonic() < end:
            try:
                line = self.lines.get(timeout=0.2)
            except queue.Empty:
                if self.session.poll() is not None:
                    raise Failed("Studio ended with status %s" % self.session.poll())
                continue
            if line == "geometry end":
                return Geometry(lines)
            if line.startswith("geometry "):
                lines.append(line[len("geometry "):])
        return None

    def wait(self, what, condition, seconds):
        """Looks until condition(geometry) holds. seconds is the script's; PATIENCE times that is allowed."""
        begin = time.monotonic()
        g = None
        while time.monotonic() - begin < max(seconds, 1) * PATIENCE:
            g = self.ask() or g
            if g is not None and condition(g):
                print("# %s after %.1f s (script: %g s)" % (what, time.monotonic() - begin, seconds))
                return g
            time.sleep(0.05)
        raise Failed("%s: not within %g s; state %s" % (what, seconds * PATIENCE, g and g.state))

    def still(self, what, condition):
        """The geometry once condition(geometry) holds and no card moves any more."""
        self.wait(what, condition, 2)
        before = None
        while True:
            g = self.look()
            if g.cards == before:
                return g
            before = g.cards
            time.sleep(0.1)


def loaded():
    """TRUE when the machine has more to do than it has processors, so that times say nothing."""
    return os.getloadavg()[0] > 0.75 * (os.cpu_count() or 1)


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

    def pause(self, g):
        """Studio measures itself how long the worker took to pause: patience has no part in it. On a loaded machine the
        time is only printed."""
        ms = g.number("pause_ms")
        print("# paused after %.1f ms (script: 100 ms)%s" % (ms, ", the machine is loaded" if loaded() else ""))
        self.ok(ms >= 0 and (ms <= 100 or loaded()), "a pause takes hold: %.0f ms" % ms)

    def run(self, body, *also):
        """also: programs that this script needs beside those of all."""
        lacking = missing_tools(also)
        if lacking:
            print("1..0 # SKIP not installed: " + ", ".join(lacking))
            return 0
        try:
            body(self)
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
