#!/usr/bin/env python3
"""What the engine hands to others: engine/loom.h to Studio, loom-run.h to commands and the library, loom-lab.h to the
laboratory.

A header is listed if its users need something that it declares; engine/loom.h lists what FEWEST files of Studio or more
need, and the others include what they need. No file of Studio sees anything that plans, checks or executes a step. With
--table the use of each header is printed.

usage: test-facade.py SOURCE_ROOT [--table]
"""
import os
import re
import sys

ROOT = sys.argv[1]
# Header → folders that use it, and folders below them that do not count.
AUDIENCES = {
    'engine/loom.h': (['ui'], []),
    'engine/loom-run.h': (['app', 'engine/api'], ['app/lab', 'app/gradloom-studio']),
    'engine/loom-lab.h': (['app/lab'], []),
}
FEWEST = 4
HIDDEN_FROM_STUDIO = re.compile(r'engine/(run|check)/|engine/plan/loom-(plan|devices|mesh|node-memory)\.h'
                                r'|engine/train/loom-(trainer|step|stages)\.h|engine/infer/loom-(predictor|decoder)\.h')


def read(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        text = file.read()
    return re.sub(r'/\*.*?\*/', '', text, flags=re.S)


def included(path):
    return re.findall(r'^#include "((?:engine|kernels)/[^"]+)"', read(path), re.M)


def closure(path, seen):
    for header in included(path):
        if header not in seen:
            seen.add(header)
            closure(header, seen)
    return seen


def declared(path):
    """Functions, types, macros and constants of a header that begin with Gradloom's prefix."""
    text = read(path)
    names = set(re.findall(r'#\s*define\s+(\w+)', text)) | set(re.findall(r'\b(loom_\w+)\s*\(', text))
    names |= set(re.findall(r'\bextern\b[^;]*?\b(loom_\w+)', text)) | set(re.findall(r'\(\*(Loom\w+)\)', text))
    names |= set(re.findall(r'\}\s*(Loom\w+)\s*;', text)) | set(re.findall(r'\btypedef\s+struct\s+\w+\s+(\w+)\s*;', text))
    for body in re.findall(r'\benum\b[^{;]*\{(.*?)\}', text, re.S):
        names |= set(re.findall(r'\b(LOOM_\w+)', body))
    return {name for name in names if name.lower().startswith('loom')}


def used(folders, left_out):
    """The words of each file that begin with Gradloom's prefix."""
    words = {}
    for top in folders:
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            relative = os.path.relpath(folder, ROOT)
            if any(relative == out or relative.startswith(out + '/') for out in left_out):
                continue
            for name in names:
                if name.endswith(('.c', '.h')):
                    path = os.path.join(relative, name)
                    words[path] = set(re.findall(r'\b[Ll][Oo][Oo][Mm]\w+', read(path)))
    return words


files = {header: used(*audience) for header, audience in AUDIENCES.items()}
words = {header: set().union(*by_file.values()) for header, by_file in files.items()}
if '--table' in sys.argv:
    print('| header | names | Studio | commands, library | laboratory |\n|---|---|---|---|---|')
    for umbrella in AUDIENCES:
        for header in included(umbrella):
            if header not in AUDIENCES:
                names = declared(header)
                print(f'| {header} | {len(names)} | ' + ' | '.join(str(len(names & words[u])) for u in AUDIENCES) + ' |')
    sys.exit(0)

faults = []
for umbrella in AUDIENCES:
    listed = [header for header in included(umbrella) if header not in AUDIENCES]
    if not listed:
        faults.append(f'{umbrella} lists no header')
    for header in listed:
        if not declared(header) & words[umbrella]:
            faults.append(f'{umbrella} lists {header}, but nothing that it declares is used in {AUDIENCES[umbrella][0]}')
for header in included('engine/loom.h'):
    users = [path for path, found in files['engine/loom.h'].items() if found & declared(header)]
    if len(users) < FEWEST:
        faults.append(f'engine/loom.h lists {header}, which {len(users)} files of Studio need: {" ".join(users)}')
for path in sorted(files['engine/loom.h']):
    for header in sorted(closure(path, set())):
        if HIDDEN_FROM_STUDIO.match(header):
            faults.append(f'{path} includes {header}, directly or not: Studio must not see it')
print('1..1')
for fault in faults:
    print(f'# {fault}')
print(('not ok' if faults else 'ok') + ' 1 the engine hands out what is used, and no more')
sys.exit(bool(faults))
