"""Conversions, narrow formats, matrices and messages with named operands in pseudo-code, with examples."""

from __future__ import annotations

from collections.abc import Iterator

from worked_operations import BFLOATS
from worked_records import BFLOAT, EXCHANGED, FLOATS, NUMBERS, SIGNED, UNSIGNED, Setting

_HALVES = [1.0, 1.1, -2.6, 0.3, 100.0, 1.375, 1.625, -0.02]
_RANDOM = [0, 1024, 2048, 4096, 5000, 6000, 8191, 8191]
_SIXTEEN = tuple(range(16))
_WEIGHTS = [10 * k + i for k in range(8) for i in range(8)]
_DPASW = (
    "In the manual it is a `dpas` of two fused threads, of which each reads a part of src2 for both; here each thread reads all of it itself. The words are "
    "the types of src1 and src2, the depth, and how many rows of src2 there are, each of which gives a register of dst."
)

_COMPUTATIONS = {
    "fcvt": Setting(
        "fcvt (M1, 8) BYTES(0,0)<1> H(0,0)<1;1,0>\nfcvt (M1, 8) D(0,0)<1> BYTES(0,0)<1;1,0>",
        "bits = code(src0[i])                                        # from hf to bf8, its high byte:\n"
        "narrow[i] = bits + 0x7f + (bits >> 8 & 1) >> 8              # the nearest, of two the even one\n"
        "dst[i] = half(narrow[i] << 8)                               # and back from bf8 to hf",
        "dst=D src0=H narrow=BYTES",
        {"H": ("hf", _HALVES)},
        {"BYTES": ("ub", 8), "D": ("hf", 8)},
        "A variable of ub holds bf8, one of b hf8, one of ud tf32.",
        platform="pvc",
    ),
    "srnd": Setting(
        "srnd (M1_NM, 8) D(0,0)<1> X(0,0)<1;1,0> NOISE(0,0)<1;1,0>",
        "step = 2 ** (floor(log2(abs(src0[i]))) - 10)                # between neighbours among halves\n"
        "size = floor(abs(src0[i]) / step + (src1[i] & 0x1fff) / 0x2000) * step\n"
        "dst[i] = size if src0[i] > 0 else -size",
        "dst=D src0=X src1=RANDOM",
        {"X": (FLOATS, [1.0, 1.0005, -1.0005, 2.001, 100.03, 0.1, 0.3, -0.7]), "RANDOM": (UNSIGNED, _RANDOM)},
        {"D": ("hf", 8)},
        "The random bits of src1, here `NOISE`, which is `RANDOM` as floats, are added right below the last place that is kept; then the rest is cut.",
        declarations=".decl NOISE v_type=G type=f num_elts=8 alias=<RANDOM, 0>",
        platform="pvc",
    ),
    "dnscl": Setting(
        "dnscl.hftoint4.mode0.rne (M1, 8) D.0 X.0 Y.0 %null.0",
        "numbers = src0[2 * i], src0[2 * i + 1], src1[2 * i], src1[2 * i + 1]\n"
        "a, b, c, d = [min(max(round(x), -8), 7) & 0xf for x in numbers]\n"
        "dst[i] = a | b << 4 | c << 16 | d << 20",
        "dst=D src0=X src1=Y",
        {
            "X": ("hf", [0, 1, 2, 3, -1, -2, 0.5, 1.5, 2.5, -0.5, 7, 8, 100, -100, 3, 4]),
            "Y": ("hf", [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, -5, -5, -6, -6, 0, 0]),
        },
        meaning="Two dwords with two halves each become one with four numbers of four bits. Modes 1 and 3 pair the numbers of both sources instead, "
        "modes 2 and 3 fill bytes 1 and 3 instead of 0 and 2. `.srnd` rounds with the random words of src2, `.rne` to the nearest.",
        platform="cri",
    ),
    "shfl_idx4": Setting(
        "shfl_idx4 (M1, 16) D.0 TABLE(0,0)<1;1,0> BYTES(0,0)<4;1,0>",
        "low, high = src1[i] & 0xf, src1[i] >> 4\ndst[i] = src0[low] & 0xffff | src0[high] & 0xffff0000",
        "dst=D src0=TABLE src1=INDICES",
        {
            "TABLE": (UNSIGNED, [0x10001 * (k + 10) for k in _SIXTEEN]),
            "INDICES": (UNSIGNED, [0x00, 0x11, 0x10, 0x01, 0xFF, 0xF0, 0x0F, 0x23, *(0x11 * k for k in range(8, 16))]),
        },
        {"D": (UNSIGNED, 16)},
        "A byte of src1 names the dwords of two words, a word of src1 those of four bytes. `BYTES` are the bytes of `INDICES`, of which `<4;1,0>` takes each fourth.",
        declarations=".decl BYTES v_type=G type=ub num_elts=64 alias=<INDICES, 0>",
        over={"i": range(16)},
        platform="cri",
        lanes=16,
    ),
    "sad2": Setting(
        "sad2 (M1, 8) D(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0>",
        "j = i & ~1            # the even lane of two\n"
        "dst[i] = abs(src0[j] - src1[j]) + abs(src0[j + 1] - src1[j + 1])",
        "dst=D src0=X src1=Y",
        {"X": ("ub", [1, 2, 30, 4, 255, 0, 7, 8]), "Y": ("ub", [4, 3, 20, 10, 0, 255, 7, 8])},
        {"D": ("uw", 8)},
        "A program may rely on the even lanes alone.",
        platform="skl",
    ),
    "sad2add": Setting(
        "sad2add (M1, 8) D(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0> Z(0,0)<1;1,0>",
        "j = i & ~1            # the even lane of two\n"
        "dst[i] = abs(src0[j] - src1[j]) + abs(src0[j + 1] - src1[j + 1]) + src2[i]",
        "dst=D src0=X src1=Y src2=Z",
        {"X": ("ub", [1, 2, 30, 4, 255, 0, 7, 8]), "Y": ("ub", [4, 3, 20, 10, 0, 255, 7, 8]), "Z": ("uw", [100] * 8)},
        {"D": ("uw", 8)},
        "A program may rely on the even lanes alone.",
        platform="skl",
    ),
    "dpasw": Setting(
        "dpasw.s8.s8.8.1 (M1, 8) D.0 Z.0 WEIGHTS.0 X(0,0)",
        "dst[i] = src0[i]\n"
        "for k in range(8):                # the depth: dwords of a row of src2\n"
        "    for b in range(4):            # four numbers of eight bits in each\n"
        "        dst[i] += byte(src1[8 * k + i], b) * byte(src2[k], b)",
        "dst=D src0=Z src1=WEIGHTS src2=X",
        {
            "X": (UNSIGNED, [1, 2, 3, 12, 255, 4096, 0x80000001, 0xFFFFFFFF]),
            "Z": (SIGNED, [4, 1, 8, 3, 5, 12, 31, 2]),
            "WEIGHTS": (UNSIGNED, _WEIGHTS),
        },
        {"D": (SIGNED, 8)},
        _DPASW,
        platform="xehp",
    ),
    "bdpas": Setting(
        "bdpas.bf.bf.8.8 (M1, 16) D.0 Z.0 WEIGHTS.0 X.0 LANES(0,0) ROWS(0,0)",
        "total = sum(src1[32 * k + 2 * i + n] * src2[16 * r + 2 * k + n] for k in range(8) for n in range(2))\n"
        "dst[16 * r + i] = src0[16 * r + i] + total * 2 ** (src3[i] - 127) * 2 ** (src4[r] - 127)",
        "dst=D src0=Z src1=WEIGHTS src2=X src3=LANES src4=ROWS",
        {
            "Z": (FLOATS, [1000.0 * r for r in range(8) for _ in _SIXTEEN]),
            "WEIGHTS": ("bf", [float(i + n) for _ in range(8) for i in _SIXTEEN for n in range(2)]),
            "X": ("bf", [float(r + 1) for r in range(8) for _ in _SIXTEEN]),
            "LANES": ("ub", [127 + (i & 1) for i in _SIXTEEN]),
            "ROWS": ("ub", [127, 128, 129, 126, 127, 127, 127, 127] + [127] * 8),
        },
        {"D": (FLOATS, 128)},
        "The dwords of src1 and src2 hold two numbers of bf each (of bf8 and hf8 there are four, of e2m1 eight, in two blocks with a scale each, the second scales 32 bytes behind the first). "
        "src3 has a scale for each lane, src4 one for each row, as powers of two by their exponents: 127 is 1.\n\n"
        "Here src0 is 1000 * r in row r, src1 has i + n in lane i and place n of all its registers, src2 is r + 1 in row r.",
        each="for each lane i that executes, and each row r of eight:",
        over={"r": range(8), "i": range(16)},
        platform="cri",
        lanes=16,
        hidden="Z WEIGHTS X",
    ),
    "movs": Setting(
        "movs (M1_NM, 1) T10(0) NUMBER(0,0)<0;1,0>\nmovs (M1_NM, 1) BACK(0,0)<1> T10(0)\ngather_scaled.4 (M1, 8) T10 0:ud OFFSETS.0 D.0",
        "dst = src0",
        inputs={"NUMBER": (UNSIGNED, [2]), "OFFSETS": (UNSIGNED, [4 * n for n in NUMBERS])},
        results={"BACK": (UNSIGNED, 1), "D": (UNSIGNED, 8)},
        effect="BACK[0] = NUMBER[0]\nD[i] = memory[OFFSETS[i]]",
        meaning="It copies the number of a surface or sampler to or from a variable. Here surface 2 is the first buffer, and `T10` becomes another name of it.",
        each="once for the thread:",
        memory=(UNSIGNED, [100 + n for n in range(8)]),
        declarations=".decl T10 v_type=T num_elts=1",
    ),
}

# -- messages --------------------------------------------------------------------------------------------------

_MEMORY = (UNSIGNED, [100 + n for n in range(8)])
_LONG_MEMORY = (UNSIGNED, [100 + n for n in range(16)])
_PLACES = [4 * n for n in NUMBERS]
_WIDE_PLACES = [8 * n for n in NUMBERS]
_STORED = (UNSIGNED, [10 * (i + 1) for i in range(8)])
_QWORDS = "`.1` is the number of qwords (1 or 2). Offsets are in bytes."
_AT_ONE = {"OFFSETS": (UNSIGNED, _WIDE_PLACES)}
_MATRIX = [100 * y + x for y in range(4) for x in range(16)]
_BLOCK = (
    "`d32.8x2nn` is a block of 8 by 2 dwords, neither transposed nor in the order of VNNI. Of the dwords of `PLACE` 0 and 1 are the matrix's address, "
    "2 its width in bytes, 3 its rows and 4 the bytes from one row to the next, each less one, 5 and 6 are x and y of the block, and 7 is its shape: "
    "`(blocks - 1) << 16 | (rows - 1) << 8 | columns - 1`. The numbers in brackets are added to x and y. "
    "Rows of a block are padded to a power of two, blocks to whole registers; loads put zeros there. Here the matrix has 16 columns and 4 rows; "
)
_OF_BLOCK = "for each row r and column c of the block:"
_SHAPE = {"r": range(2), "c": range(8)}


def _payload(x: int, y: int) -> tuple[str, list[float]]:
    """The description of a block of 8 by 2 dwords in a matrix of 16 by 4."""
    return SIGNED, [0, 0, 63, 3, 63, x, y, 1 << 8 | 7]


_BASE = {
    "setup": "mov (M1_NM, 1) BASE(0,0)<1> MEMORY(0,0)<0;1,0>",
    "declarations": ".decl BASE v_type=G type=uq num_elts=1 alias=<PLACE, 0>",
}

_MESSAGES = {
    "qw_gather": Setting(
        "qw_gather.1 (M1, 8) T8 OFFSETS.0 D.0",
        "dst[i] = surface[offsets[i]] | surface[offsets[i] + 4] << 32",
        "dst=D offsets=OFFSETS",
        _AT_ONE,
        {"D": ("uq", 8)},
        _QWORDS,
        memory=(UNSIGNED, [n if n % 2 == 0 else 0 for n in range(16)]),
    ),
    "qw_scatter": Setting(
        "qw_scatter.1 (M1, 8) T8 OFFSETS.0 S.0",
        "surface[offsets[i]] = src[i] & 0xffffffff\nsurface[offsets[i] + 4] = src[i] >> 32",
        "src=S offsets=OFFSETS",
        {**_AT_ONE, "S": ("uq", [(i << 32) + 10 * (i + 1) for i in range(8)])},
        {},
        _QWORDS,
        memory=_LONG_MEMORY,
    ),
    "lsc_load_block2d": Setting(
        "lsc_load_block2d.ugm (M1_NM, 1) D:d32.8x2nn flat[PLACE+(0,0)]",
        "x, y = place[5] + c, place[6] + r\n"
        "dst[8 * r + c] = memory[64 * y + 4 * x] if 0 <= x < 16 and 0 <= y < 4 else 0",
        "dst=D place=PLACE",
        {"PLACE": _payload(12, 1)},
        {"D": (UNSIGNED, 16)},
        f"{_BLOCK}what lies outside reads as 0.",
        each=_OF_BLOCK,
        over=_SHAPE,
        memory=(UNSIGNED, _MATRIX),
        platform="pvc",
        **_BASE,
    ),
    "lsc_store_block2d": Setting(
        "lsc_store_block2d.ugm (M1_NM, 1) flat[PLACE+(0,0)] S:d32.8x2nn",
        "x, y = place[5] + c, place[6] + r\n"
        "if 0 <= x < 16 and 0 <= y < 4:\n"
        "    memory[64 * y + 4 * x] = src[8 * r + c]",
        "src=S place=PLACE",
        {"PLACE": _payload(-2, 3), "S": (UNSIGNED, [900 + n for n in range(16)])},
        {},
        f"{_BLOCK}what lies outside is not written.",
        each=_OF_BLOCK,
        over=_SHAPE,
        memory=(UNSIGNED, _MATRIX),
        platform="pvc",
        **_BASE,
    ),
    "lsc_load_status": Setting(
        "lsc_load_status.ugm (M1, 8) D:d32 flat[ADDRESSES]:a64",
        "dst[0] = sum(int(0 <= addresses[i] < 32) << i for i in range(8))",
        "dst=D",
        results={"D": (UNSIGNED, 1)},
        meaning="Whether the address of a lane is backed by memory; the first dword has the bits of all lanes that execute. "
        "Here the buffer has 32 bytes; no buffer has 0x100000 bytes more.",
        each="once for the message:",
        memory=_MEMORY,
        addresses=[0, 4, 1 << 20, 8, 1 << 20, 28, 1 << 20, 0],
    ),
    "lsc_store_uncompressed": Setting(
        "lsc_store_uncompressed.ugm (M1, 8) flat[ADDRESSES]:a64 S:d32",
        "memory[addresses[i]] = src[i]",
        "src=S",
        {"S": _STORED},
        {},
        "It stores as `lsc_store` does, and the cache does not compress it.",
        memory=_MEMORY,
        addresses=_PLACES,
    ),
    "lsc_ccs_update": Setting(
        "lsc_ccs_update.ugm (M1, 8) flat[ADDRESSES]:a64 S:d32\nlsc_load.ugm (M1, 8) D:d32 flat[ADDRESSES]:a64",
        "the state of compression of the line with addresses[i] is updated; the contents of memory do not change",
        "src=S",
        {"S": _STORED},
        effect="D[i] = memory[addresses[i]]",
        memory=_MEMORY,
        addresses=_PLACES,
    ),
    "lsc_extended_cache_ctrl": Setting(
        "lsc_extended_cache_ctrl.ugm.uc.uc.reset.64B (M1, 8) flat[ADDRESSES]:a64\nlsc_load.ugm (M1, 8) D:d32 flat[ADDRESSES]:a64",
        "the caches are advised about the line of addresses[i]; the contents of memory do not change",
        effect="D[i] = memory[addresses[i]]",
        memory=_MEMORY,
        addresses=_PLACES,
        platform="cri",
    ),
    "urb_write_3d": Setting(
        "urb_write_3d (M1, 8) 4 2 MASK.0 HANDLES.0 SLOTS.0 DATA.0",
        "at = 16 * (handles[i] + slots[i] + 2)                       # owords\n"
        "for k in range(4):\n"
        "    if masks[i] >> 16 + k & 1:\n"
        "        urb[at + 4 * k] = src[8 * k + i]",
        "handles=HANDLES slots=SLOTS masks=MASK src=DATA",
        {
            "MASK": (UNSIGNED, [0xB0000] * 8),
            "HANDLES": (UNSIGNED, [0, 1, 2, 3, 4, 5, 6, 7]),
            "SLOTS": (UNSIGNED, [1] * 8),
            "DATA": (UNSIGNED, [10 * i + k for k in range(4) for i in range(8)]),
        },
        {},
        "`4` outputs of each lane, the global offset `2`, the channel mask (its bits begin at 16, here outputs 0, 1 and 3 are written), "
        "handles and the offset of each lane in owords. The URB is the buffer that the launch names `%urb`.",
        urb=[0] * 48,
        platform="skl",
    ),
}  # fmt: skip

_ORDER = (
    "The lanes do this one after the other, in no order that a program may rely on, and no other thread comes between. "
    "What was in memory before goes into the destination. `D:d16u32` are numbers of bf, each in the low half of a dword."
)


def _bfloats() -> Iterator[tuple[str, Setting]]:
    """Atomic operations on numbers of bf."""
    kind, before = BFLOAT, [100.0 + n for n in range(8)]
    for operation, update in BFLOATS.items():
        first = [before[n] if i % 2 else 0.0 for i, n in enumerate(NUMBERS)]  # every second lane finds its value
        first = first if "src1" in update else [90.0, 1.0, 200.0, -3.0, 4.0, 110.0, 0.5, 7.0]
        second = {"B": (kind, [float(x // 100 + i) for i, x in enumerate(EXCHANGED)])} if "src1" in update else {}
        yield (
            f"lsc_atomic_{operation}",
            Setting(
                f"lsc_atomic_{operation}.ugm (M1, 8) D:d16u32 flat[ADDRESSES]:a64 A {'B' if second else '%null'}",
                f"dst[i] = memory[addresses[i]]\nmemory[addresses[i]] = {update}",
                "dst=D src0=A" + (" src1=B" if second else ""),
                {"A": (kind, first), **second},
                {"D": (kind, 8)},
                _ORDER,
                memory=(kind, before),
                addresses=_PLACES,
                platform="cri",
            ),
        )


# -- raw messages ----------------------------------------------------------------------------------------------

_SAYS = "The instruction does what its descriptors say; those of messages that no instruction says are refused. Here they say `{}`: {}"
_READ = 0x02000000 | 2 | 0xC << 8 | 2 << 12 | 1 << 14
"""What the data port's read of two channels by eight lanes from surface 2 has as descriptor."""
_LOAD, _STORE = 3 << 7 | 2 << 9, 4 | 3 << 7 | 2 << 9
"""Those of LSC's load and store of a dword for each lane at addresses of 64 bits."""
_OF_PORT = (
    "`0xc` is the data cache; `1` and `2` are registers of src and dst. Of the descriptor the lowest byte is the surface, "
    "bits 8 to 11 are the channels that are left out, 12 and 13 the lanes (2: eight of them), 14 to 18 the kind of message."
)
_OF_LSC = (
    "`0xf` is the unit of untyped global memory; the numbers{} behind the mnemonic are registers of src0, src1 and dst. Of the descriptor bits 0 to 5 "
    "are the operation, 7 and 8 the size of addresses (3: 64 bits), 9 to 11 that of the data (2: dwords)."
)


def _raws() -> Iterator[tuple[str, Setting]]:
    """Messages that are given by their descriptors."""
    for name in ("raw_send", "raw_sendc"):
        yield (
            name,
            Setting(
                f"{name} (M1, 8) 0xc 1 2 {_READ:#x}:ud OFFSETS.0 D.0",
                "dst[i] = surface[offsets[i]]\ndst[8 + i] = surface[offsets[i] + 4]",
                "dst=D offsets=OFFSETS",
                _AT_ONE,
                {"D": (UNSIGNED, 16)},
                _SAYS.format("gather4_scaled.RG", _OF_PORT),
                memory=_LONG_MEMORY,
                platform="xehp",
            ),
        )
    for name in ("raw_sends", "raw_sendsc", "raw_sends_eot", "raw_sendsc_eot"):
        number, of_unit = ("", "") if "sendsc" in name else (".15", " (after that of the unit)")
        ends, loads = name.endswith("_eot"), name == "raw_sends"
        line = f"{name}{number}.2.{'0.1' if loads else '1.0'} (M1, 8) 0xf:ud {_LOAD if loads else _STORE:#x}:ud ADDRESSES.0 "
        yield (
            name,
            Setting(
                line + ("%null.0 D.0" if loads else "S.0 %null.0"),
                "dst[i] = memory[addresses[i]]" if loads else "memory[addresses[i]] = src1[i]",
                "dst=D" if loads else "src1=S",
                {} if loads else {"S": _STORED},
                {"D": (UNSIGNED, 8)} if loads else {},
                _SAYS.format("lsc_load" if loads else "lsc_store", _OF_LSC.format(of_unit))
                + (" Then the thread ends." if ends else ""),
                memory=_MEMORY,
                addresses=_PLACES,
            ),
        )


VALUES: dict[str, Setting] = {**_COMPUTATIONS, **_MESSAGES, **dict(_bfloats()), **dict(_raws())}
