#!/usr/bin/env python3
"""Compares gradients of losses and functions with torch's at corners: kinks, ties, zeros, saturation, infinities, in float64.

    pip install numpy torch && python3 tests/oracle/corners.py --program build/release/tests/oracle/lazy_oracle --cases 20000

A case is one function, whose arguments are mostly corners. The value and the gradients by all arguments must be torch's to 1e-10, but
where torch's are NaN ours may be finite. `--seed S --only N` runs one case again; `--functions NAME,NAME` draws of these alone;
`--golden FILE` writes cases that `lazy_oracle check` reads.
"""
import argparse
import collections
import itertools
import math
import os
import sys
import warnings

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from compare import answers  # noqa: E402
from draw import Draw  # noqa: E402
from gradients import Graph  # noqa: E402
from values import Out, V, from_bits  # noqa: E402

warnings.simplefilter("ignore")
torch.set_num_threads(1)

TOLERANCE = 1e-10
INFINITE = [math.inf, -math.inf]
CORNERS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 6.0, 20.0, -20.0, 1e-8, -1e-8, 1e-17, -1e-17, 1e-300, 40.0, -40.0, 100.0,
           -100.0, 710.0, -745.0, 1e4, -1e4, 1e10, -1e10]
MILD = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, 1e-8, 1e-4, 100.0, -100.0]
LONG = [v for v in MILD if abs(v) != 1e-8]  # for lengths, whose derivatives at small ones are differences of large numbers
SATURATED = [v for v in CORNERS if not 5 < v < 37]  # for sigmoids: between, their last digit decides how far they are from 1
FUNCTIONS = {}

# Where torch's own derivative is less precise than 1e-10 (a constant of float32, differences of large numbers) another way of writing the
# function stands, or arguments are left out.


class Leaves:
    """Draws the arguments of a case."""

    def __init__(self, draw):
        self.d = draw
        self.g = Graph(draw)
        self.g.ties = False  # values need not be those of several libraries

    def numbers(self, shape, corners=CORNERS, share=0.6, infinite=0.05):
        """Draws numbers of which `share` are corners; ties are likely. In one of ten cases some are infinite."""
        rng = self.d.rng
        if self.d.chance(0.4):  # a few corners, and so ties
            corners = [self.d.one(corners) for _ in range(3)]
        a = np.where(rng.random(shape) < share, rng.choice(corners, shape), rng.normal(0, 2, shape))
        if infinite and self.d.chance(0.1):
            a = np.where(rng.random(shape) < 3 * infinite, rng.choice(INFINITE, shape), a)
        return a

    def leaf(self, a):
        return self.g.add_leaf(V("float64", a))

    def of(self, shape, **more):
        return self.leaf(self.numbers(shape, **more))

    def unit(self, shape):
        """Draws probabilities."""
        rng = self.d.rng
        some = [0.0, 1.0, 0.5, 1e-17, 1 - 2.0 ** -53, 1e-12, 1e-300, 1e-8]
        return np.where(rng.random(shape) < 0.6, rng.choice(some, shape), rng.random(shape))

    def weights(self, shape):
        """Draws weights, or None."""
        rng = self.d.rng
        return self.given(np.where(rng.random(shape) < 0.3, 0.0, rng.random(shape) * 2)) if self.d.chance(0.4) else None

    def given(self, a, t="float64"):
        return Given(t, a)

    def reduction(self):
        return self.d.one(["none", "mean", "sum"])

    def shape(self):
        return self.d.one([(7,), (2, 3), (1,), (4, 5), (3, 1)])


class Given(V):
    """Holds an argument that no gradient is asked of."""

    @property
    def x(self):
        return torch.tensor(self.a)


def of(x):
    return None if x is None else x.x


def function(name):
    def register(f):
        FUNCTIONS[name] = f
        return f

    return register


def unary(name, f, corners=(), domain=None):
    def case(c):
        a = c.numbers(c.shape(), CORNERS + list(corners))
        if domain:
            a = np.where(domain(a), a, 0.25)
        x = c.leaf(a)
        return [x], f(x.x)

    FUNCTIONS[name] = case


for name, f, *more in [
        ("abs", torch.abs), ("relu", torch.relu), ("relu6", F.relu6), ("hardtanh", F.hardtanh), ("hardswish", F.hardswish),
        ("hardsigmoid", lambda x: F.relu6(x + 3) / 6), ("hardshrink", F.hardshrink), ("softshrink", F.softshrink), ("leaky_relu", F.leaky_relu),
        ("elu", F.elu), ("selu", F.selu), ("celu", F.celu), ("silu", F.silu), ("gelu", F.gelu), ("mish", F.mish), ("softplus", F.softplus),
        ("softsign", F.softsign), ("tanhshrink", F.tanhshrink), ("logsigmoid", F.logsigmoid), ("sigmoid", torch.sigmoid),
        ("tanh", torch.tanh), ("exp", torch.exp), ("expm1", torch.expm1), ("exp2", torch.exp2), ("sinh", torch.sinh), ("cosh", torch.cosh),
        ("atan", torch.atan), ("asinh", torch.asinh), ("erf", torch.erf), ("erfc", torch.erfc), ("square", torch.square),
        ("sign", torch.sign), ("floor", torch.floor), ("ceil", torch.ceil), ("trunc", torch.trunc), ("round", torch.round),
        ("frac", torch.frac), ("nan_to_num", torch.nan_to_num), ("negative", torch.neg), ("reciprocal", torch.reciprocal),
        ("log", torch.log, [], lambda a: a >= 0), ("log2", torch.log2, [], lambda a: a >= 0), ("log10", torch.log10, [], lambda a: a >= 0),
        ("log1p", torch.log1p, [], lambda a: a >= -1), ("sqrt", torch.sqrt, [], lambda a: a >= 0), ("rsqrt", torch.rsqrt, [], lambda a: a >= 0),
        ("asin", torch.asin, [], lambda a: abs(a) <= 1), ("acos", torch.acos, [], lambda a: abs(a) <= 1),
        ("atanh", torch.atanh, [], lambda a: abs(a) <= 1), ("acosh", torch.acosh, [], lambda a: a >= 1),
        ("erfinv", torch.erfinv, [], lambda a: abs(a) <= 1), ("logit", torch.logit, [], lambda a: (a >= 0) & (a <= 1)),
        ("sinc", torch.sinc, [], lambda a: (a == 0) | (abs(a) > 0.01)), ("lgamma", torch.lgamma, [], lambda a: a > 0), ("entr", torch.special.entr), ("ndtr", torch.special.ndtr),
        ("log_ndtr", torch.special.log_ndtr, [], lambda a: a > -20), ("i0", torch.special.i0, [], lambda a: abs(a) < 50),
        ("i1", torch.special.i1, [], lambda a: abs(a) < 50), ("i0e", torch.special.i0e), ("i1e", torch.special.i1e),
        ("erfcx", torch.special.erfcx, [], lambda a: abs(a) < 20), ("deg2rad", torch.deg2rad)]:
    unary(name, f, *more)


def pair(name, f, fits=lambda a, b: np.ones(np.shape(a), bool)):
    def case(c):
        shape = c.shape()
        a, b = c.numbers(shape), c.numbers(shape)
        if c.d.chance(0.4):
            b = np.where(c.d.rng.random(shape) < 0.5, a, b)
        good = fits(a, b)
        x, y = c.leaf(np.where(good, a, 1.5)), c.leaf(np.where(good, b, 0.75))
        return [x, y], f(x.x, y.x)

    FUNCTIONS[name] = case


for name, f, *more in [
        ("add", torch.add), ("subtract", torch.sub), ("multiply", torch.mul), ("divide", torch.div), ("maximum", torch.maximum),
        ("minimum", torch.minimum), ("fmax", torch.fmax), ("fmin", torch.fmin), ("atan2", torch.atan2, lambda a, b: (abs(a) > 1e-100) & (abs(b) > 1e-100)), ("hypot", torch.hypot),
        ("logaddexp", torch.logaddexp), ("logaddexp2", torch.logaddexp2), ("pow", torch.pow, lambda a, b: a >= 0),
        ("xlogy", torch.xlogy, lambda a, b: b >= 0), ("copysign", torch.copysign),
        ("fmod", torch.fmod, lambda a, b: (abs(b) > 1e-3) & (abs(a) < 1e9)), ("remainder", torch.remainder, lambda a, b: (abs(b) > 1e-3) & (abs(a) < 1e9))]:
    pair(name, f, *more)


@function("pow/number")
def power(c):
    n = c.d.one([0.0, 1.0, 2.0, 3.0, -1.0, 0.5, -2.0, 1.5])
    a = c.numbers(c.shape())
    x = c.leaf(np.where((a >= 0) | (n == int(n)), a, 1.5))
    return ["pow", x, n], torch.pow(x.x, n)


@function("clip")
def clip(c):
    x = c.of(c.shape())
    low, high = c.d.one([-2.0, 0.0, -0.5]), c.d.one([0.0, 2.0, 0.5, 6.0])
    return [x, low, high], torch.clamp(x.x, low, high)


@function("threshold")
def threshold(c):
    x, t, v = c.of(c.shape()), c.d.one([0.0, 1.0, -0.5]), c.d.one([0.0, 2.0])
    return [x, t, v], F.threshold(x.x, t, v)


@function("softplus/options")
def softplus(c):
    x, beta, limit = c.of(c.shape()), c.d.one([1.0, 0.5, 4.0]), c.d.one([20.0, 1.0])
    return ["softplus", x, beta, limit], F.softplus(x.x, beta, limit)


@function("prelu")
def prelu(c):
    x, w = c.of((3, 4)), c.of((4,), infinite=0)
    return [x, w], F.prelu(x.x, w.x)


@function("glu")
def glu(c):
    x = c.of((3, 4), corners=SATURATED)
    return [x, -1], F.glu(x.x, -1)


# Reductions.


def reduction(name, f, lead=lambda c: [], **numbers):
    def case(c):
        x = c.of((3, 4), **numbers)
        axes = c.d.one([[0], [1], [-1], [0, 1]])
        more = lead(c)
        return [name.split("/")[0], x, *more, axes], f(x.x, *more, tuple(axes))

    FUNCTIONS[name] = case


def product(x, axes):
    for a in sorted((a % x.dim() for a in axes), reverse=True):
        x = x.prod(a)
    return x


reduction("sum", lambda x, a: x.sum(a))
reduction("mean", lambda x, a: x.mean(a))
reduction("max", lambda x, a: torch.amax(x, a))
reduction("min", lambda x, a: torch.amin(x, a))
reduction("prod", product, infinite=0)
reduction("logsumexp", lambda x, a: torch.logsumexp(x, a))
reduction("var", lambda x, a: torch.var(x, a, correction=0), corners=MILD)
reduction("std", lambda x, a: torch.std(x, a, correction=0), corners=MILD)
reduction("vector_norm", lambda x, p, a: torch.linalg.vector_norm(x, p, a), lambda c: [c.d.one([1.0, 2.0, 3.0, math.inf, -math.inf, 0.0, 0.5, 1.5])])


def along(name, f, as_list, corners=CORNERS):
    def case(c):
        x = c.of(c.d.one([(3, 4), (5,), (2, 2, 3)]), corners=corners)
        axis = c.d.int(-x.x.dim(), x.x.dim() - 1)
        return [x, [axis] if as_list else axis], f(x.x, axis)

    FUNCTIONS[name] = case


along("softmax", torch.softmax, False)
along("log_softmax", torch.log_softmax, False)
along("softmin", lambda x, a: F.softmin(x, a), False)
along("cumsum", torch.cumsum, True)
along("cumprod", torch.cumprod, True)
along("cummax", lambda x, a: torch.cummax(x, a).values, True)
along("cummin", lambda x, a: torch.cummin(x, a).values, True)
along("logcumsumexp", lambda x, a: torch.stack([x.narrow(a, 0, i + 1).logsumexp(a) for i in range(x.shape[a])], a), True, MILD)


# Norms, distances, pools.

@function("layer_norm")
def layer_norm(c):
    x, w, b = c.of((3, 4), corners=MILD), c.of((4,), corners=MILD), c.of((4,), corners=MILD)
    return [x, [4], w, b], F.layer_norm(x.x, (4,), w.x, b.x)


@function("group_norm")
def group_norm(c):
    x = c.of((2, 4, 3), corners=MILD)
    return [x, 2], F.group_norm(x.x, 2)


@function("normalize")
def normalize(c):
    x, p = c.of((3, 4), corners=LONG), c.d.one([1.0, 2.0, 3.0])
    return [x, p, [1]], F.normalize(x.x, p, 1)


@function("cosine_similarity")
def cosine_similarity(c):
    a, b = c.of((3, 4), corners=LONG), c.of((3, 4), corners=LONG)
    return [a, b, 1], F.cosine_similarity(a.x, b.x, 1)


@function("pairwise_distance")
def pairwise_distance(c):
    a, b, p = c.of((3, 4), corners=MILD), c.of((3, 4), corners=MILD), c.d.one([1.0, 2.0, 3.0, math.inf])
    return [a, b, p], F.pairwise_distance(a.x, b.x, p)


@function("cdist")
def cdist(c):
    n = c.numbers((4, 3), MILD, infinite=0)
    a, b, p = c.leaf(n[:2]), c.leaf(n if c.d.chance(0.5) else c.numbers((4, 3), MILD, infinite=0)), c.d.one([1.0, 2.0, 3.0])
    return [a, b, p], torch.cdist(a.x, b.x, p, compute_mode="donot_use_mm_for_euclid_dist")


@function("pdist")
def pdist(c):
    # Not p = inf: each of several largest differences gets the whole gradient in torch, a share of it in the library.
    x, p = c.of((4, 3), corners=MILD, infinite=0), c.d.one([1.0, 2.0, 3.0])
    return [x, p], F.pdist(x.x, p)


@function("max_pool2d")
def max_pool2d(c):
    x = c.of((1, 2, 4, 4))
    return [x, [2, 2]], F.max_pool2d(x.x, 2)


@function("lp_pool")
def lp_pool(c):
    p = c.d.one([1.0, 2.0, 3.0])
    a = c.numbers((1, 2, 4, 4), [0.0, 0.0, 1.0, -1.0, 2.0, 1e-8], infinite=0)
    x = c.leaf(abs(a) if p == 3 else a)
    return [x, p, [2, 2]], F.lp_pool2d(x.x, p, 2)


# Losses.


def loss(name):
    def register(f):
        def case(c):
            how = c.reduction()
            args, value = f(c, how)
            return [name.split("/")[0], *args, how], value

        FUNCTIONS[name] = case
        return f

    return register


def x_and_target(c):
    shape = c.shape()
    x = c.of(shape)
    t = x.x.detach().numpy() if c.d.chance(0.2) else c.numbers(shape, infinite=0)
    return x, c.leaf(np.where(c.d.rng.random(shape) < 0.3, x.x.detach().numpy(), t) + c.d.one([0.0, 0.0, 1.0]))


@loss("mse_loss")
def mse_loss(c, how):
    x, t = x_and_target(c)
    return [x, t], F.mse_loss(x.x, t.x, reduction=how)


@loss("l1_loss")
def l1_loss(c, how):
    x, t = x_and_target(c)
    return [x, t], F.l1_loss(x.x, t.x, reduction=how)


@function("huber_loss")
def huber_loss(c):
    (x, t), d, how = x_and_target(c), c.d.one([1.0, 0.5, 2.0]), c.reduction()
    return [x, t, d, how], F.huber_loss(x.x, t.x, reduction=how, delta=d)


@function("smooth_l1_loss")
def smooth_l1_loss(c):
    (x, t), d, how = x_and_target(c), c.d.one([1.0, 0.5, 0.0, 2.0]), c.reduction()
    return [x, t, d, how], F.smooth_l1_loss(x.x, t.x, reduction=how, beta=d)


@loss("soft_margin_loss")
def soft_margin_loss(c, how):
    x = c.of((2, 3))
    t = c.given(c.d.rng.choice([-1.0, 1.0], (2, 3)))
    return [x, t], F.soft_margin_loss(x.x, t.x, reduction=how)


class CrossEntropy(torch.autograd.Function):
    """torch's binary_cross_entropy, whose derivative by the input has a constant of float32."""

    @staticmethod
    def forward(x, t):
        return F.binary_cross_entropy(x, t, reduction="none")

    @staticmethod
    def setup_context(context, inputs, output):
        context.save_for_backward(*inputs)

    @staticmethod
    def backward(context, g):
        x, t = context.saved_tensors
        return g * (x - t) / ((1 - x) * x).clamp(min=1e-12), g * (torch.log1p(-x).clamp(min=-100) - x.log().clamp(min=-100))


def cross_entropy_of(x, t, w, how):
    each = CrossEntropy.apply(x, t) if w is None else CrossEntropy.apply(x, t) * w
    return {"none": lambda v: v * 1, "mean": torch.mean, "sum": torch.sum}[how](each)


@loss("binary_cross_entropy")
def binary_cross_entropy(c, how):
    shape = c.shape()
    x, t, w = c.leaf(c.unit(shape)), c.leaf(c.unit(shape)), c.weights(shape)
    return [x, t, w], cross_entropy_of(x.x, t.x, of(w), how)


@function("binary_cross_entropy/sigmoid")
def binary_cross_entropy_of_sigmoid(c):
    shape, how = c.shape(), c.reduction()
    x, t = c.of(shape, infinite=0, corners=SATURATED), c.given(c.unit(shape))
    s = c.g.apply("sigmoid", [x], torch.sigmoid(x.x))
    return ["binary_cross_entropy", s, t, None, how], cross_entropy_of(s.x, t.x, None, how)


@loss("binary_cross_entropy_with_logits")
def with_logits(c, how):
    shape = c.shape()
    x, t, w, p = c.of(shape), c.leaf(c.unit(shape)), c.weights(shape), c.weights(shape)
    return [x, t, w, p], F.binary_cross_entropy_with_logits(x.x, t.x, of(w), pos_weight=of(p), reduction=how)


@function("kl_div")
def kl_div(c):
    shape, how, logs = c.shape(), c.reduction(), c.d.chance(0.5)
    x, t = c.of(shape), c.of(shape) if logs else c.leaf(c.unit(shape))
    return [x, t, logs, how], F.kl_div(x.x, t.x, reduction=how, log_target=logs)


@function("poisson_nll_loss")
def poisson_nll_loss(c):
    shape, how, logs, full = c.shape(), c.reduction(), c.d.chance(0.5), c.d.chance(0.4)
    x = c.of(shape) if logs else c.leaf(abs(c.numbers(shape)))
    t = c.given(c.d.one([0.0, 1.0, 2.0, 7.0]) * c.d.rng.integers(0, 3, shape))
    return [x, t, logs, full, 1e-8, how], F.poisson_nll_loss(x.x, t.x, logs, full, reduction=how, eps=1e-8)


@function("gaussian_nll_loss")
def gaussian_nll_loss(c):
    how, full = c.reduction(), c.d.chance(0.5)
    x, t = c.of((2, 3)), c.of((2, 3), infinite=0)
    v = c.leaf(abs(c.numbers((2, 3), [0.0, 1e-6, 1e-7, 1.0, 2.0], infinite=0)))
    return [x, t, v, full, 1e-6, how], F.gaussian_nll_loss(x.x, t.x, v.x, full=full, eps=1e-6, reduction=how)


@function("margin_ranking_loss")
def margin_ranking_loss(c):
    (a, b), m, how = x_and_target(c), c.d.one([0.0, 1.0, 0.5]), c.reduction()
    t = c.given(c.d.rng.choice([-1.0, 1.0], tuple(a.x.shape)))
    return [a, b, t, m, how], F.margin_ranking_loss(a.x, b.x, t.x, margin=m, reduction=how)


@function("hinge_embedding_loss")
def hinge_embedding_loss(c):
    shape, m, how = c.shape(), c.d.one([1.0, 0.5, 2.0]), c.reduction()
    x, t = c.of(shape), c.given(c.d.rng.choice([-1.0, 1.0], shape))
    return [x, t, m, how], F.hinge_embedding_loss(x.x, t.x, margin=m, reduction=how)


def cosine_embedding(a, b, t, margin, how):
    """torch's cosine_embedding_loss, which adds a constant of float32 to squares."""
    cosine = (a * b).sum(1) / torch.sqrt(((a * a).sum(1) + 1e-12) * ((b * b).sum(1) + 1e-12))
    zero = torch.zeros_like(cosine)
    each = torch.where(t == 1, 1 - cosine, zero) + torch.where(t == -1, (cosine - margin).clamp_min(0), zero)
    return {"none": lambda v: v, "mean": torch.mean, "sum": torch.sum}[how](each)


@function("cosine_embedding_loss")
def cosine_embedding_loss(c):
    m, how = c.d.one([0.0, 0.5, -0.5]), c.reduction()
    a = c.of((2, 3), corners=MILD)
    b = c.leaf(a.x.detach().numpy() * c.d.one([1.0, -1.0, 2.0]) if c.d.chance(0.3) else c.numbers((2, 3), MILD))
    t = c.given(c.d.rng.choice([-1.0, 1.0], (2,)))
    return [a, b, t, m, how], cosine_embedding(a.x, b.x, t.x, m, how)


@function("triplet_margin_loss")
def triplet_margin_loss(c):
    p, swap, how = c.d.one([1.0, 2.0, 3.0]), c.d.chance(0.4), c.reduction()
    m = 1.1 if p == 3 else c.d.one([1.0, 0.5])  # roots are rounded to either side of the kink
    a = c.of((2, 3), corners=MILD, infinite=0)
    others = [c.leaf(np.where(c.d.rng.random((2, 3)) < 0.4, a.x.detach().numpy(), c.numbers((2, 3), MILD, infinite=0))) for _ in range(2)]
    return [a, *others, m, p, 1e-6, swap, how], F.triplet_margin_loss(a.x, others[0].x, others[1].x, m, p, 1e-6, swap, reduction=how)


@function("multi_margin_loss")
def multi_margin_loss(c):
    p, m, w, how = c.d.one([1, 2]), c.d.one([1.0, 0.5, 2.0]), c.weights((3,)), c.reduction()
    x, t = c.of((2, 3), infinite=0), c.given(c.d.rng.integers(0, 3, (2,)), "int64")
    return [x, t, p, m, w, how], F.multi_margin_loss(x.x, t.x, p, m, of(w), reduction=how)


@loss("multilabel_margin_loss")
def multilabel_margin_loss(c, how):
    x = c.of((2, 4), infinite=0)
    t = np.stack([np.concatenate([c.d.rng.permutation(4)[:k], [-1] * (4 - k)]) for k in c.d.rng.integers(0, 5, 2)])
    t = c.given(t, "int64")
    return [x, t], F.multilabel_margin_loss(x.x, t.x, reduction=how)


@loss("multilabel_soft_margin_loss")
def multilabel_soft_margin_loss(c, how):
    x, t, w = c.of((2, 3)), c.given(c.d.rng.integers(0, 2, (2, 3)).astype(float)), c.weights((3,))
    return [x, t, w], F.multilabel_soft_margin_loss(x.x, t.x, of(w), reduction=how)


@function("nll_loss")
def nll_loss(c):
    w, how, ignored = c.weights((3,)), c.reduction(), c.d.one([-100, 1])
    x, t = c.of((4, 3)), c.given(c.d.rng.integers(0, 3, (4,)), "int64")
    return [x, t, w, ignored, 0.0, how], F.nll_loss(x.x, t.x, of(w), ignore_index=ignored, reduction=how)


@function("cross_entropy")
def cross_entropy(c):
    w, how, ignored, smoothing = c.weights((3,)), c.reduction(), c.d.one([-100, 1]), c.d.one([0.0, 0.0, 0.1, 1.0])
    x, t = c.of((4, 3)), c.given(c.d.rng.integers(0, 3, (4,)), "int64")
    return [x, t, w, ignored, smoothing, how], F.cross_entropy(x.x, t.x, of(w), ignore_index=ignored, label_smoothing=smoothing, reduction=how)


@function("cross_entropy/probabilities")
def cross_entropy_of_probabilities(c):
    w, how, smoothing = c.weights((3,)), c.reduction(), c.d.one([0.0, 0.1])
    x, t = c.of((4, 3)), c.leaf(c.unit((4, 3)))
    return ["cross_entropy", x, t, w, -100, smoothing, how], F.cross_entropy(x.x, t.x, of(w), label_smoothing=smoothing, reduction=how)


class Case:
    def __init__(self, seed, number, names):
        self.number, self.name = number, names[number % len(names)]
        d = Draw(np.random.default_rng([seed, number]))
        d.view = lambda t, shape, make: V(t, make(shape))
        c = Leaves(d)
        args, y = FUNCTIONS[self.name](c)
        if isinstance(args[0], str):
            op, args = args[0], args[1:]
        else:
            op = self.name
        g = c.g
        for i, a in enumerate(args):
            if isinstance(a, Given):
                args[i] = g.given(a.a, a.t)
        # Ops come behind all leaves, and are numbered from there (Graph.text).
        g.apply(op, args, y)
        cotangent = V("float64", np.round(d.rng.normal(0, 1, tuple(y.shape)) * 8) / 8)
        leaves = [v.x for _, v in g.leaves if v.x.requires_grad]
        got = torch.autograd.grad(y, leaves, torch.tensor(cotangent.a), allow_unused=True) if y.requires_grad else [None] * len(leaves)
        of_leaf = {x: torch.zeros_like(x) if r is None else r for x, r in zip(leaves, got)}
        # Those that are not differentiated by have gradients of ours, which nothing is compared with.
        self.expected = [y.detach()] + [of_leaf.get(v.x) for _, v in g.leaves if v.x.is_floating_point()]
        self.line = g.text(d.one(["vjp", "backward", "eager"]), cotangent)
        self.leaves = [v.x.detach().numpy() for _, v in g.leaves]

    def difference(self, answer):
        """Returns what differs from torch, None if nothing; counts elements that are NaN in torch alone."""
        self.better = 0
        # A NaN has no gradient, and one that is infinite or NaN is either.
        self.undefined = bool(torch.isnan(self.expected[0]).any())
        got = answer.split("\t")
        if got[0] != "ok":
            return "error: " + " ".join(got[1:])
        # Sums of large and small numbers have the rounding error of the large ones.
        rounding = 1e-15 * max([abs(float(v)) for a in self.leaves for v in np.ravel(a) if abs(v) < 1e12], default=0)
        for i, (want, one) in enumerate(zip(self.expected, got[1:], strict=True)):
            if want is None:
                continue
            b = want.numpy()
            fields = one.split(" ")
            a = from_bits(bytes.fromhex(fields[2]) if len(fields) > 2 else b"", "float64", b.shape)
            with np.errstate(all="ignore"):
                same = (a == b) | (np.abs(a - b) <= TOLERANCE * np.maximum(np.abs(b), 1) + (0 if i else rounding)) | (np.isnan(a) & np.isnan(b))
            same |= (self.undefined and i > 0) | (~np.isfinite(a) & ~np.isfinite(b))
            better = ~same & np.isnan(b) & np.isfinite(a)
            self.better += int(better.sum())
            wrong = ~same & ~better
            if wrong.any():
                at = tuple(int(k[0]) for k in np.nonzero(wrong)) if wrong.ndim else ()
                return f"{'gradient ' + str(i - 1) if i else 'the value'} at {at}: {float(a[at])!r}, torch {float(b[at])!r}"
        return None


    def golden(self):
        """Returns the case with what is expected, None where torch has a NaN or results have no digits in common with small ones."""
        if any(e is None or bool(torch.isnan(e).any()) for e in self.expected) or any((abs(a) >= 1e9).any() for a in self.leaves):
            return None
        outs = []
        for e in self.expected:
            finite = e[torch.isfinite(e)].abs()
            scale = max([1.0] + ([float(finite.max())] if finite.numel() else []))
            outs.append(Out("float64", e.numpy(), TOLERANCE * 2.0 ** 52, scale, True).text())
        line = "\t".join([self.line, "="] + outs)
        return line if len(line) <= 900 else None


def write_golden(options, names):
    """Writes as many cases of each function."""
    lines = []
    for k, name in enumerate(names):
        cases = (Case(options.seed, n, names).golden() for n in range(k, 400 * len(names), len(names)))
        lines += list(itertools.islice(filter(None, cases), options.golden_cases))
    with open(options.golden, "w") as out:
        out.write("# Written by tests/oracle/corners.py --golden: functions at corners, and their values and gradients by torch.\n")
        out.write("\n".join(lines) + "\n")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--program", default="build/release/tests/oracle/lazy_oracle")
    p.add_argument("--cases", type=int, default=20000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", type=int, help="number of the one case to run")
    p.add_argument("--functions", help="names, by commas")
    p.add_argument("--show", type=int, default=3, help="differences shown of each function")
    p.add_argument("--golden", help="file to write")
    p.add_argument("--golden-cases", type=int, default=4, help="of each function")
    options = p.parse_args()
    names = options.functions.split(",") if options.functions else sorted(FUNCTIONS)
    if options.golden:
        return write_golden(options, names)
    numbers = [options.only] if options.only is not None else range(options.cases)
    wrong, better, total = collections.Counter(), collections.Counter(), 0
    for case, answer in answers(options.program, (Case(options.seed, n, names) for n in numbers)):
        total += 1
        d = case.difference(answer)
        better[case.name] += case.better
        if d is None:
            continue
        wrong[case.name] += 1
        if wrong[case.name] <= options.show:
            print(f"{case.name}, case {case.number}: {d}\n  of", *(np.array2string(a, separator=",", precision=17).replace("\n", "") for a in case.leaves))
    print(f"seed {options.seed}: {total} cases of {len(names)} functions, {wrong.total()} differ; {better.total()} elements are NaN in torch alone")
    if wrong:
        print("differ:", *(f"{n} {k}" for n, k in wrong.most_common()))
    if better:
        print("finite where torch has NaN:", *(f"{n} {k}" for n, k in better.most_common() if k))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
