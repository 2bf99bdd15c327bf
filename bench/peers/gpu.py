#!/usr/bin/env python3
"""Measures torch (eager and compiled) and CuPy on the GPU, as far as they can be imported, on what bench/gpu.cpp
measures. Prints peer,quantity,value,unit.

  gpu.py [--bytes N] [--seconds S]
"""

import argparse
import math
import statistics
import sys
import time

RATE = 0.02


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bytes", type=int, default=1 << 30)
    p.add_argument("--seconds", type=float, default=0.5)
    return p.parse_args()


def steady(call, wait, seconds):
    for _ in range(4):
        call()
    wait()
    samples, batch, begin = [], 1, time.perf_counter()
    while not samples or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        for _ in range(batch):
            call()
        wait()
        samples.append((time.perf_counter() - start) / batch * 1e6)
        batch = min(200, max(1, int(2000 / max(samples[-1], 1))))
    return statistics.median(samples[1:] or samples)


def put(peer, quantity, value, unit="us"):
    print(f"{peer},{quantity},{value:.6g},{unit}", flush=True)


def workloads(xp, n, rows, columns, side, uniform):
    """Returns names with functions of no arguments, for a module `xp` of array functions."""
    a, b, c, d = (uniform((n,), 0.5, 1) for _ in range(4))
    x, w, e = uniform((rows, columns), -2, 2), uniform((columns,), 0.5, 1), uniform((columns,), 0, 1)
    re, im = uniform((side, side), -2, 0.5), uniform((side, side), -1.2, 1.2)

    def arith_chain(a, b, c, d):
        return ((a * b + c) * 0.5 + d) * (a - c) + b * d

    def fused_chain(a, b, c, d):
        return xp.gelu((a * b + c) * 0.5) + xp.sigmoid(d)

    def black_scholes(s, k, t, v):
        s, k = s * 100, k * 100
        spread = v * xp.sqrt(t)
        d1 = (xp.log(s / k) + (v * v * 0.5 + RATE) * t) / spread
        n1, n2 = ((xp.erf(y * math.sqrt(0.5)) + 1) * 0.5 for y in (d1, d1 - spread))
        discounted = k * xp.exp(t * -RATE)
        return s * n1 - discounted * n2, discounted * (1 - n2) - s * (1 - n1)

    def mandelbrot(re, im):
        zr, zi, count = xp.zeros_like(re), xp.zeros_like(re), xp.zeros_like(re)
        for _ in range(100):
            r2, i2 = zr * zr, zi * zi
            inside = r2 + i2 <= 4
            zr, zi = xp.where(inside, r2 - i2 + re, zr), xp.where(inside, zr * zi * 2 + im, zi)
            count = count + inside
        return count

    return {
        "pointwise_us": (arith_chain, (a, b, c, d)),
        "fused_chain_us": (fused_chain, (a, b, c, d)),
        "black_scholes_us": (black_scholes, (a, b, c, d)),
        "softmax_us": (xp.softmax, (x,)),
        "layernorm_us": (xp.layernorm, (x, w, e)),
        "mandelbrot_us": (mandelbrot, (re, im)),
    }


def sizes(total):
    return total // 20, max(1, total // 8 // 1024), 1024, max(16, int(math.sqrt(total / 128)))


def torch_peer(o):
    import torch
    import torch.nn.functional as F

    if not torch.cuda.is_available():
        return
    torch.backends.cuda.matmul.allow_tf32 = False

    class xp:
        sqrt, log, exp, erf, where = torch.sqrt, torch.log, torch.exp, torch.erf, torch.where
        sigmoid, zeros_like, gelu = torch.sigmoid, torch.zeros_like, F.gelu
        softmax = staticmethod(lambda x: F.softmax(x, -1))
        layernorm = staticmethod(lambda x, w, b: F.layer_norm(x, w.shape, w, b))

    def uniform(shape, low, high):
        return torch.rand(shape, device="cuda") * (high - low) + low

    wait = torch.cuda.synchronize
    for name, (f, args) in workloads(xp, *sizes(o.bytes), uniform).items():
        put("torch", name, steady(lambda: f(*args), wait, o.seconds))
        try:
            torch._dynamo.reset()  # its recompile limit counts over all workloads
            compiled = torch.compile(f, mode="max-autotune-no-cudagraphs")
            put("torch.compile", name, steady(lambda: compiled(*args), wait, o.seconds))
        except Exception as e:  # no Triton, no compiler
            print(f"# torch.compile {name}: {e}", file=sys.stderr)
    m = min(8192, max(32, int(math.sqrt(o.bytes / 16))))
    p, q = (uniform((m, m), -1, 1).bfloat16() for _ in range(2))
    put("torch", "matmul_bf16_us", steady(lambda: p @ q, wait, o.seconds))
    length, heads = min(4096, max(32, m // 2)), min(64, max(1, o.bytes >> 24))
    for kind, dtype in ("bf16", torch.bfloat16), ("f32", torch.float32):
        q, k, v = (uniform((1, heads, length, 128), -1, 1).to(dtype) for _ in range(3))
        for causal in (False, True):
            name = ("causal_" if causal else "") + f"attention_{kind}_us"
            took = steady(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal), wait, o.seconds)
            put("torch", name, took)


def cupy_peer(o):
    import cupy
    from cupyx.scipy import special

    class xp:
        sqrt, log, exp, where, zeros_like = cupy.sqrt, cupy.log, cupy.exp, cupy.where, cupy.zeros_like
        erf = special.erf
        gelu = staticmethod(lambda x: x * 0.5 * (1 + special.erf(x * math.sqrt(0.5))))
        sigmoid = staticmethod(lambda x: 1 / (1 + cupy.exp(-x)))

        @staticmethod
        def softmax(x):
            e = cupy.exp(x - x.max(-1, keepdims=True))
            return e / e.sum(-1, keepdims=True)

        @staticmethod
        def layernorm(x, w, b):
            c = x - x.mean(-1, keepdims=True)
            return c / cupy.sqrt((c * c).mean(-1, keepdims=True) + 1e-5) * w + b

    def uniform(shape, low, high):
        return cupy.random.random(shape, dtype=cupy.float32) * (high - low) + low

    for name, (f, args) in workloads(xp, *sizes(o.bytes), uniform).items():
        put("cupy", name, steady(lambda: f(*args), cupy.cuda.Device().synchronize, o.seconds))


def main():
    o = parse()
    for peer in (torch_peer, cupy_peer):
        try:
            peer(o)
        except ImportError as e:
            print(f"# not measured: {e}", file=sys.stderr)


if __name__ == "__main__":
    main()
