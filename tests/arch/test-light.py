#!/usr/bin/env python3
"""What app/run compiles in order to train: no file twice that one machine needs once, and no header again that is precompiled.

  test-light.py SOURCE_ROOT WORK_FOLDER

The build folder is configured with app/run's options, and nothing is built in it.
"""
import collections
import os
import re
import shlex
import shutil
import subprocess
import sys

ROOT, WORK = sys.argv[1:3]
number, failed = 0, False


def check(what, faults):
    global number, failed
    number += 1
    print('%s %d %s' % ('not ok' if faults else 'ok', number, what))
    for fault in faults:
        failed = True
        print('#', fault)


def compiled():
    """(source, object, words of the command) of every C file of the target."""
    commands = subprocess.run(['ninja', '-C', WORK, '-t', 'commands', 'command-line'], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
    for line in commands.split('\n'):
        words = shlex.split(line) if ' -c ' in line else []
        if words and words[-1].endswith('.c'):
            source = os.path.relpath(os.path.join(WORK, words[-1]), ROOT)
            if source != 'engine/pch/pch.c':
                yield source, words[words.index('-o') + 1], words


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    with open(os.path.join(ROOT, 'app', 'run'), encoding='utf-8') as f:
        options = re.search(r'^build "\$root/build" \$target (.*)$', f.read(), re.MULTILINE)[1]
    options = [word for word in options.split() if '$' not in word]
    # A cache of compiled files, which this machine may have, needs no precompiled headers.
    done = subprocess.run(['meson', 'setup', WORK, ROOT, *options, '-Db_pch=true', '-Dcuda=disabled'], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        print('1..0\nBail out! ' + done.stdout[-2000:])
        sys.exit(1)
    files = list(compiled())
    # Both modules for MPI have the same files.
    times = collections.Counter(source for source, path, _ in files if 'loom-mpi' not in path and 'kernels/comm' not in path)
    check('every file is compiled once', ['%s is compiled %d times' % pair for pair in times.items() if pair[1] > 1])
    check('files of engine, app and ui read precompiled headers',
          [source for source, _, words in files
           if source.startswith(('engine/', 'app/', 'ui/'))
           and not any('pch' in words[i + 1] for i, word in enumerate(words) if word == '-include')])
    shutil.rmtree(WORK)
    print('1..%d' % number)
    sys.exit(failed)


main()
