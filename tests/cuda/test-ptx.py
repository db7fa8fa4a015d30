#!/usr/bin/env python3
"""Checks the PTX of the own kernels: no 64-bit division (a hundred instructions instead of the ten of
kernels/cuda/cuda-divide.cuh), and no product of random numbers contracted with a sum (kernels/draw.h).

usage: test-ptx.py FOLDER…     with the objects of the kernels, whose PTX is not compressed
"""
import glob
import os
import re
import sys

DIVISION = re.compile(r"\b(?:div|rem)\.[su]64\b")
CONTRACTED = re.compile(r"\bfma\.rn\.f32\b")
KERNEL = re.compile(r"^\s*(?:\.\w+\s+)*\.(?:entry|func)\s+(?:\([^)]*\)\s*)?(\w+)", re.M)


def kernels(path):
    """Name and text of each function in the PTX of an object."""
    with open(path, "rb") as file:
        for ptx in re.findall(rb"\.version \d+\.\d+\s+\.target sm_[^\0]*", file.read()):
            parts = KERNEL.split(ptx.decode("ascii", "replace"))
            yield from zip(parts[1::2], parts[2::2])


def main():
    faults, drawn, count = [], 0, 0
    for path in sorted(path for folder in sys.argv[1:] for path in glob.glob(os.path.join(folder, "*.o"))):
        file = os.path.basename(path).split(".cu")[0]
        for name, text in kernels(path):
            count += 1
            divisions = len(DIVISION.findall(text))
            if divisions:
                faults.append(f"{file}: {name} divides numbers of 64 bits in {divisions} places; use cuda-divide.cuh")
            if file.endswith("cuda-random") and "random_kernelIf" in name:
                drawn += 1
                if CONTRACTED.search(text):
                    faults.append(f"{file}: {name} contracts a product and a sum; use what kernels/draw.h has for that")
    # Objects without their PTX would pass.
    if count < 100 or drawn != 1:
        faults.append(f"{count} kernels were found, {drawn} of them the one of random floats")
    print("1..1")
    for fault in faults:
        print("#", fault)
    print("not ok 1" if faults else "ok 1", f"the PTX of {count} kernels")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
