"""What can be known of a whole module before it runs (docs/ctm.md, "What is diagnosed")."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import visakit.ctm.table as table
from visakit.ctm.builder import StatementError
from visakit.ctm.flow import FlowEncoder
from visakit.ctm.program import ShaderModule


class LineError(NamedTuple):
    """Something wrong with the statement of a line."""

    line: int
    error: StatementError


def check_module(module: ShaderModule, flow: FlowEncoder, lines: int) -> Iterator[LineError]:
    """Everything that is wrong with a module whose text, of so many lines, has been read."""
    for call in flow.calls:
        if call.conditional and module.plain.get(call.name):
            message = f"'{call.name}' is plain: it keeps no branch counters, so it cannot be called conditionally"
            yield LineError(call.line, StatementError("T015", message, "leave 'plain' out"))
    yield from _flow_instructions(module)
    if module.end >= 0:
        last = module.slots[module.end]
        kind, fields = table.decode(last.words)
        if kind != table.OUT or not fields.get("sem_wait"):
            message = "the last instruction must be an output that waits for the texture semaphore"
            yield LineError(last.line, StatementError("T017", message))
    elif not module.exported:
        hint = "end the program with 'end', or make functions of it"
        yield LineError(lines, StatementError("T022", "there is no 'end'", hint))


def _flow_instructions(module: ShaderModule) -> Iterator[LineError]:
    joins = set(module.labels.values())
    writes_result = table.BY_NAME[table.ALU]["result_wmask"]
    fresh = False
    for number, slot in enumerate(module.slots):
        # Who comes from elsewhere may bring a result along.
        fresh = fresh or (number > 0 and number in joins)
        kind = slot.words[0] & 3
        if kind == table.FC:
            fields = table.decode(slot.words)[1]
            if fields.get("rgb_pred") == table.PRED_PER_CHANNEL:
                message = "a flow-control instruction cannot select a predicate per channel"
                yield LineError(slot.line, StatementError("T038", message))
            if table.depends(fields.get("func", 0), "alu") and not fresh:
                message = "the ALU result is read, but none was written since the last flow-control instruction"
                yield LineError(slot.line, StatementError("T031", message, "test again, or keep it in a predicate"))
            # Only other jumps reach the instructions after a jump of all processors.
            fresh = fields.get("func", 0) == table.FUNC_ALWAYS and fields.get("op", 0) == table.JUMP
        elif kind != table.TEX:
            fresh = fresh or bool(writes_result.of(slot.words))
