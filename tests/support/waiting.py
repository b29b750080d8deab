"""Texts of kernels whose threads wait for each other: at barriers of every kind, in functions and in loops."""

import itertools

import numpy as np

LANES, THREADS, GROUPS = 16, 4, 3
ITEMS = LANES * THREADS
WORD = np.uint32
SCHEDULES = ("", "reverse", "random:5", "round-robin")

VARIABLES = [
    f".decl {n} v_type=G type=ud num_elts=16 align=GRF"
    for n in ("X", "TO", "FROM", "OTHER", "LANE", "T", "N", "COUNTER_0", "COUNTER_1", "COUNTER_2")
]
VARIABLES += [".decl ADDRESS v_type=G type=ud num_elts=1", ".decl P1 v_type=P num_elts=16", ".decl P2 v_type=P num_elts=16",
              ".decl ARG v_type=G type=ud num_elts=16 align=GRF alias=<%arg, 0>", ".decl ARG_TO v_type=G type=ud num_elts=16 align=GRF alias=<%arg, 64>",
              ".decl ARG_LANE v_type=G type=ud num_elts=16 align=GRF alias=<%arg, 128>", ".decl ARG_N v_type=G type=ud num_elts=16 align=GRF alias=<%arg, 192>",
              ".decl RESULT v_type=G type=ud num_elts=16 align=GRF alias=<%retval, 0>"]  # fmt: skip
HEAD = ['.version 4.1', '.kernel "k"', ".decl OUT v_type=G type=uq num_elts=1", ".decl SHORT v_type=G type=uw num_elts=16 align=GRF",
        ".decl AT v_type=G type=uq num_elts=16 align=GRF", ".decl NUMBER v_type=G type=ud num_elts=1", *VARIABLES, ".input OUT offset=64 size=8",
        ".kernel_attr SimdSize=16", ".kernel_attr SLMSize=4",
        "mov (M1, 8) SHORT(0,0)<1> 0x76543210:uv", "add (M1, 8) SHORT(0,8)<1> SHORT(0,0)<1;1,0> 8:uw", "mov (M1, 16) LANE(0,0)<1> SHORT(0,0)<1;1,0>",
        "and (M1_NM, 1) NUMBER(0,0)<1> %r0(0,2)<0;1,0> 0xff:ud", "mad (M1, 16) X(0,0)<1> NUMBER(0,0)<0;1,0> 16:ud LANE(0,0)<1;1,0>",
        "shl (M1, 16) TO(0,0)<1> X(0,0)<1;1,0> 2:ud"]  # fmt: skip
TAIL = ["mad (M1, 16) T(0,0)<1> %r0(0,1)<0;1,0> 256:ud TO(0,0)<1;1,0>", "mul (M1, 16) AT(0,0)<1> T(0,0)<1;1,0> 1:ud",
        "add (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> OUT(0,0)<0;1,0>", "svm_scatter.4.1 (M1, 16) AT.0 X.0", "ret (M1, 1)"]  # fmt: skip
ARRIVE_AND_WAIT = {
    "barrier": ["barrier"],
    "split": ["sbarrier.signal", "add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 0:ud", "sbarrier.wait"],
    "named": ["nbarrier.signal 7:ub 4:ub", "nbarrier.wait 7:ub"],
}


def meeting(kind):
    """Lines in which every thread reads what its neighbour wrote: X becomes three times itself and the other's."""
    meet = ARRIVE_AND_WAIT[kind]
    return ["scatter_scaled.4 (M1, 16) %slm 0:ud TO.0 X.0", *meet, "xor (M1, 16) FROM(0,0)<1> TO(0,0)<1;1,0> 0x40:ud",
            "gather_scaled.4 (M1, 16) %slm 0:ud FROM.0 OTHER.0", *meet, "mad (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 3:ud OTHER(0,0)<1;1,0>"]  # fmt: skip


class Writer:
    """Lines for statements."""

    def __init__(self, numbers, in_function):
        self.numbers, self.in_function = numbers, in_function

    def lines(self, statements, depth=0):
        return [line for kind, *rest in statements for line in getattr(self, f"_{kind}")(depth, *rest)]

    def _op(self, depth, k):
        return [f"mad (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 5:ud {k}:ud"]

    def _meet(self, depth, kind):
        return meeting(kind)

    def _part(self, depth, shift, body):
        over = f"over_{next(self.numbers)}"
        return [*self._bits(shift, 1), "cmp.eq (M1, 16) P1 T(0,0)<1;1,0> 0:ud", f"(P1) goto (M1, 16) {over}", *self.lines(body, depth), f"{over}:"]  # fmt: skip

    def _bits(self, shift, mask):
        return [f"shr (M1, 16) T(0,0)<1> LANE(0,0)<1;1,0> {shift}:ud", f"and (M1, 16) T(0,0)<1> T(0,0)<1;1,0> {mask}:ud"]  # fmt: skip

    def _loop(self, depth, shift, body):
        """Lanes go round as often as two bits of their number say, and once more."""
        start, counter = f"loop_{next(self.numbers)}", f"COUNTER_{depth}"
        return [*self._bits(shift, 3), f"mov (M1, 16) {counter}(0,0)<1> T(0,0)<1;1,0>", f"{start}:", *self.lines(body, depth + 1),
                f"cmp.gt (M1, 16) P1 {counter}(0,0)<1;1,0> 0:ud", f"add (M1, 16) {counter}(0,0)<1> {counter}(0,0)<1;1,0> -1:d",
                f"(P1) goto (M1, 16) {start}"]  # fmt: skip

    def _repeat(self, depth, count, body):
        start, counter = f"loop_{next(self.numbers)}", f"COUNTER_{depth}"
        return [f"mov (M1_NM, 16) {counter}(0,0)<1> {count - 1}:ud", f"{start}:", *self.lines(body, depth + 1),
                f"cmp.gt (M1_NM, 16) P1 {counter}(0,0)<1;1,0> 0:ud", f"add (M1_NM, 16) {counter}(0,0)<1> {counter}(0,0)<1;1,0> -1:d",
                f"(P1) jmp (M1, 1) {start}"]  # fmt: skip

    def _call(self, depth, number):
        return self._fcall(depth, number) if self.in_function else [f"call (M1, 16) sub_{number}"]

    def _called(self, name, lines=(), indirect=False):
        call = ["ifcall (M1, 16) ADDRESS(0,0)<0;1,0> 8 2"] if indirect else [f"fcall (M1, 16) {name} 8 2"]
        address = [f"faddr {name} ADDRESS(0,0)<1>"] if indirect else []
        return [*address, "mov (M1, 16) ARG(0,0)<1> X(0,0)<1;1,0>", "mov (M1, 16) ARG_TO(0,0)<1> TO(0,0)<1;1,0>",
                "mov (M1, 16) ARG_LANE(0,0)<1> LANE(0,0)<1;1,0>", *lines, *call, "mov (M1, 16) X(0,0)<1> RESULT(0,0)<1;1,0>"]  # fmt: skip

    def _fcall(self, depth, number):
        return self._called(f"f{number}")

    def _ifcall(self, depth, number):
        return self._called(f"f{number}", indirect=True)

    def _recurse(self, depth):
        return self._called("recursion", ["and (M1, 16) ARG_N(0,0)<1> LANE(0,0)<1;1,0> 3:ud"])


def function(name, lines):
    return [f'.global_function "{name}"', *VARIABLES, ".kernel_attr SimdSize=16", ".kernel_attr Extern", ".kernel_attr ArgSize=8", ".kernel_attr RetValSize=2",
            "mov (M1, 16) X(0,0)<1> ARG(0,0)<1;1,0>", "mov (M1, 16) TO(0,0)<1> ARG_TO(0,0)<1;1,0>", "mov (M1, 16) LANE(0,0)<1> ARG_LANE(0,0)<1;1,0>",
            *lines, "mov (M1, 16) RESULT(0,0)<1> X(0,0)<1;1,0>", "fret (M1, 16)"]  # fmt: skip


def recursion(kind):
    """Threads meet at every depth on the way down; lanes leave at different depths."""
    return [
        "mov (M1, 16) N(0,0)<1> ARG_N(0,0)<1;1,0>",
        *meeting(kind),
        "cmp.eq (M1, 16) P1 N(0,0)<1;1,0> 0:ud",
        "(P1) goto (M1, 16) deep",
        *Writer(None, True)._called("recursion", ["add (M1, 16) ARG_N(0,0)<1> N(0,0)<1;1,0> -1:d"]),
        "mad (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 5:ud 1:ud",
        "deep:",
    ]


def text(main, bodies, deep="barrier"):
    numbers = itertools.count()
    lines = [*HEAD, *Writer(numbers, False).lines(main), *TAIL]
    for n, body in enumerate(bodies):
        lines += [f"sub_{n}:", *Writer(numbers, False).lines(body, 2), "ret (M1, 16)"]
    for n, body in enumerate(bodies):
        lines += function(f"f{n}", Writer(numbers, True).lines(body))
    return "\n".join([*lines, *function("recursion", recursion(deep))])


CALL = Writer(None, True)._called("f")
BY_ADDRESS = Writer(None, True)._called("f", indirect=True)
