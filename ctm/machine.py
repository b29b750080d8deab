"""A group of processors with one program counter, step by step.

docs/ctm.md describes the machine; the points that no public text settles are options (D1 to D8).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from ctm import table
from ctm.alu import UnitArithmetic, UnitOperands, against_zero, finished, flushed
from ctm.program import ShaderModule
from visa.diagnostics import Diagnostic, SimulationError, Span
from vsim.arrays import Array


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


@dataclass
class LoopFrame:
    """A frame of the loop stack."""

    op: int
    integer: int
    count: int
    al: int
    entered: Array
    broken: Array
    continued: Array


@dataclass
class Step:
    """One executed instruction, as the trace shows it: state afterwards."""

    pc: int
    line: int
    words: tuple[int, ...]
    jumped: bool | None
    active: list[bool]
    counts: list[int]
    loops: list[tuple[int, int]]


class ProcessorGroup:
    """A group of processors.

    Args:
        module: the program.
        inputs: arrays of (height, width, 4) by number.
        code_offset: where the program lies in the machine's slots (US_CODE_OFFSET).
        trace: receives every step; None if nobody looks.

    Attributes:
        temps: registers, (128, 4, N) of float32.
        outputs: (4, 4, N) of float32.
        predicates: (4, N).
        result: the ALU result of each processor, if ``result_valid``.
        counts: the branch counters; -1 for those that are active.
        dead: those that a texkill has stopped.
    """

    def __init__(
        self,
        module: ShaderModule,
        options: Options | None = None,
        inputs: Mapping[int, Array] | None = None,
        code_offset: int = 0,
        trace: list[Step] | None = None,
    ) -> None:
        self.module, self.options, self.inputs = module, options or Options(), inputs or {}
        self.code_offset, self.trace = code_offset, trace
        n = self.options.group
        self.temps: Array = np.zeros((table.TEMPORARIES, 4, n), np.float32)
        self.outputs: Array = np.zeros((table.OUTPUTS, 4, n), np.float32)
        self.predicates: Array = np.zeros((4, n), bool)
        self.result: Array = np.zeros(n, bool)
        self.result_valid = False
        self.counts: Array = np.full(n, -1)
        self.dead: Array = np.zeros(n, bool)
        self.frames: list[LoopFrame] = []
        self.addresses: list[int] = []
        self.pc = 0
        self.last = 0
        self.steps = 0
        self.constants: Array = np.zeros((table.FLOAT_CONSTANTS, 4), np.float32)
        for index, value in self.module.floats.items():
            self.constants[index] = value
        self.decoded = [_decoded(s.words) for s in self.module.slots]

    # -- running -------------------------------------------------------------------------------------------

    def run(self) -> None:
        """From slot 0 to the end of the program.

        Raises:
            SimulationError: the program did something undefined, or did not end.
        """
        end = self.module.end if self.module.end >= 0 else len(self.module.slots) - 1
        while True:
            at = self.pc
            self.step()
            if at == end:
                return

    def step(self) -> None:
        """One instruction."""
        if not 0 <= self.pc < len(self.decoded):
            self.fault("T030", f"the program counter is {self.pc}, the program has {len(self.decoded)} slots")
        self.steps += 1
        if self.steps > self.options.max_steps:
            self.fault("T040", f"the program did not end within {self.options.max_steps} instructions")
        at, (kind, f) = self.pc, self.decoded[self.pc]
        self.last = at
        jumped = None
        with np.errstate(all="ignore"):
            if kind == table.FC:
                jumped = self.flow(f)
            else:
                (self.texture if kind == table.TEX else self.arithmetic)(f)
                self.pc += 1
        if self.trace is not None:
            loops = [(frame.count, frame.al) for frame in self.frames]
            slot, active, counts = self.module.slots[at], self.active().tolist(), self.counts.tolist()
            self.trace.append(Step(at, slot.line, slot.words, jumped, active, counts, loops))

    def fault(self, code: str, message: str) -> NoReturn:
        """Stop at this instruction."""
        slot = self.module.slots[self.pc if 0 <= self.pc < len(self.module.slots) else self.last]
        raise SimulationError(
            Diagnostic(code, f"{message} (slot {self.pc})", Span(self.module.file or self.module.name, slot.line))
        )

    def disabled(self) -> Array:
        """Processors that a BREAK or CONTINUE has switched off."""
        off = np.zeros(self.options.group, bool)
        for frame in self.frames:
            off |= frame.broken | frame.continued
        return off

    def active(self) -> Array:
        """Processors that take part."""
        return (self.counts < 0) & ~self.disabled() & ~self.dead

    # -- flow control --------------------------------------------------------------------------------------

    def flow(self, f: table.Values) -> bool:
        """One FC instruction; whether the group jumped."""
        op, pop = f.get("op", 0), f.get("pop", 0)
        self._check_mode(f)
        free = ~self.disabled()
        if f.get("b_else"):
            was_active, was_zero = free & (self.counts < 0), free & (self.counts == 0)
            self.counts[was_active], self.counts[was_zero] = 0, -1
        frame = self._frame(op, f) if op not in (table.JUMP, table.LOOP, table.REP) else None
        if frame and op in (table.ENDLOOP, table.ENDREP):
            frame.continued[:] = False
        active, wish = self.active(), self._wish(f)
        wishers = active & wish
        voters = self._voters(op, frame, active)
        jump = bool(wishers.any()) if f.get("any") else bool((wishers | ~voters).all())
        jump = self._loop(op, f, frame, jump, wishers)
        self._branch(f.get("b_op1" if jump else "b_op0", 0), pop, active, wish, jump)
        self.result_valid = False
        if not jump:
            self.pc += 1
            return False
        self.pc = self._target(f)
        return True

    def _voters(self, op: int, frame: LoopFrame | None, active: Array) -> Array:
        """Who must wish to jump where all must (D1)."""
        if frame is None or op in (table.ENDLOOP, table.ENDREP) or self.options.break_rule != "frame":
            return active
        # Who has gone on to the loop's next turn still counts in it: a BREAK of all others must not take it along.
        voters = frame.entered & ~frame.broken & ~self.dead
        return voters & ~frame.continued if op == table.CONTINUE else voters

    def _target(self, f: table.Values) -> int:
        """Where the group jumps; calls and returns use the address stack."""
        if f.get("a_op") == table.A_POP:
            if not self.addresses:
                self.fault("T032", "a return with an empty address stack")
            return self.addresses.pop()
        if f.get("a_op") == table.A_PUSH:
            if len(self.addresses) >= self.options.address_depth:
                self.fault("T033", f"calls are nested more than {self.options.address_depth} deep")
            self.addresses.append(self.pc + 1)
        # The program counter counts from the program's first slot, wherever that lies.
        return f.get("jump", 0) - (self.code_offset if f.get("jump_global") else 0)

    def _check_mode(self, f: table.Values) -> None:
        """Partial mode has neither loops nor subroutines (D4)."""
        if not self.module.full and not self.options.allow_partial and (f.get("op", 0) != table.JUMP or f.get("a_op")):
            self.fault("T034", "partial mode has no loops and no subroutines")

    def _frame(self, op: int, f: table.Values) -> LoopFrame:
        if not self.frames:
            self.fault("T035", f"{table.FC_OPS[op]} with an empty loop stack")
        frame = self.frames[-1]
        loop = frame.op == table.LOOP
        if (op in (table.ENDLOOP, table.BREAKLOOP) and not loop) or (op in (table.ENDREP, table.BREAKREP) and loop):
            self.fault("T036", f"{table.FC_OPS[op]} inside a {table.FC_OPS[frame.op]}")
        if op in (table.ENDLOOP, table.ENDREP) and f.get("int", 0) != frame.integer and not self.options.mixed_loops:
            self.fault(
                "T037",
                f"{table.FC_OPS[op]} names i{f.get('int', 0)}, its {table.FC_OPS[frame.op]} named i{frame.integer}",
            )
        return frame

    def _wish(self, f: table.Values) -> Array:
        func = f.get("func", 0)
        if table.depends(func, "alu") and not self.result_valid and not self.options.stale_result:
            self.fault("T031", "the ALU result is read, but none was written since the last flow-control instruction")
        select = f.get("rgb_pred", 0)
        if select == table.PRED_PER_CHANNEL:
            self.fault("T038", "a flow-control instruction cannot select a predicate per channel")
        predicate = (
            self.predicates[select - 2] if select else np.full(self.options.group, self.options.predicate_default)
        )
        if f.get("rgb_pred_inv"):
            predicate = ~predicate
        boolean = int(self.module.booleans.get(f.get("bool", 0), False))
        index = self.result.astype(int) << 2 | predicate.astype(int) << 1 | boolean
        return (func >> index & 1).astype(bool)

    def _loop(self, op: int, f: table.Values, frame: LoopFrame | None, jump: bool, wishers: Array) -> bool:
        """What the loop instructions do to the decision and to the loop stack."""
        n = self.options.group
        if op in (table.LOOP, table.REP):
            count, start, _ = self.module.integers.get(f.get("int", 0), (0, 0, 0))
            if jump or count == 0:
                return True
            if len(self.frames) >= self.options.loop_depth:
                self.fault("T039", f"loops are nested more than {self.options.loop_depth} deep")
            outer = self.frames[-1].al if self.frames else 0
            off = np.zeros(n, bool)
            self.frames.append(
                LoopFrame(
                    op, f.get("int", 0), count, start if op == table.LOOP else outer, self.active(), off, off.copy()
                )
            )
            return False
        if frame is None:
            return jump
        if op in (table.ENDLOOP, table.ENDREP):
            frame.count -= 1
            if frame.count == 0 or not jump:
                self.frames.pop()
                return False
            if op == table.ENDLOOP:
                frame.al += self.module.integers.get(frame.integer, (0, 0, 0))[2]
                if self.options.wrap_al:
                    frame.al &= 255
            return True
        if op == table.CONTINUE:
            if not jump:
                frame.continued |= wishers
        elif jump:
            self.frames.pop()
        else:
            frame.broken |= wishers
        return jump

    def _branch(self, op: int, pop: int, active: Array, wish: Array, jump: bool) -> None:
        free = ~self.disabled()
        inactive = free & (self.counts >= 0)
        if op == table.B_DECR:
            self.counts[inactive] = np.maximum(self.counts[inactive] - pop, -1)
        elif op == table.B_INCR:
            self.counts[inactive] += 1
            self.counts[free & active & (wish != jump)] = 0
            limit = 31 if self.module.full or self.options.allow_partial else 3
            if (self.counts > limit).any():
                self.fault("T041", f"branches are nested more than {limit + 1} deep")

    # -- arithmetic ----------------------------------------------------------------------------------------

    def _address(self, number: int, relative: int, limit: int, what: str) -> int:
        if relative:
            if not self.frames:
                self.fault("T042", "aL is used outside of a loop")
            number += self.frames[-1].al
        if not 0 <= number < limit:
            self.fault("T042", f"{what}{number} does not exist")
        return number

    def _source(self, f: table.Values, unit: str, slot: int) -> Array:
        """All four channels (4, N) of one source address of a unit."""
        at, relative = f.get(f"{unit}_addr{slot}", 0), f.get(f"{unit}_rel{slot}", 0)
        if f.get(f"{unit}_const{slot}"):
            value = self.constants[self._address(at, relative, table.FLOAT_CONSTANTS, "c")]
            return np.repeat(value[:, None], self.options.group, axis=1)
        if at & table.UNUSED_SOURCE:
            return np.full((4, self.options.group), table.inline_value(at & ~table.UNUSED_SOURCE), np.float32)
        found: Array = self.temps[self._address(at, relative, table.TEMPORARIES, "r")]
        return found

    def _sources(self, f: table.Values) -> list[Array]:
        """Sources 0 to 2 and the presubtracted one: colour from the RGB addresses, alpha from the alpha addresses."""
        both = [[self._source(f, unit, slot) for slot in range(3)] for unit in ("rgb", "alpha")]
        for which, unit in enumerate(("rgb", "alpha")):
            s0, s1 = both[which][:2]
            kind = f.get(f"{unit}_srcp", 0)
            both[which].append((1 - 2 * s0, s1 - s0, s1 + s0, 1 - s0)[kind].astype(np.float32))
        return [np.concatenate([c[:3], a[3:]]) for c, a in zip(*both, strict=True)]

    def _operand(self, f: table.Values, sources: list[Array], unit: str, letter: str) -> Array:
        """One operand of a unit: (3, N) or (1, N)."""
        source = sources[f.get(f"{unit}_sel_{letter}", 0)]
        shape = source[0]
        channels = [*source, np.zeros_like(shape), np.full_like(shape, 0.5), np.ones_like(shape)]
        names = [f"{unit}_swiz_{letter}_{c}" for c in "rgb"] if unit == "rgb" else [f"{unit}_swiz_{letter}"]
        value = np.stack([channels[min(f.get(n, 0), 6)] for n in names])
        modifier = f.get(f"{unit}_mod_{letter}", 0)
        value = np.abs(value) if modifier & 2 else value
        return flushed(-value if modifier & 1 else value)

    def arithmetic(self, f: table.Values) -> None:
        """An ALU or OUT instruction: both units."""
        sources = self._sources(f)
        a, b, c = (self._operand(f, sources, "rgb", letter) for letter in "abc")
        p, q, r = (self._operand(f, sources, "alpha", letter)[0] for letter in "abc")
        operation, alpha_operation = self._operation(f, "rgb"), self._operation(f, "alpha")
        arithmetic = UnitArithmetic(sources[0], self.options.legacy_multiply)
        rgb, alpha = arithmetic.both(operation, alpha_operation, UnitOperands(a, b, c), UnitOperands(p, q, r))
        rgb = finished(rgb, f.get("rgb_omod", 0), f.get("rgb_clamp", 0))
        alpha = finished(alpha[None], f.get("alpha_omod", 0), f.get("alpha_clamp", 0))
        self._write(f, np.concatenate([rgb, alpha]))

    def _operation(self, f: table.Values, unit: str) -> table.AluOperation:
        """The operation of a unit."""
        code = f.get(f"{unit}_op", 0)
        operation = table.BY_CODE[unit].get(code)
        if operation is None:
            self.fault("T044", f"operation {code} does not exist")
        return operation

    def _enabled(self, f: table.Values) -> Array:
        """Which processors write which channel (4, N)."""
        n = self.options.group
        enabled = np.zeros((4, n), bool)
        for channel in range(4):
            unit = "alpha" if channel == 3 else "rgb"
            select = f.get(f"{unit}_pred", 0)
            predicate = (
                np.ones(n, bool)
                if not select
                else self.predicates[channel if select == table.PRED_PER_CHANNEL else select - 2]
            )
            enabled[channel] = ~predicate if f.get(f"{unit}_pred_inv") else predicate
        running = np.ones(n, bool) if f.get("write_inactive") else self.active()
        return enabled & running

    def _write(self, f: table.Values, result: Array) -> None:
        enabled = self._enabled(f)
        kind = self.decoded[self.pc][0]
        masks = [f.get("wmask_rgb", 0) >> c & 1 for c in range(3)] + [f.get("wmask_a", 0)]
        outs = [f.get("omask_rgb", 0) >> c & 1 for c in range(3)] + [f.get("omask_a", 0)]
        for channel in range(4):
            unit, on = ("alpha", enabled[3]) if channel == 3 else ("rgb", enabled[channel])
            if masks[channel]:
                at = self._address(f.get(f"{unit}_dst", 0), f.get(f"{unit}_dst_rel", 0), table.TEMPORARIES, "r")
                self.temps[at, channel, on] = result[channel, on]
            if outs[channel]:
                target = f.get(f"{unit}_target", 0)
                if kind == table.OUT:
                    self.outputs[target, channel, on] = result[channel, on]
                else:
                    self.predicates[channel, on] = against_zero(result[channel], target)[on]
        if f.get("result_wmask"):
            running = np.ones(self.options.group, bool) if f.get("write_inactive") else self.active()
            tested = against_zero(result[3 if f.get("result_sel") else 0], f.get("result_op", 0))
            self.result[running] = tested[running]
            self.result_valid = True

    # -- textures ------------------------------------------------------------------------------------------

    def texture(self, f: table.Values) -> None:
        """A fetch, at once: inputs hold one level and are read without filtering."""
        inst = f.get("inst", 0)
        source = self.temps[self._address(f.get("src", 0), f.get("src_rel", 0), table.TEMPORARIES, "r")]
        s, t, r, q = (source[f.get(f"swiz_{c}", 0)] for c in "strq")
        if inst == table.TEX_KILL:
            self.dead |= self.active() & ((s < 0) | (t < 0) | (r < 0) | (q < 0))
            return
        if inst == table.TEX_NOP:
            return
        if inst == table.TEX_PROJ:
            s, t = s / q, t / q
        image = self.inputs.get(f.get("tex_id", 0))
        if image is None:
            self.fault("T043", f"there is no input {f.get('tex_id', 0)}")
        height, width = image.shape[:2]
        if not f.get("unscaled"):
            s, t = s * width, t * height
        x, y = (np.clip(np.nan_to_num(np.floor(v)), 0, size - 1).astype(int) for v, size in ((s, width), (t, height)))
        texel = image[y, x].T
        value = np.stack([texel[f.get(f"swiz_out_{c}", 0)] for c in "rgba"])
        enabled = self._enabled(f)
        masks = [f.get("wmask_rgb", 0) >> c & 1 for c in range(3)] + [f.get("wmask_a", 0)]
        at = self._address(f.get("dst", 0), f.get("dst_rel", 0), table.TEMPORARIES, "r")
        for channel in range(4):
            if masks[channel]:
                self.temps[at, channel, enabled[channel]] = value[channel, enabled[channel]]


@functools.lru_cache(table.SLOTS)
def _decoded(words: tuple[int, ...]) -> tuple[int, table.Values]:
    """Type and fields of an instruction; all groups run the same ones."""
    return table.decode(words)
