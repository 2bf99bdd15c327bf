#!/usr/bin/env python3
"""Writes arrays_*.txt beside this file: what NumPy and torch answer, for tests/lazy/ops/arrays.cpp to compare with.

    pip install numpy torch mpmath && python3 tests/golden/make_arrays.py

One case a line, fields separated by " | ", values as hexadecimal bit patterns of their dtype:

    NAME | in DTYPE SHAPE VALUES | ... | out DTYPE SHAPE VALUES | ...

SHAPE is like 2,3 ("-" for 0-d). NAME is a key of the table in arrays.cpp, which has the other arguments. NAME~N: floats
may differ by N units of the last place, relative to the value; NAME~~N: relative to the value or 1, whichever is larger.
"""
import os
import warnings

import mpmath
import numpy as np
import torch

warnings.simplefilter("ignore")
np.seterr(all="ignore")
OUT = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(20260101)
INF, NAN = np.inf, np.nan


def field(kind, a):
    a = np.ascontiguousarray(a) if np.ndim(a) else np.asarray(a)
    bits = a.view(np.uint8) if a.dtype == bool else a.view(f"u{a.dtype.itemsize}")
    shape = ",".join(map(str, a.shape)) if a.shape else "-"
    return " ".join([kind, a.dtype.name, shape] + [format(int(v), "x") for v in bits.ravel()])


class Lines(list):
    def add(self, name, f, *inputs):
        inputs = [np.asarray(i) for i in inputs]
        results = f(*inputs)
        if not isinstance(results, (tuple, list)):
            results = [results]
        fields = [field("in", i) for i in inputs] + [field("out", np.asarray(r)) for r in results]
        self.append(" | ".join([name] + fields))


def t(f):
    """Makes a function of torch's one of NumPy's arrays."""

    def g(*arrays):
        r = f(*[torch.from_numpy(np.array(a)) for a in arrays])
        return [v.numpy() for v in r] if isinstance(r, (tuple, list)) else r.numpy()

    return g


def mp(f):
    """Makes a function of mpmath's one of each element, rounded once."""

    def g(x):
        with mpmath.workdps(50):
            return np.array([float(f(mpmath.mpf(float(v)))) for v in x.ravel()]).astype(x.dtype).reshape(x.shape)

    return g


def ints(*shape, low=-9, high=10, dtype=np.int64):
    return rng.integers(low, high, shape).astype(dtype)


def floats(*shape, dtype=np.float32):
    return (rng.integers(-40, 41, shape) / 8).astype(dtype)


def bools(*shape):
    return rng.integers(0, 2, shape).astype(bool)


SPECIAL = np.array([NAN, INF, -INF, 0.0, -0.0, 1, -1, 2.5, -0.5, 1e30, -1e-30])


def rearranging():
    lines = Lines()
    for x in (ints(6), ints(6, 2), floats(6, 5), bools(6), ints(6, 0), SPECIAL[:6]):
        lines.add("split3", lambda a: np.split(a, 3), x)
        lines.add("split_at_2_5", lambda a: np.split(a, [2, 5]), x)
        lines.add("split_at_-2_9", lambda a: np.split(a, [-2, 9]), x)
        lines.add("split_at_4_2", lambda a: np.split(a, [4, 2]), x)
        lines.add("chunk4", t(lambda a: torch.chunk(a, 4)), x)
    for x in (ints(7), ints(1), ints(0), floats(7, 3)):
        lines.add("array_split3", lambda a: np.array_split(a, 3), x)
        lines.add("chunk4", t(lambda a: torch.chunk(a, 4)), x)
    for x in (ints(4, 6), floats(3, 6, 2)):
        lines.add("split2_axis1", lambda a: np.split(a, 2, 1), x)
        lines.add("unstack_axis1", lambda a: np.unstack(a, axis=1), x)
        lines.add("narrow_1_2_3", lambda a: a[:, 2:5], x)
    for xs in ((ints(3), ints(2)), (ints(2, 3), ints(2, 1)), (ints(), floats()), (floats(1), bools(2), ints(0))):
        lines.add("hstack", lambda *a: np.hstack(a), *[x.astype(np.float32) for x in xs])
    for xs in ((ints(3), ints(3)), (ints(2, 3), ints(3)), (ints(), ints()), (ints(0, 2), ints(5, 2))):
        lines.add("vstack", lambda *a: np.vstack(a), *xs)
    for xs in ((ints(3), ints(3)), (ints(2, 3), ints(2, 3)), (ints(), ints()), (ints(2, 3, 2), ints(2, 3))):
        lines.add("dstack", lambda *a: np.dstack(a), *xs)
    for xs in ((ints(3), ints(3)), (ints(3, 2), ints(3)), (ints(3, 2), ints(3, 4))):
        lines.add("column_stack", lambda *a: np.column_stack(a), *xs)
    for x in (ints(), ints(1), ints(0), ints(3), ints(2, 3), floats(2, 3, 2), bools(5), SPECIAL):
        lines.add("tile3", lambda a: np.tile(a, 3), x)
        lines.add("tile2_1_2", lambda a: np.tile(a, (2, 1, 2)), x)
        lines.add("tile0", lambda a: np.tile(a, 0), x)
        lines.add("repeat3", lambda a: np.repeat(a, 3), x)
        lines.add("roll2", lambda a: np.roll(a, 2), x)
        lines.add("roll-1", lambda a: np.roll(a, -1), x)
        lines.add("roll100000000001", lambda a: np.roll(a, 100000000001), x)
        lines.add("atleast_1d", np.atleast_1d, x)
        lines.add("atleast_2d", np.atleast_2d, x)
        lines.add("atleast_3d", np.atleast_3d, x)
    for x in (ints(2, 3), floats(1, 5, 2), ints(3, 0), ints(7, 1)):
        lines.add("repeat2_axis1", lambda a: np.repeat(a, 2, 1), x)
        lines.add("repeat0_axis0", lambda a: np.repeat(a, 0, 0), x)
        lines.add("roll_2_-1_axes_0_1", lambda a: np.roll(a, (2, -1), (0, 1)), x)
        lines.add("roll_1_axes_0_1", lambda a: np.roll(a, 1, (0, 1)), x)
        lines.add("roll_1_2_axes_0_0", lambda a: np.roll(a, (1, 2), (0, 0)), x)
        for k in range(-1, 4):
            lines.add(f"rot90_{k}", lambda a: np.rot90(a, k), x)
        lines.add("rot90_1_axes_1_0", lambda a: np.rot90(a, 1, (1, 0)), x)
        lines.add("flipud", np.flipud, x)
        lines.add("fliplr", np.fliplr, x)
    for x in (ints(2, 6), floats(3, 6, 2)):
        lines.add("unflatten_1_2_-1", t(lambda a: torch.unflatten(a, 1, (2, -1))), x)
    lines.add("expand_2_-1_-1", t(lambda a: a.expand(2, -1, -1)), ints(1, 3))
    for x in (ints(5), ints(1), floats(7), SPECIAL, ints(2)):
        for mode in ("edge", "reflect", "symmetric", "wrap"):
            lines.add(f"pad_{mode}_2_3", lambda a: np.pad(a, (2, 3), mode), x)
            lines.add(f"pad_{mode}_0_11", lambda a: np.pad(a, (0, 11), mode), x)
            lines.add(f"pad_{mode}_9_0", lambda a: np.pad(a, (9, 0), mode), x)
        lines.add("pad_constant_2_3", lambda a: np.pad(a, (2, 3), constant_values=7), x)
    for x in (ints(3, 4), floats(2, 3), ints(1, 1)):
        for mode in ("edge", "reflect", "symmetric", "wrap"):
            lines.add(f"pad2d_{mode}", lambda a: np.pad(a, ((1, 0), (2, 3)), mode), x)
        lines.add("pad2d_constant", lambda a: np.pad(a, ((1, 0), (2, 3))), x)
    lines.add("pad_constant_2_3", lambda a: np.pad(a, (2, 3), constant_values=7), ints(0))
    lines.add("pad_constant_2_3", lambda a: np.pad(a, (2, 3), constant_values=7), ints(2, 0, 3))
    for x in (ints(5), floats(4, 5), bools(6), ints(1), ints(0), SPECIAL, ints(3, 7, dtype=np.uint8, low=0)):
        lines.add("diff", np.diff, x)
        lines.add("diff2", lambda a: np.diff(a, 2), x)
    lines.add("diff_axis0", lambda a: np.diff(a, axis=0), ints(4, 3))
    return lines


def diagonals():
    lines = Lines()
    for x in (ints(3, 4), ints(5, 2), floats(3, 3), ints(1, 1), ints(0, 3), bools(2, 7)):
        for k in (0, 1, -1, 2, -4, 9):
            lines.add(f"diagonal_{k}", lambda a: np.diagonal(a, k), x)
            lines.add(f"diag_{k}", lambda a: np.diag(a, k), x)
            lines.add(f"trace_{k}", lambda a: np.trace(a, k), x)
    for x in (ints(2, 3, 4), floats(3, 1, 5)):
        lines.add("diagonal_1", lambda a: np.diagonal(a, 1), x)
        lines.add("diagonal_0_axes_2_0", lambda a: np.diagonal(a, 0, 2, 0), x)
        lines.add("diagonal_-1_axes_-1_1", lambda a: np.diagonal(a, -1, -1, 1), x)
        lines.add("trace_0_axes_2_0", lambda a: np.trace(a, 0, 2, 0), x)
    for x in (ints(3), ints(1), ints(0), floats(5), SPECIAL[:3], bools(4)):
        for k in (0, 2, -1):
            lines.add(f"diag_{k}", lambda a: np.diag(a, k), x)
            lines.add(f"diag_embed_{k}", t(lambda a: torch.diag_embed(a, k)), x)
    for x in (ints(2, 3), floats(2, 1, 3)):
        lines.add("diag_embed_1", t(lambda a: torch.diag_embed(a, 1)), x)
        lines.add("diag_embed_0_axes_0_1", t(lambda a: torch.diag_embed(a, 0, 0, 1)), x)
        lines.add("diag_embed_-2_axes_2_0", t(lambda a: torch.diag_embed(a, -2, 2, 0)), x)
    lines.add("tri_3_4_0", lambda: np.tri(3, 4))
    lines.add("tri_4_3_-1", lambda: np.tri(4, 3, -1))
    lines.add("tri_2_2_5", lambda: np.tri(2, 2, 5))
    lines.add("tri_0_2_0", lambda: np.tri(0, 2))
    for x in (ints(4), ints(1), ints(0), floats(3, dtype=np.float64), np.array([0.0, -0.5, INF])):
        lines.add("vander~4", np.vander, x)
        lines.add("vander3_increasing~4", lambda a: np.vander(a, 3, True), x)
        lines.add("vander0", lambda a: np.vander(a, 0), x)
    for a, b in ((ints(2, 3), ints(3, 2)), (ints(3), ints(2, 2)), (ints(2), ints(5)), (ints(), ints(3)),
                 (floats(1, 7), floats(2, 1)), (ints(0, 2), ints(3, 3)), (bools(3), bools(2)), (ints(2, 1, 2), ints(1, 3, 2))):
        lines.add("kron", np.kron, a, b)
    for a, b in ((ints(3), ints(3)), (ints(5, 3), ints(3)), (floats(2, 1, 3), floats(4, 3)), (ints(0, 3), ints(3))):
        lines.add("cross", np.cross, a, b)
    lines.add("cross_axis0", lambda a, b: np.cross(a, b, axis=0), ints(3, 4), ints(3, 4))
    for a, b in ((ints(3), ints(3)), (ints(2, 3), ints(5, 3)), (ints(2, 1, 3), ints(3)), (ints(), ints(4)), (ints(2, 0), ints(0))):
        lines.add("inner", np.inner, a, b)
    return lines


def statistics():
    lines = Lines()
    x = floats(3, 4, 5, dtype=np.float64)
    y = x.copy()
    y[0, 1, 2] = NAN
    y[1, :, 3] = NAN
    y[2, 2, 2] = INF
    z = y.copy()
    z[2, 2, 2] = NAN
    for v in (x, y, z, x.astype(np.float32), z.astype(np.float32), np.array([NAN, NAN]), np.array([-0.0]), floats(0, 3)):
        for name, f in (("nansum", np.nansum), ("nanprod", np.nanprod), ("nanmean", np.nanmean), ("nanvar", np.nanvar),
                        ("nanstd", np.nanstd), ("nanmax", np.nanmax), ("nanmin", np.nanmin), ("ptp", np.ptp)):
            if v.size == 0 and name in ("nanmax", "nanmin", "ptp"):
                continue
            lines.add(f"{name}~16", f, v)
            if v.ndim == 3:
                lines.add(f"{name}_axis1~16", lambda a: f(a, axis=1), v)
                lines.add(f"{name}_axes_0_2_keep~16", lambda a: f(a, axis=(0, 2), keepdims=True), v)
        lines.add("nanvar_c1~16", lambda a: np.nanvar(a, ddof=1), v)
        if v.ndim == 3:
            lines.add("nanstd_axis1_c1~16", lambda a: np.nanstd(a, axis=1, ddof=1), v)
    for v in (ints(3, 4), bools(5), ints(2, 3, dtype=np.uint8, low=0)):
        lines.add("nansum~16", np.nansum, v)
        lines.add("nanmax~16", np.nanmax, v)
    lines.add("ptp~16", np.ptp, ints(4, 3))
    w = np.abs(floats(3, 4, dtype=np.float64)) + 0.5
    lines.add("average~8", lambda a, b: np.average(a, weights=b), x[0, :3, :4], w)
    lines.add("average_axis1~8", lambda a, b: np.average(a, 1, b), x[0, :3, :4], w)
    lines.add("average_axis1~8", lambda a, b: np.average(a, 1, b), x[0, :3, :4], w[0])
    lines.add("average_axis0_keep~8", lambda a, b: np.average(a, 0, b, keepdims=True), x[0, :3, :4], w[:, 0])
    for v in (x, y, floats(1, 1, 1), floats(2, 7, 3)):
        for order in (0, 1, 2, 3, 0.5, INF, -INF, -1):
            if order != -1 or v is x:
                lines.add(f"vector_norm_{order}~16", lambda a: np.linalg.norm(a.ravel(), order), v)
            lines.add(f"vector_norm_{order}_axis1~16", lambda a: np.linalg.norm(a, order, 1), v)
    lines.add("vector_norm_2~16", lambda a: np.linalg.norm(a), floats(0))
    for v in (floats(3, 7, dtype=np.float64), floats(1, 5, dtype=np.float64), floats(6, dtype=np.float64), floats(4, 11)):
        lines.add("cov~~32", lambda a: np.cov(a).astype(a.dtype), v)
        lines.add("cov_0~~32", lambda a: np.cov(a, ddof=0).astype(a.dtype), v)
        lines.add("corrcoef~~16", lambda a: np.corrcoef(a).astype(a.dtype), v)
    for v in (x, floats(7), floats(1), floats(0)):
        lines.add("trapezoid_half~8", lambda a: np.trapezoid(a, dx=0.5), v)
    lines.add("trapezoid_points~16", np.trapezoid, x[0], np.cumsum(w.ravel())[:5])
    lines.add("trapezoid_points_axis0~16", lambda a, b: np.trapezoid(a, b, axis=0), x[0], np.cumsum(w, 0)[:1].T)  # (4, 1)
    a, b = SPECIAL[:, None] + np.zeros(11), np.zeros(11)[:, None] + SPECIAL
    lines.add("isclose", np.isclose, a, b)
    lines.add("isclose_nan", lambda p, q: np.isclose(p, q, equal_nan=True), a, b)
    lines.add("isclose_loose", lambda p, q: np.isclose(p, q, 0.5, 0.25), x[0], x[1])
    lines.add("allclose", np.allclose, x, x + 1e-9)
    lines.add("allclose", np.allclose, y, y)
    lines.add("allclose", np.allclose, floats(0), floats(0))
    for p, q in ((x, x), (x, y), (y, y), (x, x[0]), (ints(3), ints(3)), (ints(0), ints(0))):
        lines.add("array_equal", np.array_equal, p, q)
    lines.add("array_equal_nan", lambda p, q: np.array_equal(p, q, equal_nan=True), y, y)
    for v in (SPECIAL, SPECIAL.astype(np.float32), SPECIAL.astype(np.float16), ints(4), bools(3)):
        lines.add("nan_to_num", np.nan_to_num, v)
        lines.add("nan_to_num_1_2_-3", lambda a: np.nan_to_num(a, nan=1, posinf=2, neginf=-3), v)
    for n in (0, 1, 2, 3, 7, 13, 64, 65):
        v = ints(n, low=-3, high=4)
        lines.add("cumprod", np.cumprod, v)
        lines.add("cummax", np.maximum.accumulate, v)
        lines.add("cummin", np.minimum.accumulate, floats(n))
        lines.add("logcumsumexp~~8", np.logaddexp.accumulate, floats(n, dtype=np.float64))
    for v in (floats(3, 5, dtype=np.float64), y[0]):
        lines.add("cumprod_axis0~8", lambda a: np.cumprod(a, 0), v)
        lines.add("cumprod_axis1~8", lambda a: np.cumprod(a, 1), v)
        lines.add("cummax_axis1", lambda a: np.maximum.accumulate(a, 1), v)
    lines.add("logcumsumexp~~8", np.logaddexp.accumulate, np.array([-INF, -INF, 1.0, INF, 2.0]))
    lines.add("logcumsumexp~~8", np.logaddexp.accumulate, np.array([-1000.0, -1001.0, 700.0, NAN, 2.0]))
    lines.add("cumprod", np.cumprod, bools(5))
    lines.add("cumprod", np.cumprod, ints(4, dtype=np.uint8, low=0))
    return lines


def ordering():
    lines = Lines()
    distinct = rng.permutation(35).reshape(5, 7)
    for x in (distinct, distinct.astype(np.float32), distinct[:1], distinct[:, :3]):
        lines.add("topk3", t(lambda a: torch.topk(a, 3)), x)
        lines.add("topk2_smallest", t(lambda a: torch.topk(a, 2, largest=False)), x)
        lines.add("kthvalue2", t(lambda a: torch.kthvalue(a, 2)), x)
    lines.add("topk2_axis0", t(lambda a: torch.topk(a, 2, 0)), distinct)
    lines.add("topk0", t(lambda a: torch.topk(a, 0)), distinct)
    lines.add("kthvalue3_axis0_keep", t(lambda a: torch.kthvalue(a, 3, 0, keepdim=True)), distinct)
    bad = floats(4, 6, dtype=np.float64)
    bad[1, 2] = NAN
    far = bad.copy()
    far[0, :2] = INF
    far[2, 3] = -INF
    for x in (floats(5, 7, dtype=np.float64), bad, far, floats(1, 1), floats(3, 2, 4), floats(2, 5), ints(3, 4), bools(2, 5),
              SPECIAL[1:3].reshape(2, 1), np.array([[INF], [INF]])):
        if x.dtype == bool:
            x = x.astype(np.int64)
        lines.add("median~2", np.median, x)
        lines.add("median_axis1~2", lambda a: np.median(a, 1), x)
        lines.add("median_axes_0_1_keep~2", lambda a: np.median(a, (0, 1), keepdims=True), x)
        finite = x[np.isfinite(x)].reshape(-1) if x is far or not np.isfinite(x).all() else x
        if finite.size == 0:
            continue
        own = finite.dtype if finite.dtype == np.float32 else np.float64
        for q in (0, 0.25, 0.5, 0.99, 1):
            lines.add(f"quantile_{q}~~4", lambda a: np.quantile(a, q).astype(own), finite)
        lines.add("quantiles~~4", lambda a: np.quantile(a, [0, 0.3, 0.75]).astype(own), finite)
        lines.add("quantile_0.25~~4", lambda a: np.quantile(a, 0.25), bad)
    x = floats(4, 5, 3, dtype=np.float64)
    lines.add("quantiles_axis1_keep~~4", lambda a: np.quantile(a, [0.1, 0.6], 1, keepdims=True), x)
    lines.add("percentile_30~~4", lambda a: np.percentile(a, 30), x)
    lines.add("percentiles_axes_0_2~~4", lambda a: np.percentile(a, [10, 50], (0, 2)), x)
    return lines


def running():
    lines = Lines()
    for shape in ((1, 1), (2, 3), (5, 7), (1, 33), (33, 1), (3, 17), (0, 4)):
        for x in (floats(*shape), floats(*shape, dtype=np.float64), ints(*shape, low=-3, high=4), ints(*shape, dtype=np.uint8, low=0, high=3)):
            lines.add("cumsum_axis0", lambda a: np.cumsum(a, 0), x)
            lines.add("cumsum_axis1", lambda a: np.cumsum(a, 1), x)
            lines.add("cumprod_axis0", lambda a: np.cumprod(a, 0), x)
            lines.add("cumprod_axis1", lambda a: np.cumprod(a, 1), x)
            lines.add("cumulative_sum_initial_axis0", lambda a: np.cumulative_sum(a, axis=0, include_initial=True), x)
            lines.add("cumulative_prod_initial_axis1", lambda a: np.cumulative_prod(a, axis=1, include_initial=True), x)
            for axis in (0, 1):
                if x.size == 0:
                    continue  # torch takes no axis of 0 elements
                lines.add(f"running_max_axis{axis}", t(lambda a: torch.cummax(a, axis)), x)
                lines.add(f"running_min_axis{axis}", t(lambda a: torch.cummin(a, axis)), x)
    bad = floats(6, 5)
    bad[2, 1], bad[4, 1], bad[0, 3], bad[1, 3], bad[5, 0] = NAN, NAN, INF, -INF, NAN
    for x in (bad, bad.astype(np.float16), SPECIAL.reshape(-1, 1), SPECIAL.reshape(1, -1)):
        for axis in (0, 1):
            lines.add(f"running_max_axis{axis}", t(lambda a: torch.cummax(a, axis)), x)
            lines.add(f"running_min_axis{axis}", t(lambda a: torch.cummin(a, axis)), x)
    lines.add("cumulative_prod", np.cumulative_prod, ints(6, low=1, high=5))
    return lines


def selecting():
    lines = Lines()
    for x in (ints(3, 4), floats(5), bools(2, 7), ints(0, 3), ints(1), SPECIAL, np.zeros(4)):
        lines.add("nonzero", lambda a: np.nonzero(a), x)
        lines.add("argwhere", np.argwhere, x)
        lines.add("flatnonzero", np.flatnonzero, x)
        lines.add("unique", np.unique, x)
        lines.add("unique_counts", lambda a: list(np.unique(a, return_counts=True)), x)
        lines.add("unique_inverse", lambda a: list(np.unique(a, return_inverse=True)), x)
    lines.add("unique", np.unique, np.array([NAN, 1, NAN, -0.0, 1]))
    lines.add("unique_counts", lambda a: list(np.unique_counts(a)), np.array([NAN, 1, NAN, 2, 1]))
    lines.add("argwhere", np.argwhere, np.array(3))
    lines.add("masked_fill", t(lambda a, m: a.masked_fill(m, 7)), ints(3, 4), bools(3, 4))
    lines.add("masked_fill", t(lambda a, m: a.masked_fill(m, 7)), floats(2, 3, 4), bools(3, 1))
    lines.add("masked_select", t(torch.masked_select), ints(3, 4), bools(4))
    lines.add("masked_select", t(torch.masked_select), ints(3, 1), bools(3, 5))
    lines.add("index_select_axis1", t(lambda a, i: torch.index_select(a, 1, i)), floats(3, 5), np.array([4, 0, 0, 2]))
    lines.add("index_select_axis1", t(lambda a, i: torch.index_select(a, 1, i)), ints(3, 5, 2), ints(0))
    lines.add("gather_axis0", t(lambda a, i: torch.gather(a, 0, i)), ints(5, 3), ints(7, 2, low=0, high=5))
    lines.add("gather_axis1", t(lambda a, i: torch.gather(a, 1, i)), floats(2, 3, 4), ints(1, 6, 3, low=0, high=3))
    lines.add("gather_axis1", t(lambda a, i: torch.gather(a, 1, i)), floats(2, 3), ints(2, 0))
    for n in (0, 1, 2, 3, 7, 16, 17, 31, 32, 33, 100):
        s = np.sort(floats(n, dtype=np.float64))
        v = np.concatenate([s[:20], floats(9, dtype=np.float64), SPECIAL])
        lines.add("searchsorted", np.searchsorted, s, v)
        lines.add("searchsorted_right", lambda a, b: np.searchsorted(a, b, "right"), s, v)
        lines.add("digitize", np.digitize, v, s)
        lines.add("digitize_right", lambda a, b: np.digitize(a, b, True), v, s)
        lines.add("bucketize", t(torch.bucketize), v[v == v], s)
    for s in (np.array([1.0, NAN, NAN]), np.sort(np.concatenate([floats(20, dtype=np.float64), SPECIAL, [NAN]]))):
        lines.add("searchsorted", np.searchsorted, s, SPECIAL)
        lines.add("searchsorted_right", lambda a, b: np.searchsorted(a, b, "right"), s, SPECIAL)
    lines.add("searchsorted", np.searchsorted, np.arange(0, 90, 3), ints(4, 5, low=-5, high=99))
    lines.add("searchsorted", np.searchsorted, np.arange(5), ints(2, 0))
    for n in (1, 2, 5, 40):
        xp = np.sort(rng.permutation(400)[:n]).astype(np.float64) / 8
        fp = floats(n, dtype=np.float64)
        x = np.concatenate([xp, rng.uniform(-5, 55, 23), [INF, -INF] + [NAN] * (n > 1)])  # NumPy has no NaN of one point
        lines.add("interp~~16", np.interp, x, xp, fp)
    for x in (ints(20, low=0), ints(1, low=3), ints(0), ints(9, low=0, dtype=np.uint8)):
        lines.add("bincount", np.bincount, x.astype(np.int64) if x.dtype == np.uint8 else x)
        lines.add("bincount_12", lambda a: np.bincount(a, minlength=12), x)
        if x.size:  # NumPy counts nothing in int64
            lines.add("bincount_weights~4", np.bincount, x, floats(x.size, dtype=np.float64))
    for x in (floats(50, dtype=np.float64), floats(3, 7, dtype=np.float64), floats(1, dtype=np.float64), rng.normal(size=300),
              np.arange(24.0), np.zeros(0), np.linspace(0, 1, 101)):
        for bins in (1, 3, 10, 24):
            lines.add(f"histogram_{bins}~~4", lambda a: list(np.histogram(a, bins)), x)
            lines.add(f"histogram_{bins}_-1_2~~4", lambda a: list(np.histogram(a, bins, (-1, 2))), x)
    lines.add("histogram_3_-1_2~~4", lambda a: list(np.histogram(a, 3, (-1, 2))), SPECIAL)
    lines.add("histogram_3_2_2~~4", lambda a: list(np.histogram(a, 3, (2, 2))), floats(9, dtype=np.float64))
    return lines


def special():
    lines = Lines()
    for dtype, name in ((np.float64, "64"), (np.float32, "32")):
        v = SPECIAL.astype(dtype)
        plain = np.concatenate([v, rng.uniform(-4, 4, 29).astype(dtype), rng.normal(size=20).astype(dtype) * 30])
        share = np.concatenate([v, rng.uniform(0, 1, 29).astype(dtype), np.array([1e-10, 0.5, 0.4999, 0.75], dtype)])
        lines.add("exp2~4", np.exp2, plain)
        lines.add("cbrt~2", np.cbrt, plain)
        lines.add("sinc~~4", np.sinc, plain[np.abs(plain) < 100])
        lines.add("deg2rad~2", np.deg2rad, plain)
        lines.add("rad2deg~2", np.rad2deg, plain)
        a, b = plain[:, None] + np.zeros(11, dtype), np.zeros(len(plain), dtype)[:, None] + v
        # Which sign xlogy(+-0, y) has differs between libraries: no zeros of x but those whose product is 0 anyway.
        lines.add("xlogy~4", t(torch.xlogy), a, b)
        lines.add("xlog1py~4", t(torch.special.xlog1py), a, b)
        lines.add("logaddexp2~~4", np.logaddexp2, a, b)
        lines.add("logit~8", mp(lambda x: mpmath.log(x / (1 - x))), share[(share > 0) & (share < 1)])
        lines.add("logit~8", t(torch.logit), v)
        lines.add("heaviside", np.heaviside, a, b)
        lines.add("fmod", np.fmod, a, b)
        lines.add("fmax", np.fmax, plain[:, None] + np.ones(3, dtype), np.array([NAN, 1, 3], dtype))
        lines.add("fmin", np.fmin, plain[:, None] + np.ones(3, dtype), np.array([NAN, 1, 3], dtype))
        lines.add("lerp~~4", t(torch.lerp), plain[11:], plain[:-11], np.resize(share[11:], len(plain) - 11))
        inner = np.concatenate([rng.uniform(-1, 1, 60), [0.999, -0.99999, 1e-8, -0.1, 0.1, 0.5, -0.5]]).astype(dtype)
        lines.add("erfinv~8", mp(mpmath.erfinv), inner)
        lines.add("erfinv~4", t(torch.erfinv), v)
        gamma = np.concatenate([rng.uniform(0.01, 20, 40), rng.uniform(20, 1000, 9), rng.uniform(-9, 0, 20)]).astype(dtype)
        tolerance = 32 if dtype == np.float64 else 1
        lines.add(f"lgamma~~{tolerance}", mp(lambda x: mpmath.log(abs(mpmath.gamma(x)))), gamma)
        lines.add(f"digamma~~{2 * tolerance}", mp(mpmath.digamma), gamma[np.abs(gamma - np.round(gamma)) > 0.02])
        lines.add("lgamma", t(torch.lgamma), np.array([NAN, INF, -INF, 0, -0.0, -1, -7], dtype))
        lines.add("digamma", t(torch.digamma), np.array([NAN, INF, 0, -0.0, -1, -7], dtype))
        bessel = np.concatenate([rng.uniform(-25, 25, 40), [20, 20.001, 0.0, 80, -3]]).astype(dtype)
        lines.add(f"i0~{8 if dtype == np.float64 else 1}", mp(lambda x: mpmath.besseli(0, x)), bessel)
        lines.add("i0", lambda a: np.abs(a), np.array([NAN, INF, -INF], dtype))
        lines.add("addcmul_half~~4", t(lambda x, p, q: torch.addcmul(x, p, q, value=0.5)), plain[11:], plain[11:][::-1].copy(),
                  np.resize(share[11:], len(plain) - 11))
        lines.add("addcdiv_half~~4", t(lambda x, p, q: torch.addcdiv(x, p, q, value=0.5)), plain[11:], plain[11:][::-1].copy(),
                  np.resize(share[11:], len(plain) - 11))
    for dtype in (np.int8, np.int64, np.uint8):
        i = np.iinfo(dtype)
        v = np.array([i.min, i.min + 1, 0, 1, 2, 5, 100, i.max - 1, i.max] + ([-1, -3, -100] if i.min else []), dtype)
        w = v[(v != 0)]
        lines.add("fmod", np.fmod, v[:, None] + np.zeros(len(w), dtype), np.zeros(len(v), dtype)[:, None] + w)
        lines.add("fmax", np.fmax, v, v[::-1].copy())
    return lines


def exponential(x):
    """Returns the matrix exponential of each matrix, rounded once."""
    with mpmath.workdps(60):
        flat = [np.array(mpmath.expm(mpmath.matrix(m.tolist())).tolist(), dtype=float) for m in x.reshape(-1, *x.shape[-2:])]
    return np.array(flat).astype(x.dtype).reshape(x.shape)


def precise(f):
    """Computes in float64 and rounds once."""
    return lambda *a: [np.asarray(r).astype(a[0].dtype if np.asarray(r).dtype.kind == "f" else np.asarray(r).dtype)
                       for r in (lambda v: v if isinstance(v, (tuple, list)) else [v])(f(*[v.astype(np.float64) for v in a]))]


def linear():
    own = np.random.default_rng(20260202)
    lines = Lines()
    la = np.linalg

    def lstsq(a, b):
        x, _, rank, s = la.lstsq(a, b, rcond=None)
        return [x, np.int64(rank), s]

    for dtype in (np.float32, np.float64):
        batch = [own.standard_normal(s).astype(dtype) for s in ((1, 1), (2, 2), (5, 5), (3, 7, 7), (2, 1, 11, 11), (0, 3, 3))]
        for x in batch:
            n = x.shape[-1]
            well = (x + 2 * n * np.eye(n)).astype(dtype)
            b = own.standard_normal(x.shape[:-1] + (3,)).astype(dtype)
            lines.add("solve~~64", precise(la.solve), well, b)
            lines.add("inv~~64", precise(la.inv), well)
            lines.add("det~256", precise(la.det), well)
            lines.add("slogdet~~256", precise(lambda a: list(la.slogdet(a))), x)
            lines.add("matrix_exp~~512", exponential, x / n)
            lines.add("matrix_power_5~~4096", precise(lambda a: la.matrix_power(a, 5)), x / n)
            lines.add("matrix_power_-2~~256", precise(lambda a: la.matrix_power(a, -2)), well)
            symmetric = (x + x.swapaxes(-1, -2)).astype(dtype)
            lines.add("eigvalsh~~256", precise(la.eigvalsh), symmetric)
            lines.add("cholesky~~64", precise(la.cholesky), (symmetric + 4 * n * np.eye(n)).astype(dtype))
            for order in ("fro", "nuc", 1, -1, 2, -2, INF, -INF):
                if x.size:
                    lines.add(f"matrix_norm_{order}~~256", precise(lambda a: la.norm(a, order, axis=(-2, -1))), x)
                    lines.add(f"cond_{order}~256", precise(lambda a: la.cond(a, order)), well)
        for shape in ((1, 4), (4, 1), (6, 3), (3, 6), (2, 11, 7), (0, 2, 3)):
            x = own.standard_normal(shape).astype(dtype)
            lines.add("svdvals~~256", precise(lambda a: la.svd(a, compute_uv=False)), x)
            lines.add("qr~~1024", precise(lambda a: list(la.qr(a))), x)
            lines.add("pinv~~2048", precise(la.pinv), x)
            lines.add("matrix_rank", lambda a: la.matrix_rank(a).astype(np.int64), x)
            if x.ndim == 2:
                lines.add("lstsq~~2048", precise(lstsq), x, own.standard_normal((shape[0], 2)).astype(dtype))
                lines.add("lstsq~~2048", precise(lstsq), x, own.standard_normal(shape[0]).astype(dtype))
        tall = own.standard_normal((4, 6, 24)).astype(dtype) / 5
        lines.add("tensorsolve~~65536", precise(la.tensorsolve), tall, own.standard_normal((4, 6)).astype(dtype))
        lines.add("tensorinv~~65536", precise(la.tensorinv), tall)
        chain = [own.standard_normal(s).astype(dtype) for s in ((5, 30), (30, 4), (4, 11), (11, 6))]
        lines.add("multi_dot~~2048", precise(lambda *a: la.multi_dot(a)), *chain)
        # Ill-conditioned: what is unique is still found to the precision that the condition number leaves.
        i = np.arange(1, 6)
        hilbert = (1 / (i[:, None] + i - 1)).astype(dtype)
        lines.add("svdvals~~16", precise(lambda a: la.svd(a, compute_uv=False)), hilbert)
        lines.add("matrix_rank", lambda a: la.matrix_rank(a).astype(np.int64), hilbert)
        if dtype == np.float64:
            lines.add("det~100000", la.det, hilbert)
            lines.add("inv~1000000", la.inv, hilbert)
    whole = own.integers(-5, 6, (4, 4))
    lines.add("det~64", la.det, whole)
    lines.add("inv~~4096", la.inv, whole)
    lines.add("matrix_power_5", lambda a: la.matrix_power(a, 5), whole)
    return lines


if __name__ == "__main__":
    for f in (rearranging, diagonals, statistics, ordering, selecting, special, running, linear):
        with open(os.path.join(OUT, f"arrays_{f.__name__}.txt"), "w") as out:
            out.write("\n".join(f()) + "\n")
