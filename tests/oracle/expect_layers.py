"""What folding, pooling with indices, gradients of layers and more losses should give, by torch."""
import numpy as np
import torch
import torch.nn.functional as F

from expect_networks import attempt, loss, out, reduction, wide
from spec import Skip, op
from values import FLOATS, Out

T = FLOATS[2:]


@op("fold", "col2im", "unfold", "im2col")
def folding(d, name):
    t = d.one(T)
    w = [d.int(1, 3), d.int(1, 3)]
    stride, padding, dilation = ([d.int(low, high)] * 2 for low, high in ((1, 2), (0, 1), (1, 2)))
    s = [d.int(1, 7), d.int(1, 7)]
    n, c = d.int(1, 2), d.int(1, 3)
    counts = [(e + 2 * p - q * (k - 1) - 1) // a + 1 for e, p, q, k, a in zip(s, padding, dilation, w, stride)]
    if min(counts) < 1:
        raise Skip
    if name in ("unfold", "im2col"):
        x = d.tensor(t, (n, c, *s), "plain")
        return [x, w, stride, padding, dilation], [Out(t, F.unfold(wide(x), w, dilation, padding, stride).numpy(), zero=True)]
    x = d.tensor(t, (n, c * w[0] * w[1], counts[0] * counts[1]), "plain")
    return [x, s, w, stride, padding, dilation], [out(t, F.fold(wide(x), s, w, dilation, padding, stride), 16)]


@op("max_pool_with_indices", "adaptive_max_pool_with_indices", "lp_pool")
def pooling(d, name):
    t = d.one(FLOATS)
    x = d.tensor(t, (d.int(1, 2), d.int(1, 3), d.int(2, 8), d.int(2, 8)), "plain")
    w = [d.int(1, 3), d.int(1, 3)]
    if name == "adaptive_max_pool_with_indices":
        y, i = F.adaptive_max_pool2d(wide(x), w, return_indices=True)
        return [x, w], [Out(t, y.numpy()), Out("int64", i.numpy())]
    if name == "lp_pool":
        x = d.tensor(t, x.a.shape, "positive")
        return attempt([x, 2.0, w], t, lambda: F.lp_pool2d(wide(x), 2.0, w))
    if any(e < k for e, k in zip(x.a.shape[2:], w)):
        raise Skip
    stride, padding = [d.int(1, 2)] * 2, [k // 2 if d.chance(0.3) else 0 for k in w]
    y, i = F.max_pool2d(wide(x), w, stride, padding, return_indices=True)
    return [x, w, stride, padding], [Out(t, y.numpy()), Out("int64", i.numpy())]


@op("pdist", "affine_grid", "embedding_bag")
def others(d, name):
    t = d.one(T)
    if name == "pdist":
        x, p = d.tensor(t, (d.int(2, 6), d.int(1, 5)), "plain"), d.one([1.0, 2.0, 3.0])
        return [x, p], [out(t, F.pdist(wide(x), p), 1)]
    if name == "affine_grid":
        theta, size = d.tensor(t, (2, 2, 3), "plain"), [2, 3, d.int(1, 6), d.int(1, 6)]
        corners = d.chance(0.5)
        return [theta, size, corners], [out(t, F.affine_grid(wide(theta), size, align_corners=corners), 8)]
    rows = d.int(1, 6)
    ids, w = d.of("int64", d.rng.integers(0, rows, (d.int(1, 4), d.int(1, 4)))), d.tensor(t, (rows, d.int(1, 5)), "plain")
    mode = d.one(["sum", "mean", "max"])
    return [ids, w, mode], [out(t, F.embedding_bag(torch.from_numpy(ids.a.copy()), wide(w), mode=mode), 8)]


@op("soft_margin_loss", "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss")
def margins(d, name):
    t, r = d.one(T), reduction(d)
    n, c = d.int(1, 6), d.int(2, 5)
    x = d.tensor(t, (n, c), "plain")
    if name == "soft_margin_loss":
        y = d.of(t, d.rng.choice([-1.0, 1.0], (n, c)))
        return loss([x, y, r], t, lambda: F.soft_margin_loss(wide(x), wide(y), reduction=r), 8)
    if name == "multilabel_soft_margin_loss":
        y = d.of(t, d.rng.integers(0, 2, (n, c)))
        return loss([x, y, None, r], t, lambda: F.multilabel_soft_margin_loss(wide(x), wide(y), reduction=r), 8)
    if name == "multi_margin_loss":
        y, p, m = d.of("int64", d.rng.integers(0, c, n)), d.int(1, 2), d.one([1.0, 0.5])
        return loss([x, y, p, m, None, r], t, lambda: F.multi_margin_loss(wide(x), torch.from_numpy(y.a.copy()), p, m, reduction=r), 64)
    labels = np.full((n, c), -1)
    for row in labels:
        k = d.int(0, c)
        row[:k] = d.rng.permutation(c)[:k]
    y = d.of("int64", labels)
    return loss([x, y, r], t, lambda: F.multilabel_margin_loss(wide(x), torch.from_numpy(y.a.copy()), reduction=r), 64)


@op("ctc_loss")
def ctc(d, name):
    t, r, zero = d.one(T), reduction(d), True
    steps, n, c, s = d.int(2, 8), d.int(1, 3), d.int(2, 4), d.int(1, 3)
    x = d.tensor(t, (steps, n, c), "plain", views=False)
    logs = torch.log_softmax(wide(x), -1).numpy()
    x = d.of(t, logs)
    labels = d.of("int64", d.rng.integers(1, c, (n, s)))
    times, lengths = d.of("int64", d.rng.integers(1, steps + 1, n)), d.of("int64", d.rng.integers(1, s + 1, n))
    f = lambda: F.ctc_loss(wide(x), *(torch.from_numpy(v.a.copy()) for v in (labels, times, lengths)), 0, r, zero)  # noqa: E731
    return [x, labels, times, lengths, 0, r, zero], [out(t, f(), 64, 256)]


def gradients(y, g, *x):
    return [v.detach() for v in torch.autograd.grad(y, x, g)]


@op("layer_norm_backward", "group_norm_backward", "embedding_dense_backward", "convolution_backward")
def backward(d, name):
    t = d.one(T)
    if name == "embedding_dense_backward":
        rows, n = d.int(1, 5), d.int(1, 8)
        ids, g = d.of("int64", d.rng.integers(0, rows, n)), d.tensor(t, (n, d.int(1, 4)), "plain")
        y = np.zeros((rows, g.a.shape[1]))
        np.add.at(y, ids.a, g.a.astype(np.float64))
        return [g, ids, rows], [Out(t, y, 8, 32, True)]
    if name == "convolution_backward":
        x, w = d.tensor(t, (2, 2, d.int(3, 6), d.int(3, 6)), "plain"), d.tensor(t, (3, 2, d.int(1, 3), d.int(1, 3)), "plain")
        stride, padding = [d.int(1, 2)] * 2, [d.int(0, 1)] * 2
        a, b, c = wide(x).requires_grad_(), wide(w).requires_grad_(), torch.zeros(3, dtype=torch.float64, requires_grad=True)
        y = F.conv2d(a, b, c, stride, padding)
        g = d.tensor(t, tuple(y.shape), "plain")
        return [g, x, w, None, stride, padding], [out(t, v, 256, 32) for v in gradients(y, wide(g), a, b, c)]
    n, c = d.int(1, 3), 4
    s = (n, c, d.int(3, 6))
    x, g = d.tensor(t, s, "plain", views=False), d.tensor(t, s, "plain")
    k = s[1:] if name == "layer_norm_backward" else (c,)
    w = d.tensor(t, k, "plain")
    a, b, c0 = wide(x).requires_grad_(), wide(w).requires_grad_(), torch.zeros(k, dtype=torch.float64, requires_grad=True)
    if name == "layer_norm_backward":
        y, arguments = F.layer_norm(a, k, b, c0), [g, x, list(k), w]
    else:
        groups = d.one([1, 2])
        y, arguments = F.group_norm(a, groups, b, c0), [g, x, groups, w]
    grads = gradients(y, wide(g), a, b, c0)
    return arguments, [out(t, v, 16 * float(v.abs().max()) + 64, 128) for v in grads]
