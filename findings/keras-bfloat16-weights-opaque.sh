#!/bin/sh
# Keras 3.15.1 (on JAX 0.10.0) with h5py 3.16.0: weights in bfloat16 in a .weights.h5. HDF5 can describe any
# floating-point format, 8 bits of exponent and 7 of mantissa among them, and Keras's float16 is such a described type; so
# one would guess that bfloat16 is one, too, or is widened to float32. In fact h5py stores it as an opaque type of two
# bytes, without byte order or meaning, and only an attribute `dtype` that Keras adds to each array says "bfloat16". A
# reader that goes by HDF5's types, h5dump and h5py included, sees bytes; one that takes two bytes for float16 gets wrong
# numbers without an error. Who meets it: readers of checkpoints of mixed precision outside Keras.
# Source: the types and attributes of a file that Keras writes, as h5py shows them.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q keras==3.15.1 jax==0.10.0 jaxlib==0.10.0 h5py==3.16.0
cat > "$folder/show.py" <<'PY'
import h5py, keras

for dtype in "float16", "bfloat16":
    file = dtype + ".weights.h5"
    keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, dtype=dtype)]).save_weights(file)
    array = h5py.File(file)["layers/dense/vars/0"]
    kind = {h5py.h5t.FLOAT: "float", h5py.h5t.OPAQUE: "opaque"}[array.id.get_type().get_class()]
    print(dtype, "is", kind, "of", array.dtype.itemsize, "bytes, attribute", array.attrs.get("dtype"))
PY
cd "$folder"
KERAS_BACKEND=jax KERAS_HOME="$folder" "$folder/venv/bin/python" show.py 2> errors | tee seen
grep -qx 'float16 is float of 2 bytes, attribute None' seen
grep -qx 'bfloat16 is opaque of 2 bytes, attribute bfloat16' seen
