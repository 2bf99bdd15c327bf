"""Runs the tests: finds which mutants each reaches, and if one that is on makes any fail."""

import itertools
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict

from mutation.build import PROGRAMS

SEED = "20261121"
MEMORY = 12 << 30  # bytes a run may have, for a mutant may ask for any number
LONG = 1  # seconds of a test that runs only where the others notice nothing
NEEDS_MORE = "!differential/elements_far_apart"  # mappings of many gigabytes, almost untouched


def environment(more, folder):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LAZY_", "MUTANT"))}
    # Programs on disk never pass from one mutant to another: each run has a separate folder.
    return {**kept, "TMPDIR": folder, "XDG_CACHE_HOME": folder, "LAZY_TEST_SEED": SEED, "LAZY_TEST_SHRINK": "0", "LAZY_TEST_KILLS": "30", **more}


def run(command, more, seconds, cpu_seconds):
    """Returns (exit status or a word, output). Everything that it started has ended afterwards."""
    def limits():
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))

    with tempfile.TemporaryDirectory(prefix="mutant-") as folder, tempfile.TemporaryFile("w+b") as said:
        p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, preexec_fn=limits, cwd=folder,
                             env=environment(more, folder))
        try:
            status = p.wait(seconds)
        except subprocess.TimeoutExpired:
            status = "time"
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        p.wait()
        said.seek(0, os.SEEK_END)
        said.seek(max(0, said.tell() - 20000))
        return status, said.read().decode(errors="replace")


class Test:
    def __init__(self, program, name, seconds, reached):
        self.program, self.name, self.seconds, self.reached = program, name, seconds, reached


def survey(copy, cases, slowest, path):
    """Runs every test once and notes in `path` what it reaches; reads that if the build is still the same."""
    stamp = " ".join(f"{os.path.getmtime(os.path.join(copy.build, 'tests', p)):.3f}" for p in PROGRAMS) + f" {cases}"
    if not os.path.exists(path) or open(path).readline().rstrip("\n") != stamp:
        with tempfile.NamedTemporaryFile() as marks, tempfile.NamedTemporaryFile("r") as reached:
            marks.truncate(copy.count)
            lines = []
            for p in PROGRAMS:
                reached.seek(0), os.truncate(reached.name, 0)
                status, said = run([os.path.join(copy.build, "tests", p), *([f"--run_test={NEEDS_MORE}"] if "differential" in p else [])],
                                   {"MUTANT_MARKS": marks.name, "MUTANT_REACHED": reached.name, "LAZY_TEST_CASES": str(cases)},
                                   3600, 3600)
                lines += [f"{p}\t{line}" for line in reached]
                if status not in (0, 201):
                    raise SystemExit(f"tools/mutate: {p} ends without a mutant ({status}):\n{said[-3000:]}")
        with open(path, "w") as f:
            f.write(stamp + "\n" + "".join(lines))
    tests = []
    with open(path) as f:
        next(f)
        for line in f:
            program, us, name, ids = line.rstrip("\n").split("\t")
            if int(us) < 0:
                print(f"tools/mutate: {program} {name} fails without a mutant: not used", file=sys.stderr)
            elif int(us) <= slowest * 1e6:
                tests.append(Test(program, name, int(us) * 1e-6, {int(i) for i in ids.split()}))
    return tests


def judge(copy, mutant, tests, cases):
    """"survived" or what noticed it, and how many tests could."""
    mine = [t for t in tests if mutant.id in t.reached]

    def rank(t):  # random graphs compare everything with everything: they come first, by themselves; what takes long, last
        return (t.seconds > LONG, not t.name.startswith("random_graphs/"), PROGRAMS.index(t.program))

    for (_, _, place), group in itertools.groupby(sorted(mine, key=rank), rank):
        group, program = list(group), PROGRAMS[place]
        usual = sum(t.seconds for t in group)
        command = [os.path.join(copy.build, "tests", program), "--run_test=" + ":".join(selectors(group)), "--detect_memory_leaks=0"]
        status, said = run(command, {"MUTANT": str(mutant.id), "LAZY_TEST_CASES": str(cases)},
                           120 + 20 * usual, int(20 + 6 * usual))
        if status == 0:
            continue
        lines = [line for line in said.splitlines() if line.startswith("mutation: ")]
        where = lines[-1].split(" ", 2)[2] if lines else "start"
        word = ("fails" if status in (99, 200, 201) else "takes too long" if status in ("time", -signal.SIGXCPU, -signal.SIGKILL)
                else f"ends with signal {-status}" if status < 0 else f"ends with status {status}")
        return f"{program} {where} {word}", len(mine)
    return "survived", len(mine)


def selectors(tests):
    """Returns Boost.Test's filter for exactly these: by suite, a list of cases."""
    by_suite = defaultdict(list)
    for t in tests:
        suite, _, case = t.name.rpartition("/")
        by_suite[suite].append(case)
    return [f"{suite}/{','.join(cases)}" if suite else ",".join(cases) for suite, cases in by_suite.items()]
