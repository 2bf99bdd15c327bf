#!/usr/bin/env python3
"""Saves small models with random weights as transformers does, with inputs and what transformers computes of them:

    python3 tools/pretrained_cases/make.py FOLDER [NAME...]

Each case is a folder with config.json, model.safetensors, inputs.safetensors and outputs.safetensors; `pretrained_cases FOLDER`
compares. Needs torch, transformers and safetensors.
"""
import sys
from pathlib import Path

import torch
import transformers as t
from safetensors.torch import save_file

BERT = dict(vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24,
            max_position_embeddings=20, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
DISTIL = dict(vocab_size=50, dim=16, n_layers=2, n_heads=4, hidden_dim=24, max_position_embeddings=20, dropout=0.0,
              attention_dropout=0.0, seq_classif_dropout=0.0)
GPT2 = dict(vocab_size=50, n_embd=16, n_layer=2, n_head=4, n_positions=20, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
LLAMA = dict(vocab_size=50, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=32)
VIT = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24, image_size=16, patch_size=4)
RESNET = dict(embedding_size=4, depths=[1, 2, 1, 1])


def rope(kind, **more):
    return dict(LLAMA, rope_scaling=dict(rope_type=kind, **more))


def longrope(**more):
    slower = [1.0 + 0.5 * i for i in range(8)]
    return dict(LLAMA, num_attention_heads=1, num_key_value_heads=1, pad_token_id=0,
                original_max_position_embeddings=8,
                rope_scaling=dict(type="longrope", short_factor=slower, long_factor=[2 * f for f in slower]), **more)


def resnet(kind, **more):
    wide = 4 if kind == "bottleneck" else 1
    return dict(RESNET, layer_type=kind, hidden_sizes=[4 * wide << i for i in range(4)], **more)


# name: model, config, arguments of the config
CASES = {
    "bert": (t.BertModel, t.BertConfig, BERT),
    "bert_relu": (t.BertModel, t.BertConfig, dict(BERT, hidden_act="relu", layer_norm_eps=1e-3)),
    "bert_texts": (t.BertForSequenceClassification, t.BertConfig, dict(BERT, num_labels=3)),
    "bert_tokens": (t.BertForTokenClassification, t.BertConfig, dict(BERT, num_labels=5)),
    "bert_masked": (t.BertForMaskedLM, t.BertConfig, BERT),
    "roberta": (t.RobertaModel, t.RobertaConfig, dict(BERT, type_vocab_size=1)),
    "roberta_texts": (t.RobertaForSequenceClassification, t.RobertaConfig, dict(BERT, type_vocab_size=1, num_labels=3)),
    "roberta_tokens": (t.RobertaForTokenClassification, t.RobertaConfig, dict(BERT, type_vocab_size=1, num_labels=4)),
    "roberta_masked": (t.RobertaForMaskedLM, t.RobertaConfig, dict(BERT, type_vocab_size=1)),
    "xlm_roberta": (t.XLMRobertaModel, t.XLMRobertaConfig, dict(BERT, type_vocab_size=1)),
    "camembert": (t.CamembertForMaskedLM, t.CamembertConfig, dict(BERT, type_vocab_size=1)),
    "distilbert": (t.DistilBertModel, t.DistilBertConfig, DISTIL),
    "distilbert_texts": (t.DistilBertForSequenceClassification, t.DistilBertConfig, dict(DISTIL, num_labels=3)),
    "distilbert_tokens": (t.DistilBertForTokenClassification, t.DistilBertConfig, dict(DISTIL, num_labels=3)),
    "distilbert_masked": (t.DistilBertForMaskedLM, t.DistilBertConfig, DISTIL),
    "gpt2": (t.GPT2LMHeadModel, t.GPT2Config, GPT2),
    "gpt2_inner": (t.GPT2LMHeadModel, t.GPT2Config, dict(GPT2, n_inner=20, activation_function="silu",
                                                         tie_word_embeddings=False)),
    "llama": (t.LlamaForCausalLM, t.LlamaConfig, LLAMA),
    "llama_tied": (t.LlamaForCausalLM, t.LlamaConfig, dict(LLAMA, tie_word_embeddings=True, rope_theta=500000.0)),
    "llama_biased": (t.LlamaForCausalLM, t.LlamaConfig, dict(LLAMA, attention_bias=True, mlp_bias=True)),
    "llama_head_dim": (t.LlamaForCausalLM, t.LlamaConfig, dict(LLAMA, head_dim=6)),
    "llama_linear": (t.LlamaForCausalLM, t.LlamaConfig, rope("linear", factor=4.0)),
    "llama_dynamic": (t.LlamaForCausalLM, t.LlamaConfig, dict(rope("dynamic", factor=4.0), max_position_embeddings=8)),
    "llama_llama3": (t.LlamaForCausalLM, t.LlamaConfig,
                     dict(rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                               original_max_position_embeddings=16), num_attention_heads=2)),
    "llama_yarn": (t.LlamaForCausalLM, t.LlamaConfig, dict(rope("yarn", factor=4.0), num_attention_heads=2)),
    "mistral": (t.MistralForCausalLM, t.MistralConfig, dict(LLAMA, sliding_window=None)),
    "mistral_window": (t.MistralForCausalLM, t.MistralConfig, dict(LLAMA, sliding_window=4)),
    "qwen2": (t.Qwen2ForCausalLM, t.Qwen2Config, LLAMA),
    "qwen2_bfloat16": (t.Qwen2ForCausalLM, t.Qwen2Config, dict(LLAMA, tie_word_embeddings=True)),
    "phi3": (t.Phi3ForCausalLM, t.Phi3Config, dict(LLAMA, pad_token_id=0, sliding_window=4)),
    "phi3_long": (t.Phi3ForCausalLM, t.Phi3Config, longrope()),
    "phi3_short": (t.Phi3ForCausalLM, t.Phi3Config, dict(longrope(), original_max_position_embeddings=16)),
    "llama_longrope": (t.LlamaForCausalLM, t.LlamaConfig, dict(longrope(), attention_bias=True)),
    "vit": (t.ViTModel, t.ViTConfig, VIT),
    "vit_images": (t.ViTForImageClassification, t.ViTConfig, dict(VIT, num_labels=7, hidden_act="gelu_new")),
    "resnet": (t.ResNetModel, t.ResNetConfig, resnet("basic")),
    "resnet_images": (t.ResNetForImageClassification, t.ResNetConfig, resnet("bottleneck", num_labels=7)),
}


def inputs_of(name, config):
    if name.startswith(("vit", "resnet")):
        return {"pixel_values": torch.rand(2, 3, *((16, 16) if name.startswith("vit") else (32, 40)))}
    ids = torch.randint(3, config.vocab_size, (2, 11))
    if name.startswith(("gpt2", "llama", "mistral", "qwen2", "phi3")):
        return {"input_ids": ids}
    mask = torch.ones_like(ids)
    mask[1, 8:] = 0
    ids[1, 8:] = config.pad_token_id
    r = {"input_ids": ids, "attention_mask": mask}
    if getattr(config, "type_vocab_size", 0) > 1:
        r["token_type_ids"] = torch.randint(0, 2, ids.shape)
    return r


def make(folder, name):
    model_type, config_type, arguments = CASES[name]
    torch.manual_seed(sum(map(ord, name)))
    config = config_type(**arguments)
    config._attn_implementation = "eager"
    model = model_type(config)
    with torch.no_grad():  # biases begin as 0, and norms as 1: a name that is mixed up would not show
        for p in model.parameters():
            p.add_(torch.randn_like(p) * 0.2)
        for m in model.modules():
            if isinstance(m, torch.nn.BatchNorm2d):
                m.running_mean.uniform_(-0.5, 0.5)
                m.running_var.uniform_(0.5, 2)
    model.eval()
    if name.endswith("bfloat16"):
        model = model.to(torch.bfloat16)
    where = Path(folder) / name
    shards = "1KB" if name in ("bert_texts", "llama_head_dim") else "5GB"
    model.save_pretrained(where, max_shard_size=shards)
    inputs = inputs_of(name, config)
    with torch.no_grad():
        out = model.float()(**inputs) if name.endswith("bfloat16") else model(**inputs)
    outputs = {k: v.contiguous() for k, v in out.items() if isinstance(v, torch.Tensor)}
    save_file(inputs, where / "inputs.safetensors")
    save_file(outputs, where / "outputs.safetensors")


if __name__ == "__main__":
    for case in sys.argv[2:] or CASES:
        make(sys.argv[1], case)
