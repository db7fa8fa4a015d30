"""A graph as a torch.nn.Module: the one that `gradloom export --to pytorch` writes, with its weights."""
import importlib.util
import os
import subprocess
import tempfile

import torch


def module(graph, weights=None, program='gradloom'):
    """The module of a graph file, or of a run's folder, in evaluation mode.

    weights: {name: array}, such as Trainer.weights(), or a state_dict; None: initial ones. Its forward() takes the ports of the data
    set and returns a dict of the loss and what the loss reads. program: the command, which writes the module."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, 'graph.py')
        try:
            done = subprocess.run([program, 'export', str(graph), '--to', 'pytorch', '-o', file], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, check=False)
        except FileNotFoundError:
            raise RuntimeError(f'There is no program “{program}”; install it, or name it: program="/opt/gradloom/bin/gradloom".') from None
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        spec = importlib.util.spec_from_file_location('gradloom_graph', file)
        source = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(source)
    model = source.Model()
    if weights is not None:
        model.load_state_dict({name: torch.as_tensor(value) for name, value in weights.items()})
    return model.eval()
