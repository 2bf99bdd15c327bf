"""What products and linear algebra should give."""
import numpy as np
import torch

from spec import Skip, op
from values import ALL, FLOATS, Out, Xs, is_float, promote, rounded, work

ld = np.longdouble


def product(arguments, t, f, a, b, n, keep_bool=True):
    """Returns what f gives of a and b, each element of which sums up to n products."""
    try:
        if t == "bool":
            return arguments, [Out("bool", f(a.astype(np.int64), b.astype(np.int64)) != 0)]
        if not is_float(t):
            return arguments, [Out(t, f(work(a, t), work(b, t)))]
        x, y = (rounded(v, t).astype(ld) for v in (a, b))
        whole = f(x, y)
        most = f(np.abs(x), np.abs(y))
    except ValueError:
        return arguments, "error"
    ulps = 2 if t in ("float16", "bfloat16") else 4
    return arguments, [Out(t, whole, ulps, float(np.max(most, initial=0)), True)]


def types(d):
    ta, tb = d.types(FLOATS if d.chance(0.6) else ALL, same=0.8)
    return ta, tb, promote(ta, tb)


@op("matmul", "dot", "inner", "outer", "vecdot", "kron", "cross")
def two(d, name):
    ta, tb, t = types(d)
    m, k, n = d.int(1, 20), d.int(1, 40) if d.chance(0.95) else 0, d.int(1, 20)
    lead = d.shape(high=2, largest=6, empty=0.02)
    if name == "matmul":
        sa = d.one([(k,), (m, k), d.broadcasts_to(lead) + (m, k)])
        sb = d.one([(k,), (k, n), lead + (k, n)])
    elif name == "dot":
        sa, sb = d.one([((k,), (k,)), ((m, k), (k, n)), ((m, k), (k,)), ((), (m,))])
    elif name == "inner":
        sa, sb = d.one([((k,), (k,)), ((m, k), (n, k)), ((m, k), (k,)), ((), (m,))])
    elif name == "outer":
        sa, sb = (m,), (n,)
    elif name == "vecdot":
        sa, sb = lead + (k,), d.broadcasts_to(lead) + (k,)
    elif name == "kron":
        sa, sb = d.shape(low=1, high=2, largest=20), d.shape(low=1, high=2, largest=20)
    else:
        sa = sb = lead + (3,)
    if d.chance(0.03) and sb and name != "outer" and name != "kron":
        sb = sb[:-1] + (sb[-1] + 1,)
    a, b = d.tensor(ta, sa, "plain"), d.tensor(tb, sb, "plain")
    if t is None or (name == "cross" and t == "bool"):
        return [a, b], "error"
    f = {"cross": lambda x, y: np.cross(x, y) if x.shape[-1] == y.shape[-1] == 3 else np.broadcast_to(0, (1, 2)).reshape(3),
         "vecdot": lambda x, y: np.sum(x * y, -1) if x.shape[-1] == y.shape[-1] else [].index(0)}.get(name, getattr(np, name))
    if name == "vecdot" and sa[-1:] != sb[-1:]:
        return [a, b], "error"
    if name == "cross" and t not in FLOATS and sa != sb:
        return [a, b], "error"
    if name == "cross" and is_float(t) and sa == sb:
        x, y = (rounded(v.a, t).astype(ld) for v in (a, b))
        scale = float(np.max(np.abs(x), initial=0) * np.max(np.abs(y), initial=0))
        return [a, b], [Out(t, np.cross(x, y), 4, 2 * scale, True)]
    return product([a, b], t, f, a.a, b.a, k)


@op("tensordot", "tensordot/axes")
def tensordot(d, name):
    ta, tb, t = types(d)
    s = tuple(d.int(1, 6) for _ in range(d.int(1, 2)))
    sa, sb = d.shape(high=2, largest=20), d.shape(high=2, largest=20)
    n = len(s)
    if name == "tensordot":
        a, b = d.tensor(ta, sa + s, "plain"), d.tensor(tb, s + sb, "plain")
        arguments, axes = [a, b, n], n
    else:
        a, b = d.tensor(ta, s + sa, "plain"), d.tensor(tb, s + sb, "plain")
        axes = (list(range(n)), list(range(n)))
        arguments = [a, b, *axes]
    if t is None:
        return arguments, "error"
    return product(arguments, t, lambda x, y: np.tensordot(x, y, axes), a.a, b.a, int(np.prod(s)))


@op("einsum")
def einsum(d, name):
    t = d.one(FLOATS + ["int32"])
    subscripts = d.one(["ij,jk->ik", "ij,ij->i", "ij,kj", "i,j->ij", "bij,bjk->bik", "ii->i", "ii", "ij->ji", "i,i->", "ij->",
                        "bi,ij->b"])
    extent = {c: d.int(1, 7) for c in "ijkb"}
    terms = subscripts.split("->")[0].split(",")
    xs = Xs(d.tensor(t, tuple(extent[c] for c in term), "plain") for term in terms)
    f = lambda x, y=None: np.einsum(subscripts, *([x] if y is None else [x, y]))  # noqa: E731
    if len(xs) == 2:
        return product([subscripts, xs], t, f, xs[0].a, xs[1].a, 49)
    w = xs[0].a.astype(ld) if is_float(t) else xs[0].a
    return [subscripts, xs], [Out(t, f(w), 4, float(np.sum(np.abs(w))), True)]


@op("linear", "bilinear")
def linear(d, name):
    t = d.one(FLOATS)
    n, m, k = d.int(1, 9), d.int(1, 9), d.int(1, 9)
    lead = d.shape(high=2, largest=12)
    F = torch.nn.functional
    if name == "linear":
        v = [d.tensor(t, s, "plain") for s in (lead + (n,), (m, n), (m,))]
    else:
        v = [d.tensor(t, s, "plain") for s in (lead + (n,), lead + (k,), (m, n, k), (m,))]
    if name == "bilinear" and 0 in lead:
        raise Skip
    w = [torch.from_numpy(x.a.astype(np.float64)) for x in v]
    y = getattr(F, name)(*w).numpy()
    most = getattr(F, name)(*[x.abs() for x in w]).numpy()
    return v, [Out(t, y, 6, float(np.max(most, initial=0)), True)]


@op("scaled_dot_product_attention")
def attention(d, name):
    t = d.one(FLOATS)
    n, q, k, e, v = d.int(1, 3), d.int(1, 9), d.int(1, 9), d.int(1, 8), d.int(1, 8)
    a = [d.tensor(t, s, "plain") for s in ((n, q, e), (n, k, e), (n, k, v))]
    mask, causal = None, d.chance(0.3)
    w = [torch.from_numpy(x.a.astype(np.float64)) for x in a]
    scores = w[0] @ w[1].mT / np.sqrt(e)
    if causal:
        scores = scores + torch.full((q, k), -np.inf, dtype=torch.float64).triu(1)
    elif d.chance(0.5):
        mask = d.tensor(t, (q, k), "plain")
        scores = scores + torch.from_numpy(mask.a.astype(np.float64))
    y = (torch.softmax(scores, -1) @ w[2]).numpy()
    ulps = {"float64": 64, "float32": 64, "float16": 4, "bfloat16": 4}[t]
    return a + [mask, causal], [Out(t, y, ulps, 8, True)]
