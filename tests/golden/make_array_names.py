#!/usr/bin/env python3
"""Writes names_*.txt beside this file: what NumPy, torch and mpmath answer, for tests/lazy/ops/array_names.cpp.

    pip install numpy torch mpmath && python3 tests/golden/make_array_names.py

The format is that of make_arrays.py.
"""
import math
import os

import mpmath
import numpy as np
import torch

from make_arrays import INF, NAN, OUT, SPECIAL, Lines, bools, floats, ints, mp, t

rng = np.random.default_rng(20260202)


def mp2(f):
    """Makes a function of mpmath's one of pairs of elements, rounded once."""

    def g(x, y):
        with mpmath.workdps(50):
            return np.array([float(f(mpmath.mpf(float(a)), mpmath.mpf(float(b)))) for a, b in zip(x.ravel(), y.ravel())]).astype(x.dtype).reshape(x.shape)

    return g


def hurwitz(s, q):
    """Returns the sum of (q + k)^-s; mpmath's zeta() loses digits for large s, so it adds terms before it calls that."""
    return sum((q + k) ** -s for k in range(200)) + mpmath.zeta(s, q + 200)


def numbers():
    lines = Lines()
    for dtype in (np.int8, np.int32, np.int64, np.uint8, np.uint64):
        i = np.iinfo(dtype)
        v = np.array([0, 1, 2, 3, 12, 18, 100, 97, i.max, i.max - 1, i.max // 2 + 1] + ([-1, -12, -100, i.min + 1] if i.min else []), dtype)
        a, b = np.meshgrid(v, v)
        lines.add("gcd", np.gcd, a, b)
        lines.add("gcd", np.gcd, v[:, None], v[:5])
        w = v[np.abs(v.astype(np.float64)) <= 18]
        lines.add("lcm", np.lcm, w[:, None], w)
        nonzero = v[v != 0]
        lines.add("div_trunc", t(lambda x, y: torch.div(x, y, rounding_mode="trunc")) if dtype != np.uint64 else np.floor_divide, v[:, None], nonzero)
        lines.add("div_floor", np.floor_divide, v[:, None], nonzero)
        lines.add("divmod", lambda x, y: list(np.divmod(x, y)), v[:, None], nonzero)
        lines.add("rsub3", lambda x, y: (y - np.asarray(3, dtype) * x).astype(dtype), v, v[::-1].copy())
    many = rng.integers(-(2**62), 2**62, 70000)
    lines.add("gcd_sum", lambda x: np.gcd(x, x[::-1] * 6).sum(), many[:200])
    for dtype in (np.float64, np.float32, np.float16):
        f = np.finfo(dtype)
        edge = np.array([f.max, f.tiny, f.smallest_subnormal, f.tiny * dtype(0.5), 1, 1 - f.epsneg, 1 + f.eps, 2, 0.1, 3.7, 100.5, 255.9], dtype)
        v = np.concatenate([SPECIAL.astype(dtype), edge, -edge])
        if dtype != np.float16:
            r = np.frombuffer(rng.bytes(60 * v.itemsize), dtype)
            v = np.concatenate([v, r[np.isfinite(r)]])
        lines.add("frexp", lambda x: [np.frexp(x)[0], np.where(np.isfinite(x), np.frexp(x)[1], 0).astype(np.int32)], v)
        lines.add("modf", lambda x: list(np.modf(x)), v)
        lines.add("frac", lambda x: np.modf(x)[0], v)
        toward = np.array([NAN, INF, -INF, 0, -0.0, 1, 2, -0.1], dtype)
        lines.add("nextafter", np.nextafter, v[:, None] + np.zeros(len(toward), dtype), np.zeros(len(v), dtype)[:, None] + toward)
        finite = v[np.isfinite(v) & (np.abs(v) < f.max)]
        if dtype == np.float16:  # NumPy's goes towards 0 from negative ones
            finite = finite[finite > 0]
        lines.add("spacing", np.spacing, finite)
        n = np.array([0, 1, -1, 5, -20, 100, -100, 127, 128, -126, -149, 1023, -1022, -1074, 2100, -2100, 2**31 - 1, -(2**31)], np.int32)
        lines.add("ldexp", np.ldexp, v[:, None], n)
        lines.add("isposinf", np.isposinf, v)
        lines.add("isneginf", np.isneginf, v)
        if dtype != np.float16:
            lines.add("div_trunc", t(lambda x, y: torch.div(x, y, rounding_mode="trunc")), v[:30], np.resize(edge, 30))
    for x in (floats(30, dtype=np.float64) / 7, np.array([2.5, -0.5, 1234.567, NAN, INF, -0.0, 0.125, 1e300])):
        for d in (0, 2, -2):
            lines.add(f"round_{d}", lambda a: np.round(a, d), x)
    lines.add("round_2", lambda a: np.round(a, 2), ints(4))
    for x in (ints(2, 3, 4), ints(), ints(2, 0, 3), ints(5)):
        lines.add("flatten_0", t(lambda a: torch.flatten(a, 0)), x)
        if x.ndim > 1:
            lines.add("flatten_1", t(lambda a: torch.flatten(a, 1)), x)
            lines.add("flatten_0_-2", t(lambda a: torch.flatten(a, 0, -2)), x)
    lines.add("div", np.divide, floats(5), floats(5, dtype=np.float64) + 0.03)
    lines.add("float_power~4", np.float_power, floats(4, dtype=np.float32) ** 2, floats(3, 4))
    lines.add("float_power~4", np.float_power, ints(4), ints(4))
    lines.add("isposinf", np.isposinf, ints(4))
    return lines


def functions():
    lines = Lines()
    for dtype in (np.float64, np.float32):
        near = 1 if dtype == np.float32 else 16
        x = np.concatenate([rng.uniform(-30, 30, 40), rng.uniform(-1, 1, 20), [20, -20, 20.5, 700, 1e-5, 0, 90]]).astype(dtype)
        lines.add(f"i0e~{near}", mp(lambda v: mpmath.besseli(0, v) * mpmath.exp(-abs(v))), x)
        lines.add(f"i1~{near}", mp(lambda v: mpmath.besseli(1, v)), x[np.abs(x) < 60])
        lines.add(f"i1e~{near}", mp(lambda v: mpmath.besseli(1, v) * mpmath.exp(-abs(v))), x)
        y = np.concatenate([rng.uniform(-5, 30, 40), [0, 8, 7.99, 8.01, 1e-9, 100, 1e5, -2, -20]]).astype(dtype)
        lines.add(f"erfcx~{near}", mp(lambda v: mpmath.exp(v * v) * mpmath.erfc(v)), y[y > (-9 if dtype == np.float32 else -26)])
        z = np.concatenate([rng.uniform(-8, 8, 40), [0, -1, 1, -37, -5.5, 6.5]]).astype(dtype)
        lines.add(f"ndtr~{near}", mp(lambda v: mpmath.erfc(-v / mpmath.sqrt(2)) / 2), z[z > (-13 if dtype == np.float32 else -38)])
        z = np.concatenate([z, rng.uniform(-300, 0, 20), [-1e4, 9]]).astype(dtype)
        lines.add(f"log_ndtr~{4 * near}", mp(lambda v: mpmath.log(mpmath.erfc(-v / mpmath.sqrt(2)) / 2)), z)
        p = np.concatenate([rng.uniform(0, 1, 40), [0.5, 0.075, 0.925, 1e-5, 1e-12, 1e-30, 0.999]]).astype(dtype)
        lines.add(f"ndtri~{near}", mp(lambda v: mpmath.findroot(lambda u: mpmath.erfc(-u / mpmath.sqrt(2)) / 2 - v, torch.special.ndtri(torch.tensor(float(v), dtype=torch.float64)).item(), tol=1e-45, verify=False) if v != 0.5 else mpmath.mpf(0)), p[p > 1e-13])
        lines.add("ndtri", t(torch.special.ndtri), np.array([0, 1, -0.1, 1.1, NAN], dtype))
        q = np.concatenate([rng.uniform(0.05, 30, 20), [1, 0.5, 100]]).astype(dtype)
        s = np.concatenate([rng.uniform(1.05, 12, 20), [2, 3, 30]]).astype(dtype)
        lines.add(f"zeta~{2 * near}", mp2(hurwitz), s, q)
        lines.add("zeta", t(torch.special.zeta), np.array([1, 0.5, 2, 2, NAN, 3], dtype), np.array([2, 2, 0, -3, 1, NAN], dtype))
        for n in (1, 2, 3, 5):
            lines.add(f"polygamma{n}~{8 * near}", mp(lambda v: mpmath.psi(n, v)), q)
        low = rng.uniform(-9, 0.4, 20).astype(dtype)
        lines.add(f"polygamma1~{8 * near}", mp(lambda v: mpmath.psi(1, v)), low[np.abs(low - np.round(low)) > 0.05])
        lines.add("polygamma1", t(lambda v: torch.polygamma(1, v)), np.array([0, INF, NAN], dtype))
        g = rng.uniform(1.2, 40, 20).astype(dtype)
        lines.add(f"mvlgamma3~~{32 if near > 1 else 2}", mp(lambda v: 3 * mpmath.log(mpmath.pi) / 2 + sum(mpmath.loggamma(v - mpmath.mpf(j) / 2) for j in range(3))), g)
        lines.add("entr~4", t(torch.special.entr), np.concatenate([SPECIAL.astype(dtype), rng.uniform(0, 5, 20).astype(dtype)]))
        ends = np.array([NAN, INF, -INF, 0.0, -0.0], dtype)
        for name, f in (("i0e", torch.special.i0e), ("i1", torch.special.i1), ("i1e", torch.special.i1e), ("erfcx", torch.special.erfcx), ("ndtr", torch.special.ndtr)):
            lines.add(f"{name}~4", t(f), ends if name != "i1" else ends[[0, 3, 4]])
        lines.add("log_ndtr~8", t(torch.special.log_ndtr), ends[[0, 1, 3]])
    return lines


def products():
    lines = Lines()
    for m, k, n in ((2, 3, 4), (1, 1, 1), (3, 0, 2), (5, 7, 1)):
        a, b, x = ints(m, k), ints(k, n), ints(m, n)
        lines.add("mm", np.matmul, a, b)
        lines.add("mv", np.matmul, a, ints(k))
        lines.add("bmm", np.matmul, ints(3, m, k), ints(3, k, n))
        for name, f, args in (("addmm", torch.addmm, (x, a, b)), ("addmv", torch.addmv, (ints(m), a, ints(k))), ("addr", torch.addr, (x, ints(m), ints(n))),
                              ("addbmm", torch.addbmm, (x, ints(2, m, k), ints(2, k, n))), ("baddbmm", torch.baddbmm, (ints(2, m, n), ints(2, m, k), ints(2, k, n)))):
            lines.add(name, t(f), *args)
            lines.add(f"{name}_2_3", t(lambda *v: f(*v, beta=2, alpha=3)), *args)
            real = [(v / 8).astype(np.float32) for v in args]
            lines.add(f"{name}_half_2~4", t(lambda *v: f(*v, beta=0.5, alpha=2)), *real)
            bad = [np.full_like(real[0], NAN)] + real[1:]
            lines.add(f"{name}_0_2~4", t(lambda *v: f(*v, beta=0, alpha=2)), *bad)
    lines.add("addmm", t(torch.addmm), ints(4), ints(2, 3), ints(3, 4))
    for m, n in ((1, 1), (5, 2), (5, 3), (2, 5), (3, 8), (4, 4), (7, 1), (20, 6)):
        for a, v in ((ints(m), ints(n)), (floats(m, dtype=np.float64), floats(n, dtype=np.float64)), (bools(m), bools(n))):
            for mode in ("full", "same", "valid"):
                lines.add(f"convolve_{mode}", lambda p, q: np.convolve(p, q, mode), a, v)
                lines.add(f"correlate_{mode}", lambda p, q: np.correlate(p, q, mode), a, v)
    for p in (ints(4), ints(1), floats(5, dtype=np.float64)):
        lines.add("polyval", np.polyval, p, ints(2, 3))
        lines.add("polyval", np.polyval, p, floats(3, dtype=np.float64))
    return lines


def summaries():
    lines = Lines()
    x = floats(3, 4, 5, dtype=np.float64)
    bad = x.copy()
    bad[0, 1, 2], bad[1, :, 3], bad[2, 2, 2] = NAN, NAN, INF
    wrong = np.array([[NAN, -INF, NAN], [-INF, NAN, -INF], [INF, NAN, INF]])
    for v in (x, floats(2, 3)):
        lines.add("var_mean~16", lambda a: [np.var(a), np.mean(a)], v)
        lines.add("std_mean_axis1_keep~16", lambda a: [np.std(a, axis=1, ddof=1, keepdims=True), np.mean(a, 1, keepdims=True)], v)
        lines.add("aminmax_axis1", lambda a: [a.min(1), a.max(1)], v)
        lines.add("dist~8", lambda a, b: np.linalg.norm((a - b).ravel()), v, v[:1] + 1)
        lines.add("dist_inf", lambda a, b: np.abs(a - b).max(), v, v[:1] + 1)
        for p in (1, 2, INF):
            lines.add(f"renorm_{p}_1_3~8", t(lambda a: torch.renorm(a, p, 1, 3)), v)
    for v in (x, bad):
        for a, axis in (("", None), ("_axis1", 1)):
            if v is bad and axis is None:
                continue
            lines.add(f"nanargmax{a}", lambda q: np.nanargmax(q, axis) if not np.isnan(q).all(1).any() else np.nanargmax(q, axis), v[[0, 2]] if v is bad else v)
            lines.add(f"nanargmin{a}", lambda q: np.nanargmin(q, axis), v[[0, 2]] if v is bad else v)
        lines.add("nancumsum", np.nancumsum, v[0])
        lines.add("nancumsum_axis1", lambda a: np.nancumsum(a, 1), v[0])
        lines.add("nancumprod_axis1~8", lambda a: np.nancumprod(a, 1), v[0])
    lines.add("nanargmax_axis1", lambda a: np.array([1, 0, 0]), wrong)
    lines.add("nanargmin_axis1", lambda a: np.array([1, 0, 0]), wrong)
    lines.add("nanargmax", lambda a: np.int64(0), np.array([NAN, NAN]))
    for v in (ints(5), ints(2, 3), floats(1), floats(0)):
        lines.add("ediff1d", np.ediff1d, v)
        lines.add("ediff1d_more", lambda a, b, c: np.ediff1d(a, b, c), v, (ints(2) if v.dtype == np.int64 else floats(2)), (ints(1, 1) if v.dtype == np.int64 else floats(1)))
    for v in (floats(7, dtype=np.float64), floats(4, 6, dtype=np.float64), floats(3, 3)):
        lines.add("gradient~4", lambda a: np.gradient(a), v)
        lines.add("gradient_half~4", lambda a: np.gradient(a, 0.5, edge_order=2), v)
        n = v.shape[-1]
        points = np.cumsum(rng.integers(1, 6, n)) / 8
        lines.add("gradient_points~~16", lambda a, p: np.gradient(a, p.astype(a.dtype), axis=-1), v, points.astype(v.dtype))
        lines.add("gradient_points2~~32", lambda a, p: np.gradient(a, p.astype(a.dtype), axis=-1, edge_order=2), v, points.astype(v.dtype))
        lines.add("cumulative_trapezoid_half", t(lambda a: torch.cumulative_trapezoid(a, dx=0.5)), v)
        lines.add("cumulative_trapezoid_points~4", t(lambda a, p: torch.cumulative_trapezoid(a, p)), v, points.astype(v.dtype))
    lines.add("gradient_2_4_axes_0_1~4", lambda a: np.gradient(a, 2, 4), floats(2, 5, dtype=np.float64))
    lines.add("gradient~4", np.gradient, floats(2, dtype=np.float64))
    return lines


def grids():
    lines = Lines()
    lines.add("logspace_0_2_5~4", lambda: np.logspace(0, 2, 5))
    lines.add("logspace_-1_3_4_open_2~4", lambda: np.logspace(-1, 3, 4, False, 2))
    lines.add("geomspace_1_256_9~4", lambda: np.geomspace(1, 256, 9))
    lines.add("geomspace_-1000_-1_4_open~4", lambda: np.geomspace(-1000, -1, 4, False))
    lines.add("geomspace_3_7_1", lambda: np.geomspace(3, 7, 1))
    for shape in ((2, 3), (4,), (), (2, 0), (2, 1, 3)):
        lines.add("indices_" + "_".join(map(str, shape)), lambda: np.indices(shape))
    for m, n in ((3, 4), (4, 3), (1, 1), (0, 2), (5, 5)):
        for k in (0, 1, -1, 3, -7):
            lines.add(f"tril_indices_{m}_{n}_{k}", lambda: np.array(np.tril_indices(m, k, n)).reshape(2, -1))
            lines.add(f"triu_indices_{m}_{n}_{k}", lambda: np.array(np.triu_indices(m, k, n)).reshape(2, -1))
    lines.add("cartesian_prod", t(torch.cartesian_prod), ints(2), ints(3))
    lines.add("cartesian_prod", t(torch.cartesian_prod), ints(3), ints(1), ints(4))
    lines.add("cartesian_prod", t(torch.cartesian_prod), floats(3))
    lines.add("cartesian_prod", t(torch.cartesian_prod), ints(3), ints(0))
    lines.add("block_diag", t(torch.block_diag), ints(2, 3), ints(4), ints(), ints(1, 1))
    lines.add("block_diag", t(torch.block_diag), floats(2, 2))
    lines.add("block_diag", t(torch.block_diag), ints(2, 0), ints(1, 2))
    for x in (ints(6), ints(4, 6), floats(2, 6, 4)):
        lines.add("hsplit2", lambda a: np.hsplit(a, 2), x)
        lines.add("hsplit_at_1_4", lambda a: np.hsplit(a, [1, 4]), x)
        lines.add("tensor_split3", t(lambda a: torch.tensor_split(a, 3)), x)
        lines.add("tensor_split_at_1_4", t(lambda a: torch.tensor_split(a, (1, 4))), x)
        if x.ndim > 1:
            lines.add("vsplit2", lambda a: np.vsplit(a, 2), x)
        if x.ndim > 2:
            lines.add("dsplit2", lambda a: np.dsplit(a, 2), x)
            lines.add("dsplit_at_1_3", lambda a: np.dsplit(a, [1, 3]), x)
    lines.add("concat_none", lambda *a: np.concatenate(a, axis=None), ints(2, 3), ints(), ints(4))
    return lines


def counts():
    lines = Lines()
    for x in (ints(4, 9, low=0, high=4), bools(3, 5), floats(2, 1, 7), ints(1, 1)):
        if x.dtype != bool:
            lines.add("mode_values", t(lambda a: torch.mode(a).values), x)
            lines.add("mode_values_axis0_keep", t(lambda a: torch.mode(a, 0, True).values), x)
    lines.add("mode_both", lambda a: [np.array([NAN, 2.0]), np.array([2, 3])], np.array([[1, NAN, NAN, 2], [2, 5, 1, 2.0]]))
    x = floats(4, 5, 3, dtype=np.float64)
    x[rng.integers(0, 4, x.shape) == 0] = NAN
    x[1, 2] = NAN
    wide = x.copy()
    wide[0, 0, 0], wide[2, 2, :] = INF, INF
    for v in (x, wide, floats(3, 4), floats(1), ints(2, 3), np.array([NAN, NAN])):
        lines.add("nanmedian~2", np.nanmedian, v)
        if v.ndim == 3:
            lines.add("nanmedian_axis1~2", lambda a: np.nanmedian(a, 1), v)
            lines.add("nanmedian_axes_0_2_keep~2", lambda a: np.nanmedian(a, (0, 2), keepdims=True), v)
        if v is wide:
            continue
        own = v.dtype if v.dtype == np.float32 else np.float64
        for q in (0, 0.25, 0.7, 1):
            lines.add(f"nanquantile_{q}~~4", lambda a: np.nanquantile(a, q).astype(own), v)
        lines.add("nanpercentiles~~4", lambda a: np.nanpercentile(a, [10, 50, 95]).astype(own), v)
    for v in (ints(4), floats(3, 2), ints(2, 0), ints(1)):
        c = rng.integers(0, 4, v.size)
        lines.add("repeat", lambda a, n: np.repeat(a, n), v, c)
        lines.add("repeat_axis0", lambda a, n: np.repeat(a, n, 0), v, rng.integers(0, 3, v.shape[0]))
        lines.add("repeat_axis0", lambda a, n: np.repeat(a, n, 0), v, np.array([2]))
    for n in (0, 1, 3, 5):
        for k in (1, 2, 3):
            lines.add(f"combinations_{k}", t(lambda a: torch.combinations(a, k)), ints(n))
            if n:
                lines.add(f"combinations_{k}_again", t(lambda a: torch.combinations(a, k, True)), ints(n))
    return lines


if __name__ == "__main__":
    for f in (numbers, functions, products, summaries, grids, counts):
        with open(os.path.join(OUT, f"names_{f.__name__}.txt"), "w") as out:
            out.write("\n".join(f()) + "\n")
