"""`gradloom run` as a function: arrays in, arrays out, through files as any other program would use it."""

import os
import subprocess
import tempfile

import numpy as np
from safetensors.numpy import load_file, save_file

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<graph xmlns="urn:gradloom:graph" version="1" name="reference">\n'
NAMES = {np.dtype("f4"): "f32", np.dtype("f8"): "f64", np.dtype("i8"): "i64", np.dtype("i4"): "i32",
         np.dtype("u1"): "u8", np.dtype("?"): "bool"}


def node(name, op, **params):
    def text(value):
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (tuple, list)):
            return ",".join(str(v) for v in value)
        return str(value)

    return f'  <node id="{name}" op="{op}"' + "".join(f' {k}="{text(v)}"' for k, v in params.items()) + "/>\n"


def wire(source, target):
    return f'  <wire from="{source}" to="{target}"/>\n'


def graph(body):
    return HEAD + body + "</graph>\n"


class Failed(Exception):
    pass


def run(program, text, inputs=None, outputs=(), grad=None, cotangent=None, wrt=(), weights=None, options=(), save=False):
    """Returns a dictionary of output arrays, one of gradients, and one of saved weights (None where not asked for)."""
    with tempfile.TemporaryDirectory() as folder:
        def at(name):
            return os.path.join(folder, name)

        with open(at("graph.xml"), "w", encoding="utf-8") as file:
            file.write(text)
        command = [program, "run", at("graph.xml"), *options]
        for i, (port, value) in enumerate((inputs or {}).items()):
            np.save(at(f"in{i}.npy"), value)
            command += ["--in", f"{port}={at(f'in{i}.npy')}"]
        for i, port in enumerate(outputs):
            command += ["--out", f"{port}={at(f'out{i}.npy')}"]
        if weights is not None:
            save_file({k: np.array(v, order="C") for k, v in weights.items()}, at("weights.safetensors"))
            command += ["--weights", at("weights.safetensors")]
        if grad:
            command += ["--grad", grad, "--grads", at("grads.safetensors")]
            for port in wrt:
                command += ["--wrt", port]
        if cotangent is not None:
            np.save(at("cotangent.npy"), cotangent)
            command += ["--grad-output", at("cotangent.npy")]
        if save:
            command += ["--save-weights", at("saved.safetensors")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise Failed(f"status {done.returncode}: {done.stderr.strip()}")
        if done.stdout or done.stderr:
            raise Failed(f"printed on success: {done.stdout}{done.stderr}")
        return ({port: np.load(at(f"out{i}.npy")) for i, port in enumerate(outputs)},
                load_file(at("grads.safetensors")) if grad else None,
                load_file(at("saved.safetensors")) if save else None)


def difference(ours, theirs, floor=1e-2):
    """Largest difference, relative to the largest finite number of the reference; infinite where shapes or what is not
    finite differ."""
    theirs = np.asarray(theirs)
    if ours.shape != theirs.shape:
        return np.inf
    if ours.size == 0:
        return 0.0
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(np.isfinite(a), finite):
        return np.inf
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return np.inf
    if not finite.any():
        return 0.0
    return float(np.abs(a[finite] - b[finite]).max() / max(np.abs(b[finite]).max(), floor))
