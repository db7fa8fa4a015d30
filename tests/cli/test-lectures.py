#!/usr/bin/env python3
"""Every item of docs/lectures.csv is shown by its command.

  test-lectures.py SOURCE_ROOT GRADLOOM

A row has a number, the section, the item, the lecture, commands (joined by &&), texts that their output has (separated by |, # is any
number), a remark, the lecture's number and the deviation from it. The commands are run in a scratch folder, in which graphs/ and tests/
lead to the tree's, with the few steps and short measurements of LIMITS. “from 0.1 to 1” in the remark limits the last of the numbers;
the lecture's number is compared with the first, and the deviation with the one that the row states. In place of a command, a row may
name a test of this folder, which is registered and contains the texts.
"""
import csv
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT, GRADLOOM = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
ITEMS = 88
NUMBER = r'([-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?)'
LIMITS = {'train': ['--steps', '2'], 'transfer': ['--steps', '2', '--samples', '50'],
          'bench': ['--windows', '1', '--seconds', '0.01']}
# What a program says that was built, or is installed, without a part that only some machines have.
LACKING = ('no cuda module', 'no mpi module', 'mpirun, which starts')


def rows(file):
    """(number, item, commands, texts, span, stated, deviation) of each row."""
    for row in csv.DictReader(file):
        span = re.search(r'\bfrom ([\d.]+) to ([\d.]+)', row['remark'])
        yield (int(row['number']), row['item'], row['command'].split(' && '), row['output'].split(' | '),
               span and tuple(map(float, span.groups())), row['stated'], row['deviation'])


def shortened(words):
    """The command as the test runs it."""
    return words if '--steps' in words else words + LIMITS.get(words[0], [])


def text_of_test(path):
    """(0, text) of a test of this folder that is registered, else (1, why not)."""
    here, name = os.path.split(os.path.join(ROOT, path))
    with open(os.path.join(here, 'meson.build'), encoding='utf-8') as f:
        registered = f.read()
    # Programs are made of all files of a folder; its file says which tests begin with one of them.
    if not os.path.exists(os.path.join(ROOT, path)) or not (name in registered or "'%s'" % name[5:-2] in registered):
        return 1, 'not a test'
    with open(os.path.join(ROOT, path), encoding='utf-8') as f:
        return 0, ' '.join(f.read().split())


done = {}


def output_of(command, folder):
    """What the command prints, with single spaces; it must succeed."""
    if command not in done:
        words = shlex.split(command)
        if words[0].startswith('tests/'):
            done[command] = text_of_test(words[0])
            return done[command]
        assert words[0] == 'gradloom', command
        ran = subprocess.run([GRADLOOM] + shortened(words[1:]), cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, env=dict(os.environ, GRADLOOM_CPU_DEVICES='2'))
        done[command] = (ran.returncode, ' '.join(ran.stdout.split()))
    return done[command]


def try_row(commands, expected, span, stated, deviation, folder):
    """What is wrong; None: nothing. Prints a deviation."""
    text = ''
    for command in commands:
        status, out = output_of(command, folder)
        if any(part in out for part in LACKING):
            return None
        if status != 0:
            return '%s: status %d: %s' % (command, status, out[-300:])
        text += ' ' + out
    found = []
    for code in expected:
        pattern = re.escape(' '.join(code.split())).replace(r'\ ', ' ').replace(r'\#', '#').replace('#', NUMBER)
        match = re.search(pattern, text)
        if match is None:
            return '“%s” is not in the output of %s: %s' % (code, ', '.join(commands), text[:600])
        found += match.groups()
    if span and not span[0] <= float(found[-1].replace(',', '')) <= span[1]:
        return '%s is not from %g to %g' % (found[-1], *span)
    if stated == '':
        return None
    lecture, here = float(stated.replace(',', '')), float(found[0].replace(',', ''))
    off = 100 * (here / lecture - 1)
    print('# lecture %g, here %g: %+.0f %%' % (lecture, here, off))
    return None if '%+.0f %%' % (off + 0.0) in (deviation, deviation.replace('−', '-')) or (abs(off) < 0.5 and deviation == '0 %') \
        else 'the deviation is %+.0f %%, not %s' % (off, deviation)


def main():
    with open(os.path.join(ROOT, 'docs', 'lectures.csv'), encoding='utf-8', newline='') as f:
        all_rows = list(rows(f))
    missing = sorted(set(range(1, ITEMS + 1)) - {row[0] for row in all_rows})
    print('1..%d' % (len(all_rows) + 1))
    print('%sok 1 - all items%s' % ('not ' if missing else '', ' but %s' % missing if missing else ''))
    failed = bool(missing)
    with tempfile.TemporaryDirectory(prefix='gradloom-lectures-') as folder:
        for tree in ('graphs', 'tests'):
            os.symlink(os.path.join(ROOT, tree), os.path.join(folder, tree))
        for i, (number, shown, commands, expected, span, stated, deviation) in enumerate(all_rows):
            fault = 'no command or text' if not all(commands + expected) else try_row(commands, expected, span, stated, deviation, folder)
            print('%sok %d - %d: %s' % ('not ' if fault else '', i + 2, number, shown))
            if fault:
                print('# ' + fault.replace('\n', ' '))
            failed = failed or fault is not None
    return failed


sys.exit(main())
