"""Originals of programs that step a state on, and of graphs."""
import numpy as np

from original import integers, normal, program, uniform


@program(lambda n: dict(links=integers(0, 4, n, n) == 0, damping=np.float32(0.85)), (12,), (17,))
def page_rank(links, damping):
    n = len(links)
    out = links.sum(0)
    step = np.where(out > 0, links / np.maximum(out, 1), 1 / n)
    rank, rounds = np.full(n, 1 / n), 0
    while True:
        new = damping * step @ rank + (1 - damping) / n
        rounds += 1
        if np.abs(new - rank).sum() < 1e-4:
            break
        rank = new
    return dict(rank=new, order=np.argsort(-new)[:3], rounds=rounds)


@program(lambda rows, columns: dict(cells=integers(0, 3, rows, columns) == 0, steps=8), (10, 12), (9, 15))
def life_by_slices(cells, steps):
    z = np.pad(cells, 1).astype(int)
    for _ in range(steps):
        n = (z[:-2, :-2] + z[:-2, 1:-1] + z[:-2, 2:] + z[1:-1, :-2] + z[1:-1, 2:] + z[2:, :-2] + z[2:, 1:-1] + z[2:, 2:])
        birth = (n == 3) & (z[1:-1, 1:-1] == 0)
        survive = ((n == 2) | (n == 3)) & (z[1:-1, 1:-1] == 1)
        z[...] = 0
        z[1:-1, 1:-1][birth | survive] = 1
    return dict(cells=z[1:-1, 1:-1], alive=z.sum())


@program(lambda rows, columns: dict(cells=integers(0, 3, rows, columns) == 0, steps=10), (8, 11), (13, 9))
def life_by_rolls(cells, steps):
    ages = np.zeros(cells.shape, int)
    for _ in range(steps):
        neighbours = sum(np.roll(cells, (i, j), (0, 1)).astype(int) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        cells = (neighbours == 3) | (cells & (neighbours == 2))
        ages[cells] += 1
        ages[~cells] = 0
    return dict(cells=cells, ages=ages, rows_alive=cells.any(1))


@program(lambda rows, columns: dict(rows=rows, columns=columns, steps=25), (12, 18), (15, 11))
def mandelbrot(rows, columns, steps):
    y, x = np.mgrid[-1.2 : 1.2 : rows * 1j, -2.0 : 0.6 : columns * 1j]
    c = x + 1j * y
    z, count = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(steps):
        inside = np.abs(z) <= 2
        z[inside] = z[inside] ** 2 + c[inside]
        count[inside] += 1
    return dict(count=count, inside=(count == steps).sum())


@program(lambda n: dict(start=uniform(n), steps=20, rate=np.float32(0.2)), (24,), (31,))
def heat_equation(start, steps, rate):
    u = start.copy()
    u[0], u[-1] = 0, 1
    for _ in range(steps):
        u[1:-1] = u[1:-1] + rate * (u[2:] - 2 * u[1:-1] + u[:-2])
    return dict(u=u, total=u.sum(), steepest=np.diff(u).max())


@program(lambda n: dict(n=n, steps=30, courant=np.float32(0.5)), (40,), (51,))
def wave_equation(n, steps, courant):
    x = np.linspace(0, 1, n)
    now = np.exp(-100 * (x - 0.3) ** 2)
    before = now.copy()
    energy = []
    for _ in range(steps):
        after = np.zeros_like(now)
        after[1:-1] = 2 * now[1:-1] - before[1:-1] + courant**2 * (now[2:] - 2 * now[1:-1] + now[:-2])
        before, now = now, after
        energy.append((now**2).sum())
    return dict(now=now, energy=np.array(energy), peak=np.abs(now).argmax())


@program(lambda n: dict(length=np.where((e := uniform(n, n)) < 0.4, e * 10, np.inf).astype(np.float32)), (9,), (13,))
def floyd_warshall(length):
    d = length.copy()
    np.fill_diagonal(d, 0)
    for k in range(len(d)):
        d = np.minimum(d, d[:, k, None] + d[None, k])
    reached = np.isfinite(d)
    return dict(distance=d, reached=reached.sum(1), longest=d[reached].max())


@program(lambda n: dict(n=n, strike=np.float32(105), rate=np.float32(0.03), volatility=np.float32(0.2)), (40000,),
         (50000,))
def monte_carlo(n, strike, rate, volatility):
    r = np.random.default_rng(1)
    inside = (r.random((n, 2)) ** 2).sum(1) <= 1
    price = 100 * np.exp((rate - volatility**2 / 2) + volatility * r.standard_normal(n))
    pay = np.exp(-rate) * np.maximum(price - strike, 0)
    path = r.choice([-1, 1], (n // 50, 50)).cumsum(1)
    return dict(pi=4 * inside.mean(), pi_error=4 * inside.std() / np.sqrt(n), call=pay.mean(),
                call_error=pay.std() / np.sqrt(n),
                height=np.abs(path).max(1).mean(), height_error=np.abs(path).max(1).std() / np.sqrt(n // 50))


@program(lambda n, m: dict(steps=integers(0, 2, n, m) * 2 - 1, height=4), (12, 30), (9, 44))
def random_walk(steps, height):
    path = steps.cumsum(1)
    hit = np.abs(path) >= height
    crossed = hit.any(1)
    first = np.where(crossed, hit.argmax(1), -1)
    return dict(path=path, crossed=crossed.sum(), first=first, mean_first=first[crossed].mean(),
                spread=path[:, -1].std(), extremes=np.stack([path.min(1), path.max(1)]))


@program(lambda n: dict(place=normal(n, 3), speed=normal(n, 3, scale=0.1), mass=uniform(n, low=0.5, high=1.5),
                        steps=5), (8,), (11,))
def n_bodies(place, speed, mass, steps):
    dt, soft = 0.01, 0.05
    for _ in range(steps):
        gap = place[None] - place[:, None]
        pull = gap / ((gap**2).sum(-1, keepdims=True) + soft) ** 1.5
        speed = speed + dt * (pull * mass[None, :, None]).sum(1)
        place = place + dt * speed
    kinetic = 0.5 * (mass * (speed**2).sum(1)).sum()
    return dict(place=place, kinetic=kinetic, centre=np.average(place, axis=0, weights=mass),
                spin=(mass[:, None] * np.cross(place, speed)).sum(0))


@program(lambda n: dict(seen=np.cumsum(normal(n)) + 0.5, steps=n), (25,), (25,))
def kalman_filter(seen, steps):
    f, q, h, r = np.array([[1, 1], [0, 1.0]]), np.diag([0.01, 0.1]), np.array([[1.0, 0]]), 0.5
    x, p = np.array([seen[0], 0]), np.eye(2)
    track = []
    for z in seen:
        x, p = f @ x, f @ p @ f.T + q
        gain = p @ h.T / (h @ p @ h.T + r)
        x = x + gain[:, 0] * (z - (h @ x)[0])
        p = (np.eye(2) - gain @ h) @ p
        track.append(x)
    return dict(track=np.array(track), p=p)
