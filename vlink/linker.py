"""The passes of the linker: gather, resolve, keep what is live, merge, lay out data, fill in addresses."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from visa.calls import Call
from visa.collector import paused_collection
from visa.diagnostics import Diagnostic, Label, LinkError, Span, VisaError, did_you_mean
from visa.elf import STB_GLOBAL, STB_LOCAL, STT_NOTYPE, STT_OBJECT, Symbol
from visa.files import read_bytes
from visa.image import DATA_BASE, SLOT, SLOT_OFFSET, DataSection, LinkedImage
from visa.platforms import PLATFORMS, find
from visa.program import Function, Module
from vlink.inputs import VOID_PROGRAM, ObjectFile, archive_members, is_archive, read_object
from vlink.program_info import DATA_SECTIONS, ProgramInfo, patch, read_program_info


@dataclass
class LinkOptions:
    """What the command line says; every field has a default that suits a plain link."""

    entries: Sequence[str] = ()
    relocatable: bool = False
    allow_undefined: bool = False
    gc_sections: bool = False
    whole_archive: bool = False
    platform: str | None = None
    launch: str = ""
    data: dict[str, bytes] = field(default_factory=dict)


_DECLARED = ("ArgSize", "RetValSize", "SimdSize")


@dataclass(eq=False, slots=True)
class Definition:
    """A kernel or function, the object that holds it, and the sizes that it declares (None where it is silent)."""

    object: ObjectFile
    function: Function
    declares: tuple[int | None, ...] = ()

    @property
    def place(self) -> Span:
        return Span(self.object.name, 0)


@dataclass(eq=False, slots=True)
class Reference:
    """An fcall or faddr of a name, and the function that it means (None: data, or nothing)."""

    source: Definition
    call: Call
    name: str
    target: Definition | None = None

    @property
    def where(self) -> str:
        line = f", line {self.call.line}" if self.call.line else ""
        return f"{self.call.mnemonic} in '{self.source.function.name}' (instruction {self.call.number}{line})"


@dataclass
class Linked:
    """The result of a link with what the map file shows."""

    image: LinkedImage
    definitions: list[Definition]
    references: dict[Definition, list[Reference]]
    discarded: list[tuple[Definition, str]]
    data_symbols: dict[str, tuple[str, int, int]]


class Linker:
    """One link."""

    def __init__(self, options: LinkOptions) -> None:
        self.options = options
        self.errors: list[Diagnostic] = []
        self.objects: list[ObjectFile] = []
        self.archives: list[tuple[str, list[ObjectFile]]] = []
        self.infos: list[ProgramInfo] = []

    # -- gather --------------------------------------------------------------------------------------------

    def add_file(self, path: str) -> None:
        """An object, a bare module or an archive."""
        self.add_bytes(read_bytes(path), "<stdin>" if path == "-" else path)

    def add_bytes(self, data: bytes, name: str) -> None:
        try:
            if is_archive(data):
                members = [
                    read_object(contents, f"{name}({member})") for member, contents in archive_members(data, name)
                ]
                if self.options.whole_archive:
                    self.objects += members
                else:
                    self.archives.append((name, members))
            else:
                self.objects.append(read_object(data, name))
        except VisaError as error:
            self.errors += error.diagnostics

    def add_info(self, data: bytes, name: str) -> None:
        """ze_info text or a zebin."""
        self.infos.append(read_program_info(data, name))

    def error(
        self, code: str, message: str, place: Span | None, hint: str = "", labels: tuple[Label, ...] = ()
    ) -> None:
        self.errors.append(Diagnostic(code, message, place, hint, labels))

    def stop_on_errors(self) -> None:
        if self.errors:
            raise LinkError(self.errors)

    # -- resolve -------------------------------------------------------------------------------------------

    def pull_members(self) -> None:
        """Take archive members that define what is still undefined, until nothing changes."""
        if not self.archives:
            return
        providers: dict[str, ObjectFile] = {}
        for _, members in self.archives:
            for member in members:
                for function in member.module.functions:
                    providers.setdefault(function.name, member)
        defined = {b.name for o in self.objects for b in o.module.functions}
        taken: set[int] = set()
        for o in self.objects:  # grows while it is walked
            for function in o.module.all_functions:
                for name in [function.strings[call.string] for call in o.described(function)[1]]:
                    provider = providers.get(name) if name not in defined else None
                    if provider is not None and id(provider) not in taken:
                        taken.add(id(provider))
                        self.objects.append(provider)
                        defined |= {b.name for b in provider.module.functions}

    def index(self) -> None:
        self.definitions = [Definition(o, b) for o in self.objects for b in [*o.kernels, *o.module.functions]]
        self.local: dict[int, dict[str, Definition]] = {id(o): {} for o in self.objects}
        self.exported: dict[str, Definition] = {}
        self.unexported: dict[str, list[Definition]] = {}
        kernels: dict[str, Definition] = {}
        for d in self.definitions:
            name = d.function.name
            if d.function.is_kernel:
                if name in kernels:
                    self.duplicate("L010", f"kernel '{name}' is defined twice", d, kernels[name])
                kernels.setdefault(name, d)
                continue
            local = self.local[id(d.object)]
            if local.setdefault(name, d) is not d:
                self.duplicate("L011", f"function '{name}' is defined twice in one object", d, local[name])
            if d.function.is_exported:
                if self.exported.setdefault(name, d) is not d:
                    self.duplicate("L011", f"function '{name}' is defined twice", d, self.exported[name])
            else:
                self.unexported.setdefault(name, []).append(d)

    def duplicate(self, code: str, message: str, second: Definition, first: Definition) -> None:
        note = Label(first.place, "it is also defined here")
        self.error(code, message, second.place, "rename one of them or leave one of the objects out", (note,))

    def find(self, reference: Reference) -> Definition | None:
        """The function that a reference means: of its own object, else exported, else the only one of that name."""
        name = reference.name
        found = self.local[id(reference.source.object)].get(name) or self.exported.get(name)
        if found:
            return found
        candidates = self.unexported.get(name, [])
        if len(candidates) > 1:
            notes = tuple(Label(c.place, "defined here, not exported") for c in candidates)
            self.error("L012", f"{reference.where} can mean any of {len(candidates)} functions '{name}'", reference.source.place,
                       "export one of them with .kernel_attr Extern", notes)  # fmt: skip
            return candidates[0]
        return candidates[0] if candidates else None

    def resolve(self) -> None:
        self.references: dict[Definition, list[Reference]] = {}
        for d in self.definitions:
            integers = {a.name: a.integer for a in d.function.attributes}
            d.declares = tuple(map(integers.get, _DECLARED))
        for d in self.definitions:
            strings = d.function.strings
            found = self.references[d] = [
                Reference(d, call, strings[call.string]) for call in d.object.described(d.function)[1]
            ]
            for reference in found:
                reference.target = self.find(reference)
                if reference.target is not None:
                    self.check_call(reference, reference.target)
                elif not (self.options.allow_undefined or self.options.relocatable):
                    self.check_data(reference)

    def check_data(self, reference: Reference) -> None:
        """A name that is no function must be data, and its address be taken, not called."""
        address = reference.call.mnemonic == "faddr"
        if address and reference.name in self.data_symbols:
            return
        hint = did_you_mean(
            reference.name,
            [*(d.function.name for d in self.definitions if not d.function.is_kernel), *self.data_symbols],
        )
        if not hint and address:
            hint = "data symbols come from a zebin (--ze-info) or from --data NAME=FILE"
        self.error(
            "L013", f"'{reference.name}' is not defined; it is used by {reference.where}", reference.source.place, hint
        )

    def check_call(self, reference: Reference, target: Definition) -> None:
        """Sizes of an fcall must be those of its callee, and both sides must have the same SIMD size."""
        call, function = reference.call, target.function
        if call.mnemonic != "fcall":
            return
        caller, callee = reference.source.declares[2], target.declares[2]
        for what, given, attribute, declared in zip(
            ("argument", "return value"), call[3:5], _DECLARED, target.declares, strict=False
        ):
            if declared is not None and declared != given:
                note = Label(target.place, f"'{function.name}' declares {attribute}={declared}")
                self.error("L014", f"{reference.where} passes {given} GRFs as {what} size, '{function.name}' has {declared}", reference.source.place,
                           "caller and callee must agree", (note,))  # fmt: skip
        if caller is not None and callee is not None and caller != callee:
            note = Label(target.place, f"'{function.name}' has SIMD size {callee}")
            self.error(
                "L015",
                f"{reference.where} is SIMD{caller}, '{function.name}' is SIMD{callee}",
                reference.source.place,
                labels=(note,),
            )

    def check_platforms(self) -> tuple[str, int]:
        """The platform of the image and its register size."""
        names = {o.platform: o for o in reversed(self.objects) if o.platform}
        chosen = self.options.platform or (next(iter(names)) if names else "")
        platform = find(chosen)
        size = platform.grf_size if platform else 32
        for name, o in names.items():
            other = PLATFORMS.get(name)
            if other and platform and other.grf_size != size:
                self.error(
                    "L016",
                    f"the object is for {name} ({other.grf_size}-byte registers), the image for {chosen} ({size}-byte registers)",
                    Span(o.name, 0),
                )
        versions = {o.module.version: o for o in self.objects}
        if len(versions) > 1:
            (_, a), (_, b) = list(versions.items())[:2]
            note = Label(Span(a.name, 0), f"version {a.module.version[0]}.{a.module.version[1]}")
            self.error(
                "L017",
                f"version {b.module.version[0]}.{b.module.version[1]} cannot be linked with another version",
                Span(b.name, 0),
                labels=(note,),
            )
        return chosen, size

    # -- liveness ------------------------------------------------------------------------------------------

    def reachable(self) -> dict[Definition, Definition | None]:
        """What the entries reach, each with the definition that made it live."""
        roots = [
            d
            for d in self.definitions
            if d.function.is_kernel and (not self.options.entries or d.function.name in self.options.entries)
        ]
        if not roots or self.options.relocatable:
            roots = list(self.definitions)
        live: dict[Definition, Definition | None] = {d: None for d in roots}
        if self.taken:
            live |= {d: live.get(d) for d in self.taken}
        work = list(live)
        while work:
            d = work.pop()
            for target in [r.target for r in self.references[d]]:
                if target is not None and target not in live:
                    live[target] = d
                    work.append(target)
        return live

    # -- data ----------------------------------------------------------------------------------------------

    def collect_data(self) -> None:
        """Data sections with their addresses, and the symbols in them."""
        self.data_symbols: dict[str, tuple[str, int, int]] = {}
        self.sections: dict[str, bytearray] = {}
        for index, info in enumerate(self.infos):
            suffix = f".{index}" if index else ""
            for section, contents in info.sections.items():
                self.sections[section.lstrip(".") + suffix] = bytearray(contents)
            for name, (section, offset, size) in info.symbols.items():
                self.data_symbols.setdefault(name, (section.lstrip(".") + suffix, offset, size))
        for name, contents in self.options.data.items():
            self.sections[f"user.{name}"] = bytearray(contents)
            self.data_symbols[name] = (f"user.{name}", 0, len(contents))
        self.addresses = {name: DATA_BASE + i * SLOT + SLOT_OFFSET for i, name in enumerate(self.sections)}
        wanted = {r.symbol for info in self.infos for r in info.relocations}
        self.taken = (
            [d for d in self.definitions if not d.function.is_kernel and d.function.name in wanted]
            if hasattr(self, "definitions")
            else []
        )

    def patch_data(self, image: LinkedImage) -> None:
        for index, info in enumerate(self.infos):
            suffix = f".{index}" if index else ""
            for r in info.relocations:
                if r.symbol in info.symbols:
                    section, offset, _ = info.symbols[r.symbol]
                    address: int | None = self.addresses[section.lstrip(".") + suffix] + offset
                else:
                    address = image.address_of(r.symbol)
                if address is None:
                    if not self.options.allow_undefined:
                        self.error(
                            "L013",
                            f"'{r.symbol}' is not defined; data in {r.section} at {r.offset:#x} refers to it",
                            Span(info.name, 0),
                        )
                elif not patch(self.sections[r.section.lstrip(".") + suffix], r, address):
                    self.error(
                        "L018",
                        f"relocation of kind {r.kind} at {r.section}+{r.offset:#x} cannot be applied",
                        Span(info.name, 0),
                    )

    # -- merge ---------------------------------------------------------------------------------------------

    def run(self) -> Linked:
        """All passes.

        Raises:
            LinkError: with everything that does not fit together.
        """
        self.stop_on_errors()
        if not self.options.relocatable:
            self.pull_members()
        self.index()
        self.collect_data()
        platform, grf_size = self.check_platforms()
        self.resolve()
        kernels = [d.function.name for d in self.definitions if d.function.is_kernel]
        for entry in self.options.entries:
            if entry not in kernels:
                self.error("L019", f"there is no kernel '{entry}'", None, did_you_mean(entry, kernels))
        if not self.definitions:
            self.error(
                "L020",
                "there is nothing to link: the inputs hold no kernel and no function",
                Span(self.objects[0].name, 0) if self.objects else None,
            )
        self.stop_on_errors()
        live = self.reachable()
        keep_all = not (self.options.gc_sections or self.options.entries)
        kept = [d for d in self.definitions if keep_all or d in live]
        discarded = [] if keep_all else [(d, "not reached from any entry") for d in self.definitions if d not in live]
        discarded += [
            (Definition(o, k), "the compiler's placeholder kernel")
            for o in self.objects
            for k in o.module.kernels
            if k.name == VOID_PROGRAM
        ]
        kept.sort(key=lambda d: not d.function.is_kernel)
        module = Module(
            self.objects[0].module.version,
            [d.function for d in kept if d.function.is_kernel],
            [d.function for d in kept if not d.function.is_kernel],
        )
        self.make_names_unique(kept)
        image = LinkedImage(module, platform=platform, grf_size=grf_size, launch=self.options.launch)
        self.merge_info(image)
        self.assign(image, kept)
        self.patch_data(image)
        self.stop_on_errors()
        image.data = [DataSection(n, self.addresses[n], bytes(c), DATA_SECTIONS.get("." + n.split(".0")[0], n.startswith("user.")) or "global" in n)
                      for n, c in self.sections.items()]  # fmt: skip
        return Linked(image, kept, self.references, discarded, self.data_symbols)

    def make_names_unique(self, kept: list[Definition]) -> None:
        """Functions that are private to their objects may share a name; give each its own, and tell the callers."""
        seen: dict[str, int] = {}
        renamed: set[Definition] = set()
        for d in kept:
            name = d.function.name
            count = seen[name] = seen.get(name, 0) + 1
            if count > 1:
                renamed.add(d)
                d.function.name = f"{name}.{count - 1}"
                d.function.strings[d.function.name_index] = d.function.name
                d.function.encoded = None
        for d in kept if renamed else []:
            for reference in self.references[d]:
                if reference.target in renamed:
                    d.function.strings[reference.call.string] = reference.target.function.name
                    d.function.encoded = None

    def assign(self, image: LinkedImage, kept: list[Definition]) -> None:
        """Addresses of functions and data, and the relocation pairs that say what each name became."""
        numbers = {d: i for i, d in enumerate(kept)}
        kernels = len(image.module.kernels)
        for d, i in numbers.items():
            size = d.object.described(d.function)[0]
            binding = STB_GLOBAL if d.function.is_kernel or d.function.is_exported else STB_LOCAL
            image.symbols.append(
                Symbol(d.function.name, image.function_address(i), size, binding=binding, section=".visa")
            )
        for name, (section, offset, size) in self.data_symbols.items():
            image.symbols.append(Symbol(name, self.addresses[section] + offset, size, STT_OBJECT, STB_GLOBAL, "*"))
        data_numbers = {name: i for i, name in enumerate(self.data_symbols)}
        undefined: dict[str, None] = {}
        for d in kept:
            function = d.function
            functions: dict[int, int] = {}
            data: dict[int, int] = {}
            for reference in self.references[d]:
                string, target = reference.call.string, reference.target
                if target is not None and target in numbers:
                    functions[string] = numbers[target] - kernels
                elif reference.name in data_numbers:
                    data[string] = data_numbers[reference.name]
                else:
                    undefined[reference.name] = None
            function.function_relocations = sorted(functions.items())
            function.variable_relocations = sorted(data.items())
        image.symbols += [Symbol(name, kind=STT_NOTYPE) for name in undefined]
        for d in kept:
            if d.function.name in d.object.lines:
                image.lines[d.function.name] = d.object.lines[d.function.name]

    def merge_info(self, image: LinkedImage) -> None:
        """What the compiler said about all kernels, as JSON: it is YAML too, and read many times faster."""
        if self.infos:
            tree = dict(self.infos[0].tree)
            for key in ("kernels", "functions", "kernels_misc_info"):
                entries = [
                    e
                    for info in self.infos
                    for e in info.tree.get(key) or []
                    if len(self.infos) == 1 or e.get("name") != VOID_PROGRAM
                ]
                if entries:
                    tree[key] = entries
            image.ze_info = json.dumps(tree, indent=1, default=str)
        names = {k.name for k in image.module.kernels}
        described = {
            e.get("name") for info in self.infos for e in info.tree.get("kernels") or [] if isinstance(e, dict)
        }
        for info in self.infos[:1]:
            if names and described and not names & described:
                hint = f"it describes {', '.join(sorted(map(str, described)))}"
                self.error(
                    "L021",
                    f"ze_info describes none of the kernels {', '.join(sorted(names))}",
                    Span(info.name, 0),
                    hint,
                )


def link(
    objects: Sequence[str | os.PathLike[str] | bytes],
    ze_info: str | os.PathLike[str] | bytes | None = None,
    options: LinkOptions | None = None,
) -> LinkedImage:
    """Link objects, bare modules and archives, given as paths or bytes.

    Raises:
        LinkError: undefined, duplicate or mismatched symbols; all of them in ``diagnostics``.
        FormatError: an input is damaged.
    """
    with paused_collection():
        linker = Linker(options or LinkOptions())
        for number, item in enumerate(objects):
            if isinstance(item, bytes):
                linker.add_bytes(item, f"<object {number}>")
            else:
                linker.add_file(os.fspath(item))
        if ze_info is not None:
            linker.add_info(
                *(
                    (ze_info, "<ze_info>")
                    if isinstance(ze_info, bytes)
                    else (read_bytes(os.fspath(ze_info)), os.fspath(ze_info))
                )
            )
        return linker.run().image
