"""Collects what each op should give: functions of a Draw to a name, arguments and results (a list of Out, or "error")."""
import importlib
import os

FILES = sorted(f[len("expect_"):-len(".py")] for f in os.listdir(os.path.dirname(os.path.abspath(__file__)))
               if f.startswith("expect_"))
_ops = []  # name, function
_meant = {}


class Skip(Exception):
    """Thrown for arguments to which NumPy and torch have no answer: others are drawn."""


def op(*names):
    """Registers a function of (draw, name), for each of several names; it returns arguments and results. A name may have several, of
    several files."""

    def register(f):
        file = f.__module__[len("expect_"):]
        for name in names:
            def make(draw, f=f, name=name):
                return (name, *f(draw, name))

            make.file = file
            _ops.append((name, make))
        return f

    return register


def ops(only=None):
    for f in FILES:
        importlib.import_module("expect_" + f)
    chosen = [(name, make) for name, make in _ops if only is None or name in only]
    if not chosen:
        raise SystemExit("no such op")
    return chosen


def meant(name):
    """Says that the caller's expectation departs from NumPy and torch for a reason that differences.tsv has."""
    if not _meant:
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "differences.tsv")) as f:
            _meant.update(line.rstrip("\n").split("\t", 1) for line in f if not line.startswith("#"))
    if name not in _meant:
        raise KeyError(f"{name} is not in differences.tsv")
