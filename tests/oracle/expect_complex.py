"""What functions of complex numbers should give: NumPy's answers in more digits, and torch's where NumPy has none."""
import numpy as np
import torch

from spec import Skip, op
from values import COMPLEX, DT, Out, V, Xs, is_complex, part_type, promote, rounded

MIXED = COMPLEX + ["float32", "float64", "int32"]


def size(*arrays):
    """Returns the largest modulus, and 1 at least: in units of which what is summed is rounded."""
    return max([1.0] + [float(np.max(np.abs(a[np.isfinite(a)]), initial=0)) for a in map(np.asarray, arrays)])


def finite(y):
    if not np.isfinite(y).all():
        raise Skip
    return y


def pair(d, kind="plain"):
    """Draws two tensors of which one at least is complex, with shapes that broadcast, and the dtype of both."""
    ta, tb = d.one(COMPLEX), d.one(MIXED)
    shape = d.shape()
    sa, sb = shape, d.broadcasts_to(shape)
    a, b = d.tensor(ta, sa, kind), d.tensor(tb, sb, kind)
    return ((a, b) if d.chance(0.5) else (b, a)) + (promote(ta, tb),)


def wide(v, t):
    return rounded(v.a, t).astype(np.clongdouble)


@op("add", "subtract", "sub", "multiply", "mul", "divide", "true_divide", "rsub")
def arithmetic(d, name):
    a, b, t = pair(d)
    x, y = wide(a, t), wide(b, t)
    f = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "true_divide": np.divide,
         "rsub": lambda x, y: y - x}[name if name in ("true_divide", "rsub") else name[:3]]
    r = f(x, y)
    keep = np.isfinite(r)
    if not keep.all():  # a quotient by 0
        raise Skip
    return [a, b], [Out(t, r, 8)]


@op("equal", "eq", "not_equal", "ne")
def compare(d, name):
    a, b, t = pair(d)
    if d.chance(0.5) and a.a.shape == b.a.shape and is_complex(b.t):
        b = V(b.t, np.where(d.rng.random(a.a.shape) < 0.5, a.a, b.a))
    f = np.equal if name[0] == "e" else np.not_equal
    return [a, b], [Out("bool", f(rounded(a.a, t), rounded(b.a, t)))]


# name: function, and units of the last place of a modulus.
UNARY = {
    "negative": (np.negative, 0), "neg": (np.negative, 0), "positive": (np.positive, 0), "conj": (np.conj, 0),
    "conjugate": (np.conj, 0), "square": (np.square, 4), "reciprocal": (lambda x: 1 / x, 8),
    "sign": (lambda x: np.where(x == 0, 0, x / np.where(x == 0, 1, np.abs(x))), 8),
    "exp": (np.exp, 8), "expm1": (np.expm1, 12), "log": (np.log, 8), "log1p": (np.log1p, 12), "log2": (lambda x: np.log(x) / np.log(np.longdouble(2)), 10),
    "log10": (np.log10, 10), "sqrt": (np.sqrt, 8), "rsqrt": (lambda x: 1 / np.sqrt(x), 12),
    "sin": (np.sin, 8), "cos": (np.cos, 8), "tan": (np.tan, 24), "sinh": (np.sinh, 8), "cosh": (np.cosh, 8), "tanh": (np.tanh, 24),
    "asin": (np.arcsin, 12), "acos": (np.arccos, 12), "atan": (np.arctan, 12), "asinh": (np.arcsinh, 12),
    "acosh": (np.arccosh, 12), "atanh": (np.arctanh, 12), "arcsin": (np.arcsin, 12), "arccos": (np.arccos, 12),
    "arctan": (np.arctan, 12), "arcsinh": (np.arcsinh, 12), "arccosh": (np.arccosh, 12), "arctanh": (np.arctanh, 12),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 16), "expit": (lambda x: 1 / (1 + np.exp(-x)), 16),
}


@op(*UNARY)
def unary(d, name):
    f, ulps = UNARY[name]
    t = d.one(COMPLEX)
    x = d.tensor(t, d.shape(), d.one(["plain", "unit", "near"]))
    y = finite(f(wide(x, t)))
    # Functions of arguments near a pole or a zero lose digits that the argument has lost.
    if name in ("tan", "tanh", "sigmoid", "expit") and np.max(np.abs(y), initial=0) > (1e3 if "tan" in name else 4):
        raise Skip
    scale = 1.0 if name in ("log", "log2", "log10", "log1p", "acos", "arccos", "acosh", "arccosh", "sigmoid", "expit", "cos", "expm1") else 0.0
    return [x], [Out(t, y, ulps, scale)]


@op("abs", "absolute", "real", "imag", "angle", "isreal", "iscomplex", "isnan", "isinf", "isfinite", "logical_not")
def to_real(d, name):
    t = d.one(COMPLEX)
    x = d.tensor(t, d.shape(), "mild" if name.startswith(("is", "logical")) else "plain")
    w, p = wide(x, t), part_type(t)
    if name in ("abs", "absolute"):
        return [x], [Out(p, np.abs(w), 2, 0, True)]
    if name == "angle":
        return [x], [Out(p, np.angle(w), 4, 0, True)]
    if name in ("real", "imag"):
        return [x], [Out(p, getattr(w, name), zero=True)]
    return [x], [Out("bool", getattr(np, name)(x.a))]


@op("logical_and", "logical_or", "logical_xor")
def logical(d, name):
    a, b, _ = pair(d)
    return [a, b], [Out("bool", getattr(np, name)(a.a, b.a))]


@op("pow", "power")
def power(d, name):
    a, b, t = pair(d, "near")
    x, y = wide(a, t), wide(b, t)
    r = finite(np.power(x, y))
    return [a, b], [Out(t, r, 64)]


@op("complex", "polar")
def parts(d, name):
    t = d.one(["float32", "float64"])
    shape = d.shape()
    a, b = d.tensor(t, shape, "plain"), d.tensor(t, d.broadcasts_to(shape), "plain")
    x, y = a.a.astype(np.longdouble), b.a.astype(np.longdouble)
    r = x + 1j * y if name == "complex" else x * np.exp(1j * y)
    return [a, b], [Out("complex64" if t == "float32" else "complex128", r, 4)]


@op("view_as_real", "view_as_complex", "adjoint", "astype")
def views(d, name):
    t = d.one(COMPLEX)
    if name == "view_as_complex":
        p = part_type(t)
        x = d.tensor(p, d.shape(high=3) + (2,), "plain")
        return [x], [Out(t, x.a[..., 0] + 1j * x.a[..., 1])]
    if name == "adjoint":
        x = d.tensor(t, d.shape(low=2), "plain")
        return [x], [Out(t, np.conj(np.swapaxes(x.a, -1, -2)))]
    x = d.tensor(t, d.shape(high=3), "plain")
    if name == "astype":
        u = d.one(["complex64", "complex128", "float32", "float64", "bool"])
        y = x.a if u == "bool" else x.a.real if not is_complex(u) else x.a
        return [x, DT(u)], [Out(u, y, zero=True)]
    return [x], [Out(part_type(t), np.stack([x.a.real, x.a.imag], -1), zero=True)]


@op("sum", "mean", "prod", "any", "all", "count_nonzero", "vector_norm", "norm", "var", "stdev")
def reductions(d, name):
    t = d.one(COMPLEX)
    x = d.tensor(t, d.shape(empty=0 if name in ("mean", "var", "stdev") else 0.04), "near" if name == "prod" else "mild" if name in ("any", "all", "count_nonzero") else "plain")
    axes = d.axes(x.a.ndim, errors=0)
    a, keep = tuple(axes) if axes else None, d.chance(0.3)
    w, p = wide(x, t), part_type(t)
    if name in ("any", "all", "count_nonzero"):
        if name == "count_nonzero":
            return [x, axes, keep], [Out("int64", np.count_nonzero(x.a, axis=a, keepdims=keep))]
        return [x, axes, keep], [Out("bool", getattr(np, name)(x.a, axis=a, keepdims=keep))]
    if name in ("vector_norm", "norm"):
        q = d.one([1.0, 2.0, 3.0, float("inf"), float("-inf"), 0.5])
        if x.a.size == 0:
            raise Skip
        y = np.sum(np.abs(w) ** q, axis=a, keepdims=keep) ** (1 / np.longdouble(q)) if np.isfinite(q) else \
            (np.max if q > 0 else np.min)(np.abs(w), axis=a, keepdims=keep)
        return [x, q, axes, keep], [Out(p, y, 64, 0, True)]
    if name in ("var", "stdev"):
        f = np.var if name == "var" else np.std
        return [x, axes, keep], [Out(p, f(w, axis=a, keepdims=keep), 64, size(w) ** 2 if name == "var" else size(w), True)]
    f = getattr(np, name)
    if name == "prod" and np.sum(np.abs(np.log2(np.abs(w)))) > 100:
        raise Skip
    scale = 0.0 if name == "prod" else size(np.sum(np.abs(w), axis=a))
    return [x, axes, keep], [Out(t, f(w, axis=a, keepdims=keep), 4 * w.size + 8 if name == "prod" else 8, scale)]


@op("cumsum", "cumprod")
def running(d, name):
    t = d.one(COMPLEX)
    x = d.tensor(t, d.shape(low=1), "near" if name == "cumprod" else "plain")
    axis = d.axis(x.a.ndim, errors=0)
    w = wide(x, t)
    if name == "cumprod" and np.sum(np.abs(np.log2(np.abs(w)))) > 100:
        raise Skip
    y = getattr(np, name)(w, axis=axis)
    n = x.a.shape[axis]
    return [x, [axis]], [Out(t, y, 4 * n + 8, size(np.sum(np.abs(w), axis=axis)) if name == "cumsum" else 0.0)]


@op("matmul", "dot", "inner", "outer", "vecdot", "vdot", "kron", "tensordot", "trace")
def products(d, name):
    ta, tb = d.one(COMPLEX), d.one(MIXED)
    t = promote(ta, tb)
    m, k, n = d.int(1, 12), d.int(1, 30), d.int(1, 12)
    lead = d.shape(high=1, largest=4, empty=0)
    sa, sb = {"matmul": (lead + (m, k), lead + (k, n)), "dot": ((k,), (k,)), "inner": ((m, k), (n, k)), "outer": ((m,), (n,)),
              "vecdot": (lead + (k,), lead + (k,)), "vdot": ((k,), (k,)), "kron": ((m, 2), (2, n)),
              "tensordot": ((m, k), (k, n)), "trace": ((m, n), ())}[name]
    a, b = d.tensor(ta, sa, "plain"), d.tensor(tb, sb, "plain")
    if name == "trace":
        return [a], [Out(ta, np.trace(wide(a, ta)), 8, size(a.a) * m)]
    if d.chance(0.5) and name not in ("matmul",) and sa == sb:
        a, b = b, a
    x, y = wide(a, t), wide(b, t)
    f = {"vecdot": lambda x, y: np.sum(np.conj(x) * y, -1), "tensordot": lambda x, y: np.tensordot(x, y, 1)}.get(name, getattr(np, name, None))
    arguments = [a, b, 1] if name == "tensordot" else [a, b]
    return arguments, [Out(t, f(x, y), 8, size(x) * size(y) * np.sqrt(k))]


@op("reshape", "flip", "roll", "concat", "stack", "where", "tril", "triu", "diagonal", "take", "squeeze", "broadcast_to", "pad", "tile")
def places(d, name):
    t = d.one(COMPLEX)
    if name == "where":
        a, b, r = pair(d)
        shape = np.broadcast_shapes(a.a.shape, b.a.shape)
        c = d.tensor("bool", shape)
        return [c, a, b], [Out(r, np.where(c.a, rounded(a.a, r), rounded(b.a, r)))]
    if name in ("concat", "stack"):
        shape = d.shape(low=1, high=3)
        axis = d.int(0, len(shape) - 1)
        xs = Xs(d.tensor(d.one(COMPLEX) if i else t, shape, "plain") for i in range(d.int(2, 4)))
        r = promote(*[x.t for x in xs])
        f = np.concatenate if name == "concat" else np.stack
        return [xs, axis], [Out(r, f([rounded(x.a, r) for x in xs], axis))]
    x = d.tensor(t, d.shape(low=2, high=3), "plain")
    a = x.a
    if name == "reshape":
        return [x, [-1] if a.size else [0]], [Out(t, a.reshape(-1))]
    if name == "flip":
        return [x, [0]], [Out(t, np.flip(a, 0))]
    if name == "roll":
        n = d.int(-3, 3)
        return [x, [n], [1]], [Out(t, np.roll(a, n, 1))]
    if name in ("tril", "triu", "diagonal"):
        k = d.int(-1, 1)
        if name == "diagonal":
            return [x, 0, -2, -1], [Out(t, np.diagonal(a, 0, -2, -1))]
        return [x, k], [Out(t, getattr(np, name)(a, k))]
    if name == "take":
        if a.shape[0] == 0:
            raise Skip
        i = d.rng.integers(0, a.shape[0], (3,))
        return [x, V("int64", i), 0], [Out(t, np.take(a, i, 0))]
    if name == "squeeze":
        y = V(t, a[None])
        return [y, [0]], [Out(t, a)]
    if name == "broadcast_to":
        return [x, [2] + list(a.shape)], [Out(t, np.broadcast_to(a, (2,) + a.shape))]
    if name == "pad":
        widths = [d.int(0, 2) for _ in range(2 * a.ndim)]
        return [x, widths], [Out(t, np.pad(a, list(zip(widths[::2], widths[1::2]))))]
    return [x, [2] * a.ndim], [Out(t, np.tile(a, [2] * a.ndim))]


@op("cov", "convolve", "correlate", "polyval", "trapezoid", "trapz", "diff", "average", "dist", "sinc", "round", "rint", "nansum", "nanmean", "var_mean",
    "std_mean")
def series(d, name):
    t = d.one(COMPLEX)
    p = part_type(t)
    n = d.int(2, 20)
    if name in ("convolve", "correlate", "dist"):
        a, b = d.tensor(t, (n,), "plain"), d.tensor(d.one(MIXED), (n if name == "dist" else d.int(1, n),), "plain")
        r = promote(a.t, b.t)
        x, y = wide(a, r), wide(b, r)
        if name == "dist":
            return [a, b], [Out(part_type(r), np.linalg.norm((x - y).astype(np.complex128)), 16, 0, True)]
        mode = d.one(["full", "same", "valid"])
        return [a, b, mode], [Out(r, getattr(np, name)(x, y, mode), 16, size(x) * size(y) * np.sqrt(n))]
    x = d.tensor(t, (n,) if name in ("polyval", "average") else (d.int(1, 4), n), "near" if name == "polyval" else "plain")
    w = wide(x, t)
    if name == "cov":
        return [x], [Out(t, np.cov(w2(x)), 64, size(w) ** 2)]
    if name == "polyval":
        z = d.tensor(t, (3,), "near")
        return [x, z], [Out(t, np.polyval(w, wide(z, t)), 16 * n, size(w) * n)]
    if name in ("trapezoid", "trapz"):
        return [x], [Out(t, np.trapezoid(w, axis=-1), 16, size(np.sum(np.abs(w), -1)))]
    if name == "diff":
        return [x], [Out(t, np.diff(w), 4)]
    if name == "average":
        weights = d.tensor(p, (n,), "positive")
        k = weights.a.astype(np.longdouble)
        return [x, weights], [Out(t, np.sum(w * k) / np.sum(k), 16, size(w))]
    if name == "sinc":
        return [x], [Out(t, np.sinc(w), 64, 1.0 if np.max(np.abs(np.sinc(w))) < 1 else size(np.sinc(w)))]
    if name in ("round", "rint"):
        return [x], [Out(t, np.round(x.a))]
    if name in ("nansum", "nanmean"):
        w[0, 0] = np.nan
        x = V(t, w)
        f = np.nansum if name == "nansum" else np.nanmean
        return [x, [1]], [Out(t, f(w[:, :] if n > 1 else w, axis=1), 16, size(np.nansum(np.abs(w), 1)))]
    f = np.var if name == "var_mean" else np.std
    return [x, [1]], [Out(p, f(w, axis=1), 64, size(w) ** 2 if f is np.var else size(w), True), Out(t, np.mean(w, axis=1), 16, size(w))]


@op("einsum", "cross", "mm", "mv", "bmm", "addmm", "linear", "fma", "addcmul", "cumulative_sum", "cumulative_prod", "isclose", "allclose",
    "array_equal", "take_along_axis", "gather", "scatter_add", "masked_fill", "diag", "diag_embed", "swapaxes", "repeat", "nan_to_num")
def more(d, name):
    t = d.one(COMPLEX)
    m, k, n = d.int(1, 8), d.int(1, 12), d.int(1, 8)
    draw = lambda *shape: d.tensor(t, shape, "plain")
    w = lambda v: wide(v, t)
    if name in ("einsum", "mm", "linear", "addmm"):
        a, b, c = draw(m, k), draw(k, n), draw(n)
        y, scale = w(a) @ w(b), size(a.a) * size(b.a) * np.sqrt(k)
        if name == "einsum":
            return ["ij,jk->ki", Xs([a, b])], [Out(t, y.T, 16, scale)]
        if name == "mm":
            return [a, b], [Out(t, y, 16, scale)]
        if name == "linear":
            b = draw(n, k)
            return [a, b, c], [Out(t, w(a) @ w(b).T + w(c), 16, size(a.a) * size(b.a) * np.sqrt(k))]
        return [c, a, b], [Out(t, y + w(c), 16, scale)]
    if name == "mv":
        a, b = draw(m, k), draw(k)
        return [a, b], [Out(t, w(a) @ w(b), 16, size(a.a) * size(b.a) * np.sqrt(k))]
    if name == "bmm":
        a, b = draw(3, m, k), draw(3, k, n)
        return [a, b], [Out(t, w(a) @ w(b), 16, size(a.a) * size(b.a) * np.sqrt(k))]
    if name == "cross":
        a, b = draw(m, 3), draw(m, 3)
        return [a, b], [Out(t, np.cross(w(a), w(b)), 8, size(a.a) * size(b.a))]
    if name in ("fma", "addcmul"):
        a, b, c = draw(m, k), draw(k), draw(m, 1)
        y = w(a) * w(b) + w(c) if name == "fma" else w(a) + w(b) * w(c)
        return [a, b, c], [Out(t, y, 8, size(a.a, b.a, c.a) ** 2)]
    x = draw(m, n)
    if name in ("cumulative_sum", "cumulative_prod"):
        if name == "cumulative_prod":
            x = d.tensor(t, (m, n), "near")
        f = np.cumsum if name == "cumulative_sum" else np.cumprod
        return [x, [1]], [Out(t, f(w(x), axis=1), 8 * n, size(np.sum(np.abs(w(x)), 1)) if f is np.cumsum else 0.0)]
    if name in ("isclose", "allclose", "array_equal"):
        near = rounded(x.a * (1 + d.rng.choice([0, 1e-3, 3e-6], x.a.shape)), t) if name != "array_equal" or d.chance(0.5) else x.a
        y = V(t, near)
        f = {"isclose": np.isclose, "allclose": np.allclose, "array_equal": np.array_equal}[name]
        return [x, y], [Out("bool", f(x.a.astype(np.complex128), near.astype(np.complex128)))]
    if name in ("take_along_axis", "gather"):
        i = d.rng.integers(0, n, (m, n))
        return [x, V("int64", i), 1] if name == "take_along_axis" else [x, 1, V("int64", i)], [Out(t, np.take_along_axis(x.a, i, 1))]
    if name == "scatter_add":
        i, v = d.rng.integers(0, n, (m, n)), draw(m, n)
        y = w(x).copy()
        np.add.at(y, (np.arange(m)[:, None], i), w(v))
        return [x, 1, V("int64", i), v], [Out(t, y, 8 * n, size(x.a, v.a))]
    if name == "masked_fill":
        c = d.rng.random((m, n)) < 0.5
        return [x, V("bool", c), 1.5], [Out(t, np.where(c, 1.5, x.a))]
    if name in ("diag", "diag_embed"):
        v = draw(n)
        return [v], [Out(t, np.diag(v.a))]
    if name == "swapaxes":
        return [x, 0, 1], [Out(t, x.a.T)]
    if name == "repeat":
        return [x, 3, [1]], [Out(t, np.repeat(x.a, 3, 1))]
    a = x.a.copy()
    a.real[0, 0], a.imag[-1, -1] = np.nan, np.inf
    return [V(t, a)], [Out(t, np.nan_to_num(a))]


# Linear algebra.


class Any(Out):
    """Expects a dtype and a shape: the values, of modulus below 16, are not unique."""

    def __init__(self, t, shape):
        super().__init__(t, np.zeros(shape), 2.0 ** {"float32": 24, "float64": 53}[part_type(t)], 32.0, True)


def normal(d, shape):
    return d.rng.normal(size=shape) + 1j * d.rng.normal(size=shape)


def matrix(d, t, shape):
    """Draws matrices with singular values between about 1 and 4."""
    u, _, v = np.linalg.svd(normal(d, shape), full_matrices=False)
    return rounded(u * d.rng.uniform(1, 4, u.shape[:-2] + (1,) + u.shape[-1:]) @ v, t)


def w2(x):
    return x.a.astype(np.complex128)


def tt(x):
    return torch.from_numpy(np.ascontiguousarray(w2(x)))


def out(t, y, ulps=512, scale=0.0):
    return Out(t, y, ulps, scale or size(y), True)


@op("solve", "inv", "det", "matrix_power", "matrix_exp", "expm", "pinv", "svdvals", "cond", "matrix_rank", "slogdet", "tensorinv", "lu_solve",
    "lu_factor", "eigvals", "eig")
def square_matrices(d, name):
    t = d.one(COMPLEX)
    p = part_type(t)
    lead = d.shape(high=2, largest=6, empty=0)
    n = d.int(1, 8)
    a = d.of(t, matrix(d, t, lead + (n, n)))
    w = w2(a)
    if name in ("solve", "lu_solve"):
        b = d.tensor(d.one([t, t, p]), lead + (n, d.int(1, 3)), "plain")
        return [a, b], [out(t, np.linalg.solve(w, b.a.astype(np.complex128)))]
    if name == "matrix_power":
        k = d.int(-2, 4)
        return [a, k], [out(t, np.linalg.matrix_power(w, k), 1024)]
    if name in ("matrix_exp", "expm"):
        return [a], [out(t, torch.linalg.matrix_exp(tt(a)).numpy(), 1024)]
    if name == "matrix_rank":
        a = d.of(t, rounded(np.round(w) @ np.diag((np.arange(n) % 2).astype(float)), t))
        s = np.linalg.svd(w2(a), compute_uv=False)
        if ((s > 1e-9) & (s < 1e-3)).any():
            raise Skip
        return [a], [Out("int64", np.linalg.matrix_rank(w2(a), tol=1e-6))]
    if name == "slogdet":
        sign, log = np.linalg.slogdet(w)
        return [a], [out(t, sign), out(p, log, 512, 8.0)]
    if name == "tensorinv":
        x = V(t, a.a[(0,) * len(lead)])
        return [x, 1], [out(t, np.linalg.tensorinv(w2(x), 1))]
    if name == "lu_factor":
        if n > 1:
            return [a], [Any(t, lead + (n, n)), Out("int32", torch.linalg.lu_factor(tt(a))[1].numpy())]
        return [a], [Out(t, a.a), Out("int32", np.ones(lead + (1,)))]
    if name in ("eigvals", "eig"):
        # Known eigenvalues, of which a triangle tells the order no less than LAPACK does.
        t = d.one(COMPLEX + ["float32", "float64"])
        c = t if is_complex(t) else "complex64" if t == "float32" else "complex128"
        values = np.arange(1, n + 1) * (1 + 0.5j if is_complex(t) else 1)
        x = d.of(t, rounded(np.broadcast_to(np.diag(values), lead + (n, n)), t))
        results = [Out(c, np.broadcast_to(values, lead + (n,)), 64, n)]
        return [x], results if name == "eigvals" else results + [Any(c, lead + (n, n))]
    f = {"det": np.linalg.det, "pinv": np.linalg.pinv, "cond": np.linalg.cond, "inv": np.linalg.inv,
         "svdvals": lambda v: np.linalg.svd(v, compute_uv=False)}[name]
    return [a], [out(p if name in ("cond", "svdvals") else t, f(w), 512)]


@op("solve_triangular", "cholesky", "cholesky_solve", "cholesky_inverse", "eigvalsh", "eigh", "pinv")
def special_matrices(d, name):
    t = d.one(COMPLEX)
    p = part_type(t)
    n, k = d.int(1, 7), d.int(1, 3)
    if name == "solve_triangular":
        a = d.of(t, rounded(normal(d, (n, n)) / 8 + 2 * np.eye(n), t))
        upper, left, ones = d.chance(0.5), d.chance(0.6), d.chance(0.3)
        b = d.tensor(t, (n, k) if left else (k, n), "plain")
        y = torch.linalg.solve_triangular(tt(a), tt(b), upper=upper, left=left, unitriangular=ones)
        return [a, b, upper, left, ones], [out(t, y.numpy())]
    lead = d.shape(high=1, largest=4, empty=0)
    g = normal(d, lead + (n, n))
    upper = d.chance(0.4)
    if name in ("eigvalsh", "eigh", "pinv"):
        a = rounded(g + np.conj(np.swapaxes(g, -1, -2)), t)
        if name == "pinv":
            s = np.abs(np.linalg.eigvalsh(a.astype(np.complex128)))
            if s.min() < 0.3:
                raise Skip
            return [d.of(t, a), None, True], [out(t, np.linalg.pinv(a.astype(np.complex128), hermitian=True), 4096)]
        values = np.linalg.eigvalsh(a.astype(np.complex128))
        uplo = "U" if upper else "L"
        results = [out(p, values, 512, size(a))]
        return [d.of(t, a), uplo], results if name == "eigvalsh" else results + [Any(t, lead + (n, n))]
    a = rounded(g @ np.conj(np.swapaxes(g, -1, -2)) + 2 * np.eye(n), t)
    if name == "cholesky":
        if d.chance(0.05):
            return [V(t, -a), upper], "error"
        y = np.linalg.cholesky(a.astype(np.complex128))
        return [d.of(t, a), upper], [out(t, np.conj(np.swapaxes(y, -1, -2)) if upper else y, 128, size(a))]
    factor = np.linalg.cholesky(a[(0,) * len(lead)].astype(np.complex128))
    l = d.of(t, rounded(np.conj(factor.T) if upper else factor, t))
    f = w2(l)
    x = np.conj(f.T) @ f if upper else f @ np.conj(f.T)
    if name == "cholesky_inverse":
        return [l, upper], [out(t, np.linalg.inv(x), 2048)]
    b = d.tensor(t, (n, k), "plain")
    return [b, l, upper], [out(t, np.linalg.solve(x, w2(b)), 2048, size(b.a))]


@op("svd", "qr", "lu", "lstsq", "matrix_norm", "multi_dot", "tensorsolve")
def rectangles(d, name):
    t = d.one(COMPLEX)
    p = part_type(t)
    m, n = d.int(1, 7), d.int(1, 7)
    k = min(m, n)
    x = d.of(t, matrix(d, t, (m, n)))
    w = w2(x)
    if name == "svd":
        full = d.chance(0.5)
        return [x, full], [Any(t, (m, m if full else k)), out(p, np.linalg.svd(w, compute_uv=False), 512, 4.0), Any(t, (n if full else k, n))]
    if name == "qr":
        q, r = np.linalg.qr(w)
        if np.min(np.abs(np.diag(r))) < 0.05:
            raise Skip
        return [x], [out(t, q, 2048), out(t, r, 2048, 4.0)]
    if name == "lu":
        pm, l, u = (v.numpy() for v in torch.linalg.lu(tt(x)))
        sizes = np.sort(np.abs(w.real[:, 0]) + np.abs(w.imag[:, 0]))
        if m > 1 and (sizes[-1] - sizes[-2] < 1e-3 or k > 1):
            return [x], [Any(t, (m, m)), Any(t, (m, k)), Any(t, (k, n))]
        return [x], [Out(t, pm), out(t, l), out(t, u, 512, 4.0)]
    if name == "lstsq":
        m = n + d.int(1, 5)
        a, b = d.of(t, matrix(d, t, (m, n))), d.tensor(t, (m, d.int(1, 3)), "plain")
        y, residuals, rank, s = np.linalg.lstsq(w2(a), w2(b), rcond=None)
        return [a, b], [out(t, y, 2048, size(b.a)), out(p, residuals, 2048, size(b.a) ** 2), Out("int64", rank), out(p, s, 512, 4.0)]
    if name == "matrix_norm":
        x = d.tensor(t, d.shape(high=1, largest=4, empty=0) + (m, n), "plain")
        q = d.one(["fro", "nuc", 1.0, 2.0, float("inf"), -1.0, -2.0, float("-inf")])
        keep = d.chance(0.3)
        y = torch.linalg.matrix_norm(tt(x), q, keepdim=keep).numpy()
        return [x, q, None, keep], [out(p, y, 256, size(x.a))]
    if name == "multi_dot":
        sizes = [d.int(1, 6) for _ in range(d.int(3, 5))]
        xs = Xs(d.tensor(t, s, "unit") for s in zip(sizes, sizes[1:]))
        y = w2(xs[0])
        for v in xs[1:]:
            y = y @ w2(v)
        return [xs], [out(t, y, 64, 200.0)]
    n = d.int(1, 3) * 2
    a = V(t, matrix(d, t, (n, n)).reshape(2, n // 2, n))
    b = d.tensor(t, (2, n // 2), "plain")
    return [a, b], [out(t, np.linalg.tensorsolve(w2(a), w2(b)))]
