#!/usr/bin/env python3
"""Writes indexing.txt beside this file: what NumPy's indexing gives, for tests/lazy/indexing/golden.cpp to compare with.

    pip install numpy && python3 tests/golden/make_indexing.py

One case a line, fields separated by " | ", values as hexadecimal bit patterns of their dtype:

    HOW INDEX | in DTYPE SHAPE VALUES | ... | out DTYPE SHAPE VALUES

HOW is get, set, add or multiply (x[...] += v; x[...] *= v). INDEX has a word for each index: 3 (an integer), 1:none:2 (a
slice), _ (all), ... (ellipsis), n (newaxis), t2 (the input with that number), l0,2 (a list). Inputs are x, the tensors
among the indices, and the value that is written. SHAPE is like 2,3 ("-" for 0-d).
"""
import os

import numpy as np

rng = np.random.default_rng(20260202)
OUT = os.path.dirname(os.path.abspath(__file__))
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = INTEGERS + ["bool", "float16", "float32", "float64"]


def field(kind, a):
    a = np.asarray(a, order="C")
    bits = a.view(np.uint8) if a.dtype == bool else a.reshape(-1).view(f"u{a.dtype.itemsize}")
    shape = ",".join(map(str, a.shape)) if a.shape else "-"
    return " ".join([kind, a.dtype.name, shape] + [format(int(v), "x") for v in bits.ravel()])


def values(shape, dtype):
    low = 0 if dtype.startswith("u") or dtype == "bool" else -100
    return rng.integers(low, 2 if dtype == "bool" else 100, shape).astype(dtype)


def bound(n):
    return None if rng.random() < 0.4 else int(rng.integers(-n - 2, n + 3))


def tensor_shape(common):
    """A shape that broadcasts to the common one."""
    shape = [1 if rng.random() < 0.25 else n for n in common]
    return tuple(shape[int(rng.integers(0, len(shape) + 1)) if rng.random() < 0.3 else 0 :])


class Case:
    def __init__(self, shape, dtype):
        self.x = values(shape, dtype)
        self.words, self.index, self.inputs = [], [], [self.x]

    def tensor(self, a):
        self.words.append(f"t{len(self.inputs)}")
        self.inputs.append(a)
        self.index.append(a)

    def basic(self, n):
        kind = rng.integers(0, 4)
        if kind == 0 and n > 0:
            self.add(int(rng.integers(-n, n)))
        elif kind == 1:
            self.words.append("_")
            self.index.append(slice(None))
        else:
            a, b = bound(n), bound(n)
            step = [None, 1, 2, 3, -1, -2][rng.integers(0, 6)]
            self.words.append(":".join("none" if v is None else str(v) for v in (a, b, step)))
            self.index.append(slice(a, b, step))

    def add(self, i):
        self.words.append(str(i))
        self.index.append(i)

    def positions(self, n, common, dtype):
        shape = tensor_shape(common)
        low = 0 if dtype.startswith("u") else -n
        self.tensor(rng.integers(low, n, shape).astype(dtype) if n else np.zeros((0,) if not shape else shape, dtype))

    def list(self, n, length):
        v = [int(i) for i in rng.integers(-n, n, length)]
        self.words.append("l" + ",".join(map(str, v)))
        self.index.append(v)

    def mask(self, shape, count=None):
        m = rng.integers(0, 2, shape).astype(bool)
        if count is not None:  # so that it broadcasts with other indices
            flat = np.zeros(m.size, bool)
            flat[rng.permutation(m.size)[:count]] = True
            m = flat.reshape(shape)
        self.tensor(m)


def random_index(c, common, mixed):
    """Adds indices for some of the axes, in order."""
    shape, axis, dots = c.x.shape, 0, False
    while axis < len(shape):
        r, n = rng.random(), shape[axis]
        if r < 0.1 and len(c.words) < 6:
            c.words.append("n")
            c.index.append(None)
        elif r < 0.2 and not dots:
            rest = int(rng.integers(0, len(shape) - axis + 1))
            c.words.append("...")
            c.index.append(Ellipsis)
            axis += rest
            dots = True
            # what follows has to use up the rest: without it the ellipsis grows, which is as good
        elif r < 0.6 and n > 0:
            c.positions(n, common, INTEGERS[rng.integers(0, 8)])
            axis += 1
        elif r < 0.65 and mixed and len(common) == 1 and n > 0:
            c.list(n, common[0])
            axis += 1
        elif r < 0.75 and mixed and len(common) == 1:
            k = int(rng.integers(1, min(2, len(shape) - axis) + 1))
            size = int(np.prod(shape[axis : axis + k]))
            c.mask(shape[axis : axis + k], min(common[0], size) if min(common[0], size) == common[0] else 1 if size else 0)
            axis += k
        else:
            c.basic(n)
            axis += 1
        if rng.random() < 0.15:
            break


def line(how, c):
    index = tuple(c.index)
    try:
        selected = c.x[index]
    except IndexError:
        return None
    if selected.ndim > 8 or selected.size > 300:
        return None
    if how == "get":
        result = selected
    else:
        shape = selected.shape
        if rng.random() < 0.4:
            shape = tensor_shape(shape)
        v = values(shape, c.x.dtype.name)
        result = c.x.copy()
        if how == "set":
            result[index] = v
        elif how == "add":
            result[index] += v
        else:
            result[index] *= v
        c.inputs.append(v)
    return " | ".join([" ".join([how] + c.words)] + [field("in", i) for i in c.inputs] + [field("out", result)])


def random_lines():
    lines = []
    while len(lines) < 560:
        rank = int(rng.integers(1, 5))
        shape = tuple(int(rng.choice([1, 2, 3, 4, 5])) for _ in range(rank))
        if rng.random() < 0.06:
            shape = shape[:-1] + (0,)
        c = Case(shape, DTYPES[rng.integers(0, len(DTYPES))])
        common = tuple(int(rng.choice([1, 2, 3, 4])) for _ in range(int(rng.choice([0, 1, 1, 2]))))
        if rng.random() < 0.05:
            common = (0,)
        random_index(c, common, True)
        how = ["get", "get", "set", "add", "multiply"][len(lines) % 5]
        if how == "add" and c.x.dtype == bool:
            how = "set"
        if not c.words or (rng.random() < 0.8 and not any(w[0] in "tl" for w in c.words)):
            continue
        made = line(how, c)
        if made:
            lines.append(made)
    return lines


def chosen_lines():
    """NumPy's rules that chance may miss."""
    lines = []
    i, j, m = np.array([0, 1, 1, 0]), np.array([[2], [-1]]), np.array([True, False, True])

    def add(shape, *index, hows=("get", "set", "add")):
        for how in hows:
            c = Case(shape, "int64")
            for e in index:
                if isinstance(e, np.ndarray):
                    c.tensor(e)
                elif isinstance(e, list):
                    c.words.append("l" + ",".join(map(str, e)))
                    c.index.append(e)
                else:
                    c.words.append("n" if e is None else "..." if e is Ellipsis else "_" if isinstance(e, slice) else str(e))
                    c.index.append(e)
            lines.append(line(how, c))

    everything = slice(None)
    add((2, 3, 4), everything, i, Ellipsis, i)  # an ellipsis of no axes separates too
    add((2, 3, 4), everything, i, i)
    add((2, 3, 4), 0, everything, i)
    add((2, 3, 4), i, everything, 0)
    add((2, 3, 4), everything, 0, i)
    add((2, 3, 4), everything, i, 0)
    add((2, 3, 4), i, 0, i)
    add((2, 3, 4), i, None, i)
    add((2, 3, 4), None, i, i)
    add((2, 3, 4), i, None)
    add((2, 3, 4), np.array(1))
    add((2, 3, 4), np.array(1), np.array(-1), np.array(0))
    add((2, 3, 4), Ellipsis, np.array(1))
    add((2, 3, 4), np.array(0), everything, i)
    add((2, 3, 4), everything, m)
    add((2, 3, 4), everything, m, 0)
    add((3, 4), m, everything)
    add((3, 4), m, [0, 3])
    add((2, 3, 4), 0, m, i[:2])
    add((2, 3, 4), np.array([[True, False, True], [False, False, True]]), i[:3])
    add((2, 3, 4), np.array([[True, False, True], [False, False, True]]))
    add((2, 3, 4), np.zeros((2, 3), bool))
    add((2, 3), np.array(True))
    add((2, 3), np.array(False))
    add((2, 3, 4), everything, np.array(True), i)
    add((2, 3, 4), np.array(True), everything, i)
    add((2, 3, 4), everything, i, Ellipsis, np.array(True))
    add((2, 3, 4), Ellipsis, np.array(True))
    add((4, 4), j, i)
    add((4, 4), i, j)
    add((4, 3, 4), j, everything, i)
    add((3, 4, 3, 4), everything, i, everything, i)
    add((3, 4, 3, 4), everything, i, 1, i)
    add((2, 2, 2, 2, 2, 2, 2, 2), i, i, i, i, i, i, i, i)
    add((2, 2, 2, 2, 2, 2, 2, 2), everything, i, everything, everything, everything, i, everything, everything)
    add((5,), [4, 4, -5, 0])
    add((5,), [])
    add((5, 0), i)
    add((0, 3), np.zeros(0, np.int64))
    add((7, 11), np.arange(6, -1, -1), everything)
    add((1, 13), i * 0, np.arange(4))
    return lines


if __name__ == "__main__":
    with open(os.path.join(OUT, "indexing.txt"), "w") as out:
        out.write("\n".join(chosen_lines() + random_lines()) + "\n")
