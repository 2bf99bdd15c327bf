#!/usr/bin/env python3
"""Writes tests/golden/optim_*.txt: what torch's optimizers, schedules and clipping answer, in float64, for tests/training/optim.

    pip install torch numpy && python3 tests/golden/make_optim.py

optim_updates.txt: `start` has nine numbers, a 2 by 3 weight and a bias of 3; `gradients` those of each step, `-` for no gradient of
the bias. Then a case a line: OPTIMIZER NAME=VALUE ... | STEP numbers | STEP numbers ... with both parameters after these steps.
optim_schedules.txt: SCHEDULE NAME=VALUE ... | learning rates, of the constructor and after each step | momenta, if they change.
optim_clip.txt: NORM_TYPE MAX_NORM | norm | gradients after it.
optim_average.txt: DECAY (- for the mean) | averages after each update of the start by the gradients.
optim_lbfgs.txt: NAME=VALUE ... | loss and parameters after each step.
Lion and LAMB, which torch lacks, are written here after their papers.
"""
import math
import os

import numpy as np
import torch
from torch.optim import lr_scheduler as S

OUT = os.path.dirname(os.path.abspath(__file__))
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(20261122)
STEPS, SHOWN = 16, (1, 2, 3, 6, 7, 16)
start = rng.normal(size=9)
gradients = rng.normal(size=(STEPS, 9)) * 0.5
gradients[:, 1] = 0  # never moves: the root of the squares stays 0
gradients[8, :3] *= 1e3
without_bias = {3, 9}


def numbers(v):
    return " ".join(repr(float(x)) for x in np.asarray(v).reshape(-1))


def option(v):
    return ",".join(map(option, v)) if isinstance(v, (tuple, list)) else str(int(v)) if isinstance(v, bool) else str(v)


def head(name, options):
    return " ".join([name] + [f"{k}={option(v)}" for k, v in options.items()])


def write(name, lines):
    with open(os.path.join(OUT, f"optim_{name}.txt"), "w") as f:
        f.write("\n".join(lines) + "\n")


def parameters():
    return torch.nn.Parameter(torch.tensor(start[:6]).reshape(2, 3)), torch.nn.Parameter(torch.tensor(start[6:]))


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, maximize=False):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay, maximize=maximize))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                g = -p.grad if group["maximize"] else p.grad
                m = self.state[p].get("m", torch.zeros_like(p))
                b1, b2 = group["betas"]
                c = b1 * m + (1 - b1) * g
                p -= group["lr"] * (torch.sign(c) + group["weight_decay"] * p)
                self.state[p]["m"] = b2 * m + (1 - b2) * g


class LAMB(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0, maximize=False):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                g = -p.grad if group["maximize"] else p.grad
                s = self.state[p]
                b1, b2 = group["betas"]
                s["t"] = s.get("t", 0) + 1
                s["m"] = b1 * s.get("m", torch.zeros_like(p)) + (1 - b1) * g
                s["v"] = b2 * s.get("v", torch.zeros_like(p)) + (1 - b2) * g * g
                r = s["m"] / (1 - b1 ** s["t"]) / ((s["v"] / (1 - b2 ** s["t"])).sqrt() + group["eps"])
                r = r + group["weight_decay"] * p
                a, b = p.norm(), r.norm()
                p -= group["lr"] * (a / b if a > 0 and b > 0 else 1.0) * r


def updates():
    O = torch.optim
    cases = [(O.SGD, [{}, dict(lr=0.1), dict(lr=0.1, weight_decay=0.2), dict(lr=0.1, maximize=True), dict(lr=0.1, momentum=0.9),
                      dict(lr=0.1, momentum=0.9, dampening=0.3), dict(lr=0.1, momentum=0.8, nesterov=True),
                      dict(lr=0.1, momentum=0.9, dampening=0.5, weight_decay=0.1, maximize=True)]),
             (O.Adam, [{}, dict(lr=0.1), dict(lr=0.1, betas=(0.7, 0.9)), dict(lr=0.1, eps=0.1), dict(lr=0.1, weight_decay=0.2),
                       dict(lr=0.1, amsgrad=True, betas=(0.5, 0.6)), dict(lr=0.1, maximize=True),
                       dict(lr=0.1, weight_decay=0.2, decoupled_weight_decay=True)]),
             (O.AdamW, [{}, dict(lr=0.1), dict(lr=0.1, weight_decay=0.3, amsgrad=True, betas=(0.5, 0.6)), dict(lr=0.1, maximize=True)]),
             (O.NAdam, [{}, dict(lr=0.1), dict(lr=0.1, betas=(0.7, 0.9), eps=0.01), dict(lr=0.1, weight_decay=0.2),
                        dict(lr=0.1, weight_decay=0.2, decoupled_weight_decay=True), dict(lr=0.1, momentum_decay=0.3, maximize=True)]),
             (O.RAdam, [{}, dict(lr=0.1), dict(lr=0.1, betas=(0.7, 0.8), eps=0.01), dict(lr=0.1, weight_decay=0.2),
                        dict(lr=0.1, weight_decay=0.2, decoupled_weight_decay=True), dict(lr=0.1, maximize=True)]),
             (O.Adamax, [{}, dict(lr=0.1), dict(lr=0.1, betas=(0.7, 0.8), eps=0.01), dict(lr=0.1, weight_decay=0.2, maximize=True)]),
             (O.RMSprop, [{}, dict(lr=0.1), dict(lr=0.1, alpha=0.7, eps=0.01), dict(lr=0.1, weight_decay=0.2), dict(lr=0.1, momentum=0.8),
                          dict(lr=0.1, centered=True), dict(lr=0.01, centered=True, momentum=0.8, maximize=True)]),
             (O.Adagrad, [{}, dict(lr=0.1), dict(lr=0.1, lr_decay=0.3), dict(lr=0.1, initial_accumulator_value=0.5),
                          dict(lr=0.1, weight_decay=0.2, eps=0.1, maximize=True)]),
             (O.Adadelta, [{}, dict(lr=0.5), dict(rho=0.7, eps=0.01), dict(weight_decay=0.2, maximize=True)]),
             (Lion, [{}, dict(lr=0.1), dict(lr=0.1, betas=(0.5, 0.7)), dict(lr=0.1, weight_decay=0.2, maximize=True)]),
             (LAMB, [{}, dict(lr=0.1), dict(lr=0.1, betas=(0.5, 0.7), eps=0.01), dict(lr=0.1, weight_decay=0.2, maximize=True)])]
    lines = ["start | " + numbers(start)]
    for i in range(STEPS):
        lines.append("gradients | " + numbers(gradients[i, :6]) + " " + ("-" if i + 1 in without_bias else numbers(gradients[i, 6:])))
    for make, all_options in cases:
        for options in all_options:
            w, b = parameters()
            o = make([w, b], **options)
            line = head(make.__name__, options)
            for i in range(1, STEPS + 1):
                w.grad = torch.tensor(gradients[i - 1, :6]).reshape(2, 3)
                b.grad = None if i in without_bias else torch.tensor(gradients[i - 1, 6:])
                o.step()
                if i in SHOWN:
                    line += f" | {i} " + numbers(torch.cat([w.detach().reshape(-1), b.detach()]))
            lines.append(line)
    write("updates", lines)


def schedules():
    lines = []

    def case(name, options, make, momentum=None, steps=50, metrics=None):
        w = torch.nn.Parameter(torch.zeros(1))
        o = torch.optim.SGD([w], lr=0.5, momentum=0.9) if momentum != "betas" else torch.optim.Adam([w], lr=0.5)
        s = make(o)
        rates, momenta = [], []
        for i in range(steps + 1):
            if i:
                o.step()
                s.step(*([metrics[i - 1]] if metrics else []))
            group = o.param_groups[0]
            rates.append(group["lr"])
            momenta.append(group["betas"][0] if momentum == "betas" else group["momentum"])
        line = head(name, options) + " | " + numbers(rates)
        lines.append(line + (" | " + numbers(momenta) if momentum else ""))

    def plain(name, *all_options):
        for options in all_options:
            case(name, options, lambda o: getattr(S, name)(o, **options))

    plain("StepLR", dict(step_size=3), dict(step_size=7, gamma=0.5))
    plain("MultiStepLR", dict(milestones=[3, 10, 30]), dict(milestones=[5, 5, 20], gamma=0.7))
    plain("ExponentialLR", dict(gamma=0.9))
    plain("ConstantLR", {}, dict(factor=0.25, total_iters=10))
    plain("LinearLR", {}, dict(start_factor=0.1, end_factor=0.8, total_iters=20))
    plain("PolynomialLR", {}, dict(total_iters=30, power=2.0))
    plain("CosineAnnealingLR", dict(T_max=50), dict(T_max=10, eta_min=0.05), dict(T_max=7))
    plain("CosineAnnealingWarmRestarts", dict(T_0=10), dict(T_0=5, T_mult=2, eta_min=0.01))
    case("LambdaLR", {}, lambda o: S.LambdaLR(o, lambda e: 0.95**e))
    case("MultiplicativeLR", {}, lambda o: S.MultiplicativeLR(o, lambda e: 1 - 0.1 / (1 + e)))
    for options in [dict(max_lr=1.0, total_steps=50), dict(max_lr=1.0, total_steps=60, pct_start=0.2, anneal_strategy="linear", div_factor=10.0,
                                                          final_div_factor=100.0), dict(max_lr=1.0, total_steps=50, three_phase=True)]:
        for momentum in ["momentum", "betas"]:
            case("OneCycleLR", dict(options, of=momentum), lambda o: S.OneCycleLR(o, **options), momentum)
    for options in [dict(base_lr=0.1, max_lr=1.0, step_size_up=5), dict(base_lr=0.1, max_lr=1.0, step_size_up=5, step_size_down=8, mode="triangular2"),
                    dict(base_lr=0.1, max_lr=1.0, step_size_up=6, mode="exp_range", gamma=0.97)]:
        case("CyclicLR", dict(options, of="momentum"), lambda o: S.CyclicLR(o, **options), "momentum")
    case("WarmUp", {}, lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.01, total_iters=8), S.CosineAnnealingLR(o, 42)], [8]))
    case("ThreeInTurn", {}, lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 20), S.ExponentialLR(o, 0.9), S.CosineAnnealingWarmRestarts(o, 6)], [5, 20]))
    case("OneAfterOther", {}, lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.1, 5), S.ExponentialLR(o, 0.95), S.StepLR(o, 20)]))
    metrics = [1.0, 0.9, 0.8, 0.8, 0.8, 0.81, 0.79995, 0.5] + [0.5 + 0.01 * math.sin(i) for i in range(20)] + [0.3] * 22
    lines.append("metrics | " + numbers(metrics))
    for options in [dict(patience=2), dict(patience=1, factor=0.5, cooldown=3, min_lr=0.01, threshold=0.02, threshold_mode="abs"),
                    dict(mode="max", patience=3, factor=0.3)]:
        case("ReduceLROnPlateau", options, lambda o: S.ReduceLROnPlateau(o, **options), metrics=metrics)
    write("schedules", lines)


def clip():
    lines = []
    for norm_type in [1.0, 2.0, 3.0, math.inf]:
        for max_norm in [0.1, 100.0]:
            w, b = parameters()
            w.grad, b.grad = torch.tensor(gradients[0, :6]).reshape(2, 3), torch.tensor(gradients[0, 6:])
            n = torch.nn.utils.clip_grad_norm_([w, b], max_norm, norm_type)
            lines.append(f"{norm_type} {max_norm} | " + numbers([n.item()]) + " | " + numbers(torch.cat([w.grad.reshape(-1), b.grad])))
    write("clip", lines)


def average():
    lines = []
    for decay in [None, 0.9]:
        model = torch.nn.Linear(3, 2)
        fn = None if decay is None else torch.optim.swa_utils.get_ema_multi_avg_fn(decay)
        averaged = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=fn)
        line = "-" if decay is None else str(decay)
        for i in range(6):
            with torch.no_grad():
                model.weight.copy_(torch.tensor(start[:6] + gradients[i, :6]).reshape(2, 3))
            averaged.update_parameters(model)
            line += " | " + numbers(averaged.module.weight.detach())
        lines.append(line)
    write("average", lines)


def lbfgs():
    lines = []
    for options in [dict(max_iter=5), dict(lr=0.1, max_iter=4, history_size=2), dict(max_iter=6, line_search_fn="strong_wolfe"),
                    dict(max_iter=20, line_search_fn="strong_wolfe", history_size=3), dict(max_iter=4, line_search_fn="strong_wolfe", maximize=True)]:
        w, b = parameters()
        o = torch.optim.LBFGS([w, b], **options)
        sign = -1.0 if options.get("maximize") else 1.0

        def closure():
            o.zero_grad()
            x = torch.cat([w.reshape(-1), b])
            loss = sign * ((10 * (x[1:] - x[:-1] ** 2) ** 2).sum() + ((1 - x[:-1]) ** 2).sum())
            loss.backward()
            return loss

        line = head("LBFGS", options)
        for _ in range(5):
            loss = o.step(closure)
            line += " | " + numbers([loss.item()]) + " " + numbers(torch.cat([w.detach().reshape(-1), b.detach()]))
        lines.append(line)
    write("lbfgs", lines)


updates()
schedules()
clip()
average()
lbfgs()
