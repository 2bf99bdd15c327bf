#!/usr/bin/env python3
"""Writes tests/golden/quant.txt: scales, zero points, integers and gradients of torch.ao.quantization, for
tests/training/quant to compare with.

    pip install torch numpy && python3 tests/golden/make_quant.py

Each line: what | scheme | shape | input | results, floats as hexadecimal.
  affine   <bits signed symmetric granularity> | shape | x | scales | zero points
  fake     <bits signed> | shape | x | scales | zero points | y | gradient of x for a gradient of ones
  learned  <bits signed granularity> | shape | x | gradient of y | scales | factor of their gradient | y | gradients of x and scales
  moving   | the range after each of some batches: pairs of least and most
"""
import os

import numpy as np
import torch
from torch.ao.quantization import MinMaxObserver, MovingAverageMinMaxObserver, PerChannelMinMaxObserver

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "quant.txt")


def hexes(t):
    return " ".join(float(v).hex() for v in np.asarray(t, dtype=np.float64).ravel())


def ints(t):
    return " ".join(str(int(v)) for v in np.asarray(t).ravel())


def lines():
    g = torch.Generator().manual_seed(3)
    shapes = [(1, 1), (3, 7), (8, 16), (5, 2, 3)]
    for signed in (True, False):
        dtype = torch.qint8 if signed else torch.quint8
        for symmetric in (True, False):
            for channel in (True, False):
                if channel:
                    scheme = torch.per_channel_symmetric if symmetric else torch.per_channel_affine
                    make = lambda: PerChannelMinMaxObserver(ch_axis=0, dtype=dtype, qscheme=scheme)
                else:
                    scheme = torch.per_tensor_symmetric if symmetric else torch.per_tensor_affine
                    make = lambda: MinMaxObserver(dtype=dtype, qscheme=scheme)
                for shape in shapes:
                    for kind in range(3):
                        x = torch.randn(shape, generator=g) * 3
                        if kind == 1: x = x.abs() + 1
                        if kind == 2: x = torch.zeros(shape)
                        o = make()
                        o(x)
                        scale, zero = o.calculate_qparams()
                        yield " | ".join(["affine", f"8 {int(signed)} {int(symmetric)} {'channel' if channel else 'tensor'}",
                                          ints(shape), hexes(x), hexes(scale), ints(zero)])
    for bits, signed in ((8, True), (4, False), (3, True)):
        low = -(1 << bits - 1) if signed else 0
        high = low + (1 << bits) - 1
        for shape in shapes:
            x = (torch.randn(shape, generator=g) * 4).requires_grad_()
            with torch.no_grad(): x.view(-1)[0] = 0.5 * 0.25  # a half
            scale = torch.rand(shape[0], generator=g) * 0.1 + 0.02
            scale[0] = 0.25
            zero = torch.randint(low, high + 1, (shape[0],), generator=g, dtype=torch.int32)
            y = torch.fake_quantize_per_channel_affine(x, scale, zero, 0, low, high)
            y.sum().backward()
            yield " | ".join(["fake", f"{bits} {int(signed)}", ints(shape), hexes(x.detach()), hexes(scale), ints(zero),
                              hexes(y.detach()), hexes(x.grad)])
    o = MovingAverageMinMaxObserver(averaging_constant=0.01)
    fields = []
    for _ in range(6):
        x = torch.randn((4, 5), generator=g)
        o(x)
        fields.append(hexes(x) + " ; " + hexes([o.min_val, o.max_val]))
    yield " | ".join(["moving"] + fields)
    for bits, signed in ((8, True), (4, False), (2, True)):
        low = -(1 << bits - 1) if signed else 0
        high = low + (1 << bits) - 1
        for shape in shapes:
            for channel in (False, True):
                x = (torch.randn(shape, generator=g) * 4).requires_grad_()
                dy = torch.randn(shape, generator=g)
                scale = (torch.rand(shape[0] if channel else 1, generator=g) * 2 / (high - low) + 0.02).requires_grad_()
                zero = torch.full_like(scale, low + (1 << bits - 1), requires_grad=False)
                factor = 0.25
                if channel: y = torch._fake_quantize_learnable_per_channel_affine(x, scale, zero, 0, low, high, factor)
                else: y = torch._fake_quantize_learnable_per_tensor_affine(x, scale, zero, low, high, factor)
                (y * dy).sum().backward()
                yield " | ".join(["learned", f"{bits} {int(signed)} {'channel' if channel else 'tensor'}", ints(shape),
                                  hexes(x.detach()), hexes(dy), hexes(scale.detach()), str(factor), hexes(y.detach()),
                                  hexes(x.grad), hexes(scale.grad)])


if __name__ == "__main__":
    with open(OUT, "w") as f:
        for line in lines():
            f.write(line + "\n")
