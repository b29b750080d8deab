"""The compiler's description of a kernel in ``.ze_info``, as typed records.

``.ze_info`` is the YAML (in images: JSON) that Intel's compiler puts beside a kernel for the driver: its execution
environment, the values at the offsets of its payload, and the surfaces of its arguments. The linker checks the tree
against the records. The simulator works with the records: no other module reads the tree.
"""

from __future__ import annotations

from typing import NamedTuple

from visakit.diagnostics import Diagnostic, FormatError, Span
from visakit.objects.yaml_lines import Lines, Tree

MAXIMUM_PAYLOAD, MAXIMUM_MEMORY, MAXIMUM_INDEX = 1 << 20, 1 << 28, 1 << 16
"""Exclusive bound of payload offsets and sizes, sizes of memories, and numbers of arguments and surfaces."""
MAXIMUM_GROUP = 1 << 32
SIMD_SIZES = (1, 2, 4, 8, 16, 32)
_LOCAL_IDS = ("local_id", "packed_local_ids")
_ADDRESSING = ("repeat", "mirror", "clamp_edge", "clamp_border")


class ZeInfoError(ValueError):
    """Something in ze_info makes no sense; ``tree`` and ``key`` say where."""

    def __init__(self, message: str, tree: Tree, key: str) -> None:
        super().__init__(message)
        self.tree, self.key = tree, key


class InlineSampler(NamedTuple):
    """A sampler that is part of the program, in the simulator's words."""

    normalized: bool
    addressing: str
    filter: str


class PayloadField(NamedTuple):
    """One value of the payload, in ze_info's words.

    Attributes:
        kind: ``arg_type``: the kind of the value, such as ``arg_bypointer`` or ``local_size``.
        offset, size: in bytes, counted after the local ids.
        argument: index of the argument that it belongs to; -1 for none.
        address_space: of pointers, ``global``, ``constant``, ``local``, ``image`` or ``sampler``.
        address_mode: of pointers, ``stateless``, ``stateful``, ``bindless`` or ``slm``.
        source_offset: of a piece of an argument by value, its first byte in the argument.
        sampler: number of the sampler; None where the value has to do with none.
        image_type: of images, such as ``image_2d_array``.
        slm_alignment: of a pointer to local memory.
        access: of images and buffers, ``readonly``, ``writeonly`` or ``readwrite``.
        surface: of the program's data, the number of the surface that leads to them; None where none does.
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
    access: str
    surface: int | None = None

    @classmethod
    def of(cls, tree: Tree) -> PayloadField:
        """One entry of ``payload_arguments``."""
        return cls(
            kind=str(tree.get("arg_type")),
            offset=_number(tree, "offset", limit=MAXIMUM_PAYLOAD),
            size=_number(tree, "size", limit=MAXIMUM_PAYLOAD),
            argument=_number(tree, "arg_index", -1, least=-1, limit=MAXIMUM_INDEX),
            address_space=str(tree.get("addrspace") or ""),
            address_mode=str(tree.get("addrmode") or ""),
            source_offset=_number(tree, "source_offset", limit=MAXIMUM_PAYLOAD),
            sampler=_number(tree, "sampler_index", limit=MAXIMUM_INDEX) if "sampler_index" in tree else None,
            image_type=str(tree.get("image_type", "")),
            slm_alignment=_number(tree, "slm_alignment", limit=MAXIMUM_PAYLOAD) or 16,
            access=str(tree.get("access_type") or ""),
            surface=_number(tree, "bti_value", limit=MAXIMUM_INDEX) if "bti_value" in tree else None,
        )

    @property
    def is_local_pointer(self) -> bool:
        """Whether it is the offset of an argument in local memory."""
        return self.kind == "arg_bypointer" and self.address_mode == "slm"

    @property
    def is_handle(self) -> bool:
        """Whether it is the handle of an image, a sampler, or the surface of a buffer or of the program's own data."""
        if self.kind in ("const_base", "global_base"):
            return self.address_mode == "bindless"
        if self.kind != "arg_bypointer" or self.address_mode == "slm":
            return False
        return self.address_space in ("image", "sampler") or self.address_mode == "bindless"


class KernelInfo(NamedTuple):
    """The description of one kernel in ze_info.

    Attributes:
        required_size: the only work-group size that the kernel runs with; None where any will do.
        simd_size: lanes of a thread; those of the text where ze_info does not say it (``says_simd``).
        slm_size: local memory in bytes; 0 if it is missing.
        inline_size: bytes of the payload that the hardware puts in a separate register.
        scratch_size, private_size: bytes for each hardware thread, for spills and for private arrays.
        spill_size: bytes that the compiler's own code spills, of each hardware thread.
        per_thread_size: bytes of a thread's part before the payload.
        local_id_offset, local_id_size: of the local ids among them.
        surfaces: number in the binding table and index of the argument.
        samplers: states that are part of the program, by number.
    """

    required_size: tuple[int, ...] | None
    simd_size: int
    says_simd: bool
    slm_size: int
    inline_size: int
    scratch_size: int
    private_size: int
    spill_size: int
    per_thread_size: int
    local_id_offset: int
    local_id_size: int
    payload: tuple[PayloadField, ...]
    surfaces: tuple[tuple[int, int], ...]
    samplers: dict[int, InlineSampler]

    def __repr__(self) -> str:
        return f"<KernelInfo: SIMD{self.simd_size}, {len(self.payload)} payload values, {len(self.surfaces)} surfaces>"


def kernel_info(tree: Tree, name: str, simd_size: int) -> KernelInfo | None:
    """The description of a kernel in ze_info; None without one.

    Args:
        simd_size: lanes of the kernel where ze_info does not say how many.

    Raises:
        ZeInfoError: a value has another type or range than its key.
    """
    info = _named(tree.get("kernels"), name)
    return None if info is None else _kernel(info, simd_size)


def check(tree: Tree, lines: Lines, name: str) -> None:
    """All descriptions of kernels in ze_info; ``lines`` are those of its text, ``name`` is its name.

    Raises:
        FormatError: C021, with the line, a value has another type or range than its key.
    """
    subject = ""
    try:
        for key in ("kernels", "kernels_misc_info"):
            names: set[str] = set()
            for info in _mappings(tree, key):
                subject = f" of kernel '{info.get('name')!s:.80}'"
                if str(info.get("name")) in names:
                    raise ZeInfoError("there is another entry of this name", info, "name")
                names.add(str(info.get("name")))
                if key == "kernels":
                    _kernel(info, SIMD_SIZES[-1])
                else:
                    _arguments(info)
            subject = ""
    except ZeInfoError as error:
        line = lines.of(error.tree, error.key)
        raise FormatError(Diagnostic("C021", f"ze_info{subject}: {error}", Span(name, line))) from None


def _kernel(info: Tree, simd_size: int) -> KernelInfo:
    environment = _mapping(info, "execution_env")
    simd = _number(environment, "simd_size") or simd_size
    if simd not in SIMD_SIZES:
        message = f"'simd_size' is {simd}, one of {', '.join(map(str, SIMD_SIZES))} was expected"
        raise ZeInfoError(message, environment, "simd_size")
    scratch, private = _per_thread_memory(info, simd)
    own = [
        (
            str(e.get("arg_type")),
            _number(e, "offset", limit=MAXIMUM_PAYLOAD),
            _number(e, "size", limit=MAXIMUM_PAYLOAD),
        )
        for e in _mappings(info, "per_thread_payload_arguments")
    ]
    ids = [(offset, size) for kind, offset, size in own if kind in _LOCAL_IDS]
    return KernelInfo(
        required_size=_required_size(environment),
        simd_size=simd,
        says_simd=bool(_number(environment, "simd_size")),
        slm_size=_number(environment, "slm_size", limit=MAXIMUM_MEMORY),
        inline_size=_number(environment, "inline_data_payload_size", limit=MAXIMUM_PAYLOAD),
        scratch_size=scratch,
        private_size=private,
        spill_size=_number(environment, "spill_size"),
        per_thread_size=max([sum(size for _, _, size in own), *(offset + size for _, offset, size in own)]),
        local_id_offset=min((offset for offset, _ in ids), default=0),
        local_id_size=sum(size for _, size in ids),
        payload=tuple(PayloadField.of(e) for e in _mappings(info, "payload_arguments")),
        surfaces=tuple(
            (_number(b, "bti_value", limit=MAXIMUM_INDEX), _number(b, "arg_index", limit=MAXIMUM_INDEX))
            for b in _mappings(info, "binding_table_indices")
        ),
        samplers={
            _number(s, "sampler_index", limit=MAXIMUM_INDEX): _sampler_state(s)
            for s in _mappings(info, "inline_samplers")
        },
    )


def declared_arguments(tree: Tree, name: str) -> tuple[dict[int, str], dict[int, str]]:
    """Names and types of the arguments of a kernel by index, as its source declares them; a type is ``float4;16``.

    Raises:
        ZeInfoError: a value has another type or range than its key.
    """
    return _arguments(_named(tree.get("kernels_misc_info"), name) or {})


def _arguments(info: Tree) -> tuple[dict[int, str], dict[int, str]]:
    described = {
        _number(a, "index", limit=MAXIMUM_INDEX): a for a in _mappings(info, "args_info") if a.get("index") is not None
    }
    names = {index: str(a["name"]) for index, a in described.items() if a.get("name") is not None}
    return names, {index: str(a.get("type_name")) for index, a in described.items()}


def _number(tree: Tree, key: str, default: int = 0, *, least: int = 0, limit: int = 1 << 32) -> int:
    """A number below a limit; the default if it is missing.

    Raises:
        ZeInfoError: it is no such number.
    """
    value = tree.get(key)
    if value is None:
        return default
    if isinstance(value, str) and value.isdecimal() and len(value) < 20:
        value = int(value)
    if not isinstance(value, int) or not least <= value < limit:
        message = f"'{key}' is {value!r:.80}, a number from {least} to {limit - 1} was expected"
        raise ZeInfoError(message, tree, key)
    return value


def _mapping(tree: Tree, key: str) -> Tree:
    """A mapping, empty if it is missing."""
    value = tree.get(key) or {}
    if not isinstance(value, dict):
        raise ZeInfoError(f"'{key}' is {value!r:.80}, a mapping was expected", tree, key)
    return value


def _mappings(tree: Tree, key: str) -> list[Tree]:
    """A list of mappings, empty if it is missing."""
    value = tree.get(key) or []
    if not isinstance(value, list) or not all(isinstance(e, dict) for e in value):
        raise ZeInfoError(f"'{key}' is {value!r:.60}, a list of mappings was expected", tree, key)
    return value


def _required_size(environment: Tree) -> tuple[int, ...] | None:
    """The only work-group size that the kernel runs with; None where any will do."""
    required = environment.get("required_work_group_size")
    if not required:
        return None
    if (
        not isinstance(required, list)
        or len(required) > 3
        or not all(isinstance(n, int) and 0 <= n < MAXIMUM_GROUP for n in required)
    ):
        message = f"'required_work_group_size' is {required!r:.80}, three numbers were expected"
        raise ZeInfoError(message, environment, "required_work_group_size")
    return tuple(required)


def _named(entries: object, name: str) -> Tree | None:
    """The mapping of a list that is about a kernel."""
    named = entries if isinstance(entries, list) else []
    return next((e for e in named if isinstance(e, dict) and e.get("name") == name), None)


def _per_thread_memory(info: Tree, simd: int) -> tuple[int, int]:
    """Bytes of scratch and of private memory of a thread. The size of a SIMT buffer is that of one lane."""
    scratch = private = 0
    for buffer in _mappings(info, "per_thread_memory_buffers"):
        size = _number(buffer, "size", limit=MAXIMUM_MEMORY)
        if buffer.get("type") == "global" and buffer.get("usage") == "private_space":
            private = max(private, size * (simd if buffer.get("is_simt_thread") else 1))
        else:
            scratch = max(scratch, size)
    return scratch, private


def _sampler_state(tree: Tree) -> InlineSampler:
    """A sampler that is part of the program."""
    addressing = str(tree.get("addrmode"))
    return InlineSampler(
        bool(tree.get("normalized")),
        addressing if addressing in _ADDRESSING else "none",
        str(tree.get("filtermode", "nearest")),
    )
