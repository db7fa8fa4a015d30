#!/usr/bin/env python3
"""What newer GTK and libadwaita require of Studio's icons and style sheets, which the oldest supported versions do not check.

test-styles.py ROOT BUILD_ROOT
"""

import glob
import os
import re
import sys


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def rules_of(sheet):
    """The rules and at-rules of a sheet, without comments and blanks. A block keeps its inner text."""
    text = ' '.join(re.sub(r'/\*.*?\*/', ' ', sheet, flags=re.S).split())
    rules, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter == '{') - (letter == '}')
        if depth < 0:
            return None
        if depth == 0 and letter in '};':
            rules.append(text[start:at + 1].strip())
            start = at + 1
    return rules if depth == 0 and not text[start:].strip() else None


def icon_faults(root):
    """GTK 4.22 draws symbolic icons itself, without transform attributes."""
    icons = glob.glob(os.path.join(root, 'data', '**', '*-symbolic.svg'), recursive=True)
    faults = [f'{icon} has a transform: write its numbers into the path' for icon in sorted(icons) if 'transform=' in read(icon)]
    return faults if len(icons) > 50 else faults + ['there are %d icons' % len(icons)]


def sheet_faults(root, build):
    """The sheet with media queries, which libadwaita 1.8 and newer read, has the rules of the three that older versions read."""
    sheet, dark, contrast = (rules_of(read(os.path.join(root, 'ui', f'style{name}.css'))) for name in ['', '-dark', '-hc'])
    if None in (sheet, dark, contrast):
        return ['a style sheet has an open block']
    expected = sheet + ['@media (prefers-color-scheme: dark) { %s }' % ' '.join(dark),
                        '@media (prefers-contrast: more) { %s }' % ' '.join(contrast)]
    faults = [f'“{rule}” is no rule of a style, so it cannot be in a media query' for rule in dark + contrast if rule[0] == '@']
    made = rules_of(read(os.path.join(build, 'ui', 'style-media.css')))
    return faults + ([] if made == expected else ['ui/style-media.css has other rules than the three sheets'])


def main():
    root, build = sys.argv[1:]
    if not os.path.exists(os.path.join(build, 'ui', 'style-media.css')):
        print('1..0 # SKIP This build has no Studio.')
        return 77
    print('1..2')
    wrong = 0
    for number, (name, faults) in enumerate([('icons', icon_faults(root)), ('style sheets', sheet_faults(root, build))], 1):
        for fault in faults:
            print('#', fault)
        print(f'{"not ok" if faults else "ok"} {number} - {name}')
        wrong += bool(faults)
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
