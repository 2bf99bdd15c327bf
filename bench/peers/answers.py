"""Answers questions about rows, as bench/serve.hpp says, for a Python library."""

import os
import statistics
import sys
import time

import numpy as np

import typed
import workloads

TRAINING = {"mlp_sgd": "128x784-512-512-10", "mlp_adam": "128x784-512-512-10", "lstm_adam": "32x128x64"}
WIDE = ("float64", "int32", "int64")  # written as double; a float holds the others


class Made:
    """Holds one row with its inputs."""

    def __init__(self, xp, row):
        workloads.uniform.seed = 0
        self.xp, (name, self.size, f, make, *dtype) = xp, row
        if name.startswith("train_"):
            self.call = xp.training(name.removeprefix("train_"))
            return
        self.inputs = [xp.array(x) if not dtype or x.dtype != np.float32 else xp.typed(x, dtype[0]) for x in make()]
        xp.wait(self.inputs)
        self.run = xp.compiled(lambda *x: f(xp, *x))

    def call(self):
        self.xp.wait(self.run(*self.inputs))


def all_rows():
    """Returns the rows by their names."""
    trainings = [("train_" + name, size, None, None) for name, size in TRAINING.items()]
    return {f"{r[0]}/{r[1]}": r for r in [*workloads.rows(), *typed.rows(), *workloads.drawn(), *trainings]}


def median_us(call, seconds):
    """Returns the median of samples in microseconds, each long enough to be timed."""
    clock = time.perf_counter
    call(), call()
    start = clock()
    call()
    inner = max(1, int(100e-6 / max(clock() - start, 1e-7)))
    samples, end = [], clock() + seconds
    while len(samples) < 5 or clock() < end:
        start = clock()
        for _ in range(inner):
            call()
        samples.append((clock() - start) / inner)
    return statistics.median(samples) * 1e6


def changing_shapes(xp):
    """Returns the microseconds of a chain over 1,000 sizes."""
    f = xp.compiled(lambda *x: workloads.fused_chain(xp, *x))

    def once():
        total = 0.0
        for n in workloads.changing_sizes():
            inputs = [xp.array(workloads.uniform((n,))) for _ in range(4)]
            xp.wait(inputs)
            start = time.perf_counter()
            xp.wait(f(*inputs))
            total += time.perf_counter() - start
        return total * 1e6

    return once


def write(folder, name, x):
    """Writes one array: a line in the file `arrays`, the elements in a file of their own."""
    x = np.asarray(x)
    dtype = str(x.dtype)
    wide = dtype in WIDE
    with open(os.path.join(folder, "arrays"), "a") as f:
        f.write(f"{name} {dtype} {'double' if wide else 'float'} {' '.join(map(str, x.shape))}\n")
    x.astype(np.float64 if wide else np.float32).tofile(os.path.join(folder, name))


def arrays(made, folder):
    results = made.run(*made.inputs)
    made.xp.wait(results)
    results = list(results) if isinstance(results, (tuple, list)) else [results]
    for i, x in enumerate(made.inputs):
        write(folder, f"in{i}", made.xp.plain(x))
    for i, x in enumerate(results):
        write(folder, f"out{i}", made.xp.plain(x))


class Server:
    def __init__(self, xp):
        self.xp, self.rows, self.name, self.made, self.chain = xp, all_rows(), None, None, None

    def row(self, name):
        if name != self.name:
            self.name = self.made = None
            self.made, self.name = Made(self.xp, self.rows[name]), name
        return self.made

    def answer(self, verb, words):
        if verb == "list":
            for name in self.rows:
                print("row," + name.replace("/", ",", 1))
            print("row,changing_shapes_cold,1000,fresh\nrow,changing_shapes_warm,1000")
        elif verb == "about":
            print("about," + self.xp.about().replace(",", ";"))
        elif verb == "time" and words[0].startswith("changing_shapes"):
            if self.chain is None:
                self.chain = changing_shapes(self.xp)
                if "warm" in words[0]:
                    self.chain()
            us = self.chain()
            self.xp.compiles()
            print(f"time,{us:.5g},")
        elif verb == "time":
            made = self.row(words[0])
            us = median_us(made.call, float(words[1]))
            self.xp.compiles()
            print(f"time,{us:.5g},{self.xp.runs_on(made)}")
        elif verb == "arrays" and words[0] in self.rows and not words[0].startswith("train_"):
            arrays(self.row(words[0]), words[1])
        elif verb != "arrays":
            raise ValueError(f"no question '{verb}'")


def serve(xp):
    server = Server(xp)
    # What a library prints must not be taken for an answer.
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        verb, *words = line.split()
        sys.stdout = answers
        try:
            server.answer(verb, words)
        except Exception as e:  # a peer that can't do a row has no figure there
            text = " ".join(str(e).split())[:200]
            print(f"error,{type(e).__name__}: {text}")
        print("done", flush=True)
        sys.stdout = sys.stderr
