"""Pointer and keyboard of an X server, by the XTEST extension: what xdotool does, without a process for each motion."""
import ctypes
import time

# Two clicks at the same place within GTK's double-click time are a double click, by the times that the server gives them.
DOUBLE_CLICK = 0.4
DOUBLE_CLICK_DISTANCE = 8
MODIFIERS = {"ctrl": "Control_L", "shift": "Shift_L", "alt": "Alt_L", "super": "Super_L"}
NAMES = {" ": "space", "!": "exclam", '"': "quotedbl", "#": "numbersign", "$": "dollar", "%": "percent", "&": "ampersand",
         "'": "apostrophe", "(": "parenleft", ")": "parenright", "*": "asterisk", "+": "plus", ",": "comma", "-": "minus",
         ".": "period", "/": "slash", ":": "colon", ";": "semicolon", "<": "less", "=": "equal", ">": "greater",
         "?": "question", "@": "at", "[": "bracketleft", "\\": "backslash", "]": "bracketright", "^": "asciicircum",
         "_": "underscore", "`": "grave", "{": "braceleft", "|": "bar", "}": "braceright", "~": "asciitilde"}
LIBRARIES = ("libX11.so.6", "libXtst.so.6")


def missing():
    """Libraries that are not installed."""
    names = []
    for name in LIBRARIES:
        try:
            ctypes.CDLL(name)
        except OSError:
            names.append(name)
    return names


class Screen:
    def __init__(self, display):
        self.x11, self.xtst = (ctypes.CDLL(name) for name in LIBRARIES)
        self.x11.XOpenDisplay.restype = ctypes.c_void_p
        self.x11.XStringToKeysym.restype = ctypes.c_ulong
        self.x11.XkbKeycodeToKeysym.restype = ctypes.c_ulong
        self.x11.XDefaultRootWindow.restype = ctypes.c_ulong
        self.display = ctypes.c_void_p(self.x11.XOpenDisplay(display.encode()))
        if not self.display:
            raise OSError("the display %s cannot be opened" % display)
        self.codes = {}
        self.clicked = (-1e9, 0, 0)
        self.at = (0, 0)

    def close(self):
        self.x11.XCloseDisplay(self.display)

    def sync(self):
        """Waits until the server has sent the events to the window. It writes all that it has for its clients before it
        reads requests again, so the answer to a second request comes after the events that the first one followed."""
        for _ in range(2):
            self.x11.XSync(self.display, 0)

    def _key(self, code, down):
        self.xtst.XTestFakeKeyEvent(self.display, code, int(down), ctypes.c_ulong(0))

    def _code(self, name):
        """The key of this name, and whether it needs Shift."""
        if name not in self.codes:
            symbol = self.x11.XStringToKeysym(NAMES.get(name, name).encode())
            code = self.x11.XKeysymToKeycode(self.display, ctypes.c_ulong(symbol)) if symbol else 0
            if not code:
                raise OSError("the keyboard has no key “%s”" % name)
            self.codes[name] = code, self.x11.XkbKeycodeToKeysym(self.display, ctypes.c_ubyte(code), 0, 0) != symbol
        return self.codes[name]

    def hold(self, name, down):
        self._key(self._code(MODIFIERS.get(name, name))[0], down)
        self.sync()

    def key(self, chord):
        """As "ctrl+shift+p"."""
        *held, name = chord.split("+")
        code, shifted = self._code(name)
        held = [self._code(MODIFIERS[m])[0] for m in held + (["shift"] if shifted and "shift" not in held else [])]
        for m in held:
            self._key(m, True)
        self._key(code, True)
        self._key(code, False)
        for m in reversed(held):
            self._key(m, False)
        self.sync()

    def type(self, text):
        for letter in text:
            code, shifted = self._code(letter)
            shift = self._code("Shift_L")[0]
            if shifted:
                self._key(shift, True)
            self._key(code, True)
            self._key(code, False)
            if shifted:
                self._key(shift, False)
        self.sync()

    def move(self, x, y):
        self.at = round(x), round(y)
        self.xtst.XTestFakeMotionEvent(self.display, -1, *self.at, ctypes.c_ulong(0))
        self.sync()

    def button(self, number, down):
        self.xtst.XTestFakeButtonEvent(self.display, number, int(down), ctypes.c_ulong(0))
        self.sync()

    def click(self, number=1, count=1):
        """Clicks where the pointer is; two calls are never one double click, however fast they follow."""
        last, x, y = self.clicked
        near = abs(x - self.at[0]) <= DOUBLE_CLICK_DISTANCE and abs(y - self.at[1]) <= DOUBLE_CLICK_DISTANCE
        if near and number == 1:
            time.sleep(max(0, last + 1.5 * DOUBLE_CLICK - time.monotonic()))
        for _ in range(count):
            self.xtst.XTestFakeButtonEvent(self.display, number, 1, ctypes.c_ulong(0))
            self.xtst.XTestFakeButtonEvent(self.display, number, 0, ctypes.c_ulong(0))
        self.sync()
        if number == 1:
            self.clicked = time.monotonic(), *self.at

    def pixels(self, x, y, width, height):
        """What is seen there, as (red, green, blue) from left to right and from top to bottom, without what lies beyond the
        screen's edges."""
        x, y = max(int(x), 0), max(int(y), 0)
        width = min(int(width), self.x11.XDisplayWidth(self.display, 0) - x)
        height = min(int(height), self.x11.XDisplayHeight(self.display, 0) - y)
        self.x11.XGetImage.restype = ctypes.POINTER(ctypes.c_char * 52)
        image = self.x11.XGetImage(self.display, ctypes.c_ulong(self.x11.XDefaultRootWindow(self.display)), x, y, width, height,
                                   ctypes.c_ulong(0xffffffff), 2)
        if not image:
            raise OSError("the screen cannot be read at %d, %d" % (x, y))
        # XImage has the address of its data at byte 16 and the length of a line at byte 44; a pixel is blue, green, red, unused.
        data = ctypes.c_void_p.from_buffer(image.contents, 16).value
        line = ctypes.c_int.from_buffer(image.contents, 44).value
        raw = ctypes.string_at(data, line * height)
        self.x11.XDestroyImage(image)
        rows = (raw[i * line:i * line + 4 * width] for i in range(height))
        return [pixel for row in rows for pixel in zip(row[2::4], row[1::4], row[0::4])]

    def resize(self, width, height):
        """The window that is seen, put to the corner of the screen; since there is no window manager."""
        window = self.window()
        self.x11.XMoveResizeWindow(self.display, window, 0, 0, width, height)
        self.sync()

    def window(self):
        """The mapped window on top that has a name, which GTK's own helpers have not."""
        root, parent, children, n = ctypes.c_ulong(), ctypes.c_ulong(), ctypes.POINTER(ctypes.c_ulong)(), ctypes.c_uint()
        self.x11.XQueryTree(self.display, ctypes.c_ulong(self.x11.XDefaultRootWindow(self.display)), ctypes.byref(root),
                            ctypes.byref(parent), ctypes.byref(children), ctypes.byref(n))
        seen = [children[i] for i in range(n.value) if self._is_seen(children[i])]
        self.x11.XFree(children)
        if not seen:
            raise OSError("no window is seen")
        return ctypes.c_ulong(seen[-1])

    def _is_seen(self, window):
        attributes, name = (ctypes.c_char * 256)(), ctypes.c_char_p()
        self.x11.XGetWindowAttributes(self.display, ctypes.c_ulong(window), attributes)
        x, y, w, h, border, depth = (ctypes.c_int.from_buffer(attributes, 4 * i) for i in range(6))
        self.x11.XFetchName(self.display, ctypes.c_ulong(window), ctypes.byref(name))
        # XWindowAttributes has its state at byte 92 where longs have eight bytes: 2 is IsViewable.
        return bool(name.value) and ctypes.c_int.from_buffer(attributes, 92).value == 2
