"""The further kernels of the suite at a reduced size give what numpy computes."""

import numpy as np
import pytest
from further import KERNELS
from ordinary import DEVICES
from support.programs import build
from support.strategies import each_engine

from vsim.program import Program


def components(image, labels, width):
    found = np.arange(256, dtype="u4").reshape(16, 16) + np.zeros((len(image) // 16, len(image) // 16, 1, 1), "u4")
    tiles = image.reshape(len(image) // 16, 16, -1, 16).transpose(0, 2, 1, 3)
    for _ in range(256):
        for axis in (2, 3):
            low, high = (np.take(found, range(n, n + 15), axis) for n in (0, 1))
            same = np.take(tiles, range(15), axis) == np.take(tiles, range(1, 16), axis)
            both = np.minimum(low, high)
            low[same], high[same] = both[same], both[same]
            first, last = np.take(found, [0], axis), np.take(found, [15], axis)
            found = np.minimum(np.concatenate([low, last], axis), np.concatenate([first, high], axis))
    return found.transpose(0, 2, 1, 3).reshape(image.shape)


def matches(text, found, size):
    for here in range(size):
        best = distance = 0
        for back in range(1, min(here, 64) + 1):
            n = 0
            while n < min(size - here, 32) and text[here + n] == text[here - back + n]:
                n += 1
            if n > best:
                best, distance = n, back
        found[here] = best << 16 | distance
    return found


def huffman(bits, table, symbols, words, count):
    streams = np.unpackbits(bits.view("u1"), axis=1, bitorder="little")
    place, rows = np.zeros(len(bits), int), np.arange(len(bits))
    for n in range(count):
        following = streams[rows[:, None], place[:, None] + np.arange(8)]
        entry = table[np.packbits(following, axis=1, bitorder="little")[:, 0]]
        symbols[:, n], place = entry, place + (entry >> 8)
    return symbols


def queens(counts, size):
    full = (1 << size) - 1

    def below(columns, left, right):
        if columns == full:
            return 1
        places = full & ~(columns | left | right)
        bits = [1 << n for n in range(size) if places >> n & 1]
        return sum(below(columns | b, (left | b) << 1, (right | b) >> 1) for b in bits)

    def from_rows(one, two):
        if (one | one << 1 | one >> 1) & two:
            return 0
        return below(one | two, (one << 1 | two) << 1, (one >> 1 | two) >> 1)

    return [from_rows(1 << n % size, 1 << n // size % size) for n in range(len(counts))]


def median(image, out, width, height):
    padded = np.pad(image, 1, mode="edge")
    return np.median([padded[y : y + height, x : x + width] for y in range(3) for x in range(3)], axis=0)


def boxes(tree, rays, hits, inner):
    low, high = tree[inner:, 0, None, :3], tree[inner:, 1, None, :3]
    rate = 1 / rays[:, 1, :3]
    a, b = (low - rays[:, 0, :3]) * rate, (high - rays[:, 0, :3]) * rate
    near, far = np.minimum(a, b).max(-1).clip(0), np.maximum(a, b).min(-1)
    return np.where(near <= far, near, 100).min(0)


def mix32(a):
    for shift, factor in ((15, 0x2C1B3C6D), (12, 0x297A2D39)):
        a = (a ^ a >> np.uint32(shift)) * np.uint32(factor)
    return a ^ a >> np.uint32(15)


def cells(out, width, scale, seed):
    y, x = (np.arange(width)[:, None] * scale, np.arange(width)[None] * scale)
    best = np.full(out.shape, 8.0)
    for j in (-1, 0, 1):
        for i in (-1, 0, 1):
            u, v = np.floor(x) + i, np.floor(y) + j
            low, high = (w.astype("i4").astype("u4") for w in (u, v))
            h = mix32(low * np.uint32(0x9E3779B9) ^ mix32(high ^ seed))
            dx, dy = u + (h & np.uint32(0xFFFF)) / 65536.0 - x, v + (h >> np.uint32(16)) / 65536.0 - y
            best = np.minimum(best, dx * dx + dy * dy)
    return np.sqrt(best)


def search(text, word, counts, length):
    return [sum(row[n : n + 8].tobytes() == word.tobytes() for n in range(length - 7)) for row in text]


def unpack(packed, starts, out, size):
    for block, at in enumerate(starts):
        at, found = int(at), bytearray()
        while len(found) < size:
            literals, copied = divmod(int(packed[at]), 16)
            found += packed[at + 1 : at + 1 + literals].tobytes()
            distance, at = int(packed[at + 1 + literals]), at + literals + 2
            for _ in range(copied):
                found.append(found[-distance])
        out[block] = np.frombuffer(bytes(found), "u1")
    return out


def splat(points, grid, width):
    cell = np.floor(points)
    (x, y), (u, v) = cell.astype(int).T, ((points - cell) * 256).astype("u4").T
    for dy, dx, weight in ((0, 0, (256 - u) * (256 - v)), (0, 1, u * (256 - v)), (1, 0, (256 - u) * v), (1, 1, u * v)):
        np.add.at(grid, (y + dy, x + dx), weight.astype("u4"))
    return grid


def redblack(grid, source, width, height, colour, rate):
    y, x = np.indices(grid.shape)
    inside = (x > 0) & (y > 0) & (x < width - 1) & (y < height - 1) & ((x + y + colour) % 2 == 0)
    around = sum(np.roll(grid, step, axis) for step in (-1, 1) for axis in (0, 1))
    return np.where(inside, grid + rate * (0.25 * (around - source) - grid), grid)


REFERENCE = {
    "sums": lambda image, out, width: image[:, :width].cumsum(1),
    "gemm8": lambda a, b, out, *_: a.view("i1").astype("i4") @ b.view("i1").astype("i4").T,
    **{
        f.__name__: f
        for f in (components, matches, huffman, queens, median, boxes, cells, search, unpack, splat, redblack)
    },
}


@pytest.mark.parametrize(("name", "device", "engine"), each_engine(dict.fromkeys(KERNELS, DEVICES)))
def test_further_kernel(name, device, engine):
    work = KERNELS[name].work(512)
    expected = REFERENCE[name](*[a.copy() if isinstance(a, np.ndarray) else a for a in work.args])
    program = Program(build(KERNELS[name].folder / device, device))
    program.launch(program.kernels[0], work.global_size, work.local_size, work.args, engine=engine)
    assert KERNELS[name].agree(work.args[work.result], np.asarray(expected))
