#!/usr/bin/env python3
"""Writes tests/golden/*.txt: what NumPy 2 answers, for tests/lazy/ops/golden.cpp to compare with.

    pip install numpy && python3 tools/make_golden.py

One case a line, fields separated by " | ", values as hexadecimal bit patterns of their dtype:

    promote A B | RESULT                     result_type of two dtypes
    weak KIND A | RESULT                     of a C++ scalar (bool, int, float) and a tensor
    unary NAME IN OUT | x | r                NAME~ : floating-point results may differ by a few units in the last place
    binary NAME IN OUT | a | b | r           r is a.size x b.size, every a with every b
    cast IN OUT | x | r
    reduce NAME IN OUT SHAPE AXES KEEP | x | RESULT-SHAPE | r      AXES "-": all; shapes like 2,3 ("-" for 0-d)
    print DTYPE SHAPE OPTIONS | x | text     backslash-escaped text

Left out, because lazy differs on purpose: integers with floats of fewer bits than NumPy wants (lazy keeps the float's dtype);
uint64 with signed integers (DtypeError, NumPy: float64); negative integer powers (NumPy raises); casts that are undefined in
C (NaN and out-of-range to integers, where lazy saturates); arithmetic on two bools other than add, multiply, maximum, minimum
(DtypeError); float-only functions of small integers (NumPy: float16 or float32, lazy: float64); which zero maximum(0, -0) is.
bfloat16 does not exist in NumPy.
"""
import itertools
import os
import warnings

import numpy as np

warnings.simplefilter("ignore")
np.seterr(all="ignore")
OUT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "golden")
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
INTS = SIGNED + UNSIGNED
ALL = ["bool"] + INTS + FLOATS
rng = np.random.default_rng(20240131)


def hexes(a):
    a = np.ascontiguousarray(a)
    if a.dtype == bool:
        a = a.view(np.uint8)
    bits = a.view(f"u{a.dtype.itemsize}").ravel()
    return " ".join(format(int(v), "x") for v in bits)


def shape_text(shape):
    return ",".join(map(str, shape)) if shape else "-"


def write(name, lines):
    with open(os.path.join(OUT, name + ".txt"), "w") as f:
        f.write("\n".join(lines) + "\n")


def promotion():
    lines = []
    for a, b in itertools.product(ALL, ALL):
        if (a in INTS and b in FLOATS) or (b in INTS and a in FLOATS):
            f = a if a in FLOATS else b
            if np.result_type(a, b).name != f:
                continue
        if "uint64" in (a, b) and (a in SIGNED or b in SIGNED):
            continue
        lines.append(f"promote {a} {b} | {np.result_type(a, b).name}")
    for kind, value in (("bool", True), ("int", 1), ("float", 1.0)):
        for t in ALL:
            lines.append(f"weak {kind} {t} | {(np.ones(2, t) + value).dtype.name}")
    return lines


def int_values(t):
    i = np.iinfo(t)
    v = [i.min, i.min + 1, i.max - 1, i.max, 0, 1, 2, 3, 7, 100]
    if i.min < 0:
        v += [-1, -2, -3, -7, -100]
    return np.array(sorted(set(v)), t)


def float_values(t):
    f = np.finfo(t)
    return np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, -1.5, 2.5, 3, -3, 7.25, -7.25, 0.1, -0.1,
                     f.max, f.min, f.tiny, -f.tiny, f.smallest_subnormal, 1000.5, -1000.5], t)


def unary_line(name, function, x, tag=""):
    r = function(x)
    return f"unary {name}{tag} {x.dtype.name} {r.dtype.name} | {hexes(x)} | {hexes(r)}"


def binary_line(name, function, a, b, tag=""):
    r = function(a[:, None], b[None, :])
    return f"binary {name}{tag} {a.dtype.name} {r.dtype.name} | {hexes(a)} | {hexes(b)} | {hexes(r)}"


def elementwise():
    lines = []
    for t in INTS:
        v = int_values(t)
        for name in ("add", "subtract", "multiply", "floor_divide", "remainder", "bitwise_and", "bitwise_or", "bitwise_xor",
                     "maximum", "minimum", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal",
                     "logical_and", "logical_or", "logical_xor"):
            w = v if name in ("floor_divide", "remainder") else v[:: 2]
            lines.append(binary_line(name, getattr(np, name), w, w))
        exponents = np.array([0, 1, 2, 3, 7, 64, 100], t)
        lines.append(binary_line("pow", np.power, v, exponents))
        width = np.dtype(t).itemsize * 8
        shifts = [0, 1, 3, width - 1, min(width, 127), 100] + ([-1] if t in SIGNED else [])
        lines.append(binary_line("bitwise_left_shift", np.left_shift, v, np.array(shifts, t)))
        lines.append(binary_line("bitwise_right_shift", np.right_shift, v, np.array(shifts, t)))
        for name, f in (("negative", np.negative), ("abs", np.abs), ("sign", np.sign), ("bitwise_invert", np.invert),
                        ("square", np.square), ("logical_not", np.logical_not), ("floor", np.floor), ("ceil", np.ceil),
                        ("trunc", np.trunc), ("round", np.round), ("isnan", np.isnan), ("isfinite", np.isfinite),
                        ("isinf", np.isinf)):
            lines.append(unary_line(name, f, v))
    v = np.array([False, True])
    for name in ("add", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or",
                 "logical_xor", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal"):
        lines.append(binary_line(name, getattr(np, name), v, v))
    lines.append(unary_line("bitwise_invert", np.invert, v))
    lines.append(unary_line("logical_not", np.logical_not, v))

    for t in FLOATS:
        v = float_values(t)
        special = v[:9]
        for name in ("add", "subtract", "multiply", "divide", "less", "less_equal", "greater", "greater_equal", "equal",
                     "not_equal", "copysign", "logical_and", "logical_or", "logical_xor"):
            lines.append(binary_line(name, getattr(np, name), v[:13], v[:13]))
        nonzero = v[[0, 1, 2, 5, 6, 7, 10, 16]]
        lines.append(binary_line("maximum", np.maximum, nonzero, nonzero))
        lines.append(binary_line("minimum", np.minimum, nonzero, nonzero))
        moderate = v[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 23, 24]]
        lines.append(binary_line("floor_divide", np.floor_divide, moderate, moderate))
        lines.append(binary_line("remainder", np.remainder, moderate, moderate))
        for name, f in (("atan2", np.arctan2), ("hypot", np.hypot), ("pow", np.power), ("logaddexp", np.logaddexp)):
            lines.append(binary_line(name, f, special, special, "~"))
        for name, f in (("negative", np.negative), ("abs", np.abs), ("sign", np.sign), ("ceil", np.ceil), ("floor", np.floor),
                        ("trunc", np.trunc), ("round", np.rint), ("sqrt", np.sqrt), ("square", np.square),
                        ("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite), ("signbit", np.signbit),
                        ("logical_not", np.logical_not), ("reciprocal", np.reciprocal)):
            lines.append(unary_line(name, f, v))
        for name, f in (("exp", np.exp), ("expm1", np.expm1), ("log", np.log), ("log1p", np.log1p), ("log2", np.log2),
                        ("log10", np.log10), ("sin", np.sin), ("cos", np.cos), ("tan", np.tan), ("sinh", np.sinh),
                        ("cosh", np.cosh), ("tanh", np.tanh), ("asin", np.arcsin), ("acos", np.arccos), ("atan", np.arctan),
                        ("asinh", np.arcsinh), ("acosh", np.arccosh), ("atanh", np.arctanh)):
            lines.append(unary_line(name, f, v[:18], "~"))
    return lines


def casts():
    lines = []
    for a, b in itertools.product(ALL, ALL):
        if a == b:
            continue
        if a == "bool":
            x = np.array([False, True])
        elif a in INTS:
            x = int_values(a)
        else:
            x = float_values(a)
            if a == "float64":
                extra = [2049.0, 65519.9, 65520.0, 1 + 2.0 ** -11, 1 + 2.0 ** -11 + 2.0 ** -40, 16777217.0, 5.9e-8, 2.9e-8, 1e-46]
                x = np.concatenate([x, np.array(extra)])
            if b in INTS:
                i = np.iinfo(b)
                with np.errstate(all="ignore"):
                    wide = np.trunc(x.astype(np.float64))
                x = x[np.isfinite(x) & (wide > float(i.min) - (i.min != 0)) & (wide < float(i.max))]
                x = x[np.trunc(x.astype(np.float64)) >= i.min]
        lines.append(f"cast {a} {b} | {hexes(x)} | {hexes(x.astype(b))}")
    return lines


def reductions():
    lines = []

    def add(name, f, x, axes, keep):
        kw = {} if name in ("cumsum",) else {"keepdims": bool(keep)}
        axis = None if axes is None else axes if len(axes) > 1 else axes[0]
        r = np.asarray(f(x, axis=axis, **kw))
        axes_text = "-" if axes is None else ",".join(map(str, axes))
        lines.append(f"reduce {name} {x.dtype.name} {r.dtype.name} {shape_text(x.shape)} {axes_text} {keep} | {hexes(x)} | "
                     f"{shape_text(r.shape)} | {hexes(r)}")

    for t in ["bool"] + INTS:
        x = rng.integers(0, 2, (2, 3, 4)).astype(bool) if t == "bool" else rng.integers(
            np.iinfo(t).min, np.iinfo(t).max, (2, 3, 4), endpoint=True, dtype=t)
        for axes in (None, (1,), (0, 2), (2, 1)):
            for name in ("sum", "prod", "max", "min") + (("any", "all", "count_nonzero") if t in ("bool", "int8", "uint64") else ()):
                add(name, getattr(np, name), x, axes, 1 if axes == (0, 2) else 0)
        for axes in (None, (1,), (-1,)):
            add("argmax", np.argmax, x, axes, 0)
            add("argmin", np.argmin, x, axes, 1)
            add("cumsum", np.cumsum, x, axes, 0)
    for t in FLOATS:
        # Small integers and halves: every sum is exact, whatever its order.
        x = (rng.integers(-8, 9, (3, 4, 5)) / 2).astype(t)
        y = x.copy()
        y[1, 2, 3] = np.nan
        y[0, 1, 1] = np.inf
        y[2, 0, 0] = np.nan
        for v in (x, y):
            for axes in (None, (1,), (-1,), (0, 2), (0, 1)):
                for name in ("sum", "max", "min", "any", "all", "count_nonzero"):
                    add(name, getattr(np, name), v, axes, 0)
            for axes in (None, (0,), (1,), (-1,)):
                add("argmax", np.argmax, v, axes, 0)
                add("argmin", np.argmin, v, axes, 0)
        add("prod", np.prod, np.array([[1.5, 2, -2], [0.5, -1, 4]], t), (0,), 0)
        add("prod", np.prod, np.array([[1.5, 2, -2], [0.5, -1, 4]], t), None, 0)
        for shape in ((0,), (0, 3), (3, 0)):
            e = np.zeros(shape, t)
            add("sum", np.sum, e, None, 0)
            add("prod", np.prod, e, (0,), 0)
            add("any", np.any, e, (-1,), 0)
            add("all", np.all, e, (-1,), 1)
        add("cumsum", np.cumsum, x, (1,), 0)
    return lines


def printing():
    lines = []

    def add(a, **options):
        a = np.asarray(a)
        with np.printoptions(**options):
            text = str(a)
        opts = ",".join(f"{k}={int(v) if isinstance(v, bool) else v}" for k, v in options.items()) or "-"
        text = text.replace("\\", "\\\\").replace("\n", "\\n")
        lines.append(f"print {a.dtype.name} {shape_text(a.shape)} {opts.replace(' ', '_')} | {hexes(a)} | {text}")

    for t in ALL:
        add(np.zeros((), t))
        add(np.ones((), t))
        add(np.arange(2).astype(t))
        add(np.arange(2).reshape(1, 2).astype(t))
        add(np.zeros((0,), t))
        add(np.zeros((2, 0, 3), t))
    for t in INTS:
        i = np.iinfo(t)
        add(np.array([i.min, 0, i.max], t))
        add(np.array([[1, 20], [100, 3]], t))
        add(np.array(i.min, t))
    add(np.arange(24).reshape(2, 3, 4))
    add(np.arange(24).reshape(2, 3, 4) - 12)
    add(np.arange(16).reshape(2, 2, 2, 2))
    add(np.arange(120))
    add(np.arange(1000))
    add(np.arange(1001))
    add(np.arange(2000).reshape(2, 1000))
    add(np.arange(2000).reshape(1000, 2))
    add(np.arange(1680).reshape(6, 7, 40))
    add(np.arange(1100).reshape(11, 10, 10))
    add(np.arange(1200).reshape(2, 600, 1))
    add(np.arange(60).reshape(2, 30), linewidth=40)
    add(np.arange(60).reshape(2, 30), linewidth=10)
    add(np.arange(5) * 10 ** 12, linewidth=12)
    add(np.arange(30), threshold=10)
    add(np.arange(30), threshold=10, edgeitems=2)
    add(np.arange(30).reshape(5, 6), threshold=10, edgeitems=1)
    add(np.array([1, -2, 30]), sign="+")
    add(np.array([1, -2, 30]), sign=" ")
    add(np.array([1, 2, 30]), sign=" ")
    add(np.array([True, False, True]).repeat(30))
    add(rng.integers(0, 2, (3, 4)).astype(bool))
    for t in FLOATS:
        for v in (0.1, -0.1, 1 / 3, 1e-4, 9.9e-5, 1e-5, 123456.0, 1e15, 1e16, 1.5e20, -0.0, np.nan, np.inf, -np.inf, 65504.0, 1e-7,
                  3.14159265358979, 999.0, 1000.0, 1001.0, 999999.0, 1e6, 1e7, 9.9e15):
            add(np.array(v, t))
        add(np.array([0.1, 0.2, 0.30000001], t))
        add(np.array([1.0, 2.5, -3.25], t))
        add(np.array([1, 10, 100], t))
        add(np.array([1, 10, 1000], t))
        add(np.array([0.001, 1.5], t))
        add(np.array([0.001, 1.0009], t))
        add(np.array([0.001, 2.5], t))
        add(np.array([1e-4, 1e-3], t))
        add(np.array([9e-5, 1e-3], t))
        add(np.array([999.0, 1000.0], t))
        add(np.array([999999.0, 5.0e5], t))
        add(np.array([1e6, 1e5], t))
        add(np.array([1e8, 1e7], t))
        add(np.array([99999999.0], t))
        add(np.array([1e10, 1.0], t))
        add(np.array([1e30, 1e-30], t))
        add(np.array([np.nan, 1.0], t))
        add(np.array([np.inf, 1.0], t))
        add(np.array([-np.inf, 1.5, 2.25], t))
        add(np.array([np.nan, np.inf, -np.inf], t))
        add(np.array([np.nan], t))
        add(np.array([np.nan, 123.456], t))
        add(np.array([np.nan, 1e-20, 1e10], t))
        add(np.array([-np.inf, 1e-20, -1e10], t))
        add(np.array([0.0, -0.0], t))
        add(np.array([0.0, 1e-10], t))
        add(np.array([1 / 3, 2 / 3, 1e-3], t))
        add(np.array([1 / 3, 1e-6], t))
        add(np.array([1 / 3, 1e5 / 3], t), suppress=True)
        add(np.array([1 / 3, 1e-12, 100], t), suppress=True)
        add(np.array([1.234567891234, 2.5], t), precision=3)
        add(np.array([1.5, 2.5, 0.5, 3.5], t), precision=0)
        add(np.array([0.125, 0.375, 1.0], t), precision=2)
        add(np.array([1.23456789e-10, 2.5], t), precision=3)
        add(np.array([1.5, 2.0], t), sign="+")
        add(np.array([1.5, 2.0, np.nan, np.inf], t), sign="+")
        add(np.array([1.5, 2.0], t), sign=" ")
        add(np.array([1.5, -2.0], t), sign=" ")
        add(np.array([1.5, np.inf], t), sign=" ")
        add(rng.standard_normal((3, 4)).astype(t))
        add(rng.standard_normal((2, 3, 3)).astype(t) * 100)
        add(rng.standard_normal(40).astype(t))
        add(np.exp(rng.standard_normal((4, 3)) * 4).astype(t))
        add(np.exp(rng.standard_normal((4, 3)) * 10).astype(t))
        add(rng.random((30, 34)).astype(t))
        add(rng.random((3, 34)).astype(t), threshold=100, precision=3, linewidth=60)
        add(np.finfo(t).max.reshape(1))
        add(np.array([np.finfo(t).smallest_subnormal, np.finfo(t).tiny], t))
    add(np.array([1e100, 1e-100]))
    add(np.array([1e100, 1.0]))
    add(np.array([1e300, np.nan, -1e-300]))
    add(np.array([0.1 + 0.2, 1 / 7]), precision=17)
    add(np.array([2 ** 53 + 0.0, 1e22]))
    return lines


if __name__ == "__main__":
    os.makedirs(OUT, exist_ok=True)
    for f in (promotion, elementwise, casts, reductions, printing):
        write(f.__name__, f())
