"""save_file and load_file over NumPy arrays."""

import json
import struct

import numpy as np

TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "|u1", "BOOL": "|b1"}
NAMES = {np.dtype(value): key for key, value in TYPES.items()}


def save_file(tensors, path):
    header, place, parts = {}, 0, []
    for name, array in tensors.items():
        data = np.asarray(array).tobytes()
        header[name] = {"dtype": NAMES[np.asarray(array).dtype], "shape": list(np.shape(array)),
                        "data_offsets": [place, place + len(data)]}
        place += len(data)
        parts.append(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(parts))


def load_file(path):
    with open(path, "rb") as file:
        data = file.read()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            flat = np.frombuffer(data[start + begin:start + end], TYPES[entry["dtype"]])
            tensors[name] = flat.reshape(entry["shape"]).copy()
    return tensors
