#!/usr/bin/env python3
"""Compares the first steps of every example graph between two builds, bit by bit. Run by hand after a change of the trainer:

same-bits.py record GRADLOOM FILE   trains ten steps of each graph, resumes each run for two more, and writes the results
same-bits.py check GRADLOOM FILE    does the same and compares with FILE; status 1 if anything differs

A result is, after each of the two parts, the losses that `gradloom train --json` prints and digests of events.jsonl and of
all files of the checkpoint: weights, optimizer, state.json, cost table. A graph that cannot be trained, for instance
because its data are missing, has its error message as the result. GRAPH… after FILE selects graphs by parts of their names.
"""

import concurrent.futures
import glob
import hashlib
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# One sample each: ten steps take seconds on one core.
LARGE = ('alexnet', 'gpt2', 'resnet', 'vgg16', 'fashion-resnet')


def digest(path):
    with open(path, 'rb') as file:
        return hashlib.sha256(file.read()).hexdigest()


def part(gradloom, words, run, steps):
    done = subprocess.run([gradloom, 'train', *words, '--device', 'cpu', '--threads', '1', '--steps', str(steps), '--json'],
                          capture_output=True, text=True, env=dict(os.environ, LC_ALL='C.UTF-8'), check=False)
    if done.returncode != 0:
        return {'error': done.stderr.replace(run, 'RUN')}
    events = [json.loads(line) for line in done.stdout.splitlines()]
    found = {'losses': [e['loss'] for e in events if e['event'] in ('step', 'eval')]}
    newest = max(os.listdir(f'{run}/checkpoints'), key=int)
    for name in sorted(os.listdir(f'{run}/checkpoints/{newest}')):
        found[f'checkpoint {newest} {name}'] = digest(f'{run}/checkpoints/{newest}/{name}')
    found['events.jsonl'] = digest(f'{run}/events.jsonl')
    return found


def result(gradloom, path):
    with tempfile.TemporaryDirectory() as folder:
        run = f'{folder}/run'
        size = ['--batch-size', '1'] if any(name in os.path.basename(path) for name in LARGE) else []
        first = part(gradloom, [path, '--out', run, *size], run, 10)
        return [first] if 'error' in first else [first, part(gradloom, ['--resume', run], run, 12)]


def main():
    how, gradloom, path, *only = sys.argv[1:]
    graphs = sorted(glob.glob(f'{ROOT}/graphs/lessons/*.xml') + glob.glob(f'{ROOT}/graphs/models/*.xml'))
    graphs = [g for g in graphs if not only or any(word in g for word in only)]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        results = dict(zip([os.path.relpath(g, ROOT) for g in graphs], pool.map(lambda g: result(gradloom, g), graphs)))
    if how == 'record':
        with open(path, 'w', encoding='utf-8') as file:
            json.dump(results, file, indent=1)
    trained = sum('error' not in r[0] for r in results.values())
    print(f'{len(results)} graphs, {trained} of them trained')
    if how == 'record':
        return 0
    with open(path, encoding='utf-8') as file:
        before = json.load(file)
    wrong = 0
    for name, now in results.items():
        for number, (a, b) in enumerate(zip(before[name], now)):
            for key in sorted(a.keys() | b.keys()):
                if a.get(key) != b.get(key):
                    print(f'{name}, part {number + 1}: {key} differs: {str(a.get(key))[:200]} and now {str(b.get(key))[:200]}')
                    wrong += 1
        wrong += len(before[name]) != len(now)
    print('all the same' if wrong == 0 else f'{wrong} differences')
    return wrong != 0


if __name__ == '__main__':
    sys.exit(main())
