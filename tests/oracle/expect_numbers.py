"""What parts of numbers, more special functions, products with sums, several statistics and grids should give."""

import mpmath
import numpy as np
import torch

from expect_arranging import tried
from expect_elementwise import by_torch, two, ulps_of, wide_inputs
from expect_reductions import absolute_sum, reduced, scale_of
from spec import Skip, meant, op
from values import ALL, DT, FLOATS, INTS, Out, V, Xs, float_type, is_float, promote, rounded, work

ld = np.longdouble


def phi(v):
    return mpmath.ncdf(v)


SPECIAL = {
    "i0e": (by_torch(torch.special.i0e, lambda v: mpmath.exp(-abs(v)) * mpmath.besseli(0, v)), "plain"),
    "i1": (by_torch(torch.special.i1, lambda v: mpmath.besseli(1, v)), "plain"),
    "i1e": (by_torch(torch.special.i1e, lambda v: mpmath.exp(-abs(v)) * mpmath.besseli(1, v)), "plain"),
    "erfcx": (by_torch(torch.special.erfcx, lambda v: mpmath.exp(v * v) * mpmath.erfc(v)), "unit"),
    "ndtr": (by_torch(torch.special.ndtr, phi), "plain"),
    "log_ndtr": (by_torch(torch.special.log_ndtr, lambda v: mpmath.log(phi(v))), "plain"),
    "gammaln": (by_torch(torch.lgamma, mpmath.loggamma), "positive"),
    "psi": (by_torch(torch.digamma, mpmath.digamma), "positive"),
}


@op(*SPECIAL)
def special(d, name):
    f, kind = SPECIAL[name]
    t = d.one(FLOATS)
    x = d.tensor(t, d.shape(largest=20 if t == "float64" else 200), kind)
    return [x], [Out(t, f(*wide_inputs(t, x.a)), ulps_of(t, 64), 1, True)]


@op("frac", "isposinf", "isneginf", "spacing", "entr", "modf", "frexp")
def parts(d, name):
    t = d.one(FLOATS)
    x = d.tensor(t, d.shape(), "mild" if name == "frac" else "any")
    a = x.a
    if name in ("isposinf", "isneginf"):
        return [x], [Out("bool", getattr(np, name)(a))]
    if name == "frac":
        return [x], [Out(t, np.where(np.isinf(a), 0, a - np.trunc(a)), zero=True)]
    if name == "modf":
        return [x], [Out(t, v, zero=True) for v in np.modf(work(a, t))]
    if name == "entr":
        return [x], [Out(t, torch.special.entr(torch.from_numpy(a.astype(np.float64))).numpy(), ulps_of(t, 4), 0, True)]
    if name == "spacing":
        if t in ("bfloat16", "float16"):
            raise Skip  # NumPy has none, and one without a sign
        return [x], [Out(t, np.spacing(a))]
    mantissa, exponent = np.frexp(a.astype(np.float64))
    odd = ~np.isfinite(a)
    return [x], [Out(t, np.where(odd, a, mantissa)), Out("int32", np.where(odd, 0, exponent))]


@op("ldexp")
def ldexp(d, name):
    t = d.one(FLOATS)
    x = d.tensor(t, d.shape(), "any")
    n = d.of("int32", d.rng.integers(-40, 41, x.a.shape))
    with np.errstate(all="ignore"):
        return [x, n], [Out(t, np.ldexp(x.a.astype(ld), n.a))]


@op("nextafter")
def nextafter(d, name):
    t = d.one(["float32", "float64", "float16"])
    s = d.shape()
    a, b = d.tensor(t, s), d.tensor(t, s)
    return [a, b], [Out(t, np.nextafter(a.a, b.a), zero=True)]


@op("gcd", "lcm")
def gcd(d, name):
    t = d.one(INTS)
    s = d.shape()
    a, b = d.tensor(t, s, "plain"), d.tensor(t, d.broadcasts_to(s), "plain")
    return [a, b], [Out(t, getattr(np, name)(a.a, b.a))]


@op("rsub", "div", "divmod", "float_power")
def more_binary(d, name):
    arguments, (a, b), t, fits = two(d, kind="plain", scalars=0)
    if t is None or not fits:
        return arguments, "error"
    if name == "float_power":
        arguments = [V(x.t, np.abs(x.a)) if x.t != "bool" and is_float(x.t) else x for x in arguments]
        x, y = (v.a.astype(ld) for v in arguments)
        return arguments, [Out("float64", np.power(x, y), 2)]
    if t == "bool" and name != "div":
        return arguments, "error"
    if name == "div":
        r = float_type(t)
        return arguments, [Out(r, work(rounded(a, r), r) / work(rounded(b, r), r))]
    x, y = (work(rounded(v, t) if is_float(t) else v, t) for v in (a, b))
    if name == "rsub":
        return arguments, [Out(t, y - x)]
    if not is_float(t):
        meant("division by 0")
        safe = np.where(y == 0, np.ones_like(y), y)
        zero = np.zeros_like(x)
        return arguments, [Out(t, np.where(y == 0, zero, np.floor_divide(x, safe))), Out(t, np.where(y == 0, zero, np.remainder(x, safe)))]
    return arguments, [Out(t, np.floor_divide(x, y), 1, 0, True), Out(t, np.remainder(x, y), 1, 0, True)]


@op("mm", "mv", "bmm", "addmm", "addmv", "addr", "addbmm", "baddbmm")
def products(d, name):
    t = d.one(FLOATS + ["int32", "int64"])
    n, m, k, b = d.int(1, 9), d.int(1, 9), d.int(1, 20), d.int(1, 4)
    shapes = {"mm": [(m, k), (k, n)], "mv": [(m, k), (k,)], "bmm": [(b, m, k), (b, k, n)], "addmm": [(n,), (m, k), (k, n)],
              "addmv": [(m,), (m, k), (k,)], "addr": [(m, n), (m,), (n,)], "addbmm": [(m, n), (b, m, k), (b, k, n)],
              "baddbmm": [(m, n), (b, m, k), (b, k, n)]}[name]
    v = [d.tensor(t, s, "plain") for s in shapes]
    if d.chance(0.04):
        v[-1] = d.tensor(t, (shapes[-1][0] + 1,) + shapes[-1][1:], "plain")
    scalars = [d.one([1, 2, 0]), d.one([1, -1])] if name.startswith(("add", "badd")) else []
    f = getattr(torch, name)
    kind = np.float64 if is_float(t) else holder(t)
    w = [torch.from_numpy(x.a.astype(kind)) for x in v]
    try:
        y = f(*w, **(dict(beta=scalars[0], alpha=scalars[1]) if scalars else {})).numpy()
        scale = float(f(*[x.abs() for x in w]).max()) * 2
    except RuntimeError:
        return v + scalars, "error"
    return v + scalars, [Out(t, y, 4, scale, True)]


def holder(t):
    return np.dtype(t)


@op("convolve", "correlate", "polyval")
def sequences(d, name):
    t = d.one(["float32", "float64", "int32", "int64"])
    a, v = d.tensor(t, (d.int(1, 20),), "plain"), d.tensor(t, (d.int(1, 9),), "plain")
    if name == "polyval":
        p, x = d.tensor(t, (d.int(1, 5),), "plain"), d.tensor(t, d.shape(high=2, largest=50), "unit")
        w = [u.a.astype(ld) if is_float(t) else u.a for u in (p, x)]
        scale = np.max(np.polyval(np.abs(w[0]), np.abs(w[1])), initial=0)
        return [p, x], [Out(t, np.polyval(*w), 16, scale, True)]
    mode = d.one(["full", "same", "valid"])
    w = [u.a.astype(ld) if is_float(t) else u.a for u in (a, v)]
    f = getattr(np, name)
    return [a, v, mode], [Out(t, f(*w, mode), 8, float(np.max(f(np.abs(w[0]), np.abs(w[1]), "full"))), True)]


@op("amax", "amin", "aminmax", "nanargmax", "nanargmin", "nancumsum", "nancumprod", "var_mean", "std_mean")
def summaries(d, name):
    t = d.one(FLOATS)
    if "arg" in name or "cum" in name:
        x = d.tensor(t, d.shape(low=1, empty=0), "near" if "prod" in name else "mild")
        axis = d.int(-x.a.ndim, x.a.ndim - 1)
        w = x.a.astype(ld)
        if "cum" in name:
            return [x, [axis]], [Out(t, getattr(np, name)(w, axis=axis), max(8, x.a.shape[axis]), absolute_sum(w, axis), True)]
        if np.isnan(w).all(axis=axis).any():
            raise Skip
        extreme = (np.nanmax if name == "nanargmax" else np.nanmin)(x.a, axis=axis, keepdims=True)
        return [x, [axis]], [Out("int64", np.argmax(x.a == extreme, axis=axis))]  # NumPy's finds NaN beside infinities
    x, axes, keep, a = reduced(d, t, "mild" if name[0] == "a" else "plain")
    if a is None or (name[0] == "a" and any(x.a.shape[i] == 0 for i in a)):
        return [x, axes, keep], "error"
    low, high = (lambda: np.min(x.a, axis=a, keepdims=keep)), (lambda: np.max(x.a, axis=a, keepdims=keep))
    if name[0] == "a":
        return [x, axes, keep], [Out(t, f(), zero=True) for f in {"amax": [high], "amin": [low], "aminmax": [low, high]}[name]]
    w = x.a.astype(ld)
    v = np.var(w, axis=a, keepdims=keep)
    scale = scale_of(w)
    first = Out(t, v, 8, scale ** 2 / 8, True) if name == "var_mean" else Out(t, np.sqrt(v), 8, scale / 2, True)
    return [x, axes, keep], [first, Out(t, np.mean(w, axis=a, keepdims=keep), 6, scale, True)]


@op("dist", "renorm", "ediff1d", "gradient", "cumulative_trapezoid", "trapz")
def differences(d, name):
    t = d.one(["float32", "float64"])
    x = d.tensor(t, d.shape(low=1, high=3, largest=200, empty=0), "plain")
    w, s = x.a.astype(np.float64), x.a.shape
    if name == "dist":
        y, p = d.tensor(t, s, "plain"), d.one([2.0, 1.0, 0.0, np.inf])
        r = torch.dist(*(torch.from_numpy(v.a.astype(np.float64)) for v in (x, y)), p).numpy()
        return [x, y, p], [Out(t, r, 32, 1, True)]
    if name == "ediff1d":
        return [x], [Out(t, np.ediff1d(x.a))]
    if name == "renorm":
        if len(s) < 2:
            raise Skip
        axis, p = d.int(0, len(s) - 1), d.one([1.0, 2.0])
        r = torch.renorm(torch.from_numpy(w.copy()), p, axis, 2.5).numpy()
        return [x, p, axis, 2.5], [Out(t, r, 16, 1, True)]
    axis = d.int(-len(s), len(s) - 1)
    if name == "gradient":
        order = d.int(1, 2)
        if s[axis] < order + 1:
            return [x, [0.5], [axis], order], "error"
        return [x, [0.5], [axis], order], [Out(t, np.gradient(w, 0.5, axis=axis, edge_order=order), 16, 4 * scale_of(w), True)]
    dx = d.one([1.0, 0.5])
    if name == "trapz":
        return [x, dx, axis], [Out(t, np.trapezoid(w, dx=dx, axis=axis), 8, np.sum(np.abs(w)), True)]
    z = np.moveaxis(w, axis, 0)
    areas = np.moveaxis(np.cumsum((z[1:] + z[:-1]) / 2 * dx, 0), 0, axis)
    return [x, dx, axis], [Out(t, areas, 16, np.sum(np.abs(w)), True)]


@op("logspace", "geomspace", "indices", "tril_indices", "triu_indices")
def grids(d, name):
    if name in ("logspace", "geomspace"):
        a, b, n, end = d.int(1, 9) / 2, d.int(1, 9) / 2, d.int(0, 20), d.chance(0.6)
        t = d.one([None, "float64"])
        f = getattr(np, name)
        base = [2.0] if name == "logspace" else []
        extra = dict(base=2.0) if base else {}
        return [a, b, n, end, *base, DT(t) if t else None], [Out(t or "float32", f(a, b, n, end, **extra), 32)]
    if name == "indices":
        s = d.shape(low=1, high=3, largest=60)
        return [list(s)], [Out("int64", np.indices(s))]
    n, m, k = d.int(0, 8), d.int(0, 8), d.int(-3, 3)
    return [n, m, k], [Out("int64", np.stack(getattr(np, name)(n, k, m)))]


@op("block_diag", "cartesian_prod", "concat/flat", "broadcast_tensors", "tensor_split", "hsplit", "vsplit", "dsplit")
def blocks(d, name):
    t = d.one(ALL)
    if name in ("tensor_split", "hsplit", "vsplit", "dsplit"):
        x, n = d.tensor(t, d.shape(low=1, high=3, largest=100)), d.int(1, 4)
        f = np.array_split if name == "tensor_split" else getattr(np, name)
        return tried([x, n], t, lambda: f(x.a, n))
    if name == "block_diag":
        xs = Xs(d.tensor(t, (d.int(1, 4), d.int(1, 4))) for _ in range(d.int(1, 3)))
        return [xs], [Out(t, torch.block_diag(*[torch.from_numpy(x.a.copy()) for x in xs]).numpy())]
    if name == "cartesian_prod":
        xs = Xs(d.tensor(t, (d.int(1, 4),)) for _ in range(d.int(2, 3)))
        return [xs], [Out(t, torch.cartesian_prod(*[torch.from_numpy(x.a.copy()) for x in xs]).numpy())]
    s = d.shape(high=2, largest=40)
    xs = Xs(d.tensor(t, d.broadcasts_to(s)) for _ in range(2))
    if name == "concat/flat":
        return [xs], [Out(t, np.concatenate([x.a for x in xs], None))]
    return tried([xs], t, lambda: list(np.broadcast_arrays(*[x.a for x in xs])))


@op("new_zeros", "new_ones", "new_empty", "new_full")
def new(d, name):
    t = d.one(ALL)
    x, s = d.tensor(t, d.shape()), d.shape()
    return [x, list(s)] + ([1] if name == "new_full" else []), [Out(t, np.full(s, name in ("new_ones", "new_full")))]


@op("isdtype", "stop_gradient", "result_type/many")
def others(d, name):
    t = d.one(ALL)
    if name == "stop_gradient":
        x = d.tensor(t, d.shape())
        return [x], [Out(t, x.a)]
    if name == "result_type/many":
        ts = d.types(ALL, 3)
        r = promote(*ts)
        if r is None or any(promote(ts[i], ts[j]) is None for i in range(3) for j in range(i)):
            raise Skip  # the order of promotions decides
        return [Xs(V(u, d.values(u, (2,))) for u in ts)], [Out(r, np.zeros(0))]
    kind = d.one(["bool", "signed integer", "unsigned integer", "integral", "real floating", "numeric"])
    return [DT(t), kind], [Out("bool", np.isdtype(np.dtype("float32" if t == "bfloat16" else t), kind))]
