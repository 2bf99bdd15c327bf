"""Makes text/: small tokenizers of each type, and what Hugging Face's and SentencePiece's libraries make of some strings.

Needs the packages tokenizers (0.23) and sentencepiece (0.2).
"""
import json
import pathlib
import random
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "tokenizer_cases"))
import compare
import sentencepiece
import sentencepiece.sentencepiece_model_pb2 as pb
import train
from strings import string
from tokenizers import Regex, normalizers

OUT = ROOT / "tests" / "golden" / "text"
RULES = "FB01\t66 69\n2126\t3A9\n3000\t20\n9\t20\nA\t20\n200B\t20\n65 301\tE9\n2460\t31\n2057\t27 27\n"


def text():
    parts = [(ROOT / "docs" / name).read_text() for name in ("models_from_files.md", "data.md", "training.md", "inference.md")]
    r = random.Random(1)
    return ("\n".join(parts) + "\n" + "\n".join(string(r, [], False).replace("\n", " ") for _ in range(300))).split("\n")


def sentence_pieces(lines):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "t").write_text("\n".join(line.replace("\r", " ").replace("\0", " ") for line in lines))
        rules = folder / "rules.tsv"
        rules.write_text(RULES)
        common = dict(input=str(folder / "t"), vocab_size=700, hard_vocab_limit=False, character_coverage=0.98, minloglevel=2, normalization_rule_tsv=str(rules), max_sentence_length=10000)
        for name, options in {"spm_unigram": dict(user_defined_symbols=["<user>", "tensor"], control_symbols=["<ctl>"], pad_id=3),
                              "spm_bpe": dict(model_type="bpe", byte_fallback=True, user_defined_symbols=["<user>"]),
                              "spm_plain": dict(model_type="bpe", add_dummy_prefix=False, remove_extra_whitespaces=False),
                              "spm_suffix": dict(treat_whitespace_as_suffix=True, byte_fallback=True)}.items():
            sentencepiece.SentencePieceTrainer.train(model_prefix=str(folder / name), **common, **options)
            (OUT / (name + ".model")).write_bytes((folder / (name + ".model")).read_bytes())
        m = pb.ModelProto()
        m.ParseFromString((OUT / "spm_unigram.model").read_bytes())
        return m.normalizer_spec.precompiled_charsmap


def main():
    OUT.mkdir(exist_ok=True)
    lines = text()
    charsmap = sentence_pieces(lines)
    made = {
        "bert": train.bert(lines, 500), "bert_cased": train.bert(lines, 400, lowercase=False, strip_accents=False),
        "gpt2": train.gpt2(lines, 450), "roberta": train.roberta(lines, 400), "llama3": train.llama3(lines, train.LLAMA3, 400, ignore_merges=True),
        "o200k": train.llama3(lines, train.O200K, 400), "llama2": train.llama2(lines, 600), "clip": train.clip(lines, 700),
        "word_level": train.word_level(lines, 300), "plain_bpe": train.plain_bpe(lines, 400),
        "xlmr": train.unigram(lines, normalizers.Sequence([normalizers.Precompiled(charsmap), normalizers.Replace(Regex(" {2,}"), " ")]), size=900),
        "t5": train.unigram(lines, normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()]), True, "first", 900),
        "albert": train.unigram(lines, normalizers.Sequence([normalizers.Replace("``", '"'), normalizers.NFD(), normalizers.StripAccents()]), scheme="never", size=900),
    }
    for name, t in made.items():
        t.save(str(OUT / (name + ".json")), pretty=False)
    newer = compare.other_versions()
    for path in sorted(OUT.iterdir()):
        if path.name.endswith(".cases.json"): continue
        reference, special, pairs = (compare.sentence_piece if path.suffix == ".model" else compare.hugging_face)(str(path))
        r = random.Random(path.name)
        cases = ["", "A text of words, as it's written: 3.14 café!", "  two   spaces \n\n and lines  "]
        while len(cases) < 24:
            new = [string(r, special), string(r, special)] if pairs and len(cases) % 6 == 0 else string(r, special)
            if not newer & set("".join(new)): cases.append(new)
        out = [{"in": c, **reference(c)} for c in cases]
        (OUT / (path.stem + ".cases.json")).write_text(json.dumps(out, separators=(",", ":")))


if __name__ == "__main__":
    main()
