"""Figures and the CSV that bench/run writes and bench/compare reads.

A line is one row on one side: what was timed, how sure that is, what the machine could do in the same minute, and how
far off the results were. COLUMNS says what is in each column; a file may lack all but the first five.
"""

import csv
import io
import math
import statistics
from dataclasses import dataclass, field

REQUIRED = ("peer", "workload", "size", "threads", "median_us")
COLUMNS = {
    "peer": "who computed: lazy, lazy_fast, torch, ...", "workload": "what", "size": "how much", "threads": "number of threads",
    "median_us": "microseconds: median over the rounds of each round's median",
    "spread_pct": "half the distance between the fastest and the slowest round, in % of the median",
    "rounds": "how many rounds that is",
    "clock_ghz": "the clock, as a fixed chain of multiplications takes time before and after the row: the mean over its rounds",
    "clock_pct": "that in % of the most so far in this run: below 100 the processor ran slower, or something else ran too",
    "fma_gflops": "most that the row's threads could compute in the same minute, float32",
    "triad_l1_gbs": "and move within the first level of cache, a = b + s c", "triad_l2_gbs": "the second",
    "triad_l3_gbs": "the third", "triad_memory_gbs": "memory",
    "max_ulp": "largest error of a result in units of its last place", "max_abs": "largest absolute error",
    "runs_on": "version, instruction set, kernel",
}
NUMBERS = [c for c in COLUMNS if c not in ("peer", "workload", "size", "threads", "runs_on", "median_us")]
LIMITS = {"fma_fp32": "fma_gflops", "triad_L1": "triad_l1_gbs", "triad_L2": "triad_l2_gbs", "triad_L3": "triad_l3_gbs",
          "triad_memory": "triad_memory_gbs"}


class BadFile(Exception):
    """A file that is not one of figures; the text names the file and the line."""


@dataclass
class Figure:
    """One row on one side. Columns that the file lacks are NaN."""

    peer: str
    workload: str
    size: str
    threads: int
    median_us: float
    values: dict = field(default_factory=dict)  # the rest of the columns, by name
    runs_on: str = ""
    place: str = ""  # file:line

    @property
    def key(self):
        return self.peer, self.workload, self.size, self.threads

    @property
    def name(self):
        return f"{self.workload} {self.size}, {self.threads} thread{'s' if self.threads != 1 else ''}"

    def __getitem__(self, column):
        return self.median_us if column == "median_us" else self.values.get(column, math.nan)


def header_of(line, place):
    """Returns the names of the columns. Throws BadFile for one that is unknown, lacking or there twice."""
    names = [name.strip() for name in line]
    for name in names:
        if name not in COLUMNS:
            raise BadFile(f"{place}: no column '{name}'; there are {', '.join(COLUMNS)}")
        if names.count(name) > 1:
            raise BadFile(f"{place}: column '{name}' is there twice")
    for name in REQUIRED:
        if name not in names:
            raise BadFile(f"{place}: column '{name}' is missing")
    return names


def figure_of(names, line, place):
    """Returns the figure of one line. Throws BadFile where it is malformed."""
    if len(line) != len(names):
        raise BadFile(f"{place}: {len(line)} fields; the first line names {len(names)} columns")
    fields = dict(zip(names, line))
    try:
        threads = int(fields["threads"])
    except ValueError:
        raise BadFile(f"{place}: threads is '{fields['threads']}', not a whole number") from None
    numbers = {}
    for name in ["median_us", *(n for n in names if n in NUMBERS)]:
        text = fields[name].strip()
        try:
            numbers[name] = float(text) if text else math.nan
        except ValueError:
            raise BadFile(f"{place}: {name} is '{text}', not a number") from None
    us = numbers.pop("median_us")
    if not (us > 0 and math.isfinite(us)):
        raise BadFile(f"{place}: median_us is '{fields['median_us']}', which is no time")
    return Figure(fields["peer"], fields["workload"], fields["size"], threads, us, numbers, fields.get("runs_on", ""), place)


def parse(text, path):
    """Returns the figures of a file's text. A row that is there several times counts as rounds: the median, and their spread."""
    rows = {}
    names = None
    for number, line in enumerate(csv.reader(io.StringIO(text)), 1):
        place = f"{path}:{number}"
        if not line or (len(line) == 1 and not line[0].strip()):
            continue
        if names is None:
            names = header_of(line, place)
            continue
        f = figure_of(names, line, place)
        rows.setdefault(f.key, []).append(f)
    if names is None:
        raise BadFile(f"{path}:1: the file is empty; its first line must name columns")
    if not rows:
        raise BadFile(f"{path}: there are no rows below the first line")
    return {key: of_rounds(found) for key, found in rows.items()}


def of_rounds(found):
    """Returns one figure of those of several rounds."""
    first = found[0]
    if len(found) == 1:
        return first
    times = [f.median_us for f in found]
    middle = statistics.median(times)
    first.values = {**first.values, "spread_pct": spread(times), "rounds": float(len(found))}
    first.median_us = middle
    return first


def complete(found, more):
    """Adds figures to those that are there: rows that these lack, and columns that they don't know."""
    for key, f in more.items():
        there = found.setdefault(key, f)
        for name in NUMBERS:
            if math.isnan(there[name]) and not math.isnan(f[name]):
                there.values[name] = f[name]


def spread(times):
    """Returns half the range in % of the median; NaN for a single one, which says nothing."""
    return 50 * (max(times) - min(times)) / statistics.median(times) if len(times) > 1 else math.nan


def read(path):
    """Returns the figures of a file, by (peer, workload, size, threads)."""
    try:
        with open(path, encoding="utf-8", newline="") as f:
            return parse(f.read(), path)
    except OSError as e:
        raise BadFile(f"{path}: {e.strerror}") from None
    except UnicodeDecodeError:
        raise BadFile(f"{path}: not a text file") from None


def header():
    return ",".join(COLUMNS)


def line_of(f):
    """Returns the line of a figure; what is unknown is empty."""
    cells = []
    for name in COLUMNS:
        if name in REQUIRED[:4]:
            cells.append(str(getattr(f, name)))
        elif name == "runs_on":
            cells.append(f.runs_on.replace(",", ";"))
        else:
            cells.append("" if math.isnan(f[name]) else f"{f[name]:.5g}" if name == "median_us" else f"{f[name]:.4g}")
    return ",".join(cells)
