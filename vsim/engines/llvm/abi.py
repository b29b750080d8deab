"""The structures that compiled code and Python share: offsets in bytes, all fields 8 bytes wide."""

from __future__ import annotations

from typing import NamedTuple

# One for each launch.
NEXT_GROUP, GROUP_COUNT, SLOT_TABLE, SLOT_COUNT, SURFACES, FAULT, STOP = range(0, 56, 8)
COUNTS, VARIANTS, SLM_SIZE, SCRATCH_SIZE, LOCAL_ITEMS, PARTIAL, OFFSETS = 56, 80, 88, 96, 104, 112, 136
LOCAL_SIZE, CHUNK, ROW_THREADS, GROUP_ORDER, SHARE, MOST = 160, 184, 192, 200, 208, 216
CLOCKS, MESSAGES = 296, 304
"""In launches whose observers want a timeline or counts of messages, their blocks, else 0."""
FINDINGS = 312
"""In launches that checks watch the block of their findings, else 0."""
PRIVATE, RACE = 320, 328
"""Address of the private memory of all threads, 0 where the kernel has none; in launches that the race check watches
its block, else 0.
"""
ARGUMENTS, ARGUMENTS_COUNT = 336, 344
"""In launches whose accesses outside arguments are looked for, the table of arguments by slot, and its entries."""
FAULT_INFO = 352
CONTEXT_SIZE = 576
FAULT_SOURCES, LARGEST_STRIDE = 6, 511
"""Registers of the faulting instruction that a record has room for, and how far the lanes of one may be apart."""


def stride_bit(source: int) -> int:
    """Where the distance of the lanes of a source begins among the bits that say which sources are given."""
    return 8 + 9 * source


class FaultRecord(NamedTuple):
    """What went wrong, in the context's order: what, who, and of which memory."""

    kind: int
    function: int
    instruction: int
    lane: int
    """Of an access the first lane."""
    step: int
    """Distance of consecutive lanes' addresses; 0 if it is not constant."""
    bytes: int
    """Of each lane."""
    address: int
    """Of the first lane."""
    number: int
    size: int
    """Number and size of the memory."""
    given: int
    """Which sources of the instruction have their values in the next fields, a bit for each, and the distances of their
    lanes; 0 where the value is that of the faulting lane.
    """
    source0: int
    source1: int
    source2: int
    source3: int
    source4: int
    source5: int
    """The bits of each source, in the order in which the semantics ask for them."""
    thread: int
    group_x: int
    group_y: int
    group_z: int

    def sources(self) -> list[int | None]:
        """The bits of each source of the instruction in the lane; None for an unknown one."""
        first = FAULT_FIELDS.index("source0")
        values = self[first : first + FAULT_SOURCES]
        strides = [self.given >> stride_bit(n) & LARGEST_STRIDE for n in range(FAULT_SOURCES)]
        found = [v + s * self.lane & ((1 << 64) - 1) for v, s in zip(values, strides, strict=True)]
        return [v if self.given >> n & 1 else None for n, v in enumerate(found)]


FAULT_FIELDS = FaultRecord._fields
FLAT, SURFACE, LOCAL, SCRATCH, CALL, BARRIER, DEPTH, REGISTER, FRAMES, IMAGE, CALL_SIZES, SHAPE = range(12)
"""Kinds of faults."""
FLAT_WRITTEN, SURFACE_WRITTEN = 12, 13
"""Those of writes in a launch with read-only arrays."""
ACCESSES = frozenset({FLAT, SURFACE, LOCAL, SCRATCH, FLAT_WRITTEN, SURFACE_WRITTEN})
"""Those of accesses to memory."""
OF_ONE_LANE = ACCESSES | {CALL, CALL_SIZES}
"""Those that name the lane whose registers they show."""
REFUSED, UNDEFINED = 14, 15
"""An instruction that cannot be executed; a call of a function that is not there."""
BINDLESS_NUMBER = 1 << 32
"""What is added to the handle of a bindless surface in a record, so that it is not the number of another."""
STOPPED = 16
"""No fault: a thread that leaves because the run is to stop; its place goes to the worker."""
LENGTH = 17
"""A payload that asks for more registers than its message has."""

# One for each worker thread.
(
    WORKER_SLM,
    WORKER_SCRATCH,
    WORKER_SLOT,
    WORKER_ARENA,
    WORKER_HANDLES,
    WORKER_ARENA_SIZE,
    WORKER_FRAME_SIZE,
    WORKER_FRAME_ALIGN,
) = range(0, 64, 8)
MAXIMUM_THREADS = 1024
"""Threads of a work-group."""
HANDLE_SITES = 8 * MAXIMUM_THREADS
"""Behind the handles of coroutines: the instruction at which each thread waits, by the thread's number."""
WORKER_GROUP = 64
"""The work-group that the worker runs now: its three ids."""
WORKER_RECORDS, WORKER_THREAD, WORKER_NEXT, WORKER_NAMED, WORKER_LIVE, WORKER_COUNT = range(88, 136, 8)
"""For cooperative scheduling: the threads' records, the record of the running thread, the structure of the next group
in flight, its named barriers, the number of threads that have not ended, and the number of threads.
"""
WORKER_MEETING, WORKER_SITES = 184, 192
"""In launches that checks watch: how often the group's threads have come to its barrier, and for each of them where the
last time.
"""
WORKER_COUNTERS = WORKER_SITES + 8 * MAXIMUM_THREADS
"""In launches whose observers want to know what ran, the worker's counters (``host/coverage.py``)."""
WORKER_SIZE = WORKER_COUNTERS + 8

# Thread pools (thread_pool.ll): a pool, each of its members, and a job. Semaphores have 64 bytes.
POOL_LEFT, POOL_JOBS, POOL_CPUS, POOL_HOME, POOL_ENDED, POOL_SIZE = 0, 8, 16, 24, 64, 128
"""How many jobs have not ended, and where they are; how many processors there are, and on which of them the run began
(-1: several members share one, or there is one member); the semaphore raised when the last job ends.
"""
MEMBER_POOL, MEMBER_JOB, MEMBER_CPU, MEMBER_BEGIN, MEMBER_STATE, MEMBER_SIZE = 0, 8, 16, 64, 128, 192
"""The member's pool, the offset of its job in a run, its processor, the semaphore that starts it; whether it sleeps
(0), looks for a job (1) or has one (2).
"""
JOB_CODE, JOB_CONTEXT, JOB_WORKER, JOB_SIZE = range(0, 32, 8)
"""A function and its arguments: the launch's context and the worker's structure."""

# Where threads take turns, one for each of them.
(
    RECORD_CURRENT,
    RECORD_STATE,
    RECORD_SITE,
    RECORD_ARRIVALS,
    RECORD_DEPARTURES,
    RECORD_NUMBER,
    RECORD_ENDED,
    RECORD_ENDED_SIZE,
) = range(0, 64, 8)
"""The function that is to run on, why it stopped and where (number of the function, instruction), how often the thread
has come to the group's barrier and gone on behind it, its number, and the frame of a function that has ended.
"""
RECORD_WAITS = 64
"""How often the thread has waited for each named barrier."""
NAMED_BARRIERS = 32
RECORD_SIZE = RECORD_WAITS + 8 * NAMED_BARRIERS
GO_ON, TURN, GROUP_BARRIER, FIRST_NAMED = range(4)
"""The reason why a function suspended: its thread continues in another function, yields, waits at the group's barrier,
or at the named barrier with a number.
"""
NAMED_OPENINGS = 8 * NAMED_BARRIERS
"""Named barriers: how many have arrived at each, then how often each has opened."""
NAMED_SIZE = 2 * NAMED_OPENINGS

ARENA_END, ARENA_FREE, ARENA_FIRST = 8, 64, 1024
"""Memory for frames where threads take turns begins with where it is unused, where it ends, and for each power of two a
list of frames that are free.
"""
WORKER_STOPPED, WORKER_STOPPED_FUNCTION, WORKER_STOPPED_THREAD = 136, 144, 152
"""Where the thread was that the worker ran when the run was stopped: the number of an instruction and 1; 0 for none."""
WORKER_EPOCH = 160
"""In launches that checks watch: how often the group's threads have gone on behind a barrier, where they run in phases.
"""

WORKER_SLM_UNDEFINED, WORKER_SCRATCH_UNDEFINED = 168, 176
"""In launches that are checked for undefined values the shadows of local memory and of scratch."""

ARENA_ALIGN = 512
"""Alignment of the memory for frames of suspended threads: that of the largest value, 64 lanes of 8 bytes.

LLVM relies on it when it addresses a frame.
"""

# One for each combination of partial dimensions of a group.
VARIANT_PAYLOAD, VARIANT_IDS, VARIANT_ITEMS, VARIANT_THREADS, VARIANT_ORDER = range(0, 40, 8)
VARIANT_SIZE = 40

SLOT_ENTRY = 24
"""Slot table: base address, host pointer, size. Behind it another one, for writes, without read-only buffers."""
SURFACE_ENTRY, SURFACE_SIZES = 32, 16
"""Surface table: host pointer, size; of images width, height and depth (4 bytes each) from the second number on.

Behind it stands another one for writes, of which only sizes count, in launches with read-only arrays."""
SURFACE_LIMIT = 256
WRITTEN_SURFACES = 2 * SURFACE_LIMIT * SURFACE_ENTRY
"""Where the table for writes begins."""

UNDEFINED_SURFACES = 2 * WRITTEN_SURFACES
"""Where a third one begins, which is used in launches that are checked for undefined values: shadows, then origins."""
SURFACE_ADDRESSES = UNDEFINED_SURFACES + 16
"""In its entries there is room for the addresses of surfaces, in launches whose accesses outside arguments are looked
for.
"""
SURFACE_COUNTS = UNDEFINED_SURFACES + 24
"""And for the counts of surfaces, in launches whose messages are counted."""
SURFACES_SIZE = 3 * WRITTEN_SURFACES
UNDEFINED_SLOTS, ORIGIN_SLOTS = 1 << 16, 2 << 16
"""In such launches the slots so far behind those of buffers have their shadows, and which instruction left undefined
bytes.
"""

# With VISAKIT_GUARD: number and place of ranges (start, bytes, writable), the launch's context, where forbidden
# accesses go; and of the first one whether there was one, where, bytes, whether it writes, and whose it is.
(
    GUARD_COUNT,
    GUARD_RANGES,
    GUARD_CONTEXT,
    GUARD_SINK,
    GUARD_FLAG,
    GUARD_ADDRESS,
    GUARD_SIZE,
    GUARD_WRITE,
    GUARD_SITE,
) = range(0, 72, 8)
GUARD_WORDS = 9
GUARD_RANGE = 24

# The findings of a launch that checks watch: how many records there are, what their places are masked with, at how many
# there are to be no more, and how many instances have none; then a hash table of records.
FINDINGS_COUNT, FINDINGS_MASK, FINDINGS_LIMIT, FINDINGS_LEFT_OUT = range(0, 32, 8)
FINDINGS_RECORDS = 64
(
    FINDING_CODE,
    FINDING_SITE,
    FINDING_GROUP,
    FINDING_ORDER,
    FINDING_COUNT,
    FINDING_THREAD,
    FINDING_LANE,
    FINDING_EPOCH,
    FINDING_ADDRESS,
    FINDING_OTHER,
) = range(0, 80, 8)
"""The code's number (0: there is no record), the instruction (number of the function times 2**32, and its own), the
group's linear number, thread, lane and epoch in one number that grows with each of them in this order, how often it
was seen; then of the first instance thread, lane, epoch and two numbers, whose meaning depends on the code.
"""
FINDING_SIZE = 80

# The race check: where the summaries of accesses begin, and the marks of suspicious units; which bits of the
# host's addresses choose among them. Then how ids are made (race.py), and a list: of the units that were marked, or of
# records, with how many there were and how many it has room for; whether parts of units were suspicious; and the
# window: where the global memory begins whose words are kept, and its bytes, and where the words of other memory go;
# and how often each thread has ordered its work-items.
(
    RACE_WORDS,
    RACE_MARKS,
    RACE_MASK,
    RACE_FIRST_ID,
    RACE_SPAN,
    RACE_SHIFT,
    RACE_EPOCHS,
    RACE_FLAGS,
    RACE_HALF,
    RACE_ALL_ID,
    RACE_LIST,
    RACE_LIST_SIZE,
    RACE_COUNT,
    RACE_SEQUENCE,
    RACE_ATOMICS,
    RACE_UNIT_BITS,
    RACE_NARROW,
    RACE_WINDOW,
    RACE_WINDOW_SIZE,
    RACE_SINK,
    RACE_STEPS,
) = range(0, 168, 8)
RACE_SIZE = 192
RECORD_BYTES = 68
"""Of a record of :data:`vsim.checks.accesses.RECORD`."""

# How often values were seen under keys (observers/values.py): a table, how many records of it are in use, and the
# function of the host that empties it.
VALUES_TABLE, VALUES_COUNT, VALUES_EMPTY = 0, 8, 16
VALUES_TABLE_BITS = 15
VALUES_TABLE_SHIFT, VALUES_TABLE_MASK = 64 - VALUES_TABLE_BITS, (1 << VALUES_TABLE_BITS) - 1
VALUES_TABLE_LIMIT = 1 << VALUES_TABLE_BITS - 1
VALUES_RECORD = 24
"""Of the table: key, which is not 0, value, count."""

# Counts of messages (observers/messages.py). The block: uses of cache lines so far; where the counts of instructions
# and memories are, and those of memories by slot; intervals of the message that is under way, how many it has, and
# whether it is counted; whose memory it is that threads have for themselves; strides by address of the instruction's
# counts, and addresses of atomics by this address plus 1; turns of banks, and addresses of lanes.
(
    MESSAGES_TIME,
    MESSAGES_SITES,
    MESSAGES_MEMORIES,
    MESSAGES_SLOTS,
    MESSAGES_INTERVALS,
    MESSAGES_COLLECTED,
    MESSAGES_SEEN,
    MESSAGES_WHO,
) = range(0, 64, 8)
MESSAGES_SLOT = 16
"""By slot of the address space: where the counts of its memory are, and the address where the memory begins."""
MESSAGES_VALUES, MESSAGES_BANKS, MESSAGES_ADDRESSES, MESSAGES_SIZE = 64, 128, 256, 768
MESSAGE_INTERVALS = 1 << 16
"""Room for those of one message: where its lanes begin, and where they end, in places: numbers of a memory and, in the
low bits, the offset there.
"""
MESSAGE_OFFSET_BITS = 40
MESSAGE_OWNER = 28
"""From which bit on the owner of local or scratch memory is in the place of an atomic."""
MESSAGE_OFFSET, MESSAGE_LINE = (1 << MESSAGE_OFFSET_BITS) - 1, (1 << MESSAGE_OFFSET_BITS - 6) - 1
MESSAGE_KIND, MESSAGE_COLLECTS, MESSAGE_VARIES, MESSAGE_LANES, MESSAGE_WIDTH = 16, 1 << 18, 1 << 19, 24, 32
"""How lanes access memory: bytes of each; from a bit on 0 for a read, 1 for a write, 2 for an atomic; whether other
accesses of the message follow or went before; whether the stride is not always the same; from a bit on how many lanes
there are; from a bit on how many bits their addresses have.
"""
MESSAGE_ATOMIC, MESSAGE_AS_ROW = 2 << MESSAGE_KIND, MESSAGE_VARIES | 64 << MESSAGE_WIDTH
(
    SITE_MESSAGES,
    SITE_READ,
    SITE_WRITTEN,
    SITE_LINES,
    SITE_USED,
    SITE_UNALIGNED,
    SITE_PASSES,
    SITE_FEWEST,
    SITE_ATOMICS,
    SITE_SERIAL,
    SITE_ALONE,
    SITE_IRREGULAR,
    SITE_ROWS,
    SITE_ROW,
) = range(0, 112, 8)
"""Counts of an instruction, as :class:`vsim.observe.messages.MessageCounts` has them; messages with one lane, with
lanes at irregular distances, and at the one distance that is proved, and this.
"""
SITE_SIZE = 128
(MEMORY_KIND, MEMORY_BASE, MEMORY_LAST) = range(0, 24, 8)
(MEMORY_READ, MEMORY_WRITTEN, MEMORY_ATOMICS, MEMORY_LINES, MEMORY_REUSE) = range(24, 64, 8)
"""Counts of a memory: its kind, its first place, by line when it was used last; bytes and lines, and by a power of two
how often a line was used again after so many uses of lines.
"""
MEMORY_SIZE = MEMORY_REUSE + 8 * 64
MEMORY_LINED, MEMORY_BANKED, MEMORY_OTHER = range(3)
"""Kinds: with cache lines, with banks, with neither."""
LOCAL_MEMORY, SCRATCH_MEMORY = 0, 1
"""The first memories: local memory, and scratch."""

# Clocks of threads (observers/clocks.py). The block: how many threads have begun, and the end of the longest one;
# records of the threads that live, and of the uses of each group's barrier; waits by instruction; a list of parts of
# threads' time, how many it has, and the function of the host that empties it; the table of stacks of calls (key: the
# caller's stack and the callee; number), its mask, the caller's stack of each, a key without a number, and the
# function of the host that numbers it; how often blocks ran by stack plus 1.
(
    CLOCKS_BEGUN,
    CLOCKS_LONGEST,
    CLOCKS_RECORDS,
    CLOCKS_RINGS,
    CLOCKS_WAITS,
    CLOCKS_LIST,
    CLOCKS_USED,
    CLOCKS_EMPTY,
    CLOCKS_STACKS,
    CLOCKS_STACKS_MASK,
    CLOCKS_CALLERS,
    CLOCKS_WANTED,
    CLOCKS_MAKES,
    CLOCKS_VALUES,
) = range(0, 112, 8)
CLOCKS_SIZE, CLOCKS_ROOM, CLOCKS_SHOWN = 128, 4096, 1024
CLOCK_TIME, CLOCK_SIGNALS, CLOCK_WAITS, CLOCK_SHOWN, CLOCK_GROUP, CLOCK_THREAD, CLOCK_STACK = range(0, 56, 8)
"""Of a thread: instructions executed and waited, arrivals at and departures from its group's barrier, whether the
timeline shows it, who it is, and the number of the stack of its calls.
"""
CLOCK_ENDS, CLOCK_RETURN, CLOCK_CALL = -1, -2, -3
"""In the list, in place of the number of a barrier's instruction: a thread ends, returns, or calls (minus the number of
the stack).
"""
CLOCK_SIZE, CLOCK_RECORD = 64, 40
CLOCK_USES_MASK = 7
"""No thread is so many uses of the barrier ahead of another one."""
CLOCK_RING = 16 * (CLOCK_USES_MASK + 1)
WAIT_THREADS, WAIT_WAITED, WAIT_LONGEST = 0, 8, 16
WAIT_SIZE = 32
"""Of a barrier: threads that left it, the instructions that they waited, together and at most."""

# Registers that all functions of a thread share, behind its number, how deep calls are nested, where on the stack its
# kernel is, and (where checks watch the launch) which of its lanes are work-items, which block of private memory is its
# stack, from 1 on, and its id in the race check.
SHARED_THREAD, SHARED_DEPTH, SHARED_STACK, SHARED_ITEMS, SHARED_BLOCK, SHARED_RACE = range(0, 48, 8)
SHARED_REGISTERS = 64
ENTRY_WITH_ZEROS = "run_with_zeros"
"""The entry of code that has one besides ``run`` (``support/driver.py``)."""
