"""What views, parts, joins, repetitions, pads, diagonals and new tensors should give."""
import numpy as np
import torch

from spec import Skip, meant, op
from values import ALL, DT, Out, Xs, is_float, is_int, promote, rounded, work


def tried(arguments, t, f):
    """Returns the arguments and what f gives: an array, a list of them, or an error where NumPy throws."""
    try:
        r = f()
    except (ValueError, IndexError, TypeError, RuntimeError, ZeroDivisionError):
        return arguments, "error"
    return arguments, [Out(t, a) for a in (r if isinstance(r, (list, tuple)) else [r])]


@op("reshape")
def reshape(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape())
    n, s = x.a.size, []
    while n > 1 and len(s) < 3:
        by = d.one([k for k in range(1, n + 1) if n % k == 0])
        s.append(by)
        n //= by
    s.append(n)
    s = [s[i] for i in d.rng.permutation(len(s))]
    if d.chance(0.3) and x.a.size:
        s[d.int(0, len(s) - 1)] = -1
    if d.chance(0.05):
        s.append(3)
    return tried([x, s], t, lambda: x.a.reshape(s))


@op("permute_dims", "permute", "transpose")
def permute(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape())
    axes = [int(i) for i in d.rng.permutation(x.a.ndim)]
    if d.chance(0.3):
        axes = [a - x.a.ndim if d.chance(0.5) else a for a in axes]
    if d.chance(0.05) and axes:
        axes[0] = d.one([x.a.ndim, axes[-1]])
    if name == "transpose" and d.chance(0.3):
        axes = None
    return tried([x, axes], t, lambda: np.transpose(x.a, axes))


@op("matrix_transpose", "flatten", "ravel", "flipud", "fliplr", "atleast_1d", "atleast_2d", "atleast_3d")
def plain(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape())
    f = np.ravel if name in ("flatten", "ravel") else getattr(np, name)
    return tried([x], t, lambda: f(x.a))


@op("swapaxes", "swapdims")
def swapaxes(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape())
    a, b = d.axis(x.a.ndim), d.axis(x.a.ndim)
    return tried([x, a, b], t, lambda: np.swapaxes(x.a, a, b))


@op("moveaxis", "movedim")
def moveaxis(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape(low=1))
    n = d.int(1, x.a.ndim)
    a, b = ([int(i) for i in d.rng.permutation(x.a.ndim)[:n]] for _ in range(2))
    if d.chance(0.05):
        b = b + [0]
    return tried([x, a, b], t, lambda: np.moveaxis(x.a, a, b))


@op("squeeze", "expand_dims", "unsqueeze")
def squeeze(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape())
    if name != "squeeze":
        axis = d.axis(x.a.ndim + 1)
        return tried([x, axis], t, lambda: np.expand_dims(x.a, axis))
    ones = [i for i, n in enumerate(x.a.shape) if n == 1]
    axes = ones[:d.int(0, len(ones))] or None
    if d.chance(0.1):
        meant("long axes")
        axes = [d.axis(x.a.ndim)]
    return tried([x, axes], t, lambda: np.squeeze(x.a, tuple(axes) if axes else None))


@op("broadcast_to", "expand", "expand_as", "broadcast_arrays")
def broadcast(d, name):
    t = d.one(ALL)
    s = d.shape()
    x = d.tensor(t, d.broadcasts_to(s))
    if d.chance(0.05):
        s = s[:-1] + (4,)
    if name == "expand_as":
        y = d.tensor("bool", s)
        return tried([x, y], t, lambda: np.broadcast_to(x.a, s))
    if name == "broadcast_arrays":
        u = d.one(ALL)
        y = d.tensor(u, d.broadcasts_to(s))
        try:
            a, b = np.broadcast_arrays(x.a, y.a)
        except ValueError:
            return [Xs([x, y])], "error"
        return [Xs([x, y])], [Out(t, a), Out(u, b)]
    if name == "expand":
        lead = len(s) - x.a.ndim
        asked = [-1 if i >= lead and x.a.shape[i - lead] == n and d.chance(0.3) else n for i, n in enumerate(s)]
        return tried([x, asked], t, lambda: np.broadcast_to(x.a, s))
    return tried([x, list(s)], t, lambda: np.broadcast_to(x.a, s))


@op("flip", "roll", "rot90")
def turn(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape())
    rank = x.a.ndim
    if name == "flip":
        axes = d.axes(rank)
        return tried([x, axes], t, lambda: np.flip(x.a, tuple(axes) if axes else None))
    if name == "roll":
        if d.chance(0.3):
            n = d.int(-70, 70)
            return tried([x, [n], None], t, lambda: np.roll(x.a, n))
        axes = [d.axis(rank) for _ in range(d.int(1, 2))]
        n = [d.int(-70, 70) for _ in axes]
        return tried([x, n, axes], t, lambda: np.roll(x.a, n, axes))
    n = d.int(-3, 6)
    axes = [d.axis(rank), d.axis(rank)]
    return tried([x, n, axes], t, lambda: np.rot90(x.a, n, axes))


@op("sliding_window_view")
def windows(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape(low=1, high=3, largest=200))
    axis, n = d.axis(x.a.ndim), d.int(1, 4)
    return tried([x, [n], [axis]], t, lambda: np.lib.stride_tricks.sliding_window_view(x.a, n, axis))


@op("split", "split/at", "array_split", "chunk", "unstack", "unbind", "narrow")
def parts(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape(low=1))
    axis = d.axis(x.a.ndim)
    n = x.a.shape[axis] if -x.a.ndim <= axis < x.a.ndim else 1
    if name in ("unstack", "unbind"):
        return tried([x, axis], t, lambda: list(np.moveaxis(x.a, axis, 0)))
    if name == "narrow":
        start, length = d.int(-n - 1, n), d.int(0, n)
        def narrowed():
            first = start + n if start < 0 else start
            if not 0 <= first or first + length > n:
                raise IndexError
            return np.take(x.a, range(first, first + length), axis)
        return tried([x, axis, start, length], t, narrowed)
    if name == "split/at":
        at = sorted(d.int(0, n) for _ in range(d.int(1, 3)))
        return tried([x, at, axis], t, lambda: np.split(x.a, at, axis))
    k = d.int(0 if d.chance(0.1) else 1, 5)
    if name == "chunk":
        if n == 0 and k > 0:
            raise Skip
        size = -(-n // max(k, 1))
        return tried([x, k, axis], t, lambda: np.split(x.a, list(range(size, n, size)), axis) if k else [][0])
    return tried([x, k, axis], t, lambda: (np.split if name == "split" else np.array_split)(x.a, k, axis))


@op("concat", "cat", "stack", "hstack", "vstack", "dstack", "column_stack")
def join(d, name):
    s = d.shape(high=3, largest=200)
    pool = [d.one(ALL) for _ in range(1 if d.chance(0.7) else 2)]
    many = d.int(1, 4)
    if name in ("concat", "cat", "stack"):
        axis = d.axis(len(s) + (name == "stack"))
    xs = Xs()
    for _ in range(many):
        shape = list(s)
        if name in ("concat", "cat") and -len(s) <= axis < len(s) and d.chance(0.6):
            shape[axis] = d.int(0, 5)
        if d.chance(0.02):
            shape = shape + [2]
        xs.append(d.tensor(d.one(pool), tuple(shape)))
    t = promote(*[x.t for x in xs])
    arguments = [xs, axis] if name in ("concat", "cat", "stack") else [xs]
    if t is None:
        return arguments, "error"
    arrays = [rounded(x.a, t) for x in xs]
    if name in ("concat", "cat"):
        return tried(arguments, t, lambda: np.concatenate(arrays, axis))
    if name == "stack":
        return tried(arguments, t, lambda: np.stack(arrays, axis))
    return tried(arguments, t, lambda: getattr(np, name)(arrays))


@op("tile", "repeat", "repeat_interleave")
def repetition(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape(largest=60))
    if name == "tile":
        n = [d.int(0 if d.chance(0.1) else 1, 3) for _ in range(d.int(0, 4))]
        return tried([x, n], t, lambda: np.tile(x.a, n))
    n = d.int(-1 if d.chance(0.05) else 0, 4)
    axis = None if d.chance(0.3) else d.axis(x.a.ndim)
    if x.a.ndim == 0 and axis is not None:
        meant("0-d axes")
        return [x, n, [axis]], "error"
    return tried([x, n, None if axis is None else [axis]], t, lambda: np.repeat(x.a, n, axis))


@op("unflatten")
def unflatten(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape(low=1, high=3, empty=0))
    axis = d.int(-x.a.ndim, x.a.ndim - 1)
    n = x.a.shape[axis]
    k = d.one([k for k in range(1, n + 1) if n % k == 0])
    s = d.one([[k, n // k], [-1, k], [k, -1], [n], [k, n // k, 2]])
    return tried([x, axis, s], t, lambda: torch.from_numpy(np.zeros(x.a.shape, bool)).unflatten(axis, s) is not None and
                 x.a.reshape(torch.zeros(x.a.shape).unflatten(axis, s).shape))


@op("pad", "pad/torch")
def pad(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape(low=1, high=3, largest=200, empty=0.02))
    if name == "pad":
        widths = [[d.int(0, 5), d.int(0, 5)] for _ in range(1 if d.chance(0.2) else x.a.ndim)]
        mode = d.one(["constant", "edge", "reflect", "symmetric", "wrap"])
        v = d.one([0, 1])
        flat = [n for w in widths for n in w]
        extra = {"constant_values": v} if mode == "constant" else {}
        if mode in ("reflect", "wrap", "symmetric", "edge") and x.a.size == 0:
            raise Skip
        if mode == "wrap" and any(sum(w) > n for w, n in zip(widths * x.a.ndim, x.a.shape)):
            raise Skip
        return tried([x, flat, mode, v], t, lambda: np.pad(x.a, widths, mode, **extra))
    k = d.int(1, x.a.ndim)
    pads = [d.int(-1, 3) for _ in range(2 * k)]
    mode = d.one(["constant", "reflect", "replicate", "circular"])
    shape = x.a.shape
    widths = [(0, 0)] * (x.a.ndim - k) + [(pads[2 * i], pads[2 * i + 1]) for i in reversed(range(k))]
    for (a, b), n in zip(widths, shape):
        if a + b + n < 0 or n == 0 or (mode != "constant" and (n + min(a, 0) + min(b, 0) < 1)) or \
           (mode == "reflect" and max(a, b) >= n + min(a, 0) + min(b, 0)) or (mode == "circular" and max(a, b) > n + min(a, 0) + min(b, 0)):
            raise Skip
    if any(n + a < 0 or n + b < 0 or n + min(a, 0) + min(b, 0) < 0 for (a, b), n in zip(widths, shape)):
        raise Skip
    cut = x.a[tuple(slice(max(0, -a), n - max(0, -b)) for (a, b), n in zip(widths, shape))]
    wide = [(max(0, a), max(0, b)) for a, b in widths]
    kind = {"replicate": "edge", "circular": "wrap"}.get(mode, mode)
    if mode != "constant" and min(pads) < 0:
        raise Skip
    return tried([x, pads, mode], t, lambda: np.pad(cut, wide, kind))


@op("diff")
def diff(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape(), "plain" if d.chance(0.5) else "any")
    n, axis = d.int(0 if d.chance(0.2) else 1, 2), d.axis(x.a.ndim)
    if is_float(t) and n > 1:
        n = 1
    if x.a.ndim == 0 or not -x.a.ndim <= axis < x.a.ndim:
        meant("0-d axes")
        return [x, n, axis], "error"
    return tried([x, n, axis], t, lambda: np.diff(work(x.a, t), n, axis))


@op("tril", "triu", "diagonal", "trace", "diag", "diag_embed", "vander")
def diagonals(d, name):
    t = d.one(ALL)
    k = d.int(-5, 5)
    x = d.tensor(t, d.shape(low=0 if d.chance(0.05) else 1, high=3, largest=200), "plain")
    rank = x.a.ndim
    if name in ("tril", "triu"):
        return tried([x, k], t, lambda: getattr(np, name)(x.a, k) if rank > 1 else [][0])
    if name == "diagonal":
        a, b = d.axis(rank), d.axis(rank)
        return tried([x, k, a, b], t, lambda: np.diagonal(x.a, k, a, b))
    if name == "trace":
        meant("reduction dtypes")
        r = t if is_float(t) else "uint64" if t.startswith("u") else "int64"
        if is_float(t):
            w = np.abs(x.a.astype(np.float64))
            arguments, want = tried([x, k], r, lambda: np.trace(x.a.astype(np.longdouble), k))
            if want != "error":
                want[0].ulps, want[0].scale, want[0].zero = 4.0, float(np.sum(w)), True
            return arguments, want
        return tried([x, k], r, lambda: np.trace(x.a.astype(r), k))
    if name == "diag":
        return tried([x, k], t, lambda: np.diag(x.a, k))
    if name == "diag_embed":
        return tried([x, k], t, lambda: torch.diag_embed(torch.from_numpy(x.a.copy()), k).numpy())
    if t == "bool" or rank != 1:
        return [x], "error" if rank != 1 else [Out("int64", np.vander(x.a.astype(np.int64)))]
    small = d.tensor(t, (d.int(0, 6),), "plain")
    up = d.chance(0.5)
    w = small.a.astype(np.float64) if is_float(t) else small.a
    return [small, None, up], [Out(t, np.vander(w, increasing=up).astype(w.dtype), 6)]


@op("zeros", "ones", "empty", "zeros_like", "ones_like", "empty_like", "full", "full_like")
def filled(d, name):
    t = d.one(ALL) if d.chance(0.6) else None
    s = d.shape()
    v = {"z": 0, "o": 1, "e": 0, "f": d.one([0, 1, 7, True, 0.5, -2.5, float("nan"), 300, -1])}[name[0]]
    u = d.one(ALL)
    x = d.tensor(u, s)
    r = t or (u if "like" in name else "bool" if v is True else "float32" if isinstance(v, float) else
              "int64" if name == "full" else "float32")
    first = x if "like" in name else list(s)
    arguments = [first] + ([v] if "full" in name else []) + [DT(t) if t else None]
    if is_int(r) and isinstance(v, float):
        raise Skip
    if is_int(r) and not np.iinfo(r).min <= v <= np.iinfo(r).max:
        return arguments, "error"
    return arguments, [Out(r, np.broadcast_to(rounded(np.asarray(v), r), s))]


@op("arange")
def arange(d, name):
    start, stop, step = d.int(-20, 20), d.int(-40, 40), d.one([1, 2, 3, -1, -4])
    t = d.one([None, "int32", "int64", "float32", "float64", "int16", "float16"])
    if d.chance(0.3):
        start, stop, step = start / 2, stop / 4, step / 4
        t = d.one([None, "float32", "float64"])
    if d.chance(0.03):
        return [start, stop, type(step)(0), DT(t) if t else None], "error"
    r = t or ("float32" if isinstance(step, float) else "int64")
    return [start, stop, step, DT(t) if t else None], [Out(r, np.arange(start, stop, step))]


@op("linspace")
def linspace(d, name):
    a, b, n, end = d.int(-9, 9) / 2, d.int(-9, 9) / 2, d.int(0, 40), d.chance(0.6)
    t = d.one([None, "float64", "float16", "bfloat16"])
    return [a, b, n, end, DT(t) if t else None], [Out(t or "float32", np.linspace(a, b, n, end), 1, max(abs(a), abs(b)))]


@op("eye", "tri")
def eye(d, name):
    n, m, k = d.int(0, 9), d.int(-1, 9), d.int(-5, 5)
    t = d.one([None] + ALL)
    f = np.eye if name == "eye" else np.tri
    return [n, m, k, DT(t) if t else None], [Out(t or "float32", f(n, n if m < 0 else m, k))]


@op("meshgrid")
def meshgrid(d, name):
    t = d.one(ALL)
    xs = Xs(d.tensor(t, (d.int(0, 5),)) for _ in range(d.int(1, 3)))
    indexing = d.one(["xy", "ij"])
    return tried([xs, indexing], t, lambda: list(np.meshgrid(*[x.a for x in xs], indexing=indexing)))


@op("asarray")
def asarray(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape())
    return [x], [Out(t, x.a)]
