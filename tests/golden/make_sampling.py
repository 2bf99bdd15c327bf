"""Makes sampling.json: scores after the logits processors of Hugging Face's transformers, in the order in which generate() has them."""
import json
import pathlib

import torch
from transformers import (MinPLogitsWarper, RepetitionPenaltyLogitsProcessor, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper)

CASES = [dict(temperature=0.7), dict(top_k=5), dict(top_p=0.8), dict(min_p=0.1), dict(repetition_penalty=1.3), dict(repetition_penalty=0.8),
         dict(temperature=1.5, top_k=12, top_p=0.7), dict(temperature=0.6, top_p=0.9, min_p=0.05), dict(top_k=8, min_p=0.2), dict(top_p=0.01), dict(top_k=1),
         dict(temperature=0.9, top_k=20, top_p=0.6, min_p=0.02, repetition_penalty=1.1)]


def main():
    torch.manual_seed(1)
    logits = torch.randn(4, 40) * 3
    history = torch.randint(0, 40, (4, 9))
    out = []
    for case in CASES:
        x = logits.clone()
        if "repetition_penalty" in case: x = RepetitionPenaltyLogitsProcessor(case["repetition_penalty"])(history, x)
        if "temperature" in case: x = TemperatureLogitsWarper(case["temperature"])(history, x)
        if "top_k" in case: x = TopKLogitsWarper(case["top_k"])(history, x)
        if "top_p" in case: x = TopPLogitsWarper(case["top_p"])(history, x)
        if "min_p" in case: x = MinPLogitsWarper(case["min_p"])(history, x)
        out.append({"options": case, "scores": [[None if v == -float("inf") else round(v, 6) for v in row] for row in x.tolist()]})
    data = {"logits": logits.tolist(), "history": history.tolist(), "cases": out}
    (pathlib.Path(__file__).parent / "sampling.json").write_text(json.dumps(data, separators=(",", ":")))


if __name__ == "__main__":
    main()
