#!/usr/bin/env python3
"""Compares random Fourier transforms with SciPy's in more digits: compare.py PROGRAM [CASES [SEED]].

PROGRAM is fft_cases, which a build makes on request. The largest error of a case is in units of rounding of its largest element.
Needs SciPy.
"""
import subprocess
import sys

import numpy as np
import scipy.fft

EXTENTS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 15, 16, 17, 20, 24, 25, 27, 30, 31, 32, 33, 37, 40, 48, 49, 60, 61, 64, 67, 77, 81, 96,
           100, 101, 121, 128, 143, 210, 243, 256]
ALONG_ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
FUNCTIONS = ALONG_ONE + ["fft2", "ifft2", "rfft2", "fftn", "ifftn", "rfftn", "irfftn", "fftshift", "ifftshift"]
OF_REAL = ["rfft", "ihfft", "rfft2", "rfftn"]
MOST_UNITS = 16


def draw(rng):
    """Returns a case as the program reads it, and what the function should give."""
    def one(choices):
        return choices[int(rng.integers(len(choices)))]
    f, norm = one(FUNCTIONS), one(["backward", "ortho", "forward"])
    t = one(["float32", "float64", "int32"] if f in OF_REAL else ["complex64", "complex128", "float32", "float64"])
    rank = int(rng.integers(2 if f[-1] == "2" else 1, 4))
    shape = [2000]
    while np.prod(shape) > 1200:
        shape = [one(EXTENTS) for _ in range(rank)]
    axis = other = int(rng.integers(-rank, rank))
    while f[-1] == "2" and (other - axis) % rank == 0:
        other = int(rng.integers(-rank, rank))
    length = one(EXTENTS) if f in ALONG_ONE and rng.random() < 0.4 else 0
    if f in ("irfft", "hfft") and length == 0 and shape[axis] == 1:
        length = 2
    if f == "irfftn" and shape[-1] == 1:
        shape[-1] = 2
    x = rng.normal(0, 2, shape)
    if t == "int32":
        x = np.round(4 * x)
    if t[0] == "c":
        x = x + 1j * rng.normal(0, 2, shape)
    x = x.astype(t)
    wide = x.astype(np.clongdouble if t[0] == "c" else np.longdouble)
    g = getattr(scipy.fft, f)
    if f in ALONG_ONE:
        y = g(wide, length or None, axis, norm=norm)
    elif f[-1] == "2":
        y = g(wide, axes=(axis, other), norm=norm)
    else:
        y = g(wide) if f.endswith("shift") else g(wide, norm=norm)
    parts = np.stack([x.real, x.imag], -1) if t[0] == "c" else x
    words = [f, length, axis, other, norm, t, rank, *shape, *("%.17g" % v for v in parts.ravel())]
    single = t in ("complex64", "float32", "int32")
    kind = t if f.endswith("shift") else ("complex" if np.iscomplexobj(y) else "float") + \
        str((32 if single else 64) * (2 if np.iscomplexobj(y) else 1))
    return " ".join(map(str, words)), kind, y, 2.0 ** (-24 if single else -53)


def units(answer, kind, y, rounding):
    """Returns the error of the program's answer; infinity if its dtype or shape is another."""
    words = answer.split()
    if words[0] != kind:
        return np.inf
    rank = int(words[1])
    if tuple(map(int, words[2:2 + rank])) != y.shape:
        return np.inf
    values = np.array(words[2 + rank:], float)
    got = (values[0::2] + 1j * values[1::2] if np.iscomplexobj(y) else values).reshape(y.shape)
    return float(np.max(np.abs(got - y), initial=0) / (np.max(np.abs(y), initial=0) or 1) / rounding)


def main():
    program, count, seed = (sys.argv[1:] + ["20000", "1"][len(sys.argv) - 2:])[:3]
    count, seed = int(count), int(seed)
    rng = np.random.default_rng(seed)
    cases = [draw(rng) for _ in range(count)]
    text = "".join(c[0] + "\n" for c in cases)
    answers = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout.splitlines()
    errors = [units(a, *c[1:]) for a, c in zip(answers, cases, strict=True)]
    differ = [i for i, e in enumerate(errors) if not e <= MOST_UNITS]
    for i in differ[:10]:
        print(f"case {i}: {cases[i][0][:100]}: {answers[i][:60]}: {errors[i]:.1f} units")
    print(f"seed {seed}: {count} cases, {len(differ)} differ; the largest error is {max(errors):.1f} units of rounding")
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
