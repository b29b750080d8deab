"""Listings: offset, bytes and source of every instruction."""

from __future__ import annotations

from vasm.assembler import Assembly
from visakit.binary.codec import Encoder


def listing_text(assembly: Assembly, source: str) -> str:
    """One line for each instruction; offsets count from the start of the function's code."""
    lines, encoder, out = source.splitlines(), Encoder(), []
    for function in assembly.module.all_functions:
        out.append(f"{'kernel' if function.is_kernel else 'function'} {function.name}")
        offset = 0
        for i, code in zip(function.instructions, encoder.encode(function.instructions), strict=True):
            shown = code[:16].hex() + ("..." if len(code) > 16 else "")
            text = lines[i.line - 1].strip() if 0 < i.line <= len(lines) else ""
            out.append(f"{offset:8x}  {shown:<35}  {i.line:6}  {text}")
            offset += len(code)
    return "\n".join(out) + "\n"
