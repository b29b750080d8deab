"""Load, store and cache messages (LSC), the memory instructions since DG2."""

from typing import Unpack

from visakit.isa.enums import (
    FENCE_OPS,
    FENCE_SCOPES,
    LSC_ATOMICS,
    LSC_CACHES,
    LSC_DATA_SIZES,
    LSC_ELEMENTS,
    LSC_ORDERS,
    LSC_SFIDS,
)
from visakit.isa.record import Access, Details, InstructionDesc, MemoryKind, Payload, Pipe, form
from visakit.isa.suffixes import Choice, Flag, Hint
from visakit.language.platforms import since

_CATEGORY = "lsc"
_CACHES = (Choice("l1", LSC_CACHES, 0), Hint("l2", LSC_CACHES), Choice("l3", LSC_CACHES, 0))
_UNTYPED_SUFFIXES = (Choice("sfid", {k: v for k, v in LSC_SFIDS.items() if k != "tgm"}), *_CACHES)
_OVERFETCH = (*_UNTYPED_SUFFIXES, Flag("ov", "ov"))
_RESET = (*_UNTYPED_SUFFIXES, Choice("operation", {"reset": 1}), Choice("size", {"64B": 0}))
_TYPED_SUFFIXES = (Choice("", {"tgm": 2}), *_CACHES)
_SAMPLES = (*_TYPED_SUFFIXES, Flag("msaa", "msaa"))
_HEAD = "B:subop ec pr B:sfid B:l1 B:l3"
_MODEL = "B:addr_type.3+surface_index.5"
_ADDRESS = f"{_MODEL} H:imm_scale I:imm_offset B:addr_size"
_FETCHED = f"{_ADDRESS}.4+ov.1"
_DATA = "B:data_size B:order B:elems"
_PAYLOAD = "s:surface w:dst r:addr r:src1 r:src2"
_TYPED_HEAD = f"B:subop ec pr B:l1 B:l3 {_MODEL} B:addr_size.4+moved.1+msaa.1 B:data_size B:order B:elems B:=elems s:surface"
_PLACE = "r:u I?moved&1:u_offset r:v I?moved&1:v_offset"

_ATOMICS = (
    ("iinc", 8, "Add one"), ("idec", 9, "Subtract one"), ("load", 10, "Read"), ("store", 11, "Write"),
    ("iadd", 12, "Add"), ("isub", 13, "Subtract"), ("smin", 14, "Signed minimum"), ("smax", 15, "Signed maximum"),
    ("umin", 16, "Unsigned minimum"), ("umax", 17, "Unsigned maximum"), ("icas", 18, "Compare and swap"), ("fadd", 19, "Float add"),
    ("fsub", 20, "Float subtract"), ("fmin", 21, "Float minimum"), ("fmax", 22, "Float maximum"),
    ("fcas", 23, "Float compare and swap"), ("and", 24, "And"), ("or", 25, "Or"), ("xor", 26, "Exclusive or"),
)  # fmt: skip
_BFLOAT_ATOMICS = (
    ("bfadd", 33, "Add bfloat16"), ("bfsub", 34, "Subtract bfloat16"), ("bfmin", 35, "Minimum of bfloat16"),
    ("bfmax", 36, "Maximum of bfloat16"), ("bfcas", 37, "Compare and swap bfloat16"),
)  # fmt: skip


def _rules(layout: str, own: str) -> str:
    """Restrictions of a message: its own, and that of data with an order; blocks of matrices have another."""
    return f"{own} transposed-of-one" if "B:order" in layout and "B:blocks" not in layout else own


def _untyped(
    access: Access, name: str, subop: int, summary: str, text: str,
    layout: str = f"{_HEAD} {_ADDRESS} {_DATA} B:=elems {_PAYLOAD}", /, **more: Unpack[Details],
) -> InstructionDesc:  # fmt: skip
    usual: Details = {
        "access": access, "text": text, "fixed": {"subop": subop}, "memory": MemoryKind.OPERAND,
        "suffixes": _UNTYPED_SUFFIXES, "platforms": since("dg2"),
    }  # fmt: skip
    own: Details = {**usual, **more, "rules": _rules(layout, more.get("rules", ""))}
    return form(0x89, name, layout, summary, category=_CATEGORY, **own)


def _typed(
    access: Access, name: str, subop: int, summary: str, text: str,
    layout: str = f"{_TYPED_HEAD} w:dst {_PLACE} r:r I?moved&1:r_offset r:lod r:src1 r:src2", /, **more: Unpack[Details],
) -> InstructionDesc:  # fmt: skip
    usual: Details = {
        "access": access, "text": text, "fixed": {"subop": subop}, "memory": MemoryKind.IMAGE, "semantics": f"typed_{name}",
        "suffixes": _TYPED_SUFFIXES, "platforms": since("dg2"),
    }  # fmt: skip
    own: Details = {**usual, **more, "rules": _rules(layout, more.get("rules", ""))}
    return form(0x8A, name, layout, summary, category=_CATEGORY, **own)


_OVERFETCHED = f"{_HEAD} {_FETCHED} {_DATA} B:=elems {_PAYLOAD}"
_LOAD, _STORE = "(exec) @data:dst @address", "(exec) @address @data:src1"
_ATOMIC = "(exec) @data:dst @address src1 src2"
_COUNTER = f"{_HEAD} {_MODEL} {_DATA} B:=elems s:surface w:dst r:addr r:src1"
_STRIDED = f"{_HEAD} {_ADDRESS} {_DATA} B:=0 s:surface w:dst r:addr s:pitch r:src1"
_MATRIX = (
    "A:addressing s:base s?addressing&1:surface_width s?addressing&1:surface_height s?addressing&1:surface_pitch "
    "s?addressing&1:x I?addressing&2:x_offset s?addressing&1:y I?addressing&2:y_offset"
)
_BLOCK2D = f"{_HEAD} B:data_size B:order B:blocks H:width H:height B:vnni w:dst {_MATRIX} r:src1"
_TYPED_BLOCK2D = f"B:subop ec pr B:l1 B:l3 {_MODEL} H:width H:height.15+moved.1 s:surface w:dst {_PLACE} r:src1"

FORMS = (
    _untyped(Access.LOAD, "lsc_load", 0, "Read elements at each lane's address.", _LOAD, _OVERFETCHED, payload=Payload.ELEMENTS, suffixes=_OVERFETCH),
    _untyped(Access.LOAD, "lsc_load_strided", 1, "Read elements at a base address and a stride.", _LOAD, _STRIDED, payload=Payload.ELEMENTS),
    _untyped(Access.LOAD, "lsc_load_quad", 2, "Read the named channels of up to four elements.", _LOAD, _OVERFETCHED, spelling="channels", payload=Payload.QUAD,
             suffixes=_OVERFETCH),
    _untyped(Access.LOAD, "lsc_load_block2d", 3, "Read two-dimensional blocks of a matrix in memory.", "(exec) @block2d:dst @matrix", _BLOCK2D,
             spelling="optional-exec"),
    _untyped(Access.STORE, "lsc_store", 4, "Write elements at each lane's address.", _STORE, payload=Payload.ELEMENTS),
    _untyped(Access.STORE, "lsc_store_strided", 5, "Write elements at a base address and a stride.", _STORE, _STRIDED, payload=Payload.ELEMENTS),
    _untyped(Access.STORE, "lsc_store_quad", 6, "Write the named channels of up to four elements.", _STORE, spelling="channels", payload=Payload.QUAD),
    _untyped(Access.STORE, "lsc_store_block2d", 7, "Write a two-dimensional block of a matrix in memory.", "(exec) @matrix @block2d:src1", _BLOCK2D,
             spelling="optional-exec"),
    *(_untyped(Access.ATOMIC, f"lsc_atomic_{name}", subop, f"{summary} atomically, returning the old value.", _ATOMIC,
               rules="atomic-data", payload=Payload.LSC_ATOMIC, operation=LSC_ATOMICS[name]) for name, subop, summary in _ATOMICS),
    *(_untyped(Access.ATOMIC, f"lsc_atomic_{name}", subop, f"{summary} atomically, returning the old value.", _ATOMIC, platforms=since("cri"), rules="words atomic-data",
               payload=Payload.LSC_ATOMIC, operation=LSC_ATOMICS[name]) for name, subop, summary in _BFLOAT_ATOMICS),
    *(_untyped(Access.ATOMIC, f"lsc_apndctr_atomic_{name}", subop, f"{summary} the append counter of a surface, returning the old value.",
               "(exec) @data:dst @address @added:src1 @null", _COUNTER, spelling="bare-surface", platforms=since("bmg"))
      for name, subop, summary in (("add", 40, "Add to"), ("sub", 41, "Subtract from"), ("store", 42, "Write"))),
    _untyped(Access.LOAD, "lsc_load_status", 27, "Read and report per lane whether the page is mapped.", _LOAD, _OVERFETCHED, suffixes=_OVERFETCH),
    _untyped(Access.STORE, "lsc_store_uncompressed", 28, "Write without compression.", _STORE, payload=Payload.ELEMENTS),
    _untyped(Access.NONE, "lsc_ccs_update", 29, "Update the compression control surface.", _STORE),
    _untyped(Access.NONE, "lsc_extended_cache_ctrl", 51, "Drop what caches hold of lines that are to be written no more.", "(exec) @address",
             "B:subop ec pr B:sfid B:l1 B:=0 B:l3 B:operation B:size B:addr_type B:addr_size r:addr", platforms=since("cri"), suffixes=_RESET),
    _typed(Access.LOAD, "lsc_load_quad", 2, "Read the named channels of an image element.", _LOAD, spelling="channels"),
    _typed(Access.LOAD, "lsc_load_block2d", 3, "Read a two-dimensional block of an image.", "(exec) @tile:dst @address", _TYPED_BLOCK2D, spelling="optional-exec"),
    _typed(Access.STORE, "lsc_store_quad", 6, "Write the named channels of an image element.", _STORE, spelling="channels"),
    _typed(Access.STORE, "lsc_store_block2d", 7, "Write a two-dimensional block of an image.", "(exec) @address @tile:src1", _TYPED_BLOCK2D, spelling="optional-exec"),
    *(_typed(Access.ATOMIC, f"lsc_atomic_{name}", subop, f"{summary} atomically in an image, returning the old value.", _ATOMIC,
             rules="atomic-data", operation=LSC_ATOMICS[name], suffixes=_SAMPLES) for name, subop, summary in _ATOMICS),
    *(_typed(Access.ATOMIC, f"lsc_atomic_{name}", subop, f"{summary} atomically in an image, returning the old value.", _ATOMIC, platforms=since("cri"),
             rules="words atomic-data", operation=LSC_ATOMICS[name]) for name, subop, summary in _BFLOAT_ATOMICS),
    _typed(Access.LOAD, "lsc_load_quad_msrt", 49, "Read the named channels of a sample of an image element.", _LOAD, spelling="channels", platforms=since("cri")),
    _typed(Access.STORE, "lsc_store_quad_msrt", 50, "Write the named channels of a sample of an image element.", _STORE, spelling="channels",
           platforms=since("cri")),
    _typed(Access.LOAD, "lsc_load_quad_status", 54, "Report of each lane whether the page of an image element is mapped.", _LOAD,
           spelling="channels", platforms=since("cri")),
    _typed(Access.LOAD, "lsc_load_status", 27, "Read an image element and report whether the page is mapped.", _LOAD),
    _typed(Access.STORE, "lsc_store_uncompressed", 28, "Write an image element without compression.", _STORE),
    _typed(Access.NONE, "lsc_ccs_update", 29, "Update the compression control surface of an image.", _STORE),
    _typed(Access.NONE, "lsc_read_state_info", 30, "Read the state of a surface.", "(exec) dst @address", spelling="optional-exec bare-surface",
           implied=(("data_size", LSC_DATA_SIZES["d32"]), ("order", LSC_ORDERS["n"]), ("elems", LSC_ELEMENTS[1]))),
    form(0x8B, "lsc_fence", "ec pr B:sfid B:op B:scope", "Order memory accesses.", category=_CATEGORY, pipe=Pipe.SEND, text="",
         suffixes=(Choice("sfid", LSC_SFIDS), Choice("op", FENCE_OPS), Choice("scope", FENCE_SCOPES)), platforms=since("dg2"), sizes=(1,)),
)  # fmt: skip
