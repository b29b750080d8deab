"""Modules: making, linking, queries."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import partial

from visakit.levelzero import ze
from visakit.levelzero.calls import entry
from visakit.levelzero.calls.contexts import context_device
from visakit.levelzero.layout import Structure
from visakit.levelzero.memory import buffer_at
from visakit.levelzero.modules import ApiModule, BuildLog, ModuleLinkError, ModulePart, build_options
from visakit.levelzero.parameters import described, extensions, fill, find_all, give, give_bytes, need, structure
from visakit.levelzero.structures import (
    ze_linkage_inspection_ext_desc_t,
    ze_module_constants_t,
    ze_module_desc_t,
    ze_module_program_exp_desc_t,
    ze_module_properties_t,
)
from visakit.runtime import host
from visakit.runtime.errors import CallError, require
from visakit.runtime.specialisation import linkage

_LARGEST_MODULE = 1 << 31


def _constants(address: int) -> Mapping[int, Callable[[int], bytes]]:
    """Specialisation constants: functions that read the value, by number."""
    if not address:
        return {}
    given = ze_module_constants_t.at(address)
    if not given.numConstants:
        return {}
    need(given.pConstantIds, given.pConstantValues)
    places = host.read_sizes(given.pConstantValues, given.numConstants)
    need(*places)
    ids = [host.read_u32(given.pConstantIds + 4 * n) for n in range(given.numConstants)]
    return {number: partial(host.read, place) for number, place in zip(ids, places, strict=True)}


def _part(place: int, size: int, flags: int, constants: int) -> ModulePart:
    need(place)
    require(0 < size < _LARGEST_MODULE, ze.ZE_RESULT_ERROR_INVALID_SIZE, f"a module of {size} bytes")
    return ModulePart(host.read(place, size), build_options(host.text_at(flags)), _constants(constants))


def _parts(given: Structure, chain: Mapping[int, int]) -> list[ModulePart]:
    """The inputs of a module: one, or those of the extension for several."""
    place = chain.get(ze_module_program_exp_desc_t.number)
    if place is None:
        return [_part(given.pInputModule, given.inputSize, given.pBuildFlags, given.pConstants)]
    several = ze_module_program_exp_desc_t.at(place)
    need(several.inputSizes, several.pInputModules)
    require(several.count, ze.ZE_RESULT_ERROR_INVALID_SIZE, "there are no modules")
    none = (0,) * several.count
    sizes, places = (host.read_sizes(a, several.count) for a in (several.inputSizes, several.pInputModules))
    options, constants = (
        host.read_sizes(a, several.count) if a else none for a in (several.pBuildFlags, several.pConstants)
    )
    return [_part(*values) for values in zip(places, sizes, options, constants, strict=True)]


@entry
def zeModuleCreate(context: int, device: int, desc: int, target: int, log: int) -> None:
    """A module of SPIR-V or of a zebin; its log is there also where that fails."""
    own, chosen = context_device(context, device)
    given = structure(ze_module_desc_t, desc)
    chain = extensions(desc)
    need(target)
    known = given.format in (ze.ZE_MODULE_FORMAT_IL_SPIRV, ze.ZE_MODULE_FORMAT_NATIVE)
    require(known, ze.ZE_RESULT_ERROR_INVALID_ENUMERATION, f"the format {given.format}")
    module = ApiModule(own, chosen, _parts(given, chain), given.format == ze.ZE_MODULE_FORMAT_NATIVE)
    try:
        module.build()
    finally:
        if log:
            host.write_size(log, BuildLog(module.log).handle)
    host.write_size(target, module.handle)


@entry
def zeModuleDynamicLink(count: int, modules: int, log: int) -> None:
    """Link modules that import functions of each other."""
    given = find_all(ApiModule, modules, count)
    require(given, ze.ZE_RESULT_ERROR_INVALID_SIZE, "there are no modules")
    text = ""
    try:
        for module in given:
            text += module.link([m for m in given if m is not module])
    except ModuleLinkError as problem:
        text += problem.log
        raise
    finally:
        if log:
            host.write_size(log, BuildLog(text).handle)


@entry
def zeModuleInspectLinkageExt(desc: int, count: int, modules: int, log: int) -> None:
    """The imports and exports of modules as the text of a log."""
    wanted = structure(ze_linkage_inspection_ext_desc_t, desc).flags
    given = find_all(ApiModule, modules, count)
    need(log)
    every = [linkage(module.source) for module in given if module.source is not None]
    exports = {name for one in every for name in one.exports}
    imports = {name for one in every for name in one.imports}
    lines = {
        ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_IMPORTS: ("imports", imports & exports),
        ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_UNRESOLVABLE_IMPORTS: ("unresolved imports", imports - exports),
        ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_EXPORTS: ("exports", exports),
    }
    text = "".join(f"{title}: {', '.join(sorted(names))}\n" for flag, (title, names) in lines.items() if wanted & flag)
    host.write_size(log, BuildLog(text).handle)


@entry
def zeModuleGetNativeBinary(module: ApiModule, size: int, target: int) -> None:
    """The zebin of a module."""
    give_bytes(size, target, module.program.builds[module.device].binary)


@entry
def zeModuleGetGlobalPointer(module: ApiModule, name: int, size: int, target: int) -> None:
    """The address and the bytes of data by name."""
    need(name)
    text = host.text_at(name)
    address = module.address_of(text)
    buffer = buffer_at(module.context, address) if address else None
    if buffer is None or module.loaded is None:
        raise CallError(ze.ZE_RESULT_ERROR_INVALID_GLOBAL_NAME, f"there is no data '{text}'")
    symbol = next(s for s in module.loaded.image.symbols if s.name == text and s.section)
    host.write_size(size, symbol.size or buffer.address + buffer.size - address)
    host.write_size(target, address)


@entry
def zeModuleGetFunctionPointer(module: ApiModule, name: int, target: int) -> None:
    """The address of a function by name."""
    need(name, target)
    text = host.text_at(name)
    address = module.address_of(text)
    is_function = module.loaded is not None and module.loaded.image.function_at(address) is not None
    require(is_function, ze.ZE_RESULT_ERROR_INVALID_FUNCTION_NAME, f"there is no function '{text}'")
    host.write_size(target, address)


@entry
def zeModuleGetKernelNames(module: ApiModule, count: int, names: int) -> None:
    """The names of the kernels, or how many there are."""
    if not module.names:
        module.names = [ctypes.create_string_buffer(name.encode()) for name in module.program.kernel_names()]
    give(count, names, [ctypes.addressof(place).to_bytes(8, "little") for place in module.names])


@entry
def zeModuleGetProperties(module: ApiModule, properties: int) -> None:
    """Whether a module has imports."""
    target = described(ze_module_properties_t, properties)
    fill(target, {"flags": ze.ZE_MODULE_PROPERTY_FLAG_IMPORTS if module.imports else 0})


@entry
def zeModuleBuildLogGetString(log: BuildLog, size: int, target: int) -> None:
    """The text of a log."""
    give_bytes(size, target, log.text.encode("utf-8", "surrogateescape") + b"\0")
