#!/usr/bin/env python3
"""Writes tests/golden/text_gguf: the tokenizers of some files of tests/golden/text as files in the GGUF format have them.
llama.gguf is a small model with its tokenizer, llama.json what transformers writes by it, always the most probable token.

Needs gguf, numpy, sentencepiece, torch and transformers.
"""
import json
from pathlib import Path

import gguf
import numpy as np
import sentencepiece
import sentencepiece.sentencepiece_model_pb2 as pb
import torch
import transformers

HERE = Path(__file__).parent
OUT = HERE / "text_gguf"


def begin(name, model):
    w = gguf.GGUFWriter(OUT / f"{name}.gguf", "test")
    w.add_tokenizer_model(model)
    return w


def end(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def pieces(w, name):
    m = pb.ModelProto()
    m.ParseFromString((HERE / "text" / f"{name}.model").read_bytes())
    w.add_token_list([p.piece for p in m.pieces])
    w.add_token_scores([p.score for p in m.pieces])
    w.add_token_types([p.type for p in m.pieces])
    w.add_unk_token_id(0)
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    w.add_add_bos_token(False)
    w.add_add_space_prefix(m.normalizer_spec.add_dummy_prefix)
    w.add_bool("tokenizer.ggml.remove_extra_whitespaces", m.normalizer_spec.remove_extra_whitespaces)
    w.add_precompiled_charsmap(m.normalizer_spec.precompiled_charsmap)
    w.add_chat_template("{{ messages }}")


def pairs(name):
    w = begin(name, "llama")
    pieces(w, name)
    end(w)


NAMES = [("model.embed_tokens", "token_embd"), ("model.norm", "output_norm"), ("model.layers.", "blk."),
         ("input_layernorm", "attn_norm"), ("post_attention_layernorm", "ffn_norm"), ("self_attn.q_proj", "attn_q"),
         ("self_attn.k_proj", "attn_k"), ("self_attn.v_proj", "attn_v"), ("self_attn.o_proj", "attn_output"),
         ("mlp.gate_proj", "ffn_gate"), ("mlp.up_proj", "ffn_up"), ("mlp.down_proj", "ffn_down")]


def in_pairs(x, heads):
    return x.reshape(heads, 2, x.shape[0] // heads // 2, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


def model(prompt, tokens):
    torch.manual_seed(7)
    sp = sentencepiece.SentencePieceProcessor(model_file=str(HERE / "text" / "spm_bpe.model"))
    c = transformers.LlamaConfig(vocab_size=sp.vocab_size(), hidden_size=16, intermediate_size=32, num_hidden_layers=2,
                                 num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=64, rms_norm_eps=1e-5,
                                 tie_word_embeddings=True)
    m = transformers.LlamaForCausalLM(c).eval()
    w = gguf.GGUFWriter(OUT / "llama.gguf", "llama")
    w.add_tokenizer_model("llama")
    w.add_block_count(2)
    w.add_context_length(64)
    w.add_embedding_length(16)
    w.add_feed_forward_length(32)
    w.add_head_count(2)
    w.add_head_count_kv(1)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_freq_base(10000.0)
    w.add_rope_dimension_count(8)
    pieces(w, "spm_bpe")
    for n, p in m.named_parameters():
        with torch.no_grad():
            p.add_(torch.randn_like(p) * 0.5)
        for there, here in NAMES:
            n = n.replace(there, here)
        x = p.detach().numpy()
        x = in_pairs(x, 2) if ".attn_q." in n else in_pairs(x, 1) if ".attn_k." in n else x
        w.add_tensor(n, np.ascontiguousarray(x))
    end(w)
    ids, added, least = sp.encode(prompt), [], []
    for _ in range(tokens):
        with torch.no_grad():
            logits = m(torch.tensor([ids + added])).logits[0, -1]
        best = logits.topk(2).values
        least.append(float(best[0] - best[1]))
        added.append(int(logits.argmax()))
    assert min(least) > 1e-3 and 2 not in added
    whole, before = sp.decode(ids + added), sp.decode(ids)
    assert whole.startswith(before)
    (OUT / "llama.json").write_text(json.dumps({"prompt": prompt, "ids": ids, "tokens": added, "text": sp.decode(added)}) + "\n")


def bytes_of(name, pre, bos=None):
    t = json.loads((HERE / "text" / f"{name}.json").read_text())
    ids = sorted(t["model"]["vocab"], key=t["model"]["vocab"].get)
    special = {a["content"] for a in t["added_tokens"] if a["special"]}
    w = begin(name, "gpt2")
    w.add_tokenizer_pre(pre)
    w.add_token_list(ids)
    w.add_token_types([3 if token in special else 1 for token in ids])
    w.add_token_merges([" ".join(m) for m in t["model"]["merges"]])
    w.add_eos_token_id(1 if bos is not None else 0)
    if bos is not None:
        w.add_bos_token_id(bos)
    end(w)


OUT.mkdir(exist_ok=True)
bytes_of("gpt2", "gpt-2")
bytes_of("llama3", "llama-bpe", 0)
for name in ("spm_bpe", "spm_plain"):
    pairs(name)
model("A tensor is", 24)
