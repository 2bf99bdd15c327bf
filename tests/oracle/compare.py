#!/usr/bin/env python3
"""Compares the library with NumPy and torch on random cases.

    pip install numpy torch && python3 tests/oracle/compare.py --program build/release/tests/oracle/lazy_oracle --cases 200000

Runs tests/oracle's interpreter once and prints each case that differs, with its number: `--seed S --only N` runs that alone.
`--golden FOLDER` writes a sample of cases as files that `lazy_oracle check` reads.
"""
import argparse
import collections
import os
import subprocess
import sys
import threading
import warnings

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import spec  # noqa: E402
from draw import Draw  # noqa: E402
from values import text_of  # noqa: E402

warnings.simplefilter("ignore")
np.seterr(all="ignore")


class Case:
    """Holds one case: its text, and what is expected: a list of Out, or "error"."""

    def __init__(self, ops, seed, number):
        self.number = number
        draw = Draw(np.random.default_rng([seed, number]))
        self.family, make = ops[number % len(ops)]
        arguments = None
        while arguments is None:
            try:
                self.name, arguments, self.expected = make(draw)
            except spec.Skip:
                continue
            except Exception as e:
                raise RuntimeError(f"what case {number} of {self.family} should give is not known") from e
        self.line = "\t".join([self.name] + [text_of(x) for x in arguments])

    def difference(self, answer):
        got = answer.split("\t")
        if self.expected == "error":
            return None if got[0] == "error" else "no error"
        if got[0] == "error":
            return "error: " + " ".join(got[1:])
        if len(got) != len(self.expected) + 1:
            return f"{len(got) - 1} results"
        for want, one in zip(self.expected, got[1:]):
            d = want.difference(one)
            if d:
                return d
        return None

    def golden(self):
        want = ["error"] if self.expected == "error" else [o.text() for o in self.expected]
        return "\t".join([self.line, "="] + want)


def answers(program, cases):
    """Yields each case with what the program answers."""
    pending = collections.deque()
    environment = {"LAZY_LOG": "none", "LAZY_CACHE": "off", **os.environ}
    child = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    failed = []

    def feed():
        try:
            for case in cases:
                pending.append(case)
                child.stdin.write(case.line + "\n")
            child.stdin.close()
        except BrokenPipeError:
            pass
        except BaseException as e:  # a reference of ours that fails
            failed.append(e)
            child.kill()

    threading.Thread(target=feed, daemon=True).start()
    for answer in child.stdout:
        yield pending.popleft(), answer.rstrip("\n")
    if failed:
        raise failed[0]
    if child.wait():
        sys.exit(f"{program} ended with status {child.returncode} in {pending[0].line[:2000] if pending else ''}")


def run(options, ops):
    wanted = [options.only] if options.only is not None else range(options.cases)
    wrong, total = collections.Counter(), 0

    def made():
        for n in wanted:
            try:
                yield Case(ops, options.seed, n)
            except RuntimeError as e:
                wrong["unknown"] += 1
                print(f"{e}: {e.__cause__!r}")

    for case, answer in answers(options.program, made()):
        total += 1
        d = case.difference(answer)
        if d is None:
            continue
        wrong[case.name] += 1
        if wrong[case.name] <= options.show:
            print(f"case {case.number}: {d}\n  {case.line[:options.width]}\n  {answer[:options.width]}")
    print(f"seed {options.seed}: {total} cases of {len({f for f, _ in ops})} ops, {sum(wrong.values())} differ", dict(wrong))
    return 1 if wrong else 0


def report_unknown(options, ops):
    """Says for which rows of the table there is no expectation."""
    rows = subprocess.run([options.program, "names"], capture_output=True, text=True, check=True).stdout.split()
    print("not compared:", *sorted(set(rows) - {name for name, _ in ops}))


def write_golden(options, ops):
    """Writes cases of each op, not above 700 characters each, into a file for each file of ops."""
    files = collections.defaultdict(list)
    number = 0
    for family, make in ops:
        kept = tried = 0
        while kept < options.golden_cases and tried < 20 * options.golden_cases:
            tried += 1
            number += 1
            case = Case([(family, make)], options.seed, number)
            line = case.golden()
            if case.expected and len(line) <= 700:
                files[make.file].append(line)
                kept += 1
    for name, lines in files.items():
        with open(os.path.join(options.golden, f"oracle_{name}.txt"), "w") as out:
            out.write("# Written by tests/oracle/compare.py --golden: cases and what NumPy or torch answer.\n")
            out.write("\n".join(lines) + "\n")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--program", default="build/release/tests/oracle/lazy_oracle")
    p.add_argument("--cases", type=int, default=20000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", type=int, help="number of the one case to run")
    p.add_argument("--op", help="comma-separated names: only these")
    p.add_argument("--show", type=int, default=3, help="differences shown of each op")
    p.add_argument("--width", type=int, default=600)
    p.add_argument("--golden", help="folder to write files to")
    p.add_argument("--golden-cases", type=int, default=9)
    options = p.parse_args()
    ops = spec.ops(options.op.split(",") if options.op else None)
    if options.golden:
        return write_golden(options, ops)
    if not options.op:
        report_unknown(options, ops)
    return run(options, ops)


if __name__ == "__main__":
    sys.exit(main())
