#!/usr/bin/env python3
"""Loads with transformers what pretrained_cases saved (FOLDER/*/saved), and compares with FOLDER/*/outputs.safetensors:

    python3 tools/pretrained_cases/check_saved.py FOLDER
"""
import json
import sys
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file

bad = 0
for case in sorted(Path(sys.argv[1]).iterdir()):
    config = json.loads((case / "saved" / "config.json").read_text())
    model_type = getattr(transformers, config["architectures"][0])
    model, info = model_type.from_pretrained(case / "saved", output_loading_info=True, attn_implementation="eager")
    weights = load_file(case / "saved" / "model.safetensors")
    if "lm_head.dense.weight" in weights:  # some versions replace this bias by a new one, of their own files, too
        model.lm_head.bias.data = weights["lm_head.bias"]
    with torch.no_grad():
        found = model.eval()(**load_file(case / "inputs.safetensors"))
    expected = load_file(case / "outputs.safetensors")
    worst = max(float((found[k] - v).abs().max() / v.abs().max()) for k, v in expected.items())
    problems = [k for k in info["missing_keys"] if "position_ids" not in k] + info["unexpected_keys"]
    # What is tied, or not saved by transformers either.
    problems = [k for k in problems if not k.endswith(("decoder.bias", "decoder.weight", "lm_head.weight", "vocab_projector.weight"))]
    good = worst < 1e-4 and not problems
    bad += not good
    print(f"{case.name:20} {worst:.1e} {'' if good else 'DIFFERS'} {problems or ''}")
sys.exit(bad > 0)
