#!/usr/bin/env python3
"""The lines that commands print with --json are those that `gradloom help json` describes.

  test-json.py SOURCE_ROOT GRADLOOM

Each command of RUNS is run in a scratch folder; each of its lines must have a described event, all members that are not marked ?,
no others, and values of the stated types. Events of the sources must be described, and those that no run prints be listed in UNSEEN
with the reason.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT, GRADLOOM = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
LESSON = 'graphs/lessons/'
# Commands in this order; (status, words). Later ones read what earlier ones wrote.
RUNS = [
    (0, 'check %sspirals.xml' % LESSON),
    (0, 'check %stoy-model-parallel.xml' % LESSON),
    (0, 'check graphs/attention.lecture'),
    (0, 'check %scustom-activation.xml --gradcheck' % LESSON),
    (1, 'check fault.xml'),
    (0, 'check warning.xml'),
    (0, 'check fixable.xml --fix'),
    (0, 'train %sspirals.xml --epochs 2 --out run1 --waits --health' % LESSON),
    (0, 'train early.xml --epochs 4 --out run2'),
    (0, 'train %sspirals.xml --epochs 1 --weights run1/weights.safetensors' % LESSON),
    (0, 'eval run1'),
    (0, 'eval run1 --confusion --per-class --calibration'),
    (0, 'train graphs/models/dates-gru.xml --steps 1 --out dates'),
    (0, 'eval dates --beam 1'),
    (1, 'predict run1 rows.csv missing.csv'),
    (0, 'predict run1 rows.csv --output hidden'),
    (0, 'predict dates dates.txt --beam 2'),
    (0, 'train graphs/models/char-rnn.xml --steps 1 --out text'),
    (0, 'generate text --prompt the --tokens 4'),
    (0, 'run %sxyz-sum.xml --in "x=[[1,2,3,4],[5,6,7,8],[9,10,11,12]]" --print s --out s=s.npy' % LESSON),
    (0, 'export run1 --to report -o run1.html'),
    (0, 'runs .'),
    (0, 'hand-in run1 --name Ada --answer 4=12 -o ada.gradloom'),
    (0, 'grade . --key %sspirals.xml' % LESSON),
    (0, 'queue early.xml'),
    (0, 'queue'),
    (1, 'diff %sspirals.xml early.xml' % LESSON),
    (0, 'devices'),
    (0, 'program %sspirals.xml' % LESSON),
    (0, 'plan %sspirals.xml' % LESSON),
    (0, 'plan %sspirals.xml --passes' % LESSON),
    (0, 'plan %sspirals.xml --parameters' % LESSON),
    (0, 'plan %sspirals.xml --memory' % LESSON),
    (0, 'plan %sspirals.xml --fits' % LESSON),
    (0, 'plan %sspirals.xml --steps' % LESSON),
    (0, 'plan %sspirals.xml --check' % LESSON),
    (0, 'plan %sspirals.xml --ranks 2' % LESSON),
    (0, 'plan %spipeline.xml --ranks 4' % LESSON),
    (0, 'plan recompute.xml'),
    (0, 'plan %svector-add.xml --source c' % LESSON),
    (0, 'bench %sspirals.xml --windows 1 --seconds 0.01' % LESSON),
    (0, 'bench %sspirals.xml --windows 1 --seconds 0.01 --replicas 2' % LESSON),
    (0, 'bench %sspirals.xml --windows 1 --seconds 0.01 --ranks 2 --strategies data --memory 1M' % LESSON),
    (0, 'bench comm --over threads --sizes 8,80k --windows 1 --seconds 0.01'),
    (0, 'sweep %sspirals.xml --grid train.lr=0.001,0.01 --seeds 1 --epochs 1' % LESSON),
    (0, 'sweep %sspirals.xml --grid train.batch_size=100,250 --folds 2 --epochs 1 --equal both --case "a:"' % LESSON),
    (0, 'simulate %sspirals.xml --gpus 1,2' % LESSON),
    (0, 'simulate --published'),
    (0, 'transfer %sspirals.xml --weights run1/weights.safetensors --head scores --steps 1 --samples 50' % LESSON),
]
UNSEEN = {
    'no_device': 'a device that cannot be used',
    'check_fault': 'a wrong plan', 'check_pass': 'a wrong plan',
    'layer': 'minutes of measurements', 'machine': 'minutes of measurements', 'tune': 'minutes of measurements',
    'tuned': 'minutes of measurements', 'lane': 'a device with memory of its own',
    'command': 'the description of one program for the other',
}
KINDS = {'added', 'removed', 'changed', 'renamed'}


def parse_type(text, at):
    """(type, the position after it): a letter, ['list', type], or {member: (type, optional)}; an empty {} is any object."""
    if text[at] == '[':
        inner, at = parse_type(text, at + 1)
        assert text[at] == ']', text
        return ['list', inner], at + 1
    if text[at] == '{':
        members, at = {}, at + 1
        while text[at] != '}':
            match = re.compile(r'(\w+)(\??):').match(text, at)
            kind, at = parse_type(text, match.end())
            members[match.group(1)] = (kind, match.group(2) == '?')
            at += text[at] == ','
        return members, at + 1
    assert text[at] in 'nxsb', text[at:]
    return text[at], at + 1


def described():
    """{command: {event: {member: (type, optional)}}}"""
    text = subprocess.run([GRADLOOM, 'help', 'json'], stdout=subprocess.PIPE, text=True, check=True).stdout
    found, command = {}, None
    for line in text.split('\n'):
        if line.startswith('## gradloom '):
            command = found.setdefault(line.split()[-1], {})
        row = re.match(r'\| `(\w+)` \| `(.*)` \| (.*) \|$', line)
        if row:
            command[row.group(1)] = parse_type('{%s}' % row.group(2).replace(' ', ','), 0)[0]
    for kind in KINDS:
        found['diff'][kind] = found['diff']['added']
    return found


def wrong(value, kind, where):
    """What is wrong with a value; None: nothing."""
    if isinstance(kind, dict):
        if not isinstance(value, dict):
            return '%s is no object' % where
        if not kind:
            return None
        for name, (inner, optional) in kind.items():
            if name in value:
                fault = wrong(value[name], inner, '%s.%s' % (where, name))
                if fault:
                    return fault
            elif not optional:
                return '%s has no %s' % (where, name)
        extra = sorted(set(value) - set(kind))
        return '%s has %s, which is not described' % (where, ', '.join(extra)) if extra else None
    if isinstance(kind, list):
        if not isinstance(value, list):
            return '%s is no list' % where
        return next((fault for each in value for fault in [wrong(each, kind[1], where + '[]')] if fault), None)
    if value is None and kind in 'nxs':
        return None
    right = {'n': isinstance(value, int) and not isinstance(value, bool), 'x': isinstance(value, (int, float)) and not
             isinstance(value, bool), 's': isinstance(value, str), 'b': isinstance(value, bool)}[kind]
    return None if right else '%s is %r, not %s' % (where, value, kind)


def write_inputs(folder):
    def write(name, text):
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
            f.write(text)

    with open(os.path.join(ROOT, LESSON, 'spirals.xml'), encoding='utf-8') as f:
        spirals = f.read()
    write('early.xml', re.sub(r'<train ', '<train patience="1" min_delta="10" ', spirals, count=1))
    write('recompute.xml', re.sub(r'(<node id="hidden")', r'\1 recompute="true"', spirals, count=1))
    write('fault.xml', '<graph xmlns="urn:gradloom:graph" version="1"><node id="a" op="relu"/></graph>')
    write('warning.xml', '<graph xmlns="urn:gradloom:graph" version="1"><node id="x" op="input" shape="B,3,4,4"/><node id="a" '
          'op="linear" out_features="2"/><wire from="x" to="a"/></graph>')
    write('fixable.xml', '<graph xmlns="urn:gradloom:graph" version="1"><node id="x" op="input" shape="B,4"/><node id="a" '
          'op="linear" out_feature="2"/><wire from="x" to="a"/></graph>')
    write('rows.csv', '0.1,0.2\n0.3,0.4\n')
    write('dates.txt', 'the third of june\n')
    for tree in ('graphs', 'data', 'tests'):
        os.symlink(os.path.join(ROOT, tree), os.path.join(folder, tree))


def main():
    events, seen, results = described(), set(), []

    # A check that finds nothing wrong with these is no check.
    assert wrong({'a': 1}, parse_type('{a:s}', 0)[0], '') and wrong({}, parse_type('{a:s}', 0)[0], '')
    assert wrong({'a': [[1.5]]}, parse_type('{a:[[n]]}', 0)[0], '') and wrong({'b': 1}, parse_type('{a?:n}', 0)[0], '')
    assert not wrong({'a': [None, 'x']}, parse_type('{a:[s]}', 0)[0], '')
    with tempfile.TemporaryDirectory(prefix='gradloom-json-') as folder:
        write_inputs(folder)
        for status, command in RUNS:
            words = shlex.split(command)
            ran = subprocess.run([GRADLOOM, *words, '--json'], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, env=dict(os.environ, GRADLOOM_CPU_DEVICES='2', XDG_STATE_HOME=folder + '/state'))
            faults = [] if ran.returncode == status else ['status %d: %s' % (ran.returncode, ran.stderr[-500:])]
            for line in ran.stdout.splitlines():
                value = json.loads(line)
                event = value.pop('event')
                seen.add(event)
                kind = events.get(words[0], {}).get(event)
                fault = '“%s” is not described' % event if kind is None else wrong(value, kind, event)
                if fault and fault not in faults:
                    faults.append(fault)
            results.append((command, faults))
    written = set()
    for top, _, names in os.walk(os.path.join(ROOT, 'app')):
        for name in names:
            if name.endswith('.c'):
                with open(os.path.join(top, name), encoding='utf-8') as f:
                    written |= {word for call in re.findall(r'command_event_new \(([^;]*)\);|\bbegin \(("[^;]*)\);', f.read())
                                for word in re.findall(r'"(\w+)"', ' '.join(call))}
    known = {event for each in events.values() for event in each}
    results.append(('events of the sources', sorted('“%s” is not described' % e for e in written - known - set(UNSEEN))))
    results.append(('events that are printed', sorted('no run prints “%s”' % e for e in known - seen - set(UNSEEN) - KINDS)))
    print('1..%d' % len(results))
    for number, (name, faults) in enumerate(results, 1):
        print('%s %d - %s' % ('not ok' if faults else 'ok', number, name))
        for fault in faults:
            print('\n'.join('# ' + line for line in fault.split('\n')))
    return any(faults for _, faults in results)


sys.exit(main())
