"""What messages to memory did in a launch, by instruction and by memory: bytes, cache lines, strides, banks, atomics.

A *message* is one execution of an instruction by one hardware thread; all accesses of its lanes belong to it. Cache
lines have 64 bytes. Local memory has 16 banks of 4 bytes, as Intel's guide to optimisation for oneAPI describes it;
other widths of banks would give other conflicts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from operator import attrgetter

from vsim.launch.bound_launch import BoundLaunch
from vsim.memory.images import SurfaceImage
from vsim.memory.memory import Buffer

LINE_BYTES = 64
"""Of a cache line."""
LINES_BEHIND = 64
"""More than loads of blocks reach beyond the end of their memory."""
BANKS, BANK_BYTES = 16, 4
GLOBAL, LOCAL, SCRATCH, IMAGE = "global", "local", "scratch", "image"
IRREGULAR, ONE_LANE = "irregular", "one lane"


@dataclass
class MessageCounts:
    """What the messages of one instruction did.

    Attributes:
        messages: executions by threads with active lanes.
        read, written: bytes that lanes read and wrote; an atomic does both.
        lines: cache lines that messages transferred.
        used: bytes of these lines that lanes accessed, each once.
        unaligned: messages whose bytes follow each other, and that touch one line more than aligned ones would.
        strides: messages by the bytes from each lane to the next, where these are the same for all lanes.
        passes, fewest_passes: turns of the banks of local memory that messages took, and the fewest possible.
        atomics: atomic operations of lanes.
        serial: turns of atomics, where lanes of a message at one address wait for each other.
        hottest: the most atomic operations at one address in a launch.
    """

    messages: int = 0
    read: int = 0
    written: int = 0
    lines: int = 0
    used: int = 0
    unaligned: int = 0
    strides: Counter[str] = field(default_factory=Counter)
    passes: int = 0
    fewest_passes: int = 0
    atomics: int = 0
    serial: int = 0
    hottest: int = 0

    def add(self, other: MessageCounts) -> None:
        """Add the counts of other launches."""
        hottest = max(self.hottest, other.hottest)
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.hottest = hottest


@dataclass
class BufferCounts:
    """What launches did to a buffer, an image, local or scratch memory.

    Attributes:
        kind: ``global``, ``image``, ``local`` or ``scratch``.
        size: in bytes; 0 of local and scratch memory.
        lines: cache lines transferred.
        footprint: bytes of the different cache lines of a launch, of the largest one.
        reuse: how often a line was used again, by the line accesses to all memory since, rounded up to a power of two.
    """

    name: str
    kind: str
    size: int
    read: int = 0
    written: int = 0
    atomics: int = 0
    lines: int = 0
    footprint: int = 0
    reuse: Counter[int] = field(default_factory=Counter)

    def add(self, other: BufferCounts) -> None:
        """Add the counts of other launches."""
        for name in ("read", "written", "atomics", "lines", "reuse"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.footprint, self.size = max(self.footprint, other.footprint), max(self.size, other.size)


def memory_at(launch: BoundLaunch, host: int) -> BufferCounts | None:
    """Counts for the buffer or image of a launch that begins at an address in this process; None for other memory."""
    surfaces = launch.all_surfaces
    known = [*launch.memory.buffers(), *(surface for surface in surfaces if isinstance(surface, Buffer))]
    found = [buffer for buffer in known if buffer.host == host and buffer.size]
    if found:
        largest = max(found, key=attrgetter("room"))
        return BufferCounts(launch.name_of(largest), GLOBAL, largest.room)
    for surface in surfaces:
        if isinstance(surface, SurfaceImage) and surface.host == host:
            return BufferCounts(surface.name, IMAGE, surface.array.nbytes)
    return None


class MemoryTotals:
    """The counts of the memories of a launch by name and kind: several may have one name."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str], BufferCounts] = {}

    def of(self, new: BufferCounts) -> BufferCounts:
        """The counts that those of another memory belong to; its size is added."""
        counts = self.found.setdefault((new.name, new.kind), BufferCounts(new.name, new.kind, 0))
        counts.size += new.size
        return counts
