#!/usr/bin/env python3
"""A program of somebody else's finds libgradloom by pkg-config, and sees the functions of its header and no others.

The program is the one of docs/c-api.md.

usage: test-library.py SOURCE_ROOT BUILD_ROOT LIBRARY
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

source, build, library = sys.argv[1:4]
number = 0
failed = False


def check(what, good, about=''):
    global number, failed
    number += 1
    print(f'{"ok" if good else "not ok"} {number} - {what}')
    if not good:
        failed = True
        print(''.join(f'# {line}\n' for line in str(about).splitlines()), end='')


with open(os.path.join(source, 'engine/api/gradloom.h'), encoding='utf-8') as file:
    header = re.sub(r'/\*.*?\*/', '', file.read(), flags=re.S)
declared = set(re.findall(r'\b(gradloom_\w+) \(', re.sub(r'#define.*', '', header)))
listed = subprocess.run(['nm', '-D', '--defined-only', library], stdout=subprocess.PIPE, text=True, check=True).stdout
# An empty version node of the linker has a symbol of its own.
exported = {line.split()[-1].split('@')[0] for line in listed.splitlines() if line.split()[-2] in 'TDBRVW'}
check('the header is not empty', len(declared) > 20, declared)
check('the library exports what the header declares', declared == exported, declared ^ exported)

for tool in ('pkg-config', 'cc'):
    if shutil.which(tool) is None:
        print(f'ok {number + 1} - a program # SKIP there is no {tool}\n1..{number + 1}')
        sys.exit(failed)
environment = dict(os.environ, PKG_CONFIG_PATH=os.path.join(build, 'meson-uninstalled'))
flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'gradloom'], env=environment, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, check=False)
check('pkg-config knows the library', flags.returncode == 0, flags.stdout)
with open(os.path.join(source, 'docs/c-api.md'), encoding='utf-8') as file:
    program = re.search(r'```c\n(.*?)```', file.read(), re.S).group(1)
with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, 'program.c'), 'w', encoding='utf-8') as file:
        file.write(program)
    # Libraries of sanitizers must come first; the program is not checked by them.
    compiled = subprocess.run(['cc', '-Wall', '-Wextra', '-Wno-unused-parameter', '-Werror', '-o', 'program', 'program.c',
                               *shlex.split(flags.stdout)],
                              cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    check('the program of docs/c-api.md compiles', compiled.returncode == 0, compiled.stdout)
    environment['LD_LIBRARY_PATH'] = os.path.dirname(library)
    done = subprocess.run(['./program', os.path.join(source, 'graphs/lessons/spirals.xml')], cwd=folder, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    check('it ends well', done.returncode == 0, f'{done.returncode}\n{done.stdout}')
    losses = [float(x) for x in re.findall(r'^step \d+ of \d+: loss (\S+)$', done.stdout, re.M)]
    check('it reports the loss, which falls', len(losses) == 5 and losses[-1] < losses[0], done.stdout)
    rows = re.findall(r'^point \d: (\S+) (\S+)$', done.stdout, re.M)
    check('it predicts probabilities', len(rows) == 2 and all(abs(float(a) + float(b) - 1) < 0.002 for a, b in rows), rows)
    check('it saves the weights', os.path.exists(os.path.join(folder, 'weights.safetensors')))
    done = subprocess.run(['./program', 'nothing.xml'], cwd=folder, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    check('an error is a sentence', done.returncode == 1 and 'nothing.xml' in done.stdout, done.stdout)
print(f'1..{number}')
sys.exit(failed)
