"""The array types of the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""An array whose elements have a type that is known when it runs: a user's buffer, lanes of a register."""
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
