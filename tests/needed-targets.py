"""The files of a build folder that some of its tests need: needed-targets.py BUILD LIST, where LIST is what
`meson test --list` printed. Tests that run a script over the whole build have everything among their needs."""

import json
import os
import sys

build, listed = os.path.abspath(sys.argv[1]), open(sys.argv[2], encoding="utf-8").read().splitlines()
names = {line.split(" / ", 1)[-1].strip() for line in listed}
info = os.path.join(build, "meson-info")
targets = {t["id"]: t for t in json.load(open(os.path.join(info, "intro-targets.json"), encoding="utf-8"))}
tests = [t for t in json.load(open(os.path.join(info, "intro-tests.json"), encoding="utf-8")) if t["name"] in names]
files = set()
for test in tests:
    # The program itself is among them where the build makes it.
    files.update(f for d in test["depends"] for f in targets[d]["filename"])
    files.update(word for word in test["cmd"] if word.startswith(build + os.sep) and os.path.splitext(word)[1] == ".so")
# `all` where the tests name nothing to build: they may take whatever there is.
print(" ".join(sorted(os.path.relpath(f, build) for f in files)) if files else "all")
