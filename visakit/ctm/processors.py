"""The processors of a launch: their registers, and what ALU, OUT and TEX instructions do with them.

Everything works on a cohort: groups at the same place of the program (``visakit/ctm/cohort.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

import visakit.ctm.table as table
from visakit.ctm.alu import Slots, SourceBank, UnitArithmetic, against_zero
from visakit.ctm.cohort import Cohort
from visakit.ctm.plan import PlannedInstruction, PlannedSource, UnitPlan, planned, written_channels
from visakit.ctm.program import ShaderModule
from visakit.diagnostics import Diagnostic, SimulationError, Span, UsageError
from vsim.launch.arrays import Array, Bools

MAXIMUM_GROUP = 1 << 16
"""Processors of a group; the chips had 16 or 48."""


@dataclass(frozen=True)
class Options:
    """The open points of the machine, with the defaults that docs/ctm.md argues for."""

    group: int = 16
    break_rule: str = "frame"  # D1: who votes on BREAK and CONTINUE; "literal": the active processors alone
    loop_depth: int = 4  # D2
    address_depth: int = 4  # D2
    predicate_default: bool = True  # D3: the predicate of an instruction that selects none
    allow_partial: bool = False  # D4: loops, calls and deep branches where the program asks for partial mode
    wrap_al: bool = False  # D5: aL wraps around in 8 bits instead of being an error
    stale_result: bool = False  # D7: an ALU result may be read after a flow-control instruction has seen it
    legacy_multiply: bool = False  # zero times anything is zero, as a bit of the hardware's configuration had it
    mixed_loops: bool = False  # D8: ENDLOOP may name another integer constant than its LOOP
    max_steps: int = 10_000_000

    def __post_init__(self) -> None:
        """Refuse groups that there cannot be.

        Raises:
            UsageError: a group has no processors or more than 65,536.
        """
        if not 1 <= self.group <= MAXIMUM_GROUP:
            raise UsageError(f"a group has 1 to {MAXIMUM_GROUP} processors, found {self.group}")


class GroupFault(Exception):
    """A group did something undefined; the other groups go on."""

    def __init__(self, group: int, error: SimulationError) -> None:
        self.group, self.error = group, error
        super().__init__(str(error))


class Processors:
    """Groups of processors and the program that they run.

    Args:
        module: the program.
        inputs: arrays of (height, width, 4) by number.
        groups: how many there are; P = groups * options.group processors.

    Attributes:
        temps: registers, (128, 4, P) of float32.
        outputs: (4, 4, P) of float32.
        predicates: (4, P).
        result: the ALU result of each processor, where its group has one.
        counts: the branch counters; -1 for active processors.
        dead: processors that a texkill has stopped.
        disabled: processors that a BREAK or CONTINUE has switched off.
        code: the program's instructions; ``end`` is the slot of its last one.
    """

    def __init__(self, module: ShaderModule, options: Options, inputs: Mapping[int, Array], groups: int) -> None:
        self.module, self.options, self.inputs = module, options, inputs
        n = options.group * groups
        self.temps: Array = np.zeros((table.TEMPORARIES, 4, n), np.float32)
        self.outputs: Array = np.zeros((table.OUTPUTS, 4, n), np.float32)
        self.predicates: Array = np.zeros((4, n), bool)
        self.result: Array = np.zeros(n, bool)
        self.counts: Array = np.full(n, -1)
        self.dead: Array = np.zeros(n, bool)
        self.disabled: Array = np.zeros(n, bool)
        self.constants: Array = np.zeros((table.FLOAT_CONSTANTS, 4), np.float32)
        with np.errstate(all="ignore"):  # Larger numbers are infinite.
            for index, value in module.floats.items():
                self.constants[index] = value
        self.code = [planned(s.words) for s in module.slots]
        self.end = module.end if module.end >= 0 else len(module.slots) - 1

    def error(self, code: str, message: str, pc: int, at: int) -> SimulationError:
        span = Span(self.module.file or self.module.name, self.module.slots[at].line)
        return SimulationError(Diagnostic(code, f"{message} (slot {pc})", span))

    def fault(self, code: str, message: str, cohort: Cohort, at: int = -1, group: int = -1) -> NoReturn:
        """Stop a group, the first one of the cohort if none is named, at its instruction or at that in slot ``at``."""
        error = self.error(code, message, cohort.pc, cohort.pc if at < 0 else at)
        raise GroupFault(int(cohort.groups[0]) if group < 0 else group, error)

    def active(self, cohort: Cohort) -> Bools:
        """Processors of a cohort that take part."""
        here = cohort.here
        found: Bools = (self.counts[here] < 0) & ~self.disabled[here] & ~self.dead[here]
        return found

    # -- arithmetic ----------------------------------------------------------------------------------------

    def _address(self, cohort: Cohort, number: int, relative: int, limit: int, what: str) -> int:
        if relative:
            if not cohort.frames:
                self.fault("T042", "aL is used outside of a loop", cohort)
            number += cohort.frames[-1].al
        if not 0 <= number < limit:
            self.fault("T042", f"{what}{number} does not exist", cohort)
        return number

    def _slots(self, cohort: Cohort, sources: tuple[PlannedSource, ...]) -> Slots:
        """What gives the channels of a unit's source slots."""
        first, second, third = (self._slot(cohort, source) for source in sources)
        return first, second, third

    def _slot(self, cohort: Cohort, source: PlannedSource) -> Callable[[int], Array]:
        if source.kind == "n":
            number = np.full(1, source.value, np.float32)
            return lambda channel: number
        if source.kind == "c":
            constant = self.constants[self._address(cohort, source.number, source.relative, table.FLOAT_CONSTANTS, "c")]
            return lambda channel: constant[channel : channel + 1]
        register = self.temps[self._address(cohort, source.number, source.relative, table.TEMPORARIES, "r")]
        return lambda channel: np.asarray(register[channel][cohort.here])

    def arithmetic(self, cohort: Cohort, instruction: PlannedInstruction) -> None:
        """An ALU or OUT instruction: both units."""
        rgb, alpha = instruction.units
        slots = self._slots(cohort, rgb.sources), self._slots(cohort, alpha.sources)
        for unit in instruction.units:
            if unit.operation is None:
                self.fault("T044", f"operation {unit.code} does not exist", cohort)
        size = self.options.group
        bank = SourceBank(slots, (rgb.presubtract, alpha.presubtract), len(cohort.groups) * size)
        results = UnitArithmetic(rgb, alpha, bank, size, self.options.legacy_multiply).results()
        f = instruction.fields
        running = self._running(cohort, f)
        enabled = self._enabled(cohort, f, running)
        for unit in instruction.units:
            self._write(cohort, instruction.kind, unit, results, enabled)
        if f.get("result_wmask"):
            tested = against_zero(results[3 if f.get("result_sel") else 0], f.get("result_op", 0))
            _store(self.result, cohort, tested, running)
            cohort.result_valid = True

    def _write(
        self, cohort: Cohort, kind: int, unit: UnitPlan, results: Mapping[int, Array], enabled: tuple[Bools, ...]
    ) -> None:
        """The results of a unit to a register, and to an output or the predicates."""
        if unit.registers:
            at = self._address(cohort, unit.destination, unit.destination_relative, table.TEMPORARIES, "r")
            for channel in unit.registers:
                _store(self.temps[at, channel], cohort, results[channel], enabled[channel])
        for channel in unit.outs:
            if kind == table.OUT:
                _store(self.outputs[unit.target, channel], cohort, results[channel], enabled[channel])
            else:
                tested = against_zero(results[channel], unit.target)
                _store(self.predicates[channel], cohort, tested, enabled[channel])

    def _running(self, cohort: Cohort, f: table.Values) -> Bools:
        """Which processors of a cohort write."""
        if f.get("write_inactive"):
            return np.ones(len(cohort.groups) * self.options.group, bool)
        return self.active(cohort)

    def _enabled(self, cohort: Cohort, f: table.Values, running: Bools) -> tuple[Bools, ...]:
        """Which processors of a cohort write which channel."""
        return tuple(self._selected(cohort, f, channel, running) for channel in range(4))

    def _selected(self, cohort: Cohort, f: table.Values, channel: int, running: Bools) -> Bools:
        """Of those running, the ones whose predicate lets them write a channel."""
        unit = "alpha" if channel == 3 else "rgb"
        select, inverted = f.get(f"{unit}_pred", 0), f.get(f"{unit}_pred_inv")
        if not select:
            return running & False if inverted else running
        if select > table.PRED_SELECTS["a"]:
            self.fault("T038", f"predicate selection {select} does not exist", cohort)
        bit = channel if select == table.PRED_PER_CHANNEL else select - 2
        chosen: Bools = self.predicates[bit][cohort.here]
        return running & ~chosen if inverted else running & chosen

    # -- textures ------------------------------------------------------------------------------------------

    def texture(self, cohort: Cohort, f: table.Values) -> None:
        """A fetch, at once: inputs hold one level and are read without filtering."""
        inst, here = f.get("inst", 0), cohort.here
        source = self.temps[self._address(cohort, f.get("src", 0), f.get("src_rel", 0), table.TEMPORARIES, "r")]
        s, t, r, q = (source[f.get(f"swiz_{c}", 0)][here] for c in "strq")
        if inst == table.TEX_KILL:
            self.dead[here] |= self.active(cohort) & ((s < 0) | (t < 0) | (r < 0) | (q < 0))
            return
        if inst == table.TEX_NOP:
            return
        if inst == table.TEX_PROJ:
            s, t = s / q, t / q
        image = self.inputs.get(f.get("tex_id", 0))
        if image is None:
            self.fault("T043", f"there is no input {f.get('tex_id', 0)}", cohort)
        height, width = image.shape[:2]
        if not f.get("unscaled"):
            s, t = s * width, t * height
        x, y = (np.clip(np.nan_to_num(np.floor(v)), 0, size - 1).astype(int) for v, size in ((s, width), (t, height)))
        texel = image[y, x].T
        enabled = self._enabled(cohort, f, self._running(cohort, f))
        at = self._address(cohort, f.get("dst", 0), f.get("dst_rel", 0), table.TEMPORARIES, "r")
        for channel in written_channels(f, "wmask"):
            value = texel[f.get(f"swiz_out_{'rgba'[channel]}", 0)]
            _store(self.temps[at, channel], cohort, value, enabled[channel])


def _store(values: Array, cohort: Cohort, new: Array, where: Bools) -> None:
    """New values of a cohort's processors, where they are enabled."""
    here = cohort.here
    if isinstance(here, slice):
        np.copyto(values[here], new, where=where)
    else:
        values[here[where]] = np.broadcast_to(new, where.shape)[where]
