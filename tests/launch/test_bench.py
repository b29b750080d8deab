"""The benchmark kernels at a reduced size give what numpy computes."""

import re

import numpy as np
import pytest
from kernels import DEVICES, KERNELS
from support.programs import build, needs_corpus
from support.strategies import each_engine

from vsim.program import Program


def rotate_right(x, bits):
    return x >> np.uint32(bits) | x << np.uint32(32 - bits)


def sha(out, seed):
    """The 64 rounds over a block in which only word 3 differs between work-items."""
    constants = [np.uint32(int(k, 16)) for k in re.findall(r"^S\(\d+,(0x\w+)u\)", KERNELS["sha"].source(), re.M)]
    state = [np.full(len(out), int(v, 16), "u4") for v in re.findall(r"[a-h]=(0x\w{8})", KERNELS["sha"].source())]
    w = [np.full(len(out), (int(seed) + i * 0x9E3779B9) & 0xFFFFFFFF, "u4") for i in range(16)]
    w[3] = np.arange(len(out), dtype="u4")
    for i, k in enumerate(constants):
        if i >= 16:
            x, y = w[i - 15], w[i - 2]
            s0 = rotate_right(x, 7) ^ rotate_right(x, 18) ^ x >> np.uint32(3)
            w.append(w[i - 16] + s0 + w[i - 7] + (rotate_right(y, 17) ^ rotate_right(y, 19) ^ y >> np.uint32(10)))
        a, b, c, d, e, f, g, h = state
        t1 = h + (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) + ((e & f) ^ (~e & g)) + k + w[i]
        t2 = (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
        state = [t1 + t2, a, b, c, d + t1, e, f, g]
    return np.bitwise_xor.reduce(state)


def mandel(out, width, height, limit):
    y, x = np.mgrid[:height, :width]
    c = -2 + 3 * x / width + 1j * (-1.5 + 3 * y / height)
    z, count = np.zeros_like(c), np.zeros(c.shape, "i4")
    for _ in range(limit):
        inside = np.abs(z) < 2
        z = np.where(inside, z * z + c, z)
        count += inside
    return count


def nbody(p, a, n):
    p = p.astype("f8")
    d = p[None, :, :3] - p[:, None, :3]
    s = p[:, 3] * ((d**2).sum(2) + 0.01) ** -1.5
    return np.column_stack([(d * s[:, :, None]).sum(1), np.zeros(n)])


REFERENCE = {
    "saxpy": lambda y, x, a: a * x + y,
    "matmul": lambda a, b, c, n: a @ b,
    "mandel": mandel,
    "reduce": lambda values, out: values.reshape(-1, 256).sum(1),
    "nbody": nbody,
    "sha": sha,
}
# Chaotic: one rounding moves a pixel on the edge of the set, so a few of those may differ.
MAY_DIFFER = {"mandel": 0.01}


@needs_corpus
@pytest.mark.parametrize(("name", "device", "engine"), each_engine(dict.fromkeys(KERNELS, DEVICES)))
def test_bench_kernel(name, device, engine):
    work = KERNELS[name].work(256)
    expected = REFERENCE[name](*[a.copy() if isinstance(a, np.ndarray) else a for a in work.args])
    program = Program(build(KERNELS[name].folder / device, device))
    program.launch(program.kernels[0], work.global_size, work.local_size, work.args, engine=engine)
    right = np.isclose(work.args[work.result], expected, rtol=2e-3 if name == "nbody" else 1e-5, atol=1e-6)
    assert (~right).mean() <= MAY_DIFFER.get(name, 0)
