#!/usr/bin/env python3
"""No function is exported that no other file asks for: it is deleted, or static.

Symbols come from the objects of this build through nm. What only tests ask for counts as asked for. Left out are what
generators write, the get_type functions of G_DECLARE_FINAL_TYPE, and what a header hands to g_autoptr.

usage: test-unused.py SOURCE BUILD
"""
import collections
import json
import os
import re
import subprocess
import sys

OURS = ("app/", "engine/", "kernels/", "ui/")


def objects(build):
    """The objects of all sources, and whether each is of a source of ours."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        for entry in json.load(file):
            source = os.path.relpath(os.path.join(entry["directory"], entry["file"]), sys.argv[1])
            if entry["output"].endswith(".o") and os.path.exists(os.path.join(build, entry["output"])):
                yield entry["output"], source if source.startswith(OURS) else None


def symbols(build, names):
    out = subprocess.run(["nm", "-A", "-g", *names], cwd=build, capture_output=True, text=True, check=False).stdout
    for line in out.splitlines():
        match = re.fullmatch(r"(\S+\.o):\s*[0-9a-f]*\s+([A-Za-z]) (\S+)", line)
        if match:
            yield match.groups()


def headers(source):
    for top in OURS:
        for folder, _, files in os.walk(os.path.join(source, top)):
            for name in files:
                if name.endswith(".h"):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        yield file.read()


def main():
    source, build = sys.argv[1:3]
    of_object = dict(objects(build))
    freed = {name for text in headers(source) for name in re.findall(r"CLEANUP\w*_FUNC \(\w+, (\w+)\)", text)}
    # Modules are asked for these by name.
    freed |= {name for text in headers(source) for name in re.findall(r'#define LOOM_\w*ENTRY\s+"(\w+)"', text)}
    defined, used = {}, collections.defaultdict(set)

    for name, kind, symbol in symbols(build, of_object):
        if kind in "Uwv":
            used[symbol].add(name)
        # Weak definitions are a library's header's.
        elif kind not in "VW" and of_object[name] is not None:
            defined.setdefault(symbol, of_object[name])
    faults = [
        f"{file}: no other object needs {symbol}"
        for symbol, file in sorted(defined.items(), key=lambda item: item[::-1])
        if not used[symbol] and symbol not in freed and symbol != "main" and not symbol.endswith("_get_type")
    ]
    print("1..1")
    for fault in faults:
        print(f"# {fault}")
    if len(defined) < 1000:
        print(f"# only {len(defined)} symbols were found")
    print(("ok" if not faults and len(defined) >= 1000 else "not ok") + " 1 every function that is exported is used")


main()
