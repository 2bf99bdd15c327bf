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


def other_versions():
    """Returns the characters that Hugging Face's tables have otherwise than Unicode 14, and those that have no entry there."""
    import unicodedata
    from tokenizers import normalizers, pre_tokenizers
    forms = {"NFKD": normalizers.NFKD(), "NFKC": normalizers.NFKC(), "NFC": normalizers.NFC(), "NFD": normalizers.NFD()}
    marks, clean = normalizers.StripAccents(), normalizers.BertNormalizer(lowercase=False, strip_accents=True, handle_chinese_chars=False)
    punctuation = pre_tokenizers.Punctuation()
    out = set()
    for code in range(0x80, 0x110000):
        if 0xD800 <= code < 0xE000: continue
        c = chr(code)
        category = unicodedata.category(c)
        if category == "Cn":
            out.add(c)
            continue
        same = all(f.normalize_str(c) == unicodedata.normalize(name, c) for name, f in forms.items())
        same &= (marks.normalize_str(c) == "") == (category[0] == "M")
        same &= (clean.normalize_str(c) == "") == (category in ("Cc", "Cf", "Co", "Mn") and not c.isspace() or c == "\ufffd")
        same &= (len(punctuation.pre_tokenize_str("a" + c)) == 2) == (category[0] == "P")
        if not same: out.add(c)
    return out


def ours(program, path, cases):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as f:
        f.writelines(json.dumps(c) + "\n" for c in cases)
        f.flush()
        out = subprocess.run([program, "encode", path, f.name], capture_output=True, check=True).stdout.decode().split("\n")
    return [json.loads(line) for line in out[:-1]]


def differences(ours, case, reference):
    try:
        theirs = reference(case)
    except Exception as e:  # the reference throws what it will
        theirs = {"raised": str(e)}
    bad = [k for k in theirs if ours.get(k) != theirs[k]]
    return bad or (["streamed"] if ours["streamed"] != ours["all"] else []), theirs


def main():
    program, count, seed, paths = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    failed, newer = False, other_versions()
    print(len(newer), "characters are unassigned in Unicode 14, or other in Hugging Face's tables")
    for path in paths:
        reference, special, pairs = (sentence_piece if path.endswith(".model") else hugging_face)(path)
        r = random.Random(seed)
        cases = [[string(r, special), string(r, special)] if pairs and r.random() < 0.1 else string(r, special) for _ in range(count)]
        wrong, shown, versions = {}, 0, 0
        for case, result in zip(cases, ours(program, path, cases)):
            bad, theirs = differences(result, case, reference)
            if not bad: continue
            known = ["".join(c for c in x if c not in newer) for x in (case if isinstance(case, list) else [case])]
            known = known if isinstance(case, list) else known[0]
            if known != case and not differences(ours(program, path, [known])[0], known, reference)[0]:
                versions += 1
                continue
            for k in bad: wrong[k] = wrong.get(k, 0) + 1
            wrong["strings"] = wrong.get("strings", 0) + 1
            if shown < 4:
                shown += 1
                k = bad[0]
                print("   ", json.dumps(case), "\n      ", k, "\n       lazy  ", result.get(k), result.get("error", ""), "\n       theirs", theirs.get(k, theirs))
        wrong = wrong or "all equal" + (f" but {versions} with characters of other versions of Unicode" if versions else "")
        failed |= isinstance(wrong, dict)
        print(pathlib.Path(path).name, f"{count} strings, seed {seed}:", wrong, flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
