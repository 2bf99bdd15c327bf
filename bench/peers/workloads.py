"""The workloads of bench/workloads.hpp, written once for every Python library.

`xp` is the library's own namespace of array functions, behind the small differences that its side evens out.
Each row: name, size, shapes of the inputs (or arrays), what is computed.
"""

import os

import numpy as np


def chain10(xp, a, b, c):
    for _ in range(5):
        a = (a + b) * c
    return a


def fused_chain(xp, a, b, c, d):
    return xp.gelu((a * b + c) * 0.5) + xp.sigmoid(d)


def arith_chain(xp, a, b, c, d):
    return ((a * b + c) * 0.5 + d) * (a - c) + b * d


def black_scholes(xp, spot, strike, years, volatility):
    rate = 0.02

    def cdf(x):
        return (xp.erf(x * 0.7071067811865476) + 1) * 0.5

    spread = volatility * xp.sqrt(years)
    d1 = (xp.log(spot / strike) + (volatility * volatility * 0.5 + rate) * years) / spread
    n1, n2, discounted = cdf(d1), cdf(d1 - spread), strike * xp.exp(years * -rate)
    return spot * n1 - discounted * n2, discounted * (1 - n2) - spot * (1 - n1)


def softmax(xp, x):
    return xp.softmax(x)


def layernorm(xp, x, w, b):
    return xp.layernorm(x, w, b)


def rmsnorm(xp, x, w):
    return x * xp.rsqrt(xp.mean(x * x, -1, True) + 1e-5) * w


def col_standardize(xp, x):
    m = xp.mean(x, 0, True)
    return (x - m) / xp.sqrt(xp.mean((x - m) * (x - m), 0, True) + 1e-5)


def logsumexp(xp, x):
    return xp.logsumexp(x)


def argmax(xp, x):
    return xp.argmax(x)


ORDER = ("sort", "argsort", "topk10", "topk100", "kthvalue", "median", "quantile", "cumsum", "cumprod", "cummax", "logcumsumexp")


def ordered(name):
    return lambda xp, x: xp.ordered(name, x)


def mandelbrot100(xp, cr, ci):
    zr = zi = count = cr * 0
    for _ in range(100):
        r2, i2 = zr * zr, zi * zi
        inside = (r2 + i2) <= 4
        next_i, next_r = zr * zi * 2 + ci, r2 - i2 + cr
        zr, zi = xp.where(inside, next_r, zr), xp.where(inside, next_i, zi)
        count = count + inside
    return count


def matmul(xp, a, b):
    return xp.matmul(a, b)


def linear(xp, x, w, b):
    return xp.matmul(x, w.T) + b


def linear_gelu(xp, x, w, b):
    return xp.gelu(linear(xp, x, w, b))


def attention(xp, q, k, v):
    return xp.attention(q, k, v)


def encoder(xp, x, wqkv, bqkv, wo, bo, g1, b1, w1, c1, w2, c2, g2, b2):
    batch, length, channels, heads = 4, 128, 512, 8
    qkv = xp.transpose(xp.reshape(linear(xp, x, wqkv, bqkv), (batch, length, 3, heads, 64)), (2, 0, 3, 1, 4))
    o = xp.attention(qkv[0], qkv[1], qkv[2])
    o = xp.reshape(xp.transpose(o, (0, 2, 1, 3)), (batch, length, channels))
    y = xp.layernorm(x + linear(xp, o, wo, bo), g1, b1)
    return xp.layernorm(y + linear(xp, xp.gelu(linear(xp, y, w1, c1)), w2, c2), g2, b2)


def conv2d(layout):
    return lambda xp, x, w, b: xp.conv2d(x, w, b, layout)


def layer(stride, padding, groups):
    return lambda xp, x, w, b: xp.layer(x, w, b, stride, padding, groups)


def group_norm(xp, x, w, b):
    return xp.group_norm(x, 32, w, b)


def conv_transpose(xp, x, w, b):
    return xp.conv_transpose(x, w, b, 2)


# Layers, as bench/lazy.cpp has them: name, extent of the image, shape of the weights, stride, padding, groups.
LAYERS = [
    ("conv1x1", 56, (256, 64, 1, 1), 1, 0, 1),
    ("conv3x3_s2", 56, (128, 128, 3, 3), 2, 1, 1),
    ("conv7x7_s2", 224, (64, 3, 7, 7), 2, 3, 1),
    ("depthwise3x3", 112, (96, 1, 3, 3), 1, 1, 96),
    ("depthwise3x3_s2", 112, (96, 1, 3, 3), 2, 1, 96),
    ("depthwise7x7", 56, (96, 1, 7, 7), 1, 3, 96),
    ("depthwise31x31", 32, (64, 1, 31, 31), 1, 15, 64),
]


def chain(text):
    """Returns the chain that bench/drawn.hpp describes."""
    unary = {"g": lambda xp, x: xp.gelu(x), "s": lambda xp, x: xp.sigmoid(x), "r": lambda xp, x: xp.relu(x),
             "q": lambda xp, x: xp.sqrt(xp.abs(x)), "e": lambda xp, x: xp.exp(-xp.abs(x))}

    def f(xp, *inputs):
        values = []
        for c in text:
            if c in unary:
                values.append(unary[c](xp, values.pop()))
            elif c in "+-*":
                y, x = values.pop(), values.pop()
                values.append(x + y if c == "+" else x - y if c == "-" else x * y)
            else:
                values.append(inputs["abcd".index(c)])
        return values.pop()

    return f


def conv_bn_relu(layout):
    def f(xp, x, w, b, scale, shift, mean, variance):
        y = xp.conv2d(x, w, b, layout)
        c = (lambda t: t.reshape(64, 1, 1)) if layout == "nchw" else (lambda t: t)
        return xp.relu((y - c(mean)) * xp.rsqrt(c(variance) + 1e-5) * c(scale) + c(shift))

    return f


def uniform(shape, low=-1.0, high=1.0):
    """Returns the numbers of bench/inputs.cpp (splitmix64); the next ones at each call."""
    uniform.seed += 1
    one, z = np.float32(high) - np.float32(low), np.arange(1, int(np.prod(shape)) + 1, dtype=np.uint64)
    z *= np.uint64(0x9E3779B97F4A7C15)
    z += np.uint64(uniform.seed)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z ^= z >> np.uint64(shift)
        z *= np.uint64(factor)
    z ^= z >> np.uint64(31)
    return (np.float32(low) + one * (z >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)).reshape(shape)


uniform.seed = 0


def rows():
    """Yields name, size, function, inputs (made only when the row is measured)."""

    def inputs(*shapes, low=-1.0, high=1.0):
        return lambda: [uniform(s, low, high) for s in shapes]

    yield "overhead_chain10", "16", chain10, inputs((16,), (16,), (16,))
    for n in (1000, 100000, 1000000, 10000000):
        yield "fused_chain", str(n), fused_chain, inputs(*[(n,)] * 4)
        yield "arith_chain", str(n), arith_chain, inputs(*[(n,)] * 4)
    n = 1000000
    yield "black_scholes", str(n), black_scholes, lambda n=n: [
        uniform((n,), 80, 120), uniform((n,), 80, 120), uniform((n,), 0.1, 2.1), uniform((n,), 0.1, 0.5)]
    yield "mandelbrot100", str(n), mandelbrot100, lambda n=n: [uniform((n,), -2, 1), uniform((n,), -1.2, 1.2)]
    for m, k in ((4096, 1024), (64, 50257)):
        yield "softmax", f"{m}x{k}", softmax, inputs((m, k))
    yield "layernorm", "4096x768", layernorm, inputs((4096, 768), (768,), (768,))
    yield "rmsnorm", "4096x768", rmsnorm, inputs((4096, 768), (768,))
    yield "col_standardize", "100000x64", col_standardize, inputs((100000, 64))
    yield "logsumexp", "4096x1024", logsumexp, inputs((4096, 1024))
    yield "argmax", "4096x1024", argmax, inputs((4096, 1024))
    for name in ORDER:
        yield name, "1000000", ordered(name), inputs((1000000,))
        yield name, "1000x1000", ordered(name), inputs((1000, 1000))
    for name in ("unique", "histogram100"):
        yield name, "1000000", ordered(name), inputs((1000000,))
    yield "searchsorted", "1000000", lambda xp, s, x: xp.searchsorted(s, x), lambda: [np.sort(uniform((10000,))), uniform((1000000,))]
    for n in (16, 32, 64, 128, 256, 512, 1024, 2048):
        yield "matmul", str(n), matmul, inputs((n, n), (n, n))
    yield "batched_matmul", "64x32x32", matmul, inputs((64, 32, 32), (64, 32, 32))
    for m in (128, 1):
        yield "linear_fp32", f"{m}x768x3072", linear, inputs((m, 768), (3072, 768), (3072,))
        yield "linear_gelu", f"{m}x768x3072", linear_gelu, inputs((m, 768), (3072, 768), (3072,))
    for heads, length in ((32, 128), (8, 1024)):
        yield "attention", f"{heads}x{length}x64", attention, inputs(*[(1, heads, length, 64)] * 3)
    small = [(1536, 512), (1536,), (512, 512), (512,), (512,), (512,), (2048, 512), (2048,), (512, 2048), (512,), (512,), (512,)]
    yield "encoder_block", "4x128x512", encoder, lambda: [uniform((4, 128, 512))] + [uniform(s, -0.04, 0.04) for s in small]
    for layout in ("nchw", "nhwc"):
        x = (1, 64, 56, 56) if layout == "nchw" else (1, 56, 56, 64)
        yield f"conv2d_{layout}", "1x64x56x56", conv2d(layout), inputs(x, (64, 64, 3, 3), (64,))
        yield f"conv_bn_relu_{layout}", "1x64x56x56", conv_bn_relu(layout), inputs(
            x, (64, 64, 3, 3), *[(64,)] * 5, low=0.1)
    for name, extent, w, stride, padding, groups in LAYERS:
        x = (1, w[1] * groups, extent, extent)
        yield name, "x".join(map(str, x)), layer(stride, padding, groups), inputs(x, w, w[:1])
    yield "group_norm32", "8x64x56x56", group_norm, inputs((8, 64, 56, 56), (64,), (64,))
    yield "conv_transpose2x2_s2", "1x128x28x28", conv_transpose, inputs((1, 128, 28, 28), (128, 64, 2, 2), (64,))


def drawn():
    """Yields the rows that bench/run --draw names; measuring/drawn.py says what a size is."""

    def inputs(*shapes):
        return lambda: [uniform(s) for s in shapes]

    for name in os.environ.get("BENCH_DRAWN", "").split():
        workload, size = name.split("/")
        if workload == "chain":
            text, n = size.rsplit("x", 1)
            yield workload, size, chain(text), inputs(*[(int(n),)] * 4)
            continue
        s = [int(n) for n in size.split("x")]
        if workload == "conv":
            x, w = (1, s[0], s[1], s[1]), (s[2], s[0] // s[5], s[3], s[3])
            yield workload, size, layer(s[4], s[3] // 2, s[5]), inputs(x, w, w[:1])
            continue
        f, *shapes = {
            "matmul": lambda: (matmul, s[:2], s[1:]),
            "batched_matmul": lambda: (matmul, s[:3], [s[0], *s[2:]]),
            "linear_gelu": lambda: (linear_gelu, s[:2], [s[2], s[1]], s[2:]),
            "softmax": lambda: (softmax, s),
            "logsumexp": lambda: (logsumexp, s),
            "layernorm": lambda: (layernorm, s, s[1:], s[1:]),
            "rmsnorm": lambda: (rmsnorm, s, s[1:]),
            "attention": lambda: (attention, *[[1, *s]] * 3),
        }[workload]()
        yield workload, size, f, inputs(*shapes)


def changing_sizes():
    """Returns the numbers of bench/inputs.cpp."""
    return [1000 + i * 7919 % 19001 for i in range(1000)]
