"""The array types of the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""An array whose elements have a type that is known when it runs: a user's buffer, lanes of a register."""
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Dwords = npt.NDArray[np.uint32]
Bools = npt.NDArray[np.bool_]
Offsets = npt.NDArray[np.int64]
DType = np.dtype[np.generic]
"""The type of an array's elements."""
