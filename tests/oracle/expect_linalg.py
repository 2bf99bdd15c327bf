"""What linear algebra should give. Factors that are not unique are compared by what they multiply to."""
import numpy as np
import torch

from spec import Skip, op
from values import Out, V, Xs, rounded

T = ["float32", "float64"]


class Any(Out):
    """Expects a dtype and a shape: the values, of magnitude below 16, are not unique."""

    def __init__(self, t, shape):
        super().__init__(t, np.zeros(shape), 2.0 ** {"float32": 24, "float64": 53}[t], 16.0, True)


def most(a):
    return max(1.0, float(np.max(np.abs(a), initial=0)))


def matrix(d, t, shape):
    """Draws matrices with singular values between about 1 and 4."""
    g = d.rng.normal(size=shape)
    u, _, v = np.linalg.svd(g, full_matrices=False)
    s = d.rng.uniform(1, 4, u.shape[:-2] + u.shape[-1:])
    return rounded(u * s[..., None, :] @ v, t)


def square(d, t):
    lead = d.shape(high=2, largest=6)
    n = d.int(1, 8)
    return lead, n, d.of(t, matrix(d, t, lead + (n, n)))


def wide(x):
    return x.a.astype(np.float64)


def attempt(arguments, t, f, scale=0.0, ulps=256):
    try:
        y = f()
    except np.linalg.LinAlgError:
        return arguments, "error"
    return arguments, [Out(t, y, ulps, scale or most(y), True)]


@op("solve", "inv", "det", "matrix_power", "matrix_exp", "expm", "pinv", "svdvals", "cond", "matrix_rank")
def general(d, name):
    t = d.one(T)
    lead, n, a = square(d, t)
    singular = name in ("solve", "inv") and d.chance(0.05)
    if singular:
        a = V(t, np.zeros_like(a.a))
    if name == "solve":
        b = d.tensor(t, lead + (n, d.int(1, 3)), "plain")
        if singular and a.a.size == 0 or a.a.size == 0:
            raise Skip
        return attempt([a, b], t, lambda: np.linalg.solve(wide(a), wide(b)))
    if a.a.size == 0:
        raise Skip
    if name == "inv":
        return attempt([a], t, lambda: np.linalg.inv(wide(a)))
    if name == "matrix_power":
        k = d.int(-2, 4)
        return attempt([a, k], t, lambda: np.linalg.matrix_power(wide(a), k))
    if name in ("matrix_exp", "expm"):
        return attempt([a], t, lambda: torch.linalg.matrix_exp(torch.from_numpy(wide(a))).numpy(), 0, 1024)
    if name == "matrix_rank":
        a = d.of(t, rounded(np.round(wide(a)) @ np.diag((np.arange(n) % 2).astype(float)), t))
        w = wide(a)
        s = np.linalg.svd(w, compute_uv=False)
        if ((s > 1e-9) & (s < 1e-3)).any():
            raise Skip
        return [a], [Out("int64", np.linalg.matrix_rank(w, tol=1e-6))]
    f = {"det": np.linalg.det, "pinv": np.linalg.pinv, "cond": np.linalg.cond,
         "svdvals": lambda w: np.linalg.svd(w, compute_uv=False)}[name]
    return attempt([a], t, lambda: f(wide(a)))


@op("slogdet")
def slogdet(d, name):
    t = d.one(T)
    _, _, a = square(d, t)
    if a.a.size == 0:
        raise Skip
    sign, log = np.linalg.slogdet(wide(a))
    return [a], [Out(t, sign), Out(t, log, 256, 8, True)]


@op("solve_triangular")
def triangular(d, name):
    t = d.one(T)
    n, k = d.int(1, 7), d.int(1, 3)
    a = d.of(t, d.values(t, (n, n), "unit") / 4 + 2 * np.eye(n))
    upper, left, ones = d.chance(0.5), d.chance(0.6), d.chance(0.3)
    b = d.tensor(t, (n, k) if left else (k, n), "plain")
    y = torch.linalg.solve_triangular(*(torch.from_numpy(v) for v in (wide(a), wide(b))), upper=upper, left=left, unitriangular=ones)
    return [a, b, upper, left, ones], [Out(t, y.numpy(), 512, most(y.numpy()), True)]


@op("cholesky", "cholesky_solve", "cholesky_inverse")
def cholesky(d, name):
    t = d.one(T)
    n = d.int(0 if name == "cholesky" else 1, 8)
    lead = d.shape(high=2, largest=6) if name == "cholesky" else ()
    g = d.values("float64", lead + (n, n), "unit")
    a = rounded(g @ np.swapaxes(g, -1, -2) + 2 * np.eye(n), t)
    upper = d.chance(0.4)
    if name == "cholesky":
        if d.chance(0.05) and a.size:
            return [V(t, -a), upper], "error"
        y = np.linalg.cholesky(a.astype(np.float64)) if a.size else a
        return [d.of(t, a), upper], [Out(t, np.swapaxes(y, -1, -2) if upper else y, 64, most(a), True)]
    factor = np.linalg.cholesky(a.astype(np.float64))
    factor = d.of(t, rounded(factor.T if upper else factor, t))
    l = torch.from_numpy(wide(factor))
    if name == "cholesky_inverse":
        return [factor, upper], [Out(t, torch.cholesky_inverse(l, upper=upper).numpy(), 256, 1, True)]
    b = d.tensor(t, (n, d.int(1, 3)), "plain")
    return [b, factor, upper], [Out(t, torch.cholesky_solve(torch.from_numpy(wide(b)), l, upper=upper).numpy(), 256, most(b.a), True)]


@op("eigh", "eigvalsh")
def symmetric(d, name):
    t = d.one(T)
    n = d.int(1, 7)
    lead = d.shape(high=1, largest=4, empty=0)
    g = d.values("float64", lead + (n, n), "unit")
    a = rounded(g + np.swapaxes(g, -1, -2), t)
    uplo = d.one(["L", "U"])
    values = np.linalg.eigvalsh(a.astype(np.float64))
    x = d.of(t, a)
    if name == "eigvalsh":
        return [x, uplo], [Out(t, values, 256, most(a), True)]
    if n > 1:
        x = d.of(t, rounded(np.broadcast_to(np.diag(np.arange(1.0, n + 1)), lead + (n, n)), t))
        return [x, uplo], [Out(t, np.broadcast_to(np.arange(1.0, n + 1), lead + (n,)), 64, n),
                           Any(t, lead + (n, n))]
    return [x, uplo], [Out(t, values, 64), Any(t, lead + (1, 1))]


@op("svd", "qr", "lu")
def factors(d, name):
    t = d.one(T)
    m, n = d.int(1, 7), d.int(1, 7)
    k = min(m, n)
    x = d.of(t, matrix(d, t, (m, n)))
    if name == "svd":
        full = d.chance(0.5)
        s = np.linalg.svd(wide(x), compute_uv=False)
        return [x, full], [Any(t, (m, m if full else k)), Out(t, s, 256, 4), Any(t, (n if full else k, n))]
    if name == "qr":
        q, r = np.linalg.qr(wide(x))
        if np.min(np.abs(np.diag(r))) < 0.05:
            raise Skip
        return [x], [Out(t, q, 1024, 1, True), Out(t, r, 1024, 4, True)]
    p, l, u = (v.numpy() for v in torch.linalg.lu(torch.from_numpy(wide(x))))
    order = np.sort(np.abs(wide(x)[:, 0]))
    if m > 1 and (order[-1] - order[-2] < 1e-3 or k > 1):
        return [x], [Any(t, (m, m)), Any(t, (m, k)), Any(t, (k, n))]
    return [x], [Out(t, p), Out(t, l, 256, 1, True), Out(t, u, 256, 4, True)]


@op("lstsq")
def lstsq(d, name):
    t = d.one(T)
    n = d.int(1, 5)
    m = n + d.int(1, 5)
    a, b = d.of(t, matrix(d, t, (m, n))), d.tensor(t, (m, d.int(1, 3)), "plain")
    x, residuals, rank, s = np.linalg.lstsq(wide(a), wide(b), rcond=None)
    return [a, b], [Out(t, x, 1024, most(b.a), True), Out(t, residuals, 1024, most(b.a) ** 2, True), Out("int64", rank), Out(t, s, 256, 4)]


@op("matrix_norm")
def matrix_norm(d, name):
    t = d.one(T)
    x = d.tensor(t, d.shape(high=1, largest=4, empty=0) + (d.int(1, 8), d.int(1, 8)), "plain")
    p = d.one(["fro", "nuc", 1.0, 2.0, float("inf"), -1.0, -2.0, float("-inf")])
    keep = d.chance(0.3)
    y = torch.linalg.matrix_norm(torch.from_numpy(wide(x)), p, keepdim=keep).numpy()
    return [x, p, None, keep], [Out(t, y, 128, most(x.a), True)]


@op("multi_dot")
def multi_dot(d, name):
    t = d.one(T)
    sizes = [d.int(1, 6) for _ in range(d.int(3, 5))]
    xs = Xs(d.tensor(t, (a, b), "unit") for a, b in zip(sizes, sizes[1:]))
    y = wide(xs[0])
    for x in xs[1:]:
        y = y @ wide(x)
    return [xs], [Out(t, y, 64, 36, True)]
