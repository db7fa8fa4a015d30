#!/usr/bin/env python3
"""The pages that people write and read stay short: all Markdown files together, and each alone.

  test-papers.py SOURCE_ROOT

A page that the program can print, or a list of files that tests/arch/heads prints, is not written by hand. If a limit is reached,
something old goes: figures that were replaced, and what another page says.
"""
import os
import subprocess
import sys

ROOT = sys.argv[1]
TOTAL = 168_000
LARGEST = 22_000
# The README of a box says what it is, what it may include, and how something is added.
LARGEST_README = 4_000
BOXES = ('app', 'engine', 'kernels', 'ui')


def pages():
    names = subprocess.run(['git', '-C', ROOT, 'ls-files', '-z', '*.md'], stdout=subprocess.PIPE, text=True, check=True).stdout
    for name in names.split('\0'):
        if name and os.path.isfile(os.path.join(ROOT, name)):
            with open(os.path.join(ROOT, name), 'rb') as f:
                yield name, f.read()


def main():
    faults = {'together': [], 'alone': []}
    total = 0
    for name, content in pages():
        total += len(content)
        box = name.split('/')[0] in BOXES
        limit = LARGEST_README if box else LARGEST
        if len(content) > limit:
            faults['alone'].append('%s has %d bytes; the limit is %d' % (name, len(content), limit))
    print('# %d bytes of Markdown, of %d' % (total, TOTAL))
    if total > TOTAL:
        faults['together'].append('all pages have %d bytes; the limit is %d' % (total, TOTAL))
    print('1..%d' % len(faults))
    for number, (name, each) in enumerate(faults.items(), 1):
        for fault in each:
            print('# ' + fault)
        print('%sok %d - %s' % ('not ' if each else '', number, name))
    return any(faults.values())


sys.exit(main())
