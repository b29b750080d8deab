"""Helper functions of accesses, shared by all kernels: the text of each is a module, compiled once for a machine.

Functions on cold paths preserve all registers (attribute group 2), so that a call costs the
usual way nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from visakit.isa.enums import BFLOAT_ATOMICS
from vsim.engines.llvm.ir.intrinsics import MaskedIntrinsic
from vsim.engines.llvm.ir.module import module
from vsim.engines.llvm.support.templates import fill

READ_MODIFY_WRITE = {
    "add": "add", "sub": "sub", "inc": "add", "dec": "sub", "min": "umin", "max": "umax", "minsint": "min",
    "maxsint": "max", "xchg": "xchg", "and": "and", "or": "or", "xor": "xor",
}  # fmt: skip
"""LLVM's words for atomic operations by those of the data port."""
ORDERS = {
    "umin": "ult", "umax": "ugt", READ_MODIFY_WRITE["minsint"]: "slt", READ_MODIFY_WRITE["maxsint"]: "sgt",
}  # fmt: skip
"""Comparisons after which the value that was there stays, of operations that give the smaller or larger one."""
_FLOATS = {2: "half", 4: "float", 8: "double"}
_ROUNDED = ("bfadd", "bfsub")
"""Operations on bfloat16 whose results are rounded; the others choose one of the values that were there."""
_WIDEST_STORE = 64
"""Bytes of the largest vector that clears results."""
_LONGEST_ROW = 16
"""Lanes that are tested for a row, and moved as one, at most."""
_PART = 8
"""Lanes that are left out together where none of them is active; a vector of 64 bytes has the addresses of as many."""


class LaneFunction(NamedTuple):
    """A function that visits the active lanes of an access, all at once where it can."""

    op: str
    """``load``, ``store``, ``mapped`` or an atomic operation."""
    flat: bool
    """Addresses are of the flat space, else offsets in a region."""
    address: str
    """The LLVM type of addresses."""
    size: int
    """Bytes of an element."""
    lanes: int
    sources: int
    """Number of source operands."""
    rare: bool
    """It is on a cold path, and preserves all registers."""
    own: bool
    """No other thread of the host sees the memory, so that atomic operations need not be atomic there."""
    written: bool
    """It looks addresses up in the table for writes."""

    @property
    def name(self) -> str:
        """The function's name in modules."""
        memory = "written" if self.written else "flat" if self.flat else "own" if self.own else "region"
        kind = f"{self.op}_{memory}_{self.address}_{self.size}_{self.lanes}_{self.sources}"
        return f"lanes_{kind}{'_rare' if self.rare else ''}"

    @property
    def pair(self) -> LaneFunction:
        """The function for elements that are twice as large."""
        return self._replace(size=2 * self.size)

    def name_for(self, count: int) -> str:
        """The name of the function for several elements of each lane."""
        return f"{self.name}_by_{count}"

    @property
    def arguments(self) -> str:
        """The LLVM types of the parameters."""
        region = [] if self.flat else ["ptr, i64"]
        return ", ".join(["ptr, ptr, ptr, i64, i64", *region, *["ptr"] * self.sources])


def lane_function(function: LaneFunction) -> str:
    """The module of a function for one element of each lane.

    The function takes the context, addresses, results, active lanes as bits, bytes beyond each element that must be
    inside, too, (pointer and size of a region,) and sources. It returns the first lane whose address is outside, or -1.
    """
    op, flat, index, size, lanes, sources, rare, own, written = function
    ty = f"i{8 * size}"
    declarations = {"cttz": "declare i64 @llvm.cttz.i64(i64, i1)", "umin": "declare i64 @llvm.umin.i64(i64, i64)"}
    at_once = op in ("load", "store") and lanes > 1 and not rare
    text = fill(
        "lanes",
        "lane_loop",
        name=function.name,
        region="" if flat else ", ptr %region, i64 %limit",
        sources="".join(f", ptr %source{k}" for k in range(sources)),
        attributes="#2" if rare else "#0",
        size=size,
        ty=ty,
        index=index,
        table=fill("lanes", "table_for_writes" if written else "table") if flat else "",
        vector_path=_vector_path(op, flat, index, ty, lanes, declarations) if at_once else "",
        clear="  br label %cleared" if op == "store" else _clear(ty, lanes, size, rare),
        wide=_widened("a", "%address", index),
        buffer=fill("lanes", "buffer", stem="", address="%a") if flat else "  %off = or i64 %a, 0",
        outside=fill("lanes", "outside"),
        operands="\n".join(fill("lanes", "operand", ty=ty, k=k) for k in range(sources)),
        act=_act(op, ty, size, own),
        bad="br label %next" if op == "mapped" else "ret i64 %lane",
    )
    return module([text], declarations)


def _widened(name: str, narrow: str, index: str, lanes: int = 1) -> str:
    """Offsets as i64."""
    if index == "i64":
        ir, zero = (f"<{lanes} x i64>", "zeroinitializer") if lanes > 1 else ("i64", "0")
        return f"%{name} = or {ir} {narrow}, {zero}"
    source, target = (f"<{lanes} x i32>", f"<{lanes} x i64>") if lanes > 1 else ("i32", "i64")
    return f"%{name} = zext {source} {narrow} to {target}"


def _clear(ty: str, lanes: int, size: int, rare: bool) -> str:
    """Zeros for results; then on to %cleared."""
    if rare:
        return fill("lanes", "clear_one_by_one", ty=ty, lanes=lanes)
    parts = []
    for start in range(0, lanes * size, _WIDEST_STORE):
        width = min(_WIDEST_STORE, lanes * size - start)
        align = width if width & (width - 1) == 0 else 1
        parts.append(fill("lanes", "clear_vector", start=start, width=width, align=align))
    return "\n".join([*parts, "  br label %cleared"])


def _act(op: str, ty: str, size: int, own: bool) -> str:
    """One lane's work at %p: its sources are %s0 and %s1, its result goes to %rp; ends with a branch to %next."""
    if op in ("mapped", "load", "store") or (op == "cmpxchg" and not own):
        return fill("lanes", op, ty=ty, size=size)
    if op in READ_MODIFY_WRITE:
        operand = "1" if op in ("inc", "dec") else "%s0"
        operation = READ_MODIFY_WRITE[op]
        if own:
            return fill("lanes", "plain", ty=ty, update=_plain_update(operation, ty, operand))
        return fill("lanes", "read_modify_write", ty=ty, size=size, operation=operation, operand=operand)
    if op == "cmpxchg":
        return fill("lanes", "plain", ty=ty, update=fill("lanes", "compare_exchange", ty=ty))
    if op in BFLOAT_ATOMICS:
        floats, same = fill("lanes", "as_bfloats"), BFLOAT_ATOMICS[op]
        update = fill("lanes", op) if op in _ROUNDED else fill("lanes", same, ty=ty, real="float")
    else:
        floats, update = (
            fill("lanes", "as_floats", ty=ty, real=_FLOATS[size]),
            fill("lanes", op, ty=ty, real=_FLOATS[size]),
        )
    if own:
        return fill("lanes", "plain", ty=ty, update=f"{floats}\n{update}")
    return fill("lanes", "float_loop", ty=ty, size=size, floats=floats, update=update)


def _plain_update(operation: str, ty: str, operand: str) -> str:
    """%new from %seen and an operand."""
    if operation == READ_MODIFY_WRITE["xchg"]:
        return f"  %new = add {ty} {operand}, 0"
    if order := ORDERS.get(operation):
        return fill("lanes", "smaller_or_larger", ty=ty, order=order, operand=operand)
    return f"  %new = {operation} {ty} %seen, {operand}"


def _vector_path(op: str, flat: bool, index: str, ty: str, lanes: int, declarations: dict[str, str]) -> str:
    """The lanes of an access at once, where all of them are inside the buffer of the first one; else on to %slow."""
    if flat:
        buffer = fill("lanes", "buffer", stem="f", address="%fa")
        base = fill("lanes", "splat", to="vb", value="%forigin", lanes=lanes)
        offsets = fill("lanes", "flat_offsets", lanes=lanes, buffer=buffer, base=base)
    else:
        offsets = fill("lanes", "region_offsets", lanes=lanes)
    bound, where = ("%flimit", "%fregion") if flat else ("%limit", "%region")
    return fill(
        "lanes",
        "vector_path",
        lanes=lanes,
        index=index,
        mask_bits=_mask_bits(lanes),
        wide=_widened("vw", "%va", index, lanes),
        offsets=offsets,
        bound=bound,
        highest=fill("lanes", "splat", to="vl", value="%highest", lanes=lanes),
        where=where,
        whole=_whole(op, index, ty, lanes, where=where, start="%before" if flat else "0"),
        masked=_masked(op, ty, lanes, where, declarations),
    )


def _masked(op: str, ty: str, lanes: int, where: str, declarations: dict[str, str]) -> str:
    """Lanes of which some are active, and inside: as a row, or by parts."""
    size, part = int(ty[1:]) // 8, min(lanes, _PART)
    stores = op == "store"
    memory, apart = ("%source0", "scatter") if stores else ("%results", "gather")

    def moved(intrinsic: MaskedIntrinsic, pointer: str, mask: str, vector: str, at: str) -> str:
        declarations[intrinsic.name] = f"declare {intrinsic.result} @{intrinsic.name}({intrinsic.arguments})"
        count, own = intrinsic.lanes, f"<{intrinsic.lanes} x {ty}> %{vector}"
        call, align = intrinsic.call(pointer, 1, f"<{count} x i1> {mask}", own), min(64, count * size)
        return fill("lanes", f"vector_{op}", ty=ty, lanes=count, call=call, vector=vector, memory=at, align=align)

    def moved_part(first: int) -> str:
        name = f"part{first}"
        intrinsic = MaskedIntrinsic(apart, ty, part)
        zeros = fill("lanes", "vector_zeros", lanes=part, ty=ty, memory=f"%{name}.at", align=min(64, part * size))
        return fill(
            "lanes",
            "part",
            lanes=lanes,
            part=part,
            first=first,
            next=first + part,
            ty=ty,
            where=where,
            memory=memory,
            columns=_vector("i32", range(first, first + part)),
            act=moved(intrinsic, f"%{name}.p", f"%{name}.m", f"{name}.v", f"%{name}.at"),
            nothing="" if stores else zeros,
        )

    return fill(
        "lanes",
        "masked",
        lanes=lanes,
        last=lanes - 1,
        size=size,
        where=where,
        begin=fill("lanes", "splat", to="pb", value="%pbo", lanes=lanes),
        distances=_vector("i64", [n * size for n in range(lanes)]),
        ones=_vector("i1", [1] * lanes),
        row=moved(MaskedIntrinsic(op, ty, lanes), "%pp", "%m", "vv", memory),
        parts="\n".join(map(moved_part, range(0, lanes, part))),
    )


def _whole(op: str, index: str, ty: str, lanes: int, **places: str) -> str:
    """All lanes, which are active and inside, in rows where they follow each other there."""
    size, row = int(ty[1:]) // 8, min(lanes, _LONGEST_ROW)
    names: dict[str, str | int] = {"index": index, "ty": ty, "lanes": lanes, "row": row, **places}
    names["align"] = min(64, row * size)

    def moved(lane: int) -> str:
        wide = _widened(f"wide{lane}", f"%at{lane}", index)
        before = f"%with{lane - 1}" if lane % row else "poison"
        found = fill("lanes", "lane_place", lane=lane, wide=wide, **names)
        found += "\n" + fill("lanes", f"lane_{op}", lane=lane, column=lane % row, before=before, **names)
        return found + (result(lane - row + 1, f"with{lane}") if lane % row == row - 1 else "")

    def moved_row(first: int) -> str:
        found = "\n".join(fill("lanes", section, first=first, **names) for section in ("row_place", f"row_{op}"))
        return found + result(first, f"row{first}")

    def result(first: int, value: str) -> str:
        return "\n" + fill("lanes", "row_result", first=first, value=value, **names) if op == "load" else ""

    return fill(
        "lanes",
        "whole",
        firsts=_vector("i32", [n // row * row for n in range(lanes)]),
        distances=_vector("i64", [n % row * size for n in range(lanes)]),
        share=fill("lanes", "share", **names) if op == "load" else "",
        move_rows="\n".join(map(moved_row, range(0, lanes, row))),
        move_lanes="\n".join(map(moved, range(lanes))),
        **names,
    )


def _vector(element: str, values: Iterable[int]) -> str:
    """A constant vector."""
    return "<" + ", ".join(f"{element} {value}" for value in values) + ">"


def lanes_inside_function(name: str, op: str, index: str, size: int, lanes: int) -> str:
    """The module of a function that loads or stores lanes at offsets which are known to be inside.

    It takes a host pointer, offsets from there, results or values, and for stores the active lanes as bits.
    """
    wide = _widened("a", "%offset", index)
    text = fill("lanes", f"each_{op}", name=name, index=index, ty=f"i{8 * size}", lanes=lanes, wide=wide)
    return module([text], {"cttz": "declare i64 @llvm.cttz.i64(i64, i1)"} if op == "store" else {})


def elements_function(function: LaneFunction, count: int, stride: int) -> str:
    """The module of a function that calls one of :func:`lane_function` for several consecutive elements.

    It takes and returns the same. The first call checks the bytes of all elements. Results and sources of one
    element lie ``stride`` bytes beyond those of the element before.
    """
    _, flat, index, size, lanes, sources, rare, _, _ = function
    region = "" if flat else ", ptr %region, i64 %limit"
    sizes = _vector(index, [size] * lanes)
    at_once = lanes > 1 and not rare
    pairs, called = "", [function]
    if has_pairs(function, count):
        called.append(function.pair)
        pairs = _pairs(function, count, stride, region)
    text = fill(
        "lanes",
        "elements",
        pairs=pairs,
        name=function.name_for(count),
        single=function.name,
        region=region,
        sources="".join(f", ptr %source{k}" for k in range(sources)),
        source_of_element="".join(f", ptr %source{k}.e" for k in range(sources)),
        source="\n".join(fill("lanes", "source_of_element", k=k) for k in range(sources)),
        attributes="#2" if rare else "#0",
        call_attributes="#2" if rare else "",
        advance=fill(
            "lanes",
            "advance_vector" if at_once else "advance_one_by_one",
            index=index,
            lanes=lanes,
            **({"sizes": sizes} if at_once else {"size": size}),
        ),
        count=count,
        stride=stride,
    )
    declared = {f.name: f"declare i64 @{f.name}({f.arguments})" for f in called}
    return module([text], declared | {"cttz": "declare i64 @llvm.cttz.i64(i64, i1)"})


def has_pairs(function: LaneFunction, count: int) -> bool:
    """Whether elements are stored two at a time where lanes share none."""
    return function.op == "store" and not function.rare and function.lanes > 1 and count % 2 == 0 and function.size <= 4


def _pairs(function: LaneFunction, count: int, stride: int, region: str) -> str:
    """A loop over pairs of elements."""
    size, lanes, index = function.size, function.lanes, function.address
    return fill(
        "lanes",
        "pairs",
        double=function.pair.name,
        mask_bits=_mask_bits(lanes),
        low=_vector(index, [2 * size - 1] * lanes),
        sizes=_vector(index, [2 * size] * lanes),
        zipped=_vector("i32", [n // 2 + n % 2 * lanes for n in range(2 * lanes)]),
        twice=2 * lanes,
        half=size,
        ty=f"i{8 * size}",
        lanes=lanes,
        index=index,
        count=count,
        stride=stride,
        region=region,
    )


def _mask_bits(lanes: int) -> str:
    """The active lanes as an integer of their number."""
    return "or i64 %bits, 0" if lanes == 64 else f"trunc i64 %bits to i{lanes}"


def row_function(name: str, flat: bool, index: str, size: int, mask: int | None, written: bool = False) -> str:
    """The module of a function for lanes whose elements of ``size`` bytes follow each other.

    It takes the context (or pointer and size of a region, whose addresses have a mask), the address of lane 0, and the
    active lanes as bits. If these are inside, it returns -1 and the host pointer of where lane 0's element is or would
    be; else the first active lane that is outside and its address.
    """
    intrinsics = (("cttz.i64", "i1"), ("ctlz.i64", "i1"), ("umin.i64", "i64"))
    text = fill(
        "lanes",
        "row",
        name=name,
        arguments="ptr %ctx" if flat else "ptr %region, i64 %limit",
        index=index,
        size=size,
        skipped="or i64 %back, 0" if index == "i64" else "trunc i64 %back to i32",
        mask=-1 if mask is None else mask,
        wide=_widened("a", "%held", index),
        table=fill("lanes", "table_for_writes" if written else "table") if flat else "",
        buffer=fill("lanes", "buffer", stem="", address="%a") if flat else "  %off = or i64 %a, 0",
        outside=fill("lanes", "outside"),
    )
    return module([text], {n: f"declare i64 @llvm.{n}(i64, {t})" for n, t in intrinsics})


def first_outside_function() -> str:
    """The module of a function that takes a lane, its address in a piece of memory, the size of that, and how far the
    addresses of the lanes behind are apart; it returns the first one of them that is outside.
    """
    return module([fill("lanes", "first_outside")], {})


def block_function(name: str, flat: bool) -> str:
    """The module of a function that copies the bytes of a block as far as these are in the memory where it begins, and
    zeros behind them.

    It takes the context (or pointer and size of a region), the address of the block, its bytes and where they go, and
    returns whether the first one is inside.
    """
    text = fill(
        "lanes",
        "block",
        name=name,
        arguments="ptr %ctx" if flat else "ptr %region, i64 %limit",
        table=fill("lanes", "table") if flat else "",
        buffer=fill("lanes", "buffer", stem="", address="%a") if flat else "  %off = or i64 %a, 0",
    )
    return module([text], {"umin": "declare i64 @llvm.umin.i64(i64, i64)"})


def widened_function(name: str, narrow: str, signed: bool) -> str:
    """The module of a function that computes addresses from the narrow values that they were widened from.

    It takes addresses (out), the address of the first of these lanes if nothing wraps around, the factor, (narrow) lane
    0 and distance of rows, and the shape (see the template).
    """
    return module([fill("lanes", "widened", name=name, narrow=narrow, extend="sext" if signed else "zext")], {})
