"""Originals of programs that learn from points, and of those that look for near ones."""
import numpy as np

from original import integers, normal, program, uniform


def clusters(n, features, kinds):
    centres = normal(kinds, features, scale=3)
    label = integers(0, kinds, n)
    return centres[label] + normal(n, features, scale=0.6), label


def with_clusters(n, features, kinds, **more):
    points, label = clusters(n, features, kinds)
    return dict(points=points, label=label, **more)


@program(lambda n, m, d, k: dict(**with_clusters(n, d, 3), asked=normal(m, d, scale=3), k=k), (40, 7, 2, 3),
         (53, 9, 4, 5))
def k_nearest_neighbours(points, label, asked, k):
    difference = asked[:, None, :] - points[None, :, :]
    distance = np.sqrt((difference**2).sum(-1))
    nearest = np.argsort(distance, axis=1)[:, :k]
    votes = np.stack([np.bincount(row, minlength=3) for row in label[nearest]])
    return dict(nearest=nearest, votes=votes, answer=votes.argmax(1), farthest=distance.max())


@program(lambda n, d, k: dict(points=clusters(n, d, k)[0], k=k, rounds=8), (60, 2, 4), (45, 3, 5))
def k_means(points, k, rounds):
    centres = points[:k].copy()
    for _ in range(rounds):
        distance = ((points[:, None] - centres[None]) ** 2).sum(2)
        nearest = distance.argmin(1)
        for c in range(k):
            if np.any(nearest == c):
                centres[c] = points[nearest == c].mean(0)
    distance = ((points[:, None] - centres[None]) ** 2).sum(2)
    return dict(centres=centres, size=np.bincount(distance.argmin(1), minlength=k), inertia=distance.min(1).sum())


@program(lambda n, d, k: dict(points=clusters(n, d, k)[0], start=normal(k, d, scale=2), rounds=6), (50, 2, 3),
         (37, 3, 2))
def gaussian_mixture(points, start, rounds):
    mean, n = start.copy(), len(points)
    variance, weight = np.ones_like(mean), np.full(len(mean), 1 / len(mean))
    for _ in range(rounds):
        square = (points[:, None] - mean) ** 2 / variance
        logarithm = np.log(weight) - 0.5 * (square + np.log(2 * np.pi * variance)).sum(2)
        evidence = np.logaddexp.reduce(logarithm, axis=1)
        share = np.exp(logarithm - evidence[:, None])
        total = share.sum(0)
        weight = total / n
        mean = share.T @ points / total[:, None]
        variance = share.T @ points**2 / total[:, None] - mean**2 + 1e-3
    return dict(weight=weight, mean=mean, variance=variance, likelihood=evidence.sum(), kind=share.argmax(1))


def stretched(n, d):
    points = normal(n, d) * np.linspace(3, 0.5, d, dtype=np.float32)
    return dict(points=points @ normal(d, d) + 1, kept=2)


@program(stretched, (40, 5), (61, 4))
def principal_components(points, kept):
    centred = points - points.mean(0)
    variance, direction = np.linalg.eigh(np.cov(centred.T))
    variance, direction = variance[::-1], direction[:, ::-1].T
    direction *= np.sign(direction[np.arange(len(direction)), np.abs(direction).argmax(1)])[:, None]
    share = variance / variance.sum()
    return dict(variance=variance[:kept], direction=direction[:kept], share=share[:kept],
                projected=centred @ direction[:kept].T)


@program(stretched, (40, 5), (61, 4))
def power_iteration(points, kept):
    return principal_components(points, kept)


@program(lambda n, d: dict(x=normal(n, d), slope=normal(d), noise=normal(n, scale=0.1), steps=40,
                           rate=np.float32(0.25)), (30, 3), (47, 5))
def linear_regression(x, slope, noise, steps, rate):
    y = x @ slope + 0.75 + noise
    w, b = np.zeros(x.shape[1]), 0.0
    losses = []
    for _ in range(steps):
        error = x @ w + b - y
        losses.append((error**2).mean())
        w = w - rate * x.T @ error / len(y)
        b = b - rate * error.mean()
    r2 = 1 - ((y - x @ w - b) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    return dict(w=w, b=b, losses=np.array(losses), r2=r2)


@program(lambda n, d: dict(x=normal(n, d), truth=normal(d), chance=uniform(n), steps=6), (80, 3), (65, 4))
def logistic_newton(x, truth, chance, steps):
    y = (chance < 1 / (1 + np.exp(-(x @ truth)))).astype(float)
    w = np.zeros(x.shape[1])
    for _ in range(steps):
        p = 1 / (1 + np.exp(-(x @ w)))
        hessian = (x.T * (p * (1 - p))) @ x + 0.1 * np.eye(x.shape[1])
        w = w + np.linalg.solve(hessian, x.T @ (y - p) - 0.1 * w)
    p = 1 / (1 + np.exp(-(x @ w)))
    return dict(w=w, right=((p > 0.5) == (y > 0.5)).mean(), loss=-(y * np.log(p) + (1 - y) * np.log(1 - p)).mean())


@program(lambda n, degree: dict(x=uniform(n, low=-1.0), coefficient=normal(degree + 1), noise=normal(n, scale=0.05)),
         (40, 3), (55, 3))
def polynomial_fit(x, coefficient, noise):
    y = np.polyval(coefficient, x) + noise
    found = np.polyfit(x, y, len(coefficient) - 1)
    rest = y - np.polyval(found, x)
    return dict(found=found, rest=(rest**2).sum(), at=np.polyval(found, np.linspace(-1, 1, 5)))


@program(lambda n, d, k: dict(train=with_clusters(n, d, k)["points"], label=np.arange(n) % k,
                              asked=normal(6, d, scale=2)), (45, 3, 3), (32, 2, 4))
def naive_bayes(train, label, asked):
    kinds = label.max() + 1
    mean = np.stack([train[label == c].mean(0) for c in range(kinds)])
    variance = np.stack([train[label == c].var(0) for c in range(kinds)]) + 0.01
    prior = np.bincount(label) / len(label)
    logarithm = np.log(prior) - 0.5 * (np.log(2 * np.pi * variance) + (asked[:, None] - mean) ** 2 / variance).sum(-1)
    posterior = np.exp(logarithm - np.logaddexp.reduce(logarithm, axis=1, keepdims=True))
    return dict(mean=mean, variance=variance, posterior=posterior, answer=posterior.argmax(1))


@program(lambda words, d, k: dict(vectors=normal(words, d), asked=integers(0, words, 4), k=k), (30, 8, 3), (41, 6, 5))
def word_neighbours(vectors, asked, k):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    likeness = unit[asked] @ unit.T
    likeness[np.arange(len(asked)), asked] = -np.inf
    nearest = np.argsort(-likeness, axis=1)[:, :k]
    a, b, c = asked[:3]
    analogy = unit @ (unit[b] - unit[a] + unit[c])
    analogy[[a, b, c]] = -np.inf
    return dict(nearest=nearest, likeness=np.take_along_axis(likeness, nearest, 1), analogy=analogy.argmax())


@program(lambda tokens, texts, words: dict(text=np.sort(integers(0, texts, tokens)), word=integers(0, words, tokens),
                                           texts=texts, words=words),
         (90, 6, 15), (120, 8, 11))
def tf_idf(text, word, texts, words):
    counts = np.zeros((texts, words))
    np.add.at(counts, (text, word), 1)
    frequency = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    rarity = np.log((1 + texts) / (1 + (counts > 0).sum(0))) + 1
    weight = frequency * rarity
    weight /= np.maximum(np.linalg.norm(weight, axis=1, keepdims=True), 1e-12)
    likeness = weight @ weight.T
    np.fill_diagonal(likeness, -1)
    return dict(weight=weight, nearest=likeness.argmax(1), keyword=weight.argmax(1))


@program(lambda n: dict(a=normal(n, n) + 3 * np.eye(n, dtype=np.float32), b=normal(n)), (6,), (9,))
def gauss_jordan(a, b):
    return dict(inverse=np.linalg.inv(a), x=np.linalg.solve(a, b))
