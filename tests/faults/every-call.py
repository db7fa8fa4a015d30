#!/usr/bin/env python3
"""Lets every system call and every large allocation of gradloom's commands fail once in turn, and looks at what is left.

  every-call.py GRADLOOM SHIM [--cases check,train] [--kinds open,read] [--sample N] [--state FILE] [--keep]

SHIM is fail-call.c, built. For each kind of call and each n up to the number that an undisturbed command makes, the command runs in
a copy of one small folder while its n-th call fails. Then
- no signal ended it (of small allocations, with which GLib aborts by design, only files are looked at);
- status 0 means complete results with the bits of the undisturbed command;
- another status comes with one sentence for the cause;
- every file is as before, or as after the undisturbed command; none is added, except in a run's folder;
- a run's folder is continued, or started again, with the bits of the undisturbed run.
--sample N runs N calls of each kind, --runs N about N of all, spread evenly. --state FILE keeps results and skips what it has, so a long run can be
interrupted; a line is "CASE KIND N STATUS FUNCTION FINDING".
"""
import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

PERSISTENT = ('disk', 'alloc', 'open')  # also as failures that stay
# GLib ends the program when it has no memory for a few bytes, and oneDNN 2 when it has none for code: files are looked at.
BY_DESIGN = ('small', 'jit')
MOST_SMALL = 40  # of thousands
ABOUT = 5600     # calls of all cases
# The line that follows the sentences of nodes.
SUMMARY = 'gradloom export: the nodes above cannot be written; no file was written.'
VOLATILE = ('events.jsonl', 'sessions.jsonl', 'run.json', 'costs.ini', 'state.json', 'state.packed')

GRAPH = '''<graph xmlns="urn:gradloom:graph" version="1" name="small">
<node id="data" op="dataset" source="csv" path="data.csv" target="y" target_type="float"/>
<node id="fc1" op="linear" out_features="128"/><node id="act" op="relu"/><node id="fc2" op="linear" out_features="160"/>
<node id="drop" op="dropout"/><node id="fc" op="linear" out_features="1"/><node id="loss" op="mse_loss"/>
<wire from="data.x" to="fc1"/><wire from="fc1" to="act"/><wire from="act" to="fc2"/><wire from="fc2" to="drop"/>
<wire from="drop" to="fc"/><wire from="fc" to="loss.input"/><wire from="data.y" to="loss.target"/>
<train loss="loss" optimizer="adam" lr="0.01" batch_size="16" epochs="4" seed="1"/></graph>
'''
OTHER = '''<graph xmlns="urn:gradloom:graph" version="1" name="other"><node id="x" op="input" shape="B,3"/>
<node id="fc" op="linear" out_features="2"/><node id="y" op="output"/><wire from="x" to="fc"/><wire from="fc" to="y"/></graph>
'''
# A command, and the folders of runs that it writes: each with the command that completes it.
RESUME = ['train', '--resume', 'earlier', '--steps', '6']
TRAIN = ['train', 'graph.xml', '--steps', '3', '--out', 'new']
CASES = {
    'check': (['check', 'graph.xml'], None),
    'train': (TRAIN, 'new'),
    'resume': (RESUME, 'earlier'),
    'import': (['import', 'model.onnx', '-o', 'imported.xml', '--force'], None),
    'export-onnx': (['export', 'earlier', '--to', 'onnx', '-o', 'out.onnx'], None),
    'export-safetensors': (['export', 'earlier', '--to', 'safetensors', '-o', 'out.safetensors'], None),
    'export-pytorch': (['export', 'graph.xml', '--to', 'pytorch', '-o', 'out.py'], None),
    'predict': (['predict', 'earlier', 'sample.csv'], None),
}


class Program:
    def __init__(self, gradloom, shim, base):
        self.gradloom, self.shim, self.base = gradloom, shim, base
        self.calls = os.path.join(base, 'calls')
        self.home = os.path.join(base, 'home')
        self.env = dict(os.environ, GOMP_SPINCOUNT='10000', OMP_NUM_THREADS='2', HWLOC_COMPONENTS='-gl', G_DEBUG='fatal-criticals',
                        HOME=self.home, XDG_CONFIG_HOME=self.home, XDG_CACHE_HOME=self.home, XDG_STATE_HOME=self.home,
                        GLIBC_TUNABLES='')
        self.env.pop('GRADLOOM_CHECK', None)

    def run(self, words, folder, fail=None):
        env = dict(self.env)
        shutil.rmtree(self.home, ignore_errors=True)
        os.mkdir(self.home)
        if fail is not None:
            env.update(LD_PRELOAD=self.shim, GRADLOOM_TEST_FAIL=fail, GRADLOOM_TEST_CALLS=self.calls)
            asan = [o for o in env.get('ASAN_OPTIONS', '').split(':') if o]
            env['ASAN_OPTIONS'] = ':'.join(asan + ['verify_asan_link_order=0'])
        if os.path.exists(self.calls):
            os.remove(self.calls)
        return subprocess.run([self.gradloom, *words], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, errors='replace', timeout=300, check=False)

    def counted(self):
        counts, function = {}, '-'
        if os.path.exists(self.calls):
            with open(self.calls, encoding='utf-8') as f:
                for line in f:
                    name, value = line.split()
                    if name == 'failed':
                        function = value
                    else:
                        counts[name] = int(value)
        return counts, function


def write(path, text):
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)


def contents(folder):
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            with open(path, 'rb') as f:
                found[os.path.relpath(path, folder)] = f.read()
    return found


def make_folder(program, folder):
    """The folder that each command begins with: a graph, a run of three steps, a model, and results of earlier commands."""
    os.makedirs(folder)
    rows = [[(i * 37 % 64) / 64, (i * 11 % 64) / 64, (i * 53 % 64) / 64] for i in range(64)]
    write(os.path.join(folder, 'data.csv'), 'a,b,c,y\n' + ''.join('%f,%f,%f,%f\n' % (*r, sum(r)) for r in rows))
    write(os.path.join(folder, 'sample.csv'), 'a,b,c\n0.1,0.2,0.3\n0.5,0.5,0.5\n')
    write(os.path.join(folder, 'graph.xml'), GRAPH)
    write(os.path.join(folder, 'other.xml'), OTHER)
    for words in (['train', 'graph.xml', '--steps', '3', '--out', 'earlier'],
                  ['export', 'other.xml', '--to', 'onnx', '-o', 'model.onnx'],
                  ['import', 'model.onnx', '-o', 'imported.xml'],
                  ['export', 'earlier', '--to', 'onnx', '-o', 'model.onnx'],
                  ['export', 'other.xml', '--to', 'onnx', '-o', 'out.onnx'],
                  ['export', 'other.xml', '--to', 'pytorch', '-o', 'out.py']):
        r = program.run(words, folder)
        if r.returncode != 0:
            sys.exit('%s: %s' % (' '.join(words), r.stderr))
    write(os.path.join(folder, 'out.safetensors'), 'an earlier file')


def sentence_fault(r):
    """What is wrong with what a failed command says."""
    lines = [line for line in r.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r'gradloom( [a-z]+)?: |(error|[^:]+[:,] line \d+|[^:]+\.xml|libgomp): ', line) and ': warning: ' not in line
              and ': note: ' not in line and line != 'gradloom export: no file was written.']
    errors = [line for line in errors if line != SUMMARY] or errors
    if not errors:
        return 'no sentence'
    if '(null)' in r.stderr or 'CRITICAL' in r.stderr or 'Success' in r.stderr:
        return 'an unclear sentence'
    if len(set(errors)) > 1:
        return '%d sentences' % len(errors)
    # A sentence, or the command that continues.
    return None if re.search(r'[.)]$|: gradloom |^libgomp: ', errors[0].rstrip()) else 'a sentence without an end'


def left_fault(before, after, left, run):
    """What is wrong with the files that are left, except those of the run's folder `run`."""
    for name, data in left.items():
        if run is not None and name.startswith(run + os.sep):
            continue
        if name not in before and name not in after:
            return 'left ' + re.sub('[0-9a-f]{8}', 'X', name)
        if data not in (before.get(name), after.get(name)):
            return 'half of ' + name
    lost = [name for name in before if name not in left and not (run is not None and name.startswith(run + os.sep))]
    return 'lost ' + lost[0] if lost else None


def is_same(name, a, b):
    return a == b or os.path.basename(name) in VOLATILE


def run_fault(program, case, after, left, folder):
    """Continues the run that a failure ended, and compares it with the undisturbed one."""
    words, run = CASES[case]
    for name, data in left.items():
        base = os.path.basename(name)
        if name.startswith(run + os.sep) and base in ('state.json', 'run.json'):
            try:
                json.loads(data)
            except ValueError:
                return 'half of ' + name
    r = None
    if run + '/graph.xml' in left:
        r = program.run(['train', '--resume', run] + words[-2:] if case == 'resume' else ['train', '--resume', run, '--steps', '3'], folder)
    elif case == 'train':
        r = program.run(TRAIN, folder)
    if r is None or r.returncode != 0:
        return 'does not continue: ' + (r.stderr.strip().splitlines() or ['?'])[-1]
    done = contents(folder)
    name = run + '/weights.safetensors'
    if name not in done or done[name] != after[name]:
        return 'other weights'
    return None


def assess(program, case, kind, r, reference, before, folder):
    words, run = CASES[case]
    plain, after = reference
    left = contents(folder)
    by_design = kind in BY_DESIGN
    if 'Sanitizer' in r.stderr and not by_design:
        return 'sanitizer: ' + re.search('.*Sanitizer.*', r.stderr).group(0)
    if r.returncode < 0 and not by_design:
        return 'signal %d: %s' % (-r.returncode, ' '.join(r.stderr.split())[-160:])
    if r.returncode == 0:
        may_lack = case == 'export-pytorch' and ': warning: The samples of' in r.stderr  # the file says what it expects
        if not may_lack and len(plain.stdout.splitlines()) != len(r.stdout.splitlines()):
            return 'other output'
        for name, data in after.items():
            if '/history/' in name:  # written when time permits
                continue
            if name not in left:
                if may_lack:
                    continue
                return 'status 0 without ' + name
            if not is_same(name, left[name], data):
                return 'status 0 and other ' + name
        extra = [name for name in left if name not in after and name not in before and '/history/' not in name]
        return 'left ' + re.sub('[0-9a-f]{8}', 'X', extra[0]) if extra and not kind.startswith('unlink') else None
    if r.returncode > 0 and r.returncode not in (1, 3, 5):
        return 'status %d' % r.returncode
    fault = sentence_fault(r) if r.returncode > 0 else None
    if fault is None:
        fault = left_fault(before, after, left, run)
    if fault is not None and fault.startswith('left ') and (by_design or kind.startswith('unlink')):
        fault = None
    if fault is None and run is not None and any(name.startswith(run + os.sep) for name in left):
        fault = run_fault(program, case, after, left, folder)
    return fault


def chosen(count, sample):
    if sample is None or count <= sample:
        return list(range(1, count + 1))
    return sorted({1 + i * (count - 1) // (sample - 1) for i in range(sample)} if sample > 1 else {count})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('gradloom')
    parser.add_argument('shim')
    parser.add_argument('--cases', default=','.join(CASES))
    parser.add_argument('--kinds')
    parser.add_argument('--sample', type=int)
    parser.add_argument('--runs', type=int)
    parser.add_argument('--leaks', metavar='LIBLSAN', help='GCC\'s liblsan.so: a call that fails must leak nothing')
    parser.add_argument('--state')
    parser.add_argument('--only', help='N: this call alone, printing what the command says')
    args = parser.parse_args()
    base = tempfile.mkdtemp(prefix='every-call-')
    program = Program(os.path.abspath(args.gradloom), os.path.abspath(args.shim), base)
    if args.leaks:
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        program.shim += ' ' + os.path.realpath(args.leaks)
        program.env['LSAN_OPTIONS'] = 'suppressions=%s/tests/lsan.supp:fast_unwind_on_malloc=0:print_suppressions=0:handle_segv=0:handle_abort=0' % root
    template, folder = os.path.join(base, 'template'), os.path.join(base, 'folder')
    known = set()
    if args.state and os.path.exists(args.state):
        with open(args.state, encoding='utf-8') as f:
            known = {tuple(line.split('\t')[:3]) for line in f}
    state = open(args.state, 'a', encoding='utf-8') if args.state else None
    make_folder(program, template)
    before = contents(template)
    total, seen, wrong, statuses = 0, 0, collections.Counter(), collections.Counter()

    def attempt(words, fail=None):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(template, folder)
        return program.run(words, folder, fail)

    print('TAP version 13')
    for number, case in enumerate(args.cases.split(','), 1):
        words = CASES[case][0]
        plain = attempt(words, 'none:0')
        counts, _ = program.counted()
        reference = plain, contents(folder)
        if not counts.get('open'):
            sys.exit('%s was not loaded' % args.shim)
        if plain.returncode != 0:
            sys.exit('%s: %s' % (case, plain.stderr))
        kinds = args.kinds.split(',') if args.kinds else list(counts) + [k + '+' for k in PERSISTENT]
        done, found = 0, []
        for kind in kinds:
            count = counts.get(kind.rstrip('+'), 0)
            sample = min(args.sample or MOST_SMALL, MOST_SMALL) if kind.startswith('small') else args.sample
            for n in chosen(count, sample) if args.only is None else [int(args.only)]:
                seen += 1
                if (case, kind, str(n)) in known or (args.runs and seen % max(1, ABOUT // args.runs) != 0):
                    continue
                fail = '%s:%d%s' % (kind.rstrip('+'), n, '+' if kind.endswith('+') else '')
                try:
                    r = attempt(words, fail)
                    function = program.counted()[1]
                    fault = assess(program, case, kind, r, reference, before, folder)
                    status = r.returncode
                except subprocess.TimeoutExpired:
                    function, fault, status = '-', 'hangs', None
                if args.only is not None:
                    print(r.stdout, r.stderr, sep='\n')
                done += 1
                statuses[case, kind, status] += 1
                if fault:
                    found.append('%s %d (%s): %s' % (kind, n, function, fault))
                    print('# %s %s' % (case, found[-1]), flush=True)
                if state:
                    state.write('%s\t%s\t%d\t%s\t%s\t%s\n' % (case, kind, n, status, function, fault or ''))
                    state.flush()
        total += done
        wrong[case] = len(found)
        print('%s %d - %s: %d calls failed, %d findings' % ('not ok' if found else 'ok', number, case, done, len(found)), flush=True)
    print('1..%d' % len(args.cases.split(',')))
    print('# %d calls failed, %d findings' % (total, sum(wrong.values())))
    for key, n in sorted(statuses.items(), key=str):
        print('# %s %s: status %s %d times' % (*key, n))
    shutil.rmtree(base)
    return any(wrong.values())


if __name__ == '__main__':
    sys.exit(main())
