#!/usr/bin/env python3
"""Makes the data of the demos: demos/data/{tour.png, quotes.csv, points.csv}. Needs nothing but Python; same bytes each time."""
import math
import pathlib
import random
import struct
import zlib

DATA = pathlib.Path(__file__).resolve().parent.parent / "demos" / "data"
WIDTH, HEIGHT = 480, 320


def mix(a, b, t):
    t = min(max(t, 0.0), 1.0)
    return tuple(p + (q - p) * t for p, q in zip(a, b))


def hill(x, level, height, waves, phase):
    return level - height * (0.6 * math.sin(x * waves + phase) + 0.4 * math.sin(x * waves * 2.7 + phase * 1.9))


def pixel(x, y):
    """Returns the colour (0..1) at x, y in 0..1: evening sky, sun, two ranges of hills, striped fields, a lake that mirrors."""
    colour = mix((0.10, 0.16, 0.38), (0.98, 0.62, 0.30), (y / 0.62) ** 1.4)
    sun = math.hypot((x - 0.68) * 1.5, y - 0.40)
    colour = mix(colour, (1.0, 0.86, 0.55), 0.75 * math.exp(-(sun / 0.16) ** 2))
    colour = mix((1.0, 0.97, 0.80), colour, (sun - 0.070) / 0.004)
    for cx, cy, r in ((0.18, 0.16, 0.012), (0.31, 0.09, 0.007), (0.08, 0.27, 0.008), (0.44, 0.13, 0.006)):
        star = math.hypot((x - cx) * 1.5, y - cy)
        colour = mix((1.0, 1.0, 0.95), colour, (star - r * 0.4) / (r * 0.6))
    if y > hill(x, 0.53, 0.07, 7.0, 0.4):
        colour = mix((0.34, 0.28, 0.46), (0.55, 0.38, 0.42), (y - 0.46) / 0.12)
    if y > hill(x, 0.60, 0.05, 10.0, 2.2):
        colour = mix((0.16, 0.22, 0.26), (0.22, 0.30, 0.22), (y - 0.56) / 0.10)
    if y > 0.64:
        depth = (y - 0.64) / 0.36
        stripe = math.sin((x - 0.5) * (60.0 / (0.25 + depth)) / 2.0)
        field = mix((0.36, 0.46, 0.14), (0.62, 0.58, 0.20), 0.5 + 0.5 * max(-1.0, min(1.0, stripe * 4.0)))
        colour = mix(mix(field, (0.5, 0.4, 0.35), 0.4), field, depth * 2.0)
    lake = math.hypot((x - 0.30) / 0.24, (y - 0.80) / 0.085)
    if lake < 1.0:
        ripple = 0.5 + 0.5 * math.sin(y * 420.0 + 3.0 * math.sin(x * 40.0))
        colour = mix(mix((0.14, 0.22, 0.40), (0.85, 0.55, 0.36), (0.90 - y) / 0.18), (0.95, 0.75, 0.55), 0.25 * ripple)
    return colour


def draw():
    rows = bytearray()
    for j in range(HEIGHT):
        rows.append(0)  # no filter
        for i in range(WIDTH):
            total = [0.0, 0.0, 0.0]
            for dx, dy in ((0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)):  # four samples soften the edges
                for c, v in enumerate(pixel((i + dx) / WIDTH, (j + dy) / HEIGHT)):
                    total[c] += v / 4
            rows += bytes(int(min(max(v, 0.0), 1.0) * 255 + 0.5) for v in total)

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)  # 8 bits, RGB
    (DATA / "tour.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
                                    chunk(b"IDAT", zlib.compress(bytes(rows), 9)) + chunk(b"IEND", b""))


def quotes():
    rng = random.Random(7)
    with open(DATA / "quotes.csv", "w") as f:
        f.write("spot,strike,years,volatility,rate\n")
        for _ in range(24):
            spot = round(rng.uniform(40, 160), 2)
            strike = round(spot * rng.uniform(0.8, 1.25) / 5) * 5
            f.write(f"{spot},{strike},{rng.choice((0.083, 0.25, 0.5, 1, 2))},{round(rng.uniform(0.12, 0.55), 3)},0.031\n")


def points():
    rng = random.Random(11)
    clusters = ((-3.0, 1.0, 0.9), (0.5, -3.0, 0.8), (3.5, 2.0, 1.1), (-0.5, 4.5, 0.8))
    with open(DATA / "points.csv", "w") as f:
        f.write("x,y\n")
        for _ in range(400):
            x, y, spread = rng.choice(clusters)
            f.write(f"{rng.gauss(x, spread):.4f},{rng.gauss(y, spread):.4f}\n")


if __name__ == "__main__":
    DATA.mkdir(exist_ok=True)
    draw()
    quotes()
    points()
