"""Kernels to compile, of any size: vISA texts of five shapes that compilers of OpenCL make."""

from __future__ import annotations

from random import Random

VARIABLES = 12
HEAD = """.version 4.1
.kernel "k"
.decl OUT v_type=G type=uq num_elts=1
.decl AT v_type=G type=uq num_elts=32 align=GRF
.decl LANE v_type=G type=d num_elts=32 align=GRF
.decl FRESH v_type=G type=d num_elts=32 align=GRF
"""
SIZES = (100, 200, 400, 800, 1600, 3200, 6400, 12800, 20000)
"""Instructions, up to the largest that the goal is about."""


class Body:
    """The instructions of a kernel while they are made: random integer and float code over a few variables."""

    def __init__(self, lanes: int) -> None:
        self.lanes, self.random, self.lines, self.labels = lanes, Random(1), list[str](), 0

    def emit(self, text: str) -> None:
        """An instruction of all lanes; ``{}`` is its exec size."""
        self.lines.append(text.replace("{}", f"(M1, {self.lanes})"))

    def label(self, stem: str) -> str:
        """A new label, which is yet to be placed."""
        self.labels += 1
        return f"{stem}_{self.labels}"

    def place(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def arithmetic(self, count: int) -> None:
        """So many instructions without control flow."""
        for _ in range(count):
            d, x, y, z = (self.random.randrange(VARIABLES) for _ in range(4))
            kind = self.random.choice(("add", "mul", "xor", "mad", "shl"))
            if kind == "mad":
                self.emit(f"mad {{}} F{d}(0,0)<1> F{x}(0,0)<1;1,0> F{y}(0,0)<1;1,0> F{z}(0,0)<1;1,0>")
            elif kind == "shl":
                self.emit(f"shl {{}} I{d}(0,0)<1> I{x}(0,0)<1;1,0> 0x{self.random.randrange(1, 9):x}:d")
            else:  # What is not known comes in again, or LLVM finds that products and shifts have left nothing but zeros.
                other = "FRESH" if kind == "xor" else f"I{y}"
                self.emit(f"{kind} {{}} I{d}(0,0)<1> I{x}(0,0)<1;1,0> {other}(0,0)<1;1,0>")

    def compare(self, relation: str, variable: int, constant: int) -> None:
        """P1 of every lane."""
        self.emit(f"cmp.{relation} {{}} P1 I{variable}(0,0)<1;1,0> 0x{constant:x}:d")


def straight(body: Body, size: int) -> None:
    """One block."""
    body.arithmetic(size)


def loops(body: Body, size: int) -> None:
    """Loops of two levels with an if in the inner one, one behind the other, that lanes leave at other times."""
    while len(body.lines) < size:
        outer, inner, skip = body.label("outer"), body.label("inner"), body.label("skip")
        body.place(outer)
        body.arithmetic(4)
        body.place(inner)
        body.compare("gt", 3, 7)
        body.emit(f"(P1) goto {{}} {skip}")
        body.arithmetic(6)
        body.place(skip)
        body.compare("lt", 1, 100)
        body.emit(f"(P1) goto {{}} {inner}")
        body.compare("lt", 2, 50)
        body.emit(f"(P1) goto {{}} {outer}")


def dispatch(body: Body, size: int) -> None:
    """An interpreter: a loop over tests for each operation, to whose code lanes go."""
    again, behind = body.label("again"), body.label("behind")
    body.place(again)
    body.emit("and {} LANE(0,0)<1> I0(0,0)<1;1,0> 0xff:d")
    number = 0
    while len(body.lines) < size - 4:
        over = body.label("over")
        body.emit(f"cmp.ne {{}} P1 LANE(0,0)<1;1,0> 0x{number:x}:d")
        body.emit(f"(P1) goto {{}} {over}")
        body.arithmetic(6)
        body.emit(f"goto {{}} {behind}")
        body.place(over)
        number += 1
    body.place(behind)
    body.compare("lt", 5, 1000)
    body.emit(f"(P1) goto {{}} {again}")


def barriers(body: Body, size: int) -> None:
    """A barrier behind every twenty instructions."""
    while len(body.lines) < size:
        body.arithmetic(19)
        body.lines.append("barrier")


def calls(body: Body, size: int) -> None:
    """Calls of subroutines of ten instructions, one for each ten that call; :func:`kernel` appends them."""
    for number in range(max(1, size // 24)):
        body.arithmetic(9)
        body.emit(f"call {{}} sub_{number}")


SHAPES = {"straight": straight, "loops": loops, "dispatch": dispatch, "calls": calls, "barriers": barriers}


def kernel(shape: str, size: int, lanes: int) -> str:
    """The text of a kernel of about so many instructions; it stores a number for each lane."""
    declarations = [HEAD]
    for n in range(VARIABLES):
        declarations += [
            f".decl I{n} v_type=G type=d num_elts={lanes} align=GRF",
            f".decl F{n} v_type=G type=f num_elts={lanes} align=GRF alias=<I{n}, 0>",
        ]
    declarations += [".decl P1 v_type=P num_elts=32", ".input OUT offset=64 size=8", f".kernel_attr SimdSize={lanes}"]
    body = Body(lanes)
    body.lines += [f"svm_block_ld ({lanes // 4}) OUT(0,0)<0;1,0> {name}.0" for name in ("I0", "FRESH")]
    for n in range(1, VARIABLES):
        body.emit(f"add {{}} I{n}(0,0)<1> I0(0,0)<1;1,0> 0x{n * 2654435761 % 1000:x}:d")
    SHAPES[shape](body, size)
    for n in range(1, VARIABLES):
        body.emit(f"xor {{}} I0(0,0)<1> I0(0,0)<1;1,0> I{n}(0,0)<1;1,0>")
    body.lines.append(f"svm_block_st ({lanes // 4}) OUT(0,0)<0;1,0> I0.0")
    body.lines.append("ret (M1, 1)")
    if shape == "calls":
        for number in range(max(1, size // 24)):
            body.place(f"sub_{number}")
            body.arithmetic(10)
            body.emit("ret {}")
    return "\n".join([*declarations, *body.lines, ""])
