#!/bin/sh
# Keras 3.15.1 with KERAS_BACKEND=numpy. One would guess that the back end "numpy" needs NumPy, since that is what one
# chooses it for: to read or run a model where no framework is installed. In fact `import keras` fails without SciPy,
# then without JAX: the linear algebra and the Fourier transforms of the NumPy back end are made from those of the JAX
# back end, imported at the top of its modules. Neither package is among the requirements of Keras, so pip installs none.
# Who converts weights in a small container installs a framework after all, or reads the HDF5 file with h5py alone.
# Source: the two import errors, one after the other, from a fresh environment.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
python="$folder/venv/bin/python"
attempt() { KERAS_BACKEND=numpy KERAS_HOME="$folder" "$python" -c 'import keras' 2>&1 | tail -n 1; }

"$python" -m pip install -q keras==3.15.1 numpy==2.3.5
first=$(attempt)
"$python" -m pip install -q scipy==1.16.3
second=$(attempt)
echo "with NumPy 2.3.5: $first; with SciPy 1.16.3 too: $second"
[ "$first" = "ModuleNotFoundError: No module named 'scipy'" ] && [ "$second" = "ModuleNotFoundError: No module named 'jax'" ]
