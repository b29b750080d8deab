"""Binding a launch to a kernel: ze_info, thread payload, surfaces (facts: docs/architecture.md, "Dispatch")."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from visa.diagnostics import Diagnostic, LaunchError, SimulationError, Span, did_you_mean
from visa.image import LinkedImage
from visa.program import FIRST_VARIABLE, Function, Instruction
from vsim.atomics import depends_on_order
from vsim.images import ImageFormat, SurfaceImage, surface_image
from vsim.launch import (
    Argument,
    BufferArgument,
    ImageArgument,
    Launch,
    LocalArgument,
    SamplerArgument,
    ScalarArgument,
    dimensions,
)
from vsim.memory import AddressSpace, Buffer, SamplerState
from vsim.refused import may_be_refused
from vsim.registers import FloatModes, float_modes
from vsim.schedule import Schedule

PRINTF_BYTES = 4 << 20
SAMPLER_HANDLE_SHIFT = 4
"""Handles of bindless samplers are multiples of 16; the compiler sets flags in the low bits."""
URB = 0x10000
"""Number of the surface that stands for the URB."""
IMAGE_HANDLE_STEP = 0x40
"""Handles of bindless images are multiples of the size of a surface state; 0 is none."""
_ONE_GRF_SKIPPED = ("skl", "icllp", "tgllp")
_TRIPLE = struct.Struct("<3I")


@dataclass
class Group:
    """A work-group: its id in three dimensions and its size in work-items (smaller at the rim of the ND-range)."""

    id: tuple[int, int, int]
    size: tuple[int, int, int]


@dataclass
class Dispatch:
    """A launch with everything an engine needs to run it."""

    image: LinkedImage
    kernel: Function
    simd: int
    global_size: tuple[int, int, int]
    local_size: tuple[int, int, int]
    offset: tuple[int, int, int]
    dims: int
    memory: AddressSpace
    payload: bytearray
    patches: list[tuple[int, str]]
    local_id_rows: int
    surfaces: dict[int, Buffer | SurfaceImage] = field(default_factory=dict)
    images: dict[int, SurfaceImage] = field(default_factory=dict)
    samplers: dict[int, SamplerState] = field(default_factory=dict)
    handles: dict[int, int] = field(default_factory=dict)
    """Handles of images and samplers as dwords by payload offset: they depend on nothing but the number of the argument."""
    pointers: frozenset[int] = frozenset()
    """Payload offsets of addresses of buffers, as far as they are known."""
    slm_size: int = 0
    scratch_size: int = 0
    private_size: int = 0
    private: Buffer | None = None
    private_slots: list[int] = field(default_factory=list)
    printf: Buffer | None = None
    by_inputs: bool = False
    schedule: Schedule | None = None
    part: tuple[int, int] | None = None
    """The groups that run: from the first to before the second; None for all."""
    coverage: dict[int, npt.NDArray[np.bool_]] | None = None
    """By number of a function, which of its instructions executed; None where nobody asked."""

    @property
    def grf_size(self) -> int:
        return self.image.grf_size

    @cached_property
    def group_counts(self) -> tuple[int, int, int]:
        x, y, z = (-(-g // n) for g, n in zip(self.global_size, self.local_size, strict=True))
        return x, y, z

    def group(self, index: int) -> Group:
        """The work-group with a linear index, x fastest."""
        counts = self.group_counts
        x, y, z = index % counts[0], index // counts[0] % counts[1], index // (counts[0] * counts[1])
        sizes = [min(n, g - i * n) for n, g, i in zip(self.local_size, self.global_size, (x, y, z), strict=True)]
        return Group((x, y, z), (sizes[0], sizes[1], sizes[2]))

    @cached_property
    def group_count(self) -> int:
        x, y, z = self.group_counts
        return x * y * z

    @cached_property
    def has_barrier(self) -> bool:
        """Whether the kernel itself waits for the other threads of its group."""
        return any(i.desc.mnemonic in ("barrier", "sbarrier.wait") for i in self.kernel.instructions)

    @cached_property
    def needs_order(self) -> bool:
        """Whether the groups must run one after the other so that results are the same every time."""
        return depends_on_order(
            (i for function in self.image.functions_of(self.kernel) for i in function.instructions), self.grf_size
        )

    @cached_property
    def float_modes(self) -> FloatModes:
        """What the kernel and the functions of the image do with %cr0."""
        return float_modes(self.image.functions_of(self.kernel))

    def allocate_private(self, thread_count: int) -> None:
        """Give so many threads private memory, where the kernel asks for it, and say in the payload where it is."""
        if self.private_slots:
            private = self.memory.block("private memory", max(self.private_size, 64) * thread_count)
            private.data[:] = 0
            for at in self.private_slots:
                self.payload[at : at + 8] = private.address.to_bytes(8, "little")

    def profile(self) -> None:
        """Ask the engine to note which instructions execute."""
        self.coverage = {
            n: np.zeros(len(function.instructions), bool) for n, function in enumerate(self.image.module.all_functions)
        }

    @property
    def executed(self) -> list[tuple[Function, int, Instruction]]:
        """Instructions that executed, with function and number; needs :meth:`profile` before the run."""
        marks = self.coverage or {}
        return [
            (function, int(n), function.instructions[n])
            for i, function in enumerate(self.image.module.all_functions)
            if i in marks
            for n in np.flatnonzero(marks[i])
        ]

    def timeout(self, seconds: float) -> SimulationError:
        """The error of a launch that took longer than it may."""
        return SimulationError(
            Diagnostic("S040", f"kernel '{self.kernel.name}' did not end within {seconds:g} seconds")
        )

    def threads_of(self, group: Group) -> int:
        return -(-(group.size[0] * group.size[1] * group.size[2]) // self.simd)

    def payload_of(self, group: Group) -> bytes:
        """The payload with the values that differ between groups."""
        if not self.patches:
            return bytes(self.payload)
        data = bytearray(self.payload)
        for offset, what in self.patches:
            if what == "local_size":
                struct.pack_into("<3I", data, offset, *group.size)
        return bytes(data)


_TRIPLES: dict[str, Callable[[Dispatch], tuple[int, int, int]]] = {
    "global_id_offset": lambda b: b.offset, "enqueued_local_size": lambda b: b.local_size,
    "global_size": lambda b: b.global_size, "group_count": lambda b: b.group_counts,
}  # fmt: skip


@dataclass
class PayloadField:
    """One value in the payload: what it is, its first byte and size, the argument it belongs to, and the compiler's words for it."""

    kind: str
    at: int
    size: int
    index: int
    tree: dict[str, Any]


class KernelSignature:
    """What a kernel wants of every launch; made once for a kernel.

    Raises:
        LaunchError: the image has no such kernel, or the kernel can reach an instruction that is refused.
    """

    def __init__(self, image: LinkedImage, tree: dict[str, Any], wanted: str) -> None:
        self.image = image
        self.kernel = kernel = _find_kernel(image, wanted)
        if any(
            may_be_refused(desc)
            for desc in {i.desc for function in image.functions_of(kernel) for i in function.instructions}
        ):
            from vsim.analysis.reachability import check

            check(image, kernel)
        self.name = name = kernel.name
        self.info: dict[str, Any] | None = next(
            (k for k in tree.get("kernels") or [] if isinstance(k, dict) and k.get("name") == name), None
        )
        misc = next(
            (k for k in tree.get("kernels_misc_info") or [] if isinstance(k, dict) and k.get("name") == name), {}
        )
        described = {int(a["index"]): a for a in misc.get("args_info") or [] if a.get("index") is not None}
        self.argument_names = {index: str(a.get("name")) for index, a in described.items()}
        self.argument_types = {index: str(a.get("type_name")) for index, a in described.items()}
        """As ``float4;16``: type and bytes."""
        info = self.info or {}
        env = info.get("execution_env") or {}
        required = env.get("required_work_group_size")
        self.required = tuple(int(n) for n in required) if required else None
        self.simd = int(env.get("simd_size") or kernel.simd_size)
        self.slm_size = int(env.get("slm_size") or 0) or kernel.integer_attribute("SLMSize") * 1024
        self.scratch_size, self.private_size = kernel.integer_attribute("SpillMemOffset"), 0
        for buffer in info.get("per_thread_memory_buffers") or []:
            size = int(buffer.get("size", 0))
            if buffer.get("type") == "global" and buffer.get("usage") == "private_space":
                self.private_size = max(self.private_size, size * (self.simd if buffer.get("is_simt_thread") else 1))
            else:
                self.scratch_size = max(self.scratch_size, size)
        self.local_id_rows = 0
        self.entries: list[PayloadField] = []
        if self.info is not None:
            self._lay_out(info, int(env.get("inline_data_payload_size") or 0))
        else:
            self.pointers = frozenset(i.offset for i in kernel.inputs if i.size == 8)
            self.payload_size = max([i.offset + i.size for i in kernel.inputs] + [64]) + 64

    def _lay_out(self, info: dict[str, Any], inline: int) -> None:
        """Places of the payload's values: r0, local ids, inline data, the rest."""
        grf = self.image.grf_size
        per_thread = sum(int(e.get("size", 0)) for e in info.get("per_thread_payload_arguments") or [])
        per_thread = -(-per_thread // grf) * grf
        self.local_id_rows = per_thread // (64 if self.simd == 32 and grf == 32 else grf)
        base = grf + per_thread
        if not per_thread and self.image.platform in _ONE_GRF_SKIPPED:
            base += grf
        end = base
        for e in info.get("payload_arguments") or []:
            offset, size = int(e.get("offset", 0)), int(e.get("size", 0))
            at = base + offset if offset < inline else base + -(-inline // grf) * grf + offset - inline
            self.entries.append(PayloadField(str(e.get("arg_type")), at, size, int(e.get("arg_index", -1)), e))
            end = max(end, at + size)
        end = max([end] + [i.offset + i.size for i in self.kernel.inputs])
        self.payload_size = -(-end // 64) * 64 + 64
        self.argument_count = max([e.index for e in self.entries] + list(self.argument_names), default=-1) + 1
        self.pointers = frozenset(
            e.at
            for e in self.entries
            if e.kind == "buffer_address" or e.tree.get("addrspace") in ("global", "constant")
        )
        self.surfaces = [(int(b["bti_value"]), int(b["arg_index"])) for b in info.get("binding_table_indices") or []]

    def describe(self, index: int) -> str:
        """An argument as messages name it."""
        name = self.argument_names.get(index)
        return f"argument {index} ('{name}')" if name else f"argument {index}"

    def sampler_of(self, index: int) -> int | None:
        """The sampler that an argument is."""
        return next(
            (int(e.tree["sampler_index"]) for e in self.entries if e.index == index and "sampler_index" in e.tree), None
        )


def _find_kernel(image: LinkedImage, wanted: str) -> Function:
    kernels = {k.name: k for k in image.module.kernels}
    if not wanted and len(kernels) == 1:
        return next(iter(kernels.values()))
    if wanted in kernels:
        return kernels[wanted]
    hint = did_you_mean(wanted, kernels) or f"kernels are {', '.join(kernels) or '(none)'}"
    raise LaunchError(Diagnostic("S011", f"there is no kernel '{wanted}' in the image", Span(image.file, 0), hint))


def _sampler_state(argument: SamplerArgument) -> SamplerState:
    return SamplerState(argument.normalized, argument.addressing, argument.filter, argument.compare)


class Binder:
    """Fills the payload of one launch."""

    def __init__(self, signature: KernelSignature, launch: Launch, memory: AddressSpace) -> None:
        self.signature, self.launch, self.memory = signature, launch, memory
        self.image, self.kernel = signature.image, signature.kernel
        self.bound_buffers: dict[int, Buffer] = {}

    def fail(self, message: str, hint: str = "", code: str = "S010") -> LaunchError:
        return LaunchError(
            Diagnostic(code, f"kernel '{self.signature.name}': {message}", Span(self.image.file, 0), hint)
        )

    # -- ND-range ------------------------------------------------------------------------------------------

    def bind(self) -> Dispatch:
        """Check the launch against the kernel and lay out its payload.

        Raises:
            LaunchError: sizes or arguments do not fit; the message names the argument.
        """
        launch, signature = self.launch, self.signature
        global_size, required, simd = dimensions(launch.global_size), signature.required, signature.simd
        if 0 in global_size:
            raise self.fail(f"the global size {launch.global_size} has a zero")
        local = launch.local_size or required or self._default_local(global_size, simd)
        local_size = dimensions(local)
        if required and local_size != dimensions(required):
            raise self.fail(f"the kernel requires work-groups of {required}, the launch has {tuple(local)}")
        items = local_size[0] * local_size[1] * local_size[2]
        if not 0 < items <= 1024:
            raise self.fail(f"a work-group of {tuple(local)} has {items} work-items, 1 to 1024 are possible")
        dispatch = Dispatch(self.image, self.kernel, simd, global_size, local_size, dimensions(launch.global_offset, 0), len(launch.global_size), self.memory,
                      bytearray(signature.payload_size), [], signature.local_id_rows, slm_size=signature.slm_size, scratch_size=signature.scratch_size,
                      private_size=signature.private_size, by_inputs=signature.info is None, pointers=signature.pointers)  # fmt: skip
        if signature.info is not None:
            self._from_ze_info(dispatch, signature.info)
        else:
            self._from_inputs(dispatch)
        return dispatch

    def _default_local(self, global_size: tuple[int, int, int], simd: int) -> tuple[int, ...]:
        """The smallest divisor of the first dimension that fills a hardware thread, else all of it up to 256."""
        first = global_size[0]
        return (
            next(
                (d for d in range(simd, min(first, 256) + 1) if first % d == 0),
                next(d for d in range(min(first, 256), 0, -1) if first % d == 0),
            ),
        )

    # -- with ze_info --------------------------------------------------------------------------------------

    def _from_ze_info(self, dispatch: Dispatch, info: dict[str, Any]) -> None:
        signature = self.signature
        expected = signature.argument_count
        if len(self.launch.args) != expected:
            raise self.fail(
                f"it takes {expected} argument{'s' if expected != 1 else ''}, the launch has {len(self.launch.args)}",
                self._signature(expected),
            )
        self._samplers(dispatch, info)
        self._locals(dispatch)
        for e in signature.entries:
            self._entry(dispatch, e)
        for number, argument in signature.surfaces:
            dispatch.surfaces[number] = self._surface(dispatch, argument)

    def _signature(self, count: int) -> str:
        named = [self.signature.argument_names.get(i, f"#{i}") for i in range(count)]
        return f"its arguments are {', '.join(named)}" if named else ""

    def _argument(self, index: int, *kinds: type) -> Argument:
        argument = self.launch.args[index]
        if not isinstance(argument, kinds):
            names = {
                BufferArgument: "a buffer",
                ScalarArgument: "a scalar",
                LocalArgument: "local memory",
                ImageArgument: "an image",
                SamplerArgument: "a sampler",
            }
            wanted = " or ".join(names[k] for k in kinds)
            raise self.fail(
                f"{self.signature.describe(index)} must be {wanted}, the launch gives {names[type(argument)]}"
            )
        return argument

    def _buffer(self, index: int) -> Buffer:
        found = self.bound_buffers.get(index)
        if found is None:
            found = self.bound_buffers[index] = self._buffer_of(index)
        return found

    def _buffer_of(self, index: int) -> Buffer:
        """The buffer of an array, or what lies behind a pointer given as its eight bytes."""
        argument = self._argument(index, BufferArgument, ScalarArgument)
        if isinstance(argument, ScalarArgument):
            found = self.memory.behind(int.from_bytes(argument.data, "little")) if len(argument.data) == 8 else None
            if found is None:
                raise self.fail(
                    f"{self.signature.describe(index)} is a pointer: it must be an array, or an address in one"
                )
            return found
        assert isinstance(argument, BufferArgument)
        return self.memory.map(argument.array, self.signature.argument_names.get(index) or f"argument {index}")

    def _image(self, dispatch: Dispatch, index: int) -> SurfaceImage:
        argument = self._argument(index, ImageArgument)
        assert isinstance(argument, ImageArgument)
        handle = IMAGE_HANDLE_STEP * (index + 1)
        if handle not in dispatch.images:
            declared = next(
                (
                    str(e.tree["image_type"])
                    for e in self.signature.entries
                    if e.index == index and "image_type" in e.tree
                ),
                "",
            )
            name = self.signature.argument_names.get(index) or f"argument {index}"
            found = surface_image(name, argument.array, argument.format, declared, argument.layered, handle)
            if isinstance(found, str):
                raise self.fail(
                    f"{self.signature.describe(index)} {found}", did_you_mean(argument.format, ImageFormat.names())
                )
            dispatch.images[handle] = found
        return dispatch.images[handle]

    def _surface(self, dispatch: Dispatch, index: int) -> Buffer | SurfaceImage:
        return (
            self._image(dispatch, index) if isinstance(self.launch.args[index], ImageArgument) else self._buffer(index)
        )

    def _samplers(self, dispatch: Dispatch, info: dict[str, Any]) -> None:
        for s in info.get("inline_samplers") or []:
            addressing = {
                "repeat": "repeat",
                "mirror": "mirror",
                "clamp_edge": "clamp_edge",
                "clamp_border": "clamp_border",
            }.get(str(s.get("addrmode")), "none")
            normalized = bool(s.get("normalized"))
            dispatch.samplers[int(s["sampler_index"])] = SamplerState(
                normalized, addressing, str(s.get("filtermode", "nearest"))
            )
        for e in self.signature.entries:
            if "sampler_index" in e.tree and e.index >= 0:
                argument = self._argument(e.index, SamplerArgument)
                assert isinstance(argument, SamplerArgument)
                dispatch.samplers[int(e.tree["sampler_index"])] = _sampler_state(argument)

    def _locals(self, dispatch: Dispatch) -> None:
        """Offsets of dynamic local memory; the kernel adds its static size itself."""
        at = 0
        for e in self.signature.entries:
            if e.kind == "arg_bypointer" and e.tree.get("addrmode") == "slm":
                argument = self._argument(e.index, LocalArgument)
                assert isinstance(argument, LocalArgument)
                align = int(e.tree.get("slm_alignment") or 16)
                at = -(-at // align) * align
                self._put(dispatch, e.at, at, e.size or 4)
                at += argument.size
        dispatch.slm_size += at

    def _put(self, dispatch: Dispatch, offset: int, value: int, size: int) -> None:
        if size:
            dispatch.payload[offset : offset + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def _entry(self, dispatch: Dispatch, e: PayloadField) -> None:
        kind, at, size, index = e.kind, e.at, e.size, e.index
        if kind == "arg_bypointer":
            self._pointer(dispatch, e)
        elif kind == "arg_byvalue":
            self._by_value(dispatch, e)
        elif kind in _TRIPLES:
            _TRIPLE.pack_into(dispatch.payload, at, *_TRIPLES[kind](dispatch))
        elif kind == "local_size":
            dispatch.patches.append((at, kind))
        elif kind == "work_dimensions":
            self._put(dispatch, at, dispatch.dims, size)
        elif kind in ("buffer_address", "buffer_offset"):
            self._put(dispatch, at, self._buffer(index).address if kind == "buffer_address" else 0, size)
        elif kind in ("private_base_stateless", "printf_buffer", "const_base", "global_base"):
            self._base(dispatch, kind, at, size)
        elif kind.startswith("image_"):
            image = self._image(dispatch, index)
            layers = image.sizes[-1] if image.kind.layered else 0
            width, height, depth = (*(image.sizes[:-1] if layers else image.sizes), 0, 0)[:3]
            values = {"image_width": width, "image_height": height, "image_depth": depth, "image_array_size": layers}
            if kind not in values:
                raise self.fail(f"{self.signature.describe(index)}: payload entry '{kind}' is not known")
            self._put(dispatch, at, values[kind], size)
        elif kind == "inline_sampler":
            self._handle(dispatch, e, int(e.tree.get("sampler_index", 0)) << SAMPLER_HANDLE_SHIFT)
        elif kind.startswith("sampler_"):
            state = dispatch.samplers.get(self.signature.sampler_of(index) or 0)
            snap = state is not None and state.filter == "nearest" and state.addressing == "clamp_border"
            values = {
                "sampler_snap_wa": 0xFFFFFFFF if snap else 0,
                "sampler_normalized": int(bool(state and state.normalized)),
                "sampler_address": 0,
            }
            self._put(dispatch, at, values.get(kind, 0), size)
        elif kind not in ("packed_local_ids", "local_id"):
            raise self.fail(f"the payload entry '{kind}' is not known")

    def _pointer(self, dispatch: Dispatch, e: PayloadField) -> None:
        space = e.tree.get("addrspace")
        if e.tree.get("addrmode") == "slm":
            return
        if space == "image":
            self._handle(dispatch, e, self._image(dispatch, e.index).handle)
        elif space == "sampler":
            self._handle(dispatch, e, int(e.tree.get("sampler_index", 0)) << SAMPLER_HANDLE_SHIFT)
        else:
            self._put(dispatch, e.at, self._buffer(e.index).address, e.size)

    def _handle(self, dispatch: Dispatch, e: PayloadField, value: int) -> None:
        """A handle goes into the payload as a whole, with zeros above it."""
        self._put(dispatch, e.at, value, e.size)
        dispatch.handles |= {e.at: value, e.at + 4: 0} if e.size == 8 else {e.at: value} if e.size == 4 else {}

    def _by_value(self, dispatch: Dispatch, e: PayloadField) -> None:
        argument = self._argument(e.index, ScalarArgument)
        assert isinstance(argument, ScalarArgument)
        start, size = int(e.tree.get("source_offset", 0)), e.size
        data = argument.data[start : start + size]
        pieces = [o for o in self.signature.entries if o.index == e.index]
        end = max(int(o.tree.get("source_offset", 0)) + o.size for o in pieces)
        if (len(pieces) == 1 and not -(-len(argument.data) // 4) * 4 == -(-size // 4) * 4) or len(
            argument.data
        ) + 8 < end:
            raise self.fail(
                f"{self.signature.describe(e.index)} has {size if len(pieces) == 1 else end} bytes, the launch gives {len(argument.data)}"
            )
        dispatch.payload[e.at : e.at + len(data)] = data

    def _base(self, dispatch: Dispatch, kind: str, at: int, size: int) -> None:
        if kind == "private_base_stateless":
            # The engine knows how many threads live at once; it allocates and patches.
            dispatch.private_slots.append(at)
        elif kind == "printf_buffer":
            dispatch.printf = self.memory.block("printf", PRINTF_BYTES)
            dispatch.printf.data[:4] = np.frombuffer(struct.pack("<I", 4), np.uint8)
            self._put(dispatch, at, dispatch.printf.address, size)
        else:
            section = "data.const" if kind == "const_base" else "data.global"
            address = next((s.address for s in self.image.data if s.name == section), 0)
            self._put(dispatch, at, address, size)

    # -- without ze_info -----------------------------------------------------------------------------------

    def _from_inputs(self, dispatch: Dispatch) -> None:
        """Hand-written kernels: arguments bind to ``.input`` variables, by name where the launch names them, else in order.

        A pointer argument goes into a qword input; without one, and images anyway, it is the surface T6, T7, ... in order; samplers are S0, S1, ...
        The buffer that the launch names ``%urb`` is what URB writes go to.
        """
        kernel = dispatch.kernel
        inputs = {
            kernel.variables[i.index - FIRST_VARIABLE].name: i
            for i in kernel.inputs
            if i.operand_class == 0 and i.index >= FIRST_VARIABLE
        }
        states = [i for i in kernel.inputs if i.operand_class != 0]
        unused = list(inputs)
        surface = 0
        by_argument = {id(a): n for n, a in self.launch.names.items()}
        local = 0
        for index, argument in enumerate(self.launch.args):
            name = by_argument.get(id(argument))
            if isinstance(argument, SamplerArgument):
                dispatch.samplers[len(dispatch.samplers)] = _sampler_state(argument)
                continue
            if isinstance(argument, ImageArgument) or name == "%urb":
                dispatch.surfaces[URB if name == "%urb" else surface] = self._surface(dispatch, index)
                surface += name != "%urb"
                continue
            if name is not None and name not in inputs:
                raise self.fail(f"there is no .input '{name}' for argument {index}", did_you_mean(name, inputs))
            if (
                isinstance(argument, BufferArgument)
                and name is None
                and states
                and not any(self._input_size(inputs[n]) == 8 for n in unused)
            ):
                dispatch.surfaces[surface] = self._buffer(index)
                i = states.pop(0)
                dispatch.payload[i.offset : i.offset + min(i.size, 4)] = surface.to_bytes(4, "little")[: min(i.size, 4)]
                surface += 1
                continue
            if name is None:
                if not unused:
                    if isinstance(argument, BufferArgument):
                        dispatch.surfaces[surface] = self._buffer(index)
                        surface += 1
                        continue
                    raise self.fail(
                        f"argument {index} has no .input to go to: the kernel has {len(inputs)}",
                        f"inputs are {', '.join(inputs)}",
                    )
                name = unused[0]
            if name in unused:
                unused.remove(name)
            i = inputs[name]
            if isinstance(argument, BufferArgument):
                buffer = self._buffer(index)
                dispatch.surfaces[surface] = buffer
                surface += 1
                if i.size >= 8:
                    self._put(dispatch, i.offset, buffer.address, 8)
            elif isinstance(argument, ScalarArgument):
                if len(argument.data) > i.size:
                    raise self.fail(f"argument {index} has {len(argument.data)} bytes, .input '{name}' has {i.size}")
                dispatch.payload[i.offset : i.offset + len(argument.data)] = argument.data
            else:
                self._put(dispatch, i.offset, dispatch.slm_size + local, min(i.size, 8))
                local += argument.size
        if unused:
            raise self.fail(f".input '{unused[0]}' has no argument", f"inputs are {', '.join(inputs)}")
        dispatch.slm_size += local

    def _input_size(self, i: Any) -> int:
        return int(i.size)


def bind(signature: KernelSignature, launch: Launch, memory: AddressSpace) -> Dispatch:
    """Bind a launch; arrays keep their addresses from launch to launch."""
    return Binder(signature, launch, memory).bind()
