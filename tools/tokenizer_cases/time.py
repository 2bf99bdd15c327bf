"""Compares how fast tokenizers encode a text, line by line and as one, on one thread:

    time.py PROGRAM TEXT TOKENIZER...

The best of five rounds, in MB/s; the other libraries by their Python interfaces, many lines a call.
"""
import os
import pathlib
import subprocess
import sys
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"


def best(run, size, rounds=5):
    seconds = []
    for _ in range(rounds):
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return size / 1e6 / min(seconds)


def theirs(path, texts):
    size = sum(len(t.encode()) for t in texts)
    if path.endswith(".model"):
        import sentencepiece
        t = sentencepiece.SentencePieceProcessor(model_file=path)
        return best(lambda: t.encode(texts, num_threads=1), size)
    from tokenizers import Tokenizer
    t = Tokenizer.from_file(path)
    t.no_padding()
    return best(lambda: t.encode_batch(texts), size)


def ours(program, what, path, text):
    out = subprocess.run([program, what, path, text, "5"], capture_output=True, check=True, text=True).stdout
    return max(float(line.split()[0]) for line in out.split("\n")[:-1])


def main():
    program, text = sys.argv[1], sys.argv[2]
    whole = open(text, encoding="utf-8", newline="").read()
    lines = whole.split("\n")
    print(f"{'tokenizer':14} {'lines':>8} {'theirs':>8} {'ratio':>6} {'whole':>8} {'theirs':>8} {'ratio':>6}")
    for path in sys.argv[3:]:
        a, b = ours(program, "time", path, text), theirs(path, lines)
        c, d = ours(program, "whole", path, text), theirs(path, [whole])
        print(f"{pathlib.Path(path).stem:14} {a:8.2f} {b:8.2f} {a / b:6.2f} {c:8.2f} {d:8.2f} {c / d:6.2f}", flush=True)


if __name__ == "__main__":
    main()
