#!/usr/bin/env python3
"""Writes tests/golden/nn_*.txt: what torch answers, for tests/lazy/nn/functional/golden.cpp to compare with.

    pip install torch numpy && python3 tests/golden/make_nn.py

One case a line, fields separated by " | ":

    FUNCTION NAME=VALUE ... | DTYPE SHAPE x ... | ... | DTYPE SHAPE r ...

The options are those of the function, lists as 1,2; the operands follow, "-" for one that is left out; the last field is the
result. In nn_gradients.txt as many fields as operands follow instead, their gradients. A shape is 2,3, or "-" for 0-d. Elements are decimal, shortest to be exact; nan, inf, -inf.
"""
import os

import numpy as np
import torch

OUT = os.path.dirname(os.path.abspath(__file__))
torch.set_num_threads(1)
rng = np.random.default_rng(20261122)
NAMES = {torch.float32: "float32", torch.float64: "float64", torch.bfloat16: "bfloat16", torch.int64: "int64", torch.bool: "bool"}
FLOATS = [torch.float32, torch.float64, torch.bfloat16]
f32, f64, bf16 = FLOATS


class Wide:
    """torch.nn.functional, computing bfloat16 in float32 and rounding once, as lazy does: torch rounds in between."""

    def __getattr__(self, name):
        function = getattr(torch.nn.functional, name)

        def call(*args, **options):
            narrow = [a for a in [*args, *options.values()] if isinstance(a, torch.Tensor) and a.dtype == bf16]
            wide = {id(a): a.float() for a in narrow}
            result = function(*[wide.get(id(a), a) for a in args], **{k: wide.get(id(v), v) for k, v in options.items()})
            for a in narrow:
                a.copy_(wide[id(a)])  # running statistics change in place
            return result.to(bf16) if narrow and "dtype" not in options else result

        return call


F = Wide()
SPECIAL = [0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e-30, -1e-30, 100.0, -100.0, 88.0, -88.0, 0.5, -0.5, 1.0, -1.0, 3.0,
           -3.0, 6.0, 20.0, 21.0, -20.0]
lines = []


def element(v, t):
    if t in (torch.int64, torch.bool):
        return str(int(v))
    if t == f64:
        return repr(float(v))
    return str(np.float32(float(v)))


def text(t):
    if t is None:
        return "-"
    t = t.detach()
    shape = ",".join(map(str, t.shape)) or "-"
    values = t.reshape(-1)
    values = values.double().tolist() if t.dtype != torch.int64 else values.tolist()
    return " ".join([NAMES[t.dtype], shape] + [element(v, t.dtype) for v in values])


def option(v):
    if isinstance(v, (list, tuple)):
        return ",".join(option(e) for e in v)
    return str(int(v)) if isinstance(v, bool) else str(v)


def case(name, operands, result, **options):
    head = " ".join([name] + [f"{k}={option(v)}" for k, v in options.items()])
    lines.append(" | ".join([head] + [text(t) for t in operands] + [text(result)]))


def write(name):
    with open(os.path.join(OUT, f"nn_{name}.txt"), "w") as f:
        f.write("\n".join(lines) + "\n")
    print(name, len(lines))
    lines.clear()


def values(shape, t=f32, scale=2.0):
    """Random values with few digits, so that they are short and the same in every dtype."""
    return torch.tensor(np.round(rng.normal(size=shape) * scale * 16) / 16).to(t)


def uniform(shape, t=f32):
    return torch.tensor((1 + np.floor(rng.random(size=shape) * 62)) / 64).to(t)


def activations():
    elementwise = [("silu", F.silu, [{}]), ("leaky_relu", F.leaky_relu, [{}, {"negative_slope": 0.25}]),
                   ("elu", F.elu, [{}, {"alpha": 1.5}]), ("selu", F.selu, [{}]), ("celu", F.celu, [{}, {"alpha": 2.0}]),
                   ("softplus", F.softplus, [{}, {"beta": 2.0, "threshold": 5.0}]), ("softsign", F.softsign, [{}]),
                   ("mish", F.mish, [{}]), ("hardtanh", F.hardtanh, [{}, {"min_val": -2.0, "max_val": 0.25}]),
                   ("hardsigmoid", F.hardsigmoid, [{}]), ("hardswish", F.hardswish, [{}]), ("relu6", F.relu6, [{}]),
                   ("logsigmoid", F.logsigmoid, [{}]), ("tanhshrink", F.tanhshrink, [{}]),
                   ("softshrink", F.softshrink, [{}, {"lambd": 0.25}]), ("hardshrink", F.hardshrink, [{}, {"lambd": 1.0}]),
                   ("threshold", F.threshold, [{"threshold": 0.5, "value": -3.0}]),
                   ("gelu", F.gelu, [{"approximate": "none"}, {"approximate": "tanh"}])]
    for name, f, variants in elementwise:
        for o in variants:
            for t in FLOATS:
                x = torch.tensor(SPECIAL).to(t)
                if o == {"approximate": "none"}:
                    x = x[torch.isfinite(x)]  # torch gives NaN for infinities in some dtypes
                case(name, [x], f(x, **o), **o)
            for shape in ((), (0,), (2, 0, 3), (7, 3)):
                x = values(shape)
                case(name, [x], f(x, **o), **o)
    inf, nan = float("inf"), float("nan")
    for name, f in (("softmax", F.softmax), ("log_softmax", F.log_softmax), ("softmin", F.softmin)):
        for t in FLOATS:
            for shape, axis in (((3, 5), 1), ((3, 5), -1), ((3, 5), 0), ((2, 7, 3), 1), ((1, 1), 0), ((0, 3), 1), ((3, 0), 1),
                                ((3, 0), 0), ((), 0), ((), -1), ((13,), 0)):
                x = values(shape, t)
                case(name, [x], f(x, dim=axis), axis=axis)
            x = torch.tensor([[1, inf, 2], [-inf, -inf, -inf], [1, -inf, 3], [nan, 1, 2], [1000, 1001, -1000]]).to(t)
            case(name, [x], f(x, dim=1), axis=1)
        x = values((2, 3), bf16)
        case(name, [x], f(x, dim=1, dtype=f32), axis=1, dtype="float32")
        x = torch.tensor([[1, 2, 3]])
        case(name, [x], f(x, dim=1, dtype=f64), axis=1, dtype="float64")
    for t in FLOATS:
        for shape, axis in (((4, 6), -1), ((4, 6), 0), ((2, 2, 3), 1), ((0, 2), 1), ((2, 0), 1)):
            x = values(shape, t)
            case("glu", [x], F.glu(x, axis), axis=axis)
        for shape, n in (((2, 3, 2), 3), ((2, 3), 3), ((2, 3), 1), ((5,), 1), ((0, 3), 3)):
            x, w = values(shape, t), values((n,), t)
            case("prelu", [x, w], F.prelu(x, w))
    write("activation")


def normalisations():
    for t in FLOATS:
        for shape, axes in (((3, 5), 1), ((2, 3, 4), 2), ((7,), 1), ((2, 1), 1), ((0, 3), 1), ((2, 131), 1)):
            n = shape[len(shape) - axes:]
            x, w, b = values(shape, t), values(n, t), values(n, t)
            case("layer_norm", [x, None, None], F.layer_norm(x, n), normalized=n)
            case("layer_norm", [x, w, b], F.layer_norm(x, n, w, b, 0.5), normalized=n, eps=0.5)
            case("rms_norm", [x, None], F.rms_norm(x, n), normalized=n)
            case("rms_norm", [x, w], F.rms_norm(x, n, w, 0.5), normalized=n, eps=0.5)
        for shape in ((4, 3), (2, 3, 5), (2, 3, 2, 3), (2, 1, 2), (3, 2, 1, 2, 3)):
            c = shape[1]
            x, w, b, m, v = values(shape, t), values((c,), t), values((c,), t), values((c,), t), uniform((c,), t)
            case("batch_norm", [x, m, v, None, None], F.batch_norm(x, m, v))
            case("batch_norm", [x, m, v, w, b], F.batch_norm(x, m, v, w, b, eps=0.25), eps=0.25)
            for momentum in (0.1, 0.75):
                rm, rv = m.clone(), v.clone()
                y = F.batch_norm(x, rm, rv, w, b, training=True, momentum=momentum)
                case("batch_norm_training", [x, m, v, w, b], y, momentum=momentum, part=0)
                case("batch_norm_training", [x, m, v, w, b], rm, momentum=momentum, part=1)
                case("batch_norm_training", [x, m, v, w, b], rv, momentum=momentum, part=2)
            y = F.batch_norm(x, None, None, training=True)
            case("batch_norm_training", [x, None, None, None, None], y, part=0)
        for shape, groups in (((2, 6), 3), ((2, 6, 5), 2), ((3, 4, 2, 3), 4), ((2, 4, 3), 1), ((0, 4, 3), 2)):
            c = shape[1]
            x, w, b = values(shape, t), values((c,), t), values((c,), t)
            case("group_norm", [x, None, None], F.group_norm(x, groups), groups=groups)
            case("group_norm", [x, w, b], F.group_norm(x, groups, w, b, 0.5), groups=groups, eps=0.5)
        for shape in ((2, 3, 5), (1, 2, 3, 4), (2, 1, 2, 3, 2)):
            c = shape[1]
            x, w, b = values(shape, t), values((c,), t), values((c,), t)
            case("instance_norm", [x, None, None], F.instance_norm(x))
            case("instance_norm", [x, w, b], F.instance_norm(x, weight=w, bias=b, eps=0.5), eps=0.5)
        for p in (2.0, 1.0, 3.0, 0.5, 0.0, float("inf")):
            x = values((3, 5), t)
            x[1] = 0
            case("normalize", [x], F.normalize(x, p=p), p=p)
            case("normalize", [x], F.normalize(x, p=p, dim=0, eps=2.0), p=p, axes=0, eps=2.0)
    for shape, size in (((2, 5, 3), 3), ((2, 5, 3), 2), ((1, 3, 2, 2), 5), ((1, 3, 2, 2), 9), ((2, 4, 1, 2, 2), 1)):
        for t in (f32, f64):
            x = values(shape, t)
            case("local_response_norm", [x], F.local_response_norm(x, size), size=size)
            case("local_response_norm", [x], F.local_response_norm(x, size, alpha=2.0, beta=0.5, k=1.5), size=size, alpha=2.0, beta=0.5,
                 k=1.5)
    x = torch.tensor([[1, float("nan"), 2], [float("inf"), 1, 2], [3, 3, 3], [1e20, 1, -1e20]])
    case("layer_norm", [x, None, None], F.layer_norm(x, (3,)), normalized=(3,))
    case("rms_norm", [x, None], F.rms_norm(x, (3,)), normalized=(3,))
    case("normalize", [x], F.normalize(x))
    write("normalisation")


def linears():
    for t in FLOATS:
        for shape, o in (((3, 5), 4), ((5,), 4), ((2, 3, 5), 1), ((0, 5), 4), ((2, 1), 7), ((13, 11), 17)):
            x, w, b = values(shape, t), values((o, shape[-1]), t), values((o,), t)
            case("linear", [x, w, None], F.linear(x, w))
            case("linear", [x, w, b], F.linear(x, w, b))
        x, w = values((3, 5), t), values((5,), t)
        case("linear", [x, w, None], F.linear(x, w))
        for lead in ((), (3,), (2, 3)):
            a, b, w, c = values(lead + (3,), t), values(lead + (5,), t), values((4, 3, 5), t), values((4,), t)
            case("bilinear", [a, b, w, None], F.bilinear(a, b, w))
            case("bilinear", [a, b, w, c], F.bilinear(a, b, w, c))
        for shape in ((), (4,), (2, 3), (0,)):
            ids, w = torch.tensor(rng.integers(0, 7, size=shape)), values((7, 3), t)
            case("embedding", [ids, w], F.embedding(ids, w))
    for shape in ((), (4,), (2, 3), (0,)):
        ids = torch.tensor(rng.integers(0, 5, size=shape))
        case("one_hot", [ids], F.one_hot(ids, 5), classes=5)
    write("linear")


def distances():
    for t in FLOATS:
        for sa, sb, axis in (((3, 5), (3, 5), 1), ((3, 5), (1, 5), 1), ((3, 5), (5,), 1), ((3, 5), (3, 5), 0), ((2, 3, 4), (2, 3, 4), -1),
                             ((2, 0), (2, 0), 1)):
            a, b = values(sa, t), values(sb, t)
            case("cosine_similarity", [a, b], F.cosine_similarity(a, b, dim=axis), axis=axis)
        z = torch.zeros((2, 3), dtype=t)
        case("cosine_similarity", [z, values((2, 3), t)], F.cosine_similarity(z, z), axis=1)
        for p in (2.0, 1.0, 3.0, 0.0, float("inf")):
            for sa, sb in (((3, 5), (3, 5)), ((5,), (5,)), ((3, 5), (1, 5)), ((2, 1), (2, 1))):
                a, b = values(sa, t), values(sb, t)
                case("pairwise_distance", [a, b], F.pairwise_distance(a, b, p=p), p=p)
                case("pairwise_distance", [a, b], F.pairwise_distance(a, b, p=p, eps=0.5, keepdim=True), p=p, eps=0.5, keep=True)
            if t == bf16:
                continue
            for sa, sb in (((3, 5), (4, 5)), ((2, 3, 5), (4, 5)), ((1, 1), (3, 1)), ((0, 5), (3, 5)), ((2, 0), (3, 0)),
                           ((2, 1, 3, 2), (3, 2, 2))):
                a, b = values(sa, t), values(sb, t)
                case("cdist", [a, b], torch.cdist(a, b, p=p), p=p)
    write("distance")


def losses():
    reductions = ("none", "mean", "sum")
    nan, inf = float("nan"), float("inf")
    for t in FLOATS:
        pairs = [(values(s, t), values(s, t)) for s in ((3, 5), (), (0,), (1, 7))]
        pairs.append((torch.tensor([nan, inf, -inf, 0.0, 1e3]).to(t), torch.tensor([1.0, 1.0, 2.0, 0.0, -1e3]).to(t)))
        for r in reductions:
            for x, y in pairs:
                case("mse_loss", [x, y], F.mse_loss(x, y, reduction=r), reduction=r)
                case("l1_loss", [x, y], F.l1_loss(x, y, reduction=r), reduction=r)
                for d in (1.0, 0.25):
                    case("huber_loss", [x, y], F.huber_loss(x, y, reduction=r, delta=d), reduction=r, delta=d)
                for b in (1.0, 0.25, 0.0):
                    case("smooth_l1_loss", [x, y], F.smooth_l1_loss(x, y, reduction=r, beta=b), reduction=r, beta=b)
            for s in ((3, 5), (), (0,)):
                p, q, w, x = uniform(s, t), uniform(s, t), uniform(s[-1:], t), values(s, t, 30)
                case("binary_cross_entropy", [p, q, None], F.binary_cross_entropy(p, q, reduction=r), reduction=r)
                case("binary_cross_entropy", [p, q, w], F.binary_cross_entropy(p, q, w, reduction=r), reduction=r)
                g = F.binary_cross_entropy_with_logits
                case("binary_cross_entropy_with_logits", [x, q, None, None], g(x, q, reduction=r), reduction=r)
                case("binary_cross_entropy_with_logits", [x, q, w, 2 * w], g(x, q, w, pos_weight=2 * w, reduction=r), reduction=r)
                case("kl_div", [p.log(), q], F.kl_div(p.log(), q, reduction=r), reduction=r)
                case("kl_div", [p.log(), q.log()], F.kl_div(p.log(), q.log(), reduction=r, log_target=True), reduction=r, log_target=True)
                y = torch.floor(q * 4)
                for li in (True, False):
                    for full in (True, False):
                        case("poisson_nll_loss", [p, y], F.poisson_nll_loss(p, y, log_input=li, full=full, reduction=r), log_input=li,
                             full=full, reduction=r)
                full = r == "sum"
                case("gaussian_nll_loss", [x, y, q], F.gaussian_nll_loss(x, y, q, full=full, reduction=r), full=full, reduction=r)
            p = torch.tensor([0.0, 1.0, 0.0, 1.0, 0.5]).to(t)
            q = torch.tensor([0.0, 1.0, 1.0, 0.0, 0.0]).to(t)
            case("binary_cross_entropy", [p, q, None], F.binary_cross_entropy(p, q, reduction=r), reduction=r)
            x = torch.tensor([inf, -inf, nan, 1000.0, -1000.0]).to(t)
            case("binary_cross_entropy_with_logits", [x, q, None, None], F.binary_cross_entropy_with_logits(x, q, reduction=r), reduction=r)
            case("kl_div", [p, q], F.kl_div(p, q, reduction=r), reduction=r)
            x, y = values((4, 3), t), values((4, 3), t)
            for v in (uniform((4, 1), t), uniform((4,), t)):
                case("gaussian_nll_loss", [x, y, v], F.gaussian_nll_loss(x, y, v, eps=0.25, reduction=r), eps=0.25, reduction=r)
            s = torch.tensor(rng.choice([-1.0, 1.0], size=(4, 3))).to(t)
            for m in (0.0, 0.5):
                case("margin_ranking_loss", [x, y, s], F.margin_ranking_loss(x, y, s, margin=m, reduction=r), margin=m, reduction=r)
                case("hinge_embedding_loss", [x, s], F.hinge_embedding_loss(x, s, margin=m, reduction=r), margin=m, reduction=r)
                case("cosine_embedding_loss", [x, y, s[:, 0]], F.cosine_embedding_loss(x, y, s[:, 0], margin=m, reduction=r), margin=m,
                     reduction=r)
                case("cosine_embedding_loss", [x[0], y[0], s[0, 0]], F.cosine_embedding_loss(x[0], y[0], s[0, 0], margin=m, reduction=r),
                     margin=m, reduction=r)
            z = values((4, 3), t)
            for o in ({}, {"margin": 0.25, "p": 1.0}, {"swap": True, "eps": 0.125}, {"p": 3.0}):
                case("triplet_margin_loss", [x, y, z], F.triplet_margin_loss(x, y, z, reduction=r, **o), reduction=r, **o)
        x, q = uniform((3, 5), t).log(), uniform((3, 5), t)
        case("kl_div", [x, q], F.kl_div(x, q, reduction="batchmean"), reduction="batchmean")
    write("loss")


def class_losses():
    nan, inf = float("nan"), float("inf")
    for t in FLOATS:
        for r in ("none", "mean", "sum"):
            for shape in ((5,), (4, 5), (1, 1), (2, 3, 3), (1, 3, 2, 2), (0, 3), (2, 131)):
                c = shape[0] if len(shape) == 1 else shape[1]
                if c > 100 and (r, t) != ("mean", f32):
                    continue
                rows = () if len(shape) == 1 else shape[:1] + shape[2:]
                x, w = values(shape, t), uniform((c,), t)
                y = torch.tensor(rng.integers(0, c, size=rows))
                probabilities = F.softmax(values(shape, f64), 0 if len(shape) == 1 else 1).to(t)
                ignored = y.clone()
                if len(rows):
                    ignored.reshape(-1)[::3] = -100
                other = int(y.reshape(-1)[0]) if y.numel() else 0
                for weight in (None, w):
                    for labels, ignore in ((y, -100), (ignored, -100), (y, other)):
                        if ignore == other and not rows:
                            continue
                        o = {"ignore_index": ignore, "reduction": r}
                        case("nll_loss", [x, labels, weight], F.nll_loss(x, labels, weight, **o), **o)
                        for s in (0.0, 0.125):
                            case("cross_entropy", [x, labels, weight], F.cross_entropy(x, labels, weight, label_smoothing=s, **o),
                                 label_smoothing=s, **o)
                    for s in (0.0, 0.125):
                        o = {"label_smoothing": s, "reduction": r}
                        case("cross_entropy", [x, probabilities, weight], F.cross_entropy(x, probabilities, weight, **o), **o)
            x = torch.tensor([[1, inf, 2], [-inf, 0, -inf], [nan, 1, 2], [1000, 0, -1000]]).to(t)
            y = torch.tensor([1, 1, 0, 2])
            case("cross_entropy", [x, y, None], F.cross_entropy(x, y, reduction=r), reduction=r)
    write("class_loss")


def paddings():
    shapes = [((2, 3, 7), [1, 2]), ((2, 3, 5, 6), [1, 2, 3, 0]), ((1, 2, 3, 4, 5), [1, 2, 0, 1, 2, 1]), ((2, 3, 5, 6), [-1, 2, 1, -2]),
              ((1, 1, 2), [1, 1])]
    for t in FLOATS + [torch.int64]:
        for shape, pads in shapes:
            x = values(shape, t)
            for mode in ("reflect", "replicate", "circular"):
                if mode == "reflect" and t == torch.int64:
                    continue
                case("pad", [x], F.pad(x, pads, mode=mode), pads=pads, mode=mode)
            case("pad", [x], F.pad(x, pads), pads=pads, mode="constant", value=0)
            case("pad", [x], F.pad(x, pads, value=3), pads=pads, mode="constant", value=3)
    for shape, pads in (((3,), [2, 1]), ((0,), [2, 1]), ((2, 0), [0, 0, 1, 1]), ((3, 4), [-2, -2, 0, 0]), ((2, 2, 2, 2), [1, 1] * 4)):
        x = values(shape)
        case("pad", [x], F.pad(x, pads, value=1), pads=pads, mode="constant", value=1)
    write("padding")


def resizes():
    inputs = [(2, 3, 7), (1, 2, 5, 4), (2, 1, 1, 3), (1, 2, 3, 4, 2)]
    for t in FLOATS:
        for shape in inputs:
            x, n = values(shape, t), len(shape) - 2
            linear = ("linear", "bilinear", "trilinear")[n - 1]
            sizes = [[e * 2 for e in shape[2:]], [11, 3, 5][:n], [1] * n, list(shape[2:])]
            for size in sizes if t == f32 else sizes[1:2]:
                for mode in ("nearest", "nearest-exact", linear, "area", "bicubic"):
                    if mode == "bicubic" and n != 2:
                        continue
                    corners = (False, True) if mode in (linear, "bicubic") else (None,)
                    for align in corners:
                        y = F.interpolate(x, size=size, mode=mode, align_corners=align)
                        case("interpolate", [x], y, size=size, mode=mode, align_corners=bool(align))
            for scale in (2.0, 0.5, 1.7):
                if any(int(e * scale) < 1 for e in shape[2:]):
                    continue
                for mode in ("nearest", "nearest-exact", linear, "bicubic"):
                    if mode == "bicubic" and n != 2:
                        continue
                    y = F.interpolate(x, scale_factor=scale, mode=mode)
                    case("interpolate", [x], y, scale_factor=scale, mode=mode)
    for t in FLOATS:
        for shape, r in (((2, 8, 2, 3), 2), ((9, 1, 2), 3), ((2, 1, 4, 1, 1), 2), ((0, 4, 2, 2), 2)):
            x = values(shape, t)
            y = F.pixel_shuffle(x, r)
            case("pixel_shuffle", [x], y, r=r)
            if x.numel():  # torch gives the operand itself
                case("pixel_unshuffle", [y], F.pixel_unshuffle(y, r), r=r)
        x = values((2, 6, 3, 2), t)
        for g in (1, 2, 3, 6):
            case("channel_shuffle", [x], torch.channel_shuffle(x, g), groups=g)
    write("resize")


def grids():
    nan, inf = float("nan"), float("inf")
    for t in (f32, f64):
        for shape, out in (((2, 3, 5, 4), (3, 2)), ((1, 1, 1, 1), (2, 2)), ((2, 1, 3, 2, 4), (2, 1, 3))):
            n = len(out)
            x = values(shape, t)
            g = torch.tensor(np.round(rng.uniform(-2.5, 2.5, size=(shape[0],) + out + (n,)) * 64 + 0.25) / 64).to(t)
            for mode in ("bilinear", "nearest"):
                for padding in ("zeros", "border", "reflection"):
                    for align in (False, True):
                        o = {"mode": mode, "padding_mode": padding, "align_corners": align}
                        case("grid_sample", [x, g], F.grid_sample(x, g, **o), **o)
    x = values((1, 2, 3, 3))
    g = torch.tensor([[[[-1, -1], [1, 1], [0, 0]], [[1e30, 0], [-1e30, 0], [-1, 1]]]], dtype=f32)
    for mode in ("bilinear", "nearest"):
        for padding in ("zeros", "border"):
            o = {"mode": mode, "padding_mode": padding, "align_corners": True}
            case("grid_sample", [x, g], F.grid_sample(x, g, **o), **o)
    write("grid")


def convolutions():
    for t in (f32,):
        for n, (shape, k, o) in enumerate((((2, 4, 9), (3,), 6), ((1, 4, 5, 4), (3, 2), 4), ((1, 2, 3, 4, 3), (2, 3, 2), 2),), 1):
            conv = (F.conv1d, F.conv2d, F.conv3d)[n - 1]
            transposed = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[n - 1]
            for groups in (1, 2):
                x, b = values(shape, t), values((o,), t)
                w = values((o, shape[1] // groups) + k, t)
                case("conv", [x, w, b], conv(x, w, b, groups=groups), groups=groups)
                case("conv", [x, w, b], conv(x, w, b, stride=2, padding=1, groups=groups), groups=groups, stride=2, padding=1)
                for dilation in (1, 2):
                    y = conv(x, w, b, padding="same", dilation=dilation, groups=groups)
                    case("conv", [x, w, b], y, padding="same", dilation=dilation, groups=groups)
                for mode in ("reflect", "replicate", "circular"):
                    y = conv(F.pad(x, [1, 1] * n, mode=mode), w, b, stride=2, groups=groups)
                    case("conv", [x, w, b], y, padding=1, stride=2, padding_mode=mode, groups=groups)
                    pads = []
                    for e in reversed(k):
                        pads += [(e - 1) // 2, e - 1 - (e - 1) // 2]
                    case("conv", [x, w, None], conv(F.pad(x, pads, mode=mode), w, groups=groups), padding="same", padding_mode=mode,
                         groups=groups)
                u = values((shape[1], o // groups) + k, t)
                case("conv_transpose", [x, u, b], transposed(x, u, b, stride=2, padding=1, groups=groups), stride=2, padding=1,
                     groups=groups)
    for t in (f32, f64):
        for n, shape in enumerate(((2, 3, 10), (1, 2, 7, 9), (1, 1, 5, 4, 6)), 1):
            maximum, mean = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[n - 1], (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[n - 1]
            x = values(shape, t)
            for k, s, p in ((2, 3, 0), (3, 2, 1), (3, 2, 0), (2, 2, 1), (4, 3, 2), (3, 4, 1), (2, 5, 0)):
                if p == 2 and n == 3:
                    continue
                o = {"stride": s, "padding": p}
                case("max_pool", [x], maximum(x, k, ceil_mode=True, **o), window=k, ceil_mode=True, **o)
                for c in (True, False):
                    case("avg_pool", [x], mean(x, k, ceil_mode=True, count_include_pad=c, **o), window=k, ceil_mode=True, count_padding=c, **o)
                if n > 1:
                    case("avg_pool", [x], mean(x, k, divisor_override=3, **o), window=k, divisor_override=3, **o)
    write("convolution")


def gradient(name, f, operands, **options):
    """Writes the gradients of sum(f(operands) * w), one field for each operand, where w[i] = (7 i % 11 - 5) / 4."""
    leaves = [o.detach().clone().requires_grad_() if o is not None and o.is_floating_point() else o for o in operands]
    narrow = any(o is not None and o.dtype == bf16 for o in operands)
    y = f(*[o.float() if o is not None and o.dtype == bf16 else o for o in leaves])
    if narrow:
        y = y.to(bf16)
    w = (((7 * torch.arange(y.numel())) % 11 - 5) / 4).reshape(y.shape).to(y.dtype)
    y.backward(w)
    grads = [o.grad if o is not None and o.is_floating_point() else None for o in leaves]
    head = " ".join([name] + [f"{k}={option(v)}" for k, v in options.items()])
    lines.append(" | ".join([head] + [text(t) for t in operands] + [text(g) for g in grads]))


def activation_gradients(t):
    G = torch.nn.functional
    edges = torch.tensor([0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 3.0, -3.0, 6.0, 0.25, -2.0, 20.0, 21.0, -20.0, 1e-30, 88.0, -88.0]).to(t)
    variants = [("silu", {}), ("leaky_relu", {"negative_slope": 0.25}), ("elu", {"alpha": 1.5}), ("selu", {}), ("celu", {"alpha": 2.0}),
                ("softplus", {"beta": 2.0, "threshold": 5.0}), ("softsign", {}), ("mish", {}), ("hardtanh", {"min_val": -2.0, "max_val": 0.25}),
                ("hardsigmoid", {}), ("hardswish", {}), ("relu6", {}), ("relu", {}), ("logsigmoid", {}), ("tanhshrink", {}), ("softshrink", {"lambd": 0.5}),
                ("hardshrink", {"lambd": 1.0}), ("threshold", {"threshold": 0.5, "value": -3.0}), ("gelu", {"approximate": "none"}),
                ("gelu", {"approximate": "tanh"})]
    for name, o in variants:
        if name == "hardsigmoid" and t == f64:
            continue  # torch's sixth is one of float32
        gradient(name, lambda x, name=name, o=o: getattr(G, name)(x, **o), [edges], **o)
        gradient(name, lambda x, name=name, o=o: getattr(G, name)(x, **o), [values((2, 5), t)], **o)
    for name in ("softmax", "log_softmax", "softmin"):
        for shape, axis in (((3, 5), 1), ((3, 5), 0), ((2, 7, 3), 1)):
            gradient(name, lambda x: getattr(G, name)(x, dim=axis), [values(shape, t)], axis=axis)
    gradient("glu", lambda x: G.glu(x, 1), [values((2, 6), t)], axis=1)
    gradient("prelu", G.prelu, [values((2, 3, 2), t), values((3,), t)])


def norm_gradients(t):
    G = torch.nn.functional
    for shape, n in (((3, 5), (5,)), ((2, 3, 4), (3, 4)), ((2, 37), (37,))):
        ops = [values(shape, t), values(n, t), values(n, t)]
        gradient("layer_norm", lambda x, w, b: G.layer_norm(x, n, w, b, 0.5), ops, normalized=n, eps=0.5)
        gradient("layer_norm", lambda x, w, b: G.layer_norm(x, n), [ops[0], None, None], normalized=n)
        gradient("rms_norm", lambda x, w: G.rms_norm(x, n, w, 0.5), ops[:2], normalized=n, eps=0.5)
    for shape, groups in (((4, 4), 2), ((2, 4, 5), 2), ((2, 6, 2, 3), 3)):
        c = shape[1]
        x, w, b, m, v = values(shape, t), values((c,), t), values((c,), t), values((c,), t), uniform((c,), t)
        gradient("group_norm", lambda x, w, b: G.group_norm(x, groups, w, b, 0.5), [x, w, b], groups=groups, eps=0.5)
        if len(shape) > 2:
            gradient("instance_norm", lambda x, w, b: G.instance_norm(x, weight=w, bias=b, eps=0.5), [x, w, b], eps=0.5)
        gradient("batch_norm", lambda x, m, v, w, b: G.batch_norm(x, m.detach(), v.detach(), w, b), [x, m, v, w, b])
        gradient("batch_norm_training", lambda x, m, v, w, b: G.batch_norm(x, None, None, w, b, True), [x, None, None, w, b], part=0)
    gradient("local_response_norm", lambda x: G.local_response_norm(x, 3, alpha=2.0), [values((2, 5, 3), t)], size=3, alpha=2.0)
    gradient("normalize", lambda x: G.normalize(x), [values((3, 4), t)])


def layer_gradients(t):
    G = torch.nn.functional
    for shape, o in (((3, 5), 4), ((5,), 4), ((2, 3, 5), 1)):
        gradient("linear", G.linear, [values(shape, t), values((o, 5), t), values((o,), t)])
    gradient("bilinear", G.bilinear, [values((3, 3), t), values((3, 2), t), values((4, 3, 2), t), values((4,), t)])
    gradient("embedding", G.embedding, [torch.tensor([[1, 4, 1], [0, 1, 6]]), values((7, 3), t)])
    q, k, v, m = values((2, 2, 3, 4), t), values((2, 2, 5, 4), t), values((2, 2, 5, 3), t), values((3, 5), t)
    attention = G.scaled_dot_product_attention
    gradient("scaled_dot_product_attention", lambda q, k, v, m: attention(q, k, v), [q, k, v, None])
    gradient("scaled_dot_product_attention", lambda q, k, v, m: attention(q, k, v, is_causal=True), [q, k, v, None], causal=True)
    gradient("scaled_dot_product_attention", lambda q, k, v, m: attention(q, k, v, m), [q, k, v, m])
    keep = torch.tensor([[1, 0, 1, 1, 0], [0, 1, 1, 0, 0], [1, 1, 1, 1, 1]]).bool()
    gradient("scaled_dot_product_attention", lambda q, k, v, m: attention(q, k, v, m), [q, k, v, keep])


def loss_gradients(t):
    G = torch.nn.functional
    for r in ("none", "mean", "sum"):
        x, y, p, q = values((3, 5), t), values((3, 5), t), uniform((3, 5), t), uniform((3, 5), t)
        for name, f, ops, o in (("mse_loss", G.mse_loss, [x, y], {}), ("huber_loss", G.huber_loss, [x, y], {"delta": 0.25}),
                                ("smooth_l1_loss", G.smooth_l1_loss, [x, y], {"beta": 0.25}),
                                ("l1_loss", G.l1_loss, [x, y], {})):
            gradient(name, lambda a, b: f(a, b, reduction=r, **o), ops, reduction=r, **o)
        gradient("binary_cross_entropy", lambda a, b, w: G.binary_cross_entropy(a, b, reduction=r), [p, q, None], reduction=r)
        logits = G.binary_cross_entropy_with_logits
        gradient("binary_cross_entropy_with_logits", lambda a, b, w, z: logits(a, b.detach(), reduction=r), [x, q, None, None], reduction=r)
        gradient("kl_div", lambda a, b: G.kl_div(a, b, reduction=r), [p.log(), q], reduction=r)
        labels, weight = torch.tensor([1, 4, 1, 0]), uniform((5,), t)
        x, soft = values((4, 5), t), torch.nn.functional.softmax(values((4, 5), f64), 1).to(t)
        for ignore in (-100, 1):
            o = {"ignore_index": ignore, "reduction": r}
            gradient("nll_loss", lambda a, l, w: G.nll_loss(a, l, w.detach(), **o), [x, labels, weight], **o)
            for s in (0.0, 0.125):
                gradient("cross_entropy", lambda a, l, w: G.cross_entropy(a, l, label_smoothing=s, **o), [x, labels, None], label_smoothing=s, **o)
        gradient("cross_entropy", lambda a, l, w: G.cross_entropy(a, l, w.detach(), reduction=r), [x, labels, weight], reduction=r)
        gradient("cross_entropy", lambda a, l, w: G.cross_entropy(a, l, reduction=r), [x, soft, None], reduction=r)
        image = values((2, 3, 2, 2), t)
        gradient("cross_entropy", lambda a, l, w: G.cross_entropy(a, l, reduction=r), [image, torch.tensor([[[0, 1], [2, 2]], [[1, 1], [0, 2]]]),
                                                                                      None], reduction=r)


def image_gradients(t):
    G = torch.nn.functional
    for n, (shape, k, o) in enumerate((((2, 4, 7), (3,), 6), ((1, 4, 5, 4), (3, 2), 4), ((1, 2, 3, 4, 3), (2, 3, 2), 2),), 1):
        conv, transposed = (G.conv1d, G.conv2d, G.conv3d)[n - 1], (G.conv_transpose1d, G.conv_transpose2d, G.conv_transpose3d)[n - 1]
        for groups in (1, 2):
            x, b, w = values(shape, t), values((o,), t), values((o, shape[1] // groups) + k, t)
            u = values((shape[1], o // groups) + k, t)
            for c in ({}, {"stride": 2, "padding": 1}, {"padding": 1, "dilation": 2}) if n < 3 else ({"stride": 2, "padding": 1},):
                gradient("conv", lambda x, w, b: conv(x, w, b, groups=groups, **c), [x, w, b], groups=groups, **c)
                gradient("conv_transpose", lambda x, w, b: transposed(x, w, b, groups=groups, **c), [x, u, b], groups=groups, **c)
    x = values((1, 2, 5, 6), t)
    for window, c in ((2, {"stride": 2}), (3, {"stride": 2, "padding": 1}), (2, {"stride": 1})):
        gradient("max_pool", lambda x: G.max_pool2d(x, window, **c), [x], window=window, **c)
        for pads in (True, False):
            gradient("avg_pool", lambda x: G.avg_pool2d(x, window, count_include_pad=pads, **c), [x], window=window, count_padding=pads, **c)
    gradient("max_pool", lambda x: G.max_pool2d(x, 3, 2, 1), [torch.round(x)], window=3, stride=2, padding=1)  # with ties
    gradient("adaptive_avg_pool", lambda x: G.adaptive_avg_pool2d(x, (2, 4)), [x], extents=(2, 4))
    gradient("adaptive_max_pool", lambda x: G.adaptive_max_pool2d(x, (2, 4)), [torch.round(x)], extents=(2, 4))
    gradient("unfold", lambda x: G.unfold(x, (2, 3), padding=1, stride=2), [x], window=(2, 3), padding=1, stride=2)
    gradient("fold", lambda x: G.fold(x, (4, 5), (2, 2)), [values((1, 8, 12), t)], extents=(4, 5), window=2)
    for mode in ("reflect", "replicate", "circular"):
        gradient("pad", lambda x: G.pad(x, [1, 2, 2, 0], mode=mode), [x], pads=(1, 2, 2, 0), mode=mode)
    for mode, o in (("nearest", {}), ("bilinear", {}), ("bilinear", {"align_corners": True}), ("bicubic", {}), ("area", {}), ("nearest-exact", {})):
        for size in ((10, 12), (3, 7)):
            gradient("interpolate", lambda x: G.interpolate(x, size, mode=mode, **o), [x], size=size, mode=mode, **o)
    grid = values((1, 3, 2, 2), t, 0.4)
    for mode in ("zeros", "border"):
        gradient("grid_sample", lambda x, g: G.grid_sample(x, g, mode="bilinear", padding_mode=mode, align_corners=False), [x, grid],
                 mode="bilinear", padding_mode=mode, align_corners=False)
    gradient("pixel_shuffle", lambda x: G.pixel_shuffle(x, 2), [values((1, 4, 2, 3), t)], r=2)


def gradients():
    for t in FLOATS:
        for make in (activation_gradients, norm_gradients, layer_gradients, loss_gradients, image_gradients):
            if t == f32 or make != loss_gradients and (t == f64 or make != image_gradients):
                make(t)
    write("gradients")


for make in (activations, normalisations, linears, distances, losses, class_losses, paddings, resizes, grids, convolutions, gradients):
    make()
