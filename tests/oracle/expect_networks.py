"""What torch.nn.functional's names should give: activations, normalisation, losses, distances."""
import numpy as np
import torch
import torch.nn.functional as F

from spec import Skip, op
from values import FLOATS, Out, V

ULPS = {"float64": 64, "float32": 16, "float16": 2, "bfloat16": 2}


def wide(x):
    """Returns a tensor's values as torch's, in float64; None of None."""
    return None if x is None else torch.from_numpy(np.ascontiguousarray(x.a.astype(np.float64)).reshape(x.a.shape))


def out(t, y, scale=0.0, ulps=0):
    return Out(t, y.numpy() if isinstance(y, torch.Tensor) else y, ulps or ULPS[t], scale, True)


def attempt(arguments, t, f, scale=0.0, ulps=0):
    """Returns what torch gives, or an error where it throws."""
    try:
        y = f()
    except (RuntimeError, ValueError, IndexError):
        return arguments, "error"
    return arguments, [out(t, y, scale, ulps)]


def most(*tensors):
    return max([1.0] + [float(np.max(np.abs(x.a[np.isfinite(x.a)]), initial=0)) for x in tensors if x is not None])


ACTIVATIONS = ["silu", "selu", "softsign", "mish", "hardsigmoid", "hardswish", "relu6", "logsigmoid", "tanhshrink"]


@op(*ACTIVATIONS)
def activation(d, name):
    t = d.one(FLOATS)
    x = d.tensor(t, d.shape(), d.one(["plain", "mild"]))
    if name in ("hardswish", "tanhshrink", "silu", "mish", "softsign") and not np.isfinite(x.a).all():
        x = V(t, np.where(np.isfinite(x.a), x.a, 1))  # torch has no answer that is a limit
    return [x], [out(t, getattr(F, name)(wide(x)), 0.125)]


@op("leaky_relu", "elu", "celu", "softshrink", "hardshrink", "softplus", "hardtanh", "threshold")
def with_options(d, name):
    t = d.one(FLOATS)
    x = d.tensor(t, d.shape(), "plain")
    options = {"leaky_relu": [0.01, 0.5], "elu": [1.0, 0.5], "celu": [1.0, 2.0], "softshrink": [0.5, 1.0], "hardshrink": [0.5, 1.0]}
    if name == "softplus":
        more = [d.one([1.0, 2.0]), d.one([20.0, 3.0])]
    elif name == "hardtanh":
        more = d.one([[-1.0, 1.0], [-2.0, 0.5]])
    elif name == "threshold":
        more = [d.one([0.0, 1.0]), -3.0]
    else:
        more = [d.one(options[name])]
    return [x, *more], [out(t, getattr(F, name)(wide(x), *more), 1)]


@op("softmax", "log_softmax", "softmin", "glu")
def along(d, name):
    t = d.one(FLOATS)
    x = d.tensor(t, d.shape(low=1), "plain")
    axis = d.axis(x.a.ndim)
    return attempt([x, axis], t, lambda: getattr(F, name)(wide(x), axis), most(x) if name in ("log_softmax", "glu") else 0)


@op("prelu")
def prelu(d, name):
    t = d.one(FLOATS)
    s = d.shape(low=2, high=4)
    x = d.tensor(t, s, "plain")
    w = d.tensor(t, (s[1],) if d.chance(0.6) else (1,), "unit")
    if s[1] == 0:
        raise Skip
    return attempt([x, w], t, lambda: F.prelu(wide(x), wide(w)))


@op("embedding", "one_hot")
def embedding(d, name):
    t = d.one(FLOATS)
    n = d.int(1, 9)
    u = d.one(["int32", "int64"])
    ids = d.of(u, d.rng.integers(0, n, d.shape(high=3, largest=40)))
    if name == "one_hot":
        return [ids, n], [Out("int64", np.eye(n, dtype=np.int64)[ids.a])]
    w = d.tensor(t, (n, d.int(1, 7)))
    return [ids, w], [Out(t, w.a[ids.a])]


@op("layer_norm", "rms_norm")
def layer_norm(d, name):
    t = d.one(FLOATS)
    s = d.shape(low=1, high=3, empty=0)
    k = d.int(1, len(s))
    x = d.tensor(t, s, "plain", views=False)
    n = s[-k:]
    w, b = (d.tensor(t, n, "plain") if d.chance(0.6) else None for _ in range(2))
    eps = d.one([1e-5, 1e-2])
    if name == "rms_norm":
        return attempt([x, list(n), w, eps], t, lambda: F.rms_norm(wide(x), n, wide(w), eps), most(w))
    if np.prod(n) < 3:
        raise Skip  # the mean is lost in the difference
    return attempt([x, list(n), w, b, eps], t, lambda: F.layer_norm(wide(x), n, wide(w), wide(b), eps), 8 * most(w, b), 32)


@op("batch_norm", "batch_norm_training", "group_norm", "instance_norm")
def channel_norm(d, name):
    t = d.one(FLOATS)
    n, c = d.int(2, 4), d.one([1, 2, 4, 6])
    s = (n, c) + tuple(d.int(3, 6) for _ in range(d.int(1, 2)))
    x = d.tensor(t, s, "plain", views=False)
    w, b = (d.tensor(t, (c,), "plain") if d.chance(0.6) else None for _ in range(2))
    scale = 8 * most(w, b)
    if name == "group_norm":
        g = d.one([k for k in (1, 2, 3, c) if c % k == 0])
        return attempt([x, g, w, b], t, lambda: F.group_norm(wide(x), g, wide(w), wide(b)), scale, 64)
    if name == "instance_norm":
        return attempt([x, w, b], t, lambda: F.instance_norm(wide(x), weight=wide(w), bias=wide(b)), scale, 64)
    m, v = d.tensor(t, (c,), "plain"), d.tensor(t, (c,), "positive")
    if name == "batch_norm":
        v = d.of(t, np.maximum(v.a, 0.25))
        return attempt([x, m, v, w, b], t, lambda: F.batch_norm(wide(x), wide(m), wide(v), wide(w), wide(b)), 4 * scale * most(x, m), 64)
    mean, var = wide(m).clone(), wide(v).clone()
    y = F.batch_norm(wide(x), mean, var, wide(w), wide(b), training=True)
    return [x, m, v, w, b], [out(t, y, scale, 64), out(t, mean, 8), out(t, var, 64)]


@op("local_response_norm")
def local_response_norm(d, name):
    t = d.one(FLOATS)
    x = d.tensor(t, (d.int(1, 3), d.int(1, 6), d.int(1, 5)), "plain")
    size = d.int(1, 4)
    return attempt([x, size], t, lambda: F.local_response_norm(wide(x), size))


@op("normalize")
def normalize(d, name):
    t = d.one(FLOATS)
    x = d.tensor(t, d.shape(low=1, high=3, empty=0), "plain", views=False)
    p, axis = d.one([2.0, 1.0, 3.0]), d.axis(x.a.ndim)
    return attempt([x, p, [axis]], t, lambda: F.normalize(wide(x), p, axis))


@op("cosine_similarity", "pairwise_distance", "cdist")
def distance(d, name):
    t = d.one(FLOATS)
    m, n, k = d.int(1, 6), d.int(2, 6), d.int(1, 6)
    a = d.tensor(t, (m, n), "plain", views=False)
    b = d.tensor(t, (k if name == "cdist" else m, n), "plain", views=False)
    if name == "cosine_similarity":
        return attempt([a, b], t, lambda: F.cosine_similarity(wide(a), wide(b)), 1)
    p = d.one([2.0, 1.0, 3.0])
    if name == "cdist":
        return attempt([a, b, p], t, lambda: torch.cdist(wide(a), wide(b), p, "donot_use_mm_for_euclid_dist"), most(a, b))
    return attempt([a, b, p], t, lambda: F.pairwise_distance(wide(a), wide(b), p), most(a, b))


def reduction(d):
    return d.one(["none", "mean", "sum"])


def loss(arguments, t, f, each):
    """Compares a loss whose numbers have a scale `each`."""
    try:
        y = f()
    except (RuntimeError, ValueError, IndexError):
        return arguments, "error"
    n = max(1, int(np.prod([len(a.a.ravel()) for a in arguments[:1]])))
    return arguments, [out(t, y, each * (n if arguments[-1] == "sum" else 1), 32)]


@op("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss")
def regression(d, name):
    t = d.one(FLOATS)
    s = d.shape(empty=0.02)
    x, y = d.tensor(t, s, "plain"), d.tensor(t, s, "plain")
    r = reduction(d)
    more = [d.one([1.0, 0.5])] if name in ("huber_loss", "smooth_l1_loss") else []
    each = most(x, y) ** 2
    if t == "float16" and each * x.a.size > 3e4:
        r = "none"
    f = {"huber_loss": lambda: F.huber_loss(wide(x), wide(y), reduction=r, delta=more[0]),
         "smooth_l1_loss": lambda: F.smooth_l1_loss(wide(x), wide(y), reduction=r, beta=more[0])}
    return loss([x, y, *more, r], t, f.get(name, lambda: getattr(F, name)(wide(x), wide(y), reduction=r)), each)


@op("binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div", "poisson_nll_loss", "gaussian_nll_loss")
def probability(d, name):
    t = d.one(FLOATS[2:])
    s = d.shape(low=1, empty=0)
    r = reduction(d)
    target = d.of(t, d.rng.uniform(0.01, 0.99, s))
    w = d.tensor(t, s, "positive") if d.chance(0.4) else None
    if name == "binary_cross_entropy":
        x = d.of(t, d.rng.uniform(0.01, 0.99, s))
        return loss([x, target, w, r], t, lambda: F.binary_cross_entropy(wide(x), wide(target), wide(w), reduction=r), 5 * most(w))
    x = d.tensor(t, s, "plain")
    if name == "binary_cross_entropy_with_logits":
        p = d.tensor(t, s[-1:], "positive") if d.chance(0.4) else None
        return loss([x, target, w, p, r], t, lambda: F.binary_cross_entropy_with_logits(
            wide(x), wide(target), wide(w), reduction=r, pos_weight=wide(p)), 8 * most(w, p) ** 2)
    if name == "kl_div":
        logs = d.chance(0.4)
        return loss([x, target, logs, r], t, lambda: F.kl_div(wide(x), wide(target), reduction=r, log_target=logs), 4 * most(x))
    if name == "poisson_nll_loss":
        logs, full = d.chance(0.5), d.chance(0.4)
        x, target = d.tensor(t, s, "unit" if logs else "positive"), d.tensor(t, s, "positive")
        return loss([x, target, logs, full, 1e-8, r], t, lambda: F.poisson_nll_loss(
            wide(x), wide(target), logs, full, reduction=r), 64)
    var, full = d.of(t, d.rng.uniform(0.5, 2, s)), d.chance(0.4)
    return loss([x, target, var, full, 1e-6, r], t, lambda: F.gaussian_nll_loss(
        wide(x), wide(target), wide(var), full, reduction=r), most(x) ** 2)


@op("margin_ranking_loss", "hinge_embedding_loss", "cosine_embedding_loss", "triplet_margin_loss")
def margins(d, name):
    t = d.one(FLOATS[2:])
    n, k = d.int(1, 9), d.int(2, 5)
    r, margin = reduction(d), d.one([0.0, 0.5])
    sign = d.of(t, d.rng.choice([-1.0, 1.0], n))
    if name == "hinge_embedding_loss":
        x = d.tensor(t, (n,), "plain")
        return loss([x, sign, margin, r], t, lambda: F.hinge_embedding_loss(wide(x), wide(sign), margin, reduction=r), 8)
    if name == "margin_ranking_loss":
        a, b = d.tensor(t, (n,), "plain"), d.tensor(t, (n,), "plain")
        return loss([a, b, sign, margin, r], t, lambda: F.margin_ranking_loss(wide(a), wide(b), wide(sign), margin, reduction=r), 16)
    a, b, c = (d.tensor(t, (n, k), "plain", views=False) for _ in range(3))
    if name == "cosine_embedding_loss":
        return loss([a, b, sign, margin, r], t, lambda: F.cosine_embedding_loss(wide(a), wide(b), wide(sign), margin, reduction=r), 2)
    swap, margin = d.chance(0.3), d.one([1.0, 0.5])
    return loss([a, b, c, margin, 2.0, 1e-6, swap, r], t, lambda: F.triplet_margin_loss(
        wide(a), wide(b), wide(c), margin, swap=swap, reduction=r), 32)


@op("nll_loss", "cross_entropy")
def classes(d, name):
    t = d.one(FLOATS[2:])
    n, c = d.int(1, 7), d.int(1, 6)
    more = tuple(d.int(1, 4) for _ in range(d.int(0, 2)))
    x = d.tensor(t, (n, c) + more, "plain")
    labels = d.of("int64", d.rng.integers(0, c, (n,) + more))
    w = d.of(t, d.rng.uniform(0.5, 2, c)) if d.chance(0.5) else None
    r, smoothing = reduction(d), 0.0
    ignored = -100
    if d.chance(0.3):
        ignored = d.int(0, c - 1)
        if (labels.a == ignored).all():
            raise Skip
    to = torch.from_numpy(labels.a.copy())
    if name == "nll_loss":
        f = lambda: F.nll_loss(wide(x), to, wide(w), ignore_index=ignored, reduction=r)  # noqa: E731
    else:
        smoothing = d.one([0.0, 0.1])
        f = lambda: F.cross_entropy(wide(x), to, wide(w), ignore_index=ignored, reduction=r, label_smoothing=smoothing)  # noqa: E731
    return loss([x, labels, w, ignored, smoothing, r], t, f, 4 * most(x))
