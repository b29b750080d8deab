"""Makes the inputs and expected results of the samples, computed with numpy alone (the files are kept in the repository)."""

import json
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def launch(
    sample: str, kernel: str, global_size: list[int], local_size: list[int], args: list[dict[str, object]]
) -> None:
    tree = {"launches": [{"kernel": kernel, "global_size": global_size, "local_size": local_size, "args": args}]}
    (HERE / sample / "launch.json").write_text(json.dumps(tree, indent=1) + "\n")


def save(sample: str, **arrays: np.ndarray) -> None:
    for name, array in arrays.items():
        np.save(HERE / sample / f"{name}.npy", array)


def saxpy() -> None:
    random = np.random.default_rng(1)
    x, y = (random.standard_normal(512).astype("f4") for _ in range(2))
    expected = y.copy()
    expected[:500] = (2.5 * x[:500].astype("f8") + y[:500]).astype("f4")
    save("saxpy", x=x, y=y, y_expected=expected)
    launch("saxpy", "saxpy", [512], [64], [
        {"buffer": "y.npy", "expect": "y_expected.npy"}, {"buffer": "x.npy"}, {"scalar": 2.5, "type": "f32"}, {"scalar": 500, "type": "i32"},
    ])  # fmt: skip


def ctm() -> None:
    """Results of the samples for the second target, whose arithmetic rounds after every operation."""
    f = np.float32
    j, i = np.mgrid[0:32, 0:64].astype("f4")
    cx, cy = i * f(0.046875) + f(-2), j * f(0.078125) + f(-1.25)
    x, y, count = np.zeros_like(cx), np.zeros_like(cx), np.zeros_like(cx)
    inside = np.ones(cx.shape, bool)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(48):
            xx, yy = x * x, y * y
            inside &= ~(xx + yy >= 4)
            x, y = np.where(inside, xx - yy + cx, x), np.where(inside, x * y * f(2) + cy, y)
            count += inside
    save("ctm/mandelbrot", expected=np.repeat(count[..., None], 4, axis=2))
    steps = np.zeros((1, 40, 4), "f4")
    for start in range(1, 41):
        n = start
        while n != 1:
            n = 3 * n + 1 if n % 2 else n // 2
            steps[0, start - 1, 0] += 1
    save("ctm/collatz", expected=steps)
    for sample, width, height in (("mandelbrot", 64, 32), ("collatz", 40, 1)):
        tree = {
            "launches": [
                {"width": width, "height": height, "outputs": {"0": {"out": f"{sample}.npy", "expect": "expected.npy"}}}
            ]
        }
        (HERE / "ctm" / sample / "launch.json").write_text(json.dumps(tree, indent=1) + "\n")


def mandelbrot(width: int = 256, height: int = 128, limit: int = 64) -> None:
    """The compiler's own order of operations; sizes are powers of two, so that the divisions are exact."""
    f = np.float32

    def fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        return (a.astype("f8") * b + c).astype("f4")

    cx = (np.arange(width, dtype="f4") * f(3) / f(width) - f(2))[None, :].repeat(height, 0)
    cy = (np.arange(height, dtype="f4") * f(3) / f(height) - f(1.5))[:, None].repeat(width, 1)
    x, y, n = np.zeros_like(cx), np.zeros_like(cx), np.zeros(cx.shape, "i4")
    inside = np.ones(cx.shape, bool)
    with np.errstate(all="ignore"):
        for _ in range(limit):
            n += inside
            x, y = np.where(inside, fused(x, x, -(y * y)) + cx, x), np.where(inside, fused(f(2) * x, y, cy), y)
            inside &= fused(x, x, y * y) < 4
    save("mandelbrot", out=np.zeros(cx.shape, "i4"), expected=n)
    launch("mandelbrot", "mandel", [width, height], [16, 16], [
        {"buffer": "out.npy", "expect": "expected.npy", "atol": 0, "out": "mandelbrot.npy"}, {"scalar": width, "type": "i32"},
        {"scalar": height, "type": "i32"}, {"scalar": limit, "type": "i32"},
    ])  # fmt: skip


def calls() -> None:
    n = (np.arange(64) * 7 % 13).astype("u4")
    product = np.array([int(np.prod(np.arange(1, v + 1, dtype=object))) & 0xFFFFFFFF for v in n], "u4")
    save("calls", n=n, out=np.zeros(64, "u4"), expected=product)
    launch(
        "calls",
        "factorials",
        [64],
        [8],
        [{"buffer": "n.npy", "name": "IN"}, {"buffer": "out.npy", "name": "OUT", "expect": "expected.npy"}],
    )


def dispatch() -> None:
    x = np.arange(-32, 32, dtype="i4")
    expected = np.select([np.arange(64) % 3 == 0, np.arange(64) % 3 == 1], [2 * x, x * x], -x).astype("i4")
    save("dispatch", x=x, out=np.zeros(64, "i4"), expected=expected)
    launch(
        "dispatch",
        "dispatch",
        [64],
        [16],
        [{"buffer": "x.npy", "name": "IN"}, {"buffer": "out.npy", "name": "OUT", "expect": "expected.npy"}],
    )


def bitfields() -> None:
    colour = (np.arange(64, dtype="u4") * np.uint32(0x10DEAD)) & np.uint32(0xFFFFFF)
    packed = (colour >> 3 & 31) | (colour >> 10 & 63) << 5 | (colour >> 19 & 31) << 11
    back = (packed & 31) << 3 | (packed >> 5 & 63) << 10 | (packed >> 11 & 31) << 19
    zeros = np.zeros(64, "u4")
    save(
        "bitfields",
        colour=colour,
        packed=zeros,
        back=zeros,
        packed_expected=packed.astype("u4"),
        back_expected=back.astype("u4"),
    )
    launch("bitfields", "bitfields", [64], [16], [
        {"buffer": "colour.npy", "name": "IN"}, {"buffer": "packed.npy", "name": "PACKED", "expect": "packed_expected.npy"},
        {"buffer": "back.npy", "name": "BACK", "expect": "back_expected.npy"},
    ])  # fmt: skip


if __name__ == "__main__":
    for make in (saxpy, mandelbrot, calls, dispatch, bitfields, ctm):
        make()
