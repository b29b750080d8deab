"""Kernels of ordinary kinds at a reduced size give what numpy computes."""

import math
import zlib

import numpy as np
import pytest
from kernels import Picture
from ordinary import DEVICES, KERNELS
from support.programs import build
from support.strategies import each_engine

from vsim.launch.launch import ImageArgument
from vsim.program import Program


def options(spot, strike, years, call, put, rate, volatility):
    s, x, t = (v.astype("f8") for v in (spot, strike, years))
    spread = volatility * np.sqrt(t)
    d1 = (np.log(s / x) + (rate + 0.5 * volatility**2) * t) / spread
    below = np.vectorize(lambda d: 0.5 * (1 + math.erf(d / math.sqrt(2))))
    return s * below(d1) - x * np.exp(-rate * t) * below(d1 - spread)


def stencil(old, now, width, height, rate):
    expected = old.copy()
    around = old[1:-1, :-2] + old[1:-1, 2:] + old[:-2, 1:-1] + old[2:, 1:-1]
    expected[1:-1, 1:-1] += rate * (around - 4 * old[1:-1, 1:-1])
    return expected


def spmv(starts, columns, values, x, y, rows):
    return np.add.reduceat(values.astype("f8") * x[columns], starts[:-1])


def softmax(values, out, columns):
    powers = np.exp(values.astype("f8") - values.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def bitonic(keys, distance, block):
    pairs = keys.reshape(-1, 2, int(distance))
    upwards = (np.arange(len(keys)).reshape(pairs.shape)[:, :1] & int(block)) == 0
    low, high = pairs.min(1, keepdims=True), pairs.max(1, keepdims=True)
    return np.where(upwards, np.hstack([low, high]), np.hstack([high, low])).reshape(-1)


def hash64(values, out, rounds):
    h = values.copy()
    for _ in range(rounds):
        h = (h ^ h >> np.uint64(33)) * np.uint64(0xFF51AFD7ED558CCD)
        h = (h ^ h >> np.uint64(29)) * np.uint64(0xC4CEB9FE1A85EC53)
        h ^= h >> np.uint64(32)
    return h


def collatz(lengths):
    n, steps = np.arange(1, len(lengths) + 1), np.zeros(len(lengths), "u4")
    while (n != 1).any():
        steps += n != 1
        n = np.where(n == 1, 1, np.where(n & 1, 3 * n + 1, n // 2))
    return steps


def lbm(streams, out, width, height, relaxation):
    dx, dy = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1]), np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    weights = np.array([4, 1, 1, 1, 1, 0.25, 0.25, 0.25, 0.25]) / 9
    f = np.stack([np.roll(s.astype("f8"), (y, x), (0, 1)) for s, x, y in zip(streams, dx, dy, strict=True)])
    density = f.sum(0)
    ux, uy = np.tensordot(dx, f, 1) / density, np.tensordot(dy, f, 1) / density
    along = 3 * (dx[:, None, None] * ux + dy[:, None, None] * uy)
    rest = weights[:, None, None] * density * (1 + along + along**2 / 2 - 1.5 * (ux**2 + uy**2))
    return f + relaxation * (rest - f)


def correlation(data, deviations, rows, columns):
    d = data.astype("f8")
    deviation = np.sqrt(((d - d.mean(0)) ** 2).mean(0))
    return (d - d.mean(0)) / (np.sqrt(rows) * np.where(deviation <= 0.005, 1, deviation))


def fdtd(ex, ey, hz, out, nx, ny):
    expected = hz.copy()
    expected[:-1, :-1] -= np.float32(0.7) * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return expected


def convolution(a, b, n, m):
    weights = np.array([[0.2, -0.3, 0.4], [0.5, 0.6, 0.7], [-0.8, -0.9, 0.1]])
    b[1:-1, 1:-1] = sum(weights[y, x] * a[y : n - 2 + y, x : m - 2 + x] for y in range(3) for x in range(3))
    return b


def heat3d(a, out, nx, ny, nz, c0, c1):
    inner = slice(1, -1)
    around = sum(np.roll(a, k, axis)[inner, inner, inner] for axis in range(3) for k in (1, -1))
    out[inner, inner, inner] = c1 * around - c0 * a[inner, inner, inner]
    return out


def hotspot(power, grid, out, columns, rows, cap, rx, ry, rz):
    """Two steps; beyond the border stands the border's own value."""
    now, heat = grid.astype("f8"), power.astype("f8")
    for _ in range(2):
        padded = np.pad(now, 1, mode="edge")
        vertical = padded[2:, 1:-1] + padded[:-2, 1:-1] - 2 * now
        across = padded[1:-1, 2:] + padded[1:-1, :-2] - 2 * now
        now = now + cap * (heat + vertical * ry + across * rx + (80 - now) * rz)
    return now


def pathfinder(wall, first, result, columns, steps):
    """In groups of 256 with a halo: cells outside of the grid have infinite costs."""
    best = first.astype("i8")
    for row in wall:
        padded = np.pad(best, 1, constant_values=0x7FFFFFFF)
        best = np.minimum(np.minimum(padded[:-2], padded[2:]), best) + row
    return best


def bfs(starts, edges, frontier, cost, nodes, level):
    reached = np.zeros(nodes, bool)
    reached[np.concatenate([edges[starts[n] : starts[n + 1]] for n in np.flatnonzero(frontier)])] = True
    return np.where(reached & (cost < 0), level, cost)


def nw(scores, cells, penalty):
    for y in range(1, 17):
        for x in range(1, 17):
            gap = np.maximum(cells[:, y, x - 1], cells[:, y - 1, x]) - penalty
            cells[:, y, x] = np.maximum(cells[:, y - 1, x - 1] + scores[:, y - 1, x - 1], gap)
    return cells


def gaussian(m, a, n, t):
    a[t + 1 :, t:] -= m[t + 1 :, t : t + 1] * a[t, t:]
    return a


def mriq(x, y, z, samples, weights, re, im, count):
    at = np.stack([x, y, z], 1).astype("f8")
    return np.cos(2 * np.pi * at @ samples[:, :3].astype("f8").T) @ weights.astype("f8")


def sad(frame, other, out, width, window):
    blocks = len(out)
    ours = frame[: 8 * blocks, : 8 * blocks].reshape(blocks, 8, blocks, 8).astype("i4")
    for dy in range(window):
        for dx in range(window):
            theirs = other[dy : dy + 8 * blocks, dx : dx + 8 * blocks].reshape(ours.shape)
            out[:, :, dy, dx] = np.abs(ours - theirs).sum((1, 3))
    return out


def fft(points, out):
    """In the order of reversed bits."""
    found = np.fft.fft(points[..., 0].astype("f8") + 1j * points[..., 1])
    found = found[:, [int(f"{k:09b}"[::-1], 2) for k in range(512)]]
    return np.stack([found.real, found.imag], -1)


def md(positions, neighbours, forces, count, lists, cutoff):
    p = positions[:, :3].astype("f8")
    d = p - p[neighbours]
    square = (d**2).sum(-1)
    sixth = square**-3
    forces[:, :3] = (d * (np.where(square < cutoff, sixth * (1.5 * sixth - 2), 0) / square)[..., None]).sum(0)
    return forces


def peak_float(out, a):
    x, y = float(a) + np.arange(4)[:, None] + np.zeros((4, 256)), np.zeros((4, 256)) + np.arange(256) * 1e-3
    for _ in range(16 * 16):
        x = y * a + x
        y = x * a + y
    return np.tile((x + y).sum(0), len(out) // 256)


def peak_int(out, a):
    x, y = np.uint32(a) + np.arange(4, dtype="u4")[:, None] + np.zeros((4, 256), "u4"), np.zeros((4, 256), "u4")
    y += np.arange(256, dtype="u4")
    for _ in range(16 * 16):
        x = y * x + y
        y = x * y + x
    return np.tile((x + y).sum(0, dtype="u4").view("i4"), len(out) // 256)


def q4(weights, x, y, blocks):
    w = weights.view([("scale", "f4"), ("values", "u1", 16)]).reshape(len(y), blocks)
    values = np.concatenate([w["values"] & 15, w["values"] >> 4], -1).astype("f8") - 8
    return (w["scale"][..., None] * values).reshape(len(y), -1) @ x


def rmsnorm(data, gain, out, columns):
    return data / np.sqrt((data.astype("f8") ** 2).mean(1, keepdims=True) + 1e-6) * gain


def rope(data, out, half, base):
    angle = np.arange(len(data))[:, None] * float(base) ** (-np.arange(half) / half)
    found = (data[..., 0] + 1j * data[..., 1]) * np.exp(1j * angle)
    return np.stack([found.real, found.imag], -1)


def blur(image, out, weights, width):
    n, padded = len(out), np.pad(image.array, ((2, 2), (2, 2), (0, 0)), mode="edge")
    return sum(weights[y, x] * padded[y : y + n, x : x + n] for y in range(5) for x in range(5))


def resize(image, out, width, height):
    """Twice as large: a quarter of the neighbour beyond each edge of a pixel."""

    def along(a, axis):
        near = np.repeat(a, 2, axis)
        padded = np.pad(a, [(1, 1) if k == axis else (0, 0) for k in range(3)], mode="edge")
        before, after = (np.take(padded, range(k, k + a.shape[axis]), axis) for k in (0, 2))
        other = np.stack([before, after], axis + 1).reshape(near.shape)
        return 0.75 * near + 0.25 * other

    return along(along(image.array, 0), 1)


def montecarlo(hits, seed, points):
    state = np.uint32(seed) ^ (np.arange(len(hits), dtype="u4") * np.uint32(2654435761) + np.uint32(1))
    for _ in range(points):
        state ^= state << np.uint32(13)
        state ^= state >> np.uint32(17)
        state ^= state << np.uint32(5)
        x, y = ((state & np.uint32(0xFFFF)) / 65536.0, (state >> np.uint32(16)) / 65536.0)
        hits += x * x + y * y < 1
    return hits


def bilateral(image, out, width, height, space, near):
    padded, total, weights = np.pad(image, 3, mode="edge").astype("f8"), 0, 0
    for y in range(7):
        for x in range(7):
            value = padded[y : y + height, x : x + width]
            weight = np.exp(-((y - 3) ** 2 + (x - 3) ** 2) * float(space) - (value - image) ** 2 * float(near))
            total, weights = total + weight * value, weights + weight
    return total / weights


def noise(table, out, width, scale, z):
    y, x = np.indices(out.shape)
    return sum(0.5**n * octave(table, *[v * (float(scale) * 2**n) for v in (x, y, float(z))]) / 2 for n in range(4))


def octave(table, *places):
    cells = [np.floor(v).astype("i8") for v in places]
    inside = [v - np.floor(v) for v in places]
    total = 0
    for corner in np.ndindex(2, 2, 2):
        h = 0
        for cell, step in zip(cells, corner, strict=True):
            h = table[h + (cell & 255) + step]
        h, (x, y, z) = h & 15, [v - step for v, step in zip(inside, corner, strict=True)]
        u, v = np.where(h < 8, x, y), np.where(h < 4, y, np.where((h == 12) | (h == 14), x, z))
        value = np.where(h & 1, -u, u) + np.where(h & 2, -v, v)
        for t, step in zip(inside, corner, strict=True):
            fade = t**3 * (t * (t * 6 - 15) + 10)
            value = value * (fade if step else 1 - fade)
        total = total + value
    return total


def aes(tables, keys, out, nonce):
    state = [np.arange(len(out), dtype="u4") ^ keys[0], nonce ^ keys[1], keys[2], keys[3]]
    state = [np.full(len(out), word, "u4") for word in state]
    for turn in range(1, 10):
        words = []
        for n in range(4):
            found = keys[4 * turn + n]
            for k in range(4):
                found = found ^ tables[256 * k + (state[(n + k) % 4] >> np.uint32(8 * k) & np.uint32(255))]
            words.append(found)
        state = words
    return np.stack(state, -1)


def groupconv(image, weights, out, width, height):
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1))).astype("f8")
    for channel in range(len(out)):
        near = padded[channel // 8 * 8 :][:8]
        taps = [near[:, y : y + height, x : x + width] for y in range(3) for x in range(3)]
        out[channel] = np.einsum("tchw,ct->hw", taps, weights[channel].reshape(8, 9))
    return out


def radixpass(keys, out, shift):
    blocks = keys.reshape(-1, 2048)
    order = (blocks >> shift & np.uint32(15)).argsort(1, kind="stable")
    return np.take_along_axis(blocks, order, 1).reshape(-1)


REFERENCE = {
    "options": options,
    "stencil": stencil,
    "histogram": lambda values, counts, size: np.bincount(values, minlength=256),
    "spmv": spmv,
    "softmax": softmax,
    "bitonic": bitonic,
    "hash64": hash64,
    "bytes": lambda a, b, c, n: a.astype("i4") @ b.astype("i4").T,
    "collatz": collatz,
    "lbm": lbm,
    "mvt": lambda a, x, y, n: y + a.astype("f8") @ x,
    "kmeans": lambda p, c, near, *_: ((p.T[:, None, :] - c) ** 2).sum(-1).argmin(1),
    "scan": lambda values, out, totals: values.reshape(-1, 256).cumsum(1).reshape(-1),
    "transpose": lambda a, out, width, height: a.T,
    "copy4": lambda a, out: 2 * a,
    "crc": lambda data, table, out, length: [zlib.crc32(row.tobytes()) for row in data],
    "spmm": lambda starts, columns, values, dense, out: np.add.reduceat(
        values[:, None].astype("f8") * dense[columns], starts[:-1]
    ),
    "hashinsert": lambda keys, table, placed, mask: np.ones_like(placed),
    "floyd": lambda paths, n, k: np.minimum(paths, paths[:, k : k + 1] + paths[k]),
    **{
        f.__name__: f
        for f in (
            correlation, fdtd, convolution, heat3d, hotspot, pathfinder, bfs, nw, gaussian, mriq, sad, fft, md,
            peak_float, peak_int, q4, rmsnorm, rope, blur, resize, montecarlo, bilateral, noise, aes, groupconv, radixpass,
        )
    },
}  # fmt: skip


@pytest.mark.parametrize(("name", "device", "engine"), each_engine(dict.fromkeys(KERNELS, DEVICES)))
def test_ordinary_kernel(name, device, engine):
    work = KERNELS[name].work(512)
    expected = REFERENCE[name](*[a.copy() if isinstance(a, np.ndarray) else a for a in work.args])
    program = Program(build(KERNELS[name].folder / device, device))
    args = [ImageArgument(a.array, "rgba_f32") if isinstance(a, Picture) else a for a in work.args]
    program.launch(program.kernels[0], work.global_size, work.local_size, args, engine=engine)
    assert KERNELS[name].agree(work.args[work.result], np.asarray(expected))


@pytest.mark.parametrize("device", DEVICES)
def test_groups_one_work_item_wide(device):
    """Lanes lie along y there."""
    found = []
    for engine in ("llvm", "numpy"):
        work = KERNELS["gaussian"].work(64)
        program = Program(build(KERNELS["gaussian"].folder / device, device))
        program.launch("gaussian", work.global_size, (1, 64), work.args, engine=engine)
        found.append(np.asarray(work.args[work.result]).copy())
    assert (found[0] == found[1]).all()
