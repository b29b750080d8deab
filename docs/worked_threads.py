"""Barriers, fences and hints in pseudo-code, with two threads that exchange values."""

from __future__ import annotations

from worked_records import SIGNED, UNSIGNED, Setting

_BOTH = (
    "A group has two threads of eight lanes. In the second thread `P1` is set: it writes values that the first thread reads. `PLACE` is four times the lane number. "
    "`T8` is the buffer whose memory is shown, {}."
)
_SETUP = """mov (M1_NM, 1) NUMBER(0,0)<1> %thread_x(0,0)<0;1,0>
cmp.eq (M1_NM, 8) P1 NUMBER(0,0)<0;1,0> 1:ud"""
_DECLARATIONS = """.decl D v_type=G type=ud num_elts=8 align=GRF
.decl NUMBER v_type=G type=ud num_elts=1
.decl P1 v_type=P num_elts=8"""


def _exchange(
    meet: str, pseudo: str, meaning: str = "", first: str = "", is_local: bool = True, platform: str = "dg2"
) -> Setting:
    """A thread that writes and one that reads, by local memory or the upper half of a buffer.

    Without the barrier ``meet`` the first thread would read zeros, as its lines come first. ``first`` replaces ``meet``
    in the first thread.
    """
    space = "%slm 0:ud" if is_local else "T8 32:ud"
    return Setting(
        f"(P1) goto (M1, 8) second\n{first or meet}\ngather_scaled.4 (M1, 8) {space} PLACE.0 D.0\n"
        "scatter_scaled.4 (M1, 8) T8 0:ud PLACE.0 D.0\ngoto (M1, 8) over\nsecond:\n"
        f"scatter_scaled.4 (M1, 8) {space} PLACE.0 A.0\n{meet}\nover:",
        pseudo,
        inputs={"A": (UNSIGNED, [11, 22, 33, 44, 55, 66, 77, 88]), "PLACE": (UNSIGNED, range(0, 32, 4))},
        results={},
        meaning=f"{meaning}\n\n{_BOTH.format('`%slm` local memory' if is_local else 'whose upper half both threads access')}".strip(),
        effect="memory[4 * i] = A[i]" if is_local else "memory[4 * i] = memory[4 * i + 32] = A[i]",
        each="for the thread:",
        memory=(UNSIGNED, [0] * (8 if is_local else 16)),
        setup=_SETUP,
        declarations=_DECLARATIONS,
        attributes=(".kernel_attr SLMSize=1",),
        threads=2,
        platform=platform,
    )


_ARRIVES, _WAITS = "count the thread as arrived at the {}", "wait until all threads of the group have arrived at the {}"
_ORDERS = "threads that see later writes or signals of this thread also see its earlier writes to {}"
_NOTHING = "In the simulator every thread sees all writes, so that a fence changes nothing; `--check race` requires it where atomics order threads."
_SAME = "mov (M1, 8) D(0,0)<1> A(0,0)<1;1,0>\n{}\nadd (M1, 8) D(0,0)<1> D(0,0)<1;1,0> A(0,0)<1;1,0>"


def _unchanged(line: str, pseudo: str, meaning: str) -> Setting:
    """A line between two computations, without an effect on them."""
    return Setting(
        _SAME.format(line),
        pseudo,
        inputs={"A": (SIGNED, [1, 2, 3, -4, 25, 100, -7, 0])},
        results={"D": (SIGNED, 8)},
        meaning=meaning,
        effect="D[i] = 2 * A[i]",
        each="for the thread:",
    )


_LIFETIME = Setting(
    "lifetime.start E\nadd (M1, 8) E(0,0)<1> A(0,0)<1;1,0> 1:d\nmul (M1, 8) D(0,0)<1> E(0,0)<1;1,0> 10:d\nlifetime.end E",
    "",
    inputs={"A": (SIGNED, [1, 2, 3, -4, 25, 100, -7, 0])},
    results={"D": (SIGNED, 8)},
    meaning="For allocators of registers: a use outside has no meaning. Here variables share no registers.",
    effect="D[i] = 10 * (A[i] + 1)",
    each="for the thread:",
    declarations=".decl E v_type=G type=d num_elts=8 align=GRF",
)
THREADS: dict[str, Setting] = {
    "barrier": _exchange("barrier", f"{_ARRIVES}\n{_WAITS}".format("barrier", "barrier")),
    "sbarrier.signal": _exchange(
        "sbarrier.signal\nsbarrier.wait",
        _ARRIVES.format("barrier"),
        "The thread continues at once; `sbarrier.wait` waits. Between the two a thread may do independent work.",
    ),
    "sbarrier.wait": _exchange("sbarrier.signal\nsbarrier.wait", _WAITS.format("barrier")),
    "nbarrier.signal": _exchange(
        "nbarrier.signal 3:ub 2:ub\nnbarrier.wait 3:ub",
        "arrived[barrier_id] += 1\nif arrived[barrier_id] == thread_count:\n    the barrier opens, and arrived[barrier_id] = 0",
        "The thread continues at once; `nbarrier.wait` waits.",
        platform="pvc",
    ),
    "roles": _exchange(
        "nbarrier.signal 3:ub 1:uw 1:ub 1:ub",
        "if role in (0, 1):\n    produced[barrier_id] += 1\nif role in (0, 2):\n    consumed[barrier_id] += 1\n"
        "if produced[barrier_id] == producers and consumed[barrier_id] == consumers:\n"
        "    the barrier opens, and both are 0 again",
        "Role 1 is a producer, 2 a consumer, 0 both. The thread continues at once; `nbarrier.wait` waits.",
        "nbarrier.signal 3:ub 2:uw 1:ub 1:ub\nnbarrier.wait 3:ub",
        platform="pvc",
    ),
    "nbarrier.wait": _exchange(
        "nbarrier.signal 3:ub 2:ub\nnbarrier.wait 3:ub",
        "wait until the barrier with this number opens",
        platform="pvc",
    ),
    "fence_local": _exchange("fence_local\nbarrier", _ORDERS.format("local memory"), _NOTHING),
    "fence_global": _exchange("fence_global\nbarrier", _ORDERS.format("global memory"), _NOTHING, is_local=False),
    "lsc_fence": _exchange(
        "lsc_fence.ugm.none.group\nbarrier",
        _ORDERS.format("this memory"),
        f"`.ugm` is global memory, `.slm` local memory; `.none` flushes no cache; `.group` is the scope: the threads that must see the writes. {_NOTHING}",
        is_local=False,
    ),
    "fence_sw": _unchanged(
        "fence_sw",
        "the compiler moves no access to memory across it; the hardware does nothing",
        "It has no effect on values.",
    ),
    "wait": _unchanged(
        "wait 0x0:ud",
        "wait for the end of the threads on which this one depends, except threads in the mask",
        "Here no thread depends on the end of another one, so that the thread continues at once; values do not change.",
    ),
    "yield": _unchanged(
        "yield", "let another thread run first, if the hardware likes to", "It has no effect on values."
    ),
    "sampler_cache_flush": _unchanged(
        "sampler_cache_flush",
        "invalidate the cache of the samplers",
        "It has no effect on values: there are no caches here.",
    ),
    "lifetime.start": _LIFETIME._replace(
        pseudo="the variable is used from here on; before, other variables may share its registers"
    ),
    "lifetime.end": _LIFETIME._replace(
        pseudo="the variable is not used from here on; other variables may share its registers"
    ),
}
