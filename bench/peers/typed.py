"""The rows of bench/typed.cpp and of its other dtypes: (name, size, function, inputs, dtype of the float32 inputs)."""

import numpy as np

import workloads as w

FLOATS = (("f64", "float64"), ("bf16", "bfloat16"), ("f16", "float16"))
INTEGERS = (("int8", "int8"), ("int32", "int32"), ("int64", "int64"))


def polynomial(xp, a, b):
    return (a * b + a) * 2 - b


def linear_int8(xp, x, weights, b):
    """Quantises dynamically, as bench/lazy.cpp does."""
    scale = xp.max(xp.abs(x)) / 127
    q = xp.int8(xp.round(x / scale))
    return xp.float32(xp.matmul_int8(q, xp.transpose(weights, (1, 0)))) * (scale * (1 / 127.0)) + b


def numbers(*shapes, low=-1.0, high=1.0):
    return lambda: [w.uniform(s, low, high) for s in shapes]


def floats():
    for name, dtype in FLOATS:
        for n in (100000, 1000000):
            yield f"fused_chain_{name}", str(n), w.fused_chain, numbers(*[(n,)] * 4), dtype
            yield f"arith_chain_{name}", str(n), w.arith_chain, numbers(*[(n,)] * 4), dtype
        yield f"softmax_{name}", "1024x1024", w.softmax, numbers((1024, 1024)), dtype
        yield f"layernorm_{name}", "4096x768", w.layernorm, numbers((4096, 768), (768,), (768,)), dtype
        yield f"sum_{name}", "4096x1024", lambda xp, x: xp.sum(x), numbers((4096, 1024)), dtype
        yield f"matmul_{name}", "512", w.matmul, numbers((512, 512), (512, 512)), dtype


def integers():
    for name, dtype in INTEGERS:
        yield f"polynomial_{name}", "1000000", polynomial, numbers((1000000,), (1000000,), low=-5.0, high=5.0), dtype
        yield f"sum_{name}", "4096x1024", lambda xp, x: xp.sum(x), numbers((4096, 1024), low=-5.0, high=5.0), dtype
        yield f"max_{name}", "4096x1024", lambda xp, x: xp.row_max(x), numbers((4096, 1024), low=-5.0, high=5.0), dtype
    yield "matmul_int32", "256", w.matmul, numbers((256, 256), (256, 256), low=-5.0, high=5.0), "int32"
    yield "matmul_int8", "512", lambda xp, a, b: xp.matmul_int8(a, b), numbers((512, 512), (512, 512), low=-100.0, high=100.0), "int8"


def bools():
    two = numbers((1000000,), (1000000,))
    yield "mask_bool", "1000000", lambda xp, a, b: (a > 0) & (b < a), two
    yield "where_bool", "1000000", lambda xp, a, b: xp.where(a > b, a, b * 2), two
    yield "count_bool", "1000000", lambda xp, a, b: xp.count(a > b), two


def linears():
    for m in (128, 1):
        size = f"{m}x768x3072"
        yield "linear_bf16", size, w.linear, numbers((m, 768), (3072, 768), (3072,)), "bfloat16"

        def quantised(m=m):
            return [w.uniform((m, 768)), w.uniform((3072, 768), -127, 127).astype(np.int8), w.uniform((3072,))]

        yield "linear_int8", size, linear_int8, quantised
    for n in (256, 1024, 4096):
        yield "matvec", str(n), w.matmul, numbers((n, n), (n,))


def causal(xp, q, k, v):
    return xp.attention(q, k, v, True)


def attentions():
    for heads, length in ((32, 128), (8, 1024)):
        yield "attention_causal", f"{heads}x{length}x64", causal, numbers(*[(1, heads, length, 64)] * 3)
    for size in (32, 64, 80, 128, 256):
        yield "attention", f"8x512x{size}", w.attention, numbers(*[(1, 8, 512, size)] * 3)
        yield "attention_causal", f"8x512x{size}", causal, numbers(*[(1, 8, 512, size)] * 3)
    for keys in (1024, 4096):
        cache = (1, 32, keys, 128)
        yield "attention_decode", f"32x{keys}x128", w.attention, numbers((1, 32, 1, 128), cache, cache)


def rows():
    for part in (floats, integers, bools, linears, attentions):
        yield from part()
