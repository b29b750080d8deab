"""Functions out of line that go through the active lanes of an access one by one, or all at once where that is possible."""

from __future__ import annotations

from visa.types import DataType
from vsim.llvm_engine import context as cx
from vsim.llvm_engine.ir import OLD_MASKED, SUFFIXES, ir_type, module

_RMW = {
    "add": "add", "sub": "sub", "inc": "add", "dec": "sub", "min": "umin", "max": "umax", "minsint": "min", "maxsint": "max", "xchg": "xchg",
    "and": "and", "or": "or", "xor": "xor",
}  # fmt: skip


_TABLE = f"""%table.p = getelementptr i8, ptr %ctx, i64 {cx.SLOT_TABLE}
  %table = load ptr, ptr %table.p
  %count.p = getelementptr i8, ptr %ctx, i64 {cx.SLOT_COUNT}
  %count = load i64, ptr %count.p"""


def _buffer(address: str, stem: str = "") -> str:
    """The buffer of a flat address: its host pointer %region, its size %limit, the offset %off, with a stem. Where there is none, the size is 0."""
    return f"""%{stem}number = lshr i64 {address}, 32
  %{stem}slot = call i64 @llvm.umin.i64(i64 %{stem}number, i64 %count)
  %{stem}entry = getelementptr [{cx.SLOT_ENTRY} x i8], ptr %table, i64 %{stem}slot
  %{stem}origin = load i64, ptr %{stem}entry
  %{stem}region.p = getelementptr i8, ptr %{stem}entry, i64 8
  %{stem}region = load ptr, ptr %{stem}region.p
  %{stem}limit.p = getelementptr i8, ptr %{stem}entry, i64 16
  %{stem}limit = load i64, ptr %{stem}limit.p
  %{stem}off = sub i64 {address}, %{stem}origin"""


_OUTSIDE = """%beyond = icmp ugt i64 %off, %limit
  %room = sub i64 %limit, %off
  %short = icmp ult i64 %room, %need
  %out = or i1 %beyond, %short"""
"""Whether some of %need bytes at %off are not inside."""


def _wide(name: str, narrow: str, index: str, lanes: int = 1) -> str:
    """Offsets as i64."""
    if index == "i64":
        ir = f"<{lanes} x i64>" if lanes > 1 else "i64"
        return f"%{name} = or {ir} {narrow}, {'zeroinitializer' if lanes > 1 else 0}"
    return (
        f"%{name} = zext <{lanes} x i32> {narrow} to <{lanes} x i64>"
        if lanes > 1
        else f"%{name} = zext i32 {narrow} to i64"
    )


def lane_function(name: str, op: str, flat: bool, index: str, size: int, lanes: int, sources: int, rare: bool) -> str:
    """The module of a function that goes through the active lanes of an access to elements of ``size`` bytes, together where it can; it returns the first
    lane whose address is outside, or -1.

    Arguments: context, addresses, results, active lanes as bits, bytes behind each element that must be inside, too, (pointer and size of a
    region,) sources. What is called ``rare``ly leaves all registers as they are.
    """
    ty = f"i{8 * size}"
    declarations = {"cttz": "declare i64 @llvm.cttz.i64(i64, i1)", "umin": "declare i64 @llvm.umin.i64(i64, i64)"}
    region = "" if flat else ", ptr %region, i64 %limit"
    extra = "".join(f", ptr %source{k}" for k in range(sources))
    together = ""
    if op in ("load", "store") and lanes > 1 and not rare:
        together = _vector_path(op, flat, index, ty, lanes, declarations)
    own = "\n  ".join(
        f"%source{k}.p = getelementptr {ty}, ptr %source{k}, i64 %lane\n  %s{k} = load {ty}, ptr %source{k}.p"
        for k in range(sources)
    )
    return module([f"""
define i64 @{name}(ptr %ctx, ptr %addresses, ptr %results, i64 %bits, i64 %more{region}{extra}) {"#2" if rare else "#0"} {{
  %need = add i64 %more, {size}
  {_TABLE if flat else ""}
  {together}
  br label %begin
begin:
  {_cleared(ty, lanes, size, rare) if op != "store" else "br label %cleared"}
cleared:
  br label %head
head:
  %left = phi i64 [ %bits, %cleared ], [ %rest, %next ]
  %none = icmp eq i64 %left, 0
  br i1 %none, label %done, label %body
body:
  %lane = call i64 @llvm.cttz.i64(i64 %left, i1 true)
  %less = sub i64 %left, 1
  %rest = and i64 %left, %less
  %address.p = getelementptr {index}, ptr %addresses, i64 %lane
  %address = load {index}, ptr %address.p
  {_wide("a", "%address", index)}
  {_buffer("%a") if flat else "%off = or i64 %a, 0"}
  {_OUTSIDE}
  br i1 %out, label %bad, label %good
good:
  %p = getelementptr i8, ptr %region, i64 %off
  %rp = getelementptr {ty}, ptr %results, i64 %lane
  {own}
{chr(10).join(_update(op, ty, size))}
next:
  br label %head
bad:
  {"br label %next" if op == "mapped" else "ret i64 %lane"}
done:
  ret i64 -1
}}"""], declarations)  # fmt: skip


def _cleared(ty: str, lanes: int, size: int, rare: bool) -> str:
    """Zeros for results; then on to %cleared."""
    if rare:
        # One by one: vector instructions would end with the upper halves of all vector registers cleared.
        return f"""br label %clear
clear:
  %cell = phi i64 [ 0, %begin ], [ %cell1, %clear ]
  %cell.p = getelementptr {ty}, ptr %results, i64 %cell
  store {ty} 0, ptr %cell.p
  %cell1 = add i64 %cell, 1
  %cells = icmp ult i64 %cell1, {lanes}
  br i1 %cells, label %clear, label %cleared"""
    lines = []
    for start in range(0, lanes * size, 64):
        width = min(64, lanes * size - start)
        align = width if width & (width - 1) == 0 else 1
        lines += [
            f"%cell{start}.p = getelementptr i8, ptr %results, i64 {start}",
            f"store <{width} x i8> zeroinitializer, ptr %cell{start}.p, align {align}",
        ]
    return "\n  ".join([*lines, "br label %cleared"])


def row_function(name: str, flat: bool, index: str, size: int, mask: int | None) -> str:
    """The module of a function for lanes whose elements of ``size`` bytes follow each other: where lane 0's is or would be, if the active lanes are inside.

    Arguments: context (or pointer and size of a region, whose addresses have a mask), address of lane 0, active lanes as bits. Returns -1 and the host
    pointer; or the first active lane that is outside and its address. It leaves all other registers as they are.
    """
    declarations = {
        n: f"declare i64 @llvm.{n}(i64, {t})" for n, t in (("cttz.i64", "i1"), ("ctlz.i64", "i1"), ("umin.i64", "i64"))
    }
    arguments = "ptr %ctx" if flat else "ptr %region, i64 %limit"
    result = "{ i64, ptr }"
    return module([f"""
define {result} @{name}({arguments}, {index} %base, i64 %bits) #2 {{
  %nobody = icmp eq i64 %bits, 0
  br i1 %nobody, label %empty, label %some
empty:
  ret {result} {{ i64 -1, ptr null }}
some:
  %first = call i64 @llvm.cttz.i64(i64 %bits, i1 true)
  %behind = call i64 @llvm.ctlz.i64(i64 %bits, i1 true)
  %last = sub i64 63, %behind
  %distance = sub i64 %last, %first
  %lanes = add i64 %distance, 1
  %need = mul i64 %lanes, {size}
  %back = mul i64 %first, {size}
  %skipped = {"or i64 %back, 0" if index == "i64" else "trunc i64 %back to i32"}
  %sum = add {index} %base, %skipped
  %held = and {index} %sum, {-1 if mask is None else mask}
  {_wide("a", "%held", index)}
  {_TABLE if flat else ""}
  {_buffer("%a") if flat else "%off = or i64 %a, 0"}
  {_OUTSIDE}
  br i1 %out, label %bad, label %good
bad:
  %whole = udiv i64 %room, {size}
  %inside = select i1 %beyond, i64 0, i64 %whole
  %from = add i64 %first, %inside
  %ahead = shl i64 -1, %from
  %others = and i64 %bits, %ahead
  %lane = call i64 @llvm.cttz.i64(i64 %others, i1 false)
  %further = sub i64 %lane, %first
  %further_bytes = mul i64 %further, {size}
  %there = add i64 %a, %further_bytes
  %address = inttoptr i64 %there to ptr
  %b0 = insertvalue {result} poison, i64 %lane, 0
  %b1 = insertvalue {result} %b0, ptr %address, 1
  ret {result} %b1
good:
  %lane0 = sub i64 %off, %back
  %p = getelementptr i8, ptr %region, i64 %lane0
  %g1 = insertvalue {result} {{ i64 -1, ptr poison }}, ptr %p, 1
  ret {result} %g1
}}"""], declarations)  # fmt: skip


def widened_function(name: str, source: DataType) -> str:
    """The module of a function that computes addresses from what was widened on the way to them.

    Arguments: addresses (out), address of the first of these lanes if nothing wraps around, factor, (narrow) lane 0 and distance of rows, shape: number of
    lanes, number of the first one, lanes in a row, step within it, from bits 0, 8, 16 and 32 on.
    """
    narrow, extend = ir_type(source, 1), "sext" if source.is_signed else "zext"
    return module([f"""
define void @{name}(ptr %addresses, i64 %base, i64 %factor, {narrow} %low, {narrow} %jump, i64 %shape) #2 {{
entry:
  %count = and i64 %shape, 255
  %shape1 = lshr i64 %shape, 8
  %start = and i64 %shape1, 255
  %shape2 = lshr i64 %shape, 16
  %row = and i64 %shape2, 65535
  %step = ashr i64 %shape, 32
  %narrow_step = trunc i64 %step to {narrow}
  %low_wide = {extend} {narrow} %low to i64
  %jump_wide = {extend} {narrow} %jump to i64
  %start_row = udiv i64 %start, %row
  %start_column = urem i64 %start, %row
  %start_down = mul i64 %start_row, %jump_wide
  %start_along = mul i64 %start_column, %step
  %start_sum = add i64 %start_down, %start_along
  br label %lane
lane:
  %n = phi i64 [ 0, %entry ], [ %n1, %lane ]
  %number = add i64 %start, %n
  %r = udiv i64 %number, %row
  %c = urem i64 %number, %row
  %r_narrow = trunc i64 %r to {narrow}
  %c_narrow = trunc i64 %c to {narrow}
  %down = mul {narrow} %r_narrow, %jump
  %along = mul {narrow} %c_narrow, %narrow_step
  %sum0 = add {narrow} %low, %down
  %sum = add {narrow} %sum0, %along
  %wide = {extend} {narrow} %sum to i64
  %from_low = sub i64 %wide, %low_wide
  %from_start = sub i64 %from_low, %start_sum
  %scaled = mul i64 %from_start, %factor
  %address = add i64 %base, %scaled
  %place = getelementptr i64, ptr %addresses, i64 %n
  store i64 %address, ptr %place, align 8
  %n1 = add i64 %n, 1
  %more = icmp ult i64 %n1, %count
  br i1 %more, label %lane, label %done
done:
  ret void
}}"""], {})  # fmt: skip


def _vector_path(op: str, flat: bool, index: str, ty: str, lanes: int, declarations: dict[str, str]) -> str:
    """All lanes at once, where all of them are inside the buffer of the first one; else on to %slow."""
    wide, mask, vector = f"<{lanes} x i64>", f"<{lanes} x i1>", f"<{lanes} x {ty}>"
    pointers, align = f"<{lanes} x ptr>", ", i32" if OLD_MASKED else ""
    name = f"llvm.masked.{'gather' if op == 'load' else 'scatter'}.v{lanes}{SUFFIXES[ty]}.v{lanes}p0"
    target = f"{pointers} %vp, i32 1" if OLD_MASKED else f"{pointers} align 1 %vp"
    if op == "load":
        declarations[name] = f"declare {vector} @{name}({pointers}{align}, {mask}, {vector})"
        act = f"%vv = call {vector} @{name}({target}, {mask} %m, {vector} zeroinitializer)\n  store {vector} %vv, ptr %results, align 64"
    else:
        declarations[name] = f"declare void @{name}({vector}, {pointers}{align}, {mask})"
        act = f"%vv = load {vector}, ptr %source0, align 64\n  call void @{name}({vector} %vv, {target}, {mask} %m)"

    def splat(to: str, value: str) -> str:
        return f"""%{to}.i = insertelement {wide} poison, i64 {value}, i64 0
  %{to} = shufflevector {wide} %{to}.i, {wide} poison, <{lanes} x i32> zeroinitializer"""

    if flat:
        where, bound = "%fregion", "%flimit"
        place = f"""%f = call i64 @llvm.cttz.i64(i64 %bits, i1 true)
  %fa = extractelement {wide} %vw, i64 %f
  {_buffer("%fa", "f")}
  {splat("vb", "%forigin")}
  %vo = sub {wide} %vw, %vb"""
    else:
        where, bound, place = "%region", "%limit", f"%vo = or {wide} %vw, zeroinitializer"
    return f"""%mb = {"or i64 %bits, 0" if lanes == 64 else f"trunc i64 %bits to i{lanes}"}
  %m = bitcast i{lanes} %mb to {mask}
  %va = load <{lanes} x {index}>, ptr %addresses, align 64
  {_wide("vw", "%va", index, lanes)}
  {place}
  %small = icmp ult i64 {bound}, %need
  %highest = sub i64 {bound}, %need
  {splat("vl", "%highest")}
  %vout = icmp ugt {wide} %vo, %vl
  %vbad = and {mask} %vout, %m
  %bb = bitcast {mask} %vbad to i{lanes}
  %anybad = icmp ne i{lanes} %bb, 0
  %go = or i1 %anybad, %small
  br i1 %go, label %slow, label %together
together:
  %vp = getelementptr i8, ptr {where}, {wide} %vo
  {act}
  ret i64 -1
slow:"""


def _update(op: str, ty: str, size: int) -> list[str]:
    """One lane's work at %p: its sources are %s0 and %s1, its result goes to %rp; ends with a branch to %next."""
    if op == "mapped":
        return [f"  store {ty} 1, ptr %rp", "  br label %next"]
    if op == "load":
        return [f"  %v = load {ty}, ptr %p, align 1", f"  store {ty} %v, ptr %rp", "  br label %next"]
    if op == "store":
        return [f"  store {ty} %s0, ptr %p, align 1", "  br label %next"]
    if op in _RMW:
        operand = "1" if op in ("inc", "dec") else "%s0"
        return [
            f"  %old = atomicrmw {_RMW[op]} ptr %p, {ty} {operand} monotonic, align {size}",
            f"  store {ty} %old, ptr %rp",
            "  br label %next",
        ]
    if op == "cmpxchg":
        return [f"  %pair = cmpxchg ptr %p, {ty} %s0, {ty} %s1 monotonic monotonic, align {size}", f"  %old = extractvalue {{ {ty}, i1 }} %pair, 0",
                f"  store {ty} %old, ptr %rp", "  br label %next"]  # fmt: skip
    real = {4: "float", 8: "double", 2: "half"}[size]
    compare = {
        "fmax": [
            f"  %g = fcmp ogt {real} %x, %y",
            f"  %n = fcmp uno {real} %y, %y",
            "  %k = or i1 %g, %n",
            f"  %new = select i1 %k, {ty} %seen, {ty} %s0",
        ],
        "fmin": [
            f"  %g = fcmp olt {real} %x, %y",
            f"  %n = fcmp uno {real} %y, %y",
            "  %k = or i1 %g, %n",
            f"  %new = select i1 %k, {ty} %seen, {ty} %s0",
        ],
        "fadd": [f"  %t = fadd {real} %x, %y", f"  %new = bitcast {real} %t to {ty}"],
        "fsub": [f"  %t = fsub {real} %x, %y", f"  %new = bitcast {real} %t to {ty}"],
        "fcmpwr": [f"  %k = fcmp oeq {real} %x, %y", f"  %new = select i1 %k, {ty} %s1, {ty} %seen"],
    }[op]
    return [f"  %start = load atomic {ty}, ptr %p monotonic, align {size}", "  br label %again", "again:",
            f"  %seen = phi {ty} [ %start, %good ], [ %old, %again ]", f"  %x = bitcast {ty} %seen to {real}", f"  %y = bitcast {ty} %s0 to {real}",
            *compare, f"  %pair = cmpxchg ptr %p, {ty} %seen, {ty} %new monotonic monotonic, align {size}",
            f"  %old = extractvalue {{ {ty}, i1 }} %pair, 0", f"  %ok = extractvalue {{ {ty}, i1 }} %pair, 1",
            "  br i1 %ok, label %written, label %again", "written:", f"  store {ty} %old, ptr %rp", "  br label %next"]  # fmt: skip
