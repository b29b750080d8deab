"""The check of calls: what callees must leave as it was, and the stack, which stays in its block of private memory."""

from __future__ import annotations

from functools import partial

from visakit.language import types
from vsim.checks.kept_registers import KEPT, MISPLACED_STACK, STACK_POINTER, KeptRegister, moves_stack
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.lower.observers.findings import FindingExits, Observed
from vsim.engines.llvm.lower.state import FunctionState
from vsim.engines.llvm.lower.storage import VARIABLE
from vsim.observe.observer import Event, Frame, Observer


class CallChecks(Observer):
    """What is looked at around the calls of one function."""

    def __init__(self, state: FunctionState, findings: FindingExits) -> None:
        self.state, self.findings = state, findings
        self.kept: list[str] = []
        """What registers held before the call that is lowered."""
        self.stack_size = state.dispatch.private_size if state.shares else 0

    def call(self, event: Event, frame: Frame) -> None:
        """The shared registers are stored."""
        self.kept = [self._load(register) for register in KEPT]

    def returned(self, frame: Frame, rows: str) -> None:
        """Report registers that have changed."""
        b = self.state.b
        for register, old in zip(KEPT, self.kept, strict=True):
            new = self._load(register)
            lanes = register.size // 4
            unequal = b.assign(f"icmp ne <{lanes} x i32> {old}, {new}")
            bits = b.assign(f"bitcast <{lanes} x i1> {unequal} to i{lanes}")
            differs = b.assign(f"icmp ne i{lanes} {bits}, 0")
            self.findings.report_if(differs, register.code, partial(Observed, address=str(register.number)))

    def _load(self, register: KeptRegister) -> str:
        pointer = self.state.storage.pointer_to_shared(register.number)
        return self.state.b.assign(f"load <{register.size // 4} x i32>, ptr {pointer}, align 4")

    def after(self, event: Event) -> None:
        """If the instruction has moved the stack pointer, report one that leaves the thread's block."""
        state, b = self.state, self.state.b
        if not (self.stack_size and moves_stack(state.function, state.dispatch.grf_size, event.instruction)):
            return
        value = state.registers.read((VARIABLE, STACK_POINTER), 0, 1, types.UQ)
        base = b.field("%ctx", cx.PRIVATE)
        offset = b.assign(f"sub i64 {value.text}, {base}")
        place = b.offset("%shared", cx.SHARED_BLOCK)
        known = b.assign(f"load i64, ptr {place}, align 8")
        fresh = b.assign(f"icmp eq i64 {known}, 0")
        first = b.assign(f"add i64 {b.assign(f'udiv i64 {offset}, {self.stack_size}')}, 1")
        block = b.assign(f"select i1 {fresh}, i64 {first}, i64 {known}")
        b.emit(f"store i64 {block}, ptr {place}, align 8")
        start = b.assign(f"mul i64 {b.assign(f'sub i64 {block}, 1')}, {self.stack_size}")
        used = b.assign(f"sub i64 {offset}, {start}")
        outside = b.assign(f"icmp ugt i64 {used}, {self.stack_size}")
        self.findings.report_if(outside, MISPLACED_STACK, lambda: Observed(address=str(STACK_POINTER), other=used))
