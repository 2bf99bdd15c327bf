"""The sides of a comparison: programs that answer questions about rows (serve.hpp says which), started when needed.

A side that is not asked is stopped (SIGSTOP), so that threads which spin for the next call take nothing from the others.
"""

import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ACCURACIES = ("full", "standard", "fast")
PYTHON = ("numpy", "torch", "torch_compile", "jax", "mlx", "onnxruntime")
PROGRAMS = ("eigen", "onednn", "openblas")
# Eigen's products take threads, its loops don't: it is measured with one.
ONE_THREAD = ("eigen",)


class Failed(Exception):
    """A side that can't do a row; the text says why."""


class Side:
    """Holds one program. Its name is the column `peer`."""

    def __init__(self, name, command, threads, environment=None):
        self.name, self.command, self.threads = name, command, threads
        self.environment = {**os.environ, "LAZY_CACHE": os.environ.get("LAZY_CACHE", "off"), "LAZY_NUM_THREADS": str(threads),
                            "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads), **(environment or {})}
        # Meant for other machines, or for other measurements.
        for variable in ("OPENBLAS_CORETYPE", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "DNNL_VERBOSE", "ONEDNN_VERBOSE"):
            self.environment.pop(variable, None)
        self.process = None

    def start(self):
        try:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.environment)
        except OSError as e:
            sys.exit(f"bench: {self.command[0]}: {e.strerror}")

    def ask(self, question):
        """Returns the fields of the answer's lines. Throws Failed where the side says so or ended."""
        if self.process is None:
            self.start()
        else:
            os.kill(self.process.pid, signal.SIGCONT)
        try:
            self.process.stdin.write(question + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        answer, error = [], None
        for line in self.process.stdout:
            line = line.rstrip("\n")
            if line == "done":
                os.kill(self.process.pid, signal.SIGSTOP)
                if error is not None:
                    raise Failed(error)
                return answer
            verb, _, rest = line.partition(",")
            if verb == "error":
                error = rest
            elif verb in ("row", "about", "time", "limit", "clock"):
                answer.append(line.split(",") if verb != "about" else ["about", rest])
        code = self.process.wait()
        self.close()
        raise Failed(f"ended with {code} at '{question}'")

    def end(self):
        if self.process is not None:
            os.kill(self.process.pid, signal.SIGCONT)
            self.process.stdin.close()
            self.process.wait()
            self.close()

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.stdout.close()
        self.process = None

    def rows(self):
        """Returns {"workload/size": True if it needs a process of its own}."""
        return {f"{a[1]}/{a[2]}": len(a) > 3 for a in self.ask("list") if a[0] == "row"}

    def about(self):
        return next((a[1] for a in self.ask("about") if a[0] == "about"), "")

    def time(self, row, seconds, fresh):
        """Returns (microseconds, what the row ran on)."""
        if fresh:
            self.end()
        answer = next((a for a in self.ask(f"time {row} {seconds}") if a[0] == "time"), None)
        if fresh:
            self.end()
        if answer is None:
            raise Failed("no time")
        return float(answer[1]), ",".join(answer[2:])


class Reference:
    """Compares what a side computed with the reference in double precision (bench_reference)."""

    def __init__(self, build):
        self.program = os.path.join(build, "bench", "bench_reference")

    def errors(self, side, row):
        """Returns (max_ulp, max_abs); NaN where there is no reference, or the side has no such row."""
        # In memory where that is possible: the arrays are large.
        folder = tempfile.mkdtemp(prefix="lazy-bench-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        try:
            side.ask(f"arrays {row} {folder}")
            if not os.path.exists(os.path.join(folder, "arrays")):
                return math.nan, math.nan
            ended = subprocess.run([self.program, row, folder], stdout=subprocess.PIPE, text=True)
            if ended.returncode:
                sys.exit(f"bench: {self.program} {row} failed with {ended.returncode} on what {side.name} computed")
            fields = ended.stdout.strip().split(",")
            return (float(fields[1]), float(fields[2])) if fields[0] == "error" else (math.nan, math.nan)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def installed(directory):
    """Returns the peers that are there: hand always, what bench/peers/setup built and installed."""
    python = os.path.join(directory, "bin", "python")
    found = ["hand"] + [p for p in PROGRAMS if os.path.exists(os.path.join(directory, p))]
    modules = ("numpy", "torch", "jax", "mlx", "onnxruntime")
    if os.path.exists(python):
        probe = f"import importlib.util as u; print(*[m for m in {modules} if u.find_spec(m)])"
        there = subprocess.run([python, "-c", probe], stdout=subprocess.PIPE, text=True).stdout.split()
        for module in there:
            found += ["torch", "torch_compile"] if module == "torch" else [module]
    return found


def make(name, threads, build, peers_dir, beside):
    """Returns the side of that name, or None where it can't run with so many threads."""
    program = os.path.join(build, "bench", "bench_lazy")
    if name in beside:
        return Side(name, [beside[name], "--serve"], threads)
    if name == "lazy":
        return Side(name, [program, "--serve"], threads)
    if name.startswith("lazy_") and name[5:] in ACCURACIES:
        return Side(name, [program, "--serve"], threads, {"LAZY_ACCURACY": name[5:]})
    if name == "hand":
        return Side(name, [os.path.join(build, "bench", "bench_hand_rows"), "--serve"], threads)
    if name in ONE_THREAD and threads != 1:
        return None
    if name in PROGRAMS:
        return Side(name, [os.path.join(peers_dir, name), "--serve"], threads)
    if name in PYTHON:
        script = os.path.join(HERE, "peers", "peer.py")
        return Side(name, [os.path.join(peers_dir, "bin", "python"), script, name, "-t", str(threads), "--serve"], threads)
    known = ["lazy", *("lazy_" + a for a in ACCURACIES), "hand", *PROGRAMS, *PYTHON]
    sys.exit(f"bench: no side '{name}': {' '.join(known)}")
