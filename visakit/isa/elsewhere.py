"""Names that other instruction sets and languages have for what vISA writes another way."""

from typing import NamedTuple

ELSEWHERE = {
    "sub": "write add with (-) before the second source, add ... A(0,0)<1;1,0> (-)B(0,0)<1;1,0>",
    "neg": "write mov with the source modifier (-)",
    "abs": "write mov with the source modifier (abs)",
    "fma": "mad does it: dst = src0 * src1 + src2",
    "sar": "asr shifts the sign in",
    "min3": "write two instructions min",
    "max3": "write two instructions max",
    "bra": "goto branches lane by lane, jmp for the whole thread",
    "branch": "goto branches lane by lane, jmp for the whole thread",
    "exit": "ret ends a kernel",
    "return": "ret ends a kernel or a subroutine, fret a function",
    "nop": "vISA has no such instruction: leave the line out",
    "cvt": "mov converts to the type of its destination",
    "popcnt": "cbit counts the bits that are set",
    "ffs": "fbl finds the lowest bit that is set",
    "clz": "lzd counts the zeros before the highest bit that is set",
    "fadd": "add takes every type: declare the operands with type=f",
    "fsub": "write add with (-) before the second source; operands are declared with type=f",
    "fmul": "mul takes every type: declare the operands with type=f",
    "fdiv": "write div; operands are declared with type=f",
    "iadd": "add takes every type",
    "imul": "mul takes every type",
    "rcp": "inv gives 1 / x",
    **dict.fromkeys(("if", "else", "endif", "while", "for", "do", "break", "continue"),
                    "there are no blocks: cmp writes a predicate, and (P1) goto (M1, 8) LABEL jumps in the lanes where it is set"),
    **dict.fromkeys(("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float", "double"),
                    "variables are declared with .decl NAME v_type=G type=d num_elts=8, a register of eight integers"),
}  # fmt: skip
"""What to write instead."""


class Family(NamedTuple):
    """Instructions for one purpose, of which platforms have some, and the words of other languages for it."""

    words: tuple[str, ...]
    mnemonics: tuple[str, ...]
    purpose: str


FAMILIES = (
    Family(("fence", "membar", "mem_fence"), ("lsc_fence", "fence_global", "fence_local"), "order memory accesses"),
    Family(("ld", "load"), ("lsc_load", "svm_gather", "gather"), "read memory"),
    Family(("st", "store"), ("lsc_store", "svm_scatter", "scatter"), "write memory"),
)

_LOCAL_ID = "it is computed: the thread's number within the group, the low byte of dword 2 of %r0, times the lanes of a thread, plus the lane (docs/tutorial.md)"
_GLOBAL_ID = "a work-item has the number %thread_x times the lanes of a thread, plus its lane (docs/tutorial.md)"
_SIZE = "a kernel gets it as an argument: declare an .input"

TYPES_ELSEWHERE = {
    "char": "b", "uchar": "ub", "short": "w", "ushort": "uw", "int": "d", "uint": "ud", "unsigned": "ud", "long": "q", "ulong": "uq",
    "half": "hf", "float": "f", "double": "df", "bfloat": "bf",
    **{f"{sign}{8 * size}": name for size, name in ((1, "b"), (2, "w"), (4, "d"), (8, "q")) for sign in ("s", "i", "int")},
    **{f"{sign}{8 * size}": f"u{name}" for size, name in ((1, "b"), (2, "w"), (4, "d"), (8, "q")) for sign in ("u", "uint")},
    **{f"{word}{8 * size}": name for size, name in ((2, "hf"), (4, "f"), (8, "df")) for word in ("f", "float")},
}  # fmt: skip
"""The types of C, OpenCL C, numpy, LLVM and PTX, by the words for them here."""

DIRECTIVES_ELSEWHERE = {
    **dict.fromkeys((".end", ".endkernel", ".end_kernel", ".endfunction", ".end_function"),
                    "none is needed: a kernel or function ends where the next one begins, or the file"),
    **dict.fromkeys((".func", ".entry", ".global", ".globl"),
                    "write .kernel \"name\" for a kernel, .global_function \"name\" for a function that fcall names"),
    **dict.fromkeys((".text", ".section", ".data"), "there are no sections: leave the line out"),
    **dict.fromkeys((".reg", ".var", ".param", ".local"),
                    "write .decl NAME v_type=G type=d num_elts=8, and .input NAME offset=64 size=8 for an argument"),
}  # fmt: skip
"""What to do instead of a directive that other assemblers have."""

FUNCTIONS_ELSEWHERE = {
    "get_group_id": "the number of the work-group is in %group_id_x, %group_id_y and %group_id_z",
    "get_global_id": _GLOBAL_ID,
    "get_local_id": _LOCAL_ID,
    **dict.fromkeys(("get_local_size", "get_global_size", "get_num_groups"), _SIZE),
    "global_id_x": _GLOBAL_ID,
    **{f"{name}_{axis}": hint for axis in "xyz" for name, hint in (
        ("local_id", _LOCAL_ID), ("local_size", _SIZE), ("global_size", _SIZE))},
}  # fmt: skip
"""What to do where OpenCL C has a function, and other assemblers a register; a ``%`` before the name does not count."""
