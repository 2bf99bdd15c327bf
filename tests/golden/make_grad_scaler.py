#!/usr/bin/env python3
"""Writes tests/golden/grad_scaler.txt: what torch.amp.GradScaler does where some gradients are infinite, for
tests/training/amp/grad_scaler.cpp to compare with.

    pip install torch numpy && python3 tests/golden/make_grad_scaler.py

    finite | 1 for a step with finite gradients, else 0
    OPTIMIZER GROWTH_INTERVAL FIRST | the scale after each step | w0 w1 w2 after each step, in a row. FIRST is 0 if the first step is infinite too

The loss is the sum of squares of the weights (1, -2, 0.5).
"""
import os

import torch

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "grad_scaler.txt")
FINITE = [1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 1]
OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.125, momentum=0.5, dampening=0.25),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.125),
    "NAdam": lambda p: torch.optim.NAdam(p, lr=0.125),
    "RAdam": lambda p: torch.optim.RAdam(p, lr=0.125),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.125, lr_decay=0.5, initial_accumulator_value=0.25),
}
lines = ["finite | " + " ".join(map(str, FINITE))]
for name, make in OPTIMIZERS.items():
    for first in (1, 0):  # the first step is one, or is skipped
        for interval in (1, 2, 3):
            w = torch.nn.Parameter(torch.tensor([1.0, -2.0, 0.5]))
            optimizer = make([w])
            scaler = torch.amp.GradScaler("cpu", init_scale=8, growth_interval=interval)
            scales, weights = [], []
            for i, finite in enumerate(FINITE):
                optimizer.zero_grad()
                loss = (w * w).sum() * (1 if finite and (i or first) else float("inf"))
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
                scales.append(repr(scaler.get_scale()))
                weights += [repr(v) for v in w.tolist()]
            lines.append(f"{name} {interval} {first} | {' '.join(scales)} | {' '.join(weights)}")
open(OUT, "w").write("\n".join(lines) + "\n")
