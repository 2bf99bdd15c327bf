#!/usr/bin/env python3
"""Writes tests/golden/autocast.txt: the dtypes of results under torch.autocast, for
tests/training/amp/autocast.cpp to compare with.

    pip install torch numpy && python3 tests/golden/make_autocast.py

    cpu NAME GIVEN RESULT            the dtype of a function's result of operands of dtype GIVEN, run on the CPU
    cuda NAME RULE                   what torch's own table for CUDA says: lower, float32 or promote
"""
import os
import re

import torch
from torch.nn import functional as F

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "autocast.txt")
NAMES = {torch.float32: "float32", torch.bfloat16: "bfloat16", torch.float16: "float16"}
lines = []

square, batch, vector = (4, 4), (2, 4, 4), (4,)
FUNCTIONS = {
    "matmul": lambda r: torch.matmul(r(*square), r(*square)),
    "mm": lambda r: torch.mm(r(*square), r(*square)),
    "bmm": lambda r: torch.bmm(r(*batch), r(*batch)),
    "mv": lambda r: torch.mv(r(*square), r(*vector)),
    "addmm": lambda r: torch.addmm(r(*square), r(*square), r(*square)),
    "addmv": lambda r: torch.addmv(r(*vector), r(*square), r(*vector)),
    "addr": lambda r: torch.addr(r(*square), r(*vector), r(*vector)),
    "addbmm": lambda r: torch.addbmm(r(*square), r(*batch), r(*batch)),
    "baddbmm": lambda r: torch.baddbmm(r(*batch), r(*batch), r(*batch)),
    "einsum": lambda r: torch.einsum("ij,jk->ik", r(*square), r(*square)),
    "tensordot": lambda r: torch.tensordot(r(*square), r(*square), 1),
    "multi_dot": lambda r: torch.linalg.multi_dot([r(*square), r(*square), r(*square)]),
    "linear": lambda r: F.linear(r(*square), r(*square), r(*vector)),
    "bilinear": lambda r: F.bilinear(r(*square), r(*square), r(3, 4, 4)),
    "conv1d": lambda r: F.conv1d(r(1, 2, 6), r(3, 2, 3)),
    "conv2d": lambda r: F.conv2d(r(1, 2, 6, 6), r(3, 2, 3, 3)),
    "conv3d": lambda r: F.conv3d(r(1, 2, 4, 4, 4), r(3, 2, 3, 3, 3)),
    "conv_transpose": lambda r: F.conv_transpose2d(r(1, 2, 6, 6), r(2, 3, 3, 3)),
    "prelu": lambda r: F.prelu(r(*square), r(4)),
    "scaled_dot_product_attention": lambda r: F.scaled_dot_product_attention(r(*batch), r(*batch), r(*batch)),
    "mse_loss": lambda r: F.mse_loss(r(*square), r(*square)),
    "l1_loss": lambda r: F.l1_loss(r(*square), r(*square)),
    "smooth_l1_loss": lambda r: F.smooth_l1_loss(r(*square), r(*square)),
    "huber_loss": lambda r: F.huber_loss(r(*square), r(*square)),
    "cross_entropy": lambda r: F.cross_entropy(r(*square), torch.arange(4)),
    "nll_loss": lambda r: F.nll_loss(r(*square), torch.arange(4)),
    "kl_div": lambda r: F.kl_div(r(*square), r(*square).abs(), reduction="sum"),
    "binary_cross_entropy_with_logits": lambda r: F.binary_cross_entropy_with_logits(r(*square), r(*square)),
    "poisson_nll_loss": lambda r: F.poisson_nll_loss(r(*square), r(*square)),
    "hinge_embedding_loss": lambda r: F.hinge_embedding_loss(r(*square), r(*square)),
    "margin_ranking_loss": lambda r: F.margin_ranking_loss(r(*vector), r(*vector), r(*vector)),
    "soft_margin_loss": lambda r: F.soft_margin_loss(r(*square), r(*square)),
    "triplet_margin_loss": lambda r: F.triplet_margin_loss(r(*square), r(*square), r(*square)),
    "multi_margin_loss": lambda r: F.multi_margin_loss(r(*square), torch.arange(4)),
    "cosine_embedding_loss": lambda r: F.cosine_embedding_loss(r(*square), r(*square), r(4)),
    "grid_sample": lambda r: F.grid_sample(r(1, 2, 4, 4), r(1, 3, 3, 2)),
    "prod": lambda r: torch.prod(r(*square)),
    "cdist": lambda r: torch.cdist(r(*square), r(*square)),
    "trace": lambda r: torch.trace(r(*square)),
    "quantile": lambda r: torch.quantile(r(*square), 0.5),
    "inv": lambda r: torch.linalg.inv(r(*square) + 8 * torch.eye(4, dtype=r(1).dtype)),
    "solve": lambda r: torch.linalg.solve(r(*square) + 8 * torch.eye(4, dtype=r(1).dtype), r(*square)),
    "qr": lambda r: torch.linalg.qr(r(*square))[1],
    "svdvals": lambda r: torch.linalg.svdvals(r(*square)),
    "exp": lambda r: torch.exp(r(*square)),
    "log": lambda r: torch.log(r(*square).abs()),
    "pow": lambda r: torch.pow(r(*square), 2.0),
    "rsqrt": lambda r: torch.rsqrt(r(*square).abs()),
    "tanh": lambda r: torch.tanh(r(*square)),
    "add": lambda r: r(*square) + r(*square),
    "relu": lambda r: F.relu(r(*square)),
    "gelu": lambda r: F.gelu(r(*square)),
    "softplus": lambda r: F.softplus(r(*square)),
    "softmax": lambda r: F.softmax(r(*square), -1),
    "log_softmax": lambda r: F.log_softmax(r(*square), -1),
    "layer_norm": lambda r: F.layer_norm(r(*square), (4,)),
    "group_norm": lambda r: F.group_norm(r(2, 4, 3), 2),
    "sum": lambda r: torch.sum(r(*square)),
    "mean": lambda r: torch.mean(r(*square)),
    "cumsum": lambda r: torch.cumsum(r(*square), 0),
    "cumprod": lambda r: torch.cumprod(r(*square), 0),
    "logsumexp": lambda r: torch.logsumexp(r(*square), 0),
    "vector_norm": lambda r: torch.linalg.vector_norm(r(*square)),
    "concat": lambda r: torch.cat([r(*square), r(*square)]),
    "stack": lambda r: torch.stack([r(*square), r(*square)]),
}


def given_as(t):
    return lambda *shape: (torch.arange(1, 1 + int(torch.tensor(shape).prod())).reshape(shape) / 8 % 1).to(t)


for name, f in FUNCTIONS.items():
    for t in (torch.float32, torch.bfloat16):
        with torch.autocast("cpu", torch.bfloat16):
            lines.append(f"cpu {name} {NAMES[t]} {NAMES[f(given_as(t)).dtype]}")

# Functions of ours that torch's table for CUDA knows by other names.
OTHERS = {"multi_dot": "linalg_multi_dot", "conv_transpose": "conv_transpose2d", "cross_entropy": "nll_loss",
          "vector_norm": "linalg_vector_norm", "grid_sample": "grid_sampler"}
header = open(os.path.join(os.path.dirname(torch.__file__), "include/ATen/autocast_mode.h")).read()
tables = {}
for macro, rule in (("LOWER_PRECISION_FP", "lower"), ("FP32", "float32"), ("FP32_SET_OPT_DTYPE", "float32"), ("PROMOTE", "promote")):
    body = re.search(r"#define AT_FORALL_" + macro + r"\(_\)((?:.*\\\n)*.*)", header).group(1)
    for n in re.findall(r"_\((\w+)", body):
        tables.setdefault(n, rule)
for name in FUNCTIONS:
    rule = tables.get(OTHERS.get(name, name), "promote")
    lines.append(f"cuda {name} {rule}")

open(OUT, "w").write("\n".join(lines) + "\n")
