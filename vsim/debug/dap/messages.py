"""Bodies of messages of the Debug Adapter Protocol that the server writes; ``docs/generate_dap_messages.py`` writes
them out of the published schema. Names that the generator adds begin with ``Dap``.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

# fmt: off


class CompletionsResponseBody(TypedDict):
    """``CompletionsResponseBody`` of the protocol."""

    targets: list[DapCompletionItem]


class DapCompletionItem(TypedDict):
    """``CompletionItem`` of the protocol."""

    label: str
    text: NotRequired[str]
    sortText: NotRequired[str]
    detail: NotRequired[str]
    type: NotRequired[Literal["method", "function", "constructor", "field", "variable", "class", "interface",
        "module", "property", "unit", "value", "enum", "keyword", "snippet", "text", "color", "file",
        "reference", "customcolor"]]
    start: NotRequired[int]
    length: NotRequired[int]
    selectionStart: NotRequired[int]
    selectionLength: NotRequired[int]


class DataBreakpointInfoResponseBody(TypedDict):
    """``DataBreakpointInfoResponseBody`` of the protocol."""

    dataId: str | None
    description: str
    accessTypes: NotRequired[list[Literal["read", "write", "readWrite"]]]
    canPersist: NotRequired[bool]


class DisassembleResponseBody(TypedDict):
    """``DisassembleResponseBody`` of the protocol."""

    instructions: list[DapDisassembledInstruction]


class DapDisassembledInstruction(TypedDict):
    """``DisassembledInstruction`` of the protocol."""

    address: str
    instructionBytes: NotRequired[str]
    instruction: str
    symbol: NotRequired[str]
    location: NotRequired[DapSource]
    line: NotRequired[int]
    column: NotRequired[int]
    endLine: NotRequired[int]
    endColumn: NotRequired[int]
    presentationHint: NotRequired[Literal["normal", "invalid"]]


class DapSource(TypedDict):
    """``Source`` of the protocol."""

    name: NotRequired[str]
    path: NotRequired[str]
    sourceReference: NotRequired[int]
    presentationHint: NotRequired[Literal["normal", "emphasize", "deemphasize"]]
    origin: NotRequired[str]
    sources: NotRequired[list[DapSource]]
    adapterData: NotRequired[object]
    checksums: NotRequired[list[DapChecksum]]


class DapChecksum(TypedDict):
    """``Checksum`` of the protocol."""

    algorithm: Literal["MD5", "SHA1", "SHA256", "timestamp"]
    checksum: str


class EvaluateResponseBody(TypedDict):
    """``EvaluateResponseBody`` of the protocol."""

    result: str
    type: NotRequired[str]
    presentationHint: NotRequired[DapVariablePresentationHint]
    variablesReference: int
    namedVariables: NotRequired[int]
    indexedVariables: NotRequired[int]
    memoryReference: NotRequired[str]
    valueLocationReference: NotRequired[int]


class DapVariablePresentationHint(TypedDict):
    """``VariablePresentationHint`` of the protocol."""

    kind: NotRequired[str]
    attributes: NotRequired[list[str]]
    visibility: NotRequired[str]
    lazy: NotRequired[bool]


class GotoTargetsResponseBody(TypedDict):
    """``GotoTargetsResponseBody`` of the protocol."""

    targets: list[DapGotoTarget]


class DapGotoTarget(TypedDict):
    """``GotoTarget`` of the protocol."""

    id: int
    label: str
    line: int
    column: NotRequired[int]
    endLine: NotRequired[int]
    endColumn: NotRequired[int]
    instructionPointerReference: NotRequired[str]


class LoadedSourcesResponseBody(TypedDict):
    """``LoadedSourcesResponseBody`` of the protocol."""

    sources: list[DapSource]


class ReadMemoryResponseBody(TypedDict):
    """``ReadMemoryResponseBody`` of the protocol."""

    address: str
    unreadableBytes: NotRequired[int]
    data: NotRequired[str]


class ScopesResponseBody(TypedDict):
    """``ScopesResponseBody`` of the protocol."""

    scopes: list[DapScope]


class DapScope(TypedDict):
    """``Scope`` of the protocol."""

    name: str
    presentationHint: NotRequired[str]
    variablesReference: int
    namedVariables: NotRequired[int]
    indexedVariables: NotRequired[int]
    expensive: bool
    source: NotRequired[DapSource]
    line: NotRequired[int]
    column: NotRequired[int]
    endLine: NotRequired[int]
    endColumn: NotRequired[int]


class SetBreakpointsResponseBody(TypedDict):
    """``SetBreakpointsResponseBody`` of the protocol."""

    breakpoints: list[DapBreakpoint]


class DapBreakpoint(TypedDict):
    """``Breakpoint`` of the protocol."""

    id: NotRequired[int]
    verified: bool
    message: NotRequired[str]
    source: NotRequired[DapSource]
    line: NotRequired[int]
    column: NotRequired[int]
    endLine: NotRequired[int]
    endColumn: NotRequired[int]
    instructionReference: NotRequired[str]
    offset: NotRequired[int]
    reason: NotRequired[Literal["pending", "failed"]]


class SetDataBreakpointsResponseBody(TypedDict):
    """``SetDataBreakpointsResponseBody`` of the protocol."""

    breakpoints: list[DapBreakpoint]


class SetFunctionBreakpointsResponseBody(TypedDict):
    """``SetFunctionBreakpointsResponseBody`` of the protocol."""

    breakpoints: list[DapBreakpoint]


class SetInstructionBreakpointsResponseBody(TypedDict):
    """``SetInstructionBreakpointsResponseBody`` of the protocol."""

    breakpoints: list[DapBreakpoint]


class SetVariableResponseBody(TypedDict):
    """``SetVariableResponseBody`` of the protocol."""

    value: str
    type: NotRequired[str]
    variablesReference: NotRequired[int]
    namedVariables: NotRequired[int]
    indexedVariables: NotRequired[int]
    memoryReference: NotRequired[str]
    valueLocationReference: NotRequired[int]


class SourceResponseBody(TypedDict):
    """``SourceResponseBody`` of the protocol."""

    content: str
    mimeType: NotRequired[str]


class StackTraceResponseBody(TypedDict):
    """``StackTraceResponseBody`` of the protocol."""

    stackFrames: list[DapStackFrame]
    totalFrames: NotRequired[int]


class DapStackFrame(TypedDict):
    """``StackFrame`` of the protocol."""

    id: int
    name: str
    source: NotRequired[DapSource]
    line: int
    column: int
    endLine: NotRequired[int]
    endColumn: NotRequired[int]
    canRestart: NotRequired[bool]
    instructionPointerReference: NotRequired[str]
    moduleId: NotRequired[int | str]
    presentationHint: NotRequired[Literal["normal", "label", "subtle"]]


class ThreadsResponseBody(TypedDict):
    """``ThreadsResponseBody`` of the protocol."""

    threads: list[DapThread]


class DapThread(TypedDict):
    """``Thread`` of the protocol."""

    id: int
    name: str


class VariablesResponseBody(TypedDict):
    """``VariablesResponseBody`` of the protocol."""

    variables: list[DapVariable]


class DapVariable(TypedDict):
    """``Variable`` of the protocol."""

    name: str
    value: str
    type: NotRequired[str]
    presentationHint: NotRequired[DapVariablePresentationHint]
    evaluateName: NotRequired[str]
    variablesReference: int
    namedVariables: NotRequired[int]
    indexedVariables: NotRequired[int]
    memoryReference: NotRequired[str]
    declarationLocationReference: NotRequired[int]
    valueLocationReference: NotRequired[int]


class WriteMemoryResponseBody(TypedDict):
    """``WriteMemoryResponseBody`` of the protocol."""

    offset: NotRequired[int]
    bytesWritten: NotRequired[int]


class StoppedEventBody(TypedDict):
    """``StoppedEventBody`` of the protocol."""

    reason: str
    description: NotRequired[str]
    threadId: NotRequired[int]
    preserveFocusHint: NotRequired[bool]
    text: NotRequired[str]
    allThreadsStopped: NotRequired[bool]
    hitBreakpointIds: NotRequired[list[int]]
