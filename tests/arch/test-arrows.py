#!/usr/bin/env python3
"""Counts the arrows inside a folder, and those of them that run up.

test-arrows.py ROOT              the test, in TAP: no folder of LIMITS has more arrows that run up than it may have
test-arrows.py --list FOLDER…    the arrows that run up in these folders, and the files of each circle

The rule. A file NAME.c and its headers NAME.h and NAME-private.h are one unit; "loom-" before NAME does not count. An
arrow leads from unit A to unit B of the same folder if A uses a name that B defines and A does not: a function or variable
in its C files, a type, enumerator or macro in its C files and headers, outside comments and strings. Several names make
one arrow. A function is defined by its body, a type that only has a struct's name by its typedef. A name that two units
define makes no arrow, and neither does anything static.

The layout. Units that use no other unit come last, then those that only use these, and so on; likewise those that no
other unit uses come first. What is left is in circles, or between circles: the unit is taken next to the first ones for
which used minus using units is largest, by name if several are (Eades, Lin and Smyth 1993), and so on. An arrow runs up if
its user comes after what it uses. Without a circle no arrow runs up. Arrows between units of one circle are counted, too:
that number depends on no layout.
"""

import collections
import glob
import os
import re
import subprocess
import sys

# How many arrows may run up, and how many may be part of a circle. Numbers are lowered when a folder improves, never raised.
LIMITS = {'engine/infer': (1, 2), 'engine/train': (1, 2), 'ui/canvas': (0, 0), 'ui/page': (0, 0), 'ui/run': (0, 0),
          'ui/start': (0, 0), 'ui/timeline': (0, 0), 'ui/window': (0, 0)}

BLANK = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
NAME = re.compile(r'[A-Za-z_]\w*')
# GNU style: the name of a function with a body is at the start of a line, and its type on the lines before.
FUNCTION = re.compile(r'^(?P<type>(?:[A-Za-z_][^\n;{}#]*\n)?)(?P<name>[A-Za-z_]\w*) \((?:[^;{}\n]|\n(?!\n))*\)\s*\n\{', re.M)
VARIABLE = re.compile(r'^(?!static|extern|typedef|return)[A-Za-z_][\w *]*?[ *](?P<name>\w+)(?:\[[^\]\n]*\])*\s*=', re.M)
TYPEDEF = re.compile(r'^typedef\b[^;{]*?(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\})?[^;{}]*?(?:\(\*(?P<call>\w+)\)[^;]*|\b(?P<name>\w+));', re.M)
ENUM = re.compile(r'\benum\b[^;{]*\{([^{}]*)\}')
MACRO = re.compile(r'^[ \t]*#[ \t]*define[ \t]+(\w+)', re.M)


def unit_of(path):
    name = re.sub(r'\.(?:c|h)$', '', os.path.basename(path))
    return re.sub(r'^loom-|-private$', '', name)


def blanked(text):
    return BLANK.sub(lambda m: re.sub(r'[^\n]', ' ', m.group()), text)


def linked_of(code):
    """Functions and variables: what headers only declare."""
    found = {m['name'] for m in FUNCTION.finditer(code) if 'static' not in m['type'].split()}
    return found | {m['name'] for m in VARIABLE.finditer(code)}


def others_of(text, code):
    """Types, enumerators and macros. text is with macros, code without."""
    found = {m['call'] or m['name'] for m in TYPEDEF.finditer(code)}
    for body in ENUM.findall(code):
        found |= {name.group() for name in map(NAME.search, body.split(',')) if name}
    return found | set(MACRO.findall(text))


def arrows_of(root, folder):
    """The units of a folder, and the names of each arrow."""
    uses_calls, uses_others, own, owner = {}, {}, collections.defaultdict(set), collections.defaultdict(set)
    linked = set()
    for path in sorted(glob.glob(os.path.join(root, folder, '*.[ch]'))):
        with open(path, encoding='utf-8') as file:
            text = blanked(file.read())
        code = re.sub(r'^[ \t]*#(?:\\\n|[^\n])*', '', text, flags=re.M)
        unit = unit_of(path)
        names = set(NAME.findall(text))
        uses_others.setdefault(unit, set()).update(names)
        uses_calls.setdefault(unit, set()).update(names if path.endswith('.c') else ())
        linked |= linked_of(code)
        own[unit] |= linked_of(code) | others_of(text, code)
    for unit, names in own.items():
        for name in names:
            owner[name].add(unit)
    arrows = collections.defaultdict(set)
    for unit in own:
        used = {n for n in uses_others[unit] if n not in linked} | {n for n in uses_calls[unit] if n in linked}
        for name in used - own[unit]:
            if len(owner[name]) == 1:
                arrows[unit, next(iter(owner[name]))].add(name)
    return sorted(own), arrows


def layout(units, arrows):
    """The units in their order, users first."""
    left, first, last = set(units), [], []
    while left:
        used = {u: sum(a == u and b in left for a, b in arrows) for u in left}
        using = {u: sum(b == u and a in left for a, b in arrows) for u in left}
        bottom = sorted(u for u in left if used[u] == 0)
        top = sorted(u for u in left if using[u] == 0)
        if bottom:
            last = bottom + last
            left -= set(bottom)
        elif top:
            first += top
            left -= set(top)
        else:
            best = min(left, key=lambda u: (using[u] - used[u], u))
            first.append(best)
            left.remove(best)
    return first + last


def up_in(root, folder):
    units, arrows = arrows_of(root, folder)
    place = {unit: number for number, unit in enumerate(layout(units, arrows))}
    return units, arrows, {a: names for a, names in arrows.items() if place[a[0]] > place[a[1]]}


def circles_of(units, arrows):
    """The sets of units that reach each other."""
    reach = {u: set() for u in units}
    for unit in units:
        todo = [unit]
        while todo:
            at = todo.pop()
            new = {b for a, b in arrows if a == at} - reach[unit]
            reach[unit] |= new
            todo += new
    return sorted({tuple(sorted(o for o in reach[u] if u in reach[o])) for u in units} - {()})


def inside_circles(units, arrows):
    circles = circles_of(units, arrows)
    return [(a, b) for a, b in arrows if any(a in c and b in c for c in circles)]


def main():
    arguments = sys.argv[1:]
    if arguments and not arguments[0].startswith('-'):
        root = arguments.pop(0)
    else:
        root = subprocess.run(['git', 'rev-parse', '--show-toplevel'], capture_output=True, text=True, check=True).stdout.strip()
    if arguments[:1] == ['--list']:
        for folder in arguments[1:]:
            units, arrows, up = up_in(root, folder)
            circles = circles_of(units, arrows)
            inside = inside_circles(units, arrows)
            print(f'{folder}: {len(units)} units, {len(arrows)} arrows, {len(up)} of them up, {len(inside)} in circles')
            for circle in circles:
                print('  circle:', ', '.join(circle))
            for (a, b), names in sorted(up.items()):
                print(f'  {a} -> {b}: {", ".join(sorted(names)[:6])}')
        return 0
    print(f'1..{len(LIMITS)}')
    wrong = 0
    for number, (folder, (most_up, most_inside)) in enumerate(sorted(LIMITS.items()), 1):
        units, arrows, up = up_in(root, folder)
        inside = len(inside_circles(units, arrows))
        ok = len(up) <= most_up and inside <= most_inside and len(arrows) > len(units) // 2
        for (a, b), names in sorted(up.items()):
            if not ok:
                print(f'# {folder}: {a} -> {b}: {", ".join(sorted(names)[:4])}')
        wrong += not ok
        print(f'{"ok" if ok else "not ok"} {number} - {folder}: of {len(arrows)} arrows {len(up)} run up ({most_up} may), '
              f'{inside} are in circles ({most_inside} may)')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
