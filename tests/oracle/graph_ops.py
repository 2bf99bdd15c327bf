"""Draws ops of random graphs (gradients.py): functions of a graph, a value and all values to a new value, or None where they do not
apply to it. Those of elements, reductions and scans; graph_parts.py has the others."""
import functools

import torch
import torch.nn.functional as F

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
