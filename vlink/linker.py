"""The linker: inputs are gathered, then the passes of :meth:`Linker.run` make one image of them.

A pass takes the results of those before it and returns its own; errors are added to the errors
of the link, so that one run reports all of them. Inputs keep their functions: names and relocations are set in them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields

from visakit.collector import paused_collection
from visakit.diagnostics import MAXIMUM_ERRORS, Diagnostic, Label, Span, UsageError, VisaError, did_you_mean
from visakit.files import read_bytes
from visakit.language.platforms import PLATFORMS, find
from visakit.objects.archive import archive_members, is_archive
from visakit.objects.image import LinkedImage
from visakit.objects.index import DeclaredSizes
from visakit.objects.zebin import find_zebin, read_zebin
from visakit.usage import check_bytes, check_platform
from vlink.alternatives import pick
from vlink.data import apply_relocations, lay_out_data, relocated_names
from vlink.errors import LinkErrors
from vlink.inputs import (
    VOID_PROGRAM,
    ObjectFile,
    pull_archive_members,
    read_object,
)
from vlink.liveness import live_definitions
from vlink.merge import (
    image_symbols,
    merge_lines,
    merge_modules,
    merge_program_info,
    relocate_functions,
    rename_duplicates,
)
from vlink.payload_check import check_payloads
from vlink.program_info import DataSymbol, ProgramInfo, read_program_info
from vlink.symbols import Definition, References, SymbolTable, index_definitions, resolve_references

Source = str | os.PathLike[str] | bytes | bytearray | memoryview
"""An input: the path of a file, or its contents."""


@dataclass(repr=False)
class LinkOptions:
    """The options of a link; every field has a default for a plain link.

    Attributes:
        entries: the kernels that the link starts from, also of archives; others are dropped.
        relocatable: leave undefined names to a later link (:func:`vlink.partial.object_bytes` makes the object).
        allow_undefined: leave undefined names to the run.
        gc_sections: leave out functions that nothing reaches.
        whole_archive: take all members of archives.
        platform: the platform of the image; None for that of the objects.
        launch: a launch file to put into the image, as JSON.
        data: symbols of constant data by name.
        pick: of several bodies of a kernel or function link one, by the SIMD size in ze_info.
        first_data_slot: slots of the address space that hold data of other images, before this one's.
        max_errors: errors after which the link ends, at least one.

    Raises:
        UsageError: an option has another type.
    """

    entries: Sequence[str] = ()
    relocatable: bool = False
    allow_undefined: bool = False
    gc_sections: bool = False
    whole_archive: bool = False
    platform: str | None = None
    launch: str = ""
    data: dict[str, bytes] = field(default_factory=dict)
    pick: bool = False
    first_data_slot: int = 0
    max_errors: int = MAXIMUM_ERRORS

    def __repr__(self) -> str:
        """The options without defaults; launch files and data in few words."""
        given = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) != f.default}
        short = {"launch": f"<{len(self.launch)} characters>", "data": f"<symbols {', '.join(self.data)}>"}
        words = (f"{name}={short.get(name) or repr(value)}" for name, value in given.items() if value)
        return f"LinkOptions({', '.join(words):.160})"

    def __post_init__(self) -> None:
        self.platform = check_platform(self.platform)
        if isinstance(self.entries, str):
            raise UsageError(f"'entries' is a list of kernels, found the text '{self.entries}'")
        self.data = {name: check_bytes(data, f"the symbol '{name}'") for name, data in self.data.items()}


@dataclass
class Linked:
    """The result of a link with the contents of the map file."""

    image: LinkedImage
    definitions: list[Definition]
    references: References
    discarded: list[tuple[Definition, str]]
    data_symbols: dict[str, DataSymbol]


class Linker:
    """One link: ``add_...`` gathers the inputs, ``run`` links them."""

    def __init__(self, options: LinkOptions) -> None:
        self.options = options
        self.errors = LinkErrors(options.max_errors)
        self.objects: list[ObjectFile] = []
        self.archived: list[ObjectFile] = []
        self.infos: list[ProgramInfo] = []
        self.known: set[bytes] = set()

    def add_bytes(self, data: bytes, name: str) -> None:
        """The contents of an object, a bare module, an archive or a zebin; damage is reported by :meth:`run`.

        Raises:
            LinkError: more is damaged than the limit of errors allows.
        """
        try:
            zebin = find_zebin(data, name, self.options.platform)
            if zebin is not None:
                self._add_zebin(*zebin)
                return
            if not is_archive(data):
                self.objects.append(read_object(data, name))
                return
            members = [read_object(contents, f"{name}({member})") for member, contents in archive_members(data, name)]
            (self.objects if self.options.whole_archive else self.archived).extend(members)
        except VisaError as error:
            for diagnostic in error.diagnostics:
                self.errors.add(diagnostic)

    def _add_zebin(self, data: bytes, name: str) -> None:
        """Add a zebin: its objects, and the descriptions of its kernels."""
        from vlink.zebins import zebin_objects

        self.objects += zebin_objects(read_zebin(data, name))
        self.add_info(data, name)

    def add_info(self, data: bytes, name: str) -> None:
        """Add ze_info text or a zebin; repeated descriptions are skipped.

        Raises:
            FormatError: it is neither.
        """
        digest = hashlib.sha256(data).digest()
        if digest not in self.known:
            self.known.add(digest)
            self.infos.append(read_program_info(data, name))

    def run(self) -> Linked:
        """All passes.

        Raises:
            LinkError: with everything that does not fit together.
        """
        options, infos = self.options, self.infos
        undefined_allowed = options.allow_undefined or options.relocatable
        self.errors.stop()
        errors = self.errors

        # The inputs.
        objects = self.objects
        if not options.relocatable:
            objects = pull_archive_members(objects, self.archived, options.entries)
        if any(o.is_compiled for o in objects):
            from vlink.zebins import without_replaced

            without_replaced(objects)
        alternatives = pick(objects, infos) if options.pick else []
        table = index_definitions(objects, errors)
        data = lay_out_data(infos, options.data, options.first_data_slot)
        platform, grf_size = choose_platform(objects, options.platform, errors)

        # The meaning of names.
        references = resolve_references(table, data, undefined_allowed, errors)
        has_data = bool(data.symbols) and any(o.is_compiled for o in objects)
        if not table.definitions and not has_data:
            errors.add(nothing_to_link(objects, self.archived))
        check_entries(objects, self.archived, options.entries, errors)
        errors.stop()

        # The selection.
        kept, discarded = select_definitions(table, references, options, infos)
        discarded += [*alternatives, *placeholder_kernels(objects)]

        # The image.
        module = merge_modules(objects, kept)
        rename_duplicates(kept, references)
        ze_info = merge_program_info(infos, {k.name for k in module.kernels}, errors)
        if infos and platform:  # which determines the start of payloads
            check_payloads(kept, infos, platform, grf_size, errors)
        symbols = image_symbols(kept, data, relocate_functions(kept, references, data))
        sections = apply_relocations(data, infos, symbols, options.allow_undefined, errors)
        errors.stop()
        lines = merge_lines(kept)
        image = LinkedImage(module, symbols, sections, ze_info, options.launch, platform, grf_size, lines)
        return Linked(image, kept, references, discarded, data.symbols)


def choose_platform(objects: Sequence[ObjectFile], wanted: str | None, errors: LinkErrors) -> tuple[str, int]:
    """The platform of the image, the wanted one or that of the last object, and the size of its registers in bytes.

    Objects for registers of another size, or in another version of the format, are errors.
    """
    names = {o.platform: o for o in reversed(objects) if o.platform}
    chosen = wanted or next(iter(names), "")
    platform = find(chosen)
    size = platform.grf_size if platform else 32
    for name, o in names.items():
        other = PLATFORMS.get(name)
        if other and platform and other.grf_size != size:
            own = f"the object is for {name} ({other.grf_size}-byte registers)"
            image = f"the image for {chosen} ({size}-byte registers)"
            hint = f"assemble its text for {chosen}: vasm --platform {chosen}"
            errors.add(Diagnostic("L016", f"{own}, {image}", Span(o.name, 0), hint))
    versions = {o.module.version: o for o in objects}
    if len(versions) > 1:
        a, b = list(versions.values())[:2]
        (a_major, a_minor), (b_major, b_minor) = a.module.version, b.module.version
        note = Label(Span(a.name, 0), f"version {a_major}.{a_minor}")
        message = f"version {b_major}.{b_minor} cannot be linked with another version"
        hint = f"begin both texts with the same directive, .version {max(a_major, b_major)}.{max(a_minor, b_minor)}"
        errors.add(Diagnostic("L017", message, Span(b.name, 0), hint, (note,)))
    return chosen, size


def check_entries(
    objects: Sequence[ObjectFile], archived: Sequence[ObjectFile], entries: Sequence[str], errors: LinkErrors
) -> None:
    """The entries must be kernels of the inputs; hints also name kernels of archives."""
    linked, known = (
        dict.fromkeys(name for o in files for name in o.kernel_names) for files in (objects, [*objects, *archived])
    )
    for entry in entries:
        if entry not in linked:
            hint = did_you_mean(entry, known) or f"kernels are {', '.join(known) or '(none)'}"
            errors.add(Diagnostic("L019", f"there is no kernel '{entry}'", None, hint))


def nothing_to_link(objects: Sequence[ObjectFile], archived: Sequence[ObjectFile]) -> Diagnostic:
    """The error of inputs without kernels and functions, and without data of the compiler's programs.

    Args:
        archived: the members of archives, taken or not.
    """
    if objects or not archived:
        message = "there is nothing to link: the inputs hold no kernel and no function"
        return Diagnostic("L020", message, Span(objects[0].name, 0) if objects else None)
    message = "there is nothing to link: archives alone, of which only members that something uses are taken"
    return Diagnostic("L020", message, None, "give objects with them, or take all members: --whole-archive")


def select_definitions(
    table: SymbolTable, references: References, options: LinkOptions, infos: Sequence[ProgramInfo]
) -> tuple[list[Definition], list[tuple[Definition, str]]]:
    """The definitions of the image, kernels first, and the omitted ones, with the reason."""
    kept, discarded = table.definitions, []
    if (options.gc_sections or options.entries) and not options.relocatable:
        live = live_definitions(table.definitions, references, options.entries, relocated_names(infos))
        kept = [d for d in table.definitions if d in live]
        discarded = [(d, "not reached from any entry") for d in table.definitions if d not in live]
    return sorted(kept, key=lambda d: not d.function.is_kernel), discarded


def placeholder_kernels(objects: Sequence[ObjectFile]) -> list[tuple[Definition, str]]:
    """The kernels that no image needs, with the reason."""
    kernels = [(o, k) for o in objects for k in o.module.kernels if k.name == VOID_PROGRAM]
    return [(Definition(o, k, DeclaredSizes.of(k)), "the compiler's placeholder kernel") for o, k in kernels]


def link(objects: Sequence[Source], ze_info: Source | None = None, options: LinkOptions | None = None) -> LinkedImage:
    """Link objects, bare modules, archives and zebins with vISA texts into an image.

    Args:
        objects: paths or contents.
        ze_info: the compiler's ze_info text or a zebin, as path or contents.

    Raises:
        LinkError: inputs are damaged, or symbols undefined, duplicate or mismatched; all of it in ``diagnostics``.
        FormatError: ze_info is damaged.
        FileError: a file cannot be read.
        UsageError: an input is neither a path nor bytes.
    """
    if isinstance(objects, (str, os.PathLike, bytes, bytearray, memoryview)) or not isinstance(objects, Iterable):
        raise UsageError(f"'objects' is a list of paths and bytes, found {type(objects).__name__}; put it into a list")
    if options is not None and not isinstance(options, LinkOptions):
        raise UsageError(f"'options' are LinkOptions, found {type(options).__name__}")
    with paused_collection():
        linker = Linker(options or LinkOptions())
        for number, item in enumerate(objects):
            linker.add_bytes(*_contents(item, f"<object {number}>"))
        if ze_info is not None:
            linker.add_info(*_contents(ze_info, "<ze_info>"))
        return linker.run().image


def _contents(source: Source, name: str) -> tuple[bytes, str]:
    """The contents of an input, and its name in messages."""
    if not isinstance(source, (str, os.PathLike)):
        return check_bytes(source, "an input that is not a path"), name
    path = os.fsdecode(source)
    return read_bytes(path), "<stdin>" if path == "-" else path
