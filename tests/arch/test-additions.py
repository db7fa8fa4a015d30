#!/usr/bin/env python3
"""Adds a toy operator, primitive, planner pass, data set and pin kind to a copy of the tree, by the READMEs.

Each folder of tests/arch/additions holds what one addition consists of: new files under their paths, and `edits`, whose
entries "@@ FILE after|before|replace LINE" say where lines go. The paragraph "To add a …" of a README names files in
backticks; an addition must touch exactly those. Then the copy is built, only as far as the checks need it, and each addition
is asked for.

  test-additions.py SOURCE_ROOT WORK_FOLDER [BUILD_ROOT]

BUILD_ROOT is a build of the tree, of which the copy takes the objects that the additions leave as they are: a thousand, which
would take a minute. Without one, or of one with sanitizers, the copy is compiled without optimisation, and stays in
WORK_FOLDER, so that a second run compiles only what has changed. The pin kind is linked with BUILD_ROOT's library of Studio;
without one that check is skipped.
"""
import filecmp
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

ROOT, WORK = sys.argv[1], sys.argv[2]
BUILD_ROOT = sys.argv[3] if len(sys.argv) > 3 else None
TREE = os.path.join(WORK, 'tree')
BUILD = os.path.join(TREE, 'build')
# Meanings of NAME and FAMILY in a README, and the place of the paragraph.
ADDITIONS = {
    'operator': ('engine/ops/README.md', 'To add an operator', {'NAME': 'toy'}),
    'primitive': ('kernels/README.md', 'To add a primitive', {'NAME': 'toy_turn', 'FAMILY': 'index', 'GROUP': 'shape'}),
    'pass': ('engine/plan/README.md', 'To add a pass', {'NAME': 'toy'}),
    'dataset': ('engine/data/README.md', 'To add a data set', {'NAME': 'toy'}),
    'pin': ('ui/pins/README.md', 'To add a pin kind', {}),
}
FILE = re.compile(r'^[\w./-]+\.(c|h|build|svg|py)$')
GRAPH = '''<graph xmlns="urn:gradloom:graph" version="1">
  <node id="data" op="dataset" source="toy"/>
  <node id="turn" op="toy" shift="2"/>
  <node id="minus" op="neg"/>
  <node id="plus" op="neg"/>
  <node id="fc" op="linear" out_features="2"/>
  <node id="loss" op="cross_entropy"/>
  <wire from="data.x" to="turn"/>
  <wire from="turn" to="minus"/>
  <wire from="minus" to="plus"/>
  <wire from="plus" to="fc"/>
  <wire from="fc" to="loss.input"/>
  <wire from="data.y" to="loss.target"/>
  <train loss="loss" optimizer="sgd" lr="0.1" batch_size="10" epochs="1"/>
</graph>
'''


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def run(*words, **options):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode == 77:
        raise Skipped(done.stdout.strip().split('\n')[-1])
    if done.returncode != 0:
        raise Failed('%s: exit status %d\n%s' % (shlex.join(words), done.returncode, done.stdout[-4000:]))
    return done.stdout


# ---- the recipes ----------------------------------------------------------------------

def additions_folder(name):
    return os.path.join(ROOT, 'tests', 'arch', 'additions', name)


def new_files(name):
    """Path in the tree → content."""
    files = {}
    for folder, _, names in os.walk(additions_folder(name)):
        for each in names:
            path = os.path.relpath(os.path.join(folder, each), additions_folder(name))
            if path != 'edits':
                with open(os.path.join(folder, each), encoding='utf-8') as f:
                    files[path] = f.read()
    return files


def edits(name):
    """(file, where, line, text) of each entry."""
    path = os.path.join(additions_folder(name), 'edits')
    if not os.path.exists(path):
        return []
    with open(path, encoding='utf-8') as f:
        parts = re.split(r'^@@ (\S+) (after|before|replace) (.*)\n', f.read(), flags=re.M)
    return list(zip(parts[1::4], parts[2::4], parts[3::4], parts[4::4]))


def apply_edit(text, where, anchor, added, file):
    """The anchor is the beginning of exactly one line, or for "replace" a piece of one."""
    if where == 'replace':
        if text.count(anchor) != 1:
            raise Failed('%s has “%s” %d times' % (file, anchor, text.count(anchor)))
        return text.replace(anchor, added.rstrip('\n'))
    lines = text.split('\n')
    found = [i for i, line in enumerate(lines) if line.startswith(anchor)]
    if len(found) != 1:
        raise Failed('%s has %d lines that begin with “%s”' % (file, len(found), anchor))
    at = found[0] + (where == 'after')
    return '\n'.join(lines[:at] + added.rstrip('\n').split('\n') * (added != '') + ([''] if added.endswith('\n\n') else [])
                     + lines[at:])


def named_files(readme, start, names):
    """Regular expressions for the files that a README's paragraph names."""
    with open(os.path.join(ROOT, readme), encoding='utf-8') as f:
        paragraphs = [' '.join(p.split()) for p in re.split(r'\n\s*\n|\n(?=- )', f.read())]
    found = [p for p in paragraphs if p.lstrip('-* ').startswith(start)]
    if len(found) != 1:
        raise Failed('%s has %d paragraphs “%s …”' % (readme, len(found), start))
    files = {}
    for word in re.findall(r'`([^`]+)`', found[0]):
        if FILE.match(word):
            for key, value in names.items():
                word = word.replace(key, value)
            top = word.split('/')[0]
            files[word if os.path.isdir(os.path.join(ROOT, top)) and '/' in word
                  else os.path.join(os.path.dirname(readme), word)] = False
    return files


def check_touched(name):
    readme, start, names = ADDITIONS[name]
    named = named_files(readme, start, names)
    touched = set(new_files(name)) | {file for file, *_ in edits(name)}
    for file in sorted(touched - set(named)):
        raise Failed('%s is touched, but “%s” in %s does not name it' % (file, start, readme))
    for file in sorted(set(named) - touched):
        raise Failed('“%s” in %s names %s, which did not have to be touched' % (start, readme, file))


# ---- the copy -------------------------------------------------------------------------

def write_if_new(path, data):
    if os.path.exists(path):
        with open(path, 'rb') as f:
            if f.read() == data:
                return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        f.write(data)


def make_copy():
    """The tree with all additions. Files that are as they should be keep their time, for the sake of the build."""
    wanted = {}
    for top in ['meson.build', 'meson_options.txt', 'README.md', 'LICENSE', 'app', 'data', 'docs', 'engine', 'graphs', 'kernels', 'tests',
                'ui']:
        path = os.path.join(ROOT, top)
        if os.path.isfile(path):
            wanted[top] = path
        for folder, _, names in os.walk(path):
            for each in names:
                full = os.path.join(folder, each)
                if '__pycache__' not in full:
                    wanted[os.path.relpath(full, ROOT)] = full
    changed = {}
    for name in ADDITIONS:
        changed.update({file: text for file, text in new_files(name).items()})
        for file, where, anchor, added in edits(name):
            if file not in changed:
                with open(os.path.join(ROOT, file), encoding='utf-8') as f:
                    changed[file] = f.read()
            changed[file] = apply_edit(changed[file], where, anchor, added, file)
    for folder, _, names in os.walk(TREE):
        for each in names:
            path = os.path.relpath(os.path.join(folder, each), TREE)
            if not path.startswith('build/') and path not in wanted and path not in changed:
                os.remove(os.path.join(folder, each))
    for path, source in wanted.items():
        if path not in changed:
            with open(source, 'rb') as f:
                write_if_new(os.path.join(TREE, path), f.read())
            shutil.copymode(source, os.path.join(TREE, path))
    for path, text in changed.items():
        write_if_new(os.path.join(TREE, path), text.encode())
        source = os.path.join(ROOT, path)
        if os.path.exists(source):
            shutil.copymode(source, os.path.join(TREE, path))


TARGETS = ['app/gradloom', 'app/gradloom.rng', 'tests/test-ops', 'tests/test-recipe', 'tests/test-program', 'tests/test-kernels', 'tests/test-plan',
           'tests/test-data', 'tests/arch/test-arch', 'tests/test-reference']
ONNX_TARGET = 'tests/test-onnx'  # where this machine has what ONNX needs
FILES = ['ops/ops', 'recipe/schema', 'program/prims', 'program/prim-table', 'kernels/kernels-agree', 'plan/plan', 'data/sources', 'reference/reference',
         'onnx/onnx-export']
SETUP = ['-Doptimization=0', '-Ddebug=false', '-Dc_args=-w', '-Dstudio=false', '-Dtests=true', '-Dcpu_isa=base', '-Dcuda=disabled',
         '-Dpictures=disabled', '-Dtest_files=' + ','.join(FILES)]


def build():
    env = dict(os.environ)
    # Compilers' caches find what they have in another folder, too; without one headers are read once.
    env.update(CCACHE_BASEDIR=TREE, CCACHE_NOHASHDIR='1')
    theirs = objects_of_build()
    cached = shutil.which('ccache') is not None and not env.get('CCACHE_DISABLE')
    if shutil.which('ld.lld') is not None:
        env.update(CC_LD='lld', CXX_LD='lld')
    setup = SETUP + ['-Db_pch=' + ('false' if cached or theirs else 'true')]
    options = os.path.join(BUILD, 'options.txt')
    if not os.path.exists(options) or open(options, encoding='utf-8').read() != repr(setup):
        shutil.rmtree(BUILD, ignore_errors=True)
        run('meson', 'setup', BUILD, TREE, *setup, env=env)
        with open(options, 'w', encoding='utf-8') as f:
            f.write(repr(setup))
    elif theirs:
        run('ninja', '-C', BUILD, 'build.ninja', env=env)
    targets = TARGETS + ([ONNX_TARGET] if has_onnx() else [])
    if theirs:
        build_with(theirs, targets, env)
    else:
        run('ninja', '-C', BUILD, *targets, env=env)


# ---- objects of another build -----------------------------------------------------------

# Files of which an addition replaces a piece.
REPLACED = {file for name in ADDITIONS for file, where, *_ in edits(name) if where == 'replace'}


class Object:
    def __init__(self, command, dependencies):
        self.command, self.dependencies = command, dependencies


def compile_commands(build_folder):
    with open(os.path.join(build_folder, 'compile_commands.json'), encoding='utf-8') as f:
        return json.load(f)


def objects_of_build():
    """Object by path in the build folder; none of a build whose objects need a sanitizer's library."""
    if BUILD_ROOT is None or os.path.dirname(os.path.abspath(BUILD_ROOT)) != os.path.abspath(ROOT):
        return {}
    objects = {e['output']: Object(e['command'], []) for e in compile_commands(BUILD_ROOT)}
    if any('-fsanitize=address' in o.command for o in objects.values()):
        return {}
    needs, current = {}, []
    for line in run('ninja', '-C', BUILD_ROOT, '-t', 'deps').split('\n'):
        if line.startswith(' '):
            current.append(line.strip())
        elif line != '':
            current = needs.setdefault(line.split(':')[0], [])
    for path, o in objects.items():
        for name in needs.get(path, []):
            # The stamp of a header that is precompiled for several boxes stands for what that one includes.
            header = re.fullmatch('engine/(pch-[a-z]+)-made.h', name)
            o.dependencies += needs.get('engine/libgradloom-%s.a.p/%s.h.gch' % (header[1], header[1]), []) if header else [name]
    return {path: o for path, o in objects.items() if o.dependencies}


def defines(command):
    return sorted(word for word in shlex.split(command) if word.startswith('-D'))


def is_same(path, theirs, known):
    """An object is the same if what it is compiled from and its macros are. Declarations that an addition brings to a header
    change no object that does not use them: one that does is compiled from a file that the addition brings or changes, or
    from a list that is generated."""
    made = os.path.join(BUILD_ROOT, path)
    if not os.path.exists(made):
        return False
    for name in theirs.dependencies:
        if name not in known:
            own, copy = os.path.join(BUILD_ROOT, name), os.path.join(BUILD, name)
            inside = not os.path.isabs(name)
            declares = name.startswith('../') and name.endswith('.h') and name[3:] not in REPLACED
            same = not inside or declares or (os.path.exists(copy) and os.path.exists(own) and filecmp.cmp(own, copy, False))
            known[name] = same, os.path.getmtime(own) if inside and os.path.exists(own) else 0
        same, time = known[name]
        if not same or time > os.path.getmtime(made):
            return False
    return True


def build_with(theirs, targets, env):
    """What ninja would do, without compiling what the other build has."""
    own = {e['command']: e['output'] for e in compile_commands(BUILD)}
    known, taken, compiled = {}, 0, 0
    for command in run('ninja', '-C', BUILD, '-t', 'commands', *targets).split('\n'):
        path = own.get(command)
        if path in theirs and defines(command) == defines(theirs[path].command) and is_same(path, theirs[path], known):
            os.makedirs(os.path.dirname(os.path.join(BUILD, path)), exist_ok=True)
            shutil.copyfile(os.path.join(BUILD_ROOT, path), os.path.join(BUILD, path))
            taken += 1
        elif command and not command.startswith('ninja: '):
            if path:
                os.makedirs(os.path.dirname(os.path.join(BUILD, path)), exist_ok=True)
                compiled += 1
            run('sh', '-c', command, cwd=BUILD, env=env)
    print('# %d objects of the other build, %d compiled' % (taken, compiled))


def has_onnx():
    return ONNX_TARGET + ':' in run('ninja', '-C', BUILD, '-t', 'targets', 'all')


# ---- the checks -------------------------------------------------------------------------

def gradloom(*words):
    return run(os.path.join(BUILD, 'app', 'gradloom'), *words, cwd=WORK)


def tests(program, file, *paths):
    env = dict(os.environ, GRADLOOM_SOURCE_ROOT=TREE, GRADLOOM_BUILD_ROOT=BUILD, GRADLOOM_SAMPLES='toy_turn',
               GRADLOOM_EXPORT_ONLY='toy')
    words = [file] if file else []
    return run(os.path.join(BUILD, program), *words, *[w for p in paths for w in ('-p', p)], env=env, cwd=WORK)


def expect(text, *pieces):
    for piece in pieces:
        if piece not in text:
            raise Failed('“%s” is not in\n%s' % (piece, text[-4000:]))


def check_operator():
    expect(gradloom('ops', 'toy'), 'toy (Toy, Layers)', 'shift')
    tests('tests/test-recipe', 'schema')
    expect(tests('tests/test-ops', 'ops', '/ops/descriptors', '/ops/shapes', '/ops/symbolic'), '# toy\n')
    tests('tests/test-reference', 'reference', '/reference/complete')


def check_primitive():
    expect(gradloom('program', 'toy.xml'), 'toy_turn', 'shift=2')
    tests('tests/test-program', 'prim-table')
    expect(tests('tests/test-program', 'prims', '/program/prims/gradients', '/program/prims/second'), 'of which 1 are samples')
    tests('tests/test-kernels', 'kernels-agree', '/kernels/agree/native', '/kernels/ref-f32', '/kernels/threads')
    if has_onnx():
        expect(tests(ONNX_TARGET, 'onnx-export', '/onnx-export/samples'), '# 2 samples')


def check_pass():
    passes = gradloom('plan', 'toy.xml', '--passes')
    expect(passes, 'toy', 'The negative of a negative')
    tests('tests/test-plan', 'plan', '/plan/toy', '/plan/passes', '/plan/random')


def check_dataset():
    expect(gradloom('ops', 'dataset'), 'source="toy"')
    expect(gradloom('check', 'toy.xml'), 'data')
    gradloom('train', 'toy.xml', '--device', 'cpu')
    tests('tests/test-data', 'sources')


def studio_command():
    """The command that links Studio's tests in a build with Studio."""
    if BUILD_ROOT is None:
        return None
    done = subprocess.run(['ninja', '-C', BUILD_ROOT, '-t', 'commands', '-s', 'tests/test-ui'], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return done.stdout.strip().split('\n')[-1] if done.returncode == 0 else None


def check_pin():
    """Compiles the table of kinds and its test as that build does, and links them in front of its library."""
    with_display = os.path.join(ROOT, 'tests', 'ui', 'with-display.sh')
    if not studio_command():
        raise Skipped('This build has no Studio.')
    link = shlex.split(studio_command())
    flags = shlex.split(run('pkg-config', '--cflags', 'gtk4', 'libadwaita-1', 'json-glib-1.0', 'gio-unix-2.0'))
    objects = []
    for source in ['ui/pins/studio-pin-kind.c', 'tests/ui/test-pins.c']:
        objects.append(os.path.join(WORK, os.path.basename(source)[:-2] + '.o'))
        run('cc', '-std=gnu11', '-D_GNU_SOURCE', '-w', *['-I' + os.path.join(BUILD_ROOT, f) for f in [TREE, '', 'data', 'ui']],
            *flags, '-c', os.path.join(TREE, source), '-o', objects[-1])
    program = os.path.join(WORK, 'test-pins')
    link[link.index('-o') + 1] = program
    link = [w for w in link if not w.endswith('test-pins.c.o')]
    at = link.index(program) + 1
    run(*link[:at], *objects, *link[at:], cwd=BUILD_ROOT)
    env = dict(os.environ, GRADLOOM_SOURCE_ROOT=TREE, GRADLOOM_BUILD_ROOT=BUILD_ROOT)
    expect(run(with_display, program, 'pins', '--verbose', cwd=WORK, env=env), '# toy\n')


def check_rules():
    tests('tests/arch/test-arch', None, '/arch/includes', '/arch/no-circle', '/arch/symbols', '/arch/operator-names',
          '/arch/primitives-by-name', '/arch/readmes')


CHECKS = {'operator': check_operator, 'primitive': check_primitive, 'pass': check_pass, 'dataset': check_dataset,
          'pin': check_pin, 'rules': check_rules}


def main():
    number = 0
    failed = False

    def report(name, function, *arguments):
        nonlocal number, failed
        number += 1
        try:
            function(*arguments)
            print('ok %d %s' % (number, name), flush=True)
        except Skipped as why:
            print('ok %d %s # SKIP %s' % (number, name, why), flush=True)
        except Failed as fault:
            failed = True
            print('not ok %d %s' % (number, name), flush=True)
            print('\n'.join('# ' + line for line in str(fault).split('\n')), flush=True)

    print('1..%d' % (len(ADDITIONS) + 1 + len(CHECKS)), flush=True)
    os.makedirs(TREE, exist_ok=True)
    for name in ADDITIONS:
        report('/additions/touched/' + name, check_touched, name)
    report('/additions/build', lambda: (make_copy(), build()))
    with open(os.path.join(WORK, 'toy.xml'), 'w', encoding='utf-8') as f:
        f.write(GRAPH)
    shutil.rmtree(os.path.join(WORK, 'runs'), ignore_errors=True)
    for name, check in CHECKS.items():
        report('/additions/works/' + name, check)
    sys.exit(failed)


main()
