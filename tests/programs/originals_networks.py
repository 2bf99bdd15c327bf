"""Originals of programs that run and train neural networks, with torch's own modules."""
import numpy as np
import torch
from torch import nn

from original import integers, normal, program, tensors, uniform

F = nn.functional


def load(module, *values):
    """Gives the module's parameters values, in torch's order, and returns it as one of float64 for inference."""
    with torch.no_grad():
        for p, v in zip(module.double().parameters(), values, strict=True):
            p.copy_(torch.as_tensor(v))
    return module.eval()


def recurrent(gates):
    return lambda t, n, i, h: dict(x=normal(n, t, i), w=normal(gates * h, i, scale=0.5),
                                   u=normal(gates * h, h, scale=0.5),
                                   b=normal(gates * h, scale=0.2), c=normal(gates * h, scale=0.2))


@program(recurrent(4), (7, 3, 4, 5), (7, 2, 3, 6))
def lstm_sequence(x, w, u, b, c):
    cell = load(nn.LSTM(x.shape[-1], u.shape[-1], batch_first=True), w, u, b, c)
    out, (h, state) = cell(*tensors(x))
    return dict(out=out, h=h[0], state=state[0])


@program(recurrent(3), (6, 3, 4, 5), (6, 4, 2, 3))
def gru_sequence(x, w, u, b, c):
    cell = load(nn.GRU(x.shape[-1], u.shape[-1], batch_first=True), w, u, b, c)
    out, h = cell(*tensors(x))
    return dict(out=out, h=h[0])


@program(lambda n, t, e, f: dict(x=normal(n, t, e), qkv=normal(3 * e, e, scale=0.3),
                                 qkv_bias=normal(3 * e, scale=0.1), out=normal(e, e, scale=0.3),
                                 out_bias=normal(e, scale=0.1), up=normal(f, e, scale=0.3), up_bias=normal(f, scale=0.1), down=normal(e, f, scale=0.3),
                                 down_bias=normal(e, scale=0.1), gain1=normal(e), shift1=normal(e), gain2=normal(e), shift2=normal(e), heads=2),
         (2, 5, 8, 12), (3, 7, 6, 10))
def encoder_block(x, heads, **weights):
    f, e = weights["up"].shape
    block = load(nn.TransformerEncoderLayer(e, heads, f, activation="gelu", batch_first=True, norm_first=True),
                 *weights.values())
    x, = tensors(x)
    late = nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype)
    return dict(out=block(x), causal=block(x, src_mask=late))


@program(lambda n, size, o: dict(x=normal(n, 1, size, size), w1=normal(o, 1, 3, 3, scale=0.4),
                                 b1=normal(o, scale=0.1), mean=normal(o, scale=0.1),
                                 var=uniform(o, low=0.5), gain=normal(o), shift=normal(o), w2=normal(2 * o, o, 3, 3, scale=0.3),
                                 b2=normal(2 * o, scale=0.1),
                                 w3=normal(10, 2 * o * (size // 4) ** 2, scale=0.2), b3=normal(10),
                                 label=integers(0, 10, n)),
         (2, 8, 3), (3, 12, 2))
def digit_network(x, w1, b1, mean, var, gain, shift, w2, b2, w3, b3, label):
    x, w1, b1, mean, var, gain, shift, w2, b2, w3, b3, label = tensors(x, w1, b1, mean, var, gain, shift, w2, b2, w3,
                                                                       b3, label)
    x = F.batch_norm(F.conv2d(x, w1, b1, padding=1), mean, var, gain, shift)
    x = F.max_pool2d(F.relu(x), 2)
    x = F.max_pool2d(F.relu(F.conv2d(x, w2, b2, padding=1)), 2)
    scores = F.log_softmax(F.linear(torch.flatten(x, 1), w3, b3), dim=1)
    return dict(scores=scores, answer=scores.argmax(1), loss=F.nll_loss(scores, label), best=scores.topk(3).indices)


@program(lambda n, i, h, k: dict(x=normal(n, i), label=integers(0, k, n), w1=normal(i, h, scale=0.4),
                                 b1=normal(h, scale=0.1), w2=normal(h, k, scale=0.4), b2=normal(k, scale=0.1), steps=5),
         (16, 5, 7, 3), (20, 4, 6, 4))
def train_network(x, label, w1, b1, w2, b2, steps):
    x, label, *weights = tensors(x, label, w1, b1, w2, b2)
    for w in weights:
        w.requires_grad_()
    optimiser, losses = torch.optim.Adam(weights, lr=0.05), []
    for _ in range(steps):
        w1, b1, w2, b2 = weights
        scores = torch.relu(x @ w1 + b1) @ w2 + b2
        loss = F.cross_entropy(scores, label)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.detach())
    return dict(w1=weights[0], b1=weights[1], w2=weights[2], b2=weights[3], losses=torch.stack(losses))


@program(lambda t, s, e, words: dict(embedding=normal(words, e), word=integers(0, words, t), memory=normal(s, e),
                                     w=normal(e, e, scale=0.4), mix=normal(e, 2 * e, scale=0.4)), (4, 6, 5, 9),
                                     (5, 8, 4, 7))
def translation_attention(embedding, word, memory, w, mix):
    embedding, word, memory, w, mix = tensors(embedding, word, memory, w, mix)
    asked = F.embedding(word, embedding)
    weight = F.softmax(asked @ w @ memory.T, dim=-1)
    state = torch.tanh(F.linear(torch.cat([asked, weight @ memory], -1), mix))
    scores = F.log_softmax(state @ embedding.T, dim=-1)
    return dict(weight=weight, scores=scores, looks_at=weight.argmax(-1),
                perplexity=torch.exp(F.nll_loss(scores, word)))


@program(lambda n, c, size: dict(x=normal(n, c, size, size), angle=uniform(n, low=-0.5, high=0.5),
                                 stretch=uniform(n, low=0.8, high=1.2)), (2, 2, 6), (3, 3, 5))
def spatial_transformer(x, angle, stretch):
    x, angle, stretch = tensors(x, angle, stretch)
    cos, sin, zero = torch.cos(angle) * stretch, torch.sin(angle) * stretch, torch.zeros_like(angle)
    theta = torch.stack([torch.stack([cos, -sin, zero + 0.1], -1), torch.stack([sin, cos, zero], -1)], 1)
    grid = F.affine_grid(theta, x.shape, align_corners=False)
    return dict(grid=grid, turned=F.grid_sample(x, grid, align_corners=False))


@program(lambda n, size, o: dict(x=normal(n, 2, size, size), label=integers(0, 3, n), w=normal(o, 2, 3, 3, scale=0.3),
                                 b=normal(o, scale=0.1),
                                 v=normal(3, o * (size // 2) ** 2, scale=0.2), steps=4), (5, 6, 3), (7, 8, 2))
def train_convolutions(x, label, w, b, v, steps):
    x, label, *weights = tensors(x, label, w, b, v)
    for p in weights:
        p.requires_grad_()
    optimiser, losses = torch.optim.SGD(weights, lr=0.1, momentum=0.9), []
    for _ in range(steps):
        w, b, v = weights
        seen = F.max_pool2d(F.relu(F.conv2d(x, w, b, padding=1)), 2)
        loss = F.cross_entropy(seen.flatten(1) @ v.T, label)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.detach())
    return dict(w=weights[0], b=weights[1], v=weights[2], losses=torch.stack(losses))


def lattice(n):
    at = np.stack(np.meshgrid(np.arange(n), np.arange(2), np.arange(2)), -1).reshape(-1, 3)
    return dict(place=(1.15 * at + normal(*at.shape, scale=0.02)).astype("float32"), steps=6)


@program(lattice, (2,), (3,))
def molecules(place, steps):
    def force(place):
        place = place.detach().requires_grad_()
        square = torch.pdist(place) ** 2
        energy = (4 * (square**-6 - square**-3)).sum()
        return energy.detach(), -torch.autograd.grad(energy, place)[0]

    place, = tensors(place)
    speed, dt, energies = torch.zeros_like(place), 0.005, []
    _, push = force(place)
    for _ in range(steps):
        half = speed + 0.5 * dt * push
        place = place + dt * half
        energy, push = force(place)
        speed = half + 0.5 * dt * push
        energies.append(energy + 0.5 * (speed**2).sum())
    return dict(place=place, energies=torch.stack(energies))


@program(lambda n: dict(x=uniform(n, low=0.6, high=1.4), steps=3), (3,), (4,))
def gradient_descent_twice(x, steps):
    def valley(x):
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    x, = tensors(x)
    heights = []
    for _ in range(steps):
        slope = torch.autograd.functional.jacobian(valley, x)
        x = x - torch.linalg.solve(torch.autograd.functional.hessian(valley, x), slope)
        heights.append(valley(x))
    return dict(x=x, heights=torch.stack(heights))
