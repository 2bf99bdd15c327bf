#!/usr/bin/env python3
"""Compares gradients of random graphs with torch's.

    pip install numpy torch && python3 tests/oracle/gradients.py --program build/release/tests/oracle/lazy_oracle --cases 5000

A graph has 3 to 12 ops (graph_ops.py); gradients of its last value by all leaves are asked for by vjp() or by backward(). Each case that
differs is printed with its number: `--seed S --only N` runs that alone. `--golden FILE` writes cases that `lazy_oracle check` reads.
"""
import argparse
import collections
import os
import sys
import warnings

import numpy as np
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import graph_ops  # noqa: E402
from compare import answers  # noqa: E402
from draw import Draw  # noqa: E402
from values import DIGITS, Out, V, text_of  # noqa: E402

warnings.simplefilter("ignore")
torch.set_num_threads(1)

# How far results may be from torch's, which are computed in float64: of the largest element, or of 1.
TOLERANCE = {"float64": 1e-9, "float32": 2e-3}


class Unfit(Exception):
    """Thrown for a graph whose numbers grow too large to be compared."""


class Graph:
    """Holds the leaves and ops of a graph, and torch's values of them."""

    def __init__(self, draw):
        self.d = draw
        self.t = "float64" if draw.chance(0.85) else "float32"
        self.ties = self.t == "float64" and draw.chance(0.25)  # leaves have equal and round numbers
        self.leaves, self.ops = [], []

    def add_leaf(self, v, differentiated=True):
        x = torch.tensor(v.a.astype(np.float64) if differentiated else v.a)
        value = graph_ops.Value(x.requires_grad_(differentiated), ("leaf", len(self.leaves)))
        self.leaves.append((v, value))
        return value

    def leaf(self, shape, kind="plain"):
        """Returns a new leaf, perhaps a view of memory or of another tensor."""
        if self.ties and kind == "plain":
            return self.add_leaf(self.d.of(self.t, self.d.rng.integers(-4, 5, shape) / 2))
        if kind == "plain":
            return self.add_leaf(self.d.of(self.t, self.d.rng.normal(0, 1, shape)) if self.d.chance(0.5)
                                 else self.d.view(self.t, shape, lambda s: self.d.rng.normal(0, 1, s)) if shape
                                 else V(self.t, self.d.rng.normal(0, 1, shape)))
        return self.add_leaf(self.d.of(self.t, self.d.values(self.t, shape, kind)))

    def given(self, a, t):
        """Returns a leaf that is not differentiated by: indices, masks."""
        return self.add_leaf(V(t, a), False)

    def apply(self, name, args, x):
        given = [a for b in args for a in (b if isinstance(b, graph_ops.Many) else [b]) if isinstance(a, graph_ops.Value)]
        exact = all(a.exact for a in given)
        if self.ties and not exact and name in graph_ops.KINKED:
            return None
        value = graph_ops.Value(x, ("op", len(self.ops)), exact and name in graph_ops.EXACT)
        self.ops.append((name, args))
        return value

    def text(self, how, gradient):
        def of(a):
            if isinstance(a, graph_ops.Value):
                return f"V {a.at[1] + (len(self.leaves) if a.at[0] == 'op' else 0)}"
            if isinstance(a, graph_ops.Many):
                return "\t".join([f"X {len(a)}"] + [of(v) for v in a])
            return text_of(a)

        lines = [f"graph\t{how}"] + [f"leaf\t{text_of(v)}" for v, _ in self.leaves]
        lines += ["\t".join([name] + [of(a) for a in args]) for name, args in self.ops]
        return "\t;\t".join(lines + [f"gradient\t{text_of(gradient)}"])


def made(draw):
    """Returns a graph and its last value."""
    g = Graph(draw)
    value = g.leaf(draw.shape(0, 3, 60, empty=0.01))
    values = [value]
    count = draw.int(3, 12)
    tried = 0
    while len(g.ops) < count:
        tried += 1
        if tried > 400:
            raise Unfit
        before = len(g.leaves), len(g.ops)
        x = value if draw.chance(0.8) else draw.one(values)
        try:
            y = draw.one(graph_ops.OPS)(g, x, values)
        except RuntimeError:  # torch does not take it: kron of some views
            y = None
        fits = y is not None and y.x.numel() <= 300 and y.x.dim() <= 5
        if fits and y.x.numel():
            finite = y.x.detach()
            fits = bool(torch.isfinite(finite).all()) and float(finite.abs().max()) < 1e3
        if not fits or not y.x.requires_grad:
            del g.leaves[before[0]:], g.ops[before[1]:]
            continue
        value = y
        values.append(y)
    return g, value


class Case:
    def __init__(self, seed, number):
        self.number = number
        for attempt in range(1000):
            try:
                self.make(Draw(np.random.default_rng([seed, number, attempt])))
                return
            except Unfit:
                continue
        raise RuntimeError(f"case {number} has no graph")

    def make(self, draw):
        g, y = made(draw)
        c = V(g.t, np.round(draw.rng.normal(0, 1, tuple(y.x.shape)) * 8) / 8)
        leaves = [v.x for _, v in g.leaves if v.x.requires_grad]
        got = torch.autograd.grad(y.x, leaves, torch.tensor(c.a.astype(np.float64)), allow_unused=True)
        results = [y.x.detach()] + [torch.zeros_like(x) if r is None else r for x, r in zip(leaves, got)]
        scale = max([1.0] + [float(r.abs().max()) for r in results if r.numel()])
        if not np.isfinite(scale) or scale > 1e6:
            raise Unfit
        self.ops = [name for name, _ in g.ops]
        self.line = g.text(draw.one(["vjp", "backward", "eager"]), c)
        ulps = TOLERANCE[g.t] * 2.0 ** (DIGITS[g.t] - 1)
        self.expected = [Out(g.t, r.numpy(), ulps, max([1.0] + [float(r.abs().max())] if r.numel() else [1.0]), True)
                         for r in results]

    def difference(self, answer):
        got = answer.split("\t")
        if got[0] != "ok":
            return "error: " + " ".join(got[1:])
        for i, (want, one) in enumerate(zip(self.expected, got[1:], strict=True)):
            d = want.difference(one)
            if d:
                return f"{'gradient ' + str(i - 1) if i else 'the value'}: {d}"
        return None

    def golden(self):
        return "\t".join([self.line, "="] + [o.text() for o in self.expected])


def run(options):
    numbers = [options.only] if options.only is not None else range(options.cases)
    wrong, total, used = collections.Counter(), 0, collections.Counter()
    for case, answer in answers(options.program, (Case(options.seed, n) for n in numbers)):
        total += 1
        used.update(case.ops)
        d = case.difference(answer)
        if d is None:
            continue
        wrong.update(set(case.ops))
        wrong[""] += 1
        if wrong[""] <= options.show:
            print(f"case {case.number}: {d}\n  {' '.join(case.ops)}\n  {case.line[:options.width]}")
    print(f"seed {options.seed}: {total} graphs of {len(used)} ops, {wrong.pop('', 0)} differ")
    if wrong:
        print("ops of those that differ, and how often each is used:",
              *(f"{n} {k}/{used[n]}" for n, k in sorted(wrong.items(), key=lambda i: -i[1] / used[i[0]])[:12]))
    return 1 if wrong else 0


def write_golden(options):
    lines, n = [], 0
    while len(lines) < options.golden_cases:
        line = Case(options.seed, n).golden()
        n += 1
        if len(line) <= 1400:
            lines.append(line)
    with open(options.golden, "w") as out:
        out.write("# Written by tests/oracle/gradients.py --golden: graphs, and their values and gradients by torch.\n")
        out.write("\n".join(lines) + "\n")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--program", default="build/release/tests/oracle/lazy_oracle")
    p.add_argument("--cases", type=int, default=5000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", type=int, help="number of the one case to run")
    p.add_argument("--show", type=int, default=10, help="differences shown")
    p.add_argument("--width", type=int, default=1500)
    p.add_argument("--golden", help="file to write")
    p.add_argument("--golden-cases", type=int, default=200)
    options = p.parse_args()
    if options.golden:
        return write_golden(options)
    return run(options)


if __name__ == "__main__":
    sys.exit(main())
