"""The form of launch files: every key of every object in them, with its meaning.

The reader of launch files refuses other keys. ``make docs`` makes docs/launch-files.md and the JSON Schema beside it of
this table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from visakit.diagnostics import did_you_mean

JsonSchema = dict[str, object]
_NUMBER: JsonSchema = {"type": "number"}
_TOLERANCE: JsonSchema = {"type": "number", "minimum": 0}
_FILE: JsonSchema = {"type": "string", "minLength": 1}
_TEXT: JsonSchema = {"type": "string"}


class Form(NamedTuple):
    """The form of a value: in words, and as JSON Schema."""

    words: str
    schema: JsonSchema


def _sizes(least: int) -> JsonSchema:
    one: JsonSchema = {"type": "integer", "minimum": least, "exclusiveMaximum": 1 << 32}
    return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1, "maxItems": 3}]}


def _list_of(kind: str) -> JsonSchema:
    return {"type": "array", "items": {"$ref": f"#/$defs/{kind}"}}


def _by_number(value: JsonSchema) -> JsonSchema:
    return {"type": "object", "propertyNames": {"pattern": "^[0-9]+$"}, "additionalProperties": value}


FORMS: dict[str, Form] = {
    "file": Form("file name", _FILE),
    "file or null": Form("file name or null", {"anyOf": [_FILE, {"type": "null"}]}),
    "text": Form("text", _TEXT),
    "truth": Form("true or false", {"enum": [True, False, 0, 1]}),
    "tolerance": Form("number from 0 on", _TOLERANCE),
    "sizes": Form("number, or list of one to three, from 1 on", _sizes(1)),
    "offsets": Form("number, or list of one to three, from 0 on", _sizes(0)),
    "numbers": Form("number or list of numbers", {"anyOf": [_NUMBER, {"type": "array", "items": _NUMBER}]}),
    "part": Form(
        "two numbers: the first element, and how many",
        {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2, "maxItems": 2},
    ),
    "bytes": Form("number of bytes", {"type": "integer", "minimum": 1, "exclusiveMaximum": 1 << 28}),
    "launches": Form("list of launches", _list_of("launch") | {"minItems": 1}),
    "arguments": Form("list of arguments", _list_of("argument")),
    "sampler": Form("object", {"$ref": "#/$defs/sampler"}),
    "anything": Form("anything", {}),
    "grid": Form("number from 1 to 65535", {"type": "integer", "minimum": 1, "exclusiveMaximum": 1 << 16}),
    "files by number": Form("object: number to file name", _by_number(_FILE)),
    "constants": Form("object: c0, i0, b0 to value", {"type": "object"}),
    "outputs": Form(
        "object: number to file name or output", _by_number({"anyOf": [_FILE, {"$ref": "#/$defs/output"}]})
    ),
}
"""Forms of values by name."""


class Key(NamedTuple):
    """A key of an object of a launch file; ``form`` is one of :data:`FORMS`."""

    form: str
    meaning: str
    required: bool = False


class Shape(NamedTuple):
    """An object of a launch file: its name in messages, its meaning, its keys."""

    title: str
    meaning: str
    keys: Mapping[str, Key]


_NAME = {"name": Key("text", "The `.input` variable that it goes to, of kernels without ze_info.")}
_CHECKS = {
    "expect": Key("file", "What it holds after the launch; a difference fails the run."),
    "rtol": Key("tolerance", "Relative tolerance: `|got - expected| <= atol + rtol * |expected|`. 0 if missing."),
    "atol": Key("tolerance", "Absolute tolerance. 0 if missing."),
    "out": Key("file", "Where it is saved after the launch, relative to `--out-dir`: `.npy`, else its bytes alone."),
}
_SHARED = {
    "shared": Key(
        "text",
        "A name. Later arguments of that name are the same memory, as launches left it; their files are not read.",
    )
}

FILE, LAUNCH, GRID_LAUNCH, SAMPLER_STATE, OUTPUT = "file", "launch", "grid launch", "sampler", "output"
ARGUMENTS = ("buffer", "scalar", "local", "image", "sampler argument")
_FILE_KEYS = {
    "launches": Key("launches", "What runs, in order.", required=True),
    "options": Key("text", "What the kernels were compiled with; for people."),
    "directory": Key("text", "The way to the files from an image that the launch was linked into. The linker adds it."),
    "$schema": Key("text", "For editors: where the JSON Schema is."),
}
SHAPES: dict[str, Shape] = {
    FILE: Shape("a launch file", "The file is one object.", _FILE_KEYS),
    LAUNCH: Shape(
        "a launch",
        "One run of a kernel.",
        {
            "kernel": Key("text", "Its name; may be missing if the image has one."),
            "global_size": Key("sizes", "Work-items along each dimension.", required=True),
            "local_size": Key(
                "sizes", "Work-items of a group. What the kernel requires if missing, else one is chosen."
            ),
            "global_offset": Key("offsets", "What global ids begin with. 0 if missing."),
            "args": Key("arguments", "In the order of the kernel's arguments."),
        },
    ),
    "buffer": Shape(
        "a buffer",
        "Global or constant memory.",
        {
            "buffer": Key(
                "file or null", "What it holds at first: `.npy`, else bytes. null is the null pointer.", True
            ),
            **_CHECKS,
            **_SHARED,
            **_NAME,
            "part": Key(
                "part",
                "The argument is this part of it alone; with `shared`, several arguments are parts of one memory, in "
                "which `--guard` keeps them apart.",
            ),
        },
    ),
    "scalar": Shape(
        "a scalar",
        "A number, vector or structure by value.",
        {
            "scalar": Key("numbers", "Its value; of vectors and structures the elements, one after the other.", True),
            "type": Key(
                "text",
                "Of the elements: i8 to i64, u8 to u64, f16, f32, f64, or OpenCL's word. If missing, that of the "
                "kernel's argument; where that is not known, f32 of numbers with a point, else i32.",
            ),
            **_NAME,
        },
    ),
    "local": Shape(
        "local memory", "Local memory of a group.", {"local": Key("bytes", "Its size.", required=True), **_NAME}
    ),
    "image": Shape(
        "an image",
        "An image, whose file is an array of (depth or layers,) height, width, channels.",
        {
            "image": Key("file", "Its texels at first.", required=True),
            "format": Key("text", "Such as `rgba_unorm8`: order of channels and element. rgba_f32 if missing."),
            "layered": Key(
                "truth", "Whether the first axis counts layers. ze_info says so of `image2d_array_t` anyway."
            ),
            **_CHECKS,
            **_SHARED,
            **_NAME,
        },
    ),
    "sampler argument": Shape(
        "a sampler", "A sampler.", {"sampler": Key("sampler", "Its state.", required=True), **_NAME}
    ),
    SAMPLER_STATE: Shape(
        "the state of a sampler",
        "How coordinates become texels.",
        {
            "normalized": Key("truth", "Whether coordinates go from 0 to 1. false if missing."),
            "addressing": Key(
                "text", "none, clamp_edge, clamp_border, repeat or mirror, or OpenCL's word. none if missing."
            ),
            "filter": Key("text", "nearest or linear. nearest if missing."),
            "compare": Key("text", "How a reference compares: le, lt, ge, gt, eq, ne, always, never. le if missing."),
        },
    ),
    GRID_LAUNCH: Shape(
        "a launch",
        "One run of a program of the CTM target (docs/ctm.md) over a grid.",
        {
            "width": Key("grid", "Processors along the first axis.", required=True),
            "height": Key("grid", "Along the second. 1 if missing."),
            "inputs": Key("files by number", "Arrays of shape (height, width, 4) that fetches read."),
            "constants": Key("constants", "Constants that replace those of the image."),
            "outputs": Key("outputs", "What becomes of outputs."),
        },
    ),
    OUTPUT: Shape("an output", "An output of the CTM target.", _CHECKS),
}
"""The objects of launch files; those of arguments are called as their first key."""

Fail = Callable[[str, str, str], Exception]
"""Makes the error of a message, a place and a hint."""


def check_keys(item: Iterable[str], shape: str, where: str, fail: Fail) -> None:
    """Refuse keys that an object does not have.

    Raises:
        LaunchError: the error that ``fail`` makes; the hint names the most similar key.
    """
    known = SHAPES[shape]
    for key in item:
        if key not in known.keys:
            hint = did_you_mean(key, known.keys) or f"its keys are {', '.join(k for k in known.keys if k[0] != '$')}"
            raise fail(f"{known.title} has no '{key:.80}'", f"{where}, {key:.80}", hint)


def json_schema() -> JsonSchema:
    """The form of launch files as a JSON Schema (draft 2020-12)."""
    definitions: JsonSchema = {name.replace(" ", "_"): _object(shape) for name, shape in SHAPES.items() if name != FILE}
    definitions["launch"] = {"anyOf": [_object(SHAPES[LAUNCH]), _object(SHAPES[GRID_LAUNCH])]}
    definitions["argument"] = {"anyOf": [{"$ref": f"#/$defs/{name.replace(' ', '_')}"} for name in ARGUMENTS]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Launch file of vsim",
        **_object(SHAPES[FILE]), "$defs": definitions,
    }  # fmt: skip


def _object(shape: Shape) -> JsonSchema:
    return {
        "type": "object",
        "description": shape.meaning,
        "properties": {k: {"description": key.meaning, **FORMS[key.form].schema} for k, key in shape.keys.items()},
        "required": [k for k, key in shape.keys.items() if key.required],
        "additionalProperties": False,
    }
