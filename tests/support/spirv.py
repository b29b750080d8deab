"""Assembles SPIR-V from a text, one instruction a line as spirv-dis shows them, for kernels that no OpenCL C gives."""

import re
import struct
from itertools import chain

_PLAIN, _RESULT, _TYPED = range(3)
"""An instruction without a result; with one; with a result whose type is the first operand of the text."""
_INSTRUCTIONS = {
    "OpCapability": (17, _PLAIN), "OpExtension": (10, _PLAIN), "OpMemoryModel": (14, _PLAIN),
    "OpEntryPoint": (15, _PLAIN), "OpExecutionMode": (16, _PLAIN), "OpDecorate": (71, _PLAIN),
    "OpTypeVoid": (19, _RESULT), "OpTypeBool": (20, _RESULT), "OpTypeInt": (21, _RESULT), "OpTypeFloat": (22, _RESULT),
    "OpTypeVector": (23, _RESULT), "OpTypePointer": (32, _RESULT), "OpTypeFunction": (33, _RESULT),
    "OpConstant": (43, _TYPED), "OpVariable": (59, _TYPED), "OpFunction": (54, _TYPED),
    "OpFunctionParameter": (55, _TYPED), "OpFunctionEnd": (56, _PLAIN), "OpLabel": (248, _RESULT),
    "OpReturn": (253, _PLAIN), "OpBranch": (249, _PLAIN), "OpBranchConditional": (250, _PLAIN), "OpPhi": (245, _TYPED),
    "OpLoad": (61, _TYPED), "OpStore": (62, _PLAIN), "OpCompositeExtract": (81, _TYPED), "OpUConvert": (113, _TYPED),
    "OpInBoundsPtrAccessChain": (70, _TYPED), "OpIAdd": (128, _TYPED), "OpIMul": (132, _TYPED),
    "OpFAdd": (129, _TYPED), "OpUDiv": (134, _TYPED), "OpUMod": (137, _TYPED), "OpIEqual": (170, _TYPED),
    "OpSLessThan": (177, _TYPED), "OpControlBarrier": (224, _PLAIN), "OpGroupNonUniformFAdd": (350, _TYPED),
}  # fmt: skip
_NAMES = {
    "Addresses": 4, "Linkage": 5, "Kernel": 6, "Int64": 11, "SubgroupDispatch": 58, "GroupNonUniform": 61,
    "GroupNonUniformArithmetic": 63, "KernelAttributesINTEL": 5892, "Physical64": 2, "OpenCL": 2, "SubgroupSize": 35,
    "MaxWorkgroupSizeINTEL": 5893, "BuiltIn": 11, "WorkgroupId": 26, "LocalInvocationId": 27, "Constant": 22,
    "Input": 1, "Workgroup": 4, "CrossWorkgroup": 5, "None": 0, "Aligned": 2, "Reduce": 0,
}  # fmt: skip
"""Numbers of capabilities, modes, decorations and storage classes; no two of those used differ by their place."""
_OPERAND = re.compile(r'"[^"]*"|[^\s"]+')


def assembled(text):
    """A module; comments begin with a semicolon."""
    ids, body = {}, []
    number = lambda name: ids.setdefault(name, len(ids) + 1)  # noqa: E731

    def words(operand):
        if operand[0] == "%":
            return [number(operand)]
        if operand[0] == '"':
            data = operand[1:-1].encode() + b"\0"
            data += bytes(-len(data) % 4)
            return list(struct.unpack(f"<{len(data) // 4}I", data))
        if "." in operand:
            return list(struct.unpack("<I", struct.pack("<f", float(operand))))
        return [_NAMES[operand] if operand in _NAMES else int(operand, 0)]

    for line in text.splitlines():
        result, name, *operands = re.match(r"\s*(?:(%\w+)\s*=)?\s*(\w*)", line).groups() + tuple(
            _OPERAND.findall(re.sub(r"^.*?\bOp\w+|;.*$", "", line))
        )
        if not name:
            continue
        opcode, kind = _INSTRUCTIONS[name]
        parts = [words(operand) for operand in operands]
        if kind != _PLAIN:
            parts.insert(kind == _TYPED, [number(result)])
        flat = [*chain(*parts)]
        body += [(len(flat) + 1) << 16 | opcode, *flat]
    head = [0x07230203, 0x10300, 0, len(ids) + 1, 0]
    return struct.pack(f"<{len(head) + len(body)}I", *head, *body)
