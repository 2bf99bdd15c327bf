#!/usr/bin/env python3
"""Writes fft.txt beside this file: what NumPy answers, for tests/lazy/fft/golden.cpp to compare with.

    pip install numpy && python3 tests/golden/make_fft.py

One case a line: NAME ARGUMENTS | INPUT | RESULT, with tensors as complex_fields.py writes them. Arguments: the
length or lengths ("-": none), axis or axes ("-": none), norm.
"""
import os

import numpy as np

from complex_fields import field

OUT = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(20261129)
NORMS = {np.complex64: ("backward", "ortho", "forward"), np.complex128: ("ortho",)}
lines = []


def text(v):
    return "-" if v is None else ",".join(map(str, np.atleast_1d(v)))


def add(name, x, n=None, axis=None, norm="backward"):
    f = getattr(np.fft, name)
    several = name[-1] in "n2"
    keys = dict(s=n, axes=axis) if several else dict(n=n, axis=-1 if axis is None else axis)
    if several and axis is None and name[-1] == "2":
        keys.pop("axes")
    if several and axis is None and n is not None:
        keys["axes"] = tuple(range(-len(n), 0))
    lines.append(f"{name} {text(n)} {text(axis)} {norm} | {field(x)} | {field(f(x, **keys, norm=norm))}")


def given(name, *shape, dtype):
    x = rng.normal(size=shape)
    if name in ("rfft", "ihfft", "rfft2", "rfftn"):
        return x.astype(np.float32 if dtype == np.complex64 else np.float64)
    return (x + 1j * rng.normal(size=shape)).astype(dtype)


for dtype in (np.complex64, np.complex128):
    for name in "fft ifft rfft irfft hfft ihfft".split():
        for n in (1, 2, 3, 8, 15, 37, 40):
            if name in ("irfft", "hfft") and n == 1:
                continue
            add(name, given(name, n, dtype=dtype))
        x = given(name, 2, 6, 3, dtype=dtype)
        for norm in NORMS[dtype]:
            add(name, x, None, 1, norm)
            add(name, x, 7, 1, norm)
            add(name, x, 8, -2, norm)
            add(name, x, 3, 0, norm)
        add(name, given(name, 9, 6, dtype=dtype))
    for name in "fft2 ifft2 rfft2 irfft2".split():
        x = given(name, 2, 4, 3, dtype=dtype)
        for norm in NORMS[dtype]:
            add(name, x, norm=norm)
            add(name, x, (3, 5), (0, 1), norm)
    for name in "fftn ifftn rfftn irfftn".split():
        x = given(name, 2, 4, 3, dtype=dtype)
        add(name, x)
        add(name, x, None, (2, 0))
        add(name, x, (3, 4))
        add(name, x, (3, 2, 4), (0, 1, 2), "ortho")

with open(os.path.join(OUT, "fft.txt"), "w") as f:
    f.write("\n".join(lines) + "\n")
