#!/usr/bin/env python3
"""Writes tests/golden/files/: small files as NumPy, ml_dtypes, safetensors and Pillow write them. The tests of
lazy/io read them, and compare what they write.

    pip install numpy ml_dtypes safetensors pillow
    tests/golden/make_files.py
"""
import json
import pathlib
import struct
import zipfile
import zlib

import ml_dtypes
import numpy as np
import safetensors.numpy
from PIL import Image

OUT = pathlib.Path(__file__).parent / "files"
OUT.mkdir(exist_ok=True)

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16",
          "float32", "float64"]


def dtype(name):
    return ml_dtypes.bfloat16 if name == "bfloat16" else np.dtype(name)


def ramp(name, shape):
    """0, 1, 2, ... modulo 2 for bool: values that every dtype has."""
    count = int(np.prod(shape))
    return (np.arange(count) % (2 if name == "bool" else 100)).reshape(shape).astype(dtype(name))


def npy():
    for name in DTYPES:
        np.save(OUT / f"{name}.npy", ramp(name, (2, 3)))
    np.save(OUT / "scalar.npy", np.float32(2.5))
    np.save(OUT / "empty.npy", np.zeros((3, 0, 2), np.int16))
    np.save(OUT / "vector.npy", ramp("float64", (7,)))
    np.save(OUT / "rank8.npy", ramp("int32", (1, 2, 1, 2, 1, 2, 1, 3)))
    np.save(OUT / "rank9.npy", ramp("int32", (1,) * 9))
    np.save(OUT / "fortran.npy", np.asfortranarray(ramp("float32", (3, 4, 2))))
    np.save(OUT / "fortran_big.npy", np.asfortranarray(ramp("float64", (3, 2)).astype(">f8")))
    for name in ["int16", "int32", "uint64", "float16", "float32"]:
        a = ramp(name, (2, 3))
        np.save(OUT / f"big_{name}.npy", a.astype(a.dtype.newbyteorder(">")))
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-40, 3.4028235e38], np.float32)
    np.save(OUT / "special.npy", special)
    with open(OUT / "version2.npy", "wb") as f:
        np.lib.format.write_array(f, ramp("int32", (2, 2)), version=(2, 0))
    with open(OUT / "version3.npy", "wb") as f:
        np.lib.format.write_array(f, ramp("int32", (2, 2)), version=(3, 0))
    np.save(OUT / "complex.npy", np.ones(2, np.complex64))
    np.save(OUT / "text.npy", np.array(["ab", "c"]))
    np.save(OUT / "record.npy", np.zeros(2, [("x", "<i4"), ("y", "<f8")]))


def npz():
    arrays = {"weight": ramp("float32", (4, 5)), "bias": ramp("float64", (5,)), "steps": np.int64(12),
              "päth/name": ramp("bool", (3,))}
    np.savez(OUT / "stored.npz", **arrays)
    np.savez_compressed(OUT / "compressed.npz", **arrays)
    limit, zipfile.ZIP64_LIMIT = zipfile.ZIP64_LIMIT, 10
    np.savez(OUT / "zip64.npz", a=ramp("float32", (2, 3)), b=ramp("int64", (3,)))
    zipfile.ZIP64_LIMIT = limit


def safe():
    arrays = {name: ramp(name, (2, 3)) for name in DTYPES}
    safetensors.numpy.save_file(arrays, OUT / "dtypes.safetensors")
    arrays = {"b.weight": ramp("float32", (3, 2)), "a\"q\\ü": ramp("int8", (3,)), "empty": np.zeros((0, 4), np.float16),
              "scalar": np.array(7, np.int64)}
    safetensors.numpy.save_file(arrays, OUT / "named.safetensors", metadata={"format": "np"})
    for i, name in enumerate(["first", "second"]):
        safetensors.numpy.save_file({name: ramp("float32", (2, 2)) + i}, OUT / f"model-0000{i + 1}-of-00002.safetensors")
    index = {"metadata": {"total_size": 32, "nested": [1, {"x": None}]},
             "weight_map": {"first": "model-00001-of-00002.safetensors", "second": "model-00002-of-00002.safetensors"}}
    (OUT / "model.safetensors.index.json").write_text(json.dumps(index, indent=2))


def pictures():
    grey, rgb, rgba = ramp("uint8", (5, 7)), ramp("uint8", (5, 7, 3)), ramp("uint8", (5, 7, 4))
    Image.fromarray(grey).save(OUT / "grey.png")
    Image.fromarray(rgb).save(OUT / "rgb.png")
    Image.fromarray(rgba).save(OUT / "rgba.png")
    Image.fromarray(np.stack([grey, 255 - grey], 2), "LA").save(OUT / "grey_alpha.png")
    Image.fromarray((ramp("uint16", (5, 7)) * 601).astype(np.uint16)).save(OUT / "grey16.png")
    Image.fromarray(grey % 2 == 1).save(OUT / "bits.png")
    Image.fromarray(rgb).quantize(16).save(OUT / "palette.png")
    np.save(OUT / "palette.npy", np.asarray(Image.open(OUT / "palette.png").convert("RGB")))
    Image.fromarray(grey).save(OUT / "grey.pgm")
    Image.fromarray(rgb).save(OUT / "rgb.ppm")
    Image.fromarray((ramp("uint16", (5, 7)) * 601).astype(np.uint16)).save(OUT / "grey16.pgm")


def jpegs():
    """Writes *.jpg, and *_jpg.npy with the picture that Pillow's libjpeg makes of each."""
    y, x = np.mgrid[0:21, 0:29]
    rgb = np.stack([x * 8, y * 11, 255 - x * 4 - y * 5], 2).clip(0, 255).astype(np.uint8)
    noise = np.random.default_rng(3).integers(0, 256, (19, 33, 3), np.uint8)
    for name, a, options in [("colours", rgb, {}), ("grey", rgb[..., 0], {}), ("progressive", rgb, {"progressive": True}),
                             ("restarts", rgb, {"subsampling": 2, "restart_marker_blocks": 1}),
                             ("wide", noise, {"subsampling": 1}), ("full", noise, {"subsampling": 0, "optimize": True}),
                             ("refined", noise, {"subsampling": 0, "progressive": True}), ("narrow", rgb[:5, :3], {}),
                             ("pixel", rgb[:1, :1], {}), ("grey_refined", noise[..., 0], {"progressive": True}),
                             ("rgb", noise, {"keep_rgb": True})]:
        Image.fromarray(a).save(OUT / f"{name}.jpg", quality=90, **options)
        np.save(OUT / f"{name}_jpg.npy", np.asarray(Image.open(OUT / f"{name}.jpg")))


ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def png_bytes(a, bits, colour, interlaced, chunks):
    """A PNG of samples a [height, width, channels] by its specification, each row by another filter. (Pillow writes
    neither all kinds nor interlaced ones.)"""
    step = max(1, bits * a.shape[2] // 8)

    def rows(part):
        out, above = b"", None
        for y, samples in enumerate(part):
            flat = samples.reshape(-1)
            if bits == 16:
                row = flat.astype(">u2").tobytes()
            elif bits == 8:
                row = flat.astype(np.uint8).tobytes()
            else:
                each = [(int(v) >> b) & 1 for v in flat for b in reversed(range(bits))]
                row = np.packbits(np.array(each, np.uint8)).tobytes()
            above = above or bytes(len(row))
            filtered = bytearray()
            for i, v in enumerate(row):
                left, up, corner = row[i - step] if i >= step else 0, above[i], above[i - step] if i >= step else 0
                guess = left + up - corner
                paeth = min([(abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner)])[2]
                filtered.append((v - [0, left, up, (left + up) // 2, paeth][y % 5]) % 256)
            out += bytes([y % 5]) + bytes(filtered)
            above = row
        return out

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    passes = ADAM7 if interlaced else [(0, 0, 1, 1)]
    raw = b"".join(rows(a[y::dy, x::dx]) for x, y, dx, dy in passes if a[y::dy, x::dx].size)
    header = struct.pack(">IIBBBBB", a.shape[1], a.shape[0], bits, colour, 0, 0, interlaced)
    packed = zlib.compress(raw)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"".join(chunk(k, b) for k, b in chunks) +
            chunk(b"IDAT", packed[:20]) + chunk(b"IDAT", packed[20:]) + chunk(b"IEND", b""))


def kinds_of_png():
    """Writes kind_*.png, and kind_*.npy with the picture that lazy::read_png is to return."""
    rng = np.random.default_rng(7)
    for colour, name, channels, depths in [(0, "grey", 1, [1, 2, 4, 8, 16]), (2, "rgb", 3, [8, 16]),
                                           (3, "palette", 1, [1, 2, 4, 8]), (4, "grey_alpha", 2, [8, 16]),
                                           (6, "rgba", 4, [8, 16])]:
        for bits in depths:
            a = rng.integers(0, 2 ** bits, (9, 11, channels))
            palette = rng.integers(0, 256, (2 ** bits, 3), np.uint8)
            wide = np.uint16 if bits == 16 else np.uint8
            full = 2 ** (8 * np.dtype(wide).itemsize) - 1
            seen = palette[a[..., 0]] if colour == 3 else (a * full // (2 ** bits - 1)).astype(wide)
            chunks = [(b"PLTE", palette.tobytes())] if colour == 3 else []
            for form in ["", "_interlaced"] + (["_transparent"] if channels % 2 else []):
                extra, value = [], seen
                if form == "_transparent" and colour == 3:
                    alpha = rng.integers(0, 256, 2 ** bits - 1, np.uint8)
                    extra = [(b"tRNS", alpha.tobytes())]
                    value = np.concatenate([seen, np.append(alpha, np.uint8(255))[a]], 2)
                elif form == "_transparent":
                    extra = [(b"tRNS", a[3, 4].astype(">u2").tobytes())]
                    hidden = (a == a[3, 4]).all(2, keepdims=True)
                    value = np.concatenate([seen, np.where(hidden, 0, full).astype(wide)], 2)
                stem = OUT / f"kind_{name}{bits}{form}"
                stem.with_suffix(".png").write_bytes(png_bytes(a, bits, colour, form == "_interlaced", chunks + extra))
                np.save(stem.with_suffix(".npy"), value[..., 0] if value.shape[2] == 1 else value)


npy()
npz()
safe()
pictures()
jpegs()
kinds_of_png()
