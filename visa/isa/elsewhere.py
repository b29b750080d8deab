"""Names that other instruction sets and languages have for what vISA writes another way."""

ELSEWHERE = {
    "sub": "there is none: write add with (-) before the second source, add ... A(0,0)<1;1,0> (-)B(0,0)<1;1,0>",
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
    "nop": "vISA has none: leave the line out",
    "cvt": "mov converts to the type of its destination",
    "popcnt": "cbit counts the bits that are set",
    "ffs": "fbl finds the lowest bit that is set",
    "clz": "lzd counts the zeros before the highest bit that is set",
    "rcp": "inv gives 1 / x",
    "ld": "lsc_load, svm_gather and gather read memory",
    "st": "lsc_store, svm_scatter and scatter write memory",
    "store": "lsc_store, svm_scatter and scatter write memory",
}  # fmt: skip
"""What to write instead."""
