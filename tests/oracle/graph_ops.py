"""Draws ops of random graphs (gradients.py): functions of a graph, a value and all values to a new value, or None where they do not
apply to it."""
import functools

import torch
import torch.nn.functional as F

from values import V

OPS = []


class Value:
    """Holds torch's value, and which leaf or op it is of. `exact`: another library has the same bits."""

    def __init__(self, x, at, exact=True):
        self.x, self.at, self.exact = x, at, exact


class Many(list):
    """A list of values as one argument."""


# Ops with kinks, which of numbers that rounding decides may be on either side of them.
KINKED = {"abs", "relu", "elu", "selu", "celu", "leaky_relu", "relu6", "hardtanh", "hardswish", "hardsigmoid", "hardshrink", "softshrink",
          "softplus", "mish", "frac", "maximum", "minimum", "fmax", "fmin", "copysign", "clip", "max", "min", "ptp", "cummax", "cummin", "std",
          "vector_norm", "scatter_reduce", "l1_loss", "huber_loss", "smooth_l1_loss", "softsign"}
# Ops that round as they do everywhere, or not at all.
EXACT = {"negative", "add", "subtract", "multiply", "square", "where", "reshape", "permute_dims", "expand_dims", "broadcast_to", "flip", "narrow",
         "select", "roll", "tile", "repeat_interleave", "diff", "pad/torch", "sliding_window_view", "tril", "triu", "diagonal", "rot90",
         "concat", "stack", "take", "index_select", "take_along_axis", "gather", "masked_fill", "masked_select", "select_scatter",
         "slice_scatter", "scatter", "index_copy", "unstack", "sum", "matmul"} | (KINKED - {"elu", "selu", "celu", "leaky_relu", "hardswish",
         "hardsigmoid", "softplus", "mish", "std", "vector_norm", "l1_loss", "huber_loss", "smooth_l1_loss", "softsign"})


def op(f, times=1):
    OPS.extend([f] * times)
    return f


def least(x):
    return float(x.min()) if x.numel() else 1.0


def most(x):
    return float(x.abs().max()) if x.numel() else 0.0


def below(limit):
    return lambda x: most(x) < limit


def above(limit):
    return lambda x: least(x) > limit


def anywhere(x):
    return True


def elementwise(name, f, fits=anywhere, times=1):
    def apply(g, v, values):
        return g.apply(name, [v], f(v.x)) if fits(v.x.detach()) else None

    op(apply, times)


for name, f, fits in [
        ("negative", torch.neg, anywhere), ("abs", torch.abs, anywhere), ("square", torch.square, anywhere),
        ("sin", torch.sin, anywhere), ("cos", torch.cos, anywhere), ("tanh", torch.tanh, anywhere),
        ("sigmoid", torch.sigmoid, anywhere), ("atan", torch.atan, anywhere), ("asinh", torch.asinh, anywhere),
        ("erf", torch.erf, anywhere), ("erfc", torch.erfc, below(3)), ("relu", torch.relu, anywhere), ("gelu", F.gelu, anywhere),
        ("silu", F.silu, anywhere), ("mish", F.mish, anywhere), ("softplus", F.softplus, anywhere), ("elu", F.elu, anywhere),
        ("selu", F.selu, anywhere), ("celu", F.celu, anywhere), ("leaky_relu", F.leaky_relu, anywhere),
        ("relu6", F.relu6, anywhere), ("hardtanh", F.hardtanh, anywhere), ("hardswish", F.hardswish, anywhere),
        ("hardsigmoid", lambda x: F.relu6(x + 3) / 6, anywhere), ("softsign", F.softsign, anywhere), ("tanhshrink", F.tanhshrink, anywhere),
        ("logsigmoid", F.logsigmoid, anywhere), ("hardshrink", F.hardshrink, anywhere), ("softshrink", F.softshrink, anywhere),
        ("exp", torch.exp, below(5)), ("expm1", torch.expm1, below(5)), ("sinh", torch.sinh, below(5)), ("cosh", torch.cosh, below(5)),
        ("exp2", torch.exp2, below(5)), ("ndtr", torch.special.ndtr, below(5)), ("log_ndtr", torch.special.log_ndtr, below(5)),
        ("sinc", torch.sinc, lambda x: x.numel() > 0 and float(x.abs().min()) > 0.01), ("i0", torch.special.i0, below(5)), ("i1", torch.special.i1, below(5)),
        ("log", torch.log, above(0.05)), ("log2", torch.log2, above(0.05)), ("log10", torch.log10, above(0.05)),
        ("log1p", torch.log1p, above(-0.9)), ("sqrt", torch.sqrt, above(0.05)), ("rsqrt", torch.rsqrt, above(0.05)),
        ("lgamma", torch.lgamma, above(0.3)),  # not digamma: the derivative of torch's is wrong by 1e-9
       
        ("reciprocal", torch.reciprocal, lambda x: x.numel() > 0 and float(x.abs().min()) > 0.1), ("asin", torch.asin, below(0.95)),
        ("acos", torch.acos, below(0.95)), ("atanh", torch.atanh, below(0.95)), ("erfinv", torch.erfinv, below(0.95)),
        ("acosh", torch.acosh, above(1.05)), ("tan", torch.tan, below(1.3)),
        ("frac", torch.frac, anywhere), ("deg2rad", torch.deg2rad, anywhere), ("nan_to_num", torch.nan_to_num, anywhere)]:
    elementwise(name, f, fits)


def other(g, v, values):
    """Draws a value that broadcasts with v: one of the graph, or a leaf."""
    fit = [w for w in values if broadcast(v.x.shape, w.x.shape)]
    return g.d.one(fit) if fit and g.d.chance(0.4) else g.leaf(g.d.broadcasts_to(tuple(v.x.shape)))


def broadcast(a, b):
    try:
        return torch.broadcast_shapes(a, b)
    except RuntimeError:
        return None


def pair(name, f, fits=lambda a, b: True, times=1):
    def apply(g, v, values):
        w = other(g, v, values)
        a, b = (v, w) if g.d.chance(0.5) else (w, v)
        return g.apply(name, [a, b], f(a.x, b.x)) if fits(a.x.detach(), b.x.detach()) else None

    op(apply, times)


def apart(a, b):
    """True if no vector is near 0, or near where the angle jumps."""
    if a.numel() == 0 or b.numel() == 0:
        return True
    return float(torch.hypot(a, b).min()) > 0.1 and not bool(((a.abs() < 0.01) & (b < 0)).any())


pair("add", torch.add, times=4)
pair("subtract", torch.sub, times=2)
pair("multiply", torch.mul, times=5)
pair("divide", torch.div, lambda a, b: b.numel() > 0 and float(b.abs().min()) > 0.1, times=3)
pair("maximum", torch.maximum, times=2)
pair("minimum", torch.minimum, times=2)
pair("atan2", torch.atan2, apart)
pair("hypot", torch.hypot, apart)
pair("logaddexp", torch.logaddexp)
pair("logaddexp2", torch.logaddexp2)
pair("pow", torch.pow, lambda a, b: least(a) > 0.1 and most(b) < 4, times=3)
pair("xlogy", torch.xlogy, lambda a, b: least(b) > 0.05)
pair("fmax", torch.fmax)
pair("fmin", torch.fmin)


@op
def copysign(g, v, values):
    w = other(g, v, values)
    if least(w.x.detach().abs()) < 0.01:  # the sign of a 0 is not what sums of it leave
        return None
    return g.apply("copysign", [v, w], torch.copysign(v.x, w.x))


def with_number(name, f, draw, fits=lambda x, n: True, times=1):
    def apply(g, v, values):
        n = float(draw(g.d))
        return g.apply(name, [v, n], f(v.x, n)) if fits(v.x.detach(), n) else None

    op(apply, times)


with_number("multiply", torch.mul, lambda d: d.int(-8, 8) / 4, times=2)
with_number("add", torch.add, lambda d: d.int(-8, 8) / 4, times=3)
with_number("divide", torch.div, lambda d: d.one([-2, 0.5, 3]))
with_number("pow", torch.pow, lambda d: d.one([0, 1, 2, 3]), times=3)
with_number("pow", torch.pow, lambda d: d.one([0.5, -1, 1.5, -2]), lambda x, n: least(x) > 0.1, times=2)
with_number("maximum", lambda x, n: torch.maximum(x, torch.tensor(n, dtype=x.dtype)), lambda d: d.int(-2, 2) / 2)


@op
def clip(g, v, values):
    low, high = g.d.int(-4, 1) / 2, g.d.int(1, 4) / 2
    kind = g.d.int(0, 3)
    if kind == 0:
        return g.apply("clip", [v, float(low), None], torch.clamp(v.x, min=low))
    if kind == 1:
        return g.apply("clip", [v, None, float(high)], torch.clamp(v.x, max=high))
    if kind == 2:
        return g.apply("clip", [v, float(low), float(high)], torch.clamp(v.x, low, high))
    if g.ties:  # x that equals both bounds has no one gradient
        return None
    a, b = g.leaf(g.d.broadcasts_to(tuple(v.x.shape))), g.leaf(g.d.broadcasts_to(tuple(v.x.shape)))
    return g.apply("clip", [v, a, b], torch.clamp(v.x, a.x, b.x))


@op
def of_three(g, v, values):
    a, b = other(g, v, values), other(g, v, values)
    if broadcast(broadcast(v.x.shape, a.x.shape), b.x.shape) is None:
        return None
    kind = g.d.one(["fma", "lerp", "addcmul", "where"])
    if kind == "fma":
        return g.apply("fma", [v, a, b], v.x * a.x + b.x)
    if kind == "lerp":
        return g.apply("lerp", [v, a, b], v.x + b.x * (a.x - v.x))
    if kind == "addcmul":
        return g.apply("addcmul", [v, a, b, 0.5], torch.addcmul(v.x, a.x, b.x, value=0.5))
    mask = g.given(g.d.rng.integers(0, 2, g.d.broadcasts_to(tuple(v.x.shape))).astype(bool), "bool")
    return g.apply("where", [mask, v, a], torch.where(mask.x, v.x, a.x))


# Reductions and scans.


def some_axes(g, rank):
    """Draws axes, and the same for torch."""
    if rank == 0 or g.d.chance(0.2):
        return None, tuple(range(rank))
    some = [int(i) for i in g.d.rng.permutation(rank)[:g.d.int(1, rank)]]
    return [i - rank if g.d.chance(0.3) else i for i in some], tuple(some)


def reduction(name, f, fits=lambda x, axes: x.numel() > 0, times=1):
    def apply(g, v, values):
        axes, along = some_axes(g, v.x.dim())
        keep = g.d.chance(0.4)
        if not fits(v.x.detach(), along):
            return None
        return g.apply(name, [v, axes, keep], f(v.x, along, keep))

    op(apply, times)


def count(x, axes):
    return functools.reduce(lambda n, a: n * x.shape[a], axes, 1)


def product(x, axes, keep):
    for a in sorted(axes, reverse=True):
        x = x.prod(a, keep)
    return x


def several(x, axes):
    return x.numel() > 0 and count(x, axes) > 1


reduction("sum", lambda x, a, k: x.sum(a, k) if a else x * 1, times=3)
reduction("mean", lambda x, a, k: x.mean(a, k) if a else x * 1, times=3)
reduction("prod", product, times=2)
reduction("max", lambda x, a, k: torch.amax(x, a, k), times=2)
reduction("min", lambda x, a, k: torch.amin(x, a, k))
reduction("logsumexp", lambda x, a, k: torch.logsumexp(x, a, k) if a else x * 1)
reduction("var", lambda x, a, k: torch.var(x, a, correction=0, keepdim=k) if a else x * 0)
reduction("std", lambda x, a, k: torch.std(x, a, correction=0, keepdim=k),
          lambda x, a: several(x, a) and float(torch.std(x, a, correction=0).min()) > 0.01)
reduction("nansum", lambda x, a, k: torch.nansum(x, a, k) if a else x * 1)
reduction("nanmean", lambda x, a, k: torch.nanmean(x, a, k) if a else x * 1)
reduction("ptp", lambda x, a, k: torch.amax(x, a, k) - torch.amin(x, a, k))


@op
def spread(g, v, values):
    axes, along = some_axes(g, v.x.dim())
    if not several(v.x, along):
        return None
    return g.apply("var", [v, axes, False, 1.0], torch.var(v.x, along, correction=1))


@op
def norm(g, v, values):
    axes, along = some_axes(g, v.x.dim())
    p = g.d.one([1.0, 2.0, 2.0, 3.0, 0.5, float("inf"), 1.5])
    if v.x.numel() == 0 or not along:
        return None
    return g.apply("vector_norm", [v, p, axes], torch.linalg.vector_norm(v.x, p, along))


def along_axis(name, f, fits=lambda g, x, axis: True, more=(), as_list=True, times=1):
    """Registers an op along one axis."""

    def apply(g, v, values):
        if v.x.dim() == 0 or v.x.numel() == 0:
            return None
        axis = g.d.int(-v.x.dim(), v.x.dim() - 1)
        if not fits(g, v.x.detach(), axis):
            return None
        return g.apply(name, [v, [axis] if as_list else axis, *more], f(v.x, axis))

    op(apply, times)


def no_ties(g, x, axis):
    s = x.sort(axis).values.diff(dim=axis).abs()
    return not g.ties and (s.numel() == 0 or float(s.min()) > 1e-4)


along_axis("cumsum", torch.cumsum, times=2)
along_axis("cumprod", torch.cumprod)
along_axis("cummax", lambda x, a: torch.cummax(x, a).values)
along_axis("cummin", lambda x, a: torch.cummin(x, a).values)
along_axis("logcumsumexp", torch.logcumsumexp)
along_axis("softmax", torch.softmax, as_list=False, times=2)
along_axis("log_softmax", torch.log_softmax, as_list=False)
along_axis("sort", lambda x, a: torch.sort(x, a).values, no_ties, as_list=False)
along_axis("sort", lambda x, a: torch.sort(x, a, descending=True).values, no_ties, more=(True,), as_list=False)
along_axis("flip", lambda x, a: torch.flip(x, (a,)), times=2)
along_axis("unstack", lambda x, a: x.unbind(a)[0], as_list=False)
along_axis("median", lambda x, a: torch.quantile(x, 0.5, a), no_ties)


@op
def chosen(g, v, values):
    if v.x.dim() == 0 or v.x.numel() == 0:
        return None
    axis = g.d.int(0, v.x.dim() - 1)
    if not no_ties(g, v.x.detach(), axis):
        return None
    k = g.d.int(1, v.x.shape[axis])
    if g.d.chance(0.5):
        return g.apply("topk", [v, k, axis], torch.topk(v.x, k, axis).values)
    return g.apply("kthvalue", [v, k, axis], torch.kthvalue(v.x, k, axis).values)


# Views.


@op
def reshaped(g, v, values):
    shape = [v.x.numel()]
    for _ in range(g.d.int(0, 2)):
        for n in (2, 3, 5, 1):
            if shape[-1] % n == 0 and shape[-1] > 0:
                shape[-1:] = [n, shape[-1] // n]
                break
    return g.apply("reshape", [v, shape], v.x.reshape(shape))


@op
def permuted(g, v, values):
    if v.x.dim() < 2:
        return None
    order = [int(i) for i in g.d.rng.permutation(v.x.dim())]
    return g.apply("permute_dims", [v, order], v.x.permute(order))


@op
def expanded(g, v, values):
    axis = g.d.int(0, v.x.dim())
    return g.apply("expand_dims", [v, axis], v.x.unsqueeze(axis)) if v.x.dim() < 4 else None


@op
def broadcasted(g, v, values):
    shape = [n if n != 1 else g.d.int(1, 3) for n in v.x.shape]
    if len(shape) < 4:
        shape = [g.d.int(1, 3)] + shape
    return g.apply("broadcast_to", [v, shape], torch.broadcast_to(v.x, shape))


@op
def narrowed(g, v, values):
    if v.x.dim() == 0:
        return None
    axis = g.d.int(0, v.x.dim() - 1)
    n = v.x.shape[axis]
    if n == 0:
        return None
    start = g.d.int(0, n - 1)
    if g.d.chance(0.3):
        return g.apply("select", [v, axis, start], v.x.select(axis, start))
    length = g.d.int(1, n - start)
    return g.apply("narrow", [v, axis, start, length], v.x.narrow(axis, start, length))


@op
def moved(g, v, values):
    if v.x.dim() == 0:
        return None
    axis, n = g.d.int(0, v.x.dim() - 1), g.d.int(-3, 3)
    kind = g.d.one(["roll", "tile", "repeat", "diff", "pad", "windows"])
    if kind == "roll":
        return g.apply("roll", [v, [n], [axis]], torch.roll(v.x, n, axis))
    if kind == "tile":
        times = [g.d.int(1, 2) for _ in v.x.shape]
        return g.apply("tile", [v, times], torch.tile(v.x, times))
    if kind == "repeat":
        return g.apply("repeat_interleave", [v, 2, [axis]], torch.repeat_interleave(v.x, 2, axis))
    if kind == "diff":
        return g.apply("diff", [v, 1, axis], torch.diff(v.x, dim=axis)) if v.x.shape[axis] > 1 else None
    if kind == "windows":
        w, step = g.d.int(1, 3), g.d.int(1, 2)
        if v.x.shape[axis] < w or v.x.dim() > 3:
            return None
        return g.apply("sliding_window_view", [v, [w], [axis], [step]], v.x.unfold(axis, w, step))
    widths = [g.d.int(0, 2), g.d.int(0, 2)]
    mode = g.d.one(["constant", "reflect", "replicate", "circular"])
    if mode == "constant":
        return g.apply("pad/torch", [v, widths, mode, 0.5], F.pad(v.x, widths, mode, 0.5))
    if v.x.dim() < 2 or v.x.dim() > 3 or v.x.shape[-1] <= 2:
        return None
    return g.apply("pad/torch", [v, widths, mode], F.pad(v.x, widths, mode))


@op
def triangle(g, v, values):
    if v.x.dim() < 2:
        return None
    k = g.d.int(-1, 1)
    kind = g.d.one(["tril", "triu", "diagonal", "rot90"])
    if kind == "rot90":
        return g.apply("rot90", [v, k], torch.rot90(v.x, k))
    if kind == "diagonal":
        if v.x.dim() != 2 or min(v.x.shape) < 2:
            return None
        return g.apply("diagonal", [v, k], torch.diagonal(v.x, k))
    return g.apply(kind, [v, k], getattr(torch, kind)(v.x, k))


@op
def joined(g, v, values):
    same = [w for w in values if w.x.shape == v.x.shape]
    w = g.d.one(same) if g.d.chance(0.5) else g.leaf(tuple(v.x.shape))
    both = Many([v, w] if g.d.chance(0.5) else [w, v, v])
    xs = [b.x for b in both]
    if g.d.chance(0.5):
        axis = g.d.int(0, v.x.dim())
        return g.apply("stack", [both, axis], torch.stack(xs, axis)) if v.x.dim() < 4 else None
    if v.x.dim() == 0:
        return None
    axis = g.d.int(-v.x.dim(), v.x.dim() - 1)
    return g.apply("concat", [both, axis], torch.cat(xs, axis))


# Products.


@op
def multiplied(g, v, values):
    if v.x.dim() == 0 or v.x.shape[-1] == 0:
        return None
    k, n = v.x.shape[-1], g.d.int(1, 4)
    if g.d.chance(0.3):
        return g.apply("linear", [v, w := g.leaf((n, k)), b := g.leaf((n,))], F.linear(v.x, w.x, b.x))
    batch = tuple(v.x.shape[:-2]) if v.x.dim() > 2 and g.d.chance(0.3) else ()
    w = g.leaf((k,) if g.d.chance(0.2) else (*batch, k, n))
    return g.apply("matmul", [v, w], torch.matmul(v.x, w.x))


OPS += [multiplied] * 3


@op
def outer(g, v, values):
    if v.x.dim() == 1:
        w = g.leaf((g.d.int(1, 4),))
        return g.apply("outer", [v, w], torch.outer(v.x, w.x))
    if v.x.dim() != 2:
        return None
    kind = g.d.int(0, 4)
    if kind == 0:
        return g.apply("einsum", ["ij,ij->j", Many([v, w := g.leaf(tuple(v.x.shape))])], torch.einsum("ij,ij->j", v.x, w.x))
    if kind == 1:
        w = g.leaf((2, v.x.shape[1]))
        return g.apply("einsum", ["ij,kj->ik", Many([v, w])], torch.einsum("ij,kj->ik", v.x, w.x))
    if kind == 2:
        return g.apply("kron", [v, w := g.leaf((2, 1))], torch.kron(v.x, w.x))
    if kind == 3:
        return g.apply("vecdot", [v, w := g.leaf(tuple(v.x.shape)), -1], torch.linalg.vecdot(v.x, w.x))
    return g.apply("trace", [v], torch.trace(v.x))


@op
def of_matrix(g, v, values):
    if v.x.dim() != 2 or v.x.numel() == 0 or most(v.x.detach()) > 4:
        return None
    m, n = v.x.shape
    kind = g.d.one(["solve", "inv", "det", "matrix_exp", "svdvals", "cholesky", "eigvalsh", "pinv", "qr"])
    if kind == "solve":
        a = g.add_leaf(g.d.of(g.t, g.d.rng.normal(0, 0.3, (m, m)) + 2 * torch.eye(m).numpy()))
        return g.apply("solve", [a, v], torch.linalg.solve(a.x, v.x))
    if kind in ("svdvals", "pinv", "qr"):
        s = torch.linalg.svdvals(v.x.detach())
        if float(s[-1]) < 0.2 or (len(s) > 1 and float(s.diff().abs().min()) < 0.1):
            return None
        if kind == "qr":
            return g.apply("qr", [v], torch.linalg.qr(v.x).Q)
        return g.apply(kind, [v], getattr(torch.linalg, kind)(v.x))
    if kind == "cholesky":
        product = g.apply("matmul", [v, g.apply("matrix_transpose", [v], v.x.mT)], v.x @ v.x.mT)
        eye = g.add_leaf(V(g.t, torch.eye(m).numpy()))
        a = g.apply("add", [product, eye], product.x + eye.x)
        return g.apply("cholesky", [a], torch.linalg.cholesky(a.x))
    if m != n:
        return None
    if kind == "eigvalsh":
        a = g.apply("add", [v, g.apply("matrix_transpose", [v], v.x.mT)], v.x + v.x.mT)
        s = torch.linalg.eigvalsh(a.x.detach())
        if len(s) > 1 and float(s.diff().min()) < 0.1:
            return None
        return g.apply("eigvalsh", [a], torch.linalg.eigvalsh(a.x))
    if kind == "inv" and float(torch.linalg.cond(v.x.detach())) > 30:
        return None
    if kind == "det" and float(torch.linalg.cond(v.x.detach())) > 1e6:
        return None
    return g.apply(kind, [v], {"inv": torch.linalg.inv, "det": torch.linalg.det, "matrix_exp": torch.linalg.matrix_exp}[kind](v.x))


# Computed indices.


def indices(g, n, shape):
    return g.given(g.d.rng.integers(0, n, shape), "int64")


@op
def picked(g, v, values):
    if v.x.dim() == 0 or v.x.numel() == 0:
        return None
    axis = g.d.int(0, v.x.dim() - 1)
    n = v.x.shape[axis]
    if g.d.chance(0.5):
        i = indices(g, n, (g.d.int(1, 4),))
        return g.apply(*(("take", [v, i, axis]) if g.d.chance(0.5) else ("index_select", [v, axis, i])), torch.index_select(v.x, axis, i.x))
    shape = list(v.x.shape)
    shape[axis] = g.d.int(1, 4)
    i = indices(g, n, shape)
    return g.apply(*(("take_along_axis", [v, i, axis]) if g.d.chance(0.5) else ("gather", [v, axis, i])), torch.gather(v.x, axis, i.x))


@op
def stored(g, v, values):
    if v.x.dim() == 0 or v.x.numel() == 0:
        return None
    axis = g.d.int(0, v.x.dim() - 1)
    n = v.x.shape[axis]
    shape = list(v.x.shape)
    shape[axis] = k = g.d.int(1, 4)
    u = g.leaf(tuple(shape))
    kind = g.d.one(["scatter_add", "index_add", "prod", "amin", "amax", "sum", "scatter", "index_copy"])
    if kind == "index_add":
        i = indices(g, n, (k,))
        return g.apply(kind, [v, axis, i, u], torch.index_add(v.x, axis, i.x, u.x))
    if kind in ("scatter", "index_copy"):  # of several updates of one element torch takes any
        if k > n:
            return None
        order = g.given(g.d.rng.permutation(n)[:k], "int64")
        if kind == "index_copy":
            return g.apply(kind, [v, axis, order, u], torch.index_copy(v.x, axis, order.x, u.x))
        i = g.apply("broadcast_to", [g.apply("reshape", [order, s := [k if a == axis else 1 for a in range(len(shape))]], order.x.reshape(s)),
                                     shape], order.x.reshape(s).expand(shape))
        return g.apply(kind, [v, axis, i, u], torch.scatter(v.x, axis, i.x, u.x))
    i = indices(g, n, shape)
    if kind == "scatter_add":
        return g.apply(kind, [v, axis, i, u], torch.scatter_add(v.x, axis, i.x, u.x))
    return g.apply("scatter_reduce", [v, axis, i, u, kind], torch.scatter_reduce(v.x, axis, i.x, u.x, kind))


@op
def masked(g, v, values):
    mask = g.given(g.d.rng.integers(0, 2, tuple(v.x.shape)).astype(bool), "bool")
    kind = g.d.one(["masked_fill", "masked_select", "where"])
    if kind == "masked_fill":
        return g.apply(kind, [v, mask, 0.25], torch.masked_fill(v.x, mask.x, 0.25))
    if kind == "masked_select":
        return g.apply(kind, [v, mask], torch.masked_select(v.x, mask.x)) if v.x.dim() and bool(mask.x.any()) else None
    w = g.leaf(g.d.broadcasts_to(tuple(v.x.shape)))
    return g.apply(kind, [mask, w, v], torch.where(mask.x, w.x, v.x))


@op
def part_replaced(g, v, values):
    if v.x.dim() == 0 or v.x.numel() == 0:
        return None
    axis = g.d.int(0, v.x.dim() - 1)
    shape, n = list(v.x.shape), v.x.shape[axis]
    if g.d.chance(0.5):
        i = g.d.int(0, n - 1)
        del shape[axis]
        u = g.leaf(tuple(shape))
        return g.apply("select_scatter", [v, u, axis, i], torch.select_scatter(v.x, u.x, axis, i))
    start, step = g.d.int(0, n - 1), g.d.int(1, 2)
    shape[axis] = len(range(start, n, step))
    u = g.leaf(tuple(shape))
    return g.apply("slice_scatter", [v, u, axis, start, n, step], torch.slice_scatter(v.x, u.x, axis, start, n, step))


# Layers and losses.


@op
def normed(g, v, values):
    if v.x.dim() == 0 or v.x.shape[-1] < 2 or v.x.numel() == 0:
        return None
    n = v.x.shape[-1]
    kind = g.d.one(["layer_norm", "rms_norm", "normalize", "glu"])
    if float(v.x.detach().var(-1, correction=0).min()) < 0.01:
        return None
    if kind == "layer_norm":
        w, b = g.leaf((n,)), g.leaf((n,))
        return g.apply(kind, [v, [n], w, b, 1e-5], F.layer_norm(v.x, (n,), w.x, b.x, 1e-5))
    if kind == "rms_norm":
        w = g.leaf((n,))
        return g.apply(kind, [v, [n], w, 1e-5], F.rms_norm(v.x, (n,), w.x, 1e-5))
    if kind == "normalize":
        return g.apply(kind, [v, 2.0, [-1]], F.normalize(v.x, dim=-1))
    return g.apply(kind, [v, -1], F.glu(v.x, -1)) if n % 2 == 0 else None


@op
def loss(g, v, values):
    reduction = g.d.one(["mean", "sum", "none"])
    kind = g.d.one(["mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "binary_cross_entropy_with_logits", "cross_entropy", "nll_loss"])
    if kind in ("cross_entropy", "nll_loss"):
        if v.x.dim() != 2 or v.x.numel() == 0:
            return None
        ids = indices(g, v.x.shape[1], (v.x.shape[0],))
        if kind == "cross_entropy":
            return g.apply(kind, [v, ids], F.cross_entropy(v.x, ids.x))
        return g.apply(kind, [v, ids], F.nll_loss(v.x, ids.x))
    w = g.leaf(tuple(v.x.shape), "unit" if kind.startswith("binary") else "plain")
    more = {"huber_loss": [1.0], "smooth_l1_loss": [1.0], "binary_cross_entropy_with_logits": [None, None]}.get(kind, [])
    return g.apply(kind, [v, w, *more, reduction], getattr(F, kind)(v.x, w.x, reduction=reduction)) if v.x.numel() else None


@op
def convolved(g, v, values):
    if v.x.dim() != 3 or v.x.numel() == 0 or v.x.shape[2] < 3:
        return None
    w = g.leaf((2, v.x.shape[1], g.d.int(1, 3)))
    return g.apply("conv1d", [v, w], F.conv1d(v.x, w.x))
