"""Compares lazy's tokenizers with Hugging Face's and SentencePiece's on random strings:

    compare.py PROGRAM STRINGS SEED TOKENIZER...

PROGRAM is tokenizer_cases, STRINGS how many, TOKENIZER a tokenizer.json or a .model. Compares ids, offsets, types, decoded text
(all at once and token by token). Differences that follow from other versions of Unicode's tables are counted apart: those
that vanish when characters that either side does not know are taken out.
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from strings import string


def byte_places(text):
    places = [0]
    for c in text:
        places.append(places[-1] + len(c.encode("utf-8")))
    return places


def hugging_face(path):
    from tokenizers import Tokenizer
    t = Tokenizer.from_file(path)
    t.no_padding()
    t.no_truncation()
    special = [a.content for a in t.get_added_tokens_decoder().values()][:200]

    def run(case):
        pair = isinstance(case, list)
        e = t.encode(*case) if pair else t.encode(case)
        places = [byte_places(x) for x in (case if pair else [case])]
        sequence = [e.sequence_ids[i] or 0 for i in range(len(e.ids))]
        offsets = [[places[s][a], places[s][b]] for s, (a, b) in zip(sequence, e.offsets)]
        return {"ids": e.ids, "offsets": offsets, "types": e.type_ids, "special": [bool(m) for m in e.special_tokens_mask],
                "text": t.decode(e.ids), "all": t.decode(e.ids, skip_special_tokens=False)}

    return run, special, True


def sentence_piece(path):
    import sentencepiece
    t = sentencepiece.SentencePieceProcessor(model_file=path)
    special = [t.id_to_piece(i) for i in range(10)]

    def run(case):
        ids = t.encode(case)
        return {"ids": ids, "text": t.decode(ids)}

    return run, special, False


def main():
    program, count, seed, paths = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    failed = False
    for path in paths:
        reference, special, pairs = (sentence_piece if path.endswith(".model") else hugging_face)(path)
        r = random.Random(seed)
        cases = [[string(r, special), string(r, special)] if pairs and r.random() < 0.1 else string(r, special) for _ in range(count)]
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as f:
            f.writelines(json.dumps(c) + "\n" for c in cases)
            f.flush()
            out = subprocess.run([program, "encode", path, f.name], capture_output=True, check=True).stdout.decode().split("\n")
        wrong, shown = {}, 0
        for case, line in zip(cases, out):
            ours, theirs = json.loads(line), None
            try:
                theirs = reference(case)
            except Exception as e:  # the reference throws what it will
                theirs = {"raised": str(e)}
            bad = [k for k in theirs if ours.get(k) != theirs[k]]
            if not bad and ours["streamed"] != ours["all"]: bad = ["streamed"]
            if bad:
                for k in bad: wrong[k] = wrong.get(k, 0) + 1
                wrong["strings"] = wrong.get("strings", 0) + 1
                if shown < 4:
                    shown += 1
                    k = bad[0]
                    print("   ", json.dumps(case), "\n      ", k, "\n       lazy  ", ours.get(k), ours.get("error", ""), "\n       theirs", theirs.get(k, theirs))
        print(pathlib.Path(path).name, f"{count} strings, seed {seed}:", wrong or "all equal", flush=True)
        failed |= bool(wrong)
    sys.exit(failed)


if __name__ == "__main__":
    main()
