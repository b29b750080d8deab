"""Directives of a function: declarations, inputs and attributes (manual, chapter 2)."""

from __future__ import annotations

import re
from collections.abc import Callable

from visakit.binary.declarations import MAXIMUM_OFFSET, MAXIMUM_PREDICATE, MAXIMUM_SIZE, MINIMUM_OFFSET, SIMD_SIZES
from visakit.diagnostics import Label, did_you_mean
from visakit.isa.elsewhere import TYPES_ELSEWHERE
from visakit.language import types
from visakit.language.attributes import KERNEL_ATTRIBUTES, VARIABLE_ATTRIBUTES, AttributeForm
from visakit.language.operands import NULL
from visakit.language.platforms import SMALLEST_GRF_SIZE
from visakit.language.program import (
    FIRST_PREDICATE,
    FIRST_SURFACE,
    FIRST_VARIABLE,
    MAXIMUM_PREDICATES,
    NAMED_SAMPLER,
    Attribute,
    Declared,
    Input,
    Variable,
)
from visakit.rules.call_rules import excess
from visakit.text import syntax
from visakit.text.binder import text_of, unescape
from visakit.text.function_parser import FunctionParser
from visakit.text.names import Symbol
from visakit.text.problem import IN_EXPRESSIONS, Problem
from visakit.text.source import Source
from visakit.text.syntax import DirectiveStatement, NameNode, Placed, SettingNode

_SETTINGS = ("v_type", "type", "num_elts", "align", "alias", "attrs", "v_name")
_IMPLICIT_INPUT = 5
_DUMP = ".isaasm"
"""Suffix of the files with the compiler's own print of a module; parsed texts, as inline assembly, have another."""

Settings = dict[str, Placed]
"""Settings of a directive by name."""


def name_argument(statement: DirectiveStatement) -> str:
    """The name behind a directive, as a word or in quotes; only a kernel may have an empty one."""
    at = statement.arguments[0] if statement.arguments else None
    name = text_of(at.node) if at else None
    if at is None or (not name and statement.word != ".kernel"):
        raise Problem("V008", f"{statement.word} needs a name", f'write {statement.word} "name"', at)
    assert name is not None
    return name


def _value(at: Placed) -> syntax.SettingValue:
    assert isinstance(at.node, SettingNode)
    return at.node.value


def _word(at: Placed) -> str:
    """The word that is the value of a setting; the written text if it is no word."""
    value = _value(at)
    return value.name if isinstance(value, NameNode) else at.text.partition("=")[2].strip()


def _integer(parser: FunctionParser, statement: DirectiveStatement, name: str, low: int, high: int) -> int:
    """The value of a setting that must be there."""
    at = statement.settings.get(name)
    if at is None:
        form = f"write {name}=8"
        if name == "offset":
            is_input = statement.arguments and statement.word == ".input"
            form = f"write {f'{_input_form(parser, statement)}' if is_input else 'offset=64'}"
        raise Problem("V009", f"{statement.word} needs {name}=", form)
    return _integer_value(parser, at, low, high, name)


def _integer_value(parser: FunctionParser, at: Placed, low: int, high: int, what: str = "value") -> int:
    value = _value(at)
    if not isinstance(value, (int, syntax.Operation, syntax.SizeOf, syntax.DispatchSimd)):
        raise Problem("V020", f"'{_word(at)}' is not an integer expression", IN_EXPRESSIONS, at)
    try:
        return parser.binder.integer(value, low, high, what)
    except Problem as problem:
        problem.at = at
        raise


# -- .decl -------------------------------------------------------------------------------------------------------------


def declare(parser: FunctionParser, source: Source, statement: DirectiveStatement) -> None:
    """``.decl``: a variable of any class."""
    if not statement.arguments:
        at = next(iter(statement.settings.values()), None)
        raise Problem("V008", ".decl needs a name", "write .decl V32 v_type=G type=d num_elts=8", at)
    at = statement.arguments[0]
    name = text_of(at.node)
    assert name is not None
    if _is_declared(parser, source, name, at):
        return
    settings = statement.settings
    unknown = next((s for word, s in settings.items() if word not in _SETTINGS), None)
    if unknown is not None:
        word = unknown.text.partition("=")[0].strip()
        hint = did_you_mean(word, _SETTINGS) or f"settings are {', '.join(_SETTINGS)}"
        raise Problem("V009", f"'{word}' is not a setting of .decl", hint, unknown)
    kind = _word(settings["v_type"]) if "v_type" in settings else ""
    if kind not in ("G", "A", "P", "S", "T"):
        message = f"'{kind}' is not a kind of variable" if kind else ".decl needs v_type="
        raise Problem("V009", message, "kinds are G, A, P, S and T", settings.get("v_type", at))
    _check_room(parser, kind, at)
    elements = _integer(parser, statement, "num_elts", 1, MAXIMUM_PREDICATE if kind == "P" else 0xFFFF)
    function = parser.function
    string = function.add_string(name)
    attributes = _variable_attributes(parser, settings)
    if kind == "G":
        index = FIRST_VARIABLE + len(function.variables)
        function.variables.append(_general(parser, source, settings, string, name, elements, attributes))
    else:
        index = _append(parser, kind, Declared(string, name, elements, attributes, parser.line))
    parser.binder.names.define(name, Symbol("V" if kind == "G" else kind, index), parser.line)
    if parser.binder.names.depth > 1:
        parser.forget()


MAXIMUM_DECLARED = {"A": 0xFFFF, "P": MAXIMUM_PREDICATES, "S": NAMED_SAMPLER, "T": 0x100 - FIRST_SURFACE}
"""Variables of a function by kind: as many as the numbers in operands can tell apart."""
MAXIMUM_VALUE, MAXIMUM_ATTRIBUTES = 255, 255
"""Bytes of an attribute's value; attributes of a variable."""


def _check_room(parser: FunctionParser, kind: str, at: Placed) -> None:
    """One more variable of a kind must have a number."""
    function = parser.function
    items = {"A": function.addresses, "P": function.predicates, "S": function.samplers, "T": function.surfaces}
    if kind in items and len(items[kind]) >= MAXIMUM_DECLARED[kind]:
        message = f"'{function.name}' has more than {MAXIMUM_DECLARED[kind]} variables of kind {kind}"
        raise Problem("V029", message, at=at)


def _is_declared(parser: FunctionParser, source: Source, name: str, at: Placed) -> bool:
    """Whether a name is taken in this scope, which is an error."""
    before = parser.binder.names.declared_here(name)
    if before is None:
        return False
    note = (Label(source.name_span(before, name), "it was declared here"),) if before else ()
    message = f"'{name}' is {'declared twice' if before else 'predefined'}"
    hint = ""
    if before and source.file.endswith(_DUMP):
        hint = "the dump of a kernel with inline assembly declares twice; assemble the file beside it, *.inline.visaasm"
    source.report(Problem("V025", message, hint), parser.line, at, note)
    return True


def _append(parser: FunctionParser, kind: str, declared: Declared) -> int:
    """Append a variable other than a general one; gives its index."""
    function = parser.function
    items, first = {
        "A": (function.addresses, 0),
        "P": (function.predicates, FIRST_PREDICATE),
        "S": (function.samplers, 0),
        "T": (function.surfaces, FIRST_SURFACE),
    }[kind]
    items.append(declared)
    return first + len(items) - 1


def _type_hint(name: str) -> str:
    """What to write for a name that is no type of elements, such as C's."""
    known = [n for n, t in types.BY_NAME.items() if t.is_element]
    if name in TYPES_ELSEWHERE:
        return f"write type={TYPES_ELSEWHERE[name]}"
    return did_you_mean(name, known) or f"types are {', '.join(known)}"


def _general(
    parser: FunctionParser,
    source: Source,
    settings: Settings,
    string: int,
    name: str,
    elements: int,
    attributes: list[Attribute],
) -> Variable:
    """A general variable: type, alignment, and the variable that it is an alias of."""
    if "type" not in settings:
        raise Problem("V009", ".decl of a general variable needs type=", "write type=d")
    type_name = _word(settings["type"])
    data_type = types.BY_NAME.get(type_name.lower())
    if data_type is None or not data_type.is_element:
        hint = _type_hint(type_name.lower())
        raise Problem("V022", f"'{type_name}' is not a type of a variable", hint, settings["type"])
    align = _alignment(parser, settings["align"]) if "align" in settings else 0
    alias = _alias(parser, source, settings["alias"], name, elements * data_type.size) if "alias" in settings else None
    return Variable(string, name, data_type, elements, align, alias, attributes, parser.line)


def _alignment(parser: FunctionParser, at: Placed) -> int:
    """The code of an alignment: a word, or a number of bytes."""
    value = _value(at)
    if isinstance(value, NameNode):
        if value.name not in types.ALIGNMENT_CODES:
            hint = did_you_mean(value.name, types.ALIGNMENT_CODES) or "write GRF or a number of bytes"
            raise Problem("V009", f"'{value.name}' is not an alignment", hint, at)
        return types.ALIGNMENT_CODES[value.name]
    size = _integer_value(parser, at, -(1 << 63), (1 << 64) - 1)
    if size not in types.ALIGNMENT_OF_BYTES:
        raise Problem("V009", f"{size} is not an alignment", "it is 1, 2, 4, 8, 16, 32, 64 or 128", at)
    return types.ALIGNMENT_OF_BYTES[size]


def _alias(parser: FunctionParser, source: Source, at: Placed, name: str, size: int) -> tuple[int, int]:
    """Variable and byte offset in it.

    An offset outside is an error, ``size`` bytes from there that reach beyond its end are a warning.
    """
    node = _value(at)
    if not isinstance(node, syntax.AliasNode):
        word = _word(at)
        hint = f"write alias=<{word if word.removeprefix('%').isidentifier() else 'V32'}, 0>"
        raise Problem("V009", f"'{word}' is not an alias", hint, at)
    try:
        index = parser.binder.symbol(node.name, "V").index
        offset = parser.binder.integer(node.offset, 0, 0xFFFF, "byte offset")
    except Problem as problem:
        problem.at = at
        raise
    if index == NULL.var and offset:  # With offset 0 a module says that a variable is no alias.
        raise Problem("V031", f"'{name}' begins at byte {offset} of %null, which has none", at=at)
    room = parser.binder.size_of(node.name) or 0
    if offset >= room:
        message = f"'{name}' begins at byte {offset} of '{node.name}', which has {room} bytes"
        raise Problem("V031", message, at=at)
    if offset + size > room:
        message = f"'{name}' reaches to byte {offset + size} of '{node.name}', which has {room} bytes"
        source.warn("W021", message, parser.line, at, "operands must lie within the bytes that both have")
    return index, offset


def _variable_attributes(parser: FunctionParser, settings: Settings) -> list[Attribute]:
    at = settings.get("attrs")
    if at is None:
        return []
    node = _value(at)
    if not isinstance(node, syntax.AttributesNode):
        raise Problem("V009", f"'{_word(at)}' is not a list of attributes", "write attrs={Input, Scope=3}", at)
    if len(node.items) > MAXIMUM_ATTRIBUTES:
        raise Problem("V029", f"a variable has at most {MAXIMUM_ATTRIBUTES} attributes", at=at)
    found = []
    for name, value in node.items:
        if name not in VARIABLE_ATTRIBUTES:
            hint = did_you_mean(name, VARIABLE_ATTRIBUTES)
            raise Problem("V027", f"'{name}' is not an attribute of a variable", hint, at)
        data = _attribute_value(parser, value, at)
        _check_value(name, VARIABLE_ATTRIBUTES[name], value, data, at)
        found.append(Attribute(parser.function.add_string(name), name, data))
    return found


# -- .kernel_attr and .input -------------------------------------------------------------------------------------------


def _attribute_value(parser: FunctionParser, value: syntax.SettingValue, at: Placed) -> bytes | None:
    """The stored bytes of an attribute's value, None without a value."""
    if value is None:
        return None
    if isinstance(value, syntax.StringNode):
        data = unescape(value.literal).encode("utf-8", "surrogateescape")
        if len(data) > MAXIMUM_VALUE:
            raise Problem("V029", f"the value has {len(data)} bytes, an attribute holds {MAXIMUM_VALUE}", at=at)
        return data
    if isinstance(value, (syntax.AliasNode, syntax.AttributesNode)):
        raise Problem("V020", f"'{_word(at)}' is not an integer expression", IN_EXPRESSIONS, at)
    number = parser.binder.integer(value, -(1 << 31), (1 << 32) - 1)
    return (number & 0xFFFFFFFF).to_bytes(4, "little")


def _check_value(name: str, form: AttributeForm, value: syntax.SettingValue, data: bytes | None, at: Placed) -> None:
    """Hold the value of an attribute against the table."""
    given: int | str | None = None
    if data is not None:
        is_text = isinstance(value, syntax.StringNode)
        given = data.decode("utf-8", "replace") if is_text else int.from_bytes(data, "little")
    wanted = form.problem(given)
    if wanted:
        found = "no value"
        if given is not None:
            is_number = isinstance(value, int)
            found = f"the value {value if is_number else repr(given) if isinstance(given, str) else _word(at)}"
        raise Problem("V027", f"{name} cannot have {found}", wanted, at)


def kernel_attribute(parser: FunctionParser, source: Source, statement: DirectiveStatement) -> None:
    """``.kernel_attr NAME`` or ``NAME=value``."""
    given = [*statement.arguments, *statement.settings.values()]
    if not given:
        raise Problem("V008", ".kernel_attr needs a name", "write .kernel_attr SimdSize=16")
    at = given[0]
    node = at.node if isinstance(at.node, SettingNode) else SettingNode(at.text, None)
    name = node.name
    if name not in KERNEL_ATTRIBUTES:
        message = f"'{name}' is not a known attribute of a kernel"
        source.warn("W002", message, parser.line, at, did_you_mean(name, KERNEL_ATTRIBUTES))
    data = _attribute_value(parser, node.value, at)
    if name == "Target":
        targets = {b"cm": b"\0", b"3d": b"\1"}
        if data not in targets:
            word = at.text if node.value is None else _word(at)
            raise Problem("V027", f"{word} is not a target", 'write Target="cm" or Target="3d"', at)
        data = targets[data]
    if name == "SimdSize" and data is not None and int.from_bytes(data, "little") not in SIMD_SIZES:
        raise Problem("V027", f"{_word(at)} is not a SIMD size", "it is 8, 16 or 32", at)
    problem = excess(name, int.from_bytes(data or b"\1", "little"))
    if problem:
        raise Problem("V070", problem, "pass the rest in memory", at)
    if name in KERNEL_ATTRIBUTES and name != "Target":
        _check_value(name, KERNEL_ATTRIBUTES[name], node.value, data, at)
    if name == "AsmName":
        name = "OutputAsmPath"
    if len(parser.function.attributes) >= 0xFFFE:  # and Target, which may follow
        raise Problem("V029", f"'{parser.function.name}' has more than 65535 attributes", at=at)
    parser.function.attributes.append(Attribute(parser.function.add_string(name), name, data))


def declare_input(parser: FunctionParser, source: Source, statement: DirectiveStatement) -> None:
    """``.input`` and its relatives: a variable that the payload fills; ``offset`` and ``size`` in bytes."""
    if not statement.arguments:
        raise Problem("V008", f"{statement.word} needs a variable")
    at = statement.arguments[0]
    name = text_of(at.node)
    assert name is not None
    settings = statement.settings
    try:
        symbol = parser.binder.symbol(name, "VST")
    except Problem as problem:
        problem.at = at
        if "declare it: " in problem.hint:
            similar = problem.hint.partition("declare it: ")[0]
            problem.hint = f"{similar}declare it: {_declaration_of_input(name, settings)}"
        raise
    offset = 0
    if statement.word != ".parameter":
        offset = _integer(parser, statement, "offset", MINIMUM_OFFSET, MAXIMUM_OFFSET)
    size = _size_of_input(parser, statement, at)
    register = parser.platform.grf_size if parser.platform else SMALLEST_GRF_SIZE
    if statement.word != ".parameter" and offset < register and size:
        where = "in" if offset >= 0 else "before"
        message = f"this input begins at byte {offset}, {where} '%r0', which has the first {register} bytes"
        hint = f"the payload begins after it: write offset={register} or more"
        source.warn("W020", message, parser.line, settings["offset"], hint)
    kind = {"V": 0, "S": 1, "T": 2}[symbol.kind]
    if statement.word.startswith(".implicit_") and "size" in settings:
        m = re.fullmatch(r"\.implicit_UNDEFINED_0*(\d+)", statement.word)
        if m and (len(m[1]) > 2 or int(m[1]) > 31):
            raise Problem("V029", f"{statement.word} does not exist", "kinds of implicit arguments are 0 to 31")
        kind |= (int(m[1]) if m else _IMPLICIT_INPUT) << 3
    parser.function.inputs.append(Input(kind, symbol.index, offset, size, parser.line))


def _size_of_input(parser: FunctionParser, statement: DirectiveStatement, at: Placed) -> int:
    """The size that an input says, or that of its variable."""
    if "size" in statement.settings:
        return _integer(parser, statement, "size", 0, MAXIMUM_SIZE)
    size = parser.binder.size_of(at.text) or 4
    if size > 0xFFFF:
        raise Problem("V029", f"an input has at most 65535 bytes, '{at.text}' has {size}", "write size=", at)
    return size


def _input_form(parser: FunctionParser, statement: DirectiveStatement) -> str:
    """How to write an input whose place is missing: behind those before it, with the size of its variable."""
    name = statement.arguments[0].text
    register = parser.platform.grf_size if parser.platform else SMALLEST_GRF_SIZE
    size = parser.binder.size_of(name) or 8
    end = max([2 * register, *(i.offset + i.size for i in parser.function.inputs)])
    return f".input {name} offset={-(-end // 8) * 8} size={size}"


def _declaration_of_input(name: str, settings: Settings) -> str:
    """How to declare the variable of an input: it has as many bytes as the input."""
    size = _value(settings["size"]) if "size" in settings else None
    size = size if type(size) is int and size > 0 else 8
    data_type = next(t for t in (types.UQ, types.UD, types.UW, types.UB) if size % t.size == 0 and size >= t.size)
    if size > types.UQ.size:
        data_type = types.UD if size % 4 == 0 else types.UB
    return f".decl {name} v_type=G type={data_type} num_elts={size // data_type.size} align=GRF"


Directive = Callable[[FunctionParser, Source, DirectiveStatement], None]
FUNCTION_DIRECTIVES: dict[str, Directive] = {
    ".decl": declare, ".kernel_attr": kernel_attribute, ".input": declare_input, ".parameter": declare_input,
}  # fmt: skip
"""Reader of the directives within a function; names that begin with ``.implicit_`` are inputs."""
