#!/usr/bin/env python3
"""app/run and tests/run install packages only where they may, and app/run builds what the machine can use: a machine of
stand-ins records what is called."""
import os
import pathlib
import pty
import shutil
import subprocess
import sys
import tempfile

source = pathlib.Path(sys.argv[1])
TOOLS = ['sh', 'dirname', 'cat', 'env']
failed = False
number = 0


def stand_in(folder, name, text):
    path = folder / name
    path.write_text(f'#!/bin/sh\n{text}\n')
    path.chmod(0o755)


def run(words, uid, ci=None, answer=None, built=False, script='app/run'):
    """Returns (status, output, what apt-get and sudo were called with)."""
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for part in ('app/run', 'app/setup.sh', 'tests/run'):
            (root / part).parent.mkdir(exist_ok=True)
            shutil.copy(source / part, root / part)
        programs = root / 'programs'
        programs.mkdir()
        for tool in TOOLS:
            (programs / tool).symlink_to(shutil.which(tool))
        stand_in(programs, 'id', f'echo {uid}')
        stand_in(programs, 'dpkg-query', 'exit 1')
        stand_in(programs, 'apt-cache', 'echo found')
        for called in ('sudo', 'apt-get'):
            stand_in(programs, called, f'echo {called} "$@" >> {root}/calls')
        if built:
            (root / 'build/app').mkdir(parents=True)
            stand_in(root / 'build/app', 'gradloom', 'echo the program: "$@"')
        environment = {'PATH': str(programs)}
        if ci is not None:
            environment['CI'] = ci
        command = [str(root / script), *words]
        if answer is None:
            done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)
            status, output = done.returncode, done.stdout
        else:
            near, far = pty.openpty()
            process = subprocess.Popen(command, env=environment, stdin=far, stdout=far, stderr=far)
            os.close(far)
            os.write(near, (answer + '\n').encode())
            output = ''
            try:
                while piece := os.read(near, 4096):
                    output += piece.decode()
            except OSError:
                pass
            status = process.wait()
            os.close(near)
        calls = root / 'calls'
        return status, output, calls.read_text() if calls.exists() else ''


def configured(gpu=False, before=None, options=None, words=('ops',), display=None):
    """Returns (output, what meson was called with, what ninja was) of app/run on a machine with all packages and nvcc."""
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        (root / 'app').mkdir()
        for part in ('app/run', 'app/setup.sh'):
            shutil.copy(source / part, root / part)
        programs = root / 'programs'
        programs.mkdir()
        for tool in [*TOOLS, 'grep', 'mkdir']:
            (programs / tool).symlink_to(shutil.which(tool))
        stand_in(programs, 'dpkg-query', 'shift 3; for p; do echo "<$p installed>"; done')
        stand_in(programs, 'apt-get', 'exit 1')
        stand_in(programs, 'nvcc', 'exit 1')
        stand_in(programs, 'ninja', f'echo "$@" >> {root}/built; echo "ninja: no work to do."')
        stand_in(programs, 'meson', f'echo "$@" >> {root}/calls; mkdir -p {root}/build')
        if gpu:
            stand_in(programs, 'nvidia-smi', 'echo "GPU 0: a GPU"')
        build = root / 'build'
        (build / 'app').mkdir(parents=True)
        stand_in(build / 'app', 'gradloom', 'echo the program: "$@"')
        (build / 'app/gradloom-studio').mkdir()
        stand_in(build / 'app/gradloom-studio', 'gradloom-studio', 'echo Studio: "$@"')
        if before is not None:
            (build / 'meson-info').mkdir()
            (build / 'build.ninja').touch()
            (build / 'meson-info/intro-buildoptions.json').write_text(
                '[{"name": "cuda", "value": "%s", "section": "user"}]' % before)
        if options is not None:
            (build / '.options').write_text(options + '\n')
        environment = {'PATH': str(programs)} | ({'DISPLAY': display} if display else {})
        done = subprocess.run([str(root / 'app/run'), *words], env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        calls, ninja = root / 'calls', root / 'built'
        return done.stdout, calls.read_text() if calls.exists() else '', ninja.read_text().split() if ninja.exists() else []


def check(what, good, *about):
    global failed, number
    number += 1
    print(f'{"ok" if good else "not ok"} {number} - {what}')
    if not good:
        failed = True
        print('#', *about)


for script in ('app/run', 'tests/run'):
    r = run(['--no-install'], 0, script=script)
    check(f'{script} --no-install lists', r[0] == 1 and 'meson' in r[1] and not r[2], r)
    r = run([], 1000, script=script)
    check(f'{script} without a terminal does not become root', r[0] == 1 and 'apt-get install' in r[1] and not r[2], r)
    r = run([], 0, script=script)
    check(f'{script} by root installs', 'apt-get install -q -y' in r[2], r)
    r = run([], 1000, ci='true', script=script)
    check(f'{script} in CI installs', 'sudo env' in r[2], r)
    for no in ('', '0', 'false'):
        r = run([], 1000, ci=no, script=script)
        check(f'{script} with CI={no} does not become root', r[0] == 1 and not r[2], r)
for answer, installs in (('y', True), ('', False), ('n', False)):
    r = run([], 1000, answer=answer)
    check(f'app/run on a terminal, answer “{answer}”', ('sudo env' in r[2]) == installs and '[y/N]' in r[1], r)
r = run(['--help'], 0)
check('app/run --help installs nothing', r[0] == 0 and 'Usage: app/run' in r[1] and not r[2], r)
r = run(['--help'], 0, built=True)
check('app/run --help asks the program', 'the program: --help' in r[1] and not r[2], r)
WITHOUT = '--buildtype=release -Doptimization=2 -Dcpu_isa=native -Db_pch=true -Dtests=false -Dcuda=disabled'
r = configured()
check('app/run without a GPU leaves CUDA out and says how to get it',
      '-Dcuda=disabled' in r[1] and '-Dcuda=enabled' in r[0] and r[0].count('\n') == 2, r)
r = configured(before='disabled', options=WITHOUT)
check('app/run says it once, and configures once', not r[1] and r[0] == 'the program: ops\n', r)
r = configured(gpu=True)
check('app/run with a GPU builds CUDA for it', '-Dcuda=auto -Dnvcc_arch=native' in r[1] and r[0] == 'the program: ops\n', r)
r = configured(before='enabled', options=WITHOUT)
check('app/run keeps CUDA that was asked for', 'cuda' not in r[1] and r[0] == 'the program: ops\n', r)
r = configured(before='enabled')
check('app/run keeps a folder that was configured by hand', 'cuda' not in r[1] and r[0] == 'the program: ops\n', r)
for words, display, target, says in (((), None, 'command-line', 'train'), (('ops',), ':0', 'command-line', 'the program: ops'),
                                     ((), ':0', 'all', 'Studio: ')):
    r = configured(before='disabled', options=WITHOUT, words=words, display=display)
    check(f'app/run {" ".join(words)} {"with" if display else "without"} a display builds “{target}”',
          r[2][-1:] == [target] and says in r[0], r)
print(f'1..{number}')
sys.exit(failed)
