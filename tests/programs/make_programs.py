#!/usr/bin/env python3
"""Writes ../golden/programs_*.txt: what the programs of tests/programs are given and what their originals answer.

    pip install numpy torch && python3 tests/programs/make_programs.py [PROGRAM...]

A case is a line "case" and one line for each tensor: "in" or "out", name, dtype, shape ("-" for 0-d), then the values
as hexadecimal bit patterns. The originals are in originals_*.py, written with NumPy and torch.
"""
import os
import sys

import numpy as np

import originals_arrays
import originals_images
import originals_learning
import originals_networks
import originals_sequences
import originals_simulation
from original import PROGRAMS, cases

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")
FILES = (originals_arrays, originals_images, originals_learning, originals_networks, originals_sequences,
         originals_simulation)


def line(kind, name, value):
    value = np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value)
    bits = value.view(np.uint8) if value.dtype == bool else value.view(f"u{value.dtype.itemsize}")
    shape = ",".join(map(str, value.shape)) if value.shape else "-"
    return " ".join([kind, name, value.dtype.name, shape] + [format(int(v), "x") for v in bits.ravel()])


def main(names):
    for name in names or PROGRAMS:
        lines = []
        for given, results in cases(name):
            lines.append("case")
            lines += [line("in", k, v) for k, v in given.items()]
            lines += [line("out", k, v) for k, v in results.items()]
        with open(os.path.join(OUT, f"programs_{name}.txt"), "w") as out:
            out.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
