"""Values of sub-operations and modifiers that several chapters share."""

from visakit.language import types

RELATIONS = {"eq": 0, "ne": 1, "gt": 2, "ge": 3, "lt": 4, "le": 5}
NO_RELATION = 6

PRECISIONS = {"u1": 1, "s1": 2, "u2": 3, "s2": 4, "u4": 5, "s4": 6, "u8": 7, "s8": 8, "bf": 9, "hf": 10, "bf8": 11, "tf32": 12, "hf8": 14, "e2m1": 15}
SHARED_FUNCTIONS = {f"0x{n:x}": n for n in range(16)} | {f"0x{n:X}": n for n in range(10, 16)} | {str(n): n for n in range(16)} | {
    "null": 0, "smpl": 2, "gtwy": 3, "rc": 5, "btd": 7, "rta": 8, "tgm": 13, "ugm": 14, "slm": 15,
}  # fmt: skip
LFSR_FORMS = {"b32": 0, "b16v2": 1, "b8v4": 2}
DOWNSCALES = {"bftoe2m1": 1, "bftoint4": 2, "hftoe2m1": 4, "hftoint4": 5}
DOWNSCALE_MODES = {f"mode{n}": n for n in range(4)}
DOWNSCALE_ROUNDINGS = {"srnd": 0, "rne": 1}

ATOMICS = {
    "add": 0, "sub": 1, "inc": 2, "dec": 3, "min": 4, "max": 5, "xchg": 6, "cmpxchg": 7, "and": 8, "or": 9, "xor": 10, "minsint": 11,
    "maxsint": 12, "fmax": 16, "fmin": 17, "fcmpwr": 18, "fadd": 19, "fsub": 20,
}  # fmt: skip
LSC_ATOMICS = {
    "iinc": "inc", "idec": "dec", "load": "load", "store": "xchg", "iadd": "add", "isub": "sub", "smin": "minsint", "smax": "maxsint", "umin": "min",
    "umax": "max", "icas": "cmpxchg", "fadd": "fadd", "fsub": "fsub", "fmin": "fmin", "fmax": "fmax", "fcas": "fcmpwr", "and": "and", "or": "or",
    "xor": "xor", "bfadd": "bfadd", "bfsub": "bfsub", "bfmin": "bfmin", "bfmax": "bfmax", "bfcas": "bfcmpwr",
}  # fmt: skip
"""LSC's words for atomic operations by those of the data port; ``load`` and those of bfloat16 are LSC's alone."""
BFLOAT_ATOMICS = {"bfadd": "fadd", "bfsub": "fsub", "bfmin": "fmin", "bfmax": "fmax", "bfcmpwr": "fcmpwr"}
"""The operations on bfloat16, and their counterparts on other floats."""
ATOMIC_SOURCES = {"inc": 0, "dec": 0, "load": 0, "cmpxchg": 2, "fcmpwr": 2, "bfcmpwr": 2}
"""How many sources an atomic has, if not one, by the data port's words."""
ATOMIC_WIDTHS = {"16": 1, "64": 2}
ATOMIC_TYPES = (types.UD, types.UW, types.UQ)
"""What an atomic of the data port works on, by its width."""

COUNTS = {"1": 0, "2": 1, "4": 2, "8": 3}
OWORDS = {1: 0, 2: 1, 4: 2, 8: 3, 16: 4}

LSC_SFIDS = {"ugm": 0, "ugml": 1, "tgm": 2, "slm": 3}
LSC_CACHES = {"df": 0, "uc": 1, "ca": 2, "wb": 3, "wt": 4, "st": 5, "ri": 6, "cc": 7}
LSC_ADDRESS_TYPES = {"flat": 1, "bss": 2, "ss": 3, "bti": 4, "arg": 5, "surf": 6}
LSC_ADDRESS_SIZES = {"a16": 1, "a32": 2, "a64": 3, "a32u": 4, "a32s": 5}
LSC_DATA_SIZES = {"d8": 1, "d16": 2, "d32": 3, "d64": 4, "d8u32": 5, "d16u32": 6, "d16u32h": 7}
LSC_ATOMIC_SIZES = {name: LSC_DATA_SIZES[name] for name in ("d16u32", "d32", "d64")}
"""The data that atomic operations are on."""
LSC_POINTER_TYPES = {LSC_ADDRESS_SIZES[name]: t for name, t in (
    ("a16", types.UW), ("a32", types.UD), ("a64", types.UQ), ("a32u", types.UD), ("a32s", types.D),
)}  # fmt: skip
"""What an address is in registers, by its code."""
LSC_DATA_TYPES = {
    LSC_DATA_SIZES[name]: (memory, register) for name, memory, register in (
        ("d8", types.UB, types.UB), ("d16", types.UW, types.UW), ("d32", types.UD, types.UD), ("d64", types.UQ, types.UQ),
        ("d8u32", types.UB, types.UD), ("d16u32", types.UW, types.UD), ("d16u32h", types.UW, types.UD),
    )
}  # fmt: skip
"""What an element is in memory and in registers, by the code of its size."""
LSC_DATA_SIZE_SPELLINGS = LSC_DATA_SIZES | {
    f"{a}{n}{b}32{h}": LSC_DATA_SIZES[f"d{n}u32{h}"] for n, h in ((8, ""), (16, ""), (16, "h")) for a in "du" for b in "cu"
} | {"u8": 1, "u16": 2, "u32": 3, "u64": 4}  # fmt: skip
LSC_ELEMENTS = {1: 1, 2: 2, 3: 3, 4: 4, 8: 5, 16: 6, 32: 7, 64: 8}
LSC_ORDERS = {"n": 1, "t": 2}
MATRIX_OPERANDS, MATRIX_OFFSETS = 1, 2
"""Bits of how a block message says where its matrix is: in separate operands instead of a payload; with offsets."""
OFFSETS_OF_BLOCKS = range(-(1 << 16), 1 << 16)
"""Elements and rows by which a block can be moved (docs/cisa.md says why it is not more)."""

FENCE_OPS = {"none": 0, "evict": 1, "invalidate": 2, "discard": 3, "clean": 4, "flushl3": 5, "type6": 6}
FENCE_SCOPES = {"group": 0, "local": 1, "tile": 2, "gpu": 3, "gpus": 4, "sysrel": 5, "sysacq": 6}

MEDIA_MODIFIERS = {"nomod": 0, "modified": 1, "top": 2, "bottom": 3, "top_mod": 4, "bottom_mod": 5}
SAMPLE_FORMATS = {"16-full": 0, "16-downsampled": 1, "8-full": 2, "8-downsampled": 3}
AVS_FORMATS = {"AVS_16_FULL": 0, "AVS_16_DOWN_SAMPLE": 1, "AVS_8_FULL": 2, "AVS_8_DOWN_SAMPLE": 3}
AVS_MODES = {"AVS_16x4": 0, "AVS_8x4": 1, "AVS_16x8": 2, "AVS_4x4": 3}
LIFETIME_CLASSES = {"V": 0, "A": 1, "P": 2}

TARGET_BITS = (
    ("RTI", 1 << 2), ("A", 1 << 3), ("O", 1 << 4), ("Z", 1 << 5), ("ST", 1 << 6), ("LRTW", 1 << 7), ("CPS", 1 << 8), ("PS", 1 << 9),
    ("CM", 1 << 10), ("SI", 1 << 11), ("NULLRT", 1 << 12),
)  # fmt: skip
TARGET_OUTPUTS = (1 << 3, 1 << 4, 1 << 5, 1 << 6)
"""Mode bits that add one output (source-0 alpha, output mask, depth, stencil) to the four colours."""
ENUMERATED = {"addr_type": LSC_ADDRESS_TYPES, "addr_size": LSC_ADDRESS_SIZES, "data_size": LSC_DATA_SIZES, "order": LSC_ORDERS, "class": LIFETIME_CLASSES}
"""Fields of LSC messages and of lifetime marks whose codes have names."""
GATHER_SIZES = {8: 0, 16: 1, 1: 2}
PIXEL_SIZES = {8: 0, 16: 1}
COUNT_CODES = {"(gather)": ("num_elts", GATHER_SIZES), "(owords)": ("owords", OWORDS), "(simd)": ("simd16", PIXEL_SIZES)}
CHOICE_CODES = {"=format": ("format", AVS_FORMATS), "=mode": ("mode", AVS_MODES)}
"""Operands in the text that stand for the code of a number, or of a word: the field that they fill, and the codes."""
