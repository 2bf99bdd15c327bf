#!/usr/bin/env python3
"""Writes nn_names_*.txt beside this file: what torch answers, for tests/lazy/nn/functional/names.cpp.

    pip install torch numpy mpmath && python3 tests/golden/make_nn_names.py

The format is that of make_arrays.py. Gradients are those of torch's autograd.
"""
import os

import numpy as np
import torch
import torch.nn.functional as F

from make_arrays import INF, NAN, OUT, Lines, floats, ints, t

rng = np.random.default_rng(20260303)
torch.set_num_threads(1)
f64 = np.float64


def real(*shape, dtype=f64):
    return rng.normal(size=shape).astype(dtype)


def gradient(f, *which):
    """Makes a function of a gradient and operands: what flows back to the operands that are named by number."""

    def g(grad, *operands):
        x = [torch.from_numpy(np.array(a)) for a in operands]
        for i in which:
            x[i].requires_grad_()
        f(*x).backward(torch.from_numpy(np.array(grad)))
        return [x[i].grad.numpy() for i in which]

    return g


def shape_of(f, *x):
    return f(*[torch.from_numpy(np.array(a)) for a in x]).shape


def pools():
    lines = Lines()
    for x in (real(2, 3, 7), real(1, 2, 6, 7), real(1, 2, 4, 5, 6), floats(2, 2, 8, 5), ints(1, 2, 7, 6).astype(f64), np.full((1, 1, 5, 5), -INF),
              np.where(rng.integers(0, 6, (1, 2, 6, 6)) == 0, NAN, real(1, 2, 6, 6))):
        n = x.ndim - 2
        f = [F.max_pool1d, F.max_pool2d, F.max_pool3d][n - 1]
        nans = np.isnan(x).any()
        for name, kernel, o in (("2", 2, {}), ("3_s2_p1", 3, dict(stride=2, padding=1)), ("2_s1_d2", 2, dict(stride=1, dilation=2)), ("3_s2_ceil", 3, dict(stride=2, ceil_mode=True)),
                                ("3_s1_p1_d2", 3, dict(stride=1, padding=1, dilation=2))):
            span = (kernel - 1) * o.get("dilation", 1) + 1
            if min(x.shape[2:]) + 2 * o.get("padding", 0) < span:
                continue
            def pooled(a):
                if not nans:
                    return list(f(a, kernel, return_indices=True, **o))
                v, i = f(a, kernel, return_indices=True, **o)
                return [v]
            lines.add(("max_pool_values_" if nans else "max_pool_") + name, t(pooled), x)
        if nans or np.isinf(x).any():
            continue
        g = [F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d][n - 1]
        lines.add("adaptive_max_pool_3", t(lambda a: list(g(a, 3, return_indices=True))), x)
        lines.add("adaptive_max_pool_1", t(lambda a: list(g(a, 1, return_indices=True))), x)
        v, i = f(torch.from_numpy(x), 2, return_indices=True)
        u = [F.max_unpool1d, F.max_unpool2d, F.max_unpool3d][n - 1]
        lines.add("max_unpool_2", t(lambda a, b, c: u(a, b, 2, output_size=c.shape)), v.numpy(), i.numpy(), x)
        lines.add("max_pool_backward", gradient(lambda a: f(a, 2), 0), real(*v.shape).astype(x.dtype), x)
        a = [F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d][n - 1]
        lines.add("adaptive_avg_pool_backward~~16", gradient(lambda b: a(b, 3), 0), real(*a(torch.from_numpy(x), 3).shape).astype(x.dtype), x)
        m = [F.avg_pool1d, F.avg_pool2d, F.avg_pool3d][n - 1]
        for name, kernel, o in (("2", 2, {}), ("3_s2_p1", 3, dict(stride=2, padding=1)), ("3_s2_p1_without", 3, dict(stride=2, padding=1, count_include_pad=False)), ("3_s2_ceil", 3, dict(stride=2, ceil_mode=True))):
            lines.add(f"avg_pool_backward_{name}~~8", gradient(lambda b: m(b, kernel, **o), 0), real(*shape_of(lambda b: m(b, kernel, **o), x)).astype(x.dtype), x)
    for x in (real(2, 3, 7), real(1, 2, 6, 7)):
        f = F.lp_pool1d if x.ndim == 3 else F.lp_pool2d
        lines.add("lp_pool_2_3~~8", t(lambda a: f(a, 2, 3)), x)
        lines.add("lp_pool_3_2_s1~~16", t(lambda a: f(a, 3, 2, 1)), np.abs(x))
    return lines


def folding():
    lines = Lines()
    for x in (real(2, 3, 7, 6), ints(1, 2, 5, 8), floats(1, 1, 4, 4)):
        for name, o in (("3", dict(kernel_size=3)), ("2_3_s2_p1", dict(kernel_size=(2, 3), stride=2, padding=1)), ("2_d2", dict(kernel_size=2, dilation=2))):
            lines.add("unfold_" + name, t(lambda a: F.unfold(a.double(), **o).to(a.dtype)), x)
            columns = F.unfold(torch.from_numpy(x).double(), **o).numpy()
            other = ints(*columns.shape).astype(x.dtype)
            size = x.shape[2:]
            lines.add(f"fold_{name}_{size[0]}_{size[1]}~8", t(lambda a: F.fold(a.double(), size, **o).to(a.dtype)), other)
    table = real(7, 3)
    ids, offsets = ints(9, low=0, high=7), np.array([0, 3, 3, 7])
    ends = np.array([0, 3, 3, 7, 9])
    square = ints(3, 4, low=0, high=7)
    for mode in ("sum", "mean", "max"):
        lines.add(f"embedding_bag_{mode}_offsets~4", t(lambda i, w, o: F.embedding_bag(i, w, o, mode=mode)), ids, table, offsets)
        lines.add(f"embedding_bag_{mode}_ends~4", t(lambda i, w, o: F.embedding_bag(i, w, o, mode=mode, include_last_offset=True)), ids, table, ends)
        lines.add(f"embedding_bag_{mode}~4", t(lambda i, w: F.embedding_bag(i, w, mode=mode)), square, table)
        lines.add(f"embedding_bag_{mode}_pad2~4", t(lambda i, w: F.embedding_bag(i, w, mode=mode, padding_idx=2)), square, table)
    lines.add("embedding_bag_weighted~4", t(lambda i, w, o, p: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=p)), ids, table, offsets, real(9))
    for p in (0, 1, 2, 3, INF):
        lines.add(f"pdist_{p}~8", t(lambda a: torch.pdist(a, p)), real(5, 3))
    lines.add("pdist_2~8", t(torch.pdist), real(1, 3))
    lines.add("pdist_2~8", t(torch.pdist), real(2, 0))
    return lines


def gradients():
    lines = Lines()
    for x, w, o, name in ((real(2, 4, 9), real(6, 4, 3), {}, ""), (real(2, 4, 7, 6), real(6, 2, 3, 2), dict(stride=2, padding=1, groups=2), "_s2_p1_g2"),
                          (real(1, 4, 8, 7), real(4, 1, 2, 3), dict(dilation=2, groups=4), "_d2_g4"), (real(1, 2, 4, 5, 4), real(3, 2, 2, 2, 2), {}, ""),
                          (floats(2, 3, 6, 6), floats(4, 3, 1, 1), {}, "")):
        f = [F.conv1d, F.conv2d, F.conv3d][x.ndim - 3]
        b = np.zeros(w.shape[0], x.dtype)
        grad = real(*shape_of(lambda p, q: f(p, q, **o), x, w)).astype(x.dtype)
        lines.add(f"convolution_backward{name}~~64", lambda g, p, q: gradient(lambda u, v, c: f(u, v, c, **o), 0, 1, 2)(g, p, q, b), grad, x, w)
    for x, n in ((real(4, 5), 1), (real(2, 3, 4), 2), (floats(3, 7), 1)):
        shape = x.shape[x.ndim - n:]
        w = (real(*shape) + 1).astype(x.dtype)
        lines.add(f"layer_norm_backward_{n}~~64", gradient(lambda a, u, b: F.layer_norm(a, shape, u, b), 0, 1, 2), real(*x.shape).astype(x.dtype), x, w, np.zeros(shape, x.dtype))
    for x, n in ((real(2, 6, 5), 3), (real(3, 4, 2, 3), 1), (real(2, 4), 2)):
        w = (real(x.shape[1]) + 1).astype(x.dtype)
        lines.add(f"group_norm_backward_{n}~~64", gradient(lambda a, u, b: F.group_norm(a, n, u, b), 0, 1, 2), real(*x.shape), x, w, np.zeros(x.shape[1]))
    for ids in (ints(5, low=0, high=6), ints(2, 3, low=0, high=6), ints(0)):
        grad = real(*ids.shape, 4)
        lines.add("embedding_dense_backward_6~4", lambda g, i: gradient(lambda w, j: F.embedding(j, w), 0)(g, np.zeros((6, 4)), i), grad, ids)
        lines.add("embedding_dense_backward_6_pad2~4", lambda g, i: gradient(lambda w, j: F.embedding(j, w, padding_idx=2), 0)(g, np.zeros((6, 4)), i), grad, ids)
    return lines


def losses():
    lines = Lines()
    for x, y in ((real(4, 5), ints(4, low=0, high=5)), (real(3), ints(low=0, high=3)), (floats(6, 2), ints(6, low=0, high=2))):
        w = (np.abs(real(x.shape[-1])) + 0.1).astype(x.dtype)
        for r in ("none", "mean", "sum"):
            lines.add(f"multi_margin_{r}~8", t(lambda a, b: F.multi_margin_loss(a, b, reduction=r)), x, y)
            lines.add(f"multi_margin_2_half_weight_{r}~8", t(lambda a, b, c: F.multi_margin_loss(a, b, p=2, margin=0.5, weight=c, reduction=r)), x, y, w)
    for x in (real(4, 5), real(3), floats(2, 7)):
        labels = np.full(x.shape, -1)
        for row in labels.reshape(-1, x.shape[-1]):
            k = rng.integers(0, x.shape[-1] + 1)
            row[:k] = rng.permutation(x.shape[-1])[:k]
        many = rng.integers(0, 2, x.shape).astype(x.dtype)
        sign = many * 2 - 1
        for r in ("none", "mean", "sum"):
            lines.add(f"multilabel_margin_{r}~~8", t(lambda a, b: F.multilabel_margin_loss(a, b, reduction=r)), x, labels)
            lines.add(f"multilabel_soft_margin_{r}~~8", t(lambda a, b: F.multilabel_soft_margin_loss(a, b, reduction=r)), x, many)
            lines.add(f"soft_margin_{r}~~8", t(lambda a, b: F.soft_margin_loss(a, b, reduction=r)), x * 5, sign)
        lines.add("multilabel_soft_margin_weight~~8", t(lambda a, b, w: F.multilabel_soft_margin_loss(a, b, w)), x, many, (np.abs(real(x.shape[-1])) + 0.1).astype(x.dtype))
    a, b, c = real(4, 3), real(4, 3), real(4, 3)
    for r in ("none", "mean", "sum"):
        lines.add(f"triplet_l1_{r}~8", t(lambda p, q, s: F.triplet_margin_with_distance_loss(p, q, s, distance_function=lambda u, v: (u - v).abs().sum(-1), swap=True, margin=2, reduction=r)), a, b, c)
    for steps, n, classes, s in ((12, 3, 5, 4), (7, 2, 3, 3), (5, 1, 4, 1), (6, 4, 4, 2), (1, 2, 3, 1), (3, 2, 4, 3)):
        for dtype in (f64, np.float32):
            x = F.log_softmax(torch.from_numpy(real(steps, n, classes).astype(dtype)), 2).numpy()
            y = rng.integers(1, classes, (n, s))
            y[0] = y[0, 0]  # repeated labels need a blank between them
            inputs = rng.integers(max(1, steps - 3), steps + 1, n)
            inputs[0] = steps
            lengths = rng.integers(0, s + 1, n)
            lengths[0] = s
            near = 32 if dtype == f64 else 16
            for r in ("none", "mean", "sum"):
                lines.add(f"ctc_{r}~{near}", t(lambda p, q, i, l: F.ctc_loss(p, q, i, l, reduction=r)), x, y, inputs, lengths)
            lines.add(f"ctc_zero~{near}", t(lambda p, q, i, l: F.ctc_loss(p, q, i, l, reduction="none", zero_infinity=True)), x, y, inputs, lengths)
            lines.add(f"ctc_blank~{near}", t(lambda p, q, i, l: F.ctc_loss(p, q, i, l, blank=classes - 1, reduction="none")) , x, y - 1, inputs, lengths) if classes == 4 else None
    x = F.log_softmax(torch.from_numpy(real(8, 5)), 1).numpy()
    lines.add("ctc_none~32", t(lambda p, q, i, l: F.ctc_loss(p, q, i, l, reduction="none")), x, np.array([1, 2, 2]), np.array(8), np.array(3))
    return lines


def images():
    lines = Lines()
    for theta, size in ((real(2, 2, 3), (2, 3, 4, 5)), (real(1, 3, 4), (1, 2, 3, 2, 4)), (real(1, 2, 3), (1, 1, 1, 3)), (floats(2, 2, 3), (2, 1, 5, 1))):
        for corners in (False, True):
            lines.add(f"affine_grid_{'_'.join(map(str, size))}_{int(corners)}~~8", t(lambda a: F.affine_grid(a, size, align_corners=corners)), theta)
    for x in (real(2, 2, 5, 6), floats(1, 1, 4, 3)):
        grid = (rng.uniform(-1.4, 1.4, (x.shape[0], 4, 3, 2))).astype(x.dtype)
        for mode in ("zeros", "border", "reflection"):
            for corners in (False, True):
                lines.add(f"grid_bicubic_{mode}_{int(corners)}~~64", t(lambda a, g: F.grid_sample(a, g, mode="bicubic", padding_mode=mode, align_corners=corners)), x, grid)
    for x in (real(1, 2, 9, 8), floats(2, 1, 12, 5)):
        for mode in ("bilinear", "bicubic"):
            for size in ((4, 3), (3, 11), (13, 17), (9, 4), (1, 1)):
                for corners in (False, True):
                    lines.add(f"antialias_{mode}_{size[0]}_{size[1]}_{int(corners)}~~{32 if x.dtype == f64 else 512}", t(lambda a: F.interpolate(a, size, mode=mode, antialias=True, align_corners=corners)), x)
    for x in (real(3, 4, 5), real(2, 3, 4, 2)):
        c = x.shape[1]

        def trained(a, m, v, w, b):
            y = F.instance_norm(a, m, v, w, b, use_input_stats=True, momentum=0.3)
            return [y, m, v]

        lines.add("instance_norm_training~~64", t(trained), x, real(c), np.abs(real(c)) + 0.5, real(c), real(c))
    return lines


if __name__ == "__main__":
    for f in (pools, folding, gradients, losses, images):
        with open(os.path.join(OUT, f"nn_names_{f.__name__}.txt"), "w") as out:
            out.write("\n".join(f()) + "\n")
