"""Draws ops of random graphs (graph_ops.py): views, products, computed indices, layers and losses."""
import torch
import torch.nn.functional as F

from graph_ops import OPS, Many, most, op
from values import V

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
