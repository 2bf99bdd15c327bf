#!/usr/bin/env python3
"""Times the steps of bench/training.cpp with torch, eager and compiled; prints one line each.

  training.py [-t THREADS] [-f REGEX] [-s SECONDS] [--device DEVICE] [--compile]
"""

import argparse
import re
import resource
import statistics
import time

import torch
from torch import nn

F = nn.functional


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(64, 256, batch_first=True)
        self.head = nn.Linear(256, 10)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


class Block(nn.Module):
    def __init__(self, n, heads):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n), nn.LayerNorm(n)
        self.qkv, self.proj = nn.Linear(n, 3 * n), nn.Linear(n, n)
        self.fc, self.out = nn.Linear(n, 4 * n), nn.Linear(4 * n, n)
        self.heads = heads

    def forward(self, x):
        b, t, n = x.shape
        q, k, v = (y.view(b, t, self.heads, n // self.heads).transpose(1, 2) for y in self.qkv(self.ln_1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, n))
        return x + self.out(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, vocabulary=256, positions=256, n=384, layers=6, heads=6):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, n), nn.Embedding(positions, n)
        self.h = nn.ModuleList(Block(n, heads) for _ in range(layers))
        self.ln = nn.LayerNorm(n)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for h in self.h:
            x = h(x)
        return F.linear(self.ln(x), self.wte.weight)


class Residual(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.down = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o)) if stride > 1 or i != o else nn.Identity()

    def forward(self, x):
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + self.down(x))


def resnet18():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    i = 64
    for o, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Residual(i, o, stride), Residual(o, o, 1)]
        i = o
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def workloads():
    adam = lambda p: torch.optim.Adam(p, fused=True)
    yield "mlp_sgd", mlp, lambda p: torch.optim.SGD(p, lr=1e-3), (torch.rand(128, 784), torch.randint(0, 10, (128,)))
    yield "mlp_adam", mlp, adam, (torch.rand(128, 784), torch.randint(0, 10, (128,)))
    yield "lstm_adam", Recurrent, adam, (torch.rand(32, 128, 64), torch.randint(0, 10, (32,)))
    yield "gpt_mini_adamw", GPT, lambda p: torch.optim.AdamW(p, lr=3e-4, fused=True), (
        torch.randint(0, 256, (8, 256)), torch.randint(0, 256, (8 * 256,)))
    yield "resnet18_sgd", resnet18, lambda p: torch.optim.SGD(p, lr=1e-3), (
        torch.rand(8, 3, 224, 224), torch.randint(0, 1000, (8,)))


def step_of(make, optimizer, x, t, compiled):
    """Makes a model and returns a step: a function that trains once and returns the loss."""
    torch.manual_seed(1)
    model = make()
    opt = optimizer(model.parameters())

    def loss_of():
        y = model(x)
        return F.cross_entropy(y.reshape(-1, y.shape[-1]), t)

    loss = torch.compile(loss_of) if compiled else loss_of

    def step():
        value = loss()
        value.backward()
        opt.step()
        opt.zero_grad()
        return value.item()

    return step


def process_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-t", "--threads", type=int, default=1)
    p.add_argument("-f", "--filter", default=".")
    p.add_argument("-s", "--seconds", type=float, default=3)
    p.add_argument("--device", default="cpu", help="torch's name of where to train, such as cuda")
    p.add_argument("--compile", action="store_true", help="torch.compile the model and the loss")
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    torch.set_default_device(a.device)
    torch.backends.cudnn.allow_tf32 = False  # as products are by default: float32 throughout
    for name, make, optimizer, (x, t) in workloads():
        if not re.search(a.filter, name):
            continue
        at_start = process_mb()
        step = step_of(make, optimizer, x, t, a.compile)
        before = time.perf_counter()
        step()
        first = time.perf_counter() - before
        step()
        times, begin = [], time.perf_counter()
        while len(times) < 5 or (time.perf_counter() - begin < a.seconds and len(times) < 400):
            before = time.perf_counter()
            step()
            times.append(time.perf_counter() - before)
        print(f"{name},median_ms={statistics.median(times) * 1e3:.3f},min_ms={min(times) * 1e3:.3f},"
              f"first_step_ms={first * 1e3:.1f},process_mb={process_mb():.0f},grown_mb={process_mb() - at_start:.0f}", flush=True)


if __name__ == "__main__":
    main()
