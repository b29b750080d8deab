"""Matrices for generated programs: systolic dot products, and blocks of matrices in memory, also across their rims."""

from __future__ import annotations

from random import Random

INTEGERS = ("s8", "u8", "s4", "u4", "s2", "u2", "s1", "u1")
FLOATS = ("bf", "hf", "tf32", "bf8", "hf8")
SHAPES = (
    "d32.16x8nn", "d16.16x16nn", "d8.32x8nn", "d32.5x3nn", "d64.4x8nn", "d16.2x16x8nn", "d8.4x7x3nn", "d32.8x8tn", "d16.16x16nt", "d8.16x16nt",
    "d16.3x5nt",
)  # fmt: skip
STORED = 5
"""How many of these can be stored."""


class Matrices:
    """Gives lines for a platform; ``simd`` are the lanes of a thread, ``register`` the bytes of a register."""

    def __init__(self, random: Random, platform: str, simd: int, register: int) -> None:
        self.random, self.platform, self.simd, self.register = random, platform, simd, register

    def _guard(self) -> str:
        return self.random.choice(("", "", "(P1) ", "(!P3) "))

    def product(self) -> list[str]:
        """A systolic dot product; narrow results go to ``F_0``, so that no bits of floats are compared."""
        lanes = 8 if self.register == 32 else 16
        if lanes > self.simd:
            return []
        rows = self.random.randrange(1, 9)
        name = "dpasw" if self.platform in ("xehp", "dg2") and rows == 8 and self.random.random() < 0.3 else "dpas"
        first = self.random.randrange(0, self.simd, lanes)
        head = f"(M{1 + first // 4}{self.random.choice(('', '_NM'))}, {lanes})"
        operands = f"DATA_{self.random.randrange(2)}.0 DATA_{self.random.randrange(2)}(0,0)"
        if self.random.random() < 0.5:
            pair = f"{self.random.choice(INTEGERS)}.{self.random.choice(INTEGERS)}"
            src0 = self.random.choice(("%null.0", "DATA_0.0", "DATA_1.0"))
            return [f"{name}.{pair}.8.{rows} {head} DATA_{self.random.randrange(2)}.0 {src0} {operands}"]
        precision = self.random.choice(FLOATS)
        src0 = self.random.choice(("%null.0", "REAL_0.0", "REAL_1.0"))
        if precision not in ("bf", "hf") or self.random.random() < 0.6:
            return [
                f"{name}.{precision}.{precision}.8.{rows} {head} REAL_{self.random.randrange(2)}.0 {src0} {operands}"
            ]
        result = "BROWS" if precision == "bf" else "HROWS"
        src0 = self.random.choice((src0, f"{result}.0"))
        return [f"{name}.{precision}.{precision}.8.{rows} {head} {result}.0 {src0} {operands}",
                f"mov (M1_NM, {lanes}) F_0(0,0)<1> {result}({self.random.randrange(2)},0)<1;1,0>"]  # fmt: skip

    def block(self) -> list[str]:
        """A block of the thread's own matrix of 16 rows of 64 bytes, or of a read-only one of 16 rows of 256 bytes."""
        store = self.random.random() < 0.35
        shape = self.random.choice(SHAPES[:STORED] if store else SHAPES)
        base, pitch = ("BLOCK", 64) if store or self.random.random() < 0.5 else ("SHARED", 256)
        width, rows = self.random.choice((pitch, pitch, 64)), self.random.choice((16, 16, 11))
        x, y = self.random.randrange(-4, 20), self.random.randrange(-4, 12)
        across, down = self.random.choice(((0, 0), (0, 0), (3, -2), (-200, 1000)))
        data = self.random.choice(("DATA_0", "DATA_1", *(["%null"] if not store else [])))
        head = self.random.choice(("(M1_NM, 1)", "(M1, 1)"))
        guard = self._guard() if "_NM" not in head else ""
        limits = [width - 1, rows - 1, pitch - 1]
        if self.random.random() < 0.5:
            parts, text = [*limits, x - across, y - down], f"flat[SHAPE+({across},{down})]"
            parts.append(_described(shape))
            lines = [f"mov (M1_NM, 1) SHAPE_AT(0,0)<1> {base}(0,0)<0;1,0>"]
            lines += [f"mov (M1_NM, 1) SHAPE(0,{2 + n})<1> {value & 0xFFFFFFFF:#x}:ud" for n, value in enumerate(parts)]
        else:
            lines = [
                f"mov (M1_NM, 1) SHAPE(0,{5 + n})<1> {value & 0xFFFFFFFF:#x}:ud"
                for n, value in enumerate((x - across, y - down))
            ]
            offsets = [f"{n:+}" if n else "" for n in (across, down)]
            numbers = ",".join(f"{n:#x}" for n in limits)
            text = f"flat[{base},{numbers},SHAPE(0,5){offsets[0]},SHAPE(0,6){offsets[1]}]"
        verb, operands = ("store", f"{text} {data}:{shape}") if store else ("load", f"{data}:{shape} {text}")
        return [*lines, f"{guard}lsc_{verb}_block2d.ugm {head} {operands}"]


def _described(shape: str) -> int:
    """The dword of a payload that says how many blocks of which size a message is about."""
    *blocks, width, height = (int(n) for n in shape.partition(".")[2][:-2].split("x"))
    return ((blocks or [1])[0] - 1) << 16 | height - 1 << 8 | width - 1
