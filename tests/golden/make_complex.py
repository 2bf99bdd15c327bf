#!/usr/bin/env python3
"""Writes complex.txt beside this file: what NumPy answers, for tests/lazy/complex/golden.cpp to compare with.

    pip install numpy && python3 tests/golden/make_complex.py

One case a line, fields separated by " | ", values as hexadecimal floats ("nan", "inf"), of complex numbers both parts:

    NAME | DTYPE SHAPE VALUES | ... | DTYPE SHAPE VALUES

The last field is the result. NAME is a key of the table in golden.cpp; SHAPE is like 2,3 ("-" for 0-d).
"""
import os

import numpy as np

from complex_fields import field

np.seterr(all="ignore")
OUT = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(20261128)
INF, NAN = np.inf, np.nan
lines = []


def add(name, f, *inputs):
    inputs = [np.asarray(i) for i in inputs]
    lines.append(" | ".join([name] + [field(i) for i in inputs] + [field(f(*inputs))]))


def numbers(*shape, dtype=np.complex64, size=3):
    return (rng.normal(size=shape, scale=size) + 1j * rng.normal(size=shape, scale=size)).astype(dtype)


def grid(dtype):
    values = [0.0, -0.0, 1.0, -2.0, INF, -INF, NAN]
    re, im = np.meshgrid(values, values)
    z = np.empty(re.size, dtype)
    z.real, z.imag = re.ravel(), im.ravel()
    return z


UNARY = ("exp expm1 log log1p log2 log10 sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh "
         "negative abs sign square reciprocal isnan isinf isfinite conj angle real imag").split()
for dtype in (np.complex64, np.complex128):
    for name in UNARY:
        f = getattr(np, name)
        if name == "log1p":  # NumPy adds 1 first
            f = lambda v: np.log1p(v.astype(np.clongdouble)).astype(v.dtype)
        if name in ("exp", "log", "sqrt", "sinh", "cosh", "tanh", "asin", "acos", "atanh", "asinh", "acosh", "atan", "abs"):
            add(name, f, grid(dtype))
        z = np.concatenate([numbers(16, dtype=dtype), numbers(8, dtype=dtype, size=1e-3), numbers(8, dtype=dtype, size=30)])
        if name in ("tan", "tanh"):
            z = z[np.abs(z.imag) + np.abs(z.real) < 20]
        add(name, f, z)
    big = np.array([1e30 + 1e30j, -1e30 + 2j, 3 - 1e30j, 1e-30 + 1e-30j, 1 + 1e-6j, -1 + 1e-6j, 1e-6 + 1j], dtype)
    for name in "log sqrt abs asin acos atan asinh acosh atanh".split():
        add(name, getattr(np, name), big)
    a, b = numbers(4, 5, dtype=dtype), numbers(5, dtype=dtype)
    for name in "add subtract multiply divide power".split():
        add(name, getattr(np, name), a, b)
    huge = np.array([1e30 + 1e30j, 1e30 + 1j, 1e-30 + 1e-30j, 2 + 1e30j], dtype)
    add("divide", np.divide, huge, huge)
    add("divide", np.divide, huge, huge[::-1].copy())
    add("power", np.power, np.array([0, 0, 2 + 1j, 1j], dtype), np.array([0, 2, 0, 1j], dtype))
    add("equal", np.equal, a, a + np.where(rng.random((4, 5)) < 0.5, 0, 1j).astype(dtype))
    add("not_equal", np.not_equal, a, a + np.where(rng.random((4, 5)) < 0.5, 0, 1j).astype(dtype))
    x = numbers(5, 7, dtype=dtype)
    for axis in (0, 1):
        add(f"sum{axis}", lambda v: v.sum(axis), x)
        add(f"prod{axis}", lambda v: v.prod(axis), x)
        add(f"mean{axis}", lambda v: v.mean(axis), x)
        add(f"var{axis}", lambda v: v.var(axis), x)
        add(f"std{axis}", lambda v: v.std(axis), x)
        add(f"cumsum{axis}", lambda v: v.cumsum(axis), x)
        add(f"cumprod{axis}", lambda v: v.cumprod(axis), x)
        add(f"norm{axis}", lambda v: np.linalg.norm(v, axis=axis), x)
    m, n = numbers(4, 6, dtype=dtype), numbers(6, 3, dtype=dtype)
    add("matmul", np.matmul, m, n)
    add("matmul", np.matmul, m, n[:, 0].copy())
    add("matmul", np.matmul, numbers(2, 3, 4, dtype=dtype), numbers(4, 5, dtype=dtype))
    add("vdot", np.vdot, m, m[::-1].copy())
    add("vecdot", np.vecdot, m, m[::-1].copy())
    add("einsum", lambda p, q: np.einsum("ij,jk->ki", p, q), m, n)
    add("outer", np.outer, b, b)
    add("cov", lambda v: np.cov(v).astype(v.dtype), m)
    add("nansum", np.nansum, np.array([1 + 2j, NAN, 3j], dtype))
    add("trace", np.trace, numbers(5, 5, dtype=dtype))
    add("tril", np.tril, numbers(4, 4, dtype=dtype))
    add("transpose", lambda v: np.ascontiguousarray(v.T), m)
    add("flip", lambda v: v[::-1].copy(), m)
    add("take", lambda v: v[[2, 0, 0, -1]], m)
    add("concat", lambda p, q: np.concatenate([p, q]), m, m)
    add("where", lambda p, q: np.where(p.real > 0, p, q), m, m[::-1].copy())
    add("kron", np.kron, m, n)
    add("diff", np.diff, m)

with open(os.path.join(OUT, "complex.txt"), "w") as f:
    f.write("\n".join(lines) + "\n")
