"""In which order work-groups and threads run, and which kernels need one order to give the same results every time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from visa.diagnostics import Diagnostic, LaunchError
from visa.isa.enums import ATOMICS, LSC_SFIDS
from visa.isa.record import Form
from visa.program import SLM, Instruction
from vsim.refused import RAW_MESSAGES

KINDS = ("round-robin", "random:SEED", "reverse")
_LSC_ATOMIC = "lsc_atomic_"
_COMMUTES = ("add", "sub", "inc", "dec", "min", "max", "minsint", "maxsint", "and", "or", "xor")
_LSC_COMMUTES = ("iadd", "isub", "iinc", "idec", "umin", "umax", "smin", "smax", "and", "or", "xor")
_OP_NAMES = {v: k for k, v in ATOMICS.items()}


@dataclass(frozen=True)
class Schedule:
    """An order of groups and threads other than the ascending one.

    ``reverse`` and ``random`` run one thread after the other, from barrier to barrier, in that order; ``round-robin`` runs one
    instruction of every thread in turn (in batches of up to 2,048 threads), which the reference engine does.
    """

    kind: str
    seed: int = 0

    def order(self, count: int) -> npt.NDArray[np.int64]:
        """The numbers from 0 to ``count`` - 1 in the order in which they run."""
        if self.kind == "random":
            return np.random.default_rng((self.seed, count)).permutation(count)
        ascending = np.arange(count)
        return ascending[::-1].copy() if self.kind == "reverse" else ascending


def parse_schedule(text: str) -> Schedule:
    """A schedule as the command line names it.

    Raises:
        LaunchError: there is no such schedule.
    """
    kind, colon, seed = text.partition(":")
    if text in ("round-robin", "reverse"):
        return Schedule(text)
    if kind == "random" and colon and seed.isdigit():
        return Schedule(kind, int(seed))
    raise LaunchError(Diagnostic("S002", f"there is no schedule '{text}'", None, f"schedules are {', '.join(KINDS)}"))


def may_be_atomic(form: Form) -> bool:
    """Whether instructions of this form can be atomic."""
    return "atomic" in form.mnemonic or form.semantics in RAW_MESSAGES


def is_local(instruction: Instruction) -> bool:
    """Whether a message goes to local memory."""
    return instruction.args.get("surface") == SLM or instruction.args.get("sfid") == LSC_SFIDS["slm"]


def depends_on_order(instructions: Iterable[Instruction], grf_size: int) -> bool:
    """Whether global atomics give results that depend on which thread comes first: old values that are used, exchanges, sums of floats."""
    return any(may_be_atomic(i.form) and _depends(i, grf_size) for i in instructions)


def _depends(instruction: Instruction, grf_size: int) -> bool:
    if instruction.form.semantics in RAW_MESSAGES:
        from vsim.semantics.messages import NoTwin, twin

        try:
            found = twin(instruction, grf_size)
        except NoTwin:
            return False
        return found is not None and may_be_atomic(found.form) and _depends(found, grf_size)
    args, name = instruction.args, instruction.form.mnemonic
    if is_local(instruction):
        return False
    if args["dst"].var:
        return True
    return name.removeprefix(_LSC_ATOMIC) not in _LSC_COMMUTES if name.startswith(_LSC_ATOMIC) else _OP_NAMES.get(args["op"]) not in _COMMUTES
