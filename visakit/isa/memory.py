"""Memory instructions of the data port and shared virtual memory (before LSC)."""

from typing import Unpack

from visakit.isa.enums import ATOMIC_WIDTHS, ATOMICS, COUNTS, MEDIA_MODIFIERS
from visakit.isa.record import Access, Details, InstructionDesc, MemoryKind, Payload, form
from visakit.isa.suffixes import CHANNELS, Choice, Flag
from visakit.language.platforms import since

_CATEGORY = "memory"
_MASK = Choice("channel_mask", CHANNELS)
_WIDTH = Choice("width", ATOMIC_WIDTHS, 0)
_OP = Choice("op", ATOMICS)
_MOD = Flag("", "mod")
_GATHER_SIZES = Choice("elt_size", {"1": 0, "2": 1, "4": 2})
_BLOCKS = Choice("num_blocks", COUNTS)
_BYTES = Choice("num_blocks", {"1": 0, "2": 1, "4": 2})
_QWORDS = since("xehp") | {"skl"}
"""The manual says since xehp; the compiler writes them for skl, too."""
_SVM_BLOCK = (Choice("block_type", {"1": 0, "4": 1, "8": 2}), _BLOCKS)


def _message(memory: MemoryKind, access: Access, opcode: int, name: str, layout: str, summary: str, /, **more: Unpack[Details]) -> InstructionDesc:
    more = {"memory": memory, "access": access, **more}
    return form(opcode, name, layout, summary, category=_CATEGORY, **more)


def _media(access: Access, opcode: int, name: str, data: str, summary: str) -> InstructionDesc:
    return _message(MemoryKind.IMAGE, access, opcode, name, f"B:modifier T:surface B:plane B:block_width B:block_height s:x s:y {data}:data", summary,
                    suffixes=(Choice("modifier", MEDIA_MODIFIERS),), text="(block) surface plane? x y data", operands="x:ud y:ud",
                    beyond="x:d y:d", limits={"plane": (0, 3), "block_width": (1, 64), "block_height": (1, 64)})  # fmt: skip


FORMS = (
    _message(MemoryKind.SURFACE, Access.LOAD, 0x35, "oword_ld", "B:owords B:=0 T:surface s:offset w:dst", "Read consecutive owords at an oword offset.",
             text="(owords) surface offset dst", suffixes=(_MOD,), payload=Payload.OWORDS,
             operands="offset:ud", beyond="offset:d"),
    _message(MemoryKind.SURFACE, Access.STORE, 0x36, "oword_st", "B:owords T:surface s:offset r:src", "Write consecutive owords at an oword offset.", text="(owords) surface offset src", payload=Payload.OWORDS,
             operands="offset:ud"),
    _media(Access.LOAD, 0x37, "media_ld", "w", "Read a two-dimensional block of bytes."),
    _media(Access.STORE, 0x38, "media_st", "r", "Write a two-dimensional block of bytes."),
    _message(MemoryKind.SURFACE, Access.LOAD, 0x39, "gather", "B:elt_size B:=0 B:num_elts.4+mask.4 T:surface s:global_offset r:offsets w:dst",
             "Read one element for each lane, offsets in elements.", suffixes=(_GATHER_SIZES,), text="(gather) surface global_offset offsets dst", payload=Payload.DWORD,
             operands="global_offset:ud offsets:ud dst:ud,d,f"),
    _message(MemoryKind.SURFACE, Access.STORE, 0x3A, "scatter", "B:elt_size B:num_elts.4+mask.4 T:surface s:global_offset r:offsets r:src",
             "Write one element for each lane, offsets in elements.", suffixes=(_GATHER_SIZES,), text="(gather) surface global_offset offsets src", payload=Payload.DWORD,
             operands="global_offset:ud offsets:ud src:ud,d,f"),
    _message(MemoryKind.SURFACE, Access.LOAD, 0x3C, "oword_ld_unaligned", "B:owords B:=0 T:surface s:offset w:dst", "Read consecutive owords at a byte offset.",
             text="(owords) surface offset dst", suffixes=(_MOD,), payload=Payload.OWORDS,
             operands="offset:ud", beyond="offset:d"),
    _message(MemoryKind.IMAGE, Access.LOAD, 0x4B, "gather4_typed", "ec pr B:channel_mask T:surface r:u r:v r:r r:lod w:dst", "Read up to four channels of an image element.",
             suffixes=(_MASK,),
             operands="u:ud v:ud r:ud lod:ud dst:ud,d,f", beyond="u:d v:d r:d lod:d", sizes=(8,)),
    _message(MemoryKind.IMAGE, Access.STORE, 0x4C, "scatter4_typed", "ec pr B:channel_mask T:surface r:u r:v r:r r:lod r:src", "Write up to four channels of an image element.",
             suffixes=(_MASK,),
             operands="u:ud v:ud r:ud lod:ud src:ud,d,f", beyond="u:d v:d r:d lod:d", sizes=(8, 16)),
    _message(MemoryKind.FLAT, Access.LOAD, 0x4E, "svm_block_ld", "B:subop B:owords.7+unaligned.1 s:address w:dst", "Read consecutive owords at a virtual address.",
             text="(owords) address dst", suffixes=(Flag("unaligned", "unaligned"), Flag("", "aligned")), fixed={"subop": 1}, payload=Payload.OWORDS,
             operands="address:uq"),
    _message(MemoryKind.FLAT, Access.STORE, 0x4E, "svm_block_st", "B:subop B:owords.7+unaligned.1 s:address r:src", "Write consecutive owords at a virtual address.",
             text="(owords) address src", suffixes=(Flag("unaligned", "unaligned"), Flag("", "aligned")), fixed={"subop": 2}, payload=Payload.OWORDS,
             operands="address:uq"),
    _message(MemoryKind.FLAT, Access.LOAD, 0x4E, "svm_gather", "B:subop ec pr B:block_type B:num_blocks r:addresses w:dst", "Read blocks at each lane's virtual address.",
             suffixes=_SVM_BLOCK, fixed={"subop": 3}, payload=Payload.BLOCKS,
             operands="addresses:uq", sizes=(1, 2, 4, 8, 16)),
    _message(MemoryKind.FLAT, Access.STORE, 0x4E, "svm_scatter", "B:subop ec pr B:block_type B:num_blocks r:addresses r:src", "Write blocks at each lane's virtual address.",
             suffixes=_SVM_BLOCK, fixed={"subop": 4}, payload=Payload.BLOCKS,
             operands="addresses:uq", sizes=(1, 2, 4, 8, 16)),
    _message(MemoryKind.FLAT, Access.ATOMIC, 0x4E, "svm_atomic", "B:subop ec pr B:op.5+width.3 r:addresses r:src0 r:src1 w:dst", "Atomic operation at each lane's virtual address.",
             suffixes=(_OP, _WIDTH), text="(exec) addresses dst src0 src1", fixed={"subop": 5}, payload=Payload.ATOMIC,
             operands="addresses:uq", sizes=(1, 2, 4, 8, 16)),
    _message(MemoryKind.FLAT, Access.LOAD, 0x4E, "svm_gather4scaled", "B:subop ec pr B:channel_mask H:=0 s:address r:offsets w:dst",
             "Read up to four dwords at a base address plus each lane's offset.", suffixes=(_MASK,), fixed={"subop": 6}, payload=Payload.CHANNELS,
             operands="address:uq offsets:uq dst:ud,d,f", beyond="address:ud", sizes=(8, 16)),
    _message(MemoryKind.FLAT, Access.STORE, 0x4E, "svm_scatter4scaled", "B:subop ec pr B:channel_mask H:=0 s:address r:offsets r:src",
             "Write up to four dwords at a base address plus each lane's offset.", suffixes=(_MASK,), fixed={"subop": 7}, payload=Payload.CHANNELS,
             operands="address:uq offsets:uq src:ud,d,f", beyond="address:ud", sizes=(8, 16)),
    _message(MemoryKind.IMAGE, Access.ATOMIC, 0x73, "typed_atomic", "B:op.5+width.3 ec pr T:surface r:u r:v r:r r:lod r:src0 r:src1 w:dst", "Atomic operation on an image element.",
             suffixes=(_OP, _WIDTH),
             operands="u:ud v:ud r:ud lod:ud src0:ud,d src1:ud dst:ud,d", sizes=(8,)),
    _message(MemoryKind.SURFACE, Access.LOAD, 0x74, "gather4_scaled", "ec pr B:channel_mask H:=0 T:surface s:global_offset r:offsets w:dst",
             "Read up to four dwords at each lane's byte offset.", suffixes=(_MASK,), payload=Payload.CHANNELS,
             operands="global_offset:ud offsets:ud dst:ud,d,f", sizes=(8, 16)),
    _message(MemoryKind.SURFACE, Access.STORE, 0x75, "scatter4_scaled", "ec pr B:channel_mask H:=0 T:surface s:global_offset r:offsets r:src",
             "Write up to four dwords at each lane's byte offset.", suffixes=(_MASK,), payload=Payload.CHANNELS,
             operands="global_offset:ud offsets:ud src:ud,d,f", sizes=(8, 16)),
    _message(MemoryKind.SURFACE, Access.LOAD, 0x78, "gather_scaled", "ec pr B:=0 B:num_blocks H:=0 T:surface s:global_offset r:offsets w:dst",
             "Read 1, 2 or 4 bytes at each lane's byte offset.", suffixes=(_BYTES,), payload=Payload.DWORD,
             operands="global_offset:ud offsets:ud dst:ud,d,f"),
    _message(MemoryKind.SURFACE, Access.STORE, 0x79, "scatter_scaled", "ec pr B:=0 B:num_blocks H:=0 T:surface s:global_offset r:offsets r:src",
             "Write 1, 2 or 4 bytes at each lane's byte offset.", suffixes=(_BYTES,), payload=Payload.DWORD,
             operands="global_offset:ud offsets:ud src:ud,d,f"),
    _message(MemoryKind.SURFACE, Access.ATOMIC, 0x7D, "dword_atomic", "B:op.5+width.3 ec pr T:surface r:offsets r:src0 r:src1 w:dst", "Atomic operation at each lane's byte offset.",
             suffixes=(_OP, _WIDTH), payload=Payload.ATOMIC,
             operands="offsets:ud src0:ud,d,f src1:ud,d,f dst:ud,d,f", sizes=(1, 2, 4, 8, 16)),
    _message(MemoryKind.SURFACE, Access.LOAD, 0x86, "qw_gather", "ec pr B:num_blocks T:surface r:offsets w:dst", "Read qwords at each lane's byte offset.", suffixes=(_BLOCKS,),
             platforms=_QWORDS, payload=Payload.QWORDS,
             operands="offsets:ud dst:uq,q,df", sizes=(1, 2, 4, 8, 16)),
    _message(MemoryKind.SURFACE, Access.STORE, 0x87, "qw_scatter", "ec pr B:num_blocks T:surface r:offsets r:src", "Write qwords at each lane's byte offset.", suffixes=(_BLOCKS,),
             platforms=_QWORDS, payload=Payload.QWORDS,
             operands="offsets:ud src:uq,q,df", sizes=(1, 2, 4, 8, 16)),
)  # fmt: skip
