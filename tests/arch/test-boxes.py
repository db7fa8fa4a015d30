#!/usr/bin/env python3
"""Each box of ui/ is a static library, which declares the boxes that its files include as dependencies, and no others.

test-boxes.py ROOT

Studio's programs link every box, so the linker does not notice a dependency that a box's meson.build lacks.
"""

import glob
import os
import re
import sys

DECLARED = re.compile(r'^ *(\w+_dep) = declare_dependency\(link_with: \w+_lib\b', re.M)
LISTS = re.compile(r'^ *\w+_deps = \[(.*?)\]', re.M | re.S)
INCLUDE = re.compile(r'^ *# *include "ui/(\w+)/', re.M)


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def main():
    root = sys.argv[1]
    builds = {os.path.basename(os.path.dirname(path)): read(path) for path in glob.glob(os.path.join(root, 'ui/*/meson.build'))}
    del builds['pch']
    box_of = {name: box for box, text in builds.items() for name in DECLARED.findall(text)}
    folders = {os.path.basename(os.path.dirname(path)) for path in glob.glob(os.path.join(root, 'ui/*/*.h'))} - {'pch'}
    faults = [f'ui/{box} is no library of its own' for box in sorted(folders - set(box_of.values()))]
    for box in sorted(builds):
        declared = {box_of[word] for words in LISTS.findall(builds[box]) for word in re.findall(r'\w+', words) if word in box_of}
        sources = ''.join(read(path) for path in glob.glob(os.path.join(root, 'ui', box, '*.[ch]')))
        used = set(INCLUDE.findall(sources))
        faults += [f'ui/{box}/meson.build lacks ui/{other}, which its files include' for other in sorted(used - declared - {box})]
        faults += [f'ui/{box}/meson.build declares ui/{other}, which no file of it includes' for other in sorted(declared - used - {box})]
    print('1..1')
    for fault in faults:
        print('#', fault)
    ok = not faults and len(box_of) > 25
    print(f'{"ok" if ok else "not ok"} 1 - {len(box_of)} libraries declare what their files include')
    return 0 if ok else 1


if __name__ == '__main__':
    sys.exit(main())
