#!/usr/bin/env python3
"""Processor seconds of compiling and of tests, which depend little on what else the machine does.

  cost.py compile BUILD [EACH [FOLDER…]]  compiles every EACHth (10) object of a build folder again, folder by folder
  cost.py tests BUILD [SUITE…]            runs tests one after the other, those of these suites or all but `long`

compile prints for each folder the number of objects, the seconds that all of them take by this sample, and the size of the
objects that were compiled. A build folder with precompiled headers must have been built once. tests prints user and system
seconds of each test with its child processes, and the wall time.
"""
import collections
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time


def spent(words, **options):
    """Returns (processor seconds, exit status) of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    status = subprocess.run(words, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            **options).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, status


def folder_of(file, build):
    """kernels/cpu and engine/plan, but ui and app as a whole."""
    parts = os.path.relpath(os.path.normpath(os.path.join(build, file)), os.path.dirname(build)).split('/')
    if file.endswith('.h'):
        return 'precompiled headers'
    if parts[0] in ('engine', 'kernels', 'tests') and len(parts) > 2:
        return '/'.join(parts[:2])
    return parts[0] if parts[0] != os.path.basename(build) else 'generated'


def compile_cost(build, each, only):
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as f:
        entries = json.load(f)
    folders = collections.defaultdict(list)
    for entry in entries:
        folder = folder_of(entry['file'], build)
        if not only or folder in only:
            folders[folder].append(entry)
    total = 0
    with tempfile.TemporaryDirectory() as work:
        for folder, all_ in sorted(folders.items()):
            sample = all_[len(all_) // 2 % each::each]
            seconds = size = 0
            for entry in sample:
                words = shlex.split(entry['command'])
                words = words[1:] if os.path.basename(words[0]) == 'ccache' else words
                for option, name in (('-o', 'object.o'), ('-MF', 'object.d')):
                    if option in words:
                        words[words.index(option) + 1] = os.path.join(work, name)
                cost, status = spent(words, cwd=entry['directory'])
                if status:
                    sys.exit('%s cannot be compiled: %s' % (entry['file'], shlex.join(words)))
                seconds += cost
                size += os.path.getsize(os.path.join(work, 'object.o'))
            if sample:
                seconds *= len(all_) / len(sample)
                total += seconds
                print('%-20s %5d objects %7.1f s %9.0f kB' % (folder, len(all_), seconds, size * len(all_) / len(sample) / 1000),
                      flush=True)
    print('%-20s %5d objects %7.1f s' % ('all', sum(len(all_) for all_ in folders.values()), total))


def test_cost(build, suites):
    with open(os.path.join(build, 'meson-info', 'intro-tests.json'), encoding='utf-8') as f:
        tests = json.load(f)
    total = 0
    for test in tests:
        of = {suite.split(':')[-1] for suite in test['suite']}
        if not (of & suites if suites else 'long' not in of):
            continue
        began = time.monotonic()
        cost, status = spent(test['cmd'], env={**os.environ, **test['env']}, cwd=test['workdir'] or build)
        total += cost
        print('%7.2f s %7.1f s wall  status %d  %s' % (cost, time.monotonic() - began, status, test['name']), flush=True)
    print('%7.1f s in all' % total)


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ('compile', 'tests'):
        sys.exit(__doc__)
    build = os.path.abspath(sys.argv[2])
    if sys.argv[1] == 'compile':
        compile_cost(build, int(sys.argv[3]) if len(sys.argv) > 3 else 10, set(sys.argv[4:]))
    else:
        test_cost(build, set(sys.argv[3:]))


if __name__ == '__main__':
    main()
