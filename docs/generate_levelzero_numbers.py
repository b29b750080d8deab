"""Write the numbers and structures of Level Zero that the driver and its tests use, out of the public headers.

Debian's headers (libze-dev) lack what newer versions of the interface have: give the folder of newer ones.
"""

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "visakit" / "levelzero"
HEADERS = Path("/usr/include/level_zero")
FILES = ("ze_api.h", "zes_api.h")
HEAD = '"""{what} of Level Zero; ``docs/generate_levelzero_numbers.py`` writes them out of the public headers."""\n'
STATUSES = '''
STATUS_NAMES = {number: name for name, number in globals().items() if name.startswith("ZE_RESULT_")}
"""Names of the results of functions."""

'''
MAKER = """
from visakit.levelzero.layout import structure

# fmt: off
"""
_C_TYPES = {
    "uint8_t": "u8", "uint16_t": "u16", "uint32_t": "u32", "uint64_t": "u64", "int32_t": "i32", "int64_t": "i64",
    "float": "f32", "double": "f64", "size_t": "u64", "uintptr_t": "u64", "char": "u8", "int": "i32",
}  # fmt: skip


def headers(folder: Path) -> str:
    """The headers without comments."""
    return "".join(re.sub(r"///.*", "", (folder / name).read_text()) for name in FILES)


def numbers(text: str) -> dict[str, int | str]:
    """All numbers of enumerations and definitions, and the names of extensions."""
    found: dict[str, int | str] = {}
    for name, value in re.findall(r'^#define\s+(ZE\w+)\s+("[^"]*"|0x[0-9a-fA-F]+|\d+)\s*$', text, re.MULTILINE):
        found[name] = value.strip('"') if value.startswith('"') else int(value, 0)
    for body in re.findall(r"typedef enum \w+\s*\{(.*?)\}", text, re.DOTALL):
        value = -1
        for entry in re.split(r",(?![^(]*\))", body):
            name, _, given = (word.strip() for word in entry.partition("="))
            if name and not name.endswith("FORCE_UINT32"):
                value = _value(given, found) if given else value + 1
                found.setdefault(name, value)
    return found


def _value(given: str, found: dict[str, int | str]) -> int:
    """A number as an enumeration gives it."""
    if match := re.fullmatch(r"ZE_BIT\(\s*(\d+)\s*\)", given):
        return 1 << int(match[1])
    if match := re.fullmatch(r"ZE_MAKE_VERSION\(\s*(\d+),\s*(\d+)\s*\)", given):
        return int(match[1]) << 16 | int(match[2])
    if given in found:
        return int(found[given])
    return int(given, 0) if re.fullmatch(r"0x[0-9a-fA-F]+|\d+", given) else 0


def structures(text: str, known: dict[str, int | str]) -> dict[str, list[tuple[str, str]]]:
    """The fields of all structures: type in the words of ``layout``, and name."""
    small = {name: _C_TYPES[kind] for kind, name in re.findall(r"typedef (uint\d+_t|uintptr_t) (\w+);", text)}
    enums = set(re.findall(r"typedef enum _(\w+)", text))
    bodies = re.findall(r"typedef struct _(\w+)\s*\{(.*?)\}", text, re.DOTALL)
    names = {name for name, _ in bodies}
    found: dict[str, list[tuple[str, str]]] = {}
    for structure, body in bodies:
        fields = []
        for kind, pointer, name, count in re.findall(r"(?:const\s+)?(\w+)\s*(\**)\s*(\w+)\s*(?:\[(\w+)\])?;", body):
            word = (
                "u32" if kind in enums else small.get(kind) or _C_TYPES.get(kind) or (kind if kind in names else "u64")
            )
            word = "u64" if pointer else word
            fields.append((f"{word}[{known.get(count, count)}]" if count else word, name))
        found[structure] = fields
    return found


def sources() -> str:
    """The text of the driver and its tests."""
    own = [p for p in PACKAGE.rglob("*.py") if p.name not in ("ze.py", "structures.py")]
    return "".join(path.read_text() for path in [*own, *(ROOT / "tests").rglob("*.py")])


def number_text(known: dict[str, int | str], text: str) -> str:
    """The module of numbers: all results, then the other numbers that are used."""
    used = set(re.findall(r"\bze\.(ZES?_\w+)", text))
    results = {n: v for n, v in known.items() if n.startswith("ZE_RESULT_") and isinstance(v, int)}
    rest = {name: known[name] for name in known if name in used - set(results)}
    missing(used - set(known))
    return HEAD.format(what="Numbers") + "\n# fmt: off\n" + _lines(results) + STATUSES + _lines(rest)


def structure_text(all_fields: dict[str, list[tuple[str, str]]], known: dict[str, int | str], text: str) -> str:
    """The module of structures: the used ones, and the structures in them."""
    used = {word for word in re.findall(r"\bzes?_\w+_t\b", text) if word in all_fields}
    missing({w for w in re.findall(r"\bstructures\.(zes?_\w+_t)\b", text) if w not in all_fields})
    wanted = set(used)
    while more := {k.split("[")[0] for s in wanted for k, _ in all_fields[s]} & set(all_fields) - wanted:
        wanted |= more
    made = [
        _structure(name, fields, known.get(_type_of(name))) for name, fields in all_fields.items() if name in wanted
    ]
    return HEAD.format(what="Structures") + MAKER + "".join(made)


def _type_of(structure: str) -> str:
    """The name of the number of a structure: ZE_STRUCTURE_TYPE_FENCE_DESC of ze_fence_desc_t."""
    interface, _, name = structure.removesuffix("_t").upper().partition("_")
    return f"{interface}_STRUCTURE_TYPE_{name}"


def _structure(name: str, fields: list[tuple[str, str]], number: int | str | None) -> str:
    layout = ", ".join(f"{kind} {field}" for kind, field in fields)
    last = f", {_shown(number)})\n" if number is not None else ")\n"
    if len(line := f'{name} = structure("{name}", "{layout}"{last}') <= 121:
        return line
    lines = textwrap.wrap(layout, 102)
    shown = "\n".join(f'    "{part}{" " * (n + 1 < len(lines))}"' for n, part in enumerate(lines))
    head = f'{name} = structure("{name}",'
    return (head if len(head) <= 120 else f'{name} = structure(\n    "{name}",') + f"\n{shown}{last}"


def missing(names: set[str]) -> None:
    """Refuse headers that lack names."""
    if names:
        raise SystemExit(f"the headers lack {', '.join(sorted(names))}")


def _lines(found: dict[str, int | str]) -> str:
    return "".join(f"{n} = {v if isinstance(v, int) and v < 10 else _shown(v)}\n" for n, v in found.items())


def _shown(value: int | str) -> str:
    return f"0x{value:X}" if isinstance(value, int) else f'"{value}"'


if __name__ == "__main__":
    header = headers(Path(sys.argv[1]) if len(sys.argv) > 1 else HEADERS)
    known, own = numbers(header), sources()
    (PACKAGE / "ze.py").write_text(number_text(known, own))
    (PACKAGE / "structures.py").write_text(structure_text(structures(header, known), known, own))
