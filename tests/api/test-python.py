#!/usr/bin/env python3
"""The Python package: its wheel is built and unpacked, and finds the library; NumPy's arrays go in and come out.

usage: test-python.py SOURCE_ROOT LIBRARY GRADLOOM
"""
import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile

source, library, program = (os.path.abspath(path) for path in sys.argv[1:4])
# Debian's NumPy is for Debian's Python, which need not be the first in PATH.
other = os.path.realpath('/usr/bin/python3')
if importlib.util.find_spec('numpy') is None and os.path.exists(other) and os.path.realpath(sys.executable) != other:
    os.execv(other, [other] + sys.argv)
if importlib.util.find_spec('numpy') is None:
    print('1..0 # SKIP numpy is not installed')
    sys.exit(0)
# The system's loader finds the library, as in an installation.
if os.environ.get('LD_LIBRARY_PATH') != os.path.dirname(library):
    os.environ['LD_LIBRARY_PATH'] = os.path.dirname(library)
    os.execv(sys.executable, [sys.executable] + sys.argv)
number, failed = 0, False


def check(what, good, about=''):
    global number, failed
    number += 1
    print(f'{"ok" if good else "not ok"} {number} - {what}', flush=True)
    if not good:
        failed = True
        print(''.join(f'# {line}\n' for line in str(about).splitlines()), end='')


def raises(what, kind, function):
    try:
        function()
        check(what, False, 'nothing was raised')
    except gradloom.Error as error:
        check(what, error.kind == kind and len(str(error)) > 10, f'{error.kind}: {error}')


folder = tempfile.TemporaryDirectory()
sys.path.insert(0, os.path.join(source, 'engine/api/python'))
backend = importlib.import_module('backend')
wheel = backend.build_wheel(folder.name)
with zipfile.ZipFile(os.path.join(folder.name, wheel)) as archive:
    archive.extractall(os.path.join(folder.name, 'site'))
    names = archive.namelist()
    record = archive.read([name for name in names if name.endswith('RECORD')][0]).decode()
check('the wheel lists each of its files', sorted(line.split(',')[0] for line in record.splitlines()) == sorted(names), record)
with open(os.path.join(source, 'meson.build'), encoding='utf-8') as file:
    check('its version is that of the program', f"version: '{backend.field('version')}'" in file.read())
sys.path[0] = os.path.join(folder.name, 'site')
import numpy  # noqa: E402
import gradloom  # noqa: E402
check('the package is that of the wheel', gradloom.__file__.startswith(folder.name), gradloom.__file__)
check('it has the library of its version', gradloom.version() == backend.field('version'), gradloom.version())

spirals = os.path.join(source, 'graphs/lessons/spirals.xml')
graph = gradloom.Graph(spirals)
graph.check()
trainer = gradloom.Trainer(graph, seed=1, threads=1, set=['hidden.out_features=16'])
steps = []
trainer.train(60, lambda step: steps.append((step.step, step.loss)))
trainer.train(40)
other = gradloom.Trainer(graph, seed=1, threads=1, set=['hidden.out_features=16'])
other.train(100, lambda step: step.step < 100)
check('each step is reported', [n for n, _ in steps] == list(range(1, 61)) and trainer.step == 100 and not trainer.is_over, steps)
check('the loss falls', steps[-1][1] < steps[0][1], steps)
check('two calls have the bits of one', all(numpy.array_equal(trainer.weight(n), other.weight(n)) for n in trainer.weight_names()))
check('weights have the shapes of PyTorch', trainer.weight('hidden.weight').shape == (16, 2)
      and trainer.weight('hidden.weight').dtype == numpy.float32 and len(trainer.weights()) == 4, trainer.weight_names())
found = trainer.evaluate('val')
check('an evaluation has the loss and the metric', 0 < found['loss'] < 5 and 0 <= found['accuracy'] <= 1, found)
points = numpy.array([[0.1, 0.2], [-0.4, 0.3], [0.5, -0.5]])
first = trainer.predict(points)
check('predictions are probabilities', first.shape == (3, 1, 2) and numpy.allclose(first.sum(2), 1), first)
check('a view that is not contiguous is copied', numpy.array_equal(trainer.predict(points[::-1])[::-1], first))
check('ports can be read', trainer.read('hidden').shape[1] == 16 and trainer.read('grad:hidden').shape == trainer.read('hidden').shape)
weights = os.path.join(folder.name, 'w.safetensors')
trainer.save(weights)
twin = gradloom.Predictor(gradloom.Graph(text=open(spirals, encoding='utf-8').read().replace(
    'out_features="32"', 'out_features="16"'), folder=os.path.dirname(spirals)), weights, threads=1)
check('saved weights predict the same', numpy.allclose(twin.predict(points), first, atol=1e-6) and twin.kind == 'probabilities', twin.kind)
trainer.set_weight('scores.bias', numpy.array([100.0, -100.0]))
check('a weight can be set', trainer.predict(points)[:, 0, 0].min() > 0.99)

raises('a missing file', 'io', lambda: gradloom.Graph(os.path.join(folder.name, 'none.xml')))
raises('a text that is no XML', 'parse', lambda: gradloom.Graph(text='no'))
raises('an unknown weight', 'port', lambda: trainer.weight('none'))
raises('a weight of another shape', 'shape', lambda: trainer.set_weight('scores.bias', numpy.zeros(3)))
raises('an unknown option', 'usage', lambda: gradloom.Trainer(graph, nothing=1))
raises('samples of another shape', 'shape', lambda: trainer.predict(numpy.zeros((2, 7))))
try:
    trainer.train(1, lambda step: 1 / 0)
    check('an exception of the callback is raised', False)
except ZeroDivisionError:
    check('an exception of the callback is raised', True)

if importlib.util.find_spec('torch') is None or importlib.util.find_spec('safetensors') is None:
    check('a module of PyTorch # SKIP PyTorch is not installed', True)
else:
    import torch
    try:
        gradloom.torch.module(spirals, program='/none/gradloom')
    except RuntimeError as error:
        check('a missing program is named', '/none/gradloom' in str(error), error)
    model = gradloom.torch.module(spirals, program=program)
    fresh = gradloom.Trainer(graph, seed=1, threads=1)
    fresh.train(50)
    model = gradloom.torch.module(spirals, fresh.weights(), program)
    with torch.no_grad():
        logits = model(torch.tensor(points, dtype=torch.float32), torch.zeros(3, dtype=torch.int64))['scores']
    check('a module of PyTorch predicts the same', isinstance(model, torch.nn.Module)
          and numpy.allclose(torch.softmax(logits, 1).numpy(), fresh.predict(points)[:, 0], atol=1e-5), logits)
print(f'1..{number}')
folder.cleanup()
sys.exit(failed)
