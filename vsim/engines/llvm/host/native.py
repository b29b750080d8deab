"""IR to native code: LLVM's passes, and objects that can be kept on disk and loaded again."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache

from llvmlite import __version__ as version
from llvmlite import binding as llvm

from visakit.diagnostics import UsageError
from visakit.object_cache import key, load, save
from vsim.engines.llvm import InvalidCode, abi
from vsim.engines.llvm.host.shutdown import ProcessEndsError, in_llvm
from vsim.engines.llvm.target import converts_halves, has_feature, target, vector_bits

_INITIALIZED = False
_LIBRARY_BY_TABLE = '!llvm.module.flags = !{!999999999}\n!999999999 = !{i32 7, !"RtLibUseGOT", i32 1}\n'
"""Functions that the code generator calls by itself have their addresses in a table, too (``_object_code``)."""
HALF_CONVERSIONS = ("__extendhfsf2", "__truncsfhf2", "__truncdfhf2")
"""What LLVM calls to convert halves where the processor has no instruction for that."""


def initialize() -> None:
    """Make LLVM ready for the host."""
    global _INITIALIZED
    if not _INITIALIZED:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        # The pass that makes interleaved stores of shuffles takes a part of the mask without a value for the element
        # -1 (LLVM 22, x86-64-v3 and above). test_fuzzed has the program that showed it.
        llvm.set_option("", "-lower-interleaved-accesses=false")
        # Of how many edges between blocks the register allocator takes account while it looks for a region in which a
        # value has a register. What it does there grows faster than the code, and more gains nothing (page 29).
        llvm.set_option("", "-grow-region-complexity-budget=200")
        # The first module makes LLVM's global context. Functions for the end of the process that are registered from
        # now on run before the context is destroyed, with the modules of threads that are at work.
        llvm.parse_assembly("")
        _INITIALIZED = True


def made_for() -> str:
    """The CPU and LLVM that code is made for and by.

    Raises:
        UsageError: ``VISAKIT_CPU`` names no CPU, or one that this machine cannot stand for.
    """
    return " ".join((*target(), version))


@cache
def _bind_conversions(missing: tuple[str, ...]) -> None:
    """Tell LLVM where functions are that code for the target calls: of libgcc, which Python does not have open.

    Raises:
        UsageError: this machine has them nowhere, and native code would jump to nowhere.
    """
    for name in missing:
        for library in (None, "libgcc_s.so.1"):
            with contextlib.suppress(OSError, AttributeError):
                place = ctypes.cast(getattr(ctypes.CDLL(library), name), ctypes.c_void_p).value
                llvm.add_symbol(name, place)
                break
        else:
            raise UsageError(f"code for processors without F16C needs '{name}' of libgcc 12 or newer, which is missing")


def target_machine(level: int) -> llvm.TargetMachine:
    """A target machine for the host, or what ``VISAKIT_CPU`` names."""
    initialize()
    cpu, features = target()
    _bind_conversions(() if converts_halves() else HALF_CONVERSIONS)
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu,
        features=features,
        opt=level,
        reloc="pic",
        codemodel="small",
    )


LARGE_LINES = 4_000
"""Of a module of more lines than this, most of which are one block, instructions are not combined: that costs more than
it gains, as the builder has merged equal instructions; only sums are reordered. Between blocks the builder merges
nothing, and unmerged instructions cost code generation more (shuffles of doubles ten times as much).
"""
HUGE_BLOCKS, HUGE_JOINS = 5_000, 400
"""Promotion of stack slots, coalescing and register allocation grow faster than the number of blocks, and sooner where
lanes meet at so many of these, as live values are joined there. Beyond either, a launch that waits for its code and
cannot begin anew has quick code: LLVM selects it block by block, with slots in memory, in a fourth of the time and
less; it takes up to five times as long.
"""
QUICK_ONLY_BLOCKS, QUICK_ONLY_JOINS = 12_000, 1_500
"""Beyond either, all code is quick, also where good code could be made behind the results (page 171)."""
MANY_FILE_USES = 500
"""Uses of the register file in memory beyond which instructions are not combined: LLVM looks at all of them whenever it
removes one.
"""
QUICK_LINES, ONCE_LINES = 14_000, 1_500
"""Modules of more lines have quick code first, as a huge module has, and good code when that is made (page 84); the
second number is of kernels that may run once.
"""
# What pays for itself; between the two halves the coroutines are split. (NewGVN would pay too, but it miscompiles: it
# is no production pass. test_run has the kernel that showed it. LLVM's whole pipeline takes up to twice the time of
# everything else, for code that is at most a few percent faster.)
_BEFORE_SPLIT = ("sroa", "instruction_combine", "simplify_cfg", "dead_store_elimination")
# Straight code is one chain of sums, of which the order of the text has the latest operand nearly anywhere. Where it
# comes last, code waits less: a vector instruction has its result after two cycles, in which eight could begin.
_BEFORE_STRAIGHT = ("sroa", "reassociate", "simplify_cfg", "dead_store_elimination")
_AFTER_SPLIT = ("simplify_cfg",)


def _run_passes(module: llvm.ModuleRef, machine: llvm.TargetMachine, names: tuple[str, ...]) -> None:
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    manager = llvm.create_new_module_pass_manager()
    for name in names:
        getattr(manager, f"add_{name}_pass")()
    manager.run(module, builder)


def _run_pipeline(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=0)
    options.loop_vectorization = False
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def _is_straight(text: str) -> bool:
    """Whether a module is large, and most of its lines are those of one block."""
    lines = text.count("\n")
    return lines > LARGE_LINES and max(block.count("\n") for block in text.split(":\n")) > lines // 2


def is_long_in_the_making(text: str, may_run_once: bool = False) -> bool:
    """Whether good code of a module takes so much longer than quick code that quick code is made first."""
    return text.count("\n") > (ONCE_LINES if may_run_once else QUICK_LINES) and not _is_quick_only(text)


def is_huge(text: str) -> bool:
    """Whether good code of a module takes so long that a launch which must wait for its code has quick code."""
    return _exceeds(text, HUGE_BLOCKS, HUGE_JOINS)


def _is_quick_only(text: str) -> bool:
    return _exceeds(text, QUICK_ONLY_BLOCKS, QUICK_ONLY_JOINS)


def _exceeds(text: str, blocks: int, joins: int) -> bool:
    return text.count(":\n") > blocks or text.count("\ncheck") > joins


def _passes_before_split(text: str) -> tuple[str, ...]:
    if _is_straight(text):
        return _BEFORE_STRAIGHT
    combines = text.count("getelementptr i8, ptr %file,") <= MANY_FILE_USES
    return tuple(name for name in _BEFORE_SPLIT if combines or name != "instruction_combine")


@in_llvm()
def compile_object(text: str, quick: bool = False) -> bytes:
    """Native object code of a module, which goes through a short pipeline of our own; one beyond all limits through
    nearly none, and so one that our pipeline breaks.

    Args:
        quick: whether any module goes through nearly none.

    What goes into the passes and into the code generator is verified, which takes a few thousandths of the time that
    these take: LLVM ends the process when it finds a module broken.

    Raises:
        InvalidCode: the module is invalid.
    """
    from vsim.engines.llvm.host.kept_values import with_kept_values

    quick = quick or _is_quick_only(text)
    machine = target_machine(0 if quick else 1)
    module = _verified(text, machine)
    if quick:
        _run_pipeline(module, machine)
        return _object_code(module, machine)
    before = _passes_before_split(text)
    _run_passes(module, machine, before)
    if _is_valid(module):
        if "@llvm.coro.suspend(" in text:
            module = _with(module, machine, with_kept_values)
        _run_pipeline(module, machine)
        _run_passes(module, machine, _AFTER_SPLIT)
    if not _is_valid(module):
        module = _verified(text, machine)
        _run_pipeline(module, machine)
    return _object_code(_worked_around(text, module, machine), machine)


def _object_code(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> bytes:
    """Native object code that calls functions of other objects through a table of addresses in the object: they may lie
    anywhere, and the memory of the table is reserved with that of the object (``loaded``).
    """
    for function in module.functions:
        if function.is_declaration:
            function.add_function_attribute("nonlazybind")
    return bytes(machine.emit_object(module))


def _worked_around(text: str, module: llvm.ModuleRef, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """A module, made from a text by the passes, as LLVM's code generator is right about it, and good at it."""
    from vsim.engines.llvm.host.dword_masks import with_dword_masks
    from vsim.engines.llvm.host.workarounds import (
        with_loads_in_order,
        with_split_bytes,
        with_split_halves,
        with_split_pairs,
        with_split_selects,
    )

    needed = [
        work_around
        for work_around, is_needed in (
            (with_split_halves, "@llvm.coro.suspend(" in text and "half" in text),
            (with_split_bytes, " x i8>" in text),
            (with_split_pairs, "<2 x i16>" in text and has_feature("avx512f")),
            (with_loads_in_order, "= shufflevector <" in text),
            (with_split_selects, "= select <" in text and "= and <" in text and has_feature("avx512f")),
            (with_dword_masks, vector_bits() == 256 and ", ptr %em" in text),
        )
        if is_needed
    ]
    return _with(module, machine, *needed) if needed else module


def _with(module: llvm.ModuleRef, machine: llvm.TargetMachine, *changes: Callable[[str], str]) -> llvm.ModuleRef:
    """A module whose text is changed."""
    passed = changed = str(module)
    for change in changes:
        changed = change(changed)
    return module if changed == passed else _verified(changed, machine)


def _verified(text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """A module that LLVM's verifier has no objection to.

    Raises:
        InvalidCode: the text is no valid IR.
    """
    try:
        module = _parsed(text, machine)
        module.verify()
    except RuntimeError as error:
        raise InvalidCode(" ".join(str(error).split()), text) from error
    return module


def _parsed(text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """A module with the machine's data layout, which passes need as well as the code generator does.

    LLVM's default layout aligns 64-bit integers to 4 bytes. Coroutine frames that a pass lays out so are smaller than
    those of the code generator, and the end of one frame is the beginning of the next thread's.
    """
    module = llvm.parse_assembly(text if "RtLibUseGOT" in text else f"{text}\n{_LIBRARY_BY_TABLE}")
    module.data_layout = str(machine.target_data)
    return module


def _is_valid(module: llvm.ModuleRef) -> bool:
    """Whether passes left a module that code can be generated for."""
    try:
        module.verify()
    except RuntimeError:
        return False
    return True


@in_llvm()
def compile_support(text: str) -> bytes:
    """Native object code of functions that need no optimisation."""
    machine = target_machine(1)  # At level 0, functions that preserve all registers lose their result.
    module = _parsed(text, machine)
    if "@llvm.coro" in text:
        _run_pipeline(module, machine)
    return _object_code(module, machine)


def compiled(text: str) -> bytes:
    """Object code of a module of support, out of memory, the disk or the compiler."""
    return _compiled(text, made_for())


@cache
def _compiled(text: str, made_for: str) -> bytes:
    name = key(text, made_for)
    found = load(name)
    if found is None:
        found = compile_support(text)
        save(name, found)
    return found


class _Engine(llvm.ExecutionEngine):  # type: ignore[misc] # llvmlite has no types.
    """An engine that stays where Python ends: modules that its destructor needs may be gone by then."""

    def __del__(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        if not ends():
            with contextlib.suppress(ProcessEndsError), in_llvm():
                self.close()


@in_llvm()
def loaded(codes: Sequence[bytes]) -> llvm.ExecutionEngine:
    """Object code in memory, linked together."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine(0), use_lmm=True)
    for code in codes:
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    engine.__class__ = _Engine
    return engine


class Native:
    """Loaded object code, linked together; keeps LLVM's memory alive."""

    @in_llvm()
    def __init__(self, codes: Sequence[bytes], guarded: bool = False) -> None:
        self.engine = loaded(codes)
        address = self.engine.get_function_address(abi.ENTRY_WITH_ZEROS) or self.engine.get_function_address("run")
        self.address = address
        """Of the function below."""
        self.run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)
        self.guard: Callable[[int], None] | None = None
        """Tells code that checks itself where the state of a launch is (``sanitizer.py``)."""
        if guarded:
            self.guard = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.engine.get_function_address("guard_set"))
