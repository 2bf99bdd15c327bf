"""Compares lazy-run with onnxruntime on models in the ONNX format: values, times, memory.

    python3 tools/real_models/real_models.py MODELS WORK [--lazy-run PROGRAM] [--threads 1 2] [--only TEXT] [--values]
    python3 tools/real_models/real_models.py --saved FOLDER     # what save_models wrote, by onnxruntime

MODELS is a folder in which all *.onnx are run; WORK gets inputs, expected outputs and results.json. Needs numpy and onnxruntime.
Times are medians of calls in processes that take turns, three of each; peaks are of these processes.
"""
import argparse
import fnmatch
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

import numpy as np

# Extents of dynamic dimensions by name of the file and input; a model without a row has 1 for each.
CASES = {
    "silero_vad_16k_sequence": [{"input": (n, 576)} for n in (1, 31, 128)],
    "silero_vad_op18_ifless": [{"input": (b, 576), "state": (2, b, 128), "sr": 16000} for b in (1, 4)]
    + [{"input": (1, 288), "state": (2, 1, 128), "sr": 8000}],
    "silero_vad_openvino*": [{}],
    "silero_vad_half": [{"input": (b, 576), "state": (2, b, 128)} for b in (1, 4)],
    "silero_vad*": [{"input": (b, 576), "state": (2, b, 128), "sr": 16000} for b in (1, 4)],
    "*_det_*": [{"x": (1, 3, h, w)} for h, w in ((320, 320), (640, 480), (736, 736))],
    "*_rec_*": [{"x": (b, 3, 48, w)} for b, w in ((1, 320), (6, 320), (1, 648))],
    "*_cls_*": [{"x": (b, 3, 48, 192)} for b in (1, 6)],
    "model": [{"bytes": (b, 2048)} for b in (1, 8)],
}


def cases_of(path):
    for pattern, cases in CASES.items():
        if fnmatch.fnmatch(path.stem, pattern):
            return cases
    return [{}]


def session_of(path, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def make_inputs(session, case):
    random = np.random.default_rng(7)
    made = {}
    for i in session.get_inputs():
        said = case.get(i.name)
        if isinstance(said, int):
            made[i.name] = np.array(said, dtype=np.int64)
            continue
        shape = said or tuple(n if isinstance(n, int) and n > 0 else 1 for n in i.shape)
        if "int" in i.type:
            made[i.name] = random.integers(0, 256, shape).astype(np.int32 if "int32" in i.type else np.int64)
        elif i.name in ("h", "c", "state"):
            made[i.name] = (0.1 * random.standard_normal(shape)).astype(np.float32)
        else:
            made[i.name] = random.uniform(-1, 1, shape).astype(np.float32)
    return made


def peak_memory():
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    return 0


def onnxruntime_process(path, inputs, threads, seconds):
    """Measures calls of onnxruntime in this process and prints them as JSON."""
    import onnxruntime  # noqa: F401  (imports are not what is measured)

    given = dict(np.load(inputs))
    begin = time.perf_counter()
    session = session_of(path, threads)
    session.run(None, given)
    first = time.perf_counter() - begin
    for _ in range(2):
        session.run(None, given)
    times = []
    begin = time.perf_counter()
    while len(times) < 10 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        session.run(None, given)
        times.append(time.perf_counter() - start)
    print(json.dumps({"median_ms": 1e3 * statistics.median(times), "first_ms": 1e3 * first, "peak": peak_memory()}))


def started(program, arguments, cache, cold):
    """Returns the time in ms from the start of a process to its end behind the first output."""
    if cold:
        shutil.rmtree(cache, ignore_errors=True)
    begin = time.perf_counter()
    subprocess.run([program, *arguments], check=True, stdout=subprocess.DEVNULL, env={**os.environ, "LAZY_CACHE_DIR": str(cache)})
    return 1e3 * (time.perf_counter() - begin)


def measure(o, path, inputs, threads, cache):
    mine, theirs = [], []
    for _ in range(o.rounds):
        theirs.append(json.loads(subprocess.run([sys.executable, __file__, "--onnxruntime", str(path), str(inputs), str(threads)],
                                                check=True, capture_output=True, text=True).stdout))
        text = subprocess.run([o.lazy_run, str(path), "--input", str(inputs), "--bench", "--threads", str(threads), "--json", "-"],
                              check=True, capture_output=True, text=True, env={**os.environ, "LAZY_CACHE_DIR": str(cache)}).stdout
        mine.append(json.loads(text)["bench"])
    lazy = statistics.median(m["latency_ms"]["p50"] for m in mine)
    other = statistics.median(t["median_ms"] for t in theirs)
    return {"threads": threads, "lazy_ms": lazy, "onnxruntime_ms": other, "ratio": other / lazy, "session": mine[0]["session"],
            "kernels": mine[0]["kernels_per_call"], "load_ms": mine[-1]["load_ms"],
            "lazy_peak": max(m["peak_memory_bytes"] for m in mine), "onnxruntime_peak": max(t["peak"] for t in theirs),
            "onnxruntime_first_ms": statistics.median(t["first_ms"] for t in theirs)}


def run_case(o, path, number, case):
    session = session_of(path, 1)
    inputs = make_inputs(session, case)
    names = [v.name for v in session.get_outputs()]
    expected = dict(zip(names, session.run(names, inputs)))
    shapes = " ".join("x".join(map(str, v.shape)) or str(v) for v in inputs.values())
    given, wanted = o.work / f"{path.stem}_{number}_inputs.npz", o.work / f"{path.stem}_{number}_expected.npz"
    np.savez(given, **inputs)
    np.savez(wanted, **expected)
    cache = o.work / "cache"
    arguments = [str(path), "--input", str(given), "--check", str(wanted), "--rtol", "1e-4", "--atol", "1e-4"]
    checked = subprocess.run([o.lazy_run, *arguments, "--json", "-"], capture_output=True, text=True)
    result = {"model": path.name, "shapes": shapes}
    if checked.returncode > 1:
        print(f"{path.name} {shapes}: FAILED: {checked.stderr.strip()[:500]}")
        return {**result, "error": checked.stderr}
    checks = json.loads(checked.stdout)["checks"]
    result["holds"] = all(c["holds"] for c in checks)
    result["largest_difference"] = max((c.get("largest_difference", "nan") for c in checks), key=float)
    line = f"{path.name} {shapes}: {'holds' if result['holds'] else 'DIFFERS ' + json.dumps(checks)[:400]}, by {float(result['largest_difference']):.1e}"
    if o.values:
        print(line, flush=True)
        return result
    result["cold_ms"], result["warm_ms"] = (started(o.lazy_run, arguments[:3] + ["--threads", "1"], cache, cold) for cold in (True, False))
    result["times"] = [measure(o, path, given, threads, cache) for threads in o.threads]
    for t in result["times"]:
        line += f"; {t['threads']} thr: {t['lazy_ms']:.3f} ms, ort {t['onnxruntime_ms']:.3f}, {t['ratio']:.2f}x"
    t = result["times"][0]
    line += (f"; first {result['cold_ms']:.0f}/{result['warm_ms']:.0f} ms cold/warm, ort {t['onnxruntime_first_ms']:.0f}"
             f"; peak {t['lazy_peak'] / 2**20:.0f} MiB, ort {t['onnxruntime_peak'] / 2**20:.0f}"
             f"; {'session' if t['session'] is True else 'NO SESSION'}")
    print(line, flush=True)
    return result


def compare_saved(folder):
    """Runs what save_models wrote by onnxruntime; returns the number of models whose results differ."""
    wrong = 0
    for path in sorted(folder.glob("*.onnx")):
        expected = dict(np.load(path.with_name(path.stem + "_expected.npz")))
        try:
            found = session_of(path, 1).run(list(expected), dict(np.load(path.with_name(path.stem + "_inputs.npz"))))
        except Exception as e:  # noqa: BLE001  (what onnxruntime throws has no common base)
            print(f"{path.name}: FAILED: {str(e)[:400]}")
            wrong += 1
            continue
        worst = max(float(np.max(np.abs(f - e) / (1e-3 + np.abs(e).max()))) for f, e in zip(found, expected.values()))
        wrong += not worst < 1e-4
        print(f"{path.name}: {'holds' if worst < 1e-4 else 'DIFFERS'}, by {worst:.1e} of the largest element")
    return wrong


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--saved":
        return 1 if compare_saved(pathlib.Path(sys.argv[2])) else 0
    if len(sys.argv) == 5 and sys.argv[1] == "--onnxruntime":
        return onnxruntime_process(sys.argv[2], sys.argv[3], int(sys.argv[4]), 1.0)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--lazy-run", default="build/release/tools/lazy-run")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="models whose path has this text")
    parser.add_argument("--values", action="store_true", help="compare values alone")
    o = parser.parse_args()
    o.lazy_run = os.path.abspath(o.lazy_run)
    o.work.mkdir(parents=True, exist_ok=True)
    results = []
    for path in sorted(o.models.rglob("*.onnx")):
        if o.only in str(path):
            results += [run_case(o, path, i, case) for i, case in enumerate(cases_of(path))]
    (o.work / "results.json").write_text(json.dumps(results, indent=1))
    return 0 if results and all(r.get("holds") for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
