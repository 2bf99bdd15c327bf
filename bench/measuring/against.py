"""What a change did: the figures of before beside those of after.

A ratio is old over new: above 1 the change made it faster. Rows bounded by memory are scaled by the triad of their own
minute. Beyond the noise is a difference larger than what both sides' rounds spread and what the clock drifted.
"""

import math
import statistics
from dataclasses import dataclass

from . import limits

UNKNOWN_SPREAD = 5.0  # %, where a file doesn't tell
LEAST_NOISE = 1.0  # %, of any two runs


@dataclass
class Verdict:
    old: object
    new: object
    ratio: float  # old over new, as measured
    scaled: float  # the same, were the memory of both minutes as fast
    by: str  # by which limit it was scaled, or ""
    noise: float  # %

    @property
    def change(self):
        """How much faster the new one is, in %; slower is negative."""
        return (self.scaled - 1) * 100 if self.scaled >= 1 else (1 - 1 / self.scaled) * 100

    @property
    def certain(self):
        return abs(self.change) > self.noise

    @property
    def word(self):
        return ("faster" if self.change > 0 else "slower") if self.certain else "="


def known(value, otherwise):
    return value if math.isfinite(value) else otherwise


def judge(old, new):
    """Returns the verdict on one row."""
    ratio = old.median_us / new.median_us
    names = limits.bound_by_memory(old), limits.bound_by_memory(new)
    by = names[0] if names[0] and names[0] == names[1] else ""
    # A memory that is slower in the new minute makes the new time look longer than the change did.
    scaled = ratio * old[by] / new[by] if by else ratio
    noise = math.hypot(known(old["spread_pct"], UNKNOWN_SPREAD), known(new["spread_pct"], UNKNOWN_SPREAD))
    if not by:
        noise += 100 * abs(known(new["clock_ghz"] / old["clock_ghz"], 1) - 1)
    return Verdict(old, new, ratio, scaled, by, max(noise, LEAST_NOISE))


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def ulps(v):
    a, b = v.old["max_ulp"], v.new["max_ulp"]
    if math.isnan(a) and math.isnan(b):
        return ""
    told = ["?" if math.isnan(x) else f"{x:.3g}" for x in (a, b)]
    return told[0] if told[0] == told[1] else " -> ".join(told)


def table(verdicts):
    lines = ["| row | old us | new us | old/new | noise | scaled | verdict | ulp |", "|---" * 8 + "|"]
    for v in sorted(verdicts, key=lambda v: v.scaled):
        scaled = f"{v.scaled:.3f} ({v.by.removesuffix('_gbs')} {v.new[v.by] / v.old[v.by]:.2f})" if v.by else ""
        peer = "" if v.new.peer == "lazy" else f"{v.new.peer}: "
        lines.append(f"| {peer}{v.old.name} | {v.old.median_us:.4g} | {v.new.median_us:.4g} | {v.ratio:.3f} | {v.noise:.1f}% | {scaled} | "
                     f"{v.word} | {ulps(v)} |")
    return lines


def drifts(old, new):
    told = [(name, limits.drift(old, new, name)) for name in limits.DRIFTS]
    told = [f"{name.split('_gbs')[0].split('_gflops')[0]} {100 * (r - 1):+.1f}%" for name, r in told if r is not None]
    return "Limits, new beside old: " + (", ".join(told) if told else "not in both files, so no drift is known") + "."


def summary(verdicts, others, slower, threshold):
    """Returns the lines below the table: means, rows that count, rows that don't."""
    lines = [f"{len(verdicts)} rows; geometric mean of old/new {mean([v.scaled for v in verdicts]):.3f}; "
             f"{sum(v.word == 'faster' for v in verdicts)} faster and {sum(v.word == 'slower' for v in verdicts)} slower beyond the noise."]
    if others:
        lines.append(f"Sides that the change did not touch: geometric mean {mean([v.ratio for v in others]):.3f} over {len(others)} rows.")
    lines.append(f"Slower by more than {threshold:g}%: {len(slower)}.")
    lines += [f"  {v.old.name}: {v.old.median_us:.4g} -> {v.new.median_us:.4g} us, {-v.change:.1f}% slower, noise {v.noise:.1f}%" for v in slower]
    unsure = [v for v in verdicts if not v.certain and -v.change > threshold]
    if unsure:
        lines.append(f"As much slower, but within the noise: {len(unsure)}. More rounds would tell.")
        lines += [f"  {v.old.name}: {-v.change:.1f}% slower, noise {v.noise:.1f}%" for v in unsure]
    return lines


def report(old, new, peers=("lazy",), threshold=3.0, wanted=lambda f: True):
    """Returns (lines to print, notes on rows that only one file has, rows that are slower by more than the threshold)."""
    notes, verdicts, others = [], [], []
    for key, f in old.items():
        if not wanted(f):
            continue
        mine = f.peer in peers
        if key in new:
            (verdicts if mine else others).append(judge(f, new[key]))
        elif mine:
            notes.append(f"{f.place}: {f.peer} {f.name} is not in the new figures")
    notes += [f"{f.place}: {f.peer} {f.name} is new" for key, f in new.items() if key not in old and f.peer in peers and wanted(f)]
    if not verdicts:
        return [f"No row of {', '.join(peers)} is in both."], notes, []
    slower = [v for v in verdicts if v.certain and -v.change > threshold]
    lines = table(verdicts) + ["", drifts(old, new)] + summary(verdicts, others, slower, threshold)
    return lines, notes, slower
