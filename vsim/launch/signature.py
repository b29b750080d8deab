"""Requirements of a kernel for every launch: determined once for a kernel, out of its image, and kept.

A launch is a sequence of values, each of which is complete when the next is made::

    KernelSignature   requirements of the kernel: the places of its payload, the sizes of its memories (here)
    Arguments         arguments of the launch, checked against the signature (arguments.py and binding.py in
    vsim/launch)
    Dispatch          the input of an engine: both, the ND-range, the payload, the order (vsim/launch/dispatch.py)
    LaunchResult      the result (vsim/result.py)

:meth:`vsim.program.Program.bind` goes up the first three.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from visakit.diagnostics import Diagnostic, FormatError, LaunchError, Span, did_you_mean
from visakit.forks import cached_property
from visakit.language.platforms import PLATFORMS, find
from visakit.language.program import FIRST_VARIABLE, Function, Input
from visakit.objects.image import KernelSummary, LinkedImage
from visakit.objects.yaml_lines import Tree
from visakit.objects.ze_info import KernelInfo, PayloadField, declared_arguments, kernel_info
from vsim.launch.arrays import DType
from vsim.launch.launch import SCALAR_TYPES
from vsim.launch.payload import PayloadLayout, layout_of, layout_of_inputs

if TYPE_CHECKING:
    from vsim.semantics.registers import FloatModes

_WORDS = {
    "ub": "u8", "b": "i8", "uw": "u16", "w": "i16", "ud": "u32", "d": "i32", "uq": "u64", "q": "i64",
    "hf": "f16", "f": "f32", "df": "f64",
}  # fmt: skip
"""Types of scalars by the language's."""
_BARRIERS_FROM, _BARRIERS_SINCE = PLATFORMS["tgllp"].order, (4, 2)
"""The platform and the version of texts from which on compilers leave an instruction of a sub-group's barrier."""


@dataclass(frozen=True, eq=False, repr=False)
class KernelSignature:
    """Requirements of a kernel for a launch; :func:`kernel_signature` makes it.

    Attributes:
        simd: work-items of a hardware thread.
        slm_size: static bytes of local memory of a group, without those of arguments.
        scratch_size, private_size: bytes of memory of each thread.
        required_size: the only work-group size that the kernel runs with; None where any will do.
        surfaces: number in the binding table and index of the argument.
        info: ze_info's words; None for hand-written kernels without, whose arguments go to their ``.input`` variables.
        known: the summary of the instructions, if one was cached and the instructions are not read.
    """

    image: LinkedImage
    kernel: Function
    simd: int
    slm_size: int
    scratch_size: int
    private_size: int
    required_size: tuple[int, ...] | None
    argument_names: dict[int, str]
    argument_types: dict[int, str]
    layout: PayloadLayout
    surfaces: tuple[tuple[int, int], ...]
    info: KernelInfo | None
    known: KernelSummary | None

    def __repr__(self) -> str:
        if self.info is None:
            words = ", ".join(self.inputs)
        else:
            types = {n: t.partition(";")[0] for n, t in self.argument_types.items()}
            given = [f"{types.get(n, '')} {name}" for n, name in enumerate(self.names_in_order)]
            words = ", ".join(argument.strip() for argument in given)
        return f"<KernelSignature {self.name}({words}), SIMD{self.simd}>"

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def says_simd(self) -> bool:
        """Whether the text or ze_info has the number of work-items of a thread; without it, it is 16.

        A text has it as ``SimdSize``, or by ``Target="cm"``, where a thread is a work-item.
        """
        said = self.kernel.is_cm or self.kernel.integer_attribute("SimdSize")
        return bool((self.info and self.info.says_simd) or said)

    @property
    def _payload(self) -> tuple[PayloadField, ...]:
        return self.info.payload if self.info else ()

    @cached_property
    def argument_count(self) -> int:
        """Arguments that ze_info describes."""
        surfaces = (index for _, index in self.surfaces)
        return max((*(f.argument for f in self._payload), *self.argument_names, *surfaces), default=-1) + 1

    @cached_property
    def names_in_order(self) -> list[str]:
        """Names of the arguments, or of the ``.input`` variables without ze_info; ``#N`` for one without a name."""
        if self.info is None:
            return list(self.inputs)
        return [self.argument_names.get(n, f"#{n}") for n in range(self.argument_count)]

    @cached_property
    def fields(self) -> dict[int, tuple[PayloadField, ...]]:
        """The values of the payload that belong to an argument, by its index."""
        fields: dict[int, tuple[PayloadField, ...]] = {}
        for field in self._payload:
            fields[field.argument] = (*fields.get(field.argument, ()), field)
        return fields

    @cached_property
    def sampler_arguments(self) -> tuple[tuple[int, int], ...]:
        """Arguments that are samplers, by index, and the number of the sampler."""
        return tuple((f.argument, f.sampler) for f in self._payload if f.sampler is not None and f.argument >= 0)

    @cached_property
    def image_arguments(self) -> frozenset[int]:
        """Arguments that are images, by index."""
        return frozenset(f.argument for f in self._payload if f.address_space == "image")

    @cached_property
    def element_types(self) -> dict[int, set[DType]]:
        """Types of arrays that match the element type of an argument, by its index; found by earlier launches."""
        return {}

    @cached_property
    def inputs(self) -> dict[str, Input]:
        """The ``.input`` variables by name."""
        return {
            self.kernel.variables[i.index - FIRST_VARIABLE].name: i
            for i in self.kernel.inputs
            if i.variable_class == 0 and i.index >= FIRST_VARIABLE
        }

    @cached_property
    def surface_inputs(self) -> tuple[Input, ...]:
        """The ``.input`` variables that are surfaces or samplers."""
        return tuple(i for i in self.kernel.inputs if i.variable_class != 0)

    @cached_property
    def summary(self) -> KernelSummary:
        """Facts of the instructions that launches need."""
        if self.known is not None:
            return self.known
        from vsim.analysis.summary import summarize  # with the table and the analyses

        return summarize(self.image, self.kernel, self.layout.pointers)

    @cached_property
    def has_surfaces(self) -> bool:
        """Whether a function declares surfaces, which buffers may be that no input takes."""
        return any(function.surfaces for function in self.image.functions_of(self.kernel))

    @property
    def counts_threads(self) -> bool:
        """Whether the kernel, written by hand, finds its work-items by the number of the thread."""
        return self.info is None and self.summary.counts_threads

    @cached_property
    def float_modes(self) -> FloatModes:
        """The use of %cr0 by the kernel and the functions of the image."""
        from vsim.semantics.registers import float_modes  # with the table

        return float_modes(self.image.functions_of(self.kernel))

    @cached_property
    def lanes_may_wait(self) -> bool:
        """Whether the kernel may have had barriers of sub-groups, which order accesses of lanes to memory, but leave no
        trace in older texts: only the SPIR-V that these were compiled from tells of them.
        """
        platform = find(self.image.platform)
        if platform is not None and platform.order >= _BARRIERS_FROM and self.kernel.version >= _BARRIERS_SINCE:
            return False
        zebin = self.image.zebin()
        if not zebin:
            return True
        from visakit.objects.spirv import unordered_kernels  # which most launches do without
        from visakit.objects.zebin import spirv_of

        try:
            return not (module := spirv_of(zebin)) or self.kernel.name not in unordered_kernels(module)
        except ValueError:
            return True

    def declared_type(self, index: int) -> str:
        """The type of a scalar as the kernel declares it, in ze_info or by its ``.input``, in words of launch files.

        Empty if it is not known.
        """
        if self.info is not None:
            word = self.argument_types.get(index, "").partition(";")[0]
            return word if word in SCALAR_TYPES else ""
        inputs = [*self.inputs.values()]
        if not index < len(inputs):
            return ""
        t = self.kernel.variable_type(inputs[index].index)
        return _WORDS.get(t.name, "") if t.size == inputs[index].size else ""

    def describe(self, index: int) -> str:
        """An argument as messages name it."""
        name = self.argument_names.get(index)
        return f"argument {index} ('{name}')" if name else f"argument {index}"

    def buffer_name(self, index: int) -> str:
        """The name of an argument's memory."""
        return self.argument_names.get(index) or f"argument {index}"

    def image_type(self, index: int) -> str:
        """The type of an argument that is an image, such as ``image_2d``; empty if it is not known."""
        return next((f.image_type for f in self.fields.get(index, ()) if f.image_type), "")

    def sampler_of(self, index: int) -> int:
        """The number of the sampler of an argument; 0 if it is no sampler."""
        return next((f.sampler for f in self.fields.get(index, ()) if f.sampler is not None), 0)

    def error(self, message: str, hint: str = "") -> LaunchError:
        """The error of a launch that does not fit."""
        return LaunchError(Diagnostic("S010", f"kernel '{self.name}': {message}", Span(self.image.file, 0), hint))


def kernel_signature(image: LinkedImage, tree: Tree, wanted: str) -> KernelSignature:
    """Requirements of a kernel for a launch; its name may be empty if the image has one.

    Args:
        tree: the ze_info of the image.

    Raises:
        LaunchError: the image has no such kernel, or the kernel can reach an instruction that is refused.
        FormatError: C021, ze_info contradicts itself or the kernel.
    """
    kernel = _find_kernel(image, wanted)
    known = None if image.summaries is None or image.is_read else image.summaries.get(kernel.name)
    if known is None:  # Only kernels without refused instructions are known.
        _check_refused(image, kernel)
    _check_inputs(image, kernel)
    try:
        info = kernel_info(tree, kernel.name, kernel.simd_size)
        names, types = declared_arguments(tree, kernel.name)
    except ValueError as error:
        message = f"ze_info of kernel '{kernel.name}': {error}"
        raise FormatError(Diagnostic("C021", message, Span(image.file, 0))) from None
    return KernelSignature(
        image=image,
        kernel=kernel,
        simd=info.simd_size if info else kernel.simd_size,
        slm_size=(info.slm_size if info else 0) or kernel.integer_attribute("SLMSize") * 1024,
        scratch_size=max(kernel.integer_attribute("SpillMemOffset"), info.scratch_size if info else 0),
        private_size=info.private_size if info else 0,
        required_size=info.required_size if info else None,
        argument_names=names,
        argument_types=types,
        layout=layout_of(image, kernel, info) if info else layout_of_inputs(kernel),
        surfaces=info.surfaces if info else (),
        info=info,
        known=known,
    )


def _find_kernel(image: LinkedImage, wanted: str) -> Function:
    kernels = {k.name: k for k in image.module.kernels}
    if not wanted and len(kernels) == 1:
        return next(iter(kernels.values()))
    if wanted in kernels:
        return kernels[wanted]
    hint = did_you_mean(wanted, kernels) or f"kernels are {', '.join(kernels) or '(none)'}"
    message = (
        f"there is no kernel '{wanted}' in the image" if wanted else "no kernel is named, and the image has several"
    )
    raise LaunchError(Diagnostic("S011", message if kernels else "the image has no kernel", Span(image.file, 0), hint))


def _check_inputs(image: LinkedImage, kernel: Function) -> None:
    """A launch writes arguments into their inputs, and needs what ``%r0`` has."""
    for i in kernel.inputs:
        if i.size and i.offset < image.grf_size:
            where = "in" if i.offset >= 0 else "before"
            begin = f"begins at byte {i.offset}, {where} '%r0'"
            message = f"kernel '{kernel.name}': an input {begin}, which has ids of the group"
            hint = f"write offset={image.grf_size} or more"
            raise LaunchError(Diagnostic("S010", message, Span(image.file, i.line), hint))


def _check_refused(image: LinkedImage, kernel: Function) -> None:
    """Look closer only where some function has an instruction that may be refused: most images have none."""
    from vsim.semantics.refused import may_be_refused, returns_to_nobody  # with the table

    own = {i.desc for i in kernel.instructions}
    descs = own.union(i.desc for function in image.module.functions for i in function.instructions)
    if any(returns_to_nobody(kernel, desc) for desc in own) or any(may_be_refused(desc) for desc in descs):
        from vsim.analysis.reachability import check

        check(image, kernel)
