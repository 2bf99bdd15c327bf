"""Trains a small tokenizer of each type, for compare.py:  train.py TEXT FOLDER

TEXT is some megabytes of text in UTF-8. Needs the packages tokenizers and sentencepiece.
"""
import json
import pathlib
import sys

import sentencepiece
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers)

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = ("[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+")


def lines(path):
    return open(path, encoding="utf-8").read().split("\n")


def bert(text, size, **options):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(**options)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(text, trainers.WordPieceTrainer(vocab_size=size, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    t.decoder = decoders.WordPiece()
    return t


def byte_level(text, size, pre, special, processor=None, **model):
    t = Tokenizer(models.BPE(**model))
    t.pre_tokenizer = pre
    t.train_from_iterator(text, trainers.BpeTrainer(vocab_size=size, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.decoder = decoders.ByteLevel()
    if processor: t.post_processor = processor
    return t


def gpt2(text, size=4000):
    return byte_level(text, size, pre_tokenizers.ByteLevel(add_prefix_space=False), ["<|endoftext|>"], processors.ByteLevel(trim_offsets=True))


def roberta(text, size=3000):
    t = byte_level(text, size, pre_tokenizers.ByteLevel(add_prefix_space=True), ["<s>", "<pad>", "</s>", "<unk>"])
    t.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return t


def llama3(text, pattern, size=5000, **options):
    pre = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t = byte_level(text, size, pre, ["<|begin_of_text|>", "<|end_of_text|>"], **options)
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
        single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1", special_tokens=[("<|begin_of_text|>", 0)])])
    return t


def llama2(text, size=3000):
    """As files that are converted from SentencePiece have it: no pre-tokenizer, bytes for unknown characters."""
    bytes_ = [f"<0x{b:02X}>" for b in range(256)]
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    t.train_from_iterator(text, trainers.BpeTrainer(vocab_size=size, special_tokens=["<unk>", "<s>", "</s>"] + bytes_, limit_alphabet=150))
    data = json.loads(t.to_str())
    data["pre_tokenizer"] = None
    data["added_tokens"] = data["added_tokens"][:3]
    data["decoder"] = {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
    t = Tokenizer.from_str(json.dumps(data))
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    return t


def clip(text, size=3000):
    t = Tokenizer(models.BPE(unk_token="<|endoftext|>", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t.train_from_iterator(text, trainers.BpeTrainer(vocab_size=size, special_tokens=["<|startoftext|>", "<|endoftext|>"], end_of_word_suffix="</w>",
                                                    initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.post_processor = processors.RobertaProcessing(("<|endoftext|>", 1), ("<|startoftext|>", 0), trim_offsets=False, add_prefix_space=False)
    t.decoder = decoders.BPEDecoder("</w>")
    return t


def unigram(text, normalizer, byte_fallback=False, scheme="always", size=3000):
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizer
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    special = ["<unk>", "<s>", "</s>", "<pad>"]
    t.train_from_iterator(text, trainers.UnigramTrainer(vocab_size=size, special_tokens=special, unk_token="<unk>"))
    if byte_fallback:
        data = json.loads(t.to_str())
        data["model"]["vocab"] += [[f"<0x{b:02X}>", -20.0] for b in range(256)]
        data["model"]["byte_fallback"] = True
        t = Tokenizer.from_str(json.dumps(data))
    t.decoder = decoders.Metaspace(prepend_scheme=scheme)
    t.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 2)])
    t.add_tokens([AddedToken("single", single_word=True), AddedToken("Norm Ä", normalized=True), AddedToken("right ", rstrip=True, normalized=False)])
    return t


def word_level(text, size=3000):
    t = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    t.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Strip(), normalizers.Nmt()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation("merged_with_previous"), pre_tokenizers.Digits(True)])
    t.train_from_iterator(text, trainers.WordLevelTrainer(vocab_size=size, special_tokens=["[UNK]", "[PAD]"]))
    return t


def plain_bpe(text, size=2000):
    t = Tokenizer(models.BPE(unk_token="[UNK]", continuing_subword_prefix="##", fuse_unk=False))
    t.normalizer = normalizers.NFKC()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Digits(False), pre_tokenizers.Punctuation("contiguous"),
                                               pre_tokenizers.CharDelimiterSplit("x"), pre_tokenizers.Split("e", "merged_with_next")])
    t.train_from_iterator(text, trainers.BpeTrainer(vocab_size=size, special_tokens=["[UNK]"], continuing_subword_prefix="##", limit_alphabet=100))
    t.decoder = decoders.WordPiece(cleanup=False)
    return t


def sentence_pieces(path, folder):
    common = dict(input=path, vocab_size=3000, hard_vocab_limit=False, num_threads=2, minloglevel=2, input_sentence_size=20000, max_sentence_length=10000)
    sentencepiece.SentencePieceTrainer.train(model_prefix=str(folder / "spm_unigram"), user_defined_symbols=["<user>", "tensor"], control_symbols=["<ctl>"], pad_id=3, **common)
    sentencepiece.SentencePieceTrainer.train(model_prefix=str(folder / "spm_bpe"), model_type="bpe", byte_fallback=True, user_defined_symbols=["<user>", "  "], **common)
    sentencepiece.SentencePieceTrainer.train(model_prefix=str(folder / "spm_plain"), model_type="bpe", normalization_rule_name="identity", add_dummy_prefix=False,
                                             remove_extra_whitespaces=False, **common)
    sentencepiece.SentencePieceTrainer.train(model_prefix=str(folder / "spm_suffix"), byte_fallback=True, treat_whitespace_as_suffix=True, normalization_rule_name="nmt_nfkc_cf", **common)


def charsmap(folder):
    import sentencepiece.sentencepiece_model_pb2 as pb
    m = pb.ModelProto()
    m.ParseFromString((folder / "spm_unigram.model").read_bytes())
    return m.normalizer_spec.precompiled_charsmap


def main():
    path, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(exist_ok=True, parents=True)
    text = lines(path)
    sentence_pieces(path, folder)
    made = {
        "bert": bert(text, 4000), "bert_cased": bert(text, 3000, lowercase=False, strip_accents=False),
        "gpt2": gpt2(text), "roberta": roberta(text), "llama3": llama3(text, LLAMA3, ignore_merges=True), "qwen": llama3(text, QWEN), "o200k": llama3(text, O200K),
        "llama2": llama2(text), "clip": clip(text), "word_level": word_level(text), "plain_bpe": plain_bpe(text),
        "xlmr": unigram(text, normalizers.Sequence([normalizers.Precompiled(charsmap(folder)), normalizers.Replace(Regex(" {2,}"), " ")])),
        "t5": unigram(text, normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()]), byte_fallback=True, scheme="first"),
        "albert": unigram(text, normalizers.Sequence([normalizers.Replace("``", '"'), normalizers.NFD(), normalizers.StripAccents(), normalizers.Precompiled(charsmap(folder))]), scheme="never"),
    }
    for name, t in made.items():
        t.save(str(folder / (name + ".json")))
        print(name, t.get_vocab_size())


if __name__ == "__main__":
    main()
