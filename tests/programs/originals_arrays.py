"""Originals of short answers to questions on arrays, as lists of exercises ask them."""
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from original import integers, normal, program, uniform


@program(lambda n: dict(x=np.cumsum(normal(n)).astype(np.float32), window=5), (40,), (57,))
def moving_averages(x, window):
    total = np.cumsum(np.concatenate([[0], x]))
    simple = (total[window:] - total[:-window]) / window
    weight = np.arange(1, window + 1)
    windows = sliding_window_view(x, window)
    weighted = windows @ weight / weight.sum()
    smooth = x[0]
    exponential = [smooth := 0.7 * smooth + 0.3 * v for v in x]
    fall = (np.maximum.accumulate(x) - x).max()
    return dict(simple=simple, weighted=weighted, exponential=np.array(exponential), highest=windows.max(1),
                score=(x[window - 1 :] - windows.mean(1)) / windows.std(1), fall=fall)


@program(lambda n, m: dict(x=normal(n, m), whole=integers(0, 8, n, m), value=np.float32(0.4)), (8, 6), (10, 7))
def array_puzzles(x, whole, value):
    n, m = x.shape
    board = np.zeros((n, m), int)
    board[1::2, ::2] = board[::2, 1::2] = 1
    frame = np.ones((n, m))
    frame[1:-1, 1:-1] = 0
    negated = whole.copy()
    negated[(3 < whole) & (whole < 6)] *= -1
    swapped = x.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    cut = x.copy()
    cut.flat[x.argmax()] = 0
    a, b = np.arange(n), np.arange(m) + 0.5
    return dict(board=board, frame=frame, negated=negated, swapped=swapped, cut=cut, cauchy=1 / (a[:, None] - b),
                nearest=x.flat[np.abs(x - value).argmin()], centred=x - x.mean(1, keepdims=True), by_column=x[x[:, 1].argsort()],
                ranked=x.ravel().argsort().argsort().reshape(x.shape), best=np.sort(x.ravel())[::-1][:5],
                unequal=(whole[:, 1:] != whole[:, :-1]).any(1), common=np.bincount(whole.ravel()).argmax())


@program(lambda n, k: dict(x=normal(n, n), y=normal(k, 3), bins=integers(0, 6, 20), weight=uniform(20),
                           bits=integers(0, 256, 7).astype(np.uint8)), (8, 5), (12, 6))
def more_array_puzzles(x, y, bins, weight, bits):
    n = len(x)
    blocks = x.reshape(n // 4, 4, n // 4, 4).sum((1, 3))
    upper = np.triu(x) + np.triu(x, 1).T
    apart = np.sqrt(((y[:, None] - y[None]) ** 2).sum(-1))
    collected = np.zeros(6)
    np.add.at(collected, bins, weight)
    means = np.bincount(bins, weight, 6) / np.maximum(np.bincount(bins, minlength=6), 1)
    unpacked = (bits[:, None] & (1 << np.arange(8))) != 0
    grid = np.stack(np.meshgrid(np.arange(3), np.arange(4), indexing="ij"), -1).reshape(-1, 2)
    spread = np.zeros(4 * 5 - 3 + 1)
    spread[: 4 * 5 - 3 : 4] = y[:5, 0]
    middle = np.sort(x.ravel())[len(x.ravel()) // 2]
    angle, radius = np.arctan2(y[:, 1], y[:, 0]), np.hypot(y[:, 0], y[:, 1])
    one_hot = np.eye(6)[bins]
    return dict(blocks=blocks, upper=upper, apart=apart, collected=collected, means=means, unpacked=unpacked,
                grid=grid, spread=spread,
                middle=middle, polar=np.stack([radius, angle], 1), one_hot=one_hot, diagonal=np.diag(x @ x), product=np.einsum("ij,ji->i", x, x),
                runs=np.flatnonzero(np.diff(bins) != 0), intersection=np.intersect1d(bins[:10], bins[10:]))


@program(lambda n: dict(n=n), (60,), (63,))
def prime_sieve(n):
    prime = np.ones(n, bool)
    prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if prime[i]:
            prime[i * i :: i] = False
    found = np.flatnonzero(prime)
    return dict(found=found, gap=np.diff(found).max(), twins=(np.diff(found) == 2).sum())


@program(lambda n, m: dict(x=np.where(uniform(n, m) < 0.2, np.nan, normal(n, m)).astype(np.float32)), (14, 4), (19, 3))
def missing_measurements(x):
    mean = np.nanmean(x, axis=0)
    filled = np.where(np.isnan(x), mean, x)
    score = (filled - filled.mean(0)) / filled.std(0, ddof=1)
    t = (filled[:, 0] - filled[:, 1]).mean() / ((filled[:, 0] - filled[:, 1]).std(ddof=1) / np.sqrt(len(x)))
    column = x[:, 0]
    seen = np.flatnonzero(~np.isnan(column))
    line = np.interp(np.arange(len(x)), seen, column[seen])
    complete = x[~np.isnan(x).any(1)]
    return dict(filled=filled, score=score, t=t, line=line, complete=complete, missing=np.isnan(x).sum(0),
                correlation=np.corrcoef(filled.T),
                quartiles=np.nanpercentile(filled, [25, 50, 75], axis=0))
