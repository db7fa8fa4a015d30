"""What earlier versions wrote is opened, resumed, exported and shown by this one, with the numbers of then.

upgrade.py check GRADLOOM [STUDIO_STATE]   compares every folder next to this file with its own record
upgrade.py make FOLDER GRADLOOM STUDIO_STATE   writes such a folder, which is never changed after that

A folder holds graphs/ (some with the words of the first files), rows.csv and rows.npy, runs/ (one that ended, one that
was interrupted, from 2026-11-30 on one with a history), state/ (Studio's: journals, settings, a run that was cut off) and expected.json. "@HERE@" stands for the
folder where a file needs its path. Without STUDIO_STATE, state/ is left out."""
import json
import math
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EXACT = ['--device', 'ref', '--precision', 'f64']
# Numbers of the reference kernels in f64 are the same everywhere but for the mathematical functions of the C library;
# those of the CPU's kernels depend on its vectors.
TOLERANCE = {'f64': 1e-9, 'f32': 2e-4}

GRAPHS = ['lessons/spirals', 'lessons/first-graph', 'lessons/backpropagation', 'lessons/pipeline', 'lessons/mesh',
          'lessons/parameter-server', 'lessons/recurrent-cell', 'lessons/training-by-hand', 'lessons/rosenbrock', 'models/adding-lstm',
          'models/copy-ntm', 'models/dates-transformer', 'models/modular-network', 'models/shapes-captions',
          'models/tree-recursion']
# Words of the first files, which are still read: max_norm, min_lr, betas, mae, mse, r2.
FIRST_WORDS = '''<?xml version="1.0" encoding="UTF-8"?>
<graph xmlns="urn:gradloom:graph" version="1" name="first words">
  <node id="data" op="dataset" source="linear" n="64" n_test="16"/>
  <node id="fc" op="linear" out_features="1"/>
  <node id="loss" op="mse_loss"/>
  <wire from="data.x" to="fc"/>
  <wire from="fc" to="loss.input"/>
  <wire from="data.y" to="loss.target"/>
  <train loss="loss" optimizer="adam" betas="0.8,0.99" lr="0.05" batch_size="16" epochs="2">
    <schedule type="cosine" min_lr="0.001"/>
    <clip max_norm="0.5"/>
    <metric type="mae" input="fc" target="data.y"/>
    <metric type="mse" input="fc" target="data.y"/>
    <metric type="r2" input="fc" target="data.y"/>
  </train>
</graph>
'''
ROWS = '''<?xml version="1.0" encoding="UTF-8"?>
<graph xmlns="urn:gradloom:graph" version="1" name="rows">
  <node id="data" op="dataset" source="csv" path="rows.csv" target="kind" normalize="standard" test_fraction="0.2"/>
  <node id="fc1" op="linear" out_features="6"/>
  <node id="act" op="tanh"/>
  <node id="drop" op="dropout" p="0.1"/>
  <node id="fc2" op="linear" out_features="3"/>
  <node id="loss" op="cross_entropy"/>
  <wire from="data.x" to="fc1"/>
  <wire from="fc1" to="act"/>
  <wire from="act" to="drop"/>
  <wire from="drop" to="fc2"/>
  <wire from="fc2" to="loss.input"/>
  <wire from="data.y" to="loss.target"/>
  <train loss="loss" optimizer="adamw" lr="0.02" batch_size="8" epochs="3" ema="0.9">
    <schedule type="cosine" warmup_steps="4"/>
    <metric type="accuracy" input="fc2" target="data.y"/>
  </train>
</graph>
'''


def call(gradloom, folder, *words, status=0):
    done = subprocess.run([gradloom, *words], cwd=folder, capture_output=True, text=True, timeout=200)
    assert done.returncode == status, (words, done.returncode, done.stderr)
    return done


def events(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def figures(done):
    """What a run's events say of its numbers, without times."""
    found = []
    for event in events(done):
        if event['event'] == 'step':
            found.append(['step', event['step'], event['loss']])
        elif event['event'] == 'eval':
            metrics = event.get('metrics', {})
            found.append([event['split'], event['step'], event['loss']]
                         + [metrics[name] for name in sorted(metrics) if isinstance(metrics[name], float)])
    return found


def predictions(done):
    return [[c['probability'] for c in sorted(event['classes'], key=lambda c: c['class'])] for event in events(done)]


def last_step(folder):
    """Of the run with a history, which a branch repeats from a twelfth before it."""
    return max(int(step) for step in os.listdir(f'{folder}/runs/history/checkpoints'))


def observe(gradloom, folder):
    """All numbers that this program gets from a folder, in a copy of it."""
    found = {'graphs': {}}
    for name in sorted(os.listdir(f'{folder}/graphs')):
        said = events(call(gradloom, folder, 'check', '--json', f'graphs/{name}'))
        found['graphs'][name] = [[e['node'], *[o['shape'] for o in e['outputs']]] for e in said if e['event'] == 'node']
        found['graphs'][name] += [e['parameters'] for e in said if e['event'] == 'total']
        call(gradloom, folder, 'arrange', f'graphs/{name}', '-o', 'arranged.xml')
        call(gradloom, folder, 'diff', f'graphs/{name}', 'arranged.xml')
    found['first words'] = figures(call(gradloom, folder, 'train', 'graphs/first-words.xml', *EXACT, '--json'))
    found['ended'] = figures(call(gradloom, folder, 'eval', 'runs/ended', '--json'))
    for kind in ['csv', 'npy']:
        found[f'predicted {kind}'] = predictions(call(gradloom, folder, 'predict', 'runs/ended', '--json', f'rows.{kind}'))
    call(gradloom, folder, 'export', 'runs/ended', '--to', 'dot', '-o', 'ended.dot')
    found['longer'] = figures(call(gradloom, folder, 'train', '--resume', 'runs/ended', '--epochs', '4', '--json'))
    with open(f'{folder}/runs/interrupted/events.jsonl', encoding='utf-8') as file:
        epochs = max(json.loads(line).get('epoch', 0) for line in file if line.endswith('\n'))
    found['resumed'] = figures(call(gradloom, folder, 'train', '--resume', 'runs/interrupted', '--epochs', str(epochs + 2), '--json'))
    if os.path.exists(f'{folder}/runs/history'):
        last = last_step(folder)
        found['branched'] = figures(call(gradloom, folder, 'train', '--branch', 'runs/history', '--step', str(last - last // 12),
                                         '--steps', str(last), '--out', 'runs/branch', '--json'))
    return found


def show_state(studio_state, folder):
    with tempfile.TemporaryDirectory() as state:
        shutil.copytree(f'{folder}/state', f'{state}/gradloom')
        done = subprocess.run([studio_state, 'show', f'{folder}/graphs/spirals.xml'], capture_output=True, text=True,
                              env=dict(os.environ, XDG_STATE_HOME=state), timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def copy(source, target):
    """A copy of a folder with its own path in it."""
    shutil.copytree(source, target)
    replace(target, '@HERE@', target)


def replace(folder, before, after):
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            with open(path, 'rb') as file:
                content = file.read()
            if before.encode() in content and not name.endswith('.safetensors'):
                with open(path, 'wb') as file:
                    file.write(content.replace(before.encode(), after.encode()))


def differ(expected, found, tolerance, where, wrong):
    if isinstance(expected, float) and isinstance(found, float):
        if not math.isclose(expected, found, rel_tol=tolerance, abs_tol=tolerance):
            wrong.append(f'{where}: {found!r}, it was {expected!r}')
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for i, (a, b) in enumerate(zip(expected, found)):
            differ(a, b, tolerance, f'{where}[{i}]', wrong)
    elif isinstance(expected, dict) and isinstance(found, dict) and expected.keys() == found.keys():
        for key in expected:
            differ(expected[key], found[key], tolerance, f'{where}/{key}', wrong)
    elif expected != found:
        wrong.append(f'{where}: {found!r}, it was {expected!r}')


def check(gradloom, studio_state):
    folders = sorted(name for name in os.listdir(HERE) if os.path.exists(f'{HERE}/{name}/expected.json'))
    assert folders, 'there is no folder to compare with'
    wrong = []
    for name in folders:
        with open(f'{HERE}/{name}/expected.json', encoding='utf-8') as file:
            expected = json.load(file)
        with tempfile.TemporaryDirectory() as scratch:
            folder = os.path.join(scratch, 'corpus')
            copy(f'{HERE}/{name}', folder)
            if studio_state is not None:
                differ(expected['studio'], show_state(studio_state, folder), 0, f'{name}/studio', wrong)
            found = observe(gradloom, folder)
        for key in found:
            precise = 'f64' if key in ('first words', 'resumed', 'branched') else 'f32'
            differ(expected['gradloom'][key], found[key], TOLERANCE[precise], f'{name}/{key}', wrong)
    for line in wrong:
        print(line, file=sys.stderr)
    print(f'{len(folders)} folders, {len(wrong)} differences')
    sys.exit(1 if wrong else 0)


# ---- making ---------------------------------------------------------------------------------


def interrupt(gradloom, folder):
    """A run that a signal ends after some epochs, with a checkpoint there."""
    run = subprocess.Popen([gradloom, 'train', 'graphs/spirals.xml', *EXACT, '--epochs', '1000', '--json', '--out', 'runs/interrupted'],
                           cwd=folder, stdout=subprocess.PIPE, text=True)
    for line in run.stdout:
        event = json.loads(line)
        if event['event'] == 'step' and event['epoch'] >= 3:
            run.send_signal(signal.SIGTERM)
            break
    run.communicate()
    assert run.returncode == 143, run.returncode


def keep_history(gradloom, folder):
    """A run of which only one state is whole, in its history, packed against another one, which is packed alone. Which ones there
    are depends on how long steps take: these are slow."""
    call(gradloom, folder, 'train', 'graphs/copy-ntm.xml', '--device', 'ref', '--steps', '120', '--out', 'runs/history')
    states = {}
    for step in os.listdir(f'{folder}/runs/history/history'):
        with open(f'{folder}/runs/history/history/{step}/state.packed', 'rb') as file:
            states[int(step)] = struct.unpack('<8sqq', file.read(24))[1]
    step = max(step for step, base in states.items() if states.get(base) == -1 and step <= last_step(folder) - 10)
    for other in states:
        if other not in (step, states[step]):
            shutil.rmtree(f'{folder}/runs/history/history/{other}')
    os.remove(f'{folder}/runs/history/history/{states[step]}/state.json')
    for other in os.listdir(f'{folder}/runs/history/checkpoints'):
        if other != '120':
            shutil.rmtree(f'{folder}/runs/history/checkpoints/{other}')


def make(target, gradloom, studio_state):
    graphs = os.path.join(os.environ.get('GRADLOOM_SOURCE_ROOT', f'{HERE}/../..'), 'graphs')
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.join(scratch, 'corpus')
        os.makedirs(f'{folder}/graphs')
        for name in GRAPHS:
            shutil.copy(f'{graphs}/{name}.xml', f'{folder}/graphs')
        for name, text in [('graphs/first-words.xml', FIRST_WORDS), ('rows.xml', ROWS)]:
            with open(f'{folder}/{name}', 'w', encoding='utf-8') as file:
                file.write(text)
        with open(f'{folder}/rows.csv', 'w', encoding='utf-8') as file:
            file.write('length,width,kind\n')
            for i in range(60):
                file.write(f'{10 + i * 37 % 90},{3 + i * 53 % 40},{["birch", "oak", "yew"][(i * 37 % 90) // 30]}\n')
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"
        header += ' ' * (118 - len(header) - 1) + '\n'
        with open(f'{folder}/rows.npy', 'wb') as file:
            file.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode() + struct.pack('<4f', 20, 10, 80, 30))
        call(gradloom, folder, 'train', 'rows.xml', '--out', 'runs/ended')
        interrupt(gradloom, folder)
        keep_history(gradloom, folder)
        state = os.path.join(scratch, 'state')
        done = subprocess.run([studio_state, 'write', f'{folder}/graphs/spirals.xml'], env=dict(os.environ, XDG_STATE_HOME=state))
        assert done.returncode == 0
        shutil.copytree(f'{state}/gradloom', f'{folder}/state')
        # The run as Studio keeps it; its note is the hash of the graph's meaning, by which Studio finds the run again.
        shutil.copytree(f'{folder}/runs/interrupted', f'{folder}/state/runs/spirals-20261129-020000')
        with open(f'{folder}/state/runs/spirals-20261129-020000/studio-unfinished', 'w', encoding='utf-8') as file:
            file.write(subprocess.check_output([studio_state, 'hash', f'{folder}/graphs/spirals.xml'], text=True) + 'stopped\n')
        replace(folder, folder, '@HERE@')
        shutil.copytree(folder, target)
        inside = os.path.join(scratch, 'copy')
        copy(target, inside)
        expected = {'studio': show_state(studio_state, inside), 'gradloom': observe(gradloom, inside)}
    with open(f'{target}/expected.json', 'w', encoding='utf-8') as file:
        json.dump(expected, file, indent=1, ensure_ascii=False)
        file.write('\n')


def main():
    paths = [os.path.abspath(path) for path in sys.argv[2:]]
    if sys.argv[1] == 'make':
        make(*paths)
    else:
        check(paths[0], paths[1] if len(paths) > 1 else None)


main()
