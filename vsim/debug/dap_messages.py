"""Bodies of messages of the Debug Adapter Protocol that the server writes; ``docs/generate_dap_messages.py`` writes
them out of the published schema.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

# fmt: off


class CompletionsResponseBody(TypedDict):
    """``CompletionsResponseBody`` of the protocol."""

    targets: list[CompletionItem]


class CompletionItem(TypedDict):
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


class ContinueResponseBody(TypedDict):
    """``ContinueResponseBody`` of the protocol."""

    allThreadsContinued: NotRequired[bool]


class DataBreakpointInfoResponseBody(TypedDict):
    """``DataBreakpointInfoResponseBody`` of the protocol."""

    dataId: str | None
    description: str
    accessTypes: NotRequired[list[Literal["read", "write", "readWrite"]]]
    canPersist: NotRequired[bool]


class DisassembleResponseBody(TypedDict):
    """``DisassembleResponseBody`` of the protocol."""

    instructions: list[DisassembledInstruction]


class DisassembledInstruction(TypedDict):
    """``DisassembledInstruction`` of the protocol."""

    address: str
    instructionBytes: NotRequired[str]
    instruction: str
    symbol: NotRequired[str]
    location: NotRequired[Source]
    line: NotRequired[int]
    column: NotRequired[int]
    endLine: NotRequired[int]
    endColumn: NotRequired[int]
    presentationHint: NotRequired[Literal["normal", "invalid"]]


class Source(TypedDict):
    """``Source`` of the protocol."""

    name: NotRequired[str]
    path: NotRequired[str]
    sourceReference: NotRequired[int]
    presentationHint: NotRequired[Literal["normal", "emphasize", "deemphasize"]]
    origin: NotRequired[str]
    sources: NotRequired[list[Source]]
    adapterData: NotRequired[object]
    checksums: NotRequired[list[Checksum]]


class Checksum(TypedDict):
    """``Checksum`` of the protocol."""

    algorithm: Literal["MD5", "SHA1", "SHA256", "timestamp"]
    checksum: str


class EvaluateResponseBody(TypedDict):
    """``EvaluateResponseBody`` of the protocol."""

    result: str
    type: NotRequired[str]
    presentationHint: NotRequired[VariablePresentationHint]
    variablesReference: int
    namedVariables: NotRequired[int]
    indexedVariables: NotRequired[int]
    memoryReference: NotRequired[str]
    valueLocationReference: NotRequired[int]


class VariablePresentationHint(TypedDict):
    """``VariablePresentationHint`` of the protocol."""

    kind: NotRequired[str]
    attributes: NotRequired[list[str]]
    visibility: NotRequired[str]
    lazy: NotRequired[bool]


class GotoTargetsResponseBody(TypedDict):
    """``GotoTargetsResponseBody`` of the protocol."""

    targets: list[GotoTarget]


class GotoTarget(TypedDict):
    """``GotoTarget`` of the protocol."""

    id: int
    label: str
    line: int
    column: NotRequired[int]
    endLine: NotRequired[int]
    endColumn: NotRequired[int]
    instructionPointerReference: NotRequired[str]


class InitializeResponseBody(TypedDict):
    """``InitializeResponseBody`` of the protocol."""

    supportsConfigurationDoneRequest: NotRequired[bool]
    supportsFunctionBreakpoints: NotRequired[bool]
    supportsConditionalBreakpoints: NotRequired[bool]
    supportsHitConditionalBreakpoints: NotRequired[bool]
    supportsEvaluateForHovers: NotRequired[bool]
    exceptionBreakpointFilters: NotRequired[list[ExceptionBreakpointsFilter]]
    supportsStepBack: NotRequired[bool]
    supportsSetVariable: NotRequired[bool]
    supportsRestartFrame: NotRequired[bool]
    supportsGotoTargetsRequest: NotRequired[bool]
    supportsStepInTargetsRequest: NotRequired[bool]
    supportsCompletionsRequest: NotRequired[bool]
    completionTriggerCharacters: NotRequired[list[str]]
    supportsModulesRequest: NotRequired[bool]
    additionalModuleColumns: NotRequired[list[ColumnDescriptor]]
    supportedChecksumAlgorithms: NotRequired[list[Literal["MD5", "SHA1", "SHA256", "timestamp"]]]
    supportsRestartRequest: NotRequired[bool]
    supportsExceptionOptions: NotRequired[bool]
    supportsValueFormattingOptions: NotRequired[bool]
    supportsExceptionInfoRequest: NotRequired[bool]
    supportTerminateDebuggee: NotRequired[bool]
    supportSuspendDebuggee: NotRequired[bool]
    supportsDelayedStackTraceLoading: NotRequired[bool]
    supportsLoadedSourcesRequest: NotRequired[bool]
    supportsLogPoints: NotRequired[bool]
    supportsTerminateThreadsRequest: NotRequired[bool]
    supportsSetExpression: NotRequired[bool]
    supportsTerminateRequest: NotRequired[bool]
    supportsDataBreakpoints: NotRequired[bool]
    supportsReadMemoryRequest: NotRequired[bool]
    supportsWriteMemoryRequest: NotRequired[bool]
    supportsDisassembleRequest: NotRequired[bool]
    supportsCancelRequest: NotRequired[bool]
    supportsBreakpointLocationsRequest: NotRequired[bool]
    supportsClipboardContext: NotRequired[bool]
    supportsSteppingGranularity: NotRequired[bool]
    supportsInstructionBreakpoints: NotRequired[bool]
    supportsExceptionFilterOptions: NotRequired[bool]
    supportsSingleThreadExecutionRequests: NotRequired[bool]
    supportsDataBreakpointBytes: NotRequired[bool]
    breakpointModes: NotRequired[list[BreakpointMode]]
    supportsANSIStyling: NotRequired[bool]


class ExceptionBreakpointsFilter(TypedDict):
    """``ExceptionBreakpointsFilter`` of the protocol."""

    filter: str
    label: str
    description: NotRequired[str]
    default: NotRequired[bool]
    supportsCondition: NotRequired[bool]
    conditionDescription: NotRequired[str]


class ColumnDescriptor(TypedDict):
    """``ColumnDescriptor`` of the protocol."""

    attributeName: str
    label: str
    format: NotRequired[str]
    type: NotRequired[Literal["string", "number", "boolean", "unixTimestampUTC"]]
    width: NotRequired[int]


class BreakpointMode(TypedDict):
    """``BreakpointMode`` of the protocol."""

    mode: str
    label: str
    description: NotRequired[str]
    appliesTo: list[str]


class LoadedSourcesResponseBody(TypedDict):
    """``LoadedSourcesResponseBody`` of the protocol."""

    sources: list[Source]


class ReadMemoryResponseBody(TypedDict):
    """``ReadMemoryResponseBody`` of the protocol."""

    address: str
    unreadableBytes: NotRequired[int]
    data: NotRequired[str]


class ScopesResponseBody(TypedDict):
    """``ScopesResponseBody`` of the protocol."""

    scopes: list[Scope]


class Scope(TypedDict):
    """``Scope`` of the protocol."""

    name: str
    presentationHint: NotRequired[str]
    variablesReference: int
    namedVariables: NotRequired[int]
    indexedVariables: NotRequired[int]
    expensive: bool
    source: NotRequired[Source]
    line: NotRequired[int]
    column: NotRequired[int]
    endLine: NotRequired[int]
    endColumn: NotRequired[int]


class SetBreakpointsResponseBody(TypedDict):
    """``SetBreakpointsResponseBody`` of the protocol."""

    breakpoints: list[Breakpoint]


class Breakpoint(TypedDict):
    """``Breakpoint`` of the protocol."""

    id: NotRequired[int]
    verified: bool
    message: NotRequired[str]
    source: NotRequired[Source]
    line: NotRequired[int]
    column: NotRequired[int]
    endLine: NotRequired[int]
    endColumn: NotRequired[int]
    instructionReference: NotRequired[str]
    offset: NotRequired[int]
    reason: NotRequired[Literal["pending", "failed"]]


class SetDataBreakpointsResponseBody(TypedDict):
    """``SetDataBreakpointsResponseBody`` of the protocol."""

    breakpoints: list[Breakpoint]


class SetExceptionBreakpointsResponseBody(TypedDict):
    """``SetExceptionBreakpointsResponseBody`` of the protocol."""

    breakpoints: NotRequired[list[Breakpoint]]


class SetFunctionBreakpointsResponseBody(TypedDict):
    """``SetFunctionBreakpointsResponseBody`` of the protocol."""

    breakpoints: list[Breakpoint]


class SetInstructionBreakpointsResponseBody(TypedDict):
    """``SetInstructionBreakpointsResponseBody`` of the protocol."""

    breakpoints: list[Breakpoint]


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

    stackFrames: list[StackFrame]
    totalFrames: NotRequired[int]


class StackFrame(TypedDict):
    """``StackFrame`` of the protocol."""

    id: int
    name: str
    source: NotRequired[Source]
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

    threads: list[Thread]


class Thread(TypedDict):
    """``Thread`` of the protocol."""

    id: int
    name: str


class VariablesResponseBody(TypedDict):
    """``VariablesResponseBody`` of the protocol."""

    variables: list[Variable]


class Variable(TypedDict):
    """``Variable`` of the protocol."""

    name: str
    value: str
    type: NotRequired[str]
    presentationHint: NotRequired[VariablePresentationHint]
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


class ExitedEventBody(TypedDict):
    """``ExitedEventBody`` of the protocol."""

    exitCode: int


class OutputEventBody(TypedDict):
    """``OutputEventBody`` of the protocol."""

    category: NotRequired[str]
    output: str
    group: NotRequired[Literal["start", "startCollapsed", "end"]]
    variablesReference: NotRequired[int]
    source: NotRequired[Source]
    line: NotRequired[int]
    column: NotRequired[int]
    data: NotRequired[object]
    locationReference: NotRequired[int]


class StoppedEventBody(TypedDict):
    """``StoppedEventBody`` of the protocol."""

    reason: str
    description: NotRequired[str]
    threadId: NotRequired[int]
    preserveFocusHint: NotRequired[bool]
    text: NotRequired[str]
    allThreadsStopped: NotRequired[bool]
    hitBreakpointIds: NotRequired[list[int]]


class TerminatedEventBody(TypedDict):
    """``TerminatedEventBody`` of the protocol."""

    restart: NotRequired[object]
