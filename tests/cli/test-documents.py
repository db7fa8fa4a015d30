#!/usr/bin/env python3
"""Every command that a document shows is one.

  test-documents.py SOURCE_ROOT GRADLOOM

Documents are the Markdown files of the tree. Their blocks of code marked "sh run" are executed in a scratch folder, in which graphs/
leads to the tree's. Of all other blocks marked "sh" the program parses the words: with --help as the last one it ends there, but with
status 2 after an option that it does not know. Commands that need a GPU, several machines or minutes are blocks of this second kind.
Code in running text that begins with gradloom or app/run may have placeholders for values, so that only its command and the names of
its options are checked. Other programs must be scripts of the tree, or be listed in FOREIGN. Links must lead to files, and names of
files in the READMEs of boxes be those of files.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT, GRADLOOM = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
TOPS = ['app', 'data', 'docs', 'engine', 'graphs', 'kernels', 'tests', 'ui']
FOREIGN = {'cd', 'echo', 'git', 'meson', 'mpirun', 'ninja', 'scp', 'srun', 'ssh', 'ssh-copy-id', 'ssh-keygen', 'sudo', 'tar'}
# Folders of a build, and of an archive that is made for another machine.
MADE = ('build/', 'build-tests/', 'gradloom-card/')
WORDS = {'app/run', 'gradloom', 'build/app/gradloom', 'build-tests/app/gradloom'}
RUN_LIMIT = 100


def documents():
    yield from (name for name in sorted(os.listdir(ROOT)) if name.endswith('.md'))
    for top in TOPS:
        for folder, folders, names in os.walk(os.path.join(ROOT, top)):
            folders.sort()
            for name in sorted(names):
                if name.endswith('.md'):
                    yield os.path.relpath(os.path.join(folder, name), ROOT)


def blocks(text):
    """(info, lines) of each block of code, and the text around them."""
    found, around, info = [], [], None
    for line in text.split('\n'):
        mark = re.match(r'\s*```(.*)$', line)
        if mark and info is None:
            info, lines = mark.group(1).strip(), []
        elif mark:
            found.append((info, lines))
            info = None
        else:
            (around if info is None else lines).append(line)
    assert info is None, 'a block of code has no end'
    return found, '\n'.join(around)


def simple_commands(lines):
    """The words of each simple command, without comments, variables in front and prompts."""
    for line in '\n'.join(lines).replace('\\\n', ' ').split('\n'):
        if line.startswith('#!') or line.startswith('#SBATCH'):
            continue
        lexer = shlex.shlex(line.removeprefix('$ '), posix=True, punctuation_chars=';&|<>')
        lexer.commenters = '#'
        lexer.whitespace_split = True
        words = []
        for word in list(lexer) + [';']:
            if word in (';', '&&', '||', '|', '&'):
                while words and re.match(r'^\w+=', words[0]):
                    words.pop(0)
                if words:
                    yield words
                words = []
            else:
                words.append(word)


asked = {}


def ask(words):
    """What is wrong with the words after gradloom; None: nothing."""
    words = [w for w in words if w not in ('>', '<', '>>')]
    for word in words:
        for path in re.findall(r'\b(?:graphs|docs|tests|data)/[\w./-]+\.\w+', word):
            if not os.path.exists(os.path.join(ROOT, path)):
                return 'there is no %s' % path
    key = tuple(words)
    if key not in asked:
        helps = words[:1] in (['help'], ['--help'], ['--version'])
        done = subprocess.run([GRADLOOM, *words, *([] if helps else ['--help'])], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, text=True)
        asked[key] = None if done.returncode == 0 else done.stdout.strip().split('\n')[0]
    return asked[key]


def check_names(words):
    """The same for a command in running text."""
    helps = words[:1] in (['help'], ['--help'], ['--version'], [])
    fault = ask(words if helps else words[:1])
    if fault is not None or helps:
        return fault
    known = subprocess.run([GRADLOOM, words[0], '--help'], stdout=subprocess.PIPE, text=True, check=True).stdout
    for word in words[1:]:
        option = re.match(r'--[a-z0-9-]+', word)
        if option and not re.search(r'(?<!\S)' + option.group(0) + r'(?![\w-])', known):
            return 'there is no option %s' % option.group(0)
    return None


def check(words):
    """What is wrong with a command; None: nothing."""
    for at, word in enumerate(words):
        if word in WORDS and (at == 0 or words[0] in FOREIGN or words[0] == 'tests/cuda/emulated'):
            rest = words[at + 1:]
            if word == 'app/run' and not rest:
                return None
            return ask(rest)
    program = words[0]
    if program in FOREIGN or program.startswith(MADE):
        return None
    if '/' not in program:
        return '%s is no program that this test knows' % program
    return None if os.access(os.path.join(ROOT, program), os.X_OK) else '%s is no program of the tree' % program


def check_document(path):
    """(what is wrong, number of commands)"""
    with open(os.path.join(ROOT, path), encoding='utf-8') as f:
        found, around = blocks(f.read())
    commands = [(words, check(words)) for info, lines in found if info.split(' ')[0] == 'sh' for words in simple_commands(lines)]
    for code in re.findall(r'(?<!`)`((?:gradloom|app/run) [^`]+)`(?!`)', around):
        words = [w for w in shlex.split(code.replace('…', '')) if w not in ('COMMAND', 'WORDS')]
        commands.append((words, check_names(words[1:])))
    faults = ['%s: %s' % (shlex.join(words), fault) for words, fault in commands if fault is not None]
    links = re.findall(r'\]\(((?!https?:|node:|#)[^)]+)\)', around)
    faults += ['there is no %s' % link for link in links
               if not os.path.exists(os.path.join(ROOT, os.path.dirname(path), link.split('#')[0]))]
    return faults, len(commands)


def run_blocks(path):
    """(what is wrong, number of blocks)"""
    with open(os.path.join(ROOT, path), encoding='utf-8') as f:
        found, _ = blocks(f.read())
    scripts = ['\n'.join(lines) for info, lines in found if info == 'sh run']
    if not scripts:
        return [], 0
    with tempfile.TemporaryDirectory(prefix='gradloom-documents-') as folder:
        os.symlink(os.path.join(ROOT, 'graphs'), os.path.join(folder, 'graphs'))
        env = dict(os.environ, PATH=os.path.dirname(GRADLOOM) + os.pathsep + os.environ.get('PATH', ''))
        for script in scripts:
            try:
                done = subprocess.run(['sh', '-e', '-c', script], cwd=folder, env=env, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, timeout=RUN_LIMIT)
            except subprocess.TimeoutExpired:
                return ['%s\ndoes not end within %d s' % (script, RUN_LIMIT)], len(scripts)
            if done.returncode != 0:
                return ['%s\nends with status %d: %s' % (script, done.returncode, done.stderr[-2000:])], len(scripts)
    return [], len(scripts)


def check_names_of_files():
    """Names in the README of a box that look like those of its files, with or without an ending, and are none."""
    faults, n = [], 0
    for path in documents():
        folder = os.path.dirname(path)
        if os.path.basename(path) != 'README.md' or folder.split('/')[0] not in ('app', 'engine', 'kernels', 'ui'):
            continue
        names = [name for _, folders, files in os.walk(os.path.join(ROOT, folder)) for name in folders + files]
        families = {name.split('-')[0] for name in names if '-' in name}
        with open(os.path.join(ROOT, path), encoding='utf-8') as f:
            _, around = blocks(f.read())
        for name in re.findall(r'`([a-z0-9]+(?:-[a-z0-9*]+)+(?:\.(?:c|h|cu|ui|py))?)`', around):
            if name.split('-')[0] in families:
                n += 1
                pattern = re.compile(re.escape(name).replace(r'\*', r'[\w.-]*') + r'(?:\.|$)')
                if not any(pattern.match(each) for each in names):
                    faults.append('%s: there is no file %s' % (path, name))
    return faults if n >= 100 else faults + ['only %d names of files were found' % n]


def check_guide():
    """What Studio's help lacks of docs/guide: its pages, actions that the guide names with their keys, and tables, which are
    not drawn."""
    def text(*path):
        with open(os.path.join(ROOT, *path), encoding='utf-8') as f:
            return f.read()

    pages = sorted(name for name in os.listdir(os.path.join(ROOT, 'docs', 'guide')) if name.endswith('.md'))
    resources, window = text('ui', 'gradloom.gresource.xml'), text('ui', 'help', 'studio-help.c')
    faults = ['%s is no page of the help' % page for page in pages
              if '>docs/guide/%s<' % page not in resources or '{ "%s", ' % page[:-3] not in window]
    faults += ['%s has a table' % page for page in pages if re.search(r'^\|', text('docs', 'guide', page), re.M)]
    sources = ''.join(text(folder, name) for folder, _, names in os.walk(os.path.join(ROOT, 'ui')) for name in names
                      if name.endswith(('.c', '.ui')))
    words = {word.replace('_', '').rstrip('…') for word in re.findall(r'"((?:[^"\\\n]|\\.)*)"|>([^<>\n]+)<', sources)
             for word in word}
    names = [name for page in pages for name in re.findall(r'\*\*([^*]+)\*\* \((?:Ctrl|Alt|Shift|F\d)', text('docs', 'guide', page))]
    faults += ['Studio has no action “%s”' % name for name in names if name.rstrip('…') not in words]
    return faults if len(pages) >= 10 and len(names) >= 10 else faults + ['the guide has %d pages and %d actions' %
                                                                          (len(pages), len(names))]


def main():
    results = []
    total = [0, 0]

    # A check that finds nothing wrong with these is no check.
    assert check(['gradloom', 'train', '--no-such-option']) is not None
    assert check(['gradloom', 'no-such-command']) is not None
    assert check(['gradloom', 'check', 'graphs/no-such.xml']) is not None
    assert check(['tests/no-such-script']) is not None
    assert check(['gradloom', 'train', 'GRAPH', '--epochs', '3']) is None
    assert check_names(['train', '--no-such-option']) is not None
    assert check_names(['train', '--ranks', 'N']) is None
    for path in documents():
        for k, (kind, function) in enumerate([('parsed', check_document), ('run', run_blocks)]):
            faults, n = function(path)
            total[k] += n
            if n > 0 or faults:
                results.append(('%s/%s' % (path, kind), faults))
    results += [('guide', check_guide()), ('names', check_names_of_files())]
    print('1..%d' % (len(results) + 1))
    for number, (name, faults) in enumerate(results, 1):
        print('%s %d /documents/%s' % ('not ok' if faults else 'ok', number, name))
        for fault in faults:
            print('\n'.join('# ' + line for line in fault.split('\n')))
    # So that a change of Markdown's form does not empty the test.
    enough = total[0] >= 100 and total[1] >= 4
    print('%s %d /documents/enough' % ('ok' if enough else 'not ok', len(results) + 1))
    print('# %d commands parsed, %d blocks run' % tuple(total))
    sys.exit(not enough or any(faults for _, faults in results))


main()
