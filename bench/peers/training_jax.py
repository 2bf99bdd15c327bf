#!/usr/bin/env python3
"""Times the steps of bench/training.cpp with JAX, jitted as a whole; prints one line each.

  training_jax.py [-t THREADS] [-f REGEX] [-s SECONDS]
"""

import argparse
import os
import re
import resource
import statistics
import time


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-t", "--threads", type=int, default=1)
    p.add_argument("-f", "--filter", default=".")
    p.add_argument("-s", "--seconds", type=float, default=3)
    return p.parse_args()


args = arguments()
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:args.threads])  # the only limit that XLA's thread pool keeps

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

draw = np.random.default_rng(1)


def weights(*shape):
    return jnp.asarray(draw.uniform(-1, 1, shape).astype(np.float32) / np.sqrt(np.prod(shape[:-1])))


def linear(i, o):
    return {"w": weights(i, o), "b": jnp.zeros(o)}


def apply(p, x):
    return x @ p["w"] + p["b"]


def cross_entropy(scores, t):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(scores), t[:, None], -1))


def mlp():
    params = [linear(784, 512), linear(512, 512), linear(512, 10)]

    def model(p, x):
        return apply(p[2], jax.nn.relu(apply(p[1], jax.nn.relu(apply(p[0], x)))))

    return params, model, (draw.random((128, 784), np.float32), draw.integers(0, 10, 128))


def lstm():
    h = 256
    params = {"x": linear(64, 4 * h), "h": weights(h, 4 * h), "head": linear(h, 10)}

    def model(p, x):
        steps = jnp.swapaxes(apply(p["x"], x), 0, 1)

        def step(state, gates):
            y, c = state
            i, f, g, o = jnp.split(gates + y @ p["h"], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        zero = jnp.zeros((x.shape[0], h))
        return apply(p["head"], jax.lax.scan(step, (zero, zero), steps)[0][0])

    return params, model, (draw.random((32, 128, 64), np.float32), draw.integers(0, 10, 32))


def norm(p, x):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * p["w"] + p["b"]


def gpt(n=384, layers=6, heads=6):
    scale = lambda: {"w": jnp.ones(n), "b": jnp.zeros(n)}
    params = {"wte": weights(256, n), "wpe": weights(256, n), "ln": scale(), "h": [
        {"a": scale(), "b": scale(), "qkv": linear(n, 3 * n), "proj": linear(n, n), "fc": linear(n, 4 * n), "out": linear(4 * n, n)}
        for _ in range(layers)]}

    def model(p, ids):
        b, t = ids.shape
        x = p["wte"][ids] + p["wpe"][:t]
        for h in p["h"]:
            q, k, v = (y.reshape(b, t, heads, n // heads) for y in jnp.split(apply(h["qkv"], norm(h["a"], x)), 3, -1))
            x = x + apply(h["proj"], jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(b, t, n))
            x = x + apply(h["out"], jax.nn.gelu(apply(h["fc"], norm(h["b"], x))))
        return (norm(p["ln"], x) @ p["wte"].T).reshape(b * t, -1)

    return params, model, (draw.integers(0, 256, (8, 256)), draw.integers(0, 256, 8 * 256))


def resnet18():
    def conv(k, i, o):
        return {"w": weights(k, k, i, o), "g": jnp.ones(o), "b": jnp.zeros(o)}

    params, i = {"stem": conv(7, 3, 64), "blocks": [], "head": linear(512, 1000)}, 64
    for o in (64, 128, 256, 512):
        for first in (True, False):
            block = {"1": conv(3, i, o), "2": conv(3, o, o)}
            if first and i != o:
                block["down"] = conv(1, i, o)
            params["blocks"].append(block)
            i = o

    def conv_norm(p, x, stride):
        pad = p["w"].shape[0] // 2
        x = jax.lax.conv_general_dilated(x, p["w"], (stride, stride), [(pad, pad)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC"))
        mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
        return (x - mean) * jax.lax.rsqrt(var + 1e-5) * p["g"] + p["b"]

    def model(p, x):
        x = jax.nn.relu(conv_norm(p["stem"], x, 2))
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), [(0, 0), (1, 1), (1, 1), (0, 0)])
        for b in p["blocks"]:
            stride = 2 if "down" in b else 1
            y = conv_norm(b["2"], jax.nn.relu(conv_norm(b["1"], x, stride)), 1)
            x = jax.nn.relu(y + (conv_norm(b["down"], x, stride) if "down" in b else x))
        return apply(p["head"], x.mean((1, 2)))

    return params, model, (draw.random((8, 224, 224, 3), np.float32), draw.integers(0, 1000, 8))


def sgd(p, g, state):
    return jax.tree.map(lambda a, b: a - 1e-3 * b, p, g), state


def adam(p, g, state):
    m, v, t = state
    t = t + 1
    m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
    v = jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b * b, v, g)
    rate, root = 1e-3 / (1 - 0.9**t), jnp.sqrt(1 - 0.999**t)
    return jax.tree.map(lambda a, b, c: a - rate * b / (jnp.sqrt(c) / root + 1e-8), p, m, v), (m, v, t)


def process_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


for name, make, update in (("mlp_sgd", mlp, sgd), ("mlp_adam", mlp, adam), ("lstm_adam", lstm, adam),
                           ("gpt_mini_adamw", gpt, adam), ("resnet18_sgd", resnet18, sgd)):
    if not re.search(args.filter, name):
        continue
    at_start = process_mb()
    params, model, (x, t) = make()
    x, t = jnp.asarray(x), jnp.asarray(t)
    zeros = jax.tree.map(jnp.zeros_like, params)
    state = (zeros, jax.tree.map(jnp.copy, zeros), jnp.float32(0))

    def whole(params, state, x, t):
        loss, g = jax.value_and_grad(lambda p: cross_entropy(model(p, x), t))(params)
        params, state = update(params, g, state)
        return loss, params, state

    step = jax.jit(whole, donate_argnums=(0, 1))
    times, begin = [], None
    while len(times) < 7 or (time.perf_counter() - begin < args.seconds and len(times) < 400):
        before = time.perf_counter()
        loss, params, state = step(params, state, x, t)
        float(loss)
        times.append(time.perf_counter() - before)
        if len(times) == 2:
            begin = time.perf_counter()
    warm = times[2:]
    print(f"{name},median_ms={statistics.median(warm) * 1e3:.3f},min_ms={min(warm) * 1e3:.3f},"
          f"first_step_ms={times[0] * 1e3:.1f},process_mb={process_mb():.0f},grown_mb={process_mb() - at_start:.0f}", flush=True)
