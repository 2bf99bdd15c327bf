"""Draws random arguments from one seed."""
import numpy as np

from values import ALL, DIGITS, LARGEST, LEAST, V, holder, is_complex, is_float, numbers, part_type, rounded

EXTENTS = [1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 11, 13, 16, 17, 31, 33, 61, 64, 67]


def floats(rng, t, shape, kind):
    """Draws floats. kind: any (whatever there is), plain (between -8 and 8), mild (the same, and sometimes NaN, infinities,
    zeros), positive, unit (-1 to 1), near (around 1 and -1)."""
    if kind == "near":
        a = np.exp(rng.normal(0, 0.05, shape)) * rng.choice([-1.0, 1.0], shape)
    elif kind in ("plain", "mild"):
        a = rng.integers(-64, 65, shape) / 8.0 if rng.random() < 0.3 else rng.normal(0, 2, shape)
    elif kind == "positive":
        a = np.exp(rng.normal(0, 1, shape))
    elif kind == "unit":
        a = rng.uniform(-1, 1, shape)
    else:
        widest = np.log2(LARGEST[t]) if rng.random() < 0.3 else min(20.0, np.log2(LARGEST[t]))
        a = np.exp2(rng.uniform(-widest, widest, shape)) * rng.choice([-1.0, 1.0], shape)
        if rng.random() < 0.5:
            a = np.where(rng.random(shape) < 0.5, a, rng.normal(0, 3, shape))
        if rng.random() < 0.5:
            tiny = 2.0 ** LEAST[t]
            special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, LARGEST[t], -LARGEST[t], tiny, -tiny,
                                tiny * 2.0 ** (1 - DIGITS[t]), -tiny / 2, 2.0 ** (1 - DIGITS[t]), np.pi, 2.5, -3.5])
            a = np.where(rng.random(shape) < 0.3, rng.choice(special, shape), a)
    if kind == "mild" and rng.random() < 0.3:
        special = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape, p=[0.1, 0.1, 0.1, 0.35, 0.35])
        a = np.where(rng.random(shape) < 0.15, special, a)
    return rounded(a, t)


def integers(rng, t, shape, kind):
    limits = np.iinfo(t)
    if kind in ("any",) and rng.random() < 0.5:
        a = rng.integers(limits.min, limits.max, shape, dtype=t, endpoint=True)
        ends = np.array([limits.min, limits.max, 0, 1, limits.max - 1], dtype=t)
        return np.where(rng.random(shape) < 0.3, rng.choice(ends, shape), a)
    low, high = (1 if kind == "positive" else max(limits.min, -9)), 10
    return rng.integers(low, high, shape, dtype=t)


class Draw:
    def __init__(self, rng):
        self.rng = rng

    def one(self, choices):
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, p):
        return bool(self.rng.random() < p)

    def int(self, low, high):
        """Draws an integer of [low, high]."""
        return int(self.rng.integers(low, high + 1))

    def shape(self, low=0, high=4, largest=600, empty=0.04):
        s, n = [], 1
        for _ in range(self.int(low, high)):
            fit = [e for e in EXTENTS if n * e <= largest]
            s.append(0 if self.chance(empty) else self.one(fit))
            n *= max(s[-1], 1)
        return tuple(s)

    def broadcasts_to(self, shape):
        """Draws a shape that broadcasts to a shape."""
        s = shape[self.int(0, len(shape)) if self.chance(0.3) else 0:]
        return tuple(1 if self.chance(0.2) else n for n in s)

    def values(self, t, shape, kind="any"):
        if is_complex(t):
            return self.values(part_type(t), shape, kind) + 1j * self.values(part_type(t), shape, kind)
        if t == "bool":
            return self.rng.integers(0, 2, shape).astype(bool)
        return (floats if is_float(t) else integers)(self.rng, t, shape, kind)

    def tensor(self, t, shape, kind="any", views=True):
        """Draws a tensor; half of them are views of others, recorded or of memory."""
        if not views or not shape or self.chance(0.5):
            return V(t, self.values(t, shape, kind))
        return self.view(t, shape, lambda s: self.values(t, s, kind))

    def of(self, t, a):
        """Writes given values, perhaps as a view without repetition."""
        a = np.asarray(a).astype(holder(t))
        if a.ndim == 0 or self.chance(0.7):
            return V(t, a)
        axis = self.int(0, a.ndim - 1)
        return V(t, a, f"{V(t, np.flip(a, axis)).text()} /flip:{axis}")

    def view(self, t, shape, make):
        steps, s = [], list(shape)  # the steps from the last to the first
        for _ in range(self.int(1, 2)):
            axis = self.int(0, len(s) - 1)
            kind = self.one(["flip", "permute", "slice", "slice", "broadcast"])
            if kind == "flip":
                steps.append(("flip", axis))
            elif kind == "permute":
                order = [int(i) for i in self.rng.permutation(len(s))]
                steps.append(("permute", order))
                before = [0] * len(s)
                for i, o in enumerate(order):
                    before[o] = s[i]
                s = before
            elif kind == "slice":
                start, step, more = self.int(0, 2), self.int(1, 3), self.int(0, 2)
                stop = start + max(s[axis] - 1, 0) * step + 1 if s[axis] else start
                steps.append(("slice", axis, start, stop, step))
                s[axis] = stop + more
            elif s[axis] > 1 and not any(k[0] == "broadcast" for k in steps):
                steps.append(("broadcast", list(s)))
                s[axis] = 1
        base = make(tuple(s)).astype(holder(t))
        a, words = base, []
        for step in reversed(steps):
            if step[0] == "flip":
                a = np.flip(a, step[1])
            elif step[0] == "permute":
                a = np.transpose(a, step[1])
            elif step[0] == "broadcast":
                a = np.broadcast_to(a, step[1])
            else:
                a = a[(slice(None),) * step[1] + (slice(*step[2:]),)]
            args = numbers(step[1]) if step[0] in ("permute", "broadcast") else ":".join(map(str, step[1:]))
            words.append(f"/{step[0]}:{args}")
        if self.chance(0.5) and a.size:
            return V(t, a, self.in_memory(t, base, a))
        return V(t, a, " ".join([V(t, base).text()] + words))

    def in_memory(self, t, base, a):
        base_at = base.__array_interface__["data"][0]
        first = (a.__array_interface__["data"][0] - base_at) // base.itemsize
        strides = [n // base.itemsize for n in a.strides]
        data = V(t, base).text().split(" ")[3]
        return f"B {t} {numbers(a.shape)} {numbers(strides)} {first} {data}"

    def axes(self, rank, errors=0.03):
        """Draws axes to reduce: None and none at all are all of them; sometimes wrong ones."""
        if self.chance(errors):
            return self.one([[rank], [-rank - 1], [0, 0] if rank else [1]])
        if rank == 0 or self.chance(0.25):
            return self.one([None, []])
        some = [int(i) for i in self.rng.permutation(rank)[:self.int(1, rank)]]
        return [i - rank if self.chance(0.3) else i for i in some]

    def axis(self, rank, errors=0.03):
        if rank == 0 or self.chance(errors):
            return self.one([rank, -rank - 1])
        return self.int(-rank, rank - 1)

    def types(self, pool=ALL, n=2, same=0.6):
        """Draws dtypes, mostly equal ones."""
        t = self.one(pool)
        return [t if self.chance(same) else self.one(pool) for _ in range(n)]
