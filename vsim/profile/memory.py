"""Keeps the counts of messages of a launch, by instruction and by buffer."""

from __future__ import annotations

from visakit.language.program import Function
from vsim.observe.messages import BufferCounts, MessageCounts
from vsim.observe.observer import Observer


class MemoryObserver(Observer):
    """The counts of messages of launches.

    Attributes:
        messages: the counts of each instruction with accesses, by function and number.
        buffers: those of each memory, by name and kind.
    """

    def __init__(self) -> None:
        self.messages: dict[tuple[str, int], MessageCounts] = {}
        self.buffers: dict[tuple[str, str], BufferCounts] = {}

    def sent(self, function: Function, number: int, counts: MessageCounts) -> None:
        self.messages.setdefault((function.name, number), MessageCounts()).add(counts)

    def served(self, counts: BufferCounts) -> None:
        self.buffers.setdefault((counts.name, counts.kind), BufferCounts(counts.name, counts.kind, 0)).add(counts)
