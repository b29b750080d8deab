"""What the compiler says of a kernel in ``.ze_info``, as typed records.

``.ze_info`` is the YAML (in images: JSON) that Intel's compiler puts beside a kernel for the driver: its execution
environment, which values it wants at which offsets of its payload, and which argument is which surface. In the
simulator this is the only module that looks into the tree.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from visa.image import ZeInfo
from vsim.memory import SamplerState

Tree = ZeInfo
"""A mapping of ze_info as YAML or JSON give it: what a key holds is known only when it is read, which is once, here."""

_ADDRESSING = ("repeat", "mirror", "clamp_edge", "clamp_border")


class PayloadField(NamedTuple):
    """One value of the payload, in ze_info's words.

    Attributes:
        kind: ``arg_type``: what the value is, such as ``arg_bypointer`` or ``local_size``.
        offset, size: in bytes, behind the local ids.
        argument: index of the argument that it belongs to; -1 for none.
        address_space: of pointers, ``global``, ``constant``, ``local``, ``image`` or ``sampler``.
        address_mode: of pointers, ``stateless``, ``stateful``, ``bindless`` or ``slm``.
        source_offset: of a piece of an argument by value, its first byte in the argument.
        sampler: number of the sampler; None where the value has to do with none.
        image_type: of images, such as ``image_2d_array``.
        slm_alignment: of a pointer to local memory.
    """

    kind: str
    offset: int
    size: int
    argument: int
    address_space: str
    address_mode: str
    source_offset: int
    sampler: int | None
    image_type: str
    slm_alignment: int

    @classmethod
    def of(cls, tree: Tree) -> PayloadField:
        """One entry of ``payload_arguments``."""
        return cls(
            kind=str(tree.get("arg_type")),
            offset=int(tree.get("offset", 0)),
            size=int(tree.get("size", 0)),
            argument=int(tree.get("arg_index", -1)),
            address_space=str(tree.get("addrspace") or ""),
            address_mode=str(tree.get("addrmode") or ""),
            source_offset=int(tree.get("source_offset", 0)),
            sampler=int(tree["sampler_index"]) if "sampler_index" in tree else None,
            image_type=str(tree.get("image_type", "")),
            slm_alignment=int(tree.get("slm_alignment") or 16),
        )

    @property
    def is_local_pointer(self) -> bool:
        """Whether it is the offset of an argument in local memory."""
        return self.kind == "arg_bypointer" and self.address_mode == "slm"

    @property
    def is_handle(self) -> bool:
        """Whether it is the handle of an argument that is an image or sampler."""
        return (
            self.kind == "arg_bypointer" and self.address_mode != "slm" and self.address_space in ("image", "sampler")
        )


class KernelInfo(NamedTuple):
    """What ze_info says of one kernel.

    Attributes:
        required_size: the only work-group size that the kernel runs with; None where any will do.
        simd_size, slm_size: 0 where nothing is said; local memory in bytes.
        inline_size: bytes of the payload that the hardware puts in a register of their own.
        scratch_size, private_size: bytes that each hardware thread has of its own, for spills and for private arrays.
        per_thread_size: bytes of the local ids of a thread.
        surfaces: number in the binding table and index of the argument.
        samplers: states that are part of the program, by number.
    """

    required_size: tuple[int, ...] | None
    simd_size: int
    slm_size: int
    inline_size: int
    scratch_size: int
    private_size: int
    per_thread_size: int
    payload: tuple[PayloadField, ...]
    surfaces: tuple[tuple[int, int], ...]
    samplers: dict[int, SamplerState]


def kernel_info(tree: Tree, name: str, simd_size: int) -> KernelInfo | None:
    """What ze_info says of a kernel; None if it does not speak of it.

    Args:
        simd_size: lanes of the kernel where ze_info does not say how many.
    """
    info = _named(tree.get("kernels"), name)
    if info is None:
        return None
    environment: Tree = info.get("execution_env") or {}
    required = environment.get("required_work_group_size")
    simd = int(environment.get("simd_size") or simd_size)
    scratch, private = _per_thread_memory(info, simd)
    return KernelInfo(
        required_size=tuple(int(n) for n in required) if required else None,
        simd_size=simd,
        slm_size=int(environment.get("slm_size") or 0),
        inline_size=int(environment.get("inline_data_payload_size") or 0),
        scratch_size=scratch,
        private_size=private,
        per_thread_size=sum(int(e.get("size", 0)) for e in info.get("per_thread_payload_arguments") or []),
        payload=tuple(PayloadField.of(e) for e in info.get("payload_arguments") or []),
        surfaces=tuple((int(b["bti_value"]), int(b["arg_index"])) for b in info.get("binding_table_indices") or []),
        samplers={int(s["sampler_index"]): _sampler_state(s) for s in info.get("inline_samplers") or []},
    )


def declared_arguments(tree: Tree, name: str) -> tuple[dict[int, str], dict[int, str]]:
    """Names and types of the arguments of a kernel by index, as its source declares them; a type is ``float4;16``."""
    info = _named(tree.get("kernels_misc_info"), name) or {}
    described = {int(a["index"]): a for a in info.get("args_info") or [] if a.get("index") is not None}
    names = {index: str(a.get("name")) for index, a in described.items()}
    return names, {index: str(a.get("type_name")) for index, a in described.items()}


def _named(entries: Iterable[object] | None, name: str) -> Tree | None:
    """The mapping of a list that is about a kernel."""
    return next((e for e in entries or () if isinstance(e, dict) and e.get("name") == name), None)


def _per_thread_memory(info: Tree, simd: int) -> tuple[int, int]:
    """Bytes of scratch and of private memory of a thread. The size of a SIMT buffer is that of one lane."""
    scratch = private = 0
    for buffer in info.get("per_thread_memory_buffers") or []:
        size = int(buffer.get("size", 0))
        if buffer.get("type") == "global" and buffer.get("usage") == "private_space":
            private = max(private, size * (simd if buffer.get("is_simt_thread") else 1))
        else:
            scratch = max(scratch, size)
    return scratch, private


def _sampler_state(tree: Tree) -> SamplerState:
    """A sampler that is part of the program."""
    addressing = str(tree.get("addrmode"))
    return SamplerState(
        bool(tree.get("normalized")),
        addressing if addressing in _ADDRESSING else "none",
        str(tree.get("filtermode", "nearest")),
    )
