"""Collects programs: @program says how inputs are made and of which sizes; the function below is the original.

Floating-point inputs are of float32 and reach the original as float64, so that what it returns is right to float32.
"""
import zlib

import numpy as np
import torch

PROGRAMS = {}
rng = np.random.default_rng(0)


def normal(*shape, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def uniform(*shape, low=0.0, high=1.0):
    return rng.uniform(low, high, shape).astype(np.float32)


def integers(low, high, *shape):
    return rng.integers(low, high, shape)


def tensors(*arrays):
    return [torch.from_numpy(np.array(a)) for a in arrays]


def program(inputs, *sizes):
    """Registers an original with the function that makes its inputs and the arguments of that, one tuple a case."""

    def register(original):
        PROGRAMS[original.__name__] = (inputs, sizes, original)
        return original

    return register


def wide(v):
    v = np.asarray(v)
    return v.astype(np.float64) if v.dtype == np.float32 else v


def narrow(v):
    v = v.detach().numpy() if isinstance(v, torch.Tensor) else np.asarray(v)
    return v.astype(np.float32) if v.dtype == np.float64 else v


def cases(name):
    """Yields inputs and results of each case of a program; a name gives the same ones, whatever else there is."""
    global rng
    inputs, sizes, original = PROGRAMS[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    for size in sizes:
        given = {k: narrow(v) for k, v in inputs(*size).items()}
        results = original(**{k: wide(v) if np.ndim(v) else wide(v).item() for k, v in given.items()})
        yield given, {k: narrow(v) for k, v in results.items()}
