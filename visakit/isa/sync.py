"""Synchronisation: barriers, fences, waits."""

from visakit.isa.record import Flow, Pipe, form
from visakit.isa.suffixes import FenceFlags
from visakit.language.platforms import since

_CATEGORY = "sync"
_BARRIERS = "barrier_id:b"
_FENCE = "B:flush.5+local.1+l1.1+sw.1"

FORMS = (
    form(0x59, "barrier", "", "Wait until all threads of the work-group arrive.", category=_CATEGORY, flow=Flow.BARRIER),
    form(0x5A, "sampler_cache_flush", "", "Flush the sampler's cache.", category=_CATEGORY, pipe=Pipe.SEND),
    form(0x5B, "wait", "s:mask", "Wait for a notification.", category=_CATEGORY, pipe=Pipe.CONTROL, types="ub", beyond="mask:ud"),
    form(0x5C, "fence_global", _FENCE, "Order global memory accesses.", category=_CATEGORY, pipe=Pipe.SEND, text="", suffixes=(FenceFlags(),), fixed={"local": 0, "sw": 0}),
    form(0x5C, "fence_local", _FENCE, "Order local memory accesses.", category=_CATEGORY, pipe=Pipe.SEND, text="", suffixes=(FenceFlags(),), fixed={"local": 1, "sw": 0}),
    form(0x5C, "fence_sw", _FENCE, "Keep the compiler from moving memory accesses.", category=_CATEGORY, pipe=Pipe.NOTHING, text="", suffixes=(FenceFlags(),),
         fixed={"local": 0, "sw": 1}),
    form(0x5F, "yield", "", "Let another hardware thread run.", category=_CATEGORY, pipe=Pipe.CONTROL),
    form(0x60, "nbarrier.wait", "B:mode s:barrier_id s:=barrier_id", "Wait at a named barrier.", category=_CATEGORY, flow=Flow.NAMED_BARRIER, text="barrier_id",
         platforms=since("pvc"), types="ub", beyond=_BARRIERS, limits={"barrier_id": (0, 31)}, fixed={"mode": 0}),
    form(0x60, "nbarrier.signal", "B:mode s:barrier_id s:thread_count", "Arrive at a named barrier.", category=_CATEGORY, flow=Flow.NAMED_BARRIER,
         platforms=since("pvc"), types="ub", beyond=f"{_BARRIERS} thread_count:b", limits={"barrier_id": (0, 31)}, fixed={"mode": 1}),
    form(0x60, "nbarrier.signal", "B:mode s:barrier_id s:role s:producers s:consumers", "Arrive at a named barrier as producer, consumer or both.",
         category=_CATEGORY, flow=Flow.NAMED_BARRIER, semantics="roles", platforms=since("pvc"), types="ub", operands="role:uw", beyond=f"{_BARRIERS} role:ub,b,w producers:b consumers:b",
         limits={"barrier_id": (0, 31), "role": (0, 2)}, fixed={"mode": 2}),
    form(0x7C, "sbarrier.wait", "B:mode", "Second half of a split barrier: wait.", category=_CATEGORY, flow=Flow.BARRIER, text="", fixed={"mode": 0}),
    form(0x7C, "sbarrier.signal", "B:mode", "First half of a split barrier: arrive.", category=_CATEGORY, flow=Flow.SIGNAL, text="", fixed={"mode": 1}),
)  # fmt: skip
