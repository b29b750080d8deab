"""The text of a module: declarations, functions, attributes and metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_VECTORS = '"min-legal-vector-width"="512" "prefer-vector-width"="512"'
_ZEROS = ' "denormal-fp-math"="ieee,preserve-sign"'
_TAIL = f"""attributes #0 = {{ nounwind {_VECTORS} "no-trapping-math"="true"$zeros }}
attributes #1 = {{ nounwind noinline {_VECTORS}$zeros }}
attributes #2 = {{ cold noinline nounwind noimplicitfloat "no_caller_saved_registers" }}
attributes #3 = {{ nounwind noinline strictfp {_VECTORS} }}
attributes #4 = {{ strictfp }}
!0 = !{{}}
!1 = !{{!"branch_weights", i32 1, i32 100000}}
!2 = !{{!"branch_weights", i32 1000, i32 1}}
"""


def module(functions: Sequence[str], declarations: Mapping[str, str], takes_zeros: bool = False) -> str:
    """A module of functions.

    Attribute groups: 0 for hot code, 1 for functions that must not be inlined, 2 for cold functions that preserve all
    registers, 3 and 4 for functions that set the rounding mode, and their calls.

    Args:
        takes_zeros: the processor takes denormals of operands as zeros, and results may be denormals.
    """
    tail = _TAIL.replace("$zeros", _ZEROS if takes_zeros else "")
    return "\n".join([*declarations.values(), *functions, tail])
