"""Writes arrays as fields of golden files: DTYPE SHAPE VALUES, of complex numbers both parts."""
import numpy as np


def field(a):
    a = np.asarray(a)
    shape = ",".join(map(str, a.shape)) or "-"
    flat = np.ascontiguousarray(a).reshape(-1)
    if a.dtype.kind == "c":
        flat = flat.view(np.float32 if a.dtype == np.complex64 else np.float64)
    return " ".join([a.dtype.name, shape] + [float(v).hex() if np.isfinite(v) else str(float(v)) for v in flat])
