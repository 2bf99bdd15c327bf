"""Makes random tensors and writes them as arguments of cases (table.hpp); rounds and compares results."""
import numpy as np

BOOL = ["bool"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTS = SIGNED + UNSIGNED
FLOATS = ["float16", "bfloat16", "float32", "float64"]
ALL = BOOL + INTS + FLOATS
COMPLEX = ["complex64", "complex128"]
DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}  # of the significand
LEAST = {"float16": -14, "bfloat16": -126, "float32": -126, "float64": -1022}  # exponent of the smallest normal
LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38,
           "float64": 1.7976931348623157e308}


def is_float(t):
    return t in FLOATS


def is_complex(t):
    return t in COMPLEX


def part_type(t):
    """Returns the dtype of the parts of complex numbers; another dtype itself."""
    return {"complex64": "float32", "complex128": "float64"}.get(t, t)


def is_int(t):
    return t in INTS


def holder(t):
    """Returns the NumPy dtype that holds values of a dtype: bfloat16 has none and is held in float32."""
    return np.dtype("float32" if t == "bfloat16" else t)


def rounded(a, t):
    """Rounds numbers to a dtype once, to nearest even."""
    if t != "bfloat16":
        return np.asarray(a).astype(holder(t))
    f = np.asarray(a).astype(np.float32)
    bits = f.view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return np.where(np.isnan(f), f, bits.astype(np.uint32).view(np.float32)).astype(np.float32)


def bits(a, t):
    """Returns the bytes of values that are in the dtype."""
    a = np.ascontiguousarray(a).reshape(np.shape(a))
    if t == "bfloat16":
        u = a.view(np.uint32)
        quiet = np.where(np.isnan(a), (u >> 16) | 0x40, u >> 16)
        return quiet.astype(np.uint16).tobytes()
    return a.tobytes()


def from_bits(data, t, shape):
    if t == "bfloat16":
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)
    return np.frombuffer(data, holder(t)).reshape(shape)


def numbers(v):
    return ",".join(map(str, v)) or "-"


class V:
    """Holds a tensor: its dtype, its values `a`, and how they are written."""

    def __init__(self, t, a, text=None):
        self.t, self.a, self.written = t, np.asarray(a).astype(holder(t)), text

    def text(self):
        return self.written or f"T {self.t} {numbers(self.a.shape)} {bits(self.a, self.t).hex()}"

    @property
    def wide(self):
        """Returns the values in a type of more digits than float32, or than float64, has."""
        if is_complex(self.t):
            return self.a.astype(np.clongdouble if self.t == "complex128" else np.complex128)
        return self.a.astype(np.longdouble if self.t == "float64" else np.float64)


class DT(str):
    """A dtype as an argument."""


class Xs(list):
    """A list of tensors as one argument."""


def text_of(x):
    if x is None:
        return "N"
    if isinstance(x, V):
        return x.text()
    if isinstance(x, Xs):
        return "\t".join([f"X {len(x)}"] + [v.text() for v in x])
    if isinstance(x, DT):
        return f"D {x}"
    if isinstance(x, str):
        return f"S {x}"
    if isinstance(x, (bool, np.bool_)):
        return f"O {int(x)}"
    if isinstance(x, (int, np.integer)):
        return f"I {int(x)}"
    if isinstance(x, float):
        return f"F {x.hex()}"
    if x and isinstance(x[0], float):
        return "R " + ",".join(v.hex() for v in x)
    return "L " + numbers(x)


class Out:
    """Holds an expected result, and how far from it one may be: `ulps` units of the last place of the value, or of `scale`
    where that is larger; a zero may have any sign if `zero`. Complex numbers are compared as a whole, in units of the modulus."""

    def __init__(self, t, a, ulps=0, scale=0, zero=False):
        self.t, self.a = t, rounded(a, t)
        self.ulps, self.scale, self.zero = (float(ulps) if is_float(t) or is_complex(t) else 0.0), float(scale), zero

    def text(self):
        tolerance = f"{self.ulps:g}" + (f"@{self.scale.hex()}" if self.scale else "") + ("z" if self.zero else "")
        return f"{tolerance} {self.t} {numbers(self.a.shape)} {bits(self.a, self.t).hex()}"

    def difference(self, got):
        """Returns what is wrong with a result as text; None if nothing."""
        fields = got.split(" ")
        if fields[0] != self.t:
            return f"dtype {fields[0]}, not {self.t}"
        if fields[1] != numbers(self.a.shape):
            return f"shape {fields[1]}, not {numbers(self.a.shape)}"
        g = from_bits(bytes.fromhex(fields[2]) if len(fields) > 2 else b"", self.t, self.a.shape)
        wrong = g != self.a
        if is_complex(self.t):
            same = [(x == y) | (np.isnan(x) & np.isnan(y)) for x, y in ((g.real, self.a.real), (g.imag, self.a.imag))]
            wrong = ~(same[0] & same[1])
            if self.ulps and wrong.any():
                wrong &= ~self.near_complex(g)
        if is_float(self.t):
            wrong &= ~(np.isnan(g) & np.isnan(self.a))
            if not self.zero:
                wrong |= (g == 0) & (self.a == 0) & (np.signbit(g) != np.signbit(self.a))
            if self.ulps and wrong.any():
                wrong &= ~self.near(g)
        if not wrong.any():
            return None
        at = tuple(int(i[0]) for i in np.nonzero(wrong)) if np.ndim(wrong) else ()
        return f"{int(wrong.sum())} of {wrong.size} elements; at {at} {g[at]!r}, not {self.a[at]!r}"

    def near_complex(self, g):
        a, b = g.astype(np.clongdouble), self.a.astype(np.clongdouble)
        finite = np.isfinite(a) & np.isfinite(b)
        magnitude = np.where(finite, np.maximum(np.maximum(np.abs(b), self.scale), 2.0 ** LEAST[part_type(self.t)]), 1)
        spacing = np.ldexp(np.longdouble(1), np.frexp(magnitude)[1] - DIGITS[part_type(self.t)])
        return finite & (np.abs(np.where(finite, a - b, 0)) <= self.ulps * spacing)

    def near(self, g):
        a, b = g.astype(np.longdouble), self.a.astype(np.longdouble)
        magnitude = np.maximum(np.maximum(np.abs(b), self.scale), 2.0 ** LEAST[self.t])
        finite = np.isfinite(a) & np.isfinite(b)
        exponent = np.frexp(np.where(finite, magnitude, 1))[1] - 1
        spacing = np.ldexp(np.longdouble(1), exponent - DIGITS[self.t] + 1)
        zeros = (a == 0) & (b == 0)
        return finite & ~zeros & (np.abs(np.where(finite, a - b, 0)) <= self.ulps * spacing)


def promote(*types):
    """Returns the dtype to which dtypes promote (docs/semantics.md); None if there is none."""
    r = types[0]
    for t in types[1:]:
        if t == r or t == "bool":
            continue
        if r == "bool":
            r = t
        elif is_complex(r) or is_complex(t):
            wide = {part_type(r), part_type(t)} & {"float64"}
            r = "complex128" if wide else "complex64"
        elif is_float(r) != is_float(t):
            r = r if is_float(r) else t
        elif is_float(r):
            r = "float32" if {r, t} == {"float16", "bfloat16"} else max(r, t, key=FLOATS.index)
        else:
            n = np.promote_types(r, t).name
            if n == "float64":
                return None
            r = n
    return r


def float_type(t):
    return t if is_float(t) or is_complex(t) else "float32"


def work(a, t):
    """Converts values to the NumPy type in which arithmetic of a dtype is carried out: float32 for 16-bit floats."""
    return np.asarray(a).astype("float32" if t in ("float16", "bfloat16") else holder(t))
