#!/usr/bin/env python3
"""Writes what torch computes for the models of lazy::models, as safetensors.

    make.py goldens                 summaries of the tests' sizes, to tests/training/models/golden
    make.py full FOLDER [NAME...]   weights, arguments, results and gradients in full size
    make.py full64 FOLDER [NAME...] the same in float64
    make.py layers                  results and gradients of layers, to tests/training/models/golden/layers.safetensors
    make.py curves                  losses of 200 steps, to tests/training/models/golden/curves.safetensors

Needs torch, torchvision, transformers and safetensors. Weights follow from their names (formula.py).
"""
import pathlib
import sys

import numpy as np
import torch
from safetensors.torch import save_file

import cases
import formula

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests/training/models/golden"


def fill(model):
    """Gives parameters and statistics the values of the formula."""
    state = {}
    for name, value in model.state_dict().items():
        tied = name == "lm_head.weight" and "transformer.wte.weight" in state
        if value.is_floating_point() and not tied:
            state[name] = torch.from_numpy(formula.weight(name, tuple(value.shape)).copy())
    inner = getattr(model, "model", model)
    inner.load_state_dict(state, strict=False)


def compute(name, full, dtype=torch.float32):
    torch.manual_seed(0)
    model, arguments = cases.build(name, full)
    cases.without_dropout(model).train()
    fill(model)
    model = model.to(dtype)
    arguments = [a.to(dtype) if a.is_floating_point() else a for a in arguments]
    weights = {n: v.detach().clone() for n, v in model.state_dict().items() if v.is_floating_point()}
    out = model(*arguments)
    loss = (out * torch.from_numpy(formula.uniform("cotangent", tuple(out.shape)).copy())).sum()
    loss.backward()
    gradients = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    return weights, arguments, out.detach(), gradients


def goldens(names):
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for name in names:
        _, _, out, gradients = compute(name, False)
        data = {"out": out if out.numel() <= 512 else torch.from_numpy(formula.summary(out.numpy()))}
        for n, g in gradients.items():
            data["grad/" + n] = torch.from_numpy(formula.summary(g.numpy()))
        save_file({k: v.contiguous() for k, v in data.items()}, GOLDEN / f"{name}.safetensors")
        print(name, len(gradients), "gradients")


def full(folder, names, dtype=torch.float32):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        weights, arguments, out, gradients = compute(name, True, dtype)
        data = {"out": out}
        for i, a in enumerate(arguments):
            data[f"in/{i}"] = a
        for n, v in weights.items():
            if n != "lm_head.weight" or "transformer.wte.weight" not in weights:
                data["param/" + n] = v
        for n, g in gradients.items():
            data["grad/" + n] = g
        save_file({k: v.clone().contiguous() for k, v in data.items()}, folder / f"{name}.safetensors")
        print(name, sum(v.numel() for v in weights.values()), "elements", flush=True)


def layer_goldens():
    import layers

    data = {}
    for name, (module, run) in layers.cases().items():
        module.train()
        fill(module)
        results = run()
        loss = sum((r * torch.from_numpy(formula.uniform(f"cotangent{i}", tuple(r.shape)).copy())).sum()
                   for i, r in enumerate(results))
        loss.backward()
        for i, r in enumerate(results):
            data[f"{name}/{i}"] = r.detach().clone().contiguous()
        for n, p in module.named_parameters():
            data[f"{name}/grad/{n}"] = torch.from_numpy(formula.summary(p.grad.numpy()))
    save_file(data, GOLDEN / "layers.safetensors")
    print(len(data), "tensors")


STEPS = 200


def curve(name):
    """Returns the losses of training on eight batches again and again."""
    classes = {"mlp": 3, "lenet": 10, "tagger": 5, "gpt2": 30}[name]
    model, _ = cases.build(name, False)
    cases.without_dropout(model).train()
    fill(model)
    if name == "gpt2":
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    elif name == "tagger":
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01 if name == "mlp" else 0.002, momentum=0.9)
    losses = []
    for step in range(STEPS):
        batch = f"batch{step % 8}"
        if name == "mlp":
            x, y = cases.real(batch, 8, 12), cases.ids("label" + batch, classes, 8)
        elif name == "lenet":
            x, y = cases.real(batch, 4, 1, 28, 28), cases.ids("label" + batch, classes, 4)
        elif name == "tagger":
            x = cases.ids(batch, 20, 4, 7)
            y = x % classes
        else:
            x = cases.ids(batch, classes, 4, 12)
            x, y = x[:, :-1], x[:, 1:]
        out = model(x)
        loss = torch.nn.functional.cross_entropy(out.reshape(-1, out.shape[-1]), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(name, losses[0], losses[-1])
    return torch.tensor(losses, dtype=torch.float32)


def main(arguments):
    torch.set_num_threads(2)
    what = arguments[0] if arguments else ""
    if what == "goldens":
        goldens(arguments[1:] or cases.NAMES)
    elif what == "full":
        full(pathlib.Path(arguments[1]), arguments[2:] or cases.NAMES)
    elif what == "full64":
        full(pathlib.Path(arguments[1]), arguments[2:] or cases.NAMES, torch.float64)
    elif what == "layers":
        layer_goldens()
    elif what == "curves":
        save_file({n: curve(n) for n in ["mlp", "lenet", "tagger", "gpt2"]}, GOLDEN / "curves.safetensors")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
