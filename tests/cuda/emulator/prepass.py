#!/usr/bin/env python3
"""Turns CUDA C++ into C++ that the host's compiler takes: prepass.py ROOT PATH RESULT [FILE OLD NEW]….

A launch `kernel<…><<<grid, block, …>>> (arguments)` becomes a call that copies the
arguments, a `__shared__` variable becomes a reference into the block's memory, and a kernel's
attribute is set by the kernel's name in its launch.
A header .cuh is translated where it is included. Nothing else is changed, and #line keeps the
lines of messages right. For a test of the emulator, each text OLD, which must occur once in
its FILE, becomes NEW."""
import os
import re
import sys

LAUNCH = re.compile(r"([A-Za-z_]\w*(?:<[^<>;]*>)?)\s*<<<")
INCLUDE = re.compile(r'#include "([^"]*\.cuh)"')
DYNAMIC = re.compile(r"extern\s+__shared__\s+(.*?)\s*(\w+)\s*\[\s*\]\s*;")
ATTRIBUTE = re.compile(r"cudaFuncSetAttribute\s*\(\s*(?:\([^()]*\)\s*)?([A-Za-z_]\w*(?:<[^<>;]*>)?)\s*,")
SHARED = re.compile(r"__shared__\s+(.*?)\s*(\w+(?:\[[^\]]*\])*(?:\s*,\s*\w+(?:\[[^\]]*\])*)*);")


def closing(text, start):
    """The index of the bracket that closes the one at start."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at
    sys.exit("a launch's arguments do not end")


def launches(text):
    while (found := LAUNCH.search(text)) is not None:
        kernel = found.group(1)
        end = text.index(">>>", found.end())
        opening = text.index("(", end)
        close = closing(text, opening)
        text = (text[:found.start()] + "\n" * found.group(0).count("\n") + 'emulated::launch ("' + kernel + '", emulated::Shape (' + text[found.end():end]
                + "), [] (auto... p) { " + kernel + " (p...); }, " + text[end + 3:opening].lstrip(" ")
                + text[opening + 1:close] + text[close:])
    return text


def shared(found):
    lines = []
    for declarator in found.group(2).split(","):
        name, dims = re.match(r"\s*(\w+)(.*)", declarator, re.S).groups()
        lines.append("typedef {0} emulated_{1}{2}; static char of_{1}; "
                     "emulated_{1} &{1} = *(emulated_{1} *)emulated::shared (&of_{1}, sizeof (emulated_{1}), sizeof ({0}), \"{1}\");"
                     .format(found.group(1), name, dims))
    return " ".join(lines) + "\n" * found.group(0).count("\n")


def dynamic(found):
    return "{0} *{1} = ({0} *)emulated::dynamic_shared ();".format(found.group(1), found.group(2)) + "\n" * found.group(0).count("\n")


def attribute(found):
    return 'emulated::set_attribute ("{0}",'.format(found.group(1)) + "\n" * found.group(0).count("\n")


def source(root, path, changes):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        text = file.read()
    for file, old, new in changes:
        if path == file:
            if text.count(old) != 1:
                sys.exit("{0} does not have this once: {1}".format(path, old))
            text = text.replace(old, new)
    return text


def translated(root, path, changes):
    text = ATTRIBUTE.sub(attribute, DYNAMIC.sub(dynamic, launches(source(root, path, changes))))
    lines = SHARED.sub(shared, text).split("\n")
    text = ['#line 1 "' + path + '"']
    for number, line in enumerate(lines, 1):
        included = INCLUDE.match(line)
        if included is not None:
            text += [translated(root, included.group(1), changes), '#line {0} "{1}"'.format(number + 1, path)]
        else:
            text.append(line)
    return "\n".join(text)


def main():
    root, path, result = sys.argv[1:4]
    changes = list(zip(sys.argv[4::3], sys.argv[5::3], sys.argv[6::3]))
    with open(result, "w", encoding="utf-8") as file:
        file.write(translated(root, path, changes))


main()
