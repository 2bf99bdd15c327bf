#!/usr/bin/env python3
"""Times the programs of bench/programs with NumPy or torch, on the same inputs; prints one line each as bench_programs does.

  programs.py numpy|torch [-t THREADS] [-f REGEX] [-s SECONDS]
  programs.py numpy|torch --check      prints name and number of each on small inputs, for bench_programs --check

Each is written as a user of the library would write it. Not every program is there for NumPy.
"""

import argparse
import math
import re
import statistics
import time

import numpy as np

SMALL = False
PROGRAMS = {}


def n(timed, checked):
    return checked if SMALL else timed


def uniform(shape, low, high, seed):
    """Returns the numbers of bench/inputs.cpp (splitmix64)."""
    count = int(np.prod(shape))
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    f = np.float32
    return (f(low) + (f(high) - f(low)) * (z >> np.uint64(40)).astype(f) * f(2.0**-24)).reshape(shape)


def program(size, *libraries):
    """Registers a function that takes the library and returns what is timed."""

    def add(begin):
        PROGRAMS[begin.__name__] = (size, libraries, begin)
        return begin

    return add


def given(xp, x):
    return xp.from_numpy(np.ascontiguousarray(x)) if xp is not np else np.ascontiguousarray(x)


# simulation.cpp


@program("2000", "numpy", "torch")
def pagerank(xp):
    pages = n(2000, 60)
    links = given(xp, uniform((pages, pages), 0, 1, 1))
    links = links / links.sum(0)

    def run():
        rank = xp.full((pages,), 1 / pages, dtype=xp.float32)
        for _ in range(50):
            rank = 0.85 * (links @ rank) + 0.15 / pages
        return rank

    return run


@program("512x512", "numpy", "torch")
def wave(xp):
    edge, steps = n(512, 40), n(400, 30)
    at = np.arange(edge, dtype=np.float32) / np.float32(edge)
    y, x = at[:, None], at[None]
    free = given(xp, (x - np.float32(0.7)) ** 2 + (y - np.float32(0.5)) ** 2 > np.float32(0.01))
    start = given(xp, np.exp(-200 * ((x - np.float32(0.3)) ** 2 + (y - np.float32(0.4)) ** 2)))

    def run():
        now = past = start
        for _ in range(steps):
            mid = now[1:-1, 1:-1]
            laplace = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:] - 4 * mid
            after = xp.zeros_like(now)
            after[1:-1, 1:-1] = 0.999 * (2 * mid - past[1:-1, 1:-1] + 0.2 * laplace)
            after = xp.where(free, after, 0)
            past, now = now, after
        return now

    return run


@program("256x256_f64", "numpy", "torch")
def conjugate_gradients(xp):
    edge, steps = n(256, 24), n(300, 20)
    right = given(xp, uniform((edge, edge), -1, 1, 2).astype(np.float64))

    def apply(u):
        y = 4 * u
        y[1:] -= u[:-1]
        y[:-1] -= u[1:]
        y[:, 1:] -= u[:, :-1]
        y[:, :-1] -= u[:, 1:]
        return y

    def run():
        x, r, d, norm = xp.zeros_like(right), right, right, (right * right).sum()
        for _ in range(steps):
            q = apply(d)
            alpha = norm / (d * q).sum()
            x = x + alpha * d
            r = r - alpha * q
            now = (r * r).sum()
            d = r + now / norm * d
            norm = now
        return x

    return run


@program("1000", "numpy", "torch")
def jacobi(xp):
    size = n(1000, 50)
    rest = given(xp, (1 - np.eye(size, dtype=np.float32)) * uniform((size, size), -1, 1, 3))
    diagonal = given(xp, uniform(size, 1, 2, 4) * np.float32(size))
    right = given(xp, uniform(size, -1, 1, 5))

    def run():
        x = xp.zeros(size, dtype=xp.float32)
        for _ in range(200):
            x = (right - rest @ x) / diagonal
        return x

    return run


@program("100000", "numpy", "torch")
def lorenz(xp):
    points, steps, h = n(100000, 100), n(200, 50), 0.005
    first = given(xp, uniform((3, points), -1, 1, 6))

    def slope(x, y, z):
        return 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z

    def run():
        s = (first[0], first[1], first[2] + 25)
        for _ in range(steps):
            a = slope(*s)
            b = slope(*(u + h / 2 * k for u, k in zip(s, a)))
            c = slope(*(u + h / 2 * k for u, k in zip(s, b)))
            d = slope(*(u + h * k for u, k in zip(s, c)))
            s = tuple(u + h / 6 * (i + 2 * j + 2 * k + l) for u, i, j, k, l in zip(s, a, b, c, d))
        return xp.stack(s)

    return run


@program("100000x64", "numpy", "torch")
def asian_option(xp):
    paths = n(100000, 500)
    seeds = (np.arange(paths) * 2654435761 + 12345).astype(np.uint32)
    if xp is not np:  # torch shifts no uint32
        seeds = given(xp, seeds.astype(np.int64))
    float32 = (lambda x: x.astype(np.float32)) if xp is np else (lambda x: x.float())

    def run():
        state, price, total = seeds, xp.full((paths,), 100, dtype=xp.float32), xp.zeros(paths, dtype=xp.float32)

        def number():
            nonlocal state
            state = state ^ (state << 13 if xp is np else (state << 13) & 0xFFFFFFFF)
            state = state ^ (state >> 17)
            state = state ^ (state << 5 if xp is np else (state << 5) & 0xFFFFFFFF)
            return (float32(state >> 8) + 0.5) * 2.0**-24

        for _ in range(64):
            radius, angle = xp.sqrt(-2 * xp.log(number())), 6.2831853 * number()
            price = price * xp.exp(0.0003 + 0.025 * radius * xp.cos(angle))
            total = total + price
        gain = total / 64 - 100
        return (np.maximum(gain, 0) if xp is np else gain.clamp_min(0)).mean().reshape(1)

    return run


# learning.cpp


@program("20000x8_6", "numpy", "torch")
def gaussian_mixture(xp):
    points, kinds = n(20000, 200), 6
    x = given(xp, uniform((points, 8), -1, 1, 10) + np.floor(uniform((points, 1), 0, 6, 11)))

    def run():
        mean, variance = x[:kinds], xp.ones((kinds, 8), dtype=xp.float32)
        weight = xp.full((kinds,), 1 / kinds, dtype=xp.float32)
        for _ in range(30):
            far = (x[:, None] - mean) ** 2 / variance
            score = xp.log(weight) - 0.5 * (far + xp.log(2 * math.pi * variance)).sum(2)
            if xp is np:
                most = score.max(1, keepdims=True)
                share = np.exp(score - most)
                share = share / share.sum(1, keepdims=True)
            else:
                share = xp.softmax(score, 1)
            total = share.sum(0)
            weight = total / points
            mean = share.T @ x / total[:, None]
            variance = share.T @ x**2 / total[:, None] - mean**2 + 1e-3
        return xp.concatenate((mean, variance), 1)

    return run


@program("1000x5000x64", "numpy", "torch")
def nearest_neighbours(xp):
    known, asked = given(xp, uniform((n(5000, 300), 64), -1, 1, 12)), given(xp, uniform((n(1000, 40), 64), -1, 1, 13))
    label = given(xp, np.floor(uniform(n(5000, 300), 0, 10, 14)).astype(np.int64))

    def run():
        distance = (asked * asked).sum(1)[:, None] + (known * known).sum(1) - 2 * (asked @ known.T)
        if xp is np:
            nearest = np.argpartition(distance, 5, 1)[:, :5]
            votes = (label[nearest][..., None] == np.arange(10)).sum(1)
        else:
            nearest = xp.topk(distance, 5, 1, largest=False).indices
            votes = xp.nn.functional.one_hot(label[nearest], 10).sum(1)
        return votes.argmax(1)

    return run


@program("10000x100", "numpy", "torch")
def logistic_regression(xp):
    examples, features = n(10000, 200), n(100, 12)
    x, truth = given(xp, uniform((examples, features), -1, 1, 15)), given(xp, uniform(features, -1, 1, 16))
    y = given(xp, (np.asarray(x @ truth) > 0).astype(np.float32))
    sigmoid = (lambda z: 1 / (1 + np.exp(-z))) if xp is np else xp.sigmoid

    def run():
        w, b = xp.zeros(features, dtype=xp.float32), xp.zeros((), dtype=xp.float32)
        for step in range(200):
            error = sigmoid(x @ w + b) - y
            rate = 2 / (1 + 0.01 * step)
            w = w - rate * (x.T @ error / examples + 1e-4 * w)
            b = b - rate * error.mean()
        return xp.concatenate((w, b.reshape(1)))

    return run


def adam_begin():
    inputs, width, batch = n(784, 20), n(256, 16), n(128, 16)
    x = uniform((4 * batch, inputs), 0, 1, 17)
    label = np.floor(uniform(4 * batch, 0, 10, 18)).astype(np.int64)
    values, last, seed = [], 0, 100
    for shape in ((width, inputs), (width,), (width, width), (width,), (10, width), (10,)):
        most = 1 / np.sqrt(np.float32(shape[-1]))
        values.append(uniform(shape, -most, most, seed))
        seed += 1
    return x, label, batch, values


@program("128x784x256", "numpy", "torch")
def adam_network(xp):
    x, label, batch, values = adam_begin()
    x, label, steps = given(xp, x), given(xp, label), 40

    def run_numpy():
        p = list(values)
        m, v, total = [np.zeros_like(q) for q in p], [np.zeros_like(q) for q in p], 0
        for step in range(steps):
            rows = slice(step % 4 * batch, (step % 4 + 1) * batch)
            a, t = x[rows], label[rows]
            h1 = np.maximum(a @ p[0].T + p[1], 0)
            h2 = np.maximum(h1 @ p[2].T + p[3], 0)
            z = h2 @ p[4].T + p[5]
            z = z - z.max(1, keepdims=True)
            e = np.exp(z)
            s = e.sum(1, keepdims=True)
            total += (np.log(s[:, 0]) - z[np.arange(batch), t]).mean()
            d = e / s
            d[np.arange(batch), t] -= 1
            d /= batch
            d2 = d @ p[4] * (h2 > 0)
            d1 = d2 @ p[2] * (h1 > 0)
            grads = [d1.T @ a, d1.sum(0), d2.T @ h1, d2.sum(0), d.T @ h2, d.sum(0)]
            for i, g in enumerate(grads):
                m[i] = 0.9 * m[i] + 0.1 * g
                v[i] = 0.999 * v[i] + 0.001 * g * g
                root = np.sqrt(v[i]) / math.sqrt(1 - 0.999 ** (step + 1)) + 1e-8
                p[i] = p[i] - 1e-3 / (1 - 0.9 ** (step + 1)) * m[i] / root
        return np.array([total])

    def run_torch():
        nn = xp.nn
        width, inputs = values[0].shape
        model = nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))
        with xp.no_grad():
            for q, value in zip(model.parameters(), values):
                q.copy_(xp.from_numpy(value))
        optimizer, total = xp.optim.Adam(model.parameters(), lr=1e-3, fused=True), 0
        for step in range(steps):
            rows = slice(step % 4 * batch, (step % 4 + 1) * batch)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x[rows]), label[rows])
            loss.backward()
            optimizer.step()
            total = total + loss.detach()
        return total.reshape(1)

    return run_numpy if xp is np else run_torch


# networks.cpp


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


@program("200x32x256", "numpy", "torch")
def lstm(xp):
    width, long, batch = n(256, 16), n(200, 12), n(32, 3)
    values = []
    for i, shape in enumerate(((4 * width, width), (4 * width, width), (4 * width,), (4 * width,))):
        most = 1 / np.sqrt(np.float32(width if len(shape) > 1 else 4))
        values.append(uniform(shape, -most, most, 200 + i))
    x = given(xp, uniform((long, batch, width), -1, 1, 20))

    def run_numpy():
        w, u, b, c = values
        h = state = np.zeros((batch, width), np.float32)
        pre = x @ w.T + (b + c)
        for t in range(long):
            i, f, g, o = np.split(pre[t] + h @ u.T, 4, 1)
            state = sigmoid(f) * state + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(state)
        return h

    if xp is np:
        return run_numpy
    model = xp.nn.LSTM(width, width)
    fill(xp, model, 200)

    def run_torch():
        with xp.no_grad():
            return model(x)[0][-1]

    return run_torch


def fill(xp, model, seed):
    with xp.no_grad():
        for p in model.parameters():
            most = 1 / np.sqrt(np.float32(p[0].numel() if p.dim() > 1 else 4))
            p.copy_(xp.from_numpy(uniform(tuple(p.shape), -most, most, seed)))
            seed += 1


@program("1x3x224x224", "torch")
def resnet18(xp):
    nn = xp.nn

    class Residual(nn.Module):
        def __init__(self, i, o, stride):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
            self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
            if stride > 1 or i != o:
                self.down = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))
            else:
                self.down = nn.Identity()
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x):
            return self.relu(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))) + self.down(x))

    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    i = 64
    for o, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Residual(i, o, stride), Residual(o, o, 1)]
        i = o
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, n(1000, 10)))
    fill(xp, model, 300)
    model.eval()
    x = given(xp, uniform((1, 3, n(224, 64), n(224, 64)), 0, 1, 21))

    def run():
        with xp.no_grad():
            return model(x)

    return run


@program("128+64", "numpy", "torch")
def gpt2_block(xp):
    width, heads, prompt, more = n(768, 48), n(12, 4), n(128, 9), n(64, 5)
    weights = []
    for i, (rows, columns) in enumerate(((width, 3 * width), (width, width), (width, 4 * width), (4 * width, width))):
        most = 1 / np.sqrt(np.float32(rows))
        weights.append(given(xp, uniform((rows, columns), -most, most, 30 + i)))
    qkv, out, up, down = weights
    x = given(xp, uniform((prompt, width), -1, 1, 22))

    def norm(z):
        if xp is not np:
            return xp.nn.functional.layer_norm(z, (width,))
        c = z - z.mean(-1, keepdims=True)
        return c / np.sqrt((c * c).mean(-1, keepdims=True) + 1e-5)

    def gelu(z):
        if xp is not np:
            return xp.nn.functional.gelu(z, approximate="tanh")
        return 0.5 * z * (1 + np.tanh(0.7978845608 * (z + 0.044715 * z * z * z)))

    def attend(q, k, v, causal):
        if xp is not np:
            return xp.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        score = q @ k.transpose(0, 2, 1) * np.float32(1 / math.sqrt(width / heads))
        if causal:
            score = np.where(np.tri(len(q[0]), dtype=bool), score, np.float32(-np.inf))
        e = np.exp(score - score.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True) @ v

    def block(x, keys, values, at):
        t = x.shape[0]
        split = (norm(x) @ qkv).reshape(t, 3, heads, width // heads)
        split = split.transpose(1, 2, 0, 3) if xp is np else split.permute(1, 2, 0, 3)
        keys[:, at : at + t], values[:, at : at + t] = split[1], split[2]
        y = attend(split[0], keys[:, : at + t], values[:, : at + t], at == 0)
        y = y.transpose(1, 0, 2) if xp is np else y.permute(1, 0, 2)
        z = x + y.reshape(t, width) @ out
        return z + gelu(norm(z) @ up) @ down

    def run():
        keys = xp.zeros((heads, prompt + more, width // heads), dtype=xp.float32)
        values = xp.zeros_like(keys)
        token = block(x, keys, values, 0)[-1:]
        for at in range(prompt, prompt + more):
            token = block(token, keys, values, at)
        return token

    return run


@program("100x32x64", "numpy", "torch")
def ragged_batches(xp):
    xs, lengths = [], []
    for i in range(n(100, 6)):
        longest = 8 + i * 37 % n(120, 15)
        xs.append(given(xp, uniform((32, longest, 64), -1, 1, 400 + i)))
        lengths.append(given(xp, (1 + np.floor(uniform(32, 0, longest, 1400 + i))).astype(np.int64)))
    w, query = given(xp, uniform((64, 64), np.float32(-0.1), np.float32(0.1), 23)), given(xp, uniform(64, -1, 1, 24))

    def run():
        total = xp.zeros((32, 64), dtype=xp.float32)
        for x, length in zip(xs, lengths):
            h = xp.tanh(x @ w)
            there = xp.arange(x.shape[1]) < length[:, None]
            score = xp.where(there, h @ query, -1e9)
            if xp is np:
                e = np.exp(score - score.max(1, keepdims=True))
                share = e / e.sum(1, keepdims=True)
            else:
                share = xp.softmax(score, 1)
            total = total + (h * share[..., None]).sum(1)
        return total

    return run


# images.cpp


@program("1080x1920_u8", "numpy", "torch")
def equalise_histogram(xp):
    shape, f = (n(1080, 30), n(1920, 50)), np.float32
    image = given(xp, np.floor(f(128) + f(100) * uniform(shape, -1, 1, 40) * uniform(shape, 0, 1, 41)).astype(np.uint8))

    def run():
        running = xp.cumsum(xp.bincount(image.ravel(), minlength=256), 0)
        low = running[running > 0].min()
        size = image.shape[0] * image.shape[1]
        if xp is np:
            table = np.clip(np.round((running - low).astype(f) * f(255) / f(size - low)), 0, 255).astype(np.uint8)
            return table[image]
        table = ((running - low).float() * 255 / (size - low)).round().clamp(0, 255).to(xp.uint8)
        return table[image.int()]

    return run


@program("1080x1920", "numpy", "torch")
def filters(xp):
    image = given(xp, uniform((n(1080, 30), n(1920, 50)), 0, 1, 42))
    weight = (0.0625, 0.25, 0.375, 0.25, 0.0625)

    def pad(z, width):
        if xp is np:
            return np.pad(z, width, mode="edge")
        return xp.nn.functional.pad(z[None, None], (width,) * 4, mode="replicate")[0, 0]

    def run():
        padded = pad(image, 2)
        columns, rows = image.shape[1], image.shape[0]
        across = sum(w * padded[:, i : i + columns] for i, w in enumerate(weight))
        soft = sum(w * across[i : i + rows] for i, w in enumerate(weight))
        sharp = pad((image + 1.5 * (image - soft)).clip(0, 1), 1)
        d = sharp[:, 2:] - sharp[:, :-2]
        s = sharp[:, :-2] + 2 * sharp[:, 1:-1] + sharp[:, 2:]
        dx = d[:-2] + 2 * d[1:-1] + d[2:]
        dy = s[2:] - s[:-2]
        return xp.sqrt(dx * dx + dy * dy)

    return run


def digest(y):
    v = np.asarray(y, dtype=np.float64).ravel()
    return float((v * (1 + np.arange(v.size) % 7)).mean())


def memory_mb(line):
    with open("/proc/self/status") as f:
        return next(float(l.split()[1]) / 1e3 for l in f if l.startswith(line + ":"))


def measure(peer, xp, name, threads, seconds):
    size, _, begin = PROGRAMS[name]
    run = begin(xp)
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")  # the peak begins anew
    before = memory_mb("VmRSS")
    for _ in range(2):
        run()
    peak = memory_mb("VmHWM") - before
    times, first = [], time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - first < seconds and len(times) < 1000):
        start = time.perf_counter()
        y = run()
        times.append(time.perf_counter() - start)
    y = y.detach().numpy() if xp is not np else y
    print(f"{peer},{name},{size},{threads},{statistics.median(times) * 1e6:.5g},{digest(y):.9g},{peak:.1f}", flush=True)


def main():
    global SMALL
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("peer", choices=["numpy", "torch"])
    p.add_argument("-t", "--threads", type=int, default=1)
    p.add_argument("-f", "--filter", default=".")
    p.add_argument("-s", "--seconds", type=float, default=1)
    p.add_argument("--check", action="store_true")
    a = p.parse_args()
    if a.peer == "torch":
        import torch as xp

        xp.set_num_threads(a.threads)
    else:
        xp = np
    SMALL = a.check
    for name in sorted(PROGRAMS):
        if not re.search(a.filter, name) or a.peer not in PROGRAMS[name][1]:
            continue
        if a.check:
            y = PROGRAMS[name][2](xp)()
            print(f"{name} {digest(y.detach().numpy() if xp is not np else y):.9g}")
        else:
            measure(a.peer, xp, name, a.threads, a.seconds)


main()
