"""Originals of programs on images."""
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from original import integers, normal, program, uniform


@program(lambda rows, columns: dict(image=np.clip(np.rint(normal(rows, columns, scale=25) + 110), 0,
                                                  255).astype(np.uint8)), (14, 18), (11, 21))
def histogram_equalisation(image):
    count = np.bincount(image.ravel(), minlength=256)
    running = count.cumsum()
    low = running[running > 0].min()
    table = np.rint((running - low) * 255 / (image.size - low)).clip(0, 255).astype(np.uint8)
    result = table[image]
    return dict(count=count, result=result, contrast=np.array([image.std(), result.std()]))


@program(lambda rows, columns: dict(image=uniform(rows, columns), limit=np.float32(0.9)), (12, 15), (17, 10))
def sobel_edges(image, limit):
    kernel = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]])
    windows = sliding_window_view(np.pad(image, 1, mode="edge"), (3, 3))
    dx = np.einsum("ijkl,kl->ij", windows, kernel)
    dy = np.einsum("ijkl,kl->ij", windows, kernel.T)
    size = np.hypot(dx, dy)
    size /= size.max()
    return dict(size=size, angle=np.arctan2(dy, dx), edges=size > limit, rows=np.flatnonzero((size > limit).any(1)))


@program(lambda rows, columns: dict(image=uniform(rows, columns, 3), radius=2), (9, 12), (14, 11))
def gaussian_blur(image, radius):
    x = np.arange(-radius, radius + 1)
    weight = np.exp(-(x**2) / 2)
    weight /= weight.sum()
    grey = image @ np.array([0.299, 0.587, 0.114])
    padded = np.pad(grey, radius, mode="reflect")
    across = sum(w * padded[:, i : i + grey.shape[1]] for i, w in enumerate(weight))
    blurred = sum(w * across[i : i + grey.shape[0]] for i, w in enumerate(weight))
    sharp = np.clip(grey + 1.5 * (grey - blurred), 0, 1)
    return dict(grey=grey, blurred=blurred, sharp=sharp, halved=blurred[::2, ::2], mirrored=sharp[:, ::-1])


@program(lambda rows, columns: dict(image=uniform(rows, columns), noise=integers(0, 12, rows, columns)), (10, 13),
         (15, 8))
def median_filter(image, noise):
    spoilt = image.copy()
    spoilt[noise == 0], spoilt[noise == 1] = 0, 1
    windows = sliding_window_view(np.pad(spoilt, 1, mode="symmetric"), (3, 3))
    median = np.median(windows, axis=(-2, -1))
    spread = windows.max((-2, -1)) - windows.min((-2, -1))
    kept = np.where((spoilt == 0) | (spoilt == 1), median, spoilt)
    return dict(kept=kept, spread=spread, worst=np.abs(kept - image).max(),
                at=np.array(np.unravel_index(np.abs(kept - image).argmax(), image.shape)))


@program(lambda rows, columns: dict(image=integers(0, 5, rows, columns) < 3), (9, 13), (12, 10))
def connected_components(image):
    label = np.where(image, np.arange(1, image.size + 1).reshape(image.shape), 0)
    while True:
        p = np.pad(label, 1)
        best = np.maximum.reduce([p[1:-1, 1:-1], p[:-2, 1:-1], p[2:, 1:-1], p[1:-1, :-2], p[1:-1, 2:]])
        new = np.where(image, best, 0)
        if np.array_equal(new, label):
            break
        label = new
    names, numbered, sizes = np.unique(label, return_inverse=True, return_counts=True)
    return dict(numbered=numbered.reshape(image.shape), sizes=sizes, largest=names[1:][sizes[1:].argmax()])
