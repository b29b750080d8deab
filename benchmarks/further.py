"""Kernels of twelve further kinds. They were measured before anything was changed for them, as the kinds that users have
are not those of the suite (docs/decisions/0105-private-arrays-in-registers.md).

Sources and texts are in ``further/``; ``compile_texts.py`` makes the texts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from kernels import Work, benchmarks, side

FOLDER = Path(__file__).parent / "further"


def _components(scale: int) -> Work:
    n = side(512, scale)
    image = (np.random.default_rng(50).random((n, n)) < 0.55).astype("u1")
    return Work((n, n), (16, 16), [image, np.zeros((n, n), "u4"), np.int32(n)], 1)


def _matches(scale: int) -> Work:
    n, random = max(256, (1 << 15) // scale), np.random.default_rng(52)
    words = [bytes(random.integers(97, 117, length, "u1")) for length in random.integers(2, 9, 60)]
    chosen = np.minimum(random.exponential(12, n), 59).astype(int)
    text = np.frombuffer(b" ".join(words[k] for k in chosen)[:n], "u1").copy()
    return Work((n,), (128,), [text, np.zeros(n, "u4"), np.uint32(n)], 1)


def _huffman(scale: int) -> Work:
    blocks, count, random = max(128, (1 << 12) // scale), 256, np.random.default_rng(53)
    table, at = np.zeros(256, "u2"), 0
    for symbol, length in enumerate((1, 2, 3, 4, 5, 6, 7, 8, 8)):
        code = int(f"{at:08b}"[:length][::-1], 2)  # The first bit of a code is the lowest of a word.
        table[code :: 1 << length] = length << 8 | (symbol + 65)
        at += 1 << (8 - length)
    words = count // 4 + 4
    bits = random.integers(0, 1 << 32, (blocks, words), "u4")
    return Work((blocks,), (64,), [bits, table, np.zeros((blocks, count), "u1"), np.int32(words), np.int32(count)], 2)


def _queens(scale: int) -> Work:
    n = max(64, 4096 // scale)
    return Work((n,), (64,), [np.zeros(n, "u4"), np.int32(10 if scale < 64 else 7)], 0)


def _median(scale: int) -> Work:
    n = side(1024, scale)
    image = np.random.default_rng(54).integers(0, 256, (n, n), "u1")
    return Work((n, n), (32, 8), [image, np.zeros_like(image), np.int32(n), np.int32(n)], 1)


def _boxes(scale: int) -> Work:
    n, leaves, random = max(256, (1 << 15) // scale), 2048 if scale < 64 else 64, np.random.default_rng(55)
    low = random.random((leaves, 3), "f4") * 10
    cells = (low * 12.8).astype("u8")
    codes = sum(cells[:, d] >> np.uint64(k) & np.uint64(1) << np.uint64(3 * k + d) for k in range(7) for d in range(3))
    low = low[np.argsort(codes)]  # Neighbours share boxes.
    tree = np.zeros((2 * leaves - 1, 2, 4), "f4")
    tree[leaves - 1 :, 0, :3], tree[leaves - 1 :, 1, :3] = low, low + np.float32(0.2)
    for node in range(leaves - 2, -1, -1):
        below = tree[2 * node + 1 : 2 * node + 3]
        tree[node] = below[:, 0].min(0), below[:, 1].max(0)
    rays, width = np.zeros((n, 2, 4), "f4"), int(n**0.5)
    rays[:, 0, 0], rays[:, 0, 1] = np.arange(n) % width * (10 / width), np.arange(n) // width * (10 / width)
    rays[:, 0, 2], rays[:, 1] = -1, (0.02, 0.03, 1, 1)
    return Work((n,), (64,), [tree, rays, np.zeros(n, "f4"), np.int32(leaves - 1)], 2)


def _cells(scale: int) -> Work:
    n = side(512, scale)
    return Work((n, n), (16, 16), [np.zeros((n, n), "f4"), np.int32(n), np.float32(0.07), np.uint32(5)], 0)


def _gemm8(scale: int) -> Work:
    n = max(64, round(384 / scale ** (1 / 3)) // 64 * 64)
    a, b = (np.random.default_rng(s).integers(0, 1 << 32, (n, n // 4), "u4") for s in (56, 57))
    return Work((n, n), (16, 16), [a, b, np.zeros((n, n), "i4"), np.int32(n // 4), np.int32(n)], 2)


def _search(scale: int) -> Work:
    n, length, random = max(128, (1 << 13) // scale), 256, np.random.default_rng(60)
    text, word = random.integers(97, 100, (n, length), "u1"), np.frombuffer(b"abcabcab", "u1").copy()
    text[::3, 100:116] = np.tile(word, 2)
    return Work((n,), (64,), [text, word, np.zeros(n, "u4"), np.int32(length)], 2)


def _sums(scale: int) -> Work:
    rows, width = max(128, 2048 // scale), 1024
    image = np.random.default_rng(59).integers(0, 256, (rows, 4 * width), "u1")
    return Work((rows,), (64,), [image, np.zeros((rows, width), "u4"), np.int32(width)], 1)


def _unpack(scale: int) -> Work:
    blocks, size, random = max(64, (1 << 12) // scale), 512, np.random.default_rng(63)
    packed, starts = bytearray(), []
    for _ in range(blocks):
        starts.append(len(packed))
        place = 0
        while place < size:
            literals = min(int(random.integers(1, 16)), size - place)
            place += literals
            copied = min(int(random.integers(0, 16)), size - place)
            distance = int(random.integers(1, min(place, 255) + 1))
            packed += bytes([literals << 4 | copied, *random.integers(97, 123, literals), distance])
            place += copied
    codes = np.frombuffer(bytes(packed), "u1").copy()
    return Work((blocks,), (64,), [codes, np.array(starts, "u4"), np.zeros((blocks, size), "u1"), np.int32(size)], 2)


def _splat(scale: int) -> Work:
    n, width = max(256, (1 << 18) // scale), 256
    points = (np.random.default_rng(64).random((n, 2)) * (width - 2)).astype("f4")
    return Work((n,), (256,), [points, np.zeros((width, width), "u4"), np.int32(width)], 1)


WORKS = {
    "components": _components, "matches": _matches, "huffman": _huffman, "queens": _queens, "median": _median,
    "boxes": _boxes, "cells": _cells, "gemm8": _gemm8, "search": _search, "sums": _sums, "unpack": _unpack,
    "splat": _splat,
}  # fmt: skip
KERNELS = benchmarks(WORKS, FOLDER, {"boxes": 1e-5, "cells": 1e-5}, {}, {})
