"""The woven copy of the sources: written, built, and rid of mutants that do not compile."""

import os
import re
import shutil
import subprocess
import sys

from mutation.source import Source

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PROGRAMS = ["test_differential", "test_jit", "test_lazy", "test_cache", "test_reference", "test_support", "store/test_store", "test_cpu"]
WOVEN_FLAGS = """
# Woven sources have parentheses that warnings are about, and mutants that read beyond the end of a vector.
set_source_files_properties(%s PROPERTIES COMPILE_OPTIONS "-w;-D_GLIBCXX_ASSERTIONS")
"""


def tracked():
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    return [f for f in listed.split("\0") if f and os.path.isfile(os.path.join(ROOT, f))]


def write(path, text):
    """Only what changed is written, so that only that is built again."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        with open(path, encoding="utf-8") as f:
            if f.read() == text:
                return
    except OSError:
        pass
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


class Copy:
    """DIR/src is the copy, and DIR/src/build/release its build folder: as deep as one of the checkout, for ccache's sake."""

    def __init__(self, directory, files):
        self.directory = directory
        self.source = os.path.join(directory, "src")
        self.build = os.path.join(self.source, "build", "release")
        self.rejected_path = os.path.join(directory, "rejected")
        self.sources = {}
        for f in files:
            with open(os.path.join(ROOT, f), encoding="utf-8") as text:
                self.sources[f] = Source(f, text.read())
        rejected = set()
        if os.path.exists(self.rejected_path):
            with open(self.rejected_path, encoding="utf-8") as text:
                rejected = set(text.read().splitlines())
        self.mutants, number = [], 1
        for s in self.sources.values():
            for m in s.find():
                m.id, number = number, number + 1
                m.live = m.key not in rejected
                self.mutants.append(m)
        self.count = number

    def write(self):
        names = set(tracked())
        for f in names:
            if f in self.sources or f in ("CMakeLists.txt", "tests/common/main.cpp"):
                continue
            there, here = os.path.join(self.source, f), os.path.join(ROOT, f)
            if not os.path.exists(there) or open(there, "rb").read() != open(here, "rb").read():
                os.makedirs(os.path.dirname(there), exist_ok=True)
                shutil.copyfile(here, there)
        for folder, folders, files in os.walk(self.source):  # what is gone from the checkout
            if os.path.relpath(folder, self.source) == ".":
                folders[:] = [d for d in folders if d != "build"]
            for f in files:
                path = os.path.relpath(os.path.join(folder, f), self.source)
                if path not in names and not path.startswith("support/mutation_"):
                    os.remove(os.path.join(folder, f))
        for own, name in (("switch.hpp", "support/mutation_switch.hpp"), ("switch.cpp", "support/mutation_switch.cpp"),
                          ("observer.hpp", "tests/mutation_observer.hpp")):
            write(os.path.join(self.source, name), open(os.path.join(HERE, own), encoding="utf-8").read())
        for name, more in (("tests/common/main.cpp", '#include "tests/mutation_observer.hpp"\n'),
                           ("CMakeLists.txt", WOVEN_FLAGS % " ".join(f for f in self.sources if f.endswith(".cpp")))):
            write(os.path.join(self.source, name), open(os.path.join(ROOT, name), encoding="utf-8").read() + more)
        self.weave()

    def weave(self):
        for f, s in self.sources.items():
            system = "#pragma GCC system_header\n" if f.endswith(".hpp") else ""
            start = '#include "support/mutation_switch.hpp"\n#line 1\n'
            write(os.path.join(self.source, f), system + start + s.woven())

    def make(self, jobs):
        """Builds, dropping mutants on lines that do not compile; first those that need an order."""
        if not os.path.exists(os.path.join(self.build, "build.ninja")):
            subprocess.run(["cmake", "-S", self.source, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                            "-DLAZY_BUILD_DEMOS=OFF", "-DLAZY_BUILD_BENCH=OFF"], check=True, stdout=subprocess.DEVNULL)
        while True:
            made = subprocess.run(["ninja", "-C", self.build, "-k", "0", f"-j{jobs}", *map(os.path.basename, PROGRAMS)],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if made.returncode == 0:
                return
            dropped = self._drop(made.stdout)
            print(f"tools/mutate: {dropped} mutants do not compile", file=sys.stderr)
            if not dropped:
                sys.exit("tools/mutate: the copy does not build:\n" + made.stdout[-6000:])
            with open(self.rejected_path, "w", encoding="utf-8") as f:
                f.write("".join(m.key + "\n" for m in self.mutants if not m.live))
            self.weave()

    def _drop(self, said):
        # A template's error is on its own line; the instantiating code is on those before it.
        places = set()
        for line in said.splitlines():
            m = re.match(r"(?:In file included from )?(\S+?):(\d+)(?::\d+)?: *(error|   required|  required|note)", line)
            if m:
                path = os.path.normpath(os.path.join(self.build, m[1]))
                places.add((os.path.relpath(path, self.source), int(m[2])))
        on_them = [m for f, s in self.sources.items() for w in s.wraps
                   if any((f, line) in places for line in range(s.line_of(w.start), s.line_of(w.end) + 1))
                   for m in w.mutants if m.live]
        chosen = [m for m in on_them if m.ordered] or on_them
        for m in chosen:
            m.live = False
        return len(chosen)
