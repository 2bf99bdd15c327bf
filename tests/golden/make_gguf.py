#!/usr/bin/env python3
"""Writes tests/golden/gguf: files in the GGUF format, and what the format's own package and transformers make of them.

    blocks.gguf          a tensor of random blocks of each type; blocks.safetensors: their values by gguf.quants
    llama_*.gguf         a small model; llama_*.safetensors: ids, and logits by transformers of the same values
    qwen2.gguf           likewise, with biases
    gpt2_*, phi3_*, gemma_*   likewise, of these architectures, as llama.cpp's converter names and lays out their weights

Needs gguf, numpy, torch, transformers and safetensors.
"""
import math
from pathlib import Path

import gguf
import numpy as np
import torch
import transformers as t
from gguf import quants
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as Q
from safetensors.numpy import save_file

HERE = Path(__file__).parent / "gguf"
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2],
          "Q5_K": [0, 2], "Q6_K": [208]}


def blocks():
    random = np.random.default_rng(1)
    w = gguf.GGUFWriter(HERE / "blocks.gguf", "test")
    w.add_uint32("test.uint32", 7)
    w.add_int64("test.int64", -5)
    w.add_float32("test.float32", 0.5)
    w.add_bool("test.bool", True)
    w.add_string("test.text", "Grüße")
    w.add_array("test.texts", ["a", "", "bc"])
    w.add_array("test.integers", [1, -2, 3])
    w.add_array("test.reals", [0.25, -1.5])
    w.add_array("test.lists", [[1, 2], [3]])
    values = {}
    for name, places in HALVES.items():
        kind = Q[name]
        elements, size = GGML_QUANT_SIZES[kind]
        rows = random.integers(0, 256, (3, 2 * size), dtype=np.uint8)
        for b in range(2):
            for p in places:
                rows[:, b * size + p:b * size + p + 2] = (random.normal(size=(3, 1)) * 0.1).astype(np.float16).view(np.uint8)
        w.add_tensor(name, rows, raw_dtype=kind)
        values[name] = quants.dequantize(rows, kind)
    for name, kind in (("F32", np.float32), ("F16", np.float16), ("F64", np.float64), ("I8", np.int8), ("I32", np.int32)):
        values[name] = (random.normal(size=(2, 3, 5)) * 10).astype(kind)
        w.add_tensor(name, values[name])
    bf16 = (random.normal(size=(4, 6))).astype(np.float32)
    w.add_tensor("BF16", quants.quantize(bf16, Q.BF16), raw_dtype=Q.BF16)
    values["BF16"] = quants.dequantize(quants.quantize(bf16, Q.BF16), Q.BF16)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    save_file({k: np.ascontiguousarray(v) for k, v in values.items()}, HERE / "blocks.safetensors")


NAMES = [("model.embed_tokens", "token_embd"), ("model.norm", "output_norm"), ("lm_head", "output"), ("model.layers.", "blk."),
         ("input_layernorm", "attn_norm"), ("post_attention_layernorm", "ffn_norm"), ("self_attn.q_proj", "attn_q"),
         ("self_attn.k_proj", "attn_k"), ("self_attn.v_proj", "attn_v"), ("self_attn.o_proj", "attn_output"),
         ("mlp.gate_proj", "ffn_gate"), ("mlp.up_proj", "ffn_up"), ("mlp.down_proj", "ffn_down")]


def in_pairs(x, heads):
    """Puts the halves of each head side by side, as converters for llama.cpp do."""
    return x.reshape(heads, 2, x.shape[0] // heads // 2, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


def finish(name, w, m):
    """Writes the file, and what the model makes of some ids."""
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    ids = torch.randint(0, 40, (2, 9))
    with torch.no_grad():
        logits = m(ids).logits
    save_file({"input_ids": ids.numpy(), "logits": logits.numpy()}, HERE / f"{name}.safetensors")


def model(name, kind, architecture="llama", factors=None):
    torch.manual_seed(3)
    config_type, model_type = ((t.LlamaConfig, t.LlamaForCausalLM) if architecture == "llama" else (t.Qwen2Config, t.Qwen2ForCausalLM))
    c = config_type(vocab_size=40, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                    num_key_value_heads=2, max_position_embeddings=32, rms_norm_eps=1e-5,
                    tie_word_embeddings=architecture == "qwen2")
    c._attn_implementation = "eager"
    m = model_type(c).eval()
    w = gguf.GGUFWriter(HERE / f"{name}.gguf", architecture)
    w.add_block_count(2)
    w.add_context_length(32)
    w.add_embedding_length(32)
    w.add_feed_forward_length(64)
    w.add_head_count(4)
    w.add_head_count_kv(2)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_freq_base(10000.0)
    w.add_rope_dimension_count(8)
    w.add_tokenizer_model("llama")
    w.add_token_list([f"t{i}" for i in range(40)])
    if factors:
        w.add_tensor("rope_freqs.weight", np.array(factors, dtype=np.float32))
        m.model.rotary_emb.inv_freq /= torch.tensor(factors)
    with torch.no_grad():
        for n, p in m.named_parameters():
            p.add_(torch.randn_like(p) * 0.2)
            x = p.numpy()
            for there, here in NAMES:
                n = n.replace(there, here)
            if architecture == "llama" and ".attn_q." in n:
                x = in_pairs(x, 4)
            if architecture == "llama" and ".attn_k." in n:
                x = in_pairs(x, 2)
            if x.ndim == 1 or kind == Q.F32:
                w.add_tensor(n, x.copy())
                continue
            raw = quants.quantize(x, kind)
            w.add_tensor(n, raw, raw_dtype=kind)
            near = quants.dequantize(raw, kind)
            undone = near
            for part, heads in ((".attn_q.", 4), (".attn_k.", 2)):
                if architecture == "llama" and part in n:
                    undone = near.reshape(heads, near.shape[0] // heads // 2, 2, -1).swapaxes(1, 2).reshape(near.shape)
            p.copy_(torch.from_numpy(np.ascontiguousarray(undone)))
    finish(name, w, m)


def as_gpt2(n, x):
    for there, here in (("transformer.wte", "token_embd"), ("transformer.wpe", "position_embd"), ("transformer.ln_f", "output_norm"),
                        ("transformer.h.", "blk."), ("ln_1", "attn_norm"), ("ln_2", "ffn_norm"), ("attn.c_attn", "attn_qkv"),
                        ("attn.c_proj", "attn_output"), ("mlp.c_fc", "ffn_up"), ("mlp.c_proj", "ffn_down")):
        n = n.replace(there, here)
    return n, x.T if x.ndim == 2 and n.startswith("blk.") else x


def as_phi3(n, x):
    for there, here in [("self_attn.qkv_proj", "attn_qkv"), ("mlp.gate_up_proj", "ffn_up")] + NAMES:
        n = n.replace(there, here)
    return n, x


def as_gemma(n, x):
    n, x = as_phi3(n, x)
    return n, x + 1 if n.endswith("norm.weight") else x


def other(name, architecture, kind):
    """Writes a model of another architecture than llama; its matrices are rounded as the file has them."""
    torch.manual_seed(4)
    sizes = dict(vocab_size=40, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                 max_position_embeddings=32)
    if architecture == "gpt2":
        c, convert = t.GPT2Config(vocab_size=40, n_positions=32, n_embd=32, n_layer=2, n_head=4, n_inner=64), as_gpt2
    elif architecture == "phi3":
        c, convert = t.Phi3Config(**sizes, sliding_window=5, pad_token_id=0, tie_word_embeddings=False), as_phi3
        if name.endswith("long"):  # the texts are longer than the original positions
            c.original_max_position_embeddings = 8
            c.rope_scaling = dict(type="longrope", short_factor=[1.0, 1.5, 2.0, 3.0], long_factor=[1.0, 2.5, 4.0, 8.0])
    else:
        c, convert = t.GemmaConfig(**sizes, head_dim=16, hidden_activation="gelu_pytorch_tanh"), as_gemma
    c._attn_implementation = "eager"
    m = t.AutoModelForCausalLM.from_config(c).eval()
    w = gguf.GGUFWriter(HERE / f"{name}.gguf", architecture)
    w.add_block_count(2)
    w.add_context_length(32)
    w.add_embedding_length(32)
    w.add_feed_forward_length(64)
    w.add_head_count(4)
    if architecture == "gpt2":
        w.add_layer_norm_eps(1e-5)
    else:
        w.add_head_count_kv(2)
        w.add_layer_norm_rms_eps(c.rms_norm_eps)
    if architecture == "phi3":
        w.add_rope_dimension_count(8)
        w.add_sliding_window(5)
    if name.endswith("long"):
        w.add_rope_scaling_orig_ctx_len(8)
        w.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(32 / 8) / math.log(8)))
        for kind_of in ("short", "long"):
            w.add_tensor(f"rope_factors_{kind_of}.weight", np.array(c.rope_scaling[f"{kind_of}_factor"], dtype=np.float32))
    if architecture == "gemma":
        w.add_key_length(16)
        w.add_value_length(16)
    with torch.no_grad():
        for n, p in m.named_parameters():
            p.add_(torch.randn_like(p) * 0.2)
            here, x = convert(n, p.numpy())
            if x.ndim == 1 or kind == Q.F32:
                w.add_tensor(here, np.ascontiguousarray(x))
                continue
            raw = quants.quantize(np.ascontiguousarray(x), kind)
            w.add_tensor(here, raw, raw_dtype=kind)
            near = quants.dequantize(raw, kind)
            p.copy_(torch.from_numpy(np.ascontiguousarray(near.T if architecture == "gpt2" and here.startswith("blk.") else near)))
    finish(name, w, m)


HERE.mkdir(exist_ok=True)
blocks()
model("llama_f32", Q.F32)
model("llama_f16", Q.F16, factors=[1.0, 1.5, 4.0, 8.0])
model("llama_q8_0", Q.Q8_0)
model("llama_q4_0", Q.Q4_0)
model("llama_q5_0", Q.Q5_0)
model("qwen2", Q.Q8_0, "qwen2")
for architecture in ("gpt2", "phi3", "gemma"):
    other(f"{architecture}_f32", architecture, Q.F32)
    other(f"{architecture}_q8_0", architecture, Q.Q8_0)
other("gpt2_q4_0", "gpt2", Q.Q4_0)
other("phi3_long", "phi3", Q.F32)
