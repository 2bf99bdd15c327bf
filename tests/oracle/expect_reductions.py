"""What reductions, running reductions, sorting and order should give."""
import numpy as np

from spec import Skip, meant, op
from values import ALL, DT, FLOATS, INTS, UNSIGNED, Out, float_type, is_float, promote, rounded, work

ld = np.longdouble


def normal(axes, rank):
    """Returns distinct axes as NumPy takes them; all where none is named. Throws for wrong ones."""
    if not axes:
        meant("empty axes")
        return tuple(range(rank))
    r = [np.lib.array_utils.normalize_axis_index(a, rank) for a in axes]
    if len(set(r)) < len(r):
        raise ValueError("twice")
    return tuple(r)


def total_type(t):
    meant("reduction dtypes")
    return t if is_float(t) else "uint64" if t in UNSIGNED else "int64"


def count(shape, axes):
    return int(np.prod([shape[a] for a in axes], dtype=np.int64))


def reduced(d, t, kind, errors=0.03):
    x = d.tensor(t, d.shape(), kind)
    axes, keep = d.axes(x.a.ndim, errors), d.chance(0.4)
    try:
        return x, axes, keep, normal(axes, x.a.ndim)
    except ValueError:
        return x, axes, keep, None


def scale_of(a):
    a = np.abs(a[np.isfinite(a)])
    return float(np.max(a, initial=0))


def absolute_sum(w, axes):
    return scale_of(np.sum(np.abs(np.where(np.isfinite(w), w, 0)), axis=axes))


@op("sum", "prod", "nansum", "nanprod")
def sums(d, name):
    t = d.one(ALL)
    product = "prod" in name
    x, axes, keep, a = reduced(d, t, "near" if product else "mild")
    u = d.one(FLOATS if is_float(t) else INTS + ["float32"]) if d.chance(0.2) else None
    arguments = [x, axes, keep, DT(u) if u else None]
    if a is None:
        return arguments, "error"
    r = u or total_type(t)
    f = {"sum": np.sum, "prod": np.prod, "nansum": np.nansum, "nanprod": np.nanprod}[name]
    if not is_float(r):
        return arguments, [Out(r, f(x.a.astype(r), axis=a, keepdims=keep))]
    w = rounded(x.a, r).astype(ld)
    scale = 0 if product else absolute_sum(w, a)
    ulps = max(6, count(x.a.shape, a)) if product else 6
    return arguments, [Out(r, f(w, axis=a, keepdims=keep), 2 if r in ("float16", "bfloat16") else ulps, scale, True)]


@op("mean", "nanmean")
def mean(d, name):
    t = d.one(ALL)
    x, axes, keep, a = reduced(d, t, "mild")
    if a is None:
        return [x, axes, keep], "error"
    r = float_type(t)
    w = rounded(x.a, r).astype(ld)
    f = np.mean if name == "mean" else np.nanmean
    return [x, axes, keep], [Out(r, f(w, axis=a, keepdims=keep), 6, absolute_sum(w, a) / max(1, count(w.shape, a)), True)]


@op("var", "stdev", "std", "nanvar", "nanstd")
def spread(d, name):
    t = d.one(FLOATS + ["int32", "bool"])
    x, axes, keep, a = reduced(d, t, "mild" if "nan" in name else "plain")
    c = d.one([0.0, 1.0])
    meant("variance")
    if a is None:
        return [x, axes, keep, c], "error"
    r = float_type(t)
    w = rounded(x.a, r).astype(ld)
    if "nan" in name:
        y = np.nanvar(w, axis=a, keepdims=keep, ddof=int(c))
    else:
        n = max(0, count(w.shape, a) - c)
        m = np.mean(w, axis=a, keepdims=True)
        with np.errstate(all="ignore"):
            y = np.sum((w - m) ** 2, axis=a, keepdims=keep) / ld(n)
    scale = scale_of(w) ** 2 / 8
    if "std" in name:
        y = np.sqrt(y)
        scale = scale_of(w) / 2
    return [x, axes, keep, c], [Out(r, y, 8, scale, True)]


@op("max", "min", "nanmax", "nanmin", "ptp")
def extremes(d, name):
    t = d.one(ALL)
    x, axes, keep, a = reduced(d, t, "any")
    if a is None or (name == "ptp" and t == "bool") or any(x.a.shape[i] == 0 for i in a):
        return [x, axes, keep], "error"
    if name == "ptp":
        w = work(x.a, t)
        return [x, axes, keep], [Out(t, np.max(w, axis=a, keepdims=keep) - np.min(w, axis=a, keepdims=keep), zero=True)]
    f = {"max": np.max, "min": np.min, "nanmax": np.nanmax, "nanmin": np.nanmin}[name]
    return [x, axes, keep], [Out(t, f(x.a, axis=a, keepdims=keep), zero=True)]


@op("max/two", "min/two")
def two(d, name):
    t = d.one([t for t in ALL if t != "bool"])
    s = d.shape()
    a, b = d.tensor(t, s), d.tensor(t, d.broadcasts_to(s))
    return [a, b], [Out(t, (np.maximum if name == "max/two" else np.minimum)(a.a, b.a), zero=True)]


@op("any", "all", "count_nonzero")
def truth(d, name):
    t = d.one(ALL)
    x, axes, keep, a = reduced(d, t, "any")
    if a is None:
        return [x, axes, keep], "error"
    y = {"any": np.any, "all": np.all, "count_nonzero": np.count_nonzero}[name](x.a != 0, axis=a, keepdims=keep)
    return [x, axes, keep], [Out("int64" if name == "count_nonzero" else "bool", y)]


@op("argmax", "argmin")
def arg_extreme(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape(), d.one(["any", "mild"]))
    axis = None if d.chance(0.3) else d.axis(x.a.ndim)
    keep = d.chance(0.4)
    arguments = [x, None if axis is None else [axis], keep]
    f = np.argmax if name == "argmax" else np.argmin
    try:
        if axis is not None:
            n = x.a.shape[np.lib.array_utils.normalize_axis_index(axis, x.a.ndim)]
        else:
            n = x.a.size
        if n == 0:
            return arguments, "error"
        return arguments, [Out("int64", f(x.a, axis=axis, keepdims=keep))]
    except ValueError:
        return arguments, "error"


@op("max_with_indices", "min_with_indices")
def extreme_and_place(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape(), d.one(["any", "mild"]))
    axis = d.axis(x.a.ndim)
    keep = d.chance(0.4)
    if not -x.a.ndim <= axis < x.a.ndim or x.a.shape[axis] == 0:
        return [x, axis, keep], "error"
    best, place = (np.max, np.argmax) if name == "max_with_indices" else (np.min, np.argmin)
    return [x, axis, keep], [
        Out(t, best(x.a, axis=axis, keepdims=keep), zero=True),
        Out("int64", place(x.a, axis=axis, keepdims=keep)),
    ]


@op("logsumexp")
def logsumexp(d, name):
    t = d.one(FLOATS + ["int8", "bool"])
    x, axes, keep, a = reduced(d, t, d.one(["mild", "plain"]))
    if a is None:
        return [x, axes, keep], "error"
    r = float_type(t)
    w = rounded(x.a, r).astype(ld)
    m = np.max(w, axis=a, keepdims=True, initial=-np.inf)
    m = np.where(np.isfinite(m), m, 0)
    y = np.log(np.sum(np.exp(w - m), axis=a, keepdims=True)) + m
    y = y if keep else y.reshape([n for i, n in enumerate(w.shape) if i not in a])
    return [x, axes, keep], [Out(r, y, 6, max(1, scale_of(m)), True)]


@op("vector_norm", "norm")
def vector_norm(d, name):
    t = d.one(FLOATS + ["int16"])
    x, axes, keep, a = reduced(d, t, d.one(["mild", "plain"]))
    p = d.one([2.0, 1.0, 0.0, 3.0, np.inf, -np.inf, 0.5])
    if a is None or (np.isinf(p) and any(x.a.shape[i] == 0 for i in a)):
        return [x, p, axes, keep], "error"
    r = float_type(t)
    w = np.abs(rounded(x.a, r).astype(ld))
    if p == 0:
        y = np.sum(w != 0, axis=a, keepdims=keep)
    elif np.isinf(p):
        y = (np.max if p > 0 else np.min)(w, axis=a, keepdims=keep)
    else:
        y = np.sum(w ** ld(p), axis=a, keepdims=keep) ** (1 / ld(p))
    return [x, p, axes, keep], [Out(r, y, 12, 0, True)]


@op("cumsum", "cumulative_sum", "cumulative_prod", "cumprod", "cummax", "cummin", "logcumsumexp")
def running(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape(), {"cumprod": "near", "cumulative_prod": "near", "logcumsumexp": "plain", "cummax": "any", "cummin": "any"}.get(name, "plain"))
    axis = None if d.chance(0.2) else d.axis(x.a.ndim)
    arguments = [x, None if axis is None else [axis]]
    first = "cumulative" in name and d.chance(0.3)
    if first:
        arguments += [None, True]
    if axis is None and "cumulative" in name and x.a.ndim != 1:
        return arguments, "error"
    a = x.a.ravel() if axis is None else x.a
    if axis is not None and not -a.ndim <= axis < a.ndim:
        return arguments, "error"
    axis = 0 if axis is None else axis
    if name in ("cummax", "cummin"):
        values, at = running_extreme(a, axis, name == "cummax")
        return arguments, [Out(t, values, zero=True), Out("int64", at)]
    meant("running order")
    if name == "logcumsumexp":
        r = float_type(t)
        w = rounded(a, r).astype(ld)
        return arguments, [Out(r, np.logaddexp.accumulate(w, axis=axis) if a.size else w, 24, max(1.0, scale_of(w)), True)]
    r = total_type(t)
    product = name in ("cumprod", "cumulative_prod")
    f = np.cumprod if product else np.cumsum
    if first:
        start = list(a.shape)
        start[axis] = 1
        a = np.concatenate([np.full(start, product, a.dtype), a], axis)
    if not is_float(r):
        return arguments, [Out(r, f(a.astype(r), axis=axis))]
    if product:
        return arguments, [Out(r, f(a.astype(ld), axis=axis), max(4, a.shape[axis]))]
    return arguments, [Out(r, f(work(a, r), axis=axis))]


def running_extreme(a, axis, largest):
    """Returns the extremes so far, and the position of the last element that equals them."""
    f = np.maximum if largest else np.minimum
    values = f.accumulate(a, axis=axis) if a.size else a
    same = (a == values) | ((a != a) & (values != values))
    shape = [1] * a.ndim
    shape[axis] = -1
    steps = np.where(same, np.arange(a.shape[axis]).reshape(shape), 0)
    return values, np.maximum.accumulate(steps, axis=axis) if a.size else steps


def order(a, axis, down):
    """Returns the positions that sort a tensor: NaN last, equal elements as they were."""
    meant("nan order")
    key = a if not down else -a if a.dtype.kind == "f" else ~a
    return np.argsort(key, axis=axis, kind="stable")


@op("sort", "argsort", "topk", "kthvalue")
def sorting(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape(), d.one(["any", "mild"]))
    axis = d.axis(x.a.ndim)
    wrong = not -x.a.ndim <= axis < x.a.ndim
    if name in ("sort", "argsort"):
        down = d.chance(0.4)
        if wrong:
            return [x, axis, down], "error"
        i = order(x.a, axis, down)
        out = [Out(t, np.take_along_axis(x.a, i, axis))] if name == "sort" else []
        return [x, axis, down], out + [Out("int64", i)]
    n = 0 if wrong else x.a.shape[axis]
    k = d.int(0, n + 1) if d.chance(0.1) else d.int(min(n, 1), n)
    if name == "kthvalue":
        keep = d.chance(0.4)
        if wrong or not 1 <= k <= n:
            return [x, k, axis, keep], "error"
        i = np.take(order(x.a, axis, False), [k - 1], axis)
        v = np.take_along_axis(x.a, i, axis)
        return [x, k, axis, keep], [Out(t, v if keep else v.squeeze(axis)), Out("int64", i if keep else i.squeeze(axis))]
    largest = d.chance(0.6)
    if wrong or k > n:
        return [x, k, axis, largest], "error"
    i = np.take(order(x.a, axis, largest), range(k), axis)
    return [x, k, axis, largest], [Out(t, np.take_along_axis(x.a, i, axis)), Out("int64", i)]


@op("median", "quantile", "percentile")
def quantile(d, name):
    t = d.one(ALL)
    x, axes, keep, a = reduced(d, t, "plain" if d.chance(0.8) else "mild")
    q = 0.5
    if name != "median":
        q = d.one([0.0, 1.0, 0.25, 0.3, 0.99, -0.1])
        if d.chance(0.3):
            q = [d.one([0.0, 0.5, 0.7]) for _ in range(d.int(1, 3))]
    if name == "percentile":
        q = [100 * v for v in q] if isinstance(q, list) else 100 * q
    arguments = [x, axes, keep] if name == "median" else [x, q, axes, keep]
    if a is None or count(x.a.shape, a) == 0 or (isinstance(q, float) and q < 0):
        return arguments, "error"
    if x.a.size == 0:
        raise Skip
    r = float_type(t)
    w = rounded(x.a, r).astype(np.float64)
    share = np.asarray(q) / (100 if name == "percentile" else 1)
    y = np.median(w, axis=a, keepdims=keep) if name == "median" else np.quantile(w, share, axis=a, keepdims=keep)
    if np.isinf(w).any():
        w = np.where(np.isinf(w), 1, w)
        x.a, x.written = rounded(w, t) if is_float(t) else x.a, None
        y = np.median(w, axis=a, keepdims=keep) if name == "median" else np.quantile(w, share, axis=a, keepdims=keep)
    ulps = {"float64": 16, "float32": 8}.get(r, 2)
    return arguments, [Out(r, y, ulps, scale_of(w), True)]


@op("average")
def average(d, name):
    t = d.one(FLOATS + ["int8"])
    s = d.shape(low=1)
    x = d.tensor(t, s, "plain")
    if d.chance(0.5):
        axis = d.axis(len(s), 0)
        w, axes, arguments = d.tensor("float32", (s[axis],), "positive"), axis, [axis]
    else:
        w, axes, arguments = d.tensor("float32", s, "positive"), None, None
    r = float_type(promote(t, "float32"))
    a, b = x.a.astype(ld), w.a.astype(ld)
    if b.ndim == 1 and axes is not None:
        b = b.reshape([-1 if i == axes % len(s) else 1 for i in range(len(s))])
    where = tuple(range(len(s))) if axes is None else axes
    whole = np.broadcast_to(b, s)
    y = np.sum(a * b, axis=where) / np.sum(whole, axis=where)
    return [x, w, arguments], [Out(r, y, 12, scale_of(a), True)]


@op("cov", "corrcoef")
def cov(d, name):
    t = d.one(["float32", "float64", "int32"])
    s = (d.int(1, 9), d.int(2, 20)) if d.chance(0.7) else (d.int(2, 40),)
    x = d.tensor(t, s, "plain", views=False)  # of equal elements a correlation is 0 / 0
    r = float_type(t)
    w = x.a.astype(np.float64)
    if name == "corrcoef":
        y = np.corrcoef(w)
        return [x], [Out(r, y, 64, 1, True)]
    c = d.one([1.0, 0.0])
    return [x, c], [Out(r, np.cov(w, ddof=int(c)), 32, scale_of(w) ** 2, True)]


@op("trapezoid", "trapezoid/points")
def trapezoid(d, name):
    t = d.one(FLOATS)
    s = d.shape(low=1)
    y, axis = d.tensor(t, s, "plain"), d.axis(len(s))
    wrong = not -len(s) <= axis < len(s)
    if name == "trapezoid":
        dx = d.one([1.0, 0.5])
        if wrong:
            return [y, dx, axis], "error"
        w = y.a.astype(np.float64)
        return [y, dx, axis], [Out(t, np.trapezoid(w, dx=dx, axis=axis), 8, np.sum(np.abs(w)), True)]
    n = 3 if wrong else s[axis]
    x = d.tensor(t, (n,), "plain")
    if wrong:
        return [y, x, axis], "error"
    w, p = y.a.astype(np.float64), x.a.astype(np.float64)
    return [y, x, axis], [Out(t, np.trapezoid(w, p, axis=axis), 8, np.sum(np.abs(w)) * max(1, scale_of(p)), True)]


@op("isclose", "allclose", "array_equal")
def close(d, name):
    t = d.one(FLOATS + ["int32"])
    s = d.shape()
    kind = d.one(["any", "mild"])
    a = d.tensor(t, s, kind)
    near = np.where(d.rng.random(s) < 0.5, a.a, a.a * (1 + 1e-3)) if is_float(t) else a.a
    b = d.of(t, rounded(near, t)) if d.chance(0.7) else d.tensor(t, s, kind)
    nan = d.chance(0.5)
    if name == "array_equal":
        return [a, b, nan], [Out("bool", np.array_equal(a.a, b.a, equal_nan=nan))]
    relative, absolute = d.one([(1e-5, 1e-8), (0.01, 0.0), (0.0, 0.5), (0.0, 0.0)])
    meant("promotion")
    x, y = (rounded(v.a, float_type(t)).astype(np.float64) for v in (a, b))
    edge = np.abs(np.abs(x - y) - (absolute + relative * np.abs(y))) < 1e-4 * np.maximum(np.abs(y), 1)
    if relative and (edge & np.isfinite(x) & np.isfinite(y) & (x != y)).any():
        relative, absolute = 0.0, 0.0
    y = np.isclose(x, y, relative, absolute, nan)
    return [a, b, relative, absolute, nan], [Out("bool", y if name == "isclose" else y.all())]


@op("nan_to_num")
def nan_to_num(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape())
    high, low = d.one([None, 5.0]), d.one([None, -7.0])
    if not is_float(t):
        return [x, 0.0, high, low], [Out(t, x.a)]
    from values import LARGEST
    y = np.where(np.isnan(x.a), 2, x.a)
    y = np.where(np.isposinf(y), LARGEST[t] if high is None else high, y)
    y = np.where(np.isneginf(y), -LARGEST[t] if low is None else low, y)
    return [x, 2.0, high, low], [Out(t, y)]
