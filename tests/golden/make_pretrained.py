#!/usr/bin/env python3
"""Writes tests/golden/pretrained: small models as transformers saves them, with inputs and outputs (tools/pretrained_cases/make.py).

Needs torch, transformers and safetensors; tests/golden/make_gguf.py writes the files in the GGUF format.
"""
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent / "tools" / "pretrained_cases"))
import make  # noqa: E402

for name in ("bert_texts", "bert_masked", "roberta_texts", "xlm_roberta", "distilbert_texts", "gpt2", "gpt2_inner", "llama_tied",
             "llama_head_dim", "llama_llama3", "llama_yarn", "mistral_window", "qwen2", "phi3", "phi3_long", "vit_images", "resnet"):
    make.make(HERE / "pretrained", name)
for unused in (HERE / "pretrained").glob("*/generation_config.json"):
    unused.unlink()
