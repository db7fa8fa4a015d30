"""The cases to compare: for every operator its settings and shapes, and PyTorch's name of the same thing.

One file a family of operators. Each draws from a generator of its own, so that a case added to one leaves the numbers of the
others as they are."""

import importlib
import pathlib
import zlib

import numpy as np

import case

for path in sorted(pathlib.Path(__file__).parent.glob("[a-z]*.py")):
    case.rng = np.random.default_rng(zlib.crc32(path.stem.encode()))
    importlib.import_module(f"cases.{path.stem}")
CASES = case.CASES
