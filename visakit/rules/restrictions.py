"""Restrictions of single instructions beyond types and modifiers (manual, chapter 5): sizes, masks, numbers, classes.

The records of the table say it, in ``sizes``, ``limits``, ``aligned``, ``pairs`` and ``rules``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

from visakit.isa import InstructionDesc, systolic
from visakit.isa.enums import LSC_ATOMIC_SIZES, LSC_DATA_SIZES, LSC_ELEMENTS, LSC_ORDERS
from visakit.isa.record import ANY_SIZE, Rule
from visakit.language import types
from visakit.language.operands import (
    CONSECUTIVE,
    SAT,
    SCALAR,
    Execution,
    General,
    Immediate,
    Indirect,
    Raw,
    Region,
    VectorOperand,
    region_elements,
)
from visakit.language.platforms import ALL, PLATFORMS, WITH_MACROS
from visakit.language.program import Fields, Instruction
from visakit.language.types import VECTOR, DataType
from visakit.rules.violation import Violation

UNDEFINED_RELATION = 6
SYSTOLIC_DEPTH = 8
_BYTE_FLOATS = {"bf8", "hf8"}
TypeOf = Callable[[VectorOperand | Raw], DataType | None]
_LANE_BY_LANE: tuple[Region, ...] = ((1, 1, 0), SCALAR)
_Check = Callable[[TypeOf, InstructionDesc, Fields], Iterator[Violation]]


@functools.cache
def is_restricted(desc: InstructionDesc) -> bool:
    """Whether there is anything to check."""
    return bool(desc.rules or desc.limits or desc.pairs or desc.sizes != ANY_SIZE or "rel_op" in desc.by_name)


def restrictions(type_of: TypeOf, i: Instruction, size: int, grf_size: int, platform: str = "") -> Iterator[Violation]:
    """The special restrictions that an instruction of a number of lanes breaks; ``grf_size`` may be 0, and ``platform``
    empty: not known.
    """
    desc, args = i.desc, i.args
    if args.get("rel_op") == UNDEFINED_RELATION:
        message = "the comparison has no condition, so its result is undefined"
        yield Violation("W011", message, "write cmp.eq, cmp.ne, cmp.gt, cmp.ge, cmp.lt or cmp.le")
    if size not in desc.sizes and desc.has_exec:
        sizes = ", ".join(map(str, desc.sizes))
        yield Violation("V039", f"{desc.mnemonic} does not exist with execution size {size}", f"it takes {sizes}")
    elif Rule.SYSTOLIC in desc.rules and grf_size not in (0, 4 * size):
        message = f"{desc.mnemonic} of {size} lanes does not exist with registers of {grf_size} bytes"
        yield Violation("V039", message, f"it takes {grf_size // 4}, a row for each register")
    if Rule.DF_BY_MACROS in desc.rules and platform in ALL - WITH_MACROS and type_of(args["dst"]) is types.DF:
        having = ", ".join(n for n in PLATFORMS if n in WITH_MACROS)
        yield Violation("V060", f"{desc.mnemonic} of df does not exist on {platform}", f"it exists on {having}", "dst")
    yield from _limits(desc, args)
    if desc.pairs:
        yield from _pair(type_of, desc, args)
    for rule in sorted(desc.rules & _RULES.keys(), key=lambda rule: rule.value):
        yield from _RULES[rule](type_of, desc, args)


def _limits(desc: InstructionDesc, args: Fields) -> Iterator[Violation]:
    for name, (least, greatest) in desc.limits.items():
        value = args.get(name)
        number = len(value) if isinstance(value, tuple) else value.bits if isinstance(value, Immediate) else value
        if isinstance(number, int) and not least <= number <= greatest:
            what = f"{number} {name}" if isinstance(value, tuple) else f"{name} {number}"
            message = f"{desc.mnemonic} does not exist with {what}"
            yield Violation("V039", message, f"{least} to {greatest} {'are' if greatest > 1 else 'is'} possible", name)


def _pair(type_of: TypeOf, desc: InstructionDesc, args: Fields) -> Iterator[Violation]:
    result, source = type_of(args["dst"]), type_of(args["src0"])
    if result is None or source is None or source.name in desc.pairs.get(result.name, ()):
        return
    pairs = "; ".join(f"{to} from {' or '.join(sorted(of))}" for to, of in desc.pairs.items())
    yield Violation("V034", f"{desc.mnemonic} does not make {result} from {source}", f"it makes {pairs}", "src0")


# -- the words of the records ------------------------------------------------------------------------------------------


def _no_packed(type_of: TypeOf, desc: InstructionDesc, args: Fields) -> Iterator[Violation]:
    for f in desc.fields:
        op = args.get(f.name)
        if isinstance(op, Immediate) and op.type.kind == VECTOR:
            message = f"{desc.mnemonic} does not take type {op.type}"
            yield Violation("V034", message, "it takes no packed immediates", f.name)


def _no_mask(type_of: TypeOf, desc: InstructionDesc, args: Fields) -> Iterator[Violation]:
    if not args["exec"].no_mask:
        yield Violation("V039", f"{desc.mnemonic} executes for all lanes", "write (M1_NM, ...)")


def _no_mask_to_bytes(type_of: TypeOf, desc: InstructionDesc, args: Fields) -> Iterator[Violation]:
    result = type_of(args["dst"])
    if result is not None and result.size == 1 and not args["exec"].no_mask:
        yield Violation("W015", f"{desc.mnemonic} to bytes executes for all lanes in the manual", "write (M1_NM, ...)")


def _saturates_bytes(type_of: TypeOf, desc: InstructionDesc, args: Fields) -> Iterator[Violation]:
    result = type_of(args["dst"])
    if result is not None and result.size > 1 and args["dst"].modifier == SAT:
        yield Violation("V038", f"{desc.mnemonic} cannot saturate type {result}", "leave out .sat", "dst")


def _packed_lanes(type_of: TypeOf, desc: InstructionDesc, args: Fields) -> Iterator[Violation]:
    yield from _regions(desc, args, {"dst": (CONSECUTIVE,), "src0": _LANE_BY_LANE, "src1": _LANE_BY_LANE})


def _table_of_dwords(type_of: TypeOf, desc: InstructionDesc, args: Fields) -> Iterator[Violation]:
    index = type_of(args["src1"])
    table: Region = (0, 16, 1) if args["exec"].size == 32 else (1, 1, 0)
    wanted: dict[str, tuple[Region, ...]] = {"src0": (table,)}
    if index is not None and index.name in desc.types_of("src1"):
        wanted["src1"] = ((4 // index.size, 1, 0),)
    yield from _regions(desc, args, wanted)


def _regions(desc: InstructionDesc, args: Fields, wanted: dict[str, tuple[Region, ...]]) -> Iterator[Violation]:
    """Regions of registers that the instruction does not take."""
    for name, regions in wanted.items():
        op = args[name]
        if isinstance(op, General) and op.region not in regions:
            written = [f"<{h}>" if v is None else f"<{v};{w},{h}>" for v, w, h in regions]
            message = f"{desc.mnemonic} does not take this region as {name}"
            yield Violation("V035", message, f"write {' or '.join(written)}", name)


def _atomic_data(type_of: TypeOf, desc: InstructionDesc, args: Fields) -> Iterator[Violation]:
    sizes = ", ".join(f"V:{name}" for name in LSC_ATOMIC_SIZES)
    if args["data_size"] not in LSC_ATOMIC_SIZES.values():
        yield Violation("V050", f"{desc.mnemonic} does not work on data of this size", f"write {sizes}", "")
    if args["elems"] != LSC_ELEMENTS[1] or args["order"] == LSC_ORDERS["t"]:
        yield Violation("V050", f"{desc.mnemonic} works on one element of each lane", f"write {sizes}", "")


def _words(type_of: TypeOf, desc: InstructionDesc, args: Fields) -> Iterator[Violation]:
    if args["data_size"] != LSC_DATA_SIZES["d16u32"]:
        yield Violation("V050", f"{desc.mnemonic} works on words in dwords", "write V:d16u32", "")


def _needs_predicate(type_of: TypeOf, desc: InstructionDesc, args: Fields) -> Iterator[Violation]:
    if args["pred"] is None:
        message = f"{desc.mnemonic} needs a predicate, which takes the overflow"
        yield Violation("V039", message, f"write (P) {desc.mnemonic}")


def _predicate_bits(type_of: TypeOf, desc: InstructionDesc, args: Fields) -> Iterator[Violation]:
    execution: Execution = args["exec"]
    allowed = (8,) if execution.size == 32 else (8, 12)
    if execution.size > 1 and execution.mask not in allowed:
        masks = " or ".join(f"M{(mask & 7) + 1}_NM" for mask in allowed)
        message = f"{desc.mnemonic} of {execution.size} lanes has the mask {masks} in the manual"
        yield Violation("W015", message)


def _contiguous(type_of: TypeOf, desc: InstructionDesc, args: Fields) -> Iterator[Violation]:
    size = args["exec"].size
    for name in ("dst", "src0"):
        op = args[name]
        if isinstance(op, General | Indirect) and region_elements(op.region, size) != tuple(range(size)):
            hint = f"write {'<1>' if name == 'dst' else '<1;1,0>'}"
            yield Violation("V039", f"{desc.mnemonic} copies elements that lie side by side", hint, name)


def _systolic(type_of: TypeOf, desc: InstructionDesc, args: Fields) -> Iterator[Violation]:
    depth, pair = args["depth"], {systolic.NAMES[args[f"src{n}_precision"]] for n in (1, 2)}
    if depth != SYSTOLIC_DEPTH:
        yield Violation(
            "V039", f"{desc.mnemonic} does not exist with depth {depth}", f"it is {SYSTOLIC_DEPTH}", "depth"
        )
    if len(pair) > 1 and pair != _BYTE_FLOATS and not all(name[0] in "us" for name in pair):
        message = f"{desc.mnemonic} does not multiply {' and '.join(sorted(pair))}"
        yield Violation("V034", message, "precisions are both integers, both bf8 or hf8, or the same", "src2_precision")
    else:
        yield from _accumulators(type_of, desc, args)


def _accumulators(type_of: TypeOf, desc: InstructionDesc, args: Fields) -> Iterator[Violation]:
    """Accumulators and results of a type that the precision does not take."""
    precision = systolic.NAMES[args["src1_precision"]]
    allowed = systolic.results_of(precision) & desc.types
    for name in ("dst", "src0"):
        t = type_of(args[name])
        if t is None or t.name in allowed:
            continue
        hint = f"with {precision} it takes {' and '.join(sorted(allowed))}"
        if precision == "bf" and t.name in systolic.BFLOAT_STAND_INS:
            yield Violation("W015", f"{desc.mnemonic} does not take type {t} here in the manual", hint, name)
        else:
            yield Violation("V034", f"{desc.mnemonic} of {precision} does not take type {t} as {name}", hint, name)


def _transposed_of_one(type_of: TypeOf, desc: InstructionDesc, args: Fields) -> Iterator[Violation]:
    if args["order"] == LSC_ORDERS["t"] and args["exec"].size > 1:
        message = f"{desc.mnemonic} of transposed data has execution size 1"
        yield Violation("V039", message, "it takes the elements at a single address")


_RULES: dict[Rule, _Check] = {
    Rule.NO_PACKED: _no_packed,
    Rule.NO_MASK: _no_mask,
    Rule.NO_MASK_TO_BYTES: _no_mask_to_bytes,
    Rule.SATURATES_BYTES: _saturates_bytes,
    Rule.PACKED_LANES: _packed_lanes,
    Rule.TABLE_OF_DWORDS: _table_of_dwords,
    Rule.WORDS: _words,
    Rule.ATOMIC_DATA: _atomic_data,
    Rule.NEEDS_PREDICATE: _needs_predicate,
    Rule.PREDICATE_BITS: _predicate_bits,
    Rule.CONTIGUOUS: _contiguous,
    Rule.SYSTOLIC: _systolic,
    Rule.TRANSPOSED_OF_ONE: _transposed_of_one,
}
