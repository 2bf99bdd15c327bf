#!/usr/bin/env python3
"""Tests what bench/compare reads and how it judges: figures that are written here, no measuring.

  comparison.py SOURCE_FOLDER [BENCH_REFERENCE]
"""

import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.abspath(sys.argv[1])
REFERENCE = sys.argv[2] if len(sys.argv) > 2 else None
sys.path.insert(0, os.path.join(ROOT, "bench"))
from measuring import against, drawn, figures, limits, sides, tables  # noqa: E402

HEADER = "peer,workload,size,threads,median_us"
FULL = HEADER + ",spread_pct,clock_ghz,fma_gflops,triad_l1_gbs,triad_l2_gbs,triad_l3_gbs,triad_memory_gbs,max_ulp"


def written(text):
    with tempfile.NamedTemporaryFile("w", suffix=".csv", delete=False) as f:
        f.write(text)
    return f.name


def row(us, spread=1.0, clock=4.0, memory=20.0, workload="softmax", size="4096x1024", peer="lazy", ulp=2.0):
    return f"{peer},{workload},{size},1,{us},{spread},{clock},200,300,100,40,{memory},{ulp}\n"


def figure(**values):
    us = values.pop("us")
    return next(iter(figures.parse(FULL + "\n" + row(us, **values), "here.csv").values()))


class Files(unittest.TestCase):
    def refused(self, text, *parts):
        with self.assertRaises(figures.BadFile) as thrown:
            figures.parse(text, "f.csv")
        for part in parts:
            self.assertIn(part, str(thrown.exception))

    def test_names_file_and_line_of_what_is_wrong(self):
        self.refused("", "f.csv:1", "empty")
        self.refused(HEADER + ",colour\nlazy,a,1,1,2,red\n", "f.csv:1", "'colour'")
        self.refused("peer,workload,size,threads\n", "f.csv:1", "'median_us'")
        self.refused(HEADER + ",peer\n", "f.csv:1", "twice")
        self.refused(HEADER + "\n", "no rows")
        self.refused(HEADER + "\nlazy,a,1,1,2\nlazy,a,1,1\n", "f.csv:3", "4 fields", "5 columns")
        self.refused(HEADER + "\nlazy,a,1,one,2\n", "f.csv:2", "threads", "'one'")
        self.refused(HEADER + "\n\nlazy,a,1,1,fast\n", "f.csv:3", "median_us", "'fast'")
        for no_time in ("0", "-1", "nan", "inf", ""):
            self.refused(f"{HEADER}\nlazy,a,1,1,{no_time}\n", "f.csv:2", "no time")
        self.refused(HEADER + ",max_ulp\nlazy,a,1,1,2,x\n", "f.csv:2", "max_ulp")

    def test_reads_what_is_not_there_or_no_text(self):
        with self.assertRaises(figures.BadFile) as thrown:
            figures.read("/nowhere/x.csv")
        self.assertIn("/nowhere/x.csv", str(thrown.exception))
        with tempfile.NamedTemporaryFile(suffix=".csv") as f:
            f.write(b"\xff\xfe\x00")
            f.flush()
            with self.assertRaises(figures.BadFile):
                figures.read(f.name)

    def test_columns_in_any_order_and_unknown_values(self):
        f = figures.parse("median_us,threads,size,workload,peer,max_ulp\n3.5,2,16,a,lazy,\n", "f.csv")["lazy", "a", "16", 2]
        self.assertEqual(f.median_us, 3.5)
        self.assertTrue(math.isnan(f["max_ulp"]) and math.isnan(f["spread_pct"]))
        self.assertEqual(f.place, "f.csv:2")

    def test_repeated_rows_are_rounds(self):
        f = figures.parse(HEADER + "\nlazy,a,1,1,10\nlazy,a,1,1,12\nlazy,a,1,1,11\n", "f.csv")["lazy", "a", "1", 1]
        self.assertEqual(f.median_us, 11)
        self.assertAlmostEqual(f["spread_pct"], 100 / 11)
        self.assertEqual(f["rounds"], 3)

    def test_further_files_complete_rows_and_columns(self):
        found = figures.parse(HEADER + "\nlazy,a,1,1,10\n", "f.csv")
        figures.complete(found, figures.parse(HEADER + ",max_ulp\nlazy,a,1,1,99,3\ntorch,a,1,1,20,4\n", "g.csv"))
        self.assertEqual((found["lazy", "a", "1", 1].median_us, found["lazy", "a", "1", 1]["max_ulp"]), (10, 3))
        self.assertEqual(found["torch", "a", "1", 1].median_us, 20)

    def test_what_is_written_is_read(self):
        seed = random.randrange(1 << 30)
        r = random.Random(seed)
        for _ in range(50):
            values = {name: r.choice([math.nan, r.uniform(0.01, 1000)]) for name in figures.NUMBERS}
            f = figures.Figure("lazy", "work", f"{r.randrange(9)}x2", r.randrange(1, 65), r.uniform(0.01, 1e6), values, "a; b")
            back = next(iter(figures.parse(figures.header() + "\n" + figures.line_of(f) + "\n", "f.csv").values()))
            self.assertEqual((back.key, back.runs_on), (f.key, f.runs_on), f"seed {seed}")
            for name in ("median_us", *figures.NUMBERS):
                if math.isnan(f[name]):
                    self.assertTrue(math.isnan(back[name]), f"seed {seed}: {name}")
                else:
                    self.assertLess(abs(back[name] / f[name] - 1), 1e-3, f"seed {seed}: {name}")


class Verdicts(unittest.TestCase):
    def test_a_difference_beyond_the_spread_counts(self):
        self.assertEqual(against.judge(figure(us=20000), figure(us=10000)).word, "faster")
        self.assertEqual(against.judge(figure(us=10000), figure(us=11000)).word, "slower")
        self.assertEqual(against.judge(figure(us=10000), figure(us=11000, spread=12)).word, "=")
        self.assertEqual(against.judge(figure(us=10000, spread=12), figure(us=11000)).word, "=")
        self.assertEqual(against.judge(figure(us=10000, spread=0), figure(us=10050, spread=0)).word, "=")  # 1% is never sure

    def test_a_slower_clock_is_noise(self):
        work = {"workload": "matmul", "size": "1024"}
        self.assertEqual(against.judge(figure(us=1e5, **work), figure(us=1.08e5, **work)).word, "slower")
        self.assertEqual(against.judge(figure(us=1e5, clock=4.0, **work), figure(us=1.08e5, clock=3.6, **work)).word, "=")

    def test_unknown_spread_is_not_none(self):
        old, new = ("f.csv", f"{HEADER}\nlazy,a,1,1,100\n"), ("g.csv", f"{HEADER}\nlazy,a,1,1,104\n")
        one = [next(iter(figures.parse(text, path).values())) for path, text in (old, new)]
        self.assertEqual(against.judge(*one).word, "=")

    def test_rows_bounded_by_memory_are_scaled_by_their_minute(self):
        # 33.6 MB at 20 GB/s are 1678 us: 1700 us are bounded by memory, 17,000 us are not.
        same = against.judge(figure(us=1700, memory=20), figure(us=2125, memory=16))
        self.assertEqual((same.by, same.word), ("triad_memory_gbs", "="))
        self.assertAlmostEqual(same.scaled, 1.0)
        self.assertAlmostEqual(same.ratio, 0.8)
        hidden = against.judge(figure(us=1700, memory=20), figure(us=1700, memory=25))
        self.assertEqual(hidden.word, "slower")  # as fast, where memory was faster
        slow = against.judge(figure(us=17000, memory=20), figure(us=21250, memory=16))
        self.assertEqual((slow.by, slow.word), ("", "slower"))

    def test_products_are_bounded_by_arithmetic(self):
        self.assertIsNone(limits.bound_by_memory(figure(us=11000, workload="matmul", size="1024")))
        self.assertEqual(limits.bound_by_memory(figure(us=3300, workload="matvec", size="4096")), "triad_memory_gbs")
        self.assertIsNone(limits.shortest(figure(us=1, workload="nothing_known", size="7")))


class Command(unittest.TestCase):
    def run_compare(self, *arguments):
        return subprocess.run([sys.executable, os.path.join(ROOT, "bench", "compare"), *arguments], capture_output=True, text=True)

    def versions(self, old, new, *more):
        paths = written(FULL + "\n" + old), written(FULL + "\n" + new)
        try:
            return self.run_compare("--against", *paths, *more)
        finally:
            for p in paths:
                os.unlink(p)

    def test_exit_status(self):
        self.assertEqual(self.versions(row(17000), row(18000)).returncode, 0)
        bad = self.versions(row(17000), row(18000), "--fail-above", "3")
        self.assertEqual(bad.returncode, 1)
        self.assertIn("5.9% slower", bad.stdout)
        self.assertEqual(self.versions(row(17000), row(18000), "--fail-above", "7").returncode, 0)
        self.assertEqual(self.versions(row(17000), row(18000, spread=9), "--fail-above", "3").returncode, 0)
        # A peer that got slower is not the library's doing.
        old, new = row(17000) + row(900, peer="torch"), row(17000) + row(1900, peer="torch")
        self.assertEqual(self.versions(old, new, "--fail-above", "3").returncode, 0)

    def test_a_row_that_disappeared_is_told_and_fails(self):
        lost = self.versions(row(17000) + row(5, size="8x8"), row(17000), "--fail-above", "3")
        self.assertEqual(lost.returncode, 1)
        self.assertRegex(lost.stderr, r"\.csv:3: lazy softmax 8x8, 1 thread is not in the new figures")

    def test_before_and_after_in_one_run(self):
        path = written(FULL + "\n" + row(17000) + row(16000, peer="before") + row(1, peer="hand"))
        try:
            slower = self.run_compare("--before", "before", "--fail-above", "3", path)
            self.assertEqual(slower.returncode, 1)
            self.assertIn("softmax 4096x1024, 1 thread: 1.6e+04 -> 1.7e+04 us, 6.2% slower", slower.stdout)
            self.assertEqual(self.run_compare("--before", "nobody", path).returncode, 2)
        finally:
            os.unlink(path)

    def test_a_bad_file_ends_with_its_line(self):
        bad = self.versions(row(17000), "lazy,softmax\n")
        self.assertEqual(bad.returncode, 2)
        self.assertRegex(bad.stderr, r"bench/compare: .*\.csv:2: 2 fields")
        self.assertNotIn("Traceback", bad.stderr)
        both = self.run_compare("--against", "/nowhere/a.csv", "/nowhere/b.csv")
        self.assertEqual((both.returncode, both.stderr.count("\n")), (2, 1))

    def test_peers_beside_the_library(self):
        path = written(FULL + "\n" + row(1000) + row(500, peer="hand", ulp=50) + row(800, peer="torch") + row(700, peer="lazy_fast"))
        try:
            out = self.run_compare("--from-files", path).stdout
            self.assertIn("500 (0.50)~", out)  # too far off to count
            self.assertIn("geometric mean over the best peer of each row: 0.80", out)
            self.assertIn("| softmax | 4096x1024 | 1000 | 800 | torch | 0.80 |", self.run_compare("--from-files", "--ordered", path).stdout)
        finally:
            os.unlink(path)


class Sides(unittest.TestCase):
    """Talks with a side that is a few lines of Python."""

    def side(self, answers):
        program = ("import sys\nanswers = " + repr(answers) + "\nfor line in sys.stdin:\n"
                   "    a = answers.get(line.split()[0], 'error,what')\n    if a is None: sys.exit(3)\n    print(a + '\\ndone', flush=True)\n")
        return sides.Side("other", [sys.executable, "-c", program], 1)

    def test_questions(self):
        s = self.side({"list": "row,a,1\nrow,b,2x3,fresh", "about": "about,one; two", "time": "time,12.5,kernel"})
        self.assertEqual(s.rows(), {"a/1": False, "b/2x3": True})
        self.assertEqual(s.about(), "one; two")
        self.assertEqual(s.time("a/1", 0.1, False), (12.5, "kernel"))
        self.assertEqual(s.time("b/2x3", 0.1, True), (12.5, "kernel"))
        with self.assertRaises(sides.Failed):
            s.ask("else")
        s.end()

    def test_a_side_that_ends_fails_in_that_row_only(self):
        s = self.side({"time": None, "list": "row,a,1"})
        with self.assertRaises(sides.Failed):
            s.time("a/1", 0.1, False)
        self.assertEqual(s.rows(), {"a/1": False})
        s.end()


@unittest.skipUnless(REFERENCE, "no bench_reference was named")
class Errors(unittest.TestCase):
    """Checks bench_reference against values that are known."""

    def errors(self, row_name, arrays):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "arrays"), "w") as f:
                for name, (dtype, shape, values) in arrays.items():
                    wide = dtype in ("float64", "int32", "int64")
                    f.write(f"{name} {dtype} {'double' if wide else 'float'} {' '.join(map(str, shape))}\n")
                    with open(os.path.join(folder, name), "wb") as data:
                        data.write(struct.pack(f"{len(values)}{'d' if wide else 'f'}", *values))
            ended = subprocess.run([REFERENCE, row_name, folder], capture_output=True, text=True)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        kind, *numbers = ended.stdout.strip().split(",")
        return tuple(map(float, numbers)) if kind == "error" else None

    def test_exact_results_have_no_error(self):
        self.assertEqual(self.errors("matmul/2", {"in0": ("float32", (2, 2), (1, 2, 3, 4)), "in1": ("float32", (2, 2), (5, 6, 7, 8)),
                                                  "out0": ("float32", (2, 2), (19, 22, 43, 50))}), (0, 0))
        self.assertEqual(self.errors("linear_fp32/1x2x2", {"in0": ("float32", (1, 2), (1, 2)), "in1": ("float32", (2, 2), (1, 0, 3, 4)),
                                                           "in2": ("float32", (2,), (10, 20)), "out0": ("float32", (1, 2), (11, 31))}), (0, 0))
        self.assertEqual(self.errors("sum_int8/2x3", {"in0": ("int8", (2, 3), (1, 2, 3, -4, 5, 6)), "out0": ("int64", (2,), (6, 7))}), (0, 0))

    def test_one_unit_in_the_last_place(self):
        for dtype, unit in (("float32", 2.0**-23), ("bfloat16", 2.0**-7), ("float16", 2.0**-10), ("float64", 2.0**-52)):
            ulp, absolute = self.errors("max/1x2", {"in0": (dtype, (1, 2), (0.5, 1.0)), "out0": (dtype, (1,), (1.0 + unit,))})
            self.assertEqual(ulp, 1.0)
            self.assertAlmostEqual(absolute / unit, 1, places=3)

    def test_a_drawn_chain(self):
        inputs = {f"in{i}": ("float32", (2,), values) for i, values in enumerate(((1, 2), (3, -4), (2, 0.5), (0.25, 1)))}
        plain = {**inputs, "out0": ("float32", (2,), ((1 + 3) * 2 - 0.25, (2 - 4) * 0.5 - 1))}
        self.assertEqual(self.errors("chain/ab+c*d-x2", plain), (0, 0))
        unary = [math.sqrt(3) + math.exp(-2) - 1 / (1 + math.exp(-0.25)), math.sqrt(4) + math.exp(-0.5) - 1 / (1 + math.exp(-1))]
        ulp, absolute = self.errors("chain/bqce+ds-arar-+x2", {**inputs, "out0": ("float32", (2,), unary)})
        self.assertLess(absolute, 1e-6)

    def test_a_nan_is_an_error(self):
        ulp, absolute = self.errors("max/1x2", {"in0": ("float32", (1, 2), (0.5, 1.0)), "out0": ("float32", (1,), (math.nan,))})
        self.assertTrue(math.isnan(ulp) and math.isnan(absolute))

    def test_rows_without_a_reference(self):
        self.assertIsNone(self.errors("sort/3", {"in0": ("float32", (3,), (1, 2, 3)), "out0": ("float32", (3,), (1, 2, 3))}))

    def test_a_wrong_index_and_a_short_result(self):
        wrong = self.errors("argmax/1x3", {"in0": ("float32", (1, 3), (1, 9, 3)), "out0": ("int64", (1,), (2,))})
        self.assertGreater(wrong[1], 0)
        with self.assertRaises(AssertionError):
            self.errors("softmax/1x3", {"in0": ("float32", (1, 3), (1, 9, 3)), "out0": ("float32", (1,), (2,))})


class Drawn(unittest.TestCase):
    def test_a_seed_gives_the_same_rows_in_every_process(self):
        program = f"import sys; sys.path.insert(0, {os.path.join(ROOT, 'bench')!r}); from measuring import drawn; print(*drawn.names('5:3'))"
        other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": "9"})
        self.assertEqual(other.stdout.split(), drawn.names("5:3"))
        self.assertNotEqual(drawn.names("5:3"), drawn.names("6:3"))
        self.assertEqual({name.split("/")[0] for name in drawn.names("5:1")}, set(drawn.KINDS))

    def test_chains_read_every_input_and_leave_one_value(self):
        seed = random.randrange(1 << 30)
        r = random.Random(seed)
        for _ in range(200):
            text, n = drawn.chain(r)
            depth = 0
            for c in text:
                depth += 1 if c in drawn.INPUTS else -1 if c in drawn.BINARY else 0
                self.assertGreater(depth, 0, f"seed {seed}: {text}")
            self.assertEqual(depth, 1, f"seed {seed}: {text}")
            self.assertLessEqual(set(drawn.INPUTS), set(text), f"seed {seed}: {text}")

    def test_products_of_any_extents_have_a_limit(self):
        self.assertEqual(limits.least("matmul", "2x3x5"), (4 * (6 + 15 + 10), 60))
        self.assertEqual(limits.least("matmul", "4"), limits.least("matmul", "4x4x4"))
        self.assertEqual(limits.least("batched_matmul", "7x4x4"), limits.least("batched_matmul", "7x4x4x4"))


class Arguments(unittest.TestCase):
    def test_best_peer_needs_to_decide_at_run_time_where_that_is_all_the_work(self):
        own, hand, torch = figure(us=1), figure(us=0.01, peer="hand"), figure(us=4, peer="torch")
        self.assertEqual(tables.best_peer({"lazy": own, "hand": hand, "torch": torch}).peer, "torch")
        own = figure(us=100)
        self.assertEqual(tables.best_peer({"lazy": own, "hand": hand, "torch": torch}).peer, "hand")
        self.assertIsNone(tables.best_peer({"lazy": own}))

    def test_impossible_arguments_end_with_a_sentence(self):
        for arguments in (["-f", "("], ["-r", "0"], ["-t", "0"], ["-t", "many"], ["--beside", "x"], ["--draw", "all"]):
            ended = subprocess.run([sys.executable, os.path.join(ROOT, "bench", "run"), *arguments], capture_output=True, text=True)
            self.assertNotEqual(ended.returncode, 0)
            self.assertNotIn("Traceback", ended.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
