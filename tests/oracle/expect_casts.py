"""What casts and promotion should give."""
import numpy as np

from spec import meant, op
from values import ALL, DT, Out, V, is_float, is_int, promote, rounded


def cast(a, t, u):
    """Converts as docs/semantics.md says."""
    if u == "bool":
        return a != 0
    if is_int(u) and is_float(t):
        meant("casts")
        low, high = np.iinfo(u).min, np.iinfo(u).max
        flat = [0 if x != x else low if x <= low else high if x >= high else int(x) for x in a.astype(np.float64).ravel().tolist()]
        return np.array(flat, dtype=u).reshape(a.shape)
    return rounded(a, u) if u != "bfloat16" or t != "float64" else odd_then_rounded(a)


def odd_then_rounded(a):
    """Rounds float64 to bfloat16 once: first to float32 to odd."""
    f = a.astype(np.float32)
    down = np.where(np.abs(f.astype(np.float64)) > np.abs(a), np.nextafter(f, np.float32(0)), f)
    exact = down.astype(np.float64) == a
    odd = (down.view(np.uint32) | np.where(exact | ~np.isfinite(a), 0, 1).astype(np.uint32)).view(np.float32)
    return rounded(np.where(np.isfinite(a), odd, f), "bfloat16")


@op("astype")
def astype(d, name):
    t, u = d.one(ALL), d.one(ALL)
    x = d.tensor(t, d.shape())
    if u == "bfloat16" and t in ("int32", "int64", "uint32", "uint64"):
        exact = d.values(t, x.a.shape, "plain")
        x = V(t, exact)
    return [x, DT(u)], [Out(u, cast(x.a, t, u), zero=False)]


@op("result_type", "can_cast")
def types(d, name):
    ta, tb = d.one(ALL), d.one(ALL)
    r = promote(ta, tb)
    meant("promotion")
    x, y = V(ta, d.values(ta, (1,))), V(tb, d.values(tb, (2,)))
    if name == "can_cast":
        return [x, DT(tb)], [Out("bool", r == tb)]
    return [x, y], "error" if r is None else [Out(r, np.zeros(0))]
