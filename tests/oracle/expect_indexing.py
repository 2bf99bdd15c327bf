"""What reading, writing, finding and searching at computed places should give."""
import numpy as np
import torch

from spec import Skip, meant, op
from values import ALL, BOOL, FLOATS, INTS, SIGNED, Out, V, float_type, is_float, is_int, promote, rounded, work


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


@op("unique", "unique_counts", "unique_inverse")
def unique(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape(), d.one(["mild", "plain"]))
    if is_float(t):  # of -0 and 0 either may stay
        x = d.of(t, np.round(x.a) + np.zeros((), holder_of(x)))
    v, inverse, counts = np.unique(x.a, return_inverse=True, return_counts=True)
    more = {"unique": [], "unique_counts": [Out("int64", counts)], "unique_inverse": [Out("int64", inverse.reshape(x.a.shape))]}
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
