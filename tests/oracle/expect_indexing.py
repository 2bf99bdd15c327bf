"""What reading, writing, finding and searching at computed places should give."""
import numpy as np
import torch

from spec import Skip, meant, op
from values import ALL, FLOATS, INTS, SIGNED, Out, Xs, is_float, rounded, work


def index(d, shape, n, wrong=0.04):
    """Draws an index into n elements, negative ones among them; says whether one is out of range."""
    t = d.one(INTS)
    low = -n if t in SIGNED else 0
    if n == 0:
        a = np.zeros(shape, t)
    else:
        a = d.rng.integers(low, n, shape).astype(t)
    bad = n == 0 and a.size > 0
    if a.size and d.chance(wrong):
        a.reshape(-1)[d.int(0, a.size - 1)] = n
        bad = True
    return d.of(t, a), a.astype(np.int64), bad


@op("take", "index_select", "take_or")
def take(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape(low=1, high=3, largest=300))
    axis = d.int(-x.a.ndim, x.a.ndim - 1)
    n = x.a.shape[axis]
    i, at, bad = index(d, (d.int(0, 6),) if name == "index_select" else d.shape(high=2, largest=20), n)
    arguments = [x, axis, i] if name == "index_select" else [x, i, axis]
    if n == 0:
        raise Skip
    if name == "take_or":
        v = True if t == "bool" else 1
        inside = (at >= 0) & (at < n)
        y = np.take(x.a, np.where(inside, at, 0), axis)
        k = axis % x.a.ndim
        where = inside.reshape((1,) * k + at.shape + (1,) * (x.a.ndim - 1 - k))
        return arguments + [v], [Out(t, np.where(where, y, np.asarray(v).astype(y.dtype)))]
    if bad and x.a.size == 0:
        meant("unread indices")
        raise Skip
    return arguments, "error" if bad else [Out(t, np.take(x.a, at, axis))]


@op("take_along_axis", "gather")
def along(d, name):
    t = d.one(ALL)
    s = d.shape(low=1, high=3, largest=300, empty=0)
    x = d.tensor(t, s)
    axis = d.int(-len(s), len(s) - 1)
    shape = list(s)
    shape[axis] = d.int(0, 6)
    if name == "gather":
        shape = [n if i == axis % len(s) else d.int(1, n) for i, n in enumerate(shape)]
    i, at, bad = index(d, tuple(shape), s[axis])
    if name == "take_along_axis":
        return [x, i, axis], "error" if bad else [Out(t, np.take_along_axis(x.a, at, axis))]
    if bad:
        return [x, axis, i], "error"
    at = np.where(at < 0, at + s[axis], at)
    return [x, axis, i], [Out(t, torch.gather(torch.from_numpy(x.a.copy()), axis, torch.from_numpy(at)).numpy())]


COMBINE = {"set": lambda a, b: b, "add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}


def written(x, at, values, axis, how, t):
    """Writes in ascending order of the position along the axis; each update is rounded."""
    y = np.moveaxis(x.copy(), axis, 0)
    at, values = np.moveaxis(at, axis, 0), np.moveaxis(values, axis, 0)
    rest = np.indices(y.shape[1:])
    for k in range(at.shape[0]):
        where = (at[k], *rest)
        y[where] = rounded(COMBINE[how](work(y[where], t), work(values[k], t)), t)
    return np.moveaxis(y, 0, axis)


@op("put_along_axis", "scatter", "scatter_add", "index_add")
def write(d, name):
    how = "add" if name in ("scatter_add", "index_add") else d.one(list(COMBINE))
    t = d.one(ALL if how == "set" else INTS + FLOATS)
    s = d.shape(low=1, high=3, largest=200, empty=0)
    axis = d.int(-len(s), len(s) - 1)
    shape = list(s)
    shape[axis] = d.int(0, 7)
    x = d.tensor(t, s, "plain")
    one = name == "index_add"
    i, at, bad = index(d, (shape[axis],) if one else tuple(shape), s[axis])
    v = d.tensor(t, tuple(shape), "plain")
    arguments = {"put_along_axis": [x, i, v, axis, how], "scatter": [x, axis, i, v, how]}.get(name, [x, axis, i, v])
    if bad:
        return arguments, "error"
    at = np.where(at < 0, at + s[axis], at)
    if one:
        k = axis % len(s)
        at = np.broadcast_to(at.reshape((1,) * k + (-1,) + (1,) * (len(s) - 1 - k)), shape)
    return arguments, [Out(t, written(x.a, at, v.a, axis, how, t), zero=how in ("min", "max"))]


@op("masked_fill", "masked_select")
def masked(d, name):
    t = d.one(ALL)
    s = d.shape()
    x = d.tensor(t, s)
    m = d.tensor("bool", s if name == "masked_select" else d.broadcasts_to(s))
    if name == "masked_select":
        return [x, m], [Out(t, x.a[m.a])]
    v = d.tensor(t, ())
    return [x, m, v], [Out(t, np.where(m.a, v.a, x.a))]


@op("nonzero", "argwhere", "flatnonzero")
def nonzero(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape(), d.one(["any", "plain"]))
    if name == "nonzero":
        return [x], "error" if x.a.ndim == 0 else [Out("int64", a) for a in np.nonzero(x.a)]
    return [x], [Out("int64", getattr(np, name)(x.a))]


@op("unique", "unique_values", "unique_counts", "unique_inverse", "unique_all")
def unique(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape(), d.one(["mild", "plain"]))
    if is_float(t):  # of -0 and 0 either may stay
        x = d.of(t, np.round(x.a) + np.zeros((), holder_of(x)))
    v, first, inverse, counts = np.unique(x.a, True, True, True, equal_nan=name == "unique")
    inverse = inverse.reshape(x.a.shape)
    more = {"unique": [], "unique_values": [], "unique_all": [Out("int64", a) for a in (first, inverse, counts)], "unique_counts": [Out("int64", counts)], "unique_inverse": [Out("int64", inverse.reshape(x.a.shape))]}
    return [x], [Out(t, v, zero=True)] + more[name]


def holder_of(x):
    return x.a.dtype


@op("searchsorted", "digitize", "bucketize")
def search(d, name):
    t = d.one(INTS + FLOATS)
    a = d.of(t, np.sort(d.values(t, (d.int(1, 40),), "plain")))
    v = d.tensor(t, d.shape(), "plain")
    right = d.chance(0.5)
    side = "right" if right else "left"
    if name == "searchsorted":
        return [a, v, right], [Out("int64", np.searchsorted(a.a, v.a, side))]
    if name == "bucketize":
        return [v, a, right], [Out("int64", np.searchsorted(a.a, v.a, side))]
    return [v, a, right], [Out("int64", np.digitize(v.a, a.a, right))]


@op("interp")
def interp(d, name):
    t = d.one(["float32", "float64"])
    n = d.int(1, 20)
    xp = d.of(t, np.cumsum(d.values(t, (n,), "positive")).astype(t))
    fp, x = d.tensor(t, (n,), "plain"), d.tensor(t, d.shape(), "positive")
    y = np.interp(x.a.astype(np.float64), xp.a.astype(np.float64), fp.a.astype(np.float64))
    return [x, xp, fp], [Out(t, y, 32, 8, True)]


@op("bincount", "bincount/weights")
def bincount(d, name):
    t = d.one(INTS)
    x = d.of(t, d.rng.integers(0, 20, (d.int(0, 50),)).astype(t))
    n = d.int(0, 30)
    if name == "bincount":
        return [x, n], [Out("int64", np.bincount(x.a.astype(np.int64), minlength=n))]
    w = d.tensor(d.one(["float32", "float64"]), x.a.shape, "plain")
    y = np.bincount(x.a.astype(np.int64), w.a.astype(np.float64), n)
    return [x, w, n], [Out(w.t, y, 8, float(np.sum(np.abs(w.a))), True)]


@op("histogram")
def histogram(d, name):
    t = d.one(["float32", "float64"])
    x = d.of(t, d.rng.integers(-20, 21, (d.int(1, 60),)) / 4)
    n = d.one([1, 2, 4, 8, 16])
    counts, edges = np.histogram(x.a.astype(np.float64), n, (-8, 8))
    return [x, n, -8.0, 8.0], [Out("int64", counts), Out(t, edges, 2, 8)]


@op("take/flat", "select", "unravel_index", "ravel_multi_index")
def place(d, name):
    t = d.one(ALL)
    s = d.shape(low=1, high=3, largest=200, empty=0)
    x = d.tensor(t, s)
    if name == "select":
        axis = d.axis(len(s))
        n = s[axis] if -len(s) <= axis < len(s) else 1
        i = d.int(-n - 1, n) if d.chance(0.1) else d.int(-n, n - 1)
        if not -len(s) <= axis < len(s) or not -n <= i < n:
            return [x, axis, i], "error"
        return [x, axis, i], [Out(t, np.take(x.a, i, axis))]
    if name == "take/flat":
        i, at, bad = index(d, d.shape(high=2, largest=20), x.a.size)
        return [x, i], "error" if bad else [Out(t, np.take(x.a, at))]
    at = d.rng.integers(0, x.a.size, d.shape(high=2, largest=20))
    where = np.unravel_index(at, s)
    if name == "unravel_index":
        return [d.of("int64", at), list(s)], [Out("int64", w) for w in where]
    return [Xs(d.of("int64", w) for w in where), list(s)], [Out("int64", at)]


@op("choose", "compress", "extract")
def chosen(d, name):
    t = d.one(ALL)
    s = d.shape(low=1, high=3, largest=200, empty=0)
    if name == "choose":
        xs = Xs(d.tensor(t, d.broadcasts_to(s)) for _ in range(d.int(1, 3)))
        i = d.of("int64", d.rng.integers(0, len(xs), s))
        return [i, xs], [Out(t, np.choose(i.a, [x.a for x in xs]))]
    x = d.tensor(t, s)
    if name == "extract":
        c = d.tensor("bool", s)
        return [c, x], [Out(t, np.extract(c.a, x.a))]
    axis = d.int(-len(s), len(s) - 1)
    c = d.tensor("bool", (d.int(0, s[axis]),))
    return [c, x, axis], [Out(t, np.compress(c.a, x.a, axis))]


@op("put", "index_put", "index_copy", "index_fill")
def replaced(d, name):
    t = d.one(INTS + FLOATS)
    s = d.shape(low=1, high=3, largest=200, empty=0)
    x = d.tensor(t, s, "plain")
    n = d.int(0, 6)
    if name == "put":
        add = d.chance(0.4)
        i, at, bad = index(d, (n,), x.a.size)
        v = d.tensor(t, (n,), "plain")
        flat = written(x.a.ravel(), np.where(at < 0, at + x.a.size, at) if not bad else at * 0, v.a, 0, "add" if add else "set", t)
        return [x, i, v, add], "error" if bad else [Out(t, flat.reshape(s))]
    axis = 0 if name == "index_put" else d.int(-len(s), len(s) - 1)
    i, at, bad = index(d, (n,), s[axis])
    shape = list(s)
    shape[axis] = n
    v = d.tensor(t, () if name == "index_fill" else tuple(shape), "plain")
    add = name == "index_put" and d.chance(0.4)
    arguments = [x, i, v, add] if name == "index_put" else [x, axis, i, v]
    if bad:
        if np.prod(shape) == 0:
            raise Skip
        return arguments, "error"
    at = np.where(at < 0, at + s[axis], at)
    k = axis % len(s)
    at = np.broadcast_to(at.reshape((1,) * k + (-1,) + (1,) * (len(s) - 1 - k)), shape)
    return arguments, [Out(t, written(x.a, at, np.broadcast_to(v.a, shape), axis, "add" if add else "set", t))]


@op("masked_scatter", "select_scatter", "slice_scatter", "diagonal_scatter")
def parts_replaced(d, name):
    t = d.one(ALL)
    s = d.shape(low=2, high=3, largest=200, empty=0)
    x = d.tensor(t, s)
    y = x.a.copy()
    if name == "masked_scatter":
        m = d.tensor("bool", s)
        n = int(m.a.sum())
        v = d.tensor(t, (n + d.int(0, 3),))
        y[m.a] = v.a[:n]
        return [x, m, v], [Out(t, y)]
    if name == "diagonal_scatter":
        k = d.int(1 - s[0], s[1] - 1)
        v = d.tensor(t, np.diagonal(y, k).shape)
        r = torch.diagonal_scatter(torch.from_numpy(y), torch.from_numpy(v.a.copy()), k).numpy()
        return [x, v, k], [Out(t, r)]
    axis = d.int(-len(s), len(s) - 1)
    z = np.moveaxis(y, axis, 0)
    if name == "select_scatter":
        i = d.int(-s[axis], s[axis] - 1)
        v = d.tensor(t, z.shape[1:])
        z[i] = v.a
        return [x, v, axis, i], [Out(t, y)]
    start, stop, step = d.int(0, s[axis]), d.int(0, s[axis] + 1), d.int(1, 3)
    v = d.tensor(t, np.moveaxis(z[start:stop:step], 0, axis).shape)
    z[start:stop:step] = np.moveaxis(v.a, axis, 0)
    return [x, v, axis, start, stop, step], [Out(t, y)]


@op("scatter_reduce")
def scatter_reduce(d, name):
    t = d.one(["int32", "int64", "float32", "float64"])
    s = d.shape(low=1, high=2, largest=100, empty=0)
    axis = d.int(-len(s), len(s) - 1)
    shape = list(s)
    shape[axis] = d.int(1, 7)
    x, v = d.tensor(t, s, "plain"), d.tensor(t, tuple(shape), "plain")
    at = d.rng.integers(0, s[axis], shape)
    how, include = d.one(["sum", "prod", "amax", "amin"] + (["mean"] if is_float(t) else [])), d.chance(0.6)
    r = torch.from_numpy(x.a.copy()).scatter_reduce(axis, torch.from_numpy(at), torch.from_numpy(v.a.copy()), how, include_self=include)
    return [x, axis, d.of("int64", at), v, how, include], [Out(t, r.numpy(), 16, 8 if how in ("sum", "mean") else 0, True)]


@op("isin", "setdiff1d", "intersect1d", "union1d")
def sets(d, name):
    t = d.one(ALL)
    a, b = d.tensor(t, d.shape(high=2, largest=60), "plain"), d.tensor(t, d.shape(high=2, largest=60), "plain")
    if is_float(t):
        a, b = (d.of(t, np.round(v.a) + np.zeros((), v.a.dtype)) for v in (a, b))
    if name == "isin":
        invert = d.chance(0.3)
        return [a, b, invert], [Out("bool", np.isin(a.a, b.a, invert=invert))]
    return [a, b], [Out(t, getattr(np, name)(a.a.ravel(), b.a.ravel()), zero=True)]
