"""Kernels of ordinary kinds, of the shapes that suites and libraries have, beside the six of the corpus: launches, and what their results must be.

Sources and texts are in ``ordinary/``; ``compile_texts.py`` makes the texts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from kernels import Picture, Work, benchmarks, side

FOLDER = Path(__file__).parent / "ordinary"
DEVICES = ("tgllp", "bmg")


def _options(scale: int) -> Work:
    n, random = (1 << 20) // scale, np.random.default_rng(3)
    spot, strike, years = (random.uniform(low, high, n).astype("f4") for low, high in ((5, 30), (1, 100), (0.25, 10)))
    call, put = np.zeros(n, "f4"), np.zeros(n, "f4")
    return Work((n,), (256,), [spot, strike, years, call, put, np.float32(0.02), np.float32(0.3)], 3)


def _stencil(scale: int) -> Work:
    n = max(32, int(2048 / scale**0.5) // 16 * 16)
    grid = np.random.default_rng(4).random((n, n), dtype="f4")
    return Work((n, n), (16, 16), [grid, np.zeros_like(grid), np.int32(n), np.int32(n), np.float32(0.2)], 1)


def _histogram(scale: int) -> Work:
    n = (1 << 22) // scale
    values = np.random.default_rng(5).integers(0, 256, n, "u1")
    return Work((max(256, 16384 // scale),), (256,), [values, np.zeros(256, "u4"), np.uint32(n)], 1)


def _spmv(scale: int) -> Work:
    rows, random = (1 << 16) // scale, np.random.default_rng(6)
    lengths = random.integers(1, 64, rows)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype("i4")
    columns = random.integers(0, rows, starts[-1], "i4")
    values, x = random.random(starts[-1], dtype="f4"), random.random(rows, dtype="f4")
    return Work((rows,), (128,), [starts, columns, values, x, np.zeros(rows, "f4"), np.int32(rows)], 4)


def _softmax(scale: int) -> Work:
    rows, columns = max(1, 1024 // scale), 1024
    values = np.random.default_rng(7).normal(size=(rows, columns)).astype("f4")
    return Work((rows * 256,), (256,), [values, np.zeros_like(values), np.int32(columns)], 1)


def _bitonic(scale: int) -> Work:
    n = (1 << 22) // scale
    keys = np.random.default_rng(8).integers(0, 1 << 32, n, "u4")
    return Work((n,), (256,), [keys, np.uint32(1024), np.uint32(1 << 14)], 0)


def _hash64(scale: int) -> Work:
    n = (1 << 20) // scale
    return Work((n,), (256,), [np.arange(n, dtype="u8"), np.zeros(n, "u8"), np.int32(4)], 1)


def _bytes(scale: int) -> Work:
    n = max(32, round(256 / scale ** (1 / 3)) // 16 * 16)
    a, b = (np.random.default_rng(s).integers(-128, 128, (n, n), "i1") for s in (9, 10))
    return Work((n, n), (16, 16), [a, b, np.zeros((n, n), "i4"), np.int32(n)], 2)


def _collatz(scale: int) -> Work:
    n = (1 << 19) // scale
    return Work((n,), (128,), [np.zeros(n, "u4")], 0)


def _lbm(scale: int) -> Work:
    n = max(64, 1 << int(np.log2(512 / scale**0.5)))
    streams = np.random.default_rng(11).uniform(0.05, 0.2, (9, n, n)).astype("f4")
    return Work((n, n), (64, 1), [streams, np.zeros_like(streams), np.int32(n), np.int32(n), np.float32(0.6)], 1)


def _mvt(scale: int) -> Work:
    n, random = side(1024, scale), np.random.default_rng(12)
    return Work((n,), (64,), [random.random((n, n), "f4"), random.random(n, "f4"), np.zeros(n, "f4"), np.int32(n)], 2)


def _correlation(scale: int) -> Work:
    n = side(1024, scale)
    data = np.random.default_rng(13).random((n, n), "f4")
    return Work((n,), (64,), [data, np.zeros(n, "f4"), np.int32(n), np.int32(n)], 0)


def _fdtd(scale: int) -> Work:
    n, random = side(1024, scale), np.random.default_rng(14)
    fields = [random.random((n, n), "f4") for _ in range(3)]
    return Work((n, n), (64, 4), [*fields, np.zeros((n, n), "f4"), np.int32(n), np.int32(n)], 3)


def _convolution(scale: int) -> Work:
    n = side(2048, scale)
    image = np.random.default_rng(15).random((n, n), "f4")
    return Work((n, n), (32, 8), [image, np.zeros_like(image), np.int32(n), np.int32(n)], 1)


def _heat3d(scale: int) -> Work:
    n = max(32, round(128 / scale ** (1 / 3)) // 32 * 32)
    grid = np.random.default_rng(16).random((n, n, n), "f4")
    sizes = [np.int32(n)] * 3
    return Work((n, n, n), (32, 4, 2), [grid, np.zeros_like(grid), *sizes, np.float32(1.67), np.float32(0.28)], 1)


def _hotspot(scale: int) -> Work:
    groups, random = max(2, int(64 / scale**0.5)), np.random.default_rng(17)
    n = 12 * groups
    power, grid = random.random((n, n), "f4"), random.uniform(70, 90, (n, n)).astype("f4")
    rates = [np.float32(x) for x in (0.5, 0.1, 0.1, 0.05)]
    return Work((16 * groups,) * 2, (16, 16), [power, grid, np.zeros_like(grid), np.int32(n), np.int32(n), *rates], 2)


def _pathfinder(scale: int) -> Work:
    groups, steps, random = max(2, 512 // scale), 16, np.random.default_rng(18)
    n = groups * (256 - 2 * steps)
    wall, first = random.integers(0, 10, (steps, n), "i4"), random.integers(0, 10, n, "i4")
    return Work((groups * 256,), (256,), [wall, first, np.zeros(n, "i4"), np.int32(n), np.int32(steps)], 2)


def _kmeans(scale: int) -> Work:
    n, features, clusters = (1 << 16) // scale, 16, 8
    random = np.random.default_rng(19)
    points, centres = random.random((features, n), "f4"), random.random((clusters, features), "f4")
    sizes = [np.int32(x) for x in (n, features, clusters)]
    return Work((n,), (128,), [points, centres, np.zeros(n, "i4"), *sizes], 2)


def _bfs(scale: int) -> Work:
    nodes, random = (1 << 18) // scale, np.random.default_rng(20)
    starts = np.concatenate([[0], np.cumsum(random.integers(0, 16, nodes))]).astype("i4")
    edges, frontier = random.integers(0, nodes, starts[-1], "i4"), (random.random(nodes) < 0.3).astype("u1")
    cost = np.where(random.random(nodes) < 0.5, -1, 0).astype("i4")
    return Work((nodes,), (256,), [starts, edges, frontier, cost, np.int32(nodes), np.int32(1)], 3)


def _nw(scale: int) -> Work:
    pairs, random = max(2, 4096 // scale), np.random.default_rng(21)
    scores, cells = random.integers(-4, 12, (pairs, 16, 16), "i4"), random.integers(-100, 100, (pairs, 17, 17), "i4")
    return Work((pairs * 16,), (16,), [scores, cells, np.int32(10)], 1)


def _gaussian(scale: int) -> Work:
    n, random = side(1024, scale), np.random.default_rng(22)
    return Work(
        (n, n), (16, 16), [random.random((n, n), "f4"), random.random((n, n), "f4"), np.int32(n), np.int32(5)], 1
    )


def _mriq(scale: int) -> Work:
    n, samples, random = max(64, (1 << 13) // scale), 256, np.random.default_rng(23)
    places = [random.random(n, "f4") for _ in range(3)]
    waves, weights = random.random((samples, 4), "f4"), random.random(samples, "f4")
    return Work((n,), (64,), [*places, waves, weights, np.zeros(n, "f4"), np.zeros(n, "f4"), np.int32(samples)], 5)


def _sad(scale: int) -> Work:
    blocks, window = max(2, int(48 / scale**0.5)), 16
    width = blocks * 8 + window + 8
    frames = [np.random.default_rng(s).integers(0, 256, (width, width), "u1") for s in (24, 25)]
    out = np.zeros((blocks, blocks, window, window), "u4")
    return Work((blocks * 16,) * 2, (16, 16), [*frames, out, np.int32(width), np.int32(window)], 2)


def _scan(scale: int) -> Work:
    n = max(512, (1 << 20) // scale)
    values = np.random.default_rng(26).integers(-100, 100, n, "i4")
    return Work((n,), (256,), [values, np.zeros(n, "i4"), np.zeros(n // 256, "i4")], 1)


def _fft(scale: int) -> Work:
    count = max(2, 1024 // scale)
    points = np.random.default_rng(27).normal(size=(count, 512, 2)).astype("f4")
    return Work((count * 256,), (256,), [points, np.zeros_like(points)], 1)


def _md(scale: int) -> Work:
    n, lists, random = max(256, (1 << 14) // scale), 64, np.random.default_rng(28)
    positions = (random.random((n, 4)) * 20).astype("f4")
    near = (np.arange(n) + random.integers(1, n // 2, (lists, n))) % n
    return Work(
        (n,),
        (128,),
        [positions, near.astype("i4"), np.zeros((n, 4), "f4"), np.int32(n), np.int32(lists), np.float32(16)],
        2,
    )


def _transpose(scale: int) -> Work:
    n = side(1024, scale)
    matrix = np.random.default_rng(29).random((n, n), "f4")
    return Work((n, n), (16, 16), [matrix, np.zeros_like(matrix), np.int32(n), np.int32(n)], 1)


def _peak_float(scale: int) -> Work:
    n = max(256, (1 << 16) // scale)
    return Work((n,), (256,), [np.zeros(n, "f4"), np.float32(0.001)], 0)


def _peak_int(scale: int) -> Work:
    n = max(256, (1 << 15) // scale)
    return Work((n,), (256,), [np.zeros(n, "i4"), np.int32(3)], 0)


def _copy4(scale: int) -> Work:
    n = max(1024, (1 << 20) // scale)
    data = np.random.default_rng(30).random((n, 4), "f4")
    return Work((n // 4,), (256,), [data, np.zeros_like(data)], 1)


def _q4(scale: int) -> Work:
    rows, blocks, random = max(64, 4096 // scale), 32, np.random.default_rng(31)
    weights = np.zeros((rows, blocks), [("scale", "f4"), ("values", "u1", 16)])
    weights["scale"], weights["values"] = random.random((rows, blocks)), random.integers(0, 256, (rows, blocks, 16))
    return Work(
        (rows,),
        (64,),
        [weights.view("u1"), random.random(blocks * 32, "f4"), np.zeros(rows, "f4"), np.int32(blocks)],
        2,
    )


def _rmsnorm(scale: int) -> Work:
    rows, columns, random = max(2, 512 // scale), 2048, np.random.default_rng(32)
    data, gain = random.normal(size=(rows, columns)).astype("f4"), random.random(columns, "f4")
    return Work((rows * 256,), (256,), [data, gain, np.zeros_like(data), np.int32(columns)], 2)


def _rope(scale: int) -> Work:
    positions, half = max(16, 2048 // scale), 128
    data = np.random.default_rng(33).random((positions, half, 2), "f4")
    return Work((half, positions), (64, 1), [data, np.zeros_like(data), np.int32(half), np.float32(10000)], 1)


def _blur(scale: int) -> Work:
    n, random = side(512, scale), np.random.default_rng(34)
    image, weights = random.random((n, n, 4), "f4"), random.random((5, 5), "f4") / 25
    return Work((n, n), (16, 16), [Picture(image), np.zeros_like(image), weights, np.int32(n)], 1)


def _resize(scale: int) -> Work:
    n = side(512, scale)
    image = np.random.default_rng(35).random((n // 2, n // 2, 4), "f4")
    return Work((n, n), (16, 16), [Picture(image), np.zeros((n, n, 4), "f4"), np.int32(n), np.int32(n)], 1)


def _crc(scale: int) -> Work:
    records, length = max(64, 8192 // scale), 256
    table = np.arange(256, dtype="u4")
    for _ in range(8):
        table = np.where(table & 1, np.uint32(0xEDB88320) ^ table >> np.uint32(1), table >> np.uint32(1)).astype("u4")
    data = np.random.default_rng(36).integers(0, 256, (records, length), "u1")
    return Work((records,), (64,), [data, table, np.zeros(records, "u4"), np.int32(length)], 2)


def _montecarlo(scale: int) -> Work:
    n = max(256, (1 << 16) // scale)
    return Work((n,), (256,), [np.zeros(n, "u4"), np.uint32(99), np.int32(256)], 0)


def _floyd(scale: int) -> Work:
    n, step = side(1024, scale), 7
    paths = np.random.default_rng(37).integers(1, 1000, (n, n), "i4")
    paths[step, step] = 0  # so that the step's row and column stay the same
    return Work((n, n), (64, 4), [paths, np.int32(n), np.int32(step)], 0)


def _bilateral(scale: int) -> Work:
    n = side(512, scale)
    image = np.random.default_rng(38).random((n, n), "f4")
    rates = np.float32(1 / 18), np.float32(50)
    return Work((n, n), (16, 16), [image, np.zeros_like(image), np.int32(n), np.int32(n), *rates], 1)


def _noise(scale: int) -> Work:
    n = side(512, scale)
    order = np.random.default_rng(39).permutation(256)
    table = np.tile(order, 3)[: 2 * 256 + 2].astype("i4")
    return Work((n, n), (16, 16), [table, np.zeros((n, n), "f4"), np.int32(n), np.float32(0.05), np.float32(7.3)], 1)


def _spmm(scale: int) -> Work:
    rows, random = max(64, (1 << 14) // scale), np.random.default_rng(40)
    starts = np.concatenate([[0], np.cumsum(random.integers(1, 64, rows))]).astype("i4")
    columns, values = random.integers(0, rows, starts[-1], "i4"), random.random(starts[-1], "f4")
    dense = random.random((rows, 16), "f4")
    return Work((16, rows), (16, 8), [starts, columns, values, dense, np.zeros((rows, 16), "f4")], 4)


def _aes(scale: int) -> Work:
    n, random = max(256, (1 << 18) // scale), np.random.default_rng(41)
    tables, keys = random.integers(0, 1 << 32, 1024, "u4"), random.integers(0, 1 << 32, 40, "u4")
    return Work((n,), (256,), [tables, keys, np.zeros((n, 4), "u4"), np.uint32(77)], 2)


def _groupconv(scale: int) -> Work:
    n, channels, random = side(128, scale), 32, np.random.default_rng(42)
    image, weights = random.random((channels, n, n), "f4"), random.random((channels, 8, 3, 3), "f4")
    return Work((n, n, channels), (16, 16, 1), [image, weights, np.zeros_like(image), np.int32(n), np.int32(n)], 2)


def _radixpass(scale: int) -> Work:
    n = max(4096, (1 << 20) // scale)
    keys = np.random.default_rng(43).integers(0, 1 << 32, n, "u4")
    return Work((n // 16,), (128,), [keys, np.zeros_like(keys), np.uint32(8)], 1)


def _hashinsert(scale: int) -> Work:
    n = 1 << (19 - int(np.log2(scale)))
    keys = np.random.default_rng(44).permutation(n).astype("u4") + np.uint32(1)
    return Work((n,), (256,), [keys, np.zeros(2 * n, "u4"), np.zeros(n, "u4"), np.uint32(2 * n - 1)], 2)


WORKS = {
    "options": _options, "stencil": _stencil, "histogram": _histogram, "spmv": _spmv, "softmax": _softmax,
    "bitonic": _bitonic, "hash64": _hash64, "bytes": _bytes, "collatz": _collatz, "lbm": _lbm,
    "mvt": _mvt, "correlation": _correlation, "fdtd": _fdtd, "convolution": _convolution, "heat3d": _heat3d,
    "hotspot": _hotspot, "pathfinder": _pathfinder, "kmeans": _kmeans, "bfs": _bfs, "nw": _nw, "gaussian": _gaussian,
    "mriq": _mriq, "sad": _sad, "scan": _scan, "fft": _fft, "md": _md, "transpose": _transpose, "copy4": _copy4,
    "peak_float": _peak_float, "peak_int": _peak_int, "q4": _q4, "rmsnorm": _rmsnorm, "rope": _rope, "blur": _blur,
    "resize": _resize, "crc": _crc, "montecarlo": _montecarlo, "floyd": _floyd,
    "bilateral": _bilateral, "noise": _noise, "spmm": _spmm, "aes": _aes, "groupconv": _groupconv,
    "radixpass": _radixpass, "hashinsert": _hashinsert,
}  # fmt: skip
TOLERANCES = {
    "options": 1e-4, "stencil": 1e-6, "spmv": 1e-5, "softmax": 1e-5, "lbm": 1e-5, "mvt": 1e-4, "correlation": 1e-4,
    "fdtd": 1e-5, "convolution": 1e-5, "heat3d": 1e-5, "hotspot": 1e-4, "gaussian": 1e-5, "mriq": 2e-2, "fft": 1e-3,
    "md": 1e-3, "peak_float": 1e-4, "q4": 1e-4, "rmsnorm": 1e-4, "rope": 1e-3, "blur": 1e-5, "resize": 5e-3,
    "bilateral": 1e-4, "noise": 1e-4, "spmm": 1e-5, "groupconv": 1e-4,
}  # fmt: skip
KERNELS = benchmarks(WORKS, FOLDER, TOLERANCES, {}, {})
