#!/usr/bin/env python3
"""Writes tests/golden/parametrize.txt: how small models with torch's parametrizations are trained, for
tests/training/modules/parametrize.cpp to compare with.

    pip install torch numpy && python3 tests/golden/make_parametrize.py

One case a block of lines:

    case NAME
    state NAME DTYPE SHAPE x ...     each entry of state_dict() before, in order
    losses float32 SHAPE x ...       of steps with SGD, rate 0.1, of the mean of squares of what the model returns
    after NAME DTYPE SHAPE x ...     each entry of state_dict() after
    weight DTYPE SHAPE x ...         the parameter, once the parametrization is removed
    end

The input of all is values 1/8 apart. A shape is 2,3, or "-" for 0-d.
"""
import os

import numpy as np
import torch
from torch import nn
from torch.nn.utils import parametrizations as ready
from torch.nn.utils import parametrize

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "parametrize.txt")
torch.set_num_threads(1)
rng = np.random.default_rng(20261125)
NAMES = {torch.float32: "float32", torch.int8: "int8"}
lines = []


def text(t):
    t = t.detach()
    shape = ",".join(map(str, t.shape)) or "-"
    flat = t.reshape(-1).tolist()
    return " ".join([NAMES[t.dtype], shape] + [repr(float(np.float32(v))) if t.dtype == torch.float32 else str(v) for v in flat])


def values(*shape, scale=1.0):
    return torch.tensor(np.round(rng.normal(size=shape) * scale * 16) / 16, dtype=torch.float32)


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T


class Exponential(nn.Module):
    def forward(self, x):
        return x.exp()

    def right_inverse(self, x):
        return x.log()


class Shards(nn.Module):
    def forward(self, *x):
        return torch.cat(x)

    def right_inverse(self, x):
        return x.chunk(3)


class LowRank(nn.Module):
    def __init__(self, weight, rank, alpha):
        super().__init__()
        self.scale = alpha / rank
        self.lora_A = nn.Parameter(values(rank, weight[0].numel(), scale=0.5))
        self.lora_B = nn.Parameter(torch.zeros(weight.shape[0], rank))

    def forward(self, x):
        return x + self.scale * (self.lora_B @ self.lora_A).reshape(x.shape)


class FakeQuantize(nn.Module):
    def __init__(self, bits, axis):
        super().__init__()
        self.top, self.axis = 2 ** (bits - 1) - 1, axis

    def forward(self, x):
        least, eps = -self.top - 1, torch.finfo(torch.float32).eps
        if self.axis is None:
            scale = (x.detach().abs().max() / self.top).clamp_min(eps)
            return torch.fake_quantize_per_tensor_affine(x, scale, torch.zeros((), dtype=torch.int32), least, self.top)
        scale = (x.detach().abs().amax([i for i in range(x.ndim) if i != self.axis]) / self.top).clamp_min(eps)
        return torch.fake_quantize_per_channel_affine(x, scale, torch.zeros(len(scale), dtype=torch.int32), self.axis, least, self.top)


class Dequantize(nn.Module):
    """torch gives all parts the weight's requires_grad, which integers can't have: this one holds them as a buffer."""

    def __init__(self, weight):
        super().__init__()
        scale = weight.detach().abs().amax([1], keepdim=True) / 127
        self.integers = (weight.detach() * (1 / scale)).round().clamp(-127, 127).to(torch.int8)

    def forward(self, scale):
        return self.integers * scale

    def right_inverse(self, weight):
        return weight.abs().amax([1], keepdim=True) / 127


def linear():
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 4))


def convolution():
    return nn.Sequential(nn.Conv1d(2, 3, 3), nn.Tanh(), nn.Flatten(), nn.Linear(12, 4))


def case(name, make, parametrization, layer=0, tensor="weight", shape=(5, 4), rename=lambda n: n):
    model = make()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(values(*p.shape, scale=0.5).abs() + 0.125 if name == "exponential" else values(*p.shape, scale=0.5))
    parametrization(model[layer])
    part = getattr(model[layer].parametrizations, tensor)
    for m in part:
        for n, b in m.named_buffers():  # of spectral norm: the length they have doesn't matter
            b.copy_(nn.functional.normalize(values(*b.shape), dim=0))

    def state(kind):
        for n, t in model.state_dict().items():
            if name == "dequantize" and n.endswith("weight.original"):
                lines.append(f"{kind} {n}0 {text(part[0].integers)}")
                n += "1"
            lines.append(f"{kind} {n} {text(t)}")

    lines.append(f"case {name}")
    state("state")
    x = torch.arange(int(np.prod(shape)), dtype=torch.float32).reshape(shape) / 8 - 1
    losses = []
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.1)
    for _ in range(6):
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    lines.append("losses " + text(torch.stack(losses)))
    state("after")
    model.eval()
    parametrize.remove_parametrizations(model[layer], tensor)
    lines.append("weight " + text(getattr(model[layer], tensor)))
    lines.append("end")


def by(module, tensor="weight"):
    return lambda layer: parametrize.register_parametrization(layer, tensor, module(getattr(layer, tensor)) if isinstance(module, type(lambda: 0)) else module)


def low_rank(layer):
    parametrize.register_parametrization(layer, "weight", LowRank(layer.weight, 2, 3.0))
    layer.parametrizations.weight.original.requires_grad_(False)


def chained(layer):
    ready.weight_norm(layer)
    parametrize.register_parametrization(layer, "weight", FakeQuantize(8, 0))


case("weight_norm", linear, ready.weight_norm)
case("weight_norm_columns", linear, lambda m: ready.weight_norm(m, dim=1))
case("weight_norm_of_all", linear, lambda m: ready.weight_norm(m, dim=None))
case("weight_norm_of_a_bias", linear, lambda m: ready.weight_norm(m, name="bias"), tensor="bias")
case("weight_norm_of_a_convolution", convolution, ready.weight_norm, shape=(3, 2, 6))
case("spectral_norm", linear, ready.spectral_norm)
case("spectral_norm_twice", linear, lambda m: ready.spectral_norm(m, n_power_iterations=2, dim=1))
case("spectral_norm_of_a_convolution", convolution, ready.spectral_norm, shape=(3, 2, 6))
case("low_rank", linear, low_rank)
case("low_rank_of_a_convolution", convolution, low_rank, shape=(3, 2, 6))
case("fake_quantize", linear, by(FakeQuantize(8, None)))
case("fake_quantize_channels", linear, by(FakeQuantize(4, 0)))
case("dequantize", linear, by(lambda w: Dequantize(w)))
case("shards", linear, by(Shards()))
case("symmetric", lambda: nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)), by(Symmetric()))
case("exponential", linear, by(Exponential(), "bias"), tensor="bias")
case("chained", linear, chained)

with open(OUT, "w") as f:
    f.write("\n".join(lines) + "\n")
print(f"{OUT}: {sum(l.startswith('case') for l in lines)} cases, torch {torch.__version__}")
