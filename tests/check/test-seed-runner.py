#!/usr/bin/env python3
"""Random graphs: a run resumes with the same count, and a seed that crashes its process is that seed's failure."""

import os
import subprocess
import sys
import tempfile

program = sys.argv[1]


def run(*words):
    result = subprocess.run([program, "--no-meaning", *words], capture_output=True, text=True)
    return result.returncode, result.stdout.splitlines()


with tempfile.TemporaryDirectory() as folder:
    state = os.path.join(folder, "state")
    whole = run("--seeds", "0:110", "--jobs", "2")
    run("--seeds", "0:30", "--state", state)
    parts = run("--seeds", "0:110", "--state", state)
    assert whole == parts, (whole[1][-1], parts[1][-1])
    assert whole[1][-1].startswith("110 graphs, "), whole[1][-1]
    assert " 0 wrong, " in whole[1][-1], whole[1]
    # Nothing is left to do.
    assert run("--seeds", "0:110", "--state", state) == parts
    assert run("--seeds", "5:10", "--state", state)[0] == 2

    code, lines = run("--seeds", "0:110", "--crash", "7")
    assert code == 1
    crashes = [line for line in lines if line.startswith("seed 7: crash: signal 5: ")]
    assert len(crashes) == 1 and crashes[0].endswith("The child was told to crash."), lines
    assert lines[-1].startswith("110 graphs, ") and " 1 wrong, " in lines[-1], lines[-1]
