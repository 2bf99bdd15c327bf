"""What convolution, pooling and resizing should give, by torch."""
import torch
import torch.nn.functional as F

from expect_networks import attempt, most, wide
from spec import Skip, op
from values import FLOATS, Out


def extents(d, n, low=1, high=7):
    return tuple(d.int(low, high) for _ in range(n))


def options(d, n):
    """Draws one number for all spatial axes or one for each."""
    return lambda low, high: [d.int(low, high)] * n if d.chance(0.6) else [d.int(low, high) for _ in range(n)]


@op("conv", "conv1d", "conv2d", "conv3d", "conv_transpose")
def conv(d, name):
    t = d.one(FLOATS)
    n = {"conv1d": 1, "conv2d": 2, "conv3d": 3}.get(name) or d.int(1, 3)
    pick = options(d, n)
    groups, c, o = d.one([1, 1, 2, 3]), d.int(1, 3), d.int(1, 3)
    kernel = extents(d, n, 1, 3)
    stride, padding, dilation = pick(1, 3), pick(0, 2), pick(1, 2)
    s = (d.int(1, 2), c * groups) + extents(d, n, 1, 7 if n < 3 else 5)
    x = d.tensor(t, s, "plain")
    b = d.tensor(t, (o * groups,), "plain") if d.chance(0.5) else None
    if name == "conv_transpose":
        w = d.tensor(t, (c * groups, o) + kernel, "plain")
        extra = [d.int(0, max(0, max(stride[i], dilation[i]) - 1)) for i in range(n)]
        f = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][n - 1]
        if any((e - 1) * a - 2 * p + q * (k - 1) + z + 1 <= 0 for e, a, p, q, k, z in zip(s[2:], stride, padding, dilation, kernel, extra)):
            raise Skip
        go = lambda x, w, b: f(x, w, b, stride, padding, extra, groups, dilation)  # noqa: E731
        arguments = [x, w, b, stride, padding, dilation, groups, extra]
    else:
        w = d.tensor(t, (o * groups, c) + kernel, "plain")
        f = [F.conv1d, F.conv2d, F.conv3d][n - 1]
        go = lambda x, w, b: f(x, w, b, stride, padding, dilation, groups)  # noqa: E731
        arguments = [x, w, b, stride, padding, dilation, groups]
    try:
        whole = go(wide(x).abs(), wide(w).abs(), None if b is None else wide(b).abs())
    except RuntimeError:
        return arguments, "error"
    scale = float(whole.max()) if whole.numel() else 1.0
    return arguments, [Out(t, go(wide(x), wide(w), wide(b)).numpy(), 4, scale, True)]


@op("max_pool", "avg_pool")
def pool(d, name):
    t = d.one(FLOATS)
    n = d.int(1, 3)
    pick = options(d, n)
    window, stride = pick(1, 3), pick(1, 3)
    padding = [d.int(0, k // 2) for k in window]
    x = d.tensor(t, (d.int(1, 2), d.int(1, 3)) + extents(d, n, 1, 8 if n < 3 else 5), "plain" if name == "avg_pool" else "mild")
    ceil, counted = d.chance(0.3), d.chance(0.6)
    if name == "max_pool":
        dilation = pick(1, 2)
        f = [F.max_pool1d, F.max_pool2d, F.max_pool3d][n - 1]
        return attempt([x, window, stride, padding, dilation, ceil], t, lambda: f(wide(x), window, stride, padding, dilation, ceil))
    f = [F.avg_pool1d, F.avg_pool2d, F.avg_pool3d][n - 1]
    if n == 3 and any(e < k for e, k in zip(x.a.shape[2:], window)):
        raise Skip  # torch wants the window to fit without its padding
    return attempt([x, window, stride, padding, [1], ceil, counted], t,
                   lambda: f(wide(x), window, stride, padding, ceil, counted), most(x))


@op("adaptive_avg_pool", "adaptive_max_pool")
def adaptive(d, name):
    t = d.one(FLOATS)
    n = d.int(1, 3)
    x = d.tensor(t, (d.int(1, 2), d.int(1, 3)) + extents(d, n, 1, 8), "plain")
    size = [d.int(1, 5) for _ in range(n)]
    f = getattr(F, f"{name}{n}d")
    return attempt([x, size], t, lambda: f(wide(x), size), most(x))


@op("pixel_shuffle", "pixel_unshuffle", "channel_shuffle")
def shuffle(d, name):
    t = d.one(FLOATS)
    r = d.int(1, 3)
    c, h, w = extents(d, 3, 1, 4)
    s = {"pixel_shuffle": (c * r * r, h, w), "pixel_unshuffle": (c, h * r, w * r), "channel_shuffle": (c * r, h, w)}[name]
    x = d.tensor(t, (d.int(1, 2),) + s)
    y = getattr(F, name)(torch.from_numpy(x.a.copy()), r).numpy()
    return [x, r], [Out(t, y)]


@op("interpolate", "upsample")
def interpolate(d, name):
    t = d.one(FLOATS[2:])
    n = d.int(1, 3)
    mode = d.one(["nearest", "nearest-exact", ["linear", "bilinear", "trilinear"][n - 1], "area"] + (["bicubic"] if n == 2 else []))
    x = d.tensor(t, (d.int(1, 2), d.int(1, 3)) + extents(d, n, 1, 7), "plain")
    size = [d.int(1, 9) for _ in range(n)]
    align = d.chance(0.4) and "linear" in mode + ("linear" if mode == "bicubic" else "")
    f = lambda: F.interpolate(wide(x), size=size, mode=mode, **({"align_corners": True} if align else {}))  # noqa: E731
    return attempt([x, size, None, mode, align], t, f, 4 * most(x), 32)


@op("imresize")
def imresize(d, name):
    t = d.one(FLOATS[2:])
    shape = extents(d, 2, 1, 9) + ((d.int(1, 4),) if d.chance(0.6) else ())
    x = d.tensor(t, shape, "plain")
    height, width = d.int(1, 12), d.int(2, 12)  # torch 2.4 repeats the first row where there is one column
    channels = shape[2] if len(shape) == 3 else 1
    f = lambda: F.interpolate(wide(x).reshape(shape[0], shape[1], channels).permute(2, 0, 1)[None], size=(height, width),  # noqa: E731
                              mode="bilinear", antialias=True)[0].permute(1, 2, 0).reshape((height, width) + shape[2:])
    return attempt([x, height, width], t, f, 4 * most(x), 32)


@op("grid_sample")
def grid_sample(d, name):
    t = d.one(FLOATS[2:])
    n = d.int(2, 3)
    b = d.int(1, 2)
    x = d.tensor(t, (b, d.int(1, 3)) + extents(d, n, 1, 6), "plain")
    grid = d.of(t, d.rng.uniform(-1.4, 1.4, (b,) + extents(d, n, 1, 5) + (n,)))
    mode, outside, align = d.one(["bilinear", "nearest"]), d.one(["zeros", "border", "reflection"]), d.chance(0.5)
    if mode == "nearest":
        raise Skip  # which of two elements is nearer, the last bit of the position decides
    return attempt([x, grid, mode, outside, align], t,
                   lambda: F.grid_sample(wide(x), wide(grid), mode, outside, align), 16 * most(x), 64)
