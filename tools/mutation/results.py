"""Stores what is known of mutants: verdicts of earlier runs, and which change nothing."""

import hashlib
import json
import os
import re

from mutation.build import ROOT, tracked


def digest(paths):
    h = hashlib.sha256()
    for p in sorted(paths):
        with open(os.path.join(ROOT, p), "rb") as f:
            h.update(p.encode() + b"\0" + hashlib.sha256(f.read()).digest())
    return h.hexdigest()[:16]


class Results:
    """Holds a line for each verdict. That a mutant was killed holds while its file is the same; that it survived, while the tests are, too."""

    def __init__(self, path, fresh):
        self.path, self.found, self.digests = path, {}, {}
        self.tests = digest([f for f in tracked() if f.startswith("tests/")])
        if fresh and os.path.exists(path):
            os.remove(path)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                for line in f:
                    r = json.loads(line)
                    self.found[r["key"]] = r

    def _file(self, name):
        if name not in self.digests:
            self.digests[name] = digest([name])
        return self.digests[name]

    def of(self, m):
        r = self.found.get(m.key)
        if not r or r["file"] != self._file(m.file) or r["verdict"] == "survived" and r["tests"] != self.tests:
            return None
        return r

    def add(self, m, verdict, reached_by):
        r = {"key": m.key, "file": self._file(m.file), "tests": self.tests, "verdict": verdict, "reached_by": reached_by}
        self.found[m.key] = r
        with open(self.path, "a", encoding="utf-8") as f:
            f.write(json.dumps(r) + "\n")


class Equivalents:
    """Reads lines `FILE | condition | change`, in which * stands for any text, each followed by the reason, indented."""

    def __init__(self, path):
        self.reasons, key = {}, None
        with open(path, encoding="utf-8") as f:
            for line in f:
                if line.startswith("#") or not line.strip():
                    continue
                if line[0].isspace():
                    self.reasons[key] = (self.reasons[key] + " " + line.strip()).strip()
                else:
                    key = line.strip()
                    self.reasons[key] = ""
        for key, reason in self.reasons.items():
            if not reason:
                raise SystemExit(f"tools/mutate: {path} gives no reason for: {key}")
        self.patterns = [(re.compile(".*".join(map(re.escape, key.split("*"))) + r"( \| \d+)?" * ("*" in key)), reason)
                         for key, reason in self.reasons.items()]

    def reason(self, m):
        return next((reason for pattern, reason in self.patterns if pattern.fullmatch(m.key)), None)


def table(chosen, known, kept):
    survivors, killed, slow, equal = [], 0, 0, 0
    for m in chosen:
        r = kept.of(m)
        if known.reason(m) is not None:
            equal += 1
        elif r and r["verdict"] == "survived":
            survivors.append((m, r["reached_by"]))
        elif r:
            killed += 1
            slow += r["verdict"].endswith("takes too long")
    lines = ["| line | condition | survives as | tests that reach it |", "|---|---|---|---|"]
    for m, reached_by in survivors:
        text, change = (x.replace("|", "\\|") for x in (m.text, m.change))
        lines.append(f"| {m.file}:{m.line} | `{text}` | `{change}` | {reached_by} |")
    counted = killed + len(survivors)
    lines += ["", f"{killed} killed ({slow} of them by taking too long), {len(survivors)} survive, {equal} change nothing: "
              f"score {killed / counted:.1%}" if counted else "nothing ran"]
    return "\n".join(lines)
