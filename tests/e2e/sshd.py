"""Training on another machine from the window, by a real sshd: ranks and host are chosen, the connection is lost and made again, and
the run is left, found and attached; its curve stays whole."""
import os
import sys
import tempfile

import far
import studio
from closing import begin, write
from hosts import choose, found, lost
from studio import Report, Studio

GRADLOOM = os.path.join(studio.BUILD, "app", "gradloom")


def body(t):
    with tempfile.TemporaryDirectory(prefix="gradloom-sshd-") as folder:
        there = far.Sshd(folder, GRADLOOM)
        if there.fault:
            raise studio.Skipped("sshd does not start: " + there.fault)
        try:
            with Studio("sshd", env={"PATH": there.path}) as s:
                path = write(s)
                begin(s, [path])
                choose(s, "box", ranks=2)
                here = lost(t, s, there, path)
                t.ok(b'"ranks":2' in far.read(os.path.join(there.runs()[0], "run.json")).replace(b" ", b""),
                     "two ranks train there, as chosen in the window")
                found(t, s, there, path, here)
        finally:
            there.sshd.kill()
            far.end(there.runs())


if __name__ == "__main__":
    sys.exit(Report().run(body, *far.missing()))
