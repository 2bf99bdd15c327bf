"""Draws rows of shapes and chains that nothing was tuned on. All sides get their names in the variable BENCH_DRAWN.

Sizes: matmul RxKxC, batched_matmul BxRxKxC, linear_gelu ROWSxINxOUT; softmax, logsumexp, layernorm, rmsnorm ROWSxCOLUMNS;
attention HEADSxLENGTHxSIZE; conv CHANNELSxEXTENTxRESULTSxWINDOWxSTRIDExGROUPS (padded by half a window); chain POSTFIXxN
(bench/drawn.hpp: of inputs a to d; g gelu, s sigmoid, r relu, q sqrt(abs(x)), e exp(-abs(x))).
"""

import math
import random

INPUTS, UNARY, BINARY = "abcd", "gsrqe", "+-*"


def spread_out(r, low, high):
    """Returns a whole number whose logarithm is evenly spread."""
    return round(math.exp(r.uniform(math.log(low), math.log(high))))


def product(r):
    while True:
        sizes = [spread_out(r, 4, 1500) for _ in range(3)]
        if 1e5 < math.prod(sizes) < 1e9:
            return sizes


def batched(r):
    return [spread_out(r, 8, 256)] + [spread_out(r, 2, 100) for _ in range(3)]


def rows(r):
    columns = spread_out(r, 8, 65536)
    return [spread_out(r, max(1, (1 << 16) // columns), (1 << 22) // columns), columns]


def attention(r):
    return [r.randint(1, 12), spread_out(r, 32, 1500), r.randint(16, 160)]


def conv(r):
    while True:
        channels, window, extent = spread_out(r, 3, 256), r.choice([1, 3, 3, 5, 7]), spread_out(r, 7, 160)
        each = r.random() < 0.3  # depthwise
        results = channels if each else spread_out(r, 8, 256)
        if 1e6 < extent * extent * results * window * window * (1 if each else channels) < 1e9:
            return [channels, extent, results, window, r.choice([1, 1, 2]), channels if each else 1]


def chain(r):
    """Returns a chain that reads each input and ends with one value."""
    text, depth, left = "", 0, r.randint(3, 14)
    unread = list(INPUTS)
    while left > 0 or unread or depth > 1:
        if depth >= 2 and (r.random() < 0.5 or not (left > 0 or unread)):
            text, depth = text + r.choice(BINARY), depth - 1
        elif depth >= 1 and left > 0 and r.random() < 0.4:
            text += r.choice(UNARY)
        else:
            text, depth = text + (unread.pop() if unread else r.choice(INPUTS)), depth + 1
        left -= 1
    return [text, spread_out(r, 10000, 3000000)]


KINDS = {"matmul": product, "batched_matmul": batched, "linear_gelu": product, "softmax": rows, "logsumexp": rows, "layernorm": rows,
         "rmsnorm": rows, "attention": attention, "conv": conv, "chain": chain}


def names(text):
    """Returns the names for SEED or SEED:COUNT (of each kind; 2)."""
    seed, _, count = text.partition(":")
    r = random.Random(int(seed))
    drawn = [f"{kind}/{'x'.join(map(str, draw(r)))}" for _ in range(int(count or 2)) for kind, draw in KINDS.items()]
    return sorted(set(drawn), key=lambda name: (name.split("/")[0], name))
