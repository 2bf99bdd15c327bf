"""What functions of each element should give."""
import math

import mpmath
import numpy as np
import torch

from spec import meant, op
from values import ALL, BOOL, FLOATS, INTS, Out, V, float_type, is_float, is_int, promote, rounded, work

ld = np.longdouble


def wide_inputs(t, *arrays):
    """Converts arrays to dtype t, which they are computed in, and then to a type of more digits."""
    return [rounded(a, t).astype(ld if t == "float64" else np.float64) for a in arrays]


def by_torch(f, exact):
    """Makes a function of torch's in float64 one of arrays; of float64 itself `exact` of mpmath's."""

    def g(x):
        if x.dtype == ld:
            with mpmath.workdps(40):
                flat = [special(f, exact, float(v)) for v in x.ravel()]
            return np.array(flat, dtype=np.float64).reshape(x.shape)
        return f(torch.from_numpy(np.array(x, dtype=np.float64))).numpy()

    return g


def special(f, exact, v):
    """Returns mpmath's value, and torch's where that is not a finite number."""
    plain = float(f(torch.tensor(v, dtype=torch.float64)))
    if not math.isfinite(plain) or not 0 < abs(v) < 1e3:
        return plain
    return float(mpmath.re(exact(mpmath.mpf(v))))


def ulps_of(t, ulps):
    return 1 if t in ("float16", "bfloat16") else ulps


def logit(x):
    return np.where((x < 0) | (x > 1), np.nan, np.log(x) - np.log1p(-x))


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


# name: function of wide values, units of the last place for float32 and float64, of a value of at least `scale`.
UNARY = {
    "sqrt": (np.sqrt, 0, 0), "rsqrt": (lambda x: 1 / np.sqrt(x), 2, 0), "reciprocal": (lambda x: 1 / x, 0, 0),
    "exp": (np.exp, 2, 0), "expm1": (np.expm1, 2, 0), "log": (np.log, 2, 0), "log1p": (np.log1p, 2, 0),
    "log2": (np.log2, 2, 0), "log10": (np.log10, 2, 0), "sin": (np.sin, 2, 0), "cos": (np.cos, 2, 0), "tan": (np.tan, 2, 0),
    "sinh": (np.sinh, 2, 0), "cosh": (np.cosh, 2, 0), "tanh": (np.tanh, 2, 0), "asin": (np.arcsin, 2, 0),
    "acos": (np.arccos, 2, 0), "atan": (np.arctan, 2, 0), "asinh": (np.arcsinh, 2, 0), "acosh": (np.arccosh, 2, 0),
    "atanh": (np.arctanh, 2, 0), "erf": (by_torch(torch.erf, mpmath.erf), 3, 0), "erfc": (by_torch(torch.erfc, mpmath.erfc), 4, 0),
    "sigmoid": (sigmoid, 2, 0), "exp2": (np.exp2, 2, 0), "cbrt": (np.cbrt, 2, 0),
    "deg2rad": (np.deg2rad, 2, 0), "rad2deg": (np.rad2deg, 2, 0), "logit": (logit, 3, 1),
    "lgamma": (by_torch(torch.lgamma, mpmath.loggamma), 30, 1), "digamma": (by_torch(torch.digamma, mpmath.digamma), 12, 1),
    "i0": (by_torch(torch.i0, lambda v: mpmath.besseli(0, v)), 16, 0), "erfinv": (by_torch(torch.erfinv, mpmath.erfinv), 14, 0),
}
UNARY.update({"arcsin": UNARY["asin"], "arccos": UNARY["acos"], "arctan": UNARY["atan"], "arcsinh": UNARY["asinh"],
              "arccosh": UNARY["acosh"], "arctanh": UNARY["atanh"], "expit": UNARY["sigmoid"], "radians": UNARY["deg2rad"],
              "degrees": UNARY["rad2deg"]})
EXACT_UNARY = {"sqrt", "reciprocal"}
# A sine of pi x, and a polygamma function, lose what the argument loses: compared where that is little.
MODERATE = {"lgamma", "digamma", "i0", "sinc"}


@op(*UNARY)
def unary(d, name):
    f, ulps, scale = UNARY[name]
    t = d.one(FLOATS if d.chance(0.8) else ALL)
    kind = "plain" if name in MODERATE else d.one(["any", "any", "unit", "plain"])
    slow = t == "float64" and f.__name__ == "g"
    x = d.tensor(t, d.shape(largest=30 if slow else 600), kind)
    meant("promotion")
    r = float_type(t)
    y = f(*([rounded(x.a, r)] if name in EXACT_UNARY else wide_inputs(r, x.a)))
    return [x], [Out(r, y, ulps_of(r, ulps), scale, bool(scale))]


@op("sinc")
def sinc_(d, name):
    t = d.one(FLOATS)
    x = d.tensor(t, d.shape(), "plain")
    w = x.a.astype(ld)
    pi = ld("3.14159265358979323846264338327950288")
    y = np.where(w == 0, 1, np.sin(pi * w) / np.where(w == 0, 1, pi * w))
    return [x], [Out(t, y, ulps_of(t, 2), 1, zero=True)]


@op("gelu")
def gelu(d, name):
    t = d.one(FLOATS)
    x = d.tensor(t, d.shape(largest=30), d.one(["any", "plain"]))
    kind = d.one(["none", "tanh"])
    w = torch.from_numpy(x.a.astype(np.float64))
    if kind == "none":
        with mpmath.workdps(40):
            y = np.array([float(mpmath.mpf(v) / 2 * mpmath.erfc(-mpmath.mpf(v) / mpmath.sqrt(2))) if abs(v) < 1e3
                          else v if v != v else max(v, -0.0) for v in x.a.astype(np.float64).ravel().tolist()]).reshape(x.a.shape)
        return [x, kind], [Out(t, y, ulps_of(t, 4), zero=True)]
    y = torch.nn.functional.gelu(w, approximate="tanh").numpy()
    finite = np.abs(x.a.astype(np.float64)) < 1e6
    if not finite.all():
        x = V(t, np.where(finite, x.a, 1))
        y = np.where(finite, y, torch.nn.functional.gelu(torch.tensor(1.0, dtype=torch.float64), approximate="tanh"))
    return [x, kind], [Out(t, y, ulps_of(t, 8), 1, zero=True)]


KEEP = {"negative": np.negative, "neg": np.negative, "positive": np.positive, "abs": np.abs, "absolute": np.abs,
        "sign": np.sign, "square": lambda x: x * x, "relu": lambda x: np.where(x < 0, 0, x).astype(x.dtype)}


@op(*KEEP)
def keep(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape())
    if t == "bool" and name in ("negative", "neg", "sign", "relu"):
        meant("bool arithmetic")
        return [x], "error"
    if t == "bool":
        return [x], [Out(t, x.a)]
    return [x], [Out(t, KEEP[name](work(x.a, t)), zero=name in ("sign", "relu"))]


ROUND = {"ceil": np.ceil, "floor": np.floor, "trunc": np.trunc, "fix": np.trunc, "round": np.rint, "rint": np.rint}


@op(*ROUND)
def rounding(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape())
    meant("integer rounding")
    return [x], [Out(t, ROUND[name](x.a) if is_float(t) else x.a)]


TESTS = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "signbit": lambda x: np.signbit(x) if x.dtype.kind == "f"
         else x < 0 if x.dtype.kind == "i" else np.zeros(x.shape, bool), "logical_not": lambda x: x == 0}


@op(*TESTS)
def predicate(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape())
    return [x], [Out("bool", TESTS[name](x.a))]


@op("bitwise_invert", "invert", "bitwise_not")
def invert(d, name):
    t = d.one(ALL)
    x = d.tensor(t, d.shape())
    return [x], "error" if is_float(t) else [Out(t, np.invert(x.a))]


def scalar_for(d, t):
    """Draws a C++ scalar beside a tensor; returns it with the dtype that both promote to, None where it must throw."""
    meant("weak scalars")
    kind = d.one(["bool", "int", "float"])
    if kind == "bool":
        return d.chance(0.5), t
    if kind == "float":
        return d.one([0.5, -2.25, 0.1, 3.0, float("inf"), float("nan"), -0.0, 1e-3]), float_type(t)
    v = d.one([0, 1, 2, -1, -3, 7, 100, 300, -129])
    if t == "bool":
        return v, "int64"
    if is_int(t) and not np.iinfo(t).min <= v <= np.iinfo(t).max:
        return v, None
    return v, t


def two(d, pool=ALL, kind="any", scalars=0.2):
    """Draws two operands that broadcast, mostly; returns the arguments, their arrays, the dtype (None: error) and whether the
    shapes fit."""
    s = d.shape()
    fits = True
    ta, tb = d.types(pool)
    a = d.tensor(ta, s if d.chance(0.6) else d.broadcasts_to(s), kind)
    if d.chance(scalars):
        v, r = scalar_for(d, ta)
        b, other = v, rounded(np.asarray(v), r or "float64")
    else:
        shape = s if d.chance(0.6) else d.broadcasts_to(s)
        if d.chance(0.03):
            shape = shape + (3,)
        b = d.tensor(tb, shape, kind)
        r, other = promote(ta, tb), b.a
    try:
        np.broadcast_shapes(a.a.shape, np.shape(other))
    except ValueError:
        fits = False
    return [a, b], [a.a, other], r, fits


def wrap(f, a, b, t):
    """Computes integers or floats of one dtype."""
    return f(work(a, t), work(b, t))


def floor_divide(a, b, t):
    if is_float(t):
        return np.floor_divide(a, b)
    meant("division by 0")
    q = np.floor_divide(a, np.where(b == 0, 1, b))
    return np.where(b == 0, 0, q)


def remainder(a, b, t):
    if is_float(t):
        return np.remainder(a, b)
    meant("division by 0")
    return np.where(b == 0, 0, np.remainder(a, np.where(b == 0, 1, b)))


def fmod(a, b, t):
    if is_float(t):
        return np.fmod(a, b)
    meant("division by 0")
    return np.where(b == 0, 0, np.fmod(a, np.where(b == 0, 1, b)))


def int_power(a, b, t):
    meant("negative powers")
    low = np.power(a, np.where(b < 0, np.zeros_like(b), b))
    return low if a.dtype.kind == "u" else np.where(b < 0, np.where(a == 1, 1, np.where(a == -1, np.where(b % 2, -1, 1), 0)), low).astype(a.dtype)


EXACT = {"add": np.add, "subtract": np.subtract, "sub": np.subtract, "multiply": np.multiply, "mul": np.multiply,
         "maximum": np.maximum, "minimum": np.minimum}
NO_BOOL = {"subtract", "sub", "floor_divide", "remainder", "mod", "pow", "power", "fmod"}


@op(*EXACT, "floor_divide", "remainder", "mod", "fmod", "fmax", "fmin")
def binary(d, name):
    arguments, (a, b), t, fits = two(d)
    if t is None or not fits:
        return arguments, "error"
    if t == "bool":
        if name in NO_BOOL:
            meant("bool arithmetic")
            return arguments, "error"
        f = np.logical_or if name in ("add", "maximum", "fmax") else np.logical_and
        return arguments, [Out("bool", f(a, b))]
    x, y = work(a if not is_float(t) else rounded(a, t), t), work(b if not is_float(t) else rounded(b, t), t)
    meant("halves")
    if name in EXACT:
        r = EXACT[name](x, y)
    elif name in ("fmax", "fmin"):
        r = (np.fmax if name == "fmax" else np.fmin)(x, y)
    else:
        r = {"floor_divide": floor_divide, "fmod": fmod}.get(name, remainder)(x, y, t)
    zero = name in ("maximum", "minimum", "fmax", "fmin", "floor_divide")
    if is_float(t) and name in ("floor_divide", "remainder", "mod", "fmod"):
        return arguments, [Out(t, r, 1, 0, True)]
    return arguments, [Out(t, r, 0, 0, zero)]


@op("divide", "true_divide", "atan2", "arctan2", "hypot", "copysign", "logaddexp", "logaddexp2", "xlogy", "xlog1py",
    "heaviside")
def float_binary(d, name):
    arguments, (a, b), t, fits = two(d, kind=d.one(["any", "plain"]))
    if t is None or not fits:
        return arguments, "error"
    t = float_type(t)
    x, y = wide_inputs(t, a, b) if "divide" not in name else (work(rounded(a, t), t), work(rounded(b, t), t))
    f, ulps, scale = {
        "divide": (np.divide, 0, 0), "atan2": (np.arctan2, 2, 0), "hypot": (np.hypot, 2, 0),
        "copysign": (np.copysign, 0, 0), "logaddexp": (np.logaddexp, 4, 1), "logaddexp2": (np.logaddexp2, 6, 1),
        "xlogy": (lambda x, y: np.where((x == 0) & ~np.isnan(y), 0, x * np.log(y)), 3, 0),
        "xlog1py": (lambda x, y: np.where((x == 0) & ~np.isnan(y), 0, x * np.log1p(y)), 3, 0),
        "heaviside": (np.heaviside, 0, 0),
    }[{"true_divide": "divide", "arctan2": "atan2"}.get(name, name)]
    return arguments, [Out(t, f(x, y), ulps if ulps == 0 else ulps_of(t, ulps), scale, name in ("xlogy", "xlog1py", "logaddexp", "logaddexp2"))]


@op("pow", "power")
def power(d, name):
    arguments, (a, b), t, fits = two(d, kind=d.one(["any", "plain", "positive"]))
    if t is None or not fits:
        return arguments, "error"
    if t == "bool":
        meant("bool arithmetic")
        return arguments, "error"
    if not is_float(t):
        return arguments, [Out(t, int_power(work(a, t), work(b, t), t))]
    return arguments, [Out(t, np.power(*wide_inputs(t, a, b)), ulps_of(t, 2))]


COMPARE = {"equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal, "greater": np.greater,
           "greater_equal": np.greater_equal}
COMPARE.update({"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
                "ge": np.greater_equal})
LOGICAL = {"logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}


@op(*COMPARE)
def comparison(d, name):
    arguments, (a, b), t, fits = two(d)
    if isinstance(arguments[1], V):
        if t is None or not fits:
            return arguments, "error"
        x, y = rounded(a, t), rounded(b, t)
    elif is_float(arguments[0].t):
        x, y = a, rounded(np.asarray(arguments[1]), arguments[0].t)
    else:  # of an integer tensor with a scalar: exact
        x, y = a.astype(object), arguments[1]
        return arguments, [Out("bool", np.array(COMPARE[name](x, y), dtype=bool).reshape(a.shape))]
    return arguments, [Out("bool", COMPARE[name](x, y))]


@op(*LOGICAL)
def logical(d, name):
    arguments, (a, b), t, fits = two(d, scalars=0)
    return arguments, [Out("bool", LOGICAL[name](a, b))] if fits else "error"


BITWISE = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor}


@op(*BITWISE)
def bitwise(d, name):
    arguments, (a, b), t, fits = two(d, pool=BOOL + INTS if d.chance(0.9) else ALL, scalars=0)
    if t is None or not fits or is_float(t):
        return arguments, "error"
    return arguments, [Out(t, wrap(BITWISE[name], a, b, t))]


@op("bitwise_left_shift", "left_shift", "bitwise_right_shift", "right_shift")
def shift(d, name):
    arguments, (a, b), t, fits = two(d, pool=INTS, scalars=0, kind=d.one(["any", "plain"]))
    if t is None or not fits:
        return arguments, "error"
    meant("shifts")
    x, y, width = work(a, t), work(b, t), np.iinfo(t).bits
    far = (y < 0) | (y.astype(np.uint64) >= width)
    by = np.where(far, 0, y).astype(x.dtype)
    if "left" in name:
        return arguments, [Out(t, np.where(far, 0, np.left_shift(x, by)))]
    return arguments, [Out(t, np.where(far, np.where(x < 0, -1, 0).astype(x.dtype), np.right_shift(x, by)))]


@op("where")
def where(d, name):
    s = d.shape()
    ta, tb = d.types(ALL)
    c, a, b = (d.tensor(t, s if d.chance(0.6) else d.broadcasts_to(s)) for t in ("bool", ta, tb))
    t = promote(ta, tb)
    if t is None:
        return [c, a, b], "error"
    return [c, a, b], [Out(t, np.where(c.a, rounded(a.a, t), rounded(b.a, t)))]


@op("clip", "clamp", "clamp_min", "clamp_max")
def clip(d, name):
    t = d.one([t for t in ALL if t != "bool"])
    s = d.shape()
    x, low, high = (d.tensor(t, n) for n in (s, d.broadcasts_to(s), d.broadcasts_to(s)))
    lower = name != "clamp_max" and (name != "clip" or d.chance(0.7))
    upper = name != "clamp_min" and (name != "clip" or not lower or d.chance(0.7))
    a = x.a
    if lower:
        a = np.maximum(a, low.a)
    if upper:
        a = np.minimum(a, high.a)
    arguments = [x, low if lower else None, high if upper else None] if name in ("clip", "clamp") else [x, low if lower else high]
    return arguments, [Out(t, a, zero=True)]


@op("fma", "addcmul", "addcdiv", "lerp")
def three(d, name):
    t = d.one(FLOATS)
    s = d.shape()
    kind = d.one(["any", "plain"])
    a, b, c = (d.tensor(t, s if d.chance(0.6) else d.broadcasts_to(s), kind) for _ in range(3))
    x, y, z = wide_inputs(t, a.a, b.a, c.a)
    if name == "fma":
        if t == "float64":  # there is no exact product here
            a, b, c = (V(t, rounded(d.values("float32", v.a.shape, "plain"), "float32")) for v in (a, b, c))
            x, y, z = (v.a.astype(ld) for v in (a, b, c))
        return [a, b, c], [Out(t, x * y + z, 1, zero=True)]
    if kind == "any":
        a, b, c = (d.tensor(t, v.a.shape, "plain") for v in (a, b, c))
        x, y, z = wide_inputs(t, a.a, b.a, c.a)
    if name == "lerp":
        r = x + z * (y - x)
        scale = np.max(np.abs(x) + np.abs(z) * (np.abs(x) + np.abs(y)), initial=0)
        return [a, b, c], [Out(t, r, 3, scale, True)]
    v = d.one([1, 2, -1, 0.5])
    product = v * (y * z if name == "addcmul" else y / z)
    finite = np.abs(product[np.isfinite(product)])
    scale = max(np.max(np.abs(x), initial=0), np.max(finite, initial=0))
    if t == "float16" and scale > 3e4:
        return [a, b, c, 0], [Out(t, x + 0 * (y * z if name == "addcmul" else y / z), 3, scale, True)]
    return [a, b, c, v], [Out(t, x + product, 3, scale, True)]
