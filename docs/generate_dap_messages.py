"""Write the types of the Debug Adapter Protocol's messages, out of its published schema, ``debugAdapterProtocol.json``.

With a path the schema is read from there, and its structure is kept for the tests, without descriptions.
"""

import json
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "tests" / "data" / "dap" / "protocol.json"
OUTPUT = ROOT / "vsim" / "debug" / "dap" / "messages.py"
HEAD = '''"""Bodies of messages of the Debug Adapter Protocol that the server writes; ``docs/generate_dap_messages.py`` writes
them out of the published schema. Names that the generator adds begin with ``Dap``.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

# fmt: off
'''
TYPES = {"string": "str", "integer": "int", "boolean": "bool", "number": "float", "null": "None"}
PROSE = ("description", "title", "enumDescriptions", "_enumDescriptions", "$comment")
Schema = dict[str, object]


def structure(schema: object, is_named: bool = False) -> object:
    """A schema without its prose; ``is_named``: its keys are names of properties or definitions."""
    if isinstance(schema, list):
        return [structure(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if is_named or key not in PROSE}
    return {key: structure(value, key in ("properties", "definitions") and not is_named) for key, value in kept.items()}


def written(schema: Schema) -> str:
    """The structure, a definition in a line."""
    definitions = schema["definitions"]
    assert isinstance(definitions, dict)
    lines = [f"{json.dumps(name)}: {json.dumps(own)}" for name, own in definitions.items()]
    head = {key: value for key, value in schema.items() if key != "definitions"}
    return json.dumps(head)[:-1] + ', "definitions": {\n' + ",\n".join(lines) + "\n}}\n"


class Messages:
    """The classes of some messages and of all that they refer to."""

    def __init__(self, definitions: dict[str, Schema]) -> None:
        self.definitions, self.classes = definitions, dict[str, str]()

    def add(self, name: str, schema: Schema, prefix: str = "") -> str:
        """Enter the class of an object; gives its name, which ``prefix`` begins."""
        original, name = name, prefix + name
        if name in self.classes:
            return name
        self.classes[name] = ""
        properties, required = self.parts(schema)
        fields = []
        for own, kind in properties.items():
            text = self.type(kind)
            line = f"{own}: {text if own in required else f'NotRequired[{text}]'}"
            fields.append(textwrap.fill(line, 112, initial_indent="    ", subsequent_indent=8 * " "))
        lines = [f"class {name}(TypedDict):", f'    """``{original}`` of the protocol."""', "", *fields]
        self.classes[name] = "\n".join(lines)
        return name

    def parts(self, schema: Schema) -> tuple[dict[str, Schema], set[str]]:
        """The properties of an object and its bases, and the names of the required ones."""
        properties, required = dict[str, Schema](), set[str]()
        for base in schema.get("allOf", []):
            more, needed = self.parts(self.definitions[base["$ref"].split("/")[-1]] if "$ref" in base else base)
            properties |= more
            required |= needed
        return properties | schema.get("properties", {}), required | set(schema.get("required", ()))

    def type(self, schema: Schema) -> str:
        """A type of Python."""
        if "$ref" in schema:
            name = schema["$ref"].split("/")[-1]
            target = self.definitions[name]
            if target.get("type") == "object" or "allOf" in target:
                return self.add(name, target, "Dap")
            return self.type(target)
        if "enum" in schema:
            return f"Literal[{', '.join(json.dumps(word) for word in schema['enum'])}]"
        kind = schema.get("type")
        if isinstance(kind, list):
            known = [TYPES.get(word, "object") for word in kind]
            return "object" if "object" in known else " | ".join(known)
        if kind == "array":
            return f"list[{self.type(schema.get('items', {}))}]"
        return TYPES.get(str(kind), "dict[str, object]" if kind == "object" else "object")


def bodies(definitions: dict[str, Schema]) -> Iterator[tuple[str, Schema]]:
    """Bodies of responses and events whose types the server names."""
    server = "".join((OUTPUT.parent / name).read_text() for name in ("server.py", "views.py"))
    for name in sorted(set(re.findall(r"messages\.(\w+)Body\b", server)), key=lambda n: (n.endswith("Event"), n)):
        body = definitions[name]["allOf"][1]["properties"]["body"]
        yield f"{name}Body", definitions[body["$ref"].split("/")[-1]] if "$ref" in body else body


def classes(schema: Schema) -> str:
    """The module of types."""
    definitions = schema["definitions"]
    messages = Messages(definitions)
    for name, body in bodies(definitions):
        messages.add(name, body)
    return "\n\n\n".join([HEAD.rstrip("\n"), *messages.classes.values()]) + "\n"


def main() -> None:
    if len(sys.argv) > 1:
        KEPT.write_text(written(structure(json.loads(Path(sys.argv[1]).read_text()))))
    OUTPUT.write_text(classes(json.loads(KEPT.read_text())))


if __name__ == "__main__":
    main()
