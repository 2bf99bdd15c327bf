"""Numbers that follow from a name and a position, so that goldens need no weights: tests/training/models/formula.hpp
computes the same ones, to the bit."""
import numpy as np


def bits(name, count):
    """Returns `count` uint32 that depend on the name."""
    seed = 2166136261
    for c in name.encode():
        seed = (seed ^ c) * 16777619 % 2**32
    with np.errstate(over="ignore"):
        x = np.uint32(seed) + np.arange(count, dtype=np.uint32) * np.uint32(0x9E3779B9)
        x ^= x >> np.uint32(16)
        x *= np.uint32(0x7FEB352D)
        x ^= x >> np.uint32(15)
        x *= np.uint32(0x846CA68B)
        x ^= x >> np.uint32(16)
    return x


def uniform(name, shape):
    """Returns float32 in [-1, 1)."""
    n = int(np.prod(shape, dtype=np.int64))
    x = (bits(name, n) >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-23) - np.float32(1)
    return x.reshape(shape)


def integers(name, shape, below):
    n = int(np.prod(shape, dtype=np.int64))
    return (bits(name, n) % np.uint32(below)).astype(np.int64).reshape(shape)


def weight(name, shape):
    """Returns what a parameter or buffer of that name begins with."""
    x = uniform(name, shape)
    if len(shape) >= 2:
        fan = int(np.prod(shape[1:], dtype=np.int64))
        return x * np.float32((3.0 / fan) ** 0.5)
    if name.endswith("running_var"):
        return np.float32(1) + np.float32(0.5) * x
    if name.endswith(".weight"):
        return np.float32(1) + np.float32(0.125) * x
    return np.float32(0.125) * x


def summary(x):
    """Returns norm, product with a pattern and six elements: what a golden keeps of a large array."""
    flat = np.asarray(x, dtype=np.float64).ravel()
    pattern = uniform("pattern", flat.shape).astype(np.float64)
    places = [int(i * (flat.size - 1) // 5) for i in range(6)]
    return np.array([np.sqrt((flat**2).sum()), (flat * pattern).sum(), *flat[places]], dtype=np.float32)
