"""The text of a module: declarations, functions, attributes and metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_VECTORS = '"min-legal-vector-width"="512" "prefer-vector-width"="512"'
_TAIL = f"""attributes #0 = {{ nounwind {_VECTORS} "no-trapping-math"="true" }}
attributes #1 = {{ nounwind noinline {_VECTORS} }}
attributes #2 = {{ cold noinline nounwind noimplicitfloat "no_caller_saved_registers" }}
attributes #3 = {{ nounwind noinline strictfp {_VECTORS} }}
attributes #4 = {{ strictfp }}
!0 = !{{}}
!1 = !{{!"branch_weights", i32 1, i32 100000}}
!2 = !{{!"branch_weights", i32 1000, i32 1}}
"""


def module(functions: Sequence[str], declarations: Mapping[str, str]) -> str:
    """A module of functions.

    Attribute groups: 0 for hot code, 1 for functions that must not be inlined, 2 for cold functions that preserve all
    registers, 3 and 4 for functions that set the rounding mode, and their calls.
    """
    return "\n".join([*declarations.values(), *functions, _TAIL])
