"""Measures row by row: each round asks every side about the row, before the next row comes."""

import math
import os
import re
import statistics
import sys
import time

from . import drawn, sides as sides_of
from .figures import LIMITS, Figure, spread

MINUTE = 60  # seconds after which the limits are measured again


class Machine:
    """Knows how fast the machine is at the moment."""

    def __init__(self, build):
        self.program = os.path.join(build, "bench", "bench_limits")
        self.side, self.limits, self.when, self.best = sides_of.Side("limits", [self.program, "--serve"], 1), {}, {}, 0.0

    def clock(self):
        """Returns instructions of a chain a nanosecond."""
        ghz = float(self.side.ask("clock")[0][1])
        self.best = max(self.best, ghz)
        return ghz

    def at(self, threads):
        """Returns the limits of this minute by column."""
        if time.monotonic() - self.when.get(threads, -math.inf) > MINUTE:
            found = {a[1]: float(a[4]) for a in self.side.ask(f"limits {threads}")}
            self.limits[threads] = {LIMITS[name]: value for name, value in found.items() if name in LIMITS}
            self.when[threads] = time.monotonic()
        return self.limits[threads]


class Taken:
    """Collects the rounds of one row on one side."""

    def __init__(self):
        self.us, self.clocks, self.runs_on, self.errors = [], [], "", (math.nan, math.nan)


def one_row(row, sides, machine, a, reference):
    """Returns what each side took, by name; a side that fails is told and left out."""
    taken = {s.name: Taken() for s in sides}
    for number in range(a.rounds):
        for side in list(sides):
            t = taken.get(side.name)
            if t is None:
                continue
            try:
                if reference and number == 0:
                    t.errors = reference.errors(side, row)
                before = machine.clock()
                us, t.runs_on = side.time(row, a.seconds, side.known[row])
                t.us.append(us)
                t.clocks.append((before + machine.clock()) / 2)
            except sides_of.Failed as e:
                print(f"bench: {side.name}: {row}: {e}", file=sys.stderr)
                del taken[side.name]
    return taken


def start(names, threads, a, beside):
    """Returns the sides that run, each with its rows and what it says about itself."""
    started = []
    for name in names:
        side = sides_of.make(name, threads, a.build, a.peers_dir, beside)
        if side is None:
            continue
        try:
            side.known, side.text = side.rows(), side.about()
        except sides_of.Failed as e:
            sys.exit(f"bench: {name}: {e}")
        started.append(side)
    return started


def measure(names, a, beside=None, emit=lambda figure: None):
    """Returns the figures of all rows that match, in a list; `emit` has each row's as soon as they are there."""
    machine, reference = Machine(a.build), None if a.no_errors else sides_of.Reference(a.build)
    figures, wanted, only = [], re.compile(a.filter), set(drawn.names(a.draw)) if a.draw else set()
    for threads in map(int, a.threads.split()):
        sides = start(names, threads, a, beside or {})
        rows = [r for r in dict.fromkeys(r for s in sides for r in s.known) if wanted.search(r) and (not a.draw or r in only)]
        for i, row in enumerate(rows):
            print(f"bench: {i + 1} of {len(rows)}, {threads} thread(s): {row}", file=sys.stderr)
            minute = machine.at(threads)
            workload, size = row.split("/")
            there = [s for s in sides if row in s.known]
            taken = one_row(row, there, machine, a, reference)
            for side in there:
                t = taken.get(side.name)
                if not t or not t.us:
                    continue
                ghz = statistics.fmean(t.clocks)
                values = {**minute, "spread_pct": spread(t.us), "rounds": len(t.us), "clock_ghz": ghz,
                          "clock_pct": 100 * ghz / machine.best, "max_ulp": t.errors[0], "max_abs": t.errors[1]}
                runs_on = "; ".join(x for x in (side.text, t.runs_on) if x)
                figures.append(Figure(side.name, workload, size, threads, statistics.median(t.us), values, runs_on))
                emit(figures[-1])
        for side in sides:
            side.end()
    machine.side.end()
    for f in figures:  # the best of the run is known now
        f.values["clock_pct"] = 100 * f.values["clock_ghz"] / machine.best
    if not figures:
        sys.exit(f"bench: no workload matches '{a.filter}'")
    return figures


def options(parser):
    """Adds the arguments that bench/run and bench/compare share."""
    cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    parser.add_argument("-t", "--threads", default="1", help='numbers of threads ("1 2")')
    parser.add_argument("-f", "--filter", default=".", help="only rows whose workload/size matches this expression")
    parser.add_argument("-r", "--rounds", type=int, default=5, help="rounds, whose median counts (5)")
    parser.add_argument("-s", "--seconds", type=float, default=0.1, help="seconds of samples for each row, side and round (0.1)")
    parser.add_argument("--draw", metavar="SEED[:COUNT]", help="rows of shapes and chains drawn from a seed instead: COUNT (2) of each kind")
    parser.add_argument("--no-errors", action="store_true", help="don't compare results with the reference")
    parser.add_argument("--beside", action="append", default=[], metavar="NAME=PROGRAM",
                        help="another bench_lazy, of before a change, as one more side")
    parser.add_argument("--peers-dir", default=os.environ.get("BENCH_PEERS", os.path.join(cache, "lazy-peers")),
                        help="where bench/peers/setup put them ($BENCH_PEERS or ~/.cache/lazy-peers)")
    parser.add_argument("--build", default=os.path.join(sides_of.HERE, "..", "build", "release"), help="build folder (build/release)")


def checked(a):
    """Returns the sides of --beside by name. Ends the program where an argument can't be right."""
    try:
        re.compile(a.filter)
    except re.error as e:
        sys.exit(f"bench: -f {a.filter}: {e}")
    if a.rounds < 1 or not all(t.isdigit() and int(t) > 0 for t in a.threads.split()) or not a.threads.split():
        sys.exit("bench: rounds and threads are whole numbers from 1")
    for program in ("bench_lazy", "bench_limits", "bench_reference"):
        if not os.path.exists(os.path.join(a.build, "bench", program)):
            sys.exit(f"bench: no {os.path.join(a.build, 'bench', program)} (./x bench builds it)")
    if a.draw:
        if not re.fullmatch(r"\d+(:[1-9]\d*)?", a.draw):
            sys.exit(f"bench: --draw {a.draw}: it is SEED or SEED:COUNT")
        os.environ["BENCH_DRAWN"] = " ".join(drawn.names(a.draw))
    beside = {}
    for text in a.beside:
        name, equals, program = text.partition("=")
        if not equals or not name.isidentifier() or not os.access(program, os.X_OK):
            sys.exit(f"bench: --beside {text}: it is NAME=PROGRAM")
        beside[name] = os.path.abspath(program)
    return beside
