"""What instructions do in pseudo-code, and the lines that show it: tables that docs/worked_examples.py executes."""

from __future__ import annotations

from collections.abc import Iterator

from worked_records import FLOATS, SIGNED, UNSIGNED, Message, Operation, Scene

ALU = {
    "add": Operation("src0[i] + src1[i]", SIGNED),
    "mul": Operation("src0[i] * src1[i]", SIGNED),
    "mad": Operation("src0[i] * src1[i] + src2[i]", SIGNED),
    "add3": Operation("src0[i] + src1[i] + src2[i]", SIGNED),
    "avg": Operation("src0[i] + src1[i] + 1 >> 1", SIGNED),
    "div": Operation("trunc(src0[i] / src1[i])", SIGNED),
    "mod": Operation("src0[i] - src1[i] * trunc(src0[i] / src1[i])", SIGNED),
    "min": Operation("min(src0[i], src1[i])", SIGNED),
    "max": Operation("max(src0[i], src1[i])", SIGNED),
    "mulh": Operation("src0[i] * src1[i] >> 32", UNSIGNED),
    "and": Operation("src0[i] & src1[i]", UNSIGNED),
    "or": Operation("src0[i] | src1[i]", UNSIGNED),
    "xor": Operation("src0[i] ^ src1[i]", UNSIGNED),
    "not": Operation("~src0[i]", UNSIGNED),
    "shl": Operation("src0[i] << (src1[i] & 31)", UNSIGNED),
    "shr": Operation("src0[i] >> (src1[i] & 31)", UNSIGNED),
    "asr": Operation("src0[i] >> (src1[i] & 31)", SIGNED),
    "rol": Operation("src0[i] << (src1[i] & 31) | src0[i] >> (-src1[i] & 31)", UNSIGNED),
    "ror": Operation("src0[i] >> (src1[i] & 31) | src0[i] << (-src1[i] & 31)", UNSIGNED),
    "bfrev": Operation("int(bits(src0[i])[::-1], 2)", UNSIGNED),
    "cbit": Operation("bits(src0[i]).count('1')", UNSIGNED),
    "fbl": Operation("bits(src0[i])[::-1].find('1')", UNSIGNED),
    "fbh": Operation("bits(src0[i]).find('1')", UNSIGNED),
    "lzd": Operation("32 - len(bits(src0[i]).lstrip('0'))", UNSIGNED),
    "bfe": Operation("src[i] >> offset[i] & (1 << width[i]) - 1", UNSIGNED, ("5:ud", "3:ud", "UC")),
    "bfi": Operation(
        "base[i] & ~((1 << width[i]) - 1 << offset[i]) | (insert[i] & (1 << width[i]) - 1) << offset[i]",
        UNSIGNED,
        ("4:ud", "8:ud", "UA", "UC"),
    ),
    "dp4a": Operation("src0[i] + sum(byte(src1[i], k) * byte(src2[i], k) for k in range(4))", SIGNED),
    "mov": Operation("src0[i]", SIGNED),
    "sel": Operation("src0[i] if predicate[i] else src1[i]", SIGNED),
    "cmp": Operation("src0[i] < src1[i]", SIGNED, suffix=".lt"),
    "frc": Operation("src0[i] - floor(src0[i])", FLOATS),
    "rndd": Operation("floor(src0[i])", FLOATS),
    "rndu": Operation("ceil(src0[i])", FLOATS),
    "rnde": Operation("round(src0[i])", FLOATS),
    "rndz": Operation("trunc(src0[i])", FLOATS),
    "inv": Operation("1 / src0[i]", FLOATS),
    "sqrt": Operation("sqrt(src0[i])", FLOATS, ("FP",)),
    "rsqrt": Operation("1 / sqrt(src0[i])", FLOATS, ("FP",)),
    "sqrtm": Operation("sqrt(src0[i])", FLOATS, ("FP",)),
    "divm": Operation("src0[i] / src1[i]", FLOATS),
    "exp": Operation("2 ** src0[i]", FLOATS),
    "log": Operation("log2(src0[i])", FLOATS, ("FP",)),
    "pow": Operation("src0[i] ** src1[i]", FLOATS, ("FP", "FB")),
    "sin": Operation("sin(src0[i])", FLOATS),
    "cos": Operation("cos(src0[i])", FLOATS),
    "lrp": Operation("src0[i] * src1[i] + (1 - src0[i]) * src2[i]", FLOATS),
    "dp2": Operation("src0[j] * src1[j] + src0[j + 1] * src1[j + 1]", FLOATS),
    "dp3": Operation("sum(src0[j + k] * src1[j + k] for k in range(3))", FLOATS),
    "dp4": Operation("sum(src0[j + k] * src1[j + k] for k in range(4))", FLOATS),
    "dph": Operation("sum(src0[j + k] * src1[j + k] for k in range(3)) + src1[j + 3]", FLOATS),
}
"""``j`` is the first lane of the four to which lane i belongs. Results are cut to the type of the destination."""

_ELEMENT = "`.4` is the size of an element in bytes (`.1` and `.2` are the others). Offsets count elements, not bytes."
_BLOCK = "`.4` is the bytes of a lane's block (`.1` and `.2` are the others). Offsets are in bytes."
_ATOMIC = (
    "The lanes do this one after the other, in no order that a program may rely on, and no other thread comes between. "
    "What was in memory before goes into the destination; `%null` drops it, and stands for operands that an operation lacks."
)
_LSC = (
    "`D:d32` is the size of the data, 32 bits for each lane (`d8u32` and `d16u32` are a byte and a word in a dword each, `d64` "
    "64 bits). `:a64` says that addresses have 64 bits; they are in bytes. `.ugm` is global memory, `.slm` local memory."
)
_BLOCKS = (
    "`.4.1` is one block of four bytes for each lane: the size of a block (1, 4 or 8), then the number of blocks. "
    "Addresses are in bytes."
)
_CHANNELS = (
    "`.RG` are the channels, of `.RGBA`: each of a lane's dwords goes into a separate row of registers, here of eight lanes. "
    "Offsets are in bytes."
)
_CHANNELS_OF_LSC = (
    "`.xy` are the channels, of `.xyzw`: each of a lane's dwords has a separate row of registers, here of eight lanes."
)
_OWORDS = "`(2)` is the number of owords of 16 bytes."
_ROW = "for each dword i of the row:"
_LOAD, _STORE = "dst[i] = memory[addresses[i]]", "memory[addresses[i]] = src[i]"
UPDATES = {
    "iadd": "dst[i] + src0[i]",
    "isub": "dst[i] - src0[i]",
    "iinc": "dst[i] + 1",
    "idec": "dst[i] - 1",
    "umin": "min(dst[i], src0[i])",
    "umax": "max(dst[i], src0[i])",
    "smin": "min(dst[i], src0[i])",
    "smax": "max(dst[i], src0[i])",
    "and": "dst[i] & src0[i]",
    "or": "dst[i] | src0[i]",
    "xor": "dst[i] ^ src0[i]",
    "store": "src0[i]",
    "icas": "src1[i] if dst[i] == src0[i] else dst[i]",
    "fadd": "dst[i] + src0[i]",
    "fsub": "dst[i] - src0[i]",
    "fmin": "min(dst[i], src0[i])",
    "fmax": "max(dst[i], src0[i])",
    "fcas": "src1[i] if dst[i] == src0[i] else dst[i]",
}
"""The new value in memory of an atomic operation; ``dst[i]`` is the old one."""
BFLOATS = {
    "bfadd": "dst[i] + src0[i]",
    "bfsub": "dst[i] - src0[i]",
    "bfmin": "min(dst[i], src0[i])",
    "bfmax": "max(dst[i], src0[i])",
    "bfcas": "src1[i] if dst[i] == src0[i] else dst[i]",
}
"""The same of numbers of bf."""


def _atomics() -> Iterator[tuple[str, Message]]:
    """A message for each operation of ``lsc_atomic``."""
    for operation, update in {**UPDATES, "load": ""}.items():
        sources = ("S" if "src0" in update else "%null", "C" if "src1" in update else "%null")
        kind = FLOATS if operation[0] == "f" else SIGNED if operation[0] == "s" and operation != "store" else UNSIGNED
        line = f"lsc_atomic_{operation}.ugm (M1, 8) D:d32 flat[ADDRESSES]:a64 {sources[0]} {sources[1]}"
        pseudo = _LOAD + (f"\nmemory[addresses[i]] = {update}" if update else "")
        yield f"lsc_atomic_{operation}", Message(line, pseudo, _ATOMIC, type=kind)


_AT_SURFACE = "surface[global_offset + offsets[i]"
MESSAGES = {
    "gather": Message("gather.4 (M1, 8) T8 0:ud OFFSETS.0 D.0", f"dst[i] = {_AT_SURFACE}]", _ELEMENT, 1),
    "scatter": Message("scatter.4 (M1, 8) T8 0:ud OFFSETS.0 S.0", f"{_AT_SURFACE}] = src[i]", _ELEMENT, 1),
    "gather_scaled": Message("gather_scaled.4 (M1, 8) T8 0:ud OFFSETS.0 D.0", f"dst[i] = {_AT_SURFACE}]", _BLOCK),
    "scatter_scaled": Message("scatter_scaled.4 (M1, 8) T8 0:ud OFFSETS.0 S.0", f"{_AT_SURFACE}] = src[i]", _BLOCK),
    "gather4_scaled": Message(
        "gather4_scaled.RG (M1, 8) T8 0:ud OFFSETS.0 D.0",
        "at = global_offset + offsets[i]\ndst[i] = surface[at]\ndst[8 + i] = surface[at + 4]",
        _CHANNELS,
    ),
    "scatter4_scaled": Message(
        "scatter4_scaled.RG (M1, 8) T8 0:ud OFFSETS.0 S.0",
        "at = global_offset + offsets[i]\nsurface[at] = src[i]\nsurface[at + 4] = src[8 + i]",
        _CHANNELS,
    ),
    "svm_gather": Message("svm_gather.4.1 (M1, 8) ADDRESSES.0 D.0", _LOAD, _BLOCKS),
    "svm_scatter": Message("svm_scatter.4.1 (M1, 8) ADDRESSES.0 S.0", _STORE, _BLOCKS),
    "svm_gather4scaled": Message(
        "svm_gather4scaled.RG (M1, 8) MEMORY(0,0)<0;1,0> WIDE.0 D.0",
        "at = address + offsets[i]\ndst[i] = memory[at]\ndst[8 + i] = memory[at + 4]",
        _CHANNELS,
    ),
    "svm_scatter4scaled": Message(
        "svm_scatter4scaled.RG (M1, 8) MEMORY(0,0)<0;1,0> WIDE.0 S.0",
        "at = address + offsets[i]\nmemory[at] = src[i]\nmemory[at + 4] = src[8 + i]",
        _CHANNELS,
    ),
    "svm_block_ld": Message(
        "svm_block_ld (2) MEMORY(0,0)<0;1,0> D.0", "dst[i] = memory[address + 4 * i]", _OWORDS, each=_ROW
    ),
    "svm_block_st": Message(
        "svm_block_st (2) MEMORY(0,0)<0;1,0> S.0", "memory[address + 4 * i] = src[i]", _OWORDS, each=_ROW
    ),
    "oword_ld": Message("oword_ld (2) T8 0:ud D.0", "dst[i] = surface[16 * offset + 4 * i]", _OWORDS, each=_ROW),
    "oword_ld_unaligned": Message(
        "oword_ld_unaligned (2) T8 0:ud D.0", "dst[i] = surface[offset + 4 * i]", _OWORDS, each=_ROW
    ),
    "oword_st": Message("oword_st (2) T8 0:ud S.0", "surface[16 * offset + 4 * i] = src[i]", _OWORDS, each=_ROW),
    "lsc_load": Message("lsc_load.ugm (M1, 8) D:d32 flat[ADDRESSES]:a64", _LOAD, _LSC),
    "lsc_store": Message("lsc_store.ugm (M1, 8) flat[ADDRESSES]:a64 S:d32", _STORE, _LSC),
    "lsc_load_quad": Message(
        "lsc_load_quad.ugm (M1, 8) D:d32.xy flat[ADDRESSES]:a64",
        "dst[i] = memory[addresses[i]]\ndst[8 + i] = memory[addresses[i] + 4]",
        _CHANNELS_OF_LSC,
    ),
    "lsc_store_quad": Message(
        "lsc_store_quad.ugm (M1, 8) flat[ADDRESSES]:a64 S:d32.xy",
        "memory[addresses[i]] = src[i]\nmemory[addresses[i] + 4] = src[8 + i]",
        _CHANNELS_OF_LSC,
    ),
    "lsc_load_strided": Message(
        "lsc_load_strided.ugm (M1, 8) D:d32 flat[MEMORY,4]:a64",
        "dst[i] = memory[address + 4 * i]",
        "`,4` is the distance of neighbours' addresses in bytes; one address serves all lanes.",
    ),
    "lsc_store_strided": Message(
        "lsc_store_strided.ugm (M1, 8) flat[MEMORY,4]:a64 S:d32",
        "memory[address + 4 * i] = src[i]",
        "`,4` is the distance of neighbours' addresses in bytes; one address serves all lanes.",
    ),
    "dword_atomic": Message(
        "dword_atomic.add (M1, 8) T8 OFFSETS.0 S.0 %null.0 D.0",
        "dst[i] = surface[offsets[i]]\nsurface[offsets[i]] = dst[i] + src0[i]",
        _ATOMIC,
    ),
    "svm_atomic": Message(
        "svm_atomic.add (M1, 8) ADDRESSES.0 D.0 S.0 %null.0",
        f"{_LOAD}\nmemory[addresses[i]] = dst[i] + src0[i]",
        _ATOMIC,
    ),
    **dict(_atomics()),
}


_ADDS = "add (M1, 8) D(0,0)<1> D(0,0)<1;1,0> {}:d"
_ON, _BEHIND = _ADDS.format(1), _ADDS.format(10)
_ARGUMENT = (
    "`2` registers of `%arg` and 2 of `%retval` (each of 32 bytes) are said to hold arguments and results; "
    "[the language page](../language.md) says which. Here `ARGUMENT` is part of `%arg` and `RESULT` of `%retval`."
)
_PASSES, _TAKES = "mov (M1, 8) ARGUMENT(0,0)<1> D(0,0)<1;1,0>", "mov (M1, 8) D(0,0)<1> RESULT(0,0)<1;1,0>"
_BODY = "add (M1, 8) RESULT(0,0)<1> ARGUMENT(0,0)<1;1,0> 10:d"
SCENES = {
    "addc": Scene(
        "addc (M1, 8) D(0,0)<1> E(0,0)<1> UA(0,0)<1;1,0> UB(0,0)<1;1,0>",
        "dst[i] = src0[i] + src1[i] & 0xffffffff\ncarry[i] = src0[i] + src1[i] >> 32",
        names="dst=D carry=E src0=UA src1=UB",
    ),
    "subb": Scene(
        "subb (M1, 8) D(0,0)<1> E(0,0)<1> UA(0,0)<1;1,0> UB(0,0)<1;1,0>",
        "dst[i] = src0[i] - src1[i] & 0xffffffff\nborrow[i] = int(src0[i] < src1[i])",
        names="dst=D borrow=E src0=UA src1=UB",
    ),
    "add3.o": Scene(
        "(P2) add3.o (M1, 8) D(0,0)<1> UA(0,0)<1;1,0> UB(0,0)<1;1,0> UC(0,0)<1;1,0>",
        "all = src0[i] + src1[i] + src2[i]\ndst[i], predicate[i] = all & 0xffffffff, int(all > 0xffffffff)",
        names="dst=D predicate=P2 src0=UA src1=UB src2=UC",
        meaning="The predicate is a result; it disables no lane.",
        platform="xe2",
    ),
    "bfn": Scene(
        "bfn.x6a (M1, 8) D(0,0)<1> UA(0,0)<1;1,0> UB(0,0)<1;1,0> UC(0,0)<1;1,0>",
        "dst[i] = 0\n"
        "for k in range(32):\n"
        "    row = (src0[i] >> k & 1) + 2 * (src1[i] >> k & 1) + 4 * (src2[i] >> k & 1)\n"
        "    dst[i] |= (0x6a >> row & 1) << k",
        names="dst=D src0=UA src1=UB src2=UC",
    ),
    "madw": Scene(
        "madw (M1, 8) D(0,0)<1> UA(0,0)<1;1,0> UB(0,0)<1;1,0> UC(0,0)<1;1,0>",
        "all = src0[i] * src1[i] + src2[i]\ndst[i], dst[8 + i] = all & 0xffffffff, all >> 32",
        meaning="The high halves go into the registers behind those of the low ones.",
        names="dst=D src0=UA src1=UB src2=UC",
    ),
    "setp": Scene("setp (M1, 8) P2 90:ud", "dst[i] = src0 >> i & 1", names="dst=P2 src0=90"),
    "sigm": Scene(
        "sigm (M1, 8) FD(0,0)<1> FA(0,0)<1;1,0>",
        "dst[i] = 1 / (1 + e ** -src0[i])",
        names="dst=FD src0=FA",
        platform="nvl",
    ),
    "tanh": Scene(
        "tanh (M1, 8) FD(0,0)<1> FA(0,0)<1;1,0>", "dst[i] = tanh(src0[i])", names="dst=FD src0=FA", platform="nvl"
    ),
    "line": Scene(
        "line (M1, 8) FD(0,0)<1> FA(0,0)<0;1,0> FB(0,0)<1;1,0>",
        "dst[i] = src0[0] * src1[i] + src0[3]",
        names="dst=FD src0=FA src1=FB",
    ),
    "lfsr": Scene(
        "lfsr.b32 (M1, 8) D(0,0)<1> UA(0,0)<1;1,0> UC(0,0)<1;1,0>",
        "dst[i] = src0[i] >> 1 ^ (src1[i] if src0[i] & 1 else 0)",
        names="dst=D src0=UA src1=UC",
        platform="nvl",
    ),
    "plane": Scene(
        "plane (M1, 8) FD(0,0)<1> FA(0,0)<0;4,1> FUV(0,0)<1;1,0>",
        "j = i // 8 * 16 + i % 8  # eight lanes have u, then v\ndst[i] = src0[0] * src1[j] + src0[1] * src1[j + 8] + src0[3]",
        names="dst=FD src0=FA src1=FUV",
    ),
    "invm": Scene(
        "invm (M1, 8) FD(0,0)<1> P2 FB(0,0)<1;1,0> FP(0,0)<1;1,0>",
        "dst[i] = src0[i] / src1[i]\nearly[i] = 0 if 0 < abs(dst[i]) < infinity else 1",
        meaning="Hardware begins an approximation that further instructions refine where `early` is 0; here it is the result.",
        names="dst=FD early=P2 src0=FB src1=FP",
    ),
    "rsqtm": Scene(
        "rsqtm (M1, 8) FD(0,0)<1> P2 FP(0,0)<1;1,0>",
        "dst[i] = 1 / src0[i] ** 0.5\nearly[i] = 0 if 0 < abs(dst[i]) < infinity else 1",
        meaning="Hardware begins an approximation that further instructions refine where `early` is 0; here it is the result.",
        names="dst=FD early=P2 src0=FP",
    ),
    "dpas": Scene(
        "dpas.s8.s8.8.1 (M1, 8) D.0 UB.0 WEIGHTS.0 UA(0,0)",
        "dst[i] = src0[i]\n"
        "for k in range(8):                # the depth: dwords of a row of src2\n"
        "    for b in range(4):            # four numbers of eight bits in each\n"
        "        dst[i] += byte(src1[8 * k + i], b) * byte(src2[k], b)",
        meaning="The words are the types of src1 and src2, the depth, and how many rows of src2 there are, "
        "each of which gives a register of dst. Lane i reads its column of src1 from all registers.",
        names="dst=D src0=UB src1=WEIGHTS src2=UA",
    ),
    "goto": Scene(
        f"(P1) goto (M1, 8) there\n{_ON}\nthere:\n{_BEHIND}",
        "lane i continues at the label, other lanes at the next instruction;\nthey reconverge where the paths meet",
        "D[i] = 10 if P1[i] else 11",
        "Without a predicate all lanes go that execute.",
        "for each lane i that executes and whose predicate is set:",
    ),
    "jmp": Scene(
        f"jmp (M1, 1) there\n{_ON}\nthere:\n{_BEHIND}",
        "all lanes that execute go on at the label",
        "D[i] = 10",
        "Under a predicate its first bit, that of the only channel, decides for all.",
        "once for the thread:",
    ),
    "switchjmp": Scene(
        f"switchjmp (M1, 1) 1:ud (first, second)\nfirst:\n{_ON}\nsecond:\n{_BEHIND}",
        "all lanes that execute go on at label number index, from 0",
        "D[i] = 10",
        each="once for the thread:",
    ),
    "call": Scene(
        f"(P1) call (M1, 8) adds\n{_ON}",
        "the lanes whose predicate is set run the subroutine until they return;\nthen all lanes go on behind the call",
        "D[i] = 11 if P1[i] else 1",
        each="once for the thread:",
        behind=f"adds:\n{_BEHIND}\nret (M1, 8)",
    ),
    "ret": Scene(
        f"call (M1, 8) adds\n{_ON}",
        "lane i continues after the call, where it waits for the lanes of that call",
        "D[i] = 1 if P1[i] else 11",
        "In a kernel the lane has come to its end.",
        "for each lane i that executes and whose predicate is set:",
        behind=f"adds:\n(P1) ret (M1, 8)\n{_BEHIND}\nret (M1, 8)",
    ),
    "fcall": Scene(
        f"{_PASSES}\n(P1) fcall (M1, 8) f 2 2\n(P1) {_TAKES}",
        "the lanes whose predicate is set run the function until they return;\nthen all lanes go on behind the call",
        "D[i] = 10 if P1[i] else 0",
        _ARGUMENT,
        "once for the thread:",
        function=_BODY,
    ),
    "fret": Scene(
        f"{_PASSES}\nfcall (M1, 8) f 2 2\n{_TAKES}",
        "lane i continues after the call, where it waits for the lanes of that call",
        "D[i] = 10",
        each="for each lane i that executes and whose predicate is set:",
        function=_BODY,
    ),
    "ifcall": Scene(
        f'faddr "f" TARGET(0,0)<1>\n{_PASSES}\nifcall (M1, 8) LOW(0,0)<0;1,0> 2 2\n{_TAKES}',
        "the lanes whose predicate is set run the function at the address until they return;\n"
        "then all lanes go on behind the call",
        "D[i] = 10",
        _ARGUMENT,
        "once for the thread:",
        function=_BODY,
    ),
    "faddr": Scene(
        f'faddr "f" TARGET(0,0)<1>\n{_PASSES}\nifcall (M1, 8) LOW(0,0)<0;1,0> 2 2\n{_TAKES}',
        "dst = the address of the function or of the data with this name",
        "D[i] = 10",
        each="once for the thread:",
        function=_BODY,
    ),
    "addr_add": Scene(
        "addr_add (M1_NM, 1) A0(0)<1> &UA 8:uw\nmov (M1, 8) D(0,0)<1> r[A0(0),0]<0;1,0>:ud",
        "dst[i] = src0[i] + src1[i]",
        "D[i] = UA[2]",
        "`&UA` is the address of a variable among the registers. Offsets are in bytes: 8 is the third dword. `r[A0(0),0]` is what lies there.",
    ),
}
"""Results are the variables D, E and FD, and the predicate P2."""
