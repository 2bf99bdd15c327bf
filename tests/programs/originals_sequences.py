"""Originals of programs along sequences: hidden states, alignments, searches."""
import numpy as np

from original import integers, normal, program, uniform


def chances(*shape):
    p = uniform(*shape, low=0.05)
    return (p / p.sum(-1, keepdims=True)).astype(np.float32)


@program(lambda n, k, t: dict(start=chances(n), step=chances(n, n), emit=chances(n, k), seen=integers(0, k, t)),
         (4, 5, 12), (3, 6, 12))
def viterbi(start, step, emit, seen):
    best = np.log(start) + np.log(emit[:, seen[0]])
    came = []
    for s in seen[1:]:
        score = best[:, None] + np.log(step)
        came.append(score.argmax(0))
        best = score.max(0) + np.log(emit[:, s])
    path = [best.argmax()]
    for back in reversed(came):
        path.append(back[path[-1]])
    return dict(path=np.array(path[::-1]), score=best.max())


@program(lambda n, k, t: dict(start=chances(n), step=chances(n, n), emit=chances(n, k), seen=integers(0, k, t)),
         (3, 4, 10), (5, 4, 10))
def forward_backward(start, step, emit, seen):
    forward = [start * emit[:, seen[0]]]
    for s in seen[1:]:
        forward.append(forward[-1] @ step * emit[:, s])
    backward = [np.ones(len(start))]
    for s in seen[:0:-1]:
        backward.append(step @ (emit[:, s] * backward[-1]))
    together = np.array(forward) * np.array(backward[::-1])
    return dict(posterior=together / together.sum(1, keepdims=True), likelihood=np.log(forward[-1].sum()),
                likely=together.argmax(1))


@program(lambda n, m: dict(a=integers(0, 4, n), b=integers(0, 4, m)), (9, 11), (8, 12))
def sequence_alignment(a, b):
    n, m = len(a), len(b)
    score = np.zeros((n + 1, m + 1), int)
    score[:, 0], score[0] = -2 * np.arange(n + 1), -2 * np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            same = score[i - 1, j - 1] + (1 if a[i - 1] == b[j - 1] else -1)
            score[i, j] = max(same, score[i - 1, j] - 2, score[i, j - 1] - 2)
    return dict(score=score, best=score[n, m])


@program(lambda n, m: dict(x=normal(n), y=normal(m)), (8, 10), (8, 13))
def time_warping(x, y):
    cost = np.full((len(x) + 1, len(y) + 1), np.inf)
    cost[0, 0] = 0
    for i in range(len(x)):
        for j in range(len(y)):
            cost[i + 1, j + 1] = abs(x[i] - y[j]) + min(cost[i, j], cost[i, j + 1], cost[i + 1, j])
    return dict(distance=cost[-1, -1], cost=cost[1:, 1:])


@program(lambda words, k, steps: dict(step=chances(words, words), k=k, steps=steps), (9, 3, 6), (12, 3, 6))
def beam_search(step, k, steps):
    logs = np.log(step)
    beams = [([0], 0.0)]
    for _ in range(steps):
        longer = [(text + [w], score + logs[text[-1], w]) for text, score in beams for w in range(len(logs))]
        beams = sorted(longer, key=lambda beam: -beam[1])[:k]
    return dict(texts=np.array([text for text, _ in beams]), scores=np.array([score for _, score in beams]))


@program(lambda words, d, steps: dict(embedding=normal(words, d), recurrent=normal(d, d, scale=0.5),
                                      output=normal(d, words), chance=uniform(steps), k=4), (11, 6, 12), (14, 5, 12))
def sample_text(embedding, recurrent, output, chance, k):
    state, word, text = np.zeros(len(recurrent)), 0, []
    for u in chance:
        state = np.tanh(embedding[word] + state @ recurrent)
        scores = state @ output / 0.8
        likely = np.argsort(-scores)[:k]
        p = np.exp(scores[likely] - scores[likely].max())
        running = np.cumsum(p / p.sum())
        word = likely[min(np.searchsorted(running, u, side="right"), k - 1)]
        text.append(word)
    return dict(text=np.array(text), state=state)
