#!/usr/bin/env python3
"""Writes indexing.txt and indexing_functions.txt beside this file: what NumPy's indexing gives, and functions of NumPy's
and torch's, for tests/lazy/indexing/golden.cpp and functions.cpp to compare with.

    pip install numpy torch && python3 tests/golden/make_indexing.py

One case a line, fields separated by " | ", values as hexadecimal bit patterns of their dtype:

    HOW INDEX | in DTYPE SHAPE VALUES | ... | out DTYPE SHAPE VALUES

HOW is get, set, add or multiply (x[...] += v; x[...] *= v). INDEX has a word for each index: 3 (an integer), 1:none:2 (a
slice), _ (all), ... (ellipsis), n (newaxis), t2 (the input with that number), l0,2 (a list). Inputs are x, the tensors
among the indices, and the value that is written. SHAPE is like 2,3 ("-" for 0-d). In the second file the first field is
a key of the table in functions.cpp, and there may be several results.
"""
import os

import numpy as np
import torch

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


def function_lines():
    lines = []

    def add(name, f, *inputs):
        inputs = [np.asarray(i) for i in inputs]
        results = f(*[i.copy() for i in inputs])
        if not isinstance(results, (tuple, list)):
            results = [results]
        lines.append(" | ".join([name] + [field("in", i) for i in inputs] + [field("out", r) for r in results]))

    def t(f):
        def g(*arrays):
            r = f(*[torch.from_numpy(np.array(a)) for a in arrays])
            return [v.numpy() for v in r] if isinstance(r, (tuple, list)) else r.numpy()

        return g

    def put(x, i, v):
        np.put(x, i, v)
        return x

    def ints(*shape, low=-9, high=10):
        return rng.integers(low, high, shape)

    def floats(*shape, dtype=np.float32):
        return (rng.integers(-40, 41, shape) / 8).astype(dtype)

    def bools(*shape):
        return rng.integers(0, 2, shape).astype(bool)

    for x in (ints(3, 5), floats(7), bools(2, 2, 3), floats(1)):
        i = ints(4, 3, low=-x.size, high=x.size)
        add("take", lambda a, i: np.take(a, i), x, i)
        add("put", put, x, i, values(i.shape, x.dtype.name))
        add("put", put, x, i, values((1,), x.dtype.name))
        add("put", put, x, i[:0], values((0,), x.dtype.name))
        if x.dtype != bool:
            add("put_accumulate", t(lambda a, i, v: a.put_(i, v, accumulate=True)), x, i, values(i.shape, x.dtype.name))
    for x in (ints(4, 5), floats(4, 5, 3), bools(4, 5)):
        i, j = ints(6, low=0, high=4), ints(2, 6, low=-5, high=5)
        rest = x.shape[2:]
        add("index_put", t(lambda a, i, j, v: a.index_put((i, j), v)), x, i, j, values((2, 6) + rest, x.dtype.name))
        add("index_put_axis1", lambda a, j, v: a.__setitem__((slice(None), j), v) or a, x, j,
            values((4, 2, 6) + rest, x.dtype.name))
        if x.dtype != bool:
            add("index_put_accumulate", t(lambda a, i, j, v: a.index_put((i, j), v, accumulate=True)), x, i, j,
                values((2, 6) + rest, x.dtype.name))
            add("index_add_axis1", t(lambda a, i, v: a.index_add(1, i, v)), x, i, values((4, 6) + rest, x.dtype.name))
        add("index_copy_axis1", t(lambda a, i, v: a.index_copy(1, i, v)), x, rng.permutation(5)[:3], values((4, 3) + rest, x.dtype.name))
        add("index_fill_axis0", t(lambda a, i: a.index_fill(0, i, 1)), x, i)
        add("select_scatter_1_2", t(lambda a, v: a.select_scatter(v, 1, 2)), x, values((4,) + rest, x.dtype.name))
        add("select_1_2", t(lambda a: a.select(1, 2)), x)
        add("slice_scatter_1_1_4_2", t(lambda a, v: a.slice_scatter(v, 1, 1, 4, 2)), x, values((4, 2) + rest, x.dtype.name))
        add("slice_scatter", t(lambda a, v: a.slice_scatter(v)), x, values(x.shape, x.dtype.name))
        for offset in (0, 2, -1, 9):
            v = values(torch.from_numpy(x).diagonal(offset).shape, x.dtype.name) if offset < 9 else None
            if v is not None:
                add(f"diagonal_scatter_{offset}", t(lambda a, v: a.diagonal_scatter(v, offset)), x, v)
        for m in (bools(*x.shape), bools(5, *rest), np.zeros(x.shape, bool)):
            add("masked_scatter", t(lambda a, m, v: a.masked_scatter(m, v)), x, m, values((x.size + 3,), x.dtype.name))
    for offset in (0, 1, -2):
        x = floats(3, 2, 4)
        v = floats(*torch.from_numpy(x).diagonal(offset, 2, 0).shape)
        add(f"diagonal_scatter_{offset}_axes_2_0", t(lambda a, v: a.diagonal_scatter(v, offset, 2, 0)), x, v)
    for how in ("sum", "prod", "mean", "amax", "amin"):
        for self in (True, False):
            name = f"scatter_reduce_{how}_{int(self)}"
            for x, i, v in ((ints(4, 3), ints(6, 3, low=0, high=4), ints(6, 3)),
                            (floats(5, 3), ints(2, 2, low=0, high=5), floats(4, 3)),
                            (floats(5), ints(9, low=0, high=5), floats(9)),
                            (floats(3), ints(7, low=0, high=3), np.array([1, np.nan, -np.inf, 2, np.inf, 0, -0.5], np.float32)),
                            (floats(3, dtype=np.float64), ints(0), floats(0, dtype=np.float64))):
                add(name, t(lambda a, i, v: a.scatter_reduce(0, i, v, how, include_self=self)), x, i, v)
    for a, c in ((ints(5, low=0, high=3), (ints(5), ints(5), ints(5))), (ints(2, 3, low=0, high=2), (ints(3), floats(2, 1, dtype=np.float64))),
                 (ints(4, low=0, high=1), (ints(),))):
        add("choose", lambda a, *c: np.choose(a, c), a, *c)
    for m, x in ((bools(4), floats(4, 3)), (bools(3), ints(4, 2)), (np.zeros(2, bool), floats(2, 5)), (ints(4, low=0, high=2), ints(4))):
        add("compress_axis0", lambda m, x: np.compress(m, x, 0), m, x)
        add("compress", lambda m, x: np.compress(m, x), m, x)
    for m, x in ((bools(3), floats(2, 3)), (bools(2), ints(4, 2, 2))):
        add("compress_axis1", lambda m, x: np.compress(m, x, 1), m, x)
    for x in (floats(4, 3), ints(7), floats(0)):
        add("extract", np.extract, bools(*x.shape), x)
        add("extract", np.extract, ints(*x.shape, low=0, high=2), x)
    add("ravel_multi_index_4_5", lambda i, j: np.ravel_multi_index((i, j), (4, 5)), ints(6, low=0, high=4), ints(2, 6, low=0, high=5))
    add("ravel_multi_index_4_5_wrap", lambda i, j: np.ravel_multi_index((i, j), (4, 5), "wrap"), ints(6, low=-9, high=19), ints(6))
    add("ravel_multi_index_4_5_clip", lambda i, j: np.ravel_multi_index((i, j), (4, 5), "clip"), ints(6, low=-9, high=19), ints(6))
    add("unravel_index_4_5_2", lambda i: np.unravel_index(i, (4, 5, 2)), ints(3, 4, low=0, high=40))
    add("unravel_index_4_5_2", lambda i: np.unravel_index(i, (4, 5, 2)), np.arange(40))
    for a, b in ((ints(3, low=0, high=4), ints(5, low=0, high=6)), (bools(4), ints(2, low=0, high=6)), (bools(4), bools(6))):
        add("ix_", lambda x, a, b: x[np.ix_(a, b)], floats(4, 6), a, b)
        add("set_ix_", lambda x, a, b: x.__setitem__(np.ix_(a, b), 7) or x, floats(4, 6), a, b)
    nan = np.array([np.nan, 1, np.nan, -0.0, 1, 0, 2, np.nan])
    for x in (ints(4, 5), floats(30), bools(6), ints(0), ints(1), nan, nan.astype(np.float32)):
        add("unique", np.unique, x)
        add("unique_values", lambda a: np.unique(a, equal_nan=False), x)
        add("unique_counts", lambda a: list(np.unique_counts(a)), x)
        add("unique_inverse", lambda a: list(np.unique_inverse(a)), x)
        add("unique_all", lambda a: list(np.unique_all(a)), x)
        for y in (ints(5), ints(40), ints(0), floats(9), nan):
            add("isin", np.isin, x, y)
            add("isin_invert", lambda a, b: np.isin(a, b, invert=True), x, y)
            if not (np.isnan(x).any() or np.isnan(y).any()):
                add("setdiff1d", np.setdiff1d, x.astype(float), y.astype(float))
                add("intersect1d", np.intersect1d, x.astype(float), y.astype(float))
                add("union1d", np.union1d, x.astype(float), y.astype(float))
    return lines


if __name__ == "__main__":
    for name, lines in (("indexing", chosen_lines() + random_lines()), ("indexing_functions", function_lines())):
        with open(os.path.join(OUT, name + ".txt"), "w") as out:
            out.write("\n".join(lines) + "\n")
